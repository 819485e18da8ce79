//! One packet as one text line (FORMATS section 1; EtherPIPE's shell format, paper 000 section 4.1).
//!
//! ```text
//! [TIME ][HASH ]DSTMAC SRCMAC TYPE XX XX XX ...\n
//! ```
//!
//! A field says what it is by its width in hexadecimal digits: 20 a date, 16 the timestamp word, 8 the
//! five-tuple hash, 12 a MAC address, 4 the EtherType, 2 a payload byte. Written in upper case with
//! one space between fields; read in any case, with any run of spaces and tabs between fields and
//! round them, with `\n`, `\r\n` or nothing at the end. Read, too, is what the papers' own `sed` commands
//! for VLAN tags leave (paper 001, commands 7 and 8): an EtherType of four digits among the payload
//! bytes, and one written as two bytes.
//!
//! ```
//! use packet::{Stamp, line};
//!
//! let (mut frame, mut text) = (Vec::new(), Vec::new());
//! let head = line::decode(b"00000000075BCD15 001122334455 66778899aabb 0800 45 00", &mut frame)?;
//! let head = head.expect("the line is neither empty nor a comment");
//! assert_eq!((head.stamp, head.hash, frame.len()), (Some(Stamp::Word(123_456_789)), None, 16));
//!
//! line::encode(&head.packet(&frame), line::Form::default(), &mut text)?;
//! assert_eq!(text, b"00000000075BCD15 001122334455 66778899AABB 0800 45 00\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod codec;
mod error;
mod read;
#[allow(unsafe_code)]
#[cfg_attr(not(target_arch = "x86_64"), path = "line/no_simd.rs")]
mod simd;
mod split;
mod write;

pub use codec::Codec;
pub use error::{LineError, Reason};
pub use split::{Lines, Step};

use crate::{BadLength, Packet, Stamp};
use alloc::vec::Vec;

/// Maximum length of a line that is read, bytes without its end. The longest packet written in full
/// takes 786,446; the rest is for runs of spaces.
pub const MAX_LINE_LEN: usize = 1 << 20;

/// Optional fields that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The date or the timestamp word, whichever the packet has.
    pub time: bool,
    /// The five-tuple hash.
    pub hash: bool,
}

impl Default for Form {
    /// The timestamp, no hash.
    fn default() -> Form {
        Form {
            time: true,
            hash: false,
        }
    }
}

impl Form {
    /// How long the line of a frame of `frame` bytes (14 to 262,144) with a word is in this form, with its end. A date
    /// takes 4 characters more.
    pub const fn length(self, frame: usize) -> usize {
        // Without optional fields: 12 + 12 + 4 digits and three ends for the 14 bytes of header.
        let header = 31 + 17 * self.time as usize + 9 * self.hash as usize;
        header + 3 * (frame - crate::MIN_FRAME_LEN)
    }
}

/// What stood before the frame on a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The date or the timestamp word, if there was one.
    pub stamp: Option<Stamp>,
    /// The five-tuple hash, if there was one.
    pub hash: Option<u32>,
}

impl Head {
    /// The packet with this head and these bytes.
    pub fn packet(self, bytes: &[u8]) -> Packet<'_> {
        Packet {
            stamp: self.stamp,
            hash: self.hash,
            bytes,
        }
    }
}

/// Appends the packet's line, ended by `\n`, to `out`.
///
/// A missing date or word is written as the word 0, a missing hash is computed. Nothing is allocated when
/// `out` has room for [`Form::length`] and 70 bytes more.
///
/// # Errors
/// When the frame is not 14 to 262,144 bytes long; `out` is as it was.
#[inline]
pub fn encode(packet: &Packet<'_>, form: Form, out: &mut Vec<u8>) -> Result<(), BadLength> {
    Codec::best().encode(packet, form, out)
}

/// Reads one line into `frame`, whose former content is lost.
///
/// `line` may end with `\n`, `\r\n` or nothing. `None` means that there is no packet on it: it is
/// empty, or a comment that begins with `#`.
///
/// # Errors
/// The first place on the line that is wrong, with the fix; `frame` then holds nothing of use.
#[inline]
pub fn decode(line: &[u8], frame: &mut Vec<u8>) -> Result<Option<Head>, LineError> {
    Codec::best().decode(line, frame)
}

#[cfg(test)]
mod tests;
