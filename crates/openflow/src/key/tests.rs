use super::*;
use alloc::vec::Vec;
use packet::ethernet::{Ethernet, Mac, ethertype};
use packet::ipv4::{Ipv4, protocol};

const DESTINATION: u128 = 0x0200_0000_0002;

fn ethernet(kind: u16) -> Vec<u8> {
    let mut frame = Vec::new();
    Ethernet {
        destination: Mac([2, 0, 0, 0, 0, 2]),
        source: Mac([2, 0, 0, 0, 0, 1]),
        tags: &[],
        ethertype: kind,
    }
    .build(&mut frame, |_| {});
    frame
}

fn key_of(frame: &[u8]) -> Key {
    extract(frame, 3).0
}

/// IPv6 from ::1 to ::2 with these headers behind.
fn ipv6(next: u8, rest: &[u8]) -> Vec<u8> {
    let mut frame = ethernet(0x86DD);
    frame.extend([0x6B, 0x91, 0x23, 0x45]);
    frame.extend((rest.len() as u16).to_be_bytes());
    frame.extend([next, 64]);
    frame.extend([[0; 15].as_slice(), &[1], &[0; 15], &[2]].concat());
    frame.extend(rest);
    frame
}

#[test]
fn tcp_over_ipv4_behind_a_tag_is_read() {
    let mut frame = ethernet(0x8100);
    frame.extend([0xB0, 0x64, 0x08, 0x00]);
    let ip = Ipv4::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), protocol::TCP);
    ip.build(&mut frame, |out| {
        out.extend([0x12, 0x34, 0x00, 0x50]);
        out.extend([0; 16]);
    });
    let tos = 14 + 4 + 1;
    frame[tos] = 0x2E << 2 | 1;
    let (key, layers) = extract(&frame, 3);
    for (field, value) in [
        (Field::InPort, 3),
        (Field::InPhyPort, 3),
        (Field::EthDst, DESTINATION),
        (Field::EthSrc, 0x0200_0000_0001),
        (Field::EthType, 0x0800),
        (Field::VlanVid, 0x1064),
        (Field::VlanPcp, 5),
        (Field::IpDscp, 0x2E),
        (Field::IpEcn, 1),
        (Field::IpProto, 6),
        (Field::Ipv4Src, 0x0A00_0001),
        (Field::Ipv4Dst, 0x0A00_0002),
        (Field::TcpSrc, 0x1234),
        (Field::TcpDst, 80),
    ] {
        assert_eq!(key.get(field), value, "{field:?}");
    }
    assert_eq!((layers.network_at, layers.transport_at), (18, 38));
    assert_eq!((layers.network, layers.tags), (Network::Ipv4, 1));
}

#[test]
fn the_outermost_of_several_tags_counts_and_the_type_is_behind_the_last() {
    let mut frame = ethernet(0x88A8);
    frame.extend([0x00, 0x07, 0x81, 0x00, 0x20, 0x09, 0x12, 0x34, 0]);
    let (key, layers) = extract(&frame, 1);
    assert_eq!(key.get(Field::VlanVid), 0x1007);
    assert_eq!(key.get(Field::EthType), 0x1234);
    assert_eq!((layers.tags, layers.network_at), (2, 22));
}

#[test]
fn a_fragment_has_no_ports() {
    for (flags, at) in [([0x20, 0x00], 34), ([0x00, 0x01], 0), ([0x20, 0x10], 0)] {
        let mut frame = ethernet(ethertype::IPV4);
        let ip = Ipv4::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), protocol::UDP);
        ip.build(&mut frame, |out| out.extend([1; 20]));
        frame[20..22].copy_from_slice(&flags);
        let (key, layers) = extract(&frame, 1);
        assert_eq!(key.get(Field::IpProto), 17);
        assert_eq!((key.get(Field::UdpSrc), key.get(Field::UdpDst)), (0, 0));
        assert!(layers.fragment);
        assert_eq!(layers.transport_at, at);
    }
}

#[test]
fn arp_is_read() {
    let mut frame = ethernet(ethertype::ARP);
    frame.extend([0, 1, 8, 0, 6, 4, 0, 2]);
    frame.extend([1, 2, 3, 4, 5, 6, 10, 0, 0, 1]);
    frame.extend([7, 8, 9, 10, 11, 12, 10, 0, 0, 2]);
    let key = key_of(&frame);
    assert_eq!(key.get(Field::ArpOp), 2);
    assert_eq!(key.get(Field::ArpSpa), 0x0A00_0001);
    assert_eq!(key.get(Field::ArpTpa), 0x0A00_0002);
    assert_eq!(key.get(Field::ArpSha), 0x0102_0304_0506);
    assert_eq!(key.get(Field::ArpTha), 0x0708_090A_0B0C);
}

#[test]
fn labels_and_services_are_read() {
    let mut frame = ethernet(0x8847);
    frame.extend([0x12, 0x34, 0x5B, 64]);
    let key = key_of(&frame);
    assert_eq!(key.get(Field::MplsLabel), 0x12345);
    assert_eq!((key.get(Field::MplsTc), key.get(Field::MplsBos)), (5, 1));
    let mut frame = ethernet(0x88E7);
    frame.extend([0x00, 0xAB, 0xCD, 0xEF]);
    assert_eq!(key_of(&frame).get(Field::PbbIsid), 0xAB_CDEF);
}

