//! The register map: what the control side writes where.
//!
//! Words of an entry are put in place one by one, and then all at once given to a row of an object.

use crate::names::identifier;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Write;
use p4::ir::{ObjectId, TableId, ValueSetId};
use pipeline::table::Form;

/// Addresses of words.
pub mod address {
    /// The words of the entry that comes next, the least significant first.
    pub const ENTRY: u16 = 0x0000;
    /// Gives the entry to a row: the object's number in the upper 8 bits, the row's in the lower 24.
    pub const COMMIT: u16 = 0x1000;
    /// Takes a cell of a memory to [`FETCHED`]; the number as with [`COMMIT`].
    pub const FETCH: u16 = 0x1001;
    /// The words of the cell that was taken, from two cycles later on.
    pub const FETCHED: u16 = 0x2000;
    /// For each object two words: how often packets have written, and which row last.
    pub const WRITTEN: u16 = 0x3000;
    /// For each queue of messages 64 words: how many messages were lost, above 1 if one is there; and behind it the words of the first.
    pub const DIGESTS: u16 = 0x4000;
    /// The performance counters: two words each, of which the lower is read first.
    pub const PERFORMANCE: u16 = 0xE000;
    /// Takes the first message off the queue with this number.
    pub const TAKE: u16 = 0x1002;
    /// The row of a table's default.
    pub const DEFAULT_ROW: u32 = 0xFF_FFFF;
}

/// What a table's lookup says, from the most significant bit: hit, entry, action, arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultForm {
    /// How many bits the number of the entry has.
    pub entry: u32,
    /// How many bits the number of the action has; one more than all actions means none.
    pub action: u32,
    /// How many bits the arguments of any of its actions have, at the right.
    pub arguments: u32,
}

impl ResultForm {
    /// Of a table, with an action selector if it `selects`: then one more than that there is no action means a group, of which the arguments
    /// have the first choice above how many there are, [`CHOICE`] bits each.
    #[must_use]
    pub fn new(form: &Form, selects: bool) -> Self {
        let arguments = form.actions.iter().map(|action| {
            let widths = action.parameters.iter().map(|(_, ty)| ty.width());
            widths.sum::<u32>()
        });
        ResultForm {
            entry: bits_for(form.size.max(2) - 1),
            action: bits_for(form.actions.len() as u32 + u32::from(selects)),
            arguments: arguments
                .max()
                .unwrap_or(0)
                .max(if selects { 2 * CHOICE } else { 0 }),
        }
    }

    /// Entry, action and arguments: what the control side gives.
    #[must_use]
    pub fn data(self) -> u32 {
        self.entry + self.action + self.arguments
    }
}

/// How many bits the number of a choice of an action selector has.
pub const CHOICE: u32 = 16;

/// How many bits hold a number.
pub(crate) fn bits_for(most: u32) -> u32 {
    (u32::BITS - most.leading_zeros()).max(1)
}

/// What a clone session says: its first place as the number of the entry; class of service (8 bits), how many bytes are left of a
/// clone (32), and how many places it has (8) as arguments.
pub const SESSION: ResultForm = ResultForm {
    entry: 8,
    action: 1,
    arguments: 48,
};

/// A cell of a meter: parts by their lowest bit and their width. Rates are tokens a second, tokens are packets or bytes, and kept in billionths.
pub mod meter {
    pub const RATE: u32 = 40;
    const BURST: u32 = 32;
    const TOKENS: u32 = 62;
    /// When it was filled last, in nanoseconds.
    pub const LAST: (u32, u32) = (0, 64);
    pub const COMMITTED_TOKENS: (u32, u32) = (64, TOKENS);
    pub const PEAK_TOKENS: (u32, u32) = (64 + TOKENS, TOKENS);
    pub const COMMITTED_BURST: (u32, u32) = (64 + 2 * TOKENS, BURST);
    pub const PEAK_BURST: (u32, u32) = (64 + 2 * TOKENS + BURST, BURST);
    pub const COMMITTED: (u32, u32) = (64 + 2 * TOKENS + 2 * BURST, RATE);
    pub const PEAK: (u32, u32) = (64 + 2 * TOKENS + 2 * BURST + RATE, RATE);
    /// Whether it has rates; without, packets keep their colours.
    pub const CONFIGURED: (u32, u32) = (64 + 2 * TOKENS + 2 * BURST + 2 * RATE, 1);
    /// Of a cell.
    pub const WIDTH: u32 = CONFIGURED.0 + 1;
}

