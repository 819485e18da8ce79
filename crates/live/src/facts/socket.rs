//! A netlink socket: requests out, answers and notices in.

use super::message::{Message, code, messages};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Messages that one call takes, and requests in one: their answers have room in any socket.
pub const TOGETHER: usize = 16;
/// Room for one of them. The longest that is asked for in steady state are disciplines with statistics of their own.
const ROOM: usize = 8192;
/// Room for a part of a dump: the kernel makes none that is longer.
const PART: usize = 32_768;
/// Parts of a dump that are read: beyond what any table here holds.
const PARTS: usize = 65_536;

/// The notices wanted: links, neighbours, disciplines and classes, routes of IPv4 and IPv6 (RTNLGRP_*).
const GROUPS: u32 = 1 << 0 | 1 << 2 | 1 << 3 | 1 << 6 | 1 << 10;

/// NETLINK_GET_STRICT_CHK: requests for dumps may restrict these.
const STRICT: i32 = 12;

/// What came to a socket besides what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// Everything that was there.
    All,
    /// Notices are missing: there were more than it has room for.
    Overrun,
}

/// A socket to the namespace in which it was made, which hears of changes there.
pub struct Socket {
    fd: OwnedFd,
    /// Its own number, by which answers to it are known.
    own: u32,
    sequence: u32,
    room: Box<[u8]>,
    part: Box<[u8]>,
}

