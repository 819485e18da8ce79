//! What happens next.
//!
//! Only the first event of each source - a direction of a link, a node's alarm - is in the heap, so
//! it stays as small as the graph however many frames are on their way. An event is moved in place
//! when it changes, so nothing stale is ever met. Four children to a place: half as deep as a binary
//! heap, and the children lie in two cache lines.

use node::Time;

const CHILDREN: usize = 4;
const NOWHERE: u32 = u32::MAX;

/// When a source is due: by time, and at one time in the order of cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Due {
    pub at: Time,
    /// Counts up with each event that is caused; never twice the same.
    pub order: u64,
}

#[derive(Clone, Copy)]
struct Entry {
    due: Due,
    source: u32,
}

/// The first event of each source that has one.
pub(crate) struct Agenda {
    heap: Vec<Entry>,
    /// Where each source is in the heap.
    place: Vec<u32>,
}

impl Agenda {
    /// For sources `0..sources`, none of which is due.
    pub fn new(sources: usize) -> Agenda {
        Agenda {
            heap: Vec::with_capacity(sources),
            place: vec![NOWHERE; sources],
        }
    }

    /// The source that is due first.
    pub fn first(&self) -> Option<(Due, usize)> {
        self.heap
            .first()
            .map(|entry| (entry.due, entry.source as usize))
    }

    /// When this source is due.
    pub fn due(&self, source: usize) -> Option<Due> {
        match self.place[source] {
            NOWHERE => None,
            place => Some(self.heap[place as usize].due),
        }
    }

    /// Says when a source is due, whether or not it was before.
    pub fn set(&mut self, source: usize, due: Option<Due>) {
        let place = self.place[source];
        match (due, place) {
            (None, NOWHERE) => {}
            (None, place) => self.remove(place as usize),
            (Some(due), NOWHERE) => {
                let source = source as u32;
                self.heap.push(Entry { due, source });
                self.rise(self.heap.len() - 1, Entry { due, source });
            }
            (Some(due), place) => {
                let place = place as usize;
                let earlier = due < self.heap[place].due;
                let entry = Entry {
                    due,
                    source: source as u32,
                };
                if earlier {
                    self.rise(place, entry);
                } else {
                    self.sink(place, entry);
                }
            }
        }
    }

    fn remove(&mut self, place: usize) {
        self.place[self.heap[place].source as usize] = NOWHERE;
        let Some(last) = self.heap.pop().filter(|_| place < self.heap.len()) else {
            return;
        };
        if last.due < self.heap[place].due {
            self.rise(place, last);
        } else {
            self.sink(place, last);
        }
    }

    fn put(&mut self, place: usize, entry: Entry) {
        self.place[entry.source as usize] = place as u32;
        self.heap[place] = entry;
    }

    fn rise(&mut self, mut place: usize, entry: Entry) {
        while place > 0 {
            let parent = (place - 1) / CHILDREN;
            if self.heap[parent].due <= entry.due {
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
            let end = (first + CHILDREN).min(self.heap.len());
            let Some(child) = (first..end).min_by_key(|&child| self.heap[child].due) else {
                break;
            };
            if entry.due <= self.heap[child].due {
                break;
            }
            self.put(place, self.heap[child]);
            place = child;
        }
        self.put(place, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_first_is_always_the_least_whatever_is_set_and_cleared() {
        let mut agenda = Agenda::new(50);
        let mut model = BTreeMap::new();
        let mut x = 1u64;
        for order in 0..20_000 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let source = (x >> 33) as usize % 50;
            let at = Time::from_ps((x >> 20) % 100);
            let due = (x >> 60 != 0).then_some(Due { at, order });
            agenda.set(source, due);
            match due {
                Some(due) => model.insert(source, due),
                None => model.remove(&source),
            };
            let first = model.iter().map(|(&source, &due)| (due, source)).min();
            assert_eq!(agenda.first(), first);
            assert_eq!(agenda.due(source), due);
        }
    }
}
