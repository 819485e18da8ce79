//! A topic that labs measure, in one place: its sections of a lab file, what it observes during a run, and what it
//! reports of it.
//!
//! A [`Registry`](crate::Registry) makes the instruments of each lab that it reads, in the order in which they were
//! added. Each [reads](Instrument::read) its sections of the file, and [attaches](Instrument::attach) its observers to
//! each run of the lab; what it has found is a [`Section`] of the report.

use super::{Lab, Location};
use crate::fault::Fault;
use crate::services::Services;
use crate::tree::Value;
use crate::world::World;
use ::plot::Figure;
use ::report::Table;
use node::outcome::{Direction, Tap};
use node::{End, Frame, NodeId, Outcome, Time};
use queue::egress::{QueueEvent, SeeDiscipline};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use sim::ClockTap;
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::{self, Debug, Write as _};
use std::sync::Arc;

/// A topic that labs measure: its sections of a lab file, what it observes during a run, and what it reports of it.
///
/// A [`Registry`](crate::Registry) makes the instruments of each lab that it reads, in the order in which they were added.
pub trait Instrument: Debug + Send + Sync {
    /// The names of its sections at the top of a lab file, as `offsets` for `[offsets]`. No two instruments have the same.
    fn sections(&self) -> &'static [&'static str] {
        &[]
    }

    /// Reads and checks its sections. All nodes and links of the lab are known by then.
    fn read(&mut self, _reading: &mut Reading<'_>) {}

    /// The files that it writes, as the lab file names them.
    fn files(&self) -> Vec<String> {
        Vec::new()
    }

    /// Prepares a run; `None` where there is nothing to measure.
    fn attach(&self, attachments: &mut Attachments<'_>) -> Option<Box<dyn Measurement>>;
}

/// An instrument in a run.
pub trait Measurement: Send + Sync {
    /// Whether the measurement is complete. A run in which nodes give a fixed number of results ends when all
    /// measurements are done.
    fn is_done(&self) -> bool {
        true
    }

    /// The section of the report, from what it has observed so far; `None` where there is nothing to tell.
    fn finish(&self, run: &Finished<'_>) -> Option<Arc<dyn Section>>;
}

/// A part of a report: for people, for programs, and as pictures.
pub trait Section: Any + Debug + Send + Sync {
    /// Its part of the report's first line.
    fn headline(&self) -> Option<String> {
        None
    }

    /// The same for programs: keys of the object `headline`.
    fn headline_json(&self) -> Vec<(&'static str, Json)> {
        Vec::new()
    }

    /// Its tables, for people and for programs.
    fn tables(&self) -> Vec<Table> {
        Vec::new()
    }

    /// Sentences for people below the tables.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Writes the text for people, which begins with an empty line; all detail if `verbose`. The default is the tables and
    /// the notes.
    ///
    /// # Errors
    /// None: writing to a `String` does not fail.
    fn write(&self, text: &mut String, _verbose: bool) -> fmt::Result {
        for table in self.tables().iter().filter(|table| !table.is_empty()) {
            write!(text, "\n{table}")?;
        }
        for note in self.notes() {
            writeln!(text, "{note}")?;
        }
        Ok(())
    }

    /// Its lines of JSON: objects with a key `type`. Times are picoseconds. The default is the lines of the
    /// tables.
    fn json(&self) -> Vec<Json> {
        self.tables().iter().flat_map(Table::json).collect()
    }

    /// Its pictures, each with the file that the lab file names.
    fn figures(&self) -> Vec<(String, Figure)> {
        Vec::new()
    }

    /// The figures that are compared where a lab runs in several worlds: names and values.
    fn compared(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// The section of this type among those of a report.
pub(crate) fn section<T: Section>(sections: &[Arc<dyn Section>]) -> Option<&T> {
    sections.iter().find_map(|section| {
        let section: &dyn Any = &**section;
        section.downcast_ref()
    })
}

/// A lab file while its sections are read.
pub struct Reading<'a> {
    pub(crate) lab: &'a mut Lab,
    pub(crate) faults: &'a mut Vec<Fault>,
    /// Nodes by name.
    pub(crate) names: &'a BTreeMap<String, usize>,
    /// The first link at a port, and which of its ends that is.
    pub(crate) ends: &'a BTreeMap<End, (usize, usize)>,
    /// Views by place.
    pub(crate) places: &'a mut BTreeMap<Location, usize>,
    /// The instrument's sections that the file has.
    pub(crate) sections: Vec<(&'static str, &'a Value)>,
}

impl<'a> Reading<'a> {
    /// A section as it stands in the file.
    pub(crate) fn value(&self, name: &str) -> Option<&'a Value> {
        let found = self.sections.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value)
    }

    /// The keys of a section; `None` where the file has none, or where a key is wrong, which is then a fault of the file.
    pub fn section<T: DeserializeOwned>(&mut self, name: &str) -> Option<T> {
        let read = self.value(name)?.read();
        read.map_err(|fault| self.faults.push(fault)).ok()
    }

    /// Whether no fault has been found in the file so far.
    pub fn is_good(&self) -> bool {
        self.faults.is_empty()
    }

    /// Adds a fault of the file: at a key of a section, at the section if it lacks the key, or at the start of the file.
    pub fn fault(&mut self, name: &str, key: &str, message: impl Into<String>) {
        let section = self.value(name);
        let value = section.and_then(|section| section.get(key)).or(section);
        let span = value.map_or(0..0, |value| value.span.clone());
        self.faults.push(Fault::new(span, message.into()));
    }

    /// The lab: its nodes and links.
    pub fn lab(&self) -> &Lab {
        self.lab
    }
}

/// The places of a run to which instruments attach observers.
pub struct Attachments<'a> {
    lab: &'a Lab,
    world: World,
    pub(crate) taps: Vec<Tap>,
    pub(crate) clocks: Option<ClockTap>,
    pub(crate) queues: Vec<(usize, Direction, Box<SeeDiscipline>)>,
    pub(crate) services: Services,
}

