//! Receiving by a TPACKET_V2 ring: the kernel fills slots in memory that both sides see, so that a frame costs
//! neither a call nor a copy of ours, and is there as soon as it would be with a call.
//!
//! A frame too long for its slot - a super-frame, mostly - comes by the socket's queue as well, whole.

use super::deliver::{Delivery, Raw, tag};
use super::offload::{OFFLOAD, Offload, TAG};
use super::slots::{SLOT, Slots};
use super::socket::Socket;
use super::watched::Watched;
use crate::kernel::interface::Interface;
use crate::port::{Link, Options, PortError, Receive, Received, RxCounters};
use ::capture::clock::Converter;
use std::io;
use std::os::fd::RawFd;
use std::ptr::NonNull;
use std::time::Duration;

/// Bytes of a block, which is what the kernel takes memory in: whole pages, few enough that it finds them side by side.
const BLOCK: usize = 1 << 16;
/// Frames before the caller has its turn again.
const CALL: usize = 256;
/// Number of polls without a frame between two checks that the interface still exists.
const POLLS_PER_INTERFACE_CHECK: u32 = 64;
/// Bytes of struct tpacket2_hdr.
const HEADER: usize = 32;
/// Length of the longest super-frame with its offload header, after space for a tag.
const LONG: usize = TAG + OFFLOAD + 65_536 + 14;
/// Status of a slot whose frame was too long for it, and is in the socket's queue too.
const COPY: u32 = libc::TP_STATUS_COPY;

/// A receiving half over a ring.
pub struct Ring {
    socket: Watched,
    clock: Converter,
    delivery: Delivery,
    memory: Memory,
    /// The slot that is filled next, or read.
    next: usize,
    /// For frames too long for their slot.
    long: Box<[u8]>,
    /// Times in a row that nothing was there.
    idle: u32,
}

/// The memory that is shared with the kernel.
struct Memory(Slots);

impl Memory {
    fn map(socket: &Socket, slots: usize) -> io::Result<Memory> {
        // SAFETY: a new mapping of the socket's ring, whose length is the one that was asked for.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                slots * SLOT,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                socket.raw(),
                0,
            )
        };
        match NonNull::new(at.cast()) {
            Some(at) if at.as_ptr() as isize != -1 => {
                // SAFETY: the mapping is this value's own and goes with it; the kernel keeps to the protocol.
                Ok(Memory(unsafe { Slots::new(at, slots) }))
            }
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length, and nothing points into it any more.
        unsafe { libc::munmap(self.0.start().as_ptr().cast(), self.0.count() * SLOT) };
    }
}

impl Ring {
    /// Opens the interface for receiving.
    pub fn open(interface: &Interface, options: &Options) -> Result<Ring, PortError> {
        let mut socket = Socket::new(interface)?;
        let version = libc::tpacket_versions::TPACKET_V2 as i32;
        let (level, option) = (libc::SOL_PACKET, libc::PACKET_VERSION);
        socket.set(level, option, version, "asking for a ring")?;
        socket.set_buffer(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, options.buffer);
        socket.set(
            level,
            libc::PACKET_COPY_THRESH,
            1i32,
            "asking for long frames",
        )?;
        socket.ask_for_all(options)?;
        let blocks = (options.buffer / BLOCK).clamp(8, 4096);
        let slots = blocks * (BLOCK / SLOT);
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: SLOT as u32,
            tp_frame_nr: slots as u32,
        };
        socket.set(level, libc::PACKET_RX_RING, request, "making a ring")?;
        let memory =
            Memory::map(&socket, slots).map_err(|error| socket.error("mapping the ring", error))?;
        socket.bind(libc::ETH_P_ALL as u16)?;
        Ok(Ring {
            socket: Watched::new(socket, options),
            clock: Converter::new(),
            delivery: Delivery::default(),
            memory,
            next: 0,
            long: vec![0; LONG].into(),
            idle: 0,
        })
    }

    /// Nothing is there: asks what the kernel has to say of the interface, which takes a call, so not each time for who
    /// looks again and again.
    fn look_now_and_then(&mut self) -> Result<(), PortError> {
        self.idle = self.idle.wrapping_add(1);
        if self.idle % POLLS_PER_INTERFACE_CHECK == 1 && self.socket.says_gone() {
            self.socket.lost();
        }
        self.socket.nothing_came()
    }

    /// Gives all frames that are there.
    fn drain(&mut self, sink: &mut dyn FnMut(Received<'_>)) -> usize {
        let (mut given, mut fresh) = (0, false);
        // Not forever: in a flood there is always more, and the caller has other duties.
        for _ in 0..CALL {
            let Some((status, slot)) = self.memory.0.take(self.next) else {
                break;
            };
            if !std::mem::replace(&mut fresh, true) {
                self.clock.refresh();
            }
            let long = match status & COPY {
                0 => None,
                _ => receive_long(&self.socket, &mut self.long),
            };
            given += match read(slot, status, long, &mut self.clock) {
                Some(raw) => self.delivery.deliver(raw, sink),
                None => {
                    self.delivery.counters.refused += 1;
                    0
                }
            };
            self.memory.0.give_back(self.next);
            self.next = (self.next + 1) % self.memory.0.count();
        }
        given
    }
}

