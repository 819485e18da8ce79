//! Instructions (1.3.5 section 7.2.4). The actions of a flow-mod of 1.0 are one apply-actions.

use crate::action::{self, Action};
use crate::bytes::{Put, Reader};
use crate::fault::Fault;
use crate::list::{Element, List};
use crate::version::{Unsupported, Version};
use alloc::vec::Vec;

/// What an entry does with a packet that it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction<'a> {
    /// Go on in this table: a later one.
    GotoTable(u8),
    /// Set the metadata's bits under a mask.
    WriteMetadata {
        /// The bits.
        metadata: u64,
        /// Which of them.
        mask: u64,
    },
    /// Add to the action set.
    WriteActions(List<'a, Action<'a>>),
    /// Do now, in order.
    ApplyActions(List<'a, Action<'a>>),
    /// Empty the action set.
    ClearActions,
    /// Pass through a meter first.
    Meter(u32),
    /// An experimenter's.
    Experimenter {
        /// Whose.
        experimenter: u32,
        /// What follows, with its padding.
        data: &'a [u8],
    },
}

impl Instruction<'_> {
    /// The number of its type in 1.3.
    pub const fn kind(&self) -> u16 {
        match self {
            Instruction::GotoTable(_) => 1,
            Instruction::WriteMetadata { .. } => 2,
            Instruction::WriteActions(_) => 3,
            Instruction::ApplyActions(_) => 4,
            Instruction::ClearActions => 5,
            Instruction::Meter(_) => 6,
            Instruction::Experimenter { .. } => 0xffff,
        }
    }
}

/// As [`action::check`], for the actions in them.
pub(crate) fn check<'a>(instructions: List<'a, Instruction<'a>>) -> Result<(), Fault> {
    instructions
        .iter()
        .try_for_each(|instruction| match instruction {
            Instruction::WriteActions(actions) | Instruction::ApplyActions(actions) => {
                action::check(actions)
            }
            _ => Ok(()),
        })
}

impl<'a> Element<'a> for Instruction<'a> {
    const SHORT: Fault = Fault::BadInstructionLen;

    fn read(version: Version, reader: &mut Reader<'a>) -> Result<Self, Fault> {
        if version == Version::V10 {
            let actions = List::from_wire(version, reader.take_rest())?;
            return Ok(Instruction::ApplyActions(actions));
        }
        let (kind, mut body) = reader.element(8, Fault::BadInstructionLen)?;
        let actions = |body: &mut Reader<'a>| {
            body.skip(4)?;
            List::from_wire(version, body.take_rest())
        };
        let instruction = match kind {
            1 => {
                let table = body.u8()?;
                body.skip(3)?;
                Instruction::GotoTable(table)
            }
            2 => {
                body.skip(4)?;
                Instruction::WriteMetadata {
                    metadata: body.u64()?,
                    mask: body.u64()?,
                }
            }
            3 => Instruction::WriteActions(actions(&mut body)?),
            4 => Instruction::ApplyActions(actions(&mut body)?),
            5 => {
                body.skip(4)?;
                Instruction::ClearActions
            }
            6 => Instruction::Meter(body.u32()?),
            0xffff => Instruction::Experimenter {
                experimenter: body.u32()?,
                data: body.take_rest(),
            },
            _ => return Err(Fault::UnknownInstruction),
        };
        body.end()?;
        Ok(instruction)
    }

    fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        if version == Version::V10 {
            return match self {
                Instruction::ApplyActions(actions) => actions.write(version, out),
                _ => Err(Unsupported::new(
                    version,
                    "an instruction other than apply-actions",
                )),
            };
        }
        let start = out.len();
        out.u16(self.kind());
        out.u16(0);
        match *self {
            Instruction::GotoTable(table) => {
                out.u8(table);
                out.zeros(3);
            }
            Instruction::WriteMetadata { metadata, mask } => {
                out.zeros(4);
                out.u64(metadata);
                out.u64(mask);
            }
            Instruction::WriteActions(actions) | Instruction::ApplyActions(actions) => {
                out.zeros(4);
                actions.write(version, out)?;
            }
            Instruction::ClearActions => out.zeros(4),
            Instruction::Meter(meter) => out.u32(meter),
            Instruction::Experimenter { experimenter, data } => {
                out.u32(experimenter);
                out.extend_from_slice(data);
            }
        }
        out.patch(start + 2, start);
        Ok(())
    }

    fn check_all(list: List<'a, Self>) -> Result<(), Fault> {
        let mut seen = 0_u8;
        for instruction in list {
            let bit = match instruction {
                Instruction::Experimenter { .. } => 0,
                instruction => 1 << instruction.kind(),
            };
            if seen & bit != 0 {
                return Err(Fault::DuplicateInstruction);
            }
            seen |= bit;
        }
        Ok(())
    }

    fn write_all(
        list: List<'a, Self>,
        version: Version,
        out: &mut Vec<u8>,
    ) -> Result<(), Unsupported> {
        // Two lists of actions would run into one.
        if version == Version::V10 && list.iter().nth(1).is_some() {
            return Err(Unsupported::new(version, "two instructions"));
        }
        list.iter()
            .try_for_each(|instruction| instruction.write(version, out))
    }
}
