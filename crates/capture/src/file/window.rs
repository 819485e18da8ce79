//! The part of a stream that is being looked at.

use std::io::{self, Read};

/// What is read at once: small enough to stay in a core's cache, large enough to make calls rare.
const BLOCK: usize = 512 << 10;

/// A buffer that gives whatever it has as one slice, and moves its rest to the front before it reads.
pub struct Window<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    filled: usize,
    end: bool,
    /// Bytes of the stream before `start`.
    passed: u64,
}

impl<R: Read> Window<R> {
    /// Nothing read yet.
    pub fn new(input: R) -> Window<R> {
        Window {
            input,
            buffer: vec![0; BLOCK],
            start: 0,
            filled: 0,
            end: false,
            passed: 0,
        }
    }

    /// What is there.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.filled]
    }

    /// Whether nothing comes behind it.
    pub fn at_end(&self) -> bool {
        self.end
    }

    /// The place in the stream of the first byte that is there.
    pub fn place(&self) -> u64 {
        self.passed
    }

    /// The place in the buffer of the first byte that is there, and the buffer: for what is taken, but
    /// still to be looked at.
    pub fn taken(&self, range: std::ops::Range<usize>) -> &[u8] {
        &self.buffer[range]
    }

    /// Takes so many bytes; returns where in the buffer they are until the next [`fill`](Window::fill).
    pub fn take(&mut self, bytes: usize) -> std::ops::Range<usize> {
        let from = self.start;
        self.start = (from + bytes).min(self.filled);
        self.passed += (self.start - from) as u64;
        from..self.start
    }

    /// Reads more, growing up to `limit` bytes when it is full. A window that is full at its limit
    /// does nothing: its user always finds something to take in `limit` bytes.
    pub fn fill(&mut self, limit: usize) -> io::Result<()> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.filled, 0);
            self.filled -= self.start;
            self.start = 0;
        }
        if self.filled == self.buffer.len() {
            let len = (2 * self.buffer.len()).min(limit.max(BLOCK));
            self.buffer.resize(len.max(self.filled), 0);
        }
        let got = self.input.read(&mut self.buffer[self.filled..])?;
        self.filled += got;
        self.end = got == 0;
        Ok(())
    }
}
