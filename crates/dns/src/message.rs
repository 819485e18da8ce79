//! Messages: the query of a client, and the records of a response in place (RFC 1035 section 4, RFC 6891).
//!
//! Names, record data and zone text are read and written by the crate `domain`. A forwarder hands on the octets that a
//! server sent, so it needs the places of fields in a message, which this module finds.

use crate::name::{self, OwnedName};
use alloc::vec::Vec;
use core::net::IpAddr;
use core::ops::Range;
use domain::base::iana::{Class, Opcode, Rcode, Rtype};
use domain::base::message::Section;
use domain::base::name::FlattenInto;
use domain::base::{Header, Message, Name, ParsedName, ParsedRecord, Record};
use domain::dep::octseq::Parser;
use domain::rdata::ZoneRecordData;

/// Length of a message's header, bytes.
pub const HEADER: usize = 12;
/// Maximum length of a message over UDP without EDNS, bytes (RFC 1035 section 2.3.4).
pub const MIN_UDP_SIZE: u16 = 512;
/// UDP payload size that avoids fragments, bytes (DNS flag day 2020).
pub const UDP_SIZE: u16 = 1232;
/// Length of an OPT record without options, bytes.
pub const OPT_LEN: usize = 11;

/// Transport of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transport {
    /// UDP: responses have a maximum length.
    #[default]
    Udp,
    /// TCP (RFC 7766): the client's address is proven by its handshake, and responses have up to 65,535 bytes.
    Tcp,
}

/// A question: name, type and class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question<'a> {
    /// Name in the case in which it was asked.
    pub name: &'a Name<[u8]>,
    /// Type of the records.
    pub rtype: Rtype,
    /// Class, nearly always `IN`.
    pub class: Class,
}

impl<'a> Question<'a> {
    /// The first question of a message.
    pub fn read(message: &'a [u8]) -> Option<Question<'a>> {
        let name = name::read(message.get(HEADER..)?)?;
        let rest: &[u8; 4] = message[HEADER + name.len()..].first_chunk()?;
        Some(Question {
            name,
            rtype: u16::from_be_bytes([rest[0], rest[1]]).into(),
            class: u16::from_be_bytes([rest[2], rest[3]]).into(),
        })
    }

    /// Length in a message, bytes.
    pub fn wire_len(&self) -> usize {
        self.name.len() + 4
    }
}

/// The OPT record of a query (RFC 6891 section 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edns {
    /// Maximum length of a response over UDP, bytes; at least 512.
    pub size: u16,
    /// DNSSEC OK (RFC 3225).
    pub dnssec_ok: bool,
}

/// A query that can be answered.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// Header as received.
    pub header: Header,
    /// Its question.
    pub question: Question<'a>,
    /// Its OPT record, if any.
    pub edns: Option<Edns>,
    /// Its transport, UDP unless [`over`](Query::over) has changed it.
    pub transport: Transport,
}

/// A message that is not a query that can be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// No response must be sent: too short for a header, or a response itself (two servers would answer each other forever).
    Ignored,
    /// The response has this code and, where the message has one that can be read, the question.
    Answered(Rcode),
    /// The response has the extended code BADVERS (RFC 6891 section 6.1.3).
    Version,
}

impl<'a> Query<'a> {
    /// Reads a query with one question and at most one OPT record.
    ///
    /// # Errors
    /// The response that the message gets instead.
    pub fn read(bytes: &'a [u8]) -> Result<Query<'a>, Invalid> {
        let message = Message::from_slice(bytes).map_err(|_| Invalid::Ignored)?;
        let header = message.header();
        if header.qr() {
            return Err(Invalid::Ignored);
        }
        if header.opcode() != Opcode::QUERY {
            return Err(Invalid::Answered(Rcode::NOTIMP));
        }
        let malformed = Invalid::Answered(Rcode::FORMERR);
        if message.header_counts().qdcount() != 1 {
            return Err(malformed);
        }
        let question = Question::read(bytes).ok_or(malformed)?;
        let mut edns = None;
        for record in records(bytes) {
            let record = record.map_err(|_| malformed)?;
            if record.rtype != Rtype::OPT {
                continue;
            }
            let is_valid = record.section == Section::Additional && bytes[record.start] == 0;
            if edns.is_some() || !is_valid {
                return Err(malformed);
            }
            let [_, version, high, _] = record.ttl.to_be_bytes();
            if version != 0 {
                return Err(Invalid::Version);
            }
            edns = Some(Edns {
                size: record.class.to_int().max(MIN_UDP_SIZE),
                dnssec_ok: high & 0x80 != 0,
            });
        }
        Ok(Query {
            header,
            question,
            edns,
            transport: Transport::Udp,
        })
    }

    /// The query, received over a transport.
    pub fn over(self, transport: Transport) -> Query<'a> {
        Query { transport, ..self }
    }

