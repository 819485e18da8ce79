//! One program, or one test of it, in a process of its own.
#![allow(
    clippy::disallowed_methods,
    reason = "a limit of time for each program"
)]

use crate::{Outcome, Ran, p4info};
use lab::engine::{EngineKind, Engines};
use p4::compile::{Compiled, Options, compile, front};
use p4::source::{IncludeError, Includes};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a program may take.
const LIMIT: Duration = Duration::from_secs(20);

/// Files next to the program, those of the library whatever folder they are asked for in, and p4c's
/// own for other models.
struct Beside(PathBuf);

impl Includes for Beside {
    fn read(&mut self, name: &str, _: bool, from: &str) -> Result<(String, String), IncludeError> {
        let near = Path::new(from).with_file_name(name);
        for path in [&*near, Path::new(name)] {
            if let Ok(text) = std::fs::read_to_string(self.0.join(path)) {
                return Ok((path.to_string_lossy().into_owned(), text));
            }
        }
        let base = name.rsplit('/').next().unwrap_or(name);
        let own = [name, base]
            .into_iter()
            .find_map(|name| Some((name.to_owned(), p4::library::file(name)?.to_owned())));
        let theirs = || {
            self.0.ancestors().find_map(|folder| {
                let path = folder.join("p4include").join(name);
                Some((name.to_owned(), std::fs::read_to_string(path).ok()?))
            })
        };
        own.or_else(theirs).ok_or_else(|| {
            format!("there is no {name} next to the program or in the library").into()
        })
    }
}

/// Compiles, checks, or tests, and prints what there is to say; 0 when all is well, 1 when not.
pub fn run(arguments: &[String]) -> i32 {
    match arguments {
        [what, program] if what == "check" => compiled(program, false),
        [what, program] if what == "lower" => compiled(program, true),
        [what, engine, program, test] if what == "stf" => tested(engine, program, test),
        [what, program, theirs] if what == "p4info" => described(program, theirs),
        _ => 2,
    }
}

fn load(path: &str, whole: bool, options: &Options) -> Compiled {
    let path = Path::new(path);
    let text = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut includes = Beside(folder.to_owned());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let compiled = if whole {
        compile(&name, &text, &mut includes, options)
    } else {
        front(&name, &text, &mut includes, options)
    };
    for diagnostic in compiled.diagnostics.sorted() {
        print!("{}", diagnostic.render(&compiled.sources));
    }
    compiled
}

fn compiled(program: &str, whole: bool) -> i32 {
    let compiled = load(program, whole, &Options::default());
    let missing = whole
        && compiled.program.is_none()
        && compiled.checked.as_ref().is_some_and(|c| c.main.is_some());
    i32::from(compiled.diagnostics.failed() || missing)
}

/// Compares the P4Info of a program with p4c's.
fn described(program: &str, theirs: &str) -> i32 {
    let compiled = load(program, true, &Options::default());
    let ours = match (&compiled.checked, &compiled.program) {
        (Some(checked), Some(program)) => ::p4runtime::p4info::text(&::p4runtime::p4info::message(
            &p4::info::describe(checked, program),
        )),
        // Without a package there is nothing to describe, for p4c either.
        (Some(checked), None) if checked.main.is_none() => String::new(),
        _ => {
            println!("error: it cannot be compiled");
            return 1;
        }
    };
    let theirs = std::fs::read_to_string(theirs).unwrap_or_default();
    let lines = p4info::differences(&theirs, &ours);
    for line in &lines {
        println!("error: {line}");
    }
    let name = Path::new(program).file_name().unwrap_or_default();
    let mut listed = p4info::DIFFERENT.iter();
    // A program that is listed must differ, or the list is too long.
    let expected = listed.any(|(listed, _)| *listed == name);
    i32::from(expected == lines.is_empty())
}

fn tested(engine: &str, program: &str, test: &str) -> i32 {
    let Ok(engine) = engine.parse::<EngineKind>() else {
        return 2;
    };
    let options = Options {
        unoptimized: engine == EngineKind::Reference,
        ..Options::default()
    };
    let compiled = load(program, true, &options);
    let Some(program) = &compiled.program else {
        println!("error: it cannot be compiled");
        return 1;
    };
    let text = std::fs::read_to_string(test).unwrap_or_default();
    let script = match pipeline::stf::parse(&text) {
        Ok(script) => script,
        Err(faults) => {
            println!("error: the test cannot be read: {faults:?}");
            return 1;
        }
    };
    let program = Arc::new(program.clone());
    let (options, config) = (Default::default(), Default::default());
    match Engines::default().pipeline(&program, engine, options, &config) {
        Err(unsupported) => {
            println!("error: {}", lab::engine::describe(&unsupported, &compiled));
            1
        }
        Ok(mut pipeline) => {
            let outcome = pipeline::stf::run(&script, &mut pipeline);
            for failure in &outcome.failures {
                println!("line {}: error: {}", failure.line, failure.message);
            }
            i32::from(!outcome.failures.is_empty())
        }
    }
}

/// Runs this program again as a child.
pub fn spawn(arguments: &[String]) -> Ran {
    let program = std::env::current_exe().expect("this program has a path");
    let mut child = Command::new(program)
        .arg("--one")
        .args(arguments)
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
