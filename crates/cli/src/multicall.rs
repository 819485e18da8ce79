//! The names that EtherPIPE's papers call commands by: links of these names to `wire` are commands of it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A name, and the subcommand that it is: paper 000, commands 4 and 13 and section 6.1.
const NAMES: [(&str, &str); 3] = [("ethdump", "dump"), ("tappipe", "tap"), ("epcmd", "cut")];

/// The option in which `epcmd` has what `wire cut` has in front.
const EXTRACT: &[u8] = b"--extract";

/// The links that a mount shows; none where this program does not know its own place.
pub fn links() -> Vec<(String, PathBuf)> {
    let Ok(program) = std::env::current_exe() else {
        return Vec::new();
    };
    let links = NAMES.iter();
    links
        .map(|(name, _)| ((*name).to_owned(), program.clone()))
        .collect()
}

/// A command line as `wire` has it.
pub fn arguments(given: Vec<OsString>) -> Vec<OsString> {
    let mut line = named(given);
    if line.get(1).is_some_and(|word| word == "help") {
        // `wire help of ctl`.
        line.remove(1);
        line.push("--help".into());
    }
    if line.get(1).is_some_and(|word| word == "cut") {
        commands(&mut line);
    }
    line
}

/// `cut -c CMD`, as `-c` was once the short form of `--command`: a number is a count, as everywhere.
fn commands(line: &mut [OsString]) {
    let end = line.iter().position(|word| word == "--");
    for at in 2..end.unwrap_or(line.len()).saturating_sub(1) {
        let number = line[at + 1].as_bytes().iter().all(u8::is_ascii_digit);
        if line[at] == "-c" && !number {
            line[at] = "--command".into();
        }
    }
}

/// By the name that it was called by.
fn named(given: Vec<OsString>) -> Vec<OsString> {
    let name = given.first().and_then(|first| Path::new(first).file_name());
    let Some((name, subcommand)) = NAMES
        .iter()
        .find(|(known, _)| name == Some(OsStr::new(known)))
    else {
        return given;
    };
    let mut rest = given[1..].to_vec();
    let mut line: Vec<OsString> = vec!["wire".into(), subcommand.into()];
    if *name == "epcmd" {
        line.extend(extract(&mut rest));
    }
    line.append(&mut rest);
    line
}

/// Takes `--extract FIELDS` or `--extract=FIELDS` out.
fn extract(rest: &mut Vec<OsString>) -> Option<OsString> {
    let end = rest.iter().position(|word| word == "--");
    let options = &rest[..end.unwrap_or(rest.len())];
    let at = options.iter().position(|word| {
        let behind = word.as_bytes().strip_prefix(EXTRACT);
        behind.is_some_and(|behind| behind.is_empty() || behind[0] == b'=')
    })?;
    let word = rest.remove(at).into_vec();
    match word.split_at_checked(EXTRACT.len() + 1) {
        Some((_, fields)) => Some(OsString::from_vec(fields.to_vec())),
        None => (at < rest.len()).then(|| rest.remove(at)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_names_are_commands() {
        for (given, meant) in [
            ("/usr/bin/ethdump -o x", "wire dump -o x"),
            ("tappipe pipe0", "wire tap pipe0"),
            (
                "bin/epcmd --extract etherheader --command grep",
                "wire cut etherheader --command grep",
            ),
            (
                "epcmd --command grep --extract=ip.src f",
                "wire cut ip.src --command grep f",
            ),
            ("epcmd --extract", "wire cut"),
            ("epcmd -- --extract", "wire cut -- --extract"),
            ("wire cat --extract x", "wire cat --extract x"),
            ("wire help of ctl", "wire of ctl --help"),
            ("wire help", "wire --help"),
            ("wire cat help", "wire cat help"),
            ("wire cut dst -c cat f", "wire cut dst --command cat f"),
            ("wire cut dst -c 5 f", "wire cut dst -c 5 f"),
            ("wire cut dst -- -c cat", "wire cut dst -- -c cat"),
            ("wire match -c dst=1", "wire match -c dst=1"),
            ("./wire ethdump", "./wire ethdump"),
        ] {
            let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
            assert_eq!(arguments(words(given)), words(meant), "{given}");
        }
        assert_eq!(arguments(Vec::new()), Vec::<OsString>::new());
    }
}
