//! What a port is: something that gives frames with stamps and takes frames.
//!
//! Both halves are separate, so that a reader and a writer may sit in different threads.

mod backlog;
pub mod calibrate;
pub mod calibration;
pub mod channel;
mod datagrams;
pub(crate) mod dummy;
mod error;
pub mod hardware;
mod link;
pub mod multicast;
mod nfqueue;
mod open;
pub mod pace;
pub mod raw;
mod spec;
pub mod stream;
pub mod tap;
pub mod udp;
pub mod xdp;

pub(crate) use backlog::Backlog;
pub use error::{PortError, TlsError};
pub use link::Link;
pub(crate) use link::LinkWatch;
pub use open::open;
pub(crate) use open::open_plain;
pub use spec::{ChannelSpec, Copying, Endpoint, Line, Medium, PortSpec, SpecError};

use crate::kernel::interface::Interface;
use ::capture::clock;
use packet::{Departure, MAX_WIRE_FRAME_LEN, Tick};
use std::os::fd::RawFd;
use std::time::Duration;

/// What the stamps of a port are; the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stamps {
    /// Taken where the bits are.
    Phy,
    /// Taken by the network card.
    Hardware,
    /// Taken by the kernel when the driver hands the frame over.
    Kernel,
    /// Taken by this program when it got the frame, or found in a file.
    Software,
}

impl Stamps {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Stamps::Phy => "phy",
            Stamps::Hardware => "hardware",
            Stamps::Kernel => "kernel",
            Stamps::Software => "software",
        }
    }
}

impl std::fmt::Display for Stamps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// What is known of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortInfo {
    /// The name, as the kernel or the user has it.
    pub name: String,
    /// The unit of the port's words.
    pub tick: Tick,
    /// What its stamps are.
    pub stamps: Stamps,
    /// Its address, if it has one.
    pub mac: Option<[u8; 6]>,
    /// The longest packet behind the Ethernet header, bytes.
    pub mtu: u32,
    /// How frames are received, in a word or two.
    pub method: &'static str,
    /// The driver's name; empty where there is none.
    pub driver: String,
    /// Whether there is a link.
    pub link: bool,
    /// Whether the card offers stamps of its own for received frames, which are not used.
    pub hardware_stamps: bool,
    /// The wall-clock time of the stamps' zero, ns since 1970: [`clock::epoch_ns`],
    /// but for a capture from before the boot.
    pub epoch_ns: u64,
    /// Whether frames come as often as somebody asks, and not by themselves.
    pub on_demand: bool,
}

impl PortInfo {
    /// What is known of a port of software: there is a link, and no interface.
    pub(crate) fn of(name: String, method: &'static str, options: &Options) -> PortInfo {
        PortInfo {
            name,
            tick: options.tick,
            stamps: Stamps::Software,
            mac: None,
            mtu: MAX_WIRE_FRAME_LEN as u32 - 14,
            method,
            driver: String::new(),
            link: true,
            hardware_stamps: false,
            epoch_ns: clock::epoch_ns(),
            on_demand: false,
        }
    }

    /// What is known of a port on an interface, which has its name behind a prefix.
    pub(crate) fn of_interface(
        prefix: &str,
        interface: &Interface,
        method: &'static str,
        options: &Options,
    ) -> PortInfo {
        PortInfo {
            mac: interface.mac,
            mtu: interface.mtu,
            driver: interface.driver.clone(),
            link: interface.link,
            hardware_stamps: interface.hardware_stamps,
            ..PortInfo::of(format!("{prefix}{}", interface.name), method, options)
        }
    }
}

/// How to open a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The unit of the port's words. Default 8 ns.
    pub tick: Tick,
    /// Frames of an interface by memory that the kernel fills and we read, which takes half of the time for a frame: a
    /// ring of `buffer` bytes, taken for as long as the port is open. Default no: by calls.
    pub ring: bool,
    /// Frames for other stations too. Default yes.
    pub promiscuous: bool,
    /// Bytes that the kernel may keep for this port while nobody reads. Default 32 MiB.
    pub buffer: usize,
    /// How frames are sent by an interface. Default: as [`calibrate`](mod@crate::port::calibrate) has found best, else
    /// by [`Method::Send`].
    pub method: Option<Method>,
    /// Key and certificates, for `ssl:` and `pssl:`. Default none, with which these do not open.
    pub tls: Option<channel::Tls>,
    /// Whether an interface that is removed is waited for, and used again when there is one of its name. Default no: the
    /// port ends with it.
    pub returns: bool,
    /// Whether frames that are sent [together](Transmit::send_together) cross in one buffer of the kernel, and are taken apart again where they
    /// are received: the other end must be opened so, too, and it is by calls, not by rings. Default no.
    pub aggregates: bool,
    /// Whether consecutive TCP segments with the same departure time are passed to the kernel as one super-frame, which the kernel or
    /// the card segments (GSO). The frames on a wire are the same; the peer of a veth pair receives the super-frame. By [`Method::Send`] only, and not with
    /// `aggregates`. Default no.
    pub coalesces: bool,
    /// How long a frame waits for room in an interface's queue before it is given up. Default 1 s.
    pub patience: Duration,
}

