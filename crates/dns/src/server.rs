//! Authoritative server: a query in, a response out (RFC 1034 section 4.3.2).
//!
//! Aliases are followed through all zones of the server, wildcards are expanded (RFC 4592), delegations get their glue.
//! Names and types that do not exist have the SOA record in their response (RFC 2308). With the bit DO a response has the
//! signatures of the zone file and the NSEC or NSEC3 records that prove what does not exist (RFC 4035 section 3.1, RFC 5155 section 7).
//! DNAME records make aliases of the names below them (RFC 6672).
//!
//! **Reflection.** A query of 28 bytes or more gets a response of at most `max_size` bytes, 1232 by default; without EDNS one
//! of 17 bytes gets 512. With the headers of IPv4 and UDP that is at most 23 times the bytes, for the first `rate` responses a
//! second to a network. Beyond that a response is no longer than its query, or there is none. Responses over TCP have no limit.
//!
//! Not supported: zone transfers, updates.

mod answer;
mod limit;

pub use limit::{Limit, Verdict};

use crate::message::{Invalid, MIN_UDP_SIZE, OPT_LEN, Query, Question, Transport, UDP_SIZE};
use crate::name::Key;
use crate::zone::Zone;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::IpAddr;
use domain::base::iana::{Class, OptRcode, Rcode};
use domain::base::message_builder::AnswerBuilder;
use domain::base::{MessageBuilder, StaticCompressor};
use node::{Statistics, Time};

/// Limits of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum length of a response over UDP, bytes, 512 to 4096.
    pub max_size: u16,
    /// Responses a second to each network of clients; 0: no limit.
    pub rate: u32,
    /// Every `slip`th response beyond the rate is sent truncated; 0: none.
    pub slip: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_size: UDP_SIZE,
            rate: 200,
            slip: 2,
        }
    }
}

/// Counters of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Responses.
    pub answered: u64,
    /// Of these, those with an error code other than NXDOMAIN.
    pub errors: u64,
    /// Of these, those cut off by the client's or the server's size.
    pub truncated: u64,
    /// Responses beyond the rate, truncated.
    pub slipped: u64,
    /// Responses beyond the rate, not sent.
    pub limited: u64,
    /// Messages that are not queries, without a response.
    pub ignored: u64,
}

/// An authoritative server.
#[derive(Debug)]
pub struct Server {
    zones: BTreeMap<Box<[u8]>, Zone>,
    max_size: u16,
    limit: Limit,
    counters: Counters,
    /// Key of the name that is looked up.
    key: Key,
}

pub(crate) type Target = StaticCompressor<Vec<u8>>;

impl Server {
    /// A server of some zones; of two with the same name the last.
    pub fn new(zones: Vec<Zone>, limits: Limits) -> Server {
        let zones = zones.into_iter().map(|zone| (zone.apex().to_box(), zone));
        Server {
            zones: zones.collect(),
            max_size: limits.max_size.clamp(MIN_UDP_SIZE, 4096),
            limit: Limit::new(limits.rate, limits.slip),
            counters: Counters::default(),
            key: Key::default(),
        }
    }

    /// Its counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Adds the counters to those of a node.
    pub fn count(&self, all: &mut Statistics) {
        let counters = &self.counters;
        all.counter("answered", counters.answered);
        all.counter("errors", counters.errors);
        all.counter("truncated", counters.truncated);
        all.counter("limited_truncated", counters.slipped);
        all.counter("limited_dropped", counters.limited);
        all.counter("not_a_query", counters.ignored);
    }

