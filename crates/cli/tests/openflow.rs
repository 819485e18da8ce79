//! `wire of` against the real Open vSwitch, over its userspace datapath, in namespaces and with a database of its own.

use crate::shell::{Place, has, is_root, prepare};
use live::netns::{Namespace, NetnsError, VethEnd, veth};
use serde_json::Value;
use std::process::Stdio;

/// Two hosts at a switch: their namespaces, and the switch's with the interfaces s1 and s2.
fn star() -> Result<[Namespace; 3], NetnsError> {
    let all = [Namespace::new()?, Namespace::new()?, Namespace::new()?];
    let [a, b, switch] = &all;
    for (host, last, name) in [(a, 1u8, "s1"), (b, 2, "s2")] {
        let ends = [
            VethEnd {
                namespace: host,
                name: "eth0",
                mac: Some([2, 0, 0, 0, 0, last]),
            },
            VethEnd {
                namespace: switch,
                name,
                mac: None,
            },
        ];
        veth(ends, 1500)?;
        host.add_address("eth0", [10, 80, 0, last].into(), 24)?;
    }
    Ok(all)
}

/// Starts Open vSwitch for a while, with the controller beside it; the controller's report goes to report.json.
const SWITCH: &str = r#"
set -e
ip link set lo up
export OVS_RUNDIR=$PWD OVS_LOGDIR=$PWD OVS_DBDIR=$PWD
trap 'for f in vswitchd.pid db.pid; do [ -s $f ] && kill $(cat $f); done' EXIT
ovsdb-tool create conf.db /usr/share/openvswitch/vswitch.ovsschema
ovsdb-server conf.db --remote=punix:$PWD/db.sock --unixctl=$PWD/db.ctl --pidfile=$PWD/db.pid --detach
ovs-vsctl --db=unix:$PWD/db.sock --no-wait init
ovs-vswitchd unix:$PWD/db.sock --disable-system --unixctl=$PWD/vs.ctl --pidfile=$PWD/vswitchd.pid --log-file=$PWD/vs.log --detach
ovs-vsctl --db=unix:$PWD/db.sock -- add-br br0 -- set bridge br0 datapath_type=netdev fail_mode=secure protocols=$VERSION \
  other-config:datapath-id=00000000000000ab -- set-controller br0 tcp:127.0.0.1:6653 -- add-port br0 s1 -- add-port br0 s2
wire of controller topology collector learning --listen ptcp:6653:127.0.0.1 --rest 127.0.0.1:8080 --token-file token --json > report.json &
echo $! > controller.pid
wait $!
"#;

#[test]
fn hosts_at_open_vswitch_reach_each_other_through_our_controller() {
    let test = "wire of controller with Open vSwitch";
    if !is_root(test) || !has("ovs-vswitchd", test) || !has("ovsdb-server", test) {
        return;
    }
    for version in ["OpenFlow10", "OpenFlow13"] {
        let [a, _b, switch] = match star() {
            Ok(all) => all,
            Err(error) => return println!("skipped: {test}: {error}"),
        };
        let place = Place::new(&format!("of-{version}"));
        let mut command = switch.command("timeout");
        let arguments = ["-k", "5", "120", "bash", "-c", SWITCH];
        let child = prepare(command.args(arguments).current_dir(&place.path))
            .env("VERSION", version)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Until the switch has its ports and its controller, nothing is answered.
        let ping = "for i in $(seq 600); do ping -n -c 1 -W 1 10.80.0.2 > first 2>&1 && break; sleep 0.2; done
            ping -n -c 5 -i 0.2 -W 20 10.80.0.2";
        let pinged = place.run_by(a.command("timeout"), ping);
        let asked =
            "ask() { curl -s -H \"Authorization: Bearer $(cat token)\" http://127.0.0.1:8080/$1; }
            ask switches; echo; until ask switches/0xab/flows | grep -q eth_dst; do sleep 0.1; done
            ask switches/0xab/flows; echo; ask hosts; echo; ask metrics";
        let asked = has("curl", test).then(|| place.run_by(switch.command("timeout"), asked));
        place.run("kill -TERM $(cat controller.pid)").good();
        let ended = child.wait_with_output().unwrap();
        let told = format!(
            "{}{}",
            String::from_utf8_lossy(&ended.stdout),
            String::from_utf8_lossy(&ended.stderr)
        );
        assert!(
            pinged.out.contains("5 received"),
            "{version}: {pinged:?} {told}"
        );
        let report: Value = serde_json::from_slice(&place.read("report.json")).expect(&told);
        let counters = &report["nodes"][0]["counters"];
        assert_eq!(
            (&counters["nonsense"], &counters["errors"]),
            (&0.into(), &0.into()),
            "{counters}"
        );
        assert_eq!(counters["connections_opened"], 1, "{counters}");
        for name in [
            "packet_ins",
            "flow_mods",
            "forwarded",
            "answered",
            "lldp_sent",
        ] {
            assert!(
                counters[name].as_u64() > Some(0),
                "{version}: {name} of {counters}"
            );
        }
        if let Some(asked) = asked {
            let lines: Vec<&str> = asked.out.lines().collect();
            let json =
                |line: usize| -> Value { serde_json::from_str(lines[line]).expect(&asked.out) };
            assert_eq!(json(0)[0]["id"], 0xab, "{lines:?}");
            let flows = json(1);
            let forwards = |flow: &Value| {
                flow["match"]
                    .as_str()
                    .is_some_and(|text| text.contains("eth_dst"))
            };
            assert!(flows.as_array().unwrap().iter().any(forwards), "{flows}");
            assert_eq!(json(2).as_array().map(Vec::len), Some(2), "{lines:?}");
            assert!(asked.out.contains("wire_switches 1\n"));
        }
    }
}

