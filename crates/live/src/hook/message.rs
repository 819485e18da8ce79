//! Messages of nfnetlink: a netlink header, a header of four bytes, and attributes.
//!
//! Numbers are as <linux/netfilter/nfnetlink.h> and nfnetlink_queue.h have them. Attributes of netfilter are in network
//! order, the headers in the machine's.

/// Length of the netlink header and the four bytes of nfnetlink behind it.
pub const HEADER: usize = 20;
/// The subsystem of queues, in the upper byte of a message's type.
const QUEUE: u16 = 3;
/// A packet for us.
const PACKET: u16 = QUEUE << 8;
/// An answer to one packet.
pub const VERDICT: u16 = QUEUE << 8 | 1;
/// Something about the queue itself.
pub const CONFIG: u16 = QUEUE << 8 | 2;
/// An answer to all packets up to one.
pub const VERDICT_BATCH: u16 = QUEUE << 8 | 3;
/// An attribute made of attributes.
const NESTED: u16 = 1 << 15;
/// Network order, the machine's order, nested: what the type of an attribute says beside its number.
const FLAGS: u16 = 3 << 14;

const NFQA_PACKET_HDR: u16 = 1;
/// The verdict and the packet's number.
pub const NFQA_VERDICT_HDR: u16 = 2;
const NFQA_MARK: u16 = 3;
const NFQA_IFINDEX_INDEV: u16 = 5;
const NFQA_IFINDEX_OUTDEV: u16 = 6;
const NFQA_HWADDR: u16 = 9;
/// The packet's bytes, from the IP header on.
pub const NFQA_PAYLOAD: u16 = 10;
const NFQA_CAP_LEN: u16 = 13;
const NFQA_SKB_INFO: u16 = 14;
/// Of NFQA_SKB_INFO: checksums are not complete, or segments are glued together.
const UNFINISHED: u32 = 3;

/// Writes messages one behind the other.
pub struct Message<'a> {
    bytes: &'a mut Vec<u8>,
    at: usize,
}

impl<'a> Message<'a> {
    /// Begins a message at the end of `bytes`: its type, flags beside `NLM_F_REQUEST`, sequence number, family and
    /// what it is about.
    pub fn begin(
        bytes: &'a mut Vec<u8>,
        kind: u16,
        flags: u16,
        sequence: u32,
        family: u8,
        about: u16,
    ) -> Message<'a> {
        let at = bytes.len();
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&kind.to_ne_bytes());
        bytes.extend_from_slice(&(flags | libc::NLM_F_REQUEST as u16).to_ne_bytes());
        bytes.extend_from_slice(&sequence.to_ne_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&[family, 0]);
        bytes.extend_from_slice(&about.to_be_bytes());
        Message { bytes, at }
    }

    /// An attribute.
    pub fn with(self, kind: u16, value: &[u8]) -> Message<'a> {
        let len = (4 + value.len()) as u16;
        self.bytes.extend_from_slice(&len.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(value);
        let end = self.at + (self.bytes.len() - self.at).next_multiple_of(4);
        self.bytes.resize(end, 0);
        self
    }

    /// An attribute that is a number of 32 bits.
    pub fn with_u32(self, kind: u16, value: u32) -> Message<'a> {
        self.with(kind, &value.to_be_bytes())
    }

    /// An attribute that is a C string.
    pub fn with_text(self, kind: u16, text: &str) -> Message<'a> {
        let mut value = text.as_bytes().to_vec();
        value.push(0);
        self.with(kind, &value)
    }

    /// An attribute that is made of what `inner` writes.
    pub fn nest(self, kind: u16, inner: impl FnOnce(Message<'a>) -> Message<'a>) -> Message<'a> {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 2]);
        self.bytes.extend_from_slice(&(kind | NESTED).to_ne_bytes());
        let message = inner(self);
        let len = (message.bytes.len() - at) as u16;
        message.bytes[at..at + 2].copy_from_slice(&len.to_ne_bytes());
        message
    }

    /// The head of an attribute whose `len` bytes stand elsewhere; the message ends here, padding and all in its length.
    /// Returns how many zeros are to follow those bytes.
    pub fn end_with(self, kind: u16, len: usize) -> usize {
        let head = (4 + len) as u16;
        self.bytes.extend_from_slice(&head.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        let padded = len.next_multiple_of(4);
        let whole = (self.bytes.len() - self.at + padded) as u32;
        self.bytes[self.at..self.at + 4].copy_from_slice(&whole.to_ne_bytes());
        padded - len
    }

    /// Ends the message.
    pub fn end(self) {
        let len = (self.bytes.len() - self.at) as u32;
        self.bytes[self.at..self.at + 4].copy_from_slice(&len.to_ne_bytes());
    }
}

/// A packet that waits for an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Its number in its queue.
    pub id: u32,
    /// Its EtherType.
    pub protocol: u16,
    /// The hook, as <linux/netfilter.h> counts them.
    pub hook: u8,
    /// The interface that it came in by; zero for none.
    pub from: u32,
    /// The interface that it is to leave by; zero where that is not known yet.
    pub to: u32,
    /// Its mark (`fwmark`).
    pub mark: u32,
    /// The Ethernet address of who sent it.
    pub source: Option<[u8; 6]>,
    /// Where its bytes begin, from the IP header on.
    pub start: usize,
    /// Where they end.
    pub end: usize,
    /// Its whole length, where that is more than was given.
    pub whole: Option<u32>,
    /// Whether its checksums are not complete, or it is a chain of segments: it cannot leave but by the kernel's hand.
    pub unfinished: bool,
}

