//! Packets as hex dumps: those of `xxd`, `hexdump -C`, `od -t x1`, `tcpdump -xx` and `-XX`, Wireshark, and what text2pcap reads.
//!
//! A line is an offset, in hexadecimal or as od has it in octal digits, and bytes; text behind them is passed over. A packet begins
//! at offset 0. Offsets have to be those of the bytes, so that nothing is lost or read wrong without a word. Another line stands
//! before a packet and says something of it, such as its time.
//!
//! ```
//! let mut told = Vec::new();
//! let mut dump = packet::hexdump::Hexdump::default();
//! for line in ["12:00:00.5", "0000  02 00 00 00  ....", "0004  00 07        ..", "0000: 0102"] {
//!     dump.line(line, &mut |before, bytes| told.push((before.to_string(), bytes.to_vec())))?;
//! }
//! dump.finish(&mut |before, bytes| told.push((before.to_string(), bytes.to_vec())));
//! assert_eq!(told, [("12:00:00.5".into(), vec![2, 0, 0, 0, 0, 7]), ("".into(), vec![1, 2])]);
//! # Ok::<(), packet::hexdump::BadDump>(())
//! ```

use crate::MAX_FRAME_LEN;
use alloc::string::String;
use alloc::vec::Vec;

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadDump {
    /// Its offset is another than that of its bytes.
    #[error(
        "the offset {offset:x} stands where {expected:x} was expected: {expected} bytes came before it"
    )]
    Offset {
        /// That of the line.
        offset: u64,
        /// How many bytes came before.
        expected: usize,
    },
    /// Bytes without an offset 0 before them.
    #[error("a packet begins at offset 0")]
    Begin,
    /// The packet is longer than a frame can be.
    #[error("a packet longer than {MAX_FRAME_LEN} bytes")]
    Length,
    /// There is no byte behind the offset.
    #[error("no byte of two hexadecimal digits behind the offset")]
    Bytes,
}

/// Reads a dump line by line.
#[derive(Clone, Debug, Default)]
pub struct Hexdump {
    /// The line before the packet that is being read.
    before: String,
    /// The line before the next.
    next: String,
    bytes: Vec<u8>,
    open: bool,
    /// The last line's bytes come again up to the next offset.
    repeats: bool,
    /// How many bytes the last line had.
    width: usize,
    /// Offsets are those of od: seven octal digits.
    octal: bool,
}

impl Hexdump {
    /// Takes a line, and gives what stood before a packet and its bytes when they are complete.
    ///
    /// # Errors
    /// When the line does not fit to those before it.
    pub fn line(&mut self, line: &str, done: &mut dyn FnMut(&str, &[u8])) -> Result<(), BadDump> {
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') {
            return Ok(());
        }
        if text == "*" && self.open {
            self.repeats = true;
            return Ok(());
        }
        let Some((digits, colon, rest)) = offset(text) else {
            self.finish(done);
            // tcpdump writes a second line for what is in a tunnel; the time stands in the first.
            let timed = |line: &str| line.starts_with(|c: char| c.is_ascii_digit());
            if timed(text) || !timed(&self.next) {
                self.next.clear();
                self.next.push_str(text);
            }
            return Ok(());
        };
        let number = |base| u64::from_str_radix(digits, base).ok();
        if number(16) == Some(0) && !(self.open && rest.trim().is_empty()) {
            self.finish(done);
            core::mem::swap(&mut self.before, &mut self.next);
            self.next.clear();
            self.open = true;
            self.octal = digits.len() == 7;
        } else if !self.open {
            return Err(BadDump::Begin);
        } else {
            self.reach(number(16), number(8))?;
        }
        let start = self.bytes.len();
        read(rest, colon, &mut self.bytes);
        self.width = self.bytes.len() - start;
        match self.width {
            // The last line of hexdump is the length.
            0 if start > 0 && rest.trim().is_empty() => Ok(()),
            0 => Err(BadDump::Bytes),
            _ if self.bytes.len() > MAX_FRAME_LEN => Err(BadDump::Length),
            _ => Ok(()),
        }
    }

    /// Nothing follows.
    pub fn finish(&mut self, done: &mut dyn FnMut(&str, &[u8])) {
        if self.open {
            done(&self.before, &self.bytes);
        }
        self.before.clear();
        self.bytes.clear();
        (self.open, self.repeats) = (false, false);
    }

    /// Goes on at an offset, read in either base.
    fn reach(&mut self, hexadecimal: Option<u64>, octal: Option<u64>) -> Result<(), BadDump> {
        let expected = self.bytes.len();
        if self.repeats && self.width > 0 {
            // Whole lines come again.
            let fits = |at: &u64| {
                *at > expected as u64 && (at - expected as u64).is_multiple_of(self.width as u64)
            };
            let at = if self.octal { octal } else { hexadecimal };
            let end = at.filter(fits).ok_or(BadDump::Offset {
                offset: at.unwrap_or(0),
                expected,
            })?;
            if end > MAX_FRAME_LEN as u64 {
                return Err(BadDump::Length);
            }
            while (self.bytes.len() as u64) < end {
                let from = self.bytes.len() - self.width;
                self.bytes.extend_from_within(from..);
            }
            self.repeats = false;
            return Ok(());
        }
        match [hexadecimal, octal].contains(&Some(expected as u64)) {
            true => Ok(()),
            false => Err(BadDump::Offset {
                offset: hexadecimal.unwrap_or(0),
                expected,
            }),
        }
    }
}

