//! Main loop: advances the session at its pace, carries out orders and takes samples.

use crate::order::{Answer, Order};
use crate::pace::Pace;
use crate::sample::{self, Run};
use crate::{Watch, WatchError};
use lab::{Lab, Ping, Session};
use node::Time;
use node::outcome::Table;
use serde_json::{Value, json};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// Maximum time for which the simulation runs without a check for orders.
const TURN: Duration = Duration::from_millis(20);
/// Interval of checks for the end while the run waits.
const IDLE: Duration = Duration::from_millis(20);
/// Interval over which the achieved speed is measured.
const ACHIEVED_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of lines in the log.
const MAX_LOG: usize = 50;
/// Maximum number of rows in a table of a node.
const MAX_SHOWN: usize = 200;

/// State of the main loop.
struct Drive<'a, 'lab> {
    watch: &'a mut Watch,
    session: &'a mut Session<'lab>,
    lab: &'a Lab,
    begun: Instant,
    pace: Pace,
    /// The ping on its way: its time, source and destination.
    ping: Option<(Time, String, String)>,
    log: Vec<(u64, String)>,
    logged: u64,
    /// Last measurement of the achieved speed: time of the clock, simulated time, and speed.
    achieved: (Duration, Time, f64),
}

/// Runs until `stop` returns true.
#[expect(
    clippy::disallowed_methods,
    reason = "simulated time is kept to a clock here"
)]
pub fn run(
    watch: &mut Watch,
    session: &mut Session<'_>,
    lab: &Lab,
    stop: &dyn Fn() -> bool,
) -> Result<(), WatchError> {
    let begun = Instant::now();
    let mut drive = Drive {
        watch,
        session,
        lab,
        begun,
        pace: Pace::new(Duration::ZERO),
        ping: None,
        log: Vec::new(),
        logged: 0,
        achieved: (Duration::ZERO, Time::ZERO, 0.0),
    };
    let every = sample::interval(lab);
    let mut due = Duration::ZERO;
    let mut had_ended = false;
    while !stop() {
        let now = begun.elapsed();
        if now >= due {
            drive.sample(now);
            due = now + every;
        }
        let is_busy = drive.go_on()?;
        let has_ended = drive.session.has_ended();
        if has_ended && !had_ended {
            drive.say("the lab is over");
        }
        had_ended = has_ended;
        let wait = match is_busy {
            true => Duration::ZERO,
            false => due.saturating_sub(begun.elapsed()).min(IDLE),
        };
        match drive.watch.orders.recv_timeout(wait) {
            Ok((order, answer)) => {
                let given = drive.obey(order);
                // The client may have disconnected.
                let _ = answer.send(given);
                due = Duration::ZERO;
            }
            Err(RecvTimeoutError::Timeout) => {}
            // The server has stopped.
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
    drive.sample(begun.elapsed());
    Ok(())
}

impl Drive<'_, '_> {
    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    fn say(&mut self, line: impl Into<String>) {
        self.logged += 1;
        let at = self.session.now();
        self.log
            .push((self.logged, format!("{at}: {}", line.into())));
        if self.log.len() > MAX_LOG {
            self.log.remove(0);
        }
    }

    /// Advances the session to its target, for at most [`TURN`]. Returns true if it has not reached the target.
    fn go_on(&mut self) -> Result<bool, WatchError> {
        if !self.pace.is_running() {
            return Ok(false);
        }
        let begun = self.now();
        let end = self.session.duration();
        loop {
            let now = self.now();
            let at = self.session.now();
            let bounded = self.pace.target(now);
            let target = match (bounded, self.session.next()) {
                (Some(target), _) => target,
                (None, Some(next)) => next,
                (None, None) => return Ok(false),
            };
            let target = end.map_or(target, |end| target.min(end)).max(at);
            let reached = self.session.advance_part(target)?;
            self.settle_ping();
            if self.session.has_ended() {
                self.pace.restart(self.now(), self.session.now());
                return Ok(false);
            }
            if reached && bounded.is_some() {
                return Ok(false);
            }
            if self.now() >= begun + TURN {
                // The pace does not catch up.
                self.pace.restart(self.now(), self.session.now());
                return Ok(true);
            }
        }
    }

    /// Records the outcome of the ping, if there is one.
    fn settle_ping(&mut self) {
        let Some((started, ..)) = self.ping else {
            return;
        };
        let Some(outcome) = self.session.ping_outcome(started) else {
            return;
        };
        let Some((_, from, to)) = self.ping.take() else {
            return;
        };
        let (text, took) = match outcome {
            Ping::Answered(took) => ("answered".to_owned(), Some(took)),
            Ping::Error { after, from, name } => (format!("{name} from {from}"), Some(after)),
            Ping::Silence => ("no answer".into(), None),
            Ping::NoRoute => ("no route".into(), None),
        };
        let after = took.map_or(String::new(), |took| format!(" after {took}"));
        let now = self.session.now();
        self.watch.tables.ping(now, &from, &to, &text, took);
        self.say(format!("ping from {from} to {to}: {text}{after}"));
    }

    fn sample(&mut self, now: Duration) {
        let at = self.session.now();
        let (since, then, _) = self.achieved;
        if now >= since + ACHIEVED_INTERVAL {
            let real = (now - since).as_secs_f64();
            self.achieved = (now, at, (at.as_ps() - then.as_ps()) as f64 / 1e12 / real);
        }
        let outcome = self.session.outcome();
        let links = self.session.link_states(&outcome);
        self.watch.tables.sample(at, self.lab, &links, &outcome);
        let figures = sample::figures(
            self.session,
            &links,
            &Run {
                pace: &self.pace,
                achieved: self.achieved.2,
                has_ended: self.session.has_ended(),
                log: &self.log,
            },
        );
        *self.watch.shown.figures.lock() = figures;
    }

    fn obey(&mut self, order: Order) -> Answer {
        let (now, at) = (self.now(), self.session.now());
        match order {
            Order::Run(runs) => self.pace.set_running(now, at, runs),
            Order::Speed(speed) => self.pace.set_speed(now, at, speed),
            Order::Step(events) => {
                let done = self
                    .session
                    .step(events)
                    .map_err(|error| error.to_string())?;
                self.settle_ping();
                self.pace.set_running(self.now(), self.session.now(), false);
                return Ok(json!({"events": done}));
            }
            Order::Link { number, up } => return self.set_link(number, up),
            Order::Ping(from, to) => return self.start_ping(from, to),
            Order::Show(name) => return self.show(&name),
        }
        Ok(json!({}))
    }

    fn set_link(&mut self, number: usize, up: bool) -> Answer {
        let lost = self.session.set_link_by_number(number, up);
        let lost = lost.map_err(|error| error.to_string())?;
        if let Some(link) = self.lab.link_overviews().nth(number) {
            let [one, other] = link.names;
            self.say(match up {
                true => format!("link {one} - {other} up"),
                false => format!("link {one} - {other} down, {lost} frames on it lost"),
            });
        }
        Ok(json!({"lost": lost}))
    }

    fn start_ping(&mut self, from: String, to: String) -> Answer {
        if let Some((_, from, to)) = &self.ping {
            return Err(format!("the ping from {from} to {to} is on its way"));
        }
        let at = self.session.now();
        let started = self.session.start_ping(&from, &to);
        if !started.map_err(|error| error.to_string())? {
            return Err(format!("{from} has no route to {to}"));
        }
        self.ping = Some((at, from, to));
        Ok(json!({}))
    }

    fn show(&self, name: &str) -> Answer {
        let statistics = self.session.statistics(name);
        let statistics = statistics.map_err(|error| error.to_string())?;
        let tables = self.session.tables(name).unwrap_or_default();
        let flows = statistics.flows.iter().take(MAX_SHOWN).map(|flow| {
            json!({
                "program": flow.program, "from": flow.from, "to": flow.to, "bytes": flow.bytes, "packets": flow.packets,
                "lost": flow.lost, "resent": flow.resent, "done": flow.done, "goodput": flow.goodput(),
                "rtt_ns": (flow.round_trip.count > 0).then(|| flow.round_trip.mean().as_ps() as f64 / 1e3),
            })
        });
        Ok(json!({
            "name": name,
            "counters": statistics.counters.iter().map(|(name, value)| json!([name, value])).collect::<Vec<_>>(),
            "flows": flows.collect::<Vec<_>>(),
            "tables": tables.iter().map(shown).collect::<Vec<_>>(),
        }))
    }
}

/// A table of a node as JSON, with at most [`MAX_SHOWN`] rows.
fn shown(table: &Table) -> Value {
    let entries = &table.entries[..table.entries.len().min(MAX_SHOWN)];
    json!({"name": table.name, "entries": entries, "all": table.entries.len()})
}
