//! Entries of the home's switch: priorities, cookies, and the calls that add and delete them.
//!
//! | priority | entries |
//! |---|---|
//! | [`DHCP`](priority::DHCP) | DHCP of both versions, neighbour discovery, and the EAPOL of devices that may associate: to the control program |
//! | [`DEVICE`](priority::DEVICE) | drops all IPv4 or IPv6 of a device that is not admitted |
//! | [`PROTOCOL`](priority::PROTOCOL) | DNS by UDP: to the control program; IPv6, unless the home has it: dropped |
//! | [`FLOW`](priority::FLOW) | a flow, forwarded or dropped |
//! | [`LOCAL`](priority::LOCAL) | packets to addresses of the home: to the control program, so that no entry of a whole device forwards them |
//! | [`HOST`](priority::HOST) | one entry for all flows of a device to the Internet, and one for those from it |
//! | 0 | all other packets: to the control program |

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use openflow::action::Action;
use openflow::channel::Peer;
use openflow::controller::Handle;
use openflow::instruction::Instruction;
use openflow::matching::Match;
use openflow::message::{FlowCommand, FlowMod, PacketOut, flow_flags};
use openflow::oxm::{Field, Oxm};
use openflow::port::PortNo;
use packet::ethernet::Mac;

/// Priorities of entries.
pub mod priority {
    /// DHCP and EAPOL.
    pub const DHCP: u16 = 60_000;
    /// All IPv4 of a device that is not admitted.
    pub const DEVICE: u16 = 50_000;
    /// Protocols that are intercepted or not forwarded.
    pub const PROTOCOL: u16 = 40_000;
    /// A flow.
    pub const FLOW: u16 = 30_000;
    /// Later fragments of a flow, which have no ports.
    pub const FRAGMENT: u16 = 29_000;
    /// Addresses of the home.
    pub const LOCAL: u16 = 20_000;
    /// All flows of a device.
    pub const HOST: u16 = 10_000;
}

/// Kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Initial entry.
    Base,
    /// A flow.
    Flow,
    /// All flows of a device.
    Host,
    /// Drop entry.
    Drop,
}

/// Cookie of an entry: its kind, and the slots of the devices that send and receive; slot 0 is the router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookie {
    /// Kind of the entry.
    pub kind: Kind,
    /// Slot of the sender.
    pub from: u16,
    /// Slot of the receiver.
    pub to: u16,
    /// Whether the device has looked up the name of the other end, or the other end is in the home.
    pub is_named: bool,
    /// Number of the flow, 28 bits.
    pub serial: u32,
}

/// The upper four bits of each cookie.
const TAG: u64 = 0xA << 60;
const SLOT: u64 = 0x3FFF;
const SERIAL: u64 = 0x0FFF_FFFF;

impl Cookie {
    /// Of an entry that belongs to no device.
    pub fn of(kind: Kind) -> Cookie {
        Cookie {
            kind,
            from: 0,
            to: 0,
            is_named: false,
            serial: 0,
        }
    }

    /// As a number.
    pub fn to_wire(self) -> u64 {
        let kind = match self.kind {
            Kind::Base => 0,
            Kind::Flow => 1,
            Kind::Host => 2,
            Kind::Drop => 3,
        };
        TAG | kind << 57
            | u64::from(self.is_named) << 56
            | (u64::from(self.from) & SLOT) << 42
            | (u64::from(self.to) & SLOT) << 28
            | u64::from(self.serial) & SERIAL
    }

    /// From a number; `None` when it is not of this program.
    pub fn from_wire(wire: u64) -> Option<Cookie> {
        let kind = match wire >> 57 {
            0x50 => Kind::Base,
            0x51 => Kind::Flow,
            0x52 => Kind::Host,
            0x53 => Kind::Drop,
            _ => return None,
        };
        Some(Cookie {
            kind,
            from: (wire >> 42 & SLOT) as u16,
            to: (wire >> 28 & SLOT) as u16,
            is_named: wire >> 56 & 1 == 1,
            serial: (wire & SERIAL) as u32,
        })
    }
}

/// An entry to add.
#[derive(Clone, Copy, Debug)]
pub struct Rule<'a> {
    /// Its match.
    pub fields: &'a [Oxm],
    /// Its priority.
    pub priority: u16,
    /// Its cookie.
    pub cookie: Cookie,
    /// Idle timeout, seconds; 0 for never.
    pub idle: u16,
    /// Its actions; none: it drops.
    pub actions: &'a [Action<'a>],
}

/// A MAC address as the value of a field.
pub fn wide(mac: Mac) -> u128 {
    let [a, b, c, d, e, f] = mac.0;
    u64::from_be_bytes([0, 0, a, b, c, d, e, f]).into()
}

/// Matches an address as the source (`true`) or destination.
pub fn address(is_source: bool, address: IpAddr) -> Oxm {
    match (address, is_source) {
        (IpAddr::V4(address), true) => Oxm::new(Field::Ipv4Src, u32::from(address).into()),
        (IpAddr::V4(address), false) => Oxm::new(Field::Ipv4Dst, u32::from(address).into()),
        (IpAddr::V6(address), true) => Oxm::new(Field::Ipv6Src, address.into()),
        (IpAddr::V6(address), false) => Oxm::new(Field::Ipv6Dst, address.into()),
    }
}

