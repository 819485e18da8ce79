//! Files as blocks of lines, whatever form their packets have.

use crate::blocks::{Block, Blocks};
use crate::complaints::Complaints;
use crate::packets::{Consumer, Ended, Packets};
use crate::stream::{Content, Stream, name};
use live::file::{Item, Next};
use packet::line;
use std::path::Path;

/// Packets that become one block.
const PACKETS: usize = 1024;
/// What is wrong with text that is no line, and how a line looks.
pub const NO_LINE: &str =
    "not a packet line: [TIME ][HASH ]DST SRC TYPE XX XX ..., fields told by their widths";

/// A file's packets as lines: the text itself where it is that already.
pub enum Input {
    /// Lines.
    Text(Blocks),
    /// Something else, and the lines made of it.
    Made(Box<Made>),
}

/// Packets that are turned into lines.
pub struct Made {
    packets: Packets,
    text: Vec<u8>,
    line: u64,
    ended: Option<Ended>,
}

/// Appends packets as lines.
struct Typist<'a, F> {
    text: &'a mut Vec<u8>,
    idle: F,
}

impl<F: FnMut() -> anyhow::Result<()>> Consumer for Typist<'_, F> {
    fn packet(&mut self, item: &Item<'_>) -> anyhow::Result<bool> {
        line::encode(&item.packet(), line::Form::default(), self.text)?;
        Ok(true)
    }

    fn idle(&mut self) -> anyhow::Result<()> {
        (self.idle)()
    }
}

impl Input {
    /// Opens a file, or standard input for `-`.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path, complaints: &Complaints) -> anyhow::Result<Input> {
        let stream = Stream::open(path)?;
        if stream.content() == Content::Text {
            return Ok(Input::Text(Blocks::new(stream, name(path))));
        }
        Ok(Input::Made(Box::new(Made {
            packets: Packets::new(stream, name(path), complaints)?,
            text: Vec::new(),
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
        idle: &mut dyn FnMut() -> anyhow::Result<()>,
    ) -> anyhow::Result<Next<Block<'_>>> {
        match self {
            Input::Text(blocks) => blocks.next(complaints, idle),
            Input::Made(made) => made.next(idle),
        }
    }
}

impl Made {
    fn next(
        &mut self,
        idle: &mut dyn FnMut() -> anyhow::Result<()>,
    ) -> anyhow::Result<Next<Block<'_>>> {
        self.text.clear();
        while self.text.is_empty() && self.ended.is_none() {
            let mut typist = Typist {
                text: &mut self.text,
                idle: &mut *idle,
            };
            self.ended = self.packets.read(PACKETS, &mut typist)?;
        }
        let (text, line) = (&self.text[..], self.line);
        self.line += memchr::memchr_iter(b'\n', text).count() as u64;
        Ok(match self.ended {
            _ if !text.is_empty() => Next::Item(Block { text, line }),
            Some(Ended::Stopped) => Next::Stopped,
            _ => Next::End,
        })
    }
}

/// A line of a file as messages name it.
pub fn place(path: &Path, number: u64) -> String {
    format!("{}:{number}", name(path))
}
