//! What happens next.
//!
//! Only the first event of each source - a direction of a link, a node's alarm - is in the heap, so
//! it stays as small as the graph however many frames are on their way. An event is moved in place
//! when it changes, so nothing stale is ever met. Four children to a place: half as deep as a binary
//! heap. Which of them is first is found without branches,
//! which would go wrong every other time. When, in which order, and whose it is are one number of 16 bytes, so that
//! four children fill one cache line, and one comparison tells which of two is first.

use node::Time;

const CHILDREN: usize = 4;
const NOWHERE: u32 = u32::MAX;

/// When a source is due: by time, and at one time by rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Due {
    pub at: Time,
    /// That of the source, which no other has: it comes from the graph alone, so that the order of events is the
    /// same however many threads there are.
    pub rank: u32,
}

/// A source that is due, as one number: the time, the rank, the source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    fn new(due: Due, source: usize) -> Entry {
        let rest = u64::from(due.rank) << 32 | source as u64;
        Entry(u128::from(due.at.as_ps()) << 64 | u128::from(rest))
    }

    fn due(self) -> Due {
        Due {
            at: Time::from_ps((self.0 >> 64) as u64),
            rank: (self.0 >> 32) as u32,
        }
    }

    fn source(self) -> usize {
        self.0 as u32 as usize
    }
}

/// The first event of each source that has one.
pub(crate) struct EventQueue {
    heap: Vec<Entry>,
    /// Where each source is in the heap.
    position: Vec<u32>,
}

impl EventQueue {
    /// For sources `0..sources`, none of which is due.
    pub fn new(sources: usize) -> EventQueue {
        EventQueue {
            heap: Vec::with_capacity(sources),
            position: vec![NOWHERE; sources],
        }
    }

    /// The source that is due first.
    pub fn first(&self) -> Option<(Due, usize)> {
        self.heap.first().map(|entry| (entry.due(), entry.source()))
    }

    /// When this source is due.
    pub fn due(&self, source: usize) -> Option<Due> {
        match self.position[source] {
            NOWHERE => None,
            position => Some(self.heap[position as usize].due()),
        }
    }

    /// Says when a source is due, whether or not it was before.
    pub fn set(&mut self, source: usize, due: Option<Due>) {
        let position = self.position[source];
        match (due, position) {
            (None, NOWHERE) => {}
            (None, position) => self.remove(position as usize),
            (Some(due), NOWHERE) => {
                let entry = Entry::new(due, source);
                self.heap.push(entry);
                self.rise(self.heap.len() - 1, entry);
            }
            (Some(due), position) => self.replace(position as usize, Entry::new(due, source)),
        }
    }

    fn remove(&mut self, position: usize) {
        self.position[self.heap[position].source()] = NOWHERE;
        if let Some(last) = self.heap.pop().filter(|_| position < self.heap.len()) {
            self.replace(position, last);
        }
    }

    fn replace(&mut self, position: usize, entry: Entry) {
        if entry < self.heap[position] {
            self.rise(position, entry);
        } else {
            self.sink(position, entry);
        }
    }

    fn put(&mut self, position: usize, entry: Entry) {
        self.position[entry.source()] = position as u32;
        self.heap[position] = entry;
    }

    fn rise(&mut self, mut position: usize, entry: Entry) {
        while position > 0 {
            let parent = (position - 1) / CHILDREN;
            if self.heap[parent] <= entry {
                break;
            }
            self.put(position, self.heap[parent]);
            position = parent;
        }
        self.put(position, entry);
    }

    fn sink(&mut self, mut position: usize, entry: Entry) {
        loop {
            let first = position * CHILDREN + 1;
            let Some(child) = self.first_of(first) else {
                break;
            };
            if entry <= self.heap[child] {
                break;
            }
            self.put(position, self.heap[child]);
            position = child;
        }
        self.put(position, entry);
    }

    /// Which of the children that begin at a place is due first.
    fn first_of(&self, first: usize) -> Option<usize> {
        let children = self.heap.get(first..)?;
        let Some([a, b, c, d]) = children.first_chunk::<CHILDREN>() else {
            let rest = (0..children.len()).min_by_key(|&child| children[child]);
            return rest.map(|child| first + child);
        };
        let earlier = |x: usize, y: usize, second: bool| if second { y } else { x };
        let (left, right) = (earlier(0, 1, b < a), earlier(2, 3, d < c));
        let later = children[right] < children[left];
        Some(first + earlier(left, right, later))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use node::random::Random;
    use std::collections::BTreeMap;

    #[test]
    fn the_first_is_always_the_least_whatever_is_set_and_cleared() {
        let mut queue = EventQueue::new(50);
        let mut model = BTreeMap::new();
        let mut random = Random::new(1);
        for rank in 0..20_000 {
            let source = random.below(50) as usize;
            let at = Time::from_ps(random.below(100));
            let due = (random.below(16) != 0).then_some(Due { at, rank });
            queue.set(source, due);
            match due {
                Some(due) => model.insert(source, due),
                None => model.remove(&source),
            };
            let first = model.iter().map(|(&source, &due)| (due, source)).min();
            assert_eq!(queue.first(), first);
            assert_eq!(queue.due(source), due);
        }
    }
}
