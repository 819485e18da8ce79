//! A group of UDP multicast as a wire: what is sent to the group over the kernel's sockets, as frames.
//!
//! `multicast:GROUP:PORT` joins the group by the interface that the system chooses, `multicast:GROUP:PORT@ADDRESS` by the one with this address. A
//! datagram for the group comes as a frame with the headers that it would have had on the wire: Ethernet, IPv4 and UDP, the source's MAC address made of its
//! IPv4 address. Of a frame for the group the payload is sent, and the kernel makes the headers; other frames are refused. Several on one
//! machine may be in the group: each hears all of them, itself too. It takes no rights.

use crate::port::datagrams::{self, Addressed, Wire};
use crate::port::{Options, Port, PortError, PortInfo};
use packet::MAX_WIRE_FRAME_LEN;
use packet::ethernet::{Ethernet, Mac, ethertype};
use packet::ipv4::{Ipv4, Ipv4View, protocol};
use packet::udp::{Udp, UdpView};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};

/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;
/// Size of the socket's receive buffer that is requested, bytes: a group sends in bursts. The
/// system limits it to net.core.rmem_max.
const SOCKET_BUFFER_BYTES: usize = 4 << 20;

/// Opens `multicast:GROUP:PORT@INTERFACE`.
///
/// # Errors
/// When no interface has the address, or the system has none for the group.
pub fn open(
    group: SocketAddrV4,
    interface: Ipv4Addr,
    options: &Options,
) -> Result<Port, PortError> {
    let name = crate::port::PortSpec::Multicast { group, interface }.to_string();
    let failed = |doing, error| PortError::from_io(&name, doing, "rights", error);
    let socket = (|| {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_reuse_address(true)?;
        socket.bind(&SockAddr::from(group))?;
        // A smaller one does, for a while.
        let _ = socket.set_recv_buffer_size(SOCKET_BUFFER_BYTES);
        if !interface.is_unspecified() {
            socket.set_multicast_if_v4(&interface)?;
        }
        socket.set_nonblocking(true)?;
        Ok(socket)
    })()
    .map_err(|error| failed("making the socket", error))?;
    socket
        .join_multicast_v4(group.ip(), &interface)
        .map_err(|error| failed("joining the group", error))?;
    let (rx, tx) = datagrams::halves(Group {
        name: name.clone(),
        socket: socket.into(),
        group,
    });
    let info = PortInfo::of(name, "udp", options);
    Ok(Port { info, rx, tx })
}

struct Group {
    name: String,
    socket: UdpSocket,
    group: SocketAddrV4,
}

impl Wire for Group {
    const MAX_DATAGRAM_LEN: usize = MAX_WIRE_FRAME_LEN - ETHERNET - 28;

    fn name(&self) -> &str {
        &self.name
    }

    fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    /// With the headers that it would have had on the wire.
    fn frame<'a>(
        &self,
        datagram: &'a [u8],
        from: SocketAddr,
        frame: &'a mut Vec<u8>,
    ) -> Option<&'a [u8]> {
        let SocketAddr::V4(from) = from else {
            return None;
        };
        let [_, b, c, d] = self.group.ip().octets();
        let own = from.ip().octets();
        frame.clear();
        let ethernet = Ethernet {
            // RFC 1112, section 6.4.
            destination: Mac([1, 0, 0x5E, b & 0x7F, c, d]),
            source: Mac([2, 0, own[0], own[1], own[2], own[3]]),
            tags: &[],
            ethertype: ethertype::IPV4,
        };
        let ip = Ipv4::new(*from.ip(), *self.group.ip(), protocol::UDP);
        let udp = Udp {
            source_port: from.port(),
            destination_port: self.group.port(),
        };
        ethernet.build(frame, |out| {
            ip.build(out, |out| {
                udp.build(ip.pseudo(), out, |out| out.extend(datagram));
            });
        });
        Some(frame)
    }

    fn datagram<'a>(&self, frame: &'a [u8]) -> Result<Option<Addressed<'a>>, PortError> {
        let payload = self.payload(frame);
        Ok(payload.map(|payload| (payload, Some(self.group.into()))))
    }
}

impl Group {
    /// The payload of a frame for the group.
    fn payload<'a>(&self, frame: &'a [u8]) -> Option<&'a [u8]> {
        let packet = frame.get(ETHERNET..)?;
        if frame[12..ETHERNET] != ethertype::IPV4.to_be_bytes() {
            return None;
        }
        let ip = Ipv4View::new(packet).ok()?;
        if ip.destination() != *self.group.ip()
            || ip.protocol() != protocol::UDP
            || ip.is_fragment()
        {
            return None;
        }
        let udp = UdpView::new(ip.payload()).ok()?;
        (udp.destination_port() == self.group.port()).then(|| udp.payload())
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
    fn a_group_hears_what_one_of_it_says_and_no_other_frame_leaves() {
        // A free port, as the system chooses one.
        let number = {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.local_addr().unwrap().port()
        };
        let open = || {
            let text = format!("multicast:239.255.77.1:{number}@127.0.0.1");
            port::open(&text.parse().unwrap(), &Options::default()).unwrap()
        };
        let (mut here, mut there) = (open(), open());
        // A datagram makes a frame for the group, which may be sent as it is.
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let socket = socket2::Socket::from(socket);
        socket
            .set_multicast_if_v4(&std::net::Ipv4Addr::LOCALHOST)
            .unwrap();
        let group: std::net::SocketAddr = ([239, 255, 77, 1], number).into();
        socket.send_to(b"hello", &group.into()).unwrap();
        let frame = one(&mut here);
        assert_eq!(frame, one(&mut there));
        assert_eq!(frame[..6], [1, 0, 0x5E, 0x7F, 77, 1]);
        assert_eq!(frame[6..12], [2, 0, 127, 0, 0, 1]);
        assert_eq!(frame[42..], *b"hello");
        here.tx.send(&[&frame]).unwrap();
        let again = one(&mut there);
        assert_eq!(again[42..], *b"hello");
        let mut other = frame.clone();
        other[33] ^= 1;
        assert_eq!(here.tx.send(&[&other, &[0; 60], &[0; 14]]).unwrap(), 3);
        assert_eq!(here.tx.counters().refused, 3);
    }
}
