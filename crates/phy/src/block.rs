//! 66-bit blocks: the ten kinds of control block and the data block (Clause 49.2.4, figure 49-7).

use crate::xgmii::{Code, Set, SetCode, Xgmii};

/// A block: the two bits of its header as one flag, and 64 bits of payload, not scrambled.
///
/// Bit 0 of the payload goes first on the wire, right behind the header. In a control block the low
/// eight bits are the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    /// Header `10` (control) rather than `01` (data), in the order of the wire.
    pub control: bool,
    /// The 64 bits behind the header.
    pub payload: u64,
}

/// The type fields of control blocks (figure 49-7; paper 002 figure B.2).
pub mod field {
    /// Eight control characters.
    pub const CONTROL: u8 = 0x1E;
    /// Four control characters, then an ordered set.
    pub const CONTROL_SET: u8 = 0x2D;
    /// Four control characters, then a start in lane 4.
    pub const CONTROL_START: u8 = 0x33;
    /// An ordered set, then four control characters.
    pub const SET_CONTROL: u8 = 0x4B;
    /// Two ordered sets.
    pub const SET_SET: u8 = 0x55;
    /// An ordered set, then a start in lane 4.
    pub const SET_START: u8 = 0x66;
    /// A start in lane 0.
    pub const START: u8 = 0x78;
    /// A terminate in lane 0 to 7.
    pub const TERMINATE: [u8; 8] = [0x87, 0x99, 0xAA, 0xB4, 0xCC, 0xD2, 0xE1, 0xFF];
}

/// What a block is by its header and type, whatever stands in its characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Eight bytes of a frame.
    Data,
    /// Eight control characters (0x1E): idle, error.
    Control,
    /// Four control characters and an ordered set (0x2D).
    ControlSet,
    /// Four control characters and a start in lane 4 (0x33).
    ControlStart,
    /// An ordered set and four control characters (0x4B).
    SetControl,
    /// Two ordered sets (0x55).
    SetSet,
    /// An ordered set and a start in lane 4 (0x66).
    SetStart,
    /// A start in lane 0 (0x78).
    Start,
    /// A terminate in this lane, 0 to 7 (0x87, 0x99, 0xAA, 0xB4, 0xCC, 0xD2, 0xE1, 0xFF).
    Terminate(u8),
}

/// What a block is to the receive state machine: R_BLOCK_TYPE of 49.2.13.2.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Control characters without error, or ordered sets.
    Control,
    Start,
    Terminate,
    Data,
    /// None of these: an unknown type, a code or an ordered set that is not in the standard, or an
    /// error character in a block of control characters.
    Error,
}

impl Block {
    /// Eight idle characters, /E/ in paper 002.
    pub const IDLE: Block = Block::control(field::CONTROL as u64);
    /// Eight error characters: EBLOCK of 49.2.13.2.1.
    pub const ERROR: Block = Block::control(0x3C78_F1E3_C78F_1E00 | field::CONTROL as u64);
    /// Two local faults: LBLOCK of 49.2.13.2.1.
    pub const LOCAL_FAULT: Block = Block::control(0x0100_0000_0100_0000 | field::SET_SET as u64);
    /// A start in lane 0, with preamble and SFD.
    pub const START: Block = Block::control(0xD555_5555_5555_5500 | field::START as u64);
    /// Four idles and a start in lane 4, with the preamble's first four characters. The data block
    /// behind it has the rest, and the SFD in lane 3.
    pub const START_4: Block = Block::control(0x5555_5500_0000_0000 | field::CONTROL_START as u64);

    /// A data block; byte 0 goes first.
    pub const fn data(bytes: [u8; 8]) -> Block {
        Block {
            control: false,
            payload: u64::from_le_bytes(bytes),
        }
    }

    /// A control block.
    pub const fn control(payload: u64) -> Block {
        Block {
            control: true,
            payload,
        }
    }

    /// The two bits of the header; bit 0 goes first on the wire.
    pub const fn header(self) -> u8 {
        if self.control { 0b01 } else { 0b10 }
    }

    /// The block behind a header as [`header`](Block::header) gives it; `None` when both bits are
    /// the same, which no header is.
    pub const fn new(header: u8, payload: u64) -> Option<Block> {
        match header {
            0b01 | 0b10 => Some(Block {
                control: header == 0b01,
                payload,
            }),
            _ => None,
        }
    }

