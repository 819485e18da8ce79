//! What short programs become.

use crate::check;
use crate::diagnostic::Diagnostics;
use crate::ir::{self, Program};
use crate::source::{IncludeError, Includes, Sources};
use crate::{library, lower, parse, preprocess};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

struct Library;

impl Includes for Library {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        let text = library::file(name).ok_or_else(|| format!("no {name}"))?;
        Ok((name.into(), text.into()))
    }
}

/// An architecture of one control, or of a parser and a control.
const ARCHITECTURE: &str = "
#include <core.p4>
extern Counter { Counter(bit<32> size); void count(in bit<32> index); }
extern bit<16> hash16<D>(in D data);
extern void split(in bit<16> whole, out bit<8> high, out bit<8> low);
control C<T>(inout T t);
parser P<T>(packet_in packet, out T t);
control D<T>(packet_out packet, in T t);
package One<T>(C<T> c);
package Three<T>(P<T> p, C<T> c, D<T> d);
header h_t { bit<8> a; bit<8> b; }
";

fn compile(text: &str) -> Result<Program, String> {
    let (mut sources, mut diagnostics) = (Sources::default(), Diagnostics::default());
    let text = format!("{ARCHITECTURE}{text}");
    let options = preprocess::Options::default();
    let tokens = preprocess::preprocess(
        "t.p4",
        &text,
        &mut Library,
        &options,
        &mut sources,
        &mut diagnostics,
    );
    let program = parse::parse(&tokens, &sources, &mut diagnostics);
    let checked = check::check(program, &mut diagnostics);
    let lowered = match diagnostics.failed() {
        true => None,
        false => lower::lower(&checked, None, &mut diagnostics),
    };
    match lowered {
        Some(program) if !diagnostics.failed() => {
            ir::validate(&program).map_err(|fault| fault.to_string())?;
            Ok(program)
        }
        _ => Err(diagnostics
            .iter()
            .map(|d| d.render(&sources))
            .collect::<String>()),
    }
}

fn lowered(text: &str) -> Program {
    match compile(text) {
        Ok(program) => program,
        Err(error) => panic!("{error}"),
    }
}

