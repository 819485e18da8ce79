//! No vector path: there are some for x86-64 alone.

use super::Head;
use alloc::vec::Vec;

/// A vector path; there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {}

impl Path {
    /// None.
    pub(super) fn all() -> impl Iterator<Item = Path> {
        core::iter::empty()
    }

    /// None.
    #[inline]
    pub(super) fn best() -> Option<Path> {
        None
    }

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {}
    }

    /// As the paths of x86-64 do.
    #[inline]
    pub(super) fn encode(self, _: Option<u64>, _: Option<u32>, _: &[u8], _: &mut Vec<u8>) {
        match self {}
    }

    /// As the paths of x86-64 do.
    #[inline]
    pub(super) fn decode(self, _: &[u8], _: &mut Vec<u8>) -> Option<(Head, usize)> {
        match self {}
    }
}
