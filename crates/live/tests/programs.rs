//! Real programs as hosts of a graph. Without the rights, or without the programs, each test says that
//! it was skipped.
#![allow(
    clippy::disallowed_methods,
    reason = "a test waits for other processes"
)]

use live::netns::NetnsError;
use live::world::process::{End, Job, JobReport, Programs, Ready};
use live::world::{self, Interface, Options, Ran, Real, Slot, Stack, WorldError};
use node::outcome::{Direction, Finish};
use node::{Channel, Graph, QueueLimit, Rate, Tap, Time};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Whether all of these programs are there; says what is missing.
fn have(programs: &[&str]) -> bool {
    let folders = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let found = |name: &&str| {
        folders
            .split(':')
            .any(|at| Path::new(at).join(name).exists())
    };
    let missing = programs.iter().find(|program| !found(program));
    if let Some(program) = missing {
        println!("skipped: {program} is not installed");
    }
    missing.is_none()
}

/// Two hosts, 10.0.0.1 and 10.0.0.2, and the link between them.
fn hosts(channel: Channel) -> (Graph, BTreeMap<usize, Real>) {
    let mut graph = Graph::default();
    let a = graph.add("a", Box::new(Slot::new(1)));
    let b = graph.add("b", Box::new(Slot::new(1)));
    graph.connect((a, 0), (b, 0), channel);
    let stack = |last: u8| {
        Real::Stack(Stack {
            interfaces: vec![Interface {
                name: "eth0".into(),
                mac: Some([2, 0, 0, 0, 0, last]),
                mtu: 1500,
                addresses: vec![([10, 0, 0, last].into(), 24)],
            }],
            ..Stack::default()
        })
    };
    (graph, BTreeMap::from([(0, stack(1)), (1, stack(2))]))
}

fn job(member: usize, command: &str) -> Job {
    Job {
        name: format!("job at {member}"),
        member,
        command: command.into(),
        at: Some(Time::ZERO),
        ..Job::default()
    }
}

