//! Control program of a home's switch: hands each packet without an entry to the part that handles it.
//!
//! One program holds all parts, since they depend on each other: flows are judged by the names that DNS has seen, and
//! reverse lookups go through the DNS forwarder. The parts check a packet in a fixed order. A packet that no part permits is
//! dropped and counted by its reason.

mod eapol;
mod forward;
mod guests;
mod inside;
mod outside;
mod prefixes;
mod program;
mod six;

use crate::delegation::Delegation;
use crate::device::{Admission, Device};
use crate::dhcp::{self, Dhcp};
use crate::dhcpv6::Dhcpv6;
use crate::discovery::Schedule;
use crate::dns::{self, Denied, Dns, Outgoing};
use crate::flows::{FlowKey, Flows};
use crate::frame::{self, Frames};
use crate::groups::Groups;
use crate::home::{Change, Home, News, Notice, Shared};
use crate::plan::Plan;
use crate::rate::Buckets;
use crate::record::{LeaseRow, Record};
use crate::rules::{Cookie, Datapath, Kind, Rule, network, priority};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use node::Time;
use openflow::action::Action;
use openflow::channel::Peer;
use openflow::controller::{Handle, Headers};
use openflow::oxm::{Field, Oxm};
use openflow::port::PortNo;
use packet::ethernet::{Mac, ethertype};
use packet::ipv4::protocol;
use std::collections::{BTreeMap, BTreeSet};

/// Interval between two requests for the MAC address of the router.
const ROUTER_INTERVAL: Time = Time::from_secs(1);
/// Interval between two requests once it is known.
const ROUTER_REFRESH: Time = Time::from_secs(30);
/// Interval between two attempts to store decisions.
const RETRY_INTERVAL: Time = Time::from_secs(5);
/// Drop entries that a port may cause: burst, and rate a second.
const DROP_BURST: u64 = 100;
const DROP_RATE: u64 = 20;

/// Settings of a control program.
#[derive(Clone, Debug)]
pub struct Settings {
    /// MAC address of all gateways, which is that of the control program.
    pub mac: Mac,
    /// Port of the switch that leads to the router.
    pub uplink: u32,
    /// Port of the switch to which EAPOL goes, such as that of hostapd; none: EAPOL is dropped.
    pub authenticator: Option<u32>,
    /// Recursive DNS servers.
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
    /// Whether the home has IPv6, with a prefix that its router delegates. Otherwise IPv6 is dropped.
    pub ipv6: bool,
    /// TCP port of the page for guests on the machine behind the router. Devices that wait can reach it, and nothing else.
    pub guests: Option<u16>,
    /// Seed of the random numbers of DNS; must be secret.
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
            ipv6: true,
            guests: None,
            seed: 0,
        }
    }
}

/// Result of a packet: handled, or the reason of its drop.
pub(crate) type Result<T = ()> = core::result::Result<T, &'static str>;

/// State of the sending device at the arrival of its packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    pub mac: Mac,
    pub slot: u16,
    pub port: Option<u32>,
    pub is_admitted: bool,
    /// Whether it waits for a decision.
    pub is_waiting: bool,
    /// Whether it gets no address.
    pub is_closed: bool,
    /// Whether any name is denied.
    pub is_restricted: bool,
}

