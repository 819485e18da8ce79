//! Tables, action profiles and selectors.

use super::build::{annotation, name, name_annotation};
use super::primitives::one_run;
use super::scope::{Context, Ty, constant};
use super::translate::Translator;
use super::tree::{Expr, ExprKind, Read, Table};
use crate::ast::{
    self, ActionReference, Annotation, BinaryOperator, Declaration, DeclarationKind, Direction,
    Expression, KeyElement, Name, TableProperty, TablePropertyKind,
};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use num_bigint::BigInt;
use num_traits::ToPrimitive;

/// What the actions of one table are called, when the table has its own: by the index of the action.
pub(super) type ActionNames = BTreeMap<usize, Arc<str>>;

impl Translator<'_, '_> {
    /// The actions that a table may carry out, by their index.
    pub fn table_actions(&mut self, table: &Table) -> Vec<usize> {
        let tree = self.scope.tree;
        let mut names: &[Name] = &table.actions;
        if let Some(profile) = &table.profile {
            match self.scope.profiles.get(&profile.text) {
                Some(n) => names = &tree.profiles[*n].actions,
                None => self.unknown("action profile", profile),
            }
        }
        let mut list = Vec::new();
        for name in names {
            match self.scope.actions.get(&name.text) {
                Some(n) if list.contains(n) => {}
                Some(n) => list.push(*n),
                None => self.unknown("action", name),
            }
        }
        list
    }

    pub fn profiles(&mut self) {
        let tree = self.scope.tree;
        for (n, profile) in tree.profiles.iter().enumerate() {
            let span = profile.span;
            let mut annotations = vec![name_annotation(
                &format!(".{}", profile.name.text),
                profile.name.span,
            )];
            let size = match &profile.size {
                Some(size) => match constant(size).and_then(|s| s.to_u32()) {
                    Some(size) => size,
                    None => {
                        self.error("size", size.span, "a size is a number");
                        0
                    }
                },
                None => 0,
            };
            let size_argument = self.build.sized(&size.into(), 32, false, span);
            let (ty, arguments) = match &profile.selector {
                None => ("action_profile", vec![size_argument]),
                Some(selector) => {
                    let Some(selector) = self
                        .scope
                        .selectors
                        .get(&selector.text)
                        .map(|s| &tree.selectors[*s])
                    else {
                        self.unknown("action selector", selector);
                        continue;
                    };
                    let Some(calculation) = self.selector_key(selector) else {
                        continue;
                    };
                    let Some(algorithm) = self.algorithm(calculation) else {
                        continue;
                    };
                    let width = tree.calculations[calculation].output_width.as_ref();
                    let width = width
                        .and_then(constant)
                        .and_then(|w| w.to_u32())
                        .unwrap_or(0);
                    let width = self.build.sized(&width.into(), 32, false, span);
                    for (text, value) in [("mode", &selector.mode), ("type", &selector.kind)] {
                        if let Some(value) = value {
                            let token = format!("\"{}\"", value.text).into();
                            annotations.push(annotation(text, vec![token], value.span));
                        }
                    }
                    ("action_selector", vec![algorithm, size_argument, width])
                }
            };
            let ty = self.build.named(ty, span);
            let output = self.names.profiles[n].clone();
            let declaration = self
                .build
                .instance(ty, output, arguments, annotations, span);
            self.out.push(declaration);
        }
    }

    /// The calculation whose fields choose a member.
    fn selector_key(&mut self, selector: &super::tree::Selector) -> Option<usize> {
        let found = selector
            .key
            .as_ref()
            .and_then(|key| self.scope.calculations.get(&key.text));
        match found {
            Some(calculation) => Some(*calculation),
            None => {
                let span = selector.key.as_ref().map_or(selector.name.span, |k| k.span);
                self.error(
                    "selection-key",
                    span,
                    "the key of an action selector is a field list calculation",
                );
                None
            }
        }
    }

