//! Disciplines in the words of tc(8): `fq_codel limit 1000 target 5ms noecn`.
//!
//! Units are tc's: a bare time is microseconds, a bare size bytes, `k`, `m` and `g` of a size are of 1024, and `kbps` and `mbps` of a rate
//! are bytes a second. A word that has no equal here is an error that says so: nothing is left out silently.

mod words;

pub use words::TcError;

use crate::{Config, cake, codel, dualpi2, fifo, fq_codel, pie, prio, red, tbf};
use alloc::format;
use alloc::vec::Vec;
use node::Size;
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
        "red" => Config::Red(early(&mut words)?),
        "codel" => Config::Codel(delay(&mut words)?),
        "fq_codel" => Config::FqCodel(flows(&mut words)?),
        "pie" => Config::Pie(integral(&mut words)?),
        "dualpi2" => Config::DualPi2(dual(&mut words)?),
        "cake" => Config::Cake(home(&mut words)?),
        "drr" | "htb" | "policer" => {
            let reason =
                "it has classes, which one line has no room for: write a table of a lab file";
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
            "limit" => config.limit = words.count()?,
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
    let (mut rate, mut burst, mut latency, mut limit) = (None, None, None, None);
    let (mut peak, mut mtu) = (None, None);
    while let Some(word) = words.take() {
        match word {
            "rate" => rate = Some(words.rate()?),
            "burst" | "buffer" | "maxburst" => burst = Some(words.size()?),
            "limit" => limit = Some(words.size()?),
            "latency" => latency = Some(words.time()?),
            "peakrate" => peak = Some(words.rate()?),
            "mtu" | "minburst" => mtu = Some(words.size()?),
            _ => {
                let known = ["rate", "burst", "limit", "latency", "peakrate", "mtu"];
                return Err(words.unknown(&known, &["mpu", "overhead", "linklayer"]));
            }
        }
    }
    let (Some(rate), Some(burst)) = (rate, burst) else {
        return Err(words.whole("`rate` and `burst` are required"));
    };
    let mut config = tbf::Config::new(rate, burst);
    config.limit = match (limit, latency) {
        (Some(limit), None) => limit,
        (None, Some(latency)) => {
            // What leaves in this time, behind a full bucket.
            let bits = u128::from(rate.bits_per_second()) * u128::from(latency.as_ps());
            let bytes = bits / 8_000_000_000_000 + u128::from(burst.bytes());
            Size::from_bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
        }
        (Some(_), Some(_)) => return Err(words.whole("`limit` and `latency` say the same twice")),
        (None, None) => return Err(words.whole("`limit` or `latency` is required")),
    };
    config.peakrate = peak;
    match (peak, mtu) {
        (Some(_), None) => return Err(words.whole("`peakrate` needs `mtu`, its burst")),
        (_, Some(mtu)) => config.mtu = mtu,
        _ => {}
    }
    Ok(config)
}

fn early(words: &mut Words<'_>) -> Result<red::Config, TcError> {
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
            "adaptive" => config.adaptive = true,
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
    let max = max.map_or(limit.bytes() / 4, Size::bytes);
    let min = min.map_or(max / 3, Size::bytes);
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

fn delay(words: &mut Words<'_>) -> Result<codel::Config, TcError> {
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

fn flows(words: &mut Words<'_>) -> Result<fq_codel::Config, TcError> {
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

fn integral(words: &mut Words<'_>) -> Result<pie::Config, TcError> {
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
                return Err(words.unknown(&known, &["dq_rate_estimator", "no_dq_rate_estimator"]));
            }
        }
    }
    Ok(config)
}

fn dual(words: &mut Words<'_>) -> Result<dualpi2::Config, TcError> {
    let mut config = dualpi2::Config::default();
    while let Some(word) = words.take() {
        match word {
            "limit" => config.limit = words.count()?,
            "target" => config.target = words.time()?,
            "tupdate" => config.tupdate = words.time()?,
            "alpha" => config.alpha = words.factor()?,
            "beta" => config.beta = words.factor()?,
            "coupling_factor" => config.coupling = words.count()?,
            "step_thresh" => config.step_thresh = words.time()?,
            "classic_protection" => config.classic_protection = words.percent()?,
            _ => {
                let known = [
                    "limit",
                    "target",
                    "tupdate",
                    "alpha",
                    "beta",
                    "coupling_factor",
                    "step_thresh",
                    "classic_protection",
                ];
                let lacking = [
                    "min_qlen_step",
                    "drop_on_overload",
                    "overflow",
                    "drop_enqueue",
                    "drop_dequeue",
                    "split_gso",
                    "no_split_gso",
                    "l4s_ect",
                    "any_ect",
                    "typical_rtt",
                    "max_rtt",
                ];
                return Err(words.unknown(&known, &lacking));
            }
        }
    }
    Ok(config)
}

fn home(words: &mut Words<'_>) -> Result<cake::Config, TcError> {
    use node::Time;
    let mut config = cake::Config::default();
    while let Some(word) = words.take() {
        let (ms, us) = (Time::from_ms, Time::from_us);
        match word {
            "bandwidth" => config.bandwidth = Some(words.rate()?),
            "unlimited" => config.bandwidth = None,
            "besteffort" => config.diffserv = cake::Diffserv::BestEffort,
            "diffserv3" => config.diffserv = cake::Diffserv::Diffserv3,
            "diffserv4" => config.diffserv = cake::Diffserv::Diffserv4,
            "flowblind" => config.isolation = cake::Isolation::FlowBlind,
            "srchost" => config.isolation = cake::Isolation::SrcHost,
            "dsthost" => config.isolation = cake::Isolation::DstHost,
            "hosts" => config.isolation = cake::Isolation::Hosts,
            "flows" => config.isolation = cake::Isolation::Flows,
            "dual-srchost" => config.isolation = cake::Isolation::DualSrcHost,
            "dual-dsthost" => config.isolation = cake::Isolation::DualDstHost,
            "triple-isolate" => config.isolation = cake::Isolation::TripleIsolate,
            "rtt" => config.rtt = words.time()?,
            // Round trips by name (tc-cake(8)).
            "datacentre" => config.rtt = us(100),
            "lan" => config.rtt = ms(1),
            "metro" => config.rtt = ms(10),
            "regional" => config.rtt = ms(30),
            "internet" => config.rtt = ms(100),
            "oceanic" => config.rtt = ms(300),
            "satellite" => config.rtt = ms(1_000),
            "overhead" => config.overhead = words.overhead()?,
            "mpu" => config.mpu = words.within(0, 256)?,
            "memlimit" => config.memlimit = Some(words.size()?),
            // What is not done here anyway.
            "raw" | "noatm" | "nonat" | "nowash" | "no-ack-filter" | "egress" => {}
            _ => {
                let known = [
                    "bandwidth",
                    "unlimited",
                    "besteffort",
                    "diffserv3",
                    "diffserv4",
                    "flowblind",
                    "srchost",
                    "dsthost",
                    "hosts",
                    "flows",
                    "dual-srchost",
                    "dual-dsthost",
                    "triple-isolate",
                    "rtt",
                    "overhead",
                    "mpu",
                    "memlimit",
                ];
                let lacking = [
                    "autorate-ingress",
                    "diffserv8",
                    "precedence",
                    "nat",
                    "wash",
                    "split-gso",
                    "no-split-gso",
                    "ack-filter",
                    "ack-filter-aggressive",
                    "ingress",
                    "atm",
                    "ptm",
                    "conservative",
                    "interplanetary",
                    "fwmark",
                ];
                return Err(words.unknown(&known, &lacking));
            }
        }
    }
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
