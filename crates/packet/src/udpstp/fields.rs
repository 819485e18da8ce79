//! Big-endian fields, in and out.

use crate::BadHeader;
use alloc::vec::Vec;

/// What is still to be read of a header, whose length was checked: so nothing is ever missing.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl Fields<'_> {
    pub fn take<const N: usize>(&mut self) -> [u8; N] {
        let Some((first, rest)) = self.0.split_first_chunk() else {
            return [0; N];
        };
        self.0 = rest;
        *first
    }

    pub fn u8(&mut self) -> u8 {
        self.take::<1>()[0]
    }

    pub fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.take())
    }

    pub fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.take())
    }

    pub fn all<const N: usize>(&mut self) -> [u32; N] {
        core::array::from_fn(|_| self.u32())
    }

    pub fn flag(&mut self) -> Result<bool, BadHeader> {
        match self.u8() {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(BadHeader("UDPSTP flag that is neither 0 nor 1")),
        }
    }
}

pub(super) fn words(out: &mut Vec<u8>, words: &[u32]) {
    words.iter().for_each(|word| out.extend(word.to_be_bytes()));
}

pub(super) fn halves(out: &mut Vec<u8>, halves: &[u16]) {
    halves
        .iter()
        .for_each(|half| out.extend(half.to_be_bytes()));
}
