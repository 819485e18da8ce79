//! Network address and port translation of IPv4 (RFC 3022, RFC 4787, RFC 5382, RFC 5508, RFC 6888,
//! RFC 7857).
//!
//! A [`Nat`] is a state machine that a router calls for each packet that crosses between its inside
//! and its outside; it rewrites the packet or says why not. How it behaves is data: [`Config`] has
//! the words of RFC 4787, so that each kind of NAT that hosts meet can be put on their path.
//!
//! | kind | keys |
//! |---|---|
//! | full cone | `filtering` endpoint-independent |
//! | restricted cone | the default: `filtering` address-dependent |
//! | port-restricted cone | `filtering` address-and-port-dependent |
//! | symmetric | `mapping` and `filtering` address-and-port-dependent |
//! | Linux's masquerade | [`Config::linux`] |
//! | carrier-grade | `port_blocks`, `sessions_per_host` |
//!
//! - **State:** a mapping binds an inside endpoint to an external one, a session is a mapping and a
//!   remote endpoint. Only outbound packets make either, of TCP only a SYN. A mapping ends with its
//!   last session. Static mappings (`forward`), and those that hosts ask for, need no sessions.
//! - **Filtering:** a remote endpoint may send to a mapping if a session with it, or with its
//!   address, or any session exists. An inbound packet without a session of its own changes no
//!   state, but it restarts the timer of the mapping's newest session with `refresh` both.
//! - **TCP:** RFC 7857 section 2, without sequence numbers.
//! - **ICMP:** queries have sessions by identifier. Errors are translated both ways together with
//!   the packet that they quote if a session has sent or admits it, and change no timer (RFC 5508
//!   REQ-3 to REQ-6).
//! - **Other protocols:** by address, one inside host for each external and remote address.
//! - **Bounds:** `sessions` and `sessions_per_host` bound memory; 256 SYNs are held, and 4,096 connections of the
//!   router itself remembered, and as many of others to it. Nothing that
//!   arrives on the outside makes a mapping or a session. At a limit nothing is removed to make
//!   room (RFC 6888 REQ-11).
//!
//! A host may also ask for a mapping: [`Nat::map`]. Connections that a helper of the firewall expects have places among the sessions.
//!
//! Not done: addresses in the data of SIP, fragments (the router reassembles),
//! the pause before a port is used again (RFC 6888 REQ-8).
//!
//! ```
//! use node::{Frame, Time};
//! use packet::{ethernet::Mac, udp};
//! use router::nat::{Config, Nat, Verdict};
//!
//! let external = vec!["192.0.2.1".parse().unwrap()];
//! let mut nat = Nat::new(Config { external, ..Config::default() }, 1).unwrap();
//! # let mut bytes = vec![0; 12];
//! # bytes.extend([8, 0]);
//! # packet::ipv4::Ipv4::new([10, 0, 0, 2].into(), [198, 51, 100, 7].into(), 17)
//! #     .build(&mut bytes, |out| out.extend([0x13, 0x88, 0, 53, 0, 8, 0, 0]));
//! let mut datagram = Frame::new(&bytes); // from 10.0.0.2:5000 to 198.51.100.7:53
//! assert_eq!(nat.outbound(Time::ZERO, &mut datagram), Verdict::Translated);
//! assert_eq!(datagram[26..30], [192, 0, 2, 1]);
//! ```

pub mod config;
mod endpoint;
mod expected;
mod explicit;
mod forwards;
mod headers;
mod held;
pub(crate) mod index;
mod pool;
mod ports;
mod report;
mod state;
mod strangers;
mod tcp;
pub(crate) mod timers;
mod translate;

pub use config::{Config, Forward, Transport};
pub(crate) use expected::ToCome;
pub use explicit::{MapError, Mapped, Suggestion};
pub use forwards::RemoteFilter;
pub use report::{BlockRow, Counters, Row};

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use config::AddressRange;
use core::net::Ipv4Addr;
use endpoint::Endpoint;
use forwards::Forwards;
use held::HeldSyns;
use node::random::Random;
use node::{ConfigError, Frame, Time};
use pool::Pool;
use state::Sessions;
use strangers::Strangers;

