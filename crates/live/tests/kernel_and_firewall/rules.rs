//! Random rulesets of the subset of nftables that the router has.

use node::random::Random;

fn draw<'a>(random: &mut Random, all: &[&'a str]) -> &'a str {
    all[random.index(all.len())]
}

/// Families in which a match makes sense.
#[derive(Clone, Copy, PartialEq)]
enum Needs {
    Any,
    V4,
    V6,
}

const TCP: u8 = 6;
const UDP: u8 = 17;

/// A random port or range of ports, some of them those of the flows.
fn port(random: &mut Random) -> String {
    let ports = [
        "22", "80", "443", "53", "8080", "1024", "1025", "1026", "http", "domain",
    ];
    match random.below(4) {
        0 => format!("{}-{}", 20 + random.below(40), 79 + random.below(400)),
        1 => format!("{}-{}", 1000 + random.below(25), 1025 + random.below(10)),
        _ => draw(random, &ports).to_owned(),
    }
}

fn list(random: &mut Random, mut one: impl FnMut(&mut Random) -> String) -> String {
    let mut all: Vec<String> = (0..1 + random.below(4)).map(|_| one(random)).collect();
    all.sort();
    all.dedup();
    format!("{{ {} }}", all.join(", "))
}

fn v4(random: &mut Random) -> String {
    match random.below(4) {
        0 => format!("10.0.{}.0/24", random.below(3)),
        1 => format!("10.0.{}.2-10.0.{}.4", random.below(2), 1 + random.below(2))
            .replace("10.0.1.2-10.0.1.4", "10.0.1.2-10.0.1.3"),
        _ => format!("10.0.{}.{}", random.below(3), 1 + random.below(5)),
    }
}

fn v6(random: &mut Random) -> String {
    match random.below(3) {
        0 => format!("fd00:{}::/64", random.below(3)),
        _ => format!("fd00:{}::{}", random.below(3), 1 + random.below(5)),
    }
}

/// A value, a set, or the opposite of either.
fn right(random: &mut Random, mut one: impl FnMut(&mut Random) -> String) -> String {
    match random.below(5) {
        0 => format!("!= {}", one(random)),
        1 => list(random, one),
        2 => format!("!= {}", list(random, one)),
        _ => one(random),
    }
}

fn number(random: &mut Random, bound: u64) -> String {
    let value = 1 + random.below(bound);
    match random.below(4) {
        0 => format!("< {value}"),
        1 => format!(">= {value}"),
        2 => format!("{value}-{}", value + 1 + random.below(50)),
        _ => format!("!= {value}"),
    }
}

fn flags(random: &mut Random) -> String {
    let one =
        |random: &mut Random| draw(random, &["fin", "syn", "rst", "psh", "ack", "urg"]).to_owned();
    match random.below(6) {
        0 => format!("tcp flags {}", one(random)),
        1 => "tcp flags & (fin|syn|rst|ack) == syn".to_owned(),
        2 => format!(
            "tcp flags & (syn|{}) != 0x0",
            draw(random, &["ack", "rst", "fin"])
        ),
        3 => "tcp flags syn / fin,syn,rst,ack".to_owned(),
        4 => format!("tcp flags != {}", one(random)),
        _ => "tcp flags == ack".to_owned(),
    }
}

fn states(random: &mut Random) -> String {
    let all = ["new", "established", "related", "invalid", "untracked"];
    match random.below(4) {
        0 => format!("ct state {}", draw(random, &all)),
        1 => format!("ct state != {}", draw(random, &all)),
        2 => list(random, |random| draw(random, &all).to_owned()).replacen("{", "ct state {", 1),
        _ => {
            let first = random.index(4);
            format!("ct state {},{}", all[first], all[first + 1])
        }
    }
}

