//! Zones from master files (RFC 1035 section 5, RFC 2308 section 4).
//!
//! All record types of the crate `domain` are read, others in the form of RFC 3597. A signed zone is data like any other:
//! signatures are kept with the records that they cover, and nothing is signed here. Times are in seconds, as in RFC 1035:
//! BIND's units, such as `1h`, are errors.
//!
//! ```
//! let zone = dns::zone::Zone::parse(
//!     "example.",
//!     "$TTL 3600\n\
//!      @ SOA ns.example. root.example. 1 7200 900 1209600 300\n\
//!      @ NS ns\n\
//!      ns A 192.0.2.53\n",
//! );
//! assert_eq!(zone.unwrap().len(), 3);
//! ```

pub(crate) mod nsec3;

use crate::name::{Key, OwnedName};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use domain::base::iana::{Class, Rtype};
use domain::base::name::FlattenInto;
use domain::base::{Name, Record, Ttl};
use domain::dep::octseq::OctetsFrom;
use domain::rdata::ZoneRecordData;
use domain::zonefile::inplace::{Entry, ScannedRecord, Zonefile};

/// Maximum length of a master file, bytes.
pub const MAX_TEXT_LEN: usize = 64 << 20;
/// Maximum number of records of a set.
pub const MAX_SET_LEN: usize = 1_000;

/// Data of a record.
pub(crate) type Data = ZoneRecordData<Vec<u8>, OwnedName>;

/// Why a text is not a zone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ZoneError {
    /// A line is not of the form of master files: line and column, and the reason.
    #[error("{0}")]
    Text(String),
    /// The file refers to another.
    #[error("$INCLUDE is not supported: put the records of {0} into the zone")]
    Include(String),
    /// The origin is not a domain name.
    #[error("{0} is not a domain name")]
    Origin(String),
    /// A record's owner is not in the zone.
    #[error("{0} is not in the zone")]
    OutOfZone(String),
    /// A record has another class than IN.
    #[error("{0} has a class other than IN")]
    Class(String),
    /// There is no SOA record at the apex, or there are several.
    #[error("the zone needs one SOA record at its apex, and has {0}")]
    Soa(usize),
    /// There is no NS record at the apex.
    #[error("the zone has no NS record at its apex")]
    NoNameServer,
    /// Several DNAME records with one name (RFC 6672 section 2.4).
    #[error("{0} has several DNAME records")]
    Dname(String),
    /// The owner of an NSEC3 record is not a hash in the zone's name (RFC 5155 section 3).
    #[error("{0} has an NSEC3 record, and its first label is not a SHA-1 hash in base32")]
    Hash(String),
    /// More iterations of a hash than 150 (RFC 9276 section 3.2).
    #[error("NSEC3 with {0} iterations: at most 150, and better 0 (RFC 9276); sign the zone again")]
    Iterations(u16),
    /// An alias with other records (RFC 1034 section 3.6.2).
    #[error("{0} has a CNAME record and other records")]
    CnameAndOther(String),
    /// More records than [`MAX_SET_LEN`] with one name and type, or a longer text than [`MAX_TEXT_LEN`].
    #[error("too long: {0}")]
    TooLong(String),
}

/// Records with one name and type, and their signatures.
#[derive(Clone, Debug)]
pub(crate) struct RrSet {
    pub rtype: Rtype,
    pub ttl: Ttl,
    pub data: Vec<Data>,
    pub signatures: Vec<Data>,
}

/// Records with one name. A name without records is an empty non-terminal (RFC 4592 section 2.2.2).
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub owner: OwnedName,
    pub sets: Vec<RrSet>,
}

impl Node {
    pub fn set(&self, rtype: Rtype) -> Option<&RrSet> {
        self.sets.iter().find(|set| set.rtype == rtype)
    }

    /// Adds a record, or a signature of records, of this type. Returns `None` if there are [`MAX_SET_LEN`], `false` for a duplicate.
    fn add(&mut self, rtype: Rtype, is_signature: bool, ttl: Ttl, data: Data) -> Option<bool> {
        let at = self.sets.iter().position(|set| set.rtype == rtype);
        let at = at.unwrap_or_else(|| {
            self.sets.push(RrSet {
                rtype,
                ttl,
                data: Vec::new(),
                signatures: Vec::new(),
            });
            self.sets.len() - 1
        });
        let set = &mut self.sets[at];
        // One TTL for all (RFC 2181 section 5.2).
        set.ttl = set.ttl.min(ttl);
        let list = match is_signature {
            true => &mut set.signatures,
            false => &mut set.data,
        };
        if list.len() >= MAX_SET_LEN {
            return None;
        }
        let is_new = !list.contains(&data);
        if is_new {
            list.push(data);
        }
        Some(is_new)
    }
}

