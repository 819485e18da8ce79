//! Parameters of DOCSIS-PIE: the constants of RFC 8034 appendix A.

use node::{Rate, Size, Time};

/// Parameters of DOCSIS-PIE.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Config {
    /// The upstream's rate, bits a second, by which the delay comes from the backlog.
    pub rate: Rate,
    /// Bytes that may wait. Default 100 ms at `rate`, at least 6056 bytes.
    #[cfg_attr(feature = "serde", serde(default))]
    pub limit: Option<Size>,
    /// Delay that the controller aims at. Default 10 ms.
    #[cfg_attr(feature = "serde", serde(default = "target"))]
    pub target: Time,
    /// Time between updates of the probability, above 0. Default 16 ms.
    #[cfg_attr(feature = "serde", serde(default = "tupdate"))]
    pub tupdate: Time,
    /// Weight of the deviation from the target, 0..=65536 in 1/16 a second. Default 4: 0.25 Hz.
    #[cfg_attr(feature = "serde", serde(default = "alpha"))]
    pub alpha: u32,
    /// Weight of the trend of the delay, 0..=65536 in 1/16 a second. Default 40: 2.5 Hz.
    #[cfg_attr(feature = "serde", serde(default = "beta"))]
    pub beta: u32,
    /// Time after the first drop of a burst in which nothing more is dropped early. Default 142 ms.
    #[cfg_attr(feature = "serde", serde(default = "max_burst"))]
    pub max_burst: Time,
    /// Time of quiet after which a burst is over. Default 1 s.
    #[cfg_attr(feature = "serde", serde(default = "burst_reset"))]
    pub burst_reset: Time,
    /// Delay below which the probability decays. Default 5 ms.
    #[cfg_attr(feature = "serde", serde(default = "latency_low"))]
    pub latency_low: Time,
    /// Delay above which the probability grows by 0.02 more with each update. Default 200 ms.
    #[cfg_attr(feature = "serde", serde(default = "latency_high"))]
    pub latency_high: Time,
    /// Mean length of packets, 1..=65536 bytes. Default 1024.
    #[cfg_attr(feature = "serde", serde(default = "mean_packet"))]
    pub mean_packet: u32,
    /// Bytes of the modem's token bucket, the Maximum Traffic Burst, which leave at `peakrate`.
    /// Default none: all bytes leave at `rate`.
    #[cfg_attr(feature = "serde", serde(default))]
    pub burst: Option<Size>,
    /// Peak Traffic Rate, bits a second, above `rate`. Required with `burst`, and only then.
    #[cfg_attr(feature = "serde", serde(default))]
    pub peakrate: Option<Rate>,
}

fn target() -> Time {
    Time::from_ms(10)
}

fn tupdate() -> Time {
    Time::from_ms(16)
}

fn alpha() -> u32 {
    4
}

fn beta() -> u32 {
    40
}

fn max_burst() -> Time {
    Time::from_ms(142)
}

fn burst_reset() -> Time {
    Time::from_secs(1)
}

fn latency_low() -> Time {
    Time::from_ms(5)
}

fn latency_high() -> Time {
    Time::from_ms(200)
}

fn mean_packet() -> u32 {
    1024
}

impl Config {
    /// The constants of RFC 8034 appendix A for an upstream rate.
    pub fn new(rate: Rate) -> Config {
        Config {
            rate,
            limit: None,
            target: target(),
            tupdate: tupdate(),
            alpha: alpha(),
            beta: beta(),
            max_burst: max_burst(),
            burst_reset: burst_reset(),
            latency_low: latency_low(),
            latency_high: latency_high(),
            mean_packet: mean_packet(),
            burst: None,
            peakrate: None,
        }
    }
}