    /// A terminate with up to seven bytes before it and idles behind it.
    ///
    /// # Panics
    /// When there are more than seven bytes.
    pub fn terminate(bytes: &[u8]) -> Block {
        let mut payload = [0; 8];
        payload[0] = field::TERMINATE[bytes.len()];
        payload[1..=bytes.len()].copy_from_slice(bytes);
        Block::control(u64::from_le_bytes(payload))
    }

    /// The kind of block; `None` for a type that the standard does not have.
    pub const fn kind(self) -> Option<Kind> {
        if !self.control {
            return Some(Kind::Data);
        }
        Some(match self.payload as u8 {
            field::CONTROL => Kind::Control,
            field::CONTROL_SET => Kind::ControlSet,
            field::CONTROL_START => Kind::ControlStart,
            field::SET_CONTROL => Kind::SetControl,
            field::SET_SET => Kind::SetSet,
            field::SET_START => Kind::SetStart,
            field::START => Kind::Start,
            0x87 => Kind::Terminate(0),
            0x99 => Kind::Terminate(1),
            0xAA => Kind::Terminate(2),
            0xB4 => Kind::Terminate(3),
            0xCC => Kind::Terminate(4),
            0xD2 => Kind::Terminate(5),
            0xE1 => Kind::Terminate(6),
            0xFF => Kind::Terminate(7),
            _ => return None,
        })
    }

    /// What the block is to the receive state machine.
    pub fn class(self) -> Class {
        let Some(kind) = self.kind() else {
            return Class::Error;
        };
        let codes = |mut lanes: core::ops::Range<usize>| {
            // Nearly always all are idle.
            let bits = self.payload.unbounded_shr(8 + 7 * lanes.start as u32);
            bits & ((1 << (7 * lanes.len())) - 1) == 0
                || lanes.all(|lane| self.code(lane).is_some())
        };
        let sets = |low: bool, high: bool| {
            (!low || self.set(0).is_some()) && (!high || self.set(4).is_some())
        };
        let (class, valid) = match kind {
            Kind::Data => (Class::Data, true),
            Kind::Control => {
                let error = |lane| self.code(lane) == Some(Code::Error);
                let idle = self.payload == Block::IDLE.payload;
                (Class::Control, idle || codes(0..8) && !(0..8).any(error))
            }
            Kind::ControlSet => (Class::Control, codes(0..4) && sets(false, true)),
            Kind::SetControl => (Class::Control, codes(4..8) && sets(true, false)),
            Kind::SetSet => (Class::Control, sets(true, true)),
            Kind::ControlStart => (Class::Start, codes(0..4)),
            Kind::SetStart => (Class::Start, sets(true, false)),
            Kind::Start => (Class::Start, true),
            Kind::Terminate(lane) => (Class::Terminate, codes(usize::from(lane) + 1..8)),
        };
        if valid { class } else { Class::Error }
    }

    /// The control character in a lane, where the kind of block has one there; `None` for a code
    /// that table 49-1 does not have.
    pub fn code(self, lane: usize) -> Option<Code> {
        Code::from_line((self.payload >> (8 + 7 * lane)) as u8 & 0x7F)
    }

    /// The ordered set that begins in lane 0 or 4, where the kind of block has one there; `None` for
    /// an O code that table 49-1 does not have.
    pub fn set(self, lane: usize) -> Option<Set> {
        let [_, a, b, c, codes, d, e, f] = self.payload.to_le_bytes();
        if lane == 0 {
            Set::from_line(codes & 0xF, [a, b, c])
        } else {
            Set::from_line(codes >> 4, [d, e, f])
        }
    }

