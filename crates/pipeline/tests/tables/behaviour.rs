use super::programs::{drop_packet, forward, one_table};
use node::Time;
use p4::ir::{KeyMatch, TableId};
use p4::value::Bits;
use pipeline::table::{Call, Choice, Done, Entry, TableError, Tables, Update};

const T: TableId = TableId(0);

fn exact(width: u32, value: u64) -> KeyMatch {
    KeyMatch::Exact(Bits::new(width, value))
}

fn prefix(value: u32, length: u32) -> KeyMatch {
    KeyMatch::Prefix(Bits::new(32, value), length)
}

/// The port that a packet with this key is forwarded to, or `None`.
fn port(tables: &Tables, key: &[u64]) -> Option<u64> {
    let view = tables.view();
    let found = view.table(T).lookup(key);
    (found.choice == Choice::Action(0)).then(|| found.arguments.cell(0))
}

#[test]
fn an_entry_is_found_changed_and_gone() {
    let tables = Tables::new(&one_table(&[(16, "exact"), (48, "exact")], 10));
    let keys = vec![exact(16, 7), exact(48, 0xaabb)];
    assert_eq!(port(&tables, &[7, 0xaabb]), None);
    let done = tables.update(&Update::Insert(T, Entry::new(keys.clone(), forward(3))));
    assert_eq!(
        done,
        Ok(Done::Inserted {
            handle: 0,
            index: 0
        })
    );
    assert_eq!(port(&tables, &[7, 0xaabb]), Some(3));
    assert_eq!(port(&tables, &[8, 0xaabb]), None);
    tables
        .update(&Update::Modify(T, Entry::new(keys.clone(), forward(4))))
        .unwrap();
    assert_eq!(port(&tables, &[7, 0xaabb]), Some(4));
    tables.update(&Update::Delete(T, keys, 0)).unwrap();
    assert_eq!(port(&tables, &[7, 0xaabb]), None);
    assert!(tables.is_empty(T));
}

#[test]
fn the_longest_prefix_wins_within_its_exact_key() {
    let tables = Tables::new(&one_table(&[(12, "exact"), (32, "lpm")], 10));
    for (vrf, route, to) in [
        (1, prefix(0x0a00_0000, 8), 1),
        (1, prefix(0x0a01_0000, 16), 2),
        (1, prefix(0, 0), 3),
        (2, prefix(0x0a01_0203, 32), 4),
    ] {
        let entry = Entry::new(vec![exact(12, vrf), route], forward(to));
        tables.update(&Update::Insert(T, entry)).unwrap();
    }
    assert_eq!(port(&tables, &[1, 0x0a01_0203]), Some(2));
    assert_eq!(port(&tables, &[1, 0x0a02_0203]), Some(1));
    assert_eq!(port(&tables, &[1, 0x0b02_0203]), Some(3));
    assert_eq!(port(&tables, &[2, 0x0a01_0203]), Some(4));
    assert_eq!(port(&tables, &[2, 0x0a01_0204]), None);
}

#[test]
fn the_largest_priority_wins_and_of_equals_the_older() {
    let tables = Tables::new(&one_table(&[(16, "ternary"), (16, "range")], 10));
    let masked = |value: u32, mask: u32| KeyMatch::Mask(Bits::new(16, value), Bits::new(16, mask));
    let range = |low: u32, high: u32| KeyMatch::Range(Bits::new(16, low), Bits::new(16, high));
    for (keys, priority, to) in [
        (vec![masked(0x0800, 0xff00), KeyMatch::Any], 5, 1),
        (vec![masked(0x0801, 0xffff), range(100, 300)], 10, 2),
        (vec![KeyMatch::Any, range(100, 200)], 5, 3),
    ] {
        let entry = Entry::new(keys, forward(to)).priority(priority);
        tables.update(&Update::Insert(T, entry)).unwrap();
    }
    assert_eq!(port(&tables, &[0x0801, 300]), Some(2));
    assert_eq!(port(&tables, &[0x0801, 301]), Some(1));
    assert_eq!(port(&tables, &[0x0802, 150]), Some(1));
    assert_eq!(port(&tables, &[0x1802, 150]), Some(3));
    assert_eq!(port(&tables, &[0x1802, 201]), None);
}

