//! A section as a function: its blocks, where its slots live, and how it ends.

use crate::Shared;
use crate::arithmetic::{Wide, constant};
use crate::compile::Target;
use crate::plan::{Plan, native};
use crate::runtime::{self, Lookup, Shim, State};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    self, InstBuilder, MemFlagsData, StackSlotData, StackSlotKind, Value, types::I64,
};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_frontend::{FunctionBuilder, Switch, Variable};
use p4::ir::*;
use pipeline::layout::{Layout, limbs};
use pipeline::table::Table;
use std::collections::BTreeMap;

/// What a section's function says at its end.
pub(crate) const RETURN: u64 = 0;
pub(crate) const REJECT: u64 = 1;
pub(crate) const STOP: u64 = 2;

/// What is known of the values of cells at a place in the code.
type Known = BTreeMap<SlotId, Vec<Value>>;

/// Where a body's blocks lead when it ends.
#[derive(Clone, Copy)]
pub(crate) enum End {
    /// It is a section's.
    Section,
    /// It is an action's: go on in these blocks.
    Action { next: ir::Block, exit: ir::Block },
}

pub(crate) struct Unit<'a, 'b> {
    pub(crate) b: FunctionBuilder<'b>,
    pub(crate) program: &'a Program,
    pub(crate) layout: &'a Layout,
    pub(crate) plan: &'a Plan,
    pub(crate) section: &'a Section,
    pub(crate) shared: &'a Shared,
    pub(crate) target: &'a Target,
    pub(crate) index: u32,
    pub(crate) cells: Value,
    pub(crate) state: Value,
    pub(crate) signatures: BTreeMap<usize, ir::SigRef>,
    pub(crate) variables: BTreeMap<SlotId, Variable>,
    pub(crate) known: Known,
    /// In a parser: how far it has read, and the packet's bytes and their number of bits.
    pub(crate) position: Variable,
    pub(crate) bytes: Option<(Value, Value)>,
    /// How many bits are emitted.
    pub(crate) emitted: Variable,
    /// Positions and lengths are always whole bytes.
    pub(crate) aligned: bool,
    /// No more is appended than there is room for.
    pub(crate) bounded: bool,
    /// Where the parser goes after an error; the error is in its slot.
    pub(crate) fail: Option<ir::Block>,
    /// Blocks through which jumps backwards go, with where they lead.
    pub(crate) backwards: Vec<(ir::Block, ir::Block)>,
    /// Blocks behind an action, with where they lead.
    pub(crate) trampolines: Vec<(ir::Block, ir::Block)>,
    /// A place for wide values on the way to shims.
    pub(crate) scratch: Option<(ir::StackSlot, u32)>,
    /// On a path: where it goes on behind the section.
    pub(crate) after: Option<ir::Block>,
    /// Calls of externs ask the architecture for something.
    pub(crate) asks: bool,
    /// The interpreter reads the packet's bytes.
    pub(crate) reads_bytes: bool,
}

impl Unit<'_, '_> {
    /// A section as a whole function, of which the first block has the parameters.
    pub(crate) fn build(mut self, config: TargetFrontendConfig) {
        let section = self.section;
        let zero = constant(&mut self.b, 0);
        for slot in self.plan.registers(self.index) {
            let variable = self.b.declare_var(I64);
            self.b.def_var(variable, zero);
            self.variables.insert(slot, variable);
        }
        let parser = section.kind == SectionKind::Parser;
        if parser {
            let bytes = self.field(std::mem::offset_of!(State, bytes));
            let bits = self.field(std::mem::offset_of!(State, bits));
            self.bytes = Some((bytes, bits));
            let position = self.field(std::mem::offset_of!(State, position));
            self.b.def_var(self.position, position);
        }
        let emitted = self.field(std::mem::offset_of!(State, out_bits));
        self.b.def_var(self.emitted, emitted);
        self.body(&section.body, End::Section);
        self.count_steps();
        self.b.seal_all_blocks();
        self.b.finalize(config);
    }

