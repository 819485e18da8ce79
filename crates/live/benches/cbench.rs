//! `cargo bench -p wireline-live --bench cbench`: table 3.3 of paper 003 again: learning switches of several controllers, by `wire of cbench` in
//! latency and throughput mode, OpenFlow 1.0 and 1.3, 16 switches with 100 MACs each, over TCP on the loopback.
//!
//! Each controller and the benchmark are processes of their own. Ours is the program of `wire of controller learning`; os-ken runs
//! `benches/peers/os-ken-switch.py` from `target/os-ken-venv` (see .ci/setup); ovs-testcontroller comes with Open vSwitch.
//! `us` is what a packet-in took of the controller's processor. `BENCH_SECONDS` (default 3) is the time of each row.

#[path = "bed/mod.rs"]
mod bed;

use bed::{pause, processor};
use live::port::{self, Options};
use node::Time;
use openflow::cbench::{Cbench, Config, Fairness, Mode, Progress, Summary};
use openflow::controller::learning::{self, Learning};
use openflow::controller::{Controller, Options as Speaks};
use openflow::version::Version;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// The words that make this program one of the two ends.
const CONTROL: &str = "--control";
const ASK: &str = "--ask";
/// Rounds that count, of each row.
const ROUNDS: u32 = 10;
const VERSIONS: [(&str, Version); 2] = [("1.0", Version::V10), ("1.3", Version::V13)];
const MODES: [(&str, Mode); 2] = [("throughput", Mode::Throughput), ("latency", Mode::Latency)];
/// Table 3.3, packet-ins a second: throughput, latency. The copy at hand lacks one.
const PAPER: [(&str, &str, &str); 5] = [
    ("NOX fast", "122600", "27400"),
    ("NOX", "13600", "26900"),
    ("Maestro", "13900", "-"),
    ("Mirage, UNIX", "68100", "21100"),
    ("Mirage, Xen", "86500", "20500"),
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match &arguments[..] {
        // `cargo test` runs benches too, with `--test`: there is nothing to check here.
        [_, rest @ ..] if rest.iter().any(|argument| argument == "--test") => {}
        [_, word, at] if word == CONTROL => control(at),
        [_, word, at, version, mode, ms] if word == ASK => ask(at, version, mode, ms),
        _ => table(),
    }
}

/// Our learning switch.
fn control(at: &str) {
    ::capture::signal::install();
    let learning = Learning::new(learning::Config::default());
    let controller = Controller::new(Speaks::default(), vec![Box::new(learning)]);
    let spec = at.parse().expect("a channel");
    let port = port::open(&spec, &Options::default()).expect("a port");
    live::world::on_ports("controller", Box::new(controller), vec![port], None).expect("a run");
}

/// The benchmark; prints figures on one line.
fn ask(at: &str, version: &str, mode: &str, ms: &str) {
    let named = |name: &str| VERSIONS.iter().find(|row| row.0 == name).map(|row| row.1);
    let config = Config {
        version: named(version).expect("a version"),
        mode: match mode {
            "latency" => Mode::Latency,
            _ => Mode::Throughput,
        },
        loops: ROUNDS,
        round: Time::from_ms(ms.parse().expect("a number")),
        ..Config::default()
    };
    let switches = config.switches as usize;
    let (tell, told) = channel();
    let node = Cbench::new(
        config,
        Box::new(move |one| {
            let last = matches!(one, Progress::Finished | Progress::Failed(_));
            let _ = tell.send(one);
            if last {
                ::capture::signal::request_stop();
            }
        }),
    );
    let spec = at.parse().expect("a channel");
    let port = port::open(&spec, &Options::default()).expect("a port");
    live::world::on_ports("cbench", Box::new(node), vec![port], None).expect("a run");
    let (mut rates, mut shares) = (Vec::new(), vec![0; switches]);
    for one in told {
        match one {
            Progress::Round(round) if !round.warmup => {
                let answers: u64 = round.answers.iter().sum();
                rates.push(answers as f64 / round.length.as_secs_f64());
                for (share, answers) in shares.iter_mut().zip(&round.answers) {
                    *share += answers;
                }
            }
            Progress::Failed(why) => return println!("failed {why}"),
            _ => {}
        }
    }
    let rates = Summary::of(&rates);
    println!(
        "{} {} {} {} {}",
        rates.mean,
        rates.variance.sqrt(),
        rates.min,
        rates.max,
        Fairness::of(&shares).jain
    );
}

/// A controller under test.
struct Peer {
    name: &'static str,
    /// How it is started for a port and a version; or why it cannot be.
    start: fn(u16, &str) -> Result<Command, String>,
}

