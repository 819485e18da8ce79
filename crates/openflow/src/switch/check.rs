//! Whether actions and instructions can be carried out, before anything changes.

use super::datapath::Datapath;
use crate::action::Action;
use crate::fault::Fault;
use crate::instruction::Instruction;
use crate::key::{Field, Pattern, VLAN_PRESENT};
use crate::list::List;
use crate::port::PortNo;
use crate::version::Version;

/// What is known of the packets that actions will see: types, where a match or an action before names them.
#[derive(Clone, Copy, Debug, Default)]
struct Shape {
    eth_type: Option<u16>,
    ip_proto: Option<u8>,
    icmpv6_type: Option<u8>,
    tagged: Option<bool>,
}

impl Shape {
    fn of(pattern: &Pattern) -> Shape {
        let known = |field: Field| {
            let whole = pattern.mask.get(field) == field.max();
            whole.then(|| pattern.value.get(field))
        };
        let eth_type = known(Field::EthType).map(|value| value as u16);
        let ip = matches!(eth_type, Some(0x0800 | 0x86DD));
        let ip_proto = known(Field::IpProto)
            .filter(|_| ip)
            .map(|value| value as u8);
        let icmpv6 = eth_type == Some(0x86DD) && ip_proto == Some(58);
        let kind = known(Field::Icmpv6Type).filter(|_| icmpv6);
        let present = u128::from(VLAN_PRESENT);
        let tagged = pattern.mask.get(Field::VlanVid) & present != 0;
        Shape {
            eth_type,
            ip_proto,
            icmpv6_type: kind.map(|value| value as u8),
            tagged: tagged.then(|| pattern.value.get(Field::VlanVid) & present != 0),
        }
    }

    fn is_ip(&self) -> bool {
        matches!(self.eth_type, Some(0x0800 | 0x86DD))
    }

    fn is_mpls(&self) -> bool {
        matches!(self.eth_type, Some(0x8847 | 0x8848))
    }

    /// Whether packets have this field: its prerequisites (1.3.5 table 12).
    fn has(&self, field: Field) -> bool {
        use Field::*;
        let ip_with = |proto: u8| self.is_ip() && self.ip_proto == Some(proto);
        let icmpv6 = self.eth_type == Some(0x86DD) && self.ip_proto == Some(58);
        match field {
            InPort | InPhyPort | Metadata | EthDst | EthSrc | EthType | TunnelId => true,
            VlanVid | VlanPcp => self.tagged == Some(true),
            IpDscp | IpEcn | IpProto => self.is_ip(),
            Ipv4Src | Ipv4Dst => self.eth_type == Some(0x0800),
            TcpSrc | TcpDst => ip_with(6),
            UdpSrc | UdpDst => ip_with(17),
            SctpSrc | SctpDst => ip_with(132),
            Icmpv4Type | Icmpv4Code => self.eth_type == Some(0x0800) && self.ip_proto == Some(1),
            ArpOp | ArpSpa | ArpTpa | ArpSha | ArpTha => self.eth_type == Some(0x0806),
            Ipv6Src | Ipv6Dst | Ipv6Flabel | Ipv6Exthdr => self.eth_type == Some(0x86DD),
            Icmpv6Type | Icmpv6Code => icmpv6,
            Ipv6NdTarget => icmpv6 && matches!(self.icmpv6_type, Some(135 | 136)),
            Ipv6NdSll => icmpv6 && self.icmpv6_type == Some(135),
            Ipv6NdTll => icmpv6 && self.icmpv6_type == Some(136),
            MplsLabel | MplsTc | MplsBos => self.is_mpls(),
            PbbIsid => self.eth_type == Some(0x88E7),
        }
    }

