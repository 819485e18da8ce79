//! The kernel's maps of a program: what is in them, and how the tables' entries become their keys and values.

use crate::instruction::Instruction;
use crate::timed;
use core::fmt;
use p4::ir::{KeyMatch, ObjectId, Program, TableId, Ty, ValueSetId};
use p4::value::Bits;
use pipeline::externs::Call;
use pipeline::externs::hash::Crc;
use pipeline::layout::limbs;
use pipeline::table::{self, Form, Installed, KeyForm, MatchKind};

/// What a map is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The memory that a packet's program works in.
    Frame,
    /// The entries of a table.
    Table(TableId),
    /// By group of a table's action selector: the rows of its members.
    Choices(TableId),
    /// The members of a value set.
    ValueSet(ValueSetId),
    /// The default actions, by the tables' numbers.
    Defaults,
    /// Packets and bytes.
    Counter(ObjectId),
    /// Values in cells of 64 bits.
    Register(ObjectId),
    /// Rates, buckets, and a lock.
    Meter(ObjectId),
    /// The program, for packets that begin anew.
    Itself,
    /// A CRC's table.
    Crc(Crc),
    /// By interface: the number of its port, and one more.
    PortOf,
    /// By port: the interface.
    Interfaces,
    /// By port: the longest frame that its interface takes, in bytes.
    Longest,
    /// By multicast group: the interfaces of its copies.
    Groups,
    /// By multicast group: the longest frame that all its interfaces take, and how many copies are for ports that are not there.
    LongestOf,
    /// Calls that the process carries out.
    Messages,
    /// Side of each port of a NIC: 1 for the network, 2 for the host.
    Sides,
    /// Time of each expire time profile in nanoseconds; 0 is forever.
    Expiry,
    /// Number of allocated flow ids.
    Flows,
}

/// A kind of map, by the kernel's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Hash = 1,
    Array = 2,
    ProgramArray = 3,
    PerCpuArray = 6,
    LpmTrie = 11,
    ArrayOfMaps = 12,
    HashOfMaps = 13,
    DevMapHash = 25,
    RingBuffer = 27,
}

/// A map that is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Map {
    pub purpose: Purpose,
    pub kind: Kind,
    /// How many bytes a key has.
    pub key: u32,
    /// How many bytes a value has; of an array of maps, a value of each of those, which have one; of a hash of maps a value of those.
    pub value: u32,
    /// How many there are at most.
    pub entries: u32,
}

/// A program for the kernel.
#[derive(Clone, Debug)]
pub struct Object {
    pub code: Vec<Instruction>,
    /// The instructions that name a map, by its number, where the kernel wants its descriptor.
    pub relocations: Vec<usize>,
    pub maps: Vec<Map>,
    /// Calls of externs that concern the control plane alone, by their numbers in messages.
    pub(crate) calls: Vec<Call>,
    /// Whether packets may be cut.
    pub(crate) truncates: bool,
    /// Where things are in the memory that a packet's program works in.
    pub(crate) frame: crate::frame::Frame,
}

/// How a table is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Matching {
    /// It has no key.
    Never,
    /// A hash map by the cells of all keys.
    Exact,
    /// A trie of which the key with this number has the prefix; the others are before it.
    Prefix(usize),
    /// One entry after the other, those of the highest priority first.
    Linear,
}

impl Matching {
    pub(crate) fn of(form: &Form) -> Self {
        let prefix = form.keys.iter().position(|key| key.kind == MatchKind::Lpm);
        match prefix {
            _ if form.keys.is_empty() => Matching::Never,
            _ if form.has_priorities() => Matching::Linear,
            Some(key) => Matching::Prefix(key),
            None => Matching::Exact,
        }
    }
}

/// How many bytes a row has: the action, the entry's index and one more (0 for the default), and arguments in cells.
pub(crate) fn row_bytes(form: &Form) -> u32 {
    16 + 8 * form.argument_cells() as u32
}

/// A key of an entry that is tried after others: for each of its cells an entry has value and mask, or from and to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tried {
    pub(crate) ty: Ty,
    pub(crate) is_range: bool,
}

