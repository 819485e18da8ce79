//! The same random flows through Jool's stateful NAT64 and through ours, both with address-dependent filtering. `.ci/guest-router`
//! builds Jool's modules for the guest's kernel, and runs this test there.
//!
//! Each translator chooses its external ports: a packet to one has the port that this translator has chosen, and in packets
//! that leave the port is replaced by the number of its flow, after the checksums have been found right. Not compared: fields
//! that [`super::tayga`] leaves out, and checksums and identifications of IPv4 packets that an error quotes.

use super::tayga::{PREFIX, Pair, SETUP, frame, v4, v6, with_icmp};
use super::{have, kernels};
use node::random::Random;
use packet::checksum::checksum;
use packet::ipv4::protocol::{ICMP, ICMPV6, TCP, UDP};
use router::router::Config;
use router::{nat, nat64};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The external address.
const EXTERNAL: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const STEPS: usize = 4_000;
/// Flows that are open at a time.
const FLOWS: usize = 40;
/// Number of flow 0 where a packet had an external port.
const FIRST: u16 = 1_000;

const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;

/// Packets for one frame by Jool and by us.
type Both = [Vec<Vec<u8>>; 2];

/// An endpoint of an IPv6 host, and what it has sent to one remote endpoint.
struct Flow {
    /// UDP, TCP, or ICMP, whose identifier is `port`.
    protocol: u8,
    host: Ipv6Addr,
    port: u16,
    remote: (Ipv4Addr, u16),
    /// External ports in Jool and in ours.
    external: Option<[u16; 2]>,
    /// The last IPv4 packets that left each translator, and the last IPv6 packet that both sent to the host.
    left: [Vec<u8>; 2],
    entered: Vec<u8>,
}

impl Flow {
    fn new(random: &mut Random, number: usize) -> Flow {
        Flow {
            protocol: [UDP, TCP, ICMP][random.index(3)],
            host: Ipv6Addr::new(0x2001, 0xDB8, 0x46, 0, 0, 0, 0, 2 + random.below(4) as u16),
            // Jool has one binding of an endpoint; here each flow has its own.
            port: 2_000 + number as u16,
            remote: (
                [198, 51, 100, 7 + random.below(4) as u8].into(),
                [53, 80, 443][random.index(3)],
            ),
            external: None,
            left: Default::default(),
            entered: Vec::new(),
        }
    }

    /// A message between two ports with a right checksum.
    fn message(
        &self,
        random: &mut Random,
        ends: [IpAddr; 2],
        [from, to]: [u16; 2],
        flags: u8,
    ) -> Vec<u8> {
        let size = if random.chance(0.1) {
            random.index(1_300)
        } else {
            random.index(60)
        };
        let is_v4 = ends[0].is_ipv4();
        let (mut message, number, at) = match self.protocol {
            ICMP => {
                // From the host a request, to it the reply.
                let kind = if is_v4 { 0 } else { 128 };
                let id = if is_v4 { to } else { from }.to_be_bytes();
                let number = if is_v4 { ICMP } else { ICMPV6 };
                (vec![kind, 0, 0, 0, id[0], id[1], 0, 1], number, 2)
            }
            UDP => {
                let mut udp = [from.to_be_bytes(), to.to_be_bytes()].concat();
                udp.extend((8 + size as u16).to_be_bytes());
                udp.extend([0, 0]);
                (udp, UDP, 6)
            }
            _ => {
                let mut tcp = [from.to_be_bytes(), to.to_be_bytes()].concat();
                tcp.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, flags, 0x20, 0, 0, 0, 0, 0]);
                (tcp, TCP, 16)
            }
        };
        message.extend((0..size).map(|_| random.bits() as u8));
        if number == ICMP {
            return with_icmp(message);
        }
        let sum = ip::header::pseudo(ends[0], ends[1], number).sum(message.len());
        let sum = sum.plus(&message).udp_checksum();
        message[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        message
    }
}

fn in_prefix(address: Ipv4Addr) -> Ipv6Addr {
    let [a, b, c, d] = address.octets();
    let [high, low] = [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])];
    Ipv6Addr::new(0x2001, 0xDB8, 0x64, 0, 0, 0, high, low)
}

/// Offset of the payload of a packet without extension headers.
fn header(packet: &[u8]) -> usize {
    match packet[0] >> 4 {
        4 => usize::from(packet[0] & 15) * 4,
        _ => 40,
    }
}

/// The external port, or identifier, of a packet that leaves: its place, and that of the checksum over it.
fn places(packet: &[u8], is_source: bool) -> Option<[usize; 2]> {
    let at = header(packet);
    let number = if packet[0] >> 4 == 4 {
        packet[9]
    } else {
        packet[6]
    };
    let port = if is_source { at } else { at + 2 };
    Some(match number {
        UDP => [port, at + 6],
        TCP => [port, at + 16],
        ICMP | ICMPV6 => [at + 4, at + 2],
        _ => return None,
    })
}

