//! Sending by send, and by sendmmsg where several frames go at once; or in an aggregate, where the other end knows of those.

use super::aggregate::{Aggregator, is_aggregate};
use super::socket::{Socket, says_gone};
use super::stamp::Stamper;
use crate::kernel::interface::Interface;
use crate::port::{Backlog, Options, PortError, Transmit, TxCounters};
use std::io;

/// Frames a call.
const BATCH: usize = 64;
/// What the kernel may hold for a slow interface, bytes.
const BUFFER: usize = 4 << 20;

/// A sending half.
pub struct Sender {
    socket: Socket,
    batch: Batch,
    aggregator: Option<Aggregator>,
    stamper: Stamper,
    backlog: Backlog,
    returns: bool,
    counters: TxCounters,
}

/// What the kernel reads of a batch. The headers point to the vectors, which never move.
struct Batch {
    headers: Box<[libc::mmsghdr]>,
    vectors: Box<[libc::iovec]>,
}

// SAFETY: the raw pointers lead to memory that the same value owns, or to frames of the call under way.
unsafe impl Send for Batch {}

impl Batch {
    fn new() -> Batch {
        // SAFETY: all-zero vectors and headers are valid ones.
        let (mut vectors, mut headers): (Box<[libc::iovec]>, Box<[libc::mmsghdr]>) = unsafe {
            (
                vec![std::mem::zeroed(); BATCH].into(),
                vec![std::mem::zeroed(); BATCH].into(),
            )
        };
        for (vector, header) in vectors.iter_mut().zip(&mut headers) {
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
        }
        Batch { headers, vectors }
    }

    fn fill(&mut self, frames: &[&[u8]]) {
        for (vector, frame) in self.vectors.iter_mut().zip(frames) {
            vector.iov_base = frame.as_ptr().cast_mut().cast();
            vector.iov_len = frame.len();
        }
    }
}

impl Sender {
    /// Opens the interface for sending.
    pub fn open(interface: &Interface, options: &Options) -> Result<Sender, PortError> {
        let mut socket = Socket::new(interface)?;
        socket.set_buffer(libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, BUFFER);
        socket.bind(0)?;
        Ok(Sender {
            stamper: Stamper::new(&socket),
            socket,
            batch: Batch::new(),
            aggregator: options.aggregates.then(|| Aggregator::new(interface.mtu)),
            backlog: Backlog::new(options.patience),
            returns: options.returns,
            counters: TxCounters::default(),
        })
    }

    /// One call; how many of the frames the kernel has taken, at least one.
    fn give(&mut self, frames: &[&[u8]]) -> Result<usize, PortError> {
        let count = frames.len().min(BATCH);
        if count > 1 {
            self.batch.fill(&frames[..count]);
        }
        loop {
            let (fd, flags) = (self.socket.raw(), libc::MSG_DONTWAIT);
            // SAFETY: the frames outlive the call, which only reads them; the first `count` headers of
            // the batch lead to them.
            let sent = unsafe {
                if count > 1 {
                    let headers = self.batch.headers.as_mut_ptr();
                    libc::sendmmsg(fd, headers, count as u32, flags as _) as isize
                } else {
                    let (frame, len) = (frames[0].as_ptr().cast(), frames[0].len());
                    libc::send(fd, frame, len, flags).min(1)
                }
            };
            if sent > 0 {
                self.stamper.sent(&self.socket);
                self.backlog.passed();
                return Ok(sent as usize);
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // The socket's own share is in use, or the interface's queue is full.
                Some(libc::EAGAIN | libc::ENOBUFS) => {
                    self.backlog.wait(self.socket.name(), &mut self.counters)?
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
                _ if says_gone(&error) => self.socket.recover(&error, self.returns)?,
                _ => return Err(self.socket.error("sending", error)),
            }
        }
    }

    /// One call for the frames that one aggregate takes, at least one; how many.
    fn give_aggregate(
        &mut self,
        mut aggregator: Aggregator,
        frames: &[&[u8]],
    ) -> Result<usize, PortError> {
        let count = aggregator.fitting(frames).max(1);
        let given = self.give(&[aggregator.build(&frames[..count])]);
        if given.is_ok() {
            aggregator.sent(count);
        }
        self.aggregator = Some(aggregator);
        given.map(|_| count)
    }

    /// One call for the first of the frames; how many were taken.
    fn give_first(&mut self, frames: &[&[u8]], together: bool) -> Result<usize, PortError> {
        if frames[0].len() < packet::MIN_FRAME_LEN {
            return Err(PortError::TooShort {
                len: frames[0].len(),
            });
        }
        // What looks like an aggregate must not be taken for one.
        let is_plain = |frame: &&&[u8]| {
            frame.len() >= packet::MIN_FRAME_LEN
                && !(self.aggregator.is_some() && is_aggregate(frame))
        };
        let plain = frames.iter().take(BATCH).take_while(is_plain).count();
        let fitting = |aggregator: &Aggregator| aggregator.fitting(frames) > 1;
        let many = together && self.aggregator.as_ref().is_some_and(fitting);
        match self.aggregator.take_if(|_| many || plain == 0) {
            Some(aggregator) if many => self.give_aggregate(aggregator, frames),
            Some(aggregator) => self.give_aggregate(aggregator, &frames[..1]),
            None => self.give(&frames[..plain]),
        }
    }

    fn send_all(&mut self, frames: &[&[u8]], together: bool) -> Result<usize, PortError> {
        let mut sent = 0;
        while sent < frames.len() {
            let rest = &frames[sent..];
            match self.give_first(rest, together) {
                Ok(count) => {
                    self.counters.sent += count as u64;
                    self.counters.bytes +=
                        rest[..count].iter().map(|f| f.len() as u64).sum::<u64>();
                    sent += count;
                }
                // What was sent is told first; the next call begins with the frame at fault.
                Err(_) if sent > 0 => return Ok(sent),
                Err(error) => {
                    self.counters.refuse(&error);
                    return Err(error);
                }
            }
        }
        Ok(sent)
    }
}

impl Transmit for Sender {
    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, PortError> {
        self.send_all(frames, false)
    }

    fn send_together(&mut self, frames: &[&[u8]]) -> Result<usize, PortError> {
        self.send_all(frames, true)
    }

    fn method(&self) -> &'static str {
        "send"
    }

    /// A frame without a header: the kernel takes a buffer for it, finds it too short, and gives it back.
    fn warm(&mut self) {
        // SAFETY: nothing is passed.
        unsafe {
            libc::send(
                self.socket.raw(),
                std::ptr::NonNull::<u8>::dangling().as_ptr().cast(),
                0,
                libc::MSG_DONTWAIT,
            )
        };
    }

    fn ask_for_stamp(&mut self) -> bool {
        self.stamper.ask(&self.socket)
    }

    fn take_stamp(&mut self) -> Option<u64> {
        self.stamper.take(self.socket.raw())
    }

    fn counters(&self) -> TxCounters {
        self.counters
    }
}
