//! What a controller has to know of a program: P4Info, as the P4Runtime specification defines it.
//!
//! [`describe`] makes it of a checked and lowered program. Numbers are those of the specification's section on ids: an `@id`, or a hash of the
//! name as p4c makes it, so that controllers that learnt a program from p4c's P4Info find the same numbers here.

mod build;
mod declarations;
mod ids;
mod objects;
mod package;
mod types;

pub use build::describe;
pub use ids::Kind;
pub use types::{DataType, Members, NewType, TypeInfo};

pub use crate::ir::Unit;

use crate::ir::MatchKind;
use crate::value::Bits;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Info {
    /// What the program says of itself.
    pub package: Package,
    /// Match-action tables.
    pub tables: Vec<Table>,
    /// Actions that tables call.
    pub actions: Vec<Action>,
    /// Action profiles and selectors.
    pub action_profiles: Vec<ActionProfile>,
    /// Arrays of counters.
    pub counters: Vec<Array>,
    /// Counters of a table's entries.
    pub direct_counters: Vec<Direct>,
    /// Arrays of meters.
    pub meters: Vec<Array>,
    /// Meters of a table's entries.
    pub direct_meters: Vec<Direct>,
    /// What goes with packets to and from the controller.
    pub controller_headers: Vec<ControllerHeader>,
    /// Parser value sets.
    pub value_sets: Vec<ValueSet>,
    /// Arrays of registers.
    pub registers: Vec<Register>,
    /// Messages to the controller.
    pub digests: Vec<Digest>,
    /// The named types that all these have.
    pub types: TypeInfo,
}

/// `@brief` and `@description`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Documentation {
    /// One line.
    pub brief: String,
    /// As much as there is to say.
    pub description: String,
}

/// A value of a structured annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnnotationValue {
    /// A string.
    Text(Arc<str>),
    Number(i64),
    /// A truth value.
    Bool(bool),
}

/// `@name[...]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructuredAnnotation {
    /// Without the `@`.
    pub name: Arc<str>,
    /// Values without keys, or with: `@name[a = 1]`.
    pub values: Vec<(Option<Arc<str>>, AnnotationValue)>,
    /// Whether the values have keys.
    pub pairs: bool,
}

/// What an object's annotations say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Annotations as text: `@defaultonly`.
    pub annotations: Vec<String>,
    /// Annotations with structure.
    pub structured: Vec<StructuredAnnotation>,
    pub documentation: Option<Documentation>,
}

impl Notes {
    /// Adds annotations of what encloses; those that are there already stay as they are.
    fn extend(&mut self, outer: Notes) {
        let name = |text: &str| text.split('(').next().map(String::from);
        let own: Vec<_> = self.annotations.iter().map(|text| name(text)).collect();
        let new = outer.annotations.into_iter();
        self.annotations
            .extend(new.filter(|text| !own.contains(&name(text))));
        for note in outer.structured {
            if !self.structured.iter().any(|other| other.name == note.name) {
                self.structured.push(note);
            }
        }
        self.documentation = self.documentation.take().or(outer.documentation);
    }
}

/// What every object has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preamble {
    /// Unique in the program.
    pub id: u32,
    pub name: Arc<str>,
    /// As much of the name's end as is unique.
    pub alias: Arc<str>,
    /// Annotations and documentation.
    pub notes: Notes,
}

/// What the program says of itself with `@pkginfo`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Package {
    /// `v1model`, `psa`, ...
    pub architecture: Arc<str>,
    /// `name`, `version`, `organization`, `contact`, `url`, as far as they are given.
    pub fields: Vec<(Arc<str>, String)>,
    /// `@platform_property(...)`
    pub platform: Vec<(Arc<str>, i64)>,
    /// Other annotations.
    pub notes: Notes,
}

/// A key of a table, a field of a value set, a parameter of an action, a field of a controller header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// From 1, or by `@id`.
    pub id: u32,
    pub name: Arc<str>,
    /// How many bits; 0 where the controller uses strings.
    pub width: u32,
    /// How a key is compared; of a key or a value set's field.
    pub match_kind: Option<MatchKind>,
    /// Its type, when that was made by `type` or is an enum without numbers.
    pub type_name: Option<Arc<str>>,
    /// Annotations and documentation.
    pub notes: Notes,
}

/// Where an action of a table may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In entries and as default action.
    Both,
    /// `@tableonly`
    TableOnly,
    /// `@defaultonly`
    DefaultOnly,
}

/// An action of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionRef {
    /// The action.
    pub id: u32,
    /// Where it may stand.
    pub scope: Scope,
    /// Annotations.
    pub notes: Notes,
}

/// A match-action table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Number and name.
    pub preamble: Preamble,
    /// The keys but for selectors.
    pub match_fields: Vec<Field>,
    pub actions: Vec<ActionRef>,
    /// The default action, and the arguments by their parameters' numbers.
    pub default_action: Option<(u32, Vec<(u32, Bits)>)>,
    /// Whether the default action stays.
    pub const_default: bool,
    /// Its action profile or selector.
    pub implementation: Option<u32>,
    /// Its direct counters and meters.
    pub direct: Vec<u32>,
    /// How many entries it holds.
    pub size: u64,
    /// Whether entries may have idle timeouts.
    pub idle_timeout: bool,
    /// Whether the program gives all its entries.
    pub is_const: bool,
    /// Whether the program gives entries.
    pub has_entries: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Number and name.
    pub preamble: Preamble,
    /// What the controller gives.
    pub parameters: Vec<Field>,
}

/// An action profile or selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionProfile {
    /// Number and name.
    pub preamble: Preamble,
    /// The tables that use it.
    pub tables: Vec<u32>,
    /// Whether it has groups.
    pub with_selector: bool,
    /// How many members, or weights, it holds.
    pub size: u64,
    /// How many members, or weights, a group holds; 0 for as many as there are.
    pub max_group_size: u64,
    /// What sizes count, where the program says it.
    pub semantics: Option<Semantics>,
}

/// What the sizes of an action selector count: `@selector_size_semantics`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Semantics {
    Weights,
    /// Members, each with a weight of no more than `@max_member_weight`; 0 for any.
    Members(u32),
}

/// An array of counters or meters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// Number and name.
    pub preamble: Preamble,
    /// What it counts.
    pub unit: Unit,
    /// How many cells.
    pub size: u64,
    /// The index's type, when that was made by `type`.
    pub index_type: Option<Arc<str>>,
}

/// A counter or meter for each entry of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Direct {
    /// Number and name.
    pub preamble: Preamble,
    /// What it counts.
    pub unit: Unit,
    pub table: u32,
}

/// A header with `@controller_header`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerHeader {
    /// Number and name: `packet_in` or `packet_out`.
    pub preamble: Preamble,
    pub fields: Vec<Field>,
    /// How wide each field is in the packet, padding and what is hidden among them; `None` names no field.
    pub layout: Vec<(Option<u32>, u32)>,
}

/// A parser value set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueSet {
    /// Number and name.
    pub preamble: Preamble,
    /// What a member has.
    pub fields: Vec<Field>,
    /// How many members it holds.
    pub size: u64,
}

/// An array of registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// Number and name.
    pub preamble: Preamble,
    /// What a cell holds.
    pub ty: DataType,
    /// How many cells.
    pub size: u64,
    /// The index's type, when that was made by `type`.
    pub index_type: Option<Arc<str>>,
}

/// Messages to the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// Number and name.
    pub preamble: Preamble,
    /// What a message holds.
    pub ty: DataType,
}
