//! Contenders that take short turns by rotation, so that what else the machine does hits all alike.

use std::time::{Duration, Instant};

const TURNS: usize = 400;
const TURN: Duration = Duration::from_micros(200);

/// One contender: its name, and one batch of work.
pub type Contender<'a> = (String, Box<dyn FnMut() + 'a>);

/// Gives every contender its turns; the shortest time of one batch each, in seconds.
fn race(contenders: &mut [Contender<'_>]) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; contenders.len()];
    for _ in 0..TURNS {
        for ((_, batch), best) in contenders.iter_mut().zip(&mut best) {
            let (turn, mut batches) = (Instant::now(), 0u32);
            while turn.elapsed() < TURN {
                for _ in 0..8 {
                    batch();
                }
                batches += 8;
            }
            *best = best.min(turn.elapsed().as_secs_f64() / f64::from(batches));
        }
    }
    best
}

/// Races the contenders and prints a table; ratios are to the first.
pub fn print(title: &str, bytes: usize, packets: usize, mut contenders: Vec<Contender<'_>>) {
    println!("\n{title}");
    println!("{:<28}{:>10}{:>12}{:>10}", "", "GB/s", "ns/packet", "ratio");
    let times = race(&mut contenders);
    for ((name, _), time) in contenders.iter().zip(&times) {
        println!(
            "{name:<28}{:>10.2}{:>12.1}{:>10.2}",
            bytes as f64 / time / 1e9,
            time / packets as f64 * 1e9,
            times[0] / time
        );
    }
}
