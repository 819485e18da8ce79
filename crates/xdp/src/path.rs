//! The path of a program's architecture.

use crate::kernel::Error;
use crate::maps::Object;
use crate::unit::{Entrance, compile};
use pipeline::architecture::{Config, Pipeline};
use pipeline::engine::Path;
use pipeline::environment::{Environment, Unsupported};
use pipeline::interpreter::Interpreter;
use std::sync::Arc;

pub(crate) const NO_PATH: &str = "the program has no path that the kernel could follow: it never names the port by which packets leave";

/// An environment's program as [`Switch::new`](crate::Switch::new) loads it.
///
/// # Errors
/// When the kernel cannot do what it asks for.
pub fn program(environment: &Arc<Environment>) -> Result<Object, Error> {
    let path = path(environment)?;
    compile(environment, &path, Entrance::Attached).map_err(Error::Unsupported)
}

/// The path of the architecture of an environment's program.
pub(crate) fn path(environment: &Arc<Environment>) -> Result<Path, Error> {
    let unsupported = |fault: Unsupported| Error::Unsupported(vec![fault]);
    let engine = Interpreter::new(environment).map_err(unsupported)?;
    let pipeline = Pipeline::new(environment, Box::new(engine), &Config::default());
    let pipeline = pipeline.map_err(unsupported)?;
    let path = pipeline.path().cloned();
    path.ok_or_else(|| unsupported(NO_PATH.into()))
}
