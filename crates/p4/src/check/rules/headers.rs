//! Headers from the parser to the deparser: what is used and never there, extracted and never emitted, or looked up where it may not be there; tables
//! that are applied again.
//!
//! A header is told by the field of the struct that holds it, whatever the struct is called where it is passed on. What is copied or passed on as a whole may
//! have come and may go anywhere, and is not warned of.

use super::{Rules, is_silenced, parsers, walk};
use crate::ast::{
    BinaryOperator, CompositeKind, DeclarationKind, Expression, ExpressionKind, Field, KeyElement,
    NodeId, Parser, State, Statement, StatementKind, Table, TablePropertyKind,
};
use crate::check::{Builtin, Target};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::types::Type;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;

/// What the program does with its headers.
#[derive(Default)]
struct Seen {
    /// Where each is extracted first.
    extracted: BTreeMap<NodeId, Span>,
    /// Made valid otherwise, or perhaps.
    made: BTreeSet<NodeId>,
    /// Taken away on purpose.
    removed: BTreeSet<NodeId>,
    emitted: BTreeSet<NodeId>,
    /// Where a field is read or written first.
    used: BTreeMap<NodeId, Span>,
}

pub(super) fn run(rules: &mut Rules<'_>) {
    if rules.checked.main.is_none() {
        return;
    }
    let mut fields: BTreeMap<NodeId, &Field> = BTreeMap::new();
    for declaration in &rules.declarations {
        if let DeclarationKind::Composite { fields: own, .. } = &declaration.kind {
            let silenced = |code| is_silenced(&declaration.annotations, code);
            if !silenced("invalid-header") && !silenced("not-emitted") {
                fields.extend(own.iter().map(|field| (field.id, field)));
            }
        }
    }
    let seen = rules.seen();
    // Without a parser the architecture brings the headers.
    if !seen.extracted.is_empty() || rules.has_parser() {
        rules.never_there(&seen, &fields);
    }
    rules.never_emitted(&seen, &fields);
    rules.tables_applied(&seen);
}

impl<'a> Rules<'a> {
    fn has_parser(&self) -> bool {
        let mut all = self.declarations.iter();
        all.any(|declaration| matches!(declaration.kind, DeclarationKind::Parser(_)))
    }

    /// Whether a header comes from a controller, and goes no further: P4Runtime's `packet_out`.
    fn is_controllers(&self, field: &Field) -> bool {
        let Some(Type::Composite(id, _)) = self.checked.types.get(&field.id) else {
            return false;
        };
        let annotations = self.by_id.get(id).map(|d| &d.annotations);
        annotations.is_some_and(|list| list.iter().any(|a| &*a.name.text == "controller_header"))
    }

