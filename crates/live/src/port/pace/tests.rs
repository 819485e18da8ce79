//! A port that keeps what it is given stands in for a real one; nothing here asserts on how late
//! anything was, only that nothing was early or out of order.

use super::*;
use std::sync::Mutex;

type Log = Arc<Mutex<Vec<(u64, Vec<u8>)>>>;

/// Keeps frames and when they came; refuses those that begin with `X`, and goes away at a `G`.
struct Recorder(Log);

impl Transmit for Recorder {
    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, PortError> {
        let mut log = self.0.lock().unwrap();
        for (index, frame) in frames.iter().enumerate() {
            let error = match frame[0] {
                b'X' => PortError::TooShort { len: frame.len() },
                b'G' => PortError::Gone {
                    name: "keeper".into(),
                },
                _ => {
                    log.push((now_ns(), frame.to_vec()));
                    continue;
                }
            };
            return if index > 0 { Ok(index) } else { Err(error) };
        }
        Ok(frames.len())
    }

    fn counters(&self) -> TxCounters {
        TxCounters::default()
    }
}

fn keeper() -> (Log, Pacer) {
    let log = Log::default();
    let pacer = Pacer::start(Box::new(Recorder(log.clone())), Tick::EIGHT_NS).unwrap();
    (log, pacer)
}

fn text(log: &Log) -> String {
    let log = log.lock().unwrap();
    log.iter()
        .map(|(_, frame)| String::from_utf8_lossy(frame))
        .collect()
}

/// Ticks so many ns from now.
fn soon(ns: u64) -> u64 {
    (now_ns() + ns) / 8
}

fn timer(number: u8) -> packet::word::Timer {
    packet::word::Timer::new(number).unwrap()
}

#[test]
fn a_departure_is_never_early() {
    let (log, pacer) = keeper();
    let at: Vec<u64> = (0..50).map(|n| soon(1_000_000 + n * 37_000)).collect();
    for &at in &at {
        pacer.submit(Departure::At(at), b"f").unwrap();
    }
    let report = pacer.finish();
    for (at, (left, _)) in at.iter().zip(log.lock().unwrap().iter()) {
        assert!(*left >= at * 8, "{left} is before {}", at * 8);
    }
    assert_eq!((report.sent, report.unsent), (50, 0));
    assert_eq!(report.timing.frames, 50);
    assert!(report.timing.raw.p50 <= report.timing.raw.max);
}

#[test]
fn a_packet_never_overtakes_one_before_it() {
    let (log, pacer) = keeper();
    let far = soon(5_000_000);
    pacer.submit(Departure::Now, b"a").unwrap();
    pacer.submit(Departure::At(far), b"b").unwrap();
    pacer.submit(Departure::Now, b"c").unwrap();
    pacer.submit(Departure::At(far - 1000), b"d").unwrap();
    pacer.submit(Departure::At(0x10), b"e").unwrap();
    let report = pacer.finish();
    assert_eq!(text(&log), "abcde");
    assert!(log.lock().unwrap()[2].0 >= far * 8);
    assert_eq!(
        report.timing.late, 1,
        "only the last was past when asked for"
    );
}

#[test]
fn a_mark_sets_its_timer_and_later_packets_count_from_it() {
    let (log, pacer) = keeper();
    // All asked for at once, so that a pause of this thread makes none late.
    let packets: [(Departure, &[u8]); 3] = [
        (Departure::Mark(timer(3)), b"m"),
        (Departure::After(timer(3), 125_000), b"a"),
        (Departure::After(timer(3), 250_000), b"b"),
    ];
    pacer.submit_all(packets).unwrap();
    while pacer.timers()[3] == 0 {
        std::thread::yield_now();
    }
    let marked = pacer.timers()[3] * 8;
    let report = pacer.finish();
    let log = log.lock().unwrap();
    assert!(log[0].0 >= marked);
    assert!(log[1].0 >= marked + 1_000_000);
    assert!(log[2].0 >= marked + 2_000_000);
    assert_eq!((report.timing.frames, report.timing.late), (2, 0));
}

#[test]
fn what_the_port_refuses_is_counted_and_the_rest_goes_on() {
    let (log, pacer) = keeper();
    for frame in ["a", "X", "b", "X"] {
        pacer.submit(Departure::Now, frame.as_bytes()).unwrap();
    }
    let report = pacer.finish();
    assert_eq!(text(&log), "ab");
    assert_eq!((report.sent, report.refused, report.unsent), (2, 2, 0));
    assert!(matches!(
        report.refusal,
        Some(PortError::TooShort { len: 1 })
    ));
}

