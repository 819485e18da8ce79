//! P4_14 (specification 1.0.5), read by translation: a program becomes one of P4_16 for v1model, and goes the same way from there.
//!
//! The tree is P4_16's, but every node keeps its place in the P4_14 text, so that all that is said later points there.

mod build;
mod controls;
mod cursor;
mod deparse;
mod expressions;
mod flow;
mod infer;
mod parser;
mod primitives;
mod scope;
mod states;
mod tables;
mod translate;
mod tree;

use crate::ast::Program;
use crate::diagnostic::Diagnostics;
use crate::preprocess::preprocess;
use crate::source::{IncludeError, Includes, Sources};
use crate::token::{Symbol, Token};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Maximum width of a field, bits.
const MAX_WIDTH: u32 = 65_536;

/// Whether the tokens are those of a P4_14 program: the first declaration that only one of the two languages has decides.
#[must_use]
pub fn is_p4_14(tokens: &[Token]) -> bool {
    let mut depth = 0_usize;
    let mut begins = true;
    for (n, token) in tokens.iter().enumerate() {
        if token.is(Symbol::OpenBrace) || token.is(Symbol::OpenParen) {
            depth += 1;
        } else if token.is(Symbol::CloseBrace) || token.is(Symbol::CloseParen) {
            depth = depth.saturating_sub(1);
        }
        if begins && depth == 0 {
            match decides(&tokens[n..]) {
                Some(yes) => return yes,
                None if token.is(Symbol::At) => continue,
                None => {}
            }
        }
        begins = depth == 0
            && (token.is(Symbol::CloseBrace)
                || token.is(Symbol::Semicolon)
                || tokens.get(n + 1).is_some_and(|t| t.line_start));
    }
    false
}

/// What a declaration's first tokens say.
fn decides(tokens: &[Token]) -> Option<bool> {
    let word = |n: usize| tokens.get(n).and_then(Token::name).map(|name| &**name);
    let is = |n: usize, symbol: Symbol| tokens.get(n).is_some_and(|t: &Token| t.is(symbol));
    match word(0)? {
        "header_type"
        | "metadata"
        | "field_list"
        | "field_list_calculation"
        | "calculated_field"
        | "parser_value_set"
        | "parser_exception"
        | "primitive_action"
        | "action_profile"
        | "action_selector"
        | "blackbox"
        | "blackbox_type"
        | "extern_type"
        | "table"
            if word(1).is_some() =>
        {
            Some(true)
        }
        "parser" | "control" if word(1).is_some() => Some(is(2, Symbol::OpenBrace)),
        "counter" | "meter" | "register" if word(1).is_some() && is(2, Symbol::OpenBrace) => {
            Some(true)
        }
        "header" if word(1).is_some() && word(2).is_some() => Some(true),
        "header" | "header_union" | "struct" | "enum" | "typedef" | "type" | "const"
        | "match_kind" | "package" | "error" => Some(false),
        _ => None,
    }
}

/// Reads a P4_14 program. What stands behind it in `sources` afterwards is v1model, which the result builds on.
pub fn parse(tokens: &[Token], sources: &mut Sources, diagnostics: &mut Diagnostics) -> Program {
    let tree = parser::read(tokens, diagnostics);
    if diagnostics.failed() {
        return Program::default();
    }
    let library = library(sources, diagnostics);
    translate::translate(&tree, library, diagnostics)
}

/// v1model, in the version that knows types of indices.
fn library(sources: &mut Sources, diagnostics: &mut Diagnostics) -> Program {
    struct Library;
    impl Includes for Library {
        fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
            match crate::library::file(name) {
                Some(text) => Ok((format!("<{name}>"), text.to_string())),
                None => Err(format!("there is no library file `{name}`").into()),
            }
        }
    }
    let defines = [("V1MODEL_VERSION".to_string(), "20200408".to_string())];
    let tokens = preprocess(
        "<P4_14>",
        "#include <v1model.p4>\n",
        &mut Library,
        &crate::preprocess::Options {
            defines: Vec::from(defines),
        },
        sources,
        diagnostics,
    );
    crate::parse::parse(&tokens, sources, diagnostics)
}
