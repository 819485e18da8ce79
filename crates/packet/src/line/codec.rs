//! The ways of reading and writing a line, which all give the same.

use super::simd::Path;
use super::{Form, Head, LineError, read, write};
use crate::{BadLength, Date, Packet, Stamp, flow};
use alloc::vec::Vec;
use core::fmt;

/// One way of reading and writing lines that this machine has. All give the same bytes, heads and
/// errors; [`encode`](super::encode) and [`decode`](super::decode) take the best.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Codec(Option<Path>);

impl Codec {
    /// The portable one.
    pub const PORTABLE: Codec = Codec(None);

    /// The fastest that this machine has.
    #[inline]
    pub fn best() -> Codec {
        Codec(Path::best())
    }

    /// All that this machine has, the fastest first.
    pub fn available() -> impl Iterator<Item = Codec> {
        Path::all()
            .map(|path| Codec(Some(path)))
            .chain([Codec::PORTABLE])
    }

    /// As [`line::encode`](super::encode).
    ///
    /// # Errors
    /// When the frame is not 14 to 262,144 bytes long; `out` is as it was.
    #[inline]
    pub fn encode(
        self,
        packet: &Packet<'_>,
        form: Form,
        out: &mut Vec<u8>,
    ) -> Result<(), BadLength> {
        packet.check()?;
        let word = match packet.stamp.filter(|_| form.time) {
            Some(Stamp::Date(date)) => {
                write::date(date, out);
                None
            }
            Some(Stamp::Word(word)) => Some(word),
            None => form.time.then_some(0),
        };
        let hash = form
            .hash
            .then(|| packet.hash.unwrap_or_else(|| flow::hash(packet.bytes)));
        match self.0 {
            Some(path) => path.encode(word, hash, packet.bytes, out),
            None => write::line(word, hash, packet.bytes, out),
        }
        Ok(())
    }

    /// As [`line::decode`](super::decode).
    ///
    /// # Errors
    /// The first place on the line that is wrong, with the mend; `frame` then holds nothing of use.
    #[inline]
    pub fn decode(self, line: &[u8], frame: &mut Vec<u8>) -> Result<Option<Head>, LineError> {
        let line = without_end(line);
        let (date, behind) = split_date(line);
        if let Some(path) = self.0
            && let Some((mut head, at)) = path.decode(&line[behind..], frame)
            && (date.is_none() || head.stamp.is_none())
        {
            head.stamp = date.map(Stamp::Date).or(head.stamp);
            let at = behind + at;
            if at == line.len() {
                return Ok(Some(head));
            }
            if read::is_blank(line[at]) {
                read::payload(line, at, frame)?;
                return Ok(Some(head));
            }
            // The last field read goes on: the portable code finds the place and the reason.
        }
        read::line(line, frame)
    }
}

/// The date at the front of a line in the written form, and where the next field begins.
#[inline(always)]
fn split_date(line: &[u8]) -> (Option<Date>, usize) {
    if line.get(Date::DIGITS) != Some(&b' ') {
        return (None, 0);
    }
    match read::date(&line[..Date::DIGITS]) {
        Some(date) => (Some(date), Date::DIGITS + 1),
        None => (None, 0),
    }
}

/// The line without `\n` or `\r\n`.
#[inline(always)]
fn without_end(line: &[u8]) -> &[u8] {
    // Only the length depends on the last bytes, so that reading the first need not wait for them.
    let mut end = line.len();
    end -= usize::from(end > 0 && line[end - 1] == b'\n');
    end -= usize::from(end > 0 && line[end - 1] == b'\r');
    &line[..end]
}

impl fmt::Debug for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.map_or("portable", Path::name))
    }
}
