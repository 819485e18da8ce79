//! Instructions of the filter machine.

/// Words of scratch memory.
pub(super) const MEMORY: usize = 16;

/// One instruction, with the fields of `struct bpf_insn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// What it does.
    pub code: u16,
    /// Instructions to skip if a condition holds.
    pub jt: u8,
    /// Instructions to skip if it does not.
    pub jf: u8,
    /// Its constant: an offset, an operand, a distance or a result.
    pub k: u32,
}

/// The codes of instructions, as BSD numbers them.
pub(super) mod op {
    pub const LD_IMM: u16 = 0x00;
    pub const LD_ABS_W: u16 = 0x20;
    pub const LD_ABS_H: u16 = 0x28;
    pub const LD_ABS_B: u16 = 0x30;
    pub const LD_IND_W: u16 = 0x40;
    pub const LD_IND_H: u16 = 0x48;
    pub const LD_IND_B: u16 = 0x50;
    pub const LD_MEM: u16 = 0x60;
    pub const LD_LEN: u16 = 0x80;
    pub const LDX_IMM: u16 = 0x01;
    pub const LDX_MEM: u16 = 0x61;
    pub const LDX_LEN: u16 = 0x81;
    /// Four times the low half of a byte: the length of an IPv4 header.
    pub const LDX_MSH: u16 = 0xB1;
    pub const ST: u16 = 0x02;
    pub const STX: u16 = 0x03;
    /// In arithmetic: the operand is the index register, not the constant.
    pub const BY_X: u16 = 0x08;
    pub const ADD: u16 = 0x04;
    pub const SUB: u16 = 0x14;
    pub const MUL: u16 = 0x24;
    pub const DIV: u16 = 0x34;
    pub const OR: u16 = 0x44;
    pub const AND: u16 = 0x54;
    pub const LSH: u16 = 0x64;
    pub const RSH: u16 = 0x74;
    pub const NEG: u16 = 0x84;
    pub const MOD: u16 = 0x94;
    pub const XOR: u16 = 0xA4;
    pub const JMP: u16 = 0x05;
    pub const JEQ_K: u16 = 0x15;
    pub const JGT_K: u16 = 0x25;
    pub const JGE_K: u16 = 0x35;
    pub const JSET_K: u16 = 0x45;
    pub const JEQ_X: u16 = 0x1D;
    pub const JGT_X: u16 = 0x2D;
    pub const JGE_X: u16 = 0x3D;
    pub const JSET_X: u16 = 0x4D;
    pub const RET_K: u16 = 0x06;
    pub const RET_A: u16 = 0x16;
    pub const TAX: u16 = 0x07;
    pub const TXA: u16 = 0x87;
}
