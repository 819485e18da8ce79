//! Requests of hosts inside for port mappings, and announcements to them.

use super::{Border, NONE, Router, Transit, reason};
use crate::port_mapping::{
    CLIENT_PORT, GROUP, GROUP_V6, PORT, SSDP_GROUP, SSDP_PORT, UPNP_PORT, wants_v4,
};
use core::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use ip::header::{self, ETHERNET, Packet, TCP, UDP, UDP_HEADER};
use node::{Frame, Out, Time, When};

/// A request from the outside, or by another link than that of its sender.
const OUTSIDE: &str = "port mapping request not from its sender's link inside";

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

impl Router {
    /// Takes a packet for the router itself, whole and with right checksums. Returns it if it is no request for a port mapping.
    pub(super) fn map_ports(
        &mut self,
        now: Time,
        transit: &Transit,
        frame: Frame,
        packet: &Packet,
        out: &mut Out,
    ) -> Option<Frame> {
        if packet.source.is_ipv6() {
            return self.map_ports_v6(now, transit, frame, packet, out);
        }
        let has_server = |border: &&Border| border.server.is_some();
        let Some(border) = self.border.as_ref().filter(has_server) else {
            return Some(frame);
        };
        let (IpAddr::V4(source), IpAddr::V4(own)) = (packet.source, packet.destination) else {
            return Some(frame);
        };
        let data = &frame[packet.payload..packet.end];
        let to = match packet.protocol {
            UDP | TCP if data.len() >= UDP_HEADER => u16_at(data, 2),
            _ => return Some(frame),
        };
        let is_for_server = matches!(
            (packet.protocol, to),
            (UDP, PORT | SSDP_PORT) | (TCP, UPNP_PORT)
        );
        if transit.vrf != border.vrf || !is_for_server {
            return Some(frame);
        }
        let is_inside = !border.is_outside(transit.from) && !border.nat.is_external(own);
        if !is_inside || !self.comes_from_its_link(transit, &frame) {
            out.drop(frame, OUTSIDE);
            return None;
        }
        if packet.protocol == TCP {
            return self.control(now, transit, frame, packet, out);
        }
        let client = SocketAddrV4::new(source, u16_at(&frame[packet.payload..], 0));
        if to == SSDP_PORT {
            self.search(now, transit, client, frame, packet, out);
            return None;
        }
        let mut answer = core::mem::take(&mut self.answer);
        answer.clear();
        let request = &frame[packet.payload + UDP_HEADER..packet.end];
        let is_answered = self.border.as_mut().is_some_and(|border| {
            let (server, nat) = (&mut border.server, &mut border.nat);
            server
                .as_mut()
                .is_some_and(|server| server.datagram(now, nat, client, request, &mut answer))
        });
        out.done(frame);
        if is_answered {
            self.reply(
                now,
                transit,
                SocketAddrV4::new(own, PORT).into(),
                client.into(),
                &answer,
                out,
            );
        }
        self.answer = answer;
        None
    }

    /// The same of IPv6: a request of a host behind the NAT64, or for a pinhole in the firewall.
    fn map_ports_v6(
        &mut self,
        now: Time,
        transit: &Transit,
        frame: Frame,
        packet: &Packet,
        out: &mut Out,
    ) -> Option<Frame> {
        let data = &frame[packet.payload..packet.end];
        let is_request =
            packet.protocol == UDP && data.len() >= UDP_HEADER && u16_at(data, 2) == PORT;
        let IpAddr::V6(source) = packet.source else {
            return Some(frame);
        };
        let has_nat64 = self
            .crossing
            .as_mut()
            .is_some_and(|crossing| crossing.mapper(transit.vrf).is_some());
        let has_pinholes = self.vrfs[transit.vrf].name.is_none()
            && self
                .filter
                .as_ref()
                .is_some_and(|filter| filter.pinholes.is_some());
        if !is_request || !(has_nat64 || has_pinholes) {
            return Some(frame);
        }
        if self.is_outside(transit.from) || !self.comes_from_its_link(transit, &frame) {
            out.drop(frame, OUTSIDE);
            return None;
        }
        let client = SocketAddr::new(packet.source, u16_at(data, 0));
        let mut answer = core::mem::take(&mut self.answer);
        answer.clear();
        let request = &data[UDP_HEADER..];
        // The kind of the address that is asked for says which of both is meant.
        let for_nat64 = has_nat64 && (!has_pinholes || wants_v4(request));
        let mapper = self
            .crossing
            .as_mut()
            .filter(|_| for_nat64)
            .and_then(|crossing| crossing.mapper(transit.vrf));
        let pinholes = self
            .filter
            .as_mut()
            .and_then(|filter| filter.pinholes.as_mut());
        let is_answered = match (mapper, pinholes) {
            (Some((nat64, server)), _) => {
                server.datagram_v6(now, nat64, source, request, &mut answer)
            }
            (None, Some(pinholes)) => pinholes.datagram(now, source, request, &mut answer),
            (None, None) => false,
        };
        out.done(frame);
        if is_answered {
            let own = SocketAddr::new(packet.destination, PORT);
            self.reply(now, transit, own, client, &answer, out);
        }
        self.answer = answer;
        None
    }

