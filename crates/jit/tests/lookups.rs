//! Lookups that are code find what lookups that are called find, and these what trying one entry after the other finds, while entries come and go.

use jit::Jit;
use node::Time;
use p4::compile::{Options, compile};
use p4::ir::{ActionCall, KeyMatch, TableId};
use p4::source::{IncludeError, Includes};
use p4::value::Bits;
use pipeline::architecture::{Collected, Config, Pipeline};
use pipeline::engine::Engine;
use pipeline::environment::Environment;
use pipeline::interpreter::Interpreter;
use pipeline::table::{Entry, Tables, Update};
use std::sync::Arc;

struct Library;

impl Includes for Library {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        let text = p4::library::file(name).ok_or("only the library is here")?;
        Ok((name.into(), text.into()))
    }
}

/// One table with these keys, each a field of a header with the others and what fills up the last byte.
fn program(keys: &[(u32, &str)]) -> String {
    let fields: String = (0..keys.len())
        .map(|number| format!("bit<{}> k{number}; ", keys[number].0))
        .collect();
    let total: u32 = keys.iter().map(|(width, _)| width).sum();
    let rest = match total % 8 {
        0 => String::new(),
        used => format!("bit<{}> rest; ", 8 - used),
    };
    let list: String = (0..keys.len())
        .map(|number| format!("h.k.k{number}: {}; ", keys[number].1))
        .collect();
    format!(
        "#include <core.p4>
#include <v1model.p4>
header k_t {{ {fields}{rest}}}
struct headers {{ k_t k; }}
struct metadata {{ }}
parser P(packet_in p, out headers h, inout metadata m, inout standard_metadata_t sm) {{
    state start {{ p.extract(h.k); transition accept; }}
}}
control V(inout headers h, inout metadata m) {{ apply {{ }} }}
control I(inout headers h, inout metadata m, inout standard_metadata_t sm) {{
    action to(bit<9> port) {{ sm.egress_spec = port; }}
    action other(bit<8> mark, bit<9> port) {{ sm.egress_spec = port ^ (bit<9>)mark; }}
    table t {{ key = {{ {list}}} actions = {{ to; other; }} default_action = to(3); size = 5000; }}
    apply {{ t.apply(); }}
}}
control E(inout headers h, inout metadata m, inout standard_metadata_t sm) {{ apply {{ }} }}
control C(inout headers h, inout metadata m) {{ apply {{ }} }}
control D(packet_out p, in headers h) {{ apply {{ p.emit(h.k); }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
    )
}

/// splitmix64
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Values near each other, so that prefixes are within prefixes, and most packets hit something.
fn value(width: u32, state: &mut u64) -> u64 {
    let spread = next(state) & 0x3F | (next(state) & 0x1F) << (width.saturating_sub(7));
    spread & (u64::MAX >> (64 - width))
}

fn packet(values: &[(u32, u64)]) -> Vec<u8> {
    let (mut bytes, mut length) = (Vec::new(), 0);
    for (width, value) in values {
        pipeline::bits::append(&mut bytes, &mut length, &[*value], *width);
    }
    bytes.extend([0xAB; 21]);
    bytes
}

fn agree(keys: &[(u32, &str)], seed: u64) {
    let compiled = compile("t.p4", &program(keys), &mut Library, &Options::default());
    let program = Arc::new(compiled.program.expect("a program without errors"));
    let environment = Environment::new(program, Default::default()).expect("it fits");
    let environment = Arc::new(environment);
    let engines: [Box<dyn Engine>; 2] = [
        Box::new(Jit::new(&environment).expect("this machine can run code")),
        Box::new(Interpreter::new(&environment).expect("its externs are known")),
    ];
    let mut pipelines = engines.map(|engine| {
        Pipeline::new(&environment, engine, &Config::default()).expect("v1model is known")
    });
    let linear = Tables::linear(&environment.program);
    let state = &mut { seed };
    let mut hits = 0;
    for _ in 0..40 {
        for _ in 0..60 {
            let matches = keys.iter().map(|(width, kind)| {
                let bits = Bits::new(*width, value(*width, state));
                match *kind {
                    "lpm" => KeyMatch::Prefix(bits, (next(state) % u64::from(width + 1)) as u32),
                    "ternary" => {
                        let mask = value(*width, state) & value(*width, state);
                        KeyMatch::Mask(bits, Bits::new(*width, mask))
                    }
                    "range" => {
                        let other = Bits::new(*width, value(*width, state));
                        KeyMatch::Range(bits.clone().min(other.clone()), bits.max(other))
                    }
                    _ => KeyMatch::Exact(bits),
                }
            });
            let matches: Vec<_> = matches.collect();
            let port = Bits::new(9, next(state) & 0xFF);
            let (action, arguments) = match next(state) % 2 {
                0 => (0, vec![port]),
                _ => (1, vec![Bits::new(8, next(state) & 0xFF), port]),
            };
            let call = ActionCall { action, arguments };
            let priority = match linear.forms()[0].has_priorities() {
                true => 1 + (next(state) % 20) as u32,
                false => 0,
            };
            let update = match next(state) % 4 {
                0 => Update::Delete(TableId(0), matches, priority),
                _ => {
                    let entry = Entry::new(matches, call).priority(priority);
                    Update::Set(TableId(0), entry)
                }
            };
            // What is not there cannot go.
            assert_eq!(environment.tables.update(&update), linear.update(&update));
        }
        let packets: Vec<_> = (0..60)
            .map(|_| {
                let values = keys.iter().map(|(width, _)| (*width, value(*width, state)));
                let values: Vec<_> = values.collect();
                let cells: Vec<u64> = values.iter().map(|(_, value)| *value).collect();
                let (view, one_by_one) = (environment.tables.view(), linear.view());
                let [found, right] =
                    [&view, &one_by_one].map(|view| view.table(TableId(0)).lookup(&cells).entry);
                assert_eq!(found, right, "{keys:?}, seed {seed}: {cells:x?}");
                packet(&values)
            })
            .collect();
        let [fast, slow] = pipelines.each_mut().map(|pipeline| {
            let mut out = Collected::default();
            for packet in &packets {
                pipeline.process(Time::ZERO, 0, packet, &mut out);
            }
            out
        });
        assert_eq!(fast, slow, "{keys:?}, seed {seed}");
        hits += fast.packets.iter().filter(|(port, _)| *port != 3).count();
    }
    assert!(hits > 100, "{keys:?}: {hits} packets have hit an entry");
}

#[test]
fn short_exact_keys_are_places() {
    for (seed, width) in [1, 6, 9, 15, 16].into_iter().enumerate() {
        agree(&[(width, "exact")], seed as u64);
    }
}

#[test]
fn exact_keys_are_hashed() {
    for (seed, width) in [17, 32, 48, 63, 64].into_iter().enumerate() {
        agree(&[(width, "exact")], seed as u64);
    }
    agree(&[(6, "exact"), (7, "exact")], 10);
    agree(
        &[(6, "exact"), (3, "exact"), (4, "exact"), (1, "exact")],
        11,
    );
    agree(
        &[
            (6, "exact"),
            (3, "exact"),
            (1, "exact"),
            (1, "exact"),
            (2, "exact"),
        ],
        12,
    );
}

#[test]
fn prefixes_are_found_in_the_trie() {
    for (seed, width) in [1, 4, 9, 24, 32, 63, 64].into_iter().enumerate() {
        agree(&[(width, "lpm")], seed as u64);
    }
    agree(&[(3, "exact"), (32, "lpm")], 20);
}

#[test]
fn masks_and_ranges_are_called_for() {
    agree(&[(16, "range"), (9, "range")], 30);
    agree(&[(16, "ternary"), (16, "range")], 31);
    agree(&[(32, "ternary"), (16, "range"), (16, "range")], 32);
    agree(&[(20, "ternary"), (16, "ternary")], 33);
}
