//! Anything that packets come from: pcap, pcapng, lines and records, plain or gzip or zstd, from a
//! path or standard input, told apart by content (FORMATS section 6).
//!
//! A packet is given in place, in a buffer of bounded size. What makes no sense is counted, told to
//! whoever wants to know, and skipped; a [strict](Source::strict) source stops at it instead.
//!
//! ```no_run
//! let mut source = capture::file::Source::open("trace.pcapng.zst")?;
//! while let capture::file::Next::Item(item) = source.next()? {
//!     println!("{} bytes", item.bytes.len());
//! }
//! # Ok::<(), capture::file::FileError>(())
//! ```

mod bytes;
mod captured;
mod input;
mod named;
mod window;

pub use bytes::{Bytes, Next, text};
pub use captured::{Captured, Described, IPV4_ADDRESS, Unkept};
pub use named::{MAX_TEXT, bytes_named, open_named, text_named};

use crate::signal;
use input::Input;
use packet::capture;
use packet::line::{self, Lines};
use packet::sniff::CAPTURES;
use packet::{Date, MAX_WIRE_FRAME_LEN, MIN_FRAME_LEN, Packet, Stamp, record};
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use window::Window;

/// What a stream holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// pcap or pcapng.
    Capture,
    /// Lines of text.
    Lines,
    /// Binary records.
    Records,
}

/// A packet from a file.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// The timestamp word: lines and records that have one.
    pub word: Option<u64>,
    /// The date, in ps since 1970: captures, and lines and records that have one. Below 2^80, but
    /// where a capture is read [verbatim](Source::verbatim).
    pub at_ps: Option<u128>,
    /// The five-tuple hash: records, and lines that have it.
    pub hash: Option<u32>,
    /// The length before the capture cut the packet short, as the file has it: mostly what `bytes`
    /// has or more, but a file may say less.
    pub original_len: u32,
    /// Which interface of the capture, from 0 and through all of its sections.
    pub interface: u32,
    /// What the capture says beside its packets: captures.
    pub captured: Option<&'a Captured>,
    /// The options of its block, comments among them: pcapng.
    pub options: capture::Options<'a>,
    /// The frame, 14 to 262,144 bytes without FCS; shorter ones where [that](Source::any_length) was asked for, and
    /// [any](Source::verbatim) kind and length.
    pub bytes: &'a [u8],
    /// The packet that the frame was made of.
    pub raw: Raw<'a>,
}

/// A packet as its capture has it, or its interface: of its own link type, with its FCS if there is
/// one.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a> {
    /// The packet from its link-layer header on.
    pub bytes: &'a [u8],
    /// Its length in bytes before the capture cut it short.
    pub original_len: u32,
}

impl<'a> Raw<'a> {
    /// A packet that is all there.
    pub fn whole(bytes: &'a [u8]) -> Raw<'a> {
        let original_len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        Raw {
            bytes,
            original_len,
        }
    }
}

/// Something in the input that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// Where: `line 7`, or `byte 1234`.
    pub place: String,
    /// The error, and the fix.
    pub reason: String,
}

impl std::fmt::Display for Complaint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place, self.reason)
    }
}

/// Why a file gives no more packets.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be opened.
    #[error("{name}: {source}")]
    Open {
        /// The file.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// It cannot be read any further: the system's refusal, or damaged compression.
    #[error("{name}: after {bytes} bytes of content: {source}")]
    Read {
        /// The file.
        name: String,
        /// Bytes that were read, after decompression.
        bytes: u64,
        /// What was said.
        source: io::Error,
    },
    /// A capture that is damaged so that nothing behind the place can be found.
    #[error("{name}: {source}")]
    Capture {
        /// The file.
        name: String,
        /// What is wrong.
        source: capture::CaptureError,
    },
    /// What a command wrote for people or programs, where packets should begin.
    #[error("{name}: line {line}: {what}")]
    ForPeople {
        /// The file.
        name: String,
        /// The line's number, from 1.
        line: u64,
        /// What it is, and what to do.
        what: &'static str,
    },
    /// Something that makes no sense, in a strict source.
    #[error("{name}: {complaint}")]
    Strict {
        /// The file.
        name: String,
        complaint: Complaint,
    },
}

impl FileError {
    /// Whether it is the content that makes no sense, such as that of a file cut short, rather than a refusal
    /// of the system.
    pub fn is_damage(&self) -> bool {
        match self {
            FileError::Capture { .. } => true,
            FileError::Read { source, .. } => source.raw_os_error().is_none(),
            FileError::Open { .. } | FileError::Strict { .. } | FileError::ForPeople { .. } => {
                false
            }
        }
    }
}

