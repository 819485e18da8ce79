//! The parser.

mod exceptions;

use super::build::{name, name_annotation};
use super::scope::{Context, Ty, constant};
use super::translate::{Translator, field_name};
use super::tree::{Case, Expr, ExprKind, Label, Next, State, Step};
use crate::ast::{
    self, BinaryOperator, Declaration, DeclarationKind, Direction, Expression, ExpressionKind,
    Name, Parser, SelectCase, StateRef, Statement, Transition, TypeExpressionKind,
};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::value::{Bits, mask};
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use num_bigint::BigInt;
use num_traits::Zero;

/// What a `return` names.
enum Target {
    State(Arc<str>),
    Accept,
    Reject,
    Unknown,
}

/// What the states of the parser share.
#[derive(Default)]
struct Shared {
    locals: Vec<Declaration>,
    states: Vec<ast::State>,
    value_sets: BTreeSet<usize>,
}

impl Translator<'_, '_> {
    pub fn parser(&mut self) {
        let tree = self.scope.tree;
        if tree.states.is_empty() {
            return self.error("no-parser", Span::default(), "the program has no parser");
        }
        let Some(start) = self.scope.states.get("start").copied() else {
            let span = tree.states[0].name.span;
            return self.error(
                "no-parser",
                span,
                "the program has no parser `start`, where every packet begins",
            );
        };
        let entries: Vec<usize> = (0..tree.states.len())
            .filter(|n| {
                tree.states[*n]
                    .pragmas
                    .iter()
                    .any(|p| *p.name.text == *"packet_entry")
            })
            .collect();
        let initial = tree.instances.iter().any(|i| !i.initial.is_empty());
        let own_start = initial || !entries.is_empty();
        for (n, state) in tree.states.iter().enumerate() {
            let output = match n == start && !own_start {
                true => "start".into(),
                false => self.given.unique(&state.name.text),
            };
            self.names.states.push(output);
        }
        let mut shared = Shared::default();
        if own_start {
            let state = self.entry(start, &entries);
            shared.states.push(state);
        }
        for (n, state) in tree.states.iter().enumerate() {
            let state = self.state(n, state, &mut shared);
            shared.states.push(state);
        }
        self.exceptions(&mut shared);
        if self.ingress.is_none() && !self.diagnostics.failed() {
            let span = tree.states[start].name.span;
            self.error(
                "no-ingress",
                span,
                "no parser returns to a control function, where processing would begin",
            );
        }
        self.push_parser(shared);
    }

    fn push_parser(&mut self, shared: Shared) {
        let span = Span::default();
        let packet = self.build.named("packet_in", span);
        let headers = self.build.named("headers", span);
        let metadata = self.build.named("metadata", span);
        let standard = self.build.named("standard_metadata_t", span);
        let parameters = vec![
            self.build
                .parameter(Direction::None, packet, name("packet", span)),
            self.build
                .parameter(Direction::Out, headers, name("hdr", span)),
            self.build
                .parameter(Direction::InOut, metadata, name("meta", span)),
            self.build
                .parameter(Direction::InOut, standard, name("standard_metadata", span)),
        ];
        let parser = Parser {
            name: name("ParserImpl", span),
            type_parameters: Vec::new(),
            parameters,
            constructor_parameters: Vec::new(),
            locals: shared.locals,
            states: shared.states,
        };
        let declaration =
            self.build
                .declaration(span, Vec::new(), DeclarationKind::Parser(Box::new(parser)));
        self.out.push(declaration);
    }

