//! The C preprocessor, as far as P4 programs rely on it (specification 6.2 asks for less: no `#if` with macros of arguments, no `##`).
//!
//! `#include`, `#define` with and without arguments, `#undef`, `#if` and its kin, `#error` and `#warning` work as in C;
//! `#pragma` and `#line` are passed over, so that places are always those of the text itself. `#if` and its kin choose lines of a
//! string that spans several, too, as `cpp -x assembler-with-cpp` does: SAI's `@entry_restriction`s have them.

mod condition;
mod macros;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::lex::Lexer;
use crate::source::{Includes, Sources, Span};
use crate::token::{Interner, Symbol, Token, TokenKind};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use macros::Macro;

/// Maximum depth of files that include one another.
pub const MAX_INCLUDE_DEPTH: u32 = 64;
/// Maximum length of a program with all its includes, bytes.
pub const MAX_TEXT_LEN: usize = 32 << 20;
/// Maximum number of tokens of a program, and of tokens that its macros produce.
pub const MAX_TOKENS: usize = 4 << 20;

/// Settings from outside the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Macros defined before the first line, as `-D NAME=TEXT` does.
    pub defines: Vec<(String, String)>,
}

/// The tokens of a program: its own and those of all it includes, macros replaced.
pub fn preprocess(
    name: &str,
    text: &str,
    includes: &mut dyn Includes,
    options: &Options,
    sources: &mut Sources,
    diagnostics: &mut Diagnostics,
) -> Vec<Token> {
    let mut run = Preprocessor {
        includes,
        sources,
        diagnostics,
        names: Interner::default(),
        macros: BTreeMap::new(),
        once: BTreeSet::new(),
        out: Vec::new(),
        replaced: 0,
        text: 0,
        stopped: false,
    };
    run.predefine(options);
    run.file(name, text, Span::default(), 0);
    run.out
}

struct Preprocessor<'a> {
    includes: &'a mut dyn Includes,
    sources: &'a mut Sources,
    diagnostics: &'a mut Diagnostics,
    names: Interner,
    macros: BTreeMap<Arc<str>, Arc<Macro>>,
    /// Files that said `#pragma once`.
    once: BTreeSet<Arc<str>>,
    out: Vec<Token>,
    /// Tokens that passed through macros, against growth without bound.
    replaced: usize,
    text: usize,
    /// After an error that would only be told again and again.
    stopped: bool,
}

/// An open `#if`.
struct Condition {
    /// The directive that opened it.
    opened: Span,
    /// Whether the text now is read.
    active: bool,
    /// Whether a branch of it was read or the whole of it is not: no further branch is.
    taken: bool,
    /// Whether `#else` came.
    last: bool,
}

