//! A message as covert bits, and back.
//!
//! A message of up to 4096 bytes goes in chunks of 16, over and over, so that whoever joins late has it all
//! after one round. A chunk is 400 bits, the first of each byte being its highest:
//!
//! | bits | what |
//! |---|---|
//! | 32 | marker `1ACFFC1D`, by which a receiver finds the chunk, at most 3 bits of it wrong |
//! | 368 | 23 bytes, each half of which is 8 bits of the extended Hamming code: one wrong bit in 8 is corrected |
//!
//! The 23 bytes, whitened by a fixed pseudo-random sequence: CRC-16 of the whole message (2 bytes), index of the
//! chunk (1) and of the last one (1), bytes used (1), the bytes (16), CRC-16 of what came before (2).
//!
//! The sender inverts a whole chunk, marker and all, where that keeps ones and zeros in balance; a receiver
//! knows it by the marker. So the sum of all gaps stays within a few hundred times epsilon of what it would
//! be without a message, forever.

use alloc::vec::Vec;

/// Bytes of a message in a chunk.
pub const PAYLOAD: usize = 16;
/// Maximum message length, bytes.
pub const MAX_MESSAGE_LEN: usize = 256 * PAYLOAD;
/// Bits of a chunk.
pub const CHUNK: usize = 32 + 16 * BYTES;

/// Bytes of a chunk after its marker, before encoding.
const BYTES: usize = 5 + PAYLOAD + 2;
const MARKER: u32 = 0x1ACF_FC1D;
/// Maximum number of wrong bits of the marker. Random bits match once in 400,000.
const WRONG: u32 = 3;

/// The bits of a chunk, the first one highest in the first word.
type Bits = [u64; WORDS];
const WORDS: usize = CHUNK.div_ceil(64);

/// CRC-16 with the polynomial of X.25, from all ones.
fn crc(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0xFFFF, |crc, &byte| {
        (0..8).fold(crc ^ u16::from(byte) << 8, |crc, _| {
            crc << 1 ^ if crc >> 15 == 1 { 0x1021 } else { 0 }
        })
    })
}

/// The whitening sequence: x^9 + x^5 + 1 from all ones, byte by byte.
fn whitening() -> impl Iterator<Item = u8> {
    let mut state = 0x1FFu16;
    core::iter::repeat_with(move || {
        (0..8).fold(0u8, |byte, _| {
            let bit = (state >> 8 ^ state >> 4) & 1;
            state = (state << 1 | bit) & 0x1FF;
            byte << 1 | bit as u8
        })
    })
}

/// The extended Hamming code of four bits: d3 d2 d1 d0, three parities, and one over all.
fn hamming(nibble: u8) -> u8 {
    let bit = |n: u8| nibble >> n & 1;
    let (a, b, c) = (
        bit(3) ^ bit(2) ^ bit(1),
        bit(3) ^ bit(2) ^ bit(0),
        bit(3) ^ bit(1) ^ bit(0),
    );
    let seven = nibble << 3 | a << 2 | b << 1 | c;
    seven << 1 | (seven.count_ones() & 1) as u8
}

/// The nearest code word's four bits; `None` when two bits are wrong.
fn unhamming(code: u8) -> Option<u8> {
    let at_most_one = |nibble: &u8| (hamming(*nibble) ^ code).count_ones() <= 1;
    (0..16).find(at_most_one)
}

fn bit(bits: &Bits, index: usize) -> bool {
    bits[index / 64] >> (63 - index % 64) & 1 == 1
}

/// The bits of a chunk's bytes.
fn encode(bytes: &[u8; BYTES]) -> Bits {
    let mut bits = [0; WORDS];
    let mut place = 0;
    let mut push = |byte: u8| {
        bits[place / 8] |= u64::from(byte) << (56 - 8 * (place % 8));
        place += 1;
    };
    MARKER.to_be_bytes().into_iter().for_each(&mut push);
    for (byte, white) in bytes.iter().zip(whitening()) {
        push(hamming((byte ^ white) >> 4));
        push(hamming((byte ^ white) & 15));
    }
    bits
}