fn run(channel: Channel, jobs: Vec<Job>, options: Options) -> Option<Ran> {
    let (graph, real) = hosts(channel);
    let staff = Programs {
        jobs,
        hosts: "10.0.0.2 bob\n".into(),
        ..Programs::default()
    };
    let options = Options { real, ..options };
    match world::run_with(graph, options, staff) {
        Ok(ran) => Some(ran),
        Err(WorldError::Netns(NetnsError::Permission { doing })) => {
            println!("skipped: {doing} is not allowed here");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn output(ran: &Ran, job: usize) -> &JobReport {
    &ran.jobs[job]
}

#[test]
fn a_real_ping_takes_as_long_as_the_link_says() {
    if !have(&["ping"]) {
        return;
    }
    let channel = Channel {
        delay: Time::from_ms(5),
        ..Channel::default()
    };
    let seen = Arc::new(Mutex::new(0));
    let count = seen.clone();
    let options = Options {
        taps: vec![Tap {
            link: 0,
            direction: Direction::Forth,
            see: Box::new(move |at, frame| {
                assert!(frame.arrived() <= at);
                *count.lock().unwrap() += 1;
            }),
        }],
        ..Options::default()
    };
    let Some(ran) = run(channel, vec![job(0, "ping -c 4 -i 0.1 bob")], options) else {
        return;
    };
    let report = output(&ran, 0);
    assert_eq!(report.end, End::Code(0), "{report:?}");
    assert_eq!(ran.outcome.finish, Finish::Idle);
    // rtt min/avg/max/mdev = 10.1/10.2/10.4/0.1 ms
    let times = report.output.split("mdev = ").nth(1).expect("a summary");
    let least: f64 = times.split('/').next().unwrap().parse().unwrap();
    assert!(least >= 9.98, "a round trip is twice 5 ms: {report:?}");
    // Requests, and the question who has the address.
    assert!(*seen.lock().unwrap() >= 5);
    assert!(ran.outcome.links[0][1].sent >= 5);
}

#[test]
fn tcp_gets_through_at_the_rate_of_the_link() {
    if !have(&["iperf3"]) {
        return;
    }
    let channel = Channel {
        rate: Some(Rate::from_bits_per_second(100_000_000).unwrap()),
        delay: Time::from_ms(5),
        queue: QueueLimit::Packets(200),
        ..Channel::default()
    };
    let server = Job {
        service: true,
        ready: Ready::Listens(5201),
        at: None,
        ..job(1, "iperf3 -s")
    };
    let jobs = vec![server, job(0, "iperf3 -c 10.0.0.2 -t 2 -J")];
    let Some(ran) = run(channel, jobs, Options::default()) else {
        return;
    };
    let report = output(&ran, 1);
    assert_eq!(report.end, End::Code(0), "{report:?}");
    assert_eq!(output(&ran, 0).end, End::Stopped);
    let sent = ran.outcome.links[0][0];
    let took = report.ended.unwrap() - report.began.unwrap();
    let bits = 8.0 * sent.bytes as f64;
    let rate = bits / (took.as_ps() as f64 / 1e12);
    println!("{rate:.0} b/s over all, {sent:?}");
    // Never more than the link carries; and TCP does not hang on checksums that nobody completed.
    assert!(rate <= 100e6, "{rate}");
    assert!(bits > 20e6, "{bits} bits in {took}");
}

#[test]
fn programs_end_with_the_run_and_their_daemons_too() {
    let marker = std::env::temp_dir().join(format!("wireline-daemon-{}", std::process::id()));
    let path = marker.display().to_string();
    // The daemon leaves its session, and would write later.
    let command = format!("(setsid sh -c 'sleep 2; touch {path}' >/dev/null 2>&1 &) ; exit 7");
    let endless = Job {
        service: true,
        at: None,
        ..job(1, "exec sleep 1000")
    };
    let Some(ran) = run(
        Channel::default(),
        vec![job(0, &command), endless],
        Options::default(),
    ) else {
        return;
    };
    assert_eq!(output(&ran, 0).end, End::Code(7));
    assert!(output(&ran, 0).failed());
    assert_eq!(output(&ran, 1).end, End::Stopped);
    std::thread::sleep(std::time::Duration::from_millis(2500));
    assert!(!marker.exists(), "the daemon has outlived the run");
}

#[test]
fn what_waits_begins_after_and_a_file_has_all_that_was_written() {
    let file = std::env::temp_dir().join(format!("wireline-output-{}", std::process::id()));
    let first = Job {
        output: Some(file.clone()),
        ..job(0, "sleep 0.3; seq 1 100000")
    };
    let second = Job {
        after: vec![0],
        ..job(1, "echo second; cat /proc/1/comm; ls /sys/class/net")
    };
    let late = Job {
        at: Some(Time::from_ms(700)),
        ..job(1, "echo late")
    };
    let Some(ran) = run(
        Channel::default(),
        vec![first, second, late],
        Options::default(),
    ) else {
        return;
    };
    assert_eq!(output(&ran, 1).output, "second\nsh\neth0\nlo\n");
    assert!(output(&ran, 1).began >= output(&ran, 0).ended);
    assert!(output(&ran, 2).began >= Some(Time::from_ms(700)));
    assert_eq!(output(&ran, 0).output.len(), 64 << 10);
    assert!(output(&ran, 0).output.ends_with("100000\n"));
    let whole = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(whole.lines().count(), 100_000);
    assert_eq!(output(&ran, 0).written, whole.len() as u64);
}

#[test]
fn a_service_that_does_not_get_ready_is_an_error_that_says_what_it_wrote() {
    let (graph, real) = hosts(Channel::default());
    let staff = Programs {
        jobs: vec![Job {
            service: true,
            ready: Ready::Listens(80),
            at: None,
            ..job(0, "echo no such file; exit 3")
        }],
        ..Programs::default()
    };
    let options = Options {
        real,
        ..Options::default()
    };
    match world::run_with(graph, options, staff) {
        Err(WorldError::Netns(error @ NetnsError::Permission { .. })) => {
            println!("skipped: {error}")
        }
        Err(error) => {
            let text = error.to_string();
            assert!(
                text.contains("exit code 3") && text.contains("no such file"),
                "{text}"
            );
        }
        Ok(_) => panic!("the service was never ready"),
    }
}
