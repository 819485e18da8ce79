//! Types as controllers see them.

use super::Notes;
use super::declarations::{Declarations, annotation, declared_name, name, notes, strings};
use crate::ast::{
    AnnotationBody, CompositeKind, Declaration, DeclarationKind, NodeId, TypeParameter,
};
use crate::check::Checked;
use crate::token::integer;
use crate::types::{Constant, Type, specialized};
use crate::value::Bits;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// A type. Those with names are described in [`TypeInfo`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataType {
    /// `bit<W>`
    Bits(u32),
    /// `int<W>`
    Signed(u32),
    /// `varbit<W>`
    Varbit(u32),
    /// `bool`
    Bool,
    /// `tuple<...>`
    Tuple(Vec<DataType>),
    Struct(Arc<str>),
    Header(Arc<str>),
    /// A header union.
    Union(Arc<str>),
    /// A stack of headers.
    Stack(Arc<str>, u32),
    /// A stack of header unions.
    UnionStack(Arc<str>, u32),
    /// An enum without an underlying type.
    Enum(Arc<str>),
    /// `error`
    Error,
    /// An enum with an underlying type.
    SerializableEnum(Arc<str>),
    /// Made by `type`.
    New(Arc<str>),
}

/// What a type made by `type` is for the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewType {
    /// The type it is made of.
    Original(DataType),
    /// `@p4runtime_translation`: the controller's own type, of so many bits or a string, by a URI.
    Translated(Arc<str>, Option<u32>),
}

/// Members, each with what it is.
pub type Members<T> = Vec<(Arc<str>, T)>;

/// The named types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeInfo {
    /// Structs.
    pub structs: BTreeMap<Arc<str>, Members<DataType>>,
    /// Headers; structs in them are taken apart.
    pub headers: BTreeMap<Arc<str>, Members<DataType>>,
    /// Header unions: members and their headers.
    pub unions: BTreeMap<Arc<str>, Members<Arc<str>>>,
    /// Enums.
    pub enums: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    /// The members of `error`, if anything has this type.
    pub error: Option<Vec<Arc<str>>>,
    /// Enums with an underlying type: its width, and the members' values.
    pub serializable_enums: BTreeMap<Arc<str>, (u32, Members<Bits>)>,
    /// Types made by `type`.
    pub new_types: BTreeMap<Arc<str>, (NewType, Notes)>,
}

/// Maximum nesting depth of types that are followed.
const MAX_DEPTH: u32 = 64;

/// Describes types, and remembers the named ones.
pub(super) struct Converter<'a> {
    pub(super) checked: &'a Checked,
    pub(super) declarations: &'a Declarations<'a>,
    pub(super) info: TypeInfo,
}

type Arguments = BTreeMap<NodeId, Type>;

