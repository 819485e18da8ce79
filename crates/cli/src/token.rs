//! Tokens and keys that two ends share, in files that only their user may read.

use anyhow::{Context, bail, ensure};
use rustix::fs::OFlags;
use rustix::process::geteuid;
use std::fs::{Metadata, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Random bytes of a token.
const RANDOM: usize = 32;
/// The shortest token of a user's own, characters.
const MIN_LENGTH: usize = 16;
/// The longest file that is read, bytes.
const MAX_FILE: u64 = 4096;

/// A new token, random.
///
/// # Errors
/// When the system has no random numbers.
pub fn random() -> anyhow::Result<String> {
    let mut random = [0; RANDOM];
    let got = rustix::rand::getrandom(&mut random[..], rustix::rand::GetRandomFlags::empty());
    ensure!(
        got.context("random numbers for a token")? == RANDOM,
        "the system has no random numbers for a token"
    );
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The token of a file that belongs to this user, or root, and that its owner alone may read. A file that is not there is made,
/// with a new token.
///
/// # Errors
/// When the file is of another user, others may read it, it holds no token, or it cannot be made.
pub fn of_file(path: &Path) -> anyhow::Result<String> {
    let name = path.display();
    let mut make = OpenOptions::new();
    match make.write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => {
            let token = random()?;
            let written = writeln!(file, "{token}").and_then(|()| file.sync_all());
            written.with_context(|| name.to_string())?;
            Ok(token)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            // A pipe in its place is not waited for.
            let flags = OFlags::NONBLOCK.bits() as i32;
            let mut open = OpenOptions::new();
            let file = open.read(true).custom_flags(flags).open(path);
            let mut file = file.with_context(|| name.to_string())?;
            let about = file.metadata().with_context(|| name.to_string())?;
            check(&about, geteuid().as_raw()).with_context(|| name.to_string())?;
            let mut text = String::new();
            let read = (&mut file).take(MAX_FILE).read_to_string(&mut text);
            read.with_context(|| name.to_string())?;
            let token = text.trim();
            let fine =
                token.len() >= MIN_LENGTH && token.bytes().all(|byte| byte.is_ascii_graphic());
            ensure!(
                fine,
                "{name}: a token is one word of {MIN_LENGTH} characters or more; remove the file to have a new one made"
            );
            Ok(token.to_owned())
        }
        Err(error) => Err(error).with_context(|| name.to_string()),
    }
}

/// Whether a file is this user's or root's, and its owner's alone.
fn check(file: &Metadata, user: u32) -> anyhow::Result<()> {
    if !file.is_file() {
        bail!("a token is read from a regular file only");
    }
    if ![user, 0].contains(&file.uid()) {
        bail!(
            "the file belongs to user {}, who knows the token; make one of your own",
            file.uid()
        );
    }
    if file.mode() & 0o077 != 0 {
        let mode = file.mode() & 0o777;
        bail!("others may read the token (mode {mode:03o}); chmod 600 the file");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_of_a_token_is_made_and_read_again_and_must_be_private() {
        let path = std::env::temp_dir().join(format!("wire-token-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let token = of_file(&path).unwrap();
        let about = path.metadata().unwrap();
        assert_eq!((token.len(), about.mode() & 0o777), (64, 0o600));
        assert_eq!(of_file(&path).unwrap(), token);
        let own = about.uid();
        assert!(check(&about, own).is_ok());
        // As another user sees it, unless it is root's.
        let other = check(&about, own + 1).map_err(|error| error.to_string());
        assert_eq!(other.is_ok(), own == 0, "{other:?}");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        let refused = format!("{:#}", of_file(&path).unwrap_err());
        assert!(refused.contains("chmod 600"), "{refused}");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        std::fs::write(&path, "short\n").unwrap();
        assert!(of_file(&path).unwrap_err().to_string().contains("16"));
        std::fs::remove_file(&path).unwrap();
        let folder = of_file(&std::env::temp_dir()).unwrap_err();
        assert!(format!("{folder:#}").contains("regular file"), "{folder:#}");
    }
}
