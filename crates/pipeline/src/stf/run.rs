//! Carrying out an STF file.

mod judge;

use super::parse::{Fault, number};
use super::script::{Call, Check, Checked, Command, Entry, Expected, Index, Kind, Removed};
use crate::architecture::{Collected, Pipeline};
use crate::control::{Control, Entity, EntryKey, Error, Operation, Update, names, program, value};
use crate::environment::Digest;
use crate::table;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use node::Time;
use p4::ir::{ActionCall, KeyMatch, MatchKind, TableId};
use p4::value::Bits;

/// How far apart packets are, when no `wait` stands between them.
const STEP: Time = Time::from_us(1);

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What was not as the file wants it.
    pub failures: Vec<Finding>,
    /// What the file asked to be told, and what came out at ports that it does not mention.
    pub notes: Vec<Finding>,
    /// Packets that came in.
    pub packets: usize,
    /// Packets, digests and values that were as they are wanted.
    pub met: usize,
}

impl Outcome {
    /// Of a test that could not begin.
    #[must_use]
    pub fn failed(message: impl Into<String>) -> Self {
        let message = message.into();
        Outcome {
            failures: vec![Finding { line: 0, message }],
            ..Outcome::default()
        }
    }
}

impl From<Vec<Fault>> for Outcome {
    fn from(faults: Vec<Fault>) -> Self {
        let failures = faults
            .into_iter()
            .map(|Fault { line, message }| Finding { line, message });
        Outcome {
            failures: failures.collect(),
            ..Outcome::default()
        }
    }
}

/// Something about a line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// From 1; 0 for the file as a whole.
    pub line: u32,
    /// What is said, in one or more lines.
    pub message: String,
}

/// Runs a script on a pipeline.
pub fn run(script: &[Command], pipeline: &mut Pipeline) -> Outcome {
    run_with(script, pipeline, &mut |_| {})
}

/// Runs a script on a pipeline, and calls back after each packet.
pub fn run_with(
    script: &[Command],
    pipeline: &mut Pipeline,
    after: &mut dyn FnMut(&mut Pipeline),
) -> Outcome {
    let control = Control::new(Arc::clone(pipeline.environment()));
    let mut run = Run {
        control: &control,
        now: Time::ZERO,
        out: BTreeMap::new(),
        digests: Vec::new(),
        wanted: Vec::new(),
        mentioned: Vec::new(),
        entries: BTreeMap::new(),
        added: Vec::new(),
        nodes: Vec::new(),
        groups: BTreeMap::new(),
        outcome: Outcome::default(),
    };
    for command in script {
        run.command(command, pipeline);
        if matches!(command.kind, Kind::Packet { .. }) {
            after(pipeline);
        }
    }
    run.judge();
    run.outcome
}

struct Run<'a> {
    control: &'a Control,
    now: Time,
    /// What came out, port by port.
    out: BTreeMap<u32, Vec<Vec<u8>>>,
    digests: Vec<Digest>,
    /// What is to be compared at the end.
    wanted: Vec<Wanted>,
    mentioned: Vec<u32>,
    /// Entries that were given names.
    entries: BTreeMap<String, (TableId, EntryKey)>,
    /// Entries that `remove all` removes.
    added: Vec<(TableId, EntryKey)>,
    /// Multicast nodes by number: the replicas' id, and ports.
    nodes: Vec<(u16, Vec<u32>)>,
    /// The nodes of each multicast group.
    groups: BTreeMap<u32, Vec<u32>>,
    outcome: Outcome,
}

/// An expectation, and where it stands.
struct Wanted {
    line: u32,
    kind: WantedKind,
}

enum WantedKind {
    Packet(Expected),
    /// How many packets had come out, at the port or at each, when the line was read.
    Nothing(BTreeMap<u32, usize>),
    Digest {
        name: String,
        fields: Vec<(String, String)>,
    },
    Either(Vec<Vec<Wanted>>),
}

/// Where the comparison is.
#[derive(Clone, Default)]
struct Cursor {
    /// How many packets of a port are taken.
    taken: BTreeMap<u32, usize>,
    /// Ports at which anything may come out.
    open: Vec<u32>,
    digests: Vec<bool>,
    met: usize,
}

