//! A learning switch on each switch: the paper's program.
//!
//! The source of each packet is learned at the port it came by. A packet to a learned address gets an entry, so that
//! those after it do not come here; any other packet is flooded, along the ports that
//! [`topology`](super::topology) has left open if that runs too.
//!
//! The stations at a port are forgotten, and the entries that lead there deleted, when the port's link goes down, and
//! when [`topology`](super::topology) finds that the paths between switches have changed.
//!
//! - **Parameters:** `idle_timeout`, 60 s, and `hard_timeout`, none: of entries. `priority`, 1, of entries. `exact`, false: whether
//!   entries match all headers of a packet instead of both addresses and the port, as they must behind a
//!   [`firewall`](super::firewall). `stations`, 65,536: how many addresses are known at once on each switch.
//! - **Counters:** `learned`, `moved`: stations that turned up at another port, whose entries are deleted; `flooded`,
//!   `forwarded`.

mod table;

use super::{App, Attachment, Handle, Headers, Verdict, is_live};
use crate::action::Action;
use crate::channel::Peer;
use crate::instruction::Instruction;
use crate::matching::Match;
use crate::message::{FlowCommand, FlowMod, PacketIn, PacketOut, PortReason, PortStatus};
use crate::oxm::{Field, Oxm};
use crate::port::PortNo;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use packet::ethernet::Mac;
use table::{Learned, Table};

/// Neighbours' own affairs, which no switch forwards: spanning tree, LLDP, pause.
const RESERVED: [u8; 5] = [0x01, 0x80, 0xC2, 0, 0];

/// What the program is made from.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Seconds without a packet after which an entry goes; 0 for never.
    pub idle_timeout: u16,
    /// Seconds after which an entry goes; 0 for never.
    pub hard_timeout: u16,
    /// The priority of entries.
    pub priority: u16,
    /// Whether entries match all headers of a packet.
    pub exact: bool,
    /// How many addresses are known at once on each switch, 1 to 16,777,216.
    pub stations: usize,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            idle_timeout: 60,
            hard_timeout: 0,
            priority: 1,
            exact: false,
            stations: 65_536,
        }
    }
}

/// A learning switch on each switch.
#[derive(Debug)]
pub struct Learning {
    config: Config,
    /// By [`Peer::index`].
    tables: Vec<Table>,
    learned: u64,
    moved: u64,
    flooded: u64,
    forwarded: u64,
}

impl Learning {
    /// One that has learned nothing.
    pub fn new(config: Config) -> Learning {
        Learning {
            config,
            tables: Vec::new(),
            learned: 0,
            moved: 0,
            flooded: 0,
            forwarded: 0,
        }
    }

    fn table(&mut self, switch: Peer) -> &mut Table {
        if self.tables.len() <= switch.index() {
            let most = self.config.stations;
            self.tables
                .resize_with(switch.index() + 1, || Table::new(most));
        }
        &mut self.tables[switch.index()]
    }

    fn flood(&mut self, switch: Peer, packet: &PacketIn<'_>, handle: &mut Handle<'_>) {
        self.flooded += 1;
        let in_port = packet.in_port();
        let ports = handle.network().flood_ports(switch, in_port);
        let actions: Option<Vec<_>> = ports.map(|ports| ports.map(Action::output).collect());
        let all = [Action::output(PortNo::FLOOD)];
        send(switch, packet, actions.as_deref().unwrap_or(&all), handle);
    }

    /// A station was seen elsewhere: what leads to where it was goes.
    fn forget_entries(&mut self, switch: Peer, station: Mac, handle: &mut Handle<'_>) {
        self.moved += 1;
        let fields = [Oxm::new(Field::EthDst, wide(station))];
        let delete = FlowMod {
            command: FlowCommand::Delete,
            table: 0,
            matching: Match::new(&fields[..]),
            ..FlowMod::default()
        };
        // The switch may be gone meanwhile.
        let _ = handle.flow_mod(switch, &delete);
    }

    /// Forgets what was learned at a port, since it leads nowhere, or elsewhere.
    fn forget_port(&mut self, switch: Peer, port: PortNo, handle: &mut Handle<'_>) {
        if self.table(switch).forget(port) {
            let delete = FlowMod {
                command: FlowCommand::Delete,
                table: 0,
                out_port: port,
                ..FlowMod::default()
            };
            // The switch may be gone meanwhile.
            let _ = handle.flow_mod(switch, &delete);
        }
    }

