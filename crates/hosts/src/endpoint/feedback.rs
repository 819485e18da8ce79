//! Feedback of congestion marks by a receiver: RFC 3168 section 6.1.3, DCTCP (RFC 8257 section 3.2), accurate ECN (RFC 9768
//! section 3.2).

use super::ecn::{Ace, Counts, FIRST_COUNT, Mode};
use packet::ecn::{CE, NOT_ECT};

/// Marked packets with data after which an acknowledgement leaves at once (RFC 9768 section 3.2.2.5.1).
const MAX_UNREPORTED: u32 = 2;

/// Acknowledgements that a segment asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Asks {
    /// One leaves at once.
    pub now: bool,
    /// The next segments are acknowledged one by one.
    pub quick: bool,
    /// A delayed one leaves first, without this segment: it echoes the state of those before.
    pub before: bool,
}

/// See the [module](self).
pub(super) struct Feedback {
    mode: Mode,
    /// Every acknowledgement echoes what came last, instead of echoing a mark until CWR.
    is_dctcp: bool,
    /// An ECN-capable packet has come.
    seen: bool,
    echo: bool,
    /// Marked packets, from an initial value, modulo 256.
    marked: u8,
    bytes: Counts,
    /// Codepoint of the last packet.
    last: u8,
    /// Marked packets with data since the last acknowledgement.
    unreported: u32,
    /// Fields that the option needs for the counts that have changed since it left last.
    fields: usize,
}

impl Feedback {
    pub fn new(is_dctcp: bool) -> Feedback {
        Feedback {
            mode: Mode::Off,
            is_dctcp,
            seen: false,
            echo: false,
            marked: FIRST_COUNT,
            bytes: Counts::new(),
            last: NOT_ECT,
            unreported: 0,
            fields: 0,
        }
    }

    pub fn begin(&mut self, mode: Mode) {
        self.mode = mode;
    }

    /// Counts the answer to the own first segment, if it was marked (RFC 9768 section 3.2.2.1).
    pub fn take_answer(&mut self, codepoint: u8) {
        if self.mode == Mode::Accurate && codepoint == CE {
            self.marked = self.marked.wrapping_add(1);
        }
    }

    /// Takes an acceptable segment with its three bits, the codepoint of its packet, and its bytes of data.
    pub fn take(&mut self, ace: Ace, codepoint: u8, data: usize) -> Asks {
        match self.mode {
            Mode::Off => Asks::default(),
            Mode::Classic if data == 0 => Asks::default(),
            Mode::Classic if self.is_dctcp => self.take_dctcp(codepoint),
            Mode::Classic => self.take_classic(ace, codepoint),
            Mode::Accurate => self.count(codepoint, data),
        }
    }

    fn take_classic(&mut self, ace: Ace, codepoint: u8) -> Asks {
        let is_answered = ace & 2 != 0;
        self.echo &= !is_answered;
        let is_new = codepoint == CE && !self.echo;
        self.echo |= is_new;
        // As in Linux: among capable packets one that is not is likely to be a retransmission.
        let is_resent = codepoint == NOT_ECT && self.seen;
        self.seen |= codepoint != NOT_ECT;
        Asks {
            // The window of the far end may be that of one segment now.
            now: is_answered,
            quick: is_new || is_resent,
            before: false,
        }
    }

    fn take_dctcp(&mut self, codepoint: u8) -> Asks {
        // Linux leaves the state as it is for a packet that cannot be marked.
        let changes = codepoint != NOT_ECT && (codepoint == CE) != self.echo;
        Asks {
            now: changes,
            quick: false,
            before: changes,
        }
    }

    /// The state of DCTCP changes: after the acknowledgement of what came before.
    pub fn change(&mut self) {
        self.echo = !self.echo;
    }

    fn count(&mut self, codepoint: u8, data: usize) -> Asks {
        self.bytes.add(codepoint, data as u32);
        if data > 0 {
            self.fields = self.fields.max(self.bytes.place(codepoint));
        }
        let is_marked = codepoint == CE;
        self.marked = self.marked.wrapping_add(u8::from(is_marked));
        self.unreported += u32::from(is_marked && data > 0);
        let changes = core::mem::replace(&mut self.last, codepoint) != codepoint;
        // An acknowledgement of an acknowledgement could go on forever: what has no data waits.
        Asks {
            now: data > 0 && (changes || self.unreported >= MAX_UNREPORTED),
            ..Asks::default()
        }
    }

    /// The three bits of a segment that leaves, after the handshake.
    pub fn ace(&mut self) -> Ace {
        self.unreported = 0;
        match self.mode {
            Mode::Off => 0,
            Mode::Classic => u8::from(self.echo),
            Mode::Accurate => self.marked & 7,
        }
    }

    /// Whether acknowledgements have the option of accurate ECN.
    pub fn has_option(&self) -> bool {
        self.mode == Mode::Accurate
    }

    /// Bytes that the option needs for the counts that have changed; 0 if none has.
    pub fn least(&self) -> usize {
        if self.fields == 0 {
            0
        } else {
            2 + 3 * self.fields
        }
    }

    /// The option, of at most `room` bytes, and its length: 0 if what has changed does not fit.
    pub fn option(&mut self, room: usize) -> ([u8; 11], usize) {
        let (option, length) = self.bytes.option(room);
        if length < self.least() {
            return (option, 0);
        }
        self.fields = 0;
        (option, length)
    }

    /// Count of marked packets, with its initial value, modulo 256.
    #[cfg(test)]
    pub fn marked(&self) -> u8 {
        self.marked
    }
}
