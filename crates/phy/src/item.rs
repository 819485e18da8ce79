//! What a receiver tells.

use crate::Stamp;
use crate::block::Class;
use crate::xgmii::Set;

/// Something on the line, told in the order of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// A frame has ended.
    Frame(Received<'a>),
    /// Something else, and where.
    Event(Stamp, Event),
}

/// A frame from the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received<'a> {
    /// Of its first byte behind the SFD.
    pub stamp: Stamp,
    /// Characters from the last terminate (which counts) to this frame's start; `None` when there was
    /// none, or when a bad block or a loss of lock came between.
    pub idles: Option<u64>,
    /// The frame without FCS, padded as it was. Of a frame that is too long, its beginning.
    pub bytes: &'a [u8],
    /// The four bytes behind it; zero when there are not as many.
    pub fcs: [u8; 4],
    /// What was on the line between SFD and terminate, in bytes: frame, padding and FCS.
    pub length: u64,
    /// The preamble behind the start character, and the SFD, which is the last.
    pub preamble: [u8; 7],
    /// Whether it is whole.
    pub verdict: Verdict,
}

/// Whether a frame is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Its FCS is right, and it is neither too short nor too long.
    Good,
    /// Its FCS is wrong.
    BadFcs,
    /// A block in it was bad, it did not end with a terminate, or the lock was lost in it. The bytes
    /// are what there was, with eight zeros for each bad block.
    Broken,
    /// Under 64 bytes with FCS, which is right.
    Short,
    /// Longer than the receiver takes.
    Long,
    /// Byte 7 of the preamble is not the SFD: what follows is not known to be a frame.
    NoSfd,
}

/// What else there is on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Blocks are found.
    Lock,
    /// They are not any more: 16 bad headers among 64.
    Loss,
    /// 16 bad headers within 125 us: no frames are received until it is over.
    HighErrorRate(bool),
    /// A header of two equal bits.
    BadHeader,
    /// A block of a type or with codes that the standard does not have, or with error characters.
    BadBlock {
        /// Its payload, descrambled.
        payload: u64,
    },
    /// A good block that must not come here, such as data without a start.
    OutOfPlace(Class),
    /// An ordered set that the four characters before it did not have. So a run of the same is told
    /// once.
    Set(Set),
    /// The link fault status changed (46.3.4): four of the same fault without 128 columns between
    /// them; over when 128 columns have none.
    Fault(Option<Fault>),
}

/// What the neighbour tells by sequence ordered sets (46.3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Something between it and here does not receive.
    Local,
    /// It does not receive what this end sends.
    Remote,
    /// Link interruption.
    Interruption,
}
