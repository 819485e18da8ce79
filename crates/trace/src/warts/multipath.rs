//! Traces of all paths, scamper's "tracelb".

use super::fields::{Extensions, Global, Name, resolve};
use super::parameters::{Flaw, Input, Output, TooLong, parameters};
use alloc::vec::Vec;
use core::net::IpAddr;
use core::time::Duration;

/// Nodes and links of all paths to a target. Writing takes the counts in the parameters from the parts themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Multipath {
    /// Its settings and outcome.
    pub parameters: MultipathParameters,
    /// Interfaces.
    pub nodes: Vec<Node>,
    /// Links between them.
    pub links: Vec<Link>,
}

/// A link between two nodes, which may pass silent hops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Its ends.
    pub parameters: LinkParameters,
    /// Probes that have shown it, for each hop after the first node.
    pub hops: Vec<Vec<Probe>>,
}

/// A probe, and the answers to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probe {
    /// Its fields.
    pub parameters: ProbeParameters,
    /// Answers.
    pub replies: Vec<Reply>,
}

parameters! {
    /// Settings and outcome of a trace of all paths.
    MultipathParameters {
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
        /// Source port, or the identifier of ICMP.
        6 source_port: u16,
        /// Destination port.
        7 target_port: u16,
        /// Bytes of a probe.
        8 probe_size: u16,
        /// The field that varies: 1 destination port of UDP, 2 checksum of ICMP, 3 source port of UDP, 4 source port of TCP.
        9 method: u8,
        /// TTL of the first hop.
        10 first_hop: u8,
        /// Time to wait for an answer, s.
        11 wait_s: u8,
        /// Time between probes, in hundredths of a second.
        12 interval_cs: u8,
        /// Maximum number of attempts of a probe.
        13 attempts: u8,
        /// Confidence that all successors of a node were found, percent.
        14 confidence: u8,
        /// Traffic class of probes.
        15 traffic_class: u8,
        /// Number of nodes.
        16 node_count: u16,
        /// Number of links.
        17 link_count: u16,
        /// Number of probes sent.
        18 probes: u32,
        /// Maximum number of probes.
        19 max_probes: u32,
        /// Silent hops in a row after which the search ends.
        20 gap: u8,
        /// Address of the source.
        21 source: IpAddr,
        /// Address of the target.
        22 target: IpAddr,
        /// Number chosen by the user.
        23 user: u32,
        /// Flags.
        24 flags: u8,
        /// Router that probes were sent to.
        25 router: IpAddr,
        /// Error message.
        26 error: Name,
    }
}

parameters! {
    /// An interface.
    Node {
        /// Old form of `address`.
        1 reference: Global,
        /// Flags: 0x01 `quoted_ttl` is known.
        2 flags: u8,
        /// Number of links from it.
        3 link_count: u16,
        /// TTL of probes, as its answers quote it.
        4 quoted_ttl: u8,
        /// Its address.
        5 address: IpAddr,
        /// Name of the address.
        6 name: Name,
    }
}

parameters! {
    /// Ends of a link.
    LinkParameters {
        /// Index of the node at which it begins.
        1 from: u16,
        /// Index of the node at which it ends; without it silent hops follow to the end.
        2 to: u16,
        /// Number of hops from one end to the other.
        3 hop_count: u8,
    }
}

parameters! {
    /// Size of the set of probes that were sent to a hop of a link.
    SetParameters {
        /// Number of probes.
        1 probe_count: u16,
    }
}

parameters! {
    /// Fields of a probe.
    ProbeParameters {
        /// Time at which it left.
        1 sent: Duration,
        /// Value of the field that varies.
        2 flow: u16,
        /// Its TTL.
        3 ttl: u8,
        /// Number of the same probes sent before.
        4 attempt: u8,
        /// Number of answers.
        5 reply_count: u16,
    }
}

