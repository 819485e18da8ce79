//! TAP interfaces: the kernel's stack on one side, this program on the other.
//!
//! The interface is made when the port is opened and goes with it, unless it was there before
//! (`ip tuntap add NAME mode tap`). It may be set down and up. Removed by somebody else it does not return: who removes what
//! this port has made wants its end.

use crate::kernel::interface::{self, Ask, Interface};
use crate::kernel::wait;
use crate::port::{
    Link, LinkWatch, Options, Port, PortError, PortInfo, Receive, Received, RxCounters, Transmit,
    TxCounters,
};
use ::capture::clock::now_ns;
use packet::{MAX_WIRE_FRAME_LEN, MIN_FRAME_LEN};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::time::Duration;

/// Frames given in one call, so that other ports have their turn.
const BATCH: usize = 64;
/// Size of the buffer for one frame, bytes: the largest MTU, and a header with two tags.
const MAX_READ_LEN: usize = 65_536 + 22;

/// Opens `tap:NAME`, making the interface and setting it up.
///
/// # Errors
/// When the process lacks CAP_NET_ADMIN, or an interface of that name is of another kind or in use.
pub fn open(name: &str, options: &Options) -> Result<Port, PortError> {
    let failed = |doing, error| PortError::from_io(name, doing, "CAP_NET_ADMIN", error);
    let file = File::options()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")
        .map_err(|error| failed("opening /dev/net/tun", error))?;
    Ask::new(file.as_fd(), name)
        .attach((libc::IFF_TAP | libc::IFF_NO_PI) as i16)
        .map_err(|error| failed("making the TAP interface", error))?;
    interface::set_up(name).map_err(|error| failed("setting the interface up", error))?;
    let interface = interface::find(name)
        .map_err(|error| failed("asking for the interface", error))?
        .ok_or_else(|| gone(name))?;
    let about = interface::socket().map_err(|error| failed("making a socket", error))?;
    let file = Arc::new(file);
    Ok(Port {
        info: info(&interface, options),
        rx: Box::new(Receiver {
            name: name.into(),
            file: file.clone(),
            about,
            watch: LinkWatch::default(),
            buffer: vec![0; MAX_READ_LEN].into(),
            counters: RxCounters::default(),
        }),
        tx: Box::new(Sender {
            name: name.into(),
            file,
            counters: TxCounters::default(),
        }),
    })
}

fn info(interface: &Interface, options: &Options) -> PortInfo {
    PortInfo {
        link: true,
        hardware_stamps: false,
        ..PortInfo::of_interface("tap:", interface, "tap", options)
    }
}

fn gone(name: &str) -> PortError {
    PortError::Gone { name: name.into() }
}

/// What a read or write says, as a port's error.
fn fault(name: &str, doing: &'static str, error: io::Error) -> PortError {
    match error.raw_os_error() {
        Some(libc::EBADFD | libc::ENODEV) => gone(name),
        Some(libc::EIO) => PortError::Down { name: name.into() },
        _ => PortError::from_io(name, doing, "CAP_NET_ADMIN", error),
    }
}

struct Receiver {
    name: String,
    file: Arc<File>,
    /// To ask about the interface by.
    about: OwnedFd,
    watch: LinkWatch,
    buffer: Box<[u8]>,
    counters: RxCounters,
}

impl Receive for Receiver {
    fn receive(
        &mut self,
        wait: Duration,
        sink: &mut dyn FnMut(Received<'_>),
    ) -> Result<usize, PortError> {
        let (mut given, mut waited) = (0, wait.is_zero());
        while given < BATCH {
            match (&*self.file).read(&mut self.buffer) {
                Ok(len) if !(MIN_FRAME_LEN..=MAX_WIRE_FRAME_LEN).contains(&len) => {
                    self.counters.refused += 1
                }
                Ok(len) => {
                    self.counters.received += 1;
                    self.counters.bytes += len as u64;
                    given += 1;
                    sink(Received {
                        bytes: &self.buffer[..len],
                        at_ns: now_ns(),
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => break,
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => match given {
                    0 => return Err(fault(&self.name, "receiving", error)),
                    _ => break,
                },
                Err(_) if waited || given > 0 => break,
                Err(_) => {
                    waited = true;
                    wait::for_event(self.file.as_raw_fd(), libc::POLLIN, wait)
                        .map_err(|error| fault(&self.name, "waiting", error))?;
                }
            }
        }
        Ok(given)
    }

    fn counters(&self) -> RxCounters {
        self.counters
    }

    fn link(&mut self) -> Option<Link> {
        let flags = Ask::new(self.about.as_fd(), &self.name).flags();
        let both = libc::IFF_UP | libc::IFF_RUNNING;
        self.watch
            .see(flags.is_ok_and(|flags| flags & both == both));
        Some(self.watch.link())
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.file.as_raw_fd())
    }
}

struct Sender {
    name: String,
    file: Arc<File>,
    counters: TxCounters,
}

impl Sender {
    fn give(&mut self, frame: &[u8]) -> Result<(), PortError> {
        if frame.len() < MIN_FRAME_LEN {
            return Err(PortError::TooShort { len: frame.len() });
        }
        loop {
            match (&*self.file).write(frame) {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.counters.waited += 1;
                    let (fd, wait) = (self.file.as_raw_fd(), Duration::from_millis(100));
                    wait::for_event(fd, libc::POLLOUT, wait)
                        .map_err(|error| fault(&self.name, "waiting", error))?;
                }
                Err(error) => return Err(fault(&self.name, "sending", error)),
            }
        }
    }
}

impl Transmit for Sender {
    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, PortError> {
        for (sent, frame) in frames.iter().enumerate() {
            match self.give(frame) {
                Ok(()) => {
                    self.counters.sent += 1;
                    self.counters.bytes += frame.len() as u64;
                }
                Err(_) if sent > 0 => return Ok(sent),
                Err(error) => {
                    self.counters.refuse(&error);
                    return Err(error);
                }
            }
        }
        Ok(frames.len())
    }

    fn method(&self) -> &'static str {
        "write"
    }

    fn counters(&self) -> TxCounters {
        self.counters
    }
}
