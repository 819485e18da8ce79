//! The errors that the specification names (1.0.2 section 5.4.4, 1.3.5 section 7.5.4).

use crate::version::Version;
use core::fmt;

macro_rules! faults {
    ($($name:ident $ten:tt $thirteen:tt $text:literal,)*) => {
        /// What is wrong with a request, by the names of OpenFlow 1.3; 1.0 has fewer, and other numbers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Fault {
            $(#[doc = $text] $name,)*
        }

        impl Fault {
            /// All of them.
            pub const ALL: &[Fault] = &[$(Fault::$name,)*];

            const fn row(self) -> (Option<(u16, u16)>, Option<(u16, u16)>, &'static str) {
                match self {
                    $(Fault::$name => (number!($ten), number!($thirteen), $text),)*
                }
            }
        }
    };
}

macro_rules! number {
    (-) => {
        None
    };
    (($kind:literal $code:literal)) => {
        Some(($kind, $code))
    };
}

faults! {
    HelloIncompatible (0 0) (0 0) "HELLO_FAILED/INCOMPATIBLE: no version in common",
    HelloEperm (0 1) (0 1) "HELLO_FAILED/EPERM",
    BadVersion (1 0) (1 0) "BAD_REQUEST/BAD_VERSION: the header's version is not the negotiated one",
    BadType (1 1) (1 1) "BAD_REQUEST/BAD_TYPE: a message of unknown type",
    BadMultipart (1 2) (1 2) "BAD_REQUEST/BAD_MULTIPART (1.0: BAD_STAT): a multipart request of unknown type",
    BadExperimenter (1 3) (1 3) "BAD_REQUEST/BAD_EXPERIMENTER (1.0: BAD_VENDOR): an unknown experimenter",
    BadExperimenterType (1 4) (1 4) "BAD_REQUEST/BAD_EXP_TYPE (1.0: BAD_SUBTYPE): an experimenter's unknown message",
    Eperm (1 5) (1 5) "BAD_REQUEST/EPERM: not permitted",
    BadLen (1 6) (1 6) "BAD_REQUEST/BAD_LEN: a length that does not fit",
    BufferEmpty (1 7) (1 7) "BAD_REQUEST/BUFFER_EMPTY: the buffer was used already",
    BufferUnknown (1 8) (1 8) "BAD_REQUEST/BUFFER_UNKNOWN: no such buffer",
    BadTableId - (1 9) "BAD_REQUEST/BAD_TABLE_ID: no such table",
    IsSlave - (1 10) "BAD_REQUEST/IS_SLAVE: refused to a slave",
    BadPort - (1 11) "BAD_REQUEST/BAD_PORT: no such port",
    BadPacket - (1 12) "BAD_REQUEST/BAD_PACKET: the packet of a packet-out cannot be read",
    MultipartBufferOverflow - (1 13) "BAD_REQUEST/MULTIPART_BUFFER_OVERFLOW: too long a multipart request",
    BadActionType (2 0) (2 0) "BAD_ACTION/BAD_TYPE: an unknown action",
    BadActionLen (2 1) (2 1) "BAD_ACTION/BAD_LEN: an action's length does not fit",
    BadActionExperimenter (2 2) (2 2) "BAD_ACTION/BAD_EXPERIMENTER (1.0: BAD_VENDOR): an action of an unknown experimenter",
    BadActionExperimenterType (2 3) (2 3) "BAD_ACTION/BAD_EXP_TYPE (1.0: BAD_VENDOR_TYPE): an experimenter's unknown action",
    BadOutPort (2 4) (2 4) "BAD_ACTION/BAD_OUT_PORT: output to a port that cannot be",
    BadArgument (2 5) (2 5) "BAD_ACTION/BAD_ARGUMENT: an action's argument cannot be",
    BadActionEperm (2 6) (2 6) "BAD_ACTION/EPERM: not permitted",
    TooManyActions (2 7) (2 7) "BAD_ACTION/TOO_MANY: more actions than there is room for",
    BadQueue (2 8) (2 8) "BAD_ACTION/BAD_QUEUE: no such queue",
    BadOutGroup - (2 9) "BAD_ACTION/BAD_OUT_GROUP: no such group",
    MatchInconsistent - (2 10) "BAD_ACTION/MATCH_INCONSISTENT: the action cannot apply to what the match lets through",
    UnsupportedOrder - (2 11) "BAD_ACTION/UNSUPPORTED_ORDER: actions in an order that is not supported",
    BadActionTag - (2 12) "BAD_ACTION/BAD_TAG: a tag or encapsulation that is not supported",
    BadSetType - (2 13) "BAD_ACTION/BAD_SET_TYPE: set-field of an unknown field or one that cannot be set",
    BadSetLen - (2 14) "BAD_ACTION/BAD_SET_LEN: set-field with a length that does not fit",
    BadSetArgument - (2 15) "BAD_ACTION/BAD_SET_ARGUMENT: set-field with a value that cannot be",
    UnknownInstruction - (3 0) "BAD_INSTRUCTION/UNKNOWN_INST: an unknown instruction",
    UnsupportedInstruction - (3 1) "BAD_INSTRUCTION/UNSUP_INST: an instruction that the table does not support",
    BadInstructionTableId - (3 2) "BAD_INSTRUCTION/BAD_TABLE_ID: goto-table to a table that cannot be",
    UnsupportedMetadata - (3 3) "BAD_INSTRUCTION/UNSUP_METADATA: metadata bits that the table does not support",
    UnsupportedMetadataMask - (3 4) "BAD_INSTRUCTION/UNSUP_METADATA_MASK: a metadata mask that the table does not support",
    BadInstructionExperimenter - (3 5) "BAD_INSTRUCTION/BAD_EXPERIMENTER: an instruction of an unknown experimenter",
    BadInstructionExperimenterType - (3 6) "BAD_INSTRUCTION/BAD_EXP_TYPE: an experimenter's unknown instruction",
    BadInstructionLen - (3 7) "BAD_INSTRUCTION/BAD_LEN: an instruction's length does not fit",
    BadInstructionEperm - (3 8) "BAD_INSTRUCTION/EPERM: not permitted",
    DuplicateInstruction - (3 9) "BAD_INSTRUCTION/DUP_INST: an instruction twice (of 1.4; switches of 1.3 give it too)",
    BadMatchType - (4 0) "BAD_MATCH/BAD_TYPE: a match of another type than OXM",
    BadMatchLen - (4 1) "BAD_MATCH/BAD_LEN: a length in the match does not fit",
    BadMatchTag - (4 2) "BAD_MATCH/BAD_TAG: a tag or encapsulation that is not supported",
    BadDlAddrMask - (4 3) "BAD_MATCH/BAD_DL_ADDR_MASK: a mask of Ethernet addresses that is not supported",
    BadNwAddrMask - (4 4) "BAD_MATCH/BAD_NW_ADDR_MASK: a mask of IP addresses that is not supported",
    BadWildcards - (4 5) "BAD_MATCH/BAD_WILDCARDS: fields masked or left out in a way that is not supported",
    BadField - (4 6) "BAD_MATCH/BAD_FIELD: an unknown field",
    BadValue - (4 7) "BAD_MATCH/BAD_VALUE: a value that cannot be",
    BadMask - (4 8) "BAD_MATCH/BAD_MASK: a mask on a field that takes none",
    BadPrereq - (4 9) "BAD_MATCH/BAD_PREREQ: a field without the one that it depends on before it",
    DuplicateField - (4 10) "BAD_MATCH/DUP_FIELD: a field twice",
    BadMatchEperm - (4 11) "BAD_MATCH/EPERM: not permitted",
    FlowModUnknown - (5 0) "FLOW_MOD_FAILED/UNKNOWN",
    TableFull (3 0) (5 1) "FLOW_MOD_FAILED/TABLE_FULL (1.0: ALL_TABLES_FULL): no room",
    FlowModBadTableId - (5 2) "FLOW_MOD_FAILED/BAD_TABLE_ID: no such table",
    Overlap (3 1) (5 3) "FLOW_MOD_FAILED/OVERLAP: an entry of the same priority overlaps, and CHECK_OVERLAP is set",
    FlowModEperm (3 2) (5 4) "FLOW_MOD_FAILED/EPERM: not permitted",
    BadTimeout (3 3) (5 5) "FLOW_MOD_FAILED/BAD_TIMEOUT (1.0: BAD_EMERG_TIMEOUT): a timeout that is not supported",
    BadCommand (3 4) (5 6) "FLOW_MOD_FAILED/BAD_COMMAND: an unknown command",
    BadFlags - (5 7) "FLOW_MOD_FAILED/BAD_FLAGS: unknown flags",
    UnsupportedActions (3 5) - "FLOW_MOD_FAILED/UNSUPPORTED (1.0): a list of actions that cannot be done in this order",
    GroupExists - (6 0) "GROUP_MOD_FAILED/GROUP_EXISTS: a group of this number exists",
    InvalidGroup - (6 1) "GROUP_MOD_FAILED/INVALID_GROUP: a number that no group can have",
    WeightUnsupported - (6 2) "GROUP_MOD_FAILED/WEIGHT_UNSUPPORTED: no unequal weights",
    OutOfGroups - (6 3) "GROUP_MOD_FAILED/OUT_OF_GROUPS: no room for groups",
    OutOfBuckets - (6 4) "GROUP_MOD_FAILED/OUT_OF_BUCKETS: no room for buckets",
    ChainingUnsupported - (6 5) "GROUP_MOD_FAILED/CHAINING_UNSUPPORTED: no groups within groups",
    WatchUnsupported - (6 6) "GROUP_MOD_FAILED/WATCH_UNSUPPORTED: cannot watch this",
    GroupLoop - (6 7) "GROUP_MOD_FAILED/LOOP: the group would lead to itself",
    UnknownGroup - (6 8) "GROUP_MOD_FAILED/UNKNOWN_GROUP: no such group",
    ChainedGroup - (6 9) "GROUP_MOD_FAILED/CHAINED_GROUP: another group leads to it",
    BadGroupType - (6 10) "GROUP_MOD_FAILED/BAD_TYPE: an unknown type of group",
    BadGroupCommand - (6 11) "GROUP_MOD_FAILED/BAD_COMMAND: an unknown command",
    BadBucket - (6 12) "GROUP_MOD_FAILED/BAD_BUCKET: a bucket that cannot be",
    BadWatch - (6 13) "GROUP_MOD_FAILED/BAD_WATCH: a port or group to watch that cannot be",
    GroupEperm - (6 14) "GROUP_MOD_FAILED/EPERM: not permitted",
    PortModBadPort (4 0) (7 0) "PORT_MOD_FAILED/BAD_PORT: no such port",
    BadHwAddr (4 1) (7 1) "PORT_MOD_FAILED/BAD_HW_ADDR: not the hardware address of the port",
    PortModBadConfig - (7 2) "PORT_MOD_FAILED/BAD_CONFIG: configuration bits that cannot be",
    BadAdvertise - (7 3) "PORT_MOD_FAILED/BAD_ADVERTISE: features that cannot be",
    PortModEperm - (7 4) "PORT_MOD_FAILED/EPERM: not permitted",
    TableModBadTable - (8 0) "TABLE_MOD_FAILED/BAD_TABLE: no such table",
    TableModBadConfig - (8 1) "TABLE_MOD_FAILED/BAD_CONFIG: configuration bits that cannot be",
    TableModEperm - (8 2) "TABLE_MOD_FAILED/EPERM: not permitted",
    QueueBadPort (5 0) (9 0) "QUEUE_OP_FAILED/BAD_PORT: no such port",
    QueueBadQueue (5 1) (9 1) "QUEUE_OP_FAILED/BAD_QUEUE: no such queue",
    QueueEperm (5 2) (9 2) "QUEUE_OP_FAILED/EPERM: not permitted",
    ConfigBadFlags - (10 0) "SWITCH_CONFIG_FAILED/BAD_FLAGS: unknown flags",
    ConfigBadLen - (10 1) "SWITCH_CONFIG_FAILED/BAD_LEN: a miss length that cannot be",
    ConfigEperm - (10 2) "SWITCH_CONFIG_FAILED/EPERM: not permitted",
    RoleStale - (11 0) "ROLE_REQUEST_FAILED/STALE: an old generation id",
    RoleUnsupported - (11 1) "ROLE_REQUEST_FAILED/UNSUP: roles cannot be changed",
    BadRole - (11 2) "ROLE_REQUEST_FAILED/BAD_ROLE: an unknown role",
    MeterModUnknown - (12 0) "METER_MOD_FAILED/UNKNOWN",
    MeterExists - (12 1) "METER_MOD_FAILED/METER_EXISTS: a meter of this number exists",
    InvalidMeter - (12 2) "METER_MOD_FAILED/INVALID_METER: a number that no meter can have",
    UnknownMeter - (12 3) "METER_MOD_FAILED/UNKNOWN_METER: no such meter",
    BadMeterCommand - (12 4) "METER_MOD_FAILED/BAD_COMMAND: an unknown command",
    BadMeterFlags - (12 5) "METER_MOD_FAILED/BAD_FLAGS: flags that cannot be",
    BadRate - (12 6) "METER_MOD_FAILED/BAD_RATE: a rate that cannot be",
    BadBurst - (12 7) "METER_MOD_FAILED/BAD_BURST: a burst that cannot be",
    BadBand - (12 8) "METER_MOD_FAILED/BAD_BAND: a band that cannot be",
    BadBandType - (12 9) "METER_MOD_FAILED/BAD_BAND_TYPE: an unknown type of band",
    OutOfMeters - (12 10) "METER_MOD_FAILED/OUT_OF_METERS: no room for meters",
    OutOfBands - (12 11) "METER_MOD_FAILED/OUT_OF_BANDS: no room for bands",
    FeaturesBadTable - (13 0) "TABLE_FEATURES_FAILED/BAD_TABLE: no such table",
    FeaturesBadMetadata - (13 1) "TABLE_FEATURES_FAILED/BAD_METADATA: a metadata mask that cannot be",
    FeaturesBadType - (13 2) "TABLE_FEATURES_FAILED/BAD_TYPE: an unknown property",
    FeaturesBadLen - (13 3) "TABLE_FEATURES_FAILED/BAD_LEN: a property's length does not fit",
    FeaturesBadArgument - (13 4) "TABLE_FEATURES_FAILED/BAD_ARGUMENT: a property that cannot be",
    FeaturesEperm - (13 5) "TABLE_FEATURES_FAILED/EPERM: not permitted",
}

