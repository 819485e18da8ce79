//! Rules that are not of types: each small program is told what it breaks, and the sound one beside it nothing.

use p4::diagnostic::{Diagnostics, Severity};
use p4::preprocess::{Options, preprocess};
use p4::source::{IncludeError, Includes, Sources};

pub(crate) struct Library;

impl Includes for Library {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        let text = p4::library::file(name).ok_or("not there")?;
        Ok((name.to_owned(), text.to_owned()))
    }
}

/// Codes of the errors and warnings, with the lines of the program where they are.
fn told(text: &str) -> Vec<(Severity, &'static str, u32)> {
    let (mut sources, mut diagnostics) = (Sources::default(), Diagnostics::default());
    let tokens = preprocess(
        "t.p4",
        text,
        &mut Library,
        &Options::default(),
        &mut sources,
        &mut diagnostics,
    );
    let program = p4::parse::parse(&tokens, &sources, &mut diagnostics);
    assert!(!diagnostics.failed(), "{:?}", diagnostics.sorted());
    let _ = p4::check::check(program, &mut diagnostics);
    let list = diagnostics.sorted();
    list.into_iter()
        .map(|d| {
            let line = sources.location(d.span.start).map_or(0, |place| place.line);
            (d.severity, d.code, line)
        })
        .collect()
}

#[test]
fn what_an_architecture_offers_need_not_be_used() {
    let program = include_str!("../../../testdata/p4/psa_empty_group.p4");
    assert_eq!(told(program), []);
    // And a property for groups is for tables with groups.
    let without = program.replacen("psa_implementation = selector;", "size = 4;", 1);
    let list = told(&without);
    assert!(
        list.contains(&(Severity::Warning, "unused-property", 20)),
        "{list:?}"
    );
}

pub(crate) fn errors(text: &str) -> Vec<(&'static str, u32)> {
    let all = told(text).into_iter();
    all.filter(|(severity, ..)| *severity == Severity::Error)
        .map(|(_, code, line)| (code, line))
        .collect()
}

pub(crate) fn warnings(text: &str) -> Vec<(&'static str, u32)> {
    assert_eq!(errors(text), [], "{text}");
    let all = told(text).into_iter();
    all.map(|(_, code, line)| (code, line)).collect()
}

/// A v1model program around the body of an ingress control; the body begins on line 1.
pub(crate) fn ingress(locals: &str, apply: &str) -> String {
    format!(
        "control I(inout H h, inout M m, inout standard_metadata_t s) {{ {locals} apply {{ {apply} }} }}
#include <v1model.p4>
",
    )
    .replace(
        "control I",
        "#include <v1model.p4>\nheader E { bit<8> a; bit<16> b; int<8> c; }\nstruct H { E e; }\nstruct M { bit<8> x; }\n\
         parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { p.extract(h.e); transition accept; } }\n\
         control V(inout H h, inout M m) { apply { } }\n\
         control G(inout H h, inout M m, inout standard_metadata_t s) { apply { } }\n\
         control D(packet_out p, in H h) { apply { p.emit(h.e); } }\n\
         control I",
    ) + "V1Switch(P(), V(), I(), G(), V(), D()) main;\n"
}

/// The line on which the control stands in [`ingress`].
pub(crate) const FIRST: u32 = 9;

#[test]
fn a_function_returns_on_every_path() {
    let good = "bit<8> f(in bit<8> a) { if (a == 1) { return 2; } else { return a; } }";
    assert_eq!(errors(good), []);
    let bad = "\nbit<8> f(in bit<8> a) { if (a == 1) { return 2; } }";
    assert_eq!(errors(bad), [("missing-return", 2)]);
    let by_switch =
        "bit<8> f(in bit<8> a) { switch (a) { 1: { return 1; } default: { return 2; } } }";
    assert_eq!(errors(&format!("#include <core.p4>\n{by_switch}")), []);
}

#[test]
fn a_statement_behind_a_return_is_unreachable() {
    let text = "bit<8> f(in bit<8> a) {\n return a;\n return 1;\n}";
    assert_eq!(warnings(text), [("unreachable", 3)]);
}