    /// The eight characters; `None` for a block of [`Class::Error`]. (A block of control characters
    /// with errors among them is of that class: its characters are in [`code`](Block::code).)
    pub fn decode(self) -> Option<Xgmii> {
        if self.class() == Class::Error {
            return None;
        }
        let bytes = self.payload.to_le_bytes();
        let mut raw = Xgmii::IDLE;
        let codes = |raw: &mut Xgmii, lanes: core::ops::Range<usize>| {
            for lane in lanes {
                raw.put(
                    lane,
                    self.code(lane).map_or(Code::Error, |code| code).xgmii(),
                );
            }
        };
        let set = |raw: &mut Xgmii, lane: usize| {
            if let Some(set) = self.set(lane) {
                raw.put(lane, set.xgmii());
                raw.fill(lane + 1, &set.data);
            }
        };
        match self.kind()? {
            Kind::Data => raw.fill(0, &bytes),
            Kind::Control => codes(&mut raw, 0..8),
            Kind::ControlSet => {
                codes(&mut raw, 0..4);
                set(&mut raw, 4);
            }
            Kind::ControlStart => {
                codes(&mut raw, 0..4);
                raw.put(4, Xgmii::START);
                raw.fill(5, &bytes[5..]);
            }
            Kind::SetControl => {
                set(&mut raw, 0);
                codes(&mut raw, 4..8);
            }
            Kind::SetSet => {
                set(&mut raw, 0);
                set(&mut raw, 4);
            }
            Kind::SetStart => {
                set(&mut raw, 0);
                raw.put(4, Xgmii::START);
                raw.fill(5, &bytes[5..]);
            }
            Kind::Start => {
                raw.put(0, Xgmii::START);
                raw.fill(1, &bytes[1..]);
            }
            Kind::Terminate(lane) => {
                let lane = usize::from(lane);
                raw.fill(0, &bytes[1..=lane]);
                raw.put(lane, Xgmii::TERMINATE);
                codes(&mut raw, lane + 1..8);
            }
        }
        Some(raw)
    }
}

/// The way back from [`Block::decode`].
impl Xgmii {
    /// The block that stands for these characters; `None` for characters that no block can carry.
    pub fn encode(&self) -> Option<Block> {
        let word = u64::from_le_bytes(self.bytes);
        if self.control == 0 {
            return Some(Block::data(self.bytes));
        }
        let is =
            |lane: usize, character| self.control >> lane & 1 == 1 && self.bytes[lane] == character;
        let start = (self.control & 0xF0 == 0x10 && is(4, Xgmii::START))
            .then_some(word & 0xFFFF_FF00_0000_0000);
        let with = |kind: u8, bits: u64| Some(Block::control(u64::from(kind) | bits));
        if self.control == 1 && is(0, Xgmii::START) {
            return with(field::START, word & !0xFF);
        }
        let lane = self.control.trailing_zeros() as usize;
        if is(lane, Xgmii::TERMINATE) {
            let data =
                word.unbounded_shl(8) & (1u64.unbounded_shl(8 * lane as u32 + 8)).wrapping_sub(1);
            return with(
                field::TERMINATE[lane],
                data & !0xFF | self.codes(lane + 1..8)?,
            );
        }
        if let Some(bits) = self.codes(0..8) {
            return with(field::CONTROL, bits);
        }
        if let Some(low) = self.codes(0..4) {
            if let Some(start) = start {
                return with(field::CONTROL_START, low | start);
            }
            return with(field::CONTROL_SET, low | self.set(4)?);
        }
        let low = self.set(0)?;
        if let Some(start) = start {
            return with(field::SET_START, low | start);
        }
        if let Some(high) = self.codes(4..8) {
            return with(field::SET_CONTROL, low | high);
        }
        with(field::SET_SET, low | self.set(4)?)
    }

    fn code(&self, lane: usize) -> Option<Code> {
        (self.control >> lane & 1 == 1).then(|| Code::from_xgmii(self.bytes[lane]))?
    }

    /// Seven bits for each lane in a range, where they stand in a control block.
    fn codes(&self, mut lanes: core::ops::Range<usize>) -> Option<u64> {
        lanes.try_fold(0, |bits, lane| {
            Some(bits | u64::from(self.code(lane)?.line()) << (8 + 7 * lane))
        })
    }

    /// The O code and data of the ordered set in lane 0 or 4, where they stand in a control block.
    fn set(&self, lane: usize) -> Option<u64> {
        if self.control >> lane & 0xF != 1 {
            return None;
        }
        let code = match self.bytes[lane] {
            Xgmii::SEQUENCE => SetCode::Sequence,
            Xgmii::SIGNAL => SetCode::Signal,
            _ => return None,
        };
        let data = [1, 2, 3].map(|n| self.bytes[lane + n]);
        Some(Set { code, data }.bits(lane))
    }
}
