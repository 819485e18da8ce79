//! Rules of RFC 9915 for the server, message by message.

use dhcp::v6::message::{
    self, Item, Kind, Message, Resource, begin, option, status, write, write_association,
    write_item,
};
use dhcp::v6::policy::{HostConfig, SubnetConfig, Subnets};
use dhcp::v6::relay::{RelayMessage, to_servers};
use dhcp::v6::server::{Arrival, Server, Settings};
use node::Time;
use std::net::Ipv6Addr;

pub const DUID: [u8; 10] = [0, 3, 0, 1, 2, 0, 0, 0, 0, 1];

pub fn client(number: u32) -> Vec<u8> {
    let [a, b, c, d] = number.to_be_bytes();
    message::duid([2, 9, a, b, c, d])
}

pub fn peer(number: u32) -> Ipv6Addr {
    Ipv6Addr::from(0xFE80_u128 << 112 | u128::from(number + 1))
}

pub fn address(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

pub fn item(address: Ipv6Addr, length: u8) -> Item {
    Item {
        address,
        length,
        preferred: 0,
        valid: 0,
    }
}

/// A client's message.
pub struct Request {
    pub kind: Kind,
    pub client: u32,
    pub server: Option<Vec<u8>>,
    pub associations: Vec<(Resource, u32, Vec<Item>)>,
    pub options: Vec<(u16, Vec<u8>)>,
}

impl Request {
    pub fn new(kind: Kind, client: u32) -> Request {
        let named = matches!(
            kind,
            Kind::Request | Kind::Renew | Kind::Release | Kind::Decline
        );
        Request {
            kind,
            client,
            server: named.then(|| DUID.to_vec()),
            associations: Vec::new(),
            options: Vec::new(),
        }
    }

    pub fn association(mut self, resource: Resource, iaid: u32, items: &[Item]) -> Request {
        self.associations.push((resource, iaid, items.to_vec()));
        self
    }

    pub fn with(mut self, number: u16, value: &[u8]) -> Request {
        self.options.push((number, value.to_vec()));
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        begin(&mut bytes, self.kind, self.client);
        write(&mut bytes, option::CLIENT_ID, |out| {
            out.extend(client(self.client))
        });
        if let Some(server) = &self.server {
            write(&mut bytes, option::SERVER_ID, |out| out.extend(server));
        }
        for (resource, iaid, items) in &self.associations {
            write_association(&mut bytes, *resource, *iaid, [0; 2], |out| {
                items
                    .iter()
                    .for_each(|item| write_item(out, *resource, item));
            });
        }
        for (number, value) in &self.options {
            write(&mut bytes, *number, |out| out.extend(value));
        }
        bytes
    }
}

pub struct World {
    pub server: Server<Subnets>,
    pub now: Time,
    pub bytes: Vec<u8>,
}

/// Associations of a reply: resource, number, items, status.
pub type Associations = Vec<(Resource, u32, Vec<Item>, u16)>;

impl World {
    pub fn new(subnets: &[SubnetConfig]) -> World {
        World::with(subnets, Settings::new(DUID.to_vec()))
    }

    pub fn with(subnets: &[SubnetConfig], settings: Settings) -> World {
        World {
            server: Server::new(Subnets::new(subnets).unwrap(), settings),
            now: Time::ZERO,
            bytes: Vec::new(),
        }
    }

    pub fn arrival(client: u32) -> Arrival {
        Arrival {
            port: 3,
            link: Some(address("2001:db8:1::1")),
            peer: peer(client),
            to_group: true,
        }
    }

    pub fn try_send(&mut self, request: &Request) -> Result<Kind, &'static str> {
        let mut bytes = std::mem::take(&mut self.bytes);
        let arrival = World::arrival(request.client);
        let reply = self
            .server
            .handle(self.now, &arrival, &request.bytes(), &mut bytes);
        self.bytes = bytes;
        let reply = reply?.expect("a reply");
        assert_eq!(reply.port, message::CLIENT_PORT);
        let read = self.message();
        assert_eq!((read.kind, read.xid), (reply.kind, request.client));
        assert_eq!(read.client(), Some(&client(request.client)[..]));
        assert_eq!(read.server(), Some(&DUID[..]));
        Ok(reply.kind)
    }

    pub fn send(&mut self, request: &Request) -> Associations {
        self.try_send(request).unwrap();
        self.associations()
    }

    pub fn message(&self) -> Message<'_> {
        Message::new(&self.bytes).unwrap()
    }

    pub fn associations(&self) -> Associations {
        let all = self.message().options.associations();
        let all = all.map(|one| {
            (
                one.resource,
                one.iaid,
                one.items().collect(),
                one.options.status(),
            )
        });
        all.collect()
    }
}

