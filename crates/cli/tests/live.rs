//! Ports: veth pairs between network namespaces, beside the kernel's own stack and tcpdump.

use crate::shell::{Place, has, is_root, lines};
use live::netns::{Namespace, VethEnd, veth};

/// Two namespaces and the veth pair w0 - w1 between them.
pub fn pair(test: &str) -> Option<[Namespace; 2]> {
    if !is_root(test) {
        return None;
    }
    let made = || -> Result<_, live::netns::NetnsError> {
        let namespaces = [Namespace::new()?, Namespace::new()?];
        let [a, b] = &namespaces;
        let end = |namespace, name, last| VethEnd {
            namespace,
            name,
            mac: Some([2, 0, 0, 0, 0, last]),
        };
        veth([end(a, "w0", 1), end(b, "w1", 2)], 1500)?;
        Ok(namespaces)
    };
    match made() {
        Ok(namespaces) => Some(namespaces),
        Err(error) => {
            println!("skipped: {test}: {error}");
            None
        }
    }
}

#[test]
fn what_is_sent_by_one_port_is_read_at_the_other() {
    let Some([a, b]) = pair("sending over a veth pair") else {
        return;
    };
    let place = Place::new("veth");
    place.write("t.lines", lines(2_000));
    place.run("wire cut 2- t.lines > expected").good();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            place.run_by(
                b.command("timeout"),
                "wire cat w1 --no-time --count 2000 > got",
            )
        });
        // The reader has opened its port when the kernel lists it; packets sent now are kept for it.
        place.run_by(b.command("timeout"), "listening 1").good();
        let sent = place.run_by(a.command("timeout"), "wire send w0 t.lines --at-once");
        assert_eq!(sent.code, Some(0), "{}", sent.err);
        assert!(sent.out.contains("2000 packets sent"), "{}", sent.out);
        assert_eq!(reader.join().unwrap().code, Some(0));
    });
    place.run("cmp expected got").good();
}

#[test]
fn several_threads_send_one_schedule_and_keep_the_order_of_each_flow() {
    let Some([a, b]) = pair("sending by several threads") else {
        return;
    };
    let place = Place::new("threads");
    let script = "wire cat w1 --filter udp --count 3000 > got & wait=$!
        listening 1
        touch ready; wait $wait";
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| place.run_by(b.command("timeout"), script));
        let send = "until [ -e ready ]; do sleep 0.05; done
            wire gen w0 --count 3000 --gap 20us --flows 4 --threads 2";
        let sent = place.run_by(a.command("timeout"), send);
        assert_eq!(sent.code, Some(0), "{}", sent.err);
        for thread in ["w0, thread 1: 1500 packets", "w0, thread 2: 1500 packets"] {
            assert!(sent.out.contains(thread), "{}", sent.out);
        }
        let all = sent.out.split("w0: all threads together at ").nth(1);
        let all = all.and_then(|rest| rest.split(" packets/s, ").next());
        let rate: f64 = all.expect(&sent.out).replace(',', "").parse().unwrap();
        // One every 20 us; a machine that stands still makes it slower.
        assert!(rate > 0.0 && rate < 50_500.0, "{rate}");
        assert_eq!(reader.join().unwrap().code, Some(0));
    });
    let text = place.read("got");
    let mut frame = Vec::new();
    let mut flows = std::collections::BTreeMap::<u64, Vec<u64>>::new();
    for line in text
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        packet::line::decode(line, &mut frame).unwrap();
        let sequence = u64::from(measure::probe::parse(&frame).unwrap().sequence);
        flows.entry(sequence % 4).or_default().push(sequence);
    }
    assert_eq!(flows.len(), 4);
    for (flow, came) in flows {
        assert_eq!(came, (0..750).map(|n| 4 * n + flow).collect::<Vec<_>>());
    }
    let refused = place.run_by(a.command("timeout"), "wire gen tap:x --threads 2 --count 1");
    let one = place.run_by(a.command("timeout"), "wire gen w0 --threads 2 --count 1");
    assert!(one.err.contains("add --flows N"), "{}", one.err);
    assert!(
        refused.err.contains("--threads is for interfaces"),
        "{}",
        refused.err
    );
}