impl Run<'_> {
    fn command(&mut self, command: &Command, pipeline: &mut Pipeline) {
        let line = command.line;
        match &command.kind {
            Kind::Packet { port, bytes } => {
                self.mention(*port);
                self.now += STEP;
                self.outcome.packets += 1;
                let mut out = Collected::default();
                pipeline.process(self.now, *port, bytes, &mut out);
                for (port, bytes) in out.packets {
                    self.out.entry(port).or_default().push(bytes);
                }
                self.digests
                    .extend(self.control.environment().digests.drain());
            }
            Kind::Wait(time) => self.now += Time::from_ps(*time),
            Kind::Expect(_) | Kind::NoPacket(_) | Kind::ExpectDigest { .. } | Kind::Either(_) => {
                let wanted = self.wanted(command);
                self.wanted.push(wanted);
            }
            _ => {
                if let Err(error) = self.control(line, &command.kind) {
                    self.fail(line, error.message);
                }
            }
        }
    }

    fn fail(&mut self, line: u32, message: impl Into<String>) {
        self.outcome.failures.push(Finding {
            line,
            message: message.into(),
        });
    }

    fn mention(&mut self, port: u32) {
        if !self.mentioned.contains(&port) {
            self.mentioned.push(port);
        }
    }

    fn wanted(&mut self, command: &Command) -> Wanted {
        let kind = match &command.kind {
            Kind::Expect(expected) => {
                self.mention(expected.port);
                WantedKind::Packet(expected.clone())
            }
            Kind::ExpectDigest { name, fields } => WantedKind::Digest {
                name: name.clone(),
                fields: fields.clone(),
            },
            Kind::Either(branches) => {
                let branches = branches
                    .iter()
                    .map(|branch| branch.iter().map(|command| self.wanted(command)).collect());
                WantedKind::Either(branches.collect())
            }
            Kind::NoPacket(port) => {
                let counts = self
                    .out
                    .iter()
                    .map(|(port, packets)| (*port, packets.len()));
                WantedKind::Nothing(match port {
                    None => counts.collect(),
                    Some(port) => counts.filter(|(other, _)| other == port).collect(),
                })
            }
            // The parser lets nothing else into an `either`.
            _ => WantedKind::Nothing(BTreeMap::new()),
        };
        Wanted {
            line: command.line,
            kind,
        }
    }

    /// Commands to the control plane.
    fn control(&mut self, line: u32, kind: &Kind) -> Result<(), Error> {
        match kind {
            Kind::Add(entry) => self.add(entry),
            Kind::SetDefault { table, action } => {
                let table = program::table(self.control.program(), table)?;
                let call = self.call(table, action)?;
                self.write(Operation::Modify, Entity::Default(table, Some(call)))
            }
            Kind::Remove(removed) => self.remove(removed),
            Kind::Check(check) => self.check(line, check),
            Kind::Read {
                command,
                name,
                index,
            } => self.read(line, command, name, *index),
            Kind::CounterWrite {
                name,
                index,
                packets,
                bytes,
            } => self
                .say(&format!(
                    "counter write {name} {index} packets={packets} bytes={bytes}"
                ))
                .map(drop),
            Kind::RegisterWrite { name, index, value } => self
                .say(&format!("register write {name} {index} {value}"))
                .map(drop),
            Kind::RegisterReset(name) => self.say(&format!("register reset {name}")).map(drop),
            Kind::MeterRates { name, index, rates } => {
                let index = index.map_or("all".to_string(), |index| index.to_string());
                let rates: Vec<String> = rates
                    .iter()
                    .map(|(rate, burst)| format!("{rate}:{burst}"))
                    .collect();
                self.say(&format!("meter set {name} {index} {}", rates.join(" ")))
                    .map(drop)
            }
            Kind::MirrorPort { session, port } => {
                self.say(&format!("mirror set {session} {port}")).map(drop)
            }
            Kind::MirrorGroup { session, group } => self
                .say(&format!("mirror set {session} group {group}"))
                .map(drop),
            Kind::MirrorDelete(session) => self.say(&format!("mirror rm {session}")).map(drop),
            Kind::GroupCreate(group) => {
                self.groups.entry(*group).or_default();
                self.group(*group)
            }
            Kind::NodeCreate { rid, ports } => {
                self.nodes.push((*rid, ports.clone()));
                Ok(())
            }
            Kind::NodeUpdate { node, ports } => {
                let count = self.nodes.len();
                let found = self
                    .nodes
                    .get_mut(*node as usize)
                    .ok_or_else(|| no_node(*node, count))?;
                found.1.clone_from(ports);
                let groups: Vec<u32> = self
                    .groups
                    .iter()
                    .filter(|(_, nodes)| nodes.contains(node))
                    .map(|(group, _)| *group)
                    .collect();
                groups.into_iter().try_for_each(|group| self.group(group))
            }
            Kind::NodeAssociate { group, node } => {
                if *node as usize >= self.nodes.len() {
                    return Err(no_node(*node, self.nodes.len()));
                }
                let nodes = self.groups.get_mut(group);
                let nodes = nodes.ok_or_else(|| {
                    Error::name(format!(
                        "multicast group {group} is not there; `mc_mgrp_create {group}` makes it"
                    ))
                })?;
                nodes.push(*node);
                self.group(*group)
            }
            Kind::Words(words) => {
                let answer = self.say(words)?;
                if !answer.is_empty() {
                    self.outcome.notes.push(Finding {
                        line,
                        message: answer.join("\n"),
                    });
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Says something in the control plane's words, and gives the answer's lines.
    fn say(&self, words: &str) -> Result<Vec<String>, Error> {
        let answer = self.control.say(words)?;
        Ok(answer.rows.into_iter().map(|(text, _)| text).collect())
    }

    fn write(&self, operation: Operation, entity: Entity) -> Result<(), Error> {
        self.control
            .write_all(&[Update { operation, entity }])
            .map_err(|(_, error)| error)
    }

    /// Makes a multicast group what its nodes say.
    fn group(&self, group: u32) -> Result<(), Error> {
        let nodes = self.groups.get(&group).into_iter().flatten();
        let replicas = nodes.flat_map(|node| {
            let (rid, ports) = &self.nodes[*node as usize];
            ports.iter().map(move |port| format!(" {port}:{rid}"))
        });
        let replicas: String = replicas.collect();
        self.say(&format!("group set {group}{replicas}")).map(drop)
    }

    fn add(&mut self, entry: &Entry) -> Result<(), Error> {
        let table = program::table(self.control.program(), &entry.table)?;
        let key = self.key(table, &entry.keys, entry.priority)?;
        let call = self.call(table, &entry.action)?;
        let made = table::Entry {
            priority: key.priority,
            ..table::Entry::new(key.keys.clone().unwrap_or_default(), plain(&call))
        };
        let made = table::Entry { call, ..made };
        self.write(Operation::Insert, Entity::Entry(table, made))?;
        if let Some(id) = &entry.id {
            self.entries.insert(id.clone(), (table, key.clone()));
        }
        self.added.push((table, key));
        Ok(())
    }

    fn remove(&mut self, removed: &Removed) -> Result<(), Error> {
        let gone = match removed {
            Removed::All => core::mem::take(&mut self.added),
            Removed::Id(id) => {
                let entry = self.entries.remove(id);
                vec![entry.ok_or_else(|| {
                    Error::name(format!("no line above gives an entry the name `{id}`"))
                })?]
            }
            Removed::Entry {
                table,
                priority,
                keys,
            } => {
                let table = program::table(self.control.program(), table)?;
                vec![(table, self.key(table, keys, *priority)?)]
            }
        };
        for (table, key) in gone {
            let keys = key.keys.clone().unwrap_or_default();
            let entry = table::Entry {
                priority: key.priority,
                ..table::Entry::new(
                    keys,
                    ActionCall {
                        action: 0,
                        arguments: Vec::new(),
                    },
                )
            };
            self.added.retain(|other| *other != (table, key.clone()));
            let done = self.write(Operation::Delete, Entity::Entry(table, entry));
            // `remove all` takes away what is left.
            if !matches!(removed, Removed::All) {
                done?;
            }
        }
        Ok(())
    }

    /// The keys of an entry; what is left out matches anything, and of an exact key zero.
    fn key(
        &self,
        table: TableId,
        given: &[(String, String)],
        priority: Option<u32>,
    ) -> Result<EntryKey, Error> {
        let form = &self.control.program().tables[table.index()];
        let keys: Vec<_> = form
            .keys
            .iter()
            .filter(|key| key.match_kind != MatchKind::Selector)
            .collect();
        let mut matches: Vec<KeyMatch> = keys
            .iter()
            .map(|key| match key.match_kind {
                MatchKind::Exact => KeyMatch::Exact(Bits::zero(key.ty.width())),
                _ => KeyMatch::Any,
            })
            .collect();
        let what = format!("key in table `{}`", form.name);
        for (name, text) in given {
            let index = key(&what, name, keys.iter().map(|key| &*key.name))?;
            let key = keys[index];
            matches[index] = value::parse_match(text, key.ty, &key.match_kind)
                .map_err(|error| error.at(format!("key `{name}`")))?;
        }
        let ordered = keys
            .iter()
            .any(|key| !matches!(key.match_kind, MatchKind::Exact | MatchKind::Lpm));
        // Here priorities begin with 1; in STF files with 0, and some leave them out.
        let priority = if ordered {
            priority.unwrap_or(0).saturating_add(1)
        } else {
            0
        };
        Ok(EntryKey {
            table,
            keys: Some(matches),
            priority,
        })
    }

    fn call(&self, table: TableId, call: &Call) -> Result<table::Call, Error> {
        let all = self.control.program();
        let form = &all.tables[table.index()];
        let index = program::action(all, form, &call.name)?;
        let action = &all.actions[form.actions[index as usize].action.index()];
        let what = format!("parameter of action `{}`", action.name);
        let mut arguments: Vec<Option<Bits>> = vec![None; action.parameters.len()];
        for (name, text) in &call.arguments {
            let parameter = names::resolve(
                &what,
                name,
                action.parameters.iter().map(|(name, ..)| &**name),
            )?;
            let ty = self
                .control
                .environment()
                .layout
                .cell(action.parameters[parameter].1)
                .1;
            arguments[parameter] = Some(value::parse(text, ty)?);
        }
        let given = arguments
            .iter()
            .zip(&action.parameters)
            .map(|(argument, (name, ..))| {
                argument
                    .clone()
                    .ok_or_else(|| Error::value(format!("action `{}` needs `{name}`", action.name)))
            });
        Ok(table::Call::Action(ActionCall {
            action: index,
            arguments: given.collect::<Result<_, _>>()?,
        }))
    }

    fn check(&mut self, line: u32, check: &Check) -> Result<(), Error> {
        let is = match (check.what, &check.index) {
            (Checked::Register, Index::Number(index)) => {
                let (object, _) = program::object(
                    self.control.program(),
                    "register",
                    &check.name,
                    &[program::Class::Register],
                )?;
                let cells = self.control.registers(object, Some(*index))?;
                let scalars = cells
                    .first()
                    .map(|(_, scalars)| scalars.as_slice())
                    .unwrap_or_default();
                let value = scalars
                    .first()
                    .map(|bits| bits.unsigned().clone())
                    .unwrap_or_default();
                u128::try_from(value).unwrap_or(u128::MAX)
            }
            (what, Index::Number(index)) => {
                let classes = [program::Class::Counter];
                let (object, _) =
                    program::object(self.control.program(), "counter", &check.name, &classes)?;
                let counts = self.control.counts(object, Some(*index))?;
                let count = counts.first().map(|(_, count)| *count).unwrap_or_default();
                u128::from(if what == Checked::Bytes {
                    count.bytes
                } else {
                    count.packets
                })
            }
            (what, Index::Entry(id)) => {
                let (table, key) = self.entries.get(id).ok_or_else(|| {
                    Error::name(format!("no line above gives an entry the name `{id}`"))
                })?;
                let installed = self.control.installed(key)?;
                let count = self.control.direct_count(*table, &installed);
                let count = count.ok_or_else(|| {
                    Error::name(format!(
                        "table `{}` has no direct counter",
                        self.control.program().tables[table.index()].name
                    ))
                })?;
                u128::from(if what == Checked::Bytes {
                    count.bytes
                } else {
                    count.packets
                })
            }
        };
        match check.wanted {
            Some((relation, wanted)) if !relation.holds(is, wanted) => {
                self.fail(
                    line,
                    format!("{} is {is}, not {} {wanted}", check.name, relation.text()),
                );
            }
            _ => self.outcome.met += 1,
        }
        Ok(())
    }

    fn read(&mut self, line: u32, command: &str, name: &str, index: u64) -> Result<(), Error> {
        let words = match command {
            "register_read" => format!("register read {name} {index}"),
            "counter_read" => format!("counter read {name} {index}"),
            "meter_get_rates" => format!("meter read {name} {index}"),
            _ => {
                let sessions = self.control.clone_sessions();
                let Some((_, session)) = sessions.iter().find(|(id, _)| u64::from(*id) == index)
                else {
                    return Err(Error::name(format!("there is no clone session {index}")));
                };
                self.outcome.notes.push(Finding {
                    line,
                    message: format!("clone session {index}: {session:?}"),
                });
                return Ok(());
            }
        };
        let message = self.say(&words)?.join("\n");
        self.outcome.notes.push(Finding { line, message });
        Ok(())
    }
}

fn no_node(node: u32, count: usize) -> Error {
    Error::name(format!(
        "there are {count} multicast nodes, numbered from 0; there is no {node}"
    ))
}

fn plain(call: &table::Call) -> ActionCall {
    match call {
        table::Call::Action(call) => call.clone(),
        _ => ActionCall {
            action: 0,
            arguments: Vec::new(),
        },
    }
}

/// A key by any of the names that test files use for it: `valid` and `h.valid` mean `h.$valid$`.
fn key<'a>(
    what: &str,
    name: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Result<usize, Error> {
    // P4_14's `valid(data)` is written `data` or `data.valid`.
    let validity = match name.strip_suffix("valid") {
        Some(before) => format!("{before}$valid$"),
        None => format!("{name}.$valid$"),
    };
    let valid = names::resolve(what, &validity, names.clone()).ok();
    match (names::resolve(what, name, names.clone()), valid) {
        (Err(_), Some(index)) => Ok(index),
        // A key's mask is no part of its name here.
        (Err(error), None) => match name.split_once('&') {
            Some((masked, _)) => names::resolve(what, masked, names).map_err(|_| error),
            None => Err(error),
        },
        (found, _) => found,
    }
}
