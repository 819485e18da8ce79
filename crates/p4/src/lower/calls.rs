//! Calls of functions, actions, parsers and controls: inlined, with arguments copied in and out as the specification (6.8) says.

use super::elaborate::{Made, Naming};
use super::expressions::Operand;
use super::index::Node;
use super::storage::{Storage, Target};
use super::types::{Shape, substitute};
use super::values::{InstanceId, Value};
use super::{Binding, Frame, FrameKind, Lowerer, names, walk};
use crate::ast::{
    Argument, Block, DeclarationKind, Direction, Expression, ExpressionKind, NodeId, Parameter,
    StatementKind,
};
use crate::check::{self, Bound, Call};
use crate::ir::{LValue, SlotId};
use crate::types::Type;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;

/// What is called, as passing its arguments needs it.
pub(super) struct Callee<'a> {
    pub parameters: &'a [Parameter],
    pub types: Vec<(NodeId, Type)>,
    /// The declarations that its body names; `None` where it sees nothing of its caller's.
    pub touched: Option<Rc<BTreeSet<NodeId>>>,
    /// Each parameter needs a room of its own.
    pub own: bool,
    /// What the names of its variables begin with.
    pub label: String,
    /// The instance whose text it stands in.
    pub owner: InstanceId,
}

/// An argument that was evaluated.
enum Evaluated {
    /// The value, and where it stands when it is a variable.
    In(Value, Option<Storage>),
    Out(Target),
    InOut(Target, Value),
}

/// An evaluated argument, in the order of the call.
struct Given {
    /// The place of its parameter.
    parameter: usize,
    one: Evaluated,
    /// Whether the evaluation of a later argument can change variables.
    later: bool,
}

impl<'a> Lowerer<'a> {
    /// A call, of whatever kind.
    pub fn call(&mut self, expr: &'a Expression) -> Value {
        let ExpressionKind::Call {
            callee, arguments, ..
        } = &expr.kind
        else {
            return Value::Nothing;
        };
        let Some(call) = self.checked.calls.get(&expr.id) else {
            return Value::Nothing;
        };
        match call.target {
            check::Target::Function(id) => self.call_function(expr, call, arguments, id),
            check::Target::Action(id) => {
                self.call_action(expr, call, arguments, id);
                Value::Nothing
            }
            check::Target::ExternFunction(id) => {
                self.call_extern_function(expr, call, arguments, id)
            }
            check::Target::Method(id) => self.call_method(expr, callee, call, arguments, id),
            check::Target::Table(id) => {
                self.apply_table(expr, id);
                Value::Nothing
            }
            check::Target::Apply(id) => {
                self.call_apply(expr, callee, call, arguments, id);
                Value::Nothing
            }
            check::Target::Constructor(_) => {
                let key = (self.instance, expr.id);
                if let Some(made) = self.made.get(&key) {
                    return made.clone();
                }
                let name = match call.target {
                    check::Target::Constructor(id) => match self.index.get(id) {
                        Some(Node::Declaration(declaration)) => names::declared(declaration),
                        Some(Node::Method(_, declaration)) => names::declared(declaration),
                        _ => "".into(),
                    },
                    _ => "".into(),
                };
                let prefix = self.instances[self.instance.0 as usize].name.clone();
                let made = self.construct(
                    call,
                    arguments,
                    Naming {
                        name: names::external(&prefix, &[], &name),
                        annotations: &[],
                        span: expr.span,
                        sites: 1,
                    },
                );
                self.made.insert(key, made.clone());
                made
            }
            check::Target::Builtin(builtin) => self.call_builtin(callee, builtin, arguments),
        }
    }

    /// What a callee's type parameters stand for.
    pub fn callee_types(
        &self,
        parameters: &[crate::ast::TypeParameter],
        call: &Call,
    ) -> Vec<(NodeId, Type)> {
        parameters
            .iter()
            .map(|p| p.id)
            .zip(
                call.type_arguments
                    .iter()
                    .map(|ty| substitute(ty, &self.types)),
            )
            .collect()
    }

