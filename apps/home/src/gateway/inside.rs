//! Frames from devices.

use super::eapol::EAPOL;
use super::{Gateway, Result, Sender, key_of};
use crate::frame;
use crate::groups::Receiver;
use crate::home::News;
use crate::rules::{Cookie, Datapath, Kind, Rule, address, priority, wide};
use core::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use dhcp::datagram;
use dns::mdns;
use node::Time;
use openflow::controller::Headers;
use openflow::oxm::{Field, Oxm};
use openflow::port::PortNo;
use packet::arp::{Arp, Operation};
use packet::ethernet::{Mac, ethertype};
use packet::ipv4::protocol;

impl Gateway {
    /// Handles a frame from a device.
    pub(super) fn handle_device_frame(
        &mut self,
        now: Time,
        in_port: PortNo,
        data: &[u8],
        datapath: &mut Datapath<'_, '_>,
    ) -> Result {
        let headers = Headers::read(data).ok_or("malformed")?;
        let source = headers.source;
        if source.is_group() || source == Mac::default() || source == self.settings.mac {
            return Err("bad source");
        }
        if Some(in_port.0) == self.settings.authenticator {
            let (kind, to) = (headers.ethertype, headers.destination);
            return self.eapol_of_authenticator(kind, to, data, datapath);
        }
        if headers.payload != frame::IP {
            return Err("tagged");
        }
        let is_ip = headers.ethertype == ethertype::IPV4;
        if self.is_authenticated_elsewhere(source, in_port) {
            let is_known = [ethertype::IPV4, ethertype::IPV6].contains(&headers.ethertype);
            if is_known && self.may_drop(now, in_port) {
                self.block(source, in_port, headers.ethertype, None, datapath);
            }
            return Err("authenticated at another port");
        }
        let udp_port = headers
            .transport
            .filter(|_| headers.protocol == Some(protocol::UDP));
        if is_ip && udp_port.is_some_and(|(_, to)| to == 67) {
            self.answer_dhcp(now, in_port, source, data, datapath);
            return Ok(());
        }
        if headers.ethertype == EAPOL {
            return self.eapol(now, source, in_port, data, datapath);
        }
        if headers.ethertype == ethertype::IPV6 {
            return self.six(now, in_port, &headers, data, datapath);
        }
        let sender = self.device(source).filter(|sender| !sender.is_closed);
        if sender.is_some() && is_ip && udp_port.is_some_and(|(_, to)| to == mdns::PORT) {
            self.hear(now, source, data);
        }
        if let Some(sender) = sender
            && headers.ethertype == ethertype::ARP
        {
            if !sender.is_admitted {
                self.home
                    .lock()
                    .needs_authentication(now, source, in_port.0);
            }
            return self.arp(now, &sender, in_port, data, datapath);
        }
        if let Some(sender) = sender
            && self.is_for_guests(&headers)
        {
            return self.ask_guests_page(&sender, in_port, &headers, data, datapath);
        }
        let Some(sender) = sender.filter(|sender| sender.is_admitted) else {
            self.home
                .lock()
                .needs_authentication(now, source, in_port.0);
            if is_ip && self.may_drop(now, in_port) {
                self.block(source, in_port, ethertype::IPV4, None, datapath);
            }
            return Err("not admitted");
        };
        match headers.ethertype {
            ethertype::IPV4 => self.ipv4(now, &sender, in_port, &headers, data, datapath),
            _ => Err("not ip"),
        }
    }

    /// Notes the names that a device announces by multicast DNS.
    pub(super) fn hear(&self, now: Time, source: Mac, data: &[u8]) {
        if let Some(datagram) = datagram::read(data, mdns::PORT) {
            let mut home = self.home.lock();
            home.note(now, source, |evidence| evidence.note_mdns(datagram.payload));
        }
    }

