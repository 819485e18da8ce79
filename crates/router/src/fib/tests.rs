use super::*;
use node::random::Random;
use std::vec;

/// Random addresses, many of which share long prefixes.
trait Drawn: Key + core::fmt::Debug {
    fn draw(random: &mut Random) -> Self;
}

impl Drawn for u32 {
    fn draw(random: &mut Random) -> u32 {
        let masks = [0x8180_C3C1, 0x0000_00FF, u32::MAX];
        random.bits() as u32 & masks[random.below(3) as usize]
    }
}

impl Drawn for u128 {
    fn draw(random: &mut Random) -> u128 {
        let wide = u128::from(random.bits()) << 64 | u128::from(random.bits());
        let masks = [0x8180_C3C1 << 96 | 0x81 << 40 | 3, 0xFF, u128::MAX];
        wide & masks[random.below(3) as usize]
    }
}

fn longest<K: Key>(routes: &[(K, u8, u32)], address: K) -> Option<u32> {
    let matching = routes.iter().filter(|(prefix, length, _)| {
        let host = host_bits::<K>((*length).into());
        *prefix == address & !host
    });
    matching.max_by_key(|route| route.1).map(|route| route.2)
}

fn agrees_with_a_search<K: Drawn>(seed: u64, changes: usize, start: usize) {
    let mut random = Random::new(seed);
    let mut fib = Fib::<K>::default();
    let mut known: Vec<(K, u8, u32)> = vec![];
    let draw_route = |random: &mut Random| {
        let length = random.below(u64::from(K::BITS) + 1) as u8;
        let prefix = K::draw(random) & !host_bits::<K>(length.into());
        (prefix, length, random.below(5) as u32)
    };
    let set = |known: &mut Vec<(K, u8, u32)>, route: (K, u8, u32)| {
        known.retain(|one| (one.0, one.1) != (route.0, route.1));
        known.push(route);
    };
    let bulk: Vec<_> = (0..start).map(|_| draw_route(&mut random)).collect();
    bulk.iter().for_each(|route| set(&mut known, *route));
    let some = |(prefix, length, value): (K, u8, u32)| (prefix, length, Some(value));
    fib.change_all(bulk.into_iter().map(some));
    for _ in 0..changes {
        if random.chance(0.6) || known.is_empty() {
            let route = draw_route(&mut random);
            let old = known
                .iter()
                .find(|one| (one.0, one.1) == (route.0, route.1));
            assert_eq!(
                fib.insert(route.0, route.1, route.2),
                old.map(|route| route.2)
            );
            set(&mut known, route);
        } else {
            let gone = known.swap_remove(random.below(known.len() as u64) as usize);
            assert_eq!(fib.remove(gone.0, gone.1), Some(gone.2));
            assert_eq!(fib.exact(gone.0, gone.1), None);
        }
        for _ in 0..4 {
            // Random ones, and the first and last of a prefix and their neighbours.
            let near = known.get(random.below(known.len().max(1) as u64) as usize);
            let address = match near {
                Some((prefix, length, _)) if random.chance(0.7) => {
                    let host = host_bits::<K>((*length).into());
                    let at = if random.chance(0.5) {
                        *prefix
                    } else {
                        *prefix | host
                    };
                    match random.chance(0.3) && at > K::ZERO {
                        true => at - (!K::ZERO >> (K::BITS - 1)),
                        false => at,
                    }
                }
                _ => K::draw(&mut random),
            };
            assert_eq!(
                fib.lookup(address),
                longest(&known, address),
                "{address:x?}"
            );
        }
    }
    assert_eq!(fib.len(), known.len());
    let mut fresh = Fib::<K>::default();
    fresh.change_all(known.into_iter().map(some));
    let bytes = fib.lookup_bytes();
    assert!(bytes <= 3 * fresh.lookup_bytes() + 200_000, "{bytes}");
}

#[test]
fn small_tables_agree_with_a_search_of_all_prefixes() {
    for seed in 0..40 {
        agrees_with_a_search::<u32>(seed, 150, 0);
        agrees_with_a_search::<u128>(seed, 150, 0);
    }
}

#[test]
fn tables_that_change_their_size_agree_with_a_search_of_all_prefixes() {
    for (seed, start) in [(1, 230), (2, 300), (3, 1_000)] {
        agrees_with_a_search::<u32>(seed, 300, start);
        agrees_with_a_search::<u128>(seed, 300, start);
    }
    agrees_with_a_search::<u32>(4, 60, 17_000);
    agrees_with_a_search::<u128>(5, 60, 17_000);
}

#[test]
fn the_ends_of_the_ranges_are_routes_as_any_other() {
    let mut fib = Fib::<u32>::default();
    fib.insert(0xFFFF_FFFF, 0, 7);
    fib.insert(u32::MAX, 32, Fib::<u32>::MAX_VALUE);
    fib.insert(0, 255, u32::MAX);
    assert_eq!(fib.lookup(u32::MAX), Some(Fib::<u32>::MAX_VALUE));
    assert_eq!(fib.lookup(0), Some(Fib::<u32>::MAX_VALUE));
    assert_eq!(fib.lookup(1), Some(7));
    assert_eq!(fib.iter().next(), Some((0, 0, 7)));
    assert_eq!(
        (fib.remove(0, 1), fib.remove(0, 32).is_some()),
        (None, true)
    );
    assert_eq!(fib.lookup(0), Some(7));
}
