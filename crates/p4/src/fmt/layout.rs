//! Pieces to lines.

use super::pieces::{Kind, Piece};
use super::roles::{Braces, Role, Roles, directive};
use super::{INDENT, WIDTH};
use crate::token::{Keyword, Symbol, TokenKind};
use alloc::string::String;
use alloc::vec::Vec;

/// An open bracket.
#[derive(Clone)]
enum Frame {
    /// Braces around statements; of the statement outside what must be known behind them.
    Block {
        short: bool,
        switch: bool,
        /// Of an enum: a comma ends what stands on a line.
        members: bool,
        outside: Statement,
    },
    /// Brackets around values; lines inside begin at `align`, the closing one, when it begins a line, at `close`.
    Group { align: usize, close: usize },
}

#[derive(Clone, Default)]
struct Statement {
    head: Option<Keyword>,
    /// Levels of `if` without braces that broke the line.
    extra: usize,
    /// By open `if` its level.
    ifs: Vec<usize>,
    /// The `)` behind which the statement of an `if` or `for` begins.
    control_end: Option<usize>,
}

struct Layout<'p> {
    pieces: &'p [Piece],
    roles: &'p Roles,
    out: String,
    column: usize,
    /// Where the line begins.
    line_indent: usize,
    frames: Vec<Frame>,
    blocks: usize,
    statement: Statement,
    /// The next token begins a statement.
    start: bool,
    /// The next piece must begin a line.
    forced: bool,
    /// The last token.
    last: Option<usize>,
}