/// The text of what begins with the words, without the lines of parameters and braces.
fn part(program: &Program, words: &str) -> String {
    ir::text::print(program)
        .lines()
        .skip_while(|line| !line.starts_with(words))
        .skip(1)
        .take_while(|line| *line != "}")
        .filter(|line| !line.starts_with("  parameter"))
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

/// What a control over `struct m { bit<8> x; bit<8> y; bool f; h_t h; h_t[2] s; }` becomes.
fn control(before: &str, locals: &str, body: &str) -> Program {
    lowered(&format!(
        "struct m {{ bit<8> x; bit<8> y; bool f; h_t h; h_t[2] s; }}
        {before}
        control c(inout m t) {{ {locals} apply {{ {body} }} }}
        One(c()) main;"
    ))
}

fn statements(before: &str, locals: &str, body: &str) -> String {
    part(&control(before, locals, body), "control c ")
}

#[test]
fn fields_are_slots_and_calls_of_functions_leave_nothing_behind() {
    let text = statements(
        "bit<8> twice(in bit<8> v) { return v + v; }",
        "",
        "t.x = twice(t.y) + 1;",
    );
    assert_eq!(text, "b0:\n  t.x = ((t.y + t.y) + 8w0x1)\n  return\n");
}

#[test]
fn a_struct_assigned_from_its_own_fields_is_read_first() {
    let text = statements(
        "struct pair { bit<8> a; bit<8> b; }",
        "pair p;",
        "p.a = t.x; p.b = t.y; p = { p.b, p.a }; t.x = p.a; t.y = p.b;",
    );
    assert!(
        text.contains("c.tmp = c.p.a\n  c.p.a = c.p.b\n  c.p.b = c.tmp\n"),
        "{text}"
    );
}

#[test]
fn inout_arguments_that_are_the_same_variable_are_copied_out_in_order() {
    let text = statements(
        "void f(inout bit<8> a, inout bit<8> b) { a = 1; b = a + b; }",
        "",
        "f(t.x, t.x);",
    );
    assert_eq!(
        text,
        "b0:\n  c.f.a = t.x\n  c.f.b = t.x\n  c.f.a = 8w0x1\n  c.f.b = (c.f.a + c.f.b)\n  t.x = c.f.a\n  t.x = c.f.b\n  return\n"
    );
}

#[test]
fn an_action_that_reaches_its_argument_by_another_name_works_on_a_copy() {
    let text = statements(
        "",
        "action a(inout bit<8> v) { t.x = 7; v = v + 1; }",
        "a(t.x);",
    );
    assert_eq!(
        text,
        "b0:\n  c.a.v = t.x\n  t.x = 8w0x7\n  c.a.v = (c.a.v + 8w0x1)\n  t.x = c.a.v\n  return\n"
    );
}

#[test]
fn a_sub_control_works_on_its_arguments_where_nobody_can_tell() {
    let text = statements(
        "control inner(inout bit<8> v, in bit<8> w) { apply { v = v ^ w; } }",
        "inner() i;",
        "i.apply(t.x, t.y);",
    );
    assert_eq!(text, "b0:\n  t.x = (t.x ^ t.y)\n  return\n");
}

#[test]
fn a_control_with_tables_applied_twice_has_rooms_for_its_parameters() {
    let program = control(
        "control inner(inout bit<8> v) {
            action set(bit<8> n) { v = n; }
            table k { key = { v: exact; } actions = { set; } }
            apply { k.apply(); }
        }",
        "inner() i;",
        "i.apply(t.x); i.apply(t.y);",
    );
    let text = part(&program, "control c ");
    assert_eq!(program.tables.len(), 1);
    assert_eq!(&*program.tables[0].name, "c.i.k");
    assert_eq!(&*program.tables[0].keys[0].name, "v");
    assert_eq!(
        text,
        "b0:\n  c.i.v = t.x\n  apply c.i.k b1 exit b1\nb1:\n  t.x = c.i.v\n  c.i.v = t.y\n  apply c.i.k b2 exit b2\nb2:\n  t.y = c.i.v\n  return\n"
    );
}

#[test]
fn exit_copies_out_on_its_way() {
    let text = statements(
        "control inner(inout bit<8> v, inout bit<8> w) { apply { v = 1; if (w == 0) { exit; } v = 2; } }",
        "inner() i;",
        "i.apply(t.x, t.x); t.y = 3;",
    );
    assert_eq!(
        text,
        "b0:\n  c.i.v = t.x\n  c.i.w = t.x\n  c.i.v = 8w0x1\n  branch (c.i.w == 8w0x0) b1 b2\nb1:\n  t.x = c.i.v\n  t.x = c.i.w\n  return\nb2:\n  c.i.v = 8w0x2\n  t.x = c.i.v\n  t.x = c.i.w\n  t.y = 8w0x3\n  return\n"
    );
}

#[test]
fn exit_in_an_action_of_a_table_ends_the_section() {
    let program = control(
        "",
        "action stop() { exit; } table k { actions = { stop; } default_action = stop(); }",
        "k.apply(); t.x = 1;",
    );
    assert_eq!(part(&program, "action c.stop"), "b0:\n  exit\n");
    assert_eq!(
        part(&program, "control c "),
        "b0:\n  apply c.k b1 exit b2\nb1:\n  t.x = 8w0x1\n  return\nb2:\n  return\n"
    );
}

#[test]
fn what_decides_alone_leaves_the_table_out() {
    let text = statements(
        "",
        "table k { actions = { NoAction; } }",
        "t.f = t.f && k.apply().hit;",
    );
    assert_eq!(
        text,
        "b0:\n  branch t.f b1 b3\nb1:\n  apply c.k b2 exit b2\nb2:\n  c.tmp = c.k.$hit\n  jump b4\nb3:\n  c.tmp = false\n  jump b4\nb4:\n  t.f = c.tmp\n  return\n"
    );
}

