//! The packet generator and capturer in Verilog against a model of both: traces written by the host, departures to the cycle, packets captured and lost.

use cosim::Module;
use cosim::ports::p4_replay::*;
use node::random::Random;
use std::collections::{BTreeMap, VecDeque};

/// Words of the trace, of captured packets, and captured packets.
const TRACE_WORDS: usize = 1 << 11;
const CAPTURE_WORDS: usize = 1 << 11;
const CAPTURED_PACKETS: usize = 1 << 8;

const CONTROL: u64 = 0x08;
/// Capturer on and off, by `CONTROL`.
const ON: u64 = 4;
const OFF: u64 = 8;
const PACKETS: u64 = 0x0C;
const INTERVAL: u64 = 0x10;
const LOW: u64 = 0x14;
const HIGH: u64 = 0x18;
const GAP: u64 = 0x1C;
const WORD: u64 = 0x20;
const SENT: u64 = 0x24;
const LATE: u64 = 0x28;
const CAPTURED: u64 = 0x30;
const LOST: u64 = 0x34;
const LENGTH: u64 = 0x38;
const STAMP: u64 = 0x3C;
const NEXT: u64 = 0x44;
const TAKE: u64 = 0x4C;

type Bytes = Vec<u8>;

/// A stream's word.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Word {
    data: u64,
    keep: u64,
    last: bool,
}

fn words(packet: &[u8]) -> impl Iterator<Item = Word> {
    let count = packet.len().div_ceil(8);
    packet.chunks(8).enumerate().map(move |(place, chunk)| {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        Word {
            data: u64::from_le_bytes(bytes),
            keep: (1 << chunk.len()) - 1,
            last: place + 1 == count,
        }
    })
}

/// Runs `runs` random traces. Returns the number of events of each kind.
///
/// # Errors
/// The first difference.
pub fn check(mut module: Module, seed: u64, runs: u64) -> Result<BTreeMap<String, u64>, String> {
    let mut random = Random::new(seed);
    let mut seen = BTreeMap::new();
    for run in 0..runs {
        Bench::new(&mut module, &mut random)
            .run(&mut seen)
            .map_err(|fault| format!("seed {seed}, run {run}: {fault}"))?;
    }
    Ok(seen)
}

struct Bench<'a> {
    module: &'a mut Module,
    random: &'a mut Random,
    inputs: Vec<u64>,
    outputs: Vec<u64>,
    cycle: u64,
    /// The stream out is ready in one cycle of this many.
    ready_every: u64,
    /// The word that was presented and not taken.
    waits: Option<Word>,
    /// Packets that left, each with the cycles in which its first word was presented and taken, and its last taken.
    left: Vec<(Bytes, [u64; 3])>,
    leaving: Bytes,
    times: [u64; 2],
    /// The stream in: words, idle cycles between them and packets.
    coming: VecDeque<Word>,
    idle_every: u64,
    arriving: Bytes,
    arrived_at: u64,
    chosen: bool,
    on: bool,
    /// Packets to capture, with the cycle of the first word.
    offered: VecDeque<(Bytes, u64)>,
    counts: [u64; 3],
    /// Words that were offered.
    words: usize,
}

