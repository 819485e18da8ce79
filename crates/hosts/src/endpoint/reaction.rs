//! Congestion marks as a sender hears of them: ECE (RFC 3168 section 6.1.2), or the counts of accurate ECN (RFC 9768 section
//! 3.2.2.5), and the answer CWR.

use super::ecn::{Ace, COUNT_MASK, FIRST_COUNT, Mode};

/// Packets whose marks three bits can count.
const MAX_COUNT: u64 = 7;
/// Packets that an acknowledgement usually reports at most, where one of many means that others were lost. With more the receiver, or the
/// path, thins acknowledgements out, and none is missing (`ACK_COMP_THRESH` of Linux; RFC 9768 section 3.2.2.5.2 leaves it to the sender).
const MAX_USUAL: u64 = 4;
/// Weight of the average, and binary digits of its fraction, as in Linux.
const USUAL_WEIGHT: u64 = 64;
const USUAL_BITS: u32 = 6;
/// Newly delivered packets from which on the share of marked bytes says more than the size of a full segment.
const MIN_SAMPLE: u64 = 16;

/// An acknowledgement, as far as marks are concerned.
#[derive(Clone, Copy)]
pub(super) struct Report {
    /// The three bits.
    pub ace: Ace,
    /// Marked bytes, of the option.
    pub marked: Option<u32>,
    /// Bytes and packets that are known to be delivered only now.
    pub bytes: u64,
    pub packets: u64,
    /// By its timestamp it is newer than what came before it.
    pub is_newer: bool,
}

/// Congestion that an acknowledgement reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// Marked packets; with RFC 3168 all that are delivered, from the first mark until CWR arrives.
    pub packets: u64,
    /// Bytes of them, at most those delivered.
    pub bytes: u64,
}

/// See the [module](self).
pub(super) struct Reaction {
    mode: Mode,
    /// CWR leaves with the next new data.
    answers: bool,
    /// Marked packets so far, with the initial value.
    marked: u64,
    /// Marked bytes so far, modulo 2^24.
    bytes: u32,
    /// Packets that an acknowledgement reports on average, in 64ths.
    usual: u64,
}

impl Reaction {
    pub fn new() -> Reaction {
        Reaction {
            mode: Mode::Off,
            answers: false,
            marked: FIRST_COUNT.into(),
            bytes: 0,
            usual: 0,
        }
    }

    /// The answer to the far end's first segment was marked, as the far end says (RFC 9768 table 4).
    pub fn count_answer(&mut self) {
        self.marked = self.marked.max(u64::from(FIRST_COUNT) + 1);
    }

    pub fn begin(&mut self, mode: Mode) {
        self.mode = mode;
    }

    /// The window has been reduced: the receiver stops its echo.
    pub fn reduced(&mut self) {
        self.answers = self.mode == Mode::Classic;
    }

    /// A reduction has been taken back before the receiver heard of it.
    pub fn withdraw(&mut self) {
        self.answers = false;
    }

    /// Whether new data that leaves has CWR.
    pub fn answer(&mut self) -> bool {
        core::mem::take(&mut self.answers)
    }

    /// Marked packets so far, with the initial value.
    #[cfg(test)]
    pub fn marked(&self) -> u64 {
        self.marked
    }

    /// Marked bytes so far, modulo 2^24.
    #[cfg(test)]
    pub fn marked_bytes(&self) -> u32 {
        self.bytes
    }

    /// Takes an acknowledgement; `mss` is the size of a full segment, in bytes.
    pub fn take(&mut self, report: &Report, mss: u64) -> Marks {
        match self.mode {
            Mode::Classic if report.ace & 1 != 0 => Marks {
                packets: report.packets.max(1),
                bytes: report.bytes,
            },
            // One that reports nothing new may be older than others before it.
            Mode::Accurate if report.bytes > 0 || report.is_newer => self.count(report, mss),
            _ => Marks::default(),
        }
    }

    fn count(&mut self, report: &Report, mss: u64) -> Marks {
        let marked_bytes = report.marked.map(|bytes| self.advance(bytes));
        if report.packets > 0 {
            let new = report.packets << USUAL_BITS;
            let usual = if self.usual == 0 { new } else { self.usual };
            self.usual = (usual * (USUAL_WEIGHT - 1) + new) / USUAL_WEIGHT;
        }
        let is_thinned = self.usual > MAX_USUAL << USUAL_BITS;
        let delta = u64::from(report.ace).wrapping_sub(self.marked) & MAX_COUNT;
        let packets = match report.packets > MAX_COUNT {
            true if marked_bytes.is_none() && is_thinned => delta,
            true => unwrap(delta, report, marked_bytes, mss),
            false => delta,
        };
        self.marked = self.marked.wrapping_add(packets);
        let bytes = marked_bytes.map_or(packets * mss, u64::from);
        Marks {
            packets,
            bytes: bytes.min(report.bytes),
        }
    }