#[test]
fn neighbour_discovery_is_read() {
    for (kind, option, field) in [(135, 1, Field::Ipv6NdSll), (136, 2, Field::Ipv6NdTll)] {
        let mut message = [kind, 0, 0, 0, 0, 0, 0, 0].to_vec();
        message.extend([[0xFE; 15].as_slice(), &[9]].concat());
        message.extend([option, 1, 1, 2, 3, 4, 5, 6]);
        let (key, layers) = extract(&ipv6(58, &message), 1);
        assert_eq!(key.get(Field::Ipv6Flabel), 0x12345);
        assert_eq!(key.get(Field::IpDscp), 0xB9 >> 2);
        assert_eq!((key.get(Field::Ipv6Src), key.get(Field::Ipv6Dst)), (1, 2));
        assert_eq!(key.get(Field::Icmpv6Type), u128::from(kind));
        assert_eq!(key.get(Field::Ipv6NdTarget) & 0xFF, 9);
        assert_eq!(key.get(field), 0x0102_0304_0506);
        assert_eq!(layers.nd_option_at, 14 + 40 + 24);
    }
}

#[test]
fn extension_headers_are_told() {
    let options = |next| [next, 0, 1, 4, 0, 0, 0, 0];
    let udp = [0, 7, 0, 8, 0, 8, 0, 0];
    let chain = |headers: &[(u8, u8)]| {
        let mut rest = Vec::new();
        for &(_, next) in headers {
            rest.extend(options(next));
        }
        rest.extend(udp);
        ipv6(headers[0].0, &rest)
    };
    use exthdr::*;
    let cases: [(&[(u8, u8)], u16); 5] = [
        (&[(0, 17)], HOP),
        (
            &[(0, 60), (60, 43), (43, 60), (60, 17)],
            HOP | DEST | ROUTER,
        ),
        (&[(0, 0), (0, 17)], HOP | UNREP),
        (&[(43, 0), (0, 17)], HOP | ROUTER | UNSEQ),
        (&[(60, 60), (60, 60), (60, 17)], DEST | UNREP),
    ];
    for (headers, bits) in cases {
        let key = key_of(&chain(headers));
        assert_eq!(key.get(Field::Ipv6Exthdr), u128::from(bits), "{headers:?}");
        assert_eq!((key.get(Field::IpProto), key.get(Field::UdpDst)), (17, 8));
    }
    assert_eq!(
        key_of(&ipv6(59, &[])).get(Field::Ipv6Exthdr),
        u128::from(NONEXT)
    );
}

#[test]
fn a_length_in_place_of_a_type_is_no_type_but_snap_has_one() {
    let mut frame = ethernet(60);
    frame.extend([0x42, 0x42, 3, 0, 0, 0, 0, 0]);
    assert_eq!(
        key_of(&frame).get(Field::EthType),
        u128::from(NOT_ETHERTYPE)
    );
    frame[14..22].copy_from_slice(&[0xAA, 0xAA, 3, 0, 0, 0, 0x12, 0x34]);
    assert_eq!(key_of(&frame).get(Field::EthType), 0x1234);
}

#[test]
fn no_prefix_of_a_frame_is_too_short_to_read() {
    let mut message = [135, 0, 0, 0, 0, 0, 0, 0].to_vec();
    message.extend([0xFE; 16]);
    message.extend([1, 1, 1, 2, 3, 4, 5, 6]);
    let frame = ipv6(58, &message);
    for end in 0..=frame.len() {
        extract(&frame[..end], 1);
    }
}

#[test]
fn every_field_keeps_its_value_and_leaves_its_neighbours_alone() {
    for &field in &Field::ALL {
        let ones = u128::MAX >> (128 - u32::from(field.bits()));
        let mut key = Key::ZERO;
        key.set(field, u128::MAX);
        assert_eq!(key.get(field), ones, "{field:?}");
        let count: u32 = key.0.iter().map(|word| word.count_ones()).sum();
        assert_eq!(count, u32::from(field.bits()), "{field:?}");
        let mut key = Key([u64::MAX; WORDS]);
        key.set(field, 0);
        let count: u32 = key.0.iter().map(|word| word.count_zeros()).sum();
        assert_eq!(count, u32::from(field.bits()), "{field:?}");
    }
}

#[test]
fn patterns_match_cover_and_overlap() {
    let net = Pattern::default().with(Field::EthType, 0x0800).with_masked(
        Field::Ipv4Dst,
        0x0A00_0000,
        0xFF00_0000,
    );
    let host = Pattern::default()
        .with(Field::EthType, 0x0800)
        .with(Field::Ipv4Dst, 0x0A00_0002);
    let port = Pattern::default().with(Field::InPort, 1);
    assert!(net.covers(&host) && !host.covers(&net));
    assert!(net.overlaps(&port) && !net.covers(&port));
    let other = Pattern::default()
        .with(Field::EthType, 0x0800)
        .with(Field::Ipv4Dst, 0x0B00_0002);
    assert!(!net.overlaps(&other));
    assert!(net.matches(&host.value) && !net.matches(&other.value));
}
