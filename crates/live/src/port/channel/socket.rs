//! Sockets, and the set of them that the kernel watches.

use crate::port::{ChannelSpec, Endpoint};
use socket2::{Domain, SockAddr, Socket as Raw, Type};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Connections that wait to be accepted.
const WAITING: i32 = 1024;

/// Whether an error means that it may be tried again later.
pub fn is_pause(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// Transport of a connection: a socket, or memory in tests. It never blocks.
pub trait Transport: Read + Write {
    /// Ends the stream to the far end; reading goes on.
    fn end(&mut self);
}

/// A socket that never blocks.
pub struct Socket(Raw);

impl Socket {
    fn new(address: &SockAddr) -> io::Result<Socket> {
        let raw = Raw::new(address.domain(), Type::STREAM, None)?;
        raw.set_nonblocking(true)?;
        Ok(Socket(raw))
    }

    /// Begins to connect.
    pub fn connect(address: &SockAddr) -> io::Result<Socket> {
        let socket = Socket::new(address)?;
        match socket.0.connect(address) {
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
            other => other?,
        }
        socket.no_delay();
        Ok(socket)
    }

    pub fn listen(address: &SockAddr) -> io::Result<Socket> {
        let socket = Socket::new(address)?;
        match address.domain() {
            Domain::UNIX => listen::unix::make_private(&socket.0)?,
            _ => socket.0.set_reuse_address(true)?,
        }
        socket.0.bind(address)?;
        socket.0.listen(WAITING)?;
        Ok(socket)
    }

    /// Accepts a connection; who it is.
    pub fn accept(&self) -> io::Result<(Socket, String)> {
        let (raw, address) = self.0.accept()?;
        raw.set_nonblocking(true)?;
        let socket = Socket(raw);
        socket.no_delay();
        Ok((socket, named(&address)))
    }

    /// Whether the far end may be trusted as far as the system knows it: over a Unix socket it must be of this user, or root.
    pub fn is_own(&self) -> bool {
        let here = self.0.local_addr();
        let local = here.is_ok_and(|address| address.domain() == Domain::UNIX);
        !local || listen::unix::is_own(&self.0).unwrap_or(false)
    }

    /// The IP address of the far end; `None` of a Unix socket.
    pub fn far_address(&self) -> Option<IpAddr> {
        let address = self.0.peer_addr().ok()?.as_socket();
        address.map(|address| address.ip())
    }

    /// Whether connecting has worked.
    pub fn connected(&self) -> io::Result<()> {
        match self.0.take_error()? {
            Some(error) => Err(error),
            None => self.0.peer_addr().map(|_| ()),
        }
    }

    /// Where it listens, if that is no Unix socket.
    pub fn address(&self) -> Option<SocketAddr> {
        self.0.local_addr().ok()?.as_socket()
    }

    fn no_delay(&self) {
        // A Unix socket has no such thing.
        let _ = self.0.set_tcp_nodelay(true);
    }
}

impl Transport for Socket {
    fn end(&mut self) {
        // It fails when the far end is gone.
        let _ = self.0.shutdown(std::net::Shutdown::Write);
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.0.read_vectored(buffers)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Without a signal when the far end is gone.
        self.0.send_with_flags(bytes, libc::MSG_NOSIGNAL)
    }
    fn write_vectored(&mut self, bytes: &[IoSlice<'_>]) -> io::Result<usize> {
        // TLS writes its records by this.
        self.0.send_vectored_with_flags(bytes, libc::MSG_NOSIGNAL)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn named(address: &SockAddr) -> String {
    match address.as_socket() {
        Some(address) => address.to_string(),
        None => String::new(),
    }
}

/// The addresses that a place stands for.
pub fn addresses(spec: &ChannelSpec) -> io::Result<Vec<SockAddr>> {
    match &spec.endpoint {
        Endpoint::Path(path) => Ok(vec![SockAddr::unix(path)?]),
        Endpoint::Host(host, port) => {
            let host = match host.as_str() {
                // Who wants to be reached from elsewhere says so.
                "" => "127.0.0.1",
                host => host,
            };
            let found = (host, *port).to_socket_addrs()?;
            Ok(found.map(|address: SocketAddr| address.into()).collect())
        }
    }
}

/// Sockets that the kernel watches.
pub struct Watched(OwnedFd);

impl Watched {
    /// None yet.
    pub fn new() -> io::Result<Watched> {
        // SAFETY: no memory is passed; what comes back is ours, or an error.
        match unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) } {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: a descriptor that nobody else has.
            fd => Ok(Watched(unsafe { OwnedFd::from_raw_fd(fd) })),
        }
    }

    /// Watches for `events` under `key`: a new socket, a known one with other events, or, with `None`, no longer.
    pub fn set(
        &self,
        socket: &impl AsRawFd,
        key: u64,
        known: bool,
        events: Option<u32>,
    ) -> io::Result<()> {
        let operation = match (known, events) {
            (false, None) => return Ok(()),
            (false, Some(_)) => libc::EPOLL_CTL_ADD,
            (true, Some(_)) => libc::EPOLL_CTL_MOD,
            (true, None) => libc::EPOLL_CTL_DEL,
        };
        let mut event = libc::epoll_event {
            events: events.unwrap_or(0),
            u64: key,
        };
        let (epoll, fd) = (self.0.as_raw_fd(), socket.as_raw_fd());
        // SAFETY: both descriptors are open, and the event is valid for the call.
        match unsafe { libc::epoll_ctl(epoll, operation, fd, &mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Those that are ready, by key and events; does not wait.
    pub fn ready<'a>(
        &self,
        events: &'a mut [libc::epoll_event],
    ) -> io::Result<&'a [libc::epoll_event]> {
        // SAFETY: so many valid entries.
        let count = unsafe {
            libc::epoll_wait(
                self.0.as_raw_fd(),
                events.as_mut_ptr(),
                events.len() as i32,
                0,
            )
        };
        match usize::try_from(count) {
            Ok(count) => Ok(&events[..count]),
            Err(_) => match io::Error::last_os_error() {
                error if is_pause(&error) => Ok(&[]),
                error => Err(error),
            },
        }
    }
}

impl AsRawFd for Watched {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
