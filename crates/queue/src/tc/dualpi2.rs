//! DualPI2 in the words of tc-dualpi2(8).

use super::words::{TcError, Words};
use crate::dualpi2;
use node::Time;

/// Maximum round trip over the typical one, when only one of them is given.
const MAX_TO_TYPICAL: u64 = 6;

/// Reads the parameters of `dualpi2`.
pub(super) fn dual(words: &mut Words<'_>) -> Result<dualpi2::Config, TcError> {
    let mut config = dualpi2::Config::default();
    let (mut typical, mut most) = (None, None);
    while let Some(word) = words.take() {
        match word {
            "limit" => config.limit = words.count()?,
            "target" => config.target = words.time()?,
            "tupdate" => config.tupdate = words.time()?,
            "alpha" => config.alpha = words.factor()?,
            "beta" => config.beta = words.factor()?,
            "coupling_factor" => config.coupling = words.count()?,
            "step_thresh" => {
                config.step_thresh = words.time()?;
                // The word is for a step; the default is the ramp of RFC 9332.
                config.range = Time::ZERO;
            }
            "classic_protection" => config.classic_protection = words.percent()?,
            "typical_rtt" => typical = Some(words.time()?),
            "max_rtt" => most = Some(words.time()?),
            // Always so here; packets that wait are segments already.
            "drop_on_overload" | "drop_dequeue" | "l4s_ect" | "split_gso" | "no_split_gso" => {}
            "min_qlen_step" => config.min_qlen_step = words.count()?,
            _ => {
                let known = [
                    "limit",
                    "target",
                    "tupdate",
                    "alpha",
                    "beta",
                    "coupling_factor",
                    "step_thresh",
                    "min_qlen_step",
                    "classic_protection",
                    "typical_rtt",
                    "max_rtt",
                ];
                let lacking = ["memlimit", "overflow", "drop_enqueue", "any_ect"];
                return Err(words.unknown(&known, &lacking));
            }
        }
    }
    let (typical, most) = match (typical, most) {
        (None, None) => return Ok(config),
        (Some(typical), None) => (typical, typical * MAX_TO_TYPICAL),
        (None, Some(most)) => (Time::from_ps(most.as_ps() / MAX_TO_TYPICAL), most),
        (Some(typical), Some(most)) => (typical, most),
    };
    if typical == Time::ZERO || typical > most {
        return Err(words.whole("`typical_rtt` is above 0 and at most `max_rtt`"));
    }
    round_trips(&mut config, typical, most);
    Ok(config)
}

/// Sets the controller for round trips (RFC 9332 appendix A.1). Like tc, overrides `target`,
/// `tupdate`, `alpha` and `beta`.
fn round_trips(config: &mut dualpi2::Config, typical: Time, most: Time) {
    let seconds = |time: Time| time.as_ps() as f64 / 1e12;
    config.target = typical;
    config.tupdate = typical.min(Time::from_ps(most.as_ps() / 3));
    config.alpha = 0.1 * seconds(config.tupdate) / (seconds(most) * seconds(most));
    config.beta = 0.3 / seconds(most);
}
