//! Two ends over a random link, with a clock that the test moves: invariants that hold in every run.

mod marks;
mod packetdrill;
mod vectors;

use super::segment::{FIN, SYN};
use super::*;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

const MSS: u64 = 1460;
const INITIAL: u64 = 10 * MSS;

/// A link of one rate and delay with a bounded queue, which loses, copies and holds up frames.
#[derive(Clone, Copy, Debug)]
struct Link {
    bytes_a_second: u64,
    delay: Time,
    /// Bytes that may wait.
    queue: u64,
    loss: f64,
    copies: f64,
    /// Share of frames that are held up, by up to twice the delay.
    held: f64,
    /// Share of ECN-capable packets that are marked, in each direction by the sending end.
    marks: [f64; 2],
    /// Share of frames whose bits of ECN are changed, those of first segments too.
    garbage: f64,
    /// Nothing passes from the first time to before the second.
    down: (Time, Time),
}

impl Link {
    fn new(megabits: u64, delay: Time, queue: u64) -> Link {
        Link {
            bytes_a_second: megabits * 125_000,
            delay,
            queue,
            loss: 0.0,
            copies: 0.0,
            held: 0.0,
            marks: [0.0; 2],
            garbage: 0.0,
            down: (Time::MAX, Time::MAX),
        }
    }
}

/// Frames that an end has sent, not yet on the link.
#[derive(Default)]
struct Sent(Vec<Frame>);

impl Egress for Sent {
    fn send(&mut self, _: Time, _: IpAddr, _: When, frame: Frame, _: &mut Out) {
        self.0.push(frame);
    }
}

/// A transfer from one end to the other.
struct World {
    link: Link,
    now: Time,
    random: Random,
    out: Out,
    stack: Stack,
    ends: [Endpoint; 2],
    due: [Time; 2],
    /// Frames under way by their arrival and a number: for which end.
    frames: BTreeMap<(Time, u64), (usize, Frame)>,
    number: u64,
    /// When the last bit that waits for the link leaves, by the sending end.
    free: [Time; 2],
    /// Bytes given to the sender, and those that were read.
    given: u64,
    read: u64,
    total: u64,
    /// Whether the sender closes behind its data.
    closes: bool,
    /// Whether the receiver reports nothing but the next number.
    plain: bool,
    /// Bytes of data that the sender has sent.
    left: u64,
    /// When each number was sent last.
    sent: BTreeMap<u32, Time>,
    /// The right edge of the receiver's window, as the sender has heard.
    edge: Option<u32>,
    time_outs: u64,
    /// Checks of everything that the ends send and take.
    watch: marks::Watch,
}

fn pattern(at: u64) -> u8 {
    (at ^ (at >> 8) ^ (at >> 16)) as u8
}

impl World {
    fn new(link: Link, options: SocketOptions, total: u64, seed: u64) -> World {
        World::between(link, [options; 2], total, seed)
    }

    /// With options of their own for the two ends.
    fn between(link: Link, options: [SocketOptions; 2], total: u64, seed: u64) -> World {
        let mut stack = Stack::new(1500, seed);
        let [own, remote] = ["10.0.0.1:1000", "10.0.0.2:2000"].map(|end| end.parse().unwrap());
        let mut first = Endpoint::opening(&mut stack, own, remote, options[0]).unwrap();
        let mut second = Endpoint::waiting(&stack, remote, options[1]);
        if seed.is_multiple_of(2) {
            first.offer_timestamps(Time::ZERO, seed as u32);
            second.offer_timestamps(Time::ZERO, 7);
        }
        World {
            link,
            now: Time::ZERO,
            random: Random::new(seed),
            out: Out::default(),
            stack,
            ends: [first, second],
            due: [Time::ZERO, Time::MAX],
            frames: BTreeMap::new(),
            number: 0,
            free: [Time::ZERO; 2],
            given: 0,
            read: 0,
            total,
            closes: true,
            plain: false,
            left: 0,
            sent: BTreeMap::new(),
            edge: None,
            time_outs: 0,
            watch: marks::Watch::default(),
        }
    }

