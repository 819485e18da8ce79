//! The headers of a packet, as far as an entry of both versions can match them.

use crate::oxm::{Field, Oxm, VLAN_PRESENT};
use crate::port::PortNo;
use packet::ethernet::{Mac, ethertype};

/// The most fields that [`Headers::fields`] gives.
pub const MOST_FIELDS: usize = 12;

/// The headers of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// Destination.
    pub destination: Mac,
    /// Source.
    pub source: Mac,
    /// EtherType, behind a VLAN tag.
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

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..at + 2)?;
    Some(u16::from_be_bytes([two[0], two[1]]))
}

impl Headers {
    /// Reads the front of a packet; `None` if it has no whole Ethernet header.
    pub fn read(data: &[u8]) -> Option<Headers> {
        let front: &[u8; 14] = data.first_chunk()?;
        let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, high, low] = *front;
        let mut headers = Headers {
            destination: Mac([d0, d1, d2, d3, d4, d5]),
            source: Mac([s0, s1, s2, s3, s4, s5]),
            ethertype: u16::from_be_bytes([high, low]),
            payload: 14,
            ..Headers::default()
        };
        if headers.ethertype == ethertype::VLAN {
            let tag = u16_at(data, 14)?;
            headers.vlan = Some((tag & 0xfff, (tag >> 13) as u8));
            headers.ethertype = u16_at(data, 16)?;
            headers.payload = 18;
        }
        let body = &data[headers.payload..];
        match headers.ethertype {
            ethertype::IPV4 => headers.ipv4(body),
            ethertype::ARP => headers.arp(body),
            _ => {}
        }
        Some(headers)
    }

    fn ipv4(&mut self, body: &[u8]) {
        let Some(front) = body.first_chunk::<20>() else {
            return;
        };
        let [version, tos, .., p0, p1, _, _] = *front;
        let _ = (p0, p1);
        let words = usize::from(version & 15);
        if version >> 4 != 4 || words < 5 {
            return;
        }
        let address = |at: usize| [front[at], front[at + 1], front[at + 2], front[at + 3]];
        self.ipv4 = Some((address(12), address(16)));
        self.protocol = Some(front[9]);
        self.dscp = tos >> 2;
        let later = u16::from_be_bytes([front[6], front[7]]) & 0x1fff != 0;
        let behind = body.get(words * 4..).filter(|_| !later);
        self.transport = behind.and_then(|behind| match front[9] {
            6 | 17 => Some((u16_at(behind, 0)?, u16_at(behind, 2)?)),
            1 => Some(((*behind.first()?).into(), (*behind.get(1)?).into())),
            _ => None,
        });
    }

    fn arp(&mut self, body: &[u8]) {
        if let Ok(arp) = packet::arp::Arp::parse(body) {
            self.ipv4 = Some((arp.sender.octets(), arp.target.octets()));
            self.protocol = u16_at(body, 6).and_then(|operation| operation.try_into().ok());
        }
    }

    /// An entry that matches packets with just these headers and this port, in a form that both versions have, and
    /// how many fields it has.
    pub fn fields(&self, in_port: PortNo) -> ([Oxm; MOST_FIELDS], usize) {
        let mut fields = [Oxm::new(Field::InPort, 0); MOST_FIELDS];
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
