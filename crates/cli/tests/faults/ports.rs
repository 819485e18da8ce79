//! Commands at ports, while calls fail around them.

use super::bed::{Bed, Program, counter, ip, link};
use super::inject::{self, ANY, DESCRIPTORS, Fault, Run, SENDING, STARTING, Setting, WAITING, few};
use crate::shell::{Place, lines, prepare};
use crate::testbed::await_packet_sockets;
use live::netns::Namespace;
use node::random::Random;
use serde_json::Value;
use std::process::Stdio;
use std::time::Duration;

/// Commands that end by themselves.
const COMMANDS: &[&str] = &[
    "wire gen e0 --count 100 --gap 500us --json",
    "wire send e0 t.lines --at-once --json",
    "wire cat e0 --count 30",
    "wire profile e0 --count 30 --json",
    "wire delay delay 1ms --on e0 e1 --duration 0.1s --json",
    "wire run switch --on e0 --on e1 --duration 0.1s --json",
    "wire of switch --on e0,e1 --listen ptcp:6653:127.0.0.1 --duration 0.1s --json",
    "wire p4 run l2l3.p4 --on e0 --on e1 --p4runtime 127.0.0.1:9559 --control s.sock --duration 0.1s --json",
    "wire relay run through --hook input --on e0 --duration 0.1s --json",
    "timeout --preserve-status -s TERM 0.3 wire mount ports --on e0 e1",
];

/// A program that sends, to end with the value.
struct Traffic(std::process::Child);

