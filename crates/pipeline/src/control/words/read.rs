//! From words to commands.

use super::line::split;
use super::{Cells, Command};
use crate::control::names::resolve;
use crate::control::program::{self, Class};
use crate::control::{
    Count, DigestConfig, Entity, Error, ErrorKind, Group, Member, Operation, Place, Update,
    digests, value,
};
use crate::externs::hash::{CRC16, CRC32, Crc};
use crate::state::meter::Rates;
use crate::state::profile::GroupMember;
use crate::state::replication::{Replica, Session};
use crate::table::{Call, Entry};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::str::FromStr;
use node::Time;
use p4::ir::{ActionCall, Key, KeyMatch, ObjectId, Program, Table, TableId, Ty};
use p4::value::Bits;

/// A line may have no more words than this.
const MOST_WORDS: usize = 4096;

/// The command of a line; none of a blank one or a comment.
pub fn parse(program: &Program, line: &str) -> Result<Option<Command>, Error> {
    let words = split(line)?;
    if words.is_empty() {
        return Ok(None);
    }
    if words.len() > MOST_WORDS {
        return Err(Error::value(format!(
            "a line has at most {MOST_WORDS} words"
        )));
    }
    let mut words = Words {
        program,
        rest: words
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .into_iter(),
    };
    let command = words.command()?;
    match words.rest.next() {
        None => Ok(Some(command)),
        Some(word) => Err(Error::value(format!("`{word}` is one word too many"))),
    }
}

/// The commands of a file, each with the number of its line. Errors name the place as `NAME:LINE`.
pub fn parse_file(
    program: &Program,
    name: &str,
    text: &str,
) -> Result<Vec<(usize, Command)>, Vec<Error>> {
    let (mut commands, mut errors) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(text.lines()) {
        match parse(program, line) {
            Ok(None) => {}
            Ok(Some(command)) => commands.push((number, command)),
            Err(error) => errors.push(error.at(format_args!("{name}:{number}"))),
        }
    }
    if errors.is_empty() {
        Ok(commands)
    } else {
        Err(errors)
    }
}

struct Words<'a> {
    program: &'a Program,
    rest: vec::IntoIter<&'a str>,
}

fn write(operation: Operation, entity: Entity) -> Command {
    Command::Write(vec![Update { operation, entity }])
}