/// Result of a packet's translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The frame is rewritten; forward it.
    Translated,
    /// The frame is as it was. An inbound packet is for the router itself; an outbound one is
    /// forwarded untranslated, as Linux does with packets that its connection tracking finds
    /// invalid.
    NotForNat,
    /// Drop the packet, for this reason. The frame may have changed.
    Drop(&'static str),
    /// Drop the packet, which is as it was, for this reason, and answer with the ICMP error
    /// "destination unreachable", code 13, administratively prohibited (RFC 5508 REQ-8); RFC 6888
    /// REQ-11 has code 1 for carrier-grade NATs.
    Prohibit(&'static str),
}

/// A network address translator between an inside and an outside.
///
/// Its time does not go back: an earlier time than the last counts as the last.
#[derive(Debug)]
pub struct Nat {
    config: Config,
    now: Time,
    sessions: Sessions,
    pool: Pool,
    forwards: Forwards,
    held: HeldSyns,
    strangers: Strangers,
    /// Connections of the router itself.
    own: Strangers,
    /// Further mappings at the external endpoint of another, by protocol and endpoint.
    shared: BTreeMap<(u8, Endpoint), u32>,
    counters: Counters,
    seed: u64,
}

impl Nat {
    /// A NAT without mappings other than static ones. Ports are random by `seed`, and the hash
    /// tables keyed.
    ///
    /// # Errors
    /// When a value is out of its range, or keys contradict each other.
    pub fn new(config: Config, seed: u64) -> Result<Nat, ConfigError> {
        match config.external.is_empty() {
            true => Err(ConfigError::new(
                "external",
                "a NAT has an external address",
            )),
            false => Nat::waiting(config, seed),
        }
    }

    /// As [`new`](Nat::new), for a router whose external address may come later by [`set_external`](Nat::set_external).
    ///
    /// # Errors
    /// Those of [`new`](Nat::new), but for a missing external address.
    pub fn waiting(config: Config, seed: u64) -> Result<Nat, ConfigError> {
        config.check()?;
        let mut random = Random::new(seed);
        let forwards = Forwards::new(&config.forward)?;
        let sessions = Sessions::new(&config, || random.bits());
        Ok(Nat {
            pool: Pool::new(&config, random)?,
            now: Time::ZERO,
            sessions,
            forwards,
            held: HeldSyns::default(),
            strangers: Strangers::default(),
            own: Strangers::default(),
            shared: BTreeMap::new(),
            counters: Counters::default(),
            seed,
            config,
        })
    }

    /// Sets the external addresses. All mappings and sessions end, as those of Linux's `masquerade` when an address goes.
    ///
    /// # Errors
    /// When there are too many, or a static mapping has another one; then nothing has changed.
    pub fn set_external(&mut self, external: Vec<AddressRange>) -> Result<(), ConfigError> {
        let config = Config {
            external,
            ..self.config.clone()
        };
        let fresh = Nat::waiting(config, self.seed)?;
        let (now, counters) = (self.now, self.counters);
        *self = Nat {
            now,
            counters,
            ..fresh
        };
        Ok(())
    }

    /// Whether an address is one of the external addresses.
    pub fn is_external(&self, address: Ipv4Addr) -> bool {
        self.pool.is_external(address)
    }

    /// The external address of an inside host; of one without mappings the first.
    pub fn address_of(&self, host: Ipv4Addr) -> Ipv4Addr {
        self.pool.address_of(host)
    }

    /// Whether an inside host has a mapping that is not static.
    pub fn has_host(&self, address: Ipv4Addr) -> bool {
        self.pool.has_host(address)
    }

    /// Ends the sessions whose time is over at `now`. Every other call does that first; a router
    /// needs this one at [`next_wake`](Nat::next_wake), so that idle sessions do not stay in
    /// tables.
    pub fn expire(&mut self, now: Time) {
        self.now = self.now.max(now);
        while let Some((mapping, is_last)) = self.sessions.expire(self.now) {
            self.counters.sessions_ended += 1;
            self.counters.mappings_ended += u64::from(is_last);
            let (inside, external) = (mapping.inside, mapping.external);
            let number = mapping.protocol;
            let is_shared = is_last && self.leave_shared(number, external);
            let is_used = is_shared || self.forwards.inside(number, external) == Some(inside);
            self.pool
                .remove_session(number, inside, external, is_last, is_used);
        }
        while let Some((number, inside, external)) = self.forwards.expire(self.now) {
            self.released(number, inside, external);
        }
    }

    /// The next inbound SYN, as it arrived 6 s or longer ago, for which no outbound SYN came: the
    /// router should answer with the ICMP error "port unreachable" (RFC 5382 REQ-4). Only with
    /// `unsolicited` hold.
    pub fn poll_unanswered(&mut self, now: Time) -> Option<Frame> {
        self.expire(now);
        let frame = self.held.poll(self.now);
        self.counters.syns_unanswered += u64::from(frame.is_some());
        frame
    }

    /// Time at which to call [`poll_unanswered`](Nat::poll_unanswered) until it returns `None`, and
    /// [`expire`](Nat::expire). It may be early: a packet may have restarted a timer.
    pub fn next_wake(&self) -> Option<Time> {
        let first = Some(self.sessions.first()).filter(|&first| first < Time::MAX);
        let all = first.into_iter().chain(self.held.next());
        all.chain(self.forwards.next()).min()
    }

    /// Counts since the NAT was made.
    pub fn counters(&self) -> Counters {
        Counters {
            blocks_assigned: self.pool.counts.assigned,
            blocks_released: self.pool.counts.released,
            ..self.counters
        }
    }

    /// Number of mappings, sessions and inside hosts with sessions, static mappings apart.
    pub fn sizes(&self) -> [usize; 3] {
        let mappings = self.sessions.mappings.len();
        [mappings, self.sessions.sessions.len(), self.pool.hosts()]
    }

    /// All static mappings and sessions that live at `now`, by protocol and inside endpoint.
    pub fn rows(&self, now: Time) -> Vec<Row> {
        let forwards = self.forwards.iter();
        let forwards = forwards
            .map(|(number, external, target)| Row::of_forward(now, number, external, target));
        let sessions = self.sessions.iter();
        let sessions = sessions.filter(|(_, session)| session.timer.expires > now);
        let sessions = sessions.map(|(mapping, session)| Row::of_session(now, mapping, session));
        let mut rows: Vec<Row> = forwards.chain(sessions).collect();
        rows.sort_unstable();
        rows
    }

    /// Blocks of ports of all inside hosts, by their address.
    pub fn blocks(&self) -> Vec<BlockRow> {
        let blocks = self.pool.blocks();
        let rows = blocks.map(|(inside, external, ports)| BlockRow {
            inside,
            external,
            ports,
        });
        rows.collect()
    }

    /// [`rows`](Nat::rows) and [`blocks`](Nat::blocks) as tables `nat` and, with `port_blocks`,
    /// `nat blocks`.
    pub fn tables(&self, now: Time) -> Vec<node::outcome::Table> {
        let mut tables = alloc::vec![report::table("nat", self.rows(now))];
        if self.config.port_blocks.is_some() {
            tables.push(report::table("nat blocks", self.blocks()));
        }
        tables
    }
}
