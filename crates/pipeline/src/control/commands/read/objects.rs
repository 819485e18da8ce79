//! Words about registers, counters and meters.

use super::super::{Cells, Command};
use super::{Words, cells, number, one_of, write};
use crate::control::entity::check_rates;
use crate::control::names::resolve;
use crate::control::program::{self, Class};
use crate::control::{Count, Entity, EntryKey, Error, Operation, value};
use crate::state::meter::Rates;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use p4::ir::{ObjectId, Ty};
use p4::value::Bits;

impl<'a> Words<'a> {
    pub(super) fn register(&mut self) -> Result<Command, Error> {
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

    pub(super) fn register_values(&mut self, types: &[(Arc<str>, Ty)]) -> Result<Vec<Bits>, Error> {
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
    pub(super) fn cells(&mut self) -> Result<Cells, Error> {
        self.rest.next().map_or(Ok(Cells::All), cells)
    }

    /// Which entry's direct counter or meter; all without.
    pub(super) fn entry_key(&mut self, object: ObjectId) -> Result<Option<EntryKey>, Error> {
        let id = program::table_of_direct(self.program, object)?;
        if self.peek().is_none() || self.take("all") {
            return Ok(None);
        }
        if self.take("default") {
            return Ok(Some(EntryKey {
                table: id,
                keys: None,
                priority: 0,
            }));
        }
        let table = &self.program.tables[id.index()];
        let mut priority = 0;
        let keys = Some(self.keys(table, &mut priority, &mut None)?);
        Ok(Some(EntryKey {
            table: id,
            keys,
            priority,
        }))
    }

    pub(super) fn counter(&mut self) -> Result<Command, Error> {
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
                return Ok(Command::ReadDirectCounter(id, self.entry_key(id)?));
            }
            let count = self.count(verb)?;
            let Some(entry_key) = self.entry_key(id)? else {
                return Err(Error::value("say of which entry: its keys, or `default`"));
            };
            return Ok(write(
                Operation::Modify,
                Entity::DirectCounter(entry_key, count),
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
    pub(super) fn count(&mut self, verb: &str) -> Result<Count, Error> {
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
    pub(super) fn index(&mut self) -> Result<Option<u64>, Error> {
        match self.cells()? {
            Cells::All => Ok(None),
            Cells::Range(from, to) if from == to => Ok(Some(from)),
            Cells::Range(..) => Err(Error::value("here an index is one number, or `all`")),
        }
    }

    pub(super) fn meter(&mut self) -> Result<Command, Error> {
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
                true => Command::ReadDirectMeter(id, self.entry_key(id)?),
                false => Command::ReadMeter(id, self.cells()?),
            });
        }
        let rates = match verb {
            "set" => Some(self.rates()?),
            _ => None,
        };
        let entity = if direct {
            let Some(entry_key) = self.entry_key(id)? else {
                return Err(Error::value("say of which entry: its keys, or `default`"));
            };
            Entity::DirectMeter(entry_key, rates)
        } else {
            Entity::Meter(id, self.index()?, rates)
        };
        Ok(write(Operation::Modify, entity))
    }

    /// The last two words, `RATE:BURST` of the committed and the peak rate.
    pub(super) fn rates(&mut self) -> Result<Rates, Error> {
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
        let rates = Rates {
            committed,
            committed_burst,
            peak,
            peak_burst,
        };
        check_rates(&rates)?;
        Ok(rates)
    }
}
