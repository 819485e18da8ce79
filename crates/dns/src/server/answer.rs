//! Sections of a response.

use super::Target;
use crate::message::Query;
use crate::name::{self, Key, MAX_KEY_LEN, OwnedName};
use crate::zone::{Node, RrSet, Zone};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use core::cell::OnceCell;
use domain::base::iana::{Class, Rcode, Rtype};
use domain::base::message_builder::{
    AdditionalBuilder, AnswerBuilder, AuthorityBuilder, PushError,
};
use domain::base::{Name, Ttl};
use domain::rdata::{Cname, ZoneRecordData};

/// Maximum number of aliases that a response follows.
pub(super) const MAX_ALIASES: usize = 8;
/// Maximum number of records that prove what does not exist: one for each wildcard, and three for the end.
const MAX_PROOFS: usize = MAX_ALIASES + 3;

/// A wildcard that was expanded: the name that it replaced does not exist (RFC 4035 section 3.1.3.3).
#[derive(Clone, Copy)]
struct Expansion<'a> {
    zone: &'a Zone,
    name: &'a Name<[u8]>,
    /// Number of labels of the wildcard's parent.
    encloser: usize,
}

/// How a name was found.
#[derive(Clone, Copy)]
enum Found<'a> {
    /// At its own node, or at that of a wildcard below the ancestor with this number of labels.
    Node {
        node: &'a Node,
        wildcard: Option<usize>,
    },
    /// Below a DNAME record (RFC 6672).
    Substituted(&'a Node),
    /// At or below a delegation.
    Cut(&'a Node),
    /// Not at all: it has an ancestor with this number of labels.
    Nothing { encloser: usize },
}

/// End of the chain of aliases.
#[derive(Clone, Copy)]
enum End<'a> {
    /// There are records, or the rest of the chain is in no zone of the server.
    Answer,
    /// The name exists without records of the type.
    NoData {
        zone: &'a Zone,
        node: &'a Node,
        /// For a wildcard, the name that it matched.
        expansion: Option<Expansion<'a>>,
    },
    /// The name that a DNAME record yields is too long.
    TooLong,
    NoName {
        zone: &'a Zone,
        name: &'a Name<[u8]>,
        encloser: usize,
    },
    Referral {
        zone: &'a Zone,
        cut: &'a Node,
    },
    Refused,
}

pub(super) struct Lookup<'a> {
    zones: &'a BTreeMap<Box<[u8]>, Zone>,
    query: &'a Query<'a>,
    key: &'a mut Key,
    /// Names that DNAME records have yielded.
    names: &'a [OnceCell<OwnedName>; MAX_ALIASES],
    expansions: [Option<Expansion<'a>>; MAX_ALIASES],
    with_signatures: bool,
}

