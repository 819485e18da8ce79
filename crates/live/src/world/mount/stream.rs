//! The packets of one port in one form, for any number of readers.
//!
//! A packet is written down once; each reader follows at its own pace. The stream keeps the last
//! chunks only: a reader that falls behind loses whole packets, and is told how many.

use super::chunk::{Chunk, SIZE};
use super::protocol::MAX_TRANSFER;
use crate::kernel::thread::lock;
use packet::record;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// How packets are written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text lines (FORMATS section 1).
    Line(packet::line::Form),
    /// Binary records (FORMATS section 2).
    Record,
}

impl Form {
    /// How many of `bytes`, which begin with a whole packet, are whole packets within `size`.
    fn whole(self, bytes: &[u8], size: usize) -> usize {
        match self {
            Form::Line(_) => bytes[..size]
                .iter()
                .rposition(|&b| b == b'\n')
                .map_or(0, |n| n + 1),
            Form::Record => {
                let mut end = 0;
                while let Some(next) = self.packet(&bytes[end..]).map(|len| end + len)
                    && next <= size
                {
                    end = next;
                }
                end
            }
        }
    }

    /// The length of the packet at the front of `bytes`, if there is one.
    fn packet(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Form::Line(_) => bytes.iter().position(|&b| b == b'\n').map(|n| n + 1),
            Form::Record => record::frame(bytes).map(|frame| frame.end),
        }
    }
}

/// A reader that waits for the next packet: what it is remembered by.
pub struct Waiting<W> {
    /// The read request.
    pub unique: u64,
    /// The most bytes that it takes.
    pub size: usize,
    pub who: W,
}

/// A stream; `W` says who waits.
pub struct Stream<W> {
    /// How its packets are written down.
    pub form: Form,
    /// Chunks kept.
    keep: usize,
    readers: AtomicUsize,
    lost: AtomicU64,
    shared: Mutex<Shared<W>>,
}

struct Shared<W> {
    chunks: VecDeque<Arc<Chunk>>,
    /// The place of the next chunk, and the number of the next packet.
    next: (u64, u64),
    waiting: Vec<Waiting<W>>,
    /// Kernel handles of polls to be told that there is something.
    polls: Vec<u64>,
    ended: bool,
}

/// What a read found.
pub enum Found {
    /// These bytes of this chunk.
    Bytes(Arc<Chunk>, std::ops::Range<usize>),
    /// Nothing yet; if the request was to wait, it is waiting now.
    Nothing,
    /// The port has ended, and everything has been read.
    End,
}

/// One reader's place in a stream.
pub struct Cursor {
    chunk: Arc<Chunk>,
    /// The next byte of `chunk`.
    at: usize,
    /// The chunk read before, up to where, for a reader that steps back.
    before: Option<(Arc<Chunk>, usize)>,
    /// Bytes read of a packet that did not fit into one read, and how many are left.
    rest: usize,
    /// How many bytes were read so far: the position in the file that a seek counts from.
    position: u64,
    lost: u64,
}

