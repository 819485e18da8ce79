//! `wire p4 test`: packets in, packets out.

use super::source::{Reading, count, told};
use crate::Verdict;
use crate::output::{Buffering, Output};
use anyhow::{Context, ensure};
use confine::Permissions;
use lab::engine::{EngineKind, Engines, UnknownEngine};
use pipeline::architecture::Config;
use pipeline::environment::Options;
use pipeline::stf::{self, Outcome};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

/// Run STF files on programs, in both software engines
///
/// Of a folder each program is tested that has an STF file of the same name beside it. Without an STF file the one of the
/// program's own name is taken. The exit code is 1 if a test fails.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire p4 test router.p4 router.stf
  wire p4 test testdata/p4 --engine reference")]
pub struct Test {
    /// A program, or a folder of programs
    program: PathBuf,
    /// The tests
    tests: Vec<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// Only one engine: fast, reference, rtl, or xdp, which needs root; or all
    #[arg(long, value_name = "ENGINE")]
    engine: Option<Chosen>,
    /// Tell what the tests read, and packets at ports that they do not mention
    #[arg(long, short)]
    verbose: bool,
    /// Where random numbers begin
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// A line of JSON for each test and engine on standard output
    #[arg(long)]
    json: bool,
}

/// One engine, or all that there are.
#[derive(Clone, Copy)]
struct Chosen(Option<EngineKind>);

impl FromStr for Chosen {
    type Err = UnknownEngine;

    fn from_str(text: &str) -> Result<Self, UnknownEngine> {
        match text {
            "all" => Ok(Chosen(None)),
            one => Ok(Chosen(Some(one.parse()?))),
        }
    }
}

impl Test {
    /// The engines that are asked for.
    fn engines(&self) -> Vec<EngineKind> {
        let software = [EngineKind::Reference, EngineKind::Fast];
        match self.engine {
            None => software.to_vec(),
            Some(Chosen(Some(one))) => vec![one],
            Some(Chosen(None)) => [software.as_slice(), &[EngineKind::Rtl]].concat(),
        }
    }

    /// Runs them.
    pub fn run(self, known: &Engines) -> anyhow::Result<Verdict> {
        let mut stdout = Output::open(&Buffering::default())?;
        // Hardware is compiled by programs, which a confined command cannot start.
        let engines = self.engines();
        if !(engines.contains(&EngineKind::Rtl) && known.has_hardware()) {
            let compiles = true;
            confine::reader(Permissions {
                compiles,
                kernel: engines.contains(&EngineKind::Xdp),
                ..Permissions::default()
            })?;
        }
        let jobs = self.jobs()?;
        let mut failed = 0;
        for (program, tests) in &jobs {
            failed += self.program(program, tests, known, &mut stdout)?;
        }
        let tests: usize = jobs.iter().map(|(_, tests)| tests.len()).sum();
        if !self.json && tests > 1 {
            eprintln!("wire: {}, {failed} failed", count(tests, "test"));
        }
        stdout.finish()?;
        Ok(if failed > 0 {
            Verdict::Failed
        } else {
            Verdict::Good
        })
    }

    /// Each program with its tests.
    fn jobs(&self) -> anyhow::Result<Vec<(PathBuf, Vec<PathBuf>)>> {
        if !self.program.is_dir() {
            let tests = match self.tests.is_empty() {
                true => vec![self.program.with_extension("stf")],
                false => self.tests.clone(),
            };
            return Ok(vec![(self.program.clone(), tests)]);
        }
        ensure!(
            self.tests.is_empty(),
            "a folder brings its own tests; name a program to test it with others"
        );
        let folder = self.program.display();
        let entries = std::fs::read_dir(&self.program).with_context(|| folder.to_string())?;
        let mut programs = Vec::new();
        for entry in entries {
            let path = entry.with_context(|| folder.to_string())?.path();
            if path.extension().is_some_and(|e| e == "p4") && path.with_extension("stf").exists() {
                programs.push(path);
            }
        }
        programs.sort();
        ensure!(
            !programs.is_empty(),
            "{folder} has no program with an .stf file of the same name"
        );
        Ok(programs
            .into_iter()
            .map(|path| (path.clone(), vec![path.with_extension("stf")]))
            .collect())
    }

