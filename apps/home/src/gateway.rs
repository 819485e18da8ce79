//! The control program of a home's switch: it takes each packet without an entry to the part that deals with it.
//!
//! One program holds all parts, since they need each other: a flow is judged by the names that DNS has seen, and the name of
//! an address is asked for through the forwarder. A packet is looked at in a fixed order, and what no part permits is
//! dropped and counted by its reason.

use crate::device::Device;
use crate::dhcp::{self, Dhcp};
use crate::dns::{self, Denied, Dns, Outgoing};
use crate::flows::Flows;
use crate::frame::{self, Frames};
use crate::groups::{Groups, Receiver};
use crate::home::{Change, Home, News, Notice, Shared};
use crate::plan::Plan;
use crate::record::{LeaseRow, Record};
use crate::rules::{Cookie, Datapath, Kind, Rule, address, network, priority, wide};
use ::dhcp::datagram;
use ::dns::reply::Client;
use core::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use node::Time;
use openflow::action::Action;
use openflow::channel::Peer;
use openflow::controller::{App, Handle, Headers, Token, Verdict};
use openflow::message::{FlowRemoved, MultipartReply, PacketIn, PortReason, PortStatus};
use openflow::oxm::{Field, Oxm};
use openflow::port::PortNo;
use packet::arp::{Arp, Operation};
use packet::ethernet::{Mac, ethertype};
use packet::ipv4::protocol;
use std::collections::BTreeMap;

/// EtherType of EAPOL (IEEE 802.1X-2020, section 11.1).
const EAPOL: u16 = 0x888E;
/// Interval between two requests for the MAC address of the router.
const ROUTER_INTERVAL: Time = Time::from_secs(1);
/// Interval between two requests once it is known.
const ROUTER_REFRESH: Time = Time::from_secs(30);
/// Interval between two tries to keep decisions that could not be kept.
const RETRY_INTERVAL: Time = Time::from_secs(5);
/// Entries that drop: how many a port may cause at once, and in a second.
const DROP_BURST: u64 = 100;
const DROP_RATE: u64 = 20;

/// Settings of a control program.
#[derive(Clone, Debug)]
pub struct Settings {
    /// MAC address of the gateways of all devices, which is the control program's own.
    pub mac: Mac,
    /// Port of the switch that leads to the router.
    pub uplink: u32,
    /// Port of the switch to which EAPOL goes, such as that of hostapd; none: EAPOL is dropped.
    pub authenticator: Option<u32>,
    /// Recursive servers of DNS.
    pub dns: Vec<SocketAddr>,
    /// Response to queries for denied domains.
    pub denied: Denied,
    /// Whether each flow has entries of its own. Otherwise a device without denied domains has one entry for all its flows to
    /// the Internet.
    pub exact: bool,
    /// Number of flows of a device from which on one entry stands for all of them.
    pub refuge: u32,
    /// Seconds without a packet after which an entry goes.
    pub idle: u16,
    /// Interval between two polls of the counters of entries; zero: none.
    pub poll: Time,
    /// Seed of random numbers of DNS; must be a secret.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            mac: Mac([2, 0, 0, 0, 0, 1]),
            uplink: 1,
            authenticator: None,
            dns: Vec::new(),
            denied: Denied::default(),
            exact: true,
            refuge: 1000,
            idle: 30,
            poll: Time::from_secs(1),
            seed: 0,
        }
    }
}

/// Result of a packet: dealt with, or the reason for which it was dropped.
pub(crate) type Result<T = ()> = core::result::Result<T, &'static str>;

/// A device as it was when its packet came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    pub mac: Mac,
    pub slot: u16,
    pub port: Option<u32>,
    pub is_admitted: bool,
    /// Whether it gets no address.
    pub is_closed: bool,
    /// Whether some name is denied.
    pub is_restricted: bool,
}

impl Sender {
    pub fn of(device: &Device) -> Sender {
        Sender {
            mac: device.mac,
            slot: device.slot,
            port: device.port,
            is_admitted: device.is_admitted(),
            is_closed: dhcp::is_closed(device),
            is_restricted: device.domains.restrict(),
        }
    }
}

/// Frames that wait for the name of an address.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub until: Time,
    pub frames: Vec<(PortNo, Vec<u8>)>,
}

