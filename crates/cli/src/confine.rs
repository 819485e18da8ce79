//! What a command keeps once it has opened what it needs: few capabilities, no way to gain others, and few system calls.
//!
//! A decoder that a capture, a program or a packet has got the better of then runs in a process that can start no other, open no
//! socket or no file to write, and has no rights of root. Two kinds of guard, since two kinds of commands differ in what can be known:
//!
//! - who reads files ([`reader`]) makes system calls out of a short list; all others end it;
//! - who has ports ([`ports`]) may have to open them again, on any path of the kernel's; what no packet function ever needs ends it: starting
//!   programs, tracing, mounting, namespaces, other identities, keys, modules.
//!
//! A [`server`] that unauthenticated peers can reach also changes to an unprivileged user, and the kernel denies it every file
//! to write (Landlock).
//!
//! Commands that start programs of the user - `cut --command`, `relay run --command`, `lab --world live`, `mount` - are not guarded: what they start
//! may be sudo(8). A call that is not allowed ends the process with a message, by SIGSYS. `WIRE_CONFINE=off` does without all of it.

use anyhow::Context;
use landlock::{
    ABI, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
};
use live::port::{Medium, PortSpec};
use live::user::{User, is_root};
use rustix::fs::{Gid, Uid, fchown};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter_all_threads,
};
use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;

/// What a command that reads may do beside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// Puts files in place.
    pub writes: bool,
    /// Makes machine code.
    pub compiles: bool,
    /// Has lines typed and edited at a terminal.
    pub edits: bool,
    /// Loads programs into the kernel.
    pub kernel: bool,
}

/// From here on the command reads files, and writes where it has opened already or, if it may, to new files.
///
/// # Errors
/// When the system refuses.
pub fn reader(permissions: Permissions) -> anyhow::Result<()> {
    let mut keep = CapabilitySet::DAC_READ_SEARCH;
    if permissions.writes {
        keep |= WRITES;
    }
    if permissions.kernel {
        keep |= KERNEL;
    }
    guard(keep, || allowed(permissions))
}

/// From here on the command works on ports that are open, and opens them again when they return.
/// `paths` is for one that has yet to make or remove a socket or a file.
///
/// # Errors
/// When the system refuses.
pub fn ports<'a>(specs: impl IntoIterator<Item = &'a PortSpec>, paths: bool) -> anyhow::Result<()> {
    // Threads that keep time are made later.
    let timed = CapabilitySet::SYS_NICE | CapabilitySet::IPC_LOCK;
    let packets = CapabilitySet::NET_RAW | CapabilitySet::NET_ADMIN;
    let mut keep = CapabilitySet::empty();
    let (mut path, mut xdp) = (paths, false);
    for spec in specs {
        let spec = match spec {
            PortSpec::Rtl(_, Medium::Port(cable)) => cable,
            spec => spec,
        };
        match spec {
            PortSpec::Interface(_) | PortSpec::Any | PortSpec::Tap(_) | PortSpec::Queue(_) => {
                keep |= packets | timed;
            }
            PortSpec::Xdp(..) => {
                keep |= packets | timed | CapabilitySet::BPF;
                xdp = true;
            }
            PortSpec::Udp { .. } | PortSpec::Multicast { .. } => keep |= timed,
            PortSpec::Capture(_) | PortSpec::Path(_) => path = true,
            PortSpec::Channel(spec) => {
                path |= matches!(spec.endpoint, live::port::Endpoint::Path(_))
            }
            PortSpec::Standard | PortSpec::Dummy(_) | PortSpec::Rtl(..) => {}
        }
    }
    if path {
        keep |= WRITES;
    }
    guard(keep, || forbidden(xdp))
}

