//! Packets out of a file, pipe or terminal: lines, records and captures, told apart by content.

use crate::complaints::Complaints;
use crate::stream::{self, Format, Stream};
use anyhow::Context;
use packet::capture::{self, Block, ETHERNET, Interface, LONGEST_BLOCK};
use packet::record;
use packet::{LONGEST, Packet, SHORTEST, line};
use std::path::Path;

/// Bytes read at a time.
const BLOCK: usize = 512 * 1024;
/// The longest buffer: the longest block of a capture and what may stand around it.
const LONGEST_BUFFER: usize = LONGEST_BLOCK + 64 * 1024;

/// A packet and what its file says of it.
pub struct Item<'a> {
    /// Word and hash where the file has them, and the frame.
    pub packet: Packet<'a>,
    /// Arrival in picoseconds since 1970, from a capture.
    pub at_ps: Option<u128>,
    /// How long the frame was before a capture cut it short.
    pub original_len: usize,
    /// What the capture says of the packet's interface.
    pub interface: Option<&'a Interface>,
}

/// Who takes packets.
pub trait Consumer {
    /// Takes a packet; `Ok(false)` to be given no more.
    ///
    /// # Errors
    /// Whatever ends the command.
    fn packet(&mut self, item: Item<'_>) -> anyhow::Result<bool>;

    /// Nothing more is there for now: what lies in a buffer has to go on.
    ///
    /// # Errors
    /// Whatever ends the command.
    fn idle(&mut self) -> anyhow::Result<()>;
}

/// An open file of packets.
pub struct Packets {
    stream: Stream,
    name: String,
    buffer: Vec<u8>,
    used: usize,
    filled: usize,
    ended: bool,
    decoder: Decoder,
}

enum Decoder {
    Lines {
        number: u64,
        frame: Vec<u8>,
        /// In the middle of a line that is too long.
        skipping: bool,
    },
    Records {
        number: u64,
        /// Bytes of garbage since the last record.
        garbage: u64,
    },
    Capture {
        number: u64,
        reader: capture::Reader,
        interfaces: Vec<Interface>,
    },
}

/// How far a decoder came in the bytes it was given.
struct Progress {
    used: usize,
    /// The sink wants no more, or the file is beyond repair.
    done: bool,
}

impl Packets {
    /// Opens a file, or standard input for `-`.
    ///
    /// # Errors
    /// When it cannot be opened or read.
    pub fn open(path: &Path) -> anyhow::Result<Packets> {
        let stream = Stream::open(path)?;
        Ok(Packets::new(stream, stream::name(path)))
    }

    /// The packets of `stream`, called `name` in messages.
    pub fn new(stream: Stream, name: String) -> Packets {
        let decoder = match stream.format {
            Format::Lines => Decoder::Lines {
                number: 1,
                frame: Vec::with_capacity(LONGEST),
                skipping: false,
            },
            Format::Records => Decoder::Records {
                number: 0,
                garbage: 0,
            },
            Format::Capture => Decoder::Capture {
                number: 0,
                reader: capture::Reader::default(),
                interfaces: Vec::new(),
            },
        };
        Packets {
            stream,
            name,
            buffer: vec![0; BLOCK],
            used: 0,
            filled: 0,
            ended: false,
            decoder,
        }
    }

    /// Gives all packets to `consumer`, until it wants no more or somebody asks to stop.
    ///
    /// # Errors
    /// As [`read`](Packets::read).
    pub fn copy(
        &mut self,
        complaints: &mut Complaints,
        consumer: &mut impl Consumer,
    ) -> anyhow::Result<()> {
        while self.read(complaints, consumer)? {}
        Ok(())
    }

    /// Reads once and gives every packet that is then there to `consumer`; false at the end, when it
    /// wants no more, or when somebody has asked to stop.
    ///
    /// # Errors
    /// When reading fails, or `consumer` does, or at the first bad packet if `complaints` is strict.
    pub fn read(
        &mut self,
        complaints: &mut Complaints,
        consumer: &mut impl Consumer,
    ) -> anyhow::Result<bool> {
        if !self.fill(&mut || consumer.idle())? {
            return Ok(false);
        }
        let input = &self.buffer[self.used..self.filled];
        let progress = match &mut self.decoder {
            Decoder::Lines {
                number,
                frame,
                skipping,
            } => {
                let mut lines = Lines {
                    name: &self.name,
                    number,
                    frame,
                    skipping,
                };
                lines.read(input, self.ended, complaints, consumer)?
            }
            Decoder::Records { number, garbage } => records(
                &self.name, number, garbage, input, self.ended, complaints, consumer,
            )?,
            Decoder::Capture {
                number,
                reader,
                interfaces,
            } => {
                let mut blocks = Blocks {
                    name: &self.name,
                    number,
                    reader,
                    interfaces,
                };
                blocks.read(input, self.ended, complaints, consumer)?
            }
        };
        self.used += progress.used;
        Ok(!progress.done && !self.ended)
    }

    /// Reads once, with room for more where a whole buffer was not enough.
    fn fill(&mut self, idle: &mut dyn FnMut() -> anyhow::Result<()>) -> anyhow::Result<bool> {
        self.buffer.copy_within(self.used..self.filled, 0);
        self.filled -= self.used;
        self.used = 0;
        if self.filled == self.buffer.len() {
            let longer = (2 * self.buffer.len()).min(LONGEST_BUFFER);
            self.buffer.resize(longer, 0);
        }
        let read = stream::fill(&mut self.stream, &mut self.buffer[self.filled..], idle);
        let read = read.with_context(|| format!("cannot read {}", self.name))?;
        self.filled += read.unwrap_or(0);
        self.ended = read == Some(0);
        Ok(read.is_some())
    }
}

struct Lines<'a> {
    name: &'a str,
    number: &'a mut u64,
    frame: &'a mut Vec<u8>,
    skipping: &'a mut bool,
}

