//! The file and its schema.

use super::StoreError;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// Version of the schema, as `user_version`.
pub const VERSION: i64 = 3;
/// "wire" as `application_id`, which distinguishes this file from other databases.
const APPLICATION: i64 = 0x7769_7265;
/// Time to wait for another process that is about to end.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// Tables of version 1.
const SCHEMA: &str = "
CREATE TABLE devices (
    mac TEXT PRIMARY KEY,
    slot INTEGER NOT NULL,
    admission TEXT NOT NULL DEFAULT 'waiting' CHECK (admission IN ('waiting', 'permitted', 'denied')),
    blacklisted INTEGER NOT NULL DEFAULT 0,
    paused INTEGER NOT NULL DEFAULT 0,
    others_denied INTEGER NOT NULL DEFAULT 0,
    name TEXT, person TEXT, host_name TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE domains (
    mac TEXT NOT NULL REFERENCES devices ON DELETE CASCADE,
    domain TEXT NOT NULL,
    permitted INTEGER NOT NULL,
    PRIMARY KEY (mac, domain)
) STRICT, WITHOUT ROWID;
CREATE TABLE history (
    number INTEGER PRIMARY KEY,
    mac TEXT NOT NULL REFERENCES devices ON DELETE CASCADE,
    at INTEGER NOT NULL,
    change TEXT NOT NULL
) STRICT;
CREATE INDEX history_of_device ON history (mac, number);
CREATE TABLE settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE sessions (
    hash BLOB PRIMARY KEY,
    address TEXT NOT NULL,
    created INTEGER NOT NULL,
    used INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
";

/// Changes from each version to the next: the first one leads to version 2. A table about devices refers to `devices`, so that its rows
/// move with a device that comes again under another MAC address.
const MIGRATIONS: [&str; VERSION as usize - 1] = [
    "
ALTER TABLE devices ADD COLUMN bedtime TEXT;
ALTER TABLE devices ADD COLUMN quota TEXT;
ALTER TABLE devices ADD COLUMN used INTEGER NOT NULL DEFAULT 0;
ALTER TABLE devices ADD COLUMN used_since INTEGER NOT NULL DEFAULT 0;
CREATE TABLE people (
    name TEXT PRIMARY KEY,
    paused INTEGER NOT NULL,
    bedtime TEXT, quota TEXT,
    used INTEGER NOT NULL DEFAULT 0,
    used_since INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
",
    "
ALTER TABLE devices ADD COLUMN evidence TEXT;
CREATE TABLE different (
    mac TEXT NOT NULL REFERENCES devices ON DELETE CASCADE,
    other TEXT NOT NULL REFERENCES devices ON DELETE CASCADE,
    PRIMARY KEY (mac, other)
) STRICT, WITHOUT ROWID;
CREATE INDEX different_from ON different (other);
",
];

/// Opens or creates a file. A file that is not a home's database is not written to.
pub fn open(path: &Path) -> Result<Connection, StoreError> {
    // Only the owner may read hashes and the certificate's key; SQLite gives its log the same mode.
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(|error| StoreError::File(path.into(), error))?;
    let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
    if !is_file {
        let error = io::Error::other("not a regular file");
        return Err(StoreError::File(path.into(), error));
    }
    drop(file);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let named = |error| explain(path, error);
    let mut connection = Connection::open_with_flags(path, flags).map_err(named)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(named)?;
    let version = check(&connection, path)?;
    // One process at a time, from the first read to the end of the process. Temporary tables are in memory: a confined process cannot open other files.
    let pragmas = "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY;";
    connection.execute_batch(pragmas).map_err(named)?;
    settings(&connection).map_err(named)?;
    if version > 0 {
        let state: String = connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(named)?;
        if state != "ok" {
            return Err(StoreError::Damaged(path.into(), state));
        }
    }
    if version < VERSION {
        bring(&mut connection, version).map_err(named)?;
    }
    Ok(connection)
}

/// Version of the schema; 0 if the file is empty. An error if it is not a home's database.
fn check(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
    let number = |sql| {
        connection
            .query_row(sql, [], |row| row.get::<_, i64>(0))
            .map_err(|error| explain(path, error))
    };
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    let (application, version) = (
        number("PRAGMA application_id")?,
        number("PRAGMA user_version")?,
    );
    match (application, version, tables) {
        (0, 0, 0) => Ok(0),
        (APPLICATION, 1..=VERSION, _) => Ok(version),
        (APPLICATION, newer, _) if newer > VERSION => Err(StoreError::Newer(path.into(), newer)),
        _ => {
            let why = "an SQLite database of another program".into();
            Err(StoreError::Foreign(path.into(), why))
        }
    }
}

/// Creates the tables in one transaction.
pub fn make(connection: &mut Connection) -> rusqlite::Result<()> {
    settings(connection)?;
    bring(connection, 0)
}

/// Brings the tables from a version to the present one, in one transaction.
fn bring(connection: &mut Connection, version: i64) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if version == 0 {
        transaction.execute_batch(SCHEMA)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
    }
    let done = usize::try_from(version.max(1) - 1).unwrap_or_default();
    for migration in &MIGRATIONS[done..] {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}

fn settings(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;")
}

fn explain(path: &Path, error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            StoreError::Foreign(path.into(), "not an SQLite database".into())
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::InUse(path.into()),
        Some(ErrorCode::DatabaseCorrupt) => StoreError::Damaged(path.into(), error.to_string()),
        _ => StoreError::Sqlite(error),
    }
}
