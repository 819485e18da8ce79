//! The directory of a mount: who has mounted there already, and who else uses it.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// How mounts of ports are called, before the number of their process.
const SOURCE: &str = "wireline";
/// Their kind of file system.
const KIND: &str = "fuse.wire";

/// What this process's mounts are called, as mount(8) shows it.
pub fn source() -> String {
    format!("{SOURCE}:{}", std::process::id())
}

/// The mount that is seen at a path.
#[derive(Debug, PartialEq, Eq)]
pub struct Top {
    /// The kernel's number for it.
    pub number: u64,
    kind: String,
    source: String,
}

impl Top {
    /// Whether it is one of ports.
    pub fn is_ours(&self) -> bool {
        self.kind == KIND
    }

    /// Its process, if it says so, behind a comma.
    pub fn whose(&self) -> String {
        let process = self.source.strip_prefix(SOURCE);
        let process = process.and_then(|rest| rest.strip_prefix(':'));
        process.map_or(String::new(), |number| format!(", process {number}"))
    }
}

/// The mount that is seen at `path`, which is canonical; `None` when none begins there.
pub fn top(path: &Path) -> Option<Top> {
    let table = std::fs::read("/proc/self/mountinfo").ok()?;
    top_in(&table, path)
}

fn top_in(table: &[u8], path: &Path) -> Option<Top> {
    let lines = table.split(|&byte| byte == b'\n');
    let mut here: Vec<(u64, Top)> = lines.filter_map(|line| begins_at(line, path)).collect();
    // Of several in one place each stands on the one before it.
    let parents: Vec<u64> = here.iter().map(|(parent, _)| *parent).collect();
    here.retain(|(_, mount)| !parents.contains(&mount.number));
    here.pop().map(|(_, top)| top)
}

/// The mount of a line of the table and the number of its parent, if it is at `path`.
fn begins_at(line: &[u8], path: &Path) -> Option<(u64, Top)> {
    let mut fields = line.split(|&byte| byte == b' ');
    let mut number = || std::str::from_utf8(fields.next()?).ok()?.parse().ok();
    let (number, parent) = (number()?, number()?);
    // Device and root stand between.
    if unescaped(fields.nth(2)?) != path.as_os_str().as_bytes() {
        return None;
    }
    // Options, and optional fields up to a dash; then kind and source.
    let mut behind = fields.skip_while(|field| *field != b"-").skip(1);
    let mut text = || Some(String::from_utf8_lossy(&unescaped(behind.next()?)).into());
    let (kind, source) = (text()?, text()?);
    Some((
        parent,
        Top {
            number,
            kind,
            source,
        },
    ))
}

/// A path as the kernel writes it: a space, say, as `\040`.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, behind @ ..] = rest {
        let octal = behind.get(..3).filter(|_| *first == b'\\');
        let code = octal.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[3..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    bytes
}

/// A word to all processes that this directory is in use: a shared lock on it, which goes with the process.
pub struct Hold(File);

impl Hold {
    /// On the directory, before something is mounted on it; `None` where the file system has no locks.
    pub fn of(path: &Path) -> Option<Hold> {
        let file = File::open(path).ok()?;
        lock(&file, libc::LOCK_SH).then_some(Hold(file))
    }

    /// Whether nobody else uses it.
    pub fn is_last(&self) -> bool {
        lock(&self.0, libc::LOCK_EX)
    }
}

fn lock(file: &File, kind: libc::c_int) -> bool {
    // SAFETY: a plain system call on a descriptor that is open.
    unsafe { libc::flock(file.as_raw_fd(), kind | libc::LOCK_NB) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] = b"22 1 0:20 / / rw shared:1 - ext4 /dev/vda1 rw
40 22 0:50 / /mnt/a\\040b rw,nosuid shared:7 master:1 - fuse.wire wireline:71 rw,user_id=0
41 40 0:51 / /mnt/a\\040b rw - fuse.wire wireline:72 rw
42 22 0:52 / /mnt/a rw - tmpfs none rw
";

    #[test]
    fn the_mount_on_top_is_found_by_its_parent() {
        let top = top_in(TABLE, Path::new("/mnt/a b")).unwrap();
        assert_eq!((top.number, top.is_ours()), (41, true));
        assert_eq!(top.whose(), ", process 72");
        // Whatever the order of the table is.
        let mut lines: Vec<&[u8]> = TABLE.split_inclusive(|byte| *byte == b'\n').collect();
        lines.reverse();
        assert_eq!(top_in(&lines.concat(), Path::new("/mnt/a b")), Some(top));
        assert!(!top_in(TABLE, Path::new("/mnt/a")).unwrap().is_ours());
        assert_eq!(top_in(TABLE, Path::new("/mnt")), None);
        assert_eq!(
            top_in(b"x\n1 2\n1 2 3 4 /mnt rw -\n", Path::new("/mnt")),
            None
        );
    }

    #[test]
    fn a_directory_is_in_use_until_the_last_one_lets_go() {
        let path = std::env::temp_dir().join(format!("wl-hold-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        let (one, other) = (Hold::of(&path).unwrap(), Hold::of(&path).unwrap());
        assert!(!one.is_last());
        assert!(other.is_last());
        std::fs::remove_dir(&path).unwrap();
    }
}
