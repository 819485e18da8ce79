//! `ip::Interface` and Linux get the same frames and give the same answers. Without the rights to make a namespace the
//! test says that it was skipped.
//!
//! Not compared, as no standard asks for them: identification of fragments, fragment flags and type of service of IPv4
//! headers, traffic class and flow label of IPv6 headers. Not a case: packets for addresses off the link, about which Linux
//! sends errors as a router would, and the interface does not.

use ::capture::clock::now_ns;
use ip::{Interface, Received};
use live::netns::{Namespace, NetnsError, VethEnd, veth};
use live::port::{self, Options, Port};
use node::random::Random;
use node::{Frame, Out, Time};
use packet::arp::Arp;
use packet::ethernet::Mac;
use packet::icmpv6::Icmpv6;
use packet::ipv4::{Ipv4, protocol};
use packet::ipv6::Ipv6;
use packet::tcp::Tcp;
use packet::udp::Udp;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

const PEER: [u8; 6] = [2, 0, 0, 0, 0, 1];
const OWN: [u8; 6] = [2, 0, 0, 0, 0, 2];
const ALL_NODES: [u8; 6] = [0x33, 0x33, 0, 0, 0, 1];
const BROADCAST: [u8; 6] = [0xFF; 6];
/// Longest time that the kernel may take for an answer on a busy machine.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// A kernel at 10.0.0.2 and fd00::2, and the port of its peer.
struct Kernel {
    _namespaces: [Namespace; 2],
    port: Port,
    sentinels: u8,
}

impl Kernel {
    fn new(limited: bool) -> Result<Kernel, NetnsError> {
        let (kernel, outside) = (Namespace::new()?, Namespace::new()?);
        let end = |namespace, name, mac| VethEnd {
            namespace,
            name,
            mac: Some(mac),
        };
        veth([end(&kernel, "k", OWN), end(&outside, "n", PEER)], 1500)?;
        kernel.add_address("k", address("10.0.0.2"), 24)?;
        let mut settings =
            "cd /proc/sys/net/ipv6 && echo 0 >conf/k/accept_dad && echo 0 >conf/k/accept_ra \
            && echo 0 >conf/k/router_solicitations && echo 0 >conf/k/disable_ipv6"
                .to_string();
        if !limited {
            settings += " && echo 0 >icmp/ratelimit && cd ../ipv4 && echo 0 >icmp_ratelimit \
                && echo 100000 >icmp_msgs_per_sec && echo 100000 >icmp_msgs_burst";
        }
        let status = kernel.command("sh").args(["-c", &settings]).status();
        assert!(
            status.is_ok_and(|status| status.success()),
            "settings of a kernel with IPv6"
        );
        kernel.add_address("k", address("fd00::2"), 64)?;
        let open = || port::open(&"n".parse().unwrap(), &Options::default());
        let port = outside.enter(open)?.expect("a port on the peer's end");
        let mut kernel = Kernel {
            _namespaces: [kernel, outside],
            port,
            sentinels: 0,
        };
        // It learns where its peers are.
        for last in [1, 9] {
            kernel.answers(&[arp([10, 0, 0, last], [10, 0, 0, 2])]);
            let peer = address(&format!("fd00::{last}"));
            let option = [1, 1, 2, 0, 0, 0, 0, 1];
            kernel.answers(&[solicitation(peer, address("fd00::2"), 255, &option)]);
        }
        Ok(kernel)
    }

    /// Answers to frames, in the order in which they came.
    fn answers(&mut self, frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
        // A last question whose answer comes after all others.
        self.sentinels = self.sentinels % 100 + 1;
        let sender = [10, 0, 0, 100 + self.sentinels];
        let last = arp(sender, [10, 0, 0, 2]);
        let mut all: Vec<&[u8]> = frames.iter().map(|frame| &frame[..]).collect();
        all.push(&last);
        for frame in all {
            assert_eq!(self.port.tx.send(&[frame]).unwrap(), 1);
        }
        let mut found = Vec::new();
        collect(&mut self.port, sender, |bytes| {
            if !is_own_business(bytes) {
                found.push(normal(bytes));
            }
        });
        found
    }
}

