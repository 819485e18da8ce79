//! Stored people, and the bytes that devices and people have used.

use super::{Inner, StoreError};
use crate::bedtime::Bedtime;
use crate::limits::{Quota, Used};
use crate::people::{Owner, Person};
use rusqlite::params;

impl Inner {
    /// All people with limits.
    pub(super) fn people(&self) -> Result<Vec<(String, Person)>, StoreError> {
        let sql = "SELECT name, paused, bedtime, quota, used, used_since FROM people";
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        let mut people = Vec::new();
        while let Some(row) = rows.next()? {
            let mut person = Person {
                paused: row.get(1)?,
                ..Person::default()
            };
            person.limits.set_bedtime(read_bedtime(row.get(2)?)?);
            person.limits.quota = read_quota(row.get(3)?)?;
            person.limits.used = read_used(row.get(4)?, row.get(5)?);
            people.push((row.get(0)?, person));
        }
        Ok(people)
    }

    pub(super) fn keep_person(
        &mut self,
        name: &str,
        person: Option<&Person>,
    ) -> Result<(), StoreError> {
        let Some(person) = person else {
            let sql = "DELETE FROM people WHERE name = ?1";
            self.connection.execute(sql, [name])?;
            return Ok(());
        };
        let sql = "INSERT OR REPLACE INTO people (name, paused, bedtime, quota, used, used_since)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let limits = &person.limits;
        let (used, since) = used_columns(limits.used);
        self.connection.execute(
            sql,
            params![
                name,
                person.paused,
                bedtime_column(&limits.bedtime)?,
                quota_column(limits.quota)?,
                used,
                since
            ],
        )?;
        Ok(())
    }

    pub(super) fn keep_used(&mut self, rows: &[(Owner, Used)]) -> Result<(), StoreError> {
        let transaction = self.connection.transaction()?;
        for (owner, used) in rows {
            let (bytes, since) = used_columns(*used);
            let (sql, name) = match owner {
                Owner::Device(mac) => (
                    "UPDATE devices SET used = ?2, used_since = ?3 WHERE mac = ?1",
                    mac.to_string(),
                ),
                Owner::Person(name) => (
                    "UPDATE people SET used = ?2, used_since = ?3 WHERE name = ?1",
                    name.clone(),
                ),
            };
            transaction.execute(sql, params![name, bytes, since])?;
        }
        Ok(transaction.commit()?)
    }
}

pub(super) fn bedtime_column(bedtime: &Bedtime) -> Result<Option<String>, StoreError> {
    let is_some = !bedtime.is_empty();
    is_some.then(|| json(bedtime)).transpose()
}

pub(super) fn quota_column(quota: Option<Quota>) -> Result<Option<String>, StoreError> {
    quota.map(|quota| json(&quota)).transpose()
}

pub(super) fn read_bedtime(text: Option<String>) -> Result<Bedtime, StoreError> {
    let bedtime = text.map(|text| from_json("a bedtime", &text)).transpose();
    Ok(bedtime?.unwrap_or_default())
}

pub(super) fn read_quota(text: Option<String>) -> Result<Option<Quota>, StoreError> {
    text.map(|text| from_json("a quota", &text)).transpose()
}

pub(super) fn read_used(bytes: i64, since: i64) -> Used {
    let number = |value: i64| u64::try_from(value).unwrap_or_default();
    Used {
        bytes: number(bytes),
        since: number(since),
    }
}

fn used_columns(used: Used) -> (i64, i64) {
    let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    (number(used.bytes), number(used.since))
}

fn json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Row(error.to_string()))
}

fn from_json<T: serde::de::DeserializeOwned>(what: &str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text)
        .map_err(|error| StoreError::Row(format!("{what} {text:?} ({error})")))
}
