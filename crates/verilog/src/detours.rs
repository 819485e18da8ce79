//! Copies, and packets that begin anew.
//!
//! The replication engine is between two halves of the pipeline: what the second half needs of the first is one vector, which comes out once for
//! each copy, clones first. A packet that is resubmitted or recirculated, and an egress clone, goes back to where packets come in, with another
//! vector of what goes along.

use crate::anew::{Anew, entry};
use crate::graph::{Id, Input, Two};
use crate::map::{SESSION, Source};
use crate::state::{Lookup, Split, State, Target, Walk, reason};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use p4::ir::{SectionKind, SlotId};
use pipeline::engine::{Asked, Path, Step};
use pipeline::environment::Unsupported;
use pipeline::externs::Carried;

/// Where things stand in the vector, from the lowest bit on. Of a packet that has just come in it is zero.
mod at {
    pub(super) const ENTRY: u32 = 0;
    pub(super) const SET: u32 = 2;
    /// How often the packet began anew.
    pub(super) const PASSES: u32 = 10;
    pub(super) const SESSION: u32 = 21;
    pub(super) const FIELDS: u32 = 37;
}

/// So often a packet begins anew: as often as a pipeline in software lets it.
const PASSES: u32 = 1024;

/// Copies of a packet by a session, which ingress asked for.
struct Clones {
    when: Id,
    session: Id,
    state: State,
    /// Where they end that come no further.
    ends: Vec<(Id, u8)>,
}

/// What is known of packets off the path while it is followed.
#[derive(Default)]
pub(crate) struct Off {
    /// A clone that came back, for egress.
    returned: Option<State>,
    clones: Option<Clones>,
    resubmitted: Option<(Id, State)>,
    egress_clones: Option<(Id, State)>,
    recirculated: Option<Id>,
    /// Whether the packet is a clone that came back.
    second: Option<Id>,
}

impl<'a> Walk<'a> {
    /// What comes with a packet; behind the replication engine as it was before it.
    pub(crate) fn arrival(&mut self, input: Input) -> Id {
        let value = self.graph.input(input);
        self.behind(value)
    }

    /// A value of the beginning, here.
    pub(crate) fn behind(&mut self, value: Id) -> Id {
        match self.split {
            Some(_) => self.graph.crossed(value),
            None => value,
        }
    }

    /// The packet's entry, here.
    fn entry(&mut self) -> Id {
        let entry = match self.along.is_empty() {
            true => self.graph.constant(2, 0u8),
            false => self.graph.along(at::ENTRY, 2),
        };
        self.behind(entry)
    }

    /// Whether it came by this entry.
    pub(crate) fn came(&mut self, by: u8) -> Id {
        if !self.along.entries.contains(&by) {
            return self.graph.bit(false);
        }
        let entry = self.entry();
        self.graph.equal_to(entry, by)
    }

    /// Where packets begin: which are on the path, and what went along with them.
    pub(crate) fn enter(
        &mut self,
        path: &'a Path,
        state: &mut State,
        off: &mut Off,
    ) -> Result<Id, Unsupported> {
        let mut returned = self.begin()?;
        if matches!(self.detours.asked, Asked::ByExterns { .. }) {
            // A clone that comes back begins as every packet does: with its port and its time.
            self.arrive(path, &mut returned, off)?;
        }
        let set = self.graph.along(at::SET, 8);
        let mut from = at::FIELDS;
        let fields = self.along.fields.clone();
        for ((entry, place), to) in fields {
            let width = self.graph.width(state.values[place]);
            let mut value = self.graph.along(from, width);
            from += width;
            if place == self.extra.position {
                // Whoever left it there had read whole bytes.
                let (bytes, zeros) = (self.graph.slice(value, 15, 3), self.graph.constant(3, 0u8));
                value = self.graph.concat(&[bytes, zeros]);
            }
            for (of, to) in to {
                let mut when = self.came(entry);
                if let Some(of) = of {
                    let same = self.graph.equal_to(set, of);
                    when = self.graph.and(when, same);
                }
                let values = match entry {
                    entry::CLONED => &mut returned.values,
                    _ => &mut state.values,
                };
                // The widths of both are the same, but for slots of whole types that architectures copy.
                if self.graph.width(values[to]) == width {
                    values[to] = self.graph.choose(when, value, values[to]);
                }
            }
        }
        let second = self.came(entry::CLONED);
        off.second = Some(second);
        if !self.graph.is_false(second) {
            off.returned = Some(returned);
        }
        for slot in &self.detours.kind {
            let value = self.kind(*slot, state.values[slot.index()], off);
            state.values[slot.index()] = value;
        }
        Ok(self.graph.not(second))
    }

