//! The messages of ARP (RFC 826, RFC 5227) and neighbour discovery (RFC 4861): frames of this interface, and those
//! that it receives.

use crate::header::{ETHERNET, ICMPV6, IPV6_HEADER, Packet};
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use node::{Frame, Time};
use packet::arp::{Arp, Operation};
use packet::ethernet::{Ethernet, Mac, ethertype};
use packet::icmpv6::Icmpv6;
use packet::ipv6::Ipv6;

/// Hop limit of neighbour discovery: a packet with it has not passed a router (RFC 4861 section 3.1).
const ON_LINK: u8 = 255;
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);
const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 2);
/// Types of messages.
const ROUTER_SOLICITATION: u8 = 133;
const ROUTER_ADVERTISEMENT: u8 = 134;
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
const REDIRECT: u8 = 137;
/// MTU that each link of IPv6 has, bytes (RFC 8200 section 5).
const MIN_MTU: usize = 1280;
/// Flags of an advertisement: solicited, override.
const SOLICITED: u8 = 2;
const OVERRIDE: u8 = 1;

/// The group of all whose addresses have the same last 24 bits (RFC 4291 section 2.7.1).
pub fn solicited_node(address: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = address.octets();
    let low = [0xFF00 | u16::from(a), u16::from(b) << 8 | u16::from(c)];
    Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 1, low[0], low[1])
}

/// The MAC address of a group (RFC 1112 section 6.4, RFC 2464 section 7), or of all for IPv4's broadcast address; `None`
/// for an address that is neither.
pub fn group_mac(address: IpAddr) -> Option<[u8; 6]> {
    match address {
        IpAddr::V4(Ipv4Addr::BROADCAST) => Some([0xFF; 6]),
        IpAddr::V4(group) if group.is_multicast() => {
            let [_, a, b, c] = group.octets();
            Some([1, 0, 0x5E, a & 0x7F, b, c])
        }
        IpAddr::V6(group) if group.is_multicast() => {
            let [.., a, b, c, d] = group.octets();
            Some([0x33, 0x33, a, b, c, d])
        }
        _ => None,
    }
}

/// Appends a request for the MAC address of `target`: to all that may have it, or to the MAC address `at` alone.
pub fn request(mac: [u8; 6], own: IpAddr, target: IpAddr, at: Option<[u8; 6]>, out: &mut Vec<u8>) {
    let start = out.len();
    match (own, target) {
        (IpAddr::V4(own), IpAddr::V4(target)) => {
            Arp::request(Mac(mac), own, target).build_frame(out);
        }
        (IpAddr::V6(own), IpAddr::V6(target)) => {
            let to = if at.is_some() {
                target
            } else {
                solicited_node(target)
            };
            let message = Icmpv6::NeighbourSolicitation { target };
            // Without an address of its own it names no MAC address either (RFC 4861 section 4.3).
            let option = (!own.is_unspecified()).then_some((1, mac));
            discover(mac, (own, to), message, option, out);
        }
        _ => {}
    }
    if let Some(at) = at
        && out.len() > start
    {
        out[start..start + 6].copy_from_slice(&at);
    }
}

/// Appends an announcement of an own IPv4 address (RFC 5227 section 3).
pub(crate) fn announcement(mac: [u8; 6], own: Ipv4Addr, out: &mut Vec<u8>) {
    Arp::request(Mac(mac), own, own).build_frame(out);
}

/// Appends a router solicitation (RFC 4861 section 4.1).
pub fn router_solicitation(mac: [u8; 6], own: Ipv6Addr, out: &mut Vec<u8>) {
    let message = Icmpv6::Other {
        kind: ROUTER_SOLICITATION,
        code: 0,
        rest: 0,
    };
    let option = (!own.is_unspecified()).then_some((1, mac));
    discover(mac, (own, ALL_ROUTERS), message, option, out);
}

