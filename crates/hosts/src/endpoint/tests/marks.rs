//! Congestion marks over random links, with all settings of both ends.

use super::super::ecn::{Ecn, FIRST_COUNT, Mode};
use super::*;
use alloc::format;
use packet::ecn::{CE, ECT_0, ECT_1, NOT_ECT};

const SETTINGS: [Ecn; 5] = [Ecn::Off, Ecn::Passive, Ecn::On, Ecn::Accurate, Ecn::L4s];
const KINDS: [Congestion; 5] = [
    Congestion::Cubic,
    Congestion::Reno,
    Congestion::Dctcp,
    Congestion::Bbr,
    Congestion::None,
];

/// Checks of everything that two ends send and take.
#[derive(Default)]
pub(super) struct Watch {
    ends: [Seen; 2],
    /// Nothing is checked.
    pub is_blind: bool,
    /// Nothing has been lost, copied or held up on the way.
    pub is_faithful: bool,
    pub reductions: u64,
}

/// History of an end.
#[derive(Default)]
struct Seen {
    /// The end of what it has sent.
    sent: Option<u32>,
    /// The next acknowledgement of more than this number must echo a mark.
    unanswered: Option<u32>,
    /// Marked packets that it has taken, and one that is being taken.
    marked: u64,
    taking: bool,
    /// Number of the last reduction's window, see the sender.
    point: Option<u32>,
    /// An acknowledgement with ECE is being taken; new data that leaves must have CWR.
    echoed: bool,
    answers: bool,
    /// Number of the last segment with CWR.
    answered: Option<u32>,
}

impl Watch {
    /// Checks a frame that leaves.
    pub fn leaves(&mut self, ends: &[Endpoint; 2], from: usize, frame: &Frame) {
        if self.is_blind {
            return;
        }
        let packet = header::read(frame).unwrap();
        let segment = Segment::read(&frame[packet.payload..packet.end], packet.ecn).unwrap();
        let (end, seen) = (&ends[from], &mut self.ends[from]);
        let mode = end.ecn.mode;
        if segment.has(SYN) {
            assert_eq!(packet.ecn, NOT_ECT);
            return;
        }
        let last = segment.sequence.wrapping_add(segment.length());
        let is_new = seen.sent.is_none_or(|sent| !behind(sent, segment.sequence));
        let is_data = !segment.payload.is_empty();
        if segment.length() > 0 && is_new {
            seen.sent = Some(last);
        }
        let is_dctcp = end.options.congestion == Congestion::Dctcp;
        let wanted = match (mode, end.options.ecn) {
            (Mode::Off, _) => NOT_ECT,
            _ if !(is_dctcp || is_new && is_data) => NOT_ECT,
            (Mode::Accurate, Ecn::L4s) => ECT_1,
            _ => ECT_0,
        };
        assert_eq!(packet.ecn, wanted, "{mode:?} {:?}", end.options);
        if mode == Mode::Off {
            assert_eq!(segment.ace(), 0);
        }
        if mode == Mode::Classic && is_new && is_data {
            let answers = segment.ace() & 2 != 0;
            let must = core::mem::take(&mut seen.answers) && self.is_faithful;
            assert!(answers || !must, "an echo without an answer");
            if answers {
                // A round trip lies between two answers.
                let first = end.sender.first();
                let is_later = seen.answered.is_none_or(|number| behind(first, number));
                assert!(is_later || !self.is_faithful, "two answers in a round trip");
                seen.answered = Some(segment.sequence);
            }
        } else if mode == Mode::Classic {
            assert_eq!(segment.ace() & 0b110, 0);
        }
        if let Some(number) = seen.unanswered
            && behind(segment.acknowledgement, number)
        {
            assert!(segment.ace() & 1 != 0, "a mark is not echoed");
            seen.unanswered = None;
        }
    }

    /// Notes a frame that an end is about to take.
    pub fn comes(&mut self, ends: &[Endpoint; 2], to: usize, frame: &Frame) {
        let packet = header::read(frame).unwrap();
        let segment = Segment::read(&frame[packet.payload..packet.end], packet.ecn).unwrap();
        let (end, seen) = (&ends[to], &mut self.ends[to]);
        let is_known = end.is_synchronised() || end.state == State::SynReceived;
        let is_acceptable = end.receiver.accepts(segment.sequence, segment.length());
        let is_marked = packet.ecn == CE && is_known && is_acceptable && !segment.has(SYN);
        seen.taking = is_marked;
        let is_after = |number| behind(segment.acknowledgement, number);
        seen.echoed = end.is_synchronised()
            && end.ecn.mode == Mode::Classic
            && segment.ace() & 1 != 0
            && end.sender.first() != end.sender.next()
            && seen.answered.is_none_or(is_after);
        let is_next = segment.sequence == end.receiver.next() && !segment.payload.is_empty();
        let may_read = matches!(end.state, State::Established | State::SynReceived);
        if segment.ace() & 2 != 0 {
            seen.unanswered = None;
        }
        if is_marked && end.ecn.mode == Mode::Classic && is_next && may_read {
            seen.unanswered = Some(segment.sequence);
        }
    }

