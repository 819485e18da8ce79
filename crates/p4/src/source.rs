//! Source files, and places in them.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// A range of bytes of the text that the compiler read: an offset into one long text in which all files of
/// a program, included ones too, stand one behind the other. [`Sources`] turns it into file, line and column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One behind the last byte.
    pub end: u32,
}

impl Span {
    /// The span from the start of `self` to the end of `other`.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        Span {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// Whether all of `other` stands within it.
    #[must_use]
    pub fn contains(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// One file of the program.
#[derive(Clone, Debug)]
pub struct File {
    /// Its name, as the user or an `#include` gave it.
    pub name: Arc<str>,
    /// Its whole text.
    pub text: Arc<str>,
    /// Where its first byte stands in the numbering of [`Span`].
    pub start: u32,
}

/// All files of a program.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<File>,
}

/// A place as people read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file's name.
    pub file: Arc<str>,
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
}

impl Sources {
    /// Adds a file and says where its text begins; `None` when there would be more than 2 GiB of text.
    pub fn add(&mut self, name: &str, text: &str) -> Option<u32> {
        let start = self
            .files
            .last()
            .map_or(0, |f| f.start + f.text.len() as u32 + 1);
        let end = u64::from(start) + text.len() as u64;
        if end > u64::from(u32::MAX / 2) {
            return None;
        }
        self.files.push(File {
            name: name.into(),
            text: text.into(),
            start,
        });
        Some(start)
    }

    /// The files in the order in which they were read.
    #[must_use]
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// The file that holds the byte.
    #[must_use]
    pub fn file(&self, at: u32) -> Option<&File> {
        let index = self.files.partition_point(|f| f.start <= at);
        self.files.get(index.checked_sub(1)?)
    }

    /// File, line and column of a byte.
    #[must_use]
    pub fn location(&self, at: u32) -> Option<Location> {
        let file = self.file(at)?;
        let mut within = ((at - file.start) as usize).min(file.text.len());
        while !file.text.is_char_boundary(within) {
            within -= 1;
        }
        let before = &file.text[..within];
        let line_start = before.rfind('\n').map_or(0, |n| n + 1);
        Some(Location {
            file: file.name.clone(),
            line: before.matches('\n').count() as u32 + 1,
            column: before[line_start..].chars().count() as u32 + 1,
        })
    }

    /// The line of text on which the byte stands, without its end.
    #[must_use]
    pub fn line(&self, at: u32) -> Option<&str> {
        let file = self.file(at)?;
        let mut within = ((at - file.start) as usize).min(file.text.len());
        while !file.text.is_char_boundary(within) {
            within -= 1;
        }
        let start = file.text[..within].rfind('\n').map_or(0, |n| n + 1);
        let end = file.text[within..]
            .find('\n')
            .map_or(file.text.len(), |n| within + n);
        Some(file.text[start..end].trim_end_matches('\r'))
    }

    /// The text of a span that lies in one file.
    #[must_use]
    pub fn text(&self, span: Span) -> Option<&str> {
        let file = self.file(span.start)?;
        let start = (span.start - file.start) as usize;
        let end = (span.end.checked_sub(file.start)? as usize).min(file.text.len());
        file.text.get(start..end)
    }
}

/// Why an included file has no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct IncludeError(String);

/// A sentence without a full stop: what was looked for, and where.
impl From<String> for IncludeError {
    fn from(message: String) -> Self {
        IncludeError(message)
    }
}

impl From<&str> for IncludeError {
    fn from(message: &str) -> Self {
        IncludeError(message.into())
    }
}

/// Finds the text of files that `#include` names; the compiler itself does no I/O.
pub trait Includes {
    /// The name to report and the text of an included file. `name` is what stands between the quotes or brackets,
    /// `system` is true for brackets, `from` is the reported name of the including file. `Err` says why not.
    ///
    /// # Errors
    /// When there is no such file, or it cannot be read.
    fn read(
        &mut self,
        name: &str,
        system: bool,
        from: &str,
    ) -> Result<(String, String), IncludeError>;
}
