//! Messages (RFC 2131 section 2, RFC 2132): reading and writing.

mod writer;

pub use writer::{Header, Writer};

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use packet::BadHeader;
use packet::dhcp::Options;
use packet::ethernet::Mac;

/// UDP ports of servers and relays, and of clients.
pub const SERVER_PORT: u16 = packet::dhcp::PORTS[0];
/// UDP port of clients.
pub const CLIENT_PORT: u16 = packet::dhcp::PORTS[1];
/// Value of `op` in a client's message.
pub const REQUEST: u8 = 1;
/// Value of `op` in a server's message.
pub const REPLY: u8 = 2;
/// Maximum number of hops of a message between relays (RFC 1542 section 4.1.1).
pub const MAX_HOPS: u8 = 16;
/// Minimum size of a message that every client takes, bytes (RFC 2131 section 2).
pub const MIN_MAX_SIZE: usize = 576;
/// Offset of the options.
const FIXED: usize = 240;
/// Offsets of the fields `sname` and `file`.
const SNAME: core::ops::Range<usize> = 44..108;
const FILE: core::ops::Range<usize> = 108..236;
const COOKIE: [u8; 4] = [0x63, 0x82, 0x53, 0x63];
/// Minimum size of a message, bytes (RFC 1542 section 2.1).
const MIN_SIZE: usize = 300;
/// Bytes of IP and UDP headers, which the maximum size of a message counts.
const HEADERS: usize = 28;

/// Numbers of options.
pub mod option {
    pub use packet::dhcp::option::*;
    /// MTU of the link (RFC 2132 section 5.1).
    pub const MTU: u8 = 26;
    /// Broadcast address (RFC 2132 section 5.3).
    pub const BROADCAST: u8 = 28;
    /// Time servers by NTP (RFC 2132 section 8.3).
    pub const NTP: u8 = 42;
    /// Fields `file` and `sname` hold options (RFC 2132 section 9.3).
    pub const OVERLOAD: u8 = 52;
    /// Numbers of the options that the client wants (RFC 2132 section 9.8).
    pub const PARAMETERS: u8 = 55;
    /// Text of an error (RFC 2132 section 9.9).
    pub const ERROR: u8 = 56;
    /// Maximum size of messages, bytes (RFC 2132 section 9.10).
    pub const MAX_SIZE: u8 = 57;
    /// Time until renewal, seconds (RFC 2132 section 9.11).
    pub const RENEWAL: u8 = 58;
    /// Time until rebinding, seconds (RFC 2132 section 9.12).
    pub const REBINDING: u8 = 59;
    /// Two messages instead of four (RFC 4039).
    pub const RAPID_COMMIT: u8 = 80;
    /// Information of a relay (RFC 3046).
    pub const RELAY_AGENT: u8 = 82;
    /// Time for which a client does without IPv4, seconds (RFC 8925).
    pub const IPV6_ONLY: u8 = 108;
    /// Domains that are searched (RFC 3397).
    pub const DOMAIN_SEARCH: u8 = 119;
    /// Routes with prefixes (RFC 3442).
    pub const CLASSLESS_ROUTES: u8 = 121;
}

/// Numbers of a relay's sub-options.
pub mod sub_option {
    /// Circuit by which the message came (RFC 3046 section 3.1).
    pub const CIRCUIT: u8 = 1;
    /// The far end of the circuit (RFC 3046 section 3.2).
    pub const REMOTE: u8 = 2;
    /// An address of the client's subnet (RFC 3527).
    pub const LINK_SELECTION: u8 = 5;
}

/// Type of a message (RFC 2132 section 9.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A client looks for servers.
    Discover = 1,
    /// A server offers an address.
    Offer,
    /// A client wants an address, or wants to keep it.
    Request,
    /// Another host has the address.
    Decline,
    /// The client has the address.
    Ack,
    /// The client does not have the address.
    Nak,
    /// The client gives the address up.
    Release,
    /// A client with an address wants the other options.
    Inform,
}

impl Kind {
    const ALL: [Kind; 8] = [
        Kind::Discover,
        Kind::Offer,
        Kind::Request,
        Kind::Decline,
        Kind::Ack,
        Kind::Nak,
        Kind::Release,
        Kind::Inform,
    ];
}

