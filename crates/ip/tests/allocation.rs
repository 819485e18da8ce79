//! In steady state no packet costs an allocation.

use crate::frames::*;
use ip::interface::{Interface, Received};
use node::{Out, Time, When};
use packet::icmpv6::Icmpv6;

/// Allocations of 100 rounds, once as many have run. Frames come from the world's pool and go back there.
fn allocations(interface: &mut Interface, mut round: impl FnMut(&mut Interface, &mut Out)) -> u64 {
    let mut out = Out::default();
    let mut sent = Vec::with_capacity(100);
    let mut before = 0;
    for number in 0..200 {
        if number == 100 {
            before = allocations::of_this_thread();
        }
        round(interface, &mut out);
        sent.extend(out.sends());
        for departure in sent.drain(..) {
            out.pool().give(departure.frame);
        }
    }
    allocations::of_this_thread() - before
}

#[test]
fn frames_are_answered_and_sent_without_allocating() {
    let target = "fd00::2".parse().unwrap();
    let group = ip::discovery::solicited_node(target);
    let option = [&[1, 1][..], &PEER].concat();
    let solicitation = Icmpv6::NeighbourSolicitation { target };
    let requests = [
        arp(PEER, [10, 0, 0, 1], [10, 0, 0, 2]),
        discovery("fd00::1".parse().unwrap(), group, solicitation, &option),
        echo(OWN, v4(1), v4(2), &[1; 1_000]),
        echo(OWN, v6(1), v6(2), &[1; 1_000]),
        udp(OWN, v4(1), v4(2), [1, 7], &[1; 100]),
        udp(OWN, v6(1), v6(2), [1, 2], &[1; 100]),
        echo(OWN, v4(1), v4(3), &[1; 100]),
    ];
    let datagrams = [(v4(2), v4(1)), (v6(2), v6(1))]
        .map(|(own, to)| (to, udp(OWN, own, to, [1, 2], &[1; 3_000])));
    let mut interface = Interface::new(ip::Config {
        reachable: Some(Time::from_secs(30)),
        ..config()
    });
    let count = allocations(&mut interface, |interface, out| {
        for request in &requests {
            let frame = out.pool().take_with(request);
            match interface.handle_frame(Time::ZERO, frame, out) {
                Received::Packet(frame, packet) => {
                    interface.unclaimed(Time::ZERO, frame, &packet, out);
                }
                Received::Other(frame) => out.done(frame),
                Received::Consumed => {}
            }
        }
        for (to, datagram) in &datagrams {
            let frame = out.pool().take_with(datagram);
            interface.send_any(Time::ZERO, *to, When::Now, frame, out);
        }
        interface.poll_transmit(Time::ZERO, out);
    });
    assert_eq!(count, 0);
}
