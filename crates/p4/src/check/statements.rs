//! Statements (specification 12).

use super::Target;
use super::checker::{Checker, Context, Entity};
use super::operators::symbol;
use crate::ast::{
    BinaryOperator, Declaration, DeclarationKind, Expression, ExpressionKind, ForVariable,
    Statement, StatementKind, SwitchCase,
};
use crate::diagnostic::Diagnostic;
use crate::types::{Constant, Type};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

impl<'a> Checker<'a> {
    pub(super) fn statements(&mut self, statements: &'a [Statement]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    pub(super) fn statement(&mut self, statement: &'a Statement) {
        self.deeper(statement.span, (), |checker| {
            checker.statement_kind(statement)
        });
    }

    fn statement_kind(&mut self, statement: &'a Statement) {
        match &statement.kind {
            StatementKind::Empty => {}
            StatementKind::Block(block) => {
                self.scoped(|checker| checker.statements(&block.statements))
            }
            StatementKind::Declaration(declaration) => self.local(declaration),
            StatementKind::Assign {
                target,
                operator,
                value,
            } => self.assignment(statement, target, *operator, value),
            StatementKind::Call(call) => {
                let ty = self.expression(call);
                if let Type::Name(_) | Type::Object(..) = self.shallow(&ty)
                    && let Some(called) = self.out.calls.get(&call.id)
                    && matches!(called.target, Target::Constructor(_))
                {
                    self.error(
                        "call",
                        call.span,
                        "an object made here cannot be used: declare an instance",
                    );
                }
            }
            StatementKind::If {
                branches,
                otherwise,
            } => {
                for branch in branches {
                    self.condition(&branch.condition);
                    self.scoped(|checker| checker.statement(&branch.body));
                }
                if let Some(otherwise) = otherwise {
                    self.scoped(|checker| checker.statement(otherwise));
                }
            }
            StatementKind::Switch { value, cases } => self.switch(statement, value, cases),
            StatementKind::Return(value) => self.return_statement(statement, value.as_ref()),
            StatementKind::Exit => self.exit(statement),
            StatementKind::For {
                initial,
                condition,
                update,
                body,
                ..
            } => self.scoped(|checker| {
                checker.statements(initial);
                checker.condition(condition);
                checker.statements(update);
                checker.loops += 1;
                checker.scoped(|checker| checker.statement(body));
                checker.loops -= 1;
            }),
            StatementKind::ForIn {
                variable,
                collection,
                body,
                ..
            } => self.for_in(variable, collection, body),
            StatementKind::Break | StatementKind::Continue => {
                if self.loops == 0 {
                    let word = if matches!(statement.kind, StatementKind::Break) {
                        "break"
                    } else {
                        "continue"
                    };
                    self.error(
                        "loop",
                        statement.span,
                        format!("`{word}` stands only in a loop"),
                    );
                }
            }
        }
        self.settle();
    }

    /// `exit` ends the controls and actions that are running (12.5). A parser's state cannot have
    /// it by its syntax.
    fn exit(&mut self, statement: &'a Statement) {
        let place = match self.context {
            Context::Function => "a function",
            Context::AbstractMethod => "a method",
            _ => return,
        };
        self.report(
            Diagnostic::error(
                "exit",
                statement.span,
                format!("`exit` cannot stand in {place}: only in actions and in the `apply` of a control"),
            )
            .help("return a value, and let the caller `exit`"),
        );
    }

    fn local(&mut self, declaration: &'a Declaration) {
        self.declaration_here(declaration);
    }

    fn assignment(
        &mut self,
        statement: &'a Statement,
        target: &'a Expression,
        operator: Option<BinaryOperator>,
        value: &'a Expression,
    ) {
        let want = self.value(target);
        let have = self.value(value);
        if want == Type::Unknown {
            return;
        }
        if !self.must_be_writable(target) {
            return;
        }
        match operator {
            None => {
                if matches!(
                    want,
                    Type::Object(..) | Type::String | Type::Integer | Type::Set(_)
                ) {
                    let text = self.show(&want);
                    self.error(
                        "assignment",
                        statement.span,
                        format!("`{text}` cannot be assigned"),
                    );
                    return;
                }
                self.coerce(value, &have, &want);
            }
            Some(operator) => {
                if have == Type::Unknown {
                    return;
                }
                let constant = self.out.constants.remove(&target.id);
                let before = self.diagnostics.errors();
                let result = self.binary_types(target, operator, target, &want, value, &have);
                self.out.constants.remove(&target.id);
                self.out.casts.remove(&target.id);
                if let Some(constant) = constant {
                    self.out.constants.insert(target.id, constant);
                }
                if self.diagnostics.errors() == before && !self.unify(&result, &want) {
                    let (a, b) = (self.show(&want), self.show(&result));
                    self.error(
                        "type-mismatch",
                        statement.span,
                        format!(
                            "`{}=` gives `{b}`, which does not go into `{a}`",
                            symbol(operator)
                        ),
                    );
                }
            }
        }
    }

