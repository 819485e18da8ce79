//! The relay (RFC 1542 section 4, RFC 3046): message in, message out, without I/O.

use super::message::{MAX_HOPS, Message, REPLY, REQUEST, option, sub_option};
use super::server::Destination;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

/// Maximum size of a message in a packet of 1500 bytes.
const MAX_SIZE: usize = 1472;
/// Offsets of fields.
const HOPS: usize = 3;
const GIADDR: usize = 24;
const OPTIONS: usize = 240;
/// Minimum size of a message, bytes (RFC 1542 section 2.1).
const MIN_SIZE: usize = 300;

/// Settings of a relay.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Whether option 82 is added, with the circuit.
    pub information: bool,
    /// Sub-option "remote id" of option 82, at most 200 bytes; empty for none.
    pub remote: Vec<u8>,
    /// Maximum number of relays that a message passes, 1 to 16.
    pub max_hops: u8,
}

/// Writes the message that goes to the servers for a client's message into `out`.
///
/// `own` is the relay's address on the port by which the message came, `circuit` names that port.
///
/// # Errors
/// The reason for which it is not relayed.
pub fn to_servers(
    settings: &Settings,
    own: Ipv4Addr,
    circuit: &[u8],
    bytes: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), &'static str> {
    let message = Message::new(bytes).map_err(|fault| fault.0)?;
    if message.op() != REQUEST {
        return Err("DHCP message of a server");
    }
    if message.hops() >= settings.max_hops.min(MAX_HOPS) {
        return Err("DHCP message with too many hops");
    }
    let giaddr = message.giaddr();
    if giaddr == own {
        return Err("DHCP message with the relay's own address");
    }
    let has_information = message.option(option::RELAY_AGENT).is_some();
    out.clear();
    out.extend(bytes);
    out[HOPS] += 1;
    if !giaddr.is_unspecified() {
        // Another relay is the first.
        return Ok(());
    }
    if has_information {
        // Only a relay adds it (RFC 3046 section 2.1).
        return Err("DHCP message of a client with relay information");
    }
    out[GIADDR..GIADDR + 4].copy_from_slice(&own.octets());
    if settings.information {
        let mut value = Vec::new();
        for (kind, part) in [
            (sub_option::CIRCUIT, circuit),
            (sub_option::REMOTE, &settings.remote),
        ] {
            if !part.is_empty() {
                let part = &part[..part.len().min(200)];
                value.extend([kind, part.len() as u8]);
                value.extend(part);
            }
        }
        add(out, &value);
    }
    Ok(())
}

/// Adds option 82 as the last option, if there is room.
fn add(message: &mut Vec<u8>, value: &[u8]) {
    let end = end(message);
    let length = value.len().min(255);
    if end + length + 3 > MAX_SIZE {
        return;
    }
    message.truncate(end);
    message.extend([option::RELAY_AGENT, length as u8]);
    message.extend(&value[..length]);
    message.push(255);
    let padded = message.len().max(MIN_SIZE);
    message.resize(padded, 0);
}

/// Offset of the end mark of a message's options.
fn end(message: &[u8]) -> usize {
    let mut at = OPTIONS;
    loop {
        at += match message.get(at..) {
            Some([0, ..]) => 1,
            Some([255, ..]) | Some([]) | None => return at.min(message.len()),
            Some([_, length, ..]) => 2 + usize::from(*length),
            Some([_]) => return at,
        };
    }
}

