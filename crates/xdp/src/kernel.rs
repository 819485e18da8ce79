//! A program in the kernel, with its maps: what is in them, kept as the environment has it.

use crate::choice;
use crate::copies::{COPIES, members};
use crate::frame::{CODES, DONE, ENDED, OUTPUT_LIMIT};
use crate::instruction::relocate;
use crate::maps::{self, Kind, Matching, Object, Purpose};
use crate::meter::{self, Held};
use crate::nic;
use crate::rows;
use crate::timed;
use crate::unit::{Entrance, compile};
use live::ebpf::{self, ANY_LENGTH, LoadError, MMAPABLE, Memory, Messages, NO_PREALLOC, Program};
use node::Time;
use p4::ir::{Architecture, KeyMatch, ObjectId, TableId, ValueSetId};
use pipeline::context::Context;
use pipeline::engine::{Packet, Path};
use pipeline::environment::{Environment, Unsupported};
use pipeline::externs::hash::CrcTable;
use pipeline::state::nic::Side;
use pipeline::state::profile::Contents;
use pipeline::state::{Counter, Register};
use pipeline::table::{Call, Form, Installed};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Why a program does not run in the kernel.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It asks for what the kernel cannot do: all such places.
    #[error("{}", told(.0))]
    Unsupported(Vec<Unsupported>),
    /// The verifier refused it: how many instructions it has, and the verifier's last words.
    #[error(
        "the kernel's verifier refused the program of {instructions} instructions: {reason}; a smaller program (fewer headers, tables of fewer entries with priorities, shorter loops) may pass"
    )]
    Refused { instructions: usize, reason: String },
    /// The interface with this number has a program of XDP already.
    #[error(
        "interface {0} has a program of XDP already; take it off with `ip link set dev IFACE xdp off`, or end what has put it there"
    )]
    Taken(u32),
    /// The kernel did not give what is needed.
    #[error(
        "{doing}: {error}; programs in the kernel need CAP_BPF and CAP_NET_ADMIN (root), and Linux 5.18 or later"
    )]
    Kernel {
        doing: &'static str,
        #[source]
        error: io::Error,
    },
}

fn told(faults: &[Unsupported]) -> String {
    let messages: Vec<&str> = faults.iter().map(|fault| &*fault.message).collect();
    messages.join("; ")
}

pub(crate) fn failed(doing: &'static str) -> impl Fn(io::Error) -> Error {
    move |error| Error::Kernel { doing, error }
}

/// A loaded program.
pub(crate) struct Kernel {
    pub(crate) environment: Arc<Environment>,
    pub(crate) object: Object,
    pub(crate) program: Program,
    pub(crate) maps: Vec<ebpf::Map>,
    /// The meters that the maps have, by their maps' numbers.
    meters: BTreeMap<usize, Vec<Held>>,
    /// Of counters and registers, by their maps' numbers.
    memories: BTreeMap<usize, Memory>,
    copies: usize,
    /// The state of the tables that the maps have.
    changes: Option<u64>,
    /// The action profiles that they have.
    profiles: Vec<Arc<Contents>>,
    /// The rows of each group of a table's action selector.
    choices: BTreeMap<TableId, BTreeMap<u32, Vec<Vec<u8>>>>,
    /// What is in the map of each table, by key.
    pub(crate) entries: BTreeMap<TableId, BTreeMap<Vec<u8>, Vec<u8>>>,
    /// The sides of ports and the expire time profiles that the maps have.
    sides: Arc<BTreeMap<u32, Side>>,
    expiry: Option<Arc<BTreeMap<u8, Option<Time>>>>,
    defaults: Vec<Vec<u8>>,
    /// The multicast groups that the maps have: interfaces; the longest frame, and how many copies are for ports that are not there.
    groups: BTreeMap<u32, (Vec<u32>, [u64; 2])>,
    /// What the program has to say to the control plane.
    messages: Option<(Messages, Context)>,
    /// The members that the map of each value set has.
    members: BTreeMap<ValueSetId, Arc<Vec<Vec<KeyMatch>>>>,
}

