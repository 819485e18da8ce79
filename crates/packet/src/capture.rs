//! Capture files: pcap and pcapng, read and written without I/O (FORMATS section 6).
//!
//! [`Reader`] takes whatever part of a file the caller has in its buffer and gives one block at a
//! time, borrowed from that buffer. [`PcapWriter`] and [`PcapngWriter`] append to a `Vec`.
//! Stamps are picoseconds since 1970 on both sides; a file's own resolution is a property of its
//! [`Interface`]s.
//!
//! ```
//! use packet::capture::{Block, Interface, PcapngWriter, Reader, Step};
//!
//! let (mut file, mut writer) = (Vec::new(), PcapngWriter::default());
//! writer.header("an example", &mut file);
//! let eth0 = writer.interface(&Interface { name: "eth0".into(), ..Interface::default() }, &mut file);
//! writer.packet(eth0, 1_700_000_000_123_456_789_000, &[0; 60], &mut file);
//!
//! let (mut reader, mut rest) = (Reader::default(), &file[..]);
//! while let Step::Block { used, block } = reader.next(rest, true)? {
//!     if let Block::Packet { at_ps, bytes, .. } = block {
//!         assert_eq!((at_ps, bytes.len()), (Some(1_700_000_000_123_456_789_000), 60));
//!     }
//!     rest = &rest[used..];
//! }
//! # Ok::<(), packet::capture::CaptureError>(())
//! ```

mod options;
mod pcap;
mod pcapng;
mod stamp;
mod write;

pub use pcap::PcapWriter;
pub use stamp::Resolution;
pub use write::PcapngWriter;

use alloc::boxed::Box;
use alloc::string::String;

/// The longest block or packet that a [`Reader`] accepts, in bytes; blocks that it only skips may
/// be longer. A caller's buffer never has to grow beyond this.
pub const LONGEST_BLOCK: usize = 16 << 20;
/// The most interfaces that one section may describe.
pub const MOST_INTERFACES: usize = 65_536;
/// The link type of Ethernet frames.
pub const ETHERNET: u16 = 1;

/// Where packets were captured, and what their stamps are worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The kind of frames: a LINKTYPE number, [`ETHERNET`] by default.
    pub link_type: u16,
    /// The most bytes of a packet that the file holds; zero for no limit.
    pub snap_len: u32,
    /// The unit of the stamps, nanoseconds by default.
    pub resolution: Resolution,
    /// What is added to every stamp, in seconds (`if_tsoffset`). With picoseconds a file reaches
    /// 213 days from here.
    pub offset_s: i64,
    /// The name, or empty.
    pub name: String,
    /// What it is in words, or empty.
    pub description: String,
    /// Bits a second, or zero if not known.
    pub speed: u64,
    /// Its MAC address.
    pub mac: Option<[u8; 6]>,
    /// The bytes of FCS behind each frame in the file. The reader cuts them off.
    pub fcs_len: u8,
}

impl Default for Interface {
    fn default() -> Interface {
        Interface {
            link_type: ETHERNET,
            snap_len: 0,
            resolution: Resolution::NANO,
            offset_s: 0,
            name: String::new(),
            description: String::new(),
            speed: 0,
            mac: None,
            fcs_len: 0,
        }
    }
}

/// What a capture says about an interface at its end. Times are picoseconds since 1970, as the
/// interface's resolution has them; dumpcap 4.0 writes microseconds whatever the resolution, and so
/// seems a thousand times too early where that is nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Which interface, as in [`Block::Packet`].
    pub interface: u32,
    /// When the statistics were taken.
    pub at_ps: u128,
    /// When the capture started.
    pub start_ps: Option<u128>,
    /// When it ended.
    pub end_ps: Option<u128>,
    /// Packets that the interface received (`isb_ifrecv`).
    pub received: Option<u64>,
    /// Packets that the interface dropped for want of room (`isb_ifdrop`).
    pub dropped: Option<u64>,
    /// Packets that the filter let pass (`isb_filteraccept`).
    pub accepted: Option<u64>,
    /// Packets that the operating system dropped (`isb_osdrop`).
    pub os_dropped: Option<u64>,
    /// Packets that were delivered to the user (`isb_usrdeliv`).
    pub delivered: Option<u64>,
}

