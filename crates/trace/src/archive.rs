//! A trace as records of [`warts`].
//!
//! The search is one record: a trace record if it followed one flow, else a multipath record. Each interface, and each silent hop, has
//! a ping record with all its probes, from the search and the rounds, so that loss and round trips equal those of
//! [`InterfaceStats`](crate::tracer::InterfaceStats). Its TTL leads to the interface, and its target is that of the trace.

mod multipath;

use crate::discovery::Algorithm;
use crate::labels::Label;
use crate::probe::{Answer, Message, Protocol, Quote};
use crate::tracer::{Sent, Trace};
use crate::warts::{
    self, Cycle, CycleParameters, CycleStop, Extension, Extensions, Hop, List, ListParameters,
    Ping, PingParameters, PingReply, Record, TooLong, TraceParameters,
};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;
use ip::header::{ICMP, ICMPV6, TCP};
use node::Time;

/// Number of the list and of the cycle in the file.
const NUMBER: u32 = 1;
/// Class and type of an object with an incoming label stack (RFC 4950 section 3).
const LABEL_STACK: (u8, u8) = (1, 1);

/// Data for an archive that the trace itself does not have.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// Unix time of the node's time 0.
    pub epoch: Duration,
    /// The node's time at the end.
    pub end: Time,
    /// Name of the host.
    pub host: &'a str,
}

/// An archive with the results of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    /// Its content.
    pub bytes: Vec<u8>,
    /// Number of links across silent hops that the multipath record cannot hold. The probes of silent hops are in ping records.
    pub omitted_links: usize,
}

/// Builds an archive with the results of a trace. It needs the [log](Trace::keep_log) of the trace.
///
/// # Errors
/// When an interface has had more than 65,535 probes.
pub fn file(trace: &Trace, about: &About<'_>) -> Result<File, TooLong> {
    let archive = Archive { trace, about };
    let mut file = File::default();
    let mut records = archive.opening();
    if !trace.log().is_empty() {
        records.push(match trace.config().algorithm {
            Algorithm::Paris => Record::Trace(archive.path()?),
            Algorithm::Mda | Algorithm::MdaLite => {
                let (paths, omitted) = archive.paths()?;
                file.omitted_links = omitted;
                Record::Multipath(paths)
            }
        });
    }
    for ((ttl, _), probes) in archive.by_vertex() {
        records.push(Record::Ping(archive.ping(ttl, &probes)?));
    }
    records.push(Record::CycleStop(CycleStop {
        cycle: NUMBER,
        stop: seconds(archive.since_1970(about.end)),
    }));
    for record in records {
        warts::write(&record, &mut file.bytes)?;
    }
    Ok(file)
}

fn seconds(time: Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
}

struct Archive<'a> {
    trace: &'a Trace,
    about: &'a About<'a>,
}

