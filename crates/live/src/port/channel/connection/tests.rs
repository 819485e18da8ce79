//! Connections over a wire in memory that takes and gives a few bytes at a time.

use super::super::tests::Keys;
use super::super::tls::Side;
use super::*;
use node::random::Random;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// One direction of a wire.
#[derive(Default)]
struct Way {
    bytes: VecDeque<u8>,
    /// Bytes that may wait in it.
    room: usize,
    ended: bool,
}

/// One end of a wire. Calls block at random, and transfer a random number of bytes, unless it is smooth: then
/// each transfers all that there is room for.
struct Memory {
    from: Rc<RefCell<Way>>,
    to: Rc<RefCell<Way>>,
    random: Random,
    smooth: bool,
}

impl Memory {
    /// Bytes that one call transfers, of `most`.
    fn share(&mut self, most: usize) -> io::Result<usize> {
        match self.random.below(8) {
            _ if self.smooth => Ok(most),
            0 => Err(io::ErrorKind::Interrupted.into()),
            1 | 2 => Err(io::ErrorKind::WouldBlock.into()),
            3 => Ok(most),
            _ => Ok(1 + self.random.below(most as u64) as usize),
        }
    }
}

impl Read for Memory {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let there = self.from.borrow().bytes.len();
        match there.min(buffer.len()) {
            0 if self.from.borrow().ended => Ok(0),
            0 => Err(io::ErrorKind::WouldBlock.into()),
            most => {
                let count = self.share(most)?;
                let mut from = self.from.borrow_mut();
                let bytes = from.bytes.drain(..count);
                buffer
                    .iter_mut()
                    .zip(bytes)
                    .for_each(|(to, byte)| *to = byte);
                Ok(count)
            }
        }
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        assert!(!self.to.borrow().ended, "a write after the end");
        let room = self.to.borrow().room - self.to.borrow().bytes.len();
        match room.min(bytes.len()) {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            most => {
                let count = self.share(most)?;
                self.to.borrow_mut().bytes.extend(&bytes[..count]);
                Ok(count)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Transport for Memory {
    fn end(&mut self) {
        self.to.borrow_mut().ended = true;
    }
}

/// A connection, and a node that sends `sends` by it and keeps what comes.
struct End {
    connection: Connection<Memory>,
    shaken: bool,
    read_ahead: bool,
    leaving: bool,
    over: bool,
    sends: Vec<u8>,
    given: usize,
    came: Vec<u8>,
    random: Random,
}

impl End {
    fn new(seed: u64, tls: Option<&Side>, from: &Rc<RefCell<Way>>, to: &Rc<RefCell<Way>>) -> End {
        let most = (to.borrow().room as u64 * 1_000).min(300_000);
        let mut random = Random::new(seed);
        let socket = Memory {
            from: from.clone(),
            to: to.clone(),
            random: Random::new(random.bits()),
            smooth: seed.is_multiple_of(2),
        };
        let mut connection = Connection::new(7, socket, Stage::Handshake, String::new(), 0);
        connection.tls = tls.map(|side| Box::new(side.begin("peer").unwrap()));
        let count = random.below(3) * random.below(most);
        End {
            connection,
            shaken: false,
            read_ahead: false,
            leaving: false,
            over: false,
            sends: (0..count).map(|_| random.bits() as u8).collect(),
            given: 0,
            came: Vec::new(),
            random,
        }
    }

    /// Handles the connection as the hub does when its socket is ready.
    fn step(&mut self, expected: usize) {
        if !self.shaken {
            self.shaken = self.connection.handshake().unwrap();
            self.read_ahead |= self.shaken && self.connection.has_read_ahead();
            return;
        }
        let most = (1 + self.random.below(MAX_DATA_LEN as u64) as usize)
            .min(self.sends.len() - self.given);
        if most > 0 && self.connection.waiting() + most <= WINDOW as usize {
            let bytes = &self.sends[self.given..self.given + most];
            let segment = Segment {
                kind: Kind::Data,
                connection: 7,
                count: self.given as u32,
                bytes,
            };
            self.connection.take(&segment).unwrap();
            self.given += most;
        }
        if self.connection.wants_write() {
            self.connection.write().unwrap();
        }
        if !self.leaving && (self.read_ahead || self.is_readable()) {
            self.read();
        }
        let done = self.given == self.sends.len() && self.came.len() == expected;
        self.leaving |= done;
        if self.leaving {
            // Later bytes are discarded, so that the far end can go on.
            self.connection.socket.from.borrow_mut().bytes.clear();
        }
        if self.leaving
            && self.connection.waiting() == 0
            && !self.connection.socket.to.borrow().ended
        {
            self.connection.end();
        }
    }

    fn is_readable(&self) -> bool {
        let from = self.connection.socket.from.borrow();
        from.ended || !from.bytes.is_empty()
    }

    fn read(&mut self) {
        let mut buffer = Buffer::new();
        match self.connection.read(&mut buffer) {
            Ok(()) => buffer.each(|frame| {
                let segment = Segment::read(frame).unwrap();
                assert_eq!(segment.count as usize, self.came.len());
                self.came.extend_from_slice(segment.bytes);
            }),
            Err(Dry::Later | Dry::NoRoom) => {}
            Err(Dry::Over(ConnectionError::Gone)) => self.over = true,
            Err(Dry::Over(why)) => panic!("{why}"),
        }
        // The node acknowledges now and then, and when there is no room left.
        if self.random.below(4) == 0 || self.connection.room() == 0 {
            self.connection.acknowledged(self.came.len() as u32);
        }
        self.read_ahead = self.connection.has_read_ahead();
    }
}

#[test]
fn all_bytes_and_the_end_arrive_over_a_wire_that_takes_a_few_at_a_time() {
    let keys = Keys::new("memory");
    let sides = [(false, "switch"), (true, "controller")]
        .map(|(listen, side)| Side::new(side, listen, keys.of(side, &keys).as_ref()).unwrap());
    for seed in 0..40 {
        let tls = seed % 4 > 0;
        let mut random = Random::new(seed);
        let ways = [(); 2].map(|()| {
            let room = [1 + random.below(100), 1 + random.below(200_000), 1 << 20];
            Rc::new(RefCell::new(Way {
                room: room[random.below(3) as usize] as usize,
                ..Way::default()
            }))
        });
        let mut ends = [0, 1].map(|side: usize| {
            let side_of = tls.then_some(&sides[side]);
            End::new(random.bits(), side_of, &ways[side], &ways[1 - side])
        });
        let expected = [ends[1].sends.len(), ends[0].sends.len()];
        let mut steps = 0;
        while ways.iter().any(|way| !way.borrow().ended) {
            // One end may run many times before the other.
            let side = random.below(2) as usize;
            let most = 1 + random.below(200);
            for _ in 0..=random.below(most) {
                ends[side].step(expected[side]);
                steps += 1;
            }
            assert!(steps < 2_000_000, "seed {seed}: nothing moves");
        }
        for side in 0..2 {
            assert!(ends[side].came == ends[1 - side].sends, "seed {seed}");
            assert_eq!(ends[side].connection.waiting(), 0, "seed {seed}");
        }
    }
}

#[test]
fn the_end_of_a_session_is_read_without_the_end_of_its_stream() {
    let keys = Keys::new("closing");
    let side = |listen, side| Side::new(side, listen, keys.of(side, &keys).as_ref()).unwrap();
    let sides = [side(false, "switch"), side(true, "controller")];
    // One read may return data, the end of the session, or both.
    for seed in 0..20 {
        ends_its_session(seed, &sides);
    }
}

fn ends_its_session(seed: u64, sides: &[Side; 2]) {
    let ways = [(); 2].map(|()| {
        Rc::new(RefCell::new(Way {
            room: 1 << 20,
            ..Way::default()
        }))
    });
    let mut near = End::new(seed, Some(&sides[0]), &ways[0], &ways[1]);
    let mut far = End::new(seed + 1, Some(&sides[1]), &ways[1], &ways[0]);
    for end in [&mut near, &mut far] {
        end.sends.clear();
    }
    while !(near.shaken && far.shaken) {
        near.step(1);
        far.step(1);
    }
    let tls = near.connection.tls.as_mut().unwrap();
    tls.writer().write_all(b"last words").unwrap();
    tls.send_close_notify();
    while near.connection.wants_write() {
        near.connection.write().unwrap();
    }
    for _ in 0..1000 {
        if far.read_ahead || far.is_readable() {
            far.read();
        }
    }
    assert_eq!(far.came, b"last words");
    assert!(
        far.over,
        "seed {seed}: the stream goes on, the session does not"
    );
}
