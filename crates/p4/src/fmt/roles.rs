//! What each bracket, colon, `<` and sign is for.

use super::pieces::{Kind, Piece};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::Span;
use crate::token::{Keyword, Symbol, TokenKind};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

/// What a token is for, as far as its kind does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Plain,
    /// An operator between two operands; those that bind least have the lowest number.
    Binary(u8),
    /// An operator before its operand.
    Unary,
    /// `<`, `,` and `>` of type arguments.
    Angle,
    /// `:` in a slice.
    SliceColon,
    /// `:` behind a label, key or keyset.
    Label,
    /// The `)` of a cast.
    Cast,
}

/// What braces hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Braces {
    /// Statements, fields, states: each on a line of its own.
    Block,
    /// The same, but one that the author wrote on one line stays on one.
    Short,
    /// Members between commas, each on a line of its own.
    Members,
    /// A value.
    List,
}

pub(super) struct Roles {
    pub(super) role: Vec<Role>,
    /// By an opening bracket the closing one.
    pub(super) closing: Vec<usize>,
    /// By an opening brace.
    pub(super) braces: Vec<Braces>,
}

struct Open {
    at: usize,
    questions: u32,
}

pub(super) fn find(pieces: &[Piece], diagnostics: &mut Diagnostics) -> Roles {
    let mut roles = Roles {
        role: vec![Role::Plain; pieces.len()],
        closing: vec![usize::MAX; pieces.len()],
        braces: vec![Braces::List; pieces.len()],
    };
    brackets(pieces, &mut roles, diagnostics);
    if diagnostics.failed() {
        return roles;
    }
    let tokens: Vec<usize> = (0..pieces.len())
        .filter(|n| pieces[*n].is_token())
        .collect();
    signs(pieces, &tokens, &mut roles);
    kinds_of_braces(pieces, &tokens, &mut roles);
    roles
}

/// Pairs brackets. Of an `#if` the branches are alternatives: each begins with the brackets that are open at the `#if`.
fn brackets(pieces: &[Piece], roles: &mut Roles, diagnostics: &mut Diagnostics) {
    let mut open: Vec<usize> = Vec::new();
    let mut saved: Vec<Vec<usize>> = Vec::new();
    for (n, piece) in pieces.iter().enumerate() {
        if piece.kind == Kind::Directive {
            match directive(&piece.text) {
                "if" | "ifdef" | "ifndef" if saved.len() < 256 => saved.push(open.clone()),
                "else" | "elif" => {
                    if let Some(before) = saved.last() {
                        open.clone_from(before);
                    }
                }
                "endif" => {
                    saved.pop();
                }
                _ => {}
            }
            continue;
        }
        use Symbol::*;
        match piece.symbol() {
            Some(OpenParen | OpenBracket | OpenBrace) => open.push(n),
            Some(close @ (CloseParen | CloseBracket | CloseBrace)) => {
                let wanted = match close {
                    CloseParen => OpenParen,
                    CloseBracket => OpenBracket,
                    _ => OpenBrace,
                };
                match open.pop() {
                    Some(at) if pieces[at].is(wanted) => roles.closing[at] = n,
                    _ => {
                        let start = piece.start;
                        let span = Span {
                            start,
                            end: start + 1,
                        };
                        return diagnostics.push(Diagnostic::error(
                            "syntax",
                            span,
                            format!("this `{}` closes nothing", close.text()),
                        ));
                    }
                }
            }
            _ => {}
        }
    }
    if let Some(at) = open.last() {
        let start = pieces[*at].start;
        let span = Span {
            start,
            end: start + 1,
        };
        diagnostics.push(Diagnostic::error(
            "syntax",
            span,
            format!("this `{}` is never closed", pieces[*at].text),
        ));
    }
    // In a branch that is not the last one closing may have been found for another opening.
    for (n, (piece, closing)) in pieces.iter().zip(&mut roles.closing).enumerate() {
        let opens = matches!(
            piece.symbol(),
            Some(Symbol::OpenParen | Symbol::OpenBracket | Symbol::OpenBrace)
        );
        if opens && *closing == usize::MAX {
            *closing = n;
        }
    }
}

