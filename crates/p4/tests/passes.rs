//! What the passes make of programs: which tables become a part of the control flow, what leaves the packet's representation.

use p4::compile::{Cancel, Options, compile};
use p4::ir::{Expr, Program, Role, StatementKind, Terminator, text};
use p4::library;
use p4::source::{IncludeError, Includes};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Library;

impl Includes for Library {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        let text = library::file(name).ok_or_else(|| format!("no {name}"))?;
        Ok((name.into(), text.into()))
    }
}

/// A v1model program with these declarations and statements in ingress, through all passes.
fn program(declarations: &str, apply: &str) -> Program {
    let text = format!(
        "#include <core.p4>
#include <v1model.p4>
header data_t {{ bit<8> op; bit<8> a; bit<4> b; bit<4> c; bit<32> d; bit<48> e; }}
header seen_t {{ bit<16> x; bit<16> y; }}
struct headers {{ seen_t skipped; data_t data; }}
struct meta {{ bit<8> m; bit<8> never; }}
parser P(packet_in p, out headers h, inout meta m, inout standard_metadata_t s) {{
    state start {{ p.extract(h.skipped); p.extract(h.data); transition accept; }}
}}
control V(inout headers h, inout meta m) {{ apply {{ }} }}
control I(inout headers h, inout meta m, inout standard_metadata_t s) {{
    action set(bit<8> v) {{ h.data.a = v; }}
    action note(bit<8> v) {{ m.m = v; }}
    {declarations}
    apply {{ s.egress_spec = 1; {apply} }}
}}
control E(inout headers h, inout meta m, inout standard_metadata_t s) {{ apply {{ }} }}
control C(inout headers h, inout meta m) {{ apply {{ }} }}
control D(packet_out p, in headers h) {{ apply {{ p.emit(h.data); }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
    );
    let compiled = compile("test.p4", &text, &mut Library, &Options::default());
    let rendered: Vec<_> = (compiled.diagnostics.sorted().iter())
        .map(|diagnostic| diagnostic.render(&compiled.sources))
        .collect();
    let program = compiled.program;
    let program = program.unwrap_or_else(|| panic!("{}", rendered.join("\n")));
    p4::ir::validate(&program).unwrap();
    program
}

/// How often ingress looks up in a table, and how often it compares.
fn decisions(program: &Program) -> (usize, usize) {
    let ingress = program
        .sections
        .iter()
        .find(|one| one.role == Role::Ingress);
    let blocks = &ingress.unwrap().body.blocks;
    let count = |of: fn(&Terminator) -> bool| {
        let blocks = blocks.iter().filter(|block| of(&block.terminator));
        blocks.count()
    };
    (
        count(|end| matches!(end, Terminator::Apply { .. })),
        count(|end| matches!(end, Terminator::Select { .. } | Terminator::Branch { .. })),
    )
}

const SAME_KEY: &str = "
    table one {
        key = { h.data.op: exact; } actions = { set; NoAction; } const default_action = NoAction();
        const entries = { 1: set(7); 2: set(8); }
    }
    table two {
        key = { h.data.op: exact; } actions = { note; NoAction; } const default_action = NoAction();
        const entries = { 1: note(7); 2: note(9); }
    }";

#[test]
fn two_tables_of_const_entries_over_one_key_become_one_decision() {
    let program = program(
        SAME_KEY,
        "one.apply(); two.apply(); h.data.b = (bit<4>)m.m;",
    );
    assert_eq!(decisions(&program), (0, 1), "{}", text::print(&program));
    // They are still there for a controller to read.
    assert_eq!(program.tables.len(), 2);
    assert_eq!(program.tables[0].entries.len(), 2);
}

#[test]
fn a_key_that_was_written_between_is_looked_at_again() {
    let program = program(
        SAME_KEY,
        "one.apply(); h.data.op = h.data.a; two.apply(); h.data.b = (bit<4>)m.m;",
    );
    assert_eq!(decisions(&program), (0, 2), "{}", text::print(&program));
}

#[test]
fn whether_a_constant_table_was_hit_is_known_behind_it() {
    let program = program(SAME_KEY, "if (one.apply().hit) { h.data.b = 1; }");
    assert_eq!(decisions(&program), (0, 1), "{}", text::print(&program));
}

#[test]
fn what_a_controller_can_change_or_count_stays_a_table() {
    for (table, why) in [
        (
            "key = { h.data.op: exact; } default_action = set(1);",
            "entries",
        ),
        (
            "key = { h.data.op: exact; } default_action = set(1); const entries = { 1: set(2); }",
            "the default action",
        ),
        (
            "default_action = set(1);",
            "the default action of a table without keys",
        ),
        (
            "key = { h.data.op: exact; } const default_action = set(1); const entries = { 1: set(2); } counters = c;",
            "a direct counter",
        ),
        (
            "key = { h.data.op: exact; } const default_action = set(1); entries = { const 1: set(2); }",
            "further entries",
        ),
    ] {
        let declarations = format!(
            "direct_counter(CounterType.packets) c; table t {{ actions = {{ set; }} {table} }}"
        );
        let program = program(&declarations, "t.apply();");
        assert_eq!(decisions(&program).0, 1, "{why}\n{}", text::print(&program));
    }
}

#[test]
fn many_entries_are_looked_up_not_compared() {
    let entries: String = (0..17).map(|n| format!("{n}: set({n});")).collect();
    let table = format!(
        "table t {{ key = {{ h.data.op: exact; }} actions = {{ set; }} const default_action = set(1); const entries = {{ {entries} }} }}"
    );
    assert_eq!(decisions(&program(&table, "t.apply();")), (1, 0));
}

#[test]
fn a_header_that_nobody_looks_at_is_skipped() {
    let program = program("", "h.data.a = 1;");
    let parser = &program.sections[0].body;
    let kinds: Vec<_> = (parser.blocks.iter().flat_map(|block| &block.statements))
        .map(|statement| &statement.kind)
        .collect();
    let skips = |kind: &&StatementKind| matches!(kind, StatementKind::Advance { bits: Expr::Constant(bits, _) } if bits.to_u64() == Some(32));
    let extracts = |kind: &&StatementKind| matches!(kind, StatementKind::Extract { .. });
    assert_eq!(kinds.iter().copied().filter(skips).count(), 1, "{kinds:?}");
    assert_eq!(
        kinds.iter().copied().filter(extracts).count(),
        1,
        "{kinds:?}"
    );
    assert!(
        program
            .headers
            .iter()
            .all(|header| &*header.name != "h.skipped")
    );
}

#[test]
fn fields_that_are_only_passed_on_become_one_slot() {
    let program = program("", "h.data.a = 1;");
    let header = &program.headers[0];
    let widths: Vec<_> = (header.fields.iter())
        .map(|slot| program.slots[slot.index()].ty.width())
        .collect();
    // op; a; b, c and d; e, which would be too much for one slot with them.
    assert_eq!(widths, [8, 8, 40, 48], "{}", text::print(&program));
    assert!(
        program
            .slots
            .iter()
            .all(|slot| !slot.name.contains("never"))
    );
}

/// A program of 1 kB around a stack of 30,000 headers.
fn with_large_stack(ingress: &str) -> String {
    format!(
        "#include <core.p4>
#include <v1model.p4>
header a_t {{ bit<16> x; }}
struct headers {{ a_t[30000] s; }}
struct meta {{ bit<16> i; }}
parser P(packet_in p, out headers h, inout meta m, inout standard_metadata_t s) {{
    state start {{ p.extract(h.s.next); transition select(h.s.last.x) {{ 0: accept; default: start; }} }}
}}
control V(inout headers h, inout meta m) {{ apply {{ }} }}
control I(inout headers h, inout meta m, inout standard_metadata_t s) {{ apply {{
{ingress} }} }}
control E(inout headers h, inout meta m, inout standard_metadata_t s) {{ apply {{ }} }}
control C(inout headers h, inout meta m) {{ apply {{ }} }}
control D(packet_out p, in headers h) {{ apply {{ p.emit(h); }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;"
    )
}

#[test]
fn large_stacks_compile_or_are_told_to_be_too_large() {
    for (ingress, fits) in [
        ("h.s[m.i].x = h.s[m.i + 1].x;\n".repeat(20), true),
        (
            "h.s[h.s[h.s[m.i].x].x].x = h.s[h.s[m.i].x].x;\n".repeat(3),
            true,
        ),
        (
            "if (h.s[m.i].x == 1) { h.s.push_front(1); }\n".repeat(2),
            true,
        ),
        ("headers g; g = h; h.s = g.s;\n".to_string(), true),
        ("h.s.push_front(1);\n".repeat(20), false),
        (
            "if (h.s[m.i].x == 1) { h.s.push_front(1); }\n".repeat(12),
            false,
        ),
        (
            "hash(m.i, HashAlgorithm.crc16, 16w0, h.s, 16w9);\n".repeat(200),
            false,
        ),
    ] {
        let text = with_large_stack(&ingress);
        let compiled = compile("t.p4", &text, &mut Library, &Options::default());
        let told = compiled.diagnostics.sorted().into_iter();
        let errors: Vec<_> = told.filter(|one| one.code == "too-large").collect();
        assert_eq!(
            (compiled.program.is_some(), errors.len()),
            (fits, usize::from(!fits)),
            "{ingress}"
        );
        // 30,000 statements behind one another: a walk over their pairs took minutes and gigabytes.
        if let Some(program) = &compiled.program {
            let at_once = p4::passes::parallel(program);
            let deparser = p4::ir::SectionId(program.sections.len() as u32 - 1);
            assert_eq!(at_once.longest(deparser), (30_000, 30_000), "{ingress}");
        }
        for error in errors {
            // Somewhere in the statements, not at the program's head.
            let place = compiled.sources.location(error.span.start).unwrap();
            assert!(place.line > 12, "{}", place.line);
        }
    }
}

#[test]
fn compiling_ends_when_it_is_told_to() {
    let text = with_large_stack("h.s.push_front(1); h.s[m.i].x = 1;");
    let compile_until = |most: usize| {
        let asked = AtomicUsize::new(0);
        let cancel = Cancel::new(move || asked.fetch_add(1, Ordering::Relaxed) >= most);
        let options = Options {
            cancel: Some(cancel),
            ..Options::default()
        };
        compile("t.p4", &text, &mut Library, &options)
    };
    // In the checker, while lowering, and between the passes.
    for most in [0, 1, 30, 80, 81, 82, 83, 84, 85, 86] {
        let compiled = compile_until(most);
        if compiled.program.is_none() {
            let codes: Vec<_> = compiled.diagnostics.iter().map(|one| one.code).collect();
            assert!(codes.contains(&"stopped"), "{most}: {codes:?}");
        } else {
            assert!(most > 30);
        }
    }
    assert!(compile_until(usize::MAX).program.is_some());
}
