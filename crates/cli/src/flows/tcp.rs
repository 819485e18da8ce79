//! What a connection of TCP does, as somebody sees it who is on its way: the rules are those of Wireshark's analysis of
//! sequence numbers, so that both count the same.

use packet::tcp::{TcpOption, TcpView, flag};
use std::collections::VecDeque;

/// A segment that comes within this time behind the one that it should be in front of is out of order, where the round trip is not
/// known: 3 ms.
const SOON: u128 = 3_000_000_000;
/// Of a fast retransmission: so long behind the acknowledgements that asked for it at most, 20 ms.
const FAST: u128 = 20_000_000_000;
/// Segments whose acknowledgement is waited for, each way.
const WAITING: usize = 256;
/// Round trips that are kept; when there are as many, every second one goes.
const SAMPLES: usize = 512;

/// A connection. Direction 0 is from the end that sent the first segment.
#[derive(Default)]
pub struct Connection {
    directions: [Direction; 2],
    /// When the first SYN came, and its way.
    opened: Option<(u128, usize)>,
    answered: bool,
    /// From the first SYN to the acknowledgement that ends the handshake, ps.
    pub handshake: Option<u128>,
    reset: bool,
}

/// What one end sends.
#[derive(Default)]
struct Direction {
    first: Option<u32>,
    /// The number behind the last byte so far, and when that came.
    next: Option<(u32, u128)>,
    /// The last acknowledgement, when it came, and how many more have said the same.
    ack: Option<(u32, u128)>,
    duplicates: u32,
    window: u16,
    fin: bool,
    finished: bool,
    retransmissions: u64,
    out_of_order: u64,
    waiting: VecDeque<Unacknowledged>,
    round_trips: RoundTrips,
}

/// A segment that has not been acknowledged.
struct Unacknowledged {
    end: u32,
    at: u128,
    /// Its timestamp, by which the echo of a second one is told.
    stamp: Option<u32>,
    again: bool,
}

/// How long acknowledgements took, ps.
#[derive(Default)]
pub struct RoundTrips {
    pub count: u64,
    least: u128,
    kept: Vec<u128>,
    /// Every so manieth is kept.
    step: u64,
}

impl RoundTrips {
    fn add(&mut self, time: u128) {
        self.least = if self.count == 0 {
            time
        } else {
            self.least.min(time)
        };
        self.step = self.step.max(1);
        if self.count.is_multiple_of(self.step) {
            if self.kept.len() == SAMPLES {
                let mut index = 0;
                self.kept.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.step *= 2;
            }
            if self.count.is_multiple_of(self.step) {
                self.kept.push(time);
            }
        }
        self.count += 1;
    }

    /// The shortest, ps.
    pub fn least(&self) -> Option<u128> {
        (self.count > 0).then_some(self.least)
    }

    /// The median of those kept, ps: exact up to 512, then of every second, fourth and so on.
    pub fn median(&self) -> Option<u128> {
        let mut kept = self.kept.clone();
        kept.sort_unstable();
        kept.get(kept.len().saturating_sub(1) / 2).copied()
    }
}

/// Whether `a` is before `b`, round the end of the numbers.
fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

impl Connection {
    /// Sees a segment with so many bytes of payload, sent by the end of this way.
    pub fn segment(&mut self, way: usize, tcp: &TcpView<'_>, length: u32, at: u128) {
        let flags = tcp.flags();
        let has = |bit: u8| flags & bit != 0;
        let (seq, marks) = (
            tcp.sequence(),
            u32::from(flags & (flag::SYN | flag::FIN) != 0),
        );
        let end = seq.wrapping_add(length).wrapping_add(marks);
        self.handshake(way, flags, at);
        self.reset |= has(flag::RST);
        let stamps = tcp.options().find_map(|option| match option {
            TcpOption::Timestamps(own, echo) => Some((own, echo)),
            _ => None,
        });
        let known = self.handshake;
        let [a, b] = &mut self.directions;
        let (own, other) = if way == 0 { (a, b) } else { (b, a) };
        own.first.get_or_insert(seq);
        own.fin |= has(flag::FIN);
        let keeps_alive = length <= 1
            && marks == 0
            && !has(flag::RST)
            && own
                .next
                .is_some_and(|(next, _)| seq == next.wrapping_sub(1));
        // A byte into a window that is shut asks whether it still is.
        let probes = length == 1
            && other.window == 0
            && own.next.is_some_and(|(next, _)| seq == next)
            && other.ack.is_some();
        // The other end has it already, though it may not have been seen before.
        let acked = length > 0
            && other
                .ack
                .is_some_and(|(ack, _)| !before(ack, seq.wrapping_add(length)));
        let mut again = false;
        if length + marks > 0
            && !keeps_alive
            && let Some((next, came)) = own.next
            && (acked || before(seq, next))
        {
            let fast = other.duplicates >= 2
                && other
                    .ack
                    .is_some_and(|(ack, when)| ack == seq && at.saturating_sub(when) < FAST);
            let late = at.saturating_sub(came) < known.unwrap_or(SOON) && next != end;
            again = acked || fast || !late;
            match again {
                true => own.retransmissions += 1,
                false => own.out_of_order += 1,
            }
        }
        if !probes && own.next.is_none_or(|(next, _)| before(next, end)) {
            own.next = Some((end, at));
        }
        own.wait_for(
            seq,
            end,
            at,
            stamps.map(|(stamp, _)| stamp),
            again,
            length + marks > 0,
        );
        own.window = tcp.window();
        if has(flag::ACK) {
            let ack = tcp.acknowledgement();
            match own.ack {
                Some((last, _)) if last == ack && length + marks == 0 => own.duplicates += 1,
                Some((last, _)) if last == ack => {}
                _ => own.duplicates = 0,
            }
            own.ack = Some((ack, at));
            other.acknowledged(ack, at, stamps.map(|(_, echo)| echo));
        }
    }

