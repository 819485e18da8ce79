//! A forwarder or resolver behind the node's links.

use super::{Clients, PORT, count, query, read, respond, unspecified, write};
use crate::cache;
use crate::front::{self, Output};
use crate::recursive::Recursive;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::SocketAddr;
use ip::address::InterfaceAddress;
use ip::service::{Link, ROUTED, Service};
use node::{ConfigError, Frame, Out, Statistics, Time};

#[derive(Debug)]
pub(super) struct RecursiveService<R> {
    core: R,
    clients: Clients,
    /// MAC address of each link that has brought a query.
    macs: BTreeMap<u16, [u8; 6]>,
    refused: u64,
}

impl<R: Recursive> RecursiveService<R> {
    pub fn new(core: R, clients: Vec<InterfaceAddress>) -> RecursiveService<R> {
        RecursiveService {
            core,
            clients: Clients(clients),
            macs: BTreeMap::new(),
            refused: 0,
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

fn send(macs: &BTreeMap<u16, [u8; 6]>, output: Output<'_>, out: &mut Out) {
    match output {
        Output::Response { client, message } => {
            respond(&client, macs.get(&client.link).copied(), message, out);
        }
        Output::Query {
            server,
            port,
            message,
        } => {
            let own = SocketAddr::new(unspecified(server.ip()), port);
            let frame = write(out, own, server, message);
            out.send(ROUTED, frame);
        }
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
        let Some(datagram) = read(&frame) else {
            return Some(frame);
        };
        let port = datagram.destination.port();
        let message = datagram.payload.clone();
        if port != PORT {
            if frame[0] & 1 == 1 || !self.core.has_port(port) {
                return Some(frame);
            }
            let macs = &self.macs;
            let (core, from) = (&mut self.core, datagram.source);
            match core.handle_response(now, from, port, &frame[message], &mut |output| {
                send(macs, output, out);
            }) {
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
            out.drop(frame, "client not allowed");
            return None;
        }
        self.macs.insert(link.port.0, link.interface.mac());
        let macs = &self.macs;
        let core = &mut self.core;
        core.handle_query(now, client, &frame[message], &mut |output| {
            send(macs, output, out);
        });
        out.done(frame);
        None
    }

    fn wake(&mut self, now: Time, _: &[Link<'_>], out: &mut Out) {
        let macs = &self.macs;
        self.core.wake(now, &mut |output| send(macs, output, out));
    }

    fn next_wake(&self) -> Option<Time> {
        self.core.next_wake()
    }

    fn count(&self, all: &mut Statistics) {
        count(R::NAME, all, |all| {
            self.core.count(all);
            all.counter("refused_clients", self.refused);
        });
    }
}
