//! Finds what a call means.

use crate::environment::{Environment, Object, Unsupported, cells_of};
use crate::externs::hash::Algorithm;
use crate::externs::registry::{Method, Requested};
use crate::externs::{
    Call, Carried, ColourCode, Input, InputIndex, Item, Operation, Output, Question,
};
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use p4::ir::{
    self, Argument, Callee, Expr, Extern, Function, LValue, Library, ObjectId, Program, Ty,
};
use p4::value::Bits;

impl Call {
    /// Finds what a call does.
    ///
    /// # Errors
    /// When nothing here or in the [`Registry`](crate::externs::registry::Registry) does that, or the arguments are not those that it takes.
    pub fn resolve(
        environment: &Environment,
        callee: &Callee,
        arguments: &[Argument],
        results: &[LValue],
    ) -> Result<Call, Unsupported> {
        let program = &*environment.program;
        let mut call = Call {
            name: match callee {
                Callee::Method(object, method) => {
                    format!("{}.{method}", program.objects[object.index()].name).into()
                }
                Callee::Function(function) => function.name().into(),
            },
            operation: Operation::Nothing,
            inputs: Vec::new(),
            input_cells: 0,
            outputs: Vec::new(),
            output_cells: 0,
            items: Vec::new(),
        };
        for result in results {
            let ty = result.ty(&program.slots);
            let at = call.output_cells;
            call.outputs.push(Output { ty, at });
            call.output_cells += cells_of(ty);
        }
        if let Some(method) = own(environment, callee) {
            return own_call(call, program, arguments, method);
        }
        let operation = {
            let mut given = Given {
                environment,
                program,
                arguments,
                call: &mut call,
            };
            match callee {
                Callee::Method(object, method) => given.method(*object, method),
                Callee::Function(function) => given.function(function),
            }
        };
        call.operation = operation.ok_or_else(|| {
            let what = match callee {
                Callee::Method(object, _) => format!("`{}` of the extern `{}`", call.name, program.objects[object.index()].kind),
                Callee::Function(_) => format!("the extern function `{}`", call.name),
            };
            let count = arguments.len();
            Unsupported::new(format!(
                "{what} with {count} argument(s) has no implementation here; a program in Rust can give it one (`pipeline::externs::registry`)"
            ))
        })?;
        Ok(call)
    }
}

/// What the registry has for a function or method.
fn own<'e>(environment: &'e Environment, callee: &Callee) -> Option<&'e Method> {
    match callee {
        Callee::Function(function) => environment.options.externs.find(function.name()),
        Callee::Method(object, method) => match &environment.objects[object.index()] {
            Object::Own(methods) => {
                let mut methods = methods.iter();
                let found = methods.find(|(known, _)| *known == method.name());
                found.map(|(_, method)| method)
            }
            _ => None,
        },
    }
}

/// A call of what the registry has: all scalars of the arguments in order.
fn own_call(
    mut call: Call,
    program: &Program,
    arguments: &[Argument],
    method: &Method,
) -> Result<Call, Unsupported> {
    for argument in arguments {
        let scalars: Vec<Expr> = match argument {
            Argument::Value(value) => alloc::vec![value.clone()],
            Argument::List(list) => list.iter().map(|item| item.value.clone()).collect(),
            Argument::Member(enumeration, member) => {
                let members = program.enumerations.get(enumeration.index());
                let member = members.and_then(|list| list.members.get(*member as usize));
                member
                    .map(|(_, value)| Expr::Constant(value.clone(), Ty::Bits(value.width())))
                    .into_iter()
                    .collect()
            }
            Argument::Text(_) | Argument::Object(_) => {
                return Err(Unsupported::new(format!(
                    "`{}` is given a string or an object, which externs in Rust cannot take; its constructor can be given numbers",
                    call.name
                )));
            }
        };
        for value in scalars {
            let ty = value.ty(&program.slots);
            let at = call.input_cells;
            call.input_cells += cells_of(ty);
            call.inputs.push(Input { value, ty, at });
        }
    }
    if !method.signature.fits(&call) {
        return Err(Unsupported::new(format!(
            "`{}` is called as {}, and its implementation in Rust is {}",
            call.name,
            Requested(&call),
            method.signature
        )));
    }
    call.operation = Operation::Own(method.clone());
    Ok(call)
}

struct Given<'a> {
    environment: &'a Environment,
    program: &'a Program,
    arguments: &'a [Argument],
    call: &'a mut Call,
}

