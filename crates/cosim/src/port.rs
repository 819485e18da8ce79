//! A port in Verilog, `rtl/timing_nic` or `rtl/timing_nic10g`, with the medium on one side and a host on the other.
//!
//! The port's clock has edges; edge `n` comes when the clock shows `n` ticks, and the port's counter shows `n` behind it.
//! What the world does between them is nothing but the PHY: a frame whose first bit is on the medium during tick `n` has its first
//! byte on the port's line [`PHY`] ticks later, at the line's rate, whatever the rate of the link; the preamble is before it. The other way
//! the PHY takes no time.
//!
//! Frames leave the port as they go, and the world wants to know a frame when its first bit is due. So when a preamble
//! begins, the module's state is kept, the module runs to the frame's end without anything new from outside, and goes back. When
//! it comes there by itself, each character is compared with what was seen ahead.

use crate::line::{Coming, Inputs, Outputs, Speed};
use crate::module::{Missing, Module, NoWaves};
use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;

/// From a frame's first bit on the medium to its first byte on the line, in ticks.
pub const PHY: u64 = 8;
/// Preamble and SFD.
const PREAMBLE: [u8; 8] = [0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xD5];
/// Words of frames in the port's ring for records to be sent, and frames.
const RING: usize = 4_096;
const RECORDS: usize = RING / 8;
/// Words of a record before its frame.
const HEADER: usize = 2;
/// Edges from the end of a frame that came to when the host has its record, at most: as many as the longest one has words, and some.
const HANDED_OVER: u64 = 2_100;
/// Maximum frame length with preamble and FCS, characters. A longer one is a fault of the module.
const MAX_FRAME_CHARACTERS: usize = 16_000 + 12;

/// A frame that leaves.
#[derive(Debug, PartialEq, Eq)]
pub struct Leaving {
    /// From when on its first byte is on the medium, in slots: [`Speed::slots`] to a tick.
    pub slot: u64,
    /// Its bytes, without preamble, with FCS; or none, if the module sends what is no frame.
    pub bytes: Vec<u8>,
}

/// Counters of the port, read through its register bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames sent.
    pub sent: u64,
    /// Of those, too late.
    pub late: u64,
    /// Records that were none.
    pub bad_records: u64,
    /// Frames received.
    pub received: u64,
    /// Frames received that were bad.
    pub bad: u64,
    /// Frames received for which there was no room.
    pub overflow: u64,
}

/// A word on the way into the port.
struct Word {
    data: u64,
    keep: u64,
    last: bool,
}

/// A port, at one of its edges.
pub struct Port {
    speed: Speed,
    module: Module,
    outputs: Outputs,
    /// Edges that have been.
    edges: u64,
    /// Cycles that have been simulated, those seen ahead included.
    cycles: u64,
    coming: VecDeque<Coming>,
    /// Where another frame may begin, behind the last one that has come.
    busy_until: u64,
    /// Records that are not in the port yet, words of those that are on their way, and how many words each frame has that is there or on
    /// its way.
    records: VecDeque<Vec<Word>>,
    words: VecDeque<Word>,
    held: VecDeque<usize>,
    /// What the port gives, until a record is whole.
    received: Vec<u8>,
    /// What is seen ahead of the frame that leaves.
    ahead: VecDeque<u8>,
    sending: bool,
    /// Characters that came otherwise than they were seen ahead.
    diverged: u64,
    /// Of which edges waveforms are written.
    window: Range<u64>,
}

impl Port {
    /// A port whose counter shows 0.
    ///
    /// # Errors
    /// Without Verilator at build time.
    pub fn new(speed: Speed) -> Result<Port, Missing> {
        Ok(Port {
            speed,
            module: Module::new(speed.pins().layout)?,
            window: 0..0,
            outputs: Outputs::default(),
            edges: 0,
            cycles: 0,
            coming: VecDeque::new(),
            busy_until: 0,
            records: VecDeque::new(),
            words: VecDeque::new(),
            held: VecDeque::new(),
            received: Vec::new(),
            ahead: VecDeque::new(),
            sending: false,
            diverged: 0,
        })
    }

