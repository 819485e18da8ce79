//! What v1model does between its blocks.

use crate::programs;
use node::Time;
use p4::ir::{KeyMatch, TableId};
use p4::value::Bits;
use pipeline::architecture::{Collected, Drop, Pipeline};
use pipeline::state::replication::{Replica, Session};
use pipeline::table::{Entry, Update};

/// One byte says what to do, the next what with; egress writes down what it saw.
const PROGRAM: &str = r#"
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
header h_t { bit<8> op; bit<8> arg; bit<32> seen; }
struct headers { h_t h; }
struct metadata { @field_list(1) bit<8> kept; bit<8> lost; }
parser Parse(packet_in p, out headers hdr, inout metadata m, inout standard_metadata_t s) {
    state start { p.extract(hdr.h); transition accept; }
}
control Verify(inout headers hdr, inout metadata m) { apply { } }
control ingress(inout headers hdr, inout metadata m, inout standard_metadata_t s) {
    action set(bit<9> port) { s.egress_spec = port; }
    action none() { }
    table t {
        key = { hdr.h.arg: exact; }
        actions = { set; none; }
        default_action = none;
    }
    apply {
        if (s.parser_error != error.NoError) {
            mark_to_drop(s);
        } else if (s.instance_type != 0) {
            s.egress_spec = (bit<9>) m.kept;
        } else {
            m.kept = 7;
            m.lost = 7;
            if (hdr.h.op == 1) {
                s.mcast_grp = (bit<16>) hdr.h.arg;
            } else if (hdr.h.op == 2) {
                clone_preserving_field_list(CloneType.I2E, (bit<32>) hdr.h.arg, 1);
                hdr.h.seen = 0xffffffff;
                s.egress_spec = 5;
            } else if (hdr.h.op == 3) {
                resubmit_preserving_field_list(1);
            } else {
                t.apply();
            }
        }
    }
}
control egress(inout headers hdr, inout metadata m, inout standard_metadata_t s) {
    apply {
        hdr.h.seen = (hdr.h.seen[31:24] |+| 1) ++ s.egress_rid[7:0] ++ m.kept ++ s.instance_type[7:0];
        if (s.instance_type == 0) {
            if (hdr.h.op == 4) {
                recirculate_preserving_field_list(1);
            } else if (hdr.h.op == 5) {
                clone(CloneType.E2E, (bit<32>) hdr.h.arg);
                mark_to_drop(s);
            } else if (hdr.h.op == 8) {
                truncate(4);
            } else if (hdr.h.op == 9) {
                assert(false);
            }
        }
    }
}
control Compute(inout headers hdr, inout metadata m) { apply { } }
control Emit(packet_out p, in headers hdr) { apply { p.emit(hdr.h); } }
V1Switch(Parse(), Verify(), ingress(), egress(), Compute(), Emit()) main;
"#;

fn pipeline() -> Pipeline {
    let (pipeline, _) = programs::of("v1model.p4", PROGRAM);
    let environment = pipeline.environment();
    environment
        .replication
        .change(|groups| {
            let replicas = [(2, 0), (3, 9)].map(|(port, instance)| Replica { port, instance });
            groups.multicast.insert(1, replicas.to_vec());
            let session = Session {
                replicas: vec![Replica {
                    port: 8,
                    instance: 1,
                }],
                ..Session::default()
            };
            groups.sessions.insert(4, session);
            Ok::<_, ()>(())
        })
        .unwrap();
    let key = KeyMatch::Exact(Bits::new(8, 1u8));
    let call = p4::ir::ActionCall {
        action: 0,
        arguments: vec![Bits::new(9, 6u8)],
    };
    let insert = Update::Insert(TableId(0), Entry::new(vec![key], call));
    environment.tables.update(&insert).unwrap();
    pipeline
}

fn run(bytes: &[u8]) -> Collected {
    let mut out = Collected::default();
    pipeline().process(Time::ZERO, 1, bytes, &mut out);
    out
}

/// A packet with room for what egress saw.
fn packet(op: u8, arg: u8) -> Vec<u8> {
    vec![op, arg, 0, 0, 0, 0, 0xAA]
}

fn sent(packets: &[(u32, [u8; 7])]) -> Collected {
    Collected {
        packets: packets
            .iter()
            .map(|(port, bytes)| (*port, bytes.to_vec()))
            .collect(),
        drops: Vec::new(),
    }
}

#[test]
fn an_entry_says_where_to_and_without_one_it_is_port_0() {
    assert_eq!(run(&packet(0, 1)), sent(&[(6, [0, 1, 1, 0, 7, 0, 0xAA])]));
    assert_eq!(run(&packet(0, 2)), sent(&[(0, [0, 2, 1, 0, 7, 0, 0xAA])]));
}

#[test]
fn a_short_packet_reaches_ingress_with_its_error() {
    let out = run(&[0, 1]);
    assert_eq!((out.packets, out.drops), (Vec::new(), vec![Drop::Ingress]));
}

#[test]
fn a_group_copies_and_an_unknown_one_drops() {
    let copies = [(2, [1, 1, 1, 0, 7, 5, 0xAA]), (3, [1, 1, 1, 9, 7, 5, 0xAA])];
    assert_eq!(run(&packet(1, 1)), sent(&copies));
    assert_eq!(run(&packet(1, 2)).drops, [Drop::NoGroup]);
}

#[test]
fn a_clone_of_ingress_is_the_packet_as_it_came() {
    let both = [
        (8, [2, 4, 1, 1, 7, 1, 0xAA]),
        (5, [2, 4, 255, 0, 7, 0, 0xAA]),
    ];
    assert_eq!(run(&packet(2, 4)), sent(&both));
    // Without the session there is only the original.
    assert_eq!(run(&packet(2, 3)), sent(&[(5, [2, 3, 255, 0, 7, 0, 0xAA])]));
}

#[test]
fn what_is_resubmitted_keeps_its_field_list() {
    assert_eq!(run(&packet(3, 0)), sent(&[(7, [3, 0, 1, 0, 7, 0, 0xAA])]));
}

#[test]
fn a_packet_that_goes_round_for_ever_is_dropped() {
    assert_eq!(
        run(&packet(4, 0)),
        Collected {
            packets: Vec::new(),
            drops: vec![Drop::Passes]
        }
    );
}

#[test]
fn a_clone_of_egress_goes_through_egress_again() {
    let mut out = run(&packet(5, 4));
    assert_eq!(out.drops, [Drop::Egress]);
    out.drops.clear();
    // The metadata are new, since this clone keeps none; the header is what egress left.
    assert_eq!(out, sent(&[(8, [5, 4, 2, 1, 0, 2, 0xAA])]));
}

#[test]
fn truncated_packets_and_failed_assertions() {
    assert_eq!(run(&packet(8, 0)).packets, [(0, vec![8, 0, 1, 0])]);
    assert_eq!(run(&packet(9, 0)).drops, [Drop::Assert]);
}
