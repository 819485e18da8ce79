//! What sections share while a packet is worked on, beside its cells.

use crate::environment::Environment;
use crate::externs::hash::Tables as CrcTables;
use crate::state::Reader;
use crate::state::checksum::Checksum;
use crate::state::meter::Colour;
use crate::state::nic::Side;
use crate::state::profile::Contents;
use crate::state::replication::Groups;
use crate::table::{Entry, Update};
use crate::trace::Trace;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use node::Time;
use node::random::split_mix;
use p4::ir::{KeyMatch, SlotId, TableId};

/// How many jumps backwards a packet may make in one pass: loops of parser states and `for` loops. Beyond, it is dropped.
pub const STEPS: u32 = 65_536;

/// Which values a copy of the packet takes along.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Preserved {
    /// None.
    #[default]
    Nothing,
    /// Those of the fields with this number in their `@field_list`.
    List(u32),
    /// Those of these slots.
    Slots(Arc<[SlotId]>),
}

/// What the program has asked of the architecture. The last request of a kind counts.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// Copies by this clone session.
    pub clone: Option<(u32, Preserved)>,
    /// Begin anew with the packet as it came.
    pub resubmit: Option<Preserved>,
    /// Begin anew with the packet as it would leave.
    pub recirculate: Option<Preserved>,
    /// Let no more than so many bytes leave.
    pub truncate: Option<u32>,
    /// A checksum was not as it should be.
    pub checksum_error: bool,
}

/// Why a packet was given up halfway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// `assert(false)`
    Assert,
    /// `assume(false)`
    Assume,
    /// More than [`STEPS`] jumps backwards.
    Steps,
}

/// The entry that a table's action runs for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    pub table: TableId,
    /// The entry's index, below the table's capacity.
    pub entry: u32,
}

/// Requests of a packet to the tables.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// A new entry.
    Add(TableId, Entry),
    /// The time of the entry that was hit starts again; with another timeout from a profile.
    Restart(Hit, Option<Option<Time>>),
}

/// A key that a table with `add_on_miss` does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missed {
    /// The table whose default action runs now.
    pub(crate) table: Option<TableId>,
    pub(crate) key: Vec<u64>,
}

impl Missed {
    /// Notes a miss.
    pub(crate) fn note(&mut self, table: TableId, key: &[u64]) {
        self.table = Some(table);
        self.key.clear();
        self.key.extend_from_slice(key);
    }
}

/// What waits to leave by a port, as the world last told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    pub packets: u32,
    /// How long a packet that comes now waits behind them, in microseconds; zero where nobody knows at what rate they leave.
    pub time: u32,
}

/// Random numbers for programs, the same for the same seed.
#[derive(Clone, Debug)]
pub struct Random {
    seed: u64,
    next: u64,
}

impl Random {
    /// Begins with a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Random { seed, next: 0 }
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        let index = self.next;
        self.next = index.wrapping_add(1);
        split_mix(self.seed, index)
    }

    /// A number from `low` to `high`, both included; `low` when there is none between.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        match high.wrapping_sub(low).wrapping_add(1) {
            _ if high <= low => low,
            0 => self.draw(),
            count => low + ((u128::from(self.draw()) * u128::from(count)) >> 64) as u64,
        }
    }
}

/// What sections share while a packet is worked on, beside its cells. One for each thread that runs packets.
pub struct Context {
    /// Tables and objects.
    pub environment: Arc<Environment>,
    /// The time that the packet's sections see.
    pub now: Time,
    /// The packet's length in bytes when it came, which counters and meters count.
    pub length: u32,
    /// Random numbers.
    pub random: Random,
    /// What the program has asked for.
    pub effects: Effects,
    /// Set with [`Ended::Stop`](crate::engine::Ended::Stop).
    pub stop: Option<Stop>,
    /// How many jumps backwards the packet still has.
    pub steps: u32,
    /// In an action that runs for an entry: which. Without one (default action, no table) direct objects do nothing.
    pub hit: Option<Hit>,
    /// The key that the default action of a table with `add_on_miss` runs for.
    pub missed: Missed,
    /// Requests of the packet in this pass.
    pub asked: Vec<Asked>,
    /// Requests of passes that have ended, not yet carried out.
    pub(crate) updates: Vec<Update>,
    /// The engine has changed tables by itself.
    pub(crate) settles: bool,
    /// What the direct meter of the table of `hit` said, if it has one (v1model).
    pub colour: Colour,
    /// Of checksum objects, by [`Object::Checksum`](crate::environment::Object::Checksum)'s number.
    pub checksums: Vec<Checksum>,
    /// Where to note what happens; nothing is noted without.
    pub trace: Option<Box<Trace>>,
    /// Bytes to hash, reused.
    pub scratch: Vec<u8>,
    /// By port; the ports that it ends before have nothing that waits.
    pub waiting: Vec<Waiting>,
    profiles: Vec<Option<Reader<Contents>>>,
    value_sets: Vec<Reader<Vec<Vec<KeyMatch>>>>,
    groups: Reader<Groups>,
    crcs: Reader<CrcTables>,
    expiry: Reader<BTreeMap<u8, Option<Time>>>,
    sides: Reader<BTreeMap<u32, Side>>,
}

