//! A section as a function: its blocks, where its slots live, and how it ends.

use crate::Shared;
use crate::arithmetic::{Wide, constant};
use crate::origin::{Clean, Flow, Origins};
use crate::plan::{Plan, native};
use crate::runtime::{self, Shim, State};
use cranelift_codegen::ir::{
    self, InstBuilder, MemFlagsData, StackSlotData, StackSlotKind, Value, types::I64,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::{FunctionBuilder, Variable};
use p4::ir::*;
use pipeline::layout::{Layout, limbs};
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

/// What all functions share.
pub(crate) struct Target {
    pub(crate) convention: CallConv,
    /// The numbers of errors, if the program has them.
    pub(crate) too_short: Option<u64>,
    pub(crate) out_of_bounds: Option<u64>,
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
    /// On a path: where slots are in headers, which are clean, and the bases of headers.
    pub(crate) origins: Option<Origins<'a>>,
    pub(crate) clean: Clean,
    pub(crate) bases: BTreeMap<HeaderId, Variable>,
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
        let origins = self.origins.as_ref();
        let flow = origins.map(|origins| origins.flow(body, &self.clean, self.aligned));
        for (index, block) in body.blocks.iter().enumerate() {
            if let Some(flow) = &flow {
                self.clean = flow.entries[index].clone().unwrap_or_default();
            }
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
        self.clean = flow.map(Flow::end).unwrap_or_default();
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

    pub(crate) fn jump(&mut self, from: usize, to: BlockId, blocks: &[ir::Block]) {
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
        let buffer = self.buffer(count * 8);
        let out = self.b.ins().stack_addr(I64, buffer, 0);
        let which = constant(&mut self.b, std::ptr::from_ref(expression) as u64);
        let room = constant(&mut self.b, u64::from(count));
        self.call(Shim::Evaluate, &[which, out, room]);
        let limbs = (0..count as i32)
            .map(|index| self.b.ins().stack_load(I64, I64, buffer, index * 8))
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
        let at = self.layout.cell(slot).0;
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
        self.clean.remove(slot);
        if let Some(variable) = self.variables.get(&slot) {
            self.b.def_var(*variable, value.limbs[0]);
            return;
        }
        let at = self.layout.cell(slot).0;
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
