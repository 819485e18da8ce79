//! Network namespaces and the veth pairs between them, made and removed without any other program.
//!
//! A namespace has no name and lives as long as somebody holds it: when the process ends, however it
//! ends, the kernel removes it with all its interfaces. One that other programs are to find
//! (`ip netns exec NAME`) is given a name, and its guard takes that away again.

mod link;

pub(crate) use link::{Batch, number_here, wait_here};
pub use link::{Route, VethEnd, veth};

use crate::kernel::thread;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Where named namespaces are kept, by the custom of ip-netns(8).
const NAMES: &str = "/run/netns";
/// That of this thread.
const HERE: &str = "/proc/thread-self/ns/net";

/// What was tried with a namespace, and why it did not work.
#[derive(Debug, thiserror::Error)]
pub enum NetnsError {
    /// The process may not do this.
    #[error(
        "{doing} needs CAP_SYS_ADMIN and CAP_NET_ADMIN: run as root, or in a user namespace: unshare -rn COMMAND"
    )]
    Permission {
        /// What was tried.
        doing: String,
    },
    /// Any other refusal.
    #[error("{doing}: {source}")]
    Io {
        /// What was tried.
        doing: String,
        /// What the system said.
        source: io::Error,
    },
}

impl NetnsError {
    fn new(doing: impl Into<String>, source: io::Error) -> NetnsError {
        let doing = doing.into();
        match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => NetnsError::Permission { doing },
            _ => NetnsError::Io { doing, source },
        }
    }
}

/// A network namespace, empty but for its loopback.
#[derive(Debug)]
pub struct Namespace {
    fd: OwnedFd,
    name: Option<PathBuf>,
}

