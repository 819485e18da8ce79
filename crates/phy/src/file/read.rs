//! Reading.

use super::index::{ENTRY, Entry, TRAILER};
use super::segment::{Runs, Segment};
use super::{HEADER, Header, MAGIC, MAX_SEGMENT_LEN, SEGMENT, VERSION, kind, u32_at, u64_at};
use crate::crc;
use alloc::vec::Vec;

/// Why a file cannot be read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// It does not begin as these files do.
    #[error("byte 0: no file of a bit stream: it begins with other bytes than {MAGIC:02X?}")]
    Magic,
    /// It is of a later version.
    #[error(
        "byte 8: the file is of version {0}; this reader knows up to {VERSION}; use a newer one"
    )]
    Version(u32),
    /// Its header makes no sense.
    #[error("byte 12: a header of {0} bytes; it has {HEADER} or more, and fewer than 4096")]
    Length(u32),
    /// Its line has no bits.
    #[error("byte 16: a line of 0 bits a second")]
    Rate,
    /// Something else than a segment stands where one should.
    #[error("byte {0}: no segment begins here; what stands before was read")]
    Segment(u64),
    /// A segment of more bytes than any has.
    #[error("byte {0}: a segment of {1} bytes; the longest has {MAX_SEGMENT_LEN}")]
    TooLong(u64, u32),
    /// The file ends within a segment.
    #[error("byte {0}: the file ends in the midst of a segment; what stands before was read")]
    Truncated(u64),
}

/// What comes next in a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// The input does not have the whole of what comes next; at the end of the file, nothing does.
    More,
    /// The file's header: always first, and once.
    Header {
        /// Bytes of input that it was.
        used: usize,
        /// What it says.
        header: Header,
    },
    /// A part of the stream.
    Segment {
        /// Bytes of input that it was.
        used: usize,
        /// The part. It begins where the one before ended, or behind that where the file lacks some.
        segment: Segment<'a>,
    },
    /// A part of the index.
    Index {
        /// Bytes of input that it was.
        used: usize,
        /// Where in the file the part before it is; zero for none.
        previous: u64,
        /// The segments since the part before it, in order.
        entries: Vec<Entry>,
    },
    /// A segment that is not what was written. It is to be passed over.
    Damaged {
        /// Bytes of input that it was.
        used: usize,
        /// The byte of the file at which it begins.
        offset: u64,
        reason: &'static str,
    },
    /// The end of a file that was finished. Whatever follows is not looked at.
    End {
        /// Bytes of input that it was.
        used: usize,
    },
}

impl Step<'_> {
    /// Bytes of input that it was; `None` if there have to be more.
    pub fn used(&self) -> Option<usize> {
        match *self {
            Step::More => None,
            Step::Header { used, .. }
            | Step::Segment { used, .. }
            | Step::Index { used, .. }
            | Step::Damaged { used, .. }
            | Step::End { used } => Some(used),
        }
    }
}

/// Reads a file, a segment at a time. It needs a buffer of at most a segment, 1 MiB and 40 bytes.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    offset: u64,
    /// The stream's bit behind the last segment.
    position: u64,
    begun: bool,
    ended: bool,
}

impl Reader {
    /// A reader that goes on at a segment, as an [`Entry`] tells of it.
    pub fn at(offset: u64) -> Reader {
        Reader {
            offset,
            begun: true,
            ..Reader::default()
        }
    }

