//! Cost of a packet that is forwarded by a router with 10, 100 and 1,000 rules, as a ratio to the cost without rules; with a new
//! and with a known connection, and with a set in place of the rules.
//!
//! `cargo bench -p wireline-router --bench firewall`

use node::{Frame, Node, Out, Port, Time};
use packet::arp::Arp;
use packet::ethernet::Mac;
use packet::ipv4::Ipv4;
use router::router::{Config, PortConfig, Router};
use std::net::Ipv4Addr;

/// Packets of a run.
const PACKETS: usize = 2_000;
const RUNS: usize = 40;
const HOST: [u8; 6] = [2, 0, 0, 1, 0, 2];

fn router(rules: Option<String>) -> Router {
    let port = |number: usize| PortConfig {
        address: vec![format!("10.0.{number}.1/24").parse().expect("an address")],
        mac: Some(Mac([2, 0, 0, 0, 1, number as u8])),
        ..PortConfig::default()
    };
    let mut router = Router::new(Config {
        port: (0..2).map(port).collect(),
        firewall: rules,
        ..Config::default()
    })
    .expect("a good configuration");
    for number in 0..2_u8 {
        let mut frame = Vec::new();
        Arp::request(
            Mac(HOST),
            [10, 0, number, 2].into(),
            [10, 0, number, 1].into(),
        )
        .build_frame(&mut frame);
        let mut frames = vec![Frame::new(&frame)];
        router.frames(
            Time::ZERO,
            Port(number.into()),
            &mut frames,
            &mut Out::default(),
        );
    }
    router
}

fn datagram() -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 1, 0];
    bytes.extend(HOST);
    bytes.extend([8, 0]);
    let ip = Ipv4::new(Ipv4Addr::new(10, 0, 0, 2), Ipv4Addr::new(10, 0, 1, 2), 17);
    ip.build(&mut bytes, |out| {
        out.extend([4, 0, 0x13, 0x88, 0, 26, 0, 0]);
        out.extend([7; 18]);
    });
    bytes
}

/// Nanoseconds a packet, the best of several runs: other work on the machine only adds.
fn nanoseconds(router: &mut Router) -> f64 {
    let datagram = datagram();
    let mut out = Out::default();
    let mut now = Time::ZERO;
    let mut frames = Vec::with_capacity(1);
    let runs = (0..RUNS).map(|_| {
        #[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
        let start = std::time::Instant::now();
        for _ in 0..PACKETS {
            now += Time::from_ns(100);
            frames.push(out.pool().take_with(&Frame::new(&datagram)));
            router.frames(now, Port(0), &mut frames, &mut out);
            let sent: Option<Frame> = out.sends().map(|sent| sent.frame).next_back();
            out.pool().give(sent.expect("the packet is forwarded"));
        }
        start.elapsed().as_nanos() as f64 / PACKETS as f64
    });
    runs.fold(f64::INFINITY, f64::min)
}

fn chain(rules: &str) -> String {
    format!(
        "table inet x {{\n chain f {{\n type filter hook forward priority 0; policy drop;\n{rules}\n}}\n}}"
    )
}

fn main() {
    let plain = nanoseconds(&mut router(None));
    println!("no rules: {plain:.0} ns a packet");
    let other = |count: usize| -> String {
        (0..count)
            .map(|number| format!("udp dport {} drop\n", 10_000 + number))
            .collect()
    };
    for (name, rules) in [
        ("1 rule", chain("accept")),
        ("10 rules", chain(&format!("{}accept", other(9)))),
        ("100 rules", chain(&format!("{}accept", other(99)))),
        ("1,000 rules", chain(&format!("{}accept", other(999)))),
        (
            "a set of 1,000 ports",
            chain(&format!(
                "udp dport {{ {} }} drop\naccept",
                (0..1_000)
                    .map(|number| (10_000 + number).to_string())
                    .collect::<Vec<_>>()
                    .join(", ")
            )),
        ),
        ("tracked, 1 rule", chain("ct state new,established accept")),
        (
            "tracked, 100 rules",
            chain(&format!("{}ct state new accept", other(99))),
        ),
    ] {
        let cost = nanoseconds(&mut router(Some(rules)));
        println!(
            "{name:21}: {cost:6.0} ns a packet, {:5.2} x without rules",
            cost / plain
        );
    }
}