#[test]
fn a_port_is_read_until_the_time_that_was_asked_for() {
    let Some([a, b]) = pair("reading a port for a time") else {
        return;
    };
    let place = Place::new("until");
    let script = "wire cat w1 --until +300ms > got & wait=$!
        listening 1
        touch ready; wait $wait";
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| place.run_by(b.command("timeout"), script));
        let send = "until [ -e ready ]; do sleep 0.05; done; wire gen w0 --count 2000 --gap 1ms";
        assert_eq!(place.run_by(a.command("timeout"), send).code, Some(0));
        // It ends by itself, also where nothing more comes.
        assert_eq!(reader.join().unwrap().code, Some(0));
    });
    let count = place.run("wc -l < got").good();
    let count: u32 = count.trim().parse().unwrap();
    assert!(0 < count && count < 2_000, "{count}");
    let past = place.run_by(
        b.command("timeout"),
        "wire cat w1 --until 2020-01-01T00:00:00Z",
    );
    assert_eq!((past.code, &past.out[..]), (Some(0), ""));
}

#[test]
fn a_report_tells_what_departures_were_worth_and_what_the_machine_is() {
    let Some([a, _b]) = pair("reports of departures") else {
        return;
    };
    let place = Place::new("worth");
    let number = |value: &serde_json::Value| value.as_u64().unwrap();
    let mut reports = (0..10).map(|_| {
        let said = place.run_by(
            a.command("timeout"),
            "wire gen w0 --count 300 --gap 500us --json",
        );
        let line = said.good().lines().next().unwrap().to_string();
        serde_json::from_str::<serde_json::Value>(&line).unwrap()
    });
    // When the machine stops for longer than the train lasts, all of it is late at once, and nothing is paced.
    let paced = |report: &serde_json::Value| number(&report["error"]["p50_ns"]) < 50_000_000;
    let report = reports.find(paced).expect("one of ten trains is paced");
    assert_eq!(number(&report["scheduled"]), 300);
    for spread in ["error", "error_trimmed", "error_at_driver", "floor"] {
        let spread = &report[spread];
        let [p50, p99, p999, max] =
            ["p50_ns", "p99_ns", "p999_ns", "max_ns"].map(|part| number(&spread[part]));
        assert!(p50 <= p99 && p99 <= p999 && p999 <= max, "{report}");
    }
    assert!(number(&report["floor"]["max_ns"]) > 0, "{report}");
    assert_eq!(report["method"], "send");
    // veth tells when it was given a frame.
    assert!(number(&report["stamped"]) > 30, "{report}");
    let most = live::port::pace::MAX_LEAD_NS;
    assert!((1..=most).contains(&number(&report["lead_ns"])), "{report}");
    // The two clocks are compared to some 100 ns.
    assert!(number(&report["earliest_ns"]) <= most + 1_000, "{report}");
}

#[test]
fn wire_and_tcpdump_see_the_same_packets() {
    let test = "a comparison with tcpdump";
    if !has("tcpdump", test) {
        return;
    }
    let Some([a, b]) = pair(test) else {
        return;
    };
    let place = Place::new("tcpdump");
    std::thread::scope(|scope| {
        let run = |script: &'static str| {
            let (place, b) = (&place, &b);
            scope.spawn(move || place.run_by(b.command("timeout"), script))
        };
        let tcpdump =
            run("tcpdump -i w1 -c 500 -w t.pcap --time-stamp-precision=nano -j host 2>tcpdump.err");
        let wire = run("wire cat w1 --count 500 | wire dump -o w.pcapng");
        place.run_by(b.command("timeout"), "listening 2").good();
        let sent = place.run_by(
            a.command("timeout"),
            "wire gen w0 --count 500 --pps 5000 --imix",
        );
        assert_eq!(sent.code, Some(0), "{}", sent.err);
        assert_eq!(tcpdump.join().unwrap().code, Some(0));
        assert_eq!(wire.join().unwrap().code, Some(0));
    });
    place
        .run("cmp <(wire undump --no-time t.pcap) <(wire undump --no-time w.pcapng)")
        .good();
    // Both took the kernel's stamps, so the times between packets are the same to the tick.
    let gaps = |file| {
        let stamps = place
            .run(&format!(
                "wire undump --words --tick 1us {file} | wire cut time"
            ))
            .good();
        let stamps: Vec<i64> = stamps
            .lines()
            .map(|word| i64::from_str_radix(word, 16).unwrap())
            .collect();
        stamps
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .collect::<Vec<i64>>()
    };
    let (tcpdump, wire) = (gaps("t.pcap"), gaps("w.pcapng"));
    let same = tcpdump
        .iter()
        .zip(&wire)
        .filter(|(a, b)| (*a - *b).abs() <= 1)
        .count();
    assert!(same >= 490, "{same} of {} gaps are the same", tcpdump.len());
}

