//! In steady state no packet costs an allocation, whether it is sent, dropped, copied or sent round again.

#[path = "../benches/p4/programs.rs"]
#[allow(dead_code, reason = "the benchmarks use the others")]
mod programs;

use jit::Jit;
use node::Time;
use pipeline::architecture::{Config, Drop, Output, Pipeline};
use pipeline::control::Control;
use pipeline::environment::{Environment, Options};
use std::sync::Arc;

#[derive(Default)]
struct Count {
    sent: u64,
    dropped: u64,
}

impl Output for Count {
    fn send(&mut self, _: u32, _: &[u8]) {
        self.sent += 1;
    }
    fn drop(&mut self, _: Drop) {
        self.dropped += 1;
    }
}

/// Sent and dropped by 1,000 packets of each kind, none of which allocates.
fn run(text: &str, commands: &[&str], packets: &[Vec<u8>]) -> (u64, u64) {
    let environment = Environment::new(programs::compiled(text), Options::default());
    let environment = Arc::new(environment.expect("its objects are small"));
    let control = Control::new(Arc::clone(&environment));
    for command in commands {
        control.say(command).expect("a command that is right");
    }
    let engine = Box::new(Jit::new(&environment).expect("this machine can run code"));
    let pipeline = Pipeline::new(&environment, engine, &Config::default());
    let mut pipeline = pipeline.expect("v1model is known");
    let mut count = Count::default();
    // The first packets make the buffers as large as they have to be.
    for packet in packets.iter().cycle().take(packets.len() * 4) {
        pipeline.process(Time::ZERO, 0, packet, &mut count);
    }
    let mut count = Count::default();
    let before = allocations::of_this_thread();
    for packet in packets.iter().cycle().take(packets.len() * 1000) {
        pipeline.process(Time::ZERO, 0, packet, &mut count);
    }
    assert_eq!(allocations::of_this_thread() - before, 0);
    (count.sent, count.dropped)
}

#[test]
fn a_router_allocates_for_no_packet() {
    let packet = |destination: [u8; 4], length| {
        let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 8, 0];
        let mut ip = vec![0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 1, 2, 3];
        ip.extend(destination);
        let words = ip.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1]));
        let sum = words.sum::<u32>();
        let sum = !(((sum & 0xFFFF) + (sum >> 16)) as u16);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        bytes.extend(ip);
        bytes.resize(length, 0);
        bytes
    };
    let commands = [
        "table add own 02:00:00:00:00:01 do NoAction",
        "table add routes 10.0.0.0/8 do route 1",
        "table add hops 1 do next_hop 3 02:00:00:00:00:02 02:00:00:00:00:01",
    ];
    let packets = [
        packet([10, 0, 0, 1], 64),
        packet([11, 0, 0, 1], 64),
        packet([10, 0, 0, 2], 1500),
    ];
    let outcome = run(&programs::router(true), &commands, &packets);
    assert_eq!(outcome, (2000, 1000));
}

#[test]
fn copies_and_second_passes_allocate_nothing_either() {
    let text = "#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
header op_t { bit<8> op; }
struct headers { op_t h; }
struct metadata { @field_list(1) bit<8> round; }
parser Parse(packet_in p, out headers h, inout metadata m, inout standard_metadata_t sm) {
    state start { p.extract(h.h); transition accept; }
}
control Check(inout headers h, inout metadata m) { apply { } }
control Forward(inout headers h, inout metadata m, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        if (sm.instance_type == 0) {
            if (h.h.op == 0) { sm.mcast_grp = 7; }
            if (h.h.op == 1) { clone_preserving_field_list(CloneType.I2E, 5, 1); }
            if (h.h.op == 2) { m.round = 1; resubmit_preserving_field_list(1); }
        }
    }
}
control Leave(inout headers h, inout metadata m, inout standard_metadata_t sm) {
    apply {
        if (h.h.op == 3 && sm.instance_type == 0 && sm.packet_length > 20) { truncate(20); }
        if (h.h.op == 4 && sm.instance_type == 0) { clone_preserving_field_list(CloneType.E2E, 5, 1); }
    }
}
control Sum(inout headers h, inout metadata m) { apply { } }
control Emit(packet_out p, in headers h) { apply { p.emit(h.h); } }
V1Switch(Parse(), Check(), Forward(), Leave(), Sum(), Emit()) main;
";
    let commands = ["group set 7 1:0 2:0 3:0", "mirror set 5 4"];
    let packets: Vec<Vec<u8>> = (0..5).map(|op| vec![op; 64]).collect();
    let outcome = run(text, &commands, &packets);
    // Three copies; a packet and its clone; once; once; a packet and its clone.
    assert_eq!(outcome, (9000, 0));
}

#[test]
fn a_group_of_members_is_chosen_without_allocating() {
    let text = "#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
header flow_t { bit<8> to; bit<8> low; bit<72> high; }
struct headers { flow_t h; }
struct metadata { }
parser Parse(packet_in p, out headers h, inout metadata m, inout standard_metadata_t sm) {
    state start { p.extract(h.h); transition accept; }
}
control Check(inout headers h, inout metadata m) { apply { } }
control Forward(inout headers h, inout metadata m, inout standard_metadata_t sm) {
    action forward(bit<9> port) { sm.egress_spec = port; }
    action drop() { mark_to_drop(sm); }
    action_selector(HashAlgorithm.crc32, 16, 32) ecmp;
    table balance {
        key = { h.h.low: selector; h.h.to: exact; h.h.high: selector; }
        actions = { forward; drop; }
        default_action = drop;
        implementation = ecmp;
    }
    apply { balance.apply(); }
}
control Leave(inout headers h, inout metadata m, inout standard_metadata_t sm) { apply { } }
control Sum(inout headers h, inout metadata m) { apply { } }
control Emit(packet_out p, in headers h) { apply { p.emit(h.h); } }
V1Switch(Parse(), Check(), Forward(), Leave(), Sum(), Emit()) main;
";
    let commands = [
        "profile add ecmp member 1 do forward 1",
        "profile add ecmp member 2 do forward 2",
        "profile add ecmp group 1 1 2",
        "table add balance 1 do group 1",
        "table add balance 2 do member 2",
    ];
    let packets: Vec<Vec<u8>> = (0..4).map(|to| vec![to; 64]).collect();
    assert_eq!(run(text, &commands, &packets), (2000, 2000));
}
