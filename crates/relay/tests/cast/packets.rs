//! Packets of many kinds, and what they are after a router has passed them on.

use super::payload::{json, random};
use packet::ethernet::{Ethernet, Mac, ethertype};
use packet::ipv4::{Ipv4, protocol};
use packet::ipv6::{Extension, Ipv6};
use packet::tcp::Tcp;
use packet::udp::Udp;
use packet::vlan::Tag;
use proptest::prelude::*;

#[derive(Clone, Debug, Default)]
pub struct Packet {
    pub v6: bool,
    pub tags: usize,
    pub options: Vec<u8>,
    pub extensions: Vec<u8>,
    pub transport: u8,
    pub traffic_class: u8,
    pub identification: u16,
    pub hop_limit: u8,
    pub dont_fragment: bool,
    pub payload: Vec<u8>,
    pub trailer: usize,
}

pub fn packets() -> impl Strategy<Value = Packet> {
    let payload = (any::<u64>(), 0..1460usize, 0..3u8).prop_map(|(seed, len, kind)| match kind {
        0 => random(seed, len),
        1 => json(seed, len),
        _ => vec![seed as u8; len],
    });
    let head = (
        any::<bool>(),
        0..6usize,
        0..4usize,
        prop::collection::vec(0..5u8, 0..4),
    );
    let fields = (
        0..5u8,
        any::<u8>(),
        any::<u16>(),
        any::<u8>(),
        any::<bool>(),
    );
    (head, fields, payload, 0..8usize).prop_map(
        |((v6, tags, options, extensions), fields, payload, trailer)| Packet {
            v6,
            tags,
            // Record route, which routers write into.
            options: [7, 7, 4, 0, 0, 0, 0, 0][..options / 3 * 8].to_vec(),
            extensions,
            transport: fields.0,
            traffic_class: fields.1,
            identification: fields.2,
            hop_limit: fields.3,
            dont_fragment: fields.4,
            payload,
            trailer: trailer.saturating_sub(6),
        },
    )
}

impl Packet {
    fn transport(&self, pseudo: packet::checksum::Pseudo, out: &mut Vec<u8>) {
        let payload = |out: &mut Vec<u8>| out.extend(&self.payload);
        match self.protocol() {
            protocol::TCP => {
                let tcp = Tcp {
                    source_port: 80,
                    destination_port: 40_000,
                    sequence: 0x1234_5678,
                    acknowledgement: 0x9ABC_DEF0,
                    flags: packet::tcp::flag::ACK,
                    window: 1000,
                    urgent: 0,
                    options: &[],
                };
                tcp.build(pseudo, out, payload);
            }
            protocol::UDP => {
                let udp = Udp {
                    source_port: 1,
                    destination_port: 2,
                };
                udp.build(pseudo, out, payload);
            }
            _ => payload(out),
        }
    }

    fn protocol(&self) -> u8 {
        [protocol::TCP, protocol::UDP, protocol::ESP, 253, 99][usize::from(self.transport)]
    }

    /// The frame.
    pub fn frame(&self) -> Vec<u8> {
        let tags: Vec<Tag> = (0..self.tags).map(|n| Tag::new(n as u16 + 1)).collect();
        let ethernet = Ethernet {
            destination: Mac([2, 0, 0, 0, 0, 2]),
            source: Mac([2, 0, 0, 0, 0, 1]),
            tags: &tags,
            ethertype: if self.v6 {
                ethertype::IPV6
            } else {
                ethertype::IPV4
            },
        };
        let mut frame = Vec::new();
        ethernet.build(&mut frame, |out| match self.v6 {
            false => {
                let ip = Ipv4 {
                    traffic_class: self.traffic_class,
                    identification: self.identification,
                    hop_limit: self.hop_limit,
                    dont_fragment: self.dont_fragment,
                    options: &self.options,
                    ..Ipv4::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), self.protocol())
                };
                ip.build(out, |out| self.transport(ip.pseudo(), out));
            }
            true => {
                let kinds = [
                    protocol::HOP_BY_HOP,
                    protocol::DESTINATION,
                    protocol::ROUTING,
                    protocol::FRAGMENT,
                    protocol::AUTHENTICATION,
                ];
                let extensions: Vec<Extension> = self
                    .extensions
                    .iter()
                    .map(|kind| Extension {
                        kind: kinds[usize::from(*kind)],
                        bytes: match kind {
                            3 | 2 => &[0, 0, 0, 0, 0, 0, 0, 0],
                            _ => &[0, 0, 1, 4, 0, 0, 0, 0],
                        },
                    })
                    .collect();
                let ip = Ipv6 {
                    traffic_class: self.traffic_class,
                    flow_label: self.identification.into(),
                    hop_limit: self.hop_limit,
                    extensions: &extensions,
                    ..Ipv6::new(
                        "2001:db8::1".parse().unwrap(),
                        "2001:db8::2".parse().unwrap(),
                        self.protocol(),
                    )
                };
                ip.build(out, |out| self.transport(ip.pseudo(), out));
            }
        });
        frame.resize(frame.len() + self.trailer, 0);
        frame
    }
}

/// What a router makes of a frame: one hop less.
pub fn routed(mut frame: Vec<u8>, tags: usize) -> Vec<u8> {
    let ip = 14 + 4 * tags;
    if frame[ip] >> 4 == 6 {
        frame[ip + 7] -= 1;
        return frame;
    }
    let before = u16::from_be_bytes([frame[ip + 8], frame[ip + 9]]);
    frame[ip + 8] -= 1;
    let after = u16::from_be_bytes([frame[ip + 8], frame[ip + 9]]);
    let sum = u16::from_be_bytes([frame[ip + 10], frame[ip + 11]]);
    let sum = packet::checksum::update(sum, before, after);
    frame[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
    frame
}