/// The word of a directive.
pub(super) fn directive(text: &str) -> &str {
    let inside = text.trim_start_matches('#').trim_start();
    let end = inside
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(inside.len());
    &inside[..end]
}

/// Whether an operand can end with it.
fn ends_operand(piece: &Piece, role: Role) -> bool {
    use Symbol::*;
    match &piece.kind {
        Kind::Token(TokenKind::Name(_, keyword)) => !matches!(
            keyword,
            Some(
                Keyword::Return
                    | Keyword::If
                    | Keyword::For
                    | Keyword::Switch
                    | Keyword::Select
                    | Keyword::In
                    | Keyword::Else
            )
        ),
        Kind::Token(TokenKind::Integer(_) | TokenKind::String(_)) => true,
        Kind::Token(TokenKind::Symbol(symbol)) => match symbol {
            CloseParen => role != Role::Cast,
            CloseBracket | CloseBrace | Invalid => true,
            Greater => role == Role::Angle,
            _ => false,
        },
        _ => false,
    }
}

fn signs(pieces: &[Piece], tokens: &[usize], roles: &mut Roles) {
    use Symbol::*;
    let mut open: Vec<Open> = Vec::new();
    let mut outer = 0_u32;
    for (t, &n) in tokens.iter().enumerate() {
        let piece = &pieces[n];
        let Some(symbol) = piece.symbol() else {
            continue;
        };
        let before = t.checked_sub(1).map(|t| tokens[t]);
        let operand = before.is_some_and(|b| ends_operand(&pieces[b], roles.role[b]));
        if roles.role[n] == Role::Angle {
            continue;
        }
        let questions = open.last_mut().map_or(&mut outer, |o| &mut o.questions);
        roles.role[n] = match symbol {
            OpenParen | OpenBracket | OpenBrace => {
                open.push(Open {
                    at: n,
                    questions: 0,
                });
                if symbol == OpenParen && !operand && is_cast(pieces, tokens, t) {
                    roles.role[roles.closing[n]] = Role::Cast;
                }
                Role::Plain
            }
            CloseParen | CloseBracket | CloseBrace => {
                open.pop();
                roles.role[n]
            }
            Semicolon => {
                *questions = 0;
                Role::Plain
            }
            Question => {
                *questions += 1;
                Role::Binary(1)
            }
            Colon if *questions > 0 => {
                *questions -= 1;
                Role::Binary(1)
            }
            Colon if open.last().is_some_and(|o| pieces[o.at].is(OpenBracket)) => Role::SliceColon,
            PlusColon => Role::SliceColon,
            Colon => Role::Label,
            Less => match angles(pieces, tokens, t) {
                Some(closes) => {
                    for close in closes {
                        roles.role[close] = Role::Angle;
                    }
                    Role::Angle
                }
                None => Role::Binary(4),
            },
            Tilde | Bang => Role::Unary,
            Minus | Plus => {
                // `(T) -x` against `(a) - x`: as it was spaced.
                let next = tokens.get(t + 1).map(|n| &pieces[*n]);
                let close = before.is_some_and(|b| pieces[b].is(CloseParen));
                let like_sign = close && piece.space && next.is_some_and(|p| !p.space);
                let cast = before.is_some_and(|b| may_be_cast(pieces, tokens, t, b));
                if !operand || (like_sign && cast) {
                    Role::Unary
                } else {
                    Role::Binary(5)
                }
            }
            Or => Role::Binary(2),
            And => Role::Binary(3),
            Equal | NotEqual | LessEqual | Greater | GreaterEqual => Role::Binary(4),
            ShiftLeft | Star | Slash | Percent | Concat | PlusSat | MinusSat | BitAnd | BitOr
            | BitXor | Mask | Range => Role::Binary(5),
            _ => Role::Plain,
        };
    }
}

