//! What lies between a port in Verilog and the program that has it: records on their way up and down, and what is on its way in from
//! the cable. The thread of the card is on one side, the port's halves and the cable's reader on the other.

use live::port::PortError;
use live::thread::lock;
use packet::Departure;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixDatagram;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Frames that the card has and has not sent, at most: what a gigabit port sends in some 0.4 s. Who has more waits.
const DOWN: usize = 65_536;
/// Frames that wait to come in, at most; more wait in the kernel.
const COMING: usize = 1_024;

/// A frame to be sent.
pub struct Down {
    pub departure: Departure,
    pub bytes: Vec<u8>,
    /// Whether its departure is to be told.
    pub told: bool,
}

#[derive(Default)]
struct State {
    down: VecDeque<Down>,
    /// Frames that the card has taken and that have not left.
    under_way: usize,
    departed: VecDeque<u64>,
    up: VecDeque<(u64, Vec<u8>)>,
    up_bytes: usize,
    dropped: u64,
    coming: VecDeque<(u64, Vec<u8>)>,
    /// Why nothing more comes by the cable.
    ended: Option<PortError>,
    /// All that came before that has been given.
    settled: bool,
    /// Nothing more will be sent.
    finishing: bool,
    /// What came of the cable's end, then.
    finished: Option<Result<(), PortError>>,
    /// Halves of the port that are still there.
    halves: u8,
}

/// The rings of one port.
pub struct Rings {
    name: String,
    state: Mutex<State>,
    changed: Condvar,
    /// Bytes that may wait for a reader.
    room: usize,
    /// Readable while frames wait for a reader.
    bell: [UnixDatagram; 2],
}

impl Rings {
    /// Empty ones of a port with this name.
    pub fn new(name: String, room: usize) -> io::Result<Rings> {
        let (read, write) = UnixDatagram::pair()?;
        read.set_nonblocking(true)?;
        write.set_nonblocking(true)?;
        Ok(Rings {
            name,
            state: Mutex::new(State {
                halves: 2,
                ..State::default()
            }),
            changed: Condvar::new(),
            room,
            bell: [read, write],
        })
    }

    /// Waits while a condition holds, so long at most.
    fn wait_while<'a>(
        &'a self,
        time: Duration,
        holds: impl Fn(&State) -> bool,
    ) -> MutexGuard<'a, State> {
        let waited = self
            .changed
            .wait_timeout_while(lock(&self.state), time, |state| holds(state));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Puts a frame behind those that are to be sent; `false` after `time` without room.
    pub fn send(&self, down: Down, time: Duration) -> bool {
        let full = |state: &State| state.down.len() + state.under_way >= DOWN;
        let mut state = self.wait_while(time, full);
        let room = !full(&state);
        if room {
            state.down.push_back(down);
        }
        room
    }

    /// When the next frame left that was to be told, ns; waits so long at most.
    pub fn departed(&self, time: Duration) -> Option<u64> {
        let mut state = self.wait_while(time, |state| state.departed.is_empty());
        state.departed.pop_front()
    }

    /// Nothing more will be sent.
    pub fn finish(&self) {
        lock(&self.state).finishing = true;
    }

    /// What came of it, when all has arrived where the cable leads; waits so long at most.
    pub fn finished(&self, time: Duration) -> Option<Result<(), PortError>> {
        let mut state = self.wait_while(time, |state| state.finished.is_none());
        state.finished.take()
    }

    /// For the card: whether nothing more will be sent and all has left.
    pub fn is_finishing(&self) -> bool {
        let state = lock(&self.state);
        state.finishing && state.down.is_empty() && state.under_way == 0
    }

    /// For the card: what came of the end.
    pub fn tell_finished(&self, result: Result<(), PortError>) {
        let mut state = lock(&self.state);
        state.finishing = false;
        state.finished = Some(result);
        self.changed.notify_all();
    }

    /// Takes the frames that have come up, waiting so long at most.
    ///
    /// # Errors
    /// Why no more will come, once.
    pub fn receive(
        &self,
        into: &mut VecDeque<(u64, Vec<u8>)>,
        time: Duration,
    ) -> Result<(), PortError> {
        let mut state = self.wait_while(time, |state| {
            state.up.is_empty() && !(state.settled && state.ended.is_some())
        });
        std::mem::swap(into, &mut state.up);
        state.up_bytes = 0;
        while self.bell[0].recv(&mut [0]).is_ok() {}
        let over = into.is_empty() && state.settled;
        match state.ended.take_if(|_| over) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Frames that were lost because nobody took them.
    pub fn dropped(&self) -> u64 {
        lock(&self.state).dropped
    }

    /// A half of the port goes.
    pub fn close_half(&self) {
        lock(&self.state).halves -= 1;
        self.changed.notify_all();
    }

    /// Whether nobody has the port any more.
    pub fn is_closed(&self) -> bool {
        lock(&self.state).halves == 0
    }

    /// For the card: whether nobody has the port any more, and nothing that was sent is left here.
    pub fn is_over(&self) -> bool {
        let state = lock(&self.state);
        state.halves == 0 && state.down.is_empty()
    }

    /// Readable when frames wait.
    pub fn descriptor(&self) -> RawFd {
        self.bell[0].as_raw_fd()
    }

    /// As users call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A frame that comes by the cable, at `at_ns`; waits for room. `false` when nobody has the port.
    pub fn come(&self, at_ns: u64, bytes: &[u8]) -> bool {
        let full = |state: &State| state.coming.len() >= COMING && state.halves > 0;
        let mut state = self.wait_while(Duration::MAX, full);
        state.coming.push_back((at_ns, bytes.to_vec()));
        state.halves > 0
    }

    /// Nothing more will come by the cable. It is told when all has been given that came before: see [`settle`](Rings::settle).
    pub fn end(&self, error: PortError) {
        lock(&self.state).ended = Some(error);
    }

    /// For the card: what came by the cable before its end has been given.
    pub fn settle(&self) {
        lock(&self.state).settled = true;
        self.changed.notify_all();
    }

    /// For the card: takes what is to be sent, and what has come, both into lists that are empty. Whether the cable has ended, and that
    /// has yet to be told.
    pub fn take(&self, down: &mut VecDeque<Down>, coming: &mut VecDeque<(u64, Vec<u8>)>) -> bool {
        let mut state = lock(&self.state);
        state.under_way += state.down.len();
        std::mem::swap(&mut state.down, down);
        std::mem::swap(&mut state.coming, coming);
        if !coming.is_empty() {
            self.changed.notify_all();
        }
        state.ended.is_some() && !state.settled
    }

    /// For the card: a frame has left at `ns`, which is to be told or not.
    pub fn left(&self, ns: u64, told: bool) {
        let mut state = lock(&self.state);
        state.under_way -= 1;
        if told {
            state.departed.push_back(ns);
        }
        self.changed.notify_all();
    }

    /// For the card: a frame for the program, stamped `at_ns`.
    pub fn up(&self, at_ns: u64, bytes: &[u8]) {
        let mut state = lock(&self.state);
        if state.up_bytes + bytes.len() > self.room {
            state.dropped += 1;
            return;
        }
        if state.up.is_empty() {
            // A full one is readable all the same.
            let _ = self.bell[1].send(&[1]);
        }
        state.up_bytes += bytes.len();
        state.up.push_back((at_ns, bytes.to_vec()));
        self.changed.notify_all();
    }
}
