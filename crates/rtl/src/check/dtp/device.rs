//! The two devices, tick by tick.

use super::registers::{Bus, JOINED, JUMPS, PAGE, PORT, PORTS, same};
use cosim::Module;
use cosim::ports::dtp_device4::*;
use node::Port;
use node::random::Random;
use node::sublayer::Sublayer;
use nodes::dtp::message::{HALF, PAYLOAD};
use nodes::dtp::{BITS, Config, Device};
use std::collections::BTreeMap;

const MASK: u128 = (1 << BITS) - 1;
/// A message of one port in the inputs, and in the outputs, of a tick.
const RX: [usize; PORTS] = [RX_BITS_0, RX_BITS_1, RX_BITS_2, RX_BITS_3];
const TX: [usize; PORTS] = [TX_BITS_0, TX_BITS_1, TX_BITS_2, TX_BITS_3];
/// Registers of a port, with the counters of the software that their sum must be equal to.
const COUNTERS: [(u32, &str); 6] = [
    (0x10, "dtp_beacons_sent"),
    (0x14, "dtp_beacons_heard"),
    (JUMPS, "dtp_jumps"),
    (0x0C, "dtp_out_of_range"),
    (0x18, "dtp_damaged"),
    (JOINED, "dtp_joins"),
];

/// Inputs of a tick.
#[derive(Default)]
pub struct Tick {
    pub link: [bool; PORTS],
    pub idle: [bool; PORTS],
    pub bits: [u64; PORTS],
}

/// A device in Verilog, and one in software that must do the same.
pub struct Both {
    module: Module,
    config: [(usize, u64); 5],
    device: Device,
    tick: u64,
    link: [bool; PORTS],
    outputs: Vec<u64>,
    bus: Bus,
    /// LOG messages that the module has reported, by their offset.
    logged: [u64; 17],
}

impl Both {
    /// The module after a reset. With `commands` the bus changes the device.
    pub fn new(mut module: Module, config: &Config, start: u128, commands: bool) -> Both {
        let config_words = [
            (ALPHA, config.alpha().into()),
            (BEACON, config.beacon.into()),
            (LOG, config.log.unwrap_or(0).into()),
            (START_LOW, start as u64 & PAYLOAD),
            (START_HIGH, (start >> HALF) as u64),
        ];
        let mut inputs = vec![0; LAYOUT.inputs];
        inputs[RST] = 1;
        let mut outputs = vec![0; LAYOUT.outputs];
        module.run(&inputs, &mut outputs);
        let device = Device::new(config, PORTS).expect("values within their ranges");
        Both {
            module,
            config: config_words,
            device: device.starting_at(start),
            // Both count from their reset on.
            tick: 0,
            link: [false; PORTS],
            outputs,
            bus: Bus::new(commands),
            logged: [0; 17],
        }
    }

    pub fn tick(&self) -> u64 {
        self.tick
    }

    pub fn counter(&self) -> u128 {
        self.device.counter(self.tick)
    }

    pub fn is_up(&self, port: usize) -> bool {
        self.link[port]
    }

    pub fn delay(&self, port: usize) -> i64 {
        self.device.delay(Self::port(port)).unwrap_or(0)
    }

    fn port(index: usize) -> Port {
        Port(index as u16)
    }

    /// The messages of a tick that the software hears: see `dtp_device.v`.
    fn hear(&mut self, bits: &[u64; PORTS]) {
        let joins = |device: &Device, port: usize| {
            bits[port] & 7 == 3 && device.delay(Self::port(port)).is_some()
        };
        let first = (0..PORTS).find(|&port| joins(&self.device, port));
        if let Some(first) = first {
            let mut moved = self.device.clone();
            moved.take(self.tick, Self::port(first), bits[first]);
            let by = moved
                .counter(self.tick)
                .wrapping_sub(self.device.counter(self.tick))
                & MASK;
            if by > 8 && by < 1 << (BITS - 1) {
                self.device = moved;
                return;
            }
        }
        let heard = |device: &Device, port: usize| Some(port) == first || !joins(device, port);
        // LOGs and BEACON-JOINs are compared with the counter of the tick's beginning.
        let order = |port: &usize| match bits[*port] & 7 {
            5 => 0,
            3 => 1,
            _ => 2,
        };
        let mut ports: Vec<usize> = (0..PORTS)
            .filter(|&port| bits[port] != 0 && heard(&self.device, port))
            .collect();
        ports.sort_by_key(order);
        for port in ports {
            self.device.take(self.tick, Self::port(port), bits[port]);
        }
    }

