//! The command `wire`, and the world `cosim` in it.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    let registry = lab::Registry::standard();
    cli::main(registry.with_hardware(|node, site| {
        let behind = cosim::Behind::new(node, site.oscillator, site.waves)?;
        Ok(Box::new(behind))
    }))
}
