//! Tables where the program applies them: a lookup, and then the action that it names.

use crate::graph::{Id, Two};
use crate::hashes::Piece;
use crate::map::address::DEFAULT_ROW;
use crate::map::{CHOICE, ResultForm, Source, TableKind, bits_for};
use crate::state::{Edge, Hit, Lookup, Target, Walk};
use alloc::vec::Vec;
use node::random::split_mix;
use p4::ir::{Extern, Library, MatchKind, TableId, ValueSetId};
use pipeline::environment::{Environment, Object, Unsupported};
use pipeline::table::{Form, MatchKind as Compared};

/// Maximum number of longest-prefix entries that are compared in parallel.
const MAX_PARALLEL_ENTRIES: u32 = 32;

/// Maximum number of flip-flops of a table that compares its rows in parallel: those of the largest
/// chips.
const MAX_REGISTERS: u64 = 1 << 23;

/// Maximum memory of a CAM, bits; no chip has more.
const MAX_CAM_BITS: u64 = 1 << 26;

/// Maximum number of flip-flops of a table without a warning.
const REGISTERS_WARNING_LIMIT: u64 = 1 << 19;

/// Number of entries of an exact table in addition to its hashed places.
const SPARE: u32 = 8;

/// Result of a value set's lookup besides hit: unused.
pub(crate) const MEMBER: ResultForm = ResultForm {
    entry: 1,
    action: 1,
    arguments: 0,
};

impl<'a> Walk<'a> {
    /// Whether keys are in a value set.
    pub(crate) fn value_set(&mut self, set: ValueSetId, keys: &[Id]) -> Result<Id, Unsupported> {
        let form = &self.program.value_sets[set.index()];
        let keys = keys[..form.fields.len().min(keys.len())].to_vec();
        let key = keys.iter().map(|key| self.graph.width(*key)).sum();
        let name = &form.name;
        let latency = self.latency(name, &ternary(form.size), key)?;
        let width = 1 + MEMBER.data();
        let result = self.graph.lookup(self.lookups.len() as u32, width);
        self.lookups.push(Lookup {
            asked: Target::Table(Source::ValueSet(set)),
            keys,
            result,
            when: None,
            latency,
            second: self.split.is_some(),
        });
        self.graph.name(result, || alloc::format!("{name} result"));
        Ok(self.graph.slice(result, width - 1, width - 1))
    }

    /// How many cycles a table takes to answer, if a chip can have it.
    fn latency(&mut self, name: &str, kind: &TableKind, key: u32) -> Result<u32, Unsupported> {
        // Of tables the program's text has no place any more; that of the last statement would be another's.
        self.span = None;
        let rows = match kind {
            TableKind::Ternary { rows } => {
                // For each bit of the key value and mask; whether there is an entry, and whether it agrees.
                let registers = u64::from(*rows) * (2 * u64::from(key) + 2);
                let told = alloc::format!(
                    "table `{name}`: {rows} rows of {key} bits, compared at once, take {registers} flip-flops"
                );
                if registers > MAX_REGISTERS {
                    return self.cannot(alloc::format!("{told}, more than {MAX_REGISTERS}, which is what the largest chips have; give the table a smaller `size`, or match exactly or by the longest prefix"));
                }
                if registers > REGISTERS_WARNING_LIMIT {
                    self.warnings.push(alloc::format!("{told}, more than most chips have; a smaller `size`, or matches that are exact or of the longest prefix, take less"));
                }
                u64::from(*rows)
            }
            TableKind::Cam { rows } => {
                let bits = u64::from(*rows) * 512 * u64::from(key.div_ceil(9));
                if bits > MAX_CAM_BITS {
                    return self.cannot(alloc::format!("table `{name}`: a CAM of {rows} rows of {key} bits takes {bits} bits of memory, more than the {MAX_CAM_BITS} of the largest chips; give the table a smaller `size`, or leave out `--exact cam`"));
                }
                u64::from(*rows)
            }
            TableKind::Exact { index, spare, .. } => (4 << index) + u64::from(*spare),
            TableKind::Prefix { levels } => 2 << levels,
            TableKind::Default => 0,
        };
        // The last number stands for the default.
        if rows > u64::from(DEFAULT_ROW) {
            return self.cannot(alloc::format!("table `{name}` would have {rows} rows, more than the {DEFAULT_ROW} that can be written; give the table a smaller `size`"));
        }
        Ok(kind.latency())
    }