    /// The algorithm of a calculation, as v1model names it.
    pub fn algorithm(&mut self, calculation: usize) -> Option<Expression> {
        let calculation = &self.scope.tree.calculations[calculation];
        let Some(algorithm) = calculation.algorithms.first() else {
            let message = format!(
                "field list calculation `{}` has no `algorithm`",
                calculation.name.text
            );
            self.error("algorithm", calculation.span, message);
            return None;
        };
        if let Some(second) = calculation.algorithms.get(1) {
            let message = "of several algorithms only the first is used";
            self.diagnostics
                .push(Diagnostic::warning("algorithm", second.span, message));
        }
        let text = match &*algorithm.text {
            "csum16_udp" => "csum16",
            known @ ("crc32" | "crc32_custom" | "crc16" | "crc16_custom" | "random"
            | "identity" | "csum16" | "xor16") => known,
            other => {
                let message = format!("there is no algorithm `{other}`");
                self.diagnostics.push(Diagnostic::error("algorithm", algorithm.span, message).help(
                    "the switch has crc16, crc32, crc16_custom, crc32_custom, csum16, csum16_udp, xor16, identity and random",
                ));
                return None;
            }
        };
        let base = self.build.path("HashAlgorithm", algorithm.span);
        Some(self.build.member(base, text, algorithm.span))
    }

    /// The fields of all lists of a calculation.
    pub fn calculation_fields(&mut self, calculation: usize) -> Option<(Vec<Expr>, bool)> {
        let calculation = &self.scope.tree.calculations[calculation];
        if calculation.input.is_empty() {
            let message = format!(
                "field list calculation `{}` has no `input`",
                calculation.name.text
            );
            self.error("field-list", calculation.span, message);
            return None;
        }
        let (mut fields, mut payload) = (Vec::new(), false);
        for list in &calculation.input {
            let Some(n) = self.scope.field_lists.get(&list.text).copied() else {
                self.unknown("field list", list);
                return None;
            };
            let (more, with) = self.list_fields(n);
            fields.extend(more);
            payload |= with;
        }
        Some((fields, payload))
    }

    /// The table, and before it the actions of its own.
    pub fn table(&mut self, n: usize, locals: &mut Vec<Declaration>) -> ActionNames {
        let tree = self.scope.tree;
        let table = &tree.tables[n];
        let span = table.span;
        let actions = self.table_actions(table);
        let counter = tree.counters.iter().position(|c| bound(&c.direct, table));
        let meter = tree.meters.iter().position(|m| bound(&m.direct, table));
        let mut own = ActionNames::new();
        if let Some(meter) = meter {
            // The colour goes to where the meter says, with whatever action the entry has.
            for action in &actions {
                let output = self.given.unique(&tree.actions[*action].name.text);
                let declaration = self.action(*action, output.clone(), Some(meter));
                locals.push(declaration);
                own.insert(*action, output);
            }
        }
        let mut properties = Vec::new();
        let list = self.action_list(table, &actions, &own);
        properties.push(property(TablePropertyKind::Actions(list), span));
        if let Some(keys) = self.keys(table) {
            properties.push(property(TablePropertyKind::Key(keys), span));
        }
        self.sizes(table, &mut properties);
        self.default_action(table, &own, &mut properties);
        let mut refer = |this: &mut Self, text: &str, output: Arc<str>, at: Span| {
            let value = this.build.path(output, at);
            properties.push(other(text, value, false, at));
        };
        if let Some(profile) = table
            .profile
            .as_ref()
            .and_then(|p| self.scope.profiles.get(&p.text))
        {
            refer(
                self,
                "implementation",
                self.names.profiles[*profile].clone(),
                span,
            );
        }
        if let Some(counter) = counter {
            refer(
                self,
                "counters",
                self.names.counters[counter].clone(),
                tree.counters[counter].span,
            );
        }
        if let Some(meter) = meter {
            refer(
                self,
                "meters",
                self.names.meters[meter].clone(),
                tree.meters[meter].span,
            );
        }
        for (text, value) in &table.other {
            if &*text.text != "support_timeout" {
                let message = format!(
                    "the switch does not know the property `{}` of tables",
                    text.text
                );
                self.diagnostics
                    .push(Diagnostic::warning("unknown-property", text.span, message));
                continue;
            }
            let value = self.condition(value, Context::default());
            properties.push(other("support_timeout", value, false, text.span));
        }
        let mut annotations = vec![name_annotation(
            &format!(".{}", table.name.text),
            table.name.span,
        )];
        for pragma in &table.pragmas {
            if pragma.words.is_empty()
                || pragma
                    .words
                    .iter()
                    .all(|w| w.bytes().all(|b| b.is_ascii_alphanumeric()))
            {
                annotations.push(annotation(
                    &pragma.name.text,
                    pragma.words.clone(),
                    pragma.name.span,
                ));
            }
        }
        let output = self.names.tables[n].clone();
        let kind = DeclarationKind::Table(Box::new(ast::Table {
            name: name(output, table.name.span),
            properties,
        }));
        let declaration = self.build.declaration(span, annotations, kind);
        locals.push(declaration);
        own
    }

