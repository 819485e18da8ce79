//! What a running program has beside the packets: its tables, the state of its objects, groups of ports, and what goes to and fro between it
//! and the control plane.

pub use crate::unsupported::Unsupported;

use crate::externs::hash::{Algorithm, Tables as CrcTables};
use crate::externs::registry::{Methods, Registry};
use crate::layout::{Layout, limbs};
use crate::restrictions::Restrictions;
use crate::state::counter::Unit;
use crate::state::nic::Nic;
use crate::state::replication::Groups;
use crate::state::{Counter, Meter, Profile, Published, Queue, Register, Replication, ValueSet};
use crate::table::{Form, Idle, Tables};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use node::Time;
use p4::ir::{Constant, Extern, Library, MatchKind, ObjectId, Program, SlotId, TableId, Ty};
use p4::value::Bits;

/// How many messages of a kind wait for the control plane; further ones are lost and counted.
const MESSAGES: usize = 4096;
/// How many cells all registers, counters and meters have together, at most: 512 MiB.
const CELLS: u64 = 1 << 26;

/// What a device chooses beside the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The `egress_spec` of v1model that means drop.
    pub drop_port: u32,
    /// The port whose packets go to and come from the controller.
    pub cpu_port: Option<u32>,
    /// What externs do that the program declares itself.
    pub externs: Registry,
    /// Whether hardware has performance counters: see [`Engine::performance`](crate::engine::Engine::performance).
    pub performance: bool,
    /// Bits of a word of hardware, 64, 128, 256 or 512; `None` for the engine's default.
    pub width: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            drop_port: 511,
            cpu_port: None,
            externs: Registry::default(),
            performance: false,
            width: None,
        }
    }
}

/// The state of an extern's instance.
#[derive(Debug)]
pub enum Object {
    /// `register`, `Register`
    Register(Register),
    /// `counter`, `Counter`, and the direct ones, which have one for each place of their table.
    Counter(Counter),
    /// `meter`, `Meter`, and the direct ones.
    Meter(Meter),
    /// `action_profile`, `action_selector`, `ActionProfile`, `ActionSelector`
    Profile(Profile),
    /// `Hash`
    Hash(Algorithm),
    /// `Checksum`, `InternetChecksum`, `Checksum16`: the number of its state in a [`Context`](crate::context::Context), and the algorithm.
    Checksum(usize, Algorithm),
    /// `Random`: from and to.
    Random(Bits, Bits),
    /// What the [`Registry`] has for it.
    Own(Methods),
    /// Without state: `Digest`, `PacketReplicationEngine`, ...
    Stateless,
}

/// A message to the control plane.
#[derive(Clone, Debug, PartialEq)]
pub struct Digest {
    /// When.
    pub at: Time,
    /// The object, of PSA's.
    pub object: Option<ObjectId>,
    /// The object's name, or that of the type of v1model's data; empty where that has none.
    pub name: Arc<str>,
    /// The receiver, of v1model's.
    pub receiver: u32,
    pub fields: Vec<(Arc<str>, Bits)>,
}

/// What a program wrote with `log_msg`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// When.
    pub at: Time,
    pub text: String,
}

/// What a program's tables, objects and groups hold. Shared by all that run it and all that control it; nothing here needs `&mut`.
pub struct Environment {
    pub program: Arc<Program>,
    /// Where its slots are.
    pub layout: Layout,
    /// The device's choices.
    pub options: Options,
    /// Match-action tables.
    pub tables: Tables,
    /// By [`p4::ir::ValueSetId::index`].
    pub value_sets: Vec<ValueSet>,
    /// By [`ObjectId::index`].
    pub objects: Vec<Object>,
    /// Multicast groups and clone sessions.
    pub replication: Replication,
    /// CRCs, of which two can be chosen.
    pub crcs: Published<CrcTables>,
    /// To the control plane.
    pub digests: Queue<Digest>,
    /// To the control plane: packets that left by the CPU port.
    pub packet_ins: Queue<Vec<u8>>,
    /// From the control plane: packets that come in by the CPU port.
    pub packet_outs: Queue<Vec<u8>>,
    /// To the control plane: entries that no packet has hit for their idle timeout.
    pub idles: Queue<Idle>,
    /// What `log_msg` said.
    pub messages: Queue<Message>,
    /// State of PNA's programs besides tables and objects.
    pub nic: Nic,
    /// How many objects are [`Object::Checksum`].
    pub checksums: usize,
    pub(crate) selectors: Vec<Option<Selector>>,
    /// By table: the direct counters that count at every hit, without being asked.
    pub(crate) implicit: Vec<Vec<ObjectId>>,
    /// By table: the direct meter that meters at every hit, whoever reads it.
    pub(crate) metered: Vec<Option<ObjectId>>,
    pub(crate) standard: Standard,
    /// Restrictions of entries and actions beyond their types.
    pub(crate) restrictions: Restrictions,
}

