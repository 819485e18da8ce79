//! The key of a group, by which its members know each other's messages.
//!
//! A message with a tag is [`LENGTH`](crate::message::LENGTH) bytes and behind them [`TAG`] bytes: SipHash-2-4 (Aumasson and Bernstein, INDOCRYPT 2012) of the
//! group's address and the message, under a key of 128 bits. A forger without the key guesses one tag in 2^64. A message that is
//! repeated passes: it does no harm, as a network may repeat it too.

use core::fmt;
use core::hash::Hasher;
use core::net::Ipv4Addr;
use siphasher::sip::SipHasher24;

/// Bytes of a tag.
pub const TAG: usize = 8;

/// A key of 128 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; 16]);

impl Key {
    /// A key from its 32 hexadecimal digits; `None` when the text is anything else. Space around it does not count.
    pub fn parse(text: &str) -> Option<Key> {
        let digits: &[u8; 32] = text.trim().as_bytes().try_into().ok()?;
        let mut bytes = [0; 16];
        for (byte, [high, low]) in bytes.iter_mut().zip(digits.as_chunks().0) {
            let digit = |digit: &u8| char::from(*digit).to_digit(16);
            *byte = (digit(high)? << 4 | digit(low)?) as u8;
        }
        Some(Key(bytes))
    }

    /// The tag of a message to a group.
    pub fn tag(&self, group: Ipv4Addr, message: &[u8]) -> [u8; TAG] {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(&group.octets());
        hasher.write(message);
        hasher.finish().to_be_bytes()
    }

    /// Whether `tag` is that of a message, in a time that does not depend on where they differ.
    pub fn verifies(&self, group: Ipv4Addr, message: &[u8], tag: &[u8; TAG]) -> bool {
        let own = self.tag(group, message);
        let differences = own.iter().zip(tag).map(|(own, other)| own ^ other);
        core::hint::black_box(differences.fold(0, |all, some| all | some)) == 0
    }
}

/// Never shows the key.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_32_hexadecimal_digits() {
        let key = Key::parse("000102030405060708090a0b0c0d0E0F\n").unwrap();
        assert_eq!(key.0, core::array::from_fn(|byte| byte as u8));
        assert_eq!(alloc::format!("{key:?}"), "Key(..)");
        for text in [
            "",
            "00",
            "000102030405060708090a0b0c0d0e0g",
            "+00102030405060708090a0b0c0d0e0f",
        ] {
            assert_eq!(Key::parse(text), None, "{text}");
        }
    }

    /// The vector of 15 bytes in the paper, appendix A: here the first four are the group.
    #[test]
    fn the_tag_is_siphash_2_4() {
        let key = Key(core::array::from_fn(|byte| byte as u8));
        let message: [u8; 11] = core::array::from_fn(|byte| byte as u8 + 4);
        let group = Ipv4Addr::new(0, 1, 2, 3);
        let tag = key.tag(group, &message);
        assert_eq!(u64::from_be_bytes(tag), 0xA129_CA61_49BE_45E5);
        assert!(key.verifies(group, &message, &tag));
        for bit in 0..64 {
            let other = (u64::from_be_bytes(tag) ^ 1 << bit).to_be_bytes();
            assert!(!key.verifies(group, &message, &other));
        }
        assert!(!key.verifies(Ipv4Addr::new(0, 1, 2, 4), &message, &tag));
        assert!(!Key([0; 16]).verifies(group, &message, &tag));
    }
}
