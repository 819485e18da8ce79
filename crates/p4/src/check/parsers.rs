//! Parsers (specification 13).

use super::checker::{Checker, Context, Entity};
use super::parameters::Parameters;
use crate::ast::{Expression, ExpressionKind, Parser, SelectCase, State, StateRef, Transition};
use crate::diagnostic::Diagnostic;
use crate::types::Type;
use alloc::format;
use alloc::vec::Vec;

impl<'a> Checker<'a> {
    pub(super) fn parser(&mut self, parser: &'a Parser) {
        self.scoped(|checker| {
            checker.type_parameters_here(&parser.type_parameters);
            checker.parameters(&parser.parameters, Parameters::Applied);
            checker.parameters(&parser.constructor_parameters, Parameters::Constructor);
            checker.scoped(|checker| {
                for local in &parser.locals {
                    checker.context = Context::ParserLocals;
                    checker.declaration_here(local);
                    checker.settle();
                }
                checker.states(parser);
            });
        });
        self.context = Context::Top;
    }

    fn states(&mut self, parser: &'a Parser) {
        for state in &parser.states {
            if matches!(&*state.name.text, "accept" | "reject") {
                self.error(
                    "parser-state",
                    state.name.span,
                    format!(
                        "`{}` is built into the language and cannot be declared",
                        state.name.text
                    ),
                );
            }
            self.declare(&state.name, Entity::State(state));
        }
        for state in &parser.states {
            self.context = Context::ParserState;
            self.scoped(|checker| checker.state(state));
        }
    }

    fn state(&mut self, state: &'a State) {
        self.statements(&state.statements);
        match &state.transition {
            None => {}
            Some(Transition::Direct(next)) => self.next_state(next),
            Some(Transition::Select {
                selectors, cases, ..
            }) => self.select(selectors, cases),
        }
        self.settle();
    }

    fn next_state(&mut self, next: &'a StateRef) {
        let found = self.find(&next.name.text, false);
        let state = found.iter().find_map(|entity| match entity {
            Entity::State(state) => Some(state.id),
            _ => None,
        });
        match state {
            Some(id) => self.refer(next.id, id),
            None if matches!(&*next.name.text, "accept" | "reject") => {}
            None => match found.first() {
                Some(other) => {
                    let mut diagnostic = Diagnostic::error(
                        "not-a-state",
                        next.name.span,
                        format!("`{}` is not a parser state", next.name.text),
                    );
                    if let Some(declared) = self.name_of(*other) {
                        diagnostic = diagnostic.note(declared.span, "declared here");
                    }
                    self.report(diagnostic);
                }
                None => self.not_found(&next.name, "the parser state"),
            },
        }
    }

    fn select(&mut self, selectors: &'a [Expression], cases: &'a [SelectCase]) {
        let mut types: Vec<Type> = Vec::new();
        for selector in selectors {
            let ty = self.value(selector);
            if !self.may_be_selected(&ty) {
                let text = self.show(&ty);
                self.error(
                    "select",
                    selector.span,
                    format!("one cannot select on `{text}`"),
                );
                types.push(Type::Unknown);
            } else if ty == Type::Integer {
                self.report(
                    Diagnostic::error(
                        "no-width",
                        selector.span,
                        "one selects on a number with a width, and this has none",
                    )
                    .help("give it a width: `8w1`"),
                );
                types.push(Type::Unknown);
            } else {
                types.push(ty);
            }
        }
        for case in cases {
            self.keyset(&case.keyset, &types, "select");
            self.next_state(&case.next);
        }
    }

    fn may_be_selected(&self, ty: &Type) -> bool {
        match ty {
            Type::Unknown
            | Type::Bool
            | Type::Bits(_)
            | Type::Signed(_)
            | Type::Integer
            | Type::Error
            | Type::Enum(_)
            | Type::Parameter(_)
            | Type::Variable(_) => true,
            Type::New(id) => self.may_be_selected(&self.type_of(*id)),
            Type::Tuple(parts) => parts.iter().all(|part| self.may_be_selected(part)),
            _ => false,
        }
    }

    /// A set of values against the types that are matched: of a `select`, or of a table's entry.
    pub(super) fn keyset(&mut self, e: &'a Expression, types: &[Type], what: &'static str) {
        if let ExpressionKind::List {
            elements,
            dots: false,
        } = &e.kind
        {
            if let [Type::Tuple(parts)] = types
                && parts.len() == elements.len()
                && elements.len() > 1
            {
                let parts = parts.clone();
                for (element, ty) in elements.iter().zip(&parts) {
                    self.keyset_element(element, ty);
                }
                self.record(e.id, Type::Tuple(parts));
                return;
            }
            if let [ty @ Type::Composite(..)] = types {
                self.keyset_element(e, ty);
                return;
            }
            if elements.len() == types.len() {
                for (element, ty) in elements.iter().zip(types) {
                    self.keyset_element(element, ty);
                }
                self.record(e.id, Type::Tuple(types.to_vec()));
            } else {
                for element in elements {
                    if !matches!(
                        element.kind,
                        ExpressionKind::DontCare | ExpressionKind::Default
                    ) {
                        self.value(element);
                    }
                }
                self.error(
                    "keyset",
                    e.span,
                    format!(
                        "there are {} values here for the {} of the {what}",
                        elements.len(),
                        types.len()
                    ),
                );
            }
            return;
        }
        if let [ty] = types {
            self.keyset_element(e, ty);
            return;
        }
        match &e.kind {
            ExpressionKind::DontCare | ExpressionKind::Default => {
                self.record(e.id, Self::set(Type::Tuple(types.to_vec())));
            }
            _ => {
                // A value set, or a constant tuple, of all values together.
                let have = self.value(e);
                let all = Type::Tuple(types.to_vec());
                let part = match &have {
                    Type::Unknown => return,
                    Type::Set(part) => self.known(part),
                    other => other.clone(),
                };
                let parts = self.leaves(&part);
                if parts.len() != types.len() {
                    self.error(
                        "keyset",
                        e.span,
                        format!(
                            "there are {} values here for the {} of the {what}",
                            parts.len(),
                            types.len()
                        ),
                    );
                } else if !self.unify_all(&parts, types) {
                    self.mismatch(e, &have, &all);
                }
            }
        }
    }

