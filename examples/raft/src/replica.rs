//! A replica of the store over Raft: `raft` of TiKV does the protocol, this node brings its messages, its time, and the store.
//!
//! Clients are those of Paxos: they ask the group, whoever leads takes that up, and answers once it is committed. Logs are kept in memory, as acceptors keep
//! their votes: nothing waits for a disk.
//!
//! - **Ports:** 1.
//! - **Parameters:** see [`Config`].
//! - **Counters:** `received`, `sent`: messages between replicas; `requests`: taken up as a leader; `applied`; `terms`: the term; `leads`, 1 while it leads.
//! - **Drops:** `not for a replica`, `bad message`.

use consensus::message::{Kind, Message, PORT};
use consensus::store::Store;
use consensus::Command;
use protobuf::Message as _;
use raft::eraftpb::{ConfState, EntryType, Message as Said};
use raft::storage::MemStorage;
use raft::{RawNode, StateRole};
use std::net::Ipv4Addr;
use node::ConfigError;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use packet::ethernet::{Ethernet, Mac, ethertype};
use packet::ipv4::{Ipv4, Ipv4View, protocol};
use packet::udp::{Udp, UdpView};

/// UDP port of replicas among themselves.
const PEERS: u16 = 57_022;
/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;
/// Number of entries before the last applied one that are kept for followers that lag.
const RETAINED_ENTRIES: u64 = 10_000;

/// Configuration of a replica.
pub struct Config {
    /// Number of this replica, from 1.
    pub id: u8,
    /// Number of replicas.
    pub replicas: u8,
    /// Where clients ask.
    pub group: Ipv4Addr,
    /// Raft's tick: a heartbeat is 2, an election at least 10.
    pub tick: Time,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            id: 1,
            replicas: 3,
            group: Ipv4Addr::new(239, 0, 0, 1),
            tick: Time::from_ms(1),
        }
    }
}

/// The node.
pub struct Replica {
    id: u8,
    group: Ipv4Addr,
    tick: Time,
    next_tick: Time,
    raft: RawNode<MemStorage>,
    store: Store,
    applied: u64,
    requests: u64,
    received: u64,
    sent: u64,
    scratch: Vec<u8>,
}

fn mac(id: u8) -> Mac {
    Mac([2, 0, 0, 0, 7, id])
}

fn address(id: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 7, id)
}

impl Replica {
    pub fn new(config: Config) -> Result<Replica, ConfigError> {
        let fault = |key, reason: &str| ConfigError {
            key,
            reason: reason.into(),
        };
        if config.id == 0 || config.id > config.replicas {
            return Err(fault("id", "1 to as many as there are replicas"));
        }
        if config.tick < Time::from_us(1) {
            return Err(fault("tick", "at least 1 us"));
        }
        let voters: Vec<u64> = (1..=config.replicas.into()).collect();
        let storage = MemStorage::new_with_conf_state(ConfState {
            voters,
            ..Default::default()
        });
        let raft = raft::Config {
            id: config.id.into(),
            election_tick: 10,
            heartbeat_tick: 2,
            // An append fits a frame.
            max_size_per_msg: 1200,
            max_inflight_msgs: 256,
            ..Default::default()
        };
        let logger = slog::Logger::root(slog::Discard, slog::o!());
        let raft = RawNode::new(&raft, storage, &logger);
        Ok(Replica {
            id: config.id,
            group: config.group,
            tick: config.tick,
            next_tick: config.tick,
            raft: raft.map_err(|error| fault("id", &error.to_string()))?,
            store: Store::default(),
            applied: 0,
            requests: 0,
            received: 0,
            sent: 0,
            scratch: Vec::new(),
        })
    }

