//! Where the next frame starts: gaps between frames, and the deficit idle count (46.3.1.4).
//!
//! A gap is counted in characters, from the terminate character, which counts, to the start
//! character, which does not. A start stands in lane 0 or 4 only, so a gap that is asked for cannot
//! always be had; what is cut from some gaps is given back in others.

/// The gap between two frames of the standard, in characters.
pub const STANDARD: u64 = 12;

/// What is done when a gap does not end in lane 0 or 4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rounding {
    /// Up to three characters are cut, if not more than three are owed then; else up to three are
    /// added. So the mean is what was asked for: the deficit idle count.
    #[default]
    Deficit,
    /// Characters are added: a gap is never shorter than was asked for.
    Up,
}

/// The deficit idle count: places the starts of frames.
///
/// ```
/// use phy::gap::{Deficit, Rounding};
/// // Frames of 65 bytes with FCS, 12 idles asked for: 85 byte times each, of which 84 can be had.
/// let mut deficit = Deficit::new(Rounding::Deficit);
/// let (mut start, mut gaps) = (0, vec![]);
/// for _ in 0..5 {
///     let end = start + 8 + 65;
///     start = deficit.start(end, 12);
///     gaps.push(start - end);
/// }
/// assert_eq!(gaps, [11, 11, 11, 15, 11]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deficit {
    rounding: Rounding,
    /// Characters owed, 0 to 3.
    owed: u64,
}

impl Deficit {
    /// Nothing owed.
    pub const fn new(rounding: Rounding) -> Deficit {
        Deficit { rounding, owed: 0 }
    }

    /// The place of the next start character, in characters of the stream (lane 0 of block `n` is
    /// `8 * n`): `idles` behind the terminate character at `end`, by the rule of [`Rounding`].
    ///
    /// It is in a later block than `end`, since no block carries a terminate and a start: a gap under
    /// 8 may come out longer for that.
    pub fn start(&mut self, end: u64, idles: u64) -> u64 {
        let wanted = end + idles;
        let rest = wanted % 4;
        let mut start = wanted - rest;
        if rest != 0 && (self.rounding == Rounding::Up || self.owed + rest > 3) {
            start += 4;
            self.owed = (self.owed + rest).saturating_sub(4);
        } else {
            self.owed += rest;
        }
        start.max((end / 8 + 1) * 8)
    }

    /// Idles beyond what was asked for went out: what is owed is paid.
    pub fn paid(&mut self, characters: u64) {
        self.owed = self.owed.saturating_sub(characters);
    }

    /// Characters owed to the line, 0 to 3.
    pub const fn owed(&self) -> u64 {
        self.owed
    }
}

impl Default for Deficit {
    fn default() -> Deficit {
        Deficit::new(Rounding::Deficit)
    }
}
