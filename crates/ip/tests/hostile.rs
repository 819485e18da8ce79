//! A peer that sends random frames costs bounded memory and gets back a bounded number of bytes.

use crate::frames::*;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use ip::interface::{Config, Received};
use node::random::Random;
use node::{Frame, Time, When};
use packet::icmpv6::Icmpv6;

/// Minimum length of a frame on a wire without its FCS, bytes.
const MIN_FRAME: usize = 60;

/// Bytes of an Ethernet frame on a link.
fn wire(frame: &[u8]) -> usize {
    frame.len().max(MIN_FRAME)
}

fn source(random: &mut Random, v4: bool) -> IpAddr {
    let number = random.bits() as u32;
    match v4 {
        true if random.chance(0.8) => Ipv4Addr::from_bits(0x0A00_0000 | number & 0xFF).into(),
        true => Ipv4Addr::from_bits(number).into(),
        false if random.chance(0.1) => Ipv6Addr::UNSPECIFIED.into(),
        false => Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, number as u16).into(),
    }
}

/// A frame of a kind that an interface looks at; some are damaged afterwards.
fn random_frame(random: &mut Random) -> Vec<u8> {
    let is_v4 = random.chance(0.5);
    let from = source(random, is_v4);
    let own = if is_v4 { v4(2) } else { v6(2) };
    let groups = ["10.0.0.255", "224.0.0.1", "ff02::1", "ff02::1:ff00:2"];
    let group: IpAddr = groups[random.below(2) as usize + 2 * usize::from(!is_v4)]
        .parse()
        .unwrap();
    let to = if random.chance(0.8) { own } else { group };
    let mac = match random.below(10) {
        0 => BROADCAST,
        1 => [0x33, 0x33, 0, 0, 0, 1],
        _ => OWN,
    };
    let max = if random.chance(0.1) { 1_400 } else { 40 };
    let data: Vec<u8> = (0..random.below(max))
        .map(|_| random.bits() as u8)
        .collect();
    let low = random.bits() as u8;
    let mut frame = match random.below(9) {
        0 => arp([2, 0, 0, 0, 1, low], [10, 0, 0, low], [10, 0, 0, 2]),
        1 => echo(mac, from, to, &data),
        2 => udp(mac, from, to, [low.into(), 7], &data),
        3 => udp(mac, from, to, [1, 5_000 + u16::from(low)], &data),
        4 => packet(mac, from, to, low, 64, &data),
        5 | 6 => {
            // Pieces of packets that are never whole, and some that are.
            let whole = Frame::new(&echo(mac, from, to, &[low; 3_000]));
            let identification = random.below(50) as u32;
            let mtu = if is_v4 { 576 } else { 1_280 };
            let mut pieces = Vec::new();
            let mut out = node::Out::default();
            ip::fragments::cut(whole, mtu, identification, &mut out, |one, _| {
                pieces.push(one.to_vec());
            });
            pieces.swap_remove(random.index(pieces.len()))
        }
        7 => {
            let target = "fd00::2".parse().unwrap();
            let IpAddr::V6(from) = source(random, false) else {
                unreachable!()
            };
            let group = ip::discovery::solicited_node(target);
            let message = match random.chance(0.5) {
                true => Icmpv6::NeighbourSolicitation { target },
                false => Icmpv6::NeighbourAdvertisement {
                    target: from,
                    flags: low & 7,
                },
            };
            let option = [1 + random.below(2) as u8, 1, 2, 0, 0, 0, 0, low];
            let options = if random.chance(0.7) { &option[..] } else { &[] };
            discovery(from, group, message, options)
        }
        _ => (0..random.below(200))
            .map(|_| random.bits() as u8)
            .collect(),
    };
    if random.chance(0.2) && !frame.is_empty() {
        let at = random.index(frame.len());
        frame[at] = random.bits() as u8;
    }
    frame
}

