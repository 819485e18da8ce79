//! A node at its queues: packets in, answers out.

use super::counters::{Counters, ThreadCounters};
use super::interfaces::{self, Interfaces};
use super::{Fail, HookError, QueueError};
use crate::kernel::nfqueue::inject::{Injected, Injector};
use crate::kernel::nfqueue::message::{self, Incoming, Packet};
use crate::kernel::nfqueue::packets::{self, ETHERNET};
use crate::kernel::nfqueue::pending::{MAX_HEAD_LEN, Numbers, Pending, Waiting, queue_of};
use crate::kernel::nfqueue::verdicts::{Answer, Verdicts};
use crate::kernel::nfqueue::{self, Inbox, Queue};
use crate::kernel::statistics::Feed;
use crate::kernel::{scheduling, wait};
use ::capture::clock::now_ns;
use node::{Departure, Driver, Frame, Member, Node, Port, Time, When};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Calls for packets before the node's alarms have their turn again.
const CALLS: usize = 4;
/// Consecutive wakes before packets have their turn again.
const WAKES: usize = 1024;
/// Maximum sleep of a thread, ns, so that it notices the end.
const MAX_SLEEP_NS: u64 = 50_000_000;
/// Interval at which a node's counters are published, ns.
const SHOW_NS: u64 = 100_000_000;
/// Interval between two polls of the kernel's drop counters, ns.
const DROP_POLL_INTERVAL_NS: u64 = 1_000_000_000;

/// A queue, and what came from it.
struct End {
    queue: Queue,
    pending: Pending,
    verdicts: Verdicts,
    numbers: Numbers,
    /// Packets whose numbers never came.
    missed: u64,
    /// Drops of the kernel at the last poll.
    dropped: u64,
}

/// A node, and the queues that it answers.
pub struct Worker<'a> {
    driver: Driver,
    ends: Vec<End>,
    inbox: Inbox,
    interfaces: Interfaces,
    /// Whether a queue is a port, rather than an interface.
    by_queue: bool,
    injector: Injector,
    counters: &'a ThreadCounters,
    fail: Fail,
    /// Whether the node may write into packets.
    changes: bool,
    /// Frames that the node has not been told of, by port.
    arrived: Vec<Vec<Frame>>,
    /// What the node has just sent.
    leaving: Vec<Departure>,
    /// Frames that are to leave later, by port.
    later: Vec<VecDeque<(Time, Frame)>>,
    /// The most of those at a port that nobody waits for.
    room: usize,
    start: u64,
    /// Where the statistics come from that the node acts by.
    feed: Option<Feed>,
    show: u64,
    look: u64,
}

/// What a worker is made of.
pub struct Parts<'a> {
    pub node: Box<dyn Node>,
    pub queues: Vec<Queue>,
    pub interfaces: Interfaces,
    /// Whether its ports are its queues.
    pub by_queue: bool,
    /// The mark of what it injects.
    pub mark: u32,
    /// Where it is counted.
    pub counters: &'a ThreadCounters,
    /// What becomes of packets that are not answered.
    pub fail: Fail,
    /// How many packets a queue holds.
    pub length: u32,
    /// When time began, ns.
    pub start: u64,
}

