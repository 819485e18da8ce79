//! Rules, connection tracking and the SYN proxy of a router, by hand-made frames. What Linux does is compared in
//! `crates/live/tests/kernel_and_firewall.rs`.

use crate::hand::*;
use node::{Frame, Node, Port, Time};
use router::conntrack;
use router::firewall::Firewall;
use router::router::{Config, Router, reason};

fn names(count: usize) -> Vec<Vec<String>> {
    (0..count)
        .map(|number| vec![number.to_string(), format!("eth{number}")])
        .collect()
}

fn with(rules: &str) -> Config {
    Config {
        firewall: Some(rules.to_owned()),
        ..config(3, &[])
    }
}

/// A forward chain with these rules.
fn forward(rules: &str) -> String {
    format!(
        "table inet filter {{\n chain forward {{\n type filter hook forward priority 0; policy drop;\n{rules}\n}}\n}}\n"
    )
}

/// A TCP segment from a host of a port to another's.
pub fn tcp(
    from: (u16, u8),
    to: (u16, u8),
    ports: [u16; 2],
    flags: u8,
    numbers: [u32; 2],
) -> Vec<u8> {
    let target = format!("10.0.{}.{}", to.0, to.1);
    let mut frame = udp(from.0, from.1, &target, 12, |frame| {
        frame[23] = 6;
        let segment = &mut frame[34..];
        segment.fill(0);
        segment[..2].copy_from_slice(&ports[0].to_be_bytes());
        segment[2..4].copy_from_slice(&ports[1].to_be_bytes());
        segment[4..8].copy_from_slice(&numbers[0].to_be_bytes());
        segment[8..12].copy_from_slice(&numbers[1].to_be_bytes());
        segment[12] = 0x50;
        segment[13] = flags;
        segment[14] = 0x40;
    });
    let [source, destination] = [from, to].map(|(port, host)| [10, 0, port as u8, host]);
    let sum = packet::checksum::Pseudo::ipv4(source, destination, 6).sum(20);
    let sum = sum.plus(&frame[34..54]).checksum();
    frame[50..52].copy_from_slice(&sum.to_be_bytes());
    frame
}

#[test]
fn a_fault_in_a_ruleset_is_reported_with_its_place_and_a_fix() {
    for (rules, place, fix) in [
        (
            "tcp dport 22 acept",
            "line 4, column 14",
            "`acept` is not a known match",
        ),
        (
            "tcp dport 70000 accept",
            "line 4, column 11",
            "a number to 65535",
        ),
        (
            "tcp dport 80-22 accept",
            "line 4, column 11",
            "range ends before",
        ),
        (
            "ip saddr 10.0.0.300 accept",
            "line 4, column 10",
            "write an IPv4 address",
        ),
        ("iif 7 accept", "line 4, column 5", "ports are 0 to 2"),
        ("jump nowhere", "line 4, column 6", "no chain `nowhere`"),
        (
            "accept drop",
            "line 4, column 8",
            "nothing may follow a verdict",
        ),
        (
            "tcp dport 22 udp sport 1 accept",
            "line 4, column 14",
            "no packet has this",
        ),
        (
            "ip saddr 10.0.0.1 ip6 daddr ::1 accept",
            "line 4, column 19",
            "no packet has this",
        ),
        (
            "tcp dport @hosts accept",
            "line 4, column 12",
            "no set `hosts`",
        ),
        (
            "limit rate 10 accept",
            "line 4, column 12",
            "write a rate such as",
        ),
        ("reject with icmp", "line 4, column 17", "admin-prohibited"),
        (
            "log prefix \"open",
            "line 4, column 12",
            "close the quotation mark",
        ),
        ("tcp dport { } accept", "line 4, column 15", "empty"),
        (
            "meta mark set 0x1ffffffff",
            "line 4, column 15",
            "4294967295",
        ),
    ] {
        let fault = Firewall::new(&forward(rules), &names(3))
            .expect_err(rules)
            .to_string();
        assert!(
            fault.contains(place) && fault.contains(fix),
            "{rules}: {fault}"
        );
    }
    for (text, fix) in [
        ("chain x { }", "write `table inet NAME"),
        ("table bridge x { }", "family ip, ip6 or inet"),
        ("table inet x {", "chains, sets, maps and `ct helper`"),
        (
            "table ip x { ct helper f { type \"sip\" protocol udp; } }",
            "\"ftp\" or \"tftp\"",
        ),
        (
            "table ip x { ct helper f { type \"ftp\" protocol udp; } }",
            "write `protocol tcp`",
        ),
        (
            "table ip x { ct helper f { l3proto ip; } }",
            "type is missing",
        ),
        (
            "table ip x { ct helper f { type \"ftp\" protocol tcp; l3proto ip6; } }",
            "another version",
        ),
        (
            "table ip x { chain c { ct helper set \"f\" } }",
            "no `ct helper f`",
        ),
        ("table inet x { chain c {", "`}` is missing"),
        (
            "table inet x { chain c { type nat hook forward priority 0; } }",
            "`filter`",
        ),
        (
            "table inet x { chain c { type filter hook ingress priority 0; } }",
            "prerouting, input",
        ),
        ("table inet x { chain c { jump c } }", "jumps to itself"),
        (
            "table inet x { chain c { type filter hook output priority 0; synproxy } }",
            "hook forward",
        ),
        (
            "table inet x { set s { type ipv4_addr; elements = { 10.0.0.0/8 } } }",
            "flags interval",
        ),
        (
            "table inet x { set s { elements = { 1 } } }",
            "write `type`",
        ),
        (
            "table inet x { map m { type mark : verdict; elements = { 1 : accept, 1 : drop } } }",
            "overlap",
        ),
    ] {
        let fault = Firewall::new(text, &names(3)).expect_err(text).to_string();
        assert!(fault.contains(fix), "{text}: {fault}");
    }
    let error = Router::new(with(&forward("tcp dport x accept"))).expect_err("a fault");
    assert_eq!(error.key, "firewall");
}