/// Restricts a server after its ports are open: it changes from root to `user`, a name or number, and
/// cannot open files for writing. Without `user` it changes to an unused user number. With ports at
/// paths it stays root, to remove them. `sockets` share their ports with those of that user.
///
/// # Errors
/// When there is no such user, or the system refuses.
pub fn server<'a>(
    specs: impl IntoIterator<Item = &'a PortSpec> + Clone,
    paths: bool,
    user: Option<&str>,
    sockets: &[BorrowedFd<'_>],
) -> anyhow::Result<()> {
    let at_path = |spec: &PortSpec| match spec {
        PortSpec::Capture(_) | PortSpec::Path(_) | PortSpec::Xdp(..) | PortSpec::Rtl(..) => true,
        PortSpec::Channel(spec) => matches!(spec.endpoint, live::port::Endpoint::Path(_)),
        _ => false,
    };
    let paths = paths || specs.clone().into_iter().any(at_path);
    if !is_off() && is_root() {
        let user = match user {
            Some(name) => Some(User::find(name).with_context(|| format!("--user {name}"))?),
            None => (!paths).then(User::dynamic),
        };
        if let Some(user) = user.filter(|user| user.user != 0) {
            // Sockets share a port with those of the same user only.
            let (own, group) = (Uid::from_raw(user.user), Gid::from_raw(user.group));
            for socket in sockets {
                fchown(socket, Some(own), Some(group)).context("handing a socket over")?;
            }
            user.assume().context("giving up root")?;
        }
    }
    if !is_off() && !paths {
        no_files()?;
    }
    ports(specs, paths)
}

/// Has the kernel refuse to make, change and remove files, where it has Landlock; devices and settings of the kernel may be written to.
fn no_files() -> anyhow::Result<()> {
    let writes = AccessFs::from_write(ABI::V3);
    let rules = Ruleset::default().handle_access(writes)?.create()?;
    let open = |path| {
        PathFd::new(path)
            .ok()
            .map(|path| PathBeneath::new(path, AccessFs::WriteFile))
    };
    let places = ["/dev", "/proc", "/sys"].into_iter().filter_map(open);
    let rules = rules.add_rules(places.map(Ok::<_, RulesetError>))?;
    rules.restrict_self().context("Landlock")?;
    Ok(())
}

/// From here on the command changes the maps of a program that it has in the kernel. `paths` is for one that has yet to make or remove a socket.
///
/// # Errors
/// When the system refuses.
pub fn kernel(paths: bool) -> anyhow::Result<()> {
    let keep = match paths {
        true => KERNEL | WRITES,
        false => KERNEL,
    };
    guard(keep, || forbidden(true))
}

/// What loads programs into the kernel. Without PERFMON a program may not compare addresses.
const KERNEL: CapabilitySet = CapabilitySet::BPF
    .union(CapabilitySet::NET_ADMIN)
    .union(CapabilitySet::PERFMON);

/// What root needs to write in folders of others.
const WRITES: CapabilitySet = CapabilitySet::DAC_OVERRIDE
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::CHOWN);

/// Whether the user does without all of it.
fn is_off() -> bool {
    std::env::var_os("WIRE_CONFINE").is_some_and(|value| value == "off")
}

fn guard(
    keep: CapabilitySet,
    filter: impl FnOnce() -> Result<SeccompFilter, seccompiler::BackendError>,
) -> anyhow::Result<()> {
    if is_off() {
        return Ok(());
    }
    let permitted = capabilities(None).context("capabilities")?.permitted;
    let kept = CapabilitySets {
        effective: permitted & keep,
        permitted: permitted & keep,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, kept).context("dropping capabilities")?;
    rustix::thread::set_no_new_privs(true).context("no_new_privs")?;
    // Elsewhere there are no lists of system calls, and the rest stands.
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return Ok(());
    }
    live::signal::explain_refused_calls();
    let made = no_clone3().and_then(|first| Ok([first, filter()?]));
    for filter in made.context("a filter of system calls")? {
        let program = BpfProgram::try_from(filter).context("a filter of system calls")?;
        if let Err(error) = apply_filter_all_threads(&program) {
            // Kernels and sandboxes without filters: the rest stands.
            eprintln!("wire: system calls are not filtered here: {error}");
            return Ok(());
        }
    }
    Ok(())
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn filter(
    rules: Rules,
    otherwise: SeccompAction,
    then: SeccompAction,
) -> Result<SeccompFilter, seccompiler::BackendError> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, otherwise, then, architecture)
}

/// A rule for calls whose argument of this number has, of the bits of `mask`, those of `value`.
fn bits(argument: u8, mask: u64, value: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    let compare = SeccompCmpOp::MaskedEq(mask);
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Qword, compare, value)?;
    SeccompRule::new(vec![condition])
}

/// The flags of clone3(2) lie in memory, where no filter sees them; told that there is no such call, libraries take clone(2).
fn no_clone3() -> Result<SeccompFilter, seccompiler::BackendError> {
    let rules = [(libc::SYS_clone3, Vec::new())].into();
    let none = SeccompAction::Errno(libc::ENOSYS as u32);
    filter(rules, SeccompAction::Allow, none)
}

const THREAD: u64 = libc::CLONE_THREAD as u64;