    /// Checks an end that has taken a frame, unless it has dropped that.
    pub fn took(&mut self, ends: &[Endpoint; 2], to: usize, is_taken: bool) {
        if self.is_blind {
            return;
        }
        let (end, seen) = (&ends[to], &mut self.ends[to]);
        seen.marked += u64::from(core::mem::take(&mut seen.taking) && is_taken);
        if !is_taken {
            seen.unanswered = None;
        }
        if end.ecn.mode == Mode::Accurate {
            let wanted = u64::from(FIRST_COUNT).wrapping_add(seen.marked) as u8;
            assert_eq!(end.feedback.marked(), wanted);
        }
        seen.answers |= core::mem::take(&mut seen.echoed) && is_taken;
        let view = end.sender.view();
        if let Some(point) = view.reduced
            && seen.point != Some(point)
        {
            self.reductions += u64::from(to == 0);
            let is_later = seen.point.is_none_or(|point| behind(view.first, point));
            assert!(is_later, "two reductions in a round trip: {view:?}");
            seen.point = Some(point);
        }
    }
}

/// Changes the bits of ECN, and now and then the counts of the option, and corrects the checksums.
pub(super) fn change(random: &mut Random, frame: &mut Frame) {
    let packet = header::read(frame).unwrap();
    packet::ecn::set(&mut frame[14..], random.below(4) as u8);
    let segment = &mut frame[packet.payload..packet.end];
    segment[12] ^= random.below(2) as u8;
    segment[13] ^= 0x40 * random.below(4) as u8;
    let options = 20..usize::from(segment[12] >> 4) * 4;
    let is_option = |at: &usize| matches!(segment[*at..], [172 | 174, 11, ..]);
    if let Some(at) = options.into_iter().find(is_option) {
        segment[at + 2 + random.below(9) as usize] = random.bits() as u8;
    }
    super::super::segment::fill_checksum(segment, packet.source, packet.destination);
}

/// The options of an end, by chance.
fn any(random: &mut Random, setting: Ecn, kinds: &[Congestion]) -> SocketOptions {
    SocketOptions {
        buffer: [1 << 14, 1 << 17, 8 << 20][random.below(3) as usize],
        congestion: kinds[random.below(kinds.len() as u64) as usize],
        ecn: setting,
        initial_window: 1 + random.below(20) as u32,
        min_rto: Time::from_ms(5 << random.below(7)),
        pacing: random.chance(0.3),
        ..SocketOptions::default()
    }
}

/// Feedback for what the two ends ask for and agree to.
fn agreed(asks: &SocketOptions, answers: &SocketOptions) -> Mode {
    let with_dctcp = |options: &SocketOptions| match (options.ecn, options.congestion) {
        (Ecn::Passive, Congestion::Dctcp) => Ecn::On,
        (setting, _) => setting,
    };
    match (with_dctcp(asks), with_dctcp(answers)) {
        (Ecn::Off | Ecn::Passive, _) | (_, Ecn::Off) => Mode::Off,
        (Ecn::On, _) | (_, Ecn::On) => Mode::Classic,
        _ => Mode::Accurate,
    }
}

