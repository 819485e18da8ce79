//! Bad input: told with its place and reason on stderr, counted, skipped; or the end of the
//! command, where `--strict` asks for that.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Complaints that are told one by one; later ones are only counted.
const TOLD: u64 = 20;

/// What was wrong with the input so far; every clone counts for all.
#[derive(Clone)]
pub struct Complaints {
    strict: bool,
    quiet: bool,
    count: Arc<AtomicU64>,
}

/// What to do with bad input.
#[derive(clap::Args, Default)]
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
            count: Arc::default(),
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
            count: Arc::default(),
        }
    }

    /// Whether the first complaint is to be the end.
    pub fn strict(&self) -> bool {
        self.strict
    }

    /// Tells what is wrong at `place`.
    ///
    /// # Errors
    /// The same, when strict.
    pub fn bad(&self, place: impl Display, reason: impl Display) -> anyhow::Result<()> {
        if self.strict {
            anyhow::bail!("{place}: {reason}");
        }
        self.tell(place, reason);
        Ok(())
    }

    /// Tells what is wrong at `place`, and counts it.
    pub fn tell(&self, place: impl Display, reason: impl Display) {
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        if count <= TOLD && !self.quiet {
            eprintln!("wire: {place}: {reason}");
            if count == TOLD {
                eprintln!("wire: what else is bad is counted, not shown");
            }
        }
    }

    /// Tells something that is not to be counted.
    pub fn note(&self, what: impl Display) {
        if !self.quiet {
            eprintln!("wire: {what}");
        }
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Says how many were skipped, if any were.
    pub fn finish(&self) {
        match self.count() {
            0 => {}
            count => self.note(format_args!("{count} bad packets or lines were skipped")),
        }
    }
}
