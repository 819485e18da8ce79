//! A host's channel to a program: blocking and non-blocking calls, full and empty queues, back pressure; and the check of `wire-rtl check host`.

#[path = "../../rtl/src/check/host.rs"]
mod host;

use crate::p4::{environment, own, tools};
use crate::software;
use cosim::p4::{Answer, Call, Host, MAX_PACKET, TimedOut};
use pipeline::control::Control;
use pipeline::environment::Environment;
use software::Software;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Of `tunnels.p4`: to the host, which is port 3, and to the network.
const TO_HOST: u8 = 0x03;
const TO_NETWORK: u8 = 0x01;
/// Cycles in which a packet passes.
const TIMEOUT: u64 = 2_000;

fn packet(to: u8, number: u8, length: usize) -> Vec<u8> {
    let mut packet = vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, 0xff, 8, 0, number];
    packet.resize(length, number);
    packet
}

/// A host with `tunnels.p4`, and the program's tables with or without entries.
fn made(with_entries: bool) -> Option<(Host, Arc<Environment>)> {
    if !tools() {
        return None;
    }
    let program = own("p4-hardware/tunnels.p4");
    let environment = environment(&program).expect("it compiles");
    let test = std::fs::read_to_string(program.with_extension("stf")).expect("it is there");
    let lines = test.lines();
    let lines = lines.filter(|line| with_entries || !line.starts_with("add "));
    let test: String = lines.flat_map(|line| [line, "\n"]).collect();
    let software = Software::new(&environment, &test).expect("it is without state");
    let path = software.path().expect("it sends packets");
    let mut host = Host::new(&environment, path).expect("it is hardware");
    host.load(&environment);
    Some((host, environment))
}

#[test]
fn packets_pass_both_ways_once_the_host_has_written_the_tables() {
    let Some((mut host, environment)) = made(false) else {
        return;
    };
    host.send(&packet(TO_NETWORK, 1, 100), TIMEOUT)
        .expect("there is room");
    host.run(TIMEOUT);
    assert_eq!((host.left(), host.losses()), (None, (0, 1)));
    let control = Control::new(Arc::clone(&environment));
    for (address, port) in [(TO_NETWORK, 1), (TO_HOST, 3)] {
        control
            .say(&format!(
                "table add switching 02:00:00:00:00:{address:02x} do forward {port}"
            ))
            .expect("it is an entry");
    }
    host.load(&environment);
    for length in [15, 63, 64, 65, 128, 511, MAX_PACKET] {
        let sent = packet(TO_NETWORK, 2, length);
        host.send(&sent, TIMEOUT).expect("there is room");
        host.run(TIMEOUT);
        assert_eq!(host.left(), Some(sent));
        let sent = packet(TO_HOST, 3, length);
        host.offer(&sent);
        assert_eq!(host.receive(TIMEOUT), Ok(sent));
    }
    let sent = packet(TO_HOST, 4, 200);
    host.send(&sent, TIMEOUT).expect("there is room");
    assert_eq!(host.receive(TIMEOUT), Ok(sent));
    assert_eq!(host.losses(), (0, 1));
    assert_eq!(host.call(Call::Counters), Answer::Counters([9, 8, 0]));
}

#[test]
fn an_empty_queue_answers_at_once_or_after_the_timeout() {
    let Some((mut host, _)) = made(true) else {
        return;
    };
    assert_eq!(host.call(Call::Receive), Answer::Empty);
    assert_eq!(host.receive(300), Err(TimedOut(300)));
    for packet in [vec![], vec![0; MAX_PACKET + 1]] {
        assert_eq!(host.call(Call::Send(packet)), Answer::WrongLength);
    }
}

