//! The end of an encoder: blocks, damaged if that was asked for, into a file or as raw bits.

use super::damage::Damage;
use super::order::Order;
use crate::output::Output;
use phy::file::{BLOCK, CONTROL, Header, IDLE, Writer, scramble};
use phy::{Block, Sink};

/// Raw idle blocks that are made before they are written away.
const PIECE: u64 = 10_000;

/// Where blocks go.
pub struct Line {
    out: Output,
    form: Form,
    damage: Damage,
    /// Bits so far.
    at: u64,
    /// Why nothing more can be written. An encoder cannot be told, so it is kept for its caller.
    failure: Option<anyhow::Error>,
}

/// What the stream becomes.
enum Form {
    File(Box<Writer>),
    Raw(Raw),
}

/// The line's bits as they are.
struct Raw {
    order: Order,
    state: u64,
    held: (u8, u32),
}

impl Line {
    /// Into a file with an index.
    pub fn file(mut out: Output, header: &Header, damage: Damage) -> Line {
        let mut writer = Writer::begin(header, out.buffer());
        writer.set_state(phy::file::STATE, out.buffer());
        Line::new(out, Form::File(Box::new(writer)), damage)
    }

    /// As raw bits.
    pub fn raw(out: Output, order: Order, damage: Damage) -> Line {
        let raw = Raw {
            order,
            state: phy::file::STATE,
            held: (0, 0),
        };
        Line::new(out, Form::Raw(raw), damage)
    }

    fn new(out: Output, form: Form, damage: Damage) -> Line {
        Line {
            out,
            form,
            damage,
            at: 0,
            failure: None,
        }
    }

    /// Bits so far.
    pub fn bits(&self) -> u64 {
        self.at
    }

    /// Bits that were turned so far.
    pub fn flipped(&self) -> u64 {
        self.damage.flipped
    }

    /// Bits that belong to no block.
    pub fn loose(&mut self, bits: u64, count: u32) {
        self.at += u64::from(count);
        self.form.bits(bits, count, self.out.buffer());
    }

    /// Writes away what there is a block of.
    ///
    /// # Errors
    /// Those of writing.
    pub fn relieve(&mut self) -> anyhow::Result<()> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        self.out.relieve()
    }

    /// Writes away all that there is.
    ///
    /// # Errors
    /// Those of writing.
    pub fn flush(&mut self) -> anyhow::Result<()> {
        self.relieve()?;
        if let Form::File(writer) = &mut self.form {
            writer.flush(self.out.buffer());
        }
        self.out.flush()
    }

    /// The end of the stream; what it went to is still to be finished.
    ///
    /// # Errors
    /// Those of writing.
    pub fn end(mut self) -> anyhow::Result<Output> {
        self.relieve()?;
        match self.form {
            Form::File(writer) => {
                writer.finish(self.out.buffer());
            }
            Form::Raw(raw) => raw.order.finish(raw.held, self.out.buffer()),
        }
        Ok(self.out)
    }

    /// A block that may be damaged.
    fn exposed(&mut self, mut header: u8, mut payload: u64) {
        let slip = self.damage.slip(self.at);
        if let Some(count @ 1..) = slip {
            let count = count.unsigned_abs();
            self.loose(0x5555_5555_5555_5555, count.min(64));
            self.loose(0, count.saturating_sub(64));
        }
        self.damage.block(self.at, &mut header, &mut payload);
        match slip {
            Some(count @ ..0) => {
                let lost = count.unsigned_abs();
                let count = BLOCK as u32 - lost;
                self.form.cut(header, payload, lost, self.out.buffer());
                self.at += u64::from(count);
            }
            _ => {
                self.form.block(header, payload, self.out.buffer());
                self.at += BLOCK;
            }
        }
    }

    /// Idles that nothing happens to.
    fn idles(&mut self, mut count: u64) {
        self.at += count * BLOCK;
        if let Form::File(writer) = &mut self.form {
            return writer.idles(count, self.out.buffer());
        }
        while count > 0 && self.failure.is_none() {
            let some = count.min(PIECE);
            count -= some;
            for _ in 0..some {
                self.form.block(CONTROL, IDLE, self.out.buffer());
            }
            self.failure = self.out.relieve().err();
        }
    }
}

impl Sink for Line {
    #[inline]
    fn block(&mut self, block: Block) {
        if self.damage.spared(self.at) == 0 {
            return self.exposed(block.header(), block.payload);
        }
        self.at += BLOCK;
        self.form
            .block(block.header(), block.payload, self.out.buffer());
    }

    fn idle(&mut self, mut blocks: u64) {
        while blocks > 0 {
            match self.damage.spared(self.at).min(blocks) {
                0 => {
                    self.exposed(CONTROL, IDLE);
                    blocks -= 1;
                }
                some => {
                    self.idles(some);
                    blocks -= some;
                }
            }
        }
    }
}

impl Form {
    #[inline]
    fn block(&mut self, header: u8, payload: u64, out: &mut Vec<u8>) {
        match self {
            Form::File(writer) => writer.block(header, payload, out),
            Form::Raw(raw) => {
                let (line, state) = scramble(payload, raw.state);
                raw.state = state;
                raw.order.append(header.into(), 2, &mut raw.held, out);
                raw.order.append(line, 64, &mut raw.held, out);
            }
        }
    }

    fn bits(&mut self, bits: u64, count: u32, out: &mut Vec<u8>) {
        match self {
            Form::File(writer) => writer.bits(bits, count, out),
            Form::Raw(raw) => raw.order.append(bits, count, &mut raw.held, out),
        }
    }

    /// A block whose first bits are lost.
    fn cut(&mut self, header: u8, payload: u64, lost: u32, out: &mut Vec<u8>) {
        let state = match self {
            Form::File(writer) => writer.state(),
            Form::Raw(raw) => raw.state,
        };
        let (line, state) = scramble(payload, state);
        let rest = (u128::from(header) | u128::from(line) << 2) >> lost;
        let count = BLOCK as u32 - lost;
        self.bits(rest as u64, count.min(64), out);
        if count > 64 {
            self.bits((rest >> 64) as u64, count - 64, out);
        }
        match self {
            Form::File(writer) => writer.set_state(state, out),
            Form::Raw(raw) => raw.state = state,
        }
    }
}
