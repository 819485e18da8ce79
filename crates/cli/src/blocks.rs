//! Text read by large blocks of whole lines: for commands that work on ranges of the text and
//! never need the packet.

use crate::complaints::Complaints;
use crate::stream::{self, Source, Stream};
use ::capture::file::Next;
use anyhow::Context;
use packet::line::MAX_LINE_LEN;

/// Bytes read at a time: large beside a pipe's 64 KiB, small beside a second-level cache.
const BLOCK: usize = 512 * 1024;

/// Whole lines out of a file, pipe or terminal.
pub struct Blocks<R = Stream> {
    source: R,
    name: String,
    buffer: Vec<u8>,
    /// Where the unused part of what was read begins and ends.
    used: usize,
    filled: usize,
    /// The number of the next line, from 1.
    line: u64,
    /// In the middle of a line that is too long.
    skipping: bool,
    ended: bool,
}

/// Lines, each with its newline.
#[derive(Clone, Copy)]
pub struct Block<'a> {
    pub text: &'a [u8],
    /// The number of the first line, from 1.
    pub line: u64,
    /// How long the packet of each line was before a capture cut it short; empty where that is not
    /// known.
    pub lengths: &'a [u32],
}

impl<R: Source> Blocks<R> {
    /// Lines of `source`, called `name` in messages.
    pub fn new(source: R, name: impl Into<String>) -> Blocks<R> {
        Blocks {
            source,
            name: name.into(),
            // The system gives the pages of a longest line when one comes, and not before.
            buffer: vec![0; BLOCK + MAX_LINE_LEN],
            used: 0,
            filled: 0,
            line: 1,
            skipping: false,
            ended: false,
        }
    }

    /// The next lines, as many as one read gives. A line without its newline is one at the end, and none
    /// at a stop, which `complaints` are told.
    ///
    /// Calls `idle` before it waits for input that is not there yet, so that nothing lies in a
    /// buffer meanwhile.
    ///
    /// # Errors
    /// When reading fails, or `idle` does, or a line is too long and `complaints` is strict.
    pub fn next(
        &mut self,
        complaints: &Complaints,
        idle: &mut dyn FnMut() -> anyhow::Result<()>,
    ) -> anyhow::Result<Next<Block<'_>>> {
        loop {
            if self.ended && self.used < self.filled && self.buffer[self.filled - 1] != b'\n' {
                // The last read, which found the end, had room for a byte.
                self.buffer[self.filled] = b'\n';
                self.filled += 1;
            }
            let unused = &self.buffer[self.used..self.filled];
            let whole = match memchr::memrchr(b'\n', unused) {
                Some(last) => last + 1,
                None => 0,
            };
            if whole > 0 {
                let text = self.used..self.used + whole;
                self.used += whole;
                if self.skipping {
                    self.skip_to_newline(text.start);
                    continue;
                }
                let line = self.line;
                let text = &self.buffer[text];
                if line == 1 {
                    let first = text.split(|&byte| byte == b'\n').next();
                    if let Some(what) = first.and_then(::capture::file::for_people) {
                        anyhow::bail!("{}: line 1: {what}", self.name);
                    }
                }
                self.line += memchr::memchr_iter(b'\n', text).count() as u64;
                return Ok(Next::Item(Block {
                    text,
                    line,
                    lengths: &[],
                }));
            }
            if self.ended {
                return Ok(Next::End);
            }
            if unused.len() > MAX_LINE_LEN {
                if !self.skipping {
                    let reason = format_args!("a line longer than {MAX_LINE_LEN} bytes");
                    complaints.bad(format_args!("{}:{}", self.name, self.line), reason)?;
                }
                self.skipping = true;
                self.used = self.filled;
            }
            if !self.fill(idle)? {
                complaints.stopped();
                return Ok(Next::Stopped);
            }
        }
    }

    /// Leaves out what is left of a line that was too long.
    fn skip_to_newline(&mut self, from: usize) {
        if let Some(newline) = memchr::memchr(b'\n', &self.buffer[from..self.filled]) {
            self.skipping = false;
            self.used = from + newline + 1;
            self.line += 1;
        } else {
            self.used = self.filled;
        }
    }

    /// Reads once; false when asked to stop.
    fn fill(&mut self, idle: &mut dyn FnMut() -> anyhow::Result<()>) -> anyhow::Result<bool> {
        self.buffer.copy_within(self.used..self.filled, 0);
        self.filled -= self.used;
        self.used = 0;
        let end = self.buffer.len().min(self.filled + BLOCK);
        let read = stream::fill(&mut self.source, &mut self.buffer[self.filled..end], idle);
        let read = read.with_context(|| format!("cannot read {}", self.name))?;
        self.ended = read == Next::End;
        self.filled += read.item().unwrap_or(0);
        Ok(read != Next::Stopped)
    }
}