/// A message for Ethernet with whole options. No method panics.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    bytes: &'a [u8],
    overload: u8,
    kind: Kind,
}

impl<'a> Message<'a> {
    /// Reads a message, from after the UDP header.
    ///
    /// # Errors
    /// When it is cut off, of BOOTP, not for Ethernet, or an option is cut off.
    pub fn new(bytes: &'a [u8]) -> Result<Message<'a>, BadHeader> {
        if bytes.len() < FIXED || bytes[236..FIXED] != COOKIE {
            return Err(BadHeader("no DHCP message"));
        }
        if bytes[1..3] != [1, 6] || bytes[28] & 1 != 0 {
            return Err(BadHeader("DHCP not from an Ethernet interface"));
        }
        let mut message = Message {
            bytes,
            overload: 0,
            kind: Kind::Discover,
        };
        let overload = message.option(option::OVERLOAD);
        message.overload = overload.map_or(0, |value| value.first().copied().unwrap_or(0));
        for area in message.areas() {
            let mut options = Options(area);
            while options.next().is_some() {}
            if !matches!(options.0, [] | [255, ..]) {
                return Err(BadHeader("DHCP option cut off"));
            }
        }
        let kind = message.option(option::MESSAGE_TYPE);
        let kind = match kind.as_deref() {
            Some([number]) => Kind::ALL.into_iter().find(|kind| *kind as u8 == *number),
            _ => None,
        };
        message.kind = kind.ok_or(BadHeader("DHCP message without a type"))?;
        Ok(message)
    }

    /// Type of the message.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// 1 from a client, 2 from a server.
    pub fn op(&self) -> u8 {
        self.bytes[0]
    }

    /// Number of relays that it has passed.
    pub fn hops(&self) -> u8 {
        self.bytes[3]
    }

    /// Transaction that request and reply share.
    pub fn xid(&self) -> u32 {
        u32::from_be_bytes(self.field(4))
    }

    /// Time since the client began, seconds.
    pub fn secs(&self) -> u16 {
        u16::from_be_bytes(self.field(8))
    }

    /// Whether the client wants broadcasts, as it takes no unicast before it has an address.
    pub fn is_broadcast(&self) -> bool {
        self.bytes[10] & 0x80 != 0
    }

    /// Address that the client has.
    pub fn ciaddr(&self) -> Ipv4Addr {
        self.field::<4>(12).into()
    }

    /// Address that the client gets.
    pub fn yiaddr(&self) -> Ipv4Addr {
        self.field::<4>(16).into()
    }

    /// Address of the first relay.
    pub fn giaddr(&self) -> Ipv4Addr {
        self.field::<4>(24).into()
    }

    /// MAC address of the client.
    pub fn chaddr(&self) -> Mac {
        Mac(self.field(28))
    }

    fn field<const N: usize>(&self, at: usize) -> [u8; N] {
        let field = self.bytes[..FIXED].get(at..at + N);
        field
            .and_then(|bytes| bytes.try_into().ok())
            .unwrap_or([0; N])
    }

    /// Parts of the message that hold options (RFC 2131 section 4.1).
    fn areas(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let bytes = self.bytes;
        let file = (self.overload & 1 != 0).then(|| &bytes[FILE]);
        let sname = (self.overload & 2 != 0).then(|| &bytes[SNAME]);
        [Some(&bytes[FIXED..]), file, sname].into_iter().flatten()
    }

    /// All options in their order: number and value. One that is split appears in parts.
    pub fn options(&self) -> impl Iterator<Item = (u8, &'a [u8])> + use<'a> {
        self.areas().flat_map(Options)
    }

    /// Value of an option; parts of one are joined (RFC 3396).
    pub fn option(&self, number: u8) -> Option<Cow<'a, [u8]>> {
        let mut parts = self.options().filter(|(one, _)| *one == number);
        let (_, first) = parts.next()?;
        let mut value = Cow::Borrowed(first);
        for (_, part) in parts {
            value.to_mut().extend(part);
        }
        Some(value)
    }

    /// Value of an option that is one address.
    pub fn address(&self, number: u8) -> Option<Ipv4Addr> {
        let octets: [u8; 4] = self.option(number)?.as_ref().try_into().ok()?;
        Some(octets.into())
    }

    /// Value of an option that is a number of four bytes.
    pub fn number(&self, number: u8) -> Option<u32> {
        self.address(number).map(u32::from)
    }

    /// By which the server knows the client: the client identifier, else the hardware address (RFC 2131 section 4.2).
    pub fn client(&self) -> Cow<'a, [u8]> {
        let given = self.option(option::CLIENT_ID);
        // Type of the hardware and its address.
        let hardware = || [&[1], &self.bytes[28..34]].concat();
        given
            .filter(|id| id.len() >= 2)
            .unwrap_or_else(|| hardware().into())
    }

