use super::*;
use crate::key::{Field, Layers, extract};
use alloc::vec::Vec;
use node::Frame;
use packet::checksum::Pseudo;
use packet::ethernet::{Ethernet, Mac, ethertype};
use packet::ipv4::{Ipv4, Ipv4View, protocol};
use packet::udp::Udp;

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

fn udp4() -> Frame {
    let mut frame = ethernet(ethertype::IPV4);
    let ip = Ipv4::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), protocol::UDP);
    let udp = Udp {
        source_port: 4000,
        destination_port: 53,
    };
    ip.build(&mut frame, |out| {
        udp.build(ip.pseudo(), out, |out| {
            out.extend(b"a question of some length")
        });
    });
    Frame::new(&frame)
}

/// IPv6 from 10::1 to 10::2 with a transport header whose checksum, at `sum`, is right.
fn ip6(next: u8, transport: &[u8], sum: usize) -> Frame {
    let mut source = [0; 16];
    (source[1], source[15]) = (16, 1);
    let mut frame = ethernet(0x86DD);
    frame.extend([0x60, 0, 0, 0]);
    frame.extend((transport.len() as u16).to_be_bytes());
    frame.extend([next, 64]);
    frame.extend(source);
    source[15] = 2;
    frame.extend(source);
    frame.extend(transport);
    frame[54 + sum..54 + sum + 2].fill(0);
    let valid = sum6(&frame).udp_checksum();
    frame[54 + sum..54 + sum + 2].copy_from_slice(&valid.to_be_bytes());
    Frame::new(&frame)
}

fn sum6(frame: &[u8]) -> packet::checksum::Sum {
    let pseudo = Pseudo::ipv6(
        frame[22..38].try_into().unwrap(),
        frame[38..54].try_into().unwrap(),
        frame[20],
    );
    pseudo.sum(frame.len() - 54).plus(&frame[54..])
}

fn layers(frame: &[u8]) -> Layers {
    extract(frame, 1).1
}

fn is_right4(frame: &[u8]) -> bool {
    let at = usize::from(layers(frame).network_at);
    let ip = Ipv4View::new(&frame[at..]).unwrap();
    let udp = packet::udp::UdpView::new(ip.payload()).unwrap();
    ip.is_checksum_valid() && udp.is_checksum_valid(ip.pseudo())
}

#[test]
fn every_field_of_udp_over_ipv4_is_set_and_the_checksums_stay_right() {
    for (field, value) in [
        (Field::EthDst, 0x0A0B_0C0D_0E0F),
        (Field::EthSrc, 0x0102_0304_0506),
        (Field::IpDscp, 46),
        (Field::IpEcn, 2),
        (Field::Ipv4Src, 0xC0A8_0001),
        (Field::Ipv4Dst, 0xFFFF_FFFF),
        (Field::UdpSrc, 0xFFFF),
        (Field::UdpDst, 0),
    ] {
        let mut frame = udp4();
        let before = extract(&frame, 1).0;
        set_field(&mut frame, &layers(&udp4()), field, value);
        let (key, layers) = extract(&frame, 1);
        let mut expected = before;
        expected.set(field, value);
        assert_eq!(key, expected, "{field:?}");
        assert!(is_right4(&frame), "{field:?}");
        assert_eq!(layers, self::layers(&udp4()));
    }
}

#[test]
fn udp_without_a_checksum_stays_without() {
    let mut frame = udp4();
    frame[40..42].fill(0);
    let layers = layers(&frame);
    set_field(&mut frame, &layers, Field::Ipv4Dst, 0x0B00_0001);
    set_field(&mut frame, &layers, Field::UdpDst, 99);
    assert_eq!(frame[40..42], [0, 0]);
    assert!(is_right4(&frame));
}

#[test]
fn a_udp_checksum_that_comes_out_as_zero_is_written_as_ones() {
    let mut frame = udp4();
    let layers = layers(&frame);
    // The destination port that makes the sum zero is what is missing to it.
    let sum = u16::from_be_bytes(pair(&frame, 40));
    let port = u16::from_be_bytes(pair(&frame, 36));
    let (new, carry) = port.overflowing_add(sum);
    set_field(
        &mut frame,
        &layers,
        Field::UdpDst,
        (new + u16::from(carry)).into(),
    );
    assert_eq!(frame[40..42], [0xFF, 0xFF]);
    assert!(is_right4(&frame));
}

#[test]
fn in_fragments_the_first_is_mended_and_later_ones_have_no_ports() {
    let mut first = udp4();
    first[20] = 0x20;
    let before = u16::from_be_bytes(pair(&first, 40));
    let layers_of = layers(&first);
    set_field(&mut first, &layers_of, Field::Ipv4Dst, 0x0A00_0003);
    // The destination has become higher by one, and the sum lower.
    assert_eq!(u16::from_be_bytes(pair(&first, 40)), before - 1);
    let mut later = udp4();
    later[21] = 5;
    let copy = later.clone();
    let layers_of = layers(&later);
    set_field(&mut later, &layers_of, Field::UdpDst, 9);
    assert_eq!(later, copy);
    set_field(&mut later, &layers_of, Field::Ipv4Dst, 0x0A00_0003);
    assert_eq!(later[34..], copy[34..]);
}

