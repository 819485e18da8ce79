//! Control functions, each a control of its own with the tables that it applies.

use super::build::{block, name, name_annotation};
use super::scope::Context;
use super::tables::ActionNames;
use super::translate::Translator;
use super::tree::{ApplyCase, Statement};
use crate::ast::{self, Declaration, Expression, ExpressionKind, Name, StatementKind, SwitchCase};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// What one control needs while it is made.
#[derive(Default)]
struct Local {
    /// By table: what its actions are called.
    own: BTreeMap<usize, ActionNames>,
    /// By control: the instance that is called.
    instances: BTreeMap<usize, Arc<str>>,
}

impl Translator<'_, '_> {
    pub fn controls(&mut self) {
        let tree = self.scope.tree;
        self.called = self.called_actions();
        self.extern_types();
        let mut order = Vec::new();
        // Where no parser gets that far, what is wrong in ingress is told all the same.
        let ingress = self
            .ingress
            .or_else(|| self.scope.controls.get("ingress").copied());
        let mut roots: Vec<usize> = ingress.into_iter().collect();
        roots.extend(self.scope.controls.get("egress").copied());
        // 1 is under way, 2 is done.
        let mut marks = vec![0_u8; tree.controls.len()];
        for root in roots {
            self.order(root, &mut marks, &mut order);
        }
        let mut owner: BTreeMap<usize, usize> = BTreeMap::new();
        for control in order {
            self.control(control, &mut owner);
        }
        if !self.scope.controls.contains_key("egress") {
            let parameters = self.control_parameters(true);
            self.push_control(
                "egress",
                parameters,
                Vec::new(),
                Vec::new(),
                Span::default(),
            );
        }
    }

    /// Callees first: P4_16 wants things declared before they are used.
    fn order(&mut self, root: usize, marks: &mut [u8], order: &mut Vec<usize>) {
        let tree = self.scope.tree;
        let mut stack = vec![(root, 0_usize)];
        let callees: Vec<Vec<&Name>> = tree.controls.iter().map(|c| calls(&c.body)).collect();
        if marks[root] == 2 {
            return;
        }
        marks[root] = 1;
        while let Some((control, next)) = stack.pop() {
            let Some(callee) = callees[control].get(next) else {
                marks[control] = 2;
                order.push(control);
                continue;
            };
            stack.push((control, next + 1));
            let Some(n) = self.scope.controls.get(&callee.text).copied() else {
                self.unknown("control function", callee);
                continue;
            };
            match marks[n] {
                0 => {
                    marks[n] = 1;
                    stack.push((n, 0));
                }
                1 => {
                    let message = format!(
                        "control function `{}` calls itself, perhaps through others",
                        callee.text
                    );
                    self.error("recursion", callee.span, message);
                }
                _ => {}
            }
        }
    }

    /// The actions that other actions carry out.
    fn called_actions(&self) -> BTreeSet<usize> {
        let tree = self.scope.tree;
        tree.actions
            .iter()
            .flat_map(|a| &a.body)
            .filter(|p| p.object.is_none() && super::infer::signature(&p.name.text).is_none())
            .filter_map(|p| self.scope.actions.get(&p.name.text).copied())
            .collect()
    }

    /// The actions of a table and those that they carry out, callees first.
    fn with_callees(
        &mut self,
        actions: &[usize],
        done: &mut BTreeSet<usize>,
        list: &mut Vec<usize>,
    ) {
        let tree = self.scope.tree;
        let callees = |n: usize, this: &Self| -> Vec<(usize, Span)> {
            tree.actions[n]
                .body
                .iter()
                .filter(|p| p.object.is_none() && super::infer::signature(&p.name.text).is_none())
                .filter_map(|p| Some((*this.scope.actions.get(&p.name.text)?, p.span)))
                .collect()
        };
        for action in actions {
            if !done.insert(*action) {
                continue;
            }
            let mut open = BTreeSet::from([*action]);
            let mut stack = vec![(*action, 0_usize)];
            while let Some((n, next)) = stack.pop() {
                let Some((callee, span)) = callees(n, self).get(next).copied() else {
                    open.remove(&n);
                    list.push(n);
                    continue;
                };
                stack.push((n, next + 1));
                if open.contains(&callee) {
                    let message = format!(
                        "action `{}` carries out itself",
                        tree.actions[callee].name.text
                    );
                    self.error("recursion", span, message);
                } else if done.insert(callee) {
                    open.insert(callee);
                    stack.push((callee, 0));
                }
            }
        }
    }

