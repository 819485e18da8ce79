//! What a trace says of a packet, and that tracing changes nothing.

use crate::programs;
use node::Time;
use pipeline::architecture::Collected;
use pipeline::trace;

#[test]
fn a_trace_tells_the_packets_whole_story() {
    let (mut pipeline, compiled) = programs::pipeline("crossbar.p4");
    pipeline.set_trace(true).unwrap();
    let mut out = Collected::default();
    pipeline.process(Time::ZERO, 1, &[6, 9, 0, 0, 0xAA], &mut out);
    pipeline.process(Time::ZERO, 1, &[3, 0, 0, 0], &mut out);
    pipeline.process(Time::ZERO, 1, &[1], &mut out);
    let steps = pipeline.take_trace();
    let program = pipeline.environment().program.clone();
    let text = trace::text(&steps, &program, Some(&compiled.sources));
    let story = [
        "packet in by port 1, 5 bytes: 06090000aa",
        "  parser P",
        "    state start",
        "      extract h.data: op = 6, a = 9, sum = 0    [crossbar.p4:10]",
        "  control I",
        "    if (s.parser_error != NoError): false",
        "I.seen.count(6)",
        "m.note: 0 -> 1",
        "    table I.where (h.data.op = 6): hit entry ",
        " -> I.forward(port = 7)",
        "s.egress_port: 65535 -> 7",
        "I.last.read(1)",
        "h.data.a: 9 -> 0",
        "to port 7",
        "h.data.sum: 0 -> 63999",
        "    emit h.data",
        "out by port 7, 5 bytes: 0600f9ffaa",
        "s.drop: false -> true",
        "  dropped: dropped in ingress",
        "      error PacketTooShort    [crossbar.p4:10]",
        "    if (s.parser_error != NoError): true",
        "      h.data becomes valid",
        "out by port 9",
    ];
    let mut rest = &text[..];
    for line in story {
        let at = rest.find(line);
        let at = at.unwrap_or_else(|| panic!("no `{line}` in what follows:\n{rest}\nof:\n{text}"));
        rest = &rest[at + line.len()..];
    }
    for line in trace::json(&steps, &program, Some(&compiled.sources)).lines() {
        assert!(
            line.starts_with("{\"schema\":\"wireline.p4-trace/1\",\"type\":\""),
            "{line}"
        );
        assert!(line.ends_with('}'), "{line}");
    }
}

#[test]
fn a_traced_packet_fares_as_any_other() {
    let run = |traced: bool| {
        let (mut pipeline, _) = programs::pipeline("crossbar.p4");
        pipeline.set_trace(traced).unwrap();
        let mut out = Collected::default();
        for op in 0..8 {
            pipeline.process(Time::ZERO, 1, &[op, 9, 0, 0, 1, 2], &mut out);
        }
        assert_eq!(pipeline.take_trace().events.is_empty(), !traced);
        out
    };
    assert_eq!(run(true), run(false));
}
