//! What the names of the language's libraries and architectures mean.
//!
//! Whoever runs a program, or makes hardware of it, matches on these: a kind that is added here is one that it does not compile without. Names that
//! nobody here knows stay what they are, in the last variant of each; `From` never puts a known name there.

use super::ObjectId;
use alloc::sync::Arc;
use core::fmt;

/// Names of variants: both ways, and shown. The last variant keeps all other names.
macro_rules! named {
    ($kind:ident, $open:ident: $($text:literal $variant:ident $(($library:ident))?,)*) => {
        impl $kind {
            /// As the program writes it.
            #[must_use]
            pub fn name(&self) -> &str {
                match self {
                    $($kind::$variant $((Library::$library))? => $text,)*
                    $kind::$open(name) => name,
                }
            }
        }

        impl From<Arc<str>> for $kind {
            fn from(name: Arc<str>) -> Self {
                match &*name {
                    $($text => $kind::$variant $((Library::$library))?,)*
                    _ => $kind::$open(name),
                }
            }
        }

        impl From<&str> for $kind {
            fn from(name: &str) -> Self {
                Arc::<str>::from(name).into()
            }
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

/// The package that `main` instantiates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// `V1Switch` of v1model.p4.
    V1Switch,
    /// `PSA_Switch` of psa.p4.
    PsaSwitch,
    /// `PNA_NIC` of pna.p4.
    PnaNic,
    /// `Switch` of switch.p4, or another's package of this name: [`runs`](crate::library::runs) tells.
    Switch,
    /// `Bump` of bump.p4, or another's package of this name.
    Bump,
    /// A package of somebody else.
    Other(Arc<str>),
}

named! { Architecture, Other:
    "V1Switch" V1Switch,
    "PSA_Switch" PsaSwitch,
    "PNA_NIC" PnaNic,
    "Switch" Switch,
    "Bump" Bump,
}

/// None yet.
impl Default for Architecture {
    fn default() -> Self {
        Architecture::Other(Arc::default())
    }
}

/// What a section is for in its architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// v1model, `Switch` and `Bump`: the parser.
    Parser,
    /// v1model: the control that verifies checksums.
    VerifyChecksum,
    /// v1model, `Switch` and PSA: ingress.
    Ingress,
    /// v1model, `Switch` and PSA: egress.
    Egress,
    /// v1model: the control that computes checksums.
    ComputeChecksum,
    /// v1model, `Switch` and `Bump`: the deparser.
    Deparser,
    /// `Bump`: all between its parser and its deparser.
    Pipe,
    /// PSA: the parser before ingress.
    IngressParser,
    /// PSA: the deparser behind ingress.
    IngressDeparser,
    /// PSA: the parser before egress.
    EgressParser,
    /// PSA: the deparser behind egress.
    EgressDeparser,
    /// PNA: the parser.
    MainParser,
    /// PNA: the control that says whether a packet is to be decrypted.
    PreControl,
    /// PNA: the control.
    MainControl,
    /// PNA: the deparser.
    MainDeparser,
    /// The package's parameter that it was given for, of an architecture that nobody here knows.
    Other(Arc<str>),
}

impl Role {
    /// By the package's parameter that the section was given for; with nested packages a path: `ingress.ip`.
    #[must_use]
    pub fn of(architecture: &Architecture, parameter: &str) -> Self {
        let mut known = Self::all(architecture).iter();
        let found = known.find(|(name, _)| *name == parameter);
        found.map_or_else(|| Role::Other(parameter.into()), |(_, role)| role.clone())
    }

    /// The package's parameter.
    #[must_use]
    pub fn parameter<'a>(&'a self, architecture: &Architecture) -> &'a str {
        if let Role::Other(name) = self {
            return name;
        }
        let mut known = Self::all(architecture).iter();
        let found = known.find(|(_, role)| role == self);
        found.map_or("", |(name, _)| name)
    }

    /// Those of an architecture, in the order of its package's parameters.
    fn all(architecture: &Architecture) -> &'static [(&'static str, Role)] {
        match architecture {
            Architecture::V1Switch => &[
                ("p", Role::Parser),
                ("vr", Role::VerifyChecksum),
                ("ig", Role::Ingress),
                ("eg", Role::Egress),
                ("ck", Role::ComputeChecksum),
                ("dep", Role::Deparser),
            ],
            Architecture::PsaSwitch => &[
                ("ingress.ip", Role::IngressParser),
                ("ingress.ig", Role::Ingress),
                ("ingress.id", Role::IngressDeparser),
                ("egress.ep", Role::EgressParser),
                ("egress.eg", Role::Egress),
                ("egress.ed", Role::EgressDeparser),
            ],
            Architecture::PnaNic => &[
                ("main_parser", Role::MainParser),
                ("pre_control", Role::PreControl),
                ("main_control", Role::MainControl),
                ("main_deparser", Role::MainDeparser),
            ],
            Architecture::Switch => &[
                ("p", Role::Parser),
                ("ig", Role::Ingress),
                ("eg", Role::Egress),
                ("dep", Role::Deparser),
            ],
            Architecture::Bump => &[
                ("p", Role::Parser),
                ("pipe", Role::Pipe),
                ("dep", Role::Deparser),
            ],
            Architecture::Other(_) => &[],
        }
    }
}

