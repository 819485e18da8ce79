//! Which instances there are: constructor calls run while compiling.

use super::index::Node;
use super::names;
use super::types::{Shape, substitute};
use super::values::{InstanceId, Value};
use super::{Binding, Frame, FrameKind, Lowerer, fold};
use crate::ast::{
    self, Argument, Declaration, DeclarationKind, Expression, NodeId, Parameter, Prototype,
};
use crate::check::{Bound, Call, Target};
use crate::ir::{self, Constant, MethodBody, Object, ObjectId, SlotId, Ty};
use crate::source::Span;
use crate::types::Type;
use crate::value::Bits;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// Something that a constructor made.
pub(super) struct Instance<'a> {
    pub made: Made<'a>,
    /// Its name for the control plane.
    pub name: String,
    pub types: Vec<(NodeId, Type)>,
    /// What its constructor's parameters are.
    pub arguments: Vec<(NodeId, Value)>,
    /// Instances and value sets declared in it.
    pub locals: Vec<(NodeId, Value)>,
    /// Whether it is applied in more than one place, so that its parameters need rooms of their own.
    pub shared: bool,
}

/// What a constructor made.
#[derive(Clone, Copy)]
pub(super) enum Made<'a> {
    Top,
    PacketIn,
    PacketOut,
    Object(ObjectId),
    /// A parser or control.
    Block(&'a Declaration),
    Package(&'a Declaration),
}

/// An abstract method to be lowered when all instances are known.
pub(super) struct Pending<'a> {
    object: ObjectId,
    /// The object's instance.
    this: InstanceId,
    /// In which it is declared.
    owner: InstanceId,
    declaration: &'a Declaration,
    prototype: &'a Prototype,
    body: &'a ast::Block,
}

impl<'a> Instance<'a> {
    fn new(made: Made<'a>, name: impl Into<String>) -> Self {
        Instance {
            made,
            name: name.into(),
            types: Vec::new(),
            arguments: Vec::new(),
            locals: Vec::new(),
            shared: false,
        }
    }

    pub fn top() -> Self {
        Self::new(Made::Top, "")
    }
}

impl<'a> Lowerer<'a> {
    pub fn add_instance(&mut self, instance: Instance<'a>) -> InstanceId {
        let id = InstanceId(self.instances.len() as u32);
        self.instances.push(instance);
        id
    }

