//! Hole punching through NATs (RFC 5128 section 3.3), and the server by which two hosts find each other.
//!
//! `punch`: `server`, port 3478; `name` and `peer`, at most 16 bytes each; `start`, 0; `interval`, 200 ms; `attempts`, 20: after as
//! many datagrams without success it gives up. It registers at the server until that answers with the endpoint at which it sees the
//! peer, and then sends to it, and to every endpoint from which the peer has been heard. The flow is done when the peer has been heard
//! and has heard this host.
//!
//! `rendezvous`: `port`, 3478. It sends each of two hosts that name each other the other's endpoint. Every message has 64 bytes, an
//! answer is no longer than its request, and the names are at most [`MAX_NAMES`].

mod client;
mod server;

pub use client::Config;
pub(crate) use client::Punch;
pub(crate) use server::Rendezvous;
pub use server::{MAX_NAMES, ServerConfig};

use core::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Port of the server: that of STUN (RFC 8489).
pub const PORT: u16 = 3478;
/// Maximum length of a name, bytes.
pub const MAX_NAME: usize = 16;
/// Bytes of a message.
const LEN: usize = 64;
const MAGIC: [u8; 4] = *b"WPu1";

/// A name, filled up with zeros.
type Name = [u8; MAX_NAME];

fn name(text: &str) -> Option<Name> {
    let mut name = [0; MAX_NAME];
    name.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
    (!text.is_empty() && !text.contains('\0')).then_some(name)
}

/// Kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// To the server: the sender's name, and that of the peer that it looks for.
    Register,
    /// From the server: the endpoint of the peer.
    Endpoint(SocketAddr),
    /// To the peer; whether the sender has heard the peer already.
    Hello(bool),
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Message {
    kind: Kind,
    /// Name of the sender; of the server's messages of the peer.
    from: Name,
    /// Name of the receiver, or of the peer looked for.
    to: Name,
}

impl Message {
    fn to_bytes(self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[8..24].copy_from_slice(&self.from);
        bytes[24..40].copy_from_slice(&self.to);
        match self.kind {
            Kind::Register => bytes[4] = 1,
            Kind::Endpoint(endpoint) => {
                bytes[4] = 2;
                let address = match endpoint.ip() {
                    IpAddr::V4(address) => address.to_ipv6_mapped(),
                    IpAddr::V6(address) => address,
                };
                bytes[40..56].copy_from_slice(&address.octets());
                bytes[56..58].copy_from_slice(&endpoint.port().to_be_bytes());
            }
            Kind::Hello(heard) => (bytes[4], bytes[5]) = (3, heard.into()),
        }
        bytes
    }

    /// Reads a message; `None` when it is something else.
    fn read(bytes: &[u8]) -> Option<Message> {
        let bytes: &[u8; LEN] = bytes.try_into().ok()?;
        if bytes[..4] != MAGIC {
            return None;
        }
        let kind = match (bytes[4], bytes[5]) {
            (1, 0) => Kind::Register,
            (2, 0) => {
                let address = Ipv6Addr::from(*bytes[40..].first_chunk::<16>()?);
                let port = u16::from_be_bytes([bytes[56], bytes[57]]);
                Kind::Endpoint(SocketAddr::new(address.to_canonical(), port))
            }
            (3, heard @ 0..=1) => Kind::Hello(heard == 1),
            _ => return None,
        };
        Some(Message {
            kind,
            from: *bytes[8..].first_chunk()?,
            to: *bytes[24..].first_chunk()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let [from, to] = ["a", "abcdefghijklmnop"].map(|text| name(text).unwrap());
        assert_eq!((name(""), name("abcdefghijklmnopq")), (None, None));
        for kind in [
            Kind::Register,
            Kind::Endpoint("192.0.2.1:5".parse().unwrap()),
            Kind::Endpoint("[2001:db8::1]:65535".parse().unwrap()),
            Kind::Hello(false),
            Kind::Hello(true),
        ] {
            let message = Message { kind, from, to };
            let bytes = message.to_bytes();
            assert_eq!(Message::read(&bytes), Some(message));
            assert_eq!(Message::read(&bytes[..63]), None);
        }
        assert_eq!(Message::read(&[0; LEN]), None);
    }
}
