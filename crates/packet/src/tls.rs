//! TLS handshakes in the clear (RFC 8446): what a client wants, and what a server chose. Only what begins in this packet,
//! as far as it is there.

use core::iter::from_fn;

/// Types of handshake messages.
pub mod handshake {
    /// A client's first message.
    pub const CLIENT_HELLO: u8 = 1;
    /// A server's first message.
    pub const SERVER_HELLO: u8 = 2;
}

/// Numbers of extensions.
mod extension {
    pub const SERVER_NAME: u16 = 0;
    pub const ALPN: u16 = 16;
    pub const VERSIONS: u16 = 43;
}

/// A record: its type, its version, and what is there of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// 22 for a handshake, 23 for data, 21 for an alert, 20 for a change of the cipher.
    pub kind: u8,
    /// The version, in a form that all accept.
    pub version: u16,
    /// What is there of its bytes.
    pub bytes: &'a [u8],
}

/// The type of records that hold handshakes.
pub const HANDSHAKE: u8 = 22;

/// The records at the begin of a segment's payload; none if it does not begin with one. The last may be cut off.
pub fn records(payload: &[u8]) -> impl Iterator<Item = Record<'_>> {
    let mut rest = payload;
    from_fn(move || {
        let (header, bytes) = rest.split_first_chunk::<5>()?;
        let &[kind @ 20..=24, 3, minor @ 0..=4, high, low] = header else {
            return None;
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        let (bytes, behind) = bytes.split_at(length.min(bytes.len()));
        rest = behind;
        Some(Record {
            kind,
            version: u16::from_be_bytes([3, minor]),
            bytes,
        })
    })
}

/// The handshake messages in the records of a payload: the type of each, and what is there of it. Behind a change of the
/// cipher they are not in the clear, and none.
pub fn messages(payload: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let clear = records(payload).take_while(|record| record.kind == HANDSHAKE);
    clear.flat_map(|record| {
        let mut rest = record.bytes;
        from_fn(move || {
            let (&[kind, a, b, c], bytes) = rest.split_first_chunk()?;
            let length = u32::from_be_bytes([0, a, b, c]) as usize;
            let (bytes, behind) = bytes.split_at(length.min(bytes.len()));
            rest = behind;
            Some((kind, bytes))
        })
    })
}

/// A client's or a server's first message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello<'a> {
    /// The version, by the field that TLS 1.3 leaves at 1.2.
    pub version: u16,
    /// The cipher suites that the client offers, or the one that the server chose: two bytes each.
    pub ciphers: &'a [[u8; 2]],
    /// Whether it is the client's.
    client: bool,
    extensions: &'a [u8],
}

impl<'a> Hello<'a> {
    /// Reads a message of [`messages`]; `None` if it is another, or cut off before its extensions.
    pub fn new(kind: u8, message: &'a [u8]) -> Option<Hello<'a>> {
        let client = match kind {
            handshake::CLIENT_HELLO => true,
            handshake::SERVER_HELLO => false,
            _ => return None,
        };
        let (version, rest) = message.split_first_chunk()?;
        let (_random, rest) = rest.split_at_checked(32)?;
        let (_session, rest) = short(rest)?;
        let (ciphers, rest) = match client {
            true => {
                let (ciphers, rest) = long(rest)?;
                let (_compressions, rest) = short(rest)?;
                (ciphers, rest)
            }
            false => {
                let (cipher, rest) = rest.split_at_checked(2)?;
                (cipher, rest.get(1..)?)
            }
        };
        Some(Hello {
            version: u16::from_be_bytes(*version),
            ciphers: ciphers.as_chunks().0,
            client,
            // A hello of old has none.
            extensions: rest.get(2..).unwrap_or_default(),
        })
    }

    /// The names of the server that the client looks for.
    pub fn server_names(&self) -> impl Iterator<Item = &'a [u8]> {
        self.extension(extension::SERVER_NAME).flat_map(|value| {
            let mut rest = list(value);
            from_fn(move || {
                let (&kind, behind) = rest.split_first()?;
                let (name, behind) = long(behind)?;
                rest = behind;
                (kind == 0).then_some(name)
            })
        })
    }

