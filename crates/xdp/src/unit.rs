//! A program's path as one program of the kernel: sections, blocks, and where they lead.

use crate::frame::{
    CELLS, CHECKSUM_ERROR, CODES, COLOUR, DONE, EMITTED, ENDED, FROM, Frame, GROUP, HIT, INDEX,
    KIND, LENGTH, NANOSECONDS, PORT, POSITION, RESULT,
};
use crate::instruction::{
    Alu, Assembler, Compare, Label, R0, R1, R2, R3, R4, R6, R7, R8, R9, R10, Size,
};
use crate::maps::{Map, Object, Purpose};
use crate::requests::Requests;
use crate::timed;
use p4::ir::{
    Block, BlockId, Body, ParserError, Program, Section, SlotId, StatementKind, TableId, Terminator,
};
use p4::source::Span;
use pipeline::engine::{Detours, Path, Source, Step};
use pipeline::environment::{Environment, Unsupported};
use pipeline::externs::Call;
use pipeline::layout::limbs;
use std::collections::BTreeMap;

/// bpf_map_lookup_elem.
pub(crate) const LOOKUP: i32 = 1;
const KTIME_GET_NS: i32 = 5;
pub(crate) const REDIRECT_MAP: i32 = 51;
/// `struct xdp_md`: where a packet begins and ends, what lies before it, and the interface that it came by.
pub(crate) const DATA: i32 = 0;
pub(crate) const DATA_END: i32 = 4;
const DATA_META: i32 = 8;
const INTERFACE: i32 = 12;
const XDP_ABORTED: i32 = 0;
pub(crate) const XDP_DROP: i32 = 1;
const XDP_PASS: i32 = 2;
const XDP_REDIRECT: i32 = 4;
/// How many bytes lie before a packet that a program is tried with: port, time, and length.
pub(crate) const BEFORE: usize = 24;
/// How many jumps backwards there are in a section: the verifier follows each of them.
const BACKWARDS: i32 = 64;

/// Why a statement cannot be in a program of the kernel.
pub(crate) type Fault = Unsupported;

/// How a packet ended, in the low byte of [`RESULT`]; above it the number of the path's step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Code {
    Sent,
    Dropped,
    /// It is to leave the path.
    Left,
    /// It asks for more than the kernel allows.
    Beyond,
    /// It became longer than there is room before it, or shorter than an Ethernet header.
    NoRoom,
    Assert,
    Assume,
    /// Too many jumps backwards.
    Steps,
    /// It is to leave by a port that is not there.
    NoPort,
    /// It is longer than the interface takes that it is to leave by.
    TooLong,
    /// No packet ends so: copies for ports that are not there.
    NoCopy,
    /// It was to begin anew once too often.
    Passes,
}

/// How a program learns by which port a packet came, and where packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entrance {
    /// Port, time and length lie before the packet, as BPF_PROG_TEST_RUN gives them; a packet that is sent stays where it is. Behind a packet there
    /// may be more, since the kernel takes none that are shorter than an Ethernet header.
    Trial,
    /// From the interface; a packet that is sent goes to another.
    Attached,
}

/// What the end of a body means.
#[derive(Clone, Copy)]
pub(crate) enum End {
    Section { after: Label },
    Action { next: Label, exit: Label },
}

/// Makes a program.
pub(crate) struct Unit<'a> {
    pub(crate) a: Assembler,
    pub(crate) environment: &'a Environment,
    pub(crate) program: &'a Program,
    pub(crate) frame: Frame,
    pub(crate) maps: Vec<Map>,
    pub(crate) calls: Vec<Call>,
    pub(crate) entrance: Entrance,
    /// What becomes of packets that leave the path, and what they ask for.
    pub(crate) detours: Detours,
    pub(crate) requests: Requests,
    /// Whether the code is for what is behind ingress.
    pub(crate) is_egress: bool,
    section: Option<&'a Section>,
    /// The slot with a packet's multicast group, where the kernel may make the copies, and where egress begins.
    group: Option<(SlotId, Label)>,
    /// The table whose action the code is for, if its entries have a time.
    pub(crate) applied: Option<TableId>,
    /// Where a parser goes on after an error.
    failing: Option<Label>,
    /// The step that the code is for.
    step: u64,
    span: Option<Span>,
    /// The next free temporary.
    free: i32,
    leaves: BTreeMap<(Code, u64), Label>,
    faults: Vec<Unsupported>,
}

