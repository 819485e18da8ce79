//! The server against a model of its promises, with clients that do anything, and floods.

use crate::v4_messages::{Request, SERVER, World, subnet};
use dhcp::leases::Limits;
use dhcp::v4::message::{Kind, option};
use dhcp::v4::server::Settings;
use node::Time;
use node::random::Random;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Leases that the clients hold: the owner of each address, and its end.
#[derive(Default)]
struct Model {
    held: BTreeMap<Ipv4Addr, (u32, Time)>,
    resting: BTreeMap<Ipv4Addr, Time>,
}

impl Model {
    fn forget(&mut self, now: Time) {
        self.held.retain(|_, (_, until)| *until > now);
        self.resting.retain(|_, until| *until > now);
    }

    fn address(&self, client: u32) -> Option<Ipv4Addr> {
        let mut all = self.held.iter();
        all.find(|(_, (owner, _))| *owner == client)
            .map(|(address, _)| *address)
    }
}

fn run(seed: u64) {
    let mut random = Random::new(seed);
    let size = 1 + random.below(40);
    let lease = Time::from_secs(30 + random.below(300));
    let limits = Limits {
        leases: 1 + random.index(80),
        offers: 1 + random.index(20),
        circuit: usize::MAX,
    };
    let settings = Settings {
        offer: Time::from_secs(1 + random.below(30)),
        decline: Time::from_secs(60),
        limits,
        rapid_commit: random.chance(0.5),
        authoritative: random.chance(0.5),
    };
    let mut config = subnet("10.0.0.0/24", &format!("10.0.0.10-10.0.0.{}", 9 + size));
    config.lease = lease;
    let mut world = World::new(&[config], settings);
    let room = size.min(limits.leases as u64) as usize;
    let mut model = Model::default();
    let mut offers: BTreeMap<u32, Ipv4Addr> = BTreeMap::new();
    let clients = 1 + random.below(60);
    for _ in 0..400 {
        world.now += Time::from_ms(random.below(20_000));
        model.forget(world.now);
        let client = random.below(clients) as u32;
        let any = Ipv4Addr::from(0x0A00_0000 + random.below(64) as u32);
        let own = model.address(client);
        let request = match random.below(10) {
            0..3 => {
                let mut request = Request::new(Kind::Discover, client);
                if random.chance(0.3) {
                    request = request.requested(any);
                }
                if random.chance(0.3) {
                    request = request.with(option::RAPID_COMMIT, []);
                }
                request
            }
            3..6 => match offers.get(&client) {
                Some(offer) => Request::new(Kind::Request, client)
                    .requested(*offer)
                    .server(SERVER),
                None => continue,
            },
            6 => Request::new(Kind::Request, client).ciaddr(own.unwrap_or(any)),
            7 => Request::new(Kind::Request, client).requested(own.unwrap_or(any)),
            8 => Request::new(Kind::Release, client).ciaddr(own.unwrap_or(any)),
            _ => Request::new(Kind::Decline, client)
                .requested(own.unwrap_or(any))
                .server(SERVER),
        };
        let reply = world.try_send(&request);
        match request.kind {
            Kind::Release => {
                // A client may release an offer, too.
                if reply.is_ok() {
                    let owner = model.held.remove(&request.ciaddr).map(|(owner, _)| owner);
                    assert!(owner.is_none_or(|owner| owner == client), "seed {seed}");
                }
                continue;
            }
            Kind::Decline => {
                // A client may decline an offer, too.
                if reply.is_ok() {
                    let octets: [u8; 4] = (*request.options[0].1).try_into().unwrap();
                    let address = Ipv4Addr::from(octets);
                    let owner = model.held.remove(&address).map(|(owner, _)| owner);
                    assert!(owner.is_none_or(|owner| owner == client), "seed {seed}");
                    model.resting.insert(address, world.now + settings.decline);
                }
                continue;
            }
            _ => {}
        }
        let used = model.held.len() + model.resting.len();
        if request.kind == Kind::Discover && (used < room || own.is_some()) {
            assert!(
                matches!(reply, Ok(Some(_))),
                "seed {seed}: {used} of {room}, {reply:?}"
            );
        }
        let Ok(Some(reply)) = reply else { continue };
        let message = world.message();
        let address = message.yiaddr();
        if reply.kind != Kind::Nak {
            assert!(
                (10..10 + size).contains(&address.octets()[3].into()),
                "seed {seed}"
            );
            let holder = model.held.get(&address).map(|(owner, _)| *owner);
            assert!(
                holder.is_none_or(|owner| owner == client),
                "seed {seed}: {address} is held"
            );
            assert!(
                !model.resting.contains_key(&address),
                "seed {seed}: {address} rests"
            );
        }
        match reply.kind {
            Kind::Offer => drop(offers.insert(client, address)),
            Kind::Ack => {
                let seconds = message.number(option::LEASE_TIME).unwrap();
                assert_eq!(Time::from_secs(seconds.into()), lease, "seed {seed}");
                model.held.retain(|_, (owner, _)| *owner != client);
                model.held.insert(address, (client, world.now + lease));
            }
            // A held address is not refused to its owner.
            _ => assert!(
                own.is_none() || own != Some(request.ciaddr),
                "seed {seed}: a renewal was refused"
            ),
        }
        let leases = world.server.leases();
        assert!(leases.len() <= limits.leases && leases.offers() <= limits.offers);
    }
}

