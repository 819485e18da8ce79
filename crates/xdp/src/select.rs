//! Selects: keys against patterns, case by case.

use crate::instruction::{Alu, Compare, Label, R1, R2, R3, R7, Size};
use crate::unit::{Fault, Unit};
use p4::ir::{Expr, Pattern, Ty};
use pipeline::layout::limbs;

impl Unit<'_> {
    pub(crate) fn select(
        &mut self,
        keys: &[Expr],
        cases: &[(&[Pattern], Label)],
        default: Label,
    ) -> Result<(), Fault> {
        let mut places = Vec::new();
        for key in keys {
            places.push((self.place(key)?, self.type_of(key)));
        }
        for (patterns, to) in cases {
            let next = self.a.label();
            for (number, (pattern, (at, ty))) in patterns.iter().zip(&places).enumerate() {
                match pattern {
                    // Its other fields are the keys behind this one.
                    Pattern::ValueSet(set) => self.in_set(*set, &places[number..], next)?,
                    pattern => self.matches(pattern, *at, *ty, next)?,
                }
            }
            self.a.jump(*to);
            if !self.a.is_used(next) {
                // It takes all.
                self.a.bind(next);
                return Ok(());
            }
            self.a.bind(next);
        }
        self.a.jump(default);
        Ok(())
    }

    /// Goes on if a key is as a pattern says, and to `next` otherwise.
    fn matches(&mut self, pattern: &Pattern, at: i32, ty: Ty, next: Label) -> Result<(), Fault> {
        let width = ty.width();
        let cells = limbs(width) as i32;
        match pattern {
            Pattern::Any | Pattern::ValueSet(_) => {}
            Pattern::Equal(value) => {
                let value = self.place(value)?;
                for cell in 0..cells {
                    self.a.load(Size::B8, R1, R7, at + 8 * cell);
                    self.a.load(Size::B8, R2, R7, value + 8 * cell);
                    self.a.jump_if(Compare::NotEqual, R1, R2, next);
                }
            }
            Pattern::Mask(value, mask) => {
                let (value, mask) = (self.place(value)?, self.place(mask)?);
                for cell in 0..cells {
                    self.a.load(Size::B8, R1, R7, at + 8 * cell);
                    self.a.load(Size::B8, R2, R7, value + 8 * cell);
                    self.a.load(Size::B8, R3, R7, mask + 8 * cell);
                    self.a.alu(Alu::Xor, R1, R2);
                    self.a.alu(Alu::And, R1, R3);
                    self.a.jump_if(Compare::NotEqual, R1, 0, next);
                }
            }
            Pattern::Range(from, to) => {
                if width > 64 {
                    return Err(self.fault("a range of more than 64 bits is not supported"));
                }
                let (from, to) = (self.place(from)?, self.place(to)?);
                self.a.load(Size::B8, R1, R7, at);
                self.a.load(Size::B8, R2, R7, from);
                self.a.load(Size::B8, R3, R7, to);
                let signed = matches!(ty, Ty::Signed(_));
                let (less, greater) = match signed {
                    true => (Compare::SignedLess, Compare::SignedGreater),
                    false => (Compare::Less, Compare::Greater),
                };
                for register in [R1, R2, R3].into_iter().filter(|_| signed) {
                    self.sign(register, width);
                }
                self.a.jump_if(less, R1, R2, next);
                self.a.jump_if(greater, R1, R3, next);
            }
        }
        Ok(())
    }
}
