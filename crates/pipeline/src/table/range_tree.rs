//! Entries told apart by ranges: boxes of one side for each range, of which those that hold a point are wanted, the best first.
//!
//! A heap by rank whose branches divide space, after the priority R-tree: each node has the best 16 entries of all below it, and its branches
//! have the others by where they lie, each with the smallest box around all of its own. A lookup compares the best of a node, and goes on only
//! where a branch could have something better and holds the point. So wide ranges, which many points are in, are found at the top, and narrow
//! ones along a path. Memory is one place for each entry.

use super::rule::{LAST, Rank, Rule};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Entries of a node.
const BEST: usize = 16;
/// Branches of a node that was built; entries that come later make no more.
const BRANCHES: usize = 8;
/// Minimum number of entries of a branch that is rebuilt after as many changes.
const MIN_REBUILT_ENTRIES: usize = 64;

/// An entry and its box: for each side from and to, both included.
#[derive(Clone, Debug)]
pub(super) struct RangeEntry {
    pub(super) row: u32,
    pub(super) rank: Rank,
    pub(super) sides: Arc<[[u64; 2]]>,
    /// For ranges of more than 64 bits, which are no side.
    pub(super) wide: Option<Arc<Rule>>,
}

#[derive(Debug, Default)]
pub(super) struct RangeTree {
    /// The winners first.
    best: Vec<RangeEntry>,
    /// The sides of the best, one behind the other.
    sides: Vec<[u64; 2]>,
    /// Around everything here and below. It may be too large after something went.
    around: Vec<[u64; 2]>,
    branches: Vec<RangeTree>,
    /// Entries here and below.
    count: usize,
    /// How many came and went below since this was built.
    changes: usize,
}

/// The value of a key in one side.
type Point<'a> = &'a [u64];

#[inline]
fn holds(sides: &[[u64; 2]], point: Point) -> bool {
    let pairs = sides.iter().zip(point);
    pairs.fold(true, |inside, ([from, to], at)| {
        inside & (from <= at) & (at <= to)
    })
}

fn widen(around: &mut Vec<[u64; 2]>, sides: &[[u64; 2]]) {
    if around.is_empty() {
        around.extend_from_slice(sides);
    }
    for (around, side) in around.iter_mut().zip(sides) {
        around[0] = around[0].min(side[0]);
        around[1] = around[1].max(side[1]);
    }
}

fn middle(side: [u64; 2]) -> u64 {
    side[0] + (side[1] - side[0]) / 2
}

impl RangeTree {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The best rank of all.
    #[inline]
    pub(super) fn first(&self) -> Rank {
        self.best.first().map_or(LAST, |entry| entry.rank)
    }

    /// Finds what is better than `best`.
    pub(super) fn find(&self, point: Point, key: &[u64], best: &mut (u32, Rank)) {
        let width = point.len();
        for (number, entry) in self.best.iter().enumerate() {
            if entry.rank >= best.1 {
                return;
            }
            let inside = holds(&self.sides[number * width..(number + 1) * width], point);
            let wide = |rule: &Arc<Rule>| rule.pattern.ranges.iter().all(|r| r.holds(key));
            if inside && entry.wide.as_ref().is_none_or(wide) {
                *best = (entry.row, entry.rank);
                // All below are worse.
                return;
            }
        }
        for branch in &self.branches {
            if branch.first() < best.1 && holds(&branch.around, point) {
                branch.find(point, key, best);
            }
        }
    }

    pub(super) fn insert(&mut self, entry: RangeEntry) {
        self.count += 1;
        self.changes += 1;
        widen(&mut self.around, &entry.sides);
        if self.changes > self.count / 2 && self.count > MIN_REBUILT_ENTRIES {
            let mut all = self.take_all();
            all.push(entry);
            *self = Self::built(all);
            return;
        }
        let last = self.best.last().map_or(LAST, |last| last.rank);
        if self.best.len() < BEST && (self.branches.is_empty() || entry.rank < last) {
            self.put(entry);
        } else if entry.rank < last {
            let loser = self.best.pop();
            self.put(entry);
            if let Some(loser) = loser {
                self.below(loser);
            }
        } else {
            self.below(entry);
        }
    }

    fn put(&mut self, entry: RangeEntry) {
        let at = self.best.partition_point(|other| other.rank < entry.rank);
        self.best.insert(at, entry);
        self.line_up();
    }

    fn line_up(&mut self) {
        self.sides.clear();
        let sides = self.best.iter().flat_map(|entry| entry.sides.iter());
        self.sides.extend(sides);
    }

    /// Puts an entry into the branch that must grow the least.
    fn below(&mut self, entry: RangeEntry) {
        let growth = |branch: &RangeTree| {
            let pairs = branch.around.iter().zip(&*entry.sides);
            pairs.fold(0u64, |sum, (around, side)| {
                let more = around[0].saturating_sub(side[0]);
                let more = more.saturating_add(side[1].saturating_sub(around[1]));
                sum.saturating_add(more)
            })
        };
        let branches = self.branches.iter_mut();
        match branches.min_by_key(|branch| (growth(branch), branch.count)) {
            Some(branch) => branch.insert(entry),
            None => {
                let mut branch = RangeTree::default();
                branch.insert(entry);
                self.branches.push(branch);
            }
        }
    }

