//! Flows by their ends, and what is counted of each.

use super::tcp::Connection;
use packet::ethernet::{EthernetView, Mac};
use packet::layers::{Header, layers};
use packet::tcp::{TcpView, flag};
use packet::{flow, ipv4::protocol};
use std::collections::HashMap;
use std::net::IpAddr;

/// What makes a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum By {
    /// Addresses, protocol and ports
    FiveTuple,
    /// IP addresses
    Ip,
    /// MAC addresses
    Mac,
}

/// One end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    Mac([u8; 6]),
    Ip(IpAddr, Option<u16>),
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Mac(mac) => write!(f, "{}", Mac(*mac)),
            End::Ip(address, None) => write!(f, "{address}"),
            End::Ip(address, Some(port)) => {
                write!(f, "{}", std::net::SocketAddr::new(*address, *port))
            }
        }
    }
}

/// Both ends, the lesser first, and the protocol.
type Key = (End, End, u8);

/// What went one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Direction {
    pub packets: u64,
    pub bytes: u64,
}

/// A flow: from the end that sent its first packet to the other, and back.
pub struct Flow {
    pub ends: [End; 2],
    pub protocol: u8,
    pub directions: [Direction; 2],
    /// When its first and its last packet came, ps since 1970.
    pub first: u128,
    pub last: u128,
    pub tcp: Option<Box<Connection>>,
}

impl Flow {
    pub fn bytes(&self) -> u64 {
        self.directions[0].bytes + self.directions[1].bytes
    }

    pub fn packets(&self) -> u64 {
        self.directions[0].packets + self.directions[1].packets
    }

    /// From the first packet to the last, ps.
    pub fn duration(&self) -> u128 {
        self.last - self.first
    }
}

/// All flows, up to a number.
pub struct Table {
    by: By,
    most: usize,
    /// The latest flow of each pair of ends.
    found: HashMap<Key, usize>,
    flows: Vec<Flow>,
    /// Packets of flows beyond the most.
    beyond: Direction,
    /// Packets that have no such ends.
    others: Direction,
}

impl Table {
    pub fn new(by: By, most: usize) -> Table {
        Table {
            by,
            most,
            found: HashMap::new(),
            flows: Vec::new(),
            beyond: Direction::default(),
            others: Direction::default(),
        }
    }

    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// Packets and bytes of flows beyond the most.
    pub fn beyond(&self) -> (u64, u64) {
        (self.beyond.packets, self.beyond.bytes)
    }

    /// Packets and bytes that have no such ends: what is not IP.
    pub fn others(&self) -> (u64, u64) {
        (self.others.packets, self.others.bytes)
    }

    /// Counts a packet that was so long before it was cut short.
    pub fn packet(&mut self, frame: &[u8], length: u32, at: u128) {
        let count = |way: &mut Direction| {
            way.packets += 1;
            way.bytes += u64::from(length);
        };
        let Some((source, destination, protocol)) = self.ends(frame) else {
            return count(&mut self.others);
        };
        let tcp = match (self.by, protocol) {
            (By::FiveTuple, protocol::TCP) => layers(frame).find_map(|layer| match layer.header {
                Header::Tcp(view) if view.bad_length().is_none() => Some(view),
                _ => None,
            }),
            _ => None,
        };
        let key = (source.min(destination), source.max(destination), protocol);
        let known = self.found.get(&key).copied();
        let index = match known.filter(|&index| !self.begins_anew(index, tcp.as_ref())) {
            Some(index) => index,
            None if self.flows.len() >= self.most => return count(&mut self.beyond),
            None => {
                self.found.insert(key, self.flows.len());
                self.flows.push(Flow {
                    ends: [source, destination],
                    protocol,
                    directions: Default::default(),
                    first: at,
                    last: at,
                    tcp: None,
                });
                self.flows.len() - 1
            }
        };
        let flow = &mut self.flows[index];
        // Files laid over each other need not be in the order of time.
        (flow.first, flow.last) = (flow.first.min(at), flow.last.max(at));
        let way = usize::from(flow.ends[0] != source);
        count(&mut flow.directions[way]);
        if let Some(tcp) = tcp {
            let connection = flow.tcp.get_or_insert_default();
            connection.segment(way, &tcp, payload_length(frame, length), at);
        }
    }

    /// Whether a segment begins another connection between the same ends.
    fn begins_anew(&self, index: usize, tcp: Option<&TcpView<'_>>) -> bool {
        let (Some(tcp), Some(connection)) = (tcp, &self.flows[index].tcp) else {
            return false;
        };
        let begins = tcp.flags() & (flag::SYN | flag::ACK) == flag::SYN;
        begins && connection.is_other_than(tcp.sequence())
    }

    fn ends(&self, frame: &[u8]) -> Option<(End, End, u8)> {
        if self.by == By::Mac {
            let view = EthernetView::new(frame).ok()?;
            return Some((End::Mac(view.source().0), End::Mac(view.destination().0), 0));
        }
        let tuple = flow::five_tuple(frame)?;
        let ports = self.by == By::FiveTuple && crate::fields::has_ports(tuple.protocol);
        let end = |address, port| End::Ip(address, ports.then_some(port));
        Some((
            end(tuple.source, tuple.source_port),
            end(tuple.destination, tuple.destination_port),
            if self.by == By::Ip { 0 } else { tuple.protocol },
        ))
    }
}

/// The bytes of a segment's payload by its IP header, of a frame that was `length` before the
/// capture cut it short.
fn payload_length(frame: &[u8], length: u32) -> u32 {
    let mut walk = layers(frame).of_length(length as usize);
    walk.by_ref().for_each(drop);
    (walk.rest().len() + walk.beyond()) as u32
}
