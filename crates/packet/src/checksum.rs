//! The Internet checksum (RFC 1071), its incremental update (RFC 1624) and pseudo headers.

/// From how many bytes on vectors pay.
const LONG: usize = 256;

/// A ones' complement sum in the making.
///
/// Pieces are added in order; each but the last must have an even number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum(u64);

impl Sum {
    /// Adds bytes; one left over at the end counts as if a zero followed it.
    #[must_use]
    #[inline]
    pub fn plus(self, bytes: &[u8]) -> Sum {
        // Carries gather in the upper half of 64 bits, and the byte order does not matter until the
        // end (RFC 1071 section 2). Long runs go through vectors, for which short ones do not pay.
        let long = if bytes.len() < LONG {
            0
        } else {
            bytes.len() & !63
        };
        let (blocks, rest) = bytes.split_at(long);
        let mut sum = self.0;
        for block in blocks.as_chunks::<64>().0 {
            let (words, _) = block.as_chunks::<4>();
            sum += words
                .iter()
                .map(|&word| u64::from(u32::from_ne_bytes(word)))
                .sum::<u64>();
        }
        let (words, rest) = rest.as_chunks::<8>();
        let mut carried = 0u64;
        for &word in words {
            let (next, carry) = carried.overflowing_add(u64::from_ne_bytes(word));
            carried = next + u64::from(carry);
        }
        let (words, rest) = rest.as_chunks::<4>();
        for &word in words {
            sum += u64::from(u32::from_ne_bytes(word));
        }
        sum += match *rest {
            [a, b, c] => {
                u64::from(u16::from_ne_bytes([a, b])) + u64::from(u16::from_ne_bytes([c, 0]))
            }
            [a, b] => u16::from_ne_bytes([a, b]).into(),
            [a] => u16::from_ne_bytes([a, 0]).into(),
            _ => 0,
        };
        sum += (carried & 0xFFFF_FFFF) + (carried >> 32);
        // 33 bits again: 2^31 bytes or as many pieces would be needed to overflow.
        Sum((sum & 0xFFFF_FFFF) + (sum >> 32))
    }

    /// The sum folded to 16 bits, as a number in network order.
    #[inline]
    fn fold(self) -> u16 {
        // From 34 bits at most, the fourth fold always ends within 16.
        let sum = (self.0 & 0xFFFF_FFFF) + (self.0 >> 32);
        let sum = (sum & 0xFFFF) + (sum >> 16);
        let sum = (sum & 0xFFFF) + (sum >> 16);
        let sum = (sum & 0xFFFF) + (sum >> 16);
        u16::from_be(sum as u16)
    }

    /// The checksum: the complement of the sum.
    pub fn checksum(self) -> u16 {
        !self.fold()
    }

    /// The checksum for UDP, in which zero would mean that there is none (RFC 768).
    pub fn udp_checksum(self) -> u16 {
        match self.checksum() {
            0 => 0xFFFF,
            checksum => checksum,
        }
    }

    /// Whether bytes that hold their own checksum were summed, and it is right.
    #[inline]
    pub fn is_valid(self) -> bool {
        self.fold() == 0xFFFF
    }
}

/// The checksum of `bytes`, whose own checksum field is zero.
pub fn checksum(bytes: &[u8]) -> u16 {
    Sum::default().plus(bytes).checksum()
}

/// The checksum after a 16-bit field that it covers has changed (RFC 1624 equation 3).
pub fn update(checksum: u16, old: u16, new: u16) -> u16 {
    update_bytes(checksum, &old.to_be_bytes(), &new.to_be_bytes())
}

/// The checksum after bytes that it covers have changed; both begin at an even offset and have
/// the same even length.
pub fn update_bytes(checksum: u16, old: &[u8], new: &[u8]) -> u16 {
    // ~old is what undoes old; the complement of each byte is that of the sum, for even lengths.
    let old = Sum::default().plus(old).checksum();
    Sum::default()
        .plus(&(!checksum).to_be_bytes())
        .plus(&old.to_be_bytes())
        .plus(new)
        .checksum()
}

/// What TCP, UDP and ICMPv6 take from the IP header into their checksum; all but the length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pseudo(Sum);

impl Pseudo {
    /// For IPv4 (RFC 768).
    pub fn ipv4(source: [u8; 4], destination: [u8; 4], protocol: u8) -> Pseudo {
        Pseudo(
            Sum::default()
                .plus(&source)
                .plus(&destination)
                .plus(&[0, protocol]),
        )
    }

    /// For IPv6 (RFC 8200 section 8.1); `protocol` is that of the upper layer, behind extension
    /// headers.
    pub fn ipv6(source: [u8; 16], destination: [u8; 16], protocol: u8) -> Pseudo {
        Pseudo(
            Sum::default()
                .plus(&source)
                .plus(&destination)
                .plus(&[0, protocol]),
        )
    }

    /// The sum of the pseudo header with this length, of header and payload in bytes.
    pub fn sum(self, length: usize) -> Sum {
        // 16 bits in IPv4 and 32 in IPv6 add up to the same.
        self.0.plus(&(length as u32).to_be_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    /// The definition, 16 bits at a time, with the carry added at once.
    fn slow(bytes: &[u8]) -> u16 {
        let word = |pair: &[u8]| u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]);
        !bytes.chunks(2).map(word).fold(0u16, |sum, word| {
            let (sum, carry) = sum.overflowing_add(word);
            sum + u16::from(carry)
        })
    }

    #[test]
    fn the_examples_of_the_standards_hold() {
        // RFC 1071 section 3.
        assert_eq!(
            checksum(&[0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7]),
            !0xDDF2
        );
        // RFC 1624 section 4: the case that an earlier equation gets wrong.
        assert_eq!(update(0xDD2F, 0x5555, 0x3285), 0x0000);
        assert_eq!(Sum::default().plus(&[0xFF, 0xFF]).udp_checksum(), 0xFFFF);
    }

    proptest! {
        #[test]
        fn sums_are_those_of_the_definition(bytes: Vec<u8>, cut: usize) {
            prop_assert_eq!(checksum(&bytes), slow(&bytes));
            let (head, tail) = bytes.split_at((cut % (bytes.len() + 1)) & !1);
            prop_assert_eq!(Sum::default().plus(head).plus(tail).checksum(), slow(&bytes));
        }

        #[test]
        fn an_update_is_as_good_as_a_new_sum(
            mut bytes in proptest::collection::vec(any::<u8>(), 40),
            new in proptest::collection::vec(any::<u8>(), 0..10),
            at in 0..15usize,
        ) {
            // A header is never all zero, for which sums have two representations.
            bytes[38] = 0x45;
            let before = slow(&bytes);
            let new = &new[..new.len() & !1];
            let place = 2 * at..2 * at + new.len();
            let old: Vec<u8> = bytes[place.clone()].into();
            bytes[place].copy_from_slice(new);
            prop_assert_eq!(update_bytes(before, &old, new), slow(&bytes));
        }

        #[test]
        fn what_holds_its_checksum_is_valid(mut bytes in proptest::collection::vec(any::<u8>(), 20..99)) {
            bytes[10..12].fill(0);
            let sum = checksum(&bytes);
            bytes[10..12].copy_from_slice(&sum.to_be_bytes());
            prop_assert!(Sum::default().plus(&bytes).is_valid());
            bytes[3] ^= 1;
            prop_assert!(!Sum::default().plus(&bytes).is_valid());
        }
    }
}
