//! From a job to a process: in its namespaces, with its own view of the system.
//!
//! What a job mounts must not come to the machine. Where that cannot be made sure of the job does not start; all else that
//! fails on the way the parent is told by a pipe, since exec(2) leaves nothing but a number.

use super::Job;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Waits for the end of its input, which is that of the process that started it, however that came;
/// then ends all others of its PID namespace, and removes the folder.
const INIT: &str = r#"while read -r _; do :; done; kill -9 -1; [ -z "$0" ] || rm -rf -- "$0""#;

/// The first process of a PID namespace: with it all others go.
pub struct Init(Child);

impl Init {
    /// Puts all children that this thread starts from now on into a PID namespace of their own. The
    /// thread can start no other threads any more.
    pub fn start(folder: Option<&Path>) -> io::Result<Init> {
        // SAFETY: a plain system call, which concerns the children of this thread only.
        if unsafe { libc::unshare(libc::CLONE_NEWPID) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(INIT);
        command.arg(folder.unwrap_or(Path::new("")));
        command.stdin(Stdio::piped());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.current_dir("/");
        // SAFETY: a system call that allocates nothing, between fork and exec. Ctrl-C is not for it.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                Ok(())
            });
        }
        command.spawn().map(Init)
    }

    /// The process's number.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Ends all that are left, and waits until they are gone.
    pub fn end(mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// A process under way.
pub struct Process {
    pub child: Child,
    /// Readable when it has ended; where the kernel has none, it is looked at now and then.
    pub pidfd: Option<OwnedFd>,
    /// What it writes; not for one that has the screen.
    pub output: Option<File>,
}

/// What the child needs between fork and exec, where it may allocate nothing.
struct Environment {
    namespace: RawFd,
    folder: CString,
    hosts: Vec<u8>,
    session: bool,
    /// Where it tells what has failed.
    report: RawFd,
}

/// What a job's process tried on its way, and what it says of it.
const STEPS: [&str; 7] = [
    "entering its network namespace",
    "making a mount namespace",
    "keeping its mounts from the machine, which needs that `/` is a mount point (in a chroot: make it one before, by mount \
     --bind DIR DIR)",
    "its own /proc",
    "its own /etc/hosts",
    "its own /sys",
    "entering the folder of this process",
];

/// A step of [`STEPS`].
#[derive(Clone, Copy)]
enum Step {
    Network,
    Mounts,
    Slave,
    Proc,
    Hosts,
    Sys,
    Folder,
}

/// Starts a job in a network namespace; beside it what of its view of the system it has to do without.
pub fn launch(job: &Job, namespace: RawFd, hosts: &[u8]) -> io::Result<(Process, Vec<String>)> {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(&job.command);
    let pairs = job.environment.iter();
    command.envs(pairs.map(|(name, value)| (name, value)));
    let output = match job.screen {
        true => None,
        false => {
            let [read, write] = pipe()?;
            command.stdin(Stdio::null());
            command.stdout(write.try_clone()?).stderr(write);
            Some(File::from(read))
        }
    };
    let [mut steps, tell] = pipe()?.map(File::from);
    let here = std::env::current_dir().unwrap_or_else(|_| "/".into());
    let place = Environment {
        namespace,
        folder: CString::new(here.as_os_str().as_bytes()).unwrap_or_default(),
        hosts: hosts.to_vec(),
        session: !job.screen,
        report: tell.as_raw_fd(),
    };
    // SAFETY: the closure makes system calls and allocates nothing.
    unsafe {
        command.pre_exec(move || place.enter());
    }
    let spawned = command.spawn();
    // The child has come to its exec, or to its end.
    let mut failed = [0; 5 * STEPS.len()];
    let read = steps.read(&mut failed).unwrap_or(0);
    let mut notes: Vec<String> = failed[..read].chunks_exact(5).map(note).collect();
    let child = spawned.map_err(|error| match notes.pop() {
        Some(note) => io::Error::new(error.kind(), note),
        None => error,
    })?;
    let pidfd = pidfd(child.id());
    let process = Process {
        child,
        pidfd,
        output,
    };
    Ok((process, notes))
}

/// A step and an errno, as [`Environment::failed`] writes them.
fn note(bytes: &[u8]) -> String {
    let step = STEPS
        .get(usize::from(bytes[0]))
        .copied()
        .unwrap_or_default();
    let errno = bytes[1..].try_into().map(i32::from_ne_bytes);
    let error = io::Error::from_raw_os_error(errno.unwrap_or_default());
    format!("{step}: {error}")
}

impl Environment {
    /// Between fork and exec.
    fn enter(&self) -> io::Result<()> {
        // SAFETY: system calls on this process alone, with C strings and buffers that live.
        unsafe {
            if libc::setns(self.namespace, libc::CLONE_NEWNET) != 0 {
                return Err(self.failed(Step::Network));
            }
            if self.session {
                libc::setsid();
            }
            for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP] {
                libc::signal(signal, libc::SIG_DFL);
            }
            if libc::unshare(libc::CLONE_NEWNS) != 0 {
                return Err(self.failed(Step::Mounts));
            }
        }
        // Up to here nothing is mounted. Without this what is mounted would be so everywhere.
        if !mount(c"none", c"/", c"none", libc::MS_REC | libc::MS_SLAVE) {
            return Err(self.failed(Step::Slave));
        }
        self.own_view();
        // SAFETY: a C string.
        if unsafe { libc::chdir(self.folder.as_ptr()) } != 0 {
            self.failed(Step::Folder);
        }
        Ok(())
    }

    /// Mounts what is the job's own. What fails it sees as the machine has it, which most programs do not mind: that is told.
    fn own_view(&self) {
        // With that of the machine, killall(1) would take the machine's processes for the lab's.
        if !mount(c"proc", c"/proc", c"proc", 0) {
            self.failed(Step::Proc);
        }
        // The file goes with the process: it is in memory, and what is mounted next hides it.
        if !self.own_hosts() {
            self.failed(Step::Hosts);
        }
        if !mount(c"sysfs", c"/sys", c"sysfs", 0) {
            self.failed(Step::Sys);
        }
    }

    fn own_hosts(&self) -> bool {
        if self.hosts.is_empty() {
            return true;
        }
        if !mount(c"tmpfs", c"/sys", c"tmpfs", 0) {
            return false;
        }
        let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_CLOEXEC;
        // SAFETY: system calls on this process alone, with C strings and a buffer that live.
        let written = unsafe {
            let file = libc::open(c"/sys/hosts".as_ptr(), flags, 0o644);
            if file < 0 {
                return false;
            }
            let written = libc::write(file, self.hosts.as_ptr().cast(), self.hosts.len());
            libc::close(file);
            written
        };
        written == self.hosts.len() as isize
            && mount(c"/sys/hosts", c"/etc/hosts", c"none", libc::MS_BIND)
    }

    /// Tells of a step whose last call has failed; its error.
    fn failed(&self, step: Step) -> io::Error {
        let error = io::Error::last_os_error();
        let mut bytes = [step as u8; 5];
        bytes[1..].copy_from_slice(&error.raw_os_error().unwrap_or_default().to_ne_bytes());
        // SAFETY: the bytes live; the pipe has room for all steps.
        unsafe { libc::write(self.report, bytes.as_ptr().cast(), bytes.len()) };
        error
    }
}

/// Whether it could.
fn mount(what: &CStr, at: &CStr, kind: &CStr, flags: libc::c_ulong) -> bool {
    // SAFETY: three C strings, and no data.
    let result = unsafe {
        libc::mount(
            what.as_ptr(),
            at.as_ptr(),
            kind.as_ptr(),
            flags,
            std::ptr::null(),
        )
    };
    result == 0
}

/// A pipe whose reading end never blocks.
fn pipe() -> io::Result<[OwnedFd; 2]> {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors, which are owned once the call has made them.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(io::Error::last_os_error());
        }
        let ends = ends.map(|fd| OwnedFd::from_raw_fd(fd));
        libc::fcntl(ends[0].as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK);
        Ok(ends)
    }
}

fn pidfd(pid: u32) -> Option<OwnedFd> {
    // SAFETY: a plain system call; a descriptor that it gives is owned by nobody else.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        (fd >= 0).then(|| OwnedFd::from_raw_fd(fd as RawFd))
    }
}