/// Makes a program of a path.
///
/// # Errors
/// All places of the program that the kernel cannot do.
pub fn compile(
    environment: &Environment,
    path: &Path,
    entrance: Entrance,
) -> Result<Object, Vec<Unsupported>> {
    if cfg!(target_endian = "big") {
        return Err(vec![
            "programs for the kernel are made on machines with little-endian numbers only".into(),
        ]);
    }
    let Some(frame) = Frame::new(
        &environment.layout,
        environment.checksums,
        timed::key_cells(environment),
    ) else {
        let cells = environment.layout.cells();
        return Err(vec![
            format!("the program has {cells} cells of fields and variables, more than the 32 KiB of a map's value hold").into(),
        ]);
    };
    let mut unit = Unit {
        a: Assembler::default(),
        environment,
        program: &environment.program,
        frame,
        maps: Vec::new(),
        calls: Vec::new(),
        entrance,
        detours: path.detours.clone(),
        requests: Requests::of(&environment.program, path),
        is_egress: false,
        section: None,
        group: None,
        applied: None,
        failing: None,
        step: 0,
        span: None,
        free: 0,
        leaves: BTreeMap::new(),
        faults: Vec::new(),
    };
    unit.path(path);
    let Unit {
        a,
        maps,
        calls,
        requests,
        mut faults,
        ..
    } = unit;
    if !faults.is_empty() {
        let mut told = Vec::new();
        faults.retain(|fault| {
            let new = !told.contains(&(fault.span, fault.message.clone()));
            told.push((fault.span, fault.message.clone()));
            new
        });
        return Err(faults);
    }
    let length = a.len();
    let (code, relocations) = a.finish().map_err(|_| {
        vec![Unsupported::from(format!(
            "the program has {length} instructions, too many for the jumps of the kernel's machine"
        ))]
    })?;
    Ok(Object {
        code,
        relocations,
        maps,
        calls,
        truncates: requests.truncate,
        frame,
    })
}

impl<'a> Unit<'a> {
    pub(crate) fn fault(&self, message: &str) -> Fault {
        Unsupported {
            message: message.into(),
            span: self.span,
        }
    }

    /// Room for so many cells in the frame, until the statement ends.
    pub(crate) fn take(&mut self, cells: usize) -> Result<i32, Fault> {
        let at = self.frame.temporaries + self.free;
        self.free += 8 * cells as i32;
        if at + 8 * cells as i32 > self.frame.emit {
            return Err(self.fault("the expression is too large; cut it into several"));
        }
        Ok(at)
    }