/// Whether a whole packet has the right checksum of its payload.
fn is_right(packet: &[u8]) -> bool {
    let mut frame = frame(packet);
    // The comparison has cleared the checksum of the IPv4 header.
    if packet[0] >> 4 == 4 {
        let sum = checksum(&frame[14..14 + header(packet)]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
    }
    ip::header::read(&frame).is_some_and(|read| ip::header::is_valid(&frame, &read))
}

/// Known differences between the packets of both for one that was sent to ours.
fn known(sent: &[u8], [jool, ours]: &Both) -> Option<&'static str> {
    let quote = sent.get(header(sent) + 8..)?;
    match (&jool[..], &ours[..]) {
        ([jool], []) => {
            let at = header(jool);
            let kind = jool.get(at..at + 2)?;
            // RFC 6146 section 3.5.1.2 allows both.
            let is_report = matches!(kind, [3, 13] if at < 40) || kind == [1, 1];
            // Section 3.5.2.2 makes that a matter of policy.
            let is_segment = at == 40 && jool[6] == TCP;
            is_report
                .then_some("Jool reports what filtering refuses")
                .or(is_segment.then_some("Jool passes a segment without a session to a binding"))
        }
        ([jool], [ours]) if sent[9] == ICMP && quote.get(9) == Some(&ICMP) => {
            // Checksums of the error and of the message in its quote.
            let clear = |packet: &Vec<u8>| {
                let mut packet = packet.clone();
                for at in [42, 90] {
                    packet.get_mut(at..at + 2)?.fill(0);
                }
                Some(packet)
            };
            let is_cut = quote.len() < u16::from_be_bytes([quote[2], quote[3]]).into();
            (is_cut && clear(jool)? == clear(ours)?)
                .then_some("Jool's checksum in a quote of ICMP that is cut is wrong")
        }
        ([], [_]) if sent[9] == ICMP && quote.get(9) == Some(&TCP) && quote.len() < 40 => {
            Some("Jool drops an error that quotes a part of the TCP header")
        }
        _ => None,
    }
}

/// Both translators with the flows, and the result of the comparison.
struct Test {
    pair: Pair,
    random: Random,
    flows: Vec<Flow>,
    same: BTreeMap<&'static str, [usize; 2]>,
    differences: BTreeMap<&'static str, usize>,
    unknown: usize,
}

impl Test {
    /// The packet with the number of the flow in place of its external port, and without checksums over it.
    fn canonical(&self, side: usize, packet: &[u8]) -> Vec<u8> {
        let mut packet = packet.to_vec();
        let at = header(&packet);
        let is_error = match packet[0] >> 4 {
            4 => packet[9] == ICMP && matches!(packet[at], 3 | 11 | 12),
            _ => packet[6] == ICMPV6 && packet[at] < 128,
        };
        let is_external = packet[0] >> 4 == 4 || packet[8..24] == in_prefix(EXTERNAL).octets();
        if !is_right(&packet) {
            packet.extend(b"wrong checksum");
            return packet;
        }
        let replace = |packet: &mut [u8], is_source: bool| {
            let Some([port, sum]) = places(packet, is_source) else {
                return;
            };
            let Some(value) = packet.get(port..port + 2) else {
                return;
            };
            let value = u16::from_be_bytes([value[0], value[1]]);
            let number = match if packet[0] >> 4 == 4 {
                packet[9]
            } else {
                packet[6]
            } {
                ICMPV6 => ICMP,
                number => number,
            };
            let is_it = |flow: &Flow| {
                flow.protocol == number && flow.external.is_some_and(|both| both[side] == value)
            };
            if let Some(flow) = self.flows.iter().position(is_it) {
                let value = FIRST + flow as u16;
                packet[port..port + 2].copy_from_slice(&value.to_be_bytes());
            }
            if let Some(sum) = packet.get_mut(sum..sum + 2) {
                sum.fill(0);
            }
        };
        if is_error && packet[0] >> 4 == 4 {
            packet[at + 2..at + 4].fill(0);
            let quote = &mut packet[at + 8..];
            quote[4..6].fill(0);
            quote[10..12].fill(0);
            replace(quote, false);
        } else if !is_error && is_external {
            replace(&mut packet, true);
        }
        packet
    }

    /// Gives each translator its frame, and compares. Returns the packets of both.
    fn send(&mut self, what: &'static str, frames: [Vec<u8>; 2]) -> Both {
        let both = self.pair.send(frames.each_ref().map(|frame| &frame[..]));
        self.compare(what, &frames, &both);
        both
    }