/// Whether the `(` at `t` opens brackets around a type before an operand.
fn is_cast(pieces: &[Piece], tokens: &[usize], t: usize) -> bool {
    use Symbol::*;
    let token = |t: usize| tokens.get(t).map(|n| &pieces[*n]);
    // What stands in brackets behind these is a condition or a value.
    let before = t.checked_sub(1).and_then(token).and_then(|p| p.keyword());
    if let Some(Keyword::If | Keyword::For | Keyword::Switch | Keyword::Select) = before {
        return false;
    }
    let Some(end) = type_end(pieces, tokens, t + 1, 0) else {
        return false;
    };
    if !token(end).is_some_and(|p| p.is(CloseParen)) {
        return false;
    }
    let plain = token(t + 1).is_some_and(|p| p.keyword().is_none()) && end == t + 2;
    match token(end + 1).map(|p| (&p.kind, p.symbol())) {
        Some((Kind::Token(TokenKind::Name(_, keyword)), _)) => keyword.is_none_or(|k| {
            k.is_name()
                || matches!(
                    k,
                    Keyword::True | Keyword::False | Keyword::This | Keyword::Error
                )
        }),
        Some((Kind::Token(TokenKind::Integer(_) | TokenKind::String(_)), _)) => true,
        Some((_, Some(OpenBrace | OpenParen | Tilde | Bang | Invalid))) => true,
        Some((_, Some(Minus | Plus))) => !plain,
        _ => false,
    }
}

/// Whether the `)` before the sign at `t` may end a cast.
fn may_be_cast(pieces: &[Piece], tokens: &[usize], t: usize, close: usize) -> bool {
    let (Some(name), Some(open)) = (t.checked_sub(2), t.checked_sub(3)) else {
        return false;
    };
    let before = open.checked_sub(1).map(|t| &pieces[tokens[t]]);
    pieces[close].is(Symbol::CloseParen)
        && pieces[tokens[name]].is_name()
        && pieces[tokens[open]].is(Symbol::OpenParen)
        && before.is_some_and(|b| !ends_operand(b, Role::Plain))
}

/// The `>` that belongs to the `<` at `t` and the commas between, when it begins type arguments or a width.
fn angles(pieces: &[Piece], tokens: &[usize], t: usize) -> Option<Vec<usize>> {
    use Keyword::*;
    let before = &pieces[tokens[t.checked_sub(1)?]];
    let width = matches!(before.keyword(), Some(Bit | Int | Varbit));
    let builtin = matches!(before.keyword(), Some(Tuple | List | ValueSet));
    if !before.is_name() || (pieces[tokens[t]].space && !width && !builtin) {
        return None;
    }
    let end = if width {
        width_end(pieces, tokens, t)?
    } else {
        arguments_end(pieces, tokens, t, 0)?
    };
    // Angles inside are found when their own `<` is reached.
    let mut list = Vec::from([tokens[end - 1]]);
    list.extend(
        tokens[t..end]
            .iter()
            .filter(|n| pieces[**n].is(Symbol::Comma)),
    );
    Some(list)
}

/// Behind the `>` of the width whose `<` stands at `t`.
fn width_end(pieces: &[Piece], tokens: &[usize], t: usize) -> Option<usize> {
    use Symbol::*;
    let mut depth = 0_u32;
    for (n, token) in tokens.get(t + 1..)?.iter().enumerate().take(500) {
        match pieces[*token].symbol() {
            Some(OpenParen) => depth += 1,
            Some(CloseParen) => depth = depth.checked_sub(1)?,
            Some(Greater) if depth == 0 => return Some(t + n + 2),
            Some(Semicolon | OpenBrace | CloseBrace) => return None,
            _ => {}
        }
    }
    None
}

fn arguments_end(pieces: &[Piece], tokens: &[usize], t: usize, depth: u32) -> Option<usize> {
    let token = |t: usize| tokens.get(t).map(|n| &pieces[*n]);
    let mut at = t + 1;
    if token(at)?.is(Symbol::Greater) {
        return Some(at + 1);
    }
    loop {
        at = type_end(pieces, tokens, at, depth + 1)?;
        let next = token(at)?;
        at += 1;
        if next.is(Symbol::Greater) {
            return Some(at);
        }
        if !next.is(Symbol::Comma) {
            return None;
        }
    }
}