    fn action_list(
        &mut self,
        table: &Table,
        actions: &[usize],
        own: &ActionNames,
    ) -> Vec<ActionReference> {
        let tree = self.scope.tree;
        let named = |n: usize| {
            let text = &tree.actions[n].name.text;
            table
                .actions
                .iter()
                .find(|a| a.text == *text)
                .map_or(table.name.span, |a| a.span)
        };
        let mut list = Vec::new();
        for n in actions {
            list.push(self.action_reference(*n, own, named(*n), Vec::new()));
        }
        if let Some(default) = &table.default
            && let Some(n) = self.scope.actions.get(&default.action.text).copied()
            && !actions.contains(&n)
        {
            let only = annotation("defaultonly", Vec::new(), default.span);
            list.push(self.action_reference(n, own, default.action.span, vec![only]));
        }
        list
    }

    fn action_reference(
        &mut self,
        n: usize,
        own: &ActionNames,
        span: Span,
        annotations: Vec<Annotation>,
    ) -> ActionReference {
        let output = own.get(&n).unwrap_or(&self.names.actions[n]).clone();
        let action = self.build.path(output, span);
        ActionReference {
            id: self.build.id(),
            annotations,
            action,
            span,
        }
    }

    fn keys(&mut self, table: &Table) -> Option<Vec<KeyElement>> {
        let tree = self.scope.tree;
        let mut keys = Vec::new();
        for read in &table.reads {
            if let Some(key) = self.key(read) {
                keys.push(key);
            }
        }
        let profile = table
            .profile
            .as_ref()
            .and_then(|p| self.scope.profiles.get(&p.text))
            .copied();
        let selector = profile
            .and_then(|p| tree.profiles[p].selector.as_ref())
            .and_then(|s| self.scope.selectors.get(&s.text))
            .copied();
        if let Some(selector) = selector
            && let Some(calculation) = self.selector_key(&tree.selectors[selector])
            && let Some((fields, _)) = self.calculation_fields(calculation)
        {
            for field in &fields {
                let ty = match self.ty(field, Context::default()) {
                    Ty::Int => Ty::Bits(8, false),
                    ty => ty,
                };
                let expression = self.value(field, ty, Context::default());
                let text = self.reference_text(field);
                keys.push(self.key_element(expression, "selector", &text, field.span));
            }
        }
        (!keys.is_empty() || !table.reads.is_empty()).then_some(keys)
    }

    fn key_element(
        &mut self,
        expression: Expression,
        kind: &str,
        text: &str,
        span: Span,
    ) -> KeyElement {
        let annotations = match text.is_empty() {
            true => Vec::new(),
            false => vec![name_annotation(text, span)],
        };
        KeyElement {
            id: self.build.id(),
            annotations,
            expression,
            match_kind: name(kind, span),
            span,
        }
    }

