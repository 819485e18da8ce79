//! Externs: what each call means, found once ([`Call::resolve`]), and done for each packet ([`Call::invoke`]).
//!
//! An engine evaluates the [`Call::inputs`] into cells, invokes, and puts the [`Call::outputs`] into the statement's places. It may do itself what is
//! simple enough, as long as it does the same.

pub mod hash;
pub mod registry;

use crate::layout::limbs;
use crate::state::meter::Colour;
use alloc::sync::Arc;
use alloc::vec::Vec;
use hash::Algorithm;
use p4::ir::{Expr, ObjectId, SlotId, Ty};
use p4::value::Bits;

/// The port whose packets begin anew, by PSA section 4.1.
pub const PSA_PORT_RECIRCULATE: u32 = 0xFFFF_FFFA;

/// A scalar that an extern is given.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// What to evaluate.
    pub value: Expr,
    /// Its type.
    pub ty: Ty,
    /// Its first cell in the input. A varbit's length in bits has a cell of its own behind the value's.
    pub at: usize,
}

/// A scalar that an extern gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its type.
    pub ty: Ty,
    /// Its first cell in the output.
    pub at: usize,
}

/// A scalar of a list that is hashed, summed up, or sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The field's name, where it has one.
    pub name: Arc<str>,
    pub input: usize,
    /// Which of the inputs is the validity of its header.
    pub valid: Option<usize>,
}

/// An index into the inputs.
pub type InputIndex = usize;

/// What a call does. Data are ranges of [`Call::items`].
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// `counter.count(index)`, `Counter.count(index)`, `Counter.count(index, bytes)`
    Count {
        /// The counter.
        object: ObjectId,
        index: InputIndex,
        /// In place of the packet's length.
        bytes: Option<InputIndex>,
    },
    /// `direct_counter.count()`: nothing, since v1model counts at every hit.
    Nothing,
    /// `DirectCounter.count()`, `DirectCounter.count(bytes)`
    CountDirect {
        /// The counter.
        object: ObjectId,
        /// In place of the packet's length.
        bytes: Option<InputIndex>,
    },
    /// `meter.execute_meter(index, result)`, `Meter.execute(index)`, `Meter.execute(index, colour)`
    ExecuteMeter {
        /// The meter.
        object: ObjectId,
        index: InputIndex,
        /// The packet's colour before.
        before: Option<InputIndex>,
        /// In place of the packet's length.
        bytes: Option<InputIndex>,
        /// How colours are written.
        code: ColourCode,
    },
    /// `direct_meter.read(result)`: what the meter said when the table was hit.
    ReadDirectMeter,
    /// `DirectMeter.execute()`, `DirectMeter.execute(colour)`
    ExecuteDirectMeter {
        /// The meter.
        object: ObjectId,
        /// The packet's colour before.
        before: Option<InputIndex>,
        /// In place of the packet's length.
        bytes: Option<InputIndex>,
        /// How colours are written.
        code: ColourCode,
    },
    /// `register.read(result, index)`, `Register.read(index)`
    RegisterRead {
        /// The register.
        object: ObjectId,
        index: InputIndex,
    },
    /// `register.write(index, value)`, `Register.write(index, value)`: the value is all inputs from `value` on.
    RegisterWrite {
        /// The register.
        object: ObjectId,
        index: InputIndex,
        /// The first input of the value.
        value: InputIndex,
    },
    /// `random(result, low, high)`
    Random {
        /// The least.
        low: InputIndex,
        /// The most.
        high: InputIndex,
    },
    /// `Random.read()`
    RandomRead {
        /// The object with its bounds.
        object: ObjectId,
    },
    /// `digest(receiver, data)`, `Digest.pack(data)`
    Digest {
        /// PSA's.
        object: Option<ObjectId>,
        /// The object's name, or that of the data's type.
        name: Arc<str>,
        /// v1model's.
        receiver: Option<InputIndex>,
    },
    /// `mark_to_drop(standard_metadata)`: the outputs are the inputs but for these two.
    MarkToDrop {
        /// `egress_spec` among the outputs.
        egress_spec: Option<usize>,
        /// `mcast_grp` among the outputs.
        mcast_grp: Option<usize>,
    },
    /// `mark_to_drop()`: sets the packet's slots.
    MarkToDropSlots,
    /// `hash(result, algorithm, base, data, max)`, `Hash.get_hash(data)`, `Hash.get_hash(base, data, max)`
    Hash {
        algorithm: Algorithm,
        /// Base and maximum: `base + hash % max`.
        range: Option<(InputIndex, InputIndex)>,
    },
    /// `verify_checksum(condition, data, checksum, algorithm)`, also with payload
    VerifyChecksum {
        algorithm: Algorithm,
        /// Whether at all.
        condition: InputIndex,
        /// What it should be.
        checksum: InputIndex,
        /// Whether what the parser left is part of the data.
        payload: bool,
    },
    /// `update_checksum(condition, data, checksum, algorithm)`, also with payload
    UpdateChecksum {
        algorithm: Algorithm,
        /// Whether at all.
        condition: InputIndex,
        checksum: InputIndex,
        /// Whether what the parser left is part of the data.
        payload: bool,
    },
    /// `Checksum16.get(data)`, `checksum(data)`, `checksum_with_payload(data)`
    Checksum16 {
        /// Whether what the parser left is part of the data.
        payload: bool,
    },
    /// `Checksum.clear()`, `InternetChecksum.clear()`
    ChecksumClear {
        /// The number of its state.
        state: usize,
    },
    /// `Checksum.update(data)`
    ChecksumUpdate {
        /// The number of its state.
        state: usize,
    },
    /// `Checksum.get()`
    ChecksumGet {
        /// The number of its state.
        state: usize,
        algorithm: Algorithm,
    },
    /// `InternetChecksum.add(data)`, `InternetChecksum.subtract(data)`
    InternetAdd {
        /// The number of its state.
        state: usize,
        /// Whether it is `subtract`.
        subtract: bool,
    },
    /// `InternetChecksum.get()`, `InternetChecksum.get_state()`
    InternetGet {
        /// The number of its state.
        state: usize,
        /// Whether it is `get`, which gives the complement.
        complement: bool,
    },
    /// `InternetChecksum.set_state(state)`
    InternetSet {
        /// The number of its state.
        state: usize,
        /// The new sum.
        value: InputIndex,
    },
    /// `clone`, `clone3`, `clone_preserving_field_list`
    Clone {
        session: InputIndex,
        /// What goes along.
        preserved: Carried,
    },
    /// `resubmit`, `resubmit_preserving_field_list`
    Resubmit {
        /// What goes along.
        preserved: Carried,
    },
    /// `recirculate`, `recirculate_preserving_field_list`
    Recirculate {
        /// What goes along.
        preserved: Carried,
    },
    /// `truncate(length)`
    Truncate {
        /// In bytes.
        length: InputIndex,
    },
    /// `assert(check)`
    Assert {
        /// What must be true.
        check: InputIndex,
    },
    /// `assume(check)`
    Assume {
        /// What must be true.
        check: InputIndex,
    },
    /// `log_msg(text)`, `log_msg(text, data)`
    Log {
        /// With `{}` for each item.
        text: Arc<str>,
    },
    /// `psa_clone_i2e`, `psa_resubmit`, `psa_normal`, `psa_clone_e2e`, `psa_recirculate`
    PsaQuestion(Question),
    /// `add_entry(action_name, action_params, expire_time_profile_id)`
    AddEntry {
        /// The action's name in the program.
        action: Arc<str>,
        /// Its arguments.
        arguments: Vec<InputIndex>,
        profile: InputIndex,
    },
    /// `allocate_flow_id()`
    AllocateFlowId,
    /// `restart_expire_timer()`, `set_entry_expire_time(expire_time_profile_id)`
    RestartEntry { profile: Option<InputIndex> },
    /// What the [`Registry`](registry::Registry) has: the inputs are those of its signature, and the outputs, too.
    Own(registry::Method),
}