/// A redirect of IPv6 (RFC 4861 section 4.5): a better next hop than its sender.
#[derive(Clone, Copy, Debug)]
pub struct Redirect<'a> {
    /// The next hop; the destination itself when that is on the link.
    pub target: Ipv6Addr,
    /// The destination.
    pub destination: Ipv6Addr,
    /// The MAC address of the next hop, if it is known.
    pub mac: Option<[u8; 6]>,
    /// The packet that was sent to the wrong next hop, from the IP header on. It is cut to what the smallest MTU has room for, and to a
    /// multiple of 8 bytes, as by Linux.
    pub packet: &'a [u8],
}

impl Redirect<'_> {
    /// Appends the message from an own link-local address to the packet's sender; the receiver's MAC address is left.
    pub fn build(&self, mac: [u8; 6], own: Ipv6Addr, to: Ipv6Addr, out: &mut Vec<u8>) {
        const MESSAGE: usize = 8 + 16 + 16;
        const LINK_OPTION: usize = 8;
        const PACKET_OPTION: usize = 8;
        let message = Icmpv6::Other {
            kind: REDIRECT,
            code: 0,
            rest: 0,
        };
        let option = self.mac.map_or(0, |_| LINK_OPTION);
        let room = MIN_MTU - IPV6_HEADER - MESSAGE - option;
        let length = (PACKET_OPTION + self.packet.len()).min(room) & !7;
        send_on_link(mac, (own, to), message, out, |out| {
            out.extend(self.target.octets());
            out.extend(self.destination.octets());
            if let Some(mac) = self.mac {
                out.extend([2, 1]);
                out.extend(mac);
            }
            out.extend([4, (length / 8) as u8, 0, 0, 0, 0, 0, 0]);
            out.extend(&self.packet[..length - PACKET_OPTION]);
        });
    }
}

fn discover(
    mac: [u8; 6],
    ends: (Ipv6Addr, Ipv6Addr),
    message: Icmpv6,
    option: Option<(u8, [u8; 6])>,
    out: &mut Vec<u8>,
) {
    send_on_link(mac, ends, message, out, |out| {
        if let Some((kind, mac)) = option {
            out.extend([kind, 1]);
            out.extend(mac);
        }
    });
}

/// Appends a message with a hop limit of 255, whose content `body` appends.
fn send_on_link(
    mac: [u8; 6],
    (own, to): (Ipv6Addr, Ipv6Addr),
    message: Icmpv6,
    out: &mut Vec<u8>,
    body: impl FnOnce(&mut Vec<u8>),
) {
    let mut ip = Ipv6::new(own, to, ICMPV6);
    ip.hop_limit = ON_LINK;
    let ethernet = Ethernet {
        destination: Mac(group_mac(to.into()).unwrap_or_default()),
        source: Mac(mac),
        tags: &[],
        ethertype: ethertype::IPV6,
    };
    ethernet.build(out, |out| {
        ip.build(out, |out| {
            message.build(ip.pseudo(), out, body);
        });
    });
}

/// Turns an ARP request into its reply.
pub fn answer_arp(frame: &mut Frame, arp: &Arp, mac: [u8; 6]) {
    let message = &mut frame[ETHERNET..ETHERNET + 28];
    message[7] = 2;
    message.copy_within(8..18, 18);
    message[8..14].copy_from_slice(&mac);
    message[14..18].copy_from_slice(&arp.target.octets());
    crate::icmp::turn(frame, mac);
}

