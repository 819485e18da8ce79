//! Reading answers.

use super::envelope::Envelope;
use super::{Prober, Protocol};
use crate::graph::Flow;
use crate::labels::Labels;
use core::net::IpAddr;
use ip::header::{ICMP, ICMPV6, Packet, TCP};
use ip::icmp::{self, Report};

/// Type of time exceeded, of IPv4 and of IPv6.
const TIME_EXCEEDED: [u8; 2] = [11, 3];
/// Type of destination unreachable.
const UNREACHABLE: [u8; 2] = [3, 1];
/// Code of port unreachable.
const CLOSED_PORT: [u8; 2] = [3, 4];
const ICMP_HEADER: usize = 8;
const RST: u8 = 4;
const SYN_ACK: u8 = 0x12;

/// Meaning of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The probe's TTL was used up.
    TimeExceeded,
    /// The target has answered.
    Target,
    /// The target cannot be reached; the code of the ICMP message.
    Unreachable(u8),
}

/// An answer that fits a probe of this trace, which may or may not have been sent.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// Source of the answer.
    pub from: IpAddr,
    /// Its meaning.
    pub kind: Kind,
    /// Number of the probe.
    pub number: u16,
    /// The number by IPv4's identification, if the answer quotes it.
    pub second_number: Option<u16>,
    /// Flow of the probe, if the answer shows it.
    pub flow: Option<Flow>,
    /// Labels with which the probe arrived at the router.
    pub labels: Labels,
    /// Its headers.
    pub envelope: Envelope,
}

impl Prober {
    /// Reads a packet for the source, whose checksums are right; `None` when it answers no probe of this trace.
    pub fn read(&self, frame: &[u8], packet: &Packet) -> Option<Answer> {
        if packet.destination != self.source {
            return None;
        }
        let (kind, number, flow) = match packet.protocol {
            ICMP | ICMPV6 => match icmp::echo_reply(frame, packet) {
                Some((identifier, number)) => {
                    let ours = self.protocol == Protocol::Icmp && identifier == self.identifier;
                    (ours && packet.source == self.target).then_some((Kind::Target, number, None))
                }
                None => return self.read_error(frame, packet),
            },
            TCP if self.protocol == Protocol::Tcp && packet.source == self.target => {
                self.read_segment(frame.get(packet.payload..packet.end)?)
            }
            _ => None,
        }?;
        Some(Answer {
            from: packet.source,
            kind,
            number,
            second_number: None,
            flow,
            labels: Labels::default(),
            envelope: Envelope::read(frame, packet, false)?,
        })
    }

    /// SYN and ACK of an open port, or the reset of a closed one; both acknowledge the SYN.
    fn read_segment(&self, segment: &[u8]) -> Option<(Kind, u16, Option<Flow>)> {
        let header = segment.first_chunk::<20>()?;
        let [from, to] = [0, 2].map(|at| u16::from_be_bytes([header[at], header[at + 1]]));
        let acknowledged = u32::from_be_bytes([header[8], header[9], header[10], header[11]]);
        let number = self.number_of_sequence(acknowledged.wrapping_sub(1))?;
        let answers = header[13] & RST != 0 || header[13] & SYN_ACK == SYN_ACK;
        (answers && from == self.port).then(|| (Kind::Target, number, Some(self.flow_of_port(to))))
    }

    fn read_error(&self, frame: &[u8], packet: &Packet) -> Option<Answer> {
        let report = Report::read(frame, packet)?;
        let is_ours = report.source == self.source
            && report.destination == self.target
            && report.protocol == self.number_of_protocol();
        if !is_ours {
            return None;
        }
        let version = usize::from(!self.source.is_ipv4());
        let [kind, code] = report.kind;
        let kind = if kind == TIME_EXCEEDED[version] && code == 0 {
            Kind::TimeExceeded
        } else if kind != UNREACHABLE[version] {
            return None;
        } else if code == CLOSED_PORT[version] && packet.source == self.target {
            Kind::Target
        } else {
            Kind::Unreachable(code)
        };
        let word = |at: usize| u16::from_be_bytes([report.begin[at], report.begin[at + 1]]);
        let (number, flow) = match self.protocol {
            Protocol::Udp => (word(6), self.flow_of_port(word(0))),
            Protocol::Tcp => {
                let sequence = u32::from(word(4)) << 16 | u32::from(word(6));
                let number = self.number_of_sequence(sequence)?;
                (number, self.flow_of_port(word(0)))
            }
            Protocol::Icmp if word(4) == self.identifier => {
                (word(6), self.flow_of_checksum(word(2)))
            }
            Protocol::Icmp => return None,
        };
        let message = &frame[packet.payload..packet.end];
        let identification = message.get(ICMP_HEADER + 4..ICMP_HEADER + 6);
        let identification = identification.filter(|_| self.source.is_ipv4());
        Some(Answer {
            from: packet.source,
            kind,
            number,
            second_number: identification.map(|two| u16::from_be_bytes([two[0], two[1]])),
            flow: Some(flow),
            labels: Labels::read(message, self.source.is_ipv4()),
            envelope: Envelope::read(frame, packet, true)?,
        })
    }
}
