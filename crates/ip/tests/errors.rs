//! Errors of ICMP and ICMPv6: their form, the packets that get none, and how often they are sent.

use crate::frames::*;
use core::net::IpAddr;
use ip::header::{self, Packet};
use ip::icmp::{Error, Report};
use node::{Frame, Out, Time};
use packet::tcp::{Tcp, TcpView, flag};

const UDP: u8 = 17;

#[test]
fn closed_ports_and_unknown_protocols_are_reported_with_the_packet() {
    for size in [0, 8, 100, 519, 520, 521, 1_183, 1_184, 1_185, 1_400] {
        let data: Vec<u8> = (0..size).map(|at| at as u8).collect();
        for (from, to, max, closed, unknown) in [
            (v4(1), v4(2), 576, [3, 3], [3, 2]),
            (v6(1), v6(2), 1_280, [1, 4], [4, 1]),
        ] {
            let datagram = udp(OWN, from, to, [99, 5_000], &data);
            let other = packet(OWN, from, to, 200, 64, &data);
            for (frame, kind) in [(datagram, closed), (other, unknown)] {
                let sent = Hand::new(config()).frame(&frame);
                let (found, rest) = icmp(&sent[0]);
                assert_eq!(found, kind);
                // RFC 4443 section 3.4 points at the next header, at byte 6.
                assert_eq!(
                    rest[..4],
                    if kind == [4, 1] { [0, 0, 0, 6] } else { [0; 4] }
                );
                let room = max - header::length(from) - 8;
                assert_eq!(rest[4..], frame[14..frame.len().min(14 + room)]);
                let ends = header::read(&sent[0]).unwrap();
                assert_eq!((ends.source, ends.destination), (to, from));
                assert_eq!((&sent[0][..6], &sent[0][6..12]), (&PEER[..], &OWN[..]));
            }
        }
    }
}

#[test]
fn closed_tcp_ports_reset_all_but_resets() {
    for (from, to) in [(v4(1), v4(2)), (v6(1), v6(2))] {
        for flags in 0..64 {
            let mut segment = Vec::new();
            let tcp = Tcp {
                source_port: 1_000,
                destination_port: 80,
                sequence: 7,
                acknowledgement: 11,
                flags,
                window: 100,
                urgent: 0,
                options: &[],
            };
            tcp.build(header::pseudo(from, to, 6), &mut segment, |out| {
                out.extend(b"abc")
            });
            let sent = Hand::new(config()).frame(&packet(OWN, from, to, 6, 64, &segment));
            if flags & flag::RST != 0 {
                assert!(sent.is_empty());
                continue;
            }
            let whole = header::read(&sent[0]).unwrap();
            assert!(header::is_valid(&sent[0], &whole));
            let reset = TcpView::new(&sent[0][whole.payload..whole.end]).unwrap();
            assert_eq!((reset.source_port(), reset.destination_port()), (80, 1_000));
            let controls = (flags & (flag::SYN | flag::FIN)).count_ones();
            let expected = match flags & flag::ACK {
                0 => (flag::RST | flag::ACK, 0, 7 + 3 + controls),
                _ => (flag::RST, 11, 0),
            };
            assert_eq!(
                (reset.flags(), reset.sequence(), reset.acknowledgement()),
                expected
            );
        }
    }
}

#[test]
fn groups_errors_and_later_fragments_get_no_error() {
    let mut hand = Hand::new(config());
    let mut silent = |frame: Vec<u8>| assert!(hand.frame(&frame).is_empty(), "{frame:02x?}");
    silent(udp(BROADCAST, v4(1), v4(2), [1, 2], b"x"));
    silent(udp(OWN, v4(1), "10.0.0.255".parse().unwrap(), [1, 2], b"x"));
    silent(udp([0x33, 0x33, 0, 0, 0, 1], v6(1), v6(2), [1, 2], b"x"));
    silent(udp(OWN, "224.1.2.3".parse().unwrap(), v4(2), [1, 2], b"x"));
    silent(udp(OWN, "::".parse().unwrap(), v6(2), [1, 2], b"x"));
    // Headers of IPv6 that are not walked, and no payload.
    for next in [0, 43, 44, 50, 51, 59, 60] {
        silent(packet(
            OWN,
            v6(1),
            v6(2),
            next,
            64,
            &[59, 0, 0, 0, 0, 0, 0, 0],
        ));
    }
    // Errors, whole and cut.
    for (from, to, own) in [(v4(1), v4(2), 3), (v6(1), v6(2), 1)] {
        let quoted = udp(PEER, to, from, [1, 2], b"x");
        for length in 0..20 {
            let (protocol, error) = message(from, to, [own, 3], [0; 4], &quoted[14..14 + length]);
            silent(packet(OWN, from, to, protocol, 64, &error));
        }
    }
    let mut out = Out::default();
    for error in [Error::Port, Error::HopLimit, Error::TooBig(1_280)] {
        for (from, to, kind) in [(v4(1), v4(2), [11, 0]), (v6(1), v6(2), [3, 0])] {
            let (protocol, text) = message(from, to, kind, [0; 4], &[0x45; 40]);
            let frame = Frame::new(&packet(OWN, from, to, protocol, 64, &text));
            let whole = header::read(&frame).unwrap();
            hand.interface
                .error(Time::ZERO, error, frame, &whole, &mut out);
            assert_eq!(out.sends().count(), 0);
        }
    }
}

