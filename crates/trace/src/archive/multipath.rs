//! The search for all paths as nodes and links.

use super::{Archive, NUMBER, extensions};
use crate::graph::Outcome;
use crate::probe::{Answer, Message, Protocol};
use crate::tracer::Sent;
use crate::warts::{
    Link, LinkParameters, Multipath, MultipathParameters, Node, Probe, ProbeParameters, Reply,
    TooLong,
};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use core::net::IpAddr;
use node::Time;

/// Hops of a link between neighbours.
const DIRECT: usize = 1;
/// Maximum number of probes in the record's settings; the search has no such limit.
const MAX_PROBES: u32 = u32::MAX;

/// Links by the numbers of their first and second node, and the hops between them. A link without a second node leads to silent
/// hops only.
type Links = BTreeMap<(usize, Option<usize>, usize), Shown>;

/// Probes that show a link, by TTL and flow, for each hop after its beginning.
#[derive(Default)]
struct Shown(Vec<BTreeSet<(u8, u16)>>);

impl Archive<'_> {
    /// Nodes, links and their probes; and the number of links that the format cannot hold.
    pub(super) fn paths(&self) -> Result<(Multipath, usize), TooLong> {
        let config = self.trace.config();
        let probes = self.trace.log().iter().filter(|sent| sent.is_discovery);
        let numbers = self.numbers();
        let mut nodes = self.nodes(&numbers);
        let mut found = self.links(&numbers);
        let omitted = keep_what_scamper_knows(&mut found);
        let number = |node: usize| u16::try_from(node).map_err(|_| TooLong);
        let mut links = Vec::new();
        let by_flow = self.by_flow();
        for ((from, to, _), Shown(hops)) in found {
            let count = &mut nodes[from].link_count;
            *count = Some(count.unwrap_or(0).checked_add(1).ok_or(TooLong)?);
            let probes = hops.iter().map(|hop| {
                let sent = hop.iter().filter_map(|place| by_flow.get(place));
                let mut sent: Vec<&Sent> = sent.flatten().copied().collect();
                sent.sort_by_key(|sent| sent.departed);
                sent.into_iter().map(|sent| self.probe(sent)).collect()
            });
            links.push(Link {
                parameters: LinkParameters {
                    from: Some(number(from)?),
                    to: to.map(number).transpose()?,
                    hop_count: None,
                },
                hops: probes.collect(),
            });
        }
        let certain = 100.0 * (1.0 - config.share());
        let paths = Multipath {
            parameters: MultipathParameters {
                list: Some(NUMBER),
                cycle: Some(NUMBER),
                start: Some(self.start()),
                source_port: Some(self.source_port()),
                target_port: Some(self.target_port()),
                probe_size: Some(self.probe_size()),
                method: Some(match config.protocol {
                    Protocol::Icmp => 2,
                    Protocol::Udp => 3,
                    Protocol::Tcp => 4,
                }),
                first_hop: Some(config.first_hop),
                wait_s: Some(self.timeout()),
                interval_cs: Some(self.interval()),
                attempts: Some(u8::try_from(config.attempts).unwrap_or(u8::MAX)),
                confidence: Some(certain as u8),
                traffic_class: Some(0),
                probes: Some(u32::try_from(probes.count()).map_err(|_| TooLong)?),
                max_probes: Some(MAX_PROBES),
                gap: Some(config.gap),
                source: Some(config.source),
                target: Some(config.target),
                ..MultipathParameters::default()
            },
            nodes,
            links,
        };
        Ok((paths, omitted))
    }

    /// Node number of each address. An interface on paths of several lengths is one node.
    fn numbers(&self) -> BTreeMap<IpAddr, usize> {
        let mut numbers = BTreeMap::new();
        for (_, hop) in self.trace.graph().hops() {
            for address in hop.vertices.iter().filter_map(|one| one.address) {
                let next = numbers.len();
                numbers.entry(address).or_insert(next);
            }
        }
        numbers
    }

    fn nodes(&self, numbers: &BTreeMap<IpAddr, usize>) -> Vec<Node> {
        let mut nodes = vec![Node::default(); numbers.len()];
        for (address, number) in numbers {
            nodes[*number].address = Some(*address);
        }
        for (_, answer) in self
            .trace
            .log()
            .iter()
            .filter_map(|sent| sent.answer.as_ref())
        {
            let number = numbers.get(&answer.from);
            if let (Some(number), Message::Icmp(_, Some(quote))) = (number, answer.envelope.message)
            {
                nodes[*number].flags = Some(0x01);
                nodes[*number].quoted_ttl = Some(quote.ttl);
            }
        }
        nodes
    }

    /// Probes of the search by TTL and flow.
    fn by_flow(&self) -> BTreeMap<(u8, u16), Vec<&Sent>> {
        let mut all: BTreeMap<(u8, u16), Vec<&Sent>> = BTreeMap::new();
        for sent in self.trace.log().iter().filter(|sent| sent.is_discovery) {
            let place = (sent.probe.ttl, sent.probe.flow);
            all.entry(place).or_default().push(sent);
        }
        all
    }

    /// Follows each flow from interface to interface, across silent hops.
    fn links(&self, numbers: &BTreeMap<IpAddr, usize>) -> Links {
        let mut links = Links::new();
        let flows: BTreeSet<u16> = self
            .trace
            .log()
            .iter()
            .map(|sent| sent.probe.flow)
            .collect();
        for flow in flows {
            let mut from: Option<usize> = None;
            // Hops after it.
            let mut passed: Vec<u8> = Vec::new();
            let mut show = |from, to: Option<usize>, passed: &[u8]| {
                let count = to.map_or(0, |_| passed.len());
                let Shown(hops) = links.entry((from, to, count)).or_default();
                hops.resize_with(hops.len().max(passed.len()), BTreeSet::new);
                for (hop, ttl) in hops.iter_mut().zip(passed) {
                    hop.insert((*ttl, flow));
                }
            };
            for (ttl, hop) in self.trace.graph().hops() {
                let Outcome::Reached(index) = hop.outcome(flow) else {
                    // The flow was not sent to this hop: a separate part of its path follows.
                    from = None;
                    passed.clear();
                    continue;
                };
                passed.push(ttl);
                let vertex = hop.vertices[usize::from(index)];
                let Some(to) = vertex.address.and_then(|address| numbers.get(&address)) else {
                    continue;
                };
                if let Some(from) = from {
                    show(from, Some(*to), &passed);
                }
                from = (!vertex.is_end).then_some(*to);
                passed.clear();
            }
            if let (Some(from), false) = (from, passed.is_empty()) {
                show(from, None, &passed);
            }
        }
        links
    }

    fn probe(&self, sent: &Sent) -> Probe {
        let answers = sent.answer.iter();
        Probe {
            parameters: ProbeParameters {
                sent: Some(self.since_1970(sent.departed)),
                flow: Some(self.trace.prober().flow_field(sent.probe.flow)),
                ttl: Some(sent.probe.ttl),
                attempt: Some(u8::try_from(sent.attempt).unwrap_or(u8::MAX)),
                reply_count: None,
            },
            replies: answers
                .map(|(at, answer)| self.reply(*at, answer))
                .collect(),
        }
    }

    fn reply(&self, arrived: Time, answer: &Answer) -> Reply {
        let envelope = answer.envelope;
        let mut reply = Reply {
            received: Some(self.since_1970(arrived)),
            identification: envelope.identification,
            ttl: Some(envelope.ttl),
            address: Some(answer.from),
            ..Reply::default()
        };
        match envelope.message {
            Message::Tcp(flags) => {
                reply.flags = Some(0x01 | 0x02);
                reply.tcp_flags = Some(flags);
            }
            Message::Icmp(icmp, quote) => {
                reply.flags = Some(0x01);
                reply.icmp = Some(icmp);
                reply.extensions = extensions(answer);
                reply.quoted_ttl = quote.map(|quote| quote.ttl);
                reply.quoted_class = quote.map(|quote| quote.traffic_class);
            }
        }
        reply
    }
}

/// Removes links across silent hops from interfaces that have other links, and returns their number. Scamper supports them only as
/// the single link of a node: its tools read each of several links as one hop to an address, and some crash without an address.
fn keep_what_scamper_knows(links: &mut Links) -> usize {
    let before = links.len();
    // For each node, whether it has a direct link, and the end of its first link.
    let mut nodes = BTreeMap::new();
    for (from, to, hops) in links.keys() {
        let first = (false, (*to, *hops));
        nodes.entry(*from).or_insert(first).0 |= *hops == DIRECT;
    }
    links.retain(|(from, to, hops), _| match nodes[from] {
        (true, _) => *hops == DIRECT,
        (false, first) => first == (*to, *hops),
    });
    before - links.len()
}
