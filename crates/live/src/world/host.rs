//! A node and its ports, on a thread of its own.

use super::schedule::{Item, Schedule};
use crate::clock::now_ns;
use crate::port::{PortError, Receive, Received, RxCounters};
use node::frame::LONGEST;
use node::link::SHORTEST;
use node::outcome::NodeOutcome;
use node::{Channel, Frame, Node, Out, Port, Tap, Time, Transmitter, When};
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How long before its time a node is woken. The time it is told is the one it asked for, so that
/// what it sends then leaves then: the thread of departures holds it until that time.
pub const LEAD: Time = Time::from_us(500);
/// Wakes in a row before the ports are looked at again.
const WAKES: usize = 1024;
/// How long a thread sleeps at most, so that it sees the end of the run.
const NAP_NS: u64 = 10_000_000;

/// How long it sleeps when a port gives no descriptor to wait on.
const UNKNOWN_NS: u64 = 500_000;

/// Why a frame is refused before it comes to a link, in the words of every world.
#[derive(Clone, Copy)]
enum Refusal {
    NoSuchPort,
    TooLong,
    Never,
    Crowd,
    Lost,
    Mangled,
}

impl Refusal {
    const ALL: [(Refusal, &str); 6] = [
        (Refusal::NoSuchPort, "sent by a port that is not there"),
        (Refusal::TooLong, "longer than 16,000 bytes"),
        (Refusal::Never, "would arrive after the end of time"),
        (Refusal::Crowd, "more than 4,194,304 frames under way"),
        (Refusal::Lost, "lost in the kernel before they were read"),
        (Refusal::Mangled, "received in a form that cannot be mended"),
    ];
}

/// A port of a node.
pub struct HostPort {
    /// Where frames come from.
    pub rx: Box<dyn Receive>,
    /// The lane in the schedule that frames leave by.
    pub lane: usize,
    /// What decides about departures; `None` for a port on a real wire, which does so itself.
    pub link: Option<Transmitter>,
    /// The link that frames come by; `None` on a real wire.
    pub from: Option<Channel>,
    /// Who looks at what arrives.
    pub taps: Vec<Tap>,
    /// Whether anything may still come.
    pub open: bool,
}

/// What all threads of a world know.
pub struct Run {
    /// The departures.
    pub schedule: Schedule,
    /// The counter at time zero, ns.
    pub start: u64,
    /// What happens later does not happen.
    pub until: Time,
    /// Set when the run ends.
    pub stop: AtomicBool,
    /// Frames that nodes have dealt with.
    pub received: AtomicU64,
    /// When each node wants to be woken, ps; MAX for not.
    pub wakes: Vec<AtomicU64>,
    /// Ports that may still give frames.
    pub open: AtomicU64,
    /// Set when a port is of no more use.
    pub trouble: AtomicBool,
}

impl Run {
    /// The time now; zero before the start.
    pub fn now(&self) -> Time {
        Time::from_ns(now_ns().saturating_sub(self.start))
    }
}

/// A node at work.
pub struct Host<'a> {
    run: &'a Run,
    index: usize,
    name: String,
    node: Box<dyn Node>,
    desk: Desk,
    ports: Vec<HostPort>,
    /// The latest time that the node was told.
    told: Time,
    frames: u64,
    events: u64,
}

/// What a node's answers go through.
struct Desk {
    out: Out,
    /// Out of the ports, so that one of these can be read meanwhile.
    ways: Vec<Way>,
    items: Vec<Item>,
    order: u64,
    refused: [u64; Refusal::ALL.len()],
    spent: Vec<Frame>,
    trouble: Option<PortError>,
}

/// The sending side of a port.
struct Way {
    lane: usize,
    link: Option<Transmitter>,
    /// Nothing leaves before what was sent before it.
    last: Time,
    /// Frames to be sent at once.
    at_once: Vec<Frame>,
    /// Whether frames were collected that wait.
    queued: bool,
}

/// What a node's thread tells in the end.
pub struct HostReport {
    /// For the outcome.
    pub outcome: NodeOutcome,
    /// The lane of each port, and what its link has done, where there is one.
    pub links: Vec<(usize, Option<Transmitter>)>,
    /// What each port received.
    pub received: Vec<RxCounters>,
    /// Frames delivered.
    pub frames: u64,
    /// Calls.
    pub events: u64,
    /// What went wrong first with a port.
    pub trouble: Option<PortError>,
}