    /// The protocols above that are offered, or the one that was chosen.
    pub fn protocols(&self) -> impl Iterator<Item = &'a [u8]> {
        self.extension(extension::ALPN).flat_map(|value| {
            let mut rest = list(value);
            from_fn(move || {
                let (protocol, behind) = short(rest)?;
                rest = behind;
                Some(protocol)
            })
        })
    }

    /// The versions that are offered, or the one that was chosen.
    pub fn versions(&self) -> impl Iterator<Item = u16> {
        let client = self.client;
        let values = self.extension(extension::VERSIONS);
        values.flat_map(move |value| {
            let versions = match client {
                true => short(value).map_or(&[][..], |(versions, _)| versions),
                false => value,
            };
            versions
                .as_chunks()
                .0
                .iter()
                .map(|v| u16::from_be_bytes(*v))
        })
    }

    fn extension(&self, number: u16) -> impl Iterator<Item = &'a [u8]> {
        let mut rest = self.extensions;
        from_fn(move || {
            let (kind, behind) = rest.split_first_chunk()?;
            let (value, behind) = long(behind)?;
            rest = behind;
            Some((u16::from_be_bytes(*kind), value))
        })
        .filter(move |(kind, _)| *kind == number)
        .map(|(_, value)| value)
    }
}

/// A value behind one byte with its length, and what follows.
fn short(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&length, rest) = bytes.split_first()?;
    rest.split_at_checked(length.into())
}

/// A value behind two bytes with its length, and what follows.
fn long(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(u16::from_be_bytes(*length).into())
}

/// What is in a list, which fills an extension.
fn list(value: &[u8]) -> &[u8] {
    long(value).map_or(&[], |(list, _)| list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// A client's first message in its record.
    fn hello() -> Vec<u8> {
        let mut body = alloc::vec![3, 3];
        body.extend([7; 32]);
        body.extend([0, 0, 4, 0x13, 1, 0x13, 2, 1, 0]);
        let extensions = b"\0\0\0\x0B\0\x09\0\0\x06a.test\0\x10\0\x0E\0\x0C\x02h2\x08http/1.1\0\x2B\0\x05\x04\x03\x04\x03\x03";
        body.extend((extensions.len() as u16).to_be_bytes());
        body.extend(extensions);
        let mut record = alloc::vec![22, 3, 1];
        record.extend((body.len() as u16 + 4).to_be_bytes());
        record.extend([1, 0, 0, body.len() as u8]);
        record.extend(body);
        record
    }

    fn first(payload: &[u8]) -> Option<Hello<'_>> {
        messages(payload).find_map(|(kind, message)| Hello::new(kind, message))
    }

    #[test]
    fn a_client_says_whom_it_looks_for_and_how() {
        let mut payload = hello();
        payload.extend([20, 3, 3, 0, 1, 1, 23, 3, 3, 0, 9]);
        let kinds: Vec<u8> = records(&payload).map(|record| record.kind).collect();
        assert_eq!(kinds, [22, 20, 23]);
        let hello = first(&payload).unwrap();
        assert_eq!((hello.version, hello.ciphers.len()), (0x0303, 2));
        assert_eq!(hello.server_names().collect::<Vec<_>>(), [b"a.test"]);
        assert_eq!(
            hello.protocols().collect::<Vec<_>>(),
            [&b"h2"[..], b"http/1.1"]
        );
        assert_eq!(hello.versions().collect::<Vec<_>>(), [0x0304, 0x0303]);
    }

    #[test]
    fn a_hello_that_is_cut_off_tells_what_is_there() {
        let payload = hello();
        for length in 0..payload.len() {
            let cut = first(&payload[..length]);
            assert!(cut.is_none_or(|hello| hello.versions().count() == 0));
        }
        let cut = first(&payload[..payload.len() - 3]).unwrap();
        assert_eq!(cut.server_names().count(), 1);
    }

    #[test]
    fn what_is_no_record_has_none() {
        for payload in [
            &b"GET / HTTP/1.1\r\n"[..],
            &[22, 4, 0, 0, 0],
            &[25, 3, 3, 0, 0],
            &[],
        ] {
            assert_eq!(records(payload).count(), 0, "{payload:?}");
        }
    }
}
