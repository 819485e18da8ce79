//! DTP in Verilog against `nodes::dtp`, tick for tick: the checks of `wire-rtl check`.

#[path = "../../rtl/src/check/bound.rs"]
mod bound;
#[path = "../../rtl/src/check/dtp/mod.rs"]
mod four_ports;

use cosim::ports::dtp_device4::LAYOUT;

/// Runs of a device, half of them with commands.
const RUNS: u64 = 40;

#[test]
fn a_device_in_verilog_is_that_in_rust_tick_for_tick_under_random_messages_loads_resets_and_commands()
 {
    let Some(module) = crate::module(LAYOUT) else {
        return;
    };
    let seen = four_ports::check(module, 30, RUNS).unwrap();
    // Everything that can happen has.
    for name in [
        "dtp_beacons_sent",
        "dtp_beacons_heard",
        "dtp_jumps",
        "dtp_out_of_range",
        "dtp_damaged",
        "dtp_joins",
        "set_mode",
        "set_cnt",
        "set_beacon_interval",
        "reset",
        "reads",
        "refused reads",
        "refused writes",
    ] {
        assert!(
            seen.get(name).is_some_and(|count| *count > 100),
            "{name}: {seen:?}"
        );
    }
    assert!(seen["dtp_given_up"] > 10, "{seen:?}");
}

#[test]
fn two_devices_come_to_be_five_ticks_apart_in_verilog_as_in_software() {
    let made = [crate::module(LAYOUT), crate::module(LAYOUT)];
    let [Some(one), Some(other)] = made else {
        return;
    };
    let (trace, greatest) = bound::check([one, other], bound::PHASE).unwrap();
    assert_eq!(greatest, 5, "{trace}");
    // Each beacon, which the FIFO holds, says less than the counter has come to by itself, until the clocks have parted by a tick more.
    assert!(trace.lines().count() > 25, "{trace}");
}

#[test]
fn away_from_that_phase_the_two_stay_within_the_papers_bound() {
    let made = [crate::module(LAYOUT), crate::module(LAYOUT)];
    let [Some(one), Some(other)] = made else {
        return;
    };
    let (trace, greatest) = bound::check([one, other], 0).unwrap();
    assert!(greatest <= 4, "{trace}");
}
