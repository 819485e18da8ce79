//! Requests of PCP, and responses to those that are granted (RFC 6887 sections 7, 11.1, 12.1).

use super::options::Options;
use super::{
    ANNOUNCE, Client, Code, Failure, HEADER, MAP, MAP_LEN, MAX_LEN, PEER, PEER_LEN, VERSION,
};
use super::{address_at, header, u16_at};
use alloc::vec::Vec;
use core::net::Ipv6Addr;
use node::Time;
use packet::ipv4::protocol;

/// A request whose form is right. Of ANNOUNCE it has options alone.
#[derive(Debug)]
pub(in crate::port_mapping) struct Request<'a> {
    opcode: u8,
    /// Lifetime that is asked for, seconds; 0 ends the mapping.
    pub seconds: u32,
    body: &'a [u8],
    pub options: Options<'a>,
}

impl<'a> Request<'a> {
    /// Reads a request with at least two bytes, with the checks of section 8.2 in their order.
    pub fn read(
        bytes: &'a [u8],
        client: &Client,
        allows_others: bool,
    ) -> Result<Request<'a>, Failure> {
        if bytes[0] != VERSION {
            return Err(Code::UnsuppVersion.into());
        }
        let is_length = (HEADER..=MAX_LEN).contains(&bytes.len());
        if !is_length || !bytes.len().is_multiple_of(4) {
            return Err(Code::MalformedRequest.into());
        }
        let opcode = bytes[1];
        let length = match opcode {
            ANNOUNCE => 0,
            MAP => MAP_LEN,
            PEER => PEER_LEN,
            _ => return Err(Code::UnsuppOpcode.into()),
        };
        if address_at(bytes, 8) != client.address {
            return Err(Code::AddressMismatch.into());
        }
        let body = &bytes[HEADER..];
        if body.len() < length {
            return Err(Code::MalformedRequest.into());
        }
        let (body, rest) = body.split_at(length);
        let options = Options::read(opcode, rest, allows_others, client)?;
        if options.third_party == Some(client.address) {
            return Err(Code::MalformedOption.into());
        }
        Ok(Request {
            opcode,
            seconds: u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
            body,
            options,
        })
    }

    pub fn is_announcement(&self) -> bool {
        self.opcode == ANNOUNCE
    }

    pub fn nonce(&self) -> [u8; 12] {
        self.body.first_chunk().copied().unwrap_or_default()
    }

    /// External address and port that are suggested.
    pub fn suggested(&self) -> (Ipv6Addr, u16) {
        (address_at(self.body, 20), u16_at(self.body, 18))
    }

    /// Address and port of the peer of PEER, whose form is right.
    pub fn peer(&self) -> Result<Option<(Ipv6Addr, u16)>, Failure> {
        if self.opcode != PEER {
            return Ok(None);
        }
        let (number, port) = (self.body[12], u16_at(self.body, 16));
        let peer_port = u16_at(self.body, 36);
        if peer_port == 0 || number == 0 || port == 0 {
            return Err(Code::MalformedRequest.into());
        }
        Ok(Some((address_at(self.body, 40), peer_port)))
    }

    /// Whether the protocol is TCP and not UDP, and the port inside; 0 stands for all of them in a request that ends mappings.
    pub fn inside(&self) -> Result<(bool, u16), Failure> {
        let (number, port) = (self.body[12], u16_at(self.body, 16));
        if number == 0 && port != 0 {
            return Err(Code::MalformedRequest.into());
        }
        let is_tcp = match number {
            protocol::TCP => true,
            protocol::UDP => false,
            _ => return Err(Code::UnsuppProtocol.into()),
        };
        // Mappings for all ports are not supported (section 11.3).
        if port == 0 && self.seconds > 0 {
            return Err(Code::UnsuppProtocol.into());
        }
        Ok((is_tcp, port))
    }

    /// Appends the response to a request that is granted: the external address and port, and the lifetime in seconds.
    pub fn answer(
        &self,
        now: Time,
        (address, port): (Ipv6Addr, u16),
        lifetime: u32,
        answer: &mut Vec<u8>,
    ) {
        answer.extend(header(now, self.opcode, 0, lifetime));
        if !self.is_announcement() {
            answer.extend(&self.body[..18]);
            answer.extend(port.to_be_bytes());
            answer.extend(address.octets());
            answer.extend(&self.body[MAP_LEN..]);
        }
        answer.extend(self.options.taken());
    }
}

/// Whether a request asks for an IPv4 address (section 11.1); `false` when that is open.
pub(in crate::port_mapping) fn wants_v4(bytes: &[u8]) -> bool {
    let is_mapping = matches!(bytes.get(1), Some(&(MAP | PEER))) && bytes.len() >= HEADER + MAP_LEN;
    is_mapping && address_at(bytes, HEADER + 20).to_ipv4_mapped().is_some()
}
