//! The thread that starts jobs, listens to them and ends them.

use super::join;
use super::launch::{Init, Process, launch};
use super::{End, Job, JobReport, ProcessError, Ready};
use crate::kernel::netns::Namespace;
use crate::kernel::thread::lock;
use crate::kernel::wait;
use crate::kernel::wake::Wake;
use ::capture::clock::now_ns;
use ::capture::output::OutputFile;
use node::Time;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Maximum size of a job's output that is kept, bytes.
const MAX_OUTPUT_BYTES: usize = 64 << 10;
/// Time that jobs have for a clean exit, ns.
const GRACE_NS: u64 = 500_000_000;
/// Interval at which a port that must be listened at is polled, ms.
const POLL_MS: i32 = 5;
/// Maximum sleep, ms.
const MAX_SLEEP_MS: i32 = 100;

/// State that the thread shares with the others.
pub struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    wake: Wake,
}

struct State {
    /// Time zero, ns, once it is known.
    start: Option<u64>,
    stop: bool,
    /// Jobs ahead of time zero that are not ready yet.
    unready: usize,
    /// Jobs that are no services and not over.
    busy: usize,
    /// Why one of those ahead failed.
    trouble: Option<ProcessError>,
}

impl Shared {
    pub fn new(jobs: &[Job]) -> io::Result<Shared> {
        Ok(Shared {
            state: Mutex::new(State {
                start: None,
                stop: false,
                unready: jobs.iter().filter(|job| job.at.is_none()).count(),
                busy: jobs.iter().filter(|job| !job.service).count(),
                trouble: None,
            }),
            changed: Condvar::new(),
            wake: Wake::new()?,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub fn begin(&self, start: u64) {
        self.lock().start = Some(start);
        self.wake.call();
    }

    pub fn stop(&self) {
        self.lock().stop = true;
        self.wake.call();
    }

    pub fn busy(&self) -> usize {
        self.lock().busy
    }

    /// Waits until all that start ahead are ready.
    pub fn wait_ready(&self, patience: Duration) -> Result<(), ProcessError> {
        let end = now_ns() + patience.as_nanos() as u64;
        let mut state = self.lock();
        loop {
            if let Some(trouble) = state.trouble.take() {
                return Err(trouble);
            }
            let left = Duration::from_nanos(end.saturating_sub(now_ns()));
            if state.unready == 0 || ::capture::signal::stop_requested() {
                return Ok(());
            }
            if left.is_zero() {
                let name = format!("{} of the lab's services", state.unready);
                let what = format!("not ready after {} s", patience.as_secs());
                let output = "(nothing more is known)".into();
                return Err(ProcessError::NotReady { name, what, output });
            }
            let sleep = left.min(Duration::from_millis(100));
            let waited = self.changed.wait_timeout(state, sleep);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Where a job stands.
enum Stage {
    Waiting,
    Running(Process),
    Over,
}

/// A job and what is known of it.
struct Supervised {
    job: Job,
    stage: Stage,
    ready: bool,
    kept: VecDeque<u8>,
    written: u64,
    file: Option<OutputFile>,
    began: Option<u64>,
    ended: Option<u64>,
    end: Option<End>,
    lacking: Vec<String>,
}

impl Supervised {
    /// Whether those that wait for it may begin; `Err` when it will never be ready.
    fn is_done(&self) -> Result<bool, ()> {
        match (&self.stage, self.job.service) {
            (_, true) if self.ready => Ok(true),
            (Stage::Over, true) => Err(()),
            (Stage::Over, false) => Ok(true),
            _ => Ok(false),
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.written += bytes.len() as u64;
        if let Some(file) = &mut self.file
            && let Err(error) = file.write_all(bytes)
        {
            let error = file.fault(error);
            self.file = None;
            self.kept.extend(format!("\n({error})\n").bytes());
        }
        self.kept.extend(bytes);
        let over = self.kept.len().saturating_sub(MAX_OUTPUT_BYTES);
        self.kept.drain(..over);
    }

    /// Reads what it has written; whether that was all there will ever be.
    fn listen(&mut self) -> bool {
        let Stage::Running(process) = &mut self.stage else {
            return true;
        };
        let Some(mut output) = process.output.take() else {
            return true;
        };
        let mut buffer = [0; 16 << 10];
        // Not forever: one that writes without end must not keep the others waiting.
        for _ in 0..64 {
            match output.read(&mut buffer) {
                Ok(0) => return true,
                Ok(count) => self.take(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return true,
            }
        }
        if let Stage::Running(process) = &mut self.stage {
            process.output = Some(output);
        }
        false
    }

    /// What it has written takes its place as a file.
    fn close(&mut self) {
        if let Some(file) = self.file.take()
            && let Err(error) = file.commit()
        {
            self.kept.extend(format!("\n({error})\n").bytes());
        }
    }

    fn output(&self) -> String {
        let (front, back) = self.kept.as_slices();
        String::from_utf8_lossy(&[front, back].concat()).into_owned()
    }

    /// Sends it a signal, and to all of its session that are still in its process group.
    fn signal(&self, signal: libc::c_int) {
        if let Stage::Running(process) = &self.stage {
            let pid = process.child.id() as libc::pid_t;
            let to = if self.job.screen { pid } else { -pid };
            // SAFETY: a plain system call; the child has not been waited for, so its number is its own.
            unsafe { libc::kill(to, signal) };
        }
    }
}

/// The thread's own.
pub struct Worker {
    shared: Arc<Shared>,
    jobs: Vec<Supervised>,
    hosts: Vec<u8>,
    namespaces: Arc<Vec<Namespace>>,
    stopping: bool,
}

impl Worker {
    pub fn new(
        shared: Arc<Shared>,
        jobs: Vec<Job>,
        hosts: String,
        namespaces: Arc<Vec<Namespace>>,
    ) -> Worker {
        let supervised = |job| Supervised {
            job,
            stage: Stage::Waiting,
            ready: false,
            kept: VecDeque::new(),
            written: 0,
            file: None,
            lacking: Vec::new(),
            began: None,
            ended: None,
            end: None,
        };
        let hosts = match hosts.is_empty() {
            true => Vec::new(),
            false => {
                let mut whole = std::fs::read("/etc/hosts").unwrap_or_default();
                whole.push(b'\n');
                whole.extend(hosts.into_bytes());
                whole
            }
        };
        Worker {
            shared,
            jobs: jobs.into_iter().map(supervised).collect(),
            hosts,
            namespaces,
            stopping: false,
        }
    }

    /// Runs until the end.
    pub fn run(mut self, folder: Option<PathBuf>) -> Vec<JobReport> {
        let init = match Init::start(folder.as_deref()) {
            Ok(init) => init,
            Err(source) => {
                let doing = "starting a lab's programs in a PID namespace";
                // Nobody waits for those that will never begin.
                for index in 0..self.jobs.len() {
                    self.never(index, format!("{doing}: {source}"));
                }
                self.shared.lock().trouble = Some(ProcessError::Io { doing, source });
                self.shared.changed.notify_all();
                return self
                    .jobs
                    .iter()
                    .map(|supervised| report(supervised, None))
                    .collect();
            }
        };
        // Who cannot be told is told nothing; the lab is none the worse for it.
        if let Some(folder) = &folder {
            let _ = join::tell(folder, init.id(), &self.hosts);
        }
        let mut deadline = None;
        loop {
            let (start, stop) = {
                let state = self.shared.lock();
                (state.start, state.stop)
            };
            if stop && deadline.is_none() {
                self.stopping = true;
                deadline = Some(now_ns() + GRACE_NS);
                for supervised in &self.jobs {
                    let hard = supervised.job.hidden;
                    supervised.signal(if hard { libc::SIGKILL } else { libc::SIGTERM });
                }
            }
            if !self.stopping {
                self.start_due(start);
            }
            self.look();
            let running = self
                .jobs
                .iter()
                .any(|supervised| matches!(supervised.stage, Stage::Running(_)));
            if let Some(deadline) = deadline
                && (!running || now_ns() >= deadline)
            {
                break;
            }
            self.rest(start);
        }
        init.end();
        self.look();
        self.jobs.iter_mut().for_each(Supervised::close);
        let start = self.shared.lock().start;
        self.jobs
            .iter()
            .map(|supervised| report(supervised, start))
            .collect()
    }

    /// Starts all jobs whose time has come.
    fn start_due(&mut self, start: Option<u64>) {
        for index in 0..self.jobs.len() {
            let supervised = &self.jobs[index];
            if !matches!(supervised.stage, Stage::Waiting) {
                continue;
            }
            let due = match supervised.job.at {
                None => true,
                Some(at) => start.is_some_and(|start| now_ns() >= start + at.as_ns()),
            };
            let after: Result<Vec<bool>, ()> = supervised
                .job
                .after
                .iter()
                .map(|&before| self.jobs[before].is_done())
                .collect();
            match after {
                Err(()) => self.never(index, "what it waits for has ended".into()),
                Ok(done) if due && done.iter().all(|&done| done) => self.launch(index),
                Ok(_) => {}
            }
        }
    }

    fn launch(&mut self, index: usize) {
        let Worker {
            jobs,
            namespaces,
            hosts,
            ..
        } = self;
        let supervised = &mut jobs[index];
        if let Some(path) = &supervised.job.output {
            match OutputFile::create(path) {
                Ok(file) => supervised.file = Some(file),
                Err(error) => return self.never(index, error.to_string()),
            }
        }
        let Some(namespace) = namespaces.get(supervised.job.member) else {
            return self.never(index, "it has no namespace".into());
        };
        match launch(&supervised.job, namespace.descriptor().as_raw_fd(), hosts) {
            Ok((process, notes)) => {
                supervised.began = Some(now_ns());
                for note in &notes {
                    supervised.take(format!("(wire: without {note})\n").as_bytes());
                }
                supervised.lacking = notes;
                supervised.stage = Stage::Running(process);
                if supervised.job.ready == Ready::Started && supervised.job.service {
                    self.ready(index);
                }
            }
            Err(error) => self.never(index, format!("cannot be started: {error}")),
        }
    }

    fn ready(&mut self, index: usize) {
        let supervised = &mut self.jobs[index];
        if !std::mem::replace(&mut supervised.ready, true) && supervised.job.at.is_none() {
            self.shared.lock().unready -= 1;
            self.shared.changed.notify_all();
        }
    }

    fn never(&mut self, index: usize, why: String) {
        self.over(index, End::Never(why));
    }

    /// Takes down how a job ended.
    fn over(&mut self, index: usize, end: End) {
        let stopping = self.stopping;
        let supervised = &mut self.jobs[index];
        supervised.stage = Stage::Over;
        supervised.ended = Some(now_ns());
        supervised.close();
        let (ahead, service) = (supervised.job.at.is_none(), supervised.job.service);
        let what = match &end {
            End::Never(why) => why.clone(),
            End::Code(code) => format!("ended with exit code {code} before it was ready"),
            End::Signal(signal) => format!("was ended by signal {signal} before it was ready"),
            End::Stopped => "was stopped".into(),
        };
        let failed =
            ahead && !supervised.ready && (service || !matches!(end, End::Code(0))) && !stopping;
        let error = failed.then(|| ProcessError::NotReady {
            name: supervised.job.name.clone(),
            what,
            output: supervised.output().trim().to_string(),
        });
        supervised.end = Some(end);
        let mut state = self.shared.lock();
        if !service {
            state.busy -= 1;
        }
        if ahead && !supervised.ready {
            supervised.ready = true;
            state.unready -= 1;
        }
        if error.is_some() && state.trouble.is_none() {
            state.trouble = error;
        }
        self.shared.changed.notify_all();
    }

    /// Reads what was written, and looks who has ended and who is ready.
    fn look(&mut self) {
        for index in 0..self.jobs.len() {
            let supervised = &mut self.jobs[index];
            supervised.listen();
            let Stage::Running(process) = &mut supervised.stage else {
                continue;
            };
            if let Ok(Some(status)) = process.child.try_wait() {
                // What it wrote last may have come between.
                supervised.listen();
                let end = self.end_of(status);
                self.over(index, end);
                continue;
            }
            if self.jobs[index].ready || !self.jobs[index].job.service {
                continue;
            }
            let supervised = &self.jobs[index];
            let ready = match &supervised.job.ready {
                Ready::Started => true,
                Ready::Listens(port) => {
                    let namespace = &self.namespaces[supervised.job.member];
                    // This thread has no business in any particular namespace.
                    namespace.enter_here().is_ok() && listens(*port)
                }
                Ready::Says(text) => supervised.output().contains(text.as_str()),
            };
            if ready {
                self.ready(index);
            }
        }
    }

    fn end_of(&self, status: ExitStatus) -> End {
        match (status.code(), status.signal()) {
            _ if self.stopping => End::Stopped,
            (Some(code), _) => End::Code(code),
            (None, signal) => End::Signal(signal.unwrap_or_default()),
        }
    }

    /// Sleeps until something may have happened.
    fn rest(&self, start: Option<u64>) {
        let mut polls = vec![wait::readable(self.shared.wake.as_raw_fd())];
        let mut sleep = MAX_SLEEP_MS;
        for supervised in &self.jobs {
            match &supervised.stage {
                Stage::Running(process) => {
                    if let Some(output) = &process.output {
                        polls.push(wait::readable(output.as_raw_fd()));
                    }
                    match &process.pidfd {
                        Some(pidfd) => polls.push(wait::readable(pidfd.as_raw_fd())),
                        None => sleep = sleep.min(POLL_MS),
                    }
                    if !supervised.ready && matches!(supervised.job.ready, Ready::Listens(_)) {
                        sleep = sleep.min(POLL_MS);
                    }
                }
                Stage::Waiting => {
                    if let (Some(at), Some(start)) = (supervised.job.at, start) {
                        let left = (start + at.as_ns()).saturating_sub(now_ns());
                        if left > 0 {
                            let ms = left.div_ceil(1_000_000).min(MAX_SLEEP_MS as u64);
                            sleep = sleep.min(ms as i32);
                        }
                    }
                }
                Stage::Over => {}
            }
        }
        if self.stopping {
            sleep = sleep.min(20);
        }
        // It cannot fail: all descriptors are ours.
        let _ = wait::for_any(&mut polls, Duration::from_millis(sleep as u64));
        self.shared.wake.take();
    }
}

fn report(supervised: &Supervised, start: Option<u64>) -> JobReport {
    let since = |at: u64| Time::from_ns(at.saturating_sub(start.unwrap_or(at)));
    let job = &supervised.job;
    JobReport {
        name: job.name.clone(),
        member: job.member,
        command: job.command.clone(),
        service: job.service,
        hidden: job.hidden,
        began: supervised.began.map(since),
        ended: supervised.ended.map(since),
        end: match (&supervised.end, &supervised.stage) {
            (Some(end), _) => end.clone(),
            (None, Stage::Waiting) => End::Never("the run ended before its time came".into()),
            (None, _) => End::Stopped,
        },
        output: supervised.output(),
        written: supervised.written,
        lacking: supervised.lacking.clone(),
    }
}

/// Whether somebody in this thread's namespace listens at a TCP port.
fn listens(port: u16) -> bool {
    ["tcp", "tcp6"].into_iter().any(|table| {
        let table = std::fs::read_to_string(format!("/proc/thread-self/net/{table}"));
        table.unwrap_or_default().lines().skip(1).any(|line| {
            // sl, local address:port, remote address:port, state; 0A is LISTEN.
            let mut words = line.split_ascii_whitespace().skip(1);
            let local = words.next().and_then(|local| local.rsplit_once(':'));
            let state = words.nth(1);
            local.is_some_and(|(_, at)| u16::from_str_radix(at, 16) == Ok(port))
                && state == Some("0A")
        })
    })
}
