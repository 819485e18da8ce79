//! DTP between two ports, exhaustively: the greatest offset there can be, by going through every state that can be reached:
//! `cargo run --release -p wireline-sim --example dtp_exhaustive`.
//!
//! The faster clock has ticks of 5,000 units, the slower one of 5,001: 200 ppm. INIT meets each of 5,001 phases, over cables of each quarter of a tick over two
//! ticks, and at each of its four crossings the FIFO may hold or not. From what delays come of that, beacons go on, and
//! at each the FIFO may hold or not again; a state is the phase of the clocks and the difference of the counters, so there are finitely many.
//! The ports are those of `nodes::dtp`. Beacons of the slower side follow those of the faster by half an interval.

use node::{Port, Sublayer};
use nodes::dtp::{Config, Device};
use std::collections::{BTreeMap, HashSet};

const PORT: Port = Port(0);
/// Ticks of the faster and the slower clock.
const PERIOD: [i64; 2] = [5_000, 5_001];
/// The paper's cables, as it measured them with what PHYs take.
const LENGTH: i64 = 44;

#[derive(Clone)]
struct Pair {
    devices: [Device; 2],
    /// When tick 0 of the slower clock is.
    phase: i64,
    /// On the way, one way and back.
    length: [i64; 2],
}

impl Pair {
    fn when(&self, side: usize, tick: i64) -> i64 {
        tick * PERIOD[side] + if side == 1 { self.phase } else { 0 }
    }

    /// The tick of a side that begins at a time, or the next.
    fn tick(&self, side: usize, at: i64) -> i64 {
        let from = self.when(side, 0);
        (at - from + PERIOD[side] - 1).div_euclid(PERIOD[side])
    }

    /// Lets a side say what it has to say at a tick; the tick at which the other takes it, if its FIFO does not hold it, and the bits.
    fn say(&mut self, side: usize, tick: i64) -> (i64, u64) {
        let bits = self.devices[side].fill(tick as u64, PORT);
        let at = self.when(side, tick) + self.length[side];
        (self.tick(1 - side, at), bits)
    }

    fn hear(&mut self, side: usize, tick: i64, bits: u64) {
        self.devices[side].take(tick as u64, PORT, bits);
    }

    /// How far the faster side's counter is ahead at a time.
    fn offset(&self, at: i64) -> i64 {
        let counter = |side: usize| {
            let tick = (at - self.when(side, 0)).div_euclid(PERIOD[side]);
            self.devices[side].counter(tick as u64) as i64
        };
        counter(0) - counter(1)
    }

    /// The greatest and the least offset about a time: a counter goes up at its ticks.
    fn about(&self, at: i64) -> [i64; 2] {
        let last = |side: usize| {
            let tick = (at - self.when(side, 0)).div_euclid(PERIOD[side]);
            self.offset(self.when(side, tick))
        };
        [last(0).max(last(1)), last(0).min(last(1))]
    }

    /// Both have measured the delay, and joined.
    fn joined(config: &Config, length: [i64; 2], phase: i64, held: u32) -> Option<Pair> {
        let device = || Device::new(config, 1).expect("good keys");
        let mut pair = Pair {
            devices: [device(), device()],
            phase,
            length,
        };
        for side in 0..2 {
            pair.devices[side].link(10, PORT, true);
        }
        for side in 0..2 {
            let hold = |bit: usize| i64::from(held >> (2 * side + bit) & 1);
            let (tick, init) = pair.say(side, 20);
            let tick = tick + hold(0);
            pair.hear(1 - side, tick, init);
            let (tick, answer) = pair.say(1 - side, tick);
            pair.hear(side, tick + hold(1), answer);
        }
        // BEACON-MSB and two BEACON-JOIN each way.
        for side in 0..2 {
            for tick in 300..303 {
                let (tick, bits) = pair.say(side, tick);
                pair.hear(1 - side, tick, bits);
            }
        }
        pair.devices
            .iter()
            .all(|device| device.delay(PORT).is_some())
            .then_some(pair)
    }
}

#[derive(Default)]
struct Seen {
    states: usize,
    greatest: i64,
    least: i64,
    /// The faster side's counter was moved by the slower side.
    chased: bool,
    given_up: bool,
    delays: Option<[i64; 2]>,
}

