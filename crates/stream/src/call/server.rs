//! The server's side of all connections.

use super::packet::{Kind, Packet};
use super::transfer::{Arrival, Receiving, Sending};
use super::{ACK_DELAY, IDLE_TIMEOUT, MAX_REPLY_LEN, MAX_REQUEST_LEN};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::hash::Hasher;
use core::net::{IpAddr, SocketAddr};
use node::Time;
use siphasher::sip::SipHasher24;

/// Limits of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// Open connections. Default 1,024. At the limit, a new one replaces the one that has
    /// been idle longest.
    pub connections: usize,
    /// Connections of each IPv4 address or IPv6 /64. Default 64.
    pub per_address: usize,
    /// Memory of all requests and replies together, bytes, except those of one packet. Default
    /// 16 MiB.
    pub memory: usize,
}

impl Default for ServerLimits {
    fn default() -> Self {
        ServerLimits {
            connections: 1024,
            per_address: 64,
            memory: 16 << 20,
        }
    }
}

/// Counters of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerCounts {
    /// Requests received.
    pub requests: u64,
    /// Packets that could not be read.
    pub malformed: u64,
    /// Handshakes with a wrong hash.
    pub unproved: u64,
    /// Packets of unknown connections.
    pub unknown: u64,
    /// Duplicate, late or out-of-order packets.
    pub ignored: u64,
    /// Handshakes refused: too many connections.
    pub refused: u64,
    /// Idle connections replaced by new ones.
    pub gave_way: u64,
    /// Connections ended after a timeout or a request that was too long.
    pub ended: u64,
    /// Fragments refused and replies not sent for lack of memory.
    pub no_memory: u64,
}

/// Identifier of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionId(u64);

/// Events for the service behind a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerEvent {
    /// A request; answer it with [`Server::reply`].
    Request {
        /// The connection.
        connection: ConnectionId,
        /// The request.
        message: Vec<u8>,
    },
    /// A connection has ended.
    Closed(ConnectionId),
}

struct Connection {
    peer: SocketAddr,
    heard: Time,
    /// Number of the exchange of the phase.
    exchange: u32,
    phase: Phase,
}

enum Phase {
    /// The last exchange is complete.
    Idle,
    Receiving(Receiving),
    Working(Work),
    Replying(Sending),
}

/// A request that the service is handling.
struct Work {
    /// Number of its last fragment.
    last: u16,
    /// Its length, which counts as memory until the reply.
    length: usize,
    /// Time of its acknowledgement, unless the reply comes first.
    acknowledge: Option<Time>,
}

impl Phase {
    fn memory(&self) -> usize {
        match self {
            Phase::Idle => 0,
            Phase::Working(work) => work.length,
            Phase::Receiving(receiving) => receiving.message.len(),
            Phase::Replying(sending) => sending.message.len(),
        }
    }
}

/// All connections of a server.
pub struct Server {
    limits: ServerLimits,
    secret: [u64; 2],
    connections: BTreeMap<u64, Connection>,
    memory: usize,
    out: VecDeque<(SocketAddr, Vec<u8>)>,
    events: VecDeque<ServerEvent>,
    counts: ServerCounts,
}

/// Reasons of [`Kind::Refuse`].
const NO_PLACE: u8 = 1;
const NO_CONNECTION: u8 = 2;
const TOO_LONG: u8 = 3;

impl Server {
    /// A server without connections. `secret` must be random; it keys the hashes of the handshake.
    #[must_use]
    pub fn new(limits: ServerLimits, secret: [u64; 2]) -> Server {
        Server {
            limits,
            secret,
            connections: BTreeMap::new(),
            memory: 0,
            out: VecDeque::new(),
            events: VecDeque::new(),
            counts: ServerCounts::default(),
        }
    }

    /// The server's counters.
    #[must_use]
    pub fn counts(&self) -> ServerCounts {
        self.counts
    }