#[test]
fn ipv6_fields_are_set_and_the_checksums_stay_right() {
    let udp = [0x0F, 0xA0, 0, 53, 0, 12, 0, 0, 1, 2, 3, 4];
    let mut solicitation = [135, 0, 0, 0, 0, 0, 0, 0].to_vec();
    solicitation.extend([0x20; 16]);
    solicitation.extend([1, 1, 1, 2, 3, 4, 5, 6]);
    let mut advertisement = solicitation.clone();
    (advertisement[0], advertisement[24]) = (136, 2);
    let tcp = [[0x0F, 0xA0, 0, 53].as_slice(), &[0x50; 16]].concat();
    let address = 0xFE80_0000_0000_0000_1234_5678_9ABC_DEF0;
    for (frame, field, value) in [
        (ip6(17, &udp, 6), Field::Ipv6Src, address),
        (ip6(17, &udp, 6), Field::Ipv6Dst, address),
        (ip6(17, &udp, 6), Field::UdpSrc, 1),
        (ip6(17, &udp, 6), Field::Ipv6Flabel, 0xABCDE),
        (ip6(17, &udp, 6), Field::IpDscp, 46),
        (ip6(17, &udp, 6), Field::IpEcn, 3),
        (ip6(6, &tcp, 16), Field::TcpDst, 80),
        (ip6(6, &tcp, 16), Field::Ipv6Dst, address),
        (ip6(58, &solicitation, 2), Field::Ipv6Src, address),
        (ip6(58, &solicitation, 2), Field::Ipv6NdTarget, address),
        (
            ip6(58, &solicitation, 2),
            Field::Ipv6NdSll,
            0x0A0B_0C0D_0E0F,
        ),
        (
            ip6(58, &advertisement, 2),
            Field::Ipv6NdTll,
            0x0A0B_0C0D_0E0F,
        ),
        (ip6(58, &[128, 0, 0, 0, 1, 2], 2), Field::Icmpv6Type, 129),
        (ip6(58, &[128, 0, 0, 0, 1, 2], 2), Field::Icmpv6Code, 7),
    ] {
        assert!(sum6(&frame).is_valid());
        let (mut expected, layers) = extract(&frame, 1);
        let mut frame = frame;
        set_field(&mut frame, &layers, field, value);
        expected.set(field, value);
        assert_eq!(extract(&frame, 1).0, expected, "{field:?}");
        assert!(sum6(&frame).is_valid(), "{field:?}");
    }
}

#[test]
fn sctp_ports_are_set_with_their_crc() {
    let mut frame = ethernet(ethertype::IPV4);
    let ip = Ipv4::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 132);
    ip.build(&mut frame, |out| {
        out.extend([0, 7, 0, 9, 1, 2, 3, 4, 0, 0, 0, 0, 5, 6, 7, 8])
    });
    let right = |frame: &[u8]| field::sctp_checksum(&frame[34..50]).to_le_bytes() == frame[42..46];
    let crc = field::sctp_checksum(&frame[34..50]);
    frame[42..46].copy_from_slice(&crc.to_le_bytes());
    // Padding of a short frame is not covered.
    frame.resize(60, 0xEE);
    let layers = layers(&frame);
    set_field(&mut frame, &layers, Field::SctpDst, 0x1234);
    assert_eq!(pair(&frame, 36), [0x12, 0x34]);
    assert!(right(&frame));
}

#[test]
fn vlan_tags_go_on_and_off() {
    let mut frame = udp4();
    let bare = frame.clone();
    let at = layers(&frame);
    push_vlan(&mut frame, &at, 0x8100);
    let at = layers(&frame);
    set_field(&mut frame, &at, Field::VlanVid, 0x1064);
    set_field(&mut frame, &at, Field::VlanPcp, 5);
    assert_eq!(frame[12..18], [0x81, 0, 0xA0, 0x64, 8, 0]);
    push_vlan(&mut frame, &at, 0x88A8);
    assert_eq!(frame[12..20], [0x88, 0xA8, 0xA0, 0x64, 0x81, 0, 0xA0, 0x64]);
    for _ in 0..2 {
        let at = layers(&frame);
        pop_vlan(&mut frame, &at);
    }
    assert_eq!(frame, bare);
    let at = layers(&frame);
    pop_vlan(&mut frame, &at);
    assert_eq!(frame, bare);
    // As in 1.0.
    assert!(set_vlan(&mut frame, &at, 0xF000, 7));
    let at = layers(&frame);
    assert!(!set_vlan(&mut frame, &at, 0x1FFF, 3 << 13));
    assert_eq!(frame[12..18], [0x81, 0, 0x60, 0x07, 8, 0]);
}