    /// Takes a frame; `Err` says why it is none for a replica.
    fn take(&mut self, frame: &Frame) -> Result<(), &'static str> {
        const OTHER: &str = "not for a replica";
        const BAD: &str = "bad message";
        let packet = frame.get(ETHERNET..).ok_or(OTHER)?;
        if frame[12..ETHERNET] != ethertype::IPV4.to_be_bytes() {
            return Err(OTHER);
        }
        let ip = Ipv4View::new(packet).map_err(|_| OTHER)?;
        if ip.protocol() != protocol::UDP || ip.is_fragment() {
            return Err(OTHER);
        }
        let udp = UdpView::new(ip.payload()).map_err(|_| OTHER)?;
        match (ip.destination(), udp.destination_port()) {
            (to, PEERS) if to == address(self.id) => {
                self.received += 1;
                let said = Said::parse_from_bytes(udp.payload()).map_err(|_| BAD)?;
                // What Raft refuses, such as a proposal that nobody can take up, is lost.
                let _ = self.raft.step(said);
                Ok(())
            }
            (to, PORT) if to == self.group => {
                let message = Message::parse(udp.payload()).map_err(|_| BAD)?;
                if message.kind == Kind::Request && self.raft.raft.state == StateRole::Leader {
                    self.requests += 1;
                    let mut bytes = Vec::new();
                    message.build(&mut bytes);
                    let _ = self.raft.propose(Vec::new(), bytes);
                }
                Ok(())
            }
            _ => Err(OTHER),
        }
    }

    fn send(&mut self, to: (Mac, Ipv4Addr), port: u16, payload: &[u8], out: &mut Out) {
        self.scratch.clear();
        let ethernet = Ethernet {
            destination: to.0,
            source: mac(self.id),
            tags: &[],
            ethertype: ethertype::IPV4,
        };
        let ip = Ipv4::new(address(self.id), to.1, protocol::UDP);
        let udp = Udp {
            source_port: port,
            destination_port: port,
        };
        ethernet.build(&mut self.scratch, |out| {
            ip.build(out, |out| {
                udp.build(ip.pseudo(), out, |out| out.extend(payload));
            });
        });
        let mut frame = out.frame();
        frame.extend(&self.scratch);
        out.send(Port(0), frame);
        self.sent += 1;
    }

    fn say(&mut self, said: Vec<Said>, out: &mut Out) {
        for said in said {
            let to = said.to as u8;
            // A message of Raft's own making can be written.
            let bytes = said.write_to_bytes().expect("a message has all its fields");
            self.send((mac(to), address(to)), PEERS, &bytes, out);
        }
    }

    /// Does what has been committed, and answers if it leads.
    fn apply(&mut self, entries: Vec<raft::eraftpb::Entry>, out: &mut Out) {
        for entry in entries {
            self.applied = entry.index;
            if entry.get_entry_type() != EntryType::EntryNormal || entry.data.is_empty() {
                continue;
            }
            let Ok(message) = Message::<Command>::parse(&entry.data) else {
                continue;
            };
            let answer = self.store.apply(entry.index, &message.value);
            let Some(value) = answer.filter(|_| self.raft.raft.state == StateRole::Leader) else {
                continue;
            };
            let response = Message {
                instance: entry.index,
                value: Command {
                    value,
                    ..message.value
                },
                ..Message::new(Kind::Response)
            };
            let mut bytes = Vec::new();
            response.build(&mut bytes);
            let [_, b, c, d] = self.group.octets();
            let group = Mac([1, 0, 0x5E, b & 0x7F, c, d]);
            self.send((group, self.group), PORT, &bytes, out);
        }
    }

    /// Hands on what Raft has ready.
    fn go_on(&mut self, out: &mut Out) {
        const WHOLE: &str = "memory takes all entries";
        while self.raft.has_ready() {
            let mut ready = self.raft.ready();
            self.say(ready.take_messages(), out);
            let committed = ready.take_committed_entries();
            self.apply(committed, out);
            let storage = self.raft.raft.raft_log.store.clone();
            if !ready.snapshot().is_empty() {
                let snapshot = ready.snapshot().clone();
                storage.wl().apply_snapshot(snapshot).expect(WHOLE);
            }
            storage.wl().append(ready.entries()).expect(WHOLE);
            if let Some(state) = ready.hs() {
                storage.wl().set_hardstate(state.clone());
            }
            self.say(ready.take_persisted_messages(), out);
            let mut light = self.raft.advance(ready);
            if let Some(commit) = light.commit_index() {
                storage.wl().mut_hard_state().set_commit(commit);
            }
            self.say(light.take_messages(), out);
            let committed = light.take_committed_entries();
            self.apply(committed, out);
            self.raft.advance_apply();
            if self.applied.is_multiple_of(RETAINED_ENTRIES) && self.applied > RETAINED_ENTRIES {
                storage.wl().compact(self.applied - RETAINED_ENTRIES).expect(WHOLE);
            }
        }
    }
}

impl Node for Replica {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, _: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            match self.take(&frame) {
                Ok(()) => out.done(frame),
                Err(reason) => out.drop(frame, reason),
            }
        }
        // Once for the batch: Raft puts what came together into one append.
        self.go_on(out);
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        while self.next_tick <= now {
            self.raft.tick();
            self.next_tick += self.tick;
        }
        self.go_on(out);
    }

    fn next_wake(&self) -> Option<Time> {
        Some(self.next_tick)
    }

    fn statistics(&self) -> Statistics {
        [
            ("received", self.received),
            ("sent", self.sent),
            ("requests", self.requests),
            ("applied", self.applied),
            ("terms", self.raft.raft.term),
            ("leads", (self.raft.raft.state == StateRole::Leader).into()),
        ]
        .into()
    }
}
