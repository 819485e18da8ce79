//! Bytes of a stream that wait to be acknowledged, or to be read.

use alloc::collections::VecDeque;

/// A queue of bytes that grows with its content, up to the limit that its owner keeps.
#[derive(Default)]
pub(super) struct Buffer(VecDeque<u8>);

impl Buffer {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Appends `bytes`.
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    /// Appends `count` zeros.
    pub fn push_zeros(&mut self, count: usize) {
        self.0.resize(self.0.len() + count, 0);
    }

    /// Writes `bytes` from offset `at` on; a gap before them is filled with zeros.
    pub fn write(&mut self, at: usize, bytes: &[u8]) {
        if at > self.0.len() {
            self.0.resize(at, 0);
        }
        let (over, new) = bytes.split_at(bytes.len().min(self.0.len() - at));
        let (front, back) = self.0.as_mut_slices();
        let in_front = front.get_mut(at..).unwrap_or(&mut []);
        let (first, second) = over.split_at(over.len().min(in_front.len()));
        in_front[..first.len()].copy_from_slice(first);
        let at = at.saturating_sub(front.len());
        if !second.is_empty() {
            back[at..at + second.len()].copy_from_slice(second);
        }
        self.0.extend(new);
    }

    /// Copies the bytes from offset `at` on into `bytes`; all of them must be there.
    pub fn read(&self, at: usize, bytes: &mut [u8]) {
        let (front, back) = self.0.as_slices();
        let in_front = front.get(at..).unwrap_or(&[]);
        let (first, second) = bytes.split_at_mut(bytes.len().min(in_front.len()));
        first.copy_from_slice(&in_front[..first.len()]);
        let at = at.saturating_sub(front.len());
        if !second.is_empty() {
            second.copy_from_slice(&back[at..at + second.len()]);
        }
    }

    /// The first bytes that are adjacent in memory.
    pub fn front(&self) -> &[u8] {
        self.0.as_slices().0
    }

    /// Removes the first `count` bytes.
    pub fn consume(&mut self, count: usize) {
        self.0.drain(..count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use node::random::Random;

    #[test]
    fn random_writes_and_reads_agree_with_a_plain_vector() {
        let mut random = Random::new(1);
        let (mut buffer, mut model) = (Buffer::default(), Vec::<u8>::new());
        for step in 0..20_000u32 {
            let bytes = vec![step as u8; random.below(40) as usize];
            match random.below(3) {
                0 => {
                    let at = random.below(model.len() as u64 + 20) as usize;
                    model.resize(model.len().max(at + bytes.len()), 0);
                    model[at..at + bytes.len()].copy_from_slice(&bytes);
                    buffer.write(at, &bytes);
                }
                1 => {
                    model.extend(&bytes);
                    buffer.push(&bytes);
                }
                _ => {
                    let count = random.below(model.len().min(60) as u64 + 1) as usize;
                    model.drain(..count);
                    buffer.consume(count);
                }
            }
            let from = random.below(model.len() as u64 + 1) as usize;
            let mut read = vec![0; model.len() - from];
            buffer.read(from, &mut read);
            assert_eq!(read, model[from..]);
            assert!(model.starts_with(buffer.front()));
        }
    }
}
