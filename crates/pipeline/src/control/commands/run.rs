//! Commands carried out, and their answers.

use super::json::{Object, list};
use super::{Answer, Cells, Command};
use crate::control::program::{self, Class};
use crate::control::{
    Control, Count, Entity, EntryKey, Error, ErrorKind, Operation, Update, value,
};
use crate::externs::hash::CrcTable;
use crate::state::counter::Unit;
use crate::state::meter::Rates;
use crate::state::replication::Replica;
use crate::table::{self, Call, Form, Installed};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use node::Time;
use p4::ir::{ActionCall, KeyMatch, ObjectId, TableId, ValueSetId};
use p4::value::Bits;

/// Maximum number of cells of an array in one answer; read a longer array by ranges.
const MAX_CELLS: u64 = 65_536;

impl Control {
    /// Reads a line of words and executes it; an empty line says nothing.
    ///
    /// # Errors
    /// When the line is no command, or the request is refused.
    pub fn say(&self, line: &str) -> Result<Answer, Error> {
        match super::parse(self.program(), line)? {
            Some(command) => self.run(&command),
            None => Ok(Answer::default()),
        }
    }

    /// Carries a command out.
    ///
    /// # Errors
    /// When what it asks for is refused.
    pub fn run(&self, command: &Command) -> Result<Answer, Error> {
        let mut answer = Answer::default();
        match command {
            Command::Write(updates) => {
                self.write_all(updates).map_err(|(_, error)| error)?;
            }
            Command::Clear(table) => {
                let entries = self.entries(*table);
                self.environment()
                    .tables
                    .update(&table::Update::Clear(*table))?;
                for installed in &entries {
                    self.forget(*table, installed);
                }
            }
            Command::ValueSetMember(operation, set, member) => {
                self.value_set_member(*operation, *set, member)?;
            }
            Command::Tables => {
                for index in 0..self.program().tables.len() as u32 {
                    self.describe_table(TableId(index), &mut answer);
                }
            }
            Command::Dump(table) => {
                let count = self.program().tables.len() as u32;
                let tables = table.map_or(0..count, |table| table.0..table.0 + 1);
                for table in tables {
                    self.dump(TableId(table), &mut answer)?;
                }
            }
            Command::Profiles => self.describe_profiles(&mut answer)?,
            Command::DumpProfile(profile) => self.dump_profiles(*profile, &mut answer)?,
            Command::Objects(what) => self.describe_objects(what, &mut answer),
            Command::ReadRegister(id, cells) => {
                let types = program::register_types(&self.program().objects[id.index()]);
                self.cells(*id, *cells, &mut answer, |index, name, answer| {
                    let (_, values) = self.registers(id_of(id), Some(index))?.remove(0);
                    let named: Vec<String> = types
                        .iter()
                        .zip(&values)
                        .map(|((field, _), value)| named(field, &value::display_number(value)))
                        .collect();
                    let mut json = Object::new("register");
                    json.text("name", name).number("index", index);
                    json.raw("values", &list(values.iter().map(json_bits)));
                    answer.push(format!("{name}[{index}] {}", named.join(" ")), &json);
                    Ok(())
                })?;
            }
            Command::WriteRegister(id, cells, values) => {
                let updates: Vec<Update> = match cells {
                    Cells::All => alloc::vec![None],
                    Cells::Range(from, to) if to - from < MAX_CELLS => {
                        (*from..=*to).map(Some).collect()
                    }
                    Cells::Range(..) => return Err(too_many()),
                }
                .into_iter()
                .map(|index| Update {
                    operation: Operation::Modify,
                    entity: Entity::Register(*id, index, values.clone()),
                })
                .collect();
                self.write_all(&updates).map_err(|(_, error)| error)?;
            }
            Command::ReadCounter(id, cells) => {
                self.cells(*id, *cells, &mut answer, |index, name, answer| {
                    let (_, count) = self.counts(id_of(id), Some(index))?[0];
                    let mut json = Object::new("counter");
                    json.text("name", name).number("index", index);
                    json.number("packets", count.packets)
                        .number("bytes", count.bytes);
                    answer.push(format!("{name}[{index}] {}", show_count(count)), &json);
                    Ok(())
                })?;
            }
            Command::ReadMeter(id, cells) => {
                self.cells(*id, *cells, &mut answer, |index, name, answer| {
                    let (_, rates) = self.rates(id_of(id), Some(index))?[0];
                    let unit = self.unit(*id);
                    let mut json = Object::new("meter");
                    json.text("name", name).number("index", index);
                    json.text("unit", unit);
                    put_rates(&mut json, rates);
                    let line = match rates {
                        Some(rates) => format!(
                            "meter set {name} {index} {}  # {unit} a second : {unit}",
                            show_rates(rates)
                        ),
                        None => format!("meter reset {name} {index}"),
                    };
                    answer.push(line, &json);
                    Ok(())
                })?;
            }
            Command::ReadDirectCounter(id, key) => {
                self.direct(
                    *id,
                    key.as_ref(),
                    &mut answer,
                    |table, installed, keys, json| {
                        let count = self.direct_count(table, installed).unwrap_or_default();
                        json.number("packets", count.packets)
                            .number("bytes", count.bytes);
                        format!("{keys} {}", show_count(count))
                    },
                )?;
            }
            Command::ReadDirectMeter(id, key) => {
                self.direct(
                    *id,
                    key.as_ref(),
                    &mut answer,
                    |table, installed, keys, json| {
                        let rates = self.direct_rates(table, installed).flatten();
                        let unit = self.unit(*id);
                        json.text("unit", unit);
                        put_rates(json, rates);
                        match rates {
                            Some(rates) => {
                                format!("{keys} {}  # {unit} a second : {unit}", show_rates(rates))
                            }
                            None => format!("{keys} no rates"),
                        }
                    },
                )?;
            }
            Command::Groups => {
                for (id, replicas, _) in self.multicast_groups() {
                    let mut json = Object::new("group");
                    json.number("id", u64::from(id));
                    put_replicas(&mut json, &replicas);
                    answer.push(format!("group add {id}{}", show_replicas(&replicas)), &json);
                }
            }
            Command::Mirrors => {
                for (id, session) in self.clone_sessions() {
                    let mut json = Object::new("mirror");
                    json.number("id", u64::from(id));
                    put_replicas(&mut json, &session.replicas);
                    let mut line = format!("mirror add {id}{}", show_replicas(&session.replicas));
                    if let Some(group) = session.group {
                        json.number("group", u64::from(group));
                        line += &format!(" group {group}");
                    }
                    if let Some(bytes) = session.truncate {
                        json.number("truncate", u64::from(bytes));
                        line += &format!(" truncate {bytes}");
                    }
                    if session.class_of_service != 0 {
                        json.number("class", u64::from(session.class_of_service));
                        line += &format!(" class {}", session.class_of_service);
                    }
                    answer.push(line, &json);
                }
            }
            Command::ValueSets(set) => {
                let count = self.program().value_sets.len() as u32;
                let sets = set.map_or(0..count, |set| set.0..set.0 + 1);
                for set in sets {
                    self.dump_value_set(ValueSetId(set), &mut answer)?;
                }
            }
            Command::Crcs => {
                let crcs = self.environment().crcs.get();
                for crc in [crcs.crc16_custom.crc(), crcs.crc32_custom.crc()] {
                    let mut json = Object::new("crc");
                    json.number("width", u64::from(crc.width))
                        .text("polynomial", &format!("{:#x}", crc.polynomial))
                        .text("initial", &format!("{:#x}", crc.initial))
                        .text("xor", &format!("{:#x}", crc.last))
                        .boolean("reflect_in", crc.reflect_in)
                        .boolean("reflect_out", crc.reflect_out);
                    let reflect = |on, word| if on { word } else { "" };
                    answer.push(
                        format!(
                            "crc set {} {:#x} {:#x} {:#x}{}{}",
                            crc.width,
                            crc.polynomial,
                            crc.initial,
                            crc.last,
                            reflect(crc.reflect_in, " reflect-in"),
                            reflect(crc.reflect_out, " reflect-out")
                        ),
                        &json,
                    );
                }
            }
            Command::Nic(command) => self.nic(*command, &mut answer)?,
            Command::SetCrc(crc) => {
                let crcs = &self.environment().crcs;
                crcs.change(|tables| {
                    match crc.width {
                        16 => tables.crc16_custom = CrcTable::new(*crc),
                        _ => tables.crc32_custom = CrcTable::new(*crc),
                    }
                    Ok::<(), Error>(())
                })?;
            }
            Command::Digests => {
                for (id, digest) in (0..).zip(self.digests()) {
                    let on = self.digest_config(id).is_some();
                    let mut json = Object::new("digest");
                    json.text("name", &digest.name).boolean("on", on);
                    let fields: Vec<String> = digest
                        .fields
                        .iter()
                        .map(|(name, _)| name.to_string())
                        .collect();
                    answer.push(
                        format!(
                            "{} {} ({})",
                            digest.name,
                            if on { "on" } else { "off" },
                            fields.join(", ")
                        ),
                        &json,
                    );
                }
            }
        }
        Ok(answer)
    }

