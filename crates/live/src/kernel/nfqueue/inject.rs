//! Packets of a node's own, and answers to senders of packets that are too big.

use super::packets::{self, IPV4};
use crate::kernel::interface;
use ::capture::clock::now_ns;
use node::Port;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};

/// How long an MTU is believed, ns.
const FRESH_NS: u64 = 100_000_000;
/// Answers to senders in a second, at most (RFC 1812 section 4.3.2.8).
const ANSWERS: u32 = 1000;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injected {
    /// It left.
    Whole,
    /// It left in pieces.
    Pieces,
    /// It is too long for its way, and its sender was told so if anybody may be told.
    TooBig,
    /// The kernel did not take it.
    Refused,
}

/// The sockets of a port.
struct Outlet {
    /// The interface to which they are bound, if it is one.
    interface: Option<String>,
    v4: Option<Socket>,
    v6: Option<Socket>,
    /// The MTU, and when it was read.
    mtu: Option<(u32, u64)>,
}

/// Raw sockets of each port, bound to its interface.
pub struct Injector {
    outlets: Vec<Outlet>,
    /// Tell senders of packets that are too big.
    icmp: Option<Socket>,
    icmpv6: Option<Socket>,
    identification: u16,
    piece: Vec<u8>,
    message: Vec<u8>,
    /// Answers that may still be given in the second that began then.
    allowance: (u32, u64),
}

impl Injector {
    /// Opens the sockets of ports, each bound to an interface if it has one; what they send has this mark.
    pub fn open(ports: impl Iterator<Item = Option<String>>, mark: u32) -> io::Result<Injector> {
        let open = |domain, protocol, interface: Option<&str>| -> io::Result<Option<Socket>> {
            let socket = match Socket::new(domain, Type::RAW, Some(protocol)) {
                Ok(socket) => socket,
                // A kernel without IPv6.
                Err(error) if error.raw_os_error() == Some(libc::EAFNOSUPPORT) => return Ok(None),
                Err(error) => return Err(error),
            };
            socket.set_mark(mark)?;
            if let Some(interface) = interface {
                socket.bind_device(Some(interface.as_bytes()))?;
            }
            socket.set_nonblocking(true)?;
            // Nothing is read from it.
            let _ = socket.shutdown(std::net::Shutdown::Read);
            Ok(Some(socket))
        };
        // IPPROTO_RAW: what is sent has its own IP header.
        let raw = Protocol::from(libc::IPPROTO_RAW);
        let mut outlets = Vec::new();
        for interface in ports {
            let v4 = open(Domain::IPV4, raw, interface.as_deref())?;
            if let Some(socket) = &v4 {
                socket.set_broadcast(true)?;
            }
            let v6 = open(Domain::IPV6, raw, interface.as_deref())?;
            outlets.push(Outlet {
                interface,
                v4,
                v6,
                mtu: None,
            });
        }
        let icmp = open(Domain::IPV4, Protocol::ICMPV4, None)?;
        let icmpv6 = open(Domain::IPV6, Protocol::ICMPV6, None)?;
        if let Some(socket) = &icmp {
            refuse_all(socket, libc::SOL_RAW, 1, &u32::MAX.to_ne_bytes());
        }
        if let Some(socket) = &icmpv6 {
            refuse_all(socket, libc::IPPROTO_ICMPV6, 1, &[0xFF; 32]);
        }
        Ok(Injector {
            outlets,
            icmp,
            icmpv6,
            identification: now_ns() as u16,
            piece: Vec::new(),
            message: Vec::new(),
            allowance: (ANSWERS, 0),
        })
    }

    /// Sends a packet that is all there, without its Ethernet header, by a port.
    pub fn send(&mut self, port: Port, protocol: u16, packet: &[u8]) -> Injected {
        let Some(outlet) = self.outlets.get(port.index()) else {
            return Injected::Refused;
        };
        let first = outlet.send(protocol, packet);
        match first {
            Ok(()) => return Injected::Whole,
            Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => {}
            Err(_) => return Injected::Refused,
        }
        let Some(mtu) = self.mtu(port, protocol, packet) else {
            return Injected::Refused;
        };
        if protocol == IPV4 && packets::may_be_cut(packet) {
            self.identification = self.identification.wrapping_add(1);
            let Injector { outlets, piece, .. } = self;
            let outlet = &outlets[port.index()];
            let mut refused = false;
            let cut = packets::cut(packet, mtu as usize, self.identification, piece, |piece| {
                refused |= outlet.send(protocol, piece).is_err();
            });
            return match cut && !refused {
                true => Injected::Pieces,
                false => Injected::Refused,
            };
        }
        self.answer(protocol, packet, mtu);
        Injected::TooBig
    }

