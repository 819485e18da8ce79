//! Lists of system calls: allow-lists of readers and servers, and the deny-list of other commands with ports.

use super::Permissions;
use super::groups::*;
use seccompiler::{
    BackendError, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};
use std::collections::BTreeMap;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Operations of a server after its ports are open. Each adds a group of system calls to its list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Accepts connections.
    pub accepts: bool,
    /// Makes sockets of IP, and connects them.
    pub connects: bool,
    /// Connects to Unix sockets.
    pub connects_to_path: bool,
    /// Asks for the state of interfaces, and binds to one again that was removed and made again.
    pub interfaces: bool,
    /// Writes files, and puts them in place.
    pub writes: bool,
    /// Removes files, such as that of a socket.
    pub removes: bool,
    /// Makes machine code.
    pub compiles: bool,
    /// Loads programs into the kernel, and changes their maps.
    pub kernel: bool,
    /// Writes to an open database, and removes its log at the end.
    pub stores: bool,
}

/// A list under construction, of calls and of rules for their arguments.
struct Calls(Rules);

impl Calls {
    fn of(groups: &[&[i64]]) -> Calls {
        Calls(Rules::new()).with(groups)
    }

    fn with(mut self, groups: &[&[i64]]) -> Calls {
        let calls = groups.iter().copied().flatten();
        self.0.extend(calls.map(|&call| (call, Vec::new())));
        self
    }

    /// Adds a call under these rules, of which one must hold. Without rules it is always allowed.
    fn only(mut self, call: i64, rules: Vec<SeccompRule>) -> Calls {
        self.0.insert(call, rules);
        self
    }

    /// Adds the calls of every command for memory, threads, terminals and files.
    fn usual(self, writes: bool, compiles: bool, ioctls: &[u64]) -> Result<Calls, BackendError> {
        let opened = |argument| match writes {
            true => Ok(Vec::new()),
            false => Ok(vec![bits(argument, TO_WRITE, 0)?]),
        };
        let mapped = || match compiles {
            true => Ok(Vec::new()),
            false => Ok(vec![bits(2, libc::PROT_EXEC as u64, 0)?]),
        };
        let mut calls = self
            .with(&[MEMORY, THREADS, STATE, SIGNALS, TIME, OPEN_FILES, NAMES])
            .only(libc::SYS_clone, vec![bits(0, THREAD, THREAD)?])
            // The call -1 is none: the kernel answers ENOSYS. A tracer that answers a call in the kernel's place makes it this one.
            .only(u32::MAX.into(), Vec::new())
            .only(libc::SYS_openat, opened(2)?)
            .only(libc::SYS_mmap, mapped()?)
            .only(libc::SYS_mprotect, mapped()?)
            .only(libc::SYS_ioctl, values(1, ioctls)?)
            .only(libc::SYS_prctl, values(0, &PRCTLS)?);
        if cfg!(target_arch = "x86_64") {
            calls = calls.only(OPEN, opened(1)?);
        }
        if writes {
            calls = calls.with(&[CONTENTS, NEW_FILES, REMOVAL]);
        }
        Ok(calls)
    }

    /// Any other call ends the process.
    fn allowed(self) -> Result<SeccompFilter, BackendError> {
        filter(self.0, SeccompAction::Trap, SeccompAction::Allow)
    }
}

/// The calls of a command that reads files.
pub fn reader(permissions: Permissions) -> Result<SeccompFilter, BackendError> {
    // Not TIOCSTI, which would type on the user's terminal.
    let mut ioctls = IOCTLS.to_vec();
    let mut calls = Calls::of(&[CONTENTS, READERS]);
    if permissions.kernel {
        calls = calls.with(&[&[libc::SYS_bpf]]);
    }
    if permissions.accepts {
        calls = calls.with(&[SOCKETS, ACCEPTING]);
    }
    if permissions.edits {
        // Sets the terminal to single keys and back, and hears of its new size by a pair of sockets of its own.
        ioctls.extend([libc::TCSETS, libc::TCSETSW, libc::TCSETSF]);
        calls = calls.with(&[&[libc::SYS_socketpair]]);
    }
    calls
        .usual(permissions.writes, permissions.compiles, &ioctls)?
        .allowed()
}

