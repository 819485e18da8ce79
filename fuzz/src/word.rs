//! The timestamp word: what is read writes back, up to bits that mean nothing.

use packet::Departure;

pub fn target(data: &[u8]) {
    let Some(word) = data.first_chunk().map(|bytes| u64::from_be_bytes(*bytes)) else {
        return;
    };
    if let Ok(departure) = Departure::from_word(word) {
        assert_eq!(Departure::from_word(departure.to_word()), Ok(departure));
    }
}
