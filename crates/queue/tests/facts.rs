//! Facts of frames.

use queue::{Ecn, Facts};

/// An IPv4 packet with a TOS byte, from one port to another.
fn ipv4(tos: u8, ports: [u8; 2]) -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[12..16].copy_from_slice(&[8, 0, 0x45, tos]);
    frame[16..18].copy_from_slice(&46_u16.to_be_bytes());
    frame[22..24].copy_from_slice(&[64, 17]);
    frame[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    frame[35] = ports[0];
    frame[37] = ports[1];
    frame
}

fn tagged(mut frame: Vec<u8>, priority: u8) -> Vec<u8> {
    frame.splice(12..12, [0x81, 0, priority << 5, 7]);
    frame
}

#[test]
fn dscp_ecn_and_priority_come_from_the_traffic_class() {
    for tos in 0..=255 {
        let facts = Facts::of(&ipv4(tos, [1, 2]));
        assert_eq!((facts.dscp, facts.priority), (tos >> 2, tos >> 5));
        assert_eq!(facts.ecn, Ecn::from_bits(tos));
    }
    let mut frame = [0; 60];
    // EF and ECT(1) in IPv6: the traffic class is across two bytes.
    frame[12..16].copy_from_slice(&[0x86, 0xDD, 0x6B, 0x90]);
    let facts = Facts::of(&frame);
    assert_eq!((facts.dscp, facts.ecn), (46, Ecn::Ect1));
}

#[test]
fn a_tag_gives_the_priority_and_hides_no_other_fact() {
    let plain = Facts::of(&ipv4(0xB8, [1, 2]));
    for priority in 0..8 {
        let facts = Facts::of(&tagged(ipv4(0xB8, [1, 2]), priority));
        assert_eq!(facts, Facts { priority, ..plain });
    }
}

#[test]
fn flows_differ_by_ports_and_hosts_do_not() {
    let [a, b] = [[1, 2], [1, 3]].map(|ports| Facts::of(&ipv4(0, ports)));
    assert_ne!(a.flow, b.flow);
    assert_eq!((a.source, a.destination), (b.source, b.destination));
    assert_ne!(a.source, a.destination);
    let mut frame = ipv4(0, [2, 1]);
    frame[26..34].rotate_left(4);
    let back = Facts::of(&frame);
    assert_eq!((back.source, back.destination), (a.destination, a.source));
}

#[test]
fn every_slice_has_facts() {
    let frame = tagged(ipv4(0xFF, [1, 2]), 5);
    for len in 0..frame.len() {
        let facts = Facts::of(&frame[..len]);
        assert!(facts.priority < 8 && facts.dscp < 64);
    }
    let mut arp = vec![0; 60];
    arp[12..14].copy_from_slice(&[8, 6]);
    assert_eq!(Facts::of(&arp), Facts::default());
}
