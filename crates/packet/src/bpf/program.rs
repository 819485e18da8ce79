//! What makes instructions a program.

use super::instruction::{Instruction, MEMORY, op};
use super::machine::{self, Metadata, Step};
use super::observed::Observed;
use alloc::vec;
use alloc::vec::Vec;
use core::str::FromStr;

/// Maximum number of instructions of a program, the same as in the BSD and Linux kernels.
pub const MAX_INSTRUCTIONS: usize = 4096;

/// Why instructions are no program. Instructions are counted from 0, as in `tcpdump -d`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// None, or too many.
    #[error("a filter program has 1 to 4096 instructions, not {0}")]
    Length(usize),
    /// No such instruction.
    #[error("instruction {at}: there is no operation {code:#04x}")]
    Unknown {
        /// Index of the instruction.
        at: usize,
        /// Its code.
        code: u16,
    },
    /// A jump that leaves the program.
    #[error("instruction {at} jumps out of the program")]
    Jump {
        /// Index of the instruction.
        at: usize,
    },
    /// The last instruction lets the program run on.
    #[error("the last instruction must be a return")]
    NoReturn,
    /// A scratch word that does not exist, a division by zero, a shift by more than 31.
    #[error("instruction {at}: its constant must be {allowed}, not {k}")]
    Constant {
        /// Index of the instruction.
        at: usize,
        /// What it may be.
        allowed: &'static str,
        /// What it is.
        k: u32,
    },
    /// A text that is not what `tcpdump -ddd` prints.
    #[error("line {line} of the program: wanted {wanted}, as `tcpdump -ddd EXPRESSION` prints it")]
    Text {
        /// Which line, from 1.
        line: usize,
        /// What should stand there.
        wanted: &'static str,
    },
}

/// Instructions that have been verified: they read nothing that is not there, and end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    instructions: Vec<Instruction>,
    steps: Vec<Step>,
}

impl Program {
    /// A program that matches every frame.
    pub fn everything() -> Program {
        let all = Instruction {
            code: op::RET_K,
            jt: 0,
            jf: 0,
            k: u32::MAX,
        };
        Program {
            instructions: vec![all],
            steps: machine::prepare(&[all]),
        }
    }

    /// Verifies instructions.
    ///
    /// # Errors
    /// The first thing that is wrong with them.
    pub fn new(instructions: Vec<Instruction>) -> Result<Program, ProgramError> {
        let len = instructions.len();
        if !(1..=MAX_INSTRUCTIONS).contains(&len) {
            return Err(ProgramError::Length(len));
        }
        for (at, instruction) in instructions.iter().enumerate() {
            verify(at, instruction, len)?;
        }
        match instructions[len - 1].code {
            op::RET_K | op::RET_A => Ok(Program {
                steps: machine::prepare(&instructions),
                instructions,
            }),
            _ => Err(ProgramError::NoReturn),
        }
    }

    /// The instructions.
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// Runs the program on a whole frame, of which nothing else is known. 0 means no match; a match
    /// gives how many bytes to keep.
    ///
    /// A read beyond the end of the frame, or a division by an index of zero, is no match.
    pub fn run(&self, frame: &[u8]) -> u32 {
        self.run_on(&Observed::whole(frame))
    }

    /// Runs the program on a packet as it was observed. The result is that of
    /// [`run`](Program::run).
    ///
    /// A read of what is not known of the packet is no match: see
    /// [`reads_direction`](Program::reads_direction) and
    /// [`reads_interface`](Program::reads_interface). A loop, which libpcap makes for `protochain`
    /// alone, ends without a match after as many turns as the packet has room for headers.
    pub fn run_on(&self, packet: &Observed<'_>) -> u32 {
        machine::run(&self.steps, packet).unwrap_or(0)
    }

    /// Whether it reads the kernel's packet type, as libpcap compiles `inbound` and `outbound`.
    pub fn reads_direction(&self) -> bool {
        self.reads(Metadata::PacketType)
    }

    /// Whether it reads the number of the interface, as libpcap compiles `ifindex`.
    pub fn reads_interface(&self) -> bool {
        self.reads(Metadata::Interface)
    }

