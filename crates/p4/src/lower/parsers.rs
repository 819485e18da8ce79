//! Parsers: states become blocks, `select` a terminator.

use super::expressions::Operand;
use super::values::{InstanceId, Value};
use super::{Lowerer, fold};
use crate::ast::{
    DeclarationKind, Expression, ExpressionKind, NodeId, Parser, SelectCase, StateRef, Transition,
};
use crate::ir::{BlockId, Case, Expr, LValue, ParserError, Pattern, Terminator, Ty};
use crate::types::Type;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The states of a parser that were met.
struct States {
    accept: BlockId,
    blocks: BTreeMap<NodeId, BlockId>,
    open: VecDeque<NodeId>,
    path: String,
}

impl<'a> Lowerer<'a> {
    /// What stands before the names of a subparser's states: its instance's name within the section.
    pub fn parser_path(&self, instance: InstanceId) -> String {
        let name = &self.instances[instance.0 as usize].name;
        let section = self.frames.first().map_or("", |f| f.label.as_str());
        let inner = name
            .strip_prefix(section)
            .and_then(|rest| rest.strip_prefix('.'))
            .unwrap_or(name);
        format!("{inner}.")
    }

    /// Lowers a parser from where the body stands; ends with no current block.
    pub fn parser_body(&mut self, parser: &'a Parser, accept: BlockId, path: &str) {
        for local in &parser.locals {
            if matches!(
                local.kind,
                DeclarationKind::Variable { .. } | DeclarationKind::Constant { .. }
            ) {
                self.declare(local);
            }
        }
        let mut states = States {
            accept,
            blocks: BTreeMap::new(),
            open: VecDeque::new(),
            path: path.to_string(),
        };
        let Some(start) = parser.states.iter().find(|s| &*s.name.text == "start") else {
            self.reject();
            return;
        };
        let first = self.state_block(parser, &mut states, start.id);
        self.body.jump(first);
        while let Some(id) = states.open.pop_front() {
            let Some(state) = parser.states.iter().find(|s| s.id == id) else {
                continue;
            };
            let block = self.state_block(parser, &mut states, id);
            self.body.go(block);
            self.body.span = state.span;
            for statement in &state.statements {
                self.statement(statement);
            }
            self.body.span = state.span;
            match &state.transition {
                None => self.reject(),
                Some(Transition::Direct(next)) => {
                    let next = self.next_state(parser, &mut states, next);
                    self.go_to_state(next);
                }
                Some(Transition::Select {
                    selectors, cases, ..
                }) => self.select(parser, &mut states, selectors, cases),
            }
        }
    }

    fn reject(&mut self) {
        match self.body.fail {
            Some(fail) => self.body.jump(fail),
            None => self.body.terminate(Terminator::Reject),
        }
    }

    fn go_to_state(&mut self, next: Option<BlockId>) {
        match next {
            Some(block) => self.body.jump(block),
            None => self.reject(),
        }
    }

    fn state_block(&mut self, parser: &'a Parser, states: &mut States, id: NodeId) -> BlockId {
        if let Some(block) = states.blocks.get(&id) {
            return *block;
        }
        let name = parser
            .states
            .iter()
            .find(|s| s.id == id)
            .map_or("", |s| &s.name.text);
        let block = self.body.named(&format!("{}{name}", states.path));
        states.blocks.insert(id, block);
        states.open.push_back(id);
        block
    }

    /// `None` is `reject`.
    fn next_state(
        &mut self,
        parser: &'a Parser,
        states: &mut States,
        next: &StateRef,
    ) -> Option<BlockId> {
        let id = self.checked.references.get(&next.id).copied();
        let id = match id {
            Some(id) if parser.states.iter().any(|s| s.id == id) => Some(id),
            _ => parser
                .states
                .iter()
                .find(|s| s.name.text == next.name.text)
                .map(|s| s.id),
        };
        match (id, &*next.name.text) {
            (Some(id), _) => Some(self.state_block(parser, states, id)),
            (None, "accept") => Some(states.accept),
            (None, _) => None,
        }
    }

