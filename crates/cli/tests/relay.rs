//! `wire relay`: nodes at hooks of a router between two hosts with the kernel's own stacks.
#![allow(
    clippy::disallowed_methods,
    reason = "these tests wait for other programs"
)]

use crate::testbed::{Job, eventually};
use live::world::hook::trial::{HOSTS, Trial};
use serde_json::Value;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn bed() -> Option<Trial> {
    match Trial::new() {
        Ok(trial) => Some(trial),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

fn wire(bed: &Trial, arguments: &[&str]) -> Command {
    // The tests may have been started with signals ignored.
    let mut command = bed.router().command("env");
    command.args(["--default-signal", env!("CARGO_BIN_EXE_wire")]);
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs it in the background, with a file for what it writes, until packets are led to its queues.
fn start(bed: &Trial, arguments: &[&str]) -> (Job, std::path::PathBuf) {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("wl-relay-{}-{number}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let file = std::fs::File::create(&path).unwrap();
    let told = path.with_extension("err");
    let mut command = wire(bed, arguments);
    let errors = std::fs::File::create(&told).unwrap();
    let job = Job::start(command.stdout(file).stderr(errors));
    // A relay tells when its rules are there; else they are there before.
    let begun = || match arguments[0] {
        "relay" => {
            std::fs::read_to_string(&told).is_ok_and(|told| told.contains(" at forward of "))
        }
        _ => !queues(bed).is_empty(),
    };
    assert!(eventually(begun), "{:?}", std::fs::read_to_string(&told));
    (job, path)
}

/// What the kernel lists as queues.
fn queues(bed: &Trial) -> String {
    let list = "/proc/thread-self/net/netfilter/nfnetlink_queue";
    let read = bed.router().enter(|| std::fs::read_to_string(list));
    read.unwrap().unwrap_or_default()
}

/// Ends it as Ctrl-C does; what it wrote.
fn finish((mut job, path): (Job, std::path::PathBuf)) -> String {
    job.signal("INT");
    assert!(job.ends());
    let text = std::fs::read_to_string(&path).unwrap();
    let _ = std::fs::remove_file(path.with_extension("err"));
    let _ = std::fs::remove_file(path);
    text
}

/// Round trips between the hosts, ms, of requests that are answered, however long that takes on a machine that does much else.
fn ping(bed: &Trial, count: u32) -> Vec<f64> {
    ping_for(bed, count, 20)
}

/// The same of requests each of which may take so many seconds.
fn ping_for(bed: &Trial, count: u32, seconds: u32) -> Vec<f64> {
    let [count, wait] = [count, seconds].map(|number| number.to_string());
    let output = bed
        .host(0)
        .command("ping")
        .args(["-n", "-i0.05", "-W", &wait, "-c", &count])
        .arg(HOSTS[1].to_string())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let times = text
        .lines()
        .filter_map(|line| line.split_once("time=")?.1.split(' ').next()?.parse().ok());
    times.collect()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const ON: [&str; 4] = ["--on", "r0", "--on", "r1"];

#[test]
fn a_delay_at_a_hook_is_seen_by_ping_and_reported() {
    let Some(bed) = bed() else { return };
    let arguments = ["relay", "run", "delay", "--set", "delay=20 ms", "--json"];
    let running = start(&bed, &[&arguments[..], &ON, &["--match", "icmp"]].concat());
    let times = ping(&bed, 4);
    assert_eq!(times.len(), 4);
    assert!(times.iter().all(|&ms| ms >= 40.0), "{times:?}");
    let report = finish(running);
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(
        (&report["schema"], &report["type"]),
        (&"wireline.relay/1".into(), &"relay".into())
    );
    assert_eq!(report["accepted"], 8, "{report}");
    assert_eq!(report["counters"]["packets"], 8, "{report}");
    // On a machine that does much else one may take as long all the same.
    assert!(eventually(|| ping(&bed, 1)[0] < 20.0));
}

#[test]
fn after_kill_9_no_rule_is_left_and_packets_go_their_way() {
    let Some(bed) = bed() else { return };
    let arguments = ["relay", "run", "filter", "--set", "expression=not icmp"];
    let (mut job, path) = start(&bed, &[&arguments[..], &ON].concat());
    assert_eq!(ping_for(&bed, 1, 1).len(), 0, "the node drops it");
    job.signal("KILL");
    assert!(job.ends());
    let _ = std::fs::remove_file(path.with_extension("err"));
    let _ = std::fs::remove_file(path);
    assert_eq!(ping(&bed, 3).len(), 3);
    assert_eq!(queues(&bed), "");
    match bed
        .router()
        .command("nft")
        .args(["list", "ruleset"])
        .output()
    {
        Ok(output) => assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), ""),
        Err(_) => println!("skipped in part: nft is not installed"),
    }
}

#[test]
fn queues_of_a_users_rules_are_ports_of_cat_and_run() {
    let Some(bed) = bed() else { return };
    let lead = |from: &str, to: &str, queue: &str| {
        bed.router()
            .command("iptables")
            .args(["-t", "mangle", "-A", "FORWARD", "-i", from, "-o", to])
            .args(["-j", "NFQUEUE", "--queue-num", queue])
            .status()
    };
    match lead("r0", "r1", "0") {
        Ok(status) if status.success() => {}
        _ => return println!("skipped: iptables is not installed"),
    }
    let cat = start(&bed, &["cat", "nfqueue:0", "--no-time", "--line-buffered"]);
    assert_eq!(ping(&bed, 3).len(), 3);
    let lines = finish(cat);
    assert_eq!(lines.lines().count(), 3, "{lines}");
    assert!(
        lines.lines().all(|line| line.contains(" 0800 45 00 ")),
        "{lines}"
    );
    assert!(lead("r1", "r0", "1").unwrap().success());
    let arguments = ["run", "delay", "--set", "delay=10 ms", "--json"];
    let on = ["--on", "nfqueue:0", "--on", "nfqueue:1"];
    let run = start(&bed, &[&arguments[..], &on].concat());
    let times = ping(&bed, 3);
    assert_eq!(times.len(), 3);
    assert!(times.iter().all(|&ms| ms >= 20.0), "{times:?}");
    let report: Value = serde_json::from_str(&finish(run)).unwrap();
    assert_eq!(report["accepted"], 6, "{report}");
}

#[test]
fn the_bench_measures_each_way_of_a_packet() {
    if bed().is_none() {
        return;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_wire"))
        .args([
            "relay", "bench", "mirror", "--time", "50ms", "--length", "1514",
        ])
        .arg("--json")
        .output()
        .unwrap();
    // A mirror sends back what it gets, so that no connection comes through: the figures before that are there.
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let ways: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["way"].as_str())
        .collect();
    let three = ["forwarding alone", "through", "payload rewritten"];
    assert_eq!(ways[..3], three, "{}", text(&output));
    for line in &lines[..3] {
        assert!(line["packets_per_second"].as_f64().unwrap() > 0.0, "{line}");
    }
}

#[test]
fn what_is_wrong_is_told_before_anything_is_done() {
    let Some(bed) = bed() else { return };
    for (arguments, said) in [
        (&["relay", "run", "throuh", "--on", "r0"][..], "throuh"),
        (
            &["relay", "run", "through", "--on", "nope", "--on", "r1"],
            "no interface `nope`",
        ),
        (
            &[
                "relay", "run", "through", "--on", "r0", "--on", "r1", "--match", "portt 5",
            ],
            "portt",
        ),
        (
            &[
                "relay", "run", "through", "--on", "r0", "--hook", "sideways",
            ],
            "no hook",
        ),
        (&["relay", "run", "through"], "--on"),
        (&["cat", "nfqueue:x"], "0 to 65535"),
    ] {
        let output = wire(&bed, arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output).contains(said), "{}", text(&output));
    }
    assert_eq!(queues(&bed), "");
}

/// Sets what the kernel of a host does.
fn set(bed: &Trial, host: usize, key: &str, value: u8) {
    let path = format!("/proc/sys/net/ipv4/{key}");
    let written = bed
        .host(host)
        .enter(|| std::fs::write(&path, value.to_string()));
    written.unwrap().unwrap();
}

/// What `ss` tells of the connections of a host.
fn connections(bed: &Trial, host: usize) -> String {
    let mut ss = bed.host(host).command("ss");
    let output = ss
        .args(["-tinoH", "state", "established"])
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_split_connection_has_timestamps_where_the_kernels_offer_them_and_no_ecn() {
    use std::io::{Read, Write};
    let Some(bed) = bed() else { return };
    // Segments are lost on both halves, so that some are sent again.
    for host in 0..2 {
        let lose = "table ip loss { chain in { type filter hook input priority 0; \
            meta l4proto tcp numgen random mod 200 == 0 counter drop; }; }";
        let set = bed.host(host).command("nft").arg(lose).status();
        assert!(set.unwrap().success());
    }
    let arguments = ["relay", "run", "split", "--set", "bound=0 s", "--json"];
    let running = start(&bed, &[&arguments[..], &ON, &["--match", "tcp"]].concat());
    for (near, far) in [(1, 1), (1, 0), (0, 1)] {
        for (host, offers) in [near, far].into_iter().enumerate() {
            set(&bed, host, "tcp_timestamps", offers);
            // 1: ECN is asked for, and granted to who asks.
            set(&bed, host, "tcp_ecn", 1);
        }
        let server = (HOSTS[1], 7000);
        let listener = bed.host(1).enter(|| std::net::TcpListener::bind(server));
        let listener = listener.unwrap().unwrap();
        let client = bed.host(0).enter(|| std::net::TcpStream::connect(server));
        let mut client = client.unwrap().unwrap();
        let (mut served, _) = listener.accept().unwrap();
        for stream in [&client, &served] {
            let wait = Some(Duration::from_secs(60));
            stream.set_read_timeout(wait).unwrap();
            stream.set_write_timeout(wait).unwrap();
        }
        let bytes: Vec<u8> = (0..3_000_000u32).map(|n| (n % 251) as u8).collect();
        let mut came = vec![0; bytes.len()];
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut came = vec![0; bytes.len()];
                served.read_exact(&mut came).unwrap();
                assert!(came == bytes);
                served.write_all(&bytes).unwrap();
            });
            client.write_all(&bytes).unwrap();
            client.read_exact(&mut came).unwrap();
        });
        assert!(came == bytes);
        for (host, stamped) in [(0, near == 1), (1, near + far == 2)] {
            let told = connections(&bed, host);
            let has = |word: &str| told.split_whitespace().any(|found| found == word);
            assert!(has("cubic") || has("reno") || has("bbr"), "{told}");
            assert_eq!(has("ts"), stamped, "{near} and {far}, host {host}: {told}");
            assert!(!has("ecn") && !has("ecnseen"), "{told}");
            // What was received is acknowledged in full segments: the twelve bytes of the option are counted.
            let most = if stamped {
                "rcvmss:1448"
            } else {
                "rcvmss:1460"
            };
            assert!(has(most), "{near} and {far}, host {host}: {told}");
        }
        drop((client, served));
    }
    for host in 0..2 {
        let list = bed
            .host(host)
            .command("nft")
            .args(["list", "ruleset"])
            .output();
        let list = String::from_utf8_lossy(&list.unwrap().stdout).into_owned();
        assert!(
            list.contains("counter") && !list.contains("packets 0 "),
            "{list}"
        );
    }
    let report: Value = serde_json::from_str(&finish(running)).unwrap();
    assert_eq!(report["counters"]["split"], 3, "{report}");
    assert_eq!(report["counters"]["reset"], 0, "{report}");
    assert_eq!(report["counters"]["forth"], 9_000_000, "{report}");
}
