//! Which station is at which port: an open-addressed table.
//!
//! Linear probing over at least twice as many slots as there are stations, so that a look-up is one or
//! two neighbouring slots. The table grows up to its limit and then never allocates again: a thousand
//! switches with room for many stations each, but few to know, fit into the memory. No chain is
//! longer than [`MAX_CHAIN_LEN`]: addresses made to collide cost memory, not time.

use alloc::vec;
use alloc::vec::Vec;
use node::{Port, Time};

/// Maximum number of slots that are searched for one address. Chance alone does not fill that many
/// in a half-empty table.
const MAX_CHAIN_LEN: usize = 128;
/// Slots of a table that has not grown yet, unless fewer will do.
const FIRST_SLOTS: usize = 64;
/// A key that no station has: the broadcast address, a group.
const EMPTY: u64 = u64::MAX;

#[derive(Clone, Copy, Debug)]
struct Slot {
    key: u64,
    seen: Time,
    port: Port,
}

const EMPTY_SLOT: Slot = Slot {
    key: EMPTY,
    seen: Time::ZERO,
    port: Port(0),
};

/// What became of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Learned {
    /// It was known at this port.
    Known,
    /// It was not known, or had aged out.
    New,
    /// It was known at another port.
    Moved,
    NoRoom,
}

#[derive(Debug)]
pub(super) struct Table {
    slots: Vec<Slot>,
    limit: usize,
    used: usize,
    ageing: Time,
    /// No station ages out before: until then a sweep would be for nothing.
    sweep_from: Time,
}

impl Table {
    pub(super) fn new(limit: usize, ageing: Time) -> Table {
        Table {
            slots: vec![EMPTY_SLOT; (2 * limit).next_power_of_two().min(FIRST_SLOTS)],
            limit,
            used: 0,
            ageing,
            sweep_from: Time::ZERO,
        }
    }

