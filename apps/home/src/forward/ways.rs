//! Both directions of a flow, as entries.

use crate::flows::FlowKey;
use crate::gateway::{Gateway, Result, Sender};
use crate::rules::{Kind, address, set_mac, wide};
use core::net::Ipv4Addr;
use openflow::action::Action;
use openflow::oxm::{Field, Oxm};
use openflow::port::PortNo;
use packet::ethernet::{Mac, ethertype};
use packet::ipv4::protocol;

/// One direction of a flow: its input and output ports.
pub(super) struct Way<'a> {
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
    fields.push(Oxm::new(Field::EthType, ethertype::IPV4.into()));
    fields.push(Oxm::new(Field::VlanVid, 0));
    if key.protocol != 0 {
        fields.push(Oxm::new(Field::IpProto, key.protocol.into()));
    }
    for (field, end) in [
        (Field::Ipv4Src, key.source),
        (Field::Ipv4Dst, key.destination),
    ] {
        if !end.is_unspecified() {
            fields.push(address(field, end));
        }
    }
    let names = match key.protocol {
        protocol::TCP => (Field::TcpSrc, Field::TcpDst),
        protocol::UDP => (Field::UdpSrc, Field::UdpDst),
        protocol::ICMP => (Field::Icmpv4Type, Field::Icmpv4Code),
        _ => return fields,
    };
    if let Some((source, destination)) = key.ports {
        fields.push(Oxm::new(names.0, source.into()));
        fields.push(Oxm::new(names.1, destination.into()));
    }
    fields
}

/// The key of the entry for all flows of a device to the Internet.
pub(super) fn host_key(device: Ipv4Addr) -> FlowKey {
    FlowKey {
        protocol: 0,
        source: device,
        destination: Ipv4Addr::UNSPECIFIED,
        ports: None,
    }
}

/// Both directions of a device's flow with the Internet.
pub(super) struct Ways {
    slot: u16,
    mac: Mac,
    pub in_port: PortNo,
    pub key: FlowKey,
    outward: [Action<'static>; 3],
    inward: [Action<'static>; 3],
}

impl Ways {
    pub(super) fn new(
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

    pub(super) fn of(&self, kind: Kind, gateway: &Gateway) -> [Way<'_>; 2] {
        let key = match kind {
            Kind::Host => host_key(self.key.source),
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
