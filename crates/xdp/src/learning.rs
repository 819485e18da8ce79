//! Entries that packets add (PNA's `add_entry`), and their times.
//!
//! The program writes the row of a new entry to the table's map, so the next packet finds it on any processor. In the interpreter an
//! entry appears when the pass ends. For equal results a program may apply a table with `add_on_miss` only once.

use crate::frame::{HIT, INDEX, NANOSECONDS};
use crate::instruction::{Alu, Compare, Label, R0, R1, R2, R3, R4, R7, R8, Size};
use crate::maps::{Matching, Purpose, row_bytes, table_map};
use crate::timed::{self, STARTS, TIMEOUT};
use crate::unit::{Fault, Unit};
use p4::ir::{LValue, ObjectId, TableId, Terminator};
use pipeline::externs::Call;
use pipeline::layout::limbs;
use pipeline::learning::action_of;
use pipeline::table::Form;

const UPDATE: i32 = 2;
const DELETE: i32 = 3;
/// BPF_NOEXIST, and the answer where it does: -EEXIST.
const NO_EXIST: i32 = 1;
const EXISTS: i32 = -17;
/// Number of expire time profiles.
const PROFILES: i32 = 256;

impl Unit<'_> {
    /// Refuses timed tables that the kernel cannot keep.
    pub(crate) fn check_timed(&mut self, id: TableId, form: &Form) -> Result<(), Fault> {
        let program = self.program;
        if !timed::is_timed(program, id) {
            return Ok(());
        }
        let table = &program.tables[id.index()];
        let name = &table.name;
        if Matching::of(form) != Matching::Exact {
            return Err(self.fault(&format!(
                "table `{name}` has an idle timeout and keys that are not exact: of these it is not kept in the kernel when an entry was last hit"
            )));
        }
        if let Some(profile) = form.implementation {
            let profile = &program.objects[profile.index()].name;
            return Err(self.fault(&format!(
                "table `{name}` has an idle timeout and the action profile `{profile}`, which the kernel does not have together"
            )));
        }
        if let Some(meter) = timed::meter(program, id) {
            let meter = &program.objects[meter.index()].name;
            return Err(self.fault(&format!(
                "table `{name}` has an idle timeout or `add_on_miss`, and the direct meter `{meter}`, which the kernel does not have together: use a meter with an index"
            )));
        }
        if table.adds_on_miss() && self.applied_again(id) {
            return Err(self.fault(&format!(
                "table `{name}` has `add_on_miss` and is applied in more than one place or in a loop: in the kernel it can be applied once, since a packet would find what it has added itself"
            )));
        }
        Ok(())
    }

    /// Whether a pass may apply the table twice.
    fn applied_again(&self, id: TableId) -> bool {
        let sections = self.program.sections.iter().map(|section| &section.body);
        let actions = self.program.actions.iter().map(|action| &action.body);
        let mut places = 0;
        for body in sections.chain(actions) {
            for (index, block) in body.blocks.iter().enumerate() {
                if matches!(block.terminator, Terminator::Apply { table, .. } if table == id) {
                    places += 1;
                    if crate::unit::reaches(body, index) {
                        return true;
                    }
                }
            }
        }
        places > 1
    }

    /// Looks up a key from the frame in a timed table. An expired entry is removed and is a miss.
    pub(crate) fn look_up_timed(
        &mut self,
        form: &Form,
        places: &[i32],
        map: usize,
        miss: Label,
        found: Label,
    ) {
        let key_at = self.frame.timed;
        for (key, place) in form.keys.iter().zip(places) {
            self.copy(*place, key_at + 8 * key.at as i32, key.cells());
        }
        self.lookup(map, key_at);
        self.a.alu(Alu::Move, R8, R0);
        self.a.jump_if(Compare::Equal, R8, 0, miss);
        let end = row_bytes(form) as i32;
        if !form.deletes_idle {
            if form.idle_timeout {
                // Each hit starts the time again, and the process looks which have passed.
                self.a.load(Size::B8, R2, R7, NANOSECONDS);
                self.a.store(Size::B8, R8, end + STARTS, R2);
            }
            self.a.jump(found);
            return;
        }
        self.a.load(Size::B8, R1, R8, end + TIMEOUT);
        self.a.jump_if(Compare::Equal, R1, 0, found);
        self.a.load(Size::B8, R2, R7, NANOSECONDS);
        self.a.load(Size::B8, R3, R8, end + STARTS);
        self.a.jump_if(Compare::Less, R2, R3, found);
        self.a.alu(Alu::Subtract, R2, R3);
        self.a.jump_if(Compare::Less, R2, R1, found);
        self.a.map(R1, map);
        self.a.alu(Alu::Move, R2, R7);
        self.a.alu(Alu::Add, R2, key_at);
        self.a.call(DELETE);
    }

    /// Loads the row of the entry that was hit into `R8`; jumps to `gone` if it was removed.
    pub(crate) fn timed_row(&mut self, gone: Label) {
        let Some(map) = self.timed_map() else {
            self.a.jump(gone);
            return;
        };
        self.lookup(map, self.frame.timed);
        self.a.jump_if(Compare::Equal, R0, 0, gone);
        self.a.alu(Alu::Move, R8, R0);
    }

    fn timed_map(&mut self) -> Option<usize> {
        let id = self.applied?;
        let map = table_map(
            self.program,
            id,
            &self.environment.tables.forms()[id.index()],
        )?;
        Some(self.map_of(map))
    }

    /// Offset of a direct counter in the row of the current table, if that is timed.
    pub(crate) fn timed_counter(&self, object: ObjectId) -> Option<i32> {
        let id = self.applied?;
        let end = row_bytes(&self.environment.tables.forms()[id.index()]) as i32;
        Some(end + timed::counter_at(self.program, id, object)?)
    }

    /// Loads the time of the profile at `profile` in the frame into `R1`, in nanoseconds; 0 is forever.
    fn expiry(&mut self, profile: i32) {
        let (never, end) = (self.a.label(), self.a.label());
        let map = self.map(Purpose::Expiry);
        self.a.load(Size::B8, R1, R7, profile);
        self.a.jump_if(Compare::GreaterEqual, R1, PROFILES, never);
        self.a.store(Size::B4, R7, INDEX, R1);
        self.lookup(map, INDEX);
        self.a.jump_if(Compare::Equal, R0, 0, never);
        self.a.load(Size::B8, R1, R0, 0);
        self.a.jump(end);
        self.a.bind(never);
        self.a.alu(Alu::Move, R1, 0);
        self.a.bind(end);
    }

    pub(crate) fn add_entry(
        &mut self,
        call: &Call,
        results: &[LValue],
        action: &str,
        arguments: &[usize],
        profile: usize,
    ) -> Result<(), Fault> {
        let adding = self
            .applied
            .filter(|id| self.program.tables[id.index()].adds_on_miss());
        let environment = self.environment;
        let form = adding.map(|id| (id, &environment.tables.forms()[id.index()]));
        let added = form.and_then(|(id, form)| Some((id, form, action_of(form, action)?)));
        let Some((id, form, number)) = added else {
            // Nothing was missed.
            self.a.alu(Alu::Move, R1, 0);
            return self.give(call, results);
        };
        let end = row_bytes(form) as i32;
        let bytes = end + timed::bytes(self.program, id) as i32;
        let row = self.take(bytes as usize / 8)?;
        for at in (0..bytes).step_by(8) {
            self.a.store_number(Size::B8, R7, row + at, 0);
        }
        self.a.store_number(Size::B8, R7, row, number.cast_signed());
        self.a.store_number(Size::B8, R7, row + 8, 1);
        let mut at = row + 16;
        for index in arguments {
            let from = self.input(call, *index)?;
            let count = limbs(call.inputs[*index].ty.width());
            self.copy(from, at, count);
            at += 8 * count as i32;
        }
        if form.deletes_idle {
            let profile = self.input(call, profile)?;
            self.expiry(profile);
            self.a.store(Size::B8, R7, row + end + TIMEOUT, R1);
        }
        self.copy(NANOSECONDS, row + end + STARTS, 1);
        let [yes, no, done] = [(); 3].map(|()| self.a.label());
        self.a.load(Size::B8, R1, R7, HIT);
        self.a.jump_if(Compare::NotEqual, R1, 0, no);
        let Some(map) = self.timed_map() else {
            return Ok(());
        };
        self.a.map(R1, map);
        self.a.alu(Alu::Move, R2, R7);
        self.a.alu(Alu::Add, R2, self.frame.timed);
        self.a.alu(Alu::Move, R3, R7);
        self.a.alu(Alu::Add, R3, row);
        // Another processor's packet may have been first.
        self.a.alu(Alu::Move, R4, NO_EXIST);
        self.a.call(UPDATE);
        self.a.jump_if(Compare::Equal, R0, 0, yes);
        self.a.jump_if(Compare::Equal, R0, EXISTS, yes);
        self.a.bind(no);
        self.a.alu(Alu::Move, R1, 0);
        self.a.jump(done);
        self.a.bind(yes);
        self.a.alu(Alu::Move, R1, 1);
        self.a.bind(done);
        self.give(call, results)
    }

    /// Allocates a flow id in `R1`.
    pub(crate) fn allocate_flow(&mut self) {
        let map = self.map(Purpose::Flows);
        self.a.map_value(R2, map, 0);
        self.a.alu(Alu::Move, R1, 1);
        self.a.fetch_add_atomic(R2, 0, R1);
        self.a.low_half(R1);
    }

    /// Restarts the time of the entry that was hit, with the time of `profile` if there is one.
    pub(crate) fn restart_entry(
        &mut self,
        call: &Call,
        profile: Option<usize>,
    ) -> Result<(), Fault> {
        let Some(id) = self.applied else {
            return Ok(());
        };
        let form = &self.environment.tables.forms()[id.index()];
        let (has_time, end) = (form.idle_timeout, row_bytes(form) as i32);
        let timeout = match profile.filter(|_| has_time) {
            Some(profile) => {
                let profile = self.input(call, profile)?;
                let place = self.take(1)?;
                self.expiry(profile);
                self.a.store(Size::B8, R7, place, R1);
                Some(place)
            }
            None => None,
        };
        let gone = self.a.label();
        self.a.load(Size::B8, R1, R7, HIT);
        self.a.jump_if(Compare::Equal, R1, 0, gone);
        self.timed_row(gone);
        if let Some(place) = timeout {
            self.a.load(Size::B8, R1, R7, place);
            self.a.store(Size::B8, R8, end + TIMEOUT, R1);
        }
        self.a.load(Size::B8, R1, R7, NANOSECONDS);
        self.a.store(Size::B8, R8, end + STARTS, R1);
        self.a.bind(gone);
        Ok(())
    }
}