/// Whose externs they are: what two libraries have, each has by its own name and with its own parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// v1model.p4 and externs.p4: `direct_counter`.
    V1Model,
    /// psa.p4 and pna.p4: `DirectCounter`.
    Psa,
}

/// What an extern's instance is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extern {
    /// An array of counters.
    Counter(Library),
    /// A counter for each entry of a table.
    DirectCounter(Library),
    /// An array of meters.
    Meter(Library),
    /// A meter for each entry of a table.
    DirectMeter(Library),
    /// An array of registers.
    Register(Library),
    /// Members, which entries of tables name.
    ActionProfile(Library),
    /// Members in groups, of which the packet's hash chooses one.
    ActionSelector(Library),
    /// PSA's messages to the controller.
    Digest,
    /// PSA's hash.
    Hash,
    /// PSA's checksum by any algorithm.
    Checksum,
    /// PSA's ones' complement sum.
    InternetChecksum,
    /// v1model's ones' complement sum.
    Checksum16,
    /// PSA's random numbers.
    Random,
    /// PSA's part of the switch that makes copies.
    PacketReplicationEngine,
    /// PSA's part of the switch that has the queues.
    BufferingQueueingEngine,
    /// The user's own, by the name that a program in Rust registers it by.
    Own(Arc<str>),
}

named! { Extern, Own:
    "counter" Counter(V1Model),
    "Counter" Counter(Psa),
    "direct_counter" DirectCounter(V1Model),
    "DirectCounter" DirectCounter(Psa),
    "meter" Meter(V1Model),
    "Meter" Meter(Psa),
    "direct_meter" DirectMeter(V1Model),
    "DirectMeter" DirectMeter(Psa),
    "register" Register(V1Model),
    "Register" Register(Psa),
    "action_profile" ActionProfile(V1Model),
    "ActionProfile" ActionProfile(Psa),
    "action_selector" ActionSelector(V1Model),
    "ActionSelector" ActionSelector(Psa),
    "Digest" Digest,
    "Hash" Hash,
    "Checksum" Checksum,
    "InternetChecksum" InternetChecksum,
    "Checksum16" Checksum16,
    "Random" Random,
    "PacketReplicationEngine" PacketReplicationEngine,
    "BufferingQueueingEngine" BufferingQueueingEngine,
}

/// What a call calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Callee {
    /// An extern function.
    Function(Function),
    /// A method of an extern's instance.
    Method(ObjectId, Method),
}

impl Callee {
    /// The function's or method's name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Callee::Function(function) => function.name(),
            Callee::Method(_, method) => method.name(),
        }
    }
}

/// An extern function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Function {
    /// `random(result, low, high)`
    Random,
    /// `digest(receiver, data)`
    Digest,
    /// `mark_to_drop()`, `mark_to_drop(standard_metadata)`
    MarkToDrop,
    /// `hash(result, algorithm, base, data, max)`
    Hash,
    /// `verify_checksum(condition, data, checksum, algorithm)`
    VerifyChecksum,
    /// `verify_checksum_with_payload(condition, data, checksum, algorithm)`
    VerifyChecksumWithPayload,
    /// `update_checksum(condition, data, checksum, algorithm)`
    UpdateChecksum,
    /// `update_checksum_with_payload(condition, data, checksum, algorithm)`
    UpdateChecksumWithPayload,
    /// `checksum(data)` of externs.p4
    Checksum,
    /// `checksum_with_payload(data)` of externs.p4
    ChecksumWithPayload,
    /// `clone(type, session)`
    Clone,
    /// `clone3(type, session, data)`
    Clone3,
    /// `clone_preserving_field_list(type, session, index)`
    ClonePreservingFieldList,
    /// `resubmit()`, `resubmit(data)`
    Resubmit,
    /// `resubmit_preserving_field_list(index)`
    ResubmitPreservingFieldList,
    /// `recirculate()`, `recirculate(data)`
    Recirculate,
    /// `recirculate_preserving_field_list(index)`
    RecirculatePreservingFieldList,
    /// `truncate(length)`
    Truncate,
    /// `assert(check)`
    Assert,
    /// `assume(check)`
    Assume,
    /// `log_msg(text)`, `log_msg(text, data)`
    LogMsg,
    /// `psa_clone_i2e(metadata)`
    PsaCloneI2e,
    /// `psa_resubmit(metadata)`
    PsaResubmit,
    /// `psa_normal(metadata)`
    PsaNormal,
    /// `psa_clone_e2e(metadata)`
    PsaCloneE2e,
    /// `psa_recirculate(metadata, port)`
    PsaRecirculate,
    /// PNA: `add_entry(action_name, action_params, expire_time_profile_id)`
    AddEntry,
    /// PNA: `allocate_flow_id()`
    AllocateFlowId,
    /// PNA: `set_entry_expire_time(expire_time_profile_id)`
    SetEntryExpireTime,
    /// PNA: `restart_expire_timer()`
    RestartExpireTimer,
    /// The user's own, by the name that a program in Rust registers it by.
    Own(Arc<str>),
}

