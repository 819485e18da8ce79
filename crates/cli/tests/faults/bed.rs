//! Namespaces with links between them, and what is counted there.

use crate::shell::{DEFAULT_SIGNALS, is_root, prepare};
use live::netns::{Namespace, NetnsError, VethEnd, veth};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Two namespaces; e0 and e1 of the first are linked with f0 and f1 of the second.
pub struct Bed {
    /// Where the command under test runs.
    pub near: Namespace,
    /// Its neighbours.
    pub far: Namespace,
}

impl Bed {
    /// Makes them; `None`, and the reason on standard output, where that cannot be.
    pub fn new(test: &str) -> Option<Bed> {
        if !is_root(test) {
            return None;
        }
        let made = || -> Result<Bed, NetnsError> {
            let bed = Bed {
                near: Namespace::new()?,
                far: Namespace::new()?,
            };
            for number in 0..2 {
                link(
                    (&bed.near, &format!("e{number}")),
                    (&bed.far, &format!("f{number}")),
                )?;
            }
            Ok(bed)
        };
        made()
            .map_err(|error| println!("skipped: {test}: {error}"))
            .ok()
    }
}

/// A pair of interfaces, both up.
pub fn link(a: (&Namespace, &str), b: (&Namespace, &str)) -> Result<(), NetnsError> {
    let end = |(namespace, name)| VethEnd {
        namespace,
        name,
        mac: None,
    };
    veth([end(a), end(b)], 1500)
}

/// Runs ip(8) in a namespace.
pub fn ip(namespace: &Namespace, words: &str) {
    let output = namespace
        .command("ip")
        .args(words.split(' '))
        .output()
        .expect("ip starts");
    assert!(
        output.status.success(),
        "ip {words}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A counter of an interface, such as `rx_packets`; 0 where there is none of that name.
pub fn counter(namespace: &Namespace, interface: &str, name: &str) -> u64 {
    let words = ["-j", "-s", "-s", "link", "show", interface];
    let output = namespace
        .command("ip")
        .args(words)
        .output()
        .expect("ip starts");
    let links: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let (way, what) = name.split_once('_').expect("a way and what is counted");
    links[0]["stats64"][way][what].as_u64().unwrap_or(0)
}

/// `timeout` in mount and network namespaces of its own, whose mounts go to and from what it would leak to, and that
/// writes what is there, before and behind, to two files; see [`left`].
pub fn apart() -> Command {
    let look = "{ cat /proc/self/mountinfo; ip -o link | cut -d: -f2; ls /run/netns 2>/dev/null; }";
    let script = format!("{look} > ../before; \"$@\"; code=$?; {look} > ../behind; exit $code");
    let mut command = Command::new("unshare");
    command.args([
        "-mn",
        "--propagation",
        "shared",
        "sh",
        "-c",
        &script,
        "sh",
        "timeout",
    ]);
    command
}

/// Lines of the file behind that are not in the file before.
pub fn left(folder: &Path) -> Vec<String> {
    let read = |name| std::fs::read_to_string(folder.with_file_name(name)).unwrap_or_default();
    let before = read("before");
    let before: Vec<&str> = before.lines().collect();
    let behind = read("behind");
    behind
        .lines()
        .filter(|line| !before.contains(line))
        .map(str::to_owned)
        .collect()
}

/// A command in the background.
pub struct Program {
    child: Child,
    folder: PathBuf,
    name: String,
}

/// What a program came to.
pub struct Ended {
    /// What it wrote to standard output.
    pub out: Vec<u8>,
    /// And to standard error.
    pub said: String,
}

impl Program {
    /// Starts a line of words in a namespace; what it writes goes to files of that name in `folder`.
    pub fn start(folder: &Path, namespace: &Namespace, name: &str, line: &str) -> Program {
        let mut command = namespace.command("setpriv");
        command
            .args(["--pdeathsig", "KILL"])
            .args(DEFAULT_SIGNALS)
            .args(line.split(' '));
        let file =
            |end: &str| File::create(folder.join(format!("{name}.{end}"))).expect("there is room");
        prepare(&mut command)
            .stdin(Stdio::null())
            .stdout(file("out"))
            .stderr(file("err"));
        let child = command.spawn().expect("setpriv starts");
        Program {
            child,
            folder: folder.into(),
            name: name.into(),
        }
    }

    /// Ends it as Ctrl-C does.
    pub fn stop(self) -> Ended {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-s", "INT", &pid])
                .status()
                .is_ok_and(|kill| kill.success()),
            "{}",
            self.said()
        );
        self.wait()
    }

    /// Waits for its end.
    pub fn wait(mut self) -> Ended {
        let end = Instant::now() + Duration::from_secs(1_000);
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("it is ours") {
                break status;
            }
            assert!(
                Instant::now() < end,
                "{} does not end: {}",
                self.name,
                self.said()
            );
            std::thread::sleep(Duration::from_millis(20));
        };
        let said = self.said();
        assert!(!said.contains("panicked"), "{}: {said}", self.name);
        assert!(
            matches!(status.code(), Some(0 | 1 | 130)),
            "{}: {status}: {said}",
            self.name
        );
        let out = std::fs::read(self.folder.join(format!("{}.out", self.name))).unwrap_or_default();
        Ended { out, said }
    }

    fn said(&self) -> String {
        std::fs::read_to_string(self.folder.join(format!("{}.err", self.name))).unwrap_or_default()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// The report of a type, which is a line of JSON among its output.
    pub fn report(&self, kind: &str) -> serde_json::Value {
        let text = String::from_utf8_lossy(&self.out);
        let mut lines = text
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        lines
            .find(|line| line["type"] == kind)
            .unwrap_or_else(|| panic!("no report {kind}: {text}{}", self.said))
    }

    /// The number that stands before some words on standard error; 0 if they are not there.
    pub fn number_before(&self, words: &str) -> u64 {
        let (before, _) = self.said.split_once(words).unwrap_or_default();
        let number = before.rsplit([' ', ',']).find_map(|word| word.parse().ok());
        number.unwrap_or(0)
    }
}
