//! PAUSE of a link (IEEE 802.3 clause 31B) and of priorities (PFC, 802.1Q clause 36): lossless
//! queues in front of a link.
//!
//! - **Parameters:** `priorities`, none: the whole link is paused; `xoff`, 64 kB, and `xon`, half
//!   of it: bytes that wait; `headroom`, [what the link needs](headroom_needed); `mtu`, 1514 bytes without
//!   FCS; `quanta`, 65535; `reaction`, 0; `watchdog`, 200 ms.
//!
//! The receiver of a link counts the bytes that arrived by it and still wait at its node's other
//! ports, in total or by priority. Above `xoff` it pauses the sender; at `xon` the sender resumes. The
//! receiver repeats a pause after half of its time. [`Ingress`] is that count. [`Gate`] is the
//! sender's end: it stops priorities of a [`Discipline`](crate::Discipline) that supports this
//! ([`pause`](crate::Discipline::pause)), and the whole line otherwise.
//!
//! # Where the standards leave a choice
//! | subject | standard | here |
//! |---|---|---|
//! | bytes that count | implementation | frames that the node forwards in the call of their arrival, once, until the first bit of the last copy leaves |
//! | frames of the node itself | - | not counted |
//! | priority of a frame | priority code point | that of [`Facts`](crate::Facts): without a tag the class selector |
//! | reaction time | 802.3 31B.3.7: 60 quanta at 10 Gb/s, 394 at 100 Gb/s; 802.1Q 36.1.3.3: 614.4 ns and more | `reaction`: from the whole pause frame to its effect |
//! | storms | - | a priority that is paused for `watchdog` while frames wait, counted once |

mod gate;
mod ingress;

pub use gate::Gate;
pub use ingress::{Admission, Ingress};
pub use packet::pause::{PRIORITIES, Pause, QUANTUM_BITS};

use alloc::vec::Vec;
use node::link::{FCS, MIN_WIRE_FRAME_LEN, PREAMBLE};
use node::outcome::Direction;
use node::{Channel, ConfigError, Rate, Size, Time};

/// End of each priority's pause; in the past if it is not paused.
pub type Pauses = [Time; PRIORITIES];

/// Maximum reaction time. Pauses that arrive meanwhile are stored.
const MAX_REACTION: Time = Time::from_us(100);

/// Parameters of the pauses of one direction of a link: its receiver sends them.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields, default))]
pub struct Config {
    /// Priorities that are lossless, 0..=7. Default none: the whole link is paused.
    pub priorities: Vec<u8>,
    /// Bytes that wait, of one priority or of all, above which the sender is paused. Default 64 kB.
    pub xoff: Size,
    /// Bytes at which the sender resumes. Default half of `xoff`.
    pub xon: Option<Size>,
    /// Buffer space above `xoff`, bytes. Default: [what the link needs](headroom_needed).
    pub headroom: Option<Size>,
    /// Maximum length of frames without FCS, for the default of `headroom`. Default 1514 bytes.
    pub mtu: u32,
    /// Time of a pause, in quanta of 512 bits at the link's rate, at least 1. Default 65535.
    pub quanta: u16,
    /// Time from the arrival of a pause to its effect, at most 100 us. Default 0.
    pub reaction: Time,
    /// Time of a pause, with frames that wait, after which it counts as a storm. Default 200 ms.
    pub watchdog: Time,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            priorities: Vec::new(),
            xoff: Size::from_bytes(64_000),
            xon: None,
            headroom: None,
            mtu: 1514,
            quanta: u16::MAX,
            reaction: Time::ZERO,
            watchdog: Time::from_ms(200),
        }
    }
}

impl Config {
    /// Checks the parameters for the channel that is paused.
    ///
    /// # Errors
    /// For values out of range, and for a link without a rate, on which no frame takes time.
    pub fn check(&self, channel: &Channel) -> Result<(), ConfigError> {
        let fault = |key, reason| Err(ConfigError::new(key, reason));
        if self
            .priorities
            .iter()
            .any(|priority| usize::from(*priority) >= PRIORITIES)
        {
            return fault("priorities", "priorities are 0 to 7");
        }
        if self.xon().bytes() > self.xoff.bytes() {
            return fault("xon", "`xon` is at most `xoff`");
        }
        if self.quanta == 0 {
            return fault("quanta", "at least 1 quantum: 0 ends a pause");
        }
        if self.reaction > MAX_REACTION {
            return fault("reaction", "a reaction time of at most 100 us");
        }
        if self.watchdog == Time::ZERO {
            return fault("watchdog", "a time above 0");
        }
        if !(1..=node::frame::MAX_FRAME_LEN as u32).contains(&self.mtu) {
            return fault("mtu", "a frame of at least 1 byte and at most 256 KiB");
        }
        if channel.rate.is_none() {
            return fault("pause", "pauses count bit times: give the link a `rate`");
        }
        Ok(())
    }

    /// Bytes at which the sender goes on.
    pub fn xon(&self) -> Size {
        let half = Size::from_bytes(self.xoff.bytes() / 2);
        self.xon.unwrap_or(half)
    }

