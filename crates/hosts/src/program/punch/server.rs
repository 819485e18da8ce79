//! The server by which two hosts find each other.

use super::{Kind, Message, Name, PORT};
use crate::net::{Context, Net};
use crate::program::{Binding, Program};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use core::net::SocketAddr;
use node::{Flow, Time, When};

/// Maximum number of names; more are not registered.
pub const MAX_NAMES: usize = 4096;

/// Configuration of a server.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct ServerConfig {
    /// Its port.
    pub port: u16,
}

impl Default for ServerConfig {
    fn default() -> ServerConfig {
        ServerConfig { port: PORT }
    }
}

pub(crate) struct Rendezvous {
    port: u16,
    names: BTreeMap<Name, SocketAddr>,
    flow: Flow,
}

impl Rendezvous {
    pub fn new(config: ServerConfig) -> Rendezvous {
        Rendezvous {
            port: config.port,
            names: BTreeMap::new(),
            flow: Flow {
                program: "rendezvous",
                from: format!("port {}", config.port),
                to: "all".into(),
                done: true,
                ..Flow::default()
            },
        }
    }
}

impl Program for Rendezvous {
    fn bindings(&self) -> Vec<Binding> {
        [Binding::Udp(self.port)].into()
    }

    fn datagram(
        &mut self,
        arrived: Time,
        from: SocketAddr,
        port: u16,
        payload: &[u8],
        context: &mut Context<'_>,
    ) {
        let message = Message::read(payload);
        let Some(message) = message.filter(|message| message.kind == Kind::Register) else {
            self.flow.lost += 1;
            return;
        };
        if self.names.len() >= MAX_NAMES && !self.names.contains_key(&message.from) {
            self.flow.lost += 1;
            return;
        }
        self.names.insert(message.from, from);
        if self.flow.packets == 0 {
            self.flow.begun = arrived;
        }
        self.flow.packets += 1;
        self.flow.bytes += payload.len() as u64;
        self.flow.ended = context.now;
        let Some(peer) = self.names.get(&message.to) else {
            return;
        };
        let answer = Message {
            kind: Kind::Endpoint(*peer),
            from: message.to,
            to: message.from,
        };
        let bytes = answer.to_bytes();
        context.datagram(port, from, When::Now, bytes.len(), |payload| {
            payload.copy_from_slice(&bytes);
        });
    }

    fn flows(&self, _: &Net, visit: &mut dyn FnMut(Flow)) {
        visit(self.flow.clone());
    }
}
