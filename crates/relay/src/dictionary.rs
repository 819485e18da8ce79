//! Dictionaries for zstd, trained on packets.

use crate::codec::MAX_DICTIONARY_LEN;
use crate::encapsulation::{CLEAR, locate};
use alloc::vec;
use alloc::vec::Vec;

/// Why samples make no dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrainError {
    /// The size asked for is out of its range.
    #[error("a dictionary has 256 bytes to 1 MiB")]
    Size,
    /// zstd gets no memory.
    #[error(
        "there is too little memory to train on {packets} packets with {bytes} bytes: give fewer of them, or raise the limit (ulimit -v)"
    )]
    Memory { packets: usize, bytes: usize },
    /// There are too few samples, or they have nothing in common.
    #[error(
        "{packets} packets with {bytes} bytes are too few or have nothing in common: give more of them, or a smaller size"
    )]
    TooFew { packets: usize, bytes: usize },
    /// zstd says something else.
    #[error(
        "zstd makes no dictionary of {packets} packets with {bytes} bytes ({reason}): there is too little memory, or they are too few or have nothing in common"
    )]
    Zstd {
        packets: usize,
        bytes: usize,
        reason: &'static str,
    },
}

/// Maximum size of all samples, bytes. More samples do not improve a dictionary, and training takes
/// longer.
pub const MAX_SAMPLE_BYTES: usize = 64 << 20;
/// Minimum length of a sample, bytes; shorter ones do not help.
const MIN_SAMPLE_LEN: usize = 16;

/// Packets to train on: of each what would be compressed.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    bytes: Vec<u8>,
    sizes: Vec<usize>,
}

impl Samples {
    /// Adds the packet in an Ethernet frame; `false` if there is none that would be compressed, or there are samples enough.
    pub fn add(&mut self, frame: &[u8]) -> bool {
        let Ok(place) = locate(frame) else {
            return false;
        };
        let bytes = place.bytes(frame).get(CLEAR..).unwrap_or_default();
        if bytes.len() < MIN_SAMPLE_LEN || self.bytes.len() + bytes.len() > MAX_SAMPLE_BYTES {
            return false;
        }
        self.bytes.extend_from_slice(bytes);
        self.sizes.push(bytes.len());
        true
    }

    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Bytes of them all.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.bytes[..];
        self.sizes.iter().map(move |&size| {
            let (sample, behind) = rest.split_at(size);
            rest = behind;
            sample
        })
    }

    /// A dictionary of at most `longest` bytes: what the samples have in common.
    ///
    /// # Errors
    /// When `longest` is not 256 bytes to 1 MiB, or the samples are too few or have nothing in common.
    pub fn train(&self, longest: usize) -> Result<Vec<u8>, TrainError> {
        if !(256..=MAX_DICTIONARY_LEN).contains(&longest) {
            return Err(TrainError::Size);
        }
        let mut dictionary = vec![0; longest];
        let trained = zstd_safe::train_from_buffer(&mut dictionary[..], &self.bytes, &self.sizes);
        match trained {
            Ok(len) => {
                dictionary.truncate(len);
                Ok(dictionary)
            }
            Err(code) => Err(self.failure(code)),
        }
    }

    /// Why training gave nothing. zstd's library keeps the numbers of its errors from one release to the next
    /// (`zstd_errors.h`); the crate does not name them.
    fn failure(&self, code: usize) -> TrainError {
        const CREATION_FAILED: usize = 34;
        const OUT_OF_MEMORY: usize = 64;
        const SOURCE_SIZE_WRONG: usize = 72;
        let (packets, bytes) = (self.len(), self.bytes());
        match code.wrapping_neg() {
            OUT_OF_MEMORY => TrainError::Memory { packets, bytes },
            CREATION_FAILED | SOURCE_SIZE_WRONG => TrainError::TooFew { packets, bytes },
            // No trial of its parameters gave anything: it does not tell why.
            _ => TrainError::Zstd {
                packets,
                bytes,
                reason: zstd_safe::get_error_name(code),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_packets_have_in_common_makes_a_dictionary_and_too_few_make_none() {
        let mut samples = Samples::default();
        assert!(samples.train(4_096).is_err());
        for n in 0..2_000u32 {
            let mut frame = vec![0; 42];
            let text = alloc::format!(
                "POST /orders/{} HTTP/1.1\r\nHost: shop.example\r\nContent-Type: application/json\r\n\r\n{{\"order\":{},\"state\":\"new\"}}",
                n * 7,
                n * 31,
            );
            frame.extend_from_slice(text.as_bytes());
            let total = (frame.len() - 14) as u16;
            frame[12..18].copy_from_slice(&[8, 0, 0x45, 0, (total >> 8) as u8, total as u8]);
            frame[22..24].copy_from_slice(&[64, 17]);
            assert!(samples.add(&frame));
        }
        assert!(!samples.add(&[0; 60]));
        assert_eq!(samples.len(), 2_000);
        let dictionary = samples.train(4_096).unwrap();
        assert!((256..=4_096).contains(&dictionary.len()));
        let mut codec = crate::codec::Codec::new(1, &dictionary).unwrap();
        let text = b"POST /orders/4711 HTTP/1.1\r\nHost: shop.example\r\nContent-Type: application/json\r\n\r\n{\"order\":99,\"state\":\"new\"}";
        let mut len = |algorithm| {
            codec.compress(algorithm, text, 1_000).unwrap();
            codec.compressed().len()
        };
        let (with, without) = (
            len(crate::codec::Algorithm::ZstdDictionary),
            len(crate::codec::Algorithm::Zstd),
        );
        assert!(with * 2 < without, "{with} {without}");
        for wrong in [0, 255, MAX_DICTIONARY_LEN + 1] {
            assert!(samples.train(wrong).is_err());
        }
    }
}
