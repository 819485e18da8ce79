//! From blocks to frames: the receive state machine (figure 49-17), and the MAC's checks above it.

use crate::block::{Class, Kind};
use crate::fault::Faults;
use crate::item::{Event, Fault, Item, Received, Verdict};
use crate::{Block, MAX_FRAME_LEN, Stamp, crc};
use alloc::boxed::Box;
use alloc::vec;

/// Where the frame begins in the buffer; the preamble ends there.
const FRAME: usize = 8;

/// The states of figure 49-17.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// RX_INIT: nothing received since lock, or since the error rate fell.
    Init,
    /// RX_C: between frames.
    Control,
    /// RX_D: in a frame.
    Data,
    /// RX_T: behind a frame. Whether it ended well is known when the next block is.
    Terminate,
    /// RX_E: something bad or out of place.
    Error,
}

/// Frames and other items found so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames that were good.
    pub good: u64,
    /// Frames that were not.
    pub bad: u64,
    /// Blocks for which the state machine was in RX_E, those with bad headers included.
    pub errors: u64,
}

/// Takes blocks, descrambled, and gives frames and events.
///
/// Each block comes with its place, so runs of idles may be left out: what counts is where the next
/// block stands.
#[derive(Clone, Debug)]
pub struct Decoder {
    state: State,
    /// Eight bytes for the preamble, the longest frame with FCS, and a block more, so that a block
    /// can be stored before it is known to be too much.
    buffer: Box<[u8]>,
    limit: usize,
    /// Bytes of the buffer in use; 0 when no frame is open.
    used: usize,
    /// Bytes beyond the buffer.
    beyond: u64,
    broken: bool,
    stamp: Stamp,
    idles: Option<u64>,
    /// The last terminate: its column's stamp, and its place in it.
    end: Option<(Stamp, u64)>,
    /// The last block.
    last: Stamp,
    faults: Faults,
    counters: Counters,
}

impl Default for Decoder {
    fn default() -> Decoder {
        Decoder::new(MAX_FRAME_LEN)
    }
}

impl Decoder {
    /// Takes frames of up to this many bytes without FCS.
    pub fn new(longest: usize) -> Decoder {
        let limit = FRAME + longest + 4;
        Decoder {
            state: State::Init,
            buffer: vec![0; limit + 8].into(),
            limit,
            used: 0,
            beyond: 0,
            broken: false,
            stamp: Stamp(0),
            idles: None,
            end: None,
            last: Stamp(0),
            faults: Faults::default(),
            counters: Counters::default(),
        }
    }

    /// The state; [`State::Terminate`] may still turn out to be [`State::Error`].
    pub fn state(&self) -> State {
        self.state
    }

    /// What was found so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The link fault status (46.3.4).
    pub fn fault(&self) -> Option<Fault> {
        self.faults.status()
    }

