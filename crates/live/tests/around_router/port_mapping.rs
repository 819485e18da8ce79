//! Clients of port mapping protocols ask the router, and a host outside reaches the host inside by the mapping.

use super::{counter, have, kernels, run};
use router::router::{Config, PortConfig};
use router::{nat, port_mapping};
use std::net::UdpSocket;
use std::time::Duration;

const INSIDE: &str = "ip addr add 10.0.0.2/24 dev k; ip route add default via 10.0.0.1";
const OUTSIDE: &str = "ip addr add 198.51.100.7/24 dev k";

pub fn config(nat: nat::Config) -> Config {
    let port = |address: &str, outside| PortConfig {
        address: vec![address.parse().unwrap()],
        outside,
        ..PortConfig::default()
    };
    Config {
        port: vec![port("10.0.0.1/24", false), port("198.51.100.1/24", true)],
        nat: Some(nat),
        port_mapping: Some(port_mapping::Config::default()),
        ..Config::default()
    }
}

/// Whether a datagram from outside to an external port reaches the inside host at `port`.
pub fn reaches(kernels: &super::Kernels, external: u16, port: u16) -> bool {
    let inside = kernels.0[0].enter(move || UdpSocket::bind(("10.0.0.2", port)).unwrap());
    let inside = inside.unwrap();
    let timeout = Duration::from_millis(500);
    inside.set_read_timeout(Some(timeout)).unwrap();
    let sent = kernels.0[1].enter(move || {
        let socket = UdpSocket::bind("198.51.100.7:0").unwrap();
        socket
            .send_to(b"hello", ("198.51.100.1", external))
            .unwrap();
    });
    sent.unwrap();
    inside.recv(&mut [0; 16]).is_ok()
}

#[test]
fn natpmpc_gets_the_address_and_a_mapping_and_ends_it() {
    if !have(&["natpmpc"]) {
        return;
    }
    let Some((kernels, ports)) = kernels(&[INSIDE, OUTSIDE]) else {
        return;
    };
    let router = run(config(nat::Config::default()), ports);
    let text = kernels.output(0, "natpmpc -g 10.0.0.1");
    assert!(text.contains("Public IP address : 198.51.100.1"), "{text}");
    assert!(!reaches(&kernels, 40_000, 4_000));
    let text = kernels.output(0, "natpmpc -g 10.0.0.1 -a 40000 4000 udp 600");
    let granted = "Mapped public port 40000 protocol UDP to local port 4000 liftime 600";
    assert!(text.contains(granted), "{text}");
    assert!(reaches(&kernels, 40_000, 4_000));
    kernels.output(0, "natpmpc -g 10.0.0.1 -a 0 4000 udp 0");
    assert!(!reaches(&kernels, 40_000, 4_000));
    kernels.end();
    let outcome = router.join().unwrap();
    assert_eq!(counter(&outcome, "port_mapping_granted"), 2);
}
