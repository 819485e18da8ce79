//! A program more in a namespace of a run that another process of this user has up.
//!
//! A supervisor's folder says how: `file` names what is run, `pid` leads to the PID namespace of its jobs, `hosts` is what they have as
//! `/etc/hosts`, and for each namespace that has a name `NAME/net` leads to it and `NAME/environment` has the variables of its jobs.

use super::launch::launch;
use super::{Job, PREFIX, ProcessError};
use crate::kernel::netns::Namespace;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// What others have to know of a run to join it.
#[derive(Clone, Debug, Default)]
pub struct Joinable {
    /// The file that is run, an absolute path.
    pub file: PathBuf,
    /// The namespaces that can be joined.
    pub all: Vec<JoinableNamespace>,
}

/// A namespace that can be joined.
#[derive(Clone, Debug, Default)]
pub struct JoinableNamespace {
    pub name: String,
    /// Its index among those of the supervisor.
    pub member: usize,
    /// Variables of the environment of its jobs.
    pub environment: Vec<(String, String)>,
}

impl Joinable {
    /// Tells of all but the PID namespace.
    pub(super) fn open(&self, folder: &Path, namespaces: &[Namespace]) -> io::Result<()> {
        let own = PathBuf::from(format!("/proc/{}/fd", std::process::id()));
        for namespace in &self.all {
            let inner = folder.join(&namespace.name);
            fs::create_dir_all(&inner)?;
            let descriptor = namespaces[namespace.member].descriptor().as_raw_fd();
            symlink(own.join(descriptor.to_string()), inner.join("net"))?;
            let variables = namespace.environment.iter();
            let lines = variables.map(|(name, value)| format!("{name}={value}\n"));
            fs::write(inner.join("environment"), lines.collect::<String>())?;
        }
        fs::write(
            folder.join("file"),
            self.file.as_os_str().as_encoded_bytes(),
        )
    }
}

/// Tells of the PID namespace, of which this is the first process, and of the names that its jobs know. From then on the run can be joined.
pub(super) fn tell(folder: &Path, init: u32, hosts: &[u8]) -> io::Result<()> {
    fs::write(folder.join("hosts"), hosts)?;
    symlink(format!("/proc/{init}/ns/pid"), folder.join("pid"))
}

/// The folders of runs of a file that this user has up.
///
/// # Errors
/// When it cannot be looked for them.
pub fn runs_of(file: &Path) -> io::Result<Vec<PathBuf>> {
    // SAFETY: a plain system call.
    let user = unsafe { libc::geteuid() };
    let mut found = Vec::new();
    for entry in fs::read_dir(std::env::temp_dir())? {
        let Ok(entry) = entry else { continue };
        let folder = entry.path();
        let named = entry.file_name().to_string_lossy().starts_with(PREFIX);
        // What others have put there leads wherever they like.
        let own = fs::symlink_metadata(&folder)
            .is_ok_and(|it| it.is_dir() && it.uid() == user && it.mode() & 0o077 == 0);
        let up = named && own && folder.join("pid").exists();
        let says = || fs::read(folder.join("file")).unwrap_or_default();
        if up && says() == file.as_os_str().as_encoded_bytes() {
            found.push(folder);
        }
    }
    found.sort();
    Ok(found)
}

/// The names of the namespaces of a run that can be joined.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let with_door = entries.filter(|entry| entry.path().join("net").exists());
    let mut names: Vec<String> = with_door
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Runs a command in a namespace of a run, beside its jobs and with this process's own input and output, to its end; what it had to
/// do without stands beside it. If the run ends first, so does the command. The calling thread can start no other threads afterwards.
///
/// # Errors
/// When there is no such run or namespace any more, or the system refuses.
pub fn join(
    folder: &Path,
    name: &str,
    command: &str,
) -> Result<(ExitStatus, Vec<String>), ProcessError> {
    let failed = |doing| move |source| ProcessError::Io { doing, source };
    let doing = "finding the namespaces of what runs";
    let net = File::open(folder.join(name).join("net")).map_err(failed(doing))?;
    let pid = File::open(folder.join("pid")).map_err(failed(doing))?;
    let hosts = fs::read(folder.join("hosts")).map_err(failed(doing))?;
    let variables = fs::read_to_string(folder.join(name).join("environment"));
    let variables = variables.map_err(failed(doing))?;
    let variables = variables.lines().filter_map(|line| line.split_once('='));
    let job = Job {
        command: command.into(),
        environment: variables
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        screen: true,
        ..Job::default()
    };
    // SAFETY: a plain system call, which concerns the children of this thread only.
    if unsafe { libc::setns(pid.as_raw_fd(), libc::CLONE_NEWPID) } != 0 {
        let source = io::Error::last_os_error();
        let doing = "joining the PID namespace of what runs";
        return Err(ProcessError::Io { doing, source });
    }
    let started = launch(&job, net.as_raw_fd(), &hosts);
    let (mut process, lacking) = started.map_err(failed("starting a program in a namespace"))?;
    let ended = process.child.wait();
    Ok((ended.map_err(failed("waiting for a program"))?, lacking))
}