    fn compare(&mut self, what: &'static str, frames: &[Vec<u8>; 2], both: &Both) {
        let canonical: [Vec<Vec<u8>>; 2] = std::array::from_fn(|side| {
            both[side]
                .iter()
                .map(|packet| self.canonical(side, packet))
                .collect()
        });
        let [jool, ours] = &canonical;
        if jool == ours {
            let counts = self.same.entry(what).or_default();
            counts[usize::from(ours.is_empty())] += 1;
        } else if let Some(difference) = known(&frames[1][14..], both) {
            *self.differences.entry(difference).or_default() += 1;
        } else {
            self.unknown += 1;
            if self.unknown <= 8 {
                let hex = |bytes: &[u8]| {
                    bytes
                        .iter()
                        .map(|byte| format!("{byte:02x}"))
                        .collect::<String>()
                };
                println!("{what}: sent {}", hex(&frames[1][14..]));
                jool.iter()
                    .for_each(|packet| println!("jool {}", hex(packet)));
                ours.iter()
                    .for_each(|packet| println!("ours {}", hex(packet)));
                println!("{:?}", self.pair.drops());
            }
        }
    }

    /// A packet from a host to its remote endpoint, or to another.
    fn outbound(&mut self, number: usize) {
        let is_first = self.flows[number].external.is_none();
        let elsewhere = !is_first && self.random.chance(0.2);
        let flow = &mut self.flows[number];
        if elsewhere && flow.protocol != ICMP {
            flow.remote = ([198, 51, 100, 7 + self.random.below(4) as u8].into(), 8_080);
        }
        let flags = match is_first || elsewhere {
            true => SYN,
            false if self.random.chance(0.05) => RST | ACK,
            false => ACK,
        };
        let ends = [flow.host, in_prefix(flow.remote.0)];
        let ports = [flow.port, flow.remote.1];
        let message = flow.message(&mut self.random, ends.map(IpAddr::V6), ports, flags);
        let number_v6 = if flow.protocol == ICMP {
            ICMPV6
        } else {
            flow.protocol
        };
        let frame = frame(&v6(&mut self.random, ends, number_v6, &message, None));
        let frames = [frame.clone(), frame];
        let both = self.pair.send(frames.each_ref().map(|frame| &frame[..]));
        let ports = both.each_ref().map(|packets| {
            let packet = packets.first()?;
            let [port, _] = places(packet, true)?;
            Some(u16::from_be_bytes([packet[port], packet[port + 1]]))
        });
        if let ([Some(jool), Some(ours)], true) = (ports, is_first) {
            self.flows[number].external = Some([jool, ours]);
        }
        self.compare("outbound", &frames, &both);
        if let [Some(jool), Some(ours)] = both.each_ref().map(|packets| packets.first()) {
            self.flows[number].left = [jool.clone(), ours.clone()];
        }
    }

    /// Frames from a remote host to an external port, one for each translator.
    fn inbound(&mut self, number: usize) {
        let Some(external) = self.flows[number].external else {
            return;
        };
        let flow = &self.flows[number];
        let (mut remote, port) = flow.remote;
        // Another host, which filtering refuses.
        let is_stranger = self.random.chance(0.15);
        if is_stranger {
            remote = [198, 51, 100, 99].into();
        }
        let random = &mut self.random;
        let again = random.bits();
        let ends = [remote, EXTERNAL];
        let frames = external.map(|external| {
            // The same packet but for the port.
            let mut random = Random::new(again);
            let message = flow.message(&mut random, ends.map(IpAddr::V4), [port, external], ACK);
            frame(&v4(&mut random, ends, flow.protocol, &message, 0))
        });
        let what = if is_stranger {
            "from strangers"
        } else {
            "inbound"
        };
        let both = self.send(what, frames);
        if let ([jool], [ours]) = (&both[0][..], &both[1][..])
            && jool == ours
        {
            self.flows[number].entered = ours.clone();
        }
    }

    /// An error of a router about the last packet that left.
    fn error_inbound(&mut self, number: usize) {
        if self.flows[number].left.iter().any(Vec::is_empty) {
            return;
        }
        let random = &mut self.random;
        let [kind, code] = [[3, 1], [3, 3], [3, 4], [3, 13], [11, 0]][random.index(5)];
        let (again, cut) = (random.bits(), [28, 48, 200][random.index(3)]);
        let frames = self.flows[number].left.each_ref().map(|about| {
            let mut random = Random::new(again);
            let mut message = vec![kind, code, 0, 0, 0, 0, 5, 0];
            let mut quote = about.clone();
            let sum = checksum(&quote[..header(about)]);
            quote[10..12].copy_from_slice(&sum.to_be_bytes());
            quote.truncate(cut);
            message.extend(quote);
            let ends = [[198, 51, 100, 50].into(), EXTERNAL];
            frame(&v4(&mut random, ends, ICMP, &with_icmp(message), 0))
        });
        self.send("errors inbound", frames);
    }

