//! Does what a call means.

use crate::bits;
use crate::context::{Context, Preserved, Stop};
use crate::engine::Packet;
use crate::environment::{Digest, Message, Object, Selector};
use crate::externs::hash::Algorithm;
use crate::externs::{
    Call, Carried, ColourCode, InputIndex, Operation, PSA_PORT_RECIRCULATE, Question,
};
use crate::layout::limbs;
use crate::state::checksum;
use crate::state::meter::Colour;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;
use p4::ir::{ObjectId, Ty};
use p4::value::Bits;

impl Call {
    /// Does it. `input` has [`Call::input_cells`] cells, `output` [`Call::output_cells`]. Afterwards [`Context::stop`] may be set.
    pub fn invoke(
        &self,
        input: &[u64],
        output: &mut [u64],
        cells: &mut [u64],
        packet: &Packet,
        context: &mut Context,
    ) {
        let number = |index: InputIndex| self.number(input, index);
        match &self.operation {
            Operation::Nothing => {}
            Operation::Count {
                object,
                index,
                bytes,
            } => {
                let length = bytes.map_or(u64::from(context.length), number);
                if let Object::Counter(counter) = &context.environment.objects[object.index()] {
                    counter.count(number(*index), length);
                }
            }
            Operation::CountDirect { object, bytes } => {
                let length = bytes.map_or(u64::from(context.length), number);
                if let (Object::Counter(counter), Some(hit)) =
                    (&context.environment.objects[object.index()], context.hit)
                {
                    counter.count(u64::from(hit.entry), length);
                }
            }
            Operation::ExecuteMeter {
                object,
                index,
                before,
                bytes,
                code,
            } => {
                let length = bytes.map_or(u64::from(context.length), number);
                let before = before.map_or(Colour::Green, |index| code.decode(number(index)));
                let colour = meter(context, *object, Some(number(*index)), length, before);
                self.give(output, code.encode(colour));
            }
            Operation::ReadDirectMeter => {
                let colour = context.hit.map_or(Colour::Green, |_| context.colour);
                self.give(output, ColourCode::V1Model.encode(colour));
            }
            Operation::ExecuteDirectMeter {
                object,
                before,
                bytes,
                code,
            } => {
                let length = bytes.map_or(u64::from(context.length), number);
                let before = before.map_or(Colour::Green, |index| code.decode(number(index)));
                let index = context.hit.map(|hit| u64::from(hit.entry));
                let colour = meter(context, *object, index, length, before);
                self.give(output, code.encode(colour));
            }
            Operation::RegisterRead { object, index } => {
                match &context.environment.objects[object.index()] {
                    Object::Register(register) => register.load(number(*index), output),
                    _ => output.fill(0),
                }
            }
            Operation::RegisterWrite {
                object,
                index,
                value,
            } => {
                if let Object::Register(register) = &context.environment.objects[object.index()] {
                    register.store(number(*index), &input[self.inputs[*value].at..]);
                }
            }
            Operation::Random { low, high } => {
                let (low, high) = (self.bits(input, *low), self.bits(input, *high));
                self.random(output, &low, &high, context);
            }
            Operation::RandomRead { object } => {
                if let Object::Random(low, high) = &context.environment.objects[object.index()] {
                    let (low, high) = (low.clone(), high.clone());
                    self.random(output, &low, &high, context);
                }
            }
            Operation::Digest {
                object,
                name,
                receiver,
            } => {
                let fields = self
                    .items
                    .iter()
                    .filter(|item| self.counts(input, item.valid));
                let fields = fields.map(|item| (item.name.clone(), self.bits(input, item.input)));
                let digest = Digest {
                    at: context.now,
                    object: *object,
                    name: name.clone(),
                    receiver: receiver.map_or(0, |index| number(index) as u32),
                    fields: fields.collect(),
                };
                context.environment.digests.push(digest);
            }
            Operation::MarkToDrop {
                egress_spec,
                mcast_grp,
            } => {
                for (item, argument) in self.items.iter().zip(&self.outputs) {
                    let from = self.inputs[item.input].at;
                    let count = limbs(argument.ty.width());
                    output[argument.at..argument.at + count]
                        .copy_from_slice(&input[from..from + count]);
                }
                if let Some(argument) = egress_spec.and_then(|index| self.outputs.get(index)) {
                    output[argument.at] = u64::from(context.environment.options.drop_port);
                }
                if let Some(argument) = mcast_grp.and_then(|index| self.outputs.get(index)) {
                    output[argument.at] = 0;
                }
            }
            Operation::MarkToDropSlots => {
                let environment = &context.environment;
                if let Some(slot) = environment.standard.egress_spec {
                    cells[environment.layout.cell(slot).0] =
                        u64::from(environment.options.drop_port);
                }
                if let Some(slot) = environment.standard.mcast_grp {
                    cells[environment.layout.cell(slot).0] = 0;
                }
            }
            Operation::Hash { algorithm, range } => {
                let hash = self.hash(*algorithm, input, None, context);
                let hash = match range {
                    None => hash,
                    Some((base, max)) => {
                        let within = hash.checked_rem(number(*max)).unwrap_or(0);
                        number(*base).wrapping_add(within)
                    }
                };
                self.give(output, hash);
            }
            Operation::VerifyChecksum {
                algorithm,
                condition,
                checksum,
                payload,
            } => {
                if number(*condition) != 0 {
                    let payload = payload.then_some(packet);
                    let found = self.hash(*algorithm, input, payload, context);
                    let width = self.inputs[*checksum].ty.width().min(64);
                    if found & (u64::MAX >> (64 - width.max(1))) != number(*checksum) {
                        context.effects.checksum_error = true;
                    }
                }
            }
            Operation::UpdateChecksum {
                algorithm,
                condition,
                checksum,
                payload,
            } => {
                let value = if number(*condition) != 0 {
                    let payload = payload.then_some(packet);
                    self.hash(*algorithm, input, payload, context)
                } else {
                    number(*checksum)
                };
                self.give(output, value);
            }
            Operation::Checksum16 { payload } => {
                let payload = payload.then_some(packet);
                let value = self.hash(Algorithm::Checksum16, input, payload, context);
                self.give(output, value);
            }
            Operation::ChecksumClear { state } => context.checksums[*state].clear(),
            Operation::ChecksumUpdate { state } => {
                let sum = &mut context.checksums[*state];
                self.append(input, &mut sum.bytes, &mut sum.bits);
            }
            Operation::ChecksumGet { state, algorithm } => {
                let bytes = core::mem::take(&mut context.checksums[*state].bytes);
                let value = hash_bytes(context, *algorithm, &bytes);
                context.checksums[*state].bytes = bytes;
                self.give(output, value);
            }
            Operation::InternetAdd { state, subtract } => {
                let mut bytes = core::mem::take(&mut context.scratch);
                bytes.clear();
                self.append(input, &mut bytes, &mut 0);
                let sum = &mut context.checksums[*state].sum;
                for pair in bytes.chunks(2) {
                    let word = u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]);
                    *sum = checksum::add(*sum, if *subtract { !word } else { word });
                }
                context.scratch = bytes;
            }
            Operation::InternetGet { state, complement } => {
                let sum = context.checksums[*state].sum;
                self.give(output, u64::from(if *complement { !sum } else { sum }));
            }
            Operation::InternetSet { state, value } => {
                context.checksums[*state].sum = number(*value) as u16;
            }
            Operation::Clone { session, preserved } => {
                let preserved = self.preserved(input, preserved);
                context.effects.clone = Some((number(*session) as u32, preserved));
            }
            Operation::Resubmit { preserved } => {
                context.effects.resubmit = Some(self.preserved(input, preserved));
            }
            Operation::Recirculate { preserved } => {
                context.effects.recirculate = Some(self.preserved(input, preserved));
            }
            Operation::Truncate { length } => {
                context.effects.truncate = Some(number(*length) as u32);
            }
            Operation::Assert { check } => {
                if number(*check) == 0 {
                    context.stop = Some(Stop::Assert);
                }
            }
            Operation::Assume { check } => {
                if number(*check) == 0 {
                    context.stop = Some(Stop::Assume);
                }
            }
            Operation::Log { text } => {
                let message = Message {
                    at: context.now,
                    text: self.message(text, input),
                };
                context.environment.messages.push(message);
            }
            Operation::AddEntry {
                action,
                arguments,
                profile,
            } => {
                let arguments = arguments.iter().map(|index| self.bits(input, *index));
                let added = context.add_entry(action, arguments.collect(), number(*profile));
                self.give(output, u64::from(added));
            }
            Operation::AllocateFlowId => {
                let flow = context.environment.nic.allocate_flow();
                self.give(output, u64::from(flow));
            }
            Operation::RestartEntry { profile } => context.restart_entry(profile.map(number)),
            Operation::Own(method) => method.invoke(self, input, output, context.now),
            Operation::PsaQuestion(question) => {
                let answer = match question {
                    Question::Flags(set, clear) => {
                        set.iter().all(|index| number(*index) != 0)
                            && clear.iter().all(|index| number(*index) == 0)
                    }
                    Question::Recirculate { port, drop } => {
                        number(*port) == u64::from(PSA_PORT_RECIRCULATE)
                            && drop.is_none_or(|index| number(index) == 0)
                    }
                };
                self.give(output, u64::from(answer));
            }
        }
    }

    fn counts(&self, input: &[u64], valid: Option<InputIndex>) -> bool {
        valid.is_none_or(|index| self.number(input, index) != 0)
    }

    /// Puts a number into the first output, cut to its width.
    fn give(&self, output: &mut [u64], value: u64) {
        if let Some(argument) = self.outputs.first() {
            let width = argument.ty.width();
            output[argument.at..argument.at + limbs(width)].fill(0);
            output[argument.at] = if width < 64 {
                value & ((1 << width) - 1)
            } else {
                value
            };
        }
    }

    fn append(&self, input: &[u64], bytes: &mut Vec<u8>, length: &mut u64) {
        for item in &self.items {
            if !self.counts(input, item.valid) {
                continue;
            }
            let argument = &self.inputs[item.input];
            let count = limbs(argument.ty.width());
            let width = match argument.ty {
                Ty::Varbit(most) => input[argument.at + count].min(u64::from(most)) as u32,
                ty => ty.width(),
            };
            bits::append(
                bytes,
                length,
                &input[argument.at..argument.at + count],
                width,
            );
        }
    }

    fn hash(
        &self,
        algorithm: Algorithm,
        input: &[u64],
        payload: Option<&Packet>,
        context: &mut Context,
    ) -> u64 {
        let mut bytes = core::mem::take(&mut context.scratch);
        bytes.clear();
        let mut length = 0;
        self.append(input, &mut bytes, &mut length);
        if let Some(packet) = payload {
            bits::append_bytes(&mut bytes, &mut length, &packet.bytes, packet.position);
        }
        let value = hash_bytes(context, algorithm, &bytes);
        context.scratch = bytes;
        value
    }

    fn random(&self, output: &mut [u64], low: &Bits, high: &Bits, context: &mut Context) {
        let Some(argument) = self.outputs.first() else {
            return;
        };
        let width = argument.ty.width();
        if let (Some(low), Some(high)) = (low.to_u64(), high.to_u64()) {
            return self.give(output, context.random.between(low, high));
        }
        // Wider than 64 bits: as many random bits and 64 more, so that no value is noticeably likelier than another.
        let count = limbs(width) + 1;
        let draw: Vec<u64> = (0..count).map(|_| context.random.draw()).collect();
        let draw = Bits::from_limbs(count as u32 * 64, &draw);
        let value = if high.unsigned() > low.unsigned() {
            low.unsigned() + draw.unsigned() % (high.unsigned() - low.unsigned() + 1u8)
        } else {
            low.unsigned().clone()
        };
        Bits::new(width, value).to_limbs(&mut output[argument.at..argument.at + limbs(width)]);
    }

    fn preserved(&self, input: &[u64], taken: &Carried) -> Preserved {
        match taken {
            Carried::Nothing => Preserved::Nothing,
            Carried::List(index) => Preserved::List(self.number(input, *index) as u32),
            Carried::Slots(slots) => Preserved::Slots(slots.clone()),
        }
    }

    /// The text with each `{}` replaced by an item, in decimal.
    pub(crate) fn message(&self, text: &str, input: &[u64]) -> String {
        let mut items = self.items.iter();
        let mut message = String::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once("{}") {
            message.push_str(before);
            match items.next() {
                Some(item) => {
                    let value = self.bits(input, item.input);
                    let shown = match self.inputs[item.input].ty {
                        Ty::Signed(_) => value.signed().to_string(),
                        _ => value.unsigned().to_string(),
                    };
                    let _ = write!(message, "{shown}");
                }
                None => message.push_str("{}"),
            }
            rest = behind;
        }
        message.push_str(rest);
        message
    }
}

