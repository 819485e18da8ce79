//! Packets out of the kernel's own path into a node and back: netfilter queues (paper 004 section 4.2).
//!
//! A packet at one of the five [hooks](Hook) waits in the kernel until the node has answered: sent on unchanged it goes on
//! as it is, sent on changed it goes on with other bytes, dropped it ends; a frame that the node keeps, or sends at a time,
//! waits; and a frame without a ticket is injected by a raw socket.
//!
//! **Ports.** Port i is the interface of place i in [`Config::on`]. A node with one port more has the machine itself, and
//! every interface that is not named, as its last port. A packet that came by interface i enters at port i. Sent on the
//! port by which the kernel would send it anyway - or, where the kernel has not decided yet, on any but the one it came
//! by - it goes on; sent on another it is injected there, and the original is dropped. A frame is the packet behind
//! an Ethernet header that is made up, with the right EtherType.
//!
//! **Length.** A node that never [changes frames](node::Properties::changes_frames) and has two ports is given chains of segments
//! (GSO) as one frame of up to 64 KiB, with unfinished checksums; for others the kernel cuts them first. A packet that has
//! grown beyond the MTU of its way out is cut by the kernel if it may be; else its sender is told what length would pass.
//!
//! **Threads.** Each has a queue and a node of its own. The kernel gives all packets of a flow, one way, to one of them.
//!
//! **When nobody answers.** [`Fail::Open`] lets packets pass that find the queue full, or nobody at it, [`Fail::Closed`] drops
//! them. The rules belong to this process, and go with it however it ends. Only packets that they match are ever queued.

mod counters;
mod interfaces;
mod rules;
pub mod trial;
pub mod waits;
mod worker;

pub use crate::kernel::nfqueue::{Fail, QueueError};
pub use counters::{Counters, Monitor, Snapshot};
pub use rules::Rules;

use crate::kernel::bpf::{self, BpfError, Target};
use crate::kernel::nfqueue::{MARK, Mode, Queue};
use crate::kernel::statistics::StatisticsError;
use crate::kernel::wait;
use ::capture::clock::now_ns;
use ::capture::signal;
use interfaces::Interfaces;
use node::Node;
use packet::bpf::{Instruction, Program, ProgramError};
use rules::Plan;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use worker::{Parts, Worker};

/// Maximum number of threads.
pub const MAX_THREADS: u16 = 64;
/// Maximum number of packets that wait in a queue.
pub const MAX_QUEUE_LEN: u32 = 1 << 20;
/// Interval at which the end of a run is polled.
const POLL: Duration = Duration::from_millis(100);

/// Where in a packet's way through the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hook {
    /// As it comes in.
    Prerouting,
    /// On its way to the machine itself.
    Input,
    /// On its way through.
    #[default]
    Forward,
    /// From the machine itself.
    Output,
    /// As it goes out.
    Postrouting,
}

impl Hook {
    /// All, in the order of their numbers.
    pub const ALL: [Hook; 5] = [
        Hook::Prerouting,
        Hook::Input,
        Hook::Forward,
        Hook::Output,
        Hook::Postrouting,
    ];

    /// As users name it.
    pub const fn name(self) -> &'static str {
        match self {
            Hook::Prerouting => "prerouting",
            Hook::Input => "input",
            Hook::Forward => "forward",
            Hook::Output => "output",
            Hook::Postrouting => "postrouting",
        }
    }

    /// Its number in <linux/netfilter.h>.
    const fn number(self) -> u32 {
        self as u32
    }

    /// That of a number.
    fn of(number: u8) -> Option<Hook> {
        Hook::ALL.get(usize::from(number)).copied()
    }
}

impl FromStr for Hook {
    type Err = NoSuchHook;

    fn from_str(text: &str) -> Result<Hook, NoSuchHook> {
        let found = Hook::ALL.into_iter().find(|hook| hook.name() == text);
        found.ok_or_else(|| NoSuchHook(text.into()))
    }
}

/// A text that is no [`Hook`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no hook; there are prerouting, input, forward, output and postrouting")]
pub struct NoSuchHook(pub String);

