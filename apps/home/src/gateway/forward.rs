//! Forwarding: decides which flows get entries, and of which kind (paper 003, sections 4.4.3 and 4.4.4).
//!
//! - **To the Internet** a packet goes to the router with unchanged addresses; the router decrements the hop limit.
//! - **Between two devices** the switch routes: it sets both MAC addresses and decrements the hop limit.
//! - Each flow has an entry for each direction, with an idle timeout.
//! - A device without denied domains that has too many flows gets one entry for all of them (refuge). A device with denied
//!   domains gets no more flows instead: one entry for all flows would also pass the denied ones.
//! - A flow of a device with denied domains is judged by the [names](crate::names) of the other end.

mod ways;

use super::{Gateway, MAX_WAITING_ADDRESSES, Result, Sender, Waiting};
use crate::flows::FlowKey;
use crate::frame;
use crate::groups::out_of;
use crate::home::News;
use crate::names::Judgement;
use crate::rules::{Cookie, Datapath, Kind, Rule, priority, set_mac};
use core::net::IpAddr;
use node::Time;
use openflow::action::Action;
use openflow::oxm::Field;
use openflow::port::PortNo;
use packet::arp::Arp;
use packet::ethernet::Mac;
use packet::ipv4::protocol;
use std::sync::Arc;
pub(crate) use ways::Ways;
use ways::{Way, fields, host_key, whole};

/// Time for which a flow waits for the name of an address.
const NAME_TIMEOUT: Time = Time::from_secs(3);
/// Maximum number of packets that wait for the name of an address.
const MAX_WAITING_FRAMES: usize = 4;
/// Packets of a flow that reach the program within this time after its entry left the switch before the entry was there.
const SETTLING: Time = Time::from_secs(1);

/// Whether an address can be a unicast destination on the Internet.
fn is_outside(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [first, ..] = address.octets();
            first != 0 && first != 127 && first < 224
        }
        // Global unicast (RFC 4291 section 2.4), and translated IPv4 (RFC 6052).
        IpAddr::V6(address) => {
            let first = address.segments()[0];
            first >> 13 == 1 || first == 0x64
        }
    }
}

/// Whether a packet is an ICMP error, which belongs to another flow.
fn is_error(key: &FlowKey) -> bool {
    match (key.protocol, key.ports) {
        (protocol::ICMP, Some((kind, _))) => !matches!(kind, 0 | 8),
        (protocol::ICMPV6, Some((kind, _))) => kind < 128,
        _ => false,
    }
}

impl Gateway {
    /// Forwards a packet of a permitted device, from its own address.
    pub(crate) fn forward(
        &mut self,
        now: Time,
        sender: &Sender,
        in_port: PortNo,
        key: FlowKey,
        data: &[u8],
        datapath: &mut Datapath<'_, '_>,
    ) -> Result {
        let to = key.destination;
        if self.is_router(to) {
            return self.outward(now, sender, in_port, (key, true), data, datapath);
        }
        if self.home.lock().holds(to) {
            return self.across(now, sender, in_port, key, data, datapath);
        }
        if !is_outside(to) {
            return Err("no such address");
        }
        if sender.is_restricted
            && key.protocol == protocol::TCP
            && key.ports.is_some_and(|(_, to)| to == 53)
        {
            self.refuse(now, sender, in_port, key, None, datapath);
            return Err("DNS over TCP of a restricted device");
        }
        // Its ports are unknown, so it could carry DNS.
        if sender.is_restricted && key.protocol == protocol::FRAGMENT {
            return Err("fragment of a restricted device");
        }
        let is_named = self.judge(now, sender, to, (in_port, data), key, datapath)?;
        self.outward(now, sender, in_port, (key, is_named), data, datapath)
    }