impl Sender {
    pub fn of(device: &Device) -> Sender {
        Sender {
            mac: device.mac,
            slot: device.slot,
            port: device.port,
            is_admitted: device.is_admitted(),
            is_waiting: device.admission == Admission::Waiting
                && !device.blacklisted
                && !device.authentication.is_missing(device.port),
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
    dhcpv6: Dhcpv6,
    delegation: Delegation,
    schedule: Schedule,
    /// Router advertisements sent, and prefixes that the router has delegated.
    advertisements: u64,
    prefixes: u64,
    pub(crate) dns: Dns,
    groups: Groups,
    pub(crate) flows: Flows,
    frames: Frames,
    pub(crate) outgoing: Vec<Outgoing>,
    pub(crate) router: Option<Mac>,
    ask_router: Time,
    /// Number of the last notice that was applied.
    noticed: u64,
    /// Slots of devices, as in the entries.
    slots: BTreeMap<Mac, u16>,
    /// Slots with flow entries since the last deletion.
    pub(crate) used: BTreeSet<u16>,
    pub(crate) waiting: BTreeMap<IpAddr, Waiting>,
    /// Drop entries that ports cause.
    drop_entries: Buckets<u32>,
    /// EAPOL frames of ports.
    eapol: Buckets<u32>,
    retry: Time,
    pub(crate) next_poll: Option<Time>,
    /// Time of the request for the entries, until the answer is complete.
    pub(crate) polled: Option<Time>,
    pub(crate) record: Box<dyn Record>,
    pub(crate) ports: BTreeMap<u32, [u64; 6]>,
    /// Packets that were dropped, by reason.
    drops: BTreeMap<&'static str, u64>,
    unsent: u64,
    pub(crate) forwarded: u64,
    moved: u64,
    pub(crate) refuges: u64,
    pub(crate) ipv6: u64,
    /// Packets to and from the page for guests.
    guests: u64,
}

impl Gateway {
    /// A control program for a home.
    pub fn new(home: Shared, settings: Settings, record: Box<dyn Record>) -> Gateway {
        let (plan, noticed) = {
            let mut home = home.lock();
            // Limits that are in force hold from the first packet on.
            home.settle(Time::ZERO);
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
            dhcpv6: Dhcpv6::new(settings.mac),
            delegation: Delegation::new(settings.mac, settings.seed),
            schedule: Schedule::default(),
            advertisements: 0,
            prefixes: 0,
            dns,
            groups: Groups::new(plan, settings.mac, settings.seed),
            flows: Flows::default(),
            frames: Frames::default(),
            outgoing: Vec::new(),
            router: None,
            ask_router: Time::ZERO,
            noticed,
            slots: BTreeMap::new(),
            used: BTreeSet::new(),
            polled: None,
            waiting: BTreeMap::new(),
            drop_entries: Buckets::new(DROP_RATE, DROP_BURST),
            eapol: Buckets::new(eapol::RATE, eapol::BURST),
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
            guests: 0,
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

    /// Adds the initial entries.
    fn install(&mut self, datapath: &mut Datapath<'_, '_>) {
        datapath.clear();
        datapath.add_miss();
        self.flows.clear();
        let to_program = [Action::output(PortNo::CONTROLLER)];
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
        let rules: [(&[Oxm], u16, &[Action<'_>]); 3] = [
            (&udp(67), priority::DHCP, &to_program),
            (&udp(53), priority::PROTOCOL, &to_program),
            (&local, priority::LOCAL, &to_program),
        ];
        for (fields, priority, actions) in rules {
            datapath.add(&Rule {
                fields,
                priority,
                cookie: Cookie::of(Kind::Base),
                idle: 0,
                actions,
            });
        }
        self.install_guests(datapath);
        self.install_six(datapath);
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

    /// Applies the decisions since the last call to the entries of the switch.
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
            // Some notices are no longer kept: all flows are judged again.
            self.install(datapath);
            return;
        };
        for notice in notices {
            match notice.news {
                News::Changed(change) => self.follow(now, notice.mac, &change, datapath),
                News::Authenticated(_) => self.renew(now, notice.mac, true, datapath),
                News::Lease(end) => self.record_lease(now, notice.mac, Some(end)),
                News::LeaseEnded => self.record_lease(now, notice.mac, None),
                // A held device is treated as a paused one.
                News::Held(_) => self.follow(now, notice.mac, &Change::Paused(true), datapath),
                News::Released => self.follow(now, notice.mac, &Change::Paused(false), datapath),
                News::DomainDenied(_)
                | News::Refuge(_)
                | News::Spoofed(_)
                | News::Owner(_)
                | News::Again(_) => {}
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
            address: self.plan.device(*slot).into(),
            end,
        });
    }

    fn follow(&mut self, now: Time, mac: Mac, change: &Change, datapath: &mut Datapath<'_, '_>) {
        match change {
            Change::Found(slot) => {
                self.slots.insert(mac, *slot);
            }
            Change::Name(_)
            | Change::Person(_)
            | Change::HostName(_)
            | Change::Bedtime(_)
            | Change::Quota(_)
            | Change::Evidence(_)
            | Change::NotAgain(_) => return,
            _ => {}
        }
        let keeps_prefix = matches!(change, Change::Domain(..) | Change::OthersDenied(_));
        self.renew(now, mac, !keeps_prefix, datapath);
        if *change == Change::Forgotten {
            self.dns.forget(mac);
            if let Some(slot) = self.slots.remove(&mac) {
                self.groups.forget(slot);
            }
        }
    }

    /// Deletes the entries of a device whose rights have changed, so that its flows are judged again.
    fn renew(
        &mut self,
        now: Time,
        mac: Mac,
        is_about_prefix: bool,
        datapath: &mut Datapath<'_, '_>,
    ) {
        let Some(slot) = self.slots.get(&mac).copied() else {
            return;
        };
        match self.used.remove(&slot) {
            true => datapath.delete_device(slot, mac),
            false => datapath.delete_source(mac),
        }
        let home = self.home.lock();
        let is_blacklisted = home.device(mac).is_some_and(|device| device.blacklisted);
        drop(home);
        if is_blacklisted {
            self.block_association(mac, datapath);
        }
        if is_about_prefix {
            self.follow_six(now, mac, slot, datapath);
        }
    }

    /// Whether a drop entry may be added for a packet of a port. Without the limit a flood of addresses would fill the switch.
    pub(crate) fn may_drop(&mut self, now: Time, port: PortNo) -> bool {
        self.drop_entries.take(now, port.0)
    }

    /// Hands a frame to the part that handles it.
    pub(crate) fn take(
        &mut self,
        now: Time,
        in_port: PortNo,
        data: &[u8],
        datapath: &mut Datapath<'_, '_>,
    ) {
        let result = match in_port.0 == self.settings.uplink {
            true => self.handle_router_frame(now, data, datapath),
            false => self.handle_device_frame(now, in_port, data, datapath),
        };
        if let Err(reason) = result {
            self.drop(reason);
        }
    }

    /// Calls a part with the switch, if it is connected.
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
        if home.next_settle().is_some_and(|at| at <= now) {
            home.settle(now);
        }
        if self.retry <= now {
            self.retry = now + RETRY_INTERVAL;
            // The journal is tried again later.
            let _ = home.retry();
        }
    }
}

/// Maximum number of addresses with flows that wait for a name.
pub(crate) const MAX_WAITING_ADDRESSES: usize = dns::MAX_REVERSE;

/// Flow of an IPv4 packet. `ports` is `None` for later fragments and for protocols without ports.
pub(crate) fn key_of(headers: &Headers, data: &[u8]) -> Result<FlowKey> {
    let (source, destination) = headers.ipv4.ok_or("malformed")?;
    let protocol = headers.protocol.ok_or("malformed")?;
    let has_ports = matches!(protocol, protocol::TCP | protocol::UDP | protocol::ICMP);
    if has_ports && headers.transport.is_none() && !frame::is_later_fragment(data) {
        return Err("first fragment too short");
    }
    Ok(FlowKey {
        protocol,
        source: Ipv4Addr::from(source).into(),
        destination: Ipv4Addr::from(destination).into(),
        ports: headers.transport,
    })
}
