//! Blocks of pcap and pcapng, and what they say of interfaces.

use super::window::Window;
use super::{Complaint, Found, Head, Input, Location};
use packet::capture::{
    self, Block, CaptureError, Interface, Other, PortableBlock, Reader, Statistics, Step,
};
use packet::{Date, MAX_FRAME_LEN};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::ops::Range;

/// Maximum length of a name or description of an interface that is kept, bytes.
const MAX_DESCRIPTION_LEN: usize = 256;
/// Maximum size of the options and other blocks that are kept of a file, bytes.
const MAX_METADATA_BYTES: usize = 16 << 20;

/// The option of an interface that has an IPv4 address and its mask.
pub const IPV4_ADDRESS: u16 = 4;

/// Metadata of a capture besides its packets.
#[derive(Debug)]
pub struct Captured {
    reader: Reader,
    /// Packets of all kinds are given, as they are.
    verbatim: bool,
    /// The shortest frame that is given.
    least: usize,
    interfaces: Vec<Described>,
    /// Of the first interface that carries Ethernet.
    description: Option<String>,
    section: Option<Vec<Other>>,
    statistics: Vec<Statistics>,
    blocks: Vec<PortableBlock>,
    unkept: Unkept,
    /// Packets that an Ethernet header was made for.
    headed: u64,
    /// Bytes of options and blocks that may still be kept.
    room: usize,
    /// Packets are captured here, by the ports of this process.
    here: bool,
}

/// Parts of a capture that its copy lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unkept {
    /// Blocks by their type: those that must not be copied, are damaged, of an unknown type, or
    /// beyond the room of 16 MiB.
    pub blocks: BTreeMap<u32, u64>,
    /// Blocks that are longer than a block may be.
    pub long_blocks: u64,
    /// Headers of later sections that say something else than that of the first.
    pub sections: u64,
    /// Options beyond the room of 16 MiB.
    pub options: u64,
}

impl Unkept {
    /// Whether a copy has everything.
    pub fn is_empty(&self) -> bool {
        *self == Unkept::default()
    }
}

/// The length of a packet of which `before` bytes became `after`.
fn longer(original_len: u32, before: usize, after: usize) -> u32 {
    let grown = u64::from(original_len) + after as u64;
    let length = grown.saturating_sub(before as u64);
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// What a capture tells about one of its interfaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Its name, up to 256 bytes; or empty.
    pub name: String,
    /// The unit of its stamps.
    pub resolution: capture::Resolution,
    /// Bits a second, or zero if the capture does not say.
    pub speed: u64,
    /// The kind of its frames: a LINKTYPE number.
    pub link_type: u16,
    /// Whether the file or the section is big-endian, and so are families of link types that have
    /// them.
    pub big_endian: bool,
    /// Bytes of FCS behind each packet.
    pub fcs_len: u8,
    /// The mask of its first IPv4 address, if it is known.
    pub netmask: Option<Ipv4Addr>,
    /// Its number in this system, of an interface that is listened to.
    pub index: Option<u32>,
    /// All that its block says, where a capture is read [verbatim](super::Source::verbatim).
    pub whole: Option<Box<Interface>>,
}

impl Captured {
    pub(super) fn new(verbatim: bool, least: usize) -> Captured {
        Captured {
            // A filter looks into packets with their FCS; from frames it is taken here.
            reader: Reader::default().keep_fcs(),
            verbatim,
            least,
            interfaces: Vec::new(),
            description: None,
            section: None,
            statistics: Vec::new(),
            blocks: Vec::new(),
            unkept: Unkept::default(),
            headed: 0,
            room: MAX_METADATA_BYTES,
            here: false,
        }
    }

    /// What the header of the first section says, where a capture is read [verbatim](super::Source::verbatim).
    pub fn section(&self) -> &[Other] {
        self.section.as_deref().unwrap_or_default()
    }

    /// The last counters of each interface so far, where a capture is read [verbatim](super::Source::verbatim).
    pub fn statistics(&self) -> &[Statistics] {
        &self.statistics
    }

    /// Names, secrets, journal entries and custom blocks so far, in the file's order, where a
    /// capture is read [verbatim](super::Source::verbatim).
    pub fn blocks(&self) -> &[PortableBlock] {
        &self.blocks
    }