impl<'a> Bench<'a> {
    fn new(module: &'a mut Module, random: &'a mut Random) -> Bench<'a> {
        let (mut inputs, mut outputs) = (vec![0; LAYOUT.inputs], vec![0; LAYOUT.outputs]);
        inputs[RST] = 1;
        module.run(&inputs, &mut outputs);
        inputs[RST] = 0;
        let ready_every = [1, 1, 2, 7][random.below(4) as usize];
        let idle_every = [2, 5, 1_000][random.below(3) as usize];
        Bench {
            module,
            random,
            inputs,
            outputs,
            cycle: 0,
            ready_every,
            waits: None,
            left: Vec::new(),
            leaving: Vec::new(),
            times: [0; 2],
            coming: VecDeque::new(),
            idle_every,
            arriving: Vec::new(),
            arrived_at: 0,
            chosen: false,
            on: false,
            offered: VecDeque::new(),
            counts: [0; 3],
            words: 0,
        }
    }

    fn packet(&mut self, longest: u64) -> Bytes {
        let length = 1 + self.random.below(longest);
        (0..length).map(|_| self.random.below(256) as u8).collect()
    }

    fn run(mut self, seen: &mut BTreeMap<String, u64>) -> Result<(), String> {
        let trace = self.write_trace()?;
        let interval = [0, 0, 1, 40, 400][self.random.below(5) as usize];
        let packets = self.random.below(60);
        self.set(INTERVAL, interval)?;
        self.set(PACKETS, packets)?;
        self.refuse(CONTROL, 2)?;
        self.set(CONTROL, ON)?;
        self.set(CONTROL, 1)?;
        // A generator that runs is not started, nor its trace changed.
        if packets == 0 {
            self.refuse(CONTROL, 1)?;
            self.refuse(PACKETS, 3)?;
        }
        let reads = self.random.below(4) > 0;
        let until = self.cycle + 4_000 + self.random.below(8_000);
        while self.cycle < until {
            if reads && self.random.below(3) == 0 {
                self.read_packet()?;
            }
            self.cycle()?;
        }
        // It may have ended by itself.
        self.write(CONTROL, 2)?;
        self.set(CONTROL, OFF)?;
        while self.get(CONTROL)? & 1 == 1 || !self.coming.is_empty() {
            self.cycle()?;
        }
        self.compare_departures(&trace, interval, packets, seen)?;
        while self.read_packet()? {}
        self.finish(seen)
    }

    /// A trace of whole packets, with gaps.
    fn write_trace(&mut self) -> Result<Vec<(Bytes, u64)>, String> {
        let (mut trace, mut used) = (Vec::new(), 0);
        // No trace yet.
        self.refuse(CONTROL, 1)?;
        for _ in 0..1 + self.random.below(12) {
            let longest = [16, 300, 9_000][self.random.below(3) as usize];
            let packet = self.packet(longest);
            let gap = self.random.below(500);
            used += packet.len().div_ceil(8);
            if used > TRACE_WORDS {
                break;
            }
            self.set(GAP, gap)?;
            for (place, word) in words(&packet).enumerate() {
                self.set(LOW, word.data & 0xFFFF_FFFF)?;
                self.set(HIGH, word.data >> 32)?;
                let flags = u64::from(word.last) << 9 | u64::from(place == 0) << 8 | word.keep;
                if self.random.below(50) == 0 {
                    // Not a packet's next word; bytes that are not kept between those that are; unknown flags.
                    self.refuse(WORD, flags ^ 1 << 8)?;
                    self.refuse(WORD, flags & !0xFF | 0xA5)?;
                    self.refuse(WORD, flags | 1 << 10)?;
                }
                self.set(WORD, flags)?;
            }
            trace.push((packet, gap));
        }
        if trace.is_empty() {
            trace.push((vec![1; 8], 9));
            self.set(GAP, 9)?;
            self.set(LOW, 0x0101_0101)?;
            self.set(HIGH, 0x0101_0101)?;
            self.set(WORD, 0x3FF)?;
        }
        let stored: usize = trace
            .iter()
            .map(|(packet, _)| packet.len().div_ceil(8))
            .sum();
        same("words of the trace", self.get(WORD)?, stored as u64)?;
        Ok(trace)
    }

    /// A cycle of the streams.
    fn cycle(&mut self) -> Result<(), String> {
        let ready = self.random.below(self.ready_every) == 0;
        self.inputs[M_AXIS_TREADY] = u64::from(ready);
        self.leave(ready)?;
        self.arrive();
        self.module.run(&self.inputs, &mut self.outputs);
        self.cycle += 1;
        same("the counter", self.outputs[COUNTER], self.cycle)
    }

    fn leave(&mut self, ready: bool) -> Result<(), String> {
        let word = (self.outputs[M_AXIS_TVALID] == 1).then(|| Word {
            data: self.outputs[M_AXIS_TDATA],
            keep: self.outputs[M_AXIS_TKEEP],
            last: self.outputs[M_AXIS_TLAST] == 1,
        });
        if self.waits.is_some() && self.waits != word {
            return Err(format!("a word that waited became {word:?}"));
        }
        let Some(word) = word else {
            if !self.leaving.is_empty() {
                return Err("a gap within a packet".into());
            }
            return Ok(());
        };
        if self.leaving.is_empty() && self.waits.is_none() {
            self.times[0] = self.cycle;
        }
        self.waits = (!ready).then_some(word);
        if ready {
            if self.leaving.is_empty() {
                self.times[1] = self.cycle;
            }
            let kept = word.keep.count_ones() as usize;
            self.leaving.extend(&word.data.to_le_bytes()[..kept]);
            if word.last {
                let [presented, first] = self.times;
                let packet = std::mem::take(&mut self.leaving);
                self.left.push((packet, [presented, first, self.cycle]));
            }
        }
        Ok(())
    }

    fn arrive(&mut self) {
        if self.coming.is_empty() && self.on {
            let longest = [16, 200, 2_000][self.random.below(3) as usize];
            let packet = self.packet(longest);
            self.coming.extend(words(&packet));
        }
        let idles = self.random.below(self.idle_every) == 0;
        let word = if idles { None } else { self.coming.pop_front() };
        self.inputs[S_AXIS_TVALID] = u64::from(word.is_some());
        let Some(word) = word else {
            return;
        };
        self.inputs[S_AXIS_TDATA] = word.data;
        self.inputs[S_AXIS_TKEEP] = word.keep;
        self.inputs[S_AXIS_TLAST] = word.last.into();
        if self.arriving.is_empty() {
            self.arrived_at = self.cycle;
            self.chosen = self.on;
        }
        let kept = word.keep.count_ones() as usize;
        self.arriving.extend(&word.data.to_le_bytes()[..kept]);
        if word.last {
            let packet = std::mem::take(&mut self.arriving);
            if self.chosen {
                self.words += packet.len().div_ceil(8);
                self.offered.push_back((packet, self.arrived_at));
                self.counts[0] += 1;
            }
        }
    }

    /// Each packet left as the trace has it, and in its cycle.
    fn compare_departures(
        &mut self,
        trace: &[(Bytes, u64)],
        interval: u64,
        packets: u64,
        seen: &mut BTreeMap<String, u64>,
    ) -> Result<(), String> {
        let (mut late, mut before) = (0, None::<[u64; 3]>);
        for (number, (packet, times)) in self.left.iter().enumerate() {
            let (expected, gap) = &trace[number % trace.len()];
            if packet != expected {
                return Err(format!("packet {number} is not that of the trace"));
            }
            let wanted = if interval == 0 { *gap } else { interval };
            if let Some([_, first, last]) = before {
                let due = (first + wanted).max(last + 1);
                same(&format!("cycle of packet {number}"), times[0], due)?;
                late += u64::from(times[1] - first > wanted);
            }
            before = Some(*times);
        }
        let sent = self.left.len() as u64;
        if packets > 0 && sent > packets {
            return Err(format!("{sent} packets in place of {packets}"));
        }
        same("packets generated", self.get(SENT)?, sent)?;
        same("packets late", self.get(LATE)?, late)?;
        *seen.entry("generated".into()).or_default() += sent;
        *seen.entry("late".into()).or_default() += late;
        Ok(())
    }

    /// Reads the first packet that is there; whether there was one.
    fn read_packet(&mut self) -> Result<bool, String> {
        let length = self.get(LENGTH)?;
        if length == 0 {
            return Ok(false);
        }
        let stamp = self.get(STAMP)?;
        let stamp = stamp | self.get(STAMP + 4)? << 32;
        let mut packet = Vec::new();
        loop {
            let low = self.get(NEXT)?;
            let word = low | self.get(NEXT + 4)? << 32;
            let left = (length as usize - packet.len()).min(8);
            packet.extend(&word.to_le_bytes()[..left]);
            let is_last = self.get(TAKE)? == 1;
            self.set(TAKE, 1)?;
            if is_last != (packet.len() == length as usize) {
                return Err(format!(
                    "a captured packet of {length} bytes ends after {}",
                    packet.len()
                ));
            }
            if is_last {
                break;
            }
        }
        // Packets that are not here were lost.
        loop {
            let Some((offered, at)) = self.offered.pop_front() else {
                return Err(format!(
                    "a captured packet of {length} bytes that did not come"
                ));
            };
            if (&offered, at) == (&packet, stamp) {
                break;
            }
            self.counts[2] += 1;
        }
        self.counts[1] += 1;
        Ok(true)
    }

    fn finish(mut self, seen: &mut BTreeMap<String, u64>) -> Result<(), String> {
        let [offered, captured, mut lost] = self.counts;
        lost += self.offered.len() as u64;
        same("captured", self.get(CAPTURED)?, captured)?;
        same("lost", self.get(LOST)?, lost)?;
        same("captured and lost", captured + lost, offered)?;
        if self.words <= CAPTURE_WORDS && offered as usize <= CAPTURED_PACKETS {
            same("lost where all has room", lost, 0)?;
        }
        for (name, count) in [("captured", captured), ("lost", lost)] {
            *seen.entry(name.into()).or_default() += count;
        }
        Ok(())
    }

    /// A write that is answered with OKAY.
    fn set(&mut self, address: u64, value: u64) -> Result<(), String> {
        same(
            &format!("answer to {value:X} at {address:02X}"),
            self.write(address, value)?,
            0,
        )
    }

    /// A write that is answered with SLVERR.
    fn refuse(&mut self, address: u64, value: u64) -> Result<(), String> {
        same(
            &format!("answer to {value:X} at {address:02X}"),
            self.write(address, value)?,
            2,
        )
    }

    fn write(&mut self, address: u64, value: u64) -> Result<u64, String> {
        (self.inputs[S_AXIL_AWADDR], self.inputs[S_AXIL_WDATA]) = (address, value);
        (self.inputs[S_AXIL_AWVALID], self.inputs[S_AXIL_WVALID]) = (1, 1);
        (self.inputs[S_AXIL_WSTRB], self.inputs[S_AXIL_BREADY]) = (15, 0);
        self.cycle()?;
        let response = self.outputs[S_AXIL_BRESP];
        match (address, value) {
            (CONTROL, ON) => self.on = true,
            (CONTROL, OFF) => self.on = false,
            _ => {}
        }
        same("BVALID", self.outputs[S_AXIL_BVALID], 1)?;
        (self.inputs[S_AXIL_AWVALID], self.inputs[S_AXIL_WVALID]) = (0, 0);
        self.inputs[S_AXIL_BREADY] = 1;
        self.cycle()?;
        Ok(response)
    }

    fn get(&mut self, address: u64) -> Result<u64, String> {
        self.inputs[S_AXIL_ARADDR] = address;
        (self.inputs[S_AXIL_ARVALID], self.inputs[S_AXIL_RREADY]) = (1, 0);
        self.cycle()?;
        let word = self.outputs[S_AXIL_RDATA];
        same("RRESP", self.outputs[S_AXIL_RRESP], 0)?;
        (self.inputs[S_AXIL_ARVALID], self.inputs[S_AXIL_RREADY]) = (0, 1);
        self.cycle()?;
        Ok(word)
    }
}

fn same(what: &str, verilog: u64, expected: u64) -> Result<(), String> {
    match verilog == expected {
        true => Ok(()),
        false => Err(format!("{what}: {verilog}, not {expected}")),
    }
}
