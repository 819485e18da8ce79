//! Rows of timed tables, and their entries.

use crate::maps::{self, row_bytes};
use crate::timed::{TIMEOUT, counters};
use node::Time;
use p4::ir::{ActionCall, KeyMatch, ObjectId, TableId};
use p4::value::Bits;
use pipeline::environment::Environment;
use pipeline::layout::limbs;
use pipeline::table::{Entry, Form, Installed};

/// The row of an entry of the environment.
pub(crate) fn row(environment: &Environment, id: TableId, installed: &Installed) -> Vec<u8> {
    let form = &environment.tables.forms()[id.index()];
    let mut row = maps::row(form, &installed.entry.call, 1);
    let timeout = installed.entry.idle_timeout.map_or(0, Time::as_ns);
    let starts = installed.last_hit.as_ns();
    row.extend([timeout, starts].into_iter().flat_map(u64::to_ne_bytes));
    for object in counters(&environment.program, id) {
        let (packets, bytes) = counts(environment, object, installed.index);
        row.extend([packets, bytes].into_iter().flat_map(u64::to_ne_bytes));
    }
    row
}

fn counts(environment: &Environment, object: ObjectId, index: u32) -> (u64, u64) {
    let counter = environment.counter(object);
    let counts = counter.and_then(|counter| counter.read(index as usize));
    counts.unwrap_or_default()
}

pub(crate) fn cells(bytes: &[u8]) -> Vec<u64> {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|word| u64::from_ne_bytes(*word)).collect()
}

/// The entry of a key and a row in the kernel.
pub(crate) fn entry(form: &Form, key: &[u8], row: &[u8]) -> Option<Entry> {
    let (key, row) = (cells(key), cells(row));
    let keys = form.keys.iter().map(|form| {
        let cells = &key[form.at..form.at + form.cells()];
        KeyMatch::Exact(Bits::from_limbs(form.ty.width(), cells))
    });
    let action = row[0] as u32;
    let mut at = 2;
    let parameters = form.actions.get(action as usize)?.parameters.iter();
    let arguments = parameters.map(|(_, ty)| {
        let first = at;
        at += limbs(ty.width());
        Bits::from_limbs(ty.width(), &row[first..at])
    });
    let arguments = arguments.collect();
    let mut entry = Entry::new(keys.collect(), ActionCall { action, arguments });
    entry.idle_timeout = timeout(form, &row);
    Some(entry)
}

pub(crate) fn timeout(form: &Form, row: &[u64]) -> Option<Time> {
    let nanoseconds = row[(row_bytes(form) as i32 + TIMEOUT) as usize / 8];
    (nanoseconds != 0).then(|| Time::from_ns(nanoseconds))
}
