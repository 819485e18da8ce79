//! Encapsulated packets, forged behind a good IP header: the input is what is behind that. It is restored or refused, and never longer than
//! it announces.

use node::Frame;
use relay::codec::Codec;
use relay::encapsulation::{MARK, PROTOCOL, locate, restore};

/// What is behind the mark, in an IPv4 packet.
pub fn target(data: &[u8]) {
    let data = &data[..data.len().min(packet::MAX_WIRE_FRAME_LEN - 36)];
    let mut bytes = vec![0; 34];
    let total = (22 + data.len()) as u16;
    bytes[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
    bytes[16..18].copy_from_slice(&total.to_be_bytes());
    bytes[22..24].copy_from_slice(&[64, PROTOCOL]);
    bytes.extend(MARK);
    bytes.extend(data);
    let place = locate(&bytes).expect("a good header");
    let mut codec = Codec::new(1, b"a dictionary that is any bytes").expect("a good dictionary");
    let mut frame = Frame::new(&bytes);
    if restore(&mut frame, &place, &mut codec).is_ok() {
        let announced = usize::from(u16::from_be_bytes([data[2], data[3]]));
        assert_eq!(frame.len(), 34 + announced);
        assert!(frame.len() > bytes.len() && frame.len() <= packet::MAX_FRAME_LEN);
        assert_eq!(frame[23], data[1]);
    }
}
