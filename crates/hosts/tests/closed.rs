//! Ports that nothing waits at: connections that are refused, datagrams that come back as errors.

use crate::transfer::{bulk, channel, flow, pair, sink};
use hosts::host::{self, make};
use hosts::program::{Config as Program, bulk, udp};
use measure::distribution::Distribution;
use node::{Frame, Out, Port, Rate, Time};
use packet::ethernet::{Ethernet, Mac, ethertype};
use packet::icmp::IcmpView;
use packet::icmpv6::Icmpv6View;
use packet::ip::IpView;
use packet::ipv4::{Ipv4, protocol};
use packet::ipv6::Ipv6;
use packet::tcp::{Tcp, TcpView};
use packet::udp::Udp;

fn udp(to: &str) -> udp::Config {
    udp::Config {
        to: to.parse().unwrap(),
        rate: Rate::from_bits_per_second(1_000_000).unwrap(),
        size: 100,
        start: Time::ZERO,
        duration: None,
        count: Some(20),
        stream: 0,
    }
}

fn to_closed_port() -> bulk::Config {
    bulk::Config {
        to: "10.0.0.2:81".parse().unwrap(),
        bytes: Some(Distribution::Constant(1_000)),
        ..bulk(2)
    }
}

#[test]
fn a_refused_connection_is_the_end_of_a_bulk_program_and_is_reported() {
    // A host with another program, and one without any.
    for far in [vec![sink()], vec![]] {
        let near = vec![Program::Bulk(to_closed_port())];
        let outcome = pair([near, far], channel(100, Time::from_ms(1)), 3);
        let flows = &outcome.nodes[0].flows;
        assert_eq!(flows.len(), 1, "{flows:?}");
        assert_eq!(flows[0].error, Some("connection refused"));
        assert!(!flows[0].done && flows[0].bytes == 0);
        assert_eq!(flows[0].ended, flows[0].begun);
        let refused = outcome.nodes[1].counters.iter().find(|c| c.0 == "refused");
        assert_eq!(refused.unwrap().1, 1);
        // A question and an answer of ARP, a SYN and a reset.
        assert_eq!(outcome.frames, 4);
    }
}

#[test]
fn flows_at_times_of_their_own_are_tried_each_and_those_that_are_open_go_on() {
    let timed = bulk::Config {
        every: Some(Distribution::Constant(Time::from_ms(100))),
        count: Some(10),
        ..to_closed_port()
    };
    let open = bulk::Config {
        bytes: Some(Distribution::Constant(100_000)),
        count: Some(3),
        ..bulk(2)
    };
    let near = vec![Program::Bulk(timed), Program::Bulk(open)];
    let outcome = pair([near, vec![sink()]], channel(100, Time::from_ms(1)), 3);
    let flows = &outcome.nodes[0].flows;
    let refused = flows.iter().filter(|flow| flow.error.is_some());
    assert_eq!(refused.count(), 10, "{flows:?}");
    assert_eq!(flows.iter().filter(|flow| flow.done).count(), 3);
}

#[test]
fn a_program_without_a_way_or_an_answer_ends_as_well() {
    let elsewhere = bulk::Config {
        to: "192.0.2.1".parse().unwrap(),
        ..to_closed_port()
    };
    let nobody = bulk::Config {
        to: "10.0.0.9".parse().unwrap(),
        ..to_closed_port()
    };
    let near = vec![Program::Bulk(elsewhere), Program::Bulk(nobody)];
    let outcome = pair([near, vec![]], channel(100, Time::from_ms(1)), 100);
    let errors: Vec<_> = outcome.nodes[0]
        .flows
        .iter()
        .map(|flow| flow.error)
        .collect();
    assert_eq!(errors, [Some("no route"), Some("no answer")]);
}

