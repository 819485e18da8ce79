//! Addresses as people write them.

use alloc::string::{String, ToString};
#[cfg(feature = "serde")]
use alloc::vec::Vec;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::str::FromStr;

/// An address, and how much of it names the network that is on the link: `10.0.0.1/24`, `fd00::1/64`.
///
/// Without the number behind the stroke everything is taken to be on the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceAddress {
    /// The address itself, that of one station.
    pub address: IpAddr,
    /// Leading bits of the address that all on the link share.
    pub prefix: u8,
}

impl InterfaceAddress {
    /// Whether an address is on this link.
    pub fn contains(self, other: IpAddr) -> bool {
        match (self.address, other) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                let shift = 32 - u32::from(self.prefix.min(32));
                (a.to_bits() ^ b.to_bits()).checked_shr(shift).unwrap_or(0) == 0
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => {
                let shift = 128 - u32::from(self.prefix.min(128));
                (a.to_bits() ^ b.to_bits()).checked_shr(shift).unwrap_or(0) == 0
            }
            _ => false,
        }
    }

    /// The MAC address of a host that is given none: locally administered, made from the address.
    pub fn mac(self) -> [u8; 6] {
        match self.address {
            IpAddr::V4(address) => {
                let [a, b, c, d] = address.octets();
                [2, 0, a, b, c, d]
            }
            IpAddr::V6(address) => {
                let [.., a, b, c, d, e] = address.octets();
                [2, a, b, c, d, e]
            }
        }
    }
}

impl From<Ipv4Addr> for InterfaceAddress {
    fn from(address: Ipv4Addr) -> InterfaceAddress {
        InterfaceAddress {
            address: address.into(),
            prefix: 0,
        }
    }
}

impl From<Ipv6Addr> for InterfaceAddress {
    fn from(address: Ipv6Addr) -> InterfaceAddress {
        InterfaceAddress {
            address: address.into(),
            prefix: 0,
        }
    }
}

/// Why a text is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Not the address of an interface.
    #[error("`{0}` is not an interface address, such as 10.0.0.1/24 or fd00::1/64")]
    Interface(String),
    /// Neither an address nor an address and a port.
    #[error(
        "`{0}` is not an address: write an address and a port, such as 10.0.0.2:5001 or [fd00::2]:5001"
    )]
    Peer(String),
    /// A prefix that is too long; the longest of this version of IP.
    #[error("a prefix of this version has 0 to {0} bits")]
    Prefix(u8),
    /// A multicast, broadcast or unspecified address, or port 0.
    #[error("{0} is not a unicast address")]
    NotUnicast(String),
}

impl FromStr for InterfaceAddress {
    type Err = AddressError;
    fn from_str(text: &str) -> Result<InterfaceAddress, AddressError> {
        let wanted = || AddressError::Interface(text.into());
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.trim().parse().map_err(|_| wanted())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => 0,
            Some(digits) => {
                let prefix = digits.trim().parse().ok();
                let prefix = prefix.filter(|prefix| *prefix <= most);
                prefix.ok_or(AddressError::Prefix(most))?
            }
        };
        let network = InterfaceAddress { address, prefix };
        match is_unicast(address) && !network.is_broadcast() {
            true => Ok(network),
            false => Err(AddressError::NotUnicast(address.to_string())),
        }
    }
}

impl InterfaceAddress {
    /// Whether all bits behind the prefix are set, in a network of IPv4 with room for a broadcast address.
    fn is_broadcast(self) -> bool {
        match self.address {
            IpAddr::V4(address) if (1..31).contains(&self.prefix) => {
                address.to_bits().trailing_ones() >= 32 - u32::from(self.prefix)
            }
            _ => false,
        }
    }
}

impl fmt::Display for InterfaceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// Whether an address can be that of one station.
pub(crate) fn is_unicast(address: IpAddr) -> bool {
    let broadcast = address == IpAddr::V4(Ipv4Addr::BROADCAST);
    !address.is_unspecified() && !address.is_multicast() && !broadcast
}

/// Somebody to talk to: an address and, unless the program has a usual one, a port.
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
    InterfaceAddress: "an address and its prefix, such as \"10.0.0.1/24\"",
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
    fn a_network_knows_who_is_on_the_link() {
        let network: InterfaceAddress = "10.1.2.3/24".parse().unwrap();
        assert!(network.contains([10, 1, 2, 200].into()));
        assert!(!network.contains([10, 1, 3, 3].into()));
        assert_eq!(network.mac(), [2, 0, 10, 1, 2, 3]);
        let all: InterfaceAddress = "10.1.2.3".parse().unwrap();
        assert!(all.contains([192, 0, 2, 1].into()));
        let six: InterfaceAddress = "fd00::1/64".parse().unwrap();
        assert!(six.contains("fd00::2".parse().unwrap()));
        assert!(!six.contains("fd00:0:0:1::2".parse().unwrap()));
        let one: InterfaceAddress = "10.1.2.3/32".parse().unwrap();
        assert!(!one.contains([10, 1, 2, 2].into()));
    }

    #[test]
    fn what_is_no_stations_address_is_refused() {
        for text in [
            "10.0.0.1/33",
            "10.0.0",
            "224.0.0.1/4",
            "0.0.0.0",
            "10.0.0.255/24",
            "ff02::1",
            "x/3",
            "",
        ] {
            assert!(text.parse::<InterfaceAddress>().is_err(), "{text}");
        }
        for text in ["10.0.0.2:0", "10.0.0.2:", "host:80", "255.255.255.255"] {
            assert!(text.parse::<Peer>().is_err(), "{text}");
        }
        assert_eq!("[fd00::2]:80".parse::<Peer>().unwrap().port, Some(80));
        assert_eq!("fd00::2".parse::<Peer>().unwrap().port, None);
    }
}
