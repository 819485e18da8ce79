use super::*;
use crate::key::Field;

fn flow(rank: u32) -> Flow {
    Flow {
        rank,
        ..Flow::default()
    }
}

fn to(address: u32, bits: u32) -> Pattern {
    let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
    Pattern::default().with(Field::EthType, 0x0800).with_masked(
        Field::Ipv4Dst,
        address.into(),
        mask.into(),
    )
}

fn key_to(address: u32) -> Key {
    let mut key = Key::ZERO;
    key.set(Field::EthType, 0x0800);
    key.set(Field::Ipv4Dst, address.into());
    key
}

/// Numbers that look random (xorshift).
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

#[test]
fn the_highest_priority_wins_over_all_masks() {
    let mut flows = Flows::new(1, 1);
    let all = flows.add(&Pattern::default(), flow(0));
    let net = flows.add(&to(0x0A00_0000, 8), flow(20));
    let host = flows.add(&to(0x0A00_0001, 32), flow(10));
    assert_eq!(flows.lookup(0, &key_to(0x0A00_0001)), Some(net));
    flows.remove(net);
    assert_eq!(flows.lookup(0, &key_to(0x0A00_0001)), Some(host));
    assert_eq!(flows.lookup(0, &key_to(0x0A00_0002)), Some(all));
    flows.remove(all);
    assert_eq!(flows.lookup(0, &key_to(0x0A00_0002)), None);
    assert_eq!(flows.lookup(1, &key_to(0x0A00_0001)), None);
}

#[test]
fn entries_of_one_match_and_several_priorities_are_kept_apart() {
    let mut flows = Flows::new(1, 1);
    let pattern = to(0x0A00_0001, 32);
    let ids = [5, 9, 7].map(|rank| flows.add(&pattern, flow(rank)));
    let key = key_to(0x0A00_0001);
    assert_eq!(flows.lookup(0, &key), Some(ids[1]));
    assert_eq!(flows.find(0, &pattern, 7), Some(ids[2]));
    assert_eq!(flows.find(0, &pattern, 8), None);
    flows.remove(ids[1]);
    assert_eq!(flows.lookup(0, &key), Some(ids[2]));
    flows.remove(ids[0]);
    flows.remove(ids[2]);
    assert_eq!(flows.lookup(0, &key), None);
    assert_eq!(flows.masks(0), 0);
}

#[test]
fn what_is_done_to_tables_is_what_a_list_would_do() {
    let mut draws = Draws(7);
    let mut flows = Flows::new(2, 3);
    let mut list: Vec<(FlowId, Pattern, Flow)> = Vec::new();
    let (mut room, mut together) = (Batch::default(), Vec::new());
    for step in 0..20_000u64 {
        let address = draws.below(64) as u32 * 0x0101_0101;
        let bits = [0, 8, 9, 16, 24, 32][draws.below(6) as usize];
        let pattern = to(address & u32::MAX.checked_shl(32 - bits).unwrap_or(0), bits);
        let new = Flow {
            table: draws.below(2) as u8,
            rank: draws.below(8) as u32,
            cookie: draws.below(5),
            created: Time::from_ms(step),
            ..Flow::default()
        };
        let found = flows.find(new.table, &pattern, new.rank);
        let listed = list
            .iter()
            .find(|(_, p, f)| *p == pattern && (f.table, f.rank) == (new.table, new.rank));
        assert_eq!(found, listed.map(|(id, ..)| *id));
        let overlapping = flows.overlapping(new.table, &pattern, new.rank).is_some();
        assert_eq!(
            overlapping,
            list.iter().any(|(_, p, f)| f.table == new.table
                && f.rank == new.rank
                && p.overlaps(&pattern))
        );
        if step % 50 == 0 {
            let keys: Vec<Key> = (0..100)
                .map(|_| key_to(draws.below(64) as u32 * 0x0101_0101))
                .collect();
            flows.lookup_each(new.table, &keys, &mut room, &mut together);
            let alone: Vec<_> = keys
                .iter()
                .map(|key| flows.lookup(new.table, key))
                .collect();
            assert_eq!(together, alone);
        }
        match (draws.below(8), found) {
            (0..4, None) => list.push((flows.add(&pattern, new), pattern, new)),
            (4..6, Some(id)) => {
                flows.remove(id);
                list.retain(|(other, ..)| *other != id);
            }
            (6, _) if draws.below(20) == 0 => {
                let exact = draws.below(2) == 0;
                let filter = Filter {
                    table: (draws.below(2) == 0).then_some(new.table),
                    pattern,
                    strict: None,
                    cookie: new.cookie,
                    cookie_mask: if exact { u64::MAX } else { draws.below(4) },
                };
                let mut chosen = Vec::new();
                flows.select(&filter, |id| chosen.push(id));
                chosen.sort();
                let mut expected: Vec<FlowId> = list
                    .iter()
                    .filter(|(_, p, f)| {
                        pattern.covers(p)
                            && filter.table.is_none_or(|table| table == f.table)
                            && (f.cookie ^ filter.cookie) & filter.cookie_mask == 0
                    })
                    .map(|(id, ..)| *id)
                    .collect();
                expected.sort();
                assert_eq!(chosen, expected);
                for id in chosen {
                    flows.remove(id);
                }
                list.retain(|(id, ..)| !expected.contains(id));
            }
            _ => {}
        }
        let key = key_to(draws.below(64) as u32 * 0x0101_0101);
        for table in 0..2 {
            let rank = |id: FlowId| flows.flow(id).rank;
            let best = list
                .iter()
                .filter(|(_, p, f)| f.table == table && p.matches(&key))
                .map(|(.., f)| f.rank)
                .max();
            assert_eq!(flows.lookup(table, &key).map(rank), best);
            assert_eq!(
                flows.len(table),
                list.iter().filter(|(.., f)| f.table == table).count()
            );
        }
        if let Some((id, pattern, _)) = list.first() {
            assert_eq!(flows.pattern(*id), *pattern);
        }
    }
    assert!(list.len() > 50);
}

