//! Router advertisements (RFC 4861 section 4.2) as a router writes them, and the solicitations that it reads.

pub mod schedule;

use crate::domain;
use crate::v6::message::{masked, seconds};
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv6Addr};
use ip::header::{self, ETHERNET, ICMPV6};
use node::Time;
use packet::ethernet::{Ethernet, Mac, ethertype};
use packet::icmpv6::Icmpv6;
use packet::ipv6::Ipv6;

const SOLICITATION: u8 = 133;
const ADVERTISEMENT: u8 = 134;
/// Hop limit of a packet that has not passed a router (RFC 4861 section 3.1).
const ON_LINK: u8 = 255;
/// Group of all hosts of a link.
pub const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);
/// Maximum size of an advertisement, bytes: it fits into a packet of the minimum MTU.
pub const MAX_SIZE: usize = 1280 - 40;

/// Preference of a router or a route (RFC 4191 section 2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Preference {
    /// Rather than others.
    High,
    /// As others.
    #[default]
    Medium,
    /// If there is no other.
    Low,
}

impl Preference {
    /// Two bits at positions 4 and 3.
    fn bits(self) -> u8 {
        match self {
            Preference::High => 0b0000_1000,
            Preference::Medium => 0,
            Preference::Low => 0b0001_1000,
        }
    }
}

/// A prefix (RFC 4861 section 4.6.2, RFC 9762).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The prefix.
    pub address: Ipv6Addr,
    /// Its length, bits.
    pub length: u8,
    /// Whether its addresses are on the link (L).
    pub on_link: bool,
    /// Whether hosts make addresses from it (A).
    pub autonomous: bool,
    /// Whether hosts rather ask for a delegated prefix (P).
    pub delegated: bool,
    /// Valid lifetime; [`Time::MAX`] without end.
    pub valid: Time,
    /// Preferred lifetime.
    pub preferred: Time,
}

/// A route (RFC 4191 section 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Destinations.
    pub address: Ipv6Addr,
    /// Length of their prefix, bits.
    pub length: u8,
    /// Preference.
    pub preference: Preference,
    /// Lifetime.
    pub lifetime: Time,
}

/// An advertisement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advertisement {
    /// Hop limit for hosts; 0: not stated.
    pub hop_limit: u8,
    /// Whether addresses come by DHCPv6 (M).
    pub managed: bool,
    /// Whether other parameters come by DHCPv6 (O).
    pub other: bool,
    /// Preference of the router.
    pub preference: Preference,
    /// Time for which it is a default router; zero: it is none.
    pub lifetime: Time,
    /// Time for which a neighbour that has answered is reachable; zero: not stated.
    pub reachable: Time,
    /// Time between solicitations of neighbours; zero: not stated.
    pub retransmission: Time,
    /// MTU of the link, bytes.
    pub mtu: Option<u32>,
    /// Prefixes.
    pub prefixes: Vec<Prefix>,
    /// Routes.
    pub routes: Vec<Route>,
    /// Name servers (RFC 8106).
    pub name_servers: Vec<Ipv6Addr>,
    /// Domains that are searched (RFC 8106).
    pub domains: Vec<String>,
    /// Lifetime of name servers and domains.
    pub name_lifetime: Time,
    /// Prefix of a translator, with a length of 32, 40, 48, 56, 64 or 96 bits, and its lifetime (RFC 8781).
    pub translator: Option<(Ipv6Addr, u8, Time)>,
}

