//! A node and its ports, on a thread of its own.

use super::calls::Calls;
use super::egress::{Egress, Line};
use super::lane::time_on;
use super::shared::Shared;
use super::{Notice, Observe};
use crate::kernel::scheduling;
use crate::kernel::statistics::Feed;
use crate::kernel::wait;
use crate::port::{Link, PortError, Receive, Received, RxCounters, Stamps};
use ::capture::clock::now_ns;
use node::event::{Event, What};
use node::link::LinkCounters;
use node::outcome::NodeOutcome;
use node::{Channel, Driver, Frame, Member, Node, Port, Refusal, Tap, Time};
use std::collections::VecDeque;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Time by which a node is woken early. The node's time is the requested one, so that its frames
/// leave then: the thread of departures holds them until that time.
pub const LEAD: Time = Time::from_us(500);
/// Maximum number of frames of a port in one call of the node.
const MAX_RX_BATCH: usize = 64;
/// Consecutive wakes before the ports have their turn again.
const WAKES: usize = 1024;

/// Intervals at which the links of real wires are polled: usually, and while one of them is down.
const POLL: Time = Time::from_ms(100);
const POLL_DOWN: Time = Time::from_ms(10);
/// Time after which a wire without a link is polled at the usual interval again.
const DOWN_FOR_LONG: Time = Time::from_secs(2);

/// Sleep when a port has no descriptor to wait on, ns.
const UNKNOWN_NS: u64 = 500_000;

/// A port of a node.
pub struct RunnerPort {
    /// Which of the node's ports it is.
    pub number: Port,
    /// Where frames come from.
    pub rx: Box<dyn Receive>,
    /// What the times of their arrival are.
    pub stamps: Stamps,
    /// The lane in the schedule that frames leave by.
    pub lane: usize,
    /// What decides about departures; a port on a real wire does so itself.
    pub line: Line,
    /// When the link goes down or up, and its state from then on; none on a real wire.
    pub changes: VecDeque<(Time, bool)>,
    /// Whether there is a link, as the node was told last.
    pub has_link: bool,
    /// How often it was lost, on a real wire, up to the last look.
    pub downs: u64,
    /// The link that frames come by; `None` on a real wire.
    pub from: Option<Channel>,
    /// Who looks at what arrives.
    pub taps: Vec<Tap>,
    /// Whether it is that of something real, so that what comes counts from when it came.
    pub real: bool,
    /// Whether frames come straight from something real, by a link on which they take no time.
    pub entrance: bool,
    /// Whether anything may still come.
    pub open: bool,
}

/// A node, and what it is to work with.
pub struct Setup {
    pub name: String,
    /// Itself.
    pub node: Box<dyn Node>,
    /// Those of its ports that have a link.
    pub ports: Vec<RunnerPort>,
    /// What the kernel tells of those on real wires, where the node wants to know and there are any.
    pub feed: Option<Feed>,
    /// Who else is to know of links on real wires.
    pub notice: Option<Notice>,
    /// Who looks at the node while it runs.
    pub observe: Option<Observe>,
}

/// A node at work.
pub struct Runner<'a> {
    shared: &'a Shared,
    index: usize,
    driver: Driver,
    egress: Egress,
    ports: Vec<RunnerPort>,
    /// Frames of a port that the node is yet to be told of.
    arrived: Vec<Frame>,
    /// When real wires are looked at next.
    next_poll: Time,
    /// When they last had a link all, or one of them lost or got it.
    changed: Time,
    feed: Option<Feed>,
    notice: Option<Notice>,
    observe: Option<Observe>,
    /// By which other threads call for the node; `None` when it wants no calls.
    calls: Option<Arc<Calls>>,
    frames: u64,
    events: u64,
}

