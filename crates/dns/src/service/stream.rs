//! DNS over TCP (RFC 7766): the connections of a service, from clients and to servers.
//!
//! A connection is an [`Endpoint`] of `hosts`; its segments are frames on the node's links. A length precedes each message
//! (RFC 1035 section 4.2.2).
//!
//! - **Pipelining:** up to [`MAX_PIPELINED`] queries of a client wait on a connection; responses are sent in the order in which
//!   they are ready. Further queries stay unread, and the TCP window closes.
//! - **Memory:** connections are limited in all and for each client. Each has buffers of [`BUFFER`] bytes, an
//!   incomplete message, and up to [`MAX_BACKLOG`] bytes that the client has not read; beyond that it is reset.
//! - **Time:** a connection without a message for `idle` is closed, and reset after `idle` more. At the limit in
//!   all or of a client, a new connection replaces the oldest one that is still opening or already closing; open ones stay.

use super::{PORT, is_link_local};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use hosts::endpoint::{Egress, Endpoint, SocketOptions, Stack};
use ip::header::{self, TCP};
use ip::icmp::Report;
use ip::service::{Link, ROUTED};
use node::random::Random;
use node::{ConfigError, Frame, Out, Port, Statistics, Time, When};

/// Maximum number of queries of a connection that wait for their responses.
pub const MAX_PIPELINED: usize = 64;
/// Bytes of a connection's buffer in each direction.
pub const BUFFER: usize = 1 << 16;
/// Maximum number of bytes that wait for room in a connection's buffer.
pub const MAX_BACKLOG: usize = 1 << 18;
/// Maximum number of connections to servers.
const MAX_UPSTREAM: usize = 64;
/// Reason of frames that are dropped.
pub(super) const CLIENT_NOT_ALLOWED: &str = "client not allowed";
/// Size of the length field before a message.
const PREFIX: usize = 2;

/// Limits of connections: the key `tcp` of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Maximum number of connections of clients; 0 disables TCP for clients. Default: 64.
    pub connections: usize,
    /// Maximum number of connections of a client. Default: 16.
    pub per_client: usize,
    /// A connection is closed after this time without a message. Default: 10 s.
    pub idle: Time,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            connections: 64,
            per_client: 16,
            idle: Time::from_secs(10),
        }
    }
}

impl Config {
    /// Checks the limits.
    ///
    /// # Errors
    /// When there are more than 4,096 connections, or `idle` is shorter than 100 ms.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.connections > 4_096 {
            let reason = "at most 4096 connections";
            return Err(ConfigError::new("tcp", reason));
        }
        if self.idle < Time::from_ms(100) {
            let reason = "idle is at least 100 ms: a client needs time for its next query";
            return Err(ConfigError::new("tcp", reason));
        }
        Ok(())
    }
}

/// Endpoints of a connection: local and remote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ends {
    pub own: SocketAddr,
    pub remote: SocketAddr,
}

/// Result of a segment's arrival.
pub(super) enum Arrival {
    /// It belongs to no connection.
    Other(Frame),
    /// It comes from a client that is not allowed, or exceeds a limit.
    Refused(Frame, &'static str),
    /// It was handled; the connection is [due](Streams::poll_due).
    Taken,
}

impl Arrival {
    /// The frame, if it belongs to no connection. One that is refused is dropped; `refused` counts those of clients that are not
    /// allowed.
    pub fn other(self, refused: &mut u64, out: &mut Out) -> Option<Frame> {
        match self {
            Arrival::Other(frame) => Some(frame),
            Arrival::Refused(frame, reason) => {
                *refused += u64::from(reason == CLIENT_NOT_ALLOWED);
                out.drop(frame, reason);
                None
            }
            Arrival::Taken => None,
        }
    }
}

/// Path of a connection's segments.
#[derive(Clone, Copy, Debug)]
enum Path {
    Routed,
    /// No route leads to an address of one link.
    Link {
        port: u16,
        own: [u8; 6],
        remote: [u8; 6],
    },
}

impl Egress for Path {
    fn send(&mut self, _: Time, _: IpAddr, when: When, mut frame: Frame, out: &mut Out) {
        let port = match *self {
            Path::Routed => ROUTED,
            Path::Link { port, own, remote } => {
                frame[..6].copy_from_slice(&remote);
                frame[6..12].copy_from_slice(&own);
                Port(port)
            }
        };
        match when {
            When::Now => out.send(port, frame),
            When::At(at) => out.send_at(port, at, frame),
        }
    }
}

struct Stream {
    end: Endpoint,
    path: Path,
    /// The link of the first segment, and the MAC address that it came from.
    link: u16,
    mac: [u8; 6],
    /// Whether a client has opened it.
    is_client: bool,
    /// Bytes of incomplete messages.
    input: Vec<u8>,
    /// Bytes that wait for space in the buffer.
    backlog: VecDeque<u8>,
    /// Queries that have no response yet.
    waiting: usize,
    is_closed: bool,
    /// Time of the last message, or of the close.
    used: Time,
    due: Time,
}

/// Counters of connections.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    accepted: u64,
    opened: u64,
    refused: u64,
    /// Connections that were not open, and were replaced by new ones.
    replaced: u64,
    idle: u64,
    reset: u64,
}

