//! What waits for a link, and its limit.

use super::QueueLimit;
use alloc::collections::VecDeque;

/// The frames that wait for a link. Time is in whatever unit the link counts in.
#[derive(Debug, Default)]
pub struct Waiting {
    /// Up to when the queue was looked at; it never goes back.
    looked: u64,
    /// When they leave, and their bytes.
    frames: VecDeque<(u64, u32)>,
    bytes: u64,
}

impl Waiting {
    /// A frame comes that might leave at `earliest`: what has left by then is gone. Returns when the
    /// frame takes its place, which is not before the place of the one before it.
    pub fn look(&mut self, earliest: u64) -> u64 {
        self.looked = self.looked.max(earliest);
        while let Some(&(_, bytes)) = self.frames.front().filter(|front| front.0 <= self.looked) {
            self.bytes -= u64::from(bytes);
            self.frames.pop_front();
        }
        self.looked
    }

    /// That frame waits until it leaves; `false` when there is no room.
    pub fn push(&mut self, limit: QueueLimit, leaves: u64, len: usize) -> bool {
        let room = match limit {
            QueueLimit::Packets(limit) => self.frames.len() < limit as usize,
            QueueLimit::Bytes(limit) => self.bytes + len as u64 <= limit,
        };
        if room {
            self.frames.push_back((leaves, len as u32));
            self.bytes += len as u64;
        }
        room
    }

    /// How many wait.
    pub fn count(&self) -> usize {
        self.frames.len()
    }

    /// How many bytes wait.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