/// One part of a capture file. What is rare is boxed, so that a packet moves as a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block<'a> {
    /// A new interface; they count from 0, through all sections of the file. The header of a pcap
    /// file is its only interface.
    Interface(Box<Interface>),
    /// A packet.
    Packet {
        /// The interface.
        interface: u32,
        /// Arrival in picoseconds since 1970; `None` where the block has no stamp.
        at_ps: Option<u128>,
        /// The packet's length before it was cut short, without FCS.
        original_len: u32,
        /// The packet, without FCS.
        bytes: &'a [u8],
        /// Packets that the interface lost since the one before, if the block says so.
        dropped: Option<u64>,
        /// The flags word (direction, kind of reception, errors), if there is one.
        flags: Option<u32>,
    },
    /// Counters of an interface.
    Statistics(Box<Statistics>),
    /// A block that was skipped because it makes no sense; its neighbours do.
    Damaged(CaptureError),
    /// A block with nothing of the above: section header, name resolution, custom, unknown.
    Other,
}

/// What [`Reader::next`] found at the start of its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// A block in the first `used` bytes, which are done with.
    Block {
        /// How many bytes to take off the input; never zero.
        used: usize,
        /// What they were.
        block: Block<'a>,
    },
    /// Call again with more input, up to [`LONGEST_BLOCK`] and a header; at the end, nothing is left.
    More,
}

/// What is wrong with a capture file. Offsets count from the file's first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaptureError {
    /// The first bytes are of no known kind.
    #[error(
        "byte 0: the file begins with {0:08X}, which is neither pcap nor pcapng; convert it with `editcap -F pcapng`"
    )]
    Unknown(u32),
    /// A version that nobody has written since 1998, or a future one.
    #[error(
        "byte {offset}: version {major}.{minor} of the format is not known; convert the file with `editcap -F pcapng`"
    )]
    Version {
        /// Where.
        offset: u64,
        /// The major version.
        major: u16,
        /// The minor version.
        minor: u16,
    },
    /// The file ends within a header, packet or block.
    #[error(
        "byte {offset}: the file ends within its last {part}, {missing} or more bytes early; all before it was read"
    )]
    Truncated {
        /// Where the incomplete part begins.
        offset: u64,
        /// What it is: `header`, `packet` or `block`.
        part: &'static str,
        /// At least how many bytes are missing.
        missing: u64,
    },
    /// A length that no capture has.
    #[error(
        "byte {offset}: a {part} of {length} bytes is beyond the limit of {LONGEST_BLOCK}; the file is damaged from here on, cut it off with `head -c {offset}`"
    )]
    TooLong {
        /// Where the part begins.
        offset: u64,
        /// What it is: `packet` or `block`.
        part: &'static str,
        /// The length it claims.
        length: u64,
    },
    /// A block length that cannot be.
    #[error(
        "byte {offset}: a block of {length} bytes is shorter than its own framing, or not a multiple of 4; the file is damaged from here on, cut it off with `head -c {offset}`"
    )]
    Length {
        /// Where the block begins.
        offset: u64,
        /// The length it claims.
        length: u32,
    },
    /// A block with another length at its end.
    #[error(
        "byte {offset}: a block has length {length} at its start and {last} at its end; the file is damaged from here on, cut it off with `head -c {offset}`"
    )]
    Ends {
        /// Where the block begins.
        offset: u64,
        /// The length at its start.
        length: u32,
        /// The length at its end.
        last: u32,
    },
    /// A section without a byte order.
    #[error(
        "byte {offset}: a section header has {magic:08X} for its byte order; the file is damaged from here on, cut it off with `head -c {offset}`"
    )]
    Order {
        /// Where the section begins.
        offset: u64,
        /// What stands there.
        magic: u32,
    },
    /// More interfaces than anybody has.
    #[error(
        "byte {offset}: more than {MOST_INTERFACES} interfaces in a section; split the file with `editcap -c`"
    )]
    Interfaces {
        /// Where the first one too many is described.
        offset: u64,
    },
    /// A block that contradicts itself or the file before it.
    #[error("byte {offset}: {reason}")]
    Block {
        /// Where the block begins.
        offset: u64,
        /// What is wrong and what is done about it.
        reason: &'static str,
    },
}

/// Reads a capture file from buffers that the caller fills.
#[derive(Debug, Default)]
pub struct Reader {
    state: State,
    /// The offset in the file of the next input.
    offset: u64,
    /// Bytes yet to come of a long block that is skipped.
    skip: u64,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Start,
    Pcap(pcap::Header),
    Pcapng(pcapng::Section),
}

