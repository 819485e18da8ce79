//! `#define`, and the replacement of macros.

use super::{MAX_TOKENS, Preprocessor};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::lex::Lexer;
use crate::source::Span;
use crate::token::{Symbol, Token, TokenKind};
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Maximum nesting depth of macros in bodies and arguments of other macros.
const MAX_DEPTH: u32 = 100;

/// Replacement of a name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Macro {
    /// The arguments' names; `None` without brackets.
    parameters: Option<Vec<Arc<str>>>,
    /// The last parameter takes all the arguments that are left.
    variadic: bool,
    body: Vec<Token>,
    span: Span,
}

/// The macros out of whose bodies a token came; these are not replaced again.
type Hidden = Option<Arc<Hide>>;

struct Hide {
    name: Arc<str>,
    next: Hidden,
    depth: u32,
}

fn hides(mut hidden: &Hidden, name: &str) -> bool {
    while let Some(hide) = hidden {
        if *hide.name == *name {
            return true;
        }
        hidden = &hide.next;
    }
    false
}

/// Tokens still to be looked at, then those of the file.
struct Work<'w, 't> {
    pending: Vec<(Token, Hidden)>,
    file: Option<&'w mut Lexer<'t>>,
}

impl Preprocessor<'_> {
    /// Reads what stands behind `#define`.
    pub(super) fn define(&mut self, lexer: &mut Lexer<'_>) {
        lexer.within_line(true);
        let Some(first) = self.next(lexer) else {
            let span = lexer.rest_of_line().1;
            return self.error("bad-directive", span, "`#define` needs a macro's name");
        };
        let Some(name) = first.name().cloned() else {
            let text = first.text();
            return self.error(
                "bad-directive",
                first.span,
                format!("`#define` needs a macro's name, not `{text}`"),
            );
        };
        if &*name == "defined" {
            return self.error(
                "bad-directive",
                first.span,
                "`defined` cannot be a macro's name",
            );
        }
        let mut rest: VecDeque<Token> = VecDeque::new();
        while let Some(token) = self.next(lexer) {
            rest.push_back(token);
        }
        let mut parameters = None;
        let mut variadic = false;
        if rest
            .front()
            .is_some_and(|t| t.is(Symbol::OpenParen) && !t.space)
        {
            rest.pop_front();
            let Some((list, last)) = parameter_list(&mut rest) else {
                return self.error(
                    "bad-directive",
                    first.span,
                    format!("the parameters of the macro `{name}` must be names between commas and end with `)`"),
                );
            };
            parameters = Some(list);
            variadic = last;
        }
        let body: Vec<Token> = rest.into();
        let pastes = |t: Option<&Token>| t.is_some_and(|t| t.is(Symbol::HashHash));
        if pastes(body.first()) || pastes(body.last()) {
            return self.error(
                "bad-directive",
                first.span,
                format!("`##` cannot be first or last in the macro `{name}`"),
            );
        }
        let new = Macro {
            parameters,
            variadic,
            body,
            span: first.span,
        };
        if let Some(old) = self.macros.get(&name)
            && !old.means_the_same(&new)
        {
            self.diagnostics.push(
                Diagnostic::warning(
                    "macro-redefined",
                    first.span,
                    format!("the macro `{name}` is defined again, differently"),
                )
                .note(old.span, "first defined here")
                .help(format!(
                    "write `#undef {name}` before it, or take another name"
                )),
            );
        }
        self.macros.insert(name, Arc::new(new));
    }

    /// Puts a token of the file out, replaced when it names a macro.
    pub(super) fn expand(&mut self, token: Token, lexer: &mut Lexer<'_>, file: &Arc<str>) {
        let is_macro = token.name().is_some_and(|name| {
            self.macros.contains_key(name) || (name.starts_with("__") && builtin(name))
        });
        if !is_macro {
            self.out.push(token);
            return;
        }
        let line = lexer.line();
        let mut out = core::mem::take(&mut self.out);
        let work = Work {
            pending: [(token, None)].into(),
            file: Some(lexer),
        };
        self.run(work, &mut out, file, line, 0);
        self.out = out;
    }

    /// Replaces the macros in a list.
    pub(super) fn expand_list(
        &mut self,
        list: Vec<Token>,
        file: &Arc<str>,
        line: u32,
    ) -> Vec<Token> {
        let pending = list.into_iter().rev().map(|t| (t, None)).collect();
        let mut out = Vec::new();
        self.run(
            Work {
                pending,
                file: None,
            },
            &mut out,
            file,
            line,
            0,
        );
        out
    }

    fn run(
        &mut self,
        mut work: Work<'_, '_>,
        out: &mut Vec<Token>,
        file: &Arc<str>,
        line: u32,
        depth: u32,
    ) {
        while let Some((token, hidden)) = work.pending.pop() {
            self.replaced += 1;
            if self.replaced > MAX_TOKENS {
                return self.stop(
                    "macro-too-large",
                    token.span,
                    format!("macros give more than {MAX_TOKENS} tokens"),
                );
            }
            let Some(name) = token.name().cloned() else {
                out.push(token);
                continue;
            };
            if name.starts_with("__") && !self.macros.contains_key(&name) && builtin(&name) {
                let kind = if &*name == "__LINE__" {
                    TokenKind::Integer(line.to_string().into())
                } else {
                    TokenKind::String(file.clone())
                };
                out.push(Token { kind, ..token });
                continue;
            }
            let Some(found) = self.macros.get(&name).filter(|_| !hides(&hidden, &name)) else {
                out.push(token);
                continue;
            };
            let found = found.clone();
            let nested = hidden.as_ref().map_or(0, |h| h.depth) + 1;
            if nested > MAX_DEPTH || depth > MAX_DEPTH {
                return self.stop(
                    "macro-too-deep",
                    token.span,
                    format!("macros stand more than {MAX_DEPTH} deep in one another"),
                );
            }
            let mut body = match &found.parameters {
                None => self.paste(found.body.clone(), token.span),
                Some(parameters) => {
                    if !self.opens(&mut work) {
                        out.push(token);
                        continue;
                    }
                    let Some(arguments) = self.arguments(&mut work, &name, token.span) else {
                        return;
                    };
                    let Some(arguments) =
                        self.fit(arguments, parameters, &found, &name, token.span)
                    else {
                        continue;
                    };
                    self.substitute(&found, parameters, &arguments, &token, file, line, depth)
                }
            };
            if let Some(first) = body.first_mut() {
                (first.line_start, first.space) = (token.line_start, token.space);
            }
            let hidden = Some(Arc::new(Hide {
                name,
                next: hidden,
                depth: nested,
            }));
            work.pending
                .extend(body.into_iter().rev().map(|t| (t, hidden.clone())));
        }
    }

    /// Takes the `(` that makes a macro's name a use of it.
    fn opens(&mut self, work: &mut Work<'_, '_>) -> bool {
        if let Some((token, _)) = work.pending.last() {
            let yes = token.is(Symbol::OpenParen);
            if yes {
                work.pending.pop();
            }
            return yes;
        }
        let Some(lexer) = &mut work.file else {
            return false;
        };
        let mut ahead = lexer.clone();
        let next = ahead.next(&mut self.names, self.diagnostics);
        let yes = next.is_some_and(|t| t.is(Symbol::OpenParen));
        if yes {
            **lexer = ahead;
        }
        yes
    }

    /// The arguments up to the `)`.
    fn arguments(
        &mut self,
        work: &mut Work<'_, '_>,
        name: &str,
        span: Span,
    ) -> Option<Vec<Vec<Token>>> {
        let mut list = Vec::from([Vec::new()]);
        let mut depth = 0_u32;
        loop {
            let token = match (work.pending.pop(), &mut work.file) {
                (Some((token, _)), _) => Some(token),
                (None, Some(lexer)) => lexer.next(&mut self.names, self.diagnostics),
                (None, None) => None,
            };
            let Some(mut token) = token else {
                self.diagnostics.push(
                    Diagnostic::error(
                        "bad-macro-use",
                        span,
                        format!("the arguments of the macro `{name}` have no end"),
                    )
                    .help("write `)` behind the last one"),
                );
                return None;
            };
            if token.is(Symbol::Hash) && token.line_start {
                self.error(
                    "bad-macro-use",
                    token.span,
                    format!("a directive cannot stand among the arguments of the macro `{name}`"),
                );
                return None;
            }
            token.line_start = false;
            if token.is(Symbol::OpenParen) {
                depth += 1;
            } else if token.is(Symbol::CloseParen) {
                if depth == 0 {
                    return Some(list);
                }
                depth -= 1;
            } else if token.is(Symbol::Comma) && depth == 0 {
                list.push(Vec::new());
                continue;
            }
            if let Some(last) = list.last_mut() {
                last.push(token);
            }
        }
    }

    /// As many arguments as there are parameters, or an error.
    fn fit(
        &mut self,
        mut arguments: Vec<Vec<Token>>,
        parameters: &[Arc<str>],
        found: &Macro,
        name: &str,
        span: Span,
    ) -> Option<Vec<Vec<Token>>> {
        if parameters.is_empty() && arguments.len() == 1 && arguments[0].is_empty() {
            arguments.clear();
        }
        if found.variadic {
            let fixed = parameters.len() - 1;
            if arguments.len() > fixed {
                let mut rest = Vec::new();
                for (n, argument) in arguments.split_off(fixed).into_iter().enumerate() {
                    if n > 0 {
                        rest.push(Token {
                            kind: TokenKind::Symbol(Symbol::Comma),
                            span,
                            line_start: false,
                            space: false,
                        });
                    }
                    rest.extend(argument);
                }
                arguments.push(rest);
            } else if arguments.len() == fixed {
                arguments.push(Vec::new());
            }
        }
        if arguments.len() == parameters.len() {
            return Some(arguments);
        }
        let (takes, given) = (parameters.len(), arguments.len());
        self.diagnostics.push(
            Diagnostic::error(
                "bad-macro-use",
                span,
                format!("the macro `{name}` takes {takes} arguments, not {given}"),
            )
            .note(found.span, "defined here"),
        );
        None
    }

    #[allow(clippy::too_many_arguments)]
    fn substitute(
        &mut self,
        found: &Macro,
        parameters: &[Arc<str>],
        arguments: &[Vec<Token>],
        used: &Token,
        file: &Arc<str>,
        line: u32,
        depth: u32,
    ) -> Vec<Token> {
        let which = |token: &Token| parameters.iter().position(|p| Some(p) == token.name());
        let mut replaced: Vec<Option<Vec<Token>>> = Vec::new();
        replaced.resize(arguments.len(), None);
        let mut out = Vec::new();
        let body = &found.body;
        let mut at = 0;
        while let Some(token) = body.get(at) {
            at += 1;
            if token.is(Symbol::Hash)
                && let Some(index) = body.get(at).and_then(which)
            {
                at += 1;
                out.push(Token {
                    kind: TokenKind::String(quoted(&arguments[index]).into()),
                    span: used.span,
                    ..token.clone()
                });
                continue;
            }
            let Some(index) = which(token) else {
                out.push(token.clone());
                self.replaced += 1;
                continue;
            };
            let pasted = body.get(at).is_some_and(|t| t.is(Symbol::HashHash))
                || (at >= 2 && body[at - 2].is(Symbol::HashHash));
            let from = out.len();
            if pasted {
                out.extend_from_slice(&arguments[index]);
                if arguments[index].is_empty() {
                    // Something for `##` to stand beside.
                    out.push(Token {
                        kind: TokenKind::Name("".into(), None),
                        ..token.clone()
                    });
                }
            } else {
                if replaced[index].is_none() {
                    let pending = arguments[index].iter().rev().map(|t| (t.clone(), None));
                    let work = Work {
                        pending: pending.collect(),
                        file: None,
                    };
                    let mut list = Vec::new();
                    self.run(work, &mut list, file, line, depth + 1);
                    replaced[index] = Some(list);
                }
                out.extend_from_slice(replaced[index].as_deref().unwrap_or(&[]));
            }
            self.replaced += out.len() - from;
            if let Some(first) = out.get_mut(from) {
                first.space = token.space;
            }
            if self.replaced > MAX_TOKENS {
                break;
            }
        }
        self.paste_kept(out, used.span)
    }

    /// The body with `##` done, all at the place of the use.
    fn paste(&mut self, mut body: Vec<Token>, span: Span) -> Vec<Token> {
        for token in &mut body {
            token.span = span;
            token.line_start = false;
        }
        self.paste_kept(body, span)
    }

    /// As [`Preprocessor::paste`]; what comes out of arguments keeps its place.
    fn paste_kept(&mut self, body: Vec<Token>, span: Span) -> Vec<Token> {
        let mut out: Vec<Token> = Vec::with_capacity(body.len());
        let mut rest = body.into_iter().peekable();
        while let Some(mut token) = rest.next() {
            token.line_start = false;
            // All of `a ## b ## c` at once: `8 ## w` alone is no token, `8 ## w ## 255` is.
            let mut parts = Vec::new();
            while rest.next_if(|next| next.is(Symbol::HashHash)).is_some() {
                parts.extend(rest.next());
            }
            if parts.is_empty() {
                out.push(token);
            } else {
                self.join(token, &parts, span, &mut out);
            }
        }
        out.retain(|t| t.name().is_none_or(|n| !n.is_empty()));
        out
    }

    /// What texts are that stand without a space between them: one token mostly, else those that they make, as `cpp -x assembler-with-cpp` leaves them.
    fn join(&mut self, first: Token, rest: &[Token], span: Span, out: &mut Vec<Token>) {
        let texts: Vec<_> = [&first].into_iter().chain(rest).map(Token::text).collect();
        let text = texts.concat();
        if text.is_empty() {
            return out.push(first);
        }
        let mut lexer = Lexer::new(&text, 0);
        // Where the text is no tokens, those that were given stay, and the parser tells what it cannot read.
        let mut faults = Diagnostics::default();
        let mut made = Vec::new();
        while let Some(one) = lexer.next(&mut self.names, &mut faults) {
            made.push(Token {
                span,
                line_start: false,
                ..one
            });
        }
        if faults.failed() || made.is_empty() {
            made = [&first].into_iter().chain(rest).cloned().collect();
        }
        made[0].space = first.space;
        out.extend(made);
    }
}

