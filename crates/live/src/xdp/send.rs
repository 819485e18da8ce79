//! Sending by AF_XDP.

use super::socket::{Descriptor, PLACES, SendLane};
use super::{BATCH, CAPABILITY, Program, has_link};
use crate::port::{Backlog, PortError, Transmit, TxCounters};
use packet::SHORTEST;
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
            len @ ..SHORTEST => Err(PortError::TooShort { len }),
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
        let waits = self.lane.ring.room() < PLACES;
        while self.lane.ring.room() < PLACES {
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
            if result >= 0 {
                continue;
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                // More is left than it sends in one go.
                Some(libc::EAGAIN | libc::EBUSY | libc::EINTR) => {}
                Some(libc::ENOBUFS) => self.wait()?,
                Some(libc::ENETDOWN | libc::ENXIO) => {
                    has_link(&self.name, &self.program.about)?;
                    let name = self.name.clone();
                    return Err(PortError::Down { name });
                }
                _ => return Err(PortError::from_io(&self.name, "sending", CAPABILITY, error)),
            }
        }
        if waits {
            self.backlog.passed();
        }
        Ok(())
    }

    /// Waits for room.
    fn wait(&mut self) -> Result<(), PortError> {
        let pause = self.backlog.pause(&self.name)?;
        self.counters.waited += 1;
        std::thread::park_timeout(pause);
        Ok(())
    }

    /// Puts frames into the ring as long as there are free places; how many, and what is wrong with the next one.
    fn put(&mut self, frames: &[&[u8]]) -> (usize, Option<PortError>) {
        while let Some(place) = self.lane.completion.take() {
            self.lane.free.push(place);
        }
        self.lane.completion.release();
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

    fn method(&self) -> &'static str {
        "af_xdp"
    }

    /// A knock with nothing in the ring.
    fn warm(&mut self) {
        // SAFETY: nothing is passed.
        unsafe {
            libc::sendto(
                self.lane.area.socket.as_raw_fd(),
                std::ptr::null(),
                0,
                libc::MSG_DONTWAIT,
                std::ptr::null(),
                0,
            )
        };
    }

    fn counters(&self) -> TxCounters {
        self.counters
    }
}
