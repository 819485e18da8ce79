//! An Ethernet frame in a buffer that is used again.

use crate::Time;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};

/// Bytes kept free before a new frame, for tags and outer headers that are pushed on it.
pub const HEADROOM: usize = 64;
/// Maximum frame length without FCS, bytes (FORMATS section 2).
pub const MAX_FRAME_LEN: usize = 262_144;
/// Maximum number of free frames of a [`Pool`]; more are freed. 16 Ki frames of 1.5 kB are 25 MB.
const MAX_POOLED_FRAMES: usize = 16 * 1024;
/// Maximum size of the buffers of a [`Pool`], bytes: that of 16 Ki frames of the maximum length on
/// a wire. Super-frames reach it with fewer frames.
const MAX_POOLED_BYTES: usize = MAX_POOLED_FRAMES * 16 * 1024;

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
///
/// A pointer: on its way a frame moves from list to list more often than anybody looks at it.
#[derive(Debug)]
pub struct Frame(Box<Fields>);

#[derive(Debug, Default)]
struct Fields {
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
        let mut frame = Frame(Box::default());
        frame.reset();
        frame.0.bytes.extend_from_slice(bytes);
        frame
    }

    /// Its buffer, for something else to fill. From here on the frame begins where the buffer does, without headroom.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        self.0.changed = true;
        self.0.start = 0;
        &mut self.0.bytes
    }

    /// When the first bit of this frame arrived: its SFD, where the port knows it.
    #[inline]
    pub fn arrived(&self) -> Time {
        self.0.arrived
    }

    /// Set by the world that delivers the frame.
    #[inline]
    pub fn set_arrived(&mut self, at: Time) {
        self.0.arrived = at;
    }

    /// By what the world that delivered the frame waits for an answer about it: that it is sent, or is not. Most
    /// worlds do not. Copies of the frame have none.
    #[inline]
    pub fn ticket(&self) -> Option<Ticket> {
        self.0.ticket
    }

    /// Set by a world that waits for an answer; the frame counts as unchanged from here on.
    pub fn set_ticket(&mut self, ticket: Ticket) {
        self.0.ticket = Some(ticket);
        self.0.changed = false;
    }

    /// Takes the ticket off: who has it owes the answer.
    pub fn take_ticket(&mut self) -> Option<Ticket> {
        self.0.ticket.take()
    }

    /// Asks the world to tell when the frame leaves, by [`What::Departed`](crate::event::What::Departed). A
    /// [copy](crate::Out::copy) asks for the same.
    pub fn ask_for_stamp(&mut self, id: StampId) {
        self.0.stamp = Some(id);
    }

    /// By what its departure is asked for.
    #[inline]
    pub fn stamp(&self) -> Option<StampId> {
        self.0.stamp
    }

    /// Takes that off: its next node has not asked.
    #[inline]
    pub fn take_stamp(&mut self) -> Option<StampId> {
        self.0.stamp.take()
    }

    /// Whether anybody may have written into the frame since it got its ticket.
    pub fn is_changed(&self) -> bool {
        self.0.changed
    }

    /// Empties the frame and gives it its headroom again.
    fn reset(&mut self) {
        self.0.bytes.clear();
        self.0.bytes.resize(HEADROOM, 0);
        self.0.start = HEADROOM;
        self.0.arrived = Time::ZERO;
        self.0.ticket = None;
        self.0.changed = false;
        self.0.stamp = None;
    }

    /// Appends `bytes`.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.0.changed = true;
        self.0.bytes.extend_from_slice(bytes);
    }

    /// Makes the frame `len` bytes long: cuts its end off, or appends zeros.
    pub fn resize(&mut self, len: usize) {
        self.0.changed = true;
        self.0.bytes.resize(self.0.start + len, 0);
    }

    /// Opens a gap of `len` bytes at `at`, moving what is before it to the front: a VLAN tag goes
    /// in with `insert(12, 4)`. Returns the gap, whose content is whatever was there.
    ///
    /// # Panics
    /// When `at` is beyond the end.
    pub fn insert(&mut self, at: usize, len: usize) -> &mut [u8] {
        self.0.changed = true;
        assert!(
            at <= self.len(),
            "insert at {at} of a frame of {} bytes",
            self.len()
        );
        if self.0.start < len {
            let more = len - self.0.start + HEADROOM;
            self.0.bytes.splice(0..0, core::iter::repeat_n(0, more));
            self.0.start += more;
        }
        self.0
            .bytes
            .copy_within(self.0.start..self.0.start + at, self.0.start - len);
        self.0.start -= len;
        &mut self.0.bytes[self.0.start + at..self.0.start + at + len]
    }

    /// Takes `len` bytes out at `at`, moving what is before them back: the inverse of
    /// [`insert`](Frame::insert).
    ///
    /// # Panics
    /// When the bytes to be removed are not all there.
    pub fn remove(&mut self, at: usize, len: usize) {
        self.0.changed = true;
        assert!(
            at + len <= self.len(),
            "remove {at}+{len} of a frame of {} bytes",
            self.len()
        );
        self.0
            .bytes
            .copy_within(self.0.start..self.0.start + at, self.0.start + len);
        self.0.start += len;
    }
}

impl Clone for Frame {
    /// Its bytes and time of arrival; there is one answer, so the copy has no ticket.
    fn clone(&self) -> Frame {
        Frame(Box::new(Fields {
            bytes: self.0.bytes.clone(),
            start: self.0.start,
            arrived: self.0.arrived,
            ticket: None,
            changed: false,
            stamp: None,
        }))
    }
}

impl Deref for Frame {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0.bytes[self.0.start..]
    }
}

impl DerefMut for Frame {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        self.0.changed = true;
        &mut self.0.bytes[self.0.start..]
    }
}

impl PartialEq for Frame {
    fn eq(&self, other: &Frame) -> bool {
        self[..] == other[..] && self.0.arrived == other.0.arrived
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
        let mut frame = self.free.pop().unwrap_or_else(|| Frame(Box::default()));
        self.bytes -= frame.0.bytes.capacity();
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
        let bytes = self.bytes + frame.0.bytes.capacity();
        if self.free.len() < MAX_POOLED_FRAMES && bytes <= MAX_POOLED_BYTES {
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
    fn a_buffer_that_something_else_fills_is_the_frame_and_its_headroom() {
        let mut frame = Frame::new(b"before");
        let buffer = frame.buffer();
        buffer.clear();
        buffer.extend_from_slice(b"headroom and frame");
        frame.remove(0, 13);
        assert_eq!(&frame[..], b"frame");
        frame.insert(0, 4).copy_from_slice(b"the ");
        assert_eq!(&frame[..], b"the frame");
        assert_eq!(frame.buffer(), b"headroom the frame");
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
        for (len, kept) in [
            (60, MAX_POOLED_FRAMES),
            (MAX_FRAME_LEN, MAX_POOLED_BYTES / MAX_FRAME_LEN),
        ] {
            let mut pool = Pool::default();
            for _ in 0..=kept {
                let mut frame = Frame(Box::default());
                frame.buffer().reserve_exact(len);
                pool.give(frame);
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
