//! Random arrivals, and a line that a discipline feeds.

use node::Time;
use node::random::Random;
use queue::{Decisions, Discipline, Ecn, Facts, Packet, Segment, State, Verdict};
use std::fmt::Write;

/// A packet that arrives at a time.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub at: Time,
    pub packet: Packet,
    /// TCP segment, where the sequence has some.
    pub segment: Option<Segment>,
}

/// Arrivals and a line.
#[derive(Debug)]
pub struct Sequence {
    pub arrivals: Vec<Arrival>,
    /// Time of a byte on the line, ps.
    pub byte: u64,
    /// Divisor of all times but the first, ps.
    pub grid: u64,
    /// TCP segments of the arrivals, as bytes; empty where the sequence has none.
    pub tcp: Vec<Option<Vec<u8>>>,
}

impl Sequence {
    /// `count` packets of some flows, in bursts and gaps, at a load from a third to four times the
    /// line's rate.
    pub fn random(random: &mut Random, count: usize) -> Sequence {
        let byte = 1 + random.below(100_000);
        let flows = 1 + random.below(12);
        let load = 30 + random.below(400);
        let largest = [64, 1_514, 1_514, 1_514, 9_000][random.index(5)];
        // A source without ECN, one of each kind, or a mix.
        let ecn = random.below(6) as u8;
        let burst = 1 + random.below(30);
        // In a third of the sequences all times are multiples of half a packet, so that events
        // coincide.
        let grid = if random.below(3) == 0 { 500 } else { 1 };
        let mut at = random.below(1_000_000_000);
        let mut arrivals = Vec::with_capacity(count);
        while arrivals.len() < count {
            let together = (1 + random.below(burst)) as usize;
            let mut bytes = 0;
            for _ in 0..together.min(count - arrivals.len()) {
                let len = match random.below(20) {
                    0 => 0,
                    1 => largest * 3,
                    2..8 => 60,
                    _ => random.below(largest + 1),
                };
                let len = len.next_multiple_of(grid);
                bytes += len;
                // Small numbers are frequent: one flow has most of the load.
                let shares = 1 + random.below(flows);
                let flow = random.below(shares) as u32;
                let facts = Facts {
                    flow: flow.wrapping_mul(0x9E37_79B9) ^ 0x1234_5678,
                    source: flow / 3,
                    destination: flow % 2,
                    dscp: [0, 8, 46, 34, 48, 10][random.index(6)],
                    ecn: Ecn::from_bits(if ecn < 4 { ecn } else { random.below(4) as u8 }),
                    priority: random.below(16) as u8,
                    queue: random.below(50) as u32,
                };
                let handle = arrivals.len() as u32;
                arrivals.push(Arrival {
                    at: Time::from_ps(at.next_multiple_of(grid * byte)),
                    packet: Packet::new(handle, len as u32, facts),
                    segment: None,
                });
                at += random.below(byte);
            }
            let mean = bytes * byte * 100 / load;
            at += random.below(2 * mean + 1);
            // A pause in which queues drain.
            if random.below(40) == 0 {
                at += random.below(60 * 1_514 * byte);
            }
        }
        Sequence {
            arrivals,
            byte,
            grid: grid * byte,
            tcp: Vec::new(),
        }
    }

    /// Time of a full-sized packet on the line, ps.
    pub fn packet_time(&self) -> u64 {
        1_000 * self.byte
    }

    /// As JSON: lists of numbers.
    pub fn json(&self) -> String {
        let mut text = String::from("[");
        for (n, Arrival { at, packet, .. }) in self.arrivals.iter().enumerate() {
            let f = packet.facts;
            let comma = if n > 0 { "," } else { "" };
            let (at, ecn) = (at.as_ps(), f.ecn as u8);
            write!(
                text,
                "{comma}[{at},{},{},{},{},{},{ecn},{},{}",
                packet.len, f.flow, f.source, f.destination, f.dscp, f.priority, f.queue
            )
            .unwrap();
            if let Some(Some(tcp)) = self.tcp.get(n) {
                let bytes: String = tcp.iter().map(|byte| format!("{byte:02x}")).collect();
                write!(text, ",\"{bytes}\"").unwrap();
            }
            text.push(']');
        }
        text + "]"
    }
}