    /// Buffer space of one count, bytes: `xoff` and the headroom. `None` for channels without a rate.
    pub fn room(&self, forth: &Channel, back: &Channel) -> Option<u64> {
        let headroom = self.headroom.map(|headroom| headroom.bytes());
        let headroom =
            headroom.or_else(|| headroom_needed(forth, back, self.mtu, self.reaction))?;
        self.xoff.bytes().checked_add(headroom)
    }

    /// Whether frames of a priority are lossless.
    pub fn covers(&self, priority: usize) -> bool {
        self.priorities.is_empty()
            || self
                .priorities
                .iter()
                .any(|own| usize::from(*own) == priority)
    }
}

/// Time of `quanta` at a rate, rounded down to a picosecond.
pub fn time_of_quanta(quanta: u16, rate: Rate) -> Time {
    rate.time_of(u64::from(quanta) * QUANTUM_BITS, 0).0
}

/// Bytes that may still arrive after `xoff` is exceeded: the headroom without which frames are lost.
///
/// The frame that exceeds `xoff` may have `mtu` bytes. The pause frame waits for a frame of `mtu` on
/// the reverse direction, takes its transmission time and the delay, and takes effect after
/// `reaction`. Until then the sender uses the full rate. Frames in flight still arrive, and a frame
/// whose transmission has begun is completed. Frames have at most `mtu` bytes without FCS in both
/// directions. `None` for a direction without a rate.
pub fn headroom_needed(forth: &Channel, back: &Channel, mtu: u32, reaction: Time) -> Option<u64> {
    let (rate, rate_back) = (forth.rate?, back.rate?);
    let wire = |len: usize| (PREAMBLE + len.max(MIN_WIRE_FRAME_LEN) + FCS) as u64;
    let mtu = u64::from(mtu);
    let blocking = wire(mtu as usize) + u64::from(back.gap) + wire(MIN_WIRE_FRAME_LEN);
    // One picosecond for each rounded time.
    let back_time = rate_back.time_of(8 * blocking, 0).0 + Time::from_ps(4);
    let open = back_time + back.delay + reaction + forth.delay;
    let bits = u128::from(open.as_ps()) * u128::from(rate.bits_per_second());
    let bytes = bits.div_ceil(8 * 1_000_000_000_000);
    u64::try_from(bytes).ok()?.checked_add(2 * mtu)
}

/// Minimum quanta of a pause of `forth` such that its repetition arrives in time. The repetition is sent after half of the pause,
/// may wait for a frame of `mtu` bytes on `back`, and takes effect after `reaction`. `None` when no pause is long enough, and for a
/// direction without a rate.
pub fn min_quanta(forth: &Channel, back: &Channel, mtu: u32, reaction: Time) -> Option<u16> {
    let (rate, rate_back) = (forth.rate?, back.rate?);
    let bytes = (PREAMBLE + (mtu as usize).max(MIN_WIRE_FRAME_LEN) + FCS) as u64;
    let waits = rate_back.time_of(8 * (bytes + u64::from(back.gap)), 0).0 + reaction;
    // Both halves, each rounded.
    let needed = u128::from(2 * (waits.as_ps() + 2)) * u128::from(rate.bits_per_second());
    let quanta = needed.div_ceil(u128::from(QUANTUM_BITS) * 1_000_000_000_000);
    u16::try_from(quanta).ok()
}

/// Pauses at a port in both roles: as receiver it sends them, as sender it obeys them.
#[derive(Debug, Default)]
pub struct Port {
    /// Bytes that arrived by the port, whose sender it pauses.
    pub ingress: Option<Ingress>,
    /// Pauses that the link's other end requests.
    pub gate: Option<Gate>,
}

impl Port {
    /// For the port that sends on direction `way` of a link, with the channels and parameters of both directions; `None` for a
    /// direction without pauses.
    ///
    /// # Errors
    /// For invalid parameters, and channels without a rate.
    pub fn new(
        channels: &[Channel; 2],
        configs: &[Option<Config>; 2],
        way: Direction,
    ) -> Result<Port, ConfigError> {
        let (own, other) = (way.index(), 1 - way.index());
        let ingress = configs[other].as_ref();
        let ingress = ingress.map(|config| Ingress::new(config, &channels[other], &channels[own]));
        let gate = configs[own].as_ref();
        let gate = gate.map(|config| Gate::new(config, &channels[own]));
        Ok(Port {
            ingress: ingress.transpose()?,
            gate: gate.transpose()?,
        })
    }
}

/// Buffer that a frame is in: the ingress of the port by which it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Number of the port.
    pub port: u32,
    /// Its slot in the [`Ingress`].
    pub slot: u32,
}

/// An event of pauses at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The port sends a pause or the end of a pause.
    Asked(Pause),
    /// A pause from the other end takes effect. Ends of each priority's pause.
    Paused(Pauses),
    /// A frame arrived by the port, and is counted from now on.
    Arrived {
        /// Waiting bytes of the same count, including the frame.
        waiting: u64,
    },
    /// A frame that arrived by the port exceeds `xoff` and `headroom`, and is lost.
    Overflow {
        /// Its priority.
        priority: u8,
        /// Its length, bytes.
        len: u32,
    },
    /// A priority has been paused for the `watchdog` time with frames that wait.
    Storm {
        /// The priority.
        priority: u8,
    },
    /// A MAC control frame arrived that is not a pause, or is truncated: it is dropped.
    Unknown,
}
