//! Frames in UDP datagrams, one in each: a wire to anywhere that an ordinary user may use.
//!
//! `udp:HOST:PORT` sends there, and receives what comes back from there. `udp:@HOST:PORT` waits there,
//! and sends to whoever sent last; before that there is nobody to send to.

use crate::kernel::clock::now_ns;
use crate::kernel::thread::lock;
use crate::kernel::wait;
use crate::port::{
    Options, Port, PortError, PortInfo, Receive, Received, RxCounters, Transmit, TxCounters,
};
use packet::{LONGEST_ON_WIRE, SHORTEST};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Datagrams given in one call, so that other ports have their turn.
const BATCH: usize = 64;

/// Opens `udp:HOST:PORT`, or `udp:@HOST:PORT` with `listen`.
///
/// # Errors
/// When the host is not known or the port is in use.
pub fn open(host: &str, port: u16, listen: bool, options: &Options) -> Result<Port, PortError> {
    let name = crate::port::PortSpec::Udp {
        host: host.into(),
        port,
        listen,
    }
    .to_string();
    let failed = |doing, error| PortError::from_io(&name, doing, "rights", error);
    let host = if host.is_empty() { "::" } else { host };
    let address = (host, port)
        .to_socket_addrs()
        .and_then(|mut found| found.next().ok_or_else(|| io::ErrorKind::NotFound.into()))
        .map_err(|error| failed("looking up the host", error))?;
    let socket = if listen {
        let right = "CAP_NET_BIND_SERVICE for a port below 1024";
        UdpSocket::bind(address)
            .map_err(|error| PortError::from_io(&name, "waiting there", right, error))?
    } else {
        let any: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        UdpSocket::bind(any)
            .and_then(|socket| socket.connect(address).map(|()| socket))
            .map_err(|error| failed("making the socket", error))?
    };
    socket
        .set_nonblocking(true)
        .map_err(|error| failed("making the socket", error))?;
    let wire = Arc::new(Wire {
        name: name.clone(),
        socket,
        peer: Mutex::new(None),
        listen,
    });
    Ok(Port {
        info: PortInfo::of(name, "udp", options),
        rx: Box::new(Receiver {
            wire: wire.clone(),
            buffer: vec![0; LONGEST_ON_WIRE + 1].into(),
            counters: RxCounters::default(),
        }),
        tx: Box::new(Sender {
            wire,
            counters: TxCounters::default(),
        }),
    })
}

/// What both halves share.
struct Wire {
    name: String,
    socket: UdpSocket,
    /// Who sent last, where we wait.
    peer: Mutex<Option<SocketAddr>>,
    listen: bool,
}

impl Wire {
    fn fault(&self, doing: &'static str, error: io::Error) -> PortError {
        PortError::from_io(&self.name, doing, "rights", error)
    }

    fn wait(&self, events: i16, wait: Duration) -> Result<(), PortError> {
        wait::for_event(self.socket.as_raw_fd(), events, wait)
            .map_err(|error| self.fault("waiting", error))
    }
}

struct Receiver {
    wire: Arc<Wire>,
    buffer: Box<[u8]>,
    counters: RxCounters,
}

impl Receive for Receiver {
    fn receive(
        &mut self,
        wait: Duration,
        sink: &mut dyn FnMut(Received<'_>),
    ) -> Result<usize, PortError> {
        let (mut given, mut waited) = (0, wait.is_zero());
        while given < BATCH {
            match self.wire.socket.recv_from(&mut self.buffer) {
                Ok((len, from)) => {
                    if self.wire.listen {
                        let mut peer = lock(&self.wire.peer);
                        *peer = Some(from);
                    }
                    if !(SHORTEST..=LONGEST_ON_WIRE).contains(&len) {
                        self.counters.refused += 1;
                        continue;
                    }
                    self.counters.received += 1;
                    self.counters.bytes += len as u64;
                    given += 1;
                    sink(Received {
                        bytes: &self.buffer[..len],
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
        Some(self.wire.socket.as_raw_fd())
    }
}

struct Sender {
    wire: Arc<Wire>,
    counters: TxCounters,
}

impl Sender {
    /// Sends a frame; `false` when there is nobody to send it to.
    fn give(&mut self, frame: &[u8]) -> Result<bool, PortError> {
        match frame.len() {
            len @ ..SHORTEST => return Err(PortError::TooShort { len }),
            SHORTEST..=LONGEST_ON_WIRE => {}
            len => {
                return Err(PortError::TooLong {
                    name: self.wire.name.clone(),
                    len,
                    mtu: LONGEST_ON_WIRE as u32 - 14,
                    longest: LONGEST_ON_WIRE,
                });
            }
        }
        loop {
            let peer = *lock(&self.wire.peer);
            let result = match (self.wire.listen, peer) {
                (false, _) => self.wire.socket.send(frame),
                (true, Some(peer)) => self.wire.socket.send_to(frame, peer),
                (true, None) => return Ok(false),
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

impl Transmit for Sender {
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

#[cfg(test)]
mod tests {
    use crate::port::{self, Options, Port};
    use std::time::Duration;

    fn one(port: &mut Port) -> Vec<u8> {
        let mut frame = Vec::new();
        let wait = Duration::from_secs(5);
        port.rx
            .receive(wait, &mut |packet| frame = packet.bytes.to_vec())
            .unwrap();
        frame
    }

    #[test]
    fn frames_go_both_ways_once_somebody_has_spoken() {
        // A free port, as the system chooses one.
        let number = {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.local_addr().unwrap().port()
        };
        let open = |text: String| port::open(&text.parse().unwrap(), &Options::default()).unwrap();
        let mut there = open(format!("udp:@127.0.0.1:{number}"));
        let mut here = open(format!("udp:127.0.0.1:{number}"));
        there.tx.send(&[&[1; 60]]).unwrap();
        assert_eq!(there.tx.counters().refused, 1, "nobody to send to yet");
        here.tx.send(&[&[2; 60]]).unwrap();
        assert_eq!(one(&mut there), [2; 60]);
        there.tx.send(&[&[3; 14]]).unwrap();
        assert_eq!(one(&mut here), [3; 14]);
        assert!(here.tx.send(&[&[4; 16_001]]).is_err());
    }
}