/// Gives the frames that arrive before the answer of ARP to the address `sentinel`.
pub fn collect(port: &mut Port, sentinel: [u8; 4], mut take: impl FnMut(&[u8])) {
    let mut ended = false;
    let until = now_ns() + ANSWER_TIMEOUT.as_nanos() as u64;
    while !ended && now_ns() < until {
        let wait = Duration::from_millis(100);
        let receive = &mut |packet: live::port::Received<'_>| {
            let bytes = packet.bytes;
            match bytes.get(38..42) == Some(&sentinel) && bytes[12..14] == [8, 6] {
                true => ended = true,
                false => take(bytes),
            }
        };
        port.rx.receive(wait, receive).unwrap();
    }
    assert!(ended, "the kernel has not answered for {ANSWER_TIMEOUT:?}");
}

/// Whether a frame is no answer: a question of the kernel's own.
fn is_own_business(frame: &[u8]) -> bool {
    match frame[12..14] {
        [8, 6] => frame[21] == 1,
        [0x86, 0xDD] if frame[20] == 0 => true,
        [0x86, 0xDD] => frame[20] == 58 && matches!(frame[54], 131..=133 | 135 | 143),
        _ => frame[..6] != PEER && frame[..6] != ALL_NODES,
    }
}

/// A frame without padding and without the fields that are not compared.
fn normal(frame: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    match frame[12..14] {
        [8, 0] => {
            frame.truncate(14 + usize::from(u16::from_be_bytes([frame[16], frame[17]])));
            for at in [15, 18, 19, 20, 24, 25] {
                frame[at] = 0;
            }
            // Both are zero; which one an all-zero message gets depends on the way of adding.
            if frame[23] == protocol::ICMP && frame.get(36..38) == Some(&[0xFF; 2]) {
                frame[36..38].fill(0);
            }
        }
        [0x86, 0xDD] => {
            frame.truncate(54 + usize::from(u16::from_be_bytes([frame[18], frame[19]])));
            frame[14..18].fill(0);
            if frame[20] == protocol::FRAGMENT {
                frame[58..62].fill(0);
            }
        }
        _ => frame.truncate(42),
    }
    frame
}

/// The same of the interface, all of whose ports are closed.
fn ours(frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut interface = Interface::new(ip::Config {
        mac: OWN,
        addresses: vec![
            "10.0.0.2/24".parse().unwrap(),
            "fd00::2/64".parse().unwrap(),
        ],
        udp_echo: false,
        ..ip::Config::default()
    });
    let mut out = Out::default();
    for frame in frames {
        match interface.handle_frame(Time::ZERO, Frame::new(frame), &mut out) {
            Received::Packet(frame, packet) => {
                interface.unclaimed(Time::ZERO, frame, &packet, &mut out)
            }
            Received::Other(frame) => out.done(frame),
            Received::Consumed => {}
        }
    }
    out.sends().map(|sent| normal(&sent.frame)).collect()
}

fn arp(sender: [u8; 4], target: [u8; 4]) -> Vec<u8> {
    let mut frame = Vec::new();
    Arp::request(Mac(PEER), sender.into(), target.into()).build_frame(&mut frame);
    frame
}

fn ethernet(mac: [u8; 6], is_v4: bool) -> Vec<u8> {
    let kind = if is_v4 { [8, 0] } else { [0x86, 0xDD] };
    [&mac[..], &PEER, &kind].concat()
}

fn packet(mac: [u8; 6], ends: (IpAddr, IpAddr), protocol: u8, hops: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = ethernet(mac, ends.0.is_ipv4());
    match ends {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let mut ip = Ipv4::new(from, to, protocol);
            ip.hop_limit = hops;
            ip.build(&mut frame, |out| out.extend(payload));
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let mut ip = Ipv6::new(from, to, protocol);
            ip.hop_limit = hops;
            ip.build(&mut frame, |out| out.extend(payload));
        }
        _ => panic!("two versions"),
    }
    frame
}

fn message(ends: (IpAddr, IpAddr), kind: [u8; 2], data: &[u8]) -> Vec<u8> {
    let mut message = [&kind[..], &[0; 6], data].concat();
    let pseudo = ip::header::pseudo(ends.0, ends.1, protocol::ICMPV6);
    let sum = match ends.0.is_ipv4() {
        true => packet::checksum::Sum::default(),
        false => pseudo.sum(message.len()),
    };
    let sum = sum.plus(&message).checksum();
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    message
}

fn icmp(is_v4: bool) -> u8 {
    if is_v4 {
        protocol::ICMP
    } else {
        protocol::ICMPV6
    }
}

fn echo(mac: [u8; 6], ends: (IpAddr, IpAddr), hops: u8, code: u8, data: &[u8]) -> Vec<u8> {
    let request = if ends.0.is_ipv4() { 8 } else { 128 };
    let message = message(ends, [request, code], data);
    packet(mac, ends, icmp(ends.0.is_ipv4()), hops, &message)
}

