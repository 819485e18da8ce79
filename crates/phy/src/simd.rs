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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{BATCH, GROUP, WORDS};
    use alloc::vec::Vec;
    use alloc::{string::String, vec};

    fn noise(seed: u64, length: usize) -> Vec<u64> {
        (1..=length as u64)
            .map(|n| (n ^ seed << 32).wrapping_mul(0x9E37_79B9_7F4A_7C15))
            .map(|word| word ^ word >> 29)
            .collect()
    }

    fn bits(words: &[u64]) -> String {
        let bit = |(word, n): (u64, u32)| if word >> n & 1 == 1 { '1' } else { '0' };
        words
            .iter()
            .flat_map(|&word| (0..64).map(move |n| (word, n)))
            .map(bit)
            .collect()
    }

    #[test]
    fn every_path_packs_as_headers_and_payloads_follow_each_other() {
        for (seed, length) in [0, 1, 2, 5, 31, 32, 33, 63, 64, 250, 256, 257, 300, 600]
            .into_iter()
            .enumerate()
        {
            let payloads = noise(seed as u64, length);
            let control = noise(seed as u64 + 1, length / 64 + 2);
            let group = |place: usize| {
                let pair =
                    u128::from(control[place / 64]) | u128::from(control[place / 64 + 1]) << 64;
                let behind = (length - place).min(32) as u32;
                (pair >> (place % 64)) as u32 & u32::MAX.unbounded_shr(32 - behind)
            };
            let mut line = payloads.clone();
            let state = kernel::bits(7, &mut line);
            for phase in [0, 1, 15, 30, 31] {
                let held = 0x2AAA_AAAA_AAAA_AAAA & ((1u64 << (2 * phase)) - 1);
                let mut expected = String::from(&bits(&[held])[..2 * phase]);
                for (n, word) in line.iter().enumerate() {
                    let control = control[n / 64] >> (n % 64) & 1 == 1;
                    expected.push_str(if control { "10" } else { "01" });
                    expected.push_str(&bits(&[*word]));
                }
                for path in Path::all() {
                    let mut words = vec![0; expected.len() / 64];
                    let end = path.onto_line(7, held, phase, &payloads, group, &mut words);
                    assert_eq!(end.0, state, "{path:?}");
                    let rest = expected.len() % 64;
                    let got = bits(&words) + &bits(&[end.1])[..rest];
                    assert!(got == expected, "{path:?}, {length} blocks from {phase}");
                    assert_eq!(end.1.unbounded_shr(rest as u32), 0);
                }
            }
        }
    }

    #[test]
    fn every_path_takes_off_the_line_what_stands_there() {
        for count in [
            1,
            2,
            3,
            32,
            33,
            34,
            65,
            66,
            200,
            BATCH * WORDS - 1,
            BATCH * WORDS,
        ] {
            let words = noise(3, count);
            for held_bits in [0, 1, 2, 31, 62, 63] {
                let held = noise(9, 1)[0] & ((1u64 << held_bits) - 1);
                let all = String::from(&bits(&[held])[..held_bits as usize]) + &bits(&words);
                let blocks = (all.len() / 66).min(BATCH * GROUP);
                for path in Path::all() {
                    let mut groups = Groups::new();
                    path.off_line(5, held, held_bits, &words, &mut groups);
                    let mut state = 5u64;
                    for block in 0..blocks {
                        let bits_here = &all[66 * block..][..66];
                        let header = groups.headers[block / GROUP] >> (2 * (block % GROUP));
                        assert_eq!(bits(&[header & 3])[..2], bits_here[..2], "{path:?} {block}");
                        let line = groups.line.as_flattened()[block];
                        assert_eq!(bits(&[line]), bits_here[2..], "{path:?} {block}");
                        let payload = groups.payloads.as_flattened()[block];
                        let (low, high) = (state, line);
                        let wide = u128::from(low) | u128::from(high) << 64;
                        let before = |n: u32| (wide >> (64 - n)) as u64;
                        assert_eq!(payload, line ^ before(39) ^ before(58), "{path:?} {block}");
                        state = line;
                    }
                }
            }
        }
    }

    #[test]
    fn headers_and_control_are_each_other_s_inverse() {
        for control in noise(4, 1000)
            .into_iter()
            .map(|word| word as u32)
            .chain([0, u32::MAX])
        {
            let headers = kernel::headers(control);
            assert_eq!(kernel::control(headers), control);
            for n in 0..32 {
                let expected = if control >> n & 1 == 1 { 0b01 } else { 0b10 };
                assert_eq!(headers >> (2 * n) & 3, expected);
                for count in 1..=32 {
                    assert!(kernel::all_good(headers, count));
                    let bad = headers ^ 1 << (2 * n);
                    assert_eq!(kernel::all_good(bad, count), n >= count);
                }
            }
        }
    }
}