#[test]
fn an_operand_is_kept_when_a_later_one_changes_it() {
    let text = statements(
        "bit<8> bump(inout bit<8> v) { v = v + 1; return v; }",
        "",
        "t.y = t.x + bump(t.x);",
    );
    assert_eq!(
        text,
        "b0:\n  c.tmp = t.x\n  t.x = (t.x + 8w0x1)\n  t.y = (c.tmp + t.x)\n  return\n"
    );
}

#[test]
fn an_index_that_only_running_tells_picks_among_slots() {
    let text = statements("", "", "t.s[t.x].a = t.s[t.y].b;");
    assert_eq!(
        text,
        "b0:\n  at(t.x, t.s[0].a, t.s[1].a) = at(t.y, t.s[0].b, t.s[1].b)\n  return\n"
    );
}

#[test]
fn pushing_moves_every_element_and_counts() {
    let text = statements("", "", "t.s.push_front(1);");
    assert!(
        text.starts_with(
            "b0:\n  t.s[1].$valid = t.s[0].$valid\n  t.s[1].a = t.s[0].a\n  t.s[1].b = t.s[0].b\n  t.s[0].$valid = false\n"
        ),
        "{text}"
    );
}

#[test]
fn a_member_of_a_union_that_becomes_valid_makes_the_others_invalid() {
    let text = statements(
        "header g_t { bit<8> z; } header_union u_t { h_t h; g_t g; }",
        "u_t u;",
        "u.g.setValid(); u.g.z = 1; u.h = t.h; t.f = u.isValid();",
    );
    assert_eq!(
        text,
        "b0:\n  c.u.h.$valid = false\n  c.u.g.$valid = false\n  c.u.h.$valid = false\n  c.u.g.$valid = true\n  c.u.g.z = 8w0x1\n  c.u.g.$valid = false\n  c.u.h.$valid = t.h.$valid\n  c.u.h.a = t.h.a\n  c.u.h.b = t.h.b\n  t.f = (c.u.h.$valid | c.u.g.$valid)\n  return\n"
    );
}

#[test]
fn headers_are_equal_when_both_are_invalid() {
    let text = statements("", "", "t.f = t.h == t.s[0];");
    assert_eq!(
        text,
        "b0:\n  t.f = ((!t.h.$valid & !t.s[0].$valid) | ((t.h.$valid & t.s[0].$valid) & ((t.h.a == t.s[0].a) & (t.h.b == t.s[0].b))))\n  return\n"
    );
}

#[test]
fn loops_go_round_and_the_last_turn_of_a_range_does_not_overflow() {
    let text = statements(
        "",
        "",
        "for (bit<8> i in 250 .. t.y) { if (i == t.x) { break; } t.x = t.x + i; }",
    );
    assert_eq!(
        text,
        "b0:\n  c.tmp = t.y\n  c.counter = 8w0xfa\n  branch (8w0xfa <= c.tmp) b1 b4\nb1:\n  c.i = c.counter\n  branch (c.i == t.x) b4 b2\nb2:\n  t.x = (t.x + c.i)\n  branch (c.counter == c.tmp) b4 b3\nb3:\n  c.counter = (c.counter + 8w0x1)\n  jump b1\nb4:\n  return\n"
            .replace("(8w0xfa <= c.tmp)", "(c.counter <= c.tmp)")
    );
}

#[test]
fn returns_in_the_middle_give_their_value_through_one_variable() {
    let text = statements(
        "bit<8> least(in bit<8> a, in bit<8> b) { if (a < b) { return a; } return b; }",
        "",
        "t.x = least(t.x, t.y);",
    );
    assert_eq!(
        text,
        "b0:\n  branch (t.x < t.y) b1 b2\nb1:\n  c.least.return = t.x\n  jump b3\nb2:\n  c.least.return = t.y\n  jump b3\nb3:\n  t.x = c.least.return\n  return\n"
    );
}

