//! A pipeline as a node: frames, drops with their reasons, ports that are not there.

use crate::programs;
use node::event::{Event, Interface, Queue, What};
use node::{Frame, Node, Out, Port, Rate, Time};
use pipeline::control::Control;
use pipeline::node::PipelineNode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

fn sent(out: &mut Out) -> Vec<(u16, Vec<u8>)> {
    out.sends()
        .map(|departure| (departure.port.0, departure.frame.to_vec()))
        .collect()
}

#[test]
fn frames_leave_by_the_ports_that_the_program_names() {
    let (pipeline, _) = programs::pipeline("crossbar.p4");
    let mut node = PipelineNode::new(pipeline, 7);
    let mut out = Out::default();
    let mut offer = |op| {
        node.frames(
            Time::ZERO,
            Port(1),
            &mut vec![Frame::new(&[op, 2, 0, 0, 0xAA])],
            &mut out,
        )
    };
    for op in [1, 3, 4, 6] {
        offer(op);
    }
    assert_eq!(sent(&mut out), [(5, vec![1, 2, 0xFE, 0xFD, 0xAA])]);
    let drops = [
        ("dropped in ingress", 1),
        ("no egress port", 1),
        ("no such port", 1),
    ];
    assert_eq!(out.drops(), drops);
    assert_eq!(
        node.statistics().counters,
        [("received".to_string(), 4), ("sent".to_string(), 1)]
    );
    assert_eq!(node.next_wake(), None);
}

#[test]
fn what_comes_in_at_one_side_of_a_bump_leaves_at_the_other() {
    let (pipeline, _) = programs::pipeline("wire_bump.p4");
    let mut node = PipelineNode::new(pipeline, 2);
    let mut out = Out::default();
    node.frames(
        Time::ZERO,
        Port(0),
        &mut vec![Frame::new(&[1, 7, 0xAA])],
        &mut out,
    );
    node.frames(
        Time::ZERO,
        Port(1),
        &mut vec![Frame::new(&[1, 0xFF])],
        &mut out,
    );
    node.frames(
        Time::ZERO,
        Port(1),
        &mut vec![Frame::new(&[0xFF, 0])],
        &mut out,
    );
    assert_eq!(sent(&mut out), [(1, vec![1, 8, 0xAA]), (0, vec![1, 0xFF])]);
    assert_eq!(out.drops(), [("dropped by the program", 1)]);
}

#[test]
fn egress_sees_what_waits_at_the_port_that_a_packet_leaves_by() {
    let (pipeline, _) = programs::pipeline("queue_depths.p4");
    let mut node = PipelineNode::new(pipeline, 7);
    let mut out = Out::default();
    assert!(node.properties().statistics_age.is_some());
    let mut tell = |port, what| {
        let at = Time::ZERO;
        node.event(at, &Event { at, port, what }, &mut out);
    };
    let waits = |class, packets| {
        What::Queue(Queue {
            class,
            packets,
            bytes: 1000,
            rate: Rate::from_bits_per_second(100_000_000),
            ..Queue::default()
        })
    };
    tell(Port(3), waits(0, 9));
    // One class of a port is not all that waits there, and an interface is no queue.
    tell(Port(3), waits(0x10_0001, 5));
    tell(Port(4), What::Interface(Interface::default()));
    for op in [3, 4] {
        let frame = Frame::new(&[op, 0, 0, 0]);
        node.frames(Time::ZERO, Port(1), &mut vec![frame], &mut out);
    }
    // 8000 bits at 100 Mb/s.
    let expected = [(3, vec![3, 9, 9, 80]), (4, vec![4, 0, 0, 0])];
    assert_eq!(sent(&mut out), expected);
}

#[test]
fn a_program_that_reads_no_queue_wants_no_facts() {
    for program in ["replicas.p4", "crossbar.p4"] {
        let (pipeline, _) = programs::pipeline(program);
        assert_eq!(
            PipelineNode::new(pipeline, 7).properties().statistics_age,
            None,
            "{program}"
        );
    }
}

#[test]
fn a_nic_forgets_a_flow_just_when_its_time_has_passed() {
    let (pipeline, _) = programs::pipeline("pna_learning.p4");
    let environment = std::sync::Arc::clone(pipeline.environment());
    let control = pipeline::control::Control::new(environment);
    for line in ["port set 4 host", "expiry set 2 10s"] {
        control.say(line).unwrap();
    }
    let entries = || control.environment().tables.len(p4::ir::TableId(0));
    let mut node = PipelineNode::new(pipeline, 5);
    let mut out = Out::default();
    assert_eq!(node.next_wake(), None);
    let flow = Frame::new(&[0, 0, 1, 0, 2, 0, 0, 0, 0, 0]);
    node.frames(Time::from_secs(1), Port(4), &mut vec![flow], &mut out);
    assert_eq!(sent(&mut out), [(0, vec![0, 0, 1, 0, 2, 1, 0, 0, 0, 0])]);
    assert_eq!(
        (entries(), node.next_wake()),
        (1, Some(Time::from_secs(11)))
    );
    node.wake(Time::from_ms(10_999), &mut out);
    assert_eq!(entries(), 1);
    node.wake(Time::from_secs(11), &mut out);
    assert_eq!((entries(), node.next_wake()), (0, None));
}

/// Counts its calls.
#[derive(Default)]
struct Calls(AtomicUsize);

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn the_controller_calls_for_a_node_that_sleeps() {
    let aging = "
        #include <core.p4>
        #include <v1model.p4>
        header h_t { bit<8> a; }
        struct H { h_t h; }
        struct M { }
        parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
            state start { p.extract(h.h); transition accept; }
        }
        control V(inout H h, inout M m) { apply { } }
        control I(inout H h, inout M m, inout standard_metadata_t s) {
            action send(bit<9> port) { s.egress_spec = port; }
            table t {
                key = { h.h.a : exact; }
                actions = { send; NoAction; }
                support_timeout = true;
            }
            apply { t.apply(); }
        }
        control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
        control C(inout H h, inout M m) { apply { } }
        control D(packet_out p, in H h) { apply { p.emit(h.h); } }
        V1Switch(P(), V(), I(), E(), C(), D()) main;";
    let (pipeline, _) = programs::of("aging.p4", aging);
    let environment = Arc::clone(pipeline.environment());
    let mut node = PipelineNode::new(pipeline, 2);
    let calls = Arc::new(Calls::default());
    node.set_waker(&Arc::clone(&calls).into());
    assert_eq!(node.next_wake(), None);
    let control = Control::new(Arc::clone(&environment));
    control.say("table add t 7 timeout 5s do send 1").unwrap();
    assert_eq!(
        calls.0.load(Ordering::Relaxed),
        1,
        "the entry has to be watched"
    );
    let mut out = Out::default();
    node.wake(Time::from_secs(1), &mut out);
    let idle = node.next_wake().expect("an entry can be idle");
    node.wake(idle, &mut out);
    assert_eq!(idle, Time::from_secs(6));
    assert_eq!(environment.idles.drain().len(), 1);
    environment.packet_outs.push(vec![7]);
    assert_eq!(calls.0.load(Ordering::Relaxed), 2);
}