#[test]
fn jumps_that_multiply_are_refused() {
    let mut text = String::from("table inet x {\n");
    for chain in 0..15 {
        let jumps = format!("jump c{}\n", chain + 1).repeat(if chain < 14 { 4 } else { 0 });
        text += &format!("chain c{chain} {{\n{jumps}}}\n");
    }
    text += "chain c15 {\naccept\n}\n}\n";
    let fault = Firewall::new(&text, &names(1))
        .expect_err("too many")
        .to_string();
    assert!(fault.contains("may come by more than"), "{fault}");
}

#[test]
fn rules_decide_and_their_counters_are_shown() {
    let rules = forward(
        "iif 0 oifname \"1\" udp dport 53 counter accept\nct state established accept\nudp dport 53 reject with icmpx admin-prohibited",
    );
    let mut hand = Hand::new(with(&rules));
    for (port, host) in [(0, 2), (1, 9), (2, 5)] {
        hand.learn(port, host);
    }
    let sent = hand.send(0, &udp(0, 2, "10.0.1.9", 10, |_| {}));
    assert_eq!((sent.len(), sent[0].0), (1, 1));
    let sent = hand.send(2, &udp(2, 5, "10.0.1.9", 10, |_| {}));
    assert_eq!(icmp(&sent[0].1), Some((3, 13, address("10.0.2.1"))));
    assert_eq!(hand.drops(reason::REJECTED), 1);
    let sent = hand.send(2, &udp(2, 5, "10.0.1.9", 10, |frame| frame[37] = 54));
    assert!(sent.is_empty());
    assert_eq!(hand.drops(reason::POLICIES[2]), 1);
    assert_eq!(hand.counter("inet filter forward rule 1 packets"), 1);
    assert_eq!(hand.counter("inet filter forward rule 1 bytes"), 38);
    assert_eq!(hand.counter("conntrack_confirmed"), 1);
    let tables = hand.router.tables(hand.now);
    let table = |name: &str| tables.iter().find(|table| table.name == name).unwrap();
    assert_eq!(
        table("connections").entries,
        [
            "udp      17 30 src=10.0.0.2 dst=10.0.1.9 sport=1024 dport=53 [UNREPLIED] src=10.0.1.9 dst=10.0.0.2 sport=53 dport=1024 mark=0"
        ]
    );
    assert_eq!(
        table("firewall").entries[2],
        "inet filter forward rule 3: 1 packets, 38 bytes: udp dport 53 reject with icmpx admin-prohibited"
    );
}

#[test]
fn packets_pass_rules_and_the_tracker_without_allocating() {
    let many: String = (0..200)
        .map(|port| format!("tcp dport {} drop\n", 2_000 + port))
        .collect();
    let rules = forward(&format!(
        "ct state established accept\n{many}udp dport {{ 53, 100-200 }} limit rate 1000000/second accept\nreject"
    ));
    let mut hand = Hand::new(with(&rules));
    hand.learn(0, 2);
    hand.learn(1, 9);
    let mut frames = vec![
        udp(0, 2, "10.0.1.9", 100, |_| {}),
        udp(0, 2, "fd00:1::9", 100, |_| {}),
        udp(0, 2, "10.0.1.9", 100, |frame| frame[37] = 54),
    ];
    frames.push(tcp((0, 2), (1, 9), [1024, 2_100], 2, [1, 0]));
    let (mut arrived, mut sent): (Vec<Frame>, Vec<_>) =
        (Vec::with_capacity(8), Vec::with_capacity(64));
    let mut before = 0;
    for round in 0..400 {
        if round == 200 {
            before = allocations::of_this_thread();
        }
        hand.now = Time::from_ms(round * 10);
        for frame in &frames {
            arrived.push(hand.out.pool().take_with(frame));
        }
        hand.router
            .frames(hand.now, Port(0), &mut arrived, &mut hand.out);
        sent.extend(hand.out.sends());
        for departure in sent.drain(..) {
            hand.out.pool().give(departure.frame);
        }
    }
    assert_eq!(allocations::of_this_thread() - before, 0);
    assert_eq!(hand.counter("forwarded"), 800);
}