fn udp(mac: [u8; 6], ends: (IpAddr, IpAddr), data: &[u8]) -> Vec<u8> {
    let mut datagram = Vec::new();
    let udp = Udp {
        source_port: 1_000,
        destination_port: 4_000,
    };
    let pseudo = ip::header::pseudo(ends.0, ends.1, protocol::UDP);
    udp.build(pseudo, &mut datagram, |out| out.extend(data));
    packet(mac, ends, protocol::UDP, 64, &datagram)
}

fn solicitation(from: IpAddr, target: IpAddr, hops: u8, options: &[u8]) -> Vec<u8> {
    let (IpAddr::V6(from), IpAddr::V6(target)) = (from, target) else {
        panic!("neighbour discovery is IPv6's")
    };
    let group = ip::discovery::solicited_node(target);
    let mac = ip::discovery::group_mac(group.into()).unwrap();
    let mut ip = Ipv6::new(from, group, protocol::ICMPV6);
    ip.hop_limit = hops;
    let mut frame = ethernet(mac, false);
    ip.build(&mut frame, |out| {
        let message = Icmpv6::NeighbourSolicitation { target };
        message.build(ip.pseudo(), out, |out| out.extend(options));
    });
    frame
}

/// Frames, by the name of the case.
fn cases() -> Vec<(String, Vec<Vec<u8>>)> {
    let mut all = Vec::new();
    let mut add = |name: String, frames: Vec<Vec<u8>>| all.push((name, frames));
    for (from, to) in [("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")] {
        let ends = (address(from), address(to));
        let is_v4 = ends.0.is_ipv4();
        let (at, version) = if is_v4 { (34, 4) } else { (54, 6) };
        for size in [
            0, 1, 7, 8, 56, 519, 520, 521, 528, 547, 548, 1_183, 1_184, 1_231, 1_232, 1_400,
        ] {
            let data: Vec<u8> = (0..size).map(|byte| byte as u8).collect();
            add(
                format!("echo {version} {size}"),
                vec![echo(OWN, ends, 64, 0, &data)],
            );
            add(format!("udp {version} {size}"), vec![udp(OWN, ends, &data)]);
            let other = packet(OWN, ends, 200, 64, &data);
            add(format!("protocol 200 {version} {size}"), vec![other]);
        }
        for hops in [0, 1, 2, 255] {
            add(
                format!("echo {version} hops {hops}"),
                vec![echo(OWN, ends, hops, 0, b"data")],
            );
            let datagram = udp(OWN, ends, b"data");
            let mut with = packet(OWN, ends, protocol::UDP, hops, &datagram[at..]);
            add(format!("udp {version} hops {hops}"), vec![with.clone()]);
            with[..6].copy_from_slice(&BROADCAST);
            add(
                format!("udp {version} hops {hops} by broadcast"),
                vec![with],
            );
        }
        add(
            format!("echo {version} code"),
            vec![echo(OWN, ends, 64, 3, b"data")],
        );
        for (name, byte) in [
            ("header", 16),
            ("hop limit", if is_v4 { 22 } else { 21 }),
            ("payload", at + 9),
            ("checksum", at + 2),
        ] {
            let mut frame = echo(OWN, ends, 64, 0, b"data");
            frame[byte] ^= 4;
            add(format!("echo {version} damaged {name}"), vec![frame]);
            let mut frame = udp(OWN, ends, b"data");
            frame[byte] ^= 4;
            add(format!("udp {version} damaged {name}"), vec![frame]);
        }
        let mut frame = udp(OWN, ends, b"data");
        frame[at + 6..at + 8].fill(0);
        add(format!("udp {version} without checksum"), vec![frame]);
        for length in [0, 7, 8, 11, 13, 200_u16] {
            let mut frame = udp(OWN, ends, b"data");
            frame[at + 4..at + 6].copy_from_slice(&length.to_be_bytes());
            if is_v4 {
                frame[at + 6..at + 8].fill(0);
            }
            add(format!("udp {version} length {length}"), vec![frame]);
        }
        for flags in 0..64 {
            let mut segment = Vec::new();
            let tcp = Tcp {
                source_port: 1_000,
                destination_port: 80,
                sequence: 7,
                acknowledgement: 11,
                flags,
                window: 100,
                urgent: 0,
                options: &[],
            };
            tcp.build(ip::header::pseudo(ends.0, ends.1, 6), &mut segment, |out| {
                out.extend(b"abc")
            });
            add(
                format!("tcp {version} flags {flags}"),
                vec![packet(OWN, ends, 6, 64, &segment)],
            );
        }
        // Errors are never answered, nor packets to groups.
        let error = if is_v4 { [3, 3] } else { [1, 4] };
        let quoted = udp(PEER, (ends.1, ends.0), b"data");
        let text = message(ends, error, &quoted[14..]);
        add(
            format!("error {version}"),
            vec![packet(OWN, ends, icmp(is_v4), 64, &text)],
        );
        let text = message(ends, [200, 0], b"data");
        add(
            format!("unknown message {version}"),
            vec![packet(OWN, ends, icmp(is_v4), 64, &text)],
        );
        add(
            format!("echo {version} by broadcast"),
            vec![echo(BROADCAST, ends, 64, 0, b"data")],
        );
        for length in [14, 15, 20, 33, 34, 40, 41, 42, 53, 54, 60] {
            let frame = echo(OWN, ends, 64, 0, b"data and more of it");
            add(
                format!("echo {version} cut at {length}"),
                vec![frame[..length.min(frame.len())].to_vec()],
            );
        }
    }
    let pair = |from: &str, to: &str| (address(from), address(to));
    for to in [
        "10.0.0.255",
        "255.255.255.255",
        "224.0.0.1",
        "10.0.0.3",
        "10.0.0.0",
    ] {
        let mac = if to == "10.0.0.3" { OWN } else { BROADCAST };
        add(
            format!("echo to {to}"),
            vec![echo(mac, pair("10.0.0.1", to), 64, 0, b"data")],
        );
        add(
            format!("udp to {to}"),
            vec![udp(mac, pair("10.0.0.1", to), b"data")],
        );
    }
    for (to, mac) in [
        ("ff02::1", ALL_NODES),
        ("ff02::1:ff00:2", [0x33, 0x33, 0xFF, 0, 0, 2]),
        ("ff02::1:ff00:3", [0x33, 0x33, 0xFF, 0, 0, 3]),
        ("ff02::99", [0x33, 0x33, 0, 0, 0, 0x99]),
        ("fd00::3", OWN),
    ] {
        add(
            format!("echo to {to}"),
            vec![echo(mac, pair("fd00::1", to), 64, 0, b"data")],
        );
        add(
            format!("udp to {to}"),
            vec![udp(mac, pair("fd00::1", to), b"data")],
        );
    }
    for from in [
        "0.0.0.0",
        "127.0.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "10.0.0.2",
    ] {
        add(
            format!("echo from {from}"),
            vec![echo(OWN, pair(from, "10.0.0.2"), 64, 0, b"data")],
        );
        add(
            format!("udp from {from}"),
            vec![udp(OWN, pair(from, "10.0.0.2"), b"data")],
        );
    }
    for from in ["::", "::1", "ff02::1", "fd00::2"] {
        add(
            format!("echo from {from}"),
            vec![echo(OWN, pair(from, "fd00::2"), 64, 0, b"data")],
        );
        add(
            format!("udp from {from}"),
            vec![udp(OWN, pair(from, "fd00::2"), b"data")],
        );
    }
    for (sender, target) in [
        ([10, 0, 0, 1], [10, 0, 0, 2]),
        ([10, 0, 0, 1], [10, 0, 0, 3]),
        ([0, 0, 0, 0], [10, 0, 0, 2]),
        ([10, 0, 0, 1], [10, 0, 0, 1]),
        ([10, 0, 0, 2], [10, 0, 0, 2]),
        ([10, 0, 0, 1], [224, 0, 0, 1]),
        ([10, 0, 0, 1], [127, 0, 0, 1]),
    ] {
        let frame = arp(sender, target);
        add(format!("ARP {sender:?} {target:?}"), vec![frame.clone()]);
        for at in [15, 17, 18, 19, 21] {
            let mut broken = frame.clone();
            broken[at] ^= 2;
            add(
                format!("ARP {sender:?} {target:?} broken at {at}"),
                vec![broken],
            );
        }
    }
    let (peer, own) = pair("fd00::1", "fd00::2");
    let option = [1, 1, 2, 0, 0, 0, 0, 1];
    add("NS".into(), vec![solicitation(peer, own, 255, &option)]);
    add(
        "NS without option".into(),
        vec![solicitation(peer, own, 255, &[])],
    );
    add(
        "NS of another hop".into(),
        vec![solicitation(peer, own, 254, &option)],
    );
    add(
        "NS for another".into(),
        vec![solicitation(peer, address("fd00::3"), 255, &option)],
    );
    add(
        "NS of no option length".into(),
        vec![solicitation(peer, own, 255, &[1, 0, 2, 0, 0, 0, 0, 1])],
    );
    let nobody = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    add(
        "DAD with option".into(),
        vec![solicitation(nobody, own, 255, &option)],
    );
    add("DAD".into(), vec![solicitation(nobody, own, 255, &[])]);
    all
}

