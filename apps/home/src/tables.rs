//! The tables of the stream database: Flows, Links and Leases (paper 003, section 4.3.2).
//!
//! | table | columns after `at` |
//! |---|---|
//! | `Flows` | `device`, `direction` (`out`, `in`, `home`), `protocol`, `source`, `source_port`, `destination`, `destination_port`, `packets`, `bytes`, `named` |
//! | `Links` | `port`, `received_packets`, `received_bytes`, `received_dropped`, `sent_packets`, `sent_bytes`, `sent_dropped` |
//! | `Leases` | `device`, `address`, `expires` |
//!
//! Times are Unix times in nanoseconds. A row of Flows or Links is the traffic since the row before it. Between two devices `device` is the
//! sender. `protocol` is 0, and the ports are null, in rows about all flows of a device. `expires` is null when a lease has ended.

use crate::clock::Clock;
use crate::record::{FlowRow, LeaseRow, LinkRow, Record};
use node::Time;
use stream::{Database, Schema, SchemaError, Table, Unit, Value};

/// Capacity of each table, rows.
const FLOW_ROWS: usize = 1 << 16;
const LINK_ROWS: usize = 1 << 13;
const LEASE_ROWS: usize = 1 << 13;
/// Length of a MAC address and of an IPv6 address as texts.
const MAC_LEN: u32 = 17;
const ADDRESS_LEN: u32 = 39;

/// The database with its tables; clones share it.
#[derive(Clone)]
pub struct Tables {
    database: Database,
    flows: Table,
    links: Table,
    leases: Table,
    /// Unix time of router time zero, ns.
    zero: i64,
}

impl Tables {
    /// Empty tables.
    ///
    /// # Errors
    /// When they need more memory than a database may have.
    pub fn new(clock: &Clock) -> Result<Tables, SchemaError> {
        let database = Database::new(Unit::Nanoseconds);
        let flows = Schema::new("Flows", FLOW_ROWS)
            .text("device", MAC_LEN)
            .text("direction", 4)
            .integer("protocol")
            .text("source", ADDRESS_LEN)
            .integer("source_port")
            .text("destination", ADDRESS_LEN)
            .integer("destination_port")
            .integer("packets")
            .integer("bytes")
            .integer("named");
        let links = Schema::new("Links", LINK_ROWS)
            .integer("port")
            .integer("received_packets")
            .integer("received_bytes")
            .integer("received_dropped")
            .integer("sent_packets")
            .integer("sent_bytes")
            .integer("sent_dropped");
        let leases = Schema::new("Leases", LEASE_ROWS)
            .text("device", MAC_LEN)
            .text("address", ADDRESS_LEN)
            .integer("expires");
        let unix = i64::try_from(clock.unix()).unwrap_or(i64::MAX);
        Ok(Tables {
            flows: database.create(flows)?,
            links: database.create(links)?,
            leases: database.create(leases)?,
            zero: unix
                .saturating_mul(1_000_000_000)
                .saturating_sub(clock.now().as_ns().cast_signed()),
            database,
        })
    }

    /// The database, for questions, standing windows and subscriptions.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Unix time of a router time, ns.
    fn unix(&self, at: Time) -> i64 {
        self.zero.saturating_add(at.as_ns().cast_signed())
    }

    /// Inserts a row. The table counts refused rows.
    fn insert(&self, table: &Table, at: Time, values: &[Value<'_>]) {
        let _ = table.insert(self.unix(at), values);
    }
}

fn count(value: u64) -> Value<'static> {
    Value::Integer(i64::try_from(value).unwrap_or(i64::MAX))
}

impl Record for Tables {
    fn time(&mut self, now: Time) {
        self.database.advance(self.unix(now));
    }

    fn flow(&mut self, row: &FlowRow) {
        let (device, direction) = match (row.from, row.to) {
            (Some(from), Some(_)) => (Some(from), "home"),
            (Some(from), None) => (Some(from), "out"),
            (None, to) => (to, "in"),
        };
        let device = device.map(|mac| mac.to_string());
        let (source, destination) = (row.source.to_string(), row.destination.to_string());
        let port = |port: Option<u16>| port.map_or(Value::Null, |port| Value::Integer(port.into()));
        self.insert(
            &self.flows,
            row.at,
            &[
                device.as_deref().map_or(Value::Null, Value::Text),
                Value::Text(direction),
                Value::Integer(row.protocol.into()),
                Value::Text(&source),
                port(row.ports.map(|ports| ports.0)),
                Value::Text(&destination),
                port(row.ports.map(|ports| ports.1)),
                count(row.packets),
                count(row.bytes),
                Value::Integer(row.is_named.into()),
            ],
        );
    }

    fn link(&mut self, row: &LinkRow) {
        let counts = [
            u64::from(row.port),
            row.packets.0,
            row.bytes.0,
            row.dropped.0,
            row.packets.1,
            row.bytes.1,
            row.dropped.1,
        ];
        self.insert(&self.links, row.at, &counts.map(count));
    }

    fn lease(&mut self, row: &LeaseRow) {
        let (device, address) = (row.mac.to_string(), row.address.to_string());
        let expires = row
            .end
            .map_or(Value::Null, |end| Value::Integer(self.unix(end)));
        let values = [Value::Text(&device), Value::Text(&address), expires];
        self.insert(&self.leases, row.at, &values);
    }
}