impl Lines<'_> {
    fn read(
        &mut self,
        input: &[u8],
        ended: bool,
        complaints: &mut Complaints,
        consumer: &mut impl Consumer,
    ) -> anyhow::Result<Progress> {
        let mut used = 0;
        let rest_is_line = ended && input.last().is_some_and(|byte| *byte != b'\n');
        let ends = memchr::memchr_iter(b'\n', input).map(|newline| newline + 1);
        for end in ends.chain(rest_is_line.then_some(input.len())) {
            let text = &input[used..end];
            used = end;
            *self.number += 1;
            if std::mem::take(self.skipping) {
                continue;
            }
            match line::decode(text, self.frame) {
                Ok(None) => {}
                Ok(Some(head)) => {
                    let item = Item::plain(head.packet(self.frame));
                    if !consumer.packet(item)? {
                        return Ok(Progress { used, done: true });
                    }
                }
                Err(error) => {
                    let number = *self.number - 1;
                    complaints.bad(format_args!("{}:{number}", self.name), error)?;
                }
            }
        }
        if input.len() - used > line::LONGEST_LINE {
            if !*self.skipping {
                let reason = format_args!("a line longer than {} bytes", line::LONGEST_LINE);
                complaints.bad(format_args!("{}:{}", self.name, self.number), reason)?;
            }
            *self.skipping = true;
            used = input.len();
        }
        Ok(Progress { used, done: false })
    }
}

fn records(
    name: &str,
    number: &mut u64,
    garbage: &mut u64,
    input: &[u8],
    ended: bool,
    complaints: &mut Complaints,
    consumer: &mut impl Consumer,
) -> anyhow::Result<Progress> {
    let mut used = 0;
    loop {
        let step = record::next(&input[used..], ended);
        let over = !matches!(step, record::Step::Skip { .. } | record::Step::More)
            || ended && matches!(step, record::Step::More);
        if *garbage > 0 && over {
            let place = format_args!("{name}: behind record {number}");
            let skipped = std::mem::take(garbage);
            complaints.bad(
                place,
                format_args!("skipped {skipped} bytes that are no record"),
            )?;
        }
        match step {
            record::Step::Packet { used: n, packet } => {
                used += n;
                *number += 1;
                if !consumer.packet(Item::plain(packet))? {
                    return Ok(Progress { used, done: true });
                }
            }
            record::Step::Skip { bytes } => {
                *garbage += bytes as u64;
                used += bytes;
            }
            record::Step::More => return Ok(Progress { used, done: false }),
        }
    }
}

struct Blocks<'a> {
    name: &'a str,
    number: &'a mut u64,
    reader: &'a mut capture::Reader,
    interfaces: &'a mut Vec<Interface>,
}

impl Blocks<'_> {
    fn read(
        &mut self,
        input: &[u8],
        ended: bool,
        complaints: &mut Complaints,
        consumer: &mut impl Consumer,
    ) -> anyhow::Result<Progress> {
        let mut used = 0;
        loop {
            let step = match self.reader.next(&input[used..], ended) {
                Ok(step) => step,
                Err(error) => {
                    complaints.bad(self.name, error)?;
                    return Ok(Progress { used, done: true });
                }
            };
            let capture::Step::Block { used: n, block } = step else {
                return Ok(Progress { used, done: false });
            };
            used += n;
            match block {
                Block::Interface(interface) => self.interfaces.push(interface),
                Block::Damaged(error) => complaints.bad(self.name, error)?,
                Block::Packet {
                    interface,
                    at_ps,
                    original_len,
                    bytes,
                    ..
                } => {
                    *self.number += 1;
                    let interface = self.interfaces.get(interface as usize);
                    if let Err(reason) = usable(interface, bytes) {
                        let place = format_args!("{}: packet {}", self.name, self.number);
                        complaints.bad(place, reason)?;
                        continue;
                    }
                    let item = Item {
                        at_ps,
                        original_len: (original_len as usize).max(bytes.len()),
                        interface,
                        ..Item::plain(Packet {
                            word: None,
                            hash: None,
                            bytes,
                        })
                    };
                    if !consumer.packet(item)? {
                        return Ok(Progress { used, done: true });
                    }
                }
                Block::Statistics(_) | Block::Other => {}
            }
        }
    }
}

/// Whether a captured packet is a frame that every format can carry.
fn usable(interface: Option<&Interface>, bytes: &[u8]) -> Result<(), String> {
    let link_type = interface.map_or(ETHERNET, |interface| interface.link_type);
    if link_type != ETHERNET {
        return Err(format!("its link type is {link_type}, not Ethernet (1)"));
    }
    let len = bytes.len();
    if !(SHORTEST..=LONGEST).contains(&len) {
        return Err(format!("it has {len} bytes, not {SHORTEST} to {LONGEST}"));
    }
    Ok(())
}

impl<'a> Item<'a> {
    /// A packet from lines or records.
    fn plain(packet: Packet<'a>) -> Item<'a> {
        Item {
            original_len: packet.bytes.len(),
            packet,
            at_ps: None,
            interface: None,
        }
    }
}
