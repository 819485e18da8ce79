//! Tables (specification 14.2).

use super::checker::{Checker, Entity, TableFacts};
use super::{Bound, Call, EMPTY_GROUP_ACTIONS, Target};
use crate::ast::{
    ActionReference, Argument, Declaration, DeclarationKind, Direction, Entry, Expression,
    ExpressionKind, KeyElement, NodeId, Parameter, Table, TablePropertyKind,
};
use crate::diagnostic::Diagnostic;
use crate::types::{Constant, Type};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

impl<'a> Checker<'a> {
    pub(super) fn table(&mut self, declaration: &'a Declaration, table: &'a Table) {
        self.record(declaration.id, Type::Table(declaration.id));
        let mut facts = TableFacts::default();
        let mut keyed = false;
        let mut listed = false;
        let mut defaulted = false;
        for property in &table.properties {
            self.annotations(&property.annotations);
            match &property.kind {
                TablePropertyKind::Key(_) => keyed = true,
                TablePropertyKind::Actions(_) => listed = true,
                TablePropertyKind::Entries(entries)
                    if (!keyed || !listed) && !entries.is_empty() =>
                {
                    let missing = if keyed { "list of actions" } else { "key" };
                    self.error(
                        "property-order",
                        property.span,
                        format!("the entries of a table come after its {missing}"),
                    );
                }
                TablePropertyKind::Other { name, .. } if &*name.text == "default_action" => {
                    defaulted = true;
                    if !listed {
                        self.error(
                            "property-order",
                            property.span,
                            format!(
                                "the default action of `{}` comes after its list of actions",
                                table.name.text
                            ),
                        );
                    }
                }
                _ => {}
            }
        }
        if !defaulted {
            self.implied_default(table);
        }
        for property in &table.properties {
            match &property.kind {
                TablePropertyKind::Key(keys) => {
                    for key in keys {
                        let ty = self.key(key);
                        facts.keys.push(ty);
                    }
                }
                TablePropertyKind::Actions(actions) => {
                    for action in actions {
                        if let Some(id) = self.action_reference(action) {
                            if let Some((_, first)) =
                                facts.actions.iter().find(|(other, _)| *other == id)
                            {
                                let first = first.span;
                                self.report(
                                    Diagnostic::error(
                                        "duplicate-action",
                                        action.span,
                                        "this action is already in the list",
                                    )
                                    .note(first, "the first one"),
                                );
                            } else {
                                facts.actions.push((id, action));
                            }
                        }
                    }
                }
                _ => {}
            }
        }
        self.tables.insert(declaration.id, facts);
        for property in &table.properties {
            match &property.kind {
                TablePropertyKind::Key(_) | TablePropertyKind::Actions(_) => {}
                TablePropertyKind::Entries(entries) => {
                    for entry in entries {
                        self.entry(declaration.id, entry);
                    }
                }
                TablePropertyKind::Other { name, value } => {
                    self.property(declaration.id, &name.text, value);
                }
            }
            self.settle();
        }
    }

    /// A table without a default action has `NoAction` of the core library (14.2.1.3).
    fn implied_default(&mut self, table: &'a Table) {
        let found = self.find("NoAction", true);
        match found.first() {
            None => self.report(
                Diagnostic::error(
                    "no-action",
                    table.name.span,
                    format!("`{}` has no default action, and `NoAction`, which it would have, is not declared", table.name.text),
                )
                .help("`#include <core.p4>`"),
            ),
            Some(Entity::Declaration(Declaration {
                kind: DeclarationKind::Action { parameters, .. },
                ..
            })) if parameters.is_empty() => {}
            Some(other) => {
                let place = self.name_of(*other).map_or(table.name.span, |name| name.span);
                self.report(
                    Diagnostic::error("no-action", place, "`NoAction` must be an action without parameters")
                        .note(table.name.span, "this table has it as its default action"),
                );
            }
        }
    }

