//! From frames to blocks: preamble, padding, FCS, gaps (Clauses 3, 4, 46 and 49.2.5).

use crate::gap::{Deficit, Rounding, STANDARD};
use crate::xgmii::{Code, Set};
use crate::{Block, MAX_FRAME_LEN, MIN_FRAME_LEN, Sink, Stamp, crc};

/// When a frame starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// This many idles behind the frame before it, the terminate character counted. Fewer than the
    /// encoder's [minimum](Encoder::minimum) mean that minimum.
    After(u64),
    /// Its first byte behind the SFD at this stamp, rounded up to a multiple of 33 bits; or, when
    /// that is too soon, as soon as the minimum allows.
    At(Stamp),
}

/// The least gap that the encoder's minimum allows.
impl Default for Start {
    fn default() -> Start {
        Start::After(0)
    }
}

/// When a frame started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Of the first byte behind the SFD.
    pub stamp: Stamp,
    /// From the frame before it (its terminate character counted) or the stream's start to this
    /// frame's start character, in characters.
    pub idles: u64,
}

/// A frame that is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadFrame {
    /// Nothing, or more than [`MAX_FRAME_LEN`] bytes.
    #[error("a frame of {0} bytes: the line carries 1 to {MAX_FRAME_LEN} bytes without FCS")]
    Length(usize),
}

/// Four characters between frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Codes([Code; 4]),
    Set(Set),
}

impl Column {
    const IDLE: Column = Column::Codes([Code::Idle; 4]);

    /// Its bits in a block, in lane 0 or 4 and on.
    fn bits(self, lane: usize) -> u64 {
        match self {
            Column::Set(set) => set.bits(lane),
            Column::Codes(codes) => (lane..).zip(codes).fold(0, |bits, (lane, code)| {
                bits | u64::from(code.line()) << (8 + 7 * lane)
            }),
        }
    }
}

/// Makes the blocks of a stream, from its start. All blocks are whole; the encoder's own output is
/// always a valid sequence of them (the transmit state machine of figure 49-16 never gets to TX_E,
/// but where an error is asked for).
#[derive(Clone, Debug)]
pub struct Encoder {
    /// Blocks made so far.
    blocks: u64,
    /// The first half of the block that comes next, when that is decided.
    half: Option<Column>,
    /// The last terminate character, in characters from the stream's start.
    end: u64,
    deficit: Deficit,
    minimum: u64,
}

impl Default for Encoder {
    fn default() -> Encoder {
        Encoder::new()
    }
}

impl Encoder {
    /// At the start of a stream, with gaps of 12 at least, and 12 in the mean when frames follow
    /// each other as soon as they can: single gaps are 9 to 15.
    pub const fn new() -> Encoder {
        Encoder {
            blocks: 0,
            half: None,
            end: 0,
            deficit: Deficit::new(Rounding::Deficit),
            minimum: STANDARD,
        }
    }

    /// With another least gap than 12 characters, 1 or more. 8 can be coded as well as 12 can (paper
    /// 002, section 4.3.1); below that the gap may come out longer, since a start needs a new block.
    #[must_use]
    pub const fn minimum(mut self, idles: u64) -> Encoder {
        self.minimum = if idles == 0 { 1 } else { idles };
        self
    }

    /// With another [`Rounding`].
    #[must_use]
    pub const fn rounding(mut self, rounding: Rounding) -> Encoder {
        self.deficit = Deficit::new(rounding);
        self
    }

    /// Where the next character goes.
    pub fn stamp(&self) -> Stamp {
        Stamp::of_character(self.place())
    }

    /// Blocks made so far.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// In characters from the stream's start.
    fn place(&self) -> u64 {
        8 * self.blocks + if self.half.is_some() { 4 } else { 0 }
    }

    /// A frame without FCS: it is padded to 60 bytes, and the FCS added.
    ///
    /// # Errors
    /// Nothing is sent when it is empty or longer than [`MAX_FRAME_LEN`].
    pub fn frame(
        &mut self,
        bytes: &[u8],
        start: Start,
        out: &mut impl Sink,
    ) -> Result<Sent, BadFrame> {
        if bytes.is_empty() || bytes.len() > MAX_FRAME_LEN {
            return Err(BadFrame::Length(bytes.len()));
        }
        let sent = self.start(start, out);
        let mut padded = [0; MIN_FRAME_LEN];
        let bytes = if bytes.len() < MIN_FRAME_LEN {
            padded[..bytes.len()].copy_from_slice(bytes);
            &padded[..]
        } else {
            bytes
        };
        self.body(bytes, Some(crc::fcs(bytes)), false, out);
        Ok(sent)
    }

    /// A frame as it is, FCS and all, or without: nothing is padded and nothing added. For frames
    /// that are bad by intention.
    ///
    /// # Errors
    /// Nothing is sent when it is empty or longer than [`MAX_FRAME_LEN`] and an FCS.
    pub fn raw(
        &mut self,
        bytes: &[u8],
        start: Start,
        out: &mut impl Sink,
    ) -> Result<Sent, BadFrame> {
        if bytes.is_empty() || bytes.len() > MAX_FRAME_LEN + 4 {
            return Err(BadFrame::Length(bytes.len()));
        }
        let sent = self.start(start, out);
        self.body(bytes, None, false, out);
        Ok(sent)
    }