    fn call_function(
        &mut self,
        expr: &'a Expression,
        call: &'a Call,
        arguments: &'a [Argument],
        id: NodeId,
    ) -> Value {
        let Some(Node::Declaration(declaration)) = self.index.get(id) else {
            return Value::Nothing;
        };
        let DeclarationKind::Function { prototype, body } = &declaration.kind else {
            return Value::Nothing;
        };
        if !self.deeper(expr.span) {
            return Value::Nothing;
        }
        let types = self.callee_types(&prototype.type_parameters, call);
        let touched = self.touched(id);
        let label = self.label_below(&prototype.name.text);
        let copies = self.pass(
            call,
            arguments,
            Callee {
                parameters: &prototype.parameters,
                types,
                touched: Some(touched),
                own: false,
                label: label.clone(),
                owner: self.instance,
            },
        );
        let result = self.type_of(prototype.result.id);
        let value = self.inline_body(body, label, copies, &result);
        self.depth -= 1;
        value
    }

    /// The label of something inlined: below the instance's name, not below what it is inlined into.
    fn label_below(&self, name: &str) -> String {
        let prefix = &self.instances[self.instance.0 as usize].name;
        if prefix.is_empty() {
            name.into()
        } else {
            format!("{prefix}.{name}")
        }
    }

    /// Lowers a body in place, copies out, and gives what it returns.
    pub fn inline_body(
        &mut self,
        body: &'a Block,
        label: String,
        copies: Vec<(Target, Storage)>,
        result: &Type,
    ) -> Value {
        let returns: usize = body.statements.iter().map(walk::returns).sum();
        let tail = match body.statements.last().map(|s| &s.kind) {
            Some(StatementKind::Return(Some(value))) if returns == 1 => Some(value),
            _ => None,
        };
        let has_value = !matches!(self.plain(result), Type::Void | Type::Unknown);
        let mut frame = Frame::new(FrameKind::Inlined, label.clone());
        frame.copies = copies.as_slice().into();
        if has_value && tail.is_none() {
            let storage = self.allocate(&format!("{label}.return"), result, &[]);
            frame.result = Some((storage, result.clone()));
        }
        self.frames.push(frame);
        let value = match tail {
            Some(value) => {
                for statement in &body.statements[..body.statements.len() - 1] {
                    self.statement(statement);
                }
                self.eval_as(value, result)
            }
            None => {
                self.body_block(body);
                Value::Nothing
            }
        };
        let frame = self.frames.pop();
        let value = match frame {
            Some(frame) => {
                self.end_of_frame(frame.return_to);
                match frame.result {
                    Some((storage, _)) => self.read_storage(&storage),
                    None => value,
                }
            }
            None => value,
        };
        // What is returned was computed before anything is copied out.
        let value = if copies.is_empty() || value.is_constant() {
            value
        } else {
            let mut outs = Vec::new();
            for (target, _) in &copies {
                match target {
                    Target::Location(location) | Target::Slice(location, ..) => {
                        outs.extend(location.slots());
                    }
                    Target::Discard => {}
                }
            }
            if value.reads().iter().any(|slot| outs.contains(slot)) {
                self.spill(value)
            } else {
                value
            }
        };
        self.copy_out(&copies);
        value
    }

    /// Goes on behind a body that `return` may have left.
    pub fn end_of_frame(&mut self, return_to: Option<crate::ir::BlockId>) {
        if let Some(block) = return_to {
            self.body.jump(block);
            self.body.go(block);
        }
    }

    fn call_action(
        &mut self,
        expr: &'a Expression,
        call: &'a Call,
        arguments: &'a [Argument],
        id: NodeId,
    ) {
        let Some(Node::Declaration(declaration)) = self.index.get(id) else {
            return;
        };
        let DeclarationKind::Action {
            parameters,
            body,
            name,
        } = &declaration.kind
        else {
            return;
        };
        if !self.deeper(expr.span) {
            return;
        }
        let touched = self.touched(id);
        let label = self.label_below(&name.text);
        let copies = self.pass(
            call,
            arguments,
            Callee {
                parameters,
                types: Vec::new(),
                touched: Some(touched),
                own: false,
                label: label.clone(),
                owner: self.instance,
            },
        );
        self.inline_body(body, label, copies, &Type::Void);
        self.depth -= 1;
    }

