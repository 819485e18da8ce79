use super::*;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let own = format!("wl-output-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(own);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn content(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn the_old_file_stands_until_the_new_one_is_whole() {
    let folder = Folder::new("whole");
    let path = folder.file("x");
    fs::write(&path, "old").unwrap();
    let mut file = OutputFile::create(&path).unwrap();
    file.write_all(b"new").unwrap();
    assert_eq!(content(&path), "old");
    assert_eq!(content(file.partial().unwrap()), "new");
    file.commit().unwrap();
    assert_eq!(
        (content(&path), folder.names()),
        ("new".into(), vec!["x".into()])
    );
}

#[test]
fn a_file_that_is_given_up_stays_beside_if_anything_is_in_it() {
    let folder = Folder::new("partial");
    let path = folder.file("x");
    drop(OutputFile::create(&path).unwrap());
    assert_eq!(folder.names(), Vec::<String>::new());
    let mut file = OutputFile::create(&path).unwrap();
    file.write_all(b"half").unwrap();
    let partial = file.partial().unwrap().to_path_buf();
    drop(file);
    assert_eq!(content(&partial), "half");
    let [name] = &folder.names()[..] else {
        panic!("{:?}", folder.names());
    };
    assert_eq!(Path::new(name), partial.file_name().unwrap());
    // No other process can have made it before.
    let random = name
        .strip_prefix("x.")
        .and_then(|rest| rest.strip_suffix(".partial"));
    assert_eq!(random.map(str::len), Some(16), "{name}");
    // The next one has another name, and does not touch it.
    let mut file = OutputFile::create(&path).unwrap();
    file.write_all(b"second").unwrap();
    assert_ne!(file.partial().unwrap(), partial);
    file.commit().unwrap();
    assert_eq!(
        (content(&partial), content(&path)),
        ("half".into(), "second".into())
    );
}

#[test]
fn several_files_are_written_side_by_side() {
    let folder = Folder::new("several");
    let path = folder.file("x");
    let mut files: Vec<_> = (0..3).map(|_| OutputFile::create(&path).unwrap()).collect();
    for (file, text) in files.iter_mut().zip(["a", "b", "c"]) {
        file.write_all(text.as_bytes()).unwrap();
    }
    files.into_iter().for_each(|file| file.commit().unwrap());
    assert_eq!(
        (content(&path), folder.names()),
        ("c".into(), vec!["x".into()])
    );
}

#[test]
fn links_are_followed_and_stay() {
    let folder = Folder::new("links");
    fs::create_dir(folder.file("deep")).unwrap();
    fs::write(folder.file("deep/real"), "old").unwrap();
    symlink("deep/real", folder.file("second")).unwrap();
    symlink("second", folder.file("first")).unwrap();
    replace(&folder.file("first"), b"new").unwrap();
    assert_eq!(content(&folder.file("deep/real")), "new");
    assert!(folder.file("first").is_symlink() && folder.file("second").is_symlink());
    // One that leads to nothing yet.
    symlink("deep/later", folder.file("third")).unwrap();
    replace(&folder.file("third"), b"made").unwrap();
    assert_eq!(content(&folder.file("deep/later")), "made");
    // One that leads to itself.
    symlink("loop", folder.file("loop")).unwrap();
    let error = replace(&folder.file("loop"), b"").unwrap_err();
    assert_eq!(error.source.raw_os_error(), Some(libc::ELOOP));
}

#[test]
fn the_mode_is_kept_and_that_of_a_new_file_is_the_masks() {
    let folder = Folder::new("mode");
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
    let path = folder.file("old");
    for wanted in [0o600, 0o640, 0o755, 0o666] {
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(wanted)).unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(mode(&path), wanted);
    }
    let (plain, own) = (folder.file("plain"), folder.file("own"));
    fs::write(&plain, "").unwrap();
    replace(&own, b"").unwrap();
    assert_eq!(mode(&own), mode(&plain));
}

