//! Files as blocks of lines, whatever form their packets have.

use crate::blocks::{Block, Blocks};
use crate::complaints::Complaints;
use crate::epoch::in_words;
use crate::listen::Listener;
use crate::packets::{Consumer, Ended, Packets, Selecting};
use crate::select::Selector;
use crate::stream::{Content, Stream, name};
use ::capture::clock;
use ::capture::file::{Item, Next};
use packet::{Tick, line};
use std::path::{Path, PathBuf};

/// Packets that become one block.
const PACKETS: usize = 1024;
/// What is wrong with text that is no line, and how a line looks.
pub const NO_LINE: &str =
    "not a packet line: [TIME ][HASH ]DST SRC TYPE XX XX ..., fields told by their widths";

/// A file's packets as lines: the text itself where it is that already.
pub enum Input {
    /// Lines.
    Lines(Blocks),
    /// Something else, and the lines that it is converted into.
    Converted(Box<Converted>),
    /// What ports receive.
    Heard(Box<Heard>),
}

/// All files in turn, and then the ports.
pub fn all<'a>(
    files: &'a [PathBuf],
    listener: Listener,
    selects: bool,
    complaints: &'a Complaints,
) -> impl Iterator<Item = anyhow::Result<(PathBuf, Input)>> + 'a {
    let opened = move |path: &PathBuf| Ok((path.clone(), Input::open(path, selects, complaints)?));
    let heard = (!listener.is_empty()).then(|| Ok(("ports".into(), Input::heard(listener))));
    files.iter().map(opened).chain(heard)
}

/// Packets of ports that are turned into lines, with their words.
pub struct Heard {
    listener: Listener,
    text: Vec<u8>,
    lengths: Vec<u32>,
    line: u64,
    epoch_ps: u128,
    /// Lines were given, which may lie in a buffer.
    waits: bool,
    over: bool,
}

/// Packets that are converted into lines.
pub struct Converted {
    packets: Packets,
    text: Vec<u8>,
    lengths: Vec<u32>,
    line: u64,
    ended: Option<Ended>,
}

/// Appends packets as lines.
struct LineWriter<'a, F> {
    text: &'a mut Vec<u8>,
    lengths: &'a mut Vec<u32>,
    idle: F,
}

impl<F: FnMut() -> anyhow::Result<()>> Consumer for LineWriter<'_, F> {
    fn packet(&mut self, item: &Item<'_>) -> anyhow::Result<bool> {
        line::encode(&item.packet(), line::Form::default(), self.text)?;
        self.lengths.push(item.original_len);
        Ok(true)
    }

    fn idle(&mut self) -> anyhow::Result<()> {
        (self.idle)()
    }
}

/// Appends packets of ports as lines.
struct PortTypist<'a> {
    heard: (&'a mut Vec<u8>, &'a mut bool, u128),
    lengths: &'a mut Vec<u32>,
    idle: &'a mut dyn FnMut() -> anyhow::Result<()>,
}

impl Consumer for PortTypist<'_> {
    fn packet(&mut self, item: &Item<'_>) -> anyhow::Result<bool> {
        let (text, _, epoch_ps) = &mut self.heard;
        let packet = in_words(item, *epoch_ps, Tick::EIGHT_NS);
        line::encode(&packet, line::Form::default(), text)?;
        self.lengths.push(item.original_len);
        Ok(true)
    }

    fn idle(&mut self) -> anyhow::Result<()> {
        *self.heard.1 = false;
        (self.idle)()
    }

    fn waits(&self) -> bool {
        *self.heard.1
    }
}

impl Input {
    fn heard(listener: Listener) -> Input {
        Input::Heard(Box::new(Heard {
            listener,
            text: Vec::new(),
            lengths: Vec::new(),
            line: 1,
            epoch_ps: u128::from(clock::epoch_ns()) * 1_000,
            waits: false,
            over: false,
        }))
    }

    /// Opens a file, or standard input for `-`. To select some, packets are made of lines as of all else.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path, selects: bool, complaints: &Complaints) -> anyhow::Result<Input> {
        let stream = Stream::open(path)?;
        if !selects && stream.content() == Content::Text {
            return Ok(Input::Lines(Blocks::new(stream, name(path))));
        }
        Ok(Input::Converted(Box::new(Converted {
            packets: Packets::new(stream, name(path), complaints)?,
            text: Vec::new(),
            lengths: Vec::new(),
            line: 1,
            ended: None,
        })))
    }

    /// The next lines; see [`Blocks::next`].
    ///
    /// # Errors
    /// Those of reading, of `idle` and of strict complaints.
    pub fn next(
        &mut self,
        complaints: &Complaints,
        selector: &mut Selector,
        idle: &mut dyn FnMut() -> anyhow::Result<()>,
    ) -> anyhow::Result<Next<Block<'_>>> {
        match self {
            Input::Lines(blocks) => blocks.next(complaints, idle),
            Input::Converted(converted) => converted.next(selector, idle),
            Input::Heard(heard) => heard.next(complaints, selector, idle),
        }
    }
}

impl Heard {
    fn next(
        &mut self,
        complaints: &Complaints,
        selector: &mut Selector,
        idle: &mut dyn FnMut() -> anyhow::Result<()>,
    ) -> anyhow::Result<Next<Block<'_>>> {
        self.text.clear();
        self.lengths.clear();
        while self.text.is_empty() && !self.over {
            let mut writer = PortTypist {
                heard: (&mut self.text, &mut self.waits, self.epoch_ps),
                lengths: &mut self.lengths,
                idle: &mut *idle,
            };
            let mut selecting = Selecting::new(selector, Tick::EIGHT_NS, &mut writer);
            self.over = !self.listener.poll(&mut selecting)?;
        }
        if self.text.is_empty() {
            self.listener.finish(complaints)?;
            return Ok(Next::End);
        }
        self.waits = true;
        let (text, line) = (&self.text[..], self.line);
        self.line += memchr::memchr_iter(b'\n', text).count() as u64;
        let lengths = &self.lengths;
        Ok(Next::Item(Block {
            text,
            line,
            lengths,
        }))
    }
}

impl Converted {
    fn next(
        &mut self,
        selector: &mut Selector,
        idle: &mut dyn FnMut() -> anyhow::Result<()>,
    ) -> anyhow::Result<Next<Block<'_>>> {
        self.text.clear();
        self.lengths.clear();
        while self.text.is_empty() && self.ended.is_none() {
            let mut writer = LineWriter {
                text: &mut self.text,
                lengths: &mut self.lengths,
                idle: &mut *idle,
            };
            let mut selecting = Selecting::new(selector, Tick::EIGHT_NS, &mut writer);
            self.ended = self.packets.read(PACKETS, &mut selecting)?;
        }
        let (text, line) = (&self.text[..], self.line);
        self.line += memchr::memchr_iter(b'\n', text).count() as u64;
        Ok(match self.ended {
            _ if !text.is_empty() => Next::Item(Block {
                text,
                line,
                lengths: &self.lengths,
            }),
            Some(Ended::Stopped) => Next::Stopped,
            _ => Next::End,
        })
    }
}

/// A line of a file as messages name it.
pub fn place(path: &Path, number: u64) -> String {
    format!("{}:{number}", name(path))
}