/// How a table with an action selector or profile finds its member.
#[derive(Debug)]
pub struct Selector {
    /// The profile.
    pub profile: ObjectId,
    /// What the keys are hashed by.
    pub algorithm: Algorithm,
    /// How many bits of the hash count.
    pub width: u32,
    /// How wide the keys are that choose, in their order.
    pub keys: Vec<u32>,
    /// For each action of the table by which the profile counts, that of this table.
    pub actions: Vec<u32>,
    /// The action of this table for groups without members, and its arguments in cells.
    pub empty_group: Option<(u32, Vec<u64>)>,
}

/// v1model's fields that `mark_to_drop()` sets without being given them.
#[derive(Debug, Default)]
pub(crate) struct Standard {
    pub(crate) egress_spec: Option<SlotId>,
    pub(crate) mcast_grp: Option<SlotId>,
}

impl Environment {
    /// How a table finds the member of its profile, if it has one.
    #[must_use]
    pub fn selector(&self, table: TableId) -> Option<&Selector> {
        self.selectors[table.index()].as_ref()
    }

    /// Everything empty, as the program begins.
    ///
    /// # Errors
    /// When an object of the program cannot be made.
    pub fn new(program: Arc<Program>, options: Options) -> Result<Self, Unsupported> {
        let forms =
            (0..program.tables.len() as u32).map(|table| Form::new(&program, TableId(table)));
        let forms: Vec<Form> = forms.collect();
        let mut builder = Builder {
            program: &program,
            externs: &options.externs,
            forms: &forms,
            checksums: 0,
            cells: 0,
        };
        let objects =
            (0..program.objects.len() as u32).map(|object| builder.object(ObjectId(object)));
        let objects = objects.collect::<Result<Vec<_>, _>>()?;
        let checksums = builder.checksums;
        let selectors = (0..program.tables.len())
            .map(|table| builder.selector(table))
            .collect();
        let implicit = program.tables.iter().map(|table| {
            let counters = table.direct.iter().copied();
            let counters = counters.filter(|id| {
                program.objects[id.index()].kind == Extern::DirectCounter(Library::V1Model)
            });
            counters.collect()
        });
        let implicit = implicit.collect();
        let metered = program.tables.iter().map(|table| {
            let mut meters = table.direct.iter().copied();
            meters.find(|id| {
                program.objects[id.index()].kind == Extern::DirectMeter(Library::V1Model)
            })
        });
        let metered = metered.collect();
        let standard = program
            .sections
            .iter()
            .flat_map(|section| &section.parameters);
        let standard = standard.filter(|parameter| &*parameter.ty == "standard_metadata_t");
        let field = |name: &str| {
            let mut fields = standard.clone().flat_map(|parameter| &parameter.fields);
            fields
                .find(|(path, _)| &**path == name)
                .map(|(_, slot)| *slot)
        };
        let standard = Standard {
            egress_spec: field("egress_spec"),
            mcast_grp: field("mcast_grp"),
        };
        let restrictions = Restrictions::new(&program, &forms)?;
        Ok(Environment {
            restrictions,
            layout: Layout::new(&program),
            tables: Tables::new(&program),
            value_sets: program
                .value_sets
                .iter()
                .map(|_| ValueSet::default())
                .collect(),
            objects,
            replication: Published::new(Groups::default()),
            crcs: Published::new(CrcTables::default()),
            digests: Queue::new(MESSAGES),
            packet_ins: Queue::new(MESSAGES),
            packet_outs: Queue::new(MESSAGES),
            idles: Queue::new(MESSAGES),
            messages: Queue::new(MESSAGES),
            nic: Nic::default(),
            checksums,
            selectors,
            implicit,
            metered,
            standard,
            options,
            program,
        })
    }

    /// v1model's `egress_spec` and `mcast_grp`, if the program has them: what `mark_to_drop()` without arguments sets, to the drop port and to 0.
    #[must_use]
    pub fn marks(&self) -> [Option<SlotId>; 2] {
        [self.standard.egress_spec, self.standard.mcast_grp]
    }

    /// A register, if the object is one.
    #[must_use]
    pub fn register(&self, object: ObjectId) -> Option<&Register> {
        match self.objects.get(object.index())? {
            Object::Register(register) => Some(register),
            _ => None,
        }
    }

