//! Queries under way to servers: hard to forge a response to (RFC 5452).
//!
//! Each query has a port of its own and an identifier, both random. A response must come from the server's address and port
//! to that port, with that identifier and the question. With `mix_case` the letters of the question have random case, and
//! the response must have the same (draft-vixie-dnsext-dns0x20).

use crate::message::{HEADER, OPT_LEN, Question, UDP_SIZE};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::net::SocketAddr;
use domain::base::iana::Rcode;
use node::random::Random;
use node::{Statistics, Time};

/// The lowest port that a query is sent from.
const MIN_PORT: u16 = 1024;
/// Ports that are never used: of mDNS and SSDP, whose services would get the responses.
const RESERVED_PORTS: [u16; 2] = [1900, 5353];
/// Maximum number of queries under way; it leaves most ports free, so that a random one is soon found.
pub const MAX_EXCHANGES: usize = 16_384;

/// A query to a server.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The server.
    pub server: SocketAddr,
    /// The question.
    pub question: Question<'a>,
    /// The bit RD.
    pub recursion_desired: bool,
    /// The bit CD.
    pub checking_disabled: bool,
    /// Whether the query has an OPT record, and its bit DO.
    pub edns: Option<bool>,
    /// After this time without a response the query has failed.
    pub timeout: Time,
}

#[derive(Debug)]
struct Exchange {
    server: SocketAddr,
    id: u16,
    /// The question as sent.
    question: Box<[u8]>,
    owner: u64,
    has_edns: bool,
    deadline: Time,
}

/// End of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The owner that the query was sent for.
    pub owner: u64,
    /// The server.
    pub server: SocketAddr,
    /// Whether the query had an OPT record.
    pub has_edns: bool,
}

/// Counters of queries to servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Queries sent.
    pub sent: u64,
    /// Responses accepted.
    pub accepted: u64,
    /// Queries without a response.
    pub timeouts: u64,
    /// Responses refused: no query is under way from that port.
    pub wrong_port: u64,
    /// Responses refused: from another server.
    pub wrong_server: u64,
    /// Responses refused: another identifier.
    pub wrong_id: u64,
    /// Responses refused: another question, or no response at all.
    pub wrong_question: u64,
}

/// Queries under way.
#[derive(Debug)]
pub struct Exchanges {
    by_port: BTreeMap<u16, Exchange>,
    deadlines: BTreeSet<(Time, u16)>,
    random: Random,
    mix_case: bool,
    message: Vec<u8>,
    counters: Counters,
}

impl Exchanges {
    /// No queries; ports and identifiers come from the seed.
    pub fn new(seed: u64, mix_case: bool) -> Exchanges {
        Exchanges {
            by_port: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            random: Random::new(seed),
            mix_case,
            message: Vec::new(),
            counters: Counters::default(),
        }
    }

    /// Its counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Adds the counters to those of a node.
    pub fn count(&self, all: &mut Statistics) {
        let counters = &self.counters;
        all.counter("sent_queries", counters.sent);
        all.counter("taken_responses", counters.accepted);
        all.counter("timeouts", counters.timeouts);
        all.counter("wrong_port", counters.wrong_port);
        all.counter("wrong_server", counters.wrong_server);
        all.counter("wrong_id", counters.wrong_id);
        all.counter("wrong_question", counters.wrong_question);
    }

    /// Whether a query is under way from a port.
    pub fn has_port(&self, port: u16) -> bool {
        self.by_port.contains_key(&port)
    }

    /// Number of queries under way.
    pub fn len(&self) -> usize {
        self.by_port.len()
    }

    /// Whether no query is under way.
    pub fn is_empty(&self) -> bool {
        self.by_port.is_empty()
    }