    /// An error of the host, or of a router before it, about the last packet that came.
    fn error_outbound(&mut self, number: usize) {
        let flow = &self.flows[number];
        if flow.entered.is_empty() {
            return;
        }
        let random = &mut self.random;
        let [kind, code] = [[1, 0], [1, 3], [1, 4], [2, 0], [3, 0]][random.index(5)];
        let mut message = vec![kind, code, 0, 0, 0, 0, 0, 0];
        if kind == 2 {
            message[6..].copy_from_slice(&[5, 0]);
        }
        message.extend(&flow.entered[..flow.entered.len().min([88, 100, 1_200][random.index(3)])]);
        let remote: [u8; 16] = flow.entered[8..24].try_into().unwrap();
        let ends = [flow.host, Ipv6Addr::from(remote)];
        let sum = ip::header::pseudo(ends[0].into(), ends[1].into(), ICMPV6).sum(message.len());
        let sum = sum.plus(&message).checksum();
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        let frame = frame(&v6(random, ends, ICMPV6, &message, None));
        self.send("errors outbound", [frame.clone(), frame]);
    }

    /// A datagram to the external endpoint of another host, which may have sent one before.
    fn hairpin(&mut self, number: usize) {
        let all = self.flows.iter().enumerate();
        let all = all.filter(|(_, flow)| flow.protocol == UDP);
        let all: Vec<usize> = all.map(|(number, _)| number).collect();
        // Flows in pairs.
        let place = all.iter().position(|one| *one == number);
        let Some(&other) = place.and_then(|place| all.get(place ^ 1)) else {
            return;
        };
        let (flow, to) = (&self.flows[number], &self.flows[other]);
        let (Some(_), Some(external)) = (flow.external, to.external) else {
            return;
        };
        let again = self.random.bits();
        let ends = [flow.host, in_prefix(EXTERNAL)];
        let frames = external.map(|external| {
            let mut random = Random::new(again);
            let ports = [flow.port, external];
            let message = flow.message(&mut random, ends.map(IpAddr::V6), ports, SYN);
            frame(&v6(&mut random, ends, UDP, &message, None))
        });
        self.send("hairpins", frames);
    }
}

#[test]
fn jool_and_the_nat64_send_the_same_packets() {
    let modules = std::fs::read_to_string("/proc/modules").unwrap_or_default();
    if !modules.lines().any(|line| line.starts_with("jool ")) {
        return println!("skipped: the kernel has no module jool; .ci/guest-router builds it");
    }
    if !have(&["jool"]) {
        return;
    }
    let Some((kernels, mut ports)) = kernels(&[SETUP]) else {
        return;
    };
    kernels.output(
        0,
        &format!(
            "ip route add {EXTERNAL} via 10.9.0.2 && jool instance add --netfilter --pool6 {PREFIX} && \
             jool pool4 add --tcp {EXTERNAL} 10000-30000 && jool pool4 add --udp {EXTERNAL} 10000-30000 && \
             jool pool4 add --icmp {EXTERNAL} 10000-30000 && \
             jool global update address-dependent-filtering true && jool global update logging-debug false && \
             jool global update drop-externally-initiated-tcp false"
        ),
    );
    let nat64 = nat64::Config {
        prefix: PREFIX.parse().unwrap(),
        nat: nat::Config {
            external: vec![EXTERNAL.to_string().parse().unwrap()],
            filtering: nat::config::Behaviour::AddressDependent,
            unsolicited: nat::config::Unsolicited::Drop,
            ..nat::Config::default()
        },
        ..nat64::Config::default()
    };
    let config = Config {
        nat64: Some(nat64),
        ..Config::default()
    };
    let mut random = Random::new(11);
    let mut test = Test {
        pair: Pair::new(ports.remove(0), config, [10, 9, 0, 1].into()),
        flows: (0..FLOWS)
            .map(|number| Flow::new(&mut random, number))
            .collect(),
        random,
        same: BTreeMap::new(),
        differences: BTreeMap::new(),
        unknown: 0,
    };
    for _ in 0..STEPS {
        let number = test.random.index(FLOWS);
        match test.random.below(12) {
            0..=3 => test.outbound(number),
            4..=7 => test.inbound(number),
            8 => test.error_inbound(number),
            9 => test.error_outbound(number),
            _ => test.hairpin(number),
        }
    }
    let Test {
        same, differences, ..
    } = &test;
    println!("the same [sent, dropped]: {same:?}; {differences:?}");
    assert_eq!(test.unknown, 0);
    for what in [
        "outbound",
        "inbound",
        "errors inbound",
        "errors outbound",
        "hairpins",
    ] {
        let sent = test.same.get(what).map_or(0, |counts| counts[0]);
        assert!(sent > STEPS / 100, "{what}: {sent}");
    }
}
