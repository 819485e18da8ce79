//! How fast a hook is: two hosts and a router between them, in namespaces of their own, and one sender that sends as fast as
//! it can.
//!
//! What is behind the router is counted by the kernel, at the far host's interface.

use crate::kernel::netns::{Namespace, NetnsError, Route, VethEnd, forward_here, veth};
use crate::kernel::thread;
use crate::port::{self, Options, PortError};
use ::capture::clock::now_ns;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use packet::ethernet::{Ethernet, Mac, ethertype};
use packet::ipv4::{Ipv4, protocol};
use packet::udp::Udp;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The router's interfaces: to the sender, and to the receiver.
pub const INTERFACES: [&str; 2] = ["r0", "r1"];
/// Where the hosts are.
pub const HOSTS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 1, 1)];
const ROUTERS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 254), Ipv4Addr::new(10, 0, 1, 254)];
const MACS: [[u8; 6]; 4] = [
    [2, 0, 0, 0, 0, 1],
    [2, 0, 0, 0, 1, 0],
    [2, 0, 0, 0, 1, 1],
    [2, 0, 0, 0, 0, 2],
];
/// The port at which datagrams and connections are taken.
const SINK: u16 = 9000;
/// Frames that a call sends.
const BATCH: usize = 64;
/// Flows of a flood.
const FLOWS: u16 = 64;
/// Duration of the traffic before the measurement.
pub const WARM: Duration = Duration::from_millis(300);
/// Minimum packet length, bytes: headers of Ethernet, IPv4 and UDP, and four bytes.
const MIN_PACKET_LEN: usize = 14 + 20 + 8 + 4;
/// Maximum length of the headers of Ethernet, IPv4 and TCP, bytes.
const OPTIONS: usize = 14 + 60 + 60 + 4;

