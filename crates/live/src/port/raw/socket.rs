//! AF_PACKET sockets.
//!
//! The kernel unhooks a socket from an interface that is set down and hooks it up again when that is set up. From one that is
//! removed it is parted for good: then it is bound again to the one that has the name, with all that it was made with.

use crate::kernel::interface::{Ask, Interface};
use crate::kernel::wait;
use crate::port::{Options, PortError};
use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// A socket bound to one interface.
pub struct Socket {
    fd: OwnedFd,
    name: String,
    index: u32,
    protocol: u16,
    promiscuous: bool,
    dropped: Cell<u64>,
}

/// What has become of the interface of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is set up and has a carrier.
    Up,
    /// It is set down, or has no carrier.
    Down,
    /// It was removed, and there is none of its name.
    Removed,
}

impl Socket {
    /// A socket that is not bound yet, and so receives nothing.
    pub fn new(interface: &Interface) -> Result<Socket, PortError> {
        Socket::of(&interface.name, interface.index)
    }

    /// The same for all interfaces of the namespace.
    pub fn of_all() -> Result<Socket, PortError> {
        Socket::of("any", 0)
    }

    fn of(name: &str, index: u32) -> Result<Socket, PortError> {
        // SAFETY: a plain system call; the result is checked before it is owned.
        let fd = unsafe {
            let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
            if fd < 0 {
                return Err(PortError::from_io(
                    name,
                    "opening a packet socket",
                    "CAP_NET_RAW",
                    io::Error::last_os_error(),
                ));
            }
            OwnedFd::from_raw_fd(fd)
        };
        Ok(Socket {
            fd,
            name: name.into(),
            index,
            protocol: 0,
            promiscuous: false,
            dropped: Cell::new(0),
        })
    }

    /// Binds to the interface: with `protocol` 0 for sending only, or ETH_P_ALL for receiving.
    pub fn bind(&mut self, protocol: u16) -> Result<(), PortError> {
        self.protocol = protocol;
        // SAFETY: an all-zero sockaddr_ll is a valid one.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol.to_be();
        address.sll_ifindex = self.index as i32;
        // SAFETY: the address is valid and its length is given.
        let result = unsafe {
            libc::bind(
                self.fd.as_raw_fd(),
                (&raw const address).cast(),
                size_of_val(&address) as u32,
            )
        };
        self.check(result, "binding to the interface").map(|_| ())
    }

    /// Sets a socket option to a plain value.
    pub fn set<T: Copy>(
        &self,
        level: i32,
        option: i32,
        value: T,
        doing: &'static str,
    ) -> Result<(), PortError> {
        // SAFETY: the value is valid and its length is given.
        let result = unsafe {
            libc::setsockopt(
                self.fd.as_raw_fd(),
                level,
                option,
                (&raw const value).cast(),
                size_of::<T>() as u32,
            )
        };
        self.check(result, doing).map(|_| ())
    }

    /// Asks for stamps and the state of offloads.
    pub fn ask_for_both_ways(&self) -> Result<(), PortError> {
        let (socket, packet, on) = (libc::SOL_SOCKET, libc::SOL_PACKET, 1i32);
        let stamps = libc::SO_TIMESTAMPNS;
        self.set(socket, stamps, on, "asking for kernel stamps")?;
        let offloads = libc::PACKET_VNET_HDR;
        self.set(packet, offloads, on, "asking for the state of offloads")
    }

    /// Asks for what both ways of receiving want: stamps, the state of offloads, nothing of what this
    /// machine sends, and frames for others if wanted.
    pub fn ask_for_all(&mut self, options: &Options) -> Result<(), PortError> {
        self.ask_for_both_ways()?;
        let leave_out = "leaving out what this machine sends (Linux 4.20 or later)";
        let ignore = libc::PACKET_IGNORE_OUTGOING;
        self.set(libc::SOL_PACKET, ignore, 1i32, leave_out)?;
        self.hear_others(options)
    }

    /// Asks for frames for others, if they are wanted.
    pub fn hear_others(&mut self, options: &Options) -> Result<(), PortError> {
        self.promiscuous = options.promiscuous;
        match options.promiscuous {
            true => self.promiscuous(),
            false => Ok(()),
        }
    }

    /// Whether the system has something to say that means that the interface cannot be used.
    pub fn says_gone(&self) -> bool {
        let (mut code, mut len) = (0i32, size_of::<i32>() as u32);
        // SAFETY: an int and its length are valid.
        unsafe {
            libc::getsockopt(
                self.raw(),
                libc::SOL_SOCKET,
                libc::SO_ERROR,
                (&raw mut code).cast(),
                &mut len,
            )
        };
        says_gone(&io::Error::from_raw_os_error(code))
    }

