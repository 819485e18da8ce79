//! The packet generator and capturer: the check of `wire-rtl check replay`.

#[path = "../../rtl/src/check/replay.rs"]
mod replay;

use cosim::ports::p4_replay::LAYOUT;

const RUNS: u64 = 40;

#[test]
fn traces_leave_in_their_cycles_and_packets_are_captured_or_counted() {
    let Some(module) = crate::module(LAYOUT) else {
        return;
    };
    let seen = replay::check(module, 60, RUNS).unwrap();
    for name in ["generated", "late", "captured", "lost"] {
        assert!(seen[name] > 20, "{name}: {seen:?}");
    }
}
