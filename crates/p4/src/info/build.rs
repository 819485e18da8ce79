//! From a program to its description.

use super::declarations::{Declarations, annotation, control_name, declared_name, id, notes};
use super::ids::{Ids, Kind, local};
use super::objects::Objects;
use super::types::{Converter, DataType, TypeInfo};
use super::{
    Action, ActionProfile, ActionRef, Array, ControllerHeader, Digest, Direct, Field, Info, Notes,
    Preamble, Register, Scope, Semantics, Table, ValueSet, package,
};
use crate::ast::{
    Annotation, CompositeKind, Declaration, DeclarationKind, Expression, ExpressionKind,
    TablePropertyKind,
};
use crate::check::{Checked, Target};
use crate::ir::{self, Constant, Extern, MatchKind, Object, ObjectId, Program};
use crate::types::Type;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// Maximum nesting depth of structs that are followed.
const MAX_DEPTH: u32 = 64;

/// Number of entries of a table without `size`.
const DEFAULT_SIZE: u64 = 1024;

/// Describes a program, which was checked and lowered.
#[must_use]
pub fn describe(checked: &Checked, program: &Program) -> Info {
    let declarations = Declarations::new(&checked.program);
    let mut builder = Builder {
        converter: Converter {
            checked,
            declarations: &declarations,
            info: TypeInfo::default(),
        },
        checked,
        declarations: &declarations,
        objects: Objects::new(checked, program, &declarations),
        program,
        ids: Ids::default(),
    };
    builder.number();
    builder.build()
}

struct Builder<'a> {
    converter: Converter<'a>,
    checked: &'a Checked,
    declarations: &'a Declarations<'a>,
    objects: Objects<'a>,
    program: &'a Program,
    ids: Ids,
}

fn object_kind(object: &Object) -> Option<Kind> {
    Some(match &object.kind {
        Extern::Counter(_) => Kind::Counter,
        Extern::DirectCounter(_) => Kind::DirectCounter,
        Extern::Meter(_) => Kind::Meter,
        Extern::DirectMeter(_) => Kind::DirectMeter,
        Extern::Register(_) => Kind::Register,
        Extern::ActionProfile(_) | Extern::ActionSelector(_) => Kind::ActionProfile,
        Extern::Digest => Kind::Digest,
        Extern::Hash
        | Extern::Checksum
        | Extern::InternetChecksum
        | Extern::Checksum16
        | Extern::Random
        | Extern::PacketReplicationEngine
        | Extern::BufferingQueueingEngine
        | Extern::Own(_) => return None,
    })
}

/// What is hidden from controllers.
fn hidden(annotations: &[ir::Annotation]) -> bool {
    annotations
        .iter()
        .any(|annotation| &*annotation.name == "hidden")
}

/// A field of a controller header.
struct Leaf<'a> {
    name: String,
    ty: Option<&'a Type>,
    /// Its own annotations, then those of the structs that it is in.
    annotations: Vec<&'a [Annotation]>,
}

impl<'a> Builder<'a> {
    /// Numbers come of all names together.
    fn number(&mut self) {
        for table in &self.program.tables {
            let requested = self
                .table_declaration(&table.name)
                .and_then(|d| id(self.checked, &d.annotations));
            self.ids.add(Kind::Table, &table.name, requested);
            for listed in &table.actions {
                let name = &self.program.actions[listed.action.index()].name;
                let requested = self
                    .action_declaration(name)
                    .and_then(|d| id(self.checked, &d.annotations));
                self.ids.add(Kind::Action, name, requested);
            }
        }
        for (name, declaration) in self.objects.called.clone() {
            self.ids.add(
                Kind::Action,
                &name,
                id(self.checked, &declaration.annotations),
            );
        }
        for set in &self.program.value_sets {
            let requested = self
                .value_set_declaration(&set.name)
                .and_then(|d| id(self.checked, &d.annotations));
            self.ids.add(Kind::ValueSet, &set.name, requested);
        }
        for object in &self.program.objects {
            if let Some(kind) = object_kind(object) {
                let requested = id(self.checked, self.object_annotations(&object.name));
                self.ids.add(kind, &object.name, requested);
            }
        }
        for declaration in self.declarations.all() {
            if controller_name(declaration).is_some() {
                let name = declared_name(declaration);
                self.ids.add(
                    Kind::ControllerHeader,
                    &name,
                    id(self.checked, &declaration.annotations),
                );
            }
        }
        for (name, _) in self.digest_calls() {
            self.ids.add(Kind::Digest, &name, None);
        }
        self.ids.finish();
    }