    /// Looks a table up and runs the action; the flag says that the action ended in `exit`.
    pub(crate) fn apply(
        &mut self,
        id: TableId,
        (when, state): Edge,
    ) -> Result<Vec<(Edge, bool)>, Unsupported> {
        let table = &self.program.tables[id.index()];
        let form = &self.environment.tables.forms()[id.index()];
        let result_form = form_of(self.environment, id);
        let (mut keys, mut choosing) = (Vec::new(), Vec::new());
        for key in &table.keys {
            let value = self.value(&key.value, &state)?;
            match key.match_kind {
                MatchKind::Selector => choosing.push(value),
                _ => keys.push(value),
            }
        }
        let width = 1 + result_form.data();
        let result = self.graph.lookup(self.lookups.len() as u32, width);
        let name = &table.name;
        let key = keys.iter().map(|key| self.graph.width(*key)).sum();
        let kind = kind(form, id.0, self.options.cam);
        let latency = self.latency(name, &kind, key)?;
        self.lookups.push(Lookup {
            asked: Target::Table(Source::Table(id)),
            keys,
            result,
            when: Some(when),
            latency,
            second: self.split.is_some(),
        });
        self.graph.name(result, || alloc::format!("{name} result"));
        let hit = self.graph.slice(result, width - 1, width - 1);
        let entry = self
            .graph
            .slice(result, width - 2, width - 1 - result_form.entry);
        let rest = result_form.arguments + result_form.action;
        let mut chosen = self.graph.slice(result, rest.max(1) - 1, 0);
        if selects(self.environment, id) {
            chosen = self.choose_member(id, result_form, chosen, &choosing)?;
        }
        let action = self.graph.slice(chosen, rest - 1, result_form.arguments);
        self.graph.name(hit, || alloc::format!("{name} hit"));
        self.graph.name(action, || alloc::format!("{name} action"));
        self.graph.name(entry, || alloc::format!("{name} entry"));
        let found = self.graph.and(when, hit);
        let mut state = state;
        for object in &table.direct {
            match &self.program.objects[object.index()].kind {
                Extern::DirectCounter(Library::V1Model) => self.count(*object, entry, found)?,
                Extern::DirectMeter(Library::V1Model) => {
                    let green = self.graph.constant(2, 0u8);
                    let colour = self.meter(*object, entry, green, found)?;
                    state.values[self.extra.colour] = colour;
                }
                Extern::DirectCounter(Library::Psa) | Extern::DirectMeter(Library::Psa) => {}
                other => {
                    return self.cannot(alloc::format!(
                        "table `{name}` has a `{other}`, which this hardware has not"
                    ));
                }
            }
        }
        if let Some(slot) = table.hit {
            self.put(slot, hit, None, None, &mut state);
        }
        if let Some(slot) = table.action_run {
            // One more than all means none, which reads as all ones.
            let none = self.graph.equal_to(action, form.actions.len() as u64);
            let wide = self.graph.resize(action, 32);
            let ones = self.graph.constant(32, u32::MAX);
            let run = self.graph.choose(none, ones, wide);
            self.put(slot, run, None, None, &mut state);
        }
        let mut out = Vec::new();
        let mut left = when;
        let only = form.implementation.is_none() && form.actions.len() == 1;
        for (number, listed) in table.actions.iter().enumerate() {
            let runs = match only {
                true => self.graph.bit(true),
                false => self.graph.equal_to(action, number as u64),
            };
            let not = self.graph.not(runs);
            let runs = self.graph.and(left, runs);
            left = self.graph.and(left, not);
            let of = &self.program.actions[listed.action.index()];
            let mut inner = state.clone();
            let mut above: u32 = of
                .parameters
                .iter()
                .map(|(_, slot, _)| self.slot(*slot).ty.width())
                .sum();
            for (_, slot, _) in &of.parameters {
                let width = self.slot(*slot).ty.width();
                if width == 0 || self.lengths.contains_key(slot) {
                    return self.cannot(alloc::format!(
                        "action `{}` of table `{name}` has a parameter of no fixed length",
                        of.name
                    ));
                }
                let argument = self.graph.slice(chosen, above - 1, above - width);
                above -= width;
                self.put(*slot, argument, None, None, &mut inner);
            }
            self.hit = Some(Hit { found: hit, entry });
            out.extend(self.body(&of.body, (runs, inner), false)?);
            self.hit = None;
        }
        // No action at all.
        if form.implementation.is_some() {
            out.push(((left, state), false));
        }
        Ok(out)
    }
}

