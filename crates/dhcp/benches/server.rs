//! Messages a second of the DHCPv4 server without I/O, with 100,000 leases.

use dhcp::leases::Limits;
use dhcp::v4::message::{Header, Kind, Message, REQUEST, Writer, option};
use dhcp::v4::policy::{SubnetConfig, Subnets};
use dhcp::v4::server::{Arrival, Server, Settings};
use node::Time;
use packet::ethernet::Mac;
use std::net::Ipv4Addr;
use std::time::Instant;

const CLIENTS: u32 = 100_000;

fn message(
    kind: Kind,
    client: u32,
    ciaddr: Ipv4Addr,
    requested: Option<Ipv4Addr>,
    server: bool,
) -> Vec<u8> {
    let [a, b, c, d] = client.to_be_bytes();
    let header = Header {
        op: REQUEST,
        xid: client,
        secs: 0,
        broadcast: false,
        ciaddr,
        yiaddr: Ipv4Addr::UNSPECIFIED,
        siaddr: Ipv4Addr::UNSPECIFIED,
        giaddr: Ipv4Addr::UNSPECIFIED,
        chaddr: Mac([2, 0, a, b, c, d]),
    };
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &header, kind, 1472);
    if let Some(requested) = requested {
        writer.option(option::REQUESTED, &requested.octets());
    }
    if server {
        writer.option(option::SERVER, &[10, 0, 0, 1]);
    }
    writer.option(option::PARAMETERS, &[1, 3, 6, 15]);
    writer.end();
    bytes
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn time(name: &str, count: u32, mut act: impl FnMut(u32)) {
    let start = Instant::now();
    (0..count).for_each(&mut act);
    let each = start.elapsed() / count;
    println!(
        "{name}: {each:?} each, {:.0} a second",
        1.0 / each.as_secs_f64()
    );
}

fn main() {
    let subnet = SubnetConfig {
        network: "10.0.0.0/8".parse().ok(),
        pool: vec!["10.1.0.0-10.4.255.255".into()],
        ..SubnetConfig::default()
    };
    let settings = Settings {
        limits: Limits {
            leases: 200_000,
            ..Limits::default()
        },
        ..Settings::default()
    };
    let mut server = Server::new(Subnets::new(&[subnet]).expect("a good subnet"), settings);
    let arrival = Arrival {
        port: 0,
        server: [10, 0, 0, 1].into(),
    };
    let mut addresses = Vec::new();
    let mut out = Vec::new();
    let none = Ipv4Addr::UNSPECIFIED;
    time("discover and request of a new client", CLIENTS, |client| {
        let discover = message(Kind::Discover, client, none, None, false);
        let offer = server.handle(Time::ZERO, &arrival, &discover, &mut out);
        assert!(matches!(offer, Ok(Some(_))));
        let address = Message::new(&out).expect("an offer").yiaddr();
        let request = message(Kind::Request, client, none, Some(address), true);
        let ack = server.handle(Time::ZERO, &arrival, &request, &mut out);
        assert!(matches!(ack, Ok(Some(reply)) if reply.kind == Kind::Ack));
        addresses.push(address);
    });
    assert_eq!(server.leases().bound(), CLIENTS as usize);
    let renewals: Vec<_> = (0..CLIENTS)
        .map(|client| {
            message(
                Kind::Request,
                client,
                addresses[client as usize],
                None,
                false,
            )
        })
        .collect();
    time("renewal", 4 * CLIENTS, |number| {
        let at = (number as usize).wrapping_mul(7919) % renewals.len();
        let now = Time::from_us(number.into());
        let ack = server.handle(now, &arrival, &renewals[at], &mut out);
        assert!(matches!(ack, Ok(Some(reply)) if reply.kind == Kind::Ack));
    });
    time("discover of a flood", 4 * CLIENTS, |number| {
        let discover = message(Kind::Discover, 1_000_000 + number, none, None, false);
        let now = Time::from_secs(1) + Time::from_us(number.into());
        assert!(server.handle(now, &arrival, &discover, &mut out).is_ok());
    });
    assert!(server.leases().len() <= 200_000 && server.leases().offers() <= 1024);
}
