use super::*;
use ip::header::{is_valid, read};
use ip::icmp::Error;
use node::Time;
use std::vec::Vec;

const ENDS: [[&str; 2]; 2] = [["10.0.0.1", "192.0.2.9"], ["fd00::1", "2001:db8::9"]];

fn probers() -> Vec<Prober> {
    let ends = ENDS.map(|ends| ends.map(|text| text.parse::<IpAddr>().unwrap()));
    let all = ends.iter().flat_map(|[source, target]| {
        [Protocol::Udp, Protocol::Tcp, Protocol::Icmp].map(|protocol| Prober {
            source: *source,
            target: *target,
            protocol,
            identifier: 0xBEEF,
            port: 33_434,
        })
    });
    all.collect()
}

fn built(prober: &Prober, flow: Flow, ttl: u8, number: u16) -> Frame {
    let mut frame = Frame::new(&[]);
    prober.build(flow, ttl, number, &mut frame);
    frame
}

#[test]
fn probes_of_a_flow_look_alike_to_load_balancers_and_are_right() {
    for prober in probers() {
        let reference = built(&prober, 7, 1, 1);
        let at = ETHERNET + header::length(prober.source);
        for (ttl, number) in [(1, 2), (9, 3), (255, 0x8000), (3, MAX_NUMBER)] {
            let frame = built(&prober, 7, ttl, number);
            let packet = read(&frame).expect("a whole packet");
            assert!(is_valid(&frame, &packet), "{prober:?}");
            assert_eq!(frame[at..at + 4], reference[at..at + 4]);
            let tuple = packet::flow::five_tuple(&frame);
            assert_eq!(tuple, packet::flow::five_tuple(&reference));
            let other = built(&prober, 8, ttl, number);
            assert_ne!(frame[at..at + 4], other[at..at + 4], "{prober:?}");
            assert!(is_valid(&other, &packet));
        }
    }
}

#[test]
fn every_checksum_can_be_reached() {
    for prober in probers() {
        for number in (1..=MAX_NUMBER).step_by(97) {
            let frame = built(&prober, number % 8192, 5, number);
            let packet = read(&frame).expect("a whole packet");
            assert!(is_valid(&frame, &packet), "{prober:?} {number}");
        }
    }
}

/// A router's error about a probe.
fn error(prober: &Prober, frame: &Frame, error: Error) -> Frame {
    let router = match prober.source {
        IpAddr::V4(_) => "10.9.9.9".parse().unwrap(),
        IpAddr::V6(_) => "fd99::9".parse().unwrap(),
    };
    let mut answer = Frame::new(frame);
    let end = answer.len();
    assert!(error.write(Time::ZERO, &mut answer, end, router, [2; 6], |_| false));
    answer
}

#[test]
fn errors_show_the_probe_that_they_quote() {
    for prober in probers() {
        let frame = built(&prober, 300, 4, 4711);
        for (cause, kind) in [
            (Error::HopLimit, Kind::TimeExceeded),
            (
                Error::Prohibited,
                Kind::Unreachable(if prober.source.is_ipv4() { 13 } else { 1 }),
            ),
        ] {
            let answer = error(&prober, &frame, cause);
            let packet = read(&answer).expect("an error");
            let answer = prober.read(&answer, &packet).expect("an answer");
            assert_eq!(answer.kind, kind);
            assert_eq!(
                (answer.number, answer.flow),
                (4711, Some(300)),
                "{prober:?}"
            );
            let second = prober.source.is_ipv4().then_some(4711);
            assert_eq!(answer.second_number, second);
        }
        // Reassembly of something else says nothing about hops.
        let other = error(&prober, &frame, Error::Reassembly);
        let packet = read(&other).expect("an error");
        assert!(prober.read(&other, &packet).is_none());
    }
}

#[test]
fn errors_about_other_packets_are_no_answers() {
    for prober in probers() {
        let other = Prober {
            identifier: 0x1234,
            target: ENDS[usize::from(prober.source.is_ipv6())][0]
                .parse()
                .unwrap(),
            ..prober
        };
        let answer = error(&prober, &built(&prober, 1, 1, 1), Error::HopLimit);
        let packet = read(&answer).expect("an error");
        assert!(other.read(&answer, &packet).is_none());
    }
}

#[test]
fn cut_and_changed_answers_do_no_harm() {
    for prober in probers() {
        let answer = error(&prober, &built(&prober, 1, 1, 1), Error::HopLimit);
        let packet = read(&answer).expect("an error");
        for end in packet.payload..packet.end {
            let packet = ip::header::Packet { end, ..packet };
            let _ = prober.read(&answer, &packet);
        }
        for place in packet.payload..packet.end {
            for value in [0, 0x45, 0x7F, 0xFF] {
                let mut changed = Frame::new(&answer);
                changed[place] = value;
                let _ = prober.read(&changed, &packet);
            }
        }
    }
}
