//! A mount over veth pairs whose far ends are kernel stacks: what the tests of mounts and scripts run on.
//!
//! Everything goes when the value is dropped, whatever became of the test. The tests' root says which command mounts (`wire`), what stands
//! before the names of its ports (`PORTS`), and why it can mount none (`why_not`).
#![allow(
    clippy::disallowed_methods,
    reason = "these tests wait for other programs"
)]

use live::netns::{Namespace, VethEnd, veth};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Timeout of a command of a test, s, as an argument of timeout(1).
const COMMAND_TIMEOUT_S: &str = "120";
/// Timeout for an expected event on a busy machine.
const EVENT_TIMEOUT: Duration = Duration::from_secs(60);
/// Prefix of programs that must receive signals. The tests may have been started by nohup(1) or in
/// the background of a shell, with signals ignored.
const DEFAULT_SIGNALS: [&str; 2] = ["env", "--default-signal"];

/// Whether these tests can run here; says why not.
pub fn can_run(programs: &[&str]) -> bool {
    let missing = |program: &&&str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let here = std::env::split_paths(&path).any(|dir| dir.join(program).exists());
        !here && !Path::new("/usr/sbin").join(program).exists()
    };
    let root = fs::read_to_string("/proc/self/status")
        .is_ok_and(|status| status.lines().any(|line| line.starts_with("Uid:\t0\t0")));
    let why = if let Some(why) = crate::why_not() {
        why
    } else if !root {
        "needs root, for network namespaces and a mount".to_owned()
    } else if fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/fuse")
        .is_err()
    {
        "needs /dev/fuse".to_owned()
    } else if let Some(program) = programs.iter().find(missing) {
        format!("needs {program}")
    } else {
        return true;
    };
    eprintln!("skipped: {why}");
    false
}

/// A program in the background, with all its children; ended when dropped.
pub struct Job(Child);

impl Job {
    /// Starts it in a process group of its own.
    pub fn start(command: &mut Command) -> Job {
        Job(command.process_group(0).spawn().expect("it starts"))
    }

    /// Sends a signal to all of it.
    pub fn signal(&self, signal: &str) {
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill")
            .args(["-s", signal, "--", &group])
            .stderr(Stdio::null())
            .status();
    }

    /// Waits for its end, which is to come; false when it hangs.
    pub fn ends(&mut self) -> bool {
        self.ends_within(EVENT_TIMEOUT)
    }

    /// Waits for its end; false when that does not come in time.
    pub fn ends_within(&mut self, time: Duration) -> bool {
        eventually_within(time, || self.0.try_wait().expect("it is ours").is_some())
    }

    /// Whether it is still at work.
    pub fn is_running(&mut self) -> bool {
        self.0.try_wait().expect("it is ours").is_none()
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.signal("TERM");
        if !self.ends_within(Duration::from_secs(5)) {
            self.signal("KILL");
            let _ = self.0.wait();
        }
    }
}

/// Polls a condition that is to come true; false when it does not.
pub fn eventually(condition: impl FnMut() -> bool) -> bool {
    eventually_within(EVENT_TIMEOUT, condition)
}

/// Waits until so many packet sockets are open in a namespace.
pub fn await_packet_sockets(namespace: &Namespace, sockets: usize) {
    let open = || {
        let list = namespace.enter(|| fs::read_to_string("/proc/thread-self/net/packet"));
        // The first line is a heading.
        list.expect("it is ours")
            .unwrap_or_default()
            .lines()
            .count()
            > sockets
    };
    assert!(eventually(open), "no {sockets} packet sockets are open");
}

