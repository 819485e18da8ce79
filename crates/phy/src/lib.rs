//! 10GBASE-R in software: everything of a 10 Gb/s Ethernet port above the serialiser, both ways,
//! streaming.
//!
//! No I/O, no clock: frames go in and bits come out, and the other way round. Clauses and figures are
//! those of IEEE Std 802.3; paper 002 is SoNIC.
//!
//! | module | what is in it |
//! |---|---|
//! | [`block`] | [`Block`]: a header and 64 bits of payload; its [`Kind`](block::Kind) and [`Class`](block::Class) |
//! | [`xgmii`] | the eight characters that a block stands for; control codes, ordered sets |
//! | [`crc`] | the frame check sequence |
//! | [`gap`] | where the next frame starts: the deficit idle count |
//! | [`encode`] | [`Encoder`]: frames, gaps and ordered sets to blocks |
//! | [`blocks`] | [`Blocks`]: many blocks, headers apart from payloads; [`Sink`]: what takes blocks |
//! | [`scramble`] | [`Scrambler`], [`Descrambler`] |
//! | [`line`](mod@line) | [`Line`]: blocks to the words of the line, scrambled and packed |
//! | [`lock`] | block lock, and the monitor of the bit error rate |
//! | [`decode`] | [`Decoder`]: blocks to frames and events, by the receive state machine |
//! | [`receive`] | [`Receiver`]: the bits of the line to frames and events |
//! | [`item`] | [`Item`]: what decoder and receiver tell |
//! | [`pattern`] | the test pattern PRBS31, and its checker |
//! | [`file`](mod@file) | a stream as a file with an index, idles counted |
//! | [`stamp`] | [`Stamp`]: places along the line, in bits of 97 ps |
//!
//! A stream of bits is a slice of words: bit `i` is bit `i % 64` of word `i / 64`. Lane 0 is the
//! lowest byte of a word, and bit 0 goes first.
//!
//! # Both ways
//! The number of idles before each frame is a parameter of the frame, and is measured on receipt:
//!
//! ```
//! use phy::{Blocks, Encoder, Item, Line, Receiver, Start, Verdict};
//!
//! let (mut encoder, mut blocks) = (Encoder::new(), Blocks::new());
//! let frame = [0xA5; 1514];
//! encoder.idle_until(phy::Stamp::of_block(200), &mut blocks); // a receiver needs some to lock
//! let first = encoder.frame(&frame, Start::After(12), &mut blocks)?;
//! let second = encoder.frame(&frame, Start::After(170), &mut blocks)?; // 9 Gb/s
//! assert_eq!(second.idles, 170);
//! assert_eq!(second.stamp - first.stamp, 212 * 66); // bits; 1356.8 ns
//!
//! let (mut line, mut words) = (Line::default(), Vec::new());
//! line.push(&blocks, &mut words);
//! let (rest, bits) = line.rest();
//!
//! let (mut receiver, mut seen) = (Receiver::default(), Vec::new());
//! let mut each = |item: Item<'_>| {
//!     if let Item::Frame(frame) = item {
//!         assert_eq!(frame.verdict, Verdict::Good);
//!         seen.push((frame.stamp, frame.idles, frame.bytes.len()));
//!     }
//! };
//! receiver.push(&words, &mut each);
//! receiver.push_bits(rest, bits, &mut each);
//! receiver.finish(&mut each);
//! assert_eq!(seen, [(first.stamp, None, 1514), (second.stamp, Some(170), 1514)]);
//! # Ok::<(), phy::encode::BadFrame>(())
//! ```
//!
//! # By blocks
//! A link that works on blocks takes an encoder's [`Blocks`], has a [`Scrambler`] work on their
//! payloads in place, does what it does, and goes back by way of a [`Descrambler`] and a
//! [`Decoder`]. The scrambler's state is the last scrambled word, and the decoder is told each block's
//! place: so runs of idles need not be made.
//!
//! ```
//! use phy::{Blocks, Decoder, Descrambler, Encoder, Item, Scrambler, Stamp, Start, Verdict};
//!
//! let (mut encoder, mut blocks) = (Encoder::new(), Blocks::new());
//! let sent = encoder.frame(&[1; 60], Start::At(Stamp::of_block(4)), &mut blocks)?;
//!
//! Scrambler::new(0x0123_4567_89AB_CDEF).scramble(blocks.payloads_mut());
//! blocks.payloads_mut()[5] ^= 1 << 17; // an error on the line, in the frame
//! Descrambler::new(0x0123_4567_89AB_CDEF).descramble(blocks.payloads_mut());
//!
//! let (mut decoder, mut verdict) = (Decoder::default(), None);
//! let mut each = |item: Item<'_>| {
//!     if let Item::Frame(frame) = item {
//!         assert_eq!(frame.stamp, sent.stamp);
//!         verdict = Some(frame.verdict);
//!     }
//! };
//! for (place, block) in (0..).zip(blocks.iter()) {
//!     decoder.block(Stamp::of_block(place), Some(block), &mut each);
//! }
//! decoder.finish(&mut each);
//! assert_eq!(verdict, Some(Verdict::BadFcs));
//! # Ok::<(), phy::encode::BadFrame>(())
//! ```
#![no_std]
#![deny(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod block;
pub mod blocks;
pub mod crc;
pub mod decode;
pub mod encode;
mod fault;
pub mod file;
pub mod gap;
pub mod item;
mod kernel;
pub mod line;
pub mod lock;
pub mod pattern;
pub mod receive;
pub mod scramble;
#[allow(unsafe_code)] // vectors, where the instructions for them have been found
mod simd;
pub mod stamp;
pub mod xgmii;

pub use block::Block;
pub use blocks::{Blocks, Sink};
pub use decode::Decoder;
pub use encode::{Encoder, Sent, Start};
pub use item::{Event, Fault, Item, Received, Verdict};
pub use line::Line;
pub use receive::Receiver;
pub use scramble::{Descrambler, Scrambler};
pub use stamp::Stamp;

/// Minimum frame length without FCS, bytes; shorter frames are padded.
pub const MIN_FRAME_LEN: usize = 60;
/// Maximum frame length without FCS, bytes.
pub const MAX_FRAME_LEN: usize = 16_000;