impl Macro {
    fn means_the_same(&self, other: &Macro) -> bool {
        let same = |a: &Token, b: &Token| a.kind == b.kind && a.space == b.space;
        self.parameters == other.parameters
            && self.body.len() == other.body.len()
            && self
                .body
                .iter()
                .zip(&other.body)
                .enumerate()
                .all(|(n, (a, b))| {
                    // The space before a body means nothing.
                    if n == 0 { a.kind == b.kind } else { same(a, b) }
                })
    }
}

fn builtin(name: &str) -> bool {
    matches!(name, "__LINE__" | "__FILE__")
}

/// Takes `a, b, ...)`; the names, and whether the last takes all that is left.
fn parameter_list(rest: &mut VecDeque<Token>) -> Option<(Vec<Arc<str>>, bool)> {
    let mut list = Vec::new();
    if rest.front()?.is(Symbol::CloseParen) {
        rest.pop_front();
        return Some((list, false));
    }
    loop {
        let token = rest.pop_front()?;
        if token.is(Symbol::Dots) {
            list.push("__VA_ARGS__".into());
            return rest
                .pop_front()?
                .is(Symbol::CloseParen)
                .then_some((list, true));
        }
        list.push(token.name()?.clone());
        let next = rest.pop_front()?;
        if next.is(Symbol::Dots) {
            return rest
                .pop_front()?
                .is(Symbol::CloseParen)
                .then_some((list, true));
        }
        if next.is(Symbol::CloseParen) {
            return Some((list, false));
        }
        if !next.is(Symbol::Comma) {
            return None;
        }
    }
}

/// `#x`: the argument as the inside of a string.
fn quoted(argument: &[Token]) -> String {
    let mut out = String::new();
    for (n, token) in argument.iter().enumerate() {
        if n > 0 && token.space {
            out.push(' ');
        }
        let text = token.text();
        if matches!(token.kind, TokenKind::String(_)) {
            out.push_str(&text.replace('\\', "\\\\").replace('"', "\\\""));
        } else {
            out.push_str(&text);
        }
    }
    out
}
