//! Receiving by recvmmsg: each frame as soon as it is there.

use super::deliver::{Delivery, OFFLOAD, Offload, Raw, tag};
use super::mend;
use super::socket::{Socket, says_gone};
use super::watched::Watched;
use crate::clock::Converter;
use crate::interface::Interface;
use crate::port::{Link, Options, PortError, Receive, Received, RxCounters};
use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

/// Frames a call.
const BATCH: usize = 64;
/// Calls before the caller has its turn again.
const CALLS: usize = 4;
/// The offload header, padded so that the frame's IP header is aligned, and room for a tag.
const FRONT: usize = 18 + mend::TAG;
/// Bytes of one frame's place: the longest super-frame, and a distance that is no power of two, so
/// that the frames' headers do not share one cache set.
const PLACE: usize = FRONT + 65_536 + 14 + 64 * 5 - (FRONT + 14) % 64;
/// Bytes for one frame's control messages: stamp and auxiliary data.
const CONTROL: usize = 128;

/// A receiving half over recvmmsg.
pub struct Receiver {
    socket: Watched,
    clock: Converter,
    buffers: Box<Buffers>,
    delivery: Delivery,
}

/// What the kernel writes into. The headers point into the other three, none of which ever moves.
struct Buffers {
    headers: Box<[libc::mmsghdr]>,
    #[expect(dead_code, reason = "the headers point to it")]
    vectors: Box<[[libc::iovec; 2]]>,
    controls: Box<[Control]>,
    places: Box<[u8]>,
}

/// Control messages are made of size_t.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; CONTROL]);

// SAFETY: the raw pointers lead to memory that the same value owns.
unsafe impl Send for Buffers {}

impl Buffers {
    fn new() -> Box<Buffers> {
        let mut places = vec![0u8; BATCH * PLACE].into_boxed_slice();
        let mut controls = vec![Control([0; CONTROL]); BATCH].into_boxed_slice();
        let mut vectors: Box<[[libc::iovec; 2]]> = places
            .chunks_exact_mut(PLACE)
            .map(|place| {
                let (front, frame) = place.split_at_mut(FRONT);
                [
                    libc::iovec {
                        iov_base: front.as_mut_ptr().cast(),
                        iov_len: OFFLOAD,
                    },
                    libc::iovec {
                        iov_base: frame.as_mut_ptr().cast(),
                        iov_len: frame.len(),
                    },
                ]
            })
            .collect();
        let headers = vectors
            .iter_mut()
            .zip(controls.iter_mut())
            .map(|(vectors, control)| {
                // SAFETY: an all-zero mmsghdr is a valid one.
                let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
                header.msg_hdr.msg_iov = vectors.as_mut_ptr();
                header.msg_hdr.msg_iovlen = 2;
                header.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
                header
            })
            .collect();
        Box::new(Buffers {
            headers,
            vectors,
            controls,
            places,
        })
    }
}

/// What the kernel says beside a frame.
#[derive(Default)]
struct Beside {
    wall_ns: Option<u64>,
    tag: Option<(u16, u16)>,
}

impl Receiver {
    /// Opens the interface for receiving.
    pub fn open(interface: &Interface, options: &Options) -> Result<Receiver, PortError> {
        let mut socket = Socket::new(interface)?;
        socket.set_buffer(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, options.buffer);
        let (level, option) = (libc::SOL_PACKET, libc::PACKET_AUXDATA);
        socket.set(level, option, 1i32, "asking for tags")?;
        socket.ask_for_all(options)?;
        socket.bind(libc::ETH_P_ALL as u16)?;
        Ok(Receiver {
            socket: Watched::new(socket, options),
            clock: Converter::new(),
            buffers: Buffers::new(),
            delivery: Delivery::default(),
        })
    }

