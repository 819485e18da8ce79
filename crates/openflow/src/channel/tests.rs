use super::*;
use alloc::vec;
use node::random::Random;

const PORT: Port = Port(3);
const HELLO: [u8; 8] = [4, 0, 0, 8, 0, 0, 0, 1];

/// A side of a wire: its channels, what happened, and whether it answers every message.
struct Side {
    channels: Channels,
    out: Out,
    opened: Vec<Peer>,
    messages: Vec<Vec<u8>>,
    closed: Vec<Reason>,
}

impl Side {
    fn new(settings: Settings) -> Side {
        Side {
            channels: Channels::new(settings),
            out: Out::default(),
            opened: Vec::new(),
            messages: Vec::new(),
            closed: Vec::new(),
        }
    }

    fn take(&mut self, mut batch: Batch) {
        while let Some(event) = batch.next(&mut self.channels) {
            match event {
                Event::Opened(peer) => self.opened.push(peer),
                Event::Message(_, bytes) => self.messages.push(bytes.to_vec()),
                Event::Closed(_, reason) => self.closed.push(reason),
            }
        }
        self.channels.finish(batch, &mut self.out);
    }

    fn frame(&mut self, now: Time, frame: Frame) {
        let batch = self.channels.frame(now, PORT, frame);
        self.take(batch);
    }

    fn segment(&mut self, kind: Kind, connection: u32, count: u32, bytes: &[u8]) {
        let mut frame = Vec::new();
        let segment = Segment {
            kind,
            connection,
            count,
            bytes,
        };
        segment.write(&mut frame);
        self.frame(Time::ZERO, Frame::new(&frame));
    }

    fn wake(&mut self, now: Time) {
        let batch = self.channels.wake(now);
        self.take(batch);
    }

    fn sent(&mut self) -> Vec<Frame> {
        self.out.sends().map(|departure| departure.frame).collect()
    }

    /// What left, as kind, connection, count, bytes.
    fn said(&mut self) -> Vec<(Kind, u32, u32, Vec<u8>)> {
        let frames = self.sent();
        let read = |frame: &Frame| {
            let segment = Segment::read(frame).unwrap();
            let Segment {
                kind,
                connection,
                count,
                bytes,
            } = segment;
            (kind, connection, count, bytes.to_vec())
        };
        frames.iter().map(read).collect()
    }
}

/// Carries everything to and fro until nothing moves.
fn carry(now: Time, sides: &mut [Side; 2]) {
    loop {
        let mut moved = false;
        for (from, to) in [(0, 1), (1, 0)] {
            for frame in sides[from].sent() {
                moved = true;
                sides[to].frame(now, frame);
            }
        }
        if !moved {
            return;
        }
    }
}

/// A dialled connection between two sides, with hellos exchanged: both peers.
fn connected(settings: [Settings; 2]) -> ([Side; 2], [Peer; 2]) {
    let mut sides = settings.map(Side::new);
    sides[0].channels.dial(PORT, 0);
    sides[0].wake(Time::ZERO);
    carry(Time::ZERO, &mut sides);
    let peers = [sides[0].opened[0], sides[1].opened[0]];
    for (side, peer) in sides.iter_mut().zip(peers) {
        side.channels.send(peer, &HELLO);
        side.channels.agreed(peer, 4);
        side.channels.flush(&mut side.out);
    }
    carry(Time::ZERO, &mut sides);
    for side in &mut sides {
        assert_eq!(side.messages, [HELLO]);
        side.messages.clear();
    }
    (sides, peers)
}

/// A message of type 10 with this many bytes in all.
fn message(xid: u32, length: u16) -> Vec<u8> {
    let mut bytes = vec![4, 10];
    bytes.extend(length.to_be_bytes());
    bytes.extend(xid.to_be_bytes());
    bytes.resize(length.into(), xid as u8);
    bytes
}

