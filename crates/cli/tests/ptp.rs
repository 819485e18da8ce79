//! PTP beside tshark, which reads what clocks say, and ptp4l, as their master and as their slave.

use crate::shell::{Place, has};
use live::netns::Namespace;
use serde_json::Value;

const PAIR: &str = "
[lab]
duration = '4 s'
[node.m]
kind = 'ptp'
role = 'master'
clock = { start = '5 s' }
log_sync_interval = -1
KEYS
[node.s]
kind = 'ptp'
role = 'slave'
mac = '02:00:00:00:00:02'
KEYS
[[link]]
ends = ['m.0', 's.0']
[[capture]]
at = ['m.0', 's.0']
file = 'all.pcapng'
";

#[test]
fn what_clocks_say_is_ptp_to_tshark() {
    if !has("tshark", "reading PTP") {
        return;
    }
    for keys in ["", "delay = 'peer'", "transport = 'udp'"] {
        let place = Place::new("ptp");
        place.write("lab.toml", PAIR.replace("KEYS", keys));
        place.run("wire lab lab.toml").good();
        let fields = "tshark -r all.pcapng -T fields -E separator=/t -e ptp.v2.messagetype -e ptp.v2.sequenceid \
                      -e ptp.v2.fu.preciseorigintimestamp.seconds -e ptp.v2.an.grandmasterclockidentity -e _ws.malformed \
                      -e ptp.v2.messagelength -e frame.len 2>/dev/null";
        let told = place.run(fields).good();
        let rows: Vec<Vec<&str>> = told
            .lines()
            .map(|line| line.split('\t').collect())
            .collect();
        let of = |kind: &'static str| rows.iter().filter(move |row| row[0] == kind);
        assert!(
            rows.iter()
                .all(|row| !row[0].is_empty() && row[4].is_empty()),
            "{told}"
        );
        // Syncs and their Follow_Ups, in order, at half-second intervals from 5 s on the master's clock.
        let numbers = |kind: &'static str| {
            of(kind)
                .map(|row| row[1].parse().unwrap())
                .collect::<Vec<u32>>()
        };
        assert_eq!(numbers("0x00"), (0..8).collect::<Vec<_>>(), "{told}");
        assert_eq!(numbers("0x08"), (0..8).collect::<Vec<_>>(), "{told}");
        let seconds: Vec<&str> = of("0x08").map(|row| row[2]).collect();
        assert_eq!(seconds, ["5", "5", "6", "6", "7", "7", "8", "8"], "{told}");
        assert!(
            of("0x0b").all(|row| row[3] == "0x020000fffe000001"),
            "{told}"
        );
        let asked = if keys.contains("peer") {
            ["0x02", "0x03", "0x0a"]
        } else {
            ["0x01", "0x09", "0x09"]
        };
        for kind in asked {
            assert!(of(kind).count() > 0, "{kind}: {told}");
        }
    }
}

/// Two namespaces and the veth pair w0 - w1 between them, where there is ptp4l.
fn pair(test: &str) -> Option<[Namespace; 2]> {
    has("ptp4l", test)
        .then(|| crate::live::pair(test))
        .flatten()
}

/// A clock of ours and ptp4l, for some seconds: the report, and what ptp4l says. No clock of the machine is set.
fn beside_ptp4l(
    place: &Place,
    [a, b]: &[Namespace; 2],
    ours: &str,
    theirs: &str,
) -> (Value, String) {
    place.write(
        "ptp4l.cfg",
        "[global]\nfree_running 1\nuds_address uds\nsummary_interval -2\ntx_timestamp_timeout 200\nlogAnnounceInterval -1\n\
         logSyncInterval -2\nlogMinDelayReqInterval -2\nlogMinPdelayReqInterval -2\n",
    );
    let ended = std::thread::scope(|scope| {
        let peer =
            format!("timeout 11 ptp4l -f ptp4l.cfg -i w1 -S -2 -m -l 7 {theirs} > ptp4l.log 2>&1");
        scope.spawn(move || place.run_by(b.command("timeout"), &peer));
        let script = format!(
            "wire run ptp --on w0 --duration 9s --json --set log_announce_interval=-1 --set log_sync_interval=-2 \
             --set log_delay_interval=-2 {ours}"
        );
        place.run_by(a.command("timeout"), &script)
    });
    let log = String::from_utf8_lossy(&place.read("ptp4l.log")).into_owned();
    let line = ended.out.lines().find(|line| line.starts_with('{'));
    let line = line.unwrap_or_else(|| panic!("{ended:?}"));
    (serde_json::from_str(line).unwrap(), log)
}

