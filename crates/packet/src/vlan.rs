//! The tags of 802.1Q and 802.1ad, one or stacked.

use crate::BadHeader;
use crate::ethernet::{EthernetView, ethertype};

/// The highest VLAN number; 0 is priority only, 4095 is reserved.
pub const HIGHEST_ID: u16 = 4094;

/// A tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Its EtherType: [`ethertype::VLAN`] or [`ethertype::SERVICE_VLAN`].
    pub ethertype: u16,
    /// The priority, 0 to 7.
    pub priority: u8,
    /// Whether the frame may be dropped before others.
    pub drop_eligible: bool,
    /// The VLAN, 0 to 4095.
    pub id: u16,
}

impl Tag {
    /// A customer tag without priority.
    pub const fn new(id: u16) -> Tag {
        Tag {
            ethertype: ethertype::VLAN,
            priority: 0,
            drop_eligible: false,
            id,
        }
    }

    /// As it stands in a frame, at offset 12.
    pub fn to_bytes(self) -> [u8; 4] {
        let control = u16::from(self.priority & 7) << 13
            | u16::from(self.drop_eligible) << 12
            | self.id & 0x0FFF;
        let ([a, b], [c, d]) = (self.ethertype.to_be_bytes(), control.to_be_bytes());
        [a, b, c, d]
    }

    /// From the bytes of a frame at offset 12.
    pub fn from_bytes([a, b, c, d]: [u8; 4]) -> Tag {
        Tag {
            ethertype: u16::from_be_bytes([a, b]),
            priority: c >> 5,
            drop_eligible: c & 0x10 != 0,
            id: u16::from_be_bytes([c & 0x0F, d]),
        }
    }
}

/// Whether an EtherType is that of a tag.
pub fn is_tag(kind: u16) -> bool {
    matches!(
        kind,
        ethertype::VLAN | ethertype::SERVICE_VLAN | ethertype::OLD_SERVICE_VLAN
    )
}

/// The tags of a frame, the outermost first, and what is behind them.
///
/// An iterator; [`ethertype`](Tags::ethertype) and [`payload`](Tags::payload) are those behind the
/// tags taken so far. A tag that the frame cuts off ends the iteration.
#[derive(Clone, Copy, Debug)]
pub struct Tags<'a> {
    ethertype: u16,
    payload: &'a [u8],
}

impl<'a> Tags<'a> {
    /// Looks at a frame.
    ///
    /// # Errors
    /// When it is shorter than an Ethernet header.
    pub fn new(frame: &'a [u8]) -> Result<Tags<'a>, BadHeader> {
        let view = EthernetView::new(frame)?;
        Ok(Tags {
            ethertype: view.ethertype(),
            payload: view.payload(),
        })
    }

    /// The EtherType behind the tags taken so far.
    pub fn ethertype(&self) -> u16 {
        self.ethertype
    }

    /// What is behind them.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

impl Iterator for Tags<'_> {
    type Item = Tag;

    fn next(&mut self) -> Option<Tag> {
        if !is_tag(self.ethertype) {
            return None;
        }
        let (&[c, d, next @ ..], payload) = self.payload.split_first_chunk::<4>()?;
        let [a, b] = self.ethertype.to_be_bytes();
        (self.ethertype, self.payload) = (u16::from_be_bytes(next), payload);
        Some(Tag::from_bytes([a, b, c, d]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ethernet::{Ethernet, Mac};
    use alloc::vec::Vec;

    #[test]
    fn stacked_tags_read_back() {
        let outer = Tag {
            ethertype: ethertype::SERVICE_VLAN,
            priority: 5,
            drop_eligible: true,
            id: 4094,
        };
        let tags = [outer, Tag::new(7)];
        let (destination, source) = (Mac::BROADCAST, Mac([2, 0, 0, 0, 0, 1]));
        let mut frame = Vec::new();
        let header = Ethernet {
            destination,
            source,
            tags: &tags,
            ethertype: ethertype::ARP,
        };
        header.build(&mut frame, |out| out.extend(b"payload"));
        let mut walk = Tags::new(&frame).unwrap();
        assert_eq!(walk.by_ref().collect::<Vec<_>>(), tags);
        assert_eq!(
            (walk.ethertype(), walk.payload()),
            (ethertype::ARP, &b"payload"[..])
        );
        for len in 14..22 {
            assert!(Tags::new(&frame[..len]).unwrap().count() < 2);
        }
        assert!(Tags::new(&frame[..13]).is_err());
    }
}
