//! Offers and leases from servers.

use crate::domain;
use crate::v6::message::{Item, Message, Resource, lifetime, option, status};
use alloc::string::String;
use alloc::vec::Vec;
use core::net::Ipv6Addr;
use ip::address::is_host;
use node::Time;

/// Maximum number of addresses, of prefixes, of name servers and of domains that are taken.
const MAX_ITEMS: usize = 16;
/// Time after which information is asked for again, and its minimum, seconds (`IRT_DEFAULT`, `IRT_MINIMUM`).
const REFRESH: u32 = 86_400;
const MIN_REFRESH: u32 = 600;

/// An offer of a server.
#[derive(Debug)]
pub struct Advertisement {
    pub preference: u8,
    /// Number of associations with an address or a prefix.
    pub count: usize,
    pub server: Vec<u8>,
    items: Vec<(Resource, Item)>,
}

impl Advertisement {
    pub fn read(message: &Message<'_>, server: &[u8]) -> Advertisement {
        let preference = message.options.find(option::PREFERENCE);
        let good = message.options.associations();
        let good = good.filter(|one| one.options.status() == status::SUCCESS);
        let items = good.flat_map(|one| one.items().map(move |item| (one.resource, item)));
        let items: Vec<_> = items.filter(is_usable).take(MAX_ITEMS).collect();
        let has = |resource| items.iter().any(|(one, _)| *one == resource);
        let count = [Resource::Address, Resource::Prefix].map(|one| usize::from(has(one)));
        Advertisement {
            preference: preference
                .and_then(|value| value.first().copied())
                .unwrap_or(0),
            count: count.iter().sum(),
            server: server.to_vec(),
            items,
        }
    }

    /// The offer of a server that has lost its table: the client's own leases.
    pub fn of(lease: &Lease, server: &[u8]) -> Advertisement {
        let both = [Resource::Address, Resource::Prefix];
        let items = both.into_iter().flat_map(|one| {
            let held = lease.of(one).iter();
            held.map(move |held| (one, held.item))
        });
        Advertisement {
            preference: 0,
            count: both
                .into_iter()
                .filter(|one| !lease.of(*one).is_empty())
                .count(),
            server: server.to_vec(),
            items: items.collect(),
        }
    }

    /// Whether the client takes this offer rather than `other`: it has more, or a higher preference.
    pub fn is_better(&self, other: &Advertisement) -> bool {
        (self.count, self.preference) > (other.count, other.preference)
    }

    pub fn items(&self, resource: Resource) -> Vec<Item> {
        let all = self.items.iter().filter(|(one, _)| *one == resource);
        all.map(|(_, item)| *item).collect()
    }
}

fn is_usable((resource, item): &(Resource, Item)) -> bool {
    let address = item.address;
    match resource {
        Resource::Address => is_host(address.into()) && !address.is_unicast_link_local(),
        Resource::Prefix => item.length > 0 && !address.is_multicast() && !address.is_unspecified(),
    }
}

/// An address or a prefix of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The address or prefix; its lifetimes are those of the last reply.
    pub item: Item,
    /// Time until which it is preferred.
    pub preferred_until: Time,
    /// Time until which it is valid.
    pub valid_until: Time,
}

/// Leases from servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lease {
    /// DUID of the server.
    pub server: Vec<u8>,
    /// Addresses.
    pub addresses: Vec<Held>,
    /// Delegated prefixes.
    pub prefixes: Vec<Held>,
    /// Name servers.
    pub name_servers: Vec<Ipv6Addr>,
    /// Domains that are searched.
    pub domains: Vec<String>,
    /// Time at which the client asks its server for longer lifetimes (T1).
    pub renewal: Time,
    /// Time at which it asks all servers (T2).
    pub rebinding: Time,
}

