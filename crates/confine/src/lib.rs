//! What a command keeps once it has opened what it needs: few capabilities, no way to gain others, and few system calls.
//!
//! A decoder that a capture, a program or a packet has got the better of then runs in a process that can start no other, open no
//! socket or no file to write, and has no rights of root. Three kinds of guard, since commands differ in what can be known:
//!
//! - a command that reads files ([`reader`]) makes system calls out of a short list; all others end it;
//! - a server that unauthenticated peers can reach ([`server`], [`member`]) has a list of its own, according to its ports and
//!   options. It also changes to an unprivileged user, and the kernel denies it files to write (Landlock);
//! - other commands with ports ([`ports`]) may have to open them again, on any path of the kernel's; what no packet function ever needs
//!   ends them: starting programs, tracing, mounting, namespaces, other identities, keys, modules.
//!
//! The module `calls` builds the lists from the groups in `groups`.
//!
//! Commands that start programs of the user - `cut --command`, `relay run --command`, `lab --world live`, `mount` - are not guarded: what they start
//! may be sudo(8). A call that is not allowed ends the process with a message, by SIGSYS. `WIRE_CONFINE=off` does without all of it.

#![forbid(unsafe_code)]

mod calls;
mod groups;
#[cfg(test)]
mod tests;

use anyhow::Context;
use calls::Needs;
use landlock::{
    ABI, AccessFs, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError,
};
use live::port::{ChannelSpec, Endpoint, Medium, PortSpec};
use live::remover::Remover;
use live::user::{User, is_root};
use rustix::fs::{AtFlags, CWD, Gid, Uid, chownat, fchown};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
use seccompiler::{BackendError, BpfProgram, SeccompFilter, apply_filter_all_threads};
use std::os::fd::BorrowedFd;
use std::path::Path;

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
    /// Accepts connections at sockets that are open.
    pub accepts: bool,
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
    guard(keep, || calls::reader(permissions))
}

/// From here on the command works on ports that are open, and opens them again when they return.
/// `paths` is for one that has yet to make or remove a socket or a file.
///
/// # Errors
/// When the system refuses.
pub fn ports<'a>(specs: impl IntoIterator<Item = &'a PortSpec>, paths: bool) -> anyhow::Result<()> {
    let all = Ports::of(specs);
    let mut keep = all.keep;
    if paths || !all.files.is_empty() || !all.sockets.is_empty() {
        keep |= WRITES;
    }
    guard(keep, || calls::forbidden(all.xdp))
}

/// Properties of ports that are open.
struct Ports<'a> {
    /// Capabilities with which they can be opened again.
    keep: CapabilitySet,
    /// Over AF_XDP.
    xdp: bool,
    /// Files that are written and put in place.
    files: Vec<&'a Path>,
    /// Unix sockets that listen, whose files are removed in the end.
    sockets: Vec<&'a Path>,
    needs: Needs,
}

