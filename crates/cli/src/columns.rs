//! Columns of a line by number, as `cut -d' ' -f` takes them, from the text alone.

use crate::blocks::{is_blank, split_line};
use anyhow::{Context, ensure};

/// Ranges of columns, counted from 1, ascending and apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns(Vec<(usize, usize)>);

impl Columns {
    /// Reads `4-`, `1,3`, `2-5,7-`, `-3`; `None` where the text does not begin as a list of
    /// numbers does.
    ///
    /// # Errors
    /// A number that is no column, or a range that goes backwards.
    pub fn parse(list: &str) -> anyhow::Result<Option<Columns>> {
        if !list.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            return Ok(None);
        }
        let mut ranges = Vec::new();
        for item in list.split(',') {
            let number = |text: &str, open| match text {
                "" => Ok(open),
                text => text.parse::<usize>(),
            };
            let place = || format!("`{item}` is not a column or a range of columns such as 4-");
            ensure!(item != "-" && !item.is_empty(), place());
            let (first, last) = match item.split_once('-') {
                Some((first, last)) => (
                    number(first, 1).with_context(place)?,
                    number(last, usize::MAX).with_context(place)?,
                ),
                None => {
                    let column = number(item, 1).with_context(place)?;
                    (column, column)
                }
            };
            ensure!(first > 0, "columns are counted from 1: `{item}`");
            ensure!(first <= last, "the range `{item}` goes backwards");
            ranges.push((first, last));
        }
        ranges.sort_unstable();
        let mut merged: Vec<(usize, usize)> = Vec::new();
        for (first, last) in ranges {
            match merged.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => {
                    before.1 = before.1.max(last);
                }
                _ => merged.push((first, last)),
            }
        }
        Ok(Some(Columns(merged)))
    }

    /// Appends the columns of every line of `text`, each with a newline. Empty lines and comments
    /// are left out; a line that has no blank is given whole, as `cut` does.
    pub fn cut(&self, text: &[u8], out: &mut Vec<u8>) {
        match self.0[..] {
            [(first, usize::MAX)] if first > 1 => cut_tail(text, first - 1, out),
            _ => {
                let mut rest = text;
                while !rest.is_empty() {
                    let (line, after) = split_line(rest);
                    rest = after;
                    if !is_blank(line) {
                        self.cut_line(line, out);
                        out.push(b'\n');
                    }
                }
            }
        }
    }

    /// Appends the columns of one line, without a newline.
    pub fn cut_line(&self, line: &[u8], out: &mut Vec<u8>) {
        let mut blanks = memchr::memchr_iter(b' ', line);
        let begin = out.len();
        let (mut column, mut start) = (1, 0);
        for &(first, last) in &self.0 {
            // To where column `first` starts.
            while column < first {
                match blanks.next() {
                    Some(blank) => start = blank + 1,
                    None if column == 1 => return out.extend_from_slice(line),
                    None => return,
                }
                column += 1;
            }
            if out.len() > begin {
                out.push(b' ');
            }
            if last == usize::MAX {
                return out.extend_from_slice(&line[start..]);
            }
            let from = start;
            while column <= last {
                match blanks.next() {
                    Some(blank) => start = blank + 1,
                    None => return out.extend_from_slice(&line[from..]),
                }
                column += 1;
            }
            out.extend_from_slice(&line[from..start - 1]);
        }
    }
}

/// Appends what comes behind the first `blanks` blanks of each line.
///
/// Lines of one stream have their fields at the same places, so the place of the last line is
/// tried first: that costs a count of blanks in a few dozen bytes, not a search from blank to
/// blank.
fn cut_tail(text: &[u8], blanks: usize, out: &mut Vec<u8>) {
    let mut start = 0;
    let mut guess = 0;
    let ends = memchr::memchr_iter(b'\n', text);
    let last = (text.last() != Some(&b'\n')).then_some(text.len());
    for end in ends.chain(last) {
        let line = &text[start..end];
        start = end + 1;
        if is_blank(line) || line == b"\r" {
            continue;
        }
        let fits = guess > 0
            && guess <= line.len()
            && line[guess - 1] == b' '
            && count_blanks(&line[..guess]) == blanks;
        if !fits {
            guess = match memchr::memchr_iter(b' ', line).nth(blanks - 1) {
                Some(blank) => blank + 1,
                None => {
                    if memchr::memchr(b' ', line).is_none() {
                        out.extend_from_slice(line);
                    }
                    out.push(b'\n');
                    guess = 0;
                    continue;
                }
            };
        }
        out.extend_from_slice(&line[guess..]);
        out.push(b'\n');
    }
}

/// How many blanks there are, eight bytes at a time.
#[inline]
fn count_blanks(text: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const BLANKS: u64 = ONES * b' ' as u64;
    const LOW: u64 = ONES * 0x7F;
    let (words, rest) = text.as_chunks::<8>();
    let mut count = 0;
    for word in words {
        let differs = u64::from_le_bytes(*word) ^ BLANKS;
        // The top bit of each byte that is not zero, exactly: no carry crosses a byte.
        let not_zero = (((differs & LOW) + LOW) | differs) & !LOW;
        count += 8 - not_zero.count_ones() as usize;
    }
    count + rest.iter().filter(|byte| **byte == b' ').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(list: &str, text: &str) -> String {
        let mut out = Vec::new();
        Columns::parse(list)
            .unwrap()
            .unwrap()
            .cut(text.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_those_of_cut() {
        let text = "a bb ccc dddd\nnone\ne f\n\n# note\nlast bb c d e";
        assert_eq!(cut("4-", text), "dddd\nnone\n\nd e\n");
        assert_eq!(cut("2-", text), "bb ccc dddd\nnone\nf\nbb c d e\n");
        assert_eq!(cut("1,3", text), "a ccc\nnone\ne\nlast c\n");
        assert_eq!(cut("-2,4", text), "a bb dddd\nnone\ne f\nlast bb d\n");
        assert_eq!(cut("1-", text), "a bb ccc dddd\nnone\ne f\nlast bb c d e\n");
    }

    #[test]
    fn ranges_merge_and_nonsense_is_refused() {
        assert_eq!(
            Columns::parse("3-5,1-2,4").unwrap(),
            Some(Columns(vec![(1, 5)]))
        );
        assert_eq!(Columns::parse("dst,2").unwrap(), None);
        for bad in ["0", "3-1", "-", "2,,3", "4x"] {
            assert!(Columns::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn blanks_are_counted_among_any_bytes() {
        let text: Vec<u8> = (0..=255).chain([b' '; 13]).chain(128..200).collect();
        for n in 0..text.len() {
            let slow = text[..n].iter().filter(|byte| **byte == b' ').count();
            assert_eq!(count_blanks(&text[..n]), slow, "{n}");
        }
    }
}