impl Tried {
    /// The keys of a table.
    pub(crate) fn keys(form: &Form) -> Vec<Tried> {
        let keys = form.keys.iter().map(|key| Tried {
            ty: key.ty,
            is_range: key.kind == MatchKind::Range,
        });
        keys.collect()
    }

    /// The fields of a value set.
    pub(crate) fn fields(set: &p4::ir::ValueSet) -> Vec<Tried> {
        let fields = set.fields.iter().map(|(_, ty, kind)| Tried {
            ty: *ty,
            is_range: MatchKind::of(kind) == Some(MatchKind::Range),
        });
        fields.collect()
    }

    pub(crate) fn cells(self) -> usize {
        limbs(self.ty.width())
    }
}

/// How many bytes of an entry stand before its row.
pub(crate) fn pattern_bytes(keys: &[Tried]) -> u32 {
    16 * keys.iter().map(|key| key.cells() as u32).sum::<u32>()
}

/// The map of a value set's members.
pub(crate) fn set_map(id: ValueSetId, set: &p4::ir::ValueSet) -> Map {
    let entry = pattern_bytes(&Tried::fields(set));
    Map {
        purpose: Purpose::ValueSet(id),
        kind: Kind::ArrayOfMaps,
        key: 4,
        value: 8 + set.size.max(1) * entry,
        entries: 1,
    }
}

/// The keys in the order of a trie: the prefix is the last.
pub(crate) fn trie_order(form: &Form, prefix: usize) -> Vec<&KeyForm> {
    let exact = form
        .keys
        .iter()
        .filter(|key| key.index != form.keys[prefix].index);
    exact.chain([&form.keys[prefix]]).collect()
}

/// How many bytes a trie's key has, without the length of its prefix.
pub(crate) fn trie_bytes(form: &Form) -> u32 {
    form.keys.iter().map(|key| key.ty.width().div_ceil(8)).sum()
}

/// The map of a table's entries, if it has any.
pub(crate) fn table_map(program: &Program, table: TableId, form: &Form) -> Option<Map> {
    let (kind, key, value, entries) = match Matching::of(form) {
        Matching::Never => return None,
        Matching::Exact => (
            Kind::Hash,
            8 * form.key_cells() as u32,
            row_bytes(form) + timed::bytes(program, table),
            form.size,
        ),
        Matching::Prefix(_) => (
            Kind::LpmTrie,
            4 + trie_bytes(form),
            row_bytes(form),
            form.size,
        ),
        Matching::Linear => {
            let entry = pattern_bytes(&Tried::keys(form)) + row_bytes(form);
            (Kind::ArrayOfMaps, 4, 8 + form.size * entry, 1)
        }
    };
    Some(Map {
        purpose: Purpose::Table(table),
        kind,
        key,
        value,
        entries,
    })
}

fn push(bytes: &mut Vec<u8>, cell: u64) {
    bytes.extend(cell.to_ne_bytes());
}

fn push_bits(bytes: &mut Vec<u8>, value: &Bits, width: u32) {
    let mut cells = vec![0; limbs(width)];
    value.resize(width).to_limbs(&mut cells);
    cells.into_iter().for_each(|cell| push(bytes, cell));
}

/// A call's row; `entry` is 0 for a default action.
pub(crate) fn row(form: &Form, call: &table::Call, entry: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let table::Call::Action(call) = call {
        push(&mut bytes, u64::from(call.action));
        push(&mut bytes, entry);
        let parameters = &form.actions[call.action as usize].parameters;
        for ((_, ty), argument) in parameters.iter().zip(&call.arguments) {
            push_bits(&mut bytes, argument, ty.width());
        }
    }
    bytes.resize(row_bytes(form) as usize, 0);
    bytes
}

/// The key of an entry in a hash map.
pub(crate) fn exact_key(form: &Form, keys: &[KeyMatch]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (key, given) in form.keys.iter().zip(keys) {
        push_bits(&mut bytes, &value_of(given, key.ty.width()), key.ty.width());
    }
    bytes
}

fn value_of(given: &KeyMatch, width: u32) -> Bits {
    match given {
        KeyMatch::Any => Bits::zero(width),
        KeyMatch::Exact(value) | KeyMatch::Prefix(value, _) | KeyMatch::Mask(value, _) => {
            value.resize(width)
        }
        KeyMatch::Range(from, _) => from.resize(width),
    }
}

