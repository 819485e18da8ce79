//! One lab run many times: keys of its file take values one after the other, each with several seeds, on all processors.
//!
//! The outcome does not depend on the number of threads: each run is one of its own, and what they have in common is
//! reckoned in the order of values and seeds.

mod measure;
mod outcome;
mod spec;
mod student;

pub use measure::{Counted, Measure, UnknownMeasure};
pub use outcome::{Outcome, Point};
pub use spec::{Axis, AxisError, Setting, Unit};
pub use student::Estimate;

use crate::error::{LabError, ReadError};
use crate::options::Options;
use crate::plan::Lab;
use crate::registry::Registry;
use crate::run::run;
use crate::world::World;
use node::outcome::Finish;
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The key of the lab file from which all random numbers of a run come.
const SEED: &str = "lab.seed";

/// Maximum number of runs of one sweep.
pub const MAX_RUNS: usize = 1_000_000;

/// Definition of the runs.
pub struct Sweep {
    /// The lab file.
    pub file: PathBuf,
    /// Keys that have another value than in the file, the same in all runs.
    pub set: Vec<(String, String)>,
    /// The keys and their values; every combination is run.
    pub axes: Vec<Axis>,
    /// Seeds of each combination: the first, and how many.
    pub seeds: (u64, u64),
    /// Maximum number of threads.
    pub threads: usize,
    /// Other options of a run; it writes nothing, whatever they say.
    pub options: Options,
}

/// Why a sweep did not run.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The lab file is wrong with some values.
    #[error("with {with}: {error}")]
    Read {
        /// `link.0.rate = 1 Gb/s`.
        with: String,
        /// What is wrong.
        error: Box<ReadError>,
    },
    /// A run failed.
    #[error("with {with}, seed {seed}: {error}")]
    Run {
        /// `link.0.rate = 1 Gb/s`.
        with: String,
        /// Its seed.
        seed: u64,
        /// Why.
        error: Box<LabError>,
    },
    /// The seed is a key of the sweep.
    #[error(
        "the seed is no key of a sweep: each point runs with all seeds; write --seeds 20, and --seed N for the first"
    )]
    Seed,
    /// It would never end.
    #[error("{0}")]
    TooMuch(String),
}

/// What a run told of each measure, in the order of [`Measure::ALL`].
type Values = [Option<f64>; Measure::ALL.len()];

impl Sweep {
    /// How many combinations of values there are.
    #[must_use]
    pub fn points(&self) -> usize {
        let lengths = self.axes.iter().map(|axis| axis.values.len());
        lengths.fold(1, usize::saturating_mul)
    }

    /// The value of each key at a combination; the last key changes fastest.
    fn settings(&self, point: usize) -> Vec<&Setting> {
        let mut rest = point;
        let mut settings: Vec<&Setting> = Vec::new();
        for axis in self.axes.iter().rev() {
            settings.push(&axis.values[rest % axis.values.len()]);
            rest /= axis.values.len();
        }
        settings.reverse();
        settings
    }

    /// What is set at a combination, for people.
    fn with(&self, point: usize) -> String {
        let keys = self.axes.iter().map(|axis| &axis.key);
        let settings = keys.zip(self.settings(point));
        let settings: Vec<String> = settings
            .map(|(key, value)| format!("{key} = {}", value.text))
            .collect();
        match settings.is_empty() {
            true => "the lab file as it is".into(),
            false => settings.join(", "),
        }
    }

    /// Reads the lab of a combination, with the seed `index` after the first.
    fn read(&self, registry: &Registry, point: usize, index: usize) -> Result<Lab, SweepError> {
        let keys = self.axes.iter().map(|axis| &axis.key[..]);
        let seed = self.seeds.0.wrapping_add(index as u64).to_string();
        let set = self.set.iter().map(|(key, value)| (&key[..], &value[..]));
        let own = keys.zip(self.settings(point));
        let settings: Vec<(&str, &str)> = set
            .chain(own.map(|(key, value)| (key, &value.text[..])))
            .chain([(SEED, &seed[..])])
            .collect();
        let lab = registry.read_with(&self.file, World::Sim, &settings);
        lab.map_err(|error| SweepError::Read {
            with: self.with(point),
            error: Box::new(error),
        })
    }

