//! How often a covert channel is found, and how often clean traffic is called one, by the source of the traffic
//! and by what its stamps are worth. `--nocapture` shows the table.

use ::capture::file::{Next, Source};
use lab::{Options, World};
use node::random::Random;
use node::{Rate, Time};
use nodes::covert::detect::{Gaps, Watch, compare};
use std::path::Path;

const RUNS: u64 = 8;
const WINDOW: usize = 200;

/// Clean traffic: what its generator is, and through what it goes.
const SOURCES: [(&str, &str, &str); 6] = [
    ("even", "idles = 300", ""),
    (
        "cut-through",
        "idles = 300",
        "mode = \"cut-through\"\nslot = \"51.2 ns\"\nclock_ppm = 37\narbitration = \"random(0.05)\"",
    ),
    (
        "store-and-forward",
        "idles = 300",
        "slot = \"204.8 ns\"\nclock_ppm = -23\narbitration = \"random(0.23)\"",
    ),
    (
        "free slots",
        "idles = 300",
        "slot = \"67.2 ns\"\nclock_ppm = 61",
    ),
    ("poisson", "idles = 600\npattern = \"poisson\"", ""),
    ("CBR2", "idles = 600\npattern = \"chains(0.5)\"", ""),
];

/// Arrivals and lengths of 10,000 frames, with a message in their gaps or without.
fn traffic(source: usize, seed: u64, message: bool) -> Vec<(Time, usize)> {
    let (name, pace, switch) = SOURCES[source];
    let role = match message {
        true => {
            "[node.x]\nkind = \"covert\"\nmessage = \"attack at dawn\"\nidles = 300\nepsilon = 16\n"
        }
        false => "[node.x]\nkind = \"delay\"\ndelay = \"5 us\"\n",
    };
    let file = format!("{}-{seed}-{message}.pcapng", name.replace(' ', "-"));
    // Each run begins at another phase of the switch's clock. The cover traffic goes through the switch, and then
    // through what puts the message in, or only holds it as long.
    let text = format!(
        "[lab]\nseed = {seed}\n[node.a]\nkind = \"generator\"\nsize = 256\ncount = 10_000\nstart = \"{} ns\"\n{pace}\n\
         [node.s]\nkind = \"switch\"\nports = 2\n{switch}\n{role}[node.b]\nkind = \"sink\"\n\
         [[link]]\nends = [\"a.0\", \"s.0\"]\n[[link]]\nends = [\"s.1\", \"x.0\"]\n[[link]]\nends = [\"x.1\", \"b.0\"]\n\
         [[capture]]\nat = \"b.0\"\nfile = \"{file}\"\nresolution = \"ps\"\n",
        1_000 + 17 * seed
    );
    let lab = lab::parse(&text).unwrap_or_else(|faults| panic!("{faults}"));
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("covert-traffic");
    let options = Options {
        out: Some(out.clone()),
        ..Options::default()
    };
    lab::run(&lab, World::Sim, &options).unwrap();
    let mut source = Source::open(out.join(file)).unwrap();
    let mut arrivals = Vec::new();
    while let Next::Item(item) = source.next().unwrap() {
        let at = Time::from_ps(item.at_ps.unwrap() as u64);
        arrivals.push((at, item.bytes.len()));
    }
    assert_eq!(arrivals.len(), 10_000);
    arrivals
}

/// The gaps that exact stamps show, or those of software: 1 us, and off by 500 ns.
fn gaps(arrivals: &[(Time, usize)], software: bool, seed: u64) -> Vec<i64> {
    let (mut gaps, mut random) = (Gaps::new(Rate::TEN_GIGABIT), Random::new(seed));
    for &(at, len) in arrivals {
        let mut at = at.as_ps() + 1_000_000_000;
        if software {
            at = (at as f64 + 500_000.0 * random.normal()) as u64 / 1_000_000 * 1_000_000;
        }
        gaps.frame(Time::from_ps(at), len);
    }
    gaps.all().to_vec()
}

fn watched(gaps: &[i64]) -> bool {
    let mut watch = Watch::new(Rate::TEN_GIGABIT, WINDOW).unwrap();
    gaps.iter().for_each(|&gap| watch.gap(gap));
    2 * watch.suspicious() > watch.windows()
}

/// Runs in which something was found: by comparison, and without a clean sample.
#[derive(Default)]
struct Found {
    compared: u64,
    watched: u64,
}

#[test]
fn exact_stamps_show_a_channel_in_all_traffic_and_softwares_in_none_that_was_paced() {
    println!(
        "{:<18} {:>9} {:>14} {:>14}",
        "source", "stamps", "found (alone)", "false (alone)"
    );
    let mut wrong = 0;
    for (source, (name, _, _)) in SOURCES.iter().enumerate() {
        for software in [false, true] {
            let (mut channel, mut clean) = (Found::default(), Found::default());
            for run in 0..RUNS {
                let seed = 100 * run;
                let of = |seed, message| {
                    gaps(
                        &traffic(source, seed, message),
                        software,
                        seed + u64::from(message),
                    )
                };
                let sample = of(seed, false);
                for (found, gaps) in [
                    (&mut channel, of(seed + 1, true)),
                    (&mut clean, of(seed + 2, false)),
                ] {
                    let comparison = compare(&sample, &gaps, WINDOW, 0.001).unwrap();
                    found.compared += u64::from(comparison.is_covert());
                    found.watched += u64::from(watched(&gaps));
                }
            }
            let stamps = if software { "1 us" } else { "exact" };
            println!(
                "{name:<18} {stamps:>9} {:>9} ({:>2}) {:>9} ({:>2})  of {RUNS}",
                channel.compared, channel.watched, clean.compared, clean.watched
            );
            wrong += clean.compared + clean.watched;
            // Irregular traffic is made regular by the base gap, which any stamps show.
            let paced = source < 4;
            match software && paced {
                true => assert!(channel.compared <= 1, "{name}: {}", channel.compared),
                false => assert_eq!(channel.compared, RUNS, "{name}"),
            }
            assert_eq!(
                channel.watched,
                if paced && !software { RUNS } else { 0 },
                "{name}"
            );
        }
    }
    // At a level of 0.1 %, in 96 comparisons of clean traffic.
    assert!(
        wrong <= 2,
        "{wrong} runs of clean traffic were called covert"
    );
}
