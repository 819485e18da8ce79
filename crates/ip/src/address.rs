//! Addresses of interfaces and prefixes of networks, as people write them.

use alloc::string::{String, ToString};
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::str::FromStr;

/// An address, and the length of the prefix that all on the link share: `10.0.0.1/24`, `fd00::1/64`.
///
/// Without a length every address counts as on the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceAddress {
    /// The address itself.
    pub address: IpAddr,
    /// Length of the shared prefix: 0 to 32, with IPv6 0 to 128 bits.
    pub prefix: u8,
}

impl InterfaceAddress {
    /// Whether an address has the same prefix.
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

    /// Default MAC address of a host: locally administered, with the low bits of the address.
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

impl From<IpAddr> for InterfaceAddress {
    fn from(address: IpAddr) -> InterfaceAddress {
        InterfaceAddress { address, prefix: 0 }
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

/// Fault of a text that is not an address.
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
    /// A prefix that is too long, and the maximum of this version of IP.
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
    /// Whether all bits after the prefix are set, in an IPv4 network that has a broadcast address: the
    /// prefix has 1 to 30 bits (RFC 3021).
    pub fn is_broadcast(self) -> bool {
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

/// Whether an address can be that of one interface.
pub fn is_unicast(address: IpAddr) -> bool {
    let broadcast = address == IpAddr::V4(Ipv4Addr::BROADCAST);
    !address.is_unspecified() && !address.is_multicast() && !broadcast
}

/// Whether a packet may come from an address, so that an answer reaches one host (RFC 1122 section 3.2.1.3, RFC 4291 section 2.7).
pub fn is_host(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            // Linux treats the networks 0 and 240 to 255 as any other.
            !address.is_unspecified()
                && !address.is_multicast()
                && !address.is_broadcast()
                && !address.is_loopback()
        }
        IpAddr::V6(address) => {
            !address.is_multicast() && !address.is_unspecified() && !address.is_loopback()
        }
    }
}

#[cfg(feature = "serde")]
node::deserialize_from_str!(InterfaceAddress: "an address and its prefix, such as \"10.0.0.1/24\"");

/// Reads one value, or a list of them, each from a text.
///
/// # Errors
/// When the input is neither, or a text is no such value.
#[cfg(feature = "serde")]
pub fn several<'de, D, T>(input: D) -> Result<alloc::vec::Vec<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::Deserialize<'de>,
{
    use serde::de::value::{SeqAccessDeserializer, StrDeserializer};
    use serde::de::{Error, SeqAccess, Visitor};

    struct Several<T>(core::marker::PhantomData<T>);
    impl<'de, T: serde::Deserialize<'de>> Visitor<'de> for Several<T> {
        type Value = alloc::vec::Vec<T>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text, or a list of texts")
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<alloc::vec::Vec<T>, E> {
            Ok([T::deserialize(StrDeserializer::new(text))?].into())
        }
        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<alloc::vec::Vec<T>, A::Error> {
            serde::Deserialize::deserialize(SeqAccessDeserializer::new(list))
        }
    }
    input.deserialize_any(Several(core::marker::PhantomData))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_tells_the_addresses_on_the_link() {
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
    fn addresses_of_groups_are_refused() {
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
    }
}
