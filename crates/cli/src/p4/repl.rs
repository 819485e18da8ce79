//! `wire p4 repl`: expressions of P4, evaluated as they are typed.

use super::source::Reading;
use crate::Verdict;
use lab::engine::{EngineKind, Engines};
use node::Time;
use p4::ast::NodeId;
use p4::check::Checked;
use p4::compile::compile;
use p4::diagnostic::{Diagnostic, Severity};
use p4::editor::{Analysis, Kind};
use p4::source::Sources;
use p4::token::Keyword;
use p4::types::Type;
use pipeline::architecture::{Collected, Config};
use pipeline::environment::Options;
use std::io::{BufRead, IsTerminal, Write};
use std::sync::Arc;

/// Evaluate expressions, declarations and statements as they are typed
///
/// Each expression is answered with its type and value; headers, structs, constants, functions and externs can be declared, variables
/// declared and assigned. All of it is checked and run as a program for v1model, by the reference interpreter.
#[derive(clap::Args)]
#[command(after_help = "Example:
  echo '8w250 |+| 10' | wire p4 repl")]
pub struct Repl {
    #[command(flatten)]
    reading: Reading,
}

/// Maximum nesting depth of fields that are shown.
const MAX_SHOWN_DEPTH: usize = 6;
const MARK: &str = "wire_value_";

/// Input typed so far.
#[derive(Default)]
struct Session {
    /// At the top of the program.
    declarations: String,
    /// In the control.
    statements: String,
}

const HELP: &str = "an expression     its type and value: 8w250 |+| 10
a declaration     header h { bit<8> a; }   const bit<8> c = 3;   bit<8> f(in bit<8> x) { return x + 1; }
a statement       bit<8> x = 4;   x = x + 1;
:show             what was typed so far
:reset            forget it
:quit             leave
";

impl Repl {
    /// Reads until the end.
    pub fn run(self) -> anyhow::Result<Verdict> {
        let stdin = std::io::stdin();
        let interactive = stdin.is_terminal();
        let mut session = Session::default();
        let mut verdict = Verdict::Good;
        let mut typed = String::new();
        if interactive {
            println!("P4_16; :help tells what can be typed");
        }
        loop {
            if interactive {
                print!("{}", if typed.is_empty() { "> " } else { ". " });
                std::io::stdout().flush()?;
            }
            let mut line = String::new();
            let end = stdin.lock().read_line(&mut line)? == 0;
            typed.push_str(&line);
            if !end && open_brackets(&typed) > 0 {
                continue;
            }
            let text = std::mem::take(&mut typed);
            match text.trim() {
                "" => {}
                ":quit" | ":q" => break,
                ":help" | ":h" => print!("{HELP}"),
                ":reset" => session = Session::default(),
                ":show" => print!("{}{}", session.declarations, session.statements),
                text => match self.typed(&mut session, text) {
                    Ok(answer) => print!("{answer}"),
                    Err(told) => {
                        eprint!("{told}");
                        verdict = Verdict::Failed;
                    }
                },
            }
            if end {
                break;
            }
        }
        // At a terminal a mistake is no failure.
        Ok(if interactive { Verdict::Good } else { verdict })
    }

