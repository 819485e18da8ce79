//! Members of a graph that are no nodes: the kernel's own stack for real programs, and ports that are
//! there already.

use super::WorldError;
use crate::kernel::netns::{self, Batch, Namespace, Route};
use crate::port::channel::Tls;
use crate::port::{
    self, Options, Port as Opened, PortError, PortSpec, Receive, Received, RxCounters, Transmit,
    TxCounters,
};
use node::{Frame, Node, Out, Port, Properties, Time};
use std::net::IpAddr;
use std::time::Duration;

/// What a member of a graph really is. In the graph it has a [`Slot`] with as many ports.
#[derive(Clone, Debug)]
pub enum Real {
    /// A namespace whose interfaces are the member's ports.
    Stack(Stack),
    /// Ports that are there already.
    Ports(Vec<Outside>),
}

/// A port that is there already, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outside {
    /// As a user names it.
    pub port: PortSpec,
    /// The member in whose namespace it is opened; `None` for that of this process.
    pub within: Option<usize>,
    /// The name of the namespace that is there already in which it is opened, if there is no `within`.
    pub namespace: Option<String>,
    /// Addresses that its interface gets, and how many bits of each are the network's: of one that opening makes, such as a
    /// TAP interface.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Key and certificates, if it is a channel that speaks TLS.
    pub tls: Option<Tls>,
}

impl Outside {
    /// The port, where this thread is.
    pub fn of(port: PortSpec) -> Outside {
        Outside {
            port,
            within: None,
            namespace: None,
            addresses: Vec::new(),
            tls: None,
        }
    }

    /// Opens it, in its namespace if that is there already and has a name, else in that of this thread.
    ///
    /// # Errors
    /// When it cannot be opened, or does not get its addresses.
    pub fn open(&self, options: &Options) -> Result<Opened, WorldError> {
        match &self.namespace {
            None => self.open_here(options),
            Some(name) => Namespace::existing(name)?.enter(|| self.open_here(options))?,
        }
    }

    fn open_here(&self, options: &Options) -> Result<Opened, WorldError> {
        let options = Options {
            tls: self.tls.clone(),
            ..options.clone()
        };
        let opened = port::open(&self.port, &options)?;
        if let PortSpec::Tap(name) = &self.port {
            let mut batch = Batch::default();
            for &(address, prefix) in &self.addresses {
                batch.address(netns::number_here(name)?, name, address, prefix);
            }
            batch.send()?;
        }
        Ok(opened)
    }
}

/// The kernel's stack in a namespace of its own.
#[derive(Clone, Debug, Default)]
pub struct Stack {
    /// Its interfaces, one for each port of the member, from the first on.
    pub interfaces: Vec<Interface>,
    /// Its other ports: opened in its namespace, such as a socket at which its program is a controller's
    /// switch.
    pub ports: Vec<PortSpec>,
    /// Routes beside those to its own networks.
    pub routes: Vec<Route>,
    /// Whether it passes packets on between its interfaces.
    pub forward: bool,
    /// Veth pairs straight to another member's namespace, with no link of the graph: for control
    /// channels. Each is there once, at one of its ends.
    pub lines: Vec<Line>,
}

/// An interface of a stack.
#[derive(Clone, Debug)]
pub struct Interface {
    /// Its name, at most 15 bytes.
    pub name: String,
    /// Its MAC address; `None` for one that the kernel makes up.
    pub mac: Option<[u8; 6]>,
    /// The longest packet behind the Ethernet header, bytes.
    pub mtu: u32,
    /// Its addresses, and how many bits of each are the network's.
    pub addresses: Vec<(IpAddr, u8)>,
}

/// A veth pair to another member's namespace.
#[derive(Clone, Debug)]
pub struct Line {
    /// That member.
    pub to: usize,
    /// The names of its ends, here and there.
    pub names: [String; 2],
    /// Their addresses.
    pub addresses: [IpAddr; 2],
    /// How many bits of them are the network's.
    pub prefix: u8,
}

/// Stands in a graph for something [`Real`]: what comes from there goes onto the link, and the other
/// way round what a link carries never passes here.
pub struct Slot {
    ports: usize,
}

impl Slot {
    /// With so many ports.
    pub fn new(ports: usize) -> Slot {
        Slot { ports }
    }
}

impl Node for Slot {
    fn properties(&self) -> Properties {
        Properties::of(self.ports)
    }

    fn frames(&mut self, _: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            out.send(port, frame);
        }
    }
}

/// The port of a relay past which a node has the frames itself.
pub(super) struct Absent;

impl Receive for Absent {
    fn receive(
        &mut self,
        _: Duration,
        _: &mut dyn FnMut(Received<'_>),
    ) -> Result<usize, PortError> {
        Ok(0)
    }

    fn counters(&self) -> RxCounters {
        RxCounters::default()
    }
}

impl Transmit for Absent {
    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, PortError> {
        Ok(frames.len())
    }

    fn counters(&self) -> TxCounters {
        TxCounters::default()
    }
}