    /// The source of random numbers, for the choice of servers.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// Sends a query for an owner: gives port and message. `None` when [`MAX_EXCHANGES`] are under way.
    pub fn start(&mut self, now: Time, owner: u64, request: &Request<'_>) -> Option<(u16, &[u8])> {
        if self.by_port.len() >= MAX_EXCHANGES {
            return None;
        }
        let port = loop {
            let port = MIN_PORT + self.random.below(u64::from(u16::MAX - MIN_PORT) + 1) as u16;
            if !self.by_port.contains_key(&port) && !RESERVED_PORTS.contains(&port) {
                break port;
            }
        };
        let id = self.random.bits() as u16;
        let message = &mut self.message;
        message.clear();
        message.extend(id.to_be_bytes());
        // AD asks for the bit in the response (RFC 6840 section 5.7).
        let flags = 0x20 | u8::from(request.checking_disabled) << 4;
        message.extend([u8::from(request.recursion_desired), flags]);
        message.extend([0, 1, 0, 0, 0, 0, 0, u8::from(request.edns.is_some())]);
        crate::name::write_lower(request.question.name, message);
        if self.mix_case {
            let mut bits = 0;
            for (index, octet) in message[HEADER..].iter_mut().enumerate() {
                if index % 64 == 0 {
                    bits = self.random.bits();
                }
                if octet.is_ascii_lowercase() && bits >> (index % 64) & 1 == 1 {
                    *octet = octet.to_ascii_uppercase();
                }
            }
        }
        message.extend(request.question.rtype.to_int().to_be_bytes());
        message.extend(request.question.class.to_int().to_be_bytes());
        let question = message[HEADER..].into();
        if let Some(dnssec_ok) = request.edns {
            let size = UDP_SIZE.to_be_bytes();
            let flags = if dnssec_ok { 0x80 } else { 0 };
            message.extend([0, 0, 41, size[0], size[1], 0, 0, flags, 0, 0, 0]);
            debug_assert_eq!(OPT_LEN, 11);
        }
        let deadline = now + request.timeout;
        let exchange = Exchange {
            server: request.server,
            id,
            question,
            owner,
            has_edns: request.edns.is_some(),
            deadline,
        };
        self.by_port.insert(port, exchange);
        self.deadlines.insert((deadline, port));
        self.counters.sent += 1;
        Some((port, &self.message))
    }

    /// Takes a datagram that has arrived at `port`; `None` when it is not the response to a query.
    pub fn accept(&mut self, from: SocketAddr, port: u16, response: &[u8]) -> Option<Ended> {
        let counters = &mut self.counters;
        let Some(exchange) = self.by_port.get(&port) else {
            counters.wrong_port += 1;
            return None;
        };
        if (exchange.server.ip(), exchange.server.port()) != (from.ip(), from.port()) {
            counters.wrong_server += 1;
            return None;
        }
        if response.first_chunk() != Some(&exchange.id.to_be_bytes()) {
            counters.wrong_id += 1;
            return None;
        }
        if !exchange.is_response(response, self.mix_case) {
            counters.wrong_question += 1;
            return None;
        }
        counters.accepted += 1;
        Some(self.end(port))
    }

    fn end(&mut self, port: u16) -> Ended {
        let exchange = self.by_port.remove(&port).expect("the caller found it");
        self.deadlines.remove(&(exchange.deadline, port));
        Ended {
            owner: exchange.owner,
            server: exchange.server,
            has_edns: exchange.has_edns,
        }
    }

    /// When the first query fails.
    pub fn next_deadline(&self) -> Option<Time> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// The next query that has failed at `now`.
    pub fn poll_timeout(&mut self, now: Time) -> Option<Ended> {
        let (deadline, port) = *self.deadlines.first()?;
        if deadline > now {
            return None;
        }
        self.counters.timeouts += 1;
        Some(self.end(port))
    }
}

impl Exchange {
    fn is_response(&self, response: &[u8], mix_case: bool) -> bool {
        let Ok(message) = domain::base::Message::from_slice(response) else {
            return false;
        };
        if !message.header().qr() || message.header().opcode() != domain::base::iana::Opcode::QUERY
        {
            return false;
        }
        let question = response.get(HEADER..HEADER + self.question.len());
        match message.header_counts().qdcount() {
            1 => question.is_some_and(|question| match mix_case {
                true => *question == *self.question,
                // Case is of letters in the name: numbers of types can look like letters.
                false => {
                    let name = question.len() - 4;
                    question[name..] == self.question[name..]
                        && question[..name].eq_ignore_ascii_case(&self.question[..name])
                }
            }),
            // A server that cannot read a query cannot repeat the question.
            0 => matches!(
                message.header().rcode(),
                Rcode::FORMERR | Rcode::NOTIMP | Rcode::SERVFAIL | Rcode::REFUSED
            ),
            _ => false,
        }
    }
}
