//! Files as blocks of lines, whatever form their packets have.

use crate::blocks::{Block, Blocks};
use crate::complaints::Complaints;
use anyhow::Context;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

/// What is wrong with text that is no line, and how a line looks.
pub const NO_LINE: &str =
    "not a packet line: [TIMESTAMP ][HASH ]DST SRC TYPE XX XX ..., fields told by their widths";

/// A file's packets as lines.
pub struct Input {
    blocks: Blocks,
}

impl Input {
    /// Opens a file, or standard input for `-`.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path) -> anyhow::Result<Input> {
        let place = || format!("cannot open {}", name(path));
        let file = if path == Path::new("-") {
            File::from(
                std::io::stdin()
                    .as_fd()
                    .try_clone_to_owned()
                    .with_context(place)?,
            )
        } else {
            File::open(path).with_context(place)?
        };
        Ok(Input {
            blocks: Blocks::new(file, name(path), b""),
        })
    }

    /// The next lines; see [`Blocks::next`].
    ///
    /// # Errors
    /// Those of reading, of `idle` and of strict complaints.
    pub fn next(
        &mut self,
        complaints: &mut Complaints,
        idle: &mut dyn FnMut() -> anyhow::Result<()>,
    ) -> anyhow::Result<Option<Block<'_>>> {
        self.blocks.next(complaints, idle)
    }
}

/// A path as messages name it.
pub fn name(path: &Path) -> String {
    if path == Path::new("-") {
        "standard input".into()
    } else {
        path.display().to_string()
    }
}

/// A line of a file as messages name it.
pub fn place(path: &Path, number: u64) -> String {
    format!("{}:{number}", name(path))
}