    fn seen(&self) -> Seen {
        let mut seen = Seen::default();
        for declaration in &self.declarations {
            walk::of_declaration(declaration, &mut |e| {
                walk::expressions(e, &mut |e| self.look(e, &mut seen));
            });
            // Assignments of whole headers.
            let mut assigned = |statement: &'a Statement| {
                if let StatementKind::Assign { target, value, .. } = &statement.kind {
                    self.all_of(target, &mut seen.made);
                    self.all_of(value, &mut seen.emitted);
                }
            };
            match &declaration.kind {
                DeclarationKind::Control(control) => {
                    for statement in &control.apply.statements {
                        walk::statements(statement, &mut assigned);
                    }
                }
                DeclarationKind::Parser(parser) => {
                    for statement in parser.states.iter().flat_map(|state| &state.statements) {
                        walk::statements(statement, &mut assigned);
                    }
                }
                DeclarationKind::Action { body, .. } | DeclarationKind::Function { body, .. } => {
                    for statement in &body.statements {
                        walk::statements(statement, &mut assigned);
                    }
                }
                DeclarationKind::Variable {
                    value: Some(value), ..
                } => {
                    self.all_of(value, &mut seen.emitted);
                    if let Some(ty) = self.checked.types.get(&declaration.id) {
                        self.within(ty, &mut seen.made, 0);
                    }
                }
                _ => {}
            }
        }
        seen
    }

    fn look(&self, e: &Expression, seen: &mut Seen) {
        match &e.kind {
            ExpressionKind::Member { base, member } => {
                if let Some(header) = self.header_of(base)
                    && self.checked.references.contains_key(&e.id)
                    && self.header_of(e).is_none()
                    && !matches!(&*member.text, "next" | "last" | "lastIndex")
                {
                    seen.used.entry(header).or_insert(e.span);
                }
            }
            ExpressionKind::List { elements, .. } => {
                // A list of headers is hashed, sent, or copied.
                seen.emitted
                    .extend(elements.iter().filter_map(|part| self.header_of(part)));
            }
            ExpressionKind::Call {
                callee, arguments, ..
            } => {
                let Some(call) = self.checked.calls.get(&e.id) else {
                    return;
                };
                let method = match &callee.kind {
                    ExpressionKind::Member { base, member } => Some((base, &*member.text)),
                    _ => None,
                };
                let headers = arguments.iter().filter_map(|argument| {
                    Some((self.header_of(&argument.value)?, argument.value.span))
                });
                match (call.target, method) {
                    (Target::Method(_), Some((_, "extract"))) => {
                        for (header, span) in headers {
                            seen.extracted.entry(header).or_insert(span);
                        }
                    }
                    (Target::Method(_), Some((_, "emit"))) => {
                        for argument in arguments {
                            self.all_of(&argument.value, &mut seen.emitted);
                        }
                    }
                    (Target::Builtin(builtin), Some((base, _))) => {
                        let Some(header) = self.header_of(base) else {
                            return;
                        };
                        match builtin {
                            Builtin::SetValid | Builtin::PushFront => {
                                seen.made.insert(header);
                            }
                            Builtin::SetInvalid | Builtin::PopFront => {
                                seen.removed.insert(header);
                            }
                            _ => {}
                        }
                    }
                    _ => {
                        for (header, _) in headers {
                            seen.made.insert(header);
                            seen.emitted.insert(header);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    /// The field that holds a header, stack or union, for an expression that names it or a part of a stack or union.
    fn header_of(&self, e: &Expression) -> Option<NodeId> {
        match &e.kind {
            ExpressionKind::Member { base, member } => {
                match self.checked.types.get(&base.id) {
                    Some(Type::Stack(..)) if matches!(&*member.text, "next" | "last") => {
                        return self.header_of(base);
                    }
                    Some(ty) if self.kind_of(ty) == Some(CompositeKind::Union) => {
                        return self.header_of(base);
                    }
                    _ => {}
                }
                let field = *self.checked.references.get(&e.id)?;
                self.is_header(self.checked.types.get(&e.id)?)
                    .then_some(field)
            }
            ExpressionKind::Index { base, .. } => self.header_of(base),
            _ => None,
        }
    }

    fn kind_of(&self, ty: &Type) -> Option<CompositeKind> {
        let Type::Composite(id, _) = ty else {
            return None;
        };
        match &self.by_id.get(id)?.kind {
            DeclarationKind::Composite { kind, .. } => Some(*kind),
            _ => None,
        }
    }

    fn is_header(&self, ty: &Type) -> bool {
        match ty {
            Type::Stack(part, _) => self.is_header(part),
            _ => matches!(
                self.kind_of(ty),
                Some(CompositeKind::Header | CompositeKind::Union)
            ),
        }
    }

    /// The header that an expression names, or all of a struct.
    fn all_of(&self, e: &Expression, into: &mut BTreeSet<NodeId>) {
        match (self.header_of(e), self.checked.types.get(&e.id)) {
            (Some(header), _) => {
                into.insert(header);
            }
            (None, Some(ty)) => self.within(ty, into, 0),
            (None, None) => {}
        }
    }

    /// All fields with headers within a struct.
    fn within(&self, ty: &Type, into: &mut BTreeSet<NodeId>, depth: u32) {
        let Type::Composite(id, _) = ty else { return };
        let Some(DeclarationKind::Composite { fields, .. }) = self.by_id.get(id).map(|d| &d.kind)
        else {
            return;
        };
        for field in fields {
            let Some(ty) = self.checked.types.get(&field.id) else {
                continue;
            };
            if self.is_header(ty) {
                into.insert(field.id);
            } else if depth < 16 {
                self.within(ty, into, depth + 1);
            }
        }
    }

    fn never_there(&mut self, seen: &Seen, fields: &BTreeMap<NodeId, &Field>) {
        for (header, span) in &seen.used {
            let Some(field) = fields.get(header) else {
                continue;
            };
            let comes = seen.extracted.contains_key(header) || seen.made.contains(header);
            if comes || is_silenced(&field.annotations, "invalid-header") {
                continue;
            }
            let name = &field.name;
            self.report(
                Diagnostic::warning(
                    "invalid-header",
                    *span,
                    format!("the header `{}` is used, and nothing extracts it or makes it valid", name.text),
                )
                .note(name.span, "the header")
                .help("extract it in the parser, or call `setValid()`; `@noWarn(\"invalid-header\")` before it silences this"),
            );
        }
    }

    fn never_emitted(&mut self, seen: &Seen, fields: &BTreeMap<NodeId, &Field>) {
        let deparser = self
            .declarations
            .iter()
            .filter_map(|declaration| match &declaration.kind {
                DeclarationKind::Control(control) => Some((*declaration, &**control)),
                _ => None,
            })
            .find(|(_, control)| {
                control.parameters.iter().any(|parameter| {
                    let ty = self.checked.types.get(&parameter.id);
                    let Some(Type::Object(id, _)) = ty else {
                        return false;
                    };
                    matches!(self.by_id.get(id).map(|d| &d.kind),
                        Some(DeclarationKind::Extern { name, .. }) if &*name.text == "packet_out")
                })
            });
        let lost: Vec<(&Field, Span)> = seen
            .extracted
            .iter()
            .filter(|(header, _)| !seen.emitted.contains(header) && !seen.removed.contains(header))
            .filter_map(|(header, span)| Some((*fields.get(header)?, *span)))
            .filter(|(field, _)| {
                !is_silenced(&field.annotations, "not-emitted") && !self.is_controllers(field)
            })
            .collect();
        let (Some((declaration, deparser)), [(first, at), ..]) = (deparser, &lost[..]) else {
            return;
        };
        if seen.emitted.is_empty() {
            if is_silenced(&declaration.annotations, "not-emitted") {
                return;
            }
            let diagnostic = Diagnostic::warning(
                "not-emitted",
                deparser.name.span,
                format!(
                    "the deparser `{}` emits nothing: what the parser extracts leaves the packet",
                    deparser.name.text
                ),
            )
            .note(*at, format!("`{}` is extracted here", first.name.text))
            .help("emit the headers; if they are to go, write `@noWarn(\"not-emitted\")` before the control");
            return self.report(diagnostic);
        }
        for (field, span) in lost {
            self.report(
                Diagnostic::warning(
                    "not-emitted",
                    span,
                    format!(
                        "the header `{}` is extracted here, and no deparser emits it: it leaves the packet",
                        field.name.text
                    ),
                )
                .note(field.name.span, "the header")
                .help("emit it; if it is to go, call `setInvalid()`, or write `@noWarn(\"not-emitted\")` before it"),
            );
        }
    }

    /// What is told of tables where they are applied.
    fn tables_applied(&mut self, seen: &Seen) {
        let always = self.always_valid();
        for declaration in self.declarations.clone() {
            let DeclarationKind::Control(control) = &declaration.kind else {
                continue;
            };
            let mut applied = Some(BTreeMap::new());
            for statement in &control.apply.statements {
                self.apply(statement, false, &mut applied, seen, &always);
            }
        }
    }

    /// Follows control flow; `applied` has where tables may have been applied before, `None` where nothing leads.
    fn apply(
        &mut self,
        statement: &'a Statement,
        guarded: bool,
        applied: &mut Option<BTreeMap<NodeId, Span>>,
        seen: &Seen,
        always: &BTreeSet<NodeId>,
    ) {
        // The conditions of a chain are looked at below, each where it is evaluated.
        if !matches!(statement.kind, StatementKind::If { .. }) {
            for e in walk::own_expressions(statement) {
                self.evaluate(e, guarded, applied, seen, always);
            }
        }
        let branch =
            |rules: &mut Self, inner: &[&'a Statement], from: &Option<BTreeMap<NodeId, Span>>| {
                let mut own = from.clone();
                for statement in inner {
                    rules.apply(statement, true, &mut own, seen, always);
                }
                own
            };
        match &statement.kind {
            StatementKind::Block(block) => {
                for inner in &block.statements {
                    self.apply(inner, guarded, applied, seen, always);
                }
            }
            StatementKind::If {
                branches,
                otherwise,
            } => {
                let mut after = None;
                for (at, one) in branches.iter().enumerate() {
                    self.evaluate(&one.condition, guarded || at > 0, applied, seen, always);
                    after = either(after, branch(self, &[&one.body], applied));
                }
                let last = match otherwise {
                    Some(otherwise) => branch(self, &[otherwise], applied),
                    None => applied.take(),
                };
                *applied = either(after, last);
            }
            StatementKind::Switch { cases, .. } => {
                let from = applied.clone();
                let mut after = from.clone();
                for body in cases.iter().filter_map(|case| case.body.as_ref()) {
                    let inner: Vec<&Statement> = body.statements.iter().collect();
                    let own = branch(self, &inner, &from);
                    after = either(after, own);
                }
                *applied = after;
            }
            StatementKind::For { body, .. } | StatementKind::ForIn { body, .. } => {
                let from = applied.clone();
                *applied = either(branch(self, &[body], &from), from);
            }
            StatementKind::Return(_)
            | StatementKind::Exit
            | StatementKind::Break
            | StatementKind::Continue => *applied = None,
            _ => {}
        }
    }

    /// The tables that an expression applies.
    fn evaluate(
        &mut self,
        e: &'a Expression,
        guarded: bool,
        applied: &mut Option<BTreeMap<NodeId, Span>>,
        seen: &Seen,
        always: &BTreeSet<NodeId>,
    ) {
        let (mut calls, mut guarded) = (Vec::new(), guarded);
        walk::expressions(e, &mut |e| match &e.kind {
            // What stands behind it runs only if what stands before it holds.
            ExpressionKind::Binary {
                operator: BinaryOperator::And | BinaryOperator::Or,
                ..
            }
            | ExpressionKind::Conditional { .. } => guarded = true,
            ExpressionKind::Call { .. } => {
                if let Some(call) = self.checked.calls.get(&e.id)
                    && let Target::Table(id) = call.target
                {
                    calls.push((id, e.span));
                }
            }
            _ => {}
        });
        for (id, span) in calls {
            self.application(id, span, guarded, applied, seen, always);
        }
    }

    fn application(
        &mut self,
        id: NodeId,
        span: Span,
        guarded: bool,
        applied: &mut Option<BTreeMap<NodeId, Span>>,
        seen: &Seen,
        always: &BTreeSet<NodeId>,
    ) {
        let Some(declaration) = self.by_id.get(&id).copied() else {
            return;
        };
        let (Some(applied), DeclarationKind::Table(table)) = (applied, &declaration.kind) else {
            return;
        };
        if let Some(first) = applied.insert(id, span)
            && !is_silenced(&declaration.annotations, "applied-twice")
        {
            let name = &table.name.text;
            self.report(
                Diagnostic::warning(
                    "applied-twice",
                    span,
                    format!("the table `{name}` may have been applied to this packet before"),
                )
                .note(first, "here")
                .help("many targets apply a table once; `@noWarn(\"applied-twice\")` before the table silences this"),
            );
        }
        if guarded || is_silenced(&declaration.annotations, "invalid-header") {
            return;
        }
        if let Some(key) = self.unsure_key(table, seen, always) {
            let text = crate::print::expression(&key.expression);
            self.report(
                Diagnostic::warning(
                    "invalid-header",
                    key.expression.span,
                    format!("the key `{text}` is of a header that not every packet has, and the table is applied to all"),
                )
                .note(span, "applied here")
                .help("apply it under `if (HEADER.isValid())`, or make `HEADER.isValid()` a key"),
            );
        }
    }

    /// The first key of a header that some packets do not have, if no key tells which.
    fn unsure_key(
        &self,
        table: &'a Table,
        seen: &Seen,
        always: &BTreeSet<NodeId>,
    ) -> Option<&'a KeyElement> {
        let keys = table
            .properties
            .iter()
            .flat_map(|property| match &property.kind {
                TablePropertyKind::Key(keys) => keys.as_slice(),
                _ => &[],
            });
        let mut first = None;
        for key in keys {
            let mut unsure = None;
            let mut asks = false;
            walk::expressions(&key.expression, &mut |e| match &e.kind {
                // Which element of a stack it is only running tells.
                ExpressionKind::Call { .. } | ExpressionKind::Index { .. } => asks = true,
                ExpressionKind::Member { base, .. } => unsure = unsure.or(self.header_of(base)),
                _ => {}
            });
            if asks {
                return None;
            }
            let unsure = unsure.filter(|header| {
                seen.extracted.contains_key(header)
                    && !seen.made.contains(header)
                    && !always.contains(header)
            });
            if unsure.is_some() {
                first = first.or(Some(key));
            }
        }
        first
    }

    /// The headers that every packet has that a parser accepts, and those of parsers that one cannot see through.
    fn always_valid(&self) -> BTreeSet<NodeId> {
        let mut always = BTreeSet::new();
        for declaration in &self.declarations {
            if let DeclarationKind::Parser(parser) = &declaration.kind {
                always.extend(self.on_every_path(parser));
            }
        }
        always
    }

    fn on_every_path(&self, parser: &Parser) -> BTreeSet<NodeId> {
        let by_id: BTreeMap<NodeId, &State> = parser.states.iter().map(|s| (s.id, s)).collect();
        let Some(start) = parser.states.iter().find(|s| &*s.name.text == "start") else {
            return BTreeSet::new();
        };
        let mut own: BTreeMap<NodeId, BTreeSet<NodeId>> = BTreeMap::new();
        for state in &parser.states {
            let mut seen = Seen::default();
            for statement in &state.statements {
                walk::statements(statement, &mut |statement| {
                    for e in walk::own_expressions(statement) {
                        walk::expressions(e, &mut |e| self.look(e, &mut seen));
                    }
                });
            }
            let mut here: BTreeSet<NodeId> = seen.extracted.into_keys().collect();
            here.extend(seen.made);
            own.insert(state.id, here);
        }
        let mut before: BTreeMap<NodeId, BTreeSet<NodeId>> =
            BTreeMap::from([(start.id, BTreeSet::new())]);
        let mut work = alloc::vec![start];
        let mut end: Option<BTreeSet<NodeId>> = None;
        // Sets only shrink, so that this ends.
        while let Some(state) = work.pop() {
            let after: BTreeSet<NodeId> =
                before[&state.id].union(&own[&state.id]).copied().collect();
            for next in parsers::next(state) {
                if &*next.name.text == "accept" {
                    end = Some(match end {
                        Some(end) => end.intersection(&after).copied().collect(),
                        None => after.clone(),
                    });
                }
                let next = self.checked.references.get(&next.id);
                let Some(next) = next.and_then(|id| by_id.get(id)) else {
                    continue;
                };
                let joined = match before.get(&next.id) {
                    Some(there) => there.intersection(&after).copied().collect(),
                    None => after.clone(),
                };
                if before.get(&next.id) != Some(&joined) {
                    before.insert(next.id, joined);
                    work.push(next);
                }
            }
        }
        end.unwrap_or_default()
    }
}

fn either(
    one: Option<BTreeMap<NodeId, Span>>,
    other: Option<BTreeMap<NodeId, Span>>,
) -> Option<BTreeMap<NodeId, Span>> {
    match (one, other) {
        (None, known) | (known, None) => known,
        (Some(mut one), Some(other)) => {
            one.extend(other);
            Some(one)
        }
    }
}
