//! Drops packets of delay-sensitive flows that would come too late, before they hold up those behind them (004 section
//! 3.2, after its reference 37).
//!
//! - **Ports:** 2; what comes in by one goes out by the other, if it goes at all.
//! - **Parameters:** `match`, every IP packet: [rules](crate::rule), of which one must match; `bound`, 20 ms: packets that
//!   would wait longer are dropped; `thin`, none: from this wait on packets are dropped at random, with a probability that
//!   rises from 0 to `probability`, 0.1, at the bound (as random early detection does, by the wait there is, not by a
//!   mean of it); `class`, 0: the class of the queueing discipline in which they wait; `age`, 1 ms: how old what is known
//!   of the queue may be; `seed`.
//! - **Counters:** `packets`; `bytes`, without FCS; `matched`; `unknown`: matched, while nothing was known of the queue, and
//!   sent on; `late`; `thinned`.
//! - **Drops:** `too late`; `thinned`.
//!
//! The wait is that of the queue of the port by which a packet leaves: what was told of it last, less what has left since, and what
//! this node has sent since. So nothing grows stale where all the traffic passes here, and where it does not, `age` bounds the error.

use crate::backlog::Backlog;
use crate::rule::{Headers, Rule, any_matches};
use alloc::vec::Vec;
use node::ConfigError;
use node::event::Event;
use node::random::Random;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};

/// What it is made from.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Which packets are delay-sensitive; empty: all IP packets.
    #[cfg_attr(feature = "serde", serde(rename = "match"))]
    pub matching: Vec<Rule>,
    /// The longest wait of a packet that is of use.
    pub bound: Time,
    /// The wait from which on packets are thinned, below the bound; `None`: they are not.
    pub thin: Option<Time>,
    /// With which probability a packet is dropped that waits just less than the bound, 0 to 1.
    pub probability: f64,
    /// The class of the queueing discipline, see [`node::event::Queue::class`].
    #[cfg_attr(
        feature = "serde",
        serde(deserialize_with = "crate::backlog::read_class")
    )]
    pub class: u32,
    /// How old facts may be.
    pub age: Time,
    /// Where the luck of thinning comes from.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            matching: Vec::new(),
            bound: Time::from_ms(20),
            thin: None,
            probability: 0.1,
            class: 0,
            age: Time::from_ms(1),
            seed: 0,
        }
    }
}

/// The node. See the [module](self).
#[derive(Debug)]
pub struct EarlyDiscard {
    config: Config,
    random: Random,
    backlogs: [Backlog; 2],
    packets: u64,
    bytes: u64,
    matched: u64,
    unknown: u64,
    late: u64,
    thinned: u64,
}

impl EarlyDiscard {
    /// A new one.
    ///
    /// # Errors
    /// When the probability is none, or packets are to be thinned only behind the bound.
    pub fn new(config: Config) -> Result<EarlyDiscard, ConfigError> {
        if !(0.0..=1.0).contains(&config.probability) {
            return Err(ConfigError {
                key: "probability",
                reason: "from 0 to 1".into(),
            });
        }
        if config.thin.is_some_and(|thin| thin >= config.bound) {
            return Err(ConfigError {
                key: "thin",
                reason: "thinning begins at a shorter wait than `bound`".into(),
            });
        }
        Ok(EarlyDiscard {
            random: Random::new(config.seed),
            backlogs: [Backlog::of_class(config.class); 2],
            config,
            packets: 0,
            bytes: 0,
            matched: 0,
            unknown: 0,
            late: 0,
            thinned: 0,
        })
    }

    /// Whether a packet that would wait so long is of no use, or is to make room; and why.
    fn discards(&mut self, wait: Time) -> Option<&'static str> {
        let Config { bound, thin, .. } = self.config;
        if wait > bound {
            self.late += 1;
            return Some("too late");
        }
        let thin = thin.filter(|thin| wait > *thin)?;
        let part = (wait - thin).as_ps() as f64 / (bound - thin).as_ps() as f64;
        let thinned = self.random.chance(part * self.config.probability);
        self.thinned += u64::from(thinned);
        thinned.then_some("thinned")
    }

    fn frame(&mut self, now: Time, port: Port, frame: Frame, out: &mut Out) {
        self.packets += 1;
        self.bytes += frame.len() as u64;
        let leaves = Port(1 - port.0);
        if any_matches(&self.config.matching, Headers::read(&frame).as_ref()) {
            self.matched += 1;
            let wait = self.backlogs[leaves.index()].wait(now);
            self.unknown += u64::from(wait.is_none());
            if let Some(reason) = wait.and_then(|wait| self.discards(wait)) {
                return out.drop(frame, reason);
            }
        }
        self.backlogs[leaves.index()].send(now, frame.len());
        out.send(leaves, frame);
    }
}

impl Node for EarlyDiscard {
    fn properties(&self) -> Properties {
        Properties {
            statistics_age: Some(self.config.age),
            changes_frames: false,
            ..Properties::of(2)
        }
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.frame(now, port, frame, out);
        }
    }

    fn event(&mut self, _: Time, event: &Event, _: &mut Out) {
        if let Some(backlog) = self.backlogs.get_mut(event.port.index()) {
            backlog.update(event);
        }
    }

    fn statistics(&self) -> Statistics {
        Statistics::from([
            ("packets", self.packets),
            ("bytes", self.bytes),
            ("matched", self.matched),
            ("unknown", self.unknown),
            ("late", self.late),
            ("thinned", self.thinned),
        ])
    }
}
