//! Figure 4.6: frames to the line and back, one core each way, with the standard's gap.

use super::{Rows, SIZES, noise, rate, reference};
use phy::{Blocks, Encoder, Item, Line, Receiver, Stamp, Start, Verdict};
use std::hint::black_box;

/// Bytes of frames in a run.
const BYTES: usize = 4 << 20;
/// Frames that are encoded before they go onto the line.
const BATCH: usize = 32;

pub fn print(rows: &mut Rows) -> anyhow::Result<()> {
    rows.head("size  generator  capturer reference")?;
    for size in SIZES {
        let frames = BYTES / size / BATCH * BATCH;
        let (mut blocks, mut words) = (Blocks::new(), Vec::new());
        let generator = rate(size, frames, || {
            generate(size, frames, &mut blocks, &mut words)
        });
        let (mut good, mut bad) = (0, 0);
        let mut capture = || {
            // A receiver that continued from the last run would descramble the first block with the wrong state, and might
            // take it for the start of a frame.
            let mut receiver = Receiver::default();
            receiver.push(&words, |item| {
                if let Item::Frame(frame) = item {
                    let whole = frame.verdict == Verdict::Good;
                    good += usize::from(whole);
                    bad += usize::from(!whole);
                    black_box((frame.stamp, frame.idles));
                }
            });
        };
        capture();
        let capturer = rate(size, frames, capture);
        assert!(
            good > 0 && good.is_multiple_of(frames) && bad == 0,
            "{good} good, {bad} bad"
        );
        rows.row(size, &[generator, capturer, reference(size)])?;
    }
    Ok(())
}

/// Frames with FCS, gaps of 12 in the mean, scrambled and packed. Idles before them let a receiver lock.
fn generate(size: usize, frames: usize, blocks: &mut Blocks, words: &mut Vec<u64>) {
    let frame = noise(size - 4);
    let (mut encoder, mut line) = (Encoder::new(), Line::default());
    words.clear();
    for batch in 0..frames / BATCH {
        blocks.clear();
        if batch == 0 {
            encoder.idle_until(Stamp::of_block(128), blocks);
        }
        for _ in 0..BATCH {
            let sent = encoder.frame(black_box(&frame), Start::After(12), blocks);
            black_box(sent).expect("a frame of a good length");
        }
        line.push(blocks, words);
    }
    // 32 blocks are 33 whole words.
    blocks.clear();
    encoder.idle_until(
        Stamp::of_block(encoder.blocks().next_multiple_of(32)),
        blocks,
    );
    line.push(blocks, words);
}
