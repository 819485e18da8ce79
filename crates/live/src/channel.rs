//! Streams as ports: control channels over TCP, TLS and Unix sockets.
//!
//! | port | what it is |
//! |---|---|
//! | `tcp:HOST[:PORT]` | connects when the node opens a connection |
//! | `ptcp:[PORT][:HOST]` | listens; each connection has a number of its own. Without HOST at 127.0.0.1 alone: `ptcp:6653:0.0.0.0` and `ptcp:6653:[::]` listen at all addresses |
//! | `ssl:...`, `pssl:...` | the same over TLS, with [`Tls`] |
//! | `unix:PATH`, `punix:PATH` | the same over a Unix socket |
//!
//! The names are those that users of Open vSwitch know, whose `ptcp:PORT` however listens at all addresses. How many connections there may
//! be, and how they are counted, is told in [`listen`]. A node behind such a port speaks
//! [segments](packet::segment). Bytes are acknowledged to it once the system has them, so that a far end that does
//! not read is seen; and nothing is read from a socket past the window that the node leaves open, so that a
//! node that does not read holds its far end up. What is kept for a connection is bounded by the window either way.

mod connection;
mod hub;
mod socket;
#[cfg(test)]
mod tests;
mod tls;

pub use tls::Tls;

use crate::clock::{self, now_ns};
use crate::port::{
    Options, Port, PortError, PortInfo, Receive, Received, RxCounters, Stamps, Transmit, TxCounters,
};
use hub::Hub;
use packet::LONGEST_ON_WIRE;
use packet::segment::{BadSegment, Segment};
use std::fmt;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The port of OpenFlow, where none is given.
pub const DEFAULT_PORT: u16 = 6653;

/// A stream as a port, as a user names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelSpec {
    /// Whether it waits for connections, or makes them.
    pub listen: bool,
    /// Whether TLS is spoken.
    pub tls: bool,
    /// Where.
    pub place: Place,
}

/// Where a stream begins or ends.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Name or address, and TCP port. Empty to wait at the loopback address of IPv4.
    Host(String, u16),
    /// A Unix socket.
    Path(PathBuf),
}

impl ChannelSpec {
    /// Reads what is behind `kind:`; `None` when there is no such kind or nothing fitting behind it.
    pub(crate) fn of(kind: &str, rest: &str) -> Option<ChannelSpec> {
        let (listen, kind) = match kind.strip_prefix('p') {
            Some(kind) => (true, kind),
            None => (false, kind),
        };
        let place = match (kind, listen) {
            ("unix", _) if !rest.is_empty() => Place::Path(rest.into()),
            ("tcp" | "ssl", false) => connect_to(rest)?,
            ("tcp" | "ssl", true) => listen_on(rest)?,
            _ => return None,
        };
        let tls = kind == "ssl";
        Some(ChannelSpec { listen, tls, place })
    }
}

impl FromStr for ChannelSpec {
    type Err = crate::port::SpecError;

    fn from_str(text: &str) -> Result<ChannelSpec, crate::port::SpecError> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        ChannelSpec::of(kind, rest).ok_or_else(|| crate::port::SpecError::Channel(text.into()))
    }
}

/// `HOST`, `HOST:PORT`, `[HOST]`, `[HOST]:PORT`.
fn connect_to(text: &str) -> Option<Place> {
    let (host, port) = match text.strip_prefix('[') {
        Some(text) => {
            let (host, rest) = text.split_once(']')?;
            match rest {
                "" => (host, None),
                rest => (host, Some(rest.strip_prefix(':')?)),
            }
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = port.map_or(Some(DEFAULT_PORT), |port| port.parse().ok())?;
    let fine = !host.is_empty() && port != 0;
    fine.then(|| Place::Host(host.into(), port))
}

/// Nothing, `PORT`, `PORT:HOST`, `:HOST`. Port 0 is one that the system chooses.
fn listen_on(text: &str) -> Option<Place> {
    let (port, host) = text.split_once(':').unwrap_or((text, ""));
    let port = match port {
        "" => DEFAULT_PORT,
        port => port.parse().ok()?,
    };
    let bare = match host.strip_prefix('[') {
        Some(host) => host.strip_suffix(']')?,
        None => host,
    };
    Some(Place::Host(bare.into(), port))
}

impl fmt::Display for ChannelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passive = if self.listen { "p" } else { "" };
        let kind = if self.tls { "ssl" } else { "tcp" };
        let in_brackets = |host: &String| match host.contains(':') {
            true => format!("[{host}]"),
            false => host.clone(),
        };
        match &self.place {
            Place::Path(path) => write!(f, "{passive}unix:{}", path.display()),
            Place::Host(host, port) if !self.listen => {
                write!(f, "{kind}:{}:{port}", in_brackets(host))
            }
            Place::Host(host, port) if host.is_empty() => write!(f, "p{kind}:{port}"),
            Place::Host(host, port) => write!(f, "p{kind}:{port}:{}", in_brackets(host)),
        }
    }
}

