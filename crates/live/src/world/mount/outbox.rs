//! Packets between those who write them and the one thread that sends them.
//!
//! Bounded: when it is full, writers wait, and their writes are remembered here so that the sender
//! can go on with them. Whoever waits keeps his turn.

use crate::kernel::thread::lock;
use packet::Departure;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Maximum number of bytes that wait to be sent, not counting those that the sender holds.
const MAX_UNSENT_BYTES: usize = 1 << 20;
/// Bytes before each packet: its timestamp word and its length.
const HEAD: usize = 12;

/// Consecutive packets, each after its word and its length.
#[derive(Default)]
pub struct Batch(Vec<u8>);

impl Batch {
    fn push(&mut self, departure: Departure, bytes: &[u8]) {
        self.0.extend_from_slice(&departure.to_word().to_ne_bytes());
        self.0
            .extend_from_slice(&(bytes.len() as u32).to_ne_bytes());
        self.0.extend_from_slice(bytes);
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The packets, in order.
    pub fn packets(&self) -> impl Iterator<Item = (Departure, &[u8])> {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || {
            let (head, behind) = rest.split_at_checked(HEAD)?;
            let (word, len) = head.split_at(8);
            let word = u64::from_ne_bytes(word.try_into().expect("eight bytes were split off"));
            let len = u32::from_ne_bytes(len.try_into().expect("four bytes are left"));
            let (bytes, behind) = behind.split_at(len as usize);
            rest = behind;
            Some((
                Departure::from_word(word).expect("it was made by to_word"),
                bytes,
            ))
        })
    }
}

/// A write that waits for room: what it is remembered by.
pub struct Parked<W> {
    /// The write request.
    pub unique: u64,
    /// The bytes not taken yet.
    pub rest: Vec<u8>,
    /// How many were taken.
    pub taken: usize,
    /// Who writes.
    pub who: W,
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A write that has just come: it goes behind those who wait.
    New,
    /// A write that has waited.
    Waited,
    /// The last packet of a file that was closed: nobody is left who could wait.
    Last,
}

/// The packets of one port that wait to be sent; `W` says who writes.
pub struct Outbox<W> {
    state: Mutex<State<W>>,
    filled: Condvar,
}

struct State<W> {
    batch: Batch,
    parked: VecDeque<Parked<W>>,
    polls: Vec<u64>,
    closed: bool,
}

/// What the sender is to do next.
pub struct Work<W> {
    /// Writes that may find room now, in their order.
    pub parked: VecDeque<Parked<W>>,
    /// Kernel handles of polls to be told that there is room.
    pub polls: Vec<u64>,
}

impl<W> Default for Outbox<W> {
    fn default() -> Outbox<W> {
        Outbox {
            state: Mutex::new(State {
                batch: Batch::default(),
                parked: VecDeque::new(),
                polls: Vec::new(),
                closed: false,
            }),
            filled: Condvar::new(),
        }
    }
}

impl<W> Outbox<W> {
    fn lock(&self) -> MutexGuard<'_, State<W>> {
        lock(&self.state)
    }

    /// Puts a packet in; false when there is no room, or others wait for it already.
    pub fn push(&self, departure: Departure, bytes: &[u8], turn: Turn) -> bool {
        let mut state = self.lock();
        let full = match turn {
            Turn::New if !state.parked.is_empty() => true,
            Turn::New | Turn::Waited => state.batch.0.len() + HEAD + bytes.len() > MAX_UNSENT_BYTES,
            Turn::Last => false,
        };
        if state.closed || full {
            return false;
        }
        let was_empty = state.batch.0.is_empty();
        state.batch.push(departure, bytes);
        drop(state);
        if was_empty {
            self.filled.notify_one();
        }
        true
    }

    /// Remembers a write that found no room.
    pub fn park(&self, parked: Parked<W>) {
        self.lock().parked.push_back(parked);
        // The sender may have emptied everything between the failed push and now.
        self.filled.notify_one();
    }

    /// Remembers writes that had their turn and found no room again: they keep their place.
    pub fn park_again(&self, mut parked: VecDeque<Parked<W>>) {
        let mut state = self.lock();
        parked.append(&mut state.parked);
        state.parked = parked;
    }

    /// Takes out the waiting write `unique`, if it is one.
    pub fn interrupt(&self, unique: u64) -> Option<Parked<W>> {
        let mut state = self.lock();
        let at = state
            .parked
            .iter()
            .position(|parked| parked.unique == unique)?;
        state.parked.remove(at)
    }

    /// Whether a write would find room; if not, `wakeup` is remembered for when it would.
    pub fn poll(&self, wakeup: Option<u64>) -> bool {
        let mut state = self.lock();
        let ready = state.closed
            || state.parked.is_empty()
                && state.batch.0.len() + HEAD + packet::MAX_FRAME_LEN <= MAX_UNSENT_BYTES;
        if let (false, Some(wakeup)) = (ready, wakeup)
            && !state.polls.contains(&wakeup)
        {
            state.polls.push(wakeup);
        }
        ready
    }

    /// For the sender: waits at most `wait` for packets or waiting writes, and takes them.
    /// `batch` is handed in empty, or with what was sent.
    pub fn take(&self, batch: &mut Batch, wait: Duration) -> Work<W> {
        batch.0.clear();
        let mut state = self.lock();
        if state.batch.0.is_empty() && state.parked.is_empty() && !state.closed {
            (state, _) = self
                .filled
                .wait_timeout(state, wait)
                .unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::swap(&mut state.batch, batch);
        Work {
            parked: std::mem::take(&mut state.parked),
            polls: std::mem::take(&mut state.polls),
        }
    }

    /// Takes no more packets: the port is gone, or the end has come.
    pub fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_one();
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }
}