/// The key of an entry in a trie.
pub(crate) fn trie_key(form: &Form, prefix: usize, keys: &[KeyMatch]) -> Vec<u8> {
    let mut bits = 0;
    let mut data = Vec::new();
    for key in trie_order(form, prefix) {
        let place = form.keys.iter().position(|other| other.index == key.index);
        let given = place
            .and_then(|place| keys.get(place))
            .unwrap_or(&KeyMatch::Any);
        let width = key.ty.width();
        let whole = width.div_ceil(8);
        bits += match given {
            KeyMatch::Prefix(_, length) => *length,
            KeyMatch::Any => 0,
            _ if key.kind == MatchKind::Lpm => width,
            _ => 8 * whole,
        };
        let value = value_of(given, width).unsigned() << (8 * whole - width);
        let bytes = value.to_bytes_be();
        let bytes = if value.bits() == 0 {
            &[][..]
        } else {
            &bytes[..]
        };
        data.resize(data.len() + whole as usize - bytes.len(), 0);
        data.extend(bytes);
    }
    let mut out = bits.to_ne_bytes().to_vec();
    out.extend(data);
    out
}

/// All entries of a table with priorities, as the one value of its map; `row` makes their rows.
pub(crate) fn block(
    form: &Form,
    entries: &[Installed],
    size: usize,
    row: impl Fn(&Installed) -> Vec<u8>,
) -> Vec<u8> {
    let mut sorted: Vec<&Installed> = entries.iter().collect();
    // Of the same priority the older first.
    sorted.sort_by_key(|entry| (u32::MAX - entry.entry.priority, entry.handle));
    let mut bytes = Vec::new();
    push(&mut bytes, sorted.len() as u64);
    let keys = Tried::keys(form);
    for installed in sorted {
        for (key, given) in keys.iter().zip(&installed.entry.keys) {
            pattern(*key, given, &mut bytes);
        }
        bytes.extend(row(installed));
    }
    bytes.resize(size, 0);
    bytes
}

/// All members of a value set, as the one value of its map.
pub(crate) fn members(set: &p4::ir::ValueSet, members: &[Vec<KeyMatch>], size: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    push(&mut bytes, members.len() as u64);
    for member in members {
        for (key, given) in Tried::fields(set).into_iter().zip(member) {
            pattern(key, given, &mut bytes);
        }
    }
    bytes.resize(size, 0);
    bytes
}

fn pattern(key: Tried, given: &KeyMatch, bytes: &mut Vec<u8>) {
    let width = key.ty.width();
    let ones = |count: u32| Bits::new(width, p4::value::mask(count) << (width - count));
    let (first, second) = match given {
        KeyMatch::Any if key.is_range => (Bits::zero(width), ones(width)),
        KeyMatch::Any => (Bits::zero(width), Bits::zero(width)),
        KeyMatch::Exact(value) if key.is_range => (value.clone(), value.clone()),
        KeyMatch::Exact(value) => (value.clone(), ones(width)),
        KeyMatch::Prefix(value, length) => (value.clone(), ones((*length).min(width))),
        KeyMatch::Mask(one, two) | KeyMatch::Range(one, two) => (one.clone(), two.clone()),
    };
    let count = limbs(width);
    let (mut a, mut b) = (vec![0; count], vec![0; count]);
    first.resize(width).to_limbs(&mut a);
    second.resize(width).to_limbs(&mut b);
    for (a, b) in a.into_iter().zip(b) {
        let a = if key.is_range { a } else { a & b };
        push(bytes, a);
        push(bytes, b);
    }
}

/// The maps, and the instructions as LLVM and `bpftool` write them; what they name are the maps' numbers here.
impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, map) in self.maps.iter().enumerate() {
            let Map {
                purpose,
                kind,
                key,
                value,
                entries,
            } = map;
            writeln!(
                f,
                "map {number}: {kind:?} for {purpose:?}, keys of {key} bytes, values of {value}, at most {entries}"
            )?;
        }
        for (number, instruction) in self.code.iter().enumerate() {
            writeln!(f, "{number:6}: {instruction}")?;
        }
        Ok(())
    }
}