#[test]
fn generic_functions_are_lowered_for_each_use() {
    let text = statements(
        "T pick<T>(in bool which, in T a, in T b) { return which ? a : b; }",
        "bit<16> w = 5;",
        "t.x = pick(t.f, t.x, t.y); w = pick(t.f, w, 9); t.y = w[7:0];",
    );
    assert_eq!(
        text,
        "b0:\n  c.w = 16w0x5\n  t.x = if(t.f, t.x, t.y)\n  c.w = if(t.f, c.w, 16w0x9)\n  t.y = c.w[7:0]\n  return\n"
    );
}

#[test]
fn what_a_constructor_is_given_is_known_while_compiling() {
    let text = statements(
        "control inner(inout bit<8> v)(bit<8> by, bool on) { apply { if (on) { v = v + (by + 1); } else { v = 0; } } }",
        "inner(4, true) i; inner(9, false) j;",
        "i.apply(t.x); j.apply(t.x);",
    );
    assert_eq!(
        text,
        "b0:\n  t.x = (t.x + 8w0x5)\n  t.x = 8w0x0\n  return\n"
    );
}

#[test]
fn externs_write_where_the_program_says() {
    let program = control(
        "",
        "Counter(64) n; bit<16> sum;",
        "sum = hash16({ t.x, t.h }); n.count(3); split(sum, t.x, t.s[1].a);",
    );
    assert_eq!(&*program.objects[0].name, "c.n");
    let text = part(&program, "control c ");
    assert!(!text.contains("tmp"), "{text}");
    assert_eq!(text.matches("call").count(), 3, "{text}");
    assert!(
        !program.slots.iter().any(|s| s.name.contains("hash16")),
        "{text}"
    );
}

