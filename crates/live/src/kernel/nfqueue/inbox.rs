//! Where messages of queues are received.

use crate::kernel::netlink::Socket;
use node::{Frame, Pool};
use std::io;

/// Packets a call.
pub const BATCH: usize = 64;
/// Buffer size for one message, bytes: the longest packet that the kernel copies, 65,531 bytes, and
/// its attributes. Not a multiple of 4096, so that the heads of packets do not share one cache set.
const MESSAGE_BUFFER_LEN: usize = 65_536 + 576;

/// Where messages are received: each in a frame to be.
pub struct Inbox {
    headers: Box<[libc::mmsghdr]>,
    vectors: Box<[libc::iovec]>,
    frames: Vec<Frame>,
}

// SAFETY: the raw pointers lead to memory that the same value owns.
unsafe impl Send for Inbox {}

impl Default for Inbox {
    fn default() -> Inbox {
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
            frames: vec![Frame::new(&[]); BATCH],
        }
    }
}

impl Inbox {
    /// One call for the messages that are there now; how many there were.
    pub fn receive(&mut self, socket: &Socket) -> io::Result<usize> {
        for (frame, vector) in self.frames.iter_mut().zip(&mut self.vectors) {
            let buffer = frame.buffer();
            buffer.clear();
            buffer.reserve_exact(MESSAGE_BUFFER_LEN);
            vector.iov_base = buffer.as_mut_ptr().cast();
            vector.iov_len = MESSAGE_BUFFER_LEN;
        }
        // SAFETY: each header points to a vector that never moves, and that to a buffer with room for as many bytes.
        let got = unsafe {
            libc::recvmmsg(
                socket.raw(),
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
        for (frame, header) in self.frames.iter_mut().zip(headers) {
            // SAFETY: the kernel has written so many bytes, and there is room for at least as many.
            unsafe {
                frame
                    .buffer()
                    .set_len((header.msg_len as usize).min(MESSAGE_BUFFER_LEN))
            };
        }
        Ok(got as usize)
    }

    pub fn message(&self, index: usize) -> &[u8] {
        &self.frames[index]
    }

    /// A message, to write into.
    pub fn message_mut(&mut self, index: usize) -> &mut [u8] {
        &mut self.frames[index]
    }

    /// Takes out the frame that a message has from `start` to `end`; one from the pool is in its stead.
    pub fn frame(&mut self, index: usize, start: usize, end: usize, pool: &mut Pool) -> Frame {
        let mut frame = std::mem::replace(&mut self.frames[index], pool.take());
        frame.resize(end);
        frame.remove(0, start);
        frame
    }
}
