//! A gigabit port in Verilog, `rtl/timing_nic`, with the medium on one side and a host on the other.
//!
//! The port's clock has edges; edge `n` comes when the clock shows `n` ticks of 8 ns, and the port's counter shows `n` behind it.
//! What the world does between them is nothing but the PHY: a frame whose first bit is on the medium during tick `n` has its first
//! byte on the GMII [`PHY`] ticks later, at a byte a tick, whatever the rate of the link; the preamble is before it. The other way
//! the PHY takes no time.
//!
//! Frames leave the port byte by byte, and the world wants to know a frame when its first bit is due. So when a preamble
//! begins, the module's state is kept, the module runs to the frame's end without anything new from outside, and goes back. When
//! it comes there by itself, each byte is compared with what was seen ahead.

use crate::module::{Missing, Module, NoWaves};
use crate::ports::timing_nic::{
    COUNTER, GMII_RX_DV, GMII_RXD, GMII_TX_EN, GMII_TXD, IDLE, LAYOUT, M_AXIS_TDATA, M_AXIS_TKEEP,
    M_AXIS_TLAST, M_AXIS_TREADY, M_AXIS_TVALID, S_AXIL_ARADDR, S_AXIL_ARVALID, S_AXIL_RDATA,
    S_AXIL_RREADY, S_AXIL_RVALID, S_AXIS_TDATA, S_AXIS_TKEEP, S_AXIS_TLAST, S_AXIS_TREADY,
    S_AXIS_TVALID, SKIP, WAKE_AT,
};
use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;

/// A tick in picoseconds of the port's own time: 125 MHz.
pub const TICK: u64 = 8_000;
/// From a frame's first bit on the medium to its first byte on the GMII, in ticks: the preamble.
pub const PHY: u64 = 8;
/// Preamble and SFD.
const PREAMBLE: [u8; 8] = [0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xD5];
/// From the first character of a preamble to a frame's first byte: how long before it a frame is known that leaves.
pub const LEAD: u64 = PREAMBLE.len() as u64;
/// Ticks that a frame leaves to the next one on the medium, at least: less than any gap that clocks of 100 ppm make of 12.
const GAP: u64 = 8;
/// Words of the port's ring for records to be sent.
const RING: usize = 4_096;
/// Characters of the longest frame, with preamble and FCS: what goes on for longer is a fault of the module.
const LONGEST: usize = 16_000 + 12;

/// The inputs and the outputs of the module.
type Inputs = [u64; LAYOUT.inputs];
type Outputs = [u64; LAYOUT.outputs];

/// A frame that leaves.
#[derive(Debug, PartialEq, Eq)]
pub struct Leaving {
    /// The edge from which on its first byte is on the medium.
    pub tick: u64,
    /// Its bytes, without preamble, with FCS; or none, if the module sends what is no frame.
    pub bytes: Vec<u8>,
}

/// What the port counts, by its register bus.
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

/// A frame on the medium, towards the port: characters of the GMII from an edge on.
struct Coming {
    edge: u64,
    characters: Vec<u8>,
}

impl Coming {
    fn end(&self) -> u64 {
        self.edge + self.characters.len() as u64
    }
}