/// Opens a stream as a port. Who listens does so from here on; who connects waits for the node's open.
///
/// # Errors
/// When the host is not known, the place is taken, or a key or certificate does not do.
pub fn open(spec: &ChannelSpec, options: &Options) -> Result<Port, PortError> {
    let hub = Hub::open(spec, options)?;
    let (name, descriptor) = (hub.name().to_string(), hub.descriptor());
    let shared = Arc::new(Mutex::new(hub));
    Ok(Port {
        info: PortInfo {
            name,
            tick: options.tick,
            stamps: Stamps::Software,
            mac: None,
            mtu: LONGEST_ON_WIRE as u32 - 14,
            method: "stream",
            driver: String::new(),
            link: true,
            hardware_stamps: false,
            epoch_ns: clock::epoch_ns(),
            on_demand: false,
        },
        rx: Box::new(Receiver {
            hub: shared.clone(),
            descriptor,
            read: connection::Buffer::new(),
            counters: RxCounters::default(),
        }),
        tx: Box::new(Sender {
            hub: shared,
            counters: TxCounters::default(),
        }),
    })
}

fn lock(hub: &Mutex<Hub>) -> MutexGuard<'_, Hub> {
    // Each step leaves the hub whole.
    hub.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Receiver {
    hub: Arc<Mutex<Hub>>,
    descriptor: RawFd,
    read: connection::Buffer,
    counters: RxCounters,
}

impl Receive for Receiver {
    fn receive(
        &mut self,
        wait: Duration,
        sink: &mut dyn FnMut(Received<'_>),
    ) -> Result<usize, PortError> {
        let mut given = 0;
        let mut turns = lock(&self.hub).poll()?;
        if turns == 0 && !wait.is_zero() {
            crate::wait::for_event(self.descriptor, libc::POLLIN, wait).map_err(|error| {
                PortError::from_io(lock(&self.hub).name(), "waiting", "rights", error)
            })?;
            turns = lock(&self.hub).poll()?;
        }
        // Without the lock, since the node answers from within the sink. At most one read from each
        // socket that is ready, so that all have their turn.
        for _ in 0..turns {
            if !lock(&self.hub).fill(&mut self.read) {
                break;
            }
            let at_ns = now_ns();
            self.read.each(|bytes| {
                given += 1;
                self.counters.received += 1;
                self.counters.bytes += bytes.len() as u64;
                sink(Received { bytes, at_ns });
            });
        }
        Ok(given)
    }

    fn counters(&self) -> RxCounters {
        let connections = lock(&self.hub).gate().counts();
        RxCounters {
            turned_away: connections.turned_away(),
            ..self.counters
        }
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.descriptor)
    }
}

struct Sender {
    hub: Arc<Mutex<Hub>>,
    counters: TxCounters,
}

impl Transmit for Sender {
    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, PortError> {
        let mut hub = lock(&self.hub);
        for frame in frames {
            match Segment::read(frame) {
                Ok(segment) => {
                    hub.take(&segment);
                    self.counters.sent += 1;
                    self.counters.bytes += frame.len() as u64;
                }
                Err(BadSegment::Type | BadSegment::Short | BadSegment::Kind(_)) => {
                    self.counters.refused += 1;
                }
            }
        }
        hub.write_out();
        Ok(frames.len())
    }

    fn counters(&self) -> TxCounters {
        self.counters
    }
}
