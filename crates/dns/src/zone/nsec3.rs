//! Hashed denial of existence: the NSEC3 records of a signed zone (RFC 5155).

use super::{Data, Node, ZoneError};
use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::vec::Vec;
use domain::base::Name;
use domain::base::iana::{Nsec3HashAlgorithm, Rtype};
use domain::rdata::ZoneRecordData;
use sha1::{Digest, Sha1};

/// Maximum number of additional iterations: validators accept no more (RFC 9276 section 3.2), and each query costs several hashes.
pub const MAX_ITERATIONS: u16 = 150;

/// Hash of a name.
pub(super) type Hash = [u8; 20];

/// The NSEC3 records of a zone by their hashes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain {
    iterations: u16,
    salt: Vec<u8>,
    nodes: BTreeMap<Hash, Node>,
}

impl Chain {
    /// Selects the chain of the zone's NSEC3PARAM record from all NSEC3 records in the file.
    ///
    /// # Errors
    /// With more than [`MAX_ITERATIONS`].
    pub fn new(parameters: &Data, nodes: BTreeMap<Hash, Node>) -> Result<Option<Chain>, ZoneError> {
        let ZoneRecordData::Nsec3param(parameters) = parameters else {
            return Ok(None);
        };
        let is_known = parameters.hash_algorithm() == Nsec3HashAlgorithm::SHA1;
        if !is_known || parameters.flags() != 0 {
            return Ok(None);
        }
        let iterations = parameters.iterations();
        if iterations > MAX_ITERATIONS {
            return Err(ZoneError::Iterations(iterations));
        }
        let mut chain = Chain {
            iterations,
            salt: parameters.salt().as_slice().to_vec(),
            nodes,
        };
        // A zone has two chains while it changes from one to the other.
        let (salt, nodes) = (&chain.salt, &mut chain.nodes);
        nodes.retain(|_, node| {
            let data = node.set(Rtype::NSEC3).and_then(|set| set.data.first());
            matches!(data, Some(ZoneRecordData::Nsec3(record))
                if record.iterations() == iterations && record.salt().as_slice() == salt)
        });
        Ok(Some(chain))
    }

    fn hash(&self, name: &[u8]) -> Hash {
        let lower = name.to_ascii_lowercase();
        let first = Sha1::new().chain_update(lower).chain_update(&self.salt);
        let mut hash: Hash = first.finalize().into();
        for _ in 0..self.iterations {
            let next = Sha1::new().chain_update(hash).chain_update(&self.salt);
            hash = next.finalize().into();
        }
        hash
    }

    /// The record of a name, in wire format.
    fn matching(&self, name: &[u8]) -> Option<&Node> {
        self.nodes.get(&self.hash(name))
    }

    /// The record that covers the hash of a name without a record of its own.
    fn covering(&self, name: &[u8]) -> Option<&Node> {
        let mut before = self.nodes.range(..=self.hash(name));
        // The last record's range wraps around.
        let found = before.next_back().or_else(|| self.nodes.last_key_value());
        found.map(|(_, node)| node)
    }

    /// Proof that the name that matched a wildcard does not exist, below the ancestor with `encloser` labels (RFC 5155
    /// section 7.2.6).
    pub fn expanded(&self, name: &Name<[u8]>, encloser: usize) -> Option<&Node> {
        self.covering(suffix(name, encloser + 1))
    }

    /// Proof of the closest encloser with a record, from `encloser` labels up: its record, and that which covers the next closer
    /// name (RFC 5155 section 7.2.1).
    fn closest(&self, name: &Name<[u8]>, encloser: usize) -> ([Option<&Node>; 2], usize) {
        let mut all = (0..=encloser).rev();
        let found = all.find_map(|labels| Some((self.matching(suffix(name, labels))?, labels)));
        match found {
            Some((node, labels)) => {
                let next = self.covering(suffix(name, labels + 1));
                ([Some(node), next], labels)
            }
            None => ([None, None], encloser),
        }
    }

    /// Proof that neither a name nor a wildcard for it exists (RFC 5155 section 7.2.2).
    pub fn no_name(&self, name: &Name<[u8]>, encloser: usize) -> [Option<&Node>; 3] {
        let ([node, next], labels) = self.closest(name, encloser);
        let wildcard = [b"\x01*", suffix(name, labels)].concat();
        [node, next, self.covering(&wildcard)]
    }

    /// Proof that a name has no records of a type, or no DS records: its own record, or without one because of opt-out, the proof
    /// of the closest encloser (RFC 5155 sections 7.2.3, 7.2.4 and 7.2.7).
    pub fn no_data(&self, name: &Name<[u8]>) -> [Option<&Node>; 2] {
        match self.matching(name.as_slice()) {
            Some(node) => [Some(node), None],
            None => self.closest(name, name.label_count().saturating_sub(2)).0,
        }
    }

    /// The record of the ancestor with `labels` labels of a name.
    pub fn ancestor(&self, name: &Name<[u8]>, labels: usize) -> Option<&Node> {
        self.matching(suffix(name, labels))
    }
}

/// The last `labels` labels of a name and the root's, in wire format.
fn suffix(name: &Name<[u8]>, labels: usize) -> &[u8] {
    let skipped = name.label_count().saturating_sub(labels + 1);
    let octets = name.as_slice();
    let skip = |at: usize, _| at + 1 + usize::from(octets[at]);
    &octets[(0..skipped).fold(0, skip)..]
}

/// Hash in the first label of an NSEC3 record's owner, in base32 (RFC 5155 section 3).
pub(super) fn owner_hash(owner: &Name<[u8]>) -> Result<Hash, ZoneError> {
    let label = owner.first();
    let text = core::str::from_utf8(label.as_slice()).unwrap_or_default();
    let decoded = domain::utils::base32::decode_hex::<Vec<u8>>(text).ok();
    let hash = decoded.and_then(|hash| Hash::try_from(hash).ok());
    hash.ok_or_else(|| ZoneError::Hash(owner.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::OwnedName;
    use std::format;

    #[test]
    fn the_hashes_of_rfc_5155_hold() {
        let chain = Chain {
            iterations: 12,
            salt: [0xAA, 0xBB, 0xCC, 0xDD].into(),
            nodes: BTreeMap::new(),
        };
        // Of the example zone in appendix A.
        for (name, hash) in [
            ("example.", "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom"),
            ("a.example.", "35mthgpgcu1qg68fab165klnsnk3dpvl"),
            ("x.Y.w.example.", "2vptu5timamqttgl4luu9kg21e0aor3s"),
            ("*.w.example.", "r53bq7cc2uvmubfu5ocmm6pers9tk9en"),
        ] {
            let name = OwnedName::vec_from_str(name).unwrap();
            let owner = OwnedName::vec_from_str(&format!("{hash}.example.")).unwrap();
            let expected = owner_hash(owner.for_slice()).unwrap();
            assert_eq!(chain.hash(name.as_slice()), expected, "{hash}");
        }
    }

    #[test]
    fn suffixes_have_their_labels() {
        let name = OwnedName::vec_from_str("a.bc.example.").unwrap();
        let all = [&b"\0"[..], b"\x07example\0", b"\x02bc\x07example\0"];
        for (labels, expected) in all.into_iter().enumerate() {
            assert_eq!(suffix(name.for_slice(), labels), expected);
        }
        assert_eq!(suffix(name.for_slice(), 3), name.as_slice());
    }
}
