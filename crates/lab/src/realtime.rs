//! Simulated time that is kept to the machine's clock, so that real programs take part: frames from ports of the machine enter the
//! graph when they come, and what the graph sends there leaves when its time has come. The graph is as exact as ever; what is
//! not is when the machine gets round to it, and that is measured.

use crate::error::LabError;
use ::capture::clock;
use live::port::{Options, Port, PortError, Receive, Transmit};
use live::thread;
use live::world::{Outside, WorldError};
use node::histogram::Histogram;
use node::outcome::{Finish, Spread};
use node::{Frame, Node, NodeId, Out, Port as NodePort, Properties, Time};
use parking_lot::Mutex;
use sim::Sim;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Frames that wait for the simulation at most; more wait in the kernel, which drops and counts what it has no room for.
const WAITING: usize = 1024;
/// Events between two looks at the ports.
const SLICE: u32 = 1024;
/// Interval at which threads check whether the run has ended.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Accuracy of the pacing by the clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Frames that came from ports of the machine.
    pub entered: u64,
    /// From the kernel's taking a frame to its entering the graph.
    pub entering: Spread,
    /// Frames that left by ports of the machine.
    pub left: u64,
    /// From when they arrived in simulated time to when they were given to the kernel.
    pub leaving: Spread,
    /// Lag of simulated time relative to real time, at each sample.
    pub behind: Spread,
    /// Frames that a port did not take, or for which the kernel had no room.
    pub lost: u64,
}

impl Pace {
    /// For people.
    pub fn lines(&self) -> [String; 3] {
        let lost = match self.lost {
            0 => String::new(),
            lost => format!("; {lost} lost at ports"),
        };
        [
            format!("in real time: simulated time was behind by {}", self.behind),
            format!(
                "  {} frames came in, late by {}",
                self.entered, self.entering
            ),
            format!("  {} went out, late by {}{lost}", self.left, self.leaving),
        ]
    }
}

/// What waits at the edge of the graph.
#[derive(Debug, Default)]
struct Queues {
    inbound: VecDeque<Frame>,
    outbound: Vec<(Time, Frame)>,
}

/// Stands in the graph for a port of the machine.
pub(crate) struct PortNode(Arc<Mutex<Queues>>);

impl Node for PortNode {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, now: Time, _: NodePort, frames: &mut Vec<Frame>, _: &mut Out) {
        for frame in frames.drain(..) {
            self.0.lock().outbound.push((now, frame));
        }
    }

    fn wake(&mut self, _: Time, out: &mut Out) {
        for frame in self.0.lock().inbound.drain(..) {
            out.send(NodePort(0), frame);
        }
    }
}

/// The ports of the machine that take part.
#[derive(Default)]
pub(crate) struct PortNodes(Vec<(NodeId, Arc<Mutex<Queues>>, Outside)>);

impl PortNodes {
    /// The node for a port.
    pub fn add(&mut self, member: usize, outside: Outside) -> PortNode {
        let queues = Arc::new(Mutex::new(Queues::default()));
        self.0.push((NodeId(member), queues.clone(), outside));
        PortNode(queues)
    }

    /// Opens all, for [`run`].
    pub fn open(self) -> Result<Vec<InterfacePort>, LabError> {
        let open = |(member, queues, outside): (NodeId, _, Outside)| {
            let Port { rx, tx, .. } = outside.open(&Options::default())?;
            Ok(InterfacePort {
                member,
                queues,
                rx: Some(rx),
                tx,
                lost: 0,
            })
        };
        let ports: Result<Vec<_>, WorldError> = self.0.into_iter().map(open).collect();
        Ok(ports?)
    }
}

/// An open port, and where it leads to.
pub(crate) struct InterfacePort {
    member: NodeId,
    queues: Arc<Mutex<Queues>>,
    rx: Option<Box<dyn Receive>>,
    tx: Box<dyn Transmit>,
    /// Frames that were not taken.
    lost: u64,
}

/// A frame from a port, by the port's place, and when it came, ns on the monotonic clock.
type Arrival = (usize, u64, Frame);

