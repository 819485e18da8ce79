//! Whatever a writer does meanwhile, a reader sees each change as a whole or not at all.
//!
//! What an entry does is a function of its key and of how often it was changed, so that a reader can tell anything torn from what it sees. Each
//! seed is another order of changes, with other pauses.

use super::programs::one_table;
use node::random::Random;
use p4::ir::{ActionCall, KeyMatch, Program, Slot, SlotId, TableId, Ty};
use p4::value::Bits;
use pipeline::table::{Call, Choice, Entry, Tables, Update, View};
use std::sync::atomic::{AtomicBool, Ordering};

const T: TableId = TableId(0);

/// What an entry of this key does after `version` changes: the two arguments tell the same story.
fn call(key: u64, version: u64) -> ActionCall {
    let second = key.wrapping_mul(0x9e37_79b9) ^ version.wrapping_mul(0x85eb_ca6b);
    ActionCall {
        action: 0,
        arguments: vec![Bits::new(64, version), Bits::new(32, second & 0xffff_ffff)],
    }
}

/// The version of the entry that a key finds; 0 is none.
fn version(view: &View, cells: &[u64], key: u64) -> u64 {
    let found = view.table(T).lookup(cells);
    if found.entry.is_none() {
        assert_eq!(found.choice, Choice::Action(1), "a miss drops");
        return 0;
    }
    let version = found.arguments.cell(0);
    assert_eq!(found.choice, Choice::Action(0));
    assert!(version > 0, "an entry with nothing in it");
    let right = call(key, version);
    let second = found.arguments.cell(1);
    assert_eq!(Bits::new(32, second), right.arguments[1], "key {key}");
    version
}

/// The table with `forward(bit<64> version, bit<32> check)`.
fn with_two_arguments(mut program: Program) -> Program {
    program.slots[0].ty = Ty::Bits(64);
    program.slots.push(Slot {
        name: "forward.check".into(),
        ty: Ty::Bits(32),
        enumeration: None,
        annotations: vec![],
    });
    let check = SlotId(program.slots.len() as u32 - 1);
    program.actions[0]
        .parameters
        .push(("check".into(), check, vec![]));
    program
}

/// Runs `write` while two threads run `read` over and over.
fn meanwhile(read: impl Fn(u64) + Sync, write: impl FnOnce()) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers = [0, 1].map(|number| {
            let (read, stop) = (&read, &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    read(number);
                    // Not with a view: a writer would wait for it.
                    std::thread::yield_now();
                }
            })
        });
        write();
        stop.store(true, Ordering::Relaxed);
        for reader in readers {
            reader.join().expect("the reader saw nothing torn");
        }
    });
}

/// How a table's keys are made of a number below 4096: the matches of an entry, the cells of a packet, and its priority.
struct Shape {
    keys: &'static [(u32, &'static str)],
    matches: fn(u64) -> Vec<KeyMatch>,
    cells: fn(u64) -> Vec<u64>,
    priority: u32,
}

fn exact(width: u32, value: u64) -> KeyMatch {
    KeyMatch::Exact(Bits::new(width, value))
}

fn masked(value: u64, mask: u64) -> KeyMatch {
    KeyMatch::Mask(Bits::new(32, value), Bits::new(32, mask))
}

