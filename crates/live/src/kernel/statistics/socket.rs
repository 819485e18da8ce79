//! A netlink socket: requests out, answers and notices in.

use crate::kernel::netlink::{self, Received, messages};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};

/// Maximum number of messages of one call, and of requests: their answers fit into any socket.
pub const MAX_BATCH: usize = 16;
/// Buffer size for one message, bytes. The longest messages in steady state are queueing
/// disciplines with statistics of their own.
const MESSAGE_BUFFER_LEN: usize = 8192;
/// Room for a part of a dump: the kernel makes none that is longer.
const PART: usize = 32_768;
/// Parts of a dump that are read: beyond what any table here holds.
const PARTS: usize = 65_536;

/// The notices wanted: links, neighbours, disciplines and classes, routes of IPv4 and IPv6 (RTNLGRP_*).
const GROUPS: u32 = 1 << 0 | 1 << 2 | 1 << 3 | 1 << 6 | 1 << 10;

/// NETLINK_GET_STRICT_CHK: requests for dumps may restrict these.
const STRICT: i32 = 12;

/// Messages that arrived without a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// Everything that was there.
    All,
    /// Notices are missing: there were more than it has room for.
    Overrun,
}

/// A socket to the namespace in which it was made, which hears of changes there.
pub struct Socket {
    netlink: netlink::Socket,
    room: Box<[u8]>,
    part: Box<[u8]>,
}

impl Socket {
    /// A socket to this thread's namespace. Needs no rights.
    pub fn open() -> io::Result<Socket> {
        let netlink = netlink::Socket::open(netlink::Protocol::Route, GROUPS)?;
        // A kernel before 4.20 has no strict requests, and then gives more than is asked for.
        let _ = netlink.set(libc::SOL_NETLINK, STRICT, 1);
        Ok(Socket {
            netlink,
            room: vec![0; MAX_BATCH * MESSAGE_BUFFER_LEN].into(),
            part: vec![0; PART].into(),
        })
    }

    /// The descriptor, for questions of other kinds in the same namespace.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.netlink.as_fd()
    }

    /// Sends requests for one object each, at most [`MAX_BATCH`] of them concatenated, and writes
    /// their sequence numbers into them. Shows each answer with the index of its request, and each
    /// notice without one.
    pub fn ask(
        &mut self,
        requests: &mut [u8],
        visit: &mut dyn FnMut(Option<usize>, Received<'_>),
    ) -> io::Result<Came> {
        let (mut first, mut count, mut at) = (0, 0, 0);
        while let Some(len) = requests.get(at..).and_then(|rest| rest.first_chunk()) {
            let len = u32::from_ne_bytes(*len) as usize;
            let sequence = self.netlink.next_sequence();
            first = if count == 0 { sequence } else { first };
            requests[at + 8..at + 12].copy_from_slice(&sequence.to_ne_bytes());
            at += len.next_multiple_of(4);
            count += 1;
        }
        let mut came = Came::All;
        if count > 0 {
            self.netlink.send(&[IoSlice::new(requests)])?;
        }
        // The kernel answers within the call, so that everything is there by now.
        let mut open = count;
        loop {
            let own = self.netlink.port();
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
                Ok(took) if open == 0 && took < MAX_BATCH => return Ok(came),
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
        visit: &mut dyn FnMut(bool, Received<'_>),
    ) -> io::Result<Came> {
        let (own, sequence) = (self.netlink.port(), self.netlink.next_sequence());
        request[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.netlink.send(&[IoSlice::new(request)])?;
        let (mut ended, mut came) = (None, Came::All);
        for _ in 0..PARTS {
            // The kernel has the next part ready before it gives this one.
            let got = match self.netlink.receive(&mut self.part) {
                Ok(got) => got,
                Err(error) => match error.raw_os_error() {
                    Some(libc::ENOBUFS) => {
                        came = Came::Overrun;
                        continue;
                    }
                    Some(libc::EINTR) => continue,
                    Some(libc::EAGAIN) => return Ok(came),
                    _ => return Err(error),
                },
            };
            for message in messages(&self.part[..got]) {
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
                        ended = Some(message.code());
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

    /// Receives the available datagrams, at most [`MAX_BATCH`], and returns their number.
    fn receive(&mut self, visit: &mut dyn FnMut(Received<'_>)) -> io::Result<usize> {
        // SAFETY: all-zero iovecs and headers are valid ones.
        let (mut vectors, mut headers): ([libc::iovec; MAX_BATCH], [libc::mmsghdr; MAX_BATCH]) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        let places = vectors.iter_mut().zip(&mut headers);
        for ((vector, header), room) in places.zip(self.room.chunks_exact_mut(MESSAGE_BUFFER_LEN)) {
            vector.iov_base = room.as_mut_ptr().cast();
            vector.iov_len = MESSAGE_BUFFER_LEN;
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: each header leads to one vector, each of these to its own room, and all live until the call is over.
        let got = unsafe {
            libc::recvmmsg(
                self.netlink.raw(),
                headers.as_mut_ptr(),
                MAX_BATCH as u32,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        if got < 0 {
            return Err(io::Error::last_os_error());
        }
        let took = got as usize;
        for (header, room) in headers
            .iter()
            .zip(self.room.chunks_exact(MESSAGE_BUFFER_LEN))
            .take(took)
        {
            let len = (header.msg_len as usize).min(MESSAGE_BUFFER_LEN);
            messages(&room[..len]).for_each(&mut *visit);
            if header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0 {
                visit(LOST);
            }
        }
        Ok(took)
    }
}

/// What stands for a notice that was too long: that of a link is, at cards with many functions.
const LOST: Received<'static> = Received {
    kind: libc::NLMSG_OVERRUN as u16,
    flags: 0,
    sequence: 0,
    sender: 0,
    body: &[],
};
