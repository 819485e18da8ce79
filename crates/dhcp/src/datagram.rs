//! UDP datagrams in frames: reading those received, and making those to send.

use core::net::{IpAddr, SocketAddr};
use ip::header::{self, ETHERNET, Packet, UDP, UDP_HEADER};
use node::{Frame, Out};

/// A datagram in a frame.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Source address and port.
    pub source: SocketAddr,
    /// Destination address and port.
    pub destination: SocketAddr,
    /// Payload.
    pub payload: &'a [u8],
}

/// Reads a whole datagram to UDP port `port`; `None` when the frame holds something else, or the checksum is wrong.
pub fn read(frame: &[u8], port: u16) -> Option<Datagram<'_>> {
    let packet: Packet = header::read(frame)?;
    if packet.protocol != UDP {
        return None;
    }
    let datagram = frame.get(packet.payload..packet.end)?;
    let header = datagram.first_chunk::<UDP_HEADER>()?;
    let [from, to, length] = [0, 2, 4].map(|at| u16::from_be_bytes([header[at], header[at + 1]]));
    if to != port || !header::is_valid(frame, &packet) {
        return None;
    }
    Some(Datagram {
        source: SocketAddr::new(packet.source, from),
        destination: SocketAddr::new(packet.destination, to),
        payload: datagram.get(UDP_HEADER..length.into())?,
    })
}

/// A frame with a datagram. MAC addresses are `[source, destination]`.
pub fn frame(
    macs: [[u8; 6]; 2],
    source: SocketAddr,
    destination: SocketAddr,
    payload: &[u8],
    out: &mut Out,
) -> Frame {
    let (from, to): (IpAddr, IpAddr) = (source.ip(), destination.ip());
    let start = ETHERNET + header::length(from) + UDP_HEADER;
    let mut frame = out.frame();
    frame.resize(start + payload.len());
    frame[..6].copy_from_slice(&macs[1]);
    frame[6..12].copy_from_slice(&macs[0]);
    frame[start..].copy_from_slice(payload);
    header::write(&mut frame, from, to, UDP);
    header::write_udp(&mut frame, (from, source.port()), (to, destination.port()));
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_reads_back_at_its_port_alone() {
        let mut out = Out::default();
        let (from, to) = (
            "10.0.0.1:68".parse().unwrap(),
            "255.255.255.255:67".parse().unwrap(),
        );
        let mut frame = frame([[2; 6], [0xFF; 6]], from, to, b"payload", &mut out);
        let read_back = read(&frame, 67).unwrap();
        assert_eq!((read_back.source, read_back.destination), (from, to));
        assert_eq!(read_back.payload, b"payload");
        assert!(read(&frame, 68).is_none());
        let last = frame.len() - 1;
        frame[last] ^= 1;
        assert!(read(&frame, 67).is_none());
    }
}
