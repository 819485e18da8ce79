//! Probes and their answers.
//!
//! A load balancer chooses by addresses, protocol and ports, some by the first four bytes of the payload of any protocol. Those
//! are the same in all probes of a flow (Augustin et al., IMC 2006, section 3.1). The number of a probe is elsewhere:
//!
//! | protocol | flow | number |
//! |---|---|---|
//! | UDP | source port | checksum; two bytes of data make it right |
//! | TCP | source port | low half of the sequence number |
//! | ICMP | checksum; two bytes of data make it right | sequence number |
//!
//! IPv4 carries the number in its identification, too, in case a NAT has changed the checksum. IPv6 carries the flow in the
//! flow label, too.

mod answer;
mod envelope;

pub use answer::{Answer, Kind};
pub use envelope::{Envelope, Message, Quote};

use crate::graph::Flow;
use core::net::IpAddr;
use ip::header::{self, ETHERNET, ICMP, ICMPV6, TCP, UDP, UDP_HEADER};
use node::Frame;
use packet::checksum::{Sum, checksum};

/// Largest number of a probe; the smallest is 1. A UDP checksum of 0 stands for none, and 0xFFFF is its equal.
pub const MAX_NUMBER: u16 = 0xFFFE;
/// Bytes of data after the header of UDP and ICMP.
const DATA: usize = 2;
const TCP_HEADER: usize = 20;
const SYN: u8 = 2;

/// Protocol of probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Protocol {
    /// UDP datagrams to a port that is likely to be closed.
    #[default]
    Udp,
    /// TCP segments with SYN.
    Tcp,
    /// ICMP or ICMPv6 echo requests.
    Icmp,
}

/// Builds the probes of a trace, and reads their answers.
#[derive(Clone, Copy, Debug)]
pub struct Prober {
    /// Address of the source.
    pub source: IpAddr,
    /// Address of the target, of the same version.
    pub target: IpAddr,
    /// Protocol of probes.
    pub protocol: Protocol,
    /// Distinguishes traces of one host.
    pub identifier: u16,
    /// Destination port.
    pub port: u16,
}

impl Prober {
    /// Fills an empty frame with a probe, whose MAC addresses are left; `number` is from 1 to [`MAX_NUMBER`].
    pub fn build(&self, flow: Flow, ttl: u8, number: u16, frame: &mut Frame) {
        let at = ETHERNET + header::length(self.source);
        let size = self.message_size();
        frame.resize(at + size);
        frame.fill(0);
        header::write(frame, self.source, self.target, self.number_of_protocol());
        self.finish_header(flow, ttl, number, frame);
        match self.protocol {
            Protocol::Udp => {
                frame[at + 4..at + 6].copy_from_slice(&(size as u16).to_be_bytes());
                self.write_ports(flow, &mut frame[at..]);
                self.balance(number, 6, &mut frame[at..]);
            }
            Protocol::Icmp => {
                frame[at] = if self.source.is_ipv4() { 8 } else { 128 };
                frame[at + 4..at + 6].copy_from_slice(&self.identifier.to_be_bytes());
                frame[at + 6..at + 8].copy_from_slice(&number.to_be_bytes());
                self.balance(self.checksum_of(flow), 2, &mut frame[at..]);
            }
            Protocol::Tcp => {
                let sequence = self.sequence(number);
                let segment = &mut frame[at..];
                segment[4..8].copy_from_slice(&sequence.to_be_bytes());
                segment[12..14].copy_from_slice(&[0x50, SYN]);
                segment[14..16].copy_from_slice(&0xFFFF_u16.to_be_bytes());
                self.write_ports(flow, segment);
                let sum = self.sum(segment).checksum();
                segment[16..18].copy_from_slice(&sum.to_be_bytes());
            }
        }
    }

    fn finish_header(&self, flow: Flow, ttl: u8, number: u16, frame: &mut Frame) {
        let ip = &mut frame[ETHERNET..];
        if self.source.is_ipv4() {
            ip[4..6].copy_from_slice(&number.to_be_bytes());
            ip[8] = ttl;
            ip[10..12].fill(0);
            let sum = checksum(&ip[..20]);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
        } else {
            ip[2..4].copy_from_slice(&self.checksum_of(flow).to_be_bytes());
            ip[7] = ttl;
        }
    }

    fn write_ports(&self, flow: Flow, segment: &mut [u8]) {
        segment[..2].copy_from_slice(&self.source_port(flow).to_be_bytes());
        segment[2..4].copy_from_slice(&self.port.to_be_bytes());
    }

    /// Sets the checksum at `place`, and the last two bytes so that it is right.
    fn balance(&self, sum: u16, place: usize, message: &mut [u8]) {
        message[place..place + 2].copy_from_slice(&sum.to_be_bytes());
        let data = message.len() - DATA;
        let rest = self.sum(message).checksum();
        message[data..].copy_from_slice(&rest.to_be_bytes());
    }

    fn sum(&self, message: &[u8]) -> Sum {
        let sum = match self.number_of_protocol() {
            ICMP => Sum::default(),
            protocol => header::pseudo(self.source, self.target, protocol).sum(message.len()),
        };
        sum.plus(message)
    }

    /// Bytes of a probe from the IP header on.
    pub fn size(&self) -> usize {
        header::length(self.source) + self.message_size()
    }

    fn message_size(&self) -> usize {
        match self.protocol {
            Protocol::Tcp => TCP_HEADER,
            Protocol::Udp | Protocol::Icmp => UDP_HEADER + DATA,
        }
    }

    /// Value of the field that identifies a flow: the source port, or the ICMP checksum.
    pub fn flow_field(&self, flow: Flow) -> u16 {
        match self.protocol {
            Protocol::Udp | Protocol::Tcp => self.source_port(flow),
            Protocol::Icmp => self.checksum_of(flow),
        }
    }

    fn number_of_protocol(&self) -> u8 {
        match (self.protocol, self.source) {
            (Protocol::Udp, _) => UDP,
            (Protocol::Tcp, _) => TCP,
            (Protocol::Icmp, IpAddr::V4(_)) => ICMP,
            (Protocol::Icmp, IpAddr::V6(_)) => ICMPV6,
        }
    }

    /// From 32768 on, with room for all flows.
    fn source_port(&self, flow: Flow) -> u16 {
        (0x8000 + self.identifier % 0x4000) + flow
    }

    fn flow_of_port(&self, port: u16) -> Flow {
        port.wrapping_sub(self.source_port(0))
    }

    /// Never 0 nor 0xFFFF, as there are fewer flows than that.
    fn checksum_of(&self, flow: Flow) -> u16 {
        0x4000 + self.identifier % 0x4000 + flow
    }

    fn flow_of_checksum(&self, sum: u16) -> Flow {
        sum.wrapping_sub(self.checksum_of(0))
    }

    fn sequence(&self, number: u16) -> u32 {
        u32::from(self.identifier) << 16 | u32::from(number)
    }

    /// The number in a sequence number of this trace.
    fn number_of_sequence(&self, sequence: u32) -> Option<u16> {
        ((sequence >> 16) as u16 == self.identifier).then_some(sequence as u16)
    }
}

#[cfg(test)]
mod tests;
