//! The receive side: what the line does to it, and what it tells.

mod reference;

use phy::{Blocks, Encoder, Event, Item, Line, Receiver, Stamp, Start, Verdict};
use reference::Random;

/// Stamp, idles before it, bytes.
type Sending = (Stamp, u64, Vec<u8>);

/// A stream of good frames with idles before them, and what was sent.
fn stream(random: &mut Random, frames: usize) -> (Vec<bool>, Vec<Sending>) {
    let (mut encoder, mut blocks) = (Encoder::new(), Blocks::new());
    encoder.idle_until(Stamp::of_block(300), &mut blocks);
    let mut sent = vec![];
    for _ in 0..frames {
        let length = 60 + random.below(200) as usize;
        let bytes = random.bytes(length);
        let start = Start::After(random.below(60));
        let told = encoder.frame(&bytes, start, &mut blocks).unwrap();
        sent.push((told.stamp, told.idles, bytes));
    }
    encoder.idle_until(encoder.stamp() + 1000, &mut blocks);
    let (mut line, mut words) = (Line::default(), Vec::new());
    line.push(&blocks, &mut words);
    words.push(line.rest().0);
    let mut bits = reference::bits(&words);
    bits.truncate(line.bits() as usize);
    (bits, sent)
}

/// Pushes bits in pieces of some size.
fn push(receiver: &mut Receiver, bits: &[bool], piece: usize, mut each: impl FnMut(Item<'_>)) {
    for piece in bits.chunks(piece) {
        for (word, bits) in reference::words(piece).into_iter().zip(piece.chunks(64)) {
            receiver.push_bits(word, bits.len() as u32, &mut each);
        }
    }
}

#[test]
fn blocks_are_found_from_every_alignment_and_every_frame_comes_out() {
    let mut random = Random(1);
    let (bits, sent) = stream(&mut random, 20);
    for lead in 0..66 {
        let mut shifted: Vec<bool> = (0..lead).map(|_| random.below(2) == 1).collect();
        shifted.extend(&bits);
        let (mut receiver, mut seen, mut events) = (Receiver::default(), vec![], vec![]);
        push(&mut receiver, &shifted, 1 + lead, |item| match item {
            Item::Frame(frame) => {
                assert_eq!(frame.verdict, Verdict::Good);
                let stamp = Stamp(frame.stamp - Stamp(lead as u64));
                seen.push((stamp, frame.idles, frame.bytes.to_vec()));
            }
            Item::Event(_, event) => events.push(event),
        });
        assert_eq!(events, [Event::Lock], "{lead}");
        assert_eq!(seen.len(), sent.len(), "{lead}");
        for (n, (seen, sent)) in seen.iter().zip(&sent).enumerate() {
            let idles = (n > 0).then_some(sent.1);
            assert_eq!((seen.0, seen.1, &seen.2), (sent.0, idles, &sent.2));
        }
    }
}