impl Fault {
    /// Type and code in an error message. What 1.0 cannot name becomes its nearest: a bad match, group, meter, table
    /// or role is a bad length or type of request.
    pub const fn wire(self, version: Version) -> (u16, u16) {
        let (ten, thirteen, _) = self.row();
        match (version, ten, thirteen) {
            (Version::V10, Some(pair), _) | (Version::V13, _, Some(pair)) => pair,
            // FLOW_MOD_FAILED/UNSUPPORTED of 1.0 is the order of actions that 1.3 counts among the bad actions.
            (Version::V13, _, None) => (2, 11),
            // BAD_ACTION/BAD_ARGUMENT, FLOW_MOD_FAILED/EPERM, PORT_MOD_FAILED/BAD_PORT
            (Version::V10, None, Some((2, _))) => (2, 5),
            (Version::V10, None, Some((3 | 5, _))) => (3, 5),
            (Version::V10, None, Some((7, _))) => (4, 0),
            (Version::V10, None, _) => (1, 6),
        }
    }

    /// The fault with this type and code.
    pub fn from_wire(version: Version, kind: u16, code: u16) -> Option<Fault> {
        Fault::ALL.iter().copied().find(|fault| {
            let (ten, thirteen, _) = fault.row();
            let pair = match version {
                Version::V10 => ten,
                Version::V13 => thirteen,
            };
            pair == Some((kind, code))
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().2)
    }
}