impl Advertisement {
    /// Appends the options, after the fixed fields.
    fn write_options(&self, mac: [u8; 6], out: &mut Vec<u8>) {
        out.extend([1, 1]);
        out.extend(mac);
        if let Some(mtu) = self.mtu {
            out.extend([5, 1, 0, 0]);
            out.extend(mtu.to_be_bytes());
        }
        for prefix in &self.prefixes {
            let flags = [prefix.on_link, prefix.autonomous, false, prefix.delegated];
            let flags = flags
                .into_iter()
                .fold(0, |all, flag| all << 1 | u8::from(flag))
                << 4;
            out.extend([3, 4, prefix.length, flags]);
            out.extend(seconds(prefix.valid).to_be_bytes());
            out.extend(seconds(prefix.preferred).to_be_bytes());
            out.extend([0; 4]);
            out.extend(masked(prefix.address, prefix.length).octets());
        }
        for route in &self.routes {
            let words = usize::from(route.length.div_ceil(64));
            out.extend([24, 1 + words as u8, route.length, route.preference.bits()]);
            out.extend(seconds(route.lifetime).to_be_bytes());
            out.extend(&masked(route.address, route.length).octets()[..words * 8]);
        }
        let lifetime = seconds(self.name_lifetime).to_be_bytes();
        if !self.name_servers.is_empty() {
            out.extend([25, (1 + 2 * self.name_servers.len()) as u8, 0, 0]);
            out.extend(lifetime);
            out.extend(self.name_servers.iter().flat_map(|server| server.octets()));
        }
        if !self.domains.is_empty() {
            let start = out.len();
            out.extend([31, 0, 0, 0]);
            out.extend(lifetime);
            for name in &self.domains {
                // A name that is none is left out; configurations are checked.
                let _ = domain::write(name, out);
            }
            let units = (out.len() - start).div_ceil(8);
            out.resize(start + units * 8, 0);
            out[start + 1] = units as u8;
        }
        if let Some((address, length, lifetime)) = self.translator {
            let code = match length {
                96 => 0,
                64 => 1,
                56 => 2,
                48 => 3,
                40 => 4,
                _ => 5,
            };
            // In units of 8 s, rounded up.
            let scaled = seconds(lifetime).div_ceil(8).min(0x1FFF) as u16;
            out.extend([38, 2]);
            out.extend((scaled << 3 | code).to_be_bytes());
            out.extend(&masked(address, length).octets()[..12]);
        }
    }

    /// Size of the message, bytes; [`MAX_SIZE`] at most in a packet that every link carries.
    pub fn size(&self) -> usize {
        let mut options = Vec::new();
        self.write_options([0; 6], &mut options);
        16 + options.len()
    }

    /// Appends the frame from the router with this MAC and link-local address to a MAC address and an address.
    pub fn write(
        &self,
        (mac, own): ([u8; 6], Ipv6Addr),
        (to_mac, to): ([u8; 6], Ipv6Addr),
        out: &mut Vec<u8>,
    ) {
        let flags = u8::from(self.managed) << 7 | u8::from(self.other) << 6 | {
            // A router that is none has no preference (RFC 4191 section 2.2).
            if self.lifetime == Time::ZERO {
                0
            } else {
                self.preference.bits()
            }
        };
        let lifetime = seconds(self.lifetime).min(0xFFFF) as u16;
        let [high, low] = lifetime.to_be_bytes();
        let message = Icmpv6::Other {
            kind: ADVERTISEMENT,
            code: 0,
            rest: u32::from_be_bytes([self.hop_limit, flags, high, low]),
        };
        let ethernet = Ethernet {
            destination: Mac(to_mac),
            source: Mac(mac),
            tags: &[],
            ethertype: ethertype::IPV6,
        };
        let ip = Ipv6 {
            hop_limit: ON_LINK,
            ..Ipv6::new(own, to, ICMPV6)
        };
        let milliseconds = |time: Time| (time.as_ns() / 1_000_000).min(u64::from(u32::MAX)) as u32;
        ethernet.build(out, |out| {
            ip.build(out, |out| {
                message.build(ip.pseudo(), out, |out| {
                    out.extend(milliseconds(self.reachable).to_be_bytes());
                    out.extend(milliseconds(self.retransmission).to_be_bytes());
                    self.write_options(mac, out);
                });
            });
        });
    }
}

/// A host's question for routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Solicitation {
    /// The host; unspecified while it has no address.
    pub source: Ipv6Addr,
    /// Its MAC address: the source of the frame.
    pub mac: [u8; 6],
}

/// Whether a frame holds a router solicitation, right or wrong.
pub fn is_solicitation(frame: &[u8]) -> bool {
    header::read(frame).is_some_and(|packet| {
        packet.protocol == ICMPV6 && frame.get(packet.payload) == Some(&SOLICITATION)
    })
}

