//! Hashes and checksums.

use crate::frame::{KEY, KEY_BYTES};
use crate::instruction::{Alu, Compare, R1, R2, R3, R4, R5, R7, R8, Size};
use crate::maps::Purpose;
use crate::unit::{Fault, Unit};
use p4::ir::Ty;
use pipeline::externs::hash::{Algorithm, CRC16, CRC32, Crc};
use pipeline::externs::{Call, Item};
use pipeline::layout::limbs;

/// Values in the frame with their widths, varbits with their largest, and where it stands whether they are there.
type Pieces = (Vec<(i32, u32)>, Vec<(i32, u32)>, Option<i32>);

/// What is made of numbers of 16 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sixteen {
    Xor,
    /// The complement of their sum.
    Sum,
    /// The complement of the sum of their complements.
    Less,
}

impl Unit<'_> {
    /// The hash of a call's items in `R1`.
    pub(crate) fn hash(&mut self, call: &Call, algorithm: Algorithm) -> Result<(), Fault> {
        let (pieces, varbits, valid) = self.pieces(call, algorithm == Algorithm::Checksum16)?;
        let end = self.a.label();
        if let Some(valid) = valid {
            // Nothing at all of a header that is not there.
            let there = self.a.label();
            self.a.load(Size::B8, R1, R7, valid);
            self.a.jump_if(Compare::NotEqual, R1, 0, there);
            let empty = pipeline::externs::hash::Tables::default().hash(algorithm, &[], || 0);
            self.a.number(R1, empty);
            self.a.jump(end);
            self.a.bind(there);
        }
        self.hash_of(algorithm, &pieces, &varbits)?;
        self.a.bind(end);
        Ok(())
    }

    /// The items of a call in the frame: those of a fixed width, varbits, and whether they are there at all, if that is not certain.
    fn pieces(&mut self, call: &Call, is_sum: bool) -> Result<Pieces, Fault> {
        let first = call.items.first().and_then(|item| item.valid);
        // The Internet checksum is a sum, in which the options' place does not matter, if they are whole words.
        let mut bits = 0;
        let mut whole = |item: &Item| {
            let ty = call.inputs[item.input].ty;
            let varbit = matches!(ty, Ty::Varbit(_));
            bits += if varbit { 0 } else { ty.width() };
            item.valid == first && (!varbit || is_sum && bits.is_multiple_of(16))
        };
        if !call.items.iter().all(&mut whole) {
            return Err(self.fault(
                "a hash over data of variable length (a varbit, headers that may not be there) is not supported in the kernel",
            ));
        }
        let (mut pieces, mut varbits) = (Vec::new(), Vec::new());
        for item in &call.items {
            let place = self.input(call, item.input)?;
            match call.inputs[item.input].ty {
                Ty::Varbit(most) => varbits.push((place, most)),
                ty => pieces.push((place, ty.width())),
            }
        }
        let valid = first.map(|valid| self.input(call, valid)).transpose()?;
        Ok((pieces, varbits, valid))
    }

    /// Adds the items of a call to an Internet checksum, or takes them away from it.
    pub(crate) fn add_to_sum(
        &mut self,
        call: &Call,
        state: usize,
        subtract: bool,
    ) -> Result<(), Fault> {
        let (pieces, varbits, valid) = self.pieces(call, true)?;
        if subtract && !varbits.is_empty() {
            return Err(self.fault("a varbit cannot be taken away from a checksum in the kernel"));
        }
        let width: u32 = pieces.iter().map(|(_, width)| width).sum();
        let (sum, end) = (self.sum(state), self.a.label());
        if let Some(valid) = valid {
            self.a.load(Size::B8, R1, R7, valid);
            self.a.jump_if(Compare::Equal, R1, 0, end);
        }
        self.sixteen(
            &pieces,
            &varbits,
            width,
            if subtract {
                Sixteen::Less
            } else {
                Sixteen::Sum
            },
        );
        // It is the complement of what is added.
        self.a.alu(Alu::Xor, R1, 0xFFFF);
        self.a.load(Size::B8, R2, R7, sum);
        self.a.alu(Alu::Add, R1, R2);
        self.a.alu(Alu::Move, R2, R1);
        self.a.alu(Alu::ShiftRight, R2, 16);
        self.cut(R1, 16);
        self.a.alu(Alu::Add, R1, R2);
        self.a.store(Size::B8, R7, sum, R1);
        self.a.bind(end);
        Ok(())
    }

    /// Where a checksum stands that is added up.
    pub(crate) fn sum(&self, state: usize) -> i32 {
        self.frame.sums + 8 * state as i32
    }

    /// All checksums are zero.
    pub(crate) fn clear_sums(&mut self) {
        for state in 0..self.environment.checksums {
            let at = self.sum(state);
            self.a.store_number(Size::B8, R7, at, 0);
        }
    }

    /// The hash of values in the frame, one behind the other, in `R1`.
    pub(crate) fn hash_of(
        &mut self,
        algorithm: Algorithm,
        pieces: &[(i32, u32)],
        varbits: &[(i32, u32)],
    ) -> Result<(), Fault> {
        let width: u32 = pieces.iter().map(|(_, width)| width).sum();
        let bytes = width.div_ceil(8) as i32;
        if bytes as usize > KEY_BYTES - 8 {
            return Err(self.fault("so many bytes cannot be hashed in the kernel"));
        }
        let crc = match algorithm {
            Algorithm::Crc32 => Some(CRC32),
            Algorithm::Crc16 => Some(CRC16),
            Algorithm::Checksum16 | Algorithm::Xor16 | Algorithm::Identity => None,
            Algorithm::Crc32Custom | Algorithm::Crc16Custom | Algorithm::Random => {
                return Err(self.fault("this hash algorithm is not supported in the kernel"));
            }
        };
        match (algorithm, crc) {
            (_, Some(crc)) => {
                self.a.alu(Alu::Move, R8, R7);
                self.a.alu(Alu::Add, R8, KEY);
                self.write_bytes(pieces, width);
                self.crc(crc, bytes);
            }
            (Algorithm::Identity, _) => {
                let count = width.min(64);
                self.bits_of(pieces, width - count, count);
                if count < 64 && !count.is_multiple_of(8) {
                    self.a.alu(Alu::ShiftLeft, R1, (8 - count % 8) as i32);
                }
            }
            (Algorithm::Xor16, _) => self.sixteen(pieces, varbits, width, Sixteen::Xor),
            _ => self.sixteen(pieces, varbits, width, Sixteen::Sum),
        }
        Ok(())
    }

    /// A CRC, byte by byte, of what the key has.
    fn crc(&mut self, crc: Crc, bytes: i32) {
        let map = self.map(Purpose::Crc(crc));
        // Both that are known count their least significant bits first.
        self.a.number(R1, crc.initial);
        self.a.map_value(R3, map, 0);
        for byte in 0..bytes {
            self.a.load(Size::B1, R2, R7, KEY + byte);
            self.a.alu(Alu::Xor, R2, R1);
            self.a.alu(Alu::And, R2, 0xFF);
            self.a.alu(Alu::ShiftLeft, R2, 3);
            self.a.alu(Alu::Move, R4, R3);
            self.a.alu(Alu::Add, R4, R2);
            self.a.load(Size::B8, R5, R4, 0);
            self.a.alu(Alu::ShiftRight, R1, 8);
            self.a.alu(Alu::Xor, R1, R5);
        }
        self.a.number(R2, crc.last);
        self.a.alu(Alu::Xor, R1, R2);
    }

    /// The Internet checksum, or the exclusive or, of numbers of 16 bits; in `R1`.
    fn sixteen(
        &mut self,
        pieces: &[(i32, u32)],
        varbits: &[(i32, u32)],
        width: u32,
        what: Sixteen,
    ) {
        let sum = what != Sixteen::Xor;
        let combine = if sum { Alu::Add } else { Alu::Xor };
        self.a.alu(Alu::Move, R4, 0);
        let mut done = 0;
        while done < width {
            // 32 bits at a time, so that nothing is lost when they are summed up.
            let here = (width - done).min(32);
            self.bits_of(pieces, width - done - here, here);
            if here < 32 {
                self.a.alu(Alu::ShiftLeft, R1, 32 - here as i32);
            }
            if what == Sixteen::Less {
                // What is filled up to 16 bits counts, and what there is not of 32 does not.
                let ones = if here > 16 {
                    u64::from(u32::MAX)
                } else {
                    0xFFFF_0000
                };
                self.a.number(R2, ones);
                self.a.alu(Alu::Xor, R1, R2);
            }
            self.a.alu(combine, R4, R1);
            done += here;
        }
        for (at, most) in varbits {
            let (cells, whole) = (limbs(*most) as i32, self.a.label());
            self.a.load(Size::B8, R1, R7, at + 8 * cells);
            self.a.alu(Alu::And, R1, 15);
            self.a.jump_if(Compare::Equal, R1, 0, whole);
            self.leave_odd();
            self.a.bind(whole);
            for cell in 0..cells {
                self.a.load(Size::B8, R1, R7, at + 8 * cell);
                self.a.big_endian(R1, 64);
                self.a.alu(Alu::Move, R2, R1);
                self.a.alu(Alu::ShiftRight, R2, 32);
                self.a.low_half(R1);
                self.a.alu(Alu::Add, R4, R1);
                self.a.alu(Alu::Add, R4, R2);
            }
        }
        self.a.alu(Alu::Move, R1, R4);
        // Carries come round at most three times.
        for (by, mask) in [(32, 32), (32, 32), (16, 16), (16, 16), (16, 16)] {
            if !sum && by == 32 {
                continue;
            }
            self.a.alu(Alu::Move, R2, R1);
            self.a.alu(Alu::ShiftRight, R2, by);
            self.cut(R1, mask);
            self.a.alu(combine, R1, R2);
            if !sum {
                break;
            }
        }
        if sum {
            self.a.alu(Alu::Xor, R1, 0xFFFF);
        }
        self.cut(R1, 16);
    }
}