    /// The number of the packet's way in a slot that has this on the path.
    pub(crate) fn kind(&mut self, slot: SlotId, value: Id, off: &Off) -> Id {
        if !self.detours.kind.contains(&slot) {
            return value;
        }
        let kinds = self.detours.kinds;
        let width = self.graph.width(value);
        let mut value = value;
        let mut otherwise = |walk: &mut Self, when: Id, kind: u64| {
            let kind = walk.graph.constant(width, kind);
            value = walk.graph.choose(when, kind, value);
        };
        if !self.egress {
            for (by, kind) in [
                (entry::RESUBMITTED, kinds.resubmitted),
                (entry::RECIRCULATED, kinds.recirculated),
            ] {
                let came = self.came(by);
                otherwise(self, came, kind);
            }
        } else if self.split.is_some() {
            let copy = self.graph.input(Input::IsCopy);
            otherwise(self, copy, kinds.replicated);
            if let Some(second) = off.second {
                let clone = self.is_clone();
                otherwise(self, clone, kinds.ingress_clone);
                let second = self.graph.crossed(second);
                otherwise(self, second, kinds.egress_clone);
            }
        }
        value
    }

    /// Behind the replication engine: whether it is a clone.
    fn is_clone(&mut self) -> Id {
        self.graph.input(Input::IsClone)
    }

    /// What a slot is given in place of a value of the path, since copies have others.
    pub(crate) fn of_copy(&mut self, slot: SlotId, value: Id, off: &Off) -> Id {
        if self.split.is_some() && self.detours.instance.contains(&slot) {
            let own = self.graph.input(Input::CopyInstance);
            let own = self.graph.resize(own, self.graph.width(value));
            return self.of_any_copy(own, value);
        }
        self.kind(slot, value, off)
    }

    /// A value of copies and clones, and that of others.
    fn of_any_copy(&mut self, own: Id, value: Id) -> Id {
        let (copy, clone) = (self.graph.input(Input::IsCopy), self.is_clone());
        let any = self.graph.or(copy, clone);
        self.graph.choose(any, own, value)
    }

    /// The number of a set of slots, from 1 on.
    pub(crate) fn carried(
        &mut self,
        carried: &Carried,
        number: &dyn Fn(usize) -> Id,
    ) -> Result<u8, Unsupported> {
        let slots = match carried {
            Carried::Nothing => Vec::new(),
            Carried::Slots(slots) => slots.to_vec(),
            Carried::List(list) => {
                let Some(list) = self.graph.number(number(*list)) else {
                    return self.cannot("the number of a field list depends on the packet; hardware has to know which fields go along");
                };
                let Asked::ByExterns { lists, .. } = &self.detours.asked else {
                    return self.cannot("this architecture has no field lists");
                };
                let list = u32::try_from(list).unwrap_or(u32::MAX);
                lists.get(&list).cloned().unwrap_or_default()
            }
        };
        let known = self.sets.iter().position(|set| *set == slots);
        let place = known.unwrap_or_else(|| {
            self.sets.push(slots);
            self.sets.len() - 1
        });
        match u8::try_from(place + 1) {
            Ok(number) => Ok(number),
            Err(_) => self.cannot("more than 255 sets of fields go along with packets"),
        }
    }

