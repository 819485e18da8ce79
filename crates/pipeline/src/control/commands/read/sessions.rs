//! Words about groups, clone sessions, value sets and digests.

use super::super::Command;
use super::{Words, one_of, operation, replica, time, write};
use crate::control::names::resolve;
use crate::control::program::{self};
use crate::control::{DigestConfig, Entity, Error, Operation, digests, value};
use crate::state::replication::Session;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use p4::ir::{KeyMatch, MatchKind};

impl<'a> Words<'a> {
    pub(super) fn group(&mut self) -> Result<Command, Error> {
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

    pub(super) fn mirror(&mut self) -> Result<Command, Error> {
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

    pub(super) fn value_set(&mut self) -> Result<Command, Error> {
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
                None if *kind != MatchKind::Exact => Ok(KeyMatch::Any),
                None => Err(Error::value(format!(
                    "field `{name}` is missing, and it is exact"
                ))),
            })
            .collect();
        Ok(Command::ValueSetMember(operation, id, member?))
    }

    pub(super) fn digest(&mut self) -> Result<Command, Error> {
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