impl Namespace {
    /// Makes a namespace that nobody else can see. IPv6 is off in it, so that no interface says
    /// anything of its own accord.
    ///
    /// # Errors
    /// When the process may not, or the system has no room.
    pub fn new() -> Result<Namespace, NetnsError> {
        let doing = "making a network namespace";
        // A thread of its own is in the new namespace, and ends with this call.
        let made = std::thread::scope(|scope| {
            let thread = thread::spawn_scoped(scope, "namespace", || {
                // SAFETY: a plain system call on this thread.
                if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                    return Err(io::Error::last_os_error());
                }
                quiet_ipv6(true);
                Ok(OwnedFd::from(File::open(HERE)?))
            })?;
            thread.join().expect("making a namespace does not panic")
        });
        let fd = made.map_err(|source| NetnsError::new(doing, source))?;
        let namespace = Namespace { fd, name: None };
        namespace.set_up("lo")?;
        Ok(namespace)
    }

    /// Makes a namespace that `ip netns exec NAME` finds, as long as this value lives.
    ///
    /// # Errors
    /// As [`new`](Namespace::new); and when there is one of that name already.
    pub fn named(name: &str) -> Result<Namespace, NetnsError> {
        let mut namespace = Namespace::new()?;
        let path = PathBuf::from(NAMES).join(name);
        let failed = |source| NetnsError::new(format!("naming namespace {name}"), source);
        std::fs::create_dir_all(NAMES).map_err(failed)?;
        File::create_new(&path).map_err(failed)?;
        let from = format!("/proc/self/fd/{}", namespace.fd.as_raw_fd());
        let (from, to) = (c_string(&from), c_string(&path.to_string_lossy()));
        // SAFETY: both are C strings; the other arguments are not used for a bind mount.
        let result = unsafe {
            libc::mount(
                from.as_ptr(),
                to.as_ptr(),
                std::ptr::null(),
                libc::MS_BIND,
                std::ptr::null(),
            )
        };
        // From here on the guard takes the file away, whether or not something is mounted on it.
        namespace.name = Some(path);
        match result {
            0 => Ok(namespace),
            _ => Err(failed(io::Error::last_os_error())),
        }
    }

    /// A namespace that is there already, such as `ip netns add NAME` makes one; it stays.
    ///
    /// # Errors
    /// When there is none of that name, or it may not be looked at.
    pub fn existing(name: &str) -> Result<Namespace, NetnsError> {
        let opened = File::open(PathBuf::from(NAMES).join(name));
        let failed = |source| NetnsError::new(format!("looking for the namespace {name}"), source);
        let fd = OwnedFd::from(opened.map_err(failed)?);
        Ok(Namespace { fd, name: None })
    }

    /// Runs `body` on a thread of its own inside the namespace, and returns what it returns. Sockets
    /// and threads that are made in it stay inside.
    ///
    /// # Errors
    /// When the thread may not enter.
    ///
    /// # Panics
    /// When `body` does.
    pub fn enter<T: Send>(&self, body: impl FnOnce() -> T + Send) -> Result<T, NetnsError> {
        std::thread::scope(|scope| {
            let inside = || self.enter_here().map(|()| body());
            let thread = thread::spawn_scoped(scope, "namespace", inside)
                .map_err(|source| NetnsError::new("entering a network namespace", source))?;
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// The namespace of this thread; `None` where the system does not tell.
    pub(crate) fn here() -> Option<Namespace> {
        let fd = OwnedFd::from(File::open(HERE).ok()?);
        Some(Namespace { fd, name: None })
    }

    /// Runs `body` in the namespace: without a thread and without any rights where this thread is in it already.
    ///
    /// # Errors
    /// When it may not enter.
    pub(crate) fn visit<T: Send>(&self, body: impl FnOnce() -> T + Send) -> Result<T, NetnsError> {
        let number = |file: &File| file.metadata().ok().map(|data| (data.dev(), data.ino()));
        let here = File::open(HERE).ok().as_ref().and_then(number);
        let own = self.fd.try_clone().ok().map(File::from);
        match here.is_some() && here == own.as_ref().and_then(number) {
            true => Ok(body()),
            false => self.enter(body),
        }
    }

    /// Moves this thread into the namespace for good.
    ///
    /// # Errors
    /// When it may not enter.
    pub fn enter_here(&self) -> Result<(), NetnsError> {
        set_namespace(self.fd.as_raw_fd())
            .map_err(|source| NetnsError::new("entering a network namespace", source))
    }

    /// The descriptor that holds it.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// A program that runs inside.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let fd = self.fd.as_raw_fd();
        // SAFETY: between fork and exec the closure makes one system call and allocates nothing. The
        // descriptor is closed at exec only; the caller runs the command while the namespace lives.
        unsafe {
            command.pre_exec(move || set_namespace(fd));
        }
        command
    }

    /// Sets an interface of the namespace up.
    ///
    /// # Errors
    /// When there is none of that name, or the process may not.
    pub fn set_up(&self, name: &str) -> Result<(), NetnsError> {
        self.change(name, |batch, number| batch.set_up(number, name))
    }

    /// Sets an interface of the namespace down.
    ///
    /// # Errors
    /// When there is none of that name, or the process may not.
    pub fn set_down(&self, name: &str) -> Result<(), NetnsError> {
        self.change(name, |batch, number| batch.set_down(number, name))
    }

    /// Removes an interface of the namespace; a veth pair goes with either end.
    ///
    /// # Errors
    /// When there is none of that name, or the process may not.
    pub fn remove(&self, name: &str) -> Result<(), NetnsError> {
        self.change(name, |batch, number| batch.remove(number, name))
    }

    /// Gives an interface of the namespace an address, and lets IPv6 speak on it if that is of IPv6.
    ///
    /// # Errors
    /// When there is none of that name, or the process may not.
    pub fn add_address(&self, name: &str, address: IpAddr, prefix: u8) -> Result<(), NetnsError> {
        if address.is_ipv6() {
            self.enter(|| quiet_ipv6(false))?;
        }
        self.change(name, |batch, number| {
            batch.address(number, name, address, prefix)
        })
    }

    fn change(
        &self,
        name: &str,
        put: impl FnOnce(&mut Batch, u32) + Send,
    ) -> Result<(), NetnsError> {
        self.enter(|| {
            let mut batch = Batch::default();
            put(&mut batch, number_here(name)?);
            batch.send()
        })?
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if let Some(path) = &self.name {
            let target = c_string(&path.to_string_lossy());
            // SAFETY: a C string. That nothing may be mounted there is no harm.
            unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) };
            let _ = std::fs::remove_file(path);
        }
    }
}

fn set_namespace(fd: RawFd) -> io::Result<()> {
    // SAFETY: a plain system call on this thread, with a descriptor that the caller holds.
    match unsafe { libc::setns(fd, libc::CLONE_NEWNET) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Turns IPv6 of this thread's namespace off or on, for the interfaces there are and those to come.
/// Without it no interface sends router solicitations and multicast reports of its own accord.
pub(crate) fn quiet_ipv6(quiet: bool) {
    let value = if quiet { "1" } else { "0" };
    for scope in ["default", "all"] {
        // Where the kernel has no IPv6 there is nothing to be quiet; where /proc/sys is read-only the
        // frames are merely seen.
        let _ = std::fs::write(
            format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"),
            value,
        );
    }
}

/// Lets this thread's namespace pass packets on between its interfaces.
pub(crate) fn forward_here() -> Result<(), NetnsError> {
    for (switch, optional) in [
        ("ipv4/ip_forward", false),
        ("ipv6/conf/all/forwarding", true),
    ] {
        match std::fs::write(format!("/proc/sys/net/{switch}"), "1") {
            // Where the kernel has no IPv6 there is nothing to forward.
            Err(error) if error.kind() == io::ErrorKind::NotFound && optional => {}
            Err(error) => {
                return Err(NetnsError::new(
                    format!("writing /proc/sys/net/{switch}"),
                    error,
                ));
            }
            Ok(()) => {}
        }
    }
    Ok(())
}

fn c_string(text: &str) -> CString {
    let bytes = text.bytes().filter(|&byte| byte != 0).collect::<Vec<u8>>();
    CString::new(bytes).expect("the zeros were taken out")
}