impl<'a> Lookup<'a> {
    pub fn new(
        zones: &'a BTreeMap<Box<[u8]>, Zone>,
        query: &'a Query<'a>,
        key: &'a mut Key,
        names: &'a [OnceCell<OwnedName>; MAX_ALIASES],
    ) -> Lookup<'a> {
        Lookup {
            zones,
            query,
            key,
            names,
            expansions: [None; MAX_ALIASES],
            with_signatures: query.dnssec_ok(),
        }
    }

    /// Writes all sections. A response that does not fit has none, and the bit TC (RFC 2181 section 9).
    pub fn write(
        &mut self,
        mut builder: AnswerBuilder<Target>,
    ) -> (AdditionalBuilder<Target>, Rcode) {
        let end = match self.write_answer(&mut builder) {
            Ok(end) => end,
            Err(_) => return (builder.tc_rewind_into().additional(), Rcode::NOERROR),
        };
        let code = match end {
            End::NoName { .. } => Rcode::NXDOMAIN,
            End::TooLong => Rcode::YXDOMAIN,
            End::Refused => Rcode::REFUSED,
            _ => Rcode::NOERROR,
        };
        let mut builder = builder.authority();
        if self.write_authority(end, &mut builder).is_err() {
            return (builder.answer().tc_rewind_into().additional(), code);
        }
        let mut builder = builder.additional();
        let is_whole = self.write_additional(end, &mut builder).is_ok();
        if !is_whole && matches!(end, End::Referral { .. }) {
            // Glue is not optional (RFC 9471 section 2).
            return (builder.answer().tc_rewind_into().additional(), code);
        }
        (builder, code)
    }

    /// The zone with the longest name that is an ancestor of the key; the parent's for DS records (RFC 4035 section 3.1.4.1).
    fn zone(&self) -> Option<&'a Zone> {
        let is_ds = self.query.question.rtype == Rtype::DS;
        let mut found = None;
        for labels in (0..=self.key.labels()).rev() {
            if let Some(zone) = self.zones.get(self.key.ancestor(labels)) {
                found = found.or(Some(zone));
                if !is_ds || labels < self.key.labels() {
                    return Some(zone);
                }
            }
        }
        found
    }

    fn find(&mut self, zone: &'a Zone) -> Found<'a> {
        let (apex, all) = (zone.apex().labels(), self.key.labels());
        for labels in apex..=all {
            let Some(node) = zone.node(self.key.ancestor(labels)) else {
                let encloser = labels - 1;
                let mut buffer = [0; MAX_KEY_LEN];
                return match zone.node(self.key.wildcard(encloser, &mut buffer)) {
                    Some(node) => Found::Node {
                        node,
                        wildcard: Some(encloser),
                    },
                    None => Found::Nothing { encloser },
                };
            };
            let is_cut = labels > apex && node.set(Rtype::NS).is_some();
            // Records of a delegation that belong to this side of it (RFC 4035 section 2.6).
            let is_at_parent = labels == all
                && match self.query.question.rtype {
                    Rtype::DS => true,
                    rtype => rtype == Rtype::NSEC && node.set(rtype).is_some(),
                };
            if is_cut && !is_at_parent {
                return Found::Cut(node);
            }
            if labels < all && node.set(Rtype::DNAME).is_some() {
                return Found::Substituted(node);
            }
            if labels == all {
                return Found::Node {
                    node,
                    wildcard: None,
                };
            }
        }
        // The apex exists.
        Found::Nothing { encloser: apex }
    }

    fn write_answer(&mut self, builder: &mut AnswerBuilder<Target>) -> Result<End<'a>, PushError> {
        let question = self.query.question;
        let mut name = question.name;
        let mut aliases: [Option<&Node>; MAX_ALIASES] = [None; MAX_ALIASES];
        for alias in 0..=MAX_ALIASES {
            self.key.set(name);
            let Some(zone) = self.zone() else {
                return Ok(if alias == 0 {
                    End::Refused
                } else {
                    End::Answer
                });
            };
            let with_signatures = self.with_signatures;
            let (node, wildcard) = match self.find(zone) {
                Found::Node { node, wildcard } => (node, wildcard),
                Found::Substituted(node) => {
                    builder.header_mut().set_aa(true);
                    match self.substitute(name, node, alias, builder)? {
                        Ok(target) => name = target,
                        Err(end) => return Ok(end),
                    }
                    continue;
                }
                Found::Cut(cut) => {
                    builder.header_mut().set_aa(alias > 0);
                    return Ok(End::Referral { zone, cut });
                }
                Found::Nothing { encloser } => {
                    builder.header_mut().set_aa(true);
                    return Ok(End::NoName {
                        zone,
                        name,
                        encloser,
                    });
                }
            };
            builder.header_mut().set_aa(true);
            let expansion = wildcard.map(|encloser| Expansion {
                zone,
                name,
                encloser,
            });
            if alias < MAX_ALIASES {
                self.expansions[alias] = expansion;
            }
            let mut push = |set: &RrSet| {
                push_set(name, set, set.ttl, with_signatures, |name, ttl, data| {
                    builder.push((name, Class::IN, ttl, data))
                })
            };
            if question.rtype == Rtype::ANY {
                // One set is enough (RFC 8482 section 4.1).
                let mut sets = node.sets.iter().filter(|set| set.rtype != Rtype::NSEC);
                return Ok(match sets.next() {
                    Some(set) => push(set).map(|()| End::Answer)?,
                    None => End::NoData {
                        zone,
                        node,
                        expansion,
                    },
                });
            }
            if let Some(set) = node.set(question.rtype) {
                push(set)?;
                return Ok(End::Answer);
            }
            // An alias may have NSEC records of its own (RFC 4034 section 4): without them there are none.
            let own = node
                .set(Rtype::CNAME)
                .filter(|_| question.rtype != Rtype::NSEC);
            let Some(set) = own.filter(|_| alias < MAX_ALIASES) else {
                return Ok(match own {
                    Some(_) => End::Answer,
                    None => End::NoData {
                        zone,
                        node,
                        expansion,
                    },
                });
            };
            // A loop ends here, each record once.
            let mut before = aliases.iter().flatten();
            if wildcard.is_none() && before.any(|before| core::ptr::eq(*before, node)) {
                return Ok(End::Answer);
            }
            aliases[alias] = Some(node);
            push(set)?;
            match set.data.first() {
                Some(ZoneRecordData::Cname(target)) => name = target.cname().for_slice(),
                _ => return Ok(End::Answer),
            }
        }
        Ok(End::Answer)
    }

    /// Writes the DNAME record above a name, and the CNAME record that it yields. The CNAME record has no signature: that of the DNAME
    /// record covers it (RFC 6672 sections 3.1 and 5.3.1). Returns the target, or the end of the chain.
    fn substitute(
        &self,
        name: &'a Name<[u8]>,
        node: &'a Node,
        alias: usize,
        builder: &mut AnswerBuilder<Target>,
    ) -> Result<Result<&'a Name<[u8]>, End<'a>>, PushError> {
        let set = node.set(Rtype::DNAME).expect("the caller found it");
        let Some((ZoneRecordData::Dname(dname), place)) =
            set.data.first().zip(self.names.get(alias))
        else {
            return Ok(Err(End::Answer));
        };
        let owner = node.owner.for_slice();
        push_set(
            owner,
            set,
            set.ttl,
            self.with_signatures,
            |name, ttl, data| builder.push((name, Class::IN, ttl, data)),
        )?;
        let Some(target) = name::substitute(name, owner, dname.dname().for_slice()) else {
            return Ok(Err(End::TooLong));
        };
        let target = place.get_or_init(|| target).for_slice();
        builder.push((name, Class::IN, set.ttl, Cname::new(target)))?;
        Ok(match self.query.question.rtype {
            Rtype::CNAME | Rtype::ANY => Err(End::Answer),
            _ => Ok(target),
        })
    }

    fn write_authority(
        &mut self,
        end: End<'a>,
        builder: &mut AuthorityBuilder<Target>,
    ) -> Result<(), PushError> {
        let with_signatures = self.with_signatures;
        // One record may prove two facts; it is sent once.
        let mut proofs: [Option<*const Node>; MAX_PROOFS] = [None; MAX_PROOFS];
        let mut push = |node: &Node, set: &RrSet, ttl: Ttl| {
            let is_proof = matches!(set.rtype, Rtype::NSEC | Rtype::NSEC3);
            if is_proof && proofs.contains(&Some(core::ptr::from_ref(node))) {
                return Ok(());
            }
            if let Some(free) = proofs.iter_mut().find(|proof| is_proof && proof.is_none()) {
                *free = Some(core::ptr::from_ref(node));
            }
            let owner = node.owner.for_slice();
            push_set(owner, set, ttl, with_signatures, |name, ttl, data| {
                builder.push((name, Class::IN, ttl, data))
            })
        };
        let proof = |node: &'a Node| {
            let set = node.set(Rtype::NSEC).or(node.set(Rtype::NSEC3));
            set.map(|set| (node, set))
        };
        for expansion in self.expansions.iter().flatten().filter(|_| with_signatures) {
            let Expansion {
                zone,
                name,
                encloser,
            } = *expansion;
            let covering = match zone.chain() {
                Some(chain) => chain.expanded(name, encloser),
                None => {
                    self.key.set(name);
                    zone.covering(self.key.as_slice())
                }
            };
            if let Some((node, set)) = covering.and_then(proof) {
                push(node, set, set.ttl)?;
            }
        }
        let zone = match end {
            End::Answer | End::Refused | End::TooLong => return Ok(()),
            End::Referral { zone, cut } => {
                let sets = [Rtype::NS, Rtype::DS].map(|rtype| cut.set(rtype));
                for set in sets.into_iter().flatten() {
                    if set.rtype == Rtype::NS || with_signatures {
                        push(cut, set, set.ttl)?;
                    }
                }
                if sets[1].is_some() || !with_signatures {
                    return Ok(());
                }
                let unsigned = match zone.chain() {
                    Some(chain) => chain.no_data(cut.owner.for_slice()),
                    None => [Some(cut), None],
                };
                let mut unsigned = unsigned.into_iter().flatten().filter_map(proof);
                return unsigned.try_for_each(|(node, set)| push(node, set, set.ttl));
            }
            End::NoData { zone, .. } | End::NoName { zone, .. } => zone,
        };
        if let Some((apex, soa)) = zone.at_apex(Rtype::SOA) {
            let minimum = match soa.data.first() {
                Some(ZoneRecordData::Soa(soa)) => soa.minimum(),
                _ => soa.ttl,
            };
            push(apex, soa, soa.ttl.min(minimum))?;
        }
        if !with_signatures {
            return Ok(());
        }
        let proofs = match (end, zone.chain()) {
            (End::NoName { name, encloser, .. }, Some(chain)) => chain.no_name(name, encloser),
            (
                End::NoData {
                    node, expansion, ..
                },
                Some(chain),
            ) => {
                let [own, next] = chain.no_data(node.owner.for_slice());
                // A wildcard's parent, too (RFC 5155 section 7.2.5).
                let encloser = expansion
                    .and_then(|expansion| chain.ancestor(expansion.name, expansion.encloser));
                [encloser, own, next]
            }
            (End::NoName { name, encloser, .. }, None) => {
                self.key.set(name);
                let mut buffer = [0; MAX_KEY_LEN];
                let wildcard = self.key.wildcard(encloser, &mut buffer);
                let name = zone.covering(self.key.as_slice());
                [name, zone.covering(wildcard), None]
            }
            (End::NoData { node, .. }, None) => {
                self.key.set(node.owner.for_slice());
                // Of an empty non-terminal the record before it.
                [zone.covering(self.key.as_slice()), None, None]
            }
            _ => [None; 3],
        };
        for (node, set) in proofs.into_iter().flatten().filter_map(proof) {
            push(node, set, set.ttl)?;
        }
        Ok(())
    }

    /// Addresses of the servers of a referral; for others nothing that a client needs.
    fn write_additional(
        &mut self,
        end: End<'a>,
        builder: &mut AdditionalBuilder<Target>,
    ) -> Result<(), PushError> {
        let End::Referral { zone, cut } = end else {
            return Ok(());
        };
        for server in cut.set(Rtype::NS).into_iter().flat_map(|set| &set.data) {
            let ZoneRecordData::Ns(server) = server else {
                continue;
            };
            self.key.set(server.nsdname().for_slice());
            let Some(node) = zone.node(self.key.as_slice()) else {
                continue;
            };
            for set in [Rtype::A, Rtype::AAAA]
                .into_iter()
                .filter_map(|rtype| node.set(rtype))
            {
                push_set(
                    node.owner.for_slice(),
                    set,
                    set.ttl,
                    false,
                    |name, ttl, data| builder.push((name, Class::IN, ttl, data)),
                )?;
            }
        }
        Ok(())
    }
}

/// Writes the records of a set and, if wanted, their signatures.
fn push_set<'s>(
    owner: &'s Name<[u8]>,
    set: &'s RrSet,
    ttl: Ttl,
    with_signatures: bool,
    mut push: impl FnMut(&'s Name<[u8]>, Ttl, &'s crate::zone::Data) -> Result<(), PushError>,
) -> Result<(), PushError> {
    let signatures = set.signatures.iter().filter(|_| with_signatures);
    set.data
        .iter()
        .chain(signatures)
        .try_for_each(|data| push(owner, ttl, data))
}
