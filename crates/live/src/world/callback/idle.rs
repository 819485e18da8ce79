//! Whether a program has done all that it can do until it is told more: in simulated time nothing else says when its
//! answer is complete.
//!
//! A program is quiet when every thread of it and of all that it has started sleeps, and none has run since the last look.
//! A process that writes to another one wakes it by that, so between two equal looks nothing was under way. What sleeps by the
//! clock of the machine is quiet too: simulated time does not wait for it.

use std::fs;

/// Threads that sleep.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Asleep {
    /// A thread's number, and how often it has run.
    threads: Vec<(u32, u64)>,
    /// Those that have ended, and whose parent has not asked how: it may not know yet, as a processor may be taken away between the two.
    pub ended: Vec<u32>,
}

/// The threads of a process and of those below it, if all of them sleep.
pub fn asleep(process: u32) -> Option<Asleep> {
    let (mut asleep, mut processes) = (Asleep::default(), vec![process]);
    while let Some(process) = processes.pop() {
        let folder = format!("/proc/{process}/task");
        // One that has ended meanwhile does nothing more.
        let Ok(tasks) = fs::read_dir(&folder) else {
            continue;
        };
        for task in tasks.flatten() {
            let Some(thread) = task.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let read = |name: &str| fs::read_to_string(format!("{folder}/{thread}/{name}"));
            let (Ok(stat), Ok(runs)) = (read("stat"), read("schedstat")) else {
                continue;
            };
            // The state stands behind the name, which is in brackets and may be anything.
            let state = stat
                .rsplit_once(')')
                .and_then(|(_, rest)| rest.trim().chars().next());
            match state {
                Some('S' | 'T' | 't') => {}
                Some('Z' | 'X') => asleep.ended.push(thread),
                _ => return None,
            }
            let runs = runs.split_whitespace().nth(2)?.parse().ok()?;
            asleep.threads.push((thread, runs));
            let children = read("children").unwrap_or_default();
            processes.extend(children.split_whitespace().flat_map(str::parse::<u32>));
        }
    }
    Some(asleep)
}

#[cfg(test)]
#[allow(
    clippy::disallowed_methods,
    reason = "the test waits for other processes"
)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    #[test]
    fn what_waits_sleeps_and_what_works_does_not() {
        let start = |command: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", command]).stdin(Stdio::piped());
            shell
                .stdout(Stdio::null())
                .spawn()
                .expect("there is a shell")
        };
        let mut waits = start("cat | cat");
        let mut works = start("while :; do :; done");
        std::thread::sleep(Duration::from_millis(300));
        let found = asleep(waits.id()).expect("they wait for input");
        assert!(
            found.threads.len() >= 2 && found.ended.is_empty(),
            "{found:?}"
        );
        assert_eq!(asleep(waits.id()), Some(found));
        // It may be held up for a moment, but has run since.
        let (before, _) = (
            asleep(works.id()),
            std::thread::sleep(Duration::from_millis(50)),
        );
        assert!(before.is_none() || asleep(works.id()) != before);
        for child in [&mut waits, &mut works] {
            drop(child.stdin.take());
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
