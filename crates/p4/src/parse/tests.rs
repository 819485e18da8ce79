//! The parser over small programs.

use super::*;
use crate::ast::*;
use crate::preprocess::{Options, preprocess};
use crate::source::{IncludeError, Includes};
use alloc::vec::Vec;

struct None_;

impl Includes for None_ {
    fn read(&mut self, _: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        Err("there are no files".into())
    }
}

fn read(text: &str) -> (Program, Diagnostics, Sources) {
    let (mut sources, mut diagnostics) = (Sources::default(), Diagnostics::default());
    let options = Options::default();
    let tokens = preprocess(
        "t.p4",
        text,
        &mut None_,
        &options,
        &mut sources,
        &mut diagnostics,
    );
    let program = parse(&tokens, &sources, &mut diagnostics);
    (program, diagnostics, sources)
}

fn good(text: &str) -> Program {
    let (program, diagnostics, sources) = read(text);
    let reported: Vec<_> = diagnostics.iter().map(|d| d.render(&sources)).collect();
    assert!(reported.is_empty(), "{text}\n{}", reported.join("\n"));
    program
}

/// `line:column message` of each.
fn reported(text: &str) -> Vec<String> {
    let (_, diagnostics, sources) = read(text);
    diagnostics
        .sorted()
        .iter()
        .map(|d| {
            let place = sources.location(d.span.start).expect("a place");
            format!("{}:{} {}", place.line, place.column, d.message)
        })
        .collect()
}

/// The value of a constant, fully bracketed.
fn value(declarations: &str, expression: &str) -> String {
    let program = good(&format!("{declarations} const int c = {expression};"));
    let Some(Declaration {
        kind: DeclarationKind::Constant { value, .. },
        ..
    }) = program.declarations.last()
    else {
        panic!("a constant");
    };
    shown(value)
}

fn shown(expression: &Expression) -> String {
    use ExpressionKind as E;
    match &expression.kind {
        E::Integer { value, .. } => format!("{value}"),
        E::Path { name, absolute } => format!("{}{}", if *absolute { "." } else { "" }, name.text),
        E::Member { base, member } => format!("{}.{}", shown(base), member.text),
        E::Unary { operator, operand } => format!("({operator:?} {})", shown(operand)),
        E::Binary {
            operator,
            left,
            right,
        } => {
            format!("({} {operator:?} {})", shown(left), shown(right))
        }
        E::Conditional { condition, yes, no } => {
            format!("({} ? {} : {})", shown(condition), shown(yes), shown(no))
        }
        E::Cast { ty, operand } => format!("(cast {} {})", shown_type(ty), shown(operand)),
        E::Call {
            callee,
            type_arguments,
            arguments,
        } => {
            let types: Vec<_> = type_arguments.iter().map(shown_type).collect();
            let values: Vec<_> = arguments.iter().map(|a| shown(&a.value)).collect();
            format!(
                "{}<{}>({})",
                shown(callee),
                types.join(","),
                values.join(",")
            )
        }
        E::Type(ty) => shown_type(ty),
        E::List { elements, dots } => {
            let all: Vec<_> = elements.iter().map(shown).collect();
            format!("{{{}{}}}", all.join(","), if *dots { "..." } else { "" })
        }
        E::Index { base, index } => format!("{}[{}]", shown(base), shown(index)),
        E::Slice { base, high, low } => {
            format!("{}[{}:{}]", shown(base), shown(high), shown(low))
        }
        E::PlusSlice { base, low, width } => {
            format!("{}[{}+:{}]", shown(base), shown(low), shown(width))
        }
        other => format!("{other:?}"),
    }
}

