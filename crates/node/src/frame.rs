//! An Ethernet frame in a buffer that is used again.

use crate::Time;
use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};

/// Bytes kept free before a new frame, for tags and outer headers that are pushed on it.
pub const HEADROOM: usize = 64;
/// The longest frame, in bytes without FCS, that any part carries (FORMATS section 2).
pub const LONGEST: usize = 262_144;
/// Frames kept by a [`Pool`] for later; more are freed. 16 Ki frames of 1.5 kB are 25 MB.
const KEPT: usize = 16 * 1024;
/// Bytes of buffers kept: as much as so many of the longest frames of a wire need. Super-frames are so few then.
const KEPT_BYTES: usize = KEPT * 16 * 1024;

/// By what a world knows a frame that the system has given it and waits for an answer about: a packet at a hook of the
/// kernel. Any number but zero, whose meaning is the world's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(pub core::num::NonZeroU64);

/// By which a node knows a frame whose departure it wants to be told of. Any number but zero, whose meaning is the node's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StampId(pub core::num::NonZeroU32);

/// An Ethernet frame, destination address first, without preamble and FCS.
///
/// Dereferences to its bytes. Headers go on and come off at the front without moving what is
/// behind them, as long as [`HEADROOM`] lasts.
#[derive(Debug, Default)]
pub struct Frame {
    bytes: Vec<u8>,
    start: usize,
    arrived: Time,
    ticket: Option<Ticket>,
    changed: bool,
    stamp: Option<StampId>,
}

impl Frame {
    /// A frame with a copy of `bytes`, outside any pool: for tests and set-up.
    pub fn new(bytes: &[u8]) -> Frame {
        let mut frame = Frame::default();
        frame.reset();
        frame.bytes.extend_from_slice(bytes);
        frame
    }

    /// The frame that begins at `start` of a buffer which something else has filled, and ends with it. What is before
    /// it is its headroom.
    ///
    /// # Panics
    /// When the buffer ends before `start`.
    pub fn in_buffer(bytes: Vec<u8>, start: usize) -> Frame {
        assert!(
            start <= bytes.len(),
            "a frame at {start} of {} bytes",
            bytes.len()
        );
        Frame {
            bytes,
            start,
            ..Frame::default()
        }
    }

    /// Its buffer, with whatever is in it, for something else to fill.
    pub fn into_buffer(self) -> Vec<u8> {
        self.bytes
    }

    /// When the first bit of this frame arrived: its SFD, where the port knows it.
    pub fn arrived(&self) -> Time {
        self.arrived
    }

    /// Set by the world that delivers the frame.
    pub fn set_arrived(&mut self, at: Time) {
        self.arrived = at;
    }

    /// By what the world that delivered the frame waits for an answer about it: that it is sent, or is not. Most
    /// worlds do not. Copies of the frame have none.
    pub fn ticket(&self) -> Option<Ticket> {
        self.ticket
    }

    /// Set by a world that waits for an answer; the frame counts as unchanged from here on.
    pub fn set_ticket(&mut self, ticket: Ticket) {
        self.ticket = Some(ticket);
        self.changed = false;
    }

    /// Takes the ticket off: who has it owes the answer.
    pub fn take_ticket(&mut self) -> Option<Ticket> {
        self.ticket.take()
    }

    /// Asks the world to tell when the frame leaves, by [`What::Departed`](crate::event::What::Departed). A
    /// [copy](crate::Out::copy) asks for the same.
    pub fn ask_for_stamp(&mut self, id: StampId) {
        self.stamp = Some(id);
    }

    /// By what its departure is asked for.
    #[inline]
    pub fn stamp(&self) -> Option<StampId> {
        self.stamp
    }

    /// Takes that off: its next node has not asked.
    #[inline]
    pub fn take_stamp(&mut self) -> Option<StampId> {
        self.stamp.take()
    }

    /// Whether anybody may have written into the frame since it got its ticket.
    pub fn is_changed(&self) -> bool {
        self.changed
    }

    /// Empties the frame and gives it its headroom again.
    fn reset(&mut self) {
        self.bytes.clear();
        self.bytes.resize(HEADROOM, 0);
        self.start = HEADROOM;
        self.arrived = Time::ZERO;
        self.ticket = None;
        self.changed = false;
        self.stamp = None;
    }

    /// Appends `bytes`.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.changed = true;
        self.bytes.extend_from_slice(bytes);
    }

    /// Makes the frame `len` bytes long: cuts its end off, or appends zeros.
    pub fn resize(&mut self, len: usize) {
        self.changed = true;
        self.bytes.resize(self.start + len, 0);
    }

    /// Opens a gap of `len` bytes at `at`, moving what is before it to the front: a VLAN tag goes
    /// in with `insert(12, 4)`. Returns the gap, whose content is whatever was there.
    ///
    /// # Panics
    /// When `at` is beyond the end.
    pub fn insert(&mut self, at: usize, len: usize) -> &mut [u8] {
        self.changed = true;
        assert!(
            at <= self.len(),
            "insert at {at} of a frame of {} bytes",
            self.len()
        );
        if self.start < len {
            let more = len - self.start + HEADROOM;
            self.bytes.splice(0..0, core::iter::repeat_n(0, more));
            self.start += more;
        }
        self.bytes
            .copy_within(self.start..self.start + at, self.start - len);
        self.start -= len;
        &mut self.bytes[self.start + at..self.start + at + len]
    }

    /// Takes `len` bytes out at `at`, moving what is before them back: the inverse of
    /// [`insert`](Frame::insert).
    ///
    /// # Panics
    /// When the bytes to be removed are not all there.
    pub fn remove(&mut self, at: usize, len: usize) {
        self.changed = true;
        assert!(
            at + len <= self.len(),
            "remove {at}+{len} of a frame of {} bytes",
            self.len()
        );
        self.bytes
            .copy_within(self.start..self.start + at, self.start + len);
        self.start += len;
    }
}

