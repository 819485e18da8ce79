//! A NAT64 and packets in both directions, each with a byte for the way it goes and the parts of it that are made good, one for the
//! time, and two for its length. Checksums that are right stay right, and numbers of hosts, sessions and mappings are bounded.

use crate::siit::{finish, is_valid, repair};
use node::{Frame, Time};
use packet::ethernet::ethertype;
use router::nat;
use router::nat64::{Config, Nat64, Verdict};

const ETHERNET: usize = 14;
const EXTERNAL: [u8; 4] = [192, 0, 2, 1];
const HOSTS: usize = 5;
const SESSIONS: usize = 16;
/// Maximum number of packets of one input.
const MAX_PACKETS: usize = 1_000;

pub fn target(data: &[u8]) {
    let mut nat64 = Nat64::new(
        Config {
            hosts: HOSTS,
            nat: nat::Config {
                external: vec![core::net::Ipv4Addr::from(EXTERNAL).into()],
                sessions: SESSIONS,
                filtering: nat::config::Behaviour::EndpointIndependent,
                ..nat::Config::default()
            },
            ..Config::default()
        },
        1,
    )
    .expect("a good configuration");
    let (mut rest, mut now) = (data, Time::ZERO);
    for _ in 0..MAX_PACKETS {
        let [kind, time, high, low, after @ ..] = rest else {
            break;
        };
        let length = usize::from(u16::from_be_bytes([*high, *low]) % 2_048).min(after.len());
        let bytes;
        (bytes, rest) = after.split_at(length);
        now += Time::from_secs(u64::from(*time));
        let is_v4 = kind & 1 == 1;
        let mut frame = Frame::new(&[0; ETHERNET]);
        frame.extend(bytes);
        let number = if is_v4 {
            ethertype::IPV4
        } else {
            ethertype::IPV6
        };
        frame[12..14].copy_from_slice(&number.to_be_bytes());
        if kind & 2 != 0 {
            repair(&mut frame[ETHERNET..], is_v4, false);
            if is_v4 && frame.len() >= 34 {
                frame[30..34].copy_from_slice(&EXTERNAL);
                frame[24..26].fill(0);
                let sum = packet::checksum::checksum(&frame[14..34]);
                frame[24..26].copy_from_slice(&sum.to_be_bytes());
            } else if !is_v4 && frame.len() >= 54 {
                frame[37] = kind / 16;
            }
        }
        if kind & 4 != 0 {
            finish(&mut frame);
        }
        let was_valid = is_valid(&frame);
        let verdict = match is_v4 {
            true => nat64.inbound(now, &mut frame),
            false => nat64.outbound(now, &mut frame, kind & 8 != 0),
        };
        match verdict {
            Verdict::ToV4 => assert!(!is_v4 && frame[12..14] == [8, 0]),
            Verdict::ToV6 { .. } => assert_eq!(frame[12..14], [0x86, 0xDD]),
            _ => continue,
        }
        assert!(is_valid(&frame) || !was_valid);
        let [mappings, sessions, hosts, numbers] = nat64.sizes();
        assert!(mappings <= sessions && sessions <= SESSIONS && hosts <= sessions);
        assert!(numbers <= HOSTS);
    }
}