    /// Bytes read so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// What `input` begins with, which is what follows the bytes that earlier steps used. `at_end`: the
    /// file has no more than that.
    ///
    /// # Errors
    /// When nothing more can be read.
    pub fn next<'a>(&mut self, input: &'a [u8], at_end: bool) -> Result<Step<'a>, FileError> {
        if input.is_empty() || self.ended {
            return Ok(Step::More);
        }
        let step = match self.begun {
            false => self.header(input)?,
            true => self.segment(input)?,
        };
        match step.used() {
            None if at_end => Err(FileError::Truncated(self.offset)),
            used => {
                self.offset += used.unwrap_or(0) as u64;
                Ok(step)
            }
        }
    }

    fn header(&mut self, input: &[u8]) -> Result<Step<'static>, FileError> {
        let seen = input.len().min(MAGIC.len());
        if input[..seen] != MAGIC[..seen] {
            return Err(FileError::Magic);
        }
        if input.len() < 16 {
            return Ok(Step::More);
        }
        let (version, length) = (u32_at(input, 8), u32_at(input, 12));
        if version > VERSION || version == 0 {
            return Err(FileError::Version(version));
        }
        if !(HEADER..4_096).contains(&(length as usize)) {
            return Err(FileError::Length(length));
        }
        if input.len() < length as usize {
            return Ok(Step::More);
        }
        let header = Header {
            rate: u64_at(input, 16),
            start_ps: i128::from(u64_at(input, 24)) | i128::from(u64_at(input, 32)) << 64,
            epoch_ns: u64_at(input, 40),
        };
        if header.rate == 0 {
            return Err(FileError::Rate);
        }
        self.begun = true;
        let used = length as usize;
        Ok(Step::Header { used, header })
    }

    fn segment<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>, FileError> {
        // The trailer, which is shorter than a segment's header: nothing follows it.
        if input.len() >= TRAILER && super::last_index(&input[..TRAILER]).is_some() {
            self.ended = true;
            return Ok(Step::End { used: TRAILER });
        }
        let Some((kind, _)) = input.split_first_chunk::<4>() else {
            return Ok(Step::More);
        };
        let known = [kind::BLOCKS, kind::BITS, kind::INDEX].contains(kind);
        if input.len() < TRAILER {
            return Ok(Step::More);
        }
        if !known {
            return Err(FileError::Segment(self.offset));
        }
        let length = u32_at(input, 4);
        if length as usize > MAX_SEGMENT_LEN {
            return Err(FileError::TooLong(self.offset, length));
        }
        let used = SEGMENT + length as usize;
        let Some(whole) = input.get(..used) else {
            return Ok(Step::More);
        };
        let offset = self.offset;
        let damaged = |reason| Step::Damaged {
            used,
            offset,
            reason,
        };
        if crc::fcs(&whole[12..]) != u32_at(whole, 8) {
            return Ok(damaged("its check sum does not fit"));
        }
        let content = &whole[SEGMENT..];
        if *kind == kind::INDEX {
            if !content.len().is_multiple_of(ENTRY) {
                return Ok(damaged("an index of broken entries"));
            }
            return Ok(Step::Index {
                used,
                previous: u64_at(whole, 16),
                entries: Entry::all(content).collect(),
            });
        }
        match stream(*kind, whole, content) {
            Err(reason) => Ok(damaged(reason)),
            Ok(segment) if segment.first() < self.position => {
                Ok(damaged("it begins before the segment before it ends"))
            }
            Ok(segment) => {
                self.position = segment.first() + segment.bits();
                Ok(Step::Segment { used, segment })
            }
        }
    }
}

/// A segment of the stream whose check sum fits.
fn stream<'a>(kind: [u8; 4], whole: &[u8], content: &'a [u8]) -> Result<Segment<'a>, &'static str> {
    let starts = u32_at(whole, 12);
    let (first, bits, state) = (u64_at(whole, 16), u64_at(whole, 24), u64_at(whole, 32));
    if first.checked_add(bits).is_none() {
        return Err("it ends beyond what can be counted");
    }
    if bits == 0 {
        return Err("it has no bits");
    }
    if kind == kind::BITS {
        return match bits.div_ceil(64).checked_mul(8) == Some(content.len() as u64) {
            true => Ok(Segment::Bits {
                first,
                bits,
                content,
            }),
            false => Err("it has more or fewer bits than it says"),
        };
    }
    if state > super::STATE {
        return Err("a scrambler has 58 bits of state");
    }
    match Runs::new(content).check()? {
        (counted, begun) if (counted, begun) == (bits, starts) => Ok(Segment::Blocks {
            first,
            bits,
            state,
            starts,
            content,
        }),
        _ => Err("it has more or fewer blocks or frames than it says"),
    }
}