    /// Sees to it that the lab file is right with all values, and that each run ends.
    ///
    /// # Errors
    /// The first combination with which it is not.
    pub fn check(&self, registry: &Registry) -> Result<(), SweepError> {
        let runs = self.points().saturating_mul(self.seeds.1 as usize);
        if runs > MAX_RUNS {
            let message = format!("{runs} runs are asked for; {MAX_RUNS} are the most");
            return Err(SweepError::TooMuch(message));
        }
        if self.axes.iter().any(|axis| axis.key == SEED) {
            return Err(SweepError::Seed);
        }
        for point in 0..self.points() {
            let lab = self.read(registry, point, 0)?;
            let endless = lab.endless();
            if let (Some(why), None) = (endless.first(), self.options.duration) {
                let message = format!(
                    "nothing bounds a run: {why}; write `duration = \"10 s\"` under [lab], or --duration 10s"
                );
                return Err(SweepError::TooMuch(message));
            }
        }
        Ok(())
    }

    /// Runs everything, and tells now and then how many runs are done; of runs that were stopped nothing is told.
    ///
    /// # Errors
    /// The first run that failed, in the order of values and seeds.
    pub fn run(
        &self,
        registry: &Registry,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<Outcome, SweepError> {
        self.check(registry)?;
        let seeds = self.seeds.1 as usize;
        let all = self.points() * seeds;
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let told: Mutex<Vec<Option<Values>>> = Mutex::new(vec![None; all]);
        let failed: Mutex<Option<(usize, SweepError)>> = Mutex::new(None);
        let is_over = || self.options.stop.is_some_and(|stop| stop());
        let work = || {
            while !is_over() {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= all {
                    return;
                }
                match self.one(registry, index / seeds, index % seeds) {
                    Ok(Some(figures)) => {
                        told.lock()[index] = Some(figures);
                        progress(1 + done.fetch_add(1, Ordering::Relaxed));
                    }
                    Ok(None) => return,
                    Err(error) => {
                        let mut failed = failed.lock();
                        if failed.as_ref().is_none_or(|(before, _)| index < *before) {
                            *failed = Some((index, error));
                        }
                        // Nobody begins another.
                        next.store(all, Ordering::Relaxed);
                        return;
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.threads.clamp(1, all.max(1)) {
                scope.spawn(work);
            }
            work();
        });
        let failed = failed.into_inner();
        if let Some((_, error)) = failed {
            return Err(error);
        }
        let told = told.into_inner();
        let points = told
            .chunks(seeds.max(1))
            .enumerate()
            .map(|(point, runs)| Point {
                values: self.settings(point).into_iter().cloned().collect(),
                runs: runs.iter().flatten().copied().collect(),
            });
        let lab = self.read(registry, 0, 0)?;
        Ok(Outcome {
            lab: lab.name,
            keys: self.axes.iter().map(|axis| axis.key.clone()).collect(),
            seeds: self.seeds,
            points: points.collect(),
            asked: all,
        })
    }

    /// One run; `None` if it was stopped.
    fn one(
        &self,
        registry: &Registry,
        point: usize,
        index: usize,
    ) -> Result<Option<Values>, SweepError> {
        let lab = self.read(registry, point, index)?;
        let options = Options {
            dry: true,
            threads: Some(1),
            progress: None,
            ..self.options.clone()
        };
        let report = run(&lab, World::Sim, &options).map_err(|error| SweepError::Run {
            with: self.with(point),
            seed: lab.seed,
            error: Box::new(error),
        })?;
        // One that ends by itself when its tests are done is whole.
        let cut = report.outcome.finish == Finish::Stopped
            && self.options.stop.is_some_and(|stop| stop());
        let headline = report.headline();
        Ok((!cut).then(|| Measure::ALL.map(|measure| measure.of(&report, &headline))))
    }
}