/// Takes a frame that was too long for its slot from the socket's queue, behind room for a tag.
fn receive_long<'a>(socket: &Socket, long: &'a mut [u8]) -> Option<&'a mut [u8]> {
    let room = &mut long[TAG..];
    // SAFETY: the room is valid for the length that is given.
    let got = unsafe {
        libc::recv(
            socket.raw(),
            room.as_mut_ptr().cast(),
            room.len(),
            libc::MSG_DONTWAIT,
        )
    };
    let got = usize::try_from(got).ok().filter(|&got| got > OFFLOAD)?;
    Some(&mut long[..TAG + got])
}

/// The frame in a slot, or the long one for which the slot had no room; `None` when neither is whole.
fn read<'a>(
    slot: &'a mut [u8],
    status: u32,
    long: Option<&'a mut [u8]>,
    clock: &mut Converter,
) -> Option<Raw<'a>> {
    let word = |at: usize| u32::from_ne_bytes([slot[at], slot[at + 1], slot[at + 2], slot[at + 3]]);
    let half = |at: usize| u16::from_ne_bytes([slot[at], slot[at + 1]]);
    let (len, captured) = (word(4) as usize, word(8) as usize);
    let start = usize::from(half(12));
    let wall = u64::from(word(16)) * 1_000_000_000 + u64::from(word(20));
    let tag = tag(status, half(24), half(26));
    let at_ns = clock.convert(wall);
    if let Some(long) = long {
        let offload = Offload::read(&long[TAG..]);
        // What is longer than its room (BIG TCP) was cut.
        let whole = long.len() == TAG + OFFLOAD + len;
        // Its own header made way for the tag's room.
        return Some(Raw {
            room: &mut long[OFFLOAD..],
            whole,
            offload,
            tag,
            at_ns,
        });
    }
    // The kernel keeps to its own structures; a check costs little where memory is shared.
    if start < HEADER + OFFLOAD || start + captured > slot.len() {
        return None;
    }
    let offload = Offload::read(&slot[start - OFFLOAD..start]);
    Some(Raw {
        room: &mut slot[start - TAG..start + captured],
        whole: captured == len,
        offload,
        tag,
        at_ns,
    })
}

impl Receive for Ring {
    fn receive(
        &mut self,
        wait: Duration,
        sink: &mut dyn FnMut(Received<'_>),
    ) -> Result<usize, PortError> {
        let mut given = self.drain(sink);
        if given == 0 && !wait.is_zero() {
            self.look_now_and_then()?;
            self.socket.wait_for_frame(wait)?;
            given = self.drain(sink);
        }
        match given {
            0 => self.look_now_and_then()?,
            _ => self.idle = 0,
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