    fn handshake(&mut self, way: usize, flags: u8, at: u128) {
        match (flags & (flag::SYN | flag::ACK), self.opened) {
            (flag::SYN, None) => self.opened = Some((at, way)),
            (both, Some((_, from))) if both == flag::SYN | flag::ACK && way != from => {
                self.answered = true;
            }
            (flag::ACK, Some((opened, from)))
                if self.answered
                    && way == from
                    && self.handshake.is_none()
                    && flags & flag::RST == 0 =>
            {
                self.handshake = Some(at.saturating_sub(opened));
            }
            _ => {}
        }
    }

    /// Whether a SYN with this number begins another connection: this one has not begun with it.
    pub fn is_other_than(&self, sequence: u32) -> bool {
        !self
            .directions
            .iter()
            .any(|way| way.first == Some(sequence))
    }

    /// Segments that came again: those from the first end, and those from the other.
    pub fn retransmissions(&self) -> [u64; 2] {
        self.directions.each_ref().map(|way| way.retransmissions)
    }

    /// Segments out of order, of each end.
    pub fn out_of_order(&self) -> [u64; 2] {
        self.directions.each_ref().map(|way| way.out_of_order)
    }

    /// From here to the receiver of each end's segments and back.
    pub fn round_trips(&self) -> [&RoundTrips; 2] {
        self.directions.each_ref().map(|way| &way.round_trips)
    }

    /// What has become of it.
    pub fn state(&self) -> &'static str {
        let [a, b] = &self.directions;
        match (self.opened.is_some(), self.answered) {
            _ if self.reset && self.opened.is_some() && !self.answered => "refused",
            _ if self.reset => "reset",
            _ if a.finished && b.finished => "complete",
            _ if a.fin && b.fin => "closing",
            _ if a.fin || b.fin => "half closed",
            (true, false) => "no answer",
            _ => "open",
        }
    }
}

impl Direction {
    fn wait_for(
        &mut self,
        seq: u32,
        end: u32,
        at: u128,
        stamp: Option<u32>,
        again: bool,
        fills: bool,
    ) {
        if !fills {
            return;
        }
        if again {
            // Which of both is acknowledged only timestamps tell.
            for old in &mut self.waiting {
                old.again |= before(seq, old.end) && !before(end, old.end);
            }
        }
        if self.waiting.len() == WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back(Unacknowledged {
            end,
            at,
            stamp,
            again,
        });
    }

