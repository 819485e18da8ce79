//! Explicit congestion notification: how two ends agree on it (RFC 3168 section 6.1.1, RFC 9768 section 3.1), and how
//! the three bits AE, CWR and ECE of a header are read.
//!
//! In the mode [`Mode::Classic`] the bits are flags: ECE echoes a mark until CWR answers it (RFC 3168). In the mode
//! [`Mode::Accurate`] they are a number, ACE: the count of marked packets modulo 8 (RFC 9768 section 3.2.2), and an option
//! has counts of bytes, see [`Counts`].

use packet::ecn::{CE, ECT_0, ECT_1, NOT_ECT};
use packet::tcp::flag::{CWR, ECE};

/// Use of explicit congestion notification by a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Ecn {
    /// None: neither asks for it nor agrees to it.
    Off,
    /// Does not ask for it. Agrees to what the far end asks for, RFC 3168 or RFC 9768.
    #[default]
    Passive,
    /// Asks for ECN of RFC 3168, and agrees to no other.
    On,
    /// Asks for accurate ECN (RFC 9768); takes ECN of RFC 3168 if the far end knows no other.
    Accurate,
    /// As `Accurate`, and sends ECT(1) in place of ECT(0) once accurate ECN is agreed on (RFC 9331 section 4.1). It
    /// belongs to a scalable congestion control, such as DCTCP.
    L4s,
}

impl Ecn {
    fn is_accurate(self) -> bool {
        matches!(self, Ecn::Accurate | Ecn::L4s)
    }
}

/// Feedback that two ends have agreed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// None: packets are not ECN-capable.
    #[default]
    Off,
    /// RFC 3168.
    Classic,
    /// RFC 9768.
    Accurate,
}

/// The bits AE, CWR and ECE as a number from 0 to 7.
pub(super) type Ace = u8;

/// A first segment that asks for ECN of RFC 3168, and one that asks for accurate ECN.
const ASKS_CLASSIC: Ace = 0b011;
const ASKS_ACCURATE: Ace = 0b111;
/// First segments that ask for accurate ECN before it is left out, as in Linux (RFC 9768 section 3.1.4.1). Those for RFC 3168
/// leave it out when they are sent again (RFC 3168 section 6.1.1.1).
const ACCURATE_TRIES: u32 = 2;
const CLASSIC_TRIES: u32 = 1;
/// An answer to be read as if the codepoint had arrived as it was sent (RFC 9768 section 3.1.3).
const RESERVED: Ace = 0b101;
/// Initial value of the count of marked packets (RFC 9768 section 3.2.1).
pub(super) const FIRST_COUNT: u8 = 5;

/// The flags and the AE bit of a header with this number in its three bits.
pub(super) fn flags(ace: Ace) -> (u8, bool) {
    let flag = |bit: Ace, flag: u8| if ace & bit == 0 { 0 } else { flag };
    (flag(1, ECE) | flag(2, CWR), ace & 4 != 0)
}

/// The number in the three bits of a header.
pub(super) fn ace(flags: u8, accurate: bool) -> Ace {
    u8::from(accurate) << 2 | u8::from(flags & CWR != 0) << 1 | u8::from(flags & ECE != 0)
}

/// The codepoint of a first segment, as the answer to it says (RFC 9768 table 2 and 3).
fn reflection(codepoint: u8) -> Ace {
    match codepoint {
        NOT_ECT => 0b010,
        ECT_1 => 0b011,
        ECT_0 => 0b100,
        _ => 0b110,
    }
}

/// Agreement of two ends.
#[derive(Clone, Copy, Default)]
pub(super) struct Agreement {
    setting: Ecn,
    /// The own congestion control is DCTCP.
    is_dctcp: bool,
    /// The three bits of the own first segment.
    asked: Ace,
    pub mode: Mode,
    /// The codepoint of the far end's first segment, which is reflected.
    first: u8,
    /// The path has changed bits of a first segment: packets are not ECN-capable (RFC 9768 section 3.2.2.3).
    mangled: bool,
}