/// Feeds a line from a discipline until both the arrivals and the backlog have ended. An arrival
/// comes before a departure of the same time. `see` gets each departure. Returns departures, drops
/// and marks in order.
pub fn drive(
    queue: &mut dyn Discipline,
    sequence: &Sequence,
    mut see: impl FnMut(Time, &Packet, &dyn Discipline),
) -> String {
    let (mut trace, mut out) = (String::new(), Decisions::new());
    let (mut now, mut free) = (Time::ZERO, Time::ZERO);
    let mut arrivals = sequence.arrivals.iter().peekable();
    let mut idle = 0;
    loop {
        let from = now.max(free);
        let poll = queue.next_time(from);
        assert!(poll.is_none_or(|poll| poll >= from), "{poll:?} {from:?}");
        assert_eq!(poll.is_none(), queue.backlog().is_empty(), "{queue:?}");
        let mut sent = None;
        if let Some(arrival) = arrivals.next_if(|next| poll.is_none_or(|poll| next.at <= poll)) {
            now = arrival.at;
            let segment = arrival.segment.as_ref();
            queue.enqueue_segment(now, arrival.packet, segment, &mut out);
        } else if let Some(poll) = poll {
            now = poll;
            let before = queue.backlog();
            sent = queue.dequeue(now, &mut out);
            if sent.is_none() {
                let next = queue.next_time(now);
                assert!(next.is_none_or(|next| next > now), "{next:?} {now:?}");
                idle = if before == queue.backlog() {
                    idle + 1
                } else {
                    0
                };
                assert!(idle < 10, "no progress at {now}: {queue:?}");
            }
        } else {
            return trace;
        }
        for decision in out.drain(..) {
            let verdict = match decision.verdict {
                Verdict::Dropped => 'd',
                Verdict::Marked => 'm',
            };
            let reason = decision.reason.name().replace(' ', "_");
            let handle = decision.packet.handle;
            let state = numbers(&decision.state);
            write!(trace, "{verdict}{handle}:{reason}{state}@{} ", now.as_ps()).unwrap();
            assert_eq!(decision.at, now);
        }
        if let Some(packet) = sent {
            idle = 0;
            free = now + Time::from_ps(sequence.byte) * u64::from(packet.len);
            write!(trace, "s{}@{} ", packet.handle, now.as_ps()).unwrap();
            see(now, &packet, queue);
        }
    }
}

/// A state as its numbers, without random ones.
fn numbers(state: &State) -> String {
    let numbers: Vec<u128> = match *state {
        State::None => vec![],
        State::Threshold { sojourn, threshold } => {
            vec![sojourn.as_ps().into(), threshold.as_ps().into()]
        }
        State::Codel {
            sojourn,
            dropping,
            count,
            drop_next,
        } => {
            let [sojourn, next] = [sojourn, drop_next].map(|time| time.as_ps().into());
            vec![sojourn, dropping.into(), count.into(), next]
        }
        State::Red {
            average,
            probability,
            count,
            ..
        } => vec![average.into(), probability.into(), count.into()],
        State::Probability {
            probability, delay, ..
        } => vec![probability.into(), delay.as_ps().into()],
        State::Coupled {
            base, probability, ..
        } => vec![base.into(), probability.into()],
        State::Fattest { bytes } => vec![bytes.into()],
        State::Superseded { own, later } => vec![own.into(), later.into()],
        State::Tokens { tokens, needed } => vec![tokens, needed],
    };
    format!("{numbers:?}").replace(' ', "")
}
