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
mod error;
mod hub;
mod socket;
#[cfg(test)]
mod tests;
mod tls;

pub use tls::Tls;

use crate::kernel::thread::lock;
use crate::port::{
    ChannelSpec, Options, Port, PortError, PortInfo, Receive, Received, RxCounters, Transmit,
    TxCounters,
};
use ::capture::clock::now_ns;
use hub::Hub;
use packet::segment::{BadSegment, Segment};
use std::os::fd::RawFd;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Opens a stream as a port. Who listens does so from here on; who connects waits for the node's open.
///
/// # Errors
/// When the host is not known, the place is taken, or a key or certificate does not do.
pub fn open(spec: &ChannelSpec, options: &Options) -> Result<Port, PortError> {
    let hub = Hub::open(spec, options)?;
    let (name, descriptor) = (hub.name().to_string(), hub.descriptor());
    let shared = Arc::new(Mutex::new(hub));
    Ok(Port {
        info: PortInfo::of(name, "stream", options),
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
            crate::kernel::wait::for_event(self.descriptor, libc::POLLIN, wait).map_err(
                |error| PortError::from_io(lock(&self.hub).name(), "waiting", "rights", error),
            )?;
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
        lock(&self.hub).settle();
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