impl Context {
    /// For one thread.
    #[must_use]
    pub fn new(environment: Arc<Environment>, seed: u64) -> Self {
        let profiles = environment.objects.iter().map(|object| match object {
            crate::environment::Object::Profile(profile) => Some(Reader::new(&profile.contents)),
            _ => None,
        });
        let profiles = profiles.collect();
        let checksums = (0..environment.checksums)
            .map(|_| Checksum::default())
            .collect();
        Context {
            now: Time::ZERO,
            length: 0,
            random: Random::new(seed),
            effects: Effects::default(),
            stop: None,
            steps: STEPS,
            hit: None,
            missed: Missed::default(),
            asked: Vec::new(),
            updates: Vec::new(),
            settles: false,
            colour: Colour::Green,
            checksums,
            trace: None,
            scratch: Vec::new(),
            waiting: Vec::new(),
            profiles,
            value_sets: environment.value_sets.iter().map(Reader::new).collect(),
            groups: Reader::new(&environment.replication),
            crcs: Reader::new(&environment.crcs),
            expiry: Reader::new(&environment.nic.expiry),
            sides: Reader::new(&environment.nic.sides),
            environment,
        }
    }

    /// Forgets the last packet, or the last pass of this one.
    #[inline]
    pub fn begin(&mut self, now: Time, length: u32) {
        self.now = now;
        self.length = length;
        self.effects = Effects::default();
        self.stop = None;
        self.steps = STEPS;
        self.hit = None;
        self.missed.table = None;
        for checksum in &mut self.checksums {
            checksum.clear();
        }
    }

    /// Gets ready for a packet that an engine lets go along a path: what it asks for is the engine's
    /// own to clear.
    #[inline]
    pub(crate) fn begin_path(&mut self, length: u32) {
        self.length = length;
        self.steps = STEPS;
        for checksum in &mut self.checksums {
            checksum.clear();
        }
    }

    /// Forgets the entry or the miss that an action ran for.
    #[inline]
    pub fn leave_action(&mut self) {
        self.hit = None;
        self.missed.table = None;
    }

    /// Counts a jump backwards, and says whether the packet may go on.
    #[inline]
    pub fn step(&mut self) -> bool {
        match self.steps.checked_sub(1) {
            Some(left) => {
                self.steps = left;
                true
            }
            None => {
                self.stop = Some(Stop::Steps);
                false
            }
        }
    }

    /// What waits at a port.
    #[must_use]
    pub fn waiting(&self, port: u64) -> Waiting {
        let port = usize::try_from(port).unwrap_or(usize::MAX);
        self.waiting.get(port).copied().unwrap_or_default()
    }

    /// Members and groups of an action profile; `None` for another object.
    pub fn profile(&mut self, object: p4::ir::ObjectId) -> Option<&Contents> {
        let crate::environment::Object::Profile(profile) =
            &self.environment.objects[object.index()]
        else {
            return None;
        };
        Some(
            self.profiles[object.index()]
                .as_mut()?
                .get(&profile.contents),
        )
    }

    /// Members of a value set.
    pub fn value_set(&mut self, set: p4::ir::ValueSetId) -> &[Vec<KeyMatch>] {
        self.value_sets[set.index()].get(&self.environment.value_sets[set.index()])
    }

    /// Multicast groups and clone sessions.
    pub fn groups(&mut self) -> &Groups {
        self.groups.get(&self.environment.replication)
    }

    /// For how long an entry with this profile stays that is not used; none for ever.
    pub(crate) fn expiry(&mut self, profile: u64) -> Option<Time> {
        let times = self.expiry.get(&self.environment.nic.expiry);
        let profile = u8::try_from(profile).ok()?;
        times.get(&profile).copied().flatten()
    }

    /// The side of the NIC of each port that has one.
    pub(crate) fn sides(&mut self) -> &BTreeMap<u32, Side> {
        self.sides.get(&self.environment.nic.sides)
    }

    /// The tables of CRCs.
    pub fn crcs(&mut self) -> &CrcTables {
        self.crcs.get(&self.environment.crcs)
    }
}
