//! `wire ping` asks real kernels, and shares an interface with one.

use crate::shell::{Place, has, is_root};
use live::netns::{Namespace, VethEnd, veth};
use serde_json::Value;

/// Two namespaces with addresses at both ends of a veth pair, eth0 to eth0.
fn pair(test: &str) -> Option<[Namespace; 2]> {
    if !is_root(test) {
        return None;
    }
    let made = || -> Result<_, live::netns::NetnsError> {
        let namespaces = [Namespace::new()?, Namespace::new()?];
        let [a, b] = &namespaces;
        let end = |namespace, last| VethEnd {
            namespace,
            name: "eth0",
            mac: Some([2, 0, 0, 0, 0, last]),
        };
        veth([end(a, 1), end(b, 2)], 1500)?;
        for (namespace, last) in [(a, 1u8), (b, 2)] {
            namespace.add_address("eth0", [10, 79, 0, last].into(), 24)?;
            let v6 = format!("fd79::{last}").parse().expect("an address");
            namespace.add_address("eth0", v6, 64)?;
        }
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

/// The lines of JSON of a run, the last of which is the report.
fn lines(out: &str) -> Vec<Value> {
    let lines = out.lines();
    lines
        .map(|line| serde_json::from_str(line).expect(line))
        .collect()
}

#[test]
fn a_kernel_answers_by_icmp_and_arp_over_ipv4_and_ipv6() {
    let Some([a, _b]) = pair("wire ping to a kernel") else {
        return;
    };
    let place = Place::new("ping");
    // IPv6 addresses are not in use before nobody else is found to have them.
    let script = "for i in $(seq 600); do ping -n -c 1 -W 1 fd79::2 > /dev/null 2>&1 && break; sleep 0.1; done";
    place.run_by(a.command("timeout"), script);
    for (target, how) in [
        ("10.79.0.2", ""),
        ("10.79.0.2", "--arp"),
        ("fd79::2", ""),
        ("fd79::2", "--arp"),
        ("fd79::2", "--size 1000 --tick 1ns"),
    ] {
        let script = format!("wire ping eth0 {target} {how} -c 10 -i 5ms --json");
        let out = place.run_by(a.command("timeout"), &script).good();
        let lines = lines(&out);
        let (report, answers) = lines.split_last().unwrap();
        assert_eq!(
            (&report["type"], &report["schema"]),
            (&"ping".into(), &"wireline.ping/1".into())
        );
        assert_eq!(
            (&report["sent"], &report["answered"]),
            (&10.into(), &10.into()),
            "{script}: {report}"
        );
        assert_eq!(report["duplicates"], 0, "{script}: {report}");
        assert_eq!(answers.len(), 10);
        // Each is a whole number of ticks, and the figures are of those.
        let tick = report["tick_ps"].as_u64().unwrap();
        let mut least = u64::MAX;
        for answer in answers {
            let ticks = answer["rtt_ticks"].as_u64().unwrap();
            assert!(ticks > 0, "{answer}");
            assert_eq!(
                answer["rtt_ns"].as_f64().unwrap(),
                (ticks * tick) as f64 / 1e3
            );
            least = least.min(ticks);
        }
        assert_eq!(report["rtt_ticks"]["min"].as_f64().unwrap(), least as f64);
        assert_eq!(report["arrival_stamps"], "kernel");
        // A machine that pauses may cost a stamp, and then the bound says so.
        let stamped = report["stamped_departures"].as_u64().unwrap();
        let bound = report["error_bound_ns"].as_f64().unwrap();
        assert!(stamped >= 5, "{report}");
        let all = stamped == 10;
        assert_eq!(report["departure_stamps"] == "kernel", all, "{report}");
        assert_eq!(bound == tick as f64 / 1e3, all, "{report}");
    }
}

#[test]
fn both_pings_work_on_one_interface_and_their_figures_stand_side_by_side() {
    let test = "wire ping beside ping";
    if !has("ping", test) {
        return;
    }
    let Some([a, _b]) = pair(test) else { return };
    let place = Place::new("ping-beside");
    let script = "ping -n -c 20 -i 0.02 -w 20 10.79.0.2 > theirs & wire ping eth0 10.79.0.2 -c 20 -i 20ms --quiet > ours; wait; tail -1 theirs; tail -7 ours";
    let out = place.run_by(a.command("timeout"), script).good();
    println!("{out}");
    let theirs = String::from_utf8(place.read("theirs")).unwrap();
    assert!(theirs.contains(" 20 received"), "{theirs}");
    assert!(!theirs.contains("duplicate"), "{theirs}");
    assert!(out.contains("20 sent, 20 answered, 0 lost (0 %)"), "{out}");
}

#[test]
fn a_source_of_its_own_answers_for_itself() {
    let Some([a, b]) = pair("wire ping from an address of its own") else {
        return;
    };
    let place = Place::new("ping-source");
    let script =
        "wire ping eth0 10.79.0.2 --source 10.79.0.55 --mac 02:00:00:00:00:55 -c 3 -i 5ms --json; ";
    let out = place.run_by(a.command("timeout"), script).good();
    assert_eq!(lines(&out).last().unwrap()["answered"], 3, "{out}");
    // The kernel there has asked who has that address, and was told.
    let neighbours = place
        .run_by(b.command("timeout"), "ip neigh show 10.79.0.55")
        .good();
    assert!(neighbours.contains("02:00:00:00:00:55"), "{neighbours}");
}

#[test]
fn a_kernel_behind_a_tap_interface_answers_and_the_bound_is_honest() {
    let Some([a, _b]) = pair("wire ping over a TAP interface") else {
        return;
    };
    let place = Place::new("ping-tap");
    let script = "wire ping tap:p0 10.80.0.1 --source 10.80.0.2 -c 30 -i 100ms --json & ping=$!
        for i in $(seq 1200); do ip link show p0 > /dev/null 2>&1 && break; sleep 0.05; done
        ip addr add 10.80.0.1/24 dev p0; wait $ping";
    let ended = place.run_by(a.command("timeout"), script);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = lines(&ended.out).pop().unwrap();
    assert!(report["answered"].as_u64() > Some(0), "{report}");
    assert_eq!(report["arrival_stamps"], "software");
    assert_eq!(report["departure_stamps"], "software");
    assert_eq!(report["error_bound_ns"], Value::Null, "{report}");
}

#[test]
fn who_is_not_there_is_told_and_the_exit_code_is_1() {
    let Some([a, _b]) = pair("wire ping to nobody") else {
        return;
    };
    let place = Place::new("ping-nobody");
    let ended = place.run_by(a.command("timeout"), "wire ping eth0 10.79.0.77 -c 1");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.out.contains("nobody answered to ARP"), "{ended:?}");
    let ended = place.run_by(
        a.command("timeout"),
        "wire ping eth0 10.79.0.77 --arp -c 2 -i 10ms --timeout 50ms",
    );
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.out.contains("2 sent, 0 answered, 2 lost (100 %)"),
        "{ended:?}"
    );
    let ended = place.run_by(
        a.command("timeout"),
        "wire ping eth0 10.79.0.2 --source fd79::1",
    );
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("two IP versions"), "{ended:?}");
}

#[test]
fn flooding_waits_for_each_answer_and_draws_a_picture() {
    let Some([a, _b]) = pair("wire ping without pauses") else {
        return;
    };
    let place = Place::new("ping-flood");
    let script = "wire ping eth0 10.79.0.2 -c 500 -i 0s --quiet --plot rtt.svg --json";
    let out = place.run_by(a.command("timeout"), script).good();
    let report = lines(&out).pop().unwrap();
    assert_eq!(
        (&report["sent"], &report["answered"]),
        (&500.into(), &500.into()),
        "{report}"
    );
    assert!(place.read("rtt.svg").starts_with(b"<svg"));
}
