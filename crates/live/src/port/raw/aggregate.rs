//! Frame aggregation: frames that are sent at one time cross a pair of interfaces in one buffer of the kernel, as those of an
//! A-MSDU cross the air (IEEE 802.11n), between two ends that both know of it.
//!
//! What a frame costs the kernel is its buffer, and the way of that through two interfaces and a socket; hardly its bytes. An aggregate
//! has an Ethernet header of its own, how many aggregates and frames were sent before it, and each frame behind its length. Frames
//! come out as they went in, bit for bit, and those that are lost with an aggregate are counted.

/// Addresses of zeros and an EtherType for local experiments (IEEE Std 802): what an aggregate begins with. A frame that begins
/// like that itself crosses in one.
const HEADER: [u8; 14] = *b"\0\0\0\0\0\0\0\0\0\0\0\0\x88\xB5";
/// Bytes before the first frame: the header, and the two counts.
const FRONT: usize = HEADER.len() + 4 + 4;
/// Bytes of a length.
const LENGTH: usize = 2;

/// MTU at which each frame of at most `longest` bytes fits into an aggregate, which a frame needs that
/// begins like one.
pub const fn mtu(longest: usize) -> u32 {
    (FRONT + LENGTH + longest - HEADER.len()) as u32
}

/// Whether a frame begins like an aggregate.
pub fn is_aggregate(frame: &[u8]) -> bool {
    frame.starts_with(&HEADER)
}

/// What has been sent in aggregates, modulo 2^32.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    aggregates: u32,
    frames: u32,
}

/// Makes aggregates.
pub struct Aggregator {
    buffer: Vec<u8>,
    /// Bytes of an aggregate at most.
    room: usize,
    counts: Counts,
}

impl Aggregator {
    /// For an interface with this MTU.
    pub fn new(mtu: u32) -> Aggregator {
        Aggregator {
            buffer: Vec::new(),
            room: HEADER.len() + (mtu as usize).min(usize::from(u16::MAX)),
            counts: Counts::default(),
        }
    }

    /// How many frames, from the first on, go into one aggregate.
    pub fn fitting(&self, frames: &[&[u8]]) -> usize {
        let mut len = FRONT;
        let fits = |frame: &&&[u8]| {
            len += LENGTH + frame.len();
            frame.len() >= packet::MIN_FRAME_LEN && len <= self.room
        };
        frames.iter().take_while(fits).count()
    }

    /// The aggregate of frames that [fit](Aggregator::fitting).
    pub fn build(&mut self, frames: &[&[u8]]) -> &[u8] {
        let Counts {
            aggregates,
            frames: before,
        } = self.counts;
        self.buffer.clear();
        self.buffer.extend(HEADER);
        self.buffer.extend(aggregates.to_be_bytes());
        self.buffer.extend(before.to_be_bytes());
        for frame in frames {
            self.buffer.extend((frame.len() as u16).to_be_bytes());
            self.buffer.extend_from_slice(frame);
        }
        &self.buffer
    }

    /// The kernel has taken an aggregate of so many frames.
    pub fn sent(&mut self, frames: usize) {
        let Counts {
            aggregates,
            frames: before,
        } = &mut self.counts;
        *aggregates = aggregates.wrapping_add(1);
        *before = before.wrapping_add(frames as u32);
    }
}

/// Takes aggregates apart.
#[derive(Debug, Default)]
pub struct Separator {
    counts: Counts,
    /// Frames that were lost with aggregates, beyond one for each aggregate, which the kernel has counted.
    lost: u64,
}

impl Separator {
    /// Gives each frame of an aggregate to `give`; how many, or 0 when it is not made as it should be.
    pub fn separate(&mut self, aggregate: &[u8], give: &mut dyn FnMut(&[u8])) -> usize {
        let Some((front, mut rest)) = aggregate.split_at_checked(FRONT) else {
            return 0;
        };
        let number = |at: usize| u32::from_be_bytes(std::array::from_fn(|byte| front[at + byte]));
        let (aggregates, frames) = (number(HEADER.len()), number(HEADER.len() + 4));
        let mut count = 0;
        while let Some((frame, behind)) = first(rest) {
            give(frame);
            (count, rest) = (count + 1, behind);
        }
        let missed = frames.wrapping_sub(self.counts.frames);
        let beside = aggregates.wrapping_sub(self.counts.aggregates);
        self.lost += u64::from(missed.saturating_sub(beside));
        self.counts = Counts {
            aggregates: aggregates.wrapping_add(1),
            frames: frames.wrapping_add(count as u32),
        };
        count
    }

