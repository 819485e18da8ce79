//! Paxos where it is real: `examples/paxos` in network namespaces, by P4 switches and by programs over the kernel's sockets; and `wire paxos`.

use crate::shell::{Place, is_root};
use serde_json::Value;
use std::path::Path;

/// The lab's report as objects, and its exit code.
fn live(file: &str, more: &str) -> (Vec<Value>, i32) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/paxos");
    let place = Place::new(&format!("paxos-{file}"));
    let folder = folder.display();
    let ended = place.run(&format!(
        "cd {folder} && wire lab {file} --world live --json {more}"
    ));
    let lines = ended.out.lines().map(serde_json::from_str);
    let objects = lines.collect::<Result<_, _>>();
    let objects = objects.unwrap_or_else(|error| panic!("{error}: {}{}", ended.out, ended.err));
    (objects, ended.code.unwrap_or(-1))
}

fn of<'a>(report: &'a [Value], kind: &str) -> impl Iterator<Item = &'a Value> {
    report.iter().filter(move |object| object["type"] == kind)
}

#[test]
fn the_lab_that_runs_in_simulated_time_runs_over_veth_and_is_linearizable() {
    if !is_root("examples/paxos in the world live") {
        return;
    }
    let (report, code) = live("lab.toml", "");
    assert_eq!(code, 0, "{report:?}");
    let verdict = &report[0]["headline"]["verdicts"][0];
    assert_eq!(verdict["holds"], true, "{verdict}");
    let clients = of(&report, "node").find(|node| node["node"] == "clients");
    let counters = &clients.unwrap()["counters"];
    // How many are answered in the time that there is depends on what else the machine does.
    assert!(counters["answered"].as_u64() > Some(0), "{counters}");
    assert_eq!(counters["linearizable"], 1);
}

/// Output of the programs of host `k`, in their order.
fn outputs_of_clients(report: &[Value]) -> Vec<String> {
    of(report, "program")
        .filter(|program| {
            program["program"]
                .as_str()
                .is_some_and(|name| name.starts_with("k."))
        })
        .map(|program| program["output"].as_str().unwrap_or("").trim().to_string())
        .collect()
}

#[test]
fn programs_over_udp_multicast_replicate_a_store() {
    if !is_root("Paxos between namespaces") {
        return;
    }
    let (report, code) = live("hosts.toml", "");
    let said = outputs_of_clients(&report);
    assert_eq!(code, 0, "{report:?}");
    assert_eq!(said[..3], ["written", "written", "43"]);
    let words: Vec<_> = said[3].split_whitespace().collect();
    assert!(matches!(words[..], [_, "hello", _, "world"]), "{}", said[3]);
    assert!(
        said[4].starts_with("linearizable: 2000 of 2000 operations answered"),
        "{}",
        said[4]
    );
}

#[test]
fn the_lab_that_replaces_an_acceptor_ends_with_the_new_members() {
    if !is_root("Paxos between namespaces") {
        return;
    }
    let (report, code) = live("members.toml", "");
    let said = outputs_of_clients(&report);
    assert_eq!(code, 0, "{report:?}");
    assert_eq!([&said[0], &said[2]], ["written", "42"]);
    for members in [&said[1], &said[3]] {
        assert!(members.ends_with(": acceptors 0, 1, 3"), "{said:?}");
    }
}

/// A group of a test's own.
pub fn group(test: u8) -> String {
    let [.., b, c] = std::process::id().to_be_bytes();
    format!("239.{}.{b}.{c}", 200 + test)
}

#[test]
fn nobody_who_answers_is_a_failure_and_what_is_asked_wrongly_is_told() {
    let place = Place::new("paxos-alone");
    let on = format!("--on multicast:{}:57021@127.0.0.1", group(1));
    let ended = place.run(&format!("wire paxos kv get 7 {on} --duration 300ms"));
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.err.contains("1 of 1 values were not answered"),
        "{}",
        ended.err
    );
    let ended = place.run(&format!("wire paxos kv put 7 {on}"));
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("put KEY VALUE"), "{}", ended.err);
    let ended = place.run(&format!("wire paxos propose {} {on}", "x".repeat(65)));
    assert!(ended.err.contains("more than 64 bytes"), "{}", ended.err);
    let ended = place.run("wire paxos kv get 7 --on multicast:239.0.0.1:7000");
    assert!(ended.err.contains("UDP port 57021"), "{}", ended.err);
    let ended = place.run("wire paxos learn --on multicast:10.0.0.1:1");
    assert!(ended.err.contains("multicast:GROUP:PORT"), "{}", ended.err);
}

