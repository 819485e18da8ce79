//! The rules that lead packets into our queues: nf_tables over netlink, in tables that belong to our socket.
//!
//! The kernel removes them when the socket is closed, however the process ends (`NFT_TABLE_F_OWNER`, Linux 5.12). No
//! program is run. A kernel without nftables' own `queue` statement has the target NFQUEUE of iptables; the filter is the
//! match `bpf` of iptables, since nftables has none like it.

use super::interfaces::Interfaces;
use super::{Fail, Hook, HookError, QueueError};
use crate::kernel::netlink::{Message, NESTED, Protocol, Socket};
use crate::kernel::nfqueue::message::{HEADER, begin};
use packet::bpf::Instruction;
use std::io;

/// The subsystem of nf_tables, in the upper byte of a message's type.
const NFTABLES: u16 = 10;
const BATCH_BEGIN: u16 = 16;
const BATCH_END: u16 = 17;
const NEWTABLE: u16 = NFTABLES << 8;
const NEWCHAIN: u16 = NFTABLES << 8 | 3;
const NEWRULE: u16 = NFTABLES << 8 | 6;
const DELRULE: u16 = NFTABLES << 8 | 8;
/// `NFT_TABLE_F_OWNER`.
const OWNER: u32 = 2;
/// Maximum number of instructions of the `bpf` match.
const MAX_MATCH_INSTRUCTIONS: usize = 64;

/// `NFT_META_MARK`, `NFT_META_IIFNAME`, `NFT_META_OIFNAME`.
const MARK: u32 = 3;
const IIFNAME: u32 = 6;
const OIFNAME: u32 = 7;
/// `NFT_CMP_EQ`, `NFT_CMP_NEQ`.
const EQUAL: u32 = 0;
const DIFFERENT: u32 = 1;
/// Length of an interface's name, padded with zeros.
const IFNAMSIZ: usize = 16;

/// Content of the rules.
pub struct Plan<'a> {
    /// Where in the packet's way.
    pub hook: Hook,
    /// When among others at that place.
    pub priority: i32,
    pub interfaces: &'a Interfaces,
    /// Which packets; `None` for all.
    pub filter: Option<&'a [Instruction]>,
    /// The first queue, and how many.
    pub queues: (u16, u16),
    /// What becomes of packets when nobody answers.
    pub fail: Fail,
    /// Packets of this mark are passed over.
    pub mark: u32,
}

/// Rules that are in force as long as this value lives.
#[derive(Debug)]
pub struct Rules {
    socket: Socket,
    table: String,
}

/// How packets are led to a queue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Delivery {
    /// The statement `queue` of nftables.
    Statement,
    /// The target NFQUEUE of iptables.
    Target,
}

impl Rules {
    /// Puts rules in force, in this thread's namespace, for IPv4 and IPv6.
    pub fn install(plan: &Plan<'_>) -> Result<Rules, HookError> {
        if let Some(filter) = plan.filter
            && filter.len() > MAX_MATCH_INSTRUCTIONS
        {
            let count = filter.len();
            return Err(HookError::LongFilter { count });
        }
        let failed = |doing: &str, error| HookError::from(QueueError::from_io(doing, error));
        let lacks = |what| Err(QueueError::Lacking(what).into());
        let table = format!("wire_{}", plan.queues.0);
        // The statement is plainer to read for who lists the rules.
        for delivery in [Delivery::Statement, Delivery::Target] {
            let mut socket = Socket::open(Protocol::Netfilter, 0)
                .map_err(|error| failed("opening a netlink socket", error))?;
            socket.set_room(1 << 20, 4 << 20);
            match put(&mut socket, &table, plan, delivery) {
                Ok(()) => return Ok(Rules { socket, table }),
                Err(refused) => match (delivery, refused.what, refused.source.raw_os_error()) {
                    (Delivery::Statement, What::Rule, Some(libc::ENOENT)) => {}
                    (_, What::Rule, Some(libc::ENOENT)) => {
                        let lacking = match plan.filter {
                            Some(_) => {
                                "the target NFQUEUE (NETFILTER_XT_TARGET_NFQUEUE) or the match bpf (NETFILTER_XT_MATCH_BPF) behind NFT_COMPAT"
                            }
                            None => {
                                "the statement queue of nftables (NFT_QUEUE), and the target NFQUEUE (NETFILTER_XT_TARGET_NFQUEUE) behind NFT_COMPAT"
                            }
                        };
                        return lacks(lacking);
                    }
                    (_, What::Table, Some(libc::EOPNOTSUPP | libc::EINVAL)) => {
                        return lacks("tables that go with their owner (Linux 5.12)");
                    }
                    (_, _, Some(libc::EAFNOSUPPORT | libc::EPROTONOSUPPORT)) => {
                        return lacks("nftables (NF_TABLES)");
                    }
                    (_, what, _) => return Err(failed(what.doing(), refused.source)),
                },
            }
        }
        lacks("nftables (NF_TABLES)")
    }

