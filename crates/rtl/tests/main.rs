//! The command with hardware in it.

mod check;
mod p4;
mod ports;
/// The same tests of the papers' scripts as those of `wire`, on ports in Verilog.
#[path = "../../cli/tests/scripts.rs"]
mod scripts;
#[path = "../../cli/tests/testbed/mod.rs"]
mod testbed;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// What stands before the names of a [`testbed`]'s ports.
const PORTS: &str = "rtl:";

/// The command, by the name that scripts call.
fn wire() -> &'static str {
    static LINK: OnceLock<String> = OnceLock::new();
    LINK.get_or_init(|| {
        let link = folder("bin").join("wire");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_wire-rtl"), &link).unwrap();
        link.to_str().unwrap().into()
    })
}

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

/// Why it can mount no such ports.
fn why_not() -> Option<String> {
    let made = cosim::port::Port::new(cosim::Speed::Gigabit);
    made.err().map(|missing| missing.to_string())
}

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wire-rtl"));
    command.args(arguments).output().unwrap()
}

/// The output of a run that has to end well, or nothing, with a word on it, where there is no Verilator.
fn good(arguments: &[&str]) -> Option<String> {
    let output = run(arguments);
    let told = String::from_utf8(output.stderr).unwrap();
    if told.contains("built without Verilator") {
        println!("skipped: {}", told.trim());
        return None;
    }
    assert!(output.status.success(), "{arguments:?}: {told}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// An empty folder for what a test writes.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The words of the line that begins with this.
fn line<'a>(text: &'a str, begin: &str) -> Vec<&'a str> {
    let found = text.lines().find(|line| line.starts_with(begin));
    found
        .unwrap_or_else(|| panic!("no {begin} in {text}"))
        .split("  ")
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .collect()
}

#[test]
fn the_papers_figures_come_out_of_rtl_as_they_do_of_simulated_time() {
    let Some(text) = good(&["lab", &format!("{EXAMPLES}/timing/lab.toml")]) else {
        return;
    };
    for (figure, both) in [
        ("receiver.0: distance, mean", "10 ms"),
        ("receiver.0: distance, sd", "0"),
        ("delayed.0: delay, mean", "1 s"),
        ("delayed.0: delay, sd", "0"),
    ] {
        assert_eq!(line(&text, figure), [figure, both, both]);
    }
    // What arrives between two ticks leaves by whole ones: off by less than a tick, and by a clock that is 50 ppm fast.
    let sd = line(&text, "delayed-apart.0: delay, sd");
    assert_eq!(sd[1], "0");
    let ns: f64 = sd[2].strip_suffix(" ns").unwrap().parse().unwrap();
    assert!(ns > 1.0 && ns < 8.0, "{sd:?}");
    let mean = line(&text, "delayed-apart.0: delay, mean");
    assert!(mean[2].starts_with("999.94999"), "{mean:?}");
}

#[test]
fn waveforms_are_written_of_a_window_of_time() {
    let out = folder("waves");
    let lab = format!("{EXAMPLES}/rtl/lab.toml");
    let arguments = [
        "lab",
        &lab,
        "--world",
        "cosim",
        "--out",
        out.to_str().unwrap(),
        "--waves",
    ];
    let size = |window: &str| {
        good(&[&arguments[..], &[window]].concat())
            .map(|_| std::fs::metadata(out.join("nic.fst")).unwrap().len())
    };
    let Some(long) = size("nic=999us..1020us") else {
        return;
    };
    let short = size("nic=10us..11us").unwrap();
    assert!(
        short > 300 && long > short + 1_000,
        "{short} and {long} bytes"
    );
    let none = run(&[&arguments[..], &["source=1ms..2ms"]].concat());
    let told = String::from_utf8(none.stderr).unwrap();
    assert_eq!(none.status.code(), Some(2));
    assert!(told.contains("no waveforms of `source`"), "{told}");
}

#[test]
fn waveforms_are_refused_where_there_is_no_verilog_and_where_the_window_is_none() {
    let lab = format!("{EXAMPLES}/rtl/lab.toml");
    for (arguments, says) in [
        (
            ["--world", "sim", "--waves", "nic=1ms..2ms"],
            "add --world cosim",
        ),
        (
            ["--world", "cosim", "--waves", "nic=2ms..1ms"],
            "ends behind its beginning",
        ),
        (["--world", "cosim", "--waves", "nic"], "nic"),
    ] {
        let output = run(&[&["lab", &lab][..], &arguments].concat());
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(says), "{told}");
    }
}
