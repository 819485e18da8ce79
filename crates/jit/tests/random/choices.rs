//! Where choices come from.

use p4::value::Bits;

/// Where choices come from.
pub struct Choices<'a> {
    /// Used first, each byte once.
    bytes: &'a [u8],
    state: u64,
}

impl<'a> Choices<'a> {
    pub fn new(bytes: &'a [u8], seed: u64) -> Self {
        Choices { bytes, state: seed }
    }

    pub fn next(&mut self) -> u64 {
        if let Some((first, rest)) = self.bytes.split_first() {
            self.bytes = rest;
            return u64::from(*first);
        }
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
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
