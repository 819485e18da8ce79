//! Packets of calls.
//!
//! | bytes | field |
//! |---|---|
//! | 0 | version, 1 |
//! | 1 | [`Kind`] |
//! | 2-3 | number of the fragment, from 0 |
//! | 4-7 | number of the exchange, from 1 |
//! | 8-15 | connection; the client's nonce in a handshake |
//! | 16- | payload |
//!
//! Numbers are big-endian.

use alloc::vec::Vec;

/// Version in each packet.
const VERSION: u8 = 1;
/// Length of a header, bytes.
pub const HEADER_LEN: usize = 16;
/// Maximum length of a payload, bytes: with IPv6's and UDP's headers below the least MTU of IPv6.
pub const MAX_FRAGMENT_LEN: usize = 1200;

/// Kinds of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A client asks for a challenge; its payload is padding of the challenge's length.
    Connect = 1,
    /// The server's keyed hash of the client's address and nonce.
    Challenge = 2,
    /// The client repeats the hash.
    Open = 3,
    /// The server's identifier of the connection.
    Accept = 4,
    /// There is no such connection, or no capacity for another.
    Refuse = 5,
    /// A fragment that is not the last of its request or reply.
    Fragment = 6,
    /// The last fragment.
    Last = 7,
    /// Acknowledgement of a fragment.
    Ack = 8,
    /// Ping: asks whether the far end is alive.
    Ping = 9,
    /// Reply to a ping.
    Pong = 10,
    /// The client closes the connection.
    Close = 11,
}

impl Kind {
    fn read(byte: u8) -> Option<Kind> {
        use Kind::*;
        let kinds = [
            Connect, Challenge, Open, Accept, Refuse, Fragment, Last, Ack, Ping, Pong, Close,
        ];
        kinds.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Its kind.
    pub kind: Kind,
    /// Number of the fragment.
    pub fragment: u16,
    /// Number of the exchange.
    pub exchange: u32,
    /// The connection, or the client's nonce.
    pub connection: u64,
    /// The payload.
    pub payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads a packet; `None` for anything else.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Packet<'a>> {
        let (header, payload) = bytes.split_first_chunk::<HEADER_LEN>()?;
        let [version, kind, f1, f0, e3, e2, e1, e0, connection @ ..] = *header;
        if version != VERSION || payload.len() > MAX_FRAGMENT_LEN {
            return None;
        }
        Some(Packet {
            kind: Kind::read(kind)?,
            fragment: u16::from_be_bytes([f1, f0]),
            exchange: u32::from_be_bytes([e3, e2, e1, e0]),
            connection: u64::from_be_bytes(connection),
            payload,
        })
    }

    /// The packet's bytes.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_LEN + self.payload.len());
        bytes.extend_from_slice(&[VERSION, self.kind as u8]);
        bytes.extend_from_slice(&self.fragment.to_be_bytes());
        bytes.extend_from_slice(&self.exchange.to_be_bytes());
        bytes.extend_from_slice(&self.connection.to_be_bytes());
        bytes.extend_from_slice(self.payload);
        bytes
    }

    /// A payload that is a number.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        self.payload.try_into().ok().map(u64::from_be_bytes)
    }
}