/// What a node's thread tells in the end.
pub struct RunnerReport {
    pub outcome: NodeOutcome,
    /// The lane of each port, and what its link has done, where there is one.
    pub links: Vec<(usize, Option<LinkCounters>)>,
    /// What each port received.
    pub received: Vec<RxCounters>,
    /// What became of the links of ports on real wires.
    pub own_links: Vec<Option<Link>>,
    /// The lane of each port at which frames come straight from something real, and what came.
    pub entered: Vec<(usize, RxCounters)>,
    /// Frames delivered.
    pub frames: u64,
    /// Calls.
    pub events: u64,
    /// What went wrong first with a port.
    pub trouble: Option<PortError>,
}

impl<'a> Runner<'a> {
    /// A node, not yet called.
    pub fn new(shared: &'a Shared, index: usize, setup: Setup) -> Runner<'a> {
        let Setup {
            name,
            node,
            mut ports,
            feed,
            notice,
            observe,
        } = setup;
        let lanes = ports
            .iter_mut()
            .map(|port| (port.number, port.lane, std::mem::take(&mut port.line)));
        let mut driver = Driver::new(Member { name, node });
        // Work takes what it takes here.
        driver.out().set_stopwatch(|| Time::from_ns(now_ns()));
        let calls = Calls::of(&mut driver);
        let egress = Egress::new(driver.properties().ports, lanes);
        Runner {
            feed,
            notice,
            observe,
            shared,
            index,
            driver,
            egress,
            ports,
            arrived: Vec::with_capacity(MAX_RX_BATCH),
            next_poll: Time::ZERO,
            changed: Time::ZERO,
            calls,
            frames: 0,
            events: 0,
        }
    }

    /// What it shares with the others.
    pub fn shared(&self) -> &'a Shared {
        self.shared
    }

    /// Runs until the world's end.
    pub fn run(mut self) -> RunnerReport {
        scheduling::for_node();
        self.publish_wake();
        let mut polls: Vec<libc::pollfd> = Vec::with_capacity(self.ports.len());
        let mut watch = Watch::new(self.may_watch());
        while !self.shared.has_ended() {
            self.tell_statistics();
            let got = self.see_links()
                | self.answer()
                | self.wake_if_due()
                | self.receive()
                | self.serve();
            self.flush();
            if got {
                watch.came(now_ns);
                self.show();
            } else if !watch.goes_on(now_ns) {
                self.show();
                self.rest(&mut polls);
            }
        }
        self.report()
    }

    /// Lets somebody look at the node.
    fn show(&mut self) {
        if let Some(observe) = &mut self.observe {
            observe(&self.driver, self.shared.now());
        }
    }

    /// Tells the node what it acts by, where that is too old.
    fn tell_statistics(&mut self) {
        if self.driver.properties().statistics_age.is_none() {
            return;
        }
        let now = self.shared.now();
        if !self.driver.statistics_are_due(now) {
            return;
        }
        for index in 0..self.ports.len() {
            let Some((mut interface, queue)) = self.egress.statistics(index, now) else {
                continue;
            };
            let came = self.ports[index].rx.counters();
            interface.received.packets = came.received;
            interface.received.bytes = came.bytes;
            interface.received.dropped = came.dropped;
            for what in [What::Interface(interface), What::Queue(queue)] {
                let (at, port) = (now, self.ports[index].number);
                self.driver.event(now, &Event { at, port, what });
            }
        }
        if let Some(feed) = &mut self.feed {
            let driver = &mut self.driver;
            // An interface that has gone ends the run by its port, which says so.
            let _ = feed.read(now, &mut |event| driver.event(now, &event));
        }
        self.collect(now);
    }

    /// Tells the node which links have gone down or come up; whether any has.
    fn see_links(&mut self) -> bool {
        let now = self.shared.now();
        let mut any = self.poll_links(now);
        for index in 0..self.ports.len() {
            let planned = &mut self.ports[index].changes;
            let Some((at, up)) = planned.pop_front_if(|(at, _)| *at <= now) else {
                continue;
            };
            any |= self.tell_link(index, at, up);
        }
        if any {
            self.publish_wake();
        }
        any
    }

