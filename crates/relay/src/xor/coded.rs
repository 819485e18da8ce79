//! Two packets in one: what it looks like, and how one of them comes out again.

use alloc::vec::Vec;
use node::Frame;
use packet::checksum::checksum;
use packet::ethernet::EthernetView;
use packet::ip::IpView;

/// What such packets begin with behind the IP header.
pub const MARK: [u8; 2] = *b"WX";
/// The version that is written, and the only one that is read.
pub const VERSION: u8 = 1;
/// Bytes before the two packets.
pub const HEADER: usize = 48;
/// Bytes of the Ethernet header; tagged frames are not coded.
const ETHERNET: usize = 14;
/// Bytes of one packet's entry in the header.
const ENTRY: usize = 20;

/// A whole IP packet in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    is_v4: bool,
    /// Bytes of the IP header, without extension headers.
    header: usize,
    /// Bytes of the packet.
    length: usize,
}

impl Whole {
    /// Finds it; `None` for what is not IP, not whole, has a tag, or an IPv4 header whose checksum is wrong, which would not
    /// come back the same.
    pub fn read(frame: &[u8]) -> Option<Whole> {
        let ethernet = EthernetView::new(frame).ok()?;
        let ip = IpView::new(ethernet.ethertype(), ethernet.payload()).ok()?;
        let header = ip.header_length();
        if let IpView::V4(ip) = ip
            && checksum_of(ethernet.payload().get(..header)?) != ip.checksum().to_be_bytes()
        {
            return None;
        }
        Some(Whole {
            is_v4: matches!(ip, IpView::V4(_)),
            header,
            length: header + ip.payload().len(),
        })
    }

    /// Bytes of the packet.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Never: there is a header.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// What IP carries, as the first header says.
    pub fn protocol(&self, frame: &[u8]) -> u8 {
        frame[ETHERNET + if self.is_v4 { 9 } else { 6 }]
    }

    /// What is behind the IP header.
    fn payload<'a>(&self, frame: &'a [u8]) -> &'a [u8] {
        &frame[ETHERNET + self.header..ETHERNET + self.length]
    }

    /// Bytes of a coded packet with this one's IP header, when the longer of both has so many.
    pub fn coded_len(&self, longer: usize) -> usize {
        (if self.is_v4 { 20 } else { 40 }) + HEADER + longer
    }
}

/// The checksum of an IPv4 header, whatever stands in its place.
fn checksum_of(header: &[u8]) -> [u8; 2] {
    let Some((before, behind)) = header.split_at_checked(12) else {
        return [0; 2];
    };
    let sum = packet::checksum::Sum::default();
    sum.plus(&before[..10])
        .plus(behind)
        .checksum()
        .to_be_bytes()
}

/// A packet's name, and what routers change on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// CRC-32 of the packet without what routers change: its name, and the check of what is restored.
    pub id: u32,
    /// Bytes.
    pub length: u16,
    class: u8,
    hops: u8,
    /// Destination and source on the link.
    stations: [u8; 12],
}

impl Entry {
    /// Of a frame whose packet is `whole`; the packet without what routers change is left in `bare`.
    pub fn of(frame: &[u8], whole: &Whole, bare: &mut Vec<u8>) -> Entry {
        bare.clear();
        bare.extend_from_slice(&frame[ETHERNET..ETHERNET + whole.length]);
        let (class, hops) = match whole.is_v4 {
            true => {
                let changing = (bare[1], bare[8]);
                (bare[1], bare[8]) = (0, 0);
                bare[10..12].fill(0);
                changing
            }
            false => {
                let changing = (bare[0] << 4 | bare[1] >> 4, bare[7]);
                (bare[0], bare[1], bare[7]) = (bare[0] & 0xF0, bare[1] & 0x0F, 0);
                changing
            }
        };
        let mut stations = [0; 12];
        stations.copy_from_slice(&frame[..12]);
        Entry {
            id: crc32fast::hash(bare),
            length: whole.length as u16,
            class,
            hops,
            stations,
        }
    }

    fn write(&self, at: &mut [u8]) {
        at[..4].copy_from_slice(&self.id.to_be_bytes());
        at[4..6].copy_from_slice(&self.length.to_be_bytes());
        (at[6], at[7]) = (self.class, self.hops);
        at[8..ENTRY].copy_from_slice(&self.stations);
    }

    fn read(at: &[u8; ENTRY]) -> Entry {
        let mut stations = [0; 12];
        stations.copy_from_slice(&at[8..]);
        Entry {
            id: u32::from_be_bytes([at[0], at[1], at[2], at[3]]),
            length: u16::from_be_bytes([at[4], at[5]]),
            class: at[6],
            hops: at[7],
            stations,
        }
    }

