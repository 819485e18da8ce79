//! Files that generators replay, read as they are sent.

use ::capture::file::{Counters, FileError, Item, Next};
use live::filter::Filter;
use node::Frame;
use nodes::generator::Source;
use packet::Tick;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What went wrong, or was found out, during a run without ending it.
#[derive(Clone, Default)]
pub struct Notes {
    kept: Arc<Mutex<Kept>>,
    /// Which node's: they are told in this order, whichever thread was first.
    of: usize,
}

#[derive(Default)]
struct Kept {
    notes: BTreeMap<usize, Vec<String>>,
    lost: u64,
    /// Of those that were lost, the packets that were not sent at all.
    unsent: u64,
    stopped: bool,
    failure: Option<String>,
}

/// Maximum number of notes that are kept; further ones repeat the same.
const MAX_NOTES: usize = 100;

impl Notes {
    /// The same notes, for another node to add to.
    pub(crate) fn of(&self, node: usize) -> Notes {
        Notes {
            of: node,
            ..self.clone()
        }
    }

    /// Adds one, unless there are too many already.
    pub fn add(&self, note: String) {
        let mut kept = self.kept.lock();
        let notes = kept.notes.entry(self.of).or_default();
        if notes.len() < MAX_NOTES {
            notes.push(note);
        }
    }

    /// Adds one that says of so many packets that they were lost, or are not what they were; of none, nothing.
    pub fn lost(&self, packets: u64, note: String) {
        if packets > 0 {
            self.kept.lock().lost += packets;
            self.add(note);
        }
    }

    /// The same of packets that are not sent at all.
    fn unsent(&self, packets: u64, note: String) {
        self.kept.lock().unsent += packets;
        self.lost(packets, note);
    }

    /// Says that a node can do nothing any more, and why.
    pub fn fail(&self, why: String) {
        self.add(why.clone());
        self.kept.lock().failure.get_or_insert(why);
    }

    /// Why a node can do nothing any more, if one cannot: the first that said so.
    pub fn failure(&self) -> Option<String> {
        self.kept.lock().failure.clone()
    }

    /// Those so far.
    pub fn list(&self) -> Vec<String> {
        let kept = self.kept.lock();
        let all = kept.notes.values().flatten();
        all.take(MAX_NOTES).cloned().collect()
    }

    /// How many packets of replayed files were skipped, cut short, or could not be read.
    pub fn losses(&self) -> u64 {
        self.kept.lock().lost
    }

    /// The number of packets of replayed files that were not sent at all, as far as it is known.
    pub fn unsent_packets(&self) -> u64 {
        self.kept.lock().unsent
    }

    /// Whether a signal ended a replayed file before its end.
    pub fn is_stopped(&self) -> bool {
        self.kept.lock().stopped
    }
}

/// A capture, lines or records, from its first frame on.
pub struct Replayed {
    path: PathBuf,
    source: ::capture::file::Source,
    /// The unit of timestamps that are words.
    tick: Tick,
    first_ps: Option<u128>,
    /// Packets so far, of this loop.
    given: u64,
    /// Packets of a capture without a time.
    undated: u64,
    /// The latest time so far, and the packets of an earlier time after it.
    latest_ps: u128,
    backwards: u64,
    /// Which packets are replayed.
    filter: Option<Filter>,
    /// It has been read to its end once, so that what is wrong with it is known.
    known: bool,
    notes: Notes,
}

/// Frames that are shorter than an Ethernet header are replayed, too; a port that cannot send them counts them.
fn source(path: &Path) -> Result<::capture::file::Source, FileError> {
    ::capture::file::Source::open(path).map(::capture::file::Source::any_length)
}

