//! Where the words of a capture's packets count from.
//!
//! A capture says when a packet came in time since 1970; a word counts ticks from the zero of the
//! machine's counter (FORMATS section 3). A capture that `wire dump` made says in its interface's
//! description where that zero was. For others the last whole second before the first packet is
//! taken.

use live::file::Item;
use packet::{Packet, Tick};

const PS_PER_SECOND: u128 = 1_000_000_000_000;
/// What begins a description that holds a zero.
const MARK: &str = "wire counter: ";

/// Turns stamps into words.
#[derive(Clone, Copy, Debug, Default)]
pub struct Zero {
    tick: Option<Tick>,
    /// Picoseconds since 1970.
    epoch: Option<u128>,
}

impl Zero {
    /// With a tick and a zero (in ns since 1970) that the user gives; what is not given is found.
    pub fn new(tick: Option<Tick>, epoch_ns: Option<u64>) -> Zero {
        Zero {
            tick,
            epoch: epoch_ns.map(|ns| u128::from(ns) * 1_000),
        }
    }

    /// The packet with its word: its own, or one made from its stamp.
    #[inline]
    pub fn stamped<'a>(&mut self, item: &Item<'a>) -> Packet<'a> {
        let word = match item.word {
            Some(word) => Some(word),
            None => item.at_ps.map(|at| self.word(at, item.description)),
        };
        Packet {
            word,
            hash: item.hash,
            bytes: item.bytes,
        }
    }

    /// The word for a stamp; zero for what came before the zero.
    fn word(&mut self, at_ps: u128, description: &str) -> u64 {
        if self.tick.is_none() || self.epoch.is_none() {
            let (tick, epoch) = origin(at_ps, description);
            self.tick.get_or_insert(tick);
            self.epoch.get_or_insert(epoch);
        }
        let since = at_ps.saturating_sub(self.epoch.unwrap_or(0));
        self.tick.unwrap_or(Tick::EIGHT_NS).count(since)
    }
}

/// The tick of a capture whose first packet came at `at_ps`, and the time at which its counter was
/// zero, both in ps: told by its description, or the last whole second before.
pub fn origin(at_ps: u128, description: &str) -> (Tick, u128) {
    read(description).unwrap_or((Tick::EIGHT_NS, at_ps - at_ps % PS_PER_SECOND))
}

/// The description of an interface whose stamps count from `epoch_ns`.
pub fn describe(tick: Tick, epoch_ns: u64) -> String {
    format!("{MARK}tick {} ps, zero {epoch_ns} ns", tick.as_ps())
}

/// The tick and the zero, in ps since 1970, that a description tells.
fn read(description: &str) -> Option<(Tick, u128)> {
    let (tick, zero) = description.strip_prefix(MARK)?.split_once(", ")?;
    let tick = tick.strip_prefix("tick ")?.strip_suffix(" ps")?;
    let zero: u64 = zero
        .strip_prefix("zero ")?
        .strip_suffix(" ns")?
        .parse()
        .ok()?;
    Some((Tick::from_ps(tick.parse().ok()?)?, u128::from(zero) * 1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_reads_back() {
        let text = describe(Tick::EIGHT_NS, 1_700_000_000_123_456_789);
        assert_eq!(
            read(&text),
            Some((Tick::EIGHT_NS, 1_700_000_000_123_456_789_000))
        );
        for other in ["", "eth0", "wire counter: tick 0 ps, zero 1 ns"] {
            assert_eq!(read(other), None);
        }
    }

    #[test]
    fn a_foreign_capture_counts_from_the_second_before() {
        let mut zero = Zero::default();
        assert_eq!(zero.word(5_000_000_008_000, ""), 1);
        assert_eq!(zero.word(6_000_000_000_000, ""), 125_000_000);
        assert_eq!(zero.word(4_000_000_000_000, ""), 0);
    }
}
