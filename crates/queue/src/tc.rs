//! Disciplines in the words of tc(8): `fq_codel limit 1000 target 5ms noecn`.
//!
//! Units are tc's: a bare time is microseconds, a bare size bytes, `k`, `m` and `g` of a size are of 1024, and `kbps` and `mbps` of a rate
//! are bytes a second. A word that has no equal here is an error that says so: nothing is left out silently.

mod aqm;
mod cake;
mod dualpi2;
mod red;
mod words;

pub use words::TcError;

use crate::{Config, fifo, prio, tbf};
use alloc::format;
use alloc::vec::Vec;
use node::{Rate, Size};
use words::Words;

/// Disciplines that can be written in one line.
pub const NAMES: [&str; 12] = [
    "pfifo",
    "bfifo",
    "pfifo_head_drop",
    "fifo",
    "prio",
    "tbf",
    "red",
    "codel",
    "fq_codel",
    "pie",
    "dualpi2",
    "cake",
];

/// Reads a discipline: its name, and its parameters.
///
/// # Errors
/// The word that is wrong, and why: not known, without an equal here, or with a value that makes no sense.
pub fn parse(words: &[&str]) -> Result<Config, TcError> {
    let mut words = Words::new(words);
    let Some(name) = words.take() else {
        return Err(words.wrong(format!("a discipline is missing: {}", NAMES.join(", "))));
    };
    let config = match name {
        "pfifo" | "fifo" => packets(&mut words, false)?,
        "pfifo_head_drop" => packets(&mut words, true)?,
        "bfifo" => bytes(&mut words)?,
        "prio" => Config::Prio(bands(&mut words)?),
        "tbf" => Config::Tbf(bucket(&mut words)?),
        "red" => Config::Red(red::early(&mut words)?),
        "codel" => Config::Codel(aqm::delay(&mut words)?),
        "fq_codel" => Config::FqCodel(aqm::flows(&mut words)?),
        "pie" => Config::Pie(aqm::integral(&mut words)?),
        "dualpi2" => Config::DualPi2(dualpi2::dual(&mut words)?),
        "cake" => Config::Cake(cake::home(&mut words)?),
        "drr" | "htb" | "policer" | "varying" | "docsis_pie" => {
            let reason = "a line of tc has no room for its parameters: write a table of a lab file";
            return Err(words.wrong(reason));
        }
        _ => return Err(words.wrong(format!("no discipline; there are {}", NAMES.join(", ")))),
    };
    match config.build(0) {
        Ok(_) => Ok(config),
        Err(error) => Err(words.whole(format!("{error}"))),
    }
}

fn packets(words: &mut Words<'_>, head_drop: bool) -> Result<Config, TcError> {
    let mut config = fifo::Config {
        head_drop,
        ..fifo::Config::default()
    };
    while let Some(word) = words.take() {
        match word {
            // A size to tc, also in packets: `1k` is 1024.
            "limit" => config.limit = words.size_count()?,
            _ => return Err(words.unknown(&["limit"], &[])),
        }
    }
    Ok(Config::Fifo(config))
}

fn bytes(words: &mut Words<'_>) -> Result<Config, TcError> {
    let mut config = fifo::Config {
        limit: u32::MAX,
        // tc's: a queue of 1000 packets of the MTU.
        bytes: Some(Size::from_bytes(1_514_000)),
        ..fifo::Config::default()
    };
    while let Some(word) = words.take() {
        match word {
            "limit" => config.bytes = Some(words.size()?),
            _ => return Err(words.unknown(&["limit"], &[])),
        }
    }
    Ok(Config::Fifo(config))
}

fn bands(words: &mut Words<'_>) -> Result<prio::Config, TcError> {
    let mut config = prio::Config::default();
    while let Some(word) = words.take() {
        match word {
            "bands" => {
                // The kernel's bounds.
                let bands = words.within(2, 16)?;
                config.bands.resize_with(bands as usize, Config::default);
            }
            "priomap" => {
                let map: Vec<u32> = words.counts(16)?;
                for (place, band) in config.priomap.iter_mut().zip(map) {
                    *place = band;
                }
            }
            _ => return Err(words.unknown(&["bands", "priomap"], &["multiqueue"])),
        }
    }
    Ok(config)
}

fn bucket(words: &mut Words<'_>) -> Result<tbf::Config, TcError> {
    /// Parameters that tc takes cut short; the first that fits is meant.
    const SHORT: [&str; 6] = [
        "limit",
        "latency",
        "burst",
        "peakrate",
        "overhead",
        "linklayer",
    ];
    let (mut rate, mut burst, mut latency, mut limit) = (None, None, None, None);
    let (mut peak, mut mtu) = (None, None);
    while let Some(word) = words.take() {
        let full = SHORT.iter().find(|full| full.starts_with(word));
        match full.copied().unwrap_or(word) {
            "rate" => rate = Some(words.rate()?),
            "burst" | "buffer" | "maxburst" => burst = Some(words.size_and_cell()?),
            "limit" => limit = Some(words.size()?),
            "latency" => latency = Some(words.time()?),
            "peakrate" => peak = Some(words.rate()?),
            "mtu" | "minburst" => mtu = Some(words.size_and_cell()?),
            "mpu" | "overhead" => words.only("0")?,
            "linklayer" => words.only("ethernet")?,
            _ => {
                let known = ["rate", "burst", "limit", "latency", "peakrate", "mtu"];
                return Err(words.unknown(&known, &[]));
            }
        }
    }
    let (Some(rate), Some(burst)) = (rate, burst) else {
        return Err(words.whole("`rate` and `burst` are required"));
    };
    let peak = match (peak, mtu) {
        (Some(_), None) => return Err(words.whole("`peakrate` needs `mtu`, its burst")),
        (Some(peak), Some(mtu)) => Some((peak, mtu)),
        (None, _) => None,
    };
    let mut config = tbf::Config::new(rate, burst);
    config.limit = match (limit, latency) {
        (Some(limit), None) => limit,
        (None, Some(latency)) => {
            // Bytes that leave in this time after a full bucket; of two buckets, the smaller number.
            let after = |rate: Rate, burst: Size| {
                let bits = u128::from(rate.bits_per_second()) * u128::from(latency.as_ps());
                let bytes = bits / 8_000_000_000_000 + u128::from(burst.bytes());
                Size::from_bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
            };
            let limit = after(rate, burst);
            peak.map_or(limit, |(peak, mtu)| limit.min(after(peak, mtu)))
        }
        (Some(_), Some(_)) => return Err(words.whole("`limit` and `latency` say the same twice")),
        (None, None) => return Err(words.whole("`limit` or `latency` is required")),
    };
    if let Some(mtu) = mtu {
        config.mtu = mtu;
    }
    config.peakrate = peak.map(|(peak, _)| peak);
    Ok(config)
}

/// The same, with the words in a text.
///
/// # Errors
/// As [`parse`].
pub fn parse_text(text: &str) -> Result<Config, TcError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    parse(&words)
}