    /// A frame that comes to grief: the bytes as they are, then eight error characters, then the
    /// terminate. Every receiver drops it.
    ///
    /// # Errors
    /// Nothing is sent when it is empty or longer than [`MAX_FRAME_LEN`] and an FCS.
    pub fn aborted(
        &mut self,
        bytes: &[u8],
        start: Start,
        out: &mut impl Sink,
    ) -> Result<Sent, BadFrame> {
        if bytes.is_empty() || bytes.len() > MAX_FRAME_LEN + 4 {
            return Err(BadFrame::Length(bytes.len()));
        }
        let sent = self.start(start, out);
        self.body(bytes, None, true, out);
        Ok(sent)
    }

    /// An ordered set, in the next four characters.
    pub fn set(&mut self, set: Set, out: &mut impl Sink) {
        self.column(Column::Set(set), out);
    }

    /// Four control characters, such as errors.
    pub fn codes(&mut self, codes: [Code; 4], out: &mut impl Sink) {
        self.column(Column::Codes(codes), out);
    }

    /// Idles until the next character is at this stamp or, since blocks are whole, up to a block
    /// later. Does nothing when that is past.
    pub fn idle_until(&mut self, stamp: Stamp, out: &mut impl Sink) {
        self.fill(stamp.0.div_ceil(Stamp::BLOCK) * 8, out);
    }

    /// Idles until the end of the block, if it is begun.
    pub fn flush(&mut self, out: &mut impl Sink) {
        if self.half.is_some() {
            self.column(Column::IDLE, out);
        }
    }

    /// Idles up to a place that is a multiple of four characters.
    fn fill(&mut self, place: u64, out: &mut impl Sink) {
        if self.half.is_some() && self.place() < place {
            self.column(Column::IDLE, out);
        }
        let blocks = (place / 8).saturating_sub(self.blocks);
        if blocks > 0 {
            out.idle(blocks);
            self.blocks += blocks;
        }
        if self.place() < place {
            self.half = Some(Column::IDLE);
        }
    }

    fn column(&mut self, second: Column, out: &mut impl Sink) {
        use crate::block::field;
        let Some(first) = self.half.take() else {
            self.half = Some(second);
            return;
        };
        let kind = match (first, second) {
            (Column::Codes(_), Column::Codes(_)) => field::CONTROL,
            (Column::Codes(_), Column::Set(_)) => field::CONTROL_SET,
            (Column::Set(_), Column::Codes(_)) => field::SET_CONTROL,
            (Column::Set(_), Column::Set(_)) => field::SET_SET,
        };
        self.emit(
            Block::control(u64::from(kind) | first.bits(0) | second.bits(4)),
            out,
        );
    }

    #[inline]
    fn emit(&mut self, block: Block, out: &mut impl Sink) {
        out.block(block);
        self.blocks += 1;
    }

    /// Idles, and the start; then the first byte of the frame goes next, in lane 0, or in lane 4 when
    /// `half` is taken (the rest of the preamble is in front of it).
    fn start(&mut self, start: Start, out: &mut impl Sink) -> Sent {
        let asked = match start {
            Start::After(idles) => idles.max(self.minimum),
            Start::At(_) => self.minimum,
        };
        let mut place = self.deficit.start(self.end, asked);
        if let Start::At(stamp) = start {
            let at = (stamp.0.div_ceil(Stamp::COLUMN) * 4).saturating_sub(8);
            self.deficit.paid(at.saturating_sub(place));
            place = place.max(at);
        }
        // Ordered sets may have gone out meanwhile.
        let place = place.max(self.place());
        self.fill(place, out);
        let sent = Sent {
            stamp: Stamp::of_character(place + 8),
            idles: place - self.end,
        };
        match self.half {
            None => self.emit(Block::START, out),
            Some(Column::Codes(codes)) => {
                let bits = Column::Codes(codes).bits(0);
                self.emit(Block::control(Block::START_4.payload | bits), out);
            }
            Some(Column::Set(set)) => {
                let start = Block::START_4.payload & !0xFF;
                let kind = u64::from(crate::block::field::SET_START);
                self.emit(Block::control(kind | start | set.bits(0)), out);
            }
        }
        sent
    }

    /// Data and terminate blocks.
    #[inline]
    fn body(&mut self, bytes: &[u8], fcs: Option<u32>, error: bool, out: &mut impl Sink) {
        let mut bytes = bytes;
        // What is not in a block yet, and how many bytes: the end of the preamble, the bytes that
        // fill no block, the FCS. Never more than 11.
        let (mut rest, mut count) = (0u128, 0);
        if self.half.take().is_some() {
            (rest, count) = (0xD555_5555, 4);
            if let Some((four, behind)) = bytes.split_first_chunk::<4>() {
                let word = rest as u64 | u64::from(u32::from_le_bytes(*four)) << 32;
                self.emit(Block::data(word.to_le_bytes()), out);
                (rest, count, bytes) = (0, 0, behind);
            }
        }
        let (whole, tail) = bytes.split_at(bytes.len() / 8 * 8);
        if !whole.is_empty() {
            out.data(whole);
            self.blocks += (whole.len() / 8) as u64;
        }
        for &byte in tail {
            rest |= u128::from(byte) << (8 * count);
            count += 1;
        }
        if let Some(fcs) = fcs {
            rest |= u128::from(fcs) << (8 * count);
            count += 4;
        }
        if count >= 8 {
            self.emit(Block::data((rest as u64).to_le_bytes()), out);
            rest >>= 64;
            count -= 8;
        }
        if error {
            self.emit(Block::ERROR, out);
        }
        self.end = 8 * self.blocks + count;
        let kind = crate::block::field::TERMINATE[count as usize];
        self.emit(Block::control((rest as u64) << 8 | u64::from(kind)), out);
    }
}
