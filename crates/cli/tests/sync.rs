//! `wire sync` beside linuxptp's ptp4l, beside itself, and where there is no master; and the clock that it gives to programs.

use crate::live::pair;
use crate::shell::{Ended, Place, has, is_root};
use live::netns::Namespace;
use serde_json::Value;

/// The lines of a report in JSON: those of seconds, and the last.
fn told(ended: &Ended) -> (Vec<Value>, Value) {
    let lines = ended
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let mut lines: Vec<Value> = lines.collect();
    let last = lines.pop().unwrap_or_else(|| panic!("{ended:?}"));
    assert_eq!(last["type"], "sync", "{ended:?}");
    (lines, last)
}

/// Two namespaces share the machine's clock: what is found to be between it and the master's is an error, and has to be within the
/// bound, each second. Prints both.
fn against_the_truth(what: &str, seconds: &[Value], last: &Value) {
    let found = seconds.iter().filter(|line| !line["machine_ps"].is_null());
    let found = found.map(|line| {
        let bound = line["bound_ps"].as_u64();
        let bound = bound.unwrap_or_else(|| panic!("{what}: no bound: {line}"));
        (line["machine_ps"].as_i64().unwrap(), bound)
    });
    let found: Vec<_> = found.collect();
    assert!(!found.is_empty(), "{last}");
    for (error, bound) in &found {
        assert!(error.unsigned_abs() <= *bound, "{what}: {found:?}");
    }
    let mut errors: Vec<u64> = found
        .iter()
        .map(|(error, _)| error.unsigned_abs())
        .collect();
    errors.sort_unstable();
    println!(
        "{what}: of {} seconds the offset to the truth is {:.1} us at the median and {:.1} us at most; the last bound is {:.1} us",
        errors.len(),
        errors[errors.len() / 2] as f64 / 1e6,
        errors[errors.len() - 1] as f64 / 1e6,
        found[found.len() - 1].1 as f64 / 1e6
    );
}

#[test]
fn it_is_disciplined_by_a_ptp4l_that_has_the_clock_of_the_machine() {
    let test = "following ptp4l";
    let Some([a, b]) = has("ptp4l", test).then(|| pair(test)).flatten() else {
        return;
    };
    let place = Place::new("sync-ptp4l");
    place.write(
        "ptp4l.cfg",
        "[global]\nfree_running 1\nuds_address uds\ntx_timestamp_timeout 200\nlogAnnounceInterval -1\n\
         logSyncInterval -3\nlogMinDelayReqInterval -3\n",
    );
    let ended = std::thread::scope(|scope| {
        // It ends when the other has what it wants.
        let peer = "ptp4l -f ptp4l.cfg -i w1 -S -2 -m > ptp4l.log 2>&1 & until [ -e done ]; do sleep 0.1; done; kill %1; wait";
        let (place, master) = (&place, &b);
        scope.spawn(move || place.run_by(master.command("timeout"), peer));
        let script = "wire sync w0 --interval 125ms --count 80 --wait 60s --json --page clock --plot sync.png
            code=$?; wire clock clock > after; echo $? >> after; touch done; exit $code";
        place.run_by(a.command("timeout"), script)
    });
    let log = String::from_utf8_lossy(&place.read("ptp4l.log")).into_owned();
    let (seconds, last) = told(&ended);
    assert_eq!(
        (ended.code, ended.err.as_str()),
        (Some(0), ""),
        "{last}\n{log}"
    );
    let state = last["clock"]["state"].as_str().unwrap();
    assert!(
        state.starts_with("slave of ") && state.ends_with(", locked"),
        "{last}"
    );
    assert_eq!(last["arrival_stamps"], "kernel");
    against_the_truth("ptp4l as master", &seconds, &last);
    assert!(place.read("sync.png").starts_with(b"\x89PNG"));
    // Who has ended says so, and its clock goes on.
    let after = String::from_utf8_lossy(&place.read("after")).into_owned();
    assert!(
        after.contains("its writer has ended") && after.ends_with("\n1\n"),
        "{after}"
    );
}

