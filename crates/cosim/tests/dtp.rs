//! DTP in Verilog against `nodes::dtp`, tick for tick.

use cosim::Module;
use cosim::ports::dtp_device4::*;
use node::random::Random;
use node::sublayer::Sublayer;
use node::{Port, Statistics};
use nodes::dtp::message::{HALF, Message, PAYLOAD};
use nodes::dtp::{BITS, Config, Device};
use std::collections::VecDeque;

const PORTS: usize = 4;
const TICKS: u64 = 40_000;
const EPISODES: u64 = 40;
const MASK: u128 = (1 << BITS) - 1;
/// A message of one port in the inputs, and in the outputs, of a tick.
const RX: [usize; PORTS] = [RX_BITS_0, RX_BITS_1, RX_BITS_2, RX_BITS_3];
const TX: [usize; PORTS] = [TX_BITS_0, TX_BITS_1, TX_BITS_2, TX_BITS_3];
/// The outputs that count, with the counters of the software that they are to be equal to.
const COUNTERS: [(usize, &str); 6] = [
    (BEACONS_SENT, "dtp_beacons_sent"),
    (BEACONS_HEARD, "dtp_beacons_heard"),
    (JUMPS, "dtp_jumps"),
    (OUT_OF_RANGE, "dtp_out_of_range"),
    (DAMAGED, "dtp_damaged"),
    (JOINED, "dtp_joins"),
];

/// What comes and goes at a tick.
#[derive(Default)]
struct Tick {
    link: [bool; PORTS],
    idle: [bool; PORTS],
    bits: [u64; PORTS],
}

/// The two, which are to do the same.
struct Both {
    module: Module,
    config: [(usize, u64); 5],
    device: Device,
    tick: u64,
    link: [bool; PORTS],
    outputs: Vec<u64>,
    /// LOG messages that the module has told, by what they said.
    logged: [u64; 17],
}

impl Both {
    fn new(mut module: Module, config: &Config, start: u128) -> Both {
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
        Both {
            module,
            config: config_words,
            device: Device::new(config, PORTS).unwrap().starting_at(start),
            // Both count from their reset on.
            tick: 0,
            link: [false; PORTS],
            outputs,
            logged: [0; 17],
        }
    }

    fn port(index: usize) -> Port {
        Port(index as u16)
    }

    /// What the software hears of a tick's messages: see `dtp_device.v`.
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
        // LOGs and BEACON-JOINs are held against the counter of the tick's beginning.
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

    /// A tick of both; what they have said.
    fn step(&mut self, now: &Tick) -> [u64; PORTS] {
        let mut said = [0; PORTS];
        for port in (0..PORTS).filter(|&port| now.idle[port]) {
            said[port] = self.device.fill(self.tick, Self::port(port));
            assert_eq!(
                self.outputs[TX[port]], said[port],
                "port {port} at {}",
                self.tick
            );
        }
        self.hear(&now.bits);
        for port in (0..PORTS).filter(|&port| now.link[port] != self.link[port]) {
            self.device
                .link(self.tick, Self::port(port), now.link[port]);
        }
        self.link = now.link;

        self.cycle(now, 0);
        self.tick += 1;
        let counter = self.device.counter(self.tick);
        let seen =
            u128::from(self.outputs[COUNTER_HIGH]) << HALF | u128::from(self.outputs[COUNTER_LOW]);
        assert_eq!(seen, counter, "counter at {}", self.tick);
        for port in 0..PORTS {
            let delay = self.device.delay(Self::port(port));
            assert_eq!(
                self.outputs[IS_SYNC] >> port & 1 == 1,
                delay.is_some(),
                "port {port} at {}",
                self.tick
            );
            if let Some(delay) = delay {
                let seen = (self.outputs[DELAY] >> (15 * port)) << 49;
                assert_eq!(seen as i64 >> 49, delay, "port {port} at {}", self.tick);
            }
            if self.outputs[LOGGED] >> port & 1 == 1 {
                let behind = (self.outputs[LOG_BEHIND] >> (5 * port) << 59) as i64 >> 59;
                self.logged[(behind + 8) as usize] += 1;
            }
        }
        said
    }

