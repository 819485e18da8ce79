//! The epoch of words, and words for the packets of a capture, where `--words` asks for them.
//!
//! A capture says when a packet came in time since 1970; a word counts ticks from the zero of the
//! machine's counter (FORMATS section 3). A capture that `wire dump` made of words says in its interface's
//! description where that zero was. For others the last whole second before the first packet is
//! taken.

use ::capture::file::Item;
use anyhow::ensure;
use packet::{Packet, Stamp, Tick};

const PS_PER_SECOND: u128 = 1_000_000_000_000;
/// What begins a description that holds a zero.
const MARK: &str = "wire counter: ";

/// Turns dates into words.
#[derive(Clone, Copy, Debug, Default)]
pub struct Words {
    tick: Option<Tick>,
    /// Picoseconds since 1970.
    epoch: Option<u128>,
}

impl Words {
    /// With a tick and a zero (in ns since 1970) that the user gives; what is not given is found.
    pub fn new(tick: Option<Tick>, epoch_ns: Option<u64>) -> Words {
        Words {
            tick,
            epoch: epoch_ns.map(|ns| u128::from(ns) * 1_000),
        }
    }

    /// The packet with its word: its own, or one made from its date.
    ///
    /// # Errors
    /// When its date is before the zero, or so far behind it that no word reaches there.
    #[inline]
    pub fn stamped<'a>(&mut self, item: &Item<'a>) -> anyhow::Result<Packet<'a>> {
        let mut packet = item.packet();
        if let Some(Stamp::Date(date)) = packet.stamp {
            let word = self.word(date.as_ps(), item.description())?;
            packet.stamp = Some(Stamp::Word(word));
        }
        Ok(packet)
    }

    /// The word for a date.
    fn word(&mut self, at_ps: u128, description: &str) -> anyhow::Result<u64> {
        if self.tick.is_none() || self.epoch.is_none() {
            let (tick, epoch) = origin(at_ps, description);
            self.tick.get_or_insert(tick);
            self.epoch.get_or_insert(epoch);
        }
        let (tick, epoch) = (self.tick.unwrap_or(Tick::EIGHT_NS), self.epoch.unwrap_or(0));
        ensure!(
            at_ps >= epoch,
            "a packet came before the zero of words, {} ns since 1970; --epoch sets an earlier one",
            epoch / 1_000
        );
        let (since, word) = (at_ps - epoch, tick.count(at_ps - epoch));
        ensure!(
            tick.ps(word) <= since && since - tick.ps(word) < tick.as_ps().into(),
            "a packet came more than 2^56 ticks behind the zero of words, {} ns since 1970; \
             --epoch sets a later one",
            epoch / 1_000
        );
        Ok(word)
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

/// A packet of a port, with the word that a port's packets have in lines and records.
pub fn in_words<'a>(item: &Item<'a>, epoch_ps: u128, tick: Tick) -> Packet<'a> {
    let since = item.at_ps.map_or(0, |at_ps| at_ps.saturating_sub(epoch_ps));
    Packet {
        stamp: Some(Stamp::Word(tick.count(since))),
        ..item.packet()
    }
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
        let mut zero = Words::default();
        assert_eq!(zero.word(5_000_000_008_000, "").unwrap(), 1);
        assert_eq!(zero.word(6_000_000_000_000, "").unwrap(), 125_000_000);
    }

    #[test]
    fn a_date_that_no_word_reaches_is_an_error() {
        let mut zero = Words::new(None, Some(5_000_000_000));
        let before = zero.word(4_999_999_999_999, "").unwrap_err().to_string();
        assert!(before.contains("before the zero"), "{before}");
        let most = (1 << 56) * 8_000 + 5_000_000_000_000;
        assert_eq!(zero.word(most - 1, "").unwrap(), (1 << 56) - 1);
        let behind = zero.word(most, "").unwrap_err().to_string();
        assert!(behind.contains("2^56"), "{behind}");
    }
}
