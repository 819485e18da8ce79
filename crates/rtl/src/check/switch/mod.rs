//! Four ports of 10 Gb/s around a program, with a packet buffer that they share, in Verilog: frames on the lines in, frames on the lines out, and counters
//! that must account for each frame.

mod line;
mod program;

use cosim::Module;
use cosim::ports::p4_switch4::*;
use line::{Deframer, Framer};
use node::random::Random;
pub use program::Program;
use std::collections::{BTreeMap, VecDeque};

pub const PORTS: usize = 4;
/// Cells of the buffer.
const CELLS: u64 = 256;
/// Cycles in which frames come.
const CYCLES: u64 = 60_000;
/// Cycles without a frame after which a switch is empty: the longest queue is 256 cells of 32 words of 64 bits.
const QUIET: u64 = 12_000;
/// The last byte of a destination that the bench's program drops.
const DROP: u8 = 0xFF;
/// Bytes of a frame before its payload: addresses and a number.
const HEAD: usize = 20;

const RXD: [usize; PORTS] = [XGMII_RXD_0, XGMII_RXD_1, XGMII_RXD_2, XGMII_RXD_3];
const TXD: [usize; PORTS] = [XGMII_TXD_0, XGMII_TXD_1, XGMII_TXD_2, XGMII_TXD_3];

/// Traffic of a run.
struct Traffic {
    /// Ports on which frames arrive, as bits.
    from: u64,
    pattern: Pattern,
    sizes: Sizes,
    /// Idle characters between frames beyond the least, at most.
    gap: u64,
    /// One frame in this many has a wrong FCS; 0 for none.
    bad: u64,
    /// Cycles that the program waits after each word.
    pause: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum Pattern {
    /// Each port to one other, of its own: nothing may be lost.
    Permutation(usize),
    /// Any port; some frames are for a port that does not exist, or dropped by the program.
    Any,
    /// All to one.
    One(u8),
}

#[derive(Clone, Copy)]
enum Sizes {
    Fixed(usize),
    Any,
}

impl Traffic {
    fn random(random: &mut Random) -> Traffic {
        Traffic {
            from: 1 + random.below(15),
            pattern: match random.below(3) {
                0 => Pattern::Permutation(random.below(PORTS as u64) as usize),
                1 => Pattern::Any,
                _ => Pattern::One(random.below(PORTS as u64) as u8),
            },
            sizes: match random.below(3) {
                0 => Sizes::Fixed(60 + random.below(8_937) as usize),
                1 => Sizes::Fixed(60 + random.below(80) as usize),
                _ => Sizes::Any,
            },
            gap: [0, 0, 40, 2_000][random.below(4) as usize],
            bad: [0, 7][random.below(2) as usize],
            pause: [0, 0, 6, 30][random.below(4) as usize],
        }
    }

    fn size(&self, random: &mut Random) -> usize {
        match self.sizes {
            Sizes::Fixed(size) => size,
            Sizes::Any => match random.below(4) {
                0 => 60,
                1 => 60 + random.below(8_937) as usize,
                _ => 60 + random.below(1_455) as usize,
            },
        }
    }

