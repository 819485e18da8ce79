//! Figures 3.6 to 3.10 of paper 002 for hardware from P4: throughput of a program that only forwards by the length of packets, latency and
//! throughput by headers parsed, tables one behind the other, and fields written.
//!
//! `cargo run -p wireline-cosim --example p4_figures [-- MHZ]` makes each program, runs it cycle by cycle, and prints a line for each; `MHZ` is
//! the clock that cycles are told at, 250 as in the paper.

use cosim::p4::Rtl;
use p4::compile::{Options, compile};
use pipeline::architecture::{Config, Pipeline};
use pipeline::context::Context;
use pipeline::engine::Engine;
use pipeline::environment::Environment;
use pipeline::interpreter::Interpreter;
use std::error::Error;
use std::fmt::Write;
use std::sync::Arc;

/// What a program of v1model has beside headers, parser states and what ingress does.
fn program(headers: &str, fields: &str, states: &str, ingress: &str, emits: &str) -> String {
    format!(
        "#include <core.p4>
#include <v1model.p4>
{headers}
struct headers {{ {fields} }}
struct metadata {{ bit<16> x; }}
parser P(packet_in b, out headers h, inout metadata m, inout standard_metadata_t s) {{ {states} }}
control V(inout headers h, inout metadata m) {{ apply {{ }} }}
control I(inout headers h, inout metadata m, inout standard_metadata_t s) {{ {ingress} }}
control E(inout headers h, inout metadata m, inout standard_metadata_t s) {{ apply {{ }} }}
control C(inout headers h, inout metadata m) {{ apply {{ }} }}
control D(packet_out b, in headers h) {{ apply {{ {emits} }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
    )
}

/// Headers of 16 bits, one behind the other.
fn parses(count: usize) -> String {
    let (mut fields, mut states, mut emits) = (String::new(), String::new(), String::new());
    if count == 0 {
        states += "state start { transition accept; }";
    }
    for number in 0..count {
        let state = match number {
            0 => "start".into(),
            number => format!("s{number}"),
        };
        let next = match number + 1 {
            next if next == count => "accept".into(),
            next => format!("select(h.h{number}.more) {{ 1: s{next}; default: accept; }}"),
        };
        let _ = write!(fields, "one h{number}; ");
        let _ = write!(
            states,
            "state {state} {{ b.extract(h.h{number}); transition {next}{} }} ",
            if next == "accept" { ";" } else { "" }
        );
        let _ = write!(emits, "b.emit(h.h{number}); ");
    }
    let ingress = "apply { s.egress_spec = 1; }";
    let header = "header one { bit<8> more; bit<8> rest; }";
    program(header, &fields, &states, ingress, &emits)
}

const FIRST: &str = "state start { b.extract(h.h0); transition accept; }";

/// Tables of which each has the key that the last has made.
fn tables(count: usize) -> String {
    let mut ingress =
        String::from("action set(bit<16> x) { m.x = x; } action miss() { m.x = m.x + 1; }");
    let mut applies = String::new();
    for number in 0..count {
        let _ = write!(
            ingress,
            " table t{number} {{ key = {{ m.x: exact; }} actions = {{ set; miss; }} default_action = miss(); size = 256; }}"
        );
        let _ = write!(applies, "t{number}.apply(); ");
    }
    let _ = write!(
        ingress,
        " apply {{ m.x = h.h0.a; {applies} h.h0.a = m.x; s.egress_spec = 1; }}"
    );
    let header = "header one { bit<16> a; }";
    program(header, "one h0;", FIRST, &ingress, "b.emit(h.h0);")
}

/// Fields that an action writes.
fn writes(count: usize) -> String {
    let (mut fields, mut action) = (String::new(), String::new());
    for number in 0..count {
        let _ = write!(fields, "bit<16> f{number}; ");
        let _ = write!(action, "h.h0.f{number} = h.h0.f{number} + {number} + x; ");
    }
    let ingress = format!(
        "action all(bit<16> x) {{ {action} }} table t {{ key = {{ h.h0.f0: exact; }} actions = {{ all; }} default_action = all(7); size = 256; }} apply {{ t.apply(); s.egress_spec = 1; }}"
    );
    let header = format!("header one {{ {fields} }}");
    program(&header, "one h0;", FIRST, &ingress, "b.emit(h.h0);")
}

/// Latency of the first word, cycles a packet back to back, and cycles of the pipeline, for packets of so many bytes.
fn measure(text: &str, bytes: usize) -> Result<(u64, f64, u32), Box<dyn Error>> {
    let compiled = compile(
        "figure.p4",
        text,
        &mut p4::library::WithFiles(|_: &str| None),
        &Options::default(),
    );
    let compiled = compiled.program.ok_or("the program has errors")?;
    let environment = Arc::new(Environment::new(Arc::new(compiled), Default::default())?);
    let interpreter = Interpreter::new(&environment)?;
    let asked = Pipeline::new(&environment, Box::new(interpreter), &Config::default())?;
    let mut rtl = Rtl::new(&environment);
    rtl.prepare(asked.path())?;
    let context = Context::new(Arc::clone(&environment), 0);
    let packet = vec![1; bytes];
    let many: Vec<(u16, &[u8])> = (0..100).map(|_| (0, &packet[..])).collect();
    let passages = rtl.stream(&many, &context)?;
    let (first, last) = (&passages[0], &passages[passages.len() - 1]);
    let each = (last.last_out - first.last_out) as f64 / (passages.len() - 1) as f64;
    let stages = rtl.design().map_or(0, |design| design.stages);
    Ok((first.first_out - first.first_in, each, stages))
}

/// A line for a program.
fn tell(name: &str, mhz: f64, bytes: usize, text: &str) -> Result<(), Box<dyn Error>> {
    let (latency, each, stages) = measure(text, bytes)?;
    let packets = mhz / each;
    println!(
        "{name}\t{stages}\t{latency}\t{:.0}\t{each:.2}\t{:.1}\t{packets:.1}",
        latency as f64 * 1000.0 / mhz,
        packets * bytes as f64 * 8.0 / 1000.0
    );
    Ok(())
}

/// A program with so many of what is counted.
type Make = fn(usize) -> String;

fn main() -> Result<(), Box<dyn Error>> {
    let mhz: f64 = match std::env::args().nth(1) {
        Some(mhz) => mhz.parse()?,
        None => 250.0,
    };
    println!("at {mhz} MHz; figures 3.7 to 3.10 with packets of 256 bytes");
    println!("figure\tpipeline\tfirst word\tns\tcycles a packet\tGb/s\tMpackets/s");
    for bytes in [64, 128, 256, 512, 1024, 1516] {
        tell(&format!("3.6 bytes {bytes}"), mhz, bytes, &parses(0))?;
    }
    let series: [(&str, Make, &[usize]); 3] = [
        ("3.7, 3.8 headers", parses, &[1, 2, 4, 8, 16]),
        ("3.9 tables", tables, &[1, 2, 4, 8, 16, 32]),
        ("3.10 writes", writes, &[8, 16, 32, 64]),
    ];
    for (name, make, counts) in series {
        for count in counts {
            tell(&format!("{name} {count}"), mhz, 256, &make(*count))?;
        }
    }
    Ok(())
}