/// A zone.
#[derive(Clone, Debug)]
pub struct Zone {
    apex: Key,
    /// By key.
    nodes: BTreeMap<Box<[u8]>, Node>,
    /// Nodes of NSEC3 records, which are outside the tree of names (RFC 5155 section 7.2.8).
    hashed: BTreeMap<nsec3::Hash, Node>,
    chain: Option<nsec3::Chain>,
    records: usize,
}

impl Zone {
    /// Reads a zone from the text of a master file. `origin` is the zone's name, and the first `$ORIGIN`.
    ///
    /// # Errors
    /// See [`ZoneError`].
    pub fn parse(origin: &str, text: &str) -> Result<Zone, ZoneError> {
        let bad_origin = |_| ZoneError::Origin(origin.into());
        let name = OwnedName::vec_from_str(origin).map_err(bad_origin)?;
        if text.len() > MAX_TEXT_LEN {
            return Err(ZoneError::TooLong(origin.into()));
        }
        if !is_closed(text) {
            let reason = "the text ends within parentheses or quotes";
            return Err(ZoneError::Text(reason.into()));
        }
        let mut file = Zonefile::with_capacity(text.len() + 1);
        file.extend_from_slice(text.as_bytes());
        file.extend_from_slice(b"\n");
        file.set_origin(Name::octets_from(name.clone()));
        file.set_default_class(Class::IN);
        let mut zone = Zone {
            apex: Key::of(name.for_slice()),
            nodes: BTreeMap::new(),
            hashed: BTreeMap::new(),
            chain: None,
            records: 0,
        };
        let bad_text = |error: domain::zonefile::inplace::Error| ZoneError::Text(error.to_string());
        while let Some(entry) = file.next_entry().map_err(bad_text)? {
            match entry {
                Entry::Record(record) => zone.add(record)?,
                Entry::Include { path, .. } => return Err(ZoneError::Include(path.to_string())),
            }
        }
        zone.check()?;
        Ok(zone)
    }

    fn add(&mut self, record: ScannedRecord) -> Result<(), ZoneError> {
        let record: Record<OwnedName, Data> = record.flatten_into();
        let key = Key::of(record.owner().for_slice());
        let name = || record.owner().to_string();
        if !key.as_slice().starts_with(self.apex.as_slice()) {
            return Err(ZoneError::OutOfZone(name()));
        }
        if record.class() != Class::IN {
            return Err(ZoneError::Class(name()));
        }
        let too_long = ZoneError::TooLong(name());
        let ttl = record.ttl();
        let (owner, data) = record.into_owner_and_data();
        let (rtype, is_signature) = match &data {
            ZoneRecordData::Rrsig(signature) => (signature.type_covered(), true),
            data => (domain::base::RecordData::rtype(data), false),
        };
        if rtype == Rtype::NSEC3 {
            let hash = nsec3::owner_hash(owner.for_slice())?;
            let node = self.hashed.entry(hash).or_insert_with(|| Node {
                owner,
                sets: Vec::new(),
            });
            let added = node.add(rtype, is_signature, ttl, data);
            return added.map(|_| ()).ok_or(too_long);
        }
        // The ancestors, too, up to the apex: they exist without records.
        let labels = (self.apex.labels()..=key.labels()).rev();
        for (labels, name) in labels.zip(owner.iter_suffixes()) {
            let node = || Node {
                owner: Name::octets_from(name),
                sets: Vec::new(),
            };
            match self.nodes.get(key.ancestor(labels)) {
                Some(_) => break,
                None => self.nodes.insert(key.ancestor(labels).into(), node()),
            };
        }
        let node = self.nodes.get_mut(key.as_slice()).expect("just inserted");
        let is_new = node.add(rtype, is_signature, ttl, data).ok_or(too_long)?;
        self.records += usize::from(is_new && !is_signature);
        Ok(())
    }

    fn check(&mut self) -> Result<(), ZoneError> {
        let count = |node: Option<&Node>, rtype| {
            let set = node.and_then(|node| node.set(rtype));
            set.map_or(0, |set| set.data.len())
        };
        let apex = self.nodes.get(self.apex.as_slice());
        let number = count(apex, Rtype::SOA);
        if number != 1 {
            return Err(ZoneError::Soa(number));
        }
        if count(apex, Rtype::NS) == 0 {
            return Err(ZoneError::NoNameServer);
        }
        for node in self.nodes.values_mut() {
            // Signatures without records cover nothing.
            node.sets.retain(|set| !set.data.is_empty());
            let is_other = |set: &RrSet| !matches!(set.rtype, Rtype::CNAME | Rtype::NSEC);
            let alias = node.set(Rtype::CNAME);
            if alias.is_some_and(|alias| alias.data.len() > 1 || node.sets.iter().any(is_other)) {
                return Err(ZoneError::CnameAndOther(node.owner.to_string()));
            }
            if node.set(Rtype::DNAME).is_some_and(|set| set.data.len() > 1) {
                return Err(ZoneError::Dname(node.owner.to_string()));
            }
        }
        let hashed = core::mem::take(&mut self.hashed);
        if let Some((_, set)) = self.at_apex(Rtype::NSEC3PARAM) {
            self.chain = nsec3::Chain::new(&set.data[0], hashed)?;
        }
        Ok(())
    }