    fn build(mut self) -> Info {
        let mut info = Info {
            package: self.package(),
            ..Info::default()
        };
        for table in &self.program.tables {
            if !hidden(&table.annotations) {
                let table = self.table(table);
                info.tables.push(table);
            }
        }
        info.actions = self.actions();
        for (index, object) in self.program.objects.iter().enumerate() {
            self.object(ObjectId(index as u32), object, &mut info);
        }
        for set in &self.program.value_sets {
            let set = self.value_set(set);
            info.value_sets.push(set);
        }
        for declaration in self.declarations.all() {
            if let Some(header) = self.controller_header(declaration) {
                info.controller_headers.push(header);
            }
        }
        for (name, ty) in self.digest_calls() {
            let Some(ty) = self.converter.convert(&ty) else {
                continue;
            };
            let preamble = self.preamble(Kind::Digest, &name, Notes::default());
            info.digests.push(Digest { preamble, ty });
        }
        info.types = self.converter.info;
        info
    }

    fn package(&self) -> super::Package {
        let main = self.checked.main.and_then(|id| self.declarations.by_id(id));
        let annotations = main.map_or(&[][..], |main| &main.annotations);
        package::describe(&self.program.architecture, annotations)
    }

    fn preamble(&self, kind: Kind, name: &Arc<str>, notes: Notes) -> Preamble {
        Preamble {
            id: self.ids.get(kind, name),
            name: name.clone(),
            alias: self.ids.alias(name),
            notes,
        }
    }