    fn control(&mut self, n: usize, owner: &mut BTreeMap<usize, usize>) {
        let tree = self.scope.tree;
        let control = &tree.controls[n];
        let mut tables = Vec::new();
        self.applied(&control.body, &mut tables);
        let mut kept = Vec::new();
        for (table, at) in tables {
            let first = *owner.entry(table).or_insert(n);
            if first != n {
                let message = format!(
                    "table `{}` is applied in two control functions, `{}` and `{}`",
                    tree.tables[table].name.text, tree.controls[first].name.text, control.name.text
                );
                self.diagnostics.push(
                    Diagnostic::error("table-twice", at, message)
                        .help("declare a second table, or call one control from both"),
                );
            } else if !kept.contains(&table) {
                kept.push(table);
            }
        }
        // A fixed order, whatever that of the text.
        kept.sort_by_key(|t| &tree.tables[*t].name.text);
        let mut locals = Vec::new();
        self.direct(&kept, &mut locals);
        self.extern_instances(&kept, &mut locals);
        self.actions(&kept, &mut locals);
        let mut local = Local::default();
        for table in kept {
            let own = self.table(table, &mut locals);
            local.own.insert(table, own);
        }
        for callee in calls(&control.body) {
            let Some(callee_n) = self.scope.controls.get(&callee.text).copied() else {
                continue;
            };
            if local.instances.contains_key(&callee_n) {
                continue;
            }
            let instance = self.given.unique(&callee.text);
            let ty = self
                .build
                .named(self.names.controls[callee_n].clone(), callee.span);
            let annotations = vec![name_annotation(&format!(".{}", callee.text), callee.span)];
            let declaration =
                self.build
                    .instance(ty, instance.clone(), Vec::new(), annotations, callee.span);
            locals.push(declaration);
            local.instances.insert(callee_n, instance);
        }
        let mut statements = match self.ingress == Some(n) {
            true => self.handlers(),
            false => Vec::new(),
        };
        self.statements(&control.body, &local, &mut statements);
        let parameters = self.control_parameters(true);
        let output = self.names.controls[n].clone();
        self.push_control(&output, parameters, locals, statements, control.span);
    }

    /// Counters and meters of the entries of these tables.
    fn direct(&mut self, tables: &[usize], locals: &mut Vec<Declaration>) {
        let tree = self.scope.tree;
        for (n, counter) in tree.counters.iter().enumerate() {
            let Some(table) = &counter.direct else {
                continue;
            };
            match self.scope.tables.get(&table.text) {
                None => self.unknown("table", table),
                Some(t) if tables.contains(t) => {
                    let span = counter.span;
                    let unit = self.unit(counter, false);
                    let ty = self.build.named("direct_counter", span);
                    let annotations = vec![name_annotation(
                        &format!(".{}", counter.name.text),
                        counter.name.span,
                    )];
                    let output = self.names.counters[n].clone();
                    let declaration =
                        self.build
                            .instance(ty, output, vec![unit], annotations, span);
                    locals.push(declaration);
                }
                Some(_) => {}
            }
        }
        for (n, meter) in tree.meters.iter().enumerate() {
            let Some(table) = &meter.direct else {
                continue;
            };
            match self.scope.tables.get(&table.text) {
                None => self.unknown("table", table),
                Some(t) if tables.contains(t) => {
                    let span = meter.span;
                    let Some(result) = &meter.result else {
                        let message = format!(
                            "direct meter `{}` does not say where the colour goes",
                            meter.name.text
                        );
                        self.diagnostics.push(
                            Diagnostic::error("meter", span, message)
                                .help("give it a `result`, a field"),
                        );
                        continue;
                    };
                    let ty = self.ty(result, Context::default());
                    let result = self.type_of(ty, result.span);
                    let unit = self.unit(meter, true);
                    let ty = self.build.specialized("direct_meter", vec![result], span);
                    let annotations = vec![name_annotation(
                        &format!(".{}", meter.name.text),
                        meter.name.span,
                    )];
                    let output = self.names.meters[n].clone();
                    let declaration =
                        self.build
                            .instance(ty, output, vec![unit], annotations, span);
                    locals.push(declaration);
                }
                Some(_) => {}
            }
        }
    }