pub(super) fn lay_out(pieces: &[Piece], roles: &Roles) -> String {
    let mut layout = Layout {
        pieces,
        roles,
        out: String::new(),
        column: 0,
        line_indent: 0,
        frames: Vec::new(),
        blocks: 0,
        statement: Statement::default(),
        start: true,
        forced: false,
        last: None,
    };
    layout.all();
    let mut out = layout.out;
    out.truncate(out.trim_end().len());
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

impl Layout<'_> {
    fn all(&mut self) {
        // The brackets at an `#if`, for its other branches.
        let mut saved: Vec<(Vec<Frame>, usize, Statement, bool)> = Vec::new();
        let mut n = 0;
        while n < self.pieces.len() {
            let piece = &self.pieces[n];
            match piece.kind {
                Kind::Directive => {
                    let word = directive(&piece.text);
                    if word.starts_with("if") && saved.len() < 256 {
                        saved.push((
                            self.frames.clone(),
                            self.blocks,
                            self.statement.clone(),
                            self.start,
                        ));
                    } else if matches!(word, "else" | "elif")
                        && let Some((frames, blocks, statement, start)) = saved.last()
                    {
                        self.frames.clone_from(frames);
                        self.blocks = *blocks;
                        self.statement = statement.clone();
                        self.start = *start;
                    } else if word == "endif" {
                        saved.pop();
                    }
                    self.directive(n);
                }
                Kind::LineComment | Kind::BlockComment => {
                    if let Some(brace) = self.brace_behind(n) {
                        // The brace stays on the line; the comments go behind it.
                        self.token(brace);
                        for comment in n..brace {
                            self.comment(comment);
                        }
                        n = brace + 1;
                        continue;
                    }
                    self.comment(n);
                }
                Kind::Token(_) => self.token(n),
            }
            n += 1;
        }
    }

    /// The `{` of a block that follows the comments from `n` on, when it ends a line that began before.
    fn brace_behind(&self, n: usize) -> Option<usize> {
        let brace = (n..self.pieces.len()).find(|m| !self.pieces[*m].is_comment())?;
        let is_block = self.pieces[brace].is(Symbol::OpenBrace)
            && matches!(self.roles.braces[brace], Braces::Block | Braces::Members);
        let last = &self.pieces[self.last?];
        let head = last.is(Symbol::CloseParen) || last.is_name();
        (is_block && !self.start && head && self.roles.closing[brace] > brace + 1).then_some(brace)
    }

    fn write(&mut self, text: &str) {
        self.out.push_str(text);
        match text.rfind('\n') {
            Some(end) => self.column = text[end + 1..].chars().count(),
            None => self.column += text.chars().count(),
        }
    }

    fn newline(&mut self, indent: usize, blank: bool) {
        if !self.out.is_empty() {
            while self.out.ends_with(' ') {
                self.out.pop();
            }
            if !self.out.ends_with('\n') {
                self.out.push('\n');
            }
            if blank && !self.out.ends_with("\n\n") {
                self.out.push('\n');
            }
        }
        self.out.extend(core::iter::repeat_n(' ', indent));
        self.column = indent;
        self.line_indent = indent;
    }

    fn indent(&self) -> usize {
        (self.blocks + self.statement.extra) * INDENT
    }

    /// Where a line begins that goes on.
    fn continued(&self) -> usize {
        match self.frames.last() {
            Some(Frame::Group { align, .. }) => *align,
            _ if self.start => self.indent(),
            _ => self.indent() + INDENT,
        }
    }

    /// Whether a blank line of the author stays: not at the beginning of braces.
    fn blank(&self, n: usize) -> bool {
        let after_open = self
            .last
            .is_some_and(|l| self.pieces[l].is(Symbol::OpenBrace) && l + 1 == n);
        self.pieces[n].lines > 1
            && !after_open
            && !matches!(self.frames.last(), Some(Frame::Group { .. }))
    }

    fn directive(&mut self, n: usize) {
        let blank = self.blank(n);
        let pragma = self.pieces[n].text.starts_with('@');
        let indent = if pragma { self.continued() } else { 0 };
        self.newline(indent, blank);
        let text = self.pieces[n].text.clone();
        self.write(&text);
        self.forced = true;
        self.line_indent = self.indent();
    }

    fn comment(&mut self, n: usize) {
        let piece = &self.pieces[n];
        let first = self.out.is_empty();
        if piece.lines > 0 || first || (self.forced && self.column > 0) {
            let blank = self.blank(n);
            let indent = self.continued();
            self.newline(indent, blank);
        } else if !self.out.ends_with([' ', '\n', '(']) {
            self.write(" ");
        }
        let column = self.column;
        let mut lines = piece.text.split('\n');
        let opening = lines.next().unwrap_or("").trim_end();
        self.write(opening);
        for line in lines {
            self.out.push('\n');
            self.column = 0;
            let inside = line.trim();
            if inside.starts_with('*') {
                self.out.extend(core::iter::repeat_n(' ', column + 1));
                self.column = column + 1;
                self.write(inside);
            } else {
                self.write(line.trim_end());
            }
        }
        let next_breaks = self.pieces.get(n + 1).is_some_and(|p| p.lines > 0);
        self.forced = piece.kind == Kind::LineComment || (next_breaks && piece.lines > 0);
    }

    fn token(&mut self, n: usize) {
        let piece = &self.pieces[n];
        let symbol = piece.symbol();
        let in_group = matches!(self.frames.last(), Some(Frame::Group { .. }));
        if symbol == Some(Symbol::CloseBrace) && !in_group {
            return self.close_block(n);
        }
        self.before(n, in_group);
        match symbol {
            Some(Symbol::OpenBrace) if self.roles.braces[n] != Braces::List || !self.closes(n) => {
                self.open_block(n);
                return;
            }
            Some(Symbol::OpenParen | Symbol::OpenBracket | Symbol::OpenBrace) => {
                self.write(&piece.text);
                let next_breaks = self.pieces.get(n + 1).is_some_and(|p| p.lines > 0);
                let align = if next_breaks || self.column > WIDTH * 2 / 3 {
                    self.line_indent + INDENT
                } else {
                    self.column + usize::from(symbol == Some(Symbol::OpenBrace))
                };
                let close = self.line_indent;
                self.frames.push(Frame::Group { align, close });
            }
            Some(Symbol::CloseParen | Symbol::CloseBracket | Symbol::CloseBrace) => {
                self.write(&piece.text);
                if in_group {
                    self.frames.pop();
                }
            }
            Some(Symbol::Semicolon) if !in_group => {
                self.write(";");
                self.last = Some(n);
                self.end_statement(n, false);
                return;
            }
            Some(Symbol::Comma) if !in_group => {
                self.write(",");
                self.start = matches!(self.frames.last(), Some(Frame::Block { members: true, .. }));
            }
            Some(Symbol::Colon) => {
                self.write(":");
                let in_switch =
                    matches!(self.frames.last(), Some(Frame::Block { switch: true, .. }));
                let block = self
                    .next_token(n)
                    .is_some_and(|m| self.pieces[m].is(Symbol::OpenBrace));
                self.start = in_switch && !block && self.roles.role[n] == Role::Label;
            }
            _ => {
                let text = piece.text.clone();
                self.write(&text);
                self.word(n);
            }
        }
        self.last = Some(n);
    }

    fn closes(&self, n: usize) -> bool {
        self.roles.closing[n] > n && self.roles.closing[n] != usize::MAX
    }

    fn next_token(&self, n: usize) -> Option<usize> {
        (n + 1..self.pieces.len()).find(|m| self.pieces[*m].is_token())
    }

    /// What keywords mean for the layout.
    fn word(&mut self, n: usize) {
        let Some(keyword) = self.pieces[n].keyword() else {
            return;
        };
        if self.statement.head.is_none() {
            self.statement.head = Some(keyword);
        }
        let next = self.next_token(n);
        match keyword {
            Keyword::If | Keyword::For => {
                if keyword == Keyword::If {
                    self.statement.ifs.push(self.statement.extra);
                }
                self.statement.control_end = next
                    .filter(|m| self.pieces[*m].is(Symbol::OpenParen))
                    .map(|m| self.roles.closing[m]);
            }
            Keyword::Else => {
                let goes_on = next.is_some_and(|m| {
                    self.pieces[m].is(Symbol::OpenBrace)
                        || self.pieces[m].keyword() == Some(Keyword::If)
                });
                self.statement.control_end = (!goes_on).then_some(n);
            }
            _ => {}
        }
    }

    /// Space or a line end before the token.
    fn before(&mut self, n: usize, in_group: bool) {
        let piece = &self.pieces[n];
        let symbol = piece.symbol();
        let short = matches!(self.frames.last(), Some(Frame::Block { short: true, .. }));
        let forced = core::mem::take(&mut self.forced);
        let Some(last) = self.last else {
            let blank = piece.lines > 1;
            if self.out.is_empty() {
                self.start = false;
                return;
            }
            self.newline(0, blank);
            self.start = false;
            return;
        };
        if self.start && !short {
            self.start = false;
            if symbol == Some(Symbol::Semicolon) {
                return;
            }
            let blank = self.blank(n);
            let indent = self.indent();
            return self.newline(indent, blank);
        }
        if self.start {
            self.start = false;
            if !forced {
                self.write(" ");
                return;
            }
        }
        // The statement of an `if` or `for` without braces.
        if self.statement.control_end == Some(last) && !in_group {
            self.statement.control_end = None;
            if symbol != Some(Symbol::OpenBrace) {
                if piece.lines > 0 || forced {
                    self.statement.extra += 1;
                    let indent = self.indent();
                    return self.newline(indent, false);
                }
                return self.write(" ");
            }
        }
        let closes = matches!(
            symbol,
            Some(Symbol::CloseParen | Symbol::CloseBracket | Symbol::CloseBrace)
        );
        if in_group {
            let Some(Frame::Group { align, close }) = self.frames.last().cloned() else {
                return;
            };
            if forced || piece.lines > 0 && symbol != Some(Symbol::Comma) {
                let opened = matches!(
                    self.pieces[last].symbol(),
                    Some(Symbol::OpenParen | Symbol::OpenBracket | Symbol::OpenBrace)
                );
                if !(opened && closes) || forced {
                    return self.newline(if closes { close } else { align }, false);
                }
            }
            if self.breaks_here(last) && self.column > align && self.is_too_long(n, last) {
                return self.newline(align, false);
            }
        } else {
            let indent = self.indent();
            if forced {
                let indent = if symbol == Some(Symbol::OpenBrace) {
                    indent
                } else {
                    indent + INDENT
                };
                return self.newline(indent, false);
            }
            if piece.lines > 0 && symbol != Some(Symbol::OpenBrace) {
                if self.is_own_line(last, n) {
                    return self.newline(indent, false);
                }
                let operator = |m: usize| {
                    matches!(self.roles.role[m], Role::Binary(_))
                        || self.pieces[m]
                            .symbol()
                            .is_some_and(|s| s.text().ends_with('=') && s.text().len() < 2)
                };
                if operator(last) || matches!(self.roles.role[n], Role::Binary(_)) {
                    return self.newline(indent + INDENT, false);
                }
            }
            if self.breaks_here(last) && self.is_too_long(n, last) && self.column > indent + INDENT
            {
                return self.newline(indent + INDENT, false);
            }
        }
        if self.is_spaced(last, n) {
            self.write(" ");
        }
    }

    /// Whether what the author put on a line of its own stays there: what follows an annotation, or the use of a macro.
    fn is_own_line(&self, last: usize, n: usize) -> bool {
        let next_begins = self.pieces[n].is_name() || self.pieces[n].is(Symbol::At);
        if !next_begins {
            return false;
        }
        if self.pieces[last].is(Symbol::CloseParen) || self.pieces[last].is(Symbol::CloseBracket) {
            return self.roles.role[last] != Role::Cast;
        }
        // `@name` without brackets.
        self.pieces[last].is_name() && last > 0 && self.pieces[last - 1].is(Symbol::At)
    }

    /// How tightly what stands before a possible line end binds.
    fn binding(&self, n: usize) -> Option<u8> {
        match self.roles.role[n] {
            Role::Binary(binds) => Some(binds),
            Role::Plain if self.pieces[n].is(Symbol::Comma) => Some(0),
            _ => None,
        }
    }

    fn breaks_here(&self, last: usize) -> bool {
        self.binding(last).is_some()
            // Never between the two halves of `>>`.
            && !(self.pieces[last].is(Symbol::Greater)
                && self.pieces.get(last + 1).is_some_and(|p| p.is(Symbol::Greater) && !p.space))
    }

    /// Whether what stands from `n` to the next place that binds no more than `last` does not fit on the line.
    fn is_too_long(&self, n: usize, last: usize) -> bool {
        let binds = self.binding(last).unwrap_or(0);
        let mut column = self.column + 1;
        let mut depth = 0_u32;
        for m in n..self.pieces.len() {
            let piece = &self.pieces[m];
            if !piece.is_token() || (m > n && piece.lines > 0) {
                break;
            }
            if m > n && self.is_spaced(m - 1, m) {
                column += 1;
            }
            column += piece.text.chars().count();
            if column > WIDTH {
                return true;
            }
            match piece.symbol() {
                Some(Symbol::OpenParen | Symbol::OpenBracket | Symbol::OpenBrace) => depth += 1,
                Some(Symbol::CloseParen | Symbol::CloseBracket | Symbol::CloseBrace) => {
                    match depth.checked_sub(1) {
                        Some(outer) => depth = outer,
                        None => continue,
                    }
                }
                Some(Symbol::Semicolon) => break,
                _ => {}
            }
            if depth == 0 && self.binding(m).is_some_and(|other| other <= binds) {
                break;
            }
        }
        false
    }

    fn open_block(&mut self, n: usize) {
        let kind = self.roles.braces[n];
        let head = self.statement.head;
        let switch = head == Some(Keyword::Switch);
        let members = matches!(
            head,
            Some(Keyword::Enum | Keyword::Error | Keyword::MatchKind)
        );
        let mut short = kind == Braces::Short;
        if short {
            // It stays on one line only when it fits.
            let length: usize = self.pieces[n..=self.roles.closing[n]]
                .iter()
                .map(|p| p.text.chars().count() + 1)
                .sum();
            short = self.column + length <= WIDTH;
        }
        self.write("{");
        let outside = core::mem::take(&mut self.statement);
        if !short {
            self.statement.extra = outside.extra;
        }
        self.frames.push(Frame::Block {
            short,
            switch,
            members,
            outside,
        });
        self.blocks += 1;
        self.statement.extra = match self.frames.last() {
            Some(Frame::Block { outside, .. }) => outside.extra,
            _ => 0,
        };
        self.start = true;
        self.last = Some(n);
    }

    fn close_block(&mut self, n: usize) {
        let Some(Frame::Block { short, outside, .. }) = self.frames.pop() else {
            // A brace of another branch of an `#if`.
            self.write("}");
            self.last = Some(n);
            return;
        };
        self.blocks = self.blocks.saturating_sub(1);
        let empty = self
            .last
            .is_some_and(|l| self.pieces[l].is(Symbol::OpenBrace) && l + 1 == n);
        self.statement = outside;
        if (short || empty) && !self.forced {
            self.write(" }");
        } else {
            let indent = self.indent();
            self.newline(indent, false);
            self.write("}");
        }
        self.forced = false;
        self.start = false;
        self.last = Some(n);
        let next = self.next_token(n).map(|m| &self.pieces[m]);
        let goes_on = next.is_some_and(|p| p.is(Symbol::Semicolon))
            || (self.statement.head == Some(Keyword::Typedef) && next.is_some_and(Piece::is_name));
        if !goes_on {
            self.end_statement(n, true);
        }
    }

    /// Behind a `;` or the `}` of a block.
    fn end_statement(&mut self, n: usize, braces: bool) {
        let next = self.next_token(n);
        let is_else = next.is_some_and(|m| self.pieces[m].keyword() == Some(Keyword::Else));
        if is_else && let Some(extra) = self.statement.ifs.pop() {
            self.statement.extra = extra;
            self.statement.head = None;
            self.start = !(braces && next == Some(n + 1));
            return;
        }
        self.statement = Statement {
            extra: match self.frames.last() {
                Some(Frame::Block { outside, .. }) => outside.extra,
                _ => 0,
            },
            ..Statement::default()
        };
        self.start = true;
    }

    /// Whether a space stands between two tokens on a line.
    fn is_spaced(&self, a: usize, b: usize) -> bool {
        use Symbol::*;
        let (left, right) = (&self.pieces[a], &self.pieces[b]);
        let (left_role, right_role) = (self.roles.role[a], self.roles.role[b]);
        if !left.is_token() || !right.is_token() {
            return true;
        }
        match right.symbol() {
            Some(Semicolon | Comma | CloseParen | CloseBracket) => return false,
            Some(CloseBrace) => return !left.is(OpenBrace),
            Some(Colon | PlusColon) if matches!(right_role, Role::Label | Role::SliceColon) => {
                return false;
            }
            Some(Less | Greater) if right_role == Role::Angle => return false,
            _ => {}
        }
        match left.symbol() {
            Some(OpenParen | OpenBracket | Dot | At) => return false,
            Some(OpenBrace) => return true,
            Some(Less) if left_role == Role::Angle => return false,
            Some(_) if matches!(left_role, Role::Unary | Role::SliceColon) => return false,
            _ => {}
        }
        if left_role == Role::Cast {
            return false;
        }
        // The two halves of `>>`.
        if left.is(Greater) && right.is(Greater) && !right.space {
            return false;
        }
        let operand = match &left.kind {
            Kind::Token(TokenKind::Name(_, keyword)) => !matches!(
                keyword,
                Some(
                    Keyword::If
                        | Keyword::For
                        | Keyword::Switch
                        | Keyword::Return
                        | Keyword::In
                        | Keyword::Else
                )
            ),
            Kind::Token(TokenKind::Symbol(symbol)) => {
                matches!(symbol, CloseParen | CloseBracket | Invalid) && left_role != Role::Cast
                    || (*symbol == Greater && left_role == Role::Angle)
            }
            _ => true,
        };
        match right.symbol() {
            // In `f<T>(x)`, `(x)(y)`, `a[1]`, `a.b` nothing; before an absolute `.a` whatever the left asks for.
            Some(OpenParen | OpenBracket) => !operand,
            Some(Dot) => {
                !operand
                    || left.keyword().is_some_and(|k| {
                        !k.is_name() && !matches!(k, Keyword::This | Keyword::Error)
                    })
            }
            _ => true,
        }
    }
}