/// Matches of a rule.
fn matches(random: &mut Random, family: Needs, hook: &str) -> String {
    let mut all = Vec::new();
    let needs = match (family, random.below(3)) {
        (Needs::Any, 0) => Needs::V4,
        (Needs::Any, 1) => Needs::V6,
        _ => family,
    };
    if random.chance(0.4) {
        let name = match hook {
            "output" => "oifname",
            "forward" => draw(random, &["iifname", "oifname"]),
            _ => "iifname",
        };
        let names = ["\"k0\"", "\"k1\"", "\"k2\"", "\"k*\""];
        let not = if random.chance(0.2) { "!= " } else { "" };
        all.push(format!("{name} {not}{}", draw(random, &names)));
    }
    let end = |random: &mut Random| draw(random, &["saddr", "daddr"]);
    match needs {
        Needs::V4 if random.chance(0.6) => all.push(match random.below(6) {
            0 => format!("ip ttl {}", number(random, 70)),
            1 => format!("ip length {}", number(random, 200)),
            2 => format!(
                "ip dscp {}",
                draw(random, &["cs0", "cs1", "!= cs0", "ef", "af11"])
            ),
            3 => "ip saddr & 255.255.0.255 == 10.0.0.2".to_owned(),
            _ => format!("ip {} {}", end(random), right(random, v4)),
        }),
        Needs::V6 if random.chance(0.6) => all.push(match random.below(5) {
            0 => format!("ip6 hoplimit {}", number(random, 70)),
            1 => format!("ip6 dscp {}", draw(random, &["cs0", "cs1", "!= cs0", "ef"])),
            _ => format!("ip6 {} {}", end(random), right(random, v6)),
        }),
        _ => {}
    }
    if random.chance(0.3) {
        all.push(states(random));
    }
    if random.chance(0.7) {
        all.push(match (random.below(9), needs) {
            (0, Needs::V4) => {
                let one = |random: &mut Random| {
                    draw(
                        random,
                        &[
                            "echo-request",
                            "echo-reply",
                            "time-exceeded",
                            "destination-unreachable",
                        ],
                    )
                    .to_owned()
                };
                format!("icmp type {}", right(random, one))
            }
            (0, Needs::V6) => {
                let one = |random: &mut Random| {
                    draw(
                        random,
                        &[
                            "echo-request",
                            "echo-reply",
                            "packet-too-big",
                            "destination-unreachable",
                        ],
                    )
                    .to_owned()
                };
                format!("icmpv6 type {}", right(random, one))
            }
            (1, Needs::V4) => "ip protocol { tcp, udp }".to_owned(),
            (1, Needs::V6) => "ip6 nexthdr udp".to_owned(),
            (2, _) => flags(random),
            (3, _) => format!("th dport {}", right(random, port)),
            (4, _) => format!(
                "meta l4proto {}",
                draw(random, &["tcp", "udp", "{ tcp, icmp }", "!= tcp", "icmpv6"])
            ),
            (5, _) => format!(
                "udp {} {}",
                draw(random, &["sport", "dport"]),
                right(random, port)
            ),
            (6, _) => format!("tcp window {}", number(random, 60_000)),
            _ => format!(
                "tcp {} {}",
                draw(random, &["sport", "dport"]),
                right(random, port)
            ),
        });
    }
    if random.chance(0.1) {
        all.push(match random.below(6) {
            0 => format!("meta length {}", number(random, 300)),
            1 if family == Needs::Any => "meta nfproto ipv4".to_owned(),
            2 => format!(
                "meta mark {}",
                draw(random, &["1", "2", "!= 0", "& 0x1 == 0x1"])
            ),
            3 => format!("ct direction {}", draw(random, &["original", "reply"])),
            4 => format!(
                "ct status {}",
                draw(random, &["assured", "seen-reply", "confirmed"])
            ),
            _ => format!("ct mark {}", draw(random, &["1", "!= 2", "0"])),
        });
        if matches!(needs, Needs::V6) && all.last().is_some_and(|last| last.contains("nfproto")) {
            all.pop();
        }
    }
    // Other hosts and the kernel itself send messages of ICMPv6.
    let is_flow = all
        .iter()
        .any(|text| text.contains("tcp ") || text.contains("udp "));
    if is_flow && random.chance(0.15) {
        let over = draw(random, &["", "over "]);
        // Slow enough that no token comes back.
        all.push(format!(
            "limit rate {over}{}/week burst {} packets",
            1 + random.below(5),
            1 + random.below(9)
        ));
    }
    if random.chance(0.1) {
        all.push(draw(random, &["counter", "log prefix \"x\"", "comment \"c\""]).to_owned());
        // A comment ends a rule.
        if all.last().is_some_and(|last| last.starts_with("comment")) {
            all.pop();
        }
    }
    all.join(" ")
}

/// The IP version and the protocol that the matches of a rule allow, as far as nft looks at them.
fn bound(text: &str, family: Needs) -> (Needs, Option<u8>) {
    let has = |word: &str| text.contains(word);
    let version = match family {
        Needs::Any if has("ip6 ") || has("icmpv6 type") => Needs::V6,
        Needs::Any if has("ip ") || has("icmp type") || has("nfproto ipv4") => Needs::V4,
        family => family,
    };
    let number = if has("tcp ") && !has("!= tcp") && !has("{ tcp") {
        Some(TCP)
    } else if has("udp ") || has("l4proto udp") || has("nexthdr udp") {
        Some(UDP)
    } else if has("icmp type") {
        Some(1)
    } else if has("icmpv6") {
        Some(58)
    } else {
        None
    };
    (
        version,
        number.or_else(|| has("l4proto tcp").then_some(TCP)),
    )
}

fn reject(random: &mut Random, text: &str, family: Needs) -> String {
    let (version, number) = bound(text, family);
    let v4 = [
        "net-unreachable",
        "host-unreachable",
        "prot-unreachable",
        "port-unreachable",
        "admin-prohibited",
    ];
    let v6 = [
        "no-route",
        "admin-prohibited",
        "addr-unreachable",
        "port-unreachable",
        "policy-fail",
        "reject-route",
    ];
    match (random.below(4), version, number) {
        (0, _, Some(TCP)) => "reject with tcp reset".to_owned(),
        (0, _, None) if !text.contains("l4proto") && !text.contains("protocol") => {
            "reject with tcp reset".to_owned()
        }
        (1, Needs::V4, _) => format!("reject with icmp {}", draw(random, &v4)),
        (1, Needs::V6, _) => format!("reject with icmpv6 {}", draw(random, &v6)),
        (2, Needs::Any, _) => format!(
            "reject with icmpx {}",
            draw(
                random,
                &[
                    "no-route",
                    "port-unreachable",
                    "host-unreachable",
                    "admin-prohibited"
                ]
            )
        ),
        _ => "reject".to_owned(),
    }
}

