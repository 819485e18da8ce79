//! Payloads of packets.

use node::random::Random;

/// Text as a web service gives it, from a seed.
pub fn json(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut draw = || random.bits();
    let mut text = String::from("[");
    while text.len() < len {
        text += &format!(
            "{{\"id\":{},\"name\":\"user-{}\",\"active\":{},\"score\":{}.{},\"tags\":[\"alpha\",\"beta\"]}},",
            draw() % 1_000_000,
            draw() % 10_000,
            draw().is_multiple_of(2),
            draw() % 100,
            draw() % 1000,
        );
    }
    text.truncate(len);
    text.into_bytes()
}

/// Bytes that nothing makes shorter, from a seed.
pub fn random(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    let next = move || random.bits() as u8;
    std::iter::repeat_with(next).take(len).collect()
}
