//! Files that generators replay, read as they are sent.

use crate::watch::lock;
use live::file::{FileError, Item};
use node::{Frame, Time};
use nodes::generator::Source;
use packet::Tick;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// What went wrong, or was found out, during a run without ending it.
#[derive(Clone, Default)]
pub struct Notes(pub(crate) Arc<Mutex<Vec<String>>>);

/// The most notes that are kept; what is said that often is known.
const MOST_NOTES: usize = 100;

impl Notes {
    /// Adds one, unless there are too many already.
    pub fn add(&self, note: String) {
        let mut notes = lock(&self.0);
        if notes.len() < MOST_NOTES {
            notes.push(note);
        }
    }

    /// Those so far.
    pub fn list(&self) -> Vec<String> {
        lock(&self.0).clone()
    }
}

/// A capture, lines or records, from its first frame on.
pub struct Replayed {
    path: PathBuf,
    source: live::file::Source,
    /// The unit of timestamps that are words.
    tick: Tick,
    first_ps: Option<u128>,
    notes: Notes,
}

impl Replayed {
    /// Opens a file.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn open(path: PathBuf, notes: Notes) -> Result<Replayed, String> {
        let source = live::file::Source::open(&path).map_err(|error| error.to_string())?;
        Ok(Replayed {
            path,
            source,
            tick: Tick::EIGHT_NS,
            first_ps: None,
            notes,
        })
    }

    /// With another unit of the timestamps in lines and records than 8 ns.
    #[must_use]
    pub fn with_tick(self, tick: Tick) -> Replayed {
        Replayed { tick, ..self }
    }

    fn ended_early(&self, error: &FileError) {
        self.notes.add(format!("the replay ended early: {error}"));
    }
}

/// When a packet was taken, if its file says so.
fn time_of(item: &Item<'_>, tick: Tick) -> Option<u128> {
    item.at_ps.or(item.word.map(|word| tick.ps(word)))
}

impl Source for Replayed {
    fn next(&mut self, frame: &mut Frame) -> Option<Time> {
        match self.source.next() {
            Ok(Some(item)) => {
                frame.extend(item.bytes);
                let at = time_of(&item, self.tick).or(self.first_ps).unwrap_or(0);
                let since = at.saturating_sub(*self.first_ps.get_or_insert(at));
                Some(Time::from_ps(u64::try_from(since).unwrap_or(u64::MAX)))
            }
            Ok(None) => None,
            Err(error) => {
                self.ended_early(&error);
                None
            }
        }
    }

    fn rewind(&mut self) -> bool {
        match live::file::Source::open(&self.path) {
            Ok(source) => {
                self.source = source;
                self.first_ps = None;
                true
            }
            Err(error) => {
                self.ended_early(&error);
                false
            }
        }
    }
}
