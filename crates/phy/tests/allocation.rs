//! In steady state no frame costs an allocation, in either direction.

use phy::{Blocks, Encoder, Item, Line, Receiver, Start};

#[test]
fn frames_go_both_ways_without_allocating() {
    let frames: Vec<Vec<u8>> = [60, 61, 590, 1514, 9000].map(|n| vec![0xA5; n]).into();
    let (mut encoder, mut blocks) = (Encoder::new(), Blocks::new());
    let (mut line, mut words) = (Line::default(), Vec::new());
    let (mut receiver, mut good) = (Receiver::default(), 0);
    let mut round = |errors: bool| {
        for (n, frame) in frames.iter().enumerate() {
            let sent = encoder.frame(frame, Start::After(300 + n as u64), &mut blocks);
            sent.expect("a frame of good length");
        }
        line.push(&blocks, &mut words);
        blocks.clear();
        if errors {
            for n in 0..words.len() / 7 {
                words[7 * n] ^= 1 << (n % 64);
            }
        }
        receiver.push(&words, |item| {
            if let Item::Frame(frame) = item {
                good += frame.bytes.len();
            }
        });
        words.clear();
    };
    round(false);
    round(true);
    let before = allocations::of_this_thread();
    for n in 0..100 {
        round(n % 10 == 0);
    }
    assert_eq!(allocations::of_this_thread() - before, 0);
    assert!(good > 0);
}