impl Walk<'_> {
    /// Action and arguments: of what an entry says, or of the member of a group that a hash of some keys chooses.
    fn choose_member(
        &mut self,
        table: TableId,
        form: ResultForm,
        entry: Id,
        keys: &[Id],
    ) -> Result<Id, Unsupported> {
        let Some(selector) = self.environment.selector(table) else {
            return Ok(entry);
        };
        let rest = form.action + form.arguments;
        let group = self.environment.tables.forms()[table.index()].actions.len() as u64 + 1;
        let action = self.graph.slice(entry, rest - 1, form.arguments);
        let is_group = self.graph.equal_to(action, group);
        let first = self.graph.slice(entry, 2 * CHOICE - 1, CHOICE);
        let count = self.graph.slice(entry, CHOICE - 1, 0);
        let valid = self.graph.bit(true);
        let pieces = keys.iter().map(|bits| Piece {
            bits: *bits,
            length: None,
            valid,
        });
        let pieces: Vec<Piece> = pieces.collect();
        let hash = self.hash(selector.algorithm, &pieces)?;
        let width = self.graph.width(hash);
        let hash = self
            .graph
            .slice(hash, selector.width.clamp(1, width) - 1, 0);
        let wide = self.graph.width(hash).max(CHOICE);
        let (hash, by) = (
            self.graph.resize(hash, wide),
            self.graph.resize(count, wide),
        );
        let none = self.graph.equal_to(by, 0u8);
        let one = self.graph.constant(wide, 1u8);
        let by = self.graph.choose(none, one, by);
        let chosen = self.graph.two(Two::Modulo, hash, by);
        let chosen = self.graph.resize(chosen, CHOICE);
        let number = self.graph.two(Two::Add, first, chosen);
        let width = 1 + form.data();
        let result = self.graph.lookup(self.lookups.len() as u32, width);
        self.lookups.push(Lookup {
            asked: Target::Table(Source::Choices(table)),
            keys: alloc::vec![number],
            result,
            when: None,
            latency: 2,
            second: self.split.is_some(),
        });
        let name = &self.program.tables[table.index()].name;
        self.graph.name(result, || alloc::format!("{name} choice"));
        let member = self.graph.slice(result, rest - 1, 0);
        Ok(self.graph.choose(is_group, member, entry))
    }
}

/// Whether a table has an action selector.
pub(crate) fn selects(environment: &Environment, table: TableId) -> bool {
    environment.selector(table).is_some_and(|selector| {
        matches!(&environment.objects[selector.profile.index()], Object::Profile(profile) if profile.selector)
    })
}

/// What a table's lookup says.
pub(crate) fn form_of(environment: &Environment, table: TableId) -> ResultForm {
    let form = &environment.tables.forms()[table.index()];
    ResultForm::new(form, selects(environment, table))
}

/// The condition under which an action runs for an entry.
pub(crate) fn hit_of(walk: &Walk<'_>) -> Option<(Id, Id)> {
    walk.hit.map(|hit| (hit.found, hit.entry))
}

/// How a table is built.
pub(crate) fn kind(form: &Form, seed: u32, cam: bool) -> TableKind {
    if form.keys.is_empty() {
        return TableKind::Default;
    }
    let is_exact = |key: &pipeline::table::KeyForm| key.kind == Compared::Exact;
    if let Some((last, others)) = form.keys.split_last()
        && last.kind == Compared::Lpm
        && others.iter().all(is_exact)
        && form.size > MAX_PARALLEL_ENTRIES
    {
        // Each prefix makes two intervals at most, and all that is beside them one.
        return TableKind::Prefix {
            levels: bits_for(2 * form.size + 1),
        };
    }
    if !form.keys.iter().all(is_exact) {
        return ternary(form.size);
    }
    if cam {
        return TableKind::Cam {
            rows: form.size.max(2),
        };
    }
    let width: u32 = form.keys.iter().map(|key| key.ty.width()).sum();
    exact(width, form.size, seed)
}

/// A table of so many rows that are compared at once.
pub(crate) fn ternary(size: u32) -> TableKind {
    TableKind::Ternary { rows: size.max(2) }
}

/// A table of so many exact matches of so many bits.
pub(crate) fn exact(width: u32, size: u32, seed: u32) -> TableKind {
    // Twice as many places as entries: with four ways there is nearly always one.
    let index = bits_for(size.div_ceil(2).max(2) - 1).max(1);
    let limbs = width.div_ceil(64) as usize;
    let mut draw = (0u64..).map(|number| split_mix(u64::from(seed), number));
    let mut mask = || {
        let mut words: Vec<u64> = draw.by_ref().take(limbs).collect();
        if let (Some(last), used @ 1..) = (words.last_mut(), width % 64) {
            *last &= (1 << used) - 1;
        }
        if words.iter().all(|word| *word == 0) {
            words[0] = 1;
        }
        words
    };
    let hashes = (0..4)
        .map(|_| (0..index).map(|_| mask()).collect())
        .collect();
    // A table that has few entries nearly always has places for them.
    let spare = if size > MAX_PARALLEL_ENTRIES {
        SPARE
    } else {
        0
    };
    TableKind::Exact {
        index,
        hashes,
        spare,
    }
}
