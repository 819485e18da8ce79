//! Firewall rules in a subset of the language of nftables.
//!
//! ```text
//! table inet filter {
//!     set admins { type ipv4_addr; elements = { 10.0.0.2, 10.0.0.3 } }
//!     chain forward {
//!         type filter hook forward priority 0; policy drop;
//!         ct state established,related accept
//!         iif 0 oif 1 tcp dport { 22, 80-90 } accept
//!         ip saddr @admins counter accept
//!         meta l4proto tcp reject with tcp reset
//!     }
//! }
//! ```
//!
//! - **Structure:** tables of the families ip, ip6 and inet; `ct helper` with type "ftp" or "tftp"; chains, with `type filter hook` prerouting, input, forward or output
//!   and a priority, or without; named sets and maps with intervals. Chains of one hook run by their priorities, of the same
//!   priority the later one first, as in Linux.
//! - **Matches:** meta iif, oif, iifname, oifname, l4proto, nfproto, length, mark; ip saddr, daddr, protocol, ttl, length, id,
//!   dscp; ip6 saddr, daddr, nexthdr, hoplimit, length, dscp; icmp and icmpv6 type, code; tcp sport, dport, sequence, ackseq,
//!   flags, window; udp sport, dport, length; th sport, dport; ct state, mark, status, direction. A port is its number or name.
//! - **Right sides:** a value, a prefix, a range, a set in braces or by name; `==`, `!=`, `<`, `<=`, `>`, `>=`; a mask after `&`.
//! - **Statements:** accept, drop, continue, return, jump, goto; `vmap`; reject with tcp reset, icmp, icmpv6, icmpx; counter; log,
//!   which counts; limit rate; meta mark set, ct mark set, ct helper set; notrack; synproxy; comment.
//! - **Evaluation:** a flat program of steps, without allocation. A packet comes by a million rules at most: a ruleset whose jumps
//!   make more possible is refused.
//!
//! Rules see whole packets: with [connection tracking](crate::conntrack) fragments are reassembled first.

mod check;
mod fields;
mod lexer;
mod limit;
mod parse;
mod program;
mod reader;
mod sets;
mod statement;
pub mod synproxy;
mod values;

pub use lexer::MAX_TEXT;
pub use program::Outcome;

use crate::conntrack::{Headers, Tracked, Tracker};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use node::Time;
use node::outcome::Table;
use packet::ipv4::protocol;
use packet::tcp::{TcpView, flag};
use program::{Program, Source, Step};

/// Priority of the tracker: chains of a lower one see packets before it.
const TRACKING: i32 = -200;

/// A fault in a ruleset, its place, and what to write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {reason}")]
pub struct Fault {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// The fault, and what to write.
    pub reason: String,
}

impl Fault {
    fn new(line: u32, column: u32, reason: impl Into<String>) -> Fault {
        Fault {
            line,
            column,
            reason: reason.into(),
        }
    }
}

/// Place in the path of packets at which chains run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// Arrival, before the route is known.
    Prerouting,
    /// Delivery to the router itself.
    Input,
    /// The way from one port to another.
    Forward,
    /// Departure of the router's own packets.
    Output,
}

/// Answer to the sender of a packet that a rule rejects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reject {
    /// A TCP reset.
    Reset,
    /// The ICMP error "destination unreachable" with these codes over IPv4 and IPv6.
    Icmp {
        /// Code over IPv4; `None`: the rule does not match.
        v4: Option<u8>,
        /// Code over IPv6; `None`: the rule does not match.
        v6: Option<u8>,
    },
}

impl Reject {
    fn is_for(self, headers: &Headers) -> bool {
        match self {
            Reject::Reset => headers.protocol == protocol::TCP,
            Reject::Icmp { v4, v6 } => match headers.source.is_ipv4() {
                true => v4.is_some(),
                false => v6.is_some(),
            },
        }
    }
}

/// Options that a SYN proxy offers to clients: those of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SynProxy {
    /// Maximum segment size, bytes.
    pub mss: Option<u16>,
    /// Shift of windows, at most 14.
    pub scale: Option<u8>,
    /// Whether the server supports timestamps. Scaling and selective acknowledgements need them: the cookie has no room.
    pub timestamps: bool,
    /// Whether the server supports selective acknowledgements.
    pub selective: bool,
}

impl SynProxy {
    /// `None` when the segment is not for the proxy.
    fn judge(self, packet: &Packet) -> Option<Outcome> {
        if !packet.headers.is_checksum_valid(packet.frame) {
            return Some(Outcome::Drop);
        }
        let upper = packet.headers.upper(packet.frame).unwrap_or_default();
        let Ok(segment) = TcpView::new(upper) else {
            return Some(Outcome::Drop);
        };
        let is_for_proxy = segment.flags() & (flag::SYN | flag::ACK) != 0;
        is_for_proxy.then_some(Outcome::SynProxy(self))
    }
}

