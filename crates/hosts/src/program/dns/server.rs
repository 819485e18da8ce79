//! The server.

use super::PORT;
use super::message::{self, Code};
use crate::net::{Context, Net};
use crate::program::{Binding, Program};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use node::{Flow, Time, When};

/// The addresses of a name, of either version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(transparent))]
pub struct Records(
    /// One or several.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "crate::address::several"))]
    pub Vec<IpAddr>,
);

/// What a server is made from.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct ServerConfig {
    /// Where it is asked.
    pub port: u16,
    /// Addresses by name, in any case.
    pub names: BTreeMap<String, Records>,
    /// The addresses of all other names; `None`: they do not exist.
    pub default: Option<Records>,
    /// How long an answer may be kept, seconds.
    pub ttl: u32,
}

impl Default for ServerConfig {
    fn default() -> ServerConfig {
        ServerConfig {
            port: PORT,
            names: BTreeMap::new(),
            default: None,
            ttl: 60,
        }
    }
}

pub(crate) struct Server {
    config: ServerConfig,
    answer: Vec<u8>,
    flow: Flow,
}

impl Server {
    pub fn new(mut config: ServerConfig) -> Server {
        let names = core::mem::take(&mut config.names).into_iter();
        config.names = names
            .map(|(name, records)| (name.trim_end_matches('.').to_ascii_lowercase(), records))
            .collect();
        Server {
            flow: Flow {
                program: "dns-server",
                from: format!("port {}", config.port),
                to: "all".into(),
                done: true,
                ..Flow::default()
            },
            answer: Vec::new(),
            config,
        }
    }
}

impl Program for Server {
    fn bindings(&self) -> Vec<Binding> {
        [Binding::Udp(self.config.port)].into()
    }

    fn datagram(
        &mut self,
        arrived: Time,
        from: SocketAddr,
        port: u16,
        payload: &[u8],
        context: &mut Context<'_>,
    ) {
        let Some(question) = message::read(payload).filter(|question| !question.response) else {
            self.flow.lost += 1;
            return;
        };
        let known = self.config.names.get(&question.name);
        let (code, records) = match known.or(self.config.default.as_ref()) {
            _ if !question.plain => (Code::NotImplemented, None),
            Some(records) => (Code::Good, Some(records)),
            None if question.name.is_empty() => (Code::Broken, None),
            None => (Code::NoSuchName, None),
        };
        let addresses = records.map_or(&[][..], |records| &records.0);
        self.answer.clear();
        let ttl = self.config.ttl;
        message::answer(&question, payload, code, addresses, ttl, &mut self.answer);
        let answer = &self.answer;
        context.datagram(port, from, When::Now, answer.len(), |payload| {
            payload.copy_from_slice(answer);
        });
        if self.flow.packets == 0 {
            self.flow.begun = arrived;
        }
        self.flow.packets += 1;
        self.flow.bytes += answer.len() as u64;
        self.flow.ended = context.now;
    }

    fn flows(&self, _: &Net, visit: &mut dyn FnMut(Flow)) {
        visit(self.flow.clone());
    }
}
