//! Which programs there are, and what is expected of them.

use crate::{Outcome, targets};
use std::fmt;
use std::path::{Path, PathBuf};

/// What a program is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// P4_16 with `v1model.p4`.
    V1model,
    /// P4_16 with `psa.p4`.
    Psa,
    /// P4_16 with `pna.p4`.
    Pna,
    /// P4_16 with `core.p4` or nothing.
    Core,
    /// P4_16 for a model that is not ours.
    Foreign,
    /// P4_14.
    P4_14,
    /// Invalid P4_16.
    Errors,
    /// Invalid P4_14.
    Errors14,
    /// P4_16 that p4c refuses for one of its targets.
    Targets,
    /// P4_16 for which p4c writes a P4Info.
    Described,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Class::V1model => "samples for v1model",
            Class::Psa => "samples for PSA",
            Class::Pna => "samples for PNA",
            Class::Core => "samples for no architecture",
            Class::Foreign => "samples for other models (only a panic is wrong)",
            Class::P4_14 => "samples of P4_14",
            Class::Errors => "invalid programs",
            Class::Errors14 => "invalid programs of P4_14",
            Class::Targets => "programs that a target of p4c refuses",
            Class::Described => "P4Info compared with p4c's",
        })
    }
}

/// One thing to do: compile a program, or run its test.
pub struct Job {
    pub number: usize,
    pub class: Class,
    /// `checked`, `lowered`, `tested in the reference engine`, ...
    pub what: String,
    /// What the child is told.
    pub arguments: Vec<String>,
    pub path: PathBuf,
}

impl Job {
    pub fn name(&self) -> String {
        let folder = self.path.parent().and_then(Path::file_name);
        let file = self.path.file_name().unwrap_or_default();
        format!(
            "{}/{}",
            folder.unwrap_or_default().to_string_lossy(),
            file.to_string_lossy()
        )
    }

    pub fn right(&self, outcome: Outcome) -> bool {
        match self.class {
            Class::Errors | Class::Errors14 => outcome == Outcome::Rejected,
            Class::Targets => {
                let name = self.path.file_name().unwrap_or_default();
                let mut accepted = targets::ACCEPTED.iter();
                let expected = match accepted.any(|(listed, _)| *listed == name) {
                    true => Outcome::Accepted,
                    false => Outcome::Rejected,
                };
                outcome == expected
            }
            Class::Foreign => outcome < Outcome::Panicked,
            _ => outcome == Outcome::Accepted,
        }
    }

    /// What p4c says of an invalid program.
    pub fn expected(&self) -> Option<String> {
        let end = match self.class {
            Class::Errors | Class::Errors14 => "-stderr",
            Class::Targets => "-error",
            _ => return None,
        };
        let folder = self.path.parent()?;
        let outputs = format!("{}_outputs", folder.file_name()?.to_str()?);
        let file = format!("{}{end}", self.path.file_name()?.to_str()?);
        std::fs::read_to_string(folder.with_file_name(outputs).join(file)).ok()
    }
}

/// What there is to do below a folder, for the programs whose path has one of the words, or all.
pub fn jobs(root: &Path, words: &[String], engines: &[&str]) -> Vec<Job> {
    let mut jobs = Vec::new();
    let folders = [
        "p4_16_samples",
        "p4_14_samples",
        "p4_16_errors",
        "p4_14_errors",
    ];
    for folder in folders.iter().chain(targets::FOLDERS) {
        let Ok(entries) = std::fs::read_dir(root.join(folder)) else {
            continue;
        };
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let name = path.to_string_lossy();
            let wanted = words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
            if !wanted || !name.ends_with(".p4") {
                continue;
            }
            let text = whole(&path);
            let class = class(folder, &text);
            let mut add = |what: String, arguments: &[&str]| {
                jobs.push(Job {
                    number: jobs.len(),
                    class,
                    what,
                    arguments: arguments.iter().map(ToString::to_string).collect(),
                    path: path.clone(),
                });
            };
            // A refusal by lowering alone counts for targets that run here.
            let runs = match class {
                Class::Targets => !text.contains("pna.p4"),
                class => matches!(class, Class::V1model | Class::Psa | Class::P4_14),
            };
            if class == Class::Targets {
                add(
                    "refused".to_owned(),
                    &[if runs { "lower" } else { "check" }, &name],
                );
                continue;
            }
            add("checked".to_owned(), &["check", &name]);
            if runs {
                add("lowered".to_owned(), &["lower", &name]);
            }
            let test = path.with_extension("stf");
            if runs && test.exists() {
                for engine in engines {
                    add(
                        format!("tested in the {engine} engine"),
                        &["stf", engine, &name, &test.to_string_lossy()],
                    );
                }
            }
        }
    }
    for (program, theirs) in p4infos(root) {
        let name = program.to_string_lossy().into_owned();
        if words.is_empty() || words.iter().any(|word| name.contains(word.as_str())) {
            jobs.push(Job {
                number: jobs.len(),
                class: Class::Described,
                what: "same".to_owned(),
                arguments: vec!["p4info".into(), name, theirs.to_string_lossy().into()],
                path: program,
            });
        }
    }
    jobs
}

/// Programs and the P4Info that p4c writes for them, those in folders below too.
fn p4infos(root: &Path) -> Vec<(PathBuf, PathBuf)> {
    let mut found = Vec::new();
    let mut folders = vec![root.join("p4_16_samples_outputs")];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            let inner = path.strip_prefix(root.join("p4_16_samples_outputs"));
            let program = inner.ok().and_then(|inner| {
                let inner = inner.to_str()?.strip_suffix(".p4info.txtpb")?;
                Some(root.join("p4_16_samples").join(inner))
            });
            match program {
                Some(program) => found.push((program, path)),
                None if path.is_dir() => folders.push(path),
                None => {}
            }
        }
    }
    found.sort();
    found
}

/// The text of a program, and of the files beside it that it includes.
fn whole(path: &Path) -> String {
    let text = std::fs::read(path).unwrap_or_default();
    let mut text = String::from_utf8_lossy(&text).into_owned();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for line in lines {
        if let Some((before, rest)) = line.split_once('"')
            && before.trim_start().starts_with("#include")
            && let Some((name, _)) = rest.split_once('"')
            && let Ok(more) = std::fs::read(path.with_file_name(name))
        {
            text.push_str(&String::from_utf8_lossy(&more));
        }
    }
    text
}

fn class(folder: &str, text: &str) -> Class {
    let includes = |name: &str| {
        let mut lines = text
            .lines()
            .filter(|l| l.trim_start().starts_with("#include"));
        lines.any(|line| line.contains(name))
    };
    match folder {
        "p4_14_samples" => Class::P4_14,
        "p4_16_errors" => Class::Errors,
        "p4_14_errors" => Class::Errors14,
        _ if targets::FOLDERS.contains(&folder) => Class::Targets,
        _ if ["ebpf", "ubpf", "xdp", "tc/"].into_iter().any(includes) => Class::Foreign,
        _ if includes("v1model") => Class::V1model,
        _ if includes("psa") => Class::Psa,
        _ if includes("pna") => Class::Pna,
        _ => Class::Core,
    }
}