impl Agreement {
    /// DCTCP asks for ECN, if that is not switched off.
    pub fn new(setting: Ecn, is_dctcp: bool) -> Agreement {
        let setting = match setting {
            Ecn::Passive if is_dctcp => Ecn::On,
            other => other,
        };
        Agreement {
            setting,
            is_dctcp,
            ..Agreement::default()
        }
    }

    /// The three bits of the own first segment, for the attempt `tries`, from 1.
    pub fn ask(&mut self, tries: u32) -> Ace {
        let (asks, most) = match self.setting {
            Ecn::Off | Ecn::Passive => (0, 0),
            Ecn::On => (ASKS_CLASSIC, CLASSIC_TRIES),
            Ecn::Accurate | Ecn::L4s => (ASKS_ACCURATE, ACCURATE_TRIES),
        };
        // An answer to the first may come after the second has left.
        self.asked |= asks;
        if tries <= most { asks } else { 0 }
    }

    /// Takes the three bits of the far end's first segment, and its codepoint.
    pub fn take_first(&mut self, ace: Ace, codepoint: u8) {
        self.first = codepoint;
        // Both ends have opened the connection: each knows the mode only if both have asked.
        let setting = match self.asked {
            0 => self.setting,
            _ if self.setting.is_accurate() => Ecn::Accurate,
            _ => Ecn::On,
        };
        // Linux takes a capable codepoint for the sign of a path that breaks it. DCTCP's first segments have one there (RFC 8257
        // section 3.6).
        let is_broken = codepoint != NOT_ECT && !self.is_dctcp;
        self.mode = match ace {
            0 => Mode::Off,
            ASKS_CLASSIC if setting == Ecn::Off || is_broken => Mode::Off,
            ASKS_CLASSIC => Mode::Classic,
            _ => match setting {
                Ecn::Off => Mode::Off,
                Ecn::On if ace == ASKS_ACCURATE => Mode::Classic,
                Ecn::On => Mode::Off,
                // RFC 9768 section 3.1.2: the other combinations too.
                Ecn::Passive | Ecn::Accurate | Ecn::L4s => Mode::Accurate,
            },
        };
    }

    /// The two ends have opened the connection at the same time, and this one has not asked.
    pub fn forgo(&mut self) {
        if self.asked == 0 {
            self.mode = Mode::Off;
        }
    }

    /// Takes the three bits and the codepoint of a first segment of the far end that is sent again: the last one is reflected. One that does
    /// not ask for ECN any more leaves the mode as it is, but the path may drop what is capable (RFC 9768 sections 3.1.4.1 and 3.1.5).
    pub fn take_again(&mut self, ace: Ace, codepoint: u8) {
        if self.mode == Mode::Accurate {
            self.first = codepoint;
            self.mangled |= ace == 0;
        }
    }

    /// The three bits of the answer to the far end's first segment, for the attempt `tries`, from 1. After two that were lost the path may
    /// drop what has bits for ECN (RFC 9768 section 3.1.4.2).
    pub fn answer(&mut self, tries: u32) -> Ace {
        match self.mode {
            Mode::Off => 0,
            Mode::Classic => 1,
            Mode::Accurate if tries > ACCURATE_TRIES => {
                self.mangled = true;
                0
            }
            Mode::Accurate => reflection(self.first),
        }
    }

    /// The three bits of an acknowledgement that ends the handshake, in the mode [`Mode::Accurate`].
    pub fn reflection(&self) -> Ace {
        reflection(self.first)
    }

    /// Takes the three bits of the answer to the own first segment, and its codepoint (RFC 9768 table 2).
    pub fn take_answer(&mut self, ace: Ace, codepoint: u8) {
        self.first = codepoint;
        self.mode = match (self.asked, ace) {
            (0, _) | (_, 0b000 | 0b111) => Mode::Off,
            (_, 0b001) | (ASKS_CLASSIC, RESERVED) => Mode::Classic,
            (ASKS_ACCURATE, _) => Mode::Accurate,
            _ => Mode::Off,
        };
        let is_right = ace == reflection(NOT_ECT) || ace == RESERVED;
        self.mangled = self.mode == Mode::Accurate && !is_right;
    }

