//! ECN segment by segment: what an end answers to segments made by hand. Expected bits are those of RFC 3168, RFC 8257 and RFC 9768, and of
//! the tests in Linux's `tools/testing/selftests/net/packetdrill`.

use super::super::ecn::{Ace, Ecn, Mode, flags};
use super::super::segment::{CWR, Header, Options, PSH};
use super::*;
use packet::ecn::{CE, ECT_0, ECT_1, NOT_ECT};
use packet::tcp::TcpView;
use packet::tcp::flag::ECE;

const SIZE: usize = 1_000;
const PEER_FIRST: u32 = 1_000;
const SETTINGS: [Ecn; 5] = [Ecn::Off, Ecn::Passive, Ecn::On, Ecn::Accurate, Ecn::L4s];

/// A segment that the end has sent.
#[derive(Debug, Clone)]
struct Reply {
    flags: u8,
    ace: Ace,
    codepoint: u8,
    /// Relative to the first numbers of the two ends.
    sequence: u32,
    number: u32,
    /// Kind and fields of the option of accurate ECN.
    option: Option<(u8, Vec<u32>)>,
    blocks: usize,
}

/// An end, and the hand that plays its peer.
struct Hand {
    stack: Stack,
    end: Endpoint,
    now: Time,
    out: Out,
}

impl Hand {
    fn ends() -> [SocketAddr; 2] {
        ["10.0.0.1:1000", "10.0.0.2:2000"].map(|end| end.parse().unwrap())
    }

    fn waiting(options: SocketOptions) -> Hand {
        let stack = Stack::new(1500, 1);
        let end = Endpoint::waiting(&stack, Hand::ends()[0], options);
        Hand::with(stack, end)
    }

    fn opening(options: SocketOptions) -> Hand {
        let mut stack = Stack::new(1500, 1);
        let [own, remote] = Hand::ends();
        let end = Endpoint::opening(&mut stack, own, remote, options).unwrap();
        Hand::with(stack, end)
    }

    fn with(stack: Stack, end: Endpoint) -> Hand {
        Hand {
            stack,
            end,
            now: Time::from_ms(1),
            out: Out::default(),
        }
    }

    /// Gives the end a segment with `length` bytes, and returns what it answers.
    fn give(
        &mut self,
        (kind, ace): (u8, Ace),
        codepoint: u8,
        (sequence, number): (u32, u32),
        length: usize,
    ) -> Vec<Reply> {
        let [own, remote] = Hand::ends();
        let (echoes, is_accurate) = flags(ace);
        let mut options = Options::new();
        if kind & SYN != 0 {
            options.push(&[2, 4, 3, 232, 1, 1, 4, 2, 1, 3, 3, 8]);
        }
        let header = Header {
            own: remote,
            remote: own,
            sequence: PEER_FIRST.wrapping_add(sequence),
            acknowledgement: self.end.handshake.number.wrapping_add(number),
            flags: kind | echoes,
            is_accurate,
            window: 60_000,
            options,
        };
        let (mut frame, begins) = header.frame(length, &mut self.out);
        packet::ecn::set(&mut frame[14..], codepoint);
        super::super::segment::fill_checksum(&mut frame[begins..], remote.ip(), own.ip());
        let mut egress = Sent::default();
        self.now += Time::from_us(100);
        self.end
            .segment(
                &mut self.stack,
                self.now,
                &frame,
                &mut egress,
                &mut self.out,
            )
            .unwrap();
        // A program reads everything at once.
        while self.end.can_recv() {
            self.end.recv(|bytes| (bytes.len(), ())).unwrap();
        }
        self.replies(egress)
    }

    /// Lets time go by, and returns what the end sends.
    fn wait(&mut self, time: Time) -> Vec<Reply> {
        self.now += time;
        let mut egress = Sent::default();
        self.end.drive(self.now, &mut egress, &mut self.out);
        self.replies(egress)
    }

    fn write(&mut self, bytes: usize) -> Vec<Reply> {
        self.end.send_zeros(bytes).unwrap();
        self.wait(Time::from_us(1))
    }