    /// Looks at real wires, if it is time to; whether one has changed.
    fn poll_links(&mut self, now: Time) -> bool {
        if now < self.next_poll {
            return false;
        }
        let (mut any, mut all_up, mut has_wires) = (false, true, false);
        for index in 0..self.ports.len() {
            let port = &mut self.ports[index];
            let real = port.from.is_none() && !port.real && port.open;
            let Some(link) = real.then(|| port.rx.link()).flatten() else {
                continue;
            };
            has_wires = true;
            all_up &= link.up;
            // Between two looks it may have been lost for a moment.
            let lost = std::mem::replace(&mut port.downs, link.downs) < link.downs;
            if lost {
                any |= self.tell_link(index, now, false);
            }
            any |= self.tell_link(index, now, link.up);
        }
        if all_up || any {
            self.changed = now;
        }
        if !has_wires {
            // Sockets and pipes have no link state to poll.
            self.next_poll = Time::MAX;
            return any;
        }
        let rarely = all_up || now - self.changed > DOWN_FOR_LONG;
        self.next_poll = now + if rarely { POLL } else { POLL_DOWN };
        any
    }

    /// Takes what the node has sent.
    fn collect(&mut self, clock: Time) {
        let told = self.driver.now();
        self.egress
            .collect(&mut self.driver, self.shared, told, clock);
    }

    /// Lets queue disciplines send what is due; returns whether anything was.
    fn serve(&mut self) -> bool {
        // Not beyond a wake that is due: what the node sends then comes first.
        let wake = self.driver.next_wake().unwrap_or(Time::MAX);
        let until = self.shared.now().min(wake);
        let any = self.egress.serve(self.shared, until);
        if any {
            self.publish_wake();
        }
        any
    }

    /// Sets it on its way.
    fn flush(&mut self) {
        self.egress.flush(&mut self.driver, self.shared, self.index);
    }

    /// Tells the node of a link, if that is news to it; whether it is.
    fn tell_link(&mut self, index: usize, at: Time, up: bool) -> bool {
        let port = &mut self.ports[index];
        if up == std::mem::replace(&mut port.has_link, up) {
            return false;
        }
        if port.from.is_none() {
            self.egress.set_link(index, up);
            if let Some(notice) = &mut self.notice {
                notice(index, up);
            }
        }
        self.events += 1;
        let (port, what) = (self.ports[index].number, What::Link(up));
        self.driver.event(at, &Event { at, port, what });
        self.collect(self.shared.now());
        self.flush();
        true
    }

    /// When the node, or one of its links, wants to be dealt with next, before the run's end.
    fn next_call(&self) -> Option<Time> {
        let changes = self.ports.iter().filter_map(|port| port.changes.front());
        let change = changes.map(|&(at, _)| at).min();
        let due = self.egress.next_due();
        let due = (due < Time::MAX).then_some(due);
        let at = self.driver.next_wake();
        let at = at.into_iter().chain(change).chain(due).min();
        at.filter(|&at| at <= self.shared.until)
    }

    /// Whether it may look for frames without sleeping: alone on real wires, and not on the only processor there is.
    fn may_watch(&self) -> bool {
        let real = |port: &RunnerPort| port.from.is_none() && !port.real;
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        self.ports.iter().all(real) && processors > 1
    }

    /// Wakes the node if another thread has called for it; whether it did.
    fn answer(&mut self) -> bool {
        let called = self.calls.as_ref().is_some_and(|calls| calls.take());
        if called {
            let now = self.shared.now();
            self.events += 1;
            self.driver.wake(now);
            self.collect(now);
            self.flush();
            self.shared.set_active(now);
            self.publish_wake();
        }
        called
    }