    fn path(&mut self, path: &Path) {
        self.begin();
        if self.entrance == Entrance::Attached {
            let group = self.alike(path);
            self.group = group.map(|slot| (slot, self.a.label()));
        }
        let of_time = |step: &Step| matches!(step, Step::Set(_, Source::Now | Source::Nanoseconds));
        if path.steps.iter().any(of_time) || timed::key_cells(self.environment) > 0 {
            self.tell_time();
        }
        for (number, step) in path.steps.iter().enumerate() {
            self.step = number as u64;
            self.span = path.statement_of(step);
            self.free = 0;
            match *step {
                Step::Run(id) => {
                    let program = self.program;
                    let section = &program.sections[id.index()];
                    self.section = Some(section);
                    self.a.alu(Alu::Move, R9, 0);
                    let after = self.a.label();
                    self.body(&section.body, End::Section { after });
                    let ends = self.a.is_used(after);
                    self.a.bind(after);
                    if !ends {
                        // Nothing comes here.
                        return self.finish();
                    }
                }
                Step::Set(slot, source) => {
                    match source {
                        Source::Number(_) if self.came(slot) => {}
                        // What the path has here is the kind of a packet that arrives.
                        Source::Number(_) if self.has_kind(slot) => {
                            self.a.load(Size::B8, R1, R7, KIND);
                        }
                        source => self.source(source),
                    }
                    let ty = self.program.slots[slot.index()].ty;
                    let at = self.cell(slot);
                    self.cut(R1, ty.width().min(64));
                    self.a.store(Size::B8, R7, at, R1);
                    for cell in 1..limbs(ty.width()) as i32 {
                        self.a.store_number(Size::B8, R7, at + 8 * cell, 0);
                    }
                }
                // Each section counts its own jumps. Other requests are refused when the program is made.
                Step::LeaveIfAsked => self.or_fault(Self::answer),
                Step::Renew => {
                    self.is_egress = true;
                    if let Some((_, egress)) = self.group {
                        self.a.bind(egress);
                    }
                    self.clear_sums();
                }
                Step::LeaveIf(slot) if self.group.is_some_and(|(group, _)| group == slot) => {
                    if let Some((_, egress)) = self.group {
                        self.copies(slot, egress);
                    }
                }
                Step::LeaveIf(slot) if self.goes_on(slot) => {}
                Step::LeaveIf(slot) => {
                    let at = self.cell(slot);
                    let on = self.a.label();
                    self.a.load(Size::B8, R1, R7, at);
                    self.a.jump_if(Compare::Equal, R1, 0, on);
                    self.or_fault(|unit| {
                        if !unit.resubmit_by(slot)? {
                            unit.leave(Code::Left);
                        }
                        Ok(())
                    });
                    self.a.bind(on);
                }
                Step::LeaveIfIs(slot, value) => {
                    let at = self.cell(slot);
                    let on = self.a.label();
                    self.a.load(Size::B8, R1, R7, at);
                    self.a.number(R2, value);
                    self.a.jump_if(Compare::NotEqual, R1, R2, on);
                    self.or_fault(Self::recirculate_by_port);
                    self.a.bind(on);
                }
                Step::Move(to, from) => {
                    let layout = &self.environment.layout;
                    let (cells, to) = (layout.range(from).len(), self.cell(to));
                    let from = self.cell(from);
                    for cell in 0..cells as i32 {
                        self.a.load(Size::B8, R1, R7, from + 8 * cell);
                        self.a.store(Size::B8, R7, to + 8 * cell, R1);
                    }
                }
                Step::Turn => self.turn(),
                Step::DropIf(slot, value) => {
                    let at = self.cell(slot);
                    let on = self.a.label();
                    self.a.load(Size::B8, R1, R7, at);
                    self.a.number(R2, value);
                    self.a.jump_if(Compare::NotEqual, R1, R2, on);
                    self.unless_dropped(slot, on);
                    self.leave(Code::Dropped);
                    self.a.bind(on);
                }
                Step::Port(slot) => {
                    let at = self.cell(slot);
                    self.a.load(Size::B8, R1, R7, at);
                    self.a.store(Size::B8, R7, PORT, R1);
                }
                Step::Send => {
                    self.or_fault(Self::recirculate);
                    self.or_fault(Self::end_in_nic);
                    self.send(true);
                    self.truncate(Code::NoRoom);
                    self.leave(Code::Sent);
                }
            }
        }
        self.finish();
    }

    /// Notes what the kernel cannot do.
    fn or_fault(&mut self, make: impl FnOnce(&mut Self) -> Result<(), Fault>) {
        if let Err(fault) = make(self) {
            self.faults.push(fault);
        }
    }

    /// Whether the slot has the kind of a packet that may have begun anew.
    fn has_kind(&self, slot: SlotId) -> bool {
        self.requests.anew && !self.is_egress && self.detours.kind.contains(&slot)
    }

