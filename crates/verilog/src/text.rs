//! The pipeline's logic as Verilog: a wire for each node that needs one, a register for each cycle that a value must wait.

use crate::graph::{Graph, Id, Input, Op, Two};
use crate::names::identifier;
use crate::schedule::{Schedule, Stage};
use crate::state::{Lookup, Walk};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use p4::source::Span;

/// An expression of more names gets a wire of its own.
const LONG: usize = 8;

/// Writes the nodes of one pipeline.
pub(crate) struct Writer<'a> {
    graph: &'a Graph,
    place: &'a dyn Fn(Span) -> Option<String>,
    lookups: &'a [Lookup],
    schedule: &'a Schedule,
    /// For each read of an object where.
    reads: Vec<Id>,
    /// The window's width in bits.
    window: u32,
    names: BTreeMap<Id, String>,
    /// Names that somebody has, and the number with which a search for another like it begins.
    taken: BTreeMap<String, u32>,
    /// Where its value is used: in which cycle at the latest.
    until: BTreeMap<Id, Stage>,
    /// How often it is used in its own cycle, by others or at the outside.
    uses: BTreeMap<Id, u32>,
    /// Must have a name.
    named: BTreeSet<Id>,
    /// Which bits of a node are used, and whether all are.
    slices: BTreeMap<Id, Vec<(u32, u32)>>,
    /// The values that cross the queue after a cycle, and their total width in bits.
    queued: BTreeMap<u32, (Vec<String>, u32)>,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(walk: &'a Walk<'_>, schedule: &'a Schedule, window: u32) -> Self {
        Writer {
            graph: &walk.graph,
            place: walk.options.place,
            lookups: &walk.lookups,
            reads: walk.accesses.iter().map(|access| access.index).collect(),
            schedule,
            window,
            names: BTreeMap::new(),
            taken: BTreeMap::new(),
            until: BTreeMap::new(),
            uses: BTreeMap::new(),
            named: BTreeSet::new(),
            slices: BTreeMap::new(),
            queued: BTreeMap::new(),
        }
    }

    /// A name that nobody else has.
    pub(crate) fn reserve(&mut self, wish: &str) -> String {
        let wish = identifier(wish);
        let Some(mut number) = self.taken.get(&wish).copied() else {
            self.taken.insert(wish.clone(), 2);
            return wish;
        };
        loop {
            let name = format!("{wish}_{number}");
            number += 1;
            if !self.taken.contains_key(&name) {
                self.taken.insert(name.clone(), 2);
                self.taken.insert(wish, number);
                return name;
            }
        }
    }

    pub(crate) fn stage(&self, id: Id) -> Stage {
        self.schedule.stages[id.index()].unwrap_or_default()
    }

    /// Says that a value is used outside in some cycle.
    pub(crate) fn want(&mut self, id: Id, at: Stage) {
        if self.graph.known(id).is_some() {
            return;
        }
        self.used(id, at);
        self.named.insert(id);
    }

    fn used(&mut self, id: Id, at: Stage) {
        if self.graph.known(id).is_some() {
            return;
        }
        let until = self.until.entry(id).or_insert(at);
        *until = (*until).max(at);
        if self.stage(id) == at {
            *self.uses.entry(id).or_default() += 1;
        } else {
            self.named.insert(id);
        }
    }

    /// Looks at all uses of nodes by nodes, from the youngest to the oldest, so that nobody unused counts.
    pub(crate) fn settle(&mut self) {
        for index in (0..self.graph.nodes.len()).rev() {
            let id = Id(index as u32);
            if !self.until.contains_key(&id) {
                continue;
            }
            let at = self.stage(id);
            match self.graph.op(id) {
                Op::Lookup(number) => {
                    let lookups = self.lookups;
                    let lookup = &lookups[*number as usize];
                    for key in &lookup.keys {
                        self.want(*key, Stage(at.0 - lookup.latency));
                    }
                }
                Op::Read(number) => self.want(self.reads[*number as usize], at),
                Op::Crossed(a) => self.want(*a, self.schedule.split.unwrap_or_default()),
                _ => {}
            }
            let mut operands = Vec::new();
            self.graph.operands(id, |operand| operands.push(operand));
            for operand in operands {
                match self.graph.op(id) {
                    Op::Slice(_, low) => {
                        // A slice is taken where the whole comes to be.
                        self.slices
                            .entry(operand)
                            .or_default()
                            .push((low + self.graph.width(id) - 1, *low));
                        let own = self.stage(operand);
                        self.until.entry(operand).or_insert(own);
                        self.named.insert(operand);
                    }
                    _ => self.used(operand, at),
                }
                if matches!(
                    self.graph.op(id),
                    Op::Two(Two::LessSigned | Two::ShiftArithmetic, ..)
                ) {
                    self.named.insert(operand);
                }
            }
            let names = self.graph.names.contains_key(&id);
            let always = matches!(
                self.graph.op(id),
                Op::Lookup(_)
                    | Op::Read(_)
                    | Op::Random(_)
                    | Op::Crossed(_)
                    | Op::PacketAt(_)
                    | Op::Two(Two::ShiftArithmetic | Two::Divide | Two::Modulo, ..)
            );
            let shared = self.uses.get(&id).copied().unwrap_or(0) > 1;
            let wires = matches!(
                self.graph.op(id),
                Op::Packet(_) | Op::Along(_) | Op::Slice(..) | Op::Input(_)
            );
            if always || names || (!wires && shared) {
                self.named.insert(id);
            }
        }
        // What would be a long line has a name of its own.
        let mut sizes: BTreeMap<Id, usize> = BTreeMap::new();
        for id in self.until.keys() {
            let mut size = 1;
            self.graph.operands(*id, |operand| {
                let inside =
                    self.stage(operand) == self.stage(*id) && !self.named.contains(&operand);
                size += if inside {
                    sizes.get(&operand).copied().unwrap_or(1)
                } else {
                    1
                };
            });
            if size > LONG
                && !matches!(
                    self.graph.op(*id),
                    Op::Packet(_) | Op::Along(_) | Op::Input(_)
                )
            {
                self.named.insert(*id);
                size = 1;
            }
            sizes.insert(*id, if self.named.contains(id) { 1 } else { size });
        }
    }

    /// Whether somebody uses it.
    pub(crate) fn is_used(&self, id: Id) -> bool {
        self.until.contains_key(&id)
    }

    fn name_of(&mut self, id: Id) -> String {
        if let Some(name) = self.names.get(&id) {
            return name.clone();
        }
        let wish = match (self.graph.names.get(&id), self.graph.op(id)) {
            (Some(name), _) => name.clone(),
            (None, Op::Read(number)) => format!("read_{number}"),
            (None, Op::Random(number)) => format!("random_{number}"),
            (None, Op::Crossed(a)) => {
                let of = self.graph.names.get(a).cloned();
                of.map_or_else(|| "crossed".into(), |name| format!("{name} egress"))
            }
            (None, Op::Input(_)) => format!("arrival_{}", self.expression(id)),
            (
                None,
                Op::Two(Two::And | Two::Or | Two::Equal | Two::Less | Two::LessSigned, ..)
                | Op::Not(_),
            ) if self.graph.width(id) == 1 => "when".into(),
            _ => "v".into(),
        };
        let name = self.reserve(&wish);
        self.names.insert(id, name.clone());
        name
    }

    /// A node's value in some cycle.
    pub(crate) fn at(&mut self, id: Id, at: Stage) -> String {
        if let Some(value) = self.graph.known(id) {
            return literal(self.graph.width(id), &value.to_str_radix(16));
        }
        let own = self.stage(id);
        if at > own {
            let name = self.name_of(id);
            return format!("{name}_s{}", at.0);
        }
        if self.named.contains(&id) {
            return self.name_of(id);
        }
        let text = self.expression(id);
        match self.graph.op(id) {
            Op::Packet(_)
            | Op::Along(_)
            | Op::Slice(..)
            | Op::Input(_)
            | Op::Concat(_)
            | Op::Not(_) => text,
            _ => format!("({text})"),
        }
    }

    fn expression(&mut self, id: Id) -> String {
        let at = self.stage(id);
        let width = self.graph.width(id);
        match self.graph.op(id).clone() {
            Op::Constant(value) => literal(width, &value.to_str_radix(16)),
            Op::Input(input) => match input {
                Input::Port => "port",
                Input::Available => "window_bytes",
                Input::Length => "length",
                Input::Sum => "packet_sum",
                Input::Nanoseconds => "time_ns",
                Input::Microseconds => "time_us",
                Input::IsCopy => "copy_is_copy",
                Input::IsClone => "copy_is_clone",
                Input::CopyPort => "copy_port",
                Input::CopyInstance => "copy_instance",
                Input::NoCopy => "copy_none",
                Input::Keep => "copy_keep",
                Input::Replay => "copy_replay",
            }
            .into(),
            Op::Along(from) => range("along", from + width - 1, from, u32::MAX),
            Op::Packet(from) => {
                let top = self.window - 1 - from;
                range("window", top, top + 1 - width, self.window)
            }
            Op::PacketAt(_) | Op::Lookup(_) | Op::Read(_) | Op::Random(_) | Op::Crossed(_) => {
                self.name_of(id)
            }
            Op::Not(a) => format!("~{}", self.at(a, at)),
            Op::Two(op, a, b) => {
                let (a, b) = (self.at(a, at), self.at(b, at));
                let sign = match op {
                    Two::Add => "+",
                    Two::Subtract => "-",
                    Two::Multiply => "*",
                    Two::Divide => "/",
                    Two::Modulo => "%",
                    Two::And => "&",
                    Two::Or => "|",
                    Two::Xor => "^",
                    Two::ShiftLeft => "<<",
                    Two::ShiftRight => ">>",
                    Two::ShiftArithmetic => return format!("$signed({a}) >>> {b}"),
                    Two::Equal => "==",
                    Two::Less => "<",
                    Two::LessSigned => return format!("$signed({a}) < $signed({b})"),
                };
                format!("{a} {sign} {b}")
            }
            Op::Choose(condition, yes, no) => {
                let (condition, yes, no) =
                    (self.at(condition, at), self.at(yes, at), self.at(no, at));
                format!("{condition} ? {yes} : {no}")
            }
            Op::Slice(a, low) => {
                let of = self.graph.width(a);
                let name = self.name_of(a);
                range(&name, low + width - 1, low, of)
            }
            Op::Concat(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.at(*part, at)).collect();
                format!("{{{}}}", parts.join(", "))
            }
            Op::Parity(a, mask) => {
                let of = self.graph.width(a);
                let mask = literal(of, &mask.to_str_radix(16));
                format!("^({} & {mask})", self.at(a, at))
            }
        }
    }

    /// All wires and registers, cycle by cycle.
    pub(crate) fn write(&mut self) -> String {
        let mut by_stage: BTreeMap<Stage, Vec<Id>> = BTreeMap::new();
        for id in self.until.keys() {
            by_stage.entry(self.stage(*id)).or_default().push(*id);
        }
        let mut delays: BTreeMap<Stage, Vec<Id>> = BTreeMap::new();
        for (id, until) in &self.until {
            for stage in self.stage(*id).0 + 1..=until.0 {
                delays.entry(Stage(stage)).or_default().push(*id);
            }
        }
        // The window waits for the last shift: another packet's comes in each cycle.
        let shifts = self.until.keys();
        let shifts = shifts.filter(|id| matches!(self.graph.op(**id), Op::PacketAt(_)));
        let shifted = shifts.map(|id| self.stage(*id)).max().unwrap_or_default();
        let mut text = String::new();
        let mut sink = Vec::new();
        for stage in 0..=self.schedule.last.0 {
            let stage = Stage(stage);
            let _ = writeln!(text, "\n    // ---- cycle {} ----", stage.0);
            let mut moves: Vec<(String, String, u32)> = Vec::new();
            if stage > Stage(0) && stage <= shifted {
                let before = window_in(Stage(stage.0 - 1));
                moves.push((before, window_in(stage), self.window));
            }
            for id in delays.get(&stage).into_iter().flatten() {
                let before = self.at(*id, Stage(stage.0 - 1));
                moves.push((before, self.at(*id, stage), self.graph.width(*id)));
            }
            self.moves(stage, moves, &mut text);
            for id in by_stage.get(&stage).into_iter().flatten() {
                self.wire(*id, &mut text, &mut sink);
            }
        }
        if !sink.is_empty() {
            let _ = writeln!(text, "\n    // Bits that nobody needs");
            let _ = writeln!(text, "    wire unused = &{{1'b0, {}}};", sink.join(", "));
        }
        text
    }

    /// Values from the cycle before: before, now, bits.
    fn moves(&mut self, stage: Stage, moves: Vec<(String, String, u32)>, text: &mut String) {
        let before = stage.0.checked_sub(1);
        let Some(queue) =
            before.filter(|at| self.schedule.queues.values().any(|queue| queue == at))
        else {
            if !moves.is_empty() {
                let declare = |(_, now, width): &(String, String, u32)| {
                    format!("    reg {}{now};\n", bus(*width))
                };
                let take = |(before, now, _): &(String, String, u32)| {
                    format!("        {now} <= {before};\n")
                };
                *text += &moves.iter().map(declare).collect::<String>();
                let moves: String = moves.iter().map(take).collect();
                let _ = writeln!(text, "    always @(posedge clk) begin\n{moves}    end");
            }
            return;
        };
        // They wait with their packet.
        let all: u32 = moves.iter().map(|(_, _, width)| width).sum();
        let vector = queued(queue);
        let _ = writeln!(text, "    wire {}{vector};", bus(all.max(1)));
        let mut above = all;
        let mut parts = Vec::new();
        for (before, now, width) in moves {
            let part = range(&vector, above - 1, above - width, all);
            let _ = writeln!(text, "    wire {}{now} = {part};", bus(width));
            above -= width;
            parts.push(before);
        }
        if parts.is_empty() {
            let _ = writeln!(text, "    wire unused_{vector} = {vector};");
            parts.push("1'b0".into());
        }
        self.queued.insert(queue, (parts, all.max(1)));
    }

    /// The values that cross the queue after a cycle, and their total width in bits.
    pub(crate) fn queued(&self, queue: u32) -> (String, u32) {
        let (parts, width) = &self.queued[&queue];
        (parts.join(", "), *width)
    }

    fn wire(&mut self, id: Id, text: &mut String, sink: &mut Vec<String>) {
        let width = self.graph.width(id);
        if !self.named.contains(&id) {
            return;
        }
        let name = self.name_of(id);
        match self.graph.op(id).clone() {
            Op::Lookup(_) | Op::Read(_) | Op::Random(_) | Op::Crossed(_) => {}
            Op::PacketAt(from) => {
                let stage = self.stage(id);
                let from = self.at(from, stage);
                let window = window_in(stage);
                let shifted = self.reserve(&format!("{name}_window"));
                let _ = writeln!(
                    text,
                    "    wire [{}:0] {shifted} = {window} << {from};",
                    self.window - 1
                );
                let part = range(&shifted, self.window - 1, self.window - width, self.window);
                let _ = writeln!(text, "    wire {}{name} = {part};", bus(width));
                if width < self.window {
                    sink.push(range(&shifted, self.window - width - 1, 0, self.window));
                }
            }
            _ => {
                let value = self.expression(id);
                let of = self.graph.names.get(&id).filter(|of| **of != name).cloned();
                let place = self.graph.nodes[id.index()].place.and_then(self.place);
                let told: Vec<String> = [of, place].into_iter().flatten().collect();
                let told = match told.is_empty() {
                    true => String::new(),
                    false => format!("  // {}", told.join(", ")),
                };
                let _ = writeln!(text, "    wire {}{name} = {value};{told}", bus(width));
            }
        }
        // What only slices look at may have bits that nobody looks at.
        let whole = self.uses.get(&id).is_some_and(|uses| *uses > 0)
            || self
                .until
                .get(&id)
                .is_some_and(|until| *until > self.stage(id));
        if !whole && let Some(slices) = self.slices.get(&id) {
            for (high, low) in holes(slices, width) {
                sink.push(range(&name, high, low, width));
            }
        }
    }

    /// The window's bits that nobody looks at.
    pub(crate) fn window_holes(&self) -> Vec<(u32, u32)> {
        let mut looked = Vec::new();
        for id in self.until.keys() {
            match self.graph.op(*id) {
                Op::Packet(from) => {
                    let top = self.window - 1 - from;
                    looked.push((top, top + 1 - self.graph.width(*id)));
                }
                Op::PacketAt(_) => return Vec::new(),
                _ => {}
            }
        }
        holes(&looked, self.window)
    }
}