/// One machine is a group as well: every member has its socket, and all hear each other.
#[test]
fn a_group_on_the_loopback_decides_and_a_learner_sees_it() {
    let place = Place::new("paxos-loopback");
    let group = group(2);
    let on = format!("--on multicast:{group}:57021@127.0.0.1");
    let script = format!(
        "for id in 0 1 2; do wire run paxos-acceptor --set id=$id --set state=state --set group={group} {on} > /dev/null 2>&1 & done
         wire run paxos-coordinator --set state=state --set group={group} --set 'lease=600 ms' --set 'retry=50 ms' {on} > /dev/null 2>&1 &
         wire run paxos-replica --set state=state --set group={group} --set 'report=20 ms' {on} > /dev/null 2>&1 &
         wire paxos learn --count 2 {on} --duration 60s > learned 2> /dev/null & learner=$!
         for try in $(seq 50); do wire paxos kv put 1 $try {on} --duration 10s > /dev/null && kill -0 $learner 2>/dev/null || break; done
         wait $learner; echo $?; kill $(jobs -p) 2> /dev/null; wait; wc -l < learned"
    );
    let ended = place.run(&script);
    let lines: Vec<_> = ended.out.split_whitespace().collect();
    assert_eq!(lines, ["0", "2"], "{}{}", ended.out, ended.err);
}

/// A shell's functions `start` and `end` (by kill -9) for the members of a group: a0 to a2, c1 and r0.
pub fn members(group: &str, on: &str) -> String {
    members_with(group, on, "")
}