    /// Leads no more packets to the queues; the table stays, since the kernel drops all that wait when the last
    /// chain at a hook goes.
    pub fn silence(&mut self) -> io::Result<()> {
        let mut bytes = Vec::new();
        let first = self.socket.next_sequence();
        bounds(&mut bytes, BATCH_BEGIN, first);
        let mut last = first;
        for family in [libc::NFPROTO_IPV4, libc::NFPROTO_IPV6] {
            last = self.socket.next_sequence();
            message(&mut bytes, DELRULE, 0, last, family)
                .with_text(1, &self.table)
                .with_text(2, CHAIN)
                .end();
        }
        bounds(&mut bytes, BATCH_END, self.socket.next_sequence());
        self.socket
            .acknowledged(&bytes, first + 1, last)
            .map_err(|(_, error)| error)
    }
}

/// The name of the chain in a table.
const CHAIN: &str = "hook";

#[derive(Clone, Copy)]
enum What {
    Table,
    Chain,
    Rule,
}

impl What {
    fn doing(self) -> &'static str {
        match self {
            What::Table => "making a table of nftables",
            What::Chain => "making a chain of nftables",
            What::Rule => "adding a rule of nftables",
        }
    }
}

struct Refused {
    what: What,
    source: io::Error,
}

/// Sends all as one batch, which the kernel takes whole or not at all.
fn put(
    socket: &mut Socket,
    table: &str,
    plan: &Plan<'_>,
    delivery: Delivery,
) -> Result<(), Refused> {
    let mut bytes = Vec::new();
    let mut parts = Vec::new();
    let bound = socket.next_sequence();
    bounds(&mut bytes, BATCH_BEGIN, bound);
    for family in [libc::NFPROTO_IPV4, libc::NFPROTO_IPV6] {
        let create = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        let mut next = |what| {
            parts.push(what);
            socket.next_sequence()
        };
        message(&mut bytes, NEWTABLE, create, next(What::Table), family)
            .with_text(1, table)
            .with_be32(2, OWNER)
            .end();
        message(&mut bytes, NEWCHAIN, create, next(What::Chain), family)
            .with_text(1, table)
            .with_text(3, CHAIN)
            .nest(4 | NESTED, |hook| {
                hook.with_be32(1, plan.hook.number())
                    .with_be32(2, plan.priority as u32)
            })
            .with_text(7, "filter")
            .end();
        let append = libc::NLM_F_CREATE | libc::NLM_F_APPEND;
        let mut rule = |expressions: &dyn Fn(Message<'_>)| {
            let mut list = Vec::new();
            // Only its attributes are taken.
            expressions(begin(&mut list, 0, 0, 0, 0, 0));
            message(&mut bytes, NEWRULE, append, next(What::Rule), family)
                .with_text(1, table)
                .with_text(2, CHAIN)
                .with(4 | NESTED, &list[HEADER..])
                .end();
        };
        rule(&|list| {
            let list = compare(list, MARK, EQUAL, &plan.mark.to_ne_bytes());
            accept(list).end();
        });
        for names in matches(plan) {
            rule(&|list| {
                let mut list = list;
                for (key, operator, name) in &names {
                    let mut padded = [0; IFNAMSIZ];
                    let len = name.len().min(IFNAMSIZ - 1);
                    padded[..len].copy_from_slice(&name.as_bytes()[..len]);
                    list = compare(list, *key, *operator, &padded);
                }
                if let Some(filter) = plan.filter {
                    list = bpf(list, filter);
                }
                queue(list, plan, delivery).end();
            });
        }
    }
    bounds(&mut bytes, BATCH_END, socket.next_sequence());
    let (first, last) = (bound + 1, bound + parts.len() as u32);
    socket
        .acknowledged(&bytes, first, last)
        .map_err(|(number, source)| {
            let place = number.saturating_sub(first) as usize;
            let what = parts.get(place).copied().unwrap_or(What::Table);
            Refused { what, source }
        })
}

type Name<'a> = (u32, u32, &'a str);