    /// The frame, in which nothing is read and all slots are zero, but for those that a packet has which begins anew.
    fn begin(&mut self) {
        let frame = self.map(Purpose::Frame);
        let there = self.a.label();
        self.a.alu(Alu::Move, R6, R1);
        self.a.store_number(Size::B4, R10, -4, 0);
        self.a.map(R1, frame);
        self.a.alu(Alu::Move, R2, R10);
        self.a.alu(Alu::Add, R2, -4);
        self.a.call(LOOKUP);
        self.a.jump_if(Compare::NotEqual, R0, 0, there);
        self.a.alu(Alu::Move, R0, XDP_ABORTED);
        self.a.exit();
        self.a.bind(there);
        self.a.alu(Alu::Move, R7, R0);
        for at in [POSITION, EMITTED, PORT, CHECKSUM_ERROR, HIT, GROUP, COLOUR] {
            self.a.store_number(Size::B8, R7, at, 0);
        }
        self.begin_requests();
        self.clear_sums();
        let anew = self.a.label();
        if self.requests.anew {
            self.begin_kind();
            self.a.jump_if(Compare::NotEqual, R1, 0, anew);
        }
        for cell in 0..self.frame.cells as i32 {
            self.a.store_number(Size::B8, R7, CELLS + 8 * cell, 0);
        }
        self.a.load(Size::B4, R1, R6, DATA);
        self.a.load(Size::B4, R2, R6, DATA_END);
        self.a.alu(Alu::Move, R3, R2);
        self.a.alu(Alu::Subtract, R3, R1);
        self.a.store(Size::B8, R7, LENGTH, R3);
        match self.entrance {
            Entrance::Trial => {
                let there = self.a.label();
                self.a.load(Size::B4, R3, R6, DATA_META);
                self.a.alu(Alu::Move, R4, R3);
                self.a.alu(Alu::Add, R4, BEFORE as i32);
                self.a.jump_if(Compare::LessEqual, R4, R1, there);
                self.a.alu(Alu::Move, R0, XDP_ABORTED);
                self.a.exit();
                self.a.bind(there);
                for (number, at) in [FROM, NANOSECONDS, LENGTH].into_iter().enumerate() {
                    self.a.load(Size::B8, R1, R3, 8 * number as i32);
                    self.a.store(Size::B8, R7, at, R1);
                }
            }
            Entrance::Attached => {
                let ports = self.map(Purpose::PortOf);
                let known = self.a.label();
                self.a.load(Size::B4, R1, R6, INTERFACE);
                self.a.store(Size::B4, R7, INDEX, R1);
                self.lookup(ports, INDEX);
                self.a.jump_if(Compare::NotEqual, R0, 0, known);
                // No port of the switch: it is the stack's.
                self.a.alu(Alu::Move, R0, XDP_PASS);
                self.a.exit();
                self.a.bind(known);
                self.a.load(Size::B8, R1, R0, 0);
                self.a.store(Size::B8, R7, FROM, R1);
            }
        }
        self.arrive_in_nic();
        self.a.bind(anew);
    }

    /// Brings the frame the kernel's time; a trial has been given its own.
    pub(crate) fn tell_time(&mut self) {
        if self.entrance == Entrance::Attached {
            self.a.call(KTIME_GET_NS);
            self.a.store(Size::B8, R7, NANOSECONDS, R0);
        }
    }

    fn source(&mut self, source: Source) {
        let from = match source {
            Source::Number(number) => return self.a.number(R1, number),
            Source::Slot(slot) => self.cell(slot),
            Source::Port => FROM,
            Source::Length => LENGTH,
            Source::Now | Source::Nanoseconds => NANOSECONDS,
            Source::ChecksumError => CHECKSUM_ERROR,
            Source::WaitingPackets(_) | Source::WaitingTime(_) => {
                let fault = self.fault("the program reads how long queues are, which a program of the kernel does not know; leave out `enq_qdepth`, `deq_qdepth` and `deq_timedelta`");
                return self.faults.push(fault);
            }
        };
        self.a.load(Size::B8, R1, R7, from);
        if source == Source::Now {
            self.a.alu(Alu::Divide, R1, 1000);
        }
    }

    /// Ends the packet's way here.
    pub(crate) fn leave(&mut self, code: Code) {
        let key = (code, self.step);
        let label = match self.leaves.get(&key) {
            Some(label) => *label,
            None => {
                let label = self.a.label();
                self.leaves.insert(key, label);
                label
            }
        };
        self.a.jump(label);
    }

    /// Ends it since the kernel does not allow what it asks for.
    pub(crate) fn leave_odd(&mut self) {
        self.leave(Code::Beyond);
    }

    /// All ends.
    fn finish(&mut self) {
        let (sent, other) = (self.a.label(), self.a.label());
        let attached = self.entrance == Entrance::Attached;
        for ((code, step), label) in std::mem::take(&mut self.leaves) {
            self.a.bind(label);
            self.a.number(R8, u64::from(code as u8) | step << 8);
            self.a.jump(match code == Code::Sent && attached {
                true => sent,
                false => other,
            });
        }
        let redirected = self.a.label();
        if self.a.is_used(sent) {
            self.a.bind(sent);
            self.redirect(redirected, other);
        }
        for (label, is_redirected) in [(redirected, true), (other, false)] {
            let used = self.a.is_used(label);
            self.a.bind(label);
            if !used {
                continue;
            }
            self.a.store(Size::B8, R7, RESULT, R8);
            if !attached {
                // By which the process tells this frame from those of other processors.
                self.a.call(KTIME_GET_NS);
                self.a.store(Size::B8, R7, DONE, R0);
            }
            // Only this processor counts here.
            self.a.alu(Alu::And, R8, CODES as i32 - 1);
            self.a.alu(Alu::ShiftLeft, R8, 3);
            self.a.alu(Alu::Add, R8, R7);
            self.a.load(Size::B8, R1, R8, ENDED);
            self.a.alu(Alu::Add, R1, 1);
            self.a.store(Size::B8, R8, ENDED, R1);
            self.a.alu(
                Alu::Move,
                R0,
                if is_redirected {
                    XDP_REDIRECT
                } else {
                    XDP_DROP
                },
            );
            self.a.exit();
        }
    }

