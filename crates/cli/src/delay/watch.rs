//! A line every second, of what a delay box is doing.

use node::{Event, Frame, Node, Out, Port, Properties, Statistics, Time};
use nodes::delay::Delay;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

/// The counters of each direction, and whether the command ends.
#[derive(Default)]
struct Counters {
    ended: AtomicBool,
    directions: [Direction; 2],
}

#[derive(Default)]
struct Direction {
    packets: AtomicU64,
    bytes: AtomicU64,
    lost: AtomicU64,
    held: AtomicU64,
}

/// A delay box whose counters can be seen from elsewhere while it works.
struct Watched {
    inner: Delay,
    counters: Arc<Counters>,
}

impl Watched {
    fn show(&self) {
        let own = self.counters.directions.iter().zip(self.inner.totals());
        for ((direction, totals), held) in own.zip(self.inner.under_way()) {
            direction.held.store(held as u64, Relaxed);
            direction.packets.store(totals.packets, Relaxed);
            direction.bytes.store(totals.bytes, Relaxed);
            direction.lost.store(totals.lost, Relaxed);
        }
    }
}

impl Node for Watched {
    fn properties(&self) -> Properties {
        self.inner.properties()
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        self.inner.frames(now, port, frames, out);
        self.show();
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        self.inner.wake(now, out);
        self.show();
    }

    fn event(&mut self, now: Time, event: &Event, out: &mut Out) {
        self.inner.event(now, event, out);
        self.show();
    }

    fn next_wake(&self) -> Option<Time> {
        self.inner.next_wake()
    }

    fn statistics(&self) -> Statistics {
        self.inner.statistics()
    }
}

/// The thread that shows it; ends when dropped.
pub struct Watch {
    counters: Arc<Counters>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// A node that does what `delay` does; with the names of its ports, what it does is shown.
    pub fn over(delay: Delay, names: Option<Vec<String>>) -> (Box<dyn Node>, Option<Watch>) {
        let Some(names) = names else {
            return (Box::new(delay), None);
        };
        let counters = Arc::new(Counters::default());
        let watched = Watched {
            inner: delay,
            counters: counters.clone(),
        };
        let seen = counters.clone();
        let thread = std::thread::Builder::new().name("status".into());
        let thread = thread.spawn(move || every_second(&seen, &names)).ok();
        (Box::new(watched), Some(Watch { counters, thread }))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.counters.ended.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
        crate::print::redraw("");
    }
}

fn every_second(counters: &Counters, names: &[String]) {
    let mut last = [(0, 0); 2];
    for second in 1u64.. {
        let end = ::capture::clock::now_ns() + 1_000_000_000;
        loop {
            let left = end.saturating_sub(::capture::clock::now_ns());
            if counters.ended.load(Relaxed) {
                return;
            }
            if left == 0 {
                break;
            }
            std::thread::park_timeout(Duration::from_nanos(left));
        }
        let mut line = format!("{second} s");
        for (index, (direction, last)) in counters.directions.iter().zip(&mut last).enumerate() {
            let now = (
                direction.packets.load(Relaxed),
                direction.bytes.load(Relaxed),
            );
            let (packets, bytes) = (now.0 - last.0, now.1 - last.1);
            *last = now;
            line += &format!(
                "  {} > {}: {packets} pps, {:.3} Mb/s, {} held, {} lost",
                names[index],
                names[1 - index],
                bytes as f64 * 8e-6,
                direction.held.load(Relaxed),
                direction.lost.load(Relaxed),
            );
        }
        crate::print::redraw(&line);
    }
}