    fn key(&mut self, key: &'a KeyElement) -> Type {
        self.annotations(&key.annotations);
        // Whatever may stand in the control's `apply` may stand in a key, which is computed there.
        let context = core::mem::replace(&mut self.context, super::checker::Context::ControlApply);
        let ty = self.value(&key.expression);
        self.context = context;
        self.record(key.id, ty.clone());
        match self.match_kinds.get(&*key.match_kind.text) {
            Some(member) => {
                let id = member.id;
                self.refer(key.id, id);
            }
            None => {
                let mut diagnostic = Diagnostic::error(
                    "match-kind",
                    key.match_kind.span,
                    format!("there is no match kind `{}`", key.match_kind.text),
                );
                let names: Vec<&str> = self.match_kinds.keys().copied().collect();
                if let Some(close) = super::scopes::nearest(&key.match_kind.text, names.into_iter())
                {
                    diagnostic = diagnostic.help(format!("did you mean `{close}`?"));
                } else if self.match_kinds.is_empty() {
                    diagnostic = diagnostic.help("did you `#include <core.p4>`?");
                } else {
                    let names: Vec<_> = (self.match_kinds.keys())
                        .map(|name| format!("`{name}`"))
                        .collect();
                    diagnostic = diagnostic.help(format!("there are {}", names.join(", ")));
                }
                self.report(diagnostic);
            }
        }
        if !self.may_be_key(&ty) {
            let text = self.show(&ty);
            let mut diagnostic = Diagnostic::error(
                "key-type",
                key.expression.span,
                format!("`{text}` cannot be a key"),
            );
            if ty == Type::Integer {
                diagnostic = diagnostic.help("give the number a width: `8w1`");
            }
            self.report(diagnostic);
            return Type::Unknown;
        }
        ty
    }

    fn may_be_key(&self, ty: &Type) -> bool {
        match ty {
            Type::Unknown
            | Type::Bool
            | Type::Bits(_)
            | Type::Signed(_)
            | Type::Varbit(_)
            | Type::Error
            | Type::Enum(_) => true,
            Type::Parameter(_) => true,
            Type::New(id) => self.may_be_key(&self.type_of(*id)),
            _ => false,
        }
    }

    fn action_parts(e: &'a Expression) -> (&'a Expression, Option<&'a [Argument]>) {
        match &e.kind {
            ExpressionKind::Call {
                callee, arguments, ..
            } => (callee, Some(arguments)),
            _ => (e, None),
        }
    }

