//! A Bloom filter with two bits of one word for a value.

use alloc::vec::Vec;

/// Which hashes may have been seen. It never says no of one that has.
#[derive(Clone, Debug)]
pub(super) struct Bloom(Vec<u64>);

impl Bloom {
    /// One that has seen nothing, with room for so many bits: a power of two, 64 at least.
    pub fn new(bits: usize) -> Bloom {
        debug_assert!(bits >= 64 && bits.is_power_of_two());
        Bloom(alloc::vec![0; bits / 64])
    }

    /// How many bits it has.
    pub fn bits(&self) -> usize {
        self.0.len() * 64
    }

    /// Where a hash is: a word, and the numbers of two of its bits, which may be the same.
    #[inline]
    fn place(&self, hash: u64) -> (usize, u32, u32) {
        let place = (hash >> 12) as usize & (self.0.len() - 1);
        (place, hash as u32 % 64, hash as u32 / 64 % 64)
    }

    /// Takes a hash down; says whether it is certain to be new.
    #[inline]
    pub fn note(&mut self, hash: u64) -> bool {
        let (place, one, other) = self.place(hash);
        let (word, bits) = (&mut self.0[place], 1 << one | 1 << other);
        let is_new = *word & bits != bits;
        *word |= bits;
        is_new
    }

    /// One if a hash may have been seen; zero is certain.
    ///
    /// A number, and made without a comparison: compilers make branches of those, which processors guess wrong here.
    #[inline]
    pub fn has(&self, hash: u64) -> u64 {
        let (place, one, other) = self.place(hash);
        let word = self.0[place];
        word >> one & word >> other & 1
    }
}