    /// Facts that neither packets nor this process give.
    pub fn unkept(&self) -> &Unkept {
        &self.unkept
    }

    /// How many interfaces have been described so far, in all sections.
    pub fn interfaces(&self) -> u32 {
        self.interfaces.len() as u32
    }

    /// An interface, counted from 0 and through all sections.
    pub fn described(&self, interface: u32) -> Option<&Described> {
        self.interfaces.get(interface as usize)
    }

    /// The same of what is captured here: interfaces are [added](Captured::add) as they are met.
    pub fn here() -> Captured {
        Captured {
            here: true,
            ..Captured::new(true, 0)
        }
    }

    /// Whether packets are captured [here](Captured::here).
    pub fn is_here(&self) -> bool {
        self.here
    }

    /// Takes note of an interface, with its number in this system if it has one, and tells its
    /// number here.
    pub fn add(&mut self, interface: Interface, index: Option<u32>) -> u32 {
        self.interface(interface);
        if let Some(described) = self.interfaces.last_mut() {
            described.index = index;
        }
        self.interfaces.len() as u32 - 1
    }

    pub(super) fn headed(&self) -> u64 {
        self.headed
    }

    pub(super) fn inexact(&self) -> u64 {
        self.reader.inexact()
    }

    /// How the first interface that carries Ethernet is described, up to 256 bytes; or empty.
    pub fn description(&self) -> &str {
        self.description.as_deref().unwrap_or_default()
    }

    /// Looks at the window. A frame that is made of a packet of another link type is put in `frame`.
    #[inline]
    pub(super) fn look(
        &mut self,
        window: &mut Window<Input>,
        frame: &mut Vec<u8>,
    ) -> Result<Found, CaptureError> {
        let byte = window.place();
        let input = window.bytes();
        let front = input.as_ptr() as usize;
        let within = |part: &[u8]| {
            let start = part.as_ptr() as usize - front;
            start..start + part.len()
        };
        let (used, block) = match self.reader.next(input, window.at_end())? {
            Step::More => return Ok(Found::More),
            Step::Block { used, block } => (used, block),
        };
        let complaint = |reason: String| {
            let place = format!("byte {byte}");
            Found::Complaint(Complaint { place, reason })
        };
        let mut places = None;
        let found = match block {
            Block::Packet {
                interface,
                at_ps,
                original_len,
                bytes,
                options,
                ..
            } => {
                let least = self.least;
                let known = self.interfaces.get(interface as usize);
                let link_type = known.map_or(capture::ETHERNET, |known| known.link_type);
                let foreign = link_type != capture::ETHERNET && !self.verbatim;
                let fcs_len = match self.verbatim {
                    true => 0,
                    false => known.map_or(0, |known| known.fcs_len),
                };
                let (raw, raw_len) = (bytes, original_len);
                let (bytes, original_len) = capture::without_fcs(raw, raw_len, fcs_len);
                let header = foreign.then(|| capture::put_ethernet(link_type, bytes, frame));
                let before = bytes.len();
                let bytes = if foreign { &frame[..] } else { bytes };
                if header == Some(None) {
                    complaint("a packet of which no Ethernet frame can be made was skipped".into())
                } else if !(least..=MAX_FRAME_LEN).contains(&bytes.len()) {
                    complaint(format!(
                        "a packet of {} bytes was skipped; a frame has {least} to {MAX_FRAME_LEN}",
                        bytes.len()
                    ))
                } else if !self.verbatim && at_ps.is_some_and(|at| Date::from_ps(at).is_none()) {
                    complaint("a packet with a date after the year 40,000 was skipped: dates end there, and the stamp may be damaged; `wire dump` copies it".into())
                } else {
                    let (place, order) = match options.is_empty() {
                        true => Default::default(),
                        false => (within(options.bytes()), options.over(&[])),
                    };
                    let bytes = (!foreign).then(|| within(bytes));
                    let raw = (foreign || fcs_len > 0).then(|| within(raw));
                    places = Some((bytes, place, raw.map(|raw| (raw, raw_len))));
                    self.headed += u64::from(foreign);
                    let head = Head {
                        at_ps,
                        interface,
                        original_len: match foreign {
                            // As much longer as the frame is.
                            true => longer(original_len, before, frame.len()),
                            false => original_len,
                        },
                        options: (0..0, order),
                        ..Head::default()
                    };
                    Found::Packet(Location::Frame, head)
                }
            }
            Block::Interface(interface) => match self.interface(*interface) {
                Some(reason) => complaint(reason),
                None => Found::Nothing,
            },
            // The complaint has a place of its own.
            Block::Damaged(CaptureError::Block { reason, .. }) => complaint(reason.into()),
            Block::Damaged(error) => complaint(error.to_string()),
            Block::Section(options) => {
                self.begin(options);
                Found::Nothing
            }
            Block::Statistics(statistics) => {
                if self.verbatim {
                    self.statistics
                        .retain(|known| known.interface != statistics.interface);
                    self.statistics.push(*statistics);
                }
                Found::Nothing
            }
            Block::Other(other) => {
                if self.verbatim {
                    self.other(other);
                }
                Found::Nothing
            }
            Block::Passed { first } => {
                self.unkept.long_blocks += u64::from(first);
                Found::Nothing
            }
        };
        let taken = window.take(used);
        let moved = |place: Range<usize>| taken.start + place.start..taken.start + place.end;
        Ok(match (found, places) {
            (Found::Packet(_, mut head), Some((bytes, options, raw))) => {
                head.options.0 = moved(options);
                head.raw = raw.map(|(place, length)| (moved(place), length));
                let place = bytes.map_or(Location::Frame, |bytes| Location::Window(moved(bytes)));
                Found::Packet(place, head)
            }
            (found, _) => found,
        })
    }

