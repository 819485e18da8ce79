//! Addresses as people write them.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::str::FromStr;

/// An address, and how much of it names the network that is on the link: `10.0.0.1/24`, `fd00::1/64`.
///
/// Without the number behind the stroke everything is taken to be on the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// The address itself, that of one station.
    pub address: IpAddr,
    /// Leading bits of the address that all on the link share.
    pub prefix: u8,
}

impl Network {
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

impl From<Ipv4Addr> for Network {
    fn from(address: Ipv4Addr) -> Network {
        Network {
            address: address.into(),
            prefix: 0,
        }
    }
}

impl From<Ipv6Addr> for Network {
    fn from(address: Ipv6Addr) -> Network {
        Network {
            address: address.into(),
            prefix: 0,
        }
    }
}

impl FromStr for Network {
    type Err = String;
    fn from_str(text: &str) -> Result<Network, String> {
        let wanted =
            || format!("`{text}` is no address of a host, such as 10.0.0.1/24 or fd00::1/64");
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
                prefix.ok_or_else(|| format!("a prefix of this version has 0 to {most} bits"))?
            }
        };
        let network = Network { address, prefix };
        match is_station(address) && !network.is_broadcast() {
            true => Ok(network),
            false => Err(format!("{address} is not the address of one station")),
        }
    }
}

impl Network {
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

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// Whether an address can be that of one station.
pub(crate) fn is_station(address: IpAddr) -> bool {
    let broadcast = address == IpAddr::V4(Ipv4Addr::BROADCAST);
    !address.is_unspecified() && !address.is_multicast() && !broadcast
}

/// Somebody to talk to: an address and, unless the program has a usual one, a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Where.
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
    type Err = String;
    fn from_str(text: &str) -> Result<Peer, String> {
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
            _ => {
                return Err(format!(
                    "`{text}` is nobody: write an address and a port, such as 10.0.0.2:5001 or [fd00::2]:5001"
                ));
            }
        };
        match is_station(peer.address) && peer.port != Some(0) {
            true => Ok(peer),
            false => Err(format!("{text} is not the address of one station")),
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
impl<'de> serde::Deserialize<'de> for Peer {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Peer, D::Error> {
        text::parse(input)
    }
}

/// One network, or a list of them.
#[cfg(feature = "serde")]
pub(crate) mod text {
    use alloc::string::String;
    use alloc::vec::Vec;
    use core::fmt::Display;
    use core::marker::PhantomData;
    use core::str::FromStr;
    use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

    /// Whatever reads itself from a text.
    pub fn parse<'de, D, T>(input: D) -> Result<T, D::Error>
    where
        D: Deserializer<'de>,
        T: FromStr<Err: Display>,
    {
        String::deserialize(input)?
            .parse()
            .map_err(D::Error::custom)
    }

    /// The same, for a value that may be left out.
    pub fn parse_some<'de, D, T>(input: D) -> Result<Option<T>, D::Error>
    where
        D: Deserializer<'de>,
        T: FromStr<Err: Display>,
    {
        parse(input).map(Some)
    }

    /// One of them, or a list.
    pub fn several<'de, D, T>(input: D) -> Result<Vec<T>, D::Error>
    where
        D: Deserializer<'de>,
        T: FromStr<Err: Display>,
    {
        struct Several<T>(PhantomData<T>);
        impl<'de, T: FromStr<Err: Display>> Visitor<'de> for Several<T> {
            type Value = Vec<T>;
            fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str("a text, or a list of texts")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Vec<T>, E> {
                Ok([text.parse().map_err(E::custom)?].into())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
                let mut all = Vec::new();
                while let Some(text) = list.next_element::<String>()? {
                    all.push(text.parse().map_err(A::Error::custom)?);
                }
                Ok(all)
            }
        }
        input.deserialize_any(Several(PhantomData))
    }

    /// A MAC address.
    pub fn mac_some<'de, D: Deserializer<'de>>(input: D) -> Result<Option<[u8; 6]>, D::Error> {
        let mac = nodes::mac_from_text(&String::deserialize(input)?);
        let wanted = "a MAC address is wanted, such as \"02:00:00:00:00:01\"";
        mac.map(Some).ok_or_else(|| D::Error::custom(wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_knows_who_is_on_the_link() {
        let network: Network = "10.1.2.3/24".parse().unwrap();
        assert!(network.contains([10, 1, 2, 200].into()));
        assert!(!network.contains([10, 1, 3, 3].into()));
        assert_eq!(network.mac(), [2, 0, 10, 1, 2, 3]);
        let all: Network = "10.1.2.3".parse().unwrap();
        assert!(all.contains([192, 0, 2, 1].into()));
        let six: Network = "fd00::1/64".parse().unwrap();
        assert!(six.contains("fd00::2".parse().unwrap()));
        assert!(!six.contains("fd00:0:0:1::2".parse().unwrap()));
        let one: Network = "10.1.2.3/32".parse().unwrap();
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
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
        for text in ["10.0.0.2:0", "10.0.0.2:", "host:80", "255.255.255.255"] {
            assert!(text.parse::<Peer>().is_err(), "{text}");
        }
        assert_eq!("[fd00::2]:80".parse::<Peer>().unwrap().port, Some(80));
        assert_eq!("fd00::2".parse::<Peer>().unwrap().port, None);
    }
}
