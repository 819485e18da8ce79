//! Running the command as a shell does, in a directory of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// `listening N` waits until N sockets are given what interfaces receive: by then that many ports are open.
const LISTENING: &str = r#"listening() {
    until [ "$(awk '$6 == 1' /proc/self/net/packet | wc -l)" -ge "$1" ]; do sleep 0.05; done
}
export -f listening"#;

/// A directory that goes with this value.
pub struct Place {
    pub path: PathBuf,
}

impl Place {
    /// One of its own, though tests of other files, that run at the same time, may say the same name.
    pub fn new(name: &str) -> Place {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{number}"));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Place { path }
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path.join(name), content).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path.join(name)).unwrap()
    }

    /// The names of what is in it.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.path).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into())
            .collect()
    }

    /// Runs a script in bash, with `wire` on its path; one that hangs is ended after two minutes.
    pub fn run(&self, script: &str) -> Ended {
        self.run_by(Command::new("timeout"), script)
    }

    /// The same, by a `timeout` that runs elsewhere.
    pub fn run_by(&self, mut timeout: Command, script: &str) -> Ended {
        let script = format!("set -o pipefail\n{LISTENING}\n{script}");
        timeout.args(["-k", "2", "120"]).args(DEFAULT_SIGNALS);
        timeout.args(["bash", "-c", &script]);
        let output = prepare(timeout.current_dir(&self.path))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Ended::new(output)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// What stands before a program that signals are to reach, though the tests may have been started by nohup(1) or in the
/// background of a shell, with signals ignored.
pub const DEFAULT_SIGNALS: [&str; 2] = ["env", "--default-signal"];

/// Puts `wire` on the path.
pub fn prepare(command: &mut Command) -> &mut Command {
    let folder = Path::new(env!("CARGO_BIN_EXE_wire")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    command
        .env("PATH", format!("{}:{path}", folder.display()))
        // What tests find out about ports is not the user's.
        .env(
            "XDG_STATE_HOME",
            concat!(env!("CARGO_TARGET_TMPDIR"), "/state"),
        )
}

/// What a script left behind.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ended {
    pub fn new(output: Output) -> Ended {
        Ended {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into(),
            err: String::from_utf8_lossy(&output.stderr).into(),
        }
    }

    /// The output of a script that must have gone well, without a word on stderr.
    #[track_caller]
    pub fn good(self) -> String {
        assert_eq!(
            (self.code, self.err.as_str()),
            (Some(0), ""),
            "{}",
            self.out
        );
        self.out
    }

    /// Whether the script needs a program that is not installed; reports it as a skip.
    pub fn lacks_a_program(&self, test: &str) -> bool {
        let missing = self
            .err
            .lines()
            .find_map(|line| line.strip_suffix(": command not found"))
            .and_then(|line| line.rsplit(": ").next())
            .filter(|&program| program != "wire");
        if let Some(program) = missing {
            println!("skipped: {test} needs {program}");
        }
        missing.is_some()
    }

    /// The output of a command on ports that must have gone well: on stderr stands what it does, until when, and nothing else.
    #[track_caller]
    pub fn good_on_ports(mut self) -> String {
        let life = self.err.lines().next().unwrap_or_default();
        let told = life.starts_with("wire: ") && life.ends_with("until Ctrl-C");
        assert!(told, "{}", self.err);
        self.err = self.err.lines().skip(1).collect();
        self.good()
    }
}

/// Some packets as lines: every other one is ARP; stamps 1 us apart.
pub fn lines(count: usize) -> String {
    let mut text = String::new();
    for n in 0..count {
        let dst = n % 7;
        let stamp = 1_000 + 125 * n;
        let payload = match n % 2 {
            0 => format!(
                "0800 45 00 00 20 00 00 00 00 40 11 00 00 0A 00 00 01 0A 00 00 {:02X} 00 35 10 00 00 0C 00 00 {:02X} {:02X} {:02X} {:02X}",
                n % 200 + 1,
                n >> 24 & 255,
                n >> 16 & 255,
                n >> 8 & 255,
                n & 255
            ),
            _ => format!(
                "0806 00 01 08 00 06 04 00 01 {:02X} {:02X}",
                n >> 8 & 255,
                n & 255
            ),
        };
        text.push_str(&format!(
            "{stamp:016X} 02000000000{dst} 0200000000FF {payload}\n"
        ));
    }
    text
}

/// Whether the test has what only root has; says so if not.
pub fn is_root(test: &str) -> bool {
    let root = std::fs::metadata("/proc/self").is_ok_and(|own| {
        use std::os::unix::fs::MetadataExt;
        own.uid() == 0
    });
    if !root {
        println!("skipped: {test} needs root, for network namespaces and ports");
    }
    root
}

/// Whether unshare(1) works with these flags; says so if not, as in a chroot, whose `/` is no mount point, for mounts.
pub fn can_unshare(flags: &str, test: &str) -> bool {
    let tried = Command::new("unshare").args([flags, "true"]).output();
    let why = match tried {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => format!("no unshare (Debian: util-linux): {error}"),
    };
    println!("skipped: {test} needs `unshare {flags}`: {why}");
    false
}

/// Whether a program is there; says so if not.
pub fn has(program: &str, test: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        println!("skipped: {test} needs {program}");
    }
    found
}