/// The calls of a server.
pub fn server(needs: Needs) -> Result<SeccompFilter, BackendError> {
    // The server waits for the process that removes its files.
    let waits: &[i64] = &[libc::SYS_wait4];
    let mut calls = Calls::of(&[SOCKETS, PRIORITY, waits]);
    let (mut families, mut made) = (Vec::new(), Vec::new());
    if needs.accepts {
        calls = calls.with(&[ACCEPTING]);
    }
    if needs.removes || needs.stores {
        calls = calls.with(&[REMOVAL]);
    }
    if needs.stores {
        calls = calls.with(&[CONTENTS]);
    }
    if needs.connects {
        families.extend([libc::AF_INET, libc::AF_INET6]);
    }
    if needs.connects_to_path {
        families.push(libc::AF_UNIX);
    }
    if needs.interfaces {
        // The kernel is asked about interfaces by sockets that are bound to nothing.
        families.extend([libc::AF_INET, libc::AF_NETLINK]);
    }
    if needs.kernel {
        calls = calls.with(&[&[libc::SYS_bpf]]);
    }
    if !families.is_empty() {
        made.extend([libc::SYS_bind, libc::SYS_connect]);
        let families: Vec<u64> = families.iter().map(|&family| family as u64).collect();
        calls = calls.only(libc::SYS_socket, values(0, &families)?);
    }
    let mut calls = calls
        .with(&[&made])
        .usual(needs.writes, needs.compiles, &IOCTLS)?;
    if needs.interfaces {
        let mut rules = values(1, &IOCTLS)?;
        rules.push(bits(1, ALL & !0xff, OF_SOCKETS)?);
        calls = calls.only(libc::SYS_ioctl, rules);
    }
    calls.allowed()
}

/// The calls of a process that waits for the end of another, and then removes files.
pub fn remover() -> Result<SeccompFilter, BackendError> {
    let calls: &[i64] = &[
        libc::SYS_read,
        libc::SYS_newfstatat,
        libc::SYS_unlinkat,
        libc::SYS_exit_group,
        libc::SYS_rt_sigreturn,
        libc::SYS_restart_syscall,
    ];
    Calls::of(&[calls]).allowed()
}

/// All calls except those that no command with ports makes.
pub fn forbidden(kernel: bool) -> Result<SeccompFilter, BackendError> {
    let mut calls = Calls::of(&[NEVER]).only(libc::SYS_clone, vec![bits(0, THREAD, 0)?]);
    if kernel {
        calls.0.remove(&libc::SYS_bpf);
    }
    filter(calls.0, SeccompAction::Allow, SeccompAction::Trap)
}

/// The flags of clone3(2) lie in memory, where no filter sees them; told that there is no such call, libraries take clone(2).
pub fn no_clone3() -> Result<SeccompFilter, BackendError> {
    let none = SeccompAction::Errno(libc::ENOSYS as u32);
    filter(
        Calls::of(&[&[libc::SYS_clone3]]).0,
        SeccompAction::Allow,
        none,
    )
}

fn filter(
    rules: Rules,
    otherwise: SeccompAction,
    then: SeccompAction,
) -> Result<SeccompFilter, BackendError> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, otherwise, then, architecture)
}

/// A rule for calls whose argument number `argument` equals `value` in the bits of `mask`.
fn bits(argument: u8, mask: u64, value: u64) -> Result<SeccompRule, BackendError> {
    let compare = SeccompCmpOp::MaskedEq(mask);
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Qword, compare, value)?;
    SeccompRule::new(vec![condition])
}

/// Rules for calls whose 32-bit argument number `argument` is one of `values`.
fn values(argument: u8, values: &[u64]) -> Result<Vec<SeccompRule>, BackendError> {
    let rules = values.iter().map(|&value| bits(argument, ALL, value));
    rules.collect()
}

/// An argument of 32 bits.
const ALL: u64 = u32::MAX as u64;
const THREAD: u64 = libc::CLONE_THREAD as u64;
/// Flags of a file that is opened to be changed.
const TO_WRITE: u64 = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC) as u64;

/// Number of open(2), which newer architectures do not have.
#[cfg(target_arch = "x86_64")]
const OPEN: i64 = libc::SYS_open;
#[cfg(not(target_arch = "x86_64"))]
const OPEN: i64 = libc::SYS_openat;

/// Requests about a terminal and its width, about bytes that wait in a pipe, and for calls that do not block.
const IOCTLS: [u64; 5] = [
    libc::TCGETS,
    0x802c_542a, // TCGETS2
    libc::TIOCGWINSZ,
    libc::FIONREAD,
    libc::FIONBIO,
];

/// Questions to sockets about interfaces: SIOCGIFFLAGS, SIOCETHTOOL and others.
const OF_SOCKETS: u64 = 0x8900;

/// Names of threads and of memory, exact timers, the capability bounding set.
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