impl Operation {
    /// Whether it asks the architecture for something that is done when the section has ended:
    /// [`Effects`](crate::context::Effects) but for the checksum error.
    #[must_use]
    pub fn asks(&self) -> bool {
        matches!(
            self,
            Operation::Clone { .. }
                | Operation::Resubmit { .. }
                | Operation::Recirculate { .. }
                | Operation::Truncate { .. }
        )
    }
}

/// What goes along with a copy of the packet.
#[derive(Clone, Debug, PartialEq)]
pub enum Carried {
    Nothing,
    /// The fields with this number in their `@field_list`.
    List(InputIndex),
    Slots(Arc<[SlotId]>),
}

/// What a PSA deparser asks about the packet's way, from inputs by field.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// All of the first are set, none of the second is.
    Flags(Vec<InputIndex>, Vec<InputIndex>),
    /// The port is the recirculation port, and the packet is not dropped.
    Recirculate {
        /// The egress port.
        port: InputIndex,
        /// Whether it is dropped.
        drop: Option<InputIndex>,
    },
}

/// How an architecture writes colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColourCode {
    /// Green 0, yellow 1, red 2.
    V1Model,
    /// Red 0, green 1, yellow 2.
    Psa,
}

impl ColourCode {
    /// A colour as a number.
    #[must_use]
    pub fn encode(self, colour: Colour) -> u64 {
        match (self, colour) {
            (ColourCode::V1Model, Colour::Green) | (ColourCode::Psa, Colour::Red) => 0,
            (ColourCode::V1Model, Colour::Yellow) | (ColourCode::Psa, Colour::Green) => 1,
            (ColourCode::V1Model, Colour::Red) | (ColourCode::Psa, Colour::Yellow) => 2,
        }
    }

    /// A number as a colour; one that means none is green.
    #[must_use]
    pub fn decode(self, code: u64) -> Colour {
        match (self, code) {
            (ColourCode::V1Model, 1) | (ColourCode::Psa, 2) => Colour::Yellow,
            (ColourCode::V1Model, 2) | (ColourCode::Psa, 0) => Colour::Red,
            _ => Colour::Green,
        }
    }
}

/// A call of an extern, of which everything is known that does not depend on the packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// As the program writes it: `ingress.c1.count`, `mark_to_drop`.
    pub name: Arc<str>,
    /// What it does.
    pub operation: Operation,
    /// What to evaluate, in order.
    pub inputs: Vec<Input>,
    /// How many cells the inputs take.
    pub input_cells: usize,
    /// What comes out, in order.
    pub outputs: Vec<Output>,
    /// How many cells the outputs take.
    pub output_cells: usize,
    /// The data that the operation works on.
    pub items: Vec<Item>,
}

impl Call {
    /// The low 64 bits of an input.
    pub(crate) fn number(&self, input: &[u64], index: InputIndex) -> u64 {
        input[self.inputs[index].at]
    }

    pub(crate) fn bits(&self, input: &[u64], index: InputIndex) -> Bits {
        let at = self.inputs[index].at;
        let ty = self.inputs[index].ty;
        let count = limbs(ty.width());
        let width = match ty {
            Ty::Varbit(most) => input[at + count].min(u64::from(most)) as u32,
            _ => ty.width(),
        };
        Bits::from_limbs(width, &input[at..at + count])
    }
}
