//! MPLS label stacks in ICMP errors (RFC 4884, RFC 4950).

use packet::checksum::Sum;

/// Maximum number of entries that are read of a stack.
pub const MAX_LABELS: usize = 16;
/// Bytes of the quote of a message that does not give the quote's length (RFC 4884 section 5.5).
const LEGACY_QUOTE: usize = 128;
const VERSION: u8 = 2;
const HEADER: usize = 4;
/// Class and type of an object with an incoming label stack (RFC 4950 section 3).
const INCOMING_STACK: [u8; 2] = [1, 1];

/// An entry of a label stack (RFC 3032 section 2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// The label, 20 bits.
    pub label: u32,
    /// Traffic class, 3 bits.
    pub class: u8,
    /// Time to live.
    pub ttl: u8,
}

/// The label stack with which a packet arrived at a router, top first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    entries: [Label; MAX_LABELS],
    count: usize,
}

impl Labels {
    /// The entries.
    pub fn entries(&self) -> &[Label] {
        &self.entries[..self.count]
    }

    /// Reads the extensions of an ICMP error: its bytes from the type on, and whether it is of IPv4. Without extensions, or
    /// with broken ones, there are no entries.
    pub fn read(message: &[u8], is_v4: bool) -> Labels {
        let extensions = extensions(message, is_v4);
        extensions.map(read_objects).unwrap_or_default()
    }
}

/// The extension structure, whose checksum is right.
fn extensions(message: &[u8], is_v4: bool) -> Option<&[u8]> {
    let quoted = message.get(8..)?;
    // The length is in words of 4 bytes, of IPv6 in words of 8 (RFC 4884 sections 3 and 4).
    let length = match is_v4 {
        true => usize::from(message[5]) * 4,
        false => usize::from(message[4]) * 8,
    };
    let start = if length > 0 { length } else { LEGACY_QUOTE };
    let extensions = quoted.get(start..).filter(|rest| rest.len() >= HEADER)?;
    let sum = [extensions[2], extensions[3]];
    // Zero stands for no checksum, which a message without a length must have.
    let is_valid = match sum {
        [0, 0] => length > 0,
        _ => Sum::default().plus(extensions).is_valid(),
    };
    (extensions[0] >> 4 == VERSION && is_valid).then_some(&extensions[HEADER..])
}

fn read_objects(mut objects: &[u8]) -> Labels {
    let mut labels = Labels::default();
    while let Some(header) = objects.first_chunk::<HEADER>() {
        let length = usize::from(u16::from_be_bytes([header[0], header[1]]));
        let Some(body) = objects.get(HEADER..length.max(HEADER)) else {
            break;
        };
        if header[2..] == INCOMING_STACK {
            for entry in body.chunks_exact(4).take(MAX_LABELS - labels.count) {
                let word = u32::from_be_bytes([entry[0], entry[1], entry[2], entry[3]]);
                labels.entries[labels.count] = Label {
                    label: word >> 12,
                    class: (word >> 9 & 7) as u8,
                    ttl: word as u8,
                };
                labels.count += 1;
            }
        }
        // A length below that of the header would never end.
        objects = &objects[length.max(HEADER)..];
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;
    use std::vec::Vec;

    /// A time exceeded message with two labels, and the quote's length in words.
    fn message(words: u8, quote: usize) -> Vec<u8> {
        let mut message = vec![11, 0, 0, 0, 0, words, 0, 0];
        message.resize(8 + quote, 0x45);
        let start = message.len();
        message.extend([0x20, 0, 0, 0, 0, 12, 1, 1]);
        message.extend((16_001_u32 << 12 | 5 << 9 | 7).to_be_bytes());
        message.extend((24_u32 << 12 | 1 << 8 | 255).to_be_bytes());
        let sum = Sum::default().plus(&message[start..]).checksum();
        message[start + 2..start + 4].copy_from_slice(&sum.to_be_bytes());
        message
    }

    #[test]
    fn a_stack_is_read_with_and_without_the_quotes_length() {
        let stack = [(16_001, 5, 7), (24, 0, 255)];
        for (words, quote) in [(32, 128), (40, 160), (0, 128)] {
            let labels = Labels::read(&message(words, quote), true);
            let read = labels.entries().iter();
            let read: Vec<_> = read.map(|one| (one.label, one.class, one.ttl)).collect();
            assert_eq!(read, stack, "{words}");
        }
    }

    #[test]
    fn broken_extensions_have_no_entries() {
        let whole = message(32, 128);
        for length in 0..whole.len() {
            assert_eq!(Labels::read(&whole[..length], true).entries(), []);
        }
        for place in 136..whole.len() {
            for value in [0, 1, 0xFF] {
                let mut changed = whole.clone();
                changed[place] = value;
                assert!(Labels::read(&changed, true).entries().len() <= MAX_LABELS);
            }
        }
    }
}
