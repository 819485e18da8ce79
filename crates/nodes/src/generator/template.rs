//! The headers of made frames, built once; per frame only what differs is written.

use super::{Config, Payload};
use crate::wire;
use alloc::vec::Vec;
use core::net::IpAddr;
use measure::probe::{self, Probe};
use node::ConfigError;
use node::{Frame, Time};
use packet::checksum::Sum;
use packet::ethernet::ethertype;
use packet::ipv4::protocol;

/// Ethernet, perhaps a VLAN tag, IPv4 or IPv6, and UDP.
#[derive(Clone, Debug)]
pub(super) struct Template {
    headers: Vec<u8>,
    ip: usize,
    udp: usize,
    is_v4: bool,
    /// Sum over the IPv4 header but for its length.
    ip_sum: Sum,
    /// Sum over pseudo-header and UDP header but for lengths and source port.
    udp_sum: Sum,
    udp_source: u16,
    flows: u16,
    stream: u16,
    probe: bool,
    payload: Payload,
    seed: u64,
}

impl Template {
    pub(super) fn new(config: &Config) -> Result<Template, ConfigError> {
        if config.flows == 0 {
            return Err(ConfigError::new("flows", "there is at least 1 flow"));
        }
        let mut headers = Vec::new();
        headers.extend_from_slice(&config.destination.0);
        headers.extend_from_slice(&config.source.0);
        if let Some(vlan) = config.vlan {
            if !(1..=4094).contains(&vlan) {
                return Err(ConfigError::new("vlan", "a VLAN is 1 to 4094"));
            }
            if config.priority > 7 {
                return Err(ConfigError::new("priority", "a priority is 0 to 7"));
            }
            headers.extend_from_slice(&wire::TPID_CUSTOMER.to_be_bytes());
            headers.extend_from_slice(&(u16::from(config.priority) << 13 | vlan).to_be_bytes());
        }
        let ip = headers.len() + 2;
        let ttl = config.ttl;
        let (is_v4, addresses) = match (config.ip_source, config.ip_destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                headers.extend_from_slice(&ethertype::IPV4.to_be_bytes());
                // Version and header length; identification 0 and "do not fragment"; no checksum yet.
                headers.extend_from_slice(&[
                    0x45,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0x40,
                    0,
                    ttl,
                    protocol::UDP,
                    0,
                    0,
                ]);
                headers.extend_from_slice(&source.octets());
                headers.extend_from_slice(&destination.octets());
                (true, ip + 12)
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                headers.extend_from_slice(&ethertype::IPV6.to_be_bytes());
                headers.extend_from_slice(&[0x60, 0, 0, 0, 0, 0, protocol::UDP, ttl]);
                headers.extend_from_slice(&source.octets());
                headers.extend_from_slice(&destination.octets());
                (false, ip + 8)
            }
            _ => {
                let reason = "ip_source and ip_destination must be of one version";
                return Err(ConfigError::new("ip_destination", reason));
            }
        };
        let udp = headers.len();
        headers.extend_from_slice(&[0, 0]);
        headers.extend_from_slice(&config.udp_destination.to_be_bytes());
        headers.extend_from_slice(&[0; 4]);
        Ok(Template {
            ip_sum: Sum::default().plus(&headers[ip..udp]),
            udp_sum: Sum::default()
                .plus(&headers[addresses..])
                .plus(&[0, protocol::UDP]),
            headers,
            ip,
            udp,
            is_v4,
            udp_source: config.udp_source,
            flows: config.flows,
            stream: config.stream,
            probe: config.probe,
            payload: config.payload.checked()?,
            seed: config.seed,
        })
    }

    /// Bytes of the shortest frame, without FCS: what must fit, and what Ethernet wants.
    pub(super) fn shortest(&self) -> usize {
        let payload = if self.probe { probe::LEN } else { 0 };
        (self.headers.len() + payload).max(node::link::MIN_WIRE_FRAME_LEN)
    }

    /// Makes the frame with this index, `len` bytes without FCS, into an empty one.
    pub(super) fn fill(&self, frame: &mut Frame, len: usize, index: u64, departure: Time) {
        frame.extend(&self.headers);
        let payload = if self.probe {
            Probe {
                stream: self.stream,
                sequence: index as u32,
                departure,
            }
            .to_bytes()
        } else {
            [0; probe::LEN]
        };
        if self.probe {
            frame.extend(&payload);
        }
        frame.resize(len);

        let mut write = |at: usize, value: u16| {
            frame[at..at + 2].copy_from_slice(&value.to_be_bytes());
        };
        let source = self
            .udp_source
            .wrapping_add((index % u64::from(self.flows)) as u16);
        let udp_len = (len - self.udp) as u16;
        write(self.udp, source);
        write(self.udp + 4, udp_len);
        // All that the sum lacks, in one piece. The length counts twice, in the header and in the
        // pseudo-header.
        let mut rest = [0; 6 + probe::LEN];
        for (place, value) in rest.chunks_exact_mut(2).zip([source, udp_len, udp_len]) {
            place.copy_from_slice(&value.to_be_bytes());
        }
        rest[6..].copy_from_slice(&payload);
        let mut sum = self.udp_sum.plus(&rest);
        if self.payload != Payload::Zeros {
            let behind = self.headers.len() + if self.probe { probe::LEN } else { 0 };
            let zeros = &mut frame[behind..];
            self.payload.fill(zeros, self.seed, index);
            sum = sum.plus(zeros);
        }
        frame[self.udp + 6..self.udp + 8].copy_from_slice(&sum.udp_checksum().to_be_bytes());
        let mut write = |at: usize, value: u16| {
            frame[at..at + 2].copy_from_slice(&value.to_be_bytes());
        };
        if self.is_v4 {
            let ip_len = (len - self.ip) as u16;
            write(self.ip + 2, ip_len);
            let sum = self.ip_sum.plus(&ip_len.to_be_bytes());
            write(self.ip + 10, sum.checksum());
        } else {
            write(self.ip + 4, udp_len);
        }
    }

    #[cfg(test)]
    pub(super) fn udp_start(&self) -> usize {
        self.udp + 8
    }
}
