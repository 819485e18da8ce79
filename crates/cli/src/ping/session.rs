//! A node that sends probes, on a port: its departures are measured, and answers have the port's stamps.

use ::capture::clock::{epoch_ns, now_ns};
use ::capture::signal::stop_requested;
use anyhow::bail;
use live::port::Receive;
use live::port::pace::Pacer;
use node::{Node, Out, Port, Time};
use packet::word::{Departure, Tick, Timer};
use std::time::Duration;

/// Maximum interval between two passes of the loop.
const POLL_INTERVAL: Time = Time::from_ms(50);
/// A departure that takes longer than this has not been.
const STUCK_NS: u64 = 2_000_000_000;

/// A node that sends one probe at a time.
pub trait Prober: Node {
    /// Report of one answer.
    type Answer;
    /// Number of probes sent.
    fn sent(&self) -> u64;
    /// The last probe really left at `at`.
    fn departed(&mut self, at: Time);
    /// Whether nothing is left to do.
    fn is_over(&self) -> bool;
    /// The answer that the last call has brought.
    fn take_answer(&mut self) -> Option<Self::Answer>;
}

/// The port's counter, in ticks from the start, as the node's time.
#[derive(Clone, Copy)]
pub struct Clock {
    tick: Tick,
    zero: u128,
}

impl Clock {
    pub fn new(tick: Tick) -> Clock {
        let mut clock = Clock { tick, zero: 0 };
        clock.zero = clock.ps(now_ns());
        clock
    }

    /// Cut to whole ticks, as a word has them.
    fn ps(&self, ns: u64) -> u128 {
        self.tick.ps(self.tick.count(u128::from(ns) * 1000))
    }

    fn time(&self, ns: u64) -> Time {
        let ps = self.ps(ns).saturating_sub(self.zero);
        Time::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
    }

    fn of_ticks(&self, ticks: u64) -> Time {
        let ps = self.tick.ps(ticks).saturating_sub(self.zero);
        Time::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
    }

    /// Current time.
    pub fn now(&self) -> Time {
        self.time(now_ns())
    }

    /// Unix time of time 0.
    pub fn epoch(&self) -> Duration {
        let zero_ns = u64::try_from(self.zero / 1000).unwrap_or(u64::MAX);
        Duration::from_nanos(epoch_ns().saturating_add(zero_ns))
    }
}

/// A node on a port.
pub struct Session<'a, N> {
    pub node: N,
    pub pacer: &'a Pacer,
    pub out: Out,
    pub clock: Clock,
}

impl<N: Prober> Session<'_, N> {
    /// Until all is done, or a signal asks for the end; `tell` gets the answers of each pass.
    pub fn run(
        &mut self,
        rx: &mut dyn Receive,
        tell: &mut dyn FnMut(&mut Vec<N::Answer>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        live::scheduling::for_node();
        let mut answers = Vec::new();
        while !stop_requested() && !self.node.is_over() {
            let now = self.clock.now();
            let wake = self.node.next_wake().unwrap_or(Time::MAX);
            if wake <= now {
                let sent = self.node.sent();
                self.node.wake(now, &mut self.out);
                self.leave(self.node.sent() > sent)?;
                continue;
            }
            let wait = Duration::from_nanos((wake - now).as_ns().min(POLL_INTERVAL.as_ns()) + 1);
            let Session {
                node, out, clock, ..
            } = self;
            rx.receive(wait, &mut |packet| {
                let mut frame = out.pool().take_with(packet.bytes);
                frame.set_arrived(clock.time(packet.at_ns));
                node.frames(clock.now(), Port(0), &mut vec![frame], out);
                answers.extend(node.take_answer());
            })?;
            self.leave(false)?;
            tell(&mut answers)?;
        }
        Ok(())
    }

    /// Sends what the node has given; `marked`: the port's timer keeps when that really was.
    fn leave(&mut self, marked: bool) -> anyhow::Result<()> {
        let timer = Timer::new(1).expect("there is a timer 1");
        let watch = self.pacer.watch();
        let mut marked = marked;
        for departure in self.out.sends() {
            // A probe leaves with the first of its fragments.
            let marked = std::mem::take(&mut marked);
            let (before, refused) = (watch.marks(), watch.refused());
            let word = match marked {
                true => Departure::Mark(timer),
                false => Departure::Now,
            };
            self.pacer.submit(word, &departure.frame)?;
            if !marked {
                continue;
            }
            let begin = now_ns();
            while watch.marks() == before {
                if now_ns() > begin + STUCK_NS || stop_requested() {
                    break;
                }
                std::thread::park_timeout(Duration::from_micros(5));
            }
            if watch.refused() > refused {
                bail!("the port refuses probes of this size; choose a smaller --size");
            }
            if watch.marks() > before {
                self.node.departed(self.clock.of_ticks(watch.timers()[1]));
            }
        }
        Ok(())
    }
}