/// The conditions on interfaces, a list for each rule. A packet meets one of them at most.
fn matches<'a>(plan: &Plan<'a>) -> Vec<Vec<Name<'a>>> {
    let names: Vec<&str> = plan.interfaces.names().collect();
    let one = |key| -> Vec<Vec<Name<'a>>> {
        let names = names.iter();
        names.map(|name| vec![(key, EQUAL, *name)]).collect()
    };
    match plan.hook {
        Hook::Prerouting | Hook::Input => one(IIFNAME),
        Hook::Output | Hook::Postrouting => one(OIFNAME),
        Hook::Forward => {
            let mut rules = Vec::new();
            for from in &names {
                for to in names.iter().filter(|to| *to != from) {
                    rules.push(vec![(IIFNAME, EQUAL, *from), (OIFNAME, EQUAL, *to)]);
                }
            }
            if plan.interfaces.has_rest() {
                // Between an interface of ours and one that is not.
                for (own, other) in [(IIFNAME, OIFNAME), (OIFNAME, IIFNAME)] {
                    for name in &names {
                        let mut rule = vec![(own, EQUAL, *name)];
                        rule.extend(names.iter().map(|name| (other, DIFFERENT, *name)));
                        rules.push(rule);
                    }
                }
            }
            rules
        }
    }
}

fn message<'a>(
    bytes: &'a mut Vec<u8>,
    kind: u16,
    flags: i32,
    sequence: u32,
    family: libc::c_int,
) -> Message<'a> {
    let flags = flags | libc::NLM_F_ACK;
    begin(bytes, kind, flags, sequence, family as u8, 0)
}

fn bounds(bytes: &mut Vec<u8>, kind: u16, sequence: u32) {
    begin(bytes, kind, 0, sequence, 0, NFTABLES).end();
}

/// An expression of a rule.
fn expression<'a>(
    list: Message<'a>,
    name: &str,
    data: impl FnOnce(Message<'a>) -> Message<'a>,
) -> Message<'a> {
    list.nest(1 | NESTED, |element| {
        element.with_text(1, name).nest(2 | NESTED, data)
    })
}

/// Goes on with the rule if something about the packet compares so.
fn compare<'a>(list: Message<'a>, key: u32, operator: u32, value: &[u8]) -> Message<'a> {
    let list = expression(list, "meta", |meta| {
        // Register 1.
        meta.with_be32(2, key).with_be32(1, 1)
    });
    expression(list, "cmp", |cmp| {
        cmp.with_be32(1, 1)
            .with_be32(2, operator)
            .nest(3 | NESTED, |data| data.with(1, value))
    })
}

fn accept(list: Message<'_>) -> Message<'_> {
    expression(list, "immediate", |immediate| {
        // The register of verdicts.
        immediate.with_be32(1, 0).nest(2 | NESTED, |data| {
            data.nest(2 | NESTED, |verdict| {
                verdict.with_be32(1, libc::NF_ACCEPT as u32)
            })
        })
    })
}

/// The match `bpf` of iptables, revision 0: struct xt_bpf_info.
fn bpf<'a>(list: Message<'a>, filter: &[Instruction]) -> Message<'a> {
    let mut info = Vec::with_capacity(528);
    info.extend_from_slice(&(filter.len() as u16).to_ne_bytes());
    info.extend_from_slice(&[0; 2]);
    for Instruction { code, jt, jf, k } in filter {
        info.extend_from_slice(&code.to_ne_bytes());
        info.extend_from_slice(&[*jt, *jf]);
        info.extend_from_slice(&k.to_ne_bytes());
    }
    // Behind the instructions, at a multiple of eight, the kernel has a pointer.
    info.resize(4 + MAX_MATCH_INSTRUCTIONS * 8 + 4 + 8, 0);
    expression(list, "match", |data| {
        data.with_text(1, "bpf").with_be32(2, 0).with(3, &info)
    })
}

fn queue<'a>(list: Message<'a>, plan: &Plan<'_>, delivery: Delivery) -> Message<'a> {
    let (first, count) = plan.queues;
    // Bypass is 1 for both.
    let bypass = u16::from(plan.fail == Fail::Open);
    match delivery {
        Delivery::Statement => expression(list, "queue", |data| {
            data.with(1, &first.to_be_bytes())
                .with(2, &count.to_be_bytes())
                .with(3, &bypass.to_be_bytes())
        }),
        Delivery::Target => {
            // struct xt_NFQ_info_v3, in the size that x_tables gives it.
            let mut info = [0; 8];
            info[..2].copy_from_slice(&first.to_ne_bytes());
            info[2..4].copy_from_slice(&count.to_ne_bytes());
            info[4..6].copy_from_slice(&bypass.to_ne_bytes());
            expression(list, "target", |data| {
                data.with_text(1, "NFQUEUE").with_be32(2, 3).with(3, &info)
            })
        }
    }
}