    fn return_statement(&mut self, statement: &'a Statement, value: Option<&'a Expression>) {
        let returns = self.returns.clone();
        match (value, returns) {
            (None, Some(Type::Void | Type::Unknown)) => {}
            (None, None) => self.error(
                "return",
                statement.span,
                "nothing can be returned from here",
            ),
            (None, Some(ty)) => {
                let text = self.show(&ty);
                self.error(
                    "return",
                    statement.span,
                    format!("a value of `{text}` must be returned here"),
                );
            }
            (Some(value), Some(Type::Void) | None) => {
                self.expression(value);
                self.error(
                    "return",
                    statement.span,
                    "no value can be returned from here",
                );
            }
            (Some(value), Some(ty)) => {
                self.value_of(value, &ty);
            }
        }
    }

    fn for_in(
        &mut self,
        variable: &'a ForVariable,
        collection: &'a Expression,
        body: &'a Statement,
    ) {
        self.scoped(|checker| {
            let found = checker.value(collection);
            let ty = match variable {
                ForVariable::Declared(declaration) => {
                    checker.local(declaration);
                    checker.type_of(declaration.id)
                }
                ForVariable::Existing(e) => {
                    let ty = checker.value(e);
                    if ty != Type::Unknown {
                        checker.must_be_writable(e);
                    }
                    ty
                }
            };
            match checker.shallow(&found) {
                Type::Set(part) => {
                    let part = checker.known(&part);
                    if part == Type::Integer
                        && let ExpressionKind::Range { low, high } = &collection.kind
                    {
                        checker.coerce(low, &part, &ty);
                        checker.coerce(high, &part, &ty);
                        checker.record(collection.id, Self::set(ty.clone()));
                    } else if !checker.unify(&part, &ty) {
                        checker.mismatch(collection, &part, &ty);
                    }
                }
                Type::Stack(part, _) | Type::List(part) => {
                    if !checker.unify(&part, &ty) {
                        checker.mismatch(collection, &part, &ty);
                    }
                }
                Type::Tuple(_) => {
                    if let ExpressionKind::List { elements, .. } = &collection.kind {
                        for element in elements {
                            let have = checker.type_of(element.id);
                            checker.coerce(element, &have, &ty);
                        }
                        checker.cast(collection, &Type::List(alloc::boxed::Box::new(ty.clone())));
                    } else {
                        checker.mismatch(collection, &found, &ty);
                    }
                }
                Type::Unknown => {}
                other => {
                    let text = checker.show(&other);
                    checker.error(
                        "loop",
                        collection.span,
                        format!("a loop goes over a range `a .. b`, a stack or a list, not over `{text}`"),
                    );
                }
            }
            checker.loops += 1;
            checker.scoped(|checker| checker.statement(body));
            checker.loops -= 1;
        });
    }

    fn switch(&mut self, statement: &'a Statement, value: &'a Expression, cases: &'a [SwitchCase]) {
        let ty = self.value(value);
        match &ty {
            Type::ActionRun(table) => self.switch_on_action(*table, cases),
            Type::Unknown => {
                for case in cases {
                    if !matches!(
                        case.label.kind,
                        ExpressionKind::Default | ExpressionKind::Path { .. }
                    ) {
                        self.expression(&case.label);
                    }
                }
            }
            _ => self.switch_on_value(value, &ty, cases),
        }
        let mut default: Option<&SwitchCase> = None;
        for case in cases {
            if let Some(first) = default {
                let again = matches!(case.label.kind, ExpressionKind::Default);
                self.report(
                    Diagnostic::error(
                        "switch",
                        case.label.span,
                        if again {
                            "there are two `default` labels"
                        } else {
                            "nothing can follow the `default` label"
                        },
                    )
                    .note(first.label.span, "`default` stands here"),
                );
                break;
            }
            if matches!(case.label.kind, ExpressionKind::Default) {
                default = Some(case);
            }
        }
        let _ = statement;
        for case in cases {
            if let Some(body) = &case.body {
                self.scoped(|checker| checker.statements(&body.statements));
            }
        }
    }

