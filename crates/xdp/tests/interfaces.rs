//! A program on interfaces: the kernel forwards, counts and drops, as the control plane says.

use crate::corpus::{allowed, environment};
use live::ebpf::Mode;
use live::interface;
use live::netns::{Namespace, VethEnd, veth};
use live::port::{self, Options, Port};
use pipeline::control::Control;
use std::path::Path;
use std::time::Duration;
use xdp::{Interface, Switch};

/// UDP to a port from 198.18.0.1 to 198.18.0.2.
fn datagram(port: u16) -> Vec<u8> {
    let mut frame = b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01\x08\0".to_vec();
    frame.extend(b"\x45\0\0\x1e\0\x01\0\0\x40\x11\xee\xa6\xc6\x12\0\x01\xc6\x12\0\x02\xc0\0");
    frame.extend(port.to_be_bytes());
    frame.extend(b"\0\x0a\0\0\x01\x02");
    frame.resize(60, 0);
    frame
}

fn found(name: &str) -> interface::Interface {
    let found = interface::find(name).expect("asked");
    found.expect("it is here")
}

/// What arrives until nothing has for a while.
fn arrivals(port: &mut Port) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    loop {
        let mut some = Vec::new();
        port.rx
            .receive(Duration::from_millis(300), &mut |packet| {
                some.push(packet.bytes.to_vec());
            })
            .expect("a port");
        // The kernel says hello on its own links.
        some.retain(|bytes| bytes.starts_with(b"\x02\0\0\0\0\x02"));
        if some.is_empty() {
            return all;
        }
        all.extend(some);
    }
}

#[test]
fn a_program_on_two_interfaces_forwards_counts_and_drops_as_the_control_plane_says() {
    if !allowed() {
        return;
    }
    let space = Namespace::new().expect("root can make a namespace");
    let pair = |here: &'static str, there: &'static str| {
        let end = |name| VethEnd {
            name,
            namespace: &space,
            mac: None,
        };
        veth([end(here), end(there)], 1500).expect("a pair");
    };
    pair("s0", "h0");
    pair("s1", "h1");
    space
        .enter(|| {
            let program = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../examples/p4-udp-counter/udp_counter.p4");
            let environment = environment(&program);
            let control = Control::new(environment.clone());
            let interfaces = ["s0", "s1"].map(|name| Interface {
                index: found(name).index,
                mtu: found(name).mtu,
                mode: Mode::Generic,
            });
            let mut switch = Switch::new(&environment, &interfaces).expect("it runs in the kernel");
            control
                .say("table add table_count 53 do count_c1 1")
                .expect("an entry");
            control
                .say("table add table_count 19 do _drop")
                .expect("an entry");
            switch.bring().expect("the maps have room");
            let open =
                |name: &str| port::open(&name.parse().unwrap(), &Options::default()).expect(name);
            let (mut left, mut right) = (open("h0"), open("h1"));
            for port in [53, 19, 80, 53] {
                left.tx.send(&[&datagram(port)]).expect("sent");
            }
            right.tx.send(&[&datagram(53)]).expect("sent");
            assert_eq!(
                arrivals(&mut right),
                [datagram(53), datagram(80), datagram(53)]
            );
            assert_eq!(arrivals(&mut left), [datagram(53)]);
            switch.read();
            let told = control.say("counter read c1 1").expect("a counter").rows;
            assert!(
                told[0].0.to_string().contains("packets=3 bytes=180"),
                "{}",
                told[0].0
            );
            // Entries go, too.
            control.say("table rm table_count 19").expect("it is there");
            switch.bring().expect("the maps have room");
            left.tx.send(&[&datagram(19)]).expect("sent");
            assert_eq!(arrivals(&mut right), [datagram(19)]);
            // Longer than what s1 takes.
            switch.set_mtu(1, 40).expect("the map has room");
            left.tx.send(&[&datagram(80)]).expect("sent");
            assert!(arrivals(&mut right).is_empty());
            let counts = switch.counts().expect("counts");
            assert!(
                counts.sent >= 5 && counts.dropped == 1 && counts.too_long == 1,
                "{counts:?}"
            );
            // Gone from the interfaces with the value.
            drop(switch);
            left.tx.send(&[&datagram(80)]).expect("sent");
            assert!(arrivals(&mut right).is_empty());
        })
        .expect("the namespace");
}