pub fn subnet() -> SubnetConfig {
    SubnetConfig {
        network: "2001:db8:1::1/64".parse().ok(),
        pool: vec!["2001:db8:1::100-2001:db8:1::103".into()],
        prefixes: vec!["2001:db8:100::1/54".parse().unwrap()],
        dns: vec![address("2001:db8::53")],
        search: vec!["lab.example".into()],
        ..SubnetConfig::default()
    }
}

const BOTH: [Resource; 2] = [Resource::Address, Resource::Prefix];

fn ask(kind: Kind, client: u32) -> Request {
    let request = Request::new(kind, client);
    BOTH.into_iter()
        .fold(request, |request, one| request.association(one, 7, &[]))
}

#[test]
fn an_address_and_a_prefix_come_by_four_messages_and_stay_the_same() {
    let mut world = World::new(&[subnet()]);
    let offered = world.send(&ask(Kind::Solicit, 1).with(option::REQUEST, &[0, 23, 0, 24]));
    assert_eq!(world.message().kind, Kind::Advertise);
    assert_eq!(world.message().options.find(option::DNS).unwrap().len(), 16);
    assert_eq!(
        world.message().options.find(option::DOMAINS),
        Some(&b"\x03lab\x07example\0"[..])
    );
    let given = world.send(&ask(Kind::Request, 1));
    assert_eq!(world.message().kind, Kind::Reply);
    // Parameters are for those who ask.
    assert_eq!(world.message().options.find(option::DNS), None);
    assert_eq!(offered, given);
    let (_, iaid, items, _) = &given[0];
    assert_eq!((*iaid, items[0].preferred, items[0].valid), (7, 3600, 7200));
    assert_eq!(
        items[0].address.segments()[..7],
        [0x2001, 0xDB8, 1, 0, 0, 0, 0]
    );
    let prefix = given[1].2[0];
    assert_eq!(
        (prefix.length, prefix.address.segments()[..2].to_vec()),
        (56, vec![0x2001, 0xDB8])
    );
    let times: Vec<_> = world
        .message()
        .options
        .associations()
        .map(|one| one.times)
        .collect();
    assert_eq!(times, [[1800, 2880]; 2]);
    world.now = Time::from_secs(1800);
    let items: Vec<_> = given.iter().map(|one| one.2.clone()).collect();
    for kind in [Kind::Renew, Kind::Rebind] {
        let renew = Request::new(kind, 1)
            .association(Resource::Address, 7, &items[0])
            .association(Resource::Prefix, 7, &items[1]);
        assert_eq!(world.send(&renew), given);
    }
    // Long after the end the client gets the same again.
    world.now = Time::from_secs(100_000);
    assert_eq!(world.send(&ask(Kind::Solicit, 1)), given);
}

#[test]
fn a_delegated_prefix_has_a_route_while_it_is_valid() {
    let mut world = World::new(&[subnet()]);
    let given = world.send(&ask(Kind::Request, 1));
    let prefix = given[1].2[0];
    let route = world.server.poll_delegation().unwrap();
    assert_eq!((route.prefix, route.length), (prefix.address, 56));
    assert_eq!((route.via, route.port, route.present), (peer(1), 3, true));
    // A renewal changes nothing; the end does.
    world.send(&Request::new(Kind::Renew, 1).association(Resource::Prefix, 7, &[prefix]));
    assert_eq!(world.server.poll_delegation(), None);
    while world.server.expire(Time::from_secs(7201)).is_some() {}
    let gone = world.server.poll_delegation().unwrap();
    assert_eq!((gone.prefix, gone.present), (prefix.address, false));
    // A release ends it at once.
    world.now = Time::from_secs(8000);
    world.send(&ask(Kind::Request, 1));
    assert!(world.server.poll_delegation().unwrap().present);
    world.send(&Request::new(Kind::Release, 1).association(Resource::Prefix, 7, &[prefix]));
    assert_eq!(world.message().options.status(), status::SUCCESS);
    assert!(!world.server.poll_delegation().unwrap().present);
}