fn meter(
    context: &Context,
    object: ObjectId,
    index: Option<u64>,
    length: u64,
    before: Colour,
) -> Colour {
    match (&context.environment.objects[object.index()], index) {
        (Object::Meter(meter), Some(index)) => meter.execute(index, context.now, length, before),
        _ => before,
    }
}

fn hash_bytes(context: &mut Context, algorithm: Algorithm, bytes: &[u8]) -> u64 {
    let mut random = context.random.clone();
    let value = context.crcs().hash(algorithm, bytes, || random.draw());
    context.random = random;
    value
}

/// Puts a value into cells as a call's inputs have it: whole cells, and of a varbit its length behind them.
pub(crate) fn put(ty: Ty, value: &Bits, cells: &mut [u64]) {
    let count = limbs(ty.width());
    value.resize(ty.width()).to_limbs(&mut cells[..count]);
    if let Ty::Varbit(most) = ty {
        cells[count] = u64::from(value.width().min(most));
    }
}

/// The hash by which an action selector chooses, of the values of its selector keys.
pub(crate) fn select(context: &mut Context, selector: &Selector, mut values: &[u64]) -> u64 {
    let mut bytes = core::mem::take(&mut context.scratch);
    bytes.clear();
    let mut length = 0;
    for width in &selector.keys {
        let (cells, rest) = values.split_at(limbs(*width));
        bits::append(&mut bytes, &mut length, cells, *width);
        values = rest;
    }
    let hash = hash_bytes(context, selector.algorithm, &bytes);
    context.scratch = bytes;
    match selector.width {
        width @ ..64 => hash & ((1 << width) - 1),
        _ => hash,
    }
}
