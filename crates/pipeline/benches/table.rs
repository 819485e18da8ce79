//! `cargo bench -p wireline-pipeline --bench table`: nanoseconds a lookup, beside trying one entry after the other, and inserts a second
//! while another thread looks up.
//!
//! `routes` are prefixes of 8 to 32 (16 to 64) bits; `acl` are five-tuples of prefixes, ports and protocol as packet filters have them, with some 100
//! masks; `masks` is the worst case: 32 bits with a random mask for each entry. Half of the keys looked up are made from entries.
#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

#[path = "../tests/tables/programs.rs"]
mod programs;

use node::random::Random;
use p4::ir::{KeyMatch, TableId};
use p4::value::{Bits, mask};
use pipeline::table::{Entry, Tables, Update};
use programs::{forward, one_table};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const T: TableId = TableId(0);
const SIZES: [usize; 4] = [10, 500, 10_000, 100_000];
const KEYS: usize = 4096;
/// How long each measurement runs.
const RUN: Duration = Duration::from_millis(40);

struct Shape {
    name: &'static str,
    keys: &'static [(u32, &'static str)],
    entry: fn(&mut Random) -> Vec<KeyMatch>,
}

fn prefix(width: u32, length: u32, random: &mut Random) -> (Bits, Bits) {
    let value = Bits::from_limbs(width, &[random.bits(), random.bits()]);
    let bits = Bits::new(width, mask(width) ^ mask(width - length));
    (Bits::new(width, value.unsigned() & bits.unsigned()), bits)
}

fn acl(random: &mut Random) -> Vec<KeyMatch> {
    let mut address = |lengths: &[u32]| {
        let length = lengths[random.below(lengths.len() as u64) as usize];
        let (value, mask) = prefix(32, length, random);
        KeyMatch::Mask(value, mask)
    };
    let (source, destination) = (address(&[0, 8, 16, 24, 32]), address(&[16, 20, 24, 28, 32]));
    let mut port = || match random.below(2) {
        0 => KeyMatch::Any,
        _ => KeyMatch::Mask(Bits::new(16, random.below(1024)), Bits::new(16, 0xffffu32)),
    };
    let (from, to) = (port(), port());
    let protocol = Bits::new(8, [6u8, 17][random.below(2) as usize]);
    let protocol = KeyMatch::Mask(protocol, Bits::new(8, 0xffu32));
    vec![source, destination, from, to, protocol]
}

const SHAPES: &[Shape] = &[
    Shape {
        name: "exact 48",
        keys: &[(48, "exact")],
        entry: |random| vec![KeyMatch::Exact(prefix(48, 48, random).0)],
    },
    Shape {
        name: "exact 5-tuple",
        keys: &[
            (32, "exact"),
            (32, "exact"),
            (16, "exact"),
            (16, "exact"),
            (8, "exact"),
        ],
        entry: |random| {
            [32, 32, 16, 16, 8]
                .map(|width| KeyMatch::Exact(prefix(width, width, random).0))
                .into()
        },
    },
    Shape {
        name: "lpm 32 routes",
        keys: &[(32, "lpm")],
        entry: |random| {
            // As in the Internet: more than half are /24.
            let length = [24, 24, 24, 22, 20, 16, 32, 8 + random.below(25) as u32];
            let length = length[random.below(8) as usize];
            vec![KeyMatch::Prefix(prefix(32, length, random).0, length)]
        },
    },
    Shape {
        name: "lpm 128 routes",
        keys: &[(128, "lpm")],
        entry: |random| {
            let length = [48, 48, 32, 64, 16 + random.below(113) as u32];
            let length = length[random.below(5) as usize];
            let (value, bits) = prefix(128, length, random);
            // All below 2000::/4.
            let below = (value.unsigned() >> 4u8) | (num_bigint::BigUint::from(2u8) << 124u8);
            let value = Bits::new(128, below & bits.unsigned());
            vec![KeyMatch::Prefix(value, length)]
        },
    },
    Shape {
        name: "ternary acl",
        keys: &[
            (32, "ternary"),
            (32, "ternary"),
            (16, "ternary"),
            (16, "ternary"),
            (8, "ternary"),
        ],
        entry: acl,
    },
    Shape {
        name: "ranges",
        keys: &[(32, "ternary"), (16, "range"), (16, "range")],
        entry: |random| {
            let (value, mask) = prefix(32, [8, 16, 24][random.below(3) as usize], random);
            let mut range = || {
                let low = random.below(65_000);
                let high = low + 1 + random.below(65_535 - low);
                KeyMatch::Range(Bits::new(16, low), Bits::new(16, high))
            };
            vec![KeyMatch::Mask(value, mask), range(), range()]
        },
    },
    Shape {
        name: "ternary masks",
        keys: &[(32, "ternary")],
        entry: |random| {
            let (value, mask) = (random.bits(), random.bits());
            vec![KeyMatch::Mask(
                Bits::new(32, value & mask),
                Bits::new(32, mask),
            )]
        },
    },
];