/// Name of the queue's output after a cycle. No value of the program has such a name (`names`).
pub(crate) fn queued(queue: u32) -> String {
    format!("queued_s{}", queue + 1)
}

/// The window in some cycle. No value of the program has such a name (`names`).
fn window_in(stage: Stage) -> String {
    match stage.0 {
        0 => "window".into(),
        stage => format!("window_s{stage}"),
    }
}

/// The ranges of a number of bits that no slice has.
fn holes(slices: &[(u32, u32)], width: u32) -> Vec<(u32, u32)> {
    let mut sorted: Vec<(u32, u32)> = slices.iter().map(|(high, low)| (*low, *high)).collect();
    sorted.sort_unstable();
    let (mut next, mut holes) = (0, Vec::new());
    for (low, high) in sorted {
        if low > next {
            holes.push((low - 1, next));
        }
        next = next.max(high + 1);
    }
    if next < width {
        holes.push((width - 1, next));
    }
    holes
}

/// `[7:0] ` for eight bits, nothing for one.
pub(crate) fn bus(width: u32) -> String {
    match width {
        1 => String::new(),
        width => format!("[{}:0] ", width - 1),
    }
}

fn range(name: &str, high: u32, low: u32, width: u32) -> String {
    match (high, low) {
        (0, 0) if width == 1 => name.into(),
        (high, low) if high == low => format!("{name}[{high}]"),
        (high, low) => format!("{name}[{high}:{low}]"),
    }
}

pub(crate) fn literal(width: u32, hexadecimal: &str) -> String {
    match (width, hexadecimal) {
        (1, digits) => format!("1'b{digits}"),
        (width, digits) if digits.bytes().all(|digit| digit == b'0') && width > 64 => {
            format!("{{{width}{{1'b0}}}}")
        }
        (width, digits) => format!("{width}'h{digits}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_what_no_slice_has() {
        assert_eq!(holes(&[(7, 4), (1, 0)], 16), [(3, 2), (15, 8)]);
        assert_eq!(holes(&[(15, 0), (3, 2)], 16), []);
    }
}
