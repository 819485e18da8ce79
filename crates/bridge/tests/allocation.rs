//! A frame that a switch with all of its protocols forwards allocates nothing, nor does a packet to a group.

use crate::hand::{frame, mac};
use bridge::lacp::{self, Mode};
use bridge::snooping;
use bridge::stp::{Edge, Version};
use bridge::switch::{Config, MirrorConfig, PortConfig, Switch};
use multicast::message::{self, Message, Version as Spoken};
use node::{Frame, Node, Out, Port, Time};
use packet::ethernet::Mac;

#[test]
fn in_steady_state_no_frame_allocates() {
    let edge = |port| PortConfig {
        port,
        edge: Edge::Yes,
        ..PortConfig::default()
    };
    let config = Config {
        ports: 8,
        stp: Some(Version::Rstp),
        port: [0, 2, 3, 4].map(edge).into(),
        lag: vec![lacp::Config {
            ports: vec![0, 1],
            mode: Mode::Static,
            ..lacp::Config::default()
        }],
        snooping: Some(snooping::Config {
            querier: true,
            ..snooping::Config::default()
        }),
        mirror: vec![MirrorConfig {
            from: vec![2],
            to: 5,
            ..MirrorConfig::default()
        }],
        ..Config::default()
    };
    let (mut switch, mut out) = (Switch::new(config).unwrap(), Out::default());
    let group = "239.1.1.1".parse().unwrap();
    let mut data = frame(mac(1), message::mac_of(group).0);
    data[12..34].copy_from_slice(&[
        8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 9, 239, 1, 1, 1,
    ]);
    let mut report = Frame::new(&[]);
    message::build_frame(
        &Message::Report(Spoken::Two, group),
        "10.0.0.3".parse().unwrap(),
        Mac(mac(3)),
        &mut report,
    );
    let mut now = Time::from_secs(20);
    let (mut lot, mut departures) = (Vec::new(), Vec::new());
    let mut turn = |switch: &mut Switch, port: u16, bytes: &[u8]| {
        now += Time::from_us(1);
        let mut frame = out.pool().take_with(bytes);
        frame.set_arrived(now);
        lot.push(frame);
        switch.frames(now, Port(port), &mut lot, &mut out);
        // The world gives the buffers back.
        departures.extend(out.sends());
        let sent = departures.len();
        departures
            .drain(..)
            .for_each(|departure| out.pool().give(departure.frame));
        sent
    };
    turn(&mut switch, 3, &report);
    let all = [
        (2, frame(mac(2), mac(1))),
        (0, frame(mac(1), mac(2))),
        (4, data),
        (0, frame(mac(1), [0xFF; 6])),
    ];
    let mut before = 0;
    for round in 0..3_000 {
        for (port, bytes) in &all {
            assert!(turn(&mut switch, *port, bytes) > 0 || round < 2);
        }
        if round == 1_000 {
            before = allocations::of_this_thread();
        }
    }
    assert_eq!(allocations::of_this_thread() - before, 0);
}
