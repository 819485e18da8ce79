//! Where each match field stands in a key.

use crate::oxm::Field;

/// Where a field stands.
#[derive(Clone, Copy)]
pub(super) struct Position {
    pub word: u8,
    pub shift: u8,
    pub bits: u8,
}

impl Position {
    /// As many ones as the field has bits; of one of 128 bits, those of a word.
    pub fn ones(self) -> u64 {
        u64::MAX >> (64 - self.bits.min(64))
    }
}

const fn at(word: u8, shift: u8, bits: u8) -> Position {
    Position { word, shift, bits }
}

/// By number.
const PLACES: [Position; 40] = [
    at(0, 32, 32),
    at(0, 0, 32),
    at(1, 0, 64),
    at(2, 16, 48),
    at(3, 16, 48),
    at(2, 0, 16),
    at(3, 0, 13),
    at(3, 13, 3),
    at(4, 58, 6),
    at(4, 56, 2),
    at(4, 48, 8),
    at(5, 32, 32),
    at(5, 0, 32),
    at(4, 32, 16),
    at(4, 16, 16),
    at(4, 32, 16),
    at(4, 16, 16),
    at(4, 32, 16),
    at(4, 16, 16),
    at(4, 32, 8),
    at(4, 16, 8),
    at(4, 0, 16),
    at(5, 32, 32),
    at(5, 0, 32),
    at(6, 16, 48),
    at(7, 16, 48),
    at(5, 0, 128),
    at(7, 0, 128),
    at(9, 16, 20),
    at(4, 32, 8),
    at(4, 16, 8),
    at(11, 0, 128),
    at(13, 16, 48),
    at(14, 16, 48),
    at(9, 44, 20),
    at(9, 41, 3),
    at(9, 40, 1),
    at(9, 16, 24),
    at(10, 0, 64),
    at(4, 0, 9),
];

/// Where a field stands.
pub(super) fn position(field: Field) -> Position {
    PLACES[field as usize]
}