/// Random fragments of an echo request: of any sizes and order, some twice, some missing, some of other lengths.
fn fragments(random: &mut Random, is_v4: bool, number: u32) -> Vec<Vec<u8>> {
    let (from, to) = if is_v4 {
        ("10.0.0.1", "10.0.0.2")
    } else {
        ("fd00::1", "fd00::2")
    };
    let ends = (address(from), address(to));
    let data: Vec<u8> = (0..200 + random.below(3_000))
        .map(|_| random.bits() as u8)
        .collect();
    let whole = echo(OWN, ends, 64, 0, &data);
    let payload = &whole[if is_v4 { 34 } else { 54 }..];
    let piece = |start: usize, end: usize| {
        let more = end < payload.len();
        let bytes = &payload[start..end];
        if is_v4 {
            let mut frame = packet(OWN, ends, protocol::ICMP, 64, bytes);
            frame[18..20].copy_from_slice(&(number as u16).to_be_bytes());
            let place = (start / 8) as u16 | u16::from(more) << 13;
            frame[20..22].copy_from_slice(&place.to_be_bytes());
            frame[24..26].fill(0);
            let sum = packet::checksum::checksum(&frame[14..34]);
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
            frame
        } else {
            let place = (start as u16 | u16::from(more)).to_be_bytes();
            let mut body = vec![protocol::ICMPV6, 0, place[0], place[1]];
            body.extend(number.to_be_bytes());
            body.extend(bytes);
            packet(OWN, ends, protocol::FRAGMENT, 64, &body)
        }
    };
    let (mut pieces, mut start) = (Vec::new(), 0);
    while start < payload.len() {
        let end = (start + 8 * (1 + random.index(120))).min(payload.len());
        pieces.push((start, end));
        start = end;
    }
    for _ in 0..random.below(3) {
        let index = random.index(pieces.len());
        match random.below(4) {
            0 => pieces.push(pieces[index]),
            1 if pieces.len() > 1 => drop(pieces.remove(index)),
            2 => {
                // One that overlaps others.
                let start = random.index(payload.len()) & !7;
                let end = (start + 8 * (1 + random.index(60))).min(payload.len());
                pieces.push((start, end));
            }
            _ => {
                let other = random.index(pieces.len());
                pieces.swap(index, other);
            }
        }
    }
    pieces
        .into_iter()
        .map(|(start, end)| piece(start, end))
        .collect()
}