impl Preprocessor<'_> {
    fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.diagnostics
            .push(Diagnostic::error(code, span, message));
    }

    fn stop(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        if !self.stopped {
            self.stopped = true;
            self.error(code, span, message);
        }
    }

    fn predefine(&mut self, options: &Options) {
        for (name, text) in &options.defines {
            let line = format!("{name} {text}");
            let title = format!("<definition of {name}>");
            let Some(base) = self.sources.add(&title, &line) else {
                return;
            };
            self.define(&mut Lexer::new(&line, base));
        }
    }

    fn next(&mut self, lexer: &mut Lexer<'_>) -> Option<Token> {
        lexer.next(&mut self.names, self.diagnostics)
    }

    /// `from` is the directive that includes it.
    fn file(&mut self, name: &str, text: &str, from: Span, depth: u32) {
        self.text = self.text.saturating_add(text.len());
        let base = if self.text <= MAX_TEXT_LEN {
            self.sources.add(name, text)
        } else {
            None
        };
        let Some(base) = base else {
            let limit = MAX_TEXT_LEN >> 20;
            return self.stop(
                "too-large",
                from,
                format!("the program with all that it includes is longer than {limit} MiB"),
            );
        };
        let name: Arc<str> = name.into();
        let mut lexer = Lexer::new(text, base);
        let mut open: Vec<Condition> = Vec::new();
        while !self.stopped {
            let active = open.last().is_none_or(|c| c.active);
            if !active {
                lexer.trivia(self.diagnostics, |_, _| {});
                if !text[lexer.position()..].starts_with('#') {
                    if lexer.rest_of_line().0.is_empty() && lexer.position() >= text.len() {
                        break;
                    }
                    continue;
                }
            }
            let Some(token) = self.next(&mut lexer) else {
                break;
            };
            if token.is(Symbol::Hash) && token.line_start {
                lexer.within_line(true);
                self.directive(&mut lexer, token.span, &name, depth, &mut open);
                lexer.rest_of_line();
                lexer.within_line(false);
            } else if active {
                let token = self.choose_lines(token, &name, depth, &mut open);
                self.expand(token, &mut lexer, &name);
                if self.out.len() > MAX_TOKENS {
                    let span = self.out.last().map_or(from, |t| t.span);
                    self.stop(
                        "too-large",
                        span,
                        format!("the program has more than {MAX_TOKENS} tokens"),
                    );
                }
            } else {
                lexer.rest_of_line();
            }
        }
        if let Some(condition) = open.last()
            && !self.stopped
        {
            self.diagnostics.push(
                Diagnostic::error(
                    "unclosed-condition",
                    condition.opened,
                    "this condition is never closed",
                )
                .help("write `#endif` where it ends"),
            );
        }
    }

    /// A string of several lines without those that its conditions leave out.
    fn choose_lines(
        &mut self,
        mut token: Token,
        file: &Arc<str>,
        depth: u32,
        open: &mut Vec<Condition>,
    ) -> Token {
        let TokenKind::String(text) = &token.kind else {
            return token;
        };
        if !text.lines().skip(1).any(is_condition) {
            return token;
        }
        let (outside, mut chosen) = (open.len(), String::new());
        let mut at = token.span.start + 1;
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                chosen.push('\n');
            }
            if number > 0 && is_condition(line) {
                let mut lexer = Lexer::new(line, at);
                if let Some(hash) = self.next(&mut lexer) {
                    self.directive(&mut lexer, hash.span, file, depth, open);
                }
            } else if open.last().is_none_or(|condition| condition.active) {
                chosen.push_str(line);
            }
            at += line.len() as u32 + 1;
        }
        if open.len() != outside {
            self.error(
                "unclosed-condition",
                token.span,
                "a condition begins or ends inside of this string, and not the whole of it",
            );
            open.truncate(outside);
        }
        token.kind = TokenKind::String(chosen.into());
        token
    }

    fn directive(
        &mut self,
        lexer: &mut Lexer<'_>,
        hash: Span,
        file: &Arc<str>,
        depth: u32,
        open: &mut Vec<Condition>,
    ) {
        let active = open.last().is_none_or(|c| c.active);
        let Some(token) = self.next(lexer) else {
            return;
        };
        let span = hash.to(token.span);
        let Some(word) = token.name().cloned() else {
            // `# 12 "file"`: what another preprocessor left.
            if active && !matches!(token.kind, TokenKind::Integer(_)) {
                self.unknown(span, &token.text());
            }
            return;
        };
        match &*word {
            "if" | "ifdef" | "ifndef" => {
                let yes = active && self.holds(lexer, &word, span, file);
                open.push(Condition {
                    opened: span,
                    active: yes,
                    taken: yes || !active,
                    last: false,
                });
            }
            "elif" | "else" | "endif" => {
                let Some(condition) = open.last() else {
                    return self.error(
                        "unmatched-directive",
                        span,
                        format!("`#{word}` without an `#if` before it"),
                    );
                };
                if word.starts_with("el") && condition.last {
                    return self.error(
                        "unmatched-directive",
                        span,
                        format!("`#{word}` after `#else`"),
                    );
                }
                if &*word == "endif" {
                    open.pop();
                    return;
                }
                let yes =
                    !condition.taken && (&*word == "else" || self.holds(lexer, "if", span, file));
                if let Some(condition) = open.last_mut() {
                    condition.last = &*word == "else";
                    condition.active = yes;
                    condition.taken |= yes;
                }
            }
            _ if !active => {}
            "include" => self.include(lexer, span, file, depth),
            "define" => self.define(lexer),
            "undef" => match self.next(lexer).as_ref().and_then(Token::name) {
                Some(name) => {
                    self.macros.remove(name);
                }
                None => self.error("bad-directive", span, "`#undef` needs a macro's name"),
            },
            "error" | "warning" => {
                let (text, at) = lexer.rest_of_line();
                let lead = (text.len() - text.trim_start().len()) as u32;
                let text = text.trim();
                let at = Span {
                    start: at.start + lead,
                    end: at.start + lead + text.len() as u32,
                };
                let at = if text.is_empty() { span } else { at };
                let text = if text.is_empty() {
                    "given up by the program"
                } else {
                    text
                };
                self.diagnostics.push(if &*word == "error" {
                    Diagnostic::error("error-directive", at, text)
                } else {
                    Diagnostic::warning("warning-directive", at, text)
                });
            }
            "pragma" => {
                let once = self.next(lexer);
                if once
                    .as_ref()
                    .and_then(Token::name)
                    .is_some_and(|n| &**n == "once")
                {
                    self.once.insert(file.clone());
                }
            }
            "line" | "ident" => {}
            _ => self.unknown(span, &word),
        }
    }

    /// A line like `#TODO`: no directive, which `cpp -x assembler-with-cpp` lets pass too.
    fn unknown(&mut self, span: Span, word: &str) {
        let known = "define, undef, include, if, ifdef, ifndef, elif, else, endif, error, warning, pragma, line";
        self.diagnostics.push(
            Diagnostic::warning(
                "unknown-directive",
                span,
                format!("there is no directive `#{word}`: the line is left out"),
            )
            .help(format!("directives are {known}; comments begin with `//`")),
        );
    }

    fn include(&mut self, lexer: &mut Lexer<'_>, hash: Span, from: &Arc<str>, depth: u32) {
        let mut ahead = lexer.clone();
        let (rest, rest_span) = ahead.rest_of_line();
        let lead = rest.len() - rest.trim_start().len();
        let written = rest.trim_start();
        let (name, system, length) = if let Some(inside) = written.strip_prefix('<')
            && let Some(end) = inside.find('>')
        {
            (inside[..end].to_string(), true, end + 2)
        } else if let Some(inside) = written.strip_prefix('"')
            && let Some(end) = inside.find('"')
        {
            (inside[..end].to_string(), false, end + 2)
        } else {
            let line = self.expanded_line(lexer, from);
            match line.as_slice() {
                [
                    Token {
                        kind: TokenKind::String(name),
                        ..
                    },
                    ..,
                ] => (name.to_string(), false, written.len()),
                [open, inside @ .., close]
                    if open.is(Symbol::Less) && close.is(Symbol::Greater) =>
                {
                    let name = inside.iter().map(Token::text).collect();
                    (name, true, written.len())
                }
                _ => {
                    self.diagnostics.push(
                        Diagnostic::error("bad-directive", hash, "`#include` needs a file's name")
                            .help("write `#include <core.p4>` or `#include \"file.p4\"`"),
                    );
                    return;
                }
            }
        };
        let start = rest_span.start + lead as u32;
        let span = Span {
            start,
            end: start + length as u32,
        };
        if depth + 1 >= MAX_INCLUDE_DEPTH {
            return self.stop(
                "include-depth",
                span,
                format!("files include one another more than {MAX_INCLUDE_DEPTH} deep"),
            );
        }
        match self.includes.read(&name, system, from) {
            Ok((reported, text)) => {
                if !self.once.contains(&*reported) {
                    self.file(&reported, &text, span, depth + 1);
                }
            }
            Err(why) => self.error(
                "include-not-found",
                span,
                format!("`{name}` cannot be included: {why}"),
            ),
        }
    }

    /// The rest of a directive's line, macros replaced.
    fn expanded_line(&mut self, lexer: &mut Lexer<'_>, file: &Arc<str>) -> Vec<Token> {
        let kept = core::mem::take(&mut self.out);
        while let Some(token) = self.next(lexer) {
            self.expand(token, lexer, file);
        }
        core::mem::replace(&mut self.out, kept)
    }
}

/// Whether a line of a string is a directive that chooses lines.
fn is_condition(line: &str) -> bool {
    let Some(directive) = line.trim_start().strip_prefix('#') else {
        return false;
    };
    let word = directive.trim_start();
    let word = &word[..word
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(word.len())];
    matches!(word, "if" | "ifdef" | "ifndef" | "elif" | "else" | "endif")
}

#[cfg(test)]
mod tests;