#[test]
fn a_kernel_stack_is_reached_through_a_tap_and_a_pipe() {
    let test = "ping through wire tap";
    if !has("ping", test) {
        return;
    }
    let Some([a, b]) = pair(test) else {
        return;
    };
    let place = Place::new("tap");
    b.add_address("w1", "192.0.2.2".parse().unwrap(), 24)
        .unwrap();
    // The paper's command 13, with a port instead of a mount.
    let script = "mkfifo in out; \
        timeout 100 wire cat w0 > in & cat=$!; \
        timeout 100 wire tap pipe0 < in > out & \
        timeout 100 wire send w0 --at-once < out > report 2>&1 & \
        for i in $(seq 1200); do ip link show pipe0 >/dev/null 2>&1 && break; sleep 0.05; done; \
        ip addr add 192.0.2.1/24 dev pipe0; \
        timeout 60 ping -c 3 -i 0.2 -W 20 192.0.2.2 | grep -o ' 0% packet loss'; \
        kill $cat; wait";
    let ended = place.run_by(a.command("timeout"), script);
    assert_eq!(ended.out, " 0% packet loss\n", "{}", ended.err);
}

#[test]
fn a_node_runs_between_ports() {
    let Some([a, b]) = pair("wire run over veth pairs") else {
        return;
    };
    let place = Place::new("run");
    let outside = VethEnd {
        namespace: &a,
        name: "x0",
        mac: None,
    };
    let inside = VethEnd {
        namespace: &b,
        name: "x1",
        mac: None,
    };
    veth([outside, inside], 1500).unwrap();
    std::thread::scope(|scope| {
        let node = scope.spawn(|| {
            let script = "wire run delay --set 'delay=5 ms' --on w1 --on x1 --json & echo $! > node.pid; wait $!";
            place.run_by(b.command("timeout"), script)
        });
        let reader = scope.spawn(|| {
            place.run_by(
                a.command("timeout"),
                "wire cat x0 --count 20 --filter udp --no-time | wc -l",
            )
        });
        place.run_by(a.command("timeout"), "listening 1").good();
        place.run_by(b.command("timeout"), "listening 2").good();
        let script = "wire gen w0 --count 20 --gap 1ms";
        assert_eq!(place.run_by(a.command("timeout"), script).code, Some(0));
        assert_eq!(reader.join().unwrap().good(), "20\n");
        place.run("kill -INT $(cat node.pid)").good();
        let report: serde_json::Value =
            serde_json::from_str(&node.join().unwrap().good_on_ports()).unwrap();
        assert_eq!(
            (&report["schema"], &report["nodes"][0]["kind"]),
            (&"wireline.run/1".into(), &"delay".into())
        );
        assert!(
            report["ports"][0]["received"].as_u64() >= Some(20),
            "{report}"
        );
    });
}

#[test]
fn an_interface_that_vanishes_ends_cat_with_what_it_gave() {
    let Some([a, b]) = pair("removing an interface in use") else {
        return;
    };
    let place = Place::new("gone");
    std::thread::scope(|scope| {
        let reader =
            scope.spawn(|| place.run_by(b.command("timeout"), "wire cat w1 --filter udp > got"));
        place.run_by(b.command("timeout"), "listening 1").good();
        let sent = place.run_by(a.command("timeout"), "wire gen w0 --count 100 --pps 1000");
        assert_eq!(sent.code, Some(0), "{}", sent.err);
        a.remove("w0").unwrap();
        let ended = reader.join().unwrap();
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        assert!(ended.err.contains("w1"), "{}", ended.err);
    });
    assert_eq!(place.run("wc -l < got").good(), "100\n");
}

#[test]
fn ports_are_listed_with_what_their_stamps_are_worth() {
    let Some([a, _b]) = pair("wire ports in a namespace") else {
        return;
    };
    let place = Place::new("ports");
    let out = place
        .run_by(a.command("timeout"), "wire ports --json")
        .good();
    let ports: Vec<serde_json::Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let port = ports.iter().find(|port| port["name"] == "w0").unwrap();
    assert_eq!(
        (&port["tick_ps"], &port["stamps"], &port["mtu"]),
        (&8_000.into(), &"kernel".into(), &1500.into())
    );
    assert_eq!(port["mac"], "02:00:00:00:00:01");
    assert!(
        place
            .run_by(a.command("timeout"), "wire ports")
            .good()
            .contains("w0")
    );
}

