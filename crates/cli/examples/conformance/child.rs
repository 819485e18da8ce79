//! One program, or one test of it, in a process of its own.
#![allow(
    clippy::disallowed_methods,
    reason = "a limit of time for each program"
)]

use crate::{Outcome, Ran};
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

/// Files beside the program, and those of the library whatever folder they are asked for in.
struct Beside(PathBuf);

impl Includes for Beside {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        if let Ok(text) = std::fs::read_to_string(self.0.join(name)) {
            return Ok((name.to_owned(), text));
        }
        let base = name.rsplit('/').next().unwrap_or(name);
        let found = [name, base]
            .into_iter()
            .find_map(|name| Some((name, p4::library::file(name)?)));
        found
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .ok_or_else(|| {
                format!("there is no {name} beside the program or in the library").into()
            })
    }
}

/// Compiles, checks, or tests, and prints what there is to say; 0 when all is well, 1 when not.
pub fn run(arguments: &[String]) -> i32 {
    match arguments {
        [what, program] if what == "check" => compiled(program, false),
        [what, program] if what == "lower" => compiled(program, true),
        [what, engine, program, test] if what == "stf" => tested(engine, program, test),
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
