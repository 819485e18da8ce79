//! The command `wire`, with the world `cosim`, the engine `rtl`, and checks of the blocks in Verilog in it.
#![forbid(unsafe_code)]

mod card;
mod check;
mod nic;
mod port;
mod rings;

use lab::engine::Engines;

fn main() -> std::process::ExitCode {
    if check::is_wanted() {
        return check::main();
    }
    live::port::hardware::provide(port::open);
    let engines =
        Engines::with_hardware(|environment| Ok(Box::new(cosim::p4::Rtl::new(environment))));
    let registry = lab::Registry::standard().with_engines(engines);
    let code = cli::main(registry.with_hardware(|node, site| {
        let speed = cosim::Speed::of(site.rate).ok_or("there are ports of 1 and of 10 Gb/s")?;
        let behind = cosim::Behind::new(node, speed, site.oscillator, site.waves)?;
        Ok(Box::new(behind))
    }));
    card::report();
    code
}