    /// The answer to what was typed, or what is wrong with it.
    fn typed(&self, session: &mut Session, text: &str) -> Result<String, String> {
        if is_declaration(text) {
            let declarations = format!("{}{text}\n", session.declarations);
            let (program, at) = program(&declarations, &session.statements, "");
            self.analysis(&program, at - text.len() - 1 - session.gap(), text)?;
            session.declarations = declarations;
            return Ok(String::new());
        }
        if text.ends_with(';') || text.ends_with('}') {
            let statements = format!("{}{text}\n", session.statements);
            let (program, at) = program(&session.declarations, &statements, "");
            self.analysis(&program, at - text.len() - 1, text)?;
            self.messages(&program)?;
            session.statements = statements;
            return Ok(String::new());
        }
        // First as a value of whatever type, to learn the type; `int` is known only while compiling.
        let probe = format!(
            "{}extern void {MARK}probe<{MARK}T>(in {MARK}T value);\n",
            session.declarations
        );
        let call = format!("{MARK}probe(");
        let integer = format!("const int {MARK}integer = ");
        let try_as = |declarations: &str, before: &str, behind: &str| {
            let last = format!("{before}{text}{behind}\n");
            let (whole, at) = program(declarations, &session.statements, &last);
            let start = at + before.len();
            Ok((self.analysis(&whole, start, text)?, start))
        };
        let (analysis, start) = try_as(&probe, &call, ");").or_else(|told: String| {
            try_as(&session.declarations, &integer, ";").map_err(|_: String| told)
        })?;
        let (from, to) = (analysis.place(start), analysis.place(start + text.len()));
        let id = analysis
            .index
            .expressions
            .iter()
            .find(|(span, _)| span.start == from && span.end == to)
            .map(|(_, id)| *id)
            .ok_or("this is not one expression\n")?;
        let Some(ty) = analysis.checked.types.get(&id) else {
            return Err("this has no type\n".into());
        };
        if let Some(constant) = analysis.checked.constants.get(&id) {
            let value = analysis.show_constant(constant);
            return Ok(format!("{} = {value}\n", analysis.show(ty)));
        }
        let mut leaves = Vec::new();
        leaves_of(
            &analysis,
            &analysis.checked,
            ty,
            &format!("({text})"),
            "",
            0,
            &mut leaves,
        );
        let mut log = String::new();
        for (_, expression, _) in &leaves {
            log.push_str(&format!("log_msg(\"{{}}\", {{{expression}}});\n"));
        }
        let (whole, _) = program(&session.declarations, &session.statements, &log);
        let mut values = self.messages(&whole)?;
        // What statements wrote themselves comes first.
        let values = values.split_off(values.len().saturating_sub(leaves.len()));
        let mut out = String::new();
        if leaves.len() != 1 || !leaves[0].0.is_empty() {
            out.push_str(&format!("{}\n", analysis.show(ty)));
        }
        for ((path, _, ty), value) in leaves.iter().zip(values) {
            let value = match (ty.as_str(), value.as_str()) {
                ("bool", "0") => "false".to_string(),
                ("bool", _) => "true".to_string(),
                _ => shown(&value),
            };
            if path.is_empty() {
                out.push_str(&format!("{ty} = {value}\n"));
            } else {
                out.push_str(&format!("    {path}: {ty} = {value}\n"));
            }
        }
        Ok(out)
    }

    /// The checked program, or what is wrong with it: errors with places in what was typed, which begins at a byte.
    fn analysis(&self, program: &str, start: usize, typed: &str) -> Result<Analysis, String> {
        let mut includes = self.reading.includes();
        let analysis = Analysis::new("typed", program, &mut includes, &self.reading.options());
        if !analysis.diagnostics.failed() {
            return Ok(analysis);
        }
        let mut sources = Sources::default();
        sources.add("typed", typed);
        let (first, last) = (analysis.place(start), analysis.place(start + typed.len()));
        let mut told = String::new();
        for diagnostic in analysis.diagnostics.sorted() {
            if diagnostic.severity == Severity::Warning {
                continue;
            }
            let mut moved: Diagnostic = diagnostic.clone();
            moved.notes.clear();
            moved.span.start = moved.span.start.clamp(first, last) - first;
            moved.span.end = moved.span.end.clamp(first, last) - first;
            told.push_str(&moved.render(&sources));
        }
        Err(told)
    }

    /// Runs the program on one packet and gives what it logged.
    fn messages(&self, program: &str) -> Result<Vec<String>, String> {
        let mut includes = self.reading.includes();
        let compiled = compile("typed", program, &mut includes, &self.reading.options());
        let Some(program) = compiled.program else {
            let errors = compiled.diagnostics.sorted();
            let told = errors.iter().filter(|d| d.severity == Severity::Error);
            let told: String = told.map(|d| d.render(&compiled.sources)).collect();
            return Err(if told.is_empty() {
                "this cannot be run\n".into()
            } else {
                told
            });
        };
        let program = Arc::new(program);
        let made = Engines::default().pipeline(
            &program,
            EngineKind::Reference,
            Options::default(),
            &Config::default(),
        );
        let mut pipeline = made.map_err(|unsupported| format!("{unsupported}\n"))?;
        pipeline.process(Time::ZERO, 0, &[0; 64], &mut Collected::default());
        let messages = pipeline.environment().messages.drain();
        Ok(messages.into_iter().map(|m| m.text).collect())
    }
}