    fn table_declaration(&self, name: &str) -> Option<&'a Declaration> {
        self.objects
            .find(name, |d| matches!(d.kind, DeclarationKind::Table(_)))
    }

    fn action_declaration(&self, name: &str) -> Option<&'a Declaration> {
        self.objects
            .find(name, |d| matches!(d.kind, DeclarationKind::Action { .. }))
    }

    fn instance_declaration(&self, name: &str) -> Option<&'a Declaration> {
        self.objects
            .find(name, |d| matches!(d.kind, DeclarationKind::Instance { .. }))
    }

    /// The annotations of an object: of its declaration, or of the property in which it is made.
    fn object_annotations(&self, name: &str) -> &'a [Annotation] {
        match self.instance_declaration(name) {
            Some(declaration) => &declaration.annotations,
            None => self
                .objects
                .property(name)
                .map_or(&[], |property| &property.annotations),
        }
    }

    fn value_set_declaration(&self, name: &str) -> Option<&'a Declaration> {
        self.objects
            .find(name, |d| matches!(d.kind, DeclarationKind::ValueSet { .. }))
    }

    /// Describes the type, so that its names are among the types.
    fn field(
        &mut self,
        id: u32,
        name: Arc<str>,
        ty: Option<&Type>,
        width: u32,
        notes: Notes,
    ) -> Field {
        let (mut bitwidth, mut type_name) = (width, None);
        if let Some(ty) = ty {
            let data = self.converter.convert(ty);
            bitwidth = self.converter.width(ty).unwrap_or(width);
            type_name = self.converter.new_name(ty);
            if let Some(DataType::Enum(name)) = data {
                type_name = Some(name);
            }
        }
        Field {
            id,
            name,
            width: bitwidth,
            match_kind: None,
            type_name,
            notes,
        }
    }

    fn table(&mut self, table: &ir::Table) -> Table {
        let declaration = self.table_declaration(&table.name);
        let annotations = declaration.map_or(&[][..], |d| &d.annotations);
        let properties = match declaration.map(|d| &d.kind) {
            Some(DeclarationKind::Table(tree)) => &tree.properties[..],
            _ => &[],
        };
        let keys = properties.iter().find_map(|property| match &property.kind {
            TablePropertyKind::Key(keys) if keys.len() == table.keys.len() => Some(&keys[..]),
            _ => None,
        });
        let references = properties.iter().find_map(|property| match &property.kind {
            TablePropertyKind::Actions(list) => Some(&list[..]),
            _ => None,
        });
        let requested: Vec<Option<u32>> = (0..table.keys.len())
            .map(|index| keys.and_then(|keys| id(self.checked, &keys[index].annotations)))
            .collect();
        let mut match_fields = Vec::new();
        for ((index, key), number) in table.keys.iter().enumerate().zip(local(&requested)) {
            if key.match_kind == MatchKind::Selector {
                continue;
            }
            let tree = keys.map(|keys| &keys[index]);
            let ty = tree.and_then(|tree| self.checked.types.get(&tree.expression.id));
            let notes = tree.map_or_else(Notes::default, |tree| notes(&tree.annotations, &[]));
            let field = self.field(number, key.name.clone(), ty, key.ty.width(), notes);
            match_fields.push(Field {
                match_kind: Some(key.match_kind.clone()),
                ..field
            });
        }
        let actions = table
            .actions
            .iter()
            .enumerate()
            .map(|(index, listed)| ActionRef {
                id: self.action_id(listed),
                scope: match (listed.table_only, listed.default_only) {
                    (true, _) => Scope::TableOnly,
                    (_, true) => Scope::DefaultOnly,
                    _ => Scope::Both,
                },
                notes: match references.and_then(|references| references.get(index)) {
                    Some(tree) => notes(&tree.annotations, &[]),
                    // Nobody wrote it: it stands for the default action that the program leaves out.
                    None => Notes {
                        annotations: vec!["@defaultonly".into()],
                        ..Notes::default()
                    },
                },
            })
            .collect();
        let default_action = table
            .actions
            .get(table.default.action as usize)
            .map(|listed| {
                let action = &self.program.actions[listed.action.index()];
                let numbers = local(&self.requested_ids(action));
                let arguments = numbers
                    .into_iter()
                    .zip(table.default.arguments.iter().cloned());
                (self.action_id(listed), arguments.collect())
            });
        let implementation = table
            .implementation
            .map(|object| self.ids.get(Kind::ActionProfile, self.object_name(object)));
        let direct = table.direct.iter().filter_map(|object| {
            let object = &self.program.objects[object.index()];
            Some(self.ids.get(object_kind(object)?, &object.name))
        });
        Table {
            match_fields,
            actions,
            default_action,
            const_default: table.const_default,
            implementation,
            direct: direct.collect(),
            size: match table.size {
                None | Some(0) => DEFAULT_SIZE,
                Some(size) => u64::from(size),
            },
            idle_timeout: table.idle_timeout,
            is_const: table.const_entries,
            has_entries: !table.entries.is_empty(),
            preamble: self.preamble(Kind::Table, &table.name, notes(annotations, &[])),
        }
    }

    fn object_name(&self, object: ObjectId) -> &str {
        &self.program.objects[object.index()].name
    }

    fn action_id(&self, listed: &ir::TableAction) -> u32 {
        self.ids.get(
            Kind::Action,
            &self.program.actions[listed.action.index()].name,
        )
    }

    fn requested_ids(&self, action: &ir::Action) -> Vec<Option<u32>> {
        let parameters = self.parameters(&action.name);
        let requested = |name: &str| {
            let found = parameters.iter().find(|parameter| {
                control_name(&parameter.name.text, &parameter.annotations) == name
                    || &*parameter.name.text == name
            });
            found.and_then(|parameter| id(self.checked, &parameter.annotations))
        };
        action
            .parameters
            .iter()
            .map(|(name, ..)| requested(name))
            .collect()
    }

    fn parameters(&self, action: &str) -> &'a [crate::ast::Parameter] {
        match self.action_declaration(action).map(|d| &d.kind) {
            Some(DeclarationKind::Action { parameters, .. }) => parameters,
            _ => &[],
        }
    }

    fn actions(&mut self) -> Vec<Action> {
        let mut seen: BTreeMap<Arc<str>, ()> = BTreeMap::new();
        let mut actions = Vec::new();
        for table in &self.program.tables {
            for listed in &table.actions {
                let action = &self.program.actions[listed.action.index()];
                if hidden(&action.annotations) || seen.insert(action.name.clone(), ()).is_some() {
                    continue;
                }
                let numbers = local(&self.requested_ids(action));
                let trees = self.parameters(&action.name);
                let mut parameters = Vec::new();
                for ((name, slot, _), number) in action.parameters.iter().zip(numbers) {
                    let tree = trees.iter().find(|tree| {
                        *tree.name.text == **name
                            || control_name(&tree.name.text, &tree.annotations) == **name
                    });
                    let ty = tree.and_then(|tree| self.checked.types.get(&tree.id));
                    let notes =
                        tree.map_or_else(Notes::default, |tree| notes(&tree.annotations, &[]));
                    let width = self.program.slots[slot.index()].ty.width();
                    parameters.push(self.field(number, name.clone(), ty, width, notes));
                }
                let annotations = self
                    .action_declaration(&action.name)
                    .map_or(&[][..], |d| &d.annotations);
                actions.push(Action {
                    preamble: self.preamble(Kind::Action, &action.name, notes(annotations, &[])),
                    parameters,
                });
            }
        }
        for (name, declaration) in self.objects.called.clone() {
            if annotation(&declaration.annotations, "hidden").is_some()
                || seen.insert(name.clone(), ()).is_some()
            {
                continue;
            }
            // The program gives all its arguments, so that none is left for a controller.
            actions.push(Action {
                preamble: self.preamble(Kind::Action, &name, notes(&declaration.annotations, &[])),
                parameters: Vec::new(),
            });
        }
        actions
    }

    fn object(&mut self, index: ObjectId, object: &Object, info: &mut Info) {
        let Some(kind) = object_kind(object) else {
            return;
        };
        let declaration = self.instance_declaration(&object.name);
        let annotations = self.object_annotations(&object.name);
        let bitwidth: &[&str] = match kind {
            Kind::ActionProfile => &[
                "max_group_size",
                "selector_size_semantics",
                "max_member_weight",
            ],
            _ => &[],
        };
        let preamble = self.preamble(kind, &object.name, notes(annotations, bitwidth));
        let types = match declaration.and_then(|d| self.checked.types.get(&d.id)) {
            Some(Type::Object(_, arguments)) => arguments.clone(),
            _ => Vec::new(),
        };
        let table = self
            .program
            .tables
            .iter()
            .find(|table| table.direct.contains(&index));
        match kind {
            Kind::Counter | Kind::Meter => {
                // v1model's later versions and PSA have the index's type last.
                let index_type = types.last().and_then(|ty| self.index_type(ty));
                let array = Array {
                    preamble,
                    unit: self.program.unit(object),
                    size: size(object),
                    index_type,
                };
                match kind {
                    Kind::Counter => info.counters.push(array),
                    _ => info.meters.push(array),
                }
            }
            Kind::DirectCounter | Kind::DirectMeter => {
                let Some(table) = table else { return };
                let direct = Direct {
                    preamble,
                    unit: self.program.unit(object),
                    table: self.ids.get(Kind::Table, &table.name),
                };
                match kind {
                    Kind::DirectCounter => info.direct_counters.push(direct),
                    _ => info.direct_meters.push(direct),
                }
            }
            Kind::Register => {
                let ty = types.first().and_then(|ty| self.converter.convert(ty));
                let index_type = types.get(1).and_then(|ty| self.index_type(ty));
                info.registers.push(Register {
                    preamble,
                    ty: ty.unwrap_or_else(|| data_type(object)),
                    size: size(object),
                    index_type,
                });
            }
            Kind::ActionProfile => {
                let with_selector = matches!(object.kind, Extern::ActionSelector(_));
                let users = self.program.tables.iter();
                let mut users: Vec<&Arc<str>> = users
                    .filter(|table| table.implementation == Some(index))
                    .map(|table| &table.name)
                    .collect();
                users.sort();
                info.action_profiles.push(ActionProfile {
                    preamble,
                    tables: users
                        .into_iter()
                        .map(|name| self.ids.get(Kind::Table, name))
                        .collect(),
                    with_selector,
                    size: size(object),
                    max_group_size: match with_selector {
                        true => self
                            .checked
                            .annotation_number(annotations, "max_group_size")
                            .unwrap_or(0),
                        false => 0,
                    },
                    semantics: with_selector
                        .then(|| semantics(self.checked, annotations))
                        .flatten(),
                });
            }
            Kind::Digest => {
                let ty = types.first().and_then(|ty| self.converter.convert(ty));
                info.digests.push(Digest {
                    preamble,
                    ty: ty.unwrap_or_else(|| data_type(object)),
                });
            }
            Kind::Action | Kind::Table | Kind::ValueSet | Kind::ControllerHeader => {}
        }
    }

    fn index_type(&mut self, ty: &Type) -> Option<Arc<str>> {
        self.converter.convert(ty)?;
        self.converter.new_name(ty)
    }

    fn value_set(&mut self, set: &ir::ValueSet) -> ValueSet {
        let declaration = self.value_set_declaration(&set.name);
        let annotations = declaration.map_or(&[][..], |d| &d.annotations);
        let preamble = self.preamble(Kind::ValueSet, &set.name, notes(annotations, &[]));
        let element = match declaration.map(|d| &d.kind) {
            Some(DeclarationKind::ValueSet { element, .. }) => self.checked.types.get(&element.id),
            _ => None,
        };
        let trees = match element {
            Some(Type::Composite(id, _)) => match self.declarations.by_id(*id).map(|d| &d.kind) {
                Some(DeclarationKind::Composite { fields, .. })
                    if fields.len() == set.fields.len() =>
                {
                    Some(&fields[..])
                }
                _ => None,
            },
            _ => None,
        };
        let requested: Vec<Option<u32>> = (0..set.fields.len())
            .map(|index| trees.and_then(|trees| id(self.checked, &trees[index].annotations)))
            .collect();
        let numbers = local(&requested);
        let fields = set.fields.iter().enumerate().zip(numbers);
        let fields = fields.map(|((index, (name, ty, kind)), number)| Field {
            id: number,
            name: name.clone(),
            width: ty.width(),
            match_kind: Some(kind.clone()),
            type_name: None,
            notes: trees.map_or_else(Notes::default, |trees| {
                notes(&trees[index].annotations, &["match"])
            }),
        });
        ValueSet {
            preamble,
            fields: fields.collect(),
            size: u64::from(set.size),
        }
    }

    fn controller_header(&mut self, declaration: &'a Declaration) -> Option<ControllerHeader> {
        let controller = controller_name(declaration)?;
        if annotation(&declaration.annotations, "hidden").is_some() {
            return None;
        }
        let DeclarationKind::Composite { fields, .. } = &declaration.kind else {
            return None;
        };
        let name = declared_name(declaration);
        let mut leaves = Vec::new();
        self.leaves(fields, "", &[], &mut leaves, 0);
        let requested: Vec<Option<u32>> = leaves
            .iter()
            .map(|leaf| {
                let mut ids = leaf.annotations.iter();
                ids.find_map(|list| id(self.checked, list))
            })
            .collect();
        let (mut shown, mut layout) = (Vec::new(), Vec::new());
        for (leaf, number) in leaves.into_iter().zip(local(&requested)) {
            let data = leaf.ty.and_then(|ty| self.converter.convert(ty));
            let wire = leaf.ty.map_or(0, |ty| self.wire_width(ty));
            let mut lists = leaf.annotations.iter();
            if lists.any(|list| annotation(list, "hidden").is_some()) || data.is_none() {
                layout.push((None, wire));
                continue;
            }
            layout.push((Some(number), wire));
            let mut all = Notes::default();
            for list in leaf.annotations {
                all.extend(notes(list, &[]));
            }
            shown.push(self.field(number, leaf.name.into(), leaf.ty, wire, all));
        }
        Some(ControllerHeader {
            preamble: Preamble {
                id: self.ids.get(Kind::ControllerHeader, &name),
                name: controller.clone(),
                alias: controller,
                notes: notes(&declaration.annotations, &[]),
            },
            fields: shown,
            layout,
        })
    }

    /// The fields of a header, with those of structs in it. The path of such a field is its name,
    /// whatever `@name` it has.
    fn leaves(
        &self,
        fields: &'a [crate::ast::Field],
        path: &str,
        outer: &[&'a [Annotation]],
        into: &mut Vec<Leaf<'a>>,
        depth: u32,
    ) {
        let inner = |field: &crate::ast::Field| match self.checked.types.get(&field.id)? {
            Type::Composite(id, _) => match &self.declarations.by_id(*id)?.kind {
                DeclarationKind::Composite { fields, .. } => Some(&fields[..]),
                _ => None,
            },
            _ => None,
        };
        let is_flat = path.is_empty() && fields.iter().all(|field| inner(field).is_none());
        for field in fields {
            let name = match is_flat {
                true => control_name(&field.name.text, &field.annotations),
                false => format!("{path}{}", field.name.text),
            };
            let mut annotations = vec![&field.annotations[..]];
            annotations.extend(outer);
            match inner(field) {
                Some(fields) if depth < MAX_DEPTH => {
                    self.leaves(fields, &format!("{name}."), &annotations, into, depth + 1);
                }
                _ => into.push(Leaf {
                    name,
                    ty: self.checked.types.get(&field.id),
                    annotations,
                }),
            }
        }
    }

    /// How many bits a field has in the packet, whatever the controller sees.
    fn wire_width(&self, ty: &Type) -> u32 {
        let mut ty = ty.clone();
        for _ in 0..64 {
            ty = match ty {
                Type::New(id) => match self.checked.types.get(&id) {
                    Some(inner) => inner.clone(),
                    None => return 0,
                },
                other => return self.converter.width(&other).unwrap_or(0),
            };
        }
        0
    }

    /// The types of what `digest<T>(...)` is called with, by name, each once.
    fn digest_calls(&self) -> Vec<(Arc<str>, Type)> {
        let mut found: Vec<(Arc<str>, Type)> = Vec::new();
        let mut nameless = 0;
        for call in self.checked.calls.values() {
            let Target::ExternFunction(id) = call.target else {
                continue;
            };
            let is_digest = self.declarations.by_id(id).is_some_and(|declaration| {
                matches!(&declaration.kind, DeclarationKind::ExternFunction(prototype)
                    if &*prototype.name.text == "digest")
            });
            let (true, [ty]) = (is_digest, &call.type_arguments[..]) else {
                continue;
            };
            let name = self.converter.composite_name(ty);
            let name = name.unwrap_or_else(|| {
                nameless += 1;
                format!("digest_{}", nameless - 1).into()
            });
            if !found.iter().any(|(other, _)| *other == name) {
                found.push((name, ty.clone()));
            }
        }
        found
    }
}

