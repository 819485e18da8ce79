//! Nodes, each on a thread, and the thread of departures: from time zero to the end.

use super::lane::{Lane, Refused};
use super::process::Supervisor;
use super::runner::{Runner, RunnerReport, Setup};
use super::schedule::{Schedule, ScheduleReport};
use super::shared::Shared;
use super::{Stop, WorldError, parallel};
use crate::kernel::thread::spawn_scoped;
use crate::kernel::wait;
use crate::port::{PortError, Stamps, TxCounters};
use ::capture::{clock, signal};
use node::outcome::Finish;
use node::{Outcome, Time};
use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// From when everything is ready to time zero: threads have started by then.
const PREPARATION_NS: u64 = 20_000_000;
/// Interval of checks for the end of the run while frames wait for departure or the run is ending.
const POLL: Duration = Duration::from_millis(5);
/// Longest interval of these checks otherwise: an idle run uses no processor time.
const IDLE_POLL: Duration = Duration::from_millis(100);
/// Nothing to come and all frames accounted for, at so many looks in a row: the end.
const QUIET_POLLS: u32 = 4;
/// Nothing to come, but frames missing that the kernel may have lost: the end after so many looks.
const SILENT_POLLS: u32 = 60;

/// How long nodes may go on sending when the programs that end by themselves are over.
const LINGER: Time = Time::from_secs(1);

/// Where frames come from beside the nodes.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// Whether frames come from elsewhere too, as long as a port is open.
    pub outside: bool,
    /// Programs that frames come from, too.
    pub supervisor: Option<&'a Supervisor>,
    /// Whether the run ends with those of them that end by themselves: a control channel alone would keep it up for ever.
    pub governed: bool,
}

/// A run that is over.
pub struct Ended {
    pub outcome: Outcome,
    pub runners: Vec<RunnerReport>,
    pub sent: Vec<TxCounters>,
    pub unsent: Vec<u64>,
    pub trouble: Option<PortError>,
}

/// Runs nodes to the end: from when the counter is at a start to a time after that.
pub fn run(
    setups: Vec<Setup>,
    lanes: Vec<Lane>,
    (start_ns, until): (Option<u64>, Option<Time>),
    stop: Option<Stop>,
    sources: Sources<'_>,
) -> Result<Ended, WorldError> {
    let count = setups.len();
    // A report is worth as much as the worst of its stamps.
    let ports = setups.iter().flat_map(|setup| &setup.ports);
    let stamps = ports.clone().map(|port| port.stamps).max();
    let open = ports.filter(|port| port.open).count() as u64;
    let start = start_ns.unwrap_or_else(|| clock::now_ns() + PREPARATION_NS);
    let times = (start, until.unwrap_or(Time::MAX));
    let shared =
        Shared::new(Schedule::new(lanes, count), count, times, open).map_err(WorldError::Thread)?;
    shared.schedule.begin(shared.start);
    if let Some(supervisor) = sources.supervisor {
        supervisor.begin(shared.start);
    }
    let threads = std::thread::scope(|scope| {
        // Should a thread panic, the others still end.
        let _guard = StopGuard(&shared);
        let departures = spawn_scoped(scope, "departures", || shared.schedule.run())?;
        let setups = setups.into_iter().enumerate();
        let runners: io::Result<Vec<_>> = setups
            .map(|(index, setup)| {
                let thread = format!("node {}", setup.name);
                let runner = Runner::new(&shared, index, setup);
                spawn_scoped(scope, &thread, move || {
                    let guard = StopGuard(runner.shared());
                    let report = runner.run();
                    drop(guard);
                    report
                })
            })
            .collect();
        // Those that did start end here, as do all if this returns.
        let runners = runners.inspect_err(|_| {
            shared.end();
            shared.schedule.stop();
        })?;
        let (finish, ended) = watch(&shared, stop.as_ref(), sources);
        shared.end();
        let join = |thread: std::thread::ScopedJoinHandle<'_, RunnerReport>| match thread.join() {
            Ok(report) => report,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        let runners: Vec<RunnerReport> = runners.into_iter().map(join).collect();
        shared.schedule.stop();
        let departures: ScheduleReport = match departures.join() {
            Ok(report) => report,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        Ok((runners, departures, finish, ended))
    });
    let (mut runners, departures, finish, ended) = threads.map_err(WorldError::Thread)?;
    let mut outcome = Outcome {
        ended,
        finish,
        stamps: stamps.map_or("", Stamps::name),
        timing: Some(departures.timing),
        ..Outcome::default()
    };
    let mut trouble = departures.trouble;
    for lane in shared.schedule.lanes() {
        let drops = &mut runners[lane.owner].outcome.drops;
        for (kind, words) in Refused::ALL {
            let refused = lane.refused[kind as usize].load(Ordering::SeqCst);
            match drops.iter_mut().find(|(reason, _)| reason == words) {
                _ if refused == 0 => {}
                Some((_, count)) => *count += refused,
                None => drops.push((words.into(), refused)),
            }
        }
    }
    for lane in shared.schedule.lanes() {
        if let Some(exit) = &lane.exit {
            outcome.frames += exit.lock().map_or(0, |exit| exit.frames);
        }
    }
    for runner in &mut runners {
        outcome.frames += runner.frames;
        outcome.events += runner.events;
        outcome.nodes.push(std::mem::take(&mut runner.outcome));
        if trouble.is_none() {
            trouble = runner.trouble.take();
        }
    }
    let sent = shared.schedule.counters();
    let lanes = shared.schedule.lanes().iter();
    let unsent = lanes
        .map(|lane| lane.waiting.load(Ordering::SeqCst))
        .collect();
    parallel::close(shared.schedule.into_lanes());
    Ok(Ended {
        outcome,
        runners,
        sent,
        unsent,
        trouble,
    })
}

/// Ends the run when it goes out of scope, by a panic too.
struct StopGuard<'a>(&'a Shared);