#[test]
fn a_port_that_goes_away_is_reported_and_what_was_left_is_counted() {
    let (log, pacer) = keeper();
    for frame in ["a", "G", "b"] {
        // The thread may have ended before the last one.
        let _ = pacer.submit(Departure::Now, frame.as_bytes());
    }
    while pacer.submit(Departure::Now, b"c").is_ok() {
        std::thread::yield_now();
    }
    let report = pacer.finish();
    assert_eq!(text(&log), "a");
    assert!(report.unsent >= 1);
    assert!(matches!(report.error, Some(PortError::Gone { .. })));
}

#[test]
fn stopping_leaves_what_is_not_due_and_counts_it() {
    let (log, pacer) = keeper();
    pacer.submit(Departure::Now, b"a").unwrap();
    while text(&log).is_empty() {
        std::thread::yield_now();
    }
    pacer
        .submit(Departure::At(soon(3_600_000_000_000)), b"b")
        .unwrap();
    pacer.submit(Departure::Now, b"c").unwrap();
    let report = pacer.stop();
    assert_eq!(text(&log), "a");
    assert_eq!((report.sent, report.unsent), (1, 2));
}

#[test]
fn many_more_packets_than_the_queue_holds_all_arrive_in_order() {
    let (log, pacer) = keeper();
    for n in 0..30_000u32 {
        pacer.submit(Departure::Now, &n.to_be_bytes()).unwrap();
    }
    assert_eq!(pacer.finish().sent, 30_000);
    let log = log.lock().unwrap();
    assert!(log.iter().map(|(_, frame)| &frame[..]).is_sorted());
    assert_eq!(log.len(), 30_000);
}

/// A port that keeps the time itself: what it was given and when, and when that left, to the tick.
#[derive(Default)]
struct Timely {
    given: Arc<Mutex<Vec<(u64, Departure)>>>,
    timers: [u64; 8],
    left: std::collections::VecDeque<u64>,
}

const AHEAD: std::time::Duration = std::time::Duration::from_millis(20);

impl Transmit for Timely {
    fn send(&mut self, _: &[&[u8]]) -> Result<usize, PortError> {
        panic!("what has a departure is scheduled");
    }

    fn timekeeper(&self) -> Option<crate::port::Timekeeper> {
        Some(crate::port::Timekeeper {
            ahead: AHEAD,
            tick: Tick::EIGHT_NS,
        })
    }

    fn schedule(&mut self, departure: Departure, frame: &[u8]) -> Result<(), PortError> {
        if frame[0] == b'X' {
            return Err(PortError::TooShort { len: frame.len() });
        }
        let now = now_ns() / 8 + 1;
        let ticks = match departure {
            Departure::Now | Departure::Mark(_) => now,
            Departure::At(ticks) => ticks.max(now),
            Departure::After(timer, ticks) => self.timers[usize::from(timer.number())] + ticks,
        };
        if let Departure::Mark(timer) = departure {
            self.timers[usize::from(timer.number())] = ticks;
        }
        self.given.lock().unwrap().push((now_ns(), departure));
        self.left.push_back(ticks * 8);
        Ok(())
    }

    fn departed(&mut self, _: std::time::Duration) -> Result<Option<u64>, PortError> {
        Ok(self.left.pop_front())
    }

    fn counters(&self) -> TxCounters {
        TxCounters::default()
    }
}

#[test]
fn a_port_that_keeps_the_time_is_given_departures_ahead_of_it_and_tells_when_they_were() {
    let port = Timely::default();
    let given = port.given.clone();
    let pacer = Pacer::start(Box::new(port), Tick::EIGHT_NS).unwrap();
    let at = soon(200_000_000);
    let departures = [
        Departure::Mark(timer(2)),
        Departure::After(timer(2), 10_000_000),
        Departure::At(at),
        Departure::At(at + 1),
    ];
    for departure in departures {
        pacer.submit(departure, b"frame").unwrap();
    }
    pacer.submit(Departure::Now, b"X").unwrap();
    let watch = pacer.watch();
    let report = pacer.finish();
    let given = given.lock().unwrap();
    let asked: Vec<Departure> = given.iter().map(|(_, departure)| *departure).collect();
    assert_eq!(asked, departures);
    assert!(
        given[2].0 + AHEAD.as_nanos() as u64 >= at * 8,
        "too far ahead"
    );
    assert_eq!((report.sent, report.refused, watch.marks()), (4, 1, 1));
    assert_eq!(watch.stamped_marks(), 1);
    // The three with a time; how late they were is what the port says.
    assert_eq!(report.timing.frames, 3);
    assert!(watch.timers()[2] <= given[1].0 / 8);
}

#[test]
fn what_such_a_port_has_no_time_for_before_the_end_is_not_given_to_it() {
    let port = Timely::default();
    let given = port.given.clone();
    let pacer = Pacer::start(Box::new(port), Tick::EIGHT_NS).unwrap();
    let far = Departure::At(soon(3_600_000_000_000));
    pacer.submit(far, b"frame").unwrap();
    let report = pacer.stop();
    assert_eq!((report.sent, report.unsent), (0, 1));
    assert!(given.lock().unwrap().is_empty());
}