    /// Takes the count of an option; returns by how much it has grown. One that has shrunk is old.
    fn advance(&mut self, bytes: u32) -> u32 {
        let grown = bytes.wrapping_sub(self.bytes) & COUNT_MASK;
        if grown > COUNT_MASK / 2 {
            return 0;
        }
        self.bytes = bytes;
        grown
    }
}

/// Marked packets of more than three bits can count, after acknowledgements were lost. `delta` is known modulo 8. Without the
/// option it is the most that the packets allow (RFC 9768 section 3.2.2.5.2); with it, as in Linux, what the marked bytes allow.
fn unwrap(delta: u64, report: &Report, marked_bytes: Option<u32>, mss: u64) -> u64 {
    let safe = report.packets - ((report.packets - delta) & MAX_COUNT);
    let Some(bytes) = marked_bytes.map(u64::from) else {
        return safe;
    };
    if bytes == 0 {
        return delta;
    }
    if report.packets >= MIN_SAMPLE {
        if bytes >= report.bytes {
            return safe;
        }
        let share = (bytes * report.packets).div_ceil(report.bytes);
        return safe.min(delta + (share & !MAX_COUNT));
    }
    match bytes > delta * mss || bytes * 2 >= safe * mss {
        true => safe,
        false => delta,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(ace: Ace, packets: u64, marked: Option<u32>) -> Report {
        let bytes = packets * 1_000;
        Report {
            ace,
            marked,
            bytes,
            packets,
            is_newer: false,
        }
    }

    fn accurate() -> Reaction {
        let mut reaction = Reaction::new();
        reaction.begin(Mode::Accurate);
        reaction
    }

    #[test]
    fn the_count_goes_round_and_the_option_says_how_often() {
        // Without the option one mark of ten packets counts as nine: it may be that many (RFC 9768 section 3.2.2.5.2).
        let mut reaction = accurate();
        assert_eq!(reaction.take(&report(5, 1, None), 1_000).packets, 0);
        assert_eq!(reaction.take(&report(6, 10, None), 1_000).packets, 9);
        // If all acknowledgements cover this number of packets, none is missing.
        let mut reaction = accurate();
        assert_eq!(reaction.take(&report(6, 10, None), 1_000).packets, 1);
        assert_eq!(reaction.take(&report(6, 10, None), 1_000).packets, 0);
        // With the option it is one.
        let mut reaction = accurate();
        let marks = reaction.take(&report(6, 10, Some(1_000)), 1_000);
        assert_eq!((marks.packets, marks.bytes), (1, 1_000));
        // None of ten by the option: no round is missing.
        let mut reaction = accurate();
        assert_eq!(reaction.take(&report(5, 10, Some(0)), 1_000).packets, 0);
        // Seventeen of forty packets.
        let mut reaction = accurate();
        let marks = reaction.take(&report((5 + 17) & 7, 40, Some(17_000)), 1_000);
        assert_eq!((marks.packets, marks.bytes), (17, 17_000));
        // A count of bytes that shrinks is old; that of the option goes round as well.
        assert_eq!(reaction.advance(16_000), 0);
        assert_eq!(reaction.advance(17_000 + COUNT_MASK / 2), COUNT_MASK / 2);
        assert_eq!(reaction.advance(16_000), COUNT_MASK / 2 - 998);
    }

    #[test]
    fn an_acknowledgement_of_nothing_new_reports_no_marks() {
        let mut reaction = accurate();
        let mut nothing = report(0, 0, Some(5_000));
        nothing.bytes = 0;
        assert_eq!(reaction.take(&nothing, 1_000), Marks::default());
        // Its timestamp says that it is not.
        nothing.ace = 6;
        nothing.is_newer = true;
        assert_eq!(reaction.take(&nothing, 1_000).packets, 1);
        nothing.ace = 5;
        nothing.is_newer = false;
        let mut reaction = accurate();
        assert_eq!(reaction.take(&nothing, 1_000), Marks::default());
        assert_eq!(reaction.take(&report(5, 1, None), 1_000), Marks::default());
    }

    #[test]
    fn any_bits_are_taken_without_overflow() {
        let mut random = node::random::Random::new(1);
        for _ in 0..20 {
            let mut reaction = accurate();
            for _ in 0..10_000 {
                let packets = random.below(2_000);
                let marked = random
                    .chance(0.5)
                    .then(|| random.bits() as u32 & COUNT_MASK);
                let report = report(random.below(8) as Ace, packets, marked);
                let before = reaction.marked;
                let marks = reaction.take(&report, 1 + random.below(9_000));
                assert!(marks.bytes <= report.bytes);
                assert!(marks.packets <= packets.max(7), "{marks:?} of {packets}");
                assert_eq!(reaction.marked - before, marks.packets);
                if packets > 0 {
                    assert_eq!(reaction.marked as u8 & 7, report.ace);
                }
            }
        }
    }
}
