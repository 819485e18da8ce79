//! A host with one address that answers: ARP and IPv6 neighbour discovery, ping, UDP echo.
//!
//! A real kernel on the other end of the link can `ping` it.
//!
//! - **Ports:** 1.
//! - **Parameters:** `mac`, 02:00:00:00:00:02. `ipv4`, none; `ipv6`, none: its addresses. `udp_echo`,
//!   true: whether what comes to UDP port 7 (RFC 862) goes back. `mtu`, 1500: the longest IP packet, in bytes.
//!   `refuses`, true: whether it says that its other ports are closed.
//! - **Counters:** `packets`; `arp`, `neighbours`: requests answered; `pings`: ICMP and ICMPv6 echo
//!   requests answered; `echoes`: UDP datagrams sent back; `refused`: segments and datagrams to closed ports; `reassembled`:
//!   packets that came in fragments; `ignored`: what is for others, or of no kind that it answers.
//! - **Drops:** `another fragment is missing`, `fragments do not fit together`, `too many fragments wait`: see
//!   [`fragments`].
//!
//! An answer leaves when its request's last bit is in, made in the request's own buffer, in fragments if it is longer than the MTU.
//! A closed port answers a segment of TCP with a reset (RFC 9293 section 3.10.7.1) and a datagram with ICMP's port
//! unreachable (RFC 1122 section 4.1.3.1, RFC 4443 section 3.1). Tagged frames are ignored; a
//! [`vlan`](crate::vlan) node in front takes tags off.

use crate::fragments::{self, Fragment, Reassembly};
use crate::refusal;
pub use crate::refusal::late;
use crate::wire;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use packet::checksum::{self, Sum};
use packet::ethernet::{Mac, ethertype};
use packet::ipv4::{Ipv4View, protocol};
use packet::ipv6::Ipv6View;
use packet::udp::UdpView;

/// Where the IP header begins.
const IP: usize = wire::ETHERNET;
const IPV6_HEADER: usize = 40;
const ECHO_PORT: u16 = 7;
/// What hosts send, RFC 1122 and RFC 8200's usual choice.
const TTL: u8 = 64;
/// Neighbour discovery is only heard from the same link: a router would have lowered it (RFC 4861).
const ON_LINK: u8 = 255;

/// What a host is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Its MAC address.
    pub mac: Mac,
    /// Its IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// Its IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
    /// Whether what comes to UDP port 7 goes back.
    pub udp_echo: bool,
    /// The longest IP packet that it sends in one piece, in bytes.
    pub mtu: usize,
    /// Whether it says that ports are closed; not where something else with the same address has ports.
    pub refuses: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            mac: Mac([2, 0, 0, 0, 0, 2]),
            ipv4: None,
            ipv6: None,
            udp_echo: true,
            mtu: 1500,
            refuses: true,
        }
    }
}

#[derive(Debug)]
pub struct Host {
    config: Config,
    packets: u64,
    arp: u64,
    neighbours: u64,
    pings: u64,
    echoes: u64,
    refused: u64,
    reassembled: u64,
    ignored: u64,
    reassembly: Reassembly,
    /// Of the last packet in fragments.
    identification: u32,
}

enum Answer {
    Arp,
    Neighbour,
    Ping,
    Echo,
    Refusal,
}

impl Host {
    pub fn new(config: Config) -> Host {
        Host {
            config,
            packets: 0,
            arp: 0,
            neighbours: 0,
            pings: 0,
            echoes: 0,
            refused: 0,
            reassembled: 0,
            ignored: 0,
            reassembly: Reassembly::default(),
            identification: 0,
        }
    }

    /// Turns a request into its answer; `None`, and the frame is as it was or worthless, if there is
    /// no answer to it.
    fn answer(&self, frame: &mut Frame) -> Option<Answer> {
        let to = frame.get(..6)?;
        if to != self.config.mac.0 && to[0] & 1 == 0 {
            return None;
        }
        let answer = match wire::u16_at(frame, 12)? {
            ethertype::ARP => self.arp(frame),
            ethertype::IPV4 => self.ipv4(frame).or_else(|| self.refuse(frame)),
            ethertype::IPV6 => self.ipv6(frame).or_else(|| self.refuse(frame)),
            _ => None,
        }?;
        frame.copy_within(6..12, 0);
        frame[6..12].copy_from_slice(&self.config.mac.0);
        Some(answer)
    }

