//! External commands: `wire NAME` runs a program called `wire-NAME`, as git and cargo do. The search starts next to this program, then
//! follows PATH.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const PREFIX: &str = "wire-";

/// Replaces this process with the program that a command line names. Returns `None` if there is no such program, and an exit code if
/// it cannot run.
pub fn run(arguments: &[OsString]) -> Option<ExitCode> {
    let name = arguments.get(1)?.to_str()?;
    let program = find(name)?;
    let error = Command::new(&program).args(&arguments[2..]).exec();
    eprintln!("wire: cannot run {}: {error}", program.display());
    Some(ExitCode::from(2))
}

fn find(name: &str) -> Option<PathBuf> {
    let is_free = is_name(name) && crate::Command::definition(name).is_none();
    let mut places = folders().map(|folder| folder.join(format!("{PREFIX}{name}")));
    is_free.then(|| places.find(|place| is_program(place)))?
}

/// Names of the installed programs, each with its first location.
pub fn installed() -> BTreeMap<String, PathBuf> {
    let mut all = BTreeMap::new();
    for entry in folders()
        .filter_map(|folder| folder.read_dir().ok())
        .flatten()
    {
        let Ok(entry) = entry else { continue };
        let file = entry.file_name();
        let name = file.to_str().and_then(|file| file.strip_prefix(PREFIX));
        let free = name.filter(|name| is_name(name) && crate::Command::definition(name).is_none());
        if let Some(name) = free.filter(|_| is_program(&entry.path())) {
            all.entry(name.to_owned()).or_insert(entry.path());
        }
    }
    all
}

/// Whether a name has only letters, digits and `-`: options and paths are no names.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('-')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn folders() -> impl Iterator<Item = PathBuf> {
    let own = std::env::current_exe().ok();
    let own = own.and_then(|program| program.parent().map(Path::to_owned));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path: Vec<PathBuf> = std::env::split_paths(&path).collect();
    // An empty entry of PATH means the current folder, which may belong to another user.
    own.into_iter()
        .chain(path)
        .filter(|folder| folder.is_absolute())
}

fn is_program(place: &Path) -> bool {
    let metadata = place.metadata();
    metadata.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