impl Traffic {
    fn start(from: &Namespace) -> Traffic {
        let mut command = from.command("setpriv");
        command.args(["--pdeathsig", "KILL", "wire", "gen", "f0", "--pps", "1000"]);
        prepare(&mut command)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Traffic(command.spawn().expect("it starts"))
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs every command with an error at some of its calls. What is reported as sent has come to the neighbour.
fn each(test: &str, calls: &str, what: &'static str, most: usize) {
    if !inject::works(test) {
        return;
    }
    let Some(bed) = Bed::new(test) else {
        return;
    };
    let place = Place::new(&format!("faults-{test}"));
    place.write("t.lines", lines(200));
    place.write(
        "l2l3.p4",
        include_str!("../../../../examples/p4-l2l3/l2l3.p4"),
    );
    let mut wrong = Vec::new();
    for line in COMMANDS {
        let traffic =
            (!line.contains(" gen ") && !line.contains(" send ")).then(|| Traffic::start(&bed.far));
        let run = |calls: &str, fault: Option<&Fault>| -> Run {
            let _ = std::fs::remove_file(place.path.join("s.sock"));
            let setting = Setting {
                folder: &place.path,
                by: bed.near.command("timeout"),
            };
            inject::run(setting, calls, fault, Stdio::null(), line)
        };
        let good = run(calls, None);
        if good.said.contains("/dev/fuse") || good.said.contains("nfnetlink") {
            println!("skipped in part: {test}: {}", good.said.trim());
            continue;
        }
        assert!(matches!(good.code, Some(0 | 143)), "{line}: {good:?}");
        for call in few(good.own_calls(), most) {
            let fault = Fault::at(what, &call);
            let arrived = || counter(&bed.far, "f0", "rx_packets");
            let before = arrived();
            let ended = run(calls, Some(&fault));
            let arrived = arrived() - before;
            if ended.is_unreal() {
                continue;
            }
            let report = std::fs::read_to_string(place.path.join("stdout")).unwrap_or_default();
            let report: Value =
                serde_json::from_str(report.lines().last().unwrap_or("")).unwrap_or_default();
            let sent = traffic.is_none().then(|| report["sent"].as_u64()).flatten();
            let stops = what.starts_with("signal");
            let problem = ended.blemish().or_else(|| match ended.code {
                Some(0) if what.ends_with("EINTR") && sent.is_some_and(|sent| sent != arrived) => {
                    Some(format!("{sent:?} sent, {arrived} arrived"))
                }
                _ if sent.is_some_and(|sent| sent != arrived) => {
                    Some(format!("{sent:?} sent, {arrived} arrived"))
                }
                Some(0 | 143) => None,
                // What ends the mount had no luck itself.
                Some(125 | 127) if line.starts_with("timeout") => None,
                Some(130) if stops => None,
                None if stops => None,
                Some(1 | 2) if what.ends_with("EINTR") || stops => Some("it gave up".into()),
                Some(1 | 2) if ended.said.is_empty() => Some("not a word".into()),
                Some(1 | 2) => None,
                code => Some(format!("exit code {code:?}")),
            });
            if let Some(problem) = problem {
                let (code, said) = (ended.code, ended.said.lines().last());
                wrong.push(format!(
                    "{line}: {what} at {call:?}, {}: {problem} ({code:?}): {said:?}",
                    ended.injected()
                ));
            }
            for name in place.names() {
                let known = ["t.lines", "l2l3.p4", "stdout", "stderr", "ports", "s.sock"];
                assert!(
                    known.contains(&name.as_str()),
                    "{line}: {call:?}: {name} is left behind"
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_thread_that_cannot_start_is_told() {
    each("threads", STARTING, "error=EAGAIN", 3);
}

#[test]
fn ports_without_descriptors_are_told() {
    each("port-descriptors", DESCRIPTORS, "error=EMFILE", 3);
}

#[test]
fn an_interrupted_call_at_a_port_is_made_again() {
    each("port-interrupted", WAITING, "error=EINTR", 3);
}

#[test]
fn a_port_that_has_no_room_is_asked_again_or_its_losses_are_counted() {
    each("port-room", SENDING, "error=ENOBUFS", 3);
}

#[test]
fn a_signal_at_any_call_ends_a_command_at_ports_with_its_report() {
    each("port-signals", ANY, "signal=INT", 3);
}

#[test]
fn an_interface_that_is_removed_and_made_again_is_used_again() {
    let test = "interfaces that go and return";
    let Some(bed) = Bed::new(test) else {
        return;
    };
    let place = Place::new("faults-removed");
    for (name, line) in [
        ("delay", "wire delay delay 1ms --on e0 e1 --json"),
        ("run", "wire run switch --on e0 --on e1 --json"),
    ] {
        let program = Program::start(&place.path, &bed.near, name, line);
        await_packet_sockets(&bed.near, 2);
        for _ in 0..2 {
            // Its neighbour goes with it.
            ip(&bed.near, "link del e0");
            std::thread::sleep(Duration::from_millis(100));
            link((&bed.near, "e0"), (&bed.far, "f0")).expect("the name is free");
            let arrived = || counter(&bed.far, "f1", "rx_packets");
            let before = arrived();
            let passes = (0..50).any(|_| {
                let line = "wire gen f0 --count 10 --gap 1ms --json";
                let sent = Program::start(&place.path, &bed.far, "gen", line).wait();
                assert_eq!(sent.report("sent")["sent"], 10, "{}", sent.said);
                std::thread::sleep(Duration::from_millis(50));
                arrived() >= before + 10
            });
            assert!(passes, "{line}: nothing passes any more");
        }
        let ended = program.stop();
        let report = ended.report(name);
        assert!(report.to_string().contains("down"), "{report}");
    }
}

#[test]
fn a_controller_that_is_killed_leaves_the_switch_to_the_next() {
    let test = "controllers that are killed";
    let Some(bed) = Bed::new(test) else {
        return;
    };
    let place = Place::new("faults-killed");
    ip(&bed.near, "link set lo up");
    let line = "wire of switch --on e0,e1 --listen ptcp:6653:127.0.0.1 --json";
    let switch = Program::start(&place.path, &bed.near, "switch", line);
    await_packet_sockets(&bed.near, 2);
    let mut random = Random::new(3);
    let add = "wire of ctl tcp:127.0.0.1:6653 add-flow priority=7,actions=output:2";
    for _ in 0..20 {
        let script = format!("timeout -s KILL 0.0{:02} {add}", random.below(60));
        place.run_by(bed.near.command("timeout"), &script);
    }
    let flows = "wire of ctl tcp:127.0.0.1:6653 dump-flows";
    let told = place.run_by(bed.near.command("timeout"), &format!("{add} && {flows}"));
    assert!(told.out.contains("priority=7"), "{told:?}");
    let ended = switch.stop();
    let report = ended.report("run");
    assert_eq!(report["ports"][1]["received"], 0, "{report}{}", ended.said);
}
