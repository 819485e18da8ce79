//! Packets as data, and their bytes, every checksum from scratch.

use core::net::Ipv4Addr;
use node::Frame;

pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const RST: u8 = 4;
pub const ACK: u8 = 16;
pub const TCP: u8 = 6;
pub const UDP: u8 = 17;
pub const ICMP: u8 = 1;

/// An address, and a port or identifier or 0.
pub type End = (Ipv4Addr, u16);

/// Content of a packet.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    Tcp(u8),
    /// With a checksum or without.
    Udp(bool),
    /// Type of a query of ICMP or its answer. The identifier is the inside host's port.
    Query(u8),
    /// Type of an error, the packet it quotes, and how much of it, in bytes.
    Error(u8, Box<Packet>, usize),
    /// Type of another message of ICMP.
    Message(u8),
    Other(u8),
}

/// An IPv4 packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    pub source: End,
    pub destination: End,
    pub body: Body,
    pub data: Vec<u8>,
    pub has_options: bool,
    /// Bytes of Ethernet padding.
    pub padding: usize,
}

fn sum(bytes: &[u8]) -> u32 {
    let words = bytes.chunks(2);
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    words.map(word).sum()
}

fn checksum(sum: u32) -> [u8; 2] {
    let folded = (sum & 0xFFFF) + (sum >> 16);
    (!((folded & 0xFFFF) + (folded >> 16)) as u16).to_be_bytes()
}

/// Whether a type of ICMP is a query.
pub fn is_request(kind: u8) -> bool {
    matches!(kind, 8 | 13 | 15 | 17)
}

impl Packet {
    pub fn new(source: End, destination: End, body: Body) -> Packet {
        Packet {
            source,
            destination,
            body,
            data: vec![1, 2, 3, 4],
            has_options: false,
            padding: 0,
        }
    }

    pub fn udp(source: End, destination: End) -> Packet {
        Packet::new(source, destination, Body::Udp(true))
    }

    pub fn tcp(source: End, destination: End, flags: u8) -> Packet {
        Packet::new(source, destination, Body::Tcp(flags))
    }

    pub fn protocol(&self) -> u8 {
        match self.body {
            Body::Tcp(_) => TCP,
            Body::Udp(_) => UDP,
            Body::Other(protocol) => protocol,
            _ => ICMP,
        }
    }

    /// The packet from its header on.
    pub fn bytes(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        let ports = [
            self.source.1.to_be_bytes(),
            self.destination.1.to_be_bytes(),
        ]
        .concat();
        let mut at = None;
        match &self.body {
            Body::Tcp(flags) => {
                payload.extend(ports);
                payload.extend([0, 0, 0, 2, 0, 0, 0, 2, 0x50, *flags, 0x20, 0, 0, 0, 0, 0]);
                at = Some(16);
            }
            Body::Udp(with) => {
                payload.extend(ports);
                payload.extend((8 + self.data.len() as u16).to_be_bytes());
                payload.extend([0, 0]);
                at = with.then_some(6);
            }
            Body::Query(kind) => {
                let id = self.source.1 | self.destination.1;
                payload.extend([*kind, 0, 0, 0]);
                payload.extend(id.to_be_bytes());
                payload.extend([0, 7]);
                at = Some(2);
            }
            Body::Error(kind, quoted, length) => {
                payload.extend([*kind, 1, 0, 0, 0, 0, 5, 0]);
                let quoted = quoted.bytes();
                payload.extend(&quoted[..quoted.len().min(*length)]);
                at = Some(2);
            }
            Body::Message(kind) => {
                payload.extend([*kind, 0, 0, 0, 0, 0, 0, 0]);
                at = Some(2);
            }
            // DCCP and UDP-Lite.
            Body::Other(33 | 136) => {
                payload.extend([0, 9, 0, 9, 0, 0, 0, 0]);
                at = Some(6);
            }
            Body::Other(_) => {}
        }
        if !matches!(self.body, Body::Error(..)) {
            payload.extend(&self.data);
        }
        let mut header = vec![
            0x45,
            0,
            0,
            0,
            0x12,
            0x34,
            0x40,
            0,
            61,
            self.protocol(),
            0,
            0,
        ];
        header.extend(self.source.0.octets());
        header.extend(self.destination.0.octets());
        if self.has_options {
            header[0] = 0x46;
            header.extend([7, 3, 4, 0]);
        }
        let length = (header.len() + payload.len()) as u16;
        header[2..4].copy_from_slice(&length.to_be_bytes());
        let value = checksum(sum(&header));
        header[10..12].copy_from_slice(&value);
        if let Some(at) = at {
            let mut total = sum(&payload);
            if self.protocol() != ICMP {
                total += sum(&header[12..20]);
                total += u32::from(self.protocol()) + payload.len() as u32;
            }
            let mut value = checksum(total);
            if value == [0, 0] && matches!(self.protocol(), UDP | 136) {
                value = [0xFF, 0xFF];
            }
            payload[at..at + 2].copy_from_slice(&value);
        }
        [header, payload].concat()
    }

    pub fn frame(&self) -> Frame {
        let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
        bytes.extend(self.bytes());
        bytes.resize(bytes.len() + self.padding, 0xEE);
        Frame::new(&bytes)
    }
}

/// Endpoints of a TCP or UDP frame; of another the words in their place, or 0.
pub fn ends(frame: &[u8]) -> (End, End) {
    let u16_at = |at: usize| match frame.get(at..at + 2) {
        Some(&[high, low]) => u16::from_be_bytes([high, low]),
        _ => 0,
    };
    let address = |at: usize| {
        let bytes: [u8; 4] = frame[at..at + 4].try_into().unwrap();
        Ipv4Addr::from(bytes)
    };
    let payload = 14 + usize::from(frame[14] & 15) * 4;
    let port = |at: usize| u16_at(payload + at);
    ((address(26), port(0)), (address(30), port(2)))
}
