//! `p4.v1`: what a controller and a device say to each other.
//!
//! Fields have the names and numbers of the P4Runtime specification (1.4), which says what each one means.
#![allow(missing_docs)]

/// A value of any type.
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4Data {
    #[prost(
        oneof = "p4_data::Data",
        tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12"
    )]
    pub data: Option<p4_data::Data>,
}
/// Parts of [`P4Data`].
pub mod p4_data {
    /// One of these.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Data {
        #[prost(bytes = "vec", tag = "1")]
        Bitstring(Vec<u8>),
        #[prost(message, tag = "2")]
        Varbit(super::P4Varbit),
        #[prost(bool, tag = "3")]
        Bool(bool),
        #[prost(message, tag = "4")]
        Tuple(super::P4StructLike),
        #[prost(message, tag = "5")]
        Struct(super::P4StructLike),
        #[prost(message, tag = "6")]
        Header(super::P4Header),
        #[prost(message, tag = "7")]
        HeaderUnion(super::P4HeaderUnion),
        #[prost(message, tag = "8")]
        HeaderStack(super::P4HeaderStack),
        #[prost(message, tag = "9")]
        HeaderUnionStack(super::P4HeaderUnionStack),
        #[prost(string, tag = "10")]
        Enum(String),
        #[prost(string, tag = "11")]
        Error(String),
        #[prost(bytes = "vec", tag = "12")]
        EnumValue(Vec<u8>),
    }
}
/// A value of a varbit.
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4Varbit {
    #[prost(bytes = "vec", tag = "1")]
    pub bitstring: Vec<u8>,
    #[prost(int32, tag = "2")]
    pub bitwidth: i32,
}
/// A value of a struct or tuple.
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4StructLike {
    #[prost(message, repeated, tag = "1")]
    pub members: Vec<P4Data>,
}
/// A value of a header.
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4Header {
    #[prost(bool, tag = "1")]
    pub is_valid: bool,
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub bitstrings: Vec<Vec<u8>>,
}
/// A value of a header union.
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4HeaderUnion {
    #[prost(string, tag = "1")]
    pub valid_header_name: String,
    #[prost(message, optional, tag = "2")]
    pub valid_header: Option<P4Header>,
}
/// A value of a header stack.
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4HeaderStack {
    #[prost(message, repeated, tag = "1")]
    pub entries: Vec<P4Header>,
}
/// A value of a stack of unions.
#[derive(Clone, PartialEq, prost::Message)]
pub struct P4HeaderUnionStack {
    #[prost(message, repeated, tag = "1")]
    pub entries: Vec<P4HeaderUnion>,
}
/// Port numbers with a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum SdnPort {
    SdnPortUnknown = 0,
    SdnPortMin = 1,
    SdnPortMax = -257,
    SdnPortRecirculate = -6,
    SdnPortCpu = -3,
}
/// Changes.
#[derive(Clone, PartialEq, prost::Message)]
pub struct WriteRequest {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    #[prost(uint64, tag = "2")]
    pub role_id: u64,
    #[prost(string, tag = "6")]
    pub role: String,
    #[prost(message, optional, tag = "3")]
    pub election_id: Option<Uint128>,
    #[prost(message, repeated, tag = "4")]
    pub updates: Vec<Update>,
    #[prost(enumeration = "write_request::Atomicity", tag = "5")]
    pub atomicity: i32,
}
/// Parts of [`WriteRequest`].
pub mod write_request {
    /// Which one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
    #[repr(i32)]
    pub enum Atomicity {
        ContinueOnError = 0,
        RollbackOnError = 1,
        DataplaneAtomic = 2,
    }
}
/// All were made.
#[derive(Clone, PartialEq, prost::Message)]
pub struct WriteResponse {}
/// What is to be read; an id of 0 stands for all.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ReadRequest {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    #[prost(string, tag = "3")]
    pub role: String,
    #[prost(message, repeated, tag = "2")]
    pub entities: Vec<Entity>,
}
/// What there is.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ReadResponse {
    #[prost(message, repeated, tag = "1")]
    pub entities: Vec<Entity>,
}
/// A change.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Update {
    #[prost(enumeration = "update::Type", tag = "1")]
    pub r#type: i32,
    #[prost(message, optional, tag = "2")]
    pub entity: Option<Entity>,
}
/// Parts of [`Update`].
pub mod update {
    /// Which one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
    #[repr(i32)]
    pub enum Type {
        Unspecified = 0,
        Insert = 1,
        Modify = 2,
        Delete = 3,
    }
}
/// Something that can be read or written.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Entity {
    #[prost(
        oneof = "entity::Entity",
        tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12"
    )]
    pub entity: Option<entity::Entity>,
}
/// Parts of [`Entity`].
pub mod entity {
    /// One of these.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Entity {
        #[prost(message, tag = "1")]
        ExternEntry(super::ExternEntry),
        #[prost(message, tag = "2")]
        TableEntry(super::TableEntry),
        #[prost(message, tag = "3")]
        ActionProfileMember(super::ActionProfileMember),
        #[prost(message, tag = "4")]
        ActionProfileGroup(super::ActionProfileGroup),
        #[prost(message, tag = "5")]
        MeterEntry(super::MeterEntry),
        #[prost(message, tag = "6")]
        DirectMeterEntry(super::DirectMeterEntry),
        #[prost(message, tag = "7")]
        CounterEntry(super::CounterEntry),
        #[prost(message, tag = "8")]
        DirectCounterEntry(super::DirectCounterEntry),
        #[prost(message, tag = "9")]
        PacketReplicationEngineEntry(super::PacketReplicationEngineEntry),
        #[prost(message, tag = "10")]
        ValueSetEntry(super::ValueSetEntry),
        #[prost(message, tag = "11")]
        RegisterEntry(super::RegisterEntry),
        #[prost(message, tag = "12")]
        DigestEntry(super::DigestEntry),
    }
}
/// State of an extern that P4Runtime does not know.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ExternEntry {
    #[prost(uint32, tag = "1")]
    pub extern_type_id: u32,
    #[prost(uint32, tag = "2")]
    pub extern_id: u32,
    #[prost(message, optional, tag = "3")]
    pub entry: Option<super::Any>,
}
/// An entry of a table, or its default action.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TableEntry {
    #[prost(uint32, tag = "1")]
    pub table_id: u32,
    #[prost(message, repeated, tag = "2")]
    pub r#match: Vec<FieldMatch>,
    #[prost(message, optional, tag = "3")]
    pub action: Option<TableAction>,
    #[prost(int32, tag = "4")]
    pub priority: i32,
    #[prost(uint64, tag = "5")]
    pub controller_metadata: u64,
    #[prost(message, optional, tag = "6")]
    pub meter_config: Option<MeterConfig>,
    #[prost(message, optional, tag = "7")]
    pub counter_data: Option<CounterData>,
    #[prost(message, optional, tag = "12")]
    pub meter_counter_data: Option<MeterCounterData>,
    #[prost(bool, tag = "8")]
    pub is_default_action: bool,
    #[prost(int64, tag = "9")]
    pub idle_timeout_ns: i64,
    #[prost(message, optional, tag = "10")]
    pub time_since_last_hit: Option<table_entry::IdleTimeout>,
    #[prost(bytes = "vec", tag = "11")]
    pub metadata: Vec<u8>,
    #[prost(bool, tag = "13")]
    pub is_const: bool,
}
/// Parts of [`TableEntry`].
pub mod table_entry {
    /// Since the last hit.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct IdleTimeout {
        #[prost(int64, tag = "1")]
        pub elapsed_ns: i64,
    }
}
/// What a key must be; keys that may be anything are left out.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FieldMatch {
    #[prost(uint32, tag = "1")]
    pub field_id: u32,
    #[prost(oneof = "field_match::FieldMatchType", tags = "2, 3, 4, 6, 7, 100")]
    pub field_match_type: Option<field_match::FieldMatchType>,
}
/// Parts of [`FieldMatch`].
pub mod field_match {
    /// All bits.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Exact {
        #[prost(bytes = "vec", tag = "1")]
        pub value: Vec<u8>,
    }
    /// Bits of a mask.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Ternary {
        #[prost(bytes = "vec", tag = "1")]
        pub value: Vec<u8>,
        #[prost(bytes = "vec", tag = "2")]
        pub mask: Vec<u8>,
    }
    /// Leading bits.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Lpm {
        #[prost(bytes = "vec", tag = "1")]
        pub value: Vec<u8>,
        #[prost(int32, tag = "2")]
        pub prefix_len: i32,
    }
    /// From and to.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Range {
        #[prost(bytes = "vec", tag = "1")]
        pub low: Vec<u8>,
        #[prost(bytes = "vec", tag = "2")]
        pub high: Vec<u8>,
    }
    /// All bits.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Optional {
        #[prost(bytes = "vec", tag = "1")]
        pub value: Vec<u8>,
    }
    /// One of these.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum FieldMatchType {
        #[prost(message, tag = "2")]
        Exact(super::field_match::Exact),
        #[prost(message, tag = "3")]
        Ternary(super::field_match::Ternary),
        #[prost(message, tag = "4")]
        Lpm(super::field_match::Lpm),
        #[prost(message, tag = "6")]
        Range(super::field_match::Range),
        #[prost(message, tag = "7")]
        Optional(super::field_match::Optional),
        #[prost(message, tag = "100")]
        Other(super::super::Any),
    }
}
/// What an entry does.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TableAction {
    #[prost(oneof = "table_action::Type", tags = "1, 2, 3, 4")]
    pub r#type: Option<table_action::Type>,
}
/// Parts of [`TableAction`].
pub mod table_action {
    /// One of these.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Type {
        #[prost(message, tag = "1")]
        Action(super::Action),
        #[prost(uint32, tag = "2")]
        ActionProfileMemberId(u32),
        #[prost(uint32, tag = "3")]
        ActionProfileGroupId(u32),
        #[prost(message, tag = "4")]
        ActionProfileActionSet(super::ActionProfileActionSet),
    }
}
/// An action.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Action {
    #[prost(uint32, tag = "1")]
    pub action_id: u32,
    #[prost(message, repeated, tag = "4")]
    pub params: Vec<action::Param>,
}
/// Parts of [`Action`].
pub mod action {
    /// A parameter.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Param {
        #[prost(uint32, tag = "2")]
        pub param_id: u32,
        #[prost(bytes = "vec", tag = "3")]
        pub value: Vec<u8>,
    }
}
/// A group for one entry.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ActionProfileActionSet {
    #[prost(message, repeated, tag = "1")]
    pub action_profile_actions: Vec<ActionProfileAction>,
}
/// An action of it.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ActionProfileAction {
    #[prost(message, optional, tag = "1")]
    pub action: Option<Action>,
    #[prost(int32, tag = "2")]
    pub weight: i32,
    #[prost(oneof = "action_profile_action::WatchKind", tags = "3, 4")]
    pub watch_kind: Option<action_profile_action::WatchKind>,
}
/// Parts of [`ActionProfileAction`].
pub mod action_profile_action {
    /// One of these.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum WatchKind {
        #[prost(int32, tag = "3")]
        Watch(i32),
        #[prost(bytes = "vec", tag = "4")]
        WatchPort(Vec<u8>),
    }
}
/// A member of an action profile.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ActionProfileMember {
    #[prost(uint32, tag = "1")]
    pub action_profile_id: u32,
    #[prost(uint32, tag = "2")]
    pub member_id: u32,
    #[prost(message, optional, tag = "3")]
    pub action: Option<Action>,
}
/// A group of an action selector.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ActionProfileGroup {
    #[prost(uint32, tag = "1")]
    pub action_profile_id: u32,
    #[prost(uint32, tag = "2")]
    pub group_id: u32,
    #[prost(message, repeated, tag = "3")]
    pub members: Vec<action_profile_group::Member>,
    #[prost(int32, tag = "4")]
    pub max_size: i32,
}
/// Parts of [`ActionProfileGroup`].
pub mod action_profile_group {
    /// A member.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Member {
        #[prost(uint32, tag = "1")]
        pub member_id: u32,
        #[prost(int32, tag = "2")]
        pub weight: i32,
        #[prost(oneof = "member::WatchKind", tags = "3, 4")]
        pub watch_kind: Option<member::WatchKind>,
    }
    /// Parts of [`Member`].
    pub mod member {
        /// One of these.
        #[derive(Clone, PartialEq, prost::Oneof)]
        pub enum WatchKind {
            #[prost(int32, tag = "3")]
            Watch(i32),
            #[prost(bytes = "vec", tag = "4")]
            WatchPort(Vec<u8>),
        }
    }
}
/// An index into an array.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Index {
    #[prost(int64, tag = "1")]
    pub index: i64,
}
/// A cell of a meter.
#[derive(Clone, PartialEq, prost::Message)]
pub struct MeterEntry {
    #[prost(uint32, tag = "1")]
    pub meter_id: u32,
    #[prost(message, optional, tag = "2")]
    pub index: Option<Index>,
    #[prost(message, optional, tag = "3")]
    pub config: Option<MeterConfig>,
    #[prost(message, optional, tag = "4")]
    pub counter_data: Option<MeterCounterData>,
}
/// An entry's meter.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DirectMeterEntry {
    #[prost(message, optional, tag = "1")]
    pub table_entry: Option<TableEntry>,
    #[prost(message, optional, tag = "2")]
    pub config: Option<MeterConfig>,
    #[prost(message, optional, tag = "3")]
    pub counter_data: Option<MeterCounterData>,
}
/// Rates and bursts.
#[derive(Clone, PartialEq, prost::Message)]
pub struct MeterConfig {
    #[prost(int64, tag = "1")]
    pub cir: i64,
    #[prost(int64, tag = "2")]
    pub cburst: i64,
    #[prost(int64, tag = "3")]
    pub pir: i64,
    #[prost(int64, tag = "4")]
    pub pburst: i64,
    #[prost(int64, tag = "5")]
    pub eburst: i64,
}
/// A cell of a counter.
#[derive(Clone, PartialEq, prost::Message)]
pub struct CounterEntry {
    #[prost(uint32, tag = "1")]
    pub counter_id: u32,
    #[prost(message, optional, tag = "2")]
    pub index: Option<Index>,
    #[prost(message, optional, tag = "3")]
    pub data: Option<CounterData>,
}
/// An entry's counter.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DirectCounterEntry {
    #[prost(message, optional, tag = "1")]
    pub table_entry: Option<TableEntry>,
    #[prost(message, optional, tag = "2")]
    pub data: Option<CounterData>,
}
/// A count.
#[derive(Clone, PartialEq, prost::Message)]
pub struct CounterData {
    #[prost(int64, tag = "1")]
    pub byte_count: i64,
    #[prost(int64, tag = "2")]
    pub packet_count: i64,
}
/// Counts by colour.
#[derive(Clone, PartialEq, prost::Message)]
pub struct MeterCounterData {
    #[prost(message, optional, tag = "1")]
    pub green: Option<CounterData>,
    #[prost(message, optional, tag = "2")]
    pub yellow: Option<CounterData>,
    #[prost(message, optional, tag = "3")]
    pub red: Option<CounterData>,
}
/// A group of copies.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PacketReplicationEngineEntry {
    #[prost(oneof = "packet_replication_engine_entry::Type", tags = "1, 2")]
    pub r#type: Option<packet_replication_engine_entry::Type>,
}
/// Parts of [`PacketReplicationEngineEntry`].
pub mod packet_replication_engine_entry {
    /// One of these.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Type {
        #[prost(message, tag = "1")]
        MulticastGroupEntry(super::MulticastGroupEntry),
        #[prost(message, tag = "2")]
        CloneSessionEntry(super::CloneSessionEntry),
    }
}
/// A copy.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Replica {
    #[prost(oneof = "replica::PortKind", tags = "1, 3")]
    pub port_kind: Option<replica::PortKind>,
    #[prost(uint32, tag = "2")]
    pub instance: u32,
}
/// Parts of [`Replica`].
pub mod replica {
    /// One of these.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum PortKind {
        #[prost(uint32, tag = "1")]
        EgressPort(u32),
        #[prost(bytes = "vec", tag = "3")]
        Port(Vec<u8>),
    }
}
/// A multicast group.
#[derive(Clone, PartialEq, prost::Message)]
pub struct MulticastGroupEntry {
    #[prost(uint32, tag = "1")]
    pub multicast_group_id: u32,
    #[prost(message, repeated, tag = "2")]
    pub replicas: Vec<Replica>,
    #[prost(bytes = "vec", tag = "3")]
    pub metadata: Vec<u8>,
}
/// A clone session.
#[derive(Clone, PartialEq, prost::Message)]
pub struct CloneSessionEntry {
    #[prost(uint32, tag = "1")]
    pub session_id: u32,
    #[prost(message, repeated, tag = "2")]
    pub replicas: Vec<Replica>,
    #[prost(uint32, tag = "3")]
    pub class_of_service: u32,
    #[prost(int32, tag = "4")]
    pub packet_length_bytes: i32,
}
/// A member of a value set.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ValueSetMember {
    #[prost(message, repeated, tag = "1")]
    pub r#match: Vec<FieldMatch>,
}
/// A value set with all its members.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ValueSetEntry {
    #[prost(uint32, tag = "1")]
    pub value_set_id: u32,
    #[prost(message, repeated, tag = "2")]
    pub members: Vec<ValueSetMember>,
}
/// A cell of a register.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RegisterEntry {
    #[prost(uint32, tag = "1")]
    pub register_id: u32,
    #[prost(message, optional, tag = "2")]
    pub index: Option<Index>,
    #[prost(message, optional, tag = "3")]
    pub data: Option<P4Data>,
}
/// Whether and how a digest is sent.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DigestEntry {
    #[prost(uint32, tag = "1")]
    pub digest_id: u32,
    #[prost(message, optional, tag = "2")]
    pub config: Option<digest_entry::Config>,
}
/// Parts of [`DigestEntry`].
pub mod digest_entry {
    /// How it is sent.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Config {
        #[prost(int64, tag = "1")]
        pub max_timeout_ns: i64,
        #[prost(int32, tag = "2")]
        pub max_list_size: i32,
        #[prost(int64, tag = "3")]
        pub ack_timeout_ns: i64,
    }
}
/// From a controller.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StreamMessageRequest {
    #[prost(oneof = "stream_message_request::Update", tags = "1, 2, 3, 4")]
    pub update: Option<stream_message_request::Update>,
}
/// Parts of [`StreamMessageRequest`].
pub mod stream_message_request {
    /// One of these.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Update {
        #[prost(message, tag = "1")]
        Arbitration(super::MasterArbitrationUpdate),
        #[prost(message, tag = "2")]
        Packet(super::PacketOut),
        #[prost(message, tag = "3")]
        DigestAck(super::DigestListAck),
        #[prost(message, tag = "4")]
        Other(super::super::Any),
    }
}
/// A packet to be sent.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PacketOut {
    #[prost(bytes = "vec", tag = "1")]
    pub payload: Vec<u8>,
    #[prost(message, repeated, tag = "2")]
    pub metadata: Vec<PacketMetadata>,
}
/// A list of digests has come.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DigestListAck {
    #[prost(uint32, tag = "1")]
    pub digest_id: u32,
    #[prost(uint64, tag = "2")]
    pub list_id: u64,
}
/// To a controller.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StreamMessageResponse {
    #[prost(oneof = "stream_message_response::Update", tags = "1, 2, 3, 4, 5, 6")]
    pub update: Option<stream_message_response::Update>,
}
/// Parts of [`StreamMessageResponse`].
pub mod stream_message_response {
    /// One of these.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Update {
        #[prost(message, tag = "1")]
        Arbitration(super::MasterArbitrationUpdate),
        #[prost(message, tag = "2")]
        Packet(super::PacketIn),
        #[prost(message, tag = "3")]
        Digest(super::DigestList),
        #[prost(message, tag = "4")]
        IdleTimeoutNotification(super::IdleTimeoutNotification),
        #[prost(message, tag = "5")]
        Other(super::super::Any),
        #[prost(message, tag = "6")]
        Error(super::StreamError),
    }
}
/// A packet for the controller.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PacketIn {
    #[prost(bytes = "vec", tag = "1")]
    pub payload: Vec<u8>,
    #[prost(message, repeated, tag = "2")]
    pub metadata: Vec<PacketMetadata>,
}
/// Messages of a digest.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DigestList {
    #[prost(uint32, tag = "1")]
    pub digest_id: u32,
    #[prost(uint64, tag = "2")]
    pub list_id: u64,
    #[prost(message, repeated, tag = "3")]
    pub data: Vec<P4Data>,
    #[prost(int64, tag = "4")]
    pub timestamp: i64,
}
/// A field of the controller header.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PacketMetadata {
    #[prost(uint32, tag = "1")]
    pub metadata_id: u32,
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}
/// Who wants to be, or who is, the primary.
#[derive(Clone, PartialEq, prost::Message)]
pub struct MasterArbitrationUpdate {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    #[prost(message, optional, tag = "2")]
    pub role: Option<Role>,
    #[prost(message, optional, tag = "3")]
    pub election_id: Option<Uint128>,
    #[prost(message, optional, tag = "4")]
    pub status: Option<super::Status>,
}
/// A role.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Role {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(string, tag = "3")]
    pub name: String,
    #[prost(message, optional, tag = "2")]
    pub config: Option<super::Any>,
}
/// Entries that no packet has hit for their time.
#[derive(Clone, PartialEq, prost::Message)]
pub struct IdleTimeoutNotification {
    #[prost(message, repeated, tag = "1")]
    pub table_entry: Vec<TableEntry>,
    #[prost(int64, tag = "2")]
    pub timestamp: i64,
}
/// Why a message on the stream was refused.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StreamError {
    #[prost(int32, tag = "1")]
    pub canonical_code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(string, tag = "3")]
    pub space: String,
    #[prost(int32, tag = "4")]
    pub code: i32,
    #[prost(oneof = "stream_error::Details", tags = "5, 6, 7")]
    pub details: Option<stream_error::Details>,
}
/// Parts of [`StreamError`].
pub mod stream_error {
    /// One of these.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Details {
        #[prost(message, tag = "5")]
        PacketOut(super::PacketOutError),
        #[prost(message, tag = "6")]
        DigestListAck(super::DigestListAckError),
        #[prost(message, tag = "7")]
        Other(super::StreamOtherError),
    }
}
/// The packet that was refused.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PacketOutError {
    #[prost(message, optional, tag = "1")]
    pub packet_out: Option<PacketOut>,
}
/// The acknowledgement that was refused.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DigestListAckError {
    #[prost(message, optional, tag = "1")]
    pub digest_list_ack: Option<DigestListAck>,
}
/// The other message that was refused.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StreamOtherError {
    #[prost(message, optional, tag = "1")]
    pub other: Option<super::Any>,
}
/// An election id.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Uint128 {
    #[prost(uint64, tag = "1")]
    pub high: u64,
    #[prost(uint64, tag = "2")]
    pub low: u64,
}
/// A program for the device.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SetForwardingPipelineConfigRequest {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    #[prost(uint64, tag = "2")]
    pub role_id: u64,
    #[prost(string, tag = "6")]
    pub role: String,
    #[prost(message, optional, tag = "3")]
    pub election_id: Option<Uint128>,
    #[prost(
        enumeration = "set_forwarding_pipeline_config_request::Action",
        tag = "4"
    )]
    pub action: i32,
    #[prost(message, optional, tag = "5")]
    pub config: Option<ForwardingPipelineConfig>,
}
/// Parts of [`SetForwardingPipelineConfigRequest`].
pub mod set_forwarding_pipeline_config_request {
    /// An action.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
    #[repr(i32)]
    pub enum Action {
        Unspecified = 0,
        Verify = 1,
        VerifyAndSave = 2,
        VerifyAndCommit = 3,
        Commit = 4,
        ReconcileAndCommit = 5,
    }
}
/// It is there.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SetForwardingPipelineConfigResponse {}
/// A program.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ForwardingPipelineConfig {
    #[prost(message, optional, tag = "1")]
    pub p4info: Option<super::config::P4Info>,
    #[prost(bytes = "vec", tag = "2")]
    pub p4_device_config: Vec<u8>,
    #[prost(message, optional, tag = "3")]
    pub cookie: Option<forwarding_pipeline_config::Cookie>,
}
/// Parts of [`ForwardingPipelineConfig`].
pub mod forwarding_pipeline_config {
    /// Whatever the controller wants to know the program by.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Cookie {
        #[prost(uint64, tag = "1")]
        pub cookie: u64,
    }
}
/// Which program is there?
#[derive(Clone, PartialEq, prost::Message)]
pub struct GetForwardingPipelineConfigRequest {
    #[prost(uint64, tag = "1")]
    pub device_id: u64,
    #[prost(
        enumeration = "get_forwarding_pipeline_config_request::ResponseType",
        tag = "2"
    )]
    pub response_type: i32,
}
/// Parts of [`GetForwardingPipelineConfigRequest`].
pub mod get_forwarding_pipeline_config_request {
    /// Which one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
    #[repr(i32)]
    pub enum ResponseType {
        All = 0,
        CookieOnly = 1,
        P4infoAndCookie = 2,
        DeviceConfigAndCookie = 3,
    }
}
/// This one.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GetForwardingPipelineConfigResponse {
    #[prost(message, optional, tag = "1")]
    pub config: Option<ForwardingPipelineConfig>,
}
/// Why one update was refused; in the details of a status.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Error {
    #[prost(int32, tag = "1")]
    pub canonical_code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(string, tag = "3")]
    pub space: String,
    #[prost(int32, tag = "4")]
    pub code: i32,
    #[prost(message, optional, tag = "5")]
    pub details: Option<super::Any>,
}
/// What can the device do?
#[derive(Clone, PartialEq, prost::Message)]
pub struct CapabilitiesRequest {}
/// This.
#[derive(Clone, PartialEq, prost::Message)]
pub struct CapabilitiesResponse {
    #[prost(string, tag = "1")]
    pub p4runtime_api_version: String,
}