    /// `c.apply(...)` of a parser or control.
    fn call_apply(
        &mut self,
        expr: &'a Expression,
        callee: &'a Expression,
        call: &'a Call,
        arguments: &'a [Argument],
        id: NodeId,
    ) {
        let ExpressionKind::Member { base, .. } = &callee.kind else {
            return;
        };
        let instance = match self.eval(base) {
            Value::Instance(instance) => instance,
            _ => match self.implicit_instance(expr, call, base, id) {
                Some(instance) => instance,
                None => return,
            },
        };
        let Made::Block(declaration) = self.made(instance) else {
            return;
        };
        if !self.deeper(expr.span) {
            return;
        }
        let own = self.instances[instance.0 as usize].shared;
        let label = self.instances[instance.0 as usize].name.clone();
        let types = self.instances[instance.0 as usize].types.clone();
        let callee = |parameters: &'a [Parameter], own| Callee {
            parameters,
            types,
            touched: None,
            own,
            label: label.clone(),
            owner: instance,
        };
        match &declaration.kind {
            DeclarationKind::Control(control) => {
                let has_tables = self.has_tables(control);
                let copies = self.pass(
                    call,
                    arguments,
                    callee(&control.parameters, own && has_tables),
                );
                let outer = self.enter(instance);
                let mut frame = Frame::new(FrameKind::Inlined, label);
                frame.copies = copies.as_slice().into();
                self.frames.push(frame);
                self.control_body(control);
                let frame = self.frames.pop();
                self.end_of_frame(frame.and_then(|f| f.return_to));
                self.instance = outer;
                let span = self.body.span;
                self.copy_out(&copies);
                self.body.span = span;
            }
            DeclarationKind::Parser(parser) => {
                let copies = self.pass(call, arguments, callee(&parser.parameters, false));
                let outer = self.enter(instance);
                let mut frame = Frame::new(FrameKind::Inlined, label);
                frame.copies = copies.as_slice().into();
                self.frames.push(frame);
                let accept = self.body.block();
                let path = self.parser_path(instance);
                self.parser_body(parser, accept, &path);
                self.body.go(accept);
                self.frames.pop();
                self.instance = outer;
                self.copy_out(&copies);
            }
            _ => {}
        }
        self.depth -= 1;
    }

    /// The instance that `C.apply(...)` of a type stands for (specification, 15.1).
    fn implicit_instance(
        &mut self,
        expr: &'a Expression,
        call: &'a Call,
        base: &'a Expression,
        id: NodeId,
    ) -> Option<InstanceId> {
        let key = (self.instance, expr.id);
        if let Some(Value::Instance(made)) = self.made.get(&key) {
            return Some(*made);
        }
        let Some(Node::Declaration(declaration)) = self.index.get(id) else {
            return None;
        };
        let type_arguments = match self.type_of(base.id) {
            Type::Object(_, arguments) if !arguments.is_empty() => arguments,
            _ => call
                .type_arguments
                .iter()
                .map(|ty| substitute(ty, &self.types))
                .collect(),
        };
        let prefix = self.instances[self.instance.0 as usize].name.clone();
        let name = names::external(&prefix, &[], &names::declared(declaration));
        let constructor = Call {
            target: check::Target::Constructor(id),
            type_arguments,
            arguments: Vec::new(),
        };
        let made = self.construct_implicit(&constructor, declaration, name, expr.span);
        self.made.insert(key, made.clone());
        match made {
            Value::Instance(id) => Some(id),
            _ => None,
        }
    }

    fn has_tables(&self, control: &crate::ast::Control) -> bool {
        // Tables of inner controls have keys and actions bound to this one's parameters too.
        control.locals.iter().any(|local| {
            matches!(
                local.kind,
                DeclarationKind::Table(_) | DeclarationKind::Instance { .. }
            )
        }) || control.apply.statements.iter().any(|statement| {
            let mut applies = false;
            walk::statement(statement, &mut |e| {
                applies |= matches!(
                    self.checked.calls.get(&e.id).map(|c| c.target),
                    Some(check::Target::Apply(_))
                );
            });
            applies
        })
    }

    /// The variables and statements of a control.
    pub fn control_body(&mut self, control: &'a crate::ast::Control) {
        for local in &control.locals {
            if matches!(
                local.kind,
                DeclarationKind::Variable { .. } | DeclarationKind::Constant { .. }
            ) {
                self.declare(local);
            }
        }
        self.body_block(&control.apply);
    }

    /// A parameter's room.
    fn room(&mut self, callee: &Callee<'a>, parameter: &Parameter, ty: &Type) -> Storage {
        let key = (callee.owner, parameter.id, ty.clone());
        if let Some(storage) = self.locals.get(&key) {
            return storage.clone();
        }
        let name = format!("{}.{}", callee.label, parameter.name.text);
        let storage = self.allocate(&name, ty, &[]);
        self.locals.insert(key, storage.clone());
        storage
    }

    /// The expression that each parameter gets, with the parameter's place, in the order of the
    /// call: named arguments may come in another order than the parameters (specification, 6.8).
    /// Parameters without an argument follow.
    pub(super) fn in_call_order(
        call: &'a Call,
        arguments: &'a [Argument],
        parameters: &'a [Parameter],
    ) -> Vec<(usize, Option<&'a Expression>)> {
        let mut ordered: Vec<(usize, usize, Option<&'a Expression>)> = parameters
            .iter()
            .enumerate()
            .map(|(at, parameter)| match call.arguments.get(at) {
                Some(Bound::Argument(place)) => {
                    (*place, at, arguments.get(*place).map(|a| &a.value))
                }
                Some(Bound::Default) => (arguments.len(), at, parameter.default.as_ref()),
                Some(Bound::Absent) | None => (arguments.len(), at, None),
            })
            .collect();
        ordered.sort_by_key(|(place, ..)| *place);
        ordered.into_iter().map(|(_, at, e)| (at, e)).collect()
    }

    /// Evaluates the arguments of a call in the order in which it gives them, and binds the
    /// parameters: to the argument itself where the callee cannot see the difference from a copy,
    /// else to a room of their own. Returns the copies to make when the call ends, in the order of
    /// the call too.
    pub fn pass(
        &mut self,
        call: &'a Call,
        arguments: &'a [Argument],
        callee: Callee<'a>,
    ) -> Vec<(Target, Storage)> {
        let mut with = self.types.clone();
        with.extend(callee.types.iter().cloned());
        let types: Vec<Type> = callee
            .parameters
            .iter()
            .map(|p| match self.checked.types.get(&p.ty.id) {
                Some(Type::Name(ty)) => substitute(ty, &with),
                Some(ty) => substitute(ty, &with),
                None => Type::Unknown,
            })
            .collect();
        let bound = Self::in_call_order(call, arguments, callee.parameters);
        let effects: Vec<bool> = bound
            .iter()
            .map(|(_, e)| e.is_some_and(|e| self.has_effects(e)))
            .collect();
        let mut given = Vec::new();
        for (place, (at, argument)) in bound.into_iter().enumerate() {
            let parameter = &callee.parameters[at];
            let later = effects[place + 1..].contains(&true);
            let Some(argument) = argument else {
                let one = Evaluated::In(self.default_value(&types[at]), None);
                given.push(Given {
                    parameter: at,
                    one,
                    later,
                });
                continue;
            };
            let one = match parameter.direction {
                Direction::In | Direction::None => match self.operand_cast(argument) {
                    Operand::Location(location) => match location.only().cloned() {
                        Some(storage) if !later => {
                            let value = self.read_storage(&storage);
                            Evaluated::In(value, Some(storage))
                        }
                        _ => {
                            let value = self.read(&location);
                            let value = self.convert(value, &types[at]);
                            let value = if later { self.spill(value) } else { value };
                            Evaluated::In(value, None)
                        }
                    },
                    Operand::Value(value) => {
                        let value = self.convert(value, &types[at]);
                        let value = if later { self.spill(value) } else { value };
                        Evaluated::In(value, None)
                    }
                },
                Direction::Out => {
                    let target = self.target(argument);
                    Evaluated::Out(self.freeze_unless_constant(target))
                }
                Direction::InOut => {
                    let target = self.target(argument);
                    let target = self.freeze_unless_constant(target);
                    let value = self.read_target(&target);
                    let value = if later { self.spill(value) } else { value };
                    Evaluated::InOut(target, value)
                }
            };
            given.push(Given {
                parameter: at,
                one,
                later,
            });
        }
        self.types.extend(callee.types.iter().cloned());
        self.bind_parameters(callee, &types, given)
    }

    fn freeze_unless_constant(&mut self, target: Target) -> Target {
        let fixed = match &target {
            Target::Location(location) | Target::Slice(location, ..) => location.index.is_none(),
            Target::Discard => true,
        };
        if fixed { target } else { self.freeze(target) }
    }

    fn bind_parameters(
        &mut self,
        callee: Callee<'a>,
        types: &[Type],
        given: Vec<Given>,
    ) -> Vec<(Target, Storage)> {
        // What the callee reaches other than by its parameters.
        let mut reached = Vec::new();
        if let Some(touched) = &callee.touched {
            for id in touched.iter() {
                if let Some(Binding::Storage(storage)) = self.binding(*id) {
                    storage.slots(&mut reached);
                } else if let Some(Binding::Value(value)) = self.binding(*id) {
                    reached.extend(value.reads());
                }
            }
        }
        // Rooms that the callee's parameters had before may be written below.
        for (parameter, ty) in callee.parameters.iter().zip(types) {
            let key = (callee.owner, parameter.id, ty.clone());
            if let Some(storage) = self.locals.get(&key) {
                storage.slots(&mut reached);
            }
        }
        reached.sort_unstable();
        reached.dedup();
        let outs: Vec<Vec<SlotId>> = given
            .iter()
            .map(|given| match &given.one {
                Evaluated::Out(target) | Evaluated::InOut(target, _) => match target {
                    Target::Location(location) | Target::Slice(location, ..) => location.slots(),
                    Target::Discard => Vec::new(),
                },
                Evaluated::In(..) => Vec::new(),
            })
            .collect();
        let meets = |a: &[SlotId], b: &[SlotId]| {
            let (few, many) = if a.len() < b.len() { (a, b) } else { (b, a) };
            few.iter().any(|slot| many.binary_search(slot).is_ok())
        };
        let mut copies = Vec::new();
        let mut pairs: Vec<(Storage, Value)> = Vec::new();
        let mut begins = Vec::new();
        let mut bindings = Vec::new();
        for (at, given) in given.into_iter().enumerate() {
            let Given {
                parameter: place,
                one,
                later,
            } = given;
            let (parameter, ty) = (&callee.parameters[place], &types[place]);
            let alone = |slots: &[SlotId]| {
                !meets(slots, &reached)
                    && outs
                        .iter()
                        .enumerate()
                        .all(|(other, outs)| other == at || !meets(slots, outs))
            };
            let binding = match one {
                Evaluated::In(value, storage) => {
                    let has_room = !matches!(self.shape(ty), Shape::Other | Shape::List(_));
                    let free = !callee.own && value.is_simple() && alone(&value.reads());
                    if !has_room || value.is_constant() && !callee.own {
                        Binding::Value(value)
                    } else if free {
                        storage.map_or(Binding::Value(value), Binding::Storage)
                    } else {
                        let room = self.room(&callee, parameter, ty);
                        pairs.push((room.clone(), value));
                        Binding::Storage(room)
                    }
                }
                Evaluated::Out(target) | Evaluated::InOut(target, _)
                    if !callee.own
                        && !later
                        && matches!(&target, Target::Location(l) if l.only().is_some())
                        && alone(&outs[at]) =>
                {
                    let storage = match target {
                        Target::Location(location) => location.choices[0].clone(),
                        _ => Storage::Nothing,
                    };
                    if parameter.direction == Direction::Out {
                        begins.push(storage.clone());
                    }
                    Binding::Storage(storage)
                }
                Evaluated::Out(target) => {
                    let room = self.room(&callee, parameter, ty);
                    begins.push(room.clone());
                    copies.push((target, room.clone()));
                    Binding::Storage(room)
                }
                Evaluated::InOut(target, value) => {
                    let room = self.room(&callee, parameter, ty);
                    pairs.push((room.clone(), value));
                    copies.push((target, room.clone()));
                    Binding::Storage(room)
                }
            };
            bindings.push((parameter.id, binding));
        }
        self.store_all(&pairs);
        for storage in begins {
            self.begin(&storage);
        }
        for (id, binding) in bindings {
            self.bind(id, binding);
        }
        copies
    }

    /// Puts several values in their places, all of them read before the first is written.
    fn store_all(&mut self, pairs: &[(Storage, Value)]) {
        let mut lvalues = Vec::new();
        for (storage, value) in pairs {
            self.storage_pairs(storage, value, &mut lvalues);
        }
        self.store_pairs(lvalues);
    }

    /// Where a value that an extern gives back goes.
    pub fn result_lvalues(&self, target: &Target) -> Vec<LValue> {
        match target {
            Target::Location(location) => location.lvalues(),
            Target::Slice(..) => self.target_lvalue(target).into_iter().collect(),
            Target::Discard => Vec::new(),
        }
    }
}