    fn actions(&mut self, tables: &[usize], locals: &mut Vec<Declaration>) {
        let tree = self.scope.tree;
        let (mut done, mut list) = (BTreeSet::new(), Vec::new());
        let mut all = Vec::new();
        for table in tables {
            let table = &tree.tables[*table];
            let mut used = self.table_actions(table);
            let metered = tree
                .meters
                .iter()
                .any(|m| super::tables::bound(&m.direct, table));
            if metered {
                // Such a table has actions of its own; only what they carry out is shared.
                let callees = used
                    .iter()
                    .flat_map(|n| &tree.actions[*n].body)
                    .filter_map(|p| self.scope.actions.get(&p.name.text).copied())
                    .collect();
                let keep = table
                    .default
                    .as_ref()
                    .and_then(|d| self.scope.actions.get(&d.action.text))
                    .copied();
                let own = core::mem::replace(&mut used, callees);
                used.extend(keep.filter(|k| !own.contains(k)));
            } else if let Some(default) = &table.default {
                used.extend(self.scope.actions.get(&default.action.text).copied());
            }
            all.extend(used);
        }
        self.with_callees(&all, &mut done, &mut list);
        for n in list {
            let output = self.names.actions[n].clone();
            let declaration = self.action(n, output, None);
            locals.push(declaration);
        }
    }

    /// The tables that statements apply, and where.
    fn applied(&mut self, statements: &[Statement], tables: &mut Vec<(usize, Span)>) {
        for statement in statements {
            match statement {
                Statement::Apply { table, cases, .. } => {
                    match self.scope.tables.get(&table.text) {
                        Some(n) => tables.push((*n, table.span)),
                        None => self.unknown("table", table),
                    }
                    for case in cases {
                        self.applied(&case.body, tables);
                    }
                }
                Statement::If {
                    branches,
                    otherwise,
                    ..
                } => {
                    for (_, body) in branches {
                        self.applied(body, tables);
                    }
                    self.applied(otherwise.as_deref().unwrap_or_default(), tables);
                }
                Statement::Call { .. } => {}
            }
        }
    }

    fn statements(
        &mut self,
        statements: &[Statement],
        local: &Local,
        out: &mut Vec<ast::Statement>,
    ) {
        for statement in statements {
            match statement {
                Statement::Apply { table, cases, span } => {
                    self.apply(table, cases, *span, local, out)
                }
                Statement::If {
                    branches,
                    otherwise,
                    span,
                } => {
                    let branches = branches
                        .iter()
                        .map(|(condition, body)| ast::Branch {
                            condition: self.condition(condition, Context::default()),
                            body: self.block(body, local, *span),
                            span: *span,
                        })
                        .collect();
                    let otherwise = otherwise
                        .as_ref()
                        .map(|body| Box::new(self.block(body, local, *span)));
                    let kind = StatementKind::If {
                        branches,
                        otherwise,
                    };
                    let statement = self.build.statement(*span, kind);
                    out.push(statement);
                }
                Statement::Call { control, span } => {
                    let instance = self
                        .scope
                        .controls
                        .get(&control.text)
                        .and_then(|n| local.instances.get(n));
                    let Some(instance) = instance.cloned() else {
                        continue;
                    };
                    let object = self.build.path(instance, control.span);
                    let mut arguments = Vec::new();
                    for parameter in ["hdr", "meta", "standard_metadata"] {
                        arguments.push(self.build.path(parameter, *span));
                    }
                    let call = self.build.method(object, "apply", arguments, *span);
                    let call = self.build.call_statement(call);
                    out.push(call);
                }
            }
        }
    }

    fn block(&mut self, statements: &[Statement], local: &Local, span: Span) -> ast::Statement {
        let mut list = Vec::new();
        self.statements(statements, local, &mut list);
        self.build.block_statement(list, span)
    }

