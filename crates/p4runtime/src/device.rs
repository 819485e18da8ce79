//! What a server controls.

use node::Time;
use pipeline::environment::{Environment, Unsupported};
use std::sync::Arc;

/// Why a device does not do what it is asked for.
pub type DeviceError = Box<dyn std::error::Error + Send + Sync>;

/// What forwards packets.
pub trait Device: Send + Sync + 'static {
    /// Runs another program from now on, with its tables empty but for the program's own entries.
    ///
    /// # Errors
    /// When it cannot; then it goes on as before.
    fn install(&self, environment: &Arc<Environment>) -> Result<(), Unsupported>;
    /// The time, as packets see it.
    fn now(&self) -> Time;
    /// Brings the environment what packets have made of its state, before a controller reads or changes it. Whoever forwards with the
    /// environment itself has nothing to do.
    ///
    /// # Errors
    /// Why not.
    fn refresh(&self) -> Result<(), DeviceError> {
        Ok(())
    }
    /// Returns when packets see what a controller has changed in the environment.
    ///
    /// # Errors
    /// Why they do not.
    fn settle(&self) -> Result<(), DeviceError> {
        Ok(())
    }
}
