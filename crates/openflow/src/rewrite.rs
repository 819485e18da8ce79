//! What actions do to the bytes of a frame.
//!
//! Each function leaves a frame alone that has not what it is about: a field of a header that is not there cannot be set.
//! Checksums are mended by the difference (RFC 1624), so that one that was wrong stays wrong by as much; this holds for the
//! first fragment of a datagram as well, whose header has the checksum of all of it. A UDP checksum of zero says that there
//! is none, and stays.

mod field;
mod tag;
mod ttl;

#[cfg(test)]
mod tests;

pub use field::{set_field, set_transport};
pub use tag::{pop_mpls, pop_pbb, pop_vlan, push_mpls, push_pbb, push_vlan, set_vlan};
pub use ttl::{
    InvalidTtl, copy_ttl_in, copy_ttl_out, dec_mpls_ttl, dec_nw_ttl, set_mpls_ttl, set_nw_ttl,
};

use packet::checksum::update_bytes;

/// A checksum that covers what is replaced.
#[derive(Clone, Copy)]
struct Covering {
    at: usize,
    /// Zero says that there is none.
    optional: bool,
}

impl Covering {
    fn at(at: usize) -> Covering {
        Covering {
            at,
            optional: false,
        }
    }
}

/// Puts bytes in the place of others, and mends checksums. What checksums cover begins at an even distance from `at`, and
/// the bytes are an even number.
fn replace<const N: usize>(
    frame: &mut [u8],
    at: usize,
    new: [u8; N],
    covering: &[Option<Covering>],
) {
    let Some(place) = frame.get_mut(at..).and_then(|f| f.first_chunk_mut::<N>()) else {
        return;
    };
    let old = core::mem::replace(place, new);
    if old == new {
        return;
    }
    for sum in covering.iter().flatten() {
        let Some(place) = frame.get_mut(sum.at..).and_then(|f| f.first_chunk_mut()) else {
            continue;
        };
        let before = u16::from_be_bytes(*place);
        if sum.optional && before == 0 {
            continue;
        }
        let after = match update_bytes(before, &old, &new) {
            0 if sum.optional => 0xFFFF,
            after => after,
        };
        *place = after.to_be_bytes();
    }
}

/// Two bytes at a place; zeros beyond the end.
fn pair(frame: &[u8], at: usize) -> [u8; 2] {
    let bytes = frame.get(at..).and_then(|frame| frame.first_chunk());
    bytes.copied().unwrap_or_default()
}

/// Four bytes at a place, as a number; zero beyond the end.
fn word(frame: &[u8], at: usize) -> u32 {
    let bytes = frame.get(at..).and_then(|frame| frame.first_chunk());
    bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes))
}