#[test]
fn datagrams_to_a_closed_port_are_lost_and_not_delivered() {
    let config = udp("10.0.0.2:5002");
    for far in [vec![sink()], vec![]] {
        let near = vec![Program::Udp(config.clone())];
        let outcome = pair([near, far], channel(100, Time::from_ms(1)), 3);
        let sent = flow(&outcome, 0, "udp");
        // As many errors as Linux sends at once.
        assert_eq!((sent.packets, sent.lost, sent.bytes), (20, 6, 1_400));
        assert_eq!(sent.error, Some("port unreachable"));
        let refused = outcome.nodes[1].counters.iter().find(|c| c.0 == "refused");
        assert_eq!(refused.unwrap().1, 6);
    }
    // One program's errors are not another's.
    let near = vec![Program::Udp(udp("10.0.0.2")), Program::Udp(config)];
    let outcome = pair([near, vec![sink()]], channel(100, Time::from_ms(1)), 3);
    let lost: Vec<_> = outcome.nodes[0]
        .flows
        .iter()
        .map(|flow| flow.lost)
        .collect();
    assert_eq!(lost, [0, 6]);
}

/// The hosts that a stranger's packets meet.
fn hosts() -> [Box<dyn node::Node>; 2] {
    let config = host::Config {
        address: vec![
            "10.0.0.2/24".parse().unwrap(),
            "fd00::2/64".parse().unwrap(),
        ],
        mac: Some(Mac([2, 0, 0, 0, 0, 2])),
        gateway: vec!["10.0.0.1".parse().unwrap(), "fd00::1".parse().unwrap()],
        ..host::Config::default()
    };
    [vec![], vec![sink()]].map(|programs| make(config.clone(), programs, 1).unwrap())
}

/// A packet from a stranger on the link, to the host's address, with this in it.
fn packet(
    v4: bool,
    to_group: bool,
    protocol: u8,
    fill: impl FnOnce(packet::checksum::Pseudo, &mut Vec<u8>),
) -> Vec<u8> {
    let mut frame = Vec::new();
    let ethernet = Ethernet {
        destination: if to_group {
            Mac::BROADCAST
        } else {
            Mac([2, 0, 0, 0, 0, 2])
        },
        source: Mac([2, 0, 0, 0, 0, 1]),
        tags: &[],
        ethertype: if v4 { ethertype::IPV4 } else { ethertype::IPV6 },
    };
    ethernet.build(&mut frame, |out| {
        if v4 {
            let ip = Ipv4::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), protocol);
            ip.build(out, |out| fill(ip.pseudo(), out));
        } else {
            let [a, b] = ["fd00::1", "fd00::2"].map(|text| text.parse().unwrap());
            let ip = Ipv6::new(a, b, protocol);
            ip.build(out, |out| fill(ip.pseudo(), out));
        }
    });
    frame
}

/// IP packets by which a host answers, after the neighbours that it resolves first.
fn answers(host: &mut dyn node::Node, request: &[u8]) -> Vec<Vec<u8>> {
    let mut out = Out::default();
    let mut came = vec![Frame::new(request)];
    let mut all = Vec::new();
    for step in 0..4 {
        host.frames(Time::from_us(step), Port(0), &mut came, &mut out);
        for sent in out
            .sends()
            .map(|one| one.frame.to_vec())
            .collect::<Vec<_>>()
        {
            let mut answer = Vec::new();
            let arp = sent.get(14..).map(packet::arp::Arp::parse);
            match arp {
                Some(Ok(arp)) if sent[12..14] == [8, 6] => {
                    arp.reply(Mac([2, 0, 0, 0, 0, 1])).build_frame(&mut answer);
                    came.push(Frame::new(&answer));
                }
                _ if sent[12..14] == [0x86, 0xDD] && sent[54] == 135 => {
                    came.push(Frame::new(&advertisement()));
                }
                _ => all.push(sent),
            }
        }
    }
    all
}

/// The stranger's answer to a solicitation.
fn advertisement() -> Vec<u8> {
    let mut frame = packet(false, false, protocol::ICMPV6, |pseudo, out| {
        let message = packet::icmpv6::Icmpv6::NeighbourAdvertisement {
            target: "fd00::1".parse().unwrap(),
            flags: 3,
        };
        message.build(pseudo, out, |out| out.extend([2, 1, 2, 0, 0, 0, 0, 1]));
    });
    frame[21] = 255;
    frame
}