#[test]
fn idle_entries_go_when_no_packet_came_and_hard_ones_in_any_case() {
    let mut flows = Flows::new(1, 1);
    let timed = |idle_timeout, hard_timeout| Flow {
        idle_timeout,
        hard_timeout,
        ..Flow::default()
    };
    let idle = flows.add(&to(1, 32), timed(2, 0));
    let hard = flows.add(&to(2, 32), timed(0, 3));
    let both = flows.add(&to(3, 32), timed(2, 3));
    flows.add(&to(4, 32), timed(0, 0));
    assert_eq!(flows.next_expiry(), Some(Time::from_secs(2)));
    for id in [idle, both] {
        flows.count(id, 60, Time::from_ms(1_500));
    }
    assert_eq!(flows.expired(Time::from_ms(2_999)), None);
    assert_eq!(flows.next_expiry(), Some(Time::from_secs(3)));
    let mut gone = Vec::new();
    while let Some((id, why)) = flows.expired(Time::from_secs(3)) {
        flows.remove(id);
        gone.push((id, why));
    }
    gone.sort_by_key(|(id, _)| *id);
    assert_eq!(gone, [(hard, Expired::Hard), (both, Expired::Hard)]);
    let expired = flows.expired(Time::from_ms(3_500));
    assert_eq!(expired, Some((idle, Expired::Idle)));
}

#[test]
fn deadlines_of_entries_that_are_gone_do_not_pile_up() {
    let mut flows = Flows::new(1, 1);
    for _ in 0..10_000 {
        let new = Flow {
            hard_timeout: 60,
            ..Flow::default()
        };
        let id = flows.add(&to(1, 32), new);
        flows.remove(id);
    }
    assert!(flows.expiry.len() < 1_000);
    assert_eq!(flows.expired(Time::from_secs(100)), None);
}

#[test]
fn a_full_table_gives_up_what_would_go_first() {
    let mut flows = Flows::new(2, 1);
    let timed = |table, hard_timeout| Flow {
        table,
        hard_timeout,
        ..Flow::default()
    };
    flows.add(&to(1, 32), timed(0, 9));
    let first = flows.add(&to(2, 32), timed(0, 5));
    flows.add(&to(3, 32), timed(0, 0));
    flows.add(&to(3, 32), timed(1, 1));
    assert_eq!(flows.first_to_go(0), Some(first));
}

#[test]
fn hashes_of_values_that_are_gone_are_forgotten() {
    let mask = to(0, 32).mask;
    let mut tuple = Tuple::new(mask, 1);
    tuple.filter();
    let value = |address: u32| key_to(address.wrapping_mul(0x9E37_79B1)).and(&mask);
    let known = |tuple: &Tuple| {
        let hashes = (1 << 20..(1 << 20) + 1_000).map(|address| tuple.hash(&value(address)));
        hashes.map(|hash| tuple.may_have(hash)).sum::<u64>()
    };
    // Of a hundred values, all the time: without forgetting, all bits would be set after a few rounds.
    for address in 0..100_000 {
        tuple.insert(&value(address));
        if address >= 100 {
            let old = tuple.find(&value(address - 100)).unwrap();
            tuple.remove(old);
        }
    }
    assert!(known(&tuple) < 200, "{} of 1,000", known(&tuple));
    // What is there is known, however often the table has grown.
    for address in 100_000..120_000 {
        tuple.insert(&value(address));
    }
    let there = |address: u32| tuple.may_have(tuple.hash(&value(address))) == 1;
    assert!((99_900..120_000).all(there));
    assert!(known(&tuple) < 200, "{} of 1,000", known(&tuple));
}