/// The control program. See the [module](self).
pub struct Gateway {
    pub(crate) home: Shared,
    pub(crate) settings: Settings,
    pub(crate) plan: Plan,
    switch: Option<Peer>,
    dhcp: Dhcp,
    pub(crate) dns: Dns,
    groups: Groups,
    pub(crate) flows: Flows,
    frames: Frames,
    pub(crate) outgoing: Vec<Outgoing>,
    pub(crate) router: Option<Mac>,
    ask_router: Time,
    /// Number of the last notice that was obeyed.
    noticed: u64,
    /// Slots of devices, as the entries have them.
    slots: BTreeMap<Mac, u16>,
    pub(crate) waiting: BTreeMap<Ipv4Addr, Waiting>,
    /// For each port, when its bucket of entries that drop was or will be empty.
    drop_buckets: BTreeMap<u32, Time>,
    retry: Time,
    pub(crate) next_poll: Option<Time>,
    pub(crate) record: Box<dyn Record>,
    pub(crate) ports: BTreeMap<u32, [u64; 6]>,
    /// Packets that were dropped, by reason.
    drops: BTreeMap<&'static str, u64>,
    unsent: u64,
    pub(crate) forwarded: u64,
    moved: u64,
    pub(crate) refuges: u64,
    pub(crate) ipv6: u64,
}

impl Gateway {
    /// A control program for a home.
    pub fn new(home: Shared, settings: Settings, record: Box<dyn Record>) -> Gateway {
        let (plan, noticed) = {
            let home = home.lock();
            (home.plan, home.last_notice())
        };
        let dns = Dns::new(
            home.clone(),
            settings.dns.clone(),
            settings.denied,
            settings.seed,
        );
        Gateway {
            dhcp: Dhcp::new(plan),
            dns,
            groups: Groups::new(plan, settings.mac, settings.seed),
            flows: Flows::default(),
            frames: Frames::default(),
            outgoing: Vec::new(),
            router: None,
            ask_router: Time::ZERO,
            noticed,
            slots: BTreeMap::new(),
            waiting: BTreeMap::new(),
            drop_buckets: BTreeMap::new(),
            retry: Time::ZERO,
            next_poll: None,
            record,
            ports: BTreeMap::new(),
            drops: BTreeMap::new(),
            unsent: 0,
            forwarded: 0,
            moved: 0,
            refuges: 0,
            ipv6: 0,
            switch: None,
            home,
            settings,
            plan,
        }
    }

    fn device(&self, mac: Mac) -> Option<Sender> {
        self.home.lock().device(mac).map(Sender::of)
    }

    pub(crate) fn drop(&mut self, reason: &'static str) {
        *self.drops.entry(reason).or_default() += 1;
    }