    /// Slots' places in [`State::values`]: their values, and their lengths if they are varbits.
    fn places(&self, slots: &[SlotId]) -> Vec<usize> {
        let places = slots
            .iter()
            .map(|slot| [Some(slot.index()), self.lengths.get(slot).copied()]);
        places.flatten().flatten().collect()
    }

    /// Notes that the sets that a number may name go along with packets for an entry.
    fn goes_along(&mut self, by: u8, set: Id) {
        self.found.entries.insert(by);
        let mut numbers = BTreeSet::new();
        let known = self.graph.leaf_by_leaf(set, &mut |graph, number| {
            numbers.insert(number);
            graph.bit(true)
        });
        if known.is_none() {
            numbers = (1..=self.sets.len() as u64).collect();
        }
        for (index, slots) in self.sets.iter().enumerate() {
            if !numbers.contains(&(index as u64 + 1)) {
                continue;
            }
            for place in self.places(slots) {
                let to = self.found.fields.entry((by, place)).or_default();
                to.insert((Some(index as u8 + 1), place));
            }
        }
    }

    /// Notes that slots go along to others.
    fn moves_along(&mut self, by: u8, moves: &[(SlotId, SlotId)]) {
        self.found.entries.insert(by);
        for (from, to) in moves {
            let (from, to) = (self.places(&[*from]), self.places(&[*to]));
            for (from, to) in from.into_iter().zip(to) {
                let all = self.found.fields.entry((by, from)).or_default();
                all.insert((None, to));
            }
        }
    }

    /// What externs asked for, where a section with externs has ended. Gives who goes on along the path.
    pub(crate) fn asked(
        &mut self,
        path: &'a Path,
        alive: Id,
        state: &mut State,
        off: &mut Off,
    ) -> Result<Id, Unsupported> {
        let (limit, truncate) = (
            state.values[self.extra.limit],
            state.values[self.extra.truncate],
        );
        let less = self.graph.two(Two::Less, truncate, limit);
        state.values[self.extra.limit] = self.graph.choose(less, truncate, limit);
        state.values[self.extra.truncate] = self.graph.constant(32, u32::MAX);
        let Asked::ByExterns {
            metadata, headers, ..
        } = &self.detours.asked
        else {
            return Ok(alive);
        };
        let wants = |walk: &mut Self, state: &State, place: usize| {
            let none = walk.graph.equal_to(state.values[place], 0u8);
            let some = walk.graph.not(none);
            walk.graph.and(alive, some)
        };
        let mut alive = alive;
        let clones = wants(self, state, self.extra.clone);
        if !self.graph.is_false(clones) {
            let set = state.values[self.extra.clone];
            if self.egress {
                self.goes_along(entry::CLONED, set);
                let mut own = self.places(headers);
                own.extend([self.extra.position, self.extra.payload]);
                for place in own {
                    let to = self.found.fields.entry((entry::CLONED, place));
                    to.or_default().insert((None, place));
                }
                off.egress_clones = Some((clones, state.clone()));
            } else {
                let mut ends = core::mem::take(&mut self.ends);
                let mut copy = self.parsed_again(path, clones, metadata, off)?;
                core::mem::swap(&mut ends, &mut self.ends);
                for (index, slots) in self.sets.clone().iter().enumerate() {
                    let this = self.graph.equal_to(set, index as u64 + 1);
                    for place in self.places(slots) {
                        let (kept, other) = (state.values[place], copy.values[place]);
                        copy.values[place] = self.graph.choose(this, kept, other);
                    }
                }
                off.clones = Some(Clones {
                    when: clones,
                    session: state.values[self.extra.session],
                    state: copy,
                    ends,
                });
            }
        }
        if !self.egress {
            let again = wants(self, state, self.extra.resubmit);
            if !self.graph.is_false(again) {
                self.goes_along(entry::RESUBMITTED, state.values[self.extra.resubmit]);
                off.resubmitted = Some((again, state.clone()));
                let not = self.graph.not(again);
                alive = self.graph.and(alive, not);
            }
        }
        let none = self.graph.constant(8, 0u8);
        state.values[self.extra.clone] = none;
        state.values[self.extra.resubmit] = none;
        if !self.egress {
            state.values[self.extra.recirculate] = none;
        }
        Ok(alive)
    }

