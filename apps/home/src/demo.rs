//! `--demo`: the board with simulated devices, in simulated time that follows the clock.

use crate::arguments::Arguments;
use crate::run;
use home::gateway::Settings;
use home::store::Store;
use home::tables::Tables;
use home::{Home, lab as kind, plan::Plan};
use std::net::{IpAddr, Ipv4Addr};

/// The simulated home.
const LAB: &str = include_str!("demo.toml");

/// Runs the demonstration until Ctrl-C. Nothing is stored.
///
/// # Errors
/// When the board cannot use its address.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let clock = run::clock(capture::clock::now_ns());
    let store = Store::in_memory(clock.clone())?;
    let mut home = Home::new(Plan::default(), store.journal());
    home.calendar = run::calendar(&clock);
    let home = home.shared();
    let tables = Tables::new(&clock)?;
    let rows = tables.clone();
    let registry = kind::registry_for(home.clone(), move || Box::new(rows.clone()));
    let lab = registry
        .parse(LAB)
        .map_err(|faults| anyhow::anyhow!("{faults}"))?;
    let _calls = run::calls(arguments, &tables)?;
    let localhost = [IpAddr::V4(Ipv4Addr::LOCALHOST)];
    let web = run::board(
        arguments,
        &home,
        store,
        &tables,
        (clock, Settings::default()),
        &localhost,
        None,
    )?
    .start()?;
    let options = lab::Options {
        realtime: true,
        dry: true,
        stop: Some(capture::signal::stop_requested),
        ..lab::Options::default()
    };
    lab::run(&lab, lab::World::Sim, &options)?;
    web.stop();
    Ok(())
}
