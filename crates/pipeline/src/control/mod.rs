//! The control plane: what a controller, a person or a test can read and change while packets flow.
//!
//! There is one API, [`Entity`] by [`Entity`]; the [`commands`] that people write, test files and P4Runtime are three tongues for it.

mod apply;
pub mod commands;
pub mod entity;
pub mod names;
pub mod program;
pub mod value;
mod view;

pub use apply::{Atomicity, OWN_GROUPS};
pub use entity::*;
pub use program::{Class, digests};

use crate::environment::Environment;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use p4::ir::Program;
use spin::Mutex;

/// Reads and changes what a running program's packets meet. Clones share all they know; every call takes `&self`, from any thread.
#[derive(Clone)]
pub struct Control {
    environment: Arc<Environment>,
    shared: Arc<Shared>,
}

/// What only the control plane cares for.
struct Shared {
    digests: Vec<program::Digest>,
    /// Held while changes are made.
    turn: Mutex<()>,
    /// The number of the next member or group that an entry has for itself.
    next_own: Mutex<u32>,
    /// What controllers keep with multicast groups.
    metadata: Mutex<BTreeMap<u32, Vec<u8>>>,
    /// The digests that are sent.
    configs: Mutex<BTreeMap<u32, DigestConfig>>,
}

impl Control {
    /// For the tables and objects that an environment has.
    #[must_use]
    pub fn new(environment: Arc<Environment>) -> Self {
        Control {
            shared: Arc::new(Shared {
                digests: digests(&environment.program),
                turn: Mutex::new(()),
                next_own: Mutex::new(OWN_GROUPS),
                metadata: Mutex::default(),
                configs: Mutex::default(),
            }),
            environment,
        }
    }

    #[must_use]
    pub fn program(&self) -> &Program {
        &self.environment.program
    }

    /// What it controls.
    #[must_use]
    pub fn environment(&self) -> &Arc<Environment> {
        &self.environment
    }
}

/// Why something cannot be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What kind of reason.
    pub kind: ErrorKind,
    /// One sentence without a full stop that names the thing, and what to do.
    pub message: String,
}

/// Kinds of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request makes no sense for any state.
    Invalid,
    /// A name or number of something that the program does not have.
    Unknown,
    Absent,
    /// It is there already.
    Exists,
    /// There is no room.
    Full,
    /// The program does not allow it: constant entries or a constant default action.
    Refused,
    /// It is used by something else, or uses something that is not there.
    InUse,
    /// This architecture or this device has no such thing.
    Unsupported,
    /// Nothing is wrong with it, but another update of its batch was refused.
    TakenBack,
}

impl Error {
    /// An error.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error {
            kind,
            message: message.into(),
        }
    }

    /// A value that does not fit.
    pub fn value(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// A name that means nothing.
    pub fn name(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unknown, message)
    }

    /// The same with a place before it: `FILE:LINE`.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        self.message = alloc::format!("{place}: {}", self.message);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for Error {}

#[cfg(test)]
mod tests;
