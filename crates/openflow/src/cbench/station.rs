//! The stations of the benchmark's switches: their packets as packet-ins, and what answers them.

use crate::matching::Match;
use crate::message::{Message, PacketIn, PacketInReason};
use crate::port::{Name, PortDescription, PortNo};
use crate::version::Version;
use alloc::vec;
use alloc::vec::Vec;
use packet::ethernet::Mac;

/// Ports of each switch.
const PORTS: u32 = 8;
/// The packets' length, bytes.
const LENGTH: usize = 60;
/// Where in a packet its number stands: behind the header of UDP.
const NUMBER: usize = 42;
/// No buffer.
const NONE: u32 = u32::MAX;

fn port(station: u32) -> u32 {
    1 + station % PORTS
}

fn mac(switch: u32, station: u32) -> [u8; 6] {
    let [_, _, high, low] = switch.to_be_bytes();
    let [_, a, b, c] = station.to_be_bytes();
    [0x02 | high << 4, low, 0, a, b, c]
}

/// The ports of a switch.
pub fn descriptions(switch: u32) -> Vec<PortDescription> {
    let port = |number| PortDescription {
        number: PortNo(number),
        hardware: Mac([0x06, 0, (switch >> 8) as u8, switch as u8, 0, number as u8]),
        name: Name::new(["", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8"][number as usize % 9]),
        config: 0,
        state: 0,
        current: 0,
        advertised: 0,
        supported: 0,
        peer: 0,
        current_speed: 0,
        max_speed: 0,
    };
    (1..=PORTS).map(port).collect()
}

/// A packet-in, and where in it stands what changes.
pub struct Template {
    bytes: Vec<u8>,
    in_port: usize,
    wide: bool,
    data: usize,
}

impl Template {
    /// For a version.
    pub fn new(version: Version) -> Template {
        let mut data = vec![0; LENGTH];
        // IPv4, UDP without a checksum; the packets are not forwarded, so their addresses may be all alike.
        data[12..14].copy_from_slice(&[8, 0]);
        data[14..34].copy_from_slice(&[
            0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0x66, 0xBD, 10, 0, 0, 1, 10, 0, 0, 2,
        ]);
        data[34..42].copy_from_slice(&[0, 7, 0, 7, 0, 26, 0, 0]);
        let packet = PacketIn {
            buffer: Some(0),
            total_len: LENGTH as u16,
            reason: PacketInReason::NoMatch,
            table: 0,
            cookie: u64::MAX,
            fields: Match::in_port(PortNo(1)),
            data: &data,
        };
        let mut bytes = Vec::new();
        // A packet-in with a port has a form in both versions.
        let _ = Message::PacketIn(packet).encode(version, 0, &mut bytes);
        let wide = version == Version::V13;
        Template {
            in_port: if wide { 32 } else { 14 },
            wide,
            data: bytes.len() - LENGTH,
            bytes,
        }
    }

    /// The length of one, in bytes.
    pub fn length(&self) -> usize {
        self.bytes.len()
    }

    fn put(&self, from: [u8; 6], port: u32, to: [u8; 6], id: u32, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        let message = &mut out[start..];
        message[8..12].copy_from_slice(&id.to_be_bytes());
        match self.wide {
            true => message[self.in_port..self.in_port + 4].copy_from_slice(&port.to_be_bytes()),
            false => {
                message[self.in_port..self.in_port + 2]
                    .copy_from_slice(&(port as u16).to_be_bytes());
            }
        }
        let data = &mut message[self.data..];
        data[..6].copy_from_slice(&to);
        data[6..12].copy_from_slice(&from);
        data[NUMBER..NUMBER + 4].copy_from_slice(&id.to_be_bytes());
    }

    /// A packet from a station to the one after it, at another port; from the only one there is, to all.
    pub fn between(&self, switch: u32, from: u32, stations: u32, id: u32, out: &mut Vec<u8>) {
        if stations == 1 {
            return self.alone(switch, from, id, out);
        }
        let mut to = (from + 1) % stations;
        if port(to) == port(from) {
            to = (to + 1) % stations;
        }
        self.put(mac(switch, from), port(from), mac(switch, to), id, out);
    }

    /// A packet from a station to all.
    pub fn alone(&self, switch: u32, from: u32, id: u32, out: &mut Vec<u8>) {
        self.put(mac(switch, from), port(from), [0xFF; 6], id, out);
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..at + 2)?;
    Some(u16::from_be_bytes([two[0], two[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_be_bytes(*four))
}

/// The number of the packet that a flow-mod or packet-out takes along; `None` when it takes none of ours.
pub fn answered(version: Version, bytes: &[u8]) -> Option<u32> {
    let wide = version == Version::V13;
    if bytes.get(1) == Some(&14) {
        let buffer = u32_at(bytes, if wide { 32 } else { 64 })?;
        return (buffer != NONE).then_some(buffer);
    }
    let buffer = u32_at(bytes, 8)?;
    if buffer != NONE {
        return Some(buffer);
    }
    let (length, behind) = if wide { (16, 24) } else { (14, 16) };
    let data = behind + usize::from(u16_at(bytes, length)?);
    // What is of another kind, such as LLDP, is not ours.
    let ours = u16_at(bytes, data + 12) == Some(0x0800) && bytes.len() >= data + LENGTH;
    ours.then(|| u32_at(bytes, data + NUMBER)).flatten()
}

/// How many packets can be without an answer: more than the buffers on the way hold.
const OPEN: u32 = 1 << 18;

/// Which packets are not answered.
pub struct Outstanding {
    bits: Vec<u64>,
    next: u32,
    open: u32,
}

impl Outstanding {
    /// None was asked.
    pub fn new() -> Outstanding {
        Outstanding {
            bits: vec![0; OPEN as usize / 64],
            next: 0,
            open: 0,
        }
    }

    /// A number for one more. One so old that its number comes round again is given up.
    pub fn put(&mut self) -> u32 {
        let id = self.next;
        // The last number says: no buffer.
        self.next = (self.next + 1) % (NONE - OPEN + 1);
        let (word, bit) = Outstanding::place(id);
        if self.bits[word] & bit == 0 {
            self.bits[word] |= bit;
            self.open += 1;
        }
        id
    }

    /// It is answered; whether it was asked, and not answered before.
    pub fn take(&mut self, id: u32) -> bool {
        let (word, bit) = Outstanding::place(id);
        let fresh = id < self.next && self.next - id <= OPEN && self.bits[word] & bit != 0;
        if fresh {
            self.bits[word] &= !bit;
            self.open -= 1;
        }
        fresh
    }

    /// How many are not answered.
    pub fn open(&self) -> u32 {
        self.open
    }

    fn place(id: u32) -> (usize, u64) {
        let at = id % OPEN;
        ((at / 64) as usize, 1 << (at % 64))
    }
}
