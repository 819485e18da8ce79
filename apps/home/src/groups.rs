//! Broadcasts and multicasts of devices, which reach permitted devices only (paper 003, section 4.4.3).
//!
//! - A broadcast by UDP goes to every other permitted device, with the destination 255.255.255.255, as hosts ignore the
//!   broadcast address of another subnet.
//! - Relays forward multicast DNS and SSDP; the gateway of the receiver is the sender.
//! - Other groups are not forwarded.
//!
//! Each copy has the MAC address of its receiver, so that a device at the same port that is not permitted does not get it.

use crate::frame::{Frames, set_hops};
use crate::plan::Plan;
use crate::rate::Buckets;
use crate::rules::{Datapath, set_mac};
use core::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use dhcp::datagram;
use dns::{mdns, ssdp};
use node::Time;
use openflow::action::Action;
use openflow::oxm::{Field, Oxm};
use openflow::port::PortNo;
use packet::ethernet::Mac;

/// Group of multicast DNS (RFC 6762 section 3), and the hop limit of its messages (section 11).
const MDNS: (Ipv4Addr, u8) = (Ipv4Addr::new(224, 0, 0, 251), 255);
/// Hop limit of messages of SSDP (UPnP Device Architecture 2.0, section 1).
const SSDP_HOPS: u8 = 2;
/// Maximum rate of each device's messages, a second.
const RATE: u32 = 20;
/// Burst of broadcasts of a device.
const BURST: u64 = 20;

/// A device that gets copies.
#[derive(Clone, Copy, Debug)]
pub struct Receiver {
    /// Its MAC address.
    pub mac: Mac,
    /// Its slot.
    pub slot: u16,
    /// Its port.
    pub port: u32,
}

/// Counters of groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Broadcasts forwarded.
    pub broadcasts: u64,
    /// Messages of multicast DNS relayed.
    pub mdns: u64,
    /// Messages of SSDP relayed.
    pub ssdp: u64,
    /// Messages of a DHCP server among the devices.
    pub rogue_dhcp: u64,
    /// Messages to groups that are not forwarded, malformed, or beyond the rate.
    pub dropped: u64,
}

/// Forwards broadcasts and multicasts of a home.
#[derive(Debug)]
pub struct Groups {
    plan: Plan,
    gateway: Mac,
    mdns: mdns::Relay,
    ssdp: ssdp::Relay,
    /// Broadcasts of slots.
    buckets: Buckets<u16>,
    message: Vec<u8>,
    frames: Frames,
    /// Its counters.
    pub counters: Counters,
}

impl Groups {
    /// For a plan, with the MAC address of the gateways.
    pub fn new(plan: Plan, gateway: Mac, seed: u64) -> Groups {
        Groups {
            plan,
            gateway,
            mdns: mdns::Relay::new(&[], RATE).expect("all services pass"),
            ssdp: ssdp::Relay::new(&[], RATE, seed).expect("all targets pass"),
            buckets: Buckets::new(RATE.into(), BURST),
            message: Vec::new(),
            frames: Frames::default(),
            counters: Counters::default(),
        }
    }

    /// Handles a broadcast or multicast frame of a permitted device. `receivers` are the other permitted devices.
    pub fn handle(
        &mut self,
        now: Time,
        (slot, in_port): (u16, PortNo),
        (destination, ports): (Ipv4Addr, Option<(u16, u16)>),
        frame: &[u8],
        receivers: &[Receiver],
        datapath: &mut Datapath<'_, '_>,
    ) {
        let is_relayed = match (destination, ports) {
            (_, Some((67, 68))) => {
                self.counters.rogue_dhcp += 1;
                return;
            }
            (group, Some((_, mdns::PORT))) if group == MDNS.0 => {
                self.relay_mdns(now, slot, frame, receivers, datapath)
            }
            (ssdp::GROUP, Some((_, ssdp::PORT))) => {
                self.relay_ssdp(now, slot, frame, receivers, datapath)
            }
            (group, _) if group.is_multicast() => false,
            (_, Some(_)) => self.broadcast(now, slot, in_port, frame, receivers, datapath),
            _ => false,
        };
        self.counters.dropped += u64::from(!is_relayed);
    }

