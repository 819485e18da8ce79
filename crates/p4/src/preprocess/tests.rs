//! The preprocessor over small texts.

use super::*;
use crate::source::IncludeError;
use alloc::string::String;
use alloc::vec::Vec;

/// `a.p4` includes `b.p4`; `self.p4` itself.
struct Few;

impl Includes for Few {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        let text = match name {
            "b.p4" => "#pragma once\nb",
            "self.p4" => "#include <self.p4>\n#include <self.p4>\n",
            _ => return Err("there are only two files".into()),
        };
        Ok((name.into(), text.into()))
    }
}

fn run(text: &str) -> (String, Diagnostics) {
    let (mut sources, mut diagnostics) = (Sources::default(), Diagnostics::default());
    let options = Options {
        defines: [("GIVEN".into(), "7".into())].into(),
    };
    let tokens = preprocess(
        "t.p4",
        text,
        &mut Few,
        &options,
        &mut sources,
        &mut diagnostics,
    );
    let texts: Vec<_> = tokens.iter().map(Token::text).collect();
    (texts.join(" "), diagnostics)
}

fn good(text: &str) -> String {
    let (out, diagnostics) = run(text);
    assert_eq!(diagnostics.sorted(), Vec::<&Diagnostic>::new(), "{text}");
    out
}

fn code(text: &str) -> &'static str {
    let (_, diagnostics) = run(text);
    diagnostics.sorted().first().expect("an error").code
}

#[test]
fn macros_with_and_without_arguments_are_replaced() {
    assert_eq!(good("#define A 1 + B\n#define B 2\nA A"), "1 + 2 1 + 2");
    assert_eq!(
        good("#define F(x, y) (x) y x\nF(a, (b, c)) F\nF (1,\n2)"),
        "( a ) ( b , c ) a F ( 1 ) 2 1"
    );
    assert_eq!(good("#define N() z\nN() GIVEN"), "z 7");
    assert_eq!(good("#define G (1)\nG"), "( 1 )");
    assert_eq!(
        good("#define F(x) x\n#define X F(F(1))\nX\n#undef X\nX"),
        "1 X"
    );
}

#[test]
fn a_macro_in_its_own_body_stays_a_name() {
    assert_eq!(good("#define A B a\n#define B A b\nA"), "A b a");
    assert_eq!(
        good("#define f(x) f(x + 1)\nf(f(2))"),
        "f ( f ( 2 + 1 ) + 1 )"
    );
}

#[test]
fn arguments_are_quoted_and_pasted_as_written() {
    assert_eq!(
        good("#define S(x) #x\n#define K 1\nS(a  K \"q\\n\")"),
        "\"a K \\\"q\\\\n\\\"\""
    );
    assert_eq!(
        good("#define P(x, y) x##y tail\nP(hdr_, 4) P(, b)"),
        "hdr_4 tail b tail"
    );
    assert_eq!(good("#define W(w, v) w##w##v\nW(8, 255)"), "88255");
    assert_eq!(good("#define N(a, v) a##w##v\nN(8, 255)"), "8w255");
    assert_eq!(
        good("#define V(f, ...) f(__VA_ARGS__)\nV(g, 1, 2) V(g)"),
        "g ( 1 , 2 ) g ( )"
    );
}

#[test]
fn conditions_choose_one_branch() {
    assert_eq!(
        good("#define X 3\n#if X > 2 && defined(X) && !defined Y\na\n#else\nb\n#endif"),
        "a"
    );
    assert_eq!(
        good("#if 0\na\n#if 1\nb\n#endif\n#elif 1 << 4 == 0x10\nc\n#elif 1\nd\n#else\ne\n#endif f"),
        "c"
    );
    assert_eq!(
        good("#ifndef Q\n#define Q\nx\n#endif\n#ifdef Q\ny\n#endif"),
        "x y"
    );
    assert_eq!(
        good("#if 0\ndon't look \"here\n/* #endif */\n#unknown\n#endif\nz"),
        "z"
    );
    assert_eq!(good("#if NOTHING == 0 ? 2 >> 1 : 0\nyes\n#endif"), "yes");
    assert_eq!(
        good("#define F(x) ((x) * 10UL)\n#if F(2) \\\n == 20\nyes\n#endif"),
        "yes"
    );
}

