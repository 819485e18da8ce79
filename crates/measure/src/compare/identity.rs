//! What stays the same of a packet on its way.

use crate::probe;
use packet::ip::IpView;
use packet::ipv4::protocol;
use packet::vlan::untagged;

/// By what a packet is known again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Basis {
    /// The stream and sequence of a [`probe`].
    Probe,
    /// What devices leave as it is.
    Content,
}

/// A packet, as far as devices leave it as it is; equal for two packets of one content, and for others
/// once in 2^64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// By what.
    pub basis: Basis,
    pub(super) key: u64,
}

/// What two packets must have in common to be one:
///
/// - with a probe, its stream, sequence and departure;
/// - IPv4: identification, fragment offset and flags, protocol, and what IP carries;
/// - IPv6: next header, and what IP carries;
/// - else the EtherType behind all VLAN tags, and all behind it but zeros at the end, which may be
///   padding.
///
/// What IP carries counts without ports, checksums and, of ICMP, the identifier; of TCP the sequence
/// numbers and flags count, and not its window and options. So a packet is known again behind devices
/// that rewrite MAC addresses, VLAN tags, TTL, traffic class, addresses and ports. At most `bytes` bytes
/// of payload count: captures that were cut short at different lengths need fewer than either has.
pub fn identity(frame: &[u8], bytes: usize) -> Identity {
    if let Some(probe) = probe::parse(frame) {
        let stream = u64::from(probe.stream) << 32 | u64::from(probe.sequence);
        return Identity {
            basis: Basis::Probe,
            key: mix(stream, probe.departure.as_ps()),
        };
    }
    let key = content(frame, bytes).unwrap_or_else(|| hash(0, frame, bytes));
    Identity {
        basis: Basis::Content,
        key,
    }
}

fn content(frame: &[u8], bytes: usize) -> Option<u64> {
    let (kind, packet) = untagged(frame)?;
    Some(match IpView::new_any_length(kind, packet) {
        Ok(IpView::V4(ip)) => {
            let length = usize::from(ip.total_length()).saturating_sub(ip.header_length());
            // Don't Fragment may be cleared on the way.
            let fragment = u64::from(ip.more_fragments()) << 16 | ip.fragment_offset() as u64;
            let seed = [
                ip.identification().into(),
                fragment,
                ip.protocol().into(),
                length as u64,
            ];
            let seed = seed.into_iter().fold(4, mix);
            let first = ip.fragment_offset() == 0;
            let carried = carried(ip.payload(), length);
            transport(seed, first.then_some(ip.protocol()), carried, bytes)
        }
        Ok(IpView::V6(ip)) => {
            let (next, length) = (ip.next_header(), ip.payload_length());
            let seed = mix(mix(6, next.into()), length.into());
            let carried = carried(ip.payload(), length.into());
            transport(seed, Some(next), carried, bytes)
        }
        Err(_) => {
            let end = packet
                .iter()
                .rposition(|byte| *byte != 0)
                .map_or(0, |last| last + 1);
            hash(u64::from(kind), &packet[..end], bytes)
        }
    })
}

/// What IP carries, without padding behind it.
fn carried(payload: &[u8], length: usize) -> &[u8] {
    payload.get(..length).unwrap_or(payload)
}

/// What stays the same of a header of TCP, UDP or ICMP, and of the payload.
fn transport(seed: u64, protocol: Option<u8>, carried: &[u8], bytes: usize) -> u64 {
    let (kept, payload) = match protocol {
        // Sequence, acknowledgement, flags.
        Some(protocol::TCP) if carried.len() >= 20 => {
            let header = (usize::from(carried[12] >> 4) * 4).clamp(20, carried.len());
            let numbers = hash(0, &carried[4..12], 8);
            (mix(numbers, carried[13].into()), &carried[header..])
        }
        Some(protocol::UDP) if carried.len() >= 8 => (0, &carried[8..]),
        // Type, code; the sequence number of an echo is behind its identifier.
        Some(protocol::ICMP | protocol::ICMPV6) if carried.len() >= 6 => (
            u64::from(carried[0]) << 8 | u64::from(carried[1]),
            &carried[6..],
        ),
        _ => (0, carried),
    };
    hash(mix(seed, kept), payload, bytes)
}