    /// Takes an entry out, if it is here.
    pub(super) fn remove(&mut self, rank: Rank, sides: &[[u64; 2]]) -> bool {
        match self.best.binary_search_by(|entry| entry.rank.cmp(&rank)) {
            Ok(at) => {
                self.best.remove(at);
                if let Some(next) = self.next_below() {
                    self.best.push(next);
                }
                self.line_up();
            }
            Err(at) if at < self.best.len() => return false,
            Err(_) => {
                let inside = |branch: &RangeTree| {
                    let mut pairs = branch.around.iter().zip(sides);
                    pairs.all(|(around, side)| around[0] <= side[0] && side[1] <= around[1])
                };
                let mut branches = self.branches.iter_mut();
                let found = branches.position(|branch| {
                    branch.first() <= rank && inside(branch) && branch.remove(rank, sides)
                });
                match found {
                    None => return false,
                    Some(at) if self.branches[at].count == 0 => drop(self.branches.remove(at)),
                    Some(_) => {}
                }
            }
        }
        self.count -= 1;
        self.changes += 1;
        true
    }

    /// Takes out the best of all branches.
    fn next_below(&mut self) -> Option<RangeEntry> {
        let branches = self.branches.iter().enumerate();
        let (at, _) = branches.min_by_key(|(_, branch)| branch.first())?;
        let branch = &mut self.branches[at];
        let first = branch.best.remove(0);
        branch.count -= 1;
        branch.changes += 1;
        if let Some(next) = branch.next_below() {
            branch.best.push(next);
        }
        branch.line_up();
        if branch.count == 0 {
            self.branches.remove(at);
        }
        Some(first)
    }

    fn take_all(&mut self) -> Vec<RangeEntry> {
        let mut all = core::mem::take(&mut self.best);
        for branch in &mut self.branches {
            all.append(&mut branch.take_all());
        }
        all
    }

    /// Of all these entries.
    fn built(mut all: Vec<RangeEntry>) -> Self {
        all.sort_unstable_by_key(|entry| entry.rank);
        let mut node = RangeTree {
            count: all.len(),
            ..RangeTree::default()
        };
        for entry in &all {
            widen(&mut node.around, &entry.sides);
        }
        let rest = all.split_off(all.len().min(BEST));
        node.best = all;
        node.line_up();
        let mut parts = alloc::vec![rest];
        while parts.len() < BRANCHES {
            let halves = parts.drain(..).flat_map(halves);
            parts = halves.collect();
        }
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        node.branches = parts.map(Self::built).collect();
        node.branches.sort_by_key(RangeTree::first);
        node
    }

    #[cfg(test)]
    fn entries(&self) -> usize {
        let below: usize = self.branches.iter().map(RangeTree::entries).sum();
        self.best.len() + below
    }
}

/// Divides entries by where they lie in the side in which they are the most apart, as measured by how large they are.
fn halves(mut part: Vec<RangeEntry>) -> [Vec<RangeEntry>; 2] {
    let sides = part.first().map_or(0, |entry| entry.sides.len());
    let apart = |side: &usize| {
        let all = || part.iter().map(|entry| entry.sides[*side]);
        let from = all().map(middle).min().unwrap_or(0);
        let to = all().map(middle).max().unwrap_or(0);
        let sizes: u128 = all().map(|side| u128::from(side[1] - side[0]) + 1).sum();
        u128::from(to - from) * part.len() as u128 * 1024 / sizes.max(1)
    };
    let (half, last) = (part.len() / 2, part.len().saturating_sub(1));
    if let Some(side) = (0..sides).max_by_key(apart) {
        part.select_nth_unstable_by_key(half.min(last), |entry| middle(entry.sides[side]));
    }
    let upper = part.split_off(half);
    [part, upper]
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cmp::Reverse;
    use node::random::Random;

    fn entry(row: u32, random: &mut Random) -> RangeEntry {
        let mut side = || {
            let from = random.below(1000);
            [from, from + random.below([3, 40, 1000][row as usize % 3])]
        };
        let sides = [side(), side()];
        RangeEntry {
            row,
            rank: (Reverse(random.below(50) as u32), u64::from(row)),
            sides: Arc::new(sides),
            wide: None,
        }
    }

    fn same(ranges: &RangeTree, list: &[RangeEntry], random: &mut Random) {
        assert_eq!((ranges.len(), ranges.entries()), (list.len(), list.len()));
        for _ in 0..20 {
            let point = [random.below(1100), random.below(1100)];
            let hit = list.iter().filter(|entry| holds(&entry.sides, &point));
            let right = hit.map(|entry| (entry.rank, entry.row)).min();
            let mut found = (0, LAST);
            ranges.find(&point, &point, &mut found);
            assert_eq!(found, right.map_or((0, LAST), |(rank, row)| (row, rank)));
        }
    }

    #[test]
    fn the_best_box_around_a_point_is_found_whatever_comes_and_goes() {
        for seed in 1..20 {
            let mut random = Random::new(seed);
            let (mut ranges, mut list) = (RangeTree::default(), Vec::new());
            for row in 1..1500 {
                if list.len() > 5 && (random.below(3) == 0 || row > 1200) {
                    let gone: RangeEntry = list.swap_remove(random.index(list.len()));
                    assert!(ranges.remove(gone.rank, &gone.sides));
                    assert!(!ranges.remove(gone.rank, &gone.sides));
                } else {
                    let new = entry(row, &mut random);
                    ranges.insert(new.clone());
                    list.push(new);
                }
                if row % 50 == 0 {
                    same(&ranges, &list, &mut random);
                }
            }
        }
    }
}
