//! Blocks in Verilog against the project's crates.

mod behind;
mod line_rate;
mod p4;
mod pcs10g;
mod timing_nic;

/// A module, or a word on why its test is skipped.
fn module(layout: cosim::module::Layout) -> Option<cosim::Module> {
    let made = cosim::Module::new(layout);
    made.inspect_err(|missing| println!("skipped: {missing}"))
        .ok()
}