const SHAPES: &[Shape] = &[
    Shape {
        keys: &[(48, "exact")],
        matches: |key| vec![exact(48, key * 0x1_0001)],
        cells: |key| vec![key * 0x1_0001],
        priority: 0,
    },
    Shape {
        keys: &[(9, "exact"), (128, "exact")],
        matches: |key| vec![exact(9, key & 7), exact(128, key)],
        cells: |key| vec![key & 7, key, 0],
        priority: 0,
    },
    // Many below one node, and long common parts.
    Shape {
        keys: &[(32, "lpm")],
        matches: |key| {
            let (spread, length) = (key * 0x0010_0401, 24 + key % 9);
            let value = spread as u32 & (u32::MAX << (32 - length)) | 1 << (32 - length);
            vec![KeyMatch::Prefix(Bits::new(32, value), length as u32)]
        },
        cells: |key| {
            let (spread, length) = (key * 0x0010_0401, 24 + key % 9);
            let value = spread as u32 & (u32::MAX << (32 - length)) | 1 << (32 - length);
            vec![u64::from(value)]
        },
        priority: 0,
    },
    Shape {
        keys: &[(3, "exact"), (128, "lpm")],
        matches: |key| {
            let value = Bits::from_limbs(128, &[key, 0x2001_0db8 << 32]);
            vec![exact(3, key % 5), KeyMatch::Prefix(value, 128)]
        },
        cells: |key| vec![key % 5, key, 0x2001_0db8 << 32],
        priority: 0,
    },
    Shape {
        keys: &[(32, "ternary"), (16, "range")],
        matches: |key| {
            let range = KeyMatch::Range(Bits::new(16, key % 7), Bits::new(16, 1000 + key % 9));
            vec![masked(key << 4, 0xffff_fff0 | (key % 3)), range]
        },
        cells: |key| vec![key << 4, 7 + key % 900],
        priority: 1,
    },
    Shape {
        keys: &[(16, "range"), (16, "optional")],
        matches: |key| {
            let range = KeyMatch::Range(Bits::new(16, key * 3), Bits::new(16, key * 3 + 2));
            vec![range, KeyMatch::Any]
        },
        cells: |key| vec![key * 3 + key % 3, key],
        priority: 1,
    },
];

/// Numbers whose packets differ.
fn distinct(shape: &Shape, keys: u64) -> Vec<u64> {
    let mut seen = std::collections::BTreeSet::new();
    (0..keys)
        .filter(|key| seen.insert((shape.cells)(*key)))
        .collect()
}

fn insert(shape: &Shape, key: u64, version: u64) -> Update {
    let entry = Entry::new((shape.matches)(key), call(key, version));
    Update::Set(T, entry.priority(shape.priority))
}

fn delete(shape: &Shape, key: u64) -> Update {
    Update::Delete(T, (shape.matches)(key), shape.priority)
}

#[test]
fn entries_that_come_change_and_go_are_never_seen_half() {
    for (number, shape) in SHAPES.iter().enumerate() {
        let keys = distinct(shape, 200);
        for seed in 0..3 {
            let tables = Tables::new(&with_two_arguments(one_table(shape.keys, 4096)));
            let mut random = Random::new(seed * 100 + number as u64);
            // Prefixes may cover other keys: only the entry of the key itself is looked at.
            let read = |reader: u64| {
                let mut random = Random::new(seed ^ reader << 32);
                let view = tables.view();
                for _ in 0..20 {
                    let key = keys[random.below(keys.len() as u64) as usize];
                    version(&view, &(shape.cells)(key), key);
                }
            };
            let mut there = vec![0u64; keys.len()];
            meanwhile(read, || {
                for step in 1..600 {
                    let at = random.below(keys.len() as u64) as usize;
                    let key = keys[at];
                    if there[at] > 0 && random.below(3) == 0 {
                        tables.update(&delete(shape, key)).expect("it is there");
                        there[at] = 0;
                    } else {
                        tables.update(&insert(shape, key, step)).expect("it fits");
                        there[at] = step;
                    }
                    // What a change did is seen by all that look afterwards.
                    let view = tables.view();
                    assert_eq!(version(&view, &(shape.cells)(key), key), there[at]);
                }
            });
        }
    }
}

