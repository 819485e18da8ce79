//! What is printed is read as the same tree.

use super::*;
use crate::diagnostic::Diagnostics;
use crate::preprocess::{Options, preprocess};
use crate::source::{IncludeError, Includes, Sources};
use alloc::format;

struct Library;

impl Includes for Library {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        let text = crate::library::file(name).ok_or("not in the library")?;
        Ok((name.into(), text.into()))
    }
}

fn read(text: &str) -> Program {
    let (mut sources, mut diagnostics) = (Sources::default(), Diagnostics::default());
    let options = Options::default();
    let tokens = preprocess(
        "t.p4",
        text,
        &mut Library,
        &options,
        &mut sources,
        &mut diagnostics,
    );
    let program = crate::parse::parse(&tokens, &sources, &mut diagnostics);
    for diagnostic in diagnostics.iter() {
        assert!(
            diagnostic.severity < crate::diagnostic::Severity::Error,
            "{}\n{text}",
            diagnostic.render(&sources)
        );
    }
    program
}

/// The tree without places, and without the base in which a number was written: it is printed to
/// base 10.
fn shape(program: &Program) -> String {
    let mut text = format!("{:?}", program.declarations);
    for radix in [2, 8, 16] {
        text = text.replace(&format!(", radix: {radix} }}"), ", radix: 10 }");
    }
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("Span {") {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        rest = &rest[rest.find('}').map_or(rest.len(), |end| end + 1)..];
    }
    out + rest
}

fn round_trip(text: &str) {
    let program = read(text);
    let printed = super::program(&program);
    let again = read(&printed);
    assert_eq!(shape(&program), shape(&again), "{printed}");
}

#[test]
fn the_library_is_printed_and_read_as_the_same() {
    for name in ["core.p4", "v1model.p4", "psa.p4", "pna.p4"] {
        round_trip(&format!("#include <{name}>\n"));
    }
}

#[test]
fn operators_keep_their_brackets_where_they_need_them() {
    for text in [
        "a - (b - c)",
        "(a - b) - c",
        "-(-a)",
        "!(a && b) || c",
        "(a ? b : c) ? (d ? e : f) : g ? h : i",
        "(bit<8>) (a + b)",
        "((bit<8>) a)[3:0]",
        "(a ++ b)[7:0]",
        "f<bit<8>>(x) >> 2",
        "(a | b) & c == d",
        "{a, {b}, ...}",
        "{x = 1, ...}",
        "{...}",
        "{}",
        "{#}",
        "\"a\\\"b\\n\\\\\"",
        "8s255",
        "4w3",
        "0xFF",
        "E.A",
        "(a + b).c",
        "error.NoError == e",
        ".a.b",
        "a[i + 1+:8]",
        "(tuple<bit<(1 > 0 ? 2 : 3)>, bool>) {1, true}",
    ] {
        round_trip(&format!("const bit<8> c = {text};"));
    }
}

#[test]
fn every_statement_and_declaration_is_printed_and_read_as_the_same() {
    round_trip(
        "@name(\"x\") @k[a = 1, b = \"c\"] @e[1, 2] typedef bit<8> T; type T U; enum bit<8> E { A = 1, @x B = 2 } enum F { A, B }
         error { Bad } match_kind { odd } header_union u { h<bit<8>> a; } header h<X> { X a; varbit<8> v; }
         extern X { X(in bit<8> a = 3); abstract void f<Y>(in Y y); } extern T g<Y>(@optional in Y y);
         package P<A>(A a); parser pt(packet_in p); control ct<H>(inout H h); T fun(in T a) { return a; }
         parser p(packet_in pk)(bit<8> n) { value_set<bit<8>>(4) vs; bit<8> x = 1; sub() s;
            state start { pk.extract(hdr); { x = 2; } transition select(x, n) { (1, _): s; (2 &&& 3, 4 .. 5): accept; default: reject; } }
            state s { transition accept; } }
         control c(inout h<bit<8>>[4] hs) { X(1) xi = { void f(in bit<8> y) { exit; } };
            action a(bit<8> v) { hs[0].a = v; }
            table t { key = { hs[0].a : exact @name(\"k\"); } actions = { @defaultonly a(1); NoAction; }
               const entries = { const priority = 3 : 1 : a(1) @q; priority = (1 + 2) : (_) : NoAction(); }
               const default_action = a(1); size = 10; }
            apply { const bit<8> k = 1; if (x) if (y) ; else z(); if (x) { if (y) { ; } } else { w(); }
               switch (t.apply().action_run) { a: NoAction: { } default: { return; } }
               @unroll for (bit<8> i = 0, j = 1; i < 3; i |+|= 1, j = 2) { break; } for (bit<8> i in 0 .. 3) continue;
               @atomic { x >>= 1; } hs.push_front(1); g<_>(_); C.apply(x); } }",
    );
}
