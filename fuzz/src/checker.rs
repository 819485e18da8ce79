//! Programs: arbitrary text, and our own corpus with tokens changed, which gets past the parser more often. Whatever it
//! is, it compiles or has errors with places inside it, and what compiles twice compiles to the same.

use p4::compile::{Options, compile};
use p4::source::{IncludeError, Includes};

const PROGRAMS: &[&str] = &[
    include_str!("../../testdata/p4/arithmetic.p4"),
    include_str!("../../testdata/p4/checksums.p4"),
    include_str!("../../testdata/p4/copy_out.p4"),
    include_str!("../../testdata/p4/generics.p4"),
    include_str!("../../testdata/p4/loops.p4"),
    include_str!("../../testdata/p4/matches.p4"),
    include_str!("../../testdata/p4/psa_paths.p4"),
    include_str!("../../testdata/p4/registers.p4"),
    include_str!("../../testdata/p4/selectors.p4"),
    include_str!("../../testdata/p4/stacks.p4"),
    include_str!("../../testdata/p4/unions.p4"),
    include_str!("../../testdata/p4/value_sets.p4"),
    include_str!("../../testdata/p4/varbits.p4"),
];

const WORDS: &[&str] = &[
    "0",
    "1",
    "-1",
    "8w255",
    "4s3",
    "65536",
    "99999999999",
    "true",
    "_",
    "...",
    "default",
    "{}",
    "{#}",
    "error",
    "this",
    "in",
    "out",
    "inout",
    "bit<8>",
    "int<7>",
    "bit<0>",
    "varbit<32>",
    "int",
    "bool",
    "string",
    "void",
    "tuple<bit<8>>",
    "list<int>",
    "H",
    "T",
    "hdr",
    "meta",
    "x",
    "start",
    "accept",
    "apply",
    "exit",
    "return",
    "break",
    "continue",
    "const",
    "header",
    "struct",
    "header_union",
    "enum",
    "typedef",
    "type",
    "extern",
    "package",
    "parser",
    "control",
    "table",
    "action",
    "key",
    "entries",
    "state",
    "transition",
    "select",
    "switch",
    "if",
    "else",
    "for",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ";",
    ":",
    ",",
    ".",
    "=",
    "==",
    "&&&",
    "..",
    "++",
    "/",
    "%",
    "<<",
    ">>",
    "|+|",
    "@name(\"x\")",
    "@optional",
    "@tableonly",
    "@defaultonly",
];

struct Library;

impl Includes for Library {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        let text = match name {
            "data.p4i" => Some(include_str!("../../testdata/p4/data.p4i")),
            "rest.p4i" => Some(include_str!("../../testdata/p4/rest.p4i")),
            _ => p4::library::file(name),
        };
        let text = text.ok_or_else(|| format!("there is no {name}"))?;
        Ok((name.to_owned(), text.to_owned()))
    }
}

pub fn target(data: &[u8]) {
    let text = match data.split_first() {
        Some((number, edits)) if usize::from(*number) < PROGRAMS.len() => {
            edited(PROGRAMS[usize::from(*number)], edits)
        }
        _ => String::from_utf8_lossy(data).into_owned(),
    };
    let first = compile("fuzz.p4", &text, &mut Library, &Options::default());
    for diagnostic in first.diagnostics.sorted() {
        assert!(diagnostic.span.start <= diagnostic.span.end);
        assert!(!diagnostic.message.is_empty());
        assert!(!diagnostic.render(&first.sources).is_empty());
    }
    let again = compile("fuzz.p4", &text, &mut Library, &Options::default());
    assert_eq!(first.program, again.program);
    assert_eq!(first.diagnostics.errors(), again.diagnostics.errors());
}

/// The program with a token deleted, doubled, exchanged or replaced for each four bytes.
fn edited(program: &str, edits: &[u8]) -> String {
    let mut tokens: Vec<&str> = Vec::new();
    let mut rest = program;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let length = if word(first) {
            rest.find(|c| !word(c)).unwrap_or(rest.len())
        } else if first.is_whitespace() {
            rest.find(|c: char| !c.is_whitespace())
                .unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (token, behind) = rest.split_at(length);
        tokens.push(token);
        rest = behind;
    }
    for edit in edits.chunks_exact(4).take(16) {
        let at = usize::from(u16::from_le_bytes([edit[1], edit[2]])) % tokens.len().max(1);
        let other = (at + usize::from(edit[3]) + 1) % tokens.len().max(1);
        match edit[0] % 4 {
            0 => drop(tokens.remove(at)),
            1 => tokens.insert(at, tokens[other]),
            2 => tokens.swap(at, other),
            _ => tokens[at] = WORDS[usize::from(edit[3]) % WORDS.len()],
        }
        if tokens.is_empty() {
            break;
        }
    }
    tokens.concat()
}
