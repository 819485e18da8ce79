//! The messages of a pinger: building its own, understanding others'.

use super::{Config, Method};
use alloc::format;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use ip::discovery;
use ip::header::MAX_PACKET;
use node::ConfigError;
use packet::arp::{Arp, Operation};
use packet::ethernet::{Ethernet, Mac, ethertype};
use packet::icmp::{Icmp, IcmpView};
use packet::icmpv6::{Icmpv6, Icmpv6View};
use packet::ipv4::{Ipv4, Ipv4View, protocol};
use packet::ipv6::{Ipv6, Ipv6View};
use packet::vlan::untagged;

/// Neighbour discovery is only reply from the same link (RFC 4861).
const ON_LINK: u8 = 255;

pub enum Reply {
    /// The next hop has this MAC address.
    NextHop([u8; 6]),
    /// A probe was answered: which, by the low bits of its number, where it can be known; and the
    /// hops that the answer might still have taken.
    Answer(Option<u16>, u8),
    /// A probe did not get there.
    Unreachable,
    /// Nothing for a pinger.
    Nothing,
}

/// The addresses, of one version.
#[derive(Clone, Copy, Debug)]
enum Pair {
    V4 {
        source: Ipv4Addr,
        target: Ipv4Addr,
        hop: Ipv4Addr,
    },
    V6 {
        source: Ipv6Addr,
        target: Ipv6Addr,
        hop: Ipv6Addr,
    },
}

impl Pair {
    /// Source, target and next hop.
    fn ends(self) -> (IpAddr, IpAddr, IpAddr) {
        match self {
            Pair::V4 {
                source,
                target,
                hop,
            } => (source.into(), target.into(), hop.into()),
            Pair::V6 {
                source,
                target,
                hop,
            } => (source.into(), target.into(), hop.into()),
        }
    }
}

/// Messages of one pinger.
#[derive(Debug)]
pub struct Messages {
    mac: Mac,
    pair: Pair,
    method: Method,
    identifier: u16,
    ttl: u8,
    size: usize,
}

impl Messages {
    pub fn new(config: &Config) -> Result<Messages, ConfigError> {
        let two = |key| {
            let reason = format!(
                "it is to be of the same IP version as `target`, {}",
                config.target
            );
            ConfigError::new(key, reason)
        };
        let hop = config.gateway.unwrap_or(config.target);
        let (pair, headers) = match (config.source, config.target, hop) {
            (IpAddr::V4(source), IpAddr::V4(target), IpAddr::V4(hop)) => (
                Pair::V4 {
                    source,
                    target,
                    hop,
                },
                20 + 8,
            ),
            (IpAddr::V6(source), IpAddr::V6(target), IpAddr::V6(hop)) => (
                Pair::V6 {
                    source,
                    target,
                    hop,
                },
                // The length of IPv6 is that of its payload.
                8,
            ),
            (source, target, _) if source.is_ipv4() == target.is_ipv4() => {
                return Err(two("gateway"));
            }
            _ => return Err(two("source")),
        };
        let most = MAX_PACKET - headers;
        if config.size > most {
            return Err(ConfigError::new(
                "size",
                format!("at most {most} bytes fit into a packet"),
            ));
        }
        Ok(Messages {
            mac: config.mac,
            pair,
            method: config.method,
            identifier: config.identifier,
            ttl: config.ttl,
            size: config.size,
        })
    }

    /// Asks for the MAC address of the next hop.
    pub fn question(&self, out: &mut Vec<u8>) {
        let (source, _, hop) = self.pair.ends();
        discovery::request(self.mac.0, source, hop, None, out);
    }

    /// The probe with these low bits of its number.
    pub fn probe(&self, sequence: u16, to: [u8; 6], out: &mut Vec<u8>) {
        let identification = self.identifier;
        match (self.pair, self.method) {
            (pair, Method::Neighbour) => {
                let (source, target, _) = pair.ends();
                discovery::request(self.mac.0, source, target, None, out);
            }
            (Pair::V4 { source, target, .. }, Method::Echo) => {
                let mut ip = Ipv4::new(source, target, protocol::ICMP);
                ip.hop_limit = self.ttl;
                let message = Icmp::EchoRequest {
                    identification,
                    sequence,
                };
                self.ethernet(Mac(to), ethertype::IPV4).build(out, |out| {
                    ip.build(out, |out| message.build(out, |out| self.payload(out)));
                });
            }
            (Pair::V6 { source, target, .. }, Method::Echo) => {
                let mut ip = Ipv6::new(source, target, protocol::ICMPV6);
                ip.hop_limit = self.ttl;
                let message = Icmpv6::EchoRequest {
                    identification,
                    sequence,
                };
                self.ethernet(Mac(to), ethertype::IPV6).build(out, |out| {
                    ip.build(out, |out| {
                        message.build(ip.pseudo(), out, |out| self.payload(out))
                    });
                });
            }
        }
    }

