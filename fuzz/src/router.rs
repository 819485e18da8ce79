//! A router with NAT or without, and frames: each with four bytes for its length, its port, the time and the parts of it that are
//! made good. Every frame that leaves has a right IPv4 header, and no more leaves than the limits allow.

use node::{Frame, Node, Out, Port, Time};
use packet::checksum::checksum;
use packet::ipv4::Ipv4View;
use router::router::{Config, PortConfig, Router};

/// Maximum number of frames of one input.
const MAX_FRAMES: usize = 2_000;
/// Maximum number of frames that leave for one that arrives: its fragments, and a report.
const MAX_SENT: usize = 200;
const ETHERNET: usize = 14;

fn router(kind: u8) -> Router {
    let port = |number: usize| PortConfig {
        address: vec![
            format!("10.0.{number}.1/24").parse().expect("an address"),
            format!("fd00:{number}::1/64").parse().expect("an address"),
        ],
        mac: Some(packet::ethernet::Mac([2, 0, 0, 0, 0, number as u8])),
        mtu: 1280 + 100 * number,
        outside: kind & 1 == 1 && number == 2,
        ..PortConfig::default()
    };
    let routes = [
        "10.9.0.0/16 nexthop via 10.0.1.2 nexthop via 10.0.2.2 weight 3",
        "blackhole 10.7.0.0/16",
        "prohibit 10.5.0.0/16",
        "default via 10.0.2.9",
        "fd09::/16 via fd00:1::2",
        "10.8.0.0/16 via 10.0.0.9 table 7",
    ];
    let rules = match kind & 2 {
        0 => vec![],
        _ => vec![
            "from 10.0.0.0/25 dport 53 lookup 7"
                .parse()
                .expect("a rule"),
        ],
    };
    Router::new(Config {
        port: (0..3).map(port).collect(),
        route: routes
            .iter()
            .map(|text| text.parse().expect("a route"))
            .collect(),
        rule: rules,
        nat: (kind & 1 == 1).then(|| match kind & 4 {
            0 => router::nat::Config::default(),
            _ => router::nat::Config::linux(),
        }),
        icmp_limit: kind & 8 == 0,
        ..Config::default()
    })
    .expect("a good configuration")
}

fn frame(bytes: &[u8], port: u8, good: u8) -> Frame {
    let mut frame = Frame::new(bytes);
    if good & 1 == 1 && frame.len() >= ETHERNET {
        frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, port]);
        let kind = if good & 2 == 0 { [8, 0] } else { [0x86, 0xDD] };
        frame[12..14].copy_from_slice(&kind);
    }
    let length = (frame.len().saturating_sub(ETHERNET)) as u16;
    if good & 4 == 4 && length >= 40 {
        let ip = &mut frame[ETHERNET..];
        match good & 2 {
            0 => {
                ip[0] = 0x45 + (ip[0] & 3);
                ip[2..4].copy_from_slice(&length.to_be_bytes());
                let header = usize::from(ip[0] & 15) * 4;
                ip[10..12].fill(0);
                let sum = checksum(&ip[..header]);
                ip[10..12].copy_from_slice(&sum.to_be_bytes());
            }
            _ => {
                ip[0] = 0x60;
                ip[4..6].copy_from_slice(&(length - 40).to_be_bytes());
            }
        }
    }
    frame
}

pub fn target(data: &[u8]) {
    let Some((&kind, mut rest)) = data.split_first() else {
        return;
    };
    let mut router = router(kind);
    let (mut now, mut out) = (Time::ZERO, Out::default());
    for _ in 0..MAX_FRAMES {
        let Some((&[length, port, time, good], after)) = rest.split_first_chunk() else {
            break;
        };
        // Some are long.
        let length = usize::from(length) * if good & 8 == 0 { 1 } else { 6 };
        let (bytes, after) = after.split_at(after.len().min(length));
        rest = after;
        now += Time::from_ms(u64::from(time).pow(2) / 4);
        while router.next_wake().is_some_and(|wake| wake <= now) {
            router.wake(now, &mut out);
            check(&mut out, usize::MAX);
        }
        let port = port % 3;
        let mut frames = vec![frame(bytes, port, good)];
        router.frames(now, Port(port.into()), &mut frames, &mut out);
        check(&mut out, MAX_SENT);
    }
    router.tables(now);
    router.statistics();
}

fn check(out: &mut Out, max: usize) {
    let sent: Vec<_> = out.sends().collect();
    assert!(sent.len() <= max);
    for departure in sent {
        assert!(departure.port.0 < 3);
        let frame = &departure.frame;
        if frame[12..14] == [8, 0] {
            let ip = Ipv4View::new(&frame[ETHERNET..]).expect("a whole packet");
            assert!(ip.is_checksum_valid());
        }
    }
}

/// Texts as routes and rules, whose texts are read again as the same.
pub fn words(data: &[u8]) {
    let Ok(text) = core::str::from_utf8(data) else {
        return;
    };
    for line in text.lines() {
        if let Ok(route) = line.parse::<router::route::Route>() {
            assert_eq!(route.to_string().parse(), Ok(route));
        }
        if let Ok(rule) = line.parse::<router::rule::Rule>() {
            assert_eq!(rule.to_string().parse(), Ok(rule));
        }
    }
}
