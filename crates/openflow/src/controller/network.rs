//! What a controller knows of the network: switches, links, hosts, and the counters of entries.

use super::is_live;
use crate::channel::Peer;
use crate::port::{PortDescription, PortNo};
use crate::version::Version;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use node::Time;
use packet::ethernet::Mac;

/// Maximum number of hosts that are kept.
pub const MAX_HOSTS: usize = 65_536;
/// Maximum number of links that are kept.
pub const MAX_LINKS: usize = 65_536;

/// A switch, or what may become one.
#[derive(Clone, Debug)]
pub struct SwitchInfo {
    /// Its connection.
    pub peer: Peer,
    /// Its identity, as the carrier of the stream has it.
    pub name: String,
    /// When it connected.
    pub since: Time,
    /// The version that is spoken; `None` before the hellos.
    pub version: Option<Version>,
    /// The number by which it is known.
    pub datapath: u64,
    /// Packets that it can keep.
    pub buffers: u32,
    pub tables: u8,
    /// Its ports, in the order of their numbers.
    pub ports: Vec<PortDescription>,
    /// Whether it has said all this.
    pub(super) up: bool,
}

impl SwitchInfo {
    pub(super) fn new(peer: Peer, name: String, since: Time) -> SwitchInfo {
        SwitchInfo {
            peer,
            name,
            since,
            version: None,
            datapath: 0,
            buffers: 0,
            tables: 0,
            ports: Vec::new(),
            up: false,
        }
    }

    pub(super) fn put_port(&mut self, port: PortDescription) {
        match self.place(port.number) {
            Ok(at) => self.ports[at] = port,
            Err(at) => self.ports.insert(at, port),
        }
    }

    pub(super) fn remove_port(&mut self, number: PortNo) {
        if let Ok(at) = self.place(number) {
            self.ports.remove(at);
        }
    }

    fn place(&self, number: PortNo) -> Result<usize, usize> {
        self.ports.binary_search_by_key(&number, |port| port.number)
    }

    /// The port of this number.
    pub fn port(&self, number: PortNo) -> Option<&PortDescription> {
        self.place(number).ok().map(|at| &self.ports[at])
    }

    /// The ports that carry packets.
    pub fn live_ports(&self) -> impl Iterator<Item = &PortDescription> {
        self.ports.iter().filter(|port| is_live(port))
    }
}

/// A port of a switch, by the numbers that outlast a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attachment {
    /// The switch.
    pub datapath: u64,
    pub port: PortNo,
}

/// A link, as one direction of it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Where it ends.
    pub to: Attachment,
    /// When it was seen first, and last.
    pub first: Time,
    /// When it was seen last.
    pub last: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    pub at: Attachment,
    /// Its IPv4 address, if it has told.
    pub address: Option<[u8; 4]>,
    /// When it was seen last.
    pub last: Time,
}

/// An entry of a switch with its counters.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRecord {
    pub table: u8,
    pub priority: u16,
    /// The controller's mark.
    pub cookie: u64,
    /// What it matches: fields and values.
    pub matching: String,
    /// What it does.
    pub actions: String,
    /// Seconds that it is there.
    pub duration_s: u32,
    pub packets: u64,
    pub bytes: u64,
    /// Packets a second between the last two looks.
    pub packets_per_s: f64,
}

/// The counters of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRecord {
    /// Packets received, and sent.
    pub packets: [u64; 2],
    /// Bytes received, and sent.
    pub bytes: [u64; 2],
    /// Packets dropped at receipt, and instead of being sent.
    pub dropped: [u64; 2],
}

/// What is known of the network.
#[derive(Debug, Default)]
pub struct Network {
    /// By [`Peer::index`].
    switches: Vec<Option<SwitchInfo>>,
    by_datapath: BTreeMap<u64, Peer>,
    /// Since when the connections are there that are no switches yet.
    strangers: BTreeMap<Peer, Time>,
    /// Links, by where they begin.
    pub links: BTreeMap<Attachment, Link>,
    /// Ports that flooding leaves out, since it would go in circles.
    pub blocked: BTreeSet<Attachment>,
    /// Ports that have come up and may be ends of links: they are left out until discovery has had its time.
    pub held: BTreeSet<Attachment>,
    /// Ports at ends of links, present or former, since the paths of packets have changed:
    /// [`App::paths_changed`](super::App::paths_changed) notifies programs.
    pub rerouted: BTreeSet<Attachment>,
    /// Hosts, by address.
    pub hosts: BTreeMap<Mac, Host>,
    /// Entries, by switch, as they were when they were asked for last.
    pub flows: BTreeMap<u64, Vec<FlowRecord>>,
    /// The counters of ports, as they were when they were asked for last.
    pub port_counters: BTreeMap<Attachment, PortRecord>,
}