parameters! {
    /// An answer to a probe.
    Reply {
        /// Time of its arrival.
        1 received: Duration,
        /// Identification.
        2 identification: u16,
        /// Its TTL.
        3 ttl: u8,
        /// Flags: 0x01 its TTL is known, 0x02 it is of TCP.
        4 flags: u8,
        /// Type and code of ICMP.
        5 icmp: [u8; 2],
        /// Flags of TCP.
        6 tcp_flags: u8,
        /// Extensions of ICMP.
        7 extensions: Extensions,
        /// TTL of the probe, as the answer quotes it.
        8 quoted_ttl: u8,
        /// Traffic class of the probe, as the answer quotes it.
        9 quoted_class: u8,
        /// Old form of `address`.
        10 reference: Global,
        /// Source of the answer.
        11 address: IpAddr,
    }
}

impl Multipath {
    pub(super) fn read(input: &mut Input<'_>) -> Result<Multipath, Flaw> {
        let mut parameters = MultipathParameters::read(input)?;
        resolve(&mut parameters.source_reference, &mut parameters.source);
        resolve(&mut parameters.target_reference, &mut parameters.target);
        let mut nodes = Vec::new();
        for _ in 0..parameters.node_count.unwrap_or(0) {
            let mut node = Node::read(input)?;
            resolve(&mut node.reference, &mut node.address);
            nodes.push(node);
        }
        let mut links = Vec::new();
        for _ in 0..parameters.link_count.unwrap_or(0) {
            let link = Link::read(input)?;
            let ends = [link.parameters.from.or(Some(0)), link.parameters.to];
            if ends
                .iter()
                .flatten()
                .any(|end| usize::from(*end) >= nodes.len())
            {
                return Err(Flaw::Node);
            }
            links.push(link);
        }
        Ok(Multipath {
            parameters,
            nodes,
            links,
        })
    }

    pub(super) fn write(&self, out: &mut Output) -> Result<(), TooLong> {
        let counted = MultipathParameters {
            node_count: count(self.nodes.len(), self.parameters.node_count)?,
            link_count: count(self.links.len(), self.parameters.link_count)?,
            ..self.parameters.clone()
        };
        counted.write(out)?;
        self.nodes.iter().try_for_each(|node| node.write(out))?;
        self.links.iter().try_for_each(|link| link.write(out))
    }
}

/// A count as a field, which stays absent if it was and the count is zero.
fn count<T: TryFrom<usize>>(length: usize, before: Option<T>) -> Result<Option<T>, TooLong> {
    match (length, before) {
        (0, None) => Ok(None),
        _ => T::try_from(length).map(Some).map_err(|_| TooLong),
    }
}

impl Link {
    fn read(input: &mut Input<'_>) -> Result<Link, Flaw> {
        let parameters = LinkParameters::read(input)?;
        let mut hops = Vec::new();
        for _ in 0..parameters.hop_count.unwrap_or(0) {
            let set = SetParameters::read(input)?;
            let probes = 0..set.probe_count.unwrap_or(0);
            let probes: Result<Vec<Probe>, Flaw> = probes.map(|_| Probe::read(input)).collect();
            hops.push(probes?);
        }
        Ok(Link { parameters, hops })
    }

    fn write(&self, out: &mut Output) -> Result<(), TooLong> {
        let counted = LinkParameters {
            hop_count: count(self.hops.len(), self.parameters.hop_count)?,
            ..self.parameters.clone()
        };
        counted.write(out)?;
        for probes in &self.hops {
            let probe_count = count(probes.len(), None)?;
            SetParameters { probe_count }.write(out)?;
            probes.iter().try_for_each(|probe| probe.write(out))?;
        }
        Ok(())
    }
}

impl Probe {
    fn read(input: &mut Input<'_>) -> Result<Probe, Flaw> {
        let parameters = ProbeParameters::read(input)?;
        let mut replies = Vec::new();
        for _ in 0..parameters.reply_count.unwrap_or(0) {
            let mut reply = Reply::read(input)?;
            resolve(&mut reply.reference, &mut reply.address);
            replies.push(reply);
        }
        Ok(Probe {
            parameters,
            replies,
        })
    }

    fn write(&self, out: &mut Output) -> Result<(), TooLong> {
        let counted = ProbeParameters {
            reply_count: count(self.replies.len(), self.parameters.reply_count)?,
            ..self.parameters.clone()
        };
        counted.write(out)?;
        self.replies.iter().try_for_each(|one| one.write(out))
    }
}
