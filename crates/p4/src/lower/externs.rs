//! Calls of extern functions and of methods of extern instances.

use super::elaborate::Made;
use super::expressions::Operand;
use super::index::Node;
use super::storage::{Location, Storage, Target};
use super::types::{Shape, substitute};
use super::values::{InstanceId, Value};
use super::{Binding, Lowerer, calls::Callee, fold, names};
use crate::ast::{self, DeclarationKind, Direction, Expression, ExpressionKind, NodeId, Prototype};
use crate::check::Call;
use crate::ir::{
    self, Argument, Expr, Function, LValue, ListItem, ObjectId, SlotId, StatementKind, Ty,
};
use crate::types::{Type, specialized};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// An extern's head, and on which object it is called.
struct Extern<'a> {
    object: Option<ObjectId>,
    prototype: &'a Prototype,
    types: BTreeMap<NodeId, Type>,
}

impl<'a> Lowerer<'a> {
    pub fn call_extern_function(
        &mut self,
        expr: &'a Expression,
        call: &'a Call,
        arguments: &'a [ast::Argument],
        id: NodeId,
    ) -> Value {
        let Some(Node::Declaration(declaration)) = self.index.get(id) else {
            return Value::Nothing;
        };
        let DeclarationKind::ExternFunction(prototype) = &declaration.kind else {
            return Value::Nothing;
        };
        match (&*prototype.name.text, arguments) {
            ("verify", [_, _]) if self.body.fail.is_some() => {
                self.verify(call, arguments, &prototype.parameters);
                Value::Nothing
            }
            // Told while compiling.
            ("static_assert", _) => Value::bool(fold::boolean(true)),
            ("mark_to_drop", [metadata]) if self.mark_to_drop(&metadata.value) => Value::Nothing,
            _ => {
                let mut types = self.types.clone();
                types.extend(self.callee_types(&prototype.type_parameters, call));
                self.call_extern(
                    expr,
                    call,
                    arguments,
                    Extern {
                        object: None,
                        prototype,
                        types,
                    },
                )
            }
        }
    }

