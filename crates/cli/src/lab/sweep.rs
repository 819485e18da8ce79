//! `wire lab --sweep`, `--seeds`: one lab run many times.

use super::{Lab, Plot};
use crate::Verdict;
use crate::output::{Buffering, Output, picture};
use crate::progress;
use ::lab::Registry;
use ::lab::sweep::{Sweep, SweepError};
use ::lab::{Options, ReadError, World};
use anyhow::Context;
use confine::Permissions;
use std::io::IsTerminal;

impl Lab {
    /// Runs it with all values and seeds.
    pub(super) fn sweep(&self, registry: &Registry) -> anyhow::Result<Verdict> {
        ::capture::signal::install();
        anyhow::ensure!(
            !matches!(self.world, Some(super::WorldName::Live)),
            "many runs are for simulated time, where they are exact: leave --world live out"
        );
        let picture_of = match &self.plot[..] {
            [] => None,
            [Plot::Means(path)] => Some(path),
            _ => anyhow::bail!(
                "many runs have one plot, of their means: use --plot FILE without a kind"
            ),
        };
        if let Some(path) = picture_of {
            let ending = path.extension().and_then(|ending| ending.to_str());
            anyhow::ensure!(
                ending.is_some_and(|ending| ::plot::ENDINGS.contains(&ending)),
                "the ending of {} tells no format; use .png or .svg",
                path.display()
            );
        }
        let first = self.read(registry, World::Sim)?.seed;
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let sweep = Sweep {
            file: self.file().into(),
            set: self.set.clone(),
            axes: self.sweep.clone(),
            seeds: (first, self.seeds.unwrap_or(1).into()),
            threads: self.threads.map_or(processors, usize::from),
            options: Options {
                folder: self.file().parent().unwrap_or("".as_ref()).into(),
                duration: self.duration,
                allow_commands: self.allow_commands,
                allow_paths: self.allow_paths,
                stop: Some(::capture::signal::stop_requested),
                ..Options::default()
            },
        };
        if !self.allow_commands {
            confine::reader(Permissions {
                writes: picture_of.is_some(),
                compiles: true,
                kernel: self
                    .read(registry, World::Sim)
                    .is_ok_and(|lab| lab.loads_programs()),
                ..Permissions::default()
            })?;
        }
        if self.check {
            told(sweep.check(registry))?;
            let mut stdout = Output::open(&Buffering::default())?;
            let (file, points) = (self.file().display(), sweep.points());
            stdout.tell(&match self.json {
                true => {
                    let line = json_line!("lab", "check", {
                        "file": file.to_string(), "good": true, "points": points,
                    });
                    format!("{line}\n")
                }
                false => format!("{file}: good at {points} points\n"),
            })?;
            stdout.finish()?;
            return Ok(Verdict::Good);
        }
        let all = sweep.points().saturating_mul(sweep.seeds.1 as usize) as u64;
        let bar = std::io::stderr()
            .is_terminal()
            .then(|| progress::bar(all, "{bar:40} {pos} of {len} runs, {eta} to go"));
        let outcome = told(sweep.run(registry, &|done| {
            if let Some(bar) = &bar {
                bar.set_position(done as u64);
            }
        }));
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        let outcome = outcome?;
        let measures = match self.measure.is_empty() {
            true => outcome.usual(),
            false => self.measure.clone(),
        };
        let text = match self.json {
            true => outcome.json(&measures),
            false => outcome.text(&measures),
        };
        let mut stdout = Output::open(&Buffering::default())?;
        stdout.write(text.as_bytes())?;
        stdout.finish()?;
        if let Some(path) = picture_of.filter(|_| outcome.done() > 0) {
            picture(&outcome.figure(&measures), path)
                .with_context(|| format!("of {} runs", outcome.done()))?;
        }
        Ok(Verdict::if_done(outcome.done() == outcome.asked))
    }
}

/// Tells the faults of a lab file at their places.
fn told<T>(result: Result<T, SweepError>) -> anyhow::Result<T> {
    match result {
        Err(SweepError::Read { with, error }) => match *error {
            ReadError::Wrong(faults) => {
                eprint!("{faults}");
                let count = faults.list.len();
                anyhow::bail!("with {with}: {count} fault(s), nothing was run")
            }
            error => Err(anyhow::Error::from(error).context(format!("with {with}"))),
        },
        other => Ok(other?),
    }
}
