//! Classic BPF instructions, as filter compilers give them and filters run them.

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