impl Kernel {
    /// Makes the maps and loads the program.
    pub(crate) fn load(
        environment: &Arc<Environment>,
        path: &Path,
        entrance: Entrance,
    ) -> Result<Self, Error> {
        let object = compile(environment, path, entrance).map_err(Error::Unsupported)?;
        let mut made = Vec::new();
        let mut memories = BTreeMap::new();
        for (number, map) in object.maps.iter().enumerate() {
            let new = make(map).map_err(failed("making a map"))?;
            let shared = matches!(map.purpose, Purpose::Counter(_) | Purpose::Register(_));
            if shared || matches!(map.purpose, Purpose::Crc(_)) {
                let memory = new.memory().map_err(failed("mapping a map"))?;
                if let Purpose::Crc(crc) = map.purpose {
                    let table = CrcTable::new(crc);
                    for (word, value) in memory.words().iter().zip(table.entries()) {
                        word.store(*value, Ordering::Relaxed);
                    }
                }
                if shared {
                    memories.insert(number, memory);
                }
            }
            made.push(new);
        }
        let mut code = object.code.clone();
        for at in &object.relocations {
            relocate(&mut code[*at], |number| made[number].number());
        }
        let words: Vec<u64> = code.iter().map(|instruction| instruction.word()).collect();
        let program = Program::load(&words).map_err(|error| match error {
            LoadError::Refused(log) => Error::Refused {
                instructions: words.len(),
                reason: last_words(&log),
            },
            LoadError::Kernel(error) => failed("loading the program")(error),
        })?;
        let ring = object
            .maps
            .iter()
            .position(|map| map.purpose == Purpose::Messages);
        let messages = ring.map(|number| Messages::new(&made[number])).transpose();
        let messages = messages.map_err(failed("mapping the ring of messages"))?;
        let messages = messages.map(|ring| (ring, Context::new(Arc::clone(environment), 0)));
        let copies = ebpf::copies().map_err(failed("asking for the processors"))?;
        let mut kernel = Kernel {
            environment: Arc::clone(environment),
            object,
            program,
            maps: made,
            meters: BTreeMap::new(),
            memories,
            messages,
            copies,
            changes: None,
            profiles: Vec::new(),
            choices: BTreeMap::new(),
            entries: BTreeMap::new(),
            sides: Arc::default(),
            expiry: None,
            members: BTreeMap::new(),
            groups: BTreeMap::new(),
            defaults: vec![Vec::new(); environment.tables.forms().len()],
        };
        if let Some(itself) = kernel.map(Purpose::Itself) {
            let number = kernel.program.number().to_ne_bytes();
            itself
                .set(&0u32.to_ne_bytes(), &number)
                .map_err(failed("telling the program of itself"))?;
        }
        kernel
            .bring_tables()
            .map_err(failed("filling the tables"))?;
        kernel
            .bring_meters()
            .map_err(failed("setting the meters"))?;
        kernel.push();
        kernel
            .push_flows()
            .map_err(failed("setting the number of flows"))?;
        Ok(kernel)
    }

    /// The map for a purpose, if the program has it.
    pub(crate) fn map(&self, purpose: Purpose) -> Option<&ebpf::Map> {
        self.maps.get(self.number(purpose)?)
    }

    /// Puts a whole array of entries in place of the one that packets see.
    fn exchange(&self, number: usize, block: &[u8]) -> io::Result<()> {
        let inner = inner(&self.object.maps[number])?;
        let first = 0u32.to_ne_bytes();
        inner.set(&first, block)?;
        self.maps[number].set(&first, &inner.number().to_ne_bytes())
    }

