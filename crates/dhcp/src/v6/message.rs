//! Messages (RFC 9915 sections 8, 9 and 21): reading and writing.

mod writing;

pub use writing::{begin, write, write_association, write_item, write_status};

use alloc::vec::Vec;
use core::net::Ipv6Addr;
use node::Time;
use packet::BadHeader;

/// UDP port of clients.
pub const CLIENT_PORT: u16 = 546;
/// UDP port of servers and relays.
pub const SERVER_PORT: u16 = 547;
/// Group of all servers and relays of a link.
pub const ALL_SERVERS: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 1, 2);
/// Maximum number of relays that a message passes (`HOP_COUNT_LIMIT`).
pub const MAX_HOPS: u8 = 8;
/// Maximum length of a DUID, bytes (RFC 9915 section 11.1).
pub const MAX_DUID: usize = 130;

/// Types of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A client looks for servers.
    Solicit = 1,
    /// A server offers addresses.
    Advertise,
    /// A client wants addresses of one server.
    Request,
    /// A client asks whether its addresses are right for its link.
    Confirm,
    /// A client wants longer lifetimes of its server.
    Renew,
    /// A client wants longer lifetimes of any server.
    Rebind,
    /// A server's answer.
    Reply,
    /// A client gives addresses up.
    Release,
    /// Another host has an address.
    Decline,
    /// A server asks a client to come. Not supported.
    Reconfigure,
    /// A client wants other parameters than addresses.
    InformationRequest,
    /// A relay's message to servers.
    RelayForward,
    /// A server's message to a relay.
    RelayReply,
}

impl Kind {
    const ALL: [Kind; 13] = [
        Kind::Solicit,
        Kind::Advertise,
        Kind::Request,
        Kind::Confirm,
        Kind::Renew,
        Kind::Rebind,
        Kind::Reply,
        Kind::Release,
        Kind::Decline,
        Kind::Reconfigure,
        Kind::InformationRequest,
        Kind::RelayForward,
        Kind::RelayReply,
    ];

    /// The type with a number.
    pub fn of(number: u8) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| *kind as u8 == number)
    }
}

/// Numbers of options.
pub mod option {
    /// DUID of the client.
    pub const CLIENT_ID: u16 = 1;
    /// DUID of the server.
    pub const SERVER_ID: u16 = 2;
    /// Identity association of addresses.
    pub const IA_NA: u16 = 3;
    /// An address of one.
    pub const IA_ADDRESS: u16 = 5;
    /// Numbers of the options that the client wants.
    pub const REQUEST: u16 = 6;
    /// Preference of a server.
    pub const PREFERENCE: u16 = 7;
    /// Time since the client began, 10 ms.
    pub const ELAPSED: u16 = 8;
    /// Message that a relay carries.
    pub const RELAY_MESSAGE: u16 = 9;
    /// Status code.
    pub const STATUS: u16 = 13;
    /// Two messages instead of four.
    pub const RAPID_COMMIT: u16 = 14;
    /// Interface of a relay.
    pub const INTERFACE_ID: u16 = 18;
    /// Name servers (RFC 3646).
    pub const DNS: u16 = 23;
    /// Domains that are searched (RFC 3646).
    pub const DOMAINS: u16 = 24;
    /// Identity association of delegated prefixes.
    pub const IA_PD: u16 = 25;
    /// A prefix of one.
    pub const IA_PREFIX: u16 = 26;
    /// Time after which information is asked for again, seconds.
    pub const REFRESH: u16 = 32;
    /// Maximum time between two Solicits, seconds.
    pub const SOL_MAX_RT: u16 = 82;
}

/// Status codes (RFC 9915 section 21.13).
pub mod status {
    /// Success.
    pub const SUCCESS: u16 = 0;
    /// No addresses for the association.
    pub const NO_ADDRESSES: u16 = 2;
    /// No binding.
    pub const NO_BINDING: u16 = 3;
    /// The address is not right for the link.
    pub const NOT_ON_LINK: u16 = 4;
    /// No prefixes for the association.
    pub const NO_PREFIX: u16 = 6;
}

/// Options that are all whole. No method panics.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a>(&'a [u8]);

