//! The source of choices.

use node::random::Random;
use p4::value::Bits;

/// Bytes of a fuzzer, then random numbers.
pub struct Choices<'a> {
    /// Used first, each byte once.
    bytes: &'a [u8],
    random: Random,
}

impl<'a> Choices<'a> {
    pub fn new(bytes: &'a [u8], seed: u64) -> Self {
        Choices {
            bytes,
            random: Random::new(seed),
        }
    }

    pub fn next(&mut self) -> u64 {
        if let Some((first, rest)) = self.bytes.split_first() {
            self.bytes = rest;
            return u64::from(*first);
        }
        self.random.bits()
    }

    pub fn below(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }

    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub fn pick<'b, T>(&mut self, list: &'b [T]) -> &'b T {
        &list[self.below(list.len())]
    }

    pub fn bits(&mut self, width: u32) -> Bits {
        let limbs: Vec<u64> = (0..width.div_ceil(64).max(1))
            .map(|_| match self.below(6) {
                0 => 0,
                1 => u64::MAX,
                2 => 1 << self.below(64),
                3 => self.next() & 0xFF,
                _ => {
                    // A byte of the fuzzer's is not enough.
                    let more = self.next();
                    more.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ self.next()
                }
            })
            .collect();
        Bits::from_limbs(width, &limbs)
    }
}
