//! The store: all state of a home that survives a restart, in one SQLite file.
//!
//! It holds devices and the decisions about them, their history, sessions and settings (the password's hash, the certificate).
//! Each change is a transaction that has reached the disk when the call returns (write-ahead log with `synchronous = FULL`).
//! Times are Unix times.
//!
//! A device without a decision is not written, so that a flood of new devices causes no writes. The first decision writes its
//! slot. Host names from DHCP, and evidence about identities, are written at most once in [`HOST_NAME_INTERVAL`]; a later decision about the device and the
//! end of the process write them too.

mod people;
mod schema;
mod sessions;

pub use sessions::Kept;

use crate::clock::Clock;
use crate::device::{Admission, Device};
use crate::home::{Change, Home, Journal};
use crate::identity::Evidence;
use crate::limits::Used;
use crate::people::{Owner, Person};
use packet::ethernet::Mac;
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Minimum time between two writes of host names and evidence from devices, seconds.
pub const HOST_NAME_INTERVAL: u64 = 60;
/// Number of changes in the history of a device.
pub const MAX_HISTORY: u32 = 200;

/// A store that could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file is not a home's database.
    #[error("{0}: not a home's database ({1}); name another file, or move this one away")]
    Foreign(PathBuf, String),
    /// The file has a schema of a later version.
    #[error(
        "{0}: written by a newer version (schema {1}, this program knows {known}); update this program, or name another file",
        known = schema::VERSION
    )]
    Newer(PathBuf, i64),
    /// Another process has it open.
    #[error("{0}: in use by another process; stop that one first")]
    InUse(PathBuf),
    /// The file is damaged.
    #[error(
        "{0}: damaged ({1}); restore a copy, or move it away to begin with an empty home, where no device is permitted"
    )]
    Damaged(PathBuf, String),
    /// A row cannot be read.
    #[error("the database holds {0}")]
    Row(String),
    /// The file could not be made or opened.
    #[error("{0}: {1}")]
    File(PathBuf, std::io::Error),
    /// SQLite failed.
    #[error("database: {0}")]
    Sqlite(#[from] rusqlite::Error),
}

/// A change in the history of a device, with its time.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Entry {
    /// Unix time, seconds.
    pub at: u64,
    /// The change.
    pub change: Change,
}

/// Outcome of [`Store::restore`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Number of devices.
    pub devices: usize,
    /// Number of devices with a new address, since their slot is not in the plan or was in use.
    pub moved: usize,
    /// Number of devices without a slot in the plan: they stay in the store, and the router treats them as new.
    pub left_out: usize,
}

/// A store; clones share it.
#[derive(Clone)]
pub struct Store(Arc<Mutex<Inner>>);

struct Inner {
    connection: Connection,
    clock: Clock,
    /// Devices that are not written yet.
    undecided: BTreeMap<Mac, Undecided>,
    /// Host names and evidence that are not written yet.
    host_names: BTreeMap<Mac, String>,
    evidence: BTreeMap<Mac, Evidence>,
    host_name_written: Option<u64>,
}

struct Undecided {
    slot: u16,
    host_name: Option<String>,
    evidence: Option<Evidence>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Store")
    }
}

impl Store {
    /// Opens a database, or makes one that only its owner can read.
    ///
    /// # Errors
    /// When the file cannot be created, is not a home's database, is damaged, is of a newer version, or is open in another
    /// process. The file is unchanged then.
    pub fn open(path: &Path, clock: Clock) -> Result<Store, StoreError> {
        Ok(Store::new(schema::open(path)?, clock))
    }

    /// A store in memory, which ends with the process.
    ///
    /// # Errors
    /// When SQLite fails.
    pub fn in_memory(clock: Clock) -> Result<Store, StoreError> {
        let mut connection = Connection::open_in_memory()?;
        schema::make(&mut connection)?;
        Ok(Store::new(connection, clock))
    }

    fn new(connection: Connection, clock: Clock) -> Store {
        Store(Arc::new(Mutex::new(Inner {
            connection,
            clock,
            undecided: BTreeMap::new(),
            host_names: BTreeMap::new(),
            evidence: BTreeMap::new(),
            host_name_written: None,
        })))
    }

    /// The journal of a [`Home`].
    pub fn journal(&self) -> Box<dyn Journal> {
        Box::new(self.clone())
    }

