//! A forwarder or resolver behind the node's links.

use super::stream::{self, CLIENT_NOT_ALLOWED, Ends, Streams};
use super::{Clients, PORT, count, query, read, respond, unspecified, write};
use crate::cache;
use crate::exchange::Via;
use crate::front::{self, Output};
use crate::message::Transport;
use crate::recursive::Recursive;
use crate::reply::Client;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use ip::address::InterfaceAddress;
use ip::service::{Link, ROUTED, Service};
use node::{ConfigError, Frame, Out, Statistics, Time};

#[derive(Debug)]
pub(super) struct RecursiveService<R> {
    core: R,
    clients: Clients,
    /// MAC address of each link that has brought a query.
    macs: BTreeMap<u16, [u8; 6]>,
    streams: Streams,
    refused: u64,
    message: Vec<u8>,
}

impl<R: Recursive> RecursiveService<R> {
    pub fn new(
        core: R,
        clients: Vec<InterfaceAddress>,
        tcp: stream::Config,
        seed: u64,
    ) -> RecursiveService<R> {
        RecursiveService {
            core,
            clients: Clients(clients),
            macs: BTreeMap::new(),
            streams: Streams::new(tcp, seed),
            refused: 0,
            message: Vec::new(),
        }
    }
}

/// Limits of a core, by the keys that forwarders and resolvers share: bytes of the cache, questions in all and of a client.
///
/// # Errors
/// When `timeout` is zero.
pub(super) fn limits(
    timeout: Time,
    [bytes, questions, per_client]: [usize; 3],
    stale: Time,
) -> Result<(cache::Limits, front::Limits), ConfigError> {
    if timeout == Time::ZERO {
        let reason = "a server needs time to respond";
        return Err(ConfigError::new("timeout", reason));
    }
    let cache = cache::Limits {
        bytes,
        stale,
        ..cache::Limits::default()
    };
    let limits = front::Limits {
        questions,
        per_client,
        ..front::Limits::default()
    };
    Ok((cache, limits))
}

/// Destination of a core's messages.
struct Outbound<'a> {
    now: Time,
    /// Local address at which a server's response has arrived.
    own: Option<IpAddr>,
    macs: &'a BTreeMap<u16, [u8; 6]>,
    streams: &'a mut Streams,
    out: &'a mut Out,
}

impl Outbound<'_> {
    fn send(&mut self, output: Output<'_>) {
        match output {
            Output::Response { client, message } => match client.transport {
                Transport::Udp => {
                    let mac = self.macs.get(&client.link).copied();
                    respond(&client, mac, message, self.out);
                }
                Transport::Tcp => {
                    let ends = Ends {
                        own: SocketAddr::new(client.own, PORT),
                        remote: client.address,
                    };
                    self.streams.respond(self.now, ends, message);
                }
            },
            Output::Query {
                server,
                via: Via::Udp(port),
                message,
            } => {
                let own = SocketAddr::new(unspecified(server.ip()), port);
                let frame = write(self.out, own, server, message);
                self.out.send(ROUTED, frame);
            }
            Output::Query {
                server,
                via: Via::Tcp,
                message,
            } => {
                // A query over TCP follows a truncated response of the same server, which arrived at a local address.
                let own = self.own.expect("a server has responded");
                self.streams.query(self.now, own, server, message);
            }
        }
    }
}

impl<R: Recursive> RecursiveService<R> {
    /// Calls the core; `own` is the local address at which a server's response has arrived.
    fn call(
        &mut self,
        now: Time,
        own: Option<IpAddr>,
        out: &mut Out,
        act: impl FnOnce(&mut R, &mut front::Send<'_>) -> bool,
    ) -> bool {
        let mut outbound = Outbound {
            now,
            own,
            macs: &self.macs,
            streams: &mut self.streams,
            out,
        };
        act(&mut self.core, &mut |output| outbound.send(output))
    }

    /// Handles the messages on connections, and sends the responses.
    fn serve_streams(&mut self, now: Time, out: &mut Out) {
        while let Some(ends) = self.streams.poll_due(now) {
            loop {
                let mut has_read = false;
                let mut message = core::mem::take(&mut self.message);
                while self.streams.read(now, ends, &mut message) {
                    has_read = true;
                    self.handle_message(now, ends, &message, out);
                }
                self.message = message;
                self.streams.drive(now, ends, out);
                if !has_read {
                    break;
                }
            }
            while let Some(server) = self.streams.poll_lost() {
                self.core.handle_lost(now, server);
                self.call(now, None, out, |core, send| {
                    core.wake(now, send);
                    true
                });
            }
        }
    }

    fn handle_message(&mut self, now: Time, ends: Ends, message: &[u8], out: &mut Out) {
        let own = ends.own.ip();
        if ends.own.port() != PORT {
            self.call(now, Some(own), out, |core, send| {
                core.handle_response(now, ends.remote, Via::Tcp, message, send)
            });
            return;
        }
        let (link, mac) = self.streams.origin(ends);
        let client = Client {
            address: ends.remote,
            own,
            link,
            mac,
            transport: Transport::Tcp,
        };
        self.call(now, None, out, |core, send| {
            core.handle_query(now, client, message, send);
            true
        });
    }

    fn handle_datagram(
        &mut self,
        now: Time,
        link: &Link<'_>,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let Some(datagram) = read(&frame) else {
            return Some(frame);
        };
        let port = datagram.destination.port();
        let message = datagram.payload.clone();
        if port != PORT {
            if frame[0] & 1 == 1 || !self.core.has_port(port) {
                return Some(frame);
            }
            let (from, own) = (datagram.source, datagram.destination.ip());
            let is_taken = self.call(now, Some(own), out, |core, send| {
                core.handle_response(now, from, Via::Udp(port), &frame[message], send)
            });
            match is_taken {
                true => out.done(frame),
                false => out.drop(frame, "DNS response refused"),
            }
            return None;
        }
        let Some(client) = query(link, &frame, &datagram) else {
            return Some(frame);
        };
        if !self.clients.contain(client.address.ip(), link) {
            self.refused += 1;
            out.drop(frame, CLIENT_NOT_ALLOWED);
            return None;
        }
        self.macs.insert(link.port.0, link.interface.mac());
        self.call(now, None, out, |core, send| {
            core.handle_query(now, client, &frame[message], send);
            true
        });
        out.done(frame);
        None
    }
}

impl<R: Recursive> Service for RecursiveService<R> {
    fn handle_frame(
        &mut self,
        now: Time,
        link: &Link<'_>,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let clients = &self.clients;
        let allows = |client| clients.contain(client, link);
        let arrival = self.streams.handle_frame(now, link, frame, allows, out);
        let other = arrival.other(&mut self.refused, out);
        let rest = other.and_then(|frame| self.handle_datagram(now, link, frame, out));
        self.serve_streams(now, out);
        rest
    }

    fn wake(&mut self, now: Time, _: &[Link<'_>], out: &mut Out) {
        self.call(now, None, out, |core, send| {
            core.wake(now, send);
            true
        });
        self.serve_streams(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        let streams = self.streams.next_wake();
        self.core.next_wake().into_iter().chain(streams).min()
    }

    fn count(&self, all: &mut Statistics) {
        count(R::NAME, all, |all| {
            self.core.count(all);
            self.streams.count(all);
            all.counter("refused_clients", self.refused);
        });
    }
}
