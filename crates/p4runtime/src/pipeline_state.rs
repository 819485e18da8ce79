//! A program that is controlled, and what each of P4Runtime's numbers means in it.

use crate::messages::config::P4Info;
use crate::p4info;
use crate::translation::Translations;
use p4::check::Checked;
use p4::info::{DataType, Info, describe};
use p4::ir::{ObjectId, TableId, ValueSetId};
use p4::value::Bits;
use pipeline::control::Control;
use pipeline::environment::Environment;
use std::collections::BTreeMap;
use std::sync::Arc;
use tonic::{Code, Status};

/// A program, its state, and its description.
pub struct Pipeline {
    /// What reads and changes it.
    pub control: Control,
    /// Its description.
    pub info: Info,
    /// The description as a message.
    pub message: P4Info,
    /// What the controller brought, or the program's text.
    pub device_config: Vec<u8>,
    /// The controller's name for it.
    pub cookie: Option<u64>,
    pub(crate) tables: BTreeMap<u32, TableId>,
    pub(crate) objects: BTreeMap<u32, ObjectId>,
    pub(crate) value_sets: BTreeMap<u32, ValueSetId>,
    /// By the digest's number here: which of the control plane's it is.
    pub(crate) digests: BTreeMap<u32, u32>,
    /// Strings for values.
    pub(crate) translations: Translations,
}

impl Pipeline {
    /// Of a program that was checked and lowered, with the environment that its packets meet.
    #[must_use]
    pub fn new(checked: &Checked, environment: &Arc<Environment>, device_config: Vec<u8>) -> Self {
        let info = describe(checked, &environment.program);
        let control = Control::new(Arc::clone(environment));
        let program = &environment.program;
        fn numbered<'a, T>(
            described: impl Iterator<Item = &'a p4::info::Preamble>,
            index: impl Fn(&str) -> Option<usize>,
            make: impl Fn(u32) -> T,
        ) -> BTreeMap<u32, T> {
            described
                .filter_map(|preamble| Some((preamble.id, make(index(&preamble.name)? as u32))))
                .collect()
        }
        let tables = numbered(
            info.tables.iter().map(|table| &table.preamble),
            |name| program.tables.iter().position(|table| &*table.name == name),
            TableId,
        );
        let preambles = info.counters.iter().map(|counter| &counter.preamble);
        let preambles = preambles
            .chain(info.meters.iter().map(|meter| &meter.preamble))
            .chain(info.direct_counters.iter().map(|counter| &counter.preamble))
            .chain(info.direct_meters.iter().map(|meter| &meter.preamble))
            .chain(info.registers.iter().map(|register| &register.preamble))
            .chain(info.action_profiles.iter().map(|profile| &profile.preamble));
        let objects = numbered(
            preambles,
            |name| {
                program
                    .objects
                    .iter()
                    .position(|object| &*object.name == name)
            },
            ObjectId,
        );
        let value_sets = numbered(
            info.value_sets.iter().map(|set| &set.preamble),
            |name| program.value_sets.iter().position(|set| &*set.name == name),
            ValueSetId,
        );
        let mut digests = BTreeMap::new();
        for digest in &info.digests {
            let widths = flat(&info, &digest.ty);
            let known = control.digests();
            let same = known
                .iter()
                .position(|other| *other.name == *digest.preamble.name);
            let index = same.or_else(|| {
                known.iter().position(|other| {
                    let own = other.fields.iter().map(|(_, ty)| ty.width());
                    other.object.is_none() && own.eq(widths.iter().copied())
                })
            });
            if let Some(index) = index {
                digests.insert(digest.preamble.id, index as u32);
            }
        }
        Pipeline {
            message: p4info::message(&info),
            translations: Translations::new(&info),
            control,
            info,
            device_config,
            cookie: None,
            tables,
            objects,
            value_sets,
            digests,
        }
    }

    /// The same program with everything as it begins.
    #[must_use]
    pub fn again(&self, environment: &Arc<Environment>) -> Self {
        Pipeline {
            control: Control::new(Arc::clone(environment)),
            translations: Translations::new(&self.info),
            info: self.info.clone(),
            message: self.message.clone(),
            device_config: self.device_config.clone(),
            cookie: None,
            tables: self.tables.clone(),
            objects: self.objects.clone(),
            value_sets: self.value_sets.clone(),
            digests: self.digests.clone(),
        }
    }

    pub(crate) fn table(&self, id: u32) -> Result<(TableId, &p4::info::Table), Status> {
        let described = self
            .info
            .tables
            .iter()
            .find(|table| table.preamble.id == id);
        match (self.tables.get(&id), described) {
            (Some(table), Some(described)) => Ok((*table, described)),
            _ => Err(absent("table", id)),
        }
    }

    /// The description of a table.
    pub(crate) fn described(&self, table: TableId) -> Option<&p4::info::Table> {
        let name = &self.control.program().tables[table.index()].name;
        self.info
            .tables
            .iter()
            .find(|table| table.preamble.name == *name)
    }

    pub(crate) fn object(&self, id: u32, what: &str) -> Result<ObjectId, Status> {
        self.objects
            .get(&id)
            .copied()
            .ok_or_else(|| absent(what, id))
    }

    /// The number of an object.
    pub(crate) fn object_id(&self, object: ObjectId) -> u32 {
        let found = self.objects.iter().find(|(_, other)| **other == object);
        found.map_or(0, |(id, _)| *id)
    }

    /// The action with this number as a table counts its actions, and its description.
    pub(crate) fn action(
        &self,
        table: TableId,
        id: u32,
    ) -> Result<(u32, &p4::info::Action), Status> {
        let program = self.control.program();
        let described = self
            .info
            .actions
            .iter()
            .find(|action| action.preamble.id == id);
        let described = described.ok_or_else(|| absent("action", id))?;
        let listed = &program.tables[table.index()].actions;
        let index = listed
            .iter()
            .position(|listed| {
                program.actions[listed.action.index()].name == described.preamble.name
            })
            .ok_or_else(|| {
                Status::new(
                    Code::InvalidArgument,
                    format!(
                        "table `{}` has no action `{}`",
                        program.tables[table.index()].name,
                        described.preamble.name
                    ),
                )
            })?;
        Ok((index as u32, described))
    }

    /// The description of a table's action by its index.
    pub(crate) fn described_action(&self, table: TableId, index: u32) -> Option<&p4::info::Action> {
        let program = self.control.program();
        let listed = program.tables[table.index()].actions.get(index as usize)?;
        let name = &program.actions[listed.action.index()].name;
        self.info
            .actions
            .iter()
            .find(|action| action.preamble.name == *name)
    }
}

