//! Sending by a TPACKET_V2 ring: frames lie ready in memory that the kernel sees before their time, and a
//! call without anything has it look.

use super::socket::{Socket, says_gone};
use super::stamp::Stamper;
use crate::kernel::interface::Interface;
use crate::port::{Backlog, Options, PortError, Transmit, TxCounters};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Frames that the ring holds.
const SLOTS: usize = 64;
/// Where a frame's bytes are in its slot: behind struct tpacket2_hdr.
const DATA: usize = 32;
/// Offset of the length in that structure; the state is the first word.
const LEN: usize = 4;

/// A sending half.
pub struct RingSender {
    socket: Socket,
    memory: Memory,
    /// The slot that is filled next.
    next: usize,
    /// The frame that lies in it already.
    ready: Option<(*const u8, usize)>,
    mtu: usize,
    stamper: Stamper,
    backlog: Backlog,
    returns: bool,
    counters: TxCounters,
}

// SAFETY: the pointer in `ready` is compared, never followed.
unsafe impl Send for RingSender {}

/// The memory that is shared with the kernel.
struct Memory {
    at: NonNull<u8>,
    slot: usize,
}

// SAFETY: the memory belongs to this value alone; the kernel keeps to the protocol of slot states.
unsafe impl Send for Memory {}

