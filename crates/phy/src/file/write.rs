//! Writing.

use super::index::{END, Entry, PART};
use super::segment::{HEADERS, LITERAL, MAX_LITERAL_BLOCKS};
use super::{BLOCK, CONTROL, HEADER, Header, IDLE, Leap, MAGIC, SEGMENT, VERSION};
use super::{is_start, kind, scramble};
use crate::crc;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Bytes of content at which a segment ends.
const FULL: usize = 64 << 10;

/// Writes one file: what it appends to `out` is whole segments, for the caller to write away.
///
/// The same stream gives the same bytes on every machine. Between two calls that append, it keeps at
/// most a segment and a part of the index, 200 kB.
pub struct Writer {
    leap: Box<Leap>,
    /// Bytes of the file so far.
    offset: u64,
    /// Bits of the stream so far.
    bits: u64,
    /// Frames begun so far.
    starts: u64,
    /// The scrambler's state behind the last block.
    state: u64,
    /// What the segment had before it, and its content so far.
    begun: Begun,
    content: Vec<u8>,
    /// Idle blocks that are not in the content yet; then literal ones are.
    idles: u64,
    headers: Vec<u64>,
    payloads: Vec<u64>,
    /// Bits of no block.
    loose: Vec<u8>,
    index: Vec<Entry>,
    /// Where the part of the index before is; zero for none.
    previous: u64,
}

/// The counts at the beginning of a segment.
#[derive(Clone, Copy, Default)]
struct Begun {
    bits: u64,
    starts: u64,
    state: u64,
}

impl Writer {
    /// Appends the header.
    pub fn begin(header: &Header, out: &mut Vec<u8>) -> Writer {
        out.extend(MAGIC);
        out.extend(VERSION.to_le_bytes());
        out.extend((HEADER as u32).to_le_bytes());
        out.extend(header.rate.max(1).to_le_bytes());
        out.extend(header.start_ps.to_le_bytes());
        out.extend(header.epoch_ns.to_le_bytes());
        Writer {
            leap: Box::default(),
            offset: HEADER as u64,
            bits: 0,
            starts: 0,
            state: 0,
            begun: Begun::default(),
            content: Vec::with_capacity(FULL + 40_000),
            idles: 0,
            headers: Vec::with_capacity(MAX_LITERAL_BLOCKS / HEADERS),
            payloads: Vec::with_capacity(MAX_LITERAL_BLOCKS),
            loose: Vec::new(),
            index: Vec::with_capacity(PART),
            previous: 0,
        }
    }

    /// Bits of the stream so far.
    pub fn position(&self) -> u64 {
        self.bits
    }

    /// The scrambler's state behind the last block.
    pub fn state(&self) -> u64 {
        self.state
    }

    /// Sets the scrambler's state before the next block: of a stream that was captured, at its first
    /// block and wherever bits of no block stood.
    pub fn set_state(&mut self, state: u64, out: &mut Vec<u8>) {
        self.flush(out);
        self.state = state & super::STATE;
        self.begun.state = self.state;
    }

    /// Appends so many idle blocks, which cost eight bytes in all.
    pub fn idles(&mut self, count: u64, out: &mut Vec<u8>) {
        if count == 0 {
            return;
        }
        self.end_bits(out);
        self.end_literal(out);
        self.state = self.leap.state(self.state, count);
        self.idles += count;
        self.bits = self.bits.saturating_add(count.saturating_mul(BLOCK));
    }

    /// Appends a block: its sync header, of which only two bits count, and its payload before the
    /// scrambler. A sound idle block is counted with those beside it.
    #[inline]
    pub fn block(&mut self, header: u8, payload: u64, out: &mut Vec<u8>) {
        let header = header & 3;
        if header == CONTROL && payload == IDLE {
            return self.idles(1, out);
        }
        if !self.loose.is_empty() {
            self.end_bits(out);
        }
        self.end_idles();
        let at = self.payloads.len() % HEADERS;
        if at == 0 {
            self.headers.push(0);
        }
        if let Some(word) = self.headers.last_mut() {
            *word |= u64::from(header) << (2 * at);
        }
        self.payloads.push(payload);
        self.starts += u64::from(is_start(header, payload));
        self.state = scramble(payload, self.state).1;
        self.bits += BLOCK;
        if self.payloads.len() == MAX_LITERAL_BLOCKS {
            self.end_literal(out);
        }
    }

