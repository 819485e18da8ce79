//! Calls of externs.

use crate::graph::{Id, Two};
use crate::hashes::Piece;
use crate::state::{State, Walk, reason};
use alloc::format;
use alloc::vec::Vec;
use p4::ir::{Argument, Callee, LValue, Ty};
use pipeline::environment::Unsupported;
use pipeline::externs::{Call, Operation};

impl Walk<'_> {
    /// Does a call, and gives the condition under which the packet goes on.
    pub(crate) fn call(
        &mut self,
        callee: &Callee,
        arguments: &[Argument],
        results: &[LValue],
        when: Id,
        state: &mut State,
    ) -> Result<Id, Unsupported> {
        let call = Call::resolve(self.environment, callee, arguments, results);
        let call = call.map_err(|error| Unsupported {
            span: self.span,
            ..error
        })?;
        let mut inputs = Vec::new();
        for input in &call.inputs {
            inputs.push(self.whole_value(&input.value, state)?);
        }
        let number = |index: usize| inputs[index].0;
        let is_true = |walk: &mut Self, index: usize| {
            let value = inputs[index].0;
            let zero = walk.graph.equal_to(value, 0u8);
            walk.graph.not(zero)
        };
        let pieces = |walk: &mut Self| {
            let mut pieces = Vec::new();
            for item in &call.items {
                let (bits, length) = inputs[item.input];
                let valid = match item.valid {
                    Some(valid) => inputs[valid].0,
                    None => walk.graph.bit(true),
                };
                pieces.push(Piece {
                    bits,
                    length,
                    valid,
                });
            }
            pieces
        };
        match &call.operation {
            Operation::Nothing | Operation::Log { .. } => {
                if matches!(call.operation, Operation::Log { .. }) {
                    self.warn_of(&call.name, "writes messages, which hardware does not");
                }
            }
            Operation::MarkToDropSlots => {
                let standard = self.standard();
                for (name, value) in [
                    ("egress_spec", self.environment.options.drop_port),
                    ("mcast_grp", 0),
                ] {
                    if let Some(slot) = standard(name) {
                        let value = self.graph.constant(self.slot(slot).ty.width(), value);
                        self.put(slot, value, None, None, state);
                    }
                }
            }
            Operation::MarkToDrop {
                egress_spec,
                mcast_grp,
            } => {
                for (number, result) in results.iter().enumerate() {
                    let (mut value, length) = inputs[call.items[number].input];
                    let width = self.graph.width(value);
                    if Some(number) == *egress_spec {
                        value = self
                            .graph
                            .constant(width, self.environment.options.drop_port);
                    } else if Some(number) == *mcast_grp {
                        value = self.graph.constant(width, 0u8);
                    }
                    self.assign(result, value, length, state)?;
                }
            }
            Operation::RegisterRead { object, index } => {
                self.register_read(*object, number(*index), results, when, state)?;
            }
            Operation::RegisterWrite {
                object,
                index,
                value,
            } => {
                let values: Vec<Id> = inputs[*value..].iter().map(|(value, _)| *value).collect();
                self.register_write(*object, number(*index), &values, when)?;
            }
            Operation::Count { object, index } => self.count(*object, number(*index), when)?,
            Operation::CountDirect { object } => {
                if let Some((found, entry)) = crate::tables::hit_of(self) {
                    let when = self.graph.and(when, found);
                    self.count(*object, entry, when)?;
                }
            }
            Operation::Hash { algorithm, range } => {
                let pieces = pieces(self);
                let hash = self.hash(*algorithm, &pieces)?;
                let value = match range {
                    None => hash,
                    Some((base, max)) => self.in_range(hash, number(*base), number(*max)),
                };
                self.give(results, value, state)?;
            }
            Operation::Checksum16 { payload } => {
                let pieces = pieces(self);
                let value =
                    self.checksum(p4::ir::Algorithm::Checksum16, &pieces, *payload, state)?;
                self.give(results, value, state)?;
            }
            Operation::VerifyChecksum {
                algorithm,
                condition,
                checksum,
                payload,
            } => {
                let pieces = pieces(self);
                let found = self.checksum(*algorithm, &pieces, *payload, state)?;
                let wanted = number(*checksum);
                let width = self.graph.width(wanted);
                let found = self.graph.resize(found, width);
                let same = self.graph.two(Two::Equal, found, wanted);
                let wrong = self.graph.not(same);
                let asked = is_true(self, *condition);
                let wrong = self.graph.and(asked, wrong);
                let at = self.extra.checksum_error;
                state.values[at] = self.graph.or(state.values[at], wrong);
            }
            Operation::UpdateChecksum {
                algorithm,
                condition,
                checksum,
                payload,
            } => {
                let pieces = pieces(self);
                let found = self.checksum(*algorithm, &pieces, *payload, state)?;
                let asked = is_true(self, *condition);
                let old = number(*checksum);
                let found = self.graph.resize(found, self.graph.width(old));
                let value = self.graph.choose(asked, found, old);
                self.give(results, value, state)?;
            }
            Operation::Truncate { length } => {
                let length = self.graph.resize(number(*length), 32);
                state.values[self.extra.truncate] = length;
            }
            Operation::Assert { check } | Operation::Assume { check } => {
                let code = match call.operation {
                    Operation::Assert { .. } => reason::ASSERT,
                    _ => reason::ASSUME,
                };
                let good = is_true(self, *check);
                let bad = self.graph.not(good);
                let stopped = self.graph.and(when, bad);
                self.ends.push((stopped, code));
                return Ok(self.graph.and(when, good));
            }
            other => {
                let what = wanting(other);
                return self.cannot(format!("`{}` {what}", call.name));
            }
        }
        Ok(when)
    }

    /// Puts a number into the only place for it, cut or filled up to its width.
    fn give(
        &mut self,
        results: &[LValue],
        value: Id,
        state: &mut State,
    ) -> Result<(), Unsupported> {
        let Some(result) = results.first() else {
            return Ok(());
        };
        let value = match result.ty(&self.program.slots) {
            Ty::Varbit(_) => return self.cannot("an extern gives a varbit"),
            ty => self.graph.resize(value, ty.width()),
        };
        self.assign(result, value, None, state)
    }

    /// v1model's metadata by the name of the field.
    fn standard(&self) -> impl Fn(&str) -> Option<p4::ir::SlotId> + use<> {
        let parameters = self
            .program
            .sections
            .iter()
            .flat_map(|section| &section.parameters);
        let fields: Vec<_> = parameters
            .filter(|parameter| &*parameter.ty == "standard_metadata_t")
            .flat_map(|parameter| parameter.fields.iter().cloned())
            .collect();
        move |name| {
            fields
                .iter()
                .find(|(path, _)| &**path == name)
                .map(|(_, slot)| *slot)
        }
    }

    fn warn_of(&mut self, name: &str, what: &str) {
        let text = format!("`{name}` {what}");
        if !self.warnings.contains(&text) {
            self.warnings.push(text);
        }
    }
}

/// Why an operation is not in hardware, and what to do.
fn wanting(operation: &Operation) -> &'static str {
    match operation {
        Operation::Clone { .. } | Operation::Resubmit { .. } | Operation::Recirculate { .. } => {
            "asks for a copy or another pass of the packet, which this hardware cannot; it copies for multicast groups"
        }
        Operation::Random { .. } | Operation::RandomRead { .. } => {
            "draws random numbers, which this hardware has not; hash a timestamp instead"
        }
        Operation::Digest { .. } => {
            "sends messages to the controller, which this hardware cannot; count, or use another engine"
        }
        Operation::ExecuteMeter { .. }
        | Operation::ReadDirectMeter
        | Operation::ExecuteDirectMeter { .. } => {
            "meters, which this hardware cannot; use another engine"
        }
        _ => "is an extern that this hardware has not; use another engine",
    }
}
