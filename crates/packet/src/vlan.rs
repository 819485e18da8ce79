//! The tags of 802.1Q and 802.1ad, one or stacked.

pub use crate::ethernet::Tag;

use crate::BadHeader;
use crate::ethernet::{EthernetView, ethertype};

/// Maximum VLAN number; 0 is priority only, 4095 is reserved.
pub const MAX_ID: u16 = 4094;

/// Whether an EtherType is that of a tag.
#[inline]
pub fn is_tag(kind: u16) -> bool {
    matches!(
        kind,
        ethertype::VLAN | ethertype::SERVICE_VLAN | ethertype::OLD_SERVICE_VLAN
    )
}

/// Maximum number of tags that [`untagged`] skips. Two are usual (802.1ad).
pub const MAX_TAGS: usize = 4;

/// The EtherType after a frame's tags, and the bytes after it. `None` when the frame has no whole
/// Ethernet header, a tag that is cut off, or more than [`MAX_TAGS`].
#[inline]
pub fn untagged(frame: &[u8]) -> Option<(u16, &[u8])> {
    let mut tags = Tags::new(frame).ok()?;
    for _ in 0..=MAX_TAGS {
        if !is_tag(tags.ethertype) {
            return Some((tags.ethertype, tags.payload));
        }
        tags.next()?;
    }
    None
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
    #[inline]
    pub fn new(frame: &'a [u8]) -> Result<Tags<'a>, BadHeader> {
        EthernetView::new(frame).map(Tags::behind)
    }

    /// Those behind a header.
    #[inline]
    pub fn behind(header: EthernetView<'a>) -> Tags<'a> {
        Tags {
            ethertype: header.ethertype(),
            payload: header.payload(),
        }
    }

    /// The EtherType behind the tags taken so far.
    #[inline]
    pub fn ethertype(&self) -> u16 {
        self.ethertype
    }

    /// What is behind them.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

impl Iterator for Tags<'_> {
    type Item = Tag;

    #[inline]
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
        assert_eq!(untagged(&frame), Some((ethertype::ARP, &b"payload"[..])));
        assert_eq!(untagged(&frame[..21]), None);
    }

    #[test]
    fn more_than_four_tags_are_not_passed_over() {
        for count in 0..8 {
            let (destination, source) = (Mac::BROADCAST, Mac([2, 0, 0, 0, 0, 1]));
            let header = Ethernet {
                destination,
                source,
                tags: &[Tag::new(7); 8][..count],
                ethertype: ethertype::ARP,
            };
            let mut frame = Vec::new();
            header.build(&mut frame, |_| ());
            assert_eq!(untagged(&frame).is_some(), count <= MAX_TAGS, "{count}");
        }
    }
}