/// Makes of a neighbour solicitation for `target` the advertisement that answers it (RFC 4861 section 7.2.4).
pub(crate) fn answer_solicitation(
    frame: &mut Frame,
    packet: &Packet,
    target: Ipv6Addr,
    mac: [u8; 6],
    scratch: &mut Vec<u8>,
) {
    let asker = match packet.source {
        IpAddr::V6(asker) if !asker.is_unspecified() => Some(asker),
        _ => None,
    };
    // An asker without an address wants to know whether it is taken; the answer goes to all.
    let flags = if asker.is_some() {
        SOLICITED | OVERRIDE
    } else {
        OVERRIDE
    };
    let message = Icmpv6::NeighbourAdvertisement { target, flags };
    scratch.clear();
    discover(
        mac,
        (target, asker.unwrap_or(ALL_NODES)),
        message,
        Some((2, mac)),
        scratch,
    );
    if asker.is_some() {
        scratch[..6].copy_from_slice(&frame[6..12]);
    }
    frame.resize(0);
    frame.extend(scratch);
}

/// Reads an ARP message for IPv4 over Ethernet that is a request or a reply.
pub fn read_arp(frame: &[u8]) -> Option<Arp> {
    let arp = Arp::parse(frame.get(ETHERNET..)?).ok()?;
    let is_other = matches!(arp.operation, Operation::Other(_));
    (!is_other && !arp.sender_mac.is_group()).then_some(arp)
}

/// A message of neighbour discovery.
#[expect(
    clippy::large_enum_variant,
    reason = "a message lives for one call, and is not moved in it"
)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Whose is this address?
    Solicitation {
        /// The address.
        target: Ipv6Addr,
        /// The asker's MAC address.
        mac: Option<[u8; 6]>,
    },
    /// An address, and its MAC address.
    Advertisement {
        /// The address.
        target: Ipv6Addr,
        /// Its MAC address.
        mac: Option<[u8; 6]>,
        /// Whether it answers a solicitation.
        solicited: bool,
        /// Whether it replaces what is known.
        overrides: bool,
    },
    /// What a router offers.
    Router(RouterAdvertisement),
    /// A better next hop.
    Redirect {
        /// The next hop; the destination itself when that is on the link.
        target: Ipv6Addr,
        /// The destination.
        destination: Ipv6Addr,
        /// The MAC address of the next hop.
        mac: Option<[u8; 6]>,
    },
}

/// A router advertisement (RFC 4861 section 4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouterAdvertisement {
    /// Time for which the router is a default router; zero when it is none.
    pub lifetime: Time,
    /// Hop limit for packets; 0 when the router does not say.
    pub hop_limit: u8,
    /// The router's MAC address.
    pub mac: Option<[u8; 6]>,
    /// The link's MTU, bytes.
    pub mtu: Option<u32>,
    /// The first prefixes; those after [`MAX_PREFIXES`] are not read.
    pub prefixes: [Option<Prefix>; MAX_PREFIXES],
}

/// Maximum number of prefixes that are read of a router advertisement.
pub const MAX_PREFIXES: usize = 8;

/// A prefix of a router advertisement (RFC 4861 section 4.6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The prefix, with any bits after its length.
    pub address: Ipv6Addr,
    /// Its length, 0 to 128 bits.
    pub length: u8,
    /// Whether its addresses are on the link.
    pub on_link: bool,
    /// Whether hosts make addresses from it.
    pub autonomous: bool,
    /// Time for which addresses from it are valid, seconds; `u32::MAX` without end.
    pub valid: u32,
    /// Time for which they are preferred, seconds; `u32::MAX` without end.
    pub preferred: u32,
}

