//! Externs of the user in Verilog: the check of `wire-rtl check externs`, throughput, contracts and errors.

#[path = "../../rtl/src/check/externs.rs"]
mod externs;

use crate::p4::tools;
use cosim::p4::{Outcome, Passage};
use externs::{POPCOUNT, both, environment, function, packets, popcount, same, scatter};
use node::random::Random;
use pipeline::externs::registry::{Hardware, Timing};
use verilog::reason;

/// Cycles from the first packet in to the last out.
fn cycles(passages: &[Passage]) -> u64 {
    passages[passages.len() - 1].last_out - passages[0].first_in
}

#[test]
fn externs_of_both_kinds_give_what_they_give_in_software() {
    if !tools() {
        return;
    }
    println!("{:?}", externs::check(80, 3).unwrap());
}

/// A response takes 32 cycles on average; with 16 requests outstanding packets leave far oftener.
#[test]
fn packets_go_on_while_others_wait_for_an_asynchronous_extern() {
    if !tools() {
        return;
    }
    let environment = environment(popcount(3), scatter(6)).unwrap();
    let mut all = packets(&mut Random::new(11), 0, 400);
    for packet in &mut all {
        packet[0] = 2;
        packet.truncate(64);
    }
    let (passages, sent) = both(&environment, &all).unwrap();
    same(&passages, &sent).unwrap();
    let waiting = cycles(&passages);
    println!("400 packets that call an asynchronous extern: {waiting} cycles");
    assert!(waiting < 400 * 8, "{waiting} cycles");
    // Those that do not call wait for nothing.
    for packet in &mut all {
        packet[0] = 0;
    }
    let (passages, sent) = both(&environment, &all).unwrap();
    same(&passages, &sent).unwrap();
    assert!(cycles(&passages) < 400 + 60, "{}", cycles(&passages));
}

#[test]
fn an_extern_that_breaks_its_latency_drops_the_packets_that_call_it() {
    if !tools() {
        return;
    }
    for cycles in [2, 4] {
        let environment = environment(popcount(cycles), scatter(2)).unwrap();
        let mut all = packets(&mut Random::new(12), 0, 20);
        for packet in all.iter_mut().step_by(4) {
            packet[0] = 1;
        }
        let (passages, _) = both(&environment, &all).unwrap();
        for (number, passage) in passages.iter().enumerate() {
            let dropped = passage.outcome == Outcome::Dropped(reason::NO_RESPONSE);
            assert_eq!(dropped, number % 4 == 0, "packet {number}, {cycles} cycles");
        }
    }
}

#[test]
fn an_extern_that_cannot_be_hardware_is_an_error_with_the_reason() {
    let hardware = |module, timing| Hardware {
        module,
        text: POPCOUNT,
        parameters: Vec::new(),
        timing,
    };
    let plain = || function(8, |x| u64::from(x.count_ones()));
    let fixed = Timing::Fixed { cycles: 3 };
    for (method, why) in [
        (
            plain(),
            "`popcount` is an extern without a module in Verilog",
        ),
        (popcount(0), "`popcount` has Fixed { cycles: 0 }"),
        (
            plain().with_hardware(hardware("popcount", Timing::Asynchronous { id_bits: 9 })),
            "`popcount` has Asynchronous { id_bits: 9 }",
        ),
        (
            plain().with_hardware(hardware("p4_fifo", fixed)),
            "two modules of the hardware have the name `p4_fifo`",
        ),
        (
            plain().with_hardware(hardware("scatter", fixed)),
            "two modules of the hardware have the name `scatter`",
        ),
    ] {
        let environment = environment(method, scatter(6)).unwrap();
        match verilog::Design::of(&environment, &verilog::Options::DEFAULT) {
            Ok(_) => panic!("{why}: it is not refused"),
            Err(error) => assert!(error.message.starts_with(why), "{error}"),
        }
    }
}