/// Runs a simulation until its time is up or `stop` says so, together with what comes and goes by the ports. As long as there are
/// any, it is no end that nothing is left to happen: something may come.
pub(crate) fn run(
    sim: &mut Sim,
    mut ports: Vec<InterfacePort>,
    until: Option<Time>,
    stop: &dyn Fn() -> bool,
) -> Result<Pace, LabError> {
    let over = AtomicBool::new(false);
    let (sender, frames) = sync_channel(WAITING);
    std::thread::scope(|scope| {
        let mut readers = Vec::new();
        for (at, port) in ports.iter_mut().enumerate() {
            let (Some(rx), sender, over) = (port.rx.take(), sender.clone(), &over) else {
                continue;
            };
            let read = move || read(rx, at, &sender, over);
            match thread::spawn_scoped(scope, "port", read) {
                Ok(reader) => readers.push(reader),
                Err(error) => {
                    // Those that read already are waited for.
                    over.store(true, Ordering::Relaxed);
                    return Err(LabError::Live(WorldError::Thread(error)));
                }
            }
        }
        let mut clock = Clock::new(until);
        let ran = clock.run(sim, &mut ports, &frames, stop);
        over.store(true, Ordering::Relaxed);
        // Readers that wait for room go on.
        drop(frames);
        let mut lost = ports.iter().map(|port| port.lost).sum();
        for reader in readers {
            lost += reader
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        ran.map(|()| clock.pace(lost))
    })
}

/// Reads a port until the end; gives what the kernel dropped.
fn read(
    mut rx: Box<dyn Receive>,
    at: usize,
    sender: &SyncSender<Arrival>,
    over: &AtomicBool,
) -> u64 {
    while !over.load(Ordering::Relaxed) {
        let mut open = true;
        let read = rx.receive(STOP_POLL_INTERVAL, &mut |received| {
            let frame = Frame::new(received.bytes);
            open &= sender.send((at, received.at_ns, frame)).is_ok();
        });
        match read {
            Ok(_) if open => {}
            Err(PortError::Down { .. }) => std::thread::park_timeout(STOP_POLL_INTERVAL),
            _ => break,
        }
    }
    let counters = rx.counters();
    counters.dropped + counters.refused
}

/// Simulated time at the machine's clock.
struct Clock {
    zero_ns: u64,
    until: Time,
    entering: Histogram,
    leaving: Histogram,
    behind: Histogram,
}

impl Clock {
    fn new(until: Option<Time>) -> Clock {
        Clock {
            zero_ns: clock::now_ns(),
            until: until.unwrap_or(Time::MAX),
            entering: Histogram::default(),
            leaving: Histogram::default(),
            behind: Histogram::default(),
        }
    }

    fn now(&self) -> Time {
        Time::from_ns(clock::now_ns().saturating_sub(self.zero_ns))
    }

    fn run(
        &mut self,
        sim: &mut Sim,
        ports: &mut [InterfacePort],
        frames: &Receiver<Arrival>,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), LabError> {
        loop {
            let goal = self.now().min(self.until);
            let all = sim.advance_to(goal, SLICE)?;
            self.send(ports);
            self.behind
                .record((self.now().min(self.until) - sim.now()).as_ps() / 1_000);
            if stop() {
                sim.end(Finish::Stopped);
                return Ok(());
            }
            if all && goal == self.until {
                sim.end(Finish::Duration);
                return Ok(());
            }
            if sim.next().is_none() && ports.is_empty() {
                sim.end(Finish::Idle);
                return Ok(());
            }
            let due = sim.next().unwrap_or(Time::MAX).min(self.until);
            let wait = match all {
                true => Duration::from_nanos((due - due.min(self.now())).as_ps() / 1_000),
                false => Duration::ZERO,
            };
            match frames.recv_timeout(wait.min(STOP_POLL_INTERVAL)) {
                Ok(arrival) => {
                    // They come together at one time, that of the first.
                    sim.advance_to(self.now().min(self.until), SLICE)?;
                    self.enter(sim, ports, arrival);
                    let more = frames.try_iter().take(WAITING);
                    more.for_each(|arrival| self.enter(sim, ports, arrival));
                }
                Err(RecvTimeoutError::Timeout) => {}
                // All ports have ended: what is in the graph goes on.
                Err(RecvTimeoutError::Disconnected) => {
                    std::thread::park_timeout(wait.min(STOP_POLL_INTERVAL))
                }
            }
        }
    }

    /// A frame enters the graph, now in simulated time.
    fn enter(&mut self, sim: &mut Sim, ports: &[InterfacePort], (at, came_ns, frame): Arrival) {
        let arrival = came_ns.saturating_sub(self.zero_ns);
        self.entering
            .record((sim.now().as_ps() / 1_000).saturating_sub(arrival));
        ports[at].queues.lock().inbound.push_back(frame);
        sim.wake(ports[at].member);
    }

    /// What has come to the edge of the graph leaves.
    fn send(&mut self, ports: &mut [InterfacePort]) {
        for port in ports {
            let outbound = std::mem::take(&mut port.queues.lock().outbound);
            for (at, frame) in outbound {
                let late = self.now() - at.min(self.now());
                match port.tx.send(&[&frame]) {
                    Ok(1..) => self.leaving.record(late.as_ps() / 1_000),
                    _ => port.lost += 1,
                }
            }
        }
    }

    fn pace(&self, lost: u64) -> Pace {
        let nanosecond = Time::from_ns(1);
        Pace {
            entered: self.entering.total(),
            entering: self.entering.spread(nanosecond),
            left: self.leaving.total(),
            leaving: self.leaving.spread(nanosecond),
            behind: self.behind.spread(nanosecond),
            lost,
        }
    }
}