impl<'a> Attachments<'a> {
    pub(crate) fn new(lab: &'a Lab, world: World) -> Attachments<'a> {
        Attachments {
            lab,
            world,
            taps: Vec::new(),
            clocks: None,
            queues: Vec::new(),
            services: Services::default(),
        }
    }

    /// The lab that is run.
    pub fn lab(&self) -> &'a Lab {
        self.lab
    }

    /// The world in which it runs.
    pub fn world(&self) -> World {
        self.world
    }

    /// Calls `see` for each frame that a direction of a link delivers, with the time at which the receiving node gets the
    /// frame. Links are numbered in the order of the file.
    pub fn on_frame(
        &mut self,
        link: usize,
        direction: Direction,
        see: impl FnMut(Time, &Frame) + Send + 'static,
    ) {
        self.taps.push(Tap {
            link,
            direction,
            see: Box::new(see),
        });
    }

    /// Calls `see` with the counter of each sublayer every `every` of simulated time, from time 0. There is one such
    /// observer in a run: the last one that is attached.
    pub fn on_clock(
        &mut self,
        every: Time,
        see: impl Fn(Time, NodeId, u128) + Send + Sync + 'static,
    ) {
        self.clocks = Some(ClockTap {
            every,
            see: Arc::new(see),
        });
    }

    /// Calls `see` for each packet that leaves the queue discipline of a direction of a link, is dropped or marked there. Nothing
    /// where the direction has none. Links are numbered in the order of the file.
    pub fn on_queue(
        &mut self,
        link: usize,
        direction: Direction,
        see: impl FnMut(&QueueEvent<'_>) + Send + 'static,
    ) {
        self.queues.push((link, direction, Box::new(see)));
    }

    /// Offers something to nodes, which find it by its [type](crate::Context::service), and to later instruments.
    pub fn provide<T: Any + Send + Sync>(&mut self, service: T) {
        self.services.provide(service);
    }

    /// A service that an earlier instrument provides.
    pub fn service<T: Any>(&self) -> Option<&T> {
        self.services.get()
    }
}

/// A run that has ended, or stands still while it is looked at.
pub struct Finished<'a> {
    pub(crate) lab: &'a Lab,
    pub(crate) world: World,
    pub(crate) outcome: &'a Outcome,
    pub(crate) sections: &'a [Arc<dyn Section>],
}

impl<'a> Finished<'a> {
    /// The lab that was run.
    pub fn lab(&self) -> &'a Lab {
        self.lab
    }

    /// The world in which it ran.
    pub fn world(&self) -> World {
        self.world
    }

    /// Counters of nodes, in the order of the file, and of links.
    pub fn outcome(&self) -> &'a Outcome {
        self.outcome
    }

    /// The section of an earlier instrument.
    pub fn section<T: Section>(&self) -> Option<&'a T> {
        section(self.sections)
    }
}