#[test]
fn a_slave_and_a_master_of_ours_agree_over_ethernet_and_udp() {
    let Some([a, b]) = pair("two ends of wire sync") else {
        return;
    };
    for (name, ours, theirs) in [
        ("ethernet", "", ""),
        ("peer delay", "--delay peer", "--delay peer"),
        ("udp", "--udp 10.9.0.1", "--udp 10.9.0.2"),
        (
            "ntp",
            "--method ntp --udp 10.9.0.1 --server 10.9.0.2 --page clock",
            "--method ntp --udp 10.9.0.2",
        ),
        (
            "probes",
            "--method probes --udp 10.9.0.1 --server 10.9.0.2 --plot probes.png --page clock",
            "--method probes --udp 10.9.0.2",
        ),
    ] {
        let place = Place::new("sync-both");
        // Of NTP's answers the best of eight counts, and once.
        let often = match name {
            "ntp" => "--interval 62.5ms --count 20",
            _ => "--interval 125ms --count 40",
        };
        let (slave, master) = std::thread::scope(|scope| {
            let (place, b) = (&place, &b);
            let script = format!(
                "wire sync w1 --role master --interval 125ms --json {theirs} & until [ -e done ]; do sleep 0.1; done
                 kill -INT $!; wait $!"
            );
            let master = scope.spawn(move || place.run_by(b.command("timeout"), &script));
            let script = format!(
                "wire sync w0 --wait 60s --json {ours} {often}; code=$?; touch done; exit $code"
            );
            let slave = place.run_by(a.command("timeout"), &script);
            (slave, master.join().unwrap())
        });
        let (seconds, last) = told(&slave);
        assert_eq!(
            (slave.code, slave.err.as_str()),
            (Some(0), ""),
            "{name}: {last}"
        );
        match name {
            // A Sync is held against no question there.
            "peer delay" => assert!(last["bound_ps"].is_null(), "{last}"),
            _ => against_the_truth(name, &seconds, &last),
        }
        // The same report for all: what holds the clock, what it knows, and how fast the machine's counter is.
        assert_eq!(last["arrival_stamps"], "kernel");
        let state = last["clock"]["state"].as_str().unwrap();
        let held = state.ends_with(", locked") || state.ends_with(", synchronised");
        assert!(held, "{last}");
        assert!(last["clock"]["delay_ps"].as_i64() > Some(0), "{last}");
        assert!(last["drift_ppt"].is_i64(), "{last}");
        if name == "probes" {
            assert!(place.read("probes.png").starts_with(b"\x89PNG"));
        }
        if ours.contains("--page") {
            let clock = place.run("wire clock clock --json; true").good();
            let clock: Value = serde_json::from_str(&clock).unwrap();
            assert!(clock["bound_ns"].as_u64() > Some(0), "{clock}");
        }
        // Without a duration a signal is its normal end.
        let (_, last) = told(&master);
        assert_eq!(master.code, Some(0), "{master:?}");
        let state = last["clock"]["state"].as_str().unwrap();
        assert!(state == "master" || state.starts_with("server"), "{last}");
        assert!(
            last["verdict"]
                .as_str()
                .unwrap()
                .contains("questions of slaves answered"),
            "{last}"
        );
    }
}

/// A namespace with both ends of a cable in it.
fn loopback(test: &str, place: &Place) -> Option<Namespace> {
    let namespace = is_root(test).then(Namespace::new)?;
    let namespace = match namespace {
        Ok(namespace) => namespace,
        Err(error) => {
            println!("skipped: {test}: {error}");
            return None;
        }
    };
    let made = "ip link add x0 type veth peer name x1 && ip link set x0 up && ip link set x1 up";
    place.run_by(namespace.command("timeout"), made).good();
    Some(namespace)
}