    fn parameters_of(declaration: &'a Declaration) -> &'a [Parameter] {
        match &declaration.kind {
            DeclarationKind::Action { parameters, .. } => parameters,
            _ => &[],
        }
    }

    /// An action in the list: what has a direction is given here, the rest by the control plane (14.2.1.2).
    fn action_reference(&mut self, reference: &'a ActionReference) -> Option<NodeId> {
        self.annotations(&reference.annotations);
        let (path, arguments) = Self::action_parts(&reference.action);
        let declaration = self.action_named(path)?;
        let parameters = Self::parameters_of(declaration);
        let arguments = arguments.unwrap_or_default();
        let mut bound = vec![Bound::Absent; parameters.len()];
        for (index, argument) in arguments.iter().enumerate() {
            let position = match &argument.name {
                None => (index < parameters.len()).then_some(index),
                Some(name) => parameters.iter().position(|p| p.name.text == name.text),
            };
            let Some(position) = position else {
                self.error(
                    "arguments",
                    argument.span,
                    "the action has no parameter for this argument",
                );
                self.value(&argument.value);
                continue;
            };
            if parameters[position].direction == Direction::None {
                self.report(
                    Diagnostic::error(
                        "arguments",
                        argument.span,
                        format!(
                            "`{}` has no direction: the control plane gives it, and it cannot be given here",
                            parameters[position].name.text
                        ),
                    )
                    .note(parameters[position].name.span, "the parameter"),
                );
                self.value(&argument.value);
                continue;
            }
            bound[position] = Bound::Argument(index);
        }
        for (parameter, bound) in parameters.iter().zip(&mut bound) {
            if *bound == Bound::Absent && parameter.direction != Direction::None {
                if parameter.default.is_some() {
                    *bound = Bound::Default;
                    continue;
                }
                self.report(
                    Diagnostic::error(
                        "arguments",
                        reference.span,
                        format!("the parameter `{}` of the action has a direction and must be given here", parameter.name.text),
                    )
                    .note(parameter.name.span, "the parameter"),
                );
            }
        }
        self.check_bound(declaration, parameters, &bound, arguments);
        let call = Call {
            target: Target::Action(declaration.id),
            type_arguments: Vec::new(),
            arguments: bound,
        };
        self.out.calls.insert(reference.id, call.clone());
        if matches!(reference.action.kind, ExpressionKind::Call { .. }) {
            self.out.calls.insert(reference.action.id, call);
            self.record(reference.action.id, Type::Void);
        }
        Some(declaration.id)
    }

    fn check_bound(
        &mut self,
        declaration: &'a Declaration,
        parameters: &'a [Parameter],
        bound: &[Bound],
        arguments: &'a [Argument],
    ) {
        let Some(name) = super::checker::name_of(declaration) else {
            return;
        };
        let candidate = super::calls::Candidate {
            target: Target::Action(declaration.id),
            id: declaration.id,
            what: "action",
            name,
            type_parameters: &[],
            parameters,
            result: Type::Void,
            outer: Vec::new(),
        };
        self.in_table_properties = true;
        self.check_arguments(name.span, &candidate, bound, arguments, &Vec::new());
        self.in_table_properties = false;
    }

    /// An action with all its arguments: of an entry or as default (14.2.1.3).
    fn full_action(&mut self, table: NodeId, e: &'a Expression) {
        let (path, arguments) = Self::action_parts(e);
        let Some(declaration) = self.action_named(path) else {
            return;
        };
        let parameters = Self::parameters_of(declaration);
        let given = arguments.unwrap_or_default();
        let listed = self
            .tables
            .get(&table)
            .and_then(|facts| facts.actions.iter().find(|(id, _)| *id == declaration.id))
            .map(|(_, reference)| *reference);
        let Some(reference) = listed else {
            self.error(
                "action-list",
                path.span,
                "this action is not in the table's list of actions",
            );
            return;
        };
        // What the list binds can be left out or repeated.
        let (_, list_arguments) = Self::action_parts(&reference.action);
        let list_arguments = list_arguments.unwrap_or_default();
        let plain: Vec<usize> = (0..parameters.len())
            .filter(|index| parameters[*index].direction == Direction::None)
            .collect();
        let only_plain = given.iter().all(|a| a.name.is_none())
            && given.len() < parameters.len()
            && given.len() <= plain.len();
        let mut bound = vec![Bound::Absent; parameters.len()];
        for (index, argument) in given.iter().enumerate() {
            let position = match &argument.name {
                Some(name) => parameters.iter().position(|p| p.name.text == name.text),
                None if only_plain => plain.get(index).copied(),
                None => (index < parameters.len()).then_some(index),
            };
            match position {
                Some(position) => bound[position] = Bound::Argument(index),
                None => {
                    self.value(&argument.value);
                    self.error(
                        "arguments",
                        argument.span,
                        "the action has no parameter for this argument",
                    );
                }
            }
        }
        for (parameter, bound) in parameters.iter().zip(&mut bound) {
            match bound {
                Bound::Absent if parameter.direction == Direction::None => {
                    if parameter.default.is_some() {
                        *bound = Bound::Default;
                    } else {
                        self.report(
                            Diagnostic::error(
                                "arguments",
                                e.span,
                                format!(
                                    "the parameter `{}` of the action gets no argument",
                                    parameter.name.text
                                ),
                            )
                            .note(parameter.name.span, "the parameter"),
                        );
                    }
                }
                _ => {}
            }
        }
        self.check_bound(declaration, parameters, &bound, given);
        for (position, parameter) in parameters.iter().enumerate() {
            let Bound::Argument(index) = bound[position] else {
                continue;
            };
            let argument = &given[index].value;
            if parameter.direction == Direction::None {
                if !self.is_compile_time(argument) {
                    self.error(
                        "not-constant",
                        argument.span,
                        "the argument of an action must be known while compiling here",
                    );
                }
            } else {
                let same = list_arguments
                    .iter()
                    .enumerate()
                    .find(|(at, a)| match &a.name {
                        Some(name) => name.text == parameter.name.text,
                        None => *at == position,
                    })
                    .is_some_and(|(_, a)| self.same_expression(&a.value, argument));
                if !same {
                    self.report(
                        Diagnostic::error(
                            "arguments",
                            argument.span,
                            format!(
                                "the argument for `{}` must be the one in the list of actions",
                                parameter.name.text
                            ),
                        )
                        .note(reference.span, "the list"),
                    );
                }
            }
        }
        let call = Call {
            target: Target::Action(declaration.id),
            type_arguments: Vec::new(),
            arguments: bound,
        };
        self.out.calls.insert(e.id, call);
        if matches!(e.kind, ExpressionKind::Call { .. }) {
            self.record(e.id, Type::Void);
        }
    }

    /// Whether two expressions say the same.
    fn same_expression(&self, a: &Expression, b: &Expression) -> bool {
        if let (Some(x), Some(y)) = (self.cast_value(a), self.cast_value(b)) {
            return x == y;
        }
        match (&a.kind, &b.kind) {
            (ExpressionKind::Path { .. }, ExpressionKind::Path { .. }) => {
                self.out.references.get(&a.id) == self.out.references.get(&b.id)
            }
            (
                ExpressionKind::Member { base: x, member: n },
                ExpressionKind::Member { base: y, member: m },
            ) => n.text == m.text && self.same_expression(x, y),
            (
                ExpressionKind::Index { base: x, index: i },
                ExpressionKind::Index { base: y, index: j },
            ) => self.same_expression(x, y) && self.same_expression(i, j),
            (
                ExpressionKind::Slice {
                    base: x,
                    high: h,
                    low: l,
                },
                ExpressionKind::Slice {
                    base: y,
                    high: i,
                    low: m,
                },
            ) => {
                self.same_expression(x, y)
                    && self.same_expression(h, i)
                    && self.same_expression(l, m)
            }
            (
                ExpressionKind::Binary {
                    operator: o,
                    left: l,
                    right: r,
                },
                ExpressionKind::Binary {
                    operator: p,
                    left: m,
                    right: s,
                },
            ) => o == p && self.same_expression(l, m) && self.same_expression(r, s),
            (
                ExpressionKind::Unary {
                    operator: o,
                    operand: x,
                },
                ExpressionKind::Unary {
                    operator: p,
                    operand: y,
                },
            ) => o == p && self.same_expression(x, y),
            (ExpressionKind::Cast { operand: x, .. }, ExpressionKind::Cast { operand: y, .. }) => {
                self.type_of(a.id) == self.type_of(b.id) && self.same_expression(x, y)
            }
            (
                ExpressionKind::Call {
                    callee: f,
                    arguments: p,
                    ..
                },
                ExpressionKind::Call {
                    callee: g,
                    arguments: q,
                    ..
                },
            ) => {
                self.same_expression(f, g)
                    && p.len() == q.len()
                    && p.iter()
                        .zip(q)
                        .all(|(x, y)| self.same_expression(&x.value, &y.value))
            }
            (
                ExpressionKind::List { elements: p, .. },
                ExpressionKind::List { elements: q, .. },
            ) => p.len() == q.len() && p.iter().zip(q).all(|(x, y)| self.same_expression(x, y)),
            (
                ExpressionKind::Struct { fields: p, .. },
                ExpressionKind::Struct { fields: q, .. },
            ) => {
                p.len() == q.len()
                    && p.iter().all(|(name, x)| {
                        q.iter()
                            .any(|(other, y)| name.text == other.text && self.same_expression(x, y))
                    })
            }
            _ => false,
        }
    }

    fn entry(&mut self, table: NodeId, entry: &'a Entry) {
        let keys = self
            .tables
            .get(&table)
            .map(|facts| facts.keys.clone())
            .unwrap_or_default();
        if keys.is_empty() {
            self.error(
                "entries",
                entry.span,
                "a table without a key has no entries",
            );
        } else {
            self.keyset(&entry.keyset, &keys, "key");
        }
        self.annotations(&entry.annotations);
        if let Some(priority) = &entry.priority {
            let ty = self.value(priority);
            let good = matches!(
                self.numeric(&ty),
                Type::Integer | Type::Bits(_) | Type::Signed(_) | Type::Unknown
            );
            if !good || (ty != Type::Unknown && self.constant(priority).is_none()) {
                self.error(
                    "priority",
                    priority.span,
                    "a priority must be a number known while compiling",
                );
            }
        }
        self.full_action(table, &entry.action);
    }

    fn property(&mut self, table: NodeId, name: &str, value: &'a Expression) {
        match name {
            "default_action" => self.full_action(table, value),
            _ if EMPTY_GROUP_ACTIONS.contains(&name) => self.full_action(table, value),
            "size" => {
                let ty = self.value(value);
                match (self.numeric(&ty), self.constant(value)) {
                    (Type::Unknown, _) => {}
                    (
                        Type::Integer | Type::Bits(_) | Type::Signed(_),
                        Some(Constant::Integer(_)),
                    ) => {}
                    (Type::Integer | Type::Bits(_) | Type::Signed(_), _)
                        if self.is_compile_time(value) => {}
                    _ => self.error(
                        "table-size",
                        value.span,
                        "the size of a table must be a number known while compiling",
                    ),
                }
            }
            _ => {
                self.expression(value);
            }
        }
    }
}