/// Entries, the winners first.
fn entries(shape: &Shape, count: usize) -> Vec<Update> {
    let mut random = Random::new(0x1234_5678_9abc_def1);
    let program = one_table(shape.keys, 1);
    let has_priorities = Tables::new(&program).forms()[0].has_priorities();
    let mut seen = std::collections::BTreeSet::new();
    let mut list = Vec::new();
    while list.len() < count {
        let keys = (shape.entry)(&mut random);
        if seen.insert(format!("{keys:?}")) {
            list.push(keys);
        }
    }
    if let [(_, "lpm")] = shape.keys {
        list.sort_by_key(|keys| match keys[0] {
            KeyMatch::Prefix(_, length) => core::cmp::Reverse(length),
            _ => core::cmp::Reverse(0),
        });
    }
    let entry = |(number, keys)| {
        let priority = if has_priorities {
            (count - number) as u32
        } else {
            0
        };
        Update::Insert(
            T,
            Entry::new(keys, forward(number as u16)).priority(priority),
        )
    };
    list.into_iter().enumerate().map(entry).collect()
}

fn keys(shape: &Shape, updates: &[Update]) -> Vec<Vec<u64>> {
    let mut random = Random::new(77);
    let mut keys = Vec::new();
    for number in 0..KEYS {
        let Update::Insert(_, entry) = &updates[random.below(updates.len() as u64) as usize] else {
            continue;
        };
        let mut cells = Vec::new();
        for ((width, _), given) in shape.keys.iter().zip(&entry.keys) {
            let (fill, _) = prefix(*width, *width, &mut random);
            let free = |bits: &Bits| fill.unsigned() & (mask(*width) ^ bits.unsigned());
            let value = match given {
                _ if number % 2 == 0 => fill,
                KeyMatch::Any => fill,
                KeyMatch::Exact(value) => value.clone(),
                KeyMatch::Range(low, _) => low.clone(),
                KeyMatch::Mask(value, bits) => Bits::new(*width, value.unsigned() | free(bits)),
                KeyMatch::Prefix(value, length) => {
                    let bits = Bits::new(*width, mask(*width) ^ mask(width - length));
                    Bits::new(*width, value.unsigned() | free(&bits))
                }
            };
            let at = cells.len();
            cells.resize(at + pipeline::layout::limbs(*width), 0);
            value.to_limbs(&mut cells[at..]);
        }
        keys.push(cells);
    }
    keys
}

/// Nanoseconds a lookup.
fn measure(tables: &Tables, keys: &[Vec<u64>]) -> f64 {
    let view = tables.view();
    let table = view.table(T);
    let mut best = f64::MAX;
    let start = Instant::now();
    let mut part = keys.chunks(256).cycle();
    while start.elapsed() < RUN {
        let Some(keys) = part.next() else { break };
        let begin = Instant::now();
        for key in keys {
            black_box(table.lookup(key));
        }
        best = best.min(begin.elapsed().as_nanos() as f64 / keys.len() as f64);
    }
    best
}

fn main() {
    // `cargo test --benches` only wants to know that it starts.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    println!(
        "{:16} {:>8} {:>9} {:>12} {:>10}",
        "table", "entries", "ns", "linear ns", "ratio"
    );
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    let wanted = |shape: &&Shape| {
        wanted.is_empty() || wanted.iter().any(|word| shape.name.contains(word.as_str()))
    };
    for shape in SHAPES.iter().filter(wanted) {
        for size in SIZES {
            let updates = entries(shape, size);
            let keys = keys(shape, &updates);
            let program = one_table(shape.keys, size as u32);
            let (fast, linear) = (Tables::new(&program), Tables::linear(&program));
            fast.batch(&updates).expect("entries that differ");
            linear.batch(&updates).expect("entries that differ");
            let (ns, against) = (measure(&fast, &keys), measure(&linear, &keys));
            println!(
                "{:16} {size:>8} {ns:>9.1} {against:>12.1} {:>10.1}",
                shape.name,
                against / ns
            );
        }
    }
    println!(
        "\n{:16} {:>12} {:>12} {:>14} {:>12}",
        "table", "alone/s", "inserts/s", "lookups/s", "longest us"
    );
    for shape in SHAPES.iter().filter(wanted) {
        updates_while_reading(shape);
    }
}

/// 100,000 inserts one by one, while another thread takes a view for each 32 lookups.
fn updates_while_reading(shape: &Shape) {
    let updates = entries(shape, 100_000);
    let keys = keys(shape, &updates);
    let program = one_table(shape.keys, 100_000);
    let alone = insert_all(&Tables::new(&program), &updates);
    let tables = Tables::new(&program);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let (mut done, mut longest) = (0u64, Duration::ZERO);
            let start = Instant::now();
            'all: loop {
                for keys in keys.chunks(32) {
                    if stop.load(Ordering::Relaxed) {
                        break 'all;
                    }
                    let begin = Instant::now();
                    let view = tables.view();
                    longest = longest.max(begin.elapsed());
                    for key in keys {
                        black_box(view.table(T).lookup(key));
                    }
                    done += keys.len() as u64;
                }
            }
            (done as f64 / start.elapsed().as_secs_f64(), longest)
        });
        let rate = insert_all(&tables, &updates);
        stop.store(true, Ordering::Relaxed);
        let (lookups, longest) = reader.join().expect("the reader ends");
        println!(
            "{:16} {alone:>12.0} {rate:>12.0} {lookups:>14.0} {:>12.1}",
            shape.name,
            longest.as_secs_f64() * 1e6
        );
    });
}

/// Inserts one by one, for two seconds at most: how many a second.
fn insert_all(tables: &Tables, updates: &[Update]) -> f64 {
    let start = Instant::now();
    let mut inserted = 0;
    for update in updates {
        tables.update(update).expect("entries that differ");
        inserted += 1;
        if start.elapsed() > Duration::from_secs(2) {
            break;
        }
    }
    f64::from(inserted) / start.elapsed().as_secs_f64()
}
