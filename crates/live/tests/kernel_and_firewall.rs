//! `router::Router` with a firewall and Linux's nftables with the same ruleset get the same packets: the same packets pass, the
//! same errors and resets are sent byte for byte, and at the end both know the same connections in the same states. Without the
//! rights to make a namespace, or without nft and conntrack, the tests say that they were skipped.
//!
//! Not compared: those fields of the router's own packets that `kernel_and_router` leaves out, and the identification of
//! fragments of IPv6; the checksum of a reset that a rule rejects in turn, of which Linux quotes the part that it has computed so
//! far; errors of the kernel about fragments of an earlier ruleset, whose time is over; later fragments where nothing tracks
//! connections, of which Linux's rules take data for ports (`nft_payload_fast_eval`).
//!
//! The environment variable `WIRE_FIREWALL_PACKETS` has another number of random packets than 5,000 for each seed, `WIRE_FIREWALL_SEED`
//! another seed than 1 to 4, `WIRE_FIREWALL_PART` the first ruleset, and with `WIRE_FIREWALL_TRACE` connections are compared after each packet.

mod flows;
mod helpers;
mod packets;
mod proxy;
mod rules;
mod translated;

use crate::kernel_and_router::{Kernel, Sent, ours_at, router_with};
use flows::Flows;
use node::random::Random;
use node::{Node, Time};
use router::router::{Config, Router};
use std::io::Write;
use std::process::{Output, Stdio};
use std::time::Instant;

/// Packets with one ruleset: they take less than the two seconds after which UDP has streams.
const PACKETS: u64 = 250;
/// Seeds in a run of the tests, from 1 on.
const SEEDS: u64 = 4;

/// Runs a program in the kernel's namespace with this input.
fn run(kernel: &Kernel, program: &str, arguments: &[&str], input: &str) -> std::io::Result<Output> {
    let mut command = kernel.namespace().command(program);
    command.args(arguments).stdin(Stdio::piped());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes())?;
    }
    child.wait_with_output()
}

/// A kernel with programs for its firewall, or `None` with the reason on the output.
fn kernel(test: &str) -> Option<Kernel> {
    let kernel = match Kernel::new() {
        Ok(kernel) => kernel,
        Err(error) => {
            println!("skipped: {test}: {error}");
            return None;
        }
    };
    for program in ["nft", "conntrack"] {
        if run(&kernel, program, &["--version"], "").is_err() {
            println!("skipped: {test}: install {program}");
            return None;
        }
    }
    Some(kernel)
}

/// Gives the kernel a ruleset, and takes its connections away.
fn load(kernel: &Kernel, ruleset: &str) {
    let text = format!("flush ruleset\n{ruleset}");
    let output = run(kernel, "nft", &["-f", "-"], &text).expect("nft");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "nft refuses what we accept: {errors}\n{ruleset}"
    );
    run(kernel, "conntrack", &["-F"], "").expect("conntrack");
}

/// A connection without its timeout, and that in seconds.
fn connection(line: &str) -> (String, i64) {
    let mut words: Vec<&str> = line.split_whitespace().collect();
    let left = words.remove(2).parse().expect("a timeout");
    words.retain(|word| !word.starts_with("use="));
    (words.join(" "), left)
}

/// The connections that the kernel knows.
fn theirs(kernel: &Kernel) -> Vec<(String, i64)> {
    let mut all = Vec::new();
    for family in ["ipv4", "ipv6"] {
        let output = run(kernel, "conntrack", &["-L", "-f", family], "").expect("conntrack");
        let text = String::from_utf8_lossy(&output.stdout);
        all.extend(text.lines().map(connection));
    }
    all.sort();
    all
}

/// The connections that our router knows.
fn ours(router: &Router, now: Time) -> Vec<(String, i64)> {
    let tables = router.tables(now);
    let table = tables.iter().find(|table| table.name == "connections");
    let rows = table.map_or(&[][..], |table| &table.entries[..]);
    let mut all: Vec<(String, i64)> = rows.iter().map(|row| connection(row)).collect();
    all.sort();
    all
}

