//! Where the fields of a line stand, told from the text alone (FORMATS section 1).

use packet::Date;
use std::ops::Range;

/// Digits of an address, of an EtherType, and of both addresses and the type with their blanks.
const MAC: usize = 12;
const TYPE: usize = 4;
const ETHER: usize = MAC + 1 + MAC + 1 + TYPE;

/// The place of each field in a line with single blanks between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Digits of the date or word; zero without.
    time: usize,
    hash: bool,
    /// Where the destination address begins.
    ether: usize,
}

impl Layout {
    /// Tells a line's layout by the widths of its first fields; `None` if they are not those of a
    /// line, or if blanks stand elsewhere than they do on output (see [`tidy`]).
    #[inline]
    pub fn of(line: &[u8]) -> Option<Layout> {
        let blank = |at: usize| line.get(at) == Some(&b' ');
        let stamped = |digits: usize| {
            if blank(digits + 9) && !blank(digits + 13) {
                (digits, true, digits + 10)
            } else {
                (digits, false, digits + 1)
            }
        };
        let (time, hash, ether) = if blank(12) {
            (0, false, 0)
        } else if blank(16) {
            stamped(16)
        } else if blank(Date::DIGITS) {
            stamped(Date::DIGITS)
        } else if blank(8) {
            (0, true, 9)
        } else {
            return None;
        };
        let fields = line.get(ether..)?.first_chunk::<ETHER>()?;
        // Digits everywhere but at two places; the rest of the line is not looked at.
        let sound = fields[MAC] == b' ' && fields[2 * MAC + 1] == b' ' && has_two_blanks(fields);
        let ends = line.len() == ether + ETHER || line[ether + ETHER] == b' ';
        (sound && ends).then_some(Layout { time, hash, ether })
    }

    /// The date or the timestamp word.
    pub fn time(self) -> Option<Range<usize>> {
        (self.time > 0).then_some(0..self.time)
    }

    /// The five-tuple hash.
    pub fn hash(self) -> Option<Range<usize>> {
        self.hash
            .then_some(self.ether.wrapping_sub(9)..self.ether.wrapping_sub(1))
    }

    /// Destination, source and type with the blanks between them.
    #[inline]
    pub fn ether(self) -> Range<usize> {
        self.ether..self.ether + ETHER
    }

    /// The destination address.
    #[inline]
    pub fn dst(self) -> Range<usize> {
        self.ether..self.ether + MAC
    }

    /// The source address.
    #[inline]
    pub fn src(self) -> Range<usize> {
        self.ether + MAC + 1..self.ether + 2 * MAC + 1
    }

    #[inline]
    pub fn ethertype(self) -> Range<usize> {
        self.ether + ETHER - TYPE..self.ether + ETHER
    }

    /// Where the bytes behind the EtherType begin; past the end of a line that has none.
    pub fn payload(self) -> usize {
        self.ether + ETHER + 1
    }
}

/// Whether all bytes are greater than a blank, but for those behind the addresses, which are blanks.
#[inline]
fn has_two_blanks(fields: &[u8; ETHER]) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let word = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&fields[at..at + 8]);
        u64::from_le_bytes(bytes)
    };
    // The two blanks become digits, by one bit each. The last word overlaps the one before it.
    let words = [
        word(0),
        word(8) ^ (0x10 << (8 * (MAC - 8))),
        word(16),
        word(22) ^ (0x10 << (8 * (2 * MAC + 1 - 22))),
    ];
    // The top bit of some byte is set exactly if some byte is less than 0x21: a borrow that crosses
    // into a byte comes from such a one.
    let less = |word: u64| word.wrapping_sub(ONES * 0x21) & !word & (ONES * 0x80);
    words.into_iter().fold(0, |found, word| found | less(word)) == 0
}

/// Writes `line` with single blanks between its fields and none around them.
pub fn tidy(line: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let fields = line.split(|byte| matches!(byte, b' ' | b'\t'));
    for field in fields.filter(|field| !field.is_empty()) {
        if !out.is_empty() {
            out.push(b' ');
        }
        out.extend_from_slice(field);
    }
}

/// The byte that two hexadecimal digits stand for.
#[inline]
pub fn hex_byte(digits: &[u8]) -> Option<u8> {
    let digit = |byte: u8| (byte as char).to_digit(16);
    match digits {
        [high, low] => Some((digit(*high)? << 4 | digit(*low)?) as u8),
        _ => None,
    }
}

/// Puts the first bytes of a line's frame into `frame`, as many as fit or are there; returns how
/// many. Stops at what is not a byte.
pub fn frame_head(line: &[u8], layout: Layout, frame: &mut [u8]) -> usize {
    let solid = [layout.dst(), layout.src(), layout.ethertype()];
    let solid = solid.into_iter().flat_map(|range| line[range].chunks(2));
    let payload = line.get(layout.payload()..).unwrap_or_default();
    let pairs = solid.chain(payload.chunks(3).map(|chunk| &chunk[..chunk.len().min(2)]));
    let mut len = 0;
    for (byte, digits) in frame.iter_mut().zip(pairs) {
        match hex_byte(digits) {
            Some(value) => *byte = value,
            None => break,
        }
        len += 1;
    }
    len
}

#[cfg(test)]
mod tests {
    use super::*;

    const ETHERNET: &str = "001122334455 66778899AABB 0800 45 00";

    #[test]
    fn every_form_of_a_line_is_told_by_its_widths() {
        let word = "00000000075BCD15 ";
        let hash = "DEADBEEF ";
        let date = "000445B1F4B16A3C8E30 ";
        for (time, hash) in ["", word, date]
            .into_iter()
            .flat_map(|time| [(time, ""), (time, hash)])
        {
            let line = format!("{time}{hash}{ETHERNET}");
            let layout = Layout::of(line.as_bytes()).unwrap();
            assert_eq!(&line[layout.dst()], "001122334455", "{line}");
            assert_eq!(&line[layout.src()], "66778899AABB");
            assert_eq!(&line[layout.ethertype()], "0800");
            assert_eq!(&line[layout.payload()..], "45 00");
            let end = layout.time().map_or(0, |range| range.end);
            assert_eq!(end, time.trim_end().len());
            assert_eq!(
                layout.hash().map(|range| &line[range]),
                (!hash.is_empty()).then_some("DEADBEEF")
            );
            let mut frame = [0; 15];
            assert_eq!(frame_head(line.as_bytes(), layout, &mut frame), 15);
            assert_eq!(frame[..2], [0x00, 0x11]);
            assert_eq!(frame[11..], [0xBB, 0x08, 0x00, 0x45]);
        }
    }

    #[test]
    fn what_is_no_line_has_no_layout() {
        for text in [
            "",
            "hello",
            "001122334455",
            "001122334455 66778899AABB",
            "001122334455 66778899AABB 08",
            "001122334455 66778899AABB 08000",
            "00 122334455 66778899AABB 0800",
            "0011223344 5566778899AABB 0800",
            "00000000075BCD15 001122334455 66778899AABB",
        ] {
            assert_eq!(Layout::of(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn any_run_of_blanks_is_tidied() {
        let mut line = Vec::new();
        tidy(b" 001122334455\t 66778899AABB  0800 45   00 ", &mut line);
        assert_eq!(line, ETHERNET.as_bytes());
        assert!(Layout::of(&line).is_some());
    }
}
