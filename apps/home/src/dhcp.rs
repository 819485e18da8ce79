//! DHCP: an address in a /30 of its own for each device, with a lease time that depends on the decision (paper 003, section 4.4.1).
//!
//! A device is its MAC address: the client hardware address of a message must be that of its frame. Decisions:
//!
//! | device | answer |
//! |---|---|
//! | new, or waiting | a lease of 30 s, so that it asks again until there is a decision |
//! | permitted | a lease of 1 h |
//! | denied or blacklisted | none |
//!
//! The slot of a device determines its address, so a device keeps its address when the program restarts.

use crate::device::{Admission, Device};
use crate::home::{Change, Home, News};
use crate::plan::Plan;
use core::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use dhcp::datagram;
use dhcp::leases::{Range, State};
use dhcp::v4::message::{CLIENT_PORT, Kind, Message, SERVER_PORT, option};
use dhcp::v4::options::Options;
use dhcp::v4::policy::{Grant, Policy, Request};
use dhcp::v4::server::{Arrival, Destination, Server, Settings};
use node::Time;
use packet::ethernet::Mac;
use std::borrow::Cow;

/// Lease of a device that waits for a decision.
pub const WAITING_LEASE: Time = Time::from_secs(30);
/// Lease of a permitted device.
pub const LEASE: Time = Time::from_secs(3600);
/// Time for which a declined address is not offered again; the device has no other address.
const DECLINED: Time = Time::from_secs(10);
/// Minimum time between two host names of devices that are written to the journal.
const RENAMING: Time = Time::from_secs(1);
/// Leases whose ends differ by less count as the same in notices.
const SAME: Time = Time::from_secs(1);

/// Decision about the current message.
#[derive(Debug, Default)]
struct Decided {
    grant: Option<(Ipv4Addr, Ipv4Addr, Time)>,
}

impl Policy for Decided {
    fn decide(&mut self, _: Time, _: &Request<'_>) -> Result<Grant<'_>, &'static str> {
        let (gateway, device, lease) = self.grant.ok_or("the device is denied")?;
        let mut options = Options::default();
        options.set_addresses(option::ROUTER, &[gateway]);
        options.set_addresses(option::NAME_SERVER, &[gateway]);
        Ok(Grant {
            ranges: Cow::Owned(vec![Range::one(u32::from(device).into())]),
            prefix: 30,
            lease,
            server: Some(gateway),
            options: Cow::Owned(options),
        })
    }
}

/// An answer to send.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// MAC address of the receiver.
    pub to: Mac,
    /// Source.
    pub source: SocketAddrV4,
    /// Destination.
    pub destination: SocketAddrV4,
}

/// The DHCP server of a home.
#[derive(Debug)]
pub struct Dhcp {
    plan: Plan,
    server: Server<Decided>,
    /// The last answer.
    pub reply: Vec<u8>,
    /// Messages whose client hardware address differs from the source MAC address of the frame.
    pub spoofed: u64,
    /// Messages of devices that are denied, or for which there is no slot.
    pub denied: u64,
    /// Messages that cannot be answered.
    pub ignored: u64,
    /// Time of the last change of a name that was written to the journal.
    renamed: Option<Time>,
}

impl Dhcp {
    /// A server without leases.
    pub fn new(plan: Plan) -> Dhcp {
        let settings = Settings {
            decline: DECLINED,
            authoritative: true,
            ..Settings::default()
        };
        Dhcp {
            plan,
            server: Server::new(Decided::default(), settings),
            reply: Vec::new(),
            spoofed: 0,
            denied: 0,
            ignored: 0,
            renamed: None,
        }
    }