    /// The far end has sent its answer again, in a packet with this codepoint: the last one is reflected.
    pub fn reflect(&mut self, codepoint: u8) {
        self.first = codepoint;
    }

    /// Takes the three bits of the acknowledgement that ends the handshake; it has no data (RFC 9768 table 4). `true` if by them the own
    /// answer was marked.
    pub fn take_reflection(&mut self, ace: Ace) -> bool {
        let is_accurate = self.mode == Mode::Accurate;
        // Own first segments are not ECN-capable, and no path makes them so. The odd numbers are not in use.
        let is_right = matches!(ace, 0b010 | 0b001 | 0b101 | 0b111);
        self.mangled |= is_accurate && !is_right;
        is_accurate && ace == reflection(CE)
    }

    /// The codepoint of ECN-capable packets.
    pub fn codepoint(&self) -> u8 {
        match (self.mode, self.setting) {
            (Mode::Off, _) => NOT_ECT,
            (Mode::Accurate, _) if self.mangled => NOT_ECT,
            (Mode::Accurate, Ecn::L4s) => ECT_1,
            _ => ECT_0,
        }
    }
}

/// Kinds of the option: with the bytes that came as ECT(0) first, and with those as ECT(1) first.
const KINDS: [u8; 2] = [172, 174];
/// Initial counts of bytes that came as ECT(1), as ECT(0), and marked (RFC 9768 section 3.2.1).
const FIRST_BYTES: [u32; 3] = [1, 1, 0];
/// Counts have 24 bits.
pub(super) const COUNT_MASK: u32 = 0xFF_FFFF;

/// Bytes of data that came, by the codepoint of their packets, modulo 2^24 (RFC 9768 section 3.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts([u32; 3]);

impl Counts {
    pub fn new() -> Counts {
        Counts(FIRST_BYTES)
    }

    /// Counts `bytes` of a packet with this codepoint.
    pub fn add(&mut self, codepoint: u8, bytes: u32) {
        if codepoint != NOT_ECT {
            let count = &mut self.0[usize::from(codepoint) - 1];
            *count = count.wrapping_add(bytes) & COUNT_MASK;
        }
    }

    /// The place of a codepoint's count in the option, from 1; 0 if it has none.
    pub fn place(&self, codepoint: u8) -> usize {
        let has_one = self.0[0] != FIRST_BYTES[0];
        match codepoint {
            NOT_ECT => 0,
            CE => 2,
            _ if (codepoint == ECT_1) == has_one => 1,
            _ => 3,
        }
    }

    /// The option, of at most `room` bytes, and its length: the count that changes first, then the marked bytes, then the rest.
    pub fn option(&self, room: usize) -> ([u8; 11], usize) {
        let [one, zero, marked] = self.0;
        // Packets of one end are either: ECT(1) comes first once any has come.
        let first = usize::from(one != FIRST_BYTES[0]);
        let fields = match first {
            0 => [zero, marked, one],
            _ => [one, marked, zero],
        };
        let length = match room {
            11.. => 11,
            8..=10 => 8,
            5..=7 => 5,
            2..=4 => 2,
            _ => 0,
        };
        let mut option = [0; 11];
        (option[0], option[1]) = (KINDS[first], length as u8);
        for (place, field) in option[2..].chunks_exact_mut(3).zip(fields) {
            place.copy_from_slice(&field.to_be_bytes()[1..]);
        }
        (option, length)
    }

    /// The count of marked bytes in an option; `None` when it has none, or is another option.
    pub fn marked(kind: u8, value: &[u8]) -> Option<u32> {
        match (KINDS.contains(&kind), value) {
            (true, &[_, _, _, a, b, c, ..]) => Some(u32::from_be_bytes([0, a, b, c])),
            _ => None,
        }
    }
}