    pub(crate) fn body(&mut self, body: &Body, end: End) {
        let count = body.blocks.len();
        let blocks: Vec<ir::Block> = (0..count).map(|_| self.b.create_block()).collect();
        let before = self.fail;
        let Some(first) = blocks.first() else {
            // A body without blocks does nothing.
            self.end(end, RETURN);
            self.fail = before;
            return;
        };
        self.b.ins().jump(*first, &[]);
        let preds = predecessors(body);
        let mut ends: Vec<Option<Known>> = vec![None; count];
        let entry = std::mem::take(&mut self.known);
        for (index, block) in body.blocks.iter().enumerate() {
            self.b.switch_to_block(blocks[index]);
            self.known = match preds[index].as_slice() {
                [] if index == 0 => entry.clone(),
                [one, rest @ ..] if index != 0 && rest.iter().all(|other| other == one) => {
                    let known = ends.get(*one).cloned().flatten();
                    known.unwrap_or_default()
                }
                _ => Known::new(),
            };
            self.fail = body.fail.map(|fail| self.target(index, fail, &blocks));
            for statement in &block.statements {
                self.statement(statement);
            }
            self.terminator(&block.terminator, index, &blocks, end);
            ends[index] = Some(std::mem::take(&mut self.known));
        }
        self.fail = before;
    }

    fn end(&mut self, end: End, result: u64) {
        match (end, result) {
            (End::Action { next, .. }, RETURN) => {
                self.b.ins().jump(next, &[]);
            }
            _ => self.leave(result),
        }
    }

    /// Ends the section, and with it the function unless it is a path's.
    pub(crate) fn leave(&mut self, result: u64) {
        if let Some(after) = self.after
            && result != STOP
        {
            self.b.ins().jump(after, &[]);
            return;
        }
        self.save();
        let result = constant(&mut self.b, result);
        self.b.ins().return_(&[result]);
    }

    /// Writes positions back to where others see them.
    pub(crate) fn save(&mut self) {
        if self.bytes.is_some() {
            let position = self.b.use_var(self.position);
            self.set_field(std::mem::offset_of!(State, position), position);
        }
        let emitted = self.b.use_var(self.emitted);
        self.set_field(std::mem::offset_of!(State, out_bits), emitted);
    }

    fn terminator(&mut self, terminator: &Terminator, from: usize, blocks: &[ir::Block], end: End) {
        match terminator {
            Terminator::Jump(to) => self.jump(from, *to, blocks),
            Terminator::Branch { condition, yes, no } => {
                let condition = self.condition(condition);
                let yes = self.target(from, *yes, blocks);
                let no = self.target(from, *no, blocks);
                self.b.ins().brif(condition, yes, &[], no, &[]);
            }
            Terminator::Select { .. } => self.select(terminator, from, blocks),
            Terminator::Apply { table, next, exit } => {
                let next = self.target(from, *next, blocks);
                let exit = self.target(from, *exit, blocks);
                self.apply(*table, next, exit);
            }
            Terminator::Return => self.end(end, RETURN),
            Terminator::Exit => match end {
                End::Action { exit, .. } => {
                    self.b.ins().jump(exit, &[]);
                }
                End::Section => self.leave(RETURN),
            },
            Terminator::Reject => self.leave(REJECT),
        }
    }

    fn jump(&mut self, from: usize, to: BlockId, blocks: &[ir::Block]) {
        let target = self.target(from, to, blocks);
        self.b.ins().jump(target, &[]);
    }

    /// The block to jump to; where it goes backwards, by way of one that counts.
    pub(crate) fn target(&mut self, from: usize, to: BlockId, blocks: &[ir::Block]) -> ir::Block {
        let target = blocks[to.index()];
        if to.index() > from {
            return target;
        }
        let count = self.b.create_block();
        self.backwards.push((count, target));
        count
    }

    /// The blocks on the way backwards. They stand at the end, since no block may be left half done.
    pub(crate) fn count_steps(&mut self) {
        for (count, target) in std::mem::take(&mut self.backwards) {
            let go = self.b.create_block();
            let stop = self.b.create_block();
            self.b.set_cold_block(stop);
            self.b.switch_to_block(count);
            let steps = self.field(std::mem::offset_of!(State, steps));
            self.b.ins().brif(steps, go, &[], stop, &[]);
            self.b.switch_to_block(go);
            let one = constant(&mut self.b, 1);
            let left = self.b.ins().isub(steps, one);
            self.set_field(std::mem::offset_of!(State, steps), left);
            self.b.ins().jump(target, &[]);
            self.b.switch_to_block(stop);
            self.call(Shim::OutOfSteps, &[]);
            self.leave(STOP);
        }
    }