impl Network {
    /// The switch on a connection, once it has said what it is.
    pub fn switch(&self, peer: Peer) -> Option<&SwitchInfo> {
        self.any(peer).filter(|info| info.up)
    }

    pub fn switches(&self) -> impl Iterator<Item = &SwitchInfo> {
        self.switches.iter().flatten().filter(|info| info.up)
    }

    /// The connection of a switch.
    pub fn find(&self, datapath: u64) -> Option<Peer> {
        self.by_datapath.get(&datapath).copied()
    }

    /// A port of a switch.
    pub fn attachment(&self, peer: Peer, port: PortNo) -> Option<Attachment> {
        let datapath = self.switch(peer)?.datapath;
        Some(Attachment { datapath, port })
    }

    /// Whether packets that come in by this port, other than from neighbours about the topology, are to be ignored.
    pub fn is_blocked(&self, peer: Peer, port: PortNo) -> bool {
        !self.is_open()
            && self
                .attachment(peer, port)
                .is_some_and(|at| self.is_closed(&at))
    }

    /// Whether floods may leave by every port.
    fn is_open(&self) -> bool {
        self.blocked.is_empty() && self.held.is_empty()
    }

    fn is_closed(&self, at: &Attachment) -> bool {
        self.blocked.contains(at) || self.held.contains(at)
    }

    /// The ports that a flood leaves by, but for the one it came by; `None` when the switch may flood by itself.
    pub fn flood_ports(
        &self,
        peer: Peer,
        in_port: PortNo,
    ) -> Option<impl Iterator<Item = PortNo> + '_> {
        if self.is_open() {
            return None;
        }
        let info = self.switch(peer)?;
        let datapath = info.datapath;
        let ports = info.live_ports().map(|port| port.number);
        Some(ports.filter(move |&port| {
            port != in_port && !self.is_closed(&Attachment { datapath, port })
        }))
    }

    pub(super) fn any(&self, peer: Peer) -> Option<&SwitchInfo> {
        let info = self.switches.get(peer.index())?.as_ref()?;
        (info.peer == peer).then_some(info)
    }

    pub(super) fn any_mut(&mut self, peer: Peer) -> Option<&mut SwitchInfo> {
        let info = self.switches.get_mut(peer.index())?.as_mut()?;
        (info.peer == peer).then_some(info)
    }

    pub(super) fn enter(&mut self, peer: Peer, info: SwitchInfo) {
        if self.switches.len() <= peer.index() {
            self.switches.resize_with(peer.index() + 1, || None);
        }
        self.strangers.insert(peer, info.since);
        self.switches[peer.index()] = Some(info);
    }

    pub(super) fn index(&mut self, peer: Peer) {
        self.strangers.remove(&peer);
        if let Some(info) = self.any(peer) {
            let datapath = info.datapath;
            self.by_datapath.insert(datapath, peer);
        }
    }

    pub(super) fn leave(&mut self, peer: Peer) {
        self.strangers.remove(&peer);
        let Some(info) = self.any(peer) else {
            return;
        };
        let datapath = info.datapath;
        if self.by_datapath.get(&datapath) == Some(&peer) {
            self.by_datapath.remove(&datapath);
            self.flows.remove(&datapath);
            self.port_counters.retain(|at, _| at.datapath != datapath);
        }
        self.switches[peer.index()] = None;
    }

    pub(super) fn strangers(&self) -> impl Iterator<Item = &SwitchInfo> {
        self.strangers.keys().filter_map(|&peer| self.any(peer))
    }

    pub(super) fn first_stranger(&self) -> Option<Time> {
        self.strangers.values().min().copied()
    }
}