    fn key(&mut self, read: &Read) -> Option<KeyElement> {
        let context = Context::default();
        let mut value = read.value.clone();
        let kind = match &*read.kind.text {
            "valid" => {
                // `h : valid` and `h.valid : valid` ask whether the header is there; so does `h.f : valid`.
                value = match value.kind {
                    ExprKind::Valid(_) => value,
                    ExprKind::Member(base, _) => valid(*base, read.value.span),
                    _ => valid(value, read.value.span),
                };
                "exact"
            }
            kind @ ("exact" | "ternary" | "lpm" | "range") => kind,
            other => {
                let message = format!("there is no kind of match `{other}`");
                self.diagnostics.push(
                    Diagnostic::error("match-kind", read.kind.span, message)
                        .help("P4_14 has exact, ternary, lpm, range and valid"),
                );
                return None;
            }
        };
        let text = self.reference_text(&value);
        let ty = self.ty(&value, context);
        let (expression, _) = self.natural(&value, ty, context);
        let expression = match (ty, &read.mask) {
            (Ty::Bits(width, signed), Some(with)) => {
                self.masked_key(expression, width, signed, with)?
            }
            (Ty::Bits(..) | Ty::Unknown, _) => expression,
            // Ternary and range matches are on numbers, not on conditions.
            (Ty::Bool, _) if kind != "exact" => {
                self.convert(expression, Ty::Bool, Ty::Bits(1, false))
            }
            (Ty::Bool, _) => expression,
            (other, _) => {
                let message = format!("a table reads fields, not {}", self.describe(other));
                self.diagnostics.push(
                    Diagnostic::error("type", read.span, message)
                        .help("a header can only be read as `valid`"),
                );
                return None;
            }
        };
        Some(self.key_element(expression, kind, &text, read.span))
    }

    fn masked_key(
        &mut self,
        value: Expression,
        width: u32,
        signed: bool,
        with: &Expr,
    ) -> Option<Expression> {
        let Some(number) = constant(with) else {
            self.error("mask", with.span, "a mask is a number");
            return None;
        };
        let bits = crate::value::Bits::from_int(width, &number);
        let number = BigInt::from(bits.unsigned().clone());
        Some(match one_run(&number) {
            Some((high, 0)) if high + 1 == u64::from(width) => value,
            Some((high, low)) => self.build.slice(value, high, low),
            None if bits.is_true() => {
                let with = self.build.sized(&number, width, signed, with.span);
                self.build.binary(BinaryOperator::BitAnd, value, with)
            }
            None => {
                let message = "with a mask of zeros nothing of the field is read";
                self.diagnostics
                    .push(Diagnostic::warning("mask", with.span, message));
                self.build.sized(&number, width, signed, with.span)
            }
        })
    }

    fn sizes(&mut self, table: &Table, properties: &mut Vec<TableProperty>) {
        let mut read = |this: &mut Self, text: &str, size: &Option<Expr>| -> Option<u32> {
            let size = size.as_ref()?;
            let Some(number) = constant(size).and_then(|s| s.to_u32()) else {
                this.error("size", size.span, "a size is a number");
                return None;
            };
            if number > 0 {
                let value = this.build.integer(number, size.span);
                properties.push(other(text, value, false, size.span));
            }
            Some(number).filter(|n| *n > 0)
        };
        let size = read(self, "size", &table.size);
        let least = read(self, "min_size", &table.min_size);
        let most = read(self, "max_size", &table.max_size);
        if size.is_none()
            && let Some(number) = most.or(least)
        {
            let value = self.build.integer(number, table.name.span);
            properties.push(other("size", value, false, table.name.span));
        }
    }