    /// Has waveforms of a window of edges written to a file, in the format FST. Before the first of them, and once.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn write_waves(&mut self, file: &Path, window: Range<u64>) -> Result<(), NoWaves> {
        self.module.open_waves(file)?;
        self.window = window;
        Ok(())
    }

    /// How fast it is.
    pub fn speed(&self) -> Speed {
        self.speed
    }

    /// Edges that have been: what the counter shows.
    pub fn edges(&self) -> u64 {
        self.edges
    }

    /// Cycles that were simulated; those in which nothing happens are not.
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Characters that left otherwise than they were seen ahead: a fault of the module, if there are any.
    pub fn diverged(&self) -> u64 {
        self.diverged
    }

    /// A frame with FCS whose first bit is on the medium from a slot on. `false` when the medium is not free: it came by
    /// a link that is faster than the port.
    pub fn comes(&mut self, slot: u64, frame_with_fcs: &[u8]) -> bool {
        let start = slot * self.speed.stride() + self.delay();
        if start < self.free_from() {
            return false;
        }
        let characters = [&PREAMBLE, frame_with_fcs].concat();
        let coming = Coming { start, characters };
        self.busy_until = coming.end() + self.speed.gap();
        self.coming.push_back(coming);
        true
    }

    /// Whether frames that came may still be on their way to the host.
    pub fn is_receiving(&self) -> bool {
        let lanes = self.speed.lanes();
        let given = self.busy_until + HANDED_OVER * lanes <= self.edges * lanes;
        let idle = self.outputs[self.speed.pins().idle] == 1;
        !self.coming.is_empty() || !(idle || given || self.busy_until == 0)
    }

    /// The first slot in which the first bit of another frame may be on the medium.
    pub fn free_at(&self) -> u64 {
        let start = self.free_from().saturating_sub(self.delay());
        let now = self.edges * self.speed.slots();
        start.div_ceil(self.speed.stride()).max(now)
    }

    /// Characters from a frame's first bit on the medium to the beginning of its preamble on the line: the first byte is taken at the edge behind
    /// what the PHY takes.
    fn delay(&self) -> u64 {
        (1 + PHY) * self.speed.lanes() - PREAMBLE.len() as u64
    }

    /// The first place for a character on the line where a preamble may begin.
    fn free_from(&self) -> u64 {
        self.busy_until.max((self.edges + 1) * self.speed.lanes())
    }

    /// A record for the port.
    pub fn send(&mut self, record: &[u8]) {
        let words = record.chunks(8).map(|chunk| {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            Word {
                data: u64::from_le_bytes(bytes),
                keep: (1 << chunk.len()) - 1,
                last: false,
            }
        });
        let mut words: Vec<Word> = words.collect();
        if let Some(last) = words.last_mut() {
            last.last = true;
        }
        self.records.push_back(words);
        self.fill();
    }

    /// Gives the port records as long as it has room for them.
    fn fill(&mut self) {
        while let Some(record) = self.records.front()
            && self.held.iter().sum::<usize>() + record.len().saturating_sub(HEADER) <= RING
            && self.held.len() < RECORDS
            && let Some(record) = self.records.pop_front()
        {
            self.held.push_back(record.len().saturating_sub(HEADER));
            self.words.extend(record);
        }
    }

    /// The next edge at which anything can happen; `None` for not until something comes from outside.
    pub fn next(&self) -> Option<u64> {
        if !self.is_quiet() {
            return Some(self.edges + 1);
        }
        // At the edge before which the counter shows wake_at.
        let wake_at = self.outputs[self.speed.pins().wake_at];
        let own = (wake_at < (1 << 56) - 1).then(|| wake_at + 1);
        let other = self.coming.front().map(|coming| self.edge_of(coming));
        own.into_iter()
            .chain(other)
            .min()
            .map(|edge| edge.max(self.edges + 1))
    }

    /// The edge that takes the first character of a frame that comes.
    fn edge_of(&self, coming: &Coming) -> u64 {
        coming.start / self.speed.lanes()
    }

    fn is_quiet(&self) -> bool {
        let next = self.edges + 1;
        let comes = self.coming.front();
        self.outputs[self.speed.pins().idle] == 1
            && self.words.is_empty()
            && comes.is_none_or(|coming| self.edge_of(coming) > next)
    }

    /// Lets edges come until so many have been; what has left and what has been received is given to the two.
    pub fn advance(
        &mut self,
        edges: u64,
        mut leaves: impl FnMut(Leaving),
        mut receives: impl FnMut(&[u8]),
    ) {
        while self.edges < edges {
            let quiet_until = match self.is_quiet() {
                true => self.next().map_or(edges, |next| edges.min(next - 1)),
                false => 0,
            };
            let skip = quiet_until.saturating_sub(self.edges + 1);
            self.edge(skip, &mut leaves, &mut receives);
        }
    }

    /// The inputs of an edge, but for records.
    fn inputs(&self, edge: u64) -> Inputs {
        let mut inputs = Inputs::default();
        inputs[self.speed.pins().m_axis_tready] = 1;
        self.speed.put(edge, self.coming.iter(), &mut inputs);
        inputs
    }

    fn edge(
        &mut self,
        skip: u64,
        leaves: &mut impl FnMut(Leaving),
        receives: &mut impl FnMut(&[u8]),
    ) {
        let edge = self.edges + 1;
        let pins = self.speed.pins();
        let mut inputs = self.inputs(edge);
        inputs[pins.skip] = skip;
        // A word passes at an edge before which both sides are ready. Before the first edge nobody is.
        if self.outputs[pins.s_axis_tready] == 1
            && let Some(word) = self.words.pop_front()
        {
            inputs[pins.s_axis_tdata] = word.data;
            inputs[pins.s_axis_tkeep] = word.keep;
            inputs[pins.s_axis_tlast] = word.last.into();
            inputs[pins.s_axis_tvalid] = 1;
        }
        if self.outputs[pins.m_axis_tvalid] == 1 {
            self.take(receives);
        }
        self.run(&inputs, skip);
        self.edges = edge + skip;
        let next = (self.edges + 1) * self.speed.lanes();
        while self
            .coming
            .front()
            .is_some_and(|coming| coming.over(self.speed) <= next)
        {
            self.coming.pop_front();
        }
        self.watch(leaves);
    }

    fn run(&mut self, inputs: &Inputs, skip: u64) {
        self.cycles += 1;
        let edge = self.edges + 1;
        let tick = self.speed.tick();
        let layout = self.speed.pins().layout;
        let inputs = &inputs[..layout.inputs];
        let outputs = &mut self.outputs[..layout.outputs];
        match self.window.contains(&edge) {
            true => (self.module).run_with_waves(inputs, outputs, edge * tick, tick / 2),
            false => self.module.run(inputs, outputs),
        }
        debug_assert_eq!(
            self.outputs[self.speed.pins().counter],
            edge + skip,
            "the counter counts edges"
        );
    }

    /// A word of a record that the port gives.
    fn take(&mut self, receives: &mut impl FnMut(&[u8])) {
        let pins = self.speed.pins();
        let bytes = self.outputs[pins.m_axis_tkeep].count_ones() as usize;
        let word = self.outputs[pins.m_axis_tdata].to_le_bytes();
        self.received.extend_from_slice(&word[..bytes]);
        if self.outputs[pins.m_axis_tlast] == 1 {
            receives(&self.received);
            self.received.clear();
        }
    }

    /// Looks at what leaves.
    fn watch(&mut self, leaves: &mut impl FnMut(Leaving)) {
        for lane in 0..self.speed.lanes() {
            let character = self.speed.character(&self.outputs, lane);
            if character.is_some() && !self.sending {
                self.held.pop_front();
                let characters = self.look_ahead(lane);
                self.ahead = characters.iter().copied().collect();
                let frame = characters.strip_prefix(&PREAMBLE).unwrap_or_default();
                let first = self.edges * self.speed.lanes() + lane + PREAMBLE.len() as u64;
                leaves(Leaving {
                    slot: first / self.speed.stride(),
                    bytes: frame.to_vec(),
                });
                self.fill();
            }
            if character.is_some() {
                self.diverged += u64::from(self.ahead.pop_front() != character);
            } else if self.sending {
                self.diverged += self.ahead.len() as u64;
                self.ahead.clear();
            }
            self.sending = character.is_some();
        }
    }

    /// The characters of the frame that has just begun to leave, in this lane.
    fn look_ahead(&mut self, mut lane: u64) -> Vec<u8> {
        self.module.save();
        let layout = self.speed.pins().layout;
        let mut outputs = self.outputs;
        let mut characters = Vec::new();
        let mut edge = self.edges;
        while let Some(character) = self.speed.character(&outputs, lane)
            && characters.len() < MAX_FRAME_CHARACTERS
        {
            characters.push(character);
            lane += 1;
            if lane == self.speed.lanes() {
                (lane, edge) = (0, edge + 1);
                let inputs = self.inputs(edge);
                (self.module).run(&inputs[..layout.inputs], &mut outputs[..layout.outputs]);
            }
        }
        self.cycles += edge - self.edges;
        self.module.restore();
        characters
    }

    /// Reads registers one after the other, and puts the port back to where it was.
    pub fn registers<const N: usize>(&mut self, addresses: [u8; N]) -> [u32; N] {
        self.module.save();
        let pins = self.speed.pins();
        let mut outputs = self.outputs;
        let words = addresses.map(|address| {
            // Nothing is on the medium meanwhile.
            let mut inputs = Inputs::default();
            self.speed.put(0, std::iter::empty(), &mut inputs);
            let mut run = |inputs: &Inputs| {
                let outputs = &mut outputs[..pins.layout.outputs];
                self.module.run(&inputs[..pins.layout.inputs], outputs);
                (outputs[pins.s_axil_rvalid], outputs[pins.s_axil_rdata])
            };
            inputs[pins.s_axil_araddr] = address.into();
            inputs[pins.s_axil_arvalid] = 1;
            // Taken at this edge; the answer stands behind it, and is taken at the next one.
            let (valid, word) = run(&inputs);
            assert_eq!(valid, 1, "the register bus answers");
            inputs[pins.s_axil_arvalid] = 0;
            inputs[pins.s_axil_rready] = 1;
            run(&inputs);
            word as u32
        });
        self.module.restore();
        words
    }

    /// What the port counts.
    pub fn counters(&mut self) -> Counters {
        let words = self.registers([0x10, 0x14, 0x18, 0x20, 0x24, 0x28]);
        let [sent, late, bad_records, received, bad, overflow] = words.map(u64::from);
        Counters {
            sent,
            late,
            bad_records,
            received,
            bad,
            overflow,
        }
    }

    /// A timer, 1 to 7.
    pub fn timer(&mut self, number: u8) -> u64 {
        let low = 0x48 + 8 * (number - 1);
        let [low, high] = self.registers([low, low + 4]);
        u64::from(high) << 32 | u64::from(low)
    }
}