impl<'a> Host<'a> {
    /// A node, not yet called.
    pub fn new(
        run: &'a Run,
        index: usize,
        name: String,
        node: Box<dyn Node>,
        mut ports: Vec<HostPort>,
    ) -> Host<'a> {
        let ways = ports.iter_mut().map(|port| Way {
            lane: port.lane,
            link: port.link.take(),
            last: Time::ZERO,
            at_once: Vec::new(),
            queued: false,
        });
        let desk = Desk {
            out: Out::default(),
            ways: ways.collect(),
            items: Vec::new(),
            order: 0,
            refused: [0; Refusal::ALL.len()],
            spent: Vec::new(),
            trouble: None,
        };
        Host {
            run,
            index,
            name,
            node,
            desk,
            ports,
            told: Time::ZERO,
            frames: 0,
            events: 0,
        }
    }

    /// The world that it is in.
    pub fn world(&self) -> &'a Run {
        self.run
    }

    /// Runs until the world's end.
    pub fn run(mut self) -> HostReport {
        // SAFETY: a plain system call on this thread: its timers shall be exact.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
        self.publish_wake();
        let mut polls: Vec<libc::pollfd> = Vec::with_capacity(self.ports.len());
        while !self.run.stop.load(Ordering::SeqCst) {
            let got = self.wake_if_due() | self.receive();
            self.desk.flush(self.run, self.index);
            if !got {
                self.rest(&mut polls);
            }
        }
        self.report()
    }

    /// Wakes the node as often as it wants until shortly after now; whether it did.
    fn wake_if_due(&mut self) -> bool {
        for wake in 0..WAKES {
            let wish = self.node.next_wake().filter(|&at| at <= self.run.until);
            let now = self.run.now();
            let Some(at) = wish.filter(|&at| at <= now + LEAD) else {
                self.publish_wake();
                return wake > 0;
            };
            // Not the clock, but the time asked for: what is sent now leaves then.
            self.told = self.told.max(at);
            self.events += 1;
            self.node.wake(self.told, &mut self.desk.out);
            self.desk.collect(self.run, self.told, now);
            self.desk.flush(self.run, self.index);
        }
        true
    }

    /// Tells when the node wants to be woken; only after what it sent before is on its way.
    fn publish_wake(&self) {
        let wish = self.node.next_wake().filter(|&at| at <= self.run.until);
        let ps = wish.map_or(u64::MAX, Time::as_ps);
        self.run.wakes[self.index].store(ps, Ordering::SeqCst);
    }

    /// Gives the node what has arrived; whether there was anything.
    fn receive(&mut self) -> bool {
        let mut any = false;
        for index in 0..self.ports.len() {
            if !self.ports[index].open {
                continue;
            }
            let Host {
                run,
                node,
                desk,
                ports,
                told,
                frames,
                events,
                ..
            } = self;
            let HostPort { rx, from, taps, .. } = &mut ports[index];
            let mut given = 0;
            let result = rx.receive(std::time::Duration::ZERO, &mut |packet: Received<'_>| {
                let now = run.now();
                if now > run.until {
                    return;
                }
                let mut frame = desk.out.pool().take_with(packet.bytes);
                let duration = from
                    .as_ref()
                    .map_or(Time::ZERO, |link| time_on(link, frame.len()));
                let last_bit = Time::from_ns(packet.at_ns.saturating_sub(run.start));
                frame.set_arrived(last_bit - duration);
                *told = now.max(*told);
                for tap in taps.iter_mut() {
                    (tap.see)(*told, &frame);
                }
                *frames += 1;
                *events += 1;
                given += 1;
                node.frame(*told, Port(index as u16), frame, &mut desk.out);
                desk.collect(run, now, now);
            });
            desk.flush(run, self.index);
            if given > 0 {
                any = true;
                self.publish_wake();
                self.run.received.fetch_add(given, Ordering::SeqCst);
            }
            if let Err(error) = result {
                self.close(index, error);
            }
        }
        any
    }

    /// A port that gives nothing any more.
    fn close(&mut self, index: usize, error: PortError) {
        if !matches!(error, PortError::Ended { .. }) {
            self.desk.trouble.get_or_insert(error);
            self.run.trouble.store(true, Ordering::SeqCst);
        }
        self.ports[index].open = false;
        self.run.open.fetch_sub(1, Ordering::SeqCst);
    }

    /// Waits until something arrives or the node wants to be woken.
    fn rest(&mut self, polls: &mut Vec<libc::pollfd>) {
        let wish = self.node.next_wake().filter(|&at| at <= self.run.until);
        let now = self.run.now();
        let wish = wish.map_or(NAP_NS, |at| (at - LEAD - now).as_ns());
        let mut nap = wish.min(NAP_NS);
        polls.clear();
        for port in &self.ports {
            match port.rx.descriptor() {
                _ if !port.open => {}
                Some(fd) => polls.push(readable(fd)),
                // Nothing to wait on: it is asked again soon.
                None => nap = nap.min(UNKNOWN_NS),
            }
        }
        let timeout = libc::timespec {
            tv_sec: 0,
            tv_nsec: nap as libc::c_long,
        };
        let count = polls.len() as libc::nfds_t;
        // SAFETY: so many valid entries, and a valid timeout. A signal merely ends it early.
        unsafe { libc::ppoll(polls.as_mut_ptr(), count, &timeout, std::ptr::null()) };
    }

    fn report(mut self) -> HostReport {
        let received: Vec<RxCounters> = self.ports.iter().map(|port| port.rx.counters()).collect();
        for counters in &received {
            self.desk.refused[Refusal::Lost as usize] += counters.dropped;
            self.desk.refused[Refusal::Mangled as usize] += counters.refused;
        }
        let mut outcome = NodeOutcome {
            name: self.name,
            ..NodeOutcome::default()
        };
        let mut count = |name: &str, value| outcome.counters.push((name.into(), value));
        self.node.counters(&mut count);
        let refused = Refusal::ALL.map(|(kind, reason)| (reason, self.desk.refused[kind as usize]));
        let all = self.desk.out.drops().iter().copied().chain(refused);
        outcome.drops = all
            .filter(|&(_, count)| count > 0)
            .map(|(reason, count)| (reason.into(), count))
            .collect();
        HostReport {
            outcome,
            links: self
                .desk
                .ways
                .into_iter()
                .map(|way| (way.lane, way.link))
                .collect(),
            received,
            frames: self.frames,
            events: self.events,
            trouble: self.desk.trouble,
        }
    }
}