impl Socket {
    /// A socket to this thread's namespace. Needs no rights.
    pub fn open() -> io::Result<Socket> {
        // SAFETY: a plain system call; the result is checked before it is owned.
        let fd = unsafe {
            let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
            let fd = libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        // SAFETY: an all-zero sockaddr_nl is a valid one.
        let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
        address.nl_family = libc::AF_NETLINK as u16;
        address.nl_groups = GROUPS;
        let mut len = size_of_val(&address) as u32;
        let strict = 1i32;
        // SAFETY: the address, the value and their lengths are valid. A kernel before 4.20 has no strict requests, and
        // then gives more than is asked for.
        unsafe {
            let pointer = (&raw mut address).cast();
            if libc::bind(fd.as_raw_fd(), pointer, len) < 0
                || libc::getsockname(fd.as_raw_fd(), pointer, &mut len) < 0
            {
                return Err(io::Error::last_os_error());
            }
            let (pointer, len) = ((&raw const strict).cast(), size_of_val(&strict) as u32);
            libc::setsockopt(fd.as_raw_fd(), libc::SOL_NETLINK, STRICT, pointer, len);
        }
        Ok(Socket {
            fd,
            own: address.nl_pid,
            sequence: 0,
            room: vec![0; TOGETHER * ROOM].into(),
            part: vec![0; PART].into(),
        })
    }

    /// The descriptor, for questions of other kinds in the same namespace.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Asks for one thing each by requests, at most [`TOGETHER`] of them one behind the other; writes their sequence numbers into
    /// them. Shows each answer with the place of its request, and each notice without one.
    pub fn ask(
        &mut self,
        requests: &mut [u8],
        visit: &mut dyn FnMut(Option<usize>, Message<'_>),
    ) -> io::Result<Came> {
        let first = self.sequence.wrapping_add(1);
        let (mut count, mut at) = (0, 0);
        while let Some(len) = requests.get(at..).and_then(|rest| rest.first_chunk()) {
            let len = u32::from_ne_bytes(*len) as usize;
            self.sequence = self.sequence.wrapping_add(1);
            requests[at + 8..at + 12].copy_from_slice(&self.sequence.to_ne_bytes());
            at += len.next_multiple_of(4);
            count += 1;
        }
        let mut came = Came::All;
        if count > 0 {
            crate::netns::send(self.fd.as_raw_fd(), requests)?;
        }
        // The kernel answers within the call, so that everything is there by now.
        let mut open = count;
        loop {
            let own = self.own;
            let took = self.receive(&mut |message| {
                let place = message.sequence.wrapping_sub(first) as usize;
                match message.sender == own && place < count {
                    true => {
                        open = open.saturating_sub(1);
                        visit(Some(place), message);
                    }
                    false if message.sender == own => {}
                    false => visit(None, message),
                }
            });
            match took {
                // That there are no more is known by fewer than there is room for.
                Ok(took) if open == 0 && took < TOGETHER => return Ok(came),
                Ok(_) => {}
                Err(error) => match error.raw_os_error() {
                    Some(libc::EAGAIN) => return Ok(came),
                    Some(libc::ENOBUFS) => came = Came::Overrun,
                    Some(libc::EINTR) => {}
                    _ => return Err(error),
                },
            }
        }
    }

    /// Asks for a whole table. Shows each message of it, and each notice that comes meanwhile without being one of it.
    ///
    /// # Errors
    /// What the kernel says to the request.
    pub fn dump(
        &mut self,
        request: &mut [u8],
        visit: &mut dyn FnMut(bool, Message<'_>),
    ) -> io::Result<Came> {
        self.sequence = self.sequence.wrapping_add(1);
        let (own, sequence) = (self.own, self.sequence);
        request[8..12].copy_from_slice(&sequence.to_ne_bytes());
        crate::netns::send(self.fd.as_raw_fd(), request)?;
        let (mut ended, mut came) = (None, Came::All);
        for _ in 0..PARTS {
            let part = &mut self.part;
            // SAFETY: the buffer and its length are valid. The kernel has the next part ready before it gives this one.
            let got = unsafe {
                let pointer = part.as_mut_ptr().cast();
                libc::recv(self.fd.as_raw_fd(), pointer, part.len(), libc::MSG_DONTWAIT)
            };
            if got < 0 {
                let error = io::Error::last_os_error();
                match error.raw_os_error() {
                    Some(libc::ENOBUFS) => came = Came::Overrun,
                    Some(libc::EINTR) => {}
                    Some(libc::EAGAIN) => return Ok(came),
                    _ => return Err(error),
                }
                continue;
            }
            for message in messages(&part[..got as usize]) {
                let mine = message.sender == own;
                if !mine {
                    visit(false, message);
                    continue;
                }
                if message.sequence != sequence {
                    continue;
                }
                match i32::from(message.kind) {
                    libc::NLMSG_DONE | libc::NLMSG_ERROR => {
                        ended = Some(code(message.body));
                    }
                    _ => visit(true, message),
                }
                if i32::from(message.flags) & libc::NLM_F_DUMP_INTR != 0 {
                    // It changed meanwhile; the notice of that will have it read again.
                    came = Came::Overrun;
                }
            }
            match ended {
                Some(0) => return Ok(came),
                Some(code) => return Err(io::Error::from_raw_os_error(code.saturating_neg())),
                None => {}
            }
        }
        Ok(Came::Overrun)
    }

    /// Takes what is there, at most [`TOGETHER`] datagrams; how many.
    fn receive(&mut self, visit: &mut dyn FnMut(Message<'_>)) -> io::Result<usize> {
        // SAFETY: all-zero iovecs and headers are valid ones.
        let (mut vectors, mut headers): ([libc::iovec; TOGETHER], [libc::mmsghdr; TOGETHER]) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        let places = vectors.iter_mut().zip(&mut headers);
        for ((vector, header), room) in places.zip(self.room.chunks_exact_mut(ROOM)) {
            vector.iov_base = room.as_mut_ptr().cast();
            vector.iov_len = ROOM;
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: each header leads to one vector, each of these to its own room, and all live until the call is over.
        let got = unsafe {
            libc::recvmmsg(
                self.fd.as_raw_fd(),
                headers.as_mut_ptr(),
                TOGETHER as u32,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        if got < 0 {
            return Err(io::Error::last_os_error());
        }
        let took = got as usize;
        for (header, room) in headers.iter().zip(self.room.chunks_exact(ROOM)).take(took) {
            let len = (header.msg_len as usize).min(ROOM);
            messages(&room[..len]).for_each(&mut *visit);
            if header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0 {
                visit(Message::lost());
            }
        }
        Ok(took)
    }
}

impl Message<'_> {
    /// What stands for a notice that was too long: that of a link is, at cards with many functions.
    fn lost() -> Message<'static> {
        Message {
            kind: libc::NLMSG_OVERRUN as u16,
            flags: 0,
            sequence: 0,
            sender: 0,
            body: &[],
        }
    }
}