    /// `verify(condition, error)` in a parser (specification, 13.7).
    fn verify(
        &mut self,
        call: &'a Call,
        arguments: &'a [ast::Argument],
        parameters: &'a [ast::Parameter],
    ) {
        let (places, given): (Vec<usize>, Vec<Option<&'a Expression>>) =
            Self::in_call_order(call, arguments, parameters)
                .into_iter()
                .unzip();
        let given: Vec<&'a Expression> = given.into_iter().flatten().collect();
        let mut values: Vec<(usize, Value)> =
            places.into_iter().zip(self.eval_all(&given)).collect();
        values.sort_by_key(|(place, _)| *place);
        let (Some(fail), Some(slot)) = (self.body.fail, self.error) else {
            return;
        };
        let [
            (_, Value::Scalar(condition, _)),
            (_, Value::Scalar(error, _)),
        ] = values.as_slice()
        else {
            return;
        };
        let (bad, good) = (self.body.block(), self.body.block());
        self.body.branch(condition.clone(), good, bad);
        self.body.go(bad);
        self.body.assign(LValue::Slot(slot), error.clone());
        self.body.jump(fail);
        self.body.go(good);
    }

    /// v1model's `mark_to_drop`: of all the metadata it is given only the two fields that it sets.
    fn mark_to_drop(&mut self, metadata: &'a Expression) -> bool {
        let ty = self.type_of(metadata.id);
        let Operand::Location(location) = self.operand(metadata) else {
            return false;
        };
        let (mut items, mut results) = (Vec::new(), Vec::new());
        for name in ["egress_spec", "mcast_grp"] {
            let Some(at) = self.field_position(&ty, name) else {
                continue;
            };
            let field = location.field(at);
            let (Some(lvalue), Value::Scalar(value, _)) = (
                self.target_lvalue(&Target::Location(field.clone())),
                self.read(&field),
            ) else {
                return false;
            };
            items.push(ListItem {
                name: name.into(),
                value,
                valid: None,
            });
            results.push(lvalue);
        }
        if items.is_empty() {
            return false;
        }
        self.body.push(StatementKind::Call {
            callee: ir::Callee::Function(Function::MarkToDrop),
            arguments: alloc::vec![Argument::List(items)],
            results,
        });
        true
    }

    pub fn call_method(
        &mut self,
        expr: &'a Expression,
        callee: &'a Expression,
        call: &'a Call,
        arguments: &'a [ast::Argument],
        id: NodeId,
    ) -> Value {
        let base = match &callee.kind {
            ExpressionKind::Member { base, .. } => self.eval(base),
            // An abstract method's implementation may call its own object's methods by their names.
            _ => self.this.map_or(Value::Nothing, Value::Instance),
        };
        let Value::Instance(instance) = base else {
            return Value::Nothing;
        };
        let Some(Node::Method(method, _)) = self.index.get(id) else {
            return Value::Nothing;
        };
        let prototype = &method.prototype;
        match self.made(instance) {
            Made::PacketIn => self.packet_in(expr, prototype, call, arguments),
            Made::PacketOut => {
                self.packet_out(expr, &prototype.name.text, call, arguments);
                Value::Nothing
            }
            Made::Object(object) => {
                if method.is_abstract {
                    return self.call_implementation(expr, instance, call, arguments, prototype);
                }
                let mut types = self.types.clone();
                types.extend(self.instances[instance.0 as usize].types.iter().cloned());
                types.extend(self.callee_types(&prototype.type_parameters, call));
                self.call_extern(
                    expr,
                    call,
                    arguments,
                    Extern {
                        object: Some(object),
                        prototype,
                        types,
                    },
                )
            }
            _ => Value::Nothing,
        }
    }

    /// A call of an abstract method: its implementation in the instance, inlined.
    fn call_implementation(
        &mut self,
        expr: &'a Expression,
        this: InstanceId,
        call: &'a Call,
        arguments: &'a [ast::Argument],
        prototype: &'a Prototype,
    ) -> Value {
        let Some(declaration) = self.implementation(this, &prototype.name.text) else {
            return Value::Nothing;
        };
        let DeclarationKind::Function { prototype, body } = &declaration.kind else {
            return Value::Nothing;
        };
        if !self.deeper(expr.span) {
            return Value::Nothing;
        }
        let label = format!(
            "{}.{}",
            self.instances[this.0 as usize].name, prototype.name.text
        );
        let touched = self.touched(declaration.id);
        let copies = self.pass(
            call,
            arguments,
            Callee {
                parameters: &prototype.parameters,
                types: Vec::new(),
                touched: Some(touched),
                own: false,
                label: label.clone(),
                owner: this,
            },
        );
        let outer = self.this.replace(this);
        for (id, value) in self.instances[this.0 as usize].locals.clone() {
            self.bind(id, Binding::Value(value));
        }
        let result = self.type_of(prototype.result.id);
        let value = self.inline_body(body, label, copies, &result);
        self.this = outer;
        self.depth -= 1;
        value
    }

    fn call_extern(
        &mut self,
        expr: &'a Expression,
        call: &'a Call,
        arguments: &'a [ast::Argument],
        callee: Extern<'a>,
    ) -> Value {
        let parameters = &callee.prototype.parameters;
        let bound = Self::in_call_order(call, arguments, parameters);
        let effects: Vec<bool> = bound
            .iter()
            .map(|(_, e)| e.is_some_and(|e| self.has_effects(e)))
            .collect();
        let mut inputs = Vec::new();
        let mut outputs = Vec::new();
        for (place, (at, argument)) in bound.into_iter().enumerate() {
            let Some(argument) = argument else {
                continue;
            };
            let parameter = &parameters[at];
            let later = effects[place + 1..].contains(&true);
            let ty = match self.checked.types.get(&parameter.ty.id) {
                Some(Type::Name(ty)) => substitute(ty, &callee.types),
                Some(ty) => substitute(ty, &callee.types),
                None => Type::Unknown,
            };
            if matches!(parameter.direction, Direction::Out | Direction::InOut) {
                let target = self.target(argument);
                let target = match &target {
                    Target::Location(l) | Target::Slice(l, ..) if l.index.is_some() => {
                        self.freeze(target)
                    }
                    _ => target,
                };
                if parameter.direction == Direction::InOut {
                    let value = self.read_target(&target);
                    let value = if later { self.spill(value) } else { value };
                    inputs.push((at, value, ty.clone()));
                }
                outputs.push((at, target, ty));
            } else {
                let value = self.eval(argument);
                // A type parameter that is still open takes the argument's own type.
                let ty = match self.plain(&ty) {
                    Type::Parameter(_) | Type::Unknown | Type::Integer => self.type_of(argument.id),
                    _ => ty,
                };
                let value = self.convert(value, &ty);
                let value = if later { self.spill(value) } else { value };
                inputs.push((at, value, ty));
            }
        }
        // An engine takes inputs and gives results in the order of the parameters.
        inputs.sort_by_key(|(at, ..)| *at);
        let inputs: Vec<(Value, Type)> = inputs
            .into_iter()
            .map(|(_, value, ty)| (value, ty))
            .collect();
        let name = &callee.prototype.name.text;
        if callee.object.is_none()
            && let Some(value) = self.call_nic(name, &inputs, expr.span)
        {
            return value;
        }
        let copies = self.call_order_copies(&mut outputs);
        let arguments: Vec<Argument> = inputs
            .iter()
            .map(|(value, ty)| self.argument(value, ty))
            .collect();
        let mut results: Vec<LValue> = Vec::new();
        let result = match self.checked.types.get(&callee.prototype.result.id) {
            Some(Type::Name(ty)) => substitute(ty, &callee.types),
            Some(ty) => substitute(ty, &callee.types),
            None => Type::Void,
        };
        for (_, target, ty) in &outputs {
            match target {
                Target::Discard => {
                    let storage = self.temporary("ignored", ty);
                    results.extend(Location::fixed(storage).lvalues());
                }
                _ => results.extend(self.result_lvalues(target)),
            }
        }
        let returned = match self.plain(&result) {
            Type::Void | Type::Unknown => Storage::Nothing,
            _ => {
                let storage = self.temporary(&callee.prototype.name.text, &result);
                results.extend(Location::fixed(storage.clone()).lvalues());
                storage
            }
        };
        self.returned = match &returned {
            Storage::Scalar(slot) => Some(*slot),
            _ => None,
        };
        let mut arguments = arguments;
        let called = match callee.object {
            Some(object) => ir::Callee::Method(object, name.clone().into()),
            None => ir::Callee::Function(name.clone().into()),
        };
        if called == ir::Callee::Function(Function::Digest) {
            // The control plane tells messages apart by the name of their type.
            arguments.extend(inputs.get(1).and_then(|(_, ty)| self.name_of_type(ty)));
        }
        self.body.push(StatementKind::Call {
            callee: called,
            arguments,
            results,
        });
        self.copy_out(&copies);
        self.read_storage(&returned)
    }

    /// Sorts the outputs of an extern by parameter. Where the call names them in another order,
    /// they become temporaries, and the returned copies write the arguments in the order of the
    /// call (specification, 6.8).
    fn call_order_copies(
        &mut self,
        outputs: &mut [(usize, Target, Type)],
    ) -> Vec<(Target, Storage)> {
        let mut copies = Vec::new();
        if !outputs.is_sorted_by_key(|(at, ..)| *at) {
            for (_, target, ty) in outputs.iter_mut() {
                let room = self.temporary("copied", ty);
                let to = Target::Location(Location::fixed(room.clone()));
                copies.push((core::mem::replace(target, to), room));
            }
            outputs.sort_by_key(|(at, ..)| *at);
        }
        copies
    }

    /// The name that a struct's or header's type has in P4Info.
    fn name_of_type(&self, ty: &Type) -> Option<Argument> {
        let Type::Composite(id, arguments) = self.plain(ty) else {
            return None;
        };
        let declaration = |id| match self.index.get(id) {
            Some(Node::Declaration(declaration)) => Some(declaration),
            _ => None,
        };
        let of = declaration(id)?;
        let own = names::declared(of);
        let name = match names::string_annotation(&of.annotations, "name") {
            Some(_) => names::external("", &of.annotations, &own),
            None => specialized(&own, &arguments, &|id| {
                declaration(id).map(names::declared).unwrap_or_default()
            }),
        };
        Some(Argument::Text(name.into()))
    }

    /// A value as an extern is given it.
    fn argument(&mut self, value: &Value, ty: &Type) -> Argument {
        match value {
            Value::Text(text) => Argument::Text(text.clone()),
            Value::Instance(id) => match self.made(*id) {
                Made::Object(object) => Argument::Object(object),
                _ => Argument::List(Vec::new()),
            },
            Value::Scalar(expr, _) => {
                if let (Shape::Scalar(Ty::Bits(32), Some(enumeration)), Expr::Constant(bits, _)) =
                    (self.shape(ty), expr)
                    && enumeration.0 > 0
                    && let Type::Enum(id) = self.plain(ty)
                    && self.underlying(id).is_none()
                {
                    return Argument::Member(enumeration, bits.to_u64().unwrap_or(0) as u32);
                }
                Argument::Value(expr.clone())
            }
            Value::Integer(number) => {
                let width = (number.bits() as u32 + 1).max(32);
                Argument::Value(fold::constant(Ty::Bits(width), number))
            }
            _ => {
                let mut items = Vec::new();
                self.list_items(value, ty, "", None, &mut items);
                Argument::List(items)
            }
        }
    }

    fn list_items(
        &mut self,
        value: &Value,
        ty: &Type,
        name: &str,
        valid: Option<SlotId>,
        into: &mut Vec<ListItem>,
    ) {
        let mut each = |lowerer: &mut Self,
                        values: &[Value],
                        types: &[(Arc<str>, Type)],
                        valid: Option<SlotId>| {
            for (at, value) in values.iter().enumerate() {
                let (own, ty) = match types.get(at) {
                    Some((own, ty)) => (own.to_string(), ty.clone()),
                    None => ("".into(), Type::Unknown),
                };
                let name = match (name.is_empty(), own.is_empty()) {
                    (true, _) => own,
                    (false, true) => name.to_string(),
                    (false, false) => format!("{name}.{own}"),
                };
                lowerer.list_items(value, &ty, &name, valid, into);
            }
        };
        let fields = |lowerer: &mut Self| {
            lowerer
                .fields(ty)
                .into_iter()
                .map(|f| (f.name, f.ty))
                .collect::<Vec<_>>()
        };
        match value {
            Value::Scalar(expr, _) => into.push(ListItem {
                name: name.into(),
                value: expr.clone(),
                valid,
            }),
            Value::Integer(number) => {
                let width = (number.bits() as u32 + 1).max(32);
                into.push(ListItem {
                    name: name.into(),
                    value: fold::constant(Ty::Bits(width), number),
                    valid,
                });
            }
            Value::List(list, _) | Value::Union(list) => {
                let types = match self.shape(ty) {
                    Shape::List(base) | Shape::Array(base, _) => {
                        list.iter().map(|_| ("".into(), base.clone())).collect()
                    }
                    _ => fields(self),
                };
                each(self, list, &types, valid);
            }
            Value::Fields(list, _) => {
                for (own, value) in list {
                    self.list_items(value, &Type::Unknown, own, valid, into);
                }
            }
            Value::Header {
                valid: header,
                fields: values,
            } => {
                let valid = match header {
                    Expr::Slot(slot) => Some(*slot),
                    Expr::Constant(bits, _) if bits.is_true() => None,
                    Expr::Constant(..) => return,
                    other => match self.spill_expr(other.clone()) {
                        Expr::Slot(slot) => Some(slot),
                        _ => None,
                    },
                };
                let types = fields(self);
                each(self, values, &types, valid);
            }
            Value::Stack { elements, .. } => {
                let types: Vec<_> = match self.shape(ty) {
                    Shape::Stack(base, _) => {
                        elements.iter().map(|_| ("".into(), base.clone())).collect()
                    }
                    _ => Vec::new(),
                };
                each(self, elements, &types, valid);
            }
            _ => {}
        }
    }
}