    /// Number of records without signatures.
    #[expect(clippy::len_without_is_empty, reason = "a zone has a SOA record")]
    pub fn len(&self) -> usize {
        self.records
    }

    /// Sort key of the zone's name.
    pub fn apex(&self) -> &Key {
        &self.apex
    }

    pub(crate) fn node(&self, key: &[u8]) -> Option<&Node> {
        self.nodes.get(key)
    }

    /// The last name in canonical order, up to and including `key`, that has an NSEC record.
    pub(crate) fn covering(&self, key: &[u8]) -> Option<&Node> {
        let range = (core::ops::Bound::Unbounded, core::ops::Bound::Included(key));
        let mut before = self.nodes.range::<[u8], _>(range).rev();
        // Names without an NSEC record are glue and empty non-terminals.
        before.find_map(|(_, node)| node.set(Rtype::NSEC).map(|_| node))
    }

    /// The NSEC3 records, if the zone is signed with them.
    pub(crate) fn chain(&self) -> Option<&nsec3::Chain> {
        self.chain.as_ref()
    }

    /// The records of a type at the apex.
    pub(crate) fn at_apex(&self, rtype: Rtype) -> Option<(&Node, &RrSet)> {
        let node = self.nodes.get(self.apex.as_slice())?;
        Some((node, node.set(rtype)?))
    }
}

/// Whether all parentheses and quotes of a text are closed: at its end within them, or without a line end after quotes, the
/// parser of `domain` 0.12.3 panics.
fn is_closed(text: &str) -> bool {
    let (mut depth, mut in_quotes, mut in_comment) = (0_usize, false, false);
    let mut octets = text.bytes();
    while let Some(octet) = octets.next() {
        match octet {
            b'\n' if in_comment => in_comment = false,
            _ if in_comment => {}
            // Of an escape the next octet.
            b'\\' => drop(octets.next()),
            b'"' => in_quotes = !in_quotes,
            _ if in_quotes => {}
            b';' => in_comment = true,
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    depth == 0 && !in_quotes
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "@ 60 SOA ns root 1 2 3 4 5\n@ 60 NS ns\n";

    fn parse(tail: &str) -> Result<usize, ZoneError> {
        let text = [HEAD, tail].concat();
        Zone::parse("example.", &text).map(|zone| zone.len())
    }

    #[test]
    fn faults_are_named() {
        assert_eq!(parse("x 60 A 192.0.2.1\nx 60 A 192.0.2.1\n"), Ok(3));
        let Err(ZoneError::Text(text)) = parse("x 60 A 192.0.2\n") else {
            panic!("a short address is no error");
        };
        assert!(text.ends_with("expected IPv4 address"), "{text}");
        assert_eq!(
            parse("x 60 CNAME y\nx 60 A 192.0.2.1\n"),
            Err(ZoneError::CnameAndOther("x.example".into()))
        );
        assert_eq!(
            parse("other. 60 A 192.0.2.1\n"),
            Err(ZoneError::OutOfZone("other".into()))
        );
        assert_eq!(
            parse("$INCLUDE more\n"),
            Err(ZoneError::Include("more".into()))
        );
        assert_eq!(
            Zone::parse("example.", "@ 60 NS ns\n").map(|_| ()),
            Err(ZoneError::Soa(0))
        );
        assert!(matches!(
            parse("x 60 CH A 192.0.2.1\n"),
            Err(ZoneError::Text(_))
        ));
    }

    #[test]
    fn a_text_may_end_with_a_quoted_string() {
        assert_eq!(parse("x 60 TXT \"a \\\"b\\\"\""), Ok(3));
        for open in ["x 60 TXT \"a", "x 60 TXT (\"a\"", "x 60 TXT ( \"a)\" ; )"] {
            assert!(matches!(parse(open), Err(ZoneError::Text(_))), "{open}");
        }
    }

    #[test]
    fn names_between_have_nodes() {
        let text = [HEAD, "a.b.c 60 TYPE65280 \\# 2 0102\n"].concat();
        let zone = Zone::parse("Example", &text).unwrap();
        let owners: Vec<String> = zone
            .nodes
            .values()
            .map(|node| node.owner.to_string())
            .collect();
        assert_eq!(
            owners,
            ["Example", "c.Example", "b.c.Example", "a.b.c.Example"]
        );
    }
}