impl Clone for Frame {
    /// Its bytes and time of arrival; there is one answer, so the copy has no ticket.
    fn clone(&self) -> Frame {
        Frame {
            bytes: self.bytes.clone(),
            start: self.start,
            arrived: self.arrived,
            ticket: None,
            changed: false,
            stamp: None,
        }
    }
}

impl Deref for Frame {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

impl DerefMut for Frame {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.changed = true;
        &mut self.bytes[self.start..]
    }
}

impl PartialEq for Frame {
    fn eq(&self, other: &Frame) -> bool {
        self[..] == other[..] && self.arrived == other.arrived
    }
}

/// Buffers of frames that are done with, for frames to come.
#[derive(Debug, Default)]
pub struct Pool {
    free: Vec<Frame>,
    /// Bytes of their buffers.
    bytes: usize,
}

impl Pool {
    /// An empty frame with headroom.
    pub fn take(&mut self) -> Frame {
        let mut frame = self.free.pop().unwrap_or_default();
        self.bytes -= frame.bytes.capacity();
        frame.reset();
        frame
    }

    /// A frame with these bytes, and nothing else set.
    pub fn take_with(&mut self, bytes: &[u8]) -> Frame {
        let mut frame = self.take();
        frame.extend(bytes);
        frame
    }

    /// Gives a frame's buffer back.
    pub fn give(&mut self, frame: Frame) {
        let bytes = self.bytes + frame.bytes.capacity();
        if self.free.len() < KEPT && bytes <= KEPT_BYTES {
            self.bytes = bytes;
            self.free.push(frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_goes_in_and_comes_out_without_a_trace() {
        let mut frame = Frame::new(b"dddddd.ssssssTTpayload");
        frame.insert(12, 4).copy_from_slice(b"8100");
        assert_eq!(&frame[..], b"dddddd.sssss8100sTTpayload");
        frame.remove(12, 4);
        assert_eq!(&frame[..], b"dddddd.ssssssTTpayload");
    }

    #[test]
    fn a_buffer_goes_in_and_comes_out_as_it_is() {
        let mut frame = Frame::in_buffer(b"headroom and frame".to_vec(), 13);
        assert_eq!(&frame[..], b"frame");
        frame.insert(0, 4).copy_from_slice(b"the ");
        assert_eq!(&frame[..], b"the frame");
        assert_eq!(frame.into_buffer(), b"headroom the frame");
    }

    #[test]
    fn more_headers_than_headroom_still_fit() {
        let mut frame = Frame::new(b"x");
        for _ in 0..3 {
            frame.insert(0, HEADROOM).fill(7);
        }
        assert_eq!(frame.len(), 3 * HEADROOM + 1);
        assert_eq!((frame[0], frame[3 * HEADROOM]), (7, b'x'));
    }

    #[test]
    fn a_frame_with_a_ticket_knows_whether_it_was_written_to() {
        let ticket = Ticket(core::num::NonZeroU64::new(7).unwrap());
        let mut frame = Frame::new(b"abc");
        frame.set_ticket(ticket);
        assert_eq!((&frame[..], frame.is_changed()), (&b"abc"[..], false));
        assert_eq!(frame.clone().ticket(), None);
        frame[0] = b'x';
        assert!(frame.is_changed());
        for change in [
            (|frame: &mut Frame| frame.extend(b"d")) as fn(&mut Frame),
            |frame| frame.resize(2),
            |frame| frame.remove(0, 1),
            |frame| frame.insert(0, 1).fill(0),
        ] {
            frame.set_ticket(ticket);
            change(&mut frame);
            assert!(frame.is_changed());
        }
        assert_eq!(frame.take_ticket(), Some(ticket));
        assert_eq!(frame.ticket(), None);
    }

    #[test]
    fn a_pool_keeps_frames_by_number_and_by_bytes() {
        for (len, kept) in [(60, KEPT), (LONGEST, KEPT_BYTES / LONGEST)] {
            let mut pool = Pool::default();
            for _ in 0..=kept {
                pool.give(Frame::in_buffer(Vec::with_capacity(len), 0));
            }
            assert_eq!(pool.free.len(), kept, "{len}");
            (0..kept).for_each(|_| drop(pool.take()));
            assert_eq!((pool.free.len(), pool.bytes), (0, 0));
        }
    }

    #[test]
    fn a_frame_from_the_pool_remembers_nothing() {
        let mut pool = Pool::default();
        let mut frame = pool.take_with(b"old");
        frame.set_arrived(Time::from_ns(5));
        frame.insert(0, 10);
        pool.give(frame);
        assert_eq!(pool.take_with(b"new"), Frame::new(b"new"));
    }
}
