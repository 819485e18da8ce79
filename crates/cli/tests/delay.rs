//! `wire delay` between real kernels: two namespaces, and a third between them in which it runs.

use crate::shell::{Ended, Place, has, is_root};
use live::netns::{Namespace, VethEnd, veth};
use serde_json::Value;

/// Two hosts with addresses, and the box between them with a port to each.
struct Bed {
    a: Namespace,
    b: Namespace,
    box_: Namespace,
    place: Place,
}

impl Bed {
    fn new(test: &str) -> Option<Bed> {
        if !is_root(test) || !has("ping", test) {
            return None;
        }
        let made = || -> Result<_, live::netns::NetnsError> {
            let [a, b, box_] = [Namespace::new()?, Namespace::new()?, Namespace::new()?];
            for (host, port, number) in [(&a, "x0", 1), (&b, "x1", 2)] {
                let inner = VethEnd {
                    namespace: &box_,
                    name: port,
                    mac: None,
                };
                let outer = VethEnd {
                    namespace: host,
                    name: "eth0",
                    mac: Some([2, 0, 0, 0, 0, number]),
                };
                veth([inner, outer], 1500)?;
                host.add_address("eth0", [10, 78, 0, number].into(), 24)?;
                let v6 = format!("fd78::{number}").parse().expect("an address");
                host.add_address("eth0", v6, 64)?;
            }
            Ok((a, b, box_))
        };
        match made() {
            Ok((a, b, box_)) => {
                let place = Place::new(&test.replace(' ', "-"));
                Some(Bed { a, b, box_, place })
            }
            Err(error) => {
                println!("skipped: {test}: {error}");
                None
            }
        }
    }

    /// Runs `script` at host a while the box is at work; what came of it, and the box's report.
    fn with_box(&self, spec: &str, script: &str) -> (Ended, Value) {
        std::thread::scope(|scope| {
            let run = format!("exec wire delay {spec} --on x0 x1 --json");
            let job = format!("{run} & echo $! > box.pid; wait $!");
            let box_ = scope.spawn(move || self.place.run_by(self.box_.command("timeout"), &job));
            // Both ports are open when the kernel lists them.
            self.place
                .run_by(self.box_.command("timeout"), "listening 2")
                .good();
            let ended = self.place.run_by(self.a.command("timeout"), script);
            self.place.run("kill -INT $(cat box.pid)").good();
            let report = box_.join().unwrap().good_on_ports();
            (ended, serde_json::from_str(&report).unwrap())
        })
    }
}

/// The least round-trip time, ms, of what ping printed.
fn least_rtt(out: &str) -> f64 {
    let (_, figures) = out.split_once("rtt min/avg/max/mdev = ").expect(out);
    figures.split('/').next().unwrap().parse().unwrap()
}

#[test]
fn a_ping_takes_both_delays_over_ipv4_and_ipv6_and_resolution_passes() {
    let Some(bed) = Bed::new("ping through wire delay") else {
        return;
    };
    // Neighbours are not known yet: ARP and neighbour discovery go through the box as well.
    let script = "ping -n -c 5 -i 0.1 -w 60 10.78.0.2; until ping -n -c 1 -W 1 fd78::2 > /dev/null; do sleep 0.3; done; ping -n -c 5 -i 0.1 -w 60 fd78::2";
    let (ended, report) = bed.with_box("'delay 20ms' --back 'delay 5ms'", script);
    let pings: Vec<&str> = ended.out.split("PING").skip(1).collect();
    assert_eq!(pings.len(), 2, "{ended:?}");
    for out in pings {
        // It goes on until five are answered, and on a busy machine asks more meanwhile; that none was
        // lost on the way is in the report.
        let (before, _) = out.split_once(" received").expect(out);
        let received: u32 = before.rsplit(' ').next().unwrap().parse().unwrap();
        assert!(received >= 5, "{out}\n{report}");
        assert!(least_rtt(out) >= 25.0, "{out}");
    }
    for (way, spec) in [(0, "delay 20ms"), (1, "delay 5ms")] {
        let direction = &report["directions"][way];
        assert!(
            direction["spec"].as_str().unwrap().starts_with(spec),
            "{report}"
        );
        // Ten echoes, and at least a message of each resolution.
        assert!(direction["packets"].as_u64() >= Some(12), "{report}");
        assert_eq!(direction["packets"], direction["sent"], "{report}");
    }
    assert_eq!(report["drops"], serde_json::json!({}));
    assert_eq!(report["stamps"], "kernel");
    assert!(report["error"]["p50_ns"].as_u64().is_some(), "{report}");
}