#[test]
fn a_parser_has_a_start_and_an_end() {
    assert_eq!(
        errors("parser p() {\n state s { transition accept; } }"),
        [("no-start-state", 1)]
    );
    let round = "parser p() { state start { transition a; } state a { transition start; } }";
    assert_eq!(errors(round), [("never-accepts", 1)]);
    let rejects = "parser p() { state start { transition reject; } }";
    assert_eq!(warnings(rejects), [("unreachable", 1)]);
    let late = "parser p(in bit<8> a) { state start { transition select(a) {\n 1: accept; _: reject;\n 2: accept; } } }";
    assert_eq!(warnings(late), [("unreachable", 3)]);
    let aside =
        "parser p() { state start { transition accept; }\n state a { transition reject; } }";
    assert_eq!(warnings(aside), [("unreachable", 2)]);
}

#[test]
fn a_table_lists_its_actions_and_names_its_keys() {
    let bad = ingress("table t { key = { h.e.a : exact; } }", "t.apply();");
    assert_eq!(errors(&bad), [("no-actions", FIRST)]);
    let computed = "action n() { }\ntable t { key = { h.e.a + 1 : exact; } actions = { n; } default_action = n; }";
    assert_eq!(
        errors(&ingress(computed, "t.apply();")),
        [("key-name", FIRST + 1)]
    );
    let named = "action n() { } table t { key = { h.e.a + 1 : exact @name(\"k\"); } actions = { n; } default_action = n; }";
    assert_eq!(warnings(&ingress(named, "t.apply();")), []);
}

#[test]
fn marked_actions_stay_where_they_may_be() {
    let table = |entry: &str, default: &str| {
        let locals = format!(
            "action a() {{ }} action b() {{ }}
             table t {{ key = {{ h.e.a : exact; }} actions = {{ @defaultonly a; @tableonly b; }}
             const entries = {{ 1 : {entry}(); }}
             default_action = {default}(); }}"
        );
        errors(&ingress(&locals, "t.apply();"))
    };
    assert_eq!(table("b", "a"), []);
    assert_eq!(table("a", "a"), [("action-use", FIRST + 2)]);
    assert_eq!(table("b", "b"), [("action-use", FIRST + 3)]);
}

#[test]
fn entries_fit_their_match_kinds() {
    let entry = |kind: &str, keyset: &str| {
        let locals = format!(
            "action n() {{ }} table t {{ key = {{ h.e.a : {kind}; }} actions = {{ n; }} default_action = n();
             const entries = {{ {keyset} : n(); }} }}"
        );
        errors(&ingress(&locals, "t.apply();"))
    };
    let wrong = [("keyset", FIRST + 1)];
    assert_eq!(entry("lpm", "0x10 &&& 0xf0"), []);
    assert_eq!(entry("lpm", "0x10 &&& 0xf1"), wrong);
    assert_eq!(entry("exact", "0x10 &&& 0xf0"), wrong);
    assert_eq!(entry("ternary", "0x10 &&& 0xf1"), []);
    assert_eq!(entry("ternary", "1 .. 5"), wrong);
    assert_eq!(entry("range", "1 .. 5"), []);
    assert_eq!(entry("range", "1 &&& 5"), wrong);
    assert_eq!(entry("optional", "1 &&& 5"), wrong);
    assert_eq!(entry("optional", "_"), []);
}

#[test]
fn entries_that_never_match_are_told() {
    let entries = |kind: &str, entries: &str| {
        let locals = format!(
            "action n() {{ }} table t {{ key = {{ h.e.a : {kind}; }} actions = {{ n; }} default_action = n();
             const entries = {{ {entries} }} }}"
        );
        ingress(&locals, "t.apply();")
    };
    let twice = entries("exact", "1 : n();\n 2 : n();\n 1 : n();");
    assert_eq!(errors(&twice), [("duplicate-entry", FIRST + 3)]);
    let covered = entries("ternary", "0 &&& 0xf0 : n();\n 3 : n();");
    assert_eq!(warnings(&covered), [("covered-entry", FIRST + 2)]);
    let lets_win = entries(
        "ternary",
        "0 &&& 0xf0 : n() @priority(2);\n 3 : n() @priority(1);",
    );
    assert_eq!(warnings(&lets_win), []);
    let beside = entries("ternary", "0 &&& 0xf0 : n();\n 0x13 : n();\n _ : n();");
    assert_eq!(warnings(&beside), []);
}