/// Delivers `count` random frames, at most `step_us` apart, to a host that replies to every packet if `replies`. Returns the bytes
/// received and sent.
fn attack(count: u64, step_us: u64, replies: bool, seed: u64) -> [usize; 2] {
    let mut random = Random::new(seed);
    let mut hand = Hand::new(Config {
        detects_duplicates: false,
        reachable: Some(Time::from_secs(30)),
        ..config()
    });
    let [mut came, mut left] = [0; 2];
    for _ in 0..count {
        let end = hand.now + Time::from_us(random.below(step_us));
        left += hand
            .until(end)
            .iter()
            .map(|(_, one)| wire(one))
            .sum::<usize>();
        let frame = random_frame(&mut random);
        came += wire(&frame);
        let now = hand.now;
        let received = hand
            .interface
            .handle_frame(now, Frame::new(&frame), &mut hand.out);
        match received {
            Received::Packet(frame, packet) if replies => {
                // As a TCP listener does that answers forged connections.
                let reply = udp(OWN, packet.destination, packet.source, [1, 2], b"reply");
                let reply = Frame::new(&reply);
                hand.interface
                    .send(now, packet.source, When::Now, reply, &mut hand.out);
                hand.out.done(frame);
            }
            Received::Packet(frame, packet) => {
                hand.interface.unclaimed(now, frame, &packet, &mut hand.out);
            }
            Received::Other(frame) => hand.out.done(frame),
            Received::Consumed => {}
        }
        left += hand.out.sends().map(|one| wire(&one.frame)).sum::<usize>();
        let bound = ip::neighbours::MAX_WAITING_BYTES + ip::fragments::MAX_BYTES;
        assert!(hand.interface.waiting_bytes() <= bound);
    }
    let end = hand.now + Time::from_secs(100);
    left += hand
        .until(end)
        .iter()
        .map(|(_, one)| wire(one))
        .sum::<usize>();
    // Nothing of it stays.
    assert_eq!(hand.interface.waiting_bytes(), 0);
    assert!(hand.interface.neighbours() <= ip::neighbours::MAX_NEIGHBOURS);
    [came, left]
}

fn check(count: u64) {
    for (seed, step_us) in [(1, 2), (2, 1_000), (3, 50_000)] {
        let [came, left] = attack(count, step_us, false, seed);
        // An answer is at most its request and an error's headers.
        assert!(left < came, "{left} bytes for {came}");
        let [came, left] = attack(count, step_us, true, seed);
        // Three questions for a forged neighbour, by multicast or, for one that was known, by unicast.
        assert!(left < 4 * came, "{left} bytes for {came}");
    }
}

#[test]
fn random_frames_cost_bounded_memory_and_bytes() {
    check(20_000);
}

#[test]
#[ignore = "a million frames six times: a minute"]
fn a_million_random_frames_cost_bounded_memory_and_bytes() {
    check(1_000_000);
}

#[test]
fn memory_of_a_flood_of_fragments_and_packets_without_a_receiver_is_bounded() {
    let mut hand = Hand::new(config());
    let whole = echo(OWN, v4(1), v4(2), &[0; 3_000]);
    for number in 0..20_000_u32 {
        let mut first = None;
        let mut out = node::Out::default();
        ip::fragments::cut(Frame::new(&whole), 1_500, number, &mut out, |one, _| {
            first.get_or_insert(one.to_vec());
        });
        hand.frame(&first.unwrap());
        let [_, _, high, low] = number.to_be_bytes();
        let silent = IpAddr::from([10, 0, 0, 3 + low % 200]);
        hand.send(
            silent,
            &udp(OWN, v4(2), silent, [high.into(), 2], &[0; 1_400]),
        );
    }
    let bound = ip::neighbours::MAX_WAITING_BYTES + ip::fragments::MAX_BYTES;
    assert!(hand.interface.waiting_bytes() <= bound);
    assert!(hand.interface.waiting_bytes() > bound / 2);
    hand.until(Time::from_secs(40));
    assert_eq!(hand.interface.waiting_bytes(), 0);
}
