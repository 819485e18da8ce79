//! Four ports around a program, with a packet buffer that they share: the check of `wire-rtl check switch`.

#[path = "../../rtl/src/check/switch/mod.rs"]
mod switch;

use crate::p4::{environment, own, tools};
use crate::software;

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

/// Programs that the compiler makes: at line rate, and with loss.
#[test]
fn packets_leave_four_ports_around_a_compiled_program_as_software_sends_them() {
    if !tools() {
        return;
    }
    for (name, kinds) in [
        (
            "p4-hardware/tunnels.p4",
            &["kept", "grown", "shrunk", "dropped"][..],
        ),
        ("p4-l2l3/l2l3.p4", &["kept", "dropped"]),
    ] {
        let program = own(name);
        let environment = environment(&program).expect(name);
        let test = std::fs::read_to_string(program.with_extension("stf")).expect(name);
        let mut program = switch::Program::new(&environment, &test).expect(name);
        let seen = program.check(51, 4).expect(name);
        println!("{name}: {seen:?}");
        for kind in kinds {
            assert!(
                seen.get(*kind).is_some_and(|count| *count > 20),
                "{name}, {kind}: {seen:?}"
            );
        }
    }
}
