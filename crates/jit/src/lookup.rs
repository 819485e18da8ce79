//! Lookups: exact and longest-prefix matches as code, all others by calls.

use crate::arithmetic::constant;
use crate::runtime::{self, LookupCall, State};
use crate::unit::Unit;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData, Value, types::I64};
use p4::ir::TableId;
use pipeline::table::{ALONE, HASH_FACTOR, HASH_SEED, Lookup, Table};
use std::mem::offset_of;

/// Maximum number of cells that are compared inline; more are compared by a call.
const MAX_INLINE_CELLS: usize = 4;

/// Result of a lookup, as 64 bits each.
pub(crate) struct Found {
    pub(crate) arguments: Value,
    /// The action's number in the table.
    pub(crate) action: Value,
    /// Whether an entry was hit.
    pub(crate) hit: Value,
}

impl Unit<'_, '_> {
    /// Entry for these keys of a table without direct objects and timeouts.
    pub(crate) fn entry(&mut self, id: TableId, keys: Vec<Value>) -> Found {
        let form = &self.shared.environment.tables.forms()[id.index()];
        let lookup = form.lookup();
        let size = form.row_bytes();
        let tables = self.field(offset_of!(State, tables));
        let at = (id.index() * size_of::<Table>()) as i64;
        let table = self.b.ins().iadd_imm_u(tables, at);
        let row = match (lookup, keys.as_slice()) {
            (Lookup::Direct, [key]) => self.direct(table, *key),
            (Lookup::Hash(cells), keys) if cells == keys.len() && cells <= MAX_INLINE_CELLS => {
                self.hashed(table, keys)
            }
            (Lookup::Trie(width), [key]) => self.prefix(table, *key, width),
            _ => {
                let key = self.in_memory(keys, false);
                return self.called(LookupCall::Any, &[table, key]);
            }
        };
        let rows = self.word(table, 0);
        let size = constant(&mut self.b, size as u64);
        let offset = self.b.ins().imul(row, size);
        let address = self.b.ins().iadd(rows, offset);
        let action = self.b.ins().load(I64, MemFlagsData::trusted(), address, 0);
        let arguments = self.b.ins().iadd_imm_u(address, 8);
        let hit = self.b.ins().icmp_imm_u(IntCC::NotEqual, row, 0);
        let hit = self.b.ins().uextend(I64, hit);
        Found {
            arguments,
            action,
            hit,
        }
    }

    /// A lookup by a call.
    pub(crate) fn called(&mut self, call: LookupCall, arguments: &[Value]) -> Found {
        let mut signature = ir::Signature::new(self.target.convention);
        let word = ir::AbiParam::new(I64);
        signature.params.resize(arguments.len(), word);
        signature.returns.resize(2, word);
        let signature = self.b.import_signature(signature);
        let callee = constant(&mut self.b, runtime::lookup_address(call) as u64);
        let call = self.b.ins().call_indirect(signature, callee, arguments);
        let results = self.b.inst_results(call);
        let (arguments, found) = (results[0], results[1]);
        self.taken_apart(arguments, found)
    }

    /// The low half is the action, the bit above says whether it was a hit.
    pub(crate) fn taken_apart(&mut self, arguments: Value, found: Value) -> Found {
        let action = self.b.ins().band_imm_u(found, 0xFFFF_FFFF);
        let hit = self.b.ins().ushr_imm_u(found, 32);
        Found {
            arguments,
            action,
            hit,
        }
    }

    /// A word of a table's probe.
    fn word(&mut self, table: Value, word: usize) -> Value {
        let at = Table::PROBE + word * 8;
        let flags = MemFlagsData::trusted();
        self.b.ins().load(I64, flags, table, at as i32)
    }

    /// The element of `bytes` bytes with this number, as 64 bits.
    fn element(&mut self, array: Value, number: Value, bytes: u64) -> Value {
        let by = u64::from(bytes.trailing_zeros());
        let offset = self.b.ins().ishl_imm_u(number, by as i64);
        let address = self.b.ins().iadd(array, offset);
        let flags = MemFlagsData::trusted();
        match bytes {
            4 => self.b.ins().uload32(flags, address, 0),
            _ => self.b.ins().load(I64, flags, address, 0),
        }
    }

    fn direct(&mut self, table: Value, key: Value) -> Value {
        let (array, count) = (self.word(table, 1), self.word(table, 2));
        let on = self.b.create_block();
        let row = self.b.append_block_param(on, I64);
        let there = self.b.create_block();
        let zero = constant(&mut self.b, 0);
        let is = self.b.ins().icmp(IntCC::UnsignedLessThan, key, count);
        self.b.ins().brif(is, there, &[], on, &[zero.into()]);
        self.b.switch_to_block(there);
        let found = self.element(array, key, 4);
        self.b.ins().jump(on, &[found.into()]);
        self.b.switch_to_block(on);
        row
    }