fn shown_type(ty: &TypeExpression) -> String {
    use TypeExpressionKind as T;
    match &ty.kind {
        T::Named { name, .. } => name.text.to_string(),
        T::Bit(Some(width)) => format!("bit<{}>", shown(width)),
        T::Specialized { base, arguments } => {
            let all: Vec<_> = arguments.iter().map(shown_type).collect();
            format!("{}<{}>", shown_type(base), all.join(","))
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn operators_bind_as_the_specification_says() {
    assert_eq!(
        value("", "a + b * c - d"),
        "((a Add (b Multiply c)) Subtract d)"
    );
    assert_eq!(
        value("", "a & b == c | d"),
        "((a BitAnd b) Equal (c BitOr d))"
    );
    assert_eq!(
        value("", "a >> 1 > b && c < d"),
        "(((a ShiftRight 1) Greater b) And (c Less d))"
    );
    assert_eq!(value("", "a ? b : c ? d : e"), "(a ? b : (c ? d : e))");
    assert_eq!(
        value("", "-a.b[3:0] ++ ~c"),
        "((Negate a.b[3:0]) Concat (Complement c))"
    );
    assert_eq!(
        value("", "a[i+:8] |+| b |-| c"),
        "((a[i+:8] SaturatingAdd b) SaturatingSubtract c)"
    );
}

#[test]
fn known_types_tell_casts_and_type_arguments_from_values() {
    assert_eq!(value("", "(bit<8>) a + b"), "((cast bit<8> a) Add b)");
    assert_eq!(value("typedef bit<8> T;", "(T) -a"), "(cast T (Negate a))");
    assert_eq!(value("", "(T) - a"), "(T Subtract a)");
    assert_eq!(value("typedef bit<8> T;", "f<T>(x)"), "f<T>(x)");
    assert_eq!(value("", "f<T>(x)"), "((f Less T) Greater x)");
    assert_eq!(
        value("", "f<bit<8>>(x) >> 2"),
        "(f<bit<8>>(x) ShiftRight 2)"
    );
    assert_eq!(
        value("struct S<X> { X x; }", "(S<bit<(a > b ? 1 : 2)>>) {1, ...}"),
        "(cast S<bit<((a Greater b) ? 1 : 2)>> {1...})"
    );
    assert_eq!(
        value("extern E<X> { E(); }", "E<bit<8>>(3)"),
        "E<bit<8>><>(3)"
    );
    assert_eq!(value("enum E { A }", "E.A < E.B"), "(E.A Less E.B)");
}

#[test]
fn a_parameter_hides_a_type_of_its_name() {
    let program = good(
        "struct T { } bit<8> f(bit<8> T, bit<8> a) { return (T) - a; } const bool c = (T) - 1;",
    );
    let DeclarationKind::Function { body, .. } = &program.declarations[1].kind else {
        panic!("a function");
    };
    let StatementKind::Return(Some(value)) = &body.statements[0].kind else {
        panic!("a return");
    };
    assert_eq!(shown(value), "(T Subtract a)");
    good("const bit X = 1; bit f<X>() { return .X; }");
}

#[test]
fn integers_have_their_value_and_width() {
    assert_eq!(value("", "0x1_F"), "31");
    assert_eq!(value("", "16w0b101"), "5");
    assert_eq!(value("", "8s0o17"), "15");
    let (program, diagnostics, _) = read("const int a = 4w17; const int b = 4s15;");
    assert!(!diagnostics.failed());
    let values: Vec<_> = program
        .declarations
        .iter()
        .map(|d| match &d.kind {
            DeclarationKind::Constant { value, .. } => shown(value),
            _ => String::new(),
        })
        .collect();
    assert_eq!(values, ["1", "-1"]);
    assert_eq!(diagnostics.sorted().len(), 2);
    assert_eq!(
        reported("const int a = 8w__;"),
        ["1:15 `8w__` has no digits"]
    );
}

#[test]
fn soft_keywords_are_names_too() {
    good(
        "header h { bit<8> key; bit<8> type; bit<8> state; bit<8> list; bit<8> priority; }
          control c(inout h apply) { action entries(bit<8> actions) { apply.type = actions; }
            table key { key = { apply.key : exact; } actions = { entries; } }
            apply { key.apply(); entries(3); list<bit<8>> l; type = 3; } }",
    );
}

#[test]
fn every_statement_is_read() {
    let program = good(
        "
        control c(inout bit<8> x)(bit<8> p) {
            E<bit<8>>(1, n = _) e = { bit<8> m(in bit<8> v) { return v; } };
            bit<8>[2] stack; bit<8> other[3];
            @hidden action a() { exit; }
            apply @likely {
                const bit<8> K = 1;
                bit<8> y = x; x |+|= 1; x >>= y; x[3:0] = 2; this.f = 1;
                if (x == 1) ; else if (x > 2) { return; } else a();
                switch (t.apply().action_run) { a: b: { } default: { x = 0; } }
                for (bit<8> i = 0, bit<8> j = 1; i < 8; i += 1, j = j + 1) { continue; }
                @unroll for (bit<8> k in 0 .. 3) break;
                for (bit<8> k in {1, 2}) x = k;
                f<bit<8>, _>(x); { ; } .g(); (x) = 1; E() late;
            }
        }",
    );
    let DeclarationKind::Control(control) = &program.declarations[0].kind else {
        panic!("a control");
    };
    assert_eq!(control.apply.statements.len(), 16);
    assert_eq!(control.locals.len(), 4);
}

#[test]
fn tables_and_keysets_are_read() {
    let program = good(
        r#"
        control c() { table t {
            key = { hdr.a : exact @name("a"); hdr.b & 3 : ternary; }
            actions = { @defaultonly NoAction; .a(1); }
            @x const entries = { const priority = 10 : (1, _) : a(2) @y;
                priority = (3 + 1) : (0 &&& 1, 2 .. 3) : NoAction(); default : a; (bit<8>) 3 &&& 4 : a; (1) : a; }
            const default_action = a(1); size = 1024; counters = C(3); }
          apply { } }"#,
    );
    let DeclarationKind::Control(control) = &program.declarations[0].kind else {
        panic!("a control");
    };
    let DeclarationKind::Table(table) = &control.locals[0].kind else {
        panic!("a table");
    };
    let TablePropertyKind::Entries(entries) = &table.properties[2].kind else {
        panic!("entries");
    };
    let kinds: Vec<_> = entries
        .iter()
        .map(|e| match &e.keyset.kind {
            ExpressionKind::List { elements, .. } => elements.len(),
            ExpressionKind::Default => 0,
            ExpressionKind::Mask { .. } => 1,
            ExpressionKind::Integer { .. } => 10,
            _ => 100,
        })
        .collect();
    assert_eq!(kinds, [2, 2, 0, 1, 10]);
}

#[test]
fn annotations_keep_their_bodies() {
    let program = good(
        "@name(\"a\\\"b\") @m(1 + (x), \"y\") @e[] @l[1, 2 + 3] @k[a = 1, b = \"c\"] @control const int c = 1;
         @pragma size 12 many\nconst int d = 2;",
    );
    let bodies: Vec<_> = program.declarations[0]
        .annotations
        .iter()
        .map(|a| match &a.body {
            AnnotationBody::Empty => "empty".to_string(),
            AnnotationBody::Tokens(tokens) => tokens.join(" "),
            AnnotationBody::Numbers(list) => format!("{} numbers", list.len()),
            AnnotationBody::Expressions(list) => format!("{} expressions", list.len()),
            AnnotationBody::Pairs(list) => format!("{} pairs", list.len()),
        })
        .collect();
    assert_eq!(
        bodies,
        [
            "\"a\\\"b\"",
            "1 + ( x ) , \"y\"",
            "0 expressions",
            "2 expressions",
            "2 pairs",
            "empty"
        ]
    );
    assert_eq!(
        program.declarations[0].annotations[0].string().as_deref(),
        Some("a\"b")
    );
    assert_eq!(program.declarations[0].annotations[1].string(), None);
    let pragma = &program.declarations[1].annotations[0];
    assert_eq!(&*pragma.name.text, "size");
}

#[test]
fn errors_say_what_is_missing_and_where_and_several_are_told() {
    assert_eq!(
        reported(
            "header h {\n  bit<8> a\n  bit<8> b;\n}\ncontrol c() {\n  apply {\n    x = 1\n  }\n}\nconst int d = ;\n"
        ),
        [
            "2:11 expected `;` after the field's name, found the keyword `bit`",
            "7:10 expected `;` after the assignment, found `}`",
            "10:15 expected an expression, found `;`",
        ]
    );
    assert_eq!(
        reported("control c() { apply { if x { } y = 2 } }"),
        [
            "1:26 expected `(` and a condition after `if`, found `x`",
            "1:37 expected `;` after the assignment, found `}`",
        ]
    );
    assert_eq!(
        reported("parser p() { state s { transition t } }"),
        ["1:36 expected `;` after the next state, found `}`",]
    );
    assert_eq!(
        reported("control c() { apply {"),
        ["1:22 the program ends inside the `apply` block: expected `}`"]
    );
    assert_eq!(
        reported("} const int a = 1;"),
        ["1:1 this `}` closes nothing"]
    );
    assert_eq!(
        reported("bit<8> x = 1;"),
        ["1:1 a variable cannot be declared at the top of the program"]
    );
    assert_eq!(
        reported("struct table { }"),
        ["1:8 `table` is a keyword and cannot be the name of the struct"]
    );
    assert_eq!(
        reported("control c() { }"),
        ["1:15 the control `c` has no `apply` block"]
    );
}

#[test]
fn a_forgotten_brace_is_one_error_where_the_braces_should_end() {
    let program = "control i(inout bit<8> x) {
    action drop() { x = 1; }
    table t {
        key = { x: exact; }
        actions = { drop; }
        const entries = { 1: drop(); }
    }
    apply { if (x == 1) { t.apply(); } }
}
@name(\"e\") control e() { apply { } }
parser p() { state start { transition select(8w1) { 1: next; } } state next { transition accept; } }
struct s { bit<8> f; }
Package(i(), e()) main;
";
    assert_eq!(reported(program), [""; 0]);
    for (with, without, message) in [
        (
            "x = 1; }",
            "x = 1;",
            "2:27 expected `}` at the end of the action, found the keyword `table`",
        ),
        (
            "exact; }",
            "exact;",
            "4:26 expected `}` at the end of the key, found `actions`",
        ),
        (
            "{ drop; }",
            "{ drop;",
            "5:26 expected `}` at the end of the list of actions, found the keyword `const`",
        ),
        (
            "drop(); }",
            "drop();",
            "7:6 expected `}` at the end of the table, found `apply`",
        ),
        (
            "t.apply(); }",
            "t.apply();",
            "9:2 expected `}` at the end of the control, found `@`",
        ),
        (
            "apply { }",
            "apply {",
            "10:35 expected `}` at the end of the control, found the keyword `parser`",
        ),
        (
            "next; }",
            "next;",
            "11:63 expected `}` at the end of the state, found `state`",
        ),
        (
            "f; }",
            "f;",
            "12:21 expected `}` at the end of the struct, found `Package`",
        ),
        (
            "drop() {",
            "drop()",
            "2:19 expected `{` before the statements of the action, found `x`",
        ),
        (
            "key = {",
            "key =",
            "4:15 expected `{` before the property's elements, found `x`",
        ),
    ] {
        assert_eq!(program.matches(with).count(), 1, "{with}");
        assert_eq!(
            reported(&program.replace(with, without)),
            [message],
            "{with}"
        );
    }
}

#[test]
fn depth_is_bounded_on_every_way_down() {
    let deep = |open: &str, middle: &str, close: &str| {
        let text = format!("{}{middle}{}", open.repeat(3000), close.repeat(3000));
        let (_, diagnostics, _) = read(&format!("const int a = {text};"));
        assert!(diagnostics.iter().any(|d| d.code == "too-deep"), "{open}");
    };
    deep("(", "1", ")");
    deep("-", "1", "");
    deep("{", "1", "}");
    deep("f(", "1", ")");
    deep("", "1", " + 1");
    deep("", "a", ".b");
    deep("(1 + ", "1", ")");
    deep("(bit<8>)", "1", "");
    deep("a ? b : ", "c", "");
    deep("(bit<(", "1", ")>) 2");
    let tuples = format!(
        "const int a = ({}bool{}) 1;",
        "tuple<".repeat(3000),
        ">".repeat(3000)
    );
    assert!(reported(&tuples).iter().any(|t| t.contains("deep")));
    let nested = format!("control c() {{ apply {{ {} }} }}", "if (x) {".repeat(3000));
    assert!(reported(&nested).iter().any(|t| t.contains("deep")));
    let chain = format!(
        "control c() {{ apply {{ {} ; }} }}",
        "if (x) ; else { ".repeat(3000)
    );
    assert!(reported(&chain).iter().any(|t| t.contains("deep")));
    let blocks = format!("control c() {{ apply {}", "{".repeat(100_000));
    assert!(!reported(&blocks).is_empty());
}
