//! Copies the changes that packets have made to timed tables to the environment. The other direction is as for all tables.

use crate::kernel::Kernel;
use crate::maps::{Purpose, exact_key, row_bytes};
use crate::rows::{cells, entry, row, timeout};
use crate::timed::{COUNTERS, STARTS, TIMEOUT, counters, tables};
use node::Time;
use p4::ir::TableId;
use pipeline::environment::Environment;
use pipeline::table::{Call, Form, Installed, Update};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

impl Kernel {
    /// Copies the changes of timed tables to the environment. This thread must not hold a view.
    pub(crate) fn settle(&mut self, now: Time) -> io::Result<()> {
        let environment = Arc::clone(&self.environment);
        if let Some(flows) = self.flows()? {
            environment.nic.set_flows(flows);
        }
        for (id, form) in tables(&environment) {
            let Some(number) = self.number(Purpose::Table(id)) else {
                continue;
            };
            environment.tables.tick(now);
            let mut there = self.entries.remove(&id).unwrap_or_default();
            let installed = environment.tables.entries(id).into_iter();
            let installed = installed.map(|entry| (exact_key(form, &entry.entry.keys), entry));
            let installed: BTreeMap<Vec<u8>, Installed> = installed.collect();
            for (key, row) in self.maps[number].all()? {
                let was = there.get(&key);
                if was == Some(&row) {
                    continue;
                }
                match (was, installed.get(&key)) {
                    (Some(was), Some(installed)) => {
                        changed(&environment, (id, form), installed, (&key, was, &row));
                        there.insert(key, row);
                    }
                    // A controller was first; or has deleted it, and the map will lose it, too.
                    (None, Some(_)) | (Some(_), None) => {}
                    (None, None) if learned(&environment, (id, form), (&key, &row)) => {
                        there.insert(key, row);
                    }
                    // There was no room.
                    (None, None) => self.maps[number].discard(&key)?,
                }
            }
            self.entries.insert(id, there);
        }
        Ok(())
    }

    /// Reverts the changes of a packet to such tables.
    pub(crate) fn undo(&mut self) -> io::Result<()> {
        let environment = Arc::clone(&self.environment);
        for (id, _) in tables(&environment) {
            let Some(number) = self.number(Purpose::Table(id)) else {
                continue;
            };
            let (map, there) = (&self.maps[number], self.entries.get(&id));
            let now: BTreeMap<Vec<u8>, Vec<u8>> = map.all()?.into_iter().collect();
            for key in now.keys() {
                if there.is_none_or(|there| !there.contains_key(key)) {
                    map.discard(key)?;
                }
            }
            for (key, row) in there.into_iter().flatten() {
                if now.get(key) != Some(row) {
                    map.set(key, row)?;
                }
            }
        }
        Ok(())
    }
}

/// Adds an entry of a packet to the environment. `false`: there was no room.
fn learned(
    environment: &Environment,
    (id, form): (TableId, &Form),
    (key, row): (&[u8], &[u8]),
) -> bool {
    let Some(entry) = entry(form, key, row) else {
        return false;
    };
    let row = cells(row);
    let end = row_bytes(form) as usize / 8;
    let starts = Time::from_ns(row[end + STARTS as usize / 8]);
    let Some(installed) = environment.learned(id, entry, starts) else {
        return false;
    };
    let counts = row[end + COUNTERS as usize / 8..].chunks(2);
    for (object, counts) in counters(&environment.program, id).zip(counts) {
        if let Some(counter) = environment.counter(object) {
            counter.set(installed.index as usize, counts[0], counts[1]);
        }
    }
    true
}

/// Copies an entry's row to the environment, except what a controller has changed since the last copy.
fn changed(
    environment: &Environment,
    (id, form): (TableId, &Form),
    installed: &Installed,
    (key, was, is): (&[u8], &[u8], &[u8]),
) {
    let end = row_bytes(form) as usize;
    if was[..end] != is[..end] {
        // Its time had passed, and a packet has added another with the same key.
        if let (Some(entry), Call::Action(_)) = (entry(form, key, is), &installed.entry.call) {
            let _ = environment.tables.update(&Update::Modify(id, entry));
        }
    }
    let ours = cells(&row(environment, id, installed));
    let (was, is) = (cells(was), cells(is));
    let first = end / 8;
    let place = |at: i32| first + at as usize / 8;
    let both = [place(TIMEOUT), place(STARTS)];
    if both.iter().all(|at| ours[*at] == was[*at]) && both.iter().any(|at| was[*at] != is[*at]) {
        let starts = Time::from_ns(is[place(STARTS)]);
        environment.restarted(id, installed, starts, timeout(form, &is));
    }
    for (number, object) in counters(&environment.program, id).enumerate() {
        let at = place(COUNTERS) + 2 * number;
        if let Some(counter) = environment.counter(object)
            && ours[at..at + 2] == was[at..at + 2]
        {
            counter.set(installed.index as usize, is[at], is[at + 1]);
        }
    }
}