/// Reads a solicitation by the rules of RFC 4861 section 6.1.1.
pub fn read_solicitation(frame: &[u8]) -> Option<Solicitation> {
    let packet = header::read(frame)?;
    let message = frame.get(packet.payload..packet.end)?;
    let (fixed, mut options) = message.split_first_chunk::<8>()?;
    let IpAddr::V6(source) = packet.source else {
        return None;
    };
    let good = packet.protocol == ICMPV6
        && fixed[..2] == [SOLICITATION, 0]
        && frame[ETHERNET + 7] == ON_LINK
        && !source.is_multicast()
        && header::is_valid(frame, &packet);
    while let [kind, length, ..] = *options {
        let tentative = source.is_unspecified() && kind == 1;
        if length == 0 || tentative {
            return None;
        }
        options = options.get(usize::from(length) * 8..)?;
    }
    let mac: [u8; 6] = frame.get(6..12)?.try_into().ok()?;
    (good && options.is_empty() && mac[0] & 1 == 0).then_some(Solicitation { source, mac })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ip::discovery::Message;

    fn all() -> Advertisement {
        let address: Ipv6Addr = "2001:db8:1:2::".parse().unwrap();
        Advertisement {
            hop_limit: 64,
            managed: true,
            preference: Preference::High,
            lifetime: Time::from_secs(1800),
            mtu: Some(1400),
            prefixes: Vec::from([Prefix {
                address,
                length: 64,
                on_link: true,
                autonomous: true,
                delegated: true,
                valid: Time::from_secs(7200),
                preferred: Time::from_secs(3600),
            }]),
            routes: Vec::from([Route {
                address,
                length: 48,
                preference: Preference::Low,
                lifetime: Time::from_secs(600),
            }]),
            name_servers: Vec::from([address, address]),
            domains: Vec::from(["lab.example".into()]),
            name_lifetime: Time::from_secs(1200),
            translator: Some(("64:ff9b::".parse().unwrap(), 96, Time::from_secs(1801))),
            ..Advertisement::default()
        }
    }

    #[test]
    fn an_advertisement_reads_back_where_hosts_read_it() {
        let mut frame = Vec::new();
        let own = "fe80::1".parse().unwrap();
        all().write(([2; 6], own), ([0x33; 6], ALL_NODES), &mut frame);
        let packet = header::read(&frame).unwrap();
        assert!(header::is_valid(&frame, &packet));
        let Some(Message::Router(read)) = Message::read(&frame, &packet) else {
            panic!("no advertisement");
        };
        assert_eq!((read.lifetime, read.hop_limit), (Time::from_secs(1800), 64));
        assert_eq!((read.mtu, read.mac), (Some(1400), Some([2; 6])));
        let prefix = read.prefixes[0].unwrap();
        assert_eq!(
            (prefix.length, prefix.on_link, prefix.autonomous),
            (64, true, true)
        );
        assert_eq!((prefix.valid, prefix.preferred), (7200, 3600));
        let message = &frame[packet.payload..packet.end];
        assert_eq!(message.len(), all().size());
        // M, and the preference high.
        assert_eq!(message[5], 0x88);
        let find = |kind| {
            let mut rest = &message[16..];
            while rest[0] != kind {
                rest = &rest[usize::from(rest[1]) * 8..];
            }
            &rest[..usize::from(rest[1]) * 8]
        };
        assert_eq!(find(3)[3], 0b1101_0000);
        assert_eq!(find(24)[..8], [24, 2, 48, 0x18, 0, 0, 2, 88]);
        assert_eq!((find(25).len(), find(31).len()), (40, 24));
        // 226 units of 8 s, and the code of 96 bits.
        assert_eq!(find(38)[..8], [38, 2, 7, 16, 0, 0x64, 0xFF, 0x9B]);
    }

    #[test]
    fn solicitations_that_break_rules_are_none() {
        let message = Icmpv6::Other {
            kind: SOLICITATION,
            code: 0,
            rest: 0,
        };
        let frame = |hop_limit, source: &str, option: &[u8]| {
            let ip = Ipv6 {
                hop_limit,
                ..Ipv6::new(source.parse().unwrap(), ALL_NODES, ICMPV6)
            };
            let mut frame = Vec::new();
            let ethernet = Ethernet {
                destination: Mac([0x33; 6]),
                source: Mac([2; 6]),
                tags: &[],
                ethertype: ethertype::IPV6,
            };
            ethernet.build(&mut frame, |out| {
                ip.build(out, |out| {
                    message.build(ip.pseudo(), out, |out| out.extend(option))
                });
            });
            frame
        };
        let mac = [1, 1, 2, 2, 2, 2, 2, 2];
        let good = read_solicitation(&frame(255, "fe80::5", &mac)).unwrap();
        assert_eq!((good.source.segments()[7], good.mac), (5, [2; 6]));
        assert!(read_solicitation(&frame(255, "::", &[])).is_some());
        for wrong in [
            frame(64, "fe80::5", &mac),
            frame(255, "::", &mac),
            frame(255, "fe80::5", &[1, 0, 2, 2, 2, 2, 2, 2]),
            frame(255, "fe80::5", &[1, 2, 2, 2, 2, 2, 2, 2]),
        ] {
            assert_eq!(read_solicitation(&wrong), None);
            assert!(is_solicitation(&wrong));
        }
    }
}
