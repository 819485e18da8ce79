//! Programs at work in namespaces while a graph runs: servers, clients, switches of other makers.
//!
//! A [`Supervisor`] starts its [`Job`]s when their time has come or what they wait for is there, takes down
//! what they write and how they ended, and ends all of them with itself. They are in a PID namespace of
//! their own, whose first process waits for the end of this one: after SIGKILL, too, the kernel ends them
//! all, daemons included, and their folder is removed.
//!
//! Each job sees its own `/proc`, the `/sys` of its network namespace, and in `/etc/hosts` the names that
//! the supervisor was given; the rest of the file system is that of the machine.

mod join;
mod launch;
mod run;

pub use join::{Joinable, JoinableNamespace, join, names, runs_of};

use crate::kernel::netns::{Namespace, NetnsError};
use crate::kernel::thread;
use node::Time;
use run::{Shared, Worker};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Timeout until processes that start ahead are ready.
const READY_TIMEOUT: Duration = Duration::from_secs(20);

/// A program to be run.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// Its name in reports.
    pub name: String,
    /// The namespace that it runs in, an index into those of the supervisor.
    pub member: usize,
    /// The command, for `/bin/sh -c`.
    pub command: String,
    /// Environment variables in addition to those of this process.
    pub environment: Vec<(String, String)>,
    /// Whether it runs until the end, so that the run does not wait for it.
    pub service: bool,
    /// When those that wait for it may begin.
    pub ready: Ready,
    /// When it begins: a time after zero, or `None` ahead of it, so that zero is not before it is ready.
    pub at: Option<Time>,
    /// The jobs, by index, that must be ready or, if they are no services, over.
    pub after: Vec<usize>,
    /// A file for all that it writes; a report has the last 64 KiB in any case.
    pub output: Option<PathBuf>,
    /// Whether it has this process's own input and output, the terminal for example.
    pub screen: bool,
    /// Whether it is of the lab's own making and in no report unless it fails.
    pub hidden: bool,
}

/// When a service is ready.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ready {
    /// Once it has been started.
    #[default]
    Started,
    /// When it, or another program of its namespace, accepts connections at this TCP port.
    Listens(u16),
    /// When it has written this.
    Says(String),
}

/// The programs of a run.
#[derive(Debug, Default)]
pub struct Programs {
    /// All of them.
    pub jobs: Vec<Job>,
    /// Lines that `/etc/hosts` has for them beside its own; empty for none.
    pub hosts: String,
    /// A folder that goes with the run.
    pub folder: Option<Folder>,
    /// What that folder tells those who want to [`join`] the run; nothing by default.
    pub joinable: Option<Joinable>,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this exit code.
    Code(i32),
    /// By this signal, which was not ours.
    Signal(i32),
    /// With the run.
    Stopped,
    /// It never began, and why.
    Never(String),
}

/// What came of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobReport {
    pub name: String,
    /// Its namespace.
    pub member: usize,
    pub command: String,
    /// Whether it was to run until the end.
    pub service: bool,
    /// As in [`Job`].
    pub hidden: bool,
    /// When it began, after time zero; zero if before.
    pub began: Option<Time>,
    /// When it ended.
    pub ended: Option<Time>,
    /// How it ended.
    pub end: End,
    /// What it wrote, the last 64 KiB.
    pub output: String,
    /// How many bytes it wrote in all.
    pub written: u64,
    /// What of its own view of the system it had to do without, and why.
    pub lacking: Vec<String>,
}

impl JobReport {
    /// Whether it did not do what it should: failed, or ended too early.
    pub fn failed(&self) -> bool {
        match self.end {
            End::Code(code) => code != 0 || self.service,
            End::Signal(_) | End::Never(_) => true,
            // What did not come to its end in time has not failed.
            End::Stopped => false,
        }
    }
}

/// Why jobs cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The system refused.
    #[error("{doing}: {source}")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// What it said.
        source: io::Error,
    },
    /// A service did not get ready.
    #[error("`{name}` {what}; it said: {output}")]
    NotReady {
        name: String,
        /// What happened instead.
        what: String,
        /// The end of what it wrote.
        output: String,
    },
    /// A namespace cannot be entered.
    #[error(transparent)]
    Netns(#[from] NetnsError),
}

/// What the names of folders begin with.
const PREFIX: &str = "wireline-";

/// A folder that only this user can see, removed when this value goes or, for those of a supervisor, when the
/// process does.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes one among the temporary files.
    ///
    /// # Errors
    /// When the system does.
    pub fn new() -> Result<Folder, ProcessError> {
        use std::os::unix::fs::DirBuilderExt;
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let random = ::capture::random::number();
        let name = format!("{PREFIX}{}-{count}-{random:016x}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let made = std::fs::DirBuilder::new().mode(0o700).create(&path);
        let doing = "making a folder among the temporary files";
        made.map_err(|source| ProcessError::Io { doing, source })?;
        Ok(Folder(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Jobs under way.
pub struct Supervisor {
    shared: Arc<Shared>,
    worker: Option<JoinHandle<Vec<JobReport>>>,
    _folder: Option<Folder>,
}

impl Supervisor {
    /// Starts those jobs that begin ahead of time zero, and waits until they are ready.
    ///
    /// # Errors
    /// When one fails, ends or is not ready in time, or the system refuses.
    pub fn start(
        programs: Programs,
        namespaces: Arc<Vec<Namespace>>,
    ) -> Result<Supervisor, ProcessError> {
        let doing = "making what wakes the thread of a lab's programs";
        let shared =
            Shared::new(&programs.jobs).map_err(|source| ProcessError::Io { doing, source })?;
        let shared = Arc::new(shared);
        let folder = programs.folder;
        let path = folder.as_ref().map(|folder| folder.path().to_path_buf());
        if let (Some(path), Some(joinable)) = (&path, &programs.joinable) {
            let opened = joinable.open(path, &namespaces);
            let doing = "telling how to join a lab";
            opened.map_err(|source| ProcessError::Io { doing, source })?;
        }
        let worker = Worker::new(shared.clone(), programs.jobs, programs.hosts, namespaces);
        let doing = "starting the thread of a lab's programs";
        let worker = thread::spawn("programs", move || worker.run(path));
        let worker = Some(worker.map_err(|source| ProcessError::Io { doing, source })?);
        let supervisor = Supervisor {
            shared,
            worker,
            _folder: folder,
        };
        supervisor.shared.wait_ready(READY_TIMEOUT)?;
        Ok(supervisor)
    }

    /// Says when time zero is, ns on the counter.
    pub fn begin(&self, start_ns: u64) {
        self.shared.begin(start_ns);
    }

    /// Whether jobs that are no services are still to end.
    pub fn is_busy(&self) -> bool {
        self.shared.busy() > 0
    }

    /// Ends all jobs - politely, and after half a second not so - and tells what came of them.
    pub fn finish(mut self) -> Vec<JobReport> {
        self.end()
    }

    fn end(&mut self) -> Vec<JobReport> {
        self.shared.stop();
        let worker = self.worker.take();
        worker.map_or(Vec::new(), |worker| worker.join().unwrap_or_default())
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.end();
    }
}
