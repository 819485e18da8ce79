//! PCP (RFC 6887): ANNOUNCE, MAP and PEER, with the options THIRD_PARTY, PREFER_FAILURE and FILTER, and for clients of a NAT64
//! PREFIX64 (RFC 7225).

mod options;
mod request;

pub(super) use request::{Request, wants_v4};

use super::ledger::{Key, MAX_FILTERS, Owner, Refusal, Wish};
use super::{Server, epoch};
use crate::nat::{MapError, Nat, Suggestion};
use alloc::vec::Vec;
use core::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4};
use ip::embedding::Prefix;
use node::Time;

const VERSION: u8 = 2;
/// Bit of a response.
const RESPONSE: u8 = 0x80;
/// Bytes of the header of requests and responses.
const HEADER: usize = 24;
/// Maximum length of a message, bytes (section 7).
const MAX_LEN: usize = 1_100;
const ANNOUNCE: u8 = 0;
const MAP: u8 = 1;
const PEER: u8 = 2;
/// Bytes of the opcode-specific part of each.
const MAP_LEN: usize = 36;
const PEER_LEN: usize = 56;

/// Result codes (section 7.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Code {
    UnsuppVersion = 1,
    NotAuthorized = 2,
    MalformedRequest = 3,
    UnsuppOpcode = 4,
    UnsuppOption = 5,
    MalformedOption = 6,
    NoResources = 8,
    UnsuppProtocol = 9,
    UserExQuota = 10,
    CannotProvideExternal = 11,
    AddressMismatch = 12,
    ExcessiveRemotePeers = 13,
}

/// An error, and how long it lasts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failure(Code, Time);

impl Failure {
    pub fn new(code: Code, lasts: Time) -> Failure {
        Failure(code, lasts)
    }
}

/// Lifetime of errors that others cause, and that of errors of the request (section 7.4).
const SHORT: Time = Time::from_secs(30);
const LONG: Time = Time::from_secs(1_800);

impl From<Code> for Failure {
    fn from(code: Code) -> Failure {
        let is_short = matches!(
            code,
            Code::NoResources | Code::UserExQuota | Code::CannotProvideExternal
        );
        Failure(code, if is_short { SHORT } else { LONG })
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        match refusal {
            Refusal::Owner(left) => Failure(Code::NotAuthorized, left),
            Refusal::Quota => Code::UserExQuota.into(),
            Refusal::Nat(MapError::NotSuggested) => Code::CannotProvideExternal.into(),
            Refusal::Nat(MapError::NoPort | MapError::Limit) => Code::NoResources.into(),
        }
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn address_at(bytes: &[u8], at: usize) -> Ipv6Addr {
    let octets = bytes[at..at + 16].first_chunk().copied();
    Ipv6Addr::from(octets.unwrap_or([0; 16]))
}

/// A client, and the form of addresses in its messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Client {
    /// Its address in messages.
    pub address: Ipv6Addr,
    /// Its address for the NAT.
    pub host: Ipv4Addr,
    /// Prefix of the NAT64 between it and its peers; `None`: the NAT is one of IPv4.
    pub prefix: Option<Prefix>,
    /// Whether it asks for pinholes, so that its peers have IPv6.
    pub has_v6_peers: bool,
}

impl Client {
    /// A client of a NAT of IPv4.
    pub fn v4(host: Ipv4Addr) -> Client {
        Client {
            address: host.to_ipv6_mapped(),
            host,
            prefix: None,
            has_v6_peers: false,
        }
    }

    /// A client of a firewall of IPv6.
    pub fn of_pinholes(address: Ipv6Addr) -> Client {
        Client {
            address,
            host: Ipv4Addr::UNSPECIFIED,
            prefix: None,
            has_v6_peers: true,
        }
    }

    /// The address of a peer, which a client of a NAT64 sees in the prefix (section 12.1).
    fn peer(&self, address: Ipv6Addr) -> Option<Ipv4Addr> {
        let embedded = self.prefix.and_then(|prefix| prefix.extract(address));
        embedded.or_else(|| address.to_ipv4_mapped())
    }
}

/// Header of a response; `lifetime` in seconds.
fn header(now: Time, opcode: u8, code: u8, lifetime: u32) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[..4].copy_from_slice(&[VERSION, opcode | RESPONSE, 0, code]);
    bytes[4..8].copy_from_slice(&lifetime.to_be_bytes());
    bytes[8..12].copy_from_slice(&epoch(now).to_be_bytes());
    bytes
}

