//! Tables: keys, and the code of their actions.

use crate::arithmetic::{Wide, constant};
use crate::runtime::{LookupCall, Shim, State};
use crate::unit::{End, Unit};
use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData, Value, types::I64};
use cranelift_frontend::Switch;
use p4::ir::*;
use pipeline::layout::limbs;

impl Unit<'_, '_> {
    pub(crate) fn apply(&mut self, id: TableId, next: ir::Block, exit: ir::Block) {
        let program = self.program;
        let table = &program.tables[id.index()];
        let chosen = table.implementation.is_some();
        let direct = !table.direct.is_empty() || table.adds_on_miss() || table.deletes_idle();
        let number = constant(&mut self.b, u64::from(id.0));
        let found = if chosen {
            let key = self.table_key(id, false);
            let selectors = self.table_key(id, true);
            let found = self.call(Shim::Choose, &[number, key, selectors]);
            // The shim puts the arguments into their slots.
            self.taken_apart(number, found.unwrap_or(number))
        } else if direct || table.idle_timeout {
            let key = self.table_key(id, false);
            let state = self.state;
            self.called(LookupCall::Hit, &[state, number, key])
        } else {
            let keys = self.key_values(id, false);
            self.entry(id, keys)
        };
        for (slot, value) in [(table.hit, found.hit), (table.action_run, found.action)] {
            let Some(slot) = slot else { continue };
            let ty = program.slots[slot.index()].ty;
            let limbs = vec![value];
            self.write(slot, &Wide { limbs, ty });
        }
        let (next, exit) = if chosen || direct {
            (self.without_hit(next), self.without_hit(exit))
        } else {
            (next, exit)
        };
        let clean = self.clean.clone();
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
        switch.emit(&mut self.b, found.action, none);
        self.b.switch_to_block(none);
        self.b.ins().jump(next, &[]);
        for (choice, block) in table.actions.iter().zip(&entries) {
            let action = &program.actions[choice.action.index()];
            self.b.switch_to_block(*block);
            self.known = known.clone();
            self.clean = clean.clone();
            if !chosen {
                let mut at = 0;
                for (_, slot, _) in &action.parameters {
                    let ty = program.slots[slot.index()].ty;
                    self.argument(*slot, ty, found.arguments, &mut at);
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
            let length_cell = self.layout.cell(slot).0 + count;
            self.b
                .ins()
                .store(flags, length, self.cells, length_cell as i32 * 8);
            *at += 1;
        }
    }

    /// The limbs of the keys that take part in the match, or of those that select a member.
    fn key_values(&mut self, id: TableId, selectors: bool) -> Vec<Value> {
        let program = self.program;
        let table = &program.tables[id.index()];
        let mut values: Vec<Value> = Vec::new();
        for key in &table.keys {
            if (key.match_kind == MatchKind::Selector) != selectors {
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

    pub(crate) fn in_memory(&mut self, values: Vec<Value>, selectors: bool) -> Value {
        if values.is_empty() {
            return self.cells;
        }
        let size = values.len() as u32 * 8;
        // Both are needed at once.
        let buffer = if selectors {
            self.new_buffer(size)
        } else {
            self.buffer(size)
        };
        for (index, value) in values.into_iter().enumerate() {
            self.b
                .ins()
                .stack_store(I64, value, buffer, index as i32 * 8);
        }
        self.b.ins().stack_addr(I64, buffer, 0)
    }
}
