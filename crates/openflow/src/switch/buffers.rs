//! Packets kept for controllers.

use alloc::vec::Vec;
use node::{Frame, Out, Time};

/// A kept packet.
#[derive(Debug)]
struct Kept {
    frame: Frame,
    in_port: u32,
    at: Time,
}

/// Packets by buffer id. The place is in the lower 16 bits of an id, and above it a number that changes, so that an old id
/// is told from a new one.
#[derive(Debug)]
pub(super) struct Buffers {
    places: Vec<(u16, Option<Kept>)>,
    next: usize,
    /// How long a packet is kept at least, unless its place is needed.
    life: Time,
}

/// What an id stands for.
pub(super) enum Taken {
    Packet(Frame, u32),
    /// It was used already, or given up.
    Empty,
    /// There never was such an id.
    Unknown,
}

impl Buffers {
    pub fn new(places: usize, life: Time) -> Buffers {
        Buffers {
            places: (0..places.min(0x8000)).map(|_| (0, None)).collect(),
            next: 0,
            life,
        }
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Keeps a packet; gives it back if there is no room: all places have packets that are not old yet.
    pub fn keep(
        &mut self,
        frame: Frame,
        in_port: u32,
        now: Time,
        out: &mut Out,
    ) -> Result<u32, Frame> {
        let count = self.places.len();
        let Some((round, place)) = self.places.get_mut(self.next) else {
            return Err(frame);
        };
        if let Some(kept) = place {
            // Places are used in turn: what is next is the oldest.
            if kept.at + self.life > now {
                return Err(frame);
            }
            if let Some(old) = place.take() {
                out.done(old.frame);
            }
        }
        *round = (*round + 1) & 0x7FFF;
        let id = u32::from(*round) << 16 | self.next as u32;
        *place = Some(Kept {
            frame,
            in_port,
            at: now,
        });
        self.next = (self.next + 1) % count;
        Ok(id)
    }

    /// A copy of a kept packet's bytes.
    pub fn bytes(&self, id: u32) -> &[u8] {
        match self.places.get(id as usize & 0xFFFF) {
            Some((round, Some(kept))) if u32::from(*round) == id >> 16 => &kept.frame,
            _ => &[],
        }
    }

    /// Takes a packet out.
    pub fn take(&mut self, id: u32) -> Taken {
        let Some((round, place)) = self.places.get_mut(id as usize & 0xFFFF) else {
            return Taken::Unknown;
        };
        let given = u32::from(*round);
        match id >> 16 {
            wanted if wanted == given => match place.take() {
                Some(kept) => Taken::Packet(kept.frame, kept.in_port),
                None if given == 0 => Taken::Unknown,
                None => Taken::Empty,
            },
            wanted if wanted < given && wanted > 0 => Taken::Empty,
            _ => Taken::Unknown,
        }
    }
}