/// The network takes nothing: the program waits, the ring to it fills, and no packet is lost or sent by halves.
#[test]
fn a_full_queue_refuses_packets_until_the_network_takes_some() {
    let Some((mut host, _)) = made(true) else {
        return;
    };
    host.set_ready(false);
    let mut sent = Vec::new();
    loop {
        let next = packet(TO_NETWORK, sent.len() as u8, 700);
        match host.call(Call::Send(next.clone())) {
            Answer::Sent => sent.push(next),
            other => {
                // A queue that was full may have moved on since.
                assert_eq!(other, Answer::Full);
                host.run(TIMEOUT);
                if host.call(Call::Send(next.clone())) == Answer::Full {
                    break;
                }
                sent.push(next);
            }
        }
        assert!(sent.len() < 200, "nothing is ever full");
    }
    assert!(sent.len() >= 5, "{}", sent.len());
    let more = packet(TO_NETWORK, 0xee, 700);
    assert_eq!(host.send(&more, TIMEOUT), Err(TimedOut(TIMEOUT)));
    assert_eq!(host.left(), None);
    host.set_ready(true);
    host.send(&more, 100 * TIMEOUT)
        .expect("there is room again");
    sent.push(more);
    host.run(20 * TIMEOUT);
    let left: Vec<Vec<u8>> = std::iter::from_fn(|| host.left()).collect();
    assert_eq!(left, sent);
}

/// A host that takes nothing does not hold up the network.
#[test]
fn packets_for_a_host_that_is_full_are_lost_as_a_whole() {
    let Some((mut host, _)) = made(true) else {
        return;
    };
    for number in 0..40 {
        host.offer(&packet(TO_HOST, number, 300));
        host.offer(&packet(TO_NETWORK, number, 300));
    }
    host.run(10 * TIMEOUT);
    let through = std::iter::from_fn(|| host.left()).count();
    assert_eq!((through, host.losses()), (40, (0, 0)));
    let mut received = Vec::new();
    while let Answer::Packet(packet) = host.call(Call::Receive) {
        received.push(packet);
    }
    let first: Vec<Vec<u8>> = (0..received.len() as u8)
        .map(|number| packet(TO_HOST, number, 300))
        .collect();
    assert_eq!(received, first);
    let lost = 40 - received.len() as u32;
    assert!(lost > 10 && lost < 40, "{lost}");
    assert_eq!(
        host.call(Call::Counters),
        Answer::Counters([0, 40 - lost, lost])
    );
}

#[test]
fn callbacks_get_the_answers_in_the_order_of_the_calls_while_the_clock_runs() {
    let Some((mut host, _)) = made(true) else {
        return;
    };
    let answers = Rc::new(RefCell::new(Vec::new()));
    let sent = packet(TO_HOST, 7, 90);
    let calls = [
        Call::Receive,
        Call::Send(sent.clone()),
        Call::Write(0, 0x1234_5678),
        Call::Read(0x3000),
    ];
    for call in calls {
        let answers = Rc::clone(&answers);
        host.post(call, move |answer| answers.borrow_mut().push(answer));
    }
    assert_eq!((answers.borrow().len(), host.pending()), (0, 4));
    host.run(TIMEOUT);
    let expected = [
        Answer::Empty,
        Answer::Sent,
        Answer::Written,
        Answer::Value(0),
    ];
    assert_eq!((&answers.borrow()[..], host.pending()), (&expected[..], 0));
    assert_eq!(host.receive(TIMEOUT), Ok(sent));
}

#[test]
fn packets_of_host_and_network_fare_as_in_software() {
    if !tools() {
        return;
    }
    let program = own("p4-hardware/tunnels.p4");
    let environment = environment(&program).expect("it compiles");
    let test = std::fs::read_to_string(program.with_extension("stf")).expect("it is there");
    let seen = host::check(&environment, &test, 70, 6).unwrap();
    println!("{seen:?}");
    for name in [
        "sent",
        "send refused",
        "received",
        "nothing to receive",
        "lost at the host",
        "left",
        "dropped",
    ] {
        assert!(seen[name] > 5, "{name}: {seen:?}");
    }
}