impl Given<'_> {
    fn input(&mut self, value: Expr) -> InputIndex {
        let ty = value.ty(&self.program.slots);
        let at = self.call.input_cells;
        self.call.input_cells += cells_of(ty);
        self.call.inputs.push(Input { value, ty, at });
        self.call.inputs.len() - 1
    }

    /// An argument that is one scalar.
    fn scalar(&mut self, index: usize) -> Option<InputIndex> {
        match self.arguments.get(index)? {
            Argument::Value(value) => Some(self.input(value.clone())),
            Argument::List(list) if list.len() == 1 => Some(self.input(list[0].value.clone())),
            Argument::Member(enumeration, member) => {
                let members = &self.program.enumerations.get(enumeration.index())?.members;
                let (_, value) = members.get(*member as usize)?;
                let ty = p4::ir::Ty::Bits(value.width());
                Some(self.input(Expr::Constant(value.clone(), ty)))
            }
            _ => None,
        }
    }

    /// An argument that is data: all its scalars become items.
    fn data(&mut self, index: usize) -> Option<()> {
        match self.arguments.get(index)? {
            Argument::Value(value) => {
                let input = self.input(value.clone());
                let name = Arc::from("");
                self.call.items.push(Item {
                    name,
                    input,
                    valid: None,
                });
            }
            Argument::List(list) => {
                // One input for the validity of all fields of a header.
                let mut last = None;
                for item in list {
                    let valid = match (item.valid, last) {
                        (None, _) => None,
                        (Some(slot), Some((same, input))) if slot == same => Some(input),
                        (Some(slot), _) => {
                            let input = self.input(Expr::Slot(slot));
                            last = Some((slot, input));
                            Some(input)
                        }
                    };
                    let input = self.input(item.value.clone());
                    let name = Arc::clone(&item.name);
                    self.call.items.push(Item { name, input, valid });
                }
            }
            Argument::Member(..) => {
                let input = self.scalar(index)?;
                let name = Arc::from("");
                self.call.items.push(Item {
                    name,
                    input,
                    valid: None,
                });
            }
            Argument::Text(_) | Argument::Object(_) => return None,
        }
        Some(())
    }

    /// Makes the data whole bytes by zeros before them, as one number in network order has them. PSA's hashes want that; v1model's have the
    /// zeros behind.
    fn lead(&mut self) {
        let widths = self
            .call
            .items
            .iter()
            .map(|item| self.call.inputs[item.input].ty.width());
        let odd = widths.sum::<u32>() % 8;
        if odd != 0 {
            let ty = Ty::Bits(8 - odd);
            let input = self.input(Expr::Constant(Bits::zero(8 - odd), ty));
            let zeros = Item {
                name: Arc::from(""),
                input,
                valid: None,
            };
            self.call.items.insert(0, zeros);
        }
    }

    /// The input of the item with this field name.
    fn field(&self, name: &str) -> Option<InputIndex> {
        let mut items = self.call.items.iter();
        // The last part of a path counts: `standard_metadata.egress_spec`.
        let item = items.find(|item| item.name.rsplit('.').next() == Some(name));
        item.map(|item| item.input)
    }

    /// A member of an enumeration, given as such or as a constant.
    fn member(&self, index: usize, enumeration: &str) -> Option<&str> {
        let (enumeration, value) = match self.arguments.get(index)? {
            Argument::Member(id, member) => {
                let members = &self.program.enumerations.get(id.index())?.members;
                return members.get(*member as usize).map(|(name, _)| &**name);
            }
            Argument::Value(Expr::Constant(value, _)) => {
                let mut all = self.program.enumerations.iter();
                (all.find(|one| &*one.name == enumeration)?, value)
            }
            _ => return None,
        };
        let mut members = enumeration.members.iter();
        let member = members.find(|(_, code)| code.unsigned() == value.unsigned());
        member.map(|(name, _)| &**name)
    }

    fn algorithm(&self, index: usize) -> Option<Algorithm> {
        Algorithm::by_member(self.member(index, "HashAlgorithm")?)
    }

    fn function(&mut self, function: &Function) -> Option<Operation> {
        use Function as F;
        let takes = match function {
            F::MarkToDrop | F::Resubmit | F::Recirculate => 0..=1,
            F::AllocateFlowId | F::RestartExpireTimer => 0..=0,
            F::SetEntryExpireTime => 1..=1,
            F::AddEntry => 3..=3,
            F::Checksum
            | F::ChecksumWithPayload
            | F::ResubmitPreservingFieldList
            | F::RecirculatePreservingFieldList
            | F::Truncate
            | F::Assert
            | F::Assume
            | F::PsaCloneI2e
            | F::PsaResubmit
            | F::PsaNormal
            | F::PsaCloneE2e => 1..=1,
            F::LogMsg => 1..=2,
            F::Random | F::Clone | F::PsaRecirculate => 2..=2,
            F::Digest => 2..=3,
            F::Clone3 | F::ClonePreservingFieldList => 3..=3,
            F::Hash
            | F::VerifyChecksum
            | F::VerifyChecksumWithPayload
            | F::UpdateChecksum
            | F::UpdateChecksumWithPayload => 4..=4,
            F::Own(_) => return None,
        };
        let count = self.arguments.len();
        if !takes.contains(&count) {
            return None;
        }
        Some(match function {
            F::Random => Operation::Random {
                low: self.scalar(0)?,
                high: self.scalar(1)?,
            },
            F::Digest => {
                let receiver = Some(self.scalar(0)?);
                self.data(1)?;
                let name = match self.arguments.get(2) {
                    Some(Argument::Text(name)) => Arc::clone(name),
                    _ => Arc::from(""),
                };
                Operation::Digest {
                    object: None,
                    name,
                    receiver,
                }
            }
            F::MarkToDrop if count == 0 => Operation::MarkToDropSlots,
            F::MarkToDrop => {
                self.data(0)?;
                let result = |name| {
                    let input = self.field(name)?;
                    self.call.items.iter().position(|item| item.input == input)
                };
                Operation::MarkToDrop {
                    egress_spec: result("egress_spec"),
                    mcast_grp: result("mcast_grp"),
                }
            }
            F::Hash => {
                let algorithm = self.algorithm(0)?;
                let base = self.scalar(1)?;
                self.data(2)?;
                let max = self.scalar(3)?;
                Operation::Hash {
                    algorithm,
                    range: Some((base, max)),
                }
            }
            F::VerifyChecksum | F::VerifyChecksumWithPayload => {
                let condition = self.scalar(0)?;
                self.data(1)?;
                Operation::VerifyChecksum {
                    algorithm: self.algorithm(3)?,
                    condition,
                    checksum: self.scalar(2)?,
                    payload: matches!(function, F::VerifyChecksumWithPayload),
                }
            }
            F::UpdateChecksum | F::UpdateChecksumWithPayload => {
                let condition = self.scalar(0)?;
                self.data(1)?;
                Operation::UpdateChecksum {
                    algorithm: self.algorithm(3)?,
                    condition,
                    checksum: self.scalar(2)?,
                    payload: matches!(function, F::UpdateChecksumWithPayload),
                }
            }
            F::Checksum | F::ChecksumWithPayload => {
                self.data(0)?;
                let payload = matches!(function, F::ChecksumWithPayload);
                Operation::Checksum16 { payload }
            }
            F::Clone => Operation::Clone {
                session: self.scalar(1)?,
                preserved: Carried::Nothing,
            },
            F::Clone3 => Operation::Clone {
                session: self.scalar(1)?,
                preserved: self.taken(2),
            },
            F::ClonePreservingFieldList => Operation::Clone {
                session: self.scalar(1)?,
                preserved: Carried::List(self.scalar(2)?),
            },
            F::Resubmit if count == 0 => Operation::Resubmit {
                preserved: Carried::Nothing,
            },
            F::Resubmit => Operation::Resubmit {
                preserved: self.taken(0),
            },
            F::ResubmitPreservingFieldList => Operation::Resubmit {
                preserved: Carried::List(self.scalar(0)?),
            },
            F::Recirculate if count == 0 => Operation::Recirculate {
                preserved: Carried::Nothing,
            },
            F::Recirculate => Operation::Recirculate {
                preserved: self.taken(0),
            },
            F::RecirculatePreservingFieldList => Operation::Recirculate {
                preserved: Carried::List(self.scalar(0)?),
            },
            F::Truncate => Operation::Truncate {
                length: self.scalar(0)?,
            },
            F::Assert => Operation::Assert {
                check: self.scalar(0)?,
            },
            F::Assume => Operation::Assume {
                check: self.scalar(0)?,
            },
            F::LogMsg => {
                let Argument::Text(text) = &self.arguments[0] else {
                    return None;
                };
                if self.arguments.len() == 2 {
                    self.data(1)?;
                }
                Operation::Log {
                    text: Arc::clone(text),
                }
            }
            F::PsaCloneI2e | F::PsaCloneE2e => {
                self.data(0)?;
                Operation::PsaQuestion(Question::Flags(
                    alloc::vec![self.field("clone")?],
                    Vec::new(),
                ))
            }
            // PSA 1.2 section 6.4.5: what the deparser is asked for follows what is done after it.
            F::PsaResubmit => {
                self.data(0)?;
                Operation::PsaQuestion(Question::Flags(
                    alloc::vec![self.field("resubmit")?],
                    alloc::vec![self.field("drop")?],
                ))
            }
            F::PsaNormal => {
                self.data(0)?;
                Operation::PsaQuestion(Question::Flags(
                    Vec::new(),
                    alloc::vec![self.field("drop")?, self.field("resubmit")?],
                ))
            }
            F::PsaRecirculate => {
                self.data(0)?;
                self.data(1)?;
                Operation::PsaQuestion(Question::Recirculate {
                    port: self.field("egress_port")?,
                    drop: self.field("drop"),
                })
            }
            F::AddEntry => {
                let Argument::Text(action) = &self.arguments[0] else {
                    return None;
                };
                Operation::AddEntry {
                    action: Arc::clone(action),
                    arguments: self.scalars(1)?,
                    profile: self.scalar(2)?,
                }
            }
            F::AllocateFlowId => Operation::AllocateFlowId,
            F::SetEntryExpireTime => Operation::RestartEntry {
                profile: Some(self.scalar(0)?),
            },
            F::RestartExpireTimer => Operation::RestartEntry { profile: None },
            F::Own(_) => return None,
        })
    }

    /// The old way to say what goes along: a list of the fields themselves.
    fn taken(&mut self, index: usize) -> Carried {
        let mut slots = Vec::new();
        match self.arguments.get(index) {
            Some(Argument::Value(Expr::Slot(slot))) => slots.push(*slot),
            Some(Argument::List(list)) => {
                slots.extend(list.iter().filter_map(|item| match &item.value {
                    Expr::Slot(slot) => Some(*slot),
                    _ => None,
                }));
            }
            _ => {}
        }
        if slots.is_empty() {
            Carried::Nothing
        } else {
            Carried::Slots(slots.into())
        }
    }

    fn method(&mut self, object: ObjectId, method: &ir::Method) -> Option<Operation> {
        use ir::Method as M;
        let kind = &self.program.objects[object.index()].kind;
        let state = &self.environment.objects[object.index()];
        let count = self.arguments.len();
        Some(match kind {
            Extern::Counter(_) => match (method, count) {
                (M::Count, 1 | 2) => Operation::Count {
                    object,
                    index: self.scalar(0)?,
                    bytes: self.scalar(1),
                },
                _ => return None,
            },
            Extern::DirectCounter(library) => match (library, method, count) {
                (Library::V1Model, M::Count, 0) => Operation::Nothing,
                (Library::Psa, M::Count, 0 | 1) => Operation::CountDirect {
                    object,
                    bytes: self.scalar(0),
                },
                _ => return None,
            },
            Extern::Meter(library) => match (library, method, count) {
                (Library::V1Model, M::ExecuteMeter, 1) => Operation::ExecuteMeter {
                    object,
                    index: self.scalar(0)?,
                    before: None,
                    bytes: None,
                    code: ColourCode::V1Model,
                },
                (Library::Psa, M::Execute, 1 | 2) => Operation::ExecuteMeter {
                    object,
                    index: self.scalar(0)?,
                    before: self.scalar(1),
                    bytes: None,
                    code: ColourCode::Psa,
                },
                // Their last argument is the length.
                (Library::Psa, M::DpdkExecute, 2 | 3) => Operation::ExecuteMeter {
                    object,
                    index: self.scalar(0)?,
                    before: if count == 3 { self.scalar(1) } else { None },
                    bytes: self.scalar(count - 1),
                    code: ColourCode::Psa,
                },
                _ => return None,
            },
            Extern::DirectMeter(library) => match (library, method, count) {
                (Library::V1Model, M::Read, 0) => Operation::ReadDirectMeter,
                (Library::Psa, M::Execute | M::DpdkExecute, 0..=2) => {
                    self.direct_meter(object, method)?
                }
                _ => return None,
            },
            Extern::Register(_) => match (method, count) {
                (M::Read, 1) => Operation::RegisterRead {
                    object,
                    index: self.scalar(0)?,
                },
                (M::Write, 2) => self.register_write(object)?,
                _ => return None,
            },
            Extern::Random => match (method, count) {
                (M::Read, 0) => Operation::RandomRead { object },
                _ => return None,
            },
            Extern::Digest => match (method, count) {
                (M::Pack, 1) => {
                    self.data(0)?;
                    Operation::Digest {
                        object: Some(object),
                        name: Arc::clone(&self.program.objects[object.index()].name),
                        receiver: None,
                    }
                }
                _ => return None,
            },
            Extern::Hash => match (method, count, state) {
                (M::GetHash, 1, Object::Hash(algorithm)) => {
                    self.data(0)?;
                    self.lead();
                    Operation::Hash {
                        algorithm: *algorithm,
                        range: None,
                    }
                }
                (M::GetHash, 3, Object::Hash(algorithm)) => {
                    let range = Some((self.scalar(0)?, self.scalar(2)?));
                    self.data(1)?;
                    self.lead();
                    Operation::Hash {
                        algorithm: *algorithm,
                        range,
                    }
                }
                _ => return None,
            },
            Extern::Checksum | Extern::InternetChecksum | Extern::Checksum16 => {
                let &Object::Checksum(state, algorithm) = state else {
                    return None;
                };
                match (kind, method, count) {
                    (Extern::Checksum16, M::Get, 1) => {
                        self.data(0)?;
                        Operation::Checksum16 { payload: false }
                    }
                    (_, M::Clear, 0) => Operation::ChecksumClear { state },
                    (Extern::Checksum, M::Update, 1) => {
                        self.data(0)?;
                        Operation::ChecksumUpdate { state }
                    }
                    (Extern::Checksum, M::Get, 0) => Operation::ChecksumGet { state, algorithm },
                    (Extern::InternetChecksum, M::Add | M::Subtract, 1) => {
                        self.data(0)?;
                        let subtract = *method == M::Subtract;
                        Operation::InternetAdd { state, subtract }
                    }
                    (Extern::InternetChecksum, M::Get | M::GetState, 0) => {
                        let complement = *method == M::Get;
                        Operation::InternetGet { state, complement }
                    }
                    (Extern::InternetChecksum, M::SetState, 1) => Operation::InternetSet {
                        state,
                        value: self.scalar(0)?,
                    },
                    _ => return None,
                }
            }
            Extern::ActionProfile(_)
            | Extern::ActionSelector(_)
            | Extern::PacketReplicationEngine
            | Extern::BufferingQueueingEngine
            | Extern::Own(_) => return None,
        })
    }

    /// `execute` of a direct meter, with the colour before and the length as far as they are given:
    /// the colour is an enumeration's.
    fn direct_meter(&mut self, object: ObjectId, method: &ir::Method) -> Option<Operation> {
        let dpdk = *method == ir::Method::DpdkExecute;
        let nic = self.program.architecture == ir::Architecture::PnaNic;
        let length = match self.arguments.len() {
            1 if dpdk || nic && !self.is_colour(0) => Some(0),
            2 => Some(1),
            _ => None,
        };
        let before = match self.arguments.len() {
            0 => None,
            1 if length.is_some() => None,
            _ => Some(self.scalar(0)?),
        };
        let bytes = match length {
            Some(index) => Some(self.scalar(index)?),
            None => None,
        };
        Some(Operation::ExecuteDirectMeter {
            object,
            before,
            bytes,
            code: ColourCode::Psa,
        })
    }

    /// Whether an argument is of an enumeration, as colours are.
    fn is_colour(&self, index: usize) -> bool {
        match self.arguments.get(index) {
            Some(Argument::Member(..)) => true,
            Some(Argument::Value(Expr::Slot(slot))) => {
                self.program.slots[slot.index()].enumeration.is_some()
            }
            _ => false,
        }
    }

    /// All scalars of an argument, in order.
    fn scalars(&mut self, index: usize) -> Option<Vec<InputIndex>> {
        match self.arguments.get(index)? {
            Argument::List(list) => {
                let values: Vec<Expr> = list.iter().map(|item| item.value.clone()).collect();
                Some(values.into_iter().map(|value| self.input(value)).collect())
            }
            _ => Some(alloc::vec![self.scalar(index)?]),
        }
    }

    fn register_write(&mut self, object: ObjectId) -> Option<Operation> {
        let index = self.scalar(0)?;
        let value = self.call.inputs.len();
        match &self.arguments[1] {
            // Of a struct, its scalars one behind the other, without looking at validity.
            Argument::List(list) => {
                for item in list {
                    self.input(item.value.clone());
                }
            }
            _ => {
                self.scalar(1)?;
            }
        }
        Some(Operation::RegisterWrite {
            object,
            index,
            value,
        })
    }
}
