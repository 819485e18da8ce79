//! Addresses as people write them.

use core::fmt;
use core::net::{IpAddr, SocketAddr};
use core::str::FromStr;
use ip::address::is_unicast;
#[cfg(feature = "serde")]
pub(crate) use ip::address::several;
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
