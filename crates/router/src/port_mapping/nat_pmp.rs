//! NAT-PMP (RFC 6886).

use super::ledger::{Key, Owner, Refusal, Wish};
use super::{Server, epoch};
use crate::nat::{Nat, Suggestion};
use alloc::vec::Vec;
use core::net::{Ipv4Addr, SocketAddrV4};
use node::Time;

/// Operation: the external address.
const ADDRESS: u8 = 0;
/// Operation: a mapping for UDP.
const MAP_UDP: u8 = 1;
/// Operation: a mapping for TCP.
const MAP_TCP: u8 = 2;
/// Bit of a response.
const RESPONSE: u8 = 0x80;
/// Bytes of a request for a mapping.
const MAP_LEN: usize = 12;

/// Result codes (section 3.5).
const SUCCESS: u16 = 0;
const UNSUPPORTED_VERSION: u16 = 1;
const NOT_AUTHORIZED: u16 = 2;
const OUT_OF_RESOURCES: u16 = 4;
const UNSUPPORTED_OPCODE: u16 = 5;

fn begin(now: Time, operation: u8, result: u16, answer: &mut Vec<u8>) {
    answer.extend([0, operation | RESPONSE]);
    answer.extend(result.to_be_bytes());
    answer.extend(epoch(now).to_be_bytes());
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Announcement of the external address (section 3.2.1).
pub(super) fn announcement(now: Time, nat: &Nat) -> Vec<u8> {
    let mut payload = Vec::new();
    begin(now, ADDRESS, SUCCESS, &mut payload);
    payload.extend(nat.address_of(Ipv4Addr::UNSPECIFIED).octets());
    payload
}

impl Server {
    /// Answers a request; `false` when it is none.
    pub(super) fn nat_pmp(
        &mut self,
        now: Time,
        nat: &mut Nat,
        client: Ipv4Addr,
        request: &[u8],
        answer: &mut Vec<u8>,
    ) -> bool {
        let &[version, operation, ..] = request else {
            return false;
        };
        // A response.
        if operation & RESPONSE != 0 {
            return false;
        }
        if version != 0 {
            self.counters.refused += 1;
            begin(now, operation, UNSUPPORTED_VERSION, answer);
            return true;
        }
        match operation {
            ADDRESS => {
                begin(now, ADDRESS, SUCCESS, answer);
                answer.extend(nat.address_of(client).octets());
            }
            MAP_UDP | MAP_TCP if request.len() < MAP_LEN => return false,
            MAP_UDP | MAP_TCP => self.nat_pmp_map(now, nat, client, request, answer),
            _ => {
                self.counters.refused += 1;
                begin(now, operation, UNSUPPORTED_OPCODE, answer);
            }
        }
        true
    }

    /// Answers a request for a mapping of at least 12 bytes (sections 3.3 and 3.4).
    fn nat_pmp_map(
        &mut self,
        now: Time,
        nat: &mut Nat,
        client: Ipv4Addr,
        request: &[u8],
        answer: &mut Vec<u8>,
    ) {
        let operation = request[1];
        let (port, wish) = (u16_at(request, 4), u16_at(request, 6));
        let seconds = u32::from_be_bytes([request[8], request[9], request[10], request[11]]);
        let lifetime = Time::from_secs(seconds.into());
        let key = Key {
            host: client,
            is_tcp: operation == MAP_TCP,
            port,
            remote: None,
        };
        let result = match (seconds, port) {
            (0, 0) => {
                self.ledger
                    .end_all(now, nat, client, key.is_tcp, Owner::NatPmp);
                Ok((0, 0))
            }
            (0, _) => self
                .ledger
                .end(now, nat, key, Owner::NatPmp)
                .map(|()| (0, 0)),
            (_, 0) => Err(Refusal::Quota),
            _ => {
                let wish = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, wish);
                let wish = Wish {
                    suggestion: Suggestion::Wish(wish),
                    lifetime,
                    filters: &[],
                    description: "",
                };
                let granted = self.ledger.grant(now, nat, key, Owner::NatPmp, wish);
                granted.map(|grant| (grant.external.port(), epoch(grant.lifetime)))
            }
        };
        let code = match result {
            Ok(_) => SUCCESS,
            Err(Refusal::Owner(_)) => NOT_AUTHORIZED,
            Err(Refusal::Quota | Refusal::Nat(_)) => OUT_OF_RESOURCES,
        };
        self.note(&result.map(drop));
        begin(now, operation, code, answer);
        answer.extend(port.to_be_bytes());
        let (external, lifetime) = result.unwrap_or((0, 0));
        answer.extend(external.to_be_bytes());
        answer.extend(lifetime.to_be_bytes());
    }

    /// Counts the result of a request for a mapping.
    pub(super) fn note(&mut self, result: &Result<(), Refusal>) {
        match result {
            Ok(()) => self.counters.granted += 1,
            Err(refusal) => {
                self.counters.refused += 1;
                self.counters.over_quota += u64::from(*refusal == Refusal::Quota);
            }
        }
    }
}