    fn other(&mut self, other: capture::OtherBlock<'_>) {
        let block = other.portable();
        let room = block
            .as_ref()
            .and_then(|block| self.room.checked_sub(block.body().len() + 32));
        match (block, room) {
            (Some(block), Some(room)) => {
                self.room = room;
                self.blocks.push(block);
            }
            _ => *self.unkept.blocks.entry(other.kind()).or_default() += 1,
        }
    }

    fn begin(&mut self, options: Vec<Other>) {
        if !self.verbatim {
            return;
        }
        match &self.section {
            None => {
                let kept = self.keep(options);
                self.section = Some(kept);
            }
            // Sections of one program say the same.
            Some(first) => {
                let differs = !options.is_empty() && *first != options;
                self.unkept.sections += u64::from(differs);
            }
        }
    }

    /// Takes note of an interface; and why its packets are skipped, if they are.
    fn interface(&mut self, mut interface: Interface) -> Option<String> {
        let number = self.interfaces.len();
        let short = |text: &str| match text.len() <= MAX_DESCRIPTION_LEN {
            true => text.to_owned(),
            false => String::new(),
        };
        let link_type = interface.link_type;
        let foreign = link_type != capture::ETHERNET;
        if !foreign {
            self.description
                .get_or_insert_with(|| short(&interface.description));
        }
        let (name, resolution, speed) = (
            short(&interface.name),
            interface.resolution,
            interface.speed,
        );
        let netmask = interface.others.iter().find_map(|(code, value)| {
            let mask = value.get(4..)?.try_into().ok().map(<[u8; 4]>::into);
            mask.filter(|_| *code == IPV4_ADDRESS)
        });
        let fcs_len = interface.fcs_len;
        let whole = self.verbatim.then(|| {
            interface.others = self.keep(std::mem::take(&mut interface.others));
            Box::new(interface)
        });
        self.interfaces.push(Described {
            name,
            resolution,
            speed,
            link_type,
            big_endian: self.reader.is_big_endian(),
            fcs_len,
            netmask,
            index: None,
            whole,
        });
        let skipped = foreign && !self.verbatim && !capture::has_ethernet(link_type);
        skipped.then(|| {
            format!(
                "interface {number} has link type {link_type}, of which no Ethernet frames can be made, so its packets are skipped"
            )
        })
    }

    /// The options for which there is room.
    fn keep(&mut self, mut options: Vec<Other>) -> Vec<Other> {
        options.retain(|(_, value)| {
            let fits = self.room.checked_sub(value.len() + 32);
            self.unkept.options += u64::from(fits.is_none());
            self.room = fits.unwrap_or(self.room);
            fits.is_some()
        });
        options
    }
}