#[test]
fn no_two_clients_have_one_address_and_all_get_one_while_there_is_room() {
    for seed in 0..2_000 {
        run(seed);
    }
}

#[test]
fn a_flood_of_discovers_costs_bounded_memory_and_clients_still_get_addresses() {
    let limits = Limits {
        leases: 1_000,
        offers: 100,
        circuit: usize::MAX,
    };
    let settings = Settings {
        limits,
        ..Settings::default()
    };
    let mut world = World::new(&[subnet("10.0.0.0/16", "10.0.1.0-10.0.200.255")], settings);
    for flood in 0..50_000 {
        world.now += Time::from_us(10);
        let discover = Request::new(Kind::Discover, 1_000_000 + flood);
        assert!(world.try_send(&discover).is_ok());
        assert!(world.server.leases().len() <= 1_000);
        assert!(world.server.leases().offers() <= 100);
        if flood % 100 == 0 {
            // The request comes after 50 more of the flood.
            world.send(&Request::new(Kind::Discover, flood));
            let address = world.message().yiaddr();
            for other in 0..50 {
                world.send(&Request::new(
                    Kind::Discover,
                    2_000_000 + flood * 50 + other,
                ));
            }
            let request = Request::new(Kind::Request, flood)
                .requested(address)
                .server(SERVER);
            assert_eq!(world.send(&request).kind, Kind::Ack);
        }
    }
    assert_eq!(world.server.leases().bound(), 500);
}

#[test]
fn one_port_takes_its_share_and_leaves_the_rest() {
    let settings = Settings {
        limits: Limits {
            circuit: 4,
            ..Limits::default()
        },
        ..Settings::default()
    };
    let mut world = World::new(&[subnet("10.0.0.0/24", "10.0.0.10-10.0.0.19")], settings);
    let taken = (0..100).filter(|client| {
        let discover = Request::new(Kind::Discover, *client).with(option::RAPID_COMMIT, []);
        world.try_send(&discover).is_ok()
    });
    assert_eq!(taken.count(), 4);
    world.port = 2;
    for client in 200..204 {
        world.lease(client);
    }
    // A circuit of a relay counts by itself.
    let relayed = |circuit: u8, client| {
        Request::new(Kind::Discover, client)
            .giaddr([10, 0, 0, 2])
            .with(option::RELAY_AGENT, [1, 1, circuit])
            .with(option::RAPID_COMMIT, [])
    };
    assert!(world.try_send(&relayed(7, 300)).is_ok());
    assert!(world.try_send(&relayed(8, 301)).is_ok());
    let all = world.try_send(&relayed(8, 302));
    assert_eq!(all, Err("no free address"));
}
