//! Labs of real hosts against Mininet, in the same run: until all is up, and until all is gone; whether a link's delay and
//! rate are what was asked for; and TCP through a switch in user space.
//!
//! Up is the time until the first command in a host runs, gone is the end of the call. Of Mininet it is `start()` and `stop()`, without
//! the start of its interpreter. `benches/peers/mininet-measure.sh` says what it needs. Needs root.

use ::capture::clock::{epoch_ns, now_ns};
use live::world::process::{Job, Programs};
use live::world::{self, Interface, Options, Real, Slot, Stack};
use node::{Channel, Graph, NodeId, Rate, Time};
use nodes::switch::{self, Switch};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

const HOSTS: u8 = 64;
const RUNS: usize = 3;

/// A graph of real hosts, and what is real in it.
#[derive(Default)]
struct Lab {
    graph: Graph,
    real: BTreeMap<usize, Real>,
}

impl Lab {
    /// A host called `h` and its number, of that address's end.
    fn host(&mut self, number: u8) -> NodeId {
        let interface = Interface {
            name: "eth0".into(),
            mac: None,
            mtu: 1500,
            addresses: vec![(Ipv4Addr::new(10, 0, 0, number).into(), 24)],
        };
        let id = self.graph.add(format!("h{number}"), Box::new(Slot::new(1)));
        let stack = Stack {
            interfaces: vec![interface],
            ..Stack::default()
        };
        self.real.insert(id.0, Real::Stack(stack));
        id
    }

    /// So many hosts, each linked to its neighbour.
    fn pairs(hosts: u8, channel: Channel) -> Lab {
        let mut lab = Lab::default();
        for number in (1..hosts).step_by(2) {
            let (a, b) = (lab.host(number), lab.host(number + 1));
            lab.graph.connect((a, 0), (b, 0), channel.clone());
        }
        lab
    }

    /// So many hosts at a learning switch.
    fn star(hosts: u8, channel: Channel) -> Lab {
        let mut lab = Lab::default();
        let config = switch::Config {
            ports: hosts.into(),
            ..switch::Config::default()
        };
        let switch = Box::new(Switch::new(config).expect("good"));
        let switch = lab.graph.add("s1".to_string(), switch);
        for number in 1..=hosts {
            let host = lab.host(number);
            let port = u16::from(number) - 1;
            lab.graph
                .connect((host, 0), (switch, port), channel.clone());
        }
        lab
    }

    /// Runs commands, each in the host of that number, and tells what they wrote.
    fn run(self, commands: &[(usize, &str, bool)]) -> Vec<String> {
        let member = |number: usize| {
            let name = format!("h{number}");
            let mut members = self.graph.members.iter();
            members.position(|member| member.name == name)
        };
        let jobs = commands.iter().map(|&(host, command, service)| Job {
            name: format!("h{host}"),
            member: member(host).expect("a host"),
            command: command.into(),
            service,
            at: (!service).then_some(Time::ZERO),
            ready: match service {
                true => live::world::process::Ready::Listens(5201),
                false => live::world::process::Ready::Started,
            },
            ..Job::default()
        });
        let staff = Programs {
            jobs: jobs.collect(),
            ..Programs::default()
        };
        let options = Options {
            real: self.real,
            ..Options::default()
        };
        let ran = world::run_with(self.graph, options, staff).expect("root, and all it needs");
        ran.jobs.into_iter().map(|job| job.output).collect()
    }
}

/// Seconds until a lab is up, and until it is gone; the best of several.
fn times(make: impl Fn() -> Lab) -> [f64; 2] {
    let runs = (0..RUNS).map(|_| {
        let start = now_ns();
        let since = (epoch_ns() + start) as f64 / 1e9;
        let said = make().run(&[(1, "date +%s.%N", false)]);
        let whole = (now_ns() - start) as f64 / 1e9;
        let up = said[0].trim().parse::<f64>().expect("a time") - since;
        [up, whole - up]
    });
    best(runs)
}

fn best(runs: impl Iterator<Item = [f64; 2]>) -> [f64; 2] {
    let sum = |run: &[f64; 2]| run[0] + run[1];
    runs.min_by(|a, b| sum(a).total_cmp(&sum(b)))
        .expect("at least one")
}