/// What the kernel has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// A packet.
    Packet(Packet),
    /// An answer to a request with this sequence number: an error number, or zero for one that was done.
    Answer {
        /// The request's sequence number.
        sequence: u32,
        /// `EPERM` and the like; zero for none.
        error: i32,
    },
    /// Anything else.
    Other,
}

/// Reads a message that begins at `at`; and where the next one begins. `None` where no whole message is.
pub fn read(bytes: &[u8], at: usize) -> Option<(Told, usize)> {
    let rest = bytes.get(at..)?;
    let len = u32_at(rest, 0)? as usize;
    if len < 16 || len > rest.len() {
        return None;
    }
    let message = &rest[..len];
    let next = at + len.next_multiple_of(4);
    let kind = u16::from_ne_bytes([message[4], message[5]]);
    let sequence = u32_at(message, 8)?;
    let told = match kind {
        PACKET => packet(message, at).map_or(Told::Other, Told::Packet),
        _ if kind == libc::NLMSG_ERROR as u16 => match u32_at(message, 16) {
            Some(code) => Told::Answer {
                sequence,
                error: (code as i32).saturating_neg(),
            },
            None => Told::Other,
        },
        _ => Told::Other,
    };
    Some((told, next))
}

fn packet(message: &[u8], at: usize) -> Option<Packet> {
    let mut packet = Packet::default();
    let mut named = false;
    let mut place = HEADER;
    while let Some(rest) = message.get(place..)
        && let Some(head) = rest.first_chunk::<4>()
    {
        let len = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        let kind = u16::from_ne_bytes([head[2], head[3]]) & !FLAGS;
        if len < 4 || len > rest.len() {
            break;
        }
        let value = &rest[4..len];
        match kind {
            NFQA_PACKET_HDR if value.len() >= 7 => {
                packet.id = number(value)?;
                packet.protocol = u16::from_be_bytes([value[4], value[5]]);
                packet.hook = value[6];
                named = true;
            }
            NFQA_MARK => packet.mark = number(value)?,
            NFQA_IFINDEX_INDEV => packet.from = number(value)?,
            NFQA_IFINDEX_OUTDEV => packet.to = number(value)?,
            NFQA_HWADDR if value.len() >= 10 && value[..2] == [0, 6] => {
                packet.source = value[4..].first_chunk().copied();
            }
            NFQA_PAYLOAD => {
                packet.start = at + place + 4;
                packet.end = at + place + len;
            }
            NFQA_SKB_INFO => packet.unfinished = number(value)? & UNFINISHED != 0,
            NFQA_CAP_LEN => packet.whole = Some(number(value)?),
            _ => {}
        }
        place += len.next_multiple_of(4);
    }
    named.then_some(packet)
}

fn number(value: &[u8]) -> Option<u32> {
    value.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let mut bytes = Vec::new();
        Message::begin(&mut bytes, PACKET, 0, 7, 2, 5)
            .with(NFQA_PACKET_HDR, &[0, 0, 1, 2, 8, 0, 2])
            .with_u32(NFQA_IFINDEX_INDEV, 3)
            .with_u32(NFQA_IFINDEX_OUTDEV, 4)
            .with(NFQA_HWADDR, &[0, 6, 0, 0, 2, 0, 0, 0, 0, 9, 0, 0])
            .with_u32(NFQA_CAP_LEN, 70_000)
            .with(NFQA_PAYLOAD, b"packet")
            .end();
        bytes
    }

    #[test]
    fn a_packet_is_read_as_it_was_written() {
        let mut bytes = vec![0; 16];
        bytes.extend(sample());
        let (told, next) = read(&bytes, 16).unwrap();
        let Told::Packet(packet) = told else {
            panic!("{told:?}")
        };
        assert_eq!(next, bytes.len());
        assert_eq!(&bytes[packet.start..packet.end], b"packet");
        assert_eq!(
            (
                packet.id,
                packet.protocol,
                packet.hook,
                packet.from,
                packet.to
            ),
            (258, 0x800, 2, 3, 4)
        );
        assert_eq!(packet.source, Some([2, 0, 0, 0, 0, 9]));
        assert_eq!(packet.whole, Some(70_000));
    }

    #[test]
    fn a_message_that_ends_early_is_none() {
        let bytes = sample();
        for len in 0..bytes.len() {
            assert_eq!(read(&bytes[..len], 0), None);
        }
        for len in 16..bytes.len() {
            // Its own length agrees, its attributes do not.
            let mut bytes = bytes[..len].to_vec();
            bytes[..4].copy_from_slice(&(len as u32).to_ne_bytes());
            if let Some((Told::Packet(packet), _)) = read(&bytes, 0) {
                assert!(packet.end <= len && packet.start <= packet.end);
            }
        }
    }

    #[test]
    fn bytes_elsewhere_count_in_the_messages_length() {
        let mut bytes = Vec::new();
        let pad = Message::begin(&mut bytes, VERDICT, 0, 0, 0, 0).end_with(NFQA_PAYLOAD, 5);
        bytes.extend_from_slice(b"12345");
        bytes.resize(bytes.len() + pad, 0);
        assert_eq!(read(&bytes, 0), Some((Told::Other, bytes.len())));
    }
}
