//! `wire covert detect`: is there something in the gaps?

use super::{Line, Times};
use crate::Verdict;
use crate::complaints::{Complaints, Strictness};
use crate::output::{Buffering, Output};
use crate::packets::{Consumer, Packets};
use crate::select::Selection;
use ::capture::file::Item;
use anyhow::{Context, bail};
use node::Time;
use node::random::Random;
use nodes::covert::detect::{Comparison, Gaps, Watch, compare};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Tell whether there is a message in the gaps between packets
///
/// With --clean, traffic of the same kind that is known to be clean, four statistics are compared, and of
/// clean traffic at most --level is called covert. Without it, windows with two narrow modes in an order
/// without any pattern are suspicious. Exit code 1: something was found.
#[derive(clap::Args)]
#[command(after_help = "Example:
  wire covert detect out.pcapng --clean trace.pcapng --window 20 --stamps 1us")]
pub struct Detect {
    /// The packets, `-` for standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Packets that are known to be clean
    #[arg(long, value_name = "FILE")]
    clean: Option<PathBuf>,
    /// Gaps that are judged at once
    #[arg(long, value_name = "N", default_value_t = 200)]
    window: usize,
    /// The share of clean traffic that may be called covert
    #[arg(long, value_name = "P", default_value_t = 0.001)]
    level: f64,
    /// Look through stamps as coarse as this, such as 1us
    #[arg(long, value_name = "TIME")]
    stamps: Option<Time>,
    /// Look through stamps that are off by so much, a normal distribution's deviation
    #[arg(long, value_name = "TIME")]
    jitter: Option<Time>,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    line: Line,
    /// The findings as JSON Lines
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    strictness: Strictness,
}

/// Takes gaps, through stamps that may be bad.
struct Listener {
    times: Times,
    gaps: Gaps,
    stamps: Option<Time>,
    jitter: Option<Time>,
    random: Random,
}

impl Detect {
    /// Reads, judges, and tells.
    pub fn run(self) -> anyhow::Result<Verdict> {
        if !(self.level > 0.0 && self.level < 1.0) {
            bail!("--level is above 0 and below 1, such as 0.001");
        }
        if self.stamps == Some(Time::ZERO) {
            bail!("--stamps are at least 1 ps apart");
        }
        let complaints = self.strictness.complaints();
        let gaps = self.gaps(&self.file, &complaints, 1)?;
        let (told, found) = match &self.clean {
            Some(path) => {
                let clean = self.gaps(path, &complaints, 2)?;
                let comparison = compare(&clean, &gaps, self.window, self.level)?;
                let told = match self.json {
                    true => object(&comparison),
                    false => table(&comparison),
                };
                (told, comparison.is_covert())
            }
            None => self.watch(&gaps)?,
        };
        let verdict = complaints.finish();
        let mut stdout = Output::open(&Buffering::default())?;
        stdout.write(told.as_bytes())?;
        stdout.finish()?;
        Ok(verdict.max(Verdict::if_good(!found)))
    }

    /// The gaps of a file. `seed` makes the jitter of each another.
    fn gaps(&self, path: &Path, complaints: &Complaints, seed: u64) -> anyhow::Result<Vec<i64>> {
        let mut listener = Listener {
            times: Times::new(self.line.tick),
            gaps: Gaps::new(self.line.line),
            stamps: self.stamps,
            jitter: self.jitter,
            random: Random::new(seed),
        };
        Packets::open(path, complaints)?.with_lengths().choose(
            &mut self.selection.selector()?,
            self.line.tick,
            &mut listener,
        )?;
        Ok(listener.gaps.all().to_vec())
    }

    /// Without clean traffic.
    fn watch(&self, gaps: &[i64]) -> anyhow::Result<(String, bool)> {
        let mut watch = Watch::new(self.line.line, self.window).context("cannot detect")?;
        gaps.iter().for_each(|&gap| watch.gap(gap));
        let (windows, suspicious) = (watch.windows(), watch.suspicious());
        if windows == 0 {
            bail!(
                "{} gaps are fewer than a window of {}; see --window",
                gaps.len(),
                self.window
            );
        }
        let found = 2 * suspicious > windows;
        let told = match self.json {
            true => json_line!("covert", "watch", { "windows": windows, "suspicious": suspicious,
                "window": self.window, "covert": found,
            })
            .to_string(),
            false => format!(
                "{suspicious} of {windows} windows have two narrow modes in random order: {}",
                verdict(found)
            ),
        };
        Ok((told + "\n", found))
    }
}

impl Consumer for Listener {
    fn packet(&mut self, item: &Item<'_>) -> anyhow::Result<bool> {
        // Not at the very beginning of time, so that jitter may go either way.
        let mut at = Time::from_ms(1) + self.times.of(item)?;
        if let Some(jitter) = self.jitter {
            let off = self.random.normal() * jitter.as_ps() as f64;
            at = Time::from_ps((at.as_ps() as f64 + off).max(0.0) as u64);
        }
        if let Some(stamps) = self.stamps {
            at = Time::from_ps(at.as_ps() - at.as_ps() % stamps.as_ps());
        }
        let len = item.bytes.len().max(item.original_len as usize);
        self.gaps.frame(at, len);
        Ok(true)
    }

    fn idle(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}

fn verdict(found: bool) -> &'static str {
    match found {
        true => "a covert channel",
        false => "nothing found",
    }
}

fn table(comparison: &Comparison) -> String {
    let mut table = format!(
        "{:<12} {:>10} {:>10} {:>10}\n",
        "statistic", "clean", "here", "p"
    );
    // Writing to a String does not fail.
    for finding in &comparison.findings {
        let _ = writeln!(
            table,
            "{:<12} {:>10.4} {:>10.4} {:>10.1e}{}",
            finding.statistic.name(),
            finding.clean,
            finding.stream,
            finding.p,
            if comparison.differs(finding.p) {
                "  differs"
            } else {
                ""
            }
        );
    }
    let _ = writeln!(
        table,
        "{} windows against {} clean ones: {}; of clean traffic at most {} % is called covert",
        comparison.windows,
        comparison.clean_windows,
        verdict(comparison.is_covert()),
        100.0 * comparison.level
    );
    if comparison.is_unsteady() {
        table.push_str(
            "the halves of the clean sample differ as much from each other: a longer one is needed\n",
        );
    }
    table
}

fn object(comparison: &Comparison) -> String {
    let mut lines = String::new();
    // Writing to a String does not fail.
    for finding in &comparison.findings {
        let object = json_line!("covert", "finding", { "statistic": finding.statistic.name(), "clean": finding.clean,
            "here": finding.stream, "p": finding.p, "p_clean": finding.p_clean,
            "differs": comparison.differs(finding.p),
        });
        let _ = writeln!(lines, "{object}");
    }
    let object = json_line!("covert", "comparison", { "windows": comparison.windows, "clean_windows": comparison.clean_windows,
        "level": comparison.level, "covert": comparison.is_covert(), "unsteady": comparison.is_unsteady(),
    });
    let _ = writeln!(lines, "{object}");
    lines
}
