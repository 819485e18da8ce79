//! The order of checks: a used up hop limit next to routes that refuse, links that are too short, and redirects.

use super::{Kernel, ours, peer_mac, router, router_mac};
use packet::checksum::checksum;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A packet of protocol 200, which no host answers to, from a host on the link of port 0.
fn packet(source: IpAddr, destination: IpAddr, hops: u8, size: usize) -> Vec<u8> {
    let mut frame = Vec::new();
    frame.extend(router_mac(0));
    frame.extend(peer_mac(0, 7));
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let mut ip = vec![0x45, 0, 0, 0, 0, 1, 0x40, 0, hops, 200, 0, 0];
            ip[2..4].copy_from_slice(&(20 + size as u16).to_be_bytes());
            ip.extend(source.octets());
            ip.extend(destination.octets());
            let sum = checksum(&ip);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
            frame.extend([8, 0]);
            frame.extend(ip);
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            frame.extend([0x86, 0xDD, 0x60, 0, 0, 0]);
            frame.extend((size as u16).to_be_bytes());
            frame.extend([200, hops]);
            frame.extend(source.octets());
            frame.extend(destination.octets());
        }
        _ => unreachable!("addresses of one version"),
    }
    frame.resize(frame.len() + size, 0xAA);
    frame
}

#[test]
fn the_first_of_several_reasons_to_refuse_is_that_of_linux() {
    let mut kernel = match Kernel::new() {
        Ok(kernel) => kernel,
        Err(error) => return println!("skipped: the order of a kernel's checks: {error}"),
    };
    let mut router = router();
    let mut seen = Vec::new();
    // Blackhole, unreachable, prohibit, no route; a rule that refuses; other links, one of them short; back by the same link.
    let four = [
        "10.7.1.1",
        "10.6.1.1",
        "10.5.1.1",
        "198.51.100.1",
        "10.3.0.1",
        "10.9.1.1",
        "10.8.1.1",
        "10.4.1.1",
        "10.0.0.9",
        "10.0.0.1",
    ];
    let six = [
        "fd07::1",
        "fd06::1",
        "fd05::1",
        "2001:db8::1",
        "fd09::1",
        "fd08::1",
        "fd00::9",
        "fd00::1",
    ];
    let mut sender = 2_u16;
    for hops in [0, 1, 2, 64] {
        for size in [40, 1300, 1450] {
            for destination in four.iter().chain(&six) {
                // A redirect of IPv6 is not compared: Linux without a limit of errors takes away its tokens with each error.
                if *destination == "fd00::9" && hops > 1 {
                    continue;
                }
                // A sender of its own for each: limits of errors do not matter.
                sender = 2 + (sender - 1) % 58;
                let destination: IpAddr = destination.parse().expect("an address");
                let source = match destination {
                    IpAddr::V4(_) => Ipv4Addr::new(10, 0, 0, sender as u8).into(),
                    IpAddr::V6(_) => Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, sender).into(),
                };
                let frame = packet(source, destination, hops, size);
                let theirs = kernel.answers(0, &frame);
                let (ours, drops) = ours(&mut router, 0, &frame);
                assert_eq!(
                    theirs, ours,
                    "{source} {destination} {hops} {size} {drops:?}"
                );
                if let [frame] = &theirs[0][..]
                    && (hops, size) == (1, 40)
                {
                    let at = if destination.is_ipv4() { 34 } else { 54 };
                    seen.push((destination.to_string(), [frame[at], frame[at + 1]]));
                }
            }
        }
    }
    // Without a route the hop limit does not matter; with one it comes first.
    let of = |address: &str| {
        seen.iter()
            .find(|(to, _)| to == address)
            .map(|(_, kind)| *kind)
    };
    assert_eq!(of("198.51.100.1"), Some([3, 0]));
    assert_eq!(of("10.6.1.1"), Some([3, 1]));
    assert_eq!(of("10.9.1.1"), Some([11, 0]));
    assert_eq!(of("10.0.0.9"), Some([11, 0]));
    assert_eq!(of("2001:db8::1"), Some([1, 0]));
    assert_eq!(of("fd09::1"), Some([3, 0]));
}
