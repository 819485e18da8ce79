//! What is remembered of flows: as many as there is room for, and none for longer than it is used.

use alloc::vec;
use alloc::vec::Vec;
use node::Time;
use packet::flow::FiveTuple;

/// Places in which a flow may be; where all are taken by others there is no room for it.
const WAYS: usize = 8;

/// A value for each flow, in a fixed space. A flow that has been idle for long makes room for others.
#[derive(Debug)]
pub struct Table<V> {
    places: Vec<Option<Entry<V>>>,
    idle: Time,
}

#[derive(Clone, Debug)]
struct Entry<V> {
    flow: FiveTuple,
    used: Time,
    value: V,
}

impl<V: Clone> Table<V> {
    /// For so many flows, or up to seven more; one that is not used for `idle` is forgotten.
    pub fn new(flows: usize, idle: Time) -> Table<V> {
        let places = flows.div_ceil(WAYS) * WAYS;
        Table {
            places: vec![None; places],
            idle,
        }
    }

    /// The places of a flow.
    fn ways(&mut self, flow: &FiveTuple) -> &mut [Option<Entry<V>>] {
        let sets = self.places.len() / WAYS;
        let set = (u64::from(mix(flow.hash())) * sets as u64) >> 32;
        let at = set as usize * WAYS;
        &mut self.places[at..at + WAYS.min(sets * WAYS)]
    }

    /// What is remembered of a flow, which is in use now.
    pub fn get(&mut self, now: Time, flow: &FiveTuple) -> Option<&mut V> {
        let idle = self.idle;
        let mut known = self.ways(flow).iter_mut().flatten();
        let entry = known.find(|entry| entry.flow == *flow && now - entry.used <= idle)?;
        entry.used = now;
        Some(&mut entry.value)
    }

    /// Remembers something of a flow; `false` when there is no room.
    pub fn put(&mut self, now: Time, flow: FiveTuple, value: V) -> bool {
        let idle = self.idle;
        let ways = self.ways(&flow);
        let is_same = |entry: &Option<Entry<V>>| entry.as_ref().is_some_and(|e| e.flow == flow);
        let is_free = |entry: &Option<Entry<V>>| {
            let used = entry.as_ref().map(|entry| entry.used);
            used.is_none_or(|used| now - used > idle)
        };
        let place = ways.iter().position(is_same);
        let Some(place) = place.or_else(|| ways.iter().position(is_free)) else {
            return false;
        };
        ways[place] = Some(Entry {
            flow,
            used: now,
            value,
        });
        true
    }

    /// Forgets a flow.
    pub fn remove(&mut self, flow: &FiveTuple) {
        let is_it = |place: &&mut Option<Entry<V>>| place.as_ref().is_some_and(|e| e.flow == *flow);
        if let Some(place) = self.ways(flow).iter_mut().find(is_it) {
            *place = None;
        }
    }

    /// How many flows are remembered, idle ones among them.
    pub fn count(&self) -> usize {
        self.places.iter().flatten().count()
    }
}

/// Spreads a hash over all its bits, so that routers one behind the other do not choose alike (the finaliser of
/// MurmurHash3).
pub fn mix(hash: u32) -> u32 {
    let hash = (hash ^ hash >> 16).wrapping_mul(0x85EB_CA6B);
    let hash = (hash ^ hash >> 13).wrapping_mul(0xC2B2_AE35);
    hash ^ hash >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(port: u16) -> FiveTuple {
        FiveTuple {
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 2].into(),
            protocol: 17,
            source_port: port,
            destination_port: 9,
        }
    }

    #[test]
    fn a_flow_is_known_as_long_as_it_is_used() {
        let mut table = Table::new(64, Time::from_secs(30));
        assert!(table.put(Time::ZERO, flow(1), 'a'));
        assert_eq!(table.get(Time::from_secs(30), &flow(1)), Some(&mut 'a'));
        assert_eq!(table.get(Time::from_secs(60), &flow(1)), Some(&mut 'a'));
        assert_eq!(table.get(Time::from_secs(91), &flow(1)), None);
        assert!(table.put(Time::from_secs(91), flow(1), 'b'));
        assert_eq!(table.get(Time::from_secs(91), &flow(1)), Some(&mut 'b'));
        table.remove(&flow(1));
        assert_eq!(table.get(Time::from_secs(91), &flow(1)), None);
        assert_eq!(table.count(), 0);
    }

    #[test]
    fn a_full_table_takes_nothing_until_something_is_idle() {
        let mut table = Table::new(16, Time::from_secs(1));
        let put = (0..1_000)
            .filter(|port| table.put(Time::ZERO, flow(*port), ()))
            .count();
        assert_eq!((put, table.count()), (16, 16));
        assert!(!table.put(Time::from_secs(1), flow(2_000), ()));
        assert!(table.put(Time::from_ms(1_001), flow(2_000), ()));
        assert_eq!(table.count(), 16);
    }

    #[test]
    fn a_table_without_room_is_no_mistake() {
        let mut table = Table::new(0, Time::from_secs(1));
        assert!(!table.put(Time::ZERO, flow(1), ()));
        assert_eq!(table.get(Time::ZERO, &flow(1)), None);
        table.remove(&flow(1));
    }
}