impl<'a> Worker<'a> {
    /// Opens what it sends by.
    pub fn new(parts: Parts<'a>) -> Result<Worker<'a>, HookError> {
        let properties = parts.node.properties();
        let ports = properties.ports;
        let interface = |port| parts.interfaces.of(Port(port as u16));
        let names = (0..ports).map(|port| interface(port).map(|found| found.name.clone()));
        let injector = Injector::open(names, parts.mark)
            .map_err(|error| QueueError::from_io("opening sockets to send by", error))?;
        let names = parts.interfaces.names().enumerate();
        let names: Vec<_> = names
            .map(|(place, name)| (Port(place as u16), name))
            .collect();
        let feed = match properties.statistics_age {
            Some(_) if !names.is_empty() => Some(Feed::open(&names)?),
            _ => None,
        };
        let mut driver = Driver::new(Member {
            name: String::new(),
            node: parts.node,
        });
        driver.out().set_stopwatch(|| Time::from_ns(now_ns()));
        let ends = parts.queues.into_iter().enumerate();
        Ok(Worker {
            driver,
            ends: ends
                .map(|(index, queue)| End {
                    queue,
                    pending: Pending::new(index as u8),
                    verdicts: Verdicts::default(),
                    numbers: Numbers::default(),
                    missed: 0,
                    dropped: 0,
                })
                .collect(),
            inbox: Inbox::default(),
            interfaces: parts.interfaces,
            by_queue: parts.by_queue,
            injector,
            counters: parts.counters,
            fail: parts.fail,
            changes: properties.changes_frames,
            arrived: (0..ports).map(|_| Vec::new()).collect(),
            leaving: Vec::new(),
            later: (0..ports).map(|_| VecDeque::new()).collect(),
            room: parts.length as usize,
            start: parts.start,
            feed,
            show: 0,
            look: 0,
        })
    }

    fn now(&self) -> Time {
        Time::from_ns(now_ns().saturating_sub(self.start))
    }

    /// Runs until told to stop; then answers what still waits.
    ///
    /// # Errors
    /// When the kernel gives no more packets.
    pub fn run(mut self, stop: &AtomicBool) -> Result<(), HookError> {
        scheduling::exact_timers();
        let mut result = Ok(());
        while result.is_ok() && !stop.load(Ordering::SeqCst) {
            let mut any = false;
            for index in 0..self.ends.len() {
                for _ in 0..CALLS {
                    match self.receive(index) {
                        Ok(0) => break,
                        Ok(_) => any = true,
                        Err(error) => {
                            result = Err(error);
                            break;
                        }
                    }
                }
            }
            any |= self.wake();
            any |= self.leave(false);
            self.answer();
            self.publish(false);
            if !any {
                self.rest();
            }
        }
        self.end();
        result
    }

    /// One call for packets of a queue; how many there were.
    fn receive(&mut self, index: usize) -> Result<usize, HookError> {
        let End { queue, .. } = &self.ends[index];
        let got = self.inbox.receive(&queue.socket);
        let got = got.map_err(|error| QueueError::from_io("reading packets", error))?;
        if got == 0 {
            return Ok(0);
        }
        let now = now_ns();
        for place in 0..got {
            match message::read(self.inbox.message(place)) {
                Some(Incoming::Packet(packet)) => self.packet(index, place, &packet, now),
                Some(Incoming::Acknowledgement(error)) if error != 0 => {
                    Counters::add(&self.counters.counters.refused_verdicts, 1);
                }
                _ => {}
            }
        }
        self.tell();
        self.answer();
        Ok(got)
    }

    /// Makes a frame of a packet.
    fn packet(&mut self, index: usize, place: usize, packet: &Packet, now: u64) {
        let counters = &self.counters.counters;
        let end = &mut self.ends[index];
        let (id, missed) = end.numbers.next(packet.id);
        end.missed += missed;
        let (entered, leaves) = match self.by_queue {
            true => (Port(index as u16), None),
            false => self.interfaces.of_packet(packet),
        };
        let bytes = &self.inbox.message(place)[packet.start..packet.end];
        let (ticket, waiting) = end.pending.add();
        waiting.id = id;
        waiting.read_ns = now;
        waiting.entered = entered;
        waiting.leaves = leaves;
        waiting.interfaces = [packet.from, packet.to];
        waiting.hook = packet.hook;
        waiting.protocol = packet.protocol;
        waiting.len = packet.whole.unwrap_or(bytes.len() as u32);
        waiting.unfinished = packet.unfinished;
        waiting.kept = 0;
        Counters::add(&counters.packets, 1);
        Counters::add(&counters.bytes, waiting.len.into());
        let whole = packet.start >= ETHERNET && packet.whole.is_none();
        if self.changes {
            let kept = bytes.len().min(MAX_HEAD_LEN);
            waiting.head[..kept].copy_from_slice(&bytes[..kept]);
            waiting.kept = kept as u8;
        }
        if packet.start < ETHERNET || (self.changes && !whole) {
            // What is not all there cannot be written back.
            Counters::add(&counters.truncated, 1);
            end.verdicts.put(ticket, unanswered(self.fail));
            return;
        }
        let start = packet.start - ETHERNET;
        let mut frame = self
            .inbox
            .frame(place, start, packet.end, self.driver.out().pool());
        let interface = self.interfaces.of(entered);
        let mac = interface.map_or([0; 6], |interface| interface.mac);
        packets::dress(&mut frame, mac, packet.source, packet.protocol);
        frame.set_arrived(Time::from_ns(now.saturating_sub(self.start)));
        frame.set_ticket(ticket);
        self.arrived[entered.index()].push(frame);
    }

    /// Tells the node what it acts by, where that is too old.
    fn tell_statistics(&mut self) {
        let now = self.now();
        let Some(feed) = &mut self.feed else {
            return;
        };
        let driver = &mut self.driver;
        if driver.statistics_are_due(now) {
            // Of an interface that has gone there is nothing to tell until there is one again.
            let _ = feed.read(now, &mut |event| driver.event(now, &event));
            self.collect();
        }
    }

    /// Tells the node of what has arrived.
    fn tell(&mut self) {
        self.tell_statistics();
        let now = self.now();
        for port in 0..self.arrived.len() {
            if self.arrived[port].is_empty() {
                continue;
            }
            let frames = &mut self.arrived[port];
            self.driver.frames(now, Port(port as u16), frames);
            self.collect();
        }
    }

    /// Wakes the node as often as it wants; whether it did.
    fn wake(&mut self) -> bool {
        for wake in 0..WAKES {
            let now = self.now();
            if self.driver.next_wake().is_none_or(|at| at > now) {
                return wake > 0;
            }
            self.tell_statistics();
            self.driver.wake(now);
            self.collect();
        }
        true
    }

    /// Takes what the node has done.
    fn collect(&mut self) {
        for ticket in self.driver.out().ended() {
            let end = self.ends.get_mut(usize::from(queue_of(ticket)));
            if let Some(end) = end {
                end.verdicts.put(ticket, Answer::Drop);
            }
        }
        let mut leaving = std::mem::take(&mut self.leaving);
        leaving.extend(self.driver.out().sends());
        let told = self.driver.now();
        for Departure { port, when, frame } in leaving.drain(..) {
            let Some(later) = self.later.get_mut(port.index()) else {
                // There is no such port.
                Counters::add(&self.counters.counters.refused, 1);
                self.give_up(frame);
                continue;
            };
            let at = match when {
                When::Now => told,
                When::At(at) => at,
            };
            match later.back() {
                None if at <= told => self.settle(port, frame),
                _ if frame.ticket().is_none() && later.len() >= 2 * self.room => {
                    Counters::add(&self.counters.counters.no_room, 1);
                    self.driver.out().pool().give(frame);
                }
                // Never before one that was sent earlier.
                back => {
                    let at = back.map_or(at, |&(last, _)| at.max(last));
                    later.push_back((at, frame));
                }
            }
        }
        self.leaving = leaving;
    }

    /// Lets frames go whose time has come, or all; whether any went.
    fn leave(&mut self, all: bool) -> bool {
        let now = self.now();
        let mut any = false;
        for port in 0..self.later.len() {
            while let Some((_, frame)) = self.later[port].pop_front_if(|(at, _)| all || *at <= now)
            {
                any = true;
                self.settle(Port(port as u16), frame);
            }
        }
        any
    }

    /// Sends a frame by a port, in whichever way that is done.
    fn settle(&mut self, port: Port, mut frame: Frame) {
        let Some(ticket) = frame.take_ticket() else {
            self.inject(port, frame);
            return;
        };
        let Some(end) = self.ends.get_mut(usize::from(queue_of(ticket))) else {
            self.driver.out().pool().give(frame);
            return;
        };
        let Some(waiting) = end.pending.get(ticket) else {
            self.driver.out().pool().give(frame);
            return;
        };
        let goes_on = match waiting.leaves {
            Some(leaves) => leaves == port,
            None => port != waiting.entered || self.later.len() == 1,
        };
        if goes_on && (!frame.is_changed() || !self.changes) {
            end.verdicts.put(ticket, Answer::Accept);
            self.driver.out().pool().give(frame);
            return;
        }
        let Some((protocol, len)) = packets::packet_of(&frame) else {
            end.verdicts.put(ticket, Answer::Drop);
            Counters::add(&self.counters.counters.no_packet, 1);
            self.driver.out().pool().give(frame);
            return;
        };
        let Waiting {
            unfinished, kept, ..
        } = *waiting;
        if !goes_on || protocol != waiting.protocol {
            end.verdicts.put(ticket, Answer::Drop);
            match unfinished && !self.changes {
                true => {
                    Counters::add(&self.counters.counters.refused, 1);
                    self.driver.out().pool().give(frame);
                }
                false => self.inject(port, frame),
            }
            return;
        }
        // The kernel tells senders of packets that are too big, but of the length that the packet has now: who sent it
        // would not send shorter ones.
        let growth = (len as u32).saturating_sub(waiting.len);
        if growth > 0
            && let Some(leaves) = waiting.leaves
            && !(protocol == packets::IPV4 && packets::may_be_cut(&frame[ETHERNET..]))
            && let mtu = self.injector.mtu(leaves, protocol, &frame[ETHERNET..])
            && let Some(mtu) = mtu.filter(|&mtu| len as u32 > mtu && waiting.len <= mtu)
        {
            let head = &waiting.head[..usize::from(kept)];
            let least = if protocol == packets::IPV4 { 68 } else { 1280 };
            let wanted = mtu.saturating_sub(growth).max(least);
            self.injector.answer(protocol, head, wanted);
            Counters::add(&self.counters.counters.too_big, 1);
            end.verdicts.put(ticket, Answer::Drop);
            self.driver.out().pool().give(frame);
            return;
        }
        if frame.len() > ETHERNET + len {
            frame.resize(ETHERNET + len);
        }
        end.verdicts.put(ticket, Answer::Change(frame));
    }

    /// Sends a frame that the kernel does not wait for.
    fn inject(&mut self, port: Port, frame: Frame) {
        let counters = &self.counters.counters;
        match packets::packet_of(&frame) {
            None => Counters::add(&counters.no_packet, 1),
            Some((protocol, len)) => {
                let packet = &frame[ETHERNET..ETHERNET + len];
                let injected = self.injector.send(port, protocol, packet);
                let count = match injected {
                    Injected::Refused => &counters.refused,
                    Injected::TooBig => &counters.too_big,
                    Injected::Whole | Injected::Pieces => {
                        if injected == Injected::Pieces {
                            Counters::add(&counters.fragmented, 1);
                        }
                        Counters::add(&counters.injected_bytes, len as u64);
                        &counters.injected
                    }
                };
                Counters::add(count, 1);
            }
        }
        self.driver.out().pool().give(frame);
    }

    /// Gives up a frame that the kernel may wait for.
    fn give_up(&mut self, mut frame: Frame) {
        if let Some(ticket) = frame.take_ticket()
            && let Some(end) = self.ends.get_mut(usize::from(queue_of(ticket)))
        {
            end.verdicts.put(ticket, Answer::Drop);
        }
        self.driver.out().pool().give(frame);
    }

    /// Tells the kernel what there is to tell.
    fn answer(&mut self) {
        let counters = &self.counters.counters;
        let mut held = 0;
        for end in &mut self.ends {
            let End {
                queue,
                pending,
                verdicts,
                ..
            } = end;
            if !verdicts.is_empty() {
                let now = now_ns();
                let mut sum = Sum::default();
                let sent = verdicts.send(
                    &queue.socket,
                    queue.number,
                    pending,
                    self.driver.out().pool(),
                    |waiting, answer| {
                        let waited = sum.add(waiting, answer, now);
                        counters.waits.add(waited);
                    },
                );
                sum.count(counters);
                if sent.is_err() {
                    Counters::add(&counters.refused_verdicts, 1);
                }
            }
            held += pending.count() as u64;
        }
        Counters::set(&counters.held, held);
    }

    /// Shows what others may see.
    fn publish(&mut self, always: bool) {
        let now = now_ns();
        if now < self.show && !always {
            return;
        }
        self.show = now + SHOW_NS;
        let looks = now >= self.look || always;
        if looks {
            self.look = now + DROP_POLL_INTERVAL_NS;
        }
        let mut overruns = 0;
        for end in &mut self.ends {
            if looks {
                end.dropped = nfqueue::dropped(end.queue.number);
            }
            overruns += end.missed + end.dropped;
        }
        let (shown, driver) = (self.counters, &mut self.driver);
        Counters::set(&shown.counters.overruns, overruns);
        Counters::set(&shown.counters.processor_ns, processor_ns());
        shown.change(|said| {
            let counters = driver.statistics().counters;
            for (index, (name, count)) in counters.iter().enumerate() {
                put(&mut said.node, index, name, *count);
            }
            said.node.truncate(counters.len());
            for (index, (reason, count)) in driver.out().drops().iter().enumerate() {
                put(&mut said.drops, index, reason, *count);
            }
        });
    }

    /// Waits until something arrives, or something is to be done.
    fn rest(&self) {
        let times = self.later.iter().filter_map(VecDeque::front);
        let times = times.map(|&(at, _)| at).chain(self.driver.next_wake());
        let now = self.now();
        let sleep = times
            .min()
            .map_or(MAX_SLEEP_NS, |at| (at - now).as_ns().min(MAX_SLEEP_NS));
        let mut polls = [wait::readable(-1); interfaces::MAX_INTERFACES];
        for (poll, end) in polls.iter_mut().zip(&self.ends) {
            poll.fd = end.queue.socket.raw();
        }
        // It cannot fail: all descriptors are ours.
        let _ = wait::for_any(&mut polls, Duration::from_nanos(sleep));
    }

    /// No packets come any more: what is there is answered.
    fn end(&mut self) {
        for index in 0..self.ends.len() {
            while self.receive(index).is_ok_and(|got| got > 0) {}
        }
        self.leave(true);
        self.answer();
        self.publish(true);
        for end in &mut self.ends {
            while let Some(ticket) = end.pending.oldest_ticket() {
                end.verdicts.put(ticket, unanswered(self.fail));
                let queue = &end.queue;
                let (pending, pool) = (&mut end.pending, self.driver.out().pool());
                // The kernel drops what waits when the socket is closed.
                let _ = end
                    .verdicts
                    .send(&queue.socket, queue.number, pending, pool, |_, _| ());
            }
        }
    }
}

/// What becomes of a packet that the node does not answer.
fn unanswered(fail: Fail) -> Answer {
    match fail {
        Fail::Open => Answer::Accept,
        Fail::Closed => Answer::Drop,
    }
}

/// Counts of one call, added to those that others see at its end.
#[derive(Default)]
struct Sum {
    accepted: [u64; 2],
    changed: [u64; 2],
    dropped: u64,
    waited: u64,
    longest: u64,
}

impl Sum {
    /// Counts an answer; how long it took, ns.
    fn add(&mut self, waiting: &Waiting, answer: &Answer, now: u64) -> u64 {
        let (count, bytes) = match answer {
            Answer::Accept => (&mut self.accepted, u64::from(waiting.len)),
            Answer::Change(frame) => (&mut self.changed, (frame.len() - ETHERNET) as u64),
            Answer::Drop => {
                self.dropped += 1;
                (&mut [0; 2], 0)
            }
        };
        count[0] += 1;
        count[1] += bytes;
        let waited = now.saturating_sub(waiting.read_ns);
        self.waited += waited;
        self.longest = self.longest.max(waited);
        waited
    }

    fn count(&self, counters: &Counters) {
        for (count, more) in [
            (&counters.accepted, self.accepted[0]),
            (&counters.accepted_bytes, self.accepted[1]),
            (&counters.changed, self.changed[0]),
            (&counters.changed_bytes, self.changed[1]),
            (&counters.dropped, self.dropped),
            (&counters.waited_ns, self.waited),
        ] {
            Counters::add(count, more);
        }
        let longest = counters.longest_ns.load(Ordering::Relaxed);
        Counters::set(&counters.longest_ns, longest.max(self.longest));
    }
}

/// Sets a count in a list in which it has had its place since it came up.
fn put(list: &mut Vec<(String, u64)>, index: usize, name: &str, count: u64) {
    match list.get_mut(index) {
        Some(entry) => {
            if entry.0 != name {
                entry.0 = name.into();
            }
            entry.1 = count;
        }
        None => list.push((name.into(), count)),
    }
}

/// Processor time of this thread, ns.
fn processor_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for the result; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