/// Announcement after a start (section 14.1.2).
pub(super) fn announcement(now: Time) -> Vec<u8> {
    header(now, ANNOUNCE, 0, 0).to_vec()
}

/// Whether a message is a request.
pub(super) fn is_request(message: &[u8]) -> bool {
    message.get(1).is_some_and(|opcode| opcode & RESPONSE == 0)
}

/// Writes the response to a request that is refused: it comes back, whole words of it (section 8.2).
pub(super) fn refuse(now: Time, failure: Failure, request: &[u8], answer: &mut Vec<u8>) {
    let Failure(code, lifetime) = failure;
    answer.clear();
    answer.extend(&request[..request.len().min(MAX_LEN)]);
    let length = answer.len().next_multiple_of(4).max(HEADER);
    answer.resize(length, 0);
    let head = header(now, request[1], code as u8, epoch(lifetime));
    answer[..HEADER].copy_from_slice(&head);
}

impl Server {
    /// Answers a request; `false` when it is none. Without a client there are no resources for it.
    pub(super) fn pcp(
        &mut self,
        now: Time,
        nat: &mut Nat,
        client: Option<Client>,
        request: &[u8],
        answer: &mut Vec<u8>,
    ) -> bool {
        if !is_request(request) {
            return false;
        }
        let done = match client {
            Some(client) => self.pcp_request(now, nat, client, request, answer),
            None => Err(Code::NoResources.into()),
        };
        if let Err(failure) = done {
            self.counters.refused += 1;
            refuse(now, failure, request, answer);
        }
        true
    }

    fn pcp_request(
        &mut self,
        now: Time,
        nat: &mut Nat,
        client: Client,
        request: &[u8],
        answer: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let request = Request::read(request, &client, self.config.third_party)?;
        if request.is_announcement() {
            request.answer(now, (client.address, 0), 0, answer);
            return Ok(());
        }
        let host = match request.options.third_party {
            // Hosts behind a NAT64 have no names before they have sent something.
            Some(_) if client.prefix.is_some() => return Err(Code::NotAuthorized.into()),
            Some(address) => {
                let host = address.to_ipv4_mapped();
                let host = host.filter(|host| !nat.is_external(*host) && !host.is_unspecified());
                host.ok_or(Code::NotAuthorized)?
            }
            None => client.host,
        };
        let (external, lifetime) = self.pcp_mapping(now, nat, (client, host), &request)?;
        let external = (external.ip().to_ipv6_mapped(), external.port());
        request.answer(now, external, lifetime, answer);
        Ok(())
    }

    /// Makes, renews or ends a mapping; its external endpoint, and its lifetime in seconds.
    fn pcp_mapping(
        &mut self,
        now: Time,
        nat: &mut Nat,
        (client, host): (Client, Ipv4Addr),
        request: &Request<'_>,
    ) -> Result<(SocketAddrV4, u32), Failure> {
        let (address, port) = request.suggested();
        let address = address.to_ipv4_mapped();
        let suggested = SocketAddrV4::new(address.unwrap_or(Ipv4Addr::UNSPECIFIED), port);
        let remote = match request.peer()? {
            Some((peer, port)) => {
                let peer = client.peer(peer).ok_or(Code::MalformedRequest)?;
                Some(SocketAddrV4::new(peer, port))
            }
            None => None,
        };
        let (is_tcp, port) = request.inside()?;
        let key = Key {
            host,
            is_tcp,
            port,
            remote,
        };
        let owner = Owner::Pcp(request.nonce());
        if request.seconds == 0 {
            self.ledger.end(now, nat, key, owner)?;
            return Ok((suggested, 0));
        }
        let suggestion = match request.options.prefers_failure {
            true if suggested.port() == 0 => return Err(Code::MalformedOption.into()),
            true => Suggestion::Exact(suggested),
            false => Suggestion::Wish(suggested),
        };
        let known = nat.filters(key.transport(), key.inside());
        let filters = request.options.filters(known);
        if filters.len() > MAX_FILTERS {
            return Err(Code::ExcessiveRemotePeers.into());
        }
        let wish = Wish {
            suggestion,
            lifetime: Time::from_secs(request.seconds.into()),
            filters: &filters,
            description: "",
        };
        let granted = self.ledger.grant(now, nat, key, owner, wish);
        self.counters.over_quota += u64::from(granted == Err(Refusal::Quota));
        let granted = granted?;
        self.counters.granted += 1;
        Ok((granted.external, epoch(granted.lifetime)))
    }
}
