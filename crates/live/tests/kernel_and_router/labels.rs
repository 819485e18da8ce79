//! MPLS: the same label stacks and packets, with the TTLs of packets and labels being one, and apart (`ip_ttl_propagate`).
//!
//! Not compared, since it is not Linux's on purpose (decision 0195): errors about packets with labels, which Linux does not send; the
//! traffic class of a label that is replaced; TTLs after a label was popped from others, which Linux does not carry on, or popped for
//! the router itself, which is two hops for Linux, or popped before the last router where TTLs are apart, when Linux counts the hop in
//! the packet (RFC 3443 section 3.3 does not); packets with labels that are longer than the next link, which Linux drops. A label has no
//! higher TTL than its packet, which Linux would raise.

use super::{
    Kernel, PLAIN, Sent, Setup, compare_frames, count_of_packets, is_router, ours, packets,
    router_of,
};
use node::random::Random;
use packet::mpls::Label;
use router::router::Config;

const MODULES: &str = "modprobe -a mpls_router mpls_iptunnel && ls /proc/sys/net/mpls/conf/lo";
const LABELS: [&str; 9] = [
    "100 via inet 10.0.1.2 dev k1",
    "101 as 200 via inet 10.0.2.2 dev k2",
    "102 as 200/300 via inet6 fd00:1::2 dev k1",
    "103 dev lo",
    "104 via inet6 fd00:2::2 dev k2",
    "105 as 201/202/203 via inet 10.0.0.2 dev k0",
    "106 as 1048575 via inet 10.0.0.4 dev k0",
    "107 via inet 10.0.0.5 dev k0",
    "1048 as 16 via inet6 fd00:0::3 dev k0",
];
/// Numbers of these, of explicit null, and of labels without a route.
const NUMBERS: [u32; 14] = [
    100, 101, 102, 103, 104, 105, 106, 107, 1048, 0, 2, 3, 999, 1_048_575,
];
/// Labels of packets for the router itself.
const LOCAL: [u32; 3] = [0, 2, 103];
const ROUTES: [&str; 8] = [
    "10.9.0.0/16 encap mpls 400 via 10.0.1.2",
    "10.8.0.0/16 encap mpls 401/402 via 10.0.2.2",
    "10.9.9.0/24 via 10.0.2.3",
    "10.4.0.0/16 encap mpls 403 ttl 9 via 10.0.0.3",
    "10.5.0.0/16 encap mpls 403/404/405/406 via 10.0.1.3",
    "fd09::/16 encap mpls 500 via fd00:1::2",
    "fd08::/16 encap mpls 501/502 via fd00:1::4",
    "fd05::/16 encap mpls 503 ttl 255 via fd00:0::3",
];

/// Maximum length of a frame that gets labels, and fits on each link with more of them.
const MAX_LABELLED: usize = 14 + 1280 - 7 * 4;

/// The TTL or hop limit of a packet in a frame without labels.
fn hops(frame: &[u8]) -> u8 {
    let at = if frame.get(12) == Some(&8) { 22 } else { 21 };
    frame.get(at).copied().unwrap_or(0)
}

/// A packet, most of them with labels whose TTLs are those that routers on the way have left.
fn labelled(random: &mut Random, port: usize, plain: Vec<u8>) -> Vec<u8> {
    if random.chance(0.35) || plain.len() < 14 || plain.len() > MAX_LABELLED {
        return plain;
    }
    let mut ttl = hops(&plain);
    let count = 1 + random.index(3);
    let mut entries: Vec<Label> = (0..count)
        .map(|_| {
            // TTL of the packet, or a lower one.
            ttl = match random.below(4) {
                0 => ttl.saturating_sub(random.below(3) as u8),
                _ => ttl,
            };
            let label = NUMBERS[random.index(NUMBERS.len())];
            // With few hops left it matters that a label for the router itself is two hops for Linux.
            let label = if LOCAL.contains(&label) && ttl < 9 {
                101
            } else {
                label
            };
            Label {
                label,
                class: 0,
                ttl,
            }
        })
        .collect();
    entries.reverse();
    let mut stack = Vec::new();
    packet::mpls::build(&entries, &mut stack);
    let mut frame = plain[..12].to_vec();
    frame.extend([0x88, 0x47]);
    let least = 14 + stack.len();
    frame.extend(stack);
    frame.extend(&plain[14..]);
    if random.chance(0.03) {
        frame.truncate(least + random.index(frame.len() - least + 1));
    }
    frame.truncate(14 + super::MTUS[port]);
    frame
}

/// Labels of a frame that is sent.
fn stack_of(frame: &[u8]) -> Vec<Label> {
    let (mut all, mut rest) = (Vec::new(), &frame[14..]);
    while let Ok((label, is_bottom, after)) = Label::split(rest) {
        all.push(label);
        rest = after;
        if is_bottom {
            break;
        }
    }
    all
}

