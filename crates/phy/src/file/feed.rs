//! A file's segments to a receiver.

use super::{BLOCK, Piece, Player, Segment};
use crate::{Item, Receiver};

/// A receiver of segments and bits that knows where in the stream it is. Runs of idles cost it
/// nothing, and yet it tells what one that was given all bits would tell.
#[derive(Default)]
pub struct Feed {
    receiver: Receiver,
    /// The stream's bit at which the receiver began.
    base: u64,
    player: Player,
    /// Makes idles that the receiver has to see.
    maker: Player,
}

impl Feed {
    /// At a bit of a stream.
    pub fn at(bit: u64) -> Feed {
        Feed {
            base: bit,
            ..Feed::default()
        }
    }

    /// The receiver. Its stamps count from [`base`](Feed::base).
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// What is to be added to the receiver's stamps.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// The next bits: bit i is bit i % 64 of word i / 64. `each` gets the base, and what was found.
    pub fn words(&mut self, words: &[u64], each: &mut impl FnMut(u64, Item<'_>)) {
        self.receiver.push(words, |item| each(self.base, item));
    }

    /// The next bits, up to 64: the low ones of a word.
    pub fn bits(&mut self, word: u64, count: u32, each: &mut impl FnMut(u64, Item<'_>)) {
        self.receiver
            .push_bits(word, count, |item| each(self.base, item));
    }

    /// The next segment. Where bits before it are missing, what was open is finished, and a lock has to
    /// be found anew.
    pub fn segment(&mut self, segment: &Segment<'_>, each: &mut impl FnMut(u64, Item<'_>)) {
        if segment.first() != self.base.wrapping_add(self.receiver.received()) {
            self.finish(each);
            self.base = segment.first().wrapping_sub(self.receiver.received());
        }
        let Feed {
            receiver,
            base,
            player,
            maker,
        } = self;
        let mut skipped = 0;
        let mut each = |item: Item<'_>| each(*base, item);
        player.play(segment, &mut |piece| match piece {
            Piece::Words(words) => receiver.push(words, &mut each),
            Piece::Bits(word, count) => receiver.push_bits(word, count, &mut each),
            Piece::Idles {
                blocks,
                before,
                behind,
            } => {
                let (mut left, mut state) = (blocks, before);
                for _ in 0..ROUNDS {
                    if left == 0 || receiver.idles(left, state << 6, behind << 6, &mut each) {
                        return;
                    }
                    let made = left.min(MADE);
                    maker.idles(made, state, &mut |piece| match piece {
                        Piece::Words(words) => receiver.push(words, &mut each),
                        Piece::Bits(word, count) => receiver.push_bits(word, count, &mut each),
                        Piece::Idles { .. } => {}
                    });
                    state = maker.leap(state, made);
                    left -= made;
                }
                receiver.finish(&mut each);
                skipped += left * BLOCK;
            }
        });
        self.base = self.base.wrapping_add(skipped);
    }

    /// The stream has ended.
    pub fn finish(&mut self, each: &mut impl FnMut(u64, Item<'_>)) {
        let base = self.base;
        self.receiver.finish(|item| each(base, item));
    }
}

/// Blocks that are made before it is looked again whether the others may be left out: more than it takes
/// to lock, and to see that the error rate is not high any more.
const MADE: u64 = 2 * 19_531;
/// How often that is done before the line is taken for one that never locks. One round is enough on any
/// that was scrambled from a state that came by chance.
const ROUNDS: u32 = 8;