    /// Whether a port is on the outside of the router's NAT or NAT64.
    fn is_outside(&self, port: u16) -> bool {
        let port = self.config.port.get(usize::from(port));
        port.is_some_and(|port| port.outside)
    }

    /// Announces the server for hosts behind the NAT64 on the links inside.
    pub(super) fn announce_v6(&mut self, now: Time, out: &mut Out) {
        while let Some(crossing) = &mut self.crossing {
            let vrf = crossing.vrf();
            let mapper = crossing.mapper(vrf);
            let announced =
                mapper.and_then(|(nat64, server)| server.poll_announcement(now, nat64.nat()));
            let Some([payload, _]) = announced else {
                return;
            };
            for number in 0..self.ports.len() {
                let is_inside = self.ports[number].vrf == vrf && !self.is_outside(number as u16);
                let interface = &mut self.ports[number].interface;
                let own = interface.source(GROUP_V6.into()).filter(|_| is_inside);
                if let (Some(own), Some(payload)) = (own, &payload) {
                    let mut frame = out.frame();
                    let to = SocketAddr::new(GROUP_V6.into(), CLIENT_PORT);
                    write(&mut frame, SocketAddr::new(own, PORT), to, payload);
                    interface.send(now, GROUP_V6.into(), When::Now, frame, out);
                }
            }
        }
    }

    /// Sends a datagram back.
    fn reply(
        &mut self,
        now: Time,
        transit: &Transit,
        from: SocketAddr,
        to: SocketAddr,
        payload: &[u8],
        out: &mut Out,
    ) {
        let mut frame = out.frame();
        write(&mut frame, from, to, payload);
        self.originate(now, transit.vrf, transit.from, frame, out);
    }

    /// Takes a segment for the control of the gateway.
    fn control(
        &mut self,
        now: Time,
        transit: &Transit,
        frame: Frame,
        packet: &Packet,
        out: &mut Out,
    ) -> Option<Frame> {
        let border = self.border.as_mut()?;
        let server = border.server.as_mut()?;
        let rest = server.segment(now, &mut border.nat, frame, packet, out);
        self.send_segments(now, transit.vrf, out);
        rest
    }

    fn send_segments(&mut self, now: Time, vrf: usize, out: &mut Out) {
        while let Some(border) = &mut self.border {
            let segment = border
                .server
                .as_mut()
                .and_then(|server| server.poll_segment());
            let Some(segment) = segment else {
                return;
            };
            self.originate(now, vrf, NONE, segment, out);
        }
    }

    /// Answers a search.
    fn search(
        &mut self,
        now: Time,
        transit: &Transit,
        client: SocketAddrV4,
        frame: Frame,
        packet: &Packet,
        out: &mut Out,
    ) {
        let own = self.address(usize::from(transit.from));
        let request = &frame[packet.payload + UDP_HEADER..packet.end];
        let server = self
            .border
            .as_mut()
            .and_then(|border| border.server.as_mut());
        let answers = own
            .zip(server)
            .map(|(own, server)| (own, server.search(now, own, request)));
        out.done(frame);
        let Some((own, answers)) = answers else {
            return;
        };
        for answer in answers {
            let from = SocketAddrV4::new(own, SSDP_PORT);
            self.reply(now, transit, from.into(), client.into(), &answer, out);
        }
    }

