//! IPv6 prefixes: from the provider to the entries of the switch and the advertisements of devices.

use super::six::ROUTER_SOLICITATION;
use super::{Gateway, Sender};
use crate::delegation::Delegated;
use crate::discovery::{self, link_local};
use crate::networks::Network;
use crate::rules::{Cookie, Datapath, Kind, Rule, network6, priority};
use core::net::SocketAddr;
use dhcp::v6::message::{ALL_SERVERS, CLIENT_PORT, SERVER_PORT};
use ip::discovery::group_mac;
use node::Time;
use openflow::action::Action;
use openflow::oxm::{Field, Oxm};
use openflow::port::PortNo;
use packet::ethernet::{Mac, ethertype};
use packet::ipv4::protocol;

impl Gateway {
    /// Sends the messages of the client for the prefix, and follows the prefix.
    pub(super) fn drive_delegation(&mut self, now: Time, datapath: &mut Datapath<'_, '_>) {
        let mut changed = Vec::new();
        while self.delegation.poll(now, &mut changed) {
            let group = Mac(group_mac(ALL_SERVERS.into()).unwrap_or_default());
            let from = SocketAddr::new(link_local(self.settings.mac).into(), CLIENT_PORT);
            let to = SocketAddr::new(ALL_SERVERS.into(), SERVER_PORT);
            let frame = self.frames.datagram(
                (self.settings.mac, group),
                from,
                to,
                &self.delegation.message,
            );
            datapath.send(PortNo(self.settings.uplink), &frame);
            self.frames.done(frame);
        }
        for change in changed {
            self.follow_prefix(now, &change, datapath);
        }
    }

    fn follow_prefix(&mut self, now: Time, change: &Delegated, datapath: &mut Datapath<'_, '_>) {
        let mut home = self.home.lock();
        let (gone, is_new) = match *change {
            Delegated::Nothing => (home.networks.withdraw_others(now, None), false),
            Delegated::Prefix(address, length, [preferred, valid]) => {
                let Ok(network) = Network::new(address, length, preferred, valid) else {
                    return;
                };
                let keep = Some((address, length));
                let gone = home.networks.withdraw_others(now, keep);
                (gone, home.networks.set(network))
            }
        };
        drop(home);
        self.end_networks(&gone, datapath);
        if is_new {
            self.add_networks(datapath);
        }
        if is_new || !gone.is_empty() {
            self.prefixes += u64::from(is_new);
            self.advertise_to_all(now, datapath);
        }
    }

    /// Advertises the networks to all permitted devices.
    fn advertise_to_all(&mut self, now: Time, datapath: &mut Datapath<'_, '_>) {
        let admitted: Vec<u16> = {
            let home = self.home.lock();
            let admitted = home.devices().filter(|device| device.is_admitted());
            admitted.map(|device| device.slot).collect()
        };
        for slot in admitted {
            self.schedule.change(now, slot);
        }
        self.advertise(now, datapath);
    }

    /// Adds the entries for addresses of the home.
    pub(super) fn add_networks(&mut self, datapath: &mut Datapath<'_, '_>) {
        let networks = self.home.lock().networks;
        for network in networks.usable() {
            let fields = [
                Oxm::new(Field::EthType, ethertype::IPV6.into()),
                network6(Field::Ipv6Dst, (network.address, network.length)),
            ];
            datapath.add(&Rule {
                fields: &fields,
                priority: priority::LOCAL,
                cookie: Cookie::of(Kind::Base),
                idle: 0,
                actions: &[Action::output(PortNo::CONTROLLER)],
            });
        }
    }

    /// Deletes the entries of networks that are gone.
    fn end_networks(&mut self, gone: &[Network], datapath: &mut Datapath<'_, '_>) {
        for network in gone {
            for field in [Field::Ipv6Src, Field::Ipv6Dst] {
                datapath.delete(&[
                    Oxm::new(Field::EthType, ethertype::IPV6.into()),
                    network6(field, (network.address, network.length)),
                ]);
            }
        }
    }

