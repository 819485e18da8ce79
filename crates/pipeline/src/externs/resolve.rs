//! Finds what a call means.

use super::hash::Algorithm;
use super::registry::{Asked, Method};
use super::{Call, ColourCode, Input, InputIndex, Item, Operation, Output, Question, Taken};
use crate::environment::{Environment, Object, Unsupported, cells_of};
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use p4::ir::{Argument, Expr, ObjectId, Place, Program, Ty};
use p4::value::Bits;

impl Call {
    /// Finds what a call does.
    ///
    /// # Errors
    /// When nothing here or in the [`Registry`](super::registry::Registry) does that, or the arguments are not those that it takes.
    pub fn resolve(
        environment: &Environment,
        object: Option<ObjectId>,
        name: &Arc<str>,
        arguments: &[Argument],
        results: &[Place],
    ) -> Result<Call, Unsupported> {
        let program = &*environment.program;
        let mut call = Call {
            name: match object {
                Some(object) => format!("{}.{name}", program.objects[object.index()].name).into(),
                None => Arc::clone(name),
            },
            operation: Operation::Nothing,
            inputs: Vec::new(),
            input_cells: 0,
            outputs: Vec::new(),
            output_cells: 0,
            items: Vec::new(),
        };
        for place in results {
            let ty = place.ty(&program.slots);
            let at = call.output_cells;
            call.outputs.push(Output { ty, at });
            call.output_cells += cells_of(ty);
        }
        if let Some(method) = own(environment, object, name) {
            return own_call(call, program, arguments, method);
        }
        let operation = {
            let mut given = Given {
                environment,
                program,
                arguments,
                call: &mut call,
            };
            match object {
                Some(object) => given.method(object, name),
                None => given.function(name),
            }
        };
        call.operation = operation.ok_or_else(|| {
            let what = match object {
                Some(object) => format!("`{}` of the extern `{}`", call.name, program.objects[object.index()].kind),
                None => format!("the extern function `{}`", call.name),
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
fn own<'e>(
    environment: &'e Environment,
    object: Option<ObjectId>,
    name: &str,
) -> Option<&'e Method> {
    let Some(object) = object else {
        return environment.options.externs.find(name);
    };
    match &environment.objects[object.index()] {
        Object::Own(methods) => methods
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, method)| method),
        _ => None,
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
            Asked(&call),
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
        Algorithm::by_name(self.member(index, "HashAlgorithm")?)
    }

    fn function(&mut self, name: &str) -> Option<Operation> {
        Some(match (name, self.arguments.len()) {
            ("random", 2) => Operation::Random {
                low: self.scalar(0)?,
                high: self.scalar(1)?,
            },
            ("digest", 2 | 3) => {
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
            ("mark_to_drop", 0) => Operation::MarkToDropSlots,
            ("mark_to_drop", 1) => {
                self.data(0)?;
                let place = |name| {
                    let input = self.field(name)?;
                    self.call.items.iter().position(|item| item.input == input)
                };
                Operation::MarkToDrop {
                    egress_spec: place("egress_spec"),
                    mcast_grp: place("mcast_grp"),
                }
            }
            ("hash", 4) => {
                let algorithm = self.algorithm(0)?;
                let base = self.scalar(1)?;
                self.data(2)?;
                let max = self.scalar(3)?;
                Operation::Hash {
                    algorithm,
                    range: Some((base, max)),
                }
            }
            ("verify_checksum" | "verify_checksum_with_payload", 4) => {
                let condition = self.scalar(0)?;
                self.data(1)?;
                Operation::VerifyChecksum {
                    algorithm: self.algorithm(3)?,
                    condition,
                    checksum: self.scalar(2)?,
                    payload: name.ends_with("payload"),
                }
            }
            ("update_checksum" | "update_checksum_with_payload", 4) => {
                let condition = self.scalar(0)?;
                self.data(1)?;
                Operation::UpdateChecksum {
                    algorithm: self.algorithm(3)?,
                    condition,
                    checksum: self.scalar(2)?,
                    payload: name.ends_with("payload"),
                }
            }
            ("checksum" | "checksum_with_payload", 1) => {
                self.data(0)?;
                let payload = name.ends_with("payload");
                Operation::Checksum16 { payload }
            }
            ("clone", 2) => Operation::Clone {
                session: self.scalar(1)?,
                preserved: Taken::Nothing,
            },
            ("clone3", 3) => Operation::Clone {
                session: self.scalar(1)?,
                preserved: self.taken(2),
            },
            ("clone_preserving_field_list", 3) => Operation::Clone {
                session: self.scalar(1)?,
                preserved: Taken::List(self.scalar(2)?),
            },
            ("resubmit", 0) => Operation::Resubmit {
                preserved: Taken::Nothing,
            },
            ("resubmit", 1) => Operation::Resubmit {
                preserved: self.taken(0),
            },
            ("resubmit_preserving_field_list", 1) => Operation::Resubmit {
                preserved: Taken::List(self.scalar(0)?),
            },
            ("recirculate", 0) => Operation::Recirculate {
                preserved: Taken::Nothing,
            },
            ("recirculate", 1) => Operation::Recirculate {
                preserved: self.taken(0),
            },
            ("recirculate_preserving_field_list", 1) => Operation::Recirculate {
                preserved: Taken::List(self.scalar(0)?),
            },
            ("truncate", 1) => Operation::Truncate {
                length: self.scalar(0)?,
            },
            ("assert", 1) => Operation::Assert {
                check: self.scalar(0)?,
            },
            ("assume", 1) => Operation::Assume {
                check: self.scalar(0)?,
            },
            ("log_msg", 1 | 2) => {
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
            ("psa_clone_i2e" | "psa_clone_e2e", 1) => {
                self.data(0)?;
                Operation::PsaQuestion(Question::Flags(
                    alloc::vec![self.field("clone")?],
                    Vec::new(),
                ))
            }
            // PSA 1.2 section 6.4.5: what the deparser is asked for follows what is done after it.
            ("psa_resubmit", 1) => {
                self.data(0)?;
                Operation::PsaQuestion(Question::Flags(
                    alloc::vec![self.field("resubmit")?],
                    alloc::vec![self.field("drop")?],
                ))
            }
            ("psa_normal", 1) => {
                self.data(0)?;
                Operation::PsaQuestion(Question::Flags(
                    Vec::new(),
                    alloc::vec![self.field("drop")?, self.field("resubmit")?],
                ))
            }
            ("psa_recirculate", 2) => {
                self.data(0)?;
                self.data(1)?;
                Operation::PsaQuestion(Question::Recirculate {
                    port: self.field("egress_port")?,
                    drop: self.field("drop"),
                })
            }
            _ => return None,
        })
    }

    /// The old way to say what goes along: a list of the fields themselves.
    fn taken(&mut self, index: usize) -> Taken {
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
            Taken::Nothing
        } else {
            Taken::Slots(slots.into())
        }
    }

    fn method(&mut self, object: ObjectId, name: &str) -> Option<Operation> {
        let kind = &*self.program.objects[object.index()].kind;
        let state = &self.environment.objects[object.index()];
        Some(match (kind, name, self.arguments.len()) {
            ("counter" | "Counter", "count", 1) => Operation::Count {
                object,
                index: self.scalar(0)?,
            },
            ("direct_counter", "count", 0) => Operation::Nothing,
            ("DirectCounter", "count", 0) => Operation::CountDirect { object },
            ("meter", "execute_meter", 1) => Operation::ExecuteMeter {
                object,
                index: self.scalar(0)?,
                before: None,
                code: ColourCode::V1Model,
            },
            ("Meter", "execute", 1 | 2) => Operation::ExecuteMeter {
                object,
                index: self.scalar(0)?,
                before: self.scalar(1),
                code: ColourCode::Psa,
            },
            ("direct_meter", "read", 0) => Operation::ReadDirectMeter,
            ("DirectMeter", "execute", 0 | 1) => Operation::ExecuteDirectMeter {
                object,
                before: self.scalar(0),
                code: ColourCode::Psa,
            },
            ("register" | "Register", "read", 1) => Operation::RegisterRead {
                object,
                index: self.scalar(0)?,
            },
            ("register" | "Register", "write", 2) => {
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
                Operation::RegisterWrite {
                    object,
                    index,
                    value,
                }
            }
            ("Random", "read", 0) => Operation::RandomRead { object },
            ("Digest", "pack", 1) => {
                self.data(0)?;
                Operation::Digest {
                    object: Some(object),
                    name: Arc::clone(&self.program.objects[object.index()].name),
                    receiver: None,
                }
            }
            ("Hash", "get_hash", count @ (1 | 3)) => {
                let &Object::Hash(algorithm) = state else {
                    return None;
                };
                let range = if count == 3 {
                    Some((self.scalar(0)?, self.scalar(2)?))
                } else {
                    None
                };
                self.data(usize::from(count == 3))?;
                self.lead();
                Operation::Hash { algorithm, range }
            }
            ("Checksum16", "get", 1) => {
                self.data(0)?;
                Operation::Checksum16 { payload: false }
            }
            (_, _, count) => {
                let &Object::Checksum(state, algorithm) = state else {
                    return None;
                };
                match (kind, name, count) {
                    (_, "clear", 0) => Operation::ChecksumClear { state },
                    ("Checksum", "update", 1) => {
                        self.data(0)?;
                        Operation::ChecksumUpdate { state }
                    }
                    ("Checksum", "get", 0) => Operation::ChecksumGet { state, algorithm },
                    ("InternetChecksum", "add" | "subtract", 1) => {
                        self.data(0)?;
                        let subtract = name == "subtract";
                        Operation::InternetAdd { state, subtract }
                    }
                    ("InternetChecksum", "get" | "get_state", 0) => {
                        let complement = name == "get";
                        Operation::InternetGet { state, complement }
                    }
                    ("InternetChecksum", "set_state", 1) => Operation::InternetSet {
                        state,
                        value: self.scalar(0)?,
                    },
                    _ => return None,
                }
            }
        })
    }
}