    pub fn made(&self, id: InstanceId) -> Made<'a> {
        self.instances[id.0 as usize].made
    }

    /// The packet that a section reads or writes, or an object of another extern that the architecture hands in.
    pub fn given_object(&mut self, ty: &Type, name: &str) -> Option<Value> {
        let Type::Object(id, arguments) = self.plain(ty) else {
            return None;
        };
        let Some(Node::Declaration(declaration)) = self.index.get(id) else {
            return None;
        };
        if !matches!(declaration.kind, DeclarationKind::Extern { .. }) {
            return None;
        }
        let kind = names::declared(declaration);
        let made = match &*kind {
            "packet_in" => Made::PacketIn,
            "packet_out" => Made::PacketOut,
            _ => {
                let types = self.object_types(&arguments);
                let object = ObjectId(self.program.objects.len() as u32);
                self.program.objects.push(Object {
                    name: name.into(),
                    kind: kind.into(),
                    types,
                    arguments: Vec::new(),
                    methods: Vec::new(),
                    annotations: Vec::new(),
                });
                Made::Object(object)
            }
        };
        let id = self.add_instance(Instance::new(made, name));
        Some(Value::Instance(id))
    }

    /// Sets what names mean in an instance, and that it is the one at hand. Gives back the one before.
    pub fn enter(&mut self, id: InstanceId) -> InstanceId {
        let instance = &self.instances[id.0 as usize];
        let types = instance.types.clone();
        let values: Vec<(NodeId, Value)> = instance
            .arguments
            .iter()
            .chain(&instance.locals)
            .cloned()
            .collect();
        self.types.extend(types);
        for (declaration, value) in values {
            self.bind(declaration, Binding::Value(value));
        }
        core::mem::replace(&mut self.instance, id)
    }

    /// The instance that a declaration makes in the instance at hand.
    pub fn declared_instance(&mut self, declaration: &'a Declaration) -> Value {
        // What stands at the top is one for all.
        let is_top = self.index.top.contains(&declaration.id);
        let owner = if is_top { InstanceId(0) } else { self.instance };
        if let Some(made) = self.made.get(&(owner, declaration.id)) {
            return made.clone();
        }
        let DeclarationKind::Instance {
            arguments,
            name,
            initializer,
            ..
        } = &declaration.kind
        else {
            return Value::Nothing;
        };
        let Some(call) = self.checked.calls.get(&declaration.id) else {
            return Value::Nothing;
        };
        let prefix = self.instances[owner.0 as usize].name.clone();
        let full = names::external(&prefix, &declaration.annotations, &name.text);
        let outer = core::mem::replace(&mut self.instance, owner);
        let made = self.construct(
            call,
            arguments,
            Naming {
                name: full,
                annotations: &declaration.annotations,
                span: declaration.span,
                sites: self.applications.get(&declaration.id).copied().unwrap_or(0),
            },
        );
        self.made.insert((owner, declaration.id), made.clone());
        if let (Value::Instance(this), Some(initializer)) = (&made, initializer) {
            self.implement(*this, owner, initializer);
        }
        self.instance = outer;
        made
    }

    /// The type of the parser or control that a constructor makes. The names of what is in a block
    /// of the package begin with it, as in p4c's P4Info, whatever `@name` the type has.
    fn block_type(&self, call: &Call) -> Option<Arc<str>> {
        let Target::Constructor(id) = call.target else {
            return None;
        };
        match self.index.get(id) {
            Some(Node::Declaration(declaration)) => match declaration.kind {
                DeclarationKind::Parser(_) | DeclarationKind::Control(_) => {
                    Some(names::declared(declaration))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Notes the abstract methods that an object implements.
    fn implement(&mut self, this: InstanceId, owner: InstanceId, initializer: &'a [Declaration]) {
        let Made::Object(object) = self.made(this) else {
            return;
        };
        for declaration in initializer {
            match &declaration.kind {
                DeclarationKind::Function { prototype, body } => self.pending.push(Pending {
                    object,
                    this,
                    owner,
                    declaration,
                    prototype,
                    body,
                }),
                DeclarationKind::Instance { name, .. } => {
                    let outer = core::mem::replace(&mut self.instance, this);
                    let made = self.declared_instance(declaration);
                    self.instance = outer;
                    let _ = name;
                    self.instances[this.0 as usize]
                        .locals
                        .push((declaration.id, made));
                }
                _ => {}
            }
        }
    }

    /// The implementation of an abstract method of an object.
    pub fn implementation(&self, this: InstanceId, name: &str) -> Option<&'a Declaration> {
        self.pending
            .iter()
            .find(|p| p.this == this && &*p.prototype.name.text == name)
            .map(|p| p.declaration)
    }

    /// Lowers the abstract methods that objects implement.
    pub fn methods(&mut self) {
        let mut at = 0;
        while at < self.pending.len() {
            let Pending {
                object,
                this,
                owner,
                prototype,
                body,
                ..
            } = self.pending[at];
            at += 1;
            let outer = self.enter(owner);
            let locals = self.instances[this.0 as usize].locals.clone();
            for (id, value) in locals {
                self.bind(id, Binding::Value(value));
            }
            let label = format!(
                "{}.{}",
                self.instances[this.0 as usize].name, prototype.name.text
            );
            let mut parameters = Vec::new();
            let mut results = Vec::new();
            let result_type = self.type_of(prototype.result.id);
            let mut frame = Frame::new(FrameKind::Section, label.clone());
            let result = self.allocate(&format!("{label}.return"), &result_type, &[]);
            result.slots(&mut results);
            frame.result = Some((result, result_type));
            let lowered = self.aside(frame, |lowerer| {
                for parameter in &prototype.parameters {
                    let ty = lowerer.type_of(parameter.ty.id);
                    let storage = lowerer.local(parameter.id, &parameter.name.text, &ty);
                    storage.slots(&mut parameters);
                    if parameter.direction == ast::Direction::Out {
                        lowerer.begin(&storage);
                    }
                    if matches!(
                        parameter.direction,
                        ast::Direction::Out | ast::Direction::InOut
                    ) {
                        storage.slots(&mut results);
                    }
                    lowerer.bind(parameter.id, Binding::Storage(storage));
                }
                lowerer.bind_this(this);
                lowerer.body_block(body);
            });
            self.program.objects[object.index()]
                .methods
                .push(MethodBody {
                    name: prototype.name.text.clone(),
                    parameters,
                    results,
                    body: lowered,
                });
            self.instance = outer;
        }
    }

    /// The types that an extern was given, taken apart.
    fn object_types(&mut self, arguments: &[Type]) -> Vec<Vec<(Arc<str>, Ty)>> {
        arguments
            .iter()
            .map(|ty| {
                let mut list = Vec::new();
                self.flatten_type("", ty, &mut list, 0);
                list
            })
            .collect()
    }

    /// A type's scalars with the names of their fields.
    pub fn flatten_type(
        &mut self,
        name: &str,
        ty: &Type,
        into: &mut Vec<(Arc<str>, Ty)>,
        depth: u32,
    ) {
        if depth > super::MAX_DEPTH || into.len() > super::MAX_SLOTS {
            return;
        }
        match self.shape(ty) {
            Shape::Scalar(ty, _) => into.push((name.into(), ty)),
            Shape::Struct | Shape::Header | Shape::Union => {
                for (at, field) in self.fields(ty).into_iter().enumerate() {
                    let last = if field.name.is_empty() {
                        at.to_string()
                    } else {
                        field.name.to_string()
                    };
                    let name = if name.is_empty() {
                        last
                    } else {
                        format!("{name}.{last}")
                    };
                    self.flatten_type(&name, &field.ty, into, depth + 1);
                }
            }
            Shape::Stack(base, size) | Shape::Array(base, size) => {
                for at in 0..size {
                    self.flatten_type(&format!("{name}[{at}]"), &base, into, depth + 1);
                }
            }
            Shape::List(_) | Shape::Other => {}
        }
    }

    /// Runs a constructor.
    pub fn construct(
        &mut self,
        call: &'a Call,
        arguments: &'a [Argument],
        naming: Naming<'_>,
    ) -> Value {
        let Target::Constructor(id) = call.target else {
            return Value::Nothing;
        };
        if !self.deeper(naming.span) {
            return Value::Nothing;
        }
        let made = match self.index.get(id) {
            Some(Node::Method(method, declaration)) => self.construct_object(
                call,
                arguments,
                &method.prototype.parameters,
                declaration,
                naming,
            ),
            Some(Node::Declaration(declaration)) => match &declaration.kind {
                DeclarationKind::Extern { .. } => {
                    self.construct_object(call, arguments, &[], declaration, naming)
                }
                DeclarationKind::Parser(parser) => {
                    let parameters = &parser.constructor_parameters;
                    let types = parser.type_parameters.iter().map(|p| p.id).collect();
                    self.construct_block(call, arguments, parameters, types, declaration, naming)
                }
                DeclarationKind::Control(control) => {
                    let parameters = &control.constructor_parameters;
                    let types = control.type_parameters.iter().map(|p| p.id).collect();
                    self.construct_block(call, arguments, parameters, types, declaration, naming)
                }
                DeclarationKind::PackageType {
                    parameters,
                    type_parameters,
                    ..
                } => {
                    let types: Vec<NodeId> = type_parameters.iter().map(|p| p.id).collect();
                    let types = self.type_arguments(types, call);
                    let arguments =
                        self.constructor_arguments(call, arguments, parameters, &naming);
                    let mut instance = Instance::new(Made::Package(declaration), naming.name);
                    instance.arguments = arguments;
                    instance.types = types;
                    Value::Instance(self.add_instance(instance))
                }
                _ => Value::Nothing,
            },
            _ => Value::Nothing,
        };
        self.depth -= 1;
        made
    }

    fn type_arguments(&self, parameters: Vec<NodeId>, call: &Call) -> Vec<(NodeId, Type)> {
        let arguments = call
            .type_arguments
            .iter()
            .map(|ty| substitute(ty, &self.types));
        parameters.into_iter().zip(arguments).collect()
    }

    /// The arguments of a constructor by parameter; what is `@optional` and absent is left out.
    fn constructor_arguments(
        &mut self,
        call: &'a Call,
        arguments: &'a [Argument],
        parameters: &'a [Parameter],
        naming: &Naming<'_>,
    ) -> Vec<(NodeId, Value)> {
        let mut values = Vec::new();
        for (at, parameter) in parameters.iter().enumerate() {
            let ty = self.type_of(parameter.ty.id);
            let value = match call.arguments.get(at) {
                Some(Bound::Argument(argument)) => {
                    let Some(argument) = arguments.get(*argument) else {
                        continue;
                    };
                    self.constructor_argument(&argument.value, &parameter.name.text, naming)
                }
                Some(Bound::Default) | None => match &parameter.default {
                    Some(default) => self.eval(default),
                    None => continue,
                },
                Some(Bound::Absent) => continue,
            };
            let value = self.convert(value, &ty);
            values.push((parameter.id, value));
        }
        values
    }

    /// An argument of a constructor; a constructor call in it has the parameter's name, a parser or control given to a package its
    /// own.
    fn constructor_argument(
        &mut self,
        argument: &'a Expression,
        parameter: &str,
        naming: &Naming<'_>,
    ) -> Value {
        if let ast::ExpressionKind::Call { arguments, .. } = &argument.kind
            && let Some(call) = self.checked.calls.get(&argument.id)
            && let Target::Constructor(_) = call.target
        {
            let prefix = self.instances[self.instance.0 as usize].name.clone();
            let name = match self.block_type(call) {
                Some(name) if prefix.is_empty() => name.to_string(),
                _ if naming.name.is_empty() => parameter.to_string(),
                _ => format!("{}.{parameter}", naming.name),
            };
            return self.construct(
                call,
                arguments,
                Naming {
                    name,
                    annotations: &[],
                    span: argument.span,
                    sites: 1,
                },
            );
        }
        self.eval(argument)
    }

    fn construct_object(
        &mut self,
        call: &'a Call,
        arguments: &'a [Argument],
        parameters: &'a [Parameter],
        declaration: &'a Declaration,
        naming: Naming<'_>,
    ) -> Value {
        let DeclarationKind::Extern {
            type_parameters, ..
        } = &declaration.kind
        else {
            return Value::Nothing;
        };
        let types: Vec<NodeId> = type_parameters.iter().map(|p| p.id).collect();
        let types = self.type_arguments(types, call);
        self.types.extend(types.iter().cloned());
        let values = self.constructor_arguments(call, arguments, parameters, &naming);
        let mut constants = Vec::new();
        for (id, value) in &values {
            let Some(parameter) = parameters.iter().find(|p| p.id == *id) else {
                continue;
            };
            let ty = self.type_of(parameter.ty.id);
            match self.compile_time(value, &ty) {
                Some(constant) => constants.push((parameter.name.text.clone(), constant)),
                None => self.error(
                    "not-constant",
                    naming.span,
                    format!(
                        "the argument for {} is not known while compiling",
                        parameter.name.text
                    ),
                ),
            }
        }
        let flat: Vec<Type> = types.iter().map(|(_, ty)| ty.clone()).collect();
        let flat = self.object_types(&flat);
        let annotations = self.annotations(naming.annotations);
        let object = ObjectId(self.program.objects.len() as u32);
        self.program.objects.push(Object {
            name: naming.name.as_str().into(),
            kind: names::declared(declaration).into(),
            types: flat,
            arguments: constants,
            methods: Vec::new(),
            annotations,
        });
        let mut instance = Instance::new(Made::Object(object), naming.name);
        instance.types = types;
        instance.arguments = values;
        Value::Instance(self.add_instance(instance))
    }

    /// The instance that `C.apply(...)` makes.
    pub fn construct_implicit(
        &mut self,
        call: &Call,
        declaration: &'a Declaration,
        name: String,
        span: Span,
    ) -> Value {
        let types = match &declaration.kind {
            DeclarationKind::Parser(parser) => &parser.type_parameters,
            DeclarationKind::Control(control) => &control.type_parameters,
            _ => return Value::Nothing,
        };
        let types = self.type_arguments(types.iter().map(|p| p.id).collect(), call);
        if !self.deeper(span) {
            return Value::Nothing;
        }
        let made = self.add_block(
            types,
            Vec::new(),
            declaration,
            &Naming {
                name,
                annotations: &[],
                span,
                sites: 1,
            },
        );
        self.depth -= 1;
        made
    }

    fn construct_block(
        &mut self,
        call: &'a Call,
        arguments: &'a [Argument],
        parameters: &'a [Parameter],
        types: Vec<NodeId>,
        declaration: &'a Declaration,
        naming: Naming<'_>,
    ) -> Value {
        let types = self.type_arguments(types, call);
        self.types.extend(types.iter().cloned());
        let arguments = self.constructor_arguments(call, arguments, parameters, &naming);
        self.add_block(types, arguments, declaration, &naming)
    }

    fn add_block(
        &mut self,
        types: Vec<(NodeId, Type)>,
        arguments: Vec<(NodeId, Value)>,
        declaration: &'a Declaration,
        naming: &Naming<'_>,
    ) -> Value {
        let parent = &self.instances[self.instance.0 as usize];
        let shared = parent.shared || naming.sites > 1;
        let mut instance = Instance::new(Made::Block(declaration), naming.name.clone());
        instance.types = types;
        instance.arguments = arguments;
        instance.shared = shared;
        let id = self.add_instance(instance);
        let outer = self.enter(id);
        let locals = match &declaration.kind {
            DeclarationKind::Parser(parser) => &parser.locals,
            DeclarationKind::Control(control) => &control.locals,
            _ => return Value::Nothing,
        };
        for local in locals {
            let made = match &local.kind {
                DeclarationKind::Instance { .. } => self.declared_instance(local),
                DeclarationKind::ValueSet {
                    element,
                    size,
                    name,
                } => self.value_set(local, element, size, &name.text),
                _ => continue,
            };
            self.bind(local.id, Binding::Value(made.clone()));
            self.instances[id.0 as usize].locals.push((local.id, made));
        }
        self.instance = outer;
        Value::Instance(id)
    }

    fn value_set(
        &mut self,
        declaration: &'a Declaration,
        element: &'a ast::TypeExpression,
        size: &'a Expression,
        name: &str,
    ) -> Value {
        let ty = self.type_of(element.id);
        let mut fields = Vec::new();
        match self.shape(&ty) {
            Shape::Struct => {
                for (at, field) in self.fields(&ty).into_iter().enumerate() {
                    let kind = names::string_annotation(field.annotations, "match")
                        .unwrap_or_else(|| "exact".into());
                    let name = if field.name.is_empty() {
                        at.to_string()
                    } else {
                        field.name.to_string()
                    };
                    let mut list = Vec::new();
                    self.flatten_type(&name, &field.ty, &mut list, 0);
                    fields.extend(
                        list.into_iter()
                            .map(|(name, ty)| (name, ty, kind.as_str().into())),
                    );
                }
            }
            _ => {
                let kind = names::string_annotation(&declaration.annotations, "match")
                    .unwrap_or_else(|| "exact".into());
                let mut list = Vec::new();
                self.flatten_type("", &ty, &mut list, 0);
                fields.extend(
                    list.into_iter()
                        .map(|(name, ty)| (name, ty, kind.as_str().into())),
                );
            }
        }
        let value = self.eval(size);
        let size = self.small(&value).unwrap_or(0);
        let prefix = self.instances[self.instance.0 as usize].name.clone();
        let name = names::external(&prefix, &declaration.annotations, name);
        let annotations = self.annotations(&declaration.annotations);
        let id = ir::ValueSetId(self.program.value_sets.len() as u32);
        self.program.value_sets.push(ir::ValueSet {
            name: name.into(),
            fields,
            size,
            annotations,
        });
        Value::Set(id)
    }

    /// A number known while compiling.
    pub fn small(&self, value: &Value) -> Option<u32> {
        match value {
            Value::Integer(number) => u32::try_from(number).ok(),
            Value::Scalar(expr, _) => fold::as_constant(expr)?.to_u64()?.try_into().ok(),
            _ => None,
        }
    }

    /// A value as constructors and properties have it.
    pub fn compile_time(&mut self, value: &Value, ty: &Type) -> Option<Constant> {
        Some(match value {
            Value::Integer(number) => {
                let width = (number.bits() as u32 + 1).max(32);
                Constant::Bits(Bits::from_int(width, number))
            }
            Value::Scalar(expr, _) => {
                let bits = fold::as_constant(expr)?.clone();
                match self.shape(ty) {
                    Shape::Scalar(_, Some(enumeration)) => {
                        let members = &self.program.enumerations[enumeration.index()].members;
                        match members.iter().position(|(_, value)| *value == bits) {
                            Some(at) => Constant::Member(enumeration, at as u32),
                            None => Constant::Bits(bits),
                        }
                    }
                    _ => Constant::Bits(bits),
                }
            }
            Value::Text(text) => Constant::Text(text.clone()),
            Value::Instance(id) => match self.made(*id) {
                Made::Object(object) => Constant::Object(object),
                _ => return None,
            },
            Value::List(list, _) => {
                let types: Vec<Type> = match self.shape(ty) {
                    Shape::List(base) | Shape::Stack(base, _) | Shape::Array(base, _) => {
                        vec![base; list.len()]
                    }
                    _ => self.fields(ty).into_iter().map(|f| f.ty).collect(),
                };
                let mut constants = Vec::new();
                for (at, value) in list.iter().enumerate() {
                    let ty = types.get(at).unwrap_or(&Type::Unknown).clone();
                    constants.push(self.compile_time(value, &ty)?);
                }
                Constant::List(constants)
            }
            Value::Fields(list, _) => {
                let mut constants = Vec::new();
                for (_, value) in list {
                    constants.push(self.compile_time(value, &Type::Unknown)?);
                }
                Constant::List(constants)
            }
            Value::Header { fields, .. } => {
                let types = self.fields(ty);
                let mut constants = Vec::new();
                for (value, field) in fields.iter().zip(types) {
                    constants.push(self.compile_time(value, &field.ty)?);
                }
                Constant::List(constants)
            }
            _ => return None,
        })
    }

    /// The slots that all parts of a storage have, with the paths of their fields.
    pub fn paths(&self, storage: &super::storage::Storage, root: &str) -> Vec<(Arc<str>, SlotId)> {
        let mut slots = Vec::new();
        storage.slots(&mut slots);
        slots
            .into_iter()
            .map(|slot| {
                let name = &self.program.slots[slot.index()].name;
                let path = name
                    .strip_prefix(root)
                    .map_or(&**name, |rest| rest.strip_prefix('.').unwrap_or(rest));
                (path.into(), slot)
            })
            .collect()
    }
}

/// How something that is constructed is named.
pub(super) struct Naming<'n> {
    pub name: String,
    pub annotations: &'n [ast::Annotation],
    pub span: Span,
    /// In how many places it is applied.
    pub sites: u32,
}
