//! One end of a conversation: pairs that leave, pairs that come, and which of both belong together.

use crate::clock::Local;
use packet::huygens::{Probe, Role, Stamps};

/// Number of pairs whose timestamps are kept until those of the other end arrive.
const REMEMBERED: usize = 8;
/// Maximum gap between the probes of a pair, ps: the limit of the field in a message.
const MAX_PAIR_GAP_PS: Local = u32::MAX as Local;

/// The last few pairs.
#[derive(Clone, Debug, Default)]
struct Memory {
    pairs: [Option<Stamps>; REMEMBERED],
    next: usize,
}

impl Memory {
    fn add(&mut self, stamps: Stamps) {
        self.pairs[self.next] = Some(stamps);
        self.next = (self.next + 1) % REMEMBERED;
    }

    /// That of a pair, once.
    fn take(&mut self, pair: u32) -> Option<Stamps> {
        let known = |stamps: &Option<Stamps>| stamps.is_some_and(|stamps| stamps.pair == pair);
        self.pairs.iter_mut().find(|stamps| known(stamps))?.take()
    }
}

/// A pair whose stamps are known at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Crossing {
    /// When it left.
    pub left: Stamps,
    /// When it came.
    pub came: Stamps,
}

impl Crossing {
    /// By how much the gap came out otherwise than it went in, picoseconds.
    pub fn off(&self) -> u32 {
        self.left.gap.abs_diff(self.came.gap)
    }
}

/// What an end knows of a conversation.
#[derive(Clone, Debug, Default)]
pub(super) struct Talk {
    /// The own pair that is leaving, and when its probes have left.
    leaving: (u32, [Option<Local>; 2]),
    left: Memory,
    /// The last whole one, to be told.
    told_left: Option<Stamps>,
    /// The first probe of a pair has come, and when.
    coming: Option<(u32, Local)>,
    came: Memory,
    told_came: Option<Stamps>,
}

impl Talk {
    /// An own pair is to leave.
    pub fn begin(&mut self, pair: u32) {
        self.leaving = (pair, [None; 2]);
    }

    /// The pair that is leaving.
    pub fn leaving(&self) -> u32 {
        self.leaving.0
    }

    /// A probe of the pair that leaves, as it is to be sent.
    pub fn probe(&self, role: Role, second: bool) -> Probe {
        Probe {
            role,
            second,
            pair: self.leaving.0,
            left: self.told_left,
            came: self.told_came,
        }
    }

    /// One of the two probes that are leaving has left.
    pub fn departed(&mut self, second: bool, at: Local) {
        self.leaving.1[usize::from(second)] = Some(at);
        if let (pair, [Some(first), Some(second)]) = self.leaving {
            self.leaving.0 = 0;
            if let Some(stamps) = whole(pair, first, second) {
                self.left.add(stamps);
                self.told_left = Some(stamps);
            }
        }
    }

    /// A probe of the other end has come; whether it made its pair whole.
    pub fn arrived(&mut self, probe: &Probe, at: Local) -> bool {
        if !probe.second {
            self.coming = Some((probe.pair, at));
            return false;
        }
        let first = self.coming.take().filter(|(pair, _)| *pair == probe.pair);
        let stamps = first.and_then(|(pair, first)| whole(pair, first, at));
        if let Some(stamps) = stamps {
            self.came.add(stamps);
            self.told_came = Some(stamps);
        }
        stamps.is_some()
    }

    /// What the other end tells of earlier pairs: an own one that came there, and one of its own that came here.
    pub fn crossings(&mut self, probe: &Probe) -> [Option<Crossing>; 2] {
        let there = probe.came.and_then(|came| {
            let left = self.left.take(came.pair)?;
            Some(Crossing { left, came })
        });
        let here = probe.left.and_then(|left| {
            let came = self.came.take(left.pair)?;
            Some(Crossing { left, came })
        });
        [there, here]
    }

    /// The clock was corrected: stamps from before are worth nothing now.
    pub fn forget(&mut self) {
        *self = Talk::default();
    }
}

fn whole(pair: u32, first: Local, second: Local) -> Option<Stamps> {
    let gap = second - first;
    (0..=MAX_PAIR_GAP_PS).contains(&gap).then_some(Stamps {
        pair,
        first,
        gap: gap as u32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pair goes from one end to the other, and takes so long.
    fn cross(from: &mut Talk, to: &mut Talk, pair: u32, at: Local, takes: [Local; 2]) {
        from.begin(pair);
        for second in [false, true] {
            let index = usize::from(second);
            let leaves = at + Local::from(second) * 10_000;
            let probe = from.probe(Role::Client, second);
            from.departed(second, leaves);
            assert_eq!(to.arrived(&probe, leaves + takes[index]), second);
        }
    }

    #[test]
    fn the_stamps_of_a_pair_meet_at_both_ends_and_once() {
        let (mut a, mut b) = (Talk::default(), Talk::default());
        cross(&mut a, &mut b, 1, 0, [500, 500]);
        cross(&mut b, &mut a, 1, 100, [500, 530]);
        let answer = b.probe(Role::Server, false);
        let [there, here] = a.crossings(&answer);
        let there = there.unwrap();
        assert_eq!((there.left.first, there.came.first), (0, 500));
        assert_eq!(there.off(), 0);
        let here = here.unwrap();
        assert_eq!((here.left.first, here.came.first), (100, 600));
        assert_eq!((here.left.gap, here.off()), (10_000, 30));
        assert_eq!(a.crossings(&answer), [None, None], "told twice");
    }

    #[test]
    fn half_a_pair_is_none() {
        let (mut a, mut b) = (Talk::default(), Talk::default());
        a.begin(1);
        let second = a.probe(Role::Client, true);
        assert!(!b.arrived(&second, 7));
        let first = a.probe(Role::Client, false);
        assert!(!b.arrived(&first, 8));
        // The second of the next pair does not belong to it.
        a.begin(2);
        assert!(!b.arrived(&a.probe(Role::Client, true), 9));
        a.departed(true, 5);
        assert_eq!(a.told_left, None);
        // Not in the order in which they left.
        a.departed(false, 6);
        assert_eq!(a.told_left, None);
    }
}
