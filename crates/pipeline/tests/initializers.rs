//! Struct, header and list expressions (P4_16 8.26 and 8.28): random ones, with names in any order
//! and with `...`, against a model that fills in field by field, wherever such an expression can
//! stand.

use crate::programs;
use node::Time;
use node::random::Random;
use p4::compile::Options;
use pipeline::architecture::Collected;
use std::fmt::Write;

const TYPES: &str = r#"
#include <core.p4>
#include <v1model.p4>
struct S { bit<8> x; bit<16> y; bit<4> z; }
header W { bit<8> x; bit<16> y; }
struct N { S p; bit<8> q; W w; S r; tuple<bit<16>, bit<8>> t; }
const bit<16> C = 0x1234;
N same(in N n) { return n; }
"#;

/// A type, with the fields of one that has some.
enum Shape {
    Bits(u32),
    Struct(&'static [(&'static str, Shape)]),
    Header(&'static [(&'static str, Shape)]),
    Tuple(&'static [(&'static str, Shape)]),
}

const S: Shape = Shape::Struct(&[
    ("x", Shape::Bits(8)),
    ("y", Shape::Bits(16)),
    ("z", Shape::Bits(4)),
]);
const W: Shape = Shape::Header(&[("x", Shape::Bits(8)), ("y", Shape::Bits(16))]);
const N: Shape = Shape::Struct(&[
    ("p", S),
    ("q", Shape::Bits(8)),
    ("w", W),
    ("r", S),
    (
        "t",
        Shape::Tuple(&[("", Shape::Bits(16)), ("", Shape::Bits(8))]),
    ),
]);
/// Statements that show the value of an `N`: its numbers, and whether its header is valid.
const SHOWN: [&str; 12] = [
    "p.x",
    "p.y",
    "p.z",
    "q",
    "w.isValid()",
    "w.x",
    "w.y",
    "r.x",
    "r.y",
    "r.z",
    "t[0]",
    "t[1]",
];

/// The numbers of a default value.
fn default(shape: &Shape) -> Vec<u64> {
    match shape {
        Shape::Bits(_) => vec![0],
        Shape::Struct(fields) | Shape::Tuple(fields) => fields
            .iter()
            .flat_map(|(_, shape)| default(shape))
            .collect(),
        Shape::Header(fields) => vec![0; fields.len() + 1],
    }
}

/// An expression of the shape as text, and the numbers of its value. Only constants if `fixed`.
fn expression(random: &mut Random, shape: &Shape, fixed: bool) -> (String, Vec<u64>) {
    let (fields, valid) = match shape {
        Shape::Bits(width) => return number(random, *width, fixed),
        Shape::Struct(fields) | Shape::Tuple(fields) => (fields, None),
        Shape::Header(fields) => (fields, Some(1)),
    };
    let is_tuple = matches!(shape, Shape::Tuple(_));
    let by_name = !is_tuple && random.index(3) > 0;
    // Those that are given: any when they have names, else the first ones.
    let given: Vec<usize> = match (is_tuple, by_name) {
        (true, _) => (0..fields.len()).collect(),
        (false, true) => {
            let count = 1 + random.index(fields.len());
            programs::order(random, fields.len())
                .into_iter()
                .take(count)
                .collect()
        }
        (false, false) => (0..1 + random.index(fields.len())).collect(),
    };
    let mut values: Vec<Vec<u64>> = fields.iter().map(|(_, shape)| default(shape)).collect();
    let mut parts = Vec::new();
    for at in &given {
        let (name, shape) = &fields[*at];
        let (text, value) = expression(random, shape, fixed);
        values[*at] = value;
        parts.push(if by_name {
            format!("{name} = {text}")
        } else {
            text
        });
    }
    if given.len() < fields.len() {
        parts.push("...".into());
    }
    let numbers = valid.into_iter().chain(values.into_iter().flatten());
    (format!("{{ {} }}", parts.join(", ")), numbers.collect())
}

