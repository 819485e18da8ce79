//! Receiving by a TPACKET_V3 ring: the kernel fills blocks of memory that both sides see, so that a
//! frame costs no call and no copy. A block is handed over when it is full or 10 ms old.

use super::deliver::{Delivery, OFFLOAD, Offload, Raw, tag};
use super::mend;
use super::socket::Socket;
use crate::clock::Converter;
use crate::interface::Interface;
use crate::port::{Options, PortError, Receive, Received, RxCounters};
use std::io;
use std::os::fd::RawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Bytes of a block; a frame is never longer.
const BLOCK: usize = 1 << 20;
/// Blocks before the caller has its turn again.
const CALL: usize = 4;
/// How old a block gets, ms.
const AGE: u32 = 10;
/// What the kernel wants to know beside that, and makes no use of in this version.
const FRAME: usize = 2048;
/// Offsets in struct tpacket_block_desc.
const STATUS: usize = 8;
const COUNT: usize = 12;
const FIRST: usize = 16;
/// Bytes of struct tpacket3_hdr that are read.
const HEADER: usize = 40;

/// A receiving half over a ring.
pub struct Ring {
    socket: Socket,
    clock: Converter,
    delivery: Delivery,
    memory: Memory,
    /// The block that is filled next, or being read.
    block: usize,
    gone: bool,
}

/// The memory that is shared with the kernel.
struct Memory {
    at: NonNull<u8>,
    blocks: usize,
}

// SAFETY: the memory belongs to this value alone; the kernel keeps to the protocol of block states.
unsafe impl Send for Memory {}

impl Memory {
    fn map(socket: &Socket, blocks: usize) -> io::Result<Memory> {
        // SAFETY: a new mapping of the socket's ring, whose length is the one that was asked for.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                blocks * BLOCK,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                socket.raw(),
                0,
            )
        };
        match NonNull::new(at.cast()) {
            Some(at) if at.as_ptr() as isize != -1 => Ok(Memory { at, blocks }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn status(&self, block: usize) -> &AtomicU32 {
        // SAFETY: the block is within the mapping, and its status is an aligned word of its own.
        unsafe {
            &*self
                .at
                .as_ptr()
                .add(block % self.blocks * BLOCK + STATUS)
                .cast()
        }
    }

    /// A block that the kernel has handed over; `None` while it has not.
    fn take(&mut self, block: usize) -> Option<&mut [u8]> {
        let status = self.status(block).load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: within the mapping, and ours alone until its status is given back.
        Some(unsafe {
            let start = self.at.as_ptr().add(block % self.blocks * BLOCK);
            std::slice::from_raw_parts_mut(start, BLOCK)
        })
    }

    fn give_back(&self, block: usize) {
        let kernel = libc::TP_STATUS_KERNEL;
        self.status(block).store(kernel, Ordering::Release);
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length, and nothing points into it any more.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.blocks * BLOCK) };
    }
}

impl Ring {
    /// Opens the interface for receiving.
    pub fn open(interface: &Interface, options: &Options) -> Result<Ring, PortError> {
        let socket = Socket::new(interface)?;
        let version = libc::tpacket_versions::TPACKET_V3 as i32;
        let (level, option) = (libc::SOL_PACKET, libc::PACKET_VERSION);
        socket.set(level, option, version, "asking for a ring")?;
        socket.ask_for_all(options)?;
        let blocks = (options.buffer / BLOCK).clamp(4, 1024);
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: FRAME as u32,
            tp_frame_nr: (blocks * BLOCK / FRAME) as u32,
            tp_retire_blk_tov: AGE,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        socket.set(level, libc::PACKET_RX_RING, request, "making a ring")?;
        let memory = Memory::map(&socket, blocks)
            .map_err(|error| socket.error("mapping the ring", error))?;
        socket.bind(libc::ETH_P_ALL as u16)?;
        Ok(Ring {
            socket,
            clock: Converter::new(),
            delivery: Delivery::default(),
            memory,
            block: 0,
            gone: false,
        })
    }

    /// Gives all blocks that are there.
    fn drain(&mut self, sink: &mut dyn FnMut(Received<'_>)) -> usize {
        let mut given = 0;
        // Not for ever: in a flood there is always more, and the caller has other duties.
        for _ in 0..CALL {
            let Some(block) = self.memory.take(self.block) else {
                break;
            };
            self.clock.refresh();
            given += read_block(block, &mut self.clock, &mut self.delivery, sink);
            self.memory.give_back(self.block);
            self.block = (self.block + 1) % self.memory.blocks;
        }
        given
    }
}

impl Receive for Ring {
    fn receive(
        &mut self,
        wait: Duration,
        sink: &mut dyn FnMut(Received<'_>),
    ) -> Result<usize, PortError> {
        let mut given = self.drain(sink);
        if given == 0 && self.gone {
            return Err(self.socket.gone());
        }
        if given == 0 && !wait.is_zero() {
            self.socket.wait(libc::POLLIN, wait)?;
            given = self.drain(sink);
        }
        if given == 0 && self.socket.says_gone() {
            self.gone = true;
            // The last block comes when it is old enough.
            let age = Duration::from_millis(u64::from(3 * AGE));
            self.socket.wait(libc::POLLIN, age)?;
            given = self.drain(sink);
            if given == 0 {
                return Err(self.socket.gone());
            }
        }
        Ok(given)
    }

    fn counters(&self) -> RxCounters {
        RxCounters {
            dropped: self.socket.dropped(),
            ..self.delivery.counters
        }
    }

    fn has_link(&self) -> Option<bool> {
        self.socket.has_link()
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.socket.raw())
    }
}

/// Delivers the frames of a block.
fn read_block(
    block: &mut [u8],
    clock: &mut Converter,
    delivery: &mut Delivery,
    sink: &mut dyn FnMut(Received<'_>),
) -> usize {
    let word = |block: &[u8], at: usize| {
        u32::from_ne_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
    };
    let (count, mut at) = (word(block, COUNT), word(block, FIRST) as usize);
    let mut given = 0;
    for _ in 0..count {
        // The kernel keeps to its own structures; a check costs little where memory is shared.
        if at + HEADER > block.len() {
            break;
        }
        let header = &block[at..at + HEADER];
        let next = word(header, 0) as usize;
        let wall = u64::from(word(header, 4)) * 1_000_000_000 + u64::from(word(header, 8));
        let (captured, len) = (word(header, 12) as usize, word(header, 16) as usize);
        let half = |offset: usize| u16::from_ne_bytes([header[offset], header[offset + 1]]);
        let tag = tag(word(header, 20), half(32), half(36));
        let start = at + usize::from(half(24));
        if start < OFFLOAD || start + captured > block.len() {
            break;
        }
        let offload = Offload::read(&block[start - OFFLOAD..start]);
        let raw = Raw {
            room: &mut block[start - mend::TAG..start + captured],
            whole: captured == len,
            offload,
            tag,
            at_ns: clock.convert(wall),
        };
        given += delivery.deliver(raw, sink);
        at += next;
    }
    given
}
