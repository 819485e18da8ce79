//! `wire sync --lab`: the clocks of a lab in simulated time, told as this machine's is.

use super::Sync;
use super::report::{Reported, Teller};
use super::verdict::Found;
use super::watch::{News, Sample, Watch};
use crate::Verdict;
use crate::output::{Buffering, Output};
use ::capture::signal::stop_requested;
use ::lab::instruments::clocks::Clocks;
use ::lab::{Options, Registry, Report, Session, World};
use anyhow::Context;
use confine::Permissions;
use measure::clock::ClockReport;
use node::Time;
use node::outcome::{Finish, Statistics};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// Minimum interval between two samples of the clocks.
const MIN_SAMPLE_INTERVAL: Time = Time::from_ms(1);
/// Maximum number of samples; a long run has longer intervals.
const MAX_SAMPLES: u64 = 1 << 17;

/// A node's clock, and who looks at it.
struct Watched {
    name: String,
    watch: Watch,
    news: Receiver<News>,
    teller: Teller,
}

impl Watched {
    fn look(&mut self, counts: &Statistics, now: Time) -> anyhow::Result<()> {
        self.watch.look(counts, now);
        self.news
            .try_iter()
            .try_for_each(|news| self.teller.hear(news))
    }
}

impl Sync {
    /// Runs the lab, and tells of its clocks.
    pub(super) fn over_lab(&self, registry: &Registry, file: &Path) -> anyhow::Result<Verdict> {
        let lab = crate::lab::read(registry, file, World::Sim)?;
        confine::reader(Permissions {
            writes: self.plot.is_some(),
            compiles: true,
            kernel: lab.loads_programs(),
            ..Permissions::default()
        })?;
        let options = Options {
            folder: file.parent().unwrap_or(Path::new("")).into(),
            duration: self.duration,
            dry: true,
            stop: Some(stop_requested),
            ..Options::default()
        };
        let end = self.duration.or(lab.duration);
        let end = end.with_context(|| {
            format!(
                "{} says not when it ends: add --duration 10s",
                file.display()
            )
        })?;
        let mut session = Session::open(&lab, &options)?;
        let mut watched = self.watched(&session)?;
        match watched.len() {
            _ if self.plot.is_none() => {}
            0 => anyhow::bail!(
                "--plot draws clocks that messages set, and there is none; `file` under [offsets] of the lab draws DTP's counters"
            ),
            1 => {}
            _ => anyhow::bail!("--plot draws one clock: add --node NAME"),
        }
        let step = MIN_SAMPLE_INTERVAL.max(Time::from_ps(end.as_ps() / MAX_SAMPLES));
        while session.now() < end {
            let before = session.now();
            let now = (before + step).min(end);
            session.advance(now)?;
            if session.now() == before {
                // Somebody wants the end, or the last test is done.
                break;
            }
            for one in &mut watched {
                one.look(&session.statistics(&one.name)?, session.now())?;
            }
        }
        let report = session.end();
        let good = self.tell_all(&report, watched, file)?;
        let done = report.outcome.finish != Finish::Stopped;
        Ok(Verdict::if_good(good).max(Verdict::if_done(done)))
    }

    /// The clocks that messages set, or that set others. One alone has a line a second.
    fn watched(&self, session: &Session) -> anyhow::Result<Vec<Watched>> {
        let mut clocks = session.clocks();
        if let Some(only) = &self.node {
            // That there is such a node.
            session.statistics(only)?;
            clocks.retain(|(name, _)| name == only);
        }
        let alone = clocks.len() == 1;
        let watched = clocks.into_iter().map(|(name, epoch_ns)| {
            let (sender, news) = channel();
            Ok(Watched {
                name: name.into(),
                watch: Watch::new(self, 0, epoch_ns, None, sender, Arc::default()),
                news,
                teller: Teller::new(self, Some(name.into()), !alone)?,
            })
        });
        watched.collect()
    }

    fn tell_all(
        &self,
        report: &Report,
        watched: Vec<Watched>,
        file: &Path,
    ) -> anyhow::Result<bool> {
        let clocks = report.section::<Clocks>();
        let all = clocks.into_iter().flat_map(Clocks::all);
        let all = all.filter_map(|(name, clock)| {
            let mut nodes = report.outcome.nodes.iter();
            Some((nodes.find(|node| node.name == *name)?, clock))
        });
        let is_wanted = |name: &String| self.node.as_ref().is_none_or(|only| only == name);
        let all: Vec<_> = all.filter(|(node, _)| is_wanted(&node.name)).collect();
        let place = file.display();
        match &self.node {
            _ if !all.is_empty() => {}
            Some(only) => anyhow::bail!("{only} of {place} has no clock"),
            None => anyhow::bail!("no node of {place} has a clock"),
        }
        let mut told: Vec<(String, Reported)> = Vec::new();
        for one in watched {
            told.push((one.name, one.teller.finish()?));
        }
        let mut good = true;
        for (index, (node, clock)) in all.iter().enumerate() {
            let told = told.iter().find(|(name, _)| *name == node.name);
            let counter;
            let told = match told.filter(|_| clock.protocol != "dtp") {
                Some((_, told)) => told,
                None => {
                    counter = counted(clock, report.outcome.ended);
                    &counter
                }
            };
            if index > 0 && !self.json {
                let mut stdout = Output::open(&Buffering::default())?;
                stdout.tell("\n")?;
                stdout.finish()?;
            }
            let found = Found {
                node,
                clock,
                told,
                ended: report.outcome.ended,
                arrivals: report.outcome.stamps,
                ports: &[],
            };
            good &= found.tell(self)?;
        }
        Ok(good)
    }
}

/// Of a counter of DTP, what there is in the end.
fn counted(clock: &ClockReport, ended: Time) -> Reported {
    Reported {
        last: Some(Sample {
            at: ended,
            offset_ps: clock.offset.last_ps,
            bound_ps: clock.bound_ps,
            delay_ps: clock.delay_ps,
            drift_ppt: -clock.steered_ppt,
            machine_ps: -i128::from(clock.error.last_ps),
        }),
        ..Reported::default()
    }
}
