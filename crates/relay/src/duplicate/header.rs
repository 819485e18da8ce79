//! What is put behind a packet's IP header, so that the far side knows its copies.

use crate::encapsulation::Offsets;
use node::Frame;

/// What such packets begin with behind the IP header.
pub const MARK: [u8; 2] = *b"WD";
/// The version that is written, and the only one that is read.
pub const VERSION: u8 = 1;
/// Bytes of the header.
pub const HEADER: usize = 16;

/// Which packet it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    /// Who sent it.
    pub stream: u32,
    /// Its place among what the sender has sent, modulo 2^32.
    pub sequence: u32,
}

/// Why a packet with the mark cannot be restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The packet ends before its header does.
    Truncated,
    /// Not version 1, or bits that it leaves 0.
    Version,
    /// Bytes were changed on the way.
    Check,
}

impl Fault {
    /// As a reason for a drop.
    pub const fn reason(self) -> &'static str {
        match self {
            Fault::Truncated => "header of a copy cut off",
            Fault::Version => "copy of another version",
            Fault::Check => "damaged copy",
        }
    }
}

/// Whether the packet at `offsets` is a numbered one.
pub fn is_marked(frame: &[u8], offsets: &Offsets) -> bool {
    let body = frame.get(offsets.body()..offsets.end());
    body.is_some_and(|body| body.starts_with(&MARK))
}

/// Puts the header behind the IP header of the packet at `offsets`, whose protocol becomes `protocol`.
pub fn number(frame: &mut Frame, offsets: &Offsets, protocol: u8, number: Number) {
    let mut header = [0; HEADER];
    header[..2].copy_from_slice(&MARK);
    header[2] = VERSION << 4;
    header[3] = offsets.protocol();
    header[8..12].copy_from_slice(&number.stream.to_be_bytes());
    header[12..].copy_from_slice(&number.sequence.to_be_bytes());
    let check = check(&header, &frame[offsets.body()..offsets.end()]);
    header[4..8].copy_from_slice(&check.to_be_bytes());
    frame
        .insert(offsets.body(), HEADER)
        .copy_from_slice(&header);
    offsets.repair(frame, protocol, offsets.end() + HEADER);
}

/// Takes the header off again, and tells what it said.
///
/// # Errors
/// When there is none that makes sense; the frame is as it was then.
pub fn restore(frame: &mut Frame, offsets: &Offsets) -> Result<Number, Fault> {
    let body = frame
        .get(offsets.body()..offsets.end())
        .ok_or(Fault::Truncated)?;
    let (header, rest) = body.split_first_chunk::<HEADER>().ok_or(Fault::Truncated)?;
    if header[2] != VERSION << 4 {
        return Err(Fault::Version);
    }
    let word = |at: usize| u32::from_be_bytes(core::array::from_fn(|index| header[at + index]));
    if word(4) != check(header, rest) {
        return Err(Fault::Check);
    }
    let number = Number {
        stream: word(8),
        sequence: word(12),
    };
    let protocol = header[3];
    frame.remove(offsets.body(), HEADER);
    offsets.repair(frame, protocol, offsets.end() - HEADER);
    Ok(number)
}

/// Ethernet's CRC-32 of the header, without the mark and the check itself, and of what is behind it.
fn check(header: &[u8; HEADER], rest: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&header[2..4]);
    sum.update(&header[8..]);
    sum.update(rest);
    sum.finalize()
}
