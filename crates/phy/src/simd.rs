//! The same loops for wider registers, and which of them this machine has.
//!
//! The only `unsafe` code of the crate is in here: calls of functions that need instructions whose
//! presence has been found, and loads and stores of vectors.

#[cfg(target_arch = "x86_64")]
mod wide;

use crate::kernel::{self, Groups};

#[cfg(target_arch = "x86_64")]
cpufeatures::new!(has_avx2, "avx2");
#[cfg(target_arch = "x86_64")]
cpufeatures::new!(has_avx512, "avx512f", "avx512vl", "avx512vbmi2");

/// The instructions that a path is compiled for. Values come from [`Path::all`] only, which gives
/// those that this machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

/// Calls what is compiled for a path.
macro_rules! on {
    ($path:expr, $avx512:expr, $avx2:expr, $portable:expr) => {
        match $path.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the path was made because the machine has the instructions.
            Kind::Avx512 => unsafe { $avx512 },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the path was made because the machine has the instructions.
            Kind::Avx2 => unsafe { $avx2 },
            Kind::Portable => $portable,
        }
    };
}

impl Path {
    /// What this machine has, the fastest first.
    pub fn all() -> impl Iterator<Item = Path> {
        #[cfg(target_arch = "x86_64")]
        let kinds = [
            has_avx512::get().then_some(Kind::Avx512),
            has_avx2::get().then_some(Kind::Avx2),
            Some(Kind::Portable),
        ];
        #[cfg(not(target_arch = "x86_64"))]
        let kinds = [Some(Kind::Portable)];
        kinds.into_iter().flatten().map(Path)
    }

    /// The fastest that this machine has.
    #[inline]
    pub fn best() -> Path {
        #[cfg(target_arch = "x86_64")]
        {
            if has_avx512::get() {
                return Path(Kind::Avx512);
            }
            if has_avx2::get() {
                return Path(Kind::Avx2);
            }
        }
        Path(Kind::Portable)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "AVX-512",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "AVX2",
            Kind::Portable => "portable",
        }
    }

    /// Scrambles payloads in place, from a state to the next.
    pub fn scramble(self, state: u64, payloads: &mut [u64]) -> u64 {
        on!(
            self,
            wide::scramble_avx512(state, payloads),
            wide::scramble_avx2(state, payloads),
            kernel::look_ahead(state, payloads)
        )
    }

    /// [`kernel::descramble`].
    pub(crate) fn descramble(self, state: u64, line: &[u64], payloads: &mut [u64]) -> u64 {
        on!(
            self,
            wide::descramble_avx512(state, line, payloads),
            wide::descramble_avx2(state, line, payloads),
            kernel::descramble(state, line, payloads)
        )
    }

    /// [`kernel::onto_line`].
    pub(crate) fn onto_line(
        self,
        state: u64,
        held: u64,
        phase: usize,
        payloads: &[u64],
        control: impl Fn(usize) -> u32,
        line: &mut [u64],
    ) -> (u64, u64) {
        let (scramble, pack) = (kernel::look_ahead, kernel::pack);
        on!(
            self,
            wide::onto_line_avx512(state, held, phase, payloads, control, line),
            wide::onto_line_avx2(state, held, phase, payloads, control, line),
            kernel::onto_line(scramble, pack, state, held, phase, payloads, control, line)
        )
    }

    /// [`kernel::off_line`].
    pub(crate) fn off_line(
        self,
        state: u64,
        held: u64,
        bits: u32,
        words: &[u64],
        groups: &mut Groups,
    ) {
        on!(
            self,
            wide::off_line_avx512(state, held, bits, words, groups),
            wide::off_line_avx2(state, held, bits, words, groups),
            kernel::off_line(kernel::unpack, state, held, bits, words, groups)
        )
    }
}