    /// One call for what is there now; 0 when nothing is.
    fn take(&mut self) -> Result<usize, PortError> {
        loop {
            for header in &mut self.buffers.headers {
                header.msg_hdr.msg_controllen = CONTROL;
            }
            // SAFETY: the headers lead to buffers of the lengths they give, all owned by `self`.
            let got = unsafe {
                libc::recvmmsg(
                    self.socket.raw(),
                    self.buffers.headers.as_mut_ptr(),
                    BATCH as u32,
                    libc::MSG_DONTWAIT as _,
                    std::ptr::null_mut(),
                )
            };
            if got >= 0 {
                return Ok(got as usize);
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EINTR) => return Ok(0),
                // A super-frame of a kind that the offload header has no word for; it is off the queue.
                Some(libc::EINVAL) => self.delivery.counters.refused += 1,
                // Told before what still waits in the queue: that is delivered first.
                // Once for setting it down, once more for its removal.
                _ if says_gone(&error) => self.socket.lost(),
                _ => return Err(self.socket.error("receiving", error)),
            }
        }
    }
}

impl Receive for Receiver {
    fn receive(
        &mut self,
        wait: Duration,
        sink: &mut dyn FnMut(Received<'_>),
    ) -> Result<usize, PortError> {
        let mut got = self.take()?;
        if got == 0 && !wait.is_zero() {
            self.socket.nothing_came()?;
            self.socket.wait_for_frame(wait)?;
            got = self.take()?;
        }
        let mut given = 0;
        // Not for ever: in a flood there is always more, and the caller has other duties.
        for call in 1..=CALLS {
            if got == 0 {
                break;
            }
            self.clock.refresh();
            for index in 0..got {
                let raw = received(&mut self.buffers, index, &mut self.clock);
                given += self.delivery.deliver(raw, sink);
            }
            if got < BATCH || call == CALLS {
                return Ok(given);
            }
            got = self.take()?;
        }
        if given == 0 {
            self.socket.nothing_came()?;
        }
        Ok(given)
    }

    fn counters(&self) -> RxCounters {
        RxCounters {
            dropped: self.socket.dropped(),
            ..self.delivery.counters
        }
    }

    fn link(&mut self) -> Option<Link> {
        Some(self.socket.look())
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.socket.raw())
    }
}

/// The frame in a place, and what is known of it.
fn received<'a>(buffers: &'a mut Buffers, index: usize, clock: &mut Converter) -> Raw<'a> {
    let header = &buffers.headers[index];
    let beside = read_beside(&header.msg_hdr, &buffers.controls[index]);
    let len = (header.msg_len as usize).saturating_sub(OFFLOAD);
    let whole = header.msg_hdr.msg_flags & libc::MSG_TRUNC == 0;
    let place = &mut buffers.places[index * PLACE..][..FRONT + len.min(PLACE - FRONT)];
    Raw {
        offload: Offload::read(place),
        room: &mut place[FRONT - mend::TAG..],
        whole,
        tag: beside.tag,
        at_ns: clock.convert(beside.wall_ns.unwrap_or(u64::MAX)),
    }
}

fn read_beside(header: &libc::msghdr, control: &Control) -> Beside {
    let mut beside = Beside::default();
    let mut rest = &control.0[..header.msg_controllen.min(CONTROL)];
    let head = size_of::<libc::cmsghdr>();
    while rest.len() >= head {
        // SAFETY: there are enough bytes for a header, which is plain data.
        let message: libc::cmsghdr =
            unsafe { rest.as_ptr().cast::<libc::cmsghdr>().read_unaligned() };
        let len = message.cmsg_len;
        if len < head || len > rest.len() {
            break;
        }
        let data = &rest[head..len];
        match (message.cmsg_level, message.cmsg_type) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) if data.len() >= 16 => {
                let word = |at| u64::from_ne_bytes(std::array::from_fn(|i| data[at + i]));
                beside.wall_ns = Some(word(0) * 1_000_000_000 + word(8));
            }
            (libc::SOL_PACKET, libc::PACKET_AUXDATA) if data.len() >= 20 => {
                let half = |at| u16::from_ne_bytes([data[at], data[at + 1]]);
                let status = u32::from_ne_bytes([data[0], data[1], data[2], data[3]]);
                beside.tag = tag(status, half(16), half(18));
            }
            _ => {}
        }
        rest = rest
            .get(len.next_multiple_of(size_of::<usize>())..)
            .unwrap_or(&[]);
    }
    beside
}
