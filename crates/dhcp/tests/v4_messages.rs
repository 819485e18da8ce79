//! Rules of RFC 2131 for the server, message by message.

use dhcp::v4::message::{Header, Kind, Message, REPLY, REQUEST, Writer, option};
use dhcp::v4::options::Named;
use dhcp::v4::policy::{HostConfig, SubnetConfig, Subnets};
use dhcp::v4::server::{Arrival, Destination, Reply, Server, Settings};
use node::Time;
use packet::ethernet::Mac;
use std::net::Ipv4Addr;

pub const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

pub fn mac(client: u32) -> Mac {
    let [a, b, c, d] = client.to_be_bytes();
    Mac([2, 0, a, b, c, d])
}

/// A client's message.
pub struct Request {
    pub kind: Kind,
    pub client: u32,
    pub ciaddr: Ipv4Addr,
    pub giaddr: Ipv4Addr,
    pub broadcast: bool,
    pub options: Vec<(u8, Vec<u8>)>,
}

impl Request {
    pub fn new(kind: Kind, client: u32) -> Request {
        Request {
            kind,
            client,
            ciaddr: Ipv4Addr::UNSPECIFIED,
            giaddr: Ipv4Addr::UNSPECIFIED,
            broadcast: false,
            options: Vec::new(),
        }
    }

    pub fn with(mut self, number: u8, value: impl Into<Vec<u8>>) -> Request {
        self.options.push((number, value.into()));
        self
    }

    /// With the address that is requested.
    pub fn requested(self, address: Ipv4Addr) -> Request {
        self.with(option::REQUESTED, address.octets())
    }

    pub fn server(self, server: Ipv4Addr) -> Request {
        self.with(option::SERVER, server.octets())
    }

    pub fn ciaddr(self, ciaddr: Ipv4Addr) -> Request {
        Request { ciaddr, ..self }
    }

    pub fn giaddr(self, giaddr: [u8; 4]) -> Request {
        Request {
            giaddr: giaddr.into(),
            ..self
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let header = Header {
            op: REQUEST,
            xid: self.client ^ 0x5555,
            secs: 0,
            broadcast: self.broadcast,
            ciaddr: self.ciaddr,
            yiaddr: Ipv4Addr::UNSPECIFIED,
            siaddr: Ipv4Addr::UNSPECIFIED,
            giaddr: self.giaddr,
            chaddr: mac(self.client),
        };
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes, &header, self.kind, 1472);
        for (number, value) in &self.options {
            writer.option(*number, value);
        }
        writer.end();
        bytes
    }
}

/// A server, and the time.
pub struct World {
    pub server: Server<Subnets>,
    pub now: Time,
    pub port: u16,
    pub bytes: Vec<u8>,
}

impl World {
    pub fn new(subnets: &[SubnetConfig], settings: Settings) -> World {
        World {
            server: Server::new(Subnets::new(subnets).unwrap(), settings),
            now: Time::ZERO,
            port: 1,
            bytes: Vec::new(),
        }
    }

    pub fn try_send(&mut self, request: &Request) -> Result<Option<Reply>, &'static str> {
        let arrival = Arrival {
            port: self.port,
            server: SERVER,
        };
        let mut bytes = std::mem::take(&mut self.bytes);
        let reply = self
            .server
            .handle(self.now, &arrival, &request.bytes(), &mut bytes);
        self.bytes = bytes;
        if let Ok(Some(reply)) = reply {
            let read = Message::new(&self.bytes).expect("a message");
            assert_eq!((read.op(), read.kind()), (REPLY, reply.kind));
            assert_eq!(read.chaddr(), mac(request.client));
        }
        reply
    }

    pub fn send(&mut self, request: &Request) -> Reply {
        self.try_send(request).unwrap().expect("a reply")
    }

    pub fn message(&self) -> Message<'_> {
        Message::new(&self.bytes).unwrap()
    }

    /// Gets a lease by four messages.
    pub fn lease(&mut self, client: u32) -> Ipv4Addr {
        let offer = self.send(&Request::new(Kind::Discover, client));
        assert_eq!(offer.kind, Kind::Offer);
        let address = self.message().yiaddr();
        let request = Request::new(Kind::Request, client);
        let ack = self.send(&request.requested(address).server(SERVER));
        assert_eq!((ack.kind, self.message().yiaddr()), (Kind::Ack, address));
        address
    }
}