/// Goes through all that can come of a pair.
fn explore(pair: Pair, fifo: &[i64], interval: i64, seen: &mut Seen) {
    let begin = 2 * interval.max(400);
    let mut known: HashSet<(i64, i64)> = HashSet::new();
    let mut left = vec![(pair, begin)];
    while let Some((pair, tick)) = left.pop() {
        let at = pair.when(0, tick);
        // The phase of the slower clock then, and how far it is behind.
        let slower = pair.tick(1, at);
        let phase = pair.when(1, slower) - at;
        if !known.insert((phase, pair.offset(at))) {
            continue;
        }
        if known.len() > 400_000 {
            break;
        }
        for &forth in fifo {
            let mut one = pair.clone();
            let (came, bits) = one.say(0, tick);
            let came = came + forth;
            let time = one.when(1, came);
            let before = one.about(time - 1);
            one.hear(1, came, bits);
            let after = one.about(time);
            for &back in fifo {
                let mut two = one.clone();
                let said = two.tick(1, at + interval / 2 * PERIOD[0]);
                let (came, bits) = two.say(1, said);
                let came = came + back;
                let own = two.devices[0].counter(came as u64);
                two.hear(0, came, bits);
                seen.chased |= two.devices[0].counter(came as u64) > own;
                let then = two.about(two.when(0, came));
                for [greatest, least] in [before, after, then] {
                    if greatest > seen.greatest {
                        seen.greatest = greatest;
                        seen.delays =
                            Some([0, 1].map(|n| two.devices[n].delay(PORT).unwrap_or(-1)));
                    }
                    seen.least = seen.least.min(least);
                }
                if two
                    .devices
                    .iter()
                    .any(|device| device.delay(PORT).is_none())
                {
                    seen.given_up = true;
                    continue;
                }
                left.push((two, tick + interval));
            }
        }
    }
    seen.states += known.len();
}

struct Assumed {
    what: &'static str,
    alpha: u8,
    beacon: u32,
    /// What the FIFO may do with INIT and its answer, and with beacons: hold for so many ticks.
    init: &'static [u32],
    fifo: &'static [i64],
    /// So many ticks longer is the cable one way.
    longer: i64,
}

fn main() {
    println!(
        "{:<50} {:>8} {:>6} {:>12} {:>8} {:>9} {:>9}",
        "assumed", "greatest", "least", "delays there", "chased", "given up", "states"
    );
    const ANY: &[i64] = &[0, 1];
    const EACH: &[u32] = &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    let usual = |what, alpha, beacon| Assumed {
        what,
        alpha,
        beacon,
        init: EACH,
        fifo: ANY,
        longer: 0,
    };
    for assumed in [
        usual("alpha 0, beacon 200", 0, 200),
        usual("alpha 1, beacon 200", 1, 200),
        usual("alpha 2, beacon 200", 2, 200),
        usual("alpha 3, beacon 200: the paper's", 3, 200),
        usual("alpha 4, beacon 200", 4, 200),
        usual("alpha 3, beacon 1200: the paper's, jumbo frames", 3, 1_200),
        usual("alpha 3, beacon 4000: the paper's longest", 3, 4_000),
        usual("alpha 3, beacon 4999", 3, 4_999),
        Assumed {
            fifo: &[0],
            ..usual("alpha 3, beacon 200, no beacon is held", 3, 200)
        },
        Assumed {
            init: &[0],
            fifo: &[0],
            ..usual("alpha 3, beacon 200, the FIFO never holds", 3, 200)
        },
        Assumed {
            init: &[15],
            fifo: &[1],
            ..usual("alpha 3, beacon 200, the FIFO always holds", 3, 200)
        },
        Assumed {
            init: &[15],
            fifo: &[1],
            ..usual("alpha 3, beacon 4999, the FIFO always holds", 3, 4_999)
        },
        Assumed {
            longer: 2,
            ..usual("alpha 3, beacon 200, 2 ticks longer one way", 3, 200)
        },
    ] {
        search(&assumed);
    }
}

fn search(assumed: &Assumed) {
    let config = Config {
        alpha: Some(assumed.alpha),
        beacon: assumed.beacon,
        ..Config::default()
    };
    let mut seen = Seen::default();
    // From one phase beacons come by those that are a multiple of this off.
    let (mut apart, mut rest) = (PERIOD[1], i64::from(assumed.beacon));
    while rest > 0 {
        (apart, rest) = (rest, apart % rest);
    }
    for quarter in 0..8 {
        let length = (LENGTH * 4 + quarter) * PERIOD[0] / 4;
        let length = [length + assumed.longer * PERIOD[0], length];
        // What can be measured; of each some phases, since beacons may not come by all of them from one.
        let mut begun: BTreeMap<([i64; 2], i64), Pair> = BTreeMap::new();
        for phase in 0..PERIOD[1] {
            for &held in assumed.init {
                if let Some(pair) = Pair::joined(&config, length, phase, held) {
                    let delays = [0, 1].map(|n| pair.devices[n].delay(PORT).unwrap_or(-1));
                    begun.entry((delays, phase % apart)).or_insert(pair);
                }
            }
        }
        for pair in begun.into_values() {
            explore(pair, assumed.fifo, assumed.beacon.into(), &mut seen);
        }
    }
    let yes = |it: bool| if it { "yes" } else { "no" };
    println!(
        "{:<50} {:>8} {:>6} {:>12} {:>8} {:>9} {:>9}",
        assumed.what,
        seen.greatest,
        seen.least,
        seen.delays
            .map_or("-".into(), |[a, b]| format!("{a} and {b}")),
        yes(seen.chased),
        yes(seen.given_up),
        seen.states
    );
}
