//! UPnP Internet Gateway Device 1 and 2: discovery (SSDP), description, and control (SOAP over HTTP) of the service
//! `WANIPConnection`.
//!
//! A [`Gateway`] has a TCP listener of its own with at most [`MAX_CONNECTIONS`] connections, four of a host, each for one request
//! of at most 8 KiB, which ends after 10 s. Events (GENA) are not there: a subscription is refused.

mod actions;
mod http;
mod pages;
mod ssdp;
mod xml;

use super::Server;
use crate::nat::Nat;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use hosts::endpoint::{Egress, Endpoint, SocketOptions, Stack};
use http::{Reading, Request};
use ip::header::Packet;
use node::{Frame, Out, Time, When};

pub use ssdp::{GROUP, PORT as SSDP_PORT};

/// TCP port of descriptions and control.
pub const PORT: u16 = 49_152;
/// Maximum number of connections.
pub const MAX_CONNECTIONS: usize = 16;
/// Maximum number of connections of a host.
const MAX_PER_HOST: usize = 4;
/// Time after which a connection is reset.
const DEADLINE: Time = Time::from_secs(10);
/// Bytes of a connection's buffers.
const BUFFER: usize = 1 << 15;

const FULL: &str = "too many connections to the gateway's control";

/// Segments that connections send.
#[derive(Debug, Default)]
struct Outbox(VecDeque<Frame>);

impl Egress for Outbox {
    fn send(&mut self, _: Time, _: IpAddr, _: When, frame: Frame, _: &mut Out) {
        self.0.push_back(frame);
    }
}

struct Connection {
    own: SocketAddrV4,
    remote: SocketAddrV4,
    end: Endpoint,
    request: Vec<u8>,
    is_answered: bool,
    /// Bytes of the response that wait for room.
    response: Vec<u8>,
    deadline: Time,
    due: Time,
}

/// Connections for descriptions and control.
pub(super) struct Gateway {
    stack: Stack,
    connections: Vec<Connection>,
    outbox: Outbox,
    /// Unique name of the device.
    id: u64,
    answers: ssdp::Rate,
    alive: Option<Time>,
}

impl core::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Gateway")
            .field("connections", &self.connections.len())
            .finish_non_exhaustive()
    }
}

impl Gateway {
    pub fn new(seed: u64) -> Gateway {
        let mut random = node::random::Random::new(seed);
        Gateway {
            stack: Stack::new(1_500, random.bits()),
            connections: Vec::new(),
            outbox: Outbox::default(),
            id: random.bits(),
            answers: ssdp::Rate::default(),
            alive: Some(Time::ZERO),
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let connections = self.connections.iter();
        let due = connections.map(|connection| connection.due.min(connection.deadline));
        due.chain(self.alive).min()
    }
}

impl Server {
    /// Takes a TCP segment of an inside host, whole and with a right checksum, if it is for the gateway; sends by
    /// [`poll_segment`](Server::poll_segment). Returns the frame if it is not, or if the connection is refused.
    pub fn segment(
        &mut self,
        now: Time,
        nat: &mut Nat,
        frame: Frame,
        packet: &Packet,
        out: &mut Out,
    ) -> Option<Frame> {
        let Some(gateway) = &mut self.gateway else {
            return Some(frame);
        };
        let (IpAddr::V4(source), IpAddr::V4(own)) = (packet.source, packet.destination) else {
            return Some(frame);
        };
        let bytes = &frame[packet.payload..packet.end];
        let port = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        if port(2) != PORT {
            return Some(frame);
        }
        let remote = SocketAddrV4::new(source, port(0));
        let own = SocketAddrV4::new(own, PORT);
        let all = &mut gateway.connections;
        let known = all
            .iter()
            .position(|known| (known.own, known.remote) == (own, remote));
        let index = match known {
            Some(index) => index,
            // A SYN alone begins one.
            None if bytes[13] & 0x17 != 2 => return Some(frame),
            None => {
                let of_host = all
                    .iter()
                    .filter(|known| *known.remote.ip() == source)
                    .count();
                if all.len() >= MAX_CONNECTIONS || of_host >= MAX_PER_HOST {
                    self.counters.over_quota += 1;
                    out.drop(frame, FULL);
                    return None;
                }
                let options = SocketOptions {
                    buffer: BUFFER,
                    timeout: Some(DEADLINE),
                    ..SocketOptions::default()
                };
                let end = Endpoint::waiting(&gateway.stack, SocketAddr::V4(own), options);
                all.push(Connection {
                    own,
                    remote,
                    end,
                    request: Vec::new(),
                    is_answered: false,
                    response: Vec::new(),
                    deadline: now + DEADLINE,
                    due: now,
                });
                all.len() - 1
            }
        };
        let connection = &mut gateway.connections[index];
        let taken =
            connection
                .end
                .segment(&mut gateway.stack, now, &frame, &mut gateway.outbox, out);
        match taken {
            Ok(()) => out.done(frame),
            Err(reason) => out.drop(frame, reason),
        }
        self.drive(now, nat, index, out);
        None
    }

    /// The next segment that a connection sends, an IPv4 packet in a frame.
    pub fn poll_segment(&mut self) -> Option<Frame> {
        self.gateway.as_mut()?.outbox.0.pop_front()
    }