#[test]
fn priorities_stand_where_they_count() {
    let table = |kind: &str, entries: &str, more: &str| {
        let locals = format!(
            "action n() {{ }} table t {{ key = {{ h.e.a : {kind}; }} actions = {{ n; }} default_action = n(); {more}
             entries = {{ {entries} }} }}"
        );
        errors(&ingress(&locals, "t.apply();"))
    };
    let wrong = [("priority", FIRST + 1)];
    assert_eq!(table("ternary", "priority = 3 : 1 : n(); 2 : n();", ""), []);
    assert_eq!(
        table("exact", "priority = 3 : 1 : n(); 2 : n();", ""),
        wrong
    );
    assert_eq!(
        table("ternary", "1 : n(); priority = 3 : 2 : n();", ""),
        wrong
    );
    let falling = "priority = 5 : 1 : n(); 2 : n();";
    assert_eq!(table("ternary", falling, "priority_delta = 10;"), wrong);
    assert_eq!(
        table(
            "ternary",
            falling,
            "priority_delta = 10; largest_priority_wins = false;"
        ),
        []
    );
}

#[test]
fn the_control_plane_knows_each_thing_by_one_name() {
    let same = "@name(\"x\") action a() { }\n@name(\"x\") action b(bit<8> v) { }";
    let table = "table t { actions = { a; b; } default_action = a(); }";
    let bad = ingress(&format!("{same} {table}"), "t.apply();");
    assert_eq!(errors(&bad), [("duplicate-name", FIRST + 1)]);
    // p4c writes one for each table, and they are all the same.
    let nothing = "@name(\".NoAction\") action a() { }\n@name(\".NoAction\") action b() { }";
    assert_eq!(
        errors(&ingress(&format!("{nothing} {table}"), "t.apply();")),
        []
    );
    let good = ingress(
        &format!("action a() {{ }} action b() {{ }} {table}"),
        "t.apply();",
    );
    assert_eq!(warnings(&good), []);
}

#[test]
fn known_annotations_have_their_form() {
    assert_eq!(errors("@name(4) const bit<8> a = 1;"), [("annotation", 1)]);
    assert_eq!(errors("@pkginfo const bit<8> a = 1;"), [("annotation", 1)]);
    let translated = |ty: &str| {
        errors(&format!(
            "@p4runtime_translation(\"example.org/port\", {ty}) type bit<9> P;"
        ))
    };
    assert_eq!(translated("32"), []);
    assert_eq!(translated("string"), []);
    assert_eq!(translated("bool"), [("annotation", 1)]);
}

#[test]
fn reading_before_writing_is_told() {
    let apply = |apply: &str| warnings(&ingress("", apply));
    let wrong = [("uninitialized", FIRST + 1)];
    assert_eq!(apply("bit<8> x;\n m.x = x;"), wrong);
    assert_eq!(
        apply("bit<8> x; if (m.x == 1) { x = 1; }\n m.x = x;"),
        wrong
    );
    assert_eq!(
        apply("bit<8> x; if (m.x == 1) { x = 1; } else { x = 2; } m.x = x;"),
        []
    );
    assert_eq!(
        apply("bit<8> x; if (m.x == 1) { x = 1; } else { return; } m.x = x;"),
        []
    );
    assert_eq!(apply("M n;\n m.x = n.x;"), wrong);
    assert_eq!(apply("M n; n.x = 1; m = n;"), []);
}

#[test]
fn tables_run_one_of_their_actions() {
    let table = "action a() { y = 1; } table t { actions = { a; b; } default_action = a(); }";
    let both = ingress(
        &format!("bit<8> y; action b() {{ y = 2; }} {table}"),
        "t.apply(); m.x = y;",
    );
    assert_eq!(warnings(&both), []);
    let one = ingress(
        &format!("bit<8> y; action b() {{ }} {table}"),
        "t.apply();\n m.x = y;",
    );
    assert_eq!(warnings(&one), [("uninitialized", FIRST + 1)]);
}