/// The difference between all connections, with timeouts within two seconds, and their number.
fn compare_connections(kernel: &Kernel, router: &Router, now: Time) -> (usize, Option<String>) {
    let (theirs, ours) = (theirs(kernel), ours(router, now));
    let only = |all: &[(String, i64)], other: &[(String, i64)]| {
        let missing = |one: &&(String, i64)| {
            !other
                .iter()
                .any(|two| two.0 == one.0 && (two.1 - one.1).abs() <= 2)
        };
        let lines = all
            .iter()
            .filter(missing)
            .map(|(line, left)| format!("{left:6} {line}"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let differ = theirs.len() != ours.len() || !only(&theirs, &ours).is_empty();
    let difference = differ.then(|| {
        let both = [only(&theirs, &ours), only(&ours, &theirs)];
        format!("only the kernel:\n{}\nonly ours:\n{}", both[0], both[1])
    });
    (ours.len(), difference)
}

/// Removes frames and clears fields that are not compared.
fn without_surplus(all: &mut Sent) {
    for frames in all.iter_mut() {
        frames.retain(|frame| match frame[12..14] {
            [8, 0] => frame[23] != 1 || frame.get(34..36) != Some(&[11, 1]),
            [0x86, 0xDD] => frame[20] != 58 || frame.get(54..56) != Some(&[3, 1]),
            _ => true,
        });
    }
    for frame in all.iter_mut().flatten() {
        let is_v4 = frame[12..14] == [8, 0];
        if !is_v4 && frame[20] == 44 {
            frame[58..62].fill(0);
        }
        // An error, its quote, and the segment in it.
        let (message, segment, number) = match is_v4 {
            true => (34, 62, frame.get(51)),
            false => (54, 102, frame.get(68)),
        };
        let is_error = frame.get(message).is_some_and(|kind| match is_v4 {
            true => frame[23] == 1 && *kind == 3,
            false => frame[20] == 58 && *kind == 1,
        });
        let is_reset =
            number == Some(&6) && frame.get(segment + 13).is_some_and(|flags| flags & 4 != 0);
        if is_error && is_reset && frame.len() == segment + 20 {
            frame[message + 2..message + 4].fill(0);
            frame[segment + 16..segment + 18].fill(0);
        }
    }
}

/// Whether a frame has a fragment that is not the first; of IPv6 one without other extension headers.
fn is_later_fragment(frame: &[u8]) -> bool {
    match frame[12..14] {
        [8, 0] => frame[20] & 0x1F != 0 || frame[21] != 0,
        _ => frame[20] == 44 && (frame[56] != 0 || frame[57] & !7 != 0),
    }
}

fn hex(all: &Sent) -> String {
    let mut text = String::new();
    for (port, frames) in all.iter().enumerate() {
        for frame in frames {
            let bytes: String = frame
                .iter()
                .take(120)
                .map(|byte| format!("{byte:02x}"))
                .collect();
            text += &format!("\n    {port} {:5} {bytes}", frame.len());
        }
    }
    text
}

/// Two routers with the same rules.
struct Pair {
    router: Router,
    start: Instant,
}

impl Pair {
    fn new(kernel: &Kernel, ruleset: &str) -> Pair {
        let conntrack = router::conntrack::Config::default();
        let router = router_with(Config {
            firewall: Some(ruleset.to_owned()),
            conntrack: ruleset.contains("ct ").then_some(conntrack),
            ..Config::default()
        });
        load(kernel, ruleset);
        #[expect(
            clippy::disallowed_methods,
            reason = "the kernel has the machine's clock"
        )]
        let start = Instant::now();
        Pair { router, start }
    }

    fn now(&self) -> Time {
        Time::from_secs(1) + Time::from_ns(self.start.elapsed().as_nanos() as u64)
    }
}

#[test]
fn random_flows_pass_random_rulesets_as_in_linux() {
    let seed = std::env::var("WIRE_FIREWALL_SEED").ok();
    let seed: Option<u64> = seed.map(|seed| seed.parse().expect("a number"));
    let seeds = seed.map_or(1..=SEEDS, |seed| seed..=seed);
    let Some(mut kernel) = kernel("firewalls") else {
        return;
    };
    let mut counts = [0; 3];
    for seed in seeds {
        let more = compare(&mut kernel, seed);
        counts = std::array::from_fn(|index| counts[index] + more[index]);
    }
    let [sent, passed, known] = counts;
    assert!(passed * 4 > sent, "{passed} of {sent}");
    assert!(known * 20 > sent, "{known} connections of {sent} packets");
}

/// Compares random flows through random rulesets of a seed; numbers of packets, of those with an answer, and of connections.
fn compare(kernel: &mut Kernel, seed: u64) -> [usize; 3] {
    let count = std::env::var("WIRE_FIREWALL_PACKETS").ok();
    let count: u64 = count.map_or(5_000, |count| count.parse().expect("a number"));
    // Compares the connections after each packet.
    let is_traced = std::env::var_os("WIRE_FIREWALL_TRACE").is_some();
    let (mut sent, mut passed, mut known, mut differences) = (0, 0, 0, 0);
    let first = std::env::var("WIRE_FIREWALL_PART").ok();
    let first: u64 = first.map_or(0, |part| part.parse().expect("a number"));
    for part in first..first + count.div_ceil(PACKETS) {
        let mut random = Random::new(seed * 1_000_000 + part);
        let ruleset = rules::random(&mut random);
        let mut pair = Pair::new(kernel, &ruleset);
        let mut flows = Flows::default();
        let mut difference = None;
        'packets: for round in 0..PACKETS.min(count) {
            for (port, frame) in flows.next(&mut random) {
                let mut theirs = kernel.answers(port, &frame);
                let now = pair.now();
                let (mut ours, drops) = ours_at(&mut pair.router, now, port, &frame);
                without_surplus(&mut theirs);
                without_surplus(&mut ours);
                sent += 1;
                if !ruleset.contains("ct ") && is_later_fragment(&frame) {
                    continue;
                }
                passed += usize::from(theirs.iter().any(|frames| !frames.is_empty()));
                if theirs != ours {
                    let frames = [vec![vec![frame]], theirs, ours].map(|frames| hex(&frames));
                    let [sent, theirs, ours] = frames;
                    difference = Some(format!(
                        "round {round} port {port} {drops:?}\n sent{sent}\n kernel{theirs}\n ours{ours}"
                    ));
                    break 'packets;
                }
                if is_traced {
                    let (_, found) = compare_connections(kernel, &pair.router, now);
                    if let Some(found) = found {
                        let sent = hex(&vec![vec![frame]]);
                        difference = Some(format!(
                            "round {round} port {port} {drops:?}\n sent{sent}\n{found}"
                        ));
                        break 'packets;
                    }
                }
            }
        }
        if difference.is_none() {
            let (count, found) = compare_connections(kernel, &pair.router, pair.now());
            (known, difference) = (known + count, found);
        }
        if let Some(difference) = difference {
            differences += 1;
            let tables = pair.router.tables(pair.now());
            let rules = tables
                .last()
                .map(|table| table.entries.join("\n"))
                .unwrap_or_default();
            println!("part {part} {difference}\n{ruleset}\n{rules}\n");
        }
    }
    println!("seed {seed}: {sent} packets, {passed} with an answer, {known} connections");
    assert_eq!(differences, 0, "seed {seed}");
    [sent, passed, known]
}