    fn destination(&self, from: usize, random: &mut Random) -> u8 {
        match self.pattern {
            Pattern::Permutation(by) => ((from + by) % PORTS) as u8,
            Pattern::One(to) => to,
            Pattern::Any => match random.below(16) {
                0 => DROP,
                1 => PORTS as u8 + random.below(200) as u8,
                _ => random.below(PORTS as u64) as u8,
            },
        }
    }
}

/// Frames that a port was given.
#[derive(Default)]
struct Given {
    good: u64,
    bad: u64,
    dropped: u64,
    elsewhere: u64,
    to: [u64; PORTS],
}

/// Runs `runs` random patterns of traffic. Returns how many frames there were of each kind.
///
/// # Errors
/// The first frame that is wrong, or the first counter that does not account for all frames.
pub fn check(mut module: Module, seed: u64, runs: u64) -> Result<BTreeMap<String, u64>, String> {
    let mut random = Random::new(seed);
    let mut seen = BTreeMap::new();
    for run in 0..runs {
        let traffic = Traffic::random(&mut random);
        Bench::new(&mut module)
            .run(&traffic, &mut random, &mut seen)
            .map_err(|fault| format!("seed {seed}, run {run}: {fault}"))?;
    }
    Ok(seen)
}

struct Bench<'a> {
    module: &'a mut Module,
    inputs: Vec<u64>,
    outputs: Vec<u64>,
    lines_in: [Framer; PORTS],
    lines_out: [Deframer; PORTS],
    /// Frames under way, by the port that they came by and the one that they leave by.
    under_way: [[VecDeque<Vec<u8>>; PORTS]; PORTS],
    given: [Given; PORTS],
    received: [u64; PORTS],
    /// Frames that a later one of the same way has overtaken: they must have been dropped.
    missing: [u64; PORTS],
    number: u64,
}