#[test]
fn a_flood_of_syns_costs_the_stated_memory_and_no_open_connection() {
    const MAX: u32 = 4_096;
    let mut hand = Hand::new(Config {
        conntrack: Some(conntrack::Config {
            max: MAX,
            ..conntrack::Config::default()
        }),
        ..with(&forward("ct state new,established accept"))
    });
    hand.learn(0, 2);
    hand.learn(1, 9);
    let ports = [5_000, 80];
    hand.send(0, &tcp((0, 2), (1, 9), ports, 2, [100, 0]));
    hand.send(1, &tcp((1, 9), (0, 2), [80, 5_000], 18, [900, 101]));
    hand.send(0, &tcp((0, 2), (1, 9), ports, 16, [101, 901]));
    for round in 0..7 {
        let mut all: Vec<Vec<Frame>> = (0..10_000_u32)
            .map(|number| {
                let from = (0, 3 + round);
                vec![Frame::new(&tcp(
                    from,
                    (1, 9),
                    [1_000 + number as u16, 80],
                    2,
                    [1, 0],
                ))]
            })
            .collect();
        let before = allocations::of_this_thread();
        let mut forwarded = 0;
        for frames in &mut all {
            hand.router.frames(hand.now, Port(0), frames, &mut hand.out);
            forwarded += hand.out.sends().map(drop).count();
        }
        assert_eq!(forwarded, 10_000);
        // A table that is full does not grow.
        if round > 3 {
            assert_eq!(allocations::of_this_thread() - before, 0, "round {round}");
        }
    }
    // So that the table has at most this size.
    const { assert!(conntrack::Tracker::ENTRY_BYTES <= 768) };
    assert_eq!(hand.counter("connections"), u64::from(MAX));
    assert_eq!(
        hand.counter("conntrack_early_drops"),
        70_001 - u64::from(MAX)
    );
    let rows = hand.router.tables(hand.now);
    let rows = rows
        .iter()
        .find(|table| table.name == "connections")
        .unwrap();
    assert!(
        rows.entries
            .iter()
            .any(|row| row.contains("ESTABLISHED") && row.contains("sport=5000"))
    );
}

#[test]
fn a_full_table_of_open_connections_refuses_new_ones() {
    let mut hand = Hand::new(Config {
        conntrack: Some(conntrack::Config {
            max: 3,
            ..conntrack::Config::default()
        }),
        ..with(&forward("accept"))
    });
    hand.learn(0, 2);
    hand.learn(1, 9);
    for port in 0..5 {
        let ports = [5_000 + port, 80];
        hand.send(0, &tcp((0, 2), (1, 9), ports, 2, [100, 0]));
        hand.send(1, &tcp((1, 9), (0, 2), [80, ports[0]], 18, [900, 101]));
        hand.send(0, &tcp((0, 2), (1, 9), ports, 16, [101, 901]));
    }
    assert_eq!(hand.counter("connections"), 3);
    // Of the last two connections each packet of the client and each answer is refused.
    assert_eq!(
        hand.drops(reason::CONNECTIONS),
        hand.counter("conntrack_full")
    );
    assert!(hand.drops(reason::CONNECTIONS) >= 4);
}

#[test]
fn a_flood_through_the_syn_proxy_costs_no_state() {
    let rules = "table inet x {
        chain first { type filter hook prerouting priority raw; tcp flags & (syn|ack) == syn notrack; }
        chain forward { type filter hook forward priority 0; policy drop; ct state invalid,untracked synproxy mss 1460; ct state established accept; }
    }";
    let mut hand = Hand::new(with(rules));
    hand.learn(0, 2);
    hand.learn(1, 9);
    for number in 0..20_000_u32 {
        let port = 1_000 + (number % 20_000) as u16;
        let sent = hand.send(0, &tcp((0, 2), (1, 9), [port, 80], 2, [number, 0]));
        let [(0, answer)] = &sent[..] else {
            panic!("one answer to the client, not {sent:?}");
        };
        // No more bytes than the SYN has.
        assert!(answer.len() <= 54);
    }
    assert_eq!(hand.counter("connections"), 0);
    assert_eq!(hand.counter("synproxy_syns"), 20_000);
}