    /// The packet as it came, parsed anew as an ingress clone.
    fn parsed_again(
        &mut self,
        path: &'a Path,
        when: Id,
        metadata: &[SlotId],
        off: &mut Off,
    ) -> Result<State, Unsupported> {
        let mut state = self.begin()?;
        let kind = |walk: &mut Self, state: &mut State| {
            for slot in &walk.detours.kind {
                let width = walk.graph.width(state.values[slot.index()]);
                let kind = walk.detours.kinds.ingress_clone;
                state.values[slot.index()] = walk.graph.constant(width, kind);
            }
        };
        kind(self, &mut state);
        let first = self.arrive(path, &mut state, off)?;
        if let Some(Step::Run(section)) = path.steps.get(first) {
            let section = &self.program.sections[section.index()];
            self.error = section.error;
            let ends = self.body(&section.body, (when, state), true)?;
            state = self
                .meet(ends.into_iter().map(|(edge, _)| edge).collect())?
                .1;
            if section.kind == SectionKind::Parser && crate::hashes::sums_payload(self.program) {
                state.values[self.extra.payload] = self.payload_sum(&state)?;
            }
        }
        for step in path.steps[first + 1..]
            .iter()
            .take_while(|step| matches!(step, Step::Set(..)))
        {
            self.set(step, &mut state, off)?;
        }
        for place in self.places(metadata) {
            let width = self.graph.width(state.values[place]);
            state.values[place] = self.graph.constant(width, 0u8);
        }
        kind(self, &mut state);
        self.arrive(path, &mut state, off)?;
        Ok(state)
    }

    /// What the path sets before it runs anything; gives the number of the first step that runs something.
    fn arrive(
        &mut self,
        path: &'a Path,
        state: &mut State,
        off: &mut Off,
    ) -> Result<usize, Unsupported> {
        let runs = |step: &Step| matches!(step, Step::Run(_));
        let first = path.steps.iter().position(runs).unwrap_or(0);
        for step in &path.steps[..first] {
            self.set(step, state, off)?;
        }
        Ok(first)
    }

    /// A slot that is not zero asks for something. Gives who goes on along the path.
    pub(crate) fn leaves(
        &mut self,
        slot: SlotId,
        rest: &[Step],
        alive: Id,
        state: &mut State,
        off: &mut Off,
    ) -> Result<Id, Unsupported> {
        let value = state.values[slot.index()];
        let zero = self.graph.equal_to(value, 0u8);
        let some = self.graph.not(zero);
        let asks = self.graph.and(alive, some);
        match &self.detours.asked {
            Asked::BySlots {
                clone: (flag, session),
                ..
            } if *flag == slot => {
                if !self.graph.is_false(asks) {
                    let session = self.graph.resize(state.values[session.index()], 16);
                    off.clones = Some(Clones {
                        when: asks,
                        session,
                        state: self.begin()?,
                        ends: Vec::new(),
                    });
                }
                Ok(alive)
            }
            Asked::BySlots {
                resubmit,
                cloned,
                resubmitted,
                ..
            } if *resubmit == slot => {
                if let Some(mut clones) = off.clones.take() {
                    let mut to = self.begin()?;
                    for (from, place) in cloned {
                        let (from, place) = (self.places(&[*from]), self.places(&[*place]));
                        for (from, place) in from.into_iter().zip(place) {
                            to.values[place] = state.values[from];
                        }
                    }
                    clones.state = to;
                    off.clones = Some(clones);
                }
                if self.graph.is_false(asks) {
                    return Ok(alive);
                }
                self.moves_along(entry::RESUBMITTED, resubmitted);
                off.resubmitted = Some((asks, state.clone()));
                let not = self.graph.not(asks);
                Ok(self.graph.and(alive, not))
            }
            Asked::BySlots {
                egress_clone: (flag, session),
                egress_cloned,
                ..
            } if *flag == slot => {
                if !self.graph.is_false(asks) {
                    let session = self.graph.resize(state.values[session.index()], 16);
                    state.values[self.extra.session] = session;
                    self.moves_along(entry::CLONED, egress_cloned);
                    off.egress_clones = Some((asks, state.clone()));
                }
                Ok(alive)
            }
            _ => self.replicate(Some(slot), rest, alive, state, off),
        }
    }