    fn value_set_member(
        &self,
        operation: Operation,
        set: ValueSetId,
        member: &[KeyMatch],
    ) -> Result<(), Error> {
        let mut members = self.value_set(set)?;
        if operation == Operation::Delete {
            let key = members.iter().position(|other| other == member);
            members.remove(key.ok_or_else(|| {
                Error::new(
                    ErrorKind::Absent,
                    format!(
                        "value set `{}` has no such member",
                        self.program().value_sets[set.index()].name
                    ),
                )
            })?);
        } else {
            members.push(member.to_vec());
        }
        self.write_all(&[Update {
            operation: Operation::Modify,
            entity: Entity::ValueSet(set, members),
        }])
        .map_err(|(_, error)| error)
    }

    fn describe_table(&self, table: TableId, answer: &mut Answer) {
        let tables = &self.environment().tables;
        let form = &tables.forms()[table.index()];
        let keys: Vec<String> = form
            .keys
            .iter()
            .map(|key| format!("{}: {}", key.name, key.kind))
            .collect();
        let actions: Vec<&str> = form.actions.iter().map(|action| &*action.name).collect();
        let entries = tables.len(table);
        let mut json = Object::new("table");
        json.text("name", &form.name)
            .number("entries", entries as u64);
        json.number("size", u64::from(form.size));
        json.raw(
            "keys",
            &list(form.keys.iter().map(|key| {
                let mut json = Object::plain();
                json.text("name", &key.name)
                    .text("match", &key.kind.to_string());
                json.number("width", u64::from(key.ty.width()));
                json.finish()
            })),
        );
        json.raw(
            "actions",
            &list(actions.iter().map(|name| super::json::quoted(name))),
        );
        answer.push(
            format!(
                "{} ({}) {entries} of {}: {}",
                form.name,
                keys.join(", "),
                form.size,
                actions.join(", ")
            ),
            &json,
        );
    }

