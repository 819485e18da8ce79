//! Sending by send, and by sendmmsg where several frames go at once; or in an aggregate, where the other end knows of those; or with
//! TCP segments as [super-frames](super::coalesce).

use super::aggregate::{Aggregator, is_aggregate};
use super::coalesce::{Front, coalesce};
use super::socket::{Socket, says_gone};
use super::stamp::Stamper;
use crate::kernel::interface::Interface;
use crate::port::{Backlog, Options, PortError, Transmit, TxCounters};
use std::io;
use std::ops::Range;

/// Frames a call.
const BATCH: usize = 64;
/// What the kernel may hold for a slow interface, bytes.
const BUFFER: usize = 4 << 20;

/// A sending half.
pub struct Sender {
    socket: Socket,
    batch: Batch,
    aggregator: Option<Aggregator>,
    /// State for joining TCP segments into super-frames, if the port does so.
    fronts: Option<Fronts>,
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

/// Messages of one call: super-frames, and frames that are sent unchanged.
struct Fronts {
    /// Maximum frame length of the interface, bytes.
    longest: usize,
    /// Whether the kernel has refused a super-frame.
    refused: bool,
    /// Front of each message.
    fronts: Vec<Front>,
    /// Number of frames in each message.
    counts: Vec<usize>,
    payloads: Vec<Range<usize>>,
}

impl Fronts {
    fn new(mtu: u32) -> Fronts {
        Fronts {
            longest: mtu as usize + 14,
            refused: false,
            fronts: Vec::with_capacity(BATCH),
            counts: Vec::with_capacity(BATCH),
            payloads: Vec::with_capacity(BATCH),
        }
    }
}

// SAFETY: the raw pointers lead to memory that the same value owns, or to frames of the call under way.
unsafe impl Send for Batch {}

impl Batch {
    fn new() -> Batch {
        // SAFETY: all-zero vectors and headers are valid ones.
        let (mut vectors, mut headers): (Box<[libc::iovec]>, Box<[libc::mmsghdr]>) = unsafe {
            (
                // Each message may have a front.
                vec![std::mem::zeroed(); 2 * BATCH].into(),
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
            *vector = to(frame);
        }
    }

    /// Builds messages from at most [`BATCH`] frames, each with a front, and joins segments where possible. Returns the number of messages.
    fn fill_with_fronts(&mut self, frames: &[&[u8]], fronts: &mut Fronts) -> usize {
        let (mut at, mut vectors) = (0, 0);
        fronts.fronts.clear();
        fronts.counts.clear();
        fronts.payloads.clear();
        while at < frames.len() {
            let rest = &frames[at..];
            let front = match fronts.refused {
                true => None,
                false => coalesce(rest, fronts.longest, &mut fronts.payloads),
            };
            // The vector of the front is filled below, after `fronts` has its final size.
            let first = vectors;
            vectors += 1;
            match &front {
                None => {
                    self.vectors[vectors] = to(frames[at]);
                    vectors += 1;
                }
                Some(_) => {
                    for (frame, payload) in rest.iter().zip(&fronts.payloads) {
                        self.vectors[vectors] = to(&frame[payload.clone()]);
                        vectors += 1;
                    }
                }
            }
            let header = &mut self.headers[fronts.counts.len()].msg_hdr;
            header.msg_iov = &raw mut self.vectors[first];
            header.msg_iovlen = (vectors - first) as _;
            let count = fronts.payloads.len().max(1);
            fronts.fronts.push(front.unwrap_or(Front::PLAIN));
            fronts.counts.push(count);
            at += count;
        }
        for (header, front) in self.headers.iter().zip(&fronts.fronts) {
            // SAFETY: the pointer was set above, to one of this value's own vectors.
            unsafe { *header.msg_hdr.msg_iov = to(front.bytes()) };
        }
        fronts.counts.len()
    }
}

fn to(bytes: &[u8]) -> libc::iovec {
    libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    }
}

impl Sender {
    /// Opens the interface for sending.
    pub fn open(interface: &Interface, options: &Options) -> Result<Sender, PortError> {
        let mut socket = Socket::new(interface)?;
        socket.set_buffer(libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, BUFFER);
        let coalesces = options.coalesces && !options.aggregates;
        if coalesces {
            let (packet, offloads) = (libc::SOL_PACKET, libc::PACKET_VNET_HDR);
            socket.set(packet, offloads, 1i32, "asking for super-frames")?;
        }
        socket.bind(0)?;
        Ok(Sender {
            stamper: Stamper::new(&socket),
            socket,
            batch: Batch::new(),
            aggregator: options.aggregates.then(|| Aggregator::new(interface.mtu)),
            fronts: coalesces.then(|| Fronts::new(interface.mtu)),
            backlog: Backlog::new(options.patience),
            returns: options.returns,
            counters: TxCounters::default(),
        })
    }

    /// One call; how many of the frames the kernel has taken, at least one.
    fn give(&mut self, frames: &[&[u8]]) -> Result<usize, PortError> {
        let most = frames.len().min(BATCH);
        let mut count = self.fill(&frames[..most]);
        let has_fronts = self.fronts.is_some();
        loop {
            let (fd, flags) = (self.socket.raw(), libc::MSG_DONTWAIT);
            // SAFETY: the frames outlive the call, which only reads them; the first `count` headers of
            // the batch lead to them.
            let sent = unsafe {
                if count > 1 || has_fronts {
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
                return Ok(match &self.fronts {
                    Some(fronts) => fronts.counts[..sent as usize].iter().sum(),
                    None => sent as usize,
                });
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                Some(libc::EINVAL) if self.refuse_super_frame() => {
                    count = self.fill(&frames[..most]);
                }
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

    /// Builds messages from at most [`BATCH`] frames. Returns the number of messages.
    fn fill(&mut self, frames: &[&[u8]]) -> usize {
        match &mut self.fronts {
            Some(fronts) => return self.batch.fill_with_fronts(frames, fronts),
            None if frames.len() > 1 => self.batch.fill(frames),
            None => {}
        }
        frames.len()
    }

    /// Handles EINVAL for the first message. If it was a super-frame, disables super-frames and returns true.
    fn refuse_super_frame(&mut self) -> bool {
        match &mut self.fronts {
            Some(fronts) if fronts.counts[0] > 1 => {
                fronts.refused = true;
                true
            }
            _ => false,
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
