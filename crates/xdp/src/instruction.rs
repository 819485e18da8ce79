//! Instructions of eBPF (RFC 9669), and an assembler with labels.

use core::fmt;

/// A register. `R1` to `R5` are those of calls' arguments, `R0` of their result; calls keep `R6` to `R9`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Register(pub(crate) u8);

pub(crate) const R0: Register = Register(0);
pub(crate) const R1: Register = Register(1);
pub(crate) const R2: Register = Register(2);
pub(crate) const R3: Register = Register(3);
pub(crate) const R4: Register = Register(4);
pub(crate) const R5: Register = Register(5);
pub(crate) const R6: Register = Register(6);
pub(crate) const R7: Register = Register(7);
pub(crate) const R8: Register = Register(8);
pub(crate) const R9: Register = Register(9);
pub(crate) const R10: Register = Register(10);

/// One instruction, `struct bpf_insn`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    code: u8,
    target: u8,
    source: u8,
    offset: i16,
    value: i32,
}

impl Instruction {
    /// As the kernel takes it, in the machine's order of bytes.
    #[must_use]
    pub fn word(self) -> u64 {
        u64::from(self.code)
            | u64::from(self.target | self.source << 4) << 8
            | u64::from(self.offset as u16) << 16
            | u64::from(self.value as u32) << 32
    }
}

/// An operation on 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alu {
    Add = 0x00,
    Subtract = 0x10,
    Multiply = 0x20,
    Divide = 0x30,
    Or = 0x40,
    And = 0x50,
    ShiftLeft = 0x60,
    ShiftRight = 0x70,
    Negate = 0x80,
    Modulo = 0x90,
    Xor = 0xA0,
    Move = 0xB0,
    ShiftRightSigned = 0xC0,
}

/// A comparison of two numbers of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Equal = 0x10,
    Greater = 0x20,
    GreaterEqual = 0x30,
    NotEqual = 0x50,
    Less = 0xA0,
    LessEqual = 0xB0,
    SignedGreater = 0x60,
    SignedGreaterEqual = 0x70,
    SignedLess = 0xC0,
    SignedLessEqual = 0xD0,
}

/// How much is loaded or stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    B1 = 0x10,
    B2 = 0x08,
    B4 = 0x00,
    B8 = 0x18,
}

impl Size {
    /// Of so many bytes.
    pub(crate) fn of(bytes: u32) -> Self {
        match bytes {
            1 => Size::B1,
            2 => Size::B2,
            4 => Size::B4,
            _ => Size::B8,
        }
    }
}

/// The right side of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    Register(Register),
    /// Extended by its sign.
    Number(i32),
}

impl From<Register> for Operand {
    fn from(register: Register) -> Self {
        Operand::Register(register)
    }
}

impl From<i32> for Operand {
    fn from(number: i32) -> Self {
        Operand::Number(number)
    }
}

/// A place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Label(usize);

/// Puts instructions one behind the other.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    code: Vec<Instruction>,
    /// Where each stands, and whether something jumps there.
    labels: Vec<(Option<usize>, bool)>,
    jumps: Vec<(usize, Label)>,
    /// Where a map's number stands, in place of its descriptor.
    maps: Vec<usize>,
}

/// A jump is too far for its 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooFar;

impl Assembler {
    pub(crate) fn len(&self) -> usize {
        self.code.len()
    }

    fn push(&mut self, code: u8, target: Register, source: u8, offset: i16, value: i32) {
        self.code.push(Instruction {
            code,
            target: target.0,
            source,
            offset,
            value,
        });
    }

    pub(crate) fn label(&mut self) -> Label {
        self.labels.push((None, false));
        Label(self.labels.len() - 1)
    }

    /// Here is the label.
    pub(crate) fn bind(&mut self, label: Label) {
        debug_assert!(self.labels[label.0].0.is_none(), "a label stands once");
        self.labels[label.0].0 = Some(self.code.len());
    }

    /// Whether something jumps there.
    pub(crate) fn is_used(&self, label: Label) -> bool {
        self.labels[label.0].1
    }

    pub(crate) fn alu(&mut self, operation: Alu, target: Register, operand: impl Into<Operand>) {
        match operand.into() {
            Operand::Register(source) => {
                self.push(0x0F | operation as u8, target, source.0, 0, 0);
            }
            Operand::Number(value) => self.push(0x07 | operation as u8, target, 0, 0, value),
        }
    }

    pub(crate) fn negate(&mut self, target: Register) {
        self.push(0x07 | Alu::Negate as u8, target, 0, 0, 0);
    }

    /// Any number of 64 bits.
    pub(crate) fn number(&mut self, target: Register, value: u64) {
        if let Ok(small) = i32::try_from(value as i64) {
            self.alu(Alu::Move, target, small);
        } else if let Ok(word) = u32::try_from(value) {
            // On 32 bits: the upper half becomes zero.
            self.push(0xB4, target, 0, 0, word as i32);
        } else {
            self.push(0x18, target, 0, 0, value as u32 as i32);
            self.push(0, R0, 0, 0, (value >> 32) as i32);
        }
    }

    /// Leaves the low 32 bits.
    pub(crate) fn low_half(&mut self, register: Register) {
        self.push(0xBC, register, register.0, 0, 0);
    }

    /// From network order to numbers, or back; above so many bits it leaves zero.
    pub(crate) fn big_endian(&mut self, register: Register, bits: i32) {
        self.push(0xDC, register, 0, 0, bits);
    }

    pub(crate) fn load(&mut self, size: Size, target: Register, from: Register, offset: i32) {
        self.push(0x61 | size as u8, target, from.0, offset as i16, 0);
    }

    pub(crate) fn store(&mut self, size: Size, to: Register, offset: i32, source: Register) {
        self.push(0x63 | size as u8, to, source.0, offset as i16, 0);
    }