#[test]
fn an_owner_is_kept_where_the_system_lets_us() {
    let folder = Folder::new("owner");
    let path = folder.file("x");
    fs::write(&path, "").unwrap();
    if std::os::unix::fs::chown(&path, Some(12345), Some(23456)).is_err() {
        return println!("skipped: only root may give files away");
    }
    replace(&path, b"new").unwrap();
    let about = fs::metadata(&path).unwrap();
    assert_eq!((about.uid(), about.gid()), (12345, 23456));
}

#[test]
fn what_is_no_regular_file_is_written_as_it_is() {
    let folder = Folder::new("special");
    replace(Path::new("/dev/null"), b"gone").unwrap();
    let error = replace(Path::new("/dev/full"), b"no room").unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot write /dev/full after 0 bytes: No space left on device (os error 28)"
    );
    let fifo = folder.file("fifo");
    let name = std::ffi::CString::new(fifo.as_os_str().as_bytes()).unwrap();
    // SAFETY: a C string and a mode.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    let reader = {
        let fifo = fifo.clone();
        std::thread::spawn(move || fs::read_to_string(fifo).unwrap())
    };
    replace(&fifo, b"through").unwrap();
    assert_eq!(reader.join().unwrap(), "through");
    assert_eq!(folder.names(), ["fifo"]);
    // A descriptor of ours, whatever is behind it: written on, not replaced.
    let path = folder.file("x");
    let mut file = File::create(&path).unwrap();
    file.write_all(b"first ").unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&file);
    replace(Path::new(&format!("/dev/fd/{number}")), b"second").unwrap();
    assert_eq!(content(&path), "first second");
}

#[test]
fn what_cannot_be_written_is_told_and_untouched() {
    let folder = Folder::new("refused");
    let error = replace(&folder.0, b"").unwrap_err().to_string();
    assert!(
        error.starts_with("cannot write ") && error.contains("Is a directory"),
        "{error}"
    );
    let error = replace(&folder.file("no/such/x"), b"")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("no/such/x: No such file or directory"),
        "{error}"
    );
    let error = replace(&folder.file("x/"), b"").unwrap_err().to_string();
    assert!(
        error.contains("Is a directory") || error.contains("Not a directory"),
        "{error}"
    );
    // Something else took the name meanwhile.
    let path = folder.file("x");
    let mut file = OutputFile::create(&path).unwrap();
    file.write_all(b"precious").unwrap();
    fs::create_dir(&path).unwrap();
    let error = file.commit().unwrap_err();
    let kept = error.kept.clone().unwrap();
    assert_eq!(content(&kept), "precious");
    let text = error.to_string();
    assert!(
        text.contains("after 8 bytes: giving it its name: Is a directory"),
        "{text}"
    );
    assert!(
        text.contains(&format!("what was written is in {}", kept.display())),
        "{text}"
    );
}

#[test]
fn names_may_be_any_bytes_and_as_long_as_any() {
    let folder = Folder::new("names");
    let odd = folder.file(std::ffi::OsStr::from_bytes(b"caf\xe9\x1b"));
    replace(&odd, b"odd").unwrap();
    assert_eq!(content(&odd), "odd");
    let long = folder.file("n".repeat(255));
    replace(&long, b"long").unwrap();
    assert_eq!(content(&long), "long");
}

#[test]
fn the_same_file_by_another_name_is_no_output() {
    let folder = Folder::new("same");
    let [path, hard, soft, other] = ["x", "hard", "soft", "other"].map(|name| folder.file(name));
    fs::write(&path, "x").unwrap();
    fs::write(&other, "x").unwrap();
    fs::hard_link(&path, &hard).unwrap();
    symlink("x", &soft).unwrap();
    for output in [&path, &hard, &soft, &folder.file("./x")] {
        let error = apart(output, [other.as_path(), &path])
            .unwrap_err()
            .to_string();
        let told = format!(
            "{} is the same file as {}",
            output.display(),
            path.display()
        );
        assert!(error.starts_with(&told), "{error}");
        apart(output, [other.as_path()]).unwrap();
    }
    apart(&folder.file("new"), [path.as_path(), &hard]).unwrap();
    apart(Path::new("/dev/null"), [Path::new("/dev/null")]).unwrap();
    let error = apart(&other, [folder.file("missing").as_path()])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("missing: No such file or directory"),
        "{error}"
    );
}
