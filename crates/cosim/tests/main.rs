//! Blocks in Verilog against the project's crates.

mod behind;
mod bench;
mod cocotb;
mod dtp;
mod dtp_line;
mod line_rate;
mod mac10g;
mod p4;
mod p4_externs;
mod p4_host;
mod p4_lengths;
mod p4_performance;
mod p4_random;
mod p4_replay;
mod p4_switch;
mod pcs10g;
mod peer;
mod timing_nic;
mod timing_nic10g;
mod versa;

/// Random programs and packets.
#[path = "../../jit/tests/random/mod.rs"]
mod random;

/// Programs in software, the expectation of checks.
#[path = "../../rtl/src/check/software.rs"]
mod software;

/// A module, or a word on why its test is skipped.
fn module(layout: cosim::module::Layout) -> Option<cosim::Module> {
    let made = cosim::Module::new(layout);
    made.inspect_err(|missing| println!("skipped: {missing}"))
        .ok()
}
