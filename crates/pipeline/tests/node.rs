//! A pipeline as a node: frames, drops with their reasons, ports that are not there.

mod programs;

use node::{Frame, Node, Out, Port, Time};
use pipeline::node::PipelineNode;

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
        node.frame(
            Time::ZERO,
            Port(1),
            Frame::new(&[op, 2, 0, 0, 0xAA]),
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
    let mut counters = Vec::new();
    node.counters(&mut |name, value| counters.push((name.to_string(), value)));
    assert_eq!(
        counters,
        [("received".to_string(), 4), ("sent".to_string(), 1)]
    );
    assert_eq!(node.next_wake(), None);
}

#[test]
fn what_comes_in_at_one_side_of_a_bump_leaves_at_the_other() {
    let (pipeline, _) = programs::pipeline("wire_bump.p4");
    let mut node = PipelineNode::new(pipeline, 2);
    let mut out = Out::default();
    node.frame(Time::ZERO, Port(0), Frame::new(&[1, 7, 0xAA]), &mut out);
    node.frame(Time::ZERO, Port(1), Frame::new(&[1, 0xFF]), &mut out);
    node.frame(Time::ZERO, Port(1), Frame::new(&[0xFF, 0]), &mut out);
    assert_eq!(sent(&mut out), [(1, vec![1, 8, 0xAA]), (0, vec![1, 0xFF])]);
    assert_eq!(out.drops(), [("dropped by the program", 1)]);
}
