//! What an STF file says.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

/// A command, and the line on which it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// From 1.
    pub line: u32,
    /// What is to be done.
    pub kind: Kind,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `packet PORT HEX`: a packet comes in.
    Packet { port: u32, bytes: Vec<u8> },
    /// `expect PORT [HEX*]`: a packet goes out; without data any number of any packets.
    Expect(Expected),
    /// `no_packet [PORT]`: nothing goes out (there) but what other lines expect, though the test's other lines do not mention the port.
    NoPacket(Option<u32>),
    /// `wait [TIME]`: time goes by; a second when nothing is said.
    Wait(u64),
    /// `add TABLE [PRIORITY] KEY:VALUE... ACTION(NAME:VALUE, ...) [= ID]`
    Add(Entry),
    /// `setdefault TABLE ACTION(...)`
    SetDefault {
        table: String,
        /// What it does on a miss.
        action: Call,
    },
    /// `remove all`, `remove ID`, `remove TABLE [PRIORITY] KEY:VALUE...`
    Remove(Removed),
    /// `check_counter NAME(INDEX) [packets|bytes RELATION NUMBER]`; also `check_register NAME(INDEX) RELATION NUMBER`.
    Check(Check),
    /// `counter_read NAME INDEX`, `register_read NAME INDEX`, `meter_get_rates NAME INDEX`, `mirroring_get SESSION`: there must be such a thing, and what it
    /// holds is told.
    Read {
        /// The command's name.
        command: &'static str,
        /// The object; empty for a session.
        name: String,
        /// Index or session.
        index: u64,
    },
    /// `counter_write NAME INDEX PACKETS BYTES`
    CounterWrite {
        /// The counter.
        name: String,
        /// Its cell.
        index: u64,
        packets: u64,
        bytes: u64,
    },
    /// `register_write NAME INDEX VALUE`
    RegisterWrite {
        /// The register.
        name: String,
        /// Its cell.
        index: u64,
        /// As written.
        value: String,
    },
    /// `register_reset NAME`
    RegisterReset(String),
    /// `meter_set_rates NAME INDEX RATE:BURST...`, without an index `meter_array_set_rates NAME RATE:BURST...`; rates in units a microsecond as
    /// bmv2's tools take them.
    MeterRates {
        /// The meter.
        name: String,
        /// Its cell, or all.
        index: Option<u64>,
        /// Rate in millionths of a unit a microsecond (units a second), and burst in units.
        rates: Vec<(u64, u64)>,
    },
    /// `mirroring_add SESSION PORT`
    MirrorPort {
        session: u32,
        /// Where its packets go.
        port: u32,
    },
    /// `mirroring_add_mc SESSION GROUP`
    MirrorGroup {
        session: u32,
        /// The multicast group that its packets go to.
        group: u32,
    },
    /// `mirroring_delete SESSION`
    MirrorDelete(u32),
    /// `mc_mgrp_create GROUP`
    GroupCreate(u32),
    /// `mc_node_create RID PORT...`: nodes are numbered from 0 in the order in which they are made.
    NodeCreate {
        /// What the replicas have as `egress_rid`.
        rid: u16,
        /// A replica for each.
        ports: Vec<u32>,
    },
    /// `mc_node_update NODE PORT...`
    NodeUpdate {
        node: u32,
        /// A replica for each.
        ports: Vec<u32>,
    },
    /// `mc_node_associate GROUP NODE`
    NodeAssociate { group: u32, node: u32 },
    /// `expect_digest NAME FIELD:VALUE...`: a digest like this has come.
    ExpectDigest {
        /// The digest.
        name: String,
        /// The fields that must be so.
        fields: Vec<(String, String)>,
    },
    /// `either` ... `or` ... `end`: one of the branches holds, where the program may choose. Only `expect`, `no_packet`, `expect_digest` and checks stand in
    /// branches.
    Either(Vec<Vec<Command>>),
    /// A line in the words of the control plane ([`crate::control`]), such as `member add ap 1 a(3)`.
    Words(String),
}

/// What is expected at a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    pub port: u32,
    /// The data; nothing for any.
    pub data: Option<Box<Pattern>>,
}

/// Half bytes; `None` for `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// In order of the packet.
    pub nibbles: Vec<Option<u8>>,
    /// Whether the packet must end here.
    pub exact: bool,
}

impl Pattern {
    /// Whether the packet is so.
    #[must_use]
    pub fn matches(&self, packet: &[u8]) -> bool {
        let length = packet.len() * 2;
        let long_enough = length >= self.nibbles.len();
        long_enough
            && (!self.exact || length == self.nibbles.len())
            && self.differences(packet).next().is_none()
    }

    /// At which half bytes a packet differs, as far as both go.
    pub fn differences<'a>(&'a self, packet: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
        let wanted = self.nibbles.iter().enumerate().take(packet.len() * 2);
        wanted
            .filter(|(at, wanted)| wanted.is_some_and(|w| w != nibble(packet, *at)))
            .map(|(at, _)| at)
    }
}

/// A half byte of a packet.
#[must_use]
pub fn nibble(packet: &[u8], at: usize) -> u8 {
    let byte = packet[at / 2];
    if at.is_multiple_of(2) {
        byte >> 4
    } else {
        byte & 15
    }
}

/// An entry to be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub table: String,
    /// The larger wins.
    pub priority: Option<u32>,
    /// Keys by name; those left out match everything, exact ones zero.
    pub keys: Vec<(String, String)>,
    /// What it does.
    pub action: Call,
    /// A name for later lines.
    pub id: Option<String>,
}

/// An action with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The action.
    pub name: String,
    /// Its parameters by name.
    pub arguments: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removed {
    /// All entries of all tables that this file has added.
    All,
    /// An entry by the name that it was given.
    Id(String),
    /// An entry by its keys.
    Entry {
        table: String,
        /// As it was added.
        priority: Option<u32>,
        /// As they were added.
        keys: Vec<(String, String)>,
    },
}

/// A value that must be so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What is looked at.
    pub what: Checked,
    /// The object's name.
    pub name: String,
    /// Which cell: a number, or the name of an entry for a direct counter.
    pub index: Index,
    /// What it must be; without it the object must only be there.
    pub wanted: Option<(Relation, u128)>,
}

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// A counter's packets.
    Packets,
    /// A counter's bytes.
    Bytes,
    Register,
}

/// Which cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Index {
    Number(u64),
    /// That of an entry, by its name.
    Entry(String),
}

/// How two numbers are to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
}

impl Relation {
    #[must_use]
    pub fn holds(self, left: u128, right: u128) -> bool {
        match self {
            Relation::Equal => left == right,
            Relation::NotEqual => left != right,
            Relation::Less => left < right,
            Relation::LessEqual => left <= right,
            Relation::Greater => left > right,
            Relation::GreaterEqual => left >= right,
        }
    }

    /// As it is written.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Relation::Equal => "==",
            Relation::NotEqual => "!=",
            Relation::Less => "<",
            Relation::LessEqual => "<=",
            Relation::Greater => ">",
            Relation::GreaterEqual => ">=",
        }
    }
}