#[test]
fn pools_that_are_empty_say_so_and_four_prefixes_are_four() {
    let mut world = World::new(&[subnet()]);
    let mut prefixes = std::collections::BTreeSet::new();
    for number in 0..4 {
        let given = world.send(&ask(Kind::Request, number));
        prefixes.insert(given[1].2[0].address);
    }
    let third: Vec<u16> = prefixes.iter().map(|prefix| prefix.segments()[3]).collect();
    assert_eq!(third, [0, 0x100, 0x200, 0x300]);
    let none = world.send(&ask(Kind::Solicit, 9));
    assert_eq!(
        (none[0].3, none[1].3),
        (status::NO_ADDRESSES, status::NO_PREFIX)
    );
}

#[test]
fn messages_that_break_the_rules_of_identifiers_are_ignored() {
    let mut world = World::new(&[subnet()]);
    for kind in [Kind::Request, Kind::Renew, Kind::Release, Kind::Decline] {
        let other = Request {
            server: Some(client(99)),
            ..ask(kind, 1)
        };
        assert!(world.try_send(&other).is_err(), "{kind:?}");
        let none = Request {
            server: None,
            ..ask(kind, 1)
        };
        assert!(world.try_send(&none).is_err(), "{kind:?}");
    }
    for kind in [Kind::Solicit, Kind::Confirm, Kind::Rebind] {
        let named = Request {
            server: Some(DUID.to_vec()),
            ..ask(kind, 1)
        };
        assert!(world.try_send(&named).is_err(), "{kind:?}");
    }
    // To one address (RFC 9915 section 18.4).
    let unicast = Arrival {
        to_group: false,
        ..World::arrival(1)
    };
    let mut out = Vec::new();
    let solicit = ask(Kind::Solicit, 1).bytes();
    assert!(
        world
            .server
            .handle(world.now, &unicast, &solicit, &mut out)
            .is_err()
    );
    assert!(world.server.leases().is_empty());
}

#[test]
fn confirm_compares_prefixes_and_rebind_of_a_stranger_is_ignored() {
    let mut world = World::new(&[subnet()]);
    let confirm = |text: &str| {
        let items = [item(address(text), 128)];
        Request::new(Kind::Confirm, 1).association(Resource::Address, 7, &items)
    };
    world.send(&confirm("2001:db8:1::777"));
    assert_eq!(world.message().options.status(), status::SUCCESS);
    world.send(&confirm("2001:db8:2::777"));
    assert_eq!(world.message().options.status(), status::NOT_ON_LINK);
    assert!(world.try_send(&Request::new(Kind::Confirm, 1)).is_err());
    let rebind = |text: &str| {
        let items = [item(address(text), 128)];
        Request::new(Kind::Rebind, 1).association(Resource::Address, 7, &items)
    };
    // On the link, but not of this server.
    assert!(world.try_send(&rebind("2001:db8:1::777")).is_err());
    // Of another link: its lifetimes are over.
    let ended = world.send(&rebind("2001:db8:2::777"));
    assert_eq!((ended[0].2.len(), ended[0].2[0].valid), (1, 0));
    // A server that has lost its table takes its clients back.
    let taken = world.send(&rebind("2001:db8:1::102"));
    assert_eq!(taken[0].2[0].valid, 7200);
    let renew = Request::new(Kind::Renew, 2);
    let renew = renew.association(
        Resource::Address,
        7,
        &[item(address("2001:db8:1::102"), 128)],
    );
    assert_eq!(world.send(&renew)[0].3, status::NO_BINDING);
}

