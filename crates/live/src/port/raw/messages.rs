//! Receiving by recvmmsg: each frame as soon as it is there.

use super::deliver::{Delivery, Raw, tag};
use super::offload::{OFFLOAD, Offload, TAG};
use super::socket::{Socket, says_gone};
use super::watched::Watched;
use crate::kernel::control::ControlMessages;
use crate::kernel::interface::Interface;
use crate::port::{Link, Options, PortError, Receive, Received, RxCounters};
use ::capture::clock::Converter;
use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

/// Frames a call.
pub const BATCH: usize = 64;
/// Calls before the caller has its turn again.
pub const CALLS: usize = 4;
/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;
/// The offload header, padded so that the frame's IP header is aligned, and room for a tag.
const FRONT: usize = 18 + TAG;
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

/// What the kernel writes into. The headers point into the others, none of which ever moves.
pub struct Buffers {
    headers: Box<[libc::mmsghdr]>,
    #[expect(dead_code, reason = "the headers point to it")]
    vectors: Box<[[libc::iovec; 2]]>,
    controls: Box<[Control]>,
    places: Box<[u8]>,
    /// Where frames come from, if that is asked for.
    addresses: Box<[libc::sockaddr_ll]>,
}

/// Control messages are made of size_t.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; CONTROL]);

// SAFETY: the raw pointers lead to memory that the same value owns.
unsafe impl Send for Buffers {}

impl Buffers {
    /// For frames; and, if `addressed`, for where each comes from.
    pub fn new(addressed: bool) -> Box<Buffers> {
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
        // SAFETY: an all-zero sockaddr_ll is a valid one.
        let address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        let mut addresses = vec![address; if addressed { BATCH } else { 0 }].into_boxed_slice();
        let mut headers: Box<[libc::mmsghdr]> = vectors
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
        for (header, address) in headers.iter_mut().zip(&mut addresses) {
            header.msg_hdr.msg_name = (&raw mut *address).cast();
        }
        Box::new(Buffers {
            headers,
            vectors,
            controls,
            places,
            addresses,
        })
    }

    /// One call for what is there now; 0 when nothing is. Counts what the kernel took off the queue without giving it.
    ///
    /// # Errors
    /// What the system says, but for that nothing is there.
    pub fn take(&mut self, socket: RawFd, refused: &mut u64) -> io::Result<usize> {
        loop {
            match self.call(socket) {
                // A super-frame of a kind that the offload header has no word for; it is off the queue.
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => *refused += 1,
                taken => return taken,
            }
        }
    }

    fn call(&mut self, socket: RawFd) -> io::Result<usize> {
        for header in &mut self.headers {
            header.msg_hdr.msg_controllen = CONTROL;
            if !self.addresses.is_empty() {
                header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_ll>() as u32;
            }
        }
        // SAFETY: the headers lead to buffers of the lengths they give, all owned by `self`.
        let got = unsafe {
            libc::recvmmsg(
                socket,
                self.headers.as_mut_ptr(),
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
            Some(libc::EAGAIN | libc::EINTR) => Ok(0),
            _ => Err(error),
        }
    }

    /// Where the frame in a place comes from, if that is asked for.
    pub fn address(&self, index: usize) -> Option<&libc::sockaddr_ll> {
        self.addresses.get(index)
    }

    /// When the frame in a place came, as the kernel says, ns since 1970.
    pub fn wall_ns(&self, index: usize) -> Option<u64> {
        read_ancillary(&self.headers[index].msg_hdr, &self.controls[index]).wall_ns
    }

    /// The frame in a place, and what is known of it.
    pub fn received(&mut self, index: usize, clock: &mut Converter) -> Raw<'_> {
        self.headed(index, clock, None)
    }

    /// The same of a frame without Ethernet: its own header gives way to one of Ethernet with zeros for addresses, and this protocol.
    pub fn received_bare(&mut self, index: usize, clock: &mut Converter, protocol: u16) -> Raw<'_> {
        self.headed(index, clock, Some(protocol))
    }

    fn headed(&mut self, index: usize, clock: &mut Converter, protocol: Option<u16>) -> Raw<'_> {
        let header = &self.headers[index];
        let ancillary = read_ancillary(&header.msg_hdr, &self.controls[index]);
        let len = (header.msg_len as usize).saturating_sub(OFFLOAD);
        let mut whole = header.msg_hdr.msg_flags & libc::MSG_TRUNC == 0;
        let place = &mut self.places[index * PLACE..][..FRONT + len.min(PLACE - FRONT)];
        let mut offload = Offload::read(place);
        let mut start = FRONT;
        if let Some(protocol) = protocol {
            let own = usize::from(ancillary.header);
            whole &= own <= len;
            // There is room before the frame for the rest of the header, and a tag.
            start = (FRONT + own.min(len)) - ETHERNET;
            place[start..][..12].fill(0);
            place[start + 12..][..2].copy_from_slice(&protocol.to_be_bytes());
            offload.start = (offload.start + ETHERNET).saturating_sub(own);
        }
        Raw {
            offload,
            room: &mut place[start - TAG..],
            whole,
            tag: ancillary.tag,
            at_ns: clock.convert(ancillary.wall_ns.unwrap_or(u64::MAX)),
        }
    }
}

/// What the kernel says of a frame.
#[derive(Default)]
struct Ancillary {
    wall_ns: Option<u64>,
    tag: Option<(u16, u16)>,
    /// Bytes of the link header.
    header: u16,
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
            buffers: Buffers::new(false),
            delivery: Delivery::new(options.aggregates),
        })
    }

    /// One call for what is there now; 0 when nothing is.
    fn take(&mut self) -> Result<usize, PortError> {
        loop {
            let refused = &mut self.delivery.counters.refused;
            match self.buffers.take(self.socket.raw(), refused) {
                Ok(got) => return Ok(got),
                // Told before what still waits in the queue: that is delivered first.
                // Once for setting it down, once more for its removal.
                Err(error) if says_gone(&error) => self.socket.lost(),
                Err(error) => return Err(self.socket.error("receiving", error)),
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
                let raw = self.buffers.received(index, &mut self.clock);
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
            dropped: self.socket.dropped() + self.delivery.lost(),
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

fn read_ancillary(header: &libc::msghdr, control: &Control) -> Ancillary {
    let mut ancillary = Ancillary::default();
    for message in ControlMessages::new(&control.0[..header.msg_controllen.min(CONTROL)]) {
        let data = message.data;
        if let Some(wall_ns) = message.wall_ns() {
            ancillary.wall_ns = Some(wall_ns);
        } else if (message.level, message.kind) == (libc::SOL_PACKET, libc::PACKET_AUXDATA)
            && data.len() >= 20
        {
            let half = |at| u16::from_ne_bytes([data[at], data[at + 1]]);
            let status = message.word().unwrap_or(0);
            ancillary.tag = tag(status, half(16), half(18));
            ancillary.header = half(14);
        }
    }
    ancillary
}