    /// Whether the client wants DNSSEC records.
    pub fn dnssec_ok(&self) -> bool {
        self.edns.is_some_and(|edns| edns.dnssec_ok)
    }

    /// Maximum length of the response, bytes, for a server that sends at most `own` over UDP.
    pub fn response_size(&self, own: u16) -> usize {
        if self.transport == Transport::Tcp {
            return u16::MAX.into();
        }
        let size = self.edns.map_or(MIN_UDP_SIZE, |edns| edns.size);
        size.min(own.max(MIN_UDP_SIZE)).into()
    }
}

/// A record's place in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its section.
    pub section: Section,
    /// Where the record begins, with its owner's name.
    pub start: usize,
    /// Where its TTL is.
    pub ttl_at: usize,
    /// Its data.
    pub data: Range<usize>,
    /// Its type.
    pub rtype: Rtype,
    /// Its class; of an OPT record the UDP payload size.
    pub class: Class,
    /// Its TTL, seconds; of an OPT record the extended header.
    pub ttl: u32,
}

impl Place {
    /// The owner's name.
    pub fn owner<'a>(&self, message: &'a [u8]) -> Option<ParsedName<&'a [u8]>> {
        name_at(message, self.start)
    }

    /// The name at `offset` of the record's data.
    pub fn name_in_data<'a>(
        &self,
        message: &'a [u8],
        offset: usize,
    ) -> Option<ParsedName<&'a [u8]>> {
        name_at(message, self.data.start + offset)
    }

    /// TTL in seconds as RFC 2181 section 8 reads it: with the highest bit set it is 0.
    pub fn lifetime(&self) -> u32 {
        if self.ttl >> 31 == 0 { self.ttl } else { 0 }
    }
}

/// The name at a place in a message, which may be compressed.
pub fn name_at(message: &[u8], at: usize) -> Option<ParsedName<&[u8]>> {
    let mut parser = Parser::from_ref(message);
    parser.seek(at).ok()?;
    ParsedName::parse_ref(&mut parser).ok()
}

/// A record with its own octets, without compression.
pub type OwnedRecord = Record<OwnedName, ZoneRecordData<Vec<u8>, OwnedName>>;

/// The record that begins at a place in a message; `None` when its data are not of its type.
pub fn record_at(message: &[u8], at: usize) -> Option<OwnedRecord> {
    let mut parser = Parser::from_ref(message);
    parser.seek(at).ok()?;
    let record = ParsedRecord::parse(&mut parser).ok()?;
    let record = record.to_record::<ZoneRecordData<_, _>>().ok()??;
    Some(record.flatten_into())
}

/// The addresses in a response's answer section: the owner's name, the address and its TTL in seconds. The owner is not the
/// name of the question where that is an alias.
pub fn addresses(message: &[u8]) -> impl Iterator<Item = (ParsedName<&[u8]>, IpAddr, u32)> {
    let answers = records(message).map_while(Result::ok);
    let answers = answers.take_while(|place| place.section == Section::Answer);
    answers.filter_map(move |place| {
        let data = &message[place.data.clone()];
        let address = match place.rtype {
            Rtype::A => IpAddr::from(<[u8; 4]>::try_from(data).ok()?),
            Rtype::AAAA => IpAddr::from(<[u8; 16]>::try_from(data).ok()?),
            _ => return None,
        };
        Some((place.owner(message)?, address, place.lifetime()))
    })
}