    fn cycle(&mut self, now: &Tick, counters_of: u64) {
        let word =
            |bits: &[bool; PORTS]| (0..PORTS).map(|port| u64::from(bits[port]) << port).sum();
        let mut inputs = vec![0; LAYOUT.inputs];
        for (place, word) in self.config {
            inputs[place] = word;
        }
        (inputs[LINK], inputs[IDLE]) = (word(&now.link), word(&now.idle));
        inputs[COUNTERS_OF] = counters_of;
        for port in 0..PORTS {
            inputs[RX[port]] = now.bits[port];
        }
        self.module.run(&inputs, &mut self.outputs);
    }

    /// At the end: whether the counters are the same, too. Gives the software's.
    fn finish(mut self) -> (Module, Statistics) {
        let statistics = self.device.statistics();
        let count = |name: &str| {
            let mut all = statistics.counters.iter();
            all.find(|(one, _)| one == name)
                .map_or(0, |(_, count)| *count)
        };
        let mut sums = [0; COUNTERS.len()];
        for port in 0..PORTS as u64 {
            self.cycle(
                &Tick {
                    link: self.link,
                    ..Tick::default()
                },
                port,
            );
            for (sum, (place, _)) in sums.iter_mut().zip(COUNTERS) {
                *sum += self.outputs[place];
            }
        }
        for (sum, (_, name)) in sums.iter().zip(COUNTERS) {
            assert_eq!(*sum, count(name), "{name}");
        }
        for (index, told) in self.logged.iter().enumerate() {
            let name = match index.checked_sub(8) {
                Some(ahead) => format!("dtp_log_{ahead}"),
                None => format!("dtp_log_minus_{}", 8 - index),
            };
            assert_eq!(*told, count(&name), "{name}");
        }
        (self.module, statistics)
    }
}

/// A peer that answers, tells counters that are about right, and now and then is wrong.
#[derive(Default)]
struct Peer {
    coming: VecDeque<(u64, u64)>,
    habit: Habit,
}

/// Kind of a peer's beacons.
#[derive(Clone, Copy, Default, PartialEq)]
enum Habit {
    #[default]
    Healthy,
    /// They are ahead within range: more than a clock may be.
    Hurries,
    /// They are ahead out of range.
    Strays,
}

impl Peer {
    fn hear(&mut self, tick: u64, said: u64, random: &mut Random) {
        if let Ok(Some(Message::Init(counter))) = Message::decode(said) {
            let (wait, off) = match random.below(8) {
                0 => return,
                1 => (60, 20_000 + random.below(1 << 40)),
                2 => (1, 0),
                _ => (40 + random.below(100), random.below(5)),
            };
            self.coming.push_back((
                tick + wait,
                Message::InitAck(counter.wrapping_sub(off)).encode(),
            ));
        }
    }

    fn say(&mut self, tick: u64, counter: u128, delay: i64, random: &mut Random) -> u64 {
        if self.coming.front().is_some_and(|(when, _)| *when <= tick) {
            return self.coming.pop_front().map_or(0, |(_, bits)| bits);
        }
        if random.below(40) > 0 {
            return 0;
        }
        let arrives = |ahead: i64| counter.wrapping_add_signed((ahead - delay).into()) & MASK;
        let low = |counter: u128| counter as u64 & PAYLOAD;
        match random.below(400) {
            0..300 => {
                let ahead = match random.below(200) {
                    _ if self.habit == Habit::Hurries => 4 + random.below(5) as i64,
                    _ if self.habit == Habit::Strays => 9 + random.below(1 << 20) as i64,
                    0 => 1 + random.below(9) as i64,
                    1 => random.below(1 << 50) as i64,
                    2..5 => -(random.below(30) as i64),
                    _ => -(random.below(5) as i64),
                };
                Message::Beacon(low(arrives(ahead))).encode()
            }
            300..340 => Message::Log(low(arrives(random.below(24) as i64 - 12))).encode(),
            340..350 => {
                let ahead = match random.below(8) {
                    0 => 9 + random.below(1 << 20) as i64,
                    1 => random.below(1 << 60) as i64,
                    2 => -(random.below(1 << 20) as i64),
                    _ => random.below(20) as i64 - 10,
                };
                // The high half, and the low one twice, right behind each other or not, and not always equal.
                let (one, two) = (1 + random.below(3), 4 + random.below(3));
                let told = |after: u64| arrives(ahead).wrapping_add(after.into()) & MASK;
                let wrong = u64::from(random.below(6) == 0) * random.below(6);
                self.coming
                    .push_back((tick + one, Message::BeaconJoin(low(told(one))).encode()));
                self.coming.push_back((
                    tick + two,
                    Message::BeaconJoin(low(told(two + wrong))).encode(),
                ));
                Message::BeaconMsb((arrives(ahead) >> HALF) as u64).encode()
            }
            350..352 => Message::Init(random.below(1 << HALF)).encode(),
            352..354 => Message::InitAck(random.below(1 << HALF)).encode(),
            354..356 => random.below(1 << 56),
            // An error block, low-power idle, and any other control characters
            356..358 => characters(random),
            358..360 => random.below(1 << 53) << 3,
            _ => Message::Beacon(low(arrives(0))).encode() ^ 1 << random.below(56),
        }
    }
}