/// Matches the addresses of an IPv6 network.
pub fn network6(field: Field, (network, prefix): (Ipv6Addr, u8)) -> Oxm {
    let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
    Oxm::masked(field, network.into(), mask)
}

/// Matches the addresses of a network.
pub fn network(field: Field, (network, prefix): (Ipv4Addr, u8)) -> Oxm {
    let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
    Oxm::masked(field, u32::from(network).into(), mask.into())
}

/// Action that sets a MAC address.
pub fn set_mac(field: Field, mac: Mac) -> Action<'static> {
    Action::SetField(Oxm::new(field, wide(mac)))
}

/// The home's switch during a call.
pub struct Datapath<'a, 'h> {
    /// Its connection.
    pub switch: Peer,
    /// The controller.
    pub handle: &'a mut Handle<'h>,
    /// Messages not sent, since the switch was disconnected.
    pub unsent: u64,
}

impl Datapath<'_, '_> {
    fn flow_mod(&mut self, flow: &FlowMod<'_>) {
        self.unsent += u64::from(self.handle.flow_mod(self.switch, flow).is_err());
    }

    /// Adds an entry.
    pub fn add(&mut self, rule: &Rule<'_>) {
        let apply = [Instruction::ApplyActions(rule.actions.into())];
        let instructions = match rule.actions {
            [] => &[][..],
            _ => &apply[..],
        };
        self.flow_mod(&FlowMod {
            cookie: rule.cookie.to_wire(),
            matching: Match::new(rule.fields),
            priority: rule.priority,
            idle_timeout: rule.idle,
            flags: match rule.cookie.kind {
                Kind::Flow | Kind::Host => flow_flags::SEND_FLOW_REM | flow_flags::RESET_COUNTS,
                Kind::Base | Kind::Drop => flow_flags::RESET_COUNTS,
            },
            instructions: instructions.into(),
            ..FlowMod::default()
        });
    }

    /// Deletes all entries.
    pub fn clear(&mut self) {
        self.flow_mod(&FlowMod {
            command: FlowCommand::Delete,
            ..FlowMod::default()
        });
    }

    /// Adds the entry that sends each packet without another entry to the control program.
    pub fn add_miss(&mut self) {
        let actions = [Action::output(PortNo::CONTROLLER)];
        let apply = [Instruction::ApplyActions((&actions[..]).into())];
        self.flow_mod(&FlowMod {
            priority: 0,
            instructions: (&apply[..]).into(),
            ..FlowMod::default()
        });
    }

    fn delete_marked(&mut self, cookie: u64, cookie_mask: u64) {
        self.flow_mod(&FlowMod {
            command: FlowCommand::Delete,
            cookie,
            cookie_mask,
            ..FlowMod::default()
        });
    }

    /// Deletes all entries of flows from and to a slot, and those that drop packets of the device.
    pub fn delete_device(&mut self, slot: u16, mac: Mac) {
        let kinds = TAG | 0xF << 60;
        for shift in [42, 28] {
            self.delete_marked(TAG | u64::from(slot) << shift, kinds | SLOT << shift);
        }
        self.delete_source(mac);
    }

    /// Deletes all entries with these fields.
    pub fn delete(&mut self, fields: &[Oxm]) {
        self.flow_mod(&FlowMod {
            command: FlowCommand::Delete,
            matching: Match::new(fields),
            ..FlowMod::default()
        });
    }

    /// Deletes all entries that match a source MAC address.
    pub fn delete_source(&mut self, mac: Mac) {
        self.delete(&[Oxm::new(Field::EthSrc, wide(mac))]);
    }

    /// Sends a frame of the control program out of a port.
    pub fn send(&mut self, port: PortNo, frame: &[u8]) {
        self.send_through(PortNo::CONTROLLER, frame, &[Action::output(port)]);
    }

    /// Sends a frame with actions.
    pub fn send_through(&mut self, in_port: PortNo, frame: &[u8], actions: &[Action<'_>]) {
        let out = PacketOut {
            buffer: None,
            in_port,
            actions: actions.into(),
            data: frame,
        };
        self.unsent += u64::from(self.handle.packet_out(self.switch, &out).is_err());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_read_back() {
        for kind in [Kind::Base, Kind::Flow, Kind::Host, Kind::Drop] {
            for (from, to, serial) in [(0, 1, 0), (16_383, 0, 7), (5, 16_383, SERIAL as u32)] {
                for is_named in [false, true] {
                    let cookie = Cookie {
                        kind,
                        from,
                        to,
                        is_named,
                        serial,
                    };
                    assert_eq!(Cookie::from_wire(cookie.to_wire()), Some(cookie));
                }
            }
        }
        for foreign in [0, u64::MAX, 7 << 57] {
            assert_eq!(Cookie::from_wire(foreign), None);
        }
    }
}
