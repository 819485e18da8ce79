//! IPv6 frames of devices and of the router.
//!
//! The gateway has one link-local address, and `::1` in each device's link. It needs no neighbour cache, because the slot of an
//! address determines its device. Unused addresses take no memory. The gateway answers neighbour solicitations for its own
//! addresses only.

use super::{Gateway, Result, Sender};
use crate::dhcpv6::Dhcpv6;
use crate::discovery::link_local;
use crate::frame::six::{self, Six};
use crate::home::Home;
use crate::rules::Datapath;
use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use dhcp::advertisement::read_solicitation;
use dhcp::datagram;
use dhcp::v6::message::{CLIENT_PORT, SERVER_PORT};
use ip::discovery::Message;
use ip::header;
use node::Time;
use openflow::controller::Headers;
use openflow::port::PortNo;
use packet::ethernet::{Mac, ethertype};

/// Types of messages of neighbour discovery (RFC 4861 section 4).
pub(super) const ROUTER_SOLICITATION: u8 = 133;
const ROUTER_ADVERTISEMENT: u8 = 134;
const NEIGHBOUR_SOLICITATION: u8 = 135;
const NEIGHBOUR_ADVERTISEMENT: u8 = 136;

impl Gateway {
    /// Handles an IPv6 packet of a device.
    pub(super) fn six(
        &mut self,
        now: Time,
        in_port: PortNo,
        headers: &Headers,
        data: &[u8],
        datapath: &mut Datapath<'_, '_>,
    ) -> Result {
        if !self.settings.ipv6 {
            return Err("ipv6");
        }
        let packet = six::read(data)?;
        let source = headers.source;
        if let Some(kind) = packet.discovery() {
            // Fragments and options are refused (RFC 6980).
            if packet.is_extended {
                return Err("bad neighbour discovery");
            }
            return self.discover(now, in_port, source, kind, data, datapath);
        }
        if packet.is_udp_to(CLIENT_PORT) {
            return Err("rogue DHCPv6");
        }
        let sender = self.device(source).filter(|sender| sender.is_admitted);
        if packet.is_udp_to(SERVER_PORT) {
            return self.answer_dhcpv6(now, sender, in_port, (source, &packet), data, datapath);
        }
        if packet.is_udp_to(dns::mdns::PORT) {
            self.hear(now, source, data);
        }
        let Some(sender) = sender else {
            self.home
                .lock()
                .needs_authentication(now, source, in_port.0);
            if self.may_drop(now, in_port) {
                self.block(source, in_port, ethertype::IPV6, None, datapath);
            }
            return Err("not admitted");
        };
        if packet.destination.is_multicast() {
            return Err("group");
        }
        self.check_owner(now, &sender, in_port, packet.source, datapath)?;
        self.check_port(&sender, in_port, datapath)?;
        if headers.destination != self.settings.mac {
            return Err("bypasses the gateway");
        }
        if packet.is_udp_to(53) {
            return self.query(now, &sender, in_port, data, datapath);
        }
        if self.is_gateway(sender.slot, packet.destination) {
            let reply = six::pong(data, self.settings.mac).ok_or("to the gateway")?;
            datapath.send(in_port, &reply);
            return Ok(());
        }
        // Packets from and to link-local addresses are not forwarded (RFC 4291 section 2.5.6).
        if packet.source.is_unicast_link_local() {
            return Err("no such address");
        }
        self.forward(now, &sender, in_port, packet.key(), data, datapath)
    }

    /// Checks that an address is the device's own: link-local, or of its network. A new one is recorded.
    fn check_owner(
        &mut self,
        now: Time,
        sender: &Sender,
        in_port: PortNo,
        source: Ipv6Addr,
        datapath: &mut Datapath<'_, '_>,
    ) -> Result {
        if source.is_unspecified() {
            return Err("no address");
        }
        let own = link_local(self.settings.mac);
        if source.is_unicast_link_local() && source != own {
            return Ok(());
        }
        let mut home = self.home.lock();
        let is_own = home.networks.slot(source) == Some(sender.slot);
        let is_old = home.networks.of(source).is_some_and(|network| {
            network.is_withdrawn && network.slot(source) == Some(sender.slot)
        });
        if is_own && !is_gateway_of(&home, sender.slot, source) {
            home.note_address(sender.mac, source);
            return Ok(());
        }
        drop(home);
        if is_old {
            return Err("withdrawn prefix");
        }
        self.spoofed(now, sender, in_port, source.into(), datapath);
        Err("spoofed")
    }

