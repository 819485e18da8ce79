//! Sending by AF_XDP.

use super::socket::{Descriptor, PLACES, SendLane};
use super::{BATCH, CAPABILITY, Program, state};
use crate::port::{PortError, Transmit, TxCounters};
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
    counters: TxCounters,
    program: Arc<Program>,
}

impl Sender {
    /// By this socket.
    pub fn new(name: &str, mtu: u32, lane: SendLane, program: Arc<Program>) -> Sender {
        Sender {
            name: name.into(),
            mtu,
            lane,
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
                Some(libc::ENOBUFS) => {
                    self.counters.waited += 1;
                    std::thread::park_timeout(Duration::from_micros(50));
                }
                _ => {
                    state(&self.name, &self.program.about)?;
                    return Err(PortError::from_io(&self.name, "sending", CAPABILITY, error));
                }
            }
        }
        Ok(())
    }
}

impl Transmit for Sender {
    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, PortError> {
        let mut sent = 0;
        while sent < frames.len() {
            while let Some(place) = self.lane.completion.take() {
                self.lane.free.push(place);
            }
            self.lane.completion.release();
            let mut batch = 0;
            for frame in frames[sent..].iter().take(BATCH) {
                match self.check(frame) {
                    Ok(()) => {}
                    Err(_) if sent + batch > 0 => break,
                    Err(error) => {
                        self.counters.refused += 1;
                        return Err(error);
                    }
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
                batch += 1;
            }
            self.lane.ring.publish();
            self.kick()?;
            self.counters.sent += batch as u64;
            sent += batch;
            match frames.get(sent) {
                Some(frame) if self.check(frame).is_err() => return Ok(sent),
                // All places are under way: until some are back.
                Some(_) if batch == 0 => {
                    self.counters.waited += 1;
                    state(&self.name, &self.program.about)?;
                    std::thread::park_timeout(Duration::from_micros(50));
                }
                _ => {}
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