pub fn subnet(network: &str, pool: &str) -> SubnetConfig {
    SubnetConfig {
        network: network.parse().ok(),
        pool: vec![pool.into()],
        lease: Time::from_secs(100),
        ..SubnetConfig::default()
    }
}

fn world() -> World {
    let mut config = subnet("10.0.0.0/24", "10.0.0.10-10.0.0.19");
    config.named = Named {
        router: vec![SERVER],
        dns: vec![[10, 0, 0, 2].into(), [10, 0, 0, 3].into()],
        ipv6_only: Some(Time::from_secs(1800)),
        ..Named::default()
    };
    config.hosts = vec![HostConfig {
        mac: mac(77),
        address: [10, 0, 0, 15].into(),
    }];
    let other = subnet("10.0.9.0/24", "10.0.9.10-10.0.9.11");
    World::new(&[config, other], Settings::default())
}

#[test]
fn an_ack_has_the_lease_its_times_and_the_options_that_were_asked_for() {
    let mut world = world();
    let address = world.lease(1);
    let ack = world.message();
    assert_eq!(ack.number(option::LEASE_TIME), Some(100));
    assert_eq!(ack.number(option::RENEWAL), Some(50));
    assert_eq!(ack.number(option::REBINDING), Some(88));
    assert_eq!(
        ack.address(option::SUBNET_MASK),
        Some([255, 255, 255, 0].into())
    );
    // All options, as the client asks for none in particular, but the one of RFC 8925.
    assert!(ack.option(option::ROUTER).is_some() && ack.option(option::IPV6_ONLY).is_none());
    // An option that is asked for twice is sent once, in the order asked for (RFC 2131 section 4.3.1).
    let asks = Request::new(Kind::Request, 1).with(option::PARAMETERS, [108, 6, 6, 99]);
    world.send(&asks.ciaddr(address));
    let numbers: Vec<u8> = world
        .message()
        .options()
        .map(|(number, _)| number)
        .collect();
    assert_eq!(numbers, [53, 54, 1, 51, 58, 59, 108, 6]);
    assert_eq!(world.message().option(6).unwrap().len(), 8);
}

#[test]
fn replies_go_where_the_client_hears_them() {
    let mut world = world();
    let discover = Request::new(Kind::Discover, 1);
    let offered = world.send(&discover);
    let address = world.message().yiaddr();
    assert_eq!(offered.to, Destination::Hardware(mac(1), address));
    let loud = Request {
        broadcast: true,
        ..Request::new(Kind::Discover, 1)
    };
    assert_eq!(world.send(&loud).to, Destination::Broadcast);
    assert!(world.message().is_broadcast());
    let relayed = Request::new(Kind::Discover, 2).giaddr([10, 0, 9, 1]);
    let relay = Destination::Relay([10, 0, 9, 1].into());
    assert_eq!(world.send(&relayed).to, relay);
    assert_eq!(world.message().yiaddr().octets()[2], 9);
    let address = world.lease(1);
    let renewal = world.send(&Request::new(Kind::Request, 1).ciaddr(address));
    assert_eq!(renewal.to, Destination::Client(address));
    // A refusal is broadcast, and by a relay with the flag set.
    let wrong = Request::new(Kind::Request, 3).requested([192, 0, 2, 1].into());
    assert_eq!(world.send(&wrong).to, Destination::Broadcast);
    let wrong = Request::new(Kind::Request, 3).requested([192, 0, 2, 1].into());
    assert_eq!(world.send(&wrong.giaddr([10, 0, 9, 1])).to, relay);
    assert!(world.message().is_broadcast());
    assert_eq!(world.message().kind(), Kind::Nak);
}

#[test]
fn a_client_that_restarts_keeps_its_address_and_a_stranger_is_ignored() {
    let mut world = world();
    let address = world.lease(1);
    let reboot = |client| Request::new(Kind::Request, client).requested(address);
    assert_eq!(world.send(&reboot(1)).kind, Kind::Ack);
    // RFC 2131 section 4.3.2: silence, as another server may know the client.
    assert!(world.try_send(&reboot(2)).is_err());
    world.lease(2);
    assert_eq!(world.send(&reboot(2)).kind, Kind::Nak);
    // After the lease the client gets the same address again.
    world.now = Time::from_secs(500);
    assert_eq!(
        world.send(&Request::new(Kind::Discover, 1)).kind,
        Kind::Offer
    );
    assert_eq!(world.message().yiaddr(), address);
}

