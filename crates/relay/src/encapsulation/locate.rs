//! Where in a frame the bytes are that may be compressed.

use packet::ipv4::protocol;

/// VLAN tags that are passed over.
const TAGS: usize = 4;
/// Extension headers of IPv6 that are looked at.
const EXTENSIONS: usize = 8;

/// Where a packet's parts are in its frame: offsets from the frame's first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The IP header.
    pub(super) ip: usize,
    /// Whether it is IPv4.
    pub(super) is_v4: bool,
    /// The byte that says what the body is.
    pub(super) next: usize,
    /// What it says.
    pub(super) protocol: u8,
    /// What may be compressed.
    pub(super) body: usize,
    /// Behind the packet's last byte.
    pub(super) end: usize,
    pub(super) stays: bool,
    pub(super) cuttable: bool,
}

impl Place {
    /// The protocol of what may be compressed; for a packet that is encapsulated, the number agreed on.
    pub fn protocol(&self) -> u8 {
        self.protocol
    }

    /// Where the IP header begins, counted from the frame's first byte.
    pub fn ip(&self) -> usize {
        self.ip
    }

    /// Where what may be compressed begins, counted likewise.
    pub fn body(&self) -> usize {
        self.body
    }

    /// Where it, and the packet, ends.
    pub fn end(&self) -> usize {
        self.end
    }

    /// The bytes that may be compressed, in the frame in which they were found; none in a shorter one.
    pub fn bytes<'a>(&self, frame: &'a [u8]) -> &'a [u8] {
        frame.get(self.body..self.end).unwrap_or_default()
    }

    /// How many bytes may be compressed.
    pub fn len(&self) -> usize {
        self.end - self.body
    }

    /// Whether the packet is to stay as it is, if it is not encapsulated yet: it is for the next router - link-local
    /// addresses, no hop left, a router alert - or its checksum is `FFFF`, which no sender writes and would come back as 0.
    pub fn stays(&self) -> bool {
        self.stays
    }

    /// Whether routers may cut the packet into fragments: IPv4 without the flag that forbids it.
    pub fn is_cuttable(&self) -> bool {
        self.cuttable
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.end == self.body
    }
}

/// Why there is no packet to be compressed or restored in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untouched {
    /// Not IP, or not whole, or lengths that make no sense.
    NotIp,
    /// A fragment, and where its own bytes are.
    Fragment(Place),
}

/// Finds the packet in an Ethernet frame.
///
/// # Errors
/// When there is none, or a piece of one.
pub fn locate(frame: &[u8]) -> Result<Place, Untouched> {
    // Nearly all frames.
    if let Some([0x08, 0x00]) = frame.get(12..14).and_then(<[u8]>::first_chunk) {
        return locate_v4(frame, 14);
    }
    let mut at = 12;
    for _ in 0..=TAGS {
        match frame.get(at..at + 2) {
            Some([0x81 | 0x91, 0x00] | [0x88, 0xA8]) => at += 4,
            Some([0x08, 0x00]) => return locate_v4(frame, at + 2),
            Some([0x86, 0xDD]) => return locate_v6(frame, at + 2),
            _ => return Err(Untouched::NotIp),
        }
    }
    Err(Untouched::NotIp)
}

fn locate_v4(frame: &[u8], ip: usize) -> Result<Place, Untouched> {
    let header = frame.get(ip..).and_then(<[u8]>::first_chunk::<20>);
    let header = header.ok_or(Untouched::NotIp)?;
    let length = usize::from(header[0] & 0x0F) * 4;
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let (body, end) = (ip + length, ip + total);
    if header[0] >> 4 != 4 || length < 20 || total < length || end > frame.len() {
        return Err(Untouched::NotIp);
    }
    let is_local = |address: [u8; 4]| {
        matches!(
            address,
            [169, 254, ..] | [224, 0, 0, _] | [255, 255, 255, 255]
        )
    };
    let [.., a, b, c, d, e, f, g, h] = *header;
    let local = header[8] <= 1 || is_local([a, b, c, d]) || is_local([e, f, g, h]);
    // A router alert is for each router on the way, which looks into the packet (RFC 2113).
    let mut options = packet::ipv4::Options(&frame[ip + 20..body]);
    let alert = options.any(|(kind, _)| kind == 148);
    let place = Place {
        ip,
        is_v4: true,
        next: ip + 9,
        protocol: header[9],
        body,
        end,
        stays: local || alert || (header[10], header[11]) == (0xFF, 0xFF),
        cuttable: header[6] & 0x40 == 0,
    };
    // More fragments, or an offset.
    match (header[6] & 0x3F, header[7]) {
        (0, 0) => Ok(place),
        _ => Err(Untouched::Fragment(place)),
    }
}

fn locate_v6(frame: &[u8], ip: usize) -> Result<Place, Untouched> {
    let header = frame.get(ip..).and_then(<[u8]>::first_chunk::<40>);
    let header = header.ok_or(Untouched::NotIp)?;
    let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
    let end = ip + 40 + length;
    if header[0] >> 4 != 6 || end > frame.len() {
        return Err(Untouched::NotIp);
    }
    let mut place = Place {
        ip,
        is_v4: false,
        next: ip + 6,
        protocol: header[6],
        body: ip + 40,
        end,
        stays: false,
        cuttable: false,
    };
    // fe80::/10, and multicast of interface-local or link-local scope.
    let is_local = |address: &[u8]| match *address {
        [0xFE, second, ..] => second & 0xC0 == 0x80,
        [0xFF, second, ..] => second & 0x0F <= 2,
        _ => false,
    };
    let (source, destination) = (&header[8..24], &header[24..40]);
    place.stays = header[7] <= 1 || is_local(source) || is_local(destination);
    // The walk goes on behind headers that are for the destination only, as a routing header or a fragment header may follow.
    let (mut at, mut kind, mut seen) = (place.body, place.protocol, 0);
    loop {
        let keep = match kind {
            protocol::HOP_BY_HOP | protocol::ROUTING => true,
            protocol::DESTINATION => false,
            protocol::FRAGMENT => {
                let rest = frame.get(at..end).and_then(<[u8]>::first_chunk::<8>);
                let rest = rest.ok_or(Untouched::NotIp)?;
                let place = Place {
                    next: at,
                    protocol: rest[0],
                    body: at + 8,
                    ..place
                };
                return Err(Untouched::Fragment(place));
            }
            _ => break,
        };
        let Some([follows, words, ..]) = frame.get(at..end) else {
            return Err(Untouched::NotIp);
        };
        let behind = at + 8 + usize::from(*words) * 8;
        seen += 1;
        if behind > end || seen > EXTENSIONS {
            return Err(Untouched::NotIp);
        }
        // A router alert is for each router on the way, which looks into the packet (RFC 2711).
        place.stays |= kind == protocol::HOP_BY_HOP && has_router_alert(&frame[at + 2..behind]);
        if keep {
            (place.next, place.body, place.protocol) = (at, behind, *follows);
        }
        (at, kind) = (behind, *follows);
    }
    Ok(place)
}

/// Whether options hold a router alert.
fn has_router_alert(mut options: &[u8]) -> bool {
    loop {
        match *options {
            [0, ref rest @ ..] => options = rest,
            [5, ..] => return true,
            [_, length, ref rest @ ..] => match rest.get(usize::from(length)..) {
                Some(rest) => options = rest,
                None => return false,
            },
            _ => return false,
        }
    }
}