const PEERS: [Peer; 3] = [
    Peer {
        name: "wire",
        start: |port, _| {
            let program = std::env::current_exe().map_err(|error| error.to_string())?;
            let mut command = Command::new(program);
            command.args([CONTROL, &format!("ptcp:{port}:127.0.0.1")]);
            Ok(command)
        },
    },
    Peer {
        name: "ovs-testcontroller",
        start: |port, version| {
            let mut command = Command::new("ovs-testcontroller");
            let version = if version == "1.0" {
                "OpenFlow10"
            } else {
                "OpenFlow13"
            };
            command.args(["-O", version, "-voff"]);
            command.args([&format!(
                "--unixctl={}/wl-cbench-{port}.ctl",
                std::env::temp_dir().display()
            )]);
            command.arg(format!("ptcp:{port}:127.0.0.1"));
            Ok(command)
        },
    },
    Peer {
        name: "os-ken",
        start: |port, version| {
            let root = Path::new(env!("CARGO_MANIFEST_DIR"));
            let python = root.join("../../target/os-ken-venv/bin/python");
            if !python.exists() {
                return Err("no os-ken in target/os-ken-venv (.ci/setup test makes it)".into());
            }
            let mut command = Command::new(python);
            command.args(["-W", "ignore"]);
            command.arg(root.join("benches/peers/os-ken-switch.py"));
            command.args([&port.to_string(), version]);
            Ok(command)
        },
    },
];

/// A TCP port that is free now.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a socket");
    listener.local_addr().expect("an address").port()
}

/// Starts a controller, and waits until it listens.
fn start(peer: &Peer, port: u16, version: &str) -> Result<Child, String> {
    let mut command = (peer.start)(port, version)?;
    let quiet = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let child = quiet
        .spawn()
        .map_err(|_| format!("{} is not installed", peer.name))?;
    let local = format!(":{port:04X} 00000000:0000 0A");
    for _ in 0..400 {
        pause(Duration::from_millis(50));
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
        if table.contains(&local) {
            return Ok(child);
        }
    }
    stop(child);
    Err(format!("{} does not listen", peer.name))
}

fn stop(mut child: Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// The figures of a row - mean, sd, min, max, Jain's index - and what a packet-in took of the processor, us.
fn measure(peer: &Peer, version: &str, mode: &str, ms: u64) -> Result<[f64; 6], String> {
    let port = free_port();
    let child = start(peer, port, version)?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let before = processor(child.id());
    let asked = Command::new(program)
        .args([ASK, &format!("tcp:127.0.0.1:{port}"), version, mode])
        .arg(ms.to_string())
        .stderr(Stdio::null())
        .output();
    let spent = processor(child.id()) - before;
    stop(child);
    let output = asked.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text
        .split_whitespace()
        .filter_map(|n| n.parse().ok())
        .collect();
    let [mean, sd, min, max, jain] = numbers[..] else {
        return Err(text.trim().to_string());
    };
    // The round before those that count is about as large as they are.
    let answers = mean * f64::from(ROUNDS + 1) * ms as f64 / 1e3;
    Ok([mean, sd, min, max, jain, spent as f64 / 1e3 / answers])
}

fn table() {
    let seconds = std::env::var("BENCH_SECONDS").ok();
    let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(3.0);
    let ms = ((seconds * 1e3 / f64::from(ROUNDS)) as u64).max(1);
    println!("packet-ins answered a second; 16 switches, 100 MACs, {ROUNDS} rounds of {ms} ms");
    println!(
        "{:<20} {:<11} {:<4} {:>10} {:>9} {:>10} {:>10} {:>7} {:>7} {:>8}",
        "", "", "", "mean", "sd", "min", "max", "Jain", "us", "wire/it"
    );
    for (mode, _) in MODES {
        for (version, _) in VERSIONS {
            let mut ours = 0.0;
            for peer in &PEERS {
                let row = format!("{:<20} {mode:<11} {version:<4}", peer.name);
                match measure(peer, version, mode, ms) {
                    Err(why) => println!("{row} skipped: {why}"),
                    Ok([mean, sd, min, max, jain, us]) => {
                        if peer.name == "wire" {
                            ours = mean;
                        }
                        let ratio = ours / mean;
                        println!(
                            "{row} {mean:>10.0} {sd:>9.0} {min:>10.0} {max:>10.0} {jain:>7.4} {us:>7.2} {ratio:>8.2}"
                        );
                    }
                }
            }
        }
    }
    println!("\nthe paper's table 3.3, 16 cores of AMD, one thread each, OpenFlow 1.0");
    for (name, throughput, latency) in PAPER {
        println!("{name:<20} throughput {throughput:>9}   latency {latency:>9}");
    }
}
