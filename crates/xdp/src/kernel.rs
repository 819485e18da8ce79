//! A program in the kernel, with its maps: what is in them, kept as the environment has it.

use crate::copies::{COPIES, members};
use crate::frame::{CODES, DONE, ENDED};
use crate::instruction::relocate;
use crate::maps::{self, Kind, Matching, Object, Purpose};
use crate::unit::{Entrance, compile};
use live::ebpf::{self, LoadError, MMAPABLE, Memory, Messages, NO_PREALLOC, Program};
use node::Time;
use p4::ir::{KeyMatch, TableId, ValueSetId};
use pipeline::context::Context;
use pipeline::engine::{Packet, Path};
use pipeline::environment::{Environment, Unsupported};
use pipeline::externs::hash::CrcTable;
use pipeline::state::{Counter, Register};
use std::collections::BTreeMap;
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
    environment: Arc<Environment>,
    pub(crate) object: Object,
    pub(crate) program: Program,
    maps: Vec<ebpf::Map>,
    /// Of counters and registers, by their maps' numbers.
    memories: BTreeMap<usize, Memory>,
    copies: usize,
    /// The state of the tables that the maps have.
    changes: Option<u64>,
    /// What is in the map of each table, by key.
    entries: BTreeMap<TableId, BTreeMap<Vec<u8>, Vec<u8>>>,
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
            memories,
            messages,
            copies,
            changes: None,
            entries: BTreeMap::new(),
            members: BTreeMap::new(),
            groups: BTreeMap::new(),
            defaults: vec![Vec::new(); environment.tables.forms().len()],
        };
        kernel
            .bring_tables()
            .map_err(failed("filling the tables"))?;
        kernel.push();
        Ok(kernel)
    }

    /// The map for a purpose, if the program has it.
    pub(crate) fn map(&self, purpose: Purpose) -> Option<&ebpf::Map> {
        let maps = self.object.maps.iter();
        let number = maps.clone().position(|map| map.purpose == purpose)?;
        self.maps.get(number)
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

    /// Brings the maps of tables and value sets to what the environment has, if that has changed.
    pub(crate) fn bring_tables(&mut self) -> io::Result<()> {
        self.bring_value_sets()?;
        let environment = Arc::clone(&self.environment);
        let changes = environment.tables.changes();
        if self.changes == Some(changes) {
            return Ok(());
        }
        for (index, form) in environment.tables.forms().iter().enumerate() {
            let id = TableId(index as u32);
            if let Ok((call, _)) = environment.tables.default(id) {
                self.bring_default(index, maps::row(form, &call, 0))?;
            }
            let number = self
                .object
                .maps
                .iter()
                .position(|map| map.purpose == Purpose::Table(id));
            let Some(number) = number else { continue };
            let wanted = self.object.maps[number];
            let map = &self.maps[number];
            let there = self.entries.remove(&id).unwrap_or_default();
            let entries = environment.tables.entries(id);
            let mut wants = BTreeMap::new();
            if wanted.kind == Kind::ArrayOfMaps {
                let block = maps::block(form, &entries, wanted.value as usize);
                wants.insert(0u32.to_ne_bytes().to_vec(), block);
            } else {
                for installed in &entries {
                    let keys = &installed.entry.keys;
                    let key = match Matching::of(form) {
                        Matching::Prefix(prefix) => maps::trie_key(form, prefix, keys),
                        _ => maps::exact_key(form, keys),
                    };
                    let place = u64::from(installed.index) + 1;
                    wants.insert(key, maps::row(form, &installed.entry.call, place));
                }
            }
            // First what goes, so that there is room.
            for key in there.keys().filter(|key| !wants.contains_key(*key)) {
                map.remove(key)?;
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
        }
        self.changes = Some(changes);
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
        let wanted = self.environment.replication.get();
        let mut there = BTreeMap::new();
        for (number, replicas) in &wanted.multicast {
            let (ports, absent) = members(replicas, interfaces.len());
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
        let maps = self.object.maps.iter();
        let Some(number) = maps
            .clone()
            .position(|map| map.purpose == Purpose::Defaults)
        else {
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
    pub(crate) fn push_changes(&self, were: &[u64]) {
        let mut were = were.iter();
        self.shared(|kernel, environment| {
            let is = environment.load(Ordering::Relaxed);
            if were.next().is_some_and(|was| *was != is) {
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

    /// Forgets what the program has left to the process.
    pub(crate) fn forget(&mut self) {
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
            ebpf::Map::new(kind, map.key, map.value, map.entries, 0, Some(&group()?))
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