    fn dump(&self, table: TableId, answer: &mut Answer) -> Result<(), Error> {
        let form = self.form(table)?;
        for installed in self.entries(table) {
            let entry = &installed.entry;
            let keys = show_keys(form, &entry.keys, entry.priority);
            let mut line = format!("table add {}{keys}", form.name);
            if let Some(timeout) = entry.idle_timeout {
                line += &format!(" timeout {}", show_time(timeout));
            }
            line += &format!(" do {}", self.show_call(table, form, &entry.call));
            if installed.is_const {
                // It comes with the program; as a command it would be refused.
                line.insert_str(0, "# ");
            }
            let mut json = self.json_entry(table, form, &installed);
            if let Some(timeout) = entry.idle_timeout {
                json.number("timeout_ps", timeout.as_ps());
            }
            json.raw("action", &self.json_call(table, form, &entry.call));
            answer.push(line, &json);
        }
        let (call, is_programs) = self.default_action(table)?;
        let mut line = format!(
            "table set {} default do {}",
            form.name,
            self.show_call(table, form, &call)
        );
        if is_programs {
            line.insert_str(0, "# ");
        }
        let mut json = Object::new("default");
        json.text("table", &form.name)
            .boolean("program", is_programs);
        json.raw("action", &self.json_call(table, form, &call));
        answer.push(line, &json);
        Ok(())
    }

