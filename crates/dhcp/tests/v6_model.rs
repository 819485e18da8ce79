//! The DHCPv6 server against a model of its promises, with clients that do anything.

use crate::v6_messages::{Request, World, item, subnet};
use dhcp::leases::Limits;
use dhcp::v6::message::{Kind, Resource, option, status};
use dhcp::v6::server::Settings;
use node::Time;
use node::random::Random;
use std::collections::BTreeMap;
use std::net::Ipv6Addr;

/// Client, number of the association, and its resource.
type Key = (u32, u32, Resource);

#[derive(Default)]
struct Model {
    held: BTreeMap<(Resource, Ipv6Addr), (Key, Time)>,
    resting: BTreeMap<Ipv6Addr, Time>,
    /// Routes that the server has announced.
    routes: BTreeMap<Ipv6Addr, ()>,
}

impl Model {
    fn of(&self, key: Key) -> Option<Ipv6Addr> {
        let mut all = self.held.iter();
        all.find(|(_, (owner, _))| *owner == key)
            .map(|((_, address), _)| *address)
    }
}

fn run(seed: u64) {
    let mut random = Random::new(seed);
    let size = 1 + random.below(20);
    let mut config = subnet();
    config.pool = vec![format!("2001:db8:1::100-2001:db8:1::{:x}", 0xFF + size)];
    // 2 to 32 prefixes.
    let bits = 1 + random.below(5) as u8;
    config.prefixes = vec![format!("2001:db8:100::/{}", 56 - bits).parse().unwrap()];
    config.valid = Time::from_secs(30 + random.below(300));
    config.preferred = Time::from_secs(20);
    let valid = config.valid;
    let limits = Limits {
        leases: 1 + random.index(80),
        offers: 1 + random.index(20),
        circuit: usize::MAX,
    };
    let settings = Settings {
        limits,
        rapid_commit: random.chance(0.5),
        decline: Time::from_secs(60),
        ..Settings::new(crate::v6_messages::DUID.to_vec())
    };
    let mut world = World::with(&[config], settings.clone());
    let mut model = Model::default();
    let clients = 1 + random.below(30);
    for _ in 0..300 {
        world.now += Time::from_ms(random.below(15_000));
        let now = world.now;
        model.held.retain(|_, (_, until)| *until > now);
        model.resting.retain(|_, until| *until > now);
        let client = random.below(clients) as u32;
        let kinds = [
            Kind::Solicit,
            Kind::Request,
            Kind::Request,
            Kind::Renew,
            Kind::Rebind,
            Kind::Release,
            Kind::Decline,
        ];
        let kind = kinds[random.index(kinds.len())];
        let mut request = Request::new(kind, client);
        for resource in [Resource::Address, Resource::Prefix] {
            for iaid in 0..random.below(3) as u32 {
                let own = model.of((client, iaid, resource));
                let any = match resource {
                    Resource::Address => {
                        0x2001_0DB8_0001_u128 << 80 | u128::from(0x100 + random.below(24))
                    }
                    Resource::Prefix => {
                        0x2001_0DB8_0100_u128 << 80 | u128::from(random.below(40)) << 72
                    }
                };
                let length = if resource == Resource::Address {
                    128
                } else {
                    56
                };
                let items = match random.below(3) {
                    0 => vec![],
                    1 => vec![item(any.into(), length)],
                    _ => own.map(|own| item(own, length)).into_iter().collect(),
                };
                request = request.association(resource, iaid, &items);
            }
        }
        if random.chance(0.5) {
            request = request.with(option::RAPID_COMMIT, &[]);
        }
        let answered = world.try_send(&request);
        while let Some(route) = world.server.poll_delegation() {
            let before = match route.present {
                true => model.routes.insert(route.prefix, ()),
                false => model.routes.remove(&route.prefix),
            };
            assert_eq!(
                before.is_some(),
                !route.present,
                "seed {seed}: a route comes and goes once"
            );
        }
        let Ok(reply) = answered else { continue };
        let binds = reply == Kind::Reply && !matches!(kind, Kind::Release | Kind::Decline);
        if matches!(kind, Kind::Release | Kind::Decline) {
            let refused = world.associations();
            for (resource, iaid, items) in &request.associations {
                let refused = refused
                    .iter()
                    .any(|one| (one.0, one.1) == (*resource, *iaid));
                for item in items {
                    let key = (client, *iaid, *resource);
                    let place = (*resource, item.address);
                    let holds = model
                        .held
                        .get(&place)
                        .is_some_and(|(owner, _)| *owner == key);
                    assert!(
                        !holds || !refused,
                        "seed {seed}: the owner gives {place:?} up"
                    );
                    if !refused
                        && model
                            .held
                            .get(&place)
                            .is_some_and(|(owner, _)| *owner == key)
                    {
                        model.held.remove(&place);
                    }
                    if !refused && kind == Kind::Decline && *resource == Resource::Address {
                        model.resting.insert(item.address, now + settings.decline);
                    }
                }
            }
        }
        for (resource, iaid, items, code) in world.associations() {
            let key = (client, iaid, resource);
            let held = model
                .held
                .keys()
                .filter(|(one, _)| *one == resource)
                .count() as u64;
            let resting = model.resting.len() as u64;
            if code == status::NO_ADDRESSES && model.of(key).is_none() {
                let full = world.server.leases().bound() >= limits.leases;
                assert!(held + resting >= size || full, "seed {seed}: there is room");
            }
            if code == status::NO_PREFIX && model.of(key).is_none() {
                let full = world.server.leases().bound() >= limits.leases;
                assert!(held >= 1 << bits || full, "seed {seed}: there is room");
            }
            for item in items.iter().filter(|item| item.valid > 0) {
                assert_eq!(Time::from_secs(item.valid.into()), valid);
                let place = (resource, item.address);
                let owner = model.held.get(&place).map(|(owner, _)| *owner);
                assert!(
                    owner.is_none_or(|owner| owner == key),
                    "seed {seed}: {place:?} is held"
                );
                assert!(
                    !model.resting.contains_key(&item.address),
                    "seed {seed}: {place:?} rests"
                );
                if binds {
                    model.held.retain(|_, (owner, _)| *owner != key);
                    model.held.insert(place, (key, now + valid));
                }
            }
        }
        let leases = world.server.leases();
        assert!(leases.len() <= limits.leases && leases.offers() <= limits.offers);
        // All routes are those of prefixes that clients hold.
        let prefixes = model
            .held
            .keys()
            .filter(|(one, _)| *one == Resource::Prefix);
        let prefixes: Vec<Ipv6Addr> = prefixes.map(|(_, prefix)| *prefix).collect();
        let routes: Vec<Ipv6Addr> = model.routes.keys().copied().collect();
        assert_eq!(routes, prefixes, "seed {seed}");
    }
}

#[test]
fn each_association_has_an_address_or_prefix_of_its_own_and_prefixes_have_routes() {
    for seed in 0..2_000 {
        run(seed);
    }
}
