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

mod cooked;
mod error;
mod options;
mod order;
mod other;
mod pcap;
mod pcapng;
mod stamp;
mod write;

pub use cooked::{
    Cooked, LINUX_SLL, LINUX_SLL2, LOOP, NULL, RAW, has_ethernet, is_raw_ip, put_ethernet,
};
pub use error::CaptureError;
pub use options::{Direction, Flags, Options, Other};
pub use other::{OtherBlock, PortableBlock, block_name};
pub use pcap::PcapWriter;
pub use stamp::Resolution;
pub use write::PcapngWriter;

use order::Order;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

/// Maximum length of a block or packet that a [`Reader`] accepts, bytes; blocks that it only skips
/// may be longer. A caller's buffer never has to grow beyond this and the 16 bytes of a packet's
/// header.
pub const MAX_BLOCK_LEN: usize = 16 << 20;
/// Maximum number of interfaces that one section may describe.
pub const MAX_INTERFACES: usize = 65_536;
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
    /// Offset added to every timestamp, s (`if_tsoffset`). With picoseconds a file reaches 213 days
    /// from here.
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
    /// What else the block says: comments, addresses, the filter.
    pub others: Vec<Other>,
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
            others: Vec::new(),
        }
    }
}

/// What a capture says about an interface at its end. Times are picoseconds since 1970, as the
/// interface's resolution has them; dumpcap 4.0 writes microseconds whatever the resolution, and so
/// seems a thousand times too early where that is nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// Other options of the block: comments, custom options.
    pub others: Vec<Other>,
}

/// One part of a capture file. What is rare is boxed, so that a packet moves as a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block<'a> {
    /// A new section of a pcapng file, and what its header says: comments, the hardware, the operating system, the program.
    Section(Vec<Other>),
    /// A new interface; they count from 0, through all sections of the file. The header of a pcap
    /// file is its only interface.
    Interface(Box<Interface>),
    /// A packet.
    Packet {
        /// The interface.
        interface: u32,
        /// Arrival in picoseconds since 1970; `None` where the block has no stamp.
        at_ps: Option<u128>,
        /// The packet's length before it was cut short, without FCS; as the file has it, which may
        /// be less than there are bytes.
        original_len: u32,
        /// The packet, without FCS.
        bytes: &'a [u8],
        /// Packets that the interface lost since the one before, if the block says so.
        dropped: Option<u64>,
        /// The flags word (direction, kind of reception, errors), if there is one.
        flags: Option<u32>,
        /// All its options, comments and flags among them, to be written again.
        options: Options<'a>,
    },
    /// Counters of an interface.
    Statistics(Box<Statistics>),
    /// A block that was skipped because it makes no sense; its neighbours do.
    Damaged(CaptureError),
    /// A block with nothing of the above: name resolution, secrets, custom, unknown.
    Other(OtherBlock<'a>),
    /// Part of a block that is longer than [`MAX_BLOCK_LEN`] and was passed over.
    Passed {
        /// Whether it is the first part of its block.
        first: bool,
    },
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
    /// Call again with more input, up to [`MAX_BLOCK_LEN`] and a header; at the end, nothing is
    /// left.
    More,
}

/// Reads a capture file from buffers that the caller fills.
#[derive(Debug, Default)]
pub struct Reader {
    state: State,
    /// The offset in the file of the next input.
    offset: u64,
    /// Bytes yet to come of a long block that is skipped.
    skip: u64,
    /// Whether nothing of that block has been passed over yet.
    passes_first: bool,
    keeps_fcs: bool,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Start,
    Pcap(pcap::Header),
    Pcapng(pcapng::Section),
}

impl Reader {
    /// Gives packets with their FCS, where the file has it.
    #[must_use]
    pub fn keep_fcs(self) -> Reader {
        Reader {
            keeps_fcs: true,
            ..self
        }
    }

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
                Some(mut state) => {
                    match &mut state {
                        State::Pcap(header) => header.keeps_fcs = self.keeps_fcs,
                        State::Pcapng(section) => section.keeps_fcs = self.keeps_fcs,
                        State::Start => {}
                    }
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
                self.passes_first = true;
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

    /// How many packets so far had a stamp that is no whole number of picoseconds, which was rounded down, or one
    /// before 1970, which became 1970.
    pub fn inexact(&self) -> u64 {
        match &self.state {
            State::Pcapng(section) => section.inexact,
            State::Start | State::Pcap(_) => 0,
        }
    }

    /// Whether the file, or its section, is big-endian: so are families of the link type [`NULL`]
    /// in it.
    pub fn is_big_endian(&self) -> bool {
        match &self.state {
            State::Start => false,
            State::Pcap(header) => header.order == Order::Big,
            State::Pcapng(section) => section.order == Order::Big,
        }
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
        let first = core::mem::take(&mut self.passes_first);
        Ok(Step::Block {
            used,
            block: Block::Passed { first },
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

/// `bytes` without an FCS of `fcs_len` bytes at the end of a packet that was `original_len` bytes
/// long, and the length without it. A packet that is longer than it says ends with its FCS.
pub fn without_fcs(bytes: &[u8], original_len: u32, fcs_len: u8) -> (&[u8], u32) {
    let fcs = usize::from(fcs_len);
    let whole = usize::try_from(original_len)
        .unwrap_or(usize::MAX)
        .max(bytes.len());
    let keep = whole.saturating_sub(fcs).min(bytes.len());
    (&bytes[..keep], original_len.saturating_sub(fcs_len.into()))
}

#[cfg(test)]
mod tests;