    fn hashed(&mut self, table: Value, keys: &[Value]) -> Value {
        let (slots, mask, by_row) = (
            self.word(table, 1),
            self.word(table, 2),
            self.word(table, 3),
        );
        let b = &mut self.b;
        let mut hash = constant(b, HASH_SEED);
        let factor = constant(b, HASH_FACTOR);
        for key in keys {
            let mixed = b.ins().bxor(hash, *key);
            let (low, high) = (b.ins().imul(mixed, factor), b.ins().umulhi(mixed, factor));
            hash = b.ins().bxor(low, high);
        }
        let tag = b.ins().ushr_imm_u(hash, 32);
        let first = b.ins().band(tag, mask);
        let [look, some, same, next, on] = [(); 5].map(|()| b.create_block());
        let at = b.append_block_param(look, I64);
        let row = b.append_block_param(on, I64);
        b.set_cold_block(next);
        b.ins().jump(look, &[first.into()]);
        b.switch_to_block(look);
        let slot = self.element(slots, at, 8);
        let b = &mut self.b;
        let zero = constant(b, 0);
        b.ins().brif(slot, some, &[], on, &[zero.into()]);
        b.switch_to_block(some);
        let differ = b.ins().bxor(slot, hash);
        let differ = b.ins().ushr_imm_u(differ, 32);
        b.ins().brif(differ, next, &[], same, &[]);
        b.switch_to_block(same);
        let found = b.ins().band_imm_u(slot, 0xFFFF_FFFF);
        let offset = b.ins().imul_imm_u(found, keys.len() as i64 * 8);
        let address = b.ins().iadd(by_row, offset);
        let mut differ = zero;
        for (number, key) in keys.iter().enumerate() {
            let flags = MemFlagsData::trusted();
            let of_row = b.ins().load(I64, flags, address, number as i32 * 8);
            let unlike = b.ins().bxor(of_row, *key);
            differ = b.ins().bor(differ, unlike);
        }
        b.ins().brif(differ, next, &[], on, &[found.into()]);
        b.switch_to_block(next);
        let after = b.ins().iadd_imm_u(at, 1);
        let after = b.ins().band(after, mask);
        b.ins().jump(look, &[after.into()]);
        b.switch_to_block(on);
        row
    }

    fn prefix(&mut self, table: Value, key: Value, width: u32) -> Value {
        let (root, shift) = (self.word(table, 1), self.word(table, 2));
        let (nodes, prefixes) = (self.word(table, 3), self.word(table, 4));
        let b = &mut self.b;
        let value = b.ins().ishl_imm_u(key, i64::from(64 - width));
        let head = b.ins().ushr(value, shift);
        // A shift counts modulo 64: by what the root has indexed.
        let by = b.ins().ineg(shift);
        let rest = b.ins().ishl(value, by);
        let first = self.element(root, head, 8);
        let b = &mut self.b;
        let [look, below, deep, alone, on] = [(); 5].map(|()| b.create_block());
        let [slot, rest_here, before] = [(); 3].map(|()| b.append_block_param(look, I64));
        let row = b.append_block_param(on, I64);
        let zero = constant(b, 0);
        b.ins()
            .jump(look, &[first.into(), rest.into(), zero.into()]);
        b.switch_to_block(look);
        let here = b.ins().ushr_imm_u(slot, 32);
        let best = b.ins().select(here, here, before);
        let low = b.ins().band_imm_u(slot, 0xFFFF_FFFF);
        b.ins().brif(low, below, &[], on, &[best.into()]);
        b.switch_to_block(below);
        let mark = b.ins().band_imm_u(low, i64::from(ALONE));
        b.ins().brif(mark, alone, &[], deep, &[]);
        b.switch_to_block(deep);
        let index = b.ins().ushr_imm_u(rest_here, 60);
        let node = b.ins().ishl_imm_u(low, 4);
        let number = b.ins().bor(node, index);
        let further = b.ins().ishl_imm_u(rest_here, 4);
        let next = self.element(nodes, number, 8);
        let b = &mut self.b;
        b.ins()
            .jump(look, &[next.into(), further.into(), best.into()]);
        b.switch_to_block(alone);
        let one = b.ins().bxor(low, mark);
        let offset = b.ins().ishl_imm_u(one, 4);
        let address = b.ins().iadd(prefixes, offset);
        let flags = MemFlagsData::trusted();
        let prefix = b.ins().load(I64, flags, address, 0);
        let length = b.ins().load(I64, flags, address, 8);
        let differ = b.ins().bxor(prefix, value);
        // Modulo 64 again: by 64 less the length.
        let by = b.ins().ineg(length);
        let differ = b.ins().ushr(differ, by);
        let found = b.ins().select(differ, best, one);
        b.ins().jump(on, &[found.into()]);
        b.switch_to_block(on);
        row
    }
}