#[test]
fn options_of_ctl_stand_before_the_switch_or_behind_what_is_asked() {
    let place = Place::new("of-ctl-options");
    for words in [
        "--json --timeout 1 -O OpenFlow13 unix:nowhere dump-flows",
        "unix:nowhere dump-flows --json --timeout 1 -O OpenFlow13",
        "unix:nowhere dump-flows ip --json --protocols OpenFlow10,OpenFlow13",
    ] {
        let ended = place.run(&format!("wire of ctl {words}"));
        // There is no switch; before, the words were refused.
        assert!(
            ended.code == Some(2) && ended.err.contains("nowhere") && !ended.err.contains("Usage"),
            "{words}: {}",
            ended.err
        );
    }
    let refused = place.run("wire of ctl unix:nowhere dump-flows --jsn");
    assert!(refused.err.contains("Usage"), "{}", refused.err);
}

#[test]
fn switches_of_cbench_are_others_than_the_first_switch_of_the_controller() {
    let place = Place::new("of-cbench-beside");
    // A switch with the number 1, as `wire of switch` has, is there meanwhile.
    let script = "wire of controller learning --listen punix:c.sock --json > report.json 2> err &
        controller=$!
        until [ -S c.sock ]; do sleep 0.05; done
        wire of cbench --connect unix:c.sock --switches 1 --first-datapath 1 --loops 8 --ms-per-test 200 --json > one 2> two & beside=$!
        sleep 0.4
        wire of cbench --connect unix:c.sock --switches 2 MORE --loops 1 --ms-per-test 200 --json || :
        wait $beside && echo fine
        kill -TERM $controller; wait $controller || :";
    let out = place.run(&script.replace("MORE", "")).good();
    assert!(out.ends_with("fine\n"), "{out}");
    assert!(out.contains(r#""type":"cbench""#), "{out}");
    // Were it 1 here, too, one of them would not be answered.
    let out = place.run(&script.replace("MORE", "--first-datapath 1"));
    assert!(
        !out.out.ends_with("fine\n") || !out.out.contains(r#""type":"cbench""#),
        "{}",
        out.out
    );
}

#[test]
fn cbench_says_what_it_has_measured_and_what_it_could_not() {
    let place = Place::new("of-cbench");
    let script = "wire of controller learning --listen punix:c.sock --json > report.json 2> err &
        until [ -S c.sock ]; do sleep 0.05; done
        wire of cbench --connect unix:c.sock --mode throughput --switches 4 --loops 2 --ms-per-test 200 --openflow 1.3 --json
        kill -TERM $!; wait $! || [ $? = 143 ]";
    let out = place.run(script).good();
    let lines: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 4, "{out}");
    let (rounds, summary) = (&lines[..3], &lines[3]);
    assert_eq!(rounds[0]["warmup"], true);
    assert_eq!(
        (&summary["type"], &summary["schema"]),
        (&"cbench".into(), &"wireline.of/1".into())
    );
    assert_eq!(summary["counters"]["repeated"], 0);
    let answers: u64 = rounds[1..]
        .iter()
        .flat_map(|round| round["answers"].as_array().unwrap())
        .map(|one| one.as_u64().unwrap())
        .sum();
    let shares = summary["answers"].as_array().unwrap();
    assert_eq!(
        shares.iter().map(|one| one.as_u64().unwrap()).sum::<u64>(),
        answers
    );
    assert!(answers > 100, "{out}");
    let report: Value = serde_json::from_slice(&place.read("report.json")).unwrap();
    assert!(report["nodes"][0]["counters"]["forwarded"].as_u64() >= Some(answers));
}
