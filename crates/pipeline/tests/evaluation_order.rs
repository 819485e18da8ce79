//! The order of evaluation (P4_16 6.8 and 12.1): random programs whose arguments have side effects,
//! against a model that evaluates what a call gives one after the other and copies out in the same
//! order.

use crate::programs;
use node::Time;
use node::random::Random;
use p4::compile::Options;
use pipeline::architecture::Collected;
use std::fmt::Write;

/// The variables of a packet, the last two in a header stack.
const VARIABLES: usize = 6;
const ELEMENTS: usize = 2;

const HEAD: &str = r#"
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> v0; bit<8> v1; bit<8> v2; bit<8> v3; bit<8> v4; bit<8> v5; }
header s_t { bit<8> x; }
struct H { h_t h; s_t[2] s; }
struct M { }
struct pair_t { bit<8> a; bit<8> b; }
bit<8> next(inout bit<8> x) { x = x * 3 + 1; return x; }
bit<8> mix(in bit<8> a, in bit<8> b, in bit<8> c) { return a + 3 * b + 7 * c; }
bit<8> sum(in pair_t p) { return p.a + 5 * p.b; }
void both(out bit<8> a, out bit<8> b) { a = 0x51; b = 0xa7; }
void turn(inout bit<8> a, inout bit<8> b, in bit<8> c) { a = a + c; b = b ^ a; }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
    state start { p.extract(h.h); p.extract(h.s.next); p.extract(h.s.next); transition accept; }
}
control V(inout H h, inout M m) { apply { } }
control Turn(inout bit<8> a, inout bit<8> b, in bit<8> c) { apply { a = a + c; b = b ^ a; } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    Turn() turner;
    action act(inout bit<8> a, inout bit<8> b, in bit<8> c) { a = a + c; b = b ^ a; }
    apply {
"#;
const TAIL: &str = r#"    }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in H h) { apply { p.emit(h.h); p.emit(h.s); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"#;

enum Place {
    Variable(usize),
    /// `h.s[e & 1].x`
    Element(Box<Expr>),
}

enum Expr {
    Constant(u8),
    Read(Place),
    Next(Place),
    Add(Box<Expr>, Box<Expr>),
    /// `mix(...)`: the places of the parameters in the order of the call.
    Mix(Vec<(usize, Expr)>),
    /// `sum({ ... })`, the fields in the order in which they stand.
    Sum(Vec<(usize, Expr)>),
}

enum Statement {
    Assign(Place, Expr),
    Both(Vec<(usize, Place)>),
    /// A function, an action or a control with two places and a value.
    Turn(&'static str, Vec<(usize, Argument)>),
}

enum Argument {
    Place(Place),
    Value(Expr),
}

fn place(random: &mut Random, depth: u32) -> Place {
    match random.index(4) {
        0 if depth > 0 => Place::Element(Box::new(expression(random, depth - 1))),
        _ => Place::Variable(random.index(VARIABLES)),
    }
}

fn expression(random: &mut Random, depth: u32) -> Expr {
    match random.index(if depth > 0 { 9 } else { 3 }) {
        0 => Expr::Constant(random.index(256) as u8),
        1 => Expr::Read(place(random, depth)),
        2 | 3 => Expr::Next(place(random, depth)),
        4 => Expr::Add(
            Box::new(expression(random, depth - 1)),
            Box::new(expression(random, depth - 1)),
        ),
        5 | 6 => Expr::Sum(named(random, 2, depth)),
        _ => Expr::Mix(named(random, 3, depth)),
    }
}

fn named(random: &mut Random, count: usize, depth: u32) -> Vec<(usize, Expr)> {
    let order = programs::order(random, count);
    let give = |at| (at, expression(random, depth - 1));
    order.into_iter().map(give).collect()
}

fn statement(random: &mut Random) -> Statement {
    match random.index(4) {
        0 => Statement::Assign(place(random, 2), expression(random, 3)),
        1 => {
            let order = programs::order(random, 2).into_iter();
            Statement::Both(order.map(|at| (at, place(random, 2))).collect())
        }
        _ => {
            let called = ["turn", "act", "turner.apply"][random.index(3)];
            let order = programs::order(random, 3).into_iter();
            let give = |at| match at {
                2 => (at, Argument::Value(expression(random, 2))),
                _ => (at, Argument::Place(place(random, 2))),
            };
            Statement::Turn(called, order.map(give).collect())
        }
    }
}

const NAMES: [&str; 3] = ["a", "b", "c"];

fn place_text(place: &Place) -> String {
    match place {
        Place::Variable(at) => format!("h.h.v{at}"),
        Place::Element(index) => format!("h.s[({}) & 1].x", text(index)),
    }
}

fn list(given: &[(usize, Expr)]) -> String {
    let given = given.iter();
    let given: Vec<_> = given
        .map(|(at, e)| format!("{} = {}", NAMES[*at], text(e)))
        .collect();
    given.join(", ")
}

fn text(e: &Expr) -> String {
    match e {
        Expr::Constant(value) => format!("8w{value}"),
        Expr::Read(place) => place_text(place),
        Expr::Next(place) => format!("next({})", place_text(place)),
        Expr::Add(a, b) => format!("({} + {})", text(a), text(b)),
        Expr::Mix(given) => format!("mix({})", list(given)),
        Expr::Sum(given) => format!("sum({{ {} }})", list(given)),
    }
}

fn line(statement: &Statement) -> String {
    match statement {
        Statement::Assign(place, e) => format!("{} = {};", place_text(place), text(e)),
        Statement::Both(given) => {
            let given = given.iter();
            let given: Vec<_> = given
                .map(|(at, place)| format!("{} = {}", NAMES[*at], place_text(place)))
                .collect();
            format!("both({});", given.join(", "))
        }
        Statement::Turn(called, given) => {
            let given = given.iter().map(|(at, argument)| {
                let value = match argument {
                    Argument::Place(place) => place_text(place),
                    Argument::Value(e) => text(e),
                };
                format!("{} = {value}", NAMES[*at])
            });
            format!("{called}({});", given.collect::<Vec<_>>().join(", "))
        }
    }
}

type State = [u8; VARIABLES + ELEMENTS];

/// Where a place is, once its index is evaluated.
fn resolve(place: &Place, state: &mut State) -> usize {
    match place {
        Place::Variable(at) => *at,
        Place::Element(index) => VARIABLES + usize::from(value(index, state) & 1),
    }
}

fn weigh(given: &[(usize, Expr)], weights: &[u8], state: &mut State) -> u8 {
    given.iter().fold(0u8, |sum, (at, e)| {
        sum.wrapping_add(weights[*at].wrapping_mul(value(e, state)))
    })
}

fn value(e: &Expr, state: &mut State) -> u8 {
    match e {
        Expr::Constant(value) => *value,
        Expr::Read(place) => state[resolve(place, state)],
        Expr::Next(place) => {
            let at = resolve(place, state);
            state[at] = state[at].wrapping_mul(3).wrapping_add(1);
            state[at]
        }
        Expr::Add(a, b) => {
            let a = value(a, state);
            a.wrapping_add(value(b, state))
        }
        Expr::Mix(given) => weigh(given, &[1, 3, 7], state),
        Expr::Sum(given) => weigh(given, &[1, 5], state),
    }
}

fn run(statement: &Statement, state: &mut State) {
    match statement {
        Statement::Assign(place, e) => {
            let at = resolve(place, state);
            state[at] = value(e, state);
        }
        Statement::Both(given) => {
            let places: Vec<_> = given
                .iter()
                .map(|(parameter, place)| (*parameter, resolve(place, state)))
                .collect();
            for (parameter, at) in places {
                state[at] = [0x51, 0xa7][parameter];
            }
        }
        Statement::Turn(_, given) => {
            let (mut values, mut places) = ([0u8; 3], Vec::new());
            for (parameter, argument) in given {
                values[*parameter] = match argument {
                    Argument::Place(place) => {
                        let at = resolve(place, state);
                        places.push((*parameter, at));
                        state[at]
                    }
                    Argument::Value(e) => value(e, state),
                };
            }
            values[0] = values[0].wrapping_add(values[2]);
            values[1] ^= values[0];
            for (parameter, at) in places {
                state[at] = values[parameter];
            }
        }
    }
}

#[test]
fn arguments_are_evaluated_and_copied_out_in_the_order_of_the_call() {
    let mut random = Random::new(5);
    for _ in 0..120 {
        let statements: Vec<_> = (0..5).map(|_| statement(&mut random)).collect();
        let mut program = HEAD.to_string();
        for statement in &statements {
            let _ = writeln!(program, "        {}", line(statement));
        }
        program += TAIL;
        for unoptimized in [false, true] {
            let options = Options {
                unoptimized,
                ..Options::default()
            };
            let (mut pipeline, _) = programs::with("order.p4", &program, &options);
            for _ in 0..3 {
                let mut state = State::default();
                state.fill_with(|| random.index(256) as u8);
                let mut out = Collected::default();
                pipeline.process(Time::ZERO, 1, &state, &mut out);
                for statement in &statements {
                    run(statement, &mut state);
                }
                let sent: Vec<_> = out.packets.iter().map(|(_, bytes)| &bytes[..]).collect();
                assert_eq!(sent, [&state[..]], "unoptimized: {unoptimized}\n{program}");
            }
        }
    }
}