/// A port, at one of its edges.
pub struct Port {
    module: Module,
    outputs: Outputs,
    /// Edges that have been.
    edges: u64,
    /// Cycles that have been simulated, those seen ahead included.
    cycles: u64,
    coming: VecDeque<Coming>,
    /// The edge behind the last frame that has come.
    busy_until: u64,
    /// Records that are not in the port yet, and words of those that are, or are on their way.
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
    pub fn new() -> Result<Port, Missing> {
        Ok(Port {
            module: Module::new(LAYOUT)?,
            window: 0..0,
            outputs: [0; LAYOUT.outputs],
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

    /// A frame with FCS whose first bit is on the medium in a tick from now on. `false` when the medium is not free: it came by
    /// a link that is faster than the port.
    pub fn comes(&mut self, tick: u64, frame_with_fcs: &[u8]) -> bool {
        // The first byte is taken at edge tick + 1 + PHY.
        let edge = tick + 1 + PHY - LEAD;
        if edge < self.busy_until.max(self.edges + 1) {
            return false;
        }
        let characters = [&PREAMBLE, frame_with_fcs].concat();
        let coming = Coming { edge, characters };
        self.busy_until = coming.end() + GAP;
        self.coming.push_back(coming);
        true
    }

    /// The first tick in which the first bit of another frame may be on the medium.
    pub fn free_at(&self) -> u64 {
        (self.busy_until.max(self.edges + 1) + LEAD - 1 - PHY).max(self.edges)
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
            && self.held.iter().sum::<usize>() + record.len() <= RING
            && let Some(record) = self.records.pop_front()
        {
            self.held.push_back(record.len());
            self.words.extend(record);
        }
    }

    /// The next edge at which anything can happen; `None` for not until something comes from outside.
    pub fn next(&self) -> Option<u64> {
        if !self.is_quiet() {
            return Some(self.edges + 1);
        }
        // At the edge before which the counter shows wake_at.
        let own = (self.outputs[WAKE_AT] < (1 << 56) - 1).then(|| self.outputs[WAKE_AT] + 1);
        let other = self.coming.front().map(|coming| coming.edge);
        own.into_iter()
            .chain(other)
            .min()
            .map(|edge| edge.max(self.edges + 1))
    }

    fn is_quiet(&self) -> bool {
        let next = self.edges + 1;
        self.outputs[IDLE] == 1
            && self.words.is_empty()
            && self.coming.front().is_none_or(|coming| coming.edge > next)
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

    /// The inputs of the next edge.
    fn inputs(&self, edge: u64) -> Inputs {
        let mut inputs = [0; LAYOUT.inputs];
        inputs[M_AXIS_TREADY] = 1;
        if let Some(coming) = self.coming.iter().find(|coming| edge < coming.end())
            && let Some(place) = edge.checked_sub(coming.edge)
        {
            inputs[GMII_RXD] = coming.characters[place as usize].into();
            inputs[GMII_RX_DV] = 1;
        }
        inputs
    }

    fn edge(
        &mut self,
        skip: u64,
        leaves: &mut impl FnMut(Leaving),
        receives: &mut impl FnMut(&[u8]),
    ) {
        let edge = self.edges + 1;
        let mut inputs = self.inputs(edge);
        inputs[SKIP] = skip;
        if let Some(word) = self.words.front() {
            inputs[S_AXIS_TDATA] = word.data;
            inputs[S_AXIS_TKEEP] = word.keep;
            inputs[S_AXIS_TLAST] = word.last.into();
            inputs[S_AXIS_TVALID] = 1;
        }
        // A word passes at an edge before which both sides are ready. Before the first edge nobody is.
        let taken = self.outputs[S_AXIS_TREADY] == 1 && inputs[S_AXIS_TVALID] == 1;
        let given = self.outputs[M_AXIS_TVALID] == 1;
        if taken {
            self.words.pop_front();
        } else {
            inputs[S_AXIS_TVALID] = 0;
        }
        if given {
            self.take(receives);
        }
        self.run(&inputs, skip);
        self.edges = edge + skip;
        while self
            .coming
            .front()
            .is_some_and(|coming| coming.end() <= self.edges + 1)
        {
            self.coming.pop_front();
        }
        self.watch(leaves);
    }

    fn run(&mut self, inputs: &Inputs, skip: u64) {
        self.cycles += 1;
        let edge = self.edges + 1;
        match self.window.contains(&edge) {
            true => (self.module).run_with_waves(inputs, &mut self.outputs, edge * TICK, TICK / 2),
            false => self.module.run(inputs, &mut self.outputs),
        }
        debug_assert_eq!(
            self.outputs[COUNTER],
            edge + skip,
            "the counter counts edges"
        );
    }

    /// A word of a record that the port gives.
    fn take(&mut self, receives: &mut impl FnMut(&[u8])) {
        let bytes = self.outputs[M_AXIS_TKEEP].count_ones() as usize;
        let word = self.outputs[M_AXIS_TDATA].to_le_bytes();
        self.received.extend_from_slice(&word[..bytes]);
        if self.outputs[M_AXIS_TLAST] == 1 {
            receives(&self.received);
            self.received.clear();
        }
    }

    /// Looks at what leaves.
    fn watch(&mut self, leaves: &mut impl FnMut(Leaving)) {
        let sends = self.outputs[GMII_TX_EN] == 1;
        if sends && !self.sending {
            self.held.pop_front();
            let characters = self.look_ahead();
            self.ahead = characters.iter().copied().collect();
            let frame = characters.strip_prefix(&PREAMBLE).unwrap_or_default();
            leaves(Leaving {
                tick: self.edges + LEAD,
                bytes: frame.to_vec(),
            });
            self.fill();
        }
        if sends {
            let seen = self.ahead.pop_front();
            self.diverged += u64::from(seen != Some(self.outputs[GMII_TXD] as u8));
        } else if self.sending {
            self.diverged += self.ahead.len() as u64;
            self.ahead.clear();
        }
        self.sending = sends;
    }

    /// The characters of the frame that has just begun to leave.
    fn look_ahead(&mut self) -> Vec<u8> {
        self.module.save();
        let mut outputs = self.outputs;
        let mut characters = Vec::new();
        let mut edge = self.edges;
        while outputs[GMII_TX_EN] == 1 && characters.len() < LONGEST {
            characters.push(outputs[GMII_TXD] as u8);
            edge += 1;
            self.module.run(&self.inputs(edge), &mut outputs);
        }
        self.cycles += edge - self.edges;
        self.module.restore();
        characters
    }

    /// Reads registers one after the other, and puts the port back to where it was.
    pub fn registers<const N: usize>(&mut self, addresses: [u8; N]) -> [u32; N] {
        self.module.save();
        let mut outputs = self.outputs;
        let words = addresses.map(|address| {
            let mut inputs = [0; LAYOUT.inputs];
            inputs[S_AXIL_ARADDR] = address.into();
            inputs[S_AXIL_ARVALID] = 1;
            // Taken at this edge; the answer stands behind it, and is taken at the next one.
            self.module.run(&inputs, &mut outputs);
            assert_eq!(outputs[S_AXIL_RVALID], 1, "the register bus answers");
            let word = outputs[S_AXIL_RDATA] as u32;
            inputs[S_AXIL_ARVALID] = 0;
            inputs[S_AXIL_RREADY] = 1;
            self.module.run(&inputs, &mut outputs);
            word
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
