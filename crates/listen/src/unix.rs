//! Unix sockets that only their owner may use.

use crate::{Gate, Permit};
use rustix::fs::{Mode, fchmod};
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
};
use rustix::process::geteuid;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;

/// Connections that wait to be accepted.
const WAITING: i32 = 128;

/// Listens at a path that only this user may connect to, whatever the umask: the socket has its mode before it has its name.
///
/// # Errors
/// When the socket cannot be made; somebody may be listening there already.
pub fn listen_at(path: &Path) -> io::Result<UnixListener> {
    remove_left_over(path);
    let socket = socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    make_private(&socket)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    listen(&socket, WAITING)?;
    Ok(UnixListener::from(socket))
}

/// Has the file of a Unix socket that is not yet bound be made with mode 0600: Linux takes the mode of the socket for that of the file.
///
/// # Errors
/// Those of fchmod(2).
pub fn make_private(socket: impl AsFd) -> io::Result<()> {
    Ok(fchmod(socket, Mode::RUSR | Mode::WUSR)?)
}

/// Removes the file of a socket at which nobody listens any more, since its process was killed. Files of other kinds stay.
pub fn remove_left_over(path: &Path) {
    if is_left_over(path) {
        // Who cannot remove it cannot listen there, and is told so then.
        let _ = std::fs::remove_file(path);
    }
}

/// Whether there is a socket at which nobody listens any more.
#[must_use]
pub fn is_left_over(path: &Path) -> bool {
    let socket = std::fs::symlink_metadata(path).is_ok_and(|data| data.file_type().is_socket());
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    socket && UnixStream::connect(path).is_err_and(refused)
}

/// Whether the far end of a Unix socket is a process of this user or of root.
///
/// # Errors
/// When the system does not tell; then it is to be taken for another's.
pub fn is_own(stream: impl AsFd) -> io::Result<bool> {
    let peer = socket_peercred(stream)?.uid;
    Ok(peer == geteuid() || peer.is_root())
}

#[allow(
    clippy::disallowed_methods,
    reason = "there is nothing else to do until the system has room"
)]
/// Waits for the next connection of this user that the gate lets in. Others are closed and counted; where the system has no room, it waits.
pub fn accept(listener: &UnixListener, gate: &Arc<Gate>) -> (UnixStream, Permit) {
    loop {
        match listener.accept() {
            Ok((stream, _)) if !is_own(&stream).unwrap_or(false) => gate.other_user(),
            Ok((stream, _)) => {
                if let Some(permit) = gate.admit(&stream, None) {
                    return (stream, permit);
                }
            }
            Err(error) => {
                if let Some(pause) = gate.failed(&error) {
                    std::thread::sleep(pause);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;
    use std::path::PathBuf;

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("wire-listen-{name}-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        path
    }

    #[test]
    fn a_socket_is_private_and_one_left_over_is_taken_over() {
        let path = scratch("private");
        let listener = listen_at(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let taken = listen_at(&path).err().unwrap();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        drop(listener);
        assert!(is_left_over(&path));
        drop(listen_at(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
        // A file of another kind stays.
        std::fs::write(&path, "mine").unwrap();
        assert!(listen_at(&path).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"mine");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn this_process_is_let_in() {
        let path = scratch("accept");
        let listener = listen_at(&path).unwrap();
        let gate = Gate::new("test", crate::CONTROL);
        let _near = UnixStream::connect(&path).unwrap();
        let (far, _permit) = accept(&listener, &gate);
        assert!(is_own(&far).unwrap());
        assert_eq!(gate.counts().accepted, 1);
        std::fs::remove_file(&path).unwrap();
    }
}
