//! Redirects of IPv6: conditions, content and limits.

use super::{Kernel, ours, peer_mac, router, router_mac};
use node::random::Random;
use packet::checksum::Sum;
use std::net::Ipv6Addr;

const REDIRECT: u8 = 137;

/// A packet of UDP from a host on the link of a port.
fn packet(port: usize, host: u8, source: Ipv6Addr, destination: Ipv6Addr, size: usize) -> Vec<u8> {
    let mut udp = vec![4, 0, 0, 53, 0, 0, 0, 0];
    udp.resize(8 + size, 0x55);
    let length = udp.len() as u16;
    udp[4..6].copy_from_slice(&length.to_be_bytes());
    let pseudo = ip::header::pseudo(source.into(), destination.into(), 17);
    let sum: Sum = pseudo.sum(udp.len()).plus(&udp);
    udp[6..8].copy_from_slice(&sum.udp_checksum().to_be_bytes());
    let mut frame = Vec::new();
    frame.extend(router_mac(port));
    frame.extend(peer_mac(port, host));
    frame.extend([0x86, 0xDD, 0x60, 0, 0, 0]);
    frame.extend(length.to_be_bytes());
    frame.extend([17, 64]);
    frame.extend(source.octets());
    frame.extend(destination.octets());
    frame.extend(udp);
    frame
}

fn host(port: usize, host: u8) -> Ipv6Addr {
    Ipv6Addr::new(0xFD00, port as u16, 0, 0, 0, 0, 0, host.into())
}

fn count(all: &[Vec<Vec<u8>>]) -> usize {
    let frames = all.iter().flatten();
    frames
        .filter(|frame| frame[12..14] == [0x86, 0xDD] && frame[54] == REDIRECT)
        .count()
}

fn kernel() -> Option<Kernel> {
    match Kernel::new() {
        Ok(kernel) => Some(kernel),
        Err(error) => {
            println!("skipped: redirects of a kernel: {error}");
            None
        }
    }
}

#[test]
fn redirects_of_ipv6_are_those_of_linux_byte_for_byte() {
    let Some(mut kernel) = kernel() else {
        return;
    };
    let mut router = router();
    let mut random = Random::new(5);
    let (mut redirects, mut different) = (0, 0);
    // Each address is six times a sender and six times a destination, and has six tokens for both. A ring of seven hosts is done
    // before Linux gives a new token, after a second.
    for ring in 0..24_u8 {
        let (port, first) = (usize::from(ring / 8), 2 + ring % 8 * 7);
        for turn in 0..6 {
            for index in 0..7 {
                let (number, other) = (first + index, first + (index + 1 + turn) % 7);
                let size = [0, 1, 7, 8, 64, 500, 1100, 1150, 1232][random.index(9)];
                let frame = packet(port, number, host(port, number), host(port, other), size);
                let theirs = kernel.answers(port, &frame);
                let (ours, drops) = ours(&mut router, port, &frame);
                redirects += count(&theirs);
                if theirs != ours {
                    different += 1;
                    if different < 5 {
                        println!(
                            "{port} {number} {other} {size} {drops:?}\n{theirs:02x?}\n{ours:02x?}"
                        );
                    }
                }
            }
        }
    }
    assert_eq!(different, 0);
    assert_eq!(redirects, 24 * 7 * 3);
}

#[test]
fn redirects_of_ipv6_need_a_neighbour_and_a_link_local_next_hop_as_in_linux() {
    let Some(mut kernel) = kernel() else {
        return;
    };
    let mut router = router();
    let address = |text: &str| text.parse::<Ipv6Addr>().expect("an address");
    for (port, source, destination, redirects) in [
        // The next hop is a router of which only a global address is known.
        (1, host(1, 9), address("fd09::1"), 0),
        (2, host(2, 9), address("fd08::1"), 0),
        // Its link-local address is known.
        (2, host(2, 9), address("fd0b::1"), 1),
        // The sender is behind a router, has no route, or has no address.
        (2, address("fd08::9"), address("fd0b::1"), 0),
        (2, address("2001:db8::9"), address("fd0b::1"), 0),
        (2, address("::"), address("fd0b::1"), 0),
        // The sender has only a link-local address: it may be sent on by its own link alone.
        (2, address("fe80::7"), address("fd0b::1"), 1),
        (1, address("fe80::7"), host(1, 5), 1),
        (1, address("fe80::7"), address("fd0b::1"), 0),
        // The sender's address is on another link, and the redirect leaves there.
        (2, host(1, 9), address("fd0b::1"), 1),
        (0, host(2, 9), host(0, 5), 1),
        // Another link.
        (1, host(1, 9), address("fd0b::1"), 0),
    ] {
        let frame = packet(port, 7, source, destination, 64);
        let theirs = kernel.answers(port, &frame);
        let (ours, drops) = ours(&mut router, port, &frame);
        assert_eq!(theirs, ours, "{source} {destination} {drops:?}");
        assert_eq!(count(&theirs), redirects, "{source} {destination}");
    }
}

#[test]
fn redirects_of_ipv6_are_limited_by_destination_and_sender_as_in_linux() {
    for one_sender in [true, false] {
        let Some(mut kernel) = kernel() else {
            return;
        };
        let mut router = router();
        let begin = ::capture::clock::now_ns();
        let mut counts = [0, 0];
        for number in 0..20_u8 {
            let ends = match one_sender {
                true => (host(0, 2), host(0, 10 + number)),
                false => (host(0, 10 + number), host(0, 2)),
            };
            let frame = packet(0, 2, ends.0, ends.1, 10);
            counts[0] += count(&kernel.answers(0, &frame));
            counts[1] += count(&ours(&mut router, 0, &frame).0);
        }
        // Linux's clock goes on, ours stands.
        let passed = ((::capture::clock::now_ns() - begin) / 1_000_000_000) as usize;
        assert_eq!(counts[1], 6);
        assert!((6..=7 + passed).contains(&counts[0]), "{counts:?} {passed}");
    }
}
