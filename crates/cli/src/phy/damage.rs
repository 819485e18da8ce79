//! What may happen to bits on the way: errors, bits lost and bits too many.

use anyhow::{Context, ensure};
use node::random::Random;
use std::collections::BTreeMap;

/// A slip: bits too many, or too few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slip {
    /// It happens before the first block at or behind this bit.
    pub at: u64,
    /// How many bits come in, or are left out: -65 to 65, not 0.
    pub bits: i32,
}

impl std::str::FromStr for Slip {
    type Err = anyhow::Error;

    /// `6600+1` or `6600-3`.
    fn from_str(text: &str) -> anyhow::Result<Slip> {
        let wanted =
            || format!("`{text}` is no slip such as 6600+1 or 6600-3: BIT+COUNT or BIT-COUNT");
        let sign = text.rfind(['+', '-']).with_context(wanted)?;
        let (at, bits) = text.split_at(sign);
        let slip = Slip {
            at: at.parse().with_context(wanted)?,
            bits: bits.parse().with_context(wanted)?,
        };
        ensure!(
            slip.bits != 0 && slip.bits.abs() < 66,
            "a slip is of 1 to 65 bits, less than a block: `{text}`"
        );
        Ok(slip)
    }
}

/// Which bits turn out wrong, and which blocks are reached by it.
///
/// Blocks are damaged as they are before the scrambler, so that runs of idles out of reach need not be
/// made: a wrong bit on the line is three in what a descrambler gives, the others 39 and 58 bits
/// behind it.
pub struct Damage {
    rate: f64,
    /// xorshift64*, never zero.
    random: Random,
    /// The next wrong bit that was drawn.
    drawn: u64,
    /// Those asked for by place, and slips.
    flips: std::iter::Peekable<std::vec::IntoIter<u64>>,
    slips: BTreeMap<u64, i32>,
    /// What earlier errors do to the payloads to come.
    pending: u128,
    /// Bits turned so far.
    pub flipped: u64,
}

impl Damage {
    /// `rate` is the chance of each bit to be wrong, 0 to 0.5.
    pub fn new(rate: f64, seed: u64, mut flips: Vec<u64>, slips: &[Slip]) -> Damage {
        flips.sort_unstable();
        flips.dedup();
        let mut damage = Damage {
            rate,
            random: Random::new(seed),
            drawn: u64::MAX,
            flips: flips.into_iter().peekable(),
            slips: slips.iter().map(|slip| (slip.at, slip.bits)).collect(),
            pending: 0,
            flipped: 0,
        };
        damage.drawn = damage.draw(0);
        damage
    }

    /// How many whole blocks, from `at` on, nothing happens to.
    pub fn spared(&mut self, at: u64) -> u64 {
        if self.pending != 0 {
            return 0;
        }
        let flip = self.flips.peek().copied().unwrap_or(u64::MAX);
        let slip = self.slips.first_key_value().map_or(u64::MAX, |(at, _)| *at);
        let next = flip.min(self.drawn).min(slip);
        match next {
            u64::MAX => u64::MAX,
            // A slip within a block happens behind it.
            next => next.saturating_sub(at) / phy::file::BLOCK,
        }
    }

    /// The slip that happens before a block at `at`, if any does.
    pub fn slip(&mut self, at: u64) -> Option<i32> {
        let first = self.slips.first_entry()?;
        (*first.key() <= at).then(|| first.remove())
    }

    /// Damages a block at `at`: its sync header, and its payload before the scrambler.
    pub fn block(&mut self, at: u64, header: &mut u8, payload: &mut u64) {
        let end = at + phy::file::BLOCK;
        let mut wrong = 0u128;
        while let Some(flip) = self.flips.next_if(|flip| *flip < end) {
            // One that lies where bits were left out is gone with them.
            if flip >= at {
                wrong ^= 1 << (flip - at);
            }
        }
        while self.drawn < end {
            if self.drawn >= at {
                wrong ^= 1 << (self.drawn - at);
            }
            self.drawn = self.draw(self.drawn.max(at) + 1);
        }
        self.flipped += u64::from(wrong.count_ones());
        *header ^= wrong as u8 & 3;
        let wrong = wrong >> 2;
        self.pending ^= wrong ^ (wrong << 39) ^ (wrong << 58);
        *payload ^= self.pending as u64;
        self.pending >>= 64;
    }

    /// The first wrong bit from `from` on.
    fn draw(&mut self, from: u64) -> u64 {
        from.saturating_add(self.random.good_bits(self.rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use node::random::split_mix;
    use phy::file::scramble;

    #[test]
    fn a_wrong_bit_before_the_scrambler_is_one_on_the_line() {
        for flip in [0, 1, 2, 40, 65, 66, 70, 131, 200] {
            let mut damage = Damage::new(0.0, 1, vec![flip], &[]);
            let (mut clean, mut dirty) = (7, 7);
            let mut wrong = Vec::new();
            for n in 0..6 {
                let payload = split_mix(n, 0);
                let (mut header, mut damaged) = (2, payload);
                damage.block(66 * n, &mut header, &mut damaged);
                let (line, state) = scramble(payload, clean);
                clean = state;
                let (dirty_line, state) = scramble(damaged, dirty);
                dirty = state;
                let header = u128::from(header ^ 2);
                let difference = header | u128::from(line ^ dirty_line) << 2;
                wrong.extend(
                    (0..66)
                        .filter(|bit| difference >> bit & 1 == 1)
                        .map(|bit| 66 * n + bit),
                );
            }
            assert_eq!(wrong, [flip]);
        }
    }

    #[test]
    fn errors_come_as_often_as_asked_for() {
        let mut damage = Damage::new(0.01, 3, vec![], &[]);
        for n in 0..10_000 {
            damage.block(66 * n, &mut 0, &mut 0);
        }
        // 6,600 are expected, with a deviation of 81.
        assert!(damage.flipped.abs_diff(6_600) < 400, "{}", damage.flipped);
    }

    #[test]
    fn what_is_spared_is_counted_in_whole_blocks() {
        let mut damage = Damage::new(0.0, 1, vec![1_000], &["500+1".parse().unwrap()]);
        assert_eq!(damage.spared(0), 7);
        assert_eq!(damage.slip(462), None);
        assert_eq!(damage.slip(528), Some(1));
        assert_eq!(damage.spared(529), 7);
        assert_eq!(Damage::new(0.0, 1, vec![], &[]).spared(5), u64::MAX);
    }

    #[test]
    fn a_slip_says_where_and_which_way() {
        assert_eq!("66-65".parse::<Slip>().unwrap(), Slip { at: 66, bits: -65 });
        for bad in ["", "5", "+1", "5+0", "5-66", "x+1", "5+1+"] {
            assert!(bad.parse::<Slip>().is_err(), "{bad}");
        }
    }
}