/// How a table is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// Without keys: only the default.
    Default,
    /// Four ways of 2^`index` rows; row way * 2^`index` + hash. For each way and bit of the index the mask of the key of which it is
    /// the parity, the key as little-endian 64-bit words.
    Exact {
        /// How many bits an index has.
        index: u32,
        /// By way, then by bit.
        hashes: Vec<Vec<Vec<u64>>>,
        /// So many rows from 4 * 2^`index` on are all compared at once: for entries that find no place in the four ways.
        spare: u32,
    },
    /// A binary CAM: rows of exact keys, each anywhere. Between two writes of rows are [`CAM_CYCLES`] cycles at least.
    Cam {
        /// Number of rows.
        rows: u32,
    },
    /// Rows of value and mask, of which the first that matches wins; in banks if there are many.
    Ternary {
        /// Number of rows.
        rows: u32,
    },
    /// Longest prefixes as sorted intervals: rows 1 to 2^`levels` - 1 are the boundaries in the order of a binary heap, those from 2^`levels` on
    /// what the intervals say, from the lowest on. They go to the half that is not read; row 0 turns to it.
    Prefix {
        /// How many levels the tree has.
        levels: u32,
    },
}

/// Clock cycles for a write of a CAM row.
pub const CAM_CYCLES: u32 = 6;

/// So many rows of a ternary table are a bank, as a power of two: with more, the way from all of them to the first would set the clock.
pub(crate) const BANK: u32 = 8;

impl TableKind {
    /// So many cycles from the key to the answer.
    #[must_use]
    pub fn latency(&self) -> u32 {
        match self {
            TableKind::Default => 0,
            TableKind::Exact { .. } => 2,
            TableKind::Cam { .. } => 3,
            // First in each bank, then among the banks.
            TableKind::Ternary { rows } => 2 + u32::from(*rows > 1 << BANK),
            TableKind::Prefix { levels } => levels + 1,
        }
    }
}

/// What a table in the hardware is of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    Table(TableId),
    ValueSet(ValueSetId),
    /// The multicast groups: an entry is a group's first place, its argument how many places it has.
    Groups,
    /// The clone sessions: [`SESSION`].
    Sessions,
    /// The choices of the groups of a table's action selector, each member as often as its weight says, by their numbers.
    Choices(TableId),
}

/// A key or a parameter: name and bits.
pub type Part = (Arc<str>, u32);

/// A table in the hardware.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableMap {
    pub source: Source,
    /// The name for the control plane.
    pub name: Arc<str>,
    pub kind: TableKind,
    /// Name and bits of each key, the first at the left.
    pub keys: Vec<Part>,
    /// What an entry gives.
    pub result: ResultForm,
    /// Names of actions, with name and bits of each parameter; their number is their place.
    pub actions: Vec<(Arc<str>, Vec<Part>)>,
}

impl TableMap {
    /// How many bits the key has.
    #[must_use]
    pub fn key(&self) -> u32 {
        self.keys.iter().map(|(_, width)| width).sum()
    }

    /// How many bits an entry has.
    #[must_use]
    pub fn entry(&self) -> u32 {
        match self.kind {
            TableKind::Default => self.result.data(),
            TableKind::Exact { .. } | TableKind::Cam { .. } => 1 + self.key() + self.result.data(),
            TableKind::Ternary { .. } => 1 + 2 * self.key() + self.result.data(),
            TableKind::Prefix { .. } => self.key().max(1 + self.result.data()),
        }
    }
}

/// A register or counter in the hardware.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryMap {
    pub object: ObjectId,
    /// The name for the control plane.
    pub name: Arc<str>,
    /// Bits of a cell; a counter has bytes above packets.
    pub width: u32,
    pub size: usize,
}

