//! Requests with bytes changed here and there: what the fuzz target asks of all of them, of some thousand.

#[path = "../../../fuzz/src/p4runtime_messages.rs"]
mod fuzz_target;

/// splitmix64
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[test]
fn whatever_a_request_says_it_is_answered_and_what_was_written_can_be_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/p4runtime");
    let mut seeds: Vec<_> = std::fs::read_dir(folder)
        .expect("the corpus is here")
        .map(|entry| entry.expect("a file").path())
        .collect();
    seeds.sort();
    assert!(seeds.len() >= 10, "only {} seeds", seeds.len());
    let state = &mut 1;
    for seed in seeds {
        let bytes = std::fs::read(&seed).expect("a file that can be read");
        fuzz_target::target(&bytes);
        for _ in 0..150 {
            let mut changed = bytes.clone();
            for _ in 0..1 + next(state) % 3 {
                let at = next(state) as usize % changed.len();
                match next(state) % 4 {
                    0 => changed[at] = next(state) as u8,
                    1 => changed[at] ^= 1 << (next(state) % 8),
                    2 => drop(changed.remove(at)),
                    _ => changed.insert(at, next(state) as u8),
                }
                if changed.is_empty() {
                    // Nothing left to change.
                    break;
                }
            }
            fuzz_target::target(&changed);
        }
    }
}
