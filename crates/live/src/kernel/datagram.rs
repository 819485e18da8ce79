//! Datagrams over UDP in bulk: many in a call, both ways, by segmentation offload where the kernel has it; with the kernel's stamps of arrival.

mod receive;

use super::wait;
use ::capture::clock::Converter;
use receive::Buffers;
pub use receive::Datagram;
use socket2::{Domain, SockAddr, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;

/// Maximum number of datagrams of one offloaded call: the limit of kernels before 6.10.
pub const SEGMENTS: usize = 64;
/// Size of the socket's buffer that is requested in each direction, bytes. The system limits it to
/// net.core.rmem_max and wmem_max unless the process has CAP_NET_ADMIN.
const SOCKET_BUFFER_BYTES: i32 = 4 << 20;
/// Room for a control message of the longest that is sent, in6_pktinfo.
const CONTROL: usize = 40;

/// Bytes of IP and UDP headers in front of a datagram to an address.
pub fn headers(to: IpAddr) -> usize {
    if to.to_canonical().is_ipv4() { 28 } else { 48 }
}

/// A UDP socket.
pub struct Datagrams {
    socket: UdpSocket,
    clock: Converter,
    buffers: Buffers,
    /// Whether addresses are of IPv6, IPv4's too.
    ipv6: bool,
    /// Whether the kernel cuts a long buffer into datagrams.
    offload: bool,
    /// Datagrams that are longer than this are sent one by one: offload does not cut them into fragments.
    longest: usize,
}

impl Datagrams {
    /// A socket at an address; port 0 is a free one.
    ///
    /// # Errors
    /// When the address is not this machine's, or the port is in use or privileged.
    pub fn bind(address: SocketAddr) -> io::Result<Datagrams> {
        Datagrams::of(UdpSocket::bind(address)?, address)
    }

    /// A socket that shares its port with others of the same user: a connected one has what its far end sends, this one the rest.
    ///
    /// # Errors
    /// Those of [`bind`](Datagrams::bind).
    pub fn bind_shared(address: SocketAddr) -> io::Result<Datagrams> {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
        socket.set_reuse_port(true)?;
        socket.bind(&address.into())?;
        Datagrams::of(socket.into(), address)
    }

    fn of(socket: UdpSocket, address: SocketAddr) -> io::Result<Datagrams> {
        socket.set_nonblocking(true)?;
        let socket = Datagrams {
            socket,
            clock: Converter::new(),
            buffers: Buffers::new(),
            ipv6: address.is_ipv6(),
            offload: true,
            longest: usize::MAX,
        };
        socket.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        socket.set(libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1)?;
        // Kernels before 5.0 give each datagram for itself.
        let _ = socket.set(libc::SOL_UDP, libc::UDP_GRO, 1);
        for (force, plain) in [
            (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF),
            (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF),
        ] {
            if socket
                .set(libc::SOL_SOCKET, force, SOCKET_BUFFER_BYTES)
                .is_err()
            {
                socket.set(libc::SOL_SOCKET, plain, SOCKET_BUFFER_BYTES)?;
            }
        }
        Ok(socket)
    }

    /// From now on all goes to this address, and comes from there alone.
    ///
    /// # Errors
    /// When there is no way there.
    pub fn connect(&mut self, to: SocketAddr) -> io::Result<()> {
        self.socket.connect(self.form(to))?;
        self.longest = self
            .mtu()
            .map_or(usize::MAX, |mtu| mtu.saturating_sub(headers(to.ip())));
        Ok(())
    }

    /// Its own address.
    ///
    /// # Errors
    /// What the system says.
    pub fn local(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// The longest IP packet on the way to where it is connected to, as far as this machine knows.
    pub fn mtu(&self) -> Option<usize> {
        let (level, option) = match self.socket.peer_addr().ok()?.ip().to_canonical().is_ipv4() {
            true => (libc::IPPROTO_IP, libc::IP_MTU),
            false => (libc::IPPROTO_IPV6, libc::IPV6_MTU),
        };
        let (mut mtu, mut len) = (0i32, size_of::<i32>() as u32);
        // SAFETY: the place and its length are valid.
        let result =
            unsafe { libc::getsockopt(self.raw(), level, option, (&raw mut mtu).cast(), &mut len) };
        (result == 0).then(|| usize::try_from(mtu).ok()).flatten()
    }

    /// Bytes that the system keeps for datagrams that wait to be received, with its own for each.
    pub fn room(&self) -> usize {
        let (mut room, mut len) = (0i32, size_of::<i32>() as u32);
        // SAFETY: the place and its length are valid.
        unsafe {
            libc::getsockopt(
                self.raw(),
                libc::SOL_SOCKET,
                libc::SO_RCVBUF,
                (&raw mut room).cast(),
                &mut len,
            )
        };
        usize::try_from(room).unwrap_or(0)
    }

    /// Datagrams that came and found no room.
    pub fn lost(&self) -> u64 {
        self.buffers.lost()
    }

    /// Sends datagrams of `segment` bytes each but the last, which may be shorter: to where it is connected to, or to `to`. Says how many bytes
    /// of them the system took; 0 when there is no room, which [`wait`](Datagrams::wait) waits for.
    ///
    /// # Errors
    /// What the system says: that nobody is there, or no way.
    pub fn send(
        &mut self,
        bytes: &[u8],
        segment: usize,
        to: Option<SocketAddr>,
    ) -> io::Result<usize> {
        let segment = segment.max(1);
        if to.is_none() && self.offload && bytes.len() > segment && segment <= self.longest {
            match self.send_cut(bytes, segment) {
                // The device, or the kernel, does not do that.
                Err(error)
                    if matches!(
                        error.raw_os_error(),
                        Some(libc::EIO | libc::EINVAL | libc::EMSGSIZE | libc::EOPNOTSUPP)
                    ) =>
                {
                    self.offload = false;
                }
                result => return taken(result),
            }
        }
        let mut sent = 0;
        for datagram in bytes.chunks(segment) {
            let result = match to {
                None => self.socket.send(datagram),
                Some(to) => self.socket.send_to(datagram, self.form(to)),
            };
            match taken(result) {
                Ok(0) => break,
                Ok(bytes) => sent += bytes,
                Err(_) if sent > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(sent)
    }

    fn send_cut(&self, bytes: &[u8], segment: usize) -> io::Result<usize> {
        let segment =
            u16::try_from(segment).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
        let option = (libc::SOL_UDP, libc::UDP_SEGMENT);
        self.send_beside(bytes, None, option, &segment.to_ne_bytes())
    }

    /// Sends a datagram from this address of the machine, where it has several.
    ///
    /// # Errors
    /// What the system says: that no interface has the address, or no way.
    pub fn send_from(&self, from: IpAddr, to: SocketAddr, bytes: &[u8]) -> io::Result<usize> {
        // in6_pktinfo and in_pktinfo: the address that it leaves from, any interface.
        let mut data = [0; 20];
        let (option, len) = match (self.ipv6, from) {
            (true, from) => {
                let from = match from {
                    IpAddr::V4(v4) => v4.to_ipv6_mapped(),
                    IpAddr::V6(v6) => v6,
                };
                data[..16].copy_from_slice(&from.octets());
                ((libc::IPPROTO_IPV6, libc::IPV6_PKTINFO), 20)
            }
            (false, IpAddr::V4(v4)) => {
                data[4..8].copy_from_slice(&v4.octets());
                ((libc::IPPROTO_IP, libc::IP_PKTINFO), 12)
            }
            (false, IpAddr::V6(_)) => {
                return Err(io::Error::from_raw_os_error(libc::EAFNOSUPPORT));
            }
        };
        let to = SockAddr::from(self.form(to));
        taken(self.send_beside(bytes, Some(&to), option, &data[..len]))
    }

    /// Sends with a control message.
    fn send_beside(
        &self,
        bytes: &[u8],
        to: Option<&SockAddr>,
        (level, kind): (i32, i32),
        data: &[u8],
    ) -> io::Result<usize> {
        /// Control messages are made of size_t.
        #[repr(C, align(8))]
        struct Control([u8; CONTROL]);
        let mut control = Control([0; CONTROL]);
        let len = data.len().min(CONTROL - size_of::<libc::cmsghdr>()) as u32;
        let mut vector = libc::iovec {
            iov_base: bytes.as_ptr().cast_mut().cast(),
            iov_len: bytes.len(),
        };
        // SAFETY: an all-zero msghdr is a valid one; address, vector and control message are of the lengths that are given, the latter with room
        // for one of `len` bytes, and live until the call is over, which writes to none.
        let sent = unsafe {
            let mut header: libc::msghdr = std::mem::zeroed();
            header.msg_iov = &raw mut vector;
            header.msg_iovlen = 1;
            if let Some(to) = to {
                header.msg_name = to.as_ptr().cast_mut().cast();
                header.msg_namelen = to.len();
            }
            header.msg_control = (&raw mut control.0).cast();
            header.msg_controllen = libc::CMSG_SPACE(len) as _;
            let message = libc::CMSG_FIRSTHDR(&header);
            (*message).cmsg_level = level;
            (*message).cmsg_type = kind;
            (*message).cmsg_len = libc::CMSG_LEN(len) as _;
            std::ptr::copy_nonoverlapping(data.as_ptr(), libc::CMSG_DATA(message), len as usize);
            libc::sendmsg(self.raw(), &header, 0)
        };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }

    /// From now on each datagram tells to which address of this machine it came.
    ///
    /// # Errors
    /// What the system says.
    pub fn tell_destinations(&self) -> io::Result<()> {
        match self.ipv6 {
            true => self.set(libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1),
            false => self.set(libc::IPPROTO_IP, libc::IP_PKTINFO, 1),
        }
    }

    /// Gives all datagrams that are there now, each with where it came from and when. Says how many.
    ///
    /// # Errors
    /// What the system says: that nobody is there, or no way, to where something was sent.
    pub fn receive(&mut self, sink: &mut dyn FnMut(Datagram<'_>)) -> io::Result<usize> {
        let fd = self.raw();
        self.clock.refresh();
        self.buffers.take(fd, &mut self.clock, sink)
    }

    /// Waits until something has come, or until there is `room` to send, or so long. Comes back early on a signal.
    ///
    /// # Errors
    /// What the system says.
    pub fn wait(&self, room: bool, wait: Duration) -> io::Result<()> {
        let events = libc::POLLIN | if room { libc::POLLOUT } else { 0 };
        wait::for_event(self.raw(), events, wait)
    }

    /// An address as this socket has it.
    fn form(&self, address: SocketAddr) -> SocketAddr {
        match address {
            SocketAddr::V4(v4) if self.ipv6 => {
                SocketAddr::new(v4.ip().to_ipv6_mapped().into(), v4.port())
            }
            address => address,
        }
    }

    fn raw(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    fn set(&self, level: i32, option: i32, value: i32) -> io::Result<()> {
        // SAFETY: the value and its length are valid.
        let result = unsafe {
            libc::setsockopt(
                self.raw(),
                level,
                option,
                (&raw const value).cast(),
                size_of::<i32>() as u32,
            )
        };
        match result {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl AsFd for Datagrams {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// No room is none taken, and a signal comes again.
fn taken(result: io::Result<usize>) -> io::Result<usize> {
    match result {
        Err(error)
            if matches!(
                error.raw_os_error(),
                Some(libc::EAGAIN | libc::EINTR | libc::ENOBUFS)
            ) =>
        {
            Ok(0)
        }
        result => result,
    }
}

#[cfg(test)]
mod tests;
