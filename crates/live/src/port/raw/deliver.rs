//! From what the kernel hands over to frames as they are on a wire: tags put back, checksums
//! completed, super-frames split.

use super::aggregate::{self, Separator};
use super::offload::{self, Offload};
use super::split;
use crate::port::{Received, RxCounters};
use packet::{MAX_FRAME_LEN, MIN_FRAME_LEN};

/// A frame as the kernel hands it over.
pub struct Raw<'a> {
    /// [`offload::TAG`] free bytes, and the frame.
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
    /// Where the other end [aggregates](super::aggregate) frames.
    separator: Option<Separator>,
    scratch: Vec<u8>,
}

impl Delivery {
    /// Of a port whose other end [aggregates](super::aggregate) frames, or does not.
    pub fn new(aggregates: bool) -> Delivery {
        Delivery {
            separator: aggregates.then(Separator::default),
            ..Delivery::default()
        }
    }

    /// Frames that were lost with aggregates, beyond one for each aggregate.
    pub fn lost(&self) -> u64 {
        self.separator.as_ref().map_or(0, Separator::lost)
    }

    /// Gives the frame, or the frames that a super-frame or an aggregate consists of, to `sink`; how many.
    pub fn deliver(&mut self, raw: Raw<'_>, sink: &mut dyn FnMut(Received<'_>)) -> usize {
        let Raw {
            room,
            whole,
            mut offload,
            tag,
            at_ns,
        } = raw;
        let mut frame = offload::TAG;
        if !whole || room.len() - frame < MIN_FRAME_LEN {
            self.counters.refused += 1;
            return 0;
        }
        if let Some((tpid, tci)) = tag {
            offload::put_tag_back(room, tpid, tci);
            frame = 0;
            offload.start += offload::TAG;
        }
        let bytes = &mut room[frame..];
        let counters = &mut self.counters;
        let separator = self.separator.as_mut();
        let mut give = |bytes: &[u8]| {
            counters.received += 1;
            counters.bytes += bytes.len() as u64;
            sink(Received { bytes, at_ns });
        };
        if let Some(separator) = separator.filter(|_| aggregate::is_aggregate(bytes)) {
            let frames = separator.separate(bytes, &mut give);
            self.counters.refused += u64::from(frames == 0);
            return frames;
        }
        if offload.glued != 0 {
            let pieces = split::split(bytes, &offload, &mut self.scratch, &mut give);
            match pieces {
                0 => self.counters.refused += 1,
                _ => self.counters.split += 1,
            }
            return pieces;
        }
        if bytes.len() > MAX_FRAME_LEN {
            counters.refused += 1;
            return 0;
        }
        let open = offload.open_checksum;
        let completed = open && offload::complete_checksum(bytes, offload.start, offload.offset);
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