    fn apply(
        &mut self,
        table: &Name,
        cases: &[ApplyCase],
        span: Span,
        local: &Local,
        out: &mut Vec<ast::Statement>,
    ) {
        let Some(n) = self.scope.tables.get(&table.text).copied() else {
            return;
        };
        let object = self.build.path(self.names.tables[n].clone(), table.span);
        let call = self.build.method(object, "apply", Vec::new(), table.span);
        if cases.is_empty() {
            let call = self.build.call_statement(call);
            out.push(call);
            return;
        }
        let is_hit_or_miss = |name: &Name| matches!(&*name.text, "hit" | "miss");
        let labels = || cases.iter().flat_map(|c| &c.labels);
        let about_hit = labels().any(is_hit_or_miss);
        if about_hit && let Some(action) = labels().find(|l| !is_hit_or_miss(l)) {
            return self.error(
                "apply-cases",
                action.span,
                "cases are either `hit` and `miss`, or actions and `default`",
            );
        }
        let mut seen: BTreeMap<&str, Span> = BTreeMap::new();
        for label in labels() {
            if let Some(first) = seen.insert(&label.text, label.span) {
                self.diagnostics.push(
                    Diagnostic::error(
                        "duplicate",
                        label.span,
                        format!("there is another case `{}`", label.text),
                    )
                    .note(first, "first here"),
                );
            }
        }
        let statement = match about_hit {
            true => self.hit_or_miss(call, cases, span, local),
            false => self.switch(call, n, cases, span, local),
        };
        out.push(statement);
    }

    fn hit_or_miss(
        &mut self,
        call: Expression,
        cases: &[ApplyCase],
        span: Span,
        local: &Local,
    ) -> ast::Statement {
        let condition = self.build.member(call, "hit", span);
        let mut of = |text: &str| -> Option<ast::Statement> {
            let case = cases
                .iter()
                .find(|c| c.labels.iter().any(|l| &*l.text == text))?;
            Some(self.block(&case.body, local, case.span))
        };
        let (yes, no) = (of("hit"), of("miss"));
        let yes = match yes {
            Some(yes) => yes,
            None => self.build.block_statement(Vec::new(), span),
        };
        self.build.if_else(condition, yes, no, span)
    }

    fn switch(
        &mut self,
        call: Expression,
        table: usize,
        cases: &[ApplyCase],
        span: Span,
        local: &Local,
    ) -> ast::Statement {
        let tree = self.scope.tree;
        let declaration = &tree.tables[table];
        let mut actions = self.table_actions(declaration);
        let default = declaration
            .default
            .as_ref()
            .and_then(|d| self.scope.actions.get(&d.action.text));
        actions.extend(default.copied());
        let value = self.build.member(call, "action_run", span);
        let (mut list, mut last) = (Vec::new(), Vec::new());
        for case in cases {
            // `default` stands last in P4_16.
            let to = match case.labels.iter().any(|l| &*l.text == "default") {
                true => &mut last,
                false => &mut list,
            };
            let mut group = Vec::new();
            for label in &case.labels {
                let label_span = label.span;
                let expression = if &*label.text == "default" {
                    self.build.expression(label_span, ExpressionKind::Default)
                } else {
                    let action = self
                        .scope
                        .actions
                        .get(&label.text)
                        .filter(|a| actions.contains(a))
                        .copied();
                    let Some(action) = action else {
                        let message = format!(
                            "table `{}` has no action `{}`",
                            declaration.name.text, label.text
                        );
                        self.diagnostics.push(
                            Diagnostic::error("apply-cases", label_span, message).help(
                                "a case is `hit`, `miss`, `default`, or one of the table's actions",
                            ),
                        );
                        continue;
                    };
                    let own = local.own.get(&table).and_then(|own| own.get(&action));
                    let output = own.unwrap_or(&self.names.actions[action]).clone();
                    self.build.path(output, label_span)
                };
                group.push((expression, label_span));
            }
            // Labels with the same body: `default` behind the others, and the body with the last.
            group.sort_by_key(|(label, _)| matches!(label.kind, ExpressionKind::Default));
            let count = group.len();
            for (n, (label, label_span)) in group.into_iter().enumerate() {
                let body = match n + 1 == count {
                    true => {
                        let mut statements = Vec::new();
                        self.statements(&case.body, local, &mut statements);
                        Some(block(statements, case.span))
                    }
                    false => None,
                };
                to.push(SwitchCase {
                    label,
                    body,
                    span: label_span,
                });
            }
        }
        list.append(&mut last);
        let kind = StatementKind::Switch { value, cases: list };
        self.build.statement(span, kind)
    }

    fn extern_types(&mut self) {
        let tree = self.scope.tree;
        for (n, ty) in tree.extern_types.iter().enumerate() {
            let output = self.names.extern_types[n].clone();
            self.diagnostics.push(Diagnostic::warning(
                "extern",
                ty.span,
                format!("the switch has no extern `{}`", ty.name.text),
            ));
            let declaration = self.extern_type(ty, output);
            self.out.push(declaration);
        }
    }

