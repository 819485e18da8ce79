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
use crate::version::Version;
use alloc::vec;
use alloc::vec::Vec;

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

/// Fields that the entry of a flow matches. Switches keep exact entries in hash tables, others in TCAMs or searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Matching {
    /// The port, the protocols and the destination address; all else is a wildcard.
    #[default]
    Wildcard,
    /// All twelve fields of OpenFlow 1.0, without a wildcard.
    Exact,
}

/// The match of a flow's probes, with the fields that OpenFlow 1.3 requires before an action may set a port.
fn flow(setup: &Setup, matching: Matching, flow: u32) -> Vec<Oxm> {
    let destination = headers::IP_DESTINATION.wrapping_add(flow);
    let mut fields = vec![
        Oxm::new(Field::InPort, setup.enters.0.into()),
        Oxm::new(Field::EthType, 0x0800),
        Oxm::new(Field::IpProto, 17),
        Oxm::new(Field::Ipv4Dst, destination.into()),
    ];
    if matching == Matching::Exact {
        let address = |bytes: [u8; 6]| {
            bytes
                .iter()
                .fold(0, |all, &byte| all << 8 | u128::from(byte))
        };
        fields.extend([
            Oxm::new(Field::EthDst, address(headers::DESTINATION)),
            Oxm::new(Field::EthSrc, address(headers::SOURCE)),
            // No tag.
            Oxm::new(Field::VlanVid, 0),
            Oxm::new(Field::IpDscp, 0),
            Oxm::new(
                Field::Ipv4Src,
                u32::from_be_bytes(headers::IP_SOURCE).into(),
            ),
            Oxm::new(Field::UdpSrc, headers::UDP_SOURCE.into()),
            Oxm::new(Field::UdpDst, headers::UDP_DESTINATION.into()),
        ]);
        // 1.3 lets only tagged frames be asked for a priority.
        if setup.version == Version::V10 {
            fields.push(Oxm::new(Field::VlanPcp, 0));
        }
    }
    fields
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
    (matching, number): (Matching, u32),
    actions: &[Action<'_>],
) -> u32 {
    let fields = flow(&bench.setup(), matching, number);
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
        Oxm::new(Field::EthType, 0x0800),
        Oxm::new(Field::IpProto, 17),
    ];
    flow_mod(bench, FlowCommand::Add, Match::new(&fields), FLOW, actions)
}
