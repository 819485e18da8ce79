//! Scripts of packetdrill, run on an endpoint in exact simulated time.
//!
//! `reader`, `script`, `packet`, `call` and `code` read a script, `settings` has what its lines of the shell set, `machine`, `socket` and
//! `wire` run it, `compare` and `values` compare. What is in the subset, and how ours is compared with the script's, stands in the book ("Checks
//! against packetdrill").
//!
//! Scripts of our own are in `scripts`. The kernel's and packetdrill's own are not part of this repository: the environment variable
//! WIRE_PACKETDRILL names a folder with them. `kernel.txt` and `packetdrill.txt` have what is known of each: `pass`, or the reason.

mod call;
mod code;
mod compare;
mod machine;
mod packet;
mod reader;
mod script;
mod settings;
mod socket;
mod values;
mod wire;

use machine::{REST_PASSES, Version, run};
use node::random::Random;
use reader::Stop;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::string::{String, ToString};
use std::vec::Vec;
use std::{eprintln, format, fs, println};

/// Environment variable that names a folder with scripts.
const FOLDER: &str = "WIRE_PACKETDRILL";
/// First sequence numbers with which each script runs.
const SEEDS: u64 = 3;

#[test]
fn our_scripts_pass() {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/endpoint/tests/packetdrill/scripts");
    let scripts = scripts(&folder);
    assert!(!scripts.is_empty());
    for path in &scripts {
        if let Err(stop) = check(&fs::read_to_string(path).unwrap()) {
            panic!("{}:{}: {}", path.display(), stop.line, stop.reason);
        }
    }
}

#[test]
fn scripts_of_others_do_as_is_recorded() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        println!("skipped: {FOLDER} does not name a folder of packetdrill's scripts");
        return;
    };
    let mut known = record(include_str!("kernel.txt"));
    known.append(&mut record(include_str!("packetdrill.txt")));
    let (mut passed, mut partly, mut failed, mut lost) = (0, 0, 0, Vec::new());
    for path in scripts(&folder) {
        let name = name(&folder, &path);
        let result = check(&fs::read_to_string(&path).unwrap());
        let known = known.get(&name).map(String::as_str);
        // A script that did as it should, or did as far as it is in the subset, must still do so.
        let is_lost = match (&result, known) {
            (Ok(()), _) | (Err(_), None) => false,
            (Err(stop), Some(known)) => {
                let is_partly = stop.reason.ends_with(REST_PASSES);
                known == "pass" || known.ends_with(REST_PASSES) && !is_partly
            }
        };
        let said = match &result {
            Ok(()) => "pass".to_string(),
            Err(stop) => format!("line {}: {}", stop.line, stop.reason),
        };
        if is_lost {
            lost.push(format!("{name}: {said}"));
        } else if result.is_ok() && known != Some("pass") || result.is_err() {
            println!("{name}: {said} (recorded: {})", known.unwrap_or("nothing"));
        }
        match result {
            Ok(()) => passed += 1,
            Err(stop) if stop.reason.ends_with(REST_PASSES) => partly += 1,
            Err(_) => failed += 1,
        }
    }
    eprintln!(
        "packetdrill: {passed} scripts pass, {partly} as far as they are in the subset, {failed} do not"
    );
    assert!(lost.is_empty(), "no longer pass: {lost:#?}");
}

/// Every change of a script is a script, or is refused with a place in it.
#[test]
fn broken_scripts_are_refused_without_a_panic() {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/endpoint/tests/packetdrill/scripts");
    let mut random = Random::new(1);
    for path in scripts(&folder) {
        let text = fs::read_to_string(&path).unwrap();
        for _ in 0..200 {
            let mut bytes = text.clone().into_bytes();
            for _ in 0..=random.below(3) {
                let at = random.index(bytes.len());
                match random.below(3) {
                    0 => drop(bytes.remove(at)),
                    1 => bytes[at] = b" \n`+-.<>()[]{}%,:=0123456789SFPRWEA"[random.index(35)],
                    _ => {
                        let from = random.index(bytes.len());
                        let to = (from + random.index(40)).min(bytes.len());
                        let copy = bytes[from..to].to_vec();
                        bytes.splice(at..at, copy);
                    }
                }
            }
            let Ok(text) = String::from_utf8(bytes) else {
                continue;
            };
            if let Err(stop) = check(&text) {
                assert!(stop.line <= text.lines().count() + 1);
                assert!(!stop.reason.is_empty());
            }
        }
    }
}

/// Runs a script with both versions of IP, unless it names one, and several first numbers.
fn check(text: &str) -> Result<(), Stop> {
    let script = script::read(text)?;
    let versions: &[Version] = match script.options.iter().find(|(name, _)| name == "ip_version") {
        Some((_, version)) if version == "ipv6" => &[Version::V6],
        Some(_) => &[Version::V4],
        None => &[Version::V4, Version::V6],
    };
    for version in versions {
        for seed in 0..SEEDS {
            run(&script, *version, seed)?;
        }
    }
    Ok(())
}

/// The scripts in a folder and those in it.
fn scripts(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder);
    let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            paths.extend(scripts(&path));
        } else if path.extension().is_some_and(|extension| extension == "pkt") {
            paths.push(path);
        }
    }
    paths.sort();
    paths
}

/// The name of a script in the record: its path in the folder, from `tcp` on if that is in it.
fn name(folder: &Path, path: &Path) -> String {
    let path = path.strip_prefix(folder).unwrap_or(path);
    let path = format!("/{}", path.display());
    let name = match path.rfind("/tcp/") {
        Some(at) => &path[at + 1..],
        None => path.rsplit('/').next().unwrap_or(&path),
    };
    name.trim_end_matches(".pkt").to_string()
}

/// Recorded results of scripts: lines with a name and a result.
fn record(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.split_once(' '));
    let pairs = pairs.map(|(name, result)| (name.to_string(), result.trim().to_string()));
    pairs.collect()
}
