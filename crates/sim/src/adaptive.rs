//! Parts that run on one thread while windows are too short for several, and side by side while they are not.
//!
//! For each window all threads meet, which takes a word from one processor to the other and back: about two microseconds, in which one thread
//! lets twenty simple events happen. How many events there are in a window hangs on what the nodes do, which nobody knows before.

use crate::part::Part;
use crate::watcher::Watcher;
use crate::{SimError, parallel};
use node::Time;
use node::outcome::Finish;

/// From so many events a window on several threads pay.
const MANY: u64 = 96;
/// With fewer than that they do not.
pub(crate) const FEW: u64 = 32;
/// The windows by which that is judged.
pub(crate) const PERIOD: u64 = 256;
/// Between two words on how far the run has come, in windows.
const REPORT: u64 = 64;

/// Runs parts until nothing is left to happen, the time is up, or the watcher says so; why it ended. What is not adaptive runs side by side
/// from the beginning.
///
/// # Errors
/// When time stands still.
pub(crate) fn run(
    parts: &mut [Part],
    (lookahead, until): (Time, Time),
    watcher: &mut Watcher,
    adaptive: bool,
) -> Result<Finish, SimError> {
    loop {
        if adaptive && let Some(finish) = in_turn(parts, lookahead, until, watcher)? {
            return Ok(finish);
        }
        if let Some(finish) = parallel::run(parts, lookahead, until, watcher, adaptive)? {
            return Ok(finish);
        }
    }
}

/// Runs parts on this thread, one after the other in each window, until windows are worth several threads: then there is no finish.
fn in_turn(
    parts: &mut [Part],
    lookahead: Time,
    until: Time,
    watcher: &mut Watcher,
) -> Result<Option<Finish>, SimError> {
    let mut windows = 0;
    let mut before = events(parts);
    loop {
        let Some(first) = parts.iter().filter_map(Part::next).min() else {
            return Ok(Some(Finish::Idle));
        };
        if first > until {
            return Ok(Some(Finish::Duration));
        }
        if watcher.is_over() {
            return Ok(Some(Finish::Stopped));
        }
        if windows % REPORT == 0 {
            watcher.report(first - Time::from_ps(1), until);
        }
        let last = parallel::end_of_window(first, lookahead, until);
        for part in &mut *parts {
            while part.step(last)? {}
        }
        exchange(parts);
        windows += 1;
        if windows % PERIOD == 0 {
            let now = events(parts);
            if now - before >= MANY * PERIOD {
                return Ok(None);
            }
            before = now;
        }
    }
}

fn events(parts: &[Part]) -> u64 {
    parts.iter().map(|part| part.events).sum()
}

/// Frames change parts.
fn exchange(parts: &mut [Part]) {
    for from in 0..parts.len() {
        if !std::mem::take(&mut parts[from].network.has_sent) {
            continue;
        }
        let mut outboxes = std::mem::take(&mut parts[from].network.outboxes);
        for (part, sent) in parts.iter_mut().zip(&mut outboxes) {
            part.take(sent);
        }
        parts[from].network.outboxes = outboxes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Sim};
    use node::{Channel, Graph};
    use nodes::generator::{Config, Generator};

    /// Pairs of which most send ten frames in each window for 10 ms, and one sends one in every third for 60 ms.
    fn burst() -> Graph {
        let mut graph = Graph::default();
        let mut pair = |gap, count| {
            let mut end = |count| {
                let config = Config {
                    gap: Some(gap),
                    count: Some(count),
                    ..Config::default()
                };
                let generator = Generator::new(config).expect("a good generator");
                graph.add(format!("g{}", graph.members.len()), Box::new(generator))
            };
            let ends = [end(count), end(0)];
            let channel = Channel {
                delay: Time::from_us(10),
                ..Channel::default()
            };
            graph.connect((ends[0], 0), (ends[1], 0), channel);
        };
        (0..16).for_each(|_| pair(Time::from_us(1), 10_000));
        pair(Time::from_us(30), 2_000);
        graph
    }

    #[test]
    fn several_threads_take_part_while_much_happens_and_no_longer() {
        let options = |threads, adaptive| Options {
            threads,
            adaptive,
            ..Options::default()
        };
        let outcome = crate::run(burst(), options(1, false)).unwrap();
        assert_eq!(crate::run(burst(), options(2, true)).unwrap(), outcome);

        let mut sim = Sim::new(burst(), options(2, true)).unwrap();
        let (lookahead, until) = (sim.lookahead, Time::MAX);
        let mut watcher = Watcher::default();
        let mut happened = Vec::new();
        let parts = &mut sim.parts[..];
        assert_eq!(parts.len(), 2);
        for several in [false, true, false] {
            let finish = match several {
                false => in_turn(parts, lookahead, until, &mut watcher),
                true => parallel::run(parts, lookahead, until, &mut watcher, true),
            };
            happened.push((finish.unwrap(), events(parts)));
        }
        let [(None, first), (None, second), (Some(Finish::Idle), all)] = happened[..] else {
            panic!("{happened:?}");
        };
        assert_eq!(all, outcome.events);
        assert!(first < all / 3 && second > all * 3 / 4, "{happened:?}");
    }
}