    /// A sub-option of the relay's information.
    pub fn sub_option(&self, number: u8) -> Option<Vec<u8>> {
        let information = self.option(option::RELAY_AGENT)?;
        let mut rest = &*information;
        while let [kind, length, after @ ..] = rest {
            let (value, after) = after.split_at_checked(usize::from(*length))?;
            if *kind == number {
                return Some(value.into());
            }
            rest = after;
        }
        None
    }

    /// Maximum size of a reply without IP and UDP headers, bytes: at least 548.
    pub fn max_size(&self) -> usize {
        let value = self.option(option::MAX_SIZE);
        let size = match value.as_deref() {
            Some([high, low]) => usize::from(u16::from_be_bytes([*high, *low])),
            _ => 0,
        };
        size.max(MIN_MAX_SIZE) - HEADERS
    }

    /// Bytes of the message.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn header() -> Header {
        Header {
            op: REPLY,
            xid: 0x0102_0304,
            secs: 7,
            broadcast: true,
            ciaddr: [10, 0, 0, 1].into(),
            yiaddr: [10, 0, 0, 2].into(),
            siaddr: [10, 0, 0, 3].into(),
            giaddr: [10, 0, 0, 4].into(),
            chaddr: Mac([2, 0, 0, 0, 0, 7]),
        }
    }

    #[test]
    fn a_message_reads_back_with_an_option_in_two_parts() {
        let mut bytes = vec![1, 2, 3];
        let long: Vec<u8> = (0..300_u16).map(|n| n as u8).collect();
        let mut writer = Writer::new(&mut bytes, &header(), Kind::Offer, 1472);
        writer.option(121, &long);
        writer.option(option::SERVER, &[10, 0, 0, 9]);
        writer.option(option::RAPID_COMMIT, &[]);
        assert_eq!(writer.end(), 0);
        let message = Message::new(&bytes).unwrap();
        assert_eq!((message.kind(), message.xid()), (Kind::Offer, 0x0102_0304));
        assert_eq!((message.secs(), message.is_broadcast()), (7, true));
        assert_eq!(message.yiaddr(), Ipv4Addr::new(10, 0, 0, 2));
        assert_eq!(message.giaddr(), Ipv4Addr::new(10, 0, 0, 4));
        assert_eq!(message.option(121).unwrap(), long);
        assert_eq!(message.address(54), Some([10, 0, 0, 9].into()));
        assert_eq!(message.option(80).as_deref(), Some(&[][..]));
        assert_eq!(&*message.client(), [1, 2, 0, 0, 0, 0, 7]);
    }

    #[test]
    fn options_that_do_not_fit_are_counted() {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes, &header(), Kind::Ack, 548);
        writer.option(43, &[1; 250]);
        writer.option(44, &[1; 60]);
        writer.option(51, &[0; 4]);
        assert_eq!(writer.end(), 1);
        let message = Message::new(&bytes).unwrap();
        assert!(message.option(44).is_none() && message.option(51).is_some());
        assert!(bytes.len() <= 548);
    }

    #[test]
    fn options_in_the_fields_of_names_are_read() {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes, &header(), Kind::Ack, 548);
        writer.option(option::OVERLOAD, &[3]);
        writer.end();
        bytes[FILE.start..FILE.start + 3].copy_from_slice(&[15, 1, b'a']);
        bytes[FILE.start + 3] = 255;
        bytes[SNAME.start..SNAME.start + 3].copy_from_slice(&[15, 1, b'b']);
        let message = Message::new(&bytes).unwrap();
        assert_eq!(message.option(15).as_deref(), Some(&b"ab"[..]));
        bytes[FILE.start + 1] = 200;
        assert!(Message::new(&bytes).is_err());
    }
}
