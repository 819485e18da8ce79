//! Choosing where to go on by the values of keys.

use crate::arithmetic::{Wide, constant};
use crate::runtime::Shim;
use crate::unit::Unit;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, Value};
use cranelift_frontend::Switch;
use p4::ir::*;

impl Unit<'_, '_> {
    pub(crate) fn select(&mut self, terminator: &Terminator, from: usize, blocks: &[ir::Block]) {
        let Terminator::Select {
            keys,
            cases,
            default,
        } = terminator
        else {
            return;
        };
        let default = *default;
        let program = self.program;
        if !crate::plan::native_select(keys, cases, program) {
            self.select_by_shim(terminator, cases, default, from, blocks);
            return;
        }
        let keys: Vec<Wide> = keys.iter().map(|key| self.expression(key)).collect();
        if let [key] = keys.as_slice()
            && key.limbs.len() == 1
            && let Some(numbers) = plain_numbers(cases)
        {
            let mut switch = Switch::new();
            let mut seen = std::collections::BTreeSet::new();
            for (number, next) in numbers {
                if seen.insert(number) {
                    let target = self.target(from, next, blocks);
                    switch.set_entry(u128::from(number), target);
                }
            }
            // A case that fits all stands last, if there is one.
            let rest = cases
                .iter()
                .find(|case| matches!(case.patterns[..], [Pattern::Any]));
            let default = rest.map_or(default, |case| case.next);
            let default = self.target(from, default, blocks);
            switch.emit(&mut self.b, key.limbs[0], default);
            return;
        }
        // What is read in a later comparison is not there after an earlier one.
        let known = self.known.clone();
        for case in cases {
            let mut all: Option<Value> = None;
            for (pattern, key) in case.patterns.iter().zip(&keys) {
                let Some(fits) = self.fits(pattern, key) else {
                    continue;
                };
                all = Some(match all {
                    Some(before) => self.b.ins().band(before, fits),
                    None => fits,
                });
            }
            let target = self.target(from, case.next, blocks);
            let Some(all) = all else {
                self.b.ins().jump(target, &[]);
                self.known = known;
                return;
            };
            let rest = self.b.create_block();
            self.b.ins().brif(all, target, &[], rest, &[]);
            self.b.switch_to_block(rest);
        }
        self.jump(from, default, blocks);
        self.known = known;
    }

    /// Whether a key is as a pattern says; `None` where any is.
    fn fits(&mut self, pattern: &Pattern, key: &Wide) -> Option<Value> {
        Some(match pattern {
            Pattern::Any | Pattern::ValueSet(_) => return None,
            Pattern::Equal(value) => {
                let value = self.expression(value);
                key.equal(&value, &mut self.b)
            }
            Pattern::Mask(value, mask) => {
                let value = self.expression(value);
                let mask = self.expression(mask);
                let key = key.and(&mask, &mut self.b);
                let value = value.and(&mask, &mut self.b);
                key.equal(&value, &mut self.b)
            }
            Pattern::Range(from, to) => {
                let from = self.expression(from);
                let to = self.expression(to);
                let below = key.less(&from, &mut self.b);
                let above = to.less(key, &mut self.b);
                let outside = self.b.ins().bor(below, above);
                let zero = self.b.ins().iconst(ir::types::I8, 0);
                self.b.ins().icmp(IntCC::Equal, outside, zero)
            }
        })
    }

    fn select_by_shim(
        &mut self,
        terminator: &Terminator,
        cases: &[Case],
        default: BlockId,
        from: usize,
        blocks: &[ir::Block],
    ) {
        self.name_section();
        // The program stays where it is while its code lives.
        let which = constant(&mut self.b, std::ptr::from_ref(terminator) as u64);
        let chosen = self.call(Shim::Select, &[which]).unwrap_or(which);
        let mut switch = Switch::new();
        for (index, case) in cases.iter().enumerate() {
            let target = self.target(from, case.next, blocks);
            switch.set_entry(index as u128, target);
        }
        let default = self.target(from, default, blocks);
        switch.emit(&mut self.b, chosen, default);
    }
}

/// The cases' numbers, when all but the last are numbers and the last may be anything.
fn plain_numbers(cases: &[Case]) -> Option<Vec<(u64, BlockId)>> {
    let mut out = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        match case.patterns.as_slice() {
            [Pattern::Equal(Expr::Constant(value, ty))] if value.width() == ty.width() => {
                out.push((value.to_u64()?, case.next));
            }
            [Pattern::Any] if index + 1 == cases.len() => {}
            _ => return None,
        }
    }
    Some(out)
}
