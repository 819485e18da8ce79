//! The few rtnetlink messages that namespaces and their links take (rtnetlink(7)).

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// struct nlmsghdr.
const HEADER: usize = 16;
/// Requests in one call. Their acknowledgements wait in the socket, which has room for some hundred.
const CHUNK: usize = 32;

pub const IFLA_ADDRESS: u16 = 1;
pub const IFLA_IFNAME: u16 = 3;
pub const IFLA_MTU: u16 = 4;
pub const IFLA_LINKINFO: u16 = 18;
pub const IFLA_NET_NS_FD: u16 = 28;
pub const IFLA_INFO_KIND: u16 = 1;
pub const IFLA_INFO_DATA: u16 = 2;
pub const VETH_INFO_PEER: u16 = 1;
pub const IFA_ADDRESS: u16 = 1;
pub const IFA_LOCAL: u16 = 2;
pub const RTA_DST: u16 = 1;
pub const RTA_OIF: u16 = 4;
pub const RTA_GATEWAY: u16 = 5;

/// A message being written.
pub struct Request {
    bytes: Vec<u8>,
}

impl Request {
    /// A message of a type with flags, which wants an answer.
    pub fn new(kind: u16, flags: i32) -> Request {
        let flags = (flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        Request { bytes }
    }

    /// struct ifinfomsg: an interface by number, 0 for one yet to be, and flags to change.
    pub fn link(mut self, index: u32, flags: u32, change: u32) -> Request {
        // Family and type are unspecified.
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes.extend_from_slice(&index.to_ne_bytes());
        self.bytes.extend_from_slice(&flags.to_ne_bytes());
        self.bytes.extend_from_slice(&change.to_ne_bytes());
        self
    }

    /// struct ifaddrmsg: an address to be, of a family, with a prefix length.
    pub fn address(mut self, family: u8, prefix: u8, index: u32) -> Request {
        // Of IPv6 without a second in which the address is not used yet; IPv4 has no such flag.
        let flags = match libc::c_int::from(family) {
            libc::AF_INET6 => libc::IFA_F_NODAD as u8,
            _ => 0,
        };
        self.bytes.extend_from_slice(&[family, prefix, flags, 0]);
        self.bytes.extend_from_slice(&index.to_ne_bytes());
        self
    }

    /// struct rtmsg: a unicast route of a family to a destination of so many bits.
    pub fn route(mut self, family: u8, prefix: u8, scope: u8) -> Request {
        let (table, protocol) = (libc::RT_TABLE_MAIN, libc::RTPROT_STATIC);
        let kind = libc::RTN_UNICAST;
        self.bytes
            .extend_from_slice(&[family, prefix, 0, 0, table, protocol, scope, kind]);
        self.bytes.extend_from_slice(&[0; 4]);
        self
    }

    /// An attribute.
    pub fn with(mut self, kind: u16, value: &[u8]) -> Request {
        let len = (4 + value.len()) as u16;
        self.bytes.extend_from_slice(&len.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(value);
        self.pad()
    }

    /// An attribute that is a C string.
    pub fn with_text(self, kind: u16, text: &str) -> Request {
        let mut value = text.as_bytes().to_vec();
        value.push(0);
        self.with(kind, &value)
    }

    /// An attribute that is made of what `inner` writes.
    pub fn nest(mut self, kind: u16, inner: impl FnOnce(Request) -> Request) -> Request {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 2]);
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        let mut request = inner(self);
        let len = (request.bytes.len() - at) as u16;
        request.bytes[at..at + 2].copy_from_slice(&len.to_ne_bytes());
        request
    }

    fn pad(mut self) -> Request {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }
}

/// A socket to the namespace in which it was made.
pub struct Netlink(OwnedFd);

impl Netlink {
    /// A socket to this thread's namespace.
    pub fn open() -> io::Result<Netlink> {
        // SAFETY: a plain system call; the result is checked before it is owned.
        unsafe {
            let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
            let fd = libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Netlink(OwnedFd::from_raw_fd(fd)))
        }
    }

    /// Sends a request and waits for the kernel's word on it.
    pub fn ask(&self, request: Request) -> io::Result<()> {
        self.ask_all(&[request]).map_err(|(_, error)| error)
    }

    /// Sends requests, many in one call, and waits for the kernel's word on all of them. It goes through them in their
    /// order, and on behind one that it refuses.
    ///
    /// # Errors
    /// The place of the first that was refused, and why.
    pub fn ask_all(&self, requests: &[Request]) -> Result<(), (usize, io::Error)> {
        let mut refused = None;
        for (chunk, requests) in requests.chunks(CHUNK).enumerate() {
            let first = chunk * CHUNK;
            let mut bytes = Vec::new();
            for (place, request) in requests.iter().enumerate() {
                let at = bytes.len();
                bytes.extend_from_slice(&request.bytes);
                let len = request.bytes.len() as u32;
                bytes[at..at + 4].copy_from_slice(&len.to_ne_bytes());
                let sequence = (first + place) as u32;
                bytes[at + 8..at + 12].copy_from_slice(&sequence.to_ne_bytes());
            }
            send(self.0.as_raw_fd(), &bytes).map_err(|error| (first, error))?;
            // Each is acknowledged, in their order.
            for _ in requests {
                let (place, code) = self.answer().map_err(|error| (first, error))?;
                if code != 0 && refused.is_none() {
                    refused = Some((place as usize, io::Error::from_raw_os_error(-code)));
                }
            }
        }
        refused.map_or(Ok(()), Err)
    }

    /// The next acknowledgement: the number of the request, and a code, 0 for one that was done.
    fn answer(&self) -> io::Result<(u32, i32)> {
        let mut answer = [0u8; 4096];
        loop {
            // SAFETY: the buffer and its length are valid.
            let got = unsafe {
                libc::recv(
                    self.0.as_raw_fd(),
                    answer.as_mut_ptr().cast(),
                    answer.len(),
                    0,
                )
            };
            if got < 0 {
                let error = io::Error::last_os_error();
                if error.kind() == io::ErrorKind::Interrupted {
                    continue;
                }
                return Err(error);
            }
            // An acknowledgement is an NLMSG_ERROR whose code is 0.
            let kind = u16::from_ne_bytes([answer[4], answer[5]]);
            if got as usize >= HEADER + 4 && kind == libc::NLMSG_ERROR as u16 {
                let word = |at: usize| <[u8; 4]>::try_from(&answer[at..at + 4]).unwrap_or_default();
                return Ok((
                    u32::from_ne_bytes(word(8)),
                    i32::from_ne_bytes(word(HEADER)),
                ));
            }
        }
    }
}

/// Sends requests to the kernel by a netlink socket.
pub fn send(socket: RawFd, bytes: &[u8]) -> io::Result<()> {
    loop {
        // SAFETY: the buffer and its length are valid; without an address it goes to the kernel.
        if unsafe { libc::send(socket, bytes.as_ptr().cast(), bytes.len(), 0) } >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
