use super::*;
use alloc::collections::VecDeque;
use alloc::string::String;
use node::random::Random;

/// A ring next to a queue of rows, with texts of random lengths in a small memory of bytes.
#[test]
fn a_ring_holds_the_newest_rows_at_any_size() {
    let mut random = Random::new(1);
    for _ in 0..200 {
        let rows = 1 + random.below(20) as usize;
        let bytes = 8 + random.below(60);
        let schema = Schema::new("T", rows)
            .integer("n")
            .text("s", 5)
            .real("r")
            .text("t", 3)
            .text_bytes(bytes);
        schema.check().expect("a good schema");
        let mut ring = Ring::new(&schema);
        let mut model: VecDeque<(i64, Option<i64>, String, String)> = VecDeque::new();
        for number in 0..200_u64 {
            let text: String = (0..random.below(6)).map(|_| 'x').collect();
            let other: String = (0..random.below(4)).map(|_| 'y').collect();
            let n = (random.below(3) > 0).then_some(number.cast_signed());
            let values = [
                n.map_or(Value::Null, Value::Integer),
                Value::Text(&text),
                Value::Real(f64::NAN),
                Value::Text(&other),
            ];
            let length = text.len() + other.len();
            let first = ring.first_after(length);
            ring.push(number.cast_signed(), &values, length, first);
            model.push_back((number.cast_signed(), n, text, other));
            assert!(ring.len() <= rows && ring.next() == number + 1);
            while model.len() > ring.len() {
                model.pop_front();
            }
            // Rows leave early only for lack of bytes: the remaining rows and the gap at the end need all of them.
            if ring.len() < rows.min(number as usize + 1) {
                let used: usize = model.iter().map(|row| row.2.len() + row.3.len()).sum();
                assert!(used + 8 + 7 >= bytes as usize, "{used} of {bytes}");
            }
            for (row, (at, n, text, other)) in (ring.first()..).zip(&model) {
                assert_eq!(ring.value(row, 0), Value::Integer(*at));
                assert_eq!(ring.value(row, 1), n.map_or(Value::Null, Value::Integer));
                assert_eq!(ring.value(row, 2), Value::Text(text));
                assert_eq!(ring.value(row, 3), Value::Null);
                assert_eq!(ring.value(row, 4), Value::Text(other));
            }
        }
    }
}

#[test]
fn the_first_row_at_or_after_a_time_is_found() {
    let schema = Schema::new("T", 4);
    let mut ring = Ring::new(&schema);
    for at in [1, 2, 2, 5, 7, 7] {
        let first = ring.first_after(0);
        ring.push(at, &[], 0, first);
    }
    let at = |time| ring.lower_bound(0, time);
    assert_eq!([at(0), at(2), at(3), at(7), at(8)], [2, 2, 3, 4, 6]);
}