impl Converter<'_> {
    /// Describes a type; nothing is said of types that are no data.
    pub(super) fn convert(&mut self, ty: &Type) -> Option<DataType> {
        self.with(ty, &Arguments::new(), 0)
    }

    fn with(&mut self, ty: &Type, arguments: &Arguments, depth: u32) -> Option<DataType> {
        if depth > MAX_DEPTH {
            return None;
        }
        Some(match ty {
            Type::Bool => DataType::Bool,
            Type::Bits(width) => DataType::Bits(*width),
            Type::Signed(width) => DataType::Signed(*width),
            Type::Varbit(width) => DataType::Varbit(*width),
            Type::Error => {
                self.errors();
                DataType::Error
            }
            Type::Tuple(parts) => {
                let parts = parts
                    .iter()
                    .map(|part| self.with(part, arguments, depth + 1));
                DataType::Tuple(parts.collect::<Option<_>>()?)
            }
            Type::Fields(fields) => {
                let parts = fields
                    .iter()
                    .map(|(_, part)| self.with(part, arguments, depth + 1));
                DataType::Tuple(parts.collect::<Option<_>>()?)
            }
            Type::Parameter(id) => {
                let ty = arguments.get(id)?.clone();
                self.with(&ty, &Arguments::new(), depth + 1)?
            }
            Type::Stack(element, size) => match self.with(element, arguments, depth + 1)? {
                DataType::Header(name) => DataType::Stack(name, *size),
                DataType::Union(name) => DataType::UnionStack(name, *size),
                _ => return None,
            },
            Type::Composite(id, given) => self.composite(*id, given, arguments, depth)?,
            Type::Enum(id) => self.enumeration(*id)?,
            Type::New(id) => self.new_type(*id, depth)?,
            Type::Name(inner) => self.with(inner, arguments, depth + 1)?,
            _ => return None,
        })
    }

    fn composite(
        &mut self,
        id: NodeId,
        given: &[Type],
        outer: &Arguments,
        depth: u32,
    ) -> Option<DataType> {
        let declaration = self.declarations.by_id(id)?;
        let DeclarationKind::Composite {
            kind,
            type_parameters,
            fields,
            ..
        } = &declaration.kind
        else {
            return None;
        };
        let arguments = bind(type_parameters, given, outer);
        let name = self.specialized(declaration, type_parameters, &arguments);
        match kind {
            CompositeKind::Struct => {
                if !self.info.structs.contains_key(&name) {
                    // Structs cannot contain themselves, so that nobody comes back here for this name.
                    let mut members = Vec::new();
                    for field in fields {
                        let ty = self.checked.types.get(&field.id)?.clone();
                        let member =
                            super::declarations::control_name(&field.name.text, &field.annotations);
                        members.push((member.into(), self.with(&ty, &arguments, depth + 1)?));
                    }
                    self.info.structs.insert(name.clone(), members);
                }
                Some(DataType::Struct(name))
            }
            CompositeKind::Header => {
                if !self.info.headers.contains_key(&name) {
                    let mut members = Vec::new();
                    self.flatten(declaration, &arguments, "", &mut members, depth)?;
                    self.info.headers.insert(name.clone(), members);
                }
                Some(DataType::Header(name))
            }
            CompositeKind::Union => {
                if !self.info.unions.contains_key(&name) {
                    let mut members = Vec::new();
                    for field in fields {
                        let ty = self.checked.types.get(&field.id)?.clone();
                        let DataType::Header(header) = self.with(&ty, &arguments, depth + 1)?
                        else {
                            return None;
                        };
                        members.push((field.name.text.clone(), header));
                    }
                    self.info.unions.insert(name.clone(), members);
                }
                Some(DataType::Union(name))
            }
        }
    }

    /// The name of a struct, header or union. A generic one without `@name` has its arguments in
    /// it, as p4c writes them: `S_bit32` for `S<bit<32>>`.
    fn specialized(
        &self,
        declaration: &Declaration,
        parameters: &[TypeParameter],
        arguments: &Arguments,
    ) -> Arc<str> {
        if annotation(&declaration.annotations, "name").is_some() {
            return declared_name(declaration);
        }
        let given: Vec<Type> = parameters
            .iter()
            .filter_map(|p| arguments.get(&p.id).cloned())
            .collect();
        let own = |id: NodeId| -> Arc<str> {
            self.declarations
                .by_id(id)
                .and_then(name)
                .unwrap_or("")
                .into()
        };
        specialized(name(declaration).unwrap_or(""), &given, &own).into()
    }

    /// The name of a struct or header as a type that a digest has.
    pub(super) fn composite_name(&self, ty: &Type) -> Option<Arc<str>> {
        let Type::Composite(id, given) = ty else {
            return None;
        };
        let declaration = self.declarations.by_id(*id)?;
        let DeclarationKind::Composite {
            type_parameters, ..
        } = &declaration.kind
        else {
            return None;
        };
        let arguments = bind(type_parameters, given, &Arguments::new());
        Some(self.specialized(declaration, type_parameters, &arguments))
    }

    /// The fields of a header, with those of structs in it.
    fn flatten(
        &mut self,
        declaration: &Declaration,
        arguments: &Arguments,
        path: &str,
        members: &mut Vec<(Arc<str>, DataType)>,
        depth: u32,
    ) -> Option<()> {
        let DeclarationKind::Composite { fields, .. } = &declaration.kind else {
            return None;
        };
        if depth > MAX_DEPTH {
            return None;
        }
        for field in fields {
            let ty = self.checked.types.get(&field.id)?.clone();
            let name = super::declarations::control_name(&field.name.text, &field.annotations);
            let name = format!("{path}{name}");
            if let Type::Composite(inner, given) = &ty {
                let inner = self.declarations.by_id(*inner)?;
                let DeclarationKind::Composite {
                    type_parameters, ..
                } = &inner.kind
                else {
                    return None;
                };
                let arguments = bind(type_parameters, given, arguments);
                self.flatten(inner, &arguments, &format!("{name}."), members, depth + 1)?;
                continue;
            }
            let ty = match self.with(&ty, arguments, depth + 1)? {
                bits @ (DataType::Bits(_) | DataType::Signed(_) | DataType::Varbit(_)) => bits,
                // In a header a controller sees bits only.
                _ => DataType::Bits(self.width(&ty)?),
            };
            members.push((name.into(), ty));
        }
        Some(())
    }

    fn enumeration(&mut self, id: NodeId) -> Option<DataType> {
        let declaration = self.declarations.by_id(id)?;
        let DeclarationKind::Enum {
            underlying,
            members,
            ..
        } = &declaration.kind
        else {
            return None;
        };
        let name = declared_name(declaration);
        let Some(underlying) = underlying else {
            let members = members.iter().map(|member| member.name.text.clone());
            self.info
                .enums
                .entry(name.clone())
                .or_insert_with(|| members.collect());
            return Some(DataType::Enum(name));
        };
        let ty = self.checked.types.get(&underlying.id)?.clone();
        let width = self.width(&ty)?;
        let members =
            members
                .iter()
                .filter_map(|member| match self.checked.constants.get(&member.id)? {
                    Constant::Integer(value) => {
                        Some((member.name.text.clone(), Bits::from_int(width, value)))
                    }
                    _ => None,
                });
        let members = members.collect();
        self.info
            .serializable_enums
            .entry(name.clone())
            .or_insert((width, members));
        Some(DataType::SerializableEnum(name))
    }

    fn new_type(&mut self, id: NodeId, depth: u32) -> Option<DataType> {
        let declaration = self.declarations.by_id(id)?;
        let name = declared_name(declaration);
        if !self.info.new_types.contains_key(&name) {
            let new = match translation(declaration) {
                Some((uri, width)) => NewType::Translated(uri, width),
                None => {
                    let mut ty = self.checked.types.get(&id)?.clone();
                    for _ in 0..MAX_DEPTH {
                        let Type::New(inner) = ty else { break };
                        ty = self.checked.types.get(&inner)?.clone();
                    }
                    NewType::Original(self.with(&ty, &Arguments::new(), depth + 1)?)
                }
            };
            let notes = notes(&declaration.annotations, &["p4runtime_translation"]);
            self.info.new_types.insert(name.clone(), (new, notes));
        }
        Some(DataType::New(name))
    }

    fn errors(&mut self) {
        if self.info.error.is_some() {
            return;
        }
        let mut names = Vec::new();
        for declaration in self.declarations.all() {
            if let DeclarationKind::Error { members } = &declaration.kind {
                names.extend(members.iter().map(|member| member.name.text.clone()));
            }
        }
        self.info.error = Some(names);
    }

    /// How many bits a controller gives for a value; 0 where it gives a string.
    pub(super) fn width(&self, ty: &Type) -> Option<u32> {
        let mut ty = ty.clone();
        for depth in 0..MAX_DEPTH {
            ty = match ty {
                Type::Bool => return Some(1),
                Type::Bits(width) | Type::Signed(width) | Type::Varbit(width) => {
                    return Some(width);
                }
                Type::Error => return Some(0),
                Type::New(id) => {
                    // A type made of a translated one is not translated itself.
                    if depth == 0
                        && let Some((_, width)) = self.declarations.by_id(id).and_then(translation)
                    {
                        return Some(width.unwrap_or(0));
                    }
                    self.checked.types.get(&id)?.clone()
                }
                Type::Enum(id) => match &self.declarations.by_id(id)?.kind {
                    DeclarationKind::Enum {
                        underlying: Some(underlying),
                        ..
                    } => self.checked.types.get(&underlying.id)?.clone(),
                    _ => return Some(0),
                },
                Type::Name(inner) => *inner,
                _ => return None,
            };
        }
        None
    }

    /// The name of a type that was made by `type`.
    pub(super) fn new_name(&self, ty: &Type) -> Option<Arc<str>> {
        match ty {
            Type::New(id) => Some(declared_name(self.declarations.by_id(*id)?)),
            _ => None,
        }
    }
}