    /// Whether an address is the gateway's, as the device of a slot sees it.
    fn is_gateway(&self, slot: u16, address: Ipv6Addr) -> bool {
        address == link_local(self.settings.mac) || is_gateway_of(&self.home.lock(), slot, address)
    }

    /// Handles a message of neighbour discovery.
    fn discover(
        &mut self,
        now: Time,
        in_port: PortNo,
        source: Mac,
        kind: u8,
        data: &[u8],
        datapath: &mut Datapath<'_, '_>,
    ) -> Result {
        if kind == ROUTER_SOLICITATION {
            read_solicitation(data).ok_or("bad router solicitation")?;
            return self.solicited(now, in_port, source, datapath);
        }
        let sender = self.device(source).filter(|sender| sender.is_admitted);
        let sender = sender.ok_or("not admitted")?;
        let packet = header::read(data).ok_or("malformed")?;
        if !header::is_valid(data, &packet) {
            return Err("malformed");
        }
        match (kind, Message::read(data, &packet)) {
            (NEIGHBOUR_SOLICITATION, Some(Message::Solicitation { target, mac })) => {
                let IpAddr::V6(asker) = packet.source else {
                    return Err("malformed");
                };
                if mac.is_some_and(|mac| mac != sender.mac.0) {
                    return Err("spoofed");
                }
                self.solicited_neighbour(now, &sender, in_port, (asker, target), datapath)
            }
            (NEIGHBOUR_ADVERTISEMENT, Some(Message::Advertisement { target, .. })) => {
                // There is no cache that it could change.
                self.check_owner(now, &sender, in_port, target, datapath)
            }
            (ROUTER_ADVERTISEMENT, _) => Err("rogue router advertisement"),
            (NEIGHBOUR_SOLICITATION | NEIGHBOUR_ADVERTISEMENT, _) => Err("bad neighbour discovery"),
            _ => Err("rogue redirect"),
        }
    }

    /// Handles a router solicitation. A new device waits for a decision, as after a DHCP message.
    fn solicited(
        &mut self,
        now: Time,
        in_port: PortNo,
        source: Mac,
        datapath: &mut Datapath<'_, '_>,
    ) -> Result {
        let before = self.device(source);
        let sender = {
            let mut home = self.home.lock();
            let device = home.seen_at(now, source, None);
            device
                .map(|device| Sender::of(device))
                .map_err(|_| "no slot")?
        };
        // New devices get their slots before their first entries.
        self.obey(now, datapath);
        if before.is_none() || !sender.is_closed {
            self.set_port(&sender, in_port, datapath);
        }
        if !sender.is_admitted {
            self.home
                .lock()
                .needs_authentication(now, source, in_port.0);
            return Err("not admitted");
        }
        if !self.schedule.solicit(now, sender.slot) {
            return Err("router solicitation too soon");
        }
        self.advertise(now, datapath);
        Ok(())
    }

    fn solicited_neighbour(
        &mut self,
        now: Time,
        sender: &Sender,
        in_port: PortNo,
        (asker, target): (Ipv6Addr, Ipv6Addr),
        datapath: &mut Datapath<'_, '_>,
    ) -> Result {
        let (mac, is_probe) = (self.settings.mac, asker.is_unspecified());
        if !is_probe {
            self.check_owner(now, sender, in_port, asker, datapath)?;
            self.set_port(sender, in_port, datapath);
        }
        if self.is_gateway(sender.slot, target) {
            let to = (!is_probe).then_some(asker);
            let answer = six::advertisement(mac, target, sender.mac, to);
            datapath.send(in_port, &answer);
            return if is_probe { Err("spoofed") } else { Ok(()) };
        }
        if !is_probe || target.is_unicast_link_local() {
            // Other addresses are not on the link, and devices at one port see each other's link-local ones.
            return Ok(());
        }
        let checked = self.check_owner(now, sender, in_port, target, datapath);
        if checked == Err("spoofed") {
            // The owner is on another link and cannot hear the probe, so the gateway defends the address.
            let answer = six::advertisement(mac, target, sender.mac, None);
            datapath.send(in_port, &answer);
        }
        checked
    }