fn type_end(pieces: &[Piece], tokens: &[usize], t: usize, depth: u32) -> Option<usize> {
    use Keyword::*;
    let token = |t: usize| tokens.get(t).map(|n| &pieces[*n]);
    let opens = |t: usize| token(t).is_some_and(|p| p.is(Symbol::Less));
    if depth > 32 {
        return None;
    }
    let first = token(t)?;
    let mut end = match first.keyword() {
        Some(Bool | Error | MatchKind | String | Void | Underscore) => t + 1,
        Some(Bit | Int | Varbit) if opens(t + 1) => width_end(pieces, tokens, t + 1)?,
        Some(Bit | Int) => t + 1,
        Some(Tuple) => arguments_end(pieces, tokens, t + 1, depth)?,
        keyword if first.is_name() && keyword.is_none_or(Keyword::is_name) => {
            if opens(t + 1) {
                arguments_end(pieces, tokens, t + 1, depth)?
            } else {
                t + 1
            }
        }
        _ if first.is(Symbol::Dot) && token(t + 1)?.is_name() => t + 2,
        _ => return None,
    };
    while token(end).is_some_and(|p| p.is(Symbol::OpenBracket)) {
        if !token(end + 2)?.is(Symbol::CloseBracket) {
            return None;
        }
        end += 3;
    }
    Some(end)
}

fn kinds_of_braces(pieces: &[Piece], tokens: &[usize], roles: &mut Roles) {
    use Symbol::*;
    // Of the statement so far: its first keyword, and whether it holds a value.
    let mut head = None;
    let mut value = false;
    let mut round = 0_u32;
    let mut outer: Vec<(Option<Keyword>, bool, Braces)> = Vec::new();
    let mut property = false;
    for (t, &n) in tokens.iter().enumerate() {
        let piece = &pieces[n];
        match piece.symbol() {
            Some(OpenParen | OpenBracket) => round += 1,
            Some(CloseParen | CloseBracket) => round = round.saturating_sub(1),
            Some(OpenBrace) => {
                let close = roles.closing[n];
                let inside = &pieces[n..close.max(n)];
                let statements = inside.iter().filter(|p| p.is(Semicolon)).count();
                let nested = inside.iter().skip(1).any(|p| p.is(OpenBrace));
                let one_line = inside.iter().skip(1).all(|p| p.lines == 0 && p.is_token())
                    && pieces.get(close).is_none_or(|p| p.lines == 0);
                let kind = if round > 0 || (value && statements == 0 && !property) {
                    Braces::List
                } else if matches!(
                    head,
                    Some(Keyword::Enum | Keyword::Error | Keyword::MatchKind)
                ) {
                    if one_line {
                        Braces::Short
                    } else {
                        Braces::Members
                    }
                } else if one_line
                    && !nested
                    && close > n
                    && !matches!(
                        head,
                        Some(Keyword::If | Keyword::Else | Keyword::For | Keyword::Switch)
                    )
                {
                    Braces::Short
                } else {
                    Braces::Block
                };
                roles.braces[n] = kind;
                outer.push((head, value, kind));
                if kind != Braces::List {
                    (head, value) = (None, false);
                }
                property = false;
            }
            Some(CloseBrace) => {
                if let Some((before_head, before_value, kind)) = outer.pop() {
                    (head, value) = if kind == Braces::List || before_value {
                        (before_head, before_value)
                    } else if before_head == Some(Keyword::Typedef) {
                        (before_head, false)
                    } else {
                        (None, false)
                    };
                }
            }
            Some(Semicolon) if round == 0 => {
                (head, value, property) = (None, false, false);
            }
            Some(Assign) if round == 0 => {
                value = true;
                let name = t.checked_sub(1).and_then(|t| pieces[tokens[t]].keyword());
                property = matches!(
                    name,
                    Some(Keyword::Key | Keyword::Actions | Keyword::Entries)
                );
                continue;
            }
            _ => {
                if let Some(keyword) = piece.keyword() {
                    if round == 0 && keyword == Keyword::Return {
                        value = true;
                    }
                    if round == 0 && head.is_none() {
                        head = Some(keyword);
                    }
                }
                continue;
            }
        }
    }
}