    /// A counter, direct or not, if the object is one.
    #[must_use]
    pub fn counter(&self, object: ObjectId) -> Option<&Counter> {
        match self.objects.get(object.index())? {
            Object::Counter(counter) => Some(counter),
            _ => None,
        }
    }

    /// A meter, direct or not, if the object is one.
    #[must_use]
    pub fn meter(&self, object: ObjectId) -> Option<&Meter> {
        match self.objects.get(object.index())? {
            Object::Meter(meter) => Some(meter),
            _ => None,
        }
    }

    /// Resets an entry's direct counters and meters.
    pub(crate) fn fresh(&self, table: TableId, index: usize) {
        for id in &self.program.tables[table.index()].direct {
            if let Some(counter) = self.counter(*id) {
                counter.set(index, 0, 0);
            }
            if let Some(meter) = self.meter(*id)
                && meter.rates(index).flatten().is_some()
            {
                meter.set(index, None);
            }
        }
    }

    /// How many cells the keys take that choose among the members of a group of this table: 0 where none does.
    #[must_use]
    pub fn selector_cells(&self, table: TableId) -> usize {
        let selector = self.selectors.get(table.index()).and_then(Option::as_ref);
        selector.map_or(0, |selector| selector.keys.iter().copied().map(limbs).sum())
    }

    /// An action profile or selector, if the object is one.
    #[must_use]
    pub fn profile(&self, object: ObjectId) -> Option<&Profile> {
        match self.objects.get(object.index())? {
            Object::Profile(profile) => Some(profile),
            _ => None,
        }
    }
}

struct Builder<'a> {
    program: &'a Program,
    externs: &'a Registry,
    forms: &'a [Form],
    checksums: usize,
    cells: u64,
}