/// What Mininet gives, if it is there.
fn mininet(words: &[&str]) -> Result<Vec<f64>, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/mininet-measure.sh");
    let output = Command::new("sh").arg(script).args(words).output();
    let output = output.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    match numbers.is_empty() {
        false => Ok(numbers),
        true => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(said.lines().last().unwrap_or("no reason given").to_string())
        }
    }
}

/// The number between two words of a text.
fn between(text: &str, before: &str, after: &str) -> f64 {
    let rest = text.split(before).last().unwrap_or_default();
    let number = rest.split(after).next().unwrap_or_default();
    number.trim().parse().unwrap_or(f64::NAN)
}

/// What iperf3 got, Mb/s.
fn iperf3(lab: Lab) -> f64 {
    let client = "iperf3 -c 10.0.0.2 -t 3 -f m | grep receiver";
    let said = lab.run(&[(2, "iperf3 -s -1", true), (1, client, false)]);
    between(&said[1], "Bytes", "Mbits/sec")
}

fn compare(name: &str, peer: &str, ours: [f64; 2], words: &[&str]) {
    println!("{name:<34} {:>7.2} {:>7.2}", ours[0], ours[1]);
    let runs: Result<Vec<_>, String> = (0..RUNS).map(|_| mininet(words)).collect();
    match runs {
        Err(reason) => println!("  {peer}: skipped: {reason}"),
        Ok(runs) => {
            let theirs = best(runs.iter().filter_map(|run| run.first_chunk().copied()));
            println!("  {peer:<32} {:>7.2} {:>7.2}", theirs[0], theirs[1]);
            let ratio = [0, 1].map(|at: usize| theirs[at] / ours[at]);
            println!("  {:<32} {:>7.1} {:>7.1}", "ratio", ratio[0], ratio[1]);
        }
    }
}

fn main() {
    // `cargo test` runs benches too, with `--test`: there is nothing to check here.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    if let Err(error) = live::netns::Namespace::new() {
        println!("skipped: {error}");
        return;
    }
    println!(
        "best of {RUNS}, seconds               {:>9} {:>7}",
        "up", "gone"
    );
    let plain = Channel::default;
    let pairs = times(|| Lab::pairs(HOSTS, plain()));
    compare("64 hosts in pairs", "Mininet", pairs, &["pairs", "64"]);
    let star = times(|| Lab::star(HOSTS, plain()));
    let peer = "Mininet, Open vSwitch";
    compare("64 hosts at a switch", peer, star, &["switch", "64"]);
    let slow = Channel {
        delay: Time::from_ms(5),
        ..plain()
    };
    let said = Lab::pairs(2, slow).run(&[(1, "ping -c 10 -i 0.05 -q 10.0.0.2", false)]);
    let ping = said[0]
        .split('=')
        .nth(1)
        .and_then(|part| part.split('/').nth(1));
    let narrow = || Channel {
        rate: Rate::from_bits_per_second(100_000_000),
        queue: node::QueueLimit::Packets(200),
        ..plain()
    };
    let rows: [(&str, f64, &str, &[&str]); 3] = [
        (
            "round trip over 5 ms, ms",
            ping.and_then(|mean| mean.parse().ok()).unwrap_or(f64::NAN),
            "10",
            &["delay"],
        ),
        (
            "iperf3 at 100 Mb/s, Mb/s",
            iperf3(Lab::pairs(2, narrow())),
            "94.1",
            &["rate"],
        ),
        (
            "iperf3 through a switch, Mb/s",
            iperf3(Lab::star(2, plain())),
            "-",
            &["tcp"],
        ),
    ];
    println!("{:<34} {:>9} {:>9} {:>9}", "", "ideal", "wire", "Mininet");
    for (name, ours, ideal, words) in rows {
        let theirs = mininet(words).map(|numbers| format!("{:.2}", numbers[0]));
        let theirs = theirs.unwrap_or_else(|reason| format!("skipped: {reason}"));
        println!("{name:<34} {ideal:>9} {ours:>9.2} {theirs:>9}");
    }
}
