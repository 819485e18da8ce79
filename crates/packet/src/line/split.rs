//! Lines cut out of a stream that arrives in pieces.

use super::MAX_LINE_LEN;

/// What stands at the front of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// A whole line.
    Line {
        /// Bytes to take off the input.
        used: usize,
        /// The line's number, counted from 1.
        number: u64,
        /// The line without `\n`.
        line: &'a [u8],
    },
    /// A line longer than [`MAX_LINE_LEN`]; told once, when that is noticed. The rest of the line
    /// comes as [`Step::Skip`].
    TooLong {
        /// Bytes to take off the input.
        used: usize,
        /// The line's number, counted from 1.
        number: u64,
    },
    /// More of a line that is too long.
    Skip {
        /// Bytes to take off the input.
        used: usize,
    },
    /// The input holds no further whole line. At the end of a stream: nothing is left.
    More,
}

/// Cuts a stream into lines and numbers them, over a buffer that the caller owns. A buffer of
/// [`MAX_LINE_LEN`] and 2 bytes always suffices: a longer line is reported and skipped.
///
/// ```
/// use packet::line::{Lines, Step};
///
/// let (mut lines, mut input) = (Lines::default(), &b"one\ntwo"[..]);
/// let Step::Line { used, number: 1, line: b"one" } = lines.next(input, false) else { panic!() };
/// input = &input[used..];
/// assert_eq!(lines.next(input, false), Step::More);
/// assert_eq!(lines.next(input, true), Step::Line { used: 3, number: 2, line: b"two" });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// Lines begun.
    number: u64,
    /// Inside a line that is too long.
    skipping: bool,
}

impl Lines {
    /// Reads the front of `input`; `end` says that nothing follows it.
    ///
    /// A line without `\n` at the end of the stream counts as one.
    pub fn next<'a>(&mut self, input: &'a [u8], end: bool) -> Step<'a> {
        let window = &input[..input.len().min(MAX_LINE_LEN + 1)];
        let newline = memchr::memchr(b'\n', window);
        let used = newline.map_or(window.len(), |at| at + 1);
        if self.skipping {
            self.skipping = newline.is_none();
            return match used {
                0 => Step::More,
                _ => Step::Skip { used },
            };
        }
        let number = self.number + 1;
        let step = match newline {
            Some(at) => Step::Line {
                used,
                number,
                line: &input[..at],
            },
            None if used > MAX_LINE_LEN => {
                self.skipping = true;
                Step::TooLong { used, number }
            }
            None if end && used > 0 => Step::Line {
                used,
                number,
                line: input,
            },
            None => return Step::More,
        };
        self.number = number;
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    /// What comes out when the stream arrives in pieces of `piece` bytes.
    fn split(stream: &[u8], piece: usize) -> Vec<(u64, Option<Vec<u8>>)> {
        let (mut lines, mut buffer, mut found) = (Lines::default(), Vec::new(), Vec::new());
        let mut pieces = stream.chunks(piece);
        loop {
            let next = pieces.next();
            buffer.extend_from_slice(next.unwrap_or_default());
            let mut at = 0;
            loop {
                at += match lines.next(&buffer[at..], next.is_none()) {
                    Step::Line { used, number, line } => {
                        found.push((number, Some(line.to_vec())));
                        used
                    }
                    Step::TooLong { used, number } => {
                        found.push((number, None));
                        used
                    }
                    Step::Skip { used } => used,
                    Step::More => break,
                };
            }
            buffer.drain(..at);
            assert!(
                buffer.len() <= MAX_LINE_LEN,
                "the buffer grows without bound"
            );
            if next.is_none() {
                return found;
            }
        }
    }

    #[test]
    fn the_size_of_the_pieces_makes_no_difference() {
        let stream = b"one\n\ntwo\r\nthree";
        let want = [&b"one"[..], b"", b"two\r", b"three"];
        for piece in 1..stream.len() + 1 {
            let found = split(stream, piece);
            assert_eq!(found.len(), want.len());
            for (index, (number, line)) in found.into_iter().enumerate() {
                assert_eq!(number, index as u64 + 1);
                assert_eq!(line.unwrap(), want[index]);
            }
        }
    }

    #[test]
    fn a_line_longer_than_any_packet_is_told_once_and_skipped() {
        let mut stream = vec![b'0'; MAX_LINE_LEN];
        stream.extend_from_slice(b"\nnext\n");
        stream.resize(stream.len() + 5 * MAX_LINE_LEN, b'1');
        stream.extend_from_slice(b"\nlast\n");
        for piece in [4_096, 65_536, 1 << 20] {
            let found = split(&stream, piece);
            let lengths: Vec<_> = found
                .iter()
                .map(|(_, line)| line.as_ref().map(Vec::len))
                .collect();
            assert_eq!(lengths, [Some(MAX_LINE_LEN), Some(4), None, Some(4)]);
            assert_eq!(found[3].0, 4);
        }
    }
}