impl<'a> Words<'a> {
    fn next(&mut self, what: &str) -> Result<&'a str, Error> {
        self.rest
            .next()
            .ok_or_else(|| Error::value(format!("here the line ends, and {what} is missing")))
    }

    fn peek(&self) -> Option<&'a str> {
        self.rest.as_slice().first().copied()
    }

    /// The next word of what is to be there; what is removed has none.
    fn more(&mut self, operation: Operation) -> Option<&'a str> {
        match operation {
            Operation::Delete => None,
            _ => self.rest.next(),
        }
    }

    /// The word if it comes next.
    fn take(&mut self, word: &str) -> bool {
        let here = self.peek() == Some(word);
        if here {
            self.rest.next();
        }
        here
    }

    fn number<T: FromStr>(&mut self, what: &str) -> Result<T, Error> {
        let word = self.next(what)?;
        number(word, what)
    }

    fn command(&mut self) -> Result<Command, Error> {
        let topic = self.next("a command")?;
        match topic {
            "table" => self.table(),
            "profile" => self.profile(),
            "register" => self.register(),
            "counter" => self.counter(),
            "meter" => self.meter(),
            "group" => self.group(),
            "mirror" => self.mirror(),
            "value-set" => self.value_set(),
            "digest" => self.digest(),
            "crc" => self.crc(),
            _ => Err(one_of(
                "command",
                topic,
                &[
                    "table",
                    "profile",
                    "register",
                    "counter",
                    "meter",
                    "group",
                    "mirror",
                    "value-set",
                    "digest",
                    "crc",
                ],
            )),
        }
    }

    fn table(&mut self) -> Result<Command, Error> {
        let verb = self.next("ls, dump, add, set or rm")?;
        let operation = match verb {
            "ls" => return Ok(Command::Tables),
            "dump" => {
                let name = self.rest.next();
                let table = name.map(|name| program::table(self.program, name));
                return Ok(Command::Dump(table.transpose()?));
            }
            "add" => Operation::Insert,
            "set" => Operation::Put,
            "rm" => Operation::Delete,
            _ => {
                return Err(one_of("verb", verb, &["ls", "dump", "add", "set", "rm"]));
            }
        };
        let id = program::table(self.program, self.next("a table")?)?;
        let table = &self.program.tables[id.index()];
        if operation == Operation::Delete && self.take("all") {
            return Ok(Command::Clear(id));
        }
        if self.take("default") {
            return match operation {
                Operation::Insert => Err(Error::value(format!(
                    "table `{}` has a default action already: write `table set {} default ...`",
                    table.name, table.name
                ))),
                Operation::Delete => Ok(write(Operation::Put, Entity::Default(id, None))),
                _ => {
                    self.marker()?;
                    let call = match self.choice(id)? {
                        Choice::Call(call) => call,
                        Choice::OneShot(_) => {
                            return Err(Error::new(
                                ErrorKind::Unsupported,
                                "a default action has no group of its own: name a member or group",
                            ));
                        }
                    };
                    Ok(write(Operation::Put, Entity::Default(id, Some(call))))
                }
            };
        }
        let mut entry = Entry {
            keys: Vec::new(),
            priority: 0,
            call: Call::Action(ActionCall {
                action: 0,
                arguments: Vec::new(),
            }),
            idle_timeout: None,
            metadata: Arc::new([]),
        };
        entry.keys = self.keys(table, &mut entry.priority, &mut entry.idle_timeout)?;
        let entity = if operation == Operation::Delete {
            Entity::Entry(id, entry)
        } else {
            self.marker()?;
            match self.choice(id)? {
                Choice::Call(call) => Entity::Entry(id, Entry { call, ..entry }),
                Choice::OneShot(actions) => Entity::OneShot(id, entry, actions),
            }
        };
        Ok(write(operation, entity))
    }

    /// The matches of an entry's keys, in order, with the options among them, up to `do` or the end.
    fn keys(
        &mut self,
        table: &'a Table,
        priority: &mut u32,
        timeout: &mut Option<Time>,
    ) -> Result<Vec<KeyMatch>, Error> {
        let keys: Vec<&Key> = table
            .keys
            .iter()
            .filter(|key| &*key.match_kind != "selector")
            .collect();
        let mut matches: Vec<Option<KeyMatch>> = vec![None; keys.len()];
        let mut position = 0;
        while let Some(word) = self.peek() {
            if matches!(word, "do" | "=>") {
                break;
            }
            self.rest.next();
            match word {
                "priority" => {
                    *priority = self.number("a priority")?;
                    continue;
                }
                "timeout" => {
                    *timeout = Some(time(self.next("a time such as 5s")?)?);
                    continue;
                }
                _ => {}
            }
            let (index, text) = match word.split_once('=') {
                Some((name, text)) => {
                    let what = format!("key in table `{}`", table.name);
                    (
                        resolve(&what, name, keys.iter().map(|key| &*key.name))?,
                        text,
                    )
                }
                None => {
                    position += 1;
                    (position - 1, word)
                }
            };
            let Some(key) = keys.get(index) else {
                return Err(Error::value(format!(
                    "`{word}` is one key too many: table `{}` has {} (then comes `do ACTION`)",
                    table.name,
                    match keys.len() {
                        0 => "none".to_string(),
                        count => format!("{count}"),
                    }
                )));
            };
            if matches[index].is_some() {
                return Err(Error::value(format!("key `{}` is given twice", key.name)));
            }
            let parsed = value::parse_match(text, key.ty, &key.match_kind).map_err(|error| {
                error.at(format_args!("key `{}` of table `{}`", key.name, table.name))
            })?;
            matches[index] = Some(parsed);
        }
        matches
            .into_iter()
            .zip(&keys)
            .map(|(given, key)| match given {
                Some(given) => Ok(given),
                None if &*key.match_kind != "exact" => Ok(KeyMatch::Any),
                None => Err(Error::value(format!(
                    "key `{}` of table `{}` is missing, and it is exact",
                    key.name, table.name
                ))),
            })
            .collect()
    }

    fn marker(&mut self) -> Result<(), Error> {
        let word = self.next("`do ACTION`")?;
        if matches!(word, "do" | "=>") {
            Ok(())
        } else {
            Err(Error::value(format!(
                "`{word}` stands where `do ACTION` is to stand"
            )))
        }
    }

    fn choice(&mut self, id: TableId) -> Result<Choice, Error> {
        let table = &self.program.tables[id.index()];
        if table.implementation.is_some() {
            if self.take("member") {
                return Ok(Choice::Call(Call::Member(
                    self.number("a member's number")?,
                )));
            }
            if self.take("group") {
                return Ok(Choice::Call(Call::Group(self.number("a group's number")?)));
            }
            if self.take("one") {
                let mut actions = Vec::new();
                loop {
                    let weight = match self.peek().and_then(|word| word.strip_suffix('*')) {
                        Some(weight) => {
                            self.rest.next();
                            number(weight, "a weight")?
                        }
                        None => 1,
                    };
                    actions.push((self.call(table)?, weight));
                    if !self.take("or") {
                        return Ok(Choice::OneShot(actions));
                    }
                }
            }
            return Err(Error::value(format!(
                "table `{}` has an action profile: write `do member N`, `do group N`, or `do one ACTION ... or ACTION ...`",
                table.name
            )));
        }
        Ok(Choice::Call(Call::Action(self.call(table)?)))
    }

    /// An action and its arguments, up to the end or `or`.
    fn call(&mut self, table: &'a Table) -> Result<ActionCall, Error> {
        let index = program::action(self.program, table, self.next("an action")?)?;
        let action = &self.program.actions[table.actions[index as usize].action.index()];
        let mut arguments: Vec<Option<Bits>> = vec![None; action.parameters.len()];
        let mut position = 0;
        while let Some(word) = self.peek() {
            if matches!(word, "or" | "most") {
                break;
            }
            self.rest.next();
            let (index, text) = match word.split_once('=') {
                Some((name, text)) => {
                    let what = format!("parameter of action `{}`", action.name);
                    let names = action.parameters.iter().map(|(name, ..)| &**name);
                    (resolve(&what, name, names)?, text)
                }
                None => {
                    position += 1;
                    (position - 1, word)
                }
            };
            let Some((name, slot, _)) = action.parameters.get(index) else {
                return Err(Error::value(format!(
                    "`{word}` is one argument too many: action `{}` has {} parameters",
                    action.name,
                    action.parameters.len()
                )));
            };
            if arguments[index].is_some() {
                return Err(Error::value(format!("parameter `{name}` is given twice")));
            }
            let ty = self.program.slots[slot.index()].ty;
            let parsed = value::parse(text, ty).map_err(|error| {
                error.at(format_args!(
                    "parameter `{name}` of action `{}`",
                    action.name
                ))
            })?;
            arguments[index] = Some(parsed);
        }
        let arguments: Result<Vec<Bits>, Error> = arguments
            .into_iter()
            .zip(&action.parameters)
            .map(|(given, (name, ..))| {
                given.ok_or_else(|| {
                    Error::value(format!(
                        "parameter `{name}` of action `{}` is missing",
                        action.name
                    ))
                })
            })
            .collect();
        Ok(ActionCall {
            action: index,
            arguments: arguments?,
        })
    }

    fn profile(&mut self) -> Result<Command, Error> {
        const CLASSES: [Class; 2] = [Class::Profile, Class::Selector];
        let verb = self.next("ls, dump, add, set or rm")?;
        let operation = match verb {
            "ls" => return Ok(Command::Profiles),
            "dump" => {
                let name = self.rest.next();
                let found = name
                    .map(|name| program::object(self.program, "action profile", name, &CLASSES));
                return Ok(Command::DumpProfile(found.transpose()?.map(|(id, _)| id)));
            }
            "add" => Operation::Insert,
            "set" => Operation::Put,
            "rm" => Operation::Delete,
            _ => return Err(one_of("verb", verb, &["ls", "dump", "add", "set", "rm"])),
        };
        let name = self.next("an action profile")?;
        let (profile, _) = program::object(self.program, "action profile", name, &CLASSES)?;
        let kind = self.next("`member` or `group`")?;
        let entity = match kind {
            "member" => {
                let id = self.number("a member's number")?;
                let call = if operation == Operation::Delete {
                    ActionCall {
                        action: 0,
                        arguments: Vec::new(),
                    }
                } else {
                    self.marker()?;
                    let table = program::table_of_profile(self.program, profile)?;
                    self.call(&self.program.tables[table.index()])?
                };
                Entity::Member(Member { profile, id, call })
            }
            "group" => {
                let id = self.number("a group's number")?;
                let (mut members, mut most) = (Vec::new(), 0);
                while let Some(word) = self.more(operation) {
                    if word == "most" {
                        most = self.number("a number of members")?;
                        continue;
                    }
                    let (member, weight) = word.split_once('*').unwrap_or((word, "1"));
                    members.push(GroupMember {
                        member: number(member, "a member's number")?,
                        weight: number(weight, "a weight")?,
                        watch: None,
                    });
                }
                Entity::Group(Group {
                    profile,
                    id,
                    members,
                    most,
                })
            }
            _ => return Err(one_of("word", kind, &["member", "group"])),
        };
        Ok(write(operation, entity))
    }

    fn register(&mut self) -> Result<Command, Error> {
        let verb = self.next("ls, read, write or reset")?;
        if verb == "ls" {
            return Ok(Command::Objects("register"));
        }
        if !matches!(verb, "read" | "write" | "reset") {
            return Err(one_of("verb", verb, &["ls", "read", "write", "reset"]));
        }
        let name = self.next("a register")?;
        let (id, _) = program::object(self.program, "register", name, &[Class::Register])?;
        if verb == "read" {
            return Ok(Command::ReadRegister(id, self.cells()?));
        }
        let types = program::register_types(&self.program.objects[id.index()]);
        if verb == "reset" {
            let zeros = types.iter().map(|(_, ty)| Bits::zero(ty.width())).collect();
            return Ok(Command::WriteRegister(id, self.cells()?, zeros));
        }
        let index = self.next("an index")?;
        let cells = cells(index)?;
        let values = self.register_values(types)?;
        Ok(Command::WriteRegister(id, cells, values))
    }

    fn register_values(&mut self, types: &[(Arc<str>, Ty)]) -> Result<Vec<Bits>, Error> {
        let mut values: Vec<Option<Bits>> = vec![None; types.len()];
        let mut position = 0;
        for word in self.rest.by_ref() {
            let (index, text) = match word.split_once('=') {
                Some((name, text)) => (
                    resolve("field", name, types.iter().map(|(name, _)| &**name))?,
                    text,
                ),
                None => {
                    position += 1;
                    (position - 1, word)
                }
            };
            let Some((_, ty)) = types.get(index) else {
                return Err(Error::value(format!(
                    "`{word}` is one value too many: the register has {}",
                    types.len()
                )));
            };
            values[index] = Some(value::parse(text, *ty)?);
        }
        values
            .into_iter()
            .zip(types)
            .map(|(given, (name, _))| {
                given.ok_or_else(|| match &**name {
                    "" => Error::value("the value is missing"),
                    name => Error::value(format!("the value of field `{name}` is missing")),
                })
            })
            .collect()
    }

    /// An index at the end of a line; all cells without one.
    fn cells(&mut self) -> Result<Cells, Error> {
        self.rest.next().map_or(Ok(Cells::All), cells)
    }

    /// Which entry's direct counter or meter; all without.
    fn place(&mut self, object: ObjectId) -> Result<Option<Place>, Error> {
        let id = program::table_of_direct(self.program, object)?;
        if self.peek().is_none() || self.take("all") {
            return Ok(None);
        }
        if self.take("default") {
            return Ok(Some(Place {
                table: id,
                keys: None,
                priority: 0,
            }));
        }
        let table = &self.program.tables[id.index()];
        let mut priority = 0;
        let keys = Some(self.keys(table, &mut priority, &mut None)?);
        Ok(Some(Place {
            table: id,
            keys,
            priority,
        }))
    }

    fn counter(&mut self) -> Result<Command, Error> {
        let verb = self.next("ls, read, write or reset")?;
        if verb == "ls" {
            return Ok(Command::Objects("counter"));
        }
        if !matches!(verb, "read" | "write" | "reset") {
            return Err(one_of("verb", verb, &["ls", "read", "write", "reset"]));
        }
        let name = self.next("a counter")?;
        let classes = [Class::Counter, Class::DirectCounter];
        let (id, class) = program::object(self.program, "counter", name, &classes)?;
        if class == Class::DirectCounter {
            if verb == "read" {
                return Ok(Command::ReadDirectCounter(id, self.place(id)?));
            }
            let count = self.count(verb)?;
            let Some(place) = self.place(id)? else {
                return Err(Error::value("say of which entry: its keys, or `default`"));
            };
            return Ok(write(
                Operation::Modify,
                Entity::DirectCounter(place, count),
            ));
        }
        if verb == "read" {
            return Ok(Command::ReadCounter(id, self.cells()?));
        }
        let index = self.index()?;
        let count = self.count(verb)?;
        Ok(write(Operation::Modify, Entity::Counter(id, index, count)))
    }

    /// `packets=N bytes=N` of `write`, from wherever they stand.
    fn count(&mut self, verb: &str) -> Result<Count, Error> {
        let mut count = Count::default();
        if verb == "reset" {
            return Ok(count);
        }
        let mut others = Vec::new();
        let mut given = false;
        for word in self.rest.by_ref() {
            let field = match word.split_once('=') {
                Some(("packets", text)) => Some((&mut count.packets, text)),
                Some(("bytes", text)) => Some((&mut count.bytes, text)),
                _ => None,
            };
            match field {
                Some((field, text)) => {
                    *field = number(text, "a number")?;
                    given = true;
                }
                None => others.push(word),
            }
        }
        self.rest = others.into_iter();
        if !given {
            return Err(Error::value("write packets=N, bytes=N or both"));
        }
        Ok(count)
    }

    /// One index, or `all`.
    fn index(&mut self) -> Result<Option<u64>, Error> {
        match self.cells()? {
            Cells::All => Ok(None),
            Cells::Range(from, to) if from == to => Ok(Some(from)),
            Cells::Range(..) => Err(Error::value("here an index is one number, or `all`")),
        }
    }

    fn meter(&mut self) -> Result<Command, Error> {
        let verb = self.next("ls, read, set or reset")?;
        if verb == "ls" {
            return Ok(Command::Objects("meter"));
        }
        if !matches!(verb, "read" | "set" | "reset") {
            return Err(one_of("verb", verb, &["ls", "read", "set", "reset"]));
        }
        let name = self.next("a meter")?;
        let classes = [Class::Meter, Class::DirectMeter];
        let (id, class) = program::object(self.program, "meter", name, &classes)?;
        let direct = class == Class::DirectMeter;
        if verb == "read" {
            return Ok(match direct {
                true => Command::ReadDirectMeter(id, self.place(id)?),
                false => Command::ReadMeter(id, self.cells()?),
            });
        }
        let rates = match verb {
            "set" => Some(self.rates()?),
            _ => None,
        };
        let entity = if direct {
            let Some(place) = self.place(id)? else {
                return Err(Error::value("say of which entry: its keys, or `default`"));
            };
            Entity::DirectMeter(place, rates)
        } else {
            Entity::Meter(id, self.index()?, rates)
        };
        Ok(write(Operation::Modify, entity))
    }

    /// The last two words, `RATE:BURST` of the committed and the peak rate.
    fn rates(&mut self) -> Result<Rates, Error> {
        let mut pair = || -> Result<(u64, u64), Error> {
            let wanted = "RATE:BURST of the committed and of the peak rate, each in units a second and units";
            let word = self.rest.next_back();
            let parts = word.and_then(|word| word.split_once(':'));
            let (rate, burst) =
                parts.ok_or_else(|| Error::value(format!("the line ends in {wanted}")))?;
            Ok((number(rate, "a rate")?, number(burst, "a burst")?))
        };
        let (peak, peak_burst) = pair()?;
        let (committed, committed_burst) = pair()?;
        if committed > peak {
            return Err(Error::value(format!(
                "the committed rate ({committed}) is above the peak rate ({peak}): the committed one comes first"
            )));
        }
        Ok(Rates {
            committed,
            committed_burst,
            peak,
            peak_burst,
        })
    }

    fn group(&mut self) -> Result<Command, Error> {
        let verb = self.next("ls, add, set or rm")?;
        if verb == "ls" {
            return Ok(Command::Groups);
        }
        let operation = operation(verb)?;
        let id = self.number("a group's number")?;
        let mut replicas = Vec::new();
        if operation != Operation::Delete {
            for word in self.rest.by_ref() {
                replicas.push(replica(word)?);
            }
        }
        Ok(write(
            operation,
            Entity::Multicast(id, replicas, Vec::new()),
        ))
    }

    fn mirror(&mut self) -> Result<Command, Error> {
        let verb = self.next("ls, add, set or rm")?;
        if verb == "ls" {
            return Ok(Command::Mirrors);
        }
        let operation = operation(verb)?;
        let id = self.number("a session's number")?;
        let mut session = Session::default();
        while let Some(word) = self.more(operation) {
            match word {
                "truncate" => session.truncate = Some(self.number("a number of bytes")?),
                "class" => session.class_of_service = self.number("a class of service")?,
                "group" => session.group = Some(self.number("a multicast group")?),
                _ => session.replicas.push(replica(word)?),
            }
        }
        Ok(write(operation, Entity::Clone(id, session)))
    }

    fn value_set(&mut self) -> Result<Command, Error> {
        let verb = self.next("ls, dump, add or rm")?;
        if matches!(verb, "ls" | "dump") {
            let name = self.rest.next();
            let set = name.map(|name| program::value_set(self.program, name));
            return Ok(Command::ValueSets(set.transpose()?));
        }
        let operation = match verb {
            "add" => Operation::Insert,
            "rm" => Operation::Delete,
            _ => return Err(one_of("verb", verb, &["ls", "dump", "add", "rm"])),
        };
        let id = program::value_set(self.program, self.next("a value set")?)?;
        if operation == Operation::Delete && self.take("all") {
            return Ok(write(Operation::Modify, Entity::ValueSet(id, Vec::new())));
        }
        let set = &self.program.value_sets[id.index()];
        let mut matches: Vec<Option<KeyMatch>> = vec![None; set.fields.len()];
        let mut position = 0;
        for word in self.rest.by_ref() {
            let (index, text) = match word.split_once('=') {
                Some((name, text)) => (
                    resolve("field", name, set.fields.iter().map(|(name, ..)| &**name))?,
                    text,
                ),
                None => {
                    position += 1;
                    (position - 1, word)
                }
            };
            let Some((_, ty, kind)) = set.fields.get(index) else {
                return Err(Error::value(format!(
                    "`{word}` is one match too many: members of `{}` have {}",
                    set.name,
                    set.fields.len()
                )));
            };
            matches[index] = Some(value::parse_match(text, *ty, kind)?);
        }
        let member: Result<Vec<_>, Error> = matches
            .into_iter()
            .zip(&set.fields)
            .map(|(given, (name, _, kind))| match given {
                Some(given) => Ok(given),
                None if &**kind != "exact" => Ok(KeyMatch::Any),
                None => Err(Error::value(format!(
                    "field `{name}` is missing, and it is exact"
                ))),
            })
            .collect();
        Ok(Command::ValueSetMember(operation, id, member?))
    }

    fn digest(&mut self) -> Result<Command, Error> {
        let verb = self.next("ls, on or off")?;
        if verb == "ls" {
            return Ok(Command::Digests);
        }
        if !matches!(verb, "on" | "off") {
            return Err(one_of("verb", verb, &["ls", "on", "off"]));
        }
        let names = digests(self.program);
        let name = self.next("a digest")?;
        let id = resolve("digest", name, names.iter().map(|digest| &*digest.name))? as u32;
        if verb == "off" {
            return Ok(write(
                Operation::Delete,
                Entity::Digest(id, DigestConfig::default()),
            ));
        }
        let mut config = DigestConfig::default();
        while let Some(word) = self.rest.next() {
            match word {
                "most" => config.most_messages = self.number("a number of messages")?,
                "within" => config.most_delay = time(self.next("a time such as 10ms")?)?,
                _ => return Err(one_of("option", word, &["most", "within"])),
            }
        }
        Ok(write(Operation::Put, Entity::Digest(id, config)))
    }
}