#[test]
fn every_segment_to_a_closed_port_but_a_reset_is_answered_by_one() {
    use packet::tcp::flag::{ACK, FIN, PSH, RST, SYN};
    for v4 in [true, false] {
        for (flags, data, wanted) in [
            (SYN, 0, Some((0, 1_001, RST | ACK))),
            (SYN | ACK, 0, Some((77, 0, RST))),
            (ACK, 0, Some((77, 0, RST))),
            (ACK | PSH, 5, Some((77, 0, RST))),
            (FIN | ACK, 0, Some((77, 0, RST))),
            (RST, 0, None),
            (RST | ACK, 0, None),
        ] {
            let segment = packet(v4, false, protocol::TCP, |pseudo, out| {
                let segment = Tcp {
                    source_port: 1_234,
                    destination_port: 80,
                    sequence: 1_000,
                    acknowledgement: if flags & ACK != 0 { 77 } else { 0 },
                    flags,
                    window: 100,
                    urgent: 0,
                    options: &[],
                };
                segment.build(pseudo, out, |out| out.resize(out.len() + data, 1));
            });
            for mut host in hosts() {
                let sent = answers(host.as_mut(), &segment);
                let got: Vec<_> = sent
                    .iter()
                    .map(|frame| {
                        let kind = u16::from_be_bytes([frame[12], frame[13]]);
                        let ip = IpView::new(kind, &frame[14..]).unwrap();
                        let reset = TcpView::new(ip.payload()).unwrap();
                        assert!(reset.is_checksum_valid(ip.pseudo(protocol::TCP)));
                        assert_eq!((reset.source_port(), reset.destination_port()), (80, 1_234));
                        assert_eq!(
                            (&frame[..6], &frame[6..12]),
                            (&[2, 0, 0, 0, 0, 1][..], &[2, 0, 0, 0, 0, 2][..])
                        );
                        (reset.sequence(), reset.acknowledgement(), reset.flags())
                    })
                    .collect();
                assert_eq!(
                    got,
                    wanted.into_iter().collect::<Vec<_>>(),
                    "v4 {v4}, flags {flags}"
                );
            }
        }
    }
}

#[test]
fn a_datagram_to_a_closed_port_comes_back_in_an_error_but_not_one_to_a_group() {
    for v4 in [true, false] {
        for (to_group, size) in [(false, 10), (false, 1_400), (true, 10)] {
            let datagram = packet(v4, to_group, protocol::UDP, |pseudo, out| {
                let udp = Udp {
                    source_port: 1_234,
                    destination_port: 9,
                };
                udp.build(pseudo, out, |out| out.resize(out.len() + size, 1));
            });
            for mut host in hosts() {
                let sent = answers(host.as_mut(), &datagram);
                assert_eq!(sent.len(), usize::from(!to_group), "v4 {v4}");
                let Some(error) = sent.first() else { continue };
                let kind = u16::from_be_bytes([error[12], error[13]]);
                let ip = IpView::new(kind, &error[14..]).unwrap();
                let quoted = match v4 {
                    true => {
                        let icmp = IcmpView::new(ip.payload()).unwrap();
                        assert!(icmp.is_checksum_valid());
                        assert_eq!((icmp.kind(), icmp.code()), (3, 3));
                        icmp.payload()
                    }
                    false => {
                        let icmp = Icmpv6View::new(ip.payload()).unwrap();
                        assert!(icmp.is_checksum_valid(ip.pseudo(protocol::ICMPV6)));
                        assert_eq!((icmp.kind(), icmp.code()), (1, 4));
                        &ip.payload()[8..]
                    }
                };
                let most = if v4 { 548 } else { 1_232 };
                let whole = &datagram[14..];
                assert_eq!(quoted, &whole[..whole.len().min(most)]);
                // A broken one is none for which anything is said.
                let mut broken = datagram.clone();
                *broken.last_mut().unwrap() ^= 1;
                assert!(answers(host.as_mut(), &broken).is_empty());
            }
        }
    }
}
