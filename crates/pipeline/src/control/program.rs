//! What of a program the control plane sees, and how it is named.

use super::names::resolve;
use super::{Error, ErrorKind};
use alloc::format;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use p4::ir::{
    Argument, Callee, Extern, Function, Object, ObjectId, Program, StatementKind, Table, TableId,
    Ty, ValueSetId,
};

/// What an extern's instance is for the control plane; one word for v1model's and PSA's names of the same thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// `counter`, `Counter`
    Counter,
    /// `direct_counter`, `DirectCounter`
    DirectCounter,
    /// `meter`, `Meter`
    Meter,
    /// `direct_meter`, `DirectMeter`
    DirectMeter,
    /// `register`, `Register`
    Register,
    /// `action_profile`, `ActionProfile`
    Profile,
    /// `action_selector`, `ActionSelector`
    Selector,
    /// `Digest`
    Digest,
}

impl Class {
    /// What an object is; most externs are nothing to the control plane.
    #[must_use]
    pub fn of(object: &Object) -> Option<Class> {
        Some(match &object.kind {
            Extern::Counter(_) => Class::Counter,
            Extern::DirectCounter(_) => Class::DirectCounter,
            Extern::Meter(_) => Class::Meter,
            Extern::DirectMeter(_) => Class::DirectMeter,
            Extern::Register(_) => Class::Register,
            Extern::ActionProfile(_) => Class::Profile,
            Extern::ActionSelector(_) => Class::Selector,
            Extern::Digest => Class::Digest,
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

    /// As a word for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Class::Counter => "counter",
            Class::DirectCounter => "direct counter",
            Class::Meter => "meter",
            Class::DirectMeter => "direct meter",
            Class::Register => "register",
            Class::Profile => "action profile",
            Class::Selector => "action selector",
            Class::Digest => "digest",
        }
    }
}

/// The table of this name.
pub fn table(program: &Program, name: &str) -> Result<TableId, Error> {
    resolve(
        "table",
        name,
        program.tables.iter().map(|table| &*table.name),
    )
    .map(|index| TableId(index as u32))
}

/// The value set of this name.
pub fn value_set(program: &Program, name: &str) -> Result<ValueSetId, Error> {
    resolve(
        "value set",
        name,
        program.value_sets.iter().map(|set| &*set.name),
    )
    .map(|index| ValueSetId(index as u32))
}

/// All objects of these classes.
pub fn objects<'a>(
    program: &'a Program,
    classes: &'a [Class],
) -> impl Iterator<Item = (ObjectId, Class, &'a Object)> {
    (0u32..)
        .zip(&program.objects)
        .filter_map(|(index, object)| {
            let class = Class::of(object)?;
            classes
                .contains(&class)
                .then_some((ObjectId(index), class, object))
        })
}

/// The object of this name in one of these classes; `what` says in messages what was wanted.
pub fn object(
    program: &Program,
    what: &str,
    name: &str,
    classes: &[Class],
) -> Result<(ObjectId, Class), Error> {
    let found: Vec<_> = objects(program, classes).collect();
    let index = resolve(what, name, found.iter().map(|(_, _, object)| &*object.name))?;
    Ok((found[index].0, found[index].1))
}

/// The index in [`Table::actions`] of the action of this name.
pub fn action(program: &Program, table: &Table, name: &str) -> Result<u32, Error> {
    let what = format!("action in table `{}`", table.name);
    let names = table
        .actions
        .iter()
        .map(|listed| &*program.actions[listed.action.index()].name);
    resolve(&what, name, names).map(|index| index as u32)
}

/// The first table that uses an action profile or selector: its list of actions numbers those of the members.
pub fn table_of_profile(program: &Program, profile: ObjectId) -> Result<TableId, Error> {
    program
        .tables
        .iter()
        .position(|table| table.implementation == Some(profile))
        .map(|index| TableId(index as u32))
        .ok_or_else(|| {
            Error::new(
                ErrorKind::Unsupported,
                format!(
                    "no table uses `{}`, so that its members have no actions to choose from",
                    program.objects[profile.index()].name
                ),
            )
        })
}

/// The table that a direct counter or meter belongs to.
pub fn table_of_direct(program: &Program, object: ObjectId) -> Result<TableId, Error> {
    program
        .tables
        .iter()
        .position(|table| table.direct.contains(&object))
        .map(|index| TableId(index as u32))
        .ok_or_else(|| {
            Error::new(
                ErrorKind::Unsupported,
                format!(
                    "no table has `{}` among its properties",
                    program.objects[object.index()].name
                ),
            )
        })
}

/// The scalars of a register's value.
#[must_use]
pub fn register_types(object: &Object) -> &[(Arc<str>, Ty)] {
    object.types.first().map_or(&[], Vec::as_slice)
}

/// A kind of message from packets to the controller.
#[derive(Clone, Debug, PartialEq)]
pub struct Digest {
    /// For the control plane: the instance's of an extern; where a program calls the function, that of the data's type, or `digest_N` if it has
    /// none.
    pub name: Arc<str>,
    /// The instance.
    pub object: Option<ObjectId>,
    /// The message's scalars.
    pub fields: Vec<(Arc<str>, Ty)>,
}

impl Digest {
    /// Whether a message is of this kind.
    #[must_use]
    pub fn is(&self, message: &crate::environment::Digest) -> bool {
        self.object == message.object
            && (message.name.is_empty() || self.name == message.name)
            && self.fields.len() == message.fields.len()
            && self
                .fields
                .iter()
                .zip(&message.fields)
                .all(|((name, ty), (other, value))| name == other && ty.width() == value.width())
    }
}

/// The digests of a program, in the order of their numbers: instances first, then calls of the function, each form once.
#[must_use]
pub fn digests(program: &Program) -> Vec<Digest> {
    let mut digests: Vec<Digest> = objects(program, &[Class::Digest])
        .map(|(id, _, object)| Digest {
            name: object.name.clone(),
            object: Some(id),
            fields: object.types.first().cloned().unwrap_or_default(),
        })
        .collect();
    let bodies = program.sections.iter().map(|section| &section.body);
    let bodies = bodies.chain(program.actions.iter().map(|action| &action.body));
    type Called = (Option<Arc<str>>, Vec<(Arc<str>, Ty)>);
    let mut called: Vec<Called> = Vec::new();
    for statement in bodies
        .flat_map(|body| &body.blocks)
        .flat_map(|block| &block.statements)
    {
        let StatementKind::Call {
            callee: Callee::Function(Function::Digest),
            arguments,
            ..
        } = &statement.kind
        else {
            continue;
        };
        let fields: Vec<(Arc<str>, Ty)> = match arguments.get(1) {
            Some(Argument::List(items)) => items
                .iter()
                .map(|item| (item.name.clone(), item.value.ty(&program.slots)))
                .collect(),
            Some(Argument::Value(value)) => vec![(Arc::from(""), value.ty(&program.slots))],
            _ => continue,
        };
        let name = match arguments.get(2) {
            Some(Argument::Text(name)) => Some(name.clone()),
            _ => None,
        };
        if !called.contains(&(name.clone(), fields.clone())) {
            called.push((name, fields));
        }
    }
    let mut nameless = 0;
    for (name, fields) in called {
        let name = name.unwrap_or_else(|| {
            nameless += 1;
            format!("digest_{}", nameless - 1).into()
        });
        digests.push(Digest {
            name,
            object: None,
            fields,
        });
    }
    digests
}