    fn extern_type(&mut self, ty: &super::tree::ExternType, output: Arc<str>) -> Declaration {
        let span = ty.span;
        let mut methods = Vec::new();
        let void = self.build.ty(span, ast::TypeExpressionKind::Void);
        methods.push(ast::Method {
            id: self.build.id(),
            annotations: Vec::new(),
            is_abstract: false,
            is_constructor: true,
            prototype: ast::Prototype {
                result: void,
                name: name(output.clone(), span),
                type_parameters: Vec::new(),
                parameters: Vec::new(),
            },
            span,
        });
        for method in &ty.methods {
            let mut type_parameters = Vec::new();
            let mut parameters = Vec::new();
            for (n, parameter) in method.parameters.iter().enumerate() {
                let at = parameter.name.span;
                let parameter_ty = match parameter.ty {
                    Some((width, signed)) => self.build.bits(width, signed, at),
                    None => {
                        let text: Arc<str> = format!("T{n}").into();
                        type_parameters.push(ast::TypeParameter {
                            id: self.build.id(),
                            name: name(text.clone(), at),
                        });
                        self.build.named(text, at)
                    }
                };
                let direction = match parameter.out {
                    true => ast::Direction::Out,
                    false => ast::Direction::In,
                };
                let mut declaration =
                    self.build
                        .parameter(direction, parameter_ty, parameter.name.clone());
                if parameter.optional {
                    declaration.annotations.push(super::build::annotation(
                        "optional",
                        Vec::new(),
                        at,
                    ));
                }
                parameters.push(declaration);
            }
            let void = self.build.ty(method.span, ast::TypeExpressionKind::Void);
            methods.push(ast::Method {
                id: self.build.id(),
                annotations: Vec::new(),
                is_abstract: false,
                is_constructor: false,
                prototype: ast::Prototype {
                    result: void,
                    name: method.name.clone(),
                    type_parameters,
                    parameters,
                },
                span: method.span,
            });
        }
        self.build.declaration(
            span,
            Vec::new(),
            ast::DeclarationKind::Extern {
                name: name(output, ty.name.span),
                type_parameters: Vec::new(),
                methods,
            },
        )
    }

    /// The externs that the actions of these tables use.
    fn extern_instances(&mut self, tables: &[usize], locals: &mut Vec<Declaration>) {
        let tree = self.scope.tree;
        if tree.externs.is_empty() {
            return;
        }
        let (mut done, mut list) = (BTreeSet::new(), Vec::new());
        for table in tables {
            let actions = self.table_actions(&tree.tables[*table]);
            self.with_callees(&actions, &mut done, &mut list);
        }
        let used: BTreeSet<usize> = list
            .iter()
            .flat_map(|a| &tree.actions[*a].body)
            .filter_map(|p| self.scope.externs.get(&p.object.as_ref()?.text).copied())
            .collect();
        for n in used {
            let object = &tree.externs[n];
            let Some(ty) = self.scope.extern_types.get(&object.ty.text).copied() else {
                self.unknown("extern type", &object.ty);
                continue;
            };
            let ty = self
                .build
                .named(self.names.extern_types[ty].clone(), object.ty.span);
            let annotations = vec![name_annotation(
                &format!(".{}", object.name.text),
                object.name.span,
            )];
            let output = self.names.externs[n].clone();
            let declaration = self
                .build
                .instance(ty, output, Vec::new(), annotations, object.span);
            locals.push(declaration);
        }
    }
}

/// The controls that statements call, each once.
fn calls(statements: &[Statement]) -> Vec<&Name> {
    fn walk<'s>(statements: &'s [Statement], list: &mut Vec<&'s Name>) {
        for statement in statements {
            match statement {
                Statement::Apply { cases, .. } => {
                    for case in cases {
                        walk(&case.body, list);
                    }
                }
                Statement::If {
                    branches,
                    otherwise,
                    ..
                } => {
                    for (_, body) in branches {
                        walk(body, list);
                    }
                    walk(otherwise.as_deref().unwrap_or_default(), list);
                }
                Statement::Call { control, .. } => list.push(control),
            }
        }
    }
    let mut list = Vec::new();
    walk(statements, &mut list);
    let mut seen = BTreeSet::new();
    list.retain(|name| seen.insert(name.text.clone()));
    list
}