    /// Adds the initial entries of IPv6, or the one that drops it.
    pub(super) fn install_six(&mut self, datapath: &mut Datapath<'_, '_>) {
        let kind = Oxm::new(Field::EthType, ethertype::IPV6.into());
        let to_program = [Action::output(PortNo::CONTROLLER)];
        let mut add = |fields: &[Oxm], priority, actions: &[Action<'_>]| {
            datapath.add(&Rule {
                fields,
                priority,
                cookie: Cookie::of(match actions {
                    [] => Kind::Drop,
                    _ => Kind::Base,
                }),
                idle: 0,
                actions,
            });
        };
        if !self.settings.ipv6 {
            return add(&[kind], priority::PROTOCOL, &[]);
        }
        let upper = |number: u8, field, value: u16| {
            [
                kind,
                Oxm::new(Field::IpProto, number.into()),
                Oxm::new(field, value.into()),
            ]
        };
        let udp = |port| upper(protocol::UDP, Field::UdpDst, port);
        add(&udp(SERVER_PORT), priority::DHCP, &to_program);
        add(&udp(53), priority::PROTOCOL, &to_program);
        for message in ROUTER_SOLICITATION..=137 {
            let fields = upper(protocol::ICMPV6, Field::Icmpv6Type, message.into());
            add(&fields, priority::DHCP, &to_program);
        }
        self.add_networks(datapath);
    }

    /// Applies a decision: advertises prefixes to a permitted device, and lifetimes of zero to any other.
    pub(super) fn follow_six(
        &mut self,
        now: Time,
        mac: Mac,
        slot: u16,
        datapath: &mut Datapath<'_, '_>,
    ) {
        if !self.settings.ipv6 {
            return;
        }
        let device = self.device(mac);
        if device.is_some_and(|device| device.is_admitted) {
            self.schedule.change(now, slot);
            self.advertise(now, datapath);
        } else if self.schedule.remove(slot) {
            let port = device.and_then(|device| device.port);
            self.send_advertisement(now, (mac, slot), port, true, datapath);
        }
        if device.is_none_or(|device| !device.is_admitted)
            && let Some(device) = self.home.lock().device_mut(mac)
        {
            device.addresses.clear();
        }
    }

    /// Sends the advertisements that are due.
    pub(super) fn advertise(&mut self, now: Time, datapath: &mut Datapath<'_, '_>) {
        while let Some(slot) = self.schedule.due(now) {
            let device = self.home.lock().of_slot(slot).map(Sender::of);
            match device.filter(|device| device.is_admitted) {
                Some(device) => {
                    let to = (device.mac, slot);
                    self.send_advertisement(now, to, device.port, false, datapath);
                }
                None => {
                    self.schedule.remove(slot);
                }
            }
        }
    }

    fn send_advertisement(
        &mut self,
        now: Time,
        (mac, slot): (Mac, u16),
        port: Option<u32>,
        is_last: bool,
        datapath: &mut Datapath<'_, '_>,
    ) {
        let networks = self.home.lock().networks;
        // A device whose port is unknown sends a solicitation first. Without a network there is nothing to advertise.
        let Some(port) = port.filter(|_| networks.iter().next().is_some()) else {
            return;
        };
        let one = discovery::advertisement(now, &networks, slot, is_last);
        if !one.prefixes.is_empty() {
            self.advertisements += 1;
            let frame = discovery::frame(self.settings.mac, mac, &one);
            datapath.send(PortNo(port), &frame);
        } else {
            self.drop("no room in the prefix");
        }
    }

    /// Handles timers: messages for the prefix, advertisements, expiry of leases and networks.
    pub(super) fn wake_six(&mut self, now: Time, datapath: &mut Datapath<'_, '_>) {
        if !self.settings.ipv6 {
            return;
        }
        self.dhcpv6.wake(now);
        let gone = self.home.lock().networks.expire(now);
        if !gone.is_empty() {
            self.end_networks(&gone, datapath);
            self.advertise_to_all(now, datapath);
        }
        self.drive_delegation(now, datapath);
        self.advertise(now, datapath);
    }

    /// Time of the next call of [`wake_six`](Gateway::wake_six).
    pub(super) fn next_six(&self) -> Option<Time> {
        if !self.settings.ipv6 {
            return None;
        }
        let times = [
            self.dhcpv6.next_wake(),
            self.delegation.next_wake(),
            self.schedule.next(),
            self.home.lock().networks.next_end(),
        ];
        times.into_iter().flatten().min()
    }
}
