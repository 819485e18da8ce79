//! The headers of a packet, as far as an entry of both versions can match them.

use crate::oxm::{Field, Oxm, VLAN_PRESENT};
use crate::port::PortNo;
use packet::arp::{Arp, Operation};
use packet::ethernet::{EthernetView, Mac, ethertype};
use packet::ipv4::{Ipv4View, protocol};
use packet::vlan::Tags;

/// Maximum number of fields that [`Headers::fields`] returns.
pub const MAX_FIELDS: usize = 12;

/// The headers of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    pub destination: Mac,
    pub source: Mac,
    /// EtherType, after a VLAN tag.
    pub ethertype: u16,
    /// VLAN id and priority of the outermost tag.
    pub vlan: Option<(u16, u8)>,
    /// Of IPv4: source and destination; of ARP: sender and target.
    pub ipv4: Option<([u8; 4], [u8; 4])>,
    /// Of IPv4: the protocol; of ARP: the operation.
    pub protocol: Option<u8>,
    /// Of IPv4: the DSCP.
    pub dscp: u8,
    /// Of TCP and UDP: the ports; of ICMP: type and code. Not of a later fragment.
    pub transport: Option<(u16, u16)>,
    /// Where what is behind the Ethernet header begins.
    pub payload: usize,
}

impl Headers {
    /// Reads the front of a packet; `None` if it has no whole Ethernet header.
    pub fn read(data: &[u8]) -> Option<Headers> {
        let ethernet = EthernetView::new(data).ok()?;
        let mut tags = Tags::new(data).ok()?;
        // An entry of both versions matches one customer tag, and nothing behind another.
        let vlan = match tags.ethertype() {
            ethertype::VLAN => Some(tags.next()?),
            _ => None,
        };
        let mut headers = Headers {
            destination: ethernet.destination(),
            source: ethernet.source(),
            ethertype: tags.ethertype(),
            vlan: vlan.map(|tag| (tag.id, tag.priority)),
            payload: data.len() - tags.payload().len(),
            ..Headers::default()
        };
        match headers.ethertype {
            ethertype::IPV4 => headers.ipv4(tags.payload()),
            ethertype::ARP => headers.arp(tags.payload()),
            _ => {}
        }
        Some(headers)
    }

    fn ipv4(&mut self, body: &[u8]) {
        let Ok(ip) = Ipv4View::new_any_length(body) else {
            return;
        };
        self.ipv4 = Some((ip.source().octets(), ip.destination().octets()));
        self.protocol = Some(ip.protocol());
        self.dscp = ip.traffic_class() >> 2;
        let first = ip
            .payload()
            .first_chunk()
            .filter(|_| ip.fragment_offset() == 0);
        self.transport = first.and_then(|&[a, b, c, d]| match ip.protocol() {
            protocol::TCP | protocol::UDP => {
                Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
            }
            protocol::ICMP => Some((a.into(), b.into())),
            _ => None,
        });
    }

    fn arp(&mut self, body: &[u8]) {
        if let Ok(arp) = Arp::parse(body) {
            self.ipv4 = Some((arp.sender.octets(), arp.target.octets()));
            self.protocol = match arp.operation {
                Operation::Request => Some(1),
                Operation::Reply => Some(2),
                Operation::Other(number) => number.try_into().ok(),
            };
        }
    }

    /// An entry that matches packets with just these headers and this port, in a form that both versions have, and
    /// how many fields it has.
    pub fn fields(&self, in_port: PortNo) -> ([Oxm; MAX_FIELDS], usize) {
        let mut fields = [Oxm::new(Field::InPort, 0); MAX_FIELDS];
        let mut count = 0;
        let mut put = |field, value: u128| {
            fields[count] = Oxm::new(field, value);
            count += 1;
        };
        let wide = |bytes: &[u8]| {
            bytes
                .iter()
                .fold(0, |all, &byte| all << 8 | u128::from(byte))
        };
        put(Field::InPort, in_port.0.into());
        put(Field::EthDst, wide(&self.destination.0));
        put(Field::EthSrc, wide(&self.source.0));
        put(Field::EthType, self.ethertype.into());
        match self.vlan {
            Some((id, priority)) => {
                put(Field::VlanVid, (id | VLAN_PRESENT).into());
                put(Field::VlanPcp, priority.into());
            }
            None => put(Field::VlanVid, 0),
        }
        let Some((from, to)) = self.ipv4 else {
            return (fields, count);
        };
        if self.ethertype == ethertype::ARP {
            put(Field::ArpOp, self.protocol.unwrap_or(0).into());
            put(Field::ArpSpa, wide(&from));
            put(Field::ArpTpa, wide(&to));
            return (fields, count);
        }
        let protocol = self.protocol.unwrap_or(0);
        put(Field::IpDscp, self.dscp.into());
        put(Field::IpProto, protocol.into());
        put(Field::Ipv4Src, wide(&from));
        put(Field::Ipv4Dst, wide(&to));
        let names = match protocol {
            6 => (Field::TcpSrc, Field::TcpDst),
            17 => (Field::UdpSrc, Field::UdpDst),
            1 => (Field::Icmpv4Type, Field::Icmpv4Code),
            _ => return (fields, count),
        };
        if let Some((source, destination)) = self.transport {
            put(names.0, source.into());
            put(names.1, destination.into());
        }
        (fields, count)
    }
}
