//! Order in which sessions time out.
//!
//! A packet that restarts a session's timer changes nothing but the session: its place in the
//! queue, an indexed heap, is corrected when the earlier time has come. So most packets touch no
//! other session, and every session still ends at its exact time.

use super::index::Slab;
use alloc::vec::Vec;
use node::Time;

/// A session's timer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timer {
    /// Time at which the session ends.
    pub expires: Time,
    /// Place in the queue.
    place: u32,
}

impl Timer {
    /// A timer that is not in a queue yet.
    pub fn until(expires: Time) -> Timer {
        Timer { expires, place: 0 }
    }
}

/// An entry with a timer.
pub(crate) trait Timed {
    fn timer(&mut self) -> &mut Timer;
}

/// All entries by a time at which they may expire: a binary heap.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    /// Times, none later than the entry's own, and numbers of the entries.
    queue: Vec<(Time, u32)>,
}

impl Timers {
    /// Puts an entry into the queue.
    pub fn start<T: Timed>(&mut self, entries: &mut Slab<T>, number: u32) {
        let expires = entries[number].timer().expires;
        self.queue.push((expires, number));
        self.rise(entries, self.queue.len() - 1);
    }

    /// Takes a new time of an entry into account.
    pub fn change<T: Timed>(&mut self, entries: &mut Slab<T>, number: u32) {
        let Timer { expires, place } = *entries[number].timer();
        let queued = &mut self.queue[place as usize].0;
        if expires < *queued {
            *queued = expires;
            self.rise(entries, place as usize);
        }
    }

    /// The entry that expires first, if it does by `now`.
    pub fn expired<T: Timed>(&mut self, now: Time, entries: &mut Slab<T>) -> Option<u32> {
        loop {
            let (queued, number) = *self.queue.first()?;
            if queued > now {
                return None;
            }
            let expires = entries[number].timer().expires;
            if expires == queued {
                return Some(number);
            }
            self.queue[0].0 = expires;
            self.sink(entries, 0);
        }
    }

    /// Takes an entry out of the queue.
    pub fn stop<T: Timed>(&mut self, entries: &mut Slab<T>, number: u32) {
        let place = entries[number].timer().place as usize;
        self.queue.swap_remove(place);
        if place < self.queue.len() {
            self.rise(entries, place);
            let moved = entries[self.queue[place].1].timer().place;
            if moved as usize == place {
                self.sink(entries, place);
            }
        }
    }

    /// Time at which the first entry may expire; [`Time::MAX`] when there is none.
    pub fn first(&self) -> Time {
        self.queue.first().map_or(Time::MAX, |&(time, _)| time)
    }

    /// All entries.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.queue.iter().map(|&(_, number)| number)
    }

    /// Moves the entry at a place towards the front.
    fn rise<T: Timed>(&mut self, entries: &mut Slab<T>, mut place: usize) {
        let own = self.queue[place];
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.queue[parent].0 <= own.0 {
                break;
            }
            self.put(entries, place, self.queue[parent]);
            place = parent;
        }
        self.put(entries, place, own);
    }

    /// Moves the entry at a place towards the end.
    fn sink<T: Timed>(&mut self, entries: &mut Slab<T>, mut place: usize) {
        let own = self.queue[place];
        loop {
            let children = [2 * place + 1, 2 * place + 2].into_iter();
            let children = children.filter(|&child| child < self.queue.len());
            let Some(child) = children.min_by_key(|&child| self.queue[child].0) else {
                break;
            };
            if own.0 <= self.queue[child].0 {
                break;
            }
            self.put(entries, place, self.queue[child]);
            place = child;
        }
        self.put(entries, place, own);
    }

    fn put<T: Timed>(&mut self, entries: &mut Slab<T>, place: usize, entry: (Time, u32)) {
        self.queue[place] = entry;
        entries[entry.1].timer().place = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use node::random::Random;

    impl Timed for Timer {
        fn timer(&mut self) -> &mut Timer {
            self
        }
    }

    #[test]
    fn entries_expire_at_their_time_in_order() {
        let mut random = Random::new(1);
        let mut timers = Timers::default();
        let mut entries: Slab<Timer> = Slab::new();
        let mut model: BTreeMap<u32, Time> = BTreeMap::new();
        let mut now = Time::ZERO;
        for _ in 0..30_000 {
            let expires = now + Time::from_ps(1 + random.below(100));
            let known: Vec<u32> = model.keys().copied().collect();
            let any = known.get(random.index(known.len())).copied();
            match (random.below(8), any) {
                (0..3, Some(number)) => {
                    entries[number].expires = expires;
                    timers.change(&mut entries, number);
                    model.insert(number, expires);
                }
                (3, Some(number)) => {
                    timers.stop(&mut entries, number);
                    entries.remove(number);
                    model.remove(&number);
                }
                (4, _) => {
                    now += Time::from_ps(random.below(10));
                    let mut last = Time::ZERO;
                    while let Some(number) = timers.expired(now, &mut entries) {
                        timers.stop(&mut entries, number);
                        let expires = model.remove(&number).unwrap();
                        assert!(last <= expires && expires <= now);
                        last = expires;
                        entries.remove(number);
                    }
                }
                _ => {
                    let place = 0;
                    let number = entries.insert(Timer { expires, place });
                    timers.start(&mut entries, number);
                    model.insert(number, expires);
                }
            }
            assert!(timers.first() <= model.values().copied().min().unwrap_or(Time::MAX));
            assert_eq!(timers.numbers().count(), model.len());
            if timers.first() > now {
                assert!(model.values().all(|&expires| expires > now));
            }
        }
    }
}