    fn forward(
        &mut self,
        switch: Peer,
        packet: &PacketIn<'_>,
        headers: &Headers,
        to: PortNo,
        handle: &mut Handle<'_>,
    ) {
        self.forwarded += 1;
        let in_port = packet.in_port();
        let actions = [Action::output(to)];
        let apply = [Instruction::ApplyActions((&actions[..]).into())];
        let plain;
        let exact;
        let fields = match self.config.exact {
            false => {
                plain = [
                    Oxm::new(Field::InPort, in_port.0.into()),
                    Oxm::new(Field::EthDst, wide(headers.destination)),
                    Oxm::new(Field::EthSrc, wide(headers.source)),
                ];
                &plain[..]
            }
            true => {
                exact = headers.fields(in_port);
                &exact.0[..exact.1]
            }
        };
        let flow = FlowMod {
            matching: Match::new(fields),
            priority: self.config.priority,
            idle_timeout: self.config.idle_timeout,
            hard_timeout: self.config.hard_timeout,
            buffer: packet.buffer,
            instructions: (&apply[..]).into(),
            ..FlowMod::default()
        };
        let sent = handle.flow_mod(switch, &flow);
        // The entry takes the packet along where the switch has kept it.
        if packet.buffer.is_none() || sent.is_err() {
            send(switch, packet, &actions, handle);
        }
    }
}

fn wide(mac: Mac) -> u128 {
    let [a, b, c, d, e, f] = mac.0;
    u64::from_be_bytes([0, 0, a, b, c, d, e, f]).into()
}

/// Sends the packet itself.
pub(super) fn send(
    switch: Peer,
    packet: &PacketIn<'_>,
    actions: &[Action<'_>],
    handle: &mut Handle<'_>,
) {
    let data = match packet.buffer {
        Some(_) => &[],
        None => packet.data,
    };
    let out = PacketOut {
        buffer: packet.buffer,
        in_port: packet.in_port(),
        actions: actions.into(),
        data,
    };
    // The switch may be gone meanwhile.
    let _ = handle.packet_out(switch, &out);
}

impl App for Learning {
    fn name(&self) -> &'static str {
        "learning"
    }

    fn switch_up(&mut self, switch: Peer, _handle: &mut Handle<'_>) {
        // The place may have been another switch's.
        self.table(switch).clear();
    }

    fn port_status(&mut self, switch: Peer, status: &PortStatus, handle: &mut Handle<'_>) {
        if !is_live(&status.port) || status.reason == PortReason::Delete {
            self.forget_port(switch, status.port.number, handle);
        }
    }

    fn paths_changed(&mut self, ports: &BTreeSet<Attachment>, handle: &mut Handle<'_>) {
        for at in ports {
            if let Some(switch) = handle.network().find(at.datapath) {
                self.forget_port(switch, at.port, handle);
            }
        }
    }

    fn packet_in(
        &mut self,
        switch: Peer,
        packet: &PacketIn<'_>,
        handle: &mut Handle<'_>,
    ) -> Verdict {
        let Some(headers) = packet.data.first_chunk::<14>() else {
            return Verdict::Pass;
        };
        let in_port = packet.in_port();
        let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, ..] = *headers;
        let (destination, source) = (Mac([d0, d1, d2, d3, d4, d5]), Mac([s0, s1, s2, s3, s4, s5]));
        if destination.0[..5] == RESERVED || handle.network().is_blocked(switch, in_port) {
            return Verdict::Pass;
        }
        let now = handle.now();
        let table = self.table(switch);
        let learned = match source.is_group() {
            true => Learned::Known,
            false => table.learn(wide(source) as u64, in_port, now),
        };
        let to = match destination.is_group() {
            true => None,
            false => table.find(wide(destination) as u64),
        };
        match learned {
            Learned::Known => {}
            Learned::New => self.learned += 1,
            Learned::Moved => self.forget_entries(switch, source, handle),
        }
        match to {
            None => self.flood(switch, packet, handle),
            // It is where it came from; the sender's own segment has delivered it.
            Some(to) if to == in_port => {}
            Some(to) => {
                let headers = match self.config.exact {
                    true => Headers::read(packet.data).unwrap_or_default(),
                    false => Headers {
                        destination,
                        source,
                        ..Headers::default()
                    },
                };
                self.forward(switch, packet, &headers, to, handle);
            }
        }
        Verdict::Done
    }

    fn counters(&self, visit: &mut dyn FnMut(&str, u64)) {
        visit("learned", self.learned);
        visit("moved", self.moved);
        visit("flooded", self.flooded);
        visit("forwarded", self.forwarded);
    }
}