#[test]
fn messages_are_whole_however_the_stream_is_cut() {
    let mut random = Random::new(7);
    for _ in 0..50 {
        let mut side = Side::new(Settings::default());
        side.segment(Kind::Open, 9, 0, b"");
        let messages: Vec<Vec<u8>> = (0..20)
            .map(|xid| message(xid, 8 + random.index(3000) as u16))
            .collect();
        let stream = messages.concat();
        let most = [1 + random.index(20), 1 + random.index(4000)][random.index(2)];
        let mut at = 0;
        while at < stream.len() {
            let end = stream.len().min(at + random.index(most + 1));
            side.segment(Kind::Data, 9, at as u32, &stream[at..end]);
            at = end;
        }
        assert_eq!(side.messages, messages);
        // All is acknowledged, so that the far end sees no backlog.
        let last = side
            .said()
            .into_iter()
            .rfind(|said| said.0 == Kind::Acknowledge);
        assert_eq!(last.unwrap().2, stream.len() as u32);
    }
}

#[test]
fn the_longest_message_crosses_in_segments() {
    let (mut sides, peers) = connected([Settings::default(); 2]);
    let longest = message(1, u16::MAX);
    sides[0].channels.send(peers[0], &longest);
    sides[0].channels.flush(&mut sides[0].out);
    carry(Time::ZERO, &mut sides);
    assert_eq!(sides[1].messages, [longest]);
    assert_eq!(sides[0].channels.backlog(peers[0]), 0);
}

#[test]
fn what_goes_past_the_window_waits_until_the_far_end_has_read() {
    let (mut sides, peers) = connected([Settings::default(); 2]);
    let many: Vec<u8> = (0..10).flat_map(|xid| message(xid, 60_000)).collect();
    sides[0].channels.send(peers[0], &many);
    sides[0].channels.flush(&mut sides[0].out);
    assert_eq!(sides[0].channels.backlog(peers[0]), many.len());
    let frames = sides[0].sent();
    let sent: usize = frames
        .iter()
        .map(|f| f.len() - packet::segment::HEADER)
        .sum();
    assert_eq!(sent, WINDOW as usize);
    for frame in frames {
        sides[1].frame(Time::ZERO, frame);
    }
    carry(Time::ZERO, &mut sides);
    assert_eq!(sides[1].messages.concat(), many);
    assert_eq!(sides[0].channels.backlog(peers[0]), 0);
}

#[test]
fn who_does_not_read_the_answers_is_not_read_from() {
    let held = Settings {
        hold: 4000,
        ..Settings::default()
    };
    let (mut sides, peers) = connected([Settings::default(), held]);
    // Side 1 answers each request with 1000 bytes, which side 0 does not acknowledge.
    let requests: Vec<u8> = (0..20).flat_map(|xid| message(xid, 16)).collect();
    sides[0].channels.send(peers[0], &requests);
    sides[0].channels.flush(&mut sides[0].out);
    let mut kept = Vec::new();
    let mut answered = 0;
    let serve = |sides: &mut [Side; 2], kept: &mut Vec<Frame>, answered: &mut u32| {
        for frame in sides[0].sent() {
            let Side { channels, out, .. } = &mut sides[1];
            let mut batch = channels.frame(Time::ZERO, PORT, frame);
            while let Some(event) = batch.next(channels) {
                if let Event::Message(peer, _) = event {
                    *answered += 1;
                    channels.send(peer, &message(*answered, 1000));
                }
            }
            channels.finish(batch, out);
        }
        kept.extend(sides[1].sent());
    };
    serve(&mut sides, &mut kept, &mut answered);
    assert_eq!(answered, 4, "the backlog has reached 4000 bytes");
    assert_eq!(sides[1].channels.counters().held, 1);
    let taken = sides[0].channels.backlog(peers[0]);
    assert!(
        taken >= 16 * 16,
        "what is held up is not acknowledged: {taken}"
    );
    // It reads on, and so does side 1.
    for _ in 0..10 {
        for frame in core::mem::take(&mut kept) {
            sides[0].frame(Time::ZERO, frame);
        }
        serve(&mut sides, &mut kept, &mut answered);
    }
    assert_eq!((answered, sides[0].messages.len()), (20, 20));
    assert_eq!(sides[0].channels.backlog(peers[0]), 0);
}

