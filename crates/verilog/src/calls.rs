//! Calls of externs.

use crate::graph::{Id, Two};
use crate::hashes::Piece;
use crate::map::DigestMap;
use crate::state::{State, Walk, reason};
use alloc::format;
use alloc::vec::Vec;
use p4::ir::{Argument, Callee, LValue, Ty};
use pipeline::environment::{Object, Unsupported};
use pipeline::externs::{Call, ColourCode, Operation, PSA_PORT_RECIRCULATE, Question};

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
            Operation::Count {
                object,
                index,
                bytes: None,
            } => self.count(*object, number(*index), when)?,
            Operation::CountDirect {
                object,
                bytes: None,
            } => {
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
            Operation::Clone { session, preserved } => {
                let set = self.carried(preserved, &number)?;
                let session = self.graph.resize(number(*session), 16);
                state.values[self.extra.clone] = self.graph.constant(8, set);
                state.values[self.extra.session] = session;
            }
            Operation::Resubmit { preserved } => {
                let set = self.carried(preserved, &number)?;
                state.values[self.extra.resubmit] = self.graph.constant(8, set);
            }
            Operation::Recirculate { preserved } => {
                let set = self.carried(preserved, &number)?;
                state.values[self.extra.recirculate] = self.graph.constant(8, set);
            }
            Operation::PsaQuestion(question) => {
                let value = match question {
                    Question::Flags(set, clear) => {
                        let mut all = self.graph.bit(true);
                        for (inputs, wanted) in [(set, true), (clear, false)] {
                            for index in inputs {
                                let is = is_true(self, *index);
                                let is = if wanted { is } else { self.graph.not(is) };
                                all = self.graph.and(all, is);
                            }
                        }
                        all
                    }
                    Question::Recirculate { port, drop } => {
                        let port = self.graph.equal_to(number(*port), PSA_PORT_RECIRCULATE);
                        match drop {
                            None => port,
                            Some(drop) => {
                                let dropped = is_true(self, *drop);
                                let not = self.graph.not(dropped);
                                self.graph.and(port, not)
                            }
                        }
                    }
                };
                self.give(results, value, state)?;
            }
            Operation::ExecuteMeter {
                object,
                index,
                before,
                bytes: None,
                code,
            } => {
                let before = self.colour_of(before.map(number), *code);
                let colour = self.meter(*object, number(*index), before, when)?;
                self.give_colour(results, colour, *code, state)?;
            }
            Operation::ReadDirectMeter => {
                let colour = self.direct_colour(state);
                self.give_colour(results, colour, ColourCode::V1Model, state)?;
            }
            Operation::ExecuteDirectMeter {
                object,
                before,
                bytes: None,
                code,
            } => {
                let mut colour = self.colour_of(before.map(number), *code);
                if let Some((found, entry)) = crate::tables::hit_of(self) {
                    let when = self.graph.and(when, found);
                    let metered = self.meter(*object, entry, colour, when)?;
                    colour = self.graph.choose(found, metered, colour);
                }
                self.give_colour(results, colour, *code, state)?;
            }
            Operation::Digest {
                object,
                name,
                receiver,
            } => {
                let receiver = match receiver {
                    Some(receiver) => self.graph.resize(number(*receiver), 32),
                    None => self.graph.constant(32, 0u8),
                };
                let mut data = alloc::vec![receiver];
                let mut fields = Vec::new();
                for (item, piece) in call.items.iter().zip(pieces(self)) {
                    let width = self.graph.width(piece.bits);
                    if piece.length.is_some() || width == 0 {
                        return self.cannot("a varbit in a message to the controller is not in this hardware; send fields of fixed length");
                    }
                    data.extend([piece.valid, piece.bits]);
                    fields.push((item.name.clone(), width));
                }
                let data = self.graph.concat(&data);
                let digest = DigestMap {
                    object: *object,
                    name: name.clone(),
                    fields,
                };
                if digest.width() > 32 * 63 {
                    return self.cannot("a message to the controller has more than 252 bytes, the most that this hardware sends");
                }
                self.digest(digest, data, when);
            }
            Operation::Random { low, high } => {
                let value = self.draw(number(*low), number(*high))?;
                self.give(results, value, state)?;
            }
            Operation::RandomRead { object } => {
                if let Object::Random(low, high) = &self.environment.objects[object.index()] {
                    let width = low.width().max(high.width());
                    let low = self.graph.constant(width, low.unsigned().clone());
                    let high = self.graph.constant(width, high.unsigned().clone());
                    let value = self.draw(low, high)?;
                    self.give(results, value, state)?;
                }
            }
            Operation::ChecksumClear { state: of } => {
                let zero = self.graph.constant(16, 0u8);
                state.values[self.extra.sums + of] = zero;
            }
            Operation::InternetAdd {
                state: of,
                subtract,
            } => {
                let pieces = pieces(self);
                let at = self.extra.sums + of;
                state.values[at] = self.internet_add(state.values[at], &pieces, *subtract)?;
            }
            Operation::InternetGet {
                state: of,
                complement,
            } => {
                let sum = state.values[self.extra.sums + of];
                let value = match complement {
                    true => self.graph.not(sum),
                    false => sum,
                };
                self.give(results, value, state)?;
            }
            Operation::InternetSet { state: of, value } => {
                let value = self.graph.resize(number(*value), 16);
                state.values[self.extra.sums + of] = value;
            }
            Operation::Own(method) => {
                self.call_hardware(&call.name, method, &inputs, results, when, state)?;
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
            Operation::ChecksumUpdate { .. }
            | Operation::ChecksumGet { .. }
            | Operation::Count { .. }
            | Operation::CountDirect { .. }
            | Operation::ExecuteMeter { .. }
            | Operation::ExecuteDirectMeter { .. }
            | Operation::AddEntry { .. }
            | Operation::AllocateFlowId
            | Operation::RestartEntry { .. } => {
                return self.cannot(format!(
                    "`{}` is an extern that this hardware has not; use another engine",
                    call.name
                ));
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

    fn give_colour(
        &mut self,
        results: &[LValue],
        colour: Id,
        code: ColourCode,
        state: &mut State,
    ) -> Result<(), Unsupported> {
        let width = results
            .first()
            .map_or(2, |result| result.ty(&self.program.slots).width());
        let value = self.colour_code(colour, code, width.max(2));
        self.give(results, value, state)
    }

    /// A random number from `low` to `high`, both included; `low` when there is none between.
    fn draw(&mut self, low: Id, high: Id) -> Result<Id, Unsupported> {
        let width = self.graph.width(low).max(self.graph.width(high));
        if width > 64 {
            return self.cannot("random numbers of more than 64 bits are not in this hardware");
        }
        let bits = self.graph.random(self.random);
        self.random += 1;
        let bits = self.behind(bits);
        // As many random bits as the number has and 16 more, so that no value is noticeably likelier than another.
        let drawn = (width + 16).min(64);
        let all = width + 1 + drawn;
        let bits = self.graph.slice(bits, 63, 64 - drawn);
        let bits = self.graph.resize(bits, all);
        let (low, high) = (self.graph.resize(low, all), self.graph.resize(high, all));
        let none = self.graph.two(Two::Less, high, low);
        let one = self.graph.constant(all, 1u8);
        let count = self.graph.two(Two::Subtract, high, low);
        let count = self.graph.two(Two::Add, count, one);
        let product = self.graph.two(Two::Multiply, count, bits);
        let by = self.graph.constant(all, drawn);
        let value = self.graph.two(Two::ShiftRight, product, by);
        let value = self.graph.two(Two::Add, low, value);
        let value = self.graph.choose(none, low, value);
        Ok(self.graph.slice(value, width - 1, 0))
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