impl Memory {
    fn map(socket: &Socket, slot: usize) -> io::Result<Memory> {
        // SAFETY: a new mapping of the socket's ring, whose length is the one that was asked for.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                SLOTS * slot,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                socket.raw(),
                0,
            )
        };
        match NonNull::new(at.cast()) {
            Some(at) if at.as_ptr() as isize != -1 => Ok(Memory { at, slot }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn state(&self, slot: usize) -> &AtomicU32 {
        // SAFETY: within the mapping, and an aligned word of its own.
        unsafe { &*self.at.as_ptr().add(slot % SLOTS * self.slot).cast() }
    }

    /// Puts a frame into a slot that the kernel does not have.
    fn fill(&mut self, slot: usize, frame: &[u8]) {
        assert!(DATA + frame.len() <= self.slot, "the MTU was checked");
        // SAFETY: within the mapping, and ours alone while its state says so.
        unsafe {
            let start = self.at.as_ptr().add(slot % SLOTS * self.slot);
            start.add(LEN).cast::<u32>().write(frame.len() as u32);
            start
                .add(DATA)
                .copy_from_nonoverlapping(frame.as_ptr(), frame.len());
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length, and nothing points into it any more.
        unsafe { libc::munmap(self.at.as_ptr().cast(), SLOTS * self.slot) };
    }
}

impl RingSender {
    /// Opens the interface for sending.
    pub fn open(interface: &Interface, options: &Options) -> Result<RingSender, PortError> {
        let mut socket = Socket::new(interface)?;
        let (level, version) = (libc::SOL_PACKET, libc::tpacket_versions::TPACKET_V2 as i32);
        socket.set(level, libc::PACKET_VERSION, version, "asking for a ring")?;
        let slot = (DATA + interface.mtu as usize + 64)
            .next_power_of_two()
            .max(2048);
        let block = slot.max(1 << 16);
        let request = libc::tpacket_req {
            tp_block_size: block as u32,
            tp_block_nr: (SLOTS * slot / block) as u32,
            tp_frame_size: slot as u32,
            tp_frame_nr: SLOTS as u32,
        };
        socket.set(level, libc::PACKET_TX_RING, request, "making a ring")?;
        let memory =
            Memory::map(&socket, slot).map_err(|error| socket.error("mapping the ring", error))?;
        socket.bind(0)?;
        Ok(RingSender {
            stamper: Stamper::new(&socket),
            socket,
            memory,
            next: 0,
            ready: None,
            mtu: interface.mtu as usize,
            backlog: Backlog::new(options.patience),
            returns: options.returns,
            counters: TxCounters::default(),
        })
    }

    /// Whether the frame can be sent at all.
    fn check(&self, frame: &[u8]) -> Result<(), PortError> {
        // One tag is not counted, as for any interface.
        let tag = 4 * usize::from(frame.get(12..14) == Some(&[0x81, 0x00]));
        // The ring is made for the MTU of the time when it was opened.
        let longest = (self.mtu + 14 + tag).min(self.memory.slot - DATA);
        match frame.len() {
            len @ ..packet::MIN_FRAME_LEN => Err(PortError::TooShort { len }),
            len if len > longest => Err(PortError::TooLong {
                name: self.socket.name().into(),
                len,
                mtu: self.mtu as u32,
                longest,
            }),
            _ => Ok(()),
        }
    }

    fn look_at_mtu(&mut self) {
        match self.socket.mtu() {
            // The interface is gone; one that returns is asked again.
            0 => {}
            mtu => self.mtu = mtu as usize,
        }
    }

    fn is_free(&self, slot: usize) -> bool {
        self.memory.state(slot).load(Ordering::Acquire) == libc::TP_STATUS_AVAILABLE
    }

    /// Has the kernel send what is in the ring.
    fn kick(&mut self) -> Result<(), PortError> {
        let (fd, flags) = (self.socket.raw(), libc::MSG_DONTWAIT);
        loop {
            // SAFETY: nothing is passed: the call is but a knock.
            let result = unsafe { libc::send(fd, std::ptr::null(), 0, flags) };
            if result >= 0 {
                self.stamper.sent(&self.socket);
                // When the socket's share of memory is in use the kernel stops between slots, and says that all is well. A slot that
                // stayed behind would leave some time later, and if it is refused then, every frame behind it would wait forever.
                let last = self.memory.state(self.next + SLOTS - 1);
                if last.load(Ordering::Acquire) & libc::TP_STATUS_SEND_REQUEST == 0 {
                    return Ok(());
                }
                self.backlog.wait(self.socket.name(), &mut self.counters)?;
                continue;
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                Some(libc::EAGAIN | libc::ENOBUFS) => {
                    self.backlog.wait(self.socket.name(), &mut self.counters)?
                }
                _ if says_gone(&error) => self.socket.recover(&error, self.returns)?,
                _ => return Err(self.socket.error("sending", error)),
            }
        }
    }

    /// After a knock that failed: takes back what the kernel has not taken, so that it does not leave some time later, and the
    /// slots are used again. `first` is the slot of the first frame, `filled` how many there are; how many it has taken.
    fn take_back(&mut self, first: usize, filled: usize) -> usize {
        let slots = (0..filled).map(|frame| (first + frame) % SLOTS);
        // The kernel goes from slot to slot, and stays at one that it finds wrong.
        let left = |slot: &usize| {
            let wrong = libc::TP_STATUS_SEND_REQUEST | libc::TP_STATUS_WRONG_FORMAT;
            self.memory.state(*slot).load(Ordering::Acquire) & wrong != 0
        };
        let taken = slots.clone().position(|slot| left(&slot)).unwrap_or(filled);
        for slot in slots.skip(taken) {
            let free = libc::TP_STATUS_AVAILABLE;
            self.memory.state(slot).store(free, Ordering::Release);
        }
        self.next = (first + taken) % SLOTS;
        taken
    }

    /// Puts frames into free slots, and has the kernel send them; how many it has taken, and what is wrong with the next one.
    fn give(&mut self, frames: &[&[u8]]) -> (usize, Option<PortError>) {
        let (first, mut filled) = (self.next, 0);
        let mut fault = None;
        for frame in frames {
            if !self.is_free(self.next) {
                break;
            }
            if self.ready.take() != Some((frame.as_ptr(), frame.len())) {
                if self.check(frame).is_err() {
                    // The MTU may be another by now.
                    self.look_at_mtu();
                    fault = self.check(frame).err();
                }
                if fault.is_some() {
                    break;
                }
                self.memory.fill(self.next, frame);
            }
            let request = libc::TP_STATUS_SEND_REQUEST;
            self.memory
                .state(self.next)
                .store(request, Ordering::Release);
            self.next = (self.next + 1) % SLOTS;
            filled += 1;
        }
        let mut taken = filled;
        // With all slots under way the knock has the kernel go on, too.
        if filled > 0 || fault.is_none() {
            match self.kick() {
                Ok(()) if filled > 0 => self.backlog.passed(),
                Ok(()) => {}
                Err(error) => {
                    taken = self.take_back(first, filled);
                    self.look_at_mtu();
                    let wrong = frames.get(taken).map(|frame| self.check(frame));
                    fault = Some(match wrong {
                        Some(Err(wrong)) if error.is_end() => wrong,
                        _ => error,
                    });
                }
            }
        }
        self.counters.sent += taken as u64;
        let bytes = frames[..taken].iter().map(|frame| frame.len() as u64);
        self.counters.bytes += bytes.sum::<u64>();
        (taken, fault)
    }
}

impl Transmit for RingSender {
    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, PortError> {
        let mut sent = 0;
        while sent < frames.len() {
            let (taken, fault) = self.give(&frames[sent..]);
            sent += taken;
            let fault = match fault {
                // All slots are under way: until some are back.
                None if taken == 0 => self
                    .backlog
                    .wait(self.socket.name(), &mut self.counters)
                    .err(),
                fault => fault,
            };
            match fault {
                None => {}
                // What was sent is told first; the next call begins with the frame at fault.
                Some(_) if sent > 0 => return Ok(sent),
                Some(error) => {
                    self.counters.refuse(&error);
                    return Err(error);
                }
            }
        }
        Ok(sent)
    }

    fn method(&self) -> &'static str {
        "ring"
    }

    fn prepare(&mut self, frame: &[u8]) {
        if self.is_free(self.next) && self.check(frame).is_ok() {
            self.memory.fill(self.next, frame);
            self.ready = Some((frame.as_ptr(), frame.len()));
        }
    }

    /// A knock with nothing in the ring.
    fn warm(&mut self) {
        // SAFETY: nothing is passed.
        unsafe { libc::send(self.socket.raw(), std::ptr::null(), 0, libc::MSG_DONTWAIT) };
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