    fn replies(&self, egress: Sent) -> Vec<Reply> {
        let read = |frame: &Frame| {
            let packet = header::read(frame).unwrap();
            let bytes = &frame[packet.payload..packet.end];
            let segment = Segment::read(bytes, packet.ecn).unwrap();
            let option = TcpView::new(bytes)
                .unwrap()
                .options()
                .find_map(|option| match option {
                    packet::tcp::TcpOption::Other(kind, value) => {
                        let fields = value.chunks(3);
                        let fields = fields.map(|f| u32::from_be_bytes([0, f[0], f[1], f[2]]));
                        Some((kind, fields.collect()))
                    }
                    _ => None,
                });
            Reply {
                flags: segment.flags & !(ECE | CWR | PSH),
                ace: segment.ace(),
                codepoint: packet.ecn,
                sequence: segment.sequence.wrapping_sub(self.end.handshake.number),
                number: segment.acknowledgement.wrapping_sub(PEER_FIRST),
                option,
                blocks: segment.blocks().len(),
            }
        };
        egress.0.iter().map(read).collect()
    }
}

fn with(ecn: Ecn) -> SocketOptions {
    SocketOptions {
        ecn,
        ..SocketOptions::default()
    }
}

/// A connection that the hand has opened with these three bits.
fn accepted(options: SocketOptions, ace: Ace, third: Ace) -> Hand {
    let mut hand = Hand::waiting(options);
    hand.give((SYN, ace), NOT_ECT, (0, 0), 0);
    hand.give((ACK, third), NOT_ECT, (1, 1), 0);
    assert_eq!(hand.end.state, State::Established);
    hand
}

#[test]
fn a_first_segment_is_answered_as_the_tables_say() {
    for setting in SETTINGS {
        for ace in 0..8 {
            for codepoint in [NOT_ECT, ECT_1, ECT_0, CE] {
                let mut hand = Hand::waiting(with(setting));
                let replies = hand.give((SYN, ace), codepoint, (0, 0), 0);
                // RFC 9768 table 2 for AccECN, whatever combination asks for it; RFC 3168 for 011.
                let reflection = [0b010, 0b011, 0b100, 0b110][usize::from(codepoint)];
                let wanted = match (ace, setting) {
                    (0, _) | (_, Ecn::Off) => 0,
                    (3, _) => u8::from(codepoint == NOT_ECT),
                    (7, Ecn::On) => 1,
                    (_, Ecn::On) => 0,
                    _ => reflection,
                };
                assert_eq!(replies.len(), 1);
                let reply = &replies[0];
                assert_eq!(reply.flags, SYN | ACK);
                assert_eq!(reply.ace, wanted, "{setting:?} {ace:03b} {codepoint}");
                assert_eq!(reply.codepoint, NOT_ECT);
                assert_eq!(reply.option.is_some(), wanted > 1);
                // The answer is sent again with the same bits, and without the option.
                let again = hand.wait(Time::from_secs(1));
                assert_eq!((again[0].ace, &again[0].option), (wanted, &None));
            }
        }
    }
}

#[test]
fn an_answer_is_taken_as_the_tables_say() {
    for setting in SETTINGS {
        for ace in 0..8 {
            let mut hand = Hand::opening(with(setting));
            let asks = hand.wait(Time::ZERO)[0].ace;
            let replies = hand.give((SYN | ACK, ace), CE, (0, 1), 0);
            let mode = match (asks, ace) {
                (0, _) | (_, 0 | 7) => Mode::Off,
                (_, 1) | (3, 5) => Mode::Classic,
                // The reserved one is read as if the codepoint had arrived as it was sent (RFC 9768 section 3.1.3).
                (7, _) => Mode::Accurate,
                _ => Mode::Off,
            };
            assert_eq!(hand.end.ecn.mode, mode, "{setting:?} {ace:03b}");
            // The codepoint of the answer comes back in the acknowledgement.
            let wanted = if mode == Mode::Accurate { 0b110 } else { 0 };
            assert_eq!((replies.len(), replies[0].ace), (1, wanted));
            if mode == Mode::Accurate {
                // And once more, if that was lost.
                let again = hand.give((SYN | ACK, ace), CE, (0, 1), 0);
                assert_eq!((again.len(), again[0].ace), (1, wanted));
            }
            // Packets are capable if the path has left the own first segment as it was.
            let data = hand.write(SIZE);
            let codepoint = match (mode, setting) {
                (Mode::Off, _) => NOT_ECT,
                (Mode::Accurate, _) if ![0b010, 0b101].contains(&ace) => NOT_ECT,
                (Mode::Accurate, Ecn::L4s) => ECT_1,
                _ => ECT_0,
            };
            assert_eq!(data[0].codepoint, codepoint, "{setting:?} {ace:03b}");
            // The count of marked packets begins at 5, and the answer is the first.
            assert_eq!(data[0].ace, if mode == Mode::Accurate { 6 } else { 0 });
        }
    }
}