#[test]
fn a_stream_that_makes_no_sense_ends_with_the_reason() {
    let far = 1 << 20;
    for (kind, count, bytes, reason) in [
        (Kind::Data, 5, &HELLO[..], Reason::Gap { due: 0, came: 5 }),
        (Kind::Data, 0, &[4, 0, 0, 7, 0, 0, 0, 0], Reason::Length(7)),
        (Kind::Data, 0, &[4, 0, 0, 0, 0, 0, 0, 0], Reason::Length(0)),
        (Kind::Acknowledge, far, &[], Reason::Acknowledgement),
        (Kind::Close, 0, b"enough", Reason::Far("enough".into())),
        (Kind::Open, 0, b"", Reason::Anew),
    ] {
        let mut side = Side::new(Settings::default());
        side.segment(Kind::Open, 1, 0, b"");
        side.said();
        side.segment(kind, 1, count, bytes);
        assert_eq!(side.closed.first(), Some(&reason));
        let said = side.said();
        let last = said
            .last()
            .map(|said| (said.0, String::from_utf8_lossy(&said.3)));
        match kind {
            Kind::Close => assert_eq!(last, None, "a close has no answer"),
            Kind::Open => assert_eq!(last.unwrap().0, Kind::Open),
            _ => assert_eq!(last, Some((Kind::Close, alloc::format!("{reason}").into()))),
        }
    }
}

#[test]
fn messages_before_the_nonsense_are_still_read() {
    let mut side = Side::new(Settings::default());
    side.segment(Kind::Open, 1, 0, b"");
    side.segment(
        Kind::Data,
        1,
        0,
        &[&HELLO[..], &[4, 0, 0, 3, 0, 0, 0, 0], &HELLO].concat(),
    );
    assert_eq!(side.messages, [HELLO]);
    assert_eq!(side.closed, [Reason::Length(3)]);
    side.segment(Kind::Data, 1, 24, &HELLO);
    assert_eq!(side.messages.len(), 1, "nothing is read after the end");
}

#[test]
fn data_past_the_window_ends_the_connection() {
    let held = Settings {
        hold: 0,
        ..Settings::default()
    };
    let mut side = Side::new(held);
    side.segment(Kind::Open, 1, 0, b"");
    let mut count = 0;
    while side.closed.is_empty() {
        assert!(count <= WINDOW, "held up for good");
        side.segment(Kind::Data, 1, count, &message(1, 8000));
        count += 8000;
    }
    assert_eq!(side.closed, [Reason::Window]);
}

#[test]
fn one_connection_too_many_is_refused() {
    let few = Settings {
        connections: 2,
        ..Settings::default()
    };
    let mut side = Side::new(few);
    for id in 0..3 {
        side.segment(Kind::Open, id, 0, b"");
    }
    assert_eq!(side.opened.len(), 2);
    let refused = side.said().pop().unwrap();
    assert_eq!((refused.0, refused.1), (Kind::Close, 2));
    assert_eq!(refused.3, b"too many connections");
    // A place that is free again is taken again, under another name.
    side.segment(Kind::Close, 0, 0, b"");
    side.segment(Kind::Open, 2, 0, b"");
    assert_eq!(side.opened[2].index(), side.opened[0].index());
    assert_ne!(side.opened[2], side.opened[0]);
    assert!(!side.channels.is_open(side.opened[0]));
}

#[test]
fn a_closed_connection_has_sent_what_was_written_before() {
    let (mut sides, peers) = connected([Settings::default(); 2]);
    sides[0].channels.send(peers[0], &message(5, 20));
    sides[0].channels.close(peers[0], "no version in common");
    sides[0].wake(Time::ZERO);
    carry(Time::ZERO, &mut sides);
    assert_eq!(sides[1].messages, [message(5, 20)]);
    assert_eq!(
        sides[1].closed,
        [Reason::Far("no version in common".into())]
    );
    assert_eq!(sides[0].closed, [Reason::Wanted("no version in common")]);
}

