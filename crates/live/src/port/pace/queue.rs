//! Packets on their way to the pacing thread: one buffer that is filled while another is emptied, so
//! that nothing is allocated per packet and the lock is taken once for many.

use crate::kernel::scheduling::own_thread;
use crate::kernel::thread::lock;
use packet::Departure;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::thread::Thread;
use std::time::Duration;

/// Packets that may wait in one buffer.
const PACKETS: usize = 4096;
/// Bytes that may wait in one buffer.
const BYTES: usize = 4 << 20;

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// When it is to leave.
    pub departure: Departure,
    /// When that was asked for, ns.
    pub asked: u64,
    /// Where its bytes end; they begin where its predecessor's end.
    end: usize,
}

/// Packets in the order in which they came.
#[derive(Debug, Default)]
pub struct Chunk {
    entries: Vec<Entry>,
    bytes: Vec<u8>,
}

impl Chunk {
    /// The packets.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The frame of a packet.
    pub fn frame(&self, index: usize) -> &[u8] {
        let start = match index {
            0 => 0,
            _ => self.entries[index - 1].end,
        };
        &self.bytes[start..self.entries[index].end]
    }

    fn push(&mut self, departure: Departure, asked: u64, frame: &[u8]) {
        self.bytes.extend_from_slice(frame);
        self.entries.push(Entry {
            departure,
            asked,
            end: self.bytes.len(),
        });
    }

    fn is_full(&self) -> bool {
        self.entries.len() >= PACKETS || self.bytes.len() >= BYTES
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.bytes.clear();
    }
}

#[derive(Debug, Default)]
struct State {
    filling: Chunk,
    /// The reader waits for something to come.
    idle: bool,
    /// The writer is done: what is there is sent at its time.
    finishing: bool,
    /// What is not due yet is not sent.
    stopping: bool,
    /// The reader is done: nothing is taken any more.
    closed: bool,
}

/// A bounded queue between any number of writers and one reader.
#[derive(Debug, Default)]
pub struct Queue {
    state: Mutex<State>,
    something: Condvar,
    room: Condvar,
    /// As in the state: the reader sleeps and looks without the lock, which a writer may hold while it does not run.
    stopping: AtomicBool,
    reader: OnceLock<Thread>,
    /// The thread that wrote last, by its number in the system; 0 for none yet.
    writer: AtomicI32,
}

thread_local! {
    /// This thread's number, so that a packet costs no call.
    static OWN: i32 = own_thread();
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Puts a packet in, waiting for room; `false` when the reader is done.
    pub fn put(&self, departure: Departure, asked: u64, frame: &[u8]) -> bool {
        self.put_all(asked, [(departure, frame)])
    }

    /// Puts packets in, waiting for room; `false` when the reader is done.
    ///
    /// The reader is woken once, when all are in or there is no more room: it has real-time priority,
    /// and would otherwise take the processor for every single packet.
    pub fn put_all<'a>(
        &self,
        asked: u64,
        packets: impl IntoIterator<Item = (Departure, &'a [u8])>,
    ) -> bool {
        let own = OWN.with(|&own| own);
        if self.writer.load(Ordering::Relaxed) != own {
            self.writer.store(own, Ordering::Relaxed);
        }
        let mut state = self.lock();
        for (departure, frame) in packets {
            while state.filling.is_full() && !state.closed {
                self.wake(&mut state);
                state = self
                    .room
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            if state.closed {
                return false;
            }
            state.filling.push(departure, asked, frame);
        }
        self.wake(&mut state);
        true
    }

    fn wake(&self, state: &mut State) {
        if state.idle && !state.filling.entries.is_empty() {
            state.idle = false;
            self.something.notify_one();
        }
    }

    /// Swaps an emptied chunk for the filled one, waiting for it; `false` when nothing more will come.
    pub fn take(&self, chunk: &mut Chunk) -> bool {
        chunk.clear();
        let mut state = self.lock();
        while state.filling.entries.is_empty() {
            if state.finishing || state.stopping {
                return false;
            }
            state.idle = true;
            state = self
                .something
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.idle = false;
        std::mem::swap(chunk, &mut state.filling);
        self.room.notify_all();
        true
    }

    /// As [`take`](Queue::take), but never waits: not for packets, and not for a writer that holds the lock and does not run.
    pub fn try_take(&self, chunk: &mut Chunk) {
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(state)) => state.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        if !state.filling.entries.is_empty() {
            chunk.clear();
            std::mem::swap(chunk, &mut state.filling);
            self.room.notify_all();
        }
    }

    /// The thread that wrote last, by its number in the system; 0 for none yet.
    pub fn writer(&self) -> i32 {
        self.writer.load(Ordering::Relaxed)
    }

    /// For the reader: sleeps so long at most; `false` when the queue is to be left at once.
    pub fn sleep(&self, time: Duration) -> bool {
        self.reader.get_or_init(std::thread::current);
        if !self.stopping.load(Ordering::Acquire) {
            // Wakes up now and then, since Ctrl-C does not come by this queue.
            std::thread::park_timeout(time.min(Duration::from_millis(50)));
        }
        !self.stopping.load(Ordering::Acquire)
    }

    /// Nothing more will be put in; with `at_once` nothing that is not due is sent.
    pub fn finish(&self, at_once: bool) {
        let mut state = self.lock();
        state.finishing = true;
        state.stopping |= at_once;
        self.stopping.store(state.stopping, Ordering::Release);
        self.something.notify_all();
        if let Some(reader) = self.reader.get() {
            reader.unpark();
        }
    }

    /// The reader is done; returns how many packets were still there.
    pub fn close(&self) -> usize {
        let mut state = self.lock();
        state.closed = true;
        let left = state.filling.entries.len();
        state.filling.clear();
        self.room.notify_all();
        left
    }
}
