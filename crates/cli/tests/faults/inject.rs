//! Faults that strace(1) puts into the system calls of a command, one at a time.

use crate::shell::prepare;
use node::random::Random;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Timeout of a run, s. A good run takes some milliseconds, or the few seconds of its arguments.
const RUN_TIMEOUT_S: &str = "60";
/// By this variable a process is known as one that a trial started.
const MARK: &str = "WIRE_FAULTS_TRIAL";

/// First system call of Rust's runtime, which ignores SIGPIPE. It follows the calls of the dynamic
/// loader.
const BEGIN: &str = "rt_sigaction";

/// Calls that need room on a disk.
pub const DISK: &str = "write,pwrite64,writev,fsync,fdatasync,ftruncate,fallocate,copy_file_range,rename,renameat,renameat2,link,linkat,mkdir,mkdirat";
/// Calls that read what was written before.
pub const READING: &str = "read,pread64,readv,lseek,newfstatat,fstat,statx,getdents64";
/// Calls that make a descriptor.
pub const DESCRIPTORS: &str = "openat,socket,socketpair,pipe2,dup,dup3,fcntl,eventfd2,epoll_create1,timerfd_create,memfd_create,accept4,pidfd_open,inotify_init1";
/// Calls that a signal may interrupt. Not futex(2): to leave one out would be a wakeup lost, which no kernel does.
pub const WAITING: &str = "read,write,readv,writev,poll,ppoll,epoll_wait,epoll_pwait,recvfrom,recvmsg,recvmmsg,sendto,sendmsg,sendmmsg,accept4,connect,wait4,waitid,nanosleep,clock_nanosleep,flock,fsync,fdatasync";
/// Calls that send.
pub const SENDING: &str = "sendto,sendmsg,sendmmsg";
/// Calls that start a thread or a process.
pub const STARTING: &str = "clone,clone3,fork,vfork";
/// Calls that change what a process sees of the system.
pub const PLACING: &str =
    "mount,umount2,unshare,setns,fsopen,fsconfig,fsmount,move_mount,open_tree";
/// Calls of any kind.
pub const ANY: &str = "all";

/// What happens at one call, or at more.
#[derive(Clone, Debug)]
pub struct Fault {
    /// `error=ENOSPC`, or `signal=INT`, which comes as the call begins.
    pub what: &'static str,
    /// Names of calls, and which of them: `3` is the third of each thread, `1+2` every second one from the first on.
    pub when: Vec<(String, String)>,
}

impl Fault {
    /// At one call.
    pub fn at(what: &'static str, (name, nth): &(String, u32)) -> Fault {
        let when = vec![(name.clone(), nth.to_string())];
        Fault { what, when }
    }
}

/// What a command came to.
#[derive(Debug)]
pub struct Run {
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it wrote to standard error.
    pub said: String,
    /// Lines of strace.
    pub log: String,
}

impl Run {
    /// How often the fault came about.
    pub fn hits(&self) -> usize {
        self.log.lines().filter(|line| injected(line)).count()
    }

    /// The first call to which the fault came.
    pub fn injected(&self) -> &str {
        let line = self
            .log
            .lines()
            .find(|line| injected(line))
            .unwrap_or("nowhere");
        let end = line
            .char_indices()
            .nth(90)
            .map_or(line.len(), |(end, _)| end);
        &line[..end]
    }

    /// Which calls it made, by name and number, behind those of the loader of shared libraries.
    pub fn own_calls(&self) -> Vec<(String, u32)> {
        let (loader, _) = self.log.split_once(BEGIN).expect("the runtime begins");
        let loader = counts(loader);
        let ends = ["execve", "exit", "exit_group", "rt_sigreturn", BEGIN];
        let ours = counts(&self.log)
            .into_iter()
            .filter(|(name, _)| !ends.contains(&name.as_str()));
        let each = ours.flat_map(|(name, last)| {
            let before = loader.get(&name).copied().unwrap_or(0);
            (before + 1..=last).map(move |nth| (name.clone(), nth))
        });
        each.collect()
    }

    /// Whether the fault is one that no kernel has: a write to an eventfd neither waits nor is interrupted.
    pub fn is_unreal(&self) -> bool {
        const ONE: &str = r#", "\1\0\0\0\0\0\0\0", 8"#;
        let mut calls = self.failed_calls();
        calls.next().is_some_and(|call| call.contains(ONE))
    }

    /// Whether the fault came to a message on standard error: each thread's calls are counted by themselves.
    pub fn is_muted(&self) -> bool {
        self.failed_calls().any(|call| call.contains("write(2"))
    }

    /// The calls to which the fault came, as they began: strace tells one in two halves where another thread's came between.
    fn failed_calls(&self) -> impl Iterator<Item = &str> {
        let lines: Vec<&str> = self.log.lines().collect();
        let failed = (0..lines.len()).filter(|&at| injected(lines[at]));
        let calls = failed.map(|at| {
            let thread = lines[at].split(' ').next().unwrap_or_default();
            let is_half = |line: &&&str| line.starts_with(thread) && line.contains("<unfinished");
            let half = lines[..at].iter().rfind(is_half);
            half.filter(|_| lines[at].contains(" resumed>"))
                .unwrap_or(&lines[at])
        });
        calls.copied().collect::<Vec<_>>().into_iter()
    }

    /// What is wrong with any run, whatever went wrong around it.
    pub fn blemish(&self) -> Option<String> {
        if self.said.contains("panicked") || self.code == Some(101) {
            return Some("it panicked".into());
        }
        match (self.code, self.signal) {
            (Some(124 | 137), _) => Some(format!("it had not ended after {RUN_TIMEOUT_S} s")),
            (_, Some(signal)) if ![1, 2, 13, 15].contains(&signal) => {
                Some(format!("signal {signal} ended it"))
            }
            _ => None,
        }
    }
}