/// Error of a trial.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// With a namespace.
    #[error(transparent)]
    Netns(#[from] NetnsError),
    /// With the sender's port.
    #[error(transparent)]
    Port(#[from] PortError),
    /// With anything else.
    #[error("{doing}: {source}")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

fn failed(doing: &'static str) -> impl Fn(io::Error) -> TrialError {
    move |source| TrialError::Io { doing, source }
}

/// What came through.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rate {
    /// Packets a second.
    pub packets: f64,
    /// Bits of frames a second, without FCS; of a stream, bits of the user's data.
    pub bits: f64,
    /// What was sent, packets a second; zero of a stream.
    pub offered: f64,
}

/// Two hosts and a router.
pub struct Trial {
    hosts: [Namespace; 2],
    router: Namespace,
    /// Takes datagrams, and reads none.
    _sink: UdpSocket,
}

impl Trial {
    /// Makes them.
    ///
    /// # Errors
    /// When the process may not.
    pub fn new() -> Result<Trial, TrialError> {
        let (a, r, b) = (Namespace::new()?, Namespace::new()?, Namespace::new()?);
        let end = |namespace, name, mac| VethEnd {
            namespace,
            name,
            mac: Some(mac),
        };
        let [near, far] = INTERFACES;
        veth([end(&a, "eth0", MACS[0]), end(&r, near, MACS[1])], 1500)?;
        veth([end(&r, far, MACS[2]), end(&b, "eth0", MACS[3])], 1500)?;
        for (index, host) in [&a, &b].into_iter().enumerate() {
            host.add_address("eth0", HOSTS[index].into(), 24)?;
            r.add_address(INTERFACES[index], ROUTERS[index].into(), 24)?;
            host.add_route(&Route {
                to: (Ipv4Addr::UNSPECIFIED.into(), 0),
                via: Some(ROUTERS[index].into()),
                on: None,
            })?;
        }
        r.enter(forward_here)??;
        let sink = b.enter(|| UdpSocket::bind((HOSTS[1], SINK)))?;
        Ok(Trial {
            hosts: [a, b],
            router: r,
            _sink: sink.map_err(failed("opening the receiver's socket"))?,
        })
    }

    /// The namespace of the sender (0) or the receiver (1).
    ///
    /// # Panics
    /// Of any other.
    pub fn host(&self, index: usize) -> &Namespace {
        &self.hosts[index]
    }

    /// The namespace of the router, whose interfaces are [`INTERFACES`].
    pub fn router(&self) -> &Namespace {
        &self.router
    }

    /// What comes through of datagrams that are `len` bytes long with their Ethernet header, without FCS (at least 46), sent
    /// as fast as one thread can.
    ///
    /// # Errors
    /// When the sender has no port.
    pub fn flood(&self, len: usize, time: Duration) -> Result<Rate, TrialError> {
        let spec = "eth0".parse().expect("the name of an interface");
        let options = Options::default();
        let mut port = self.hosts[0].enter(|| port::open(&spec, &options))??;
        let frames: Vec<Vec<u8>> = (0..FLOWS).map(|flow| datagram(len, flow)).collect();
        let stop = AtomicBool::new(false);
        let sent = AtomicU64::new(0);
        std::thread::scope(|scope| {
            let sender = thread::spawn_scoped(scope, "sender", || {
                let mut batch = Vec::with_capacity(BATCH);
                let mut next = frames.iter().cycle();
                while !stop.load(Ordering::Relaxed) {
                    batch.clear();
                    batch.extend(next.by_ref().take(BATCH).map(Vec::as_slice));
                    match port.tx.send(&batch) {
                        Ok(count) => {
                            sent.fetch_add(count as u64, Ordering::Relaxed);
                        }
                        Err(error) if error.is_end() => break,
                        Err(_) => {}
                    }
                }
            });
            sender.map_err(failed("flooding"))?;
            pause(WARM);
            let seen = |sent: &AtomicU64| -> Result<_, TrialError> {
                let came = self.hosts[1].enter(|| received("eth0"))?;
                Ok((came, sent.load(Ordering::Relaxed), now_ns()))
            };
            let first = seen(&sent);
            pause(time);
            let last = seen(&sent);
            stop.store(true, Ordering::Relaxed);
            let (first, last) = (first?, last?);
            let seconds = (last.2 - first.2) as f64 / 1e9;
            let packets = (last.0 - first.0) as f64 / seconds;
            Ok(Rate {
                packets,
                bits: packets * 8.0 * len.max(MIN_PACKET_LEN) as f64,
                offered: (last.1 - first.1) as f64 / seconds,
            })
        })
    }

    /// What comes through of a TCP connection that always has something to send.
    ///
    /// # Errors
    /// When there is none.
    pub fn stream(&self, time: Duration) -> Result<Rate, TrialError> {
        let listener = self.hosts[1].enter(|| TcpListener::bind((HOSTS[1], SINK)))?;
        let listener = listener.map_err(failed("listening"))?;
        let connect = || TcpStream::connect_timeout(&(HOSTS[1], SINK).into(), time.max(WARM * 10));
        let connected = self.hosts[0].enter(connect)?;
        let mut sender = connected.map_err(failed("connecting through the router"))?;
        let (mut receiver, _) = listener.accept().map_err(failed("accepting"))?;
        for socket in [&sender, &receiver] {
            let wait = Some(Duration::from_millis(500));
            let set = socket
                .set_read_timeout(wait)
                .and(socket.set_write_timeout(wait));
            set.map_err(failed("setting up a connection"))?;
        }
        let stop = AtomicBool::new(false);
        let came = AtomicU64::new(0);
        std::thread::scope(|scope| {
            let writer = thread::spawn_scoped(scope, "sender", || {
                let bytes = vec![0x55; 256 * 1024];
                while !stop.load(Ordering::Relaxed) {
                    // What stands still is seen in what came.
                    let _ = sender.write(&bytes);
                }
            });
            writer.map_err(failed("streaming"))?;
            let reader = thread::spawn_scoped(scope, "receiver", || {
                let mut bytes = vec![0; 256 * 1024];
                while !stop.load(Ordering::Relaxed) {
                    if let Ok(count) = receiver.read(&mut bytes) {
                        came.fetch_add(count as u64, Ordering::Relaxed);
                    }
                }
            });
            // The other one is waited for at the end of the scope.
            reader.map_err(failed("streaming")).inspect_err(|_| {
                stop.store(true, Ordering::Relaxed);
            })?;
            pause(WARM);
            let (first, begun) = (came.load(Ordering::Relaxed), now_ns());
            pause(time);
            let bytes = came.load(Ordering::Relaxed) - first;
            let seconds = (now_ns() - begun) as f64 / 1e9;
            stop.store(true, Ordering::Relaxed);
            Ok(Rate {
                bits: bytes as f64 * 8.0 / seconds,
                ..Rate::default()
            })
        })
    }
}

/// A datagram to the sink, without a checksum, so that its payload may be rewritten.
fn datagram(len: usize, flow: u16) -> Vec<u8> {
    let eth = Ethernet {
        destination: Mac(MACS[1]),
        source: Mac(MACS[0]),
        tags: &[],
        ethertype: ethertype::IPV4,
    };
    let ip = Ipv4::new(HOSTS[0], HOSTS[1], protocol::UDP);
    let udp = Udp {
        source_port: 10_000 + flow,
        destination_port: SINK,
    };
    let payload = vec![0x55; len.max(MIN_PACKET_LEN) - (MIN_PACKET_LEN - 4)];
    let mut frame = Vec::new();
    eth.build(&mut frame, |out| {
        ip.build(out, |out| {
            udp.build(ip.pseudo(), out, |out| out.extend_from_slice(&payload));
        });
    });
    frame[40..42].fill(0);
    frame
}

/// Packets that an interface of this thread's namespace has received.
fn received(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let row = text
        .lines()
        .find_map(|row| row.trim().strip_prefix(name)?.strip_prefix(':'));
    let fields = row.unwrap_or_default().split_ascii_whitespace();
    fields.skip(1).flat_map(str::parse).next().unwrap_or(0)
}

fn pause(time: Duration) {
    let end = now_ns() + time.as_nanos() as u64;
    while let Some(left) = end.checked_sub(now_ns()).filter(|&left| left > 0) {
        std::thread::park_timeout(Duration::from_nanos(left));
    }
}

/// Exchanges the last two words of each packet's payload, which no checksum sees, and sends it on.
#[derive(Debug, Default)]
pub struct Rewrite {
    packets: u64,
}

impl Node for Rewrite {
    fn properties(&self) -> Properties {
        Properties::of(2)
    }

    fn frames(&mut self, _: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for mut frame in frames.drain(..) {
            self.packets += 1;
            // Of short segments the end may be options.
            let datagram = frame.get(23) == Some(&17);
            let end = frame.len() & !1;
            if end >= MIN_PACKET_LEN && (datagram || end > OPTIONS) {
                let [a, b] = [frame[end - 4], frame[end - 3]];
                frame.copy_within(end - 2..end, end - 4);
                frame[end - 2..end].copy_from_slice(&[a, b]);
            }
            out.send(Port(1 - port.0), frame);
        }
    }

    fn statistics(&self) -> Statistics {
        Statistics::from([("packets", self.packets)])
    }
}