    /// Wakes the node as often as it wants until shortly after now; whether it did.
    fn wake_if_due(&mut self) -> bool {
        for wake in 0..WAKES {
            let at = self
                .driver
                .next_wake()
                .filter(|&at| at <= self.shared.until);
            let now = self.shared.now();
            let Some(at) = at.filter(|&at| at <= now + LEAD) else {
                if wake > 0 {
                    self.shared.set_active(now);
                }
                self.publish_wake();
                return wake > 0;
            };
            // Not the clock, but the time asked for: what is sent now leaves then.
            self.events += 1;
            self.driver.wake(at);
            self.collect(now);
            self.flush();
        }
        true
    }

    /// Tells when the node wants to be woken; only after what it sent before is on its way.
    fn publish_wake(&self) {
        // A node that others may call at any time is never done.
        let never = u64::MAX - u64::from(self.calls.is_some());
        let ps = self.next_call().map_or(never, Time::as_ps);
        self.shared.wakes[self.index].store(ps, Ordering::SeqCst);
    }

    /// Gives the node what has arrived; whether there was anything.
    fn receive(&mut self) -> bool {
        let mut any = false;
        for index in 0..self.ports.len() {
            if !self.ports[index].open {
                continue;
            }
            let Runner {
                shared,
                driver,
                egress,
                ports,
                frames,
                events,
                arrived,
                ..
            } = self;
            let RunnerPort {
                number,
                rx,
                from,
                taps,
                real,
                ..
            } = &mut ports[index];
            let mut given = 0;
            let (number, real) = (*number, *real);
            let mut take = |driver: &mut Driver, arrived: &mut Vec<Frame>| {
                let now = shared.now();
                if now > shared.until {
                    arrived.drain(..).for_each(|frame| driver.out().done(frame));
                    return;
                }
                let count = arrived.len() as u64;
                *events += count;
                given += count;
                if real {
                    // From the moment at which the other side has sent it, not from when its thread
                    // got round to it. It is delivered at the other end.
                    for frame in arrived.drain(..) {
                        let sent = frame.arrived();
                        driver.frame(sent, number, frame);
                        egress.collect(driver, shared, sent.min(now), now);
                    }
                    return;
                }
                let told = now.max(driver.now());
                for frame in arrived.iter() {
                    taps.iter_mut().for_each(|tap| (tap.see)(told, frame));
                }
                *frames += count;
                driver.frames(told, number, arrived);
                egress.collect(driver, shared, now, now);
            };
            let result = rx.receive(Duration::ZERO, &mut |packet: Received<'_>| {
                let mut frame = driver.out().pool().take_with(packet.bytes);
                let duration = from
                    .as_ref()
                    .map_or(Time::ZERO, |link| time_on(link, frame.len()));
                let last_bit = Time::from_ns(packet.at_ns.saturating_sub(shared.start));
                frame.set_arrived(last_bit - duration);
                arrived.push(frame);
                if arrived.len() >= MAX_RX_BATCH {
                    take(driver, arrived);
                }
            });
            if !arrived.is_empty() {
                take(driver, arrived);
            }
            self.flush();
            if given > 0 {
                any = true;
                self.shared.set_active(self.shared.now());
                self.publish_wake();
                let RunnerPort { real, entrance, .. } = self.ports[index];
                let count = if real || entrance {
                    &self.shared.entered
                } else {
                    &self.shared.received
                };
                count.fetch_add(given, Ordering::SeqCst);
            }
            if let Err(error) = result {
                self.close(index, error);
            }
        }
        any
    }

    /// A port that gives nothing any more. The others go on; when it was the last one, so does nothing.
    fn close(&mut self, index: usize, error: PortError) {
        self.ports[index].open = false;
        let others = self.shared.open.fetch_sub(1, Ordering::SeqCst) > 1;
        if matches!(error, PortError::Ended { .. }) {
            return;
        }
        self.egress.trouble.get_or_insert(error);
        if !others {
            self.shared.trouble.store(true, Ordering::SeqCst);
        }
        if self.ports[index].from.is_none() && !self.ports[index].real {
            let now = self.shared.now();
            self.tell_link(index, now, false);
        }
    }

    /// Waits until something arrives or the node wants to be woken.
    fn rest(&mut self, polls: &mut Vec<libc::pollfd>) {
        let now = self.shared.now();
        let call = self.next_call().map_or(Time::MAX, |at| at - LEAD);
        // A discipline decides by what has come until then, so nothing of it can be done ahead of time.
        let call = match self.egress.next_due() {
            due if due - LEAD <= call => due,
            _ => call,
        };
        let mut sleep = (call.min(self.next_poll) - now).as_ns();
        polls.clear();
        polls.push(wait::readable(self.shared.over()));
        polls.extend(
            self.calls
                .iter()
                .map(|calls| wait::readable(calls.as_raw_fd())),
        );
        for port in &self.ports {
            match port.rx.descriptor() {
                _ if !port.open => {}
                Some(fd) => polls.push(wait::readable(fd)),
                // Nothing to wait on: it is asked again soon.
                None => sleep = sleep.min(UNKNOWN_NS),
            }
        }
        // It cannot fail: all descriptors are ours.
        let _ = wait::for_any(polls, Duration::from_nanos(sleep));
    }

    fn report(mut self) -> RunnerReport {
        let received: Vec<RxCounters> = self.ports.iter().map(|port| port.rx.counters()).collect();
        let own_links = self.ports.iter_mut().map(|port| port.rx.link()).collect();
        let entered = self.ports.iter().zip(&received);
        let entered = entered.filter(|(port, _)| port.entrance);
        let entered = entered.map(|(port, came)| (port.lane, *came)).collect();
        for counters in &received {
            self.driver.refuse(Refusal::Lost, counters.dropped);
            self.driver.refuse(Refusal::Mangled, counters.refused);
        }
        let trouble = self.egress.trouble.take();
        super::parallel::close(std::mem::take(&mut self.ports));
        RunnerReport {
            outcome: self.driver.outcome(),
            received,
            own_links,
            entered,
            frames: self.frames,
            events: self.events,
            trouble,
            links: self.egress.link_counters(),
        }
    }
}

