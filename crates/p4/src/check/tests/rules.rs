//! What keeps a rule is accepted, what breaks it is refused for that reason: statements, declarations, tables.

use super::*;

#[test]
fn statements_that_are_right() {
    let programs = [
        "b = 1; b = b + 1; b = 300 - 295; w = b ++ b; b = w[15:8]; w[7:0] = b;",
        "b = (bit<8>)w; w = (bit<16>)b; i = (int<8>)b; b = (bit<8>)(bit<1>)q;",
        "b = b << 3; b = b >> b; i = i >> 1; b = ~b; i = -i; b = b |+| 1; b = b |-| b;",
        "b = q ? 1 : b; b = true ? 1 : 2;",
        "if (q && b == 1 || !q) { b = 2; } else if (b < 3) { } else { }",
        "h = {1, 2}; h = {a = 1, b = 2}; h = {b = 2, ...}; h = {1, ...}; h = {#}; h = ...; s = {x = 1, y = q};",
        "if (h == {1, 2}) { } if (h == hs[1]) { } if (s == {1, true}) { }",
        "h.setValid(); if (h.isValid()) { h.setInvalid(); } hs.push_front(1); hs.pop_front(2); b = (bit<8>)hs.size;",
        "hs[b].a = 1; hs[2] = h; u.h = h; u.h.setValid(); if (u.isValid()) { }",
        "N n = N.X; b = n; if (n == 1) { } n = (N)3; E e = E.A; if (e == E.B) { } b = N.X + 1;",
        "New n = (New)b; b = (bit<8>)n; if (n == (New)1 && n != 2) { } n = (New)7; n = 3;",
        "tuple<bit<8>, bool> p = {b, q}; b = p[0]; if (p[1]) { } p[0] = 3;",
        "G<bit<8>> g = {t = 1}; g.t = b; bit<8> z = same(b); z = same<bit<8>>(1);",
        "take(1, b); take(second = b, first = b); give(_); give(b); b = number(1); b = number(y = 2, x = 1);",
        "if (t.apply().hit) { } if (t.apply().miss) { } switch (t.apply().action_run) { act: { } default: { } }",
        "switch (b) { 1: { } 2: 3: { } default: { } } switch (N.X) { N.X: { } } ",
        "for (bit<8> k = 0; k < 4; k += 1) { b = b + k; if (q) { break; } continue; }",
        "for (bit<8> k in 1 .. 4) { b += k; } for (H one in hs) { b = one.a; }",
        "b = K; b = (bit<8>)h.minSizeInBytes(); const int L = 3; b = L; bit<L> y = 1; y[0:0] = 1;",
        "b += 1; b <<= 2; b |+|= b; w &= 3; b = b / 4; b = b % 8; b = 12 / 5;",
        "b = w[3+:8]; error r = error.NoError; if (r == error.NoMatch) { }",
        "f(b); f({b, w}); f(h); exit; return;",
    ];
    all_accepted(&programs, body);
}