impl<'a> Ports<'a> {
    fn of(specs: impl IntoIterator<Item = &'a PortSpec>) -> Ports<'a> {
        // Threads that keep time are made later.
        let timed = CapabilitySet::SYS_NICE | CapabilitySet::IPC_LOCK;
        let packets = CapabilitySet::NET_RAW | CapabilitySet::NET_ADMIN;
        let mut all = Ports {
            keep: CapabilitySet::empty(),
            xdp: false,
            files: Vec::new(),
            sockets: Vec::new(),
            needs: Needs::default(),
        };
        for spec in specs {
            let spec = match spec {
                PortSpec::Rtl(_, Medium::Port(cable)) => cable,
                spec => spec,
            };
            match spec {
                PortSpec::Interface(_) | PortSpec::Any | PortSpec::Tap(_) | PortSpec::Queue(_) => {
                    all.keep |= packets | timed;
                    all.needs.interfaces = true;
                }
                PortSpec::Xdp(..) => {
                    all.keep |= packets | timed | CapabilitySet::BPF;
                    all.needs.interfaces = true;
                    all.xdp = true;
                }
                PortSpec::Udp { .. } | PortSpec::Multicast { .. } => all.keep |= timed,
                PortSpec::Capture(path) | PortSpec::Path(path) => all.files.push(path),
                PortSpec::Channel(spec) => all.channel(spec),
                PortSpec::Standard | PortSpec::Dummy(_) | PortSpec::Rtl(..) => {}
            }
        }
        all.needs.writes = !all.files.is_empty();
        all
    }

    fn channel(&mut self, spec: &'a ChannelSpec) {
        match (&spec.endpoint, spec.listen) {
            (Endpoint::Path(path), true) => self.sockets.push(path),
            (Endpoint::Path(_), false) => self.needs.connects_to_path = true,
            (Endpoint::Host(..), true) => {}
            (Endpoint::Host(..), false) => self.needs.connects = true,
        }
        self.needs.accepts |= spec.listen;
    }
}

/// Options of a server that decide on its user and its system calls.
#[derive(Clone, Copy, Default)]
pub struct Service<'a> {
    /// The user to change to, by name or number; by default an unused number.
    pub user: Option<&'a str>,
    /// Open sockets that share their port with others of this user.
    pub shared: &'a [BorrowedFd<'a>],
    /// The Unix socket of `--control`, which is open.
    pub control: Option<&'a Path>,
    /// Accepts connections that are not those of a port.
    pub accepts: bool,
    /// Makes sockets of IP.
    pub connects: bool,
    /// Makes machine code.
    pub compiles: bool,
    /// Changes maps and programs in the kernel.
    pub kernel: bool,
    /// Writes to an open database, and syncs it to disk.
    pub stores: bool,
}

/// To be kept until the server's ports are closed.
#[must_use]
#[derive(Debug)]
pub struct Kept {
    _remover: Option<Remover>,
}

/// Restricts a server after its ports are open: to its own list of system calls, and to writing no files but those of its
/// ports. From root it changes to `user`, a name or number, by default to an unused user number. The files of Unix sockets are
/// then removed by another process. Without `user` it stays root with ports that are files, to put them in place, and with
/// ports that connect to Unix sockets, whose servers believe processes of root.
///
/// # Errors
/// When there is no such user, or the system refuses.
pub fn server<'a>(
    specs: impl IntoIterator<Item = &'a PortSpec>,
    service: Service<'a>,
) -> anyhow::Result<Kept> {
    let mut all = Ports::of(specs);
    all.sockets.extend(service.control);
    let (mut remover, mut removes) = (None, !all.sockets.is_empty());
    if is_off() {
        return Ok(Kept { _remover: None });
    }
    if is_root() {
        let named = service
            .user
            .map(|name| User::find(name).with_context(|| format!("--user {name}")));
        let may = all.files.is_empty() && !all.needs.connects_to_path;
        let dynamic = || may.then(User::dynamic);
        let user = named.transpose()?.or_else(dynamic);
        if let Some(user) = user.filter(|user| user.user != 0) {
            remover = start_remover(&all.sockets);
            removes = false;
            // Sockets share a port with those of the same user only.
            let (own, group) = (Uid::from_raw(user.user), Gid::from_raw(user.group));
            for socket in service.shared {
                fchown(socket, Some(own), Some(group)).context("handing a socket over")?;
            }
            for path in all.sockets.iter().filter(|_| service.user.is_some()) {
                let handed = chownat(
                    CWD,
                    *path,
                    Some(own),
                    Some(group),
                    AtFlags::SYMLINK_NOFOLLOW,
                );
                handed.with_context(|| format!("handing {} over", path.display()))?;
            }
            user.assume().context("giving up root")?;
        }
    }
    // A socket of AF_XDP that is open needs no call about programs.
    let mut keep = all.keep.difference(CapabilitySet::BPF);
    if service.kernel {
        keep |= KERNEL;
    }
    if removes || !all.files.is_empty() || all.needs.connects_to_path {
        keep |= WRITES;
    }
    write_only_at(&all)?;
    let needs = Needs {
        accepts: all.needs.accepts || service.accepts || service.control.is_some(),
        connects: all.needs.connects || service.connects,
        removes: !all.sockets.is_empty(),
        compiles: service.compiles,
        kernel: service.kernel,
        stores: service.stores,
        interfaces: all.needs.interfaces || service.kernel,
        ..all.needs
    };
    guard(keep, || calls::server(needs))?;
    Ok(Kept { _remover: remover })
}