    /// Runs the tests of one program, and says how many failed.
    fn program(
        &self,
        path: &Path,
        tests: &[PathBuf],
        known: &Engines,
        stdout: &mut Output,
    ) -> anyhow::Result<usize> {
        let engines = self.engines();
        let mut failed = vec![false; tests.len()];
        let mut results: Vec<Vec<Outcome>> = vec![Vec::new(); tests.len()];
        for engine in &engines {
            // The reference runs what lowering made, so that the passes are tested too.
            let options = p4::compile::Options {
                unoptimized: *engine == EngineKind::Reference,
                ..self.reading.options()
            };
            let compiled = self.reading.load_with(path, &options)?;
            let Some(program) = &compiled.program else {
                eprint!("{}", told(&compiled));
                eprintln!("FAILED {}: it cannot be compiled", path.display());
                return Ok(tests.len());
            };
            let program = Arc::new(program.clone());
            for (index, test) in tests.iter().enumerate() {
                let text =
                    ::capture::file::text(test).with_context(|| test.display().to_string())?;
                let outcome = match stf::parse(&text) {
                    Err(faults) => faults.into(),
                    Ok(script) => {
                        let config = Config {
                            seed: self.seed,
                            ..Config::default()
                        };
                        match known.pipeline(&program, *engine, Options::default(), &config) {
                            Err(unsupported) => {
                                Outcome::failed(lab::engine::describe(&unsupported, &compiled))
                            }
                            Ok(mut pipeline) => stf::run(&script, &mut pipeline),
                        }
                    }
                };
                failed[index] |= !outcome.failures.is_empty();
                if self.json {
                    let line = object(path, test, *engine, &outcome);
                    stdout.tell(&format!("{line}\n"))?;
                }
                results[index].push(outcome);
            }
        }
        if !self.json {
            for (test, outcomes) in tests.iter().zip(&results) {
                stdout.tell(&self.text(test, &engines, outcomes))?;
            }
        }
        Ok(failed.into_iter().filter(|failed| *failed).count())
    }

    /// What came of a test, for people.
    fn text(&self, test: &Path, engines: &[EngineKind], outcomes: &[Outcome]) -> String {
        let name = test.display();
        let mut text = String::new();
        let mut told: Vec<&Outcome> = Vec::new();
        for (engine, outcome) in engines.iter().zip(outcomes) {
            // What several engines say is said once.
            if told.iter().any(|other| other.failures == outcome.failures) {
                continue;
            }
            told.push(outcome);
            let same = outcomes
                .iter()
                .all(|other| other.failures == outcome.failures);
            let by = match same {
                true => String::new(),
                false => format!(" ({} engine)", engine.name()),
            };
            match outcome.failures.is_empty() {
                true => {
                    text += &format!(
                        "ok     {name}{by}: {}, {}\n",
                        count(outcome.packets, "packet"),
                        count(outcome.met, "expectation")
                    )
                }
                false => text += &format!("FAILED {name}{by}\n"),
            }
            let notes = if self.verbose {
                outcome.notes.as_slice()
            } else {
                &[]
            };
            for finding in outcome.failures.iter().chain(notes) {
                let message = finding.message.replace('\n', "\n  ");
                let place = if finding.line > 0 {
                    format!(":{}", finding.line)
                } else {
                    String::new()
                };
                text += &format!("  {name}{place}: {message}\n");
            }
        }
        text
    }
}

fn object(program: &Path, test: &Path, engine: EngineKind, outcome: &Outcome) -> serde_json::Value {
    let findings = |findings: &[stf::Finding]| -> Vec<serde_json::Value> {
        findings
            .iter()
            .map(|f| json!({ "line": f.line, "message": f.message }))
            .collect()
    };
    json_line!("p4", "test", {
        "program": program.display().to_string(),
        "test": test.display().to_string(),
        "engine": engine.name(),
        "passed": outcome.failures.is_empty(),
        "packets": outcome.packets,
        "met": outcome.met,
        "failures": findings(&outcome.failures),
        "notes": findings(&outcome.notes),
    })
}
