//! Standing windows and subscriptions of a database, with their limits.

use crate::pattern::{Absence, Pattern, Sequence};
use crate::ring::Ring;
use crate::schema::TableId;
use crate::select::{Catalog, Select};
use crate::standing::Standing;
use crate::syntax::SyntaxError;
use crate::value::Owned;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::task::Waker;

/// Limits of standing windows and subscriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchLimits {
    /// Standing windows and subscriptions together, each of which costs time for each row. Default
    /// 256.
    pub count: usize,
    /// Groups of a standing window or threshold, and keys of an absence or sequence. Default 16,384.
    pub groups: usize,
    /// Maximum waiting events of a subscription; beyond it the oldest are lost. Default 1,024.
    pub events: usize,
    /// Memory of all standing windows and subscriptions together, bytes, reserved when they are made.
    /// Default 256 MiB.
    pub memory: u64,
}

impl Default for WatchLimits {
    fn default() -> Self {
        WatchLimits {
            count: 256,
            groups: 16_384,
            events: 1024,
            memory: 256 << 20,
        }
    }
}

/// A standing window or subscription that was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WatchError {
    /// The text cannot be read.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// There are too many.
    #[error("{0} standing windows and subscriptions are in use: drop one of them")]
    Count(usize),
    /// The memory of all would exceed the limit.
    #[error(
        "it would need {needed} bytes, and {free} are free: use fewer columns in GROUP BY or shorter texts"
    )]
    Memory {
        /// Memory of this one, bytes.
        needed: u64,
        /// Free memory, bytes.
        free: u64,
    },
}

/// An occurrence of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The time at which the pattern became complete, in the database's unit.
    pub at: i64,
    /// Values of the subscription's columns.
    pub values: Vec<Owned>,
}

/// Counters of a subscription.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubscriptionCounts {
    /// Events found.
    pub events: u64,
    /// Events lost, since too many waited.
    pub lost: u64,
    /// Rows not counted, since there are too many groups or keys.
    pub refused: u64,
}

/// A standing window or subscription.
pub(crate) struct Watch {
    pub serial: u64,
    pub tables: Vec<TableId>,
    pub cost: u64,
    body: Body,
    events: VecDeque<Event>,
    max_events: usize,
    counts: SubscriptionCounts,
    waker: Option<Waker>,
    pub columns: Vec<String>,
}

enum Body {
    Standing(Standing),
    Threshold(Standing),
    Absence(Absence),
    Sequence(Sequence),
}

/// A requested window or subscription, and its cost.
pub(crate) struct Plan {
    pattern: Pattern,
    is_standing: bool,
    pub tables: Vec<TableId>,
    pub cost: u64,
    columns: Vec<String>,
}

impl Plan {
    pub fn standing(
        text: &str,
        catalog: &Catalog<'_>,
        limits: &WatchLimits,
    ) -> Result<Plan, SyntaxError> {
        let select = Select::read(text, catalog)?;
        Ok(Plan::new(Pattern::Threshold(select), true, catalog, limits))
    }

    pub fn subscription(
        text: &str,
        catalog: &Catalog<'_>,
        limits: &WatchLimits,
    ) -> Result<Plan, SyntaxError> {
        let pattern = Pattern::read(text, catalog)?;
        Ok(Plan::new(pattern, false, catalog, limits))
    }

    fn new(
        pattern: Pattern,
        is_standing: bool,
        catalog: &Catalog<'_>,
        limits: &WatchLimits,
    ) -> Plan {
        let columns = pattern.columns(catalog);
        let mut cost = match &pattern {
            Pattern::Threshold(select) => {
                let rows = catalog.schemas[select.table.0].rows;
                Standing::cost(select, catalog, rows, limits.groups)
            }
            _ => (pattern.key_cost(catalog) * limits.groups) as u64,
        };
        if !is_standing {
            // Texts of an event are texts of a row.
            let tables = pattern.tables().into_iter();
            let row = tables
                .map(|table| catalog.schemas[table.0].row_bytes())
                .max();
            let event = size_of::<Event>() + columns.len() * size_of::<Owned>();
            cost += limits.events as u64 * (event as u64 + row.unwrap_or(0));
        }
        Plan {
            tables: pattern.tables(),
            pattern,
            is_standing,
            cost,
            columns,
        }
    }

