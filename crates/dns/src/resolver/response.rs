//! Reading a response of an authoritative server: only what its zone may say is taken.
//!
//! A record counts when its owner is in the zone whose server was asked (bailiwick). A referral must lead down from that zone
//! towards the name. Glue must be in the zone that refers.

use super::delegation::{Delegation, MAX_ADDRESSES, MAX_SERVERS, NameServer, is_usable};
use super::task::Task;
use crate::message::{self, OwnedRecord, Place, name_at, record_at};
use crate::name::{Key, OwnedName, substitute};
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use domain::base::iana::{Class, Rcode, Rtype};
use domain::base::message::Section;
use domain::base::name::FlattenInto;
use domain::base::{Message, ParsedName, Record};
use domain::rdata::{Cname, ZoneRecordData};

/// The port of servers.
const PORT: u16 = 53;
/// Maximum number of aliases followed within one response.
const MAX_ALIASES: usize = 12;
/// Maximum number of records of a response that are looked at.
const MAX_RECORDS: usize = 512;

/// The meaning of a response for a search.
#[derive(Debug)]
pub enum Meaning {
    /// The end: with records, or without. Records of the authority section are in the second list.
    End(Rcode, Vec<OwnedRecord>, Vec<OwnedRecord>),
    /// An alias whose target is in another zone, or not in the response.
    Alias(Vec<OwnedRecord>, OwnedName),
    /// The servers of a zone closer to the name, and the TTL of the delegation.
    Referral(Delegation, u32),
    /// It is truncated.
    Truncated,
    /// The query has to have its whole name, or a longer one: it exists, or a server is confused.
    Longer { whole: bool },
    /// The server is not a server of the zone, or cannot respond.
    Lame,
    /// The response is that of a recursive server, or it is empty: it counts when no other server has a better one.
    Doubtful,
    /// The server does not understand the OPT record.
    NoEdns,
}

fn key_of(name: &ParsedName<&[u8]>) -> Key {
    Key::of(flat(name).for_slice())
}

fn flat(name: &ParsedName<&[u8]>) -> OwnedName {
    (*name).flatten_into()
}

struct Response<'a> {
    task: &'a Task,
    bytes: &'a [u8],
    places: Vec<(Place, Key)>,
}

/// Reads the response to the task's last query.
pub fn read(task: &Task, bytes: &[u8], had_edns: bool, with_v6: bool) -> Meaning {
    let Ok(message) = Message::from_slice(bytes) else {
        return Meaning::Lame;
    };
    let header = message.header();
    match header.rcode() {
        Rcode::NOERROR | Rcode::NXDOMAIN | Rcode::YXDOMAIN => {}
        Rcode::FORMERR | Rcode::NOTIMP if had_edns => return Meaning::NoEdns,
        // Servers that respond to whole names only (RFC 9156 section 3).
        _ if !task.is_whole() => return Meaning::Longer { whole: true },
        _ => return Meaning::Lame,
    }
    if header.tc() {
        return Meaning::Truncated;
    }
    let mut places = Vec::new();
    for place in message::records(bytes).take(MAX_RECORDS) {
        let Ok(place) = place else {
            return Meaning::Lame;
        };
        if let Some(owner) = place.owner(bytes).filter(|_| place.rtype != Rtype::OPT) {
            let key = key_of(&owner);
            places.push((place, key));
        }
    }
    let response = Response {
        task,
        bytes,
        places,
    };
    let is_negative = header.rcode() != Rcode::NOERROR;
    let (answer, last) = response.answer();
    let is_recursive = header.ra() && !header.aa() && !task.accepts_doubtful;
    if is_recursive && (!answer.is_empty() || is_negative || response.has_soa(&last)) {
        return Meaning::Doubtful;
    }
    if !task.is_whole() {
        return match answer.is_empty() && !is_negative {
            true if header.aa() || response.has_soa(&last) => Meaning::Longer { whole: false },
            true => response.referral(&last, with_v6),
            // NXDOMAIN, or an alias above the name: servers that mistake names without records for those that do not exist
            // (RFC 9156 section 3), are asked for the whole name.
            false => Meaning::Longer { whole: is_negative },
        };
    }
    if header.rcode() == Rcode::YXDOMAIN {
        // A name that an alias of its subtree makes too long (RFC 6672 section 2.2).
        let is_dname = |record: &OwnedRecord| record.rtype() == Rtype::DNAME;
        return match answer.iter().any(is_dname) {
            true => Meaning::End(Rcode::YXDOMAIN, answer, Vec::new()),
            false => Meaning::Lame,
        };
    }
    let is_found = answer.iter().any(|record| {
        matches!(task.rtype, rtype if rtype == record.rtype() || rtype == Rtype::ANY)
            && Key::of(record.owner().for_slice()) == Key::of(last.for_slice())
    });
    if is_found {
        let authority = response.authority(&last, false);
        return Meaning::End(Rcode::NOERROR, answer, authority);
    }
    if response.has_soa(&last) || (is_negative && header.aa()) {
        let authority = response.authority(&last, true);
        return Meaning::End(header.rcode(), answer, authority);
    }
    if !answer.is_empty() {
        return Meaning::Alias(answer, last);
    }
    match response.referral(&last, with_v6) {
        // Perhaps a name without records, of a server that has no SOA record to say so.
        Meaning::Lame if task.accepts_doubtful => Meaning::End(Rcode::NOERROR, answer, Vec::new()),
        Meaning::Lame if header.aa() || response.is_empty() => Meaning::Doubtful,
        meaning => meaning,
    }
}

