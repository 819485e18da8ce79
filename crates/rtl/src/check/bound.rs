//! The fifth tick: two devices with the paper's intervals whose counters come to be 5 ticks apart (paper 002, section 4.5.2 claims 4), in Verilog
//! and in software.
//!
//! The clocks are 200 ppm apart. INIT meets the phase at which the slower port measures a delay that is 2 ticks short, and the receiver's
//! synchronisation FIFO holds each beacon for a tick. `examples/dtp/fifth-tick.sh` has the paper's algorithm itself.

use cosim::Module;
use cosim::ports::dtp_device4::*;
use node::Port;
use node::sublayer::Sublayer;
use nodes::dtp::message::{HALF, Message};
use nodes::dtp::{Config, Device};
use std::collections::HashMap;
use std::fmt::Write;

const PORT: Port = Port(0);
/// Ticks of the faster and of the slower clock, in units of 1/5000 tick.
const PERIOD: [u64; 2] = [5_000, 5_001];
const FASTER: usize = 0;
const SLOWER: usize = 1;
/// The cable: 44 ticks of the faster clock, as the paper measured with its PHYs.
const CABLE: u64 = 44 * PERIOD[FASTER];
/// The unit at which the slower clock begins.
pub const PHASE: u64 = 4_930;
/// The tick at which both links come up, and the end.
const UP: u64 = 10;
const END: u64 = 16_000;
/// The trace begins when counters follow beacons alone.
const FROM: u64 = 9_000;

/// A beacon that the slower port heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    tick: u64,
    /// The faster counter in the beacon, and with the delay.
    told: u64,
    arrives: u64,
    /// The slower counter before and after it.
    before: u64,
    after: u64,
    /// The greatest offset since the beacon before.
    greatest: u64,
}

/// The trace of a phase, and the greatest offset.
///
/// # Errors
/// When Verilog and software differ.
pub fn check(modules: [Module; 2], phase: u64) -> Result<(String, u64), String> {
    let software = run(phase, [(); 2].map(|()| Software::new()))?;
    let verilog = run(phase, modules.map(Verilog::new))?;
    if software != verilog {
        let at = software
            .iter()
            .zip(&verilog)
            .find(|(one, other)| one != other);
        return Err(format!("Verilog and software differ: {at:?}"));
    }
    let mut text = String::from("tick\tbeacon\twith delay\tbefore\tafter\toffset\n");
    let mut greatest = 0;
    for row in software.iter().filter(|row| row.tick >= FROM) {
        let Row {
            tick,
            told,
            arrives,
            before,
            after,
            greatest: offset,
        } = row;
        greatest = greatest.max(*offset);
        writeln!(
            text,
            "{tick}\t{told}\t{arrives}\t{before}\t{after}\t{offset}"
        )
        .expect("a string takes all");
    }
    Ok((text, greatest))
}

/// A device at one tick after the other.
trait Ticks {
    /// A tick with a message, 0 for none. Returns the message that leaves, and the counter before and after.
    fn step(&mut self, tick: u64, came: u64) -> (u64, [u64; 2]);
    fn delay(&self) -> i64;
}

struct Software(Device);

impl Software {
    fn new() -> Software {
        Software(Device::new(&Config::default(), 1).expect("the paper's values"))
    }
}

impl Ticks for Software {
    fn step(&mut self, tick: u64, came: u64) -> (u64, [u64; 2]) {
        let said = self.0.fill(tick, PORT);
        let before = self.0.counter(tick) as u64;
        if came != 0 {
            self.0.take(tick, PORT, came);
        }
        if tick == UP {
            self.0.link(tick, PORT, true);
        }
        (said, [before, self.0.counter(tick) as u64])
    }

    fn delay(&self) -> i64 {
        self.0.delay(PORT).unwrap_or(0)
    }
}

struct Verilog {
    module: Module,
    inputs: Vec<u64>,
    outputs: Vec<u64>,
}

impl Verilog {
    fn new(module: Module) -> Verilog {
        let config = Config::default();
        let mut device = Verilog {
            module,
            inputs: vec![0; LAYOUT.inputs],
            outputs: vec![0; LAYOUT.outputs],
        };
        device.inputs[ALPHA] = config.alpha().into();
        device.inputs[BEACON] = config.beacon.into();
        device.inputs[RST] = 1;
        device.module.run(&device.inputs, &mut device.outputs);
        (device.inputs[RST], device.inputs[IDLE]) = (0, 1);
        device
    }

    fn counter(&self) -> u64 {
        self.outputs[COUNTER_HIGH] << HALF | self.outputs[COUNTER_LOW]
    }
}

impl Ticks for Verilog {
    fn step(&mut self, tick: u64, came: u64) -> (u64, [u64; 2]) {
        let (said, before) = (self.outputs[TX_BITS_0], self.counter());
        self.inputs[LINK] = u64::from(tick >= UP);
        self.inputs[RX_BITS_0] = came;
        self.module.run(&self.inputs, &mut self.outputs);
        // The next tick's counter has this tick's messages.
        let after = self.counter().saturating_sub(1);
        (said, [before, after])
    }

    fn delay(&self) -> i64 {
        (self.outputs[DELAY] << 49) as i64 >> 49
    }
}

/// Two devices, tick by tick in the order of time.
fn run<T: Ticks>(phase: u64, mut devices: [T; 2]) -> Result<Vec<Row>, String> {
    let when =
        |side: usize, tick: u64| tick * PERIOD[side] + if side == SLOWER { phase } else { 0 };
    // The first tick of a side at a time or later.
    let tick_at = |side: usize, at: u64| {
        let since = at.saturating_sub(when(side, 0));
        since.div_ceil(PERIOD[side])
    };
    let mut came: [HashMap<u64, u64>; 2] = Default::default();
    let (mut ticks, mut counters, mut greatest) = ([0, 0], [0, 0], 0);
    let mut rows = Vec::new();
    while ticks[FASTER] < END {
        let [faster, slower] = [FASTER, SLOWER].map(|side| when(side, ticks[side]));
        let side = if faster <= slower { FASTER } else { SLOWER };
        let tick = ticks[side];
        let message = came[side].remove(&tick).unwrap_or(0);
        let (said, [before, after]) = devices[side].step(tick, message);
        if said != 0 {
            // The FIFO holds all but INIT and its answer.
            let held = !matches!(
                Message::decode(said),
                Ok(Some(Message::Init(_) | Message::InitAck(_)))
            );
            let at = tick_at(1 - side, when(side, tick) + CABLE) + u64::from(held);
            if came[1 - side].insert(at, said).is_some() {
                return Err(format!("two messages at tick {at}"));
            }
        }
        counters[side] = after;
        if side == SLOWER
            && let Ok(Some(Message::Beacon(told))) = Message::decode(message)
        {
            let arrives = told.saturating_add_signed(devices[side].delay());
            rows.push(Row {
                tick,
                told,
                arrives,
                before,
                after,
                greatest,
            });
            greatest = 0;
        }
        greatest = greatest.max(counters[FASTER].saturating_sub(counters[SLOWER]));
        ticks[side] += 1;
    }
    Ok(rows)
}