    /// Takes an IPv4 packet for a group. Returns it unless it is a search of a host inside.
    pub(super) fn search_group(
        &mut self,
        now: Time,
        transit: &Transit,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let is_here = |border: &Border| {
            let is_inside = border.vrf == transit.vrf && !border.is_outside(transit.from);
            border.server.is_some() && is_inside
        };
        let is_search = transit.destination == IpAddr::V4(SSDP_GROUP)
            && self.border.as_ref().is_some_and(is_here);
        let packet = is_search.then(|| header::read(&frame)).flatten();
        let packet = packet.filter(|packet| {
            let data = &frame[packet.payload..packet.end];
            let is_datagram = packet.protocol == UDP && data.len() >= UDP_HEADER;
            is_datagram && u16_at(data, 2) == SSDP_PORT && header::is_valid(&frame, packet)
        });
        let (Some(packet), IpAddr::V4(source)) = (packet, transit.source) else {
            return Some(frame);
        };
        if !self.comes_from_its_link(transit, &frame) {
            out.drop(frame, reason::SOURCE);
            return None;
        }
        let client = SocketAddrV4::new(source, u16_at(&frame[packet.payload..], 0));
        self.search(now, transit, client, frame, &packet, out);
        None
    }

    /// Whether a packet has come by the link on which its answer leaves.
    fn comes_from_its_link(&mut self, transit: &Transit, frame: &Frame) -> bool {
        let back = Transit {
            source: transit.destination,
            destination: transit.source,
            from: NONE,
            ..*transit
        };
        let hop = self.hop(&back, frame);
        hop.is_some_and(|hop| hop.port == Some(transit.from))
    }

    /// The first IPv4 address of a port.
    fn address(&self, port: usize) -> Option<Ipv4Addr> {
        let mut addresses = self.ports.get(port)?.interface.addresses();
        addresses.find_map(|own| match own.network.address {
            IpAddr::V4(address) => Some(address),
            IpAddr::V6(_) => None,
        })
    }

    /// Announces the server on the links inside, and drives its connections.
    pub(super) fn announce(&mut self, now: Time, out: &mut Out) {
        let Some(border) = &mut self.border else {
            return;
        };
        let Some(server) = &mut border.server else {
            return;
        };
        server.wake(now, &mut border.nat, out);
        let vrf = border.vrf;
        self.send_segments(now, vrf, out);
        while let Some(border) = &mut self.border {
            let server = border.server.as_mut();
            let announced = server.and_then(|server| server.poll_announcement(now, &border.nat));
            let Some(payloads) = announced else {
                break;
            };
            for port in 0..self.ports.len() {
                for payload in payloads.iter().flatten() {
                    self.send_to_group(now, port, (PORT, GROUP, CLIENT_PORT), payload, out);
                }
            }
        }
        for port in 0..self.ports.len() {
            let own = self.address(port);
            let server = self
                .border
                .as_ref()
                .and_then(|border| border.server.as_ref());
            let payloads = own
                .zip(server)
                .map(|(own, server)| server.notifications(now, own));
            for payload in payloads.into_iter().flatten() {
                let ends = (SSDP_PORT, SSDP_GROUP, SSDP_PORT);
                self.send_to_group(now, port, ends, &payload, out);
            }
        }
        if let Some(server) = self
            .border
            .as_mut()
            .and_then(|border| border.server.as_mut())
        {
            server.notified(now);
        }
    }

    /// Sends a datagram to a group on a link, if that is inside.
    fn send_to_group(
        &mut self,
        now: Time,
        port: usize,
        (from, group, to): (u16, Ipv4Addr, u16),
        payload: &[u8],
        out: &mut Out,
    ) {
        let own = self.address(port);
        let is_inside = self
            .border
            .as_ref()
            .is_some_and(|border| border.vrf == self.ports[port].vrf && !border.outside[port]);
        let Some(own) = own.filter(|_| is_inside) else {
            return;
        };
        let mut frame = out.frame();
        let (from, to) = (SocketAddrV4::new(own, from), SocketAddrV4::new(group, to));
        write(&mut frame, from.into(), to.into(), payload);
        let interface = &mut self.ports[port].interface;
        interface.send(now, group.into(), When::Now, frame, out);
    }
}

/// Writes a datagram into an empty frame.
fn write(frame: &mut Frame, from: SocketAddr, to: SocketAddr, payload: &[u8]) {
    frame.resize(ETHERNET + header::length(from.ip()) + UDP_HEADER);
    frame.extend(payload);
    header::write(frame, from.ip(), to.ip(), UDP);
    header::write_udp(frame, (from.ip(), from.port()), (to.ip(), to.port()));
}
