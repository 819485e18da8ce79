//! Records: every byte is a packet's or skipped, the same however the stream is cut; packets write back.

use packet::record::{self, Step};

/// Packets (as the bytes at which they stood) and skipped bytes, with `piece` bytes more at a time.
fn walk(data: &[u8], piece: usize) -> (Vec<(usize, usize)>, usize) {
    let (mut found, mut skipped, mut at, mut seen) = (Vec::new(), 0, 0, 0);
    let mut copy = Vec::new();
    loop {
        match record::next(&data[at..seen], seen == data.len()) {
            Step::Packet { used, packet } => {
                copy.clear();
                record::encode(&packet, &mut copy).expect("a frame that was read");
                assert_eq!(copy, data[at..at + used]);
                found.push((at, used));
                at += used;
            }
            Step::Skip { bytes } => {
                assert!(bytes > 0);
                skipped += bytes;
                at += bytes;
            }
            Step::More if seen == data.len() => break,
            Step::More => seen = (seen + piece).min(data.len()),
        }
    }
    assert_eq!(
        found.iter().map(|(_, used)| used).sum::<usize>() + skipped,
        data.len()
    );
    (found, skipped)
}

pub fn target(data: &[u8]) {
    assert_eq!(walk(data, data.len().max(1)), walk(data, 7));
}