#[test]
fn an_interface_and_linux_give_the_same_answers() {
    let mut kernel = match Kernel::new(false) {
        Ok(kernel) => kernel,
        Err(NetnsError::Permission { doing }) => {
            println!("skipped: {doing} is not allowed here, it needs root");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let mut all = cases();
    let mut random = Random::new(12);
    for number in 0..300 {
        let frames = fragments(&mut random, number % 2 == 0, 1_000 + number);
        all.push((format!("fragments {number}"), frames));
    }
    let mut different = Vec::new();
    let count = all.len();
    for (name, frames) in all {
        let (theirs, ours) = (kernel.answers(&frames), ours(&frames));
        if theirs != ours {
            different.push(format!(
                "{name}\n  Linux {theirs:02x?}\n  ours  {ours:02x?}"
            ));
        }
    }
    let faults = different.len();
    assert!(
        different.is_empty(),
        "{faults} of {count} cases:\n{}",
        different.join("\n")
    );
}

#[test]
fn an_interface_limits_errors_as_linux_does() {
    let mut kernel = match Kernel::new(true) {
        Ok(kernel) => kernel,
        Err(NetnsError::Permission { doing }) => {
            println!("skipped: {doing} is not allowed here, it needs root");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    for (from, to) in [("10.0.0.9", "10.0.0.2"), ("fd00::9", "fd00::2")] {
        let flood = vec![udp(OWN, (address(from), address(to)), b"data"); 30];
        let (theirs, ours) = (kernel.answers(&flood).len(), ours(&flood).len());
        assert_eq!(ours, 6);
        // A busy machine may give it more than the one interval.
        assert!((6..=8).contains(&theirs), "{from}: {theirs}");
    }
}
