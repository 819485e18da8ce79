//! A netlink socket to netfilter.

use super::message::{self, Told};
use node::{Frame, Pool};
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// Packets a call.
pub const BATCH: usize = 64;
/// Bytes for one message: the longest packet that the kernel copies, 65,531 bytes, and what is said about it. Not a
/// multiple of 4096, so that the heads of packets do not share one cache set.
const PLACE: usize = 65_536 + 576;

/// A socket to the namespace in which it was made.
#[derive(Debug)]
pub struct Socket {
    /// The system writes to a socket as to any file.
    fd: File,
    /// Of the last request.
    sequence: u32,
}

impl Socket {
    /// A socket to this thread's namespace.
    pub fn open() -> io::Result<Socket> {
        // SAFETY: a plain system call; the result is checked before it is owned.
        let fd = unsafe {
            let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
            let fd = libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_NETFILTER);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        // SAFETY: zero is valid for each field; the kernel then chooses an address.
        let result = unsafe {
            let mut address: libc::sockaddr_nl = std::mem::zeroed();
            address.nl_family = libc::AF_NETLINK as u16;
            let len = size_of_val(&address) as libc::socklen_t;
            libc::bind(fd.as_raw_fd(), (&raw const address).cast(), len)
        };
        match result {
            0 => Ok(Socket {
                fd: fd.into(),
                sequence: 0,
            }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Room for so many bytes of packets and verdicts, beyond the system's limit where allowed.
    pub fn set_room(&self, receive: usize, send: usize) {
        let options = [
            (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, receive),
            (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, send),
        ];
        for (forced, option, bytes) in options {
            let bytes = bytes.min(1 << 30) as libc::c_int;
            if self.set(libc::SOL_SOCKET, forced, bytes).is_err() {
                // Less room is no failure: what does not fit is counted.
                let _ = self.set(libc::SOL_SOCKET, option, bytes);
            }
        }
    }

    /// Lets the kernel not tell when there was no room: gaps in the packets' numbers do.
    pub fn ignore_overruns(&self) -> io::Result<()> {
        self.set(libc::SOL_NETLINK, libc::NETLINK_NO_ENOBUFS, 1)
    }

    fn set(&self, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
        let len = size_of_val(&value) as libc::socklen_t;
        // SAFETY: a valid integer and its length.
        let result = unsafe {
            let value = (&raw const value).cast();
            libc::setsockopt(self.fd.as_raw_fd(), level, option, value, len)
        };
        match result {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The descriptor, to wait on.
    pub fn descriptor(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// The number of the next request.
    pub fn next(&mut self) -> u32 {
        self.sequence = self.sequence.wrapping_add(1);
        self.sequence
    }

    /// Sends what stands in several places, at most 1024, as one.
    pub fn send(&self, pieces: &[IoSlice<'_>]) -> io::Result<()> {
        // One call is one datagram: it goes whole or not at all.
        (&self.fd).write_vectored(pieces).map(|_| ())
    }

    /// Sends requests and waits for the answers to those numbered `first` to `last`; the first that was refused is the
    /// error, with its number.
    pub fn ask(&self, requests: &[u8], first: u32, last: u32) -> Result<(), (u32, io::Error)> {
        self.send(&[IoSlice::new(requests)])
            .map_err(|error| (first, error))?;
        let mut answer = vec![0; 16 * 1024];
        let mut refused = None;
        let mut due = (first..=last).collect::<Vec<u32>>();
        while !due.is_empty() {
            let got = self
                .take(&mut answer)
                .map_err(|error| (refused.as_ref().map_or(due[0], |(which, _)| *which), error));
            let got = match (got, &refused) {
                (Ok(got), _) => got,
                // A batch that is refused as a whole is answered once.
                (Err(_), Some(_)) => break,
                (Err(error), None) => return Err(error),
            };
            let mut at = 0;
            while let Some((told, next)) = message::read(&answer[..got], at) {
                at = next;
                if let Told::Answer { sequence, error } = told {
                    due.retain(|&number| number != sequence);
                    if error != 0 && refused.is_none() {
                        refused = Some((sequence, io::Error::from_raw_os_error(error)));
                    }
                }
            }
        }
        refused.map_or(Ok(()), Err)
    }

    /// One message, waiting at most a second for it.
    fn take(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            crate::wait::for_event(self.descriptor(), libc::POLLIN, Duration::from_secs(1))?;
            // SAFETY: the buffer and its length are valid.
            let got = unsafe {
                let (at, len) = (buffer.as_mut_ptr().cast(), buffer.len());
                libc::recv(self.descriptor(), at, len, libc::MSG_DONTWAIT)
            };
            if got >= 0 {
                return Ok(got as usize);
            }
            let error = io::Error::last_os_error();
            match error.kind() {
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock => return Err(io::ErrorKind::TimedOut.into()),
                _ => return Err(error),
            }
        }
    }
}

/// Where messages are received: each in the buffer of a frame to be.
pub struct Inbox {
    headers: Box<[libc::mmsghdr]>,
    vectors: Box<[libc::iovec]>,
    buffers: Vec<Vec<u8>>,
}

// SAFETY: the raw pointers lead to memory that the same value owns.
unsafe impl Send for Inbox {}

impl Inbox {
    /// An empty one.
    pub fn new() -> Inbox {
        let none = libc::iovec {
            iov_base: std::ptr::null_mut(),
            iov_len: 0,
        };
        let mut vectors = vec![none; BATCH].into_boxed_slice();
        let headers = vectors
            .iter_mut()
            .map(|vector| {
                // SAFETY: an all-zero mmsghdr is a valid one.
                let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
                header.msg_hdr.msg_iov = vector;
                header.msg_hdr.msg_iovlen = 1;
                header
            })
            .collect();
        Inbox {
            headers,
            vectors,
            buffers: vec![Vec::new(); BATCH],
        }
    }

    /// One call for the messages that are there now, in buffers from the pool; how many there were.
    pub fn receive(&mut self, socket: &Socket, pool: &mut Pool) -> io::Result<usize> {
        for (buffer, vector) in self.buffers.iter_mut().zip(&mut self.vectors) {
            if buffer.capacity() < PLACE {
                *buffer = pool.take().into_buffer();
                buffer.clear();
                buffer.reserve_exact(PLACE);
            }
            buffer.clear();
            vector.iov_base = buffer.as_mut_ptr().cast();
            vector.iov_len = PLACE;
        }
        // SAFETY: each header points to a vector that never moves, and that to a buffer with room for as many bytes.
        let got = unsafe {
            libc::recvmmsg(
                socket.descriptor(),
                self.headers.as_mut_ptr(),
                BATCH as libc::c_uint,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        if got < 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EINTR | libc::ENOBUFS) => Ok(0),
                _ => Err(error),
            };
        }
        let headers = self.headers.iter().take(got as usize);
        for (buffer, header) in self.buffers.iter_mut().zip(headers) {
            // SAFETY: the kernel has written so many bytes, and there is room for at least as many.
            unsafe { buffer.set_len((header.msg_len as usize).min(PLACE)) };
        }
        Ok(got as usize)
    }

    /// A message.
    pub fn message(&self, index: usize) -> &[u8] {
        &self.buffers[index]
    }

    /// A message, to write into.
    pub fn message_mut(&mut self, index: usize) -> &mut [u8] {
        &mut self.buffers[index]
    }

    /// Makes a frame of the bytes from `start` to `end` of a message.
    pub fn frame(&mut self, index: usize, start: usize, end: usize) -> Frame {
        let mut buffer = std::mem::take(&mut self.buffers[index]);
        buffer.truncate(end);
        Frame::in_buffer(buffer, start)
    }
}
