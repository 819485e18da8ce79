//! What runs on a host.
//!
//! | `run` | module | what it does |
//! |---|---|---|
//! | `ping` | [`ping`] | asks a host whether it is there, and measures round trips |
//! | `bulk` | [`bulk`] | TCP as fast as it goes: one flow for ever, or many drawn from distributions |
//! | `udp` | [`udp`] | datagrams at a constant rate |
//! | `sink` | [`sink`] | takes TCP and UDP, counts loss, delay and jitter |
//! | `http` | [`http`] | a user who asks a server for pages, and thinks in between |
//! | `http-server` | [`http`] | answers with pages whose sizes are drawn |
//! | `iperf3-server` | [`iperf3`] | takes what real iperf3 clients send |
//! | `dns` | [`dns`] | asks for addresses |
//! | `dns-server` | [`dns`] | knows addresses |
//! | `punch` | [`punch`] | reaches another host through NATs |
//! | `rendezvous` | [`punch`] | gives two such hosts each other's endpoints |
//! | `ssh` | [`ssh`] | users at a shell: logins, keys and their echoes, commands |
//! | `ssh-server` | [`ssh`] | echoes keys, and prints what commands print |
//!
//! Each is a struct with defaults, as nodes' configurations are. What a program draws by lot comes from its host's
//! seed.

pub mod bulk;
pub mod dns;
pub mod http;
pub mod iperf3;
pub mod ping;
pub mod punch;
mod records;
pub mod sink;
pub mod ssh;
pub mod udp;

pub use crate::connections::{Congestion, Ecn};
pub use crate::endpoint::{BUFFER, INITIAL_WINDOW, MIN_RTO};

use crate::connections::{Id, SocketOptions};
use crate::endpoint::Endpoint;
use crate::net::{Context, Net};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use ip::header;
use node::ConfigError;
use node::{Flow, Time};
use packet::segment::Segment;

/// The programs of a host.
pub type Programs = Vec<Config>;

/// The least and the most of them.
pub const BUFFERS: core::ops::RangeInclusive<usize> = 4096..=1 << 30;
/// Segments of an initial window.
const INITIAL_WINDOWS: core::ops::RangeInclusive<u32> = 1..=10_000;
/// Minimum retransmission time-outs.
const MIN_RTOS: core::ops::RangeInclusive<Time> = Time::from_us(1)..=Time::from_secs(60);
/// After how long a connection of which nothing is heard is given up by who opened it.
const GIVE_UP: Time = Time::from_secs(60);

/// A program, not yet running.
#[derive(Clone, Debug)]
pub enum Config {
    /// See [`ping`].
    Ping(ping::Config),
    /// See [`bulk`].
    Bulk(bulk::Config),
    /// See [`udp`].
    Udp(udp::Config),
    /// See [`sink`].
    Sink(sink::Config),
    /// See [`http`].
    Http(http::Config),
    /// See [`http`].
    HttpServer(http::ServerConfig),
    /// See [`iperf3`].
    Iperf3Server(iperf3::Config),
    /// See [`dns`].
    Dns(dns::Config),
    /// See [`dns`].
    DnsServer(dns::ServerConfig),
    /// See [`punch`].
    Punch(punch::Config),
    /// See [`punch`].
    Rendezvous(punch::ServerConfig),
    /// See [`ssh`].
    Ssh(ssh::Config),
    /// See [`ssh`].
    SshServer(ssh::ServerConfig),
}

impl Config {
    /// The initial window and the minimum time-out of its connections, if it has keys for them.
    fn limits(&self) -> (Option<u32>, Option<Time>) {
        match self {
            Config::Bulk(config) => (Some(config.initial_window), Some(config.min_rto)),
            Config::HttpServer(config) => (Some(config.initial_window), Some(config.min_rto)),
            Config::Http(config) => (None, Some(config.min_rto)),
            Config::Sink(config) => (None, Some(config.min_rto)),
            Config::Iperf3Server(config) => (None, Some(config.min_rto)),
            _ => (None, None),
        }
    }

