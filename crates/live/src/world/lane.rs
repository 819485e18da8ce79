//! A way out of a world, and what leaves by it.

use crate::port::{PortError, Timekeeper, Transmit};
use node::link::MIN_WIRE_FRAME_LEN;
use node::{Channel, Frame, Refusal, Tap, Time};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A way out, shared by the thread of departures and its node's own thread.
pub struct Lane {
    /// The port.
    pub tx: Mutex<Box<dyn Transmit>>,
    /// How the port keeps the time itself, if it does.
    pub timekeeper: Option<Timekeeper>,
    /// The node whose buffers the frames come from.
    pub owner: usize,
    /// Frames of this lane that wait for their time.
    pub waiting: AtomicU64,
    /// Frames that the port would not take: because of themselves, for want of a link, and because its queue was full.
    pub refused: [AtomicU64; 3],
    /// Set when the port is of no more use.
    pub dead: AtomicBool,
    /// For a lane that leads to something real, where no node's thread sees what arrives.
    pub exit: Option<Mutex<Exit>>,
}

impl Lane {
    /// One that leads to a port, of this node.
    pub fn new(tx: Box<dyn Transmit>, owner: usize) -> Lane {
        Lane {
            timekeeper: tx.timekeeper(),
            tx: Mutex::new(tx),
            owner,
            waiting: AtomicU64::new(0),
            refused: Default::default(),
            dead: AtomicBool::new(false),
            exit: None,
        }
    }

    /// Counts frames that the port would not take.
    pub fn refuse(&self, why: Refused, frames: usize) {
        self.refused[why as usize].fetch_add(frames as u64, Ordering::SeqCst);
    }
}

/// Why a port would not take a frame.
#[derive(Clone, Copy)]
pub enum Refused {
    /// The frame is not for this port: it is too long, mostly.
    Itself,
    /// There is no link.
    NoLink,
    /// The queue of the interface has no room.
    Full,
}

impl Refused {
    /// All of them, with the words for a node's drops.
    pub const ALL: [(Refused, &str); 3] = [
        (Refused::Itself, "refused by the port"),
        (Refused::NoLink, Refusal::NoLink.reason()),
        (Refused::Full, "sent by a port whose queue was full"),
    ];

    pub fn of(error: &PortError) -> Refused {
        match error {
            PortError::Full { .. } => Refused::Full,
            error if error.is_no_link() => Refused::NoLink,
            _ => Refused::Itself,
        }
    }
}

/// Where frames leave the world for something real.
pub struct Exit {
    /// Who looks at what arrives there.
    pub taps: Vec<Tap>,
    /// The link that frames come by.
    pub link: Channel,
    /// Frames that have left.
    pub frames: u64,
}

impl Exit {
    /// Shows frames that are there at `now`.
    pub fn show<'a>(&mut self, now: Time, frames: impl Iterator<Item = &'a mut Frame>) {
        for frame in frames {
            self.frames += 1;
            let duration = time_on(&self.link, frame.len());
            frame.set_arrived(now - duration);
            for tap in &mut self.taps {
                (tap.see)(now, frame);
            }
        }
    }
}

/// From a frame's first bit to its last one.
pub fn time_on(link: &Channel, len: usize) -> Time {
    let bits = 8 * (len.max(MIN_WIRE_FRAME_LEN) + node::link::FCS) as u64;
    link.rate.map_or(Time::ZERO, |rate| rate.time_of(bits, 0).0)
}