    /// Frames that were lost with aggregates, beyond one for each aggregate.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

/// The first frame behind its length, and what comes behind it.
fn first(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, behind) = rest.split_first_chunk::<LENGTH>()?;
    behind.split_at_checked(usize::from(u16::from_be_bytes(*length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(lengths: &[usize]) -> Vec<Vec<u8>> {
        let frame = |(n, len): (usize, &usize)| (0..*len).map(|at| (at * 7 + n) as u8).collect();
        lengths.iter().enumerate().map(frame).collect()
    }

    fn slices(frames: &[Vec<u8>]) -> Vec<&[u8]> {
        frames.iter().map(|frame| &frame[..]).collect()
    }

    #[test]
    fn frames_come_out_as_they_went_in() {
        let mut inner = frames(&[14, 60, 1514, 15, 9000]);
        inner.push(HEADER.to_vec());
        let (mut aggregator, mut separator) = (Aggregator::new(16_000), Separator::default());
        assert_eq!(aggregator.fitting(&slices(&inner)), inner.len());
        let aggregate = aggregator.build(&slices(&inner));
        assert!(is_aggregate(aggregate));
        let mut out = Vec::new();
        let count = separator.separate(aggregate, &mut |frame| out.push(frame.to_vec()));
        assert_eq!((count, out), (inner.len(), inner));
        assert_eq!(separator.lost(), 0);
    }

    #[test]
    fn an_aggregate_is_no_longer_than_the_interface_takes() {
        let inner = frames(&[1000; 20]);
        let mut aggregator = Aggregator::new(9000);
        let fitting = aggregator.fitting(&slices(&inner));
        assert_eq!(fitting, 8, "8 x 1002 and 22 bytes, of 9014");
        let len =
            |aggregator: &mut Aggregator, count| aggregator.build(&slices(&inner)[..count]).len();
        assert!(len(&mut aggregator, fitting) <= 9014);
        assert!(len(&mut aggregator, fitting + 1) > 9014);
        assert_eq!(
            aggregator.fitting(&slices(&frames(&[60, 13, 60]))),
            1,
            "no frame"
        );
        assert_eq!(aggregator.fitting(&slices(&frames(&[9001]))), 0, "alone");
    }

    #[test]
    fn the_longest_frame_fits_into_an_aggregate_of_its_own() {
        let aggregator = Aggregator::new(mtu(9000));
        assert_eq!(aggregator.fitting(&slices(&frames(&[9000]))), 1);
        assert_eq!(aggregator.fitting(&slices(&frames(&[9001]))), 0);
    }

    #[test]
    fn what_is_lost_with_an_aggregate_is_counted_in_frames() {
        let inner = frames(&[60; 9]);
        let (mut aggregator, mut separator) = (Aggregator::new(16_000), Separator::default());
        // Near the end of what the counts can say.
        let near = Counts {
            aggregates: u32::MAX - 1,
            frames: u32::MAX - 5,
        };
        (aggregator.counts, separator.counts) = (near, near);
        for (count, arrives) in [(4, true), (9, false), (2, false), (3, true), (5, true)] {
            let aggregate = aggregator.build(&slices(&inner)[..count]).to_vec();
            aggregator.sent(count);
            if arrives {
                assert_eq!(separator.separate(&aggregate, &mut |_| {}), count);
            }
        }
        // The kernel counts 2 for the two that it has lost.
        assert_eq!(separator.lost(), 9 + 2 - 2);
    }

    #[test]
    fn one_that_is_cut_off_gives_what_is_whole() {
        let inner = frames(&[60, 61]);
        let mut aggregator = Aggregator::new(16_000);
        let aggregate = aggregator.build(&slices(&inner)).to_vec();
        for len in 0..aggregate.len() {
            let mut separator = Separator::default();
            let count = separator.separate(&aggregate[..len], &mut |_| {});
            assert_eq!(count, usize::from(len >= FRONT + LENGTH + 60), "{len}");
        }
    }
}
