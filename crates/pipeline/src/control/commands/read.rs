//! From words to commands.

mod nic;
mod objects;
mod sessions;

use super::line::split;
use super::{Cells, Command};
use crate::control::names::resolve;
use crate::control::program::{self, Class};
use crate::control::{Entity, Error, ErrorKind, Group, Member, Operation, Update, value};
use crate::externs::hash::{CRC16, CRC32, Crc};
use crate::state::profile::GroupMember;
use crate::state::replication::Replica;
use crate::table::{Call, Entry};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::str::FromStr;
use node::Time;
use p4::ir::{ActionCall, Key, KeyMatch, MatchKind, Program, Table, TableId, Ty};
use p4::value::Bits;

/// Maximum number of words of a line.
const MAX_WORDS: usize = 4096;

/// The command of a line; none of an empty one or a comment.
pub fn parse(program: &Program, line: &str) -> Result<Option<Command>, Error> {
    let words = split(line)?;
    if words.is_empty() {
        return Ok(None);
    }
    if words.len() > MAX_WORDS {
        return Err(Error::value(format!(
            "a line has at most {MAX_WORDS} words"
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
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
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
            "port" => self.port(),
            "expiry" => self.expiry(),
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
                    "port",
                    "expiry",
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
            .filter(|key| key.match_kind != MatchKind::Selector)
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
                None if key.match_kind != MatchKind::Exact => Ok(KeyMatch::Any),
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