/// The chunk with this index of a message of 1 to [`MAX_MESSAGE_LEN`] bytes.
fn chunk(message: &[u8], index: usize) -> [u8; BYTES] {
    let last = (message.len() - 1) / PAYLOAD;
    let part = &message[index * PAYLOAD..message.len().min((index + 1) * PAYLOAD)];
    let mut bytes = [0; BYTES];
    bytes[..2].copy_from_slice(&crc(message).to_be_bytes());
    bytes[2] = index as u8;
    bytes[3] = last as u8;
    bytes[4] = part.len() as u8;
    bytes[5..5 + part.len()].copy_from_slice(part);
    let sum = crc(&bytes[..BYTES - 2]);
    bytes[BYTES - 2..].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// Gives the bits of a message, again and again.
#[derive(Clone, Debug)]
pub struct Sender {
    message: Vec<u8>,
    /// Rounds to come, this one included.
    rounds: u64,
    index: usize,
    bits: Bits,
    at: usize,
    /// Ones less zeros in all chunks before this one.
    balance: i64,
}

impl Sender {
    /// Creates a sender of a message of 1 to [`MAX_MESSAGE_LEN`] bytes that repeats it `times`
    /// times, or without end if that is 0. `None` for a message of another length.
    pub fn new(message: &[u8], times: u64) -> Option<Sender> {
        if !(1..=MAX_MESSAGE_LEN).contains(&message.len()) {
            return None;
        }
        let mut sender = Sender {
            message: message.into(),
            rounds: if times == 0 { u64::MAX } else { times },
            index: 0,
            bits: [0; WORDS],
            at: 0,
            balance: 0,
        };
        sender.load();
        Some(sender)
    }

    fn load(&mut self) {
        self.bits = encode(&chunk(&self.message, self.index));
        let ones: u32 = self.bits.iter().map(|word| word.count_ones()).sum();
        let mut more = 2 * i64::from(ones) - CHUNK as i64;
        if (more > 0) == (self.balance > 0) {
            self.bits.iter_mut().for_each(|word| *word = !*word);
            more = -more;
        }
        self.balance += more;
    }

    /// The next bit, to be [sent](Sender::sent); `None` when the message has gone out often enough.
    pub fn next(&self) -> Option<bool> {
        (self.rounds > 0).then(|| bit(&self.bits, self.at))
    }

    /// The next bit has been sent.
    pub fn sent(&mut self) {
        self.at += 1;
        if self.at < CHUNK {
            return;
        }
        self.at = 0;
        self.index += 1;
        if self.index * PAYLOAD >= self.message.len() {
            self.index = 0;
            self.rounds = self.rounds.saturating_sub(1);
        }
        self.load();
    }
}

/// What a receiver has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub chunks: u64,
    /// Chunks with a marker but more errors than could be corrected.
    pub failed: u64,
    /// Bits of good chunks that were wrong, of 400 a chunk.
    pub bit_errors: u64,
    pub messages: u64,
}

/// Takes bits, and finds chunks and messages in them.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// The last bits; the newest is the lowest of the last word.
    bits: Bits,
    taken: u64,
    found: Found,
    tag: u16,
    last: u8,
    /// The chunks of the message in hand, by index.
    have: [u64; 4],
    message: Vec<u8>,
    len: usize,
}

impl Default for Receiver {
    fn default() -> Receiver {
        Receiver {
            bits: [0; WORDS],
            taken: 0,
            found: Found::default(),
            tag: 0,
            last: 0,
            have: [0; 4],
            message: Vec::new(),
            len: 0,
        }
    }
}

/// Bits of the register that are older than a chunk.
const SPARE: usize = 64 * WORDS - CHUNK;

impl Receiver {
    /// Takes a bit; the message, if it makes one whole.
    pub fn take(&mut self, one: bool) -> Option<&[u8]> {
        let mut carry = u64::from(one);
        for word in self.bits.iter_mut().rev() {
            (*word, carry) = (*word << 1 | carry, *word >> 63);
        }
        self.taken += 1;
        // A chunk may end here: every place is looked at, so that no false start hides a true one.
        let marker = self.shifted(0) >> 32;
        let wrong = (marker as u32 ^ MARKER).count_ones();
        let inverted = wrong >= 32 - WRONG;
        if self.taken < CHUNK as u64 || !(inverted || wrong <= WRONG) {
            return None;
        }
        let mut bits: Bits = core::array::from_fn(|index| self.shifted(index));
        if inverted {
            bits.iter_mut().for_each(|word| *word = !*word);
        }
        let Some(bytes) = decode(&bits) else {
            self.found.failed += 1;
            return None;
        };
        let good = encode(&bytes);
        let errors = (0..CHUNK).filter(|&index| bit(&good, index) != bit(&bits, index));
        self.found.bit_errors += errors.count() as u64;
        self.found.chunks += 1;
        self.collect(&bytes)
    }

    /// A word of the chunk that ends with the newest bit.
    fn shifted(&self, index: usize) -> u64 {
        let next = self.bits.get(index + 1).copied().unwrap_or(0);
        if SPARE == 0 {
            return self.bits[index];
        }
        self.bits[index] << SPARE | next >> (64 - SPARE)
    }

    fn collect(&mut self, bytes: &[u8; BYTES]) -> Option<&[u8]> {
        let tag = u16::from_be_bytes([bytes[0], bytes[1]]);
        let (index, last, used) = (bytes[2], bytes[3], usize::from(bytes[4]));
        // All chunks but the last are full.
        if index > last || used == 0 || used > PAYLOAD || (index < last && used < PAYLOAD) {
            return None;
        }
        if (tag, last) != (self.tag, self.last) || self.message.is_empty() {
            (self.tag, self.last, self.have, self.len) = (tag, last, [0; 4], 0);
            self.message.clear();
            self.message.resize((usize::from(last) + 1) * PAYLOAD, 0);
        }
        let at = usize::from(index) * PAYLOAD;
        self.message[at..at + PAYLOAD].copy_from_slice(&bytes[5..5 + PAYLOAD]);
        self.have[usize::from(index / 64)] |= 1 << (index % 64);
        if index == last {
            self.len = at + used;
        }
        let count: u32 = self.have.iter().map(|word| word.count_ones()).sum();
        if count <= u32::from(last) {
            return None;
        }
        self.have = [0; 4];
        let message = &self.message[..self.len];
        if crc(message) != tag {
            return None;
        }
        self.found.messages += 1;
        Some(message)
    }

