//! MPLS label stacks (RFC 3032).

use crate::BadHeader;
use alloc::vec::Vec;

/// An entry of a label stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// The label, 20 bits; up to 15 have a meaning of their own.
    pub label: u32,
    /// The traffic class, 0 to 7.
    pub class: u8,
    /// How many hops are left.
    pub ttl: u8,
}

/// Walks a label stack from the top; ends behind its bottom, or with an error where it is cut off.
#[derive(Clone, Copy, Debug)]
pub struct Labels<'a> {
    rest: &'a [u8],
    ended: bool,
}

impl<'a> Labels<'a> {
    /// Looks at what is behind EtherType 8847 or 8848.
    pub fn new(bytes: &'a [u8]) -> Labels<'a> {
        Labels {
            rest: bytes,
            ended: false,
        }
    }

    /// What is behind the labels taken so far. Nothing says what it is; IP says its version.
    pub fn payload(&self) -> &'a [u8] {
        self.rest
    }
}

impl Iterator for Labels<'_> {
    type Item = Result<Label, BadHeader>;

    fn next(&mut self) -> Option<Result<Label, BadHeader>> {
        if self.ended {
            return None;
        }
        let Some((&entry, rest)) = self.rest.split_first_chunk() else {
            self.ended = true;
            return Some(Err(BadHeader("MPLS label stack cut off")));
        };
        let entry = u32::from_be_bytes(entry);
        self.rest = rest;
        self.ended = entry & 0x100 != 0;
        Some(Ok(Label {
            label: entry >> 12,
            class: (entry >> 9 & 7) as u8,
            ttl: entry as u8,
        }))
    }
}

/// Appends a label stack, from the top.
pub fn build(labels: &[Label], out: &mut Vec<u8>) {
    for (index, label) in labels.iter().enumerate() {
        let bottom = u32::from(index + 1 == labels.len());
        let class = u32::from(label.class & 7);
        let entry = label.label << 12 | class << 9 | bottom << 8 | u32::from(label.ttl);
        out.extend(entry.to_be_bytes());
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
        let mut walk = Labels::new(&bytes);
        assert_eq!(
            walk.by_ref().collect::<Result<Vec<_>, _>>(),
            Ok(labels.to_vec())
        );
        assert_eq!(walk.payload(), b"payload");
        for len in 0..8 {
            assert_eq!(Labels::new(&bytes[..len]).filter(Result::is_err).count(), 1);
        }
    }
}