#[test]
fn what_a_parser_gives_out_is_written_on_every_way() {
    let text = |extra: &str| {
        format!(
            "#include <core.p4>\nheader E {{ bit<8> a; }}
parser p(packet_in b, out bit<8> v, out E e) {{
 state start {{ b.extract(e); transition select(e.a) {{ 1: one; default: other; }} }}
 state one {{ v = 1; transition accept; }}
 state other {{ {extra} transition accept; }} }}"
        )
    };
    assert_eq!(warnings(&text("v = 2;")), []);
    assert_eq!(warnings(&text("")), [("uninitialized", 3)]);
}

#[test]
fn what_is_never_used_is_told() {
    let unused = [("unused", FIRST)];
    assert_eq!(warnings(&ingress("bit<8> x;", "")), unused);
    assert_eq!(warnings(&ingress("action a() { }", "")), unused);
    assert_eq!(
        warnings(&ingress("counter(4, CounterType.packets) c;", "")),
        unused
    );
    assert_eq!(warnings(&ingress("bit<8> x;", "x = 1;")), unused);
    assert_eq!(warnings(&ingress("@noWarn(\"unused\") bit<8> x;", "")), []);
    assert_eq!(warnings(&ingress("bit<8> x;", "x = 1; m.x = x;")), []);
}

/// A program for v1model, with parts of its own.
fn switch(fields: &str, states: &str, locals: &str, apply: &str, emits: &str) -> String {
    format!(
        "#include <core.p4>\n#include <v1model.p4>
header a_t {{ bit<8> x; bit<8> y; }}
{fields}
struct meta {{ }}
parser P(packet_in p, out headers h, inout meta m, inout standard_metadata_t s) {{ {states} }}
control V(inout headers h, inout meta m) {{ apply {{ }} }}
control I(inout headers h, inout meta m, inout standard_metadata_t s) {{ {locals} apply {{ {apply} }} }}
control E(inout headers h, inout meta m, inout standard_metadata_t s) {{ apply {{ }} }}
control D(packet_out p, in headers h) {{ apply {{ {emits} }} }}
V1Switch(P(), V(), I(), E(), V(), D()) main;"
    )
}

/// The codes of the warnings.
fn codes(text: &str) -> Vec<&'static str> {
    told(text).into_iter().map(|(_, code, _)| code).collect()
}

const TWO: &str = "struct headers { a_t a; a_t b; }";
/// `b` follows only some packets' `a`.
const SOME: &str =
    "state start { p.extract(h.a); transition select(h.a.x) { 1: more; default: accept; } }
    state more { p.extract(h.b); transition accept; }";
const ALL: &str = "state start { p.extract(h.a); p.extract(h.b); transition accept; }";
const TABLE: &str = "table t { key = { h.b.x: exact; } actions = { NoAction; } }";

#[test]
fn a_header_that_nothing_extracts_is_told_where_it_is_used() {
    let one = "state start { p.extract(h.a); transition accept; }";
    let program = |locals, apply| switch(TWO, one, locals, apply, "p.emit(h);");
    assert_eq!(codes(&program("", "h.a.y = 1;")), [""; 0]);
    assert_eq!(codes(&program("", "h.a.y = h.b.x;")), ["invalid-header"]);
    for made in [
        "h.b.setValid(); h.b = { 1, 2 };",
        "h.b.setValid(); h.b.x = 1;",
        "h.b = h.a; h.b.x = 1;",
    ] {
        assert_eq!(codes(&program("", made)), [""; 0], "{made}");
    }
    let fields = "struct headers { a_t a; @noWarn(\"invalid-header\") a_t b; }";
    let silent = switch(fields, one, "", "h.a.y = h.b.x;", "p.emit(h);");
    assert_eq!(codes(&silent), [""; 0]);
}

