//! Four ports of 10 Gb/s around a program in P4: each packet leaves as the software engine sends it, or a counter accounts for it.

use super::super::software::{MIN_FRAME, Software, padded};
use super::line::{Deframer, Framer};
use super::{PORTS, QUIET, RXD, TXD, same};
use cosim::p4::Switch;
use cosim::ports::p4_switch4::*;
use node::random::Random;
use pipeline::environment::Environment;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Cycles in which frames come.
const CYCLES: u64 = 12_000;
/// Bytes of a frame without FCS.
const MAX_FRAME: u64 = 8_900;

/// A program in software and in the switch.
pub struct Program {
    software: Software,
    switch: Switch,
}

impl Program {
    /// Packets and table entries are those of `test`, in the format of STF.
    ///
    /// # Errors
    /// A program that is not hardware or whose packets depend on each other, or a test with faults.
    pub fn new(environment: &Arc<Environment>, test: &str) -> Result<Program, String> {
        let software = Software::new(environment, test)?;
        let switch =
            Switch::new(environment, software.path()?).map_err(|error| error.to_string())?;
        if switch.design().begins_anew() {
            return Err(
                "the program resubmits or recirculates packets, which changes their order".into(),
            );
        }
        Ok(Program { software, switch })
    }

    /// Runs `runs` random patterns of traffic. Returns how many frames there were of each kind.
    ///
    /// # Errors
    /// The first frame that is wrong, or the first counter that does not account for all frames.
    pub fn check(&mut self, seed: u64, runs: u64) -> Result<BTreeMap<String, u64>, String> {
        let mut random = Random::new(seed);
        let mut seen = BTreeMap::new();
        for run in 0..runs {
            self.switch.restart(self.software.environment());
            // Line rate at all ports without loss in every other run.
            let traffic = match run % 2 {
                0 => Traffic::permutation(self, &mut random),
                _ => Traffic::any(self, &mut random),
            };
            Bench::new(self)
                .run(&traffic, &mut random, &mut seen)
                .map_err(|fault| format!("seed {seed}, run {run}: {fault}"))?;
        }
        Ok(seen)
    }
}

/// Traffic of a run.
struct Traffic {
    /// Packets that may arrive at each port.
    packets: [Vec<usize>; PORTS],
    /// Size of all frames in bytes; 0 for any.
    size: usize,
    /// Idle characters between frames beyond the least, at most.
    gap: u64,
    /// Each port sends to one other, so that nothing may be lost.
    lossless: bool,
}

impl Traffic {
    fn size(random: &mut Random) -> usize {
        match random.below(4) {
            0 => MIN_FRAME,
            1 => MIN_FRAME + random.below(150) as usize,
            _ => 0,
        }
    }

    /// Line rate at each port, to one port of its own.
    fn permutation(program: &mut Program, random: &mut Random) -> Traffic {
        let by = random.below(PORTS as u64) as usize;
        let mut packets: [Vec<usize>; PORTS] = Default::default();
        for (port, packets) in packets.iter_mut().enumerate() {
            for number in 0..program.software.packets.len() {
                let packet = padded(program.software.packets[number].clone());
                let out = program.software.send(port, &packet);
                if matches!(&out[..], [(to, _)] if *to == (port + by) % PORTS) {
                    packets.push(number);
                }
            }
        }
        Traffic {
            packets,
            size: Self::size(random),
            gap: 0,
            lossless: program.switch.design().alone.is_empty(),
        }
    }

    fn any(program: &Program, random: &mut Random) -> Traffic {
        let all: Vec<usize> = (0..program.software.packets.len()).collect();
        Traffic {
            packets: std::array::from_fn(|_| all.clone()),
            size: Self::size(random),
            gap: [0, 0, 40, 2_000][random.below(4) as usize],
            lossless: false,
        }
    }
}

/// Frames, by the port that they came by or leave by.
#[derive(Default)]
struct Counts {
    given: [u64; PORTS],
    /// Copies that software sends to the port, and frames that left by it.
    expected: [u64; PORTS],
    received: [u64; PORTS],
    dropped: u64,
    no_port: u64,
}

/// A frame that software sends, and its length on arrival.
type Sent = (Vec<u8>, usize);

struct Bench<'a> {
    program: &'a mut Program,
    lines_in: [Framer; PORTS],
    lines_out: [Deframer; PORTS],
    /// Frames under way, by the port that they came by and the one that they leave by.
    under_way: [[VecDeque<Sent>; PORTS]; PORTS],
    counts: Counts,
    seen: BTreeMap<String, u64>,
    number: u32,
}

