//! What is read before it is written on some path: local variables and `out` parameters.
//!
//! Headers count as written when one of their fields, or they whole, are; that they may be invalid is for the program to test.
//! Tables run any of their actions. Loops may run not at all.

use super::{Rules, walk};
use crate::ast::{
    Block, DeclarationKind, Direction, Expression, ExpressionKind, ForVariable, Name, NodeId,
    Parameter, Parser, State, Statement, StatementKind, TablePropertyKind, Transition,
};
use crate::check::{Bound, Builtin, Target};
use crate::diagnostic::Diagnostic;
use crate::types::{Constant, Type};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Maximum number of statements that are analysed; actions are followed at each call.
const MAX_STEPS: u32 = 200_000;
/// Maximum nesting depth of types that are analysed; deeper ones count as written.
const MAX_TYPE_DEPTH: u32 = 16;

/// A part of a variable: the names of fields.
type Path = Vec<Arc<str>>;
/// Parts of each watched variable that are certainly written; `None` where control flow never
/// arrives.
type Known = Option<BTreeMap<NodeId, BTreeSet<Path>>>;

struct Flow<'r, 'a> {
    rules: &'r mut Rules<'a>,
    parameters: BTreeMap<NodeId, &'a [Parameter]>,
    steps: u32,
    /// Whether to tell; loops of parser states are gone round first.
    reports: bool,
}

pub(super) fn run(rules: &mut Rules<'_>) {
    let mut parameters: BTreeMap<NodeId, &[Parameter]> = BTreeMap::new();
    for declaration in &rules.declarations {
        match &declaration.kind {
            DeclarationKind::Function { prototype, .. }
            | DeclarationKind::ExternFunction(prototype) => {
                parameters.insert(declaration.id, &prototype.parameters);
            }
            DeclarationKind::Action { parameters: p, .. } => {
                parameters.insert(declaration.id, p);
            }
            DeclarationKind::Extern { methods, .. } => {
                for method in methods {
                    parameters.insert(method.id, &method.prototype.parameters);
                }
            }
            DeclarationKind::Parser(parser) => {
                parameters.insert(declaration.id, &parser.parameters);
            }
            DeclarationKind::Control(control) => {
                parameters.insert(declaration.id, &control.parameters);
            }
            _ => {}
        }
    }
    let declarations = rules.declarations.clone();
    let mut flow = Flow {
        rules,
        parameters,
        steps: 0,
        reports: true,
    };
    for declaration in declarations {
        match &declaration.kind {
            DeclarationKind::Function { prototype, body } => {
                let known = flow.enter(&prototype.parameters);
                let known = flow.block(body, known);
                flow.leave(&prototype.parameters, &known, &prototype.name);
            }
            DeclarationKind::Action {
                name,
                parameters,
                body,
            } => {
                let known = flow.enter(parameters);
                let known = flow.block(body, known);
                flow.leave(parameters, &known, name);
            }
            DeclarationKind::Control(control) => {
                let mut known = flow.enter(&control.parameters);
                for local in &control.locals {
                    flow.declare(local, &mut known);
                }
                let known = flow.block(&control.apply, known);
                flow.leave(&control.parameters, &known, &control.name);
            }
            DeclarationKind::Parser(parser) => flow.parser(parser),
            _ => {}
        }
    }
}

/// What is written on both ways.
fn join(one: Known, other: Known) -> Known {
    match (one, other) {
        (None, known) | (known, None) => known,
        (Some(one), Some(other)) => Some(
            one.into_iter()
                .filter_map(|(id, paths)| {
                    let others = other.get(&id)?;
                    let within = |path: &Path, set: &BTreeSet<Path>| {
                        (0..=path.len()).any(|length| set.contains(&path[..length].to_vec()))
                    };
                    let mut both: BTreeSet<Path> = paths
                        .iter()
                        .filter(|path| within(path, others))
                        .cloned()
                        .collect();
                    both.extend(others.iter().filter(|path| within(path, &paths)).cloned());
                    Some((id, both))
                })
                .collect(),
        ),
    }
}

