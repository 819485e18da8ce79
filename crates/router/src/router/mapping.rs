//! Requests of hosts inside for port mappings, and announcements to them.

use super::{Border, NONE, Router, Transit};
use crate::port_mapping::{CLIENT_PORT, GROUP, PORT};
use core::net::{IpAddr, SocketAddrV4};
use ip::header::{self, ETHERNET, Packet, UDP, UDP_HEADER};
use node::{Frame, Out, Time, When};

/// A request from the outside, or by another link than that of its sender.
const OUTSIDE: &str = "port mapping request not from its sender's link inside";
/// Bytes of an IPv4 header without options.
const IPV4_HEADER: usize = 20;

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
        let has_server = |border: &&Border| border.server.is_some();
        let Some(border) = self.border.as_ref().filter(has_server) else {
            return Some(frame);
        };
        let (IpAddr::V4(source), IpAddr::V4(own)) = (packet.source, packet.destination) else {
            return Some(frame);
        };
        let datagram = &frame[packet.payload..packet.end];
        if transit.vrf != border.vrf || packet.protocol != UDP || u16_at(datagram, 2) != PORT {
            return Some(frame);
        }
        let is_inside = !border.is_outside(transit.from) && !border.nat.is_external(own);
        if !is_inside || !self.comes_from_its_link(transit, &frame) {
            out.drop(frame, OUTSIDE);
            return None;
        }
        let mut answer = core::mem::take(&mut self.answer);
        answer.clear();
        let client = SocketAddrV4::new(source, u16_at(&frame[packet.payload..], 0));
        let request = &frame[packet.payload + UDP_HEADER..packet.end];
        let is_answered = self.border.as_mut().is_some_and(|border| {
            let (server, nat) = (&mut border.server, &mut border.nat);
            server
                .as_mut()
                .is_some_and(|server| server.datagram(now, nat, client, request, &mut answer))
        });
        out.done(frame);
        if is_answered {
            let mut frame = out.frame();
            let own = SocketAddrV4::new(own, PORT);
            write(&mut frame, own, client, &answer);
            self.originate(now, transit.vrf, transit.from, frame, out);
        }
        self.answer = answer;
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

    /// Announces the server on the links inside.
    pub(super) fn announce(&mut self, now: Time, out: &mut Out) {
        let Some(border) = &mut self.border else {
            return;
        };
        let Some(server) = &mut border.server else {
            return;
        };
        while let Some(payloads) = server.poll_announcement(now, &border.nat) {
            let ports = self.ports.iter_mut().zip(&border.outside);
            let inside = ports.filter(|(port, outside)| port.vrf == border.vrf && !**outside);
            for (port, _) in inside {
                let own = port
                    .interface
                    .addresses()
                    .find_map(|own| match own.network.address {
                        IpAddr::V4(address) => Some(address),
                        IpAddr::V6(_) => None,
                    });
                let Some(own) = own else {
                    continue;
                };
                for payload in payloads.iter().flatten() {
                    let mut frame = out.frame();
                    let from = SocketAddrV4::new(own, PORT);
                    write(
                        &mut frame,
                        from,
                        SocketAddrV4::new(GROUP, CLIENT_PORT),
                        payload,
                    );
                    port.interface
                        .send(now, GROUP.into(), When::Now, frame, out);
                }
            }
        }
    }
}

/// Writes a datagram into an empty frame.
fn write(frame: &mut Frame, from: SocketAddrV4, to: SocketAddrV4, payload: &[u8]) {
    frame.resize(ETHERNET + IPV4_HEADER + UDP_HEADER);
    frame.extend(payload);
    let (source, destination) = (IpAddr::V4(*from.ip()), IpAddr::V4(*to.ip()));
    header::write(frame, source, destination, UDP);
    header::write_udp(frame, (source, from.port()), (destination, to.port()));
}
