//! Every way of looking up finds what trying one entry after the other finds, whatever is inserted and deleted.

use super::programs::{forward, one_table};
use p4::ir::{KeyMatch, TableId};
use p4::value::Bits;
use pipeline::table::{Entry, Tables, Update};
use proptest::prelude::*;

const T: TableId = TableId(0);

/// A step: insert or delete an entry that is made from these numbers.
type Step = (bool, [u64; 4], [u64; 4], u32);

fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = (
        prop::bool::weighted(0.75),
        any::<[u64; 4]>(),
        any::<[u64; 4]>(),
        1..20u32,
    );
    prop::collection::vec(step, 1..most)
}

/// A match for a key. Values are near each other, so that entries share parts and overlap.
fn key_match(width: u32, kind: &str, value: u64, mask: u64) -> KeyMatch {
    let few = (width / 2).clamp(1, 6);
    // A few bits at each end vary.
    let spread = |v: u64| {
        let low = num_bigint::BigUint::from(v & ((1 << few) - 1));
        let high = num_bigint::BigUint::from((v >> 8) & ((1 << few) - 1));
        Bits::new(width, low | (high << (width - few)))
    };
    match kind {
        "exact" => KeyMatch::Exact(spread(value)),
        "lpm" => KeyMatch::Prefix(spread(value), (mask % u64::from(width + 1)) as u32),
        "optional" if mask.is_multiple_of(3) => KeyMatch::Any,
        "optional" => KeyMatch::Exact(spread(value)),
        "range" => {
            let (a, b) = (spread(value), spread(mask));
            KeyMatch::Range(a.clone().min(b.clone()), a.max(b))
        }
        _ => {
            let mask = match mask % 5 {
                0 => Bits::zero(width),
                1 => Bits::new(width, p4::value::mask(width)),
                2 => Bits::new(width, p4::value::mask(width / 2)),
                _ => spread(mask >> 3),
            };
            KeyMatch::Mask(spread(value), mask)
        }
    }
}

fn cells_of(keys: &[(u32, &str)], values: &[u64]) -> Vec<u64> {
    let mut cells = Vec::new();
    for ((width, _), value) in keys.iter().zip(values) {
        let KeyMatch::Exact(bits) = key_match(*width, "exact", *value, 0) else {
            unreachable!()
        };
        let at = cells.len();
        cells.resize(at + pipeline::layout::limbs(*width), 0);
        bits.to_limbs(&mut cells[at..]);
    }
    cells
}

fn agree(keys: &[(u32, &str)], steps: &[Step]) {
    let program = one_table(keys, 100_000);
    let (fast, linear) = (Tables::new(&program), Tables::linear(&program));
    let has_priorities = fast.forms()[0].has_priorities();
    let mut probes = Vec::new();
    for (number, (insert, values, masks, priority)) in steps.iter().enumerate() {
        let priority = if has_priorities { *priority } else { 0 };
        let update = if *insert {
            let matches = keys
                .iter()
                .zip(values.iter().zip(masks))
                .map(|((width, kind), (value, mask))| key_match(*width, kind, *value, *mask))
                .collect();
            Update::Insert(
                T,
                Entry::new(matches, forward(number as u16)).priority(priority),
            )
        } else {
            let there = linear.entries(T);
            if there.is_empty() {
                continue;
            }
            let gone = &there[values[0] as usize % there.len()];
            Update::Delete(T, gone.entry.keys.clone(), gone.entry.priority)
        };
        assert_eq!(fast.update(&update), linear.update(&update));
        probes.push(cells_of(keys, values));
        probes.push(cells_of(keys, masks));
    }
    let (fast, linear) = (fast.view(), linear.view());
    for key in probes {
        let found = fast.table(T).lookup(&key);
        let right = linear.table(T).lookup(&key);
        assert_eq!(found.entry, right.entry, "{key:x?}");
        assert_eq!(found.arguments, right.arguments);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn exact(steps in steps(300)) {
        agree(&[(9, "exact")], &steps);
        agree(&[(16, "exact"), (128, "exact"), (7, "exact")], &steps);
    }

    #[test]
    fn prefixes(steps in steps(300)) {
        agree(&[(32, "lpm")], &steps);
        agree(&[(6, "lpm")], &steps);
        agree(&[(64, "lpm")], &steps);
        agree(&[(128, "lpm")], &steps);
        agree(&[(200, "lpm")], &steps);
    }

    #[test]
    fn prefixes_below_exact_keys(steps in steps(300)) {
        agree(&[(3, "exact"), (32, "lpm")], &steps);
        agree(&[(2, "exact"), (128, "lpm"), (1, "exact")], &steps);
    }

    #[test]
    fn ternary(steps in steps(300)) {
        agree(&[(12, "ternary")], &steps);
        agree(&[(32, "ternary"), (130, "ternary"), (8, "exact")], &steps);
    }

    #[test]
    fn ranges_and_options(steps in steps(300)) {
        agree(&[(16, "range")], &steps);
        agree(&[(32, "lpm"), (70, "range"), (4, "optional")], &steps);
        agree(&[(8, "optional"), (16, "ternary"), (16, "range"), (16, "range")], &steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    /// Enough entries that roots widen, blocks split and merge, and masks get tuples of their own.
    #[test]
    fn many_entries(steps in steps(6000)) {
        agree(&[(32, "lpm")], &steps);
        agree(&[(20, "ternary"), (16, "ternary")], &steps);
        agree(&[(16, "ternary"), (16, "range")], &steps);
    }
}
