//! Setting the fields of headers.

use super::{Covering, pair, replace, word};
use crate::key::{Field, Layers, Network};
use packet::checksum::update;
use packet::crc32c::Crc32c;

/// Sets a field of the frame. Fields that are not in the frame - ports, metadata, tunnel_id - are not for this.
///
/// Of `eth_type` and `ip_proto` only the bytes change: afterwards the frame is to be read again.
pub fn set_field(frame: &mut [u8], layers: &Layers, field: Field, value: u128) {
    let bytes = value.to_be_bytes();
    let mac = [
        bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15],
    ];
    let four = [bytes[12], bytes[13], bytes[14], bytes[15]];
    let two = [bytes[14], bytes[15]];
    let at = usize::from(layers.network_at);
    let network = layers.network;
    match field {
        Field::EthDst => replace(frame, 0, mac, &[]),
        Field::EthSrc => replace(frame, 6, mac, &[]),
        Field::EthType if at >= 14 => replace(frame, at - 2, two, &[]),
        Field::VlanVid if layers.tags > 0 => {
            let old = pair(frame, 14);
            replace(frame, 14, [old[0] & 0xF0 | two[0] & 0x0F, two[1]], &[]);
        }
        Field::VlanPcp if layers.tags > 0 => {
            let old = pair(frame, 14);
            replace(frame, 14, [old[0] & 0x1F | two[1] << 5, old[1]], &[]);
        }
        Field::IpDscp => traffic_class(frame, layers, 0x03, two[1] << 2),
        Field::IpEcn => traffic_class(frame, layers, 0xFC, two[1] & 3),
        Field::IpProto if network == Network::Ipv4 => {
            let ttl = pair(frame, at + 8)[0];
            mend_protocol(frame, layers, two[1]);
            replace(frame, at + 8, [ttl, two[1]], &[header_sum(layers)]);
        }
        Field::IpProto if network == Network::Ipv6 => {
            mend_protocol(frame, layers, two[1]);
            replace(frame, layers.protocol_at.into(), [two[1]], &[]);
        }
        Field::Ipv4Src | Field::Ipv4Dst if network == Network::Ipv4 => {
            let offset = if field == Field::Ipv4Src { 12 } else { 16 };
            let sums = [header_sum(layers), address_sum(layers)];
            replace(frame, at + offset, four, &sums);
        }
        Field::Ipv6Src if network == Network::Ipv6 => {
            replace(frame, at + 8, bytes, &[address_sum(layers)]);
        }
        Field::Ipv6Dst if network == Network::Ipv6 => {
            let sum = address_sum(layers).filter(|_| !layers.routed);
            replace(frame, at + 24, bytes, &[sum]);
        }
        Field::Ipv6Flabel if network == Network::Ipv6 => {
            let label = word(frame, at) & 0xFFF0_0000 | value as u32 & 0xF_FFFF;
            replace(frame, at, label.to_be_bytes(), &[]);
        }
        Field::TcpSrc => port(frame, layers, 6, 0, two),
        Field::TcpDst => port(frame, layers, 6, 2, two),
        Field::UdpSrc => port(frame, layers, 17, 0, two),
        Field::UdpDst => port(frame, layers, 17, 2, two),
        Field::SctpSrc => sctp_port(frame, layers, 0, two),
        Field::SctpDst => sctp_port(frame, layers, 2, two),
        Field::Icmpv4Type => icmp(frame, layers, 1, Some(two[1]), None),
        Field::Icmpv4Code => icmp(frame, layers, 1, None, Some(two[1])),
        Field::Icmpv6Type => icmp(frame, layers, 58, Some(two[1]), None),
        Field::Icmpv6Code => icmp(frame, layers, 58, None, Some(two[1])),
        Field::ArpOp if network == Network::Arp => replace(frame, at + 6, two, &[]),
        Field::ArpSha if network == Network::Arp => replace(frame, at + 8, mac, &[]),
        Field::ArpSpa if network == Network::Arp => replace(frame, at + 14, four, &[]),
        Field::ArpTha if network == Network::Arp => replace(frame, at + 18, mac, &[]),
        Field::ArpTpa if network == Network::Arp => replace(frame, at + 24, four, &[]),
        Field::Ipv6NdTarget if is_neighbour(frame, layers, &[135, 136]) => {
            let at = usize::from(layers.transport_at);
            replace(frame, at + 8, bytes, &[own_sum(layers)]);
        }
        Field::Ipv6NdSll if is_neighbour(frame, layers, &[135]) => nd_option(frame, layers, mac),
        Field::Ipv6NdTll if is_neighbour(frame, layers, &[136]) => nd_option(frame, layers, mac),
        Field::MplsLabel => entry(frame, layers, 0x0000_0FFF, (value as u32) << 12),
        Field::MplsTc => entry(frame, layers, 0xFFFF_F1FF, (value as u32 & 7) << 9),
        Field::MplsBos => entry(frame, layers, 0xFFFF_FEFF, (value as u32 & 1) << 8),
        Field::PbbIsid if network == Network::Pbb => {
            let tag = word(frame, at) & 0xFF00_0000 | value as u32 & 0xFF_FFFF;
            replace(frame, at, tag.to_be_bytes(), &[]);
        }
        _ => {}
    }
}

/// Sets the source or destination port of TCP, UDP or SCTP, or ICMP's type or code, whichever there is: what 1.0 calls
/// `tp_src` and `tp_dst`.
pub fn set_transport(frame: &mut [u8], layers: &Layers, source: bool, value: u16) {
    let field = match (layers.protocol, source) {
        (6, true) => Field::TcpSrc,
        (6, false) => Field::TcpDst,
        (17, true) => Field::UdpSrc,
        (17, false) => Field::UdpDst,
        (132, true) => Field::SctpSrc,
        (132, false) => Field::SctpDst,
        (1, true) => Field::Icmpv4Type,
        (1, false) => Field::Icmpv4Code,
        _ => return,
    };
    set_field(frame, layers, field, value.into());
}

