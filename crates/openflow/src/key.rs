//! A frame's flow key: all that OpenFlow can match, packed into words.
//!
//! Every match field of OpenFlow 1.3 (section 7.2.3.7) has its place in an array of 64-bit words, and so have those of 1.0,
//! which are some of the same under other names. Fields that no frame has together share a place: a match names the
//! types of the headers that it looks into (its prerequisites), so that what stands there cannot be mistaken.
//! A mask is a key of which the bits say what counts. [`extract`] reads a frame once, from front to back.
//!
//! | word | from the highest bit to the lowest |
//! |---|---|
//! | 0 | in_port 32, in_phy_port 32 |
//! | 1 | metadata |
//! | 2 | eth_dst 48, eth_type 16 |
//! | 3 | eth_src 48, vlan_pcp 3, vlan_vid 13 with the bit that says that there is a tag |
//! | 4 | ip_dscp 6, ip_ecn 2, ip_proto 8; ports of TCP, UDP, SCTP, or ICMP's type and code, 16 each; arp_op or ipv6_exthdr 16 |
//! | 5, 6 | ipv6_src; or ipv4_src and ipv4_dst, or arp_spa and arp_tpa in 5, arp_sha in 6 |
//! | 7, 8 | ipv6_dst; or arp_tha in 7 |
//! | 9 | mpls_label 20, mpls_tc 3, mpls_bos 1, ipv6_flabel or pbb_isid 24, zero 16 |
//! | 10 | tunnel_id |
//! | 11, 12 | ipv6_nd_target |
//! | 13 | ipv6_nd_sll 48, zero 16 |
//! | 14 | ipv6_nd_tll 48, zero 16 |

mod extract;
mod field;

pub use extract::{Layers, Network, exthdr, extract};

pub use crate::oxm::{Field, VLAN_PRESENT};
use field::position;

/// Words in a key.
pub const WORDS: usize = 15;

/// The eth_type of a frame that has a length in its place and no SNAP header (OFP_DL_TYPE_NOT_ETH_TYPE).
pub const NOT_ETHERTYPE: u16 = 0x05FF;

/// A flow key, or a mask over one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub [u64; WORDS]);

impl Key {
    /// Nothing: the mask that every key matches.
    pub const ZERO: Key = Key([0; WORDS]);

    /// A field's value.
    pub fn get(&self, field: Field) -> u128 {
        let place = position(field);
        let word = usize::from(place.word);
        match place.bits {
            128 => u128::from(self.0[word]) << 64 | u128::from(self.0[word + 1]),
            _ => u128::from(self.0[word] >> place.shift & place.ones()),
        }
    }

    /// Sets a field; bits that it does not have are left out.
    pub fn set(&mut self, field: Field, value: u128) {
        let place = position(field);
        let word = usize::from(place.word);
        if place.bits == 128 {
            self.0[word] = (value >> 64) as u64;
            self.0[word + 1] = value as u64;
            return;
        }
        let ones = place.ones();
        self.0[word] = self.0[word] & !(ones << place.shift) | (value as u64 & ones) << place.shift;
    }

    /// What both have.
    #[must_use]
    #[inline]
    pub fn and(&self, other: &Key) -> Key {
        Key(core::array::from_fn(|i| self.0[i] & other.0[i]))
    }

    /// What either has.
    #[must_use]
    #[inline]
    pub fn or(&self, other: &Key) -> Key {
        Key(core::array::from_fn(|i| self.0[i] | other.0[i]))
    }

    /// Whether every bit of this mask is in the other.
    pub fn is_within(&self, other: &Key) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a & !b == 0)
    }

    /// The in_port, which every frame has.
    pub fn in_port(&self) -> u32 {
        (self.0[0] >> 32) as u32
    }

    /// Sets in_port and in_phy_port, which are the same on a switch without logical ports.
    pub fn set_in_port(&mut self, port: u32) {
        self.0[0] = u64::from(port) << 32 | u64::from(port);
    }
}

impl AsRef<Key> for Key {
    fn as_ref(&self) -> &Key {
        self
    }
}

/// A match: the values that count, and which bits of them do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    /// Which bits count.
    pub mask: Key,
    /// What they have to be; no bit that does not count is set.
    pub value: Key,
}

impl Pattern {
    /// Asks for a field to be exactly this.
    #[must_use]
    pub fn with(self, field: Field, value: u128) -> Pattern {
        self.with_masked(field, value, u128::MAX)
    }

    /// Asks for the bits of a field that the mask has.
    #[must_use]
    pub fn with_masked(mut self, field: Field, value: u128, mask: u128) -> Pattern {
        self.mask.set(field, mask);
        self.value.set(field, value & mask);
        self
    }

    /// Whether a key has what is asked for.
    pub fn matches(&self, key: &Key) -> bool {
        let words = self.mask.0.iter().zip(&self.value.0).zip(&key.0);
        words.fold(0, |off, ((mask, value), key)| off | (key & mask ^ value)) == 0
    }

    /// Whether there is a key that both match.
    pub fn overlaps(&self, other: &Pattern) -> bool {
        let common = self.mask.and(&other.mask);
        self.value.and(&common) == other.value.and(&common)
    }

    /// Whether every key that the other matches, this one matches too.
    pub fn covers(&self, other: &Pattern) -> bool {
        self.mask.is_within(&other.mask) && other.value.and(&self.mask) == self.value
    }
}

#[cfg(test)]
mod tests;