    /// Reads from a connection, answers a complete request, and sends.
    fn drive(&mut self, now: Time, nat: &mut Nat, index: usize, out: &mut Out) {
        let Some(gateway) = &mut self.gateway else {
            return;
        };
        let connection = &mut gateway.connections[index];
        while !connection.is_answered {
            let request = &mut connection.request;
            let read = connection.end.recv(|bytes| {
                let count = bytes.len().min(http::MAX_LEN + 1 - request.len());
                request.extend(&bytes[..count]);
                (count, count)
            });
            if !matches!(read, Ok(1..)) {
                break;
            }
        }
        let (own, remote) = (connection.own, connection.remote);
        if !connection.is_answered {
            let bytes = core::mem::take(&mut connection.request);
            let response = self.answer(now, nat, [own, remote], &bytes);
            if let Some(gateway) = &mut self.gateway {
                let connection = &mut gateway.connections[index];
                connection.is_answered = response.is_some();
                connection.response = response.unwrap_or_default().into_bytes();
                connection.request = if connection.is_answered {
                    Vec::new()
                } else {
                    bytes
                };
            }
        }
        let Some(gateway) = &mut self.gateway else {
            return;
        };
        let connection = &mut gateway.connections[index];
        if connection.is_answered {
            let sent = connection.end.send_slice(&connection.response).unwrap_or(0);
            connection.response.drain(..sent);
            if connection.response.is_empty() {
                connection.end.close();
            }
        }
        if connection.deadline <= now {
            connection.end.abort();
        }
        connection.due = connection.end.drive(now, &mut gateway.outbox, out);
        if connection.end.is_over() {
            gateway.connections.swap_remove(index);
        }
    }

    /// The response to the bytes that have come on a connection between the server's end and a client's; `None` when the request
    /// goes on. With `upnp` alone.
    pub fn answer(
        &mut self,
        now: Time,
        nat: &mut Nat,
        [own, remote]: [SocketAddrV4; 2],
        bytes: &[u8],
    ) -> Option<String> {
        match Request::read(bytes) {
            Reading::More => None,
            Reading::Bad(status) => Some(http::response(status, "", "")),
            Reading::Whole(request) => Some(self.respond(now, nat, own, *remote.ip(), &request)),
        }
    }

    /// The response to a request.
    fn respond(
        &mut self,
        now: Time,
        nat: &mut Nat,
        own: SocketAddrV4,
        client: Ipv4Addr,
        request: &Request<'_>,
    ) -> String {
        let id = self.gateway.as_ref().map_or(0, |gateway| gateway.id);
        // A name instead of the address is a page's script whose name was bound again.
        if request.host.and_then(|host| host.parse().ok()) != Some(own) {
            return http::response(400, "", "");
        }
        match (request.method, request.path) {
            ("GET", pages::DEVICE_PATH) => http::response(200, "text/xml", &pages::device(id)),
            ("GET", pages::SERVICE_PATH) => http::response(200, "text/xml", &pages::service()),
            ("POST", pages::CONTROL_PATH) => self.control(now, nat, client, request),
            ("GET", _) => http::response(404, "", ""),
            ("SUBSCRIBE" | "UNSUBSCRIBE", _) => http::response(501, "", ""),
            _ => http::response(405, "", ""),
        }
    }

    /// Drives the connections that are due.
    pub(super) fn wake_gateway(&mut self, now: Time, nat: &mut Nat, out: &mut Out) {
        loop {
            let Some(gateway) = &self.gateway else {
                return;
            };
            let due = |connection: &Connection| connection.due.min(connection.deadline) <= now;
            let Some(index) = gateway.connections.iter().position(due) else {
                return;
            };
            let count = gateway.connections.len();
            self.drive(now, nat, index, out);
            if let Some(gateway) = &mut self.gateway
                && gateway.connections.len() == count
                && due(&gateway.connections[index])
            {
                // One whose time is over has nothing more to do.
                gateway.connections.swap_remove(index);
            }
        }
    }

    /// Answers a datagram that an inside host has sent to [`SSDP_PORT`] of the [`GROUP`] or of the router; `own` is the router's
    /// address on that link. An answer is a payload of the iterator.
    pub fn search(&mut self, now: Time, own: Ipv4Addr, request: &[u8]) -> Vec<Vec<u8>> {
        let Some(gateway) = &mut self.gateway else {
            return Vec::new();
        };
        let answers = ssdp::answers(gateway.id, own, request);
        match answers.is_empty() || gateway.answers.allows(now) {
            true => answers,
            false => Vec::new(),
        }
    }

    /// Payloads of the notifications that are due, for a link on which the router has the address `own`.
    pub fn notifications(&self, now: Time, own: Ipv4Addr) -> Vec<Vec<u8>> {
        match &self.gateway {
            Some(gateway) if gateway.alive.is_some_and(|at| at <= now) => {
                ssdp::notifications(gateway.id, own)
            }
            _ => Vec::new(),
        }
    }

    /// Ends the turn of notifications.
    pub fn notified(&mut self, now: Time) {
        if let Some(gateway) = &mut self.gateway
            && gateway.alive.is_some_and(|at| at <= now)
        {
            gateway.alive = Some(now + ssdp::INTERVAL);
        }
    }

    pub(super) fn gateway_wake(&self) -> Option<Time> {
        self.gateway.as_ref().and_then(Gateway::next_wake)
    }
}
