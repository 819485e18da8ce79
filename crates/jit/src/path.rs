//! A path as a function: section after section, with what the architecture does between them.

use crate::arithmetic::{Wide, constant};
use crate::origin::Clean;
use crate::plan::MAX_HEADER_BITS;
use crate::runtime::{Shim, State};
use crate::unit::{End, Unit};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, Value, types::I64};
use cranelift_codegen::isa::TargetFrontendConfig;
use p4::ir::{SlotId, Ty};
use pipeline::context::STEPS;
use pipeline::engine::{Passed, Path, Source, Step};
use std::mem::offset_of;

/// How a path ends, in the low byte of what the function gives; above it the number of the step.
const SENT: u64 = 3;
const DROPPED: u64 = 4;
const LEFT: u64 = 5;

/// Content of a header that was never read.
static ZEROS: [u8; MAX_HEADER_BITS as usize / 8] = [0; MAX_HEADER_BITS as usize / 8];

/// Maximum number of cells that are cleared one by one.
const MAX_UNROLLED_CELLS: usize = 40;

/// Converts the return value of a path's function.
pub(crate) fn passed(result: u64, port: u64) -> Passed {
    let step = (result >> 8) as usize;
    match result & 0xFF {
        SENT => Passed::Sent(port as u32),
        DROPPED => Passed::Dropped(step),
        LEFT => Passed::Left(step, port as u32),
        _ => Passed::Stopped,
    }
}

impl Unit<'_, '_> {
    /// A path as a whole function, of which the first block has the parameters. Gives whether it needs the packet's own bytes.
    pub(crate) fn build_path(mut self, path: &Path, config: TargetFrontendConfig) -> bool {
        self.begin_path();
        let leave = self.b.create_block();
        let result = self.b.append_block_param(leave, I64);
        // What is clean wherever the path is left.
        let mut leaves: Option<Clean> = None;
        let mut leaving = |clean: &Clean| match &mut leaves {
            Some(leaves) => drop(leaves.meet(clean)),
            None => leaves = Some(clean.clone()),
        };
        for (number, step) in path.steps.iter().enumerate() {
            let number = (number as u64) << 8;
            match *step {
                Step::Run(id) => {
                    self.section = &self.program.sections[id.index()];
                    self.index = id.0;
                    self.aligned = self.plan.aligned(id.index());
                    self.bounded = self.plan.bounded(id.index());
                    let after = self.b.create_block();
                    self.after = Some(after);
                    let section = self.section;
                    self.body(&section.body, End::Section);
                    self.after = None;
                    self.known.clear();
                    self.b.switch_to_block(after);
                }
                Step::Set(slot, source) => {
                    let value = self.source_of(source);
                    let ty = Ty::Bits(64);
                    let limbs = vec![value];
                    let value = Wide { limbs, ty };
                    let ty = self.program.slots[slot.index()].ty;
                    let value = value.cast(Ty::Bits(ty.width()), &mut self.b);
                    self.write(slot, &value.of_type(ty));
                }
                Step::Renew => {
                    let steps = constant(&mut self.b, u64::from(STEPS));
                    self.set_field(offset_of!(State, steps), steps);
                }
                Step::LeaveIfAsked => {
                    // Known when all sections before are made.
                    if self.asks {
                        let asked = self.field(offset_of!(State, asked));
                        self.branch_out(asked, leave, LEFT | number);
                        leaving(&self.clean);
                    }
                }
                Step::LeaveIf(slot) => {
                    let value = self.read(slot).limbs[0];
                    self.branch_out(value, leave, LEFT | number);
                    leaving(&self.clean);
                }
                Step::DropIf(slot, value) => {
                    let is = self.read(slot).limbs[0];
                    let value = constant(&mut self.b, value);
                    let same = self.b.ins().icmp(IntCC::Equal, is, value);
                    let (out, on) = (self.b.create_block(), self.b.create_block());
                    self.b.ins().brif(same, out, &[], on, &[]);
                    self.b.switch_to_block(out);
                    let result = constant(&mut self.b, DROPPED | number);
                    self.b.ins().return_(&[result]);
                    self.b.switch_to_block(on);
                }
                // Only on paths with a turn, which is not followed.
                Step::LeaveIfIs(..) | Step::Turn => unreachable!("no turns"),
                Step::Move(to, from) => self.move_slot(to, from),
                Step::Port(slot) => {
                    let port = self.read(slot).limbs[0];
                    self.set_field(offset_of!(State, port), port);
                }
                Step::Send => {
                    self.save();
                    let result = constant(&mut self.b, SENT);
                    self.b.ins().return_(&[result]);
                }
            }
        }
        self.b.switch_to_block(leave);
        self.b.set_cold_block(leave);
        if let Some(clean) = leaves {
            self.clean = clean;
            self.flush();
            self.save();
        }
        self.b.ins().return_(&[result]);
        self.count_steps();
        self.b.seal_all_blocks();
        self.b.finalize(config);
        self.reads_bytes
    }