    fn apply(&mut self, id: TableId, next: ir::Block, exit: ir::Block) {
        let program = self.program;
        let table = &program.tables[id.index()];
        let chosen = table.implementation.is_some();
        let direct = !table.direct.is_empty();
        let number = constant(&mut self.b, u64::from(id.0));
        let (arguments, found) = if chosen {
            let key = self.table_key(id, false);
            let selectors = self.table_key(id, true);
            let found = self.call(Shim::Choose, &[number, key, selectors]);
            // The shim puts the arguments into their slots.
            (number, found.unwrap_or(number))
        } else if direct || table.idle_timeout {
            let key = self.table_key(id, false);
            let state = self.state;
            self.lookup(Lookup::Hit, &[state, number, key])
        } else {
            let tables = self.field(std::mem::offset_of!(State, tables));
            let at = constant(&mut self.b, id.index() as u64 * size_of::<Table>() as u64);
            let entries = self.b.ins().iadd(tables, at);
            let values = self.key_values(id, false);
            if let [one] = values.as_slice() {
                self.lookup(Lookup::One, &[entries, *one])
            } else {
                let key = self.in_memory(values, false);
                self.lookup(Lookup::Any, &[entries, key])
            }
        };
        // The low half is the action, the bit above says whether it was a hit.
        let low = constant(&mut self.b, 0xFFFF_FFFF);
        let action = self.b.ins().band(found, low);
        for (slot, shift) in [(table.hit, 32), (table.action_run, 0)] {
            let Some(slot) = slot else { continue };
            let value = if shift == 0 {
                action
            } else {
                let by = constant(&mut self.b, shift);
                self.b.ins().ushr(found, by)
            };
            let ty = program.slots[slot.index()].ty;
            let limbs = vec![value];
            self.write(slot, &Wide { limbs, ty });
        }
        let (next, exit) = if chosen || direct {
            (self.without_hit(next), self.without_hit(exit))
        } else {
            (next, exit)
        };
        let mut known = std::mem::take(&mut self.known);
        if chosen {
            // The shim has written the arguments into their slots.
            known.clear();
        }
        let mut switch = Switch::new();
        let none = self.b.create_block();
        let entries: Vec<ir::Block> = table
            .actions
            .iter()
            .map(|_| self.b.create_block())
            .collect();
        for (index, block) in entries.iter().enumerate() {
            switch.set_entry(index as u128, *block);
        }
        switch.emit(&mut self.b, action, none);
        self.b.switch_to_block(none);
        self.b.ins().jump(next, &[]);
        for (choice, block) in table.actions.iter().zip(&entries) {
            let action = &program.actions[choice.action.index()];
            self.b.switch_to_block(*block);
            self.known = known.clone();
            if !chosen {
                let mut at = 0;
                for (_, slot, _) in &action.parameters {
                    let ty = program.slots[slot.index()].ty;
                    self.argument(*slot, ty, arguments, &mut at);
                }
            }
            self.body(&action.body, End::Action { next, exit });
        }
        for choice in &table.actions {
            let action = &program.actions[choice.action.index()];
            action
                .parameters
                .iter()
                .for_each(|(_, slot, _)| drop(known.remove(slot)));
            for statement in action
                .body
                .blocks
                .iter()
                .flat_map(|block| &block.statements)
            {
                if matches!(statement.kind, StatementKind::Call { .. }) {
                    known.clear();
                }
                crate::plan::statement_slots(&statement.kind, program, &mut |slot| {
                    known.remove(&slot);
                });
            }
        }
        self.known = known;
        for (block, to) in std::mem::take(&mut self.trampolines) {
            self.b.switch_to_block(block);
            let zero = constant(&mut self.b, 0);
            self.set_field(std::mem::offset_of!(State, hit), zero);
            self.b.ins().jump(to, &[]);
        }
    }

    /// A block on the way that ends an entry's hold on direct objects.
    fn without_hit(&mut self, to: ir::Block) -> ir::Block {
        let block = self.b.create_block();
        self.trampolines.push((block, to));
        block
    }

