//! Benches in Verilog, under Icarus.

use std::path::Path;
use std::process::Command;

/// Runs the bench of a block with these parameters and folders of modules; what it tells, or nothing, with a word on it, without Icarus.
pub fn run(file: &str, top: &str, parameters: &[&str], folders: &[&Path]) -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let name = format!("{top}{}.vvp", parameters.concat());
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut command = Command::new("iverilog");
    command.args(["-g2005-sv", "-s", top]).current_dir(&root);
    for folder in folders {
        command.arg("-y").arg(folder);
    }
    for parameter in parameters {
        command.arg(format!("-P{top}.{parameter}"));
    }
    let Ok(built) = command.arg("-o").arg(&program).arg(file).output() else {
        println!("skipped: iverilog is not here (Debian: apt-get install iverilog)");
        return None;
    };
    assert!(built.status.success(), "{built:?}");
    let ran = Command::new("vvp")
        .arg("-n")
        .arg(&program)
        .output()
        .unwrap();
    Some(String::from_utf8(ran.stdout).unwrap())
}
