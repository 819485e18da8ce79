//! A clock for programs: a page of memory, in a file, that says how the processor's counter becomes the time of a clock. Reading it takes
//! no system call.
//!
//! One process writes ([`Publisher`]), any number read ([`Reader`]). There are two slots: the writer fills the one that nobody is told
//! to read, and then tells; so a writer that dies in between leaves a page that is whole, and a reader never waits for one.
//!
//! What a reader gets says how far it may be off, and whether the writer is still there. When it is not, the line goes on, and the bound
//! grows by [`GROWTH_PPB`], by what the rates of the clock's corrections were apart, by what the line was making up for, and by how
//! far the counter's own rate may be off as it was measured. Within an era time is not set: lines follow one another, and what the clock was
//! corrected by is made up for by running faster or slower, by at most 500 ppm.
//!
//! The layout is that of the machine, all of it 64-bit words:
//!
//! | word | |
//! |---|---|
//! | 0 | [`MAGIC`] |
//! | 1 | the layout's version, 1 |
//! | 2 | the counter: 0 CLOCK_MONOTONIC_RAW in ns, 1 the processor's time stamp counter |
//! | 3 | the process that writes |
//! | 8 | how often it has been written: the slot to read is at word 16 if even, at word 24 if odd |
//! | slot 0 | the counter at the slot's begin |
//! | slot 1 | the time then, ns since the clock's epoch |
//! | slot 2 | and the rest of it, 2^-32 ns |
//! | slot 3 | how long a tick of the counter is, 2^-56 ns |
//! | slot 4 | how far that time may be off, ns |
//! | slot 5 | what that grows by, parts in 10^9 (low 32 bits); the [`State`] (high) |
//! | slot 6 | seconds ahead of UTC (low, signed); the era (high) |
//! | slot 7 | ticks behind the begin from which on the writer is not there any more |

mod counter;
mod map;
mod publisher;
mod reader;
mod truncated;

pub use publisher::Publisher;
pub use reader::{Reader, Reading, State};

use std::io;
use std::path::PathBuf;

/// What stands first in a page: `wireclk` and a zero.
pub const MAGIC: u64 = u64::from_le_bytes(*b"wireclk\0");
/// The layout's version.
const VERSION: u64 = 1;
/// By how much the bound grows while nothing is heard, parts in 10^9: as far as a clock is taken to wander that was set right, 15 ppm
/// (PHI of RFC 5905).
pub const GROWTH_PPB: u32 = 15_000;

/// Why there is no page to read or to write.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// It cannot be opened, made or mapped.
    #[error("cannot open the clock's page {path}: {source}")]
    Open {
        /// Which.
        path: PathBuf,
        source: io::Error,
    },
    /// It is a file of something else.
    #[error(
        "{path} is no clock's page; `wire sync --page FILE` makes one under a name that is free"
    )]
    Other {
        /// Which.
        path: PathBuf,
    },
    /// It is of another version.
    #[error("the clock's page {path} has version {version}, and version 1 is known here")]
    Version {
        /// Which.
        path: PathBuf,
        version: u64,
    },
    /// Somebody else writes it.
    #[error("another process writes the clock's page {path}; end it, or choose another name")]
    Busy {
        /// Which.
        path: PathBuf,
    },
    /// It counts by what this program cannot read.
    #[error("the clock's page {path} counts by counter {counter}, which is not known here")]
    Counter {
        /// Which.
        path: PathBuf,
        counter: u64,
    },
}