#[test]
fn an_authoritative_server_refuses_strangers() {
    let settings = Settings {
        authoritative: true,
        ..Settings::default()
    };
    let mut world = World::new(&[subnet("10.0.0.0/24", "10.0.0.10-10.0.0.19")], settings);
    let stranger = Request::new(Kind::Request, 2).requested([10, 0, 0, 12].into());
    assert_eq!(world.send(&stranger).kind, Kind::Nak);
}

#[test]
fn an_authoritative_server_confirms_the_only_address_of_a_client_after_a_restart() {
    let settings = Settings {
        authoritative: true,
        ..Settings::default()
    };
    let own: Ipv4Addr = [10, 0, 0, 10].into();
    let mut world = World::new(&[subnet("10.0.0.0/24", "10.0.0.10")], settings);
    let renewal = Request::new(Kind::Request, 1).ciaddr(own);
    assert_eq!(world.send(&renewal).kind, Kind::Ack);
    // It has a client now.
    let other = Request::new(Kind::Request, 2).requested(own);
    assert_eq!(world.send(&other).kind, Kind::Nak);
}

#[test]
fn a_revoked_lease_makes_room_for_another_client() {
    let mut world = World::new(&[subnet("10.0.0.0/24", "10.0.0.10")], Settings::default());
    let address = world.lease(1);
    assert!(
        world
            .server
            .revoke(world.now, [10, 0, 0, 11].into())
            .is_none()
    );
    assert!(world.server.revoke(world.now, address).is_some());
    assert_eq!(world.lease(2), address);
}

#[test]
fn an_offer_that_another_server_won_is_free_again() {
    let mut world = World::new(&[subnet("10.0.0.0/24", "10.0.0.10")], Settings::default());
    world.send(&Request::new(Kind::Discover, 1));
    assert_eq!(world.server.leases().offers(), 1);
    let other = Request::new(Kind::Request, 1).requested([10, 0, 0, 44].into());
    let none = world.try_send(&other.server([10, 0, 0, 9].into()));
    assert_eq!((none, world.server.leases().offers()), (Ok(None), 0));
    assert_eq!(world.lease(2), Ipv4Addr::new(10, 0, 0, 10));
}

#[test]
fn a_declined_address_rests_and_a_released_one_does_not() {
    let mut world = World::new(&[subnet("10.0.0.0/24", "10.0.0.10")], Settings::default());
    let address = world.lease(1);
    let release = Request::new(Kind::Release, 1).ciaddr(address);
    assert_eq!(world.try_send(&release), Ok(None));
    assert_eq!(world.lease(2), address);
    // Only the client itself may decline or release it.
    let forged = Request::new(Kind::Decline, 1).requested(address);
    assert!(world.try_send(&forged.server(SERVER)).is_err());
    assert!(world.try_send(&release).is_err());
    let decline = Request::new(Kind::Decline, 2).requested(address);
    assert_eq!(world.try_send(&decline.server(SERVER)), Ok(None));
    for (seconds, offered) in [(1, false), (599, false), (601, true)] {
        world.now = Time::from_secs(seconds);
        let answer = world.try_send(&Request::new(Kind::Discover, 3));
        assert_eq!(answer.is_ok(), offered, "at {seconds} s");
    }
}

#[test]
fn a_client_with_an_address_of_its_own_gets_it_and_others_do_not() {
    let mut world = world();
    assert_eq!(world.lease(77), Ipv4Addr::new(10, 0, 0, 15));
    for client in 0..9 {
        assert_ne!(world.lease(client).octets()[3], 15);
    }
    let none = world.try_send(&Request::new(Kind::Discover, 10));
    assert_eq!(none, Err("no free address"));
}

#[test]
fn two_messages_are_enough_with_rapid_commit() {
    let mut world = world();
    let discover = || Request::new(Kind::Discover, 1).with(option::RAPID_COMMIT, []);
    assert_eq!(world.send(&discover()).kind, Kind::Ack);
    assert!(world.message().option(option::RAPID_COMMIT).is_some());
    assert_eq!(world.server.leases().bound(), 1);
    let settings = Settings {
        rapid_commit: false,
        ..Settings::default()
    };
    let mut world = World::new(&[subnet("10.0.0.0/24", "10.0.0.10")], settings);
    assert_eq!(world.send(&discover()).kind, Kind::Offer);
    assert!(world.message().option(option::RAPID_COMMIT).is_none());
}