    /// A tick of both. Returns the messages that they sent.
    ///
    /// # Errors
    /// The first difference.
    pub fn step(&mut self, now: &Tick, random: &mut Random) -> Result<[u64; PORTS], String> {
        let tick = self.tick;
        self.bus.think(self.device.counter(tick), random);
        let mut inputs = self.inputs(now);
        let command = self
            .bus
            .drive(&mut self.device, tick, &self.outputs, &mut inputs);

        let mut said = [0; PORTS];
        for port in (0..PORTS).filter(|&port| now.idle[port]) {
            said[port] = self.device.fill(tick, Self::port(port));
            same(
                &format!("message of port {port} at tick {tick}"),
                self.outputs[TX[port]],
                said[port],
            )?;
        }
        self.hear(&now.bits);
        for port in (0..PORTS).filter(|&port| now.link[port] != self.link[port]) {
            self.device.link(tick, Self::port(port), now.link[port]);
        }
        self.link = now.link;
        if let Some(line) = &command {
            self.device.obey(tick + 1, line)?;
        }

        self.module.run(&inputs, &mut self.outputs);
        self.tick += 1;
        self.bus
            .compare(&inputs, &self.outputs)
            .map_err(|difference| format!("tick {tick}: {difference}"))?;
        self.compare()
            .map_err(|difference| format!("after tick {tick} ({command:?}): {difference}"))?;
        Ok(said)
    }

    fn compare(&mut self) -> Result<(), String> {
        let outputs = &self.outputs;
        let counter = self.device.counter(self.tick);
        let [low, high] = [counter as u64 & PAYLOAD, (counter >> HALF) as u64];
        same("high half of the counter", outputs[COUNTER_HIGH], high)?;
        same("low half of the counter", outputs[COUNTER_LOW], low)?;
        for port in 0..PORTS {
            let delay = self.device.delay(Self::port(port));
            let is_sync = outputs[IS_SYNC] >> port & 1;
            same(
                &format!("port {port} in SYNC"),
                is_sync,
                delay.is_some().into(),
            )?;
            if let Some(delay) = delay {
                let seen = (outputs[DELAY] >> (15 * port)) << 49;
                let seen = (seen as i64 >> 49) as u64;
                same(&format!("delay of port {port}"), seen, delay as u64)?;
            }
            if outputs[LOGGED] >> port & 1 == 1 {
                let behind = (outputs[LOG_BEHIND] >> (5 * port) << 59) as i64 >> 59;
                self.logged[(behind + 8) as usize] += 1;
            }
        }
        Ok(())
    }

    fn inputs(&self, now: &Tick) -> Vec<u64> {
        let word =
            |bits: &[bool; PORTS]| (0..PORTS).map(|port| u64::from(bits[port]) << port).sum();
        let mut inputs = vec![0; LAYOUT.inputs];
        for (place, word) in self.config {
            inputs[place] = word;
        }
        (inputs[LINK], inputs[IDLE]) = (word(&now.link), word(&now.idle));
        for port in 0..PORTS {
            inputs[RX[port]] = now.bits[port];
        }
        inputs
    }

    /// Reads a register while nothing else happens.
    fn read(&mut self, address: u32) -> Result<u64, String> {
        let quiet = Tick {
            link: self.link,
            ..Tick::default()
        };
        let mut inputs = self.inputs(&quiet);
        inputs[S_AXIL_ARADDR] = address.into();
        (inputs[S_AXIL_ARVALID], inputs[S_AXIL_RREADY]) = (1, 1);
        self.module.run(&inputs, &mut self.outputs);
        same("RRESP", self.outputs[S_AXIL_RRESP], 0)?;
        let word = self.outputs[S_AXIL_RDATA];
        inputs[S_AXIL_ARVALID] = 0;
        self.module.run(&inputs, &mut self.outputs);
        same("RVALID after the answer", self.outputs[S_AXIL_RVALID], 0)?;
        Ok(word)
    }

    /// At the end: the counters of all messages. Adds the number of events of each kind to `seen`.
    ///
    /// # Errors
    /// The first counter that differs.
    pub fn finish(
        mut self,
        random: &mut Random,
        seen: &mut BTreeMap<String, u64>,
    ) -> Result<Module, String> {
        // Accesses under way come to their end.
        self.bus.end();
        for _ in 0..64 {
            let quiet = Tick {
                link: self.link,
                ..Tick::default()
            };
            self.step(&quiet, random)?;
        }
        let statistics = self.device.statistics();
        let count = |name: &str| {
            let mut all = statistics.counters.iter();
            all.find(|(one, _)| one == name)
                .map_or(0, |(_, count)| *count)
        };
        for (register, name) in COUNTERS {
            let mut sum = 0;
            for port in 0..PORTS as u32 {
                sum += self.read(PORT + PAGE * port + register)?;
            }
            same(name, sum, count(name))?;
        }
        for (index, told) in self.logged.iter().enumerate() {
            let name = match index.checked_sub(8) {
                Some(ahead) => format!("dtp_log_{ahead}"),
                None => format!("dtp_log_minus_{}", 8 - index),
            };
            same(&name, *told, count(&name))?;
        }
        for (name, count) in &statistics.counters {
            *seen.entry(name.clone()).or_default() += count;
        }
        for (name, count) in self.bus.done() {
            *seen.entry((*name).into()).or_default() += count;
        }
        *seen.entry("ticks".into()).or_default() += self.tick;
        Ok(self.module)
    }
}
