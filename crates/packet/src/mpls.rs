//! MPLS label stacks (RFC 3032).

use crate::BadHeader;
use crate::field;
use alloc::vec::Vec;

/// An entry of a label stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// The label, 20 bits; up to 15 have a meaning of their own.
    pub label: u32,
    /// The traffic class, 0 to 7.
    pub class: u8,
    /// How many hops are left.
    pub ttl: u8,
}

impl Label {
    /// Splits the top off what is behind EtherType 8847 or 8848: the entry, whether it is the bottom of the stack, and what
    /// is behind it. Behind the bottom nothing says what it is; IP says its version.
    ///
    /// # Errors
    /// When it is cut off.
    pub fn split(bytes: &[u8]) -> Result<(Label, bool, &[u8]), BadHeader> {
        let (entry, rest) = field::split::<4>(bytes, "MPLS label stack cut off")?;
        let entry = u32::from_be_bytes(*entry);
        let label = Label {
            label: entry >> 12,
            class: (entry >> 9 & 7) as u8,
            ttl: entry as u8,
        };
        Ok((label, entry & 0x100 != 0, rest))
    }

    /// The entry as it is sent; `is_bottom` of the last one of a stack.
    pub fn to_bytes(self, is_bottom: bool) -> [u8; 4] {
        let (label, class) = (self.label & 0xF_FFFF, u32::from(self.class & 7));
        let entry = label << 12 | class << 9 | u32::from(is_bottom) << 8 | u32::from(self.ttl);
        entry.to_be_bytes()
    }
}

/// Appends a label stack, from the top.
pub fn build(labels: &[Label], out: &mut Vec<u8>) {
    for (index, label) in labels.iter().enumerate() {
        out.extend(label.to_bytes(index + 1 == labels.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_reads_back() {
        let labels = [
            Label {
                label: 0xF_FFFF,
                class: 7,
                ttl: 255,
            },
            Label {
                label: 16,
                class: 0,
                ttl: 1,
            },
        ];
        let mut bytes = Vec::new();
        build(&labels, &mut bytes);
        bytes.extend(b"payload");
        let (top, ends, rest) = Label::split(&bytes).unwrap();
        assert_eq!((top, ends), (labels[0], false));
        assert_eq!(Label::split(rest), Ok((labels[1], true, &b"payload"[..])));
        assert!(Label::split(&bytes[..3]).is_err());
    }
}