impl Desk {
    /// Takes what the node has sent, at time `now`; the clock says `clock`.
    fn collect(&mut self, run: &Run, now: Time, clock: Time) {
        for departure in self.out.sends() {
            let (when, mut frame) = (departure.when, departure.frame);
            let refusal = match self.ways.get_mut(usize::from(departure.port.0)) {
                None => Some(Refusal::NoSuchPort),
                Some(_) if frame.len() > LONGEST => Some(Refusal::TooLong),
                Some(_) if !run.schedule.has_room() => Some(Refusal::Crowd),
                Some(way) => {
                    let lateness = match when {
                        When::At(at) => Some(clock - at),
                        When::Now => None,
                    };
                    match way.decide(run, now, clock, when, &mut frame) {
                        Decision::AtOnce => {
                            way.at_once.push(frame);
                            continue;
                        }
                        Decision::At(at, second) => {
                            way.queued = true;
                            let ns = |at: Time| run.start + at.as_ps().div_ceil(1000);
                            let mut put = |at, wanted, frame| {
                                self.order += 1;
                                self.items.push(Item {
                                    at: ns(at),
                                    order: self.order,
                                    lane: way.lane,
                                    wanted,
                                    frame,
                                });
                            };
                            if let Some(second) = second {
                                put(second, None, Frame::new(&frame));
                            }
                            let wanted = lateness.map(|by| (ns(at - by), by > Time::ZERO));
                            put(at, wanted, frame);
                            continue;
                        }
                        Decision::Lost => None,
                        Decision::Never => Some(Refusal::Never),
                    }
                }
            };
            if let Some(refusal) = refusal {
                self.refused[refusal as usize] += 1;
            }
            self.spent.push(frame);
        }
    }

    /// Sets everything collected on its way, and takes buffers back.
    fn flush(&mut self, run: &Run, node: usize) {
        for way in &mut self.ways {
            if !way.at_once.is_empty() {
                run.schedule
                    .send_now(way.lane, &way.at_once, &mut self.trouble);
                self.spent.append(&mut way.at_once);
            }
            way.queued = false;
        }
        run.schedule.submit(&mut self.items);
        for frame in self.spent.drain(..) {
            self.out.pool().give(frame);
        }
        run.schedule.reclaim(node, &mut self.spent);
    }
}

/// What becomes of a frame.
enum Decision {
    /// It is sent without waiting for anything.
    AtOnce,
    /// It is sent at this time, and a copy at another.
    At(Time, Option<Time>),
    /// It does not arrive; the link has counted it.
    Lost,
    /// It would arrive after the end of time.
    Never,
}

impl Way {
    fn decide(
        &mut self,
        run: &Run,
        now: Time,
        clock: Time,
        when: When,
        frame: &mut Frame,
    ) -> Decision {
        let Some(link) = &mut self.link else {
            let asked = match when {
                When::Now => now,
                When::At(at) => at,
            };
            // Order within a port is kept.
            self.last = self.last.max(asked);
            let waiting = || {
                run.schedule.lanes()[self.lane]
                    .waiting
                    .load(Ordering::SeqCst)
                    > 0
            };
            let free = when == When::Now && self.last <= clock && !self.queued && !waiting();
            return match free {
                true => Decision::AtOnce,
                false => Decision::At(self.last, None),
            };
        };
        // Woken ahead of time, the node may have sent something later than now already.
        self.last = self.last.max(now);
        if frame.len() < SHORTEST {
            frame.resize(SHORTEST);
        }
        let flight = link.offer(self.last, when, frame.len());
        let Some((flight, first_bit)) = flight.and_then(|flight| Some((flight, flight.arrived?)))
        else {
            return Decision::Lost;
        };
        // A frame is there when its last bit is, so that is when the kernel shall have it.
        let last_bit = first_bit + flight.duration;
        let second = flight
            .duplicate
            .map(|first_bit| first_bit + flight.duration);
        match last_bit {
            Time::MAX => Decision::Never,
            _ => Decision::At(last_bit, second),
        }
    }
}

/// From a frame's first bit to its last one.
fn time_on(link: &Channel, len: usize) -> Time {
    let bits = 8 * (len.max(SHORTEST) + node::link::FCS) as u64;
    link.rate.map_or(Time::ZERO, |rate| rate.time_of(bits, 0).0)
}

fn readable(fd: RawFd) -> libc::pollfd {
    libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    }
}