/// Writes the message that goes to the client for a server's message into `out`; gives the relay's address on the
/// client's port, and the receiver.
///
/// # Errors
/// The reason for which it is not relayed.
pub fn to_client(bytes: &[u8], out: &mut Vec<u8>) -> Result<(Ipv4Addr, Destination), &'static str> {
    let message = Message::new(bytes).map_err(|fault| fault.0)?;
    if message.op() != REPLY {
        return Err("DHCP message of a client");
    }
    let giaddr = message.giaddr();
    if giaddr.is_unspecified() {
        return Err("DHCP reply without a relay");
    }
    out.clear();
    out.extend(&bytes[..OPTIONS]);
    let mut at = OPTIONS;
    let end = end(bytes);
    while at < end {
        let length = match bytes[at] {
            0 => 1,
            _ => 2 + usize::from(bytes.get(at + 1).copied().unwrap_or(0)),
        };
        let next = (at + length).min(end);
        if bytes[at] != option::RELAY_AGENT {
            out.extend(&bytes[at..next]);
        }
        at = next;
    }
    out.push(255);
    let padded = out.len().max(MIN_SIZE);
    out.resize(padded, 0);
    let to = match (message.is_broadcast(), message.yiaddr(), message.ciaddr()) {
        (false, yiaddr, _) if !yiaddr.is_unspecified() => {
            Destination::Hardware(message.chaddr(), yiaddr)
        }
        (false, _, ciaddr) if !ciaddr.is_unspecified() => {
            Destination::Hardware(message.chaddr(), ciaddr)
        }
        _ => Destination::Broadcast,
    };
    Ok((giaddr, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v4::message::{Header, Kind, Writer};
    use packet::ethernet::Mac;

    fn message(op: u8, kind: Kind) -> Vec<u8> {
        let unspecified = Ipv4Addr::UNSPECIFIED;
        let header = Header {
            op,
            xid: 7,
            secs: 0,
            broadcast: false,
            ciaddr: unspecified,
            yiaddr: unspecified,
            siaddr: unspecified,
            giaddr: unspecified,
            chaddr: Mac([2, 0, 0, 0, 0, 7]),
        };
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes, &header, kind, 1472);
        writer.option(option::HOST_NAME, b"host");
        writer.end();
        bytes
    }

    fn settings() -> Settings {
        Settings {
            information: true,
            remote: b"there".to_vec(),
            max_hops: 4,
        }
    }

    #[test]
    fn a_request_gets_the_circuit_and_the_reply_loses_it() {
        let own = Ipv4Addr::new(10, 0, 0, 1);
        let mut relayed = Vec::new();
        let discover = message(REQUEST, Kind::Discover);
        to_servers(&settings(), own, b"port 3", &discover, &mut relayed).unwrap();
        let read = Message::new(&relayed).unwrap();
        assert_eq!((read.giaddr(), read.hops()), (own, 1));
        assert_eq!(read.sub_option(1).unwrap(), b"port 3");
        assert_eq!(read.sub_option(2).unwrap(), b"there");
        assert_eq!(read.options().last().unwrap().0, option::RELAY_AGENT);
        assert_eq!(read.option(12).as_deref(), Some(&b"host"[..]));
        // A second relay adds nothing but a hop.
        let mut again = Vec::new();
        to_servers(
            &settings(),
            [10, 9, 9, 9].into(),
            b"x",
            &relayed,
            &mut again,
        )
        .unwrap();
        assert_eq!(again[HOPS], 2);
        assert_eq!(again[4..], relayed[4..]);
        assert!(to_servers(&settings(), own, b"x", &relayed, &mut again).is_err());
        relayed[0] = REPLY;
        relayed[16..20].copy_from_slice(&[10, 0, 0, 9]);
        let mut reply = Vec::new();
        let (port, to) = to_client(&relayed, &mut reply).unwrap();
        let client = Mac([2, 0, 0, 0, 0, 7]);
        assert_eq!(port, own);
        assert_eq!(to, Destination::Hardware(client, [10, 0, 0, 9].into()));
        let read = Message::new(&reply).unwrap();
        assert!(read.option(82).is_none() && read.option(12).is_some());
        relayed[10] = 0x80;
        let (_, to) = to_client(&relayed, &mut reply).unwrap();
        assert_eq!(to, Destination::Broadcast);
    }

    #[test]
    fn a_client_may_not_name_a_circuit_and_hops_are_limited() {
        let own = Ipv4Addr::new(10, 0, 0, 1);
        let mut out = Vec::new();
        let mut forged = message(REQUEST, Kind::Discover);
        add(&mut forged, &[1, 1, 7]);
        assert!(to_servers(&settings(), own, b"p", &forged, &mut out).is_err());
        let mut tired = message(REQUEST, Kind::Discover);
        tired[HOPS] = 4;
        assert!(to_servers(&settings(), own, b"p", &tired, &mut out).is_err());
        let reply = message(REPLY, Kind::Offer);
        assert!(to_servers(&settings(), own, b"p", &reply, &mut out).is_err());
        assert!(to_client(&reply, &mut out).is_err());
    }
}