impl Response<'_> {
    fn section(&self, section: Section) -> impl Iterator<Item = &(Place, Key)> {
        let places = self.places.iter();
        places.filter(move |(place, key)| place.section == section && self.task.is_in_zone(key))
    }

    /// The records of the name and of its aliases as far as they go, and the last name.
    fn answer(&self) -> (Vec<OwnedRecord>, OwnedName) {
        let mut answer: Vec<OwnedRecord> = Vec::new();
        let (mut key, mut name) = match self.task.is_whole() {
            true => (self.task.key.clone(), self.task.name.clone()),
            false => {
                let (name, _) = self.task.question();
                (Key::of(name.for_slice()), name)
            }
        };
        for _ in 0..MAX_ALIASES {
            let (mut alias, mut made) = (None, None);
            let mut is_found = false;
            for (place, owner) in self.section(Section::Answer) {
                let covered = match place.rtype {
                    Rtype::RRSIG => {
                        let covered = self.bytes.get(place.data.start..place.data.start + 2);
                        covered.map_or(place.rtype, |two| {
                            u16::from_be_bytes([two[0], two[1]]).into()
                        })
                    }
                    rtype => rtype,
                };
                let is_wanted = matches!(self.task.rtype, rtype if rtype == place.rtype || rtype == covered || rtype == Rtype::ANY);
                let is_alias = covered == Rtype::CNAME && !is_wanted;
                // The alias of a whole subtree (RFC 6672).
                let is_dname = covered == Rtype::DNAME
                    && owner.labels() < key.labels()
                    && key.as_slice().starts_with(owner.as_slice());
                if !is_dname && (*owner != key || !(is_wanted || is_alias)) {
                    continue;
                }
                let Some(record) = record_at(self.bytes, place.start) else {
                    continue;
                };
                if let (ZoneRecordData::Cname(target), true) = (record.data(), is_alias) {
                    alias = Some(target.cname().clone());
                }
                if let (ZoneRecordData::Dname(target), true) = (record.data(), is_dname) {
                    let owner = record.owner().for_slice();
                    let target = target.dname().for_slice();
                    let ttl = record.ttl();
                    made = substitute(name.for_slice(), owner, target).map(|made| (made, ttl));
                }
                is_found |= is_wanted && *owner == key;
                answer.push(record);
            }
            if let (None, Some((target, ttl))) = (&alias, made) {
                // The server left the alias to the resolver (RFC 6672 section 3.4).
                let data = Cname::new(target.clone()).into();
                answer.push(Record::new(name.clone(), Class::IN, ttl, data));
                alias = Some(target);
            }
            let Some(target) = alias.filter(|_| !is_found) else {
                break;
            };
            key = Key::of(target.for_slice());
            name = target;
            let seen = answer
                .iter()
                .any(|record| Key::of(record.owner().for_slice()) == key);
            if seen || !self.task.is_in_zone(&key) {
                break;
            }
        }
        (answer, name)
    }

    /// Whether there are no records but additional ones.
    fn is_empty(&self) -> bool {
        let mut places = self.places.iter();
        places.all(|(place, _)| place.section == Section::Additional)
    }

    /// Whether there is a SOA record of the zone for the name.
    fn has_soa(&self, name: &OwnedName) -> bool {
        let key = Key::of(name.for_slice());
        let mut authority = self.section(Section::Authority);
        authority.any(|(place, owner)| {
            place.rtype == Rtype::SOA && key.as_slice().starts_with(owner.as_slice())
        })
    }

    /// Records that prove what does not exist.
    fn authority(&self, name: &OwnedName, with_soa: bool) -> Vec<OwnedRecord> {
        let key = Key::of(name.for_slice());
        let is_proof = |(place, owner): &&(Place, Key)| match place.rtype {
            Rtype::SOA => with_soa && key.as_slice().starts_with(owner.as_slice()),
            Rtype::RRSIG => {
                let covered = self.bytes.get(place.data.start..place.data.start + 2);
                let covered = covered.map_or(0, |two| u16::from_be_bytes([two[0], two[1]]));
                with_soa && covered == Rtype::SOA.to_int()
                    || covered == Rtype::NSEC.to_int()
                    || covered == Rtype::NSEC3.to_int()
            }
            Rtype::NSEC | Rtype::NSEC3 => true,
            _ => false,
        };
        let authority = self.section(Section::Authority).filter(is_proof);
        authority
            .filter_map(|(place, _)| record_at(self.bytes, place.start))
            .collect()
    }

    /// A delegation of a zone between the one that was asked and the name.
    fn referral(&self, name: &OwnedName, with_v6: bool) -> Meaning {
        let key = Key::of(name.for_slice());
        let mut servers: Vec<NameServer> = Vec::new();
        let mut labels = 0;
        let mut ttl = u32::MAX;
        for (place, owner) in self.section(Section::Authority) {
            let is_below = owner.labels() > self.task.zone.labels
                && owner.labels()
                    <= self
                        .task
                        .key
                        .labels()
                        .saturating_sub(usize::from(self.task.rtype == Rtype::DS))
                && key.as_slice().starts_with(owner.as_slice());
            let is_same = labels == 0 || labels == owner.labels();
            if place.rtype != Rtype::NS || !is_below || !is_same || servers.len() >= MAX_SERVERS {
                continue;
            }
            let Some(server) = name_at(self.bytes, place.data.start) else {
                continue;
            };
            labels = owner.labels();
            ttl = ttl.min(place.lifetime());
            servers.push(NameServer {
                name: Some(flat(&server)),
                addresses: Vec::new(),
            });
        }
        if servers.is_empty() {
            return Meaning::Lame;
        }
        for server in &mut servers {
            let name = server.name.as_ref().map(|name| Key::of(name.for_slice()));
            let glue = self.section(Section::Additional);
            let glue = glue.filter(|(_, owner)| Some(owner) == name.as_ref());
            let addresses = glue.filter_map(|(place, _)| {
                let data = &self.bytes[place.data.clone()];
                let address = match place.rtype {
                    Rtype::A => IpAddr::from(<[u8; 4]>::try_from(data).ok()?),
                    Rtype::AAAA => IpAddr::from(<[u8; 16]>::try_from(data).ok()?),
                    _ => return None,
                };
                is_usable(address, with_v6).then_some(SocketAddr::new(address, PORT))
            });
            server.addresses = addresses.take(MAX_ADDRESSES).collect();
        }
        let zone = Delegation {
            labels,
            servers,
            expires: node::Time::ZERO,
        };
        Meaning::Referral(zone, ttl)
    }
}
