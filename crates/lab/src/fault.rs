//! What is wrong with a lab file, and where.

use packet::printable;
use std::fmt::{self, Write};
use std::ops::Range;

/// Maximum number of faults that are reported together; later ones are often consequences.
const MAX_LISTED: usize = 40;

/// A fault: its place, its cause, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Bytes of the lab file.
    pub span: Range<usize>,
    /// Cause of the fault.
    pub message: String,
    /// How to fix it, if the message does not say.
    pub help: Option<String>,
}

impl Fault {
    pub(crate) fn new(span: Range<usize>, message: impl Into<String>) -> Fault {
        Fault {
            span,
            message: message.into(),
            help: None,
        }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Fault {
        self.help = Some(help.into());
        self
    }
}

/// Everything that is wrong with a lab file; never empty.
///
/// Shown, each fault has its file, line and column, the line itself, and a caret under the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    /// Name of the file; `None`: the text is keys from a command line, one on a line.
    pub file: Option<String>,
    /// Its text.
    pub text: String,
    /// In order of place.
    pub list: Vec<Fault>,
}

impl std::error::Error for Faults {}

impl Faults {
    pub(crate) fn new(text: &str, mut list: Vec<Fault>) -> Faults {
        list.sort_by_key(|fault| (fault.span.start, fault.span.end));
        list.dedup();
        list.truncate(MAX_LISTED);
        Faults {
            file: Some("lab.toml".into()),
            text: text.into(),
            list,
        }
    }

    /// The same faults, of a file by this name.
    pub fn of_file(mut self, name: impl Into<String>) -> Faults {
        self.file = Some(name.into());
        self
    }

    /// The same faults, of keys that no file holds: they are shown without a file and a line number.
    pub(crate) fn of_keys(mut self) -> Faults {
        self.file = None;
        self
    }

    /// Line and column of a byte, both counted from 1; columns are characters.
    pub fn place(&self, byte: usize) -> (usize, usize) {
        let before = &self.text[..self.boundary(byte)];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
        (line, before[line_start..].chars().count() + 1)
    }

    /// The last place for a character at or before `byte`.
    fn boundary(&self, byte: usize) -> usize {
        let mut byte = byte.min(self.text.len());
        while !self.text.is_char_boundary(byte) {
            byte -= 1;
        }
        byte
    }

    fn show(&self, fault: &Fault, f: &mut String) -> fmt::Result {
        let (line, column) = self.place(fault.span.start);
        let source = self.text.lines().nth(line - 1).unwrap_or("");
        // A tab is as wide here as in the line, so that the caret stands right.
        let before: String = source.chars().take(column - 1).collect();
        let indent: String = printable::lines(&before)
            .chars()
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        let end = self.boundary(fault.span.end);
        let start = self.boundary(fault.span.start);
        let marked = self.text.get(start..end).unwrap_or("");
        let marked = printable::lines(marked.lines().next().unwrap_or(""));
        let carets = "^".repeat(marked.chars().count().clamp(1, 200));
        let number = self.file.as_ref().map(|_| line.to_string());
        let number = number.unwrap_or(" ".into());
        let margin = " ".repeat(number.len());
        writeln!(f, "error: {}", fault.message)?;
        if let Some(file) = &self.file {
            writeln!(f, "{margin}--> {file}:{line}:{column}")?;
        }
        writeln!(f, "{margin} |")?;
        writeln!(f, "{number} | {source}")?;
        writeln!(f, "{margin} | {indent}{carets}")?;
        match &fault.help {
            Some(help) => writeln!(f, "{margin} = help: {help}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for (index, fault) in self.list.iter().enumerate() {
            if index > 0 {
                text.push('\n');
            }
            self.show(fault, &mut text)?;
        }
        // A lab file, and so its lines, may come from anywhere.
        f.write_str(&printable::lines(&text))
    }
}

/// The known word that is most like `word`, if one is like it at all.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Of two letters one is not like another. Long ones would cost time by the square.
    if !(3..=40).contains(&word.len()) {
        return None;
    }
    known
        .into_iter()
        // Who begins a word has it as good as written.
        .map(|known| match known.starts_with(word) {
            true => (1, known),
            false => (distance(word, known), known),
        })
        .filter(|(distance, known)| *distance <= 1 + known.len() / 4)
        .min()
        .map(|(_, known)| known)
}

/// How many letters must be added, taken away or changed to make one word of another.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// Says what a word might have been, or which there are.
pub(crate) fn did_you_mean(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let mut known = known.to_vec();
            known.sort_unstable();
            known.dedup();
            format!("there are: {}", known.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_shown_with_its_line_and_a_caret() {
        let text = "[lab]\nnäme = 'é' # x\n";
        let start = text.find("'é'").unwrap();
        let fault = Fault::new(start..start + 4, "wrong").help("mend it");
        let shown = Faults::new(text, vec![fault]).to_string();
        let expected = "\
error: wrong
 --> lab.toml:2:8
  |
2 | näme = 'é' # x
  |        ^^^
  = help: mend it
";
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_fault_of_a_key_from_the_command_line_names_no_file() {
        let text = "kind = 'delay'\ndealy = 1";
        let fault = Fault::new(15..20, "unknown key `dealy`");
        let shown = Faults::new(text, vec![fault]).of_keys().to_string();
        let expected = "error: unknown key `dealy`\n  |\n  | dealy = 1\n  | ^^^^^\n";
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_fault_anywhere_can_be_shown() {
        for text in ["", "é", "a\n"] {
            for at in 0..5 {
                let faults = Faults::new(text, vec![Fault::new(at..at + 1, "wrong")]);
                assert!(faults.to_string().contains("wrong"));
            }
        }
    }

    #[test]
    fn a_typing_error_finds_its_word_and_nonsense_does_not() {
        let known = ["rate", "delay", "duplicate"];
        assert_eq!(nearest("del", known), Some("delay"));
        assert_eq!(
            did_you_mean("colour", &["rate", "delay"]),
            "there are: delay, rate"
        );
        // Several parts of a section may take the same key.
        assert_eq!(
            did_you_mean("colour", &["rate", "delay", "rate"]),
            "there are: delay, rate"
        );
        assert_eq!(nearest("dealy", known), Some("delay"));
        assert_eq!(nearest("raet", known), Some("rate"));
        assert_eq!(nearest("colour", known), None);
    }
}