/// The checksum of an IPv4 header.
fn header_sum(layers: &Layers) -> Option<Covering> {
    Some(Covering::at(usize::from(layers.network_at) + 10))
}

/// The checksum of the transport header, where the frame has it.
fn own_sum(layers: &Layers) -> Option<Covering> {
    let at = match layers.transport_at {
        0 => return None,
        at => usize::from(at),
    };
    match layers.protocol {
        6 => Some(Covering::at(at + 16)),
        17 => Some(Covering {
            at: at + 6,
            optional: true,
        }),
        1 | 58 => Some(Covering::at(at + 2)),
        _ => None,
    }
}

/// The checksum of the transport header, if it covers the addresses.
fn address_sum(layers: &Layers) -> Option<Covering> {
    own_sum(layers).filter(|_| matches!(layers.protocol, 6 | 17 | 58))
}

/// The pseudo header has the protocol as well: mends the checksum that there is for another one.
fn mend_protocol(frame: &mut [u8], layers: &Layers, new: u8) {
    let Some(sum) = address_sum(layers) else {
        return;
    };
    let before = u16::from_be_bytes(pair(frame, sum.at));
    if sum.optional && before == 0 {
        return;
    }
    let after = update(before, layers.protocol.into(), new.into());
    frame[sum.at..sum.at + 2].copy_from_slice(&after.to_be_bytes());
}

fn traffic_class(frame: &mut [u8], layers: &Layers, keep: u8, bits: u8) {
    let at = usize::from(layers.network_at);
    match layers.network {
        Network::Ipv4 => {
            let old = pair(frame, at);
            replace(
                frame,
                at,
                [old[0], old[1] & keep | bits],
                &[header_sum(layers)],
            );
        }
        Network::Ipv6 => {
            let old = u16::from_be_bytes(pair(frame, at));
            let class = (old >> 4) as u8 & keep | bits;
            let new = old & 0xF00F | u16::from(class) << 4;
            replace(frame, at, new.to_be_bytes(), &[]);
        }
        _ => {}
    }
}

fn port(frame: &mut [u8], layers: &Layers, protocol: u8, offset: usize, new: [u8; 2]) {
    if layers.protocol == protocol && layers.transport_at != 0 {
        let at = usize::from(layers.transport_at) + offset;
        replace(frame, at, new, &[own_sum(layers)]);
    }
}

/// SCTP's checksum covers all of the packet, so that a fragment cannot be mended, and is left alone.
fn sctp_port(frame: &mut [u8], layers: &Layers, offset: usize, new: [u8; 2]) {
    let (network, at) = (
        usize::from(layers.network_at),
        usize::from(layers.transport_at),
    );
    if layers.protocol != 132 || at == 0 || layers.fragment {
        return;
    }
    let end = match layers.network {
        Network::Ipv4 => network + usize::from(u16::from_be_bytes(pair(frame, network + 2))),
        _ => network + 40 + usize::from(u16::from_be_bytes(pair(frame, network + 4))),
    };
    let Some(packet) = frame.get_mut(at..end).filter(|packet| packet.len() >= 12) else {
        return;
    };
    let before = sctp_checksum(packet);
    packet[offset..offset + 2].copy_from_slice(&new);
    let change = before ^ sctp_checksum(packet);
    for (byte, change) in packet[8..12].iter_mut().zip(change.to_le_bytes()) {
        *byte ^= change;
    }
}

/// The CRC of an SCTP packet, as if its own field were zero (RFC 9260 appendix A); 0 of less than a header.
pub(super) fn sctp_checksum(packet: &[u8]) -> u32 {
    let parts = packet.split_first_chunk::<8>();
    let parts = parts.and_then(|(ports, rest)| Some((ports, rest.split_first_chunk::<4>()?)));
    parts.map_or(0, |(ports, (_, chunks))| {
        Crc32c::default()
            .plus(ports)
            .plus(&[0; 4])
            .plus(chunks)
            .value()
    })
}

fn icmp(frame: &mut [u8], layers: &Layers, protocol: u8, kind: Option<u8>, code: Option<u8>) {
    if layers.protocol == protocol && layers.transport_at != 0 {
        let at = usize::from(layers.transport_at);
        let old = pair(frame, at);
        let new = [kind.unwrap_or(old[0]), code.unwrap_or(old[1])];
        replace(frame, at, new, &[own_sum(layers)]);
    }
}

fn is_neighbour(frame: &[u8], layers: &Layers, kinds: &[u8]) -> bool {
    let at = usize::from(layers.transport_at);
    let is = layers.protocol == 58 && at != 0 && !layers.fragment;
    is && kinds.contains(&pair(frame, at)[0]) && frame.len() >= at + 24
}

fn nd_option(frame: &mut [u8], layers: &Layers, mac: [u8; 6]) {
    if layers.nd_option_at != 0 {
        let at = usize::from(layers.nd_option_at) + 2;
        replace(frame, at, mac, &[own_sum(layers)]);
    }
}

/// Changes bits of the outermost MPLS entry.
fn entry(frame: &mut [u8], layers: &Layers, keep: u32, bits: u32) {
    if layers.network == Network::Mpls {
        let at = usize::from(layers.network_at);
        let new = word(frame, at) & keep | bits;
        replace(frame, at, new.to_be_bytes(), &[]);
    }
}