impl Builder<'_> {
    fn object(&mut self, id: ObjectId) -> Result<Object, Unsupported> {
        let object = &self.program.objects[id.index()];
        if let Some(methods) = self.externs.make(object) {
            let (name, kind) = (&object.name, &object.kind);
            let refused =
                |why| Unsupported::new(format!("`{name}`, a `{kind}`, cannot be made: {why}"));
            return methods.map(Object::Own).map_err(refused);
        }
        Ok(match &object.kind {
            Extern::Register(_) => {
                let fields = object.types.first().cloned().unwrap_or_default();
                let width: usize = fields.iter().map(|(_, ty)| limbs(ty.width())).sum();
                let size = self.size(id, "size", width as u64)?;
                let initial = match self.argument(id, "initial_value") {
                    Some(Constant::Bits(value)) => alloc::vec![value.clone()],
                    Some(Constant::List(list)) => {
                        let mut flat = Vec::new();
                        flatten(list, &mut flat);
                        flat
                    }
                    _ => Vec::new(),
                };
                Object::Register(Register::new(fields, size, &initial))
            }
            Extern::Counter(library) => {
                let size = match library {
                    Library::V1Model => self.size(id, "size", 2)?,
                    Library::Psa => self.size(id, "n_counters", 2)?,
                };
                Object::Counter(Counter::new(self.unit(id), size))
            }
            Extern::DirectCounter(_) => {
                let size = self.direct_size(id, 2)?;
                Object::Counter(Counter::new(self.unit(id), size))
            }
            Extern::Meter(library) => {
                let size = match library {
                    Library::V1Model => self.size(id, "size", 16)?,
                    Library::Psa => self.size(id, "n_meters", 16)?,
                };
                Object::Meter(Meter::new(self.unit(id), size))
            }
            Extern::DirectMeter(_) => {
                let size = self.direct_size(id, 16)?;
                Object::Meter(Meter::new(self.unit(id), size))
            }
            Extern::ActionProfile(_) => {
                let size = self.number(id, "size").unwrap_or(1024);
                Object::Profile(Profile::new(size as u32, false, 0))
            }
            Extern::ActionSelector(_) => {
                let size = self.number(id, "size").unwrap_or(1024) as u32;
                let most = object
                    .annotations
                    .iter()
                    .find(|a| &*a.name == "max_group_size");
                let most = most
                    .and_then(|a| a.body.trim().parse().ok())
                    .unwrap_or(size);
                Object::Profile(Profile::new(size, true, most))
            }
            Extern::Hash => Object::Hash(self.algorithm(id)?),
            Extern::Checksum => {
                let algorithm = self.algorithm(id)?;
                self.checksum(algorithm)
            }
            Extern::InternetChecksum | Extern::Checksum16 => self.checksum(Algorithm::Checksum16),
            Extern::Random => {
                let bound = |name| match self.argument(id, name) {
                    Some(Constant::Bits(value)) => value.clone(),
                    _ => Bits::zero(1),
                };
                Object::Random(bound("min"), bound("max"))
            }
            Extern::Digest
            | Extern::PacketReplicationEngine
            | Extern::BufferingQueueingEngine
            | Extern::Own(_) => Object::Stateless,
        })
    }

    fn checksum(&mut self, algorithm: Algorithm) -> Object {
        self.checksums += 1;
        Object::Checksum(self.checksums - 1, algorithm)
    }

    fn argument(&self, id: ObjectId, name: &str) -> Option<&Constant> {
        let arguments = &self.program.objects[id.index()].arguments;
        let found = arguments.iter().find(|(parameter, _)| &**parameter == name);
        found.map(|(_, value)| value)
    }

    fn number(&self, id: ObjectId, name: &str) -> Option<u64> {
        match self.argument(id, name)? {
            Constant::Bits(value) => value.to_u64(),
            _ => None,
        }
    }

    fn size(&mut self, id: ObjectId, name: &str, cells: u64) -> Result<usize, Unsupported> {
        let size = self.number(id, name).unwrap_or(u64::MAX);
        self.count(id, size, cells)
    }

    fn direct_size(&mut self, id: ObjectId, cells: u64) -> Result<usize, Unsupported> {
        let users = self.program.tables.iter().zip(self.forms);
        let sizes = users.filter(|(table, _)| table.direct.contains(&id));
        let size = sizes
            .map(|(_, form)| u64::from(form.size))
            .max()
            .unwrap_or(0);
        self.count(id, size, cells)
    }

    fn count(&mut self, id: ObjectId, size: u64, cells: u64) -> Result<usize, Unsupported> {
        let object = &self.program.objects[id.index()];
        self.cells = self.cells.saturating_add(size.saturating_mul(cells));
        if self.cells > CELLS {
            return Err(Unsupported::new(format!(
                "`{}` has {size} elements, more than there is room for: all objects together may take {} MiB; make it smaller",
                object.name,
                (CELLS * 8) >> 20
            )));
        }
        Ok(size as usize)
    }

    fn unit(&self, id: ObjectId) -> Unit {
        self.program.unit(&self.program.objects[id.index()])
    }

    fn algorithm(&self, id: ObjectId) -> Result<Algorithm, Unsupported> {
        let found = self.program.algorithm(&self.program.objects[id.index()]);
        found.map_err(|name| {
            Unsupported::new(format!(
                "`{name}` is not a hash algorithm that is known here"
            ))
        })
    }

    fn selector(&self, table: usize) -> Option<Selector> {
        let profile = self.program.tables[table].implementation?;
        let first = self
            .program
            .tables
            .iter()
            .find(|table| table.implementation == Some(profile))?;
        let name = |action: &p4::ir::TableAction| &self.program.actions[action.action.index()].name;
        let own = &self.program.tables[table].actions;
        let actions = first.actions.iter().map(|action| {
            let same = own.iter().position(|other| name(other) == name(action));
            same.map_or(u32::MAX, |index| index as u32)
        });
        let empty_group = self.program.tables[table].empty_group.as_ref();
        let empty_group = empty_group.map(|call| {
            let mut cells = Vec::new();
            for argument in &call.arguments {
                let at = cells.len();
                cells.resize(at + limbs(argument.width()), 0);
                argument.to_limbs(&mut cells[at..]);
            }
            (call.action, cells)
        });
        let keys = self.program.tables[table].keys.iter();
        let keys = keys.filter(|key| key.match_kind == MatchKind::Selector);
        Some(Selector {
            profile,
            keys: keys.map(|key| key.ty.width()).collect(),
            empty_group,
            algorithm: self.algorithm(profile).unwrap_or(Algorithm::Crc32),
            width: self.number(profile, "outputWidth").unwrap_or(32).min(64) as u32,
            actions: actions.collect(),
        })
    }
}

fn flatten(list: &[Constant], flat: &mut Vec<Bits>) {
    for constant in list {
        match constant {
            Constant::Bits(value) => flat.push(value.clone()),
            Constant::List(list) => flatten(list, flat),
            Constant::Member(_, index) => flat.push(Bits::new(32, *index)),
            Constant::Text(_) | Constant::Object(_) => flat.push(Bits::zero(1)),
        }
    }
}

/// How many cells a value of this type takes when it is handed over, a varbit's length among them.
#[must_use]
pub fn cells_of(ty: Ty) -> usize {
    limbs(ty.width()) + usize::from(matches!(ty, Ty::Varbit(_)))
}
