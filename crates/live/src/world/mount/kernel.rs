//! Mounting, and the device through which the kernel asks.

use super::directory::{self, Hold};
use super::protocol::{self, HEADER};
use std::ffi::CString;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program that mounts for ordinary users.
const FUSERMOUNT: &str = "fusermount3";

/// Why a directory cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// The directory is not there, and cannot be made.
    #[error("cannot make the directory {}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// No FUSE here.
    #[error("cannot open /dev/fuse: {0}; the kernel needs the module `fuse` (modprobe fuse)")]
    NoFuse(io::Error),
    /// Another `wire mount` is there.
    #[error(
        "{} is the mount of another `wire mount`{whose}; end that (umount {}), name another directory, or mount over it with --over",
        path.display(), path.display()
    )]
    Taken {
        /// The directory.
        path: PathBuf,
        /// Whose, as far as it is known, behind a comma.
        whose: String,
    },
    /// The kernel refuses the mount.
    #[error("cannot mount on {}: {source}", path.display())]
    Refused {
        /// The directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The helper for ordinary users is missing or refuses.
    #[error(
        "cannot mount on {} as an ordinary user: {why}; install fuse3, use a directory of your own, \
         or run as root", path.display()
    )]
    Helper {
        /// The directory.
        path: PathBuf,
        /// What the helper said.
        why: String,
    },
    /// A thread could not be started.
    #[error(transparent)]
    Thread(io::Error),
}

/// The device: requests come out, answers go in.
pub struct Device(OwnedFd);

impl Device {
    /// Waits for a request and reads it into `buffer`; `None` when the mount is gone.
    ///
    /// # Errors
    /// Those of read(2) that mean something.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            // SAFETY: the buffer is ours for the time of the call, and its length is given.
            let got =
                unsafe { libc::read(self.0.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
            if got >= 0 {
                return Ok(Some(got as usize));
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                // A request that was taken back before it could be read, or a signal.
                Some(libc::ENOENT | libc::EINTR | libc::EAGAIN) => {}
                Some(libc::ENODEV | libc::ECONNABORTED) => return Ok(None),
                _ => return Err(error),
            }
        }
    }

    /// Writes a header and what follows it. An error means that the request is no longer there, or
    /// the whole mount: in both cases nobody waits for the answer.
    fn write(&self, header: &[u8], content: &[u8]) {
        let parts = [
            libc::iovec {
                iov_base: header.as_ptr().cast_mut().cast(),
                iov_len: header.len(),
            },
            libc::iovec {
                iov_base: content.as_ptr().cast_mut().cast(),
                iov_len: content.len(),
            },
        ];
        let count = if content.is_empty() { 1 } else { 2 };
        // SAFETY: both parts are valid for reading with these lengths; writev does not write to them.
        unsafe { libc::writev(self.0.as_raw_fd(), parts.as_ptr(), count) };
    }
}

impl super::Kernel for Device {
    fn answer(&self, unique: u64, error: i32, content: &[u8]) {
        self.write(
            &protocol::answer_header(unique, error, content.len()),
            content,
        );
    }

    fn notify(&self, wakeup: u64) {
        self.write(&protocol::poll_notice(wakeup), &[]);
    }
}

fn is_root() -> bool {
    // SAFETY: geteuid only returns a number.
    unsafe { libc::geteuid() == 0 }
}

fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

/// A mount; removed when dropped.
pub struct Mounted {
    path: PathBuf,
    /// How many directories at the end of the path were made for the mount.
    made: usize,
    /// The mount's number, by which it is told from others in the same place.
    number: Option<u64>,
    /// Tells other mounts of the directory, in other namespaces too, that it is in use.
    hold: Option<Hold>,
    /// Somebody has unmounted it already.
    gone: bool,
}