    /// Takes a frame with a datagram to port 67 of a device, and writes the answer, if there is one, into
    /// [`reply`](Dhcp::reply).
    pub fn handle(
        &mut self,
        now: Time,
        home: &mut Home,
        port: u32,
        source: Mac,
        frame: &[u8],
    ) -> Option<Answer> {
        let Some(datagram) = datagram::read(frame, SERVER_PORT) else {
            self.ignored += 1;
            return None;
        };
        let Ok(message) = Message::new(datagram.payload) else {
            self.ignored += 1;
            return None;
        };
        if message.chaddr() != source || !message.giaddr().is_unspecified() {
            self.spoofed += 1;
            return None;
        }
        let kind = message.kind();
        if home.device(source).is_none() && !matches!(kind, Kind::Discover | Kind::Request) {
            self.ignored += 1;
            return None;
        }
        let Ok(device) = home.seen_at(now, source, Some(port)) else {
            self.denied += 1;
            return None;
        };
        let (slot, is_closed) = (device.slot, is_closed(device));
        let time = match device.is_admitted() {
            true => LEASE,
            false => WAITING_LEASE,
        };
        self.note_host_name(now, home, source, &message);
        if matches!(kind, Kind::Discover | Kind::Request) {
            home.note(now, source, |evidence| evidence.note_dhcp(source, &message));
        }
        if is_closed {
            self.denied += 1;
            return None;
        }
        let (gateway, address) = (self.plan.gateway(slot), self.plan.device(slot));
        self.server.policy().grant = Some((gateway, address, time));
        // The slot belonged to another device, or the client identifier changed, for example with a new operating system.
        let lease = self.server.leases().get(u32::from(address).into());
        if lease.is_some_and(|lease| lease.key.get(4..) != Some(&*message.client())) {
            self.server.revoke(now, address);
        }
        let arrival = Arrival {
            port: 0,
            server: gateway,
        };
        let reply = self
            .server
            .handle(now, &arrival, datagram.payload, &mut self.reply);
        let Ok(reply) = reply else {
            self.ignored += 1;
            return None;
        };
        match (kind, reply) {
            (Kind::Release | Kind::Decline, _) => note_end(now, home, source),
            (_, Some(reply)) if reply.kind == Kind::Ack && kind != Kind::Inform => {
                note_lease(now, home, source, now + time);
            }
            _ => {}
        }
        let reply = reply?;
        let (to, address) = match reply.to {
            Destination::Client(address) => (source, address),
            Destination::Hardware(mac, address) => (mac, address),
            Destination::Broadcast => (Mac::BROADCAST, Ipv4Addr::BROADCAST),
            // The server ignored a relayed message.
            Destination::Relay(_) => return None,
        };
        Some(Answer {
            to,
            source: SocketAddrV4::new(reply.from, SERVER_PORT),
            destination: SocketAddrV4::new(address, CLIENT_PORT),
        })
    }

    /// Stores the host name of a device. Invalid names are ignored. The first name of a device is stored at once; changes of
    /// names that go to the journal are at least [`RENAMING`] apart, as a device could change its name with each message.
    fn note_host_name(&mut self, now: Time, home: &mut Home, mac: Mac, message: &Message<'_>) {
        let Some(device) = home.device(mac) else {
            return;
        };
        let Some(name) = message.option(option::HOST_NAME) else {
            return;
        };
        let Ok(name) = core::str::from_utf8(&name) else {
            return;
        };
        let name = name.trim_end_matches('\0');
        let is_written = device.host_name.is_some() && !device.is_undecided();
        let is_early = self.renamed.is_some_and(|at| now < at + RENAMING);
        if device.host_name.as_deref() == Some(name) || (is_written && is_early) {
            return;
        }
        if is_written {
            self.renamed = Some(now);
        }
        // A refused name is not shown.
        let _ = home.change(now, mac, Change::HostName(name.into()));
    }

    /// Ends expired leases.
    pub fn wake(&mut self, now: Time, home: &mut Home) {
        while let Some(lease) = self.server.expire(now) {
            let address = Ipv4Addr::from(lease.address as u32);
            if let Some(device) = home.at(address).filter(|_| lease.state == State::Bound) {
                let mac = device.mac;
                note_end(now, home, mac);
            }
        }
    }

    /// Time of the next call of [`wake`](Dhcp::wake).
    pub fn next_wake(&self) -> Option<Time> {
        self.server.next_end()
    }

    /// Reports its counters.
    pub fn counters(&self, visit: &mut dyn FnMut(&str, u64)) {
        let counters = self.server.counters();
        let names = [
            "dhcp_discover",
            "dhcp_offer",
            "dhcp_request",
            "dhcp_decline",
            "dhcp_ack",
            "dhcp_nak",
            "dhcp_release",
            "dhcp_inform",
        ];
        for (name, count) in names.into_iter().zip(counters.messages) {
            visit(name, count);
        }
        visit("dhcp_spoofed", self.spoofed);
        visit("dhcp_denied", self.denied);
        visit("dhcp_ignored", self.ignored);
    }
}

/// Whether a device gets no address.
pub fn is_closed(device: &Device) -> bool {
    device.blacklisted || device.admission == Admission::Denied
}

fn note_lease(now: Time, home: &mut Home, mac: Mac, end: Time) {
    let Some(device) = home.device_mut(mac) else {
        return;
    };
    let is_news = device.lease_end.is_none_or(|old| old + SAME <= end);
    device.lease_end = Some(end);
    if is_news {
        home.notify(now, mac, News::Lease(end));
    }
}

fn note_end(now: Time, home: &mut Home, mac: Mac) {
    let ended = home
        .device_mut(mac)
        .and_then(|device| device.lease_end.take());
    if ended.is_some() {
        home.notify(now, mac, News::LeaseEnded);
    }
}

/// Destination of an IPv4 datagram; `None` for others.
pub fn v4(address: IpAddr) -> Option<Ipv4Addr> {
    match address {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    }
}
