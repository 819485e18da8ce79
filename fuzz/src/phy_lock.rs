//! Block lock: any bits, in any pieces, give the same items, no frame is good whose FCS is not, and the line is recorded
//! without loss.

use phy::file::{Feed, Header, Piece, Player, Reader, Recorder, Step, Writer};
use phy::{Item, Receiver, Verdict, crc};

/// What a receiver tells of these words, which come in pieces of `size` bits.
fn receive(words: &[u64], size: u32) -> Vec<String> {
    let (mut receiver, mut told) = (Receiver::new(2_000), Vec::new());
    let mut each = |item: Item<'_>| {
        if let Item::Frame(frame) = item
            && frame.verdict == Verdict::Good
        {
            assert_eq!(crc::fcs(frame.bytes).to_le_bytes(), frame.fcs);
        }
        told.push(format!("{item:?}"));
    };
    if size == 64 {
        receiver.push(words, &mut each);
    } else {
        for &word in words {
            let mut at = 0;
            while at < 64 {
                let count = size.min(64 - at);
                receiver.push_bits(word >> at, count, &mut each);
                at += count;
            }
        }
    }
    receiver.finish(&mut each);
    told
}

pub fn target(data: &[u8]) {
    let words: Vec<u64> = data
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")))
        .collect();
    let told = receive(&words, 64);
    assert_eq!(told, receive(&words, 1 + words.len() as u32 % 63));

    let mut file = Vec::new();
    let mut recorder = Recorder::new(Writer::begin(&Header::default(), &mut file));
    words
        .iter()
        .for_each(|&word| recorder.push(word, 64, &mut file));
    recorder.finish(&mut file);
    let (mut reader, mut player, mut feed) =
        (Reader::default(), Player::default(), Feed::default());
    let (mut rest, mut bits) = (&file[..], Bits::default());
    loop {
        let step = reader.next(rest, true).expect("a file that was written");
        if let Step::Segment { segment, .. } = &step {
            let mut idles = Vec::new();
            player.play(segment, &mut |piece| bits.push(piece, &mut idles));
            feed.segment(segment, &mut |_, _| {});
        }
        let Some(used) = step.used() else { break };
        rest = &rest[used..];
    }
    assert_eq!(bits.words, words);
}

/// Packs pieces again.
#[derive(Default)]
struct Bits {
    words: Vec<u64>,
    held: u128,
    count: u32,
}

impl Bits {
    fn push(&mut self, piece: Piece<'_>, idles: &mut Vec<u64>) {
        match piece {
            Piece::Words(words) => words.iter().for_each(|&word| self.bits(word, 64)),
            Piece::Bits(word, count) => self.bits(word, count),
            Piece::Idles { blocks, before, .. } => {
                idles.push(blocks);
                let mut maker = Player::default();
                maker.idles(blocks, before, &mut |piece| {
                    self.push(piece, &mut Vec::new())
                });
            }
        }
    }

    fn bits(&mut self, word: u64, count: u32) {
        let word = u128::from(word) & ((1 << count) - 1);
        self.held |= word << self.count;
        self.count += count;
        if self.count >= 64 {
            self.words.push(self.held as u64);
            self.held >>= 64;
            self.count -= 64;
        }
    }
}
