//! Random secrets.

use ring::rand::{SecureRandom, SystemRandom};

/// The system has no random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system has no random numbers")]
pub struct NoRandomNumbers;

/// Random bytes in hexadecimal digits.
///
/// # Errors
/// When the system has no random numbers.
pub fn random<const BYTES: usize>() -> Result<String, NoRandomNumbers> {
    let mut bytes = [0; BYTES];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| NoRandomNumbers)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
