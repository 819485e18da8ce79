//! Lookups in a full table: a million IPv4 routes, and 200,000 of IPv6, with lengths as in the Internet's tables; as a ratio to
//! a search in the sorted list of all ranges, and to one read at a random place of as much memory, which is the bound.
//!
//! `cargo bench -p wireline-router --bench fib`

use node::random::Random;
use router::fib::{Fib, Key};
use std::hint::black_box;

const LOOKUPS: usize = 1 << 20;
const RUNS: usize = 12;

/// Nanoseconds a lookup, the best of several runs: other work on the machine only adds.
fn nanoseconds<K: Key>(addresses: &[K], mut lookup: impl FnMut(K) -> u32) -> f64 {
    let runs = (0..RUNS).map(|_| {
        #[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
        let start = std::time::Instant::now();
        let sum = addresses
            .iter()
            .fold(0_u32, |sum, address| sum.wrapping_add(lookup(*address)));
        black_box(sum);
        start.elapsed().as_nanos() as f64 / addresses.len() as f64
    });
    runs.fold(f64::INFINITY, f64::min)
}

/// The ranges of addresses with one value each, by their starts.
fn ranges<K: Key>(fib: &Fib<K>) -> Vec<(K, u32)> {
    let mut starts: Vec<K> = vec![K::ZERO];
    for (prefix, length, _) in fib.iter() {
        starts.push(prefix);
        let host = match length {
            0 => continue,
            length if u32::from(length) == K::BITS => K::ZERO,
            length => !K::ZERO >> length.into(),
        };
        let last = prefix | host;
        if last < !K::ZERO {
            let one = !K::ZERO >> (K::BITS - 1);
            starts.push(!(!last - one));
        }
    }
    starts.sort_unstable();
    starts.dedup();
    let value = |start: K| fib.lookup(start).unwrap_or(u32::MAX);
    starts
        .into_iter()
        .map(|start| (start, value(start)))
        .collect()
}

fn measure<K: Key>(name: &str, fib: &Fib<K>, addresses: &[K]) {
    let trie = nanoseconds(addresses, |address| fib.lookup(address).unwrap_or(1));
    let sorted = ranges(fib);
    let search = nanoseconds(addresses, |address| {
        sorted[sorted.partition_point(|range| range.0 <= address) - 1].1
    });
    let memory = vec![1_u32; fib.lookup_bytes() / 4];
    let read = nanoseconds(addresses, |address| {
        let mixed = address.low().wrapping_mul(0x9E37_79B9);
        memory[((u64::from(mixed) * memory.len() as u64) >> 32) as usize]
    });
    println!(
        "{name:<22} {trie:>6.2} ns  {:>6.1} M/s  {:>5.1} MiB  {:>5.2} of a binary search  {:>5.2} of one random read",
        1e3 / trie,
        fib.lookup_bytes() as f64 / f64::from(1 << 20),
        trie / search,
        trie / read,
    );
}

fn main() {
    let mut random = Random::new(1);
    // Shares of the lengths in public tables, in percent.
    let lengths = [
        (24, 60),
        (23, 10),
        (22, 12),
        (21, 5),
        (20, 4),
        (19, 3),
        (18, 2),
        (17, 1),
        (16, 2),
        (12, 1),
    ];
    let mut fib = Fib::<u32>::default();
    let mut routes = Vec::new();
    while routes.len() < 1_000_000 {
        let mut share = random.below(100);
        let found = lengths.iter().find(|(_, part)| {
            let here = share < *part;
            share = share.wrapping_sub(if here { 0 } else { *part });
            here
        });
        let length = found.map_or(24, |one| one.0);
        // Unicast addresses, in blocks as registries give them.
        let prefix = (0x0100_0000 + random.below(0xDE00_0000) as u32) & (u32::MAX << (32 - length));
        routes.push((prefix, length as u8, random.below(64) as u32));
    }
    fib.change_all(
        routes
            .iter()
            .map(|&(to, length, value)| (to, length, Some(value))),
    );
    let anywhere: Vec<u32> = (0..LOOKUPS).map(|_| random.bits() as u32).collect();
    let routed: Vec<u32> = (0..LOOKUPS)
        .map(|_| routes[random.below(1_000_000) as usize].0 | random.bits() as u32 & 0xFF)
        .collect();
    println!("{} routes of IPv4", fib.len());
    measure("anywhere", &fib, &anywhere);
    measure("to a route's addresses", &fib, &routed);

    let mut six = Fib::<u128>::default();
    let mut prefixes = Vec::new();
    for _ in 0..200_000 {
        let length = [32, 36, 40, 44, 48, 48, 48, 48, 48, 29][random.below(10) as usize];
        let top = 0x2001 + random.below(0x0A00) as u128;
        let bits = top << 112 | u128::from(random.bits()) << 48;
        let prefix = bits & !(u128::MAX >> length);
        prefixes.push((prefix, length as u8, random.below(64) as u32));
    }
    six.change_all(
        prefixes
            .iter()
            .map(|&(to, length, value)| (to, length, Some(value))),
    );
    let routed: Vec<u128> = (0..LOOKUPS)
        .map(|_| prefixes[random.below(200_000) as usize].0 | u128::from(random.bits()))
        .collect();
    println!("{} routes of IPv6", six.len());
    measure("to a route's addresses", &six, &routed);
}