impl Words<'_> {
    fn crc(&mut self) -> Result<Command, Error> {
        let verb = self.next("ls, set or reset")?;
        if verb == "ls" {
            return Ok(Command::Crcs);
        }
        if !matches!(verb, "set" | "reset") {
            return Err(one_of("verb", verb, &["ls", "set", "reset"]));
        }
        let width = self.next("16 or 32")?;
        let first = match width {
            "16" => CRC16,
            "32" => CRC32,
            _ => return Err(one_of("width", width, &["16", "32"])),
        };
        if verb == "reset" {
            return Ok(Command::SetCrc(first));
        }
        let mut value = |what: &str| -> Result<u64, Error> {
            let mut cells = [0];
            value::parse(self.next(what)?, Ty::Bits(first.width))?.to_limbs(&mut cells);
            Ok(cells[0])
        };
        let mut crc = Crc {
            polynomial: value("the polynomial without its first bit, such as 0x1021")?,
            initial: value("what it begins with")?,
            last: value("what is added at the end")?,
            reflect_in: false,
            reflect_out: false,
            ..first
        };
        for word in self.rest.by_ref() {
            match word {
                "reflect-in" => crc.reflect_in = true,
                "reflect-out" => crc.reflect_out = true,
                _ => return Err(one_of("option", word, &["reflect-in", "reflect-out"])),
            }
        }
        Ok(Command::SetCrc(crc))
    }
}