impl Session {
    /// What stands between the declarations and the statements' end.
    fn gap(&self) -> usize {
        HEAD.len() + self.statements.len()
    }
}

const FRONT: &str = "#include <core.p4>\n#include <v1model.p4>\n";
const HEAD: &str = "struct wire_value_headers { } struct wire_value_meta { }
parser wire_value_parser(packet_in p, out wire_value_headers h, inout wire_value_meta m, inout standard_metadata_t s) { state start { transition accept; } }
control wire_value_none(inout wire_value_headers h, inout wire_value_meta m) { apply { } }
control wire_value_egress(inout wire_value_headers h, inout wire_value_meta m, inout standard_metadata_t s) { apply { } }
control wire_value_deparser(packet_out p, in wire_value_headers h) { apply { } }
control wire_value_ingress(inout wire_value_headers h, inout wire_value_meta m, inout standard_metadata_t s) { apply {
";
const TAIL: &str = "} }
V1Switch(wire_value_parser(), wire_value_none(), wire_value_ingress(), wire_value_egress(), wire_value_none(), wire_value_deparser()) main;
";

/// A whole program, and the byte at which `last` begins.
fn program(declarations: &str, statements: &str, last: &str) -> (String, usize) {
    let before = format!("{FRONT}{declarations}{HEAD}{statements}");
    let at = before.len();
    (format!("{before}{last}{TAIL}"), at)
}

/// Of a value its parts: path, expression and type of each.
fn leaves_of(
    analysis: &Analysis,
    checked: &Checked,
    ty: &Type,
    expression: &str,
    path: &str,
    depth: usize,
    out: &mut Vec<(String, String, String)>,
) {
    if let Type::Composite(id, arguments) = ty
        && depth < MAX_SHOWN_DEPTH
    {
        let fields = fields(analysis, *id);
        for (name, field_type) in fields {
            let Some(field) = checked.types.get(&field_type) else {
                continue;
            };
            let field = match field {
                Type::Parameter(_) if arguments.len() == 1 => &arguments[0],
                other => other,
            };
            let dot = if path.is_empty() { "" } else { "." };
            let (expression, path) = (format!("{expression}.{name}"), format!("{path}{dot}{name}"));
            leaves_of(analysis, checked, field, &expression, &path, depth + 1, out);
        }
        return;
    }
    if out.len() < 64 {
        out.push((path.to_string(), expression.to_string(), analysis.show(ty)));
    }
}

/// The fields of a header or struct with the nodes that have their types.
fn fields(analysis: &Analysis, of: NodeId) -> Vec<(String, NodeId)> {
    let all = analysis.index.definitions.values();
    all.filter(|d| d.parent == Some(of) && d.kind == Kind::Field)
        .filter_map(|d| Some((d.name.to_string(), d.ty?)))
        .collect()
}

/// A logged value; integers in both bases.
fn shown(value: &str) -> String {
    let number = match value.strip_prefix("0x") {
        Some(digits) => u128::from_str_radix(digits, 16).ok(),
        None => value.parse().ok(),
    };
    match number {
        Some(number) if number > 9 => format!("{number} ({number:#x})"),
        Some(number) => number.to_string(),
        None => value.to_string(),
    }
}

/// Whether it begins as what stands at the top of a program does.
fn is_declaration(text: &str) -> bool {
    use Keyword::*;
    let first = text
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .next()
        .and_then(Keyword::of);
    let begins = matches!(
        first,
        Some(
            Header
                | HeaderUnion
                | Struct
                | Enum
                | Typedef
                | Type
                | Const
                | Extern
                | Parser
                | Control
                | Action
                | MatchKind
                | Package
        )
    );
    let head = text.split(['{', '=']).next().unwrap_or("");
    // `bit<8> f(in bit<8> x) { ... }`
    let function = text.ends_with('}')
        && head.trim_end().ends_with(')')
        && !matches!(first, Some(If | For | Switch))
        && head.split('(').next().unwrap_or("").trim().contains(' ');
    begins
        || function
        || text.starts_with('@')
        || text.starts_with("error {")
        || text.starts_with('#')
}

/// How many brackets wait to be closed.
fn open_brackets(text: &str) -> i64 {
    text.chars().fold(0, |depth, c| match c {
        '(' | '[' | '{' => depth + 1,
        ')' | ']' | '}' => depth - 1,
        _ => depth,
    })
}
