//! What an editor is told of a small program.

use super::*;
use crate::source::IncludeError;

struct Library;

impl Includes for Library {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        let text = crate::library::file(name).ok_or("not in the library")?;
        Ok((format!("<{name}>"), text.into()))
    }
}

const PROGRAM: &str = "#include <core.p4>
typedef bit<48> mac;
// What is sent.
// On the wire.
header eth_t { mac dst; bit<16> type; }
enum bit<8> Kind { A = 1, B = 2 }
struct headers { eth_t eth; eth_t[4] stack; }
const bit<16> IPV4 = 0x800;
extern Reg { Reg(); void put(in bit<8> v); }
control c(inout headers hdr) {
    Reg() reg;
    action set(mac addr) { hdr.eth.dst = addr; }
    table t { key = { hdr.eth.type: exact; } actions = { set; } }
    apply {
        bit<16> local = IPV4;
        t.apply();
        reg.put(1);
    }
}
";

fn analysis(text: &str) -> Analysis {
    Analysis::new("t.p4", text, &mut Library, &Options::default())
}

/// The byte of the nth place where a text stands.
fn at(text: &str, what: &str, nth: usize) -> usize {
    text.match_indices(what)
        .nth(nth)
        .expect("it stands there")
        .0
}

#[test]
fn names_lead_to_their_declarations_and_back() {
    let analysis = analysis(PROGRAM);
    assert_eq!(
        analysis.diagnostics.errors(),
        0,
        "{:?}",
        analysis.diagnostics.sorted()
    );
    let text = |span: Span| analysis.sources.text(span).unwrap_or("").to_string();
    for (what, nth, declared) in [
        ("eth.dst", 0, 0),
        ("set;", 0, 0),
        ("mac addr", 0, 0),
        ("IPV4;", 0, 0),
    ] {
        let place = analysis.place(at(PROGRAM, what, nth));
        let name = what.split(['.', ';', ' ']).next().expect("a name");
        let found = analysis.definition(place).expect(what);
        assert_eq!(text(found), name, "{what}");
        assert!(found.start < place, "{what} {declared}");
    }
    let place = analysis.place(at(PROGRAM, "addr)", 0));
    assert_eq!(analysis.references(place).len(), 2);
    let builtin = analysis.place(at(PROGRAM, "exact", 0));
    let _ = analysis.definition(builtin);
}

#[test]
fn hovering_shows_heads_types_values_and_comments() {
    let analysis = analysis(PROGRAM);
    let hover = |what: &str| {
        analysis
            .hover(analysis.place(at(PROGRAM, what, 0)))
            .expect(what)
    };
    let header = hover("eth_t eth;");
    assert_eq!(header.code, "header eth_t");
    assert_eq!(header.comment, "What is sent.\nOn the wire.");
    assert_eq!(hover("IPV4;").code, "const bit<16> IPV4 = 2048 (0x800)");
    assert_eq!(hover("addr;").code, "mac addr // bit<48>");
    assert_eq!(hover("put(1").code, "void put(in bit<8> v)");
}

#[test]
fn completion_knows_members_and_what_is_in_scope_while_typing() {
    let names = |typed: &str| -> Vec<String> {
        let text = PROGRAM.replace("        reg.put(1);\n", &format!("        {typed}\n"));
        let analysis = analysis(&text);
        let offset = at(&text, &format!("        {typed}\n"), 0) + 8 + typed.len();
        analysis
            .complete(&text, offset)
            .into_iter()
            .map(|i| i.name)
            .collect()
    };
    assert_eq!(names("hdr."), ["eth", "stack"]);
    assert!(names("hdr.eth.").starts_with(&["dst".into(), "type".into(), "isValid".into()]));
    assert!(names("x = hdr.stack[1].").contains(&"dst".to_string()));
    assert!(names("hdr.stack.").contains(&"push_front".to_string()));
    assert_eq!(names("Kind."), ["A", "B"]);
    assert!(names("reg.p").contains(&"put".to_string()));
    assert!(names("if (t.apply().").contains(&"hit".to_string()));
    assert!(names("error.").contains(&"NoError".to_string()));
    let all = names("l");
    for name in ["local", "hdr", "set", "t", "IPV4", "if", "packet_in"] {
        assert!(all.contains(&name.to_string()), "{name}");
    }
    assert!(!all.contains(&"dst".to_string()) && !all.contains(&"addr".to_string()));
}

#[test]
fn symbols_are_nested_and_only_of_the_own_text() {
    let symbols = analysis(PROGRAM).symbols();
    let names: Vec<_> = symbols.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(
        names,
        ["mac", "eth_t", "Kind", "headers", "IPV4", "Reg", "c"]
    );
    let inner: Vec<_> = symbols[6]
        .children
        .iter()
        .map(|s| s.name.as_str())
        .collect();
    assert_eq!(inner, ["reg", "set", "t"]);
}

#[test]
fn a_program_cut_anywhere_is_answered_for() {
    for end in (0..PROGRAM.len()).step_by(3) {
        let text = &PROGRAM[..end];
        let analysis = analysis(text);
        let _ = analysis.complete(text, end);
        let _ = (analysis.hover(analysis.place(end)), analysis.symbols());
    }
}