/// Which packets, and how they wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where they are taken.
    pub hook: Hook,
    /// The interfaces, one for each port of the node, or for each but its last.
    pub on: Vec<String>,
    /// Which of them: an expression in tcpdump's language, about packets without Ethernet. Empty for all.
    pub filter: String,
    /// When among others at the hook; the lower the earlier. Default -150, that of the table mangle.
    pub priority: i32,
    /// The number of the first queue; `None`, the default, for any that are free.
    pub queue: Option<u16>,
    /// Packets that may wait for an answer in each queue, 1 to 1 Mi. Default 4096.
    pub length: u32,
    /// What becomes of those beyond. Default closed.
    pub fail: Fail,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            hook: Hook::Forward,
            on: Vec::new(),
            filter: String::new(),
            priority: -150,
            queue: None,
            length: 4096,
            fail: Fail::Closed,
        }
    }
}

impl Config {
    /// The filter's program; `None` for all packets.
    fn program(&self) -> Result<Option<Vec<Instruction>>, HookError> {
        let expression = self.filter.trim();
        if expression.is_empty() {
            return Ok(None);
        }
        let program = Program::new(bpf::compile(expression, &Target::IP, 65_535)?)?;
        let reason = if program.has_loops() {
            "the kernel does not follow chains of headers; leave `protochain` out"
        } else if program.reads_direction() || program.reads_interface() {
            "a hook has a direction and interfaces of its own; leave `inbound`, `outbound` and `ifindex` out"
        } else {
            return Ok(Some(program.instructions().to_vec()));
        };
        let expression = expression.into();
        Err(HookError::AtHook { expression, reason })
    }
}