/// A hash of the first bytes, and of how many there are of those that count.
fn hash(seed: u64, data: &[u8], most: usize) -> u64 {
    let data = &data[..data.len().min(most)];
    let (words, rest) = data.as_chunks::<8>();
    let mut sum = mix(seed, data.len() as u64);
    for word in words {
        sum = mix(sum, u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mix(sum, u64::from_le_bytes(last))
}

/// Both halves of a product, folded: each bit of the result depends on all bits of both.
#[inline]
fn mix(a: u64, b: u64) -> u64 {
    const ODD: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93];
    let product = u128::from(a ^ ODD[0]) * u128::from((b ^ ODD[1]) | 1);
    (product as u64 ^ (product >> 64) as u64).wrapping_add(b.rotate_left(23))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// IPv4 and UDP, with a payload.
    fn udp(id: u16, ttl: u8, source: [u8; 4], port: u16, payload: &[u8]) -> Vec<u8> {
        let mut frame = Vec::from([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0]);
        frame.extend(((28 + payload.len()) as u16).to_be_bytes());
        frame.extend(id.to_be_bytes());
        frame.extend([0x40, 0, ttl, 17, ttl, 0]);
        frame.extend(source);
        frame.extend([10, 0, 0, 2]);
        frame.extend(port.to_be_bytes());
        frame.extend([0, 53]);
        frame.extend(((8 + payload.len()) as u16).to_be_bytes());
        frame.extend([port as u8, 1]);
        frame.extend(payload);
        frame
    }

    #[test]
    fn what_routers_and_nat_rewrite_does_not_count() {
        let sent = udp(7, 64, [10, 0, 0, 1], 4000, b"question");
        let key = |frame: &[u8]| identity(frame, 128);
        let mut arrived = udp(7, 61, [192, 0, 2, 9], 61_000, b"question");
        arrived[..12].fill(9);
        arrived.splice(12..12, [0x81, 0, 0, 5]);
        arrived.resize(64, 0);
        assert_eq!(key(&sent), key(&arrived));
        for other in [
            udp(8, 64, [10, 0, 0, 1], 4000, b"question"),
            udp(7, 64, [10, 0, 0, 1], 4000, b"answer!!"),
            udp(7, 64, [10, 0, 0, 1], 4000, b"question "),
        ] {
            assert_ne!(key(&sent), key(&other));
        }
    }

    #[test]
    fn payload_beyond_what_counts_may_be_missing() {
        let whole = udp(7, 64, [10, 0, 0, 1], 4000, &[5; 400]);
        assert_eq!(identity(&whole, 32), identity(&whole[..80], 32));
        assert_ne!(identity(&whole, 128), identity(&whole[..80], 128));
    }

    #[test]
    fn frames_without_ip_count_but_for_addresses_tags_and_padding() {
        let mut arp = Vec::from([0xFF; 12]);
        arp.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 1, 9]);
        let mut padded = arp.clone();
        padded[3] = 1;
        padded.resize(60, 0);
        assert_eq!(identity(&arp, 128), identity(&padded, 128));
        padded[22] ^= 1;
        assert_ne!(identity(&arp, 128), identity(&padded, 128));
    }

    #[test]
    fn keys_of_similar_packets_are_spread_over_all_bits() {
        let mut keys: Vec<u64> = (0..100_000u32)
            .map(|n| identity(&udp(n as u16, 9, [1, 1, 1, 1], 5, &n.to_be_bytes()), 64).key)
            .collect();
        let low = keys.iter().filter(|key| **key & 1 == 1).count();
        let high = keys.iter().filter(|key| **key >> 63 == 1).count();
        assert!((48_000..52_000).contains(&low) && (48_000..52_000).contains(&high));
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 100_000);
    }

    #[test]
    fn any_bytes_have_an_identity() {
        let sent = udp(7, 64, [10, 0, 0, 1], 4000, b"question");
        for cut in 0..sent.len() {
            identity(&sent[..cut], 128);
            for value in [0, 0x45, 0xFF] {
                let mut odd = sent.clone();
                odd[cut] = value;
                identity(&odd, 128);
            }
        }
    }
}
