//! Bad input: told with its place and reason on stderr, counted, skipped; or the end of the
//! command, where `--strict` asks for that.

use std::fmt::Display;

/// Complaints that are told one by one; later ones are only counted.
const TOLD: u64 = 20;

/// What was wrong with the input so far.
pub struct Complaints {
    strict: bool,
    quiet: bool,
    count: u64,
}

/// What to do with bad input.
#[derive(clap::Args)]
pub struct Strictness {
    /// Stop at the first bad packet instead of skipping it
    #[arg(long)]
    strict: bool,
}

impl Strictness {
    /// Nothing is wrong yet.
    pub fn complaints(&self) -> Complaints {
        Complaints {
            strict: self.strict,
            quiet: false,
            count: 0,
        }
    }
}

impl Complaints {
    /// For tests: tells nothing.
    #[cfg(test)]
    pub fn quiet() -> Complaints {
        Complaints {
            strict: false,
            quiet: true,
            count: 0,
        }
    }

    /// Tells what is wrong at `place`.
    ///
    /// # Errors
    /// The same, when strict.
    pub fn bad(&mut self, place: impl Display, reason: impl Display) -> anyhow::Result<()> {
        if self.strict {
            anyhow::bail!("{place}: {reason}");
        }
        self.count += 1;
        if self.count <= TOLD && !self.quiet {
            eprintln!("wire: {place}: {reason}");
            if self.count == TOLD {
                eprintln!("wire: further bad packets are counted, not shown");
            }
        }
        Ok(())
    }

    /// How many there were.
    #[cfg(test)]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Says how many were skipped, if any were.
    pub fn finish(&self) {
        if self.count > 0 && !self.quiet {
            eprintln!("wire: skipped {} bad packet(s) or line(s)", self.count);
        }
    }
}
