//! Every node, fed with arbitrary frames: each frame leaves, is dropped, or is taken in; none comes out
//! of nowhere, by a port that is not there, or longer than a frame can be.

use node::{Frame, Node, Out, Port, Time};

/// What a node adds at most: a tag, or the rest of a neighbour advertisement.
const GROWTH: usize = 86;

fn all() -> Vec<Box<dyn Node>> {
    let echo = |swap| nodes::echo::Echo::new(nodes::echo::Config { swap, ports: 2 });
    let vlan = nodes::vlan::Config {
        stack: true,
        ..Default::default()
    };
    let translate = nodes::vlan::Config {
        translate: vec![(1, 2), (2, 3)],
        service: true,
        others: nodes::vlan::Others::Pass,
        ..Default::default()
    };
    let host = nodes::host::Config {
        ipv4: Some([10, 0, 0, 2].into()),
        ipv6: Some([0; 16].into()),
        // Answers in fragments are for another target.
        mtu: node::frame::MAX_FRAME_LEN,
        ..Default::default()
    };
    let switch = nodes::switch::Config {
        stations: 4,
        vlan_aware: true,
        ..Default::default()
    };
    let slotted = nodes::switch::Config {
        mode: nodes::switch::Mode::CutThrough,
        slot: Time::from_ns(51),
        clock_ppm: -100.0,
        arbitration: nodes::switch::Arbitration::Random(0.5),
        ..Default::default()
    };
    let delay = nodes::delay::Config {
        forth: "delay 1s limit 8".parse().expect("a good SPEC"),
        back: None,
    };
    vec![
        Box::new(nodes::switch::Switch::new(switch).expect("a good configuration")),
        Box::new(nodes::switch::Switch::new(slotted).expect("a good configuration")),
        Box::new(nodes::mirror::Mirror::new(Default::default()).expect("defaults are good")),
        Box::new(nodes::delay::Delay::new(delay).expect("no files")),
        Box::new(echo(nodes::echo::Swap::Transport).expect("a good configuration")),
        Box::new(nodes::vlan::Vlan::new(vlan).expect("a good configuration")),
        Box::new(nodes::vlan::Vlan::new(translate).expect("a good configuration")),
        Box::new(nodes::host::Host::new(host)),
        Box::new(nodes::meter::Meter::new(Default::default())),
    ]
}

/// The input is a series of frames: one byte of port and time, two of length, and the frame.
pub fn target(data: &[u8]) {
    for mut node in all() {
        let (mut out, mut now, mut rest) = (Out::default(), Time::ZERO, data);
        while let Some((&[first, high, low], behind)) = rest.split_first_chunk() {
            let len = (usize::from(high) << 8 | usize::from(low)).min(behind.len());
            let (bytes, behind) = behind.split_at(len);
            rest = behind;
            now += Time::from_ms(u64::from(first));
            let port = Port(u16::from(first) % node.properties().ports as u16);
            let mut frame = Frame::new(&bytes[..len.min(packet::MAX_FRAME_LEN)]);
            frame.set_arrived(now);

            let before: u64 = out.drops().iter().map(|(_, count)| count).sum();
            node.frames(now, port, &mut vec![frame], &mut out);
            let dropped = out.drops().iter().map(|(_, count)| count).sum::<u64>() - before;
            let ports = node.properties().ports;
            let sent = out.sends().inspect(|departure| {
                assert!(departure.port.index() < ports);
                assert!(departure.frame.len() <= packet::MAX_FRAME_LEN.max(GROWTH));
            });
            let sent = sent.count();
            // Several go at once only where they were fragments of one packet.
            let fragments = ip::fragments::Fragment::read(bytes).is_some();
            assert!(sent <= ports && (dropped == 0 || sent == 0));
            assert!(dropped <= 1 || fragments);
        }
    }
}