#[test]
fn who_does_not_read_for_long_is_given_up() {
    let small = Settings {
        limit: 300_000,
        ..Settings::default()
    };
    let (mut sides, peers) = connected([small, Settings::default()]);
    for _ in 0..10 {
        sides[0].channels.send(peers[0], &message(1, 60_000));
        sides[0].channels.flush(&mut sides[0].out);
    }
    sides[0].wake(Time::ZERO);
    assert!(matches!(
        sides[0].closed[..],
        [Reason::Backlog(300_000..400_000)]
    ));
    assert_eq!(sides[0].channels.buffer(peers[0]), None);
}

#[test]
fn silence_is_asked_about_and_then_ended() {
    let secs = Time::from_secs;
    let (mut sides, _) = connected([Settings::default(); 2]);
    sides[0].wake(secs(4));
    assert_eq!(sides[0].said(), []);
    assert_eq!(sides[0].channels.next_wake(), Some(secs(5)));
    sides[0].wake(secs(5));
    carry(secs(5), &mut sides);
    assert!(
        sides[1].messages.is_empty(),
        "echoes are the channel's matter"
    );
    assert_eq!(sides[0].channels.next_wake(), Some(secs(10)));
    // Answered: the next one is due 5 s after the answer. Now the far end is gone, but its carrier is not.
    sides[0].wake(secs(10));
    let asked = sides[0].said();
    assert_eq!((asked[0].0, &asked[0].3[..2]), (Kind::Data, &[4, 2][..]));
    let count = asked[0].2 + 8;
    sides[0].segment(Kind::Acknowledge, 0, count, &[]);
    sides[0].wake(secs(14));
    assert!(sides[0].closed.is_empty());
    sides[0].wake(secs(15));
    assert_eq!(sides[0].closed, [Reason::Silent("an echo request")]);
}

#[test]
fn a_lost_connection_is_dialled_again_more_and_more_slowly() {
    let mut side = Side::new(Settings::default());
    side.channels.dial(PORT, 0);
    let mut dials = Vec::new();
    let mut now = Time::ZERO;
    for _ in 0..100 {
        now = now.max(side.channels.next_wake().unwrap());
        side.wake(now);
        for said in side.said() {
            if said.0 == Kind::Open {
                dials.push(now.as_secs_f64() as u64);
            }
        }
    }
    // Each attempt lasts 5 s; then 1, 2, 4, 8, 8 ... s pass.
    assert_eq!(dials[..6], [0, 6, 13, 22, 35, 48]);
    assert_eq!(side.closed[0], Reason::Silent("the open"));
}

/// Two sides, of which one dials, and a carrier that holds frames back as long as it likes.
struct Slow {
    sides: [Side; 2],
    on_the_way: [VecDeque<Frame>; 2],
    now: Time,
    carried: usize,
}

impl Slow {
    fn new(dials: [bool; 2]) -> Slow {
        let mut sides = [0, 1].map(|_| Side::new(Settings::default()));
        for (side, dials) in sides.iter_mut().zip(dials) {
            if dials {
                side.channels.dial(PORT, 0);
            }
        }
        Slow {
            sides,
            on_the_way: Default::default(),
            now: Time::ZERO,
            carried: 0,
        }
    }

    /// A side says hello on each new connection. Its frames join those on the way.
    fn speak(&mut self, from: usize) {
        let side = &mut self.sides[from];
        for peer in core::mem::take(&mut side.opened) {
            side.channels.send(peer, &HELLO);
            side.channels.agreed(peer, 4);
        }
        side.channels.flush(&mut side.out);
        self.on_the_way[from].extend(side.sent());
    }

    /// The oldest frame from a side arrives, if there is one.
    fn carry(&mut self, from: usize) -> bool {
        let Some(frame) = self.on_the_way[from].pop_front() else {
            return false;
        };
        self.carried += 1;
        self.sides[1 - from].frame(self.now, frame);
        self.speak(1 - from);
        true
    }

    fn pass(&mut self, time: Time) {
        self.now += time;
        for side in 0..2 {
            self.sides[side].wake(self.now);
            self.speak(side);
        }
    }

