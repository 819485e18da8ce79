//! Requests for port mappings of three hosts, one after the other: each has a byte for its protocol and host, one for the time since the
//! last, two for its length. Whatever they ask for, a host has no more than its mappings, and answers are not longer than they may be.
//! Requests of PCP go to the servers of a NAT64 and of pinholes, too, from hosts with IPv6 addresses.

use core::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4};
use node::{Out, Time};
use router::nat::{self, Nat};
use router::nat64::{self, Nat64};
use router::port_mapping::{Config, Server, UPNP_PORT};

const OWN: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const PER_HOST: usize = 3;
const MAPPINGS: usize = 7;
/// Maximum number of requests of one input.
const MAX_REQUESTS: usize = 500;

pub fn target(data: &[u8]) {
    let external = vec!["192.0.2.1".parse().expect("an address")];
    let mut nat = Nat::new(
        nat::Config {
            external,
            ..nat::Config::default()
        },
        1,
    )
    .expect("a good configuration");
    let mut server = Server::new(
        Config {
            upnp: true,
            third_party: true,
            per_host: PER_HOST,
            mappings: MAPPINGS,
            ..Config::default()
        },
        1,
    )
    .expect("a good configuration");
    let nat64 = nat64::Config {
        nat: nat::Config {
            external: vec!["192.0.2.2".parse().expect("an address")],
            ..nat::Config::default()
        },
        hosts: MAPPINGS + 1,
        ..nat64::Config::default()
    };
    let mut nat64 = Nat64::new(nat64, 1).expect("a good configuration");
    let config = Config {
        third_party: true,
        per_host: PER_HOST,
        mappings: MAPPINGS,
        ..Config::default()
    };
    let mut pinholes = config.clone().pinholes().expect("a good configuration");
    let mut server_v6 = Server::new(config, 1).expect("a good configuration");
    let (mut rest, mut now) = (data, Time::ZERO);
    for _ in 0..MAX_REQUESTS {
        let [kind, time, high, low, after @ ..] = rest else {
            break;
        };
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(after.len());
        let request;
        (request, rest) = after.split_at(length);
        now += Time::from_secs(u64::from(*time) * 4);
        let client = SocketAddrV4::new([10, 0, 0, 2 + kind / 4 % 3].into(), 6_000);
        match kind % 4 {
            0 => {
                for answer in server.search(now, OWN, request) {
                    assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"));
                }
            }
            1 => {
                let own = SocketAddrV4::new(OWN, UPNP_PORT);
                if let Some(answer) = server.answer(now, &mut nat, [own, client], request) {
                    assert!(answer.starts_with("HTTP/1.1 ") && answer.len() < 65_536);
                }
            }
            _ => {
                let mut answer = Vec::new();
                let host = Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, u16::from(*kind));
                // With its own address, so that it comes farther.
                let mut own = request.to_vec();
                if let Some(address) = own.get_mut(8..24).filter(|_| kind % 4 == 3) {
                    address.copy_from_slice(&host.octets());
                }
                if server_v6.datagram_v6(now, &mut nat64, host, &own, &mut answer) {
                    assert!(answer.len() <= own.len().next_multiple_of(4).max(24));
                }
                assert!(server_v6.len() <= MAPPINGS && nat64.sizes()[3] <= MAPPINGS + 1);
                answer.clear();
                if pinholes.datagram(now, host, &own, &mut answer) {
                    assert!(answer.len() <= own.len().next_multiple_of(4).max(24));
                }
                assert!(pinholes.len() <= MAPPINGS);
                answer.clear();
                if server.datagram(now, &mut nat, client, request, &mut answer) {
                    assert!(answer.len() <= request.len().next_multiple_of(4).max(24));
                }
            }
        }
        server.wake(now, &mut nat, &mut Out::default());
        let rows = nat.rows(now);
        assert!(server.len() <= MAPPINGS && rows.len() <= MAPPINGS);
        for host in 2..=4 {
            let of_host = rows
                .iter()
                .filter(|row| *row.inside.ip() == Ipv4Addr::new(10, 0, 0, host));
            assert!(of_host.count() <= PER_HOST);
        }
    }
}
