//! Rows of a stream database about a run. Times are simulated nanoseconds.
//!
//! | table | columns after `at` |
//! |---|---|
//! | `Links` | `link` (`h1.0 -> h2.0`), `sent`, `bytes`, `dropped`, `marked`, `waiting`, `waiting_bytes`, `up` |
//! | `Flows` | `node`, `program`, `source`, `destination`, `bytes`, `packets`, `lost`, `resent` |
//! | `Pings` | `source`, `destination`, `outcome`, `ns` |
//!
//! A row of Links or Flows has the counters since the start. Each sample adds rows for links and flows whose counters changed.

use crate::sample::{direction, dropped};
use lab::{Lab, LinkState};
use node::Time;
use node::outcome::{Direction, Flow, Outcome};
use std::collections::BTreeMap;
use stream::{Database, Schema, SchemaError, Table, Unit, Value};

/// Capacity of each table, rows.
const LINK_ROWS: usize = 1 << 16;
const FLOW_ROWS: usize = 1 << 15;
const PING_ROWS: usize = 1 << 10;
/// Length of names, bytes; longer ones are cut.
const NAME_LEN: u32 = 64;

/// The database with its tables.
pub struct Tables {
    database: Database,
    links: Table,
    flows: Table,
    pings: Table,
    /// Values of the last rows.
    last_links: Vec<[[i64; 7]; 2]>,
    last_flows: BTreeMap<(usize, usize), [i64; 4]>,
}

impl Tables {
    /// Empty tables.
    ///
    /// # Errors
    /// When they need more memory than a database may have.
    pub fn new() -> Result<Tables, SchemaError> {
        let database = Database::new(Unit::Nanoseconds);
        let links = Schema::new("Links", LINK_ROWS)
            .text("link", 2 * NAME_LEN)
            .integer("sent")
            .integer("bytes")
            .integer("dropped")
            .integer("marked")
            .integer("waiting")
            .integer("waiting_bytes")
            .integer("up");
        let flows = Schema::new("Flows", FLOW_ROWS)
            .text("node", NAME_LEN)
            .text("program", NAME_LEN)
            .text("source", NAME_LEN)
            .text("destination", NAME_LEN)
            .integer("bytes")
            .integer("packets")
            .integer("lost")
            .integer("resent");
        let pings = Schema::new("Pings", PING_ROWS)
            .text("source", NAME_LEN)
            .text("destination", NAME_LEN)
            .text("outcome", NAME_LEN)
            .integer("ns");
        Ok(Tables {
            links: database.create(links)?,
            flows: database.create(flows)?,
            pings: database.create(pings)?,
            database,
            last_links: Vec::new(),
            last_flows: BTreeMap::new(),
        })
    }

    /// The database, for questions and subscriptions.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Adds rows for all counters that changed since the last sample.
    pub fn sample(&mut self, at: Time, lab: &Lab, links: &[[LinkState; 2]], outcome: &Outcome) {
        let at = at.as_ns().cast_signed();
        self.last_links.resize(links.len(), [[-1; 7]; 2]);
        for ((overview, states), last) in lab.link_overviews().zip(links).zip(&mut self.last_links)
        {
            for way in Direction::BOTH {
                let values = values(&states[way.index()]);
                let last = &mut last[way.index()];
                if std::mem::replace(last, values) != values {
                    let name = direction(overview.names, way);
                    let mut row: Vec<Value<'_>> = vec![cut(&name, 2 * NAME_LEN).into()];
                    row.extend(values.map(Value::from));
                    insert(&self.links, at, &row);
                }
            }
        }
        for (number, node) in outcome.nodes.iter().enumerate() {
            for (index, flow) in node.flows.iter().enumerate() {
                let values = of_flow(flow);
                let last = self.last_flows.insert((number, index), values);
                if last != Some(values) {
                    let texts = [&node.name, flow.program, &flow.from, &flow.to];
                    let mut row: Vec<Value<'_>> =
                        texts.map(|text| cut(text, NAME_LEN).into()).to_vec();
                    row.extend(values.map(Value::from));
                    insert(&self.flows, at, &row);
                }
            }
        }
        self.database.advance(at);
    }

    /// Adds a ping with its outcome and the time until then.
    pub fn ping(&mut self, at: Time, from: &str, to: &str, outcome: &str, took: Option<Time>) {
        let took = took.map_or(Value::Null, |took| took.as_ns().cast_signed().into());
        let texts = [from, to, outcome].map(|text| Value::from(cut(text, NAME_LEN)));
        let row: Vec<Value<'_>> = texts.into_iter().chain([took]).collect();
        insert(&self.pings, at.as_ns().cast_signed(), &row);
    }
}

/// Inserts a row. The table counts refused rows.
fn insert(table: &Table, at: i64, row: &[Value<'_>]) {
    let _ = table.insert(at, row);
}

fn values(state: &LinkState) -> [i64; 7] {
    let counters = &state.counters;
    [
        counters.sent,
        counters.bytes,
        dropped(state),
        counters.marked,
        state.waiting.packets.into(),
        state.waiting.bytes,
        u64::from(state.up),
    ]
    .map(u64::cast_signed)
}

fn of_flow(flow: &Flow) -> [i64; 4] {
    [flow.bytes, flow.packets, flow.lost, flow.resent].map(u64::cast_signed)
}

/// The beginning of a text, at most `len` bytes.
fn cut(text: &str, len: u32) -> &str {
    let mut end = text.len().min(len as usize);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