/// How frames are given to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// A call with the frame, or with several.
    Send,
    /// Into a ring that the kernel sees, before the time; a call without anything at the time.
    Ring,
}

impl Method {
    /// All that there are.
    pub const ALL: [Method; 2] = [Method::Send, Method::Ring];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Method::Send => "send",
            Method::Ring => "ring",
        }
    }
}

impl Options {
    /// For so many ports of nodes, which see every frame that comes: each with a ring, all of them together with no more than
    /// 128 MiB, and none with more than the usual buffer. They wait for interfaces that are removed, and hardly for a queue
    /// that is full, since that keeps all other ports waiting.
    pub fn of_nodes(ports: usize) -> Options {
        let usual = Options::default();
        Options {
            ring: true,
            buffer: (RINGS / ports.max(1)).clamp(MIN_RING_BYTES, usual.buffer),
            returns: true,
            patience: NODE_SEND_TIMEOUT,
            ..usual
        }
    }
}

impl Options {
    /// For what the links of a graph come and go by: as that of nodes, without a ring for each of many.
    pub fn of_wires() -> Options {
        Options {
            returns: true,
            patience: NODE_SEND_TIMEOUT,
            ..Options::default()
        }
    }
}

/// Bytes that the rings of all ports of a node take together.
const RINGS: usize = 128 << 20;
/// Minimum size of a ring, bytes: a thousand frames.
const MIN_RING_BYTES: usize = 2 << 20;
/// Timeout for a full transmit queue of a node's port; the node's other ports wait meanwhile.
const NODE_SEND_TIMEOUT: Duration = Duration::from_millis(10);

impl Default for Options {
    fn default() -> Options {
        Options {
            tick: Tick::EIGHT_NS,
            ring: false,
            promiscuous: true,
            buffer: 32 << 20,
            method: None,
            tls: None,
            returns: false,
            aggregates: false,
            coalesces: false,
            patience: Duration::from_secs(1),
        }
    }
}

/// A frame that has come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received<'a> {
    /// The frame without FCS, tags in place, checksums complete.
    pub bytes: &'a [u8],
    /// When, in ns on CLOCK_MONOTONIC.
    pub at_ns: u64,
}

/// What a receiving half has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RxCounters {
    /// Frames given to the sink.
    pub received: u64,
    /// Bytes of those.
    pub bytes: u64,
    /// Lost in the kernel because nobody read in time.
    pub dropped: u64,
    /// Super-frames that an offload had glued together, taken apart again here.
    pub split: u64,
    /// Frames too long for any format, or that no rule could take apart: not given to the sink.
    pub refused: u64,
    /// Frames whose checksum the sending kernel had left to a card, completed here.
    pub completed: u64,
    /// Connections of a channel that were closed at once: too many, of another user, or without a certificate that does.
    pub turned_away: u64,
}

/// What a sending half has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TxCounters {
    /// Frames taken by the port.
    pub sent: u64,
    /// Bytes of those.
    pub bytes: u64,
    /// Frames that it would not take.
    pub refused: u64,
    /// Those of them that came while there was no link.
    pub no_link: u64,
    /// Those of them that found its queue full for too long.
    pub full: u64,
    /// Times that its queue was full, and sending went on when it no longer was.
    pub waited: u64,
}

impl TxCounters {
    /// Counts a frame that was not taken.
    pub(crate) fn refuse(&mut self, error: &PortError) {
        self.refused += 1;
        self.no_link += u64::from(error.is_no_link());
        self.full += u64::from(matches!(error, PortError::Full { .. }));
    }
}

