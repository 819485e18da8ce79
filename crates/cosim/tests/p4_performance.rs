//! Performance counters of programs in hardware: what passes the parser, the tables and the deparser.

use crate::p4::{of_text, of_text_with, tools};
use cosim::p4::{Outcome, Rtl};
use node::random::Random;
use pipeline::architecture::{Config, Pipeline};
use pipeline::context::Context;
use pipeline::control::Control;
use pipeline::engine::Engine;
use pipeline::environment::Options;
use pipeline::interpreter::Interpreter;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The first table is for all packets, the second for those that hit it, the third for odd ones; nobody reads the third's answer.
const TABLES: &str = "#include <core.p4>
#include <v1model.p4>
header data_t { bit<8> first; bit<8> second; bit<496> rest; }
struct headers { data_t data; }
struct metadata { }
parser P(packet_in b, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start { b.extract(h.data); transition accept; }
}
control V(inout headers h, inout metadata m) { apply { } }
control I(inout headers h, inout metadata m, inout standard_metadata_t s) {
    action to(bit<9> port) { s.egress_spec = port; }
    action away() { mark_to_drop(s); }
    table all { key = { h.data.first: exact; } actions = { to; away; } default_action = away(); size = 16; }
    table some { key = { h.data.second: ternary; } actions = { to; NoAction; } default_action = NoAction(); size = 16; }
    table odd { key = { h.data.second: exact; } actions = { NoAction; } default_action = NoAction(); size = 16; }
    apply {
        if (all.apply().hit) { some.apply(); }
        if (h.data.first[0:0] == 1) { odd.apply(); }
    }
}
control E(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
control C(inout headers h, inout metadata m) { apply { } }
control D(packet_out b, in headers h) { apply { b.emit(h.data); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

#[test]
fn hardware_counts_what_passes_its_parser_tables_and_deparser() {
    if !tools() {
        return;
    }
    let environment = of_text_with(
        TABLES,
        Options {
            performance: true,
            ..Options::default()
        },
    );
    let control = Control::new(Arc::clone(&environment));
    for line in [
        "table add all 1 do to 1",
        "table add all 2 do to 2",
        "table add all 3 do to 3",
        "table add some 0x40&&&0xf0 priority 1 do to 5",
        "table add odd 9 do NoAction",
    ] {
        control.say(line).expect(line);
    }
    let interpreter = Box::new(Interpreter::new(&environment).expect("it runs"));
    let path = Pipeline::new(&environment, interpreter, &Config::default()).expect("it runs");
    let mut rtl = Rtl::new(&environment);
    rtl.prepare(path.path()).expect("it is hardware");
    let context = Context::new(Arc::clone(&environment), 0);
    let mut random = Random::new(7);
    let packets: Vec<Vec<u8>> = (0..200)
        .map(|_| {
            let mut packet = vec![0; 64 + random.below(200) as usize];
            packet[0] = random.below(6) as u8;
            packet[1] = [0x41, 0x52, 9][random.below(3) as usize];
            packet
        })
        .collect();
    let mut wanted: BTreeMap<&str, u64> = BTreeMap::new();
    let mut count = |name, by: bool| *wanted.entry(name).or_default() += u64::from(by);
    for packet in &packets {
        let hits = (1..=3).contains(&packet[0]);
        let odd = packet[0] % 2 == 1;
        for name in [
            "parser.packets",
            "parser.done",
            "tables.done",
            "table I.all.packets",
        ] {
            count(name, true);
        }
        count("table I.all.hits", hits);
        count("table I.some.packets", hits);
        count("table I.some.hits", hits && packet[1] == 0x41);
        count("table I.odd.packets", odd);
        count("table I.odd.hits", odd && packet[1] == 9);
        count("deparser.packets", hits);
        count("deparser.drops", !hits);
        for word in 0..packet.len().div_ceil(64) {
            count("parser.words", word < usize::MAX);
            count("deparser.words", hits);
        }
    }
    let many: Vec<(u16, &[u8])> = packets.iter().map(|packet| (0, &packet[..])).collect();
    let passages = rtl.stream(&many, &context).expect("it goes on");
    let sent = passages.iter();
    let sent = sent.filter(|passage| matches!(passage.outcome, Outcome::Sent(..)));
    assert_eq!(sent.count() as u64, wanted["deparser.packets"]);
    let counted: BTreeMap<_, _> = rtl.performance().into_iter().collect();
    for (name, count) in &wanted {
        assert_eq!(counted.get(*name), Some(count), "{name}: {counted:?}");
    }
    assert!(counted["cycles"] > counted["parser.words"], "{counted:?}");
    assert_eq!(counted.len(), 16, "{counted:?}");
    // They go on counting.
    rtl.stream(&many[..1], &context).expect("it goes on");
    let counted: BTreeMap<_, _> = rtl.performance().into_iter().collect();
    assert_eq!(counted["parser.packets"], 201);
}

#[test]
fn hardware_has_no_counters_unless_they_are_asked_for() {
    let environment = of_text(TABLES);
    let design = verilog::Design::of(&environment, &verilog::Options::DEFAULT);
    let design = design.expect("it is hardware");
    let files = design.files.iter();
    assert!(design.map.performance.is_empty() && !design.map.json().contains("performance"));
    assert!(files.clone().all(|(_, text)| !text.contains("performance")));
}
