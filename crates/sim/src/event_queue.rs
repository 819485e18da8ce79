//! What happens next.
//!
//! Only the first event of each source - a direction of a link, a node's alarm - is in the heap, so
//! it stays as small as the graph however many frames are on their way. An event is moved in place
//! when it changes, so nothing stale is ever met. Four children to a place: half as deep as a binary
//! heap, and the children lie in two cache lines. Which of them is first is found without branches,
//! which would go wrong every other time.

use node::Time;

const CHILDREN: usize = 4;
const NOWHERE: u32 = u32::MAX;

/// When a source is due: by time, and at one time by rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Due {
    pub at: Time,
    /// That of the source, which no other has: it comes from the graph alone, so that the order of events is the
    /// same however many threads there are.
    pub rank: u64,
}

impl Due {
    /// Compared at one go.
    fn key(self) -> u128 {
        u128::from(self.at.as_ps()) << 64 | u128::from(self.rank)
    }
}

#[derive(Clone, Copy)]
struct Entry {
    key: u128,
    source: u32,
}

impl Entry {
    fn due(&self) -> Due {
        Due {
            at: Time::from_ps((self.key >> 64) as u64),
            rank: self.key as u64,
        }
    }
}

/// The first event of each source that has one.
pub(crate) struct EventQueue {
    heap: Vec<Entry>,
    /// Where each source is in the heap.
    place: Vec<u32>,
}

impl EventQueue {
    /// For sources `0..sources`, none of which is due.
    pub fn new(sources: usize) -> EventQueue {
        EventQueue {
            heap: Vec::with_capacity(sources),
            place: vec![NOWHERE; sources],
        }
    }

    /// The source that is due first.
    pub fn first(&self) -> Option<(Due, usize)> {
        self.heap
            .first()
            .map(|entry| (entry.due(), entry.source as usize))
    }

    /// When this source is due.
    pub fn due(&self, source: usize) -> Option<Due> {
        match self.place[source] {
            NOWHERE => None,
            place => Some(self.heap[place as usize].due()),
        }
    }

    /// Says when a source is due, whether or not it was before.
    pub fn set(&mut self, source: usize, due: Option<Due>) {
        let place = self.place[source];
        match (due, place) {
            (None, NOWHERE) => {}
            (None, place) => self.remove(place as usize),
            (Some(due), NOWHERE) => {
                let (key, source) = (due.key(), source as u32);
                self.heap.push(Entry { key, source });
                self.rise(self.heap.len() - 1, Entry { key, source });
            }
            (Some(due), place) => {
                let (key, source) = (due.key(), source as u32);
                self.replace(place as usize, Entry { key, source });
            }
        }
    }

    fn remove(&mut self, place: usize) {
        self.place[self.heap[place].source as usize] = NOWHERE;
        if let Some(last) = self.heap.pop().filter(|_| place < self.heap.len()) {
            self.replace(place, last);
        }
    }

    fn replace(&mut self, place: usize, entry: Entry) {
        if entry.key < self.heap[place].key {
            self.rise(place, entry);
        } else {
            self.sink(place, entry);
        }
    }

    fn put(&mut self, place: usize, entry: Entry) {
        self.place[entry.source as usize] = place as u32;
        self.heap[place] = entry;
    }

    fn rise(&mut self, mut place: usize, entry: Entry) {
        while place > 0 {
            let parent = (place - 1) / CHILDREN;
            if self.heap[parent].key <= entry.key {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    fn sink(&mut self, mut place: usize, entry: Entry) {
        loop {
            let first = place * CHILDREN + 1;
            let Some(child) = self.first_of(first) else {
                break;
            };
            if entry.key <= self.heap[child].key {
                break;
            }
            self.put(place, self.heap[child]);
            place = child;
        }
        self.put(place, entry);
    }

    /// Which of the children that begin at a place is due first.
    fn first_of(&self, first: usize) -> Option<usize> {
        let children = self.heap.get(first..)?;
        let Some([a, b, c, d]) = children.first_chunk::<CHILDREN>() else {
            let rest = (0..children.len()).min_by_key(|&child| children[child].key);
            return rest.map(|child| first + child);
        };
        let earlier = |x: usize, y: usize, second: bool| if second { y } else { x };
        let (left, right) = (earlier(0, 1, b.key < a.key), earlier(2, 3, d.key < c.key));
        let later = children[right].key < children[left].key;
        Some(first + earlier(left, right, later))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_first_is_always_the_least_whatever_is_set_and_cleared() {
        let mut queue = EventQueue::new(50);
        let mut model = BTreeMap::new();
        let mut x = 1u64;
        for rank in 0..20_000 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let source = (x >> 33) as usize % 50;
            let at = Time::from_ps((x >> 20) % 100);
            let due = (x >> 60 != 0).then_some(Due { at, rank });
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
