//! Stored sessions.

use super::{Store, StoreError};
use rusqlite::params;

/// A session. The token itself is not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// SHA-256 of the token.
    pub hash: [u8; 32],
    /// Address from which it was made.
    pub address: String,
    /// Unix time at which it was made, seconds.
    pub created: u64,
    /// Unix time of its last use, seconds; may be a day late.
    pub used: u64,
}

impl Store {
    /// All sessions.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn sessions(&self) -> Result<Vec<Kept>, StoreError> {
        let inner = self.0.lock();
        let sql = "SELECT hash, address, created, used FROM sessions";
        let mut statement = inner.connection.prepare(sql)?;
        let rows = statement.query_map([], |row| {
            let time = |value: i64| u64::try_from(value).unwrap_or_default();
            Ok(Kept {
                hash: row.get(0)?,
                address: row.get(1)?,
                created: time(row.get(2)?),
                used: time(row.get(3)?),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Stores a session, or the time of its last use.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn keep_session(&self, session: &Kept) -> Result<(), StoreError> {
        let time = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let sql = "INSERT OR REPLACE INTO sessions (hash, address, created, used) VALUES (?1, ?2, ?3, ?4)";
        let inner = self.0.lock();
        inner.connection.execute(
            sql,
            params![
                session.hash,
                session.address,
                time(session.created),
                time(session.used)
            ],
        )?;
        Ok(())
    }

    /// Ends a session.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn end_session(&self, hash: &[u8; 32]) -> Result<(), StoreError> {
        let inner = self.0.lock();
        let sql = "DELETE FROM sessions WHERE hash = ?1";
        inner.connection.execute(sql, [hash])?;
        Ok(())
    }

    /// Stores the hash of a new password and ends all sessions, in one transaction.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn set_password(&self, name: &str, hash: &str) -> Result<(), StoreError> {
        let mut inner = self.0.lock();
        let transaction = inner.connection.transaction()?;
        transaction.execute("DELETE FROM sessions", [])?;
        transaction.execute(
            "INSERT OR REPLACE INTO settings (name, value) VALUES (?1, ?2)",
            params![name, hash.as_bytes()],
        )?;
        Ok(transaction.commit()?)
    }
}
