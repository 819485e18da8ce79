//! The vector paths of x86-64, and which of them this machine has.
//!
//! The only `unsafe` code of the codec is in here: loads and stores of vectors, and calls of
//! functions that need instructions whose presence has been found.

mod avx2;
mod avx512;
mod layout;

use super::Head;
use crate::Stamp;
use alloc::vec::Vec;

/// Finds out whether the machine has what a path is made for. A test holds each list against the functions' own.
macro_rules! detect {
    ($has:ident, $list:ident: $($feature:tt),+) => {
        cpufeatures::new!($has, $($feature),+);
        #[cfg(test)]
        const $list: &[&str] = &[$($feature),+];
    };
}
detect!(has_avx2, AVX2: "avx2");
detect!(has_avx512, AVX512: "avx512bw", "avx512f", "avx512vbmi", "avx512vl", "bmi2");

/// A head, and how many characters have been read; in two registers, which costs a short line half
/// of what a structure in memory does.
#[derive(Clone, Copy)]
struct Decoded {
    word: u64,
    /// Bits 0-31 the hash, 32-55 the characters, 56 whether there is a word, 57 a hash; all zero
    /// when nothing has been read.
    rest: u64,
}

impl Decoded {
    const NONE: Decoded = Decoded { word: 0, rest: 0 };

    /// `form` is bit 0 for the word, bit 1 for the hash; `characters` is at most
    /// [`MAX_LINE_LEN`](super::MAX_LINE_LEN), and not zero.
    #[inline(always)]
    fn new(form: usize, word: u64, hash: u32, characters: usize) -> Decoded {
        Decoded {
            word,
            rest: u64::from(hash) | (characters as u64) << 32 | (form as u64) << 56,
        }
    }

    #[inline(always)]
    fn open(self) -> Option<(Head, usize)> {
        let characters = (self.rest >> 32) as usize & 0xFF_FFFF;
        let head = Head {
            stamp: (self.rest >> 56 & 1 != 0).then_some(Stamp::Word(self.word)),
            hash: (self.rest >> 57 != 0).then_some(self.rest as u32),
        };
        (characters != 0).then_some((head, characters))
    }
}

/// A vector path that this machine has: values come from [`Path::all`] and [`Path::best`] only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Path(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Avx512,
    Avx2,
}

impl Path {
    /// The paths that this machine has, the fastest first.
    pub(super) fn all() -> impl Iterator<Item = Path> {
        let kinds = [
            has_avx512::get().then_some(Kind::Avx512),
            has_avx2::get().then_some(Kind::Avx2),
        ];
        kinds.into_iter().flatten().map(Path)
    }

    /// The fastest path, if there is any.
    #[inline]
    pub(super) fn best() -> Option<Path> {
        Path::all().next()
    }

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self.0 {
            Kind::Avx512 => "AVX-512",
            Kind::Avx2 => "AVX2",
        }
    }

    /// Appends a line to `out`; the frame's length has been checked.
    #[inline]
    pub(super) fn encode(
        self,
        word: Option<u64>,
        hash: Option<u32>,
        frame: &[u8],
        out: &mut Vec<u8>,
    ) {
        let form = usize::from(word.is_some()) + 2 * usize::from(hash.is_some());
        let (word, hash) = (word.unwrap_or(0), hash.unwrap_or(0));
        match self.0 {
            // SAFETY: a path is only made where its instructions are.
            Kind::Avx512 => unsafe { avx512::encode(form, word, hash, frame, out) },
            // SAFETY: as above.
            Kind::Avx2 => unsafe { avx2::encode(form, word, hash, frame, out) },
        }
    }

    /// Reads a line without its end, as far as it is in the written form: its head, and how many
    /// characters have been read into `frame`. `None` when its fixed fields are in another form.
    /// The character behind those read may be anything.
    #[inline(always)]
    pub(super) fn decode(self, line: &[u8], frame: &mut Vec<u8>) -> Option<(Head, usize)> {
        let decoded = match self.0 {
            // SAFETY: a path is only made where its instructions are.
            Kind::Avx512 => unsafe { avx512::decode(line, frame) },
            // SAFETY: as above.
            Kind::Avx2 => unsafe { avx2::decode(line, frame) },
        };
        decoded.open()
    }
}

#[cfg(test)]
mod tests {
    use super::{AVX2, AVX512};
    use alloc::collections::BTreeSet;

    /// The features that functions of a source are compiled for.
    fn enabled(sources: &[&'static str]) -> BTreeSet<&'static str> {
        let lists = sources.iter().flat_map(|source| {
            let attributes = source.split("target_feature(enable = \"").skip(1);
            attributes.filter_map(|attribute| attribute.split('"').next())
        });
        lists.flat_map(|list| list.split(',')).collect()
    }

    #[test]
    fn what_is_detected_is_what_is_used() {
        let avx2 = enabled(&[
            include_str!("simd/avx2.rs"),
            include_str!("simd/avx2/read.rs"),
            include_str!("simd/avx2/write.rs"),
        ]);
        let avx512 = enabled(&[
            include_str!("simd/avx512.rs"),
            include_str!("simd/avx512/read.rs"),
            include_str!("simd/avx512/write.rs"),
        ]);
        assert_eq!(avx2, AVX2.iter().copied().collect());
        assert_eq!(avx512, AVX512.iter().copied().collect());
    }
}