    /// Adds all stored devices to a home, at the start.
    ///
    /// # Errors
    /// When the database cannot be read or has invalid rows.
    pub fn restore(&self, home: &mut Home) -> Result<Restored, StoreError> {
        let mut inner = self.0.lock();
        let mut restored = Restored::default();
        let mut homeless = Vec::new();
        for device in inner.devices()? {
            restored.devices += 1;
            if !home.restore(device.clone()) {
                homeless.push(device);
            }
        }
        let taken: BTreeSet<u16> = home.devices().map(|device| device.slot).collect();
        let mut free = (1..home.plan.slots()).filter(|slot| !taken.contains(slot));
        for mut device in homeless {
            let slot = free.next();
            device.slot = slot.unwrap_or_default();
            if slot.is_some() && home.restore(device.clone()) {
                restored.moved += 1;
                inner.connection.execute(
                    "UPDATE devices SET slot = ?2 WHERE mac = ?1",
                    params![device.mac.to_string(), device.slot],
                )?;
            } else {
                restored.left_out += 1;
            }
        }
        for (name, person) in inner.people()? {
            home.restore_person(name, person);
        }
        inner.host_name_written = None;
        Ok(restored)
    }

    /// The latest changes of a device, newest first: at most [`MAX_HISTORY`].
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn history(&self, mac: Mac) -> Result<Vec<Entry>, StoreError> {
        let inner = self.0.lock();
        let mut statement = inner.connection.prepare(
            "SELECT at, change FROM history WHERE mac = ?1 ORDER BY number DESC LIMIT ?2",
        )?;
        let rows = statement.query_map(params![mac.to_string(), MAX_HISTORY], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
        })?;
        rows.map(|row| {
            let (at, change) = row?;
            let change = serde_json::from_str(&change)
                .map_err(|error| StoreError::Row(format!("a change {change:?} ({error})")))?;
            Ok(Entry {
                at: u64::try_from(at).unwrap_or_default(),
                change,
            })
        })
        .collect()
    }

    /// A setting.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn setting(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let inner = self.0.lock();
        let sql = "SELECT value FROM settings WHERE name = ?1";
        let row = inner
            .connection
            .query_row(sql, [name], |row| row.get(0))
            .optional()?;
        Ok(row)
    }

    /// Stores a setting.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn set(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        let sql = "INSERT INTO settings (name, value) VALUES (?1, ?2)
                   ON CONFLICT (name) DO UPDATE SET value = ?2";
        let inner = self.0.lock();
        inner.connection.execute(sql, params![name, value])?;
        Ok(())
    }
}

impl Journal for Store {
    fn keep(&mut self, mac: Mac, change: &Change) -> Result<(), String> {
        let mut inner = self.0.lock();
        inner.keep(mac, change).map_err(|error| error.to_string())
    }

    fn keep_person(&mut self, name: &str, person: Option<&Person>) -> Result<(), String> {
        let kept = self.0.lock().keep_person(name, person);
        kept.map_err(|error| error.to_string())
    }

    fn keep_used(&mut self, used: &[(Owner, Used)]) -> Result<(), String> {
        let kept = self.0.lock().keep_used(used);
        kept.map_err(|error| error.to_string())
    }
}

impl Inner {
    fn keep(&mut self, mac: Mac, change: &Change) -> Result<(), StoreError> {
        match change {
            Change::Found(slot) => {
                let undecided = Undecided {
                    slot: *slot,
                    host_name: None,
                    evidence: None,
                };
                self.undecided.insert(mac, undecided);
                return Ok(());
            }
            Change::Forgotten if self.undecided.remove(&mac).is_some() => return Ok(()),
            Change::HostName(name) => {
                if let Some(undecided) = self.undecided.get_mut(&mac) {
                    undecided.host_name = Some(name.clone());
                    return Ok(());
                }
                self.host_names.insert(mac, name.clone());
                return self.keep_if_due();
            }
            Change::Evidence(evidence) => {
                if let Some(undecided) = self.undecided.get_mut(&mac) {
                    undecided.evidence = Some(evidence.clone());
                    return Ok(());
                }
                self.evidence.insert(mac, evidence.clone());
                return self.keep_if_due();
            }
            _ => {}
        }
        let at = i64::try_from(self.clock.unix()).unwrap_or(i64::MAX);
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        if let Some(undecided) = self.undecided.get(&mac) {
            // A stored device without a slot in the plan may exist: the decision starts it again.
            transaction.execute(
                "INSERT OR REPLACE INTO devices (mac, slot, host_name) VALUES (?1, ?2, ?3)",
                params![mac.to_string(), undecided.slot, undecided.host_name],
            )?;
            if let Some(evidence) = &undecided.evidence {
                write_evidence(&transaction, mac, evidence)?;
            }
        }
        if let Some(evidence) = self.evidence.get(&mac) {
            write_evidence(&transaction, mac, evidence)?;
        }
        if let Some(name) = self.host_names.get(&mac) {
            write_host_name(&transaction, mac, name)?;
        }
        write(&transaction, mac, change, at)?;
        transaction.commit()?;
        self.undecided.remove(&mac);
        let gone = match change {
            Change::Again(earlier) => Some(*earlier),
            _ => None,
        };
        for mac in [Some(mac), gone].into_iter().flatten() {
            self.host_names.remove(&mac);
            self.evidence.remove(&mac);
        }
        Ok(())
    }

