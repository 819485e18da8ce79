//! What a time is in characters and bits of the line.

use node::Rate;

/// Preamble and start delimiter before a frame, and the check sequence after it, bytes.
const PREAMBLE: u64 = 8;
const FCS: u64 = 4;
/// Minimum frame length without FCS, bytes; shorter frames are padded.
const MIN_FRAME_LEN: u32 = 60;
/// Minimum inter-frame gap of the standard, bytes.
const MIN_GAP: u64 = 12;

/// A line of Ethernet, seen from the MAC: frames, and idle characters of a byte between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    rate: Rate,
}

impl Line {
    /// A line of a rate, as the MAC has it: 10 Gb/s, not 10.3125.
    pub fn new(rate: Rate) -> Line {
        Line { rate }
    }

    /// The rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// The time that a frame of `length` bytes without FCS keeps from the next frame, gap left out, in
    /// ps rounded down.
    #[inline]
    pub fn taken_ps(&self, length: u32) -> u64 {
        let bytes = PREAMBLE + u64::from(length.max(MIN_FRAME_LEN)) + FCS;
        self.rate.time_of(8 * bytes, 0).0.as_ps()
    }

    /// The standard's least gap, 12 characters, in ps.
    pub fn least_gap_ps(&self) -> u64 {
        self.rate.time_of(8 * MIN_GAP, 0).0.as_ps()
    }

    /// A time in idle characters, which are bytes: 800 ps at 10 Gb/s.
    pub fn idles(&self, ps: f64) -> f64 {
        ps * self.rate.bits_per_second() as f64 / 8e12
    }

    /// A time in bits of the line: 3200/33 ps at 10 Gb/s.
    pub fn bits(&self, ps: f64) -> f64 {
        let (bits, of) = self.code();
        // In this order it is exact for whole characters.
        ps * self.rate.bits_per_second() as f64 * bits / (of * 1e12)
    }

    /// The rate of the bits of the line, in bits a second: 10.3125e9 at 10 Gb/s.
    pub fn bit_rate(&self) -> f64 {
        let (bits, of) = self.code();
        self.rate.bits_per_second() as f64 * bits / of
    }

    /// The line code: 66 bits for 64 at 10 Gb/s and above (Clauses 49, 82, 107), else the MAC's bits as
    /// they are.
    fn code(&self) -> (f64, f64) {
        match self.rate.bits_per_second() {
            10_000_000_000.. => (33.0, 32.0),
            _ => (1.0, 1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_stream_has_whole_numbers() {
        let line = Line::new(Rate::TEN_GIGABIT);
        assert_eq!(line.taken_ps(1514), (8 + 1514 + 4) * 800);
        assert_eq!(line.taken_ps(14), 57_600);
        assert_eq!(line.idles(136_000.0), 170.0);
        assert_eq!(line.bits(1_356_800.0), 13_992.0);
        assert_eq!(line.bit_rate(), 10.3125e9);
        let gigabit = Line::new("1 Gb/s".parse().unwrap());
        assert_eq!(
            (gigabit.bits(1_000.0), gigabit.idles(96_000.0)),
            (1.0, 12.0)
        );
    }
}