#[test]
fn tcp_through_a_rate_comes_close_to_it_never_exceeds_it_and_loses_nothing() {
    let test = "TCP through wire delay";
    let Some(bed) = Bed::new(test) else { return };
    if !has("iperf3", test) {
        return;
    }
    let server = "iperf3 -s -1 -D --pidfile iperf.pid; for i in $(seq 1200); do [ $(ss -ltn | wc -l) -gt 1 ] && break; sleep 0.05; done";
    bed.place.run_by(bed.b.command("timeout"), server);
    let (ended, report) = bed.with_box(
        "'delay 5ms rate 20mbit' --back 'delay 5ms'",
        // What is still under way when the client ends is not counted: the window bounds it, four times what the path holds.
        "iperf3 -c 10.78.0.2 -n 3M -w 100K -J",
    );
    let figures: Value = serde_json::from_str(&ended.out).unwrap_or_else(|_| panic!("{ended:?}"));
    let received = &figures["end"]["sum_received"];
    assert_eq!(figures["error"], Value::Null, "{figures}");
    assert!(received["bytes"].as_u64() >= Some(2_500_000), "{received}");
    // Of 1514 bytes of a frame 1448 are payload.
    let rate = received["bits_per_second"].as_f64().unwrap();
    assert!(rate > 1e6 && rate < 20e6, "{rate}");
    for way in 0..2 {
        let direction = &report["directions"][way];
        assert_eq!(direction["packets"], direction["sent"], "{report}");
        assert_eq!(direction["lost"], 0, "{report}");
    }
    assert_eq!(report["drops"], serde_json::json!({}));
}

#[test]
fn what_is_asked_for_happens_to_real_pings() {
    let Some(bed) = Bed::new("loss and copies by wire delay") else {
        return;
    };
    let warm = bed.with_box("none", "ping -n -c 1 -W 20 10.78.0.2 > /dev/null");
    assert_eq!(warm.0.code, Some(0), "{warm:?}");
    let (ended, report) = bed.with_box(
        "'duplicate 100% seed 1' --back none",
        "ping -n -c 5 -i 0.1 -w 60 10.78.0.2",
    );
    assert!(ended.out.contains(" duplicates, "), "{ended:?}");
    let forth = &report["directions"][0];
    assert_eq!(forth["duplicated"], forth["packets"], "{report}");
    // A full stop in one direction only, and by a whole line of tc.
    let (ended, report) = bed.with_box(
        "none --back 'tc qdisc add dev eth0 root netem loss 100%'",
        "ping -n -c 3 -i 0.1 -W 0.3 10.78.0.2",
    );
    assert!(ended.out.contains("100% packet loss"), "{ended:?}");
    let back = &report["directions"][1];
    assert!(
        back["lost"].as_u64() >= Some(3) && back["lost"] == back["packets"],
        "{report}"
    );
    assert_eq!(report["directions"][0]["lost"], 0);
    assert_eq!(report["drops"]["lost"], back["lost"]);
}

#[test]
fn a_wrong_spec_is_told_with_a_mark_at_the_word() {
    let place = Place::new("wrong-spec");
    let ended = place.run("wire delay 'delay 10ms loss often' --on x0 x1");
    assert_eq!(ended.code, Some(2));
    let expected =
        "wire: SPEC: `often`: behind `loss` comes a percentage, or random, gemodel or state
    delay 10ms loss often
                    ^^^^^
";
    assert_eq!(ended.err, expected);
    let ended = place.run("wire delay none --back 'delay trace nowhere' --on x0 x1");
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("nowhere: No such file"), "{}", ended.err);
}