    /// Everything arrives at once for a minute.
    fn settle(&mut self) {
        for _ in 0..60 {
            let before = self.carried;
            while self.carry(0) | self.carry(1) {
                assert!(self.carried - before < 1_000, "the ends answer forever");
            }
            self.pass(Time::from_secs(1));
        }
        while self.carry(0) | self.carry(1) {}
    }

    fn connections(&self) -> [usize; 2] {
        [0, 1].map(|side| self.sides[side].channels.peers().count())
    }
}

#[test]
fn an_answer_to_an_attempt_that_was_given_up_is_not_a_request() {
    let mut slow = Slow::new([true, false]);
    // The second open leaves before the first one has arrived.
    for _ in 0..8 {
        slow.pass(Time::from_secs(1));
    }
    assert_eq!(slow.on_the_way[0].len(), 3, "open, close, open");
    slow.settle();
    assert_eq!(slow.connections(), [1, 1]);
    assert_eq!(slow.sides[0].closed, [Reason::Silent("the open")]);
    assert_eq!(slow.sides[1].closed.len(), 1);
    // The late answer, and the hello after it.
    assert_eq!(slow.sides[0].channels.counters().strays, 2);
}

#[test]
fn however_slow_the_carrier_both_ends_agree_on_one_connection_at_last() {
    let mut random = Random::new(23);
    let (mut given_up, mut reopened) = (0, 0);
    for round in 0..300 {
        let dials = [[true, false], [false, true], [true, true]][random.index(3)];
        let mut slow = Slow::new(dials);
        for _ in 0..random.index(60) {
            match random.index(3) {
                0 => slow.pass(Time::from_ms(random.index(4_000) as u64)),
                side => {
                    for _ in 0..random.index(6) {
                        slow.carry(side - 1);
                    }
                }
            }
        }
        slow.settle();
        assert_eq!(slow.connections(), [1, 1], "round {round}");
        for reason in slow.sides.iter().flat_map(|side| &side.closed) {
            given_up += usize::from(matches!(reason, Reason::Silent(_)));
            reopened += usize::from(*reason == Reason::Anew);
            // No connection takes for its own what belongs to another one. Where both ends ask at the
            // same time, each takes the open of the other for its own connection.
            let mixed = matches!(reason, Reason::Gap { .. } | Reason::Acknowledgement);
            assert!(!mixed || dials == [true; 2], "round {round}: {reason:?}");
        }
        // The connection carries messages in both directions.
        for from in 0..2 {
            let peer = slow.sides[from].channels.peers().next().unwrap();
            slow.sides[from].channels.send(peer, &message(77, 100));
            slow.speak(from);
        }
        while slow.carry(0) | slow.carry(1) {}
        for side in &slow.sides {
            assert_eq!(
                side.messages.last(),
                Some(&message(77, 100)),
                "round {round}"
            );
        }
    }
    assert!(given_up > 200 && reopened > 5, "{given_up} {reopened}");
}

#[test]
fn random_segments_do_no_harm() {
    let mut random = Random::new(11);
    let few = Settings {
        connections: 4,
        hold: 5000,
        limit: 20_000,
        ..Settings::default()
    };
    let mut side = Side::new(few);
    side.channels.dial(PORT, 0);
    for round in 0..50_000 {
        let mut bytes = vec![0; random.index(64)];
        bytes
            .iter_mut()
            .for_each(|byte| *byte = random.index(12) as u8);
        let kind = [Kind::Open, Kind::Data, Kind::Acknowledge, Kind::Close][random.index(40) % 4];
        let near = random.index(3) as u32 * bytes.len() as u32;
        side.segment(kind, random.index(6) as u32, near, &bytes);
        if let Some(&peer) = side.opened.last() {
            side.channels.send(peer, &message(round, 100));
            side.channels.agreed(peer, 4);
        }
        if round % 16 == 0 {
            side.wake(Time::from_ms(round.into()));
        }
        side.said();
        assert!(side.channels.by_id.len() <= 4);
        side.opened
            .truncate(side.opened.len().min(1) * side.opened.len());
    }
    let kept: usize = side
        .channels
        .connections
        .iter()
        .map(|c| c.inbox.capacity())
        .sum();
    assert!(kept < 1 << 21, "{kept}");
}