    /// The first state, where metadata gets its values and a packet's kind may choose another entry.
    fn entry(&mut self, start: usize, entries: &[usize]) -> ast::State {
        let tree = self.scope.tree;
        let span = tree.states[start].name.span;
        let statements = self.initial_values();
        let first = self.state_ref(&name("start", span), self.names.states[start].clone());
        let transition = match entries.is_empty() {
            true => Transition::Direct(first),
            false => {
                // Entries are numbered in the order of their names, as other compilers do.
                let mut entries = entries.to_vec();
                entries.sort_by_key(|n| &tree.states[*n].name.text);
                let standard = self.build.path("standard_metadata", span);
                let selector = self.build.member(standard, "instance_type", span);
                let mut cases = Vec::new();
                for (number, entry) in entries.into_iter().enumerate() {
                    let keyset = self.build.sized(&BigInt::from(number + 1), 32, false, span);
                    let at = tree.states[entry].name.clone();
                    cases.push(SelectCase {
                        keyset,
                        next: self.state_ref(&at, self.names.states[entry].clone()),
                        span: at.span,
                    });
                }
                cases.push(SelectCase {
                    keyset: self.build.expression(span, ExpressionKind::Default),
                    next: first,
                    span,
                });
                Transition::Select {
                    id: self.build.id(),
                    selectors: vec![selector],
                    cases,
                    span,
                }
            }
        };
        ast::State {
            id: self.build.id(),
            annotations: vec![name_annotation(".$start", span)],
            name: name("start", span),
            statements,
            transition: Some(transition),
            span,
        }
    }

    /// `metadata T m { f : 1; }`: what a packet does not bring along from an earlier pass begins with these values.
    fn initial_values(&mut self) -> Vec<Statement> {
        let tree = self.scope.tree;
        let mut statements = Vec::new();
        for instance in &tree.instances {
            for (field, value) in &instance.initial {
                let target = Expr {
                    span: field.span,
                    kind: ExprKind::Member(
                        Box::new(Expr {
                            span: field.span,
                            kind: ExprKind::Name(instance.name.text.clone()),
                        }),
                        field.clone(),
                    ),
                };
                let context = Context {
                    parser: true,
                    ..Context::default()
                };
                let ty = self.ty(&target, context);
                if constant(value).is_none() {
                    self.error("constant", value.span, "metadata begins with a number");
                    continue;
                }
                let value = self.value(value, ty, context);
                let target = self.value(&target, ty, context);
                let assign = self.build.assign(target, value, field.span);
                statements.push(assign);
            }
        }
        if statements.is_empty() {
            return statements;
        }
        // Resubmitted and recirculated packets keep what their field list says, and v1model clears the rest.
        let span = statements[0].span;
        let standard = self.build.path("standard_metadata", span);
        let kind = self.build.member(standard, "instance_type", span);
        let zero = self.build.sized(&BigInt::zero(), 32, false, span);
        let condition = self.build.binary(BinaryOperator::Equal, kind, zero);
        let yes = self.build.block_statement(statements, span);
        vec![self.build.if_else(condition, yes, None, span)]
    }

    fn state_ref(&mut self, at: &Name, output: Arc<str>) -> StateRef {
        StateRef {
            id: self.build.id(),
            name: name(output, at.span),
        }
    }

    fn target(&mut self, at: &Name) -> Target {
        if let Some(state) = self.scope.states.get(&at.text) {
            return Target::State(self.names.states[*state].clone());
        }
        if let Some(control) = self.scope.controls.get(&at.text).copied() {
            if let Some(other) = self
                .ingress
                .replace(control)
                .filter(|other| *other != control)
            {
                let other = self.scope.tree.controls[other].name.text.clone();
                let message = format!(
                    "parsers end in two different control functions, `{other}` and `{}`",
                    at.text
                );
                self.error("two-ingresses", at.span, message);
            }
            return Target::Accept;
        }
        self.unknown("parser or control function", at);
        Target::Unknown
    }

    fn exception(&mut self, at: &Name) -> Target {
        if at.text.starts_with("p4_pe_") {
            return Target::Reject;
        }
        match self.scope.exceptions.get(&at.text) {
            Some(exception) => Target::State(self.names.exceptions[*exception].clone()),
            None => {
                self.unknown("parser exception", at);
                Target::Unknown
            }
        }
    }

    fn to(&mut self, at: &Name, target: Target) -> StateRef {
        let output = match target {
            Target::State(output) => output,
            Target::Accept => "accept".into(),
            Target::Reject | Target::Unknown => "reject".into(),
        };
        self.state_ref(at, output)
    }