/// Why a message's records cannot be read: it is cut off, or has a name that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// The records of a message in order; nothing after the first error.
pub fn records(message: &[u8]) -> Records<'_> {
    let word = |at: usize| {
        message
            .get(at..at + 2)
            .map_or(0, |two| u16::from_be_bytes([two[0], two[1]]))
    };
    let mut records = Records {
        message,
        at: HEADER,
        left: [word(6), word(8), word(10)],
        broken: message.len() < HEADER,
    };
    for _ in 0..word(4) {
        let end = skip_name(message, records.at).map(|end| end + 4);
        match end.filter(|end| *end <= message.len()) {
            Some(end) => records.at = end,
            None => {
                records.broken = true;
                records.left = [0, 0, 1];
                break;
            }
        }
    }
    records
}

/// Iterator over the records of a message.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    message: &'a [u8],
    at: usize,
    /// Records left in each section.
    left: [u16; 3],
    broken: bool,
}

impl Records<'_> {
    /// Where the next record begins, or the end of the last one.
    pub fn at(&self) -> usize {
        self.at
    }

    fn read(&self, section: Section) -> Option<Place> {
        if self.broken {
            return None;
        }
        let fields = skip_name(self.message, self.at)?;
        let fixed: &[u8; 10] = self.message.get(fields..)?.first_chunk()?;
        let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let data = fields + 10..fields + 10 + usize::from(word(8));
        self.message.get(data.clone())?;
        Some(Place {
            section,
            start: self.at,
            ttl_at: fields + 4,
            data,
            rtype: word(0).into(),
            class: word(2).into(),
            ttl: u32::from_be_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]),
        })
    }
}

impl Iterator for Records<'_> {
    type Item = Result<Place, Malformed>;

    fn next(&mut self) -> Option<Result<Place, Malformed>> {
        let index = self.left.iter().position(|left| *left > 0)?;
        let section = [Section::Answer, Section::Authority, Section::Additional][index];
        let place = self.read(section);
        match &place {
            Some(place) => {
                self.left[index] -= 1;
                self.at = place.data.end;
            }
            None => self.left = [0; 3],
        }
        Some(place.ok_or(Malformed))
    }
}

/// The place after a name.
fn skip_name(message: &[u8], at: usize) -> Option<usize> {
    let mut parser = Parser::from_ref(message);
    parser.seek(at).ok()?;
    ParsedName::skip(&mut parser).ok()?;
    Some(parser.pos())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(additional: &[u8], count: u8) -> Vec<u8> {
        let mut bytes = alloc::vec![0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, count];
        bytes.extend(b"\x03wWw\x07example\0\0\x01\0\x01");
        bytes.extend(additional);
        bytes
    }

    #[test]
    fn a_query_with_edns_is_read() {
        let bytes = query(&[0, 0, 41, 4, 0xD0, 0, 0, 0x80, 0, 0, 0], 1);
        let read = Query::read(&bytes).unwrap();
        assert_eq!(read.question.rtype, Rtype::A);
        let edns = read.edns.unwrap();
        assert_eq!((edns.size, edns.dnssec_ok), (1232, true));
        assert_eq!(read.response_size(800), 800);
        let bytes = query(&[], 0);
        assert_eq!(Query::read(&bytes).unwrap().response_size(800), 512);
    }

    #[test]
    fn what_is_not_a_query_gets_its_response() {
        let malformed = Err(Invalid::Answered(Rcode::FORMERR));
        let read = |bytes: &[u8]| Query::read(bytes).map(|query| query.edns);
        let opt = [0, 0, 41, 4, 0xD0, 0, 0, 0, 0, 0, 0];
        assert_eq!(read(&query(&[opt, opt].concat(), 2)), malformed);
        assert_eq!(read(&query(&[], 1)), malformed);
        assert_eq!(read(&query(&[], 0)[..20]), malformed);
        assert_eq!(read(&[0; 11]), Err(Invalid::Ignored));
        let mut version = opt;
        version[6] = 1;
        assert_eq!(read(&query(&version, 1)), Err(Invalid::Version));
        let mut response = query(&[], 0);
        response[2] |= 0x80;
        assert_eq!(read(&response), Err(Invalid::Ignored));
        let mut update = query(&[], 0);
        update[2] = 5 << 3;
        assert_eq!(read(&update), Err(Invalid::Answered(Rcode::NOTIMP)));
    }
}