impl<'a> Bench<'a> {
    fn new(module: &'a mut Module) -> Bench<'a> {
        let (mut inputs, mut outputs) = (vec![0; LAYOUT.inputs], vec![0; LAYOUT.outputs]);
        inputs[RST] = 1;
        line::idle(&mut inputs);
        module.run(&inputs, &mut outputs);
        inputs[RST] = 0;
        Bench {
            module,
            inputs,
            outputs,
            lines_in: Default::default(),
            lines_out: Default::default(),
            under_way: Default::default(),
            given: Default::default(),
            received: [0; PORTS],
            missing: [0; PORTS],
            number: 0,
        }
    }

    fn run(
        mut self,
        traffic: &Traffic,
        random: &mut Random,
        seen: &mut BTreeMap<String, u64>,
    ) -> Result<(), String> {
        (self.inputs[CTL_WRITE], self.inputs[CTL_DATA]) = (1, traffic.pause);
        self.cycle()?;
        self.inputs[CTL_WRITE] = 0;
        for _ in 0..CYCLES {
            for port in (0..PORTS).filter(|port| traffic.from >> port & 1 == 1) {
                if self.lines_in[port].is_empty() {
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
        self.finish(traffic, seen)
    }

    /// A frame for a port.
    fn give(&mut self, port: usize, traffic: &Traffic, random: &mut Random) {
        let to = traffic.destination(port, random);
        let size = traffic.size(random);
        let mut frame = vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 1, port as u8];
        frame.extend(self.number.to_be_bytes());
        let seed = random.below(1 << 56);
        frame.extend((HEAD..size).map(|place| (seed >> (8 * (place % 7))) as u8 ^ place as u8));
        self.number += 1;
        let is_bad = traffic.bad > 0 && random.below(traffic.bad) == 0;
        let gap = match traffic.gap {
            0 => 0,
            gap => random.below(gap),
        };
        self.lines_in[port].send(&frame, gap, is_bad);
        let given = &mut self.given[port];
        match (is_bad, usize::from(to)) {
            (true, _) => given.bad += 1,
            (false, to) => {
                given.good += 1;
                match to {
                    to if to < PORTS => {
                        given.to[to] += 1;
                        self.under_way[port][to].push_back(frame);
                    }
                    to if to == usize::from(DROP) => given.dropped += 1,
                    _ => given.elsewhere += 1,
                }
            }
        }
    }

    /// A cycle. Returns whether a frame was on a line.
    fn cycle(&mut self) -> Result<bool, String> {
        self.inputs[XGMII_RXC] = 0;
        for (port, line) in self.lines_in.iter_mut().enumerate() {
            let (data, control) = line.cycle();
            self.inputs[RXD[port]] = data;
            self.inputs[XGMII_RXC] |= control << (8 * port);
        }
        self.module.run(&self.inputs, &mut self.outputs);
        let mut busy = self.lines_in.iter().any(|line| !line.is_empty());
        for (port, data) in TXD.into_iter().enumerate() {
            let control = self.outputs[XGMII_TXC] >> (8 * port) & 0xFF;
            let line = &mut self.lines_out[port];
            if let Some(frame) = line.cycle(self.outputs[data], control)? {
                self.arrived(port, &frame)?;
            }
            busy |= self.lines_out[port].in_frame();
        }
        Ok(busy)
    }

    /// A frame that left by a port.
    fn arrived(&mut self, port: usize, frame: &[u8]) -> Result<(), String> {
        self.received[port] += 1;
        let from = usize::from(frame[11]);
        let waiting = self.under_way.get_mut(from).map(|ways| &mut ways[port]);
        let place = waiting
            .as_ref()
            .and_then(|waiting| waiting.iter().position(|sent| sent == frame));
        let (Some(waiting), Some(place)) = (waiting, place) else {
            let (to, size) = (frame[5], frame.len());
            return Err(format!(
                "port {port} sent a frame of {size} bytes for port {to} that no port was given, or not in order"
            ));
        };
        waiting.drain(..=place);
        self.missing[port] += place as u64;
        Ok(())
    }

    /// Counters of a port: good, bad, lost, no_room, sent.
    fn counters(&mut self, port: usize) -> [u64; 5] {
        self.inputs[COUNTERS_OF] = port as u64;
        self.module.run(&self.inputs, &mut self.outputs);
        [GOOD, BAD, LOST, NO_ROOM, SENT].map(|place| self.outputs[place])
    }

    /// Each frame is accounted for.
    fn finish(mut self, traffic: &Traffic, seen: &mut BTreeMap<String, u64>) -> Result<(), String> {
        let counters: Vec<[u64; 5]> = (0..PORTS).map(|port| self.counters(port)).collect();
        let sum = |place: usize| counters.iter().map(|counters| counters[place]).sum::<u64>();
        let [dropped, no_port] = [DROPPED, NO_PORT].map(|place| self.outputs[place]);
        let given = |count: fn(&Given) -> u64| self.given.iter().map(count).sum::<u64>();
        let lost = sum(2);
        for (port, [good, bad, _, no_room, sent]) in counters.iter().enumerate() {
            same(&format!("good at {port}"), *good, self.given[port].good)?;
            same(&format!("bad at {port}"), *bad, self.given[port].bad)?;
            same(&format!("sent by {port}"), *sent, self.received[port])?;
            let rest = self.under_way.iter().map(|ways| ways[port].len() as u64);
            let missing = self.missing[port] + rest.sum::<u64>();
            let for_it: u64 = self.given.iter().map(|given| given.to[port]).sum();
            same(&format!("missing at {port}"), missing, for_it - sent)?;
            if lost == 0 {
                same(&format!("no room at {port}"), *no_room, missing)?;
            }
        }
        if lost == 0 {
            same(
                "dropped by the program",
                dropped,
                given(|given| given.dropped),
            )?;
            same("for no port", no_port, given(|given| given.elsewhere))?;
        }
        same(
            "the sum",
            sum(0),
            lost + dropped + no_port + sum(3) + sum(4),
        )?;
        same("free cells", self.outputs[FREE_CELLS], CELLS)?;
        same("underruns", self.outputs[UNDERRUNS], 0)?;
        if matches!(traffic.pattern, Pattern::Permutation(_)) && traffic.pause == 0 {
            same("lost of a permutation", lost + sum(3), 0)?;
        }
        let counts = [
            ("good", sum(0)),
            ("bad", sum(1)),
            ("lost", lost),
            ("no_room", sum(3)),
            ("sent", sum(4)),
            ("dropped", dropped),
            ("no_port", no_port),
        ];
        for (name, count) in counts {
            *seen.entry(name.into()).or_default() += count;
        }
        Ok(())
    }
}

fn same(what: &str, verilog: u64, expected: u64) -> Result<(), String> {
    match verilog == expected {
        true => Ok(()),
        false => Err(format!("{what}: {verilog}, not {expected}")),
    }
}