impl Reader {
    /// The next block at the start of `input`; `end` says that nothing comes after `input`.
    ///
    /// # Errors
    /// When the file is no capture, or damaged so that no later block can be found: the same error
    /// comes again for the same input. A [`Block::Damaged`] is no such error.
    pub fn next<'a>(&mut self, input: &'a [u8], end: bool) -> Result<Step<'a>, CaptureError> {
        if self.skip > 0 {
            return self.pass_over(input, end);
        }
        if input.is_empty() {
            return Ok(Step::More);
        }
        let found = match &mut self.state {
            State::Start => match State::begin(input)? {
                Some(state) => {
                    self.state = state;
                    return self.next(input, end);
                }
                None => Found::Wants(24),
            },
            State::Pcap(header) => header.next(input, self.offset)?,
            State::Pcapng(section) => section.next(input, self.offset)?,
        };
        let (used, block) = match found {
            Found::Block(used, block) => (used, block),
            Found::Skip(length) => {
                self.skip = length;
                return self.pass_over(input, end);
            }
            Found::Wants(wanted) if end => {
                let part = match self.state {
                    State::Start => "header",
                    State::Pcap(ref header) => header.part(),
                    State::Pcapng(_) => "block",
                };
                let missing = wanted.saturating_sub(input.len()) as u64;
                return Err(CaptureError::Truncated {
                    offset: self.offset,
                    part,
                    missing,
                });
            }
            Found::Wants(_) => return Ok(Step::More),
        };
        self.offset += used as u64;
        Ok(Step::Block { used, block })
    }

    /// The offset in the file, in bytes, of the next block.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    fn pass_over<'a>(&mut self, input: &'a [u8], end: bool) -> Result<Step<'a>, CaptureError> {
        let used = usize::try_from(self.skip)
            .unwrap_or(usize::MAX)
            .min(input.len());
        if used == 0 {
            let (offset, part, missing) = (self.offset, "block", self.skip);
            return if end {
                Err(CaptureError::Truncated {
                    offset,
                    part,
                    missing,
                })
            } else {
                Ok(Step::More)
            };
        }
        self.skip -= used as u64;
        self.offset += used as u64;
        Ok(Step::Block {
            used,
            block: Block::Other,
        })
    }
}

impl State {
    /// The kind of file, from its first four bytes.
    fn begin(input: &[u8]) -> Result<Option<State>, CaptureError> {
        let Some(magic) = input.first_chunk() else {
            return Ok(None);
        };
        if *magic == pcapng::SECTION.to_be_bytes() {
            return Ok(Some(State::Pcapng(pcapng::Section::default())));
        }
        match pcap::Header::from_magic(*magic) {
            Some(header) => Ok(Some(State::Pcap(header))),
            None => Err(CaptureError::Unknown(u32::from_be_bytes(*magic))),
        }
    }
}

/// What stands at the start of the input.
enum Found<'a> {
    /// A block of so many bytes.
    Block(usize, Block<'a>),
    /// A block of so many bytes that need not be seen.
    Skip(u64),
    /// Something that takes at least so many bytes, which the input does not have.
    Wants(usize),
}

/// The byte order of a file or section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Order {
    Big,
    #[default]
    Little,
}

impl Order {
    /// The number at `at`; zero beyond the end, which callers have excluded.
    #[inline]
    fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk());
        let number = u16::from_le_bytes(bytes.copied().unwrap_or_default());
        if self == Order::Big {
            number.swap_bytes()
        } else {
            number
        }
    }

    /// As [`u16`](Order::u16).
    #[inline]
    fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk());
        let number = u32::from_le_bytes(bytes.copied().unwrap_or_default());
        if self == Order::Big {
            number.swap_bytes()
        } else {
            number
        }
    }

    /// As [`u16`](Order::u16).
    fn u64(self, bytes: &[u8], at: usize) -> u64 {
        let (first, second) = (self.u32(bytes, at).into(), self.u32(bytes, at + 4).into());
        let (high, low): (u64, u64) = match self {
            Order::Big => (first, second),
            Order::Little => (second, first),
        };
        high << 32 | low
    }

    /// A stamp of pcapng: two numbers, the high one first in either order.
    fn stamp(self, bytes: &[u8], at: usize) -> u64 {
        u64::from(self.u32(bytes, at)) << 32 | u64::from(self.u32(bytes, at + 4))
    }
}

/// `bytes` without an FCS of `fcs_len` bytes at the end of a packet that was `original_len` bytes
/// long, and the length without it.
fn without_fcs(bytes: &[u8], original_len: u32, fcs_len: u8) -> (&[u8], u32) {
    let length = original_len.saturating_sub(fcs_len.into());
    let keep = usize::try_from(length)
        .unwrap_or(usize::MAX)
        .min(bytes.len());
    match fcs_len {
        0 => (bytes, original_len),
        _ => (&bytes[..keep], length),
    }
}

#[cfg(test)]
mod tests;