fn number(random: &mut Random, width: u32, fixed: bool) -> (String, Vec<u64>) {
    let value = random.index(1 << width) as u64;
    let mask = (1u64 << width) - 1;
    match random.index(if fixed { 3 } else { 5 }) {
        0 => (value.to_string(), vec![value]),
        1 => (format!("{width}w{value}"), vec![value]),
        2 => (format!("(bit<{width}>) C"), vec![0x1234 & mask]),
        // Every packet has 0x2a there.
        3 => (format!("(bit<{width}>) h.h.k"), vec![0x2a & mask]),
        _ => (format!("(bit<{width}>) (h.h.k + 1)"), vec![0x2b & mask]),
    }
}

#[test]
fn named_fields_keep_their_values_and_the_others_get_defaults() {
    let mut random = Random::new(9);
    for _ in 0..60 {
        let (mut top, mut body, mut expected) = (String::new(), String::new(), Vec::new());
        let show = |name: &str, values: &[u64], body: &mut String, expected: &mut Vec<u64>| {
            for (shown, value) in SHOWN.iter().zip(values) {
                // The contents of an invalid header are undefined.
                if shown.starts_with("w.") && values[4] == 0 && *shown != "w.isValid()" {
                    continue;
                }
                let read = match *shown {
                    "w.isValid()" => format!("({name}.w.isValid() ? 16w1 : 0)"),
                    shown => format!("(bit<16>) {name}.{shown}"),
                };
                let _ = writeln!(body, "        h.o.push_front(1); h.o[0] = {{ {read} }};");
                expected.push(*value);
            }
        };
        for at in 0..3 {
            let way = random.index(7);
            let fixed = way < 2 || random.index(2) == 0;
            let (text, values) = expression(&mut random, &N, fixed);
            let name = format!("n{at}");
            let declared = match way {
                0 => {
                    let _ = writeln!(top, "const N c{at} = {text};");
                    format!("N {name} = c{at};")
                }
                1 => {
                    let _ = writeln!(top, "N made{at}(in N n = {text}) {{ return n; }}");
                    format!("N {name} = made{at}();")
                }
                2 => format!("N {name} = same({text});"),
                3 => format!("N {name} = (N) {text};"),
                4 => format!("N {name}; {name} = {text};"),
                5 => {
                    let (other, _) = expression(&mut random, &N, true);
                    format!("N {name} = h.h.k == 0 ? (N) {other} : (N) {text};")
                }
                _ => format!("N {name} = {text};"),
            };
            let _ = writeln!(body, "        {declared}");
            show(&name, &values, &mut body, &mut expected);
            // Equal to the same expression written again.
            let _ = writeln!(
                body,
                "        h.o.push_front(1); h.o[0] = {{ (({name} == (N) {text}) ? 16w1 : 0) }};"
            );
            expected.push(1);
        }
        let program = format!(
            "{TYPES}{top}header K {{ bit<8> k; }} header O {{ bit<16> v; }}
struct H {{ K h; O[40] o; }}
struct M {{ }}
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {{ state start {{ p.extract(h.h); transition accept; }} }}
control V(inout H h, inout M m) {{ apply {{ }} }}
control I(inout H h, inout M m, inout standard_metadata_t s) {{
    apply {{
{body}    }}
}}
control E(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ }} }}
control D(packet_out p, in H h) {{ apply {{ p.emit(h); }} }}
V1Switch(P(), V(), I(), E(), V(), D()) main;
"
        );
        for unoptimized in [false, true] {
            let options = Options {
                unoptimized,
                ..Options::default()
            };
            let (mut pipeline, _) = programs::with("values.p4", &program, &options);
            let mut out = Collected::default();
            pipeline.process(Time::ZERO, 1, &[0x2a], &mut out);
            let sent = &out.packets[0].1;
            assert_eq!(sent[0], 0x2a);
            let mut values: Vec<u64> = sent[1..]
                .chunks(2)
                .map(|pair| u64::from(pair[0]) << 8 | u64::from(pair[1]))
                .collect();
            values.reverse();
            assert_eq!(values, expected, "unoptimized: {unoptimized}\n{program}");
        }
    }
}
