//! The decoder: any blocks give items in order, blocks are what their characters encode to, and frames are good only with
//! their FCS.

use phy::{Block, Decoder, Item, Stamp, Verdict, crc};

pub fn target(data: &[u8]) {
    let mut decoder = Decoder::new(2_000);
    let mut last = 0;
    let mut at = 0;
    let mut each = |item: Item<'_>| match item {
        Item::Frame(frame) => {
            assert!(frame.bytes.len() <= 2_000 + 4);
            assert!(frame.length >= frame.bytes.len() as u64);
            if frame.verdict == Verdict::Good {
                assert!(frame.length >= 64);
                assert_eq!(crc::fcs(frame.bytes).to_le_bytes(), frame.fcs);
            }
        }
        Item::Event(stamp, _) => {
            assert!(stamp.0 >= last);
            last = stamp.0;
        }
    };
    // Nine bytes a block: the header, how many blocks were left out, the payload.
    for bytes in data.chunks_exact(9) {
        let payload = u64::from_le_bytes(bytes[1..].try_into().expect("eight bytes"));
        let block = Block::new(bytes[0] & 3, payload);
        if let Some(characters) = block.and_then(|block| block.decode()) {
            let encoded = characters.encode().expect("what a block decodes to");
            assert_eq!(encoded.decode(), Some(characters));
        }
        at += u64::from(bytes[0] >> 2) * Stamp::BLOCK;
        decoder.block(Stamp(at), block, &mut each);
        at += Stamp::BLOCK;
    }
    decoder.finish(&mut each);
}
