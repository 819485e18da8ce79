//! A DTP device of four ports in Verilog against `nodes::dtp`, tick for tick: messages, counters, and each register by the control interface.

mod device;
mod peer;
mod registers;

use cosim::Module;
use device::{Both, Tick};
use node::random::Random;
use nodes::dtp::message::HALF;
use nodes::dtp::{BITS, Config};
use peer::Peer;
use registers::PORTS;
use std::collections::BTreeMap;

/// Ticks of a run, from reset to reset.
const TICKS: u64 = 40_000;
const MASK: u128 = (1 << BITS) - 1;

/// Runs the two for `runs` random configurations, with random messages, loads, links that go down and come up, and commands. Returns the number of events of each kind.
///
/// # Errors
/// The first difference.
pub fn check(mut module: Module, seed: u64, runs: u64) -> Result<BTreeMap<String, u64>, String> {
    let mut random = Random::new(seed);
    let mut seen = BTreeMap::<String, u64>::new();
    for run in 0..runs {
        let config = Config {
            alpha: Some(random.below(9) as u8),
            beacon: [2, 3, 200, 1200][random.below(4) as usize],
            log: [None, Some(2), Some(900)][random.below(3) as usize],
            ..Config::default()
        };
        // About to wrap, or to carry into the high half, or anywhere.
        let start = match run % 4 {
            0 => MASK - u128::from(random.below(20_000)),
            1 => (1 << HALF) - u128::from(random.below(20_000)),
            // Small, where most messages could be taken for control characters.
            2 => u128::from(random.below(300)),
            _ => u128::from(random.below(1 << 60)),
        };
        // In half of the runs no command changes anything.
        let commands = run % 2 == 1;
        let both = Both::new(module, &config, start, commands);
        let result = one(both, &mut random, &mut seen);
        module = result.map_err(|difference| format!("seed {seed}, run {run}: {difference}"))?;
    }
    Ok(seen)
}

fn one(
    mut both: Both,
    random: &mut Random,
    seen: &mut BTreeMap<String, u64>,
) -> Result<Module, String> {
    let mut peers: [Peer; PORTS] = std::array::from_fn(|_| Peer::random(random));
    let mut now = Tick::default();
    // Of eight blocks this many are idle.
    let idle = [1, 4, 8][random.below(3) as usize];
    for _ in 0..TICKS {
        for (port, peer) in peers.iter_mut().enumerate() {
            now.idle[port] = random.below(8) < idle;
            if random.below(6_000) == 0 || (!now.link[port] && random.below(200) == 0) {
                now.link[port] = !now.link[port];
            }
            // Nothing arrives on a link that is down.
            now.bits[port] = match both.is_up(port) {
                true => peer.say(both.tick(), both.counter(), both.delay(port), random),
                false => 0,
            };
        }
        let said = both.step(&now, random)?;
        for (peer, said) in peers.iter_mut().zip(said) {
            peer.hear(both.tick(), said, random);
        }
    }
    both.finish(random, seen)
}