    /// The next block, whose header begins at `at`; `None` when the header is bad.
    pub fn block(&mut self, at: Stamp, block: Option<Block>, each: &mut impl FnMut(Item<'_>)) {
        // What a terminate was is known only now, and is told before what came behind it.
        let open = self.state == State::Terminate;
        if !open {
            self.faults.pass(at, each);
        }
        if self.usual(at, block, each) {
            if open {
                self.faults.pass(at, each);
            }
            return;
        }
        let class = block.map_or(Class::Error, Block::class);
        if open {
            self.terminated(class, each);
            self.faults.pass(at, each);
        }
        let next = match (self.state, class) {
            (State::Init | State::Control | State::Terminate, Class::Control) => State::Control,
            (State::Init | State::Control | State::Terminate, Class::Start) => State::Data,
            (State::Data, Class::Data) => State::Data,
            (State::Data, Class::Terminate) => State::Terminate,
            (State::Error, Class::Control) => State::Control,
            (State::Error, Class::Data) => State::Data,
            (State::Error, Class::Terminate) => State::Terminate,
            _ => State::Error,
        };
        self.last = at;
        self.state = next;
        match (block, next) {
            (Some(block), State::Data) if class == Class::Start => self.start(at, block, each),
            (Some(block), State::Data) => self.store(block.payload, 8),
            (Some(block), State::Terminate) => {
                let Some(Kind::Terminate(lane)) = block.kind() else {
                    return;
                };
                self.terminate(at, block, lane);
            }
            (Some(block), State::Control) => {
                self.close(true, each);
                self.sets(at, block, each);
            }
            _ => {
                self.error(each, at, block, class);
            }
        }
    }

    /// What nearly every block outside of data is: an idle, a start behind one, or a terminate with
    /// idles behind it. The state machine says the same of them, but takes longer.
    #[inline]
    fn usual(&mut self, at: Stamp, block: Option<Block>, each: &mut impl FnMut(Item<'_>)) -> bool {
        let Some(block @ Block { control: true, .. }) = block else {
            return false;
        };
        let next = match (self.state, block) {
            (State::Control | State::Terminate, Block::IDLE) => State::Control,
            (State::Control | State::Terminate, Block::START | Block::START_4) => State::Data,
            (State::Data, _) => {
                let Some(Kind::Terminate(lane)) = block.kind() else {
                    return false;
                };
                if block.payload.unbounded_shr(15 + 7 * u32::from(lane)) != 0 {
                    return false;
                }
                self.terminate(at, block, lane);
                (self.state, self.last) = (State::Terminate, at);
                return true;
            }
            _ => return false,
        };
        if self.state == State::Terminate {
            self.close(false, each);
        }
        if next == State::Data {
            self.start(at, block, each);
        }
        (self.state, self.last) = (next, at);
        true
    }

    fn terminate(&mut self, at: Stamp, block: Block, lane: u8) {
        self.store(block.payload >> 8, lane.into());
        let lane = u64::from(lane);
        self.end = Some((at + lane / 4 * Stamp::COLUMN, lane % 4));
    }

    /// Data blocks, of which the first begins at `at`.
    pub fn data(&mut self, at: Stamp, payloads: &[u64], each: &mut impl FnMut(Item<'_>)) {
        let mut payloads = payloads;
        let mut at = at;
        // The first one decides about what went before; behind it all is as in a frame.
        while self.state != State::Data {
            let Some((&payload, rest)) = payloads.split_first() else {
                return;
            };
            let block = Block {
                control: false,
                payload,
            };
            self.block(at, Some(block), each);
            (payloads, at) = (rest, at + Stamp::BLOCK);
        }
        let Some(blocks) = payloads.len().checked_sub(1) else {
            return;
        };
        self.last = at + blocks as u64 * Stamp::BLOCK;
        self.faults.pass(self.last, each);
        if self.used == 0 {
            return;
        }
        let room = (self.buffer.len() - self.used) / 8;
        let (stored, lost) = payloads.split_at(room.min(payloads.len()));
        let buffer = self.buffer[self.used..].as_chunks_mut::<8>().0;
        for (bytes, payload) in buffer.iter_mut().zip(stored) {
            *bytes = payload.to_le_bytes();
        }
        self.used += 8 * stored.len();
        self.beyond += 8 * lost.len() as u64;
    }

    /// Blocks with good headers, of which the first begins at `at`; a bit of `control` for each, and
    /// zeros behind the last.
    pub(crate) fn run(
        &mut self,
        at: Stamp,
        payloads: &[u64],
        control: &[u64],
        each: &mut impl FnMut(Item<'_>),
    ) {
        let place = |index: usize| at + index as u64 * Stamp::BLOCK;
        let mut index = 0;
        for (word, &bits) in control.iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                let next = 64 * word + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                if index < next {
                    self.data(place(index), &payloads[index..next], each);
                }
                let block = Block::control(payloads[next]);
                self.block(place(next), Some(block), each);
                index = next + 1;
            }
        }
        if index < payloads.len() {
            self.data(place(index), &payloads[index..], each);
        }
    }

    /// The lock is lost, or the error rate high: a frame that has begun is broken, and what comes next
    /// is as at the start.
    pub fn reset(&mut self, each: &mut impl FnMut(Item<'_>)) {
        if self.state == State::Terminate {
            self.terminated(Class::Error, each);
        }
        self.close(true, each);
        self.state = State::Init;
        self.end = None;
    }

    /// The stream ends here: a frame whose terminate was the last block is told.
    pub fn finish(&mut self, each: &mut impl FnMut(Item<'_>)) {
        if self.state == State::Terminate {
            self.terminated(Class::Control, each);
            self.state = State::Control;
        }
        self.reset(each);
    }

    /// Behind a terminate: it stands if a start or control characters follow.
    fn terminated(&mut self, next: Class, each: &mut impl FnMut(Item<'_>)) {
        if matches!(next, Class::Control | Class::Start) {
            self.close(false, each);
        } else {
            self.state = State::Error;
            self.counters.errors += 1;
            self.broken = true;
            self.end = None;
            each(Item::Event(self.last, Event::OutOfPlace(Class::Terminate)));
        }
    }

    fn error(
        &mut self,
        each: &mut impl FnMut(Item<'_>),
        at: Stamp,
        block: Option<Block>,
        class: Class,
    ) {
        self.counters.errors += 1;
        self.broken = true;
        self.end = None;
        if self.used > 0 {
            self.store(0, 8);
        }
        let event = match (block, class) {
            (None, _) => Event::BadHeader,
            (Some(Block { payload, .. }), Class::Error) => Event::BadBlock { payload },
            (Some(_), class) => Event::OutOfPlace(class),
        };
        each(Item::Event(at, event));
    }

    fn start(&mut self, at: Stamp, block: Block, each: &mut impl FnMut(Item<'_>)) {
        let bytes = block.payload.to_le_bytes();
        let lane = if block.kind() == Some(Kind::Start) {
            0
        } else {
            4
        };
        let column = at + if lane == 0 { 0 } else { Stamp::COLUMN };
        self.buffer[1..8 - lane].copy_from_slice(&bytes[1 + lane..]);
        self.used = 8 - lane;
        self.beyond = 0;
        self.broken = false;
        self.stamp = column + Stamp::BLOCK;
        self.idles = self
            .end
            .map(|(end, place)| (column - end) / Stamp::COLUMN * 4 - place);
        if block.kind() == Some(Kind::SetStart) {
            self.sets(at, block, each);
        }
    }

    fn sets(&mut self, at: Stamp, block: Block, each: &mut impl FnMut(Item<'_>)) {
        let (low, high) = match block.kind() {
            Some(Kind::SetControl | Kind::SetStart) => (true, false),
            Some(Kind::ControlSet) => (false, true),
            Some(Kind::SetSet) => (true, true),
            _ => return,
        };
        if let Some(set) = block.set(0).filter(|_| low) {
            self.faults.set(at, set, each);
        }
        if let Some(set) = block.set(4).filter(|_| high) {
            self.faults.set(at + Stamp::COLUMN, set, each);
        }
    }

    /// The low `count` bytes of a word, up to 8, if a frame is open.
    fn store(&mut self, word: u64, count: usize) {
        if self.used == 0 {
            return;
        }
        if let Some(room) = self.buffer[self.used..].first_chunk_mut::<8>() {
            // What is written beyond the count is written over.
            *room = word.to_le_bytes();
            self.used += count;
        } else {
            self.beyond += count as u64;
        }
    }

    /// Tells the open frame, if there is one. `cut`: it had no terminate.
    fn close(&mut self, cut: bool, each: &mut impl FnMut(Item<'_>)) {
        if self.used == 0 {
            return;
        }
        // A frame cut within its preamble has no bytes.
        let used = self.used.max(FRAME);
        self.used = 0;
        let length = (used - FRAME) as u64 + self.beyond;
        let [_, preamble @ ..] = *self.buffer.first_chunk::<FRAME>().expect("a buffer for it");
        let whole = &self.buffer[FRAME..used.min(self.limit)];
        let (bytes, fcs) = whole.split_last_chunk::<4>().unwrap_or((whole, &[0; 4]));
        let verdict = if cut || self.broken {
            Verdict::Broken
        } else if preamble[6] != 0xD5 {
            Verdict::NoSfd
        } else if used > self.limit {
            Verdict::Long
        } else if !crc::is_valid(whole) {
            Verdict::BadFcs
        } else if whole.len() < 64 {
            Verdict::Short
        } else {
            Verdict::Good
        };
        if verdict == Verdict::Good {
            self.counters.good += 1;
        } else {
            self.counters.bad += 1;
        }
        each(Item::Frame(Received {
            stamp: self.stamp,
            idles: self.idles,
            bytes,
            fcs: *fcs,
            length,
            preamble,
            verdict,
        }));
    }
}