#[test]
fn a_pop_pads_to_ethernets_shortest_frame_but_does_not_make_a_short_one_longer() {
    let mut bare = Frame::new(&ethernet(0x1234));
    bare.extend(b"content");
    for (length, left) in [(58, 54), (59, 55), (60, 60), (63, 60), (64, 60), (65, 61)] {
        let mut tagged = bare.clone();
        let at = layers(&tagged);
        push_vlan(&mut tagged, &at, 0x8100);
        tagged.resize(length);
        let at = layers(&tagged);
        pop_vlan(&mut tagged, &at);
        assert_eq!(tagged.len(), left);
        assert_eq!(tagged[..bare.len()], bare[..]);
        assert!(tagged[bare.len()..].iter().all(|&byte| byte == 0));
    }
}

#[test]
fn labels_go_on_and_off_and_ttls_in_and_out() {
    let mut frame = udp4();
    let bare = frame.clone();
    let at = layers(&frame);
    push_mpls(&mut frame, &at, 0x8847);
    assert_eq!(frame[12..18], [0x88, 0x47, 0, 0, 1, 64]);
    let at = layers(&frame);
    set_field(&mut frame, &at, Field::MplsLabel, 0xABCDE);
    set_field(&mut frame, &at, Field::MplsTc, 5);
    assert_eq!(frame[14..18], [0xAB, 0xCD, 0xEB, 64]);
    set_mpls_ttl(&mut frame, &at, 9);
    copy_ttl_in(&mut frame, &at);
    assert_eq!(frame[26], 9);
    push_mpls(&mut frame, &at, 0x8848);
    assert_eq!(
        frame[12..22],
        [0x88, 0x48, 0xAB, 0xCD, 0xEA, 9, 0xAB, 0xCD, 0xEB, 9]
    );
    let at = layers(&frame);
    assert_eq!(dec_mpls_ttl(&mut frame, &at), Ok(()));
    copy_ttl_in(&mut frame, &at);
    assert_eq!((frame[17], frame[21]), (8, 8));
    pop_mpls(&mut frame, &at, 0x8847);
    let at = layers(&frame);
    copy_ttl_out(&mut frame, &at);
    assert_eq!(frame[17], 9);
    pop_mpls(&mut frame, &at, 0x0800);
    assert!(is_right4(&frame));
    let at = layers(&frame);
    set_nw_ttl(&mut frame, &at, 64);
    assert_eq!(frame, bare);
}

#[test]
fn a_ttl_does_not_go_below_one() {
    let mut frame = udp4();
    let at = layers(&frame);
    set_nw_ttl(&mut frame, &at, 2);
    assert_eq!(dec_nw_ttl(&mut frame, &at), Ok(()));
    assert!(is_right4(&frame));
    let copy = frame.clone();
    assert_eq!(dec_nw_ttl(&mut frame, &at), Err(InvalidTtl));
    assert_eq!(frame, copy);
}

#[test]
fn backbone_tags_go_on_and_off() {
    let mut frame = udp4();
    let bare = frame.clone();
    let at = layers(&frame);
    push_pbb(&mut frame, &at, 0x88E7);
    let at = layers(&frame);
    set_field(&mut frame, &at, Field::PbbIsid, 0xABCDEF);
    assert_eq!(frame[12..18], [0x88, 0xE7, 0, 0xAB, 0xCD, 0xEF]);
    assert_eq!(frame[18..], bare[..]);
    push_pbb(&mut frame, &at, 0x88E7);
    assert_eq!(frame[12..18], [0x88, 0xE7, 0, 0xAB, 0xCD, 0xEF]);
    for _ in 0..2 {
        let at = layers(&frame);
        pop_pbb(&mut frame, &at);
    }
    assert_eq!(frame, bare);
}

#[test]
fn what_is_cut_short_is_left_alone() {
    let whole = udp4();
    for end in 0..whole.len() {
        for &field in &Field::ALL {
            let mut frame = Frame::new(&whole[..end]);
            let at = layers(&frame);
            set_field(&mut frame, &at, field, u128::MAX);
        }
        let mut frame = Frame::new(&whole[..end]);
        let at = layers(&frame);
        push_vlan(&mut frame, &at, 0x8100);
        let at = layers(&frame);
        push_mpls(&mut frame, &at, 0x8847);
        let at = layers(&frame);
        push_pbb(&mut frame, &at, 0x88E7);
        let at = layers(&frame);
        copy_ttl_out(&mut frame, &at);
        copy_ttl_in(&mut frame, &at);
        pop_pbb(&mut frame, &at);
    }
}
