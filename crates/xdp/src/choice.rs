//! Members of action profiles, and the choice of one among a group of an action selector.
//!
//! A row has the action that an entry's member means, so that a member costs a packet nothing. An entry with a group has the group's number; the
//! group is an array of its members' rows, each as often as its weight says, in a hash of such arrays: it is exchanged as a whole.

use crate::frame::INDEX;
use crate::instruction::{Alu, Compare, R0, R1, R2, R7, R8, Size};
use crate::maps::{self, Kind, Purpose, row_bytes};
use crate::unit::{Code, Fault, LOOKUP, Unit};
use p4::ir::{MatchKind, TableId};
use pipeline::environment::Environment;
use pipeline::state::profile::{Contents, Reference};
use pipeline::table::{Call, Form};
use std::collections::BTreeMap;

/// The action of a row whose argument is the number of a group.
const GROUP: i64 = -2;
/// The action where there is none to run, as `action_run` has it.
const NO_ACTION: u64 = u32::MAX as u64;

/// A row of cells: an action with its arguments; `entry` is 0 for a default action.
fn cells(form: &Form, action: u64, entry: u64, arguments: &[u64]) -> Vec<u8> {
    let cells = [action, entry].into_iter().chain(arguments.iter().copied());
    let mut bytes: Vec<u8> = cells.flat_map(u64::to_ne_bytes).collect();
    bytes.resize(row_bytes(form) as usize, 0);
    bytes
}

/// The row of a member, or of a group without members.
fn resolved(
    environment: &Environment,
    id: TableId,
    contents: &Contents,
    reference: Reference,
    entry: u64,
) -> Vec<u8> {
    let form = &environment.tables.forms()[id.index()];
    let none = cells(form, NO_ACTION, entry, &[]);
    let Some(selector) = environment.selector(id) else {
        return none;
    };
    match (contents.resolve(reference, 0), &selector.empty_group) {
        (Some((_, member)), _) => match selector.actions.get(member.action as usize) {
            Some(action) if *action != u32::MAX => {
                cells(form, u64::from(*action), entry, &member.arguments)
            }
            // The profile's other table has it, this one has not.
            _ => none,
        },
        (None, Some((action, arguments))) if matches!(reference, Reference::Group(_)) => {
            cells(form, u64::from(*action), entry, arguments)
        }
        (None, _) => none,
    }
}

/// The row of a call of an entry, or of a default action, whose `entry` is 0.
pub(crate) fn row(
    environment: &Environment,
    id: TableId,
    contents: &Contents,
    call: &Call,
    entry: u64,
) -> Vec<u8> {
    let form = &environment.tables.forms()[id.index()];
    match call {
        Call::Action(_) => maps::row(form, call, entry),
        Call::Member(member) => {
            resolved(environment, id, contents, Reference::Member(*member), entry)
        }
        Call::Group(group) => cells(form, GROUP as u64, entry, &[u64::from(*group)]),
    }
}

/// The elements of a group's array: how many rows there are to choose from and the row for none, then the rows.
pub(crate) fn elements(
    environment: &Environment,
    id: TableId,
    contents: &Contents,
    group: u32,
) -> Vec<Vec<u8>> {
    let choices = contents.groups.get(&group).map_or(&[][..], |g| g.choices());
    let element = |count: usize, row: Vec<u8>| [&(count as u64).to_ne_bytes()[..], &row].concat();
    let form = &environment.tables.forms()[id.index()];
    let first = match choices.is_empty() {
        true => resolved(environment, id, contents, Reference::Group(group), 0),
        false => cells(form, NO_ACTION, 0, &[]),
    };
    let mut rows = BTreeMap::new();
    let rest = choices.iter().map(|member| {
        let row = rows
            .entry(*member)
            .or_insert_with(|| resolved(environment, id, contents, Reference::Member(*member), 0));
        element(0, row.clone())
    });
    [element(choices.len(), first)]
        .into_iter()
        .chain(rest)
        .collect()
}

/// The map of a table's groups, if entries may name groups.
fn groups_map(environment: &Environment, id: TableId) -> Option<maps::Map> {
    let profile = environment.profile(environment.selector(id)?.profile)?;
    let form = &environment.tables.forms()[id.index()];
    profile.selector.then(|| maps::Map {
        purpose: Purpose::Choices(id),
        kind: Kind::HashOfMaps,
        key: 4,
        value: 8 + row_bytes(form),
        // One of each entry, and the default action's.
        entries: form.size.saturating_add(1),
    })
}

impl Unit<'_> {
    /// Replaces the row at `R8` by that of a member, if it names a group.
    pub(crate) fn choose(&mut self, id: TableId) -> Result<(), Fault> {
        let environment = self.environment;
        let (Some(selector), Some(map)) = (environment.selector(id), groups_map(environment, id))
        else {
            return Ok(());
        };
        let map = self.map_of(map);
        let [single, empty, gone] = [(); 3].map(|()| self.a.label());
        self.a.load(Size::B8, R1, R8, 0);
        self.a.jump_if(Compare::NotEqual, R1, GROUP as i32, single);
        let (group, hash) = (self.take(1)?, self.take(1)?);
        self.a.load(Size::B8, R1, R8, 16);
        self.a.store(Size::B8, R7, group, R1);
        let keys = self.program.tables[id.index()].keys.iter();
        let mut pieces = Vec::new();
        for key in keys.filter(|key| key.match_kind == MatchKind::Selector) {
            pieces.push((self.place(&key.value)?, key.ty.width()));
        }
        self.hash_of(selector.algorithm, &pieces, &[])?;
        self.cut(R1, selector.width.min(64));
        self.a.store(Size::B8, R7, hash, R1);
        self.a.load(Size::B8, R1, R7, group);
        self.a.store(Size::B4, R7, INDEX, R1);
        self.lookup(map, INDEX);
        self.a.jump_if(Compare::Equal, R0, 0, gone);
        self.a.alu(Alu::Move, R8, R0);
        self.a.store_number(Size::B4, R7, INDEX, 0);
        self.element_of(R8);
        self.a.jump_if(Compare::Equal, R0, 0, gone);
        self.a.load(Size::B8, R2, R0, 0);
        self.a.jump_if(Compare::Equal, R2, 0, empty);
        self.a.load(Size::B8, R1, R7, hash);
        self.a.alu(Alu::Modulo, R1, R2);
        self.a.alu(Alu::Add, R1, 1);
        self.a.store(Size::B4, R7, INDEX, R1);
        self.element_of(R8);
        self.a.jump_if(Compare::Equal, R0, 0, gone);
        self.a.bind(empty);
        self.a.alu(Alu::Move, R8, R0);
        self.a.alu(Alu::Add, R8, 8);
        self.a.jump(single);
        // No packet sees an entry before its group.
        self.a.bind(gone);
        self.leave(Code::Beyond);
        self.a.bind(single);
        Ok(())
    }

    /// The element of a map at a register, at [`INDEX`]; `R0` has the address of the value, or zero.
    fn element_of(&mut self, map: crate::instruction::Register) {
        self.a.alu(Alu::Move, R1, map);
        self.a.alu(Alu::Move, R2, R7);
        self.a.alu(Alu::Add, R2, INDEX);
        self.a.call(LOOKUP);
    }
}
