use super::*;
use crate::key::{Field, Pattern};
use crate::table::Flow;
use node::random::Random;

/// Random fields, patterns and keys.
struct Draws(Random);

impl Draws {
    fn below(&mut self, end: u64) -> u64 {
        self.0.below(end)
    }

    /// A value of few: most in one network, so that entries and keys have much in common.
    fn value(&mut self, field: Field) -> u128 {
        let n = self.below(200);
        match field {
            Field::InPort => (n % 4).into(),
            Field::EthType => [0x0800, 0x86DD][n as usize % 2],
            Field::IpProto => [6, 17][n as usize % 2],
            Field::Ipv4Src | Field::Ipv4Dst => ((n * 0x0155_0B01) & 0xFFFF_FFFF).into(),
            Field::Ipv6Dst => u128::from(n) << 70 | u128::from(n % 3),
            _ => n.into(),
        }
    }

    fn mask(&mut self, field: Field) -> u128 {
        let bits = [8, 16, 20, 24, 32][self.below(5) as usize];
        match field {
            Field::Ipv4Src | Field::Ipv4Dst => u128::from(u32::MAX << (32 - bits)),
            Field::Ipv6Dst => u128::MAX << (128 - 2 * bits),
            // No prefix: any bits.
            Field::Metadata | Field::EthDst => (self.below(256) | 1).into(),
            _ => field.max(),
        }
    }
}

const FIELDS: [Field; 9] = [
    Field::InPort,
    Field::Metadata,
    Field::EthDst,
    Field::EthType,
    Field::IpProto,
    Field::TcpDst,
    Field::Ipv4Src,
    Field::Ipv4Dst,
    Field::Ipv6Dst,
];

fn pattern(draws: &mut Draws, masks: &[Key]) -> Pattern {
    let mask = masks[draws.below(masks.len() as u64) as usize];
    let mut value = Key::ZERO;
    for field in FIELDS {
        // Fields that share a place: whichever comes last.
        if mask.get(field) != 0 {
            let drawn = draws.value(field);
            value.set(field, drawn);
        }
    }
    Pattern {
        mask,
        value: value.and(&mask),
    }
}

#[test]
fn what_is_looked_up_is_what_a_list_gives_whatever_comes_and_goes_between() {
    let mut draws = Draws(Random::new(99));
    for round in 0..6u64 {
        let masks: Vec<Key> = (0..[2, 3, 12, 40, 70, 100][round as usize])
            .map(|_| {
                let mut mask = Key::ZERO;
                for _ in 0..draws.below(4) {
                    let field = FIELDS[draws.below(9) as usize];
                    let bits = draws.mask(field);
                    mask.set(field, bits);
                }
                mask
            })
            .collect();
        let (mut flows, mut cache) = (Flows::new(2, round), Cache::new());
        let (mut room, mut together) = (Batch::default(), Vec::new());
        let mut list: Vec<(FlowId, Pattern, Flow)> = Vec::new();
        let mut found_some = 0;
        for step in 0..6_000u64 {
            let table = draws.below(2) as u8;
            // More come than go, and then the other way round, so that filters are built again and tables become empty.
            let grows = step / 1_500 % 2 == 0;
            match draws.below(10) {
                0..4 if grows => {
                    let pattern = pattern(&mut draws, &masks);
                    let flow = Flow {
                        table,
                        rank: draws.below(50) as u32,
                        ..Flow::default()
                    };
                    if flows.find(table, &pattern, flow.rank).is_none() {
                        list.push((flows.add(&pattern, flow), pattern, flow));
                    }
                }
                0..5 if !list.is_empty() => {
                    let at = draws.below(list.len() as u64) as usize;
                    flows.remove(list.swap_remove(at).0);
                }
                5 if !list.is_empty() => {
                    let at = draws.below(list.len() as u64) as usize;
                    flows.set_program(list[at].0, step as u32);
                }
                _ => {}
            }
            let mut key = || match list.is_empty() || draws.below(4) == 0 {
                true => pattern(&mut draws, &masks).value,
                false => {
                    let (_, entry, _) = list[draws.below(list.len() as u64) as usize];
                    let other = pattern(&mut draws, &masks).value.0;
                    let mixed = |i: usize| entry.value.0[i] | other[i] & !entry.mask.0[i];
                    Key(core::array::from_fn(mixed))
                }
            };
            let check = |key: &Key, found: Option<FlowId>| {
                let matching = list
                    .iter()
                    .filter(|(_, pattern, flow)| flow.table == table && pattern.matches(key));
                let best = matching.clone().map(|(.., flow)| flow.rank).max();
                assert_eq!(found.map(|id| flows.flow(id).rank), best, "step {step}");
                // Of several of one rank any will do, but it must be there and match.
                assert!(found.is_none_or(|id| matching.clone().any(|entry| entry.0 == id)));
            };
            let one = key();
            let found = cache.lookup(&flows, table, &one);
            check(&one, found);
            check(&one, flows.lookup(table, &one));
            // One and a whole batch, whatever the step; and all other numbers, of several batches as well.
            let count = match step % 120 {
                0 => 1,
                40 => 64,
                80 => step / 120 * 7 % 150,
                _ => continue,
            };
            {
                let keys: Vec<Key> = (0..count).map(|_| key()).collect();
                cache.lookup_each(&flows, table, &keys, &mut room, &mut together);
                assert_eq!(keys.len(), together.len());
                for (key, found) in keys.iter().zip(&together) {
                    check(key, *found);
                    found_some += usize::from(found.is_some());
                }
                flows.lookup_each(table, &keys, &mut room, &mut together);
                for (key, found) in keys.iter().zip(&together) {
                    check(key, *found);
                }
            }
        }
        assert!(
            found_some > 1_000,
            "{found_some} with {} masks",
            masks.len()
        );
    }
}