/// The digits of an offset, whether a colon follows, and the rest; `None` for a line of another kind.
fn offset(text: &str) -> Option<(&str, bool, &str)> {
    let text = text.strip_prefix("0x").unwrap_or(text);
    let end = text
        .find(|c: char| !c.is_ascii_hexdigit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let behind = rest.strip_prefix(':').unwrap_or(rest);
    let sound =
        (3..=16).contains(&digits.len()) && (behind.is_empty() || behind.starts_with([' ', '\t']));
    // A date such as 20261122 has no byte behind it.
    sound.then_some((digits, behind.len() < rest.len(), behind))
}

/// Appends the bytes at the front of a line behind its offset.
fn read(line: &str, colon: bool, bytes: &mut Vec<u8>) {
    let mut rest = line.trim_start();
    let mut count = 0;
    loop {
        let end = rest
            .find(|c: char| !c.is_ascii_hexdigit())
            .unwrap_or(rest.len());
        let (digits, behind) = rest.split_at(end);
        let ends = behind.is_empty() || behind.starts_with([' ', '\t', '\r']);
        if digits.is_empty() || digits.len() % 2 == 1 || digits.len() > 32 || !ends {
            return;
        }
        for pair in digits.as_bytes().chunks(2) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16).unwrap_or(0) as u8;
            bytes.push(digit(0) << 4 | digit(1));
            count += 1;
        }
        rest = behind.trim_start();
        let gap = behind.len() - rest.len();
        // Text follows a wider gap; some dumps have a gap of two spaces in the middle.
        if gap > 1 && (colon || gap > 2 || count != 8 || digits.len() > 2) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;
    use proptest::prelude::*;

    fn packets(text: &str) -> Result<Vec<(String, Vec<u8>)>, BadDump> {
        let mut told = Vec::new();
        let mut dump = Hexdump::default();
        for line in text.lines() {
            dump.line(line, &mut |before, bytes| {
                told.push((before.to_string(), bytes.to_vec()))
            })?;
        }
        dump.finish(&mut |before, bytes| told.push((before.to_string(), bytes.to_vec())));
        Ok(told)
    }

    /// 40 zeros and some text.
    fn bytes() -> Vec<u8> {
        let mut bytes = vec![0; 40];
        bytes.extend(b"ab cd hello wor");
        bytes
    }

    #[test]
    fn dumps_of_many_programs_are_the_same_packet() {
        for dump in [
            // xxd
            "00000000: 0000 0000 0000 0000 0000 0000 0000 0000  ................\n\
             00000010: 0000 0000 0000 0000 0000 0000 0000 0000  ................\n\
             00000020: 0000 0000 0000 0000 6162 2063 6420 6865  ........ab cd he\n\
             00000030: 6c6c 6f20 776f 72                        llo wor",
            // hexdump -C
            "00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|\n*\n\
             00000020  00 00 00 00 00 00 00 00  61 62 20 63 64 20 68 65  |........ab cd he|\n\
             00000030  6c 6c 6f 20 77 6f 72                              |llo wor|\n00000037",
            // od -A x -t x1z
            "000000 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  >................<\n*\n\
             000020 00 00 00 00 00 00 00 00 61 62 20 63 64 20 68 65  >........ab cd he<\n\
             000030 6c 6c 6f 20 77 6f 72                             >llo wor<\n000037",
            // od -t x1
            "0000000 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n*\n\
             0000040 00 00 00 00 00 00 00 00 61 62 20 63 64 20 68 65\n\
             0000060 6c 6c 6f 20 77 6f 72\n0000067",
            // tcpdump -XX, and Wireshark's
            "\t0x0000:  0000 0000 0000 0000 0000 0000 0000 0000  ................\n\
             \t0x0010:  0000 0000 0000 0000 0000 0000 0000 0000  ................\n\
             \t0x0020:  0000 0000 0000 0000 6162 2063 6420 6865  ........ab cd he\n\
             \t0x0030:  6c6c 6f20 776f 72                        llo wor",
            "0000  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00   ................\n\
             0010  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00   ................\n\
             0020  00 00 00 00 00 00 00 00 61 62 20 63 64 20 68 65   ........ab cd he\n\
             0030  6c 6c 6f 20 77 6f 72                              llo wor",
        ] {
            assert_eq!(packets(dump), Ok(vec![(String::new(), bytes())]), "{dump}");
        }
    }

    #[test]
    fn what_stands_before_a_packet_goes_with_it() {
        let text = "# told\n1.5 first\nnot this\n000000 01 02\n\nnor this\nsecond\n000000 03 04\n000000 05";
        let told: Vec<_> = packets(text).unwrap();
        assert_eq!(
            told,
            [
                ("1.5 first".into(), vec![1, 2]),
                ("second".into(), vec![3, 4]),
                (String::new(), vec![5])
            ]
        );
        assert_eq!(packets("# nothing\n\n"), Ok(vec![]));
    }

    #[test]
    fn a_line_that_does_not_fit_is_an_error() {
        for (text, error) in [
            (
                "0000 01 02\n0003 04",
                BadDump::Offset {
                    offset: 3,
                    expected: 2,
                },
            ),
            ("0010 01", BadDump::Begin),
            ("0000 zz", BadDump::Bytes),
            ("0000 1", BadDump::Bytes),
            ("0000 01\n*\nffffff 02", BadDump::Length),
            (
                "0000 01 02\n*\n0005 02",
                BadDump::Offset {
                    offset: 5,
                    expected: 2,
                },
            ),
        ] {
            assert_eq!(packets(text), Err(error), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(0000|0010|[0-9a-f]{2}|:| |\\*|\n|x|0x|\\|){0,40}") {
            let _ = packets(&text);
        }
    }
}
