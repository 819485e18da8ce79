//! Round trips of a series of probes.

use super::fields::{Data, Global, Length, Name, Stamps, resolve};
use super::parameters::{Field, Flaw, Input, Output, TooLong, parameters};
use alloc::vec::Vec;
use core::net::IpAddr;
use core::time::Duration;

/// A series of probes, and the answers to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ping {
    /// Its settings and outcome.
    pub parameters: PingParameters,
    /// Answers, in the order of probes.
    pub replies: Vec<PingReply>,
}

parameters! {
    /// Settings and outcome of a series of probes.
    PingParameters {
        /// Number of its list in the file.
        1 list: u32,
        /// Number of its cycle in the file.
        2 cycle: u32,
        /// Old form of `source`.
        3 source_reference: Global,
        /// Old form of `target`.
        4 target_reference: Global,
        /// Time of the start.
        5 start: Duration,
        /// Reason of the end: 1 all probes were sent.
        6 stop_reason: u8,
        /// More about the reason.
        7 stop_data: u8,
        /// Bytes of `data`.
        8 data_length: Length,
        /// Data of probes.
        9 data: Data,
        /// Number of probes that were asked for.
        10 probes: u16,
        /// Bytes of a probe.
        11 probe_size: u16,
        /// Time between probes, s.
        12 interval_s: u8,
        /// TTL of probes.
        13 ttl: u8,
        /// Number of answers after which the series ends.
        14 wanted_replies: u16,
        /// Number of probes sent.
        15 sent: u16,
        /// Probes: 0 ICMP, 3 UDP, 6 TCP with SYN.
        16 method: u8,
        /// Source port, or the identifier of ICMP.
        17 source_port: u16,
        /// Destination port, or the first sequence number of ICMP.
        18 target_port: u16,
        /// Number chosen by the user.
        19 user: u32,
        /// Address of the source.
        20 source: IpAddr,
        /// Address of the target.
        21 target: IpAddr,
        /// Flags.
        22 flags: u8,
        /// Traffic class of probes.
        23 traffic_class: u8,
        /// Addresses of which timestamps are requested.
        24 stamping: Vec<IpAddr>,
        /// Checksum of ICMP probes.
        25 checksum: u16,
        /// MTU that is answered with.
        26 mtu: u16,
        /// Time to wait for an answer, s.
        27 timeout_s: u8,
        /// Time between probes, us, in addition to `interval_s`.
        28 interval_us: u32,
        /// Acknowledgement of TCP.
        29 acknowledgement: u32,
        /// All flags, if there are more than eight.
        30 all_flags: u32,
        /// Sequence number of TCP.
        31 sequence: u32,
        /// Router that probes were sent to.
        32 router: IpAddr,
        /// Time to wait for an answer, us, in addition to `timeout_s`.
        33 timeout_us: u32,
        /// Error message.
        34 error: Name,
    }
}

parameters! {
    /// An answer to a probe.
    PingReply {
        /// Old form of `address`.
        1 reference: Global,
        /// Flags: 0x01 the answer's TTL is known, 0x02 its identification, 0x04 the probe's identification.
        2 flags: u8,
        /// TTL of the answer.
        3 ttl: u8,
        /// Bytes of the answer.
        4 size: u16,
        /// Type and code of ICMP.
        5 icmp: [u8; 2],
        /// Round trip, us.
        6 rtt_us: u32,
        /// Number of the probe, from 0.
        7 probe: u16,
        /// Identification of the answer.
        8 identification: u16,
        /// Identification of the probe.
        9 probe_identification: u16,
        /// Protocol of the answer.
        10 protocol: u8,
        /// Flags of TCP.
        11 tcp_flags: u8,
        /// Source of the answer.
        12 address: IpAddr,
        /// Addresses that IPv4's option has recorded.
        13 route: Vec<IpAddr>,
        /// Timestamps that IPv4's option has recorded.
        14 stamps: Stamps,
        /// Identification of a fragment of IPv6.
        15 fragment: u32,
        /// Time at which the probe left.
        16 sent: Duration,
        /// The three times of an ICMP timestamp reply.
        17 timestamps: [u8; 12],
        /// Source port of the probe.
        18 source_port: u16,
        /// Traffic class of the answer.
        19 traffic_class: u8,
    }
}

impl Ping {
    pub(super) fn read(input: &mut Input<'_>) -> Result<Ping, Flaw> {
        let mut parameters = PingParameters::read(input)?;
        resolve(&mut parameters.source_reference, &mut parameters.source);
        resolve(&mut parameters.target_reference, &mut parameters.target);
        let count = u16::read(input)?;
        let mut replies = Vec::new();
        for _ in 0..count {
            let mut reply = PingReply::read(input)?;
            resolve(&mut reply.reference, &mut reply.address);
            replies.push(reply);
        }
        Ok(Ping {
            parameters,
            replies,
        })
    }

    pub(super) fn write(&self, out: &mut Output) -> Result<(), TooLong> {
        self.parameters.write(out)?;
        out.count(self.replies.len())?;
        self.replies.iter().try_for_each(|one| one.write(out))
    }
}
