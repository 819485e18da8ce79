//! Random paths, and what they mean.

use super::{Buffers, Choices, Side};
use p4::ir::*;
use p4::value::Bits;
use pipeline::context::STEPS;
use pipeline::engine::{Ended, Packet, Passed, Path, Source, Step};
use std::sync::Arc;

/// A path through all sections of a program, with everything that can stand between them.
pub fn path(c: &mut Choices<'_>, program: &Program) -> Path {
    let slots = program.slots.iter().enumerate();
    let narrow = |ty: Ty| ty.width() <= 64 && !matches!(ty, Ty::Varbit(_));
    let narrow = slots.filter(|(_, slot)| narrow(slot.ty));
    let slots: Vec<SlotId> = narrow.map(|(index, _)| SlotId(index as u32)).collect();
    let mut steps = Vec::new();
    for section in 0..program.sections.len() as u32 {
        for _ in 0..c.below(4) {
            let slot = *c.pick(&slots);
            steps.push(match c.below(10) {
                0..=4 => Step::Set(
                    slot,
                    match c.below(9) {
                        0 => Source::Number(c.next()),
                        1 => Source::Slot(*c.pick(&slots)),
                        2 => Source::Port,
                        3 => Source::Length,
                        4 => Source::Now,
                        5 => Source::Nanoseconds,
                        6 => Source::WaitingPackets(*c.pick(&slots)),
                        7 => Source::WaitingTime(*c.pick(&slots)),
                        _ => Source::ChecksumError,
                    },
                ),
                5 => Step::LeaveIfAsked,
                6 => Step::LeaveIf(slot),
                7 => Step::DropIf(slot, c.below(3) as u64),
                _ => Step::Port(slot),
            });
        }
        steps.push(Step::Run(SectionId(section)));
    }
    steps.push(Step::Send);
    Path {
        steps,
        ..Path::default()
    }
}

/// What came of a packet on a path: slots only where it left it.
#[derive(Debug, PartialEq)]
pub struct Way {
    pub passed: Passed,
    slots: Vec<Bits>,
    position: u64,
    emitted: Vec<u8>,
    counts: Vec<Option<(u64, u64)>>,
    registers: Vec<Option<Vec<Bits>>>,
}

impl Side {
    fn begin(&mut self, bytes: &[u8]) {
        self.context
            .begin(node::Time::from_us(77), bytes.len() as u32);
        self.context.steps = 50;
    }

    /// What a path means: section by section.
    pub fn follow(&mut self, path: &Path, port: u32, bytes: &[u8]) -> Way {
        let mut cells = self.environment.layout.fresh();
        let mut packet = Packet::default();
        packet.begin(bytes);
        self.begin(bytes);
        let environment = Arc::clone(&self.environment);
        let at = |slot: SlotId| environment.layout.cell(slot).0;
        let mut leaves = 0;
        let mut passed = None;
        for (number, step) in path.steps.iter().enumerate() {
            match *step {
                Step::Run(section) => {
                    let view = environment.tables.view();
                    let (tables, context) = (view.tables(), &mut self.context);
                    let engine = &mut self.engine;
                    let ended = engine.run(section, &mut cells, &mut packet, tables, context);
                    if ended == Ended::Stop {
                        passed = Some(Passed::Stopped);
                    }
                }
                Step::Set(slot, source) => {
                    let value = match source {
                        Source::Number(number) => number,
                        Source::Slot(slot) => cells[at(slot)],
                        Source::Port => u64::from(port),
                        Source::Length => bytes.len() as u64,
                        Source::Now => 77,
                        Source::Nanoseconds => 77_000,
                        Source::ChecksumError => u64::from(self.context.effects.checksum_error),
                        Source::WaitingPackets(slot) => {
                            u64::from(self.context.waiting(cells[at(slot)]).packets)
                        }
                        Source::WaitingTime(slot) => {
                            u64::from(self.context.waiting(cells[at(slot)]).time)
                        }
                    };
                    let width = environment.layout.cell(slot).1.width();
                    environment
                        .layout
                        .write(&mut cells, slot, &Bits::new(width, value));
                }
                Step::Renew => self.context.steps = STEPS,
                Step::LeaveIfAsked => {}
                Step::LeaveIf(slot) if cells[at(slot)] != 0 => {
                    passed = Some(Passed::Left(number, leaves));
                }
                Step::DropIf(slot, value) if cells[at(slot)] == value => {
                    passed = Some(Passed::Dropped(number));
                }
                Step::LeaveIf(_) | Step::DropIf(..) => {}
                Step::Port(slot) => leaves = cells[at(slot)] as u32,
                Step::LeaveIfIs(..) | Step::Move(..) | Step::Turn => unreachable!("not made"),
                Step::Send => {
                    packet.emit_payload();
                    passed = Some(Passed::Sent(leaves));
                }
            }
            if passed.is_some() {
                break;
            }
        }
        let passed = passed.expect("a path ends with sending");
        self.way(passed, &cells, packet)
    }

    /// The same by the engine.
    pub fn pass(&mut self, buffers: &mut Buffers, port: u32, bytes: &[u8]) -> Way {
        self.begin(bytes);
        let (cells, packet) = buffers;
        let environment = Arc::clone(&self.environment);
        let view = environment.tables.view();
        let (tables, context) = (view.tables(), &mut self.context);
        let passed = self
            .engine
            .pass(port, bytes, cells, packet, tables, context);
        self.way(passed, cells, packet.clone())
    }

    fn way(&self, passed: Passed, cells: &[u64], packet: Packet) -> Way {
        let environment = &self.environment;
        let left = matches!(passed, Passed::Left(..));
        let slots = self.seen.iter().filter(|_| left);
        let counter = |object: u32, index| {
            environment
                .counter(ObjectId(object))
                .and_then(|counter| counter.read(index))
        };
        let counts = (0..4).map(|index| counter(1, index));
        let direct = (0..16).map(|index| counter(2, index));
        let register = environment.register(ObjectId(0));
        let registers = (0..5).map(|index| register.and_then(|register| register.read(index)));
        let (sent, position) = match passed {
            Passed::Sent(_) => (true, 0),
            Passed::Left(..) => (false, packet.position),
            _ => (false, 0),
        };
        Way {
            passed,
            slots: slots
                .map(|slot| environment.layout.read(cells, *slot))
                .collect(),
            position,
            emitted: if sent { packet.emitted } else { Vec::new() },
            counts: counts.chain(direct).collect(),
            registers: registers.collect(),
        }
    }
}