impl Message {
    /// Reads a message whose checksum was checked; `None` when the packet is something else or breaks a rule of RFC
    /// 4861 sections 6.1, 7.1 and 8.1.
    pub fn read(frame: &[u8], packet: &Packet) -> Option<Message> {
        let IpAddr::V6(source) = packet.source else {
            return None;
        };
        let message = frame.get(packet.payload..packet.end)?;
        let (fields, rest) = message.split_first_chunk::<8>()?;
        if packet.protocol != ICMPV6 || frame[ETHERNET + 7] != ON_LINK || fields[1] != 0 {
            return None;
        }
        match fields[0] {
            SOLICITATION => {
                let (target, options) = address(rest)?;
                let mac = Options::check(options)?.mac(1);
                let to_group = packet.destination.is_multicast();
                let tentative = source.is_unspecified();
                // A sender without an address solicits the multicast group, without a link-layer address option.
                let good = !target.is_multicast() && (!tentative || (to_group && mac.is_none()));
                good.then_some(Message::Solicitation { target, mac })
            }
            ADVERTISEMENT => {
                let (target, options) = address(rest)?;
                let solicited = fields[4] & 0x40 != 0;
                let good =
                    !(target.is_multicast() || solicited && packet.destination.is_multicast());
                let mac = Options::check(options)?.mac(2);
                good.then_some(Message::Advertisement {
                    target,
                    mac,
                    solicited,
                    overrides: fields[4] & 0x20 != 0,
                })
            }
            ROUTER_ADVERTISEMENT if source.is_unicast_link_local() => {
                let options = Options::check(rest.get(8..)?)?;
                let mut router = RouterAdvertisement {
                    lifetime: Time::from_secs(u16::from_be_bytes([fields[6], fields[7]]).into()),
                    hop_limit: fields[4],
                    mac: options.mac(1),
                    ..RouterAdvertisement::default()
                };
                let mut count = 0;
                for option in options {
                    match *option {
                        [5, 1, _, _, a, b, c, d] => {
                            router.mtu = Some(u32::from_be_bytes([a, b, c, d]));
                        }
                        [3, 4, ..] if count < MAX_PREFIXES => {
                            router.prefixes[count] = prefix(option);
                            count += usize::from(router.prefixes[count].is_some());
                        }
                        _ => {}
                    }
                }
                Some(Message::Router(router))
            }
            REDIRECT if source.is_unicast_link_local() => {
                let (target, rest) = address(rest)?;
                let (destination, options) = address(rest)?;
                let mac = Options::check(options)?.mac(2);
                let good = !destination.is_multicast()
                    && (target == destination || target.is_unicast_link_local());
                good.then_some(Message::Redirect {
                    target,
                    destination,
                    mac,
                })
            }
            _ => None,
        }
    }
}

fn address(bytes: &[u8]) -> Option<(Ipv6Addr, &[u8])> {
    let (address, rest) = bytes.split_first_chunk::<16>()?;
    Some((Ipv6Addr::from(*address), rest))
}

fn prefix(option: &[u8]) -> Option<Prefix> {
    let word = |at: usize| {
        let bytes = option.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    };
    let (valid, preferred) = (word(4)?, word(8)?);
    let (address, _) = address(option.get(16..)?)?;
    let good = option[2] <= 128
        && preferred <= valid
        && !address.is_multicast()
        && !address.is_unicast_link_local();
    good.then_some(Prefix {
        address,
        length: option[2],
        on_link: option[3] & 0x80 != 0,
        autonomous: option[3] & 0x40 != 0,
        valid,
        preferred,
    })
}

/// Options of a message, each of whole units of eight bytes.
#[derive(Clone, Copy)]
struct Options<'a>(&'a [u8]);

impl<'a> Options<'a> {
    /// Options that are all whole; one of length zero spoils the message (RFC 4861 section 4.6).
    fn check(bytes: &'a [u8]) -> Option<Options<'a>> {
        let mut options = Options(bytes);
        while options.next().is_some() {}
        options.0.is_empty().then_some(Options(bytes))
    }

    fn mac(mut self, wanted: u8) -> Option<[u8; 6]> {
        let option = self.find(|option| option[0] == wanted && option[1] == 1)?;
        let mac: [u8; 6] = *option.last_chunk()?;
        (mac[0] & 1 == 0).then_some(mac)
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = &'a [u8];
    fn next(&mut self) -> Option<&'a [u8]> {
        let length = *self.0.get(1).filter(|length| **length > 0)?;
        let (option, rest) = self.0.split_at_checked(usize::from(length) * 8)?;
        self.0 = rest;
        Some(option)
    }
}