    /// Who goes through a deparser though it is dropped: what clones.
    pub(crate) fn with_clones(&mut self, alive: Id, off: &Off) -> Id {
        if !matches!(self.detours.asked, Asked::BySlots { .. }) {
            return alive;
        }
        let clones = match (self.egress, &off.clones, &off.egress_clones) {
            (false, Some(clones), _) => clones.when,
            (true, _, Some((when, _))) => *when,
            _ => return alive,
        };
        self.graph.or(alive, clones)
    }

    /// Packets for this port begin anew with what they would leave with.
    pub(crate) fn recirculates(&mut self, when: Id, off: &mut Off) {
        if let Asked::BySlots { recirculated, .. } = &self.detours.asked
            && !self.graph.is_false(when)
        {
            self.moves_along(entry::RECIRCULATED, recirculated);
            off.recirculated = Some(when);
        }
    }

    /// Goes through the replication engine, if anybody asks for copies: packets of which this slot is not zero go to the group with this
    /// number.
    pub(crate) fn replicate(
        &mut self,
        slot: Option<SlotId>,
        rest: &[Step],
        alive: Id,
        state: &mut State,
        off: &mut Off,
    ) -> Result<Id, Unsupported> {
        let number = match slot {
            Some(slot) => state.values[slot.index()],
            None => self.graph.constant(16, 0u8),
        };
        let grouped = self.graph.number(number) != Some(0);
        let returned = off.returned.take();
        let clones = off.clones.take();
        if !grouped && returned.is_none() && clones.is_none() {
            return Ok(alive);
        }
        let zero = self.graph.constant(8, 0u8);
        let no = self.graph.bit(false);
        let (group, start, count) = match grouped {
            true => self.group(number, alive),
            false => (no, zero, zero),
        };
        let second = off.second.unwrap_or(no);
        let mut split = Split {
            group,
            start,
            count,
            clone_start: zero,
            clone_count: zero,
            only: second,
        };
        // What clones are, and what their session says.
        let mut clone_state = None;
        let mut told = None;
        if returned.is_some() || clones.is_some() {
            let mut when = second;
            let mut session = self.graph.along(at::SESSION, 16);
            let mut of_clones = returned;
            if let Some(clones) = &clones {
                when = self.graph.or(when, clones.when);
                session = self.graph.choose(second, session, clones.session);
                of_clones = Some(match of_clones {
                    Some(other) => self.either(second, &other, &clones.state),
                    None => clones.state.clone(),
                });
            }
            clone_state = of_clones;
            let (hit, result) = self.session(session);
            split.clone_start = self.graph.slice(result, 56, 49);
            let count = self.graph.slice(result, 7, 0);
            let there = self.graph.and(when, hit);
            split.clone_count = self.graph.choose(there, count, zero);
            let (most, class) = (
                self.graph.slice(result, 39, 8),
                self.graph.slice(result, 47, 40),
            );
            told = Some((most, class));
        }
        self.split = Some(split);
        let clone = self.is_clone();
        let none = self.graph.constant(16, 0u8);
        for (place, value) in state.values.iter_mut().enumerate() {
            *value = self.graph.crossed(*value);
            if let Some(of_clones) = &clone_state {
                let own = self.graph.crossed(of_clones.values[place]);
                *value = self.graph.choose(clone, own, *value);
            }
        }
        if let Some(of_clones) = &clone_state {
            state.least = state.least.min(of_clones.least);
            state.most = state.most.max(of_clones.most);
        }
        if let Some(middle) = &mut self.middle {
            middle.front = self.graph.crossed(middle.front);
            for part in [&mut middle.bits, &mut middle.start] {
                *part = self.graph.crossed(*part);
                if clone_state.is_some() {
                    // Clones are as the packet came.
                    *part = self.graph.choose(clone, none, *part);
                }
            }
        }
        let original = self.graph.not(clone);
        for (when, _) in &mut self.ends {
            *when = self.graph.crossed(*when);
            if clone_state.is_some() {
                *when = self.graph.and(*when, original);
            }
        }
        for (when, code) in clones.map(|clones| clones.ends).unwrap_or_default() {
            let when = self.graph.crossed(when);
            let when = self.graph.and(when, clone);
            self.ends.push((when, code));
        }
        let nobody = self.graph.input(Input::NoCopy);
        let came = self.graph.crossed(second);
        let empty = self.graph.and(nobody, came);
        self.ends.push((empty, reason::NOTHING));
        if grouped {
            self.ends.push((nobody, reason::NO_GROUP));
        }
        if let Some((most, class)) = told {
            let most = self.graph.crossed(most);
            let limit = state.values[self.extra.limit];
            state.values[self.extra.limit] = self.graph.choose(clone, most, limit);
            self.class = Some(class);
        }
        if let Some(port) = port_of(rest) {
            let value = state.values[port.index()];
            let own = self.graph.input(Input::CopyPort);
            let own = self.graph.resize(own, self.graph.width(value));
            let own = match clone_state.is_some() {
                true => self.of_any_copy(own, value),
                false => {
                    let copy = self.graph.input(Input::IsCopy);
                    self.graph.choose(copy, own, value)
                }
            };
            state.values[port.index()] = own;
        }
        let mut alive = self.graph.crossed(alive);
        if clone_state.is_some() {
            alive = self.graph.or(alive, clone);
        }
        let somebody = self.graph.not(nobody);
        Ok(self.graph.and(alive, somebody))
    }