#[test]
fn ptp4l_is_the_master_of_a_clock_on_a_live_port() {
    let Some(pair) = pair("a clock whose master is ptp4l") else {
        return;
    };
    for (ours, theirs) in [("", ""), ("--set delay=\\\"peer\\\"", "-P")] {
        let place = Place::new("ptp4l-master");
        let ours = format!("--set role=\\\"slave\\\" {ours}");
        let (report, log) = beside_ptp4l(&place, &pair, &ours, theirs);
        let node = &report["nodes"][0];
        let state = node["clock"]["state"].as_str().unwrap();
        assert!(
            state.starts_with("slave of ") && state.ends_with(", locked"),
            "{report}\n{log}"
        );
        let count = |name: &str| node["counters"][name].as_u64().unwrap_or(0);
        assert!(
            count("follow_up_received") > 4 && count("delays") > 2,
            "{report}\n{log}"
        );
        // It began decades behind, and was set once: what is left is far less than that.
        assert_eq!(count("steps"), 1, "{report}");
        assert!(
            node["clock"]["offset"]["count"].as_u64() > Some(2),
            "{report}"
        );
        assert!(
            node["clock"]["offset"]["last_ps"].as_i64().unwrap().abs() < 1_000_000_000_000,
            "{report}"
        );
        assert_eq!(report["stamps"], "kernel", "what the offsets are worth");
    }
}

#[test]
fn a_clock_on_a_live_port_is_the_master_of_ptp4l() {
    let Some(pair) = pair("a clock whose slave is ptp4l") else {
        return;
    };
    for (ours, theirs) in [("", "-s"), ("--set delay=\\\"peer\\\"", "-s -P")] {
        let place = Place::new("ptp4l-slave");
        let ours = format!("--set role=\\\"master\\\" {ours}");
        let (report, log) = beside_ptp4l(&place, &pair, &ours, theirs);
        assert!(
            log.contains("selected best master clock 020000.fffe.000001"),
            "{log}"
        );
        assert!(
            log.contains("LISTENING to UNCALIBRATED on RS_SLAVE"),
            "{log}"
        );
        // It has found offsets, from Syncs and Follow_Ups, and a delay.
        let found = log
            .lines()
            .filter(|line| line.contains("master offset") && line.contains("path delay"));
        assert!(found.count() > 2, "{log}");
        let counters = &report["nodes"][0]["counters"];
        let answers = counters["delay_resp_sent"]
            .as_u64()
            .or(counters["pdelay_resp_sent"].as_u64());
        assert!(answers > Some(2), "{report}");
        assert_eq!(counters["sync_sent"], counters["follow_up_sent"]);
    }
}

#[test]
fn ptp4l_in_another_domain_is_none_of_its_business() {
    let Some(pair) = pair("a clock and ptp4l in two domains") else {
        return;
    };
    let place = Place::new("ptp4l-domain");
    let (report, log) = beside_ptp4l(&place, &pair, "--set role=\\\"slave\\\" --set domain=3", "");
    let node = &report["nodes"][0];
    assert_eq!(node["clock"]["state"], "listening", "{report}\n{log}");
    assert!(
        node["drops"]["of another domain"].as_u64() > Some(2),
        "{report}\n{log}"
    );
}