    /// Appends up to 64 bits that belong to no block, as they are on the line, bit 0 first.
    pub fn bits(&mut self, bits: u64, count: u32, out: &mut Vec<u8>) {
        if self.loose.is_empty() {
            self.flush(out);
        }
        for at in 0..count.min(64) {
            let place = self.bits - self.begun.bits;
            if place.is_multiple_of(8) {
                self.loose.push(0);
            }
            if let Some(byte) = self.loose.last_mut() {
                *byte |= ((bits >> at & 1) as u8) << (place % 8);
            }
            self.bits += 1;
        }
        if self.loose.len() >= FULL {
            self.end_bits(out);
        }
    }

    /// Ends the segment, so that all that was given is in `out`.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        self.end_bits(out);
        self.end_literal(out);
        self.end_idles();
        self.end_blocks(out);
    }

    /// Ends the file with its index. Returns the file's length in bytes.
    pub fn finish(mut self, out: &mut Vec<u8>) -> u64 {
        self.flush(out);
        self.end_index(out);
        out.extend(self.previous.to_le_bytes());
        out.extend(END);
        self.offset + super::TRAILER as u64
    }

    fn end_idles(&mut self) {
        if self.idles > 0 {
            self.content.extend(self.idles.to_le_bytes());
            self.idles = 0;
        }
    }

    fn end_literal(&mut self, out: &mut Vec<u8>) {
        if self.payloads.is_empty() {
            return;
        }
        let word = LITERAL | self.payloads.len() as u64;
        self.content.extend(word.to_le_bytes());
        for word in self.headers.iter().chain(&self.payloads) {
            self.content.extend(word.to_le_bytes());
        }
        self.headers.clear();
        self.payloads.clear();
        if self.content.len() >= FULL {
            self.end_blocks(out);
        }
    }

    fn end_blocks(&mut self, out: &mut Vec<u8>) {
        let content = core::mem::take(&mut self.content);
        if !content.is_empty() {
            self.segment(kind::BLOCKS, &content, out);
        }
        self.content = content;
        self.content.clear();
        self.begin_segment();
    }

    fn end_bits(&mut self, out: &mut Vec<u8>) {
        if self.loose.is_empty() {
            return;
        }
        let mut loose = core::mem::take(&mut self.loose);
        loose.resize(loose.len().next_multiple_of(8), 0);
        self.segment(kind::BITS, &loose, out);
        self.loose = loose;
        self.loose.clear();
        self.begin_segment();
    }

    fn begin_segment(&mut self) {
        self.begun = Begun {
            bits: self.bits,
            starts: self.starts,
            state: self.state,
        };
    }

    /// Appends a segment of the stream, and its entry.
    fn segment(&mut self, kind: [u8; 4], content: &[u8], out: &mut Vec<u8>) {
        self.index.push(Entry {
            first: self.begun.bits,
            offset: self.offset,
            starts: self.begun.starts,
        });
        let numbers = [
            self.begun.bits,
            self.bits - self.begun.bits,
            self.begun.state,
        ];
        let starts = (self.starts - self.begun.starts) as u32;
        self.append(kind, starts, numbers, content, out);
        if self.index.len() == PART {
            self.end_index(out);
        }
    }

    fn end_index(&mut self, out: &mut Vec<u8>) {
        if self.index.is_empty() {
            return;
        }
        let mut content = Vec::with_capacity(self.index.len() * super::index::ENTRY);
        self.index
            .drain(..)
            .for_each(|entry| entry.write(&mut content));
        let (here, previous) = (self.offset, self.previous);
        self.append(kind::INDEX, 0, [previous, 0, 0], &content, out);
        self.previous = here;
    }

    fn append(
        &mut self,
        kind: [u8; 4],
        starts: u32,
        numbers: [u64; 3],
        content: &[u8],
        out: &mut Vec<u8>,
    ) {
        let begin = out.len();
        out.extend(kind);
        out.extend((content.len() as u32).to_le_bytes());
        out.extend([0; 4]);
        out.extend(starts.to_le_bytes());
        for number in numbers {
            out.extend(number.to_le_bytes());
        }
        out.extend_from_slice(content);
        let check = crc::fcs(&out[begin + 12..]);
        out[begin + 8..begin + 12].copy_from_slice(&check.to_le_bytes());
        self.offset += (SEGMENT + content.len()) as u64;
    }
}