    fn bring_value_sets(&mut self) -> io::Result<()> {
        let environment = Arc::clone(&self.environment);
        for (number, map) in self.object.maps.iter().enumerate() {
            let Purpose::ValueSet(id) = map.purpose else {
                continue;
            };
            let members = environment.value_sets[id.index()].get();
            if self
                .members
                .get(&id)
                .is_some_and(|there| Arc::ptr_eq(there, &members))
            {
                continue;
            }
            let set = &environment.program.value_sets[id.index()];
            self.exchange(number, &maps::members(set, &members, map.value as usize))?;
            self.members.insert(id, members);
        }
        Ok(())
    }

    /// The number of the map for a purpose, if the program has it.
    pub(crate) fn number(&self, purpose: Purpose) -> Option<usize> {
        let mut maps = self.object.maps.iter();
        maps.position(|map| map.purpose == purpose)
    }

    /// Brings the maps of tables and value sets to what the environment has, if that has changed.
    pub(crate) fn bring_tables(&mut self) -> io::Result<()> {
        self.bring_value_sets()?;
        self.bring_nic()?;
        let environment = Arc::clone(&self.environment);
        for (id, form) in timed::tables(&environment) {
            // Their times change without a change of the table.
            let entries = environment.tables.entries(id);
            self.bring_entries(id, form, &entries, |entry| {
                rows::row(&environment, id, entry)
            })?;
        }
        let changes = environment.tables.changes();
        let objects = (0..environment.objects.len() as u32).map(ObjectId);
        let profiles = objects.filter_map(|id| Some((id, environment.profile(id)?.contents.get())));
        let profiles: BTreeMap<ObjectId, Arc<Contents>> = profiles.collect();
        let mut before = self.profiles.iter();
        let same = profiles
            .values()
            .all(|now| before.next().is_some_and(|old| Arc::ptr_eq(old, now)));
        if self.changes == Some(changes) && same {
            return Ok(());
        }
        for (index, form) in environment.tables.forms().iter().enumerate() {
            let id = TableId(index as u32);
            let entries = environment.tables.entries(id);
            let default = environment.tables.default(id).ok().map(|(call, _)| call);
            let none = Arc::default();
            let profile = form
                .implementation
                .and_then(|profile| profiles.get(&profile));
            let contents: &Contents = profile.unwrap_or(&none);
            let row = |call: &Call, entry| choice::row(&environment, id, contents, call, entry);
            let of =
                |installed: &Installed| row(&installed.entry.call, u64::from(installed.index) + 1);
            // A packet sees no entry before its group.
            let calls = entries.iter().map(|installed| &installed.entry.call);
            let groups = self.bring_choices(id, contents, calls.chain(&default))?;
            if let Some(call) = &default {
                self.bring_default(index, row(call, 0))?;
            }
            if !timed::is_timed(&environment.program, id) {
                self.bring_entries(id, form, &entries, of)?;
            }
            self.retain_choices(id, &groups)?;
        }
        self.changes = Some(changes);
        self.profiles = profiles.into_values().collect();
        Ok(())
    }

    fn bring_entries(
        &mut self,
        id: TableId,
        form: &Form,
        entries: &[Installed],
        row: impl Fn(&Installed) -> Vec<u8>,
    ) -> io::Result<()> {
        let Some(number) = self.number(Purpose::Table(id)) else {
            return Ok(());
        };
        let wanted = self.object.maps[number];
        let map = &self.maps[number];
        let there = self.entries.remove(&id).unwrap_or_default();
        let mut wants = BTreeMap::new();
        if wanted.kind == Kind::ArrayOfMaps {
            let block = maps::block(form, entries, wanted.value as usize, row);
            wants.insert(0u32.to_ne_bytes().to_vec(), block);
        } else {
            for installed in entries {
                let keys = &installed.entry.keys;
                let key = match Matching::of(form) {
                    Matching::Prefix(prefix) => maps::trie_key(form, prefix, keys),
                    _ => maps::exact_key(form, keys),
                };
                wants.insert(key, row(installed));
            }
        }
        // First what goes, so that there is room.
        for key in there.keys().filter(|key| !wants.contains_key(*key)) {
            // The program itself removes entries whose time has passed.
            map.discard(key)?;
        }
        for (key, value) in &wants {
            if there.get(key) == Some(value) {
                continue;
            }
            match wanted.kind {
                Kind::ArrayOfMaps => self.exchange(number, value)?,
                _ => map.set(key, value)?,
            }
        }
        self.entries.insert(id, wants);
        Ok(())
    }