    /// The longest packet that leaves by a port, bytes.
    pub fn mtu(&mut self, port: Port, protocol: u16, packet: &[u8]) -> Option<u32> {
        let outlet = self.outlets.get_mut(port.index())?;
        let now = now_ns();
        if let Some((mtu, at)) = outlet.mtu
            && now.saturating_sub(at) < FRESH_NS
        {
            return Some(mtu);
        }
        let Some(name) = &outlet.interface else {
            return path_mtu(protocol, packet).ok();
        };
        let mtu = interface::find(name).ok().flatten()?.mtu;
        outlet.mtu = Some((mtu, now));
        Some(mtu)
    }

    /// Tells the sender of a packet that it is too big, if it may be told.
    pub fn answer(&mut self, protocol: u16, packet: &[u8], mtu: u32) {
        if !packets::may_be_answered(protocol, packet) {
            return;
        }
        let now = now_ns();
        if now.saturating_sub(self.allowance.1) > 1_000_000_000 {
            self.allowance = (ANSWERS, now);
        }
        let Some(left) = self.allowance.0.checked_sub(1) else {
            return;
        };
        self.allowance.0 = left;
        packets::too_big(protocol, packet, mtu, &mut self.message);
        let (socket, address) = match protocol {
            IPV4 => (&self.icmp, destination(IPV4, packet, 12)),
            _ => (&self.icmpv6, destination(protocol, packet, 8)),
        };
        if let (Some(socket), Some(address)) = (socket, address) {
            // That nobody can be told is no harm: they will ask again.
            let _ = socket.send_to(&self.message, &address);
        }
    }
}

impl Outlet {
    fn send(&self, protocol: u16, packet: &[u8]) -> io::Result<()> {
        let (socket, at) = match protocol {
            IPV4 => (&self.v4, 16),
            _ => (&self.v6, 24),
        };
        let (Some(socket), Some(address)) = (socket, destination(protocol, packet, at)) else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        socket.send_to(packet, &address).map(|_| ())
    }
}

/// The address that stands there in a packet.
fn destination(protocol: u16, packet: &[u8], at: usize) -> Option<SockAddr> {
    let bytes = packet.get(at..)?;
    Some(match protocol {
        IPV4 => {
            let address = Ipv4Addr::from(*bytes.first_chunk::<4>()?);
            SocketAddrV4::new(address, 0).into()
        }
        _ => {
            let address = Ipv6Addr::from(*bytes.first_chunk::<16>()?);
            SocketAddrV6::new(address, 0, 0, 0).into()
        }
    })
}

/// What the kernel knows of the way to a packet's destination.
fn path_mtu(protocol: u16, packet: &[u8]) -> io::Result<u32> {
    let (domain, at, level, option) = match protocol {
        IPV4 => (Domain::IPV4, 16, libc::IPPROTO_IP, libc::IP_MTU),
        _ => (Domain::IPV6, 24, libc::IPPROTO_IPV6, libc::IPV6_MTU),
    };
    let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
    let mut address = destination(protocol, packet, at).ok_or(io::ErrorKind::InvalidInput)?;
    match address.as_socket() {
        Some(mut to) => {
            to.set_port(9);
            address = to.into();
        }
        None => return Err(io::ErrorKind::InvalidInput.into()),
    }
    socket.connect(&address)?;
    let mut mtu: libc::c_int = 0;
    let mut len = size_of_val(&mtu) as libc::socklen_t;
    // SAFETY: a valid integer and its length.
    let result = unsafe {
        let fd = std::os::fd::AsRawFd::as_raw_fd(&socket);
        libc::getsockopt(fd, level, option, (&raw mut mtu).cast(), &mut len)
    };
    match result {
        0 => Ok(mtu as u32),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets a socket that only sends not collect messages: ICMP_FILTER and ICMPV6_FILTER have one number.
fn refuse_all(socket: &Socket, level: libc::c_int, option: libc::c_int, filter: &[u8]) {
    // SAFETY: the filter's bytes and how many there are. That it is refused would cost memory up to the socket's limit.
    unsafe {
        let fd = std::os::fd::AsRawFd::as_raw_fd(socket);
        let len = filter.len() as libc::socklen_t;
        libc::setsockopt(fd, level, option, filter.as_ptr().cast(), len);
    }
}
