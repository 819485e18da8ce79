//! What v1model does between its blocks, with a program in the intermediate representation's own text.

use node::Time;
use p4::ir::{KeyMatch, TableId};
use p4::value::Bits;
use pipeline::architecture::{Collected, Config, Drop, Pipeline};
use pipeline::environment::{Environment, Options};
use pipeline::interpreter::Interpreter;
use pipeline::state::replication::{Replica, Session};
use pipeline::table::{Entry, Update};
use std::sync::Arc;

/// One byte says what to do, the next what with; egress writes down what it saw.
const PROGRAM: &str = r#"program V1Switch
enum error: 32 { NoError = 32w0x0, PacketTooShort = 32w0x1 }
slot h.$valid: bool
slot h.op: b8
slot h.arg: b8
slot h.seen: b32
slot meta.kept: b8 @field_list("1")
slot meta.lost: b8
slot s.ingress_port: b9
slot s.egress_spec: b9
slot s.egress_port: b9
slot s.instance_type: b32
slot s.packet_length: b32
slot s.mcast_grp: b16
slot s.egress_rid: b16
slot s.parser_error: b32 is error
slot p.error: b32 is error
slot arg: b9
header h: h_t valid h.$valid { h.op, h.arg, h.seen }
action set(port: arg) {
b0:
  s.egress_spec = arg
  return
}
action none() {
b0:
  return
}
table ingress.t {
  key h.arg: b8 exact = h.arg
  action set
  action none
  default 1()
}
parser P role p error_in p.error {
  parameter hdr: headers out { h.$valid = h.$valid, h.op = h.op, h.arg = h.arg, h.seen = h.seen }
  parameter meta: meta_t inout { kept = meta.kept, lost = meta.lost }
  parameter s: standard_metadata_t inout { ingress_port = s.ingress_port, egress_spec = s.egress_spec, egress_port = s.egress_port, instance_type = s.instance_type, packet_length = s.packet_length, mcast_grp = s.mcast_grp, egress_rid = s.egress_rid, parser_error = s.parser_error }
  fail b1
b0 (start):
  extract h
  return
b1 (reject):
  reject
}
control V role vr {
b0:
  return
}
control I role ig {
b0:
  branch (s.parser_error != 32w0x0) b1 b2
b1:
  call mark_to_drop () -> ()
  return
b2:
  branch (s.instance_type != 32w0x0) b8 b3
b3:
  meta.kept = 8w0x7
  meta.lost = 8w0x7
  select (h.op) { (8w0x0) -> b4, (8w0x1) -> b5, (8w0x2) -> b6, (8w0x3) -> b7, (8w0x6) -> b9 } b4
b4:
  apply ingress.t b10 exit b10
b5:
  s.mcast_grp = cast(b16, h.arg)
  return
b6:
  call clone_preserving_field_list (32w0x0, cast(b32, h.arg), 8w0x1)
  h.seen = 32w0xffffffff
  s.egress_spec = 9w0x5
  return
b7:
  call resubmit_preserving_field_list (8w0x1)
  return
b8:
  s.egress_spec = cast(b9, meta.kept)
  return
b9:
  call resubmit_preserving_field_list (8w0x1)
  s.instance_type = 32w0x0
  return
b10:
  return
}
control E role eg {
b0:
  h.seen = ((((h.seen[31:24] |+| 8w0x1) ++ s.egress_rid[7:0]) ++ meta.kept) ++ s.instance_type[7:0])
  branch (s.instance_type == 32w0x0) b1 b2
b1:
  select (h.op) { (8w0x4) -> b3, (8w0x5) -> b4, (8w0x8) -> b5, (8w0x9) -> b6 } b2
b2:
  return
b3:
  call recirculate_preserving_field_list (8w0x1)
  return
b4:
  call clone (32w0x1, cast(b32, h.arg))
  call mark_to_drop () -> ()
  return
b5:
  call truncate (32w0x4)
  return
b6:
  call assert (false)
  return
}
control C role ck {
b0:
  return
}
control D role dep {
b0:
  emit h
  return
}
"#;

fn pipeline(text: &str) -> Pipeline {
    let program = Arc::new(p4::ir::text::parse(text).unwrap());
    let environment = Environment::new(program, Options::default()).unwrap();
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
    let environment = Arc::new(environment);
    let engine = Box::new(Interpreter::new(&environment).unwrap());
    Pipeline::new(&environment, engine, &Config::default()).unwrap()
}

fn run(bytes: &[u8]) -> Collected {
    let mut out = Collected::default();
    pipeline(PROGRAM).process(Time::ZERO, 1, bytes, &mut out);
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