    /// Adds the entries that are there from the start.
    fn install(&mut self, datapath: &mut Datapath<'_, '_>) {
        datapath.clear();
        datapath.add_miss();
        self.flows.clear();
        let to_program = [Action::output(PortNo::CONTROLLER)];
        let base = |kind| Cookie {
            kind,
            from: 0,
            to: 0,
            is_named: false,
            serial: 0,
        };
        let udp = |port: u16| {
            [
                Oxm::new(Field::EthType, ethertype::IPV4.into()),
                Oxm::new(Field::IpProto, protocol::UDP.into()),
                Oxm::new(Field::UdpDst, port.into()),
            ]
        };
        let local = [
            Oxm::new(Field::EthType, ethertype::IPV4.into()),
            network(Field::Ipv4Dst, self.plan.network()),
        ];
        let ipv6 = [Oxm::new(Field::EthType, ethertype::IPV6.into())];
        let rules: [(&[Oxm], u16, &[Action<'_>]); 4] = [
            (&udp(67), priority::DHCP, &to_program),
            (&udp(53), priority::PROTOCOL, &to_program),
            (&local, priority::LOCAL, &to_program),
            (&ipv6, priority::PROTOCOL, &[]),
        ];
        for (fields, priority, actions) in rules {
            datapath.add(&Rule {
                fields,
                priority,
                cookie: base(match actions {
                    [] => Kind::Drop,
                    _ => Kind::Base,
                }),
                idle: 0,
                actions,
            });
        }
        let (blocked, slots) = {
            let home = self.home.lock();
            self.noticed = home.last_notice();
            let blocked = home.devices().filter(|device| device.blacklisted);
            let slots = home.devices().map(|device| (device.mac, device.slot));
            let blocked: Vec<Mac> = blocked.map(|device| device.mac).collect();
            (blocked, slots.collect())
        };
        self.slots = slots;
        for mac in blocked {
            self.block_association(mac, datapath);
        }
    }

    /// Drops the EAPOL of a device, so that it cannot associate again (paper 003, section 4.4.2).
    fn block_association(&self, mac: Mac, datapath: &mut Datapath<'_, '_>) {
        let fields = [
            Oxm::new(Field::EthSrc, wide(mac)),
            Oxm::new(Field::EthType, EAPOL.into()),
        ];
        datapath.add(&Rule {
            fields: &fields,
            priority: priority::DHCP,
            cookie: Cookie {
                kind: Kind::Drop,
                from: self.slots.get(&mac).copied().unwrap_or(0),
                to: 0,
                is_named: false,
                serial: 0,
            },
            idle: 0,
            actions: &[],
        });
    }

    /// Makes the entries of the switch follow the decisions since the last call.
    fn obey(&mut self, now: Time, datapath: &mut Datapath<'_, '_>) {
        let home = self.home.clone();
        let home = home.lock();
        if home.last_notice() == self.noticed {
            return;
        }
        let notices: Option<Vec<Notice>> = home
            .notices(self.noticed)
            .map(|notices| notices.cloned().collect());
        self.noticed = home.last_notice();
        drop(home);
        let Some(notices) = notices else {
            // Some decisions are no longer known: all flows are judged again.
            self.install(datapath);
            return;
        };
        for notice in notices {
            match notice.news {
                News::Changed(change) => self.follow(notice.mac, &change, datapath),
                News::Lease(end) => self.record_lease(now, notice.mac, Some(end)),
                News::LeaseEnded => self.record_lease(now, notice.mac, None),
                News::DomainDenied(_) | News::Refuge(_) | News::Spoofed(_) => {}
            }
        }
    }

    fn record_lease(&mut self, at: Time, mac: Mac, end: Option<Time>) {
        let Some(slot) = self.slots.get(&mac) else {
            return;
        };
        self.record.lease(&LeaseRow {
            at,
            mac,
            address: self.plan.device(*slot),
            end,
        });
    }

    fn follow(&mut self, mac: Mac, change: &Change, datapath: &mut Datapath<'_, '_>) {
        match change {
            Change::Found(slot) => {
                self.slots.insert(mac, *slot);
            }
            Change::Name(_) | Change::Person(_) | Change::HostName(_) => return,
            _ => {}
        }
        let Some(slot) = self.slots.get(&mac).copied() else {
            return;
        };
        datapath.delete_device(slot, mac);
        let blacklisted = self
            .home
            .lock()
            .device(mac)
            .is_some_and(|device| device.blacklisted);
        if blacklisted {
            self.block_association(mac, datapath);
        }
        if *change == Change::Forgotten {
            self.slots.remove(&mac);
            self.dns.forget(mac);
            self.groups.forget(slot);
        }
    }

    /// Takes a frame from a device.
    fn from_device(
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
        if headers.payload != frame::IP {
            return Err("tagged");
        }
        let is_ip = headers.ethertype == ethertype::IPV4;
        let udp_port = headers
            .transport
            .filter(|_| headers.protocol == Some(protocol::UDP));
        if is_ip && udp_port.is_some_and(|(_, to)| to == 67) {
            self.answer_dhcp(now, in_port, source, data, datapath);
            return Ok(());
        }
        if headers.ethertype == EAPOL {
            return self.eapol(source, in_port, data, datapath);
        }
        let sender = self.device(source).filter(|sender| !sender.is_closed);
        if let Some(sender) = sender
            && headers.ethertype == ethertype::ARP
        {
            return self.arp(now, &sender, in_port, data, datapath);
        }
        let Some(sender) = sender.filter(|sender| sender.is_admitted) else {
            if is_ip && self.may_drop(now, in_port) {
                self.block(source, in_port, None, datapath);
            }
            return Err("not admitted");
        };
        match headers.ethertype {
            ethertype::IPV4 => self.ipv4(now, &sender, in_port, &headers, data, datapath),
            ethertype::IPV6 => Err("ipv6"),
            _ => Err("not ip"),
        }
    }

    /// Whether an entry that drops may be added for a packet of a port. A flood of addresses would fill the switch.
    pub(crate) fn may_drop(&mut self, now: Time, port: PortNo) -> bool {
        let second = Time::from_secs(1).as_ps();
        let interval = Time::from_ps(second / DROP_RATE);
        let empty = self.drop_buckets.entry(port.0).or_insert(now);
        *empty = (*empty).max(now);
        if *empty + interval > now + Time::from_ps(interval.as_ps() * DROP_BURST) {
            return false;
        }
        *empty += interval;
        true
    }

    /// Drops IPv4 from a MAC address at a port: all, or from this source address.
    fn block(
        &self,
        mac: Mac,
        port: PortNo,
        source: Option<Ipv4Addr>,
        datapath: &mut Datapath<'_, '_>,
    ) {
        let all = [
            Oxm::new(Field::InPort, port.0.into()),
            Oxm::new(Field::EthSrc, wide(mac)),
            Oxm::new(Field::EthType, ethertype::IPV4.into()),
            address(Field::Ipv4Src, source.unwrap_or(Ipv4Addr::UNSPECIFIED)),
        ];
        datapath.add(&Rule {
            fields: if source.is_some() { &all } else { &all[..3] },
            priority: priority::DEVICE,
            cookie: Cookie {
                kind: Kind::Drop,
                from: self.slots.get(&mac).copied().unwrap_or(0),
                to: 0,
                is_named: false,
                serial: 0,
            },
            idle: self.settings.idle,
            actions: &[],
        });
    }

    /// Notes that a device used an address that is not its own, and drops what it sends from there.
    fn spoofed(
        &mut self,
        now: Time,
        sender: &Sender,
        port: PortNo,
        source: Ipv4Addr,
        datapath: &mut Datapath<'_, '_>,
    ) {
        if self.may_drop(now, port) {
            self.home
                .lock()
                .notify(now, sender.mac, News::Spoofed(source));
            self.block(sender.mac, port, Some(source), datapath);
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
        // New devices have their slots before their first entries.
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

    /// A device is at another port: its entries lead to the old one.
    fn has_moved(&mut self, mac: Mac, datapath: &mut Datapath<'_, '_>) {
        self.moved += 1;
        if let Some(slot) = self.slots.get(&mac) {
            datapath.delete_device(*slot, mac);
        }
    }

    fn set_port(&mut self, sender: &Sender, port: PortNo, datapath: &mut Datapath<'_, '_>) {
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

    /// Takes EAPOL of a device to the authenticator.
    fn eapol(
        &mut self,
        source: Mac,
        in_port: PortNo,
        data: &[u8],
        datapath: &mut Datapath<'_, '_>,
    ) -> Result {
        let is_blocked = self
            .home
            .lock()
            .device(source)
            .is_some_and(|device| device.blacklisted);
        let port = self.settings.authenticator.ok_or("eapol")?;
        if is_blocked {
            return Err("blacklisted");
        }
        if in_port.0 == port {
            let to = data.first_chunk().map(|octets| Mac(*octets));
            let to = to.and_then(|mac| self.device(mac)?.port).ok_or("eapol")?;
            datapath.send(PortNo(to), data);
        } else {
            datapath.send(PortNo(port), data);
        }
        Ok(())
    }

    /// Answers ARP of a device: all addresses but its own are at the gateway.
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
                self.spoofed(now, sender, in_port, arp.sender, datapath);
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
            self.spoofed(now, sender, in_port, source, datapath);
            return Err("spoofed");
        }
        match sender.port {
            None => self.set_port(sender, in_port, datapath),
            Some(port) if port == in_port.0 => {}
            // It moves by ARP or DHCP.
            Some(_) => return Err("other port"),
        }
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
                &mut self.frames,
                datapath,
            );
            return Ok(());
        }
        if headers.destination != self.settings.mac {
            return Err("past the gateway");
        }
        if headers.protocol == Some(protocol::UDP)
            && let Some((_, 53)) = headers.transport
        {
            return self.query(now, sender, in_port, data, datapath);
        }
        if destination == gateway || destination == self.plan.device(0) {
            return self.to_gateway(now, sender, in_port, headers, data, datapath);
        }
        self.forward(now, sender, in_port, headers, data, datapath)
    }

    /// The permitted devices whose ports are known, but for this slot.
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

    fn query(
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
        };
        self.dns
            .query(now, client, datagram.payload, &mut self.outgoing);
        self.deliver(now, datapath);
        Ok(())
    }

