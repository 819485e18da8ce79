//! In steady state no node allocates for a frame.

use node::{Departure, Frame, Node, Out, Port, Rate, Time};

/// As a world does: a frame from the pool in, what comes out back into the pool, and wakes.
fn turn(
    node: &mut dyn Node,
    out: &mut Out,
    (sent, lot): (&mut Vec<Departure>, &mut Vec<Frame>),
    round: u64,
    template: &[u8],
) {
    let now = Time::from_us(10 * round);
    while let Some(at) = node.next_wake().filter(|at| *at <= now) {
        node.wake(at.max(now - Time::from_us(10)), out);
        give_back(out, sent);
    }
    let mut frame = out.pool().take_with(template);
    // Eight stations at ports 0 and 1.
    frame[11] = (round % 8) as u8;
    frame[5] = (round / 3 % 8) as u8;
    frame.set_arrived(now);
    let port = Port((round % 2) as u16);
    let port = if port.index() < node.properties().ports {
        port
    } else {
        Port(0)
    };
    lot.push(frame);
    node.frames(now, port, lot, out);
    give_back(out, sent);
}

fn give_back(out: &mut Out, sent: &mut Vec<Departure>) {
    sent.extend(out.sends());
    sent.drain(..)
        .for_each(|departure| out.pool().give(departure.frame));
}

fn nodes() -> Vec<(&'static str, Box<dyn Node>)> {
    let generator = |size| {
        Box::new(
            nodes::generator::Generator::new(nodes::generator::Config {
                rate: Some(Rate::TEN_GIGABIT),
                size,
                ..Default::default()
            })
            .unwrap(),
        )
    };
    let replay = {
        let frames = (0..10).map(|n| (Time::from_us(n), vec![n as u8; 60 + n as usize]));
        let source = nodes::generator::Frames::new(frames.collect());
        let config = nodes::generator::Config {
            loops: 0,
            ..Default::default()
        };
        nodes::generator::Generator::replay(config, Box::new(source)).unwrap()
    };
    let vlan = nodes::vlan::Config {
        others: nodes::vlan::Others::Pass,
        ..Default::default()
    };
    let delay = nodes::delay::Config::fixed(Time::from_ms(1), Time::from_ms(1));
    let member = |name: &str, node: Box<dyn Node>| node::Member {
        name: name.into(),
        node,
    };
    let members = vec![
        member(
            "mirror",
            Box::new(nodes::mirror::Mirror::new(Default::default()).unwrap()),
        ),
        member(
            "delay",
            Box::new(nodes::delay::Delay::new(delay.clone()).unwrap()),
        ),
    ];
    let composite = nodes::composite::Composite::new(
        members,
        &[((0, Port(1)), (1, Port(0)))],
        vec![(0, Port(0)), (1, Port(1))],
    )
    .unwrap();
    let bad = nodes::delay::Config {
        forth: "delay 1ms 200us 25% distribution normal loss gemodel 1% 10% duplicate 1% corrupt 1% reorder 10% rate 10gbit limit 16"
            .parse()
            .unwrap(),
        back: None,
    };
    let echo = nodes::echo::Config {
        swap: nodes::echo::Swap::Transport,
        ports: 1,
    };
    let host = nodes::host::Config {
        ipv4: Some([198, 18, 0, 2].into()),
        ..Default::default()
    };
    let filter = nodes::filter::Program::everything();
    vec![
        (
            "switch",
            Box::new(nodes::switch::Switch::new(Default::default()).unwrap()),
        ),
        ("delay", Box::new(nodes::delay::Delay::new(delay).unwrap())),
        (
            "bad network",
            Box::new(nodes::delay::Delay::new(bad).unwrap()),
        ),
        (
            "mirror",
            Box::new(nodes::mirror::Mirror::new(Default::default()).unwrap()),
        ),
        (
            "filter",
            Box::new(nodes::filter::Filter::new(Default::default(), filter)),
        ),
        ("composite", Box::new(composite)),
        ("vlan", Box::new(nodes::vlan::Vlan::new(vlan).unwrap())),
        ("echo", Box::new(nodes::echo::Echo::new(echo).unwrap())),
        ("host", Box::new(nodes::host::Host::new(host))),
        (
            "sink",
            Box::new(nodes::sink::Sink::new(Default::default()).unwrap()),
        ),
        (
            "meter",
            Box::new(nodes::meter::Meter::new(Default::default())),
        ),
        (
            "capture",
            Box::new(nodes::capture::Capture::new(
                Default::default(),
                Box::new(measure::statistics::Statistics::default()),
            )),
        ),
        ("generator", generator(nodes::generator::Sizes::One(64))),
        (
            "generator of IMIX",
            generator(nodes::generator::Sizes::Imix),
        ),
        ("generator that replays", Box::new(replay)),
        ("covert encoder", covert(nodes::covert::Role::Encode)),
        ("covert decoder", covert(nodes::covert::Role::Decode)),
        ("covert detector", covert(nodes::covert::Role::Detect)),
        ("generator of Poisson traffic", shaped("poisson", "64")),
        ("generator of trains", shaped("train(20, 10 us)", "64-80/4")),
        ("generator of chains", shaped("chains(0.5)", "64")),
    ]
}