    fn broadcast(
        &mut self,
        now: Time,
        slot: u16,
        in_port: PortNo,
        frame: &[u8],
        receivers: &[Receiver],
        datapath: &mut Datapath<'_, '_>,
    ) -> bool {
        if !self.buckets.take(now, slot) {
            return false;
        }
        self.counters.broadcasts += 1;
        let all = u32::from(Ipv4Addr::BROADCAST);
        let mut actions = vec![
            Action::SetField(Oxm::new(Field::Ipv4Dst, all.into())),
            set_mac(Field::EthSrc, self.gateway),
        ];
        for receiver in receivers {
            actions.push(set_mac(Field::EthDst, receiver.mac));
            actions.push(Action::output(out_of(in_port, receiver.port)));
        }
        if !receivers.is_empty() {
            datapath.send_through(in_port, frame, &actions);
        }
        true
    }

    fn relay_mdns(
        &mut self,
        now: Time,
        slot: u16,
        frame: &[u8],
        receivers: &[Receiver],
        datapath: &mut Datapath<'_, '_>,
    ) -> bool {
        let Some(datagram) = datagram::read(frame, mdns::PORT) else {
            return false;
        };
        let mut message = core::mem::take(&mut self.message);
        let relayed = self
            .mdns
            .handle(now, slot, datagram.source, datagram.payload, &mut message);
        if relayed.is_ok() {
            self.counters.mdns += 1;
            let group = SocketAddrV4::new(MDNS.0, mdns::PORT);
            for receiver in receivers {
                let from = SocketAddrV4::new(self.plan.gateway(receiver.slot), mdns::PORT);
                self.copy(receiver, (from, group, MDNS.1), &message, datapath);
            }
        }
        self.message = message;
        relayed.is_ok()
    }

    fn relay_ssdp(
        &mut self,
        now: Time,
        slot: u16,
        frame: &[u8],
        receivers: &[Receiver],
        datapath: &mut Datapath<'_, '_>,
    ) -> bool {
        let Some(datagram) = datagram::read(frame, ssdp::PORT) else {
            return false;
        };
        let payload = datagram.payload;
        let Ok(port) = self.ssdp.handle_group(now, slot, datagram.source, payload) else {
            return false;
        };
        self.counters.ssdp += 1;
        let group = SocketAddrV4::new(ssdp::GROUP, ssdp::PORT);
        for receiver in receivers {
            let from = SocketAddrV4::new(self.plan.gateway(receiver.slot), port);
            self.copy(receiver, (from, group, SSDP_HOPS), payload, datapath);
        }
        true
    }

    /// Receiver and content of an SSDP response to this port of a gateway.
    pub fn search_response<'f>(
        &mut self,
        now: Time,
        port: u16,
        frame: &'f [u8],
    ) -> Option<(SocketAddrV4, &'f [u8])> {
        if !self.ssdp.has_port(port) {
            return None;
        }
        let payload = datagram::read(frame, port)?.payload;
        match self.ssdp.handle_response(now, port, payload) {
            Ok(SocketAddr::V4(searcher)) => Some((searcher, payload)),
            _ => None,
        }
    }

    fn copy(
        &mut self,
        receiver: &Receiver,
        (from, to, hops): (SocketAddrV4, SocketAddrV4, u8),
        payload: &[u8],
        datapath: &mut Datapath<'_, '_>,
    ) {
        let mut frame = self
            .frames
            .datagram((self.gateway, receiver.mac), from, to, payload);
        set_hops(&mut frame, hops);
        datapath.send(PortNo(receiver.port), &frame);
        self.frames.done(frame);
    }

    /// Removes a slot.
    pub fn forget(&mut self, slot: u16) {
        self.buckets.remove(&slot);
    }
}

/// Port number for an output. OpenFlow sends a packet back to its input port only with the reserved port IN_PORT.
pub fn out_of(in_port: PortNo, port: u32) -> PortNo {
    match PortNo(port) {
        port if port == in_port => PortNo::IN_PORT,
        port => port,
    }
}