    /// Creates it, with the rows that are in the ring of its first table.
    pub fn make(
        self,
        (serial, seed): (u64, [u64; 2]),
        ring: &Ring,
        now: i64,
        limits: &WatchLimits,
    ) -> Watch {
        let body = match self.pattern {
            Pattern::Threshold(select) => {
                let (rows, groups) = (ring.capacity(), limits.groups);
                let mut standing = Standing::new(select, rows, groups, seed, !self.is_standing);
                standing.prime(ring, now);
                match self.is_standing {
                    true => Body::Standing(standing),
                    false => Body::Threshold(standing),
                }
            }
            Pattern::Absence { rows, keys, span } => {
                Body::Absence(Absence::new((rows, keys, span), now, limits.groups, seed))
            }
            Pattern::Sequence {
                first,
                then,
                keys,
                span,
            } => Body::Sequence(Sequence::new(
                (first, then, keys, span),
                limits.groups,
                seed,
            )),
        };
        let mut watch = Watch {
            serial,
            tables: self.tables,
            cost: self.cost,
            body,
            events: VecDeque::new(),
            max_events: limits.events,
            counts: SubscriptionCounts::default(),
            waker: None,
            columns: self.columns,
        };
        // Groups that are over the threshold already are events at this time.
        if let Body::Threshold(standing) = &mut watch.body {
            let mut found = Vec::new();
            standing.compare_all(ring, |values| found.push(values));
            found
                .into_iter()
                .for_each(|values| watch.report(now, values));
        }
        watch
    }
}

impl Watch {
    /// Prepares for a row at time `at`, which overwrites the rows before `first`.
    pub fn before(&mut self, ring: &Ring, at: i64, first: u64) {
        match &mut self.body {
            Body::Standing(standing) => {
                standing.expire(ring, at, |_, _, _| {});
                standing.overwrite(ring, first);
            }
            Body::Threshold(_) => {
                self.expire_threshold(ring, at, true);
                if let Body::Threshold(standing) = &mut self.body {
                    standing.overwrite(ring, first);
                }
            }
            Body::Absence(_) => self.expire_absence(at.saturating_sub(1)),
            Body::Sequence(_) => {}
        }
    }

    /// Handles the inserted row; `now` is the time of the database.
    pub fn row(&mut self, table: TableId, ring: &Ring, row: u64, now: i64) {
        let at = ring.time(row);
        let mut found = Vec::new();
        match &mut self.body {
            Body::Standing(standing) => {
                standing.add(ring, row);
                standing.expire(ring, now, |_, _, _| {});
            }
            Body::Threshold(standing) => {
                standing.add(ring, row);
                standing.expire(ring, at, |_, _, _| {});
                standing.compare(ring, |values| found.push((at, values)));
            }
            Body::Absence(absence) => absence.row(ring, row),
            Body::Sequence(sequence) => {
                sequence.row(table, ring, row, |at, values| found.push((at, values)));
            }
        }
        found
            .into_iter()
            .for_each(|(at, values)| self.report(at, values));
    }

    /// Advances the time.
    pub fn advance(&mut self, ring: &Ring, now: i64) {
        match &mut self.body {
            Body::Standing(standing) => standing.expire(ring, now, |_, _, _| {}),
            Body::Threshold(_) => self.expire_threshold(ring, now, false),
            Body::Absence(_) => self.expire_absence(now),
            Body::Sequence(_) => {}
        }
    }

    /// Removes rows that leave by `now`. Groups that change at `now` are compared later if a row arrives at that time.
    fn expire_threshold(&mut self, ring: &Ring, now: i64, row_comes: bool) {
        let Body::Threshold(standing) = &mut self.body else {
            return;
        };
        let mut found = Vec::new();
        standing.expire(ring, now, |standing, ring, at| {
            standing.compare(ring, |values| found.push((at, values)));
        });
        if !row_comes {
            standing.compare(ring, |values| found.push((now, values)));
        }
        found
            .into_iter()
            .for_each(|(at, values)| self.report(at, values));
    }

    fn expire_absence(&mut self, now: i64) {
        let Body::Absence(absence) = &mut self.body else {
            return;
        };
        let mut found = Vec::new();
        absence.expire(now, |at, values| found.push((at, values)));
        found
            .into_iter()
            .for_each(|(at, values)| self.report(at, values));
    }

    fn report(&mut self, at: i64, values: Vec<Owned>) {
        self.counts.events += 1;
        if self.events.len() == self.max_events {
            self.events.pop_front();
            self.counts.lost += 1;
        }
        self.events.push_back(Event { at, values });
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// The standing window.
    pub fn standing(&mut self) -> Option<&mut Standing> {
        match &mut self.body {
            Body::Standing(standing) => Some(standing),
            _ => None,
        }
    }

    /// The oldest waiting event. Without one, `waker` is woken at the next event.
    pub fn take(&mut self, waker: Option<&Waker>) -> Option<Event> {
        let event = self.events.pop_front();
        if event.is_none() && waker.is_some() {
            self.waker = waker.cloned();
        }
        event
    }

    pub fn counts(&self) -> SubscriptionCounts {
        let refused = match &self.body {
            Body::Standing(standing) | Body::Threshold(standing) => standing.refused(),
            Body::Absence(absence) => absence.refused,
            Body::Sequence(sequence) => sequence.refused,
        };
        SubscriptionCounts {
            refused,
            ..self.counts
        }
    }
}