/// Restricts a member or a client of a group on these ports to its own list of system calls. A member keeps its `state` in files.
///
/// # Errors
/// When the system refuses.
pub fn member<'a>(
    specs: impl IntoIterator<Item = &'a PortSpec>,
    state: bool,
) -> anyhow::Result<()> {
    let all = Ports::of(specs);
    let mut keep = all.keep;
    if !all.files.is_empty() {
        keep |= WRITES;
    }
    if !state {
        write_only_at(&all)?;
    }
    let needs = Needs {
        writes: all.needs.writes || state,
        ..all.needs
    };
    guard(keep, || calls::server(needs))
}

/// Starts the process that removes the files of sockets. If it cannot start, the files stay.
fn start_remover(sockets: &[&Path]) -> Option<Remover> {
    if sockets.is_empty() {
        return None;
    }
    let filter = calls::remover().and_then(BpfProgram::try_from);
    let keep = CapabilitySet::DAC_OVERRIDE | CapabilitySet::FOWNER;
    // Allocates nothing.
    let restrict = || {
        let _ = keep_only(keep);
        if let Ok(program) = &filter {
            let _ = seccompiler::apply_filter(program);
        }
    };
    let started = Remover::start(sockets, restrict);
    let explain = |error: &std::io::Error| {
        for path in sockets {
            eprintln!(
                "wire: {} stays when this ends: no process to remove it: {error}; the next start replaces it",
                path.display()
            );
        }
    };
    started.inspect_err(explain).ok()
}

/// Has the kernel refuse to make, change and remove files but those of ports, where it has Landlock; devices and settings of the kernel may be written to.
fn write_only_at(ports: &Ports<'_>) -> anyhow::Result<()> {
    let writes = AccessFs::from_write(ABI::V3);
    let rules = Ruleset::default().handle_access(writes)?.create()?;
    let places = ["/dev", "/proc", "/sys"]
        .map(|place| (Path::new(place).into(), AccessFs::WriteFile.into()));
    let files = ports.files.iter().flat_map(|path| {
        // A link may lead to another folder.
        let target = std::fs::canonicalize(path).ok();
        let folders = [Some(folder_of(path)), target.as_deref().map(folder_of)];
        folders
            .into_iter()
            .flatten()
            .map(|folder| (folder.to_owned(), writes))
            .collect::<Vec<_>>()
    });
    let sockets = ports
        .sockets
        .iter()
        .map(|path| (folder_of(path).to_owned(), AccessFs::RemoveFile.into()));
    let all = places.into_iter().chain(files).chain(sockets);
    let open = |(path, access): (std::path::PathBuf, BitFlags<AccessFs>)| {
        PathFd::new(path)
            .ok()
            .map(|path| PathBeneath::new(path, access))
    };
    let rules = rules.add_rules(all.filter_map(open).map(Ok::<_, RulesetError>))?;
    rules.restrict_self().context("Landlock")?;
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
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
    filter: impl FnOnce() -> Result<SeccompFilter, BackendError>,
) -> anyhow::Result<()> {
    if is_off() {
        return Ok(());
    }
    keep_only(keep).context("dropping capabilities")?;
    rustix::thread::set_no_new_privs(true).context("no_new_privs")?;
    // Elsewhere there are no lists of system calls, and the rest stands.
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return Ok(());
    }
    ::capture::signal::explain_refused_calls();
    let made = calls::no_clone3().and_then(|first| Ok([first, filter()?]));
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

/// Gives up all capabilities of this thread but these.
fn keep_only(keep: CapabilitySet) -> rustix::io::Result<()> {
    let permitted = capabilities(None)?.permitted;
    let kept = CapabilitySets {
        effective: permitted & keep,
        permitted: permitted & keep,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, kept)
}
