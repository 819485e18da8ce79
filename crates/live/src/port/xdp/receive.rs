//! Receiving by AF_XDP.

use super::socket::{Lane, PLACE, XDP_STATISTICS};
use super::{BATCH, CAPABILITY, Program, has_link};
use crate::kernel::wait;
use crate::port::{Link, LinkWatch, PortError, Receive, Received, RxCounters};
use ::capture::clock::now_ns;
use packet::MIN_FRAME_LEN;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

/// One descriptor for all sockets.
struct Watch(OwnedFd);

impl Watch {
    fn new(lanes: &[Lane]) -> io::Result<Watch> {
        // SAFETY: a plain system call; the result is checked before it is owned.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given out this descriptor.
        let watch = unsafe { OwnedFd::from_raw_fd(fd) };
        for lane in lanes {
            let mut event = libc::epoll_event {
                events: libc::EPOLLIN as u32,
                u64: 0,
            };
            let socket = lane.area.socket.as_raw_fd();
            // SAFETY: both descriptors are open and the event is valid.
            if unsafe { libc::epoll_ctl(fd, libc::EPOLL_CTL_ADD, socket, &mut event) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(Watch(watch))
    }
}

/// A receiving half over all queues.
pub struct Receiver {
    name: String,
    lanes: Vec<Lane>,
    watch: Watch,
    counters: RxCounters,
    program: Arc<Program>,
    link: LinkWatch,
}

impl Receiver {
    /// Over these sockets.
    pub fn new(name: &str, lanes: Vec<Lane>, program: Arc<Program>) -> io::Result<Receiver> {
        Ok(Receiver {
            name: name.into(),
            watch: Watch::new(&lanes)?,
            lanes,
            counters: RxCounters::default(),
            program,
            link: LinkWatch::default(),
        })
    }

    fn drain(&mut self, sink: &mut dyn FnMut(Received<'_>)) -> usize {
        let mut given = 0;
        for lane in &mut self.lanes {
            let mut taken = 0;
            // One reading for a batch: they have come together.
            let at_ns = now_ns();
            while taken < BATCH
                && let Some(descriptor) = lane.received.take()
            {
                let len = descriptor.len as usize;
                // SAFETY: the kernel has just handed this place over.
                let bytes = unsafe { lane.area.bytes(descriptor.at, len) };
                if len < MIN_FRAME_LEN {
                    self.counters.refused += 1;
                } else {
                    self.counters.received += 1;
                    self.counters.bytes += len as u64;
                    given += 1;
                    sink(Received { bytes, at_ns });
                }
                // As many places as frames: there is always room for one that comes back.
                lane.fill.put(descriptor.at - descriptor.at % PLACE as u64);
                taken += 1;
            }
            if taken > 0 {
                lane.received.release();
                lane.fill.publish();
            }
            if lane.fill.needs_wakeup() {
                wake(&lane.area.socket);
            }
        }
        given
    }
}

/// Has the kernel look at the ring of free places.
fn wake(socket: &OwnedFd) {
    let none = std::ptr::null_mut();
    // SAFETY: nothing is read: the call is but a knock.
    unsafe {
        let flags = libc::MSG_DONTWAIT;
        libc::recvfrom(socket.as_raw_fd(), none, 0, flags, none.cast(), none.cast())
    };
}

impl Receive for Receiver {
    fn receive(
        &mut self,
        wait: Duration,
        sink: &mut dyn FnMut(Received<'_>),
    ) -> Result<usize, PortError> {
        let mut given = self.drain(sink);
        if given == 0 && !wait.is_zero() {
            // In pieces: nothing tells us when the interface goes down.
            let piece = wait.min(Duration::from_millis(100));
            wait::for_event(self.watch.0.as_raw_fd(), libc::POLLIN, piece)
                .map_err(|error| PortError::from_io(&self.name, "waiting", CAPABILITY, error))?;
            given = self.drain(sink);
        }
        if given == 0 {
            let up = has_link(&self.name, &self.program.about)?;
            self.link.see(up);
        }
        Ok(given)
    }

    fn counters(&self) -> RxCounters {
        let lost = |lane: &Lane| {
            // struct xdp_statistics: dropped, two kinds of bad descriptor, ring full, no free place.
            let words: [u64; 6] = lane.area.ask(XDP_STATISTICS).unwrap_or_default();
            words[0] + words[3] + words[4]
        };
        RxCounters {
            dropped: self.lanes.iter().map(lost).sum(),
            ..self.counters
        }
    }

    fn link(&mut self) -> Option<Link> {
        let up = has_link(&self.name, &self.program.about).unwrap_or(false);
        self.link.see(up);
        Some(self.link.link())
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.watch.0.as_raw_fd())
    }
}