    fn answer_dhcpv6(
        &mut self,
        now: Time,
        sender: Option<Sender>,
        in_port: PortNo,
        (mac, packet): (Mac, &Six),
        data: &[u8],
        datapath: &mut Datapath<'_, '_>,
    ) -> Result {
        if sender.is_none() {
            self.dhcpv6.denied += 1;
        }
        if let Some(datagram) = datagram::read(data, Dhcpv6::PORT)
            && let Some(duid) = Dhcpv6::client(datagram.payload)
        {
            let mut home = self.home.lock();
            home.note(now, mac, |evidence| evidence.note_duid(mac, duid, None));
        }
        let sender = sender.ok_or("not admitted")?;
        let peer = packet.source;
        if !peer.is_unicast_link_local() || peer == link_local(self.settings.mac) {
            return Err("spoofed");
        }
        let message = datagram::read(data, Dhcpv6::PORT).ok_or("malformed")?;
        self.set_port(&sender, in_port, datapath);
        let networks = self.home.lock().networks;
        let way = (peer, packet.destination.is_multicast());
        let port = self
            .dhcpv6
            .handle(now, &networks, sender.slot, way, message.payload);
        if let Some(port) = port {
            let macs = (self.settings.mac, mac);
            let from = SocketAddr::new(link_local(self.settings.mac).into(), SERVER_PORT);
            let to = SocketAddr::new(peer.into(), port);
            let reply = &self.dhcpv6.reply;
            let frame = self.frames.datagram(macs, from, to, reply);
            datapath.send(in_port, &frame);
            self.frames.done(frame);
        }
        Ok(())
    }

    /// Handles an IPv6 packet from the router.
    pub(super) fn six_from_router(
        &mut self,
        now: Time,
        headers: &Headers,
        data: &[u8],
        datapath: &mut Datapath<'_, '_>,
    ) -> Result {
        if !self.settings.ipv6 {
            return Err("ipv6");
        }
        let (mac, uplink) = (self.settings.mac, PortNo(self.settings.uplink));
        let own = link_local(mac);
        let packet = six::read(data)?;
        if packet.discovery() == Some(NEIGHBOUR_SOLICITATION) {
            let read = header::read(data).filter(|read| header::is_valid(data, read));
            let message = read.and_then(|read| Message::read(data, &read));
            if let Some(Message::Solicitation { target, .. }) = message
                && target == own
                && !packet.source.is_unspecified()
            {
                let answer = six::advertisement(mac, own, headers.source, Some(packet.source));
                datapath.send(uplink, &answer);
            }
            return Ok(());
        }
        if packet.discovery().is_some() || packet.destination.is_multicast() {
            return Ok(());
        }
        if headers.destination != mac {
            return Err("not for the home");
        }
        if packet.destination != own {
            return self.inward(now, packet.key(), data, datapath);
        }
        if let Some(reply) = six::pong(data, mac) {
            datapath.send(uplink, &reply);
            return Ok(());
        }
        let message = datagram::read(data, CLIENT_PORT).ok_or("to the gateway")?;
        self.delegation.handle(now, message.payload);
        self.drive_delegation(now, datapath);
        Ok(())
    }
}

/// Whether an address is that of the gateway in the link of a slot.
fn is_gateway_of(home: &Home, slot: u16, address: Ipv6Addr) -> bool {
    let network = home.networks.of(address);
    network.is_some_and(|network| network.gateway(slot) == Some(address))
}