    /// A state that is the first where a condition holds.
    fn either(&mut self, when: Id, yes: &State, no: &State) -> State {
        let values = yes.values.iter().zip(&no.values);
        let values = values.map(|(yes, no)| self.graph.choose(when, *yes, *no));
        State {
            values: values.collect(),
            least: yes.least.min(no.least),
            most: yes.most.max(no.most),
        }
    }

    /// Whether the packet goes to a group, its first place, and how many it has.
    fn group(&mut self, number: Id, alive: Id) -> (Id, Id, Id) {
        let width = self.graph.width(number).max(16);
        let number = self.graph.resize(number, width);
        let none = self.graph.equal_to(number, 0u8);
        let some = self.graph.not(none);
        let group = self.graph.and(alive, some);
        // A group's number is one of 16 bits wherever it is declared.
        let key = self.graph.resize(number, 16);
        let result = self.graph.lookup(self.lookups.len() as u32, 1 + 8 + 1 + 8);
        self.lookups.push(Lookup {
            asked: Target::Table(Source::Groups),
            keys: alloc::vec![key],
            result,
            when: None,
            latency: 2,
            second: false,
        });
        self.graph.name(result, || "multicast group".into());
        let hit = self.graph.slice(result, 17, 17);
        let start = self.graph.slice(result, 16, 9);
        let count = self.graph.slice(result, 7, 0);
        let zero = self.graph.constant(8, 0u8);
        (group, start, self.graph.choose(hit, count, zero))
    }

    /// Whether there is a clone session, and what is known of it.
    fn session(&mut self, number: Id) -> (Id, Id) {
        let width = 1 + SESSION.data();
        let result = self.graph.lookup(self.lookups.len() as u32, width);
        self.lookups.push(Lookup {
            asked: Target::Table(Source::Sessions),
            keys: alloc::vec![number],
            result,
            when: None,
            latency: 2,
            second: false,
        });
        self.graph.name(result, || "clone session".into());
        (self.graph.slice(result, width - 1, width - 1), result)
    }