/// A queue of messages to the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestMap {
    /// PSA's object.
    pub object: Option<ObjectId>,
    /// The object's name, or that of the data's type.
    pub name: Arc<str>,
    /// Name and bits of each field. In a message the receiver (32 bits) is at the left, and behind it for each field whether it is there (1 bit) and its
    /// value.
    pub fields: Vec<Part>,
}

impl DigestMap {
    /// How many bits a message has.
    #[must_use]
    pub fn width(&self) -> u32 {
        32 + self.fields.iter().map(|(_, width)| 1 + width).sum::<u32>()
    }

    /// How many messages wait at most, as a power of two.
    pub const DEPTH_LOG2: u32 = 4;
}

/// All that the control side sees. Objects are numbered: tables first, memories behind them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map {
    pub tables: Vec<TableMap>,
    pub memories: Vec<MemoryMap>,
    /// Whether there is a replication engine: behind the memories the object with 256 places of groups, each a port and above it, from bit 16 on,
    /// an instance.
    pub places: bool,
    /// Queues of messages, by their numbers: see [`address::DIGESTS`].
    pub digests: Vec<DigestMap>,
    /// Names of the performance counters, from [`address::PERFORMANCE`] on; none unless they are asked for.
    pub performance: Vec<Arc<str>>,
}

impl Map {
    /// How many words of 32 bits the widest entry has.
    #[must_use]
    pub fn words(&self) -> u32 {
        let tables = self.tables.iter().map(TableMap::entry);
        let memories = self.memories.iter().map(|memory| memory.width);
        let memories = memories.chain(self.places.then_some(32));
        tables
            .chain(memories)
            .max()
            .unwrap_or(1)
            .div_ceil(32)
            .max(1)
    }

