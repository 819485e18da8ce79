//! Whole programs of P4 source text, made of the input by the generator of the fast engine's tests, and packets: the interpreter and the fast engine
//! do the same.

#[path = "../../crates/jit/tests/random/mod.rs"]
mod random;

use random::{Choices, compare_whole};

/// The first eight bytes are the seed of all that the others do not choose.
pub fn target(data: &[u8]) {
    let Some((seed, choices)) = data.split_first_chunk() else {
        return;
    };
    compare_whole(&mut Choices::new(choices, u64::from_le_bytes(*seed)), 4);
}
