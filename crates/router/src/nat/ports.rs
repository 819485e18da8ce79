//! External ports of one address.

use super::config::Ports;
use alloc::boxed::Box;
use alloc::vec;
use core::ops::RangeInclusive;
use node::random::Random;

/// Number of ports, or identifiers, of a protocol.
const PORTS: usize = 1 << 16;
/// Bits of the even ports in a word.
const EVEN: u64 = 0x5555_5555_5555_5555;
/// Maximum number of ports that are tried where each must be looked up.
const MAX_PROBES: usize = 1_024;

/// Ports in use of one address and protocol.
#[derive(Debug)]
pub(super) struct PortSet {
    words: Box<[u64]>,
    /// The port that was taken last.
    last: Option<u16>,
}

/// Wishes for a port.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    /// Ports from which one is taken.
    pub range: RangeInclusive<u16>,
    /// Ports to try first.
    pub first: [Option<u16>; 3],
    /// Whether an even or an odd port is preferred.
    pub odd: Option<bool>,
    /// Choice of the others.
    pub choice: Ports,
}

impl PortSet {
    pub fn new() -> PortSet {
        PortSet {
            words: vec![0; PORTS / 64].into(),
            last: None,
        }
    }

    fn bit(port: u16) -> (usize, u64) {
        (usize::from(port) / 64, 1 << (port % 64))
    }

    pub fn contains(&self, port: u16) -> bool {
        let (word, bit) = PortSet::bit(port);
        self.words[word] & bit != 0
    }

    pub fn insert(&mut self, port: u16) {
        let (word, bit) = PortSet::bit(port);
        self.words[word] |= bit;
    }

    pub fn remove(&mut self, port: u16) {
        let (word, bit) = PortSet::bit(port);
        self.words[word] &= !bit;
    }

    /// The first free port of a range, of those whose bits are in `mask`.
    fn next_free(&self, range: RangeInclusive<u16>, mask: u64) -> Option<u16> {
        if range.is_empty() {
            return None;
        }
        let (first, from) = PortSet::bit(*range.start());
        let (last, until) = PortSet::bit(*range.end());
        (first..=last).find_map(|word| {
            let mut free = !self.words[word] & mask;
            if word == first {
                free &= !(from - 1);
            }
            if word == last {
                free &= until | (until - 1);
            }
            (free != 0).then(|| (word * 64) as u16 + free.trailing_zeros() as u16)
        })
    }

    /// Where a search for a port starts.
    fn start(&self, wish: &Wish, random: &mut Random) -> u16 {
        let (start, end) = (*wish.range.start(), *wish.range.end());
        let last = self.last.filter(|last| wish.range.contains(last));
        match (wish.choice, last) {
            (Ports::Sequential, Some(last)) if last < end => last + 1,
            (Ports::Sequential, _) => start,
            (Ports::Preserve | Ports::Random, _) => {
                start + random.below(u64::from(end - start) + 1) as u16
            }
        }
    }

    /// Takes a free port; `None` when no port of the range is free.
    pub fn take(&mut self, wish: &Wish, random: &mut Random) -> Option<u16> {
        let first = wish.first.iter().flatten().copied();
        let mut first = first.filter(|&port| !self.contains(port));
        let found = first.next().or_else(|| {
            let start = self.start(wish, random);
            let mask = wish.odd.map(|odd| if odd { !EVEN } else { EVEN });
            let masks = mask.into_iter().chain([u64::MAX]);
            masks.into_iter().find_map(|mask| {
                let upper = self.next_free(start..=*wish.range.end(), mask);
                upper.or_else(|| {
                    let lower = *wish.range.start()..=start.checked_sub(1)?;
                    self.next_free(lower, mask)
                })
            })
        })?;
        self.insert(found);
        self.last = Some(found);
        Some(found)
    }

    /// Chooses a port that is in no set but must pass `is_free`; `None` when there is none, or none
    /// among 1024 that were tried.
    pub fn choose(
        &mut self,
        wish: &Wish,
        random: &mut Random,
        is_free: impl Fn(u16) -> bool,
    ) -> Option<u16> {
        let first = wish.first.iter().flatten().copied();
        let mut first = first.filter(|&port| !self.contains(port) && is_free(port));
        let found = first.next().or_else(|| {
            let start = self.start(wish, random);
            let upper = start..=*wish.range.end();
            let ports = upper.chain(*wish.range.start()..start).take(MAX_PROBES);
            let mut free = ports.filter(|&port| !self.contains(port) && is_free(port));
            let Some(odd) = wish.odd else {
                return free.next();
            };
            let any = free.next()?;
            if (any % 2 == 1) == odd {
                return Some(any);
            }
            free.find(|port| (port % 2 == 1) == odd).or(Some(any))
        })?;
        self.last = Some(found);
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_of_a_range_is_taken_once() {
        let mut random = Random::new(3);
        for choice in [Ports::Preserve, Ports::Sequential, Ports::Random] {
            for odd in [None, Some(false), Some(true)] {
                for range in [1..=1, 60..=70, 1..=1_023, 65_000..=65_535, 0..=65_535] {
                    let mut ports = PortSet::new();
                    let count = u32::from(range.end() - range.start()) + 1;
                    let wish = Wish {
                        range: range.clone(),
                        first: [None, None, Some(*range.end())],
                        odd,
                        choice,
                    };
                    let mut of_parity = 0;
                    for number in 0..count {
                        let before = ports.words.clone();
                        let port = ports.take(&wish, &mut random).unwrap();
                        let (word, bit) = PortSet::bit(port);
                        assert!(range.contains(&port) && before[word] & bit == 0);
                        assert!(number > 0 || port == *range.end(), "the wish");
                        let wanted = odd.is_some_and(|odd| (port % 2 == 1) == odd);
                        of_parity += u32::from(wanted);
                        if odd.is_some() && number > 0 && number + 1 < count / 2 {
                            assert!(wanted);
                        }
                    }
                    assert_eq!(ports.take(&wish, &mut random), None);
                    assert!(odd.is_none() || of_parity >= count / 2);
                    ports.remove(*range.start());
                    assert_eq!(ports.take(&wish, &mut random), Some(*range.start()));
                }
            }
        }
    }

    #[test]
    fn sequential_ports_follow_each_other_and_wrap() {
        let mut ports = PortSet::new();
        let wish = Wish {
            range: 10..=13,
            first: [None; 3],
            odd: None,
            choice: Ports::Sequential,
        };
        let mut random = Random::new(1);
        let mut take = |free: Option<u16>| {
            free.into_iter().for_each(|port| ports.remove(port));
            ports.take(&wish, &mut random)
        };
        assert_eq!([take(None), take(Some(10))], [Some(10), Some(11)]);
        assert_eq!([take(None), take(None)], [Some(12), Some(13)]);
        assert_eq!([take(None), take(None)], [Some(10), None]);
    }
}