#[test]
fn a_header_that_no_deparser_emits_is_told() {
    let program = |fields, apply, emits| switch(fields, ALL, "", apply, emits);
    assert_eq!(codes(&program(TWO, "", "p.emit(h);")), [""; 0]);
    assert_eq!(
        codes(&program(TWO, "", "p.emit(h.a); p.emit(h.b);")),
        [""; 0]
    );
    assert_eq!(codes(&program(TWO, "", "p.emit(h.a);")), ["not-emitted"]);
    // One word about a deparser that is empty.
    assert_eq!(codes(&program(TWO, "", "")), ["not-emitted"]);
    // Taken away, or living on in another header, on purpose.
    assert_eq!(
        codes(&program(TWO, "h.b.setInvalid();", "p.emit(h.a);")),
        [""; 0]
    );
    assert_eq!(codes(&program(TWO, "h.a = h.b;", "p.emit(h.a);")), [""; 0]);
    let silent = "struct headers { a_t a; @noWarn(\"not-emitted\") a_t b; }";
    assert_eq!(codes(&program(silent, "", "p.emit(h.a);")), [""; 0]);
    let controllers = "@controller_header(\"packet_out\") header out_t { bit<8> x; bit<8> y; }
        struct headers { a_t a; out_t b; }";
    assert_eq!(codes(&program(controllers, "", "p.emit(h.a);")), [""; 0]);
}

#[test]
fn a_key_of_a_header_that_not_every_packet_has_is_told() {
    let program = |states, table, apply| switch(TWO, states, table, apply, "p.emit(h);");
    assert_eq!(
        codes(&program(SOME, TABLE, "t.apply();")),
        ["invalid-header"]
    );
    assert_eq!(codes(&program(ALL, TABLE, "t.apply();")), [""; 0]);
    let guarded = "if (h.b.isValid()) { t.apply(); }";
    assert_eq!(codes(&program(SOME, TABLE, guarded)), [""; 0]);
    let chain = "if (h.a.x == 2) { } else if (t.apply().hit) { }";
    assert_eq!(codes(&program(SOME, TABLE, chain)), [""; 0]);
    let both = "if (h.b.isValid() && t.apply().hit) { }";
    assert_eq!(codes(&program(SOME, TABLE, both)), [""; 0]);
    let alone = "if (t.apply().hit) { }";
    assert_eq!(codes(&program(SOME, TABLE, alone)), ["invalid-header"]);
    let asks = TABLE.replace("h.b.x: exact;", "h.b.isValid(): exact; h.b.x: ternary;");
    assert_eq!(codes(&program(SOME, &asks, "t.apply();")), [""; 0]);
    let silent = format!("@noWarn(\"invalid-header\") {TABLE}");
    assert_eq!(codes(&program(SOME, &silent, "t.apply();")), [""; 0]);
}

#[test]
fn a_table_that_is_applied_again_on_one_way_is_told() {
    let program = |apply| switch(TWO, ALL, TABLE, apply, "p.emit(h);");
    assert_eq!(codes(&program("t.apply(); t.apply();")), ["applied-twice"]);
    assert_eq!(
        codes(&program("if (h.a.x == 1) { t.apply(); } t.apply();")),
        ["applied-twice"]
    );
    for once in [
        "if (h.a.x == 1) { t.apply(); } else { t.apply(); }",
        "if (h.a.x == 1) { t.apply(); } else if (h.a.x == 2) { t.apply(); }",
        "if (h.a.x == 1) { t.apply(); exit; } t.apply();",
        "if (h.a.x == 1) { t.apply(); } else if (t.apply().hit) { }",
        "switch (h.a.x) { 1: { t.apply(); } 2: { t.apply(); } }",
    ] {
        assert_eq!(codes(&program(once)), [""; 0], "{once}");
    }
}

#[test]
fn two_keys_of_longest_prefixes_are_told() {
    let table = |second| {
        let keys = format!("h.a.x: lpm; h.b.x: {second};");
        let table = TABLE.replace("h.b.x: exact;", &keys);
        codes(&switch(TWO, ALL, &table, "t.apply();", "p.emit(h);"))
    };
    assert_eq!(table("lpm"), ["lpm-keys"]);
    assert_eq!(table("ternary"), [""; 0]);
}