    /// A parameter of an action from what the table has for it.
    fn argument(&mut self, slot: SlotId, ty: Ty, arguments: Value, at: &mut i32) {
        let count = limbs(ty.width());
        let flags = MemFlagsData::trusted();
        let values = (0..count as i32)
            .map(|index| self.b.ins().load(I64, flags, arguments, (*at + index) * 8))
            .collect();
        *at += count as i32;
        self.write(slot, &Wide { limbs: values, ty });
        if matches!(ty, Ty::Varbit(_)) {
            let length = self.b.ins().load(I64, flags, arguments, *at * 8);
            let place = self.layout.place(slot).0 + count;
            self.b
                .ins()
                .store(flags, length, self.cells, place as i32 * 8);
            *at += 1;
        }
    }

    /// A lookup, which gives where the arguments are, and the action with the hit.
    fn lookup(&mut self, lookup: Lookup, arguments: &[Value]) -> (Value, Value) {
        let mut signature = ir::Signature::new(self.target.convention);
        let word = ir::AbiParam::new(I64);
        signature.params.resize(arguments.len(), word);
        signature.returns.resize(2, word);
        let signature = self.b.import_signature(signature);
        let callee = constant(&mut self.b, lookup.address() as u64);
        let call = self.b.ins().call_indirect(signature, callee, arguments);
        let results = self.b.inst_results(call);
        (results[0], results[1])
    }

    /// The limbs of the keys that take part in the match, or of those that select a member.
    fn key_values(&mut self, id: TableId, selectors: bool) -> Vec<Value> {
        let program = self.program;
        let table = &program.tables[id.index()];
        let mut values: Vec<Value> = Vec::new();
        for key in &table.keys {
            if (&*key.match_kind == "selector") != selectors {
                continue;
            }
            let value = self.any_expression(&key.value, key.ty);
            values.extend(&value.limbs);
        }
        values
    }

    /// The same in memory.
    fn table_key(&mut self, id: TableId, selectors: bool) -> Value {
        let values = self.key_values(id, selectors);
        self.in_memory(values, selectors)
    }

    fn in_memory(&mut self, values: Vec<Value>, selectors: bool) -> Value {
        if values.is_empty() {
            return self.cells;
        }
        let size = values.len() as u32 * 8;
        // Both are needed at once.
        let place = if selectors {
            self.new_buffer(size)
        } else {
            self.buffer(size)
        };
        for (index, value) in values.into_iter().enumerate() {
            self.b
                .ins()
                .stack_store(I64, value, place, index as i32 * 8);
        }
        self.b.ins().stack_addr(I64, place, 0)
    }

    /// A piece of the stack of so many bytes, one for all.
    pub(crate) fn buffer(&mut self, size: u32) -> ir::StackSlot {
        match self.scratch {
            Some((slot, room)) if room >= size => slot,
            _ => {
                let slot = self.new_buffer(size);
                self.scratch = Some((slot, size));
                slot
            }
        }
    }

