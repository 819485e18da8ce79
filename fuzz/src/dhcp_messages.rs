//! Messages of DHCP and DHCPv6 through decoders, servers, relays and clients, and router solicitations. A message that is read
//! has a reply that is read, too; a relay's message comes back out of its layer.

use dhcp::advertisement::read_solicitation;
use dhcp::datagram;
use dhcp::domain;
use dhcp::v4;
use dhcp::v6;
use node::Time;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Splits off the first two bytes, which choose.
fn choices(data: &[u8]) -> Option<([u8; 2], &[u8])> {
    let (choices, rest) = data.split_first_chunk::<2>()?;
    Some((*choices, rest))
}

fn v4_server() -> v4::server::Server<v4::policy::Subnets> {
    let subnet = v4::policy::SubnetConfig {
        network: "10.0.0.0/29".parse().ok(),
        pool: vec!["10.0.0.2-10.0.0.5".into()],
        ..v4::policy::SubnetConfig::default()
    };
    let policy = v4::policy::Subnets::new(&[subnet]).expect("a good subnet");
    v4::server::Server::new(policy, v4::server::Settings::default())
}

/// Messages one after the other, each with its length in front.
fn messages(mut data: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let ([high, low], rest) = choices(data)?;
        let length = usize::from(u16::from_be_bytes([high, low])).min(rest.len());
        let (message, rest) = rest.split_at(length);
        data = rest;
        Some(message)
    })
    .take(16)
}

pub fn v4(data: &[u8]) {
    let arrival = v4::server::Arrival {
        port: 1,
        server: Ipv4Addr::new(10, 0, 0, 1),
    };
    let relay = v4::relay::Settings {
        information: true,
        remote: b"remote".to_vec(),
        max_hops: 16,
    };
    let mut server = v4_server();
    let settings = v4::client::Settings {
        mac: packet::ethernet::Mac([2, 0, 0, 0, 0, 7]),
        id: None,
        host_name: None,
        broadcast: false,
        rapid_commit: true,
        probe: Time::ZERO,
        delay: Time::ZERO,
        previous: None,
    };
    let mut client = v4::client::Client::new(settings, 1);
    let (mut out, mut sent) = (Vec::new(), Vec::new());
    let mut now = Time::ZERO;
    for bytes in messages(data) {
        now += Time::from_secs(7);
        while client.poll(now, &mut sent).is_some() {}
        if let Ok(message) = v4::message::Message::new(bytes) {
            if let Some(value) = message.option(121)
                && let Some(routes) = v4::options::read_routes(&value)
            {
                let written = v4::options::write_routes(&routes);
                assert_eq!(v4::options::read_routes(&written).as_ref(), Some(&routes));
            }
            let _ = (message.sub_option(1), message.max_size(), message.client());
        }
        if let Ok(Some(reply)) = server.handle(now, &arrival, bytes, &mut out) {
            let read = v4::message::Message::new(&out).expect("a reply is read");
            assert_eq!(read.kind(), reply.kind);
            let limit = v4::message::Message::new(bytes).map_or(0, |one| one.max_size());
            // A relay takes its information off, at most 257 bytes.
            assert!(out.len() <= 1472 && out.len() <= limit.max(548) + 257);
            let _ = client.handle(now, &out);
        }
        assert!(server.leases().len() <= 4);
        let _ = client.handle(now, bytes);
        let own = Ipv4Addr::new(10, 0, 0, 1);
        if v4::relay::to_servers(&relay, own, b"1", bytes, &mut out).is_ok() {
            v4::message::Message::new(&out).expect("a relayed message is read");
        }
        if v4::relay::to_client(bytes, &mut out).is_ok() {
            let read = v4::message::Message::new(&out).expect("a relayed message is read");
            // The fields of names are copied as they are.
            let named = read.option(52).is_some();
            assert!(named || read.option(82).is_none());
        }
    }
}

pub fn v6(data: &[u8]) {
    let subnet = v6::policy::SubnetConfig {
        network: "2001:db8::/64".parse().ok(),
        pool: vec!["2001:db8::100-2001:db8::103".into()],
        prefixes: vec!["2001:db8:100::/54".parse().expect("a prefix")],
        ..v6::policy::SubnetConfig::default()
    };
    let policy = v6::policy::Subnets::new(&[subnet]).expect("a good link");
    let duid = v6::message::duid([2, 0, 0, 0, 0, 1]);
    let mut server = v6::server::Server::new(policy, v6::server::Settings::new(duid));
    let settings = v6::client::Settings {
        duid: v6::message::duid([2, 0, 0, 0, 0, 7]),
        address: true,
        prefix: Some(56),
        rapid_commit: true,
    };
    let mut client = v6::client::Client::new(settings, 1);
    let (mut out, mut sent) = (Vec::new(), Vec::new());
    let mut now = Time::ZERO;
    let peer = Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, 7);
    let link = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 1);
    for bytes in messages(data) {
        now += Time::from_secs(7);
        while client.poll(now, &mut sent).is_some() {}
        let arrival = v6::server::Arrival {
            port: 1,
            link: Some(link),
            peer,
            to_group: true,
        };
        if let Ok(Some(reply)) = server.handle(now, &arrival, bytes, &mut out) {
            if reply.port == v6::message::CLIENT_PORT {
                let read = v6::message::Message::new(&out).expect("a reply is read");
                assert_eq!(read.kind, reply.kind);
            } else {
                v6::relay::RelayMessage::new(&out).expect("a reply is read");
            }
            assert!(out.len() <= 3000 + bytes.len());
            let _ = client.handle(now, &out);
        }
        while server.poll_delegation().is_some() {}
        assert!(server.leases().len() <= 8);
        let _ = client.handle(now, bytes);
        if let Ok(message) = v6::message::Message::new(bytes) {
            let names = message.options.find(v6::message::option::DOMAINS);
            for name in domain::read(names.unwrap_or_default()) {
                // The printed part of a name has its length.
                assert!(!name.is_empty() && name.len() <= 253);
            }
        }
        if v6::relay::to_servers(bytes, Some(link), peer, b"1", &mut out).is_ok() {
            let read = v6::relay::RelayMessage::new(&out).expect("a relayed message is read");
            assert_eq!((read.message, read.peer), (bytes, peer));
        }
    }
}

pub fn solicitation(data: &[u8]) {
    for port in [67, 68, 546, 547] {
        if let Some(datagram) = datagram::read(data, port) {
            assert_eq!(datagram.destination.port(), port);
        }
    }
    if let Some(read) = read_solicitation(data) {
        assert!(!read.source.is_multicast() && read.mac[0] & 1 == 0);
    }
}
