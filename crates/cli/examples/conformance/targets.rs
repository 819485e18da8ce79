//! Programs that p4c refuses for one of its targets, and that are right here, each with the rule
//! and why it is the target's.

/// Folders of programs that p4c refuses for a target.
pub const FOLDERS: &[&str] = &[
    "p4_16_bmv_errors",
    "p4_16_psa_errors",
    "p4_16_pna_errors",
    "p4_16_dpdk_errors",
];

const LPM: &str = "BMv2 and DPDK allow one lpm key; here it is a warning";
const BYTES: &str = "BMv2 takes headers of whole bytes";
const WIDTH: &str = "DPDK computes with up to 64 bits, and with 128 only in part";
const NAMES: &str = "DPDK keeps this name for itself";
const PROFILE: &str =
    "PSA and PNA let a target refuse an implementation together with a direct counter or meter";
const METER: &str = "BMv2 needs a read for each direct meter, for the field that it writes";

/// Programs that are accepted, with the reason.
pub const ACCEPTED: &[(&str, &str)] = &[
    ("basic-bmv2.p4", LPM),
    ("basic1-bmv2.p4", LPM),
    ("header-not-multiple-of-bytes-bmv2.p4", BYTES),
    ("issue1167-bmv2.p4", METER),
    ("issue1829-1-bmv2.p4", METER),
    (
        "issue1672-bmv2.p4",
        "BMv2 wants the headers of v1model in a struct",
    ),
    (
        "no-externs-bmv2.p4",
        "BMv2 knows no extern function of a program; here an engine can be given it in Rust",
    ),
    ("pna-dpdk-direct-counter-err.p4", PROFILE),
    ("pna-dpdk-direct-meter-err.p4", PROFILE),
    ("psa-example-dpdk-directmeter-1.p4", PROFILE),
    (
        "pna-example-mirror-packet-error1.p4",
        "DPDK keeps mirror session 0 for itself; pna.p4 names it PNA_MIRROR_SESSION_TO_CPU",
    ),
    ("pna-example-ipsec-err1.p4", NAMES),
    ("pna-example-ipsec-err2.p4", NAMES),
    (
        "pna-example-ipsec-err4.p4",
        "DPDK's accelerator takes numbers; the extern is generic",
    ),
    ("psa-dpdk-128bitCast_error.p4", WIDTH),
    ("psa-dpdk-struct-field.p4", WIDTH),
    ("psa-example-register2-bmv2.p4", WIDTH),
    ("psa-dpdk-lpm-match-err1.p4", LPM),
    (
        "psa-dpdk-lpm-match-err2.p4",
        "DPDK allows only exact keys next to an lpm key",
    ),
];