/// What was read so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets given.
    pub packets: u64,
    /// Lines, blocks and packets that made no sense.
    pub skipped: u64,
    /// Bytes between records that were no record.
    pub skipped_bytes: u64,
    /// Packets that the capture had cut short.
    pub cut: u64,
    /// Packets of link types without Ethernet that got a header, with zeros for the addresses that nobody knows.
    pub headed: u64,
    /// Packets of a capture with a stamp finer than a picosecond, which was rounded down, or before 1970.
    pub inexact: u64,
}

/// A stream of packets.
pub struct Source {
    name: String,
    window: Window<Input>,
    parser: Parser,
    frame: Vec<u8>,
    strict: bool,
    verbatim: bool,
    /// The shortest frame that a capture may give.
    least: usize,
    complain: Option<Listener>,
    counters: Counters,
    stopped: bool,
}

/// Whoever wants to know what makes no sense.
type Listener = Box<dyn FnMut(&Complaint) + Send>;

enum Parser {
    /// Nothing seen yet.
    Unknown,
    Lines(Lines),
    Records,
    Capture(Box<Captured>),
}

/// Where the bytes of a packet are.
enum Location {
    Window(Range<usize>),
    Frame,
}

/// What a look at the window found.
enum Found {
    Packet(Location, Head),
    Complaint(Complaint),
    /// A line by its number, and what a command writes such lines for.
    ForPeople(u64, &'static str),
    Nothing,
    More,
}

#[derive(Default)]
struct Head {
    word: Option<u64>,
    at_ps: Option<u128>,
    hash: Option<u32>,
    interface: u32,
    original_len: u32,
    /// Where the options are in the window, and their byte order.
    options: (Range<usize>, capture::Options<'static>),
    /// Where the packet is in the window of which the frame was made, and its length; `None` where
    /// it is the frame.
    raw: Option<(Range<usize>, u32)>,
}

impl Head {
    fn stamped(stamp: Option<Stamp>) -> Head {
        Head {
            word: stamp.and_then(Stamp::word),
            at_ps: stamp.and_then(Stamp::date).map(Date::as_ps),
            ..Head::default()
        }
    }
}

impl<'a> Item<'a> {
    /// A frame that is all there, of which nothing else is known.
    pub fn of(bytes: &'a [u8]) -> Item<'a> {
        let raw = Raw::whole(bytes);
        Item {
            word: None,
            at_ps: None,
            hash: None,
            original_len: raw.original_len,
            interface: 0,
            captured: None,
            options: capture::Options::default(),
            bytes,
            raw,
        }
    }

    /// What the capture tells about the packet's interface.
    #[inline]
    pub fn described(&self) -> Option<&'a Described> {
        self.captured?.described(self.interface)
    }

    /// Whether the packet was received or sent: as the options say; and what a port gives was
    /// received.
    pub fn direction(&self) -> Option<capture::Direction> {
        let heard = self.captured.is_some_and(Captured::is_here);
        let received = heard.then_some(capture::Direction::In);
        self.options.direction().or(received)
    }

    /// How the capture describes its first interface that carries Ethernet; or empty.
    #[inline]
    pub fn description(&self) -> &'a str {
        self.captured.map_or("", Captured::description)
    }

    /// The packet as lines and records have it, with its date or word.
    #[inline]
    pub fn packet(&self) -> Packet<'a> {
        let date = self.at_ps.and_then(Date::from_ps);
        Packet {
            stamp: date.map(Stamp::Date).or(self.word.map(Stamp::Word)),
            hash: self.hash,
            bytes: self.bytes,
        }
    }
}

impl Source {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Source, FileError> {
        let path = path.as_ref();
        let standard = path.as_os_str() == "-";
        let name = if standard {
            "standard input".into()
        } else {
            path.display().to_string()
        };
        match Input::open(path) {
            Ok(input) => Ok(Source::over(name, input)),
            Err(source) => Err(FileError::Open { name, source }),
        }
    }

    /// Takes packets from any stream; `name` stands in messages.
    ///
    /// # Errors
    /// When its first bytes cannot be read.
    pub fn from_reader(
        name: impl Into<String>,
        stream: Box<dyn Read + Send>,
    ) -> Result<Source, FileError> {
        let name = name.into();
        match Input::new(stream) {
            Ok(input) => Ok(Source::over(name, input)),
            Err(source) => Err(FileError::Open { name, source }),
        }
    }

    fn over(name: String, input: Input) -> Source {
        Source {
            name,
            window: Window::new(input),
            parser: Parser::Unknown,
            frame: Vec::with_capacity(MAX_WIRE_FRAME_LEN),
            strict: false,
            verbatim: false,
            least: MIN_FRAME_LEN,
            complain: None,
            counters: Counters::default(),
            stopped: false,
        }
    }