    /// As JSON, for programs of any language.
    #[must_use]
    pub fn json(&self) -> String {
        let mut text = format!(
            "{{\n  \"entry\": {}, \"commit\": {}, \"fetch\": {}, \"fetched\": {}, \"written\": {}, \"take\": {}, \"default_row\": {},\n  \"tables\": [",
            address::ENTRY,
            address::COMMIT,
            address::FETCH,
            address::FETCHED,
            address::WRITTEN,
            address::TAKE,
            address::DEFAULT_ROW
        );
        for (number, table) in self.tables.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            let kind = match &table.kind {
                TableKind::Default => "\"kind\": \"default\"".into(),
                TableKind::Exact {
                    index,
                    hashes,
                    spare,
                } => {
                    format!(
                        "\"kind\": \"exact\", \"ways\": 4, \"index_bits\": {index}, \"spare_rows\": {spare}, \"hashes\": {hashes:?}"
                    )
                }
                TableKind::Prefix { levels } => {
                    format!("\"kind\": \"prefix\", \"levels\": {levels}")
                }
                TableKind::Ternary { rows } => format!("\"kind\": \"ternary\", \"rows\": {rows}"),
                TableKind::Cam { rows } => format!(
                    "\"kind\": \"cam\", \"rows\": {rows}, \"cycles_between_writes\": {CAM_CYCLES}"
                ),
            };
            let pairs = |pairs: &[Part]| {
                let pairs = pairs
                    .iter()
                    .map(|(name, bits)| format!("{{\"name\": {name:?}, \"bits\": {bits}}}"));
                pairs.collect::<Vec<_>>().join(", ")
            };
            let actions = table.actions.iter().map(|(name, parameters)| {
                format!(
                    "{{\"name\": {name:?}, \"parameters\": [{}]}}",
                    pairs(parameters)
                )
            });
            let _ = write!(
                text,
                "{comma}\n    {{\"object\": {number}, \"name\": {:?}, {kind},\n     \"keys\": [{}], \"entry_bits\": {}, \"action_bits\": {}, \"argument_bits\": {},\n     \"actions\": [{}]}}",
                table.name,
                pairs(&table.keys),
                table.result.entry,
                table.result.action,
                table.result.arguments,
                actions.collect::<Vec<_>>().join(", "),
            );
        }
        text += "\n  ],\n  \"memories\": [";
        for (number, memory) in self.memories.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            let _ = write!(
                text,
                "{comma}\n    {{\"object\": {}, \"name\": {:?}, \"bits\": {}, \"cells\": {}}}",
                self.tables.len() + number,
                memory.name,
                memory.width,
                memory.size
            );
        }
        text += "\n  ],\n  \"digests\": [";
        for (number, digest) in self.digests.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            let fields = digest.fields.iter();
            let fields =
                fields.map(|(name, bits)| format!("{{\"name\": {name:?}, \"bits\": {bits}}}"));
            let _ = write!(
                text,
                "{comma}\n    {{\"queue\": {number}, \"address\": {}, \"name\": {:?}, \"fields\": [{}]}}",
                usize::from(address::DIGESTS) + 64 * number,
                digest.name,
                fields.collect::<Vec<_>>().join(", ")
            );
        }
        text += "\n  ]";
        if !self.performance.is_empty() {
            let counters = self.performance.iter().enumerate().map(|(number, name)| {
                let at = usize::from(address::PERFORMANCE) + 2 * number;
                format!("{{\"address\": {at}, \"name\": {name:?}}}")
            });
            let counters: Vec<String> = counters.collect();
            let _ = write!(text, ",\n  \"performance\": [{}]", counters.join(", "));
        }
        if self.places {
            let _ = write!(
                text,
                ",\n  \"group_places\": {{\"object\": {}, \"cells\": 256}}",
                self.tables.len() + self.memories.len()
            );
        }
        text + "\n}\n"
    }

    /// As a header for C.
    #[must_use]
    pub fn c_header(&self, name: &str) -> String {
        let guard = name.to_ascii_uppercase();
        let mut text = format!(
            "/* The register map of {name}: words of 32 bits. An entry's words go to ENTRY and up, the least significant first; COMMIT\n   gives it to a row: object << 24 | row. FETCH takes a cell to FETCHED. */\n#ifndef {guard}_H\n#define {guard}_H\n\n"
        );
        let mut define = |what: &str, value: u64| {
            let _ = writeln!(text, "#define {guard}_{what} 0x{value:x}");
        };
        define("ENTRY", address::ENTRY.into());
        define("COMMIT", address::COMMIT.into());
        define("FETCH", address::FETCH.into());
        define("FETCHED", address::FETCHED.into());
        define("WRITTEN", address::WRITTEN.into());
        define("DIGESTS", address::DIGESTS.into());
        define("TAKE", address::TAKE.into());
        define("DEFAULT_ROW", address::DEFAULT_ROW.into());
        for (number, table) in self.tables.iter().enumerate() {
            let of = identifier(&table.name).to_ascii_uppercase();
            define(&format!("{of}_OBJECT"), number as u64);
            define(&format!("{of}_KEY_BITS"), table.key().into());
            define(&format!("{of}_ENTRY_BITS"), table.entry().into());
            for (number, (action, _)) in table.actions.iter().enumerate() {
                let action = identifier(action).to_ascii_uppercase();
                define(&format!("{of}_{action}"), number as u64);
            }
        }
        for (number, memory) in self.memories.iter().enumerate() {
            let of = identifier(&memory.name).to_ascii_uppercase();
            define(&format!("{of}_OBJECT"), (self.tables.len() + number) as u64);
            define(&format!("{of}_BITS"), memory.width.into());
            define(&format!("{of}_CELLS"), memory.size as u64);
        }
        for (number, name) in self.performance.iter().enumerate() {
            let name = identifier(name).to_ascii_uppercase();
            let at = u64::from(address::PERFORMANCE) + 2 * number as u64;
            define(&format!("PERFORMANCE_{name}"), at);
        }
        if self.places {
            define(
                "GROUP_PLACES_OBJECT",
                (self.tables.len() + self.memories.len()) as u64,
            );
        }
        text + &format!("\n#endif /* {guard}_H */\n")
    }
}