pub(crate) fn absent(what: &str, id: u32) -> Status {
    Status::new(
        Code::NotFound,
        format!("the program has no {what} with id {id}"),
    )
}

/// The widths of a type's scalars; a header's validity does not count.
pub(crate) fn flat(info: &Info, ty: &DataType) -> Vec<u32> {
    let mut widths = Vec::new();
    add_flat(info, ty, &mut widths, 0);
    widths
}

fn add_flat(info: &Info, ty: &DataType, widths: &mut Vec<u32>, depth: u32) {
    if depth > 32 {
        return;
    }
    match ty {
        DataType::Bits(width) | DataType::Signed(width) | DataType::Varbit(width) => {
            widths.push(*width);
        }
        DataType::Bool => widths.push(1),
        DataType::Enum(_) | DataType::Error => widths.push(32),
        DataType::SerializableEnum(name) => {
            widths.push(
                info.types
                    .serializable_enums
                    .get(name)
                    .map_or(0, |(width, _)| *width),
            );
        }
        DataType::Tuple(parts) => {
            parts
                .iter()
                .for_each(|part| add_flat(info, part, widths, depth + 1));
        }
        DataType::Struct(name) => {
            for (_, ty) in info.types.structs.get(name).into_iter().flatten() {
                add_flat(info, ty, widths, depth + 1);
            }
        }
        DataType::Header(name) => {
            for (_, ty) in info.types.headers.get(name).into_iter().flatten() {
                add_flat(info, ty, widths, depth + 1);
            }
        }
        DataType::New(name) => match info.types.new_types.get(name) {
            Some((p4::info::NewType::Original(ty), _)) => add_flat(info, ty, widths, depth + 1),
            Some((p4::info::NewType::Translated(_, width), _)) => widths.push(width.unwrap_or(32)),
            None => {}
        },
        DataType::Union(_) | DataType::Stack(..) | DataType::UnionStack(..) => {}
    }
}

/// A value of any type from its scalars, in order.
pub(crate) fn data(
    pipeline: &Pipeline,
    ty: &DataType,
    scalars: &mut dyn Iterator<Item = Bits>,
) -> Option<crate::messages::runtime::P4Data> {
    use crate::messages::runtime::{P4Data, P4Header, P4StructLike, P4Varbit, p4_data::Data};
    let info = &pipeline.info;
    let data = match ty {
        DataType::Bits(_) | DataType::Signed(_) => {
            Data::Bitstring(crate::bytes::write(&scalars.next()?))
        }
        DataType::Varbit(_) => {
            let value = scalars.next()?;
            Data::Varbit(P4Varbit {
                bitstring: crate::bytes::write(&value),
                bitwidth: value.width() as i32,
            })
        }
        DataType::Bool => Data::Bool(scalars.next()?.is_true()),
        DataType::Enum(name) => {
            let index = scalars.next()?.to_u64().unwrap_or(0) as usize;
            let members = info.types.enums.get(name)?;
            Data::Enum(
                members
                    .get(index)
                    .map_or_else(String::new, ToString::to_string),
            )
        }
        DataType::Error => {
            let index = scalars.next()?.to_u64().unwrap_or(0) as usize;
            let members = info.types.error.as_ref()?;
            Data::Error(
                members
                    .get(index)
                    .map_or_else(String::new, ToString::to_string),
            )
        }
        DataType::SerializableEnum(_) => Data::EnumValue(crate::bytes::write(&scalars.next()?)),
        DataType::Tuple(parts) => {
            let members = parts.iter().map(|part| data(pipeline, part, scalars));
            Data::Tuple(P4StructLike {
                members: members.collect::<Option<_>>()?,
            })
        }
        DataType::Struct(name) => {
            let members = info.types.structs.get(name)?.iter();
            let members = members.map(|(_, ty)| data(pipeline, ty, scalars));
            Data::Struct(P4StructLike {
                members: members.collect::<Option<_>>()?,
            })
        }
        DataType::Header(name) => {
            let fields = info.types.headers.get(name)?.iter();
            let fields = fields.map(|_| scalars.next().map(|value| crate::bytes::write(&value)));
            Data::Header(P4Header {
                is_valid: true,
                bitstrings: fields.collect::<Option<_>>()?,
            })
        }
        DataType::New(name) => match &info.types.new_types.get(name)?.0 {
            p4::info::NewType::Original(ty) => return data(pipeline, ty, scalars),
            p4::info::NewType::Translated(..) => {
                let value = scalars.next()?;
                Data::Bitstring(pipeline.translations.string(name, &value))
            }
        },
        DataType::Union(_) | DataType::Stack(..) | DataType::UnionStack(..) => return None,
    };
    Some(P4Data { data: Some(data) })
}
