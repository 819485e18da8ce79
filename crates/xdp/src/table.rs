//! Tables: keys, look-ups, and the code of their actions.

use crate::frame::{HIT, INDEX, KEY, KEY_BYTES, LENGTH};
use crate::instruction::{Alu, Compare, Label, R0, R1, R2, R3, R4, R5, R7, R8, R9, R10, Size};
use crate::maps::{
    self, Matching, Purpose, Tried, pattern_bytes, row_bytes, set_map, table_map, trie_bytes,
    trie_order,
};
use crate::meter;
use crate::timed;
use crate::unit::{Code, End, Fault, LOOKUP, Unit};
use p4::ir::{Extern, Library, TableId, Ty, ValueSetId};
use pipeline::layout::limbs;
use pipeline::table::{Form, MatchKind};

/// Maximum number of entries that are tried one after the other.
const MAX_LINEAR_ENTRIES: u32 = 1024;
/// The ring of messages, a power of two.
const RING_BYTES: u32 = 1 << 20;
/// Maximum size of the members of a value set, bytes.
const MAX_MEMBERS_BYTES: u32 = 64 * 1024;
/// On the stack: the row that was found, and the number of jumps backwards.
const ROW: i32 = -8;
const STEPS: i32 = -16;

impl Unit<'_> {
    pub(crate) fn apply(&mut self, id: TableId, next: Label, exit: Label) -> Result<(), Fault> {
        let program = self.program;
        let table = &program.tables[id.index()];
        let environment = self.environment;
        let form = &environment.tables.forms()[id.index()];
        self.check_table(id, form)?;
        let miss = self.a.label();
        let found = self.a.label();
        self.look_up(id, form, miss, found)?;
        self.a.bind(miss);
        let defaults = self.map(Purpose::Defaults);
        self.a.store_number(Size::B4, R7, INDEX, id.index() as i32);
        self.lookup(defaults, INDEX);
        self.a.alu(Alu::Move, R8, R0);
        self.a.jump_if(Compare::NotEqual, R8, 0, found);
        self.leave(Code::Beyond);
        self.a.bind(found);
        self.a.load(Size::B8, R2, R8, 8);
        self.a.store(Size::B8, R7, HIT, R2);
        self.applied = timed::is_timed(program, id).then_some(id);
        self.choose(id)?;
        self.a.load(Size::B8, R1, R8, 0);
        if let Some(slot) = table.action_run {
            let at = self.cell(slot);
            self.a.store(Size::B8, R7, at, R1);
        }
        if let Some(slot) = table.hit {
            let at = self.cell(slot);
            let no = self.a.label();
            self.a.load(Size::B8, R2, R7, HIT);
            self.a.jump_if(Compare::Equal, R2, 0, no);
            self.a.alu(Alu::Move, R2, 1);
            self.a.bind(no);
            self.a.store(Size::B8, R7, at, R2);
        }
        // v1model counts and meters at every hit, without being asked.
        for object in &table.direct {
            let kind = &program.objects[object.index()].kind;
            let meters = *kind == Extern::DirectMeter(Library::V1Model);
            if meters || *kind == Extern::DirectCounter(Library::V1Model) {
                self.a.store(Size::B8, R10, ROW, R8);
                match meters {
                    true => self.meter_hit(*object)?,
                    false => self.count_direct(*object, LENGTH),
                }
                self.a.load(Size::B8, R8, R10, ROW);
                self.a.load(Size::B8, R1, R8, 0);
            }
        }
        for (number, choice) in table.actions.iter().enumerate() {
            let action = &program.actions[choice.action.index()];
            let other = self.a.label();
            self.a.jump_if(Compare::NotEqual, R1, number as i32, other);
            let mut at = 16;
            for (_, slot, _) in &action.parameters {
                let width = program.slots[slot.index()].ty.width();
                let to = self.cell(*slot);
                for cell in 0..limbs(width) as i32 {
                    self.a.load(Size::B8, R2, R8, at);
                    self.a.store(Size::B8, R7, to + 8 * cell, R2);
                    at += 8;
                }
            }
            self.body(&action.body, End::Action { next, exit });
            self.a.bind(other);
        }
        self.applied = None;
        self.a.jump(next);
        Ok(())
    }

    fn check_table(&mut self, id: TableId, form: &Form) -> Result<(), Fault> {
        let table = &self.program.tables[id.index()];
        let name = &table.name;
        self.check_timed(id, form)?;
        let parameters = form.actions.iter().flat_map(|action| &action.parameters);
        let types = form.keys.iter().map(|key| key.ty);
        let mut types = types.chain(parameters.map(|(_, ty)| *ty));
        if types.any(|ty| matches!(ty, Ty::Varbit(_))) {
            return Err(self.fault(&format!(
                "table `{name}` has a varbit, which has no fixed place in a program of the kernel"
            )));
        }
        if 8 * form.key_cells() + 16 > KEY_BYTES {
            return Err(self.fault(&format!(
                "the keys of table `{name}` have more than {KEY_BYTES} bytes"
            )));
        }
        match Matching::of(form) {
            Matching::Linear => {
                let wide = |key: &pipeline::table::KeyForm| {
                    key.kind == MatchKind::Range && key.ty.width() > 64
                };
                if form.keys.iter().any(wide) {
                    return Err(
                        self.fault(&format!("table `{name}` has a range of more than 64 bits"))
                    );
                }
                if form.size > MAX_LINEAR_ENTRIES {
                    return Err(self.fault(&format!(
                        "table `{name}` matches by priority and has room for {} entries; the kernel tries at most {MAX_LINEAR_ENTRIES} one after the other: give it a smaller `size`",
                        form.size
                    )));
                }
            }
            Matching::Prefix(_) if trie_bytes(form) > 256 => {
                return Err(self.fault(&format!(
                    "the keys of table `{name}` have more than the 256 bytes of the kernel's tries"
                )));
            }
            _ => {}
        }
        Ok(())
    }

    /// Goes to `miss`, or to `found` with the row's address in `R8`.
    fn look_up(
        &mut self,
        id: TableId,
        form: &Form,
        miss: Label,
        found: Label,
    ) -> Result<(), Fault> {
        let Some(wanted) = table_map(self.program, id, form) else {
            return Ok(());
        };
        let keys = &self.program.tables[id.index()].keys;
        let mut places = Vec::new();
        for key in &form.keys {
            places.push(self.place(&keys[key.index].value)?);
        }
        let map = self.map_of(wanted);
        if timed::is_timed(self.program, id) {
            self.look_up_timed(form, &places, map, miss, found);
            return Ok(());
        }
        match Matching::of(form) {
            Matching::Never => {}
            Matching::Exact | Matching::Linear => {
                for (key, place) in form.keys.iter().zip(&places) {
                    self.copy(*place, KEY + 8 * key.at as i32, key.cells());
                }
            }
            Matching::Prefix(prefix) => {
                let mut at = KEY + 8;
                self.a
                    .store_number(Size::B4, R7, KEY + 4, 8 * trie_bytes(form) as i32);
                for key in trie_order(form, prefix) {
                    let place = form.keys.iter().position(|other| other.index == key.index);
                    let place = places[place.unwrap_or(0)];
                    self.a.alu(Alu::Move, R8, R7);
                    self.a.alu(Alu::Add, R8, at);
                    self.write_bytes(&[(place, key.ty.width())], key.ty.width());
                    at += key.ty.width().div_ceil(8) as i32;
                }
            }
        }
        match Matching::of(form) {
            Matching::Linear => {
                let keys = Tried::keys(form);
                self.linear(&keys, row_bytes(form), form.size, map, [miss, found]);
            }
            matching => {
                let key = match matching {
                    Matching::Prefix(_) => KEY + 4,
                    _ => KEY,
                };
                self.lookup(map, key);
                self.a.alu(Alu::Move, R8, R0);
                self.a.jump_if(Compare::NotEqual, R8, 0, found);
            }
        }
        Ok(())
    }

    /// Goes on if values in the frame are one of a value set's members, and to `next` otherwise.
    pub(crate) fn in_set(
        &mut self,
        id: ValueSetId,
        values: &[(i32, Ty)],
        next: Label,
    ) -> Result<(), Fault> {
        let set = &self.program.value_sets[id.index()];
        let keys = Tried::fields(set);
        let wanted = set_map(id, set);
        if wanted.value > MAX_MEMBERS_BYTES {
            return Err(self.fault(&format!(
                "value set `{}` is too large for the kernel: give it a smaller size",
                set.name
            )));
        }
        if keys.iter().any(|key| key.is_range && key.ty.width() > 64) {
            return Err(self.fault(&format!(
                "value set `{}` has a range of more than 64 bits",
                set.name
            )));
        }
        let mut at = KEY;
        for (key, (place, _)) in keys.iter().zip(values) {
            self.copy(*place, at, key.cells());
            at += 8 * key.cells() as i32;
        }
        let map = self.map_of(wanted);
        let found = self.a.label();
        self.linear(&keys, 0, set.size.max(1), map, [next, found]);
        self.a.bind(found);
        Ok(())
    }

    /// Tries one entry after the other against the key: goes to the first label when none fits, and to the second with the
    /// address of the row of the first that does in `R8`.
    fn linear(
        &mut self,
        keys: &[Tried],
        row: u32,
        size: u32,
        map: usize,
        [miss, found]: [Label; 2],
    ) {
        let stride = (pattern_bytes(keys) + row) as i32;
        let size = size as i32;
        let [again, next, over, matched] = [(); 4].map(|()| self.a.label());
        self.a.store_number(Size::B4, R7, INDEX, 0);
        self.lookup(map, INDEX);
        self.a.jump_if(Compare::Equal, R0, 0, miss);
        self.a.alu(Alu::Move, R1, R0);
        self.a.alu(Alu::Move, R2, R7);
        self.a.alu(Alu::Add, R2, INDEX);
        self.a.call(LOOKUP);
        self.a.jump_if(Compare::Equal, R0, 0, miss);
        self.a.alu(Alu::Move, R8, R0);
        self.a.store(Size::B8, R10, STEPS, R9);
        self.a.alu(Alu::Move, R9, 0);
        self.a.bind(again);
        self.a.load(Size::B8, R1, R8, 0);
        self.a.jump_if(Compare::GreaterEqual, R9, R1, over);
        self.a.alu(Alu::Move, R2, R9);
        self.a.alu(Alu::Multiply, R2, stride);
        self.a.alu(Alu::Add, R2, R8);
        let cells = keys
            .iter()
            .flat_map(|key| std::iter::repeat_n(key.is_range, key.cells()));
        for (cell, is_range) in (0..).zip(cells) {
            self.a.load(Size::B8, R3, R7, KEY + 8 * cell);
            self.a.load(Size::B8, R4, R2, 8 + 16 * cell);
            self.a.load(Size::B8, R5, R2, 16 + 16 * cell);
            if is_range {
                self.a.jump_if(Compare::Less, R3, R4, next);
                self.a.jump_if(Compare::Greater, R3, R5, next);
            } else {
                self.a.alu(Alu::And, R3, R5);
                self.a.jump_if(Compare::NotEqual, R3, R4, next);
            }
        }
        // By way of memory: to the verifier all entries are the same from here on.
        self.a.store(Size::B8, R7, INDEX, R9);
        self.a.jump(matched);
        self.a.bind(next);
        self.a.alu(Alu::Add, R9, 1);
        self.a.jump_if(Compare::Less, R9, size, again);
        self.a.bind(over);
        self.a.load(Size::B8, R9, R10, STEPS);
        self.a.jump(miss);
        self.a.bind(matched);
        self.a.load(Size::B8, R9, R10, STEPS);
        self.a.load(Size::B8, R1, R7, INDEX);
        self.a.jump_if(Compare::GreaterEqual, R1, size, miss);
        self.a.alu(Alu::Multiply, R1, stride);
        self.a.alu(Alu::Add, R8, R1);
        self.a.alu(Alu::Add, R8, 8 + pattern_bytes(keys) as i32);
        self.a.jump(found);
    }

    /// The map for a purpose that says what it is like.
    pub(crate) fn map(&mut self, purpose: Purpose) -> usize {
        let forms = self.environment.tables.forms();
        let (kind, key, value, entries) = match purpose {
            Purpose::Frame => (maps::Kind::PerCpuArray, 4, self.frame.size as u32, 1),
            Purpose::Defaults => {
                let value = forms.iter().map(row_bytes).max().unwrap_or(16);
                (maps::Kind::Hash, 4, value, forms.len() as u32)
            }
            Purpose::Counter(object) => {
                let counter = self.environment.counter(object);
                let size = counter.map_or(1, pipeline::state::Counter::size);
                (maps::Kind::Array, 4, 16, size as u32)
            }
            Purpose::Register(object) => {
                let register = self.environment.register(object);
                let (width, size) = register.map_or((1, 1), |r| (r.width(), r.size()));
                (maps::Kind::Array, 4, 8 * width.max(1) as u32, size as u32)
            }
            Purpose::Meter(object) => {
                let meter = self.environment.meter(object);
                let size = meter.map_or(1, pipeline::state::Meter::size);
                (
                    maps::Kind::Array,
                    4,
                    8 * meter::WORDS as u32 + 8,
                    size as u32,
                )
            }
            Purpose::Itself => (maps::Kind::ProgramArray, 4, 4, 1),
            Purpose::Crc(_) => (maps::Kind::Array, 4, 8 * 256, 1),
            Purpose::PortOf | Purpose::Longest => (maps::Kind::Hash, 4, 8, 1024),
            Purpose::Interfaces => (maps::Kind::DevMapHash, 4, 4, 1024),
            Purpose::Groups => (maps::Kind::HashOfMaps, 4, 4, self.groups()),
            Purpose::LongestOf => (maps::Kind::Hash, 4, 16, self.groups()),
            Purpose::Sides => (maps::Kind::Hash, 4, 8, 1024),
            Purpose::Expiry => (maps::Kind::Array, 4, 8, 256),
            Purpose::Flows => (maps::Kind::Array, 4, 8, 1),
            Purpose::Messages => (maps::Kind::RingBuffer, 0, 0, RING_BYTES),
            // Their maps are made by `table_map`, `groups_map` and `set_map`.
            Purpose::Table(_) | Purpose::Choices(_) | Purpose::ValueSet(_) => {
                (maps::Kind::Array, 4, 8, 1)
            }
        };
        self.map_of(maps::Map {
            purpose,
            kind,
            key,
            value,
            entries: entries.max(1),
        })
    }

    pub(crate) fn map_of(&mut self, wanted: maps::Map) -> usize {
        let there = self.maps.iter().position(|map| *map == wanted);
        there.unwrap_or_else(|| {
            self.maps.push(wanted);
            self.maps.len() - 1
        })
    }
}
