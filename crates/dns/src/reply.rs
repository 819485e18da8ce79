//! The response to a client, made of one that a server sent.
//!
//! Records stay as they are, DNSSEC's and those of unknown types included (RFC 3597, RFC 4035 section 3.2, RFC 5625): only
//! identifier, the case of the question and TTLs change, and what belongs to one hop: the OPT record (RFC 6891 section 6.1.1)
//! and the bits RD, RA, CD, AA. AD is cleared for a client that asked for neither it nor DNSSEC (RFC 6840 section 5.8).

use crate::cache::Age;
use crate::message::{
    self, Edns, HEADER, Invalid, Malformed, Query, Question, Transport, UDP_SIZE,
};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use domain::base::iana::{OptRcode, Rcode, Rtype};

/// TTL of an address that a policy gives, seconds.
const POLICY_TTL: u32 = 60;

/// A client, and where it asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Client {
    /// Its address and port.
    pub address: SocketAddr,
    /// The own address that it asked.
    pub own: IpAddr,
    /// The port of the link by which the query came.
    pub link: u16,
    /// MAC address that the query came from: of the client, or of a router before it.
    pub mac: [u8; 6],
    /// Transport of the query, and of the response.
    pub transport: Transport,
}

/// A query that waits for its response.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Where the response goes.
    pub client: Client,
    /// Header and question.
    message: Box<[u8]>,
    edns: Option<Edns>,
}

impl Asked {
    /// Keeps the part of a query that its response needs: at most 300 bytes.
    pub fn new(client: Client, bytes: &[u8], query: &Query<'_>) -> Asked {
        Asked {
            client,
            message: bytes[..HEADER + query.question.wire_len()].into(),
            edns: query.edns,
        }
    }

    /// The query, without other records.
    pub fn query(&self) -> Query<'_> {
        let message = domain::base::Message::from_slice(&self.message);
        Query {
            header: message.expect("a whole header was kept").header(),
            question: Question::read(&self.message).expect("a question was kept"),
            edns: self.edns,
            transport: self.client.transport,
        }
    }

    /// Header and question.
    pub fn message(&self) -> &[u8] {
        &self.message
    }
}

/// Cuts the OPT record off a server's response, with the records after it. Gives the extended
/// code.
pub fn strip_opt(response: &mut Vec<u8>) -> Result<OptRcode, Malformed> {
    let mut cut = None;
    let mut left = 0;
    let mut places = message::records(response);
    for place in places.by_ref() {
        let place = place?;
        if cut.is_some() {
            left += 1;
        } else if place.rtype == Rtype::OPT {
            cut = Some(place);
        }
    }
    let end = places.at();
    response.truncate(end);
    let code = Rcode::masked_from_int(response[3]);
    let Some(opt) = cut else {
        return Ok(code.into());
    };
    if opt.section != domain::base::message::Section::Additional {
        return Err(Malformed);
    }
    let count = u16::from_be_bytes([response[10], response[11]]) - 1 - left;
    response[10..12].copy_from_slice(&count.to_be_bytes());
    response.truncate(opt.start);
    Ok(OptRcode::from_parts(code, (opt.ttl >> 24) as u8))
}

/// Writes the response to a client.
pub fn write(query: &Query<'_>, response: &[u8], age: Age, out: &mut Vec<u8>) {
    out.clear();
    out.extend(response);
    out[..2].copy_from_slice(&query.header.id().to_be_bytes());
    let wants_ad = query.header.ad() || query.dnssec_ok();
    out[2] = out[2] & !5 | u8::from(query.header.rd());
    out[3] = out[3] & if wants_ad { 0x2F } else { 0x0F } | 0x80 | u8::from(query.header.cd()) << 4;
    let name = query.question.name.as_slice();
    out[HEADER..HEADER + name.len()].copy_from_slice(name);
    for place in message::records(response).map_while(Result::ok) {
        let ttl = age.apply(place.lifetime());
        out[place.ttl_at..place.ttl_at + 4].copy_from_slice(&ttl.to_be_bytes());
    }
    finish(query, out);
}

/// Writes a response without records.
pub fn write_code(query: &Query<'_>, code: Rcode, out: &mut Vec<u8>) {
    out.clear();
    out.extend(query.header.id().to_be_bytes());
    out.extend([
        0x80 | u8::from(query.header.rd()),
        0x80 | u8::from(query.header.cd()) << 4 | code.to_int(),
    ]);
    out.extend([0, 1, 0, 0, 0, 0, 0, 0]);
    out.extend(query.question.name.as_slice());
    out.extend(query.question.rtype.to_int().to_be_bytes());
    out.extend(query.question.class.to_int().to_be_bytes());
    finish(query, out);
}

/// Writes a response with an address, or without records when the question is for other ones.
pub fn write_address(query: &Query<'_>, address: IpAddr, out: &mut Vec<u8>) {
    write_code(query, Rcode::NOERROR, out);
    let (rtype, octets) = match &address {
        IpAddr::V4(address) => (Rtype::A, &address.octets()[..]),
        IpAddr::V6(address) => (Rtype::AAAA, &address.octets()[..]),
    };
    if query.question.rtype != rtype {
        return;
    }
    out.truncate(HEADER + query.question.wire_len());
    out[10..12].fill(0);
    out[7] = 1;
    out.extend([0xC0, HEADER as u8]);
    out.extend(rtype.to_int().to_be_bytes());
    out.extend(query.question.class.to_int().to_be_bytes());
    out.extend(POLICY_TTL.to_be_bytes());
    out.extend((octets.len() as u16).to_be_bytes());
    out.extend(octets);
    finish(query, out);
}

/// Writes the response to a message that is not a query that can be answered. `false`: there is none.
pub fn write_invalid(bytes: &[u8], invalid: Invalid, out: &mut Vec<u8>) -> bool {
    out.clear();
    let code = match invalid {
        Invalid::Ignored => return false,
        Invalid::Answered(code) => code.into(),
        Invalid::Version => OptRcode::BADVERS,
    };
    crate::server::write_error(bytes, code, false, out)
}

/// Adds the OPT record, after cutting all records off when they do not fit.
fn finish(query: &Query<'_>, out: &mut Vec<u8>) {
    let opt = if query.edns.is_some() {
        message::OPT_LEN
    } else {
        0
    };
    if out.len() + opt > query.response_size(u16::MAX) {
        out.truncate(HEADER + query.question.wire_len());
        out[2] |= 2;
        out[6..12].fill(0);
    }
    if let Some(edns) = query.edns {
        let size = UDP_SIZE.to_be_bytes();
        let flags = if edns.dnssec_ok { 0x80 } else { 0 };
        out.extend([0, 0, 41, size[0], size[1], 0, 0, flags, 0, 0, 0]);
        let count = u16::from_be_bytes([out[10], out[11]]).saturating_add(1);
        out[10..12].copy_from_slice(&count.to_be_bytes());
    }
}
