//! Stateless address autoconfiguration: routers and prefixes from router advertisements (RFC 4861 section 6.3, RFC 4862
//! section 5.5).

use crate::address::InterfaceAddress;
use crate::addresses::{Addresses, Own};
use crate::discovery::{Prefix, RouterAdvertisement};
use crate::routes::{Route, Routes};
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv6Addr};
use node::Time;

/// Number of router solicitations without an answer, and the time between two (RFC 4861 section 10).
const MAX_SOLICITATIONS: u32 = 3;
const SOLICITATION_INTERVAL: Time = Time::from_secs(4);
/// Time after which it is looked again whether there is an address to ask from.
const DETECTION_INTERVAL: Time = Time::from_secs(1);
/// Maximum number of routes from advertisements; more are ignored.
const MAX_LEARNED: usize = 16;
/// A prefix of this length makes an address with an interface identifier (RFC 4291 section 2.5.1).
const PREFIX_BITS: u8 = 64;
/// Minimum lifetime to which an unauthenticated advertisement reduces one that is longer (RFC 4862 section 5.5.3 e).
const TWO_HOURS: Time = Time::from_secs(7200);
/// Minimum MTU of IPv6, bytes (RFC 8200 section 5).
const MIN_MTU: u32 = 1280;
/// An infinite lifetime of a prefix.
const INFINITE: u32 = u32::MAX;

/// The address with a MAC address's interface identifier (RFC 2464 section 4).
pub fn with_mac(prefix: Ipv6Addr, mac: [u8; 6]) -> Ipv6Addr {
    let [a, b, c, d, e, f] = mac;
    let mut octets = prefix.octets();
    octets[8..].copy_from_slice(&[a ^ 2, b, c, 0xFF, 0xFE, d, e, f]);
    Ipv6Addr::from(octets)
}

/// The link-local address of a MAC address.
pub fn link_local(mac: [u8; 6]) -> InterfaceAddress {
    InterfaceAddress {
        address: with_mac(Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, 0), mac).into(),
        prefix: PREFIX_BITS,
    }
}

/// State of autoconfiguration.
#[derive(Debug)]
pub(crate) struct Routers {
    mac: [u8; 6],
    solicitations: u32,
    /// Time of the next solicitation.
    next: Option<Time>,
    learned: Vec<(Route, Time)>,
}

impl Routers {
    /// Begins with a link-local address, from which routers are asked once it is unique.
    pub fn new(mac: [u8; 6], addresses: &mut Addresses) -> Routers {
        addresses.add(Time::ZERO, link_local(mac), None);
        Routers {
            mac,
            solicitations: 0,
            next: Some(Time::ZERO),
            learned: Vec::new(),
        }
    }

    pub fn poll_timeout(&self) -> Option<Time> {
        let routes = self.learned.iter().map(|(_, until)| *until);
        let routes = routes.filter(|until| *until < Time::MAX);
        routes.chain(self.next).min()
    }

    /// Removes expired routers and prefixes. Returns the source address of a router solicitation if one is due.
    pub fn poll(
        &mut self,
        now: Time,
        addresses: &Addresses,
        routes: &mut Routes,
    ) -> Option<Ipv6Addr> {
        self.learned.retain(|(route, until)| {
            let stays = *until > now;
            if !stays {
                routes.remove(*route);
            }
            stays
        });
        self.next.filter(|next| *next <= now)?;
        let own = addresses.iter().find_map(|own| match own.network.address {
            IpAddr::V6(own6) if own.is_assigned() && own6.is_unicast_link_local() => Some(own6),
            _ => None,
        });
        let Some(own) = own else {
            // Duplicate detection has not ended.
            self.next = Some(now + DETECTION_INTERVAL);
            return None;
        };
        self.next = Some(now + SOLICITATION_INTERVAL);
        self.solicitations += 1;
        if self.solicitations == MAX_SOLICITATIONS {
            self.next = None;
        }
        Some(own)
    }

    /// Takes an advertisement; the link's MTU in bytes, if it says that.
    pub fn hear(
        &mut self,
        now: Time,
        router: Ipv6Addr,
        message: &RouterAdvertisement,
        addresses: &mut Addresses,
        routes: &mut Routes,
    ) -> Option<u32> {
        self.next = None;
        let until = now + message.lifetime;
        self.learn(now, Route::default_via(router.into()), until, routes);
        for prefix in message.prefixes.iter().flatten() {
            let network = InterfaceAddress {
                address: prefix.address.into(),
                prefix: prefix.length,
            };
            if prefix.on_link {
                let until = after(now, prefix.valid);
                let to = masked(network);
                self.learn(now, Route { to, via: None }, until, routes);
            }
            if prefix.autonomous && prefix.length == PREFIX_BITS {
                self.address(now, prefix, addresses);
            }
        }
        message.mtu.filter(|mtu| *mtu >= MIN_MTU)
    }

    fn learn(&mut self, now: Time, route: Route, until: Time, routes: &mut Routes) {
        let known = self.learned.iter().position(|(known, _)| *known == route);
        match (known, until > now) {
            (Some(index), true) => self.learned[index].1 = until,
            (Some(index), false) => {
                self.learned.remove(index);
                routes.remove(route);
            }
            (None, true) if self.learned.len() < MAX_LEARNED => {
                // A route of the configuration stays whatever routers say.
                let configured = routes.iter().any(|known| *known == route);
                if !configured && routes.add(route) {
                    self.learned.push((route, until));
                }
            }
            (None, _) => {}
        }
    }

    fn address(&mut self, now: Time, prefix: &Prefix, addresses: &mut Addresses) {
        let address = IpAddr::V6(with_mac(prefix.address, self.mac));
        let (preferred, valid) = (after(now, prefix.preferred), after(now, prefix.valid));
        let known = addresses.iter().any(|own| own.network.address == address);
        if known {
            addresses.renew(|own| {
                if own.network.address == address {
                    renew(own, now, preferred, valid);
                }
            });
        } else if valid > now {
            let network = InterfaceAddress {
                address,
                prefix: prefix.length,
            };
            addresses.add(now, network, Some([preferred, valid]));
        }
    }
}

fn renew(own: &mut Own, now: Time, preferred: Time, valid: Time) {
    own.preferred_until = preferred;
    if preferred > now && own.status == crate::addresses::Status::Deprecated {
        own.status = crate::addresses::Status::Preferred;
    }
    let two_hours = now + TWO_HOURS;
    if valid > two_hours || valid > own.valid_until {
        own.valid_until = valid;
    } else if own.valid_until > two_hours {
        own.valid_until = two_hours;
    }
}

fn after(now: Time, seconds: u32) -> Time {
    match seconds {
        INFINITE => Time::MAX,
        // A clock that ends before does so without end too.
        seconds => {
            let ps = u64::from(seconds).saturating_mul(Time::from_secs(1).as_ps());
            Time::from_ps(now.as_ps().saturating_add(ps))
        }
    }
}

fn masked(network: InterfaceAddress) -> InterfaceAddress {
    let IpAddr::V6(address) = network.address else {
        return network;
    };
    let rest = u128::MAX.checked_shr(network.prefix.into()).unwrap_or(0);
    InterfaceAddress {
        address: Ipv6Addr::from_bits(address.to_bits() & !rest).into(),
        ..network
    }
}