#[test]
fn between_two_ports_of_a_machine_the_truth_is_known() {
    let place = Place::new("sync-ports");
    let Some(namespace) = loopback("a clock between two ports", &place) else {
        return;
    };
    let script = "wire sync x0 --master-on x1 --interval 62.5ms --count 60 --wait 60s";
    let json = place.run_by(namespace.command("timeout"), &format!("{script} --json"));
    let (seconds, last) = told(&json);
    assert_eq!(json.code, Some(0), "{json:?}");
    against_the_truth("two ports", &seconds, &last);
    let error = &last["clock"]["error"];
    assert!(error["count"].as_u64() > Some(10), "{last}");
    assert!(
        error["last_ps"].as_i64().unwrap().abs() < 1_000_000_000_000,
        "{last}"
    );
    let text = place.run_by(namespace.command("timeout"), script);
    for part in [
        "it found the same clock",
        "\nerror ",
        "no clock of the machine was set",
    ] {
        assert!(text.out.contains(part), "{part}: {}", text.out);
    }
    let far = place.run_by(
        namespace.command("timeout"),
        &format!("{script} --within 1ns -q"),
    );
    assert_eq!(far.code, Some(1), "{far:?}");
    assert!(
        far.out.starts_with("not within 1 ns: slave of "),
        "{}",
        far.out
    );
}