/// Error of a hook, and the fix.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// With a queue, or anything else that the system refuses.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// No interface of that name.
    #[error("there is no interface `{name}` here; there are: {known}")]
    NoSuchInterface {
        /// The name asked for.
        name: String,
        /// Those that exist, with commas.
        known: String,
    },
    /// An interface is named twice.
    #[error("the interface `{0}` is named twice; each is one port of the node")]
    Twice(String),
    /// As many interfaces as no such node has.
    #[error(
        "a node with {ports} port(s) at a hook takes {ports} interface(s), or one less so that its last port is everything \
         else, at least 1 and at most 16; {given} were given"
    )]
    Ports {
        /// The node's ports.
        ports: usize,
        /// Interfaces given.
        given: usize,
    },
    /// Nothing is known of an interface.
    #[error(transparent)]
    Facts(#[from] StatisticsError),
    /// No filter.
    #[error(transparent)]
    Filter(#[from] BpfError),
    /// The program that libpcap made is not valid.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A filter that has no meaning at a hook.
    #[error("filter `{expression}`: {reason}")]
    AtHook {
        expression: String,
        reason: &'static str,
    },
    /// A filter that the kernel does not take.
    #[error("the filter has {count} instructions, of which the kernel takes 64; ask for less")]
    LongFilter {
        /// How many it has.
        count: usize,
    },
    /// No threads, or too many; or a queue of no packets, or too many.
    #[error("{0}")]
    Bounds(&'static str),
}

/// Leads packets to queues that another program answers, `threads` from the number in `config` on, for a node with so many
/// ports; as long as the value lives.
///
/// # Errors
/// The missing item, and the fix.
pub fn lead(config: &Config, ports: usize, threads: u16) -> Result<Rules, HookError> {
    let interfaces = Interfaces::find(&config.on, ports)?;
    let filter = config.program()?;
    Rules::install(&Plan {
        hook: config.hook,
        priority: config.priority,
        interfaces: &interfaces,
        filter: filter.as_deref(),
        queues: (config.queue.unwrap_or_default(), threads.max(1)),
        fail: config.fail,
        mark: MARK | u32::from(config.queue.unwrap_or_default()),
    })
}

/// What came of a run.
#[derive(Debug)]
pub struct Report {
    pub counts: Snapshot,
    /// How long it ran.
    pub ran: Duration,
    /// The queues that were used.
    pub queues: Vec<u16>,
    /// What went wrong first, if anything did.
    pub trouble: Option<HookError>,
}

/// Nodes at a hook of the kernel, at work until this value is gone.
#[derive(Debug)]
pub struct Runner {
    /// Behind the threads: see [`finish`](Runner::finish).
    rules: Option<Rules>,
    threads: Vec<JoinHandle<Result<(), HookError>>>,
    stop: Arc<AtomicBool>,
    monitor: Monitor,
    queues: Vec<u16>,
    start: u64,
}

impl Runner {
    /// Puts nodes to work, one a thread, in this thread's namespace. All shall be alike.
    ///
    /// # Errors
    /// The missing item, and the fix. Nothing is left behind.
    pub fn start(config: &Config, nodes: Vec<Box<dyn Node>>) -> Result<Runner, HookError> {
        let threads = u16::try_from(nodes.len()).unwrap_or(u16::MAX);
        let ports = match nodes.first() {
            Some(node) if threads <= MAX_THREADS => node.properties().ports,
            _ => return Err(HookError::Bounds("a hook has 1 to 64 threads")),
        };
        if !(1..=MAX_QUEUE_LEN).contains(&config.length) {
            return Err(HookError::Bounds(
                "a queue has room for 1 to 1048576 packets",
            ));
        }
        let interfaces = Interfaces::find(&config.on, ports)?;
        let filter = config.program()?;
        let changes = nodes.iter().any(|node| node.properties().changes_frames);
        let mode = Mode {
            length: config.length,
            fail: config.fail,
            chains: !changes && ports <= 2,
        };
        let queues = match config.queue {
            None => Queue::bind_any(threads, mode)?,
            Some(first) => (0..threads)
                .map(|offset| {
                    let number = first.checked_add(offset);
                    Queue::bind(number.ok_or(QueueError::NoneFree)?, mode)
                })
                .collect::<Result<_, _>>()?,
        };
        let numbers: Vec<u16> = queues.iter().map(|queue| queue.number).collect();
        let mark = MARK | u32::from(numbers[0]);
        let each = nodes
            .into_iter()
            .zip(queues.into_iter().map(|one| vec![one]));
        let mut runner = Runner::with(each, &interfaces, numbers, config, mark)?;
        // Last, so that every packet finds somebody to answer.
        let plan = Plan {
            hook: config.hook,
            priority: config.priority,
            interfaces: &interfaces,
            filter: filter.as_deref(),
            queues: (runner.queues[0], threads),
            fail: config.fail,
            mark,
        };
        match Rules::install(&plan) {
            Ok(rules) => runner.rules = Some(rules),
            Err(error) => {
                runner.finish();
                return Err(error);
            }
        }
        Ok(runner)
    }

    /// Puts a node to work at queues that somebody else's rules fill, each of them a port of it; if it has one port more,
    /// that is everything else. What it sends on by another port than the one it came by goes on.
    ///
    /// # Errors
    /// The missing item, and the fix.
    pub fn on_queues(
        numbers: &[u16],
        config: &Config,
        node: Box<dyn Node>,
    ) -> Result<Runner, HookError> {
        let (ports, given) = (node.properties().ports, numbers.len());
        if given == 0
            || given > interfaces::MAX_INTERFACES
            || (ports != given && ports != given + 1)
        {
            return Err(HookError::Ports { ports, given });
        }
        if !(1..=MAX_QUEUE_LEN).contains(&config.length) {
            return Err(HookError::Bounds(
                "a queue has room for 1 to 1048576 packets",
            ));
        }
        let mode = Mode {
            length: config.length,
            fail: config.fail,
            chains: !node.properties().changes_frames && ports <= 2,
        };
        let queues: Vec<Queue> = numbers
            .iter()
            .map(|&number| Queue::bind(number, mode))
            .collect::<Result<_, _>>()?;
        let mark = MARK | u32::from(numbers[0]);
        let each = std::iter::once((node, queues));
        Runner::with(each, &Interfaces::none(), numbers.to_vec(), config, mark)
    }

    fn with(
        each: impl ExactSizeIterator<Item = (Box<dyn Node>, Vec<Queue>)>,
        interfaces: &Interfaces,
        queues: Vec<u16>,
        config: &Config,
        mark: u32,
    ) -> Result<Runner, HookError> {
        let monitor = Monitor::new(each.len());
        let start = now_ns();
        let mut runner = Runner {
            rules: None,
            threads: Vec::new(),
            stop: Arc::default(),
            monitor,
            queues,
            start,
        };
        for (index, (node, queues)) in each.enumerate() {
            let (monitor, stop) = (runner.monitor.clone(), runner.stop.clone());
            let (interfaces, fail, length) = (interfaces.clone(), config.fail, config.length);
            let by_queue = interfaces.names().next().is_none();
            let (ready, wait) = std::sync::mpsc::channel();
            let body = move || {
                let made = Worker::new(Parts {
                    node,
                    by_queue,
                    queues,
                    interfaces,
                    mark,
                    counters: monitor.thread(index),
                    fail,
                    length,
                    start,
                });
                match made {
                    Ok(worker) => {
                        let _ = ready.send(Ok(()));
                        worker.run(&stop)
                    }
                    Err(error) => {
                        let _ = ready.send(Err(error));
                        Ok(())
                    }
                }
            };
            let thread = crate::kernel::thread::spawn(&format!("hook-{index}"), body)
                .map_err(|error| HookError::from(QueueError::from_io("making a thread", error)));
            let began = thread.and_then(|thread| {
                runner.threads.push(thread);
                // It has ended without a word only if it panicked, which `finish` tells.
                wait.recv().unwrap_or(Ok(()))
            });
            if let Err(error) = began {
                runner.finish();
                return Err(error);
            }
        }
        Ok(runner)
    }

    /// Lets others look while it runs.
    pub fn monitor(&self) -> Monitor {
        self.monitor.clone()
    }

    pub fn queues(&self) -> &[u16] {
        &self.queues
    }

    /// Whether a thread has ended early.
    pub fn has_trouble(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Waits until so much time is over, a signal asks for the end, or something fails; then takes the rules away,
    /// and answers what still waits.
    pub fn wait(mut self, duration: Option<Duration>) -> Report {
        let end = duration.map(|time| self.start.saturating_add(time.as_nanos() as u64));
        while !signal::stop_requested() && !self.has_trouble() {
            let left = end.map(|end| Duration::from_nanos(end.saturating_sub(now_ns())));
            if left.is_some_and(|left| left.is_zero()) {
                break;
            }
            // A signal ends the sleep. It cannot fail: there is no descriptor.
            let _ = wait::for_any(&mut [], left.map_or(POLL, |left| left.min(POLL)));
        }
        let trouble = self.finish();
        Report {
            counts: self.monitor.snapshot(),
            ran: Duration::from_nanos(now_ns() - self.start),
            queues: std::mem::take(&mut self.queues),
            trouble,
        }
    }

    /// Ends it; what went wrong first.
    fn finish(&mut self) -> Option<HookError> {
        if let Some(rules) = &mut self.rules {
            // The kernel drops what waits when the chains go: so the rules first, and the chains once all is answered.
            // If it fails, they go together.
            let _ = rules.silence();
        }
        self.stop.store(true, Ordering::SeqCst);
        let mut trouble = None;
        for thread in self.threads.drain(..) {
            match thread.join() {
                Ok(Ok(())) => {}
                Ok(Err(error)) => trouble = trouble.or(Some(error)),
                Err(_) if std::thread::panicking() => {}
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        self.rules = None;
        trouble
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_has_no_meaning_at_a_hook_is_refused() {
        for (filter, reason) in [
            ("ip6 protochain 6", "chains of headers"),
            ("inbound", "a direction"),
            ("udp and ifindex 2", "ifindex"),
            ("ip broadcast", "mask"),
            ("ether host 2:0:0:0:0:1", "ethernet addresses"),
        ] {
            let filter = filter.into();
            let config = Config {
                filter,
                ..Config::default()
            };
            match config.program() {
                Err(HookError::Filter(BpfError::NoLibrary(error))) => {
                    return println!("skipped: libpcap is not installed: {error}");
                }
                Err(error) => assert!(error.to_string().contains(reason), "{error}"),
                Ok(_) => panic!("`{}` has a program", config.filter),
            }
        }
    }
}