impl<'a> Flow<'_, 'a> {
    fn enter(&self, parameters: &[Parameter]) -> Known {
        let out = parameters.iter().filter(|p| p.direction == Direction::Out);
        Some(out.map(|p| (p.id, BTreeSet::new())).collect())
    }

    /// At the end `out` parameters are copied out.
    fn leave(&mut self, parameters: &[Parameter], known: &Known, of: &Name) {
        let Some(known) = known else { return };
        for parameter in parameters.iter().filter(|p| p.direction == Direction::Out) {
            let ty = self.rules.checked.types.get(&parameter.id).cloned();
            let whole =
                ty.is_none_or(|ty| self.complete(known, parameter.id, &mut Vec::new(), &ty, 0));
            if !whole && self.reports {
                let name = &parameter.name;
                self.rules.report(
                    Diagnostic::warning(
                        "uninitialized",
                        name.span,
                        format!(
                            "the `out` parameter `{}` may not have a value at the end of `{}`",
                            name.text, of.text
                        ),
                    )
                    .help("write it on every path"),
                );
            }
        }
    }

    fn declare(&mut self, declaration: &'a crate::ast::Declaration, known: &mut Known) {
        if let DeclarationKind::Variable { value, .. } = &declaration.kind {
            if let Some(value) = value {
                self.read(value, known);
            }
            if let Some(known) = known {
                let paths = value.iter().map(|_| Vec::new()).collect();
                known.insert(declaration.id, paths);
            }
        }
    }

    fn parser(&mut self, parser: &'a Parser) {
        let by_id: BTreeMap<NodeId, &State> = parser.states.iter().map(|s| (s.id, s)).collect();
        let Some(start) = parser.states.iter().find(|s| &*s.name.text == "start") else {
            return;
        };
        let mut known = self.enter(&parser.parameters);
        for local in &parser.locals {
            self.declare(local, &mut known);
        }
        let mut before: BTreeMap<NodeId, Known> = BTreeMap::from([(start.id, known)]);
        let mut work = alloc::vec![start];
        let mut end = None;
        self.reports = false;
        // Sets only shrink, so that this ends.
        while let Some(state) = work.pop() {
            let (known, accepts) = self.state(state, before[&state.id].clone());
            if accepts {
                end = join(end, known.clone());
            }
            for next in super::parsers::next(state) {
                let Some(next) = self.rules.checked.references.get(&next.id) else {
                    continue;
                };
                let Some(next) = by_id.get(next) else {
                    continue;
                };
                let joined = match before.get(&next.id) {
                    Some(there) => join(there.clone(), known.clone()),
                    None => known.clone(),
                };
                if before.get(&next.id) != Some(&joined) {
                    before.insert(next.id, joined);
                    work.push(next);
                }
            }
        }
        self.reports = true;
        for state in &parser.states {
            if let Some(known) = before.get(&state.id) {
                self.state(state, known.clone());
            }
        }
        self.leave(&parser.parameters, &end, &parser.name);
    }

    /// What is known behind a state, and whether it accepts.
    fn state(&mut self, state: &'a State, mut known: Known) -> (Known, bool) {
        for statement in &state.statements {
            known = self.statement(statement, known);
        }
        if let Some(Transition::Select { selectors, .. }) = &state.transition {
            for selector in selectors {
                self.read(selector, &mut known);
            }
        }
        let next = super::parsers::next(state);
        (known, next.iter().any(|next| &*next.name.text == "accept"))
    }

    fn block(&mut self, block: &'a Block, mut known: Known) -> Known {
        for statement in &block.statements {
            known = self.statement(statement, known);
        }
        known
    }

    fn statement(&mut self, statement: &'a Statement, mut known: Known) -> Known {
        self.steps += 1;
        if self.steps > MAX_STEPS || known.is_none() {
            return known;
        }
        match &statement.kind {
            StatementKind::Empty => known,
            StatementKind::Block(block) => self.block(block, known),
            StatementKind::Declaration(declaration) => {
                self.declare(declaration, &mut known);
                known
            }
            StatementKind::Assign {
                target,
                operator,
                value,
            } => {
                self.read(value, &mut known);
                self.read_indices(target, &mut known);
                if operator.is_some() {
                    self.read(target, &mut known);
                }
                self.write(target, &mut known);
                known
            }
            StatementKind::Call(call) => {
                self.read(call, &mut known);
                known
            }
            StatementKind::If {
                branches,
                otherwise,
            } => {
                let mut after = None;
                for branch in branches {
                    self.read(&branch.condition, &mut known);
                    let constant = self.rules.checked.constants.get(&branch.condition.id);
                    if constant == Some(&Constant::Bool(false)) {
                        continue;
                    }
                    let ended = self.statement(&branch.body, known.clone());
                    after = join(after, ended);
                    if constant == Some(&Constant::Bool(true)) {
                        return after;
                    }
                }
                match otherwise {
                    Some(otherwise) => join(after, self.statement(otherwise, known)),
                    None => join(after, known),
                }
            }
            StatementKind::Switch { value, cases } => {
                self.read(value, &mut known);
                let mut after = None;
                let mut default = false;
                for case in cases {
                    default |= matches!(
                        case.label.kind,
                        ExpressionKind::Default | ExpressionKind::DontCare
                    );
                    if let Some(body) = &case.body {
                        let ended = self.block(body, known.clone());
                        after = join(after, ended);
                    }
                }
                if default { after } else { join(after, known) }
            }
            StatementKind::Return(value) => {
                if let Some(value) = value {
                    self.read(value, &mut known);
                }
                None
            }
            StatementKind::Exit | StatementKind::Break | StatementKind::Continue => None,
            StatementKind::For {
                initial,
                condition,
                update,
                body,
                ..
            } => {
                for statement in initial {
                    known = self.statement(statement, known);
                }
                self.read(condition, &mut known);
                let mut after = self.statement(body, known.clone());
                for statement in update {
                    after = self.statement(statement, after);
                }
                known
            }
            StatementKind::ForIn {
                variable,
                collection,
                body,
                ..
            } => {
                self.read(collection, &mut known);
                let mut inner = known.clone();
                match variable {
                    ForVariable::Declared(declaration) => {
                        if let Some(inner) = &mut inner {
                            inner.insert(declaration.id, BTreeSet::from([Vec::new()]));
                        }
                    }
                    ForVariable::Existing(place) => self.write(place, &mut inner),
                }
                self.statement(body, inner);
                known
            }
        }
    }

    /// The variable and the part of it that an expression names.
    fn place(&self, e: &Expression, known: &Known) -> Option<(NodeId, Path)> {
        match &e.kind {
            ExpressionKind::Path { .. } => {
                let id = *self.rules.checked.references.get(&e.id)?;
                known.as_ref()?.contains_key(&id).then(|| (id, Vec::new()))
            }
            ExpressionKind::Member { base, member } => {
                let (id, mut path) = self.place(base, known)?;
                path.push(member.text.clone());
                Some((id, path))
            }
            // Elements of a stack are one with it, and slices with what they are of.
            ExpressionKind::Index { base, .. }
            | ExpressionKind::Slice { base, .. }
            | ExpressionKind::PlusSlice { base, .. } => self.place(base, known),
            _ => None,
        }
    }

    fn write(&mut self, e: &Expression, known: &mut Known) {
        if let Some((id, mut path)) = self.place(e, known)
            && let Some(paths) = known.as_mut().and_then(|known| known.get_mut(&id))
        {
            // `next` and `last` of a stack are parts of it.
            if let Some(at) = path
                .iter()
                .position(|name| matches!(&**name, "next" | "last"))
            {
                path.truncate(at);
            }
            paths.insert(path);
        }
    }

    /// The indices in a place that is written.
    fn read_indices(&mut self, e: &'a Expression, known: &mut Known) {
        match &e.kind {
            ExpressionKind::Member { base, .. } | ExpressionKind::Slice { base, .. } => {
                self.read_indices(base, known);
            }
            ExpressionKind::Index { base, index } => {
                self.read_indices(base, known);
                self.read(index, known);
            }
            ExpressionKind::PlusSlice { base, low, .. } => {
                self.read_indices(base, known);
                self.read(low, known);
            }
            _ => {}
        }
    }

    fn read(&mut self, e: &'a Expression, known: &mut Known) {
        match &e.kind {
            ExpressionKind::Path { .. } | ExpressionKind::Member { .. } => {
                match self.place(e, known) {
                    Some((id, path)) => self.check(e, id, path, known),
                    // `t.apply().hit`, a field of what a call returns.
                    None => {
                        if let ExpressionKind::Member { base, .. } = &e.kind {
                            self.read(base, known);
                        }
                    }
                }
            }
            ExpressionKind::Call {
                callee, arguments, ..
            } => {
                let checked = self.rules.checked;
                let Some(call) = checked.calls.get(&e.id) else {
                    return;
                };
                let parameters = match call.target {
                    Target::Function(id)
                    | Target::ExternFunction(id)
                    | Target::Method(id)
                    | Target::Apply(id)
                    | Target::Action(id) => self.parameters.get(&id).copied().unwrap_or(&[]),
                    _ => &[],
                };
                let mut written = Vec::new();
                let target = call.target;
                // Arguments are evaluated in the order of the call (specification 6.8).
                for (index, argument) in arguments.iter().enumerate() {
                    let mut bounds = call.arguments.iter();
                    let place =
                        bounds.position(|b| matches!(b, Bound::Argument(given) if *given == index));
                    let Some(parameter) = place.and_then(|place| parameters.get(place)) else {
                        continue;
                    };
                    match parameter.direction {
                        Direction::None | Direction::In => self.read(&argument.value, known),
                        Direction::InOut => {
                            self.read(&argument.value, known);
                            written.push(&argument.value);
                        }
                        Direction::Out => {
                            self.read_indices(&argument.value, known);
                            written.push(&argument.value);
                        }
                    }
                }
                match target {
                    Target::Action(id) => {
                        let inner = core::mem::take(known);
                        *known = self.action(id, inner);
                    }
                    Target::Table(id) => {
                        let inner = core::mem::take(known);
                        *known = self.table(id, inner);
                    }
                    Target::Builtin(Builtin::SetValid | Builtin::PushFront | Builtin::PopFront) => {
                        if let ExpressionKind::Member { base, .. } = &callee.kind {
                            written.push(base);
                        }
                    }
                    _ => {}
                }
                for place in written {
                    self.write(place, known);
                }
            }
            ExpressionKind::Binary {
                operator: crate::ast::BinaryOperator::And | crate::ast::BinaryOperator::Or,
                left,
                right,
            } => {
                self.read(left, known);
                // The right one may not be evaluated, and what it writes not be written.
                let mut after = known.clone();
                self.read(right, &mut after);
            }
            _ => {
                for part in walk::parts(e) {
                    self.read(part, known);
                }
            }
        }
    }

    fn action(&mut self, id: NodeId, mut known: Known) -> Known {
        let Some(declaration) = self.rules.by_id.get(&id).copied() else {
            return known;
        };
        let DeclarationKind::Action {
            parameters, body, ..
        } = &declaration.kind
        else {
            return known;
        };
        let before = known.clone();
        if let Some(known) = &mut known {
            let out = parameters.iter().filter(|p| p.direction == Direction::Out);
            known.extend(out.map(|p| (p.id, BTreeSet::new())));
        }
        // A `return` comes back here with less written than the end; what was written before the call stays so.
        let returns = {
            let mut found = false;
            for statement in &body.statements {
                walk::statements(statement, &mut |s| {
                    found |= matches!(s.kind, StatementKind::Return(_));
                });
            }
            found
        };
        let after = self.block(body, known);
        if returns { join(before, after) } else { after }
    }

    fn table(&mut self, id: NodeId, known: Known) -> Known {
        let Some(declaration) = self.rules.by_id.get(&id).copied() else {
            return known;
        };
        let DeclarationKind::Table(table) = &declaration.kind else {
            return known;
        };
        let mut known = known;
        let mut after = None;
        let mut default = false;
        for property in &table.properties {
            match &property.kind {
                TablePropertyKind::Key(keys) => {
                    for key in keys {
                        self.read(&key.expression, &mut known);
                    }
                }
                TablePropertyKind::Actions(actions) => {
                    for listed in actions {
                        if let Some(action) = self.rules.action(&listed.action) {
                            let ended = self.action(action.id, known.clone());
                            after = join(after, ended);
                        }
                    }
                }
                TablePropertyKind::Other { name, .. } => default |= &*name.text == "default_action",
                TablePropertyKind::Entries(_) => {}
            }
        }
        // Without a default action a miss does nothing.
        if default { after } else { join(after, known) }
    }

    fn check(&mut self, e: &Expression, id: NodeId, path: Path, known: &mut Known) {
        let Some(map) = known else { return };
        // What a stack says of itself is always there.
        if path.iter().any(|name| {
            matches!(
                &**name,
                "next" | "last" | "lastIndex" | "nextIndex" | "size"
            )
        }) {
            return;
        }
        let ty = self.rules.checked.types.get(&e.id).cloned();
        let whole = ty.is_none_or(|ty| self.complete(map, id, &mut path.clone(), &ty, 0));
        if whole {
            return;
        }
        if self.reports {
            let name = self.rules.by_id.get(&id).and_then(|d| match &d.kind {
                DeclarationKind::Variable { name, .. } => Some(name.text.clone()),
                _ => None,
            });
            let mut text = name.map_or_else(
                || alloc::string::String::from("this"),
                |name| format!("`{name}`"),
            );
            if !path.is_empty() {
                let fields: Vec<&str> = path.iter().map(|name| &**name).collect();
                text = format!("{} of {text}", fields.join("."));
            }
            self.rules.report(
                Diagnostic::warning(
                    "uninitialized",
                    e.span,
                    format!("{text} may not have a value here"),
                )
                .help("give it a value where it is declared, or on every path to here"),
            );
        }
        // Once is enough.
        if let Some(paths) = map.get_mut(&id) {
            paths.insert(path);
        }
    }

    /// Whether all of a part is written.
    fn complete(
        &self,
        known: &BTreeMap<NodeId, BTreeSet<Path>>,
        id: NodeId,
        path: &mut Path,
        ty: &Type,
        depth: u32,
    ) -> bool {
        let Some(paths) = known.get(&id) else {
            return true;
        };
        if (0..=path.len()).any(|length| paths.contains(&path[..length])) || depth > MAX_TYPE_DEPTH
        {
            return true;
        }
        let Type::Composite(declaration, arguments) = ty else {
            // Stacks begin with invalid headers, and so does what is made of them.
            return matches!(
                ty,
                Type::Stack(..) | Type::Unknown | Type::Parameter(_) | Type::Void
            );
        };
        let Some(DeclarationKind::Composite { kind, fields, .. }) =
            self.rules.by_id.get(declaration).map(|d| &d.kind)
        else {
            return true;
        };
        if *kind != crate::ast::CompositeKind::Struct || !arguments.is_empty() {
            return true;
        }
        fields.iter().all(|field| {
            let ty = self.rules.checked.types.get(&field.id).cloned();
            path.push(field.name.text.clone());
            let whole = ty.is_none_or(|ty| self.complete(known, id, path, &ty, depth + 1));
            path.pop();
            whole
        })
    }
}