    /// Gives the packet to the interface of its port.
    fn redirect(&mut self, redirected: Label, other: Label) {
        if self.group.is_some() || self.mirrors() {
            self.broadcast(redirected, other);
        }
        let (longest, interfaces) = (self.map(Purpose::Longest), self.map(Purpose::Interfaces));
        let there = self.a.label();
        self.a.load(Size::B8, R1, R7, PORT);
        self.a.store(Size::B4, R7, INDEX, R1);
        self.lookup(longest, INDEX);
        self.a.jump_if(Compare::NotEqual, R0, 0, there);
        self.a.number(R8, Code::NoPort as u64);
        self.a.jump(other);
        self.a.bind(there);
        self.no_longer(other);
        self.a.map(R1, interfaces);
        self.a.load(Size::B8, R2, R7, PORT);
        self.a.alu(Alu::Move, R3, XDP_DROP);
        self.a.call(REDIRECT_MAP);
        self.a.jump(redirected);
    }

    /// Goes on only with a packet that is no longer than the number at R0 says. What is longer the kernel would drop without a word: segments
    /// that a local sender has left whole.
    pub(crate) fn no_longer(&mut self, other: Label) {
        let fits = self.a.label();
        self.a.load(Size::B8, R3, R0, 0);
        self.a.load(Size::B4, R1, R6, DATA);
        self.a.load(Size::B4, R2, R6, DATA_END);
        self.a.alu(Alu::Subtract, R2, R1);
        self.a.jump_if(Compare::LessEqual, R2, R3, fits);
        self.a.number(R8, Code::TooLong as u64);
        self.a.jump(other);
        self.a.bind(fits);
    }

    /// Ends the current block with an error of the parser.
    pub(crate) fn fail_with(&mut self, error: ParserError) {
        if let (Some(slot), Some(value)) = (
            self.section.and_then(|section| section.error),
            self.program.error(error),
        ) {
            let value = value.clone();
            self.set(slot, &value);
        }
        match self.failing {
            Some(label) => self.a.jump(label),
            // No parser extracts without saying where to go on.
            None => self.leave(Code::Beyond),
        }
    }

    pub(crate) fn body(&mut self, body: &Body, end: End) {
        let labels: Vec<Label> = body.blocks.iter().map(|_| self.a.label()).collect();
        let before = self.failing;
        let mut rejects = None;
        if let End::Section { after } = end {
            self.failing = Some(match body.fail {
                Some(block) if fails_again(body, block) => self.a.label(),
                Some(block) => labels[block.index()],
                None => after,
            });
            rejects = Some(after);
        }
        // A way back that errors take is counted, too.
        let way_back = self.failing.zip(body.fail);
        let mut way_back = way_back.filter(|(label, block)| *label != labels[block.index()]);
        // The kernel refuses code that nothing leads to: a block is made when something has jumped to it.
        let mut made = vec![false; labels.len()];
        self.a.jump(labels[0]);
        loop {
            let next = (0..labels.len()).find(|i| !made[*i] && self.a.is_used(labels[*i]));
            let Some(index) = next else {
                match way_back.take_if(|(label, _)| self.a.is_used(*label)) {
                    Some((label, block)) => self.backwards(label, labels[block.index()]),
                    None => break,
                }
                continue;
            };
            made[index] = true;
            self.a.bind(labels[index]);
            let block = &body.blocks[index];
            if let Err(fault) = self.block(block, index, &labels, end, rejects) {
                self.faults.push(fault);
                // Nothing is made of it, but what it leads to may have faults, too.
                for to in targets(&block.terminator) {
                    self.a.jump(labels[to.index()]);
                }
                match end {
                    End::Section { after } => self.a.jump(after),
                    End::Action { next, .. } => self.a.jump(next),
                }
            }
        }
        self.failing = before;
    }

