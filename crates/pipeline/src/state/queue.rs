//! Messages from packets to the control plane and back.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use core::task::Waker;
use spin::{Mutex, Once};

/// Messages in order, at most so many: those for which there is no room are counted and lost.
#[derive(Debug)]
pub struct Queue<T> {
    messages: Mutex<VecDeque<T>>,
    capacity: usize,
    lost: AtomicU64,
    count: AtomicU64,
    /// Wakes the reader.
    waker: Once<Waker>,
}

impl<T> Queue<T> {
    /// An empty queue.
    pub fn new(capacity: usize) -> Self {
        Queue {
            messages: Mutex::new(VecDeque::new()),
            capacity,
            lost: AtomicU64::new(0),
            count: AtomicU64::new(0),
            waker: Once::new(),
        }
    }

    /// Calls `waker` after each message from now on; a queue has one reader, whose first waker stays.
    pub fn set_waker(&self, waker: &Waker) {
        self.waker.call_once(|| waker.clone());
    }

    /// Appends a message, and says whether there was room.
    pub fn push(&self, message: T) -> bool {
        let mut messages = self.messages.lock();
        if messages.len() >= self.capacity {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        messages.push_back(message);
        self.count.store(messages.len() as u64, Ordering::Release);
        drop(messages);
        self.call_reader();
        true
    }

    /// Calls the reader for something else than a message.
    pub fn call_reader(&self) {
        if let Some(waker) = self.waker.get() {
            waker.wake_by_ref();
        }
    }

    /// Takes the oldest.
    pub fn pop(&self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let mut messages = self.messages.lock();
        let message = messages.pop_front();
        self.count.store(messages.len() as u64, Ordering::Release);
        message
    }

    /// Takes all.
    pub fn drain(&self) -> Vec<T> {
        let mut messages = self.messages.lock();
        self.count.store(0, Ordering::Release);
        messages.drain(..).collect()
    }

    /// Whether there is nothing, without a lock.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// How many were lost.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}