    /// The error, if a number is out of its range, or no packet can hold the data that it sends.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let (window, min_rto) = self.limits();
        if window.is_some_and(|window| !INITIAL_WINDOWS.contains(&window)) {
            let reason = "`initial_window` is a number of segments, from 1 to 10000";
            return Err(ConfigError::new("program", reason));
        }
        if min_rto.is_some_and(|min_rto| !MIN_RTOS.contains(&min_rto)) {
            let reason = "`min_rto` is a time from 1 us to 60 s";
            return Err(ConfigError::new("program", reason));
        }
        if let Config::Punch(config) = self {
            return config.check();
        }
        let (run, to, size, header) = match self {
            Config::Udp(config) => ("udp", config.to.address, config.size, header::UDP_HEADER),
            Config::Ping(config) => ("ping", config.to.address, config.size, header::ECHO_HEADER),
            _ => return Ok(()),
        };
        let most = header::max_payload(to) - header;
        if size <= most {
            return Ok(());
        }
        let reason = format!(
            "`size` of {run} is {size}, but a packet to {to} has at most {most} bytes for it"
        );
        Err(ConfigError {
            key: "program",
            reason,
        })
    }

    pub(crate) fn make(self, me: usize, seed: u64) -> Box<dyn Program> {
        match self {
            Config::Ping(config) => Box::new(ping::Ping::new(config)),
            Config::Bulk(config) => Box::new(bulk::Bulk::new(config, seed)),
            Config::Udp(config) => Box::new(udp::Udp::new(config, client_port(me))),
            Config::Sink(config) => Box::new(sink::Sink::new(config)),
            Config::Http(config) => Box::new(http::Client::new(config, seed)),
            Config::HttpServer(config) => Box::new(http::Server::new(config, seed)),
            Config::Iperf3Server(config) => Box::new(iperf3::Server::new(config)),
            Config::Dns(config) => Box::new(dns::Client::new(config, client_port(me), seed)),
            Config::DnsServer(config) => Box::new(dns::Server::new(config)),
            Config::Punch(config) => Box::new(punch::Punch::new(config, client_port(me))),
            Config::Rendezvous(config) => Box::new(punch::Rendezvous::new(config)),
            Config::Ssh(config) => Box::new(ssh::Client::new(config, seed)),
            Config::SshServer(config) => Box::new(ssh::Server::new(config, seed)),
        }
    }
}

/// The UDP port of a program that asks for none.
fn client_port(me: usize) -> u16 {
    61_000 + me as u16
}

/// A port that a program wants to have.
pub(crate) enum Binding {
    Tcp(u16, SocketOptions),
    Udp(u16),
}

/// A program at work. Its calls come from its host alone.
pub(crate) trait Program: Send {
    /// The ports on which it waits for others.
    fn bindings(&self) -> Vec<Binding> {
        Vec::new()
    }
    /// When it wants to be woken.
    fn next(&self) -> Option<Time> {
        None
    }
    /// It is that time.
    fn wake(&mut self, context: &mut Context<'_>) {
        let _ = context;
    }
    /// Something may have changed for a connection: it is open, there is something to read, room to write. What
    /// was written is sent behind this call.
    fn ready(&mut self, id: Id, new: bool, context: &mut Context<'_>) {
        let _ = (id, new, context);
    }
    /// A connection is over, and forgotten behind this call.
    fn over(&mut self, id: Id, context: &mut Context<'_>) {
        let _ = (id, context);
    }
    /// A datagram for one of its ports.
    fn datagram(
        &mut self,
        arrived: Time,
        from: SocketAddr,
        port: u16,
        payload: &[u8],
        context: &mut Context<'_>,
    ) {
        let _ = (arrived, from, port, payload, context);
    }
    /// A datagram that was sent from this port met a closed one. It need not be of this program.
    fn unreachable(&mut self, port: u16, to: SocketAddr) {
        let _ = (port, to);
    }
    /// An answer to one of its echo requests.
    fn echoed(&mut self, arrived: Time, from: IpAddr, sequence: u16, context: &mut Context<'_>) {
        let _ = (arrived, from, sequence, context);
    }
    /// A segment of a control channel; tells which connection it is about.
    fn segment(&mut self, segment: Segment<'_>, context: &mut Context<'_>) -> Option<Id> {
        let _ = (segment, context);
        None
    }
    /// Shows the segments that it has to say, each once.
    fn spoken(&mut self, see: &mut dyn FnMut(Segment<'_>)) {
        let _ = see;
    }
    /// What became of its conversations.
    fn flows(&self, net: &Net, visit: &mut dyn FnMut(Flow));
}

/// Gives a connection as much of what is to be sent as it takes now.
fn send(socket: &mut Endpoint, leaves: &mut Vec<u8>) {
    while socket.can_send() && !leaves.is_empty() {
        match socket.send_slice(leaves) {
            Ok(sent) => drop(leaves.drain(..sent)),
            Err(_) => break,
        }
    }
}
