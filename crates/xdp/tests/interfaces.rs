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
pub(crate) fn datagram(port: u16) -> Vec<u8> {
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

/// The interface of a name, for programs that the kernel runs behind the driver.
pub(crate) fn as_generic(name: &str) -> Interface {
    let found = found(name);
    Interface {
        index: found.index,
        mtu: found.mtu,
        mode: Mode::Generic,
    }
}

/// A namespace in which the switch's interfaces, `s0` and so on, each have a host's, `h0` and so on, at their other end.
pub(crate) fn hosts<const N: usize>(interfaces: [&'static str; N]) -> Namespace {
    let space = Namespace::new().expect("root can make a namespace");
    for (here, there) in interfaces.into_iter().zip(["h0", "h1", "h2"]) {
        let end = |name| VethEnd {
            name,
            namespace: &space,
            mac: None,
        };
        veth([end(here), end(there)], 1500).expect("a pair");
    }
    space
}

/// What arrives until nothing has for a while.
pub(crate) fn arrivals(port: &mut Port) -> Vec<Vec<u8>> {
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

/// What has the group 1 for its destination, the others go to port 1. Nothing behind ingress knows by which port a packet leaves.
const COPIES: &str = "#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<48> to; bit<48> from; bit<16> kind; }
struct headers { ethernet_t ethernet; }
struct metadata { }
parser P(packet_in b, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start { b.extract(h.ethernet); transition accept; }
}
control V(inout headers h, inout metadata m) { apply { } }
control I(inout headers h, inout metadata m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        if (h.ethernet.kind == 0x0800) { mark_to_drop(s); s.mcast_grp = 1; }
    }
}
control E(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { h.ethernet.from[7:0] = 9; } }
control C(inout headers h, inout metadata m) { apply { } }
control D(packet_out b, in headers h) { apply { b.emit(h.ethernet); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

#[test]
fn copies_that_differ_are_not_left_to_the_kernel() {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("alike.p4");
    let alike = "h.ethernet.from[7:0] = 9;";
    for (egress, made) in [
        (alike, true),
        ("mark_to_drop(s);", true),
        ("h.ethernet.from[8:0] = s.egress_port;", false),
        ("h.ethernet.from[15:0] = s.egress_rid;", false),
        ("if (s.instance_type == 5) { mark_to_drop(s); }", false),
    ] {
        std::fs::write(&program, COPIES.replace(alike, egress)).expect("a file");
        let object = xdp::program(&environment(&program)).expect(egress);
        let maps = object.maps.iter();
        let groups = maps
            .filter(|map| map.purpose == xdp::Purpose::Groups)
            .count();
        assert_eq!(groups, usize::from(made), "{egress}");
    }
}

#[test]
fn the_kernel_copies_packets_for_a_multicast_group() {
    if !allowed() {
        return;
    }
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("copies.p4");
    std::fs::write(&program, COPIES).expect("a file");
    let space = hosts(["s0", "s1", "s2"]);
    space
        .enter(|| {
            let environment = environment(&program);
            let control = Control::new(environment.clone());
            let interfaces = ["s0", "s1", "s2"].map(as_generic);
            let mut switch = Switch::new(&environment, &interfaces).expect("it runs in the kernel");
            let say = |switch: &mut Switch, words: &str| {
                control.say(words).expect(words);
                switch.bring().expect("the maps have room");
            };
            let [mut h0, mut h1, mut h2] = ["h0", "h1", "h2"]
                .map(|name| port::open(&name.parse().unwrap(), &Options::default()).expect(name));
            let ours = datagram(53);
            let mut copy = ours.clone();
            copy[11] = 9;
            let mut other = ours.clone();
            other[13] = 6;
            // A group that is not there has no copies.
            h0.tx.send(&[&ours]).expect("sent");
            assert!(arrivals(&mut h1).is_empty() && arrivals(&mut h2).is_empty());
            // Two of them are for one port, and one is for a port that is not there.
            say(&mut switch, "group add 1 1 2 2:1 9");
            h0.tx.send(&[&ours, &other]).expect("sent");
            let one = arrivals(&mut h1);
            assert_eq!((one.len(), &one[0]), (2, &copy));
            assert_eq!(arrivals(&mut h2), [copy.clone(), copy.clone()]);
            assert!(arrivals(&mut h0).is_empty());
            let counts = switch.counts().expect("counts");
            assert_eq!((counts.copies_lost, counts.left), (1, 0), "{counts:?}");
            // Too long for one is too long for all.
            switch.set_mtu(2, 40).expect("the map has room");
            h0.tx.send(&[&ours]).expect("sent");
            assert!(arrivals(&mut h1).is_empty() && arrivals(&mut h2).is_empty());
            assert_eq!(switch.counts().expect("counts").too_long, 1);
            // Another group of the same number: the packet's own port, too.
            say(&mut switch, "group set 1 0 1");
            h0.tx.send(&[&ours]).expect("sent");
            assert_eq!(
                (arrivals(&mut h0), arrivals(&mut h1)),
                (vec![copy.clone()], vec![copy])
            );
            say(&mut switch, "group rm 1");
            h0.tx.send(&[&ours]).expect("sent");
            assert!(arrivals(&mut h1).is_empty());
        })
        .expect("the namespace");
}

/// What comes by port 0 leaves by port 1: again and again, cut, or metered, as its type says.
const AGAIN: &str = "#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<48> to; bit<40> from; bit<8> count; bit<16> kind; }
struct headers { ethernet_t ethernet; }
struct metadata { @field_list(1) bit<8> passes; }
parser P(packet_in b, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start { b.extract(h.ethernet); transition accept; }
}
control V(inout headers h, inout metadata m) { apply { } }
control I(inout headers h, inout metadata m, inout standard_metadata_t s) {
    meter(1, MeterType.packets) rate;
    apply {
        s.egress_spec = 1;
        if (h.ethernet.kind == 0x0803) {
            bit<8> colour;
            rate.execute_meter((bit<32>)0, colour);
            if (colour == 2) { mark_to_drop(s); }
        }
        if (h.ethernet.kind == 0x0804 && m.passes < h.ethernet.count) {
            m.passes = m.passes + 1;
            resubmit_preserving_field_list(1);
        }
    }
}
control E(inout headers h, inout metadata m, inout standard_metadata_t s) {
    apply {
        if (h.ethernet.kind == 0x0801) { truncate(20); }
        if (h.ethernet.kind == 0x0802) { truncate(10); }
        if (h.ethernet.kind == 0x0804) { h.ethernet.count = m.passes + 0x80; }
        if (h.ethernet.kind == 0x0805 && h.ethernet.count > 0) {
            h.ethernet.count = h.ethernet.count - 1;
            recirculate_preserving_field_list(1);
        }
    }
}
control C(inout headers h, inout metadata m) { apply { } }
control D(packet_out b, in headers h) { apply { b.emit(h.ethernet); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

#[test]
fn packets_begin_anew_are_cut_and_metered_on_interfaces_and_the_program_is_replaced() {
    if !allowed() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (program, next) = (folder.join("again.p4"), folder.join("again_next.p4"));
    std::fs::write(&program, AGAIN).expect("a file");
    std::fs::write(&next, AGAIN.replace("0x80", "0x40")).expect("a file");
    let space = hosts(["s0", "s1"]);
    space
        .enter(|| {
            let environment_of = environment(&program);
            let control = Control::new(environment_of.clone());
            let interfaces = ["s0", "s1"].map(as_generic);
            let mut switch =
                Switch::new(&environment_of, &interfaces).expect("it runs in the kernel");
            let open =
                |name: &str| port::open(&name.parse().unwrap(), &Options::default()).expect(name);
            let (mut left, mut right) = (open("h0"), open("h1"));
            let mut through = |kind: u8, count: u8, times: usize| {
                let mut frame = datagram(80);
                (frame[11], frame[13]) = (count, kind);
                for _ in 0..times {
                    left.tx.send(&[&frame]).expect("sent");
                }
                let all = arrivals(&mut right).into_iter();
                all.map(|bytes| (bytes[11], bytes.len()))
                    .collect::<Vec<_>>()
            };
            assert_eq!(through(4, 33, 1), [(0x80 + 33, 60)]);
            assert_eq!(through(5, 20, 2), [(0, 60), (0, 60)]);
            // Once more than the kernel allows.
            assert_eq!(through(4, 34, 1), []);
            assert_eq!(through(1, 7, 1), [(7, 20)]);
            assert_eq!(through(2, 7, 1), []);
            // Nobody has set rates; then two packets are all, since the next ones take a day.
            assert_eq!(through(3, 1, 3).len(), 3);
            control.say("meter set rate 0 0:1 0:2").expect("rates");
            switch.bring().expect("the maps have room");
            assert_eq!(through(3, 1, 4).len(), 2);
            switch.read().expect("the meters");
            let held = environment_of
                .objects
                .iter()
                .find_map(|object| match object {
                    pipeline::environment::Object::Meter(meter) => meter.held(0),
                    _ => None,
                });
            assert_eq!(held.expect("a meter").1, [0, 0]);
            let counts = switch.counts().expect("counts");
            assert_eq!(
                (counts.passes, counts.no_room, counts.dropped, counts.lost()),
                (1, 1, 2, 2),
                "{counts:?}"
            );
            // A bucket that the kernel has no room for is told with its place, until there is another.
            control
                .say("meter set rate 0 1:99000000000 1:99000000000")
                .expect("rates");
            let refused = switch.bring().expect_err("it is too large").to_string();
            assert!(
                refused.contains("meter `I.rate` 0: a burst of 99000000000"),
                "{refused}"
            );
            control.say("meter reset rate 0").expect("it is there");
            switch.bring().expect("the maps have room");
            // Another program, and what was counted stays.
            switch.replace(&environment(&next)).expect("it runs, too");
            assert_eq!(through(4, 2, 1), [(0x42, 60)]);
            assert_eq!(through(3, 1, 4).len(), 4);
            assert_eq!(switch.counts().expect("counts").passes, 1);
            // One that the kernel cannot do leaves that one where it is.
            let clones = AGAIN.replace("truncate(20);", "clone(CloneType.E2E, 5);");
            std::fs::write(&next, clones).expect("a file");
            assert!(switch.replace(&environment(&next)).is_err());
            assert_eq!(through(4, 2, 1), [(0x42, 60)]);
        })
        .expect("the namespace");
}

#[test]
fn a_program_on_two_interfaces_forwards_counts_and_drops_as_the_control_plane_says() {
    if !allowed() {
        return;
    }
    let space = hosts(["s0", "s1"]);
    space
        .enter(|| {
            let program = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../examples/p4-udp-counter/udp_counter.p4");
            let environment = environment(&program);
            let control = Control::new(environment.clone());
            let interfaces = ["s0", "s1"].map(as_generic);
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
            switch.read().expect("the meters");
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