    /// What has been found so far.
    pub fn found(&self) -> Found {
        self.found
    }
}

/// The bytes of a chunk, if the errors could be corrected.
fn decode(bits: &Bits) -> Option<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    let byte = |place: usize| (bits[place / 8] >> (56 - 8 * (place % 8))) as u8;
    for ((index, place), white) in bytes.iter_mut().enumerate().zip(whitening()) {
        let high = unhamming(byte(4 + 2 * index))?;
        let low = unhamming(byte(5 + 2 * index))?;
        *place = (high << 4 | low) ^ white;
    }
    let sum = u16::from_be_bytes([bytes[BYTES - 2], bytes[BYTES - 1]]);
    (crc(&bytes[..BYTES - 2]) == sum).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use node::random::Random;
    use std::vec;

    /// The bits of some rounds.
    fn bits(message: &[u8], times: u64) -> Vec<bool> {
        let mut sender = Sender::new(message, times).unwrap();
        let mut bits = Vec::new();
        while let Some(bit) = sender.next() {
            bits.push(bit);
            sender.sent();
        }
        bits
    }

    fn received(bits: &[bool]) -> (Vec<Vec<u8>>, Found) {
        let mut receiver = Receiver::default();
        let messages = bits
            .iter()
            .filter_map(|&bit| receiver.take(bit).map(Vec::from));
        (messages.collect(), receiver.found())
    }

    #[test]
    fn the_checksum_is_the_one_of_x25_from_all_ones() {
        assert_eq!(crc(b"123456789"), 0x29B1);
    }

    #[test]
    fn messages_of_every_length_come_back() {
        for len in [1, 15, 16, 17, 100, MAX_MESSAGE_LEN] {
            let message: Vec<u8> = (0..len).map(|n| (n * 7) as u8).collect();
            let (messages, found) = received(&bits(&message, 2));
            assert_eq!(messages, [message.clone(), message], "{len}");
            assert_eq!((found.failed, found.bit_errors), (0, 0));
        }
        assert!(Sender::new(&[], 1).is_none());
        assert!(Sender::new(&vec![0; MAX_MESSAGE_LEN + 1], 1).is_none());
    }

    #[test]
    fn who_joins_late_has_the_message_after_one_round() {
        let message = b"a message of three chunks, and not a byte more";
        let all = bits(message, 3);
        let round = all.len() / 3;
        for late in [1, 31, 399, 401, round - 1] {
            let heard = &all[late..late + round + CHUNK];
            assert_eq!(received(heard).0, [message], "{late} bits late");
        }
    }

    #[test]
    fn single_wrong_bits_are_mended_and_counted() {
        let message = b"hidden between frames";
        let mut all = bits(message, 40);
        let mut random = Random::new(3);
        let mut wrong = 0;
        for bit in &mut all {
            if random.chance(0.01) {
                *bit = !*bit;
                wrong += 1;
            }
        }
        let (messages, found) = received(&all);
        assert!(messages.len() >= 20 && messages.iter().all(|got| got == message));
        // Those in chunks that could not be corrected are not known.
        assert!(
            found.bit_errors > wrong / 2 && found.bit_errors <= wrong,
            "{found:?} of {wrong}"
        );
        assert!(found.chunks + found.failed >= 75, "{found:?}");
    }

    #[test]
    fn a_lost_bit_costs_a_chunk_and_no_more() {
        let message = b"0123456789abcdefXYZ";
        let mut all = bits(message, 4);
        all.remove(500);
        let (messages, found) = received(&all);
        assert_eq!((messages.len(), found.chunks), (3, 7));
    }

    #[test]
    fn another_message_is_not_mixed_with_the_one_before() {
        let (first, second) = (
            &b"first message, of two chunks"[..],
            &b"second message, of two chunks"[..],
        );
        let mut all = bits(first, 1)[..CHUNK].to_vec();
        all.extend(bits(second, 1));
        assert_eq!(received(&all).0, [second]);
    }

    #[test]
    fn ones_and_zeros_stay_in_balance_whatever_is_said() {
        for message in [vec![0; 64], vec![0xFF; 64], b"text".to_vec()] {
            let mut balance = 0i64;
            for bit in bits(&message, 1_000) {
                balance += if bit { 1 } else { -1 };
                assert!(balance.abs() < 2 * CHUNK as i64);
            }
        }
    }

    #[test]
    fn random_bits_are_no_message() {
        let mut random = Random::new(1);
        let noise: Vec<bool> = (0..1_000_000).map(|_| random.chance(0.5)).collect();
        let (messages, found) = received(&noise);
        assert_eq!((messages.len(), found.chunks), (0, 0));
    }
}
