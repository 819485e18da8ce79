use super::*;
use node::random::Random;

/// Sends frames of these lengths, each this many columns behind the one before, and returns their
/// fates.
fn send(stream: &mut Stream, frames: impl Iterator<Item = (usize, u64)>) -> Vec<Fate> {
    let (mut column, mut fates) = (0, Vec::new());
    for (n, (len, idles)) in frames.enumerate() {
        let bytes: Vec<u8> = (0..len).map(|at| (at + n) as u8).collect();
        let (mut frame, start) = (Frame::new(&bytes), column + idles);
        let end = start + 2 + (len as u64 + 4) / 4;
        fates.push(stream.frame(&mut frame, start, end));
        if fates.last() == Some(&Fate::Whole) {
            assert_eq!(*frame, *bytes);
        }
        column = end + 1;
    }
    stream.finish(column / 2 + 2);
    fates
}

fn draws(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut random = Random::new(seed);
    move |bound| random.below(bound)
}

#[test]
fn without_wrong_bits_every_frame_arrives_through_the_whole_coder() {
    let mut stream = Stream::new(0.0, 1, true);
    let mut draw = draws(5);
    let fates = send(&mut stream, (60..1_600).map(|len| (len, 2 + draw(7))));
    assert!(fates.iter().all(|fate| *fate == Fate::Whole));
    assert_eq!(stream.counters(), LineCounters::default());
}

#[test]
fn what_is_left_out_would_have_changed_nothing() {
    let mut seen = LineCounters::default();
    for (seed, bit_error) in (0..).zip([1e-7, 1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 1e-2, 0.05, 0.1, 0.5]) {
        for seed in 10 * seed..10 * seed + 2 {
            let run = |every| {
                let mut stream = Stream::new(bit_error, seed, every);
                let mut draw = draws(seed);
                // Back to back, and with idles up to some ten microseconds.
                let frames = (0..700).map(|_| {
                    let size = draw(11);
                    let gap = draw(13);
                    (60 + draw(1 << size) as usize, 2 + draw(1 << gap))
                });
                let frames: Vec<(usize, u64)> = frames.collect();
                let fates = send(&mut stream, frames.into_iter());
                (fates, stream.counters())
            };
            let made = run(false);
            let all = run(true);
            assert!(made.0 == all.0, "fates at {bit_error}, seed {seed}");
            assert_eq!(made.1, all.1, "{bit_error} {seed}");
            let counters = made.1;
            seen.lock_losses += counters.lock_losses;
            seen.high_error_rates += counters.high_error_rates;
            seen.bad_fcs += counters.bad_fcs;
            seen.bad_blocks += counters.bad_blocks;
            seen.bad_headers += counters.bad_headers;
        }
    }
    let LineCounters {
        lock_losses,
        high_error_rates,
        bad_fcs,
        bad_blocks,
        bad_headers,
        ..
    } = seen;
    let all = [
        lock_losses,
        high_error_rates,
        bad_fcs,
        bad_blocks,
        bad_headers,
    ];
    assert!(all.iter().all(|count| *count > 3), "{seen:?}");
}

#[test]
fn who_looks_at_the_blocks_sees_what_the_receiver_gets_and_changes_nothing() {
    use crate::block::tape::Bits;
    use phy::Decoder;
    use std::sync::{Arc, Mutex};
    for bit_error in [0.0, 1e-6, 1e-5, 1e-4] {
        let run = |look: bool| {
            let mut stream = Stream::new(bit_error, 9, false);
            let tape = Arc::new(Mutex::new(Vec::new()));
            if look {
                let tape = tape.clone();
                stream.show(Box::new(move |bits| tape.lock().unwrap().push(bits)));
            }
            let mut draw = draws(3);
            let frames = (0..500).map(|_| (60 + draw(1_400) as usize, 2 + draw(300)));
            let fates = send(&mut stream, frames.collect::<Vec<_>>().into_iter());
            let tape = std::mem::take(&mut *tape.lock().unwrap());
            (fates, stream.counters(), tape)
        };
        let (fates, counters, tape) = run(true);
        let (unseen, same, _) = run(false);
        assert!(fates == unseen && counters == same);
        // What is on the tape decodes to the same frames.
        let (mut decoder, mut place, mut good) = (Decoder::default(), 0, 0);
        let mut each = |item: Item<'_>| {
            if let Item::Frame(frame) = item {
                good += usize::from(frame.verdict == Verdict::Good);
            }
        };
        for bits in tape {
            let (blocks, block) = match bits {
                Bits::Idles(blocks) => (blocks, Some(Block::IDLE)),
                Bits::Block { header, payload } => (1, Block::new(header, payload)),
            };
            decoder.block(Stamp::of_block(place), block, &mut each);
            place += blocks;
        }
        decoder.finish(&mut each);
        let whole = fates.iter().filter(|fate| **fate == Fate::Whole).count();
        // A receiver that found the error rate high misses what a decoder alone takes.
        match counters.high_error_rates {
            0 => assert_eq!(good, whole, "{bit_error}"),
            _ => assert!(good >= whole, "{bit_error}"),
        }
    }
}
