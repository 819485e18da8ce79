//! Entries that tests install.

use super::probe::headers;
use super::{Bench, Setup};
use crate::action::Action;
use crate::instruction::Instruction;
use crate::list::List;
use crate::matching::Match;
use crate::message::{ALL_TABLES, FlowCommand, FlowMod, Message};
use crate::oxm::{Field, Oxm};
use crate::port::PortNo;

/// The priority of entries for single flows.
pub const FLOW: u16 = 1000;

/// Deletes all entries of all tables.
pub fn delete_all(bench: &mut Bench<'_>) -> u32 {
    bench.send(&Message::FlowMod(FlowMod {
        command: FlowCommand::Delete,
        table: ALL_TABLES,
        ..FlowMod::default()
    }))
}

/// The match of a flow's probes, with what OpenFlow 1.3 wants there before it lets a port be set.
pub fn flow(setup: &Setup, flow: u32) -> [Oxm; 4] {
    let destination = headers::IP_DESTINATION.wrapping_add(flow);
    [
        Oxm::new(Field::InPort, setup.enters.0.into()),
        Oxm::new(Field::EthType, 0x0800),
        Oxm::new(Field::IpProto, 17),
        Oxm::new(Field::Ipv4Dst, destination.into()),
    ]
}

/// Sends a flow-mod for all that comes in by the probes' port.
pub fn everything(bench: &mut Bench<'_>, priority: u16, actions: &[Action<'_>]) -> u32 {
    let matching = Match::in_port(bench.setup().enters);
    flow_mod(bench, FlowCommand::Add, matching, priority, actions)
}

/// Sends a flow-mod for one flow.
pub fn one(
    bench: &mut Bench<'_>,
    command: FlowCommand,
    number: u32,
    actions: &[Action<'_>],
) -> u32 {
    let fields = flow(&bench.setup(), number);
    flow_mod(bench, command, Match::new(&fields), FLOW, actions)
}

fn flow_mod(
    bench: &mut Bench<'_>,
    command: FlowCommand,
    matching: Match<'_>,
    priority: u16,
    actions: &[Action<'_>],
) -> u32 {
    let instructions = [Instruction::ApplyActions(actions.into())];
    // An entry that drops has no instructions.
    let instructions = match actions.is_empty() || command.is_delete() {
        true => List::EMPTY,
        false => List::from(&instructions),
    };
    bench.send(&Message::FlowMod(FlowMod {
        command,
        matching,
        priority,
        instructions,
        ..FlowMod::default()
    }))
}

/// Output by the port at which probes are captured.
pub fn forward(setup: &Setup) -> Action<'static> {
    Action::output(setup.leaves)
}

/// Output to the controller, whole.
pub fn intercept() -> Action<'static> {
    Action::output(PortNo::CONTROLLER)
}

/// Sends a flow-mod for tagged probes; the paper's actions on a VLAN want a tag in the match.
pub fn tagged(bench: &mut Bench<'_>, actions: &[Action<'_>]) -> u32 {
    use crate::oxm::VLAN_PRESENT;
    let vlan = u128::from(VLAN_PRESENT) | u128::from(headers::VLAN);
    let fields = [
        Oxm::new(Field::InPort, bench.setup().enters.0.into()),
        Oxm::new(Field::VlanVid, vlan),
    ];
    flow_mod(bench, FlowCommand::Add, Match::new(&fields), FLOW, actions)
}
