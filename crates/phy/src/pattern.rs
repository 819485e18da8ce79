//! The PRBS31 test pattern (49.2.8): what a link is tested with when there is nothing else to say.

/// Makes the pattern: 1 + x^28 + x^31, every bit inverted. It fills the line, headers and all.
///
/// ```
/// use phy::pattern::{Checker, Prbs31};
/// let (mut pattern, mut checker) = (Prbs31::new(1).unwrap(), Checker::default());
/// let mut words: Vec<u64> = pattern.by_ref().take(1000).collect();
/// words[500] ^= 1 << 17;
/// for word in words {
///     checker.word(word);
/// }
/// assert_eq!(checker.errors(), 3); // the bit itself, and once at each tap
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prbs31 {
    /// The last 64 bits, not inverted yet, the latest on top.
    last: u64,
}

impl Prbs31 {
    /// From the last 31 bits, the latest on top, as they are before they are inverted; `None` for
    /// zero, from which there is no way on.
    pub fn new(state: u32) -> Option<Prbs31> {
        let mut last = u64::from(state) << 33;
        // What must have been before: the rule read backwards.
        for n in (0..33).rev() {
            last |= ((last >> (n + 31) ^ last >> (n + 3)) & 1) << n;
        }
        (last != 0).then_some(Prbs31 { last })
    }
}

impl Iterator for Prbs31 {
    type Item = u64;

    /// The next 64 bits; there is always a next.
    fn next(&mut self) -> Option<u64> {
        // Squared, the rule reaches back 56 and 62 bits: the scrambler's trick.
        let r = self.last >> 8 ^ self.last >> 2;
        self.last = r ^ r << 56 ^ r << 62;
        Some(!self.last)
    }
}

/// Counts errors in the pattern (49.2.12). It needs no start: after 31 bits it agrees with any
/// generator, at any alignment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checker {
    /// The last word, once there is one.
    last: Option<u64>,
    errors: u64,
}

impl Checker {
    /// The next 64 bits of the line. The first ones are only taken for what went before.
    pub fn word(&mut self, word: u64) {
        if let Some(last) = self.last {
            let sum = word ^ (word << 28 | last >> 36) ^ (word << 31 | last >> 33);
            // Three inverted bits sum up to one.
            self.errors += u64::from(sum.count_zeros());
        }
        self.last = Some(word);
    }

    /// Errors so far: three for each wrong bit that is not near another.
    pub fn errors(&self) -> u64 {
        self.errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn words_are_those_of_the_shift_register() {
        assert_eq!(Prbs31::new(0), None);
        for state in [1, 0x7FFF_FFFF, 0x1234_5678] {
            let mut register: VecDeque<bool> = (0..31).rev().map(|n| state >> n & 1 == 1).collect();
            for word in Prbs31::new(state).unwrap().take(200) {
                for n in 0..64 {
                    let bit = register[27] ^ register[30];
                    register.pop_back();
                    register.push_front(bit);
                    assert_eq!(word >> n & 1 == 1, !bit);
                }
            }
        }
    }

    #[test]
    fn the_checker_agrees_at_any_alignment_and_counts_each_wrong_bit_at_its_taps() {
        let words: std::vec::Vec<u64> = Prbs31::new(99).unwrap().take(50).collect();
        for shift in 0..64 {
            let mut checker = Checker::default();
            for pair in words.windows(2) {
                checker.word(pair[0] >> shift | pair[1].unbounded_shl(64 - shift));
            }
            assert_eq!(checker.errors(), 0);
            checker.word(!0);
            assert!(checker.errors() > 0);
        }
        let mut checker = Checker::default();
        for (n, &word) in words.iter().enumerate() {
            checker.word(word ^ u64::from(n % 7 == 3) << n);
        }
        assert_eq!(checker.errors(), 3 * 7);
    }
}
