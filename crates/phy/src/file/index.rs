//! Where in a file each segment is: its last bytes lead to it.

use super::u64_at;

/// Bytes of a file's end that lead to its index.
pub const TRAILER: usize = 16;
/// The last eight bytes of a file that has an index.
pub(super) const END: [u8; 8] = *b"PHYINDEX";
/// Bytes of an entry.
pub(super) const ENTRY: usize = 24;
/// Segments of one part of the index: what a writer has to keep in mind.
pub(super) const PART: usize = 4_096;

/// A segment's place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The stream's bit at which it begins.
    pub first: u64,
    /// The byte of the file at which it begins.
    pub offset: u64,
    /// How many frames have begun before it.
    pub starts: u64,
}

impl Entry {
    pub(super) fn write(&self, out: &mut alloc::vec::Vec<u8>) {
        for number in [self.first, self.offset, self.starts] {
            out.extend(number.to_le_bytes());
        }
    }

    /// The entries of a part of the index.
    pub(super) fn all(content: &[u8]) -> impl DoubleEndedIterator<Item = Entry> + '_ {
        content.chunks_exact(ENTRY).map(|bytes| Entry {
            first: u64_at(bytes, 0),
            offset: u64_at(bytes, 8),
            starts: u64_at(bytes, 16),
        })
    }
}

/// Where the last part of the index is, by the last [`TRAILER`] bytes of a file; `None` if the file has
/// none, because its writing was cut short or is not over.
///
/// Each part tells where the one before it is ([`Step::Index`](super::Step::Index)).
pub fn last_index(trailer: &[u8]) -> Option<u64> {
    let (offset, end) = trailer.split_first_chunk::<8>()?;
    (*end == END).then(|| u64::from_le_bytes(*offset))
}