    /// Drops one version of IP from a MAC address at a port: all, or from this source address.
    pub(super) fn block(
        &self,
        mac: Mac,
        port: PortNo,
        version: u16,
        source: Option<IpAddr>,
        datapath: &mut Datapath<'_, '_>,
    ) {
        let mut fields = vec![
            Oxm::new(Field::InPort, port.0.into()),
            Oxm::new(Field::EthSrc, wide(mac)),
            Oxm::new(Field::EthType, version.into()),
        ];
        fields.extend(source.map(|source| address(true, source)));
        datapath.add(&Rule {
            fields: &fields,
            priority: priority::DEVICE,
            cookie: Cookie {
                from: self.slots.get(&mac).copied().unwrap_or(0),
                ..Cookie::of(Kind::Drop)
            },
            idle: self.settings.idle,
            actions: &[],
        });
    }

    /// Reports that a device used an address that is not its own, and drops its packets from that address.
    pub(super) fn spoofed(
        &mut self,
        now: Time,
        sender: &Sender,
        port: PortNo,
        source: IpAddr,
        datapath: &mut Datapath<'_, '_>,
    ) {
        if self.may_drop(now, port) {
            self.home
                .lock()
                .notify(now, sender.mac, News::Spoofed(source));
            let version = match source {
                IpAddr::V4(_) => ethertype::IPV4,
                IpAddr::V6(_) => ethertype::IPV6,
            };
            self.block(sender.mac, port, version, Some(source), datapath);
        }
    }

    fn answer_dhcp(
        &mut self,
        now: Time,
        in_port: PortNo,
        source: Mac,
        data: &[u8],
        datapath: &mut Datapath<'_, '_>,
    ) {
        let before = self.device(source).and_then(|device| device.port);
        let home = self.home.clone();
        let answer = self
            .dhcp
            .handle(now, &mut home.lock(), in_port.0, source, data);
        if before.is_some_and(|port| port != in_port.0) {
            self.has_moved(source, datapath);
        }
        home.lock().needs_authentication(now, source, in_port.0);
        // New devices get their slots before their first entries.
        self.obey(now, datapath);
        if let Some(answer) = answer {
            let macs = (self.settings.mac, answer.to);
            let reply = &self.dhcp.reply;
            let frame = self
                .frames
                .datagram(macs, answer.source, answer.destination, reply);
            datapath.send(in_port, &frame);
            self.frames.done(frame);
        }
    }

    /// Deletes the entries of a device that has moved to another port: they lead to the old one.
    pub(super) fn has_moved(&mut self, mac: Mac, datapath: &mut Datapath<'_, '_>) {
        self.moved += 1;
        if let Some(slot) = self.slots.get(&mac) {
            datapath.delete_device(*slot, mac);
        }
    }

    /// Checks that a packet comes from its sender's port. Only DHCP, ARP and neighbour discovery move a device.
    pub(super) fn check_port(
        &mut self,
        sender: &Sender,
        in_port: PortNo,
        datapath: &mut Datapath<'_, '_>,
    ) -> Result {
        match sender.port {
            None => self.set_port(sender, in_port, datapath),
            Some(port) if port == in_port.0 => {}
            Some(_) => return Err("other port"),
        }
        Ok(())
    }

    pub(super) fn set_port(
        &mut self,
        sender: &Sender,
        port: PortNo,
        datapath: &mut Datapath<'_, '_>,
    ) {
        if sender.port == Some(port.0) {
            return;
        }
        if let Some(device) = self.home.lock().device_mut(sender.mac) {
            device.port = Some(port.0);
        }
        if sender.port.is_some() {
            self.has_moved(sender.mac, datapath);
        }
    }

    /// Answers ARP of a device: its gateway has all addresses but the device's own.
    fn arp(
        &mut self,
        now: Time,
        sender: &Sender,
        in_port: PortNo,
        data: &[u8],
        datapath: &mut Datapath<'_, '_>,
    ) -> Result {
        let arp = Arp::parse(&data[frame::IP..]).map_err(|_| "malformed")?;
        let own = self.plan.device(sender.slot);
        let is_probe = arp.sender.is_unspecified();
        if arp.sender_mac != sender.mac || !(is_probe || arp.sender == own) {
            if self.plan.holds(arp.sender) {
                self.spoofed(now, sender, in_port, arp.sender.into(), datapath);
            }
            return Err("spoofed");
        }
        if !is_probe {
            self.set_port(sender, in_port, datapath);
        }
        let is_gateway = arp.target == self.plan.gateway(sender.slot);
        let is_other = sender.is_admitted && self.plan.holds(arp.target) && arp.target != own;
        if arp.operation == Operation::Request && (is_gateway || (is_other && !is_probe)) {
            let mac = self.settings.mac;
            let reply = frame::arp(sender.mac, mac, &arp.reply(mac));
            datapath.send(in_port, &reply);
        }
        Ok(())
    }