#[test]
fn errors_of_routers_have_the_types_of_the_rfcs() {
    let far4: IpAddr = [192, 0, 2, 1].into();
    let far6: IpAddr = "fd01::1".parse().unwrap();
    for (error, four, six, rest) in [
        (Error::NoRoute, [3, 0], Some([1, 0]), 0),
        (Error::Address, [3, 1], Some([1, 3]), 0),
        (Error::TooBig(1_300), [3, 4], Some([2, 0]), 1_300),
        (Error::HopLimit, [11, 0], Some([3, 0]), 0),
        (
            Error::Redirect([10, 0, 0, 9].into()),
            [5, 1],
            None,
            0x0A00_0009,
        ),
    ] {
        for (from, to, kind) in [(v4(1), far4, Some(four)), (v6(1), far6, six)] {
            let Some(kind) = kind else { continue };
            let mut hand = Hand::new(config());
            let frame = Frame::new(&udp(OWN, from, to, [7, 8], b"data"));
            let whole = header::read(&frame).unwrap();
            hand.interface
                .error(Time::ZERO, error, frame, &whole, &mut hand.out);
            let sent = hand.out.sends().next().unwrap().frame;
            let (found, after) = icmp(&sent);
            assert_eq!((found, &after[..4]), (kind, &u32::to_be_bytes(rest)[..]));
            // From the router's own address, and readable by the receiver.
            let ends = header::read(&sent).unwrap();
            assert_eq!(ends.source, if from.is_ipv4() { v4(2) } else { v6(2) });
            let report = Report::read(&sent, &ends).unwrap();
            assert_eq!((report.source, report.destination), (from, to));
            assert_eq!(
                (report.kind, report.rest, report.protocol),
                (kind, rest, UDP)
            );
            assert_eq!(report.begin[..4], [0, 7, 0, 8]);
        }
    }
}

#[test]
fn one_sender_gets_six_errors_and_then_one_a_second() {
    let mut hand = Hand::new(config());
    let datagram = udp(OWN, v4(1), v4(2), [1, 2], b"x");
    let mut sent = 0;
    for ms in 0..10_000 {
        hand.now = Time::from_ms(ms);
        sent += hand.frame(&datagram).len();
    }
    assert_eq!(sent, 6 + 9);
    assert_eq!(
        hand.out.drops(),
        [("rate limit of ICMP errors", 10_000 - 15)]
    );
    assert_eq!(hand.interface.counters().refused, 15);
    // Echo is not limited.
    let pings = (0..100).map(|_| hand.frame(&echo(OWN, v4(1), v4(2), b"x")).len());
    assert_eq!(pings.sum::<usize>(), 100);
}

#[test]
fn a_packet_that_is_not_whole_in_time_is_reported_if_its_first_fragment_came() {
    for (from, to, kind, timeout) in [
        (v4(1), v4(2), [11, 1], 30_000),
        (v6(1), v6(2), [3, 1], 60_000),
    ] {
        let mut all = Vec::new();
        let whole = Frame::new(&echo(OWN, from, to, &[7; 4_000]));
        let mut out = Out::default();
        ip::fragments::cut(whole, 1_500, 5, &mut out, |frame, _| {
            all.push(frame.to_vec())
        });
        let mut hand = Hand::new(config());
        for piece in &all[..2] {
            assert!(hand.frame(piece).is_empty());
        }
        let sent = hand.until(Time::from_secs(90));
        assert_eq!((sent.len(), sent[0].0), (1, timeout));
        assert_eq!(icmp(&sent[0].1).0, kind);
        for piece in &all[1..] {
            assert!(hand.frame(piece).is_empty());
        }
        assert!(hand.until(Time::from_secs(200)).is_empty());
        assert_eq!(hand.interface.waiting_bytes(), 0);
    }
}

#[test]
fn reports_are_read_without_panic_whatever_they_hold() {
    let mut random = node::random::Random::new(3);
    for _ in 0..50_000 {
        let frame: Vec<u8> = (0..random.below(80)).map(|_| random.bits() as u8).collect();
        let payload = random.below(90) as usize;
        let packet = Packet {
            source: v4(1),
            destination: v4(2),
            protocol: if random.chance(0.5) { 1 } else { 58 },
            ecn: 0,
            payload,
            end: payload + random.below(60) as usize,
        };
        let report = Report::read(&frame, &packet);
        report.and_then(|report| report.port_unreachable());
    }
}