    /// The scalars of a struct or tuple, from all depths.
    fn leaves(&self, ty: &Type) -> Vec<Type> {
        let mut open = alloc::vec![self.known(ty)];
        let mut leaves = Vec::new();
        while let Some(ty) = open.pop() {
            let parts: Vec<Type> = match &ty {
                Type::Composite(id, arguments)
                    if self.is_kind(&ty, crate::ast::CompositeKind::Struct) =>
                {
                    self.fields(*id, arguments)
                        .into_iter()
                        .map(|(_, ty)| ty)
                        .collect()
                }
                Type::Tuple(parts) => parts.clone(),
                _ => {
                    leaves.push(ty);
                    if leaves.len() > super::substitution::MAX_TYPE_SIZE {
                        break;
                    }
                    continue;
                }
            };
            open.extend(parts.into_iter().rev());
        }
        leaves
    }

    /// Of a struct with one scalar that scalar's type.
    fn only_part(&self, ty: &Type) -> Type {
        match self.leaves(ty).as_slice() {
            [only] => only.clone(),
            _ => self.known(ty),
        }
    }

    fn keyset_element(&mut self, e: &'a Expression, ty: &Type) {
        self.match_element(e, ty);
        match &e.kind {
            ExpressionKind::Mask { value: a, mask: b }
            | ExpressionKind::Range { low: a, high: b } => {
                for bound in [a, b] {
                    if self.type_of(bound.id) != Type::Unknown && !self.is_compile_time(bound) {
                        self.error(
                            "not-constant",
                            bound.span,
                            "the parts of `&&&` and `..` must be known while compiling",
                        );
                    }
                }
            }
            ExpressionKind::Call { .. }
                if self.out.calls.contains_key(&e.id) && self.constant(e).is_none() =>
            {
                self.error(
                    "keyset",
                    e.span,
                    "a value to match cannot be computed by a call",
                );
            }
            _ => {}
        }
    }

    fn match_element(&mut self, e: &'a Expression, ty: &Type) {
        match &e.kind {
            ExpressionKind::DontCare | ExpressionKind::Default => {
                self.record(e.id, Self::set(ty.clone()));
            }
            ExpressionKind::Mask { value: a, mask: b }
            | ExpressionKind::Range { low: a, high: b } => {
                let have = self.value(e);
                let mut number = self.numeric(ty);
                if let Type::New(_) = number {
                    number = ty.clone();
                }
                if let Type::Set(part) = have {
                    let part = self.known(&part);
                    if part == Type::Integer {
                        let good = self.coerce(a, &Type::Integer, &number)
                            && self.coerce(b, &Type::Integer, &number);
                        if good {
                            self.record(e.id, Self::set(number));
                        }
                    } else if !self.unify(&part, ty) && !self.unify(&part, &number) {
                        self.mismatch(e, &part, ty);
                    }
                }
            }
            ExpressionKind::List {
                elements,
                dots: false,
            } if matches!(ty, Type::Tuple(_) | Type::Composite(..)) => {
                let parts: Vec<Type> = match ty {
                    Type::Composite(id, arguments) => self
                        .fields(*id, arguments)
                        .into_iter()
                        .map(|(_, ty)| ty)
                        .collect(),
                    Type::Tuple(parts) => parts.clone(),
                    _ => Vec::new(),
                };
                if parts.len() == elements.len() {
                    for (element, ty) in elements.iter().zip(&parts) {
                        self.keyset_element(element, ty);
                    }
                    self.record(e.id, ty.clone());
                } else {
                    let have = self.value(e);
                    self.mismatch(e, &have, ty);
                }
            }
            _ => {
                let have = self.value(e);
                match &have {
                    Type::Set(part) => {
                        let part = self.only_part(part);
                        if !self.unify(&part, ty) {
                            self.mismatch(e, &part, ty);
                        }
                    }
                    Type::Bits(_) | Type::Signed(_) | Type::Integer
                        if matches!(ty, Type::Enum(_)) =>
                    {
                        // Keys that are serialisable enums can be compared with numbers, as they are cast.
                        let number = self.numeric(ty);
                        if have == Type::Integer || number == *ty {
                            self.mismatch(e, &have, ty);
                        } else {
                            self.coerce(e, &have, &number);
                        }
                    }
                    _ => {
                        self.coerce(e, &have, ty);
                    }
                }
            }
        }
    }
}