#[test]
fn first_segments_that_are_sent_again_ask_for_less() {
    for setting in SETTINGS {
        let mut hand = Hand::opening(with(setting));
        let tries = (0..4).map(|index| {
            let reply = &hand.wait(Time::from_secs(if index == 0 { 0 } else { 1 << index }))[0];
            assert_eq!(reply.codepoint, NOT_ECT);
            reply.ace
        });
        let wanted = match setting {
            Ecn::Off | Ecn::Passive => [0; 4],
            Ecn::On => [3, 0, 0, 0],
            Ecn::Accurate | Ecn::L4s => [7, 7, 0, 0],
        };
        assert_eq!(tries.collect::<Vec<_>>(), wanted);
    }
}

#[test]
fn a_mark_is_echoed_until_cwr_and_answered_once_in_a_window() {
    let mut hand = accepted(with(Ecn::On), 3, 0);
    // The receiver's side.
    let mut at = 1;
    let mut data = |hand: &mut Hand, ace: Ace, codepoint: u8| {
        let replies = hand.give((ACK, ace), codepoint, (at, 1), SIZE);
        at += SIZE as u32;
        assert_eq!((replies.len(), replies[0].codepoint), (1, NOT_ECT));
        replies[0].ace
    };
    let echoes = [
        (0, ECT_0, 0),
        (0, CE, 1),
        (0, ECT_0, 1),
        (2, ECT_0, 0),
        (0, CE, 1),
        // A mark on the segment with CWR is a new one.
        (2, CE, 1),
        (2, ECT_0, 0),
    ];
    for (ace, codepoint, wanted) in echoes {
        assert_eq!(data(&mut hand, ace, codepoint), wanted);
    }
    // The sender's side: ten segments leave.
    let sent = hand.write(30 * SIZE);
    assert_eq!(sent.len(), 10);
    assert!(
        sent.iter()
            .all(|reply| reply.codepoint == ECT_0 && reply.ace == 0)
    );
    // Each second segment leaves with half the window; the first of them has CWR.
    let mut new = Vec::new();
    for number in 1..=10u32 {
        let number = 1 + number * SIZE as u32;
        new.extend(hand.give((ACK, 1), NOT_ECT, (at, number), 0));
    }
    assert!((4..=7).contains(&new.len()), "{new:?}");
    let answers: Vec<bool> = new.iter().map(|reply| reply.ace & 2 != 0).collect();
    assert!(answers[0] && !answers[1..].contains(&true), "{answers:?}");
    // An acknowledgement of more with ECE begins the next window.
    let next = hand.give((ACK, 1), NOT_ECT, (at, 1 + 12 * SIZE as u32), 0);
    let third = hand.give((ACK, 1), NOT_ECT, (at, 1 + 13 * SIZE as u32), 0);
    let answers = next.iter().chain(&third).filter(|reply| reply.ace & 2 != 0);
    assert_eq!(answers.count(), 1);
    // A retransmission is not capable. The tail loss probe before it has new data.
    let probe = hand.wait(Time::from_ms(100));
    assert_eq!((probe.len(), probe[0].sequence), (1, 18_001));
    let resent = hand.wait(Time::from_secs(1));
    assert_eq!((resent[0].sequence, resent[0].codepoint), (13_001, NOT_ECT));
}