#[test]
fn statements_that_break_a_rule() {
    let programs = [
        ("b = w;", "type-mismatch"),
        ("b = i;", "type-mismatch"),
        ("b = q;", "type-mismatch"),
        ("b = missing;", "not-found"),
        ("missing(b);", "not-found"),
        ("b = h.missing;", "no-such-field"),
        ("b = (bit<8>)N.Z;", "no-such-member"),
        ("h.missing();", "no-such-method"),
        ("b = (bit<8>)i + i;", "operand"),
        ("b = b + w;", "operand"),
        ("b = ~3;", "operand"),
        ("b = 1 |+| 2;", "no-width"),
        ("b = q ? 1 : 2;", "no-width"),
        ("b = 1 << b;", "no-width"),
        ("b = b << -1;", "shift"),
        ("b = b << i;", "shift"),
        ("w = b ++ 1;", "operand"),
        ("i = i / i;", "division"),
        ("b = b / 0;", "division"),
        ("b = b / b;", "division"),
        ("b = b / -1;", "division"),
        ("b = b[9:0];", "slice"),
        ("b = (bit<8>)b[0:3];", "slice"),
        ("b[b:0] = 1;", "slice"),
        ("if (b) { }", "not-a-bool"),
        ("if (t.apply()) { }", "not-a-bool"),
        ("q = true;", "not-an-l-value"),
        ("K = 3;", "not-an-l-value"),
        ("hs.size = 1;", "not-an-l-value"),
        ("h = {1};", "type-mismatch"),
        ("h = {1, 2, 3};", "type-mismatch"),
        ("h = {a = 1};", "field-missing"),
        ("h = {a = 1, b = 2, c = 3};", "no-such-field"),
        ("h = {a = 1, a = 2, b = 3};", "duplicate-field"),
        ("s = {#};", "type-mismatch"),
        ("h = s;", "type-mismatch"),
        ("u.setValid();", "no-such-method"),
        ("s.isValid();", "no-such-method"),
        ("hs.push_front(b);", "not-constant"),
        ("hs[4] = h;", "index"),
        ("hs[-1] = h;", "index"),
        ("b = b[0];", "index"),
        ("h = hs.next;", "stack"),
        ("N n = 1;", "type-mismatch"),
        ("N n = 8w1;", "type-mismatch"),
        ("E e = (E)1;", "cast"),
        ("if (E.A == N.X) { }", "operand"),
        ("New n = b;", "type-mismatch"),
        ("New n = (New)b; b = n + 1;", "operand"),
        ("i = (int<8>)w;", "cast"),
        ("bool z = (bool)w;", "cast"),
        ("bool z = (bool)2;", "cast"),
        ("take(1, 2);", "not-an-l-value"),
        ("take(1, w);", "type-mismatch"),
        ("take(1);", "arguments"),
        ("take(1, b, b);", "arguments"),
        ("take(first = 1, third = b);", "arguments"),
        ("take(1, second = b);", "arguments"),
        ("take(_, b);", "argument"),
        ("take<bit<8>>(1, b);", "type-argument-count"),
        ("f(1);", "no-width"),
        ("f({a = b});", "cannot-infer"),
        ("b = f(b);", "not-a-value"),
        ("b = t;", "not-a-value"),
        ("b();", "not-callable"),
        ("t();", "not-callable"),
        ("act();", "arguments"),
        ("verify(q, error.NoError);", "verify"),
        ("switch (t.apply().action_run) { other: { } }", "switch"),
        (
            "switch (t.apply().action_run) { act: { } act: { } }",
            "switch",
        ),
        ("switch (b) { 1: { } 1: { } }", "switch"),
        ("switch (b) { default: { } 1: { } }", "switch"),
        ("switch (b) { w: { } }", "type-mismatch"),
        ("switch (b) { b: { } }", "not-constant"),
        ("switch (h) { default: { } }", "switch"),
        ("break;", "loop"),
        ("for (bit<8> k in b) { }", "loop"),
        ("for (bit<8> k = 0; k; k += 1) { }", "not-a-bool"),
        ("return b;", "return"),
        ("int z = 3;", "variable-type"),
        ("string z;", "variable-type"),
        ("Box<bit<8>> z;", "variable-type"),
        ("Box<bit<8>>() z;", "instance-placement"),
        ("bit<b> z;", "not-constant"),
        ("bit<-1> z;", "negative"),
        ("int<0> z;", "width"),
        ("bit<100000> z;", "too-large"),
        ("G z;", "type-arguments-missing"),
        ("G<bit<8>, bit<8>> z;", "type-argument-count"),
        ("S<bit<8>> z;", "not-generic"),
        ("b z;", "not-a-type"),
        ("Missing z;", "not-found"),
        ("bit<8> b = 1;", "shadows-parameter"),
        ("tuple<bit<8>> p = {b}; b = p[1];", "index"),
        ("tuple<bit<8>, bit<8>> p = {b, b}; b = p[b];", "index"),
        ("if (f(b) == f(b)) { }", "not-a-value"),
        ("if ({a = 1} == {a = 1}) { }", "cannot-infer"),
        ("b = this;", "this"),
    ];
    all_refused(&programs, body);
}