#[test]
fn inform_brings_options_without_a_lease() {
    let mut world = world();
    let inform = Request::new(Kind::Inform, 1).ciaddr([10, 0, 0, 200].into());
    let reply = world.send(&inform);
    assert_eq!(reply.to, Destination::Client([10, 0, 0, 200].into()));
    let message = world.message();
    assert_eq!(
        (message.kind(), message.yiaddr()),
        (Kind::Ack, Ipv4Addr::UNSPECIFIED)
    );
    assert!(message.option(option::ROUTER).is_some());
    assert!(message.option(option::LEASE_TIME).is_none());
    assert!(world.server.leases().is_empty());
}

#[test]
fn the_clients_identifier_and_the_relays_information_come_back() {
    let mut world = world();
    let information = [1, 2, b'p', b'7', 2, 1, b'r'];
    let discover = Request::new(Kind::Discover, 1)
        .with(option::CLIENT_ID, *b"\x00some id")
        .with(option::RELAY_AGENT, information)
        .giaddr([10, 0, 9, 1]);
    world.send(&discover);
    let message = world.message();
    assert_eq!(
        message.option(option::CLIENT_ID).as_deref(),
        Some(&b"\x00some id"[..])
    );
    let (last, value) = message.options().last().unwrap();
    assert_eq!((last, value), (option::RELAY_AGENT, &information[..]));
    // Another interface of the same client (RFC 4361) gets the same address.
    let first = message.yiaddr();
    let other = Request::new(Kind::Discover, 2)
        .with(option::CLIENT_ID, *b"\x00some id")
        .giaddr([10, 0, 9, 1]);
    world.send(&other);
    assert_eq!(world.message().yiaddr(), first);
}

#[test]
fn a_renewal_comes_directly_though_the_lease_came_by_a_relay() {
    let mut world = world();
    let discover = Request::new(Kind::Discover, 1).giaddr([10, 0, 9, 1]);
    world.send(&discover);
    let address = world.message().yiaddr();
    let request = Request::new(Kind::Request, 1).giaddr([10, 0, 9, 1]);
    world.send(&request.requested(address).server(SERVER));
    let renewal = Request::new(Kind::Request, 1).ciaddr(address);
    assert_eq!(world.send(&renewal).kind, Kind::Ack);
    assert_eq!(world.message().yiaddr(), address);
}

#[test]
fn the_reply_is_not_longer_than_the_client_takes() {
    let mut config = subnet("10.0.0.0/24", "10.0.0.10");
    config.named.options = vec![
        format!("43 hex {}", "01".repeat(250)),
        format!("224 hex {}", "02".repeat(250)),
    ];
    let mut world = World::new(&[config], Settings::default());
    world.send(&Request::new(Kind::Discover, 1));
    assert!(world.bytes.len() <= 548 && world.message().option(224).is_none());
    assert_eq!(world.server.counters().left_out, 1);
    let large = Request::new(Kind::Discover, 1).with(option::MAX_SIZE, 1500_u16.to_be_bytes());
    world.send(&large);
    assert!(world.message().option(224).is_some());
}

#[test]
fn identifiers_of_any_length_leave_room_for_the_lease() {
    for length in [2, 100, 255, 256, 300] {
        let mut world = world();
        let discover = Request::new(Kind::Discover, 1)
            .with(option::CLIENT_ID, vec![7; length])
            .with(option::RELAY_AGENT, vec![9; length])
            .giaddr([10, 0, 9, 1]);
        let answer = world.try_send(&discover);
        if length > 255 {
            assert_eq!(answer, Err("DHCP identifier too long"));
            continue;
        }
        let message = world.message();
        assert!(message.number(option::REBINDING).is_some(), "{length}");
        for number in [option::CLIENT_ID, option::RELAY_AGENT] {
            assert_eq!(message.option(number).map(|one| one.len()), Some(length));
        }
        // The reply is no longer than the client's maximum.
        assert!(world.bytes.len() - length - 2 <= 548, "{length}");
    }
}