fn covert(role: nodes::covert::Role) -> Box<dyn Node> {
    let config = nodes::covert::Config {
        role,
        message: "a message of more than one chunk".into(),
        ..Default::default()
    };
    Box::new(nodes::covert::Covert::new(config, Box::new(|_, _| {})).unwrap())
}

/// Departures and sizes drawn by lot.
fn shaped(pattern: &str, size: &str) -> Box<dyn Node> {
    let config = nodes::generator::Config {
        rate: Rate::from_bits_per_second(9_000_000_000),
        size: size.parse().unwrap(),
        pattern: pattern.parse().unwrap(),
        ..Default::default()
    };
    Box::new(nodes::generator::Generator::new(config).unwrap())
}

/// A probe in a UDP datagram, untagged.
fn template() -> Vec<u8> {
    let mut generator = nodes::generator::Generator::new(Default::default()).unwrap();
    let mut out = Out::default();
    generator.wake(Time::ZERO, &mut out);
    let departure = out.sends().next();
    let frame: Frame = departure.unwrap().frame;
    frame.to_vec()
}

#[test]
fn in_steady_state_no_frame_costs_an_allocation() {
    let template = template();
    for (name, mut node) in nodes() {
        let (mut out, mut sent, mut lot) = (Out::default(), Vec::new(), Vec::new());
        (0..5_000).for_each(|round| {
            turn(
                &mut *node,
                &mut out,
                (&mut sent, &mut lot),
                round,
                &template,
            )
        });
        let before = allocations::of_this_thread();
        (5_000..20_000).for_each(|round| {
            turn(
                &mut *node,
                &mut out,
                (&mut sent, &mut lot),
                round,
                &template,
            )
        });
        let allocations = allocations::of_this_thread() - before;
        assert_eq!(allocations, 0, "{name}: in 15,000 rounds");
    }
}

#[test]
fn a_million_packets_take_no_more_memory_than_the_first_hundred_thousand() {
    for pattern in ["even", "poisson", "train(20, 10 us)", "chains(0.5)"] {
        let (mut node, mut out, mut sent) = (
            shaped(pattern, "cbr2(792, 0.5)"),
            Out::default(),
            Vec::new(),
        );
        let mut schedule = nodes::generator::Schedule::new(Rate::TEN_GIGABIT);
        let (mut packets, mut before) = (0u64, None);
        while packets < 1_000_000 {
            let at = node.next_wake().expect("a train without an end");
            node.wake(at, &mut out);
            sent.extend(out.sends());
            for departure in sent.drain(..) {
                let node::When::At(at) = departure.when else {
                    panic!("a departure without a time");
                };
                schedule.add(at, departure.frame.len());
                packets += 1;
                out.pool().give(departure.frame);
            }
            if packets > 100_000 {
                before.get_or_insert_with(allocations::of_this_thread);
            }
        }
        // One of the 64 buffers may still meet a frame longer than all that it has held, and grow.
        let more = allocations::of_this_thread() - before.unwrap_or_default();
        assert!(more <= 64, "{pattern}: {more} allocations");
        assert_eq!(schedule.packets(), packets);
    }
}