named! { Function, Own:
    "random" Random,
    "digest" Digest,
    "mark_to_drop" MarkToDrop,
    "hash" Hash,
    "verify_checksum" VerifyChecksum,
    "verify_checksum_with_payload" VerifyChecksumWithPayload,
    "update_checksum" UpdateChecksum,
    "update_checksum_with_payload" UpdateChecksumWithPayload,
    "checksum" Checksum,
    "checksum_with_payload" ChecksumWithPayload,
    "clone" Clone,
    "clone3" Clone3,
    "clone_preserving_field_list" ClonePreservingFieldList,
    "resubmit" Resubmit,
    "resubmit_preserving_field_list" ResubmitPreservingFieldList,
    "recirculate" Recirculate,
    "recirculate_preserving_field_list" RecirculatePreservingFieldList,
    "truncate" Truncate,
    "assert" Assert,
    "assume" Assume,
    "log_msg" LogMsg,
    "psa_clone_i2e" PsaCloneI2e,
    "psa_resubmit" PsaResubmit,
    "psa_normal" PsaNormal,
    "psa_clone_e2e" PsaCloneE2e,
    "psa_recirculate" PsaRecirculate,
    "add_entry" AddEntry,
    "allocate_flow_id" AllocateFlowId,
    "set_entry_expire_time" SetEntryExpireTime,
    "restart_expire_timer" RestartExpireTimer,
}

/// A method of an extern. Which ones an instance has, its [`Extern`] says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Method {
    /// `count(index)`, of direct counters `count()`
    Count,
    /// PSA: `execute(index)`, `execute(index, colour)`, of direct meters without the index
    Execute,
    /// v1model: `execute_meter(index, result)`
    ExecuteMeter,
    /// PNA on DPDK: as `execute`, with the packet's length behind the other arguments
    DpdkExecute,
    /// Of registers, v1model's direct meters and random numbers.
    Read,
    /// Of registers.
    Write,
    /// Of digests.
    Pack,
    GetHash,
    /// Of checksums.
    Clear,
    /// Of checksums.
    Update,
    /// Of checksums.
    Get,
    /// Of ones' complement sums.
    Add,
    /// Of ones' complement sums.
    Subtract,
    /// Of ones' complement sums.
    GetState,
    /// Of ones' complement sums.
    SetState,
    /// Of the user's own externs.
    Own(Arc<str>),
}

named! { Method, Own:
    "count" Count,
    "execute" Execute,
    "execute_meter" ExecuteMeter,
    "dpdk_execute" DpdkExecute,
    "read" Read,
    "write" Write,
    "pack" Pack,
    "get_hash" GetHash,
    "clear" Clear,
    "update" Update,
    "get" Get,
    "add" Add,
    "subtract" Subtract,
    "get_state" GetState,
    "set_state" SetState,
}

/// How a key is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchKind {
    /// All bits.
    Exact,
    /// The leading bits; the longest prefix wins.
    Lpm,
    /// The bits of a mask.
    Ternary,
    /// From and to, both included.
    Range,
    /// All bits or none.
    Optional,
    /// Not compared: it chooses among the members of a group.
    Selector,
    /// One that the program, or an architecture that nobody here knows, declares.
    Other(Arc<str>),
}

named! { MatchKind, Other:
    "exact" Exact,
    "lpm" Lpm,
    "ternary" Ternary,
    "range" Range,
    "optional" Optional,
    "selector" Selector,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_what_they_mean_and_shown_as_they_were() {
        assert_eq!(Extern::from("counter"), Extern::Counter(Library::V1Model));
        assert_eq!(Extern::from("Counter"), Extern::Counter(Library::Psa));
        assert_eq!(Extern::from("counters"), Extern::Own("counters".into()));
        for name in [
            "DirectMeter",
            "direct_meter",
            "BufferingQueueingEngine",
            "mine",
            "",
        ] {
            assert_eq!(Extern::from(name).name(), name);
        }
        for name in ["clone3", "clone", "psa_normal", "popcount"] {
            assert_eq!(Function::from(name).name(), name);
        }
    }

    #[test]
    fn a_section_s_role_is_what_its_architecture_says() {
        let psa = Architecture::from("PSA_Switch");
        let role = Role::of(&psa, "ingress.ig");
        assert_eq!(role, Role::Ingress);
        assert_eq!(role.parameter(&psa), "ingress.ig");
        assert_eq!(role.parameter(&Architecture::V1Switch), "ig");
        let other = Architecture::from("Filter");
        assert_eq!(Role::of(&other, "ig"), Role::Other("ig".into()));
        assert_eq!(Role::of(&other, "ig").parameter(&other), "ig");
        // What this architecture has no parameter for.
        assert_eq!(Role::of(&psa, "p"), Role::Other("p".into()));
    }
}
