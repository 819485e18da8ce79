//! PTP: what is read of a message writes back the same, and a correction changes nothing but itself.

use packet::ptp::{Message, correct, find};

pub fn target(data: &[u8]) {
    if let Ok(message) = Message::parse(data) {
        let mut written = Vec::new();
        message.build(&mut written);
        assert_eq!(Message::parse(&written), Ok(message));
    }
    let Some(place) = find(data) else { return };
    let mut frame = data.to_vec();
    correct(&mut frame, place, 1 << 20);
    assert_eq!(find(&frame), Some(place));
    if let (Ok(before), Ok(after)) = (
        Message::parse(&data[place.0..]),
        Message::parse(&frame[place.0..]),
    ) {
        let correction = before.correction.saturating_add(1 << 20);
        assert_eq!(
            after,
            Message {
                correction,
                ..before
            }
        );
    }
}