pub(super) struct Streams {
    stack: Stack,
    random: Random,
    all: BTreeMap<Ends, Stream>,
    config: Config,
    counters: Counters,
    /// Servers whose connection has ended before all responses.
    lost: Vec<SocketAddr>,
}

impl core::fmt::Debug for Streams {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Streams")
            .field("connections", &self.all.len())
            .finish_non_exhaustive()
    }
}

impl Streams {
    pub fn new(config: Config, seed: u64) -> Streams {
        let mut random = Random::new(seed ^ 0x7766);
        Streams {
            stack: Stack::new(1_500, random.bits()),
            random,
            all: BTreeMap::new(),
            config,
            counters: Counters::default(),
            lost: Vec::new(),
        }
    }

    pub fn count(&self, all: &mut Statistics) {
        let counters = &self.counters;
        all.counter("tcp_accepted", counters.accepted);
        all.counter("tcp_opened", counters.opened);
        all.counter("tcp_refused", counters.refused);
        all.counter("tcp_replaced", counters.replaced);
        all.counter("tcp_idle", counters.idle);
        all.counter("tcp_reset", counters.reset);
    }

    /// Handles a segment; a SYN of a client that `allows` permits opens a connection. An ICMP report about a segment that was too
    /// long for a link reduces the segment size of its connection (RFC 1191), and is returned.
    pub fn handle_frame(
        &mut self,
        now: Time,
        link: &Link<'_>,
        frame: Frame,
        allows: impl FnOnce(IpAddr) -> bool,
        out: &mut Out,
    ) -> Arrival {
        let Some(packet) = header::read(&frame).filter(|_| frame[0] & 1 == 0) else {
            return Arrival::Other(frame);
        };
        if packet.protocol != TCP {
            if !self.all.is_empty()
                && let Some(report) = Report::read(&frame, &packet)
            {
                self.too_big(now, &report);
            }
            return Arrival::Other(frame);
        }
        let Some(segment) = frame[packet.payload..packet.end].first_chunk::<20>() else {
            return Arrival::Other(frame);
        };
        let port = |at: usize| u16::from_be_bytes([segment[at], segment[at + 1]]);
        let ends = Ends {
            own: SocketAddr::new(packet.destination, port(2)),
            remote: SocketAddr::new(packet.source, port(0)),
        };
        if !self.all.contains_key(&ends) {
            // Only a SYN opens a connection.
            let is_first = segment[13] & 0x17 == 2 && ends.own.port() == PORT;
            if !is_first || self.config.connections == 0 {
                return Arrival::Other(frame);
            }
            if !allows(ends.remote.ip()) {
                return Arrival::Refused(frame, CLIENT_NOT_ALLOWED);
            }
            if !ip::address::is_host(ends.remote.ip()) || !self.make_room(ends.remote.ip()) {
                self.counters.refused += 1;
                return Arrival::Refused(frame, "too many TCP connections");
            }
            let mac = frame[6..12].try_into().expect("six octets");
            let path = match is_link_local(ends.remote.ip()) {
                true => Path::Link {
                    port: link.port.0,
                    own: link.interface.mac(),
                    remote: mac,
                },
                false => Path::Routed,
            };
            self.stack.set_mtu(link.mtu);
            let end = Endpoint::waiting(&self.stack, ends.own, self.options());
            self.counters.accepted += 1;
            self.put(now, ends, end, path, Some((link.port.0, mac)));
        }
        let stream = self.all.get_mut(&ends).expect("found, or just put in");
        stream.due = now;
        let path = &mut stream.path;
        match stream.end.segment(&mut self.stack, now, &frame, path, out) {
            Ok(()) => out.done(frame),
            Err(reason) => out.drop(frame, reason),
        }
        Arrival::Taken
    }