#[test]
fn a_change_takes_away_the_answers_that_it_is_about_and_leaves_the_others() {
    let (mut flows, mut cache) = (Flows::new(1, 1), Cache::new());
    let to = |address: u32| Pattern::default().with(Field::Ipv4Dst, address.into());
    let from = |address: u32| Pattern::default().with(Field::Ipv4Src, address.into());
    flows.add(&from(1), Flow::default());
    let first = flows.add(&to(1), Flow::default());
    let key = to(1).value;
    assert_eq!(cache.lookup(&flows, 0, &key), Some(first));
    let known = |cache: &mut Cache, flows: &Flows| {
        let place = cache.place(0, &key);
        match cache.probe(flows, 0, &key, place) {
            Probe::Known(found) => Some(found),
            Probe::Unknown(_) => None,
        }
    };
    // Others come and go, more of them in all than a table keeps.
    for address in 2..100 {
        let other = flows.add(&to(address), Flow::default());
        assert_eq!(known(&mut cache, &flows), Some(Some(first)));
        flows.remove(other);
        assert_eq!(known(&mut cache, &flows), Some(Some(first)));
    }
    let better = flows.add(
        &from(0),
        Flow {
            rank: 9,
            ..Flow::default()
        },
    );
    assert_eq!(known(&mut cache, &flows), None);
    assert_eq!(cache.lookup(&flows, 0, &key), Some(better));
    flows.remove(better);
    flows.remove(first);
    assert_eq!(cache.lookup(&flows, 0, &key), None);
    // More changes at once than a table keeps.
    for address in 2..100 {
        flows.add(&to(address), Flow::default());
    }
    assert_eq!(known(&mut cache, &flows), None);
}

#[test]
fn there_are_as_many_slots_as_flows_need() {
    let (mut flows, mut cache) = (Flows::new(1, 1), Cache::new());
    let to = |address: u32| Pattern::default().with(Field::Ipv4Dst, address.into());
    flows.add(&Pattern::default().with(Field::Ipv4Src, 1), Flow::default());
    for address in 0..5_000 {
        flows.add(&to(address), Flow::default());
    }
    let mut slots_with = |count: u32, rounds| {
        for address in (0..rounds).flat_map(|_| 0..count) {
            let key = to(address).value;
            let found = cache.lookup(&flows, 0, &key);
            assert_eq!(found, flows.lookup(0, &key));
        }
        cache.slots.len()
    };
    assert_eq!(slots_with(10, 1_000), MIN_SLOTS);
    assert_eq!(slots_with(500, 20), MIN_SLOTS * GROWTH);
    let slots = slots_with(5_000, 20);
    assert!((10_000..=MAX_SLOTS).contains(&slots), "{slots}");
}