    /// Sends the messages of DNS, and goes on with flows whose addresses have names now.
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
                        self.dns.names().note_reverse(now, address, name);
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
        let (IpAddr::V4(own), SocketAddr::V4(to)) = (client.own, client.address) else {
            return;
        };
        let macs = (self.settings.mac, Mac(client.mac));
        let from = SocketAddrV4::new(own, 53);
        let frame = self.frames.datagram(macs, from, to, response);
        datapath.send(PortNo(port), &frame);
        self.frames.done(frame);
    }

    /// Sends a query to a server. Without the router's MAC address it is lost, as by a network, and repeated.
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

    /// Takes a packet to the gateway itself: pings, and responses to searches of SSDP.
    fn to_gateway(
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
        let from = SocketAddrV4::new(self.plan.gateway(receiver.slot), ::dns::ssdp::PORT);
        let macs = (self.settings.mac, receiver.mac);
        let frame = self.frames.datagram(macs, from, searcher, payload);
        datapath.send(PortNo(port), &frame);
        self.frames.done(frame);
        Ok(())
    }

    /// Takes a frame from the router.
    fn from_router(&mut self, now: Time, data: &[u8], datapath: &mut Datapath<'_, '_>) -> Result {
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
            let is_device = || {
                self.home
                    .lock()
                    .at(arp.target)
                    .is_some_and(Device::is_admitted)
            };
            if arp.operation == Operation::Request && (is_own || is_device()) {
                let reply = frame::arp(arp.sender_mac, mac, &arp.reply(mac));
                datapath.send(uplink, &reply);
            }
            return Ok(());
        }
        if headers.ethertype != ethertype::IPV4 || headers.destination != mac {
            return Err("not for the home");
        }
        let (_, destination) = headers.ipv4.ok_or("malformed")?;
        if Ipv4Addr::from(destination) != self.plan.device(0) {
            return self.inward(now, &headers, data, datapath);
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

    /// Asks for the MAC address of the router.
    fn find_router(&mut self, now: Time, datapath: &mut Datapath<'_, '_>) {
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

    /// Takes a frame to the part that deals with it.
    pub(crate) fn take(
        &mut self,
        now: Time,
        in_port: PortNo,
        data: &[u8],
        datapath: &mut Datapath<'_, '_>,
    ) {
        let result = match in_port.0 == self.settings.uplink {
            true => self.from_router(now, data, datapath),
            false => self.from_device(now, in_port, data, datapath),
        };
        if let Err(reason) = result {
            self.drop(reason);
        }
    }

    /// Calls a part with the switch, if it is there.
    fn with_switch(
        &mut self,
        handle: &mut Handle<'_>,
        call: impl FnOnce(&mut Gateway, Time, &mut Datapath<'_, '_>),
    ) {
        let Some(switch) = self.switch else {
            return;
        };
        let now = handle.now();
        let mut datapath = Datapath {
            switch,
            handle,
            unsent: 0,
        };
        call(self, now, &mut datapath);
        self.unsent += datapath.unsent;
    }

    fn wake_parts(&mut self, now: Time) {
        let home = self.home.clone();
        let home: &mut Home = &mut home.lock();
        self.dhcp.wake(now, home);
        if self.retry <= now {
            self.retry = now + RETRY_INTERVAL;
            // The journal is asked again later.
            let _ = home.retry();
        }
    }
}

impl App for Gateway {
    fn name(&self) -> &'static str {
        "home"
    }

    fn switch_up(&mut self, switch: Peer, handle: &mut Handle<'_>) {
        if self.switch.is_some() {
            return self.drop("another switch");
        }
        self.switch = Some(switch);
        self.with_switch(handle, |gateway, now, datapath| {
            gateway.install(datapath);
            gateway.find_router(now, datapath);
            gateway.next_poll = (gateway.settings.poll > Time::ZERO).then_some(now);
        });
    }

    fn switch_down(&mut self, switch: Peer, _: &mut Handle<'_>) {
        if self.switch == Some(switch) {
            self.switch = None;
            self.flows.clear();
            self.next_poll = None;
        }
    }

    fn packet_in(
        &mut self,
        switch: Peer,
        packet: &PacketIn<'_>,
        handle: &mut Handle<'_>,
    ) -> Verdict {
        if self.switch != Some(switch) {
            self.drop("another switch");
            return Verdict::Done;
        }
        let in_port = packet.in_port();
        self.with_switch(handle, |gateway, now, datapath| {
            gateway.obey(now, datapath);
            gateway.take(now, in_port, packet.data, datapath);
        });
        Verdict::Done
    }

    fn flow_removed(&mut self, switch: Peer, removed: &FlowRemoved<'_>, handle: &mut Handle<'_>) {
        if self.switch == Some(switch) {
            let counts = (removed.packets, removed.bytes);
            self.account(handle.now(), removed.cookie, counts);
            self.flows.remove(removed.cookie);
        }
    }

    fn port_status(&mut self, _: Peer, status: &PortStatus, _: &mut Handle<'_>) {
        if status.reason != PortReason::Delete {
            return;
        }
        let mut home = self.home.lock();
        let gone = home
            .devices()
            .filter(|device| device.port == Some(status.port.number.0));
        let gone: Vec<Mac> = gone.map(|device| device.mac).collect();
        for mac in gone {
            if let Some(device) = home.device_mut(mac) {
                device.port = None;
            }
        }
    }

    fn answer(
        &mut self,
        switch: Peer,
        token: Token,
        answer: &MultipartReply<'_>,
        handle: &mut Handle<'_>,
    ) {
        if self.switch == Some(switch) {
            self.take_counters(handle.now(), token, answer);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let (has_news, has_unsaved) = {
            let home = self.home.lock();
            (home.last_notice() != self.noticed, home.has_unsaved())
        };
        let is_up = self.switch.is_some();
        let times = [
            (has_news && is_up).then_some(Time::ZERO),
            self.dhcp.next_wake(),
            self.dns.next_wake().filter(|_| is_up),
            is_up.then_some(self.ask_router),
            self.next_poll,
            has_unsaved.then_some(self.retry),
            self.waiting.values().map(|waiting| waiting.until).min(),
        ];
        times.into_iter().flatten().min()
    }

    fn wake(&mut self, handle: &mut Handle<'_>) {
        self.wake_parts(handle.now());
        self.with_switch(handle, |gateway, now, datapath| {
            gateway.obey(now, datapath);
            if gateway.ask_router <= now {
                gateway.find_router(now, datapath);
            }
            gateway.dns.wake(now, &mut gateway.outgoing);
            gateway.deliver(now, datapath);
            gateway.end_waiting(now, datapath);
            gateway.poll(now, datapath);
        });
    }

    fn counters(&self, visit: &mut dyn FnMut(&str, u64)) {
        let (mut devices, mut admitted) = (0, 0);
        for device in self.home.lock().devices() {
            devices += 1;
            admitted += u64::from(device.is_admitted());
        }
        visit("devices", devices);
        visit("admitted", admitted);
        visit("flows", self.flows.len() as u64);
        visit("forwarded", self.forwarded);
        visit("refuges", self.refuges);
        visit("moved", self.moved);
        visit("ipv6_dropped", self.ipv6);
        visit("unsent", self.unsent);
        for (reason, count) in &self.drops {
            visit(&format!("dropped_{}", reason.replace(' ', "_")), *count);
        }
        self.dhcp.counters(visit);
        self.dns.counters(visit);
        let dns = self.dns.intercepted();
        visit("dns_rebinding", dns.rebinding);
        visit("dns_reverse", dns.reverse);
        visit("dns_ignored", dns.ignored);
        let groups = self.groups.counters;
        visit("broadcasts", groups.broadcasts);
        visit("mdns", groups.mdns);
        visit("ssdp", groups.ssdp);
        visit("rogue_dhcp", groups.rogue_dhcp);
        visit("groups_dropped", groups.dropped);
    }
}

/// Maximum number of addresses whose names flows wait for.
pub(crate) const MAX_WAITING_ADDRESSES: usize = dns::MAX_REVERSE;
