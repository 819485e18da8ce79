//! Labs of real programs, while what they need cannot be had. Whatever becomes of one, nothing of it stays on the machine.

use super::bed::{apart, left};
use super::inject::{self, DESCRIPTORS, Fault, PLACING, Run, STARTING, Setting, WAITING, sample};
use crate::shell::{Place, can_unshare, is_root};
use std::process::Stdio;

const LAB: &str = "
[node.a]
kind = 'process'
address = '10.0.0.1/24'
run = 'cat /etc/hosts; sleep 0.1'
[node.s]
kind = 'switch'
ports = 2
[node.b]
kind = 'process'
address = '10.0.0.2/24'
[[link]]
ends = ['a.0', 's.0']
[[link]]
ends = ['b.0', 's.1']
";

/// Runs a lab with an error at some of its calls.
fn each(test: &str, calls: &str, what: &'static str, most: usize) {
    if !is_root(test) || !inject::works(test) || !can_unshare("-mn", test) {
        return;
    }
    let place = Place::new(&format!("faults-{test}/lab"));
    place.write("lab.toml", LAB);
    let hosts = std::fs::read("/etc/hosts").ok();
    let run = |calls: &str, fault: Option<&Fault>| -> Run {
        let setting = Setting {
            folder: &place.path,
            by: apart(),
        };
        inject::run(
            setting,
            calls,
            fault,
            Stdio::null(),
            "wire lab lab.toml --world live",
        )
    };
    let good = run(calls, None);
    assert_eq!(good.code, Some(0), "{good:?}");
    let mut wrong = Vec::new();
    for call in sample(good.own_calls(), most) {
        let fault = Fault::at(what, &call);
        let ended = run(calls, Some(&fault));
        let stays = left(&place.path);
        let problem = ended.blemish().or_else(|| match ended.code {
            _ if !stays.is_empty() => Some(format!("left behind: {stays:?}")),
            Some(0) => None,
            Some(1 | 2) if ended.said.is_empty() && read(&place, "stdout").is_empty() => {
                Some("not a word".into())
            }
            Some(1 | 2) if what.ends_with("EINTR") => Some("it gave up".into()),
            Some(1 | 2) => None,
            code => Some(format!("exit code {code:?}")),
        });
        // A program of the lab has the lab's names for hosts, or does not run.
        let told = read(&place, "stdout");
        let problem = problem.or_else(|| {
            let blind = ended.code == Some(0) && !told.contains("10.0.0.2");
            blind.then(|| "the lab's program has not seen the lab".into())
        });
        if let Some(problem) = problem {
            let said = ended.said.lines().last();
            wrong.push(format!(
                "{what} at {call:?}, {}: {problem} ({:?}): {said:?}",
                ended.injected(),
                ended.code
            ));
        }
    }
    assert_eq!(
        std::fs::read("/etc/hosts").ok(),
        hosts,
        "the machine's own names"
    );
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

fn read(place: &Place, name: &str) -> String {
    String::from_utf8_lossy(&place.read(name)).into_owned()
}

#[test]
fn a_mount_that_fails_is_told_and_the_machine_stays_as_it_was() {
    each("lab-mounts", PLACING, "error=EINVAL", 8);
    each("lab-rights", PLACING, "error=EPERM", 4);
}

#[test]
fn a_lab_without_processes_is_told() {
    each("lab-threads", STARTING, "error=EAGAIN", 6);
}

#[test]
fn a_lab_without_descriptors_is_told() {
    each("lab-descriptors", DESCRIPTORS, "error=EMFILE", 8);
}

#[test]
fn a_lab_goes_on_behind_an_interrupted_call() {
    each("lab-interrupted", WAITING, "error=EINTR", 6);
}

#[test]
fn a_lab_that_is_killed_leaves_nothing() {
    let test = "killing a lab";
    if !is_root(test) || !inject::works(test) || !can_unshare("-mn", test) {
        return;
    }
    let place = Place::new("faults-lab-killed/lab");
    place.write("lab.toml", LAB.replace("0.1", "100"));
    for wait in ["0.2", "0.5", "1"] {
        let setting = Setting {
            folder: &place.path,
            by: apart(),
        };
        let line = format!("timeout -s KILL {wait} wire lab lab.toml --world live");
        // That no process is left behind is looked at in any case.
        let ended = inject::run(setting, STARTING, None, Stdio::null(), &line);
        assert!(!ended.said.contains("panicked"), "{}", ended.said);
        assert_eq!(left(&place.path), [""; 0]);
    }
}
