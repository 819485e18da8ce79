use node::random::Random;
use node::{Frame, Node, Out, Port, Time};
use packet::arp::{Arp, Operation};
use packet::ethernet::Mac;
use trace::tracer::{Config, Trace};

/// A tracer that knows its next hop, and its first probe.
fn begun() -> (Trace, Vec<u8>) {
    let mut trace = Trace::new(Config::default()).expect("a good configuration");
    let mut out = Out::default();
    trace.wake(Time::from_us(1), &mut out);
    assert_eq!(out.sends().count(), 1);
    let Config {
        target,
        source,
        mac,
        ..
    } = Config::default();
    let (std::net::IpAddr::V4(sender), std::net::IpAddr::V4(target)) = (target, source) else {
        unreachable!("IPv4 addresses")
    };
    let reply = Arp {
        operation: Operation::Reply,
        sender_mac: Mac([2; 6]),
        sender,
        target_mac: mac,
        target,
    };
    let mut bytes = Vec::new();
    reply.build_frame(&mut bytes);
    bytes[..6].copy_from_slice(&mac.0);
    trace.frames(
        Time::from_us(2),
        Port(0),
        &mut vec![Frame::new(&bytes)],
        &mut out,
    );
    trace.wake(Time::from_us(2), &mut out);
    let probe = out.sends().next().expect("a probe").frame.to_vec();
    (trace, probe)
}

/// A time exceeded message about a probe.
fn answer(probe: &[u8]) -> Frame {
    let mut frame = Frame::new(probe);
    let end = frame.len();
    let router = [198, 18, 0, 77].into();
    let written =
        ip::icmp::Error::HopLimit.write(Time::ZERO, &mut frame, end, router, [2; 6], |_| false);
    assert!(written);
    let own = Config::default().mac.0;
    frame[..6].copy_from_slice(&own);
    frame.set_arrived(Time::from_ms(1));
    frame
}

#[test]
fn an_answer_counts_once() {
    let (mut trace, probe) = begun();
    let mut out = Out::default();
    for ignored in [0, 1, 2] {
        trace.frames(
            Time::from_ms(1),
            Port(0),
            &mut vec![answer(&probe)],
            &mut out,
        );
        assert_eq!(trace.ignored(), ignored);
    }
    assert_eq!(trace.interface_stats(1, 0).answers, 1);
}

#[test]
fn changed_answers_do_no_harm() {
    let mut random = Random::new(1);
    let (mut trace, probe) = begun();
    let mut out = Out::default();
    let whole = answer(&probe);
    for _ in 0..20_000 {
        let mut frame = Frame::new(&whole);
        let length = random.index(whole.len() + 1);
        frame.resize(length);
        for _ in 0..random.index(3) {
            if length > 14 {
                frame[14 + random.index(length - 14)] = random.bits() as u8;
            }
        }
        trace.frames(Time::from_ms(1), Port(0), &mut vec![frame], &mut out);
        out.sends().for_each(drop);
    }
    let vertices = trace
        .graph()
        .hops()
        .map(|(_, hop)| hop.vertices.len())
        .sum::<usize>();
    assert!(vertices <= 1);
}

#[test]
fn without_an_answer_of_the_next_hop_it_ends() {
    let mut trace = Trace::new(Config::default()).expect("a good configuration");
    let mut out = Out::default();
    while let Some(at) = trace.next_wake() {
        trace.wake(at, &mut out);
    }
    assert!(trace.is_over() && !trace.is_resolved() && trace.sent() == 0);
}

#[test]
fn configurations_out_of_range_are_refused() {
    type Change = fn(&mut Config);
    let cases: [(&str, Change); 6] = [
        ("source", |config| {
            config.source = "fd00::1".parse().unwrap()
        }),
        ("gateway", |config| {
            config.gateway = Some("fd00::1".parse().unwrap())
        }),
        ("rate", |config| config.rate = 0),
        ("max_hops", |config| config.max_hops = 65),
        ("first_hop", |config| config.first_hop = 31),
        ("alpha", |config| config.alpha = 0.0),
    ];
    for (key, change) in cases {
        let mut config = Config::default();
        change(&mut config);
        assert_eq!(Trace::new(config).expect_err(key).key, key);
    }
}
