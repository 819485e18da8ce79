//! DNS messages, and frames from the router.

use super::{Gateway, ROUTER_INTERVAL, ROUTER_REFRESH, Result, Sender, key_of};
use crate::dns::Outgoing;
use crate::frame;
use crate::rules::Datapath;
use core::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use dhcp::datagram;
use dns::message::Transport;
use dns::reply::Client;
use node::Time;
use openflow::controller::Headers;
use openflow::port::PortNo;
use packet::arp::{Arp, Operation};
use packet::ethernet::{Mac, ethertype};
use packet::ipv4::protocol;

impl Gateway {
    pub(super) fn query(
        &mut self,
        now: Time,
        sender: &Sender,
        in_port: PortNo,
        data: &[u8],
        datapath: &mut Datapath<'_, '_>,
    ) -> Result {
        let Some(datagram) = datagram::read(data, 53) else {
            self.dns.ignore();
            return Err("malformed");
        };
        let client = Client {
            address: datagram.source,
            own: datagram.destination.ip(),
            link: in_port.0 as u16,
            mac: sender.mac.0,
            transport: Transport::Udp,
        };
        self.dns
            .query(now, client, datagram.payload, &mut self.outgoing);
        self.deliver(now, datapath);
        Ok(())
    }

    /// Sends the messages of DNS, and continues flows whose addresses have names now.
    pub(crate) fn deliver(&mut self, now: Time, datapath: &mut Datapath<'_, '_>) {
        while !self.outgoing.is_empty() {
            for outgoing in core::mem::take(&mut self.outgoing) {
                match outgoing {
                    Outgoing::Response(client, response) => {
                        self.respond(&client, &response, datapath);
                    }
                    Outgoing::Query(server, port, query) => {
                        self.ask(server, port, &query, datapath);
                    }
                    Outgoing::Reverse(address, name) => {
                        self.home.lock().names.note_reverse(now, address, name);
                        self.go_on(now, address, datapath);
                    }
                }
            }
        }
    }

    fn respond(&mut self, client: &Client, response: &[u8], datapath: &mut Datapath<'_, '_>) {
        let device = self
            .device(Mac(client.mac))
            .filter(|device| device.is_admitted);
        let Some(port) = device.and_then(|device| device.port) else {
            return self.drop("not admitted");
        };
        let macs = (self.settings.mac, Mac(client.mac));
        let from = SocketAddr::new(client.own, 53);
        let frame = self.frames.datagram(macs, from, client.address, response);
        datapath.send(PortNo(port), &frame);
        self.frames.done(frame);
    }

    /// Sends a query to a server. Without the router's MAC address the query is lost, and the forwarder repeats it.
    fn ask(
        &mut self,
        server: SocketAddr,
        port: u16,
        query: &[u8],
        datapath: &mut Datapath<'_, '_>,
    ) {
        let (Some(router), SocketAddr::V4(server)) = (self.router, server) else {
            return self.drop("no router");
        };
        let from = SocketAddrV4::new(self.plan.device(0), port);
        let frame = self
            .frames
            .datagram((self.settings.mac, router), from, server, query);
        datapath.send(PortNo(self.settings.uplink), &frame);
        self.frames.done(frame);
    }

    /// Handles a frame from the router.
    pub(super) fn handle_router_frame(
        &mut self,
        now: Time,
        data: &[u8],
        datapath: &mut Datapath<'_, '_>,
    ) -> Result {
        let headers = Headers::read(data).ok_or("malformed")?;
        if headers.payload != frame::IP {
            return Err("tagged");
        }
        let (mac, uplink) = (self.settings.mac, PortNo(self.settings.uplink));
        if headers.ethertype == ethertype::ARP {
            let arp = Arp::parse(&data[frame::IP..]).map_err(|_| "malformed")?;
            if arp.sender == self.plan.gateway(0) && !arp.sender_mac.is_group() {
                self.router = Some(arp.sender_mac);
            }
            let is_own = arp.target == self.plan.device(0);
            // The replies of the page for guests go to devices that wait, too.
            let has_page = self.settings.guests.is_some();
            let is_device = || {
                let device = self.home.lock().at(arp.target).map(Sender::of);
                device.is_some_and(|each| each.is_admitted || each.is_waiting && has_page)
            };
            if arp.operation == Operation::Request && (is_own || is_device()) {
                let reply = frame::arp(arp.sender_mac, mac, &arp.reply(mac));
                datapath.send(uplink, &reply);
            }
            return Ok(());
        }
        if headers.ethertype == ethertype::IPV6 {
            return self.six_from_router(now, &headers, data, datapath);
        }
        if headers.ethertype != ethertype::IPV4 || headers.destination != mac {
            return Err("not for the home");
        }
        let (_, destination) = headers.ipv4.ok_or("malformed")?;
        if Ipv4Addr::from(destination) != self.plan.device(0) {
            return self.inward(now, key_of(&headers, data)?, data, datapath);
        }
        if let Some(reply) = frame::pong(data, mac) {
            datapath.send(uplink, &reply);
            return Ok(());
        }
        let port = headers
            .transport
            .filter(|_| headers.protocol == Some(protocol::UDP));
        let (_, port) = port.ok_or("to the gateway")?;
        if !self.dns.has_port(port) {
            return Err("to the gateway");
        }
        let datagram = datagram::read(data, port).ok_or("malformed")?;
        let from = datagram.source;
        self.dns
            .response(now, from, port, datagram.payload, &mut self.outgoing);
        self.deliver(now, datapath);
        Ok(())
    }

    /// Sends an ARP request for the MAC address of the router.
    pub(super) fn find_router(&mut self, now: Time, datapath: &mut Datapath<'_, '_>) {
        let interval = match self.router {
            None => ROUTER_INTERVAL,
            Some(_) => ROUTER_REFRESH,
        };
        self.ask_router = now + interval;
        let (mac, own) = (self.settings.mac, self.plan.device(0));
        let request = Arp::request(mac, own, self.plan.gateway(0));
        let request = frame::arp(Mac::BROADCAST, mac, &request);
        datapath.send(PortNo(self.settings.uplink), &request);
    }
}
