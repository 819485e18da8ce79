//! Ports as files: a FUSE file system (FORMATS section 5; EtherPIPE's device tree, paper 001 section IV).
//!
//! ```text
//! DIR/0 1 2...     the packets of each port as lines, to read and to write
//! DIR/r0 r1...     the same as records
//! DIR/0.d/         counters, global_time, tick, epoch, timer1..timer7, ctl, name, error, readers
//! DIR/bin/         links to programs, if there are any
//! ```
//!
//! | module | what is in it |
//! |---|---|
//! | `directory` | the directory: who has mounted there already, and who else uses it |
//! | `kernel` | mounting, and the device through which the kernel asks |
//! | [`protocol`] | requests and answers as bytes |
//! | `server` | answers requests: start here |
//! | `tree` | names, numbers, owners |
//! | `served::file` | an open file of a port |
//! | `stream`, `chunk` | one port's packets in one form, for any number of readers |
//! | [`writer`] | packets put together from the pieces that are written |
//! | `outbox` | packets between writers and the pacing thread |
//! | `served` | a port: its streams, its outbox, its threads |
//! | `control` | the texts in a port's folder |
//!
//! No thread ever waits inside a request. A read that finds nothing, or a write that finds no room, is
//! remembered; whoever brings a packet, or makes room, answers it, and so does a signal to the process
//! that waits. docs/decisions/0009-fuse.md has the reasons.

mod chunk;
mod control;
mod directory;
mod kernel;
mod links;
mod outbox;
pub mod protocol;
mod served;
mod server;
mod stream;
mod tree;
pub mod writer;

pub use kernel::MountError;

use crate::kernel::{thread, wait};
use crate::port::pace::PaceReport;
use crate::port::{Port, RxCounters};
use ::capture::{clock, signal};
use kernel::{Device, Mounted};
use links::Links;
use served::Served;
use server::Server;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tree::Owner;

/// Threads that answer requests.
const WORKERS: usize = 4;
/// How long readers that still have packets to read are waited for at the end.
const LINGER: Duration = Duration::from_secs(2);

/// How ports are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Line files begin with the timestamp. Default yes; without it they speak EtherPIPE's form of 2013.
    pub time: bool,
    /// Line files have the five-tuple hash. Default no.
    pub hash: bool,
    /// A write of a line that is no packet fails. Default no: such lines are counted and skipped.
    pub strict: bool,
    /// A last line without its line feed, in which an IP packet is cut short, is sent as it is. Default no: it is counted.
    pub cut: bool,
    /// Symbolic links by path below the directory, such as `bin/ethdump`, each with where it leads. Default none.
    pub links: Vec<(String, PathBuf)>,
    /// Permission bits of the ports' files. Default 0600; `chmod` and `chown` change them later.
    pub mode: u32,
    /// Bytes kept for readers that fall behind, for each port and form in use. Default 16 MiB.
    pub buffer: usize,
    /// Over a mount of ports that is there already, which is then out of sight. Default no: that is refused.
    pub over: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            time: true,
            hash: false,
            strict: false,
            cut: false,
            links: Vec::new(),
            mode: 0o600,
            buffer: 16 << 20,
            over: false,
        }
    }
}

/// Where answers go.
trait Kernel: Send + Sync {
    /// Answers a request with an errno, or with 0 and a content.
    fn answer(&self, unique: u64, error: i32, content: &[u8]);

    /// Tells that a polled file is ready.
    fn notify(&self, wakeup: u64);

    /// Answers a request with a number.
    fn answer_number(&self, unique: u64, number: usize) {
        self.answer(unique, 0, &protocol::number_answer(number as u32));
    }
}

/// What became of one port of a mount.
#[derive(Debug)]
pub struct PortReport {
    /// The port's name.
    pub name: String,
    /// What was received.
    pub rx: RxCounters,
    /// What was sent, and how exactly.
    pub tx: PaceReport,
    /// Packets that readers have lost by falling behind, all readers added up.
    pub lost: u64,
    /// Lines and records written that were no packets.
    pub bad: u64,
    /// Packets cut off by the close of their file.
    pub torn: u64,
}

/// A mount at work.
pub struct Mount {
    mounted: Mounted,
    server: Arc<Server>,
    ports: Vec<(Arc<Served>, JoinHandle<()>, JoinHandle<PaceReport>)>,
    stop: Arc<AtomicBool>,
    /// Workers that still listen: 0 when the mount is gone.
    workers: Arc<AtomicUsize>,
}