    /// The class of service of clones, in place of the packet's.
    pub(crate) fn class_of(&mut self, slot: SlotId, value: Id) -> Id {
        let Some(class) = self.class.filter(|_| self.detours.class == Some(slot)) else {
            return value;
        };
        let class = self.graph.crossed(class);
        let class = self.graph.resize(class, self.graph.width(value));
        let clone = self.is_clone();
        self.graph.choose(clone, class, value)
    }

    /// What is told at the end, when all that the pipeline does with a packet is known.
    pub(crate) fn anew(&mut self, alive: Id, state: &State, off: &Off) -> Option<Anew> {
        let externs = matches!(self.detours.asked, Asked::ByExterns { .. });
        let no = self.graph.bit(false);
        let zero = self.graph.constant(8, 0u8);
        let mut recirculated = off.recirculated;
        let mut set = zero;
        if externs {
            let wanted = state.values[self.extra.recirculate];
            let none = self.graph.equal_to(wanted, 0u8);
            let some = self.graph.not(none);
            let when = self.graph.and(alive, some);
            if !self.graph.is_false(when) {
                self.goes_along(entry::RECIRCULATED, wanted);
                recirculated = Some(when);
                set = wanted;
            }
        }
        if self.found.is_empty() {
            return None;
        }
        let recirculated = recirculated.unwrap_or(no);
        let mut raw = no;
        let mut at_ingress = None;
        if let Some((when, then)) = &off.resubmitted {
            raw = self.behind(*when);
            if self.split.is_some() {
                let clone = self.is_clone();
                let original = self.graph.not(clone);
                raw = self.graph.and(raw, original);
            }
            if externs {
                let wanted = self.behind(then.values[self.extra.resubmit]);
                set = self.graph.choose(raw, wanted, set);
            }
            at_ingress = Some(then);
        }
        let (one, two) = (
            self.graph.constant(2, entry::RESUBMITTED),
            self.graph.constant(2, entry::RECIRCULATED),
        );
        let none = self.graph.constant(2, 0u8);
        let again = self.graph.choose(recirculated, two, none);
        let again = self.graph.choose(raw, one, again);
        let (clone, clone_set, session) = match &off.egress_clones {
            Some((when, then)) => {
                let set = match externs {
                    true => then.values[self.extra.clone],
                    false => zero,
                };
                (*when, set, then.values[self.extra.session])
            }
            None => (no, zero, self.graph.constant(16, 0u8)),
        };
        let passes = match self.along.is_empty() {
            true => self.graph.constant(11, 0u8),
            false => self.graph.along(at::PASSES, 11),
        };
        let passes = self.behind(passes);
        let full = self.graph.equal_to(passes, PASSES);
        let step = self.graph.constant(11, 1u8);
        let passes = self.graph.two(Two::Add, passes, step);
        // The most significant first.
        let mut parts = Vec::new();
        let fields: Vec<(u8, usize)> = self.found.fields.keys().copied().collect();
        for (by, place) in fields.into_iter().rev() {
            let width = self.graph.width(state.values[place]);
            parts.push(match by {
                entry::RESUBMITTED => match at_ingress {
                    Some(then) => self.behind(then.values[place]),
                    None => self.graph.constant(width, 0u8),
                },
                entry::CLONED if externs => match &off.egress_clones {
                    Some((_, then)) => then.values[place],
                    None => self.graph.constant(width, 0u8),
                },
                _ => state.values[place],
            });
        }
        parts.extend([session, passes]);
        let vector = self.graph.concat(&parts);
        Some(Anew {
            entry: again,
            set,
            clone,
            clone_set,
            raw,
            full,
            vector,
            clones_raw: externs,
        })
    }
}

/// Which slot the path takes the port from.
fn port_of(steps: &[Step]) -> Option<SlotId> {
    steps.iter().find_map(|step| match step {
        Step::Port(slot) => Some(*slot),
        _ => None,
    })
}