    /// Writes the sides of ports and the expire time profiles to their maps.
    fn bring_nic(&mut self) -> io::Result<()> {
        if let Some(map) = self.map(Purpose::Sides) {
            let sides = self.environment.nic.sides.get();
            for port in self.sides.keys().filter(|port| !sides.contains_key(port)) {
                map.discard(&port.to_ne_bytes())?;
            }
            for (port, side) in &*sides {
                if self.sides.get(port) != Some(side) {
                    map.set(&port.to_ne_bytes(), &nic::number(*side).to_ne_bytes())?;
                }
            }
            self.sides = sides;
        }
        if let Some(map) = self.map(Purpose::Expiry) {
            let expiry = self.environment.nic.expiry.get();
            if self
                .expiry
                .as_ref()
                .is_none_or(|there| !Arc::ptr_eq(there, &expiry))
            {
                for profile in 0..=u8::MAX {
                    let time = expiry.get(&profile).copied().flatten();
                    let time = time.map_or(0, Time::as_ns);
                    map.set(&u32::from(profile).to_ne_bytes(), &time.to_ne_bytes())?;
                }
                self.expiry = Some(expiry);
            }
        }
        Ok(())
    }

    /// Number of flow ids that the kernel has allocated, if the program allocates any.
    pub(crate) fn flows(&self) -> io::Result<Option<u32>> {
        let Some(map) = self.map(Purpose::Flows) else {
            return Ok(None);
        };
        let value = map.get(&0u32.to_ne_bytes(), 1)?;
        let first = value.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes));
        Ok(first.map(|given| given as u32))
    }

    /// Sets the kernel's next flow id to that of the environment.
    pub(crate) fn push_flows(&self) -> io::Result<()> {
        match self.map(Purpose::Flows) {
            Some(map) => {
                let given = u64::from(self.environment.nic.flows());
                map.set(&0u32.to_ne_bytes(), &given.to_ne_bytes())
            }
            None => Ok(()),
        }
    }

    /// Makes the arrays of the groups that calls name, and gives their numbers.
    fn bring_choices<'a>(
        &mut self,
        id: TableId,
        contents: &Contents,
        calls: impl Iterator<Item = &'a Call>,
    ) -> io::Result<BTreeSet<u32>> {
        let Some(number) = self.number(Purpose::Choices(id)) else {
            return Ok(BTreeSet::new());
        };
        let groups = calls.filter_map(|call| match call {
            Call::Group(group) => Some(*group),
            _ => None,
        });
        let groups: BTreeSet<u32> = groups.collect();
        let there = self.choices.entry(id).or_default();
        for group in &groups {
            let elements = choice::elements(&self.environment, id, contents, *group);
            if there.get(group) == Some(&elements) {
                continue;
            }
            let map = rows(&self.object.maps[number], elements.len() as u32)?;
            for (index, element) in (0u32..).zip(&elements) {
                map.set(&index.to_ne_bytes(), element)?;
            }
            self.maps[number].set(&group.to_ne_bytes(), &map.number().to_ne_bytes())?;
            there.insert(*group, elements);
        }
        Ok(groups)
    }

    /// Takes the groups away that no entry names any more.
    fn retain_choices(&mut self, id: TableId, named: &BTreeSet<u32>) -> io::Result<()> {
        let Some(number) = self.number(Purpose::Choices(id)) else {
            return Ok(());
        };
        let there = self.choices.entry(id).or_default();
        for group in there.keys().filter(|group| !named.contains(group)) {
            self.maps[number].remove(&group.to_ne_bytes())?;
        }
        there.retain(|group, _| named.contains(group));
        Ok(())
    }

    /// Gives the multicast groups the interfaces of their ports: numbers, and the longest frame that each takes.
    ///
    /// # Errors
    /// When there are more groups than the map has room for.
    pub(crate) fn bring_groups(&mut self, interfaces: &[(u32, u64)]) -> io::Result<()> {
        let (Some(groups), Some(longest)) =
            (self.map(Purpose::Groups), self.map(Purpose::LongestOf))
        else {
            return Ok(());
        };
        let wanted = match self.environment.program.architecture {
            Architecture::PnaNic => nic::groups(&self.environment, interfaces.len()),
            _ => {
                let groups = self.environment.replication.get();
                let groups = groups.multicast.iter();
                let groups = groups.map(|(number, all)| (*number, (all.clone(), None)));
                groups.collect()
            }
        };
        let mut there = BTreeMap::new();
        for (number, (replicas, otherwise)) in &wanted {
            let (ports, absent) = members(replicas, interfaces.len());
            let absent = otherwise.unwrap_or(absent);
            let most = ports.iter().map(|port| interfaces[*port].1).min();
            let all: Vec<u32> = ports.iter().map(|port| interfaces[*port].0).collect();
            let limits = [most.unwrap_or(u64::MAX), absent];
            let key = number.to_ne_bytes();
            if self
                .groups
                .get(number)
                .is_none_or(|(before, _)| *before != all)
            {
                let map = group()?;
                for (copy, interface) in all.iter().enumerate() {
                    map.set(&(copy as u32).to_ne_bytes(), &interface.to_ne_bytes())?;
                }
                groups.set(&key, &map.number().to_ne_bytes())?;
            }
            if self
                .groups
                .get(number)
                .is_none_or(|(_, before)| *before != limits)
            {
                longest.set(&key, &limits.map(u64::to_ne_bytes).concat())?;
            }
            there.insert(*number, (all, limits));
        }
        for number in self
            .groups
            .keys()
            .filter(|number| !there.contains_key(number))
        {
            longest.remove(&number.to_ne_bytes())?;
            groups.remove(&number.to_ne_bytes())?;
        }
        self.groups = there;
        Ok(())
    }

    fn bring_default(&mut self, index: usize, mut row: Vec<u8>) -> io::Result<()> {
        let Some(number) = self.number(Purpose::Defaults) else {
            return Ok(());
        };
        row.resize(self.object.maps[number].value as usize, 0);
        if self.defaults[index] != row {
            self.maps[number].set(&(index as u32).to_ne_bytes(), &row)?;
            self.defaults[index] = row;
        }
        Ok(())
    }

    /// The arrays that the kernel and the environment have alike, word by word.
    fn shared(&self, mut each: impl FnMut(&AtomicU64, &AtomicU64)) {
        for (number, memory) in &self.memories {
            let theirs = match self.object.maps[*number].purpose {
                Purpose::Register(object) => {
                    let register = self.environment.register(object);
                    register.map_or(&[][..], Register::cells)
                }
                Purpose::Counter(object) => {
                    let counter = self.environment.counter(object);
                    counter.map_or(&[][..], Counter::cells)
                }
                _ => &[],
            };
            for (kernel, environment) in memory.words().iter().zip(theirs) {
                each(kernel, environment);
            }
        }
    }

    /// Counters and registers as the environment has them, into the kernel's.
    pub(crate) fn push(&self) {
        self.shared(|kernel, environment| {
            kernel.store(environment.load(Ordering::Relaxed), Ordering::Relaxed);
        });
    }

    /// Those that the environment has otherwise than they were: what a packet changes meanwhile stays.
    pub(crate) fn push_changes(&self, were: &mut [u64]) {
        let mut were = were.iter_mut();
        self.shared(|kernel, environment| {
            let is = environment.load(Ordering::Relaxed);
            if let Some(was) = were.next().filter(|was| **was != is) {
                *was = is;
                kernel.store(is, Ordering::Relaxed);
            }
        });
    }

    /// Counters and registers as the kernel has them, into the environment's; gives all of them.
    pub(crate) fn pull(&self) -> Vec<u64> {
        let mut all = Vec::new();
        self.shared(|kernel, environment| {
            let is = kernel.load(Ordering::Relaxed);
            environment.store(is, Ordering::Relaxed);
            all.push(is);
        });
        all
    }

    /// Gives the kernel the meters that the environment has otherwise than it.
    ///
    /// # Errors
    /// When a burst is larger than the kernel's meters hold.
    pub(crate) fn bring_meters(&mut self) -> io::Result<()> {
        for (number, map) in self.object.maps.iter().enumerate() {
            let Purpose::Meter(object) = map.purpose else {
                continue;
            };
            let Some(meter) = self.environment.meter(object) else {
                continue;
            };
            let there = self.meters.entry(number).or_default();
            there.resize(meter.size(), None);
            for (index, there) in there.iter_mut().enumerate() {
                let held = meter.held(index);
                let wanted =
                    held.and_then(|(rates, tokens, last)| Some((rates?, tokens, last.as_ns())));
                if *there != wanted {
                    let words = meter::words(&wanted).map_err(|error| {
                        let name = &self.environment.program.objects[object.index()].name;
                        io::Error::other(format!("meter `{name}` {index}: {error}"))
                    })?;
                    let words = words.into_iter().chain([0]);
                    let value: Vec<u8> = words.flat_map(u64::to_ne_bytes).collect();
                    self.maps[number].set(&(index as u32).to_ne_bytes(), &value)?;
                    *there = wanted;
                }
            }
        }
        Ok(())
    }

    /// Gives the environment the tokens of the meters as the kernel has them.
    pub(crate) fn pull_meters(&mut self) -> io::Result<()> {
        for (number, there) in &mut self.meters {
            let Purpose::Meter(object) = self.object.maps[*number].purpose else {
                continue;
            };
            let Some(meter) = self.environment.meter(object) else {
                continue;
            };
            for (index, there) in there.iter_mut().enumerate() {
                let Some((_, tokens, last)) = there else {
                    continue;
                };
                let value = self.maps[*number].get(&(index as u32).to_ne_bytes(), 1)?;
                let (words, _) = value.as_chunks::<8>();
                let words: Vec<u64> = words.iter().map(|word| u64::from_ne_bytes(*word)).collect();
                (*tokens, *last) = meter::state(&words);
                meter.hold(index, *tokens, Time::from_ns(*last));
            }
        }
        Ok(())
    }

    /// Forgets what the program has left to the process.
    pub(crate) fn forget(&mut self) {
        // Other than the environment's, so that they are set again.
        for (.., last) in self.meters.values_mut().flatten().flatten() {
            *last = u64::MAX;
        }
        if let Some((ring, _)) = &mut self.messages {
            ring.read(&mut |_| {});
        }
    }

    /// Carries out what the program has left to the process: digests and what it logs.
    pub(crate) fn hear(&mut self) {
        let Some((ring, context)) = &mut self.messages else {
            return;
        };
        let calls = &self.object.calls;
        ring.read(&mut |message| {
            let [number, nanoseconds, input @ ..] = message else {
                return;
            };
            let Some(call) = calls.get(*number as usize) else {
                return;
            };
            context.begin(Time::from_ns(*nanoseconds), 0);
            let mut output = vec![0; call.output_cells];
            call.invoke(input, &mut output, &mut [], &Packet::default(), context);
        });
    }

    /// The frames of all processors, as words.
    fn frames(&self) -> io::Result<Vec<Vec<u64>>> {
        let map = self.map(Purpose::Frame).ok_or(io::ErrorKind::NotFound)?;
        let bytes = map.get(&0u32.to_ne_bytes(), self.copies)?;
        let size = self.object.frame.size.next_multiple_of(8);
        let words = |frame: &[u8]| {
            let (words, _) = frame.as_chunks::<8>();
            words.iter().map(|word| u64::from_ne_bytes(*word)).collect()
        };
        Ok(bytes.chunks_exact(size).map(words).collect())
    }

    /// How many bytes may leave at most, if the program has said so.
    pub(crate) fn most(&self, frame: &[u64]) -> Option<u32> {
        let said = self
            .object
            .truncates
            .then(|| frame[OUTPUT_LIMIT as usize / 8])?;
        u32::try_from(said).ok()
    }

    /// The frame of the packet that was last done with.
    pub(crate) fn last_frame(&self) -> io::Result<Vec<u64>> {
        let frames = self.frames()?.into_iter();
        let last = frames.max_by_key(|frame| frame[DONE as usize / 8]);
        Ok(last.unwrap_or_default())
    }

    /// How many packets ended in which way, on all processors, and as the last how many messages were lost.
    pub(crate) fn ended(&self) -> io::Result<[u64; CODES + 1]> {
        let mut sums = [0u64; CODES + 1];
        for frame in self.frames()? {
            let counts = frame[ENDED as usize / 8..].iter();
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum = sum.wrapping_add(*count);
            }
        }
        Ok(sums)
    }
}