impl Lease {
    /// The lease of a reply to a request at `requested`; `None` when there is no address and no prefix in it.
    pub(super) fn read(requested: Time, message: &Message<'_>, iaid: u32) -> Option<Lease> {
        let (mut lease, _) = information(requested, message);
        let mut times = [u32::MAX; 2];
        let mut preferred = u32::MAX;
        for one in message.options.associations() {
            let [t1, t2] = one.times;
            if one.iaid != iaid || one.options.status() != status::SUCCESS || (t1 > t2 && t2 > 0) {
                continue;
            }
            let items = one
                .items()
                .map(|item| (one.resource, item))
                .filter(is_usable);
            for (_, item) in items.take(MAX_ITEMS) {
                if item.valid > 0 {
                    preferred = preferred.min(item.preferred);
                    for (time, given) in times.iter_mut().zip([t1, t2]) {
                        *time = (*time).min(if given == 0 { u32::MAX } else { given });
                    }
                }
                let list = match one.resource {
                    Resource::Address => &mut lease.addresses,
                    Resource::Prefix => &mut lease.prefixes,
                };
                list.push(Held {
                    item,
                    preferred_until: requested + lifetime(item.preferred),
                    valid_until: requested + lifetime(item.valid),
                });
            }
        }
        // Without times from the server the client chooses (RFC 9915 section 14.2).
        if preferred != u32::MAX {
            let own = [preferred / 2, (u64::from(preferred) * 4 / 5) as u32];
            for (time, own) in times.iter_mut().zip(own) {
                *time = (*time).min(if *time == u32::MAX { own.max(1) } else { *time });
            }
        }
        lease.renewal = requested + lifetime(times[0].min(times[1]));
        lease.rebinding = requested + lifetime(times[1]);
        (!lease.is_empty()).then_some(lease)
    }

    /// This lease, with the entries of `old` that it does not mention.
    pub(super) fn after(mut self, old: Lease, now: Time) -> Lease {
        let lists = [
            (&mut self.addresses, old.addresses),
            (&mut self.prefixes, old.prefixes),
        ];
        for (list, old) in lists {
            for held in old {
                if list.len() < MAX_ITEMS && !list.iter().any(|one| one.item.is_same(&held.item)) {
                    list.push(held);
                }
            }
        }
        self.expire(now);
        self
    }

    pub(super) fn of(&self, resource: Resource) -> &[Held] {
        match resource {
            Resource::Address => &self.addresses,
            Resource::Prefix => &self.prefixes,
        }
    }

    /// All addresses.
    pub(super) fn items(&self) -> impl Iterator<Item = &Item> {
        self.addresses.iter().map(|held| &held.item)
    }

    /// Removes entries that are no longer valid.
    pub(super) fn expire(&mut self, now: Time) {
        self.addresses.retain(|held| held.valid_until > now);
        self.prefixes.retain(|held| held.valid_until > now);
    }

    /// Time at which the next address or prefix ends.
    pub(super) fn end(&self) -> Time {
        let all = self.addresses.iter().chain(&self.prefixes);
        all.map(|held| held.valid_until).min().unwrap_or(Time::MAX)
    }

    /// Whether it has no address and no prefix.
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty() && self.prefixes.is_empty()
    }
}

/// Parameters of a reply, and the time at which they are asked for again (RFC 9915 section 21.23).
pub(super) fn information(now: Time, message: &Message<'_>) -> (Lease, Time) {
    let value = |number| message.options.find(number).unwrap_or_default();
    let servers = value(option::DNS).chunks_exact(16).take(MAX_ITEMS);
    let servers = servers.filter_map(|chunk| <[u8; 16]>::try_from(chunk).ok());
    let mut domains = domain::read(value(option::DOMAINS));
    domains.truncate(MAX_ITEMS);
    let refresh: Option<[u8; 4]> = value(option::REFRESH).try_into().ok();
    let refresh = refresh.map_or(REFRESH, u32::from_be_bytes).max(MIN_REFRESH);
    let lease = Lease {
        server: message.server().unwrap_or_default().to_vec(),
        name_servers: servers.map(Ipv6Addr::from).collect(),
        domains,
        renewal: Time::MAX,
        rebinding: Time::MAX,
        ..Lease::default()
    };
    (lease, now + lifetime(refresh))
}