impl Mount {
    /// Serves the ports as `path`/0, `path`/1 and so on.
    ///
    /// # Errors
    /// When the directory cannot be mounted on.
    pub fn start(path: &Path, ports: Vec<Port>, settings: &Settings) -> Result<Mount, MountError> {
        let (mounted, device) = Mounted::new(path, settings.over)?;
        let device = Arc::new(device);
        // SAFETY: both only return a number.
        let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
        let owner = Owner {
            uid,
            gid,
            mode: settings.mode & 0o777,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let mut threads = Vec::new();
        for port in ports {
            let pacer = served::pace(port.tx, port.info.tick).map_err(MountError::Thread)?;
            let served = Arc::new(Served::new(port.info, settings, owner, pacer.watch()));
            let receiver = {
                let (served, device, stop) = (served.clone(), device.clone(), stop.clone());
                spawn("receive", move || served.receive(port.rx, &*device, &stop))?
            };
            let sender = {
                let (served, device) = (served.clone(), device.clone());
                spawn("send", move || served.send(pacer, &*device))?
            };
            threads.push((served, receiver, sender));
        }
        let since = (clock::epoch_ns() + clock::now_ns()) / 1_000_000_000;
        let served = threads.iter().map(|entry| entry.0.clone()).collect();
        let links = Links::new(settings.links.clone());
        let server = Arc::new(Server::new(served, links, owner, since));
        let workers = Arc::new(AtomicUsize::new(WORKERS));
        for _ in 0..WORKERS {
            let (server, device, workers) = (server.clone(), device.clone(), workers.clone());
            spawn("answer", move || {
                answer(&server, &device);
                workers.fetch_sub(1, Ordering::AcqRel);
            })?;
        }
        Ok(Mount {
            mounted,
            server,
            ports: threads,
            stop,
            workers,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.mounted.path()
    }

    /// Whether somebody else has unmounted it, and the last open file is closed.
    pub fn is_gone(&self) -> bool {
        self.workers.load(Ordering::Acquire) < WORKERS
    }

    /// Waits until somebody unmounts it or Ctrl-C comes.
    pub fn wait(&self) {
        while !self.is_gone() && !signal::stop_requested() {
            // A signal ends the sleep. It cannot fail: there is no descriptor.
            let _ = wait::for_any(&mut [], Duration::from_millis(200));
        }
    }

    /// Ends the mount. Readers get what has come in, and then the end of the file; what was written
    /// leaves at its time, or, after Ctrl-C, as far as it is due.
    pub fn finish(mut self) -> Vec<PortReport> {
        self.stop.store(true, Ordering::Release);
        if self.is_gone() {
            self.mounted.set_gone();
        }
        let mut reports = Vec::new();
        for (served, receiver, sender) in self.ports {
            join(receiver);
            served.outbox.close();
            let tx = join(sender);
            reports.push(PortReport {
                name: served.info.name.clone(),
                rx: served.received().0,
                tx,
                lost: served.streams().iter().map(|stream| stream.lost()).sum(),
                bad: served.bad.load(Ordering::Relaxed),
                torn: served.torn.load(Ordering::Relaxed),
            });
        }
        // Away from the tree first, so that nobody opens anything; then those who still read.
        drop(self.mounted);
        let mut left = LINGER;
        let step = Duration::from_millis(10);
        while self.server.open_files() > 0 && !left.is_zero() {
            pause(step);
            left = left.saturating_sub(step);
        }
        reports
    }
}

/// Reads requests and has them answered until the mount is gone.
fn answer(server: &Server, device: &Device) {
    let mut buffer = vec![0; protocol::BUFFER];
    while let Ok(Some(len)) = device.receive(&mut buffer) {
        // A kernel that speaks another language than its own interface leaves nobody to tell.
        if let Ok(request) = protocol::decode(&buffer[..len]) {
            server.handle(device, &request);
        }
    }
}

fn spawn<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, MountError> {
    thread::spawn(name, run).map_err(MountError::Thread)
}

fn join<T>(thread: JoinHandle<T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[allow(
    clippy::disallowed_methods,
    reason = "waiting for a signal or for others to end"
)]
fn pause(time: Duration) {
    std::thread::sleep(time);
}