    /// Counts a jump backwards.
    fn backwards(&mut self, from: Label, to: Label) {
        let used = self.a.is_used(from);
        self.a.bind(from);
        if used {
            let on = self.a.label();
            self.a.alu(Alu::Add, R9, 1);
            self.a.jump_if(Compare::Less, R9, BACKWARDS, on);
            self.leave(Code::Steps);
            self.a.bind(on);
            self.a.jump(to);
        }
    }

    fn block(
        &mut self,
        block: &Block,
        index: usize,
        labels: &[Label],
        end: End,
        rejects: Option<Label>,
    ) -> Result<(), Fault> {
        for statement in &block.statements {
            self.span = Some(statement.span);
            self.free = 0;
            self.statement(statement)?;
        }
        self.free = 0;
        // Jumps backwards are counted; each goes by a piece of code of its own.
        let mut backwards: Vec<(Label, Label)> = Vec::new();
        let mut to = |unit: &mut Self, block: BlockId| {
            if block.index() > index {
                return labels[block.index()];
            }
            let label = unit.a.label();
            backwards.push((label, labels[block.index()]));
            label
        };
        match &block.terminator {
            Terminator::Jump(block) => {
                let label = to(self, *block);
                self.a.jump(label);
            }
            Terminator::Branch { condition, yes, no } => {
                let (yes, no) = (to(self, *yes), to(self, *no));
                self.branch(condition, 0, yes, no)?;
            }
            Terminator::Select {
                keys,
                cases,
                default,
            } => {
                let mut chosen = Vec::new();
                for case in cases {
                    chosen.push((&case.patterns[..], to(self, case.next)));
                }
                let default = to(self, *default);
                self.select(keys, &chosen, default)?;
            }
            Terminator::Apply { table, next, exit } => {
                let (next, exit) = (to(self, *next), to(self, *exit));
                self.apply(*table, next, exit)?;
            }
            Terminator::Return => match end {
                End::Section { after } => self.a.jump(after),
                End::Action { next, .. } => self.a.jump(next),
            },
            Terminator::Exit => match end {
                End::Section { after } => self.a.jump(after),
                End::Action { exit, .. } => self.a.jump(exit),
            },
            Terminator::Reject => match rejects {
                Some(after) => self.a.jump(after),
                None => self.leave(Code::Beyond),
            },
        }
        for (label, target) in backwards {
            self.backwards(label, target);
        }
        Ok(())
    }
}

/// Whether a parser may fail once more behind this block.
fn fails_again(body: &Body, block: BlockId) -> bool {
    let mut seen = vec![false; body.blocks.len()];
    let mut left = vec![block];
    while let Some(block) = left.pop() {
        if std::mem::replace(&mut seen[block.index()], true) {
            continue;
        }
        let block = &body.blocks[block.index()];
        if block.statements.iter().any(|statement| {
            matches!(
                statement.kind,
                StatementKind::Extract { .. }
                    | StatementKind::ExtractNext { .. }
                    | StatementKind::Lookahead { .. }
                    | StatementKind::Advance { .. }
            )
        }) {
            return true;
        }
        left.extend(targets(&block.terminator));
    }
    false
}

/// Whether a block is in a loop.
pub(crate) fn reaches(body: &Body, block: usize) -> bool {
    let mut seen = vec![false; body.blocks.len()];
    let mut left = targets(&body.blocks[block].terminator);
    while let Some(next) = left.pop() {
        if next.index() == block {
            return true;
        }
        if !std::mem::replace(&mut seen[next.index()], true) {
            left.extend(targets(&body.blocks[next.index()].terminator));
        }
    }
    false
}

fn targets(terminator: &Terminator) -> Vec<BlockId> {
    match terminator {
        Terminator::Jump(to) => vec![*to],
        Terminator::Branch { yes, no, .. } => vec![*yes, *no],
        Terminator::Select { cases, default, .. } => {
            let cases = cases.iter().map(|case| case.next);
            cases.chain([*default]).collect()
        }
        Terminator::Apply { next, exit, .. } => vec![*next, *exit],
        Terminator::Return | Terminator::Exit | Terminator::Reject => Vec::new(),
    }
}
