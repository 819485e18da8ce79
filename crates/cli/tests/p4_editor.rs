//! `wire p4 lsp`, `repl`, `fmt` and `graph` as processes.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const PROGRAM: &str = "// Two bytes.\nheader pair { bit<8> a; bit<8> b; }\nstruct all { pair p; }\ncontrol c(inout all h) {\n    apply {\n        h.p.a = 1;\n    }\n}\n";

fn wire(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wire"));
    command
        .arg("p4")
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// What a command answers to an input: exit code, output, errors.
fn answer(words: &[&str], input: &str) -> (i32, String, String) {
    let mut child = wire(words).spawn().expect("wire runs");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(input.as_bytes())
        .expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (
        output.status.code().expect("a code"),
        text(output.stdout),
        text(output.stderr),
    )
}

struct Editor {
    server: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Editor {
    fn start() -> Self {
        let mut server = wire(&["lsp"]).spawn().expect("wire runs");
        let to = server.stdin.take().expect("a pipe");
        let from = BufReader::new(server.stdout.take().expect("a pipe"));
        Editor { server, to, from }
    }

    fn say(&mut self, message: &Value) {
        let body = message.to_string();
        write!(self.to, "Content-Length: {}\r\n\r\n{body}", body.len()).expect("it reads");
    }

    fn hear(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.from.read_line(&mut line).expect("it answers");
            if line.trim().is_empty() {
                break;
            }
            length = line
                .trim()
                .strip_prefix("Content-Length: ")
                .expect("a length")
                .parse()
                .expect("a number");
        }
        let mut body = vec![0; length];
        self.from.read_exact(&mut body).expect("a body");
        serde_json::from_slice(&body).expect("JSON")
    }

    fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": parameters }));
        self.hear()["result"].clone()
    }

    fn at(&mut self, method: &str, line: u32, character: u32) -> Value {
        self.ask(
            method,
            json!({
                "textDocument": { "uri": "file:///t.p4" },
                "position": { "line": line, "character": character },
                "context": { "includeDeclaration": true },
            }),
        )
    }
}

#[test]
fn a_body_that_is_no_request_is_answered_with_an_error_and_the_server_goes_on() {
    let mut editor = Editor::start();
    for (body, code) in [
        ("{\"jsonrpc\": \"2.0\", \"id\": 1, ", -32700),
        ("", -32700),
        ("\u{fffd}", -32700),
        ("{} {}", -32700),
        ("[]", -32600),
        (
            "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"shutdown\"}]",
            -32600,
        ),
        ("7", -32600),
        ("null", -32600),
    ] {
        write!(editor.to, "Content-Length: {}\r\n\r\n{body}", body.len()).expect("it reads");
        let answer = editor.hear();
        assert_eq!(answer["error"]["code"], code, "{body}: {answer}");
        assert_eq!(answer["id"], Value::Null, "{body}: {answer}");
    }
    let capabilities = editor.ask("initialize", json!({ "capabilities": {} }));
    assert_eq!(capabilities["capabilities"]["hoverProvider"], true);
}

#[test]
fn an_editor_is_answered_from_the_first_word_to_the_last() {
    let mut editor = Editor::start();
    let capabilities = editor.ask("initialize", json!({ "capabilities": {} }));
    assert_eq!(capabilities["capabilities"]["hoverProvider"], true);
    editor.say(&json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }));
    editor.say(&json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen",
        "params": { "textDocument": { "uri": "file:///t.p4", "languageId": "p4", "version": 1, "text": PROGRAM } } }));
    let told = editor.hear();
    assert_eq!(told["params"]["uri"], "file:///t.p4");
    let errors = |told: &Value| {
        told["params"]["diagnostics"]
            .as_array()
            .expect("a list")
            .iter()
            .filter(|d| d["severity"] == 1)
            .count()
    };
    assert_eq!(errors(&told), 0, "{told}");

    let hover = editor.at("textDocument/hover", 2, 14);
    assert!(
        hover["contents"]["value"]
            .as_str()
            .expect("text")
            .contains("header pair"),
        "{hover}"
    );
    assert!(
        hover["contents"]["value"]
            .as_str()
            .expect("text")
            .contains("Two bytes."),
        "{hover}"
    );
    let declared = editor.at("textDocument/definition", 5, 12);
    assert_eq!(
        declared["range"]["start"],
        json!({ "line": 1, "character": 21 })
    );
    let used = editor.at("textDocument/references", 5, 10);
    assert_eq!(used.as_array().expect("a list").len(), 2, "{used}");
    let symbols = editor.at("textDocument/documentSymbol", 0, 0);
    let names: Vec<_> = symbols
        .as_array()
        .expect("a list")
        .iter()
        .map(|s| s["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["pair", "all", "c"]);

    let broken = PROGRAM.replace("h.p.a = 1;", "h.p.");
    editor.say(&json!({ "jsonrpc": "2.0", "method": "textDocument/didChange",
        "params": { "textDocument": { "uri": "file:///t.p4", "version": 2 }, "contentChanges": [{ "text": broken }] } }));
    assert_eq!(errors(&editor.hear()), 1);
    let members = editor.at("textDocument/completion", 5, 12);
    let names: Vec<_> = members
        .as_array()
        .expect("a list")
        .iter()
        .map(|m| m["label"].as_str().expect("a name"))
        .collect();
    assert!(names.starts_with(&["a", "b", "isValid"]), "{names:?}");
    let edits = editor.ask(
        "textDocument/formatting",
        json!({ "textDocument": { "uri": "file:///t.p4" } }),
    );
    assert!(edits.is_array(), "{edits}");

    assert_eq!(editor.ask("shutdown", Value::Null), Value::Null);
    editor.say(&json!({ "jsonrpc": "2.0", "method": "exit" }));
    assert_eq!(editor.server.wait().expect("it ends").code(), Some(0));
}

#[test]
fn what_is_typed_is_evaluated() {
    let typed = "8w250 |+| 10\nstruct pair { bit<8> a; bool b; }\npair p = {3, true};\np\nbit<16> twice(in bit<8> x) { return (bit<16>) x * 2; }\ntwice(p.a + 200)\n1 + 2\n";
    let (code, out, told) = answer(&["repl"], typed);
    assert_eq!((code, told.as_str()), (0, ""), "{out}");
    assert_eq!(
        out,
        "bit<8> = 255 (0xff)\npair\n    a: bit<8> = 3\n    b: bool = true\nbit<16> = 406 (0x196)\nint = 3\n"
    );
    let (code, _, told) = answer(&["repl"], "8w1 + true\n");
    assert_eq!(code, 1);
    assert!(told.starts_with("typed:1:"), "{told}");
}

#[test]
fn layout_and_pictures_come_from_standard_input() {
    let (code, out, _) = answer(&["fmt"], "const  bit<8>  x=1 ;");
    assert_eq!((code, out.as_str()), (0, "const bit<8> x = 1;\n"));
    let (code, out, _) = answer(&["fmt", "--check"], "const  bit<8>  x=1 ;");
    assert_eq!((code, out.as_str()), (1, "-\n"));
    let (code, out, _) = answer(&["graph", "-", "--section", "c"], PROGRAM);
    assert!(code == 0 && out.starts_with("<svg"), "{out}");
    let (code, _, told) = answer(&["graph", "-", "--section", "d"], PROGRAM);
    assert!(code == 2 && told.contains('d'), "{told}");
}