#[test]
fn accurate_feedback_counts_packets_and_bytes() {
    let mut hand = accepted(with(Ecn::Accurate), 7, 0b010);
    // Codepoint of a segment, then the three bits of its acknowledgement and the bytes as ECT(1), marked, as ECT(0), as in
    // `tcp_accecn_ecn_field_updates_opt.pkt`.
    let steps = [
        (CE, 6, [1, 1_000, 1]),
        (ECT_0, 6, [1, 1_000, 1_001]),
        (CE, 7, [1, 2_000, 1_001]),
        (ECT_1, 7, [1_001, 2_000, 1_001]),
        (CE, 0, [1_001, 3_000, 1_001]),
    ];
    let mut at = 1;
    for (codepoint, ace, [one, marked, zero]) in steps {
        let replies = hand.give((ACK, 5), codepoint, (at, 1), SIZE);
        at += SIZE as u32;
        assert_eq!((replies.len(), replies[0].ace), (1, ace));
        let option = match one {
            1 => (172, alloc::vec![zero, marked, one]),
            _ => (174, alloc::vec![one, marked, zero]),
        };
        assert_eq!(replies[0].option, Some(option));
    }
    // A gap: its report and the option fit together.
    let replies = hand.give((ACK, 5), ECT_1, (at + 1_000, 1), SIZE);
    assert_eq!(replies[0].blocks, 1);
    assert_eq!(
        replies[0].option.as_ref().map(|(_, fields)| fields.len()),
        Some(3)
    );
    for index in 1..6 {
        hand.give((ACK, 5), ECT_1, (at + 1_000 + 2_000 * index, 1), SIZE);
    }
    let replies = hand.give((ACK, 5), ECT_1, (at + 20_000, 1), SIZE);
    assert_eq!(replies[0].blocks, 3);
    assert!(replies[0].option.is_some());
}

#[test]
fn a_path_that_clears_the_three_bits_gets_no_capable_packets() {
    // Not-ECT was sent: the others are a path's (RFC 9768 section 3.2.2.3), and 000 is none of the handshake's.
    for (third, wanted) in [
        (0b010, ECT_0),
        (0b000, NOT_ECT),
        (0b011, NOT_ECT),
        (0b100, NOT_ECT),
        (0b110, NOT_ECT),
        (0b101, ECT_0),
    ] {
        let mut hand = accepted(with(Ecn::Accurate), 7, third);
        assert_eq!(hand.write(SIZE)[0].codepoint, wanted, "{third:03b}");
    }
}

#[test]
fn delayed_acknowledgements_of_dctcp_keep_marked_and_other_segments_apart() {
    let options = SocketOptions {
        congestion: Congestion::Dctcp,
        ..SocketOptions::default()
    };
    let mut hand = accepted(options, 3, 0);
    let mut at = 1;
    let mut give = |hand: &mut Hand, codepoint: u8| {
        let replies = hand.give((ACK, 0), codepoint, (at, 1), SIZE);
        at += SIZE as u32;
        let read = |reply: &Reply| {
            assert_eq!(reply.codepoint, ECT_0);
            (at - reply.number, reply.ace)
        };
        replies.iter().map(read).collect::<Vec<_>>()
    };
    // The first segments are acknowledged one by one.
    for _ in 0..20 {
        give(&mut hand, ECT_0);
    }
    if give(&mut hand, ECT_0).is_empty() {
        give(&mut hand, ECT_0);
    }
    // An acknowledgement that waits leaves before the state changes, and the new state is acknowledged at once (RFC 8257
    // section 3.2); later each second segment is, with that state, and CWR does not end it.
    assert_eq!(give(&mut hand, ECT_0), []);
    assert_eq!(give(&mut hand, CE), [(SIZE as u32, 0), (0, 1)]);
    assert_eq!(give(&mut hand, CE), []);
    assert_eq!(give(&mut hand, CE), [(0, 1)]);
    assert_eq!(give(&mut hand, CE), []);
    assert_eq!(give(&mut hand, ECT_0), [(SIZE as u32, 1), (0, 0)]);
    assert_eq!(give(&mut hand, CE), [(0, 1)]);
    assert_eq!(give(&mut hand, ECT_0), [(0, 0)]);
}
