//! A socket of UDP as a port: frames that come of datagrams, and datagrams that come of frames.
//!
//! What a datagram is to a frame each kind of port says for itself, by [`Wire`].

use crate::kernel::wait;
use crate::port::{PortError, Receive, Received, RxCounters, Transmit, TxCounters};
use ::capture::clock::now_ns;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

/// Datagrams given in one call, so that other ports have their turn.
const BATCH: usize = 64;

/// A datagram and its destination; without one, the peer to which the socket is connected.
pub type Addressed<'a> = (&'a [u8], Option<SocketAddr>);

/// State that both halves of a port share.
pub trait Wire: Send + Sync {
    /// Maximum length of a datagram that makes a frame, bytes.
    const MAX_DATAGRAM_LEN: usize;

    fn name(&self) -> &str;

    fn socket(&self) -> &UdpSocket;

    /// The frame of a datagram of at most [`Wire::MAX_DATAGRAM_LEN`] bytes, which may be built in
    /// `frame`; `None` when it makes none.
    fn frame<'a>(
        &self,
        datagram: &'a [u8],
        from: SocketAddr,
        frame: &'a mut Vec<u8>,
    ) -> Option<&'a [u8]>;

    /// The datagram of a frame. `None` when nobody can be sent it.
    ///
    /// # Errors
    /// When no port of this kind takes such a frame.
    fn datagram<'a>(&self, frame: &'a [u8]) -> Result<Option<Addressed<'a>>, PortError>;

    fn fault(&self, doing: &'static str, error: io::Error) -> PortError {
        PortError::from_io(self.name(), doing, "rights", error)
    }

    fn wait(&self, events: i16, wait: Duration) -> Result<(), PortError> {
        wait::for_event(self.socket().as_raw_fd(), events, wait)
            .map_err(|error| self.fault("waiting", error))
    }
}

/// The two halves of a port.
pub fn halves<W: Wire + 'static>(wire: W) -> (Box<dyn Receive>, Box<dyn Transmit>) {
    let wire = Arc::new(wire);
    let receiver = Receiver {
        wire: wire.clone(),
        datagram: vec![0; W::MAX_DATAGRAM_LEN + 1].into(),
        frame: Vec::new(),
        counters: RxCounters::default(),
    };
    let sender = Sender {
        wire,
        counters: TxCounters::default(),
    };
    (Box::new(receiver), Box::new(sender))
}

struct Receiver<W> {
    wire: Arc<W>,
    datagram: Box<[u8]>,
    frame: Vec<u8>,
    counters: RxCounters,
}

impl<W: Wire> Receive for Receiver<W> {
    fn receive(
        &mut self,
        wait: Duration,
        sink: &mut dyn FnMut(Received<'_>),
    ) -> Result<usize, PortError> {
        let (mut given, mut waited) = (0, wait.is_zero());
        while given < BATCH {
            match self.wire.socket().recv_from(&mut self.datagram) {
                Ok((len, from)) => {
                    let whole = self
                        .datagram
                        .get(..len)
                        .filter(|_| len <= W::MAX_DATAGRAM_LEN);
                    let frame =
                        whole.and_then(|bytes| self.wire.frame(bytes, from, &mut self.frame));
                    let Some(bytes) = frame else {
                        self.counters.refused += 1;
                        continue;
                    };
                    self.counters.received += 1;
                    self.counters.bytes += bytes.len() as u64;
                    given += 1;
                    sink(Received {
                        bytes,
                        at_ns: now_ns(),
                    });
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => break,
                    // Nobody is there, or not yet.
                    io::ErrorKind::ConnectionRefused => {}
                    io::ErrorKind::WouldBlock if waited || given > 0 => break,
                    io::ErrorKind::WouldBlock => {
                        waited = true;
                        self.wire.wait(libc::POLLIN, wait)?;
                    }
                    _ if given > 0 => break,
                    _ => return Err(self.wire.fault("receiving", error)),
                },
            }
        }
        Ok(given)
    }

    fn counters(&self) -> RxCounters {
        self.counters
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.wire.socket().as_raw_fd())
    }
}

struct Sender<W> {
    wire: Arc<W>,
    counters: TxCounters,
}

impl<W: Wire> Sender<W> {
    /// Sends a frame; `false` when there is nobody to send it to.
    fn give(&mut self, frame: &[u8]) -> Result<bool, PortError> {
        loop {
            let Some((datagram, to)) = self.wire.datagram(frame)? else {
                return Ok(false);
            };
            let result = match to {
                None => self.wire.socket().send(datagram),
                Some(to) => self.wire.socket().send_to(datagram, to),
            };
            let Err(error) = result else { return Ok(true) };
            match error.kind() {
                // The answer to an earlier datagram: this one has not been sent.
                io::ErrorKind::ConnectionRefused | io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock => {
                    self.counters.waited += 1;
                    self.wire.wait(libc::POLLOUT, Duration::from_millis(100))?;
                }
                _ => return Err(self.wire.fault("sending", error)),
            }
        }
    }
}

impl<W: Wire> Transmit for Sender<W> {
    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, PortError> {
        for (done, frame) in frames.iter().enumerate() {
            match self.give(frame) {
                Ok(true) => {
                    self.counters.sent += 1;
                    self.counters.bytes += frame.len() as u64;
                }
                Ok(false) => self.counters.refused += 1,
                Err(_) if done > 0 => return Ok(done),
                Err(error) => {
                    self.counters.refused += 1;
                    return Err(error);
                }
            }
        }
        Ok(frames.len())
    }

    fn counters(&self) -> TxCounters {
        self.counters
    }
}