    /// Whether one more connection of a client may open. If necessary it replaces the oldest one that is opening or
    /// closing.
    fn make_room(&mut self, client: IpAddr) -> bool {
        let clients = || self.all.iter().filter(|(_, stream)| stream.is_client);
        let is_of_client = |ends: &Ends| ends.remote.ip() == client;
        let of_client = clients().filter(|(ends, _)| is_of_client(ends)).count();
        let is_full = of_client >= self.config.per_client;
        if !is_full && clients().count() < self.config.connections {
            return true;
        }
        // Opening or closing.
        let others = clients()
            .filter(|(ends, stream)| !stream.end.is_open() && (!is_full || is_of_client(ends)));
        let oldest = others.min_by_key(|(_, stream)| stream.used);
        let Some(ends) = oldest.map(|(ends, _)| *ends) else {
            return false;
        };
        self.counters.replaced += 1;
        self.all.remove(&ends).is_some()
    }

    fn options(&self) -> SocketOptions {
        SocketOptions {
            buffer: BUFFER,
            timeout: Some(self.config.idle),
            ..SocketOptions::default()
        }
    }

    fn put(
        &mut self,
        now: Time,
        ends: Ends,
        end: Endpoint,
        path: Path,
        client: Option<(u16, [u8; 6])>,
    ) {
        let (link, mac) = client.unwrap_or_default();
        let stream = Stream {
            end,
            path,
            link,
            mac,
            is_client: client.is_some(),
            input: Vec::new(),
            backlog: VecDeque::new(),
            waiting: 0,
            is_closed: false,
            used: now,
            due: now,
        };
        self.all.insert(ends, stream);
    }

    fn too_big(&mut self, now: Time, report: &Report) {
        let Some(mtu) = report.too_big().filter(|_| report.protocol == TCP) else {
            return;
        };
        let [a, b, c, d, sequence @ ..] = report.begin;
        let [own, remote] = [[a, b], [c, d]].map(u16::from_be_bytes);
        let remote = SocketAddr::new(report.destination, remote);
        let found = self.all.iter_mut();
        let mut found = found.filter(|(ends, _)| ends.own.port() == own && ends.remote == remote);
        if let Some((_, stream)) = found.next() {
            let sequence = u32::from_be_bytes(sequence);
            if stream.end.too_big(sequence, mtu, remote.ip()) {
                stream.due = now;
            }
        }
    }

    /// Sends a response to a client, if its connection still exists.
    pub fn respond(&mut self, now: Time, ends: Ends, message: &[u8]) {
        if let Some(stream) = self.all.get_mut(&ends) {
            stream.waiting = stream.waiting.saturating_sub(1);
            stream.push(now, message);
        }
    }

    /// Sends a query from a local address to a server, on the existing connection or on a new one. With too many connections
    /// the query is lost and counted.
    pub fn query(&mut self, now: Time, own: IpAddr, server: SocketAddr, message: &[u8]) {
        let mut servers = self.all.iter_mut().filter(|(_, stream)| !stream.is_client);
        let is_usable = |(ends, stream): &(&Ends, &mut Stream)| {
            let is_same = ends.own.ip() == own && ends.remote == server;
            is_same && !stream.is_closed && !stream.end.has_heard_all()
        };
        if let Some((_, stream)) = servers.find(is_usable) {
            stream.waiting += 1;
            return stream.push(now, message);
        }
        let count = self.all.values().filter(|stream| !stream.is_client).count();
        let ends = Ends {
            own: SocketAddr::new(own, self.random.below(64_512) as u16 + 1_024),
            remote: server,
        };
        self.stack.set_mtu(1_500);
        let options = self.options();
        let end = match count < MAX_UPSTREAM && !self.all.contains_key(&ends) {
            true => Endpoint::opening(&mut self.stack, ends.own, server, options),
            false => None,
        };
        let Some(end) = end else {
            self.counters.refused += 1;
            return;
        };
        self.counters.opened += 1;
        self.put(now, ends, end, Path::Routed, None);
        let stream = self.all.get_mut(&ends).expect("just put in");
        stream.waiting = 1;
        stream.push(now, message);
    }

