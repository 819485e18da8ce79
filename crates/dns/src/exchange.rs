//! Queries under way to servers: hard to forge a response to (RFC 5452).
//!
//! Each query over UDP has a port of its own and an identifier, both random. A response must come from the server's address and
//! port to that port, with that identifier and the question. A query over TCP has an identifier of its own, so that queries to a
//! server share a connection, and responses come in any order (RFC 7766 sections 6.2.1 and 7). With `mix_case` the letters of the question have random case, and
//! the response must have the same (draft-vixie-dnsext-dns0x20).

use crate::message::{HEADER, OPT_LEN, Question, Transport, UDP_SIZE};
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

/// Transport of a query to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Via {
    /// UDP, from this local port.
    Udp(u16),
    /// TCP, on a connection to the server.
    Tcp,
}

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
    /// Its transport.
    pub transport: Transport,
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

/// Key of an outstanding query: its transport, and the local port (UDP) or the identifier (TCP).
type Key = (Transport, u16);

/// End of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The owner that the query was sent for.
    pub owner: u64,
    /// The server.
    pub server: SocketAddr,
    /// Whether the query had an OPT record.
    pub has_edns: bool,
    /// Transport of the query.
    pub transport: Transport,
}

/// Timeout of a response: longer over TCP, where a handshake precedes the query.
pub(crate) fn timeout(one_round: Time, transport: Transport) -> Time {
    match transport {
        Transport::Udp => one_round,
        Transport::Tcp => one_round * 2,
    }
}

/// Counters of queries to servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Queries sent.
    pub sent: u64,
    /// Queries over TCP among these.
    pub sent_by_tcp: u64,
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
    /// By transport, and local port (UDP) or identifier (TCP).
    by_key: BTreeMap<Key, Exchange>,
    deadlines: BTreeSet<(Time, Key)>,
    random: Random,
    mix_case: bool,
    message: Vec<u8>,
    counters: Counters,
}

impl Exchanges {
    /// No queries; ports and identifiers come from the seed.
    pub fn new(seed: u64, mix_case: bool) -> Exchanges {
        Exchanges {
            by_key: BTreeMap::new(),
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
        all.counter("sent_queries_by_tcp", counters.sent_by_tcp);
        all.counter("taken_responses", counters.accepted);
        all.counter("timeouts", counters.timeouts);
        all.counter("wrong_port", counters.wrong_port);
        all.counter("wrong_server", counters.wrong_server);
        all.counter("wrong_id", counters.wrong_id);
        all.counter("wrong_question", counters.wrong_question);
    }

    /// Whether a query over UDP is under way from a port.
    pub fn has_port(&self, port: u16) -> bool {
        self.by_key.contains_key(&(Transport::Udp, port))
    }

    /// Number of queries under way.
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether no query is under way.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// The source of random numbers, for the choice of servers.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// Sends a query for an owner; returns transport and message. `None` when [`MAX_EXCHANGES`] are under way.
    pub fn start(&mut self, now: Time, owner: u64, request: &Request<'_>) -> Option<(Via, &[u8])> {
        if self.by_key.len() >= MAX_EXCHANGES {
            return None;
        }
        let (key, id) = self.pick(request.transport);
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
        self.by_key.insert(key, exchange);
        self.deadlines.insert((deadline, key));
        self.counters.sent += 1;
        let via = match key {
            (Transport::Udp, port) => Via::Udp(port),
            (Transport::Tcp, _) => {
                self.counters.sent_by_tcp += 1;
                Via::Tcp
            }
        };
        Some((via, &self.message))
    }

    /// A random key that is free, and the identifier.
    fn pick(&mut self, transport: Transport) -> (Key, u16) {
        loop {
            let id = self.random.bits() as u16;
            let number = match transport {
                Transport::Udp => {
                    MIN_PORT + self.random.below(u64::from(u16::MAX - MIN_PORT) + 1) as u16
                }
                Transport::Tcp => id,
            };
            let is_reserved = transport == Transport::Udp && RESERVED_PORTS.contains(&number);
            if !is_reserved && !self.by_key.contains_key(&(transport, number)) {
                return ((transport, number), id);
            }
        }
    }

    /// Takes a message that has arrived; `None` when it is not the response to a query.
    pub fn accept(&mut self, from: SocketAddr, via: Via, response: &[u8]) -> Option<Ended> {
        let counters = &mut self.counters;
        let id = response
            .first_chunk()
            .map_or(0, |id| u16::from_be_bytes(*id));
        let (key, missing) = match via {
            Via::Udp(port) => ((Transport::Udp, port), &mut counters.wrong_port),
            Via::Tcp => ((Transport::Tcp, id), &mut counters.wrong_id),
        };
        let Some(exchange) = self.by_key.get(&key) else {
            *missing += 1;
            return None;
        };
        if (exchange.server.ip(), exchange.server.port()) != (from.ip(), from.port()) {
            counters.wrong_server += 1;
            return None;
        }
        if response.len() < HEADER || id != exchange.id {
            counters.wrong_id += 1;
            return None;
        }
        if !exchange.is_response(response, self.mix_case) {
            counters.wrong_question += 1;
            return None;
        }
        counters.accepted += 1;
        Some(self.end(key))
    }

    /// Handles the end of a connection to a server: queries on it fail now.
    pub fn lose(&mut self, now: Time, server: SocketAddr) {
        for (key, exchange) in &mut self.by_key {
            if key.0 == Transport::Tcp && exchange.server == server && exchange.deadline > now {
                self.deadlines.remove(&(exchange.deadline, *key));
                exchange.deadline = now;
                self.deadlines.insert((now, *key));
            }
        }
    }

    fn end(&mut self, key: Key) -> Ended {
        let exchange = self.by_key.remove(&key).expect("the caller found it");
        self.deadlines.remove(&(exchange.deadline, key));
        Ended {
            owner: exchange.owner,
            server: exchange.server,
            has_edns: exchange.has_edns,
            transport: key.0,
        }
    }

    /// When the first query fails.
    pub fn next_deadline(&self) -> Option<Time> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// The next query that has failed at `now`.
    pub fn poll_timeout(&mut self, now: Time) -> Option<Ended> {
        let (deadline, key) = *self.deadlines.first()?;
        if deadline > now {
            return None;
        }
        self.counters.timeouts += 1;
        Some(self.end(key))
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
