//! What a pair of ports is worth: departures of the one as the other's stamps see them, for each way of
//! sending; and keeping what was found, so that later runs make use of it.
//!
//! Both ports are on this machine: by a cable between two cards, a veth pair, or a TAP interface and its
//! port. Frames of the local experimental type 0x88B5 go from each to the other.

mod trial;

use super::calibration::{self, Calibration};
use super::{Method, Options, PortError, PortSpec, Stamps, open_plain};
use ::capture::signal::Stopped;
use node::Time;
use node::outcome::{Spread, TimingError};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Departures of each trial. Default 2000.
    pub count: u64,
    /// From one to the next. Default 500 us.
    pub gap: Duration,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            count: 2_000,
            gap: Duration::from_micros(500),
        }
    }
}

/// Why a pair cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// A port cannot be opened, or ended.
    #[error(transparent)]
    Port(#[from] PortError),
    /// What goes in does not come out.
    #[error(
        "{received} of {sent} frames came from {from} to {to}; connect the two directly, or by a switch that \
         floods what it does not know"
    )]
    NotConnected {
        /// The port that sent.
        from: String,
        /// The port that was to receive.
        to: String,
        /// Frames sent.
        sent: u64,
        /// Frames received.
        received: u64,
    },
    /// Ctrl-C.
    #[error("stopped before the end; nothing was kept")]
    Stopped(#[source] Stopped),
}

/// One way of sending from one port to the other.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The way, in a word or two.
    pub method: &'static str,
    /// The same, where there is a choice.
    pub choice: Option<Method>,
    /// Frames sent.
    pub sent: u64,
    /// Frames that arrived, of those.
    pub received: u64,
    /// What the sending side says of its departures.
    pub timing: TimingError,
    /// By how much the far stamps were off the times asked for, early or late, as they are.
    pub far: Spread,
    /// The same without what all have in common: the way from the driver to the far stamp.
    pub jitter: Spread,
    /// By how much the distance between neighbours was off.
    pub gaps: Spread,
    /// The most that a far stamp was before the time asked for.
    pub earliest: Time,
    /// From the call to the far stamp.
    pub latency: Spread,
    /// The least of those.
    pub least_latency: Time,
    /// Whether the far stamps are taken inside the call, as on a veth pair: then they tell of departures.
    pub inside: bool,
    /// How long before its time a frame is to be given to this port, ns.
    pub lead_ns: u64,
}

/// What was found in one direction.
#[derive(Clone, Debug)]
pub struct Direction {
    /// The port that sends.
    pub from: PortSpec,
    /// The port that receives.
    pub to: PortSpec,
    /// What the stamps of that are.
    pub stamps: Stamps,
    /// Each way of sending that the port has.
    pub trials: Vec<Trial>,
}

impl Direction {
    /// The best: the least error at 99 %; of those within a quarter of it the least at the median.
    ///
    /// # Panics
    /// When there is no trial at all.
    pub fn best(&self) -> &Trial {
        let p99 = |trial: &&Trial| trial.jitter.p99;
        let least = self.trials.iter().map(|trial| trial.jitter.p99).min();
        let near = least.unwrap_or_default() * 5;
        let good = self.trials.iter().filter(|trial| p99(trial) * 4 <= near);
        good.min_by_key(|trial| trial.jitter.p50)
            .expect("a direction has trials")
    }

    fn calibration(&self, at: u64) -> Calibration {
        let (best, jitter) = (self.best(), self.best().jitter);
        Calibration {
            port: self.from.to_string(),
            mac: calibration::address(&self.from).unwrap_or_default(),
            to: self.to.to_string(),
            at,
            method: best.choice,
            lead_ns: best.lead_ns,
            error_ns: [jitter.p50, jitter.p99, jitter.p999, jitter.max].map(|time| time.as_ns()),
        }
    }
}

/// Saves what was measured, for later runs; returns where.
///
/// # Errors
/// When there is no home, or the file cannot be written.
pub fn save(directions: &[Direction]) -> io::Result<PathBuf> {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed();
    let at = since.map_or(0, |since| since.as_secs());
    let measured = directions.iter().map(|one| one.calibration(at));
    calibration::save(&measured.collect::<Vec<_>>())
}

/// Measures a pair, there and back.
///
/// # Errors
/// When a port cannot be opened, or frames do not get through.
pub fn measure(a: &PortSpec, b: &PortSpec, plan: Plan) -> Result<[Direction; 2], CalibrateError> {
    let direction = |forth: bool| {
        let (from, to) = if forth { (a, b) } else { (b, a) };
        let methods: &[Option<Method>] = match from {
            PortSpec::Interface(_) => &[Some(Method::Send), Some(Method::Ring)],
            _ => &[None],
        };
        let (mut trials, mut stamps) = (Vec::new(), Stamps::Software);
        for &method in methods {
            let options = |mine: bool| Options {
                method: method.filter(|_| mine).or(Some(Method::Send)),
                ..Options::default()
            };
            // A TAP interface is there only when its port has been opened, so always in this order.
            let first = open_plain(a, &options(forth))?;
            let second = open_plain(b, &options(!forth))?;
            let (near, far) = if forth {
                (first, second)
            } else {
                (second, first)
            };
            stamps = far.info.stamps;
            trials.push(trial::run(near, far, method, plan)?);
        }
        Ok::<Direction, CalibrateError>(Direction {
            from: from.clone(),
            to: to.clone(),
            stamps,
            trials,
        })
    };
    Ok([direction(true)?, direction(false)?])
}