    /// Bytes of all requests and replies.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// Number of connections.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// The next packet to send, and its destination.
    pub fn poll_transmit(&mut self) -> Option<(SocketAddr, Vec<u8>)> {
        self.out.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<ServerEvent> {
        self.events.pop_front()
    }

    /// Handles a packet.
    pub fn handle(&mut self, now: Time, from: SocketAddr, bytes: &[u8]) {
        let Some(packet) = Packet::read(bytes) else {
            self.counts.malformed += 1;
            return;
        };
        match packet.kind {
            Kind::Connect => {
                let hash = self.hash(0, from, packet.connection).to_be_bytes();
                match packet.payload.len() >= hash.len() {
                    true => self.answer(from, Kind::Challenge, &packet, &hash),
                    false => self.counts.malformed += 1,
                }
            }
            Kind::Open => self.open(now, from, &packet),
            Kind::Challenge | Kind::Accept | Kind::Refuse | Kind::Pong => {
                self.counts.malformed += 1
            }
            _ => self.connected(now, from, &packet),
        }
    }

    /// A keyed hash of an address and a nonce, for a purpose.
    fn hash(&self, purpose: u8, peer: SocketAddr, nonce: u64) -> u64 {
        let mut hasher = SipHasher24::new_with_keys(self.secret[0], self.secret[1]);
        hasher.write_u8(purpose);
        match peer.ip().to_canonical() {
            IpAddr::V4(v4) => hasher.write(&v4.to_ipv6_mapped().octets()),
            IpAddr::V6(v6) => hasher.write(&v6.octets()),
        }
        hasher.write(&peer.port().to_be_bytes());
        hasher.write(&nonce.to_be_bytes());
        hasher.finish()
    }

    /// Queues an answer to a packet.
    fn answer(&mut self, to: SocketAddr, kind: Kind, of: &Packet<'_>, payload: &[u8]) {
        let answer = Packet {
            kind,
            payload,
            ..*of
        };
        self.out.push_back((to, answer.write()));
    }

    fn open(&mut self, now: Time, from: SocketAddr, packet: &Packet<'_>) {
        if packet.number() != Some(self.hash(0, from, packet.connection)) {
            self.counts.unproved += 1;
            return;
        }
        // A repeated handshake leads to the same connection.
        let id = self.hash(1, from, packet.connection);
        if !self.connections.contains_key(&id) {
            let place = origin(from);
            let near = self
                .connections
                .values()
                .filter(|other| origin(other.peer) == place);
            let is_crowded = near.count() >= self.limits.per_address;
            if is_crowded || !self.make_place(now) {
                self.counts.refused += 1;
                self.answer(from, Kind::Refuse, packet, &[NO_PLACE]);
                return;
            }
            let connection = Connection {
                peer: from,
                heard: now,
                exchange: 0,
                phase: Phase::Idle,
            };
            self.connections.insert(id, connection);
        }
        self.answer(from, Kind::Accept, packet, &id.to_be_bytes());
    }

    /// Whether another connection may open, if necessary in place of the one that is idle longest.
    fn make_place(&mut self, now: Time) -> bool {
        if self.connections.len() < self.limits.connections {
            return true;
        }
        let idle = self.connections.iter().filter(|(_, connection)| {
            matches!(connection.phase, Phase::Idle) && connection.heard < now
        });
        let longest = idle.min_by_key(|(_, connection)| connection.heard);
        match longest.map(|(id, _)| *id) {
            Some(id) => {
                self.counts.gave_way += 1;
                self.end(id);
                true
            }
            None => false,
        }
    }

    fn end(&mut self, id: u64) {
        if let Some(connection) = self.connections.remove(&id) {
            self.memory -= connection.phase.memory();
            self.events.push_back(ServerEvent::Closed(ConnectionId(id)));
        }
    }

    fn connected(&mut self, now: Time, from: SocketAddr, packet: &Packet<'_>) {
        let id = packet.connection;
        let known = self
            .connections
            .get_mut(&id)
            .filter(|known| known.peer == from);
        let Some(connection) = known else {
            self.counts.unknown += 1;
            // No longer than the packet: a header and a byte.
            match packet.payload.is_empty() {
                true => self.answer(from, Kind::Refuse, packet, &[]),
                false => self.answer(from, Kind::Refuse, packet, &[NO_CONNECTION]),
            }
            return;
        };
        connection.heard = now;
        match packet.kind {
            Kind::Ping => self.answer(from, Kind::Pong, packet, &[]),
            Kind::Close => self.end(id),
            Kind::Ack => {
                if packet.exchange != connection.exchange {
                    self.counts.ignored += 1;
                    return;
                }
                if let Phase::Replying(sending) = &mut connection.phase {
                    if sending.acknowledge(packet.fragment, now) {
                        self.memory -= connection.phase.memory();
                        connection.phase = Phase::Idle;
                    } else {
                        self.transmit(now, id);
                    }
                }
            }
            _ => self.fragment(now, from, packet),
        }
    }

    /// A fragment of a request.
    fn fragment(&mut self, now: Time, from: SocketAddr, packet: &Packet<'_>) {
        let id = packet.connection;
        let free = self.limits.memory.saturating_sub(self.memory);
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let is_next = packet.exchange == connection.exchange.wrapping_add(1);
        let is_done = matches!(connection.phase, Phase::Idle | Phase::Replying(_));
        if is_next && is_done && packet.fragment == 0 {
            // A new request implies that the client has the reply.
            self.memory -= connection.phase.memory();
            connection.exchange = packet.exchange;
            connection.phase = Phase::Receiving(Receiving::default());
        } else if packet.exchange != connection.exchange {
            self.counts.ignored += 1;
            return;
        }
        let receiving = match &mut connection.phase {
            Phase::Receiving(receiving) => receiving,
            Phase::Working(work) if packet.fragment <= work.last => {
                return self.answer(from, Kind::Ack, packet, &[]);
            }
            _ => {
                self.counts.ignored += 1;
                return;
            }
        };
        // Requests of one packet are always accepted, as are short replies: one for each connection.
        let is_short = packet.kind == Kind::Last && packet.fragment == 0;
        if packet.payload.len() > free && !is_short {
            self.counts.no_memory += 1;
            return;
        }
        let before = receiving.message.len();
        let arrival = receiving.fragment(packet, MAX_REQUEST_LEN);
        self.memory += receiving.message.len() - before;
        match arrival {
            Arrival::Acknowledge => self.answer(from, Kind::Ack, packet, &[]),
            Arrival::Ignore => self.counts.ignored += 1,
            Arrival::TooLong => {
                self.counts.ended += 1;
                self.answer(from, Kind::Refuse, packet, &[TOO_LONG]);
                self.end(id);
            }
            Arrival::Complete => {
                let message = core::mem::take(&mut receiving.message);
                connection.phase = Phase::Working(Work {
                    last: packet.fragment,
                    length: message.len(),
                    acknowledge: Some(now + ACK_DELAY),
                });
                self.counts.requests += 1;
                let connection = ConnectionId(id);
                self.events.push_back(ServerEvent::Request {
                    connection,
                    message,
                });
            }
        }
    }

    /// Answers a connection's request. A connection that has ended takes nothing.
    ///
    /// # Errors
    /// When the reply is too long, or no memory is left for it. The error returns the reply, so that
    /// a shorter one can be sent.
    pub fn reply(
        &mut self,
        now: Time,
        connection: ConnectionId,
        message: Vec<u8>,
    ) -> Result<(), Vec<u8>> {
        let Some(found) = self.connections.get_mut(&connection.0) else {
            return Ok(());
        };
        if !matches!(found.phase, Phase::Working(..)) {
            return Ok(());
        }
        // A short reply, such as an error, is always accepted.
        let is_short = message.len() <= super::MAX_FRAGMENT_LEN;
        if message.len() > MAX_REPLY_LEN
            || !is_short && message.len() > self.limits.memory.saturating_sub(self.memory)
        {
            self.counts.no_memory += 1;
            return Err(message);
        }
        self.memory = self.memory - found.phase.memory() + message.len();
        found.phase = Phase::Replying(Sending::new(message, now));
        self.transmit(now, connection.0);
        Ok(())
    }

    /// Sends the outstanding fragment of a reply, or ends the connection after too many attempts.
    fn transmit(&mut self, now: Time, id: u64) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let (peer, exchange) = (connection.peer, connection.exchange);
        if let Phase::Replying(sending) = &mut connection.phase {
            if sending.retry.again(now).is_none() {
                self.counts.ended += 1;
                self.end(id);
                return;
            }
            let packet = sending.packet(id, exchange).write();
            self.out.push_back((peer, packet));
        }
    }

