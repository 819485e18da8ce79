//! What the checker finds out: values of constants, types, warnings, and help.

use super::*;

#[test]
fn no_action_is_needed_where_it_is_implied() {
    let table = "control c() { action a() { } table t { actions = { a; } } apply { t.apply(); } }";
    refused(table, "no-action");
    accepted(
        "action NoAction() { } control c() { action a() { } table t { actions = { a; } } apply { t.apply(); } }",
    );
    accepted(
        "control c() { action a() { } table t { actions = { a; } default_action = a; } apply { t.apply(); } }",
    );
}

/// The value of the constant `name`.
fn value(checked: &Checked, name: &str) -> Option<Constant> {
    checked
        .program
        .declarations
        .iter()
        .find_map(|declaration| match &declaration.kind {
            DeclarationKind::Constant { name: found, .. } if &*found.text == name => {
                checked.constants.get(&declaration.id).cloned()
            }
            _ => None,
        })
}

#[test]
fn constants_are_computed_as_the_language_says() {
    for (ty, text, expected) in [
        ("bit<8>", "255 + 8w2", 1),
        ("int<8>", "127 + 8s1", -128),
        ("bit<8>", "8w250 |+| 10", 255),
        ("bit<8>", "8w3 |-| 10", 0),
        ("int<8>", "8s100 |+| 100", 127),
        ("int<8>", "-8s100 |-| 100", -128),
        ("bit<8>", "-8w1", 255),
        ("bit<8>", "~8w1", 254),
        ("int<8>", "~8s1", -2),
        ("bit<16>", "8w1 ++ 8w2", 258),
        ("int<16>", "-8s1 ++ 8s2", -254),
        ("bit<4>", "8w0xab[7:4]", 10),
        ("bit<8>", "8w1 << 9", 0),
        ("bit<8>", "8w128 >> 3", 16),
        ("int<8>", "-8s128 >> 3", -16),
        ("int<8>", "-8s1 >> 100", -1),
        ("int", "7 / 2 * 10 + 7 % 4", 33),
        ("int", "1 << 20", 1 << 20),
        ("int", "-9 >> 1", -5),
        ("bit<8>", "(bit<8>)16w0x1234", 0x34),
        ("int<8>", "(int<8>)8w255", -1),
        ("int<16>", "(int<16>)-8s1", -1),
        ("bit<8>", "true ? 8w3 : 8w4", 3),
        ("bit<8>", "(bit<8>)(bit<1>)(3 > 2)", 1),
        ("bit<8>", "N.Y + 1", 3),
        ("int", "H.minSizeInBits() + V.maxSizeInBytes()", 24 + 9),
        ("bit<8>", "(bit<8>)(New)8w9", 9),
    ] {
        let checked = accepted(&top(&format!("const {ty} RESULT = {text};")));
        assert_eq!(
            value(&checked, "RESULT"),
            Some(Constant::Integer(expected.into())),
            "{text}"
        );
    }
}

#[test]
fn lists_take_their_types_from_where_they_stand() {
    let checked = accepted(&top(
        "struct T { S s; bit<16>[2] n; } const T RESULT = {{1, true}, {2, 3}};",
    ));
    let number = |n: u8| Constant::Integer(n.into());
    assert_eq!(
        value(&checked, "RESULT"),
        Some(Constant::List(
            [
                Constant::List([number(1), Constant::Bool(true)].into()),
                Constant::List([number(2), number(3)].into()),
            ]
            .into()
        ))
    );
    let casts: Vec<&Type> = checked.casts.values().collect();
    assert!(
        casts.contains(&&Type::Bits(16)) && casts.contains(&&Type::Bits(8)),
        "{casts:?}"
    );
}

#[test]
fn a_number_that_does_not_fit_is_told_and_cut() {
    let (checked, diagnostics, _) = run(&top("const bit<4> RESULT = 17;"));
    assert!(!diagnostics.failed());
    assert!(diagnostics.iter().any(|d| d.code == "does-not-fit"));
    assert_eq!(value(&checked, "RESULT"), Some(Constant::Integer(1.into())));
}

