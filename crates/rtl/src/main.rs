//! The command `wire`, with the world `cosim` and the engine `rtl` in it.
#![forbid(unsafe_code)]

mod card;
mod nic;
mod port;
mod rings;

fn main() -> std::process::ExitCode {
    live::port::hardware::provide(port::open);
    let registry = lab::Registry::standard();
    lab::engine::bring_hardware(|environment| Ok(Box::new(cosim::p4::Rtl::new(environment))));
    let code = cli::main(registry.with_hardware(|node, site| {
        let behind = cosim::Behind::new(node, site.oscillator, site.waves)?;
        Ok(Box::new(behind))
    }));
    card::report();
    code
}
