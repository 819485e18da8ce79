//! The package that `main` instantiates: each parser and control given to it is a section.

use super::elaborate::Made;
use super::index::Node;
use super::nic::Nic;
use super::storage::Storage;
use super::types::substitute;
use super::values::{InstanceId, Value};
use super::{Binding, Frame, FrameKind, Lowerer, names};
use crate::ast::{Declaration, DeclarationKind, Direction, NodeId, Parameter};
use crate::ir::{Role, Section, SectionKind, SectionParameter, SlotId, Terminator, Ty};
use crate::types::Type;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// What makes two parameters of a package's blocks the same thing: the package's type parameter that both have, or the type.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Shared {
    TypeParameter(NodeId),
    Type(Type),
}

/// The storage that one block of a package hands to the next.
type Handed = BTreeMap<Shared, (Storage, String)>;

impl<'a> Lowerer<'a> {
    pub fn sections(&mut self, main: NodeId) {
        let Some(Node::Declaration(main)) = self.index.get(main) else {
            return;
        };
        // Externs at the top level exist whether a section names them or not.
        for declaration in &self.checked.program.declarations {
            if declaration.id != main.id
                && let DeclarationKind::Instance { ty, .. } = &declaration.kind
                && let Type::Object(id, _) = self.type_of(ty.id)
                && let Some(Node::Declaration(of)) = self.index.get(id)
                && matches!(of.kind, DeclarationKind::Extern { .. })
            {
                self.declared_instance(declaration);
            }
        }
        let Value::Instance(package) = self.declared_instance(main) else {
            return;
        };
        if let Made::Package(declaration) = self.made(package) {
            self.program.architecture = names::declared(declaration).into();
        }
        self.package(package, "", 0);
        self.methods();
    }

    fn package(&mut self, package: InstanceId, path: &str, depth: u32) {
        let Made::Package(declaration) = self.made(package) else {
            return;
        };
        if depth > super::MAX_DEPTH {
            return;
        }
        let DeclarationKind::PackageType { parameters, .. } = &declaration.kind else {
            return;
        };
        let mut handed = Handed::new();
        let arguments = self.instances[package.0 as usize].arguments.clone();
        for parameter in parameters {
            let given = arguments.iter().find(|(id, _)| *id == parameter.id);
            let Some((_, Value::Instance(instance))) = given else {
                continue;
            };
            let role = if path.is_empty() {
                String::from(&*parameter.name.text)
            } else {
                format!("{path}.{}", parameter.name.text)
            };
            match self.made(*instance) {
                Made::Package(_) => self.package(*instance, &role, depth + 1),
                Made::Block(block) => {
                    let roles = self.roles(parameter);
                    self.section(*instance, block, &role, path, &roles, &mut handed);
                }
                _ => {}
            }
        }
    }

    /// The parameters of the block type that a package's parameter has, in terms of the package's type parameters.
    fn roles(&self, parameter: &Parameter) -> Vec<Option<Shared>> {
        let Some(Type::Object(id, arguments)) = self.checked.types.get(&parameter.ty.id) else {
            return Vec::new();
        };
        let Some(Node::Declaration(declaration)) = self.index.get(*id) else {
            return Vec::new();
        };
        let (types, parameters) = match &declaration.kind {
            DeclarationKind::ParserType {
                type_parameters,
                parameters,
                ..
            }
            | DeclarationKind::ControlType {
                type_parameters,
                parameters,
                ..
            } => (type_parameters, parameters),
            DeclarationKind::Parser(parser) => (&parser.type_parameters, &parser.parameters),
            DeclarationKind::Control(control) => (&control.type_parameters, &control.parameters),
            _ => return Vec::new(),
        };
        let with: BTreeMap<NodeId, Type> = types
            .iter()
            .map(|p| p.id)
            .zip(arguments.iter().cloned())
            .collect();
        parameters
            .iter()
            .map(|p| {
                let ty = substitute(self.checked.types.get(&p.ty.id)?, &with);
                Some(match ty {
                    Type::Parameter(id) => Shared::TypeParameter(id),
                    Type::Name(inner) => Shared::Type(*inner),
                    ty => Shared::Type(ty),
                })
            })
            .collect()
    }

