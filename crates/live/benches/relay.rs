//! `cargo bench -p wireline-live --bench relay`: what passes a hook of the kernel, beside a C program on libnetfilter_queue with batched
//! verdicts (`benches/peers/relay.c`) in the same run, and forwarding without any hook.
//!
//! Two hosts and a router between them in namespaces; one thread sends as fast as it can, and the kernel counts what comes
//! out at the far host. `BENCH_SECONDS` (default 2) is the time of each figure, of which there are three rounds; the medians
//! are shown. `us processor` is what a packet took of the hook's own time, reinjection by the kernel and all, which other programs on
//! the machine do not change much. Needs root, and for the peer a C compiler, libnetfilter-queue-dev and libmnl-dev.

#[path = "bed/mod.rs"]
mod bed;

use bed::{pause, processor};
use live::world::hook::trial::{INTERFACES, Rate, Rewrite, Trial, WARM};
use live::world::hook::{Config, Runner, lead};
use node::Node;
use relay::through::Through;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The queue that the peer answers.
const QUEUE: u16 = 99;
const ROUNDS: usize = 3;
/// Lengths of frames: 64 and 1518 bytes with FCS.
const LENGTHS: [usize; 2] = [60, 1514];

fn main() {
    // `cargo test` runs benches too, with `--test`: there is nothing to check here.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let wanted = std::env::var("BENCH_SECONDS").ok();
    let seconds = wanted.and_then(|text| text.parse().ok()).unwrap_or(2.0);
    let bench = match Trial::new() {
        Ok(trial) => Bench {
            trial,
            time: Duration::from_secs_f64(seconds),
            peer: Peer::build(),
        },
        Err(error) => return println!("skipped: {error}"),
    };
    println!(
        "{:<36} {:>13} {:>10} {:>12} {:>13}",
        "", "packets/s", "Gb/s", "ratio to C", "us processor"
    );
    for len in LENGTHS {
        bench.floods(len);
    }
    bench.streams();
}

struct Bench {
    trial: Trial,
    time: Duration,
    peer: Result<Peer, String>,
}

/// A way for packets through the router.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Forward,
    Peer(&'static str),
    Through,
    Rewrite,
}

impl Bench {
    fn floods(&self, len: usize) {
        let rows = [
            ("kernel forwarding alone", Way::Forward),
            ("C, batched verdicts", Way::Peer("")),
            ("node through", Way::Through),
            ("C, payload changed", Way::Peer("change")),
            ("node that changes the payload", Way::Rewrite),
        ];
        let flood = || self.trial.flood(len, self.time).expect("a flood");
        self.table(&format!("{} B", len + 4), &rows, &flood);
    }

    fn streams(&self) {
        let rows = [
            ("kernel forwarding alone", Way::Forward),
            ("C, batched verdicts, GSO", Way::Peer("gso")),
            ("node through, GSO", Way::Through),
        ];
        let stream = || self.trial.stream(self.time).expect("a stream");
        self.table("TCP", &rows, &stream);
    }

    /// Rounds over all rows, so that what disturbs the machine disturbs all of them; and their medians.
    fn table(&self, name: &str, rows: &[(&str, Way)], measure: &dyn Fn() -> Rate) {
        let mut rates = vec![Vec::new(); rows.len()];
        for _ in 0..ROUNDS {
            for (rates, (_, way)) in rates.iter_mut().zip(rows) {
                if let Some(rate) = self.with(*way, measure) {
                    rates.push(rate);
                }
            }
        }
        let mut peer = None;
        for (mut rates, (what, way)) in rates.into_iter().zip(rows) {
            let what = format!("{name}: {what}");
            if rates.is_empty() {
                let reason = self.peer.as_ref().err().cloned().unwrap_or_default();
                println!("{what:<36} skipped: {reason}");
                continue;
            }
            rates.sort_by(|a, b| a.0.bits.total_cmp(&b.0.bits));
            let (rate, us) = rates[rates.len() / 2];
            let ratio = match (way, peer) {
                (Way::Through | Way::Rewrite, Some(peer)) => format!("{:.2}", rate.bits / peer),
                _ => "-".into(),
            };
            if matches!(way, Way::Peer(_)) {
                peer = Some(rate.bits);
            }
            let packets = match rate.packets {
                0.0 => "-".into(),
                packets => format!("{packets:.0}"),
            };
            // A stream's packets are chains of any length.
            let us = match rate.packets > 0.0 && us > 0.0 {
                true => format!("{us:.2}"),
                false => "-".into(),
            };
            println!(
                "{what:<36} {packets:>13} {:>10.3} {ratio:>12} {us:>13}",
                rate.bits / 1e9
            );
        }
    }

    fn with(&self, way: Way, measure: &dyn Fn() -> Rate) -> Option<(Rate, f64)> {
        let config = Config {
            on: INTERFACES.map(String::from).to_vec(),
            ..Config::default()
        };
        let ours = |node: Box<dyn Node>| {
            let start = || Runner::start(&config, vec![node]).expect("a relay");
            let relay = self.trial.router().enter(start).expect("a namespace");
            let rate = measure();
            let counts = relay.wait(Some(Duration::ZERO)).counts;
            let answered = counts.accepted + counts.changed;
            (rate, us(counts.processor_ns, answered))
        };
        match way {
            Way::Forward => Some((measure(), 0.0)),
            Way::Through => Some(ours(Box::<Through>::default())),
            Way::Rewrite => Some(ours(Box::<Rewrite>::default())),
            Way::Peer(mode) => {
                let peer = self.peer.as_ref().ok()?;
                let running = peer.run(&self.trial, mode);
                let config = Config {
                    queue: Some(QUEUE),
                    ..config
                };
                let router = self.trial.router();
                let rules = router.enter(|| lead(&config, 2, 1)).expect("a namespace");
                let _rules = rules.expect("rules");
                let rate = measure();
                let whole = self.time + WARM;
                let answered = rate.packets * whole.as_secs_f64();
                Some((rate, us(processor(running.0.id()), answered as u64)))
            }
        }
    }
}

/// ns of a processor for so many packets, as us for each.
fn us(ns: u64, packets: u64) -> f64 {
    ns as f64 / 1e3 / packets.max(1) as f64
}

/// The C program.
struct Peer(PathBuf);

struct Running(Child);

impl Peer {
    fn build() -> Result<Peer, String> {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/relay.c");
        let name = format!("wl-relay-peer-{}", std::process::id());
        let program = std::env::temp_dir().join(name);
        let built = Command::new("cc")
            .args(["-O2", source, "-o"])
            .arg(&program)
            .args(["-lnetfilter_queue", "-lmnl"])
            .output();
        match built {
            Ok(output) if output.status.success() => Ok(Peer(program)),
            _ => Err("needs cc, libnetfilter-queue-dev and libmnl-dev".into()),
        }
    }

    fn run(&self, trial: &Trial, mode: &str) -> Running {
        let mut command = trial.router().command(&self.0.to_string_lossy());
        command.arg(QUEUE.to_string()).stdin(Stdio::null());
        if !mode.is_empty() {
            command.arg(mode);
        }
        let child = command.spawn().expect("the peer");
        pause(Duration::from_millis(100));
        Running(child)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
