//! Layout of small programs.

use super::*;
use alloc::string::ToString;

fn formatted(text: &str) -> String {
    let once = format(text).unwrap_or_else(|d| panic!("{text}\n{:?}", d.sorted()));
    let again = format(&once).expect("what was laid out");
    assert_eq!(once, again, "laying out twice changes something");
    once
}

fn stays(text: &str) {
    assert_eq!(formatted(text), text);
}

#[test]
fn statements_stand_on_lines_of_their_own() {
    assert_eq!(
        formatted(
            "header  h{bit < 8 > a;\nbit<16>b;}\ncontrol c( inout h  x ){apply{x.a=1;if(x.b==2){x.a=3;}else if(x.b>3)x.a=4;else{exit;}}}"
        ),
        "header h {
    bit<8> a;
    bit<16> b;
}
control c(inout h x) {
    apply {
        x.a = 1;
        if (x.b == 2) {
            x.a = 3;
        } else if (x.b > 3) x.a = 4;
        else {
            exit;
        }
    }
}
"
    );
}

#[test]
fn a_good_layout_stays_as_it_is() {
    stays(
        "/* A licence
 * of two lines.
 */
#include <core.p4>
#define WIDTH 8 // bits

// What is sent.
header ethernet_t {
    bit<48> dst; // to
    bit<48> src;

    // The type.
    bit<16> type;
}

enum bit<8> Kind {
    A = 1,
    B = 2, // two
    C = 3
}
enum Short { A, B }

parser P(packet_in packet,
         out headers hdr,
         inout metadata meta) {
    state start {
        transition select(hdr.a.b, (bit<8>)x) {
            (0x800, 1 &&& 3): next;
            (_, 2 .. 4): accept;
            default: reject;
        }
    }
}

@name(\"c\")
control C(inout headers hdr)(bit<8> size) {
    @hidden
    action drop() { mark_to_drop(sm); }
    Register<bit<32>, bit<8>>(size * 2) register;
    table t {
        key = {
            hdr.ip.dst: lpm @name(\"dst\");
        }
        actions = { drop; NoAction; }
        const entries = {
            (8w1, _): drop(); // first
        }
        default_action = NoAction();
        size = 1024;
    }
    apply {
        if (a)
            b();
        else
            c();
        // Nothing else.
#ifdef MORE
        more(-1, !x, ~y, a[7:0], b[i+:8], c >> 2, a ? b : c);
#endif
        switch (t.apply().action_run) {
            drop:
            NoAction: {
                x = (S<bit<8>>){ 1, 2, ... };
            }
            default: { }
        }
        for (bit<8> i = 0; i < 8; i = i + 1) {
            x |+|= f<bit<8>>(i);
        }
    }
}
",
    );
}

#[test]
fn long_lines_break_behind_commas_and_operators() {
    let names: alloc::vec::Vec<_> = (0..12)
        .map(|n| alloc::format!("argument_number_{n}"))
        .collect();
    let text = alloc::format!(
        "control c() {{ apply {{ f({}); x = {}; if ({}) y(); }} }}",
        names.join(","),
        names.join("+"),
        names.join("&&")
    );
    let out = formatted(&text);
    assert!(out.lines().all(|l| l.chars().count() <= WIDTH), "{out}");
    assert!(out.contains("\n          argument_number_"), "{out}");
}

#[test]
fn comments_in_odd_places_survive() {
    for text in [
        "control c() // why\n{ /* in */ apply { } } // end\n",
        "const bit<8> x = // eight\n 1; /* a */ /* b */\n",
        "control c() { apply { f(a, // one\n b /* two */); } // after\n else_less(); }",
        "// only\n",
        "control c() { apply { if (x) /* then */ y(); // so\n else // not\n z(); } }",
        "struct s { /* nothing */ }\nstruct t {\n // nothing\n}\n",
        "enum E {\n A, // a\n // b\n B // c\n}\n",
    ] {
        let out = formatted(text);
        let count = |t: &str| t.matches("//").count() + t.matches("/*").count();
        assert_eq!(count(&out), count(text), "{out}");
    }
}

#[test]
fn branches_of_conditions_are_alternatives() {
    stays(
        "control c() {
    apply {
#ifdef A
        if (a) {
#else
        if (b) {
#endif
            x = 1;
        }
        y = 2;
    }
}
",
    );
}

#[test]
fn strings_of_a_pragma_may_go_on_in_the_next_line() {
    stays(
        "@pragma name \"one\ntwo\"\nconst bit<8> a = 1;\n\n@pragma name \"\u{27f6}\" // why\nconst bit<8> b = 1;\n",
    );
}

#[test]
fn what_is_not_a_program_is_refused_with_a_place() {
    for (text, start) in [("a { b", 2), ("a )", 2), ("\"x", 0), ("( ]", 2)] {
        let told = format(text).expect_err(text);
        assert_eq!(told.sorted()[0].span.start, start, "{text}");
    }
    assert_eq!(format("").expect("nothing"), "".to_string());
}