    fn state(&mut self, n: usize, state: &State, shared: &mut Shared) -> ast::State {
        let mut latest = None;
        let mut statements = Vec::new();
        for step in &state.steps {
            self.step(step, &mut latest, &mut statements, shared);
        }
        let transition = self.transition(state, latest.as_ref(), shared);
        let annotations = vec![name_annotation(
            &format!(".{}", state.name.text),
            state.name.span,
        )];
        ast::State {
            id: self.build.id(),
            annotations,
            name: name(self.names.states[n].clone(), state.name.span),
            statements,
            transition: Some(transition),
            span: state.span,
        }
    }

    fn step(
        &mut self,
        step: &Step,
        latest: &mut Option<Expr>,
        statements: &mut Vec<Statement>,
        shared: &mut Shared,
    ) {
        let context = Context {
            latest: latest.as_ref(),
            parser: true,
            ..Context::default()
        };
        match step {
            Step::Set {
                target,
                value,
                span,
            } => {
                let ty = self.ty(target, context);
                let value = self.value(value, ty, context);
                let (target, _) = self.natural(target, ty, context);
                let assign = self.build.assign(target, value, *span);
                statements.push(assign);
            }
            Step::Extract { target, span } => {
                let ty = self.ty(target, context);
                let (header, _) = self.reference(target, context);
                let shape = match ty {
                    Ty::Header(shape) => shape,
                    Ty::Unknown => return,
                    other => {
                        let message = format!(
                            "only a header can be extracted, not {}",
                            self.describe(other)
                        );
                        return self.error("extract", *span, message);
                    }
                };
                let mut arguments = vec![header];
                if let Some(varbit) = self.scope.shapes[shape].varbit()
                    && let Some(length) =
                        self.varbit_length(shape, varbit, *span, statements, shared)
                {
                    arguments.push(length);
                }
                let packet = self.build.path("packet", *span);
                let call = self.build.method(packet, "extract", arguments, *span);
                let call = self.build.call_statement(call);
                statements.push(call);
                *latest = Some(last(target));
            }
        }
    }

    /// How many bits the field of variable width has: what `length` says, less the others. The fields that it depends on are
    /// looked up ahead in the packet.
    fn varbit_length(
        &mut self,
        shape: usize,
        varbit: usize,
        span: Span,
        statements: &mut Vec<Statement>,
        shared: &mut Shared,
    ) -> Option<Expression> {
        let length = self.scope.tree.header_types[shape].length.as_ref()?;
        let variable = match self.fixed.get(&shape).cloned() {
            Some(fixed) if constant(length).is_none() => {
                let variable = self.given.unique("tmp_hdr");
                let ty = self.build.named(fixed.clone(), span);
                let declaration = self.build.variable(ty, variable.clone(), span);
                shared.locals.push(declaration);
                let packet = self.build.path("packet", span);
                let callee = self.build.member(packet, "lookahead", span);
                let ty = self.build.named(fixed, span);
                let ahead = self.build.call(callee, vec![ty], Vec::new(), span);
                let target = self.build.path(variable.clone(), span);
                let assign = self.build.assign(target, ahead, span);
                statements.push(assign);
                variable
            }
            _ => "".into(),
        };
        let bytes = self.length(length, shape, varbit, &variable);
        let eight = self.build.sized(&8.into(), 32, false, span);
        let bits = self.build.binary(BinaryOperator::Multiply, bytes, eight);
        let others = self.scope.shapes[shape].fixed;
        let others = self.build.sized(&others.into(), 32, false, span);
        Some(self.build.binary(BinaryOperator::Subtract, bits, others))
    }