    /// Makes the frame whose packet without what routers change is `bare`; `false` when that makes no sense.
    fn restore(&self, bare: &mut [u8], frame: &mut Frame) -> bool {
        let ethertype: [u8; 2] = match bare.first().map_or(0, |first| first >> 4) {
            4 if bare.len() >= 20 => {
                let header = usize::from(bare[0] & 15) * 4;
                (bare[1], bare[8]) = (self.class, self.hops);
                let Some(head) = bare.get(..header).filter(|head| head.len() >= 20) else {
                    return false;
                };
                let sum = checksum_of(head);
                bare[10..12].copy_from_slice(&sum);
                [0x08, 0x00]
            }
            6 if bare.len() >= 40 => {
                bare[0] |= self.class >> 4;
                bare[1] |= self.class << 4;
                bare[7] = self.hops;
                [0x86, 0xDD]
            }
            _ => return false,
        };
        frame.extend(&self.stations);
        frame.extend(&ethertype);
        frame.extend(bare);
        true
    }
}

/// Why nothing comes out of a coded packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It ends before its header does, or before its packets do.
    Truncated,
    /// Not version 1, or bits that it leaves 0.
    Version,
    /// Bytes were changed on the way, or a packet of the same name is another one.
    Check,
    /// Neither of the two packets is known here.
    Unknown,
}

impl Fault {
    /// As a reason for a drop.
    pub const fn reason(self) -> &'static str {
        match self {
            Fault::Truncated => "coded packet cut off",
            Fault::Version => "coded packet of another version",
            Fault::Check => "damaged coded packet",
            Fault::Unknown => "neither packet is known",
        }
    }
}

/// Makes `coded`, which is empty, of two packets: with the IP header of the first in front, so that routers take it where the
/// first was to go, and for all stations on the link.
pub fn encode(
    coded: &mut Frame,
    first: (&Frame, &Whole),
    second: (&Frame, &Whole),
    protocol: u8,
    scratch: &mut [Vec<u8>; 2],
) {
    let (frame, whole) = first;
    let [one, other] = scratch;
    let entries = [
        Entry::of(frame, whole, one),
        Entry::of(second.0, second.1, other),
    ];
    coded.extend(&[0xFF; 6]);
    coded.extend(&frame[6..ETHERNET]);
    let fixed = if whole.is_v4 { 20 } else { 40 };
    coded.extend(&frame[ETHERNET..ETHERNET + fixed]);
    let mut header = [0; HEADER];
    header[..2].copy_from_slice(&MARK);
    header[2] = VERSION << 4;
    entries[0].write(&mut header[4..24]);
    entries[1].write(&mut header[24..44]);
    let check = crc32fast::hash(&header[2..44]);
    header[44..].copy_from_slice(&check.to_be_bytes());
    coded.extend(&header);
    if one.len() < other.len() {
        core::mem::swap(one, other);
    }
    for (byte, with) in one.iter_mut().zip(other.iter()) {
        *byte ^= with;
    }
    coded.extend(one);
    let length = coded.len() - ETHERNET;
    let ip = &mut coded[ETHERNET..];
    match whole.is_v4 {
        true => {
            ip[0] = 0x45;
            ip[2..4].copy_from_slice(&(length as u16).to_be_bytes());
            // The whole may have been a part; this is none, and is not to be cut into any.
            (ip[6], ip[7]) = (0x40, 0);
            ip[9] = protocol;
            ip[10..12].fill(0);
            let sum = checksum(&ip[..20]);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        false => {
            ip[4..6].copy_from_slice(&((length - 40) as u16).to_be_bytes());
            ip[6] = protocol;
        }
    }
}

/// Whether a packet is a coded one: to be asked if its protocol is the one agreed on.
pub fn is_marked(frame: &[u8], whole: &Whole) -> bool {
    whole.payload(frame).starts_with(&MARK)
}

/// Takes one packet out of a coded one, with the help of the other; `known` gives a packet, without what routers change, by its
/// name and length. `restored` is empty, and `bare` of any content.
///
/// # Errors
/// When nothing comes out; `restored` is in no useful state then.
pub fn decode<'a>(
    coded: &[u8],
    whole: &Whole,
    restored: &mut Frame,
    bare: &mut Vec<u8>,
    known: impl Fn(&Entry) -> Option<&'a [u8]>,
) -> Result<(), Fault> {
    let payload = whole.payload(coded);
    let (header, body) = payload
        .split_first_chunk::<HEADER>()
        .ok_or(Fault::Truncated)?;
    if header[2] != VERSION << 4 || header[3] != 0 {
        return Err(Fault::Version);
    }
    let (told, check) = header[2..].split_at(42);
    if crc32fast::hash(told).to_be_bytes() != *check {
        return Err(Fault::Check);
    }
    let entry = |at: usize| {
        let entry = told[at..].first_chunk().ok_or(Fault::Truncated)?;
        Ok(Entry::read(entry))
    };
    let entries = [entry(2)?, entry(22)?];
    let (helps, wanted) = match entries.each_ref().map(&known) {
        [Some(bytes), _] => (bytes, entries[1]),
        [None, Some(bytes)] => (bytes, entries[0]),
        [None, None] => return Err(Fault::Unknown),
    };
    let length = usize::from(wanted.length);
    let mixed = body.get(..length).ok_or(Fault::Truncated)?;
    bare.clear();
    bare.extend_from_slice(mixed);
    for (byte, with) in bare.iter_mut().zip(helps) {
        *byte ^= with;
    }
    if crc32fast::hash(bare) != wanted.id || !wanted.restore(bare, restored) {
        return Err(Fault::Check);
    }
    Ok(())
}
