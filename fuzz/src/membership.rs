//! A packet of IGMP or MLD with corrected lengths and checksums: a message that is read, written and read again stays the same.

use multicast::message::{Message, build_frame, parse_frame};
use node::Frame;
use packet::checksum::{Pseudo, checksum};
use packet::ethernet::Mac;

/// Makes the headers before the message, and its checksum, good.
fn finish(data: &[u8], is_v4: bool) -> Vec<u8> {
    let mut frame = vec![0; if is_v4 { 34 } else { 54 }];
    frame.extend_from_slice(data);
    let length = data.len();
    if is_v4 {
        frame[12..15].copy_from_slice(&[8, 0, 0x45]);
        frame[16..18].copy_from_slice(&(20 + length as u16).to_be_bytes());
        frame[22..24].copy_from_slice(&[1, 2]);
        frame[26..34].copy_from_slice(&[10, 0, 0, 1, 224, 0, 0, 22]);
        let sum = checksum(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        if length >= 4 {
            frame[36..38].fill(0);
            let sum = checksum(&frame[34..]);
            frame[36..38].copy_from_slice(&sum.to_be_bytes());
        }
    } else {
        frame[12..15].copy_from_slice(&[0x86, 0xDD, 0x60]);
        frame[18..20].copy_from_slice(&(length as u16).to_be_bytes());
        frame[20..22].copy_from_slice(&[58, 1]);
        frame[22..24].copy_from_slice(&[0xFE, 0x80]);
        frame[38..40].copy_from_slice(&[0xFF, 2]);
        if length >= 4 {
            frame[56..58].fill(0);
            let address = |at: usize| core::array::from_fn(|index| frame[at + index]);
            let pseudo = Pseudo::ipv6(address(22), address(38), 58);
            let sum = pseudo.sum(length).plus(&frame[54..]).checksum();
            frame[56..58].copy_from_slice(&sum.to_be_bytes());
        }
    }
    frame
}

pub fn target(data: &[u8]) {
    let Some((&kind, data)) = data.split_first() else {
        return;
    };
    let data = &data[..data.len().min(4_000)];
    let frame = finish(data, kind & 1 == 0);
    let Some(Ok(read)) = parse_frame(&frame, 14) else {
        return;
    };
    let mut copy = Frame::new(&[]);
    build_frame(
        &read.message,
        read.source,
        Mac([2, 0, 0, 0, 0, 1]),
        &mut copy,
    );
    let again = parse_frame(&copy, 14)
        .expect("a message")
        .expect("a good one");
    // Records of unknown kinds are left out, and version 2 of IGMP has no response time of zero.
    if let (Message::Query(a), Message::Query(b)) = (&read.message, &again.message) {
        assert_eq!((a.group, &a.sources), (b.group, &b.sources));
    } else {
        assert_eq!(read, again);
    }
}