#[test]
fn declarations_that_are_right() {
    let programs = [
        "const int A = 3 * 7; const bit<A> B = 1 << 20; const bool C = A > 3 && B != 0; const string D = \"a\" ++ \"b\";",
        "const S R = {1, true}; const bit<8> Z = R.x; const tuple<bit<8>, int> T = {1, 2}; const int W = T[1];",
        "typedef bit<8> Byte; typedef Byte Again; struct T { Again a; Byte[3] many; } type Byte Other; type Other Third;",
        "enum bit<4> M { A = 1, B = (bit<4>)A + 1 }",
        "error { Mine } error { Yours } match_kind { near } const error R = error.Yours;",
        "bit<8> g(in bit<8> x) { return x + 1; } void p() { return; } T id<T>(in T x) { return x; }",
        "bit<8> g() { return 1; } bit<8> g(in bit<8> x) { return x; } control d(inout bit<8> z) { apply { z = g() + g(z); } }",
        "action a(in bit<8> x, out bit<8> y, bit<8> z) { y = x + z; }",
        "control d(inout bit<8> z) { Box<bit<8>>() one; Box(8w3) two; Box<bit<8>>(4)  three; apply { z = one.get() + two.get(); one.set(z); one.set(z, 1); } }",
        "control inner(inout bit<8> z)(bit<8> k) { apply { z = k; } } control outer(inout bit<8> z) { inner(3) i; inner(K) j; apply { i.apply(z); j.apply(z); } }",
        "control inner(inout bit<8> z) { apply { } } control outer(inout bit<8> z) { apply { inner.apply(z); } }",
        "control C<T>(inout T z); control d(inout bit<8> z) { apply { } } package P<T>(C<T> x, @optional C<bit<4>> y); P(d()) main;",
        "control C(inout bit<8> z); control d(inout bit<8> z)(C x) { apply { x.apply(z); } } control e(inout bit<8> z) { apply { } } package P(C x); P(d(e())) main;",
        "extern Virtual { Virtual(); abstract bit<8> go(in bit<8> x); } control d(inout bit<8> z) { bit<8> k = 2; Virtual() v = { bit<8> go(in bit<8> x) { return x + k; } }; apply { } }",
        "struct Pair<A, B2> { A a; B2 b; } const Pair<bit<8>, bool> P = {a = 1, b = true}; typedef Pair<bit<8>, G<bool>> Deep;",
        "const list<bit<8>> L = (list<bit<8>>){1, 2, 3}; extern Q { Q(list<tuple<bit<8>, bool>> l); } control d() { Q({{1, true}, {2, false}}) q; apply { } }",
        "@a[1, \"two\", K + 1] @b[k = 1, l = true] const bit<8> Z = 1;",
        "const bool Z = static_assert(K == 5, \"five\");",
        "parser p(packet_in k, out H h, out V v, out H[4] hs) { value_set<bit<8>>(4) vs; state start { k.extract(h); transition select(h.a, h.b) { (1, _): one; (2 &&& 3, 4 .. 6): two; (_, K ++ 8w1): accept; default: reject; } } state one { k.extract(v, 8); transition select(h.a) { vs: two; 1: accept; _: two; } } state two { k.extract(hs.next); H l = k.lookahead<H>(); k.advance(8); verify(hs.last.a == 1, error.NoMatch); transition select(hs.lastIndex) { 0: accept; default: start; } } }",
        "parser sub(packet_in k, out H h) { state start { k.extract(h); transition accept; } } parser p(packet_in k, out H h) { sub() s2; state start { s2.apply(k, h); transition accept; } }",
    ];
    all_accepted(&programs, top);
}