    fn ipv4(
        &mut self,
        now: Time,
        sender: &Sender,
        in_port: PortNo,
        headers: &Headers,
        data: &[u8],
        datapath: &mut Datapath<'_, '_>,
    ) -> Result {
        let (source, destination) = headers.ipv4.ok_or("malformed")?;
        let (source, destination) = (Ipv4Addr::from(source), Ipv4Addr::from(destination));
        if source.is_unspecified() {
            return Err("no address");
        }
        if source != self.plan.device(sender.slot) {
            self.spoofed(now, sender, in_port, source.into(), datapath);
            return Err("spoofed");
        }
        self.check_port(sender, in_port, datapath)?;
        let gateway = self.plan.gateway(sender.slot);
        let is_group = destination.is_multicast()
            || destination.is_broadcast()
            || destination == frame::broadcast_of(gateway);
        if is_group {
            let receivers = self.receivers(sender.slot);
            let is_udp = headers.protocol == Some(protocol::UDP);
            let ports = headers.transport.filter(|_| is_udp);
            self.groups.handle(
                now,
                (sender.slot, in_port),
                (destination, ports),
                data,
                &receivers,
                datapath,
            );
            return Ok(());
        }
        if headers.destination != self.settings.mac {
            return Err("bypasses the gateway");
        }
        if headers.protocol == Some(protocol::UDP)
            && let Some((_, 53)) = headers.transport
        {
            return self.query(now, sender, in_port, data, datapath);
        }
        if destination == gateway || destination == self.plan.device(0) {
            return self.handle_own(now, sender, in_port, headers, data, datapath);
        }
        let key = key_of(headers, data)?;
        self.forward(now, sender, in_port, key, data, datapath)
    }

    /// Permitted devices with known ports, except this slot.
    fn receivers(&self, but: u16) -> Vec<Receiver> {
        let home = self.home.lock();
        let devices = home
            .devices()
            .filter(|device| device.is_admitted() && device.slot != but);
        devices
            .filter_map(|device| {
                Some(Receiver {
                    mac: device.mac,
                    slot: device.slot,
                    port: device.port?,
                })
            })
            .collect()
    }

    /// Handles a packet to the gateway itself: pings, and responses to SSDP searches.
    fn handle_own(
        &mut self,
        now: Time,
        sender: &Sender,
        in_port: PortNo,
        headers: &Headers,
        data: &[u8],
        datapath: &mut Datapath<'_, '_>,
    ) -> Result {
        if let Some(reply) = frame::pong(data, self.settings.mac) {
            datapath.send(in_port, &reply);
            return Ok(());
        }
        let port = headers
            .transport
            .filter(|_| headers.protocol == Some(protocol::UDP));
        let (_, port) = port.ok_or("to the gateway")?;
        let response = self.groups.search_response(now, port, data);
        let (searcher, payload) = response.ok_or("to the gateway")?;
        let receiver = self.home.lock().at(*searcher.ip()).map(Sender::of);
        let receiver =
            receiver.filter(|receiver| receiver.is_admitted && receiver.slot != sender.slot);
        let receiver = receiver.ok_or("no receiver")?;
        let port = receiver.port.ok_or("no receiver")?;
        let from = SocketAddrV4::new(self.plan.gateway(receiver.slot), dns::ssdp::PORT);
        let macs = (self.settings.mac, receiver.mac);
        let frame = self.frames.datagram(macs, from, searcher, payload);
        datapath.send(PortNo(port), &frame);
        self.frames.done(frame);
        Ok(())
    }
}