impl<'a> Block<'a> {
    /// Where each line ends: behind its newline.
    pub fn ends(self) -> impl Iterator<Item = usize> {
        memchr::memchr_iter(b'\n', self.text).map(|newline| newline + 1)
    }

    /// The lines with their numbers, without newlines and without empty and comment lines.
    pub fn lines(self) -> impl Iterator<Item = (u64, &'a [u8])> {
        let mut rest = self.text;
        let mut number = self.line;
        std::iter::from_fn(move || {
            while !rest.is_empty() {
                let (line, after) = split_line(rest);
                rest = after;
                number += 1;
                if !is_blank(line) {
                    return Some((number - 1, line));
                }
            }
            None
        })
    }
}

/// The first line without its `\n` or `\r\n`, and what comes after it.
#[inline]
pub fn split_line(text: &[u8]) -> (&[u8], &[u8]) {
    let (line, rest) = match memchr::memchr(b'\n', text) {
        Some(newline) => (&text[..newline], &text[newline + 1..]),
        None => (text, &[][..]),
    };
    (line.strip_suffix(b"\r").unwrap_or(line), rest)
}

/// Whether a line holds no packet: empty, or a comment (FORMATS section 1).
#[inline]
pub fn is_blank(line: &[u8]) -> bool {
    line.is_empty() || line[0] == b'#'
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;
    use std::io;

    /// Gives at most `step` bytes a read, is never ready at once, and ends as it is told to.
    struct Drip<'a>(&'a [u8], usize, Next<usize>);
    impl Source for Drip<'_> {
        fn ready(&self) -> io::Result<bool> {
            Ok(false)
        }
        fn next(&mut self, buffer: &mut [u8]) -> io::Result<Next<usize>> {
            let n = self.1.min(buffer.len()).min(self.0.len());
            buffer[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(if n == 0 { self.2 } else { Next::Item(n) })
        }
    }

    fn lines(text: &[u8], step: usize) -> (Vec<(u64, String)>, u64) {
        let (lines, complaints) = until(Next::End, text, step);
        (lines, complaints.skipped())
    }

    fn until(end: Next<usize>, text: &[u8], step: usize) -> (Vec<(u64, String)>, Complaints) {
        let mut blocks = Blocks::new(Drip(text, step, end), "test");
        let (mut lines, complaints) = (Vec::new(), Complaints::quiet());
        while let Next::Item(block) = blocks.next(&complaints, &mut || Ok(())).unwrap() {
            let text = |(n, line): (u64, &[u8])| (n, String::from_utf8(line.to_vec()).unwrap());
            lines.extend(block.lines().map(text));
        }
        (lines, complaints)
    }

    #[test]
    fn half_a_line_is_one_at_the_end_and_none_at_a_stop() {
        for (end, count, verdict) in [
            (Next::End, 2, Verdict::Good),
            (Next::Stopped, 1, Verdict::Stopped),
        ] {
            let (lines, complaints) = until(end, b"one\ntw", 3);
            assert_eq!((lines.len(), complaints.finish()), (count, verdict));
        }
    }

    #[test]
    fn lines_are_whole_and_numbered_however_they_come_in() {
        let expected: Vec<_> = [(1, "one"), (4, "four"), (5, "last")]
            .map(|(n, line)| (n, line.to_string()))
            .into();
        for step in [1, 2, 3, 7, 100] {
            let text = b"one\r\n# two\n\nfour\nlast";
            assert_eq!(lines(text, step), (expected.clone(), 0), "{step}");
        }
    }

    #[test]
    fn a_line_without_end_is_skipped_in_bounded_memory() {
        let mut text = b"one\n".to_vec();
        text.resize(3 * BLOCK, b'x');
        text.extend_from_slice(b"\nthree\n");
        let (lines, bad) = lines(&text, 100_000);
        assert_eq!(lines, [(1, "one".into()), (3, "three".into())]);
        assert_eq!(bad, 1);
    }
}
