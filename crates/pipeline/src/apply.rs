//! What a table does with a packet, but for running the action.

use crate::calls;
use crate::context::{Context, Hit};
use crate::state::meter::Colour;
use crate::state::profile::Reference;
use crate::table::{Choice, Table};
use p4::ir::TableId;

/// What a table says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The entry that was hit.
    pub entry: Option<u32>,
    /// The action to run, by its index in [`p4::ir::Table::actions`]. None when an entry's group has no members and the table no action for that.
    pub action: Option<u32>,
    /// The member of the action profile.
    pub member: Option<u32>,
}

/// Looks a packet up, counts it, and puts the action's arguments into their slots. `key` is as [`Table::lookup`] wants it; `selectors` has the
/// values of the keys that select among a group's members, one behind the other, each in whole cells: [`selector_cells`](crate::environment::Environment::selector_cells) of them.
///
/// Afterwards [`Context::hit`] tells direct objects which entry it is, until whoever runs the action takes it away.
pub fn choose(
    id: TableId,
    table: &Table,
    key: &[u64],
    selectors: &[u64],
    cells: &mut [u64],
    context: &mut Context,
) -> Chosen {
    let found = table.lookup(key);
    let mut chosen = Chosen {
        entry: found.entry,
        action: None,
        member: None,
    };
    context.hit = found.entry.map(|entry| Hit { table: id, entry });
    match found.entry {
        Some(entry) => hit(id, table, entry, context),
        None => miss(id, key, context),
    }
    let reference = match found.choice {
        Choice::Action(action) => {
            bind(id, action, found.arguments.cells(), cells, context);
            chosen.action = Some(action);
            return chosen;
        }
        Choice::Member(member) => Reference::Member(member),
        Choice::Group(group) => Reference::Group(group),
    };
    let environment = context.environment.clone();
    let Some(selector) = &environment.selectors[id.index()] else {
        return chosen;
    };
    let hash = match reference {
        Reference::Member(_) => 0,
        Reference::Group(_) => calls::select(context, selector, selectors),
    };
    let Some(contents) = context.profile(selector.profile) else {
        return chosen;
    };
    if let Some((number, member)) = contents.resolve(reference, hash) {
        chosen.member = Some(number);
        let action = selector.actions.get(member.action as usize);
        // An action that only the other table has cannot be run here.
        if let Some(action) = action.copied().filter(|action| *action != u32::MAX) {
            let arguments = member.arguments.clone();
            bind(id, action, arguments.iter().copied(), cells, context);
            chosen.action = Some(action);
        }
    } else if let (Reference::Group(_), Some((action, arguments))) =
        (reference, &selector.empty_group)
    {
        bind(id, *action, arguments.iter().copied(), cells, context);
        chosen.action = Some(*action);
    }
    chosen
}

/// What happens at each hit: the time is noted, v1model's direct counters count, and its direct meters meter, once, whether the action reads
/// their colour or not.
#[inline]
pub fn hit(id: TableId, table: &Table, entry: u32, context: &mut Context) {
    table.touch(entry, context.now);
    let environment = &*context.environment;
    if let Some(meter) = environment.metered[id.index()]
        && let Some(meter) = environment.meter(meter)
    {
        let (index, bytes) = (u64::from(entry), u64::from(context.length));
        context.colour = meter.execute(index, context.now, bytes, Colour::Green);
    }
    for counter in &environment.implicit[id.index()] {
        if let Some(counter) = environment.counter(*counter) {
            counter.count(u64::from(entry), u64::from(context.length));
        }
    }
}

/// Action at each miss: of a table that packets add entries to the key is noted.
#[inline]
pub fn miss(id: TableId, key: &[u64], context: &mut Context) {
    if context.environment.program.tables[id.index()].adds_on_miss() {
        context.missed.note(id, key);
    }
}

/// Puts an action's arguments into their slots.
fn bind(
    id: TableId,
    action: u32,
    mut arguments: impl Iterator<Item = u64>,
    cells: &mut [u64],
    context: &Context,
) {
    let program = &context.environment.program;
    let listed = &program.tables[id.index()].actions[action as usize];
    for (_, slot, _) in &program.actions[listed.action.index()].parameters {
        let range = context.environment.layout.range(*slot);
        for (cell, value) in cells[range].iter_mut().zip(&mut arguments) {
            *cell = value;
        }
    }
}
