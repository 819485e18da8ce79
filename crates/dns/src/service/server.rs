//! Addresses of servers, as people write them.

use super::PORT;
use alloc::string::String;
use core::net::{IpAddr, SocketAddr};
use core::str::FromStr;

/// An address and a port, 53 by default: `192.0.2.1`, `192.0.2.1:5353`, `fd00::1`, `[fd00::1]:5353`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerAddress(pub SocketAddr);

/// A text that is not the address of a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not the address of a server, such as 192.0.2.1 or [fd00::1]:5353")]
pub struct BadServer(String);

impl FromStr for ServerAddress {
    type Err = BadServer;

    fn from_str(text: &str) -> Result<ServerAddress, BadServer> {
        let whole = text.parse::<SocketAddr>();
        let bare = || {
            text.parse::<IpAddr>()
                .map(|address| SocketAddr::new(address, PORT))
        };
        let found = whole.or_else(|_| bare()).ok();
        let found =
            found.filter(|server| ip::address::is_unicast(server.ip()) && server.port() != 0);
        found
            .map(ServerAddress)
            .ok_or_else(|| BadServer(text.into()))
    }
}

#[cfg(feature = "serde")]
node::deserialize_from_str!(ServerAddress: "the address of a server, such as \"192.0.2.1\"");

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_server_has_port_53_by_default() {
        let text = |text: &str| {
            text.parse()
                .map(|server: ServerAddress| server.0.to_string())
        };
        assert_eq!(text("192.0.2.1"), Ok("192.0.2.1:53".into()));
        assert_eq!(text("fd00::1"), Ok("[fd00::1]:53".into()));
        assert_eq!(text("[fd00::1]:5353"), Ok("[fd00::1]:5353".into()));
        for bad in ["", "ns.example", "192.0.2.1:0", "224.0.0.1", "0.0.0.0"] {
            assert!(text(bad).is_err(), "{bad}");
        }
    }
}
