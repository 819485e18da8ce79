//! Arrays of registers.

use crate::layout::limbs;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use p4::ir::Ty;
use p4::value::Bits;

/// An array of values of one type, a scalar's or a struct's.
///
/// A scalar of at most 64 bits is read and written as a whole. A wider one, or a struct, may be seen half written by the control plane while a
/// packet writes it; packets see each other's whole.
#[derive(Debug)]
pub struct Register {
    /// The names and types of the scalars; one without a name if it is no struct.
    pub fields: Vec<(Arc<str>, Ty)>,
    width: usize,
    size: usize,
    cells: Box<[AtomicU64]>,
}

impl Register {
    /// All as `initial` says, a value for each field; zero where it has none.
    #[must_use]
    pub fn new(fields: Vec<(Arc<str>, Ty)>, size: usize, initial: &[Bits]) -> Self {
        let width = fields.iter().map(|(_, ty)| limbs(ty.width())).sum();
        let cells = (0..size * width).map(|_| AtomicU64::new(0)).collect();
        let register = Register {
            fields,
            width,
            size,
            cells,
        };
        if initial.iter().any(Bits::is_true) {
            for index in 0..size {
                register.set(index, initial);
            }
        }
        register
    }

    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// How many cells each has.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// The cells themselves: register `i` has those from `i * width` on.
    #[must_use]
    pub fn cells(&self) -> &[AtomicU64] {
        &self.cells
    }

    fn at(&self, index: u64) -> Option<&[AtomicU64]> {
        let start = usize::try_from(index).ok()?.checked_mul(self.width)?;
        self.cells.get(start..start + self.width)
    }

    /// Reads into cells, zero beyond the end.
    #[inline]
    pub fn load(&self, index: u64, output: &mut [u64]) {
        match self.at(index) {
            Some(cells) => {
                for (to, from) in output.iter_mut().zip(cells) {
                    *to = from.load(Ordering::Relaxed);
                }
            }
            None => output.fill(0),
        }
    }

    /// Writes from cells; beyond the end nothing happens.
    #[inline]
    pub fn store(&self, index: u64, input: &[u64]) {
        if let Some(cells) = self.at(index) {
            for (to, from) in cells.iter().zip(input) {
                to.store(*from, Ordering::Relaxed);
            }
        }
    }

    /// Each field's value, for the control plane.
    #[must_use]
    pub fn read(&self, index: usize) -> Option<Vec<Bits>> {
        let mut cells = self.at(index as u64)?;
        let values = self.fields.iter().map(|(_, ty)| {
            let (now, rest) = cells.split_at(limbs(ty.width()));
            cells = rest;
            let now: Vec<u64> = now
                .iter()
                .map(|cell| cell.load(Ordering::Relaxed))
                .collect();
            Bits::from_limbs(ty.width(), &now)
        });
        Some(values.collect())
    }

    /// Sets the fields in order, each cut to its width, and says whether there is such an index.
    pub fn set(&self, index: usize, values: &[Bits]) -> bool {
        let Some(mut cells) = self.at(index as u64) else {
            return false;
        };
        for ((_, ty), value) in self.fields.iter().zip(values) {
            let (now, rest) = cells.split_at(limbs(ty.width()));
            cells = rest;
            let mut limbs = alloc::vec![0; now.len()];
            value.resize(ty.width()).to_limbs(&mut limbs);
            for (to, from) in now.iter().zip(limbs) {
                to.store(from, Ordering::Relaxed);
            }
        }
        true
    }
}