#[test]
fn conditions_choose_lines_of_a_string() {
    let text = "#define B\n\"one\n#if defined(A)\ntwo\n# elif defined(B)\nthree\n#else\nfour\n#endif\n#five\" six";
    assert_eq!(good(text), "\"one\n\n\n\nthree\n\n\n\n#five\" six");
    assert_eq!(code("\"a\n#if 1\nb\" c"), "unclosed-condition");
    assert_eq!(
        code("#if 1\n\"a\n#endif\nb\"\n#endif"),
        "unclosed-condition"
    );
    assert_eq!(code("\"a\n#endif\nb\""), "unmatched-directive");
}

#[test]
fn a_word_goes_on_behind_a_joined_line_end() {
    let text = "#define LONG_\\\nNAME \\\n 5\n#define LAST \\\n  LONG_NAME\nLAST LO\\\r\nNG_NAME ab\\\n cd";
    assert_eq!(good(text), "5 5 ab cd");
}

#[test]
fn files_are_included_and_once_means_once() {
    assert_eq!(
        good("#include \"b.p4\"\n#include <b.p4> // again\n#define N <b.p4>\n#include N\nend"),
        "b end"
    );
    assert_eq!(code("#include \"self.p4\"\n"), "include-depth");
    assert_eq!(code("#include \"none.p4\"\n"), "include-not-found");
    assert_eq!(code("#include none\n"), "bad-directive");
}

#[test]
fn errors_and_warnings_of_the_program_are_told() {
    let (_, diagnostics) = run("#error  no such target \n#warning w\n");
    let told: Vec<_> = diagnostics
        .sorted()
        .iter()
        .map(|d| d.message.clone())
        .collect();
    assert_eq!(told, ["no such target", "w"]);
    assert_eq!(code("#endif"), "unmatched-directive");
    assert_eq!(code("#if 1\n#else\n#else\n#endif"), "unmatched-directive");
    assert_eq!(code("#if 1\n"), "unclosed-condition");
    assert_eq!(code("#if 1 +\n#endif"), "bad-condition");
    assert_eq!(code("#if 1 / 0\n#endif"), "bad-condition");
    assert_eq!(code("#define F(x) x\nF(1, 2)"), "bad-macro-use");
    assert_eq!(code("#define F(x) x\nF(1"), "bad-macro-use");
    assert_eq!(code("#define A 1\n#define A 2"), "macro-redefined");
}

#[test]
fn growth_without_bound_is_refused() {
    let mut text = String::from("#define A0 1 1\n");
    for n in 0..60 {
        text += &format!("#define A{} A{n} A{n}\n", n + 1);
    }
    text += "A60";
    assert_eq!(code(&text), "macro-too-large");
    let deep = format!("#define F(x) x\n{}1{}", "F(".repeat(5000), ")".repeat(5000));
    assert_eq!(code(&deep), "macro-too-deep");
    let brackets = format!("#if {}1\n#endif", "(".repeat(100_000));
    assert_eq!(code(&brackets), "bad-condition");
}

#[test]
fn a_replaced_token_stands_where_the_macro_is_used() {
    let (mut sources, mut diagnostics) = (Sources::default(), Diagnostics::default());
    let text = "#define A x y\n  A z";
    let tokens = preprocess(
        "t",
        text,
        &mut Few,
        &Options::default(),
        &mut sources,
        &mut diagnostics,
    );
    let places: Vec<_> = tokens
        .iter()
        .map(|t| (t.span.start, t.line_start))
        .collect();
    assert_eq!(places, [(16, true), (16, false), (18, false)]);
}

#[test]
fn what_is_no_directive_is_left_out_with_a_warning() {
    for line in ["#TODO: later", "#!mark", "# --- section"] {
        let (tokens, diagnostics) = run(&format!("a\n{line}\nb"));
        assert_eq!(tokens, "a b", "{line}");
        assert!(!diagnostics.failed(), "{line}");
        assert_eq!(diagnostics.sorted()[0].code, "unknown-directive", "{line}");
    }
    // Where nothing is read, nothing is told.
    let (_, diagnostics) = run("#if 0\n#TODO\n#endif");
    assert!(diagnostics.sorted().is_empty());
}

#[test]
fn pasting_that_makes_several_tokens_makes_these() {
    assert_eq!(good("#define P(x, y) x##y\nP(+, a)"), "+ a");
    assert_eq!(good("#define M(h, f) h##.##f\nM(hdr, ttl)"), "hdr . ttl");
    assert_eq!(good("#define T(x) f##<##x##>\nT(a)"), "f < a >");
}