fn bind(parameters: &[TypeParameter], given: &[Type], outer: &Arguments) -> Arguments {
    let bound = parameters.iter().zip(given).map(|(parameter, ty)| {
        let ty = match ty {
            Type::Parameter(id) => outer.get(id).unwrap_or(ty),
            Type::Stack(element, size) => match &**element {
                Type::Parameter(id) => {
                    let element = outer.get(id).unwrap_or(element).clone();
                    return (parameter.id, Type::Stack(Box::new(element), *size));
                }
                _ => ty,
            },
            ty => ty,
        };
        (parameter.id, ty.clone())
    });
    bound.collect()
}

/// `@p4runtime_translation("uri", bit<W>)`, `("uri", W)`, `("uri", string)`.
fn translation(declaration: &Declaration) -> Option<(Arc<str>, Option<u32>)> {
    let annotation = annotation(&declaration.annotations, "p4runtime_translation")?;
    let AnnotationBody::Tokens(tokens) = &annotation.body else {
        return None;
    };
    let comma = tokens.iter().position(|token| &**token == ",")?;
    let uri = strings(&tokens[..comma])?;
    let width = match tokens.get(comma + 1).map(|token| &**token)? {
        "string" => None,
        "bit" => match tokens.get(comma + 3) {
            Some(width) => Some(u32::try_from(integer(width)?).ok()?),
            None => Some(1),
        },
        width => Some(u32::try_from(integer(width)?).ok()?),
    };
    Some((uri.into(), width))
}
