//! Running the commands of rows.

use super::catalogue::{Repeat, Row, System};
use super::heading;
use crate::Verdict;
use anyhow::{Context, bail, ensure};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The exit code by which a script says that it cannot run here.
const SKIPPED: i32 = 77;
/// A file that the folder of the examples has.
const EXAMPLE: &str = "timing/lab.toml";

/// Result of running a row.
enum Outcome {
    Ran,
    Failed(String),
    Skipped(String),
}

/// Runs the rows that `label` names, or all that have a command, and prints ours next to the
/// papers'.
///
/// # Errors
/// No row has that name, the one that has it has no command, there is no folder of examples, or it
/// cannot be written and there is no `out`.
pub fn run(
    systems: &[&System],
    label: &str,
    examples: Option<PathBuf>,
    out: Option<&Path>,
) -> anyhow::Result<Verdict> {
    let all = label == "all";
    let mut rows = Vec::new();
    for system in systems {
        let named = system.rows.iter().filter(|row| all || row.is_named(label));
        rows.extend(named.map(|row| (*system, row)));
    }
    ensure!(
        !rows.is_empty(),
        "no table, figure or command `{label}`; there are: {}",
        labels(systems)
    );
    if let [(_, row)] = rows[..]
        && let Repeat::NotHere(reason) = row.repeat()
    {
        bail!("{} is not here: {reason}", row.label);
    }
    let source = folder(examples)?;
    let examples = workspace(&source, out)?;
    let path = search_path()?;
    let (mut ran, mut failed, mut skipped, mut none) = (0, Vec::new(), Vec::new(), 0);
    for (system, row) in &rows {
        let command = match row.repeat() {
            Repeat::Command(command) => command,
            Repeat::NotHere(_) => {
                none += 1;
                continue;
            }
        };
        println!("{} {}", system.name, heading(row));
        println!("$ {command}");
        let outcome = match missing(row, &path) {
            Some(reason) => Outcome::Skipped(reason),
            None => execute(command, [&source, &examples], &path)?,
        };
        if ::capture::signal::stop_requested() {
            return Ok(Verdict::Stopped);
        }
        let name = format!("{} {}", system.name, row.label);
        match outcome {
            Outcome::Ran => ran += 1,
            Outcome::Failed(reason) => {
                println!("failed: {reason}");
                failed.push(format!("{name}: {reason}"));
            }
            Outcome::Skipped(reason) => {
                println!("skipped: {reason}");
                skipped.push(format!("{name}: {reason}"));
            }
        }
        println!("paper: {}", row.paper);
        println!(
            "here:  {}\n",
            row.ours.as_deref().unwrap_or("no figure was recorded")
        );
    }
    if rows.len() > 1 {
        println!(
            "{ran} ran, {} failed, {} skipped; {none} not here",
            failed.len(),
            skipped.len()
        );
        failed.iter().for_each(|row| println!("failed   {row}"));
        skipped.iter().for_each(|row| println!("skipped  {row}"));
    }
    Ok(Verdict::if_good(failed.is_empty()))
}

fn labels(systems: &[&System]) -> String {
    let rows = systems.iter().flat_map(|system| &system.rows);
    rows.map(|row| &*row.label).collect::<Vec<_>>().join(", ")
}

/// The folder of the examples: the one that was named, `examples` in the current folder, that of
/// the source tree that the
/// program was built in, or that of its installation.
fn folder(named: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    if let Some(folder) = named {
        ensure!(
            folder.join(EXAMPLE).exists(),
            "{} has no {EXAMPLE}: it is not the folder of the examples",
            folder.display()
        );
        return Ok(folder.canonicalize()?);
    }
    let program = std::env::current_exe().context("cannot find this program's own place")?;
    let above = program.ancestors().skip(1);
    let mut candidates = vec![PathBuf::from("examples")];
    candidates.extend(above.flat_map(|folder| {
        [
            folder.join("examples"),
            folder.join("share/wireline/examples"),
        ]
    }));
    let found = candidates
        .into_iter()
        .find(|folder| folder.join(EXAMPLE).exists());
    let found = found.context("no folder of examples near this program: --examples FOLDER names it; it is `examples` in the source tree")?;
    Ok(found.canonicalize()?)
}

/// The folder in which commands run, since they write next to their files: the examples, or a copy
/// of them in `out`.
fn workspace(examples: &Path, out: Option<&Path>) -> anyhow::Result<PathBuf> {
    let Some(out) = out else {
        ensure!(
            rustix::fs::access(examples, rustix::fs::Access::WRITE_OK).is_ok(),
            "{} cannot be written: --out FOLDER runs in a copy of it",
            examples.display()
        );
        return Ok(examples.to_owned());
    };
    let cannot = || format!("cannot copy the examples to {}", out.display());
    std::fs::create_dir_all(out).with_context(cannot)?;
    let out = out.canonicalize().with_context(cannot)?;
    ensure!(
        !out.starts_with(examples),
        "--out {} is inside the examples: name a folder outside {}",
        out.display(),
        examples.display()
    );
    copy(examples, &out).with_context(cannot)?;
    Ok(out)
}

/// Copies a folder without what earlier runs wrote (`out`) and builds made (`target`).
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let is_made = ["out", "target"]
            .iter()
            .any(|name| entry.file_name() == *name);
        if is_made {
            continue;
        }
        match entry.file_type()?.is_dir() {
            true => copy(&source, &target)?,
            false => std::fs::copy(&source, &target).map(drop)?,
        }
    }
    Ok(())
}

/// PATH with this program's folder in front, so that `wire` is this program, and with those of
/// system programs.
fn search_path() -> anyhow::Result<OsString> {
    let program = std::env::current_exe()?;
    let mut folders: Vec<PathBuf> = program
        .parent()
        .map(Path::to_path_buf)
        .into_iter()
        .collect();
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders.extend(std::env::split_paths(&path));
    folders.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
    Ok(std::env::join_paths(folders)?)
}

/// A requirement of a row that this machine lacks.
fn missing(row: &Row, path: &OsStr) -> Option<String> {
    let is_here =
        |name: &String| std::env::split_paths(path).any(|folder| folder.join(name).is_file());
    row.needs.iter().find_map(|need| match need.as_str() {
        "root" => (!rustix::process::geteuid().is_root()).then(|| "needs root".into()),
        "wire-rtl" => (!is_here(need)).then(|| "needs wire-rtl, which `make rtl` builds".into()),
        _ => (!is_here(need)).then(|| format!("needs {need}, which is not installed")),
    })
}

/// Runs a command in the second folder. `WIRE_EXAMPLES` is the first, next to which scripts find the modules in Verilog.
fn execute(command: &str, [source, examples]: [&Path; 2], path: &OsStr) -> anyhow::Result<Outcome> {
    std::io::stdout().flush()?;
    let status = Command::new("bash")
        .args(["-o", "pipefail", "-c", command])
        .current_dir(examples)
        .env("PATH", path)
        .env("WIRE_EXAMPLES", source)
        .stdin(std::process::Stdio::null())
        .status()
        .context("cannot start bash")?;
    Ok(match status.code() {
        Some(0) => Outcome::Ran,
        Some(SKIPPED) => Outcome::Skipped("the script cannot run here".into()),
        Some(code) => Outcome::Failed(format!("exit code {code}")),
        None => Outcome::Failed("ended by a signal".into()),
    })
}
