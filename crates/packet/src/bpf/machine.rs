//! The interpreter: a verified program in the form in which it runs.
//!
//! Jumps are to absolute places, and what nearly every instruction pair of a filter does - load from
//! the frame, compare with a constant - is one step.

use super::instruction::{Instruction, MEMORY, op};
use super::observed::Observed;
use alloc::vec::Vec;

/// Minimum length of a header in a chain, bytes: extension headers of IPv6, and authentication
/// headers.
const MIN_EXTENSION_LEN: usize = 8;

/// One step. Places are indices of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Word(u32),
    Half(u32),
    Byte(u32),
    /// Loads at the index register and this.
    IndexedWord(u32),
    IndexedHalf(u32),
    IndexedByte(u32),
    /// Loads a value that is not in the packet's bytes.
    Metadata(Metadata),
    Constant(u32),
    Length,
    Recall(u8),
    IndexConstant(u32),
    IndexLength,
    IndexRecall(u8),
    /// Four times the low half of a byte: the length of an IPv4 header.
    IndexHeader(u32),
    Store(u8),
    StoreIndex(u8),
    ToIndex,
    FromIndex,
    Negate,
    Arithmetic(Arithmetic, u32),
    ArithmeticIndex(Arithmetic),
    Jump(u16),
    Equal {
        k: u32,
        then: u16,
        otherwise: u16,
    },
    /// [`Step::Word`] and [`Step::Equal`] in one, and so on.
    WordEqual {
        at: u32,
        k: u32,
        then: u16,
        otherwise: u16,
    },
    HalfEqual {
        at: u32,
        k: u32,
        then: u16,
        otherwise: u16,
    },
    ByteEqual {
        at: u32,
        k: u32,
        then: u16,
        otherwise: u16,
    },
    Compare {
        how: Comparison,
        k: u32,
        then: u16,
        otherwise: u16,
    },
    CompareIndex {
        how: Comparison,
        then: u16,
        otherwise: u16,
    },
    Return(u32),
    ReturnAccumulator,
    /// What verification has let nobody write: no match.
    Nothing,
}

/// A value that is not in the packet's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Metadata {
    /// The kernel's packet type, from `PACKET_HOST` (0) to `PACKET_OUTGOING` (4).
    PacketType,
    /// The number of the interface.
    Interface,
    /// Another, which is not known here.
    Unknown,
}

