//! The error of a node's configuration.

use alloc::string::String;

/// Reason why a node cannot be made: the wrong key, and its allowed values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {reason}")]
pub struct ConfigError {
    /// The field of the node's `Config`.
    pub key: &'static str,
    /// The fault, and the allowed values.
    pub reason: String,
}

impl ConfigError {
    /// An error of the field `key`.
    pub fn new(key: &'static str, reason: impl Into<String>) -> ConfigError {
        ConfigError {
            key,
            reason: reason.into(),
        }
    }
}