    fn switch_on_action(&mut self, table: crate::ast::NodeId, cases: &'a [SwitchCase]) {
        let actions: BTreeMap<&str, crate::ast::NodeId> = self
            .tables
            .get(&table)
            .map(|facts| {
                facts
                    .actions
                    .iter()
                    .filter_map(|(id, _)| {
                        let entity = self.entity(*id)?;
                        Some((&*self.name_of(entity)?.text, *id))
                    })
                    .collect()
            })
            .unwrap_or_default();
        let mut seen: BTreeMap<crate::ast::NodeId, &Expression> = BTreeMap::new();
        for case in cases {
            match &case.label.kind {
                ExpressionKind::Default | ExpressionKind::Broken => {}
                ExpressionKind::Path { name, absolute } => {
                    let found = self
                        .find(&name.text, *absolute)
                        .first()
                        .map(|entity| entity.id());
                    let action = found
                        .filter(|id| actions.values().any(|action| action == id))
                        .or_else(|| {
                            actions
                                .get(&*name.text)
                                .copied()
                                .filter(|_| found.is_none())
                        });
                    match action {
                        Some(id) => {
                            self.refer(case.label.id, id);
                            self.record(case.label.id, Type::Callable(id));
                            if let Some(first) = seen.insert(id, &case.label) {
                                self.report(
                                    Diagnostic::error(
                                        "switch",
                                        case.label.span,
                                        format!("the label `{}` stands here twice", name.text),
                                    )
                                    .note(first.span, "the first one"),
                                );
                            }
                        }
                        None => {
                            let mut diagnostic = Diagnostic::error(
                                "switch",
                                case.label.span,
                                format!("`{}` is not an action of the table", name.text),
                            );
                            if let Some(close) =
                                super::scopes::nearest(&name.text, actions.keys().copied())
                            {
                                diagnostic = diagnostic.help(format!("did you mean `{close}`?"));
                            }
                            self.report(diagnostic);
                        }
                    }
                }
                _ => self.error(
                    "switch",
                    case.label.span,
                    "a label here is an action of the table, or `default`",
                ),
            }
        }
    }

    fn switch_on_value(&mut self, value: &'a Expression, ty: &Type, cases: &'a [SwitchCase]) {
        let fits = match ty {
            Type::Bits(_)
            | Type::Signed(_)
            | Type::Enum(_)
            | Type::Error
            | Type::Bool
            | Type::Integer => true,
            Type::New(id) => matches!(
                self.type_of(*id),
                Type::Bits(_) | Type::Signed(_) | Type::Bool | Type::New(_)
            ),
            _ => false,
        };
        if !fits {
            let text = self.show(ty);
            self.error(
                "switch",
                value.span,
                format!("one can switch on numbers, enums, errors, `bool` and `action_run`, not on `{text}`"),
            );
        }
        let mut seen: Vec<(Constant, &Expression)> = Vec::new();
        for case in cases {
            if matches!(case.label.kind, ExpressionKind::Default) {
                continue;
            }
            let have = self.value(&case.label);
            if !fits || !self.coerce(&case.label, &have, ty) {
                continue;
            }
            match self.cast_value(&case.label) {
                Some(constant) => {
                    if let Some((_, first)) = seen.iter().find(|(other, _)| *other == constant) {
                        let first = first.span;
                        self.report(
                            Diagnostic::error(
                                "switch",
                                case.label.span,
                                "this label has the value of another one",
                            )
                            .note(first, "the first one"),
                        );
                    }
                    seen.push((constant, &case.label));
                }
                None if have != Type::Unknown => {
                    self.error(
                        "not-constant",
                        case.label.span,
                        "a label must be known while compiling",
                    );
                }
                None => {}
            }
        }
    }

    /// Whether an expression names an action; which.
    pub(super) fn action_named(&mut self, e: &'a Expression) -> Option<&'a Declaration> {
        let ExpressionKind::Path { name, absolute } = &e.kind else {
            self.expression(e);
            self.error("not-an-action", e.span, "this must be an action");
            return None;
        };
        let found = self.find(&name.text, *absolute);
        match found.first() {
            None => {
                self.not_found(name, "the action");
                None
            }
            Some(Entity::Declaration(declaration))
                if matches!(declaration.kind, DeclarationKind::Action { .. }) =>
            {
                self.refer(e.id, declaration.id);
                self.record(e.id, Type::Callable(declaration.id));
                Some(declaration)
            }
            Some(other) => {
                let mut diagnostic = Diagnostic::error(
                    "not-an-action",
                    e.span,
                    format!("`{}` is not an action", name.text),
                );
                if let Some(declared) = self.name_of(*other) {
                    diagnostic = diagnostic.note(declared.span, "declared here");
                }
                self.report(diagnostic);
                None
            }
        }
    }
}
