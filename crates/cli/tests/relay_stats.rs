//! `wire relay`: programs that answer for packets, and what all relays do, in namespaces that nobody else sees.

use crate::shell::{Place, can_unshare, has, is_root};
use serde_json::Value;

/// Two hosts, `near` being the namespace of the script; sockets of relays are its own too.
const NETWORK: &str = "
mount -t tmpfs tmpfs /run
mkdir /run/netns
ip netns add far
ip link add v0 type veth peer name v1 netns far
ip addr add 10.0.0.1/24 dev v0
ip link set v0 up
ip netns exec far ip addr add 10.0.0.2/24 dev v1
ip netns exec far ip link set v1 up
ip netns exec far ping -q -c 1 -W 20 10.0.0.1 >ping
relay() {
    wire relay run \"$@\" >report 2>said &
    relay=$!
    for look in $(seq 1200); do grep -qs '^wire: ' said && return; sleep 0.05; done
    cat said
    exit 1
}
";

/// Runs a script in such a network; what it printed, or `None` where it cannot.
fn run(name: &str, script: &str) -> Option<String> {
    if !is_root(name) || !has("ip", name) || !has("ping", name) || !can_unshare("-mn", name) {
        return None;
    }
    let place = Place::new(name);
    place.write("script", format!("set -e{NETWORK}{script}"));
    Some(place.run("unshare -mn bash script").good())
}

#[test]
fn a_program_answers_for_packets_and_stats_tell_of_it() {
    let script = r#"
relay --hook input --on v0 --match icmp --json --command "$(command -v mawk || echo awk) '{ print n++ % 2 ? \"drop\" : \"through\" }'"
ip netns exec far ping -q -c 4 -i 0.2 -W 4 10.0.0.1 >ping || :
grep -o '[0-9]* received' ping
wire relay stats --once
wire relay stats --once --json
kill -TERM $relay
wait $relay
cat report
wire relay stats --once
"#;
    let Some(out) = run("relay-command", script) else {
        return;
    };
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "2 received", "{out}");
    assert!(
        lines[1].contains("packets/s") && lines[2].contains(" input "),
        "{out}"
    );
    let told: Value = serde_json::from_str(lines[3]).unwrap();
    assert_eq!(
        (&told["type"], &told["hook"]),
        (&"relay-stats".into(), &"input".into())
    );
    let report: Value = serde_json::from_str(lines[4]).unwrap();
    for counts in [&told, &report] {
        let counted = ["packets", "accepted", "changed", "dropped", "held"].map(|key| &counts[key]);
        assert_eq!(counted, [4, 2, 0, 2, 0], "{counts}");
    }
    assert!(
        told["wait_p50_ns"].as_u64().is_some_and(|wait| wait > 0),
        "{told}"
    );
    assert_eq!(told["backlog"][0]["interface"], "v0");
    assert_eq!(lines[5], "no relay is running (wire relay run)");
}

#[test]
fn a_program_changes_packets_and_its_end_is_no_end_of_the_relay() {
    // The payload of the echo, with as many more in one byte as fewer in the other, so that the checksum stays.
    let script = r#"
relay --hook input --on v0 --match icmp --fail open --command 'read line; echo "$line"; exit 1'
ip netns exec far ping -q -c 3 -i 0.2 -W 20 10.0.0.1 | grep -o '[0-9]* received'
kill -TERM $relay
wait $relay
grep -c 'packets pass until it runs again' said
relay --hook input --on v0 --match icmp --command 'sed "s/11 22 33 44/33 44 11 22/"'
ip netns exec far ping -c 1 -W 20 -s 64 -p 11223344 10.0.0.1 | grep -c 'wrong data byte' || :
kill -TERM $relay
wait $relay
grep -o '1 changed' report
"#;
    let Some(out) = run("relay-change", script) else {
        return;
    };
    assert_eq!(out, "3 received\n1\n1\n1 changed\n");
}

#[test]
fn what_a_killed_relay_left_is_taken_away() {
    let script = r#"
relay through --on v0 --hook input
ls /run/wireline/relay | wc -l
stat -c %a /run/wireline/relay/*
kill -KILL $relay
{ wait $relay || :; } 2>/dev/null
ls /run/wireline/relay | wc -l
wire relay stats --once
ls /run/wireline/relay | wc -l
"#;
    let Some(out) = run("relay-killed", script) else {
        return;
    };
    assert_eq!(out, "1\n600\n1\nno relay is running (wire relay run)\n0\n");
}