/// Polls a condition for so long.
pub fn eventually_within(time: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + time;
    loop {
        if condition() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A folder that goes with the value.
pub struct Folder(PathBuf);

impl Folder {
    /// A new one, of no other test.
    pub fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("wl-mount-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("there is room for a folder");
        Folder(path)
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A mount of some ports; behind each is a host with an address 10.77.0.1, 10.77.0.2 and so on.
pub struct Testbed {
    wire: Option<Job>,
    /// The interfaces behind the ports, in order.
    pub names: Vec<String>,
    /// Where the hosts are.
    pub hosts: Vec<Namespace>,
    /// Where the ports are.
    pub ports: Namespace,
    /// For files of the test.
    pub folder: Folder,
}

impl Testbed {
    /// Hosts numbered from `first`, and nothing mounted yet.
    pub fn bare(first: u8, count: u8) -> Testbed {
        let ports = Namespace::new().expect("root may make namespaces");
        let mut hosts = Vec::new();
        for index in 0..count {
            let host = Namespace::new().expect("root may make namespaces");
            let number = first + index;
            let ends = [
                VethEnd {
                    namespace: &ports,
                    name: &format!("w{index}"),
                    mac: Some([2, 0, 0, 0, 15, number]),
                },
                VethEnd {
                    namespace: &host,
                    name: "eth0",
                    mac: Some([2, 0, 0, 0, 0, number]),
                },
            ];
            veth(ends, 1500).expect("root may make veth pairs");
            host.add_address("eth0", [10, 77, 0, number].into(), 24)
                .expect("root may add addresses");
            hosts.push(host);
        }
        Testbed {
            wire: None,
            names: (0..count).map(|index| format!("w{index}")).collect(),
            hosts,
            ports,
            folder: Folder::new(),
        }
    }

    /// Hosts numbered from `first`, and a mount with these flags.
    pub fn with_hosts(first: u8, count: u8, flags: &[&str]) -> Testbed {
        let mut bed = Testbed::bare(first, count);
        bed.mount(flags);
        bed
    }

    /// Hosts 1 and up.
    pub fn new(count: u8, flags: &[&str]) -> Testbed {
        Testbed::with_hosts(1, count, flags)
    }

    /// Mounts, and waits until that is done.
    pub fn mount(&mut self, flags: &[&str]) {
        let mut command = self.ports.command("setpriv");
        // It goes when the test does, even if that is killed.
        command
            .args(["--pdeathsig", "TERM"])
            .args(DEFAULT_SIGNALS)
            .arg(crate::wire())
            .arg("mount")
            .arg(self.dir())
            .args(flags)
            .arg("--on")
            .args((self.names.iter()).map(|name| format!("{}{name}", crate::PORTS)));
        let log = fs::File::create(self.folder.path("wire.log")).expect("there is room");
        command.stdout(log.try_clone().expect("a second descriptor"));
        command.stderr(log);
        self.wire = Some(Job::start(&mut command));
        assert!(
            eventually(|| self.file("0").exists()),
            "no mount: {}",
            fs::read_to_string(self.folder.path("wire.log")).unwrap_or_default()
        );
    }

    /// The running `wire mount`.
    pub fn wire(&mut self) -> &mut Job {
        self.wire.as_mut().expect("it was started")
    }

    /// The mount.
    pub fn dir(&self) -> PathBuf {
        self.folder.path("mount")
    }

    /// A file of the mount.
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir().join(name)
    }

    /// A counter of a port.
    pub fn counter(&self, port: usize, name: &str) -> u64 {
        let text =
            fs::read_to_string(self.file(&format!("{port}.d/counters"))).expect("it is there");
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.expect("the counter exists")
            .parse()
            .expect("counters are numbers")
    }

    /// A script of examples/scripts, with its environment; not started. It ends after two minutes.
    pub fn script(&self, name: &str) -> Command {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scripts");
        let mut command = self.shell();
        command.arg(scripts.join(name));
        command
    }

    /// A line for `sh`, in whose environment DIR is the mount; started.
    pub fn sh(&self, line: &str) -> Job {
        Job::start(self.shell().args(["sh", "-c", line]))
    }

    fn shell(&self) -> Command {
        let mut command = self.ports.command("timeout");
        let wire = Path::new(crate::wire())
            .parent()
            .expect("it is in a folder");
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}:/usr/sbin:/sbin", wire.display()));
        command
            .env("DIR", self.dir())
            .arg(COMMAND_TIMEOUT_S)
            .args(DEFAULT_SIGNALS)
            .stdin(Stdio::null());
        command
    }

    /// Waits until so many readers have a port's file open.
    pub fn await_readers(&self, port: usize, count: u64) {
        assert!(
            eventually(|| self.counter(port, "readers") == count),
            "{count} readers of {port}"
        );
    }

    /// A command of a host, which ends after a minute.
    pub fn host(&self, index: usize, program: &str) -> Command {
        let mut command = self.hosts[index].command("timeout");
        command
            .arg(COMMAND_TIMEOUT_S)
            .arg(program)
            .stdin(Stdio::null());
        command
    }

    /// Whether a host gets an answer from an address: to one of the pings that it sends for a minute, while what leads there starts.
    pub fn pings(&self, from: usize, to: &str) -> bool {
        let end = Instant::now() + Duration::from_secs(60);
        let mut text = String::new();
        while !text.contains("bytes from") && Instant::now() < end {
            let mut ping = self.host(from, "ping");
            let output = ping
                .args(["-n", "-c", "3", "-i", "0.3", "-W", "2", to])
                .output();
            text = String::from_utf8_lossy(&output.expect("ping starts").stdout).into_owned();
        }
        let answered = text.contains("bytes from");
        if !answered {
            eprintln!("{text}{}", self.log());
        }
        answered
    }

    /// What is known of the mount, for the message of a failure.
    pub fn log(&self) -> String {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let mut text = read(self.folder.path("wire.log"));
        for port in 0..self.names.len() {
            for name in ["counters", "error", "readers"] {
                text += &read(self.file(&format!("{port}.d/{name}")));
            }
        }
        text
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        self.wire = None;
        // A test may have killed the program; a dead mount would stay.
        let _ = Command::new("umount")
            .arg("-l")
            .arg(self.dir())
            .stderr(Stdio::null())
            .status();
    }
}

/// Text of a command's output; the test fails if the command did.
pub fn text(output: Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{:?}\n{text}\n{errors}",
        output.status
    );
    text + &errors
}