/// How to run a command as a user without any rights, who can start `wire`; else says why not.
fn nobody(test: &str) -> Option<&'static str> {
    const NOBODY: &str = "setpriv --reuid=61234 --regid=61234 --clear-groups --inh-caps=-all";
    if !is_root(test) || !has("setpriv", test) || !has("prlimit", test) {
        return None;
    }
    let place = Place::new("nobody");
    let can = place.run(&format!("cd /; {NOBODY} wire --version"));
    if can.code != Some(0) {
        println!(
            "skipped: {test}: another user cannot start this binary: {}",
            can.err
        );
        return None;
    }
    Some(NOBODY)
}

#[test]
fn where_no_thread_can_start_there_is_a_message() {
    let test = "a limit of threads";
    let Some(nobody) = nobody(test) else { return };
    let place = Place::new("threads");
    for command in ["gen - --count 3 --gap 1ms", "run sink --on -"] {
        // The process itself is one.
        let ended = place.run(&format!(
            "cd /; prlimit --nproc=1 {nobody} wire {command} < /dev/null"
        ));
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.err.contains("no thread can be started"), "{ended:?}");
        assert!(ended.err.contains("ulimit -u"), "{ended:?}");
    }
}

#[test]
fn a_low_port_names_the_right_that_it_needs() {
    let Some(nobody) = nobody("a port below 1024") else {
        return;
    };
    let place = Place::new("low-port");
    for port in ["ptcp:80:127.0.0.1", "udp:@127.0.0.1:80"] {
        let ended = place.run(&format!("unshare --net {nobody} wire cat {port}"));
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.err.contains("CAP_NET_BIND_SERVICE"), "{ended:?}");
        assert!(ended.err.contains("cap_net_bind_service+ep"), "{ended:?}");
    }
}

#[test]
fn a_reader_goes_on_when_its_link_returns_and_ends_when_its_interface_is_removed() {
    let Some([a, _b]) = pair("a reader and its link") else {
        return;
    };
    let place = Place::new("reader-link");
    place.write("packets", lines(1));
    let script = r#"
ip link add r0 type veth peer name r1
ip link set r0 up; ip link set r1 up
until_told() { for i in $(seq 1200); do grep -q "$1" told && return; sleep 0.05; done; echo "not told: $1"; cat told; }
wire cat r0 --no-time --line-buffered > got 2> told &
reader=$!
listening 1
ip link set r0 down
until_told 'r0: link down'
ip link set r0 up
until_told 'r0: link up again'
wire send r1 packets --at-once > /dev/null 2>&1
for i in $(seq 1200); do [ -s got ] && break; sleep 0.05; done
ip link del r0
wait $reader
echo "exit $?"
wc -l < got
cat told
"#;
    let ended = place.run_by(a.command("timeout"), script);
    assert!(ended.out.starts_with("exit 2\n1\n"), "{ended:?}");
    assert!(
        ended.out.contains("`r0` was removed while in use"),
        "{ended:?}"
    );
    assert!(ended.out.contains("r0: link down 2 times"), "{ended:?}");
}

#[test]
fn what_a_tap_was_given_before_a_signal_is_written() {
    let test = "the end of wire tap";
    let Some([a, _b]) = pair(test) else {
        return;
    };
    let place = Place::new("tap-end");
    place.write("t.lines", lines(40));
    // It cannot read while it is stopped: what the system sends then, and the signal, wait for it together.
    let script = "mkfifo in; exec 3<> in; wire tap wl-end --keep --no-time < in > out & tap=$!; \
        for i in $(seq 1200); do ip link show wl-end 2>/dev/null | grep -q ,UP && break; sleep 0.05; done; \
        kill -STOP $tap; wire send wl-end t.lines --at-once 2>&1; kill -TERM $tap; kill -CONT $tap; wait $tap";
    let ended = place.run_by(a.command("timeout"), script);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    // The system says a word of its own to a new interface.
    let out = String::from_utf8(place.read("out")).unwrap();
    let ours = out.lines().filter(|line| line.contains(" 0200000000FF "));
    assert_eq!(ours.count(), 40, "{ended:?}");
}