    fn keep_if_due(&mut self) -> Result<(), StoreError> {
        let now = self.clock.unix();
        let last = self.host_name_written;
        let due = last.is_none_or(|at| now.abs_diff(at) >= HOST_NAME_INTERVAL);
        if due { self.keep_sightings() } else { Ok(()) }
    }

    /// Writes host names and evidence.
    fn keep_sightings(&mut self) -> Result<(), StoreError> {
        let transaction = self.connection.transaction()?;
        for (mac, name) in &self.host_names {
            write_host_name(&transaction, *mac, name)?;
        }
        for (mac, evidence) in &self.evidence {
            write_evidence(&transaction, *mac, evidence)?;
        }
        transaction.commit()?;
        self.host_names.clear();
        self.evidence.clear();
        self.host_name_written = Some(self.clock.unix());
        Ok(())
    }

    fn devices(&self) -> Result<Vec<Device>, StoreError> {
        let sql = "SELECT mac, slot, admission, blacklisted, paused, others_denied, name, person, host_name,
                   bedtime, quota, used, used_since, evidence FROM devices";
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        let mut devices = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let mac = read_mac(row.get(0)?)?;
            let mut device = Device::new(mac, row.get(1)?);
            let admission: String = row.get(2)?;
            device.admission = serde_json::from_value(admission.clone().into())
                .map_err(|_| StoreError::Row(format!("an admission {admission:?}")))?;
            device.blacklisted = row.get(3)?;
            device.paused = row.get(4)?;
            device.domains.others_denied = row.get(5)?;
            device.name = row.get(6)?;
            device.person = row.get(7)?;
            device.host_name = row.get(8)?;
            device
                .limits
                .set_bedtime(people::read_bedtime(row.get(9)?)?);
            device.limits.quota = people::read_quota(row.get(10)?)?;
            device.limits.used = people::read_used(row.get(11)?, row.get(12)?);
            if let Some(evidence) = row.get::<_, Option<String>>(13)? {
                device.evidence = serde_json::from_str(&evidence)
                    .map_err(|_| StoreError::Row(format!("evidence {evidence:?}")))?;
            }
            devices.insert(mac, device);
        }
        let sql = "SELECT mac, domain, permitted FROM domains";
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let device = devices.get_mut(&read_mac(row.get(0)?)?);
            let domain: String = row.get(1)?;
            if device.is_none_or(|device| !device.domains.set(&domain, row.get(2).ok())) {
                return Err(StoreError::Row(format!("a rule for {domain:?} too many")));
            }
        }
        let sql = "SELECT mac, other FROM different ORDER BY mac, other";
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let other = read_mac(row.get(1)?)?;
            if let Some(device) = devices.get_mut(&read_mac(row.get(0)?)?) {
                device.different.push(other);
            }
        }
        Ok(devices.into_values().collect())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Only host names and evidence are lost; decisions are stored already.
        let _ = self.keep_sightings();
    }
}

fn read_mac(text: String) -> Result<Mac, StoreError> {
    text.parse()
        .map_err(|_| StoreError::Row(format!("a MAC address {text:?}")))
}

fn admission(admission: Admission) -> &'static str {
    match admission {
        Admission::Waiting => "waiting",
        Admission::Permitted => "permitted",
        Admission::Denied => "denied",
    }
}

fn write_host_name(transaction: &Transaction<'_>, mac: Mac, name: &str) -> rusqlite::Result<usize> {
    let sql = "UPDATE devices SET host_name = ?2 WHERE mac = ?1";
    transaction.execute(sql, params![mac.to_string(), name])
}

fn write_evidence(
    transaction: &Transaction<'_>,
    mac: Mac,
    evidence: &Evidence,
) -> Result<(), StoreError> {
    let text =
        serde_json::to_string(evidence).map_err(|error| StoreError::Row(error.to_string()))?;
    let sql = "UPDATE devices SET evidence = ?2 WHERE mac = ?1";
    transaction.execute(sql, params![mac.to_string(), text])?;
    Ok(())
}