/// How long to look for the next frame before sleeping, ns: about what a sleep and its end cost.
const WATCH_NS: u64 = 30_000;

/// Whether to look for the next frame, or to sleep until it comes: looking pays when frames come one close after the other, so the
/// last wait tells.
struct Watch {
    may: bool,
    /// When this wait began, ns; `None` while there is something to do.
    since: Option<u64>,
    pays: bool,
}

impl Watch {
    fn new(may: bool) -> Watch {
        Watch {
            may,
            since: None,
            pays: false,
        }
    }

    /// There was something to do.
    fn came(&mut self, clock: impl FnOnce() -> u64) {
        if let Some(since) = self.since.take() {
            self.pays = clock().saturating_sub(since) <= WATCH_NS;
        }
    }

    /// There is nothing to do: whether to look again at once.
    fn goes_on(&mut self, clock: impl FnOnce() -> u64) -> bool {
        if !self.may {
            return false;
        }
        let now = clock();
        let since = *self.since.get_or_insert(now);
        self.pays &= now.saturating_sub(since) <= WATCH_NS;
        self.pays
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_watched_only_while_frames_come_close_together() {
        let mut watch = Watch::new(true);
        assert!(!watch.goes_on(|| 1_000), "nothing is known yet");
        watch.came(|| 9_000);
        assert!(watch.goes_on(|| 9_500), "the last wait was short");
        assert!(watch.goes_on(|| 9_500 + WATCH_NS));
        assert!(!watch.goes_on(|| 9_501 + WATCH_NS), "but not for ever");
        watch.came(|| 9_500 + 2 * WATCH_NS);
        assert!(!watch.goes_on(|| 200_000), "the last wait was long");
        let mut never = Watch::new(false);
        never.goes_on(|| 1);
        never.came(|| 2);
        assert!(!never.goes_on(|| 3));
    }
}