#[test]
fn keys_have_the_names_that_a_programmer_would_give_them() {
    let program = control(
        "",
        "action a() {}
        @name(\".whole\") action b() {}
        @name(\"other\") table k {
            key = { t.h.a: exact; t.h.isValid(): exact; t.x[3:0]: ternary; t.y & 0xf: exact; t.s[0].a: lpm @name(\"first\"); }
            actions = { a; @tableonly b; @defaultonly NoAction; }
            size = 99;
        }",
        "k.apply();",
    );
    let table = &program.tables[0];
    assert_eq!(&*table.name, "c.other");
    let names: Vec<String> = table.keys.iter().map(|k| k.name.to_string()).collect();
    assert_eq!(
        names,
        ["t.h.a", "t.h.$valid$", "t.x[3:0]", "t.y & 0xf", "first"]
    );
    let actions: Vec<&str> = table
        .actions
        .iter()
        .map(|a| &*program.actions[a.action.index()].name)
        .collect();
    assert_eq!(actions, ["c.a", "whole", "NoAction"]);
    assert_eq!(table.default.action, 2);
    assert_eq!(table.size, Some(99));
    assert!(table.actions[1].table_only && table.actions[2].default_only);
}

#[test]
fn entries_are_in_the_order_in_which_they_win() {
    let entries = |properties: &str, list: &str| {
        let program = control(
            "",
            &format!(
                "action a(bit<8> n) {{ t.x = n; }}
                table k {{ key = {{ t.y: ternary; }} actions = {{ a; }} {properties} entries = {{ {list} }} default_action = a(0); }}"
            ),
            "k.apply();",
        );
        let table = &program.tables[0];
        table
            .entries
            .iter()
            .map(|e| (e.priority, e.call.arguments[0].to_u64().unwrap_or(0)))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        entries("const", "1: a(1); 2 &&& 2: a(2); _: a(3);"),
        [(3, 1), (2, 2), (1, 3)]
    );
    assert_eq!(
        entries(
            "priority_delta = 10;",
            "priority = 50: 1: a(1); 2: a(2); priority = 60: 3: a(3);"
        ),
        [(60, 3), (50, 1), (40, 2)]
    );
    assert_eq!(
        entries(
            "largest_priority_wins = false;",
            "priority = 5: 1: a(1); 2: a(2); priority = 1: 3: a(3);"
        ),
        [(6, 3), (2, 1), (1, 2)]
    );
}

#[test]
fn labels_without_a_body_go_with_the_next() {
    let program = control(
        "",
        "action a() {} action b() {} action d() {}
        table k { actions = { a; b; d; } default_action = d; }",
        "switch (k.apply().action_run) { a: b: { t.x = 1; } default: { t.x = 2; } }",
    );
    assert_eq!(
        part(&program, "control c "),
        "b0:\n  apply c.k b1 exit b1\nb1:\n  select (c.k.$action_run) { (32w0x0) -> b2, (32w0x1) -> b2 } b3\nb2:\n  t.x = 8w0x1\n  jump b4\nb3:\n  t.x = 8w0x2\n  jump b4\nb4:\n  return\n"
    );
}

#[test]
fn an_argument_in_a_tables_list_is_bound_for_that_table_only() {
    let program = control(
        "",
        "action set(inout bit<8> v, bit<8> n) { v = n; }
        table k { actions = { set(t.x); } default_action = set(t.x, 3); }
        table l { actions = { set(t.y); } default_action = set(t.y, 4); }",
        "k.apply(); l.apply();",
    );
    assert_eq!(program.actions.len(), 2);
    assert_eq!(
        part(&program, "action c.set"),
        "b0:\n  t.x = c.set.n\n  return\n"
    );
    assert_eq!(program.tables[1].default.arguments[0].to_u64(), Some(4));
}

fn parser(states: &str) -> String {
    let program = lowered(&format!(
        "struct m {{ h_t h; h_t[2] s; }}
        parser sub(packet_in packet, inout h_t h) {{ state start {{ packet.extract(h); transition select(h.a) {{ 0: reject; _: accept; }} }} }}
        parser p(packet_in packet, out m t) {{ {states} }}
        control c(inout m t) {{ apply {{ }} }}
        control d(packet_out packet, in m t) {{ apply {{ packet.emit(t); }} }}
        Three(p(), c(), d()) main;"
    ));
    let text = part(&program, "parser p ");
    // What comes before the parser's own first state.
    text.split_once("\nb1")
        .map_or(text.clone(), |(_, rest)| format!("b1{rest}"))
}

#[test]
fn states_are_blocks_and_a_loop_of_states_is_a_loop() {
    let text = parser(
        "state start { packet.extract(t.s.next); transition select(t.s.last.a) { 1 .. 3: start; 4 &&& 0xc: accept; } }",
    );
    assert_eq!(
        text,
        "b1 (start):\n  extract_next t.s\n  branch (t.s.$next == 32w0x0) b2 b3\nb2:\n  p.$error = 32w0x3\n  jump b6\nb3:\n  select (at((t.s.$next - 32w0x1), t.s[0].a, t.s[1].a)) { (8w0x1 .. 8w0x3) -> b1, (8w0x4 &&& 8w0xc) -> b4 } b5\nb4 (accept):\n  return\nb5:\n  p.$error = 32w0x2\n  jump b6\nb6 (reject):\n  reject\n"
    );
}

#[test]
fn a_sub_parser_goes_on_in_the_state_that_called_it() {
    let text =
        parser("sub() q; state start { q.apply(packet, t.h); t.h.a = t.h.b; transition accept; }");
    assert_eq!(
        text,
        "b1 (start):\n  jump b2\nb2 (q.start):\n  extract t.h\n  select (t.h.a) { (8w0x0) -> b5 } b3\nb3:\n  t.h.a = t.h.b\n  jump b4\nb4 (accept):\n  return\nb5 (reject):\n  reject\n"
    );
}

#[test]
fn lookahead_reads_without_moving_and_verify_fails_with_its_error() {
    let text = parser(
        "state start { t.h = packet.lookahead<h_t>(); verify(t.h.a != 0, error.NoMatch); packet.advance(16); transition accept; }",
    );
    assert_eq!(
        text,
        "b1 (start):\n  lookahead p.lookahead\n  t.h.$valid = true\n  t.h.a = p.lookahead[15:8]\n  t.h.b = p.lookahead[7:0]\n  branch (t.h.a != 8w0x0) b2 b4\nb2:\n  advance 32w0x10\n  jump b3\nb3 (accept):\n  return\nb4:\n  p.$error = 32w0x2\n  jump b5\nb5 (reject):\n  reject\n"
    );
}

#[test]
fn the_deparser_emits_header_after_header() {
    let program = lowered(
        "struct m { h_t h; h_t[2] s; }
        parser p(packet_in packet, out m t) { state start { transition accept; } }
        control c(inout m t) { apply { } }
        control d(packet_out packet, in m t) { apply { packet.emit(t); } }
        Three(p(), c(), d()) main;",
    );
    assert_eq!(
        part(&program, "control d "),
        "b0:\n  emit t.h\n  emit t.s[0]\n  emit t.s[1]\n  return\n"
    );
    // The three blocks hand on the same headers.
    assert_eq!(program.headers.len(), 3);
}

#[test]
fn functions_that_call_each_other_without_end_of_doubling_are_told_not_built() {
    let mut text = String::from("void f0(inout bit<8> v) { v = v + 1; v = v ^ 3; }\n");
    for at in 1..40 {
        text.push_str(&format!(
            "void f{at}(inout bit<8> v) {{ f{0}(v); f{0}(v); }}\n",
            at - 1
        ));
    }
    let error = compile(&format!(
        "struct m {{ bit<8> x; }} {text} control c(inout m t) {{ apply {{ f39(t.x); }} }} One(c()) main;"
    ))
    .expect_err("2^39 calls");
    assert!(error.contains("[too-large]"), "{error}");
}

#[test]
fn a_stack_of_a_million_headers_is_told_not_built() {
    let error = compile(
        "struct m { h_t[1000000] s; } control c(inout m t) { apply { t.s[0].a = 1; } } One(c()) main;",
    )
    .expect_err("three million slots");
    assert!(error.contains("[too-large]"), "{error}");
}

#[test]
fn validation_finds_what_does_not_agree() {
    let good = control("", "", "t.x = t.y;");
    assert_eq!(ir::validate(&good), Ok(()));
    let mut bad = good.clone();
    bad.slots[0].ty = ir::Ty::Bits(9);
    assert!(ir::validate(&bad).is_err());
    let mut bad = good.clone();
    bad.sections[0].body.blocks[0].terminator = ir::Terminator::Jump(ir::BlockId(7));
    assert!(ir::validate(&bad).is_err());
    let mut bad = good.clone();
    bad.sections[0].body.blocks[0].terminator = ir::Terminator::Exit;
    assert!(ir::validate(&bad).is_err());
    let mut bad = good;
    bad.slots[1].name = bad.slots[0].name.clone();
    assert!(ir::validate(&bad).is_err());
}

#[test]
fn field_lists_are_numbers_whatever_they_are_written_as() {
    let program = lowered(
        "enum bit<8> L { A = 3 } const bit<8> ONE = 1;
         struct T { @field_list(ONE, L.A) bit<8> x; @field_list(0x10) bit<8> y; }
         control c(inout T t) { apply { t.x = t.y; } }
         One(c()) main;",
    );
    let lists = program.slots.iter().flat_map(|slot| &slot.annotations);
    let lists: Vec<_> = lists.map(|list| &*list.body).collect();
    assert_eq!(lists, ["1, 3", "16"]);
}

#[test]
fn what_is_too_large_is_told_once_at_its_place() {
    let program = |statements: &str| {
        format!(
            "struct T {{ h_t[60000] s; bit<16> i; }}
             control c(inout T t) {{ apply {{
                 {statements}
             }} }}
             One(c()) main;"
        )
    };
    // Each moves all elements.
    let pushes = compile(&program(&"t.s.push_front(1);\n".repeat(40)));
    let error = pushes.expect_err("it is too large");
    assert_eq!(error.matches("too-large").count(), 1, "{error}");
    assert!(error.contains("push_front"), "{error}");
    lowered(&program("t.s[t.i].a = t.s[t.i + 1].b;"));
}
