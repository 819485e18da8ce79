//! PAUSE of the whole link (IEEE 802.3 clause 31B) and of priorities (PFC, IEEE 802.1Q clause 36,
//! once 802.1Qbb): MAC control frames that stop a link's sender for a time.

use crate::BadHeader;
use crate::ethernet::{Ethernet, MIN_WIRE_FRAME_LEN, Mac, ethertype};
use crate::field;
use alloc::vec::Vec;

/// Destination of PAUSE frames, which bridges do not forward.
pub const ADDRESS: Mac = Mac([0x01, 0x80, 0xC2, 0x00, 0x00, 0x01]);
/// Length of a quantum, in bit times of the receiver's port.
pub const QUANTUM_BITS: u64 = 512;
/// Number of priorities.
pub const PRIORITIES: usize = 8;

/// Opcodes of the two frames.
const LINK: u16 = 0x0001;
const PRIORITY: u16 = 0x0101;
/// Offset of the opcode: PAUSE frames have no tag.
const OPCODE: usize = 14;

/// A request to stop sending, or to go on. Times are in [quanta](QUANTUM_BITS).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pause {
    /// PAUSE: nothing is sent for this time; 0 ends a pause.
    Link(u16),
    /// PFC: pause time of each priority that the frame covers; 0 ends a pause.
    Priorities([Option<u16>; PRIORITIES]),
}

impl Pause {
    /// Reads a frame without FCS; `None` when it is not a MAC control frame for [`ADDRESS`].
    ///
    /// # Errors
    /// When it is truncated, or has another opcode.
    pub fn of(frame: &[u8]) -> Option<Result<Pause, BadHeader>> {
        let is_control = frame.get(..6)? == ADDRESS.0
            && frame.get(12..OPCODE)? == ethertype::MAC_CONTROL.to_be_bytes();
        is_control.then(|| Pause::read(&frame[OPCODE..]))
    }

    fn read(bytes: &[u8]) -> Result<Pause, BadHeader> {
        let (opcode, rest) = field::split::<2>(bytes, "MAC control frame cut off")?;
        match u16::from_be_bytes(*opcode) {
            LINK => {
                let (time, _) = field::split::<2>(rest, "PAUSE frame cut off")?;
                Ok(Pause::Link(u16::from_be_bytes(*time)))
            }
            PRIORITY => {
                // The high byte of the vector is reserved: zero when sent, ignored when received.
                let (fields, _) = field::split::<18>(rest, "PFC frame cut off")?;
                let mut times = [None; PRIORITIES];
                for (priority, time) in times.iter_mut().enumerate() {
                    let at = 2 + 2 * priority;
                    if fields[1] & 1 << priority != 0 {
                        *time = Some(u16::from_be_bytes([fields[at], fields[at + 1]]));
                    }
                }
                Ok(Pause::Priorities(times))
            }
            _ => Err(BadHeader(
                "MAC control frame with another opcode than PAUSE and PFC",
            )),
        }
    }

    /// Appends the frame, padded, without FCS.
    pub fn build(&self, source: Mac, out: &mut Vec<u8>) {
        let end = out.len() + MIN_WIRE_FRAME_LEN;
        let header = Ethernet {
            destination: ADDRESS,
            source,
            tags: &[],
            ethertype: ethertype::MAC_CONTROL,
        };
        header.build(out, |out| match self {
            Pause::Link(time) => {
                out.extend(LINK.to_be_bytes());
                out.extend(time.to_be_bytes());
            }
            Pause::Priorities(times) => {
                out.extend(PRIORITY.to_be_bytes());
                let enabled = times.iter().enumerate();
                let vector = enabled.fold(0, |vector, (priority, time)| {
                    vector | u16::from(time.is_some()) << priority
                });
                out.extend(vector.to_be_bytes());
                let fields = times
                    .iter()
                    .flat_map(|time| time.unwrap_or(0).to_be_bytes());
                out.extend(fields);
            }
        });
        out.resize(end, 0);
    }

    /// Pause time of a priority, in quanta; `None` when the frame does not cover it.
    pub fn time_of(&self, priority: usize) -> Option<u16> {
        match self {
            Pause::Link(time) => Some(*time),
            Pause::Priorities(times) => *times.get(priority)?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: Mac = Mac([2, 0, 0, 0, 0, 1]);

    fn built(pause: Pause) -> Vec<u8> {
        let mut frame = Vec::new();
        pause.build(SOURCE, &mut frame);
        frame
    }

    #[test]
    fn a_pause_frame_has_the_bytes_of_the_standard() {
        let frame = built(Pause::Link(0x1234));
        let header = [
            0x01, 0x80, 0xC2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 0x08, 0, 1, 0x12, 0x34,
        ];
        assert_eq!((&frame[..18], frame.len()), (&header[..], 60));
        assert!(frame[18..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn a_pfc_frame_has_the_bytes_of_the_standard() {
        let mut times = [None; PRIORITIES];
        (times[3], times[7]) = (Some(0xFFFF), Some(0));
        let frame = built(Pause::Priorities(times));
        assert_eq!(frame[14..18], [0x01, 0x01, 0x00, 0x88]);
        let mut fields = [0; 16];
        (fields[6], fields[7]) = (0xFF, 0xFF);
        assert_eq!((&frame[18..34], frame.len()), (&fields[..], 60));
    }

    #[test]
    fn every_vector_reads_back() {
        for vector in 0..=255u8 {
            let times = core::array::from_fn(|priority| {
                (vector & 1 << priority != 0).then_some(1000 * priority as u16 + u16::from(vector))
            });
            let pause = Pause::Priorities(times);
            assert_eq!(Pause::of(&built(pause)), Some(Ok(pause)));
        }
        let pause = Pause::Link(7);
        assert_eq!(Pause::of(&built(pause)), Some(Ok(pause)));
        assert_eq!((pause.time_of(0), pause.time_of(7)), (Some(7), Some(7)));
    }

    #[test]
    fn other_frames_and_cut_ones_are_none_or_an_error() {
        let frame = built(Pause::Link(7));
        for len in 0..14 {
            assert_eq!(Pause::of(&frame[..len]), None);
        }
        for len in 14..18 {
            assert!(matches!(Pause::of(&frame[..len]), Some(Err(_))), "{len}");
        }
        let mut other = frame.clone();
        other[15] = 2;
        assert!(matches!(Pause::of(&other), Some(Err(_))));
        other[12] = 0x08;
        assert_eq!(Pause::of(&other), None);
        let mut to_other = frame;
        to_other[5] = 2;
        assert_eq!(Pause::of(&to_other), None);
    }
}
