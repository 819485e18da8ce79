//! A NAT whose kind the first four bytes choose, and packets in both directions, each with four
//! bytes for its length, its time, the way it goes and the parts of it that are made good.
//! Checksums that are right stay right.

use ip::header;
use node::{Frame, Time};
use packet::checksum::{Sum, checksum};
use packet::ipv4::Ipv4View;
use router::nat::config::*;
use router::nat::{Config, Nat, Verdict};

/// Maximum number of packets of one input.
const MAX_PACKETS: usize = 2_000;
/// Maximum number of sessions.
const MAX_SESSIONS: usize = 64;
const EXTERNAL: [u8; 4] = [192, 0, 2, 1];
const ETHERNET: usize = 14;

fn behaviour(bits: u8) -> Behaviour {
    match bits % 3 {
        0 => Behaviour::EndpointIndependent,
        1 => Behaviour::AddressDependent,
        _ => Behaviour::AddressAndPortDependent,
    }
}

fn config([kinds, flags, ports, more]: [u8; 4]) -> Config {
    let external = vec![AddressRange {
        first: EXTERNAL.into(),
        last: [192, 0, 2, 1 + ports % 3].into(),
    }];
    let sessions = MAX_SESSIONS;
    if more & 1 == 1 {
        return Config {
            external,
            sessions,
            ..Config::linux()
        };
    }
    let is = |bit: u8| flags & bit != 0;
    let filtering = behaviour(kinds / 3);
    let overload = is(1) && filtering == Behaviour::AddressAndPortDependent;
    Config {
        external,
        mapping: behaviour(kinds),
        filtering,
        ports: match kinds / 9 % 3 {
            0 => Ports::Preserve,
            1 => Ports::Sequential,
            _ => Ports::Random,
        },
        overload,
        reuse: is(2),
        port_range: PortRange::new(5_000, 5_000 + u16::from(ports)).expect("ports"),
        parity: is(4),
        contiguity: is(8),
        hairpin: is(16),
        refresh: if is(32) {
            Refresh::Both
        } else {
            Refresh::Outbound
        },
        unsolicited: if is(64) {
            Unsolicited::Hold
        } else {
            Unsolicited::Drop
        },
        pickup: is(128),
        port_blocks: (more & 2 != 0 && !overload).then_some(PortBlocks {
            size: 1 + u16::from(ports) / 8,
            per_host: 1 + u16::from(more >> 6),
        }),
        sessions,
        sessions_per_host: 1 + usize::from(more >> 2),
        ..Config::default()
    }
}

/// Gives a packet an Ethernet header, and with `good` right lengths, checksums and addresses.
fn frame(bytes: &[u8], is_inbound: bool, good: u8) -> Frame {
    let mut frame = Frame::new(&[0; ETHERNET]);
    frame.extend(bytes);
    frame[12] = 8;
    let length = bytes.len();
    let ip = &mut frame[ETHERNET..];
    if good & 1 == 0 || length < 20 {
        return frame;
    }
    ip[0] = 0x40 | (5 + (ip[0] & 1));
    let header = usize::from(ip[0] & 15) * 4;
    ip[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    ip[6..8].fill(0);
    if is_inbound {
        ip[16..20].copy_from_slice(&EXTERNAL);
    }
    // An error quotes a packet in the same way.
    if good & 2 != 0 && ip[9] == 1 && length >= header + 8 + 28 {
        let quoted = &mut ip[header + 8..];
        quoted[0] = 0x45;
        quoted[6..8].fill(0);
        if is_inbound {
            quoted[12..16].copy_from_slice(&EXTERNAL);
        }
        quoted[10..12].fill(0);
        let sum = checksum(&quoted[..20]);
        quoted[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    if length < header {
        return frame;
    }
    ip[10..12].fill(0);
    let sum = checksum(&ip[..header]);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let at = match ip[9] {
        1 => 2,
        6 => 16,
        17 | 136 => 6,
        _ => return frame,
    };
    if good & 4 != 0 && length >= header + at + 2 {
        let value = if ip[9] == 1 { 0 } else { pseudo(ip, header) };
        let payload = &mut ip[header..];
        payload[at..at + 2].fill(0);
        let sum = Sum::default().plus(&value.to_be_bytes()).plus(payload);
        payload[at..at + 2].copy_from_slice(&sum.udp_checksum().to_be_bytes());
    }
    frame
}

/// Sum of the pseudo header.
fn pseudo(ip: &[u8], header: usize) -> u16 {
    let length = ((ip.len() - header) as u16).to_be_bytes();
    let parts = [&ip[12..20], &[0, ip[9]], &length].concat();
    !checksum(&parts)
}

/// Whether the checksums of a frame's packet are right: of the header, and of the payload.
fn checks(frame: &[u8]) -> Option<[bool; 2]> {
    let ip = Ipv4View::new(frame.get(ETHERNET..)?).ok()?;
    let payload = header::read(frame).is_some_and(|packet| header::is_valid(frame, &packet));
    Some([ip.is_checksum_valid(), payload])
}

pub fn target(data: &[u8]) {
    let Some((&kind, mut rest)) = data.split_first_chunk() else {
        return;
    };
    let mut nat = Nat::new(config(kind), 1).expect("keys that fit together");
    let mut now = Time::ZERO;
    for _ in 0..MAX_PACKETS {
        let Some((&[length, time, way, good], after)) = rest.split_first_chunk() else {
            break;
        };
        let (bytes, after) = after.split_at(after.len().min(length.into()));
        rest = after;
        now += Time::from_ms(u64::from(time).pow(3) / 16);
        let mut frame = frame(bytes, way % 4 > 0, good);
        let before = frame.clone();
        let verdict = match way % 4 {
            0 => nat.outbound(now, &mut frame),
            1 => nat.hairpin(now, &mut frame),
            _ => nat.inbound(now, &mut frame),
        };
        assert_eq!(frame.len(), before.len());
        match verdict {
            Verdict::Translated => {
                // A wrong checksum stays wrong.
                assert_eq!(checks(&frame), checks(&before));
            }
            Verdict::NotForNat | Verdict::Prohibit(_) => assert_eq!(frame, before),
            Verdict::Drop(_) => {}
        }
        while let Some(syn) = nat.poll_unanswered(now) {
            assert!(syn.len() >= ETHERNET + 40);
        }
        let [mappings, sessions, hosts] = nat.sizes();
        assert!(hosts <= mappings && mappings <= sessions && sessions <= MAX_SESSIONS);
        assert!(nat.next_wake().is_none_or(|wake| wake > now));
        assert_eq!(nat.rows(now).len(), sessions);
    }
}