impl<W> Stream<W> {
    /// A stream without readers, that keeps about `bytes`.
    pub fn new(form: Form, bytes: usize) -> Stream<W> {
        Stream {
            form,
            keep: (bytes / SIZE).max(2),
            readers: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
            shared: Mutex::new(Shared {
                chunks: VecDeque::new(),
                next: (0, 0),
                waiting: Vec::new(),
                polls: Vec::new(),
                ended: false,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared<W>> {
        lock(&self.shared)
    }

    /// How many readers there are.
    pub fn readers(&self) -> usize {
        self.readers.load(Ordering::Acquire)
    }

    /// Packets that readers, added up, have lost by falling behind.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// A new reader, of packets from now on.
    pub fn open(&self) -> Cursor {
        let mut shared = self.lock();
        self.readers.fetch_add(1, Ordering::AcqRel);
        if shared.chunks.is_empty() {
            shared.grow(self.keep);
        }
        let chunk = shared.chunks.back().expect("there is a chunk now").clone();
        Cursor {
            at: chunk.bytes().len(),
            chunk,
            before: None,
            rest: 0,
            position: 0,
            lost: 0,
        }
    }

    /// The reader is done.
    pub fn close(&self, _cursor: Cursor) {
        let mut shared = self.lock();
        if self.readers.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Megabytes are not kept for nobody.
            shared.chunks.clear();
        }
    }

    /// Appends `packets` whole packets, which readers find at once.
    ///
    /// # Panics
    /// When they are longer than a chunk.
    pub fn append(&self, bytes: &[u8], packets: u64) {
        let mut shared = self.lock();
        let Some(last) = shared.chunks.back() else {
            shared.next.1 += packets;
            return;
        };
        // SAFETY: chunks are appended to here alone, under the lock.
        if !unsafe { last.append(bytes, packets) } {
            shared.grow(self.keep);
            let last = shared.chunks.back().expect("one was added");
            // SAFETY: as above.
            let fits = unsafe { last.append(bytes, packets) };
            assert!(fits, "more than a chunk at once");
        }
        shared.next.1 += packets;
    }

    /// Whether somebody waits for packets.
    pub fn is_awaited(&self) -> bool {
        let shared = self.lock();
        !shared.waiting.is_empty() || !shared.polls.is_empty()
    }

    /// Takes out everybody who waits, into lists that the caller keeps for the next time.
    pub fn wake(&self, waiting: &mut Vec<Waiting<W>>, polls: &mut Vec<u64>) {
        let mut shared = self.lock();
        waiting.append(&mut shared.waiting);
        polls.append(&mut shared.polls);
    }

    /// No more packets will come; readers end behind the last one.
    pub fn end(&self) {
        self.lock().ended = true;
    }

    /// Takes out the waiting read request `unique`, if it is one.
    pub fn interrupt(&self, unique: u64) -> Option<Waiting<W>> {
        let mut shared = self.lock();
        let at = shared
            .waiting
            .iter()
            .position(|waiting| waiting.unique == unique)?;
        Some(shared.waiting.swap_remove(at))
    }

    /// Whether a read would find something; if not, `wakeup` is remembered for when it would.
    pub fn poll(&self, cursor: &Cursor, wakeup: Option<u64>) -> bool {
        let mut shared = self.lock();
        let ready = cursor.at < cursor.chunk.bytes().len()
            || shared.next.0 > cursor.chunk.index + 1
            || shared.ended;
        if let (false, Some(wakeup)) = (ready, wakeup)
            && !shared.polls.contains(&wakeup)
        {
            shared.polls.push(wakeup);
        }
        ready
    }

    /// Reads: as much as there is in `size` bytes, but no packet in part that fits into a read of its own.
    /// When there is nothing, `wait` is put among those who wait.
    pub fn read(&self, cursor: &mut Cursor, size: usize, wait: Option<Waiting<W>>) -> Found {
        let size = size.min(MAX_TRANSFER);
        loop {
            if let Some(range) = cursor.take(self.form, size) {
                return Found::Bytes(cursor.chunk.clone(), range);
            }
            let mut shared = self.lock();
            if cursor.at < cursor.chunk.bytes().len() {
                continue;
            }
            let after = cursor.chunk.index + 1;
            if let Some(next) = shared.chunks.iter().find(|chunk| chunk.index >= after) {
                let lost = next.first - cursor.chunk.end();
                cursor.lost += lost;
                self.lost.fetch_add(lost, Ordering::Relaxed);
                // Stepping back over a gap would show bytes that were never next to each other.
                cursor.before = (lost == 0).then(|| (cursor.chunk.clone(), cursor.at));
                cursor.chunk = next.clone();
                cursor.at = 0;
                continue;
            }
            if shared.ended {
                return Found::End;
            }
            shared.waiting.extend(wait);
            return Found::Nothing;
        }
    }
}

impl<W> Shared<W> {
    /// Adds an empty chunk, in the memory of the oldest if that is in nobody's hands.
    fn grow(&mut self, keep: usize) {
        let (index, first) = self.next;
        self.next.0 += 1;
        let oldest = if self.chunks.len() >= keep {
            self.chunks.pop_front()
        } else {
            None
        };
        let chunk = match oldest {
            Some(mut oldest) => match Arc::get_mut(&mut oldest) {
                Some(chunk) => {
                    chunk.reset(index, first);
                    oldest
                }
                None => Arc::new(Chunk::new(index, first)),
            },
            None => Arc::new(Chunk::new(index, first)),
        };
        self.chunks.push_back(chunk);
    }
}

impl Cursor {
    /// Packets that this reader has lost by falling behind.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Where in the file the reader is.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Steps back to where the reader was when `position` bytes were read, if that is still at hand.
    ///
    /// `bash` reads a block, uses a line of it, and seeks back to behind the line; so does `head`. From
    /// any other position reading goes on where it was, as on a device.
    pub fn seek(&mut self, position: u64) {
        let back = self.position.wrapping_sub(position);
        if back == 0 || back > self.position {
            self.position = position;
            return;
        }
        let mut back = usize::try_from(back).unwrap_or(usize::MAX);
        if back > self.at
            && let Some((chunk, end)) = &self.before
            && back - self.at <= *end
        {
            back -= self.at;
            self.at = *end;
            self.chunk = chunk.clone();
            self.before = None;
        }
        if back <= self.at {
            self.at -= back;
            // Where packets begin is no longer known: until the next boundary, reads are of bytes.
            self.rest = 0;
        }
        self.position = position;
    }

    /// The next bytes of the chunk in hand.
    fn take(&mut self, form: Form, size: usize) -> Option<std::ops::Range<usize>> {
        let bytes = &self.chunk.bytes()[self.at..];
        if bytes.is_empty() || size == 0 {
            return None;
        }
        let len = if bytes.len() <= size {
            self.rest = 0;
            bytes.len()
        } else if self.rest > 0 {
            let len = self.rest.min(size);
            self.rest -= len;
            len
        } else {
            match form.whole(bytes, size) {
                0 => {
                    self.rest = form.packet(bytes).map_or(0, |len| len.saturating_sub(size));
                    size
                }
                whole => whole,
            }
        };
        self.at += len;
        self.position += len as u64;
        Some(self.at - len..self.at)
    }
}
