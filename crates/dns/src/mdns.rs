//! Relay of multicast DNS between links (RFC 6762, RFC 6763), so that a service on one link is found on another.
//!
//! It reads each message and writes it again: questions and records that do not pass are left out, and a message of which
//! nothing is left is dropped.
//!
//! - **Names:** those in `local`, and reverse names. With a list of service types only these, and the hosts whose SRV records
//!   have passed.
//! - **Addresses** of link-local scope do not pass: they mean nothing on another link.
//! - **Known answers** of queries pass, so that a responder stays silent about them (RFC 6762 section 7.1).
//! - **Responses by unicast** (QU) are asked for by multicast instead: they would end at the relay.
//! - **Loops:** a message that comes back from another link within a second is dropped, as of two relays in parallel.
//!
//! Queries from another port than 5353 want a response by unicast (RFC 6762 section 6.7), and are not relayed.

use crate::lru::Lru;
use crate::message::{HEADER, OwnedRecord, record_at, records};
use crate::name::{Key, OwnedName};
use crate::recent::{Recent, Refusal};
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;
use domain::base::iana::{Opcode, Rcode};
use domain::base::message::Section;
use domain::base::{Message, MessageBuilder, StaticCompressor, ToName};
use domain::rdata::ZoneRecordData;
use node::{ConfigError, Time};

/// The port of multicast DNS.
pub const PORT: u16 = 5353;
/// Maximum length of a message, bytes (RFC 6762 section 17).
const MAX_LEN: usize = 9_000;
/// Maximum number of records of a message.
const MAX_RECORDS: usize = 256;
/// Maximum number of hosts that are known from SRV records.
const MAX_HOSTS: usize = 1_024;
/// The highest bit of a question's class: a response by unicast is wanted (RFC 6762 section 5.4).
const UNICAST: u16 = 0x8000;

/// Reasons of messages that are not relayed.
pub mod reason {
    /// Not a message, too long, or of another kind than query and response.
    pub const MALFORMED: &str = "mdns: malformed";
    /// From another port than 5353.
    pub const LEGACY: &str = "mdns: not from port 5353";
    /// Nothing of it passes.
    pub const FILTERED: &str = "mdns: filtered";
    /// It has come from another link a short time ago.
    pub const LOOP: &str = "mdns: loop";
    /// Beyond the link's rate.
    pub const RATE: &str = "mdns: beyond the rate";
}

/// Counters of a relay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Queries relayed.
    pub queries: u64,
    /// Responses relayed.
    pub responses: u64,
    /// Questions and records that did not pass.
    pub filtered: u64,
}

/// A relay.
#[derive(Debug)]
pub struct Relay {
    /// Keys of the service types that pass; none: all names.
    services: Vec<Key>,
    enumeration: Key,
    local: Key,
    reverse: Key,
    hosts: Lru<Vec<u8>, ()>,
    recent: Recent,
    counters: Counters,
}

impl Relay {
    /// A relay of service types such as `_ipp._tcp`, or of all, and with a rate of messages a second for each link.
    ///
    /// # Errors
    /// When a service type is not a name.
    pub fn new(services: &[String], rate: u32) -> Result<Relay, ConfigError> {
        let key = |text: &str| OwnedName::vec_from_str(text).map(|name| Key::of(name.for_slice()));
        let service = |text: &String| {
            let name = alloc::format!("{}.local", text.trim_end_matches(".local"));
            let reason = "a service type is of the form _ipp._tcp";
            let is_type = text.starts_with('_');
            let read = key(&name).ok().filter(|_| is_type);
            read.ok_or_else(|| ConfigError::new("services", reason))
        };
        let known = |text| key(text).expect("a name");
        Ok(Relay {
            services: services.iter().map(service).collect::<Result<_, _>>()?,
            enumeration: known("_services._dns-sd._udp.local"),
            local: known("local"),
            reverse: known("arpa"),
            hosts: Lru::default(),
            recent: Recent::new(rate),
            counters: Counters::default(),
        })
    }

