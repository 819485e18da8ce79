//! From what the kernel hands over to frames as they are on a wire: tags put back, checksums
//! completed, super-frames split.

use super::{mend, split};
use crate::port::{Received, RxCounters};
use packet::{LONGEST, SHORTEST};

/// Bytes of [`Offload`] before a frame: struct virtio_net_hdr.
pub const OFFLOAD: usize = 10;

/// What an offload has left undone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// Whether the checksum is to be completed.
    pub open_checksum: bool,
    /// VIRTIO_NET_HDR_GSO_*: the kind of super-frame; 0 for none.
    pub glued: u8,
    /// Payload bytes of each frame that it is to become.
    pub piece: usize,
    /// Where the checksum counts from.
    pub start: usize,
    /// Where it belongs, from there.
    pub offset: usize,
}

impl Offload {
    /// Reads the header; in the machine's own byte order.
    pub fn read(bytes: &[u8]) -> Offload {
        let word = |at: usize| usize::from(u16::from_ne_bytes([bytes[at], bytes[at + 1]]));
        Offload {
            open_checksum: bytes[0] & 1 != 0,
            // The top bit tells of ECN in the first frame, which splitting takes care of anyway.
            glued: bytes[1] & 0x7F,
            piece: word(4),
            start: word(6),
            offset: word(8),
        }
    }
}

/// A frame as the kernel hands it over.
pub struct Raw<'a> {
    /// [`mend::TAG`] free bytes, and the frame.
    pub room: &'a mut [u8],
    /// Whether all of it is there.
    pub whole: bool,
    /// What is left to do.
    pub offload: Offload,
    /// The tag that was taken off: TPID and TCI.
    pub tag: Option<(u16, u16)>,
    /// When it arrived.
    pub at_ns: u64,
}

/// Counts what is delivered.
#[derive(Default)]
pub struct Delivery {
    /// What happened so far, but for the kernel's own losses.
    pub counters: RxCounters,
    scratch: Vec<u8>,
}

impl Delivery {
    /// Gives the frame, or the frames that a super-frame consists of, to `sink`; how many.
    pub fn deliver(&mut self, raw: Raw<'_>, sink: &mut dyn FnMut(Received<'_>)) -> usize {
        let Raw {
            room,
            whole,
            mut offload,
            tag,
            at_ns,
        } = raw;
        let mut frame = mend::TAG;
        if !whole || room.len() - frame < SHORTEST {
            self.counters.refused += 1;
            return 0;
        }
        if let Some((tpid, tci)) = tag {
            mend::put_tag_back(room, tpid, tci);
            frame = 0;
            offload.start += mend::TAG;
        }
        let bytes = &mut room[frame..];
        let counters = &mut self.counters;
        let mut give = |bytes: &[u8]| {
            counters.received += 1;
            counters.bytes += bytes.len() as u64;
            sink(Received { bytes, at_ns });
        };
        if offload.glued != 0 {
            let pieces = split::split(bytes, &offload, &mut self.scratch, &mut give);
            match pieces {
                0 => self.counters.refused += 1,
                _ => self.counters.split += 1,
            }
            return pieces;
        }
        if bytes.len() > LONGEST {
            counters.refused += 1;
            return 0;
        }
        let open = offload.open_checksum;
        let completed = open && mend::complete_checksum(bytes, offload.start, offload.offset);
        give(bytes);
        self.counters.completed += u64::from(completed);
        1
    }
}

/// The tag that the kernel has taken off a frame, by its status word: TPID and TCI.
pub fn tag(status: u32, tci: u16, tpid: u16) -> Option<(u16, u16)> {
    let known = status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
    let tpid = if known { tpid } else { 0x8100 };
    (status & libc::TP_STATUS_VLAN_VALID != 0).then_some((tpid, tci))
}
