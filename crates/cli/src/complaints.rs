//! What was wrong with the input: told with its place and reason on stderr, counted, skipped; or the end of
//! the command, where `--strict` asks for that. And what the exit code makes of it, in one place.

use crate::{Verdict, progress};
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Maximum number of diagnostics that are printed; later ones are only counted.
const MAX_LISTED: u64 = 20;

/// Problems of the input so far, and whether a signal ended it. All clones share one count.
#[derive(Clone)]
pub struct Complaints {
    strict: bool,
    lenient: bool,
    quiet: bool,
    endless: bool,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    skipped: AtomicU64,
    lost: AtomicU64,
    stopped: AtomicBool,
}

/// What to do with bad input.
#[derive(clap::Args, Default)]
pub struct Strictness {
    /// Stop at the first bad packet instead of skipping it
    #[arg(long, conflicts_with = "lenient")]
    strict: bool,
    #[command(flatten)]
    leniency: Leniency,
}

/// What to do about losses where nothing can be strict about them.
#[derive(clap::Args, Default)]
pub struct Leniency {
    /// Exit with 0 though packets were skipped, cut short or lost
    #[arg(long)]
    lenient: bool,
}

impl Leniency {
    /// Nothing is wrong yet.
    pub fn complaints(&self) -> Complaints {
        Complaints {
            strict: false,
            lenient: self.lenient,
            quiet: false,
            endless: false,
            counts: Arc::default(),
        }
    }
}

impl Strictness {
    /// Nothing is wrong yet.
    pub fn complaints(&self) -> Complaints {
        Complaints {
            strict: self.strict,
            ..self.leniency.complaints()
        }
    }
}

impl Complaints {
    /// For tests: tells nothing.
    #[cfg(test)]
    pub fn quiet() -> Complaints {
        Complaints {
            quiet: true,
            ..Strictness::default().complaints()
        }
    }

    /// For a command that has no end of its own: a signal is its normal end.
    pub fn endless(self) -> Complaints {
        Complaints {
            endless: true,
            ..self
        }
    }

    /// Whether the first complaint is to be the end.
    pub fn strict(&self) -> bool {
        self.strict
    }

    /// Whether losses are accepted, that of the rest of a damaged file too.
    pub fn lenient(&self) -> bool {
        self.lenient
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
        let count = self.counts.skipped.fetch_add(1, Ordering::Relaxed) + 1;
        if count <= MAX_LISTED && !self.quiet {
            progress::beside(|| eprintln!("wire: {place}: {reason}"));
            if count == MAX_LISTED {
                self.note("what else is bad is counted, not shown");
            }
        }
    }

    /// Tells something that is not to be counted.
    pub fn note(&self, what: impl Display) {
        if !self.quiet {
            progress::beside(|| eprintln!("wire: {what}"));
        }
    }

    /// Tells of so many packets that were lost, or are not what they were; of none, nothing.
    pub fn lost(&self, packets: u64, what: impl Display) {
        if packets > 0 {
            self.counts.lost.fetch_add(packets, Ordering::Relaxed);
            self.note(what);
        }
    }

    /// A signal ended the input before its end.
    pub fn stopped(&self) {
        self.counts.stopped.store(true, Ordering::Relaxed);
    }

    /// How many packets and lines were skipped.
    pub fn skipped(&self) -> u64 {
        self.counts.skipped.load(Ordering::Relaxed)
    }

    /// Says how many were skipped, if any were; and the verdict on the input.
    #[must_use]
    pub fn finish(&self) -> Verdict {
        let (skipped, lost) = (self.skipped(), self.counts.lost.load(Ordering::Relaxed));
        if skipped > 0 {
            self.note(format_args!("{skipped} bad packets or lines were skipped"));
        }
        if self.counts.stopped.load(Ordering::Relaxed) && !self.endless {
            return Verdict::Stopped;
        }
        match skipped + lost {
            0 => Verdict::Good,
            _ if self.lenient => Verdict::Good,
            _ => Verdict::Failed,
        }
    }
}