#[test]
fn misspelt_names_get_help() {
    for (text, help) in [
        ("b = numbr(1);", "number"),
        ("b = h.aa;", "`a`"),
        ("h.setVallid();", "setValid"),
        ("N n = N.x;", "`X`"),
        ("uint16_t z;", "write `bit<16>`"),
        ("int32_t z;", "write `int<32>`"),
        ("__be32 z;", "write `bit<32>`"),
        ("u8 z;", "write `bit<8>`"),
    ] {
        let (_, diagnostics, _) = run(&body(text));
        let helps = diagnostics
            .iter()
            .filter_map(|d| d.help.clone())
            .any(|h| h.contains(help));
        assert!(helps, "{text}");
    }
}

#[test]
fn what_uses_itself_or_stands_below_its_use_is_told_so() {
    let control = |locals: &str| {
        let text = format!("control c(inout bit<8> b) {{ {locals} apply {{ t.apply(); }} }}");
        let (_, diagnostics, _) = run(&text);
        let reported = diagnostics.sorted().into_iter();
        reported
            .map(|d| (d.message.clone(), d.notes.len()))
            .collect::<Vec<_>>()
    };
    let table = "table t { actions = { a; } default_action = a; }";
    assert_eq!(control(&format!("action a() {{ b = 1; }} {table}")), []);
    assert_eq!(
        control(&format!("action a() {{ a(); }} {table}")),
        [("the action `a` uses itself: P4 has no recursion".into(), 1)]
    );
    assert_eq!(
        control(&format!("{table} action a() {{ b = 1; }}")),
        alloc::vec![("`a` is used above its declaration".into(), 1); 2]
    );
    assert_eq!(
        control(&format!("action a() {{ t.apply(); }} {table}")),
        [("`t` is used above its declaration".into(), 1)]
    );
}

#[test]
fn type_arguments_are_inferred_and_none_is_left_open() {
    let checked = accepted(
        "#include <core.p4>\n#include <v1model.p4>
        struct M { bit<8> x; } header E { bit<48> d; } struct Hs { E e; }
        parser P(packet_in b, out Hs h, inout M m, inout standard_metadata_t s) { state start { b.extract(h.e); transition accept; } }
        control V(inout Hs h, inout M m) { apply { } }
        control I(inout Hs h, inout M m, inout standard_metadata_t s) {
            register<bit<8>>(16) r; counter(4, CounterType.packets) n;
            apply { r.read(m.x, 3); r.write(3, m.x + 1); n.count(2); hash(m.x, HashAlgorithm.crc16, 8w0, {h.e.d, m.x}, 8w3); random(m.x, 0, 9); }
        }
        control G(inout Hs h, inout M m, inout standard_metadata_t s) { apply { } }
        control C(inout Hs h, inout M m) { apply { verify_checksum(true, {m.x, 8w0}, 16w3, HashAlgorithm.csum16); } }
        control D(packet_out b, in Hs h) { apply { b.emit(h); } }
        V1Switch(P(), V(), I(), G(), C(), D()) main;",
    );
    let open = |ty: &Type| {
        crate::check::substitution::any(ty, &mut |part| {
            matches!(part, Type::Variable(_) | Type::Unknown)
        })
    };
    assert!(checked.main.is_some());
    assert!(
        !checked
            .calls
            .values()
            .any(|call| call.type_arguments.iter().any(open))
    );
    let main = &checked.calls[&checked.main.expect("just seen")];
    assert!(matches!(
        main.type_arguments[..],
        [Type::Composite(..), Type::Composite(..)]
    ));
}

#[test]
fn what_could_grow_without_bound_is_refused() {
    let doubling = |first: &str, step: &str| {
        let steps: String = (0..60)
            .map(|n| {
                step.replace("$m", &format!("{}", n + 1))
                    .replace('$', &format!("{n}"))
            })
            .collect();
        format!("{first}{steps}")
    };
    refused(
        &doubling(
            "typedef tuple<bool, bool> T0;",
            "typedef tuple<T$, T$> T$m;",
        ),
        "type-too-large",
    );
    refused(
        &doubling("struct T0 { bool a; }", "struct T$m { T$ a; T$ b; }"),
        "type-too-large",
    );
    refused(
        &doubling(
            "const string s0 = \"0123456789\";",
            "const string s$m = s$ ++ s$;",
        ),
        "too-large",
    );
    let deep = format!("{}8w1{}", "f(".repeat(60), ")".repeat(60));
    let text = format!(
        "tuple<T, T> f<T>(in T x) {{ return {{x, x}}; }} control c() {{ apply {{ f({deep}); }} }}"
    );
    refused(&text, "type-too-large");
}