#[test]
fn declarations_that_break_a_rule() {
    let programs = [
        ("const bit<8> K = 1;", "duplicate-declaration"),
        ("struct T { bit<8> a; bit<8> a; }", "duplicate-field"),
        ("enum T { A, A }", "duplicate-member"),
        ("error { NoError }", "duplicate-member"),
        ("enum bool T { A = true }", "enum-type"),
        ("enum bit<2> T { A = 4 }", "enum-value"),
        ("header T { E e; }", "type-nesting"),
        ("header T { H h; }", "type-nesting"),
        ("struct T { string s; }", "type-nesting"),
        ("struct T { Box<bit<8>> s; }", "type-nesting"),
        ("header_union T { bit<8> s; }", "type-nesting"),
        ("header_union T { S s; }", "type-nesting"),
        (
            "header T<X> { X x; } typedef T<S> A; typedef T<H> B;",
            "type-nesting",
        ),
        ("struct T { T t; }", "recursion"),
        ("typedef G<G<bit<8>>> T;", "type-argument"),
        ("type S T;", "new-type"),
        ("const bit<8> Z = w;", "not-found"),
        ("extern bit<8> e(); const bit<8> Z = e();", "not-constant"),
        ("const Box<bit<8>> Z = 1;", "constant-type"),
        ("bit<8> g(in bit<8> x) { return; }", "return"),
        ("void g() { return 1; }", "return"),
        ("bit<8> g(in bit<8> x) { return g(x); }", "recursion"),
        ("void g(in string s) { }", "parameter-type"),
        ("void g(in int s) { }", "parameter-type"),
        ("void g(in Box<bit<8>> s) { }", "parameter-type"),
        ("void g(out bit<8> s = 1) { }", "default-argument"),
        (
            "void g(in bit<8> s, in bit<8> s) { }",
            "duplicate-declaration",
        ),
        ("void g(@optional in bit<8> s) { }", "optional"),
        ("action a(bit<8> z, in bit<8> x) { }", "parameter-order"),
        ("action a(int z) { }", "parameter-type"),
        (
            "control d(inout bit<8> z)(in bit<8> k) { apply { } }",
            "parameter-type",
        ),
        (
            "control inner(inout bit<8> z)(bit<8> k) { apply { } } control outer(inout bit<8> z) { apply { inner.apply(z); } }",
            "apply",
        ),
        (
            "control inner() { apply { } } action a() { inner.apply(); }",
            "apply-placement",
        ),
        (
            "control inner() { apply { } } inner() i;",
            "instance-placement",
        ),
        (
            "control inner(inout bit<8> z)(bit<8> k) { apply { } } control outer(inout bit<8> z) { inner(z) i; apply { } }",
            "not-constant",
        ),
        ("control d() { Box() one; apply { } }", "cannot-infer"),
        (
            "control d() { Box<bit<8>>(true) one; apply { } }",
            "type-mismatch",
        ),
        ("control d() { S() one; apply { } }", "not-constructible"),
        (
            "control C(inout bit<8> z); control d(inout bit<16> z) { apply { } } package P(C x); P(d()) main;",
            "type-mismatch",
        ),
        (
            "control C(inout bit<8> z); control d(in bit<8> z) { apply { } } package P(C x); P(d()) main;",
            "type-mismatch",
        ),
        (
            "control C(inout bit<8> z); package P(C x); P() main;",
            "arguments",
        ),
        ("const bit<8> main = 3;", "main"),
        (
            "extern Virtual { Virtual(); abstract bit<8> go(in bit<8> x); } control d() { Virtual() v; apply { } }",
            "abstract",
        ),
        (
            "extern Virtual { Virtual(); abstract bit<8> go(in bit<8> x); } control d() { Virtual() v = { bit<8> go(in bit<16> x) { return 1; } }; apply { } }",
            "abstract",
        ),
        (
            "control d() { Box<bit<8>>() v = { void set(in bit<8> x) { } }; apply { } }",
            "initializer",
        ),
        ("extern Odd { bit<8> Odd(); }", "constructor"),
        (
            "void two(in bit<8> x) { } void two(in bit<16> x) { } control d(in bit<8> z) { apply { two(z); } }",
            "ambiguous",
        ),
        (
            "const bool Z = static_assert(K == 6, \"six\");",
            "static-assert",
        ),
        ("@a[b = {1, 2}] const bit<8> Z = 1;", "annotation"),
        ("@a[1] @a[2] const bit<8> Z = 1;", "annotation"),
        (
            "parser p(packet_in k) { state start { transition missing; } }",
            "not-found",
        ),
        (
            "parser p(packet_in k) { state accept { } state start { transition accept; } }",
            "parser-state",
        ),
        (
            "parser p(packet_in k, in S s) { state start { transition select(s) { _: accept; } } }",
            "select",
        ),
        (
            "parser p(packet_in k, in bit<8> s) { state start { transition select(s) { 16w1: accept; } } }",
            "type-mismatch",
        ),
        (
            "parser p(packet_in k, in bit<8> s) { state start { transition select(s, s) { (1, 2, 3): accept; } } }",
            "keyset",
        ),
        (
            "parser p(packet_in k, in bit<8> s) { state start { transition select(s) { s &&& s: accept; } } }",
            "not-constant",
        ),
        (
            "parser p(packet_in k, out bit<8> s) { state start { k.extract(s); transition accept; } }",
            "extract",
        ),
        (
            "parser p(packet_in k, out V s) { state start { k.extract(s); transition accept; } }",
            "extract",
        ),
        (
            "parser p(packet_in k, out H s) { state start { k.extract(s, 8); transition accept; } }",
            "extract",
        ),
        (
            "parser p(packet_in k, out H s) { state start { k.lookahead<V>(); transition accept; } }",
            "lookahead",
        ),
        (
            "control d(packet_out k, in bit<8> s) { apply { k.emit(s); } }",
            "emit",
        ),
        (
            "control d(packet_in k, out H h) { apply { k.extract(h); } }",
            "packet-method",
        ),
        (
            "parser p(packet_out k, in H h) { state start { k.emit(h); transition accept; } }",
            "packet-method",
        ),
        ("void g() { break; }", "loop"),
    ];
    all_refused(&programs, top);
}

