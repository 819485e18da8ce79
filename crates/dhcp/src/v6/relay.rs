//! Messages of relays (RFC 9915 section 19): message in, message out, without I/O.

use super::message::{Kind, MAX_HOPS, Options, option, write};
use alloc::vec::Vec;
use core::net::Ipv6Addr;
use packet::BadHeader;

/// Maximum length of an interface id, bytes.
pub const MAX_INTERFACE_ID: usize = 255;
/// Maximum length of a message that a relay carries, bytes.
const MAX_MESSAGE: usize = 1400;

/// A relay's message. No method panics.
#[derive(Clone, Copy, Debug)]
pub struct RelayMessage<'a> {
    /// Relay-forward or Relay-reply.
    pub kind: Kind,
    /// Number of relays before this one.
    pub hops: u8,
    /// An address of the client's link; unspecified for none.
    pub link: Ipv6Addr,
    /// The client or relay from which the message came, or to which it goes.
    pub peer: Ipv6Addr,
    /// Name of the relay's interface.
    pub interface: Option<&'a [u8]>,
    /// The message that it carries.
    pub message: &'a [u8],
}

impl<'a> RelayMessage<'a> {
    /// Reads a message.
    ///
    /// # Errors
    /// When it is cut off, of another type, carries no message, or its interface id is too long.
    pub fn new(bytes: &'a [u8]) -> Result<RelayMessage<'a>, BadHeader> {
        let (fields, options) = bytes
            .split_first_chunk::<34>()
            .ok_or(BadHeader("DHCPv6 relay message cut off"))?;
        let kind = Kind::of(fields[0]);
        let kind = kind.filter(|kind| matches!(kind, Kind::RelayForward | Kind::RelayReply));
        let address = |at: usize| {
            let octets: [u8; 16] = fields[at..at + 16].try_into().unwrap_or_default();
            Ipv6Addr::from(octets)
        };
        let options = Options::new(options)?;
        let message = options.find(option::RELAY_MESSAGE);
        let interface = options.find(option::INTERFACE_ID);
        if interface.is_some_and(|id| id.len() > MAX_INTERFACE_ID) {
            return Err(BadHeader("DHCPv6 interface id too long"));
        }
        Ok(RelayMessage {
            kind: kind.ok_or(BadHeader("no DHCPv6 relay message"))?,
            hops: fields[1],
            link: address(2),
            peer: address(18),
            interface,
            message: message.ok_or(BadHeader("DHCPv6 relay message without a message"))?,
        })
    }

    /// Writes this message around `message` into `out`, whose content is lost.
    pub fn write(&self, message: &[u8], out: &mut Vec<u8>) {
        out.clear();
        out.extend([self.kind as u8, self.hops]);
        out.extend(self.link.octets());
        out.extend(self.peer.octets());
        if let Some(id) = self.interface {
            write(out, option::INTERFACE_ID, |out| out.extend(id));
        }
        write(out, option::RELAY_MESSAGE, |out| out.extend(message));
    }
}

/// Writes the message that goes to the servers for the message of a client or another relay into `out`.
///
/// `link` is an address of the relay on the port by which it came, if it has one that is not link-local; `interface` names the port.
///
/// # Errors
/// The reason for which it is not relayed.
pub fn to_servers(
    bytes: &[u8],
    link: Option<Ipv6Addr>,
    peer: Ipv6Addr,
    interface: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), &'static str> {
    let kind = bytes.first().and_then(|number| Kind::of(*number));
    let hops = match kind {
        Some(Kind::RelayForward) => {
            let inner = RelayMessage::new(bytes).map_err(|fault| fault.0)?;
            if inner.hops >= MAX_HOPS {
                return Err("DHCPv6 message with too many hops");
            }
            inner.hops + 1
        }
        Some(Kind::Advertise | Kind::Reply | Kind::Reconfigure | Kind::RelayReply) => {
            return Err("DHCPv6 message of a server");
        }
        // A relay forwards types that it does not know (RFC 7283).
        _ if bytes.len() >= 4 => 0,
        _ => return Err("DHCPv6 message cut off"),
    };
    if bytes.len() > MAX_MESSAGE {
        return Err("DHCPv6 message too long for a relay");
    }
    let message = RelayMessage {
        kind: Kind::RelayForward,
        hops,
        link: link.unwrap_or(Ipv6Addr::UNSPECIFIED),
        peer,
        interface: Some(interface),
        message: bytes,
    };
    message.write(bytes, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn a_message_passes_eight_relays_and_no_more() {
        let (link, peer) = ("2001:db8::1".parse().unwrap(), "fe80::7".parse().unwrap());
        let client = [1, 0, 0, 7];
        let mut bytes = client.to_vec();
        let mut out = Vec::new();
        for hop in 0..=MAX_HOPS {
            to_servers(&bytes, Some(link), peer, &[hop], &mut out).unwrap();
            let read = RelayMessage::new(&out).unwrap();
            assert_eq!((read.hops, read.link, read.peer), (hop, link, peer));
            assert_eq!((read.message, read.interface), (&*bytes, Some(&[hop][..])));
            bytes = out.clone();
        }
        assert!(to_servers(&bytes, Some(link), peer, &[9], &mut out).is_err());
        assert!(to_servers(&[7, 0, 0, 7], None, peer, &[9], &mut out).is_err());
        assert!(to_servers(&vec![1; 1401], None, peer, &[9], &mut out).is_err());
        assert!(to_servers(&[200, 1, 2, 3], None, peer, &[9], &mut out).is_ok());
    }
}
