//! `p4.config.v1`: what a program looks like to a controller.
//!
//! Fields have the names and numbers of the P4Runtime specification (1.4), which says what each one means.
#![allow(missing_docs)]

use std::collections::BTreeMap;

/// The named types that anything else refers to.
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4TypeInfo {
    #[prost(btree_map = "string, message", tag = "1")]
    pub structs: BTreeMap<String, P4StructTypeSpec>,
    #[prost(btree_map = "string, message", tag = "2")]
    pub headers: BTreeMap<String, P4HeaderTypeSpec>,
    #[prost(btree_map = "string, message", tag = "3")]
    pub header_unions: BTreeMap<String, P4HeaderUnionTypeSpec>,
    #[prost(btree_map = "string, message", tag = "4")]
    pub enums: BTreeMap<String, P4EnumTypeSpec>,
    #[prost(message, optional, tag = "5")]
    pub r#error: Option<P4ErrorTypeSpec>,
    #[prost(btree_map = "string, message", tag = "6")]
    pub serializable_enums: BTreeMap<String, P4SerializableEnumTypeSpec>,
    #[prost(btree_map = "string, message", tag = "7")]
    pub new_types: BTreeMap<String, P4NewTypeSpec>,
}
/// A type.
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4DataTypeSpec {
    #[prost(
        oneof = "p4_data_type_spec::TypeSpec",
        tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12"
    )]
    pub type_spec: Option<p4_data_type_spec::TypeSpec>,
}
/// Parts of [`P4DataTypeSpec`].
pub mod p4_data_type_spec {
    /// One of these.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum TypeSpec {
        #[prost(message, tag = "1")]
        Bitstring(super::P4BitstringLikeTypeSpec),
        #[prost(message, tag = "2")]
        Bool(super::P4BoolType),
        #[prost(message, tag = "3")]
        Tuple(super::P4TupleTypeSpec),
        #[prost(message, tag = "4")]
        Struct(super::P4NamedType),
        #[prost(message, tag = "5")]
        Header(super::P4NamedType),
        #[prost(message, tag = "6")]
        HeaderUnion(super::P4NamedType),
        #[prost(message, tag = "7")]
        HeaderStack(super::P4HeaderStackTypeSpec),
        #[prost(message, tag = "8")]
        HeaderUnionStack(super::P4HeaderUnionStackTypeSpec),
        #[prost(message, tag = "9")]
        Enum(super::P4NamedType),
        #[prost(message, tag = "10")]
        Error(super::P4ErrorType),
        #[prost(message, tag = "11")]
        SerializableEnum(super::P4NamedType),
        #[prost(message, tag = "12")]
        NewType(super::P4NamedType),
    }
}
/// A type by its name in [`P4TypeInfo`].
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4NamedType {
    #[prost(string, tag = "1")]
    pub name: String,
}
/// `bool`
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4BoolType {}
/// `error`
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4ErrorType {}
/// A type that is a string of bits.
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4BitstringLikeTypeSpec {
    #[prost(oneof = "p4_bitstring_like_type_spec::TypeSpec", tags = "1, 2, 3")]
    pub type_spec: Option<p4_bitstring_like_type_spec::TypeSpec>,
    #[prost(string, repeated, tag = "4")]
    pub annotations: Vec<String>,
    #[prost(message, repeated, tag = "5")]
    pub annotation_locations: Vec<SourceLocation>,
    #[prost(message, repeated, tag = "6")]
    pub structured_annotations: Vec<StructuredAnnotation>,
}
/// Parts of [`P4BitstringLikeTypeSpec`].
pub mod p4_bitstring_like_type_spec {
    /// One of these.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum TypeSpec {
        #[prost(message, tag = "1")]
        Bit(super::P4BitTypeSpec),
        #[prost(message, tag = "2")]
        Int(super::P4IntTypeSpec),
        #[prost(message, tag = "3")]
        Varbit(super::P4VarbitTypeSpec),
    }
}
/// `bit<W>`
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4BitTypeSpec {
    #[prost(int32, tag = "1")]
    pub bitwidth: i32,
}
/// `int<W>`
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4IntTypeSpec {
    #[prost(int32, tag = "1")]
    pub bitwidth: i32,
}
/// `varbit<W>`
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4VarbitTypeSpec {
    #[prost(int32, tag = "1")]
    pub max_bitwidth: i32,
}
/// `tuple<...>`
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4TupleTypeSpec {
    #[prost(message, repeated, tag = "1")]
    pub members: Vec<P4DataTypeSpec>,
}
/// `struct`
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4StructTypeSpec {
    #[prost(message, repeated, tag = "1")]
    pub members: Vec<p4_struct_type_spec::Member>,
    #[prost(string, repeated, tag = "2")]
    pub annotations: Vec<String>,
    #[prost(message, repeated, tag = "3")]
    pub annotation_locations: Vec<SourceLocation>,
    #[prost(message, repeated, tag = "4")]
    pub structured_annotations: Vec<StructuredAnnotation>,
}
/// Parts of [`P4StructTypeSpec`].
pub mod p4_struct_type_spec {
    /// A member.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Member {
        #[prost(string, tag = "1")]
        pub name: String,
        #[prost(message, optional, tag = "2")]
        pub type_spec: Option<super::P4DataTypeSpec>,
    }
}
/// `header`
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4HeaderTypeSpec {
    #[prost(message, repeated, tag = "1")]
    pub members: Vec<p4_header_type_spec::Member>,
    #[prost(string, repeated, tag = "2")]
    pub annotations: Vec<String>,
    #[prost(message, repeated, tag = "3")]
    pub annotation_locations: Vec<SourceLocation>,
    #[prost(message, repeated, tag = "4")]
    pub structured_annotations: Vec<StructuredAnnotation>,
}
/// Parts of [`P4HeaderTypeSpec`].
pub mod p4_header_type_spec {
    /// A member.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Member {
        #[prost(string, tag = "1")]
        pub name: String,
        #[prost(message, optional, tag = "2")]
        pub type_spec: Option<super::P4BitstringLikeTypeSpec>,
    }
}
/// `header_union`
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4HeaderUnionTypeSpec {
    #[prost(message, repeated, tag = "1")]
    pub members: Vec<p4_header_union_type_spec::Member>,
    #[prost(string, repeated, tag = "2")]
    pub annotations: Vec<String>,
    #[prost(message, repeated, tag = "3")]
    pub annotation_locations: Vec<SourceLocation>,
    #[prost(message, repeated, tag = "4")]
    pub structured_annotations: Vec<StructuredAnnotation>,
}
/// Parts of [`P4HeaderUnionTypeSpec`].
pub mod p4_header_union_type_spec {
    /// A member.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Member {
        #[prost(string, tag = "1")]
        pub name: String,
        #[prost(message, optional, tag = "2")]
        pub header: Option<super::P4NamedType>,
    }
}
/// `H[n]`
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4HeaderStackTypeSpec {
    #[prost(message, optional, tag = "1")]
    pub header: Option<P4NamedType>,
    #[prost(int32, tag = "2")]
    pub size: i32,
}
/// `U[n]`
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4HeaderUnionStackTypeSpec {
    #[prost(message, optional, tag = "1")]
    pub header_union: Option<P4NamedType>,
    #[prost(int32, tag = "2")]
    pub size: i32,
}
/// A pair of a structured annotation.
#[derive(Clone, PartialEq, prost::Message)]
pub struct KeyValuePair {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(message, optional, tag = "2")]
    pub value: Option<Expression>,
}
/// Pairs of a structured annotation.
#[derive(Clone, PartialEq, prost::Message)]
pub struct KeyValuePairList {
    #[prost(message, repeated, tag = "1")]
    pub kv_pairs: Vec<KeyValuePair>,
}
/// A value in a structured annotation.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Expression {
    #[prost(oneof = "expression::Value", tags = "1, 2, 3")]
    pub value: Option<expression::Value>,
}
/// Parts of [`Expression`].
pub mod expression {
    /// One of these.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Value {
        #[prost(string, tag = "1")]
        StringValue(String),
        #[prost(int64, tag = "2")]
        Int64Value(i64),
        #[prost(bool, tag = "3")]
        BoolValue(bool),
    }
}
/// Values of a structured annotation.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ExpressionList {
    #[prost(message, repeated, tag = "1")]
    pub expressions: Vec<Expression>,
}
/// `@name[...]`
#[derive(Clone, PartialEq, prost::Message)]
pub struct StructuredAnnotation {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(oneof = "structured_annotation::Body", tags = "2, 3")]
    pub body: Option<structured_annotation::Body>,
    #[prost(message, optional, tag = "4")]
    pub source_location: Option<SourceLocation>,
}
/// Parts of [`StructuredAnnotation`].
pub mod structured_annotation {
    /// One of these.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Body {
        #[prost(message, tag = "2")]
        ExpressionList(super::ExpressionList),
        #[prost(message, tag = "3")]
        KvPairList(super::KeyValuePairList),
    }
}
/// A place in the program.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SourceLocation {
    #[prost(string, tag = "1")]
    pub file: String,
    #[prost(int32, tag = "2")]
    pub line: i32,
    #[prost(int32, tag = "3")]
    pub column: i32,
}
/// `enum` without an underlying type.
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4EnumTypeSpec {
    #[prost(message, repeated, tag = "1")]
    pub members: Vec<p4_enum_type_spec::Member>,
    #[prost(string, repeated, tag = "2")]
    pub annotations: Vec<String>,
    #[prost(message, repeated, tag = "4")]
    pub annotation_locations: Vec<SourceLocation>,
    #[prost(message, repeated, tag = "3")]
    pub structured_annotations: Vec<StructuredAnnotation>,
}
/// Parts of [`P4EnumTypeSpec`].
pub mod p4_enum_type_spec {
    /// A member.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Member {
        #[prost(string, tag = "1")]
        pub name: String,
        #[prost(string, repeated, tag = "2")]
        pub annotations: Vec<String>,
        #[prost(message, repeated, tag = "4")]
        pub annotation_locations: Vec<super::SourceLocation>,
        #[prost(message, repeated, tag = "3")]
        pub structured_annotations: Vec<super::StructuredAnnotation>,
    }
}
/// `enum bit<W>`
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4SerializableEnumTypeSpec {
    #[prost(message, optional, tag = "1")]
    pub underlying_type: Option<P4BitTypeSpec>,
    #[prost(message, repeated, tag = "2")]
    pub members: Vec<p4_serializable_enum_type_spec::Member>,
    #[prost(string, repeated, tag = "3")]
    pub annotations: Vec<String>,
    #[prost(message, repeated, tag = "5")]
    pub annotation_locations: Vec<SourceLocation>,
    #[prost(message, repeated, tag = "4")]
    pub structured_annotations: Vec<StructuredAnnotation>,
}
/// Parts of [`P4SerializableEnumTypeSpec`].
pub mod p4_serializable_enum_type_spec {
    /// A member.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Member {
        #[prost(string, tag = "1")]
        pub name: String,
        #[prost(bytes = "vec", tag = "2")]
        pub value: Vec<u8>,
        #[prost(string, repeated, tag = "3")]
        pub annotations: Vec<String>,
        #[prost(message, repeated, tag = "5")]
        pub annotation_locations: Vec<super::SourceLocation>,
        #[prost(message, repeated, tag = "4")]
        pub structured_annotations: Vec<super::StructuredAnnotation>,
    }
}
/// The members of `error`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4ErrorTypeSpec {
    #[prost(string, repeated, tag = "1")]
    pub members: Vec<String>,
}
/// `@p4runtime_translation`
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4NewTypeTranslation {
    #[prost(string, tag = "1")]
    pub uri: String,
    #[prost(oneof = "p4_new_type_translation::SdnType", tags = "2, 3")]
    pub sdn_type: Option<p4_new_type_translation::SdnType>,
}
/// Parts of [`P4NewTypeTranslation`].
pub mod p4_new_type_translation {
    /// The controller uses strings.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct SdnString {}
    /// One of these.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum SdnType {
        #[prost(int32, tag = "2")]
        SdnBitwidth(i32),
        #[prost(message, tag = "3")]
        SdnString(super::p4_new_type_translation::SdnString),
    }
}
/// `type`
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4NewTypeSpec {
    #[prost(oneof = "p4_new_type_spec::Representation", tags = "1, 2")]
    pub representation: Option<p4_new_type_spec::Representation>,
    #[prost(string, repeated, tag = "3")]
    pub annotations: Vec<String>,
    #[prost(message, repeated, tag = "5")]
    pub annotation_locations: Vec<SourceLocation>,
    #[prost(message, repeated, tag = "4")]
    pub structured_annotations: Vec<StructuredAnnotation>,
}
/// Parts of [`P4NewTypeSpec`].
pub mod p4_new_type_spec {
    /// One of these.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Representation {
        #[prost(message, tag = "1")]
        OriginalType(super::P4DataTypeSpec),
        #[prost(message, tag = "2")]
        TranslatedType(super::P4NewTypeTranslation),
    }
}
/// All that a controller needs to know of a program.
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4Info {
    #[prost(message, optional, tag = "1")]
    pub pkg_info: Option<PkgInfo>,
    #[prost(message, repeated, tag = "2")]
    pub tables: Vec<Table>,
    #[prost(message, repeated, tag = "3")]
    pub actions: Vec<Action>,
    #[prost(message, repeated, tag = "4")]
    pub action_profiles: Vec<ActionProfile>,
    #[prost(message, repeated, tag = "5")]
    pub counters: Vec<Counter>,
    #[prost(message, repeated, tag = "6")]
    pub direct_counters: Vec<DirectCounter>,
    #[prost(message, repeated, tag = "7")]
    pub meters: Vec<Meter>,
    #[prost(message, repeated, tag = "8")]
    pub direct_meters: Vec<DirectMeter>,
    #[prost(message, repeated, tag = "9")]
    pub controller_packet_metadata: Vec<ControllerPacketMetadata>,
    #[prost(message, repeated, tag = "10")]
    pub value_sets: Vec<ValueSet>,
    #[prost(message, repeated, tag = "11")]
    pub registers: Vec<Register>,
    #[prost(message, repeated, tag = "12")]
    pub digests: Vec<Digest>,
    #[prost(message, repeated, tag = "100")]
    pub externs: Vec<Extern>,
    #[prost(message, optional, tag = "200")]
    pub type_info: Option<P4TypeInfo>,
}
/// `@brief` and `@description`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Documentation {
    #[prost(string, tag = "1")]
    pub brief: String,
    #[prost(string, tag = "2")]
    pub description: String,
}
/// What the device has room for.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PlatformProperties {
    #[prost(int32, tag = "1")]
    pub multicast_group_table_size: i32,
    #[prost(int32, tag = "2")]
    pub multicast_group_table_total_replicas: i32,
    #[prost(int32, tag = "3")]
    pub multicast_group_table_max_replicas_per_entry: i32,
}
/// What the program says of itself by `@pkginfo`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PkgInfo {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub version: String,
    #[prost(message, optional, tag = "3")]
    pub doc: Option<Documentation>,
    #[prost(string, repeated, tag = "4")]
    pub annotations: Vec<String>,
    #[prost(message, repeated, tag = "10")]
    pub annotation_locations: Vec<SourceLocation>,
    #[prost(string, tag = "5")]
    pub arch: String,
    #[prost(string, tag = "6")]
    pub organization: String,
    #[prost(string, tag = "7")]
    pub contact: String,
    #[prost(string, tag = "8")]
    pub url: String,
    #[prost(message, repeated, tag = "9")]
    pub structured_annotations: Vec<StructuredAnnotation>,
    #[prost(message, optional, tag = "11")]
    pub platform_properties: Option<PlatformProperties>,
}
/// The kinds of ids.
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4Ids {}
/// Parts of [`P4Ids`].
pub mod p4_ids {
    /// Which one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
    #[repr(i32)]
    pub enum Prefix {
        Unspecified = 0,
        Action = 1,
        Table = 2,
        ValueSet = 3,
        ControllerHeader = 4,
        PsaExternsStart = 16,
        ActionProfile = 17,
        Counter = 18,
        DirectCounter = 19,
        Meter = 20,
        DirectMeter = 21,
        Register = 22,
        Digest = 23,
        OtherExternsStart = 128,
        Max = 255,
    }
}
/// What all objects have.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Preamble {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(string, tag = "3")]
    pub alias: String,
    #[prost(string, repeated, tag = "4")]
    pub annotations: Vec<String>,
    #[prost(message, repeated, tag = "7")]
    pub annotation_locations: Vec<SourceLocation>,
    #[prost(message, optional, tag = "5")]
    pub doc: Option<Documentation>,
    #[prost(message, repeated, tag = "6")]
    pub structured_annotations: Vec<StructuredAnnotation>,
}
/// The instances of an extern that P4Runtime does not know.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Extern {
    #[prost(uint32, tag = "1")]
    pub extern_type_id: u32,
    #[prost(string, tag = "2")]
    pub extern_type_name: String,
    #[prost(message, repeated, tag = "3")]
    pub instances: Vec<ExternInstance>,
}
/// One of them.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ExternInstance {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, optional, tag = "2")]
    pub info: Option<super::Any>,
}
/// A key of a table or value set.
#[derive(Clone, PartialEq, prost::Message)]
pub struct MatchField {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(string, repeated, tag = "3")]
    pub annotations: Vec<String>,
    #[prost(message, repeated, tag = "10")]
    pub annotation_locations: Vec<SourceLocation>,
    #[prost(int32, tag = "4")]
    pub bitwidth: i32,
    #[prost(oneof = "match_field::Match", tags = "5, 7")]
    pub r#match: Option<match_field::Match>,
    #[prost(message, optional, tag = "6")]
    pub doc: Option<Documentation>,
    #[prost(message, optional, tag = "8")]
    pub type_name: Option<P4NamedType>,
    #[prost(message, repeated, tag = "9")]
    pub structured_annotations: Vec<StructuredAnnotation>,
}
/// Parts of [`MatchField`].
pub mod match_field {
    /// Which one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
    #[repr(i32)]
    pub enum MatchType {
        Unspecified = 0,
        Exact = 2,
        Lpm = 3,
        Ternary = 4,
        Range = 5,
        Optional = 6,
    }
    /// One of these.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Match {
        #[prost(enumeration = "super::match_field::MatchType", tag = "5")]
        MatchType(i32),
        #[prost(string, tag = "7")]
        OtherMatchType(String),
    }
}
/// An action with its arguments.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TableActionCall {
    #[prost(uint32, tag = "1")]
    pub action_id: u32,
    #[prost(message, repeated, tag = "4")]
    pub arguments: Vec<table_action_call::Argument>,
}
/// Parts of [`TableActionCall`].
pub mod table_action_call {
    /// An argument.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Argument {
        #[prost(uint32, tag = "2")]
        pub param_id: u32,
        #[prost(bytes = "vec", tag = "3")]
        pub value: Vec<u8>,
    }
}
/// A table.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Table {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, repeated, tag = "2")]
    pub match_fields: Vec<MatchField>,
    #[prost(message, repeated, tag = "3")]
    pub action_refs: Vec<ActionRef>,
    #[prost(uint32, tag = "4")]
    pub const_default_action_id: u32,
    #[prost(message, optional, tag = "5")]
    pub initial_default_action: Option<TableActionCall>,
    #[prost(uint32, tag = "6")]
    pub implementation_id: u32,
    #[prost(uint32, repeated, tag = "7")]
    pub direct_resource_ids: Vec<u32>,
    #[prost(int64, tag = "8")]
    pub size: i64,
    #[prost(enumeration = "table::IdleTimeoutBehavior", tag = "9")]
    pub idle_timeout_behavior: i32,
    #[prost(bool, tag = "10")]
    pub is_const_table: bool,
    #[prost(bool, tag = "11")]
    pub has_initial_entries: bool,
    #[prost(message, optional, tag = "100")]
    pub other_properties: Option<super::Any>,
}
/// Parts of [`Table`].
pub mod table {
    /// Which one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
    #[repr(i32)]
    pub enum IdleTimeoutBehavior {
        NoTimeout = 0,
        NotifyControl = 1,
    }
}
/// An action of a table.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ActionRef {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(enumeration = "action_ref::Scope", tag = "3")]
    pub scope: i32,
    #[prost(string, repeated, tag = "2")]
    pub annotations: Vec<String>,
    #[prost(message, repeated, tag = "5")]
    pub annotation_locations: Vec<SourceLocation>,
    #[prost(message, repeated, tag = "4")]
    pub structured_annotations: Vec<StructuredAnnotation>,
}
/// Parts of [`ActionRef`].
pub mod action_ref {
    /// Which one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
    #[repr(i32)]
    pub enum Scope {
        TableAndDefault = 0,
        TableOnly = 1,
        DefaultOnly = 2,
    }
}
/// An action.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Action {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, repeated, tag = "2")]
    pub params: Vec<action::Param>,
}
/// Parts of [`Action`].
pub mod action {
    /// A parameter.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Param {
        #[prost(uint32, tag = "1")]
        pub id: u32,
        #[prost(string, tag = "2")]
        pub name: String,
        #[prost(string, repeated, tag = "3")]
        pub annotations: Vec<String>,
        #[prost(message, repeated, tag = "8")]
        pub annotation_locations: Vec<super::SourceLocation>,
        #[prost(int32, tag = "4")]
        pub bitwidth: i32,
        #[prost(message, optional, tag = "5")]
        pub doc: Option<super::Documentation>,
        #[prost(message, optional, tag = "6")]
        pub type_name: Option<super::P4NamedType>,
        #[prost(message, repeated, tag = "7")]
        pub structured_annotations: Vec<super::StructuredAnnotation>,
    }
}
/// An action profile or selector.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ActionProfile {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(uint32, repeated, tag = "2")]
    pub table_ids: Vec<u32>,
    #[prost(bool, tag = "3")]
    pub with_selector: bool,
    #[prost(int64, tag = "4")]
    pub size: i64,
    #[prost(int32, tag = "5")]
    pub max_group_size: i32,
    #[prost(oneof = "action_profile::SelectorSizeSemantics", tags = "6, 7")]
    pub selector_size_semantics: Option<action_profile::SelectorSizeSemantics>,
}
/// Parts of [`ActionProfile`].
pub mod action_profile {
    /// Sizes count weights.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct SumOfWeights {}
    /// Sizes count members.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct SumOfMembers {
        #[prost(int32, tag = "1")]
        pub max_member_weight: i32,
    }
    /// One of these.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum SelectorSizeSemantics {
        #[prost(message, tag = "6")]
        SumOfWeights(super::action_profile::SumOfWeights),
        #[prost(message, tag = "7")]
        SumOfMembers(super::action_profile::SumOfMembers),
    }
}
/// What a counter counts.
#[derive(Clone, PartialEq, prost::Message)]
pub struct CounterSpec {
    #[prost(enumeration = "counter_spec::Unit", tag = "1")]
    pub unit: i32,
}
/// Parts of [`CounterSpec`].
pub mod counter_spec {
    /// Which one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
    #[repr(i32)]
    pub enum Unit {
        Unspecified = 0,
        Bytes = 1,
        Packets = 2,
        Both = 3,
    }
}
/// An array of counters.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Counter {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, optional, tag = "2")]
    pub spec: Option<CounterSpec>,
    #[prost(int64, tag = "3")]
    pub size: i64,
    #[prost(message, optional, tag = "4")]
    pub index_type_name: Option<P4NamedType>,
}
/// A counter for each entry of a table.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DirectCounter {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, optional, tag = "2")]
    pub spec: Option<CounterSpec>,
    #[prost(uint32, tag = "3")]
    pub direct_table_id: u32,
}
/// What a meter measures.
#[derive(Clone, PartialEq, prost::Message)]
pub struct MeterSpec {
    #[prost(enumeration = "meter_spec::Unit", tag = "1")]
    pub unit: i32,
    #[prost(enumeration = "meter_spec::Type", tag = "2")]
    pub r#type: i32,
}
/// Parts of [`MeterSpec`].
pub mod meter_spec {
    /// Which one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
    #[repr(i32)]
    pub enum Unit {
        Unspecified = 0,
        Bytes = 1,
        Packets = 2,
    }
    /// Which one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
    #[repr(i32)]
    pub enum Type {
        TwoRateThreeColor = 0,
        SingleRateThreeColor = 1,
        SingleRateTwoColor = 2,
    }
}
/// An array of meters.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Meter {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, optional, tag = "2")]
    pub spec: Option<MeterSpec>,
    #[prost(int64, tag = "3")]
    pub size: i64,
    #[prost(message, optional, tag = "4")]
    pub index_type_name: Option<P4NamedType>,
}
/// A meter for each entry of a table.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DirectMeter {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, optional, tag = "2")]
    pub spec: Option<MeterSpec>,
    #[prost(uint32, tag = "3")]
    pub direct_table_id: u32,
}
/// What goes with packets from and to the controller.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ControllerPacketMetadata {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, repeated, tag = "2")]
    pub metadata: Vec<controller_packet_metadata::Metadata>,
}
/// Parts of [`ControllerPacketMetadata`].
pub mod controller_packet_metadata {
    /// A field.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Metadata {
        #[prost(uint32, tag = "1")]
        pub id: u32,
        #[prost(string, tag = "2")]
        pub name: String,
        #[prost(string, repeated, tag = "3")]
        pub annotations: Vec<String>,
        #[prost(message, repeated, tag = "7")]
        pub annotation_locations: Vec<super::SourceLocation>,
        #[prost(int32, tag = "4")]
        pub bitwidth: i32,
        #[prost(message, optional, tag = "5")]
        pub type_name: Option<super::P4NamedType>,
        #[prost(message, repeated, tag = "6")]
        pub structured_annotations: Vec<super::StructuredAnnotation>,
    }
}
/// A parser value set.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ValueSet {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, repeated, tag = "2")]
    pub r#match: Vec<MatchField>,
    #[prost(int32, tag = "3")]
    pub size: i32,
}
/// An array of registers.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Register {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, optional, tag = "2")]
    pub type_spec: Option<P4DataTypeSpec>,
    #[prost(int32, tag = "3")]
    pub size: i32,
    #[prost(message, optional, tag = "4")]
    pub index_type_name: Option<P4NamedType>,
}
/// Messages to the controller.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Digest {
    #[prost(message, optional, tag = "1")]
    pub preamble: Option<Preamble>,
    #[prost(message, optional, tag = "2")]
    pub type_spec: Option<P4DataTypeSpec>,
}