    /// Stops at the first thing that makes no sense.
    pub fn strict(mut self) -> Source {
        self.strict = true;
        self
    }

    /// Gives what a capture has as it is, to be written to another: packets of all link types and lengths, with their FCS
    /// where the file has it, and all that is said of interfaces.
    pub fn verbatim(mut self) -> Source {
        self.verbatim = true;
        self.any_length()
    }

    /// Gives frames of fewer than 14 bytes too, which a capture can have: for what does not write them as lines or records.
    pub fn any_length(mut self) -> Source {
        self.least = 0;
        self
    }

    /// What a capture says beside its packets, if it is one.
    pub fn captured(&self) -> Option<&Captured> {
        match &self.parser {
            Parser::Capture(captured) => Some(captured),
            _ => None,
        }
    }

    /// Tells of each thing that makes no sense.
    pub fn on_complaint(mut self, complain: impl FnMut(&Complaint) + Send + 'static) -> Source {
        self.complain = Some(Box::new(complain));
        self
    }

    /// What the stream holds; `None` before the first [`next`](Source::next).
    pub fn kind(&self) -> Option<Kind> {
        match self.parser {
            Parser::Unknown => None,
            Parser::Lines(_) => Some(Kind::Lines),
            Parser::Records => Some(Kind::Records),
            Parser::Capture(_) => Some(Kind::Capture),
        }
    }

    /// The file's name, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What was read so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The next packet. At the end what is unfinished is told as damage; when a [signal] has
    /// asked to stop it is dropped, and what was whole before it has been given.
    ///
    /// # Errors
    /// When nothing more can be read. Packets before that place have all been given.
    #[expect(clippy::should_implement_trait, reason = "the item borrows the buffer")]
    pub fn next(&mut self) -> Result<Next<Item<'_>>, FileError> {
        loop {
            match self.look()? {
                Found::Nothing => {}
                Found::Complaint(complaint) => self.complain(complaint)?,
                Found::ForPeople(line, what) if self.counters.packets == 0 => {
                    return Err(FileError::ForPeople {
                        name: self.name.clone(),
                        line,
                        what,
                    });
                }
                Found::ForPeople(line, what) => self.complain(Complaint {
                    place: format!("line {line}"),
                    reason: what.into(),
                })?,
                Found::More if self.window.at_end() => return Ok(Next::End),
                // Decoders do not know a stop, and may take what comes behind it for the end.
                Found::More if self.stopped => return Ok(Next::Stopped),
                Found::More => match self.window.fill(capture::MAX_BLOCK_LEN + 64) {
                    Ok(()) => {}
                    Err(error) if signal::is_stop(&error) => self.stopped = true,
                    Err(source) => {
                        return Err(FileError::Read {
                            name: self.name.clone(),
                            bytes: self.window.place(),
                            source,
                        });
                    }
                },
                Found::Packet(place, head) => {
                    self.counters.packets += 1;
                    let bytes = match place {
                        Location::Window(range) => self.window.taken(range),
                        Location::Frame => &self.frame,
                    };
                    let raw = match head.raw {
                        None => Raw {
                            bytes,
                            original_len: head.original_len,
                        },
                        Some((place, original_len)) => Raw {
                            bytes: self.window.taken(place),
                            original_len,
                        },
                    };
                    self.counters.cut += u64::from(head.original_len as usize > bytes.len());
                    let captured = match &self.parser {
                        Parser::Capture(captured) => {
                            self.counters.inexact = captured.inexact();
                            self.counters.headed = captured.headed();
                            Some(&**captured)
                        }
                        _ => None,
                    };
                    return Ok(Next::Item(Item {
                        word: head.word,
                        at_ps: head.at_ps,
                        hash: head.hash,
                        original_len: head.original_len,
                        interface: head.interface,
                        captured,
                        options: head.options.1.over(self.window.taken(head.options.0)),
                        bytes,
                        raw,
                    }));
                }
            }
        }
    }

    fn complain(&mut self, complaint: Complaint) -> Result<(), FileError> {
        self.counters.skipped += 1;
        if let Some(complain) = &mut self.complain {
            complain(&complaint);
        }
        if self.strict {
            return Err(FileError::Strict {
                name: self.name.clone(),
                complaint,
            });
        }
        Ok(())
    }

    /// Looks at what is there, and takes it.
    fn look(&mut self) -> Result<Found, FileError> {
        match &mut self.parser {
            Parser::Unknown => {
                match sniff(self.window.bytes(), self.window.at_end()) {
                    None => return Ok(Found::More),
                    Some(Kind::Lines) => self.parser = Parser::Lines(Lines::default()),
                    Some(Kind::Records) => self.parser = Parser::Records,
                    Some(Kind::Capture) => {
                        self.parser =
                            Parser::Capture(Box::new(Captured::new(self.verbatim, self.least)));
                    }
                }
                Ok(Found::Nothing)
            }
            Parser::Lines(lines) => Ok(look_at_line(&mut self.window, lines, &mut self.frame)),
            Parser::Records => Ok(look_at_record(&mut self.window, &mut self.counters)),
            Parser::Capture(captured) => {
                captured
                    .look(&mut self.window, &mut self.frame)
                    .map_err(|source| FileError::Capture {
                        name: self.name.clone(),
                        source,
                    })
            }
        }
    }
}

