//! P4 programs in Verilog: the packets that STF files expect come out.

use cosim::p4::Rtl;
use p4::compile::{Options, compile};
use p4::source::{IncludeError, Includes};
use pipeline::architecture::{Config, Pipeline};
use pipeline::environment::Environment;
use pipeline::stf;
use std::path::{Path, PathBuf};
use std::sync::Arc;

struct Beside<'a>(&'a Path);

impl Includes for Beside<'_> {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        let text = match std::fs::read_to_string(self.0.join(name)) {
            Ok(text) => text,
            Err(_) => p4::library::file(name).ok_or("no such file")?.into(),
        };
        Ok((name.into(), text))
    }
}

/// A program that is compiled.
fn environment(program: &Path) -> Result<Arc<Environment>, String> {
    let name = program.display().to_string();
    let text = std::fs::read_to_string(program).expect(&name);
    let folder = program.parent().expect("it is in a folder");
    let compiled = compile(&name, &text, &mut Beside(folder), &Options::default());
    let program_of = compiled.program.ok_or("it does not compile")?;
    let environment =
        Environment::new(Arc::new(program_of), Default::default()).map_err(|e| e.to_string())?;
    Ok(Arc::new(environment))
}

/// How many expectations a program's test met, or why it is no hardware.
fn run(program: &Path) -> Result<usize, String> {
    let name = program.display().to_string();
    let environment = environment(program)?;
    let engine = Box::new(Rtl::new(&environment));
    let mut pipeline =
        Pipeline::new(&environment, engine, &Config::default()).map_err(|e| e.to_string())?;
    let script = std::fs::read_to_string(program.with_extension("stf")).expect(&name);
    let script = stf::parse(&script).map_err(|_| "its test has faults")?;
    let outcome = stf::run(&script, &mut pipeline);
    match outcome.failures.is_empty() {
        true => Ok(outcome.met),
        false => panic!("{name}: {:#?}", outcome.failures),
    }
}

/// Programs with tests in a folder, or one program.
fn programs(of: &Path) -> Vec<PathBuf> {
    if of.is_file() {
        return vec![of.into()];
    }
    let files = std::fs::read_dir(of)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path());
    let mut programs: Vec<PathBuf> = files
        .filter(|path| {
            path.extension().is_some_and(|e| e == "p4") && path.with_extension("stf").exists()
        })
        .collect();
    programs.sort();
    programs
}

/// `RTL_CORPUS` is a folder or a program, or several with colons between.
#[test]
#[ignore = "for a corpus beside this one"]
fn a_corpus_that_is_named() {
    let Some(of) = std::env::var_os("RTL_CORPUS") else {
        return;
    };
    let (mut passed, mut refused, mut failed) = (0, 0, 0);
    for program in std::env::split_paths(&of).flat_map(|of| programs(&of)) {
        let name = program
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let begun = std::time::Instant::now();
        match std::panic::catch_unwind(|| run(&program)) {
            Ok(Ok(met)) => {
                println!("ok {name} {met}  {:.1} s", begun.elapsed().as_secs_f32());
                passed += 1;
            }
            Ok(Err(why)) => {
                println!("refused {name}: {why}");
                refused += 1;
            }
            Err(_) => {
                println!("FAILED {name}");
                failed += 1;
            }
        }
    }
    println!("{passed} passed, {refused} refused, {failed} failed");
}

/// What Verilator and Yosys say of a program's Verilog, which should be nothing.
fn lint(program: &Path, folder: &Path) -> Result<String, String> {
    let environment = environment(program)?;
    let options = verilog::Options {
        name: "dut",
        window: 256,
        levels: 6,
        place: &|_| None,
    };
    let design = verilog::Design::of(&environment, &options).map_err(|e| e.to_string())?;
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).expect("a folder");
    for (name, text) in cosim::p4::files(&design) {
        std::fs::write(folder.join(name), text).expect("a file");
    }
    let mut told = String::new();
    let verilator = [
        "--lint-only",
        "-Wall",
        "--unroll-count",
        "20000",
        "-y",
        ".",
        "--top-module",
        "dut",
        "dut.v",
    ];
    let yosys = [
        "-q",
        "-p",
        "read_verilog *.v; hierarchy -check -top dut; proc; check -assert",
    ];
    for (tool, arguments) in [("verilator", &verilator[..]), ("yosys", &yosys[..])] {
        let output = std::process::Command::new("timeout")
            .args(["60", tool])
            .args(arguments)
            .current_dir(folder)
            .output();
        let Ok(output) = output else {
            println!("skipped: {tool} is not here");
            continue;
        };
        let text = String::from_utf8_lossy(&output.stderr).into_owned()
            + &String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || text.to_lowercase().contains("warning") {
            told += &format!("{tool}: {text}");
        }
    }
    Ok(told)
}

#[test]
#[ignore = "for a corpus beside this one"]
fn no_tool_warns_of_a_corpus_that_is_named() {
    let Some(of) = std::env::var_os("RTL_CORPUS") else {
        return;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lint");
    let mut warned = 0;
    for program in std::env::split_paths(&of).flat_map(|of| programs(&of)) {
        if let Ok(told) = lint(&program, &folder)
            && !told.is_empty()
        {
            println!("{}: {told}", program.display());
            warned += 1;
        }
    }
    println!("{warned} programs with warnings");
    assert_eq!(warned, 0, "programs that a tool warns of");
}