    /// Puts a frame on the link.
    fn carry(&mut self, from: usize, mut frame: Frame) {
        let link = self.link;
        if self.random.chance(link.marks[from]) {
            packet::ecn::mark(&mut frame);
        }
        if self.random.chance(link.garbage) {
            marks::change(&mut self.random, &mut frame);
        }
        let begins = self.free[from].max(self.now);
        let waiting = (begins - self.now).as_secs_f64() * link.bytes_a_second as f64;
        let is_down = self.now >= link.down.0 && self.now < link.down.1;
        if waiting as u64 > link.queue || is_down || self.random.chance(link.loss) {
            return;
        }
        let takes = frame.len() as u64 * 1_000_000_000_000 / link.bytes_a_second;
        self.free[from] = begins + Time::from_ps(takes);
        let mut arrives = self.free[from] + link.delay;
        if self.random.chance(link.held) {
            arrives += Time::from_ps(self.random.below(2 * link.delay.as_ps()));
        }
        if self.random.chance(link.copies) {
            let copy = frame.clone();
            self.number += 1;
            let later = arrives + Time::from_ps(self.random.below(link.delay.as_ps()));
            self.frames.insert((later, self.number), (1 - from, copy));
        }
        self.number += 1;
        self.frames
            .insert((arrives, self.number), (1 - from, frame));
    }

    /// Lets the programs of an end write and read, and drives it.
    fn attend(&mut self, end: usize, mut egress: Sent) {
        let before = self.ends[0].sender.view().time_out;
        while end == 0 && self.given < self.total && self.ends[0].is_open() {
            let left = self.total - self.given;
            let room = self.ends[0].room(left).min(10_000);
            if room == 0 {
                break;
            }
            let bytes: Vec<u8> = (0..room as u64)
                .map(|at| pattern(self.given + at))
                .collect();
            let taken = self.ends[0].send_slice(&bytes).unwrap();
            assert!(taken > 0);
            self.given += taken as u64;
        }
        if end == 0 && self.given == self.total && self.closes && self.ends[0].is_open() {
            self.ends[0].close();
        }
        while end == 1 && self.ends[1].can_recv() {
            let at = self.read;
            let is_right = |bytes: &[u8]| {
                let mut wanted = (0..).map(|index| pattern(at + index));
                bytes.iter().all(|byte| wanted.next() == Some(*byte))
            };
            let (count, good) = self.ends[1]
                .recv(|bytes| (bytes.len(), (bytes.len(), is_right(bytes))))
                .unwrap();
            assert!(good, "wrong bytes behind {at}");
            self.read += count as u64;
        }
        if end == 1 && self.ends[1].has_heard_all() && self.ends[1].is_open() {
            self.ends[1].close();
        }
        self.due[end] = self.ends[end].drive(self.now, &mut egress, &mut self.out);
        self.time_outs += u64::from(self.ends[0].sender.view().time_out > before);
        assert!(self.due[end] > self.now, "{:?}", self.link);
        if end == 0 {
            self.check(&egress.0);
        }
        for frame in &egress.0 {
            self.watch.leaves(&self.ends, end, frame);
        }
        for frame in egress.0 {
            self.carry(end, frame);
        }
    }

    /// Checks that the last segments break no rule.
    fn check(&mut self, frames: &[Frame]) {
        let view = self.ends[0].sender.view();
        assert_eq!(view.in_flight + view.sacked + view.lost, view.outstanding);
        let mut data = false;
        for frame in frames {
            let packet = header::read(frame).unwrap();
            let segment = Segment::read(&frame[packet.payload..packet.end], packet.ecn).unwrap();
            if segment.length() == 0 || segment.has(SYN) {
                continue;
            }
            data = true;
            let end = segment.sequence.wrapping_add(segment.length());
            let edge = self.edge.expect("it has heard of a window");
            let beyond = end.wrapping_sub(u32::from(segment.has(FIN)));
            assert!(!behind(beyond, edge), "more than the receiver takes");
            // A segment is sent again at the earliest when an answer to the last copy may have come.
            let last = self.sent.insert(segment.sequence, self.now);
            if let Some(last) = last {
                assert!(
                    self.now >= last + self.link.delay * 2,
                    "{:?}: {} sent at {last} and {}",
                    self.link,
                    segment.sequence,
                    self.now
                );
            }
            self.left += segment.payload.len() as u64;
        }
        if data {
            // A tail loss probe may be beyond the window.
            let most = view.window.max(MSS) + MSS;
            assert!(view.pipe <= most, "{} of {}", view.pipe, view.window);
        }
    }