#[test]
fn without_a_master_it_says_so_and_why() {
    let place = Place::new("sync-alone");
    let Some(namespace) = loopback("a clock without a master", &place) else {
        return;
    };
    let run = |script: &str| place.run_by(namespace.command("timeout"), script);
    let alone = run("wire sync x0 --wait 500ms --plot none.png");
    assert_eq!(alone.code, Some(1), "{alone:?}");
    assert!(
        alone
            .out
            .starts_with("no offset was found: no master was heard (--wait 500ms)"),
        "{alone:?}"
    );
    assert!(alone.err.contains("none.png is not drawn"), "{alone:?}");
    // A master of another domain.
    let beside =
        "wire sync x1 --role master --domain 7 --interval 125ms -q > /dev/null 2>&1 & wait=$!
        until [ \"$(awk '$6 == 1' /proc/self/net/packet | wc -l)\" -ge 1 ]; do sleep 0.05; done";
    let other = run(&format!(
        "{beside}\nwire sync x0 --wait 4s -q; code=$?; kill $wait; exit $code"
    ));
    assert_eq!(other.code, Some(1), "{other:?}");
    assert!(
        other
            .out
            .contains("all of other domains than 0; --domain chooses"),
        "{other:?}"
    );
    // One that measures the delay otherwise.
    let beside = beside.replace("--domain 7", "--delay peer");
    let other = run(&format!(
        "{beside}\nwire sync x0 --wait 8s -i 125ms -q; code=$?; kill $wait; exit $code"
    ));
    assert_eq!(other.code, Some(1), "{other:?}");
    assert!(
        other.out.contains("nobody has answered; try --delay peer"),
        "{other:?}"
    );
    // Nobody has the address, or nobody there speaks it.
    let ask = "wire sync x0 --udp 10.9.0.1 --server 10.9.0.2 -i 125ms --wait 3s -q --method";
    for (method, also, part) in [
        ("ntp", "", "nobody answers for 10.9.0.2 (ARP) (--wait 3s)"),
        ("probes", "", "nobody answers for 10.9.0.2 (ARP)"),
        (
            "ntp",
            "probes",
            "requests were sent to 10.9.0.2, and none was answered",
        ),
        (
            "probes",
            "ntp",
            "pairs were sent to 10.9.0.2, and none was answered",
        ),
    ] {
        let beside = match also {
            "" => String::new(),
            also => format!(
                "wire sync x1 --method {also} --role master --udp 10.9.0.2 -q > /dev/null 2>&1 & wait=$!
                 until [ \"$(awk '$6 == 1' /proc/self/net/packet | wc -l)\" -ge 1 ]; do sleep 0.05; done\n"
            ),
        };
        let wait = if also.is_empty() { "" } else { "kill $wait;" };
        let other = run(&format!(
            "{beside}{ask} {method}; code=$?; {wait} exit $code"
        ));
        assert_eq!(other.code, Some(1), "{other:?}");
        assert!(other.out.contains(part), "{part}: {other:?}");
    }
    // What cannot begin.
    for (script, part) in [
        ("wire sync x9", "x9"),
        (
            "wire sync x0 --interval 100ms",
            "--interval is a power of two of a second",
        ),
        ("wire sync x0 --set nonsense=1", "nonsense"),
        (
            "wire sync x0 --role auto --master-on x1",
            "with --master-on the clock at PORT is a slave",
        ),
        ("wire sync x0 -m ntp", "--method ntp needs --udp IP"),
        (
            "wire sync x0 -m probes --udp 10.9.0.1",
            "--method probes needs --server IP",
        ),
        (
            "wire sync x0 -m ntp --domain 1",
            "--domain and --delay are PTP's",
        ),
        (
            "wire sync x0 --server 10.9.0.2",
            "PTP finds its master itself",
        ),
        (
            "wire sync x0 -m ntp --role auto --udp 10.9.0.1",
            "--role auto is PTP's",
        ),
        ("wire sync x0 --page .", "cannot open the clock's page"),
        ("wire clock nowhere", "cannot open the clock's page nowhere"),
        (
            "echo text > file; wire clock file",
            "file is no clock's page",
        ),
    ] {
        let ended = run(script);
        assert_eq!(ended.code, Some(2), "{script}: {ended:?}");
        assert!(ended.err.contains(part), "{script}: {ended:?}");
    }
    let without = run(
        "setpriv --bounding-set -all --inh-caps -all --reuid 65534 --clear-groups wire sync x0",
    );
    assert_eq!(without.code, Some(2), "{without:?}");
    assert!(without.err.contains("CAP_NET_RAW"), "{without:?}");
}

#[test]
fn a_clock_whose_keeper_is_killed_goes_on_and_says_that_nobody_keeps_it() {
    let place = Place::new("sync-page");
    let Some(namespace) = loopback("a clock for programs", &place) else {
        return;
    };
    let script =
        "wire sync x0 --master-on x1 --interval 62.5ms --page clock -q > /dev/null 2>&1 & keeper=$!
        until wire clock clock > kept 2> /dev/null && grep -q '; kept' kept; do sleep 0.05; done
        wire sync x1 --page clock; echo $? > second
        kill -KILL $keeper
        until ! wire clock clock > dead; do sleep 0.1; done
        wire clock clock --json > dead.json; wire clock clock --json > later.json; echo $?";
    let ended = place.run_by(namespace.command("timeout"), script);
    assert!(ended.out.ends_with("1\n"), "{ended:?}");
    assert!(
        ended
            .err
            .contains("another process writes the clock's page clock"),
        "{ended:?}"
    );
    let read = |name: &str| String::from_utf8_lossy(&place.read(name)).into_owned();
    assert!(read("kept").contains("; kept, era "), "{}", read("kept"));
    assert!(
        read("dead").contains("; nobody keeps it any more, era "),
        "{}",
        read("dead")
    );
    let json = |name: &str| serde_json::from_str::<Value>(&read(name)).unwrap();
    let (dead, later) = (json("dead.json"), json("later.json"));
    assert_eq!(dead["stale"], true);
    for key in ["ns", "bound_ns", "age_ns"] {
        assert!(later[key].as_u64() > dead[key].as_u64(), "{dead} {later}");
    }
}

/// A PTP master and slave, coded probes beside them, DTP below.
const LAB: &str = r#"
[lab]
duration = "2500 ms"
[default.link]
rate = "10 Gb/s"
level = "block"
delay = "280 ns"
[node.master]
kind = "ptp"
role = "master"
log_announce_interval = -3
log_sync_interval = -5
[node.slave]
kind = "ptp"
mac = "02:00:00:00:00:02"
log_delay_interval = -5
clock = { ppm = 40.0, start = "1 ms", tick = "8 ns" }
settle = "1 s"
[node.server]
kind = "huygens"
dtp = { beacon = 20000, log = 100000 }
[node.client]
kind = "huygens"
address = "198.18.0.2"
mac = "02:00:00:00:00:04"
server = "198.18.0.1"
window = "100 ms"
clock = { ppm = -20.0, tick = "8 ns" }
dtp = { beacon = 20000, log = 100000 }
oscillator = -20
[[link]]
ends = ["master.0", "slave.0"]
[[link]]
ends = ["server.0", "client.0"]
[offsets]
every = "1 ms"
"#;

#[test]
fn the_clocks_of_a_lab_are_told_as_that_of_a_machine_is() {
    let place = Place::new("sync-lab");
    place.write("lab.toml", LAB);
    let all = place.run("wire sync --lab lab.toml").good();
    let blocks: Vec<&str> = all.split("\n\n").collect();
    assert_eq!(blocks.len(), 6, "{all}");
    assert!(blocks[0].starts_with("master: master: "), "{all}");
    assert!(blocks[1].starts_with("slave: slave of "), "{all}");
    assert!(
        blocks[1].contains(", locked; it found the true time "),
        "{all}"
    );
    for part in ["\noffset ", "\nerror ", "; drift +40.", "stamps: exact"] {
        assert!(blocks[1].contains(part), "{part}: {all}");
    }
    assert!(blocks[2].starts_with("server: server: "), "{all}");
    let drift = blocks[3].split("; drift ").nth(1).expect("a drift");
    let drift: f64 = drift.split(' ').next().unwrap().parse().unwrap();
    assert!((drift + 20.0).abs() < 0.01, "{all}");
    // Counters of DTP, behind the clocks that messages set.
    assert!(
        blocks[4].starts_with("server: follows the maximum; "),
        "{all}"
    );
    assert!(blocks[5].contains("may be 25.6 ns"), "{all}");
    // One alone has a line a second, a picture, and the same report.
    let one = place
        .run("wire sync --lab lab.toml --node slave --plot slave.png")
        .good();
    assert!(one.trim_end().ends_with(blocks[1]), "{one}");
    assert!(one.starts_with("    time        offset"), "{one}");
    assert_eq!(
        one.lines()
            .filter(|line| line.contains("0s ") || line.contains("1s ") || line.contains("2s "))
            .count(),
        2,
        "{one}"
    );
    assert!(place.read("slave.png").starts_with(b"\x89PNG"));
    let json = place.run("wire sync --lab lab.toml --node slave --json");
    let (seconds, last) = told(&json);
    assert_eq!((seconds.len(), &seconds[0]["node"]), (2, &"slave".into()));
    assert_eq!(
        (&last["good"], &last["truth_known"]),
        (&true.into(), &true.into())
    );
    let drift = last["drift_ppt"].as_i64().unwrap();
    assert!((drift - 40_000_000).abs() < 500_000, "{last}");
    // Not within.
    let far = place.run("wire sync --lab lab.toml --node client --within 10ns");
    assert_eq!(far.code, Some(1), "{far:?}");
    assert!(far.out.contains("client: not within 10 ns: "), "{far:?}");
}

#[test]
fn what_of_a_lab_cannot_be_told_is_refused_with_the_mend() {
    let place = Place::new("sync-lab-refused");
    place.write("lab.toml", LAB);
    place.write("endless.toml", LAB.replace("duration", "# "));
    place.write(
        "none.toml",
        "[lab]\nduration = \"1 ms\"\n[node.a]\nkind = \"sink\"\n[node.b]\nkind = \"sink\"\n[[link]]\nends = [\"a.0\", \"b.0\"]\n",
    );
    for (arguments, part) in [
        ("--lab lab.toml --plot all.png", "add --node NAME"),
        ("--lab lab.toml --node slav", "did you mean `slave`?"),
        ("--lab endless.toml", "add --duration 10s"),
        ("--lab none.toml", "no node of none.toml has a clock"),
        ("--lab nowhere.toml", "nowhere.toml"),
        ("eth0 --lab lab.toml", "cannot be used with"),
        ("--lab lab.toml --page clock", "cannot be used with"),
        ("", "<PORT>"),
        ("eth0 --method dtp", "which no card under Linux"),
        ("eth0 --method sundial", "ptp, ntp or probes"),
    ] {
        let ended = place.run(&format!("wire sync {arguments}"));
        assert_eq!(ended.code, Some(2), "{arguments}: {ended:?}");
        assert!(ended.err.contains(part), "{arguments}: {ended:?}");
    }
}
