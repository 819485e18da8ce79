//! DNS64 (RFC 6147): AAAA records with the prefix of a NAT64, for names that have only A records.
//!
//! If the response to a question for AAAA records has none, or only excluded ones, the A records are looked up. Each A record
//! becomes an AAAA record with its address [embedded](ip::embedding) in the prefix. The answer to a question for the PTR records
//! of such an address is an alias to the name for the IPv4 address (section 5.3.1).
//!
//! Responses with signatures are unchanged, and so are those to queries with the bits DO and CD: a validating client would
//! refuse synthesized records (section 5.5).

use crate::message::{OwnedRecord, Question, record_at, records};
use crate::name::OwnedName;
use alloc::format;
use alloc::vec::Vec;
use core::net::{Ipv4Addr, Ipv6Addr};
use domain::base::iana::{Class, Rcode, Rtype};
use domain::base::message::Section;
use domain::base::{Record, Ttl};
use domain::rdata::{Aaaa, Cname, ZoneRecordData};
use ip::address::InterfaceAddress;
use ip::embedding::Prefix;

/// TTL of AAAA records where the response without any has no SOA record (RFC 6147 section 5.1.7), and of aliases of PTR questions,
/// seconds.
const DEFAULT_TTL: u32 = 600;
/// Maximum number of records of a response that are examined.
const MAX_RECORDS: usize = 4_096;

/// Configuration: the key `dns64` of a forwarder or resolver.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Prefix of the NAT64. Default: 64:ff9b::/96, which carries global addresses only.
    pub prefix: Prefix,
    /// AAAA records that are treated as absent. Default: ::ffff:0:0/96 (RFC 6147 section 5.1.4).
    pub exclude: Vec<InterfaceAddress>,
}

impl Default for Config {
    fn default() -> Config {
        let mapped = Ipv4Addr::UNSPECIFIED.to_ipv6_mapped();
        Config {
            prefix: Prefix::WELL_KNOWN,
            exclude: alloc::vec![InterfaceAddress {
                address: mapped.into(),
                prefix: 96,
            }],
        }
    }
}

/// Second question of a job.
#[derive(Clone, Debug)]
pub(crate) enum Detour {
    /// For A records of the same name. The value limits the TTL of synthesized records, seconds.
    Address { max_ttl: u32 },
    /// For the PTR records of this name, which stands for an IPv4 address.
    Reverse(OwnedName),
}

/// Result for a response to a question for AAAA records.
pub(crate) enum Verdict {
    Keep,
    /// Some of its AAAA records are excluded.
    Filter,
    Detour(Detour),
}

impl Config {
    /// Second question for the PTR records of an address with the prefix.
    pub(crate) fn reverse(&self, question: &Question<'_>) -> Option<Detour> {
        if question.rtype != Rtype::PTR || question.class != Class::IN {
            return None;
        }
        let [a, b, c, d] = self.prefix.extract(address_of(question)?)?.octets();
        let name = OwnedName::vec_from_str(&format!("{d}.{c}.{b}.{a}.in-addr.arpa."));
        Some(Detour::Reverse(name.expect("a short name")))
    }

    fn is_excluded(&self, address: Ipv6Addr) -> bool {
        let mut all = self.exclude.iter();
        all.any(|network| network.contains(address.into()))
    }

