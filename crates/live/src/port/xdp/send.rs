//! Sending by AF_XDP.

use super::socket::{Descriptor, PLACES, SendLane};
use super::{BATCH, CAPABILITY, Program, has_link};
use crate::port::{Backlog, PortError, Transmit, TxCounters};
use packet::MIN_FRAME_LEN;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

/// A sending half by the lowest queue.
pub struct Sender {
    name: String,
    mtu: u32,
    lane: SendLane,
    backlog: Backlog,
    counters: TxCounters,
    program: Arc<Program>,
}

impl Sender {
    /// By this socket.
    pub fn new(
        name: &str,
        mtu: u32,
        lane: SendLane,
        patience: Duration,
        program: Arc<Program>,
    ) -> Sender {
        Sender {
            name: name.into(),
            mtu,
            lane,
            backlog: Backlog::new(patience),
            counters: TxCounters::default(),
            program,
        }
    }

    fn check(&self, frame: &[u8]) -> Result<(), PortError> {
        // One tag is not counted, as for any interface.
        let tag = 4 * usize::from(frame.get(12..14) == Some(&[0x81, 0x00]));
        let longest = self.mtu as usize + 14 + tag;
        match frame.len() {
            len @ ..MIN_FRAME_LEN => Err(PortError::TooShort { len }),
            len if len > longest => Err(PortError::TooLong {
                name: self.name.clone(),
                len,
                mtu: self.mtu,
                longest,
            }),
            _ => Ok(()),
        }
    }

    /// Has the kernel send what is in the ring.
    fn kick(&mut self) -> Result<(), PortError> {
        if self.lane.zero_copy {
            return self.wake();
        }
        let waits = self.lane.ring.room() < PLACES;
        while self.lane.ring.room() < PLACES {
            match self.knock() {
                Ok(()) => {}
                Err(error) => self.bear(error)?,
            }
        }
        if waits {
            self.backlog.passed();
        }
        Ok(())
    }

    /// Wakes a driver that takes frames from the ring by itself, if it sleeps and has something to do.
    fn wake(&mut self) -> Result<(), PortError> {
        while self.under_way() && self.lane.ring.needs_wakeup() {
            match self.knock() {
                // What it does from now on it does beside us.
                Ok(()) => break,
                Err(error) => self.bear(error)?,
            }
        }
        Ok(())
    }

    /// Whether any frame has not come back.
    fn under_way(&self) -> bool {
        self.lane.free.len() < PLACES as usize
    }

    fn knock(&self) -> io::Result<()> {
        // SAFETY: nothing is passed: the call is but a knock.
        let result = unsafe {
            libc::sendto(
                self.lane.area.socket.as_raw_fd(),
                std::ptr::null(),
                0,
                libc::MSG_DONTWAIT,
                std::ptr::null(),
                0,
            )
        };
        match result {
            0.. => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// What came of knocking: to be done again, perhaps after a while, or an error.
    fn bear(&mut self, error: io::Error) -> Result<(), PortError> {
        match error.raw_os_error() {
            // The driver is at it, or is being set up: the queue is not to be spun on.
            Some(libc::EAGAIN | libc::EBUSY) if self.lane.zero_copy => self.wait(),
            // More is left than it sends in one go.
            Some(libc::EAGAIN | libc::EBUSY | libc::EINTR) => Ok(()),
            Some(libc::ENOBUFS) => self.wait(),
            Some(libc::ENETDOWN | libc::ENXIO) => {
                has_link(&self.name, &self.program.about)?;
                let name = self.name.clone();
                Err(PortError::Down { name })
            }
            _ => Err(PortError::from_io(&self.name, "sending", CAPABILITY, error)),
        }
    }

    /// Takes back the places of frames that have left.
    fn collect(&mut self) {
        let before = self.lane.free.len();
        while let Some(place) = self.lane.completion.take() {
            self.lane.free.push(place);
        }
        self.lane.completion.release();
        if self.lane.zero_copy && self.lane.free.len() > before {
            self.backlog.passed();
        }
    }

    /// Waits for room.
    fn wait(&mut self) -> Result<(), PortError> {
        // A driver without a link says nothing, and takes nothing.
        if self.lane.zero_copy && !has_link(&self.name, &self.program.about)? {
            let name = self.name.clone();
            return Err(PortError::Down { name });
        }
        self.backlog.wait(&self.name, &mut self.counters)
    }

    /// Puts frames into the ring as long as there are free places; how many, and what is wrong with the next one.
    fn put(&mut self, frames: &[&[u8]]) -> (usize, Option<PortError>) {
        self.collect();
        let (mut count, mut fault) = (0, None);
        for frame in frames.iter().take(BATCH) {
            fault = self.check(frame).err();
            if fault.is_some() {
                break;
            }
            let Some(at) = self.lane.free.pop() else {
                break;
            };
            // SAFETY: the place is free, so the kernel does not have it.
            let bytes = unsafe { self.lane.area.bytes(at, frame.len()) };
            bytes.copy_from_slice(frame);
            self.lane.ring.put(Descriptor {
                at,
                len: frame.len() as u32,
                options: 0,
            });
            self.counters.bytes += frame.len() as u64;
            count += 1;
        }
        self.lane.ring.publish();
        self.counters.sent += count as u64;
        (count, fault)
    }

    fn refuse(&mut self, error: PortError) -> Result<usize, PortError> {
        self.counters.refuse(&error);
        Err(error)
    }
}

impl Drop for Sender {
    /// With the socket goes what the driver has not sent.
    fn drop(&mut self) {
        // Nobody is left to be told; who wants to know has finished before.
        let _ = self.finish();
    }
}

impl Transmit for Sender {
    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, PortError> {
        // What is in the ring cannot be taken back. It leaves when the link or the queue lets it, before all others.
        if let Err(error) = self.kick() {
            return self.refuse(error);
        }
        let mut sent = 0;
        while sent < frames.len() {
            let (count, fault) = self.put(&frames[sent..]);
            sent += count;
            let fault = match self.kick() {
                Err(_) if sent > 0 => return Ok(sent),
                Err(error) => Some(error),
                // All places are under way: until some are back.
                Ok(()) if count == 0 && fault.is_none() => self.wait().err(),
                Ok(()) => fault,
            };
            match fault {
                None => {}
                // What was sent is told first; the next call begins with the frame at fault.
                Some(_) if sent > 0 => return Ok(sent),
                Some(error) => return self.refuse(error),
            }
        }
        Ok(sent)
    }

    /// Without copies, frames are in the memory, and not with the kernel, until the driver has sent them.
    fn finish(&mut self) -> Result<(), PortError> {
        while self.lane.zero_copy {
            self.collect();
            if !self.under_way() {
                break;
            }
            self.wake()?;
            self.wait()?;
        }
        Ok(())
    }

    fn method(&self) -> &'static str {
        match self.lane.zero_copy {
            true => "af_xdp, zero copy",
            false => "af_xdp, copy",
        }
    }

    /// A knock with nothing in the ring.
    fn warm(&mut self) {
        // Whatever it says: there is nothing to send.
        let _ = self.knock();
    }

    fn counters(&self) -> TxCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests;
