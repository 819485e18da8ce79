//! Which port of a node is which interface of the machine.

use super::{Hook, HookError, QueueError};
use crate::kernel::interface;
use crate::kernel::nfqueue::message::Packet;
use node::Port;

/// Maximum number of interfaces of a hook; there is a rule for each pair.
pub const MAX_INTERFACES: usize = 16;
/// Interfaces that are remembered to be none of ours.
const STRANGERS: usize = 64;

/// An interface that is a port.
#[derive(Clone, Debug)]
pub struct InterfacePort {
    pub name: String,
    /// Its number; it changes when an interface of this name is created again.
    index: u32,
    /// Its address, or zeros.
    pub mac: [u8; 6],
}

/// The interfaces of a node's ports.
#[derive(Clone, Debug)]
pub struct Interfaces {
    ports: Vec<InterfacePort>,
    /// The port that stands for everything else: other interfaces, and the machine itself.
    rest: Option<Port>,
    /// Numbers of interfaces that are known not to be ours.
    strangers: Vec<u32>,
}

impl Interfaces {
    /// Finds the interfaces of a node with so many ports: one for each, or for each but the last.
    pub fn find(names: &[String], ports: usize) -> Result<Interfaces, HookError> {
        let given = names.len();
        let fits = given > 0 && (ports == given || ports == given + 1) && given <= MAX_INTERFACES;
        if !fits {
            return Err(HookError::Ports { ports, given });
        }
        let mut found_ports: Vec<InterfacePort> = Vec::new();
        for name in names {
            if found_ports.iter().any(|port| port.name == *name) {
                return Err(HookError::Twice(name.clone()));
            }
            let failed = |source| QueueError::Io {
                doing: format!("looking for the interface {name}"),
                source,
            };
            let found = interface::find(name).map_err(failed)?;
            let Some(found) = found else {
                let known = interface::names().unwrap_or_default().join(", ");
                let name = name.clone();
                return Err(HookError::NoSuchInterface { name, known });
            };
            found_ports.push(InterfacePort {
                name: name.clone(),
                index: found.index,
                mac: found.mac.unwrap_or_default(),
            });
        }
        Ok(Interfaces {
            rest: (ports > given).then_some(Port(given as u16)),
            ports: found_ports,
            strangers: Vec::new(),
        })
    }

    /// None: of ports that are queues.
    pub fn none() -> Interfaces {
        Interfaces {
            ports: Vec::new(),
            rest: None,
            strangers: Vec::new(),
        }
    }

    /// Whether a port stands for everything else.
    pub fn has_rest(&self) -> bool {
        self.rest.is_some()
    }

    /// The names of the interfaces.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.ports.iter().map(|port| port.name.as_str())
    }

    /// The interface of a port.
    pub fn of(&self, port: Port) -> Option<&InterfacePort> {
        self.ports.get(port.index())
    }

    /// The port of an interface.
    fn port(&mut self, index: u32) -> Option<Port> {
        if index == 0 {
            return None;
        }
        let find = |ports: &[InterfacePort]| ports.iter().position(|port| port.index == index);
        let mut place = find(&self.ports);
        if place.is_none() && !self.strangers.contains(&index) {
            // It may have been removed and made again.
            for port in &mut self.ports {
                if let Ok(Some(found)) = interface::find(&port.name) {
                    port.index = found.index;
                    port.mac = found.mac.unwrap_or_default();
                }
            }
            place = find(&self.ports);
            if place.is_none() {
                if self.strangers.len() >= STRANGERS {
                    self.strangers.clear();
                }
                self.strangers.push(index);
            }
        }
        place.map(|place| Port(place as u16))
    }

    /// The port by which a packet enters, and the one by which it would leave; `None` where that is not decided yet.
    pub fn of_packet(&mut self, packet: &Packet) -> (Port, Option<Port>) {
        let hook = Hook::of(packet.hook);
        let to = match hook {
            Some(Hook::Prerouting) | None => None,
            Some(Hook::Input) => self.rest,
            Some(_) => self.port(packet.to).or(self.rest),
        };
        let from = match hook {
            Some(Hook::Output) => self.rest,
            _ => self.port(packet.from).or(self.rest),
        };
        // Without a port of its own the machine is at whichever the packet does not leave by.
        let other = Port(u16::from(to == Some(Port(0)) && self.ports.len() > 1));
        (from.unwrap_or(other), to)
    }
}