    /// Room in the kernel for frames that wait: beyond the system's limit if we may.
    pub fn set_buffer(&self, force: i32, plain: i32, bytes: usize) {
        let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
        if self.set(libc::SOL_SOCKET, force, bytes, "").is_err() {
            // The limit of an ordinary user is no reason to refuse: losses are counted.
            let _ = self.set(libc::SOL_SOCKET, plain, bytes, "");
        }
    }

    /// Receives frames for other stations too, until the socket is closed.
    fn promiscuous(&self) -> Result<(), PortError> {
        let request = libc::packet_mreq {
            mr_ifindex: self.index as i32,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        self.set(
            libc::SOL_PACKET,
            libc::PACKET_ADD_MEMBERSHIP,
            request,
            "asking for frames of other stations",
        )
    }

    /// Waits until the socket has something to say. Comes back early on a signal.
    pub fn wait(&self, events: i16, wait: Duration) -> Result<(), PortError> {
        wait::for_event(self.raw(), events, wait).map_err(|error| self.error("waiting", error))
    }

    /// Frames that the kernel has lost for want of room since the socket was made.
    pub fn dropped(&self) -> u64 {
        // tpacket_stats_v3 begins like tpacket_stats: packets, drops.
        let mut words = [0u32; 3];
        let mut len = size_of_val(&words) as u32;
        // SAFETY: the words and their length are valid; the kernel writes no more than that.
        let result = unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                words.as_mut_ptr().cast(),
                &mut len,
            )
        };
        // Reading resets the kernel's own counter.
        if result == 0 {
            self.dropped.set(self.dropped.get() + u64::from(words[1]));
        }
        self.dropped.get()
    }

    /// Looks at the interface. With `returns` one that was removed is taken in use again when there is one of its name.
    pub fn look(&mut self, returns: bool) -> Standing {
        let usable = self.is_bound() || returns && self.bind_again();
        if !usable {
            return Standing::Removed;
        }
        let both = libc::IFF_UP | libc::IFF_RUNNING;
        match self.ask().flags() {
            Ok(flags) if flags & both == both => Standing::Up,
            Ok(_) => Standing::Down,
            // Removed since; the next look finds it so.
            Err(_) => Standing::Down,
        }
    }

    /// Whether the socket still has its interface, under whatever name.
    fn is_bound(&self) -> bool {
        // SAFETY: an all-zero sockaddr_ll is a valid one.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        let mut len = size_of_val(&address) as u32;
        // SAFETY: the address is valid and its length is given.
        let result = unsafe { libc::getsockname(self.raw(), (&raw mut address).cast(), &mut len) };
        // The kernel puts -1 there when the interface goes.
        result == 0 && address.sll_ifindex > 0
    }

    /// Binds to the interface that has the name now; whether there is one, and it is Ethernet.
    fn bind_again(&mut self) -> bool {
        let ask = Ask::new(self.fd.as_fd(), &self.name);
        let (Ok(index), Ok((kind, _))) = (ask.index(), ask.address()) else {
            return false;
        };
        if !matches!(kind, libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK) {
            return false;
        }
        self.index = index;
        // The membership went with the interface.
        let all = !self.promiscuous || self.promiscuous().is_ok();
        all && self.bind(self.protocol).is_ok()
    }

    /// To ask about the interface, which may have been renamed.
    fn ask(&self) -> Ask<'_> {
        let fd = self.fd.as_fd();
        Ask::by_index(fd, self.index).unwrap_or_else(|_| Ask::new(fd, &self.name))
    }

    /// What to tell of an interface that was removed.
    pub fn gone(&self) -> PortError {
        let name = self.name.clone();
        PortError::Gone { name }
    }

    /// What to do about a call that found the interface unusable: try it again, if this returns.
    ///
    /// # Errors
    /// That there is no link; or no interface, which with `returns` may change.
    pub fn recover(&mut self, error: &io::Error, returns: bool) -> Result<(), PortError> {
        let name = self.name.clone();
        if error.raw_os_error() == Some(libc::ENETDOWN) || self.is_bound() {
            return Err(PortError::Down { name });
        }
        match self.look(returns) {
            Standing::Removed if returns => Err(PortError::Away { name }),
            Standing::Removed => Err(PortError::Gone { name }),
            Standing::Up | Standing::Down => Ok(()),
        }
    }

    /// The interface's MTU now.
    pub fn mtu(&self) -> u32 {
        self.ask().mtu().unwrap_or(0)
    }

    /// The interface's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The descriptor, to ask about interfaces by.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The descriptor, for system calls.
    pub fn raw(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// A system call's error, with the place.
    pub fn error(&self, doing: &'static str, error: io::Error) -> PortError {
        PortError::from_io(&self.name, doing, "CAP_NET_RAW", error)
    }

    fn check(&self, result: i32, doing: &'static str) -> Result<i32, PortError> {
        if result < 0 {
            return Err(self.error(doing, io::Error::last_os_error()));
        }
        Ok(result)
    }
}

/// Whether a system call says that the interface cannot be used.
pub fn says_gone(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV)
    )
}