    /// Takes the next event; `false` when there is none.
    fn step(&mut self) -> bool {
        let frame = self.frames.first_key_value().map(|((at, _), _)| *at);
        let due = self.due[0].min(self.due[1]);
        let next = frame.unwrap_or(Time::MAX).min(due);
        if next == Time::MAX {
            return false;
        }
        self.now = next;
        let (left, delivered) = (self.left, self.delivered());
        let before = self.ends[0].sender.view();
        // Whether nothing waited to be sent but for the receiver's window, or for bytes of the program.
        let end = before.first.wrapping_add(before.outstanding as u32);
        let is_limited = (self.ends[0].send_queue() as u64) < before.outstanding + MSS
            || self
                .edge
                .is_none_or(|edge| edge.wrapping_sub(end) < MSS as u32);
        if frame == Some(next) {
            let (_, (end, frame)) = self.frames.pop_first().expect("just seen");
            if end == 0 {
                self.hear(&frame);
            }
            let mut egress = Sent::default();
            self.watch.comes(&self.ends, end, &frame);
            let stack = &mut self.stack;
            let taken = self.ends[end].segment(stack, self.now, &frame, &mut egress, &mut self.out);
            if self.plain {
                for end in &mut self.ends {
                    end.sender.has_sack = false;
                }
            }
            self.watch.took(&self.ends, end, taken.is_ok());
            self.attend(end, egress);
        } else {
            self.attend(usize::from(self.due[1] == next), Sent::default());
        }
        // No burst: delivered bytes let as many leave, in slow start twice as many. A full window or buffer is
        // filled at once when a gap closes.
        let left = self.left - left;
        let delivered = self.delivered() - delivered;
        let after = self.ends[0].sender.view();
        // A reduction that is taken back lets an initial window leave at once.
        let is_undone = after.threshold > before.threshold;
        let undone = if is_undone { INITIAL } else { 0 };
        assert!(
            left <= 2 * (delivered + MSS) + undone || is_limited,
            "{left} bytes after {delivered} at {}, {:?}: {before:?}, {after:?}",
            self.now,
            self.link
        );
        true
    }

    /// Notes the window that a segment announces.
    fn hear(&mut self, frame: &Frame) {
        let packet = header::read(frame).unwrap();
        let segment = Segment::read(&frame[packet.payload..packet.end], packet.ecn).unwrap();
        let scale = match segment.has(SYN) {
            true => 0,
            false => self.ends[0].scale.unwrap_or(0),
        };
        let edge = segment
            .acknowledgement
            .wrapping_add(u32::from(segment.window) << scale);
        if segment.has(ACK) && self.edge.is_none_or(|known| behind(edge, known)) {
            self.edge = Some(edge);
        }
    }

    /// Bytes that the sender knows to have arrived.
    fn delivered(&self) -> u64 {
        let end = &self.ends[0];
        let view = end.sender.view();
        match end.is_synchronised() {
            true => u64::from(view.first.wrapping_sub(end.handshake.number)) + view.sacked,
            false => 0,
        }
    }

    fn is_done(&self) -> bool {
        self.read == self.total && self.ends[0].send_queue() == 0
    }
}

fn options(congestion: Congestion, buffer: usize) -> SocketOptions {
    SocketOptions {
        buffer,
        congestion,
        ..SocketOptions::default()
    }
}

#[test]
fn bbr_measures_the_round_trip_each_ten_seconds_with_four_segments() {
    let link = Link::new(20, Time::from_ms(10), 8 << 20);
    let mut world = World::new(link, options(Congestion::Bbr, 8 << 20), 1 << 40, 2);
    let mut low = Vec::new();
    while world.now < Time::from_secs(33) {
        world.step();
        let is_low =
            world.now > Time::from_secs(1) && world.ends[0].sender.view().window <= 4 * MSS;
        match low.last_mut() {
            Some((_, end)) if is_low && world.now < *end + Time::from_ms(100) => *end = world.now,
            _ if is_low => low.push((world.now, world.now)),
            _ => {}
        }
    }
    assert_eq!(low.len(), 3, "{low:?}");
    for (index, (begins, ends)) in low.iter().enumerate() {
        let wanted = 10.0 * (index + 1) as f64;
        assert!((begins.as_secs_f64() - wanted).abs() < 1.0, "{low:?}");
        let lasts = *ends - *begins;
        assert!(
            lasts >= Time::from_ms(200) && lasts < Time::from_ms(300),
            "{low:?}"
        );
    }
    // Two round trips in 10 s have less than the rate.
    assert!(
        world.read as f64 > 0.9 * 33.0 * 2_500_000.0 * 1460.0 / 1514.0,
        "{}",
        world.read
    );
}