    pub(crate) fn new_buffer(&mut self, size: u32) -> ir::StackSlot {
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, size.max(8), 3);
        self.b.create_sized_stack_slot(data)
    }

    fn select(&mut self, terminator: &Terminator, from: usize, blocks: &[ir::Block]) {
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

    /// A condition as a value that is zero or not.
    fn condition(&mut self, condition: &Expr) -> Value {
        if let Expr::Binary(operator, left, right) = condition
            && native(condition, &self.program.slots).is_some()
            && let Some(value) = self.comparison(*operator, left, right)
        {
            return value;
        }
        self.any_expression(condition, Ty::Bool).limbs[0]
    }

    /// An expression, by the interpreter if need be.
    pub(crate) fn any_expression(&mut self, expression: &Expr, ty: Ty) -> Wide {
        if native(expression, &self.program.slots).is_some() {
            let value = self.expression(expression);
            return if value.ty.width() == ty.width() {
                value.of_type(ty)
            } else {
                value.cast(ty, &mut self.b)
            };
        }
        let count = limbs(ty.width()) as u32;
        let place = self.buffer(count * 8);
        let out = self.b.ins().stack_addr(I64, place, 0);
        let which = constant(&mut self.b, std::ptr::from_ref(expression) as u64);
        let room = constant(&mut self.b, u64::from(count));
        self.call(Shim::Evaluate, &[which, out, room]);
        let limbs = (0..count as i32)
            .map(|index| self.b.ins().stack_load(I64, I64, place, index * 8))
            .collect();
        Wide { limbs, ty }
    }

    // Slots.

    /// What a slot holds.
    pub(crate) fn read(&mut self, slot: SlotId) -> Wide {
        let ty = self.program.slots[slot.index()].ty;
        if let Some(variable) = self.variables.get(&slot) {
            let value = self.b.use_var(*variable);
            return Wide {
                limbs: vec![value],
                ty,
            };
        }
        if let Some(limbs) = self.known.get(&slot) {
            return Wide {
                limbs: limbs.clone(),
                ty,
            };
        }
        let at = self.layout.place(slot).0;
        let values: Vec<Value> = (at..at + limbs(ty.width()))
            .map(|cell| {
                let flags = MemFlagsData::trusted();
                self.b.ins().load(I64, flags, self.cells, cell as i32 * 8)
            })
            .collect();
        self.known.insert(slot, values.clone());
        Wide { limbs: values, ty }
    }

    /// Sets a slot to a value of its width.
    pub(crate) fn write(&mut self, slot: SlotId, value: &Wide) {
        if let Some(variable) = self.variables.get(&slot) {
            self.b.def_var(*variable, value.limbs[0]);
            return;
        }
        let at = self.layout.place(slot).0;
        for (index, limb) in value.limbs.iter().enumerate() {
            let flags = MemFlagsData::trusted();
            self.b
                .ins()
                .store(flags, *limb, self.cells, ((at + index) * 8) as i32);
        }
        self.known.insert(slot, value.limbs.clone());
    }

    /// Forgets what is known of cells, after somebody else could write to them.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
    }

    // The state and calls.

    pub(crate) fn field(&mut self, offset: usize) -> Value {
        let flags = MemFlagsData::trusted();
        self.b.ins().load(I64, flags, self.state, offset as i32)
    }

    pub(crate) fn set_field(&mut self, offset: usize, value: Value) {
        let flags = MemFlagsData::trusted();
        self.b.ins().store(flags, value, self.state, offset as i32);
    }

    /// Calls a shim with the state and further arguments.
    pub(crate) fn call(&mut self, shim: Shim, arguments: &[Value]) -> Option<Value> {
        let (address, results) = runtime::address(shim);
        let key = arguments.len() * 2 + usize::from(results);
        let signature = match self.signatures.get(&key) {
            Some(signature) => *signature,
            None => {
                let mut signature = ir::Signature::new(self.target.convention);
                for _ in 0..=arguments.len() {
                    signature.params.push(ir::AbiParam::new(I64));
                }
                if results {
                    signature.returns.push(ir::AbiParam::new(I64));
                }
                let imported = self.b.import_signature(signature);
                self.signatures.insert(key, imported);
                imported
            }
        };
        let callee = constant(&mut self.b, address as u64);
        let mut all = vec![self.state];
        all.extend(arguments);
        let call = self.b.ins().call_indirect(signature, callee, &all);
        self.b.inst_results(call).first().copied()
    }
}

/// For each block those that lead to it.
fn predecessors(body: &Body) -> Vec<Vec<usize>> {
    let mut preds = vec![Vec::new(); body.blocks.len()];
    let mut edge = |from: usize, to: BlockId| {
        if let Some(list) = preds.get_mut(to.index()) {
            list.push(from);
        }
    };
    for (from, block) in body.blocks.iter().enumerate() {
        match &block.terminator {
            Terminator::Jump(to) => edge(from, *to),
            Terminator::Branch { yes, no, .. } => {
                edge(from, *yes);
                edge(from, *no);
            }
            Terminator::Select { cases, default, .. } => {
                cases.iter().for_each(|case| edge(from, case.next));
                edge(from, *default);
            }
            Terminator::Apply { next, exit, .. } => {
                edge(from, *next);
                edge(from, *exit);
            }
            Terminator::Return | Terminator::Exit | Terminator::Reject => {}
        }
    }
    // Errors come from anywhere.
    if let Some(list) = body.fail.and_then(|fail| preds.get_mut(fail.index())) {
        list.extend([usize::MAX, usize::MAX]);
    }
    preds
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