impl Replayed {
    /// Opens a file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn open(path: PathBuf, notes: Notes) -> Result<Replayed, FileError> {
        let source = source(&path)?;
        // A file of another kind altogether is refused here, and not in the middle of a run; a pipe can be read only once.
        if path.is_file()
            && let Ok(mut first) = ::capture::file::Source::open(&path)
            && let Err(error @ FileError::ForPeople { .. }) = first.next()
        {
            return Err(error);
        }
        let (name, notes_of_source) = (source.name().to_owned(), notes.clone());
        let source = source.on_complaint(move |complaint| {
            notes_of_source.unsent(1, format!("{name}: {complaint}"));
        });
        Ok(Replayed {
            path,
            source,
            tick: Tick::EIGHT_NS,
            first_ps: None,
            given: 0,
            undated: 0,
            latest_ps: 0,
            backwards: 0,
            filter: None,
            known: false,
            notes,
        })
    }

    /// With another unit of the timestamps in lines and records than 8 ns.
    #[must_use]
    pub fn with_tick(self, tick: Tick) -> Replayed {
        Replayed { tick, ..self }
    }

    /// With those packets alone that a filter lets through; the first of them begins the replay.
    #[must_use]
    pub fn with_filter(self, filter: Filter) -> Replayed {
        let filter = Some(filter);
        Replayed { filter, ..self }
    }

    /// One that ends at the first packet that makes no sense.
    #[must_use]
    pub fn strict(self) -> Replayed {
        Replayed {
            source: self.source.strict(),
            ..self
        }
    }

    fn ended_early(&self, error: &dyn std::error::Error) {
        if !self.known {
            self.notes
                .unsent(1, format!("the replay ended early: {error}"));
        }
    }

    /// The file has been read to its end.
    fn ended(&mut self) {
        let Counters {
            cut,
            skipped,
            headed,
            inexact,
            ..
        } = self.source.counters();
        let (name, undated) = (self.source.name(), self.undated);
        if !self.known {
            self.notes.lost(
                inexact,
                format!(
                    "{name}: {inexact} packets have stamps finer than a picosecond, which were \
                     rounded down, or before 1970, which became 1970"
                ),
            );
            self.notes.lost(
                undated,
                format!(
                    "{name}: {undated} packets have no time; in a replay at the file's own timing \
                     each leaves right after the packet before it"
                ),
            );
            if self.backwards > 0 {
                self.notes.add(format!(
                    "{name}: {} packets have an earlier time than a packet before them; in a \
                     replay at the file's own timing each leaves right after that packet",
                    self.backwards
                ));
            }
            if headed > 0 {
                self.notes.add(format!(
                    "{name}: {headed} packets have no Ethernet header; each got one, with zeros \
                     for addresses that are not known"
                ));
            }
            self.notes.lost(
                cut,
                format!("{name}: {cut} packets had been cut short when they were captured"),
            );
            if skipped > MAX_NOTES as u64 {
                self.notes.add(format!(
                    "{name}: {skipped} bad packets or lines were skipped"
                ));
            }
        }
        self.known = true;
    }
}

/// When a packet was taken, if its file says so.
fn time_of(item: &Item<'_>, tick: Tick) -> Option<u128> {
    item.at_ps.or(item.word.map(|word| tick.ps(word)))
}

impl Source for Replayed {
    fn next(&mut self, frame: &mut Frame) -> Option<u128> {
        loop {
            match self.source.next() {
                Ok(Next::Item(item)) => {
                    let takes = self.filter.as_mut().map(|filter| filter.takes(&item));
                    match takes.transpose() {
                        Ok(None | Some(true)) => {}
                        Ok(Some(false)) => continue,
                        Err(error) => {
                            self.ended_early(&error);
                            break;
                        }
                    }
                    frame.extend(item.bytes);
                    self.undated += u64::from(item.captured.is_some() && item.at_ps.is_none());
                    let own = time_of(&item, self.tick);
                    if let Some(own) = own {
                        self.backwards += u64::from(own < self.latest_ps);
                        self.latest_ps = self.latest_ps.max(own);
                    }
                    let at = own.or(self.first_ps).unwrap_or(0);
                    self.given += 1;
                    return Some(at.saturating_sub(*self.first_ps.get_or_insert(at)));
                }
                Ok(Next::End) => {}
                Ok(Next::Stopped) => self.notes.kept.lock().stopped = true,
                Err(error) => self.ended_early(&error),
            }
            break;
        }
        self.ended();
        None
    }

    fn rewind(&mut self) -> bool {
        if self.notes.is_stopped() {
            return false;
        }
        match source(&self.path) {
            Ok(source) => {
                self.source = source;
                (self.first_ps, self.latest_ps, self.given) = (None, 0, 0);
                true
            }
            Err(error) => {
                self.notes
                    .unsent(1, format!("the replay ended early: {error}"));
                false
            }
        }
    }

    fn too_late(&mut self, at_ps: u128) {
        const DAY: u128 = 86_400_000_000_000_000;
        let mut unsent = 1;
        // A pipe may have no end; of a file it is known what is lost.
        let has_end = self.path.is_file();
        while has_end && let Ok(Next::Item(item)) = self.source.next() {
            let filter = self.filter.as_mut();
            unsent +=
                u64::from(filter.is_none_or(|filter| matches!(filter.takes(&item), Ok(true))));
        }
        let (name, packet, days) = (self.source.name(), self.given, at_ps / DAY);
        self.notes.unsent(
            unsent,
            format!(
                "{name}: the replay ended early: packet {packet} would leave on day {days} of the run, and a run ends on day 213; a higher speed or \
                 a pace (gap, rate) makes it fit"
            ),
        );
    }
}