    /// A length in 32 bits: P4_14 does not say in how many, and the fields' own are too few for `ihl * 4`.
    fn length(
        &mut self,
        expr: &Expr,
        shape: usize,
        varbit: usize,
        variable: &Arc<str>,
    ) -> Expression {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Integer(value, _) => self.build.sized(value, 32, false, span),
            ExprKind::Name(field) => {
                let fields = &self.scope.shapes[shape].fields;
                let known = fields.iter().position(|f| f.name.text == *field);
                match known {
                    Some(n) if n < varbit => {
                        let from = fields[n].ty;
                        let base = self.build.path(variable.clone(), span);
                        let value = self.build.member(base, field_name(field), span);
                        self.convert(value, from, Ty::Bits(32, false))
                    }
                    Some(_) => {
                        let message = format!(
                            "a header's length depends only on fields before the one of variable width, not on `{field}`"
                        );
                        self.error("header-length", span, message);
                        self.build.expression(span, ExpressionKind::Broken)
                    }
                    None => {
                        self.unknown("field", &name(field.clone(), span));
                        self.build.expression(span, ExpressionKind::Broken)
                    }
                }
            }
            ExprKind::Unary(operator, operand) => {
                let operand = self.length(operand, shape, varbit, variable);
                self.build.unary(*operator, operand)
            }
            ExprKind::Binary(operator, left, right) => {
                let left = self.length(left, shape, varbit, variable);
                let right = self.length(right, shape, varbit, variable);
                self.build.binary(*operator, left, right)
            }
            _ => {
                self.error(
                    "header-length",
                    span,
                    "a header's length is an expression of its own fields",
                );
                self.build.expression(span, ExpressionKind::Broken)
            }
        }
    }

    fn transition(
        &mut self,
        state: &State,
        latest: Option<&Expr>,
        shared: &mut Shared,
    ) -> Transition {
        match &state.next {
            Some(Next::Goto(at)) => {
                let target = self.target(at);
                Transition::Direct(self.to(at, target))
            }
            Some(Next::Error(at)) => {
                let target = self.exception(at);
                Transition::Direct(self.to(at, target))
            }
            Some(Next::Drop(span)) => {
                Transition::Direct(self.state_ref(&name("reject", *span), "reject".into()))
            }
            Some(Next::Select { keys, cases, span }) => {
                self.select(keys, cases, *span, latest, shared)
            }
            None => {
                let message = format!("parser `{}` does not say where it goes", state.name.text);
                self.diagnostics.push(
                    Diagnostic::error("no-return", state.span, message)
                        .help("end it with `return ...;`"),
                );
                Transition::Direct(self.state_ref(&state.name, "reject".into()))
            }
        }
    }

    fn select(
        &mut self,
        keys: &[Expr],
        cases: &[Case],
        span: Span,
        latest: Option<&Expr>,
        shared: &mut Shared,
    ) -> Transition {
        let context = Context {
            latest,
            parser: true,
            ..Context::default()
        };
        let mut selectors = Vec::new();
        let mut widths = Vec::new();
        for key in keys {
            let (value, ty) = self.natural(key, self.ty(key, context), context);
            match ty {
                Ty::Bits(width, signed) => {
                    widths.push((width, signed));
                    selectors.push(value);
                }
                Ty::Bool => {
                    selectors.push(self.convert(value, ty, Ty::Bits(1, false)));
                    widths.push((1, false));
                }
                Ty::Unknown => {
                    selectors.push(value);
                    widths.push((1, false));
                }
                other => {
                    let message = format!("a value is needed here, not {}", self.describe(other));
                    self.error("type", key.span, message);
                }
            }
        }
        let mut list = Vec::new();
        for case in cases {
            for label in &case.labels {
                let Some(keyset) = self.label(label, &widths, case.span, shared) else {
                    continue;
                };
                let target = match case.error {
                    true => self.exception(&case.next),
                    false => self.target(&case.next),
                };
                let next = self.to(&case.next, target);
                list.push(SelectCase {
                    keyset,
                    next,
                    span: case.span,
                });
            }
        }
        Transition::Select {
            id: self.build.id(),
            selectors,
            cases: list,
            span,
        }
    }

    /// A case's value stands for all fields, one behind the other; P4_16 wants a value for each.
    fn label(
        &mut self,
        label: &Label,
        widths: &[(u32, bool)],
        span: Span,
        shared: &mut Shared,
    ) -> Option<Expression> {
        let (value, with) = match label {
            Label::Default => return Some(self.build.expression(span, ExpressionKind::Default)),
            Label::Value { value, mask } => (value, mask.as_ref()),
        };
        if let ExprKind::Name(set) = &value.kind {
            let Some(set) = self.scope.value_sets.get(set).copied() else {
                self.unknown("parser value set", &name(set.clone(), value.span));
                return None;
            };
            if let Some(with) = with {
                self.error(
                    "value-set",
                    with.span,
                    "a parser value set takes no mask here",
                );
            }
            if shared.value_sets.insert(set) {
                let declaration = self.value_set(set, widths);
                shared.locals.push(declaration);
            }
            return Some(
                self.build
                    .path(self.names.value_sets[set].clone(), value.span),
            );
        }
        let Some(number) = constant(value) else {
            self.error(
                "constant",
                value.span,
                "a case is a number, `default` or a parser value set",
            );
            return None;
        };
        let total: u32 = widths.iter().map(|(w, _)| *w).fold(0, u32::saturating_add);
        let bits = Bits::from_int(total, &number);
        let with = match with {
            Some(with) => match constant(with) {
                Some(with) => Some(Bits::from_int(total, &with)),
                None => {
                    self.error("constant", with.span, "a mask is a number");
                    return None;
                }
            },
            None => None,
        };
        if with.as_ref().is_some_and(|w| !w.is_true()) {
            return Some(self.build.expression(span, ExpressionKind::Default));
        }
        let mut parts = Vec::new();
        let mut below = total;
        for (width, signed) in widths {
            below -= width;
            let part = BigInt::from((bits.unsigned() >> below) & mask(*width));
            let mut part = self.build.sized(&part, *width, *signed, value.span);
            if let Some(with) = &with {
                let with = BigInt::from((with.unsigned() >> below) & mask(*width));
                let with = self.build.sized(&with, *width, *signed, value.span);
                part = self.build.expression(
                    value.span,
                    ExpressionKind::Mask {
                        value: Box::new(part),
                        mask: Box::new(with),
                    },
                );
            }
            parts.push(part);
        }
        Some(match parts.len() {
            1 => parts.remove(0),
            _ => self.build.list(parts, value.span),
        })
    }

    fn value_set(&mut self, set: usize, widths: &[(u32, bool)]) -> Declaration {
        let declaration = &self.scope.tree.value_sets[set];
        let span = declaration.span;
        let pragma = declaration
            .pragmas
            .iter()
            .find(|p| *p.name.text == *"parser_value_set_size");
        let size = match pragma {
            Some(pragma) => match pragma.words.first().and_then(|w| w.parse::<u32>().ok()) {
                Some(size) if size > 0 => size,
                _ => {
                    self.error(
                        "value-set",
                        pragma.name.span,
                        "the size of a parser value set is a number from 1",
                    );
                    1
                }
            },
            None => {
                let message = format!(
                    "parser value set `{}` has no size: it gets 4 values",
                    declaration.name.text
                );
                self.diagnostics.push(
                    Diagnostic::warning("value-set", span, message)
                        .help("write `@pragma parser_value_set_size N` on the line before it"),
                );
                4
            }
        };
        let mut types = Vec::new();
        for (width, signed) in widths {
            types.push(self.build.bits(*width, *signed, span));
        }
        let element = match types.len() {
            1 => types.remove(0),
            _ => self.build.ty(span, TypeExpressionKind::Tuple(types)),
        };
        let size = self.build.integer(size, span);
        let annotations = vec![name_annotation(
            &format!(".{}", declaration.name.text),
            span,
        )];
        let output = name(self.names.value_sets[set].clone(), declaration.name.span);
        self.build.declaration(
            span,
            annotations,
            DeclarationKind::ValueSet {
                element,
                size,
                name: output,
            },
        )
    }
}

/// What `latest` stands for behind this `extract`.
fn last(target: &Expr) -> Expr {
    let mut last = target.clone();
    if let ExprKind::Index(_, index) = &mut last.kind
        && matches!(&index.kind, ExprKind::Name(word) if **word == *"next")
    {
        index.kind = ExprKind::Name("last".into());
    }
    last
}