/// Whether a line tells of a fault: a call that strace made fail, or a signal.
fn injected(line: &str) -> bool {
    line.contains("(INJECTED)") || line.contains("--- SIGINT") || line.contains("--- SIGTERM")
}

/// How many calls of each name the threads of a log make, the most of one of them.
fn counts(log: &str) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::<(&str, &str), u32>::new();
    for line in log.lines() {
        // Neither the second half of a call, nor a signal, nor an end.
        if let Some((thread, rest)) = line.trim_start().split_once(' ')
            && let Some((name, _)) = rest.trim_start().split_once('(')
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            *counts.entry((thread, name)).or_default() += 1;
        }
    }
    let mut most = BTreeMap::new();
    for ((_, name), count) in counts {
        let most = most.entry(name.to_owned()).or_default();
        *most = count.max(*most);
    }
    most
}

/// How a command is run.
pub struct Setting<'a> {
    /// The folder in which it runs; standard output and error go to files of that name in it.
    pub folder: &'a Path,
    /// What runs it: `timeout`, here or in a namespace.
    pub by: Command,
}

/// Runs a line of words under strace, which notes the calls of `trace`; with the fault, if there is one.
pub fn run(
    setting: Setting<'_>,
    trace: &str,
    fault: Option<&Fault>,
    stdin: Stdio,
    line: &str,
) -> Run {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let mark = format!(
        "{}.{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    );
    let log = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("strace.{mark}"));
    let mut command = setting.by;
    command.args([
        "-k",
        "2",
        RUN_TIMEOUT_S,
        "env",
        "--default-signal",
        "strace",
        "-f",
        "-q",
        "-o",
    ]);
    let trace = if trace == ANY {
        trace.to_owned()
    } else {
        format!("{trace},{BEGIN}")
    };
    command.arg(&log).arg("-e").arg(format!("trace={trace}"));
    for (name, when) in fault.iter().flat_map(|fault| &fault.when) {
        let what = fault.map_or("", |fault| fault.what);
        command
            .arg("-e")
            .arg(format!("inject={name}:{what}:when={when}"));
    }
    prepare(&mut command)
        .arg("--")
        .args(line.split_whitespace());
    let file = |name| std::fs::File::create(setting.folder.join(name)).expect("there is room");
    command.current_dir(setting.folder).stdin(stdin);
    command.stdout(file("stdout")).stderr(file("stderr"));
    command.env("TMPDIR", setting.folder).env(MARK, &mark);
    // A backtrace reads files, which would change the count of calls.
    command.env_remove("RUST_BACKTRACE");
    let status = command.status().expect("timeout starts");
    let read = |path: &Path| {
        let bytes = std::fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let mut run = Run {
        code: status.code(),
        signal: std::os::unix::process::ExitStatusExt::signal(&status),
        said: read(&setting.folder.join("stderr")),
        log: read(&log),
    };
    let _ = std::fs::remove_file(&log);
    // timeout(1) tells of a signal as a shell does.
    if let Some(code @ 129..=159) = run.code
        && run.log.contains("+++ killed by SIG")
    {
        run.signal = Some(code - 128);
    }
    let left = processes(&mark);
    assert!(left.is_empty(), "{line}: {fault:?}: left behind: {left:?}");
    run
}

/// The processes of a trial that have not ended, after some seconds in which they could.
fn processes(mark: &str) -> Vec<String> {
    let wanted = format!("{MARK}={mark}");
    let mut left = Vec::new();
    for _ in 0..50 {
        left.clear();
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            if environment
                .split(|&byte| byte == 0)
                .any(|one| one == wanted.as_bytes())
            {
                let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
                left.push(String::from_utf8_lossy(&words).replace('\0', " "));
            }
        }
        if left.is_empty() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    left
}

/// Whether strace can put faults into calls here; says so if not.
pub fn works(test: &str) -> bool {
    static WHY_NOT: OnceLock<Option<String>> = OnceLock::new();
    let why = WHY_NOT.get_or_init(|| {
        let words = [
            "-f",
            "-o",
            "/dev/null",
            "-e",
            "inject=write:error=EDOM",
            "cat",
            "/proc/version",
        ];
        match Command::new("strace")
            .args(words)
            .env("LC_ALL", "C")
            .output()
        {
            Err(error) => Some(format!("strace (Debian: strace) does not start: {error}")),
            Ok(output) if output.status.code() == Some(1) && output.stdout.is_empty() => None,
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                let first = said
                    .lines()
                    .next()
                    .unwrap_or("the call did not fail")
                    .to_owned();
                Some(format!("strace cannot put faults into calls here: {first}"))
            }
        }
    });
    if let Some(why) = why {
        println!("skipped: {test}: {why}");
    }
    why.is_none()
}

/// All of some places if FAULTS=all, else up to `most` of them, the first and the last among them.
pub fn sample<T>(places: Vec<T>, most: usize) -> Vec<T> {
    let all = std::env::var("FAULTS").is_ok_and(|how| how == "all");
    draw(places, if all { usize::MAX } else { most })
}

/// Up to a hundred places if FAULTS=all, else up to `most`: where there are as many as there is time.
pub fn few<T>(places: Vec<T>, most: usize) -> Vec<T> {
    draw(sample(places, most), 100)
}

fn draw<T>(mut places: Vec<T>, most: usize) -> Vec<T> {
    let seed = std::env::var("FAULTS_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let mut random = Random::new(seed.unwrap_or(1) ^ (places.len() as u64) << 32);
    while places.len() > most.max(2) {
        places.remove(1 + random.below(places.len() as u64 - 2) as usize);
    }
    places
}