    /// Stations in the table, whether or not they have aged out.
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// The stations that have not aged out: the key, the port, and for how long nothing has come from it.
    pub(super) fn stations(&self, now: Time) -> impl Iterator<Item = (u64, Port, Time)> + '_ {
        let slots = self.slots.iter();
        let known = slots.filter(move |slot| slot.key != EMPTY && self.is_young(now, slot));
        known.map(move |slot| (slot.key, slot.port, now - slot.seen))
    }

    /// The port of a station that has not aged out.
    pub(super) fn find(&self, now: Time, key: u64) -> Option<Port> {
        let slot = &self.slots[self.slot_of(key).ok()?];
        self.is_young(now, slot).then_some(slot.port)
    }

    /// Takes down that a station was seen at a port. `key` is not [`EMPTY`].
    pub(super) fn learn(&mut self, now: Time, key: u64, port: Port) -> Learned {
        let mut place = self.slot_of(key);
        if let Ok(index) = place {
            let young = self.is_young(now, &self.slots[index]);
            let slot = &mut self.slots[index];
            let moved = slot.port != port;
            (slot.seen, slot.port) = (now, port);
            return match (young, moved) {
                (false, _) => Learned::New,
                (true, true) => Learned::Moved,
                (true, false) => Learned::Known,
            };
        }
        if self.slots.len() < (2 * self.limit).next_power_of_two()
            && (2 * self.used >= self.slots.len() || place == Err(None))
        {
            self.grow();
            place = self.slot_of(key);
        }
        let no_room = self.used >= self.limit || place == Err(None);
        if no_room && now >= self.sweep_from {
            self.sweep(now);
            place = self.slot_of(key);
        }
        match place {
            Err(Some(index)) if self.used < self.limit => {
                self.slots[index] = Slot {
                    key,
                    seen: now,
                    port,
                };
                self.used += 1;
                Learned::New
            }
            _ => Learned::NoRoom,
        }
    }

    fn is_young(&self, now: Time, slot: &Slot) -> bool {
        now - slot.seen < self.ageing
    }

    fn home(&self, key: u64) -> usize {
        // The finaliser of MurmurHash3: neighbouring addresses spread over the table, the same on
        // every machine.
        let mut hash = key ^ key >> 33;
        hash = hash.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
        hash ^= hash >> 33;
        hash as usize & (self.slots.len() - 1)
    }

    /// Where the key is, or else the free slot for it, if its chain leaves one.
    fn slot_of(&self, key: u64) -> Result<usize, Option<usize>> {
        let mask = self.slots.len() - 1;
        let home = self.home(key);
        for step in 0..MAX_CHAIN_LEN.min(self.slots.len()) {
            let index = (home + step) & mask;
            match self.slots[index].key {
                EMPTY => return Err(Some(index)),
                there if there == key => return Ok(index),
                _ => {}
            }
        }
        Err(None)
    }

    fn grow(&mut self) {
        let more = vec![EMPTY_SLOT; 2 * self.slots.len()];
        let stations = core::mem::replace(&mut self.slots, more);
        for slot in stations.into_iter().filter(|slot| slot.key != EMPTY) {
            match self.slot_of(slot.key) {
                Err(Some(index)) => self.slots[index] = slot,
                // Its chain is full: it has to be learned again.
                _ => self.used -= 1,
            }
        }
    }

    /// The time after which stations are unknown from here on. One that is unknown stays so.
    pub(super) fn set_ageing(&mut self, now: Time, ageing: Time) {
        if self.ageing != ageing {
            self.sweep(now);
            self.ageing = ageing;
            self.sweep_from = Time::ZERO;
        }
    }

    /// Takes out every station of some ports.
    pub(super) fn flush(&mut self, of: impl Fn(Port) -> bool) {
        for index in 0..self.slots.len() {
            while self.slots[index].key != EMPTY && of(self.slots[index].port) {
                self.remove(index);
            }
        }
    }

    /// Takes out every station that has aged out.
    fn sweep(&mut self, now: Time) {
        let mut oldest = now;
        for index in 0..self.slots.len() {
            // A removal may put another station into the slot.
            while self.slots[index].key != EMPTY && !self.is_young(now, &self.slots[index]) {
                self.remove(index);
            }
            if self.slots[index].key != EMPTY {
                oldest = oldest.min(self.slots[index].seen);
            }
        }
        self.sweep_from = oldest + self.ageing;
    }

    /// Empties a slot, and closes the gap so that no chain is broken.
    fn remove(&mut self, mut gap: usize) {
        let mask = self.slots.len() - 1;
        self.used -= 1;
        let mut index = gap;
        loop {
            index = (index + 1) & mask;
            let key = self.slots[index].key;
            if key == EMPTY {
                break;
            }
            // A station may move up into the gap unless its home lies behind the gap.
            let from_home = index.wrapping_sub(self.home(key)) & mask;
            let from_gap = index.wrapping_sub(gap) & mask;
            if from_home >= from_gap {
                self.slots[gap] = self.slots[index];
                gap = index;
            }
        }
        self.slots[gap] = EMPTY_SLOT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use node::random::Random;

    const AGEING: Time = Time::from_secs(10);

    #[test]
    fn it_agrees_with_a_plain_map_through_learning_ageing_and_sweeps() {
        let mut table = Table::new(64, AGEING);
        let mut plain: BTreeMap<u64, (Time, Port)> = BTreeMap::new();
        let mut random = Random::new(1);
        for step in 0..200_000u64 {
            let (now, key) = (Time::from_ms(step * 50), random.below(128));
            let port = Port(random.below(4) as u16);
            let young = |&(seen, _): &(Time, Port)| now - seen < AGEING;
            let known = plain.get(&key).copied().filter(young);
            assert_eq!(
                table.find(now, key),
                known.map(|(_, port)| port),
                "step {step}"
            );
            let expected = match known {
                Some((_, there)) if there == port => Learned::Known,
                Some(_) => Learned::Moved,
                None if plain.values().filter(|entry| young(entry)).count() < 64 => Learned::New,
                None => Learned::NoRoom,
            };
            assert_eq!(table.learn(now, key, port), expected, "step {step}");
            if expected != Learned::NoRoom {
                plain.insert(key, (now, port));
            }
            assert!(table.len() <= 64);
        }
    }

    #[test]
    fn a_station_that_has_aged_out_fast_stays_unknown_when_ageing_is_slow_again() {
        let mut table = Table::new(64, AGEING);
        table.learn(Time::ZERO, 1, Port(1));
        let now = Time::from_secs(5);
        table.learn(now, 2, Port(2));
        table.set_ageing(now, Time::from_secs(4));
        assert_eq!(
            (table.find(now, 1), table.find(now, 2)),
            (None, Some(Port(2)))
        );
        table.set_ageing(now, AGEING);
        assert_eq!(
            (table.find(now, 1), table.find(now, 2)),
            (None, Some(Port(2)))
        );
    }

    #[test]
    fn a_table_grows_up_to_its_limit_and_knows_everybody() {
        let mut table = Table::new(100_000, AGEING);
        for key in 0..100_000 {
            assert_eq!(table.learn(Time::ZERO, key, Port(1)), Learned::New);
        }
        assert!((0..100_000).all(|key| table.find(Time::ZERO, key) == Some(Port(1))));
        assert_eq!(table.learn(Time::ZERO, 100_000, Port(1)), Learned::NoRoom);
        assert_eq!(table.slots.len(), 262_144);
    }

    #[test]
    fn a_full_table_takes_a_new_station_only_when_an_old_one_has_aged_out() {
        let mut table = Table::new(4, AGEING);
        for key in 0..4 {
            let now = Time::from_secs(key);
            assert_eq!(table.learn(now, key, Port(0)), Learned::New);
        }
        assert_eq!(table.learn(Time::from_secs(9), 9, Port(0)), Learned::NoRoom);
        assert_eq!(table.learn(AGEING, 9, Port(0)), Learned::New);
        assert_eq!(table.learn(AGEING, 10, Port(0)), Learned::NoRoom);
        assert_eq!(
            (table.find(AGEING, 0), table.find(AGEING, 1)),
            (None, Some(Port(0)))
        );
    }
}