    /// A connection that has something to do at `now`: to be [read](Streams::read) and [driven](Streams::drive).
    pub fn poll_due(&self, now: Time) -> Option<Ends> {
        let due = |(_, stream): &(&Ends, &Stream)| stream.next(self.config.idle) <= now;
        self.all.iter().find(due).map(|(ends, _)| *ends)
    }

    pub fn next_wake(&self) -> Option<Time> {
        let due = self
            .all
            .values()
            .map(|stream| stream.next(self.config.idle));
        due.min()
    }

    /// Moves the next whole message of a connection to `message`. `false` when there is none, or too many queries wait.
    pub fn read(&mut self, now: Time, ends: Ends, message: &mut Vec<u8>) -> bool {
        let Some(stream) = self.all.get_mut(&ends) else {
            return false;
        };
        if stream.is_client && (stream.waiting >= MAX_PIPELINED || stream.backlog.len() >= BUFFER) {
            return false;
        }
        loop {
            let prefix = stream.input.first_chunk::<PREFIX>();
            let length = prefix.map_or(0, |length| usize::from(u16::from_be_bytes(*length)));
            let end = PREFIX + length;
            if prefix.is_some() && stream.input.len() >= end {
                message.clear();
                message.extend(&stream.input[PREFIX..end]);
                stream.input.drain(..end);
                stream.used = now;
                match stream.is_client {
                    true => stream.waiting += 1,
                    false => stream.waiting = stream.waiting.saturating_sub(1),
                }
                return true;
            }
            let missing = end - stream.input.len();
            let input = &mut stream.input;
            let read = stream.end.recv(|bytes| {
                let count = bytes.len().min(missing);
                input.extend(&bytes[..count]);
                (count, count)
            });
            if !matches!(read, Ok(1..)) {
                return false;
            }
        }
    }

    /// Sends on a connection, and closes it when it times out.
    pub fn drive(&mut self, now: Time, ends: Ends, out: &mut Out) {
        let idle = self.config.idle;
        let Some(stream) = self.all.get_mut(&ends) else {
            return;
        };
        let (front, _) = stream.backlog.as_slices();
        if let Ok(sent) = stream.end.send_slice(front) {
            stream.backlog.drain(..sent);
            // The other part of the ring.
            if sent > 0 && !stream.backlog.is_empty() {
                let sent = stream.end.send_slice(stream.backlog.as_slices().0);
                stream.backlog.drain(..sent.unwrap_or(0));
            }
        }
        let is_late = stream.used + idle <= now;
        if is_late && !stream.is_closed {
            self.counters.idle += 1;
        }
        let is_finished =
            stream.end.has_heard_all() && stream.waiting == 0 && stream.backlog.is_empty();
        if stream.backlog.len() > MAX_BACKLOG || (is_late && stream.is_closed) {
            self.counters.reset += 1;
            stream.end.abort();
        } else if (is_late || is_finished) && !stream.is_closed {
            stream.end.close();
            stream.is_closed = true;
            stream.used = now;
        }
        stream.due = stream.end.drive(now, &mut stream.path, out);
        if stream.end.is_over() {
            let is_lost = !stream.is_client && stream.waiting > 0;
            self.all.remove(&ends);
            if is_lost {
                self.lost.push(ends.remote);
            }
        }
    }

    /// The link of a client's first segment, and the MAC address that it came from.
    pub fn origin(&self, ends: Ends) -> (u16, [u8; 6]) {
        let stream = self.all.get(&ends);
        stream.map_or((0, [0; 6]), |stream| (stream.link, stream.mac))
    }

    /// A server whose connection has ended before all responses.
    pub fn poll_lost(&mut self) -> Option<SocketAddr> {
        self.lost.pop()
    }
}

impl Stream {
    fn push(&mut self, now: Time, message: &[u8]) {
        let length = u16::try_from(message.len()).expect("a message has at most 65,535 bytes");
        self.backlog.extend(length.to_be_bytes());
        self.backlog.extend(message);
        self.used = now;
        self.due = now;
    }

    fn next(&self, idle: Time) -> Time {
        self.due.min(self.used + idle)
    }
}
