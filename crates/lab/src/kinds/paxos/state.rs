//! The file in which a member of a Paxos group keeps its memory.

use crate::replay::Notes;
use consensus::{Storage, StorageFailed};
use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Readable and writable by its owner alone.
const PRIVATE: u32 = 0o600;

/// A journal in a file, which no other process has meanwhile.
pub(super) struct StateFile {
    path: PathBuf,
    folder: PathBuf,
    /// Where appended bytes go, once the whole state was written.
    file: Option<File>,
    /// Locked as long as it is open.
    _lock: File,
    notes: Notes,
}

impl StateFile {
    /// The file `name` in `folder`, both made if they are not there; the folder by default that of [`default_folder`]. `notes` learns why it failed, if it does.
    ///
    /// # Errors
    /// Why the folder cannot be used, for people.
    pub fn open(folder: Option<PathBuf>, name: &str, notes: Notes) -> Result<StateFile, String> {
        let folder = match folder {
            Some(folder) => folder,
            None => default_folder(|name| env::var_os(name)).ok_or(
                "no folder for the state of this member: HOME is not set. Give one by `--set state=DIR`",
            )?,
        };
        let path = folder.join(name);
        let why = |error: io::Error| format!("cannot keep state in {}: {error}", path.display());
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(&folder).map_err(why)?;
        let lock = with_ending(&path, ".lock");
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(PRIVATE)
            .open(lock)
            .map_err(why)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(format!(
                    "another process is this member: it has {}. Stop it, or give this one another `id` or `--set state=DIR`",
                    path.display()
                ));
            }
            Err(TryLockError::Error(error)) => return Err(why(error)),
        }
        Ok(StateFile {
            path,
            folder,
            file: None,
            _lock: lock,
            notes,
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn read(&self) -> io::Result<Option<Vec<u8>>> {
        match fs::symlink_metadata(&self.path) {
            Ok(found) if found.is_file() => fs::read(&self.path).map(Some),
            Ok(_) => Err(io::Error::other("it is not a regular file")),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn write_whole(&mut self, bytes: &[u8]) -> io::Result<()> {
        let new = with_ending(&self.path, ".new");
        // A killed process may have left one; it is not needed.
        match fs::remove_file(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(PRIVATE)
            .open(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, &self.path)?;
        File::open(&self.folder)?.sync_all()?;
        self.file = Some(file);
        Ok(())
    }

    fn write_more(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = self.file.as_mut();
        let file = file.ok_or_else(|| io::Error::other("nothing was stored before"))?;
        file.write_all(bytes)?;
        // As fdatasync(2) does, with the length.
        file.sync_data()
    }

    /// Reports the system's error.
    fn report<T>(&self, done: io::Result<T>) -> Result<T, StorageFailed> {
        done.map_err(|error| {
            let path = self.path.display();
            self.notes.fail(format!(
                "the state of this member cannot be kept in {path}: {error}. It has stopped, so that it breaks no promise"
            ));
            StorageFailed
        })
    }
}

impl Storage for StateFile {
    fn load(&mut self) -> Result<Option<Vec<u8>>, StorageFailed> {
        let read = self.read();
        self.report(read)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StorageFailed> {
        let done = self.write_more(bytes);
        self.report(done)
    }

    fn replace(&mut self, bytes: &[u8]) -> Result<(), StorageFailed> {
        let done = self.write_whole(bytes);
        self.report(done)
    }
}

/// `$STATE_DIRECTORY`, which systemd sets, else `wireline` in `$XDG_STATE_HOME`, else in `~/.local/state`; `None` without any.
fn default_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    if let Some(all) = set("STATE_DIRECTORY") {
        // A unit may have several, separated by colons.
        return env::split_paths(&all).next();
    }
    let home = || Some(PathBuf::from(set("HOME")?).join(".local/state"));
    let state = set("XDG_STATE_HOME").map(PathBuf::from).or_else(home)?;
    Some(state.join("wireline"))
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_that_of_the_service_or_of_the_user() {
        let folder = |set: &[(&str, &str)]| {
            default_folder(|name| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            })
        };
        let all = [
            ("HOME", "/root"),
            ("XDG_STATE_HOME", "/state"),
            ("STATE_DIRECTORY", "/var/lib/paxos:/var/lib/other"),
        ];
        assert_eq!(folder(&all), Some("/var/lib/paxos".into()));
        assert_eq!(folder(&all[..2]), Some("/state/wireline".into()));
        let home = folder(&all[..1]);
        assert_eq!(home, Some("/root/.local/state/wireline".into()));
        assert_eq!(folder(&[("XDG_STATE_HOME", "")]), None);
    }

    #[test]
    fn a_state_is_one_process_alone_and_is_replaced_in_one_step() {
        let folder = env::temp_dir().join(format!("wire-paxos-state-{}", std::process::id()));
        let open = || StateFile::open(Some(folder.clone()), "acceptor-0", Notes::default());
        let mut state = open().unwrap();
        assert_eq!(state.load(), Ok(None));
        let other = open().err().unwrap();
        assert!(other.contains("another process"), "{other}");
        assert_eq!(state.append(b"x"), Err(StorageFailed), "nothing before it");
        state.replace(b"one").unwrap();
        state.append(b" two").unwrap();
        fs::write(folder.join("acceptor-0.new"), b"left by another").unwrap();
        state.replace(b"three").unwrap();
        state.append(b" four").unwrap();
        drop(state);
        let mut again = open().unwrap();
        assert_eq!(again.load(), Ok(Some(b"three four".to_vec())));
        fs::remove_file(again.path()).unwrap();
        fs::create_dir(again.path()).unwrap();
        assert_eq!(again.load(), Err(StorageFailed));
        let why = again.notes.failure().unwrap();
        assert!(why.contains("not a regular file"), "{why}");
        fs::remove_dir_all(folder).unwrap();
    }
}