#[test]
fn a_declined_address_is_not_offered_again_for_a_while() {
    let mut config = subnet();
    config.pool = vec!["2001:db8:1::100".into()];
    let mut world = World::new(&[config]);
    let given = world.send(&Request::new(Kind::Request, 1).association(Resource::Address, 7, &[]));
    let items = given[0].2.clone();
    let decline =
        |client| Request::new(Kind::Decline, client).association(Resource::Address, 7, &items);
    assert_eq!(world.send(&decline(2))[0].3, status::NO_BINDING);
    assert!(world.send(&decline(1)).is_empty());
    let solicit = Request::new(Kind::Solicit, 3).association(Resource::Address, 7, &[]);
    assert_eq!(world.send(&solicit)[0].3, status::NO_ADDRESSES);
    world.now = Time::from_secs(601);
    assert_eq!(world.send(&solicit)[0].3, status::SUCCESS);
}

#[test]
fn a_client_of_its_own_gets_its_address_and_prefix_and_others_do_not() {
    let mut config = subnet();
    let duid: String = client(77)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    config.hosts = vec![HostConfig {
        duid,
        address: Some(address("2001:db8:1::102")),
        prefix: Some(address("2001:db8:100:200::")),
    }];
    let mut world = World::new(&[config]);
    for number in 0..3 {
        let given = world.send(&ask(Kind::Request, number));
        assert_ne!(given[0].2[0].address, address("2001:db8:1::102"));
        assert_ne!(given[1].2[0].address, address("2001:db8:100:200::"));
    }
    let own = world.send(&ask(Kind::Request, 77));
    assert_eq!(own[0].2[0].address, address("2001:db8:1::102"));
    assert_eq!(own[1].2[0].address, address("2001:db8:100:200::"));
}

#[test]
fn two_relays_get_the_answer_in_two_layers() {
    let mut world = World::new(&[subnet()]);
    let link = address("2001:db8:1::fe");
    let (mut one, mut two) = (Vec::new(), Vec::new());
    to_servers(
        &ask(Kind::Solicit, 1).bytes(),
        Some(link),
        peer(1),
        b"7",
        &mut one,
    )
    .unwrap();
    to_servers(
        &one,
        Some(address("2001:db8:9::1")),
        address("2001:db8:9::2"),
        b"8",
        &mut two,
    )
    .unwrap();
    let arrival = Arrival {
        port: 0,
        link: None,
        peer: address("2001:db8:9::1"),
        to_group: false,
    };
    let mut out = Vec::new();
    let reply = world
        .server
        .handle(world.now, &arrival, &two, &mut out)
        .unwrap()
        .unwrap();
    assert_eq!(reply.port, message::SERVER_PORT);
    let outer = RelayMessage::new(&out).unwrap();
    assert_eq!(
        (outer.kind, outer.hops, outer.interface),
        (Kind::RelayReply, 1, Some(&b"8"[..]))
    );
    assert_eq!(outer.peer, address("2001:db8:9::2"));
    let inner = RelayMessage::new(outer.message).unwrap();
    assert_eq!(
        (inner.hops, inner.peer, inner.interface),
        (0, peer(1), Some(&b"7"[..]))
    );
    let answer = Message::new(inner.message).unwrap();
    assert_eq!(answer.kind, Kind::Advertise);
    assert_eq!(answer.options.associations().count(), 2);
    assert_eq!(world.server.poll_delegation(), None);
}

#[test]
fn information_needs_no_identifier() {
    let mut world = World::new(&[subnet()]);
    let mut bytes = Vec::new();
    begin(&mut bytes, Kind::InformationRequest, 5);
    write(&mut bytes, option::REQUEST, |out| out.extend([0, 23]));
    let mut out = Vec::new();
    let reply = world
        .server
        .handle(world.now, &World::arrival(1), &bytes, &mut out);
    assert_eq!(reply.unwrap().unwrap().kind, Kind::Reply);
    let message = Message::new(&out).unwrap();
    assert!(message.options.find(option::DNS).is_some() && message.client().is_none());
    // Everything else does.
    bytes[0] = Kind::Solicit as u8;
    assert!(
        world
            .server
            .handle(world.now, &World::arrival(1), &bytes, &mut out)
            .is_err()
    );
}