    /// The time at which [`wake`](Server::wake) has something to do.
    #[must_use]
    pub fn next_wake(&self) -> Option<Time> {
        let due = |connection: &Connection| {
            let idle = connection.heard + IDLE_TIMEOUT;
            match &connection.phase {
                Phase::Working(Work {
                    acknowledge: Some(acknowledge),
                    ..
                }) => idle.min(*acknowledge),
                Phase::Replying(sending) => idle.min(sending.retry.due),
                _ => idle,
            }
        };
        self.connections.values().map(due).min()
    }

    /// Does what is due: acknowledgements, repetitions, and ends of silent connections.
    pub fn wake(&mut self, now: Time) {
        let ids: Vec<u64> = self.connections.keys().copied().collect();
        for id in ids {
            let Some(connection) = self.connections.get_mut(&id) else {
                continue;
            };
            if connection.heard + IDLE_TIMEOUT <= now {
                self.counts.ended += 1;
                self.end(id);
                continue;
            }
            match &mut connection.phase {
                Phase::Working(work) if work.acknowledge.is_some_and(|due| due <= now) => {
                    work.acknowledge = None;
                    let packet = Packet {
                        kind: Kind::Ack,
                        fragment: work.last,
                        exchange: connection.exchange,
                        connection: id,
                        payload: &[],
                    };
                    self.out.push_back((connection.peer, packet.write()));
                }
                Phase::Replying(sending) if sending.retry.due <= now => self.transmit(now, id),
                _ => {}
            }
        }
    }
}

/// Part of an address that connections are counted by.
fn origin(peer: SocketAddr) -> u128 {
    match peer.ip().to_canonical() {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits() & !u128::from(u64::MAX),
    }
}