#[test]
fn a_batch_is_done_whole_or_not_at_all() {
    let tables = Tables::new(&one_table(&[(8, "exact")], 3));
    let insert = |key, to| Update::Insert(T, Entry::new(vec![exact(8, key)], forward(to)));
    tables.batch(&[insert(1, 1), insert(2, 2)]).unwrap();
    let before = tables.entries(T);
    let refused = tables.batch(&[
        Update::Delete(T, vec![exact(8, 1)], 0),
        Update::Modify(T, Entry::new(vec![exact(8, 2)], forward(9))),
        insert(3, 3),
        Update::SetDefault(T, Call::Action(forward(8))),
        Update::Clear(T),
        insert(1, 7),
        insert(1, 8),
    ]);
    let (number, error) = refused.unwrap_err();
    assert_eq!(number, 6);
    assert!(matches!(error, TableError::Duplicate { .. }));
    assert_eq!(tables.entries(T), before);
    assert_eq!(tables.default(T), Ok((Call::Action(drop_packet()), true)));
    assert_eq!(port(&tables, &[1]), Some(1));
    assert_eq!(port(&tables, &[2]), Some(2));
    assert_eq!(port(&tables, &[3]), None);
}

#[test]
fn a_view_sees_nothing_go_and_no_part_of_a_later_batch() {
    let tables = std::sync::Arc::new(Tables::new(&one_table(&[(8, "exact")], 100)));
    let insert = |key| Update::Insert(T, Entry::new(vec![exact(8, key)], forward(1)));
    let first: Vec<_> = (10..90).map(insert).collect();
    tables.batch(&first).unwrap();
    let view = tables.view();
    let writer = {
        let tables = tables.clone();
        std::thread::spawn(move || {
            tables.update(&insert(3)).unwrap();
            let delete = Update::Delete(T, vec![exact(8, 10)], 0);
            tables.batch(&[insert(1), insert(2), delete]).unwrap();
            // This one waits until the view is gone.
            tables.batch(&[insert(4), insert(5)]).unwrap();
        })
    };
    while !view.is_old() {
        std::thread::yield_now();
    }
    for _ in 0..1000 {
        for key in [1, 2, 4, 5] {
            assert_eq!(view.table(T).lookup(&[key]).entry, None);
        }
        assert!(view.table(T).lookup(&[10]).entry.is_some());
    }
    drop(view);
    writer.join().unwrap();
    for key in [1, 2, 3, 4, 5, 11] {
        assert_eq!(port(&tables, &[key]), Some(1));
    }
    assert_eq!(port(&tables, &[10]), None);
}

#[test]
fn errors_say_what_to_do() {
    let tables = Tables::new(&one_table(&[(8, "exact"), (32, "ternary")], 1));
    let insert = |keys, priority| {
        let entry = Entry::new(keys, forward(1)).priority(priority);
        let done = tables.update(&Update::Insert(T, entry));
        done.unwrap_err().to_string()
    };
    let any = KeyMatch::Any;
    assert_eq!(
        insert(vec![exact(8, 1)], 1),
        "table t matches on 2 key(s) (k0, k1), but 1 were given"
    );
    assert_eq!(
        insert(vec![any.clone(), any.clone()], 1),
        "key k0 of table t is exact; it takes no wildcard"
    );
    assert_eq!(
        insert(vec![exact(16, 300), any.clone()], 1),
        "key k0 of table t has 8 bits; 0x12c does not fit"
    );
    assert_eq!(
        insert(vec![exact(8, 1), any.clone()], 0),
        "entries of table t have priorities, since key k1 is ternary: give one from 1, the larger wins"
    );
    let entry = Entry::new(vec![exact(8, 1), any.clone()], forward(1)).priority(1);
    tables.update(&Update::Insert(T, entry)).unwrap();
    assert_eq!(
        insert(vec![exact(8, 1), any.clone()], 1),
        "table t has an entry with this match already (handle 0); modify that one"
    );
    assert_eq!(
        insert(vec![exact(8, 2), any], 1),
        "table t holds 1 entries, its size; delete one first, or give the table a larger `size`"
    );
}

#[test]
fn an_idle_entry_is_told_once_until_it_is_hit() {
    let mut program = one_table(&[(8, "exact")], 4);
    program.tables[0].idle_timeout = true;
    let tables = Tables::new(&program);
    tables.tick(Time::from_secs(1));
    let mut entry = Entry::new(vec![exact(8, 1)], forward(1));
    entry.idle_timeout = Some(Time::from_secs(10));
    tables.update(&Update::Insert(T, entry)).unwrap();
    assert_eq!(tables.next_idle(), Some(Time::from_secs(11)));
    assert!(tables.idle(Time::from_secs(10)).is_empty());
    assert_eq!(tables.idle(Time::from_secs(11)).len(), 1);
    assert!(tables.idle(Time::from_secs(12)).is_empty());
    assert_eq!(tables.next_idle(), None);
    let view = tables.view();
    let entry = view.table(T).lookup(&[1]).entry.unwrap();
    view.table(T).touch(entry, Time::from_secs(13));
    drop(view);
    assert!(tables.idle(Time::from_secs(22)).is_empty());
    assert_eq!(tables.idle(Time::from_secs(23)).len(), 1);
}