    fn section(
        &mut self,
        instance: InstanceId,
        block: &'a Declaration,
        role: &str,
        path: &str,
        roles: &[Option<Shared>],
        handed: &mut Handed,
    ) {
        let (kind, parameters) = match &block.kind {
            DeclarationKind::Parser(parser) => (SectionKind::Parser, &parser.parameters),
            DeclarationKind::Control(control) => (SectionKind::Control, &control.parameters),
            _ => return,
        };
        self.enter(instance);
        let label = self.instances[instance.0 as usize].name.clone();
        let mut made = Vec::new();
        let mut begins = Vec::new();
        for (at, parameter) in parameters.iter().enumerate() {
            let ty = self.type_of(parameter.ty.id);
            let name = if path.is_empty() {
                String::from(&*parameter.name.text)
            } else {
                format!("{path}.{}", parameter.name.text)
            };
            if let Some(object) = self.given_object(&ty, &name) {
                self.bind(parameter.id, Binding::Value(object));
                continue;
            }
            let role = roles.get(at).cloned().flatten();
            // What an earlier block of the package made is handed on, unless this block begins with a new one.
            let known = match (&role, parameter.direction) {
                (Some(role), Direction::In | Direction::InOut | Direction::None) => {
                    handed.get(role).cloned()
                }
                _ => None,
            };
            let (storage, root) = match known {
                Some(known) => known,
                None => {
                    let name = self.free_name(&name, &label);
                    let storage = self.allocate(&name, &ty, &parameter.annotations);
                    let root = match &storage {
                        Storage::Scalar(slot) => {
                            String::from(&*self.program.slots[slot.index()].name)
                        }
                        _ => name,
                    };
                    (storage, root)
                }
            };
            if let Some(role) = role
                && matches!(parameter.direction, Direction::Out | Direction::InOut)
            {
                handed.insert(role, (storage.clone(), root.clone()));
            }
            if parameter.direction == Direction::Out {
                begins.push(storage.clone());
            }
            made.push(SectionParameter {
                name: parameter.name.text.clone(),
                ty: self.type_name(&ty),
                direction: parameter.direction,
                fields: self.paths(&storage, &root),
            });
            self.bind(parameter.id, Binding::Storage(storage));
        }
        let error = (kind == SectionKind::Parser).then(|| self.error_slot(&made, &label));
        let role = Role::of(&self.program.architecture, role);
        if role == Role::MainControl {
            self.nic = Some(Nic::new(self));
        }
        let outer = core::mem::replace(&mut self.error, error);
        let body = self.aside(
            Frame::new(FrameKind::Section, label.clone()),
            |lowerer| match &block.kind {
                DeclarationKind::Parser(parser) => {
                    lowerer.body.span = block.span;
                    let fail = lowerer.body.named("reject");
                    let accept = lowerer.body.named("accept");
                    lowerer.body.fail = Some(fail);
                    for storage in &begins {
                        lowerer.begin(storage);
                    }
                    lowerer.parser_body(parser, accept, "");
                    lowerer.body.go(accept);
                    lowerer.body.terminate(Terminator::Return);
                    lowerer.body.go(fail);
                    lowerer.body.terminate(Terminator::Reject);
                }
                DeclarationKind::Control(control) => {
                    for storage in &begins {
                        lowerer.begin(storage);
                    }
                    lowerer.control_body(control);
                }
                _ => {}
            },
        );
        self.error = outer;
        self.instance = InstanceId(0);
        if let (Some(nic), Some(output)) = (self.nic.take(), made.last_mut()) {
            output.fields.extend(nic.fields());
        }
        self.program.sections.push(Section {
            name: names::declared(block),
            role,
            kind,
            parameters: made,
            body,
            error,
        });
    }

    /// A name for a section's parameter that no variable has: with the section's before it where it is taken.
    fn free_name(&mut self, name: &str, label: &str) -> String {
        if !self.roots.insert(name.into()) {
            let longer = format!("{label}.{name}");
            if !self.roots.insert(longer.as_str().into()) {
                return String::from(&*self.unique(&longer));
            }
            return longer;
        }
        name.into()
    }

    /// Where the parser's error goes: into the architecture's metadata where that has a place for it.
    fn error_slot(&mut self, parameters: &[SectionParameter], label: &str) -> SlotId {
        for parameter in parameters {
            let found = parameter.fields.iter().find(|(path, slot)| {
                &**path == "parser_error"
                    && self.program.slots[slot.index()].ty == Ty::Bits(32)
                    && self.program.slots[slot.index()]
                        .enumeration
                        .is_some_and(|e| e.0 == 0)
            });
            if let Some((_, slot)) = found
                && matches!(parameter.direction, Direction::InOut | Direction::Out)
            {
                return *slot;
            }
        }
        let slot = self.slot(&format!("{label}.$error"), Ty::Bits(32));
        self.program.slots[slot.index()].enumeration = Some(crate::ir::EnumId(0));
        slot
    }
}