/// Only what who reads files needs.
fn allowed(permissions: Permissions) -> Result<SeccompFilter, seccompiler::BackendError> {
    let mut rules: Rules = READS.iter().map(|&call| (call, Vec::new())).collect();
    rules.insert(libc::SYS_clone, vec![bits(0, THREAD, THREAD)?]);
    // The call -1 is none: the kernel answers ENOSYS. A tracer that answers a call in the kernel's place makes it this one.
    rules.insert(u32::MAX.into(), Vec::new());
    let to_write = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC) as u64;
    let opens = [
        (libc::SYS_openat, 2),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_open, 1),
    ];
    for (call, argument) in opens {
        let rule = match permissions.writes {
            true => Vec::new(),
            false => vec![bits(argument, to_write, 0)?],
        };
        rules.insert(call, rule);
    }
    if permissions.writes {
        rules.extend(PUTS_IN_PLACE.iter().map(|&call| (call, Vec::new())));
    }
    if permissions.kernel {
        rules.insert(libc::SYS_bpf, Vec::new());
    }
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        let rule = match permissions.compiles {
            true => Vec::new(),
            false => vec![bits(2, libc::PROT_EXEC as u64, 0)?],
        };
        rules.insert(call, rule);
    }
    let all = u64::from(u32::MAX);
    let only = |argument, values: &[u64]| {
        values
            .iter()
            .map(|&value| bits(argument, all, value))
            .collect::<Result<Vec<_>, _>>()
    };
    // Not TIOCSTI, which would type on the user's terminal.
    let mut ioctls = IOCTLS.to_vec();
    if permissions.edits {
        // Sets the terminal to single keys and back, and hears of its new size by a pair of sockets of its own.
        ioctls.extend([libc::TCSETS, libc::TCSETSW, libc::TCSETSF]);
        rules.insert(libc::SYS_socketpair, Vec::new());
    }
    rules.insert(libc::SYS_ioctl, only(1, &ioctls)?);
    rules.insert(libc::SYS_prctl, only(0, &PRCTLS)?);
    filter(rules, SeccompAction::Trap, SeccompAction::Allow)
}

/// All but what nobody needs who has ports.
fn forbidden(xdp: bool) -> Result<SeccompFilter, seccompiler::BackendError> {
    let mut rules: Rules = NEVER.iter().map(|&call| (call, Vec::new())).collect();
    rules.insert(libc::SYS_clone, vec![bits(0, THREAD, 0)?]);
    if xdp {
        rules.remove(&libc::SYS_bpf);
    }
    filter(rules, SeccompAction::Allow, SeccompAction::Trap)
}

/// What a terminal is and how wide, what waits in a pipe, and not to block.
const IOCTLS: [u64; 5] = [
    libc::TCGETS,
    0x802c_542a, // TCGETS2
    libc::TIOCGWINSZ,
    libc::FIONREAD,
    libc::FIONBIO,
];

/// Names of threads and of memory, exact timers, what capabilities there are.
const PRCTLS: [u64; 7] = [
    // As libcap does, which libpcap brings, when it is loaded.
    libc::PR_CAPBSET_READ as u64,
    libc::PR_SET_NAME as u64,
    libc::PR_GET_NAME as u64,
    libc::PR_SET_TIMERSLACK as u64,
    0x5356_4d41, // PR_SET_VMA
    libc::PR_SET_NO_NEW_PRIVS as u64,
    libc::PR_SET_SECCOMP as u64,
];

const READS: &[i64] = &[
    // Files and pipes that are open, or opened to read.
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_fcntl,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    libc::SYS_fadvise64,
    libc::SYS_readahead,
    libc::SYS_copy_file_range,
    libc::SYS_sendfile,
    libc::SYS_splice,
    libc::SYS_tee,
    libc::SYS_vmsplice,
    libc::SYS_pipe2,
    libc::SYS_eventfd2,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_ftruncate,
    libc::SYS_flock,
    // Waiting.
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
    libc::SYS_restart_syscall,
    // Memory.
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_mincore,
    libc::SYS_brk,
    // Threads of this process, and its own state.
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_rseq,
    libc::SYS_set_tid_address,
    libc::SYS_membarrier,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getrandom,
    libc::SYS_getrusage,
    libc::SYS_prlimit64,
    libc::SYS_times,
    libc::SYS_sysinfo,
    libc::SYS_uname,
    libc::SYS_umask,
    libc::SYS_capget,
    libc::SYS_capset,
    libc::SYS_seccomp,
    // A filter before this one says that it does not exist.
    libc::SYS_clone3,
    // Signals, and the end.
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_sigaltstack,
    libc::SYS_tgkill,
    libc::SYS_kill,
    libc::SYS_exit,
    libc::SYS_exit_group,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_stat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lstat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_access,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_dup2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_pipe,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_select,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_time,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_arch_prctl,
];

