//! `cargo bench -p wireline-openflow --bench cbench`: the learning switch and the benchmark of controllers in one thread, each by the time
//! that it takes of the processor: no socket is between them. Throughput mode, 16 switches, 100 MACs.
#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

use node::{Frame, Node, Out, Port, Time};
use openflow::cbench::{Cbench, Config, Mode};
use openflow::controller::learning::{self, Learning};
use openflow::controller::{Controller, Options};
use openflow::version::Version;

/// Packet-ins of a run, and runs; the best counts.
const ANSWERS: u64 = 300_000;
const RUNS: usize = 7;

/// How long this thread has been on a processor, seconds.
fn on_processor() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a valid place for the result of a clock that always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// A node, what it sends, and what it has taken of the processor.
struct Side {
    node: Box<dyn Node>,
    out: Out,
    spent: f64,
    left: Vec<Frame>,
}

impl Side {
    fn new(node: Box<dyn Node>) -> Side {
        Side {
            node,
            out: Out::default(),
            spent: 0.0,
            left: Vec::new(),
        }
    }

    fn timed(&mut self, call: impl FnOnce(&mut dyn Node, &mut Out)) {
        let start = on_processor();
        call(self.node.as_mut(), &mut self.out);
        self.spent += on_processor() - start;
        self.left
            .extend(self.out.sends().map(|departure| departure.frame));
    }

    /// Gives the other side what this one has sent; whether there was anything.
    fn pass(&mut self, now: Time, other: &mut Side) -> bool {
        let any = !self.left.is_empty();
        for frame in self.left.drain(..) {
            // As a live port does: each side has buffers of its own.
            let copy = other.out.pool().take_with(&frame);
            self.out.done(frame);
            other.timed(|node, out| node.frames(now, Port(0), &mut vec![copy], out));
        }
        any
    }

    fn count(&self, wanted: &str) -> u64 {
        self.node.statistics().get(wanted).unwrap_or_default()
    }
}

fn run(version: Version) -> (f64, f64) {
    let config = Config {
        version,
        mode: Mode::Throughput,
        round: Time::from_secs(3600),
        ..Config::default()
    };
    let mut asks = Side::new(Box::new(Cbench::new(config, Box::new(|_| {}))));
    let learning = Learning::new(learning::Config::default());
    let controller = Controller::new(Options::default(), vec![Box::new(learning)]);
    let mut answers = Side::new(Box::new(controller));
    let mut now = Time::from_us(1);
    let mut rates: (f64, f64) = (0.0, 0.0);
    // The first run makes everything known.
    for turn in 0..=RUNS {
        let before = asks.count("answers");
        (asks.spent, answers.spent) = (0.0, 0.0);
        while asks.count("answers") < before + ANSWERS {
            let any = asks.pass(now, &mut answers) | answers.pass(now, &mut asks);
            if !any {
                now += Time::from_ms(1);
                asks.timed(|node, out| node.wake(now, out));
                answers.timed(|node, out| node.wake(now, out));
            }
        }
        let done = (asks.count("answers") - before) as f64;
        if turn > 0 {
            rates.0 = rates.0.max(done / answers.spent);
            rates.1 = rates.1.max(done / asks.spent);
        }
    }
    assert_eq!(asks.count("repeated"), 0);
    rates
}

fn main() {
    // `cargo test` runs benches too, with `--test`: there is nothing to check here.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    println!("million packet-ins a second of one core's time, without sockets");
    println!(
        "{:<6} {:>16} {:>10} {:>10}",
        "", "learning switch", "cbench", "both"
    );
    for (name, version) in [("1.0", Version::V10), ("1.3", Version::V13)] {
        let (controller, cbench) = run(version);
        let both = 1.0 / (1.0 / controller + 1.0 / cbench);
        let met = |good| if good { "met" } else { "MISSED" };
        println!(
            "{name:<6} {:>16.2} {:>10.2} {:>10.2}   mark 1: {}; mark 3: {}",
            controller / 1e6,
            cbench / 1e6,
            both / 1e6,
            met(controller >= 1e6),
            met(cbench >= 3e6),
        );
    }
}