    fn ethernet(&self, destination: Mac, ethertype: u16) -> Ethernet<'static> {
        Ethernet {
            destination,
            source: self.mac,
            tags: &[],
            ethertype,
        }
    }

    /// Bytes that count up.
    fn payload(&self, out: &mut Vec<u8>) {
        out.extend((0..self.size).map(|byte| byte as u8));
    }

    pub fn parse(&self, frame: &[u8]) -> Reply {
        // What is for others is not looked into.
        let for_us = frame
            .get(..6)
            .is_some_and(|to| to == self.mac.0 || to[0] & 1 == 1);
        let (Some((kind, payload)), true) = (untagged(frame), for_us) else {
            return Reply::Nothing;
        };
        match (kind, self.pair) {
            (
                ethertype::ARP,
                Pair::V4 {
                    source,
                    target,
                    hop,
                },
            ) => {
                let Ok(arp) = Arp::parse(payload) else {
                    return Reply::Nothing;
                };
                if arp.operation != Operation::Reply || arp.target != source {
                    return Reply::Nothing;
                }
                self.resolved(arp.sender == target, arp.sender == hop, arp.sender_mac.0, 0)
            }
            (ethertype::IPV4, Pair::V4 { source, target, .. }) => {
                let Ok(ip) = Ipv4View::new(payload) else {
                    return Reply::Nothing;
                };
                if ip.destination() != source || ip.protocol() != protocol::ICMP {
                    return Reply::Nothing;
                }
                let whole = !ip.more_fragments() && ip.fragment_offset() == 0;
                match IcmpView::new(ip.payload()) {
                    Ok(icmp) if whole && icmp.is_checksum_valid() => match icmp.message() {
                        Icmp::EchoReply {
                            identification,
                            sequence,
                        } if identification == self.identifier => {
                            Reply::Answer(Some(sequence), ip.hop_limit())
                        }
                        Icmp::Unreachable { .. } | Icmp::TimeExceeded { .. } => {
                            let ours = Ipv4View::new_cut(icmp.payload())
                                .is_ok_and(|inner| inner.destination() == target);
                            if ours {
                                Reply::Unreachable
                            } else {
                                Reply::Nothing
                            }
                        }
                        _ => Reply::Nothing,
                    },
                    _ => Reply::Nothing,
                }
            }
            (
                ethertype::IPV6,
                Pair::V6 {
                    source,
                    target,
                    hop,
                },
            ) => {
                let Ok(ip) = Ipv6View::new(payload) else {
                    return Reply::Nothing;
                };
                if ip.destination() != source || ip.next_header() != protocol::ICMPV6 {
                    return Reply::Nothing;
                }
                match Icmpv6View::new(ip.payload()) {
                    Ok(icmp) if icmp.is_checksum_valid(ip.pseudo(protocol::ICMPV6)) => {
                        match icmp.message() {
                            Icmpv6::EchoReply {
                                identification,
                                sequence,
                            } if identification == self.identifier => {
                                Reply::Answer(Some(sequence), ip.hop_limit())
                            }
                            Icmpv6::NeighbourAdvertisement { target: whose, .. }
                                if ip.hop_limit() == ON_LINK =>
                            {
                                let mac = icmp.link_layer_address().map(|mac| mac.0);
                                // Without the option, the sender is the one.
                                let mac = mac.or_else(|| frame.get(6..12)?.try_into().ok());
                                self.resolved(
                                    whose == target,
                                    whose == hop,
                                    mac.unwrap_or_default(),
                                    ON_LINK,
                                )
                            }
                            Icmpv6::Unreachable { .. }
                            | Icmpv6::TimeExceeded { .. }
                            | Icmpv6::TooBig { .. } => {
                                let ours = Ipv6View::new_cut(icmp.payload())
                                    .is_ok_and(|inner| inner.destination() == target);
                                if ours {
                                    Reply::Unreachable
                                } else {
                                    Reply::Nothing
                                }
                            }
                            _ => Reply::Nothing,
                        }
                    }
                    _ => Reply::Nothing,
                }
            }
            _ => Reply::Nothing,
        }
    }

    /// Somebody says which MAC address he has.
    fn resolved(&self, is_target: bool, is_hop: bool, mac: [u8; 6], hop_limit: u8) -> Reply {
        match self.method {
            Method::Neighbour if is_target => Reply::Answer(None, hop_limit),
            Method::Echo if is_hop => Reply::NextHop(mac),
            _ => Reply::Nothing,
        }
    }
}