impl Metadata {
    /// Value of a load at an offset beyond all packets: `SKF_AD_OFF` of Linux, and
    /// what is behind it.
    pub(super) fn at(offset: u32) -> Option<Metadata> {
        Some(match offset.checked_sub(0xFFFF_F000)? {
            4 => Metadata::PacketType,
            8 => Metadata::Interface,
            _ => Metadata::Unknown,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Or,
    And,
    Xor,
    ShiftLeft,
    ShiftRight,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Greater,
    NotLess,
    AnyBit,
}

/// Prepares verified instructions: as many steps, so that places stay what they are.
pub(super) fn prepare(instructions: &[Instruction]) -> Vec<Step> {
    let mut steps: Vec<_> = instructions
        .iter()
        .enumerate()
        .map(|(at, instruction)| step(at, instruction))
        .collect();
    // A load takes the comparison behind it along. Who jumps to the comparison still finds it.
    for at in 1..steps.len() {
        let Step::Equal { k, then, otherwise } = steps[at] else {
            continue;
        };
        steps[at - 1] = match steps[at - 1] {
            Step::Word(at) => Step::WordEqual {
                at,
                k,
                then,
                otherwise,
            },
            Step::Half(at) => Step::HalfEqual {
                at,
                k,
                then,
                otherwise,
            },
            Step::Byte(at) => Step::ByteEqual {
                at,
                k,
                then,
                otherwise,
            },
            other => other,
        };
    }
    steps
}

fn step(at: usize, &Instruction { code, jt, jf, k }: &Instruction) -> Step {
    // A verified program has at most 4096 instructions and jumps only inside, forward or back.
    let place = |skip: u32| (at as u32 + 1).wrapping_add(skip) as u16;
    let (then, otherwise) = (place(jt.into()), place(jf.into()));
    let word = (k as usize % MEMORY) as u8;
    let compare = |how| Step::Compare {
        how,
        k,
        then,
        otherwise,
    };
    let compare_index = |how| Step::CompareIndex {
        how,
        then,
        otherwise,
    };
    // libpcap writes it as an offset from a header of variable length, too, such as radiotap's; it
    // is that of no byte.
    if let (
        op::LD_ABS_W | op::LD_ABS_H | op::LD_ABS_B | op::LD_IND_W | op::LD_IND_H | op::LD_IND_B,
        Some(metadata),
    ) = (code, Metadata::at(k))
    {
        return Step::Metadata(metadata);
    }
    match code {
        op::LD_ABS_W => Step::Word(k),
        op::LD_ABS_H => Step::Half(k),
        op::LD_ABS_B => Step::Byte(k),
        op::LD_IND_W => Step::IndexedWord(k),
        op::LD_IND_H => Step::IndexedHalf(k),
        op::LD_IND_B => Step::IndexedByte(k),
        op::LD_IMM => Step::Constant(k),
        op::LD_LEN => Step::Length,
        op::LD_MEM => Step::Recall(word),
        op::LDX_IMM => Step::IndexConstant(k),
        op::LDX_LEN => Step::IndexLength,
        op::LDX_MEM => Step::IndexRecall(word),
        op::LDX_MSH => Step::IndexHeader(k),
        op::ST => Step::Store(word),
        op::STX => Step::StoreIndex(word),
        op::TAX => Step::ToIndex,
        op::TXA => Step::FromIndex,
        op::NEG => Step::Negate,
        op::JMP => Step::Jump(place(k)),
        op::JEQ_K => Step::Equal { k, then, otherwise },
        op::JGT_K => compare(Comparison::Greater),
        op::JGE_K => compare(Comparison::NotLess),
        op::JSET_K => compare(Comparison::AnyBit),
        op::JEQ_X => compare_index(Comparison::Equal),
        op::JGT_X => compare_index(Comparison::Greater),
        op::JGE_X => compare_index(Comparison::NotLess),
        op::JSET_X => compare_index(Comparison::AnyBit),
        op::RET_K => Step::Return(k),
        op::RET_A => Step::ReturnAccumulator,
        _ => match arithmetic(code & !op::BY_X) {
            Some(how) if code & op::BY_X != 0 => Step::ArithmeticIndex(how),
            Some(how) => Step::Arithmetic(how, k),
            None => Step::Nothing,
        },
    }
}

fn arithmetic(code: u16) -> Option<Arithmetic> {
    Some(match code {
        op::ADD => Arithmetic::Add,
        op::SUB => Arithmetic::Subtract,
        op::MUL => Arithmetic::Multiply,
        op::DIV => Arithmetic::Divide,
        op::MOD => Arithmetic::Modulo,
        op::OR => Arithmetic::Or,
        op::AND => Arithmetic::And,
        op::XOR => Arithmetic::Xor,
        op::LSH => Arithmetic::ShiftLeft,
        op::RSH => Arithmetic::ShiftRight,
        _ => return None,
    })
}

/// Runs prepared steps. `None` for what ends a program early: a read beyond the packet, a division
/// by zero, a value that is not known of it, more turns of a loop than a chain of headers has.
pub(super) fn run(steps: &[Step], packet: &Observed<'_>) -> Option<u32> {
    let frame = packet.bytes;
    let (mut a, mut x, mut memory) = (0u32, 0u32, [0u32; MEMORY]);
    let mut place = 0;
    // Each turn of a loop passes over a header, of which none is shorter.
    let mut turns = frame.len() / MIN_EXTENSION_LEN + 1;
    // Places grow but for these turns, so this ends; they stay inside, or `get` ends it.
    loop {
        let branch = |holds: bool, then: u16, otherwise: u16| {
            usize::from(if holds { then } else { otherwise })
        };
        let step = *steps.get(place)?;
        place += 1;
        match step {
            Step::Word(at) => a = word(frame, at)?,
            Step::Half(at) => a = half(frame, at)?,
            Step::Byte(at) => a = byte(frame, at)?,
            Step::IndexedWord(at) => a = word(frame, x.checked_add(at)?)?,
            Step::IndexedHalf(at) => a = half(frame, x.checked_add(at)?)?,
            Step::IndexedByte(at) => a = byte(frame, x.checked_add(at)?)?,
            Step::Constant(k) => a = k,
            Step::Metadata(Metadata::PacketType) => a = packet.packet_type?.into(),
            Step::Metadata(Metadata::Interface) => a = packet.interface?,
            Step::Metadata(Metadata::Unknown) => return None,
            Step::Length => a = packet.length,
            Step::Recall(word) => a = memory[usize::from(word) % MEMORY],
            Step::IndexConstant(k) => x = k,
            Step::IndexLength => x = packet.length,
            Step::IndexRecall(word) => x = memory[usize::from(word) % MEMORY],
            Step::IndexHeader(at) => x = (byte(frame, at)? & 15) * 4,
            Step::Store(word) => memory[usize::from(word) % MEMORY] = a,
            Step::StoreIndex(word) => memory[usize::from(word) % MEMORY] = x,
            Step::ToIndex => x = a,
            Step::FromIndex => a = x,
            Step::Negate => a = a.wrapping_neg(),
            Step::Arithmetic(how, k) => a = calculate(how, a, k)?,
            Step::ArithmeticIndex(how) => a = calculate(how, a, x)?,
            Step::Jump(to) => {
                if usize::from(to) < place {
                    turns = turns.checked_sub(1)?;
                }
                place = to.into();
            }
            Step::Equal { k, then, otherwise } => place = branch(a == k, then, otherwise),
            Step::WordEqual {
                at,
                k,
                then,
                otherwise,
            } => {
                a = word(frame, at)?;
                place = branch(a == k, then, otherwise);
            }
            Step::HalfEqual {
                at,
                k,
                then,
                otherwise,
            } => {
                a = half(frame, at)?;
                place = branch(a == k, then, otherwise);
            }
            Step::ByteEqual {
                at,
                k,
                then,
                otherwise,
            } => {
                a = byte(frame, at)?;
                place = branch(a == k, then, otherwise);
            }
            Step::Compare {
                how,
                k,
                then,
                otherwise,
            } => {
                place = branch(compare(how, a, k), then, otherwise);
            }
            Step::CompareIndex {
                how,
                then,
                otherwise,
            } => {
                place = branch(compare(how, a, x), then, otherwise);
            }
            Step::Return(k) => return Some(k),
            Step::ReturnAccumulator => return Some(a),
            Step::Nothing => return None,
        }
    }
}

fn calculate(how: Arithmetic, a: u32, by: u32) -> Option<u32> {
    Some(match how {
        Arithmetic::Add => a.wrapping_add(by),
        Arithmetic::Subtract => a.wrapping_sub(by),
        Arithmetic::Multiply => a.wrapping_mul(by),
        Arithmetic::Divide => a.checked_div(by)?,
        Arithmetic::Modulo => a.checked_rem(by)?,
        Arithmetic::Or => a | by,
        Arithmetic::And => a & by,
        Arithmetic::Xor => a ^ by,
        Arithmetic::ShiftLeft => a.checked_shl(by).unwrap_or(0),
        Arithmetic::ShiftRight => a.checked_shr(by).unwrap_or(0),
    })
}

fn compare(how: Comparison, a: u32, with: u32) -> bool {
    match how {
        Comparison::Equal => a == with,
        Comparison::Greater => a > with,
        Comparison::NotLess => a >= with,
        Comparison::AnyBit => a & with != 0,
    }
}

fn byte(frame: &[u8], at: u32) -> Option<u32> {
    frame.get(at as usize).map(|&byte| byte.into())
}

fn half(frame: &[u8], at: u32) -> Option<u32> {
    let bytes = frame.get(at as usize..)?.first_chunk()?;
    Some(u16::from_be_bytes(*bytes).into())
}

fn word(frame: &[u8], at: u32) -> Option<u32> {
    let bytes = frame.get(at as usize..)?.first_chunk()?;
    Some(u32::from_be_bytes(*bytes))
}
