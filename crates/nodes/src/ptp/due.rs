//! When ports want to be woken: the first of a thousand is found without asking all of them.

use alloc::vec::Vec;
use node::Time;

/// A tree of minima over the ports.
#[derive(Clone, Debug)]
pub(super) struct Due {
    /// The root is at 1, the ports are at `leaves` and behind.
    tree: Vec<Time>,
    leaves: usize,
}

impl Due {
    /// Of so many ports, none of which wants to be woken.
    pub fn new(ports: usize) -> Due {
        let leaves = ports.next_power_of_two();
        Due {
            tree: alloc::vec![Time::MAX; 2 * leaves],
            leaves,
        }
    }

    /// A port wants to be woken at a time; [`Time::MAX`]: never.
    pub fn set(&mut self, port: usize, at: Time) {
        let mut place = self.leaves + port;
        self.tree[place] = at;
        while place > 1 {
            place /= 2;
            self.tree[place] = self.tree[2 * place].min(self.tree[2 * place + 1]);
        }
    }

    /// The least time of all.
    pub fn first(&self) -> Time {
        self.tree[1]
    }

    /// The first port from this one on that is due.
    pub fn port(&self, from: usize, now: Time) -> Option<usize> {
        if from >= self.leaves {
            return None;
        }
        let mut place = self.leaves + from;
        // Up, until something to the right of all that was looked at is due; then down to the first of it.
        while self.tree[place] > now {
            while place % 2 == 1 {
                place /= 2;
            }
            if place == 0 {
                return None;
            }
            place += 1;
        }
        while place < self.leaves {
            place *= 2;
            place += usize::from(self.tree[place] > now);
        }
        Some(place - self.leaves)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use node::random::Random;

    #[test]
    fn ports_are_found_as_by_asking_each_of_them() {
        let mut random = Random::new(1);
        for ports in [1, 2, 3, 7, 8, 9, 100] {
            let mut due = Due::new(ports);
            let mut times = alloc::vec![Time::MAX; ports];
            for _ in 0..300 {
                let port = random.below(ports as u64) as usize;
                times[port] = match random.below(4) {
                    0 => Time::MAX,
                    _ => Time::from_ps(random.below(20)),
                };
                due.set(port, times[port]);
                assert_eq!(Some(due.first()), times.iter().copied().min());
                let now = Time::from_ps(random.below(20));
                for from in 0..=ports {
                    let wanted = (from..ports).find(|&port| times[port] <= now);
                    assert_eq!(
                        due.port(from, now),
                        wanted,
                        "{times:?} from {from} at {now}"
                    );
                }
            }
        }
    }
}