fn controller_name(declaration: &Declaration) -> Option<Arc<str>> {
    let DeclarationKind::Composite {
        kind: CompositeKind::Header,
        ..
    } = &declaration.kind
    else {
        return None;
    };
    let name = annotation(&declaration.annotations, "controller_header")?;
    match &name.body {
        crate::ast::AnnotationBody::Expressions(list) => match &list[..] {
            [
                Expression {
                    kind: ExpressionKind::String(text),
                    ..
                },
            ] => Some(text.clone()),
            _ => None,
        },
        _ => name.string().map(Arc::from),
    }
}

fn semantics(checked: &Checked, annotations: &[Annotation]) -> Option<Semantics> {
    let text = annotation(annotations, "selector_size_semantics")?.string()?;
    if text.eq_ignore_ascii_case("sum_of_weights") {
        Some(Semantics::Weights)
    } else if text.eq_ignore_ascii_case("sum_of_members") {
        let most = checked
            .annotation_number(annotations, "max_member_weight")
            .unwrap_or(0);
        Some(Semantics::Members(most as u32))
    } else {
        None
    }
}

fn size(object: &Object) -> u64 {
    let named = |wanted: &str| {
        object
            .arguments
            .iter()
            .find_map(|(name, value)| match value {
                Constant::Bits(bits) if &**name == wanted => bits.to_u64(),
                _ => None,
            })
    };
    ["size", "n_counters", "n_meters"]
        .into_iter()
        .find_map(named)
        .unwrap_or(0)
}

/// What is known of an object's data without its declaration.
fn data_type(object: &Object) -> DataType {
    let scalar = |ty: &ir::Ty| match ty {
        ir::Ty::Bool => DataType::Bool,
        ir::Ty::Bits(width) => DataType::Bits(*width),
        ir::Ty::Signed(width) => DataType::Signed(*width),
        ir::Ty::Varbit(width) => DataType::Varbit(*width),
    };
    match object.types.first().map(Vec::as_slice) {
        Some([(_, ty)]) => scalar(ty),
        Some(fields) => DataType::Tuple(fields.iter().map(|(_, ty)| scalar(ty)).collect()),
        None => DataType::Tuple(vec![]),
    }
}