#[test]
fn marked_transfers_end_with_all_settings_of_both_ends() {
    let mut modes = [0; 3];
    for seed in 0..600 {
        let mut random = Random::new(seed ^ 0xECD);
        let delay = Time::from_us(100 << random.below(8));
        let is_faithful = random.chance(0.5);
        let mut fault = |chance: f64, most: f64| match !is_faithful && random.chance(chance) {
            true => most * random.unit(),
            false => 0.0,
        };
        let (loss, copies, held) = (fault(0.7, 0.1), fault(0.3, 0.05), fault(0.3, 0.1));
        let marks = [
            [0.0, 0.01, 0.1, 0.5, 1.0][random.below(5) as usize],
            [0.0, 0.1, 1.0][random.below(3) as usize],
        ];
        let queue = if is_faithful {
            u64::MAX
        } else {
            1600 << random.below(9)
        };
        let link = Link {
            loss,
            copies,
            held,
            marks,
            ..Link::new(1 << random.below(8), delay, queue)
        };
        // A window without a limit has no rounds that could be counted.
        let kinds = if is_faithful { &KINDS[..4] } else { &KINDS[..] };
        let mut options = [seed % 5, seed / 5 % 5]
            .map(|setting| any(&mut random, SETTINGS[setting as usize], kinds));
        if is_faithful {
            // No time-out without a loss, though the queue has no limit.
            options
                .iter_mut()
                .for_each(|options| options.min_rto = Time::from_secs(30));
        }
        let total = 1 + random.below(300_000);
        let mut world = World::between(link, options, total, seed);
        world.watch.is_faithful = is_faithful;
        let context = format!("seed {seed}: {link:?} {options:?}");
        while !world.is_done() {
            assert!(world.step(), "{context}: nothing is left to happen");
            assert!(world.now < Time::from_secs(3_000), "{context}");
        }
        let mode = world.ends[0].ecn.mode;
        // A first segment that was lost more than once asks for less.
        if is_faithful {
            assert_eq!(mode, agreed(&options[0], &options[1]), "{context}");
            assert_eq!(mode, world.ends[1].ecn.mode, "{context}");
        }
        modes[mode as usize] += 1;
        if is_faithful && mode == Mode::Accurate && options[0].congestion != Congestion::Dctcp {
            // Every mark has come back to the sender.
            let counted = world.ends[0].sender.reaction().marked() as u8;
            assert_eq!(counted, world.ends[1].feedback.marked(), "{context}");
        }
        let is_told = mode != Mode::Off && marks[0] == 1.0 && is_faithful;
        if is_told && options[0].initial_window > 2 && total > 30_000 {
            assert!(world.watch.reductions > 0, "{context}");
        }
    }
    assert!(modes.iter().all(|count| *count > 100), "{modes:?}");
}

#[test]
fn a_sender_whose_packets_are_all_marked_reduces_its_window_once_a_round_trip() {
    for (kind, factor) in [
        (Congestion::Cubic, 0.7),
        (Congestion::Reno, 0.5),
        (Congestion::Dctcp, 0.5),
    ] {
        for setting in [Ecn::On, Ecn::Accurate] {
            let link = Link {
                marks: [1.0, 0.0],
                ..Link::new(1_000, Time::from_ms(10), u64::MAX)
            };
            let options = SocketOptions {
                ecn: setting,
                congestion: kind,
                initial_window: 40,
                ..SocketOptions::default()
            };
            let mut world = World::new(link, options, 1 << 40, 3);
            world.watch.is_faithful = true;
            let mut falls = alloc::vec![(Time::ZERO, 40.0)];
            while falls.last().is_some_and(|&(_, window)| window > 5.0) {
                world.step();
                let threshold = world.ends[0].sender.view().threshold;
                let (at, before) = falls[falls.len() - 1];
                if threshold < u64::MAX && threshold as f64 / (MSS as f64) < before {
                    let window = threshold as f64 / MSS as f64;
                    let ratio = window / before;
                    assert!(
                        (ratio - factor).abs() < 0.13,
                        "{kind:?}: {falls:?}, {window}"
                    );
                    // The first mark comes back after the handshake and a round trip.
                    let least = Time::from_ms(if at == Time::ZERO { 40 } else { 20 });
                    let waited = world.now - at;
                    assert!(
                        waited >= least && waited < least + Time::from_ms(25),
                        "{waited}"
                    );
                    falls.push((world.now, window));
                }
            }
            assert!(falls.len() > 3);
        }
    }
}

#[test]
fn garbage_in_the_bits_of_ecn_stops_no_transfer() {
    for seed in 0..300 {
        let mut random = Random::new(seed ^ 0xBAD);
        let link = Link {
            garbage: [0.01, 0.3, 1.0][random.below(3) as usize],
            loss: 0.02 * random.unit(),
            marks: [0.1, 0.1],
            ..Link::new(1 << random.below(8), Time::from_ms(1), 200_000)
        };
        let options = [seed % 5, seed / 5 % 5]
            .map(|setting| any(&mut random, SETTINGS[setting as usize], &KINDS));
        let mut world = World::between(link, options, 1 + random.below(200_000), seed);
        world.watch.is_blind = true;
        while !world.is_done() {
            assert!(world.step(), "seed {seed}: {link:?} {options:?}");
            assert!(
                world.now < Time::from_secs(900),
                "seed {seed}: {link:?} {options:?}"
            );
        }
    }
}