impl Drop for StopGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
            self.0.schedule.stop();
        }
    }
}

/// Waits for the end of the run; why it ended, and when.
fn watch(shared: &Shared, stop: Option<&Stop>, sources: Sources<'_>) -> (Finish, Time) {
    let (mut quiet, mut last, mut active) = (0, (0, 0, 0), Time::ZERO);
    let outside = sources.outside;
    // When the programs were.
    let mut over = None;
    let mut poll = POLL;
    loop {
        let left = Duration::from_nanos((shared.until - shared.now()).as_ns());
        // A signal ends the sleep. It cannot fail: there is no descriptor.
        let _ = wait::for_any(&mut [], poll.min(left.max(POLL)));
        let now = shared.now();
        if signal::stop_requested() || stop.is_some_and(|stop| stop()) {
            return (Finish::Stopped, now);
        }
        if now >= shared.until {
            return (Finish::Duration, shared.until);
        }
        if shared.has_ended() || shared.trouble.load(Ordering::SeqCst) || shared.schedule.failed() {
            return (Finish::Stopped, now);
        }
        let counts = (
            shared.schedule.sent(),
            shared.received.load(Ordering::SeqCst),
            shared.entered.load(Ordering::SeqCst),
        );
        let programs_over =
            sources.governed && !sources.supervisor.is_some_and(Supervisor::is_busy);
        if programs_over && now - *over.get_or_insert(now) > LINGER {
            return (Finish::Idle, active);
        }
        let mut wakes = shared.wakes.iter().map(|at| at.load(Ordering::SeqCst));
        let waits = shared.schedule.waiting() > 0;
        let nothing_to_come = (programs_over || wakes.all(|at| at == u64::MAX))
            && !waits
            && !sources.supervisor.is_some_and(Supervisor::is_busy)
            && !(outside && shared.open.load(Ordering::SeqCst) > 0);
        poll = match nothing_to_come || waits {
            true => POLL,
            false => (2 * poll).min(IDLE_POLL),
        };
        if !nothing_to_come || counts != last {
            (quiet, last) = (0, counts);
            // A running program counts as activity, even while it sleeps.
            let is_busy = waits || sources.supervisor.is_some_and(Supervisor::is_busy);
            active = if is_busy { now } else { shared.active() };
            continue;
        }
        quiet += 1;
        let all_there = outside || counts.0 == counts.1;
        if quiet >= if all_there { QUIET_POLLS } else { SILENT_POLLS } {
            return (Finish::Idle, active);
        }
    }
}
