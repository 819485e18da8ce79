//! One program, in a process of its own.
#![allow(
    clippy::disallowed_methods,
    reason = "a limit of time for each program"
)]

use crate::{Outcome, Ran};
use p4::diagnostic::Diagnostics;
use p4::preprocess::Options;
use p4::source::{Includes, Sources};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a program may take.
const LIMIT: Duration = Duration::from_secs(10);

/// Files beside the program, and those of the library whatever folder they are asked for in.
struct Beside(PathBuf);

impl Includes for Beside {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), String> {
        if let Ok(text) = std::fs::read_to_string(self.0.join(name)) {
            return Ok((name.to_owned(), text));
        }
        let base = name.rsplit('/').next().unwrap_or(name);
        let found = [name, base]
            .into_iter()
            .find_map(|name| Some((name, p4::library::file(name)?)));
        found
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .ok_or_else(|| format!("there is no {name} beside the program or in the library"))
    }
}

/// Compiles a program and prints what there is to say; 0 when it is accepted, 1 when not.
pub fn run(path: &Path) -> i32 {
    let text = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut includes = Beside(folder.to_owned());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (mut sources, mut diagnostics) = (Sources::default(), Diagnostics::default());
    let options = Options::default();
    let tokens = p4::preprocess::preprocess(
        &name,
        &text,
        &mut includes,
        &options,
        &mut sources,
        &mut diagnostics,
    );
    let program = p4::parse::parse(&tokens, &sources, &mut diagnostics);
    if !diagnostics.failed() {
        let _ = p4::check::check(program, &mut diagnostics);
    }
    for diagnostic in diagnostics.sorted() {
        print!("{}", diagnostic.render(&sources));
    }
    i32::from(diagnostics.failed())
}

/// Runs a program in a child.
pub fn spawn(path: &Path) -> Ran {
    let program = std::env::current_exe().expect("this program has a path");
    let mut child = Command::new(program)
        .arg("--one")
        .arg(path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("this program can be run");
    let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
    let said = std::thread::spawn(move || {
        let mut said = Vec::new();
        if let Some(out) = &mut out {
            let _ = out.read_to_end(&mut said);
        }
        if let Some(err) = &mut err {
            let _ = err.read_to_end(&mut said);
        }
        String::from_utf8_lossy(&said).into_owned()
    });
    let start = Instant::now();
    let outcome = loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                break match status.code() {
                    Some(0) => Outcome::Accepted,
                    Some(1) => Outcome::Rejected,
                    _ => Outcome::Panicked,
                };
            }
            _ if start.elapsed() > LIMIT => {
                let _ = child.kill();
                let _ = child.wait();
                break Outcome::Hung;
            }
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    Ran {
        outcome,
        said: said.join().unwrap_or_default(),
    }
}
