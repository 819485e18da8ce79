//! PCP (RFC 6887): ANNOUNCE, MAP and PEER, with the options THIRD_PARTY, PREFER_FAILURE and FILTER.

mod options;

use super::ledger::{Key, MAX_FILTERS, Owner, Refusal, Wish};
use super::{Server, epoch};
use crate::nat::{MapError, Nat, Suggestion};
use alloc::vec::Vec;
use core::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4};
use node::Time;
use options::Options;
use packet::ipv4::protocol;

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
enum Code {
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
struct Failure(Code, Time);

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

impl Server {
    /// Answers a request; `false` when it is none.
    pub(super) fn pcp(
        &mut self,
        now: Time,
        nat: &mut Nat,
        client: Ipv4Addr,
        request: &[u8],
        answer: &mut Vec<u8>,
    ) -> bool {
        let &[_, opcode, ..] = request else {
            return false;
        };
        if opcode & RESPONSE != 0 {
            return false;
        }
        let done = self.pcp_request(now, nat, client, request, answer);
        if let Err(Failure(code, lifetime)) = done {
            self.counters.refused += 1;
            // The request comes back, whole words of it (section 8.2).
            answer.clear();
            answer.extend(&request[..request.len().min(MAX_LEN)]);
            let length = answer.len().next_multiple_of(4).max(HEADER);
            answer.resize(length, 0);
            let head = header(now, opcode, code as u8, epoch(lifetime));
            answer[..HEADER].copy_from_slice(&head);
        }
        true
    }

    /// Carries a request out, with the checks of section 8.2 in their order.
    fn pcp_request(
        &mut self,
        now: Time,
        nat: &mut Nat,
        client: Ipv4Addr,
        request: &[u8],
        answer: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        if request[0] != VERSION {
            return Err(Code::UnsuppVersion.into());
        }
        let is_length = (HEADER..=MAX_LEN).contains(&request.len());
        if !is_length || !request.len().is_multiple_of(4) {
            return Err(Code::MalformedRequest.into());
        }
        let opcode = request[1];
        let length = match opcode {
            ANNOUNCE => 0,
            MAP => MAP_LEN,
            PEER => PEER_LEN,
            _ => return Err(Code::UnsuppOpcode.into()),
        };
        if address_at(request, 8).to_ipv4_mapped() != Some(client) {
            return Err(Code::AddressMismatch.into());
        }
        let body = &request[HEADER..];
        if body.len() < length {
            return Err(Code::MalformedRequest.into());
        }
        let (body, rest) = body.split_at(length);
        let options = Options::read(opcode, rest, self.config.third_party)?;
        if opcode == ANNOUNCE {
            answer.extend(header(now, ANNOUNCE, 0, 0));
            return Ok(());
        }
        let host = match options.third_party {
            Some(address) if address.to_ipv4_mapped() == Some(client) => {
                return Err(Code::MalformedOption.into());
            }
            Some(address) => {
                let host = address.to_ipv4_mapped();
                let host = host.filter(|host| !nat.is_external(*host) && !host.is_unspecified());
                host.ok_or(Code::NotAuthorized)?
            }
            None => client,
        };
        let granted = self.pcp_mapping(now, nat, host, request, &options)?;
        let (external, lifetime) = granted;
        answer.extend(header(now, opcode, 0, lifetime));
        answer.extend(&body[..18]);
        answer.extend(external.port().to_be_bytes());
        answer.extend(external.ip().to_ipv6_mapped().octets());
        answer.extend(&body[MAP_LEN..]);
        answer.extend(options.taken());
        Ok(())
    }

    /// Makes, renews or ends a mapping; its external endpoint, and its lifetime in seconds.
    fn pcp_mapping(
        &mut self,
        now: Time,
        nat: &mut Nat,
        host: Ipv4Addr,
        request: &[u8],
        options: &Options<'_>,
    ) -> Result<(SocketAddrV4, u32), Failure> {
        let seconds = u32::from_be_bytes([request[4], request[5], request[6], request[7]]);
        let (opcode, body) = (request[1], &request[HEADER..]);
        let nonce = body.first_chunk::<12>().copied().unwrap_or_default();
        let (number, port) = (body[12], u16_at(body, 16));
        let suggested = SocketAddrV4::new(
            address_at(body, 20)
                .to_ipv4_mapped()
                .unwrap_or(Ipv4Addr::UNSPECIFIED),
            u16_at(body, 18),
        );
        let remote = match opcode {
            PEER => {
                let peer = address_at(body, 40).to_ipv4_mapped();
                let (peer, peer_port) = (peer.ok_or(Code::MalformedRequest)?, u16_at(body, 36));
                if peer_port == 0 || number == 0 || port == 0 {
                    return Err(Code::MalformedRequest.into());
                }
                Some(SocketAddrV4::new(peer, peer_port))
            }
            _ => None,
        };
        if number == 0 && port != 0 {
            return Err(Code::MalformedRequest.into());
        }
        let is_tcp = match number {
            protocol::TCP => true,
            protocol::UDP => false,
            _ => return Err(Code::UnsuppProtocol.into()),
        };
        let key = Key {
            host,
            is_tcp,
            port,
            remote,
        };
        let owner = Owner::Pcp(nonce);
        if seconds == 0 {
            self.ledger.end(now, nat, key, owner)?;
            return Ok((suggested, 0));
        }
        // Mappings for all ports are not supported (section 11.3).
        if port == 0 {
            return Err(Code::UnsuppProtocol.into());
        }
        let suggestion = match options.prefers_failure {
            true if suggested.port() == 0 => return Err(Code::MalformedOption.into()),
            true => Suggestion::Exact(suggested),
            false => Suggestion::Wish(suggested),
        };
        let known = nat.filters(key.transport(), key.inside());
        let filters = options.filters(known);
        if filters.len() > MAX_FILTERS {
            return Err(Code::ExcessiveRemotePeers.into());
        }
        let wish = Wish {
            suggestion,
            lifetime: Time::from_secs(seconds.into()),
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
