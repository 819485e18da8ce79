//! Sending by sendmmsg.

use super::socket::{Socket, says_gone};
use crate::interface::Interface;
use crate::port::{PortError, Transmit, TxCounters};
use std::io;
use std::time::Duration;

/// Frames a call.
const BATCH: usize = 64;
/// What the kernel may hold for a slow interface, bytes.
const BUFFER: usize = 4 << 20;

/// A sending half.
pub struct Sender {
    socket: Socket,
    counters: TxCounters,
}

impl Sender {
    /// Opens the interface for sending.
    pub fn open(interface: &Interface) -> Result<Sender, PortError> {
        let socket = Socket::new(interface)?;
        socket.set_buffer(libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, BUFFER);
        socket.bind(0)?;
        Ok(Sender {
            socket,
            counters: TxCounters::default(),
        })
    }

    /// One call; how many of the frames the kernel has taken, at least one.
    fn give(&mut self, frames: &[&[u8]]) -> Result<usize, PortError> {
        let count = frames.len().min(BATCH);
        // SAFETY: all-zero vectors and headers are valid ones.
        let (mut vectors, mut headers): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        for ((vector, header), frame) in vectors.iter_mut().zip(&mut headers).zip(frames) {
            vector.iov_base = frame.as_ptr().cast_mut().cast();
            vector.iov_len = frame.len();
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
        }
        loop {
            // SAFETY: the first `count` headers lead to frames that outlive the call, which only reads them.
            let sent = unsafe {
                libc::sendmmsg(
                    self.socket.raw(),
                    headers.as_mut_ptr(),
                    count as u32,
                    libc::MSG_DONTWAIT as _,
                )
            };
            if sent > 0 {
                return Ok(sent as usize);
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                Some(libc::EAGAIN) => {
                    self.counters.waited += 1;
                    self.socket
                        .wait(libc::POLLOUT, Duration::from_millis(100))?;
                }
                // The interface's own queue is full, which poll does not know about.
                Some(libc::ENOBUFS) => {
                    self.counters.waited += 1;
                    self.socket.wait(0, Duration::from_micros(50))?;
                }
                Some(libc::EMSGSIZE) => {
                    let mtu = self.socket.mtu();
                    return Err(PortError::TooLong {
                        name: self.socket.name().into(),
                        len: frames[0].len(),
                        mtu,
                        longest: mtu as usize + 14,
                    });
                }
                _ if says_gone(&error) => return Err(self.socket.gone()),
                _ => return Err(self.socket.error("sending", error)),
            }
        }
    }
}

impl Transmit for Sender {
    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, PortError> {
        let mut sent = 0;
        while sent < frames.len() {
            let rest = &frames[sent..];
            let whole = rest
                .iter()
                .take(BATCH)
                .take_while(|frame| frame.len() >= packet::SHORTEST)
                .count();
            let given = match whole {
                0 => Err(PortError::TooShort { len: rest[0].len() }),
                _ => self.give(&rest[..whole]),
            };
            match given {
                Ok(count) => {
                    self.counters.sent += count as u64;
                    self.counters.bytes +=
                        rest[..count].iter().map(|f| f.len() as u64).sum::<u64>();
                    sent += count;
                }
                // What was sent is told first; the next call begins with the frame at fault.
                Err(_) if sent > 0 => return Ok(sent),
                Err(error) => {
                    self.counters.refused += 1;
                    return Err(error);
                }
            }
        }
        Ok(sent)
    }

    fn counters(&self) -> TxCounters {
        self.counters
    }
}