fn verdict(random: &mut Random, text: &str, family: Needs, chains: &[String]) -> String {
    match random.below(12) {
        0 => "drop".to_owned(),
        1 | 2 => reject(random, text, family),
        3 if !chains.is_empty() => {
            let chain = &chains[random.index(chains.len())];
            format!("{} {chain}", draw(random, &["jump", "goto"]))
        }
        4 => "return".to_owned(),
        5 => "counter".to_owned(),
        6 => format!("meta mark set {}", 1 + random.below(3)),
        7 => format!("ct mark set {}", 1 + random.below(3)),
        8 if bound(text, family).1.is_none() && !text.contains("l4proto") => {
            let verdicts = ["accept", "drop", "continue", "return"];
            let verdict = draw(random, &verdicts);
            match random.below(3) {
                0 => format!("tcp dport vmap {{ 80 : {verdict}, 22 : accept, 1000-1024 : drop }}"),
                1 => format!(
                    "ct state vmap {{ established : accept, new : {verdict}, invalid : drop }}"
                ),
                _ => "meta mark set th dport map { 80 : 1, 22 : 2, 53 : 3 }".to_owned(),
            }
        }
        _ => "accept".to_owned(),
    }
}

fn rule(random: &mut Random, family: Needs, hook: &str, chains: &[String]) -> String {
    let mut text = matches(random, family, hook);
    if family == Needs::Any
        && random.chance(0.1)
        && bound(&text, family).1.is_none()
        && !text.contains("l4proto")
    {
        let one = draw(random, &["tcp dport @ports", "udp sport != @ports"]);
        text = format!("{text} {one}");
    }
    let verdict = verdict(random, &text, family, chains);
    format!("{text} {verdict}").trim().to_owned()
}

/// A random ruleset.
pub fn random(random: &mut Random) -> String {
    let mut text = String::new();
    let tables = 1 + random.below(2);
    for table in 0..tables {
        let (family, needs) = match random.below(4) {
            0 => ("ip", Needs::V4),
            1 if table > 0 => ("ip6", Needs::V6),
            _ => ("inet", Needs::Any),
        };
        text += &format!("table {family} t{table} {{\n");
        if needs == Needs::Any {
            text += "  set ports { type inet_service; flags interval; elements = { 22, 53, 1020-1025 } }\n";
        }
        let mut chains: Vec<String> = Vec::new();
        for number in 0..random.below(3) {
            let name = format!("sub{number}");
            text += &format!("  chain {name} {{\n");
            for _ in 0..1 + random.below(4) {
                text += &format!("    {}\n", rule(random, needs, "sub", &chains));
            }
            text += "  }\n";
            chains.push(name);
        }
        for hook in ["prerouting", "input", "forward", "output"] {
            let often = if hook == "forward" { 1.0 } else { 0.4 };
            if !random.chance(often) {
                continue;
            }
            let priority = match hook {
                "prerouting" => draw(random, &["raw", "-300", "-150", "mangle"]),
                _ => draw(random, &["0", "filter", "10", "filter - 1"]),
            };
            let policy = match (hook, random.below(3)) {
                ("forward", 0) => "drop",
                _ => "accept",
            };
            text += &format!(
                "  chain {hook}{table} {{\n    type filter hook {hook} priority {priority}; policy {policy};\n"
            );
            // Our router learns its neighbours, which the kernel has.
            if matches!(hook, "prerouting" | "input") && needs != Needs::V4 {
                text += "    icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept\n";
            }
            if hook == "prerouting" && random.chance(0.5) {
                text += &format!("    {} notrack\n", matches(random, needs, hook));
            }
            if hook == "forward" && random.chance(0.6) {
                text += "    ct state established,related accept\n";
            }
            for _ in 0..random.below(9) {
                // Linux's errors about packets without a route are not compared.
                let chains = if hook == "prerouting" {
                    &[][..]
                } else {
                    &chains
                };
                let mut rule = rule(random, needs, hook, chains);
                // The packet has no connection yet, and no answer is sent about it.
                if hook == "prerouting" {
                    rule = rule.replace("reject", "drop #");
                }
                text += &format!("    {rule}\n");
            }
            text += "  }\n";
        }
        text += "}\n";
    }
    // Linux tracks the versions of the tables alone that need it.
    if text.contains("ct ") || text.contains("notrack") {
        text += "table inet track {\n chain both {\n type filter hook forward priority 300;\n ct state new\n }\n}\n";
    }
    text
}
