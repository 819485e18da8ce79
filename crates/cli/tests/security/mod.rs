//! Who may reach what runs.

mod certificates;
mod escaping;
mod files;
mod forgers;
mod group;
mod listeners;
mod memory;
mod privileges;
mod rest;
mod tls;
mod unidentified;

use crate::shell::{Place, prepare};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A program of two ports that need no rights.
const PORTS: &str = "--on udp:127.0.0.1:9 --on udp:127.0.0.1:9";
const PROGRAM: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../examples/p4-l2l3/l2l3.p4"
);

/// A command that runs until it is dropped.
struct Running {
    child: Child,
    errors: BufReader<std::process::ChildStderr>,
    said: String,
}

impl Running {
    /// Starts a script's last command, which is to be `exec wire ...`.
    fn start(place: &Place, script: &str) -> Running {
        let mut child = prepare(
            Command::new("bash")
                .args(["-c", script])
                .current_dir(&place.path),
        )
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
        let errors = BufReader::new(child.stderr.take().unwrap());
        let said = String::new();
        Running {
            child,
            errors,
            said,
        }
    }

    /// What is behind `before` in the line that has it, up to a blank; waits for that line.
    #[track_caller]
    fn told(&mut self, before: &str) -> String {
        loop {
            let mut line = String::new();
            let read = self.errors.read_line(&mut line).unwrap();
            assert!(read > 0, "it never said `{before}`: {}", self.said);
            self.said += &line;
            if let Some((_, rest)) = line.split_once(before) {
                return rest
                    .split_whitespace()
                    .next()
                    .unwrap_or_default()
                    .to_owned();
            }
        }
    }

    /// Ends it, and returns all that it said.
    fn stop(mut self) -> String {
        self.signal("TERM");
        let mut rest = String::new();
        while self.errors.read_line(&mut rest).unwrap() > 0 {}
        std::mem::take(&mut self.said) + &rest
    }

    fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        let _ = Command::new("kill").args(["-s", signal, &id]).status();
    }

    /// Processor time that it has used, in ticks of a hundredth of a second.
    fn ticks(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let behind = stat.rsplit_once(')').unwrap().1;
        let fields: Vec<&str> = behind.split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A loopback address with an unused UDP port.
fn free_address() -> std::net::SocketAddr {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap()
}

/// Polls for up to twenty seconds.
#[allow(
    clippy::disallowed_methods,
    reason = "these tests wait for other programs"
)]
fn eventually(mut condition: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(20);
    while !condition() {
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}
