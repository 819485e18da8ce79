//! Resubmit and recirculate: the packet runs through the program once more, by a tail call to itself.
//!
//! A tail call keeps the frame, so that what goes along stays in its cells. The kernel allows 33 of them for a packet; what asks for more leaves the
//! path.

use crate::frame::{
    AGAIN, CELLS, FROM, GROUP, KIND, LENGTH, OUTPUT_LIMIT, RECIRCULATE, RESUBMIT, SHORTEN,
};
use crate::instruction::{Alu, Compare, R0, R1, R2, R3, R6, R7, Size};
use crate::maps::Purpose;
use crate::requests::Requests;
use crate::unit::{Code, Fault, Unit};
use p4::ir::{Expr, SlotId};
use pipeline::engine::Asked;
use pipeline::externs::{Call, Carried};
use pipeline::layout::limbs;

impl Unit<'_> {
    /// The slots that a call says go along.
    fn carried(&self, call: &Call, carried: &Carried) -> Result<Vec<SlotId>, Fault> {
        let Asked::ByExterns { lists, .. } = &self.detours.asked else {
            return Err(self.fault(&format!("`{}` is not known here", call.name)));
        };
        Ok(match carried {
            Carried::Nothing => Vec::new(),
            Carried::Slots(slots) => slots.to_vec(),
            Carried::List(index) => match &call.inputs[*index].value {
                Expr::Constant(number, _) => {
                    let number = number
                        .to_u64()
                        .and_then(|number| u32::try_from(number).ok());
                    let list = number.and_then(|number| lists.get(&number));
                    list.cloned().unwrap_or_default()
                }
                _ => {
                    return Err(self.fault(&format!(
                        "`{}`: which list goes along has to be a constant in the kernel",
                        call.name
                    )));
                }
            },
        })
    }

    pub(crate) fn ask_to_resubmit(&mut self, call: &Call, with: &Carried) -> Result<(), Fault> {
        let slots = self.carried(call, with)?;
        self.requests.resubmit.push(slots);
        let number = self.requests.resubmit.len() as i32;
        self.a.store_number(Size::B8, R7, RESUBMIT, number);
        Ok(())
    }

    pub(crate) fn ask_to_recirculate(&mut self, call: &Call, with: &Carried) -> Result<(), Fault> {
        let slots = self.carried(call, with)?;
        self.requests.recirculate.push(slots);
        let number = self.requests.recirculate.len() as i32;
        self.a.store_number(Size::B8, R7, RECIRCULATE, number);
        Ok(())
    }

    /// No more bytes leave than the number in `R1` says: of what a section asks for the last counts.
    pub(crate) fn ask_to_truncate(&mut self) {
        self.cut(R1, 32);
        self.a.store(Size::B8, R7, SHORTEN, R1);
    }

    /// Nothing is asked for yet.
    pub(crate) fn begin_requests(&mut self) {
        let Requests { anew, truncate, .. } = self.requests;
        let none = [
            (anew, RESUBMIT, 0),
            (anew, RECIRCULATE, 0),
            (truncate, SHORTEN, -1),
            (truncate, OUTPUT_LIMIT, -1),
        ];
        for (_, at, value) in none.into_iter().filter(|(is_used, ..)| *is_used) {
            self.a.store_number(Size::B8, R7, at, value);
        }
    }

    /// What a section has asked for, when it has ended.
    pub(crate) fn answer(&mut self) -> Result<(), Fault> {
        if self.requests.truncate {
            let longer = self.a.label();
            self.a.load(Size::B8, R1, R7, SHORTEN);
            self.a.load(Size::B8, R2, R7, OUTPUT_LIMIT);
            self.a.jump_if(Compare::GreaterEqual, R1, R2, longer);
            self.a.store(Size::B8, R7, OUTPUT_LIMIT, R1);
            self.a.bind(longer);
            self.a.store_number(Size::B8, R7, SHORTEN, -1);
        }
        // Egress cannot resubmit, and ingress not recirculate.
        if self.is_egress {
            return Ok(());
        }
        if !self.requests.recirculate.is_empty() {
            self.a.store_number(Size::B8, R7, RECIRCULATE, 0);
        }
        let kind = self.detours.kinds.resubmitted;
        for (number, slots) in (1..).zip(self.requests.resubmit.clone()) {
            let on = self.a.label();
            self.a.load(Size::B8, R1, R7, RESUBMIT);
            self.a.jump_if(Compare::NotEqual, R1, number, on);
            let pairs: Vec<_> = slots.into_iter().map(|slot| (slot, slot)).collect();
            self.restart(kind, &pairs)?;
            self.a.bind(on);
        }
        Ok(())
    }

    /// Sends packets round that are to be recirculated when all is emitted.
    pub(crate) fn recirculate(&mut self) -> Result<(), Fault> {
        let kind = self.detours.kinds.recirculated;
        for (number, slots) in (1..).zip(self.requests.recirculate.clone()) {
            let on = self.a.label();
            self.a.load(Size::B8, R1, R7, RECIRCULATE);
            self.a.jump_if(Compare::NotEqual, R1, number, on);
            self.turn();
            self.truncate(Code::Beyond);
            let pairs: Vec<_> = slots.into_iter().map(|slot| (slot, slot)).collect();
            self.restart(kind, &pairs)?;
            self.a.bind(on);
        }
        Ok(())
    }

    /// Resubmits a packet of PSA if the slot is the one that asks to resubmit it, and says whether it is.
    pub(crate) fn resubmit_by(&mut self, slot: SlotId) -> Result<bool, Fault> {
        let Asked::BySlots {
            resubmit,
            resubmitted,
            ..
        } = self.detours.asked.clone()
        else {
            return Ok(false);
        };
        if slot == resubmit {
            self.restart(self.detours.kinds.resubmitted, &resubmitted)?;
        }
        Ok(slot == resubmit)
    }

    /// Recirculates a packet of PSA that leaves by the port of those that are recirculated.
    pub(crate) fn recirculate_by_port(&mut self) -> Result<(), Fault> {
        let Asked::BySlots {
            recirculate,
            recirculated,
            ..
        } = self.detours.asked.clone()
        else {
            self.leave(Code::Left);
            return Ok(());
        };
        // Copies for a group leave by other ports than this.
        let single = self.a.label();
        self.a.load(Size::B8, R1, R7, GROUP);
        self.a.jump_if(Compare::Equal, R1, 0, single);
        self.leave(Code::Left);
        self.a.bind(single);
        self.turn();
        self.a.number(R1, recirculate);
        self.a.store(Size::B8, R7, FROM, R1);
        self.restart(self.detours.kinds.recirculated, &recirculated)
    }

    /// Cuts what leaves to as many bytes as the program allows; where that is not possible the packet ends with a code.
    pub(crate) fn truncate(&mut self, otherwise: Code) {
        const ADJUST_TAIL: i32 = 65;
        if !self.requests.truncate {
            return;
        }
        let done = self.a.label();
        self.length_out();
        self.a.load(Size::B8, R2, R7, OUTPUT_LIMIT);
        self.a.jump_if(Compare::LessEqual, R1, R2, done);
        self.a.alu(Alu::Subtract, R2, R1);
        self.a.alu(Alu::Move, R1, R6);
        self.a.call(ADJUST_TAIL);
        let cut = self.a.label();
        self.a.jump_if(Compare::Equal, R0, 0, cut);
        self.leave(otherwise);
        self.a.bind(cut);
        self.copy(OUTPUT_LIMIT, LENGTH, 1);
        self.a.bind(done);
    }

    /// Runs the program once more: the packet is of this kind, and only the second of each pair of slots has a value, that of the first.
    pub(crate) fn restart(&mut self, kind: u64, pairs: &[(SlotId, SlotId)]) -> Result<(), Fault> {
        const TAIL_CALL: i32 = 12;
        let mut kept = Vec::new();
        for (from, to) in pairs {
            let count = self.environment.layout.range(*from).len();
            let place = self.take(count)?;
            self.copy(self.cell(*from), place, count);
            kept.push((place, *to, count));
        }
        for cell in 0..self.frame.cells as i32 {
            self.a.store_number(Size::B8, R7, CELLS + 8 * cell, 0);
        }
        for (place, to, count) in kept {
            self.copy(place, self.cell(to), count);
        }
        for slot in self.detours.kind.clone() {
            let width = self.program.slots[slot.index()].ty.width();
            self.a.number(R1, kind);
            for cell in 0..limbs(width) as i32 {
                self.a.store(Size::B8, R7, self.cell(slot) + 8 * cell, R1);
                self.a.alu(Alu::Move, R1, 0);
            }
        }
        self.a.store_number(Size::B8, R7, AGAIN, kind as i32);
        let itself = self.map(Purpose::Itself);
        self.a.alu(Alu::Move, R1, R6);
        self.a.map(R2, itself);
        self.a.alu(Alu::Move, R3, 0);
        self.a.call(TAIL_CALL);
        // It comes back only when it has been called too often.
        self.a.store_number(Size::B8, R7, AGAIN, 0);
        self.leave(Code::Passes);
        Ok(())
    }

    /// Leaves in `R1` whether the packet resubmits or recirculates: its kind, or 0.
    pub(crate) fn begin_kind(&mut self) {
        self.a.load(Size::B8, R1, R7, AGAIN);
        self.a.store(Size::B8, R7, KIND, R1);
        self.a.store_number(Size::B8, R7, AGAIN, 0);
    }
}