/// The same, each with more keys.
pub fn members_with(group: &str, on: &str, more: &str) -> String {
    format!(
        "start() {{
             case $1 in
                 a*) set -- $1 acceptor --set id=${{1#a}};;
                 c*) set -- $1 coordinator --set identity=${{1#c}} --set 'lease=200 ms';;
                 r*) set -- $1 replica --set id=${{1#r}};;
             esac
             name=$1; kind=$2; shift 2
             wire run paxos-$kind \"$@\" --set state=state --set group={group} {more} {on} >> $name.log 2>&1 &
             eval \"pid_$name=$!\"
         }}
         end() {{ eval \"kill -9 \\$pid_$1; wait \\$pid_$1\" 2> /dev/null; }}
         kv() {{ wire paxos kv \"$@\" {on} --duration 30s; }}
         "
    )
}

/// Members of a group that has nothing to decide wake up for leases, reports and trims alone. The
/// least of five intervals counts: other work on the machine only adds to it.
#[test]
fn a_group_that_has_nothing_to_do_hardly_wakes_up() {
    let place = Place::new("paxos-idle");
    let group = group(15);
    let on = format!("--on multicast:{group}:57021@127.0.0.1");
    let script = format!(
        "start() {{ wire run paxos-$1 $2 --set state=state --set group={group} {on} > /dev/null 2>&1 & }}
         switches() {{ cat /proc/$1/task/*/status | awk '/^voluntary/ {{ n += $2 }} END {{ print n }}'; }}
         for id in 0 1 2; do start acceptor --set=id=$id; a=$!; done
         start coordinator --set=replicas=1; c=$!; start coordinator --set=identity=2; d=$!
         start replica --set=id=0; r=$!
         wire paxos kv put 1 1 {on} --duration 60s; sleep 2
         for interval in 1 2 3 4 5; do
             for pid in $a $c $d $r; do switches $pid; done > before; sleep 2
             for pid in $a $c $d $r; do switches $pid; done > after
             paste before after | awk '{{ printf \"%d \", ($2 - $1) / 2 }} END {{ print \"\" }}'
         done
         kill $(jobs -p); wait"
    );
    let ended = place.run(&script);
    let mut lines = ended.out.lines();
    assert_eq!(lines.next(), Some("written"), "{}", ended.err);
    let intervals: Vec<Vec<u64>> = lines
        .map(|line| line.split(' ').filter_map(|n| n.parse().ok()).collect())
        .collect();
    assert_eq!(intervals.len(), 5, "{}{}", ended.out, ended.err);
    for (place, member) in ["acceptor", "leader", "follower", "replica"]
        .iter()
        .enumerate()
    {
        let least = intervals.iter().map(|rates| rates[place]).min();
        // None would be a member that does not run.
        assert!(
            least > Some(0) && least < Some(50),
            "{member}: {intervals:?}"
        );
    }
}

/// The test kills and restarts each acceptor in turn, and then all members at once. All writes
/// are there.
#[test]
fn what_was_written_outlives_kill_9_of_every_member() {
    let place = Place::new("paxos-killed");
    let group = group(3);
    let on = format!("--on multicast:{group}:57021@127.0.0.1");
    let script = members(&group, &on)
        + "all='a0 a1 a2 c1 r0'
         for name in $all; do start $name; done
         for write in 1 2 3 4 5 6; do
             kv put 7 $write > /dev/null || echo not written
             name=a$((write % 3)); end $name; start $name
             [ $write != 4 ] || { end c1; start c1; }
             kv get 7
         done
         for name in $all; do end $name; done
         for name in $all; do start $name; done
         kv get 7; kv cas 7 6 60; kv get 7
         start a0; wait $pid_a0; echo $?; grep 'another process' a0.log
         kill $(jobs -p) 2> /dev/null; wait";
    let ended = place.run(&script);
    let lines: Vec<_> = ended.out.lines().collect();
    let (values, rest) = lines.split_at(lines.len().min(9));
    let expected = ["1", "2", "3", "4", "5", "6", "6", "written", "60"];
    assert_eq!(values, expected, "{}{}", ended.out, ended.err);
    // A member is one process at a time.
    assert_eq!(rest[0], "2", "{rest:?}");
    assert!(ended.out.contains("another process"), "{rest:?}");
}

/// A file that is not as it was written is no memory: the member does not start.
#[test]
fn a_damaged_state_is_refused_and_a_torn_one_is_not() {
    let place = Place::new("paxos-damaged");
    let group = group(4);
    let on = format!("--on multicast:{group}:57021@127.0.0.1");
    let start =
        format!("wire run paxos-acceptor --set state=. --set group={group} {on} --duration 100ms");
    let file = format!("paxos-{group}-acceptor-0");
    let ended = place.run(&format!("{start} && printf 'torn' >> {file} && {start}"));
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let ended = place.run(&format!(
        "printf X | dd of={file} bs=1 seek=50 conv=notrunc status=none; {start}"
    ));
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    for words in ["cannot be trusted", &file, "damaged at byte", "boot=N"] {
        assert!(ended.err.contains(words), "{words}: {}", ended.err);
    }
    let ended = place.run(&format!("rm {file}; mkdir {file}; {start}"));
    assert!(ended.err.contains("not a regular file"), "{}", ended.err);
}

/// Two processes by one number: never one with the other's answer, and of two at a time the earlier one ends.
#[test]
fn a_client_number_that_is_used_twice_does_all_or_says_that_it_does_not() {
    let place = Place::new("paxos-client");
    let group = group(5);
    let on = format!("--on multicast:{group}:57021@127.0.0.1");
    let script = members(&group, &on)
        + &format!(
            "for name in a0 a1 a2 c1 r0; do start $name; done
             kv --client 5000 put 7 1; kv --client 5000 put 7 2; kv get 7
             wire paxos load {on} --client 5000 --clients 1 --count 100000 --duration 30s > load.out 2> load.err & load=$!
             sleep 1; kv --client 5000 get 7
             wait $load; echo $?
             kill $(jobs -p) 2> /dev/null; wait; cat load.err"
        );
    let ended = place.run(&script);
    let lines: Vec<_> = ended.out.lines().collect();
    let (answers, rest) = lines.split_at(lines.len().min(5));
    let expected = ["written", "written", "2", "2", "1"];
    assert_eq!(answers, expected, "{}{}", ended.out, ended.err);
    let said = rest.join("\n");
    assert!(said.contains("client 5000 is in use"), "{said}");
}

/// A group with a key ignores clients without it and forged messages.
#[test]
fn a_group_with_a_key_hears_only_those_who_have_it() {
    let place = Place::new("paxos-key");
    let group = group(6);
    let on = format!("--on multicast:{group}:57021@127.0.0.1");
    let script = "echo 000102030405060708090a0b0c0d0e0f > group.key; chmod 600 group.key
         echo 000102030405060708090a0b0c0d0e00 > other.key; chmod 600 other.key
         "
    .to_owned()
        + &members_with(&group, &on, "--set key=group.key")
        + &format!(
            "for name in a0 a1 a2 c1 r0; do start $name; done
             kv --key group.key put 7 42
             wire paxos kv get 7 {on} --duration 500ms
             wire paxos kv get 7 {on} --duration 500ms --key other.key
             kv --key group.key get 7
             chmod 644 group.key; kv --key group.key get 7; echo $?; chmod 600 a0.log; kv --key a0.log get 7
             kill -2 $pid_a0; wait $pid_a0; grep authentic a0.log
             kill $(jobs -p) 2> /dev/null; wait"
        );
    let ended = place.run(&script);
    let lines: Vec<_> = ended.out.lines().collect();
    assert_eq!(
        lines[..3],
        ["written", "42", "2"],
        "{}{}",
        ended.out,
        ended.err
    );
    assert!(lines[3].contains("not authentic"), "{lines:?}");
    for words in [
        "1 of 1 values were not answered",
        "chmod 600 group.key",
        "a0.log is no key",
    ] {
        assert!(ended.err.contains(words), "{words}: {}", ended.err);
    }
}

/// One of three acceptors is replaced, and then one of the others is killed: the remaining two are
/// a majority of the new members only. The change survives a kill of all members.
#[test]
fn an_acceptor_is_replaced_by_a_decided_change_that_outlives_kill_9() {
    let place = Place::new("paxos-members");
    let group = group(7);
    let on = format!("--on multicast:{group}:57021@127.0.0.1");
    let script = members_with(&group, &on, "--set window=64")
        + &format!(
            "members() {{ wire paxos members \"$@\" {on} --duration 60s | sed 's/^instance [0-9]*: //'; }}
             for name in a0 a1 a2 c1 r0; do start $name; done
             kv put 7 1; members
             wire paxos members --add acceptor:3 {on} --duration 500ms; echo $?
             # A change is held for 2 s, and would apply once acceptor 3 answers.
             sleep 3; start a3; members --add acceptor:3 --remove acceptor:2
             end a2; end a0; kv put 7 2; kv get 7
             for name in a1 a3 c1 r0; do end $name; done
             for name in a1 a3 c1 r0; do start $name; done
             kv get 7; members
             wire paxos members --remove acceptor:0 --remove acceptor:1 --remove acceptor:3 {on} --duration 60s > all; echo $?
             kill $(jobs -p) 2> /dev/null; wait"
        );
    let ended = place.run(&script);
    let lines: Vec<_> = ended.out.lines().collect();
    let expected = [
        "written",
        "acceptors 0, 1, 2",
        "1",
        "acceptors 0, 1, 3",
        "written",
        "2",
        "2",
        "acceptors 0, 1, 3",
        "1",
    ];
    assert_eq!(lines, expected, "{}", ended.err);
    for words in [
        "an acceptor is added once it runs and answers",
        "no acceptor would be left",
    ] {
        assert!(ended.err.contains(words), "{words}: {}", ended.err);
    }
    let ended = place.run("wire paxos members --add acceptor:5");
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("N from 0 to 4"), "{}", ended.err);
}

/// The module of `examples/paxos` is a client of its own, with its own codec and its own SipHash.
#[test]
fn the_python_module_submits_and_delivers_with_a_key_and_without() {
    let place = Place::new("paxos-python");
    if place.run("python3 -c ''").code != Some(0) {
        println!("skipped: no python3");
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/paxos");
    let folder = folder.display();
    for (number, key) in [(8, ""), (9, "--set key=group.key")] {
        let group = group(number);
        let on = format!("--on multicast:{group}:57021@127.0.0.1");
        let python_key = match key {
            "" => "None",
            _ => "bytes.fromhex(open('group.key').read())",
        };
        let script = "openssl rand -hex 16 > group.key 2> /dev/null || echo 000102030405060708090a0b0c0d0e0f > group.key
             chmod 600 group.key; rm -rf state
             "
        .to_owned()
            + &members_with(&group, &on, key)
            + &format!(
                "cat > client.py <<'END'
import sys, threading
sys.path.insert(0, '{folder}')
sys.dont_write_bytecode = True
from paxos import Group, NoAnswer
def group(key): return Group('{group}', '127.0.0.1', key)
key = {python_key}
seen = []
def learn():
    with group(key) as learner:
        for _, value in learner.deliver(timeout=60):
            seen.append(value)
            if value == b'last': return
with group(key) as one:
    one.submit(b'first', 60)
    thread = threading.Thread(target=learn)
    thread.start()
    number = 0
    while len(seen) < 3:
        number += 1
        one.submit(b'%d' % number, 60)
    instances = [one.submit(value, 60)[0] for value in (b'a', b'b', b'last')]
    thread.join()
print(instances == sorted(set(instances)), seen[-3:])
if key:
    try: group(None).submit(b'x', 0.5); print('answered')
    except NoAnswer: print('no answer')
END
                 for name in a0 a1 a2 c1 r0; do start $name; done
                 python3 client.py
                 kill $(jobs -p) 2> /dev/null; wait"
            );
        let ended = place.run(&script);
        let lines: Vec<_> = ended.out.lines().collect();
        assert_eq!(
            lines.first(),
            Some(&"True [b'a', b'b', b'last']"),
            "{}",
            ended.err
        );
        assert_eq!(
            lines.get(1).copied(),
            (!key.is_empty()).then_some("no answer")
        );
    }
}

#[test]
fn a_load_without_a_group_says_so_first() {
    let place = Place::new("paxos-no-group");
    let on = format!("--on multicast:{}:57021@127.0.0.1", group(10));
    let ended = place.run(&format!("wire paxos load {on} --duration 1500ms"));
    assert_eq!(ended.code, Some(1));
    let first = ended.err.lines().next().unwrap_or_default();
    assert!(first.contains("no replies from the group"), "{}", ended.err);
}
