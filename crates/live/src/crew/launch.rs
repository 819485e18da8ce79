//! From a job to a process: in its namespaces, with its own view of the system.

use super::Job;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Waits for the end of its input, which is that of the process that started it, however that came;
/// then ends all others of its PID namespace, and removes the folder.
const KEEPER: &str = r#"while read -r _; do :; done; kill -9 -1; [ -z "$0" ] || rm -rf -- "$0""#;

/// The first process of a PID namespace: with it all others go.
pub struct Keeper(Child);

impl Keeper {
    /// Puts all children that this thread starts from now on into a PID namespace of their own. The
    /// thread can start no other threads any more.
    pub fn start(folder: Option<&Path>) -> io::Result<Keeper> {
        // SAFETY: a plain system call, which concerns the children of this thread only.
        if unsafe { libc::unshare(libc::CLONE_NEWPID) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(KEEPER);
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
        command.spawn().map(Keeper)
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
struct Place {
    namespace: RawFd,
    folder: CString,
    hosts: Vec<u8>,
    session: bool,
}

/// Starts a job in a network namespace.
pub fn launch(job: &Job, namespace: RawFd, hosts: &[u8]) -> io::Result<Process> {
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
    let here = std::env::current_dir().unwrap_or_else(|_| "/".into());
    let place = Place {
        namespace,
        folder: CString::new(here.as_os_str().as_bytes()).unwrap_or_default(),
        hosts: hosts.to_vec(),
        session: !job.screen,
    };
    // SAFETY: the closure makes system calls and allocates nothing.
    unsafe {
        command.pre_exec(move || place.enter());
    }
    let child = command.spawn()?;
    let pidfd = pidfd(child.id());
    Ok(Process {
        child,
        pidfd,
        output,
    })
}

impl Place {
    /// Between fork and exec.
    fn enter(&self) -> io::Result<()> {
        // SAFETY: system calls on this process alone, with C strings and buffers that live.
        unsafe {
            if libc::setns(self.namespace, libc::CLONE_NEWNET) != 0 {
                return Err(io::Error::last_os_error());
            }
            if self.session {
                libc::setsid();
            }
            for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP] {
                libc::signal(signal, libc::SIG_DFL);
            }
            if libc::unshare(libc::CLONE_NEWNS) != 0 {
                return Err(io::Error::last_os_error());
            }
            let slave = libc::MS_REC | libc::MS_SLAVE;
            mount(c"none", c"/", c"none", slave);
            // With that of the machine, killall(1) would take the machine's processes for the lab's.
            mount(c"proc", c"/proc", c"proc", 0);
            if !self.hosts.is_empty() {
                // The file goes with the process: it is in memory, and what is mounted next hides it.
                mount(c"tmpfs", c"/sys", c"tmpfs", 0);
                let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_CLOEXEC;
                let file = libc::open(c"/sys/hosts".as_ptr(), flags, 0o644);
                if file >= 0 {
                    libc::write(file, self.hosts.as_ptr().cast(), self.hosts.len());
                    libc::close(file);
                    mount(c"/sys/hosts", c"/etc/hosts", c"none", libc::MS_BIND);
                }
            }
            mount(c"sysfs", c"/sys", c"sysfs", 0);
        }
        // SAFETY: a C string.
        unsafe { libc::chdir(self.folder.as_ptr()) };
        Ok(())
    }
}

/// Where it fails, the process has the machine's view instead, which most programs do not mind.
fn mount(what: &CStr, at: &CStr, kind: &CStr, flags: libc::c_ulong) {
    // SAFETY: three C strings, and no data.
    unsafe {
        libc::mount(
            what.as_ptr(),
            at.as_ptr(),
            kind.as_ptr(),
            flags,
            std::ptr::null(),
        )
    };
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