enum Choice {
    Call(Call),
    OneShot(Vec<(ActionCall, u32)>),
}

fn one_of(what: &str, given: &str, words: &[&str]) -> Error {
    match resolve(what, given, words.iter().copied()) {
        Err(error) => error,
        // It is the end of one of the words, but no command of its own.
        Ok(_) => Error::name(format!("there is no {what} `{given}`")),
    }
}

fn operation(verb: &str) -> Result<Operation, Error> {
    match verb {
        "add" => Ok(Operation::Insert),
        "set" => Ok(Operation::Put),
        "rm" => Ok(Operation::Delete),
        _ => Err(one_of("verb", verb, &["ls", "add", "set", "rm"])),
    }
}

fn number<T: FromStr>(word: &str, what: &str) -> Result<T, Error> {
    word.parse().map_err(|_| {
        Error::value(format!(
            "`{word}` stands where {what} is to stand: a number from 0"
        ))
    })
}

fn time(word: &str) -> Result<Time, Error> {
    word.parse()
        .map_err(|error| Error::value(format!("`{word}` is not a time: {error}")))
}

fn replica(word: &str) -> Result<Replica, Error> {
    let (port, instance) = word.split_once(':').unwrap_or((word, "0"));
    Ok(Replica {
        port: number(port, "a port")?,
        instance: number(instance, "an instance")?,
    })
}

fn cells(word: &str) -> Result<Cells, Error> {
    if matches!(word, "all" | "*") {
        return Ok(Cells::All);
    }
    let (from, to) = word.split_once("..").unwrap_or((word, word));
    let (from, to) = (number(from, "an index")?, number(to, "an index")?);
    if from > to {
        return Err(Error::value(format!("`{word}` ends before it begins")));
    }
    Ok(Cells::Range(from, to))
}
