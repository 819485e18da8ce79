//! Blocks in Verilog against the project's crates.

mod pcs10g;

/// A module, or a word on why its test is skipped.
fn module(layout: cosim::module::Layout) -> Option<cosim::Module> {
    let made = cosim::Module::new(layout);
    made.inspect_err(|missing| println!("skipped: {missing}"))
        .ok()
}
