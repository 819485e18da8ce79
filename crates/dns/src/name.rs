//! Domain names as octets in wire format, uncompressed (RFC 1035 section 3.1).

use alloc::boxed::Box;
use alloc::vec::Vec;
pub use domain::base::Name;

/// Maximum length of a name in wire format, bytes (RFC 1035 section 2.3.4).
pub const MAX_NAME_LEN: usize = 255;

/// Maximum length of a [`Key`] with a wildcard's label: at most two octets for each of the name.
pub const MAX_KEY_LEN: usize = 2 * MAX_NAME_LEN + 2;

/// A name with its own octets.
pub type OwnedName = Name<Vec<u8>>;

/// The name at the start of `bytes`; `None` when it is compressed, cut off or too long.
pub fn read(bytes: &[u8]) -> Option<&Name<[u8]>> {
    let mut at = 0;
    loop {
        let length = usize::from(*bytes.get(at)?);
        at += 1 + length;
        if length > 63 || at > MAX_NAME_LEN {
            return None;
        }
        if length == 0 {
            return Name::from_slice(bytes.get(..at)?).ok();
        }
    }
}

/// Appends a name in lower case (RFC 4343: US-ASCII only).
pub fn write_lower(name: &Name<[u8]>, out: &mut Vec<u8>) {
    // Lengths of labels are below b'A'.
    out.extend(name.as_slice().iter().map(u8::to_ascii_lowercase));
}

/// A name in lower case.
pub fn to_lower(name: &Name<[u8]>) -> OwnedName {
    let mut octets = Vec::with_capacity(name.len());
    write_lower(name, &mut octets);
    Name::from_octets(octets).expect("a name in lower case is a name")
}

/// A name below `owner` with that suffix replaced by `target` (RFC 6672 section 2.2); `None` when it is too long.
pub fn substitute(name: &Name<[u8]>, owner: &Name<[u8]>, target: &Name<[u8]>) -> Option<OwnedName> {
    let prefix = name.len().checked_sub(owner.len())?;
    let octets = [&name.as_slice()[..prefix], target.as_slice()].concat();
    OwnedName::from_octets(octets).ok()
}

/// Sort key of a name: the keys' order is the canonical order of names (RFC 4034 section 6.1), and the key of an ancestor is
/// a prefix of the key.
///
/// The labels from the root down in lower case, each with a zero octet after it. In labels 0 is written as 1 1, and 1 as 1 2.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    octets: Vec<u8>,
    /// End of each label in `octets`, from the root down.
    ends: Vec<u16>,
}

impl Key {
    /// The key of a name.
    pub fn of(name: &Name<[u8]>) -> Key {
        let mut key = Key::default();
        key.set(name);
        key
    }

    /// Becomes the key of a name.
    pub fn set(&mut self, name: &Name<[u8]>) {
        self.octets.clear();
        self.ends.clear();
        for label in name.iter().rev().filter(|label| !label.is_root()) {
            self.push(label.as_slice());
        }
    }

    /// Goes down by one label.
    pub fn push(&mut self, label: &[u8]) {
        for octet in label.iter().map(u8::to_ascii_lowercase) {
            match octet {
                0 | 1 => self.octets.extend([1, octet + 1]),
                _ => self.octets.push(octet),
            }
        }
        self.octets.push(0);
        self.ends.push(self.octets.len() as u16);
    }

    /// Number of labels without the root's.
    pub fn labels(&self) -> usize {
        self.ends.len()
    }

    /// The key of the ancestor with `labels` labels.
    pub fn ancestor(&self, labels: usize) -> &[u8] {
        let end = labels.checked_sub(1).map_or(0, |last| self.ends[last]);
        &self.octets[..usize::from(end)]
    }

    /// The key of the wildcard below the ancestor with `labels` labels (RFC 4592), in a buffer.
    pub fn wildcard<'b>(&self, labels: usize, buffer: &'b mut [u8; MAX_KEY_LEN]) -> &'b [u8] {
        let ancestor = self.ancestor(labels);
        let end = ancestor.len() + 2;
        buffer[..ancestor.len()].copy_from_slice(ancestor);
        buffer[ancestor.len()..end].copy_from_slice(b"*\0");
        &buffer[..end]
    }

    /// The whole key.
    pub fn as_slice(&self) -> &[u8] {
        &self.octets
    }

    /// The whole key, to keep.
    pub fn to_box(&self) -> Box<[u8]> {
        self.octets.as_slice().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_canonical_order_of_names() {
        // The example of RFC 4034 section 6.1, with a label of octet 0.
        let names = [
            "example",
            "a.example",
            "yljkjljk.a.example",
            "Z.a.example",
            "zABC.a.EXAMPLE",
            "z.example",
            "\\000.z.example",
            "\\001.z.example",
            "*.z.example",
            "\\200.z.example",
        ];
        let names = names.map(|text| OwnedName::vec_from_str(text).unwrap());
        let keys: Vec<Key> = names.iter().map(|name| Key::of(name.for_slice())).collect();
        assert!(keys.is_sorted(), "{keys:?}");
        assert!(keys.windows(2).all(|pair| pair[0].octets != pair[1].octets));
        assert_eq!(keys[2].ancestor(2), keys[1].as_slice());
        assert_eq!((keys[2].labels(), keys[2].ancestor(0)), (3, &[][..]));
    }

    #[test]
    fn compressed_and_long_names_are_refused() {
        assert!(read(&[0xC0, 12]).is_none());
        assert!(read(&[3, b'w']).is_none());
        let long: Vec<u8> = (0..128).flat_map(|_| [1, b'a']).chain([0]).collect();
        assert!(read(&long).is_none());
        assert_eq!(read(&[1, b'a', 0, 9]).unwrap().len(), 3);
    }
}