    /// Decides about the response to a question for AAAA records.
    pub(crate) fn judge(&self, response: &[u8]) -> Verdict {
        let code = Rcode::masked_from_int(response[3]);
        let is_truncated = response[2] & 2 != 0;
        if code == Rcode::NXDOMAIN || is_truncated {
            return Verdict::Keep;
        }
        let (mut kept, mut excluded, mut ttl) = (false, false, DEFAULT_TTL);
        if code == Rcode::NOERROR {
            for place in records(response).map_while(Result::ok).take(MAX_RECORDS) {
                let data = &response[place.data.clone()];
                match (place.section, place.rtype) {
                    // The denial, or the alias, is signed.
                    (_, Rtype::RRSIG) => return Verdict::Keep,
                    (Section::Answer, Rtype::AAAA) => {
                        let address = <[u8; 16]>::try_from(data);
                        match address.is_ok_and(|address| self.is_excluded(address.into())) {
                            true => excluded = true,
                            false => kept = true,
                        }
                    }
                    (Section::Authority, Rtype::SOA) => ttl = place.lifetime(),
                    _ => {}
                }
            }
        }
        match (kept, excluded) {
            (true, false) => Verdict::Keep,
            (true, true) => Verdict::Filter,
            (false, _) => Verdict::Detour(Detour::Address { max_ttl: ttl }),
        }
    }

    /// Writes the response without excluded records.
    pub(crate) fn filter(&self, question: &Question<'_>, response: &[u8], out: &mut Vec<u8>) {
        let keep = |record: OwnedRecord| match record.data() {
            ZoneRecordData::Aaaa(data) if self.is_excluded(data.addr()) => None,
            _ => Some(record),
        };
        write(question, response, Vec::new(), keep, out);
    }

    /// Writes the response to a question from the response to its second question.
    pub(crate) fn synthesise(
        &self,
        question: &Question<'_>,
        detour: &Detour,
        response: &[u8],
        out: &mut Vec<u8>,
    ) {
        match detour {
            Detour::Address { max_ttl } => {
                let embed = |record: OwnedRecord| {
                    let ZoneRecordData::A(data) = record.data() else {
                        return Some(record);
                    };
                    let address = self.prefix.embed(data.addr())?;
                    let ttl = record.ttl().min(Ttl::from_secs(*max_ttl));
                    let data = Aaaa::new(address).into();
                    Some(Record::new(record.owner().clone(), Class::IN, ttl, data))
                };
                write(question, response, Vec::new(), embed, out);
            }
            Detour::Reverse(target) => {
                let owner = OwnedName::from_octets(question.name.as_slice().to_vec());
                let data = Cname::new(target.clone()).into();
                let owner = owner.expect("a name");
                let alias = Record::new(owner, Class::IN, Ttl::from_secs(DEFAULT_TTL), data);
                write(question, response, alloc::vec![alias], Some, out);
            }
        }
    }
}

/// Writes a response with the code of another one and its records, as mapped by `change`. `first` is the first answer record.
fn write(
    question: &Question<'_>,
    response: &[u8],
    first: Vec<OwnedRecord>,
    change: impl Fn(OwnedRecord) -> Option<OwnedRecord>,
    out: &mut Vec<u8>,
) {
    let section = |wanted: Section| {
        let all = records(response).map_while(Result::ok).take(MAX_RECORDS);
        let all = all.filter(move |place| place.section == wanted);
        all.filter_map(|place| record_at(response, place.start))
    };
    let mut answer = first;
    answer.extend(section(Section::Answer).filter_map(change));
    let authority: Vec<OwnedRecord> = section(Section::Authority).collect();
    let code = Rcode::masked_from_int(response[3]);
    let is_truncated = response[2] & 2 != 0;
    crate::build::response(question, code, is_truncated, &answer, &authority, out);
}

/// Address that a name under ip6.arpa encodes.
fn address_of(question: &Question<'_>) -> Option<Ipv6Addr> {
    let mut labels = question.name.iter();
    let mut bits = 0_u128;
    for place in 0..32 {
        let [digit] = labels.next()?.as_slice() else {
            return None;
        };
        bits |= u128::from(char::from(*digit).to_digit(16)?) << (4 * place);
    }
    let is_label = |label: Option<&domain::base::name::Label>, text: &[u8]| {
        label.is_some_and(|label| label.as_slice().eq_ignore_ascii_case(text))
    };
    let is_arpa = is_label(labels.next(), b"ip6") && is_label(labels.next(), b"arpa");
    (is_arpa && labels.next().is_some_and(|label| label.is_root())).then_some(bits.into())
}
