//! Where each slot of a program stands in memory.

use alloc::vec;
use alloc::vec::Vec;
use p4::ir::{Program, SlotId, Ty};
use p4::value::Bits;

/// Each slot has whole cells of 64 bits, the least significant first; bits above a value's width are zero, in signed
/// values too. A varbit's bits are the low ones, and a further cell behind them has its length in bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    slots: Vec<(u32, Ty)>,
    cells: usize,
}

impl Layout {
    /// The layout of a program's slots, in order.
    #[must_use]
    pub fn new(program: &Program) -> Self {
        let mut cells = 0;
        let slots = program
            .slots
            .iter()
            .map(|slot| {
                let at = cells as u32;
                cells += limbs(slot.ty.width()) + usize::from(matches!(slot.ty, Ty::Varbit(_)));
                (at, slot.ty)
            })
            .collect();
        Layout { slots, cells }
    }

    /// How many cells a packet has.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// Cells of a new packet.
    #[must_use]
    pub fn fresh(&self) -> Vec<u64> {
        vec![0; self.cells]
    }

    /// A slot's first cell, and its type.
    #[must_use]
    pub fn cell(&self, slot: SlotId) -> (usize, Ty) {
        let (at, ty) = self.slots[slot.index()];
        (at as usize, ty)
    }

    /// Which cells a slot has, a varbit's length among them.
    #[must_use]
    pub fn range(&self, slot: SlotId) -> core::ops::Range<usize> {
        let (at, ty) = self.cell(slot);
        at..at + limbs(ty.width()) + usize::from(matches!(ty, Ty::Varbit(_)))
    }

    /// A slot's value; of a varbit as wide as it is now.
    #[must_use]
    pub fn read(&self, cells: &[u64], slot: SlotId) -> Bits {
        let (at, ty) = self.cell(slot);
        let count = limbs(ty.width());
        let width = match ty {
            Ty::Varbit(_) => cells[at + count] as u32,
            _ => ty.width(),
        };
        Bits::from_limbs(width, &cells[at..at + count])
    }

    /// Sets a slot, cut to its width; a varbit gets the value's width as its length.
    pub fn write(&self, cells: &mut [u64], slot: SlotId, value: &Bits) {
        let (at, ty) = self.cell(slot);
        let count = limbs(ty.width());
        value
            .resize(ty.width())
            .to_limbs(&mut cells[at..at + count]);
        if let Ty::Varbit(most) = ty {
            cells[at + count] = u64::from(value.width().min(most));
        }
    }
}

/// How many cells hold so many bits; one for none.
#[must_use]
pub fn limbs(width: u32) -> usize {
    (width.div_ceil(64) as usize).max(1)
}