    pub(crate) fn store_number(&mut self, size: Size, to: Register, offset: i32, value: i32) {
        self.push(0x62 | size as u8, to, 0, offset as i16, value);
    }

    /// Adds to 64 bits in memory, as one step among all processors.
    pub(crate) fn add_atomic(&mut self, to: Register, offset: i32, source: Register) {
        self.push(0xDB, to, source.0, offset as i16, 0);
    }

    /// The same; the register gets the previous value.
    pub(crate) fn fetch_add_atomic(&mut self, to: Register, offset: i32, source: Register) {
        self.push(0xDB, to, source.0, offset as i16, 1);
    }

    fn jumps_to(&mut self, to: Label) {
        self.labels[to.0].1 = true;
        self.jumps.push((self.code.len(), to));
    }

    pub(crate) fn jump(&mut self, to: Label) {
        self.jumps_to(to);
        self.push(0x05, R0, 0, 0, 0);
    }

    pub(crate) fn jump_if(
        &mut self,
        compare: Compare,
        left: Register,
        right: impl Into<Operand>,
        to: Label,
    ) {
        self.jumps_to(to);
        match right.into() {
            Operand::Register(right) => self.push(0x0D | compare as u8, left, right.0, 0, 0),
            Operand::Number(value) => self.push(0x05 | compare as u8, left, 0, 0, value),
        }
    }

    /// A map, to be given to a helper.
    pub(crate) fn map(&mut self, target: Register, map: usize) {
        self.maps.push(self.code.len());
        // BPF_PSEUDO_MAP_FD.
        self.push(0x18, target, 1, 0, map as i32);
        self.push(0, R0, 0, 0, 0);
    }

    /// The address of the first value of an array, from so many bytes on.
    pub(crate) fn map_value(&mut self, target: Register, map: usize, offset: i32) {
        self.maps.push(self.code.len());
        // BPF_PSEUDO_MAP_VALUE.
        self.push(0x18, target, 2, 0, map as i32);
        self.push(0, R0, 0, 0, offset);
    }

    /// A helper of the kernel, by its number.
    pub(crate) fn call(&mut self, helper: i32) {
        self.push(0x85, R0, 0, 0, helper);
    }

    pub(crate) fn exit(&mut self) {
        self.push(0x95, R0, 0, 0, 0);
    }

    /// The instructions, and which of them name a map by its number.
    pub(crate) fn finish(mut self) -> Result<(Vec<Instruction>, Vec<usize>), TooFar> {
        for (at, label) in self.jumps {
            let to = self.labels[label.0]
                .0
                .expect("each label that is used stands somewhere");
            let distance = to as i64 - at as i64 - 1;
            self.code[at].offset = i16::try_from(distance).map_err(|_| TooFar)?;
        }
        Ok((self.code, self.maps))
    }
}

/// Replaces the number of a map by its descriptor.
pub(crate) fn relocate(instruction: &mut Instruction, descriptor: impl Fn(usize) -> i32) {
    instruction.value = descriptor(instruction.value as usize);
}

impl fmt::Debug for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// As LLVM and `bpftool` write it.
impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SIGNS: [&str; 14] = [
            "+=", "-=", "*=", "/=", "|=", "&=", "<<=", ">>=", "", "%=", "^=", "=", "s>>=", "",
        ];
        const COMPARISONS: [&str; 14] = [
            "", "==", ">", ">=", "&", "!=", "s>", "s>=", "call", "exit", "<", "<=", "s<", "s<=",
        ];
        let Instruction {
            code,
            target,
            source,
            offset,
            value,
        } = *self;
        let kind = usize::from(code >> 4);
        let size = match code & 0x18 {
            0x00 => 32,
            0x08 => 16,
            0x10 => 8,
            _ => 64,
        };
        match (code & 0x07, code) {
            (_, 0x18) if source == 1 => write!(f, "r{target} = map {value}"),
            (_, 0x18) if source == 2 => write!(f, "r{target} = value of map {value}"),
            (_, 0x18) => write!(f, "r{target} = {:#x} ll", value as u32),
            (_, 0) => write!(f, "    {value:#x}"),
            (_, 0x85) => write!(f, "call {value}"),
            (_, 0x95) => f.write_str("exit"),
            (_, 0x05) => write!(f, "goto {offset:+}"),
            (_, 0xDC) => write!(f, "r{target} = be{value} r{target}"),
            (_, 0x87) => write!(f, "r{target} = -r{target}"),
            (_, 0xDB) if value == 1 => write!(
                f,
                "r{source} = atomic_fetch_add((u64 *)(r{target} {offset:+}), r{source})"
            ),
            (_, 0xDB) => write!(f, "lock *(u64 *)(r{target} {offset:+}) += r{source}"),
            (1, _) => write!(f, "r{target} = *(u{size} *)(r{source} {offset:+})"),
            (2, _) => write!(f, "*(u{size} *)(r{target} {offset:+}) = {value}"),
            (3, _) => write!(f, "*(u{size} *)(r{target} {offset:+}) = r{source}"),
            (5, _) => {
                let sign = COMPARISONS.get(kind).copied().unwrap_or("?");
                match code & 0x08 {
                    0 => write!(f, "if r{target} {sign} {value} goto {offset:+}"),
                    _ => write!(f, "if r{target} {sign} r{source} goto {offset:+}"),
                }
            }
            (class, _) => {
                let sign = SIGNS.get(kind).copied().unwrap_or("?");
                let letter = if class == 4 { 'w' } else { 'r' };
                match code & 0x08 {
                    0 => write!(f, "{letter}{target} {sign} {value}"),
                    _ => write!(f, "{letter}{target} {sign} {letter}{source}"),
                }
            }
        }
    }
}
