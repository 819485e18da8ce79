//! Leases from servers.

use crate::v4::message::{Message, option};
use crate::v4::options::{ClasslessRoute, read_addresses, read_routes};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use ip::address::is_host;
use node::Time;

/// Shortest lease that a client takes.
const MIN_LEASE: u32 = 4;
/// Maximum number of routes and of name servers that are taken.
const MAX_ENTRIES: usize = 32;

/// A lease from a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The address.
    pub address: Ipv4Addr,
    /// Length of its prefix, bits.
    pub prefix: u8,
    /// The server.
    pub server: Ipv4Addr,
    /// Routes: those of option 121, else the default routes of option 3.
    pub routes: Vec<ClasslessRoute>,
    /// Name servers.
    pub name_servers: Vec<Ipv4Addr>,
    /// MTU of the link, bytes.
    pub mtu: Option<u16>,
    /// Time at which the client asks the server for more time (T1).
    pub renewal: Time,
    /// Time at which it asks all servers (T2).
    pub rebinding: Time,
    /// Time at which the lease ends.
    pub end: Time,
}

/// The lease of an acknowledgement of a request at `requested`; `None` when it cannot be used.
pub(super) fn lease(requested: Time, message: &Message<'_>, server: Ipv4Addr) -> Option<Lease> {
    let address = message.yiaddr();
    let seconds = message.number(option::LEASE_TIME)?;
    if !is_host(address.into()) || seconds < MIN_LEASE {
        return None;
    }
    let mask = message.number(option::SUBNET_MASK);
    let mask = mask.filter(|mask| mask.leading_ones() + mask.trailing_zeros() == 32);
    // Without a mask the address has the one of its class (RFC 950 section 2).
    let class = match address.octets()[0] {
        0..128 => 8,
        128..192 => 16,
        _ => 24,
    };
    let prefix = mask.map_or(class, |mask| mask.leading_ones() as u8);
    let at = |number, default: u64| {
        let given = message.number(number).map(u64::from);
        given.unwrap_or(default).max(1)
    };
    let length = u64::from(seconds);
    let [mut renewal, mut rebinding] = [
        at(option::RENEWAL, length / 2),
        at(option::REBINDING, length - length / 8),
    ];
    if renewal >= rebinding || rebinding >= length {
        [renewal, rebinding] = [length / 2, length - length / 8];
    }
    let until = |after: u64| match seconds {
        u32::MAX => Time::MAX,
        _ => requested + Time::from_secs(after),
    };
    let classless = message.option(option::CLASSLESS_ROUTES);
    let mut routes = match classless.and_then(|value| read_routes(&value)) {
        Some(routes) => routes,
        None => {
            let routers = message.option(option::ROUTER).unwrap_or_default();
            let routers = read_addresses(&routers).into_iter();
            let default = routers.map(|via| ClasslessRoute {
                to: Ipv4Addr::UNSPECIFIED,
                prefix: 0,
                via,
            });
            default.collect()
        }
    };
    routes.retain(|route| route.via.is_unspecified() || is_host(route.via.into()));
    routes.truncate(MAX_ENTRIES);
    let name_servers = message.option(option::NAME_SERVER).unwrap_or_default();
    let mut name_servers = read_addresses(&name_servers);
    name_servers.truncate(MAX_ENTRIES);
    let mtu = message.option(option::MTU);
    let mtu = mtu.and_then(|value| Some(u16::from_be_bytes(value.as_ref().try_into().ok()?)));
    Some(Lease {
        address,
        prefix,
        server,
        routes,
        name_servers,
        mtu: mtu.filter(|mtu| *mtu >= 68),
        renewal: until(renewal),
        rebinding: until(rebinding),
        end: until(length),
    })
}
