//! Burstiness by time scale: the energy of the Haar wavelets of the bytes that arrive (Abry and Veitch, Wavelet analysis of
//! long-range-dependent traffic, IEEE Transactions on Information Theory 44(1), 1998), which MinProbe plots (paper 002, figure 4.16).
//!
//! Octave j splits time into pairs of adjacent bins of 2^(j-1) ns. A pair's coefficient is the difference of the bytes in its two bins, over
//! the root of 2^j, the pair's length in ns; the octave's energy is the mean of the squares. A Poisson process has the same energy at all
//! octaves. The energy of evenly spaced packets falls above their interval; bursts raise it at their length.

use alloc::vec::Vec;
use node::Time;

/// Octaves that are kept: the last has pairs of 2^39 ns, nine minutes.
const OCTAVES: usize = 39;
/// An octave with fewer whole pairs has no figure.
const MIN_PAIRS: u128 = 4;

/// The pairs of one octave.
#[derive(Clone, Copy, Debug, Default)]
struct Pairs {
    /// Index of the current pair.
    index: u128,
    /// Bytes in its first bin minus those in its second.
    difference: i64,
    /// Sum of the squared differences of complete pairs.
    squares: f64,
}

/// The energy at all octaves, as packets come.
#[derive(Clone, Debug)]
pub struct Energy {
    /// Time of the last packet, ns from the first.
    last: u128,
    octaves: [Pairs; OCTAVES],
}

/// The energy at one time scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Octave {
    /// j: pairs of bins are 2^j ns long.
    pub octave: u32,
    /// The length of a pair.
    pub scale: Time,
    /// The mean square of the coefficients, in bytes squared a nanosecond.
    pub energy: f64,
    /// Pairs over which that mean is.
    pub pairs: u64,
}

impl Default for Energy {
    fn default() -> Energy {
        Energy {
            last: 0,
            octaves: [Pairs::default(); OCTAVES],
        }
    }
}

impl Energy {
    /// Adds a packet of `bytes` with FCS, `at_ps` after the first one. Packets are in order.
    pub fn add(&mut self, at_ps: u128, bytes: u32) {
        let at = at_ps / 1_000;
        self.last = at;
        for (octave, pairs) in self.octaves.iter_mut().enumerate() {
            let index = at >> (octave + 1);
            if index != pairs.index {
                let difference = pairs.difference as f64;
                pairs.squares += difference * difference;
                (pairs.index, pairs.difference) = (index, 0);
            }
            let is_second = at >> octave & 1 == 1;
            pairs.difference += if is_second {
                -i64::from(bytes)
            } else {
                bytes.into()
            };
        }
    }

    /// The energy at each octave that has whole pairs enough.
    pub fn octaves(&self) -> Vec<Octave> {
        let octaves = self.octaves.iter().zip(1..);
        let whole = octaves.filter(|(_, octave)| self.last >> octave >= MIN_PAIRS);
        whole
            .map(|(pairs, octave)| {
                // Without the pair of the last packet, which may be incomplete.
                let count = self.last >> octave;
                let length = (1u64 << octave) as f64;
                Octave {
                    octave,
                    scale: Time::from_ns(1 << octave),
                    energy: pairs.squares / length / count as f64,
                    pairs: u64::try_from(count).unwrap_or(u64::MAX),
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use node::random::Random;

    /// Straight from the definition, with all bins kept.
    fn by_definition(packets: &[(u128, u32)], octave: u32) -> f64 {
        let last = packets.last().unwrap().0 / 1_000;
        let bin = 1u128 << (octave - 1);
        let pairs = (last >> octave) as usize;
        let mut bins = vec![0i64; 2 * pairs];
        for (at, bytes) in packets {
            if let Some(sum) = bins.get_mut((at / 1_000 / bin) as usize) {
                *sum += i64::from(*bytes);
            }
        }
        let squares = bins
            .chunks(2)
            .map(|pair| ((pair[0] - pair[1]) as f64).powi(2));
        squares.sum::<f64>() / (1u64 << octave) as f64 / pairs as f64
    }

    fn poisson(seed: u64, count: usize) -> Vec<(u128, u32)> {
        let mut random = Random::new(seed);
        let mut at = 0;
        (0..count)
            .map(|_| {
                let packet = (at, 64 + random.below(1455) as u32);
                at += 1 + u128::from(random.below(2_000_000));
                packet
            })
            .collect()
    }

    fn energy(packets: &[(u128, u32)]) -> Energy {
        let mut energy = Energy::default();
        packets
            .iter()
            .for_each(|&(at, bytes)| energy.add(at, bytes));
        energy
    }

    #[test]
    fn every_octave_is_as_its_definition() {
        for seed in 0..20 {
            let packets = poisson(seed, 300);
            let octaves = energy(&packets).octaves();
            assert!(octaves.len() > 10, "{octaves:?}");
            for found in octaves {
                let wanted = by_definition(&packets, found.octave);
                assert!(
                    (found.energy - wanted).abs() <= 1e-9 * wanted,
                    "{found:?}, {wanted}"
                );
            }
        }
    }

    #[test]
    fn even_packets_have_no_energy_above_their_distance() {
        let even: Vec<_> = (0..10_000).map(|n| (n * 1_024_000, 1_000)).collect();
        let octaves = energy(&even).octaves();
        let at = |octave| {
            octaves
                .iter()
                .find(|found| found.octave == octave)
                .unwrap()
                .energy
        };
        // One of a pair's two bins of 512 ns has the packet; from there on both have as many.
        assert!((at(10) - 1e6 / 1024.0).abs() < 1e-9);
        assert_eq!(at(11), 0.0);
        assert_eq!(at(16), 0.0);
    }

    #[test]
    fn a_single_packet_has_no_octave() {
        assert_eq!(energy(&[(0, 64)]).octaves(), []);
    }
}
