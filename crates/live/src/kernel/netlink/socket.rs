//! A netlink socket.

use super::message::messages;
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Bytes for the acknowledgements that one call takes.
const ACKNOWLEDGEMENTS: usize = 16 * 1024;

/// Which part of the kernel a socket speaks with.
#[derive(Clone, Copy, Debug)]
pub enum Protocol {
    /// Interfaces, addresses, routes, queueing disciplines: rtnetlink(7).
    Route,
    /// nf_tables and netfilter queues.
    Netfilter,
}

/// A socket to the namespace in which it was made.
#[derive(Debug)]
pub struct Socket {
    /// The system writes to a socket as to any file.
    fd: File,
    port: u32,
    /// Of the last request.
    sequence: u32,
}

impl Socket {
    /// A socket to this thread's namespace, which hears of changes in these groups of the protocol, a bit each (RTMGRP_*).
    pub fn open(protocol: Protocol, groups: u32) -> io::Result<Socket> {
        let protocol = match protocol {
            Protocol::Route => libc::NETLINK_ROUTE,
            Protocol::Netfilter => libc::NETLINK_NETFILTER,
        };
        // SAFETY: plain system calls; the descriptor is checked before it is owned; an all-zero sockaddr_nl is a valid
        // one, and it and its length live until the calls are over.
        unsafe {
            let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
            let fd = libc::socket(libc::AF_NETLINK, kind, protocol);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            let fd = OwnedFd::from_raw_fd(fd);
            let mut address: libc::sockaddr_nl = std::mem::zeroed();
            address.nl_family = libc::AF_NETLINK as u16;
            address.nl_groups = groups;
            let mut len = size_of_val(&address) as libc::socklen_t;
            let pointer = (&raw mut address).cast();
            if libc::bind(fd.as_raw_fd(), pointer, len) < 0
                || libc::getsockname(fd.as_raw_fd(), pointer, &mut len) < 0
            {
                return Err(io::Error::last_os_error());
            }
            Ok(Socket {
                fd: fd.into(),
                port: address.nl_pid,
                sequence: 0,
            })
        }
    }

    /// Its port number, by which answers to it are known.
    pub fn port(&self) -> u32 {
        self.port
    }

    /// The sequence number of the next request.
    pub fn next_sequence(&mut self) -> u32 {
        self.sequence = self.sequence.wrapping_add(1);
        self.sequence
    }

    /// Sets an option that is an integer.
    pub fn set(
        &self,
        level: libc::c_int,
        option: libc::c_int,
        value: libc::c_int,
    ) -> io::Result<()> {
        let len = size_of_val(&value) as libc::socklen_t;
        // SAFETY: a valid integer and its length.
        let result = unsafe {
            let value = (&raw const value).cast();
            libc::setsockopt(self.raw(), level, option, value, len)
        };
        match result {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Room for so many bytes in either direction, beyond the system's limit where allowed.
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

    /// The descriptor, to wait on.
    pub fn raw(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Sends what stands in several places, at most 1024, as one datagram.
    pub fn send(&self, pieces: &[IoSlice<'_>]) -> io::Result<()> {
        loop {
            // It goes whole or not at all.
            match (&self.fd).write_vectored(pieces) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result.map(|_| ()),
            }
        }
    }

    /// What is there: how many bytes. Never waits.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        // SAFETY: the buffer and its length are valid.
        let got = unsafe {
            let (at, len) = (buffer.as_mut_ptr().cast(), buffer.len());
            libc::recv(self.raw(), at, len, libc::MSG_DONTWAIT)
        };
        usize::try_from(got).map_err(|_| io::Error::last_os_error())
    }

    /// Sends requests with NLM_F_ACK, and takes the answers to those numbered `first` to `last`, which the kernel gives within
    /// the call. It goes on behind a request that it refuses, but for batches of nf_tables, which it refuses as a whole.
    ///
    /// # Errors
    /// The number of the first that was refused, and why.
    pub fn acknowledged(
        &self,
        requests: &[u8],
        first: u32,
        last: u32,
    ) -> Result<(), (u32, io::Error)> {
        self.send(&[IoSlice::new(requests)])
            .map_err(|error| (first, error))?;
        let mut buffer = vec![0; ACKNOWLEDGEMENTS];
        let mut refused = None;
        let mut due = (first..=last).collect::<Vec<u32>>();
        while !due.is_empty() {
            let got = match self.receive(&mut buffer) {
                Ok(got) => got,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // A batch that is refused as a whole is answered once.
                Err(_) if refused.is_some() => break,
                Err(error) => return Err((due[0], error)),
            };
            // An acknowledgement is an NLMSG_ERROR whose code is 0.
            let answers = messages(&buffer[..got]);
            for answer in answers.filter(|one| i32::from(one.kind) == libc::NLMSG_ERROR) {
                due.retain(|&number| number != answer.sequence);
                if answer.code() != 0 && refused.is_none() {
                    let error = io::Error::from_raw_os_error(answer.code().saturating_neg());
                    refused = Some((answer.sequence, error));
                }
            }
        }
        refused.map_or(Ok(()), Err)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