/// Moves the rows of an earlier device to a device that is the same one. The device keeps its slot, its host name and its evidence.
fn take_over(transaction: &Transaction<'_>, mac: &str, earlier: &str) -> rusqlite::Result<()> {
    let sql = "SELECT slot, host_name, evidence FROM devices WHERE mac = ?1";
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let own: (u16, Option<String>, Option<String>) = transaction.query_row(sql, [mac], row)?;
    transaction.execute("DELETE FROM devices WHERE mac = ?1", [mac])?;
    // Rows of other tables follow after the device.
    transaction.execute_batch("PRAGMA defer_foreign_keys = ON")?;
    let moved = transaction.execute(
        "UPDATE devices SET mac = ?1, slot = ?3, host_name = coalesce(?4, host_name), evidence = ?5 WHERE mac = ?2",
        params![mac, earlier, own.0, own.1, own.2],
    )?;
    if moved != 1 {
        return Err(rusqlite::Error::QueryReturnedNoRows);
    }
    let sql = "SELECT m.name, f.\"from\" FROM sqlite_schema m, pragma_foreign_key_list(m.name) f
               WHERE m.type = 'table' AND f.\"table\" = 'devices'";
    let mut statement = transaction.prepare(sql)?;
    let columns = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let columns: Vec<(String, String)> = columns.collect::<rusqlite::Result<_>>()?;
    for (table, column) in columns {
        let sql = format!("UPDATE {table} SET {column} = ?1 WHERE {column} = ?2");
        transaction.execute(&sql, [mac, earlier])?;
    }
    Ok(())
}

/// Writes a decision and its line in the history.
fn write(
    transaction: &Transaction<'_>,
    mac: Mac,
    change: &Change,
    at: i64,
) -> Result<(), StoreError> {
    let text = mac.to_string();
    let set = |column: &str, value: &dyn rusqlite::ToSql| {
        let sql = format!("UPDATE devices SET {column} = ?2 WHERE mac = ?1");
        transaction.execute(&sql, params![text, value])
    };
    match change {
        Change::Forgotten => {
            // Foreign keys delete its domains and its history.
            transaction.execute("DELETE FROM devices WHERE mac = ?1", [&text])?;
            return Ok(());
        }
        Change::Found(slot) => set("slot", slot)?,
        Change::Admission(value) => set("admission", &admission(*value))?,
        Change::Blacklisted(value) => set("blacklisted", value)?,
        Change::Paused(value) => set("paused", value)?,
        Change::OthersDenied(value) => set("others_denied", value)?,
        Change::Name(value) => set("name", value)?,
        Change::Person(value) => set("person", value)?,
        Change::HostName(value) => set("host_name", value)?,
        Change::Bedtime(value) => set("bedtime", &people::bedtime_column(value)?)?,
        Change::Quota(value) => {
            if value.is_none() {
                set("used", &0)?;
            }
            set("quota", &people::quota_column(*value)?)?
        }
        Change::Evidence(evidence) => {
            write_evidence(transaction, mac, evidence)?;
            return Ok(());
        }
        Change::Again(earlier) => {
            take_over(transaction, &text, &earlier.to_string())?;
            1
        }
        Change::NotAgain(other) => transaction.execute(
            "INSERT OR IGNORE INTO different (mac, other) VALUES (?1, ?2)",
            params![text, other.to_string()],
        )?,
        Change::Domain(domain, None) => transaction.execute(
            "DELETE FROM domains WHERE mac = ?1 AND domain = ?2",
            params![text, domain],
        )?,
        Change::Domain(domain, Some(permitted)) => transaction.execute(
            "INSERT INTO domains (mac, domain, permitted) VALUES (?1, ?2, ?3)
             ON CONFLICT (mac, domain) DO UPDATE SET permitted = ?3",
            params![text, domain, permitted],
        )?,
    };
    let change =
        serde_json::to_string(change).map_err(|error| StoreError::Row(error.to_string()))?;
    transaction.execute(
        "INSERT INTO history (mac, at, change) VALUES (?1, ?2, ?3)",
        params![text, at, change],
    )?;
    transaction.execute(
        "DELETE FROM history WHERE mac = ?1 AND number <=
         (SELECT number FROM history WHERE mac = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)",
        params![text, MAX_HISTORY],
    )?;
    Ok(())
}