    /// The other end has everything before `ack`.
    fn acknowledged(&mut self, ack: u32, at: u128, echo: Option<u32>) {
        self.finished |= self.fin && self.next.is_some_and(|(next, _)| !before(ack, next));
        let mut trip = None;
        self.waiting.retain(|old| {
            let done = !before(ack, old.end);
            let told_apart = !old.again || echo.is_some() && echo == old.stamp;
            if done && old.end == ack && told_apart {
                trip = Some(at.saturating_sub(old.at));
            }
            !done
        });
        if let Some(trip) = trip {
            self.round_trips.add(trip);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::checksum::Pseudo;
    use packet::tcp::Tcp;

    const MS: u128 = 1_000_000_000;

    /// Sees a segment at a time in ms.
    fn see(
        connection: &mut Connection,
        at: u128,
        way: usize,
        flags: u8,
        [seq, ack, length]: [u32; 3],
    ) {
        let mut bytes = Vec::new();
        let tcp = Tcp {
            source_port: 1,
            destination_port: 2,
            sequence: seq,
            acknowledgement: ack,
            flags,
            window: 1000,
            urgent: 0,
            options: &[],
        };
        tcp.build(Pseudo::ipv4([0; 4], [0; 4], 6), &mut bytes, |_| {});
        let view = TcpView::new(&bytes).unwrap();
        connection.segment(way, &view, length, at * MS);
    }

    /// A handshake of 10 ms, with numbers that go round.
    fn opened() -> Connection {
        let mut c = Connection::default();
        see(&mut c, 0, 0, flag::SYN, [u32::MAX, 0, 0]);
        see(&mut c, 9, 1, flag::SYN | flag::ACK, [99, 0, 0]);
        see(&mut c, 10, 0, flag::ACK, [0, 100, 0]);
        c
    }

    #[test]
    fn a_connection_is_opened_used_and_closed() {
        let mut c = opened();
        assert_eq!((c.handshake, c.state()), (Some(10 * MS), "open"));
        see(&mut c, 20, 0, flag::ACK | flag::PSH, [0, 100, 500]);
        see(&mut c, 27, 1, flag::ACK, [100, 500, 0]);
        see(&mut c, 30, 0, flag::ACK | flag::FIN, [500, 100, 0]);
        assert_eq!(c.state(), "half closed");
        see(&mut c, 31, 1, flag::ACK | flag::FIN, [100, 501, 0]);
        assert_eq!(c.state(), "closing");
        see(&mut c, 32, 0, flag::ACK, [501, 101, 0]);
        assert_eq!(c.state(), "complete");
        assert_eq!((c.retransmissions(), c.out_of_order()), ([0, 0], [0, 0]));
        let [there, _] = c.round_trips();
        // That of SYN, of data, of FIN.
        assert_eq!(there.count, 3);
        assert_eq!((there.least(), there.median()), (Some(MS), Some(7 * MS)));
    }

    #[test]
    fn what_comes_again_late_is_a_retransmission_and_soon_is_out_of_order() {
        let mut c = opened();
        see(&mut c, 20, 0, flag::ACK, [0, 100, 500]);
        see(&mut c, 21, 0, flag::ACK, [1000, 100, 500]);
        // Within the round trip of the handshake.
        see(&mut c, 22, 0, flag::ACK, [500, 100, 500]);
        assert_eq!((c.retransmissions(), c.out_of_order()), ([0, 0], [1, 0]));
        see(&mut c, 300, 0, flag::ACK, [1000, 100, 500]);
        assert_eq!((c.retransmissions(), c.out_of_order()), ([1, 0], [1, 0]));
        // Karn: nobody knows which of both is acknowledged.
        let before = c.round_trips()[0].count;
        see(&mut c, 310, 1, flag::ACK, [100, 1500, 0]);
        assert_eq!(c.round_trips()[0].count, before);
        // It has been acknowledged.
        see(&mut c, 311, 0, flag::ACK, [0, 100, 500]);
        assert_eq!(c.retransmissions(), [2, 0]);
        // Somebody keeps the connection alive.
        see(&mut c, 900, 0, flag::ACK, [1499, 100, 0]);
        assert_eq!(c.retransmissions(), [2, 0]);
    }

    #[test]
    fn a_syn_without_an_answer_is_told_and_one_that_is_refused() {
        let mut c = Connection::default();
        see(&mut c, 0, 0, flag::SYN, [7, 0, 0]);
        assert_eq!(c.state(), "no answer");
        see(&mut c, 1000, 0, flag::SYN, [7, 0, 0]);
        assert_eq!(c.retransmissions(), [1, 0]);
        assert!(!c.is_other_than(7) && c.is_other_than(8));
        see(&mut c, 1001, 1, flag::RST | flag::ACK, [0, 8, 0]);
        assert_eq!((c.state(), c.handshake), ("refused", None));
    }

    #[test]
    fn round_trips_are_bounded_and_their_median_holds() {
        let mut trips = RoundTrips::default();
        for n in 0..100_000 {
            trips.add(n % 1000 + 1);
        }
        assert!(trips.kept.len() <= SAMPLES);
        assert_eq!((trips.count, trips.least()), (100_000, Some(1)));
        let median = trips.median().unwrap();
        assert!((400..600).contains(&median), "{median}");
    }
}
