//! Whether what a lab file names stays in the folder that is for its output.

use crate::error::LabError;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// Maximum number of symbolic links that are followed from one name.
const MAX_SYMLINKS: usize = 40;

/// Refuses names that lead out of the folder, by `..`, as absolute paths, or by symbolic links; with `allowed` they may. Refuses
/// two files of one name, and one that the lab reads, in any case.
///
/// # Errors
/// The name, and the fix.
pub(crate) fn check(
    folder: &Path,
    outputs: &[PathBuf],
    inputs: &[PathBuf],
    allowed: bool,
) -> Result<(), LabError> {
    let read: BTreeSet<PathBuf> = inputs.iter().map(|input| real(input)).collect();
    let mut written = BTreeSet::new();
    for output in outputs {
        let path = folder.join(output);
        if !allowed && !is_inside(folder, &path) {
            return Err(LabError::Outside {
                file: output.clone(),
                folder: folder.into(),
            });
        }
        let path = real(&path);
        if read.contains(&path) {
            return Err(LabError::Twice(output.clone(), "is read by this lab too"));
        }
        // Devices take any number of outputs.
        if !written.insert(path.clone()) && (path.is_file() || !path.exists()) {
            return Err(LabError::Twice(
                output.clone(),
                "is written twice by this lab",
            ));
        }
    }
    Ok(())
}

/// Whether a path is in a folder, links followed.
pub(crate) fn is_inside(folder: &Path, path: &Path) -> bool {
    real(path).starts_with(real(folder))
}

/// A path without links, `.` and `..`, also of what is not there yet.
fn real(path: &Path) -> PathBuf {
    let mut links = 0;
    let mut found = PathBuf::new();
    // The folder that one is in has an empty name, which is none to `absolute`, and begins every path.
    let path = match path.as_os_str().is_empty() {
        true => Path::new("."),
        false => path,
    };
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let mut left: Vec<PathBuf> = parts(&absolute);
    while let Some(part) = left.pop() {
        match part.components().next() {
            Some(Component::ParentDir) => {
                found.pop();
            }
            Some(Component::CurDir) | None => {}
            Some(_) => {
                let next = found.join(&part);
                match std::fs::read_link(&next) {
                    Ok(link) if links < MAX_SYMLINKS => {
                        links += 1;
                        left.extend(parts(&link));
                    }
                    _ => found = next,
                }
            }
        }
    }
    found
}

/// The parts of a path, the last one first.
fn parts(path: &Path) -> Vec<PathBuf> {
    let parts = path
        .components()
        .map(|part| PathBuf::from(part.as_os_str()));
    let mut parts: Vec<PathBuf> = parts.collect();
    parts.reverse();
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_leads_out_of_the_folder_is_found_however_it_does() {
        let place = std::env::temp_dir().join(format!("wl-outside-{}", std::process::id()));
        let out = place.join("out");
        fs::create_dir_all(out.join("deep")).unwrap();
        symlink("/etc", out.join("etc")).unwrap();
        symlink("../away", out.join("dangling")).unwrap();
        symlink("deep", out.join("within")).unwrap();
        symlink("loop", out.join("loop")).unwrap();
        for name in [
            "a",
            "deep/a",
            "new/a",
            "deep/../a",
            "within/a",
            "./a",
            "loop",
            "...",
        ] {
            assert!(is_inside(&out, &out.join(name)), "{name}");
        }
        for name in [
            "../a",
            "/etc/a",
            "etc/a",
            "dangling",
            "dangling/a",
            "deep/../../a",
            "within/../../b",
            "new/../../a",
            "..",
        ] {
            assert!(!is_inside(&out, &out.join(name)), "{name}");
        }
        // Of the folder that one is in.
        for (name, inside) in [("a", true), ("../a", false), ("/etc/a", false)] {
            let path = Path::new("").join(name);
            assert_eq!(is_inside(Path::new(""), &path), inside, "{name}");
        }
        // The folder itself may be a link.
        symlink("out", place.join("link")).unwrap();
        assert!(is_inside(&place.join("link"), &place.join("link/a")));
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let twice = check(&out, &paths(&["within/a", "deep/a"]), &[], false);
        assert!(matches!(twice, Err(LabError::Twice(..))));
        let read = check(&out, &paths(&["deep/a"]), &[out.join("within/a")], false);
        assert!(matches!(read, Err(LabError::Twice(..))));
        check(
            &out,
            &paths(&["etc/a", "/dev/null", "/dev/null"]),
            &[],
            true,
        )
        .unwrap();
        fs::remove_dir_all(place).unwrap();
    }
}