/// A program with a table of these properties.
fn table(properties: &str) -> String {
    format!(
        "{WORLD} control c(inout bit<8> b, in H h, in S s) {{
            action act(bit<8> d) {{ b = d; }}
            action bound(in bit<8> x, bit<8> d) {{ b = x + d; }}
            action other() {{ }}
            table t {{ {properties} }}
            apply {{ t.apply(); }}
        }}"
    )
}

#[test]
fn tables() {
    let programs = [
        "actions = { act; other; } default_action = act(1);",
        "key = { b : exact; h.b : ternary; } actions = { act; bound(b); } const default_action = act(K); size = 16;",
        "key = { b : lpm; } actions = { bound(b); other; } const entries = { 1: bound(b, 2); 0x80 &&& 0xf0: other(); _: bound(3); } default_action = other;",
        "key = { b : exact; h.b : ternary; } actions = { act; } entries = { (1, _): act(1); (2, 3 &&& 7): act(d = 2); } default_action = act(0);",
        "key = { b + 1 : exact @name(\"k\"); h.isValid() : exact @name(\"v\"); } actions = { other; }",
    ];
    all_accepted(&programs, table);
    for (text, code) in [
        ("key = { b : near; } actions = { other; }", "match-kind"),
        ("key = { s : exact; } actions = { other; }", "key-type"),
        ("key = { h : exact; } actions = { other; }", "key-type"),
        ("key = { 3 : exact; } actions = { other; }", "key-type"),
        ("key = { b : exact; } actions = { missing; }", "not-found"),
        ("key = { b : exact; } actions = { f; }", "not-an-action"),
        (
            "key = { b : exact; } actions = { other; other; }",
            "duplicate-action",
        ),
        ("key = { b : exact; } actions = { bound; }", "arguments"),
        ("key = { b : exact; } actions = { act(1); }", "arguments"),
        (
            "key = { b : exact; } actions = { other; } default_action = act(1);",
            "action-list",
        ),
        (
            "key = { b : exact; } actions = { act; } default_action = act();",
            "arguments",
        ),
        (
            "key = { b : exact; } actions = { act; } default_action = act(b);",
            "not-constant",
        ),
        (
            "key = { b : exact; } actions = { bound(b); } default_action = bound(3, 1);",
            "arguments",
        ),
        (
            "default_action = other(); actions = { other; }",
            "property-order",
        ),
        (
            "key = { b : exact; } actions = { other; } size = b;",
            "table-size",
        ),
        (
            "key = { b : exact; } actions = { act; } entries = { 16w1: act(1); }",
            "type-mismatch",
        ),
        (
            "key = { b : exact; } actions = { act; } entries = { (1, 2): act(1); }",
            "keyset",
        ),
        (
            "key = { b : exact; } actions = { act; } entries = { 1: act(true); }",
            "type-mismatch",
        ),
        (
            "actions = { act; } const entries = { 1: act(1); }",
            "property-order",
        ),
    ] {
        let (_, diagnostics, sources) = run(&table(text));
        let found = diagnostics
            .iter()
            .any(|d| d.code == code && d.severity == Severity::Error);
        assert!(
            found,
            "wanted {code}: {text}\n{}",
            reported(&diagnostics, &sources)
        );
    }
}