/// The receiving half of a port.
pub trait Receive: Send {
    /// Gives every frame that is there to `sink`, waiting at most `wait` for the first one; returns how many.
    ///
    /// Comes back early with 0 when a signal arrives, and with 0 while there is no link: that comes and goes.
    ///
    /// # Errors
    /// [`PortError::Gone`] when the interface was removed and is not [waited for](Options::returns), and
    /// [`PortError::Ended`] at the end of a file, both only after every frame has been given; others as they happen.
    fn receive(
        &mut self,
        wait: Duration,
        sink: &mut dyn FnMut(Received<'_>),
    ) -> Result<usize, PortError>;

    /// What happened so far.
    fn counters(&self) -> RxCounters;

    /// Looks at the link; `None` where there is nothing to look at. Costs system calls.
    fn link(&mut self) -> Option<Link> {
        None
    }

    /// A descriptor that polls as readable when there are frames; `None` where there is none.
    fn descriptor(&self) -> Option<RawFd> {
        None
    }
}

/// What is known of a port that is told when frames are to leave, and sees to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timekeeper {
    /// How long before its time a frame is given to it, at most.
    pub ahead: Duration,
    /// What its departures count in.
    pub tick: Tick,
}

/// The sending half of a port.
pub trait Transmit: Send {
    /// Sends the frames in order, at once; returns how many of them, from the first on, are out of
    /// the caller's hands. Zero frames sent is no error only when none were given.
    ///
    /// # Errors
    /// That the first frame cannot be sent, and why; the caller goes on behind it, unless
    /// [`PortError::is_end`].
    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, PortError>;

    /// As [`send`](Transmit::send), of frames that are sent at one time: they may [arrive at one time](Options::aggregates).
    ///
    /// # Errors
    /// As by [`send`](Transmit::send).
    fn send_together(&mut self, frames: &[&[u8]]) -> Result<usize, PortError> {
        self.send(frames)
    }

    /// Writes out what the port has taken and keeps, where it keeps anything: a file does.
    ///
    /// # Errors
    /// What the system says, such as that the disk is full.
    fn flush(&mut self) -> Result<(), PortError> {
        Ok(())
    }

    /// Nothing more will be sent: as [`flush`](Transmit::flush), and a file takes its place under its name. To be
    /// called once; a port that is dropped without it does the same, with nobody to tell but standard error.
    ///
    /// # Errors
    /// What the system says.
    fn finish(&mut self) -> Result<(), PortError> {
        self.flush()
    }

    /// How frames are sent, in a word or two.
    fn method(&self) -> &'static str {
        ""
    }

    /// Gets a frame ready of which the caller knows that it is the first of the next call to
    /// [`send`](Transmit::send), unchanged and in the same place.
    fn prepare(&mut self, frame: &[u8]) {
        let _ = frame;
    }

    /// How long the system takes from the call to the driver where that was measured before, ns; zero where
    /// nobody knows.
    fn known_latency(&self) -> u64 {
        0
    }

    /// Goes the way that a frame goes as far as it leads without one, so that the processor's caches know
    /// it when [`send`](Transmit::send) is called a few µs later. Nothing leaves, nothing is counted.
    fn warm(&mut self) {}

    /// Asks the system to stamp the first frame of the next call to [`send`](Transmit::send) when it
    /// gives it to the driver; whether it may.
    fn ask_for_stamp(&mut self) -> bool {
        false
    }

    /// A stamp that was asked for and has come, in ns on CLOCK_MONOTONIC.
    fn take_stamp(&mut self) -> Option<u64> {
        None
    }

    /// How a port keeps the time itself; `None` for one whose frames leave when they are given.
    fn timekeeper(&self) -> Option<Timekeeper> {
        None
    }

    /// Gives a frame to a port that [keeps the time](Transmit::timekeeper), which sends it behind those that it has, at this
    /// departure in its ticks, and sets its timers itself.
    ///
    /// # Errors
    /// As by [`send`](Transmit::send).
    fn schedule(&mut self, departure: Departure, frame: &[u8]) -> Result<(), PortError> {
        let _ = departure;
        self.send(&[frame]).map(|_| ())
    }

    /// When the next frame left that was [scheduled](Transmit::schedule), in ns on CLOCK_MONOTONIC, waiting for it at most so long.
    ///
    /// # Errors
    /// That the port has ended, and no more will leave.
    fn departed(&mut self, wait: Duration) -> Result<Option<u64>, PortError> {
        let _ = wait;
        Ok(None)
    }

    /// What happened so far.
    fn counters(&self) -> TxCounters;
}

/// An open port.
pub struct Port {
    /// What is known of it.
    pub info: PortInfo,
    /// Where frames come from.
    pub rx: Box<dyn Receive>,
    /// Where frames go.
    pub tx: Box<dyn Transmit>,
}