    /// Whether an address is the router's own.
    fn is_router(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => self.plan.is_router(address),
            IpAddr::V6(_) => false,
        }
    }

    /// Judges a flow to an address; the result is whether the device has looked the address up. A packet that needs a reverse
    /// lookup waits for it.
    fn judge(
        &mut self,
        now: Time,
        device: &Sender,
        other: IpAddr,
        (in_port, data): (PortNo, &[u8]),
        key: FlowKey,
        datapath: &mut Datapath<'_, '_>,
    ) -> Result<bool> {
        let judgement = self.home.lock().judge(now, device.mac, other);
        match judgement.ok_or("not admitted")? {
            Judgement::Permitted(is_named) => Ok(is_named),
            Judgement::Denied(name) => {
                self.refuse(now, device, in_port, key, name, datapath);
                Err("denied domain")
            }
            Judgement::Unknown => {
                let is_known = self.waiting.contains_key(&other);
                if !is_known {
                    let is_full = self.waiting.len() >= MAX_WAITING_ADDRESSES;
                    if is_full || !self.dns.look_up(now, other, &mut self.outgoing) {
                        return Err("too many lookups");
                    }
                }
                let waiting = self.waiting.entry(other).or_insert_with(|| Waiting {
                    until: now + NAME_TIMEOUT,
                    frames: Vec::new(),
                });
                if waiting.frames.len() >= MAX_WAITING_FRAMES {
                    return Err("waits for a name");
                }
                waiting.frames.push((in_port, data.to_vec()));
                if !is_known {
                    self.deliver(now, datapath);
                }
                Err("waits for a name")
            }
        }
    }

    /// Handles the packets that have waited for the name of an address.
    pub(crate) fn go_on(&mut self, now: Time, other: IpAddr, datapath: &mut Datapath<'_, '_>) {
        let Some(waiting) = self.waiting.remove(&other) else {
            return;
        };
        for (in_port, data) in waiting.frames {
            self.take(now, in_port, &data, datapath);
        }
    }

    /// Times out the wait for names: addresses without an answer count as addresses without a name.
    pub(crate) fn end_waiting(&mut self, now: Time, datapath: &mut Datapath<'_, '_>) {
        let late = self
            .waiting
            .iter()
            .filter(|(_, waiting)| waiting.until <= now);
        let late: Vec<IpAddr> = late.map(|(address, _)| *address).collect();
        for address in late {
            self.dns.give_up(address);
            self.home.lock().names.note_reverse(now, address, None);
            self.go_on(now, address, datapath);
        }
        self.deliver(now, datapath);
    }

    /// Adds an entry that drops a flow of a device.
    fn refuse(
        &mut self,
        now: Time,
        device: &Sender,
        in_port: PortNo,
        key: FlowKey,
        name: Option<Arc<str>>,
        datapath: &mut Datapath<'_, '_>,
    ) {
        let mut home = self.home.lock();
        if let Some(device) = home.device_mut(device.mac) {
            device.traffic.refused += 1;
        }
        drop(home);
        // Without an entry the program refuses each packet.
        if !self.may_drop(now, in_port) {
            return;
        }
        if let Some(name) = name {
            let news = News::DomainDenied(name.as_ref().into());
            self.home.lock().notify(now, device.mac, news);
        }
        let is_inward = in_port.0 == self.settings.uplink;
        let way = Way {
            key,
            in_port,
            source: (!is_inward).then_some(device.mac),
            from: if is_inward { 0 } else { device.slot },
            to: if is_inward { device.slot } else { 0 },
            actions: &[],
        };
        self.add(&way, Kind::Drop, false, 0, datapath);
    }

    fn add(
        &mut self,
        way: &Way<'_>,
        kind: Kind,
        is_named: bool,
        serial: u32,
        datapath: &mut Datapath<'_, '_>,
    ) {
        let priority = match (kind, way.from, way.key.ports) {
            // Above the entry for addresses of the home, which include the device's.
            (Kind::Host, 0, _) => priority::LOCAL + 1,
            (Kind::Host, ..) => priority::HOST,
            (_, _, None) => priority::FRAGMENT,
            _ => priority::FLOW,
        };
        self.used.extend([way.from, way.to]);
        let fields = fields(way, self.settings.mac);
        datapath.add(&Rule {
            fields: &fields,
            priority,
            cookie: Cookie {
                kind,
                from: way.from,
                to: way.to,
                is_named,
                serial,
            },
            idle: self.settings.idle,
            actions: way.actions,
        });
    }

    /// Adds the entries of both directions, and sends the packet by the first. Packets that left the switch before it had the
    /// entries are sent without adding them again.
    fn open(
        &mut self,
        now: Time,
        ways: [&Way<'_>; 2],
        kind: Kind,
        is_named: bool,
        data: &[u8],
        datapath: &mut Datapath<'_, '_>,
    ) {
        self.forwarded += 1;
        let is_settling = ways.iter().all(|way| {
            let started = self.flows.started(&way.key);
            started.is_some_and(|at| now < at + SETTLING)
        });
        let has_none = is_error(&ways[0].key) || ways[0].key.protocol == protocol::FRAGMENT;
        if !(is_settling || has_none && kind == Kind::Flow) {
            for (index, way) in ways.into_iter().enumerate() {
                let cookie = Cookie {
                    kind,
                    from: way.from,
                    to: way.to,
                    is_named,
                    serial: 0,
                };
                let is_owned = index == 0 && kind == Kind::Flow;
                let cookie = self.flows.open(now, cookie, way.key, is_owned);
                self.add(way, kind, is_named, cookie.serial, datapath);
            }
        }
        datapath.send_through(ways[0].in_port, data, ways[0].actions);
    }

    /// Kind of entries for a new flow between a device and the Internet.
    fn kind(
        &mut self,
        now: Time,
        device: &Sender,
        own: IpAddr,
        datapath: &mut Datapath<'_, '_>,
    ) -> Result<Kind> {
        let all = host_key(whole(own));
        if self.flows.started(&all).is_some() && !device.is_restricted {
            return Ok(Kind::Host);
        }
        let count = self.flows.count(device.slot);
        if count < self.settings.refuge {
            return Ok(match self.settings.exact || device.is_restricted {
                true => Kind::Flow,
                false => Kind::Host,
            });
        }
        if device.is_restricted {
            if self.may_drop(now, PortNo(device.port.unwrap_or(0))) {
                self.notify_refuge(now, device, count);
            }
            return Err("too many flows");
        }
        self.refuges += 1;
        self.notify_refuge(now, device, count);
        datapath.delete_device(device.slot, device.mac);
        Ok(Kind::Host)
    }

    fn notify_refuge(&self, now: Time, device: &Sender, count: u32) {
        self.home
            .lock()
            .notify(now, device.mac, News::Refuge(count));
    }

    /// Forwards a packet of a device to the router.
    fn outward(
        &mut self,
        now: Time,
        sender: &Sender,
        in_port: PortNo,
        (key, is_named): (FlowKey, bool),
        data: &[u8],
        datapath: &mut Datapath<'_, '_>,
    ) -> Result {
        let ways = Ways::new(self, sender, in_port, key)?;
        let kind = self.kind(now, sender, key.source, datapath)?;
        let [outward, inward] = ways.of(kind, self);
        self.open(now, [&outward, &inward], kind, is_named, data, datapath);
        Ok(())
    }

    /// Forwards a packet from the router to a device.
    pub(crate) fn inward(
        &mut self,
        now: Time,
        key: FlowKey,
        data: &[u8],
        datapath: &mut Datapath<'_, '_>,
    ) -> Result {
        let from = key.source;
        let is_inside = self.home.lock().holds(from);
        if is_inside && !self.is_router(from) {
            return Err("spoofed");
        }
        let device = self.home.lock().owner(key.destination).map(Sender::of);
        if let Some(device) = device
            && self.is_from_guests_page(&key)
        {
            return self.answer_guest(&device, key, data, datapath);
        }
        let device = device
            .filter(|device| device.is_admitted)
            .ok_or("no receiver")?;
        let Some(port) = device.port else {
            self.find(&device, datapath);
            return Err("no receiver");
        };
        let uplink = PortNo(self.settings.uplink);
        // An error of IPv6 comes from a router on the way, and the firewall has found its flow.
        let is_error6 = is_error(&key) && from.is_ipv6();
        let is_named = match is_inside || is_error6 {
            true => true,
            false => self.judge(now, &device, from, (uplink, data), key, datapath)?,
        };
        let ways = Ways::new(self, &device, PortNo(port), key.reverse())?;
        let kind = self.kind(now, &device, key.destination, datapath)?;
        let [outward, inward] = ways.of(kind, self);
        self.open(now, [&inward, &outward], kind, is_named, data, datapath);
        Ok(())
    }

    /// Routes a packet between two devices.
    fn across(
        &mut self,
        now: Time,
        sender: &Sender,
        in_port: PortNo,
        key: FlowKey,
        data: &[u8],
        datapath: &mut Datapath<'_, '_>,
    ) -> Result {
        let receiver = self.home.lock().owner(key.destination).map(Sender::of);
        let receiver = receiver
            .filter(|receiver| receiver.is_admitted)
            .ok_or("no receiver")?;
        let Some(port) = receiver.port else {
            self.find(&receiver, datapath);
            return Err("no receiver");
        };
        if frame::hops(data) <= 1 {
            return Err("hop limit used up");
        }
        // Beyond the limit one entry stands for all flows between the two.
        let is_full = self.flows.count(sender.slot) >= self.settings.refuge;
        let key = match is_full {
            true => FlowKey {
                protocol: 0,
                source: whole(key.source),
                destination: whole(key.destination),
                ports: None,
            },
            false => key,
        };
        let (there, back) = (PortNo(port), in_port);
        let actions = |to: Mac, from: PortNo, by: PortNo| {
            [
                set_mac(Field::EthSrc, self.settings.mac),
                set_mac(Field::EthDst, to),
                Action::DecNwTtl,
                Action::output(out_of(from, by.0)),
            ]
        };
        let forth = actions(receiver.mac, back, there);
        let reply = actions(sender.mac, there, back);
        let ways = [
            Way {
                key,
                in_port: back,
                source: Some(sender.mac),
                from: sender.slot,
                to: receiver.slot,
                actions: &forth,
            },
            Way {
                key: key.reverse(),
                in_port: there,
                source: Some(receiver.mac),
                from: receiver.slot,
                to: sender.slot,
                actions: &reply,
            },
        ];
        self.open(now, [&ways[0], &ways[1]], Kind::Flow, true, data, datapath);
        Ok(())
    }

    /// Sends ARP requests to all ports for a device whose port is unknown.
    fn find(&mut self, device: &Sender, datapath: &mut Datapath<'_, '_>) {
        let (mac, slot) = (self.settings.mac, device.slot);
        let request = Arp::request(mac, self.plan.gateway(slot), self.plan.device(slot));
        let request = frame::arp(device.mac, mac, &request);
        // With the uplink as the input port, so that the flood skips it.
        let actions = [Action::output(PortNo::ALL)];
        datapath.send_through(PortNo(self.settings.uplink), &request, &actions);
    }
}
