//! Graphs of small programs.

use super::*;
use crate::diagnostic::Diagnostics;
use crate::preprocess::{Options, preprocess};
use crate::source::{IncludeError, Includes};

struct Nothing;

impl Includes for Nothing {
    fn read(&mut self, _: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        Err("nothing".into())
    }
}

fn drawn(text: &str) -> Vec<Graph> {
    let (mut sources, mut diagnostics) = (Sources::default(), Diagnostics::default());
    let options = Options::default();
    let tokens = preprocess(
        "t.p4",
        text,
        &mut Nothing,
        &options,
        &mut sources,
        &mut diagnostics,
    );
    let program = crate::parse::parse(&tokens, &sources, &mut diagnostics);
    assert!(!diagnostics.failed(), "{:?}", diagnostics.sorted());
    graphs(&program, &sources, None)
}

fn arrows(graph: &Graph) -> Vec<(String, String, String)> {
    let name = |n: usize| {
        let node = &graph.nodes[n];
        if node.title.is_empty() {
            node.lines.join("; ")
        } else {
            node.title.clone()
        }
    };
    graph
        .edges
        .iter()
        .map(|e| (name(e.from), e.label.clone(), name(e.to)))
        .collect()
}

fn owned(list: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
    list.iter()
        .map(|(a, b, c)| ((*a).into(), (*b).into(), (*c).into()))
        .collect()
}

const PROGRAM: &str = "
    parser p(packet_in pkt) {
        state start { pkt.extract(h.eth); transition select(h.eth.type) { 0x800: ip; 0x8100 .. 0x8101: start; default: accept; } }
        state ip { pkt.extract(h.ip); transition accept; }
    }
    control c() {
        table t { key = { h.a: exact; } actions = { x; y(1); } }
        apply {
            if (t.apply().hit) { a = 1; b = 2; } else if (a > 3) { exit; }
            switch (t.apply().action_run) { x: { return; } y: { } }
            for (bit<8> i = 0; i < 3; i = i + 1) { if (q) { break; } continue; }
        }
    }";

#[test]
fn states_and_the_values_that_lead_to_them() {
    let graphs = drawn(PROGRAM);
    assert_eq!(
        arrows(&graphs[0]),
        owned(&[
            ("start", "0x800", "ip"),
            ("start", "0x8100 .. 0x8101", "start"),
            ("start", "default", "accept"),
            ("ip", "", "accept"),
        ])
    );
    assert_eq!(
        graphs[0].nodes[0].lines,
        ["extract h.eth", "-", "select h.eth.type"]
    );
}

#[test]
fn tables_conditions_and_loops_follow_one_another() {
    let graphs = drawn(PROGRAM);
    let found = arrows(&graphs[1]);
    for wanted in owned(&[
        ("c", "", "t"),
        ("t", "hit", "a = 1; b = 2"),
        ("t", "miss", "a > 3"),
        ("a > 3", "yes", "exit"),
        ("a > 3", "no", "t"),
        ("t", "x", "end"),
        ("t", "y\nelse", "i = 0"),
        ("i < 3", "yes", "q"),
        ("q", "no", "i < 3"),
        ("q", "yes", "end"),
        ("i < 3", "no", "end"),
    ]) {
        assert!(found.contains(&wanted), "{wanted:?} in {found:#?}");
    }
    assert_eq!(graphs[1].nodes[2].lines, ["h.a: exact", "-", "x", "y"]);
}

#[test]
fn no_two_boxes_of_a_layer_overlap_and_all_are_in_the_picture() {
    for graph in drawn(PROGRAM) {
        let layout = layout::lay_out(&graph).expect("small enough");
        for (n, a) in layout.vertices.iter().enumerate() {
            assert!(a.x - a.width / 2 >= 0 && a.x + a.width / 2 <= layout.width);
            for b in &layout.vertices[n + 1..] {
                let apart = (a.x - b.x).abs() * 2 >= a.width + b.width
                    || (a.y - b.y).abs() * 2 >= a.height + b.height;
                assert!(apart, "{a:?} {b:?}");
            }
        }
    }
}

#[test]
fn pictures_are_well_formed_text() {
    let graphs = drawn(PROGRAM);
    let picture = svg(&graphs).expect("small enough");
    assert_eq!(
        picture.matches("<g").count(),
        picture.matches("</g>").count()
    );
    assert!(picture.contains("i &lt; 3"));
    let text = dot(&graphs);
    assert_eq!(text.matches('{').count(), text.matches('}').count());
}

#[test]
fn a_program_of_thousands_of_states_is_drawn_or_refused_soon() {
    let mut text = String::from("parser p(packet_in b) {\n");
    for n in 0..1500 {
        text += &alloc::format!(
            "state {} {{ transition select(x) {{ 1: s{}; 2: s{}; default: accept; }} }}\n",
            if n == 0 {
                "start".into()
            } else {
                alloc::format!("s{n}")
            },
            n + 1,
            n + 7
        );
    }
    text += "}";
    let _ = svg(&drawn(&text));
}
