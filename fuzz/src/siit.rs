//! A packet through a stateless translator: the first byte chooses the version, the checksums that
//! are made good, and the configuration. A packet with right checksums is translated to one.

use ip::header;
use node::Frame;
use packet::checksum::checksum;
use packet::ethernet::ethertype;
use router::siit::{Config, Siit, Verdict};

const ETHERNET: usize = 14;
const V4: [u8; 4] = [192, 0, 0, 1];
const V6: [u8; 16] = [0x20, 1, 0xD, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x46];

/// Makes versions, lengths, addresses and the checksum of the header right, those of a quoted packet, too.
pub(crate) fn repair(ip: &mut [u8], is_v4: bool, is_quoted: bool) {
    let length = ip.len();
    match is_v4 {
        true if length >= 20 => {
            ip[0] = 0x45;
            if !is_quoted {
                ip[2..4].copy_from_slice(&(length as u16).to_be_bytes());
            }
            ip[12..16].copy_from_slice(&V4);
            if ip[9] == 1 && length >= 48 && !is_quoted {
                repair(&mut ip[28..], is_v4, true);
            }
            ip[10..12].fill(0);
            let sum = checksum(&ip[..20]);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        false if length >= 40 => {
            ip[0] = 0x60;
            if !is_quoted {
                ip[4..6].copy_from_slice(&((length - 40) as u16).to_be_bytes());
            }
            ip[8..24].copy_from_slice(&V6);
            ip[24..36].copy_from_slice(&[0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]);
            if ip[6] == 58 && length >= 88 && !is_quoted {
                repair(&mut ip[48..], is_v4, true);
            }
        }
        _ => {}
    }
}

/// Fills in the checksum of the payload, where it has one.
pub(crate) fn finish(frame: &mut Frame) {
    let Some(packet) = header::read(frame) else {
        return;
    };
    let at = match packet.protocol {
        header::ICMP | header::ICMPV6 => 2,
        header::TCP => 16,
        header::UDP => 6,
        _ => return,
    };
    let at = packet.payload + at;
    if at + 2 > packet.end {
        return;
    }
    frame[at..at + 2].fill(0);
    let payload = &frame[packet.payload..packet.end];
    let sum = match packet.protocol {
        header::ICMP => checksum(payload),
        number => {
            let pseudo = header::pseudo(packet.source, packet.destination, number);
            pseudo.sum(payload.len()).plus(payload).udp_checksum()
        }
    };
    frame[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Whether the frame has a whole packet with a checksum, and that is right. Extension headers of
/// IPv6 are not looked into.
pub(crate) fn is_valid(frame: &[u8]) -> bool {
    header::read(frame).is_some_and(|packet| {
        let has_checksum = matches!(
            packet.protocol,
            header::ICMP | header::ICMPV6 | header::TCP | header::UDP
        );
        has_checksum && header::is_valid(frame, &packet)
    })
}

pub fn target(data: &[u8]) {
    let Some((&kind, bytes)) = data.split_first() else {
        return;
    };
    let is_v4 = kind & 1 == 1;
    let router = (kind & 8 != 0).then_some(V4.into());
    let mut siit = Siit::new(Config {
        pairs: vec![(core::net::Ipv4Addr::from(V4), core::net::Ipv6Addr::from(V6)).into()],
        router,
        ..Config::default()
    })
    .expect("a good configuration");
    let mut frame = Frame::new(&[0; ETHERNET]);
    frame.extend(bytes);
    let number = match is_v4 {
        true => ethertype::IPV4,
        false => ethertype::IPV6,
    };
    frame[12..14].copy_from_slice(&number.to_be_bytes());
    if kind & 2 != 0 {
        repair(&mut frame[ETHERNET..], is_v4, false);
    }
    if kind & 4 != 0 {
        finish(&mut frame);
    }
    let was_valid = is_valid(&frame);
    let verdict = match is_v4 {
        true => siit.to_v6(&mut frame),
        false => siit.to_v4(&mut frame),
    };
    if let Verdict::Translated { .. } = verdict
        && let Some(packet) = header::read(&frame)
    {
        assert_eq!(packet.source.is_ipv4(), !is_v4);
        assert!(is_valid(&frame) || !was_valid);
    }
}
