//! RED in the words of tc-red(8).

use super::words::{TcError, Words};
use crate::red;
use node::Size;

/// Reads the parameters of `red`.
pub(super) fn early(words: &mut Words<'_>) -> Result<red::Config, TcError> {
    let mut config = red::Config::default();
    let (mut limit, mut avpkt, mut min, mut max, mut burst) = (None, None, None, None, None);
    while let Some(word) = words.take() {
        match word {
            "limit" => limit = Some(words.size()?),
            "min" => min = Some(words.size()?),
            "max" => max = Some(words.size()?),
            "avpkt" => avpkt = Some(words.size()?),
            "burst" => burst = Some(words.count()?),
            "probability" => config.probability = words.factor()?,
            "bandwidth" => config.bandwidth = words.rate()?,
            "ecn" => config.ecn = true,
            "harddrop" => config.harddrop = true,
            "adaptive" | "adaptative" => config.adaptive = true,
            _ => {
                let known = [
                    "limit",
                    "min",
                    "max",
                    "avpkt",
                    "burst",
                    "probability",
                    "bandwidth",
                    "ecn",
                    "harddrop",
                    "adaptive",
                ];
                let lacking = ["nodrop", "qevent"];
                return Err(words.unknown(&known, &lacking));
            }
        }
    }
    let (Some(limit), Some(avpkt)) = (limit, avpkt) else {
        return Err(words.whole("`limit` and `avpkt` are required"));
    };
    // tc's defaults, in bytes.
    let (min, max) = match (min.map(Size::bytes), max.map(Size::bytes)) {
        (Some(min), Some(max)) => (min, max),
        (Some(min), None) => (min, min.saturating_mul(3)),
        (None, max) => {
            let max = max.unwrap_or(limit.bytes() / 4);
            (max / 3, max)
        }
    };
    let packet = avpkt.bytes().max(1);
    let burst = burst.map_or_else(|| (2 * min + max) / (3 * packet), u64::from);
    (config.limit, config.min, config.max) = (limit, Size::from_bytes(min), Size::from_bytes(max));
    config.avpkt = u32::try_from(packet).unwrap_or(u32::MAX);
    match weight(min, burst, packet) {
        Some(wlog) => config.wlog = wlog,
        None => {
            let reason = "`burst` is too small: it is above `min` / `avpkt`, in packets";
            return Err(words.whole(reason));
        }
    }
    Ok(config)
}

/// Exponent of the weight with which the average does not reach `min` by `burst` packets at once (tc-red(8)): the smallest with
/// `burst + 1 - min / avpkt <= (1 - (1 - w)^burst) / w`.
fn weight(min: u64, burst: u64, packet: u64) -> Option<u32> {
    let bound = burst as f64 + 1.0 - min as f64 / packet as f64;
    if bound < 1.0 {
        return None;
    }
    (1..=16).find(|wlog| {
        let weight = 1.0 / f64::from(1u32 << wlog);
        let (mut power, mut base, mut left) = (1.0, 1.0 - weight, burst);
        while left > 0 {
            if left % 2 == 1 {
                power *= base;
            }
            base *= base;
            left /= 2;
        }
        bound <= (1.0 - power) / weight
    })
}