    /// Takes an action into account; says whether it can apply. One that moves headers leaves types unknown.
    fn after(&mut self, action: &Action<'_>) -> bool {
        match *action {
            Action::SetField(oxm) => {
                if !self.has(oxm.field) {
                    return false;
                }
                match oxm.field {
                    Field::EthType => self.eth_type = Some(oxm.value as u16),
                    Field::IpProto => self.ip_proto = Some(oxm.value as u8),
                    Field::Icmpv6Type => self.icmpv6_type = Some(oxm.value as u8),
                    _ => {}
                }
            }
            Action::PushVlan(_) => self.tagged = Some(true),
            Action::PopVlan => {
                let can = self.tagged == Some(true);
                self.tagged = None;
                return can;
            }
            Action::PushMpls(kind) => self.become_(Some(kind)),
            Action::PopMpls(kind) => {
                let can = self.is_mpls();
                self.become_(Some(kind));
                return can;
            }
            Action::PushPbb(kind) => {
                self.become_(Some(kind));
                self.tagged = Some(false);
            }
            Action::PopPbb => {
                let can = self.eth_type == Some(0x88E7);
                self.become_(None);
                self.tagged = None;
                return can;
            }
            Action::SetNwTtl(_) | Action::DecNwTtl => return self.is_ip(),
            Action::SetMplsTtl(_) | Action::DecMplsTtl => return self.is_mpls(),
            Action::CopyTtlIn | Action::CopyTtlOut => return self.is_ip() || self.is_mpls(),
            _ => {}
        }
        true
    }

    fn become_(&mut self, eth_type: Option<u16>) {
        self.eth_type = eth_type;
        (self.ip_proto, self.icmpv6_type) = (None, None);
    }
}

impl Datapath {
    /// Whether these actions can be carried out. With a pattern, also whether they make sense for what it matches, which
    /// only 1.3 asks.
    pub(super) fn check_actions(
        &self,
        version: Version,
        actions: List<'_, Action<'_>>,
        pattern: Option<&Pattern>,
        in_packet_out: bool,
    ) -> Result<(), Fault> {
        let mut shape = pattern.map(Shape::of);
        for action in actions.iter() {
            match action {
                Action::Output { port, .. } => self.check_port(version, port, in_packet_out)?,
                Action::Enqueue { port, queue } => {
                    self.check_port(version, port, in_packet_out)?;
                    if queue != 0 && !self.has_queue(Some(port), queue) {
                        return Err(Fault::BadQueue);
                    }
                }
                Action::SetQueue(queue) if queue != 0 && !self.has_queue(None, queue) => {
                    return Err(Fault::BadQueue);
                }
                Action::Group(group) if !self.groups.has(group) => {
                    return Err(Fault::BadOutGroup);
                }
                Action::SetField(oxm) if !oxm.field.is_settable() => {
                    return Err(Fault::BadSetType);
                }
                Action::Experimenter { .. } => return Err(Fault::BadActionExperimenter),
                _ => {}
            }
            if version == Version::V13
                && let Some(shape) = &mut shape
                && !shape.after(&action)
            {
                return Err(Fault::MatchInconsistent);
            }
        }
        Ok(())
    }

    fn check_port(&self, version: Version, port: PortNo, in_packet_out: bool) -> Result<(), Fault> {
        let can = match port {
            PortNo::TABLE => in_packet_out,
            PortNo::IN_PORT | PortNo::NORMAL | PortNo::FLOOD | PortNo::ALL | PortNo::CONTROLLER => {
                true
            }
            // There is no network stack behind it. 1.0 requires it all the same, so that what goes there is dropped; in 1.3 it
            // is optional.
            PortNo::LOCAL => version == Version::V10,
            other => self.port_index(other.0).is_some(),
        };
        can.then_some(()).ok_or(Fault::BadOutPort)
    }

    /// Whether a table can have these instructions.
    pub(super) fn check_instructions(
        &self,
        version: Version,
        table: u8,
        instructions: List<'_, Instruction<'_>>,
        pattern: &Pattern,
    ) -> Result<(), Fault> {
        for instruction in instructions.iter() {
            match instruction {
                Instruction::GotoTable(next) if next <= table || !self.has_table(next) => {
                    return Err(Fault::BadInstructionTableId);
                }
                Instruction::ApplyActions(actions) => {
                    self.check_actions(version, actions, Some(pattern), false)?;
                }
                Instruction::WriteActions(actions) => {
                    // A set is carried out in an order of its own, behind other tables: types are not known here.
                    self.check_actions(version, actions, None, false)?;
                }
                Instruction::Meter(meter) if !self.meters.has(meter) => {
                    return Err(Fault::UnknownMeter);
                }
                Instruction::Experimenter { .. } => {
                    return Err(Fault::BadInstructionExperimenter);
                }
                _ => {}
            }
        }
        Ok(())
    }
}