impl Mounted {
    /// Mounts on `path`, which is made if it is not there. What a crash has left there is removed.
    ///
    /// # Errors
    /// See [`MountError`].
    pub fn new(path: &Path, over: bool) -> Result<(Mounted, Device), MountError> {
        detach_dead(path);
        let directory = |source| MountError::Directory {
            path: path.to_owned(),
            source,
        };
        let made = path
            .ancestors()
            .take_while(|path| !path.as_os_str().is_empty() && !path.exists());
        let made = made.count();
        if made > 0 {
            std::fs::create_dir_all(path).map_err(directory)?;
        }
        let path = path.canonicalize().map_err(directory)?;
        let taken = directory::top(&path).filter(directory::Top::is_ours);
        if let Some(top) = taken.as_ref().filter(|_| !over) {
            let whose = top.whose();
            return Err(MountError::Taken { path, whose });
        }
        let hold = match taken {
            None => Hold::of(&path),
            Some(_) => None,
        };
        let device = if is_root() {
            mount_directly(&path)
        } else {
            mount_by_helper(&path)
        };
        match device {
            Ok(fd) => Ok((
                Mounted {
                    number: directory::top(&path).map(|top| top.number),
                    path,
                    made,
                    hold,
                    gone: false,
                },
                Device(fd),
            )),
            Err(error) => {
                remove(&path, made);
                Err(error)
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The kernel has said that the mount is gone.
    pub fn set_gone(&mut self) {
        self.gone = true;
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Another may have mounted over it since: that one stays.
        let top = directory::top(&self.path).map(|top| top.number);
        if !self.gone && top == self.number {
            detach(&self.path);
        }
        // One that this mount was over, and that has ended meanwhile.
        detach_dead(&self.path);
        // Removed, the directory would take with it what others have mounted on it, in other namespaces too.
        if self.hold.as_ref().is_none_or(Hold::is_last) {
            remove(&self.path, self.made);
        }
    }
}

/// Removes a directory and those above it, so many in all, as far as they are empty.
fn remove(path: &Path, count: usize) {
    for path in path.ancestors().take(count) {
        if std::fs::remove_dir(path).is_err() {
            return;
        }
    }
}

/// Takes a mount away whose process is gone: everything but unmounting it fails.
fn detach_dead(path: &Path) {
    let dead = |error: &io::Error| error.raw_os_error() == Some(libc::ENOTCONN);
    if std::fs::metadata(path).as_ref().is_err_and(dead) {
        detach(path);
    }
}

/// Takes the mount away from the tree; files that are open in it stay open until they are closed.
fn detach(path: &Path) {
    if is_root() {
        if let Ok(path) = c_path(path) {
            // SAFETY: the path is a valid C string.
            unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) };
        }
    } else {
        let _ = Command::new(FUSERMOUNT)
            .args(["-u", "-z", "-q", "--"])
            .arg(path)
            .output();
    }
}

fn mount_directly(path: &Path) -> Result<OwnedFd, MountError> {
    let refused = |source| MountError::Refused {
        path: path.to_owned(),
        source,
    };
    let device = std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/fuse")
        .map_err(MountError::NoFuse)?;
    let options = format!(
        "fd={},rootmode=40755,user_id=0,group_id=0,allow_other,default_permissions,max_read={}",
        device.as_raw_fd(),
        protocol::MAX_TRANSFER
    );
    let options = CString::new(options).expect("no zero in it");
    let target = c_path(path).map_err(refused)?;
    let source = CString::new(directory::source()).expect("no zero in it");
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC | libc::MS_NOATIME;
    // SAFETY: all four are valid C strings; FUSE reads its options as one.
    let result = unsafe {
        libc::mount(
            source.as_ptr(),
            target.as_ptr(),
            c"fuse.wire".as_ptr(),
            flags,
            options.as_ptr().cast(),
        )
    };
    match result {
        0 => Ok(device.into()),
        _ => Err(refused(io::Error::last_os_error())),
    }
}

/// `fusermount3` opens the device, mounts, and hands the device over through a socket.
fn mount_by_helper(path: &Path) -> Result<OwnedFd, MountError> {
    let failed = |why: String| MountError::Helper {
        path: path.to_owned(),
        why,
    };
    let (ours, theirs) = UnixStream::pair().map_err(|error| failed(error.to_string()))?;
    keep_on_exec(theirs.as_raw_fd()).map_err(|error| failed(error.to_string()))?;
    let output = Command::new(FUSERMOUNT)
        .env("_FUSE_COMMFD", theirs.as_raw_fd().to_string())
        .args([
            "-o",
            &format!(
                "fsname={},subtype=wire,default_permissions,nosuid,nodev,noatime",
                directory::source()
            ),
        ])
        .arg("--")
        .arg(path)
        .output()
        .map_err(|error| failed(format!("{FUSERMOUNT}: {error}")))?;
    drop(theirs);
    if !output.status.success() {
        return Err(failed(
            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        ));
    }
    receive_descriptor(&ours)
        .map_err(|error| failed(format!("{FUSERMOUNT} gave no device: {error}")))
}

fn keep_on_exec(fd: RawFd) -> io::Result<()> {
    // SAFETY: the descriptor is open; the call changes a flag of it.
    match unsafe { libc::fcntl(fd, libc::F_SETFD, 0) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn receive_descriptor(socket: &UnixStream) -> io::Result<OwnedFd> {
    /// Room for one descriptor, aligned as the kernel wants it.
    #[repr(C, align(8))]
    struct Control([u8; 64]);
    let (mut byte, mut control) = ([0], Control([0; 64]));
    let mut part = IoSliceMut::new(&mut byte);
    // SAFETY: zero is valid for each field; pointers are set below to memory that outlives the call.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = (&raw mut part).cast();
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    // SAFETY: the message points to one buffer and to aligned control memory, both with their lengths.
    let got = unsafe { libc::recvmsg(socket.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC) };
    if got < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: recvmsg has set the message up; the header, if there is one, lies in `control`.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(&message);
        if header.is_null()
            || (*header).cmsg_level != libc::SOL_SOCKET
            || (*header).cmsg_type != libc::SCM_RIGHTS
        {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let fd = std::ptr::read_unaligned(libc::CMSG_DATA(header).cast::<RawFd>());
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

const _: () = assert!(protocol::BUFFER >= protocol::MAX_TRANSFER + HEADER + 40);