/// A packet at a hook.
#[derive(Debug)]
pub struct Packet<'a> {
    /// The frame that it is in.
    pub frame: &'a [u8],
    /// Its headers.
    pub headers: &'a Headers,
    /// Port of arrival; `None` of the router's own packets.
    pub iif: Option<u16>,
    /// Port of departure, where it is known.
    pub oif: Option<u16>,
    /// Its mark.
    pub mark: u32,
    /// Its connection.
    pub tracked: Tracked,
    /// The tracker of connections.
    pub tracker: Option<&'a mut Tracker>,
}

impl Packet<'_> {
    /// Keeps the tracker from looking at the packet, or makes one without a connection untracked.
    fn untrack(&mut self) {
        if !self.tracked.has_connection() {
            self.tracked = Tracked::UNTRACKED;
        }
    }
}

/// A ruleset.
#[derive(Clone, Debug)]
pub struct Firewall {
    program: Program,
    /// Base chains of each hook that run before the tracker, and those that run after it.
    chains: [[Vec<u32>; 2]; 4],
}

impl Firewall {
    /// Reads a ruleset for a router whose ports have these names, each one or several.
    ///
    /// # Errors
    /// At the first fault in the text.
    pub fn new(text: &str, ports: &[Vec<String>]) -> Result<Firewall, Fault> {
        let program = parse::parse(text, ports)?;
        let mut chains: [[Vec<u32>; 2]; 4] = Default::default();
        let bases = program.chains.iter().enumerate();
        let mut bases: Vec<_> = bases
            .filter_map(|(number, chain)| Some((number as u32, chain.base?)))
            .collect();
        bases.sort_by_key(|(number, base)| (base.priority, core::cmp::Reverse(*number)));
        for (number, base) in bases {
            let after = usize::from(base.priority >= TRACKING);
            chains[base.hook as usize][after].push(number);
        }
        Ok(Firewall { program, chains })
    }

    /// Whether a rule needs connections.
    pub fn needs_tracking(&self) -> bool {
        let source = |source: &Source| match source {
            Source::Value(_) => false,
            Source::Field(field) | Source::Map(field, _) => field.needs_tracking(),
        };
        self.program.steps.iter().any(|step| match step {
            Step::Test(field, _) | Step::Choose(field, _) => field.needs_tracking(),
            Step::SetMark(origin) => source(origin),
            Step::SetCtMark(_) | Step::NoTrack | Step::SynProxy(_) | Step::SetHelper(..) => true,
            _ => false,
        })
    }

    /// Whether a hook has chains.
    pub fn has(&self, hook: Hook) -> bool {
        self.chains[hook as usize]
            .iter()
            .any(|chains| !chains.is_empty())
    }

    /// Runs the chains of a hook that are before the tracker, or those after it, until one does not accept the packet.
    pub fn run(
        &mut self,
        hook: Hook,
        after_tracking: bool,
        now: Time,
        packet: &mut Packet,
    ) -> Outcome {
        let is_v4 = packet.headers.source.is_ipv4();
        for &number in &self.chains[hook as usize][usize::from(after_tracking)] {
            let chain = &self.program.chains[number as usize];
            let base = chain.base.and_then(|base| base.is_v4);
            if base.is_some_and(|wanted| wanted != is_v4) {
                continue;
            }
            match self.program.run(number, now, packet) {
                Outcome::Accept => {}
                outcome => return outcome,
            }
        }
        Outcome::Accept
    }

    /// All counters, by the name of their chain and rule: of `counter` and `log` statements.
    pub fn counters(&self) -> impl Iterator<Item = (String, u64, u64)> {
        let chains = self.program.chains.iter();
        let rules = chains.flat_map(|chain| {
            let numbers = chain.rules.clone().enumerate();
            numbers.map(move |(place, number)| (chain, place + 1, number as usize))
        });
        let found: Vec<_> = rules
            .flat_map(|(chain, place, number)| {
                let steps = &self.program.steps[self.program.steps_of(number)];
                steps.iter().filter_map(move |step| match step {
                    Step::Counter(counter) => Some((chain, place, *counter)),
                    _ => None,
                })
            })
            .collect();
        found.into_iter().map(|(chain, place, counter)| {
            let counter = &self.program.counters[counter as usize];
            let name = match counter.name.as_str() {
                "" => format!("{} rule {place}", chain.name),
                name => format!("{} rule {place} {name}", chain.name),
            };
            (name, counter.packets, counter.bytes)
        })
    }

    /// Each rule with the packets that have matched all of it, and each policy with those that came to it.
    pub fn table(&self) -> Table {
        let mut entries = Vec::new();
        for chain in &self.program.chains {
            for (place, number) in chain.rules.clone().enumerate() {
                let rule = &self.program.rules[number as usize];
                entries.push(format!(
                    "{} rule {}: {} packets, {} bytes: {}",
                    chain.name,
                    place + 1,
                    rule.packets,
                    rule.bytes,
                    rule.text
                ));
            }
            if let Some(base) = chain.base {
                let policy = if base.drops { "drop" } else { "accept" };
                entries.push(format!(
                    "{} policy: {} packets, {} bytes: {policy}",
                    chain.name, chain.packets, chain.bytes
                ));
            }
        }
        Table {
            name: String::from("firewall"),
            entries,
        }
    }
}
