//! Writes a server's messages.

use super::Destination;
use crate::v4::message::{Header, Kind, Message, REPLY, Writer, option};
use crate::v4::policy::Grant;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use node::Time;

/// Maximum size of a reply in a packet of 1500 bytes.
const MAX_SIZE: usize = 1472;

fn header(message: &Message<'_>, yiaddr: Ipv4Addr) -> Header {
    Header {
        op: REPLY,
        xid: message.xid(),
        secs: 0,
        broadcast: message.is_broadcast(),
        ciaddr: Ipv4Addr::UNSPECIFIED,
        yiaddr,
        siaddr: Ipv4Addr::UNSPECIFIED,
        giaddr: message.giaddr(),
        chaddr: message.chaddr(),
    }
}

/// Options that come from the request: the client's identifier (RFC 6842) and, as the last one, the relay's information.
fn finish(message: &Message<'_>, mut writer: Writer<'_>, relay: Option<&[u8]>) -> usize {
    if let Some(id) = message.option(option::CLIENT_ID) {
        writer.option(option::CLIENT_ID, &id);
    }
    if let Some(relay) = relay {
        writer.option(option::RELAY_AGENT, relay);
    }
    writer.end()
}

/// Writes a refusal. It is broadcast, as the client's address may be wrong (RFC 2131 section 4.3.2).
pub(super) fn write_nak(message: &Message<'_>, server: Ipv4Addr, out: &mut Vec<u8>) -> Destination {
    let mut header = header(message, Ipv4Addr::UNSPECIFIED);
    header.broadcast |= !header.giaddr.is_unspecified();
    let mut writer = Writer::new(out, &header, Kind::Nak, MAX_SIZE);
    writer.option(option::SERVER, &server.octets());
    let relay = message.option(option::RELAY_AGENT);
    finish(message, writer, relay.as_deref());
    match header.giaddr.is_unspecified() {
        true => Destination::Broadcast,
        false => Destination::Relay(header.giaddr),
    }
}

/// Writes an offer or an acknowledgement; returns the number of options that did not fit.
pub(super) fn write(
    message: &Message<'_>,
    grant: &Grant<'_>,
    server: Ipv4Addr,
    (kind, address): (Kind, Option<u32>),
    out: &mut Vec<u8>,
) -> (usize, Destination) {
    let yiaddr = Ipv4Addr::from(address.unwrap_or(0));
    let mut header = header(message, yiaddr);
    if kind == Kind::Ack {
        header.ciaddr = message.ciaddr();
    }
    let relay = message.option(option::RELAY_AGENT);
    // Room for what must be in the reply. The relay takes its information off before the client gets it.
    let id = message
        .option(option::CLIENT_ID)
        .map_or(0, |id| id.len() + 2);
    let information = relay.as_ref().map_or(0, |relay| relay.len() + 2);
    let size = message.max_size().clamp(548, MAX_SIZE) - id;
    let size = size.min(MAX_SIZE - id - information);
    let mut writer = Writer::new(out, &header, kind, size);
    writer.option(option::SERVER, &server.octets());
    let mask = u32::MAX
        .checked_shl(32 - u32::from(grant.prefix.min(32)))
        .unwrap_or(0);
    writer.option(option::SUBNET_MASK, &mask.to_be_bytes());
    if address.is_some() {
        let seconds = seconds(grant.lease);
        writer.option(option::LEASE_TIME, &seconds.to_be_bytes());
        if seconds != u32::MAX {
            // T1 and T2 are 0.5 and 0.875 of the lease (RFC 2131 section 4.4.5).
            writer.option(option::RENEWAL, &(seconds / 2).to_be_bytes());
            let rebinding = seconds - seconds / 8;
            writer.option(option::REBINDING, &rebinding.to_be_bytes());
        }
        let rapid = message.kind() == Kind::Discover && kind == Kind::Ack;
        if rapid {
            writer.option(option::RAPID_COMMIT, &[]);
        }
    }
    match message.option(option::PARAMETERS) {
        Some(wanted) => {
            for (index, number) in wanted.iter().enumerate() {
                let value = grant.options.get(*number);
                if let Some(value) = value.filter(|_| !wanted[..index].contains(number)) {
                    writer.option(*number, value);
                }
            }
        }
        None => {
            // A client must ask for this one (RFC 8925 section 3.3).
            let all = grant.options.iter();
            for (number, value) in all.filter(|(number, _)| *number != option::IPV6_ONLY) {
                writer.option(number, value);
            }
        }
    }
    writer.grow(id + information);
    let left_out = finish(message, writer, relay.as_deref());
    let to = match (header.giaddr, message.ciaddr()) {
        (giaddr, _) if !giaddr.is_unspecified() => Destination::Relay(giaddr),
        (_, ciaddr) if !ciaddr.is_unspecified() => Destination::Client(ciaddr),
        _ if message.is_broadcast() || address.is_none() => Destination::Broadcast,
        _ => Destination::Hardware(message.chaddr(), yiaddr),
    };
    (left_out, to)
}

/// Whole seconds of a lease; `u32::MAX` without end.
fn seconds(lease: Time) -> u32 {
    match lease {
        Time::MAX => u32::MAX,
        _ => (lease.as_ns() / 1_000_000_000).min(u64::from(u32::MAX - 1)) as u32,
    }
}
