//! How much faster several threads simulate: a fat tree with k = 8, whose 128 hosts send TCP to the host across.
//!
//! `cargo bench -p wireline-lab --bench threads [-- THREADS]`; best of several runs each, in turn, on the clock. The outcome is
//! compared, too. As many simulations of one thread each, side by side, tell what the machine gives so many threads that have nothing to do with
//! each other.

use lab::{Options, World};
use std::time::{Duration, Instant};

const RUNS: usize = 3;
const K: usize = 8;

fn text() -> String {
    let hosts = K * K * K / 4;
    let mut text = format!(
        "[lab]\nname = \"fat tree\"\nduration = \"200 ms\"\n[topology]\nkind = \"fat-tree\"\nk = {K}\nloops = \"cut\"\n\
         link = {{ rate = \"1 Gb/s\", delay = \"5 us\" }}\ncore = {{ rate = \"10 Gb/s\" }}\n"
    );
    for host in 1..=hosts {
        let far = (host + hosts / 2 - 1) % hosts + 1;
        text += &format!(
            "[[node.h{host}.program]]\nrun = \"sink\"\n[[node.h{host}.program]]\nrun = \"bulk\"\nto = \"h{far}\"\n"
        );
    }
    text
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn main() {
    let threads = std::env::args().skip(1).find_map(|word| word.parse().ok());
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.unwrap_or(processors);
    let lab = lab::parse(&text()).expect("a good lab");
    let run = |threads: usize| {
        let options = Options {
            dry: true,
            threads: Some(threads),
            ..Options::default()
        };
        lab::run(&lab, World::Sim, &options).expect("it runs")
    };
    let mut best = [Duration::MAX; 2];
    let mut apart = Duration::MAX;
    let mut reports = [const { String::new() }; 2];
    let mut events = 0;
    for _ in 0..RUNS {
        let start = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| run(1));
            }
        });
        apart = apart.min(start.elapsed());
        for (which, threads) in [1, threads].into_iter().enumerate() {
            let start = Instant::now();
            let report = run(threads);
            best[which] = best[which].min(start.elapsed());
            events = report.outcome.events;
            reports[which] = report.to_string();
        }
    }
    assert!(reports[0] == reports[1], "threads change the outcome");
    let rate = |time: Duration| events as f64 / time.as_secs_f64() / 1e6;
    println!("{events} events, {processors} processors");
    println!(
        "1 thread   {:>8.3} s {:>7.2} M events/s",
        best[0].as_secs_f64(),
        rate(best[0])
    );
    println!(
        "{threads} threads  {:>8.3} s {:>7.2} M events/s, {:.2} times as fast",
        best[1].as_secs_f64(),
        rate(best[1]),
        best[0].as_secs_f64() / best[1].as_secs_f64()
    );
    println!(
        "{threads} runs of 1 thread side by side are {:.2} times as fast as one after the other",
        threads as f64 * best[0].as_secs_f64() / apart.as_secs_f64()
    );
}