    fn json_entry(&self, table: TableId, form: &Form, installed: &Installed) -> Object {
        let entry = &installed.entry;
        let mut json = Object::new("entry");
        json.text("table", &form.name)
            .number("handle", installed.handle);
        json.raw(
            "keys",
            &list(form.keys.iter().zip(&entry.keys).map(|(key, given)| {
                let mut json = Object::plain();
                json.text("name", &key.name);
                json.text("match", &value::display_match(given, key.ty.width() > 16));
                json.finish()
            })),
        );
        json.number("priority", u64::from(entry.priority));
        json.boolean("const", installed.is_const);
        if let Some(count) = self.direct_count(table, installed) {
            json.number("packets", count.packets)
                .number("bytes", count.bytes);
        }
        json
    }

    fn show_call(&self, table: TableId, form: &Form, call: &Call) -> String {
        match call {
            Call::Action(call) => show_action(form, call),
            Call::Member(id) => format!("member {id}"),
            Call::Group(id) => match self.own_group(table, *id) {
                None => format!("group {id}"),
                Some(actions) => {
                    let actions: Vec<String> = actions
                        .iter()
                        .map(|(call, weight)| match weight {
                            1 => show_action(form, call),
                            weight => format!("{weight}* {}", show_action(form, call)),
                        })
                        .collect();
                    format!("one {}", actions.join(" or "))
                }
            },
        }
    }

    fn json_call(&self, table: TableId, form: &Form, call: &Call) -> String {
        let mut json = Object::plain();
        match call {
            Call::Action(call) => json_action(&mut json, form, call),
            Call::Member(id) => {
                json.number("member", u64::from(*id));
            }
            Call::Group(id) => match self.own_group(table, *id) {
                None => {
                    json.number("group", u64::from(*id));
                }
                Some(actions) => {
                    json.raw(
                        "one",
                        &list(actions.iter().map(|(call, weight)| {
                            let mut json = Object::plain();
                            json_action(&mut json, form, call);
                            json.number("weight", u64::from(*weight));
                            json.finish()
                        })),
                    );
                }
            },
        }
        json.finish()
    }

    fn describe_profiles(&self, answer: &mut Answer) -> Result<(), Error> {
        let classes = [Class::Profile, Class::Selector];
        for (id, class, object) in program::objects(self.program(), &classes) {
            let (members, groups) = (self.members(id)?.len(), self.groups(id)?.len());
            let mut json = Object::new("profile");
            json.text("name", &object.name).text("class", class.word());
            json.number("members", members as u64)
                .number("groups", groups as u64);
            answer.push(
                format!(
                    "{} ({}) {members} members, {groups} groups",
                    object.name,
                    class.word()
                ),
                &json,
            );
        }
        Ok(())
    }

    fn dump_profiles(&self, only: Option<ObjectId>, answer: &mut Answer) -> Result<(), Error> {
        let classes = [Class::Profile, Class::Selector];
        for (id, _, object) in program::objects(self.program(), &classes) {
            if only.is_some_and(|only| only != id) {
                continue;
            }
            let Ok(table) = program::table_of_profile(self.program(), id) else {
                continue;
            };
            let form = self.form(table)?;
            for member in self.members(id)? {
                let mut json = Object::new("member");
                json.text("profile", &object.name)
                    .number("id", u64::from(member.id));
                json_action(&mut json, form, &member.call);
                answer.push(
                    format!(
                        "profile add {} member {} do {}",
                        object.name,
                        member.id,
                        show_action(form, &member.call)
                    ),
                    &json,
                );
            }
            for group in self.groups(id)? {
                let mut json = Object::new("profile group");
                json.text("profile", &object.name)
                    .number("id", u64::from(group.id));
                json.raw(
                    "members",
                    &list(group.members.iter().map(|member| {
                        let mut json = Object::plain();
                        json.number("member", u64::from(member.member));
                        json.number("weight", u64::from(member.weight));
                        json.finish()
                    })),
                );
                let mut line = format!("profile add {} group {}", object.name, group.id);
                for member in &group.members {
                    line += &format!(" {}", member.member);
                    if member.weight != 1 {
                        line += &format!("*{}", member.weight);
                    }
                }
                if group.most != 0 {
                    line += &format!(" most {}", group.most);
                    json.number("most", u64::from(group.most));
                }
                answer.push(line, &json);
            }
        }
        Ok(())
    }

