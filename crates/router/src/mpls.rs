//! MPLS: label stacks.

use core::fmt;
use core::str::FromStr;
use packet::mpls::Label;

/// Maximum number of labels that a next hop pushes.
pub const MAX_PUSHED: usize = 4;
/// Labels below have meanings of their own (RFC 3032 section 2.1).
pub const FIRST_LABEL: u32 = 16;
/// Maximum label.
pub const LAST_LABEL: u32 = 0xF_FFFF;
/// Forms of labels in a text.
pub(crate) const LABELS: &str = "labels: 1 to 4 numbers from 16 to 1048575, as in 100/200";

/// Labels that a packet gets, the outermost first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Labels {
    labels: [u32; MAX_PUSHED],
    count: u8,
    /// Their TTL; `None`: that of the packet, or 255 if the router does not propagate it.
    pub ttl: Option<u8>,
}

impl Labels {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The labels.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.labels.into_iter().take(self.count.into())
    }

    /// Length of the stack on the wire, bytes.
    pub fn bytes(&self) -> usize {
        usize::from(self.count) * 4
    }

    /// Adds the labels to a stack whose top comes first.
    pub(crate) fn push(&self, stack: &mut Stack, class: u8, ttl: u8) {
        let ttl = self.ttl.unwrap_or(ttl);
        let first = stack.first.saturating_sub(self.count.into());
        for (at, label) in (first..).zip(self.iter()) {
            stack.entries[at] = Label { label, class, ttl };
        }
        stack.first = first;
    }
}

impl FromStr for Labels {
    type Err = ();

    fn from_str(text: &str) -> Result<Labels, ()> {
        let mut labels = Labels::default();
        for word in text.split('/') {
            let label = word.parse().map_err(|_| ())?;
            let place = labels.labels.get_mut(usize::from(labels.count));
            match place {
                Some(place) if (FIRST_LABEL..=LAST_LABEL).contains(&label) => *place = label,
                _ => return Err(()),
            }
            labels.count += 1;
        }
        Ok(labels)
    }
}

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, label) in self.iter().enumerate() {
            let slash = if index > 0 { "/" } else { "" };
            write!(f, "{slash}{label}")?;
        }
        Ok(())
    }
}

/// Maximum number of entries of a stack that arrives.
const MAX_STACK: usize = 16;

/// A label stack; its top comes first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stack {
    entries: [Label; MAX_PUSHED + MAX_STACK],
    first: usize,
    end: usize,
}

impl Stack {
    /// No labels.
    pub fn empty() -> Stack {
        Stack {
            entries: [Label::default(); MAX_PUSHED + MAX_STACK],
            first: MAX_PUSHED,
            end: MAX_PUSHED,
        }
    }

    /// Reads the stack at the start of some bytes; `None` when it is cut off or has more than 16 entries.
    pub fn read(bytes: &[u8]) -> Option<Stack> {
        let mut stack = Stack::empty();
        let mut rest = bytes;
        loop {
            let (label, is_bottom, after) = Label::split(rest).ok()?;
            *stack.entries.get_mut(stack.end)? = label;
            stack.end += 1;
            rest = after;
            if is_bottom {
                return Some(stack);
            }
        }
    }

    /// Its entries, the top first.
    pub fn entries(&self) -> &[Label] {
        &self.entries[self.first..self.end]
    }

    /// The top entry.
    pub fn top(&mut self) -> Option<&mut Label> {
        self.entries[self.first..self.end].first_mut()
    }

    /// Removes the top entry.
    pub fn pop(&mut self) -> Option<Label> {
        let top = *self.top()?;
        self.first += 1;
        Some(top)
    }

    /// Length on the wire, bytes.
    pub fn bytes(&self) -> usize {
        self.entries().len() * 4
    }

    /// Sets the TTL of all entries.
    pub fn set_ttl(&mut self, ttl: u8) {
        for entry in &mut self.entries[self.first..self.end] {
            entry.ttl = ttl;
        }
    }

    /// Writes the stack.
    pub fn write(&self, bytes: &mut [u8]) {
        let entries = self.entries();
        for (index, (entry, place)) in entries.iter().zip(bytes.chunks_exact_mut(4)).enumerate() {
            place.copy_from_slice(&entry.to_bytes(index + 1 == entries.len()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn a_stack_of_sixteen_entries_is_read_and_one_of_seventeen_is_not() {
        for count in 1..=17_u32 {
            let labels: Vec<Label> = (0..count)
                .map(|label| Label {
                    label: label + 16,
                    class: 3,
                    ttl: 9,
                })
                .collect();
            let mut bytes = Vec::new();
            packet::mpls::build(&labels, &mut bytes);
            match Stack::read(&bytes) {
                Some(stack) => {
                    assert_eq!(stack.entries(), labels);
                    let mut written = alloc::vec![0; stack.bytes()];
                    stack.write(&mut written);
                    assert_eq!(written, bytes);
                }
                None => assert_eq!(count, 17),
            }
            assert!(Stack::read(&bytes[..bytes.len() - 1]).is_none());
        }
    }
}