    /// Gives a slot the value of another one of its type.
    fn move_slot(&mut self, to: SlotId, from: SlotId) {
        let value = self.read(from);
        self.write(to, &value);
        if matches!(value.ty, Ty::Varbit(_)) {
            let behind = |slot: SlotId| self.layout.range(slot).end as i32 * 8 - 8;
            let (to, from) = (behind(to), behind(from));
            let flags = ir::MemFlagsData::trusted();
            let length = self.b.ins().load(I64, flags, self.cells, from);
            self.b.ins().store(flags, length, self.cells, to);
        }
    }

    /// All slots zero, nothing read, nothing emitted.
    fn begin_path(&mut self) {
        let zero = constant(&mut self.b, 0);
        for slot in self.plan.in_registers() {
            let variable = self.b.declare_var(I64);
            self.b.def_var(variable, zero);
            self.variables.insert(slot, variable);
        }
        if let Some(origins) = &self.origins {
            self.clean = origins.all();
            let zeros = constant(&mut self.b, ZEROS.as_ptr().addr() as u64);
            for slot in 0..self.program.slots.len() as u32 {
                if let Some((header, 0)) = origins.home(SlotId(slot)) {
                    let base = self.b.declare_var(I64);
                    self.b.def_var(base, zeros);
                    self.bases.insert(header, base);
                }
            }
        }
        let ranges = self.plan.in_cells().map(|slot| self.layout.range(slot));
        let cells: Vec<usize> = ranges.flatten().collect();
        if cells.len() > MAX_UNROLLED_CELLS {
            self.call(Shim::Clear, &[]);
        } else {
            for cell in cells {
                let flags = ir::MemFlagsData::trusted();
                let at = cell as i32 * 8;
                self.b.ins().store(flags, zero, self.cells, at);
            }
        }
        let bytes = self.field(offset_of!(State, bytes));
        let bits = self.field(offset_of!(State, bits));
        self.bytes = Some((bytes, bits));
        self.b.def_var(self.position, zero);
        self.b.def_var(self.emitted, zero);
    }

    fn source_of(&mut self, source: Source) -> Value {
        match source {
            Source::Number(number) => constant(&mut self.b, number),
            Source::Slot(slot) => self.read(slot).limbs[0],
            Source::Port => self.field(offset_of!(State, from)),
            Source::Length => {
                let bits = self.field(offset_of!(State, bits));
                let three = constant(&mut self.b, 3);
                self.b.ins().ushr(bits, three)
            }
            Source::Now => self.field(offset_of!(State, now)),
            Source::Nanoseconds => self.field(offset_of!(State, nanoseconds)),
            Source::ChecksumError => self.field(offset_of!(State, checksum_error)),
            Source::WaitingPackets(port) => self.waiting(port, Shim::WaitingPackets),
            Source::WaitingTime(port) => self.waiting(port, Shim::WaitingTime),
        }
    }

    fn waiting(&mut self, port: SlotId, shim: Shim) -> Value {
        let port = self.read(port).limbs[0];
        self.call(shim, &[port]).unwrap_or(port)
    }

    /// Goes to a block with a result if a value is not zero.
    fn branch_out(&mut self, value: Value, to: ir::Block, result: u64) {
        let on = self.b.create_block();
        let result = constant(&mut self.b, result);
        self.b.ins().brif(value, to, &[result.into()], on, &[]);
        self.b.switch_to_block(on);
    }

    /// Puts all slots that others may look at into their cells.
    fn flush(&mut self) {
        let variables = self.variables.iter().map(|(slot, v)| (*slot, *v));
        let visible = variables.filter(|(slot, _)| self.plan.visible(*slot));
        let visible: Vec<(SlotId, _)> = visible.collect();
        for (slot, variable) in visible {
            let width = self.program.slots[slot.index()].ty.width();
            let value = match self.home_of(slot) {
                // So that nothing need be kept for this.
                Some((header, at)) if width > 0 => self.words_of(header, at, width)[0].0,
                _ => self.b.use_var(variable),
            };
            let at = self.layout.cell(slot).0 as i32 * 8;
            let flags = ir::MemFlagsData::trusted();
            self.b.ins().store(flags, value, self.cells, at);
        }
    }

    /// Tells the interpreter in which section it is.
    pub(crate) fn name_section(&mut self) {
        self.reads_bytes = true;
        let section = constant(&mut self.b, u64::from(self.index));
        self.set_field(offset_of!(State, section), section);
    }
}