#[test]
fn numbers_of_annotations_are_expressions_that_are_known() {
    let program = |value: &str| {
        format!(
            "const bit<8> ONE = 1; enum bit<8> L {{ A = 3 }} struct s {{ @field_list({value}) bit<8> x; }}"
        )
    };
    all_accepted(
        &[
            "1",
            "ONE",
            "L.A",
            "8w1",
            "0x1",
            "0+1",
            "ONE, L.A, (4 - 2) * 3",
        ],
        program,
    );
    all_refused(
        &[
            ("NONE", "not-found"),
            ("-1", "annotation"),
            ("1 << 40", "annotation"),
            ("\"one\"", "annotation"),
        ],
        program,
    );
    let checked =
        accepted("const int FIRST = 7; @id(FIRST + 1) action a() { } @id(0x12) action b() { }");
    let ids = checked.program.declarations.iter();
    let ids: Vec<_> = ids
        .filter_map(|d| checked.annotation_number(&d.annotations, "id"))
        .collect();
    assert_eq!(ids, [8, 0x12]);
}

#[test]
fn members_of_error_are_known_before_they_are_declared() {
    accepted("const error E = error.Late; error { Late, Later }");
    refused(
        "const error E = error.Never; error { Late }",
        "no-such-member",
    );
    refused("error { A } error { A }", "duplicate-member");
}

#[test]
fn an_open_type_of_a_parameter_is_new_in_each_call() {
    let program = |body: &str| {
        format!(
            "#include <core.p4>
            extern Store<T, I> {{ Store(bit<32> size); }}
            extern Action<T, I, U> {{ Action(Store<_, _> store); U execute(in I index); }}
            extern Pair<T> {{ Pair(Store<T, _> one, Store<T, _> other); }}
            control c(inout bit<16> y) {{
                Store<bit<32>, bit<8>>(100) a;
                Store<bit<16>, bit<16>>(100) b;
                {body}
            }}"
        )
    };
    all_accepted(
        &[
            "Action<bit<32>, bit<8>, bit<16>>(a) x; Action<bit<16>, bit<16>, bit<16>>(b) z;
             apply { y = x.execute(0) + z.execute(1); }",
            "Store<bit<32>, bit<9>>(1) d; Pair<bit<32>>(a, d) p; apply { }",
            // A number alone, which p4c refuses; it does not say what the type is for other calls.
            "Action<bit<32>, _, bit<16>>(a) x; apply { y = x.execute(0) + x.execute(8w1) + x.execute(2); }",
            "Action<bit<32>, _, bit<16>>(a) x; apply { y = x.execute(-1) + x.execute(0xfffffffff); }",
            // What only the call would tell stays open.
            "Action<_, _, bit<16>>(a) x; Action<_, _, bit<16>>(b) z; apply { y = x.execute(8w0) + z.execute(8w1); }",
        ],
        program,
    );
    all_refused(
        &[
            ("Pair<bit<32>>(a, b) p; apply { }", "type-mismatch"),
            (
                "Action<bit<32>, bit<8>, bit<16>>(a) x; apply { y = x.execute(16w0); }",
                "type-mismatch",
            ),
        ],
        program,
    );
}

#[test]
fn a_package_of_others_called_switch_is_not_ours() {
    let main = |blocks: &str, made: &str| {
        format!(
            "#include <core.p4>
            header h_t {{ bit<8> a; }}
            struct H {{ h_t h; }}
            control C(inout H h) {{
                action n() {{ }}
                table t {{ key = {{ h.h.a : ternary; }} actions = {{ n; }} const default_action = n();
                    const entries = {{ 1 .. 5 : n(); }} }}
                apply {{ t.apply(); }}
            }}
            control X(inout H h) {{ apply {{ }} }}
            control K(inout H h);
            package Switch({blocks}); Switch({made}) main;"
        )
    };
    // A range for a ternary key is refused where engines run the program.
    accepted(&main("K pipe0, K pipe1", "C(), X()"));
    refused(
        &main("K p, K ig, K eg, K dep", "C(), X(), X(), X()"),
        "keyset",
    );
}