    /// Its counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Takes a message that has arrived on a link, and writes the one to send on the others.
    ///
    /// # Errors
    /// The reason why it is not relayed.
    pub fn handle(
        &mut self,
        now: Time,
        link: u16,
        source: SocketAddr,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        if source.port() != PORT {
            return Err(reason::LEGACY);
        }
        let message = Message::from_slice(bytes).map_err(|_| reason::MALFORMED)?;
        let header = message.header();
        let is_ours = header.opcode() == Opcode::QUERY && header.rcode() == Rcode::NOERROR;
        if !is_ours || bytes.len() > MAX_LEN {
            return Err(reason::MALFORMED);
        }
        self.rewrite(message, out)?;
        self.recent
            .admit(now, link, out)
            .map_err(|refusal| match refusal {
                Refusal::Loop => reason::LOOP,
                Refusal::Rate => reason::RATE,
            })?;
        match header.qr() {
            true => self.counters.responses += 1,
            false => self.counters.queries += 1,
        }
        Ok(())
    }

    fn rewrite(&mut self, message: &Message<[u8]>, out: &mut Vec<u8>) -> Result<(), &'static str> {
        out.clear();
        let target = StaticCompressor::new(core::mem::take(out));
        let builder = MessageBuilder::from_target(target);
        let mut builder = builder
            .unwrap_or_else(|_| unreachable!("a vector grows"))
            .question();
        *builder.header_mut() = message.header();
        for question in message.question() {
            let question = question.map_err(|_| reason::MALFORMED)?;
            let key = Key::of(question.qname().to_vec().for_slice());
            if !self.passes(&key) {
                self.counters.filtered += 1;
                continue;
            }
            let class = (question.qclass().to_int() & !UNICAST).into();
            let kept = (question.qname(), question.qtype(), class);
            builder.push(kept).map_err(|_| reason::MALFORMED)?;
        }
        let bytes = message.as_slice();
        let mut kept: Vec<(Section, OwnedRecord)> = Vec::new();
        for place in records(bytes).take(MAX_RECORDS) {
            let place = place.map_err(|_| reason::MALFORMED)?;
            let record = record_at(bytes, place.start).filter(|record| self.admits(record));
            match record {
                Some(record) => kept.push((place.section, record)),
                None => self.counters.filtered += 1,
            }
        }
        let of = |wanted: Section| kept.iter().filter(move |(section, _)| *section == wanted);
        let mut builder = builder.answer();
        for (_, record) in of(Section::Answer) {
            builder.push(record).map_err(|_| reason::MALFORMED)?;
        }
        let mut builder = builder.authority();
        for (_, record) in of(Section::Authority) {
            builder.push(record).map_err(|_| reason::MALFORMED)?;
        }
        let mut builder = builder.additional();
        for (_, record) in of(Section::Additional) {
            builder.push(record).map_err(|_| reason::MALFORMED)?;
        }
        *out = builder.finish().into_target();
        let is_empty = out[4..HEADER].iter().all(|octet| *octet == 0);
        if is_empty || (message.header().qr() && out[6..8] == [0, 0]) {
            return Err(reason::FILTERED);
        }
        Ok(())
    }

    fn passes(&mut self, name: &Key) -> bool {
        let below = |above: &Key| name.as_slice().starts_with(above.as_slice());
        if self.services.is_empty() {
            return below(&self.local) || below(&self.reverse);
        }
        *name == self.enumeration
            || self.services.iter().any(below)
            || self.hosts.get(name.as_slice()).is_some()
    }

    /// Whether a record passes; remembers the host of a service that does.
    fn admits(&mut self, record: &OwnedRecord) -> bool {
        let owner = Key::of(record.owner().for_slice());
        if !self.passes(&owner) {
            return false;
        }
        match record.data() {
            ZoneRecordData::A(address) => !address.addr().is_link_local(),
            ZoneRecordData::Aaaa(address) => !address.addr().is_unicast_link_local(),
            ZoneRecordData::Ptr(target) if owner == self.enumeration => {
                self.passes(&Key::of(target.ptrdname().for_slice()))
            }
            ZoneRecordData::Srv(service) => {
                let host = Key::of(service.target().for_slice());
                self.hosts.insert(host.as_slice().to_vec(), ());
                if self.hosts.len() > MAX_HOSTS {
                    self.hosts.pop_oldest();
                }
                true
            }
            _ => true,
        }
    }
}