/// Clears TTLs of labels and packets.
fn without_ttls(all: &mut Sent) {
    for frame in all.iter_mut().flatten() {
        let mut at = 14;
        if frame[12..14] == [0x88, 0x47] {
            for _ in stack_of(frame) {
                frame[at + 3] = 0;
                at += 4;
            }
        }
        match frame.get(at).map(|byte| byte >> 4) {
            Some(4) if frame.len() >= at + 12 => {
                frame[at + 8] = 0;
                frame[at + 10..at + 12].fill(0);
            }
            Some(6) if frame.len() >= at + 8 => frame[at + 7] = 0,
            _ => {}
        }
    }
}

/// Whether TTLs that leave are compared.
fn has_ttls(sent: &[u8], propagates: bool) -> bool {
    /// Labels that are popped before the last router.
    const POPPED: [u32; 3] = [100, 104, 107];
    if sent.get(12..14) != Some(&[0x88, 0x47]) {
        return true;
    }
    let stack = stack_of(sent);
    let [top] = &stack[..] else {
        return false;
    };
    !LOCAL.contains(&top.label) && (propagates || !POPPED.contains(&top.label))
}

/// Clears the fields of packets below labels that are not compared.
fn normalise(all: &mut Sent) {
    for frame in all.iter_mut().flatten() {
        if frame[12..14] != [0x88, 0x47] {
            continue;
        }
        let at = 14 + 4 * stack_of(frame).len();
        let kind = match frame.get(at).map(|byte| byte >> 4) {
            Some(4) if frame.len() >= at + 20 => [8, 0],
            Some(6) if frame.len() > at + 40 => [0x86, 0xDD],
            _ => continue,
        };
        let plain = [&frame[..12], &kind, &frame[at..]].concat();
        let plain = super::normal(&plain);
        frame.truncate(at);
        frame.extend(&plain[14..]);
    }
}

/// Whether an address is the router's. A packet that is popped comes by Linux's loopback interface, so that its addresses are reached.
fn is_own(source: &[u8]) -> bool {
    let loopback = std::net::Ipv6Addr::LOCALHOST.octets();
    is_router(source) || source == loopback || matches!(source, [127, _, _, _])
}

/// Removes errors about packets with labels.
fn without_errors(sent: &[u8], mut all: Sent, propagates: bool) -> Sent {
    normalise(&mut all);
    if sent.get(12..14) == Some(&[0x88, 0x47]) {
        for frames in &mut all {
            frames.retain(|frame| {
                let at = match frame[12..14] {
                    [0x88, 0x47] => 14 + 4 * stack_of(frame).len(),
                    _ => 14,
                };
                match frame.get(at).map(|byte| byte >> 4) {
                    Some(4) => !frame.get(at + 12..at + 16).is_some_and(is_own),
                    Some(6) => !frame.get(at + 8..at + 24).is_some_and(is_own),
                    _ => true,
                }
            });
        }
    }
    if !has_ttls(sent, propagates) {
        without_ttls(&mut all);
    }
    all
}

fn compare(seed: u64, propagates: bool, make: fn(&mut Random, usize) -> Vec<u8>) {
    if !Setup::is_possible("MPLS", MODULES) {
        return;
    }
    let mut after = format!(
        "cd /proc/sys/net/mpls; echo 0 >../ipv6/conf/lo/disable_ipv6; echo 1048575 >platform_labels; for port in lo k0 k1 k2; do echo 1 >conf/$port/input; done; \
         echo {} >ip_ttl_propagate\n",
        u8::from(propagates)
    );
    for route in LABELS {
        after += &format!("ip -f mpls route add {route}\n");
    }
    let setup = Setup {
        after: &after,
        routes: &ROUTES,
        rules: &[],
        ..PLAIN
    };
    let mut kernel = Kernel::with(&setup).expect("a namespace");
    let config = Config {
        mpls: LABELS
            .iter()
            .map(|text| text.replace("dev k", "dev ").parse().unwrap())
            .collect(),
        ttl_propagate: propagates,
        ..Config::default()
    };
    let mut router = router_of(&setup, |_, port| port.mpls = true, config);
    compare_frames(
        (seed, count_of_packets()),
        make,
        &mut |port, frame| without_errors(frame, kernel.answers(port, frame), propagates),
        &mut |port, frame| {
            let (sent, drops) = ours(&mut router, port, frame);
            (without_errors(frame, sent, propagates), drops)
        },
    );
}

fn v4(random: &mut Random, port: usize) -> Vec<u8> {
    let plain = packets::v4(random, port);
    labelled(random, port, plain)
}

fn v6(random: &mut Random, port: usize) -> Vec<u8> {
    let plain = packets::v6(random, port);
    labelled(random, port, plain)
}

#[test]
fn random_labels_on_ipv4_are_followed_as_by_linux_with_one_ttl() {
    compare(31, true, v4);
}

#[test]
fn random_labels_on_ipv6_are_followed_as_by_linux_with_one_ttl() {
    compare(32, true, v6);
}

#[test]
fn random_labels_on_ipv4_are_followed_as_by_linux_with_ttls_of_their_own() {
    compare(33, false, v4);
}

#[test]
fn random_labels_on_ipv6_are_followed_as_by_linux_with_ttls_of_their_own() {
    compare(34, false, v6);
}
