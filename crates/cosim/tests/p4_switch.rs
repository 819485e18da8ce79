//! Four ports around a program, with a packet buffer that they share: the check of `wire-rtl check switch`.

#[path = "../../rtl/src/check/switch/mod.rs"]
mod switch;

use cosim::ports::p4_switch4::LAYOUT;

/// Runs, each with another pattern of traffic.
const RUNS: u64 = 12;

#[test]
fn each_frame_of_random_traffic_leaves_as_it_came_by_its_port_or_is_counted() {
    let Some(module) = crate::module(LAYOUT) else {
        return;
    };
    let seen = switch::check(module, 50, RUNS).unwrap();
    // Every outcome of a frame has occurred.
    for name in [
        "good", "bad", "lost", "no_room", "sent", "dropped", "no_port",
    ] {
        assert!(seen[name] > 20, "{name}: {seen:?}");
    }
}
