//! The keys of a section, taken one by one, so that every fault of a section is found at once.

use crate::fault::{Fault, did_you_mean};
use crate::tree::{Entry, Value, What};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::ops::Range;

/// A section being read.
pub(crate) struct Fields<'a> {
    entries: &'a [Entry],
    span: Range<usize>,
    known: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// The keys of a table; `what` it should be is for the message if it is none.
    pub fn of(value: &'a Value, what: &str, faults: &mut Vec<Fault>) -> Fields<'a> {
        let entries = match &value.what {
            What::Table(entries) => entries.as_slice(),
            _ => {
                let message = format!("{what} is wanted here, not {}", value.kind());
                faults.push(Fault::new(value.span.clone(), message));
                &[]
            }
        };
        Fields {
            entries,
            span: value.span.clone(),
            known: Vec::new(),
        }
    }

    /// The value of a key, as it stands.
    pub fn value(&mut self, key: &'static str) -> Option<&'a Value> {
        self.known.push(key);
        let entry = self.entries.iter().find(|entry| entry.key == key);
        entry.map(|entry| &entry.value)
    }

    /// The value of a key that may be left out.
    pub fn optional<T: DeserializeOwned>(
        &mut self,
        key: &'static str,
        faults: &mut Vec<Fault>,
    ) -> Option<T> {
        let value = self.value(key)?;
        value.read().map_err(|fault| faults.push(fault)).ok()
    }

    /// The value of a key that must be there.
    pub fn required<T: DeserializeOwned>(
        &mut self,
        key: &'static str,
        example: &str,
        faults: &mut Vec<Fault>,
    ) -> Option<T> {
        if self.value(key).is_none() {
            let fault = Fault::new(self.span.clone(), format!("the key `{key}` is missing"));
            faults.push(fault.help(format!("add `{key} = {example}`")));
        }
        self.optional(key, faults)
    }

    /// Everything that nobody asked for is a fault.
    pub fn finish(self, faults: &mut Vec<Fault>) {
        for entry in self.entries {
            if !self.known.contains(&entry.key.as_str()) {
                let fault = Fault::new(
                    entry.key_span.clone(),
                    format!("unknown key `{}`", entry.key),
                );
                faults.push(fault.help(did_you_mean(&entry.key, &self.known)));
            }
        }
    }
}

/// The value of a key: one, or several in a list.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum OneOrMore<T> {
    /// One, without brackets.
    One(T),
    /// A list.
    More(Vec<T>),
}

impl<T> OneOrMore<T> {
    /// As a list.
    pub fn into_vec(self) -> Vec<T> {
        match self {
            OneOrMore::One(one) => vec![one],
            OneOrMore::More(more) => more,
        }
    }
}
