//! Disciplines that control the delay of one queue or of each flow, in the words of tc-codel(8),
//! tc-fq_codel(8) and tc-pie(8).

use super::words::{TcError, Words};
use crate::{codel, fq_codel, pie};

/// Reads the parameters of `codel`.
pub(super) fn delay(words: &mut Words<'_>) -> Result<codel::Config, TcError> {
    let mut config = codel::Config::default();
    while let Some(word) = words.take() {
        match word {
            "limit" => config.limit = words.count()?,
            "target" => config.target = words.time()?,
            "interval" => config.interval = words.time()?,
            "ce_threshold" => config.ce_threshold = Some(words.time()?),
            "ecn" => config.ecn = true,
            "noecn" => config.ecn = false,
            _ => {
                let known = [
                    "limit",
                    "target",
                    "interval",
                    "ce_threshold",
                    "ecn",
                    "noecn",
                ];
                return Err(words.unknown(&known, &[]));
            }
        }
    }
    Ok(config)
}

/// Reads the parameters of `fq_codel`.
pub(super) fn flows(words: &mut Words<'_>) -> Result<fq_codel::Config, TcError> {
    let mut config = fq_codel::Config::default();
    while let Some(word) = words.take() {
        match word {
            "limit" => config.limit = words.count()?,
            "memory_limit" => config.memory_limit = words.size()?,
            "flows" => config.flows = words.count()?,
            "quantum" => config.quantum = words.count()?,
            "target" => config.target = words.time()?,
            "interval" => config.interval = words.time()?,
            "ce_threshold" => config.ce_threshold = Some(words.time()?),
            "drop_batch" => config.drop_batch = words.count()?,
            "ecn" => config.ecn = true,
            "noecn" => config.ecn = false,
            _ => {
                let known = [
                    "limit",
                    "memory_limit",
                    "flows",
                    "quantum",
                    "target",
                    "interval",
                    "ce_threshold",
                    "drop_batch",
                    "ecn",
                    "noecn",
                ];
                return Err(words.unknown(&known, &["ce_threshold_selector"]));
            }
        }
    }
    Ok(config)
}

/// Reads the parameters of `pie`.
pub(super) fn integral(words: &mut Words<'_>) -> Result<pie::Config, TcError> {
    let mut config = pie::Config::default();
    while let Some(word) = words.take() {
        match word {
            "limit" => config.limit = words.count()?,
            "target" => config.target = words.time()?,
            "tupdate" => config.tupdate = words.time()?,
            // The kernel's bound.
            "alpha" => config.alpha = words.within(0, 32)?,
            "beta" => config.beta = words.within(0, 32)?,
            "ecn" => config.ecn = true,
            "noecn" => config.ecn = false,
            "bytemode" => config.bytemode = true,
            "nobytemode" => config.bytemode = false,
            // As here.
            "no_dq_rate_estimator" => {}
            _ => {
                let known = [
                    "limit",
                    "target",
                    "tupdate",
                    "alpha",
                    "beta",
                    "ecn",
                    "noecn",
                    "bytemode",
                    "nobytemode",
                ];
                return Err(words.unknown(&known, &["dq_rate_estimator"]));
            }
        }
    }
    Ok(config)
}
