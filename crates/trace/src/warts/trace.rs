//! A trace of one flow.

use super::fields::{Extensions, Global, Name, resolve};
use super::parameters::{Field, Flaw, Input, Output, TooLong, parameters};
use alloc::vec::Vec;
use core::net::IpAddr;
use core::time::Duration;

/// The path of one flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Its settings and outcome.
    pub parameters: TraceParameters,
    /// Answers, in the order of hops and attempts.
    pub hops: Vec<Hop>,
    /// Number of attributes after the hops, which are not read, nor written.
    pub skipped: u32,
}

parameters! {
    /// Settings and outcome of a trace.
    TraceParameters {
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
        /// Reason of the end: 1 the target has answered, 2 it was unreachable, 5 too many silent hops, 7 the last hop.
        6 stop_reason: u8,
        /// More about the reason, as the code of an ICMP message.
        7 stop_data: u8,
        /// Flags; 0x20: the checksum of ICMP probes is in `target_port`.
        8 flags: u8,
        /// Maximum number of probes to a hop.
        9 attempts: u8,
        /// TTL of the last hop.
        10 max_hops: u8,
        /// Probes: 1 ICMP, 2 UDP, 3 TCP, 4 ICMP of one flow, 5 UDP of one flow, 6 TCP acknowledgements.
        11 method: u8,
        /// Bytes of a probe.
        12 probe_size: u16,
        /// Source port, or the identifier of ICMP.
        13 source_port: u16,
        /// Destination port.
        14 target_port: u16,
        /// TTL of the first hop.
        15 first_hop: u8,
        /// Traffic class of probes.
        16 traffic_class: u8,
        /// Time to wait for an answer, s.
        17 wait_s: u8,
        /// Number of loops after which the trace ends.
        18 loops: u8,
        /// TTL of the last hop that was probed.
        19 hop_count: u16,
        /// Silent hops in a row after which the trace ends.
        20 gap: u8,
        /// Action at the gap limit.
        21 gap_action: u8,
        /// Action at a loop.
        22 loop_action: u8,
        /// Number of probes sent.
        23 probes: u16,
        /// Time between two probes, in hundredths of a second.
        24 interval_cs: u8,
        /// Confidence that all interfaces of a hop were found, percent.
        25 confidence: u8,
        /// Address of the source.
        26 source: IpAddr,
        /// Address of the target.
        27 target: IpAddr,
        /// Number chosen by the user.
        28 user: u32,
        /// Offset of fragments.
        29 offset: u16,
        /// Router that probes were sent to.
        30 router: IpAddr,
        /// Number of hops that are probed at the same time.
        31 parallel_hops: u8,
        /// All flags, if there are more than eight.
        32 all_flags: u32,
        /// Hop at which the trace ended.
        33 stop_hop: u8,
        /// Error message.
        34 error: Name,
    }
}

parameters! {
    /// An answer to a trace.
    Hop {
        /// Old form of `address`.
        1 reference: Global,
        /// TTL of the probe.
        2 probe_ttl: u8,
        /// TTL of the answer.
        3 reply_ttl: u8,
        /// Flags: 0x01 timestamp from the socket, 0x10 the answer's TTL is known, 0x20 TCP.
        4 flags: u8,
        /// Number of probes sent to this hop before this one.
        5 attempt: u8,
        /// Round trip, us.
        6 rtt_us: u32,
        /// Type and code of ICMP.
        7 icmp: [u8; 2],
        /// Bytes of the probe.
        8 probe_size: u16,
        /// Bytes of the answer.
        9 reply_size: u16,
        /// Identification of the answer.
        10 identification: u16,
        /// Traffic class of the answer.
        11 traffic_class: u8,
        /// MTU of the next hop, bytes.
        12 mtu: u16,
        /// Bytes of the probe, as the answer quotes it.
        13 quoted_length: u16,
        /// TTL of the probe, as the answer quotes it.
        14 quoted_ttl: u8,
        /// Flags of TCP.
        15 tcp_flags: u8,
        /// Traffic class of the probe, as the answer quotes it.
        16 quoted_class: u8,
        /// Extensions of ICMP.
        17 extensions: Extensions,
        /// Source of the answer.
        18 address: IpAddr,
        /// Time at which the probe left.
        19 sent: Duration,
        /// Name of the address.
        20 name: Name,
    }
}

impl Trace {
    pub(super) fn read(input: &mut Input<'_>) -> Result<Trace, Flaw> {
        let mut parameters = TraceParameters::read(input)?;
        resolve(&mut parameters.source_reference, &mut parameters.source);
        resolve(&mut parameters.target_reference, &mut parameters.target);
        let count = u16::read(input)?;
        let mut hops = Vec::new();
        for _ in 0..count {
            let mut hop = Hop::read(input)?;
            resolve(&mut hop.reference, &mut hop.address);
            hops.push(hop);
        }
        // Attributes have a type in four bits and a length in twelve; the last is zero.
        let mut skipped = 0;
        while let attribute @ 1.. = u16::read(input)? {
            input.take(usize::from(attribute & 0xFFF))?;
            skipped += 1;
        }
        Ok(Trace {
            parameters,
            hops,
            skipped,
        })
    }

    pub(super) fn write(&self, out: &mut Output) -> Result<(), TooLong> {
        self.parameters.write(out)?;
        out.count(self.hops.len())?;
        self.hops.iter().try_for_each(|hop| hop.write(out))?;
        out.count(0)
    }
}