/// The interfaces of a multicast group.
fn group() -> io::Result<ebpf::Map> {
    ebpf::Map::new(Kind::DevMapHash as u32, 4, 4, COPIES, 0, None)
}

fn inner(map: &maps::Map) -> io::Result<ebpf::Map> {
    ebpf::Map::new(Kind::Array as u32, 4, map.value, 1, 0, None)
}

/// The rows of a group: arrays of any length stand in the same map.
fn rows(map: &maps::Map, count: u32) -> io::Result<ebpf::Map> {
    ebpf::Map::new(Kind::Array as u32, 4, map.value, count, ANY_LENGTH, None)
}

fn make(map: &maps::Map) -> io::Result<ebpf::Map> {
    let kind = map.kind as u32;
    match map.kind {
        Kind::ArrayOfMaps => {
            let inner = inner(map)?;
            let outer = ebpf::Map::new(kind, 4, 4, 1, 0, Some(&inner))?;
            outer.set(&0u32.to_ne_bytes(), &inner.number().to_ne_bytes())?;
            Ok(outer)
        }
        Kind::HashOfMaps => {
            let like = match map.purpose {
                Purpose::Choices(_) => rows(map, 1)?,
                _ => group()?,
            };
            ebpf::Map::new(kind, map.key, 4, map.entries, 0, Some(&like))
        }
        Kind::Array if matches!(map.purpose, Purpose::Meter(_)) => {
            ebpf::Map::with_locks(meter::WORDS as u32, map.entries)
        }
        _ => {
            let flags = match (map.kind, map.purpose) {
                (Kind::LpmTrie | Kind::Hash, _) => NO_PREALLOC,
                (Kind::Array, _) => MMAPABLE,
                _ => 0,
            };
            ebpf::Map::new(kind, map.key, map.value, map.entries, flags, None)
        }
    }
}

/// What the verifier said at last, without its statistics.
fn last_words(log: &str) -> String {
    let lines = log.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut told = lines.filter(|line| {
        let statistics = [
            "processed ",
            "verification time",
            "stack depth",
            "mark_precise",
            "cur state:",
            "old state:",
        ];
        !statistics.iter().any(|word| line.starts_with(word))
    });
    told.next_back().unwrap_or("it gave no reason").into()
}