    fn describe_objects(&self, what: &str, answer: &mut Answer) {
        let classes: &[Class] = match what {
            "register" => &[Class::Register],
            "counter" => &[Class::Counter, Class::DirectCounter],
            _ => &[Class::Meter, Class::DirectMeter],
        };
        for (id, class, object) in program::objects(self.program(), classes) {
            let mut json = Object::new(what);
            json.text("name", &object.name).text("class", class.word());
            let environment = self.environment();
            let size = match class {
                Class::Register => environment.register(id).map(|register| register.size()),
                Class::Counter => environment.counter(id).map(|counter| counter.size()),
                Class::Meter => environment.meter(id).map(|meter| meter.size()),
                _ => None,
            };
            let mut line = match (size, program::table_of_direct(self.program(), id)) {
                (Some(size), _) => {
                    json.number("size", size as u64);
                    format!("{} ({}) {size} cells", object.name, class.word())
                }
                (None, Ok(table)) => {
                    let table = &self.program().tables[table.index()].name;
                    json.text("table", table);
                    format!("{} ({}) of table {table}", object.name, class.word())
                }
                (None, Err(_)) => format!("{} ({})", object.name, class.word()),
            };
            if environment.meter(id).is_some() {
                let unit = self.unit(id);
                json.text("unit", unit);
                line += &format!(", rates in {unit} a second");
            }
            answer.push(line, &json);
        }
    }

    /// Unit of a meter.
    fn unit(&self, meter: ObjectId) -> &'static str {
        match self.environment().meter(meter).map(|meter| meter.unit) {
            Some(Unit::Packets) => "packets",
            _ => "bytes",
        }
    }

    /// Does something for each of an array's cells.
    fn cells(
        &self,
        id: ObjectId,
        cells: Cells,
        answer: &mut Answer,
        mut each: impl FnMut(u64, &str, &mut Answer) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let environment = self.environment();
        let size = environment
            .register(id)
            .map(|register| register.size())
            .or_else(|| environment.counter(id).map(|counter| counter.size()))
            .or_else(|| environment.meter(id).map(|meter| meter.size()))
            .unwrap_or(0) as u64;
        let range = match cells {
            Cells::All => 0..size,
            Cells::Range(from, to) => {
                self.indices(id, Some(from), size as usize)?;
                self.indices(id, Some(to), size as usize)?;
                from..to + 1
            }
        };
        if range.end - range.start > MAX_CELLS {
            return Err(too_many());
        }
        let name = &self.program().objects[id.index()].name;
        for index in range {
            each(index, name, answer)?;
        }
        Ok(())
    }

    /// Does something for each entry of the table that a direct object belongs to, or for one.
    fn direct(
        &self,
        id: ObjectId,
        key: Option<&EntryKey>,
        answer: &mut Answer,
        mut each: impl FnMut(TableId, &Installed, &str, &mut Object) -> String,
    ) -> Result<(), Error> {
        let table = program::table_of_direct(self.program(), id)?;
        let form = self.form(table)?;
        let installed = match key {
            Some(key) => alloc::vec![self.installed(key)?],
            None => self.entries(table),
        };
        for installed in &installed {
            let keys = show_keys(form, &installed.entry.keys, installed.entry.priority);
            let mut json = Object::new("direct");
            json.text("table", &form.name).text("keys", keys.trim());
            let line = each(table, installed, &format!("{}{keys}", form.name), &mut json);
            answer.push(line, &json);
        }
        Ok(())
    }

    fn dump_value_set(&self, id: ValueSetId, answer: &mut Answer) -> Result<(), Error> {
        let set = &self.program().value_sets[id.index()];
        let members = self.value_set(id)?;
        for member in &members {
            let fields: Vec<String> = member
                .iter()
                .zip(&set.fields)
                .map(|(given, (name, ty, _))| {
                    named(name, &value::display_match(given, ty.width() > 16))
                })
                .collect();
            let mut json = Object::new("value-set");
            json.text("name", &set.name);
            json.raw(
                "member",
                &list(fields.iter().map(|field| super::json::quoted(field))),
            );
            answer.push(
                format!("value-set add {} {}", set.name, fields.join(" ")),
                &json,
            );
        }
        if members.is_empty() {
            let mut json = Object::new("value-set");
            json.text("name", &set.name);
            answer.push(
                format!("# {} is empty, room for {}", set.name, set.size),
                &json,
            );
        }
        Ok(())
    }
}

