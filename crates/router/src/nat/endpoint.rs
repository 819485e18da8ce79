//! Endpoints and the keys of the tables.

use core::net::{Ipv4Addr, SocketAddrV4};

/// An address, and a TCP or UDP port or the identifier of an ICMP query; 0 for protocols without
/// either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Endpoint {
    pub address: Ipv4Addr,
    pub id: u16,
}

impl Endpoint {
    /// No endpoint: the part of a key that does not matter.
    pub const ANY: Endpoint = Endpoint {
        address: Ipv4Addr::UNSPECIFIED,
        id: 0,
    };

    /// Whether it is what `wish` asks for, whose address or port may be any.
    pub fn matches(self, wish: Endpoint) -> bool {
        let is_address = wish.address.is_unspecified() || wish.address == self.address;
        is_address && (wish.id == 0 || wish.id == self.id)
    }
}

impl From<Endpoint> for SocketAddrV4 {
    fn from(endpoint: Endpoint) -> SocketAddrV4 {
        SocketAddrV4::new(endpoint.address, endpoint.id)
    }
}

impl From<SocketAddrV4> for Endpoint {
    fn from(socket: SocketAddrV4) -> Endpoint {
        Endpoint {
            address: *socket.ip(),
            id: socket.port(),
        }
    }
}

/// Two endpoints of a protocol as a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tuple(pub [u64; 2]);

impl Tuple {
    pub fn new(protocol: u8, own: Endpoint, remote: Endpoint) -> Tuple {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let ids = u32::from(own.id) << 16 | u32::from(remote.id);
        Tuple([
            pair(own.address.to_bits(), remote.address.to_bits()),
            pair(protocol.into(), ids),
        ])
    }
}