const PUTS_IN_PLACE: &[i64] = &[
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_unlinkat,
    libc::SYS_mkdirat,
    libc::SYS_fallocate,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_fgetxattr,
    libc::SYS_fsetxattr,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
];

const NEVER: &[i64] = &[
    // Other programs and processes.
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_kcmp,
    // Another view of the system.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_open_by_handle_at,
    libc::SYS_mknodat,
    // Another user.
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setgroups,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
    libc::SYS_personality,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // The kernel itself.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Output};

    /// Runs this test again in a process of its own, where `body` is what it does.
    fn apart(name: &str, body: impl FnOnce()) -> Option<Output> {
        if std::env::var_os("WIRE_TEST_APART").is_some() {
            body();
            println!("still there");
            return None;
        }
        let own = std::env::current_exe().unwrap();
        let test = format!("confine::tests::{name}");
        let mut command = Command::new(own);
        command.args(["--exact", &test, "--nocapture"]);
        Some(command.env("WIRE_TEST_APART", "1").output().unwrap())
    }

    #[track_caller]
    fn ends(output: &Output, call: i64) {
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), Some(libc::SIGSYS), "{errors}");
        assert!(
            errors.contains(&format!("wire: system call {call} ")),
            "{errors}"
        );
    }

    #[track_caller]
    fn goes_on(output: &Output) {
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{:?} {errors}", output.status);
        assert!(String::from_utf8_lossy(&output.stdout).contains("still there"));
    }

    fn forbids() -> bool {
        cfg!(any(target_arch = "x86_64", target_arch = "aarch64"))
    }

    #[test]
    fn who_reads_opens_no_socket() {
        let output = apart("who_reads_opens_no_socket", || {
            reader(Permissions::default()).unwrap();
            let _ = std::net::UdpSocket::bind("127.0.0.1:0");
        });
        if let Some(output) = output.filter(|_| forbids()) {
            ends(&output, libc::SYS_socket);
        }
    }

    #[test]
    fn who_reads_opens_no_file_to_write() {
        let path = std::env::temp_dir().join(format!("wire-confine-{}", std::process::id()));
        let output = apart("who_reads_opens_no_file_to_write", || {
            reader(Permissions::default()).unwrap();
            let _ = std::fs::write(&path, "x");
        });
        if let Some(output) = output.filter(|_| forbids()) {
            ends(&output, libc::SYS_openat);
        }
    }

    #[test]
    fn who_reads_has_threads_files_and_clocks() {
        let output = apart("who_reads_has_threads_files_and_clocks", || {
            reader(Permissions::default()).unwrap();
            let thread = std::thread::spawn(|| std::fs::read("/proc/self/status").unwrap().len());
            assert!(thread.join().unwrap() > 0);
            assert!(std::fs::read_dir("/").unwrap().count() > 0);
            live::clock::now_ns();
            drop(vec![1u8; 50 << 20]);
        });
        if let Some(output) = output {
            goes_on(&output);
        }
    }

    #[test]
    fn who_still_writes_puts_a_file_in_place() {
        let output = apart("who_still_writes_puts_a_file_in_place", || {
            let writes = Permissions {
                writes: true,
                ..Permissions::default()
            };
            reader(writes).unwrap();
            let path = std::env::temp_dir().join(format!("wire-confine-{}", std::process::id()));
            let other = path.with_extension("other");
            std::fs::write(&path, "x").unwrap();
            std::fs::File::open(&path).unwrap().sync_all().unwrap();
            std::fs::rename(&path, &other).unwrap();
            std::fs::remove_file(&other).unwrap();
        });
        if let Some(output) = output {
            goes_on(&output);
        }
    }

    #[test]
    fn who_has_ports_starts_no_program() {
        let output = apart("who_has_ports_starts_no_program", || {
            ports([], false).unwrap();
            let _socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            let thread = std::thread::spawn(|| 1);
            assert_eq!(thread.join().unwrap(), 1);
            let _ = Command::new("true").status();
        });
        if let Some(output) = output.filter(|_| forbids()) {
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.signal(), Some(libc::SIGSYS), "{errors}");
        }
    }
}
