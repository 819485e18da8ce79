//! The host that wants to reach another.

use super::{Kind, MAX_NAME, Message, Name, PORT};
use crate::address::Peer;
use crate::net::{Context, Net};
use crate::program::Program;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;
use node::{ConfigError, Flow, Time, When};

/// Maximum number of endpoints of a peer that are tried.
const MAX_ENDPOINTS: usize = 4;

/// Datagrams to the peer after success.
const LAST: u32 = 3;

/// Configuration of a host that punches holes.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Config {
    /// The server; port 3478 unless it has another.
    pub server: Peer,
    /// Its name, 1 to 16 bytes.
    pub name: String,
    /// The name of the host that it looks for.
    pub peer: String,
    /// Time of the first datagram.
    #[cfg_attr(feature = "serde", serde(default))]
    pub start: Time,
    /// Time between two datagrams.
    #[cfg_attr(feature = "serde", serde(default = "usual_interval"))]
    pub interval: Time,
    /// Number of times that it registers, and then that it sends to the peer, at most.
    #[cfg_attr(feature = "serde", serde(default = "usual_attempts"))]
    pub attempts: u32,
}

#[cfg(feature = "serde")]
fn usual_interval() -> Time {
    Time::from_ms(200)
}

#[cfg(feature = "serde")]
fn usual_attempts() -> u32 {
    20
}

impl Config {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let bad = |name: &String| super::name(name).is_none();
        if [&self.name, &self.peer].into_iter().any(bad) {
            let reason = format!("a name of punch has 1 to {MAX_NAME} bytes");
            return Err(ConfigError::new("program", reason));
        }
        match self.interval == Time::ZERO {
            true => Err(ConfigError::new(
                "program",
                "the interval of punch is longer than 0",
            )),
            false => Ok(()),
        }
    }
}

pub(crate) struct Punch {
    config: Config,
    port: u16,
    server: SocketAddr,
    names: [Name; 2],
    next: Option<Time>,
    /// Endpoints of the peer: that of the server's answer first.
    endpoints: Vec<SocketAddr>,
    /// Whether the peer was heard, and whether it has heard this host.
    heard: bool,
    is_heard: bool,
    attempts: u32,
    flow: Flow,
}

impl Punch {
    pub fn new(config: Config, port: u16) -> Punch {
        let names = [&config.name, &config.peer].map(|text| super::name(text).unwrap_or_default());
        Punch {
            port,
            server: config.server.with(PORT),
            names,
            next: Some(config.start),
            endpoints: Vec::new(),
            heard: false,
            is_heard: false,
            attempts: 0,
            flow: Flow {
                program: "punch",
                from: config.name.clone(),
                to: config.peer.clone(),
                begun: config.start,
                ended: config.start,
                ..Flow::default()
            },
            config,
        }
    }

    fn send(&mut self, to: SocketAddr, kind: Kind, context: &mut Context<'_>) {
        let [from, peer] = self.names;
        let bytes = Message {
            kind,
            from,
            to: peer,
        }
        .to_bytes();
        let fill = |payload: &mut [u8]| payload.copy_from_slice(&bytes);
        if context.datagram(self.port, to, When::Now, bytes.len(), fill) {
            self.flow.packets += 1;
            self.flow.bytes += bytes.len() as u64;
        }
    }

    fn is_done(&self) -> bool {
        self.heard && self.is_heard
    }
}

impl Program for Punch {
    fn bindings(&self) -> Vec<crate::program::Binding> {
        [crate::program::Binding::Udp(self.port)].into()
    }

    fn next(&self) -> Option<Time> {
        self.next
    }

    fn wake(&mut self, context: &mut Context<'_>) {
        let Some(at) = self.next.filter(|at| *at <= context.now) else {
            return;
        };
        if self.attempts >= self.config.attempts {
            self.next = None;
            if self.is_done() {
                return;
            }
            self.flow.error = Some(match self.endpoints.is_empty() {
                true => "the server knows no such peer",
                false => "the peer was not reached",
            });
            return;
        }
        self.attempts += 1;
        self.next = Some(at + self.config.interval);
        if self.endpoints.is_empty() {
            return self.send(self.server, Kind::Register, context);
        }
        for index in 0..self.endpoints.len() {
            self.send(self.endpoints[index], Kind::Hello(self.heard), context);
        }
    }

    fn datagram(
        &mut self,
        arrived: Time,
        from: SocketAddr,
        port: u16,
        payload: &[u8],
        context: &mut Context<'_>,
    ) {
        let Some(message) = Message::read(payload).filter(|_| port == self.port) else {
            return;
        };
        let [own, peer] = self.names;
        if (message.from, message.to) != (peer, own) {
            return;
        }
        match message.kind {
            Kind::Endpoint(endpoint) if from == self.server && self.endpoints.is_empty() => {
                self.endpoints.push(endpoint);
                self.flow.to = format!("{} at {endpoint}", self.config.peer);
                self.attempts = 0;
                self.next = Some(context.now);
            }
            Kind::Hello(heard) => {
                let was_done = self.is_done();
                self.heard = true;
                self.is_heard |= heard;
                // A NAT may show the peer another endpoint than it shows the server (RFC 8445 section 7.3.1.3).
                let new = !self.endpoints.contains(&from);
                if new && self.endpoints.len() < MAX_ENDPOINTS {
                    self.endpoints.push(from);
                }
                if self.is_done() && !was_done {
                    self.flow.done = true;
                    // The peer may not know yet.
                    let left = self.config.attempts.saturating_sub(LAST);
                    self.attempts = self.attempts.max(left);
                    self.flow.ended = arrived;
                    self.flow.to = format!("{} at {from}", self.config.peer);
                }
                if !heard {
                    self.send(from, Kind::Hello(true), context);
                }
            }
            _ => {}
        }
    }

    fn flows(&self, _: &Net, visit: &mut dyn FnMut(Flow)) {
        visit(self.flow.clone());
    }
}