#[test]
fn an_entry_that_came_stays_until_it_goes() {
    for (number, shape) in SHAPES.iter().enumerate() {
        let keys = distinct(shape, 1200);
        let tables = Tables::new(&with_two_arguments(one_table(shape.keys, 4096)));
        let count = std::sync::atomic::AtomicUsize::new(0);
        let read = |reader: u64| {
            let mut random = Random::new(reader + number as u64);
            // So many were there before the view was taken, through growth and building anew.
            let told = count.load(Ordering::Acquire);
            let view = tables.view();
            for _ in 0..20.min(told) {
                let key = keys[random.below(told as u64) as usize];
                assert_eq!(version(&view, &(shape.cells)(key), key), 1, "{key}");
            }
        };
        meanwhile(read, || {
            for (number, key) in keys.iter().enumerate() {
                tables.update(&insert(shape, *key, 1)).expect("it fits");
                count.store(number + 1, Ordering::Release);
            }
        });
        assert_eq!(tables.len(T), keys.len());
    }
}

#[test]
fn a_batch_is_seen_whole_or_not_at_all() {
    for shape in SHAPES {
        let keys = distinct(shape, 200);
        for seed in 0..3 {
            let tables = Tables::new(&with_two_arguments(one_table(shape.keys, 4096)));
            let all = |version| keys.iter().map(move |key| insert(shape, *key, version));
            tables.batch(&all(1).collect::<Vec<_>>()).expect("they fit");
            let read = |reader: u64| {
                let mut random = Random::new(seed + reader);
                let view = tables.view();
                let mut versions = (0..30).map(|_| {
                    let key = keys[random.below(keys.len() as u64) as usize];
                    version(&view, &(shape.cells)(key), key)
                });
                let first = versions.next().expect("some keys");
                assert!(versions.all(|version| version == first));
            };
            let mut random = Random::new(seed);
            meanwhile(read, || {
                for step in 2..40 {
                    let mut batch: Vec<_> = match random.below(4) {
                        0 => vec![Update::Clear(T)],
                        1 => keys.iter().map(|key| delete(shape, *key)).collect(),
                        _ => all(step).collect(),
                    };
                    // One that is refused changes nothing.
                    if random.below(3) == 0 {
                        batch.push(Update::SetDefault(T, Call::Member(1)));
                        tables.batch(&batch).expect_err("there is no member");
                    } else if tables.len(T) > 0 || !matches!(batch[0], Update::Delete(..)) {
                        tables.batch(&batch).expect("they fit");
                    }
                    if random.below(2) == 0 {
                        std::thread::yield_now();
                    }
                }
            });
        }
    }
}

#[test]
fn a_longer_prefix_comes_and_goes_above_one_that_stays() {
    let prefix = |value: u32, length| KeyMatch::Prefix(Bits::new(32, value), length);
    let entry = |value, length: u32, version| {
        let call = call(u64::from(length), version);
        Entry::new(vec![prefix(value, length)], call)
    };
    for seed in 0..6 {
        let tables = Tables::new(&with_two_arguments(one_table(&[(32, "lpm")], 4096)));
        let insert = |value, length| Update::Insert(T, entry(value, length, u64::from(length)));
        for (value, length) in [(0x0a00_0000, 8), (0x0a01_0000, 16)] {
            tables.update(&insert(value, length)).expect("it fits");
        }
        let read = |_| {
            let found = |address: u64| tables.view().table(T).lookup(&[address]).arguments.cell(0);
            // Below the /16, whatever is above it.
            assert!(found(0x0a01_0203) >= 16);
            assert_eq!(found(0x0a02_0203), 8);
        };
        let mut random = Random::new(seed);
        let mut there = std::collections::BTreeSet::new();
        meanwhile(read, || {
            for _ in 0..1000 {
                let length = 17 + random.below(16) as u32;
                let bits = 0x0a01_0203u32 ^ (random.below(8) as u32) << random.below(12);
                let value = bits & (u32::MAX << (32 - length));
                if there.remove(&(value, length)) {
                    let update = Update::Delete(T, vec![prefix(value, length)], 0);
                    tables.update(&update).expect("it is there");
                } else {
                    tables.update(&insert(value, length)).expect("it fits");
                    there.insert((value, length));
                }
            }
        });
    }
}