impl<'a> Bench<'a> {
    fn new(program: &'a mut Program) -> Bench<'a> {
        Bench {
            program,
            lines_in: Default::default(),
            lines_out: Default::default(),
            under_way: Default::default(),
            counts: Counts::default(),
            seen: BTreeMap::new(),
            number: 0,
        }
    }

    fn run(
        mut self,
        traffic: &Traffic,
        random: &mut Random,
        seen: &mut BTreeMap<String, u64>,
    ) -> Result<(), String> {
        for _ in 0..CYCLES {
            for port in 0..PORTS {
                if self.lines_in[port].is_empty() && !traffic.packets[port].is_empty() {
                    self.give(port, traffic, random);
                }
            }
            self.cycle()?;
        }
        let mut quiet = 0;
        while quiet < QUIET {
            quiet = match self.cycle()? {
                true => 0,
                false => quiet + 1,
            };
        }
        self.finish(traffic)?;
        for (name, count) in self.seen {
            *seen.entry(name).or_default() += count;
        }
        Ok(())
    }

    /// A frame for a port: a packet of the test with a random payload behind it.
    fn give(&mut self, port: usize, traffic: &Traffic, random: &mut Random) {
        let packets = &traffic.packets[port];
        let number = packets[random.below(packets.len() as u64) as usize];
        let mut frame = self.program.software.packets[number].clone();
        let size = match (traffic.size, random.below(4)) {
            (0, 0) => MIN_FRAME,
            (0, 1) => MIN_FRAME + random.below(MAX_FRAME - MIN_FRAME as u64) as usize,
            (0, _) => MIN_FRAME + random.below(1_455) as usize,
            (size, _) => size,
        };
        let (seed, length) = (random.below(1 << 56), frame.len());
        frame.extend((length..size).map(|place| (seed >> (8 * (place % 7))) as u8 ^ place as u8));
        // No two frames are the same.
        self.number += 1;
        frame.extend(self.number.to_be_bytes());
        let out = self.program.software.send(port, &frame);
        self.counts.given[port] += 1;
        self.counts.dropped += u64::from(out.is_empty());
        // A frame that grows takes longer on the line out.
        let mut growth = 0;
        for (to, bytes) in out {
            growth = growth.max(bytes.len().saturating_sub(frame.len()) as u64);
            match self.counts.expected.get_mut(to) {
                Some(expected) => {
                    *expected += 1;
                    self.under_way[port][to].push_back((padded(bytes), frame.len()));
                }
                None => self.counts.no_port += 1,
            }
        }
        let gap = match traffic.gap {
            0 => growth.next_multiple_of(4),
            gap => random.below(gap),
        };
        self.lines_in[port].send(&frame, gap, false);
    }

    /// A cycle. Returns whether a frame was on a line.
    fn cycle(&mut self) -> Result<bool, String> {
        let inputs = self.program.switch.inputs();
        inputs[XGMII_RXC] = 0;
        for (port, line) in self.lines_in.iter_mut().enumerate() {
            let (data, control) = line.cycle();
            inputs[RXD[port]] = data;
            inputs[XGMII_RXC] |= control << (8 * port);
        }
        self.program.switch.wait(1);
        let mut busy = self.lines_in.iter().any(|line| !line.is_empty());
        for (port, data) in TXD.into_iter().enumerate() {
            let outputs = self.program.switch.outputs();
            let control = outputs[XGMII_TXC] >> (8 * port) & 0xFF;
            let line = &mut self.lines_out[port];
            if let Some(frame) = line.cycle(outputs[data], control)? {
                self.arrived(port, &frame)?;
            }
            busy |= self.lines_out[port].in_frame();
        }
        Ok(busy)
    }

    /// A frame that left by a port. Those before it on the same way were dropped.
    fn arrived(&mut self, port: usize, frame: &[u8]) -> Result<(), String> {
        self.counts.received[port] += 1;
        for ways in &mut self.under_way {
            let way = &mut ways[port];
            let Some(place) = way.iter().position(|(sent, _)| sent == frame) else {
                continue;
            };
            let (sent, before) = way.drain(..=place).next_back().unwrap_or_default();
            let kind = match sent.len().cmp(&before) {
                std::cmp::Ordering::Less => "shrunk",
                std::cmp::Ordering::Equal => "kept",
                std::cmp::Ordering::Greater => "grown",
            };
            *self.seen.entry(kind.into()).or_default() += 1;
            return Ok(());
        }
        Err(format!(
            "port {port} sent a frame of {} bytes that the program in software does not send there, or not in this order",
            frame.len()
        ))
    }

    /// Each frame is accounted for.
    fn finish(&mut self, traffic: &Traffic) -> Result<(), String> {
        let (counts, switch) = (&self.counts, &mut self.program.switch);
        let copies = switch.design().map.places;
        let mut sums = [0; 5];
        let mut ports = Vec::new();
        for port in 0..PORTS {
            switch.inputs()[COUNTERS_OF] = port as u64;
            switch.wait(1);
            let counters = [GOOD, BAD, LOST, NO_ROOM, SENT].map(|place| switch.outputs()[place]);
            for (sum, counter) in sums.iter_mut().zip(counters) {
                *sum += counter;
            }
            ports.push(counters);
        }
        let [good, bad, lost, no_room, sent] = sums;
        let [dropped, no_port] = [DROPPED, NO_PORT].map(|place| switch.outputs()[place]);
        same("bad", bad, 0)?;
        for (port, [good, _, _, no_room, sent]) in ports.into_iter().enumerate() {
            same(&format!("good at {port}"), good, counts.given[port])?;
            same(&format!("sent by {port}"), sent, counts.received[port])?;
            if lost == 0 {
                let missing = counts.expected[port] - sent;
                same(&format!("no room at {port}"), no_room, missing)?;
            }
        }
        if !copies {
            let all = lost + dropped + no_port + no_room + sent;
            same("the sum", good, all)?;
        }
        if lost == 0 && !copies {
            same("dropped by the program", dropped, counts.dropped)?;
        }
        if lost == 0 {
            same("for no port", no_port, counts.no_port)?;
        }
        same("free cells", switch.outputs()[FREE_CELLS], super::CELLS)?;
        same("underruns", switch.outputs()[UNDERRUNS], 0)?;
        if traffic.lossless {
            same("lost of a permutation", lost + no_room, 0)?;
        }
        let counts = [
            ("good", good),
            ("lost", lost),
            ("no_room", no_room),
            ("sent", sent),
            ("dropped", dropped),
            ("no_port", no_port),
        ];
        for (name, count) in counts {
            *self.seen.entry(name.into()).or_default() += count;
        }
        Ok(())
    }
}