/// Tells the kinds apart by the first bytes; `None` when there are too few yet.
fn sniff(bytes: &[u8], end: bool) -> Option<Kind> {
    let magics = [record::MAGIC, record::DATED_MAGIC].map(u16::to_be_bytes);
    if magics.iter().any(|magic| bytes.starts_with(magic)) {
        return Some(Kind::Records);
    }
    if CAPTURES.iter().any(|capture| bytes.starts_with(capture)) {
        return Some(Kind::Capture);
    }
    let may_become = |magic: &[u8]| bytes.len() < magic.len() && magic.starts_with(bytes);
    let undecided = may_become(&magics[0]) || CAPTURES.iter().any(|capture| may_become(capture));
    (end || !undecided).then_some(Kind::Lines)
}

fn look_at_line(window: &mut Window<Input>, lines: &mut Lines, frame: &mut Vec<u8>) -> Found {
    let complaint = |number: u64, reason: String| {
        Found::Complaint(Complaint {
            place: format!("line {number}"),
            reason,
        })
    };
    let (used, found) = match lines.next(window.bytes(), window.at_end()) {
        line::Step::More => return Found::More,
        line::Step::Skip { used } => (used, Found::Nothing),
        line::Step::TooLong { used, number } => (
            used,
            complaint(
                number,
                format!(
                    "longer than {} characters; no packet's line is, so it was skipped",
                    line::MAX_LINE_LEN
                ),
            ),
        ),
        line::Step::Line { used, number, line } => match line::decode(line, frame) {
            Ok(None) => (used, Found::Nothing),
            Err(error) => match for_people(line) {
                Some(what) => (used, Found::ForPeople(number, what)),
                None => (used, complaint(number, error.to_string())),
            },
            // Its writer has gone in the middle of it. Text without its last line feed is a whole line as well.
            Ok(Some(_)) if used == line.len() && packet::flow::is_cut(frame) => (
                used,
                complaint(
                    number,
                    "cut off: it has no line feed, and its IP packet is longer; it was skipped"
                        .into(),
                ),
            ),
            Ok(Some(head)) => {
                let head = Head {
                    hash: head.hash,
                    original_len: frame.len() as u32,
                    ..Head::stamped(head.stamp)
                };
                (used, Found::Packet(Location::Frame, head))
            }
        },
    };
    window.take(used);
    found
}

/// Why a line that the commands write for people or programs is none of packets, if it is one.
#[must_use]
pub fn for_people(line: &[u8]) -> Option<&'static str> {
    if line.first() == Some(&b'{') {
        return Some(
            "an object of --json, from which no packets are read; write it without --json, or with --raw",
        );
    }
    let told = line.windows(8).any(|part| part == b" bytes: ");
    told.then_some(
        "a line of --text, from which no packets are read; write it without --text, or with --raw",
    )
}

fn look_at_record(window: &mut Window<Input>, counters: &mut Counters) -> Found {
    match record::next(window.bytes(), window.at_end()) {
        record::Step::More => Found::More,
        record::Step::Skip { bytes } => {
            let complaint = Complaint {
                place: format!("byte {}", window.place()),
                reason: format!(
                    "{bytes} bytes are no record (magic 3776 or 3777); they were skipped"
                ),
            };
            window.take(bytes);
            counters.skipped_bytes += bytes as u64;
            Found::Complaint(complaint)
        }
        record::Step::Packet { used, packet } => {
            let head = Head {
                hash: packet.hash,
                original_len: packet.bytes.len() as u32,
                ..Head::stamped(packet.stamp)
            };
            let length = packet.bytes.len();
            let taken = window.take(used);
            Found::Packet(Location::Window(taken.end - length..taken.end), head)
        }
    }
}

#[cfg(test)]
mod tests;