impl<'a> Options<'a> {
    /// Checks that all options are whole.
    ///
    /// # Errors
    /// When one is cut off.
    pub fn new(bytes: &'a [u8]) -> Result<Options<'a>, BadHeader> {
        let mut rest = Options(bytes);
        while rest.next().is_some() {}
        match rest.0 {
            [] => Ok(Options(bytes)),
            _ => Err(BadHeader("DHCPv6 option cut off")),
        }
    }

    /// The first option with a number.
    pub fn find(mut self, number: u16) -> Option<&'a [u8]> {
        let found = Iterator::find(&mut self, |(one, _)| *one == number);
        found.map(|(_, value)| value)
    }

    /// The status code; success if there is none.
    pub fn status(self) -> u16 {
        match self.find(option::STATUS) {
            Some([high, low, ..]) => u16::from_be_bytes([*high, *low]),
            _ => status::SUCCESS,
        }
    }

    /// The identity associations, those that are whole.
    pub fn associations(self) -> impl Iterator<Item = Association<'a>> {
        self.filter_map(|(number, value)| Association::new(number, value))
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<(u16, &'a [u8])> {
        let (header, rest) = self.0.split_first_chunk::<4>()?;
        let [number, length] = [0, 2].map(|at| u16::from_be_bytes([header[at], header[at + 1]]));
        let (value, rest) = rest.split_at_checked(length.into())?;
        self.0 = rest;
        Some((number, value))
    }
}

/// A message between clients and servers. No method panics.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Its type, neither of a relay.
    pub kind: Kind,
    /// Transaction, 24 bits.
    pub xid: u32,
    /// Its options.
    pub options: Options<'a>,
}

impl<'a> Message<'a> {
    /// Reads a message, from after the UDP header.
    ///
    /// # Errors
    /// When it is cut off, of a relay or an unknown type, or a DUID is too long.
    pub fn new(bytes: &'a [u8]) -> Result<Message<'a>, BadHeader> {
        let (header, options) = bytes
            .split_first_chunk::<4>()
            .ok_or(BadHeader("DHCPv6 message cut off"))?;
        let kind = Kind::of(header[0]);
        let kind = kind.filter(|kind| !matches!(kind, Kind::RelayForward | Kind::RelayReply));
        let message = Message {
            kind: kind.ok_or(BadHeader("DHCPv6 message of an unknown type"))?,
            xid: u32::from_be_bytes([0, header[1], header[2], header[3]]),
            options: Options::new(options)?,
        };
        for number in [option::CLIENT_ID, option::SERVER_ID] {
            let id = message.options.find(number);
            if id.is_some_and(|id| !(3..=MAX_DUID).contains(&id.len())) {
                return Err(BadHeader("DHCPv6 identifier of a wrong length"));
            }
        }
        Ok(message)
    }

    /// The client's DUID.
    pub fn client(&self) -> Option<&'a [u8]> {
        self.options.find(option::CLIENT_ID)
    }

    /// The server's DUID.
    pub fn server(&self) -> Option<&'a [u8]> {
        self.options.find(option::SERVER_ID)
    }

    /// Whether the client wants an option.
    pub fn wants(&self, number: u16) -> bool {
        let wanted = self.options.find(option::REQUEST).unwrap_or_default();
        let mut wanted = wanted.chunks_exact(2);
        wanted.any(|pair| pair == number.to_be_bytes())
    }
}

/// Addresses or prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// Addresses (IA_NA).
    Address,
    /// Delegated prefixes (IA_PD).
    Prefix,
}

/// An identity association.
#[derive(Clone, Copy, Debug)]
pub struct Association<'a> {
    /// Its content.
    pub resource: Resource,
    /// Its number.
    pub iaid: u32,
    /// Times T1 and T2, seconds.
    pub times: [u32; 2],
    /// Its options.
    pub options: Options<'a>,
}

/// An address or a prefix of an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// The address, or the prefix with zeros after its length.
    pub address: Ipv6Addr,
    /// Length of the prefix, 0 to 128 bits; 128 for an address.
    pub length: u8,
    /// Preferred lifetime, seconds; `u32::MAX` without end.
    pub preferred: u32,
    /// Valid lifetime, seconds; `u32::MAX` without end.
    pub valid: u32,
}