impl Archive<'_> {
    fn since_1970(&self, time: Time) -> Duration {
        self.about.epoch + Duration::from_nanos(time.as_ps() / 1000)
    }

    /// The list, and the start of the cycle.
    fn opening(&self) -> Vec<Record> {
        let list = List {
            number: NUMBER,
            id: 0,
            name: "wire trace".into(),
            parameters: ListParameters {
                monitor: Some(self.about.host.into()),
                ..ListParameters::default()
            },
        };
        let cycle = Cycle {
            is_start: true,
            number: NUMBER,
            list: NUMBER,
            id: 0,
            start: seconds(self.start()),
            parameters: CycleParameters {
                host: Some(self.about.host.into()),
                ..CycleParameters::default()
            },
        };
        [Record::List(list), Record::Cycle(cycle)].into()
    }

    fn start(&self) -> Duration {
        let first = self.trace.log().first();
        self.since_1970(first.map_or(self.about.end, |sent| sent.departed))
    }

    /// Probes that count for an interface, by TTL and vertex.
    fn by_vertex(&self) -> BTreeMap<(u8, usize), Vec<&Sent>> {
        let mut all: BTreeMap<(u8, usize), Vec<&Sent>> = BTreeMap::new();
        for sent in self.trace.log() {
            if let Some(vertex) = sent.vertex {
                all.entry((sent.probe.ttl, vertex)).or_default().push(sent);
            }
        }
        all
    }

    fn probe_size(&self) -> u16 {
        self.trace.prober().size() as u16
    }

    /// Source port of the first flow, or the identifier of ICMP.
    fn source_port(&self) -> u16 {
        let prober = self.trace.prober();
        match prober.protocol {
            Protocol::Icmp => prober.identifier,
            Protocol::Udp | Protocol::Tcp => prober.flow_field(0),
        }
    }

    /// Destination port, or the checksum of ICMP's first flow.
    fn target_port(&self) -> u16 {
        let prober = self.trace.prober();
        match prober.protocol {
            Protocol::Icmp => prober.flow_field(0),
            Protocol::Udp | Protocol::Tcp => prober.port,
        }
    }

    /// Seconds, rounded up.
    fn timeout(&self) -> u8 {
        let second = Time::from_secs(1).as_ps();
        let seconds = self.trace.config().timeout.as_ps().div_ceil(second);
        u8::try_from(seconds).unwrap_or(u8::MAX)
    }

    /// Hundredths of a second.
    fn interval(&self) -> u8 {
        let hundredths = self.trace.config().interval().as_ps() / Time::from_ms(10).as_ps();
        u8::try_from(hundredths).unwrap_or(u8::MAX)
    }

    /// The search as the path of one flow.
    fn path(&self) -> Result<warts::Trace, TooLong> {
        let (trace, config) = (self.trace, self.trace.config());
        let probes = trace.log().iter().filter(|sent| sent.is_discovery);
        let mut hops: Vec<Hop> = Vec::new();
        let (mut count, mut last) = (0, 0);
        for sent in probes {
            count += 1;
            last = last.max(sent.probe.ttl);
            if let Some((arrived, answer)) = &sent.answer {
                hops.push(self.hop(sent, *arrived, answer));
            }
        }
        hops.sort_by_key(|hop| (hop.probe_ttl, hop.attempt));
        let (stop_reason, stop_data) = self.end(last);
        let is_icmp = config.protocol == Protocol::Icmp;
        Ok(warts::Trace {
            parameters: TraceParameters {
                list: Some(NUMBER),
                cycle: Some(NUMBER),
                start: Some(self.start()),
                stop_reason: Some(stop_reason),
                stop_data: Some(stop_data),
                flags: Some(if is_icmp { 0x20 } else { 0 }),
                attempts: Some(u8::try_from(config.attempts).unwrap_or(u8::MAX)),
                max_hops: Some(config.max_hops),
                method: Some(match config.protocol {
                    Protocol::Icmp => 4,
                    Protocol::Udp => 5,
                    Protocol::Tcp => 3,
                }),
                probe_size: Some(self.probe_size()),
                source_port: Some(self.source_port()),
                target_port: Some(self.target_port()),
                first_hop: Some(config.first_hop),
                traffic_class: Some(0),
                wait_s: Some(self.timeout()),
                hop_count: Some(last.into()),
                gap: Some(config.gap),
                gap_action: Some(1),
                probes: Some(u16::try_from(count).map_err(|_| TooLong)?),
                interval_cs: Some(self.interval()),
                source: Some(config.source),
                target: Some(config.target),
                ..TraceParameters::default()
            },
            hops,
            skipped: 0,
        })
    }

    /// Reason for the end of a path after a hop.
    fn end(&self, last: u8) -> (u8, u8) {
        let (trace, config) = (self.trace, self.trace.config());
        let unreachable = trace.graph().hops().find_map(|(ttl, hop)| {
            let mut all = (0..hop.vertices.len()).map(|index| trace.interface_stats(ttl, index));
            all.find_map(|stats| stats.unreachable)
        });
        match (trace.is_reached(), unreachable) {
            (true, _) => (1, 0),
            (false, Some(code)) => (2, code),
            (false, None) if last >= config.max_hops => (7, 0),
            (false, None) => (5, config.gap),
        }
    }

    fn hop(&self, sent: &Sent, arrived: Time, answer: &Answer) -> Hop {
        let envelope = answer.envelope;
        let mut hop = Hop {
            probe_ttl: Some(sent.probe.ttl),
            reply_ttl: Some(envelope.ttl),
            attempt: Some(u8::try_from(sent.attempt).unwrap_or(u8::MAX)),
            rtt_us: Some(micros(arrived - sent.departed)),
            probe_size: Some(self.probe_size()),
            reply_size: Some(envelope.length),
            identification: envelope.identification,
            traffic_class: Some(envelope.traffic_class),
            address: Some(answer.from),
            sent: Some(self.since_1970(sent.departed)),
            ..Hop::default()
        };
        match envelope.message {
            Message::Tcp(flags) => {
                hop.flags = Some(0x10 | 0x20);
                hop.tcp_flags = Some(flags);
            }
            Message::Icmp(icmp, quote) => {
                hop.flags = Some(0x10);
                hop.icmp = Some(icmp);
                hop.extensions = extensions(answer);
                if let Some(quote) = quote {
                    let Quote {
                        ttl,
                        traffic_class,
                        length,
                    } = quote;
                    hop.quoted_ttl = Some(ttl);
                    hop.quoted_class = Some(traffic_class);
                    hop.quoted_length = Some(length);
                }
            }
        }
        hop
    }

    /// The probes of one interface.
    fn ping(&self, ttl: u8, probes: &[&Sent]) -> Result<Ping, TooLong> {
        let config = self.trace.config();
        let count = u16::try_from(probes.len()).map_err(|_| TooLong)?;
        let start = probes.first().map(|sent| self.since_1970(sent.departed));
        let replies = probes.iter().enumerate().filter_map(|(number, sent)| {
            let (arrived, answer) = sent.answer.as_ref()?;
            Some(self.ping_reply(number as u16, sent, *arrived, answer))
        });
        Ok(Ping {
            parameters: PingParameters {
                list: Some(NUMBER),
                cycle: Some(NUMBER),
                start,
                stop_reason: Some(1),
                stop_data: Some(0),
                probes: Some(count),
                probe_size: Some(self.probe_size()),
                ttl: Some(ttl),
                sent: Some(count),
                method: Some(match config.protocol {
                    Protocol::Icmp => 0,
                    Protocol::Udp => 3,
                    Protocol::Tcp => 6,
                }),
                source_port: Some(self.source_port()),
                target_port: Some(match config.protocol {
                    Protocol::Icmp => probes.first().map_or(0, |sent| sent.number),
                    Protocol::Udp | Protocol::Tcp => self.target_port(),
                }),
                source: Some(config.source),
                target: Some(config.target),
                timeout_s: Some(self.timeout()),
                ..PingParameters::default()
            },
            replies: replies.collect(),
        })
    }

    fn ping_reply(&self, number: u16, sent: &Sent, arrived: Time, answer: &Answer) -> PingReply {
        let envelope = answer.envelope;
        let is_v4 = answer.from.is_ipv4();
        let (icmp, tcp_flags, protocol) = match envelope.message {
            Message::Tcp(flags) => (None, Some(flags), TCP),
            Message::Icmp(icmp, _) => (Some(icmp), None, if is_v4 { ICMP } else { ICMPV6 }),
        };
        PingReply {
            flags: Some(if is_v4 { 0x07 } else { 0x01 }),
            ttl: Some(envelope.ttl),
            size: Some(envelope.length),
            icmp,
            rtt_us: Some(micros(arrived - sent.departed)),
            probe: Some(number),
            identification: envelope.identification,
            probe_identification: is_v4.then_some(sent.number),
            protocol: Some(protocol),
            tcp_flags,
            address: Some(answer.from),
            sent: Some(self.since_1970(sent.departed)),
            ..PingReply::default()
        }
    }
}

/// A round trip, cut to microseconds.
fn micros(time: Time) -> u32 {
    u32::try_from(time.as_ps() / 1_000_000).unwrap_or(u32::MAX)
}

/// The label stack of an answer as an object of ICMP.
fn extensions(answer: &Answer) -> Option<Extensions> {
    let labels = answer.labels.entries();
    if labels.is_empty() {
        return None;
    }
    let last = labels.len() - 1;
    let words = labels.iter().enumerate().map(|(place, one)| {
        let Label { label, class, ttl } = *one;
        let bottom = u32::from(place == last);
        label << 12 | u32::from(class) << 9 | bottom << 8 | u32::from(ttl)
    });
    let (class, kind) = LABEL_STACK;
    Some(Extensions(
        [Extension {
            class,
            kind,
            data: words.flat_map(u32::to_be_bytes).collect(),
        }]
        .into(),
    ))
}
