//! Tables whose entries have a time, or come from packets: idle timeouts, PNA's `idle_timeout_with_auto_delete` and `add_on_miss`.
//!
//! Program and process both write their map. So the row has, after an entry's arguments, the values that packets change: its timeout, the
//! begin of its time, and its direct counters.

use p4::ir::{Extern, ObjectId, Program, TableId};
use pipeline::environment::Environment;
use pipeline::table::Form;

/// Offsets after the arguments: the timeout in nanoseconds, where 0 is forever, and the begin of the time.
pub(crate) const TIMEOUT: i32 = 0;
pub(crate) const STARTS: i32 = 8;
/// The direct counters, packets and bytes of each.
pub(crate) const COUNTERS: i32 = 16;

/// Whether the entries of a table have a time or come from packets.
pub(crate) fn is_timed(program: &Program, id: TableId) -> bool {
    let table = &program.tables[id.index()];
    table.adds_on_miss() || table.deletes_idle() || table.idle_timeout
}

/// All such tables.
pub(crate) fn tables(environment: &Environment) -> impl Iterator<Item = (TableId, &Form)> {
    let forms = environment.tables.forms().iter().enumerate();
    let all = forms.map(|(index, form)| (TableId(index as u32), form));
    all.filter(|(id, _)| is_timed(&environment.program, *id))
}

/// Maximum number of cells in the keys of such tables.
pub(crate) fn key_cells(environment: &Environment) -> usize {
    let cells = tables(environment).map(|(_, form)| form.key_cells().max(1));
    cells.max().unwrap_or(0)
}

fn is_counter(program: &Program, object: ObjectId) -> bool {
    matches!(
        program.objects[object.index()].kind,
        Extern::DirectCounter(_)
    )
}

pub(crate) fn counters(program: &Program, id: TableId) -> impl Iterator<Item = ObjectId> + '_ {
    let direct = program.tables[id.index()].direct.iter().copied();
    direct.filter(|object| is_counter(program, *object))
}

/// A direct meter of the table.
pub(crate) fn meter(program: &Program, id: TableId) -> Option<ObjectId> {
    let mut direct = program.tables[id.index()].direct.iter().copied();
    direct.find(|object| !is_counter(program, *object))
}

/// Additional bytes of an entry's row, compared with other tables.
pub(crate) fn bytes(program: &Program, id: TableId) -> u32 {
    match is_timed(program, id) {
        true => COUNTERS as u32 + 16 * counters(program, id).count() as u32,
        false => 0,
    }
}

/// Offset of a direct counter after the arguments.
pub(crate) fn counter_at(program: &Program, id: TableId, object: ObjectId) -> Option<i32> {
    let place = counters(program, id).position(|other| other == object)?;
    Some(COUNTERS + 16 * place as i32)
}