impl<'a> Association<'a> {
    fn new(number: u16, value: &'a [u8]) -> Option<Association<'a>> {
        let resource = match number {
            option::IA_NA => Resource::Address,
            option::IA_PD => Resource::Prefix,
            _ => return None,
        };
        let (fields, options) = value.split_first_chunk::<12>()?;
        let [iaid, t1, t2] = [0, 4, 8].map(|at| {
            u32::from_be_bytes([fields[at], fields[at + 1], fields[at + 2], fields[at + 3]])
        });
        Some(Association {
            resource,
            iaid,
            times: [t1, t2],
            options: Options::new(options).ok()?,
        })
    }

    /// Its addresses or prefixes, those that are whole and whose preferred lifetime is not above the valid one.
    pub fn items(&self) -> impl Iterator<Item = Item> + use<'a> {
        let number = match self.resource {
            Resource::Address => option::IA_ADDRESS,
            Resource::Prefix => option::IA_PREFIX,
        };
        let all = self.options.filter(move |(one, _)| *one == number);
        all.filter_map(|(number, value)| Item::read(number, value))
    }
}

impl Item {
    fn read(number: u16, value: &[u8]) -> Option<Item> {
        let word = |at: usize| Some(u32::from_be_bytes(value.get(at..at + 4)?.try_into().ok()?));
        let address = |at: usize| {
            let octets: [u8; 16] = value.get(at..at + 16)?.try_into().ok()?;
            Some(Ipv6Addr::from(octets))
        };
        let item = match number {
            option::IA_ADDRESS => Item {
                address: address(0)?,
                length: 128,
                preferred: word(16)?,
                valid: word(20)?,
            },
            _ => {
                let length = *value.get(8)?;
                Item {
                    address: masked(address(9)?, length),
                    length,
                    preferred: word(0)?,
                    valid: word(4)?,
                }
            }
        };
        (item.length <= 128 && item.preferred <= item.valid).then_some(item)
    }

    /// Whether both are the same address or prefix.
    pub fn is_same(&self, other: &Item) -> bool {
        (self.address, self.length) == (other.address, other.length)
    }
}

/// An address with zeros after its first `length` bits.
pub fn masked(address: Ipv6Addr, length: u8) -> Ipv6Addr {
    let shift = 128 - u32::from(length.min(128));
    let mask = u128::MAX.checked_shl(shift).unwrap_or(0);
    Ipv6Addr::from(u128::from(address) & mask)
}

/// Seconds of a lifetime, `u32::MAX` without end.
pub fn seconds(time: Time) -> u32 {
    match time {
        Time::MAX => u32::MAX,
        _ => (time.as_ns() / 1_000_000_000).min(u64::from(u32::MAX - 1)) as u32,
    }
}

/// A lifetime of seconds, [`Time::MAX`] without end.
pub fn lifetime(seconds: u32) -> Time {
    match seconds {
        u32::MAX => Time::MAX,
        _ => Time::from_secs(seconds.into()),
    }
}

/// DUID of an Ethernet interface (DUID-LL, RFC 9915 section 11.4).
pub fn duid(mac: [u8; 6]) -> Vec<u8> {
    [&[0, 3, 0, 1], &mac[..]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_with_both_associations_reads_back() {
        let mut bytes = Vec::new();
        begin(&mut bytes, Kind::Reply, 0xFF01_0203);
        write(&mut bytes, option::CLIENT_ID, |out| {
            out.extend(duid([2; 6]))
        });
        write(&mut bytes, option::REQUEST, |out| {
            out.extend([0, 23, 0, 24])
        });
        let address = Item {
            address: "2001:db8::7".parse().unwrap(),
            length: 128,
            preferred: 10,
            valid: 20,
        };
        let prefix = Item {
            address: "2001:db8:1::".parse().unwrap(),
            length: 56,
            preferred: u32::MAX,
            valid: u32::MAX,
        };
        for (resource, item) in [(Resource::Address, address), (Resource::Prefix, prefix)] {
            write_association(&mut bytes, resource, 5, [50, 80], |out| {
                write_item(out, resource, &item);
                write_status(out, status::NO_BINDING, "none");
            });
        }
        let message = Message::new(&bytes).unwrap();
        assert_eq!((message.kind, message.xid), (Kind::Reply, 0x0001_0203));
        assert_eq!(message.client(), Some(&duid([2; 6])[..]));
        assert!(message.wants(24) && !message.wants(25));
        let all: Vec<_> = message.options.associations().collect();
        assert_eq!((all[0].iaid, all[0].times), (5, [50, 80]));
        assert_eq!(all[0].items().collect::<Vec<_>>(), [address]);
        assert_eq!(all[1].items().collect::<Vec<_>>(), [prefix]);
        assert_eq!(all[1].options.status(), status::NO_BINDING);
        for length in 0..bytes.len() {
            let cut = Message::new(&bytes[..length]);
            assert!(cut.is_err() || cut.unwrap().options.count() < 4);
        }
    }
}
