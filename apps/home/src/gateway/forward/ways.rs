//! Both directions of a flow, as entries.

use super::{Gateway, Result, Sender};
use crate::flows::FlowKey;
use crate::networks::DEVICE_LENGTH;
use crate::rules::{Kind, address, network6, set_mac, wide};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use dhcp::v6::message::masked;
use openflow::action::Action;
use openflow::oxm::{Field, Oxm};
use openflow::port::PortNo;
use packet::ethernet::{Mac, ethertype};
use packet::ipv4::protocol;

/// One direction of a flow: its input and output ports.
pub(crate) struct Way<'a> {
    pub key: FlowKey,
    pub in_port: PortNo,
    pub source: Option<Mac>,
    /// Slots of sender and receiver; 0 is the router.
    pub from: u16,
    pub to: u16,
    pub actions: &'a [Action<'a>],
}

/// The fields of an entry for a flow.
pub(super) fn fields(way: &Way<'_>, gateway: Mac) -> Vec<Oxm> {
    let key = &way.key;
    let mut fields = vec![
        Oxm::new(Field::InPort, way.in_port.0.into()),
        Oxm::new(Field::EthDst, wide(gateway)),
    ];
    fields.extend(way.source.map(|mac| Oxm::new(Field::EthSrc, wide(mac))));
    let kind = match key.source {
        IpAddr::V4(_) => ethertype::IPV4,
        IpAddr::V6(_) => ethertype::IPV6,
    };
    fields.push(Oxm::new(Field::EthType, kind.into()));
    fields.push(Oxm::new(Field::VlanVid, 0));
    if key.protocol != 0 {
        fields.push(Oxm::new(Field::IpProto, key.protocol.into()));
    }
    for (is_source, end) in [(true, key.source), (false, key.destination)] {
        match end {
            _ if end.is_unspecified() => {}
            IpAddr::V6(device) if key.protocol == 0 => {
                let field = if is_source {
                    Field::Ipv6Src
                } else {
                    Field::Ipv6Dst
                };
                fields.push(network6(field, (device, DEVICE_LENGTH)));
            }
            _ => fields.push(address(is_source, end)),
        }
    }
    let names = match key.protocol {
        protocol::TCP => (Field::TcpSrc, Field::TcpDst),
        protocol::UDP => (Field::UdpSrc, Field::UdpDst),
        protocol::ICMP => (Field::Icmpv4Type, Field::Icmpv4Code),
        protocol::ICMPV6 => (Field::Icmpv6Type, Field::Icmpv6Code),
        _ => return fields,
    };
    if let Some((source, destination)) = key.ports {
        fields.push(Oxm::new(names.0, source.into()));
        fields.push(Oxm::new(names.1, destination.into()));
    }
    fields
}

/// The key of the entry for all flows of a device to the Internet in one version of IP. Of IPv6 `own` is the device's network.
pub(super) fn host_key(own: IpAddr) -> FlowKey {
    FlowKey {
        protocol: 0,
        source: own,
        destination: match own {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        },
        ports: None,
    }
}

/// The address that stands for all addresses of a device: of IPv6 the first one of its network.
pub(super) fn whole(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => masked(address, DEVICE_LENGTH).into(),
    }
}

/// Both directions of a device's flow with the Internet.
pub(crate) struct Ways {
    slot: u16,
    mac: Mac,
    pub in_port: PortNo,
    pub key: FlowKey,
    outward: [Action<'static>; 3],
    inward: [Action<'static>; 3],
}

impl Ways {
    pub(crate) fn new(
        gateway: &Gateway,
        device: &Sender,
        in_port: PortNo,
        key: FlowKey,
    ) -> Result<Ways> {
        let (mac, uplink) = (gateway.settings.mac, PortNo(gateway.settings.uplink));
        let router = gateway.router.ok_or("no router")?;
        let actions = |to: Mac, by: PortNo| {
            [
                set_mac(Field::EthSrc, mac),
                set_mac(Field::EthDst, to),
                Action::output(by),
            ]
        };
        Ok(Ways {
            slot: device.slot,
            mac: device.mac,
            in_port,
            key,
            outward: actions(router, uplink),
            inward: actions(device.mac, in_port),
        })
    }

    pub(crate) fn of(&self, kind: Kind, gateway: &Gateway) -> [Way<'_>; 2] {
        let key = match kind {
            Kind::Host => host_key(whole(self.key.source)),
            _ => self.key,
        };
        [
            Way {
                key,
                in_port: self.in_port,
                source: Some(self.mac),
                from: self.slot,
                to: 0,
                actions: &self.outward,
            },
            Way {
                key: key.reverse(),
                in_port: PortNo(gateway.settings.uplink),
                source: None,
                from: 0,
                to: self.slot,
                actions: &self.inward,
            },
        ]
    }
}