    /// Writes the response to a query from `client` into `response`, whose old content goes. `false`: there is none.
    pub fn handle_query(
        &mut self,
        now: Time,
        client: IpAddr,
        transport: Transport,
        query: &[u8],
        response: &mut Vec<u8>,
    ) -> bool {
        response.clear();
        let read = Query::read(query).map(|query| query.over(transport));
        if read.is_err_and(|invalid| invalid == Invalid::Ignored) {
            self.counters.ignored += 1;
            return false;
        }
        // The handshake proves the address of a TCP client.
        let verdict = match transport {
            Transport::Udp => self.limit.decide(now, client),
            Transport::Tcp => Verdict::Send,
        };
        match verdict {
            Verdict::Send => {}
            Verdict::Truncate => {
                self.counters.slipped += 1;
                return write_error(query, OptRcode::NOERROR, true, response);
            }
            Verdict::Drop => {
                self.counters.limited += 1;
                return false;
            }
        }
        self.counters.answered += 1;
        let code = match read {
            Err(Invalid::Version) => OptRcode::BADVERS,
            Err(Invalid::Answered(code)) => code.into(),
            Err(Invalid::Ignored) => return false,
            Ok(query) if query.question.class != Class::IN => OptRcode::REFUSED,
            Ok(query) => {
                let code = self.answer(&query, response);
                self.counters.errors +=
                    u64::from(code != Rcode::NOERROR && code != Rcode::NXDOMAIN);
                return true;
            }
        };
        self.counters.errors += 1;
        write_error(query, code, false, response)
    }

    fn answer(&mut self, query: &Query<'_>, response: &mut Vec<u8>) -> Rcode {
        let size = query.response_size(self.max_size);
        let target = StaticCompressor::new(core::mem::take(response));
        let mut builder = start(query, target);
        let opt = if query.edns.is_some() { OPT_LEN } else { 0 };
        builder.set_push_limit(size - opt);
        let names = Default::default();
        let mut lookup = answer::Lookup::new(&self.zones, query, &mut self.key, &names);
        let (mut builder, code) = lookup.write(builder);
        builder.clear_push_limit();
        builder.header_mut().set_rcode(code);
        self.counters.truncated += u64::from(builder.header().tc());
        if query.edns.is_some() {
            // The code's upper bits are zero, as they are by default. The limit is off: it fits.
            let _ = builder.opt(|opt| {
                opt.set_udp_payload_size(self.max_size);
                opt.set_dnssec_ok(query.dnssec_ok());
                Ok(())
            });
        }
        *response = builder.finish().into_target();
        code
    }
}

/// Begins a response: header and question.
fn start(query: &Query<'_>, target: Target) -> AnswerBuilder<Target> {
    let builder = MessageBuilder::from_target(target);
    let mut builder = builder
        .unwrap_or_else(|_| unreachable!("a vector grows"))
        .question();
    let header = builder.header_mut();
    header.set_id(query.header.id());
    header.set_qr(true);
    header.set_rd(query.header.rd());
    header.set_cd(query.header.cd());
    let Question { name, rtype, class } = query.question;
    // A first name is never compressed, and there is no limit yet.
    let _ = builder.push((name, rtype, class));
    builder.answer()
}

/// Appends a response without records to a message that is not answered: its header, and its question if that can be read.
/// `false` when the message has no header.
pub(crate) fn write_error(
    query: &[u8],
    code: OptRcode,
    is_truncated: bool,
    response: &mut Vec<u8>,
) -> bool {
    let Some(header) = query.first_chunk::<4>() else {
        return false;
    };
    let question = Question::read(query);
    let [id, low, flags, more] = *header;
    response.extend([id, low]);
    // Opcode and RD; QR. Of the others CD.
    response.push(0x80 | flags & 0x79 | if is_truncated { 2 } else { 0 });
    response.push(more & 0x10 | code.rcode().to_int());
    let has_opt = code.ext() != 0;
    response.extend([
        0,
        u8::from(question.is_some()),
        0,
        0,
        0,
        0,
        0,
        u8::from(has_opt),
    ]);
    if let Some(question) = question {
        let start = crate::message::HEADER;
        response.extend(&query[start..start + question.wire_len()]);
    }
    if has_opt {
        let size = UDP_SIZE.to_be_bytes();
        response.extend([0, 0, 41, size[0], size[1], code.ext(), 0, 0, 0, 0, 0]);
    }
    true
}