/// Eight control characters by their codes of seven bits.
fn characters(random: &mut Random) -> u64 {
    const CODES: [u64; 9] = [0x1E, 0x06, 0x00, 0x2D, 0x33, 0x4B, 0x55, 0x66, 0x78];
    // Half of them all the same.
    let most = [1, 2, 9][random.below(3) as usize];
    let same = random.below(most) as usize;
    let code = |random: &mut Random| match most {
        9 => CODES[random.below(9) as usize],
        _ => CODES[same],
    };
    (0..8).fold(0, |bits, place| bits | code(random) << (7 * place))
}

#[test]
fn a_device_in_verilog_is_that_in_rust_tick_for_tick_under_random_messages_loads_and_resets() {
    let Some(mut module) = crate::module(LAYOUT) else {
        return;
    };
    let mut random = Random::new(30);
    let mut seen = std::collections::BTreeMap::<String, u64>::new();
    for episode in 0..EPISODES {
        let config = Config {
            alpha: Some(random.below(9) as u8),
            beacon: [2, 3, 200, 1200][random.below(4) as usize],
            log: [None, Some(2), Some(900)][random.below(3) as usize],
            ..Config::default()
        };
        // About to wrap, or to carry into the high half, or anywhere.
        let start = match episode % 4 {
            0 => MASK - u128::from(random.below(20_000)),
            1 => (1 << HALF) - u128::from(random.below(20_000)),
            // Small, where most messages could be taken for control characters.
            2 => u128::from(random.below(300)),
            _ => u128::from(random.below(1 << 60)),
        };
        let mut both = Both::new(module, &config, start);
        let mut peers: [Peer; PORTS] = Default::default();
        for peer in &mut peers {
            peer.habit = match random.below(8) {
                0 => Habit::Hurries,
                1 => Habit::Strays,
                _ => Habit::Healthy,
            };
        }
        let mut now = Tick::default();
        // Of eight blocks so many are idle.
        let idle = [1, 4, 8][random.below(3) as usize];
        for _ in 0..TICKS {
            for (port, peer) in peers.iter_mut().enumerate() {
                now.idle[port] = random.below(8) < idle;
                if random.below(6_000) == 0 || (!now.link[port] && random.below(200) == 0) {
                    now.link[port] = !now.link[port];
                }
                // A link that is down brings nothing.
                now.bits[port] = 0;
                if both.link[port] {
                    let delay = both.device.delay(Both::port(port)).unwrap_or(0);
                    let counter = both.device.counter(both.tick);
                    now.bits[port] = peer.say(both.tick, counter, delay, &mut random);
                }
            }
            let said = both.step(&now);
            for (peer, said) in peers.iter_mut().zip(said) {
                peer.hear(both.tick, said, &mut random);
            }
        }
        let (back, statistics) = both.finish();
        module = back;
        for (name, count) in statistics.counters {
            *seen.entry(name).or_default() += count;
        }
    }
    // All that can happen has.
    for (_, name) in COUNTERS {
        assert!(seen[name] > 100, "{name}: {seen:?}");
    }
    assert!(seen["dtp_given_up"] > 10, "{seen:?}");
}