impl Answer {
    pub(super) fn push(&mut self, line: String, json: &Object) {
        self.rows.push((line, json.clone().finish()));
    }
}

fn id_of(id: &ObjectId) -> ObjectId {
    *id
}

fn too_many() -> Error {
    Error::value(format!("that is more than {MAX_CELLS} cells: say FROM..TO"))
}

fn named(name: &str, value: &str) -> String {
    match name {
        "" => value.to_owned(),
        name => format!("{name}={value}"),
    }
}

fn show_keys(form: &Form, keys: &[KeyMatch], priority: u32) -> String {
    let mut text = String::new();
    for (key, given) in form.keys.iter().zip(keys) {
        if *given == KeyMatch::Any {
            continue;
        }
        let shown = value::display_match(given, key.ty.width() > 16);
        text += &format!(" {}={shown}", quoted_name(&key.name));
    }
    if priority != 0 {
        text += &format!(" priority {priority}");
    }
    text
}

/// A name in quotes where the line would be cut within it.
fn quoted_name(name: &str) -> String {
    let plain = name.replace("()", "");
    if plain.contains(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',' | '=')) {
        format!("\"{name}\"")
    } else {
        name.to_owned()
    }
}

fn show_action(form: &Form, call: &ActionCall) -> String {
    let Some(action) = form.actions.get(call.action as usize) else {
        return format!("action {}", call.action);
    };
    let mut text = action.name.to_string();
    for ((name, _), argument) in action.parameters.iter().zip(&call.arguments) {
        text += &format!(" {name}={}", value::display(argument, true));
    }
    text
}

fn json_action(json: &mut Object, form: &Form, call: &ActionCall) {
    let Some(action) = form.actions.get(call.action as usize) else {
        return;
    };
    json.text("action", &action.name);
    let mut arguments = Object::plain();
    for ((name, _), argument) in action.parameters.iter().zip(&call.arguments) {
        arguments.raw(name, &json_bits(argument));
    }
    json.raw("arguments", &arguments.finish());
}

/// A number where every reader of JSON has it exactly, text otherwise.
fn json_bits(value: &Bits) -> String {
    match value.to_u64() {
        Some(number) if number < 1 << 53 => format!("{number}"),
        _ => format!("\"{:#x}\"", value.unsigned()),
    }
}

fn show_count(count: Count) -> String {
    format!("packets={} bytes={}", count.packets, count.bytes)
}

fn show_rates(rates: Rates) -> String {
    format!(
        "{}:{} {}:{}",
        rates.committed, rates.committed_burst, rates.peak, rates.peak_burst
    )
}

fn put_rates(json: &mut Object, rates: Option<Rates>) {
    if let Some(rates) = rates {
        json.number("committed", rates.committed);
        json.number("committed_burst", rates.committed_burst);
        json.number("peak", rates.peak);
        json.number("peak_burst", rates.peak_burst);
    }
}

fn show_replicas(replicas: &[Replica]) -> String {
    let mut text = String::new();
    for replica in replicas {
        text += &match replica.instance {
            0 => format!(" {}", replica.port),
            instance => format!(" {}:{instance}", replica.port),
        };
    }
    text
}

fn put_replicas(json: &mut Object, replicas: &[Replica]) {
    json.raw(
        "replicas",
        &list(replicas.iter().map(|replica| {
            let mut json = Object::plain();
            json.number("port", u64::from(replica.port));
            json.number("instance", u64::from(replica.instance));
            json.finish()
        })),
    );
}

/// A time in the largest unit that has no rest.
pub(super) fn show_time(time: Time) -> String {
    let units = [
        (1_000_000_000_000, "s"),
        (1_000_000_000, "ms"),
        (1_000_000, "us"),
        (1000, "ns"),
    ];
    for (scale, unit) in units {
        if time.as_ps().is_multiple_of(scale) {
            return format!("{}{unit}", time.as_ps() / scale);
        }
    }
    format!("{}ps", time.as_ps())
}
