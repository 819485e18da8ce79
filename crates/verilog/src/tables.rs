//! Tables where the program applies them: a lookup, and then the action that it names.

use crate::graph::Id;
use crate::map::{ResultForm, Source, TableKind, bits_for};
use crate::state::{Edge, Hit, Lookup, Walk};
use alloc::vec::Vec;
use node::random::split_mix;
use p4::ir::{Extern, Library, MatchKind, TableId, ValueSetId};
use pipeline::environment::Unsupported;
use pipeline::table::{Form, MatchKind as Compared};

/// Longest prefixes of no more entries than these are compared at once.
const FEW: u32 = 32;

/// What a value set's lookup says beside hit: nothing that anybody wants.
pub(crate) const MEMBER: ResultForm = ResultForm {
    entry: 1,
    action: 1,
    arguments: 0,
};

impl<'a> Walk<'a> {
    /// Whether keys are in a value set.
    pub(crate) fn value_set(&mut self, set: ValueSetId, keys: &[Id]) -> Id {
        let form = &self.program.value_sets[set.index()];
        let keys = keys[..form.fields.len().min(keys.len())].to_vec();
        let width = 1 + MEMBER.data();
        let result = self.graph.lookup(self.lookups.len() as u32, width);
        self.lookups.push(Lookup {
            source: Source::ValueSet(set),
            keys,
            result,
            latency: 2,
            second: self.split.is_some(),
        });
        let name = &form.name;
        self.graph.name(result, || alloc::format!("{name} result"));
        self.graph.slice(result, width - 1, width - 1)
    }

    /// Looks a table up and runs the action; the flag says that the action ended in `exit`.
    pub(crate) fn apply(
        &mut self,
        id: TableId,
        (when, state): Edge,
    ) -> Result<Vec<(Edge, bool)>, Unsupported> {
        let table = &self.program.tables[id.index()];
        let form = &self.environment.tables.forms()[id.index()];
        let result_form = ResultForm::new(form);
        let mut keys = Vec::new();
        for key in &table.keys {
            if key.match_kind == MatchKind::Selector {
                continue;
            }
            keys.push(self.value(&key.value, &state)?);
        }
        if keys.len() < table.keys.len() {
            return self.cannot(alloc::format!(
                "table `{}` has an action selector, which this hardware has not; name the action in the table's entries",
                table.name
            ));
        }
        let width = 1 + result_form.data();
        let result = self.graph.lookup(self.lookups.len() as u32, width);
        let latency = kind(form, id.0).latency();
        self.lookups.push(Lookup {
            source: Source::Table(id),
            keys,
            result,
            latency,
            second: self.split.is_some(),
        });
        let name = &table.name;
        self.graph.name(result, || alloc::format!("{name} result"));
        let hit = self.graph.slice(result, width - 1, width - 1);
        let entry = self
            .graph
            .slice(result, width - 2, width - 1 - result_form.entry);
        let action = self.graph.slice(
            result,
            result_form.arguments + result_form.action - 1,
            result_form.arguments,
        );
        self.graph.name(hit, || alloc::format!("{name} hit"));
        self.graph.name(action, || alloc::format!("{name} action"));
        self.graph.name(entry, || alloc::format!("{name} entry"));
        let found = self.graph.and(when, hit);
        for object in &table.direct {
            match &self.program.objects[object.index()].kind {
                Extern::DirectCounter(Library::V1Model) => self.count(*object, entry, found)?,
                Extern::DirectCounter(Library::Psa) => {}
                other => {
                    return self.cannot(alloc::format!(
                        "table `{name}` has a `{other}`, which this hardware has not"
                    ));
                }
            }
        }
        let mut state = state;
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
                let argument = self.graph.slice(result, above - 1, above - width);
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

/// The condition under which an action runs for an entry.
pub(crate) fn hit_of(walk: &Walk<'_>) -> Option<(Id, Id)> {
    walk.hit.map(|hit| (hit.found, hit.entry))
}

/// How a table is built.
pub(crate) fn kind(form: &Form, seed: u32) -> TableKind {
    if form.keys.is_empty() {
        return TableKind::Default;
    }
    let is_exact = |key: &pipeline::table::KeyForm| key.kind == Compared::Exact;
    if let Some((last, others)) = form.keys.split_last()
        && last.kind == Compared::Lpm
        && others.iter().all(is_exact)
        && form.size > FEW
    {
        // Each prefix makes two intervals at most, and all that is beside them one.
        return TableKind::Prefix {
            levels: bits_for(2 * form.size + 1),
        };
    }
    if !form.keys.iter().all(is_exact) {
        return TableKind::Ternary {
            rows: form.size.max(2),
        };
    }
    let width: u32 = form.keys.iter().map(|key| key.ty.width()).sum();
    exact(width, form.size, seed)
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
    TableKind::Exact { index, hashes }
}