fn congestion(seed: u64) -> Congestion {
    [Congestion::Cubic, Congestion::Reno][(seed / 2 % 2) as usize]
}

#[test]
fn a_transfer_ends_over_every_link_that_delivers_nine_frames_of_ten() {
    let mut time_outs = 0;
    for seed in 0..300 {
        let (mut random, plain) = (Random::new(seed), seed % 5 == 4);
        let rate = 1 << random.below(8);
        let delay = Time::from_us(100 << random.below(9));
        let share = |index: u64, shares: &[f64]| match plain {
            true => 0.0,
            false => shares[index as usize],
        };
        let link = Link {
            // The loss of both directions together.
            loss: 0.1 * random.unit(),
            // Without reports copies, and acknowledgements that overtake each other, look like losses.
            copies: share(random.below(2), &[0.0, 0.02]),
            held: share(random.below(3), &[0.0, 0.0, 0.05]),
            ..Link::new(rate, delay, 1600 << random.below(9))
        };
        let buffer = [1 << 14, 1 << 16, 8 << 20, 8 << 20][random.below(4) as usize];
        let total = 1 + random.below(400_000);
        let mut world = World::new(link, options(congestion(seed), buffer), total, seed);
        world.plain = plain;
        while !world.is_done() {
            assert!(
                world.step(),
                "seed {seed}: nothing is left to happen, {link:?}"
            );
            assert!(world.now < Time::from_secs(900), "seed {seed}: {link:?}");
        }
        time_outs += world.time_outs;
    }
    assert!(time_outs > 100, "{time_outs}");
}

#[test]
fn after_a_time_out_the_window_grows_as_in_slow_start() {
    for seed in 0..8 {
        let link = Link {
            down: (Time::from_secs(2), Time::from_secs(4)),
            ..Link::new(100, Time::from_ms(10), 400_000)
        };
        let all = options(congestion(seed), 8 << 20);
        let mut world = World::new(link, all, 1 << 40, seed);
        while world.now < Time::from_secs(4) {
            world.step();
        }
        assert!(world.time_outs > 0);
        let read = world.read;
        // The next retransmission leaves up to two seconds later; then the window doubles in each round trip.
        while world.now < Time::from_secs(8) {
            world.step();
        }
        let window = world.ends[0].sender.view().window;
        assert!(window > 60 * MSS, "seed {seed}: {window}");
        let share = (world.read - read) as f64 / (2.0 * 12_500_000.0);
        assert!(share > 0.8, "seed {seed}: {share}");
    }
}

#[test]
fn an_idle_connection_begins_again_with_the_initial_window() {
    for seed in 0..4 {
        let link = Link::new(100, Time::from_ms(10), 8 << 20);
        let all = options(congestion(seed), 8 << 20);
        let mut world = World::new(link, all, 4_000_000, seed);
        world.closes = false;
        while !world.is_done() {
            world.step();
        }
        let view = world.ends[0].sender.view();
        assert!(view.window > 2 * INITIAL, "{view:?} at {}", world.now);
        world.now += Time::from_secs(5);
        world.ends[0].send_zeros(500_000).unwrap();
        let mut egress = Sent::default();
        world.ends[0].drive(world.now, &mut egress, &mut world.out);
        assert_eq!(egress.0.len(), 10);
    }
}

#[test]
fn only_somebody_opens_a_connection_and_only_to_somebody() {
    let mut stack = Stack::new(1500, 1);
    let mut opens = |own: &str, remote: &str| {
        let options = SocketOptions {
            buffer: 4096,
            ..SocketOptions::default()
        };
        let [own, remote] = [own, remote].map(|end| end.parse().unwrap());
        Endpoint::opening(&mut stack, own, remote, options).is_some()
    };
    assert!(opens("10.0.0.1:1", "10.0.0.2:2"));
    assert!(opens("[fd00::1]:1", "[fd00::2]:2"));
    for nobody in ["255.255.255.255:1", "224.0.0.1:1", "0.0.0.0:1"] {
        assert!(!opens(nobody, "10.0.0.2:2"), "from {nobody}");
        assert!(!opens("10.0.0.2:2", nobody), "to {nobody}");
    }
    for nobody in ["[ff02::1]:1", "[::]:1"] {
        assert!(!opens(nobody, "[fd00::2]:2"), "from {nobody}");
        assert!(!opens("[fd00::2]:2", nobody), "to {nobody}");
    }
}