    /// Whether it jumps back, as libpcap compiles `protochain`. The kernel takes no such program.
    pub fn has_loops(&self) -> bool {
        let jumps = self.instructions.iter();
        jumps
            .filter(|instruction| instruction.code == op::JMP)
            .any(|instruction| instruction.k.cast_signed() < 0)
    }

    fn reads(&self, metadata: Metadata) -> bool {
        self.steps.contains(&Step::Metadata(metadata))
    }
}

fn verify(at: usize, instruction: &Instruction, len: usize) -> Result<(), ProgramError> {
    let Instruction { code, jt, jf, k } = *instruction;
    // Instructions behind this one; a jump over all of them would leave the program.
    let behind = len - 1 - at;
    let constant = |allowed| Err(ProgramError::Constant { at, allowed, k });
    match code {
        op::LD_ABS_W
        | op::LD_ABS_H
        | op::LD_ABS_B
        | op::LD_IND_W
        | op::LD_IND_H
        | op::LD_IND_B
        | op::LD_LEN
        | op::LD_IMM
        | op::LDX_IMM
        | op::LDX_LEN
        | op::LDX_MSH
        | op::TAX
        | op::TXA
        | op::NEG
        | op::RET_K
        | op::RET_A => Ok(()),
        op::LD_MEM | op::LDX_MEM | op::ST | op::STX if k as usize >= MEMORY => {
            constant("a word of memory, 0 to 15")
        }
        op::LD_MEM | op::LDX_MEM | op::ST | op::STX => Ok(()),
        // From the instruction behind this one, forward or back.
        op::JMP => match (at + 1).checked_add_signed(k.cast_signed() as isize) {
            Some(to) if to < len => Ok(()),
            _ => Err(ProgramError::Jump { at }),
        },
        op::JEQ_K
        | op::JGT_K
        | op::JGE_K
        | op::JSET_K
        | op::JEQ_X
        | op::JGT_X
        | op::JGE_X
        | op::JSET_X => {
            if usize::from(jt.max(jf)) >= behind {
                return Err(ProgramError::Jump { at });
            }
            Ok(())
        }
        op::DIV | op::MOD if k == 0 => constant("1 or more"),
        op::LSH | op::RSH if k > 31 => constant("0 to 31"),
        _ => match code & !op::BY_X {
            op::ADD
            | op::SUB
            | op::MUL
            | op::DIV
            | op::MOD
            | op::OR
            | op::AND
            | op::XOR
            | op::LSH
            | op::RSH => Ok(()),
            _ => Err(ProgramError::Unknown { at, code }),
        },
    }
}

impl FromStr for Program {
    type Err = ProgramError;

    /// Reads what `tcpdump -ddd` prints: how many instructions, and on each further line code, jt, jf
    /// and k of one, in decimal.
    fn from_str(text: &str) -> Result<Program, ProgramError> {
        let mut lines = text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty());
        let wrong = |line: usize, wanted| ProgramError::Text {
            line: line + 1,
            wanted,
        };
        let (first, count) = lines.next().ok_or(wrong(0, "the number of instructions"))?;
        let count: usize = count
            .trim()
            .parse()
            .map_err(|_| wrong(first, "the number of instructions"))?;
        let mut instructions = Vec::new();
        for (line, text) in lines {
            if instructions.len() >= count.min(MAX_INSTRUCTIONS) {
                return Err(wrong(line, "no more instructions than the first line says"));
            }
            let mut numbers = text
                .split_whitespace()
                .map(|number| number.parse::<u32>().ok());
            let mut number = || numbers.next().flatten();
            let instruction = (|| {
                Some(Instruction {
                    code: number()?.try_into().ok()?,
                    jt: number()?.try_into().ok()?,
                    jf: number()?.try_into().ok()?,
                    k: number()?,
                })
            })();
            match instruction.filter(|_| numbers.next().is_none()) {
                Some(instruction) => instructions.push(instruction),
                None => return Err(wrong(line, "four numbers: code, jt, jf and k")),
            }
        }
        if instructions.len() != count {
            return Err(wrong(first, "the number of the instructions that follow"));
        }
        Program::new(instructions)
    }
}

#[cfg(test)]
mod tests;