    /// RFC 826: "who has my address?"
    fn arp(&self, frame: &mut Frame) -> Option<Answer> {
        let mine = self.config.ipv4?.octets();
        let arp: &mut [u8; 28] = frame.get_mut(IP..)?.first_chunk_mut()?;
        // Ethernet and IPv4, a request.
        if arp[..8] != [0, 1, 8, 0, 6, 4, 0, 1] || arp[24..28] != mine {
            return None;
        }
        arp[7] = 2;
        arp.copy_within(8..18, 18);
        arp[8..14].copy_from_slice(&self.config.mac.0);
        arp[14..18].copy_from_slice(&mine);
        Some(Answer::Arp)
    }

    fn ipv4(&self, frame: &mut Frame) -> Option<Answer> {
        let mine = self.config.ipv4?;
        let ip = Ipv4View::new(frame.get(IP..)?).ok()?;
        // What is broken, or a fragment of something, is not answered.
        if ip.is_fragment() || ip.destination() != mine || !ip.is_checksum_valid() {
            return None;
        }
        let (protocol, header, len) = (ip.protocol(), ip.header_length(), ip.total_length());
        // Without padding.
        let (ip, data) = frame[IP..IP + usize::from(len)].split_at_mut(header);
        let answer = match protocol {
            protocol::ICMP => ping(data, 8, 0, Sum::default())?,
            protocol::UDP => self.udp(data)?,
            _ => return None,
        };
        ip.copy_within(12..16, 16);
        ip[12..16].copy_from_slice(&mine.octets());
        ip[8] = TTL;
        ip[10..12].fill(0);
        let checksum = checksum::checksum(ip);
        ip[10..12].copy_from_slice(&checksum.to_be_bytes());
        Some(answer)
    }

    fn ipv6(&self, frame: &mut Frame) -> Option<Answer> {
        let mine = self.config.ipv6?;
        let ip = Ipv6View::new(frame.get(IP..)?).ok()?;
        let (next, len) = (ip.next_header(), ip.payload().len());
        if next == protocol::ICMPV6 && ip.payload().first() == Some(&135) {
            return self.neighbour(frame, len, mine.octets());
        }
        if ip.destination() != mine {
            return None;
        }
        let pseudo = ip.pseudo(next).sum(len);
        let (ip, data) = frame[IP..IP + IPV6_HEADER + len].split_at_mut(IPV6_HEADER);
        let answer = match next {
            protocol::ICMPV6 => ping(data, 128, 129, pseudo)?,
            protocol::UDP => self.udp(data)?,
            _ => return None,
        };
        ip.copy_within(8..24, 24);
        ip[8..24].copy_from_slice(&mine.octets());
        ip[7] = TTL;
        Some(answer)
    }

    /// Says that a port is closed.
    fn refuse(&self, frame: &mut Frame) -> Option<Answer> {
        let own = [
            self.config.ipv4.map(Into::into),
            self.config.ipv6.map(Into::into),
        ];
        let echo = self.config.udp_echo.then_some(ECHO_PORT);
        let refused = self.config.refuses
            && frame[0] & 1 == 0
            && refusal::refuse(frame, own.into_iter().flatten(), echo);
        refused.then_some(Answer::Refusal)
    }

    /// RFC 4861: a neighbour solicitation for the host's address becomes an advertisement.
    fn neighbour(&self, frame: &mut Frame, len: usize, mine: [u8; 16]) -> Option<Answer> {
        // Type, code, checksum, reserved, target; then the option with the sender's MAC address.
        const SOLICITATION: usize = 24;
        const ADVERTISEMENT: usize = 32;
        let packet = &frame[IP..IP + IPV6_HEADER + len];
        let data = packet.get(IPV6_HEADER..)?;
        let from_link = packet[7] == ON_LINK && data.len() >= SOLICITATION && data[1] == 0;
        if !from_link || data[8..24] != mine {
            return None;
        }
        if !pseudo_sum(packet).plus(data).is_valid() {
            return None;
        }
        // An unspecified sender asks whether the address is taken; the answer goes to all nodes.
        let asks_all = packet[8..24] == [0; 16];
        frame.resize(IP + IPV6_HEADER + ADVERTISEMENT);
        let (ip, data) = frame[IP..].split_at_mut(IPV6_HEADER);
        ip[4..6].copy_from_slice(&(ADVERTISEMENT as u16).to_be_bytes());
        ip.copy_within(8..24, 24);
        ip[8..24].copy_from_slice(&mine);
        if asks_all {
            ip[24..40].copy_from_slice(&Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1).octets());
        }
        // Override, and solicited if somebody in particular asked.
        let flags = if asks_all { 0x20 } else { 0x60 };
        data[..8].copy_from_slice(&[136, 0, 0, 0, flags, 0, 0, 0]);
        data[24..26].copy_from_slice(&[2, 1]);
        data[26..32].copy_from_slice(&self.config.mac.0);
        let sum = pseudo_sum(&frame[IP..]).plus(&frame[IP + IPV6_HEADER..]);
        let at = IP + IPV6_HEADER + 2;
        frame[at..at + 2].copy_from_slice(&sum.checksum().to_be_bytes());
        if asks_all {
            // Where the answer's destination address is taken from.
            frame[6..12].copy_from_slice(&[0x33, 0x33, 0, 0, 0, 1]);
        }
        Some(Answer::Neighbour)
    }

    /// Sends a datagram back. Addresses and ports change places, which leaves the checksum right.
    fn udp(&self, datagram: &mut [u8]) -> Option<Answer> {
        let udp = UdpView::new(datagram).ok()?;
        let whole = usize::from(udp.length()) == datagram.len();
        let to_echo = udp.destination_port() == ECHO_PORT;
        // Two echo services would never let go of each other.
        let from_echo = udp.source_port() == ECHO_PORT;
        if !whole || !to_echo || from_echo || !self.config.udp_echo {
            return None;
        }
        datagram[..4].rotate_left(2);
        Some(Answer::Echo)
    }
}