    fn default_action(
        &mut self,
        table: &Table,
        own: &ActionNames,
        properties: &mut Vec<TableProperty>,
    ) {
        let Some(default) = &table.default else {
            return;
        };
        let Some(n) = self.scope.actions.get(&default.action.text).copied() else {
            return self.unknown("action", &default.action);
        };
        let parameters = self.parameters[n].clone();
        let given = default.arguments.as_deref().unwrap_or_default();
        if !given.is_empty() && given.len() != parameters.len() {
            let message = format!(
                "action `{}` takes {} arguments, not {}",
                default.action.text,
                parameters.len(),
                given.len()
            );
            return self.error("operands", default.span, message);
        }
        let mut arguments = Vec::new();
        for (p, parameter) in parameters.iter().enumerate() {
            arguments.push(match given.get(p) {
                Some(argument) => {
                    if constant(argument).is_none() {
                        self.error(
                            "constant",
                            argument.span,
                            "the arguments of a default action are numbers",
                        );
                    }
                    self.value(argument, parameter.ty, Context::default())
                }
                // Without arguments the control plane is to give them; until then they are 0.
                None => match parameter.ty {
                    Ty::Bits(width, signed) => {
                        self.build.sized(&0.into(), width, signed, default.span)
                    }
                    _ => self.build.integer(0, default.span),
                },
            });
        }
        let output = own.get(&n).unwrap_or(&self.names.actions[n]).clone();
        let call = self.build.function(&output, arguments, default.span);
        properties.push(other(
            "default_action",
            call,
            default.is_const,
            default.span,
        ));
    }

    /// An action, under a name of its own when `meter` is to be read first.
    pub fn action(&mut self, n: usize, output: Arc<str>, meter: Option<usize>) -> Declaration {
        let tree = self.scope.tree;
        let action = &tree.actions[n];
        let called = self.called.contains(&n);
        let visible = self.visible(n);
        let context = Context {
            parameters: &visible,
            ..Context::default()
        };
        let mut parameters = Vec::new();
        for (parameter, declared) in self.parameters[n]
            .clone()
            .into_iter()
            .zip(&action.parameters)
        {
            let span = declared.span;
            let direction = match parameter.written && called {
                true => Direction::InOut,
                false => Direction::None,
            };
            let ty = self.type_of(parameter.ty, span);
            let renamed = *parameter.output != *declared.text;
            let mut declaration = self
                .build
                .parameter(direction, ty, name(parameter.output, span));
            if renamed {
                declaration
                    .annotations
                    .push(name_annotation(&declared.text, span));
            }
            parameters.push(declaration);
        }
        let mut statements = Vec::new();
        if let Some(meter) = meter
            && let Some(result) = &tree.meters[meter].result
        {
            let object = self
                .build
                .path(self.names.meters[meter].clone(), result.span);
            let ty = self.ty(result, context);
            let (target, _) = self.natural(result, ty, Context::default());
            let call = self.build.method(object, "read", vec![target], result.span);
            let call = self.build.call_statement(call);
            statements.push(call);
        }
        for primitive in &action.body {
            self.primitive(primitive, context, &mut statements);
        }
        let kind = DeclarationKind::Action {
            name: name(output, action.name.span),
            parameters,
            body: super::build::block(statements, action.span),
        };
        let annotations = vec![name_annotation(
            &format!(".{}", action.name.text),
            action.name.span,
        )];
        self.build.declaration(action.span, annotations, kind)
    }
}

/// Whether a counter or meter belongs to the entries of this table.
pub(super) fn bound(direct: &Option<Name>, table: &Table) -> bool {
    direct.as_ref().is_some_and(|d| d.text == table.name.text)
}

fn valid(header: Expr, span: Span) -> Expr {
    Expr {
        span,
        kind: ExprKind::Valid(Box::new(header)),
    }
}

fn property(kind: TablePropertyKind, span: Span) -> TableProperty {
    TableProperty {
        annotations: Vec::new(),
        span,
        is_const: false,
        kind,
    }
}

fn other(text: &str, value: Expression, is_const: bool, span: Span) -> TableProperty {
    TableProperty {
        is_const,
        ..property(
            TablePropertyKind::Other {
                name: name(text, span),
                value,
            },
            span,
        )
    }
}
