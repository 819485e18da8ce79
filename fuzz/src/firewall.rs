//! Rulesets, and packets: text up to a zero byte, then packets, each with four bytes for its length, its port, the time and the
//! parts of it that are made good. A ruleset that is accepted judges every packet in bounded time, connections stay within their
//! limit, and each of them is shown.

use node::{Frame, Node, Out, Port, Time};
use packet::checksum::checksum;
use packet::ipv4::Ipv4View;
use router::conntrack;
use router::router::{Config, PortConfig, Router};

/// Maximum number of packets of one input.
const MAX_PACKETS: usize = 500;
/// Maximum number of connections.
const MAX: u32 = 16;
const ETHERNET: usize = 14;

fn router(rules: &str) -> Option<Router> {
    let port = |number: usize| PortConfig {
        address: vec![
            format!("10.0.{number}.1/24").parse().expect("an address"),
            format!("fd00:{number}::1/64").parse().expect("an address"),
        ],
        mac: Some(packet::ethernet::Mac([2, 0, 0, 0, 0, number as u8])),
        name: Some(format!("eth{number}")),
        ..PortConfig::default()
    };
    let config = Config {
        port: (0..2).map(port).collect(),
        firewall: (!rules.is_empty()).then(|| rules.to_owned()),
        conntrack: Some(conntrack::Config {
            max: MAX,
            ..conntrack::Config::default()
        }),
        ..Config::default()
    };
    Router::new(config).ok()
}

/// Makes the parts of a packet good that `bits` name, so that more of them come far.
fn mend(frame: &mut [u8], bits: u8, port: u8) {
    if frame.len() < ETHERNET + 20 {
        return;
    }
    if bits & 1 == 1 {
        frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, port]);
        let is_v4 = frame[ETHERNET] >> 4 == 4;
        frame[12..14].copy_from_slice(if is_v4 { &[8, 0] } else { &[0x86, 0xDD] });
    }
    if bits & 2 == 2 && frame[ETHERNET] >> 4 == 4 {
        frame[ETHERNET] = 0x45;
        let length = (frame.len() - ETHERNET) as u16;
        frame[ETHERNET + 2..ETHERNET + 4].copy_from_slice(&length.to_be_bytes());
        frame[26..30].copy_from_slice(&[10, 0, port, 2 + bits / 128]);
        frame[30..34].copy_from_slice(&[10, 0, 1 - port, 2]);
        frame[24..26].fill(0);
        let sum = checksum(&frame[ETHERNET..ETHERNET + 20]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
    }
    if bits & 4 == 4 && frame.len() >= 54 && frame[23] == 6 {
        frame[50..52].fill(0);
        let Ok(ip) = Ipv4View::new(&frame[ETHERNET..]) else {
            return;
        };
        let sum = ip
            .pseudo()
            .sum(ip.payload().len())
            .plus(ip.payload())
            .checksum();
        frame[50..52].copy_from_slice(&sum.to_be_bytes());
    }
}

pub fn target(data: &[u8]) {
    let end = data
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(data.len());
    let Ok(rules) = core::str::from_utf8(&data[..end]) else {
        return;
    };
    let Some(mut router) = router(rules) else {
        return;
    };
    let mut rest = data.get(end + 1..).unwrap_or_default();
    let mut out = Out::default();
    let mut now = Time::ZERO;
    for _ in 0..MAX_PACKETS {
        let Some((&[length, port, time, bits], after)) = rest.split_first_chunk() else {
            break;
        };
        let length = usize::from(length).min(after.len());
        let mut frame = after[..length].to_vec();
        rest = &after[length..];
        let port = port % 2;
        mend(&mut frame, bits, port);
        now += Time::from_ms(u64::from(time) * u64::from(time));
        let mut frames = vec![Frame::new(&frame)];
        router.frames(now, Port(port.into()), &mut frames, &mut out);
        if router.next_wake().is_some_and(|wake| wake <= now) {
            router.wake(now, &mut out);
        }
        // One packet and its fragments, or an answer, or the two segments of a SYN proxy, and what they are asked for.
        assert!(out.sends().count() <= 8);
        let known = router.statistics().get("connections");
        assert!(known.is_some_and(|known| known <= MAX.into()));
    }
    let tables = router.tables(now);
    let rows = tables.iter().find(|table| table.name == "connections");
    assert!(rows.is_some_and(|rows| rows.entries.len() <= MAX as usize));
}
