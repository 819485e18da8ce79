//! What stands above the block: eight XGMII characters, control codes and ordered sets (Clause 46,
//! table 49-1).

/// Eight characters of the XGMII in the order of the wire: two of its transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Xgmii {
    /// Bit `n` set: the character in lane `n` is a control character.
    pub control: u8,
    /// The characters.
    pub bytes: [u8; 8],
}

impl Xgmii {
    /// /S/, which replaces the first byte of the preamble.
    pub const START: u8 = 0xFB;
    /// /T/, behind the last byte of the frame check sequence.
    pub const TERMINATE: u8 = 0xFD;
    /// /Q/, which begins a sequence ordered set.
    pub const SEQUENCE: u8 = 0x9C;
    /// /Fsig/, which begins a signal ordered set.
    pub const SIGNAL: u8 = 0x5C;
    /// Eight idles.
    pub const IDLE: Xgmii = Xgmii {
        control: 0xFF,
        bytes: [0x07; 8],
    };

    /// Sets a control character.
    pub(crate) fn put(&mut self, lane: usize, character: u8) {
        self.control |= 1 << lane;
        self.bytes[lane] = character;
    }

    /// Sets data characters from a lane on.
    pub(crate) fn fill(&mut self, lane: usize, data: &[u8]) {
        for (lane, &byte) in (lane..8).zip(data) {
            self.control &= !(1 << lane);
            self.bytes[lane] = byte;
        }
    }
}

/// A control character that fills lanes between frames (table 49-1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Code {
    /// /I/.
    #[default]
    Idle,
    /// /LI/, low power idle (Clause 78).
    LowPowerIdle,
    /// /E/.
    Error,
    /// /R/ and the other reserved characters, 0 to 5.
    Reserved(u8),
}

/// Table 49-1: the character on the XGMII, the seven bits on the line.
const CODES: [(Code, u8, u8); 9] = [
    (Code::Idle, 0x07, 0x00),
    (Code::LowPowerIdle, 0x06, 0x06),
    (Code::Error, 0xFE, 0x1E),
    (Code::Reserved(0), 0x1C, 0x2D),
    (Code::Reserved(1), 0x3C, 0x33),
    (Code::Reserved(2), 0x7C, 0x4B),
    (Code::Reserved(3), 0xBC, 0x55),
    (Code::Reserved(4), 0xDC, 0x66),
    (Code::Reserved(5), 0xF7, 0x78),
];

impl Code {
    /// From the seven bits in a block.
    pub fn from_line(bits: u8) -> Option<Code> {
        CODES.iter().find(|row| row.2 == bits).map(|row| row.0)
    }

    /// From the character on the XGMII.
    pub fn from_xgmii(character: u8) -> Option<Code> {
        CODES.iter().find(|row| row.1 == character).map(|row| row.0)
    }

    fn row(self) -> (Code, u8, u8) {
        // A reserved character beyond 5 is not in the table; it goes as an error.
        CODES
            .into_iter()
            .find(|row| row.0 == self)
            .unwrap_or(CODES[2])
    }

    /// The seven bits in a block.
    pub fn line(self) -> u8 {
        self.row().2
    }

    /// The character on the XGMII.
    pub fn xgmii(self) -> u8 {
        self.row().1
    }
}

/// Which ordered set (table 49-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SetCode {
    /// /Q/, the sequence ordered set: O code 0x0. Link faults are told by it.
    Sequence,
    /// /Fsig/, the signal ordered set of Fibre Channel: O code 0xF.
    Signal,
}

/// An ordered set: a control character and three bytes, in one column of four lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Set {
    pub code: SetCode,
    /// Its three bytes.
    pub data: [u8; 3],
}

impl Set {
    /// Local fault (46.3.4): the neighbour receives nothing good from its own PHY.
    pub const LOCAL_FAULT: Set = Set::sequence([0, 0, 1]);
    /// Remote fault (46.3.4): the other end tells that it has a local fault.
    pub const REMOTE_FAULT: Set = Set::sequence([0, 0, 2]);
    /// Link interruption (46.3.4).
    pub const LINK_INTERRUPTION: Set = Set::sequence([0, 0, 3]);

    /// A sequence ordered set.
    pub const fn sequence(data: [u8; 3]) -> Set {
        Set {
            code: SetCode::Sequence,
            data,
        }
    }

    /// A signal ordered set.
    pub const fn signal(data: [u8; 3]) -> Set {
        Set {
            code: SetCode::Signal,
            data,
        }
    }

    /// From the four bits of the O code and the three bytes.
    pub(crate) fn from_line(code: u8, data: [u8; 3]) -> Option<Set> {
        match code {
            0x0 => Some(Set::sequence(data)),
            0xF => Some(Set::signal(data)),
            _ => None,
        }
    }

    /// The character on the XGMII.
    pub fn xgmii(self) -> u8 {
        match self.code {
            SetCode::Sequence => Xgmii::SEQUENCE,
            SetCode::Signal => Xgmii::SIGNAL,
        }
    }

    /// Its bits where they stand in a control block, for lane 0 or 4.
    pub(crate) fn bits(self, lane: usize) -> u64 {
        let [a, b, c] = self.data.map(u64::from);
        let code = match self.code {
            SetCode::Sequence => 0x0,
            SetCode::Signal => 0xF,
        };
        let data = a | b << 8 | c << 16;
        if lane == 0 {
            data << 8 | code << 32
        } else {
            code << 36 | data << 40
        }
    }
}
