//! Addresses as people write them.

#[cfg(feature = "serde")]
use alloc::vec::Vec;
use core::fmt;
use core::net::{IpAddr, SocketAddr};
use core::str::FromStr;
use ip::address::is_unicast;
pub use ip::address::{AddressError, InterfaceAddress};

/// Destination of a program's packets: an address and, unless the program has a default, a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    pub address: IpAddr,
    /// `None`: the program's usual one.
    pub port: Option<u16>,
}

impl Peer {
    /// With a port in any case.
    pub(crate) fn with(self, usual: u16) -> SocketAddr {
        SocketAddr::new(self.address, self.port.unwrap_or(usual))
    }
}

impl FromStr for Peer {
    type Err = AddressError;
    fn from_str(text: &str) -> Result<Peer, AddressError> {
        let text = text.trim();
        let peer = match (text.parse::<SocketAddr>(), text.parse::<IpAddr>()) {
            (Ok(both), _) => Peer {
                address: both.ip(),
                port: Some(both.port()),
            },
            (_, Ok(address)) => Peer {
                address,
                port: None,
            },
            _ => return Err(AddressError::Peer(text.into())),
        };
        match is_unicast(peer.address) && peer.port != Some(0) {
            true => Ok(peer),
            false => Err(AddressError::NotUnicast(text.into())),
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => SocketAddr::new(self.address, port).fmt(f),
            None => self.address.fmt(f),
        }
    }
}

#[cfg(feature = "serde")]
node::deserialize_from_str!(
    Peer: "an address and a port, such as \"10.0.0.2:5001\"",
);

/// One, or a list of them.
#[cfg(feature = "serde")]
pub(crate) fn several<'de, D, T>(input: D) -> Result<Vec<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::Deserialize<'de>,
{
    use serde::de::value::{SeqAccessDeserializer, StrDeserializer};
    use serde::de::{Error, SeqAccess, Visitor};

    struct Several<T>(core::marker::PhantomData<T>);
    impl<'de, T: serde::Deserialize<'de>> Visitor<'de> for Several<T> {
        type Value = Vec<T>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text, or a list of texts")
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<Vec<T>, E> {
            Ok([T::deserialize(StrDeserializer::new(text))?].into())
        }
        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Vec<T>, A::Error> {
            serde::Deserialize::deserialize(SeqAccessDeserializer::new(list))
        }
    }
    input.deserialize_any(Several(core::marker::PhantomData))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_read_and_groups_refused() {
        for text in ["10.0.0.2:0", "10.0.0.2:", "host:80", "255.255.255.255"] {
            assert!(text.parse::<Peer>().is_err(), "{text}");
        }
        assert_eq!("[fd00::2]:80".parse::<Peer>().unwrap().port, Some(80));
        assert_eq!("fd00::2".parse::<Peer>().unwrap().port, None);
    }
}
