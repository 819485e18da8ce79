//! Messages and their attributes. What is read is not trusted: what is cut short or forged is left out.

/// struct nlmsghdr.
pub const HEADER: usize = 16;
/// NLA_F_NESTED: the flag of an attribute that is made of attributes.
pub const NESTED: u16 = 1 << 15;
/// NLA_TYPE_MASK: the type of an attribute without its flags.
const TYPE: u16 = 0x3FFF;

/// A message being written at the end of a buffer.
pub struct Message<'a> {
    bytes: &'a mut Vec<u8>,
    at: usize,
}

impl<'a> Message<'a> {
    /// Begins a message: its type, flags beside `NLM_F_REQUEST`, and sequence number.
    pub fn begin(bytes: &'a mut Vec<u8>, kind: u16, flags: i32, sequence: u32) -> Message<'a> {
        let at = bytes.len();
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&kind.to_ne_bytes());
        bytes.extend_from_slice(&((flags | libc::NLM_F_REQUEST) as u16).to_ne_bytes());
        bytes.extend_from_slice(&sequence.to_ne_bytes());
        bytes.extend_from_slice(&[0; 4]);
        Message { bytes, at }
    }

    /// Bytes of the structure in front of the attributes.
    pub fn raw(self, bytes: &[u8]) -> Message<'a> {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// As [`raw`](Message::raw), words in the machine's order.
    pub fn words(self, words: &[u32]) -> Message<'a> {
        let words = words.iter().flat_map(|word| word.to_ne_bytes());
        self.bytes.extend(words);
        self
    }

    /// An attribute.
    pub fn with(self, kind: u16, value: &[u8]) -> Message<'a> {
        head(self.bytes, kind, value.len());
        self.bytes.extend_from_slice(value);
        let end = self.at + (self.bytes.len() - self.at).next_multiple_of(4);
        self.bytes.resize(end, 0);
        self
    }

    /// An attribute that is a number of 32 bits in network order, as netfilter has them.
    pub fn with_be32(self, kind: u16, value: u32) -> Message<'a> {
        self.with(kind, &value.to_be_bytes())
    }

    /// An attribute that is a C string.
    pub fn with_text(self, kind: u16, text: &str) -> Message<'a> {
        self.with(kind, &[text.as_bytes(), b"\0"].concat())
    }

    /// An attribute that is made of what `inner` writes.
    pub fn nest(self, kind: u16, inner: impl FnOnce(Message<'a>) -> Message<'a>) -> Message<'a> {
        let at = self.bytes.len();
        head(self.bytes, kind, 0);
        let message = inner(self);
        let len = (message.bytes.len() - at) as u16;
        message.bytes[at..at + 2].copy_from_slice(&len.to_ne_bytes());
        message
    }

    /// The header of an attribute whose `len` bytes stand elsewhere; the message ends here, padding and all in its length.
    /// Returns how many zeros are to follow those bytes.
    pub fn end_with(self, kind: u16, len: usize) -> usize {
        head(self.bytes, kind, len);
        let padded = len.next_multiple_of(4);
        self.set_len(padded);
        padded - len
    }

    /// Ends the message.
    pub fn end(self) {
        self.set_len(0);
    }

    fn set_len(self, more: usize) {
        let len = (self.bytes.len() - self.at + more) as u32;
        self.bytes[self.at..self.at + 4].copy_from_slice(&len.to_ne_bytes());
    }
}

/// The header of an attribute.
fn head(bytes: &mut Vec<u8>, kind: u16, len: usize) {
    bytes.extend_from_slice(&((4 + len) as u16).to_ne_bytes());
    bytes.extend_from_slice(&kind.to_ne_bytes());
}

/// A message that was received.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// RTM_*, NLMSG_* and the like.
    pub kind: u16,
    /// NLM_F_*.
    pub flags: u16,
    /// The sequence number of the request that it answers.
    pub sequence: u32,
    /// The port number of the socket whose request it answers, or that caused it.
    pub sender: u32,
    /// What is behind the header.
    pub body: &'a [u8],
}

impl Received<'_> {
    /// The code of an NLMSG_ERROR or NLMSG_DONE: zero or the negative of an errno.
    pub fn code(&self) -> i32 {
        u32_at(self.body, 0).unwrap_or(0) as i32
    }
}

/// The messages of a datagram. Ends at the first that is not whole.
pub fn messages(mut bytes: &[u8]) -> impl Iterator<Item = Received<'_>> {
    std::iter::from_fn(move || {
        let len = u32_at(bytes, 0)? as usize;
        let whole = bytes.get(..len).filter(|_| len >= HEADER)?;
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some(Received {
            kind: u16_at(whole, 4)?,
            flags: u16_at(whole, 6)?,
            sequence: u32_at(whole, 8)?,
            sender: u32_at(whole, 12)?,
            body: &whole[HEADER..],
        })
    })
}

/// Attributes: their types, without the flags in these, and values. Ends at the first that is not whole.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let len = usize::from(u16_at(bytes, 0)?);
        let kind = u16_at(bytes, 2)? & TYPE;
        let value = bytes.get(4..len)?;
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// A number of 16 bits in the machine's order.
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_ne_bytes(*bytes))
}

/// One of 32 bits.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*bytes))
}

/// One of 64 bits.
pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u64::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let mut bytes = Vec::new();
        for sequence in [7, 8] {
            Message::begin(&mut bytes, 16, libc::NLM_F_ACK, sequence)
                .words(&[1, 2])
                .with_text(3, "eth0")
                .nest(4 | NESTED, |inner| inner.with_be32(1, 9).with(2, &[5]))
                .end();
        }
        let found: Vec<_> = messages(&bytes).collect();
        assert_eq!(found.len(), 2);
        assert_eq!((found[1].kind, found[1].sequence), (16, 8));
        assert_eq!(
            i32::from(found[1].flags),
            libc::NLM_F_ACK | libc::NLM_F_REQUEST
        );
        let inside: Vec<_> = attributes(&found[1].body[8..]).collect();
        assert_eq!(inside[0], (3, &b"eth0\0"[..]));
        let nested: Vec<_> = attributes(inside[1].1).collect();
        assert_eq!(
            (inside[1].0, &nested[..]),
            (4, &[(1, &[0, 0, 0, 9][..]), (2, &[5])][..])
        );
    }

    #[test]
    fn bytes_elsewhere_count_in_the_length_of_a_message() {
        let mut bytes = Vec::new();
        let padding = Message::begin(&mut bytes, 1, 0, 0).end_with(10, 5);
        bytes.extend_from_slice(b"12345");
        bytes.resize(bytes.len() + padding, 0);
        let body = messages(&bytes).next().unwrap().body;
        assert_eq!(attributes(body).next(), Some((10, &b"12345"[..])));
        assert_eq!(messages(&bytes).count(), 1);
    }

    #[test]
    fn what_is_cut_short_is_left_out() {
        assert_eq!(messages(&[16, 0, 0, 0, 1]).count(), 0);
        assert_eq!(messages(&[0; 64]).count(), 0);
        assert_eq!(attributes(&[3, 0, 1, 0]).count(), 0);
        assert_eq!(attributes(&[9, 0, 1, 0, 5]).count(), 0);
    }
}