/// Turns an echo request, if it is a good one, into its reply.
fn ping(message: &mut [u8], request: u8, reply: u8, pseudo: Sum) -> Option<Answer> {
    let good = message.len() >= 8 && message[..2] == [request, 0];
    if !good || !pseudo.plus(message).is_valid() {
        return None;
    }
    message[0] = reply;
    message[2..4].fill(0);
    let checksum = pseudo.plus(message).checksum();
    message[2..4].copy_from_slice(&checksum.to_be_bytes());
    Some(Answer::Ping)
}

/// The sum over the pseudo-header of an IPv6 packet without extension headers.
fn pseudo_sum(packet: &[u8]) -> Sum {
    Sum::default()
        .plus(&packet[8..40])
        .plus(&packet[4..6])
        .plus(&[0, packet[6]])
}

impl Host {
    /// Answers one frame that has arrived on the only port.
    pub fn frame(&mut self, mut frame: Frame, out: &mut Out) {
        self.packets += 1;
        match self.answer(&mut frame) {
            Some(Answer::Arp) => self.arp += 1,
            Some(Answer::Neighbour) => self.neighbours += 1,
            Some(Answer::Ping) => self.pings += 1,
            Some(Answer::Echo) => self.echoes += 1,
            Some(Answer::Refusal) => self.refused += 1,
            None => {
                self.ignored += 1;
                out.done(frame);
                return;
            }
        }
        self.send(frame, out);
    }

    fn send(&mut self, frame: Frame, out: &mut Out) {
        self.identification = self.identification.wrapping_add(1);
        let send = |frame, out: &mut Out| out.send(Port(0), frame);
        fragments::cut(frame, self.config.mtu, self.identification, out, send);
    }

    fn is_own(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => self.config.ipv4 == Some(address),
            IpAddr::V6(address) => self.config.ipv6 == Some(address),
        }
    }

    /// Puts a fragment for this host to the others of its packet; gives the frame, or the whole packet.
    fn whole(&mut self, now: Time, frame: Frame, out: &mut Out) -> Option<Frame> {
        let own = frame.first_chunk() == Some(&self.config.mac.0);
        let fragment = Fragment::read(&frame).filter(|one| own && self.is_own(one.destination()));
        let Some(fragment) = fragment else {
            return Some(frame);
        };
        let whole = self.reassembly.take(now, fragment, frame, out)?;
        self.reassembled += 1;
        Some(whole)
    }
}

impl Node for Host {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, now: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            if let Some(frame) = self.whole(now, frame, out) {
                self.frame(frame, out);
            }
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        let mac = self.config.mac;
        self.reassembly.wake(now, out, |first, out| {
            if let Some(error) = refusal::late(first, mac, out) {
                out.send(Port(0), error);
            }
        });
    }

    fn next_wake(&self) -> Option<Time> {
        self.reassembly.next_wake()
    }

    fn statistics(&self) -> Statistics {
        Statistics::from([
            ("packets", self.packets),
            ("arp", self.arp),
            ("neighbours", self.neighbours),
            ("pings", self.pings),
            ("echoes", self.echoes),
            ("refused", self.refused),
            ("reassembled", self.reassembled),
            ("ignored", self.ignored),
        ])
    }
}