    fn select(
        &mut self,
        parser: &'a Parser,
        states: &mut States,
        selectors: &'a [Expression],
        cases: &'a [SelectCase],
    ) {
        let list: Vec<&'a Expression> = selectors.iter().collect();
        let values = self.eval_all(&list);
        let mut keys = Vec::new();
        for value in &values {
            value.leaves(&mut |expr| keys.push(expr.clone()));
        }
        let types: Vec<Type> = selectors
            .iter()
            .map(|s| {
                let id = s.id;
                match self.checked.casts.get(&id) {
                    Some(ty) => super::types::substitute(ty, &self.types),
                    None => self.type_of(id),
                }
            })
            .collect();
        let reject = self.body.block();
        let mut rejects = false;
        let mut made = Vec::new();
        let mut default = None;
        for case in cases {
            self.body.span = case.span;
            let next = match self.next_state(parser, states, &case.next) {
                Some(block) => block,
                None => {
                    rejects = true;
                    reject
                }
            };
            let mut patterns = Vec::new();
            match (&case.keyset.kind, values.as_slice()) {
                (ExpressionKind::Default | ExpressionKind::DontCare, _) => {
                    patterns.resize(keys.len(), Pattern::Any);
                }
                (ExpressionKind::List { elements, .. }, values)
                    if values.len() > 1 && elements.len() == values.len() =>
                {
                    for ((element, value), ty) in elements.iter().zip(values).zip(&types) {
                        self.patterns(element, value, ty, &mut patterns);
                    }
                }
                (ExpressionKind::List { elements, .. }, [value])
                    if elements.len() == 1 && matches!(value, Value::Scalar(..)) =>
                {
                    self.patterns(&elements[0], value, &types[0], &mut patterns);
                }
                (_, [value]) => self.patterns(&case.keyset, value, &types[0], &mut patterns),
                (_, values) => {
                    // One expression for several keys: a value set, or a tuple.
                    let whole = Value::List(values.to_vec(), false);
                    let ty = Type::Tuple(types.clone());
                    self.patterns(&case.keyset, &whole, &ty, &mut patterns);
                }
            }
            patterns.resize(keys.len(), Pattern::Any);
            if patterns.iter().all(|p| *p == Pattern::Any) {
                default = Some(next);
                break;
            }
            made.push(Case { patterns, next });
        }
        let no_match = default.is_none().then(|| self.body.block());
        self.body.terminate(Terminator::Select {
            keys,
            cases: made,
            default: default.or(no_match).unwrap_or(reject),
        });
        if rejects {
            self.body.go(reject);
            self.reject();
        }
        if let Some(block) = no_match {
            // None of the cases: error.NoMatch (specification, 13.6).
            self.body.go(block);
            let value = self.error_number(ParserError::NoMatch);
            if let Some(slot) = self.error {
                self.body.assign(LValue::Slot(slot), value);
            }
            self.reject();
        }
    }

    /// The patterns of one keyset, one for each scalar of the value it is compared with.
    fn patterns(
        &mut self,
        keyset: &'a Expression,
        value: &Value,
        ty: &Type,
        into: &mut Vec<Pattern>,
    ) {
        let mut count = 0;
        value.leaves(&mut |_| count += 1);
        let start = into.len();
        match &keyset.kind {
            ExpressionKind::Default | ExpressionKind::DontCare => {}
            ExpressionKind::List { elements, .. } => match value {
                Value::List(parts, _) if parts.len() == elements.len() => {
                    let types: Vec<Type> = self.fields(ty).into_iter().map(|f| f.ty).collect();
                    for ((element, part), ty) in elements.iter().zip(parts).zip(&types) {
                        self.patterns(element, part, ty, into);
                    }
                }
                _ if elements.len() == 1 => {
                    self.patterns(&elements[0], value, ty, into);
                }
                _ => {}
            },
            ExpressionKind::Mask { value: of, mask } => {
                if let Some(scalar) = self.scalar(ty) {
                    let of = self.scalar_as(of, ty, scalar);
                    let mask = self.scalar_as(mask, ty, scalar);
                    into.push(Pattern::Mask(of, mask));
                }
            }
            ExpressionKind::Range { low, high } => {
                if let Some(scalar) = self.scalar(ty) {
                    let low = self.scalar_as(low, ty, scalar);
                    let high = self.scalar_as(high, ty, scalar);
                    into.push(Pattern::Range(low, high));
                }
            }
            _ => match self.keyset_operand(keyset) {
                Value::Set(set) => into.push(Pattern::ValueSet(set)),
                other => {
                    let other = self.convert(other, ty);
                    other.leaves(&mut |expr| into.push(Pattern::Equal(expr.clone())));
                }
            },
        }
        into.resize(start + count, Pattern::Any);
    }

    fn keyset_operand(&mut self, keyset: &'a Expression) -> Value {
        // A value set is no constant and has no cast that means anything.
        if let Operand::Value(Value::Set(set)) = self.operand_of_path(keyset) {
            return Value::Set(set);
        }
        self.eval(keyset)
    }

    fn operand_of_path(&mut self, expr: &'a Expression) -> Operand {
        match &expr.kind {
            ExpressionKind::Path { .. } => self.operand(expr),
            _ => Operand::Value(Value::Nothing),
        }
    }

    /// A scalar of a keyset as the key's type.
    pub fn scalar_as(&mut self, expr: &'a Expression, ty: &Type, scalar: Ty) -> Expr {
        match self.eval_as(expr, ty) {
            Value::Scalar(expr, _) => expr,
            _ => fold::constant(scalar, &0.into()),
        }
    }
}
