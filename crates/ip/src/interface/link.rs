//! Messages of ARP and neighbour discovery.

use super::{ALL_NODES, Interface, Received, UNSPECIFIED};
use crate::address::is_host;
use crate::discovery::{self, Message};
use crate::header::Packet;
use crate::neighbours::Heard;
use core::net::IpAddr;
use node::{Frame, Out, Time};
use packet::arp::Operation;

impl Interface {
    /// Whether an IPv6 address is that of a group to which the interface belongs.
    pub(super) fn is_member(&self, to: IpAddr) -> bool {
        let mut own = self.addresses.iter();
        to == ALL_NODES
            || self.groups.iter().any(|group| to == IpAddr::V6(*group))
            || own.any(|own| match own.network.address {
                IpAddr::V6(own) => to == IpAddr::V6(discovery::solicited_node(own)),
                IpAddr::V4(_) => false,
            })
    }

    pub(super) fn arp(&mut self, now: Time, mut frame: Frame, out: &mut Out) -> Received {
        let Some(arp) = discovery::read_arp(&frame) else {
            return self.ignore(frame);
        };
        self.hear_arp(now, &frame, &arp, out);
        // A sender with an address of this interface is a conflict, and answered by no more than a defence.
        let asked =
            arp.operation == Operation::Request && !self.addresses.contains(arp.sender.into());
        if !asked || !self.addresses.contains(arp.target.into()) {
            self.give_up(frame, out);
            return Received::Consumed;
        }
        self.count(|counters| counters.arp += 1);
        discovery::answer_arp(&mut frame, &arp, self.mac);
        out.send(self.port, frame);
        Received::Consumed
    }

    pub(super) fn hear_arp(
        &mut self,
        now: Time,
        frame: &[u8],
        arp: &packet::arp::Arp,
        out: &mut Out,
    ) {
        let sender = IpAddr::V4(arp.sender);
        let (mac, target) = (arp.sender_mac.0, IpAddr::V4(arp.target));
        if mac == self.mac {
            return;
        }
        let probes = arp.sender.is_unspecified();
        let about = if probes { target } else { sender };
        self.conflict(now, about, !probes, out);
        if !is_host(sender) || self.addresses.contains(sender) {
            return;
        }
        let heard = match arp.operation {
            // An announcement.
            _ if sender == target => Heard::Reply {
                mac: Some(mac),
                solicited: false,
                overrides: true,
            },
            _ if !self.addresses.contains(target) => return,
            Operation::Request => Heard::Request(mac),
            _ => Heard::Reply {
                mac: Some(mac),
                solicited: frame[0] & 1 == 0,
                overrides: true,
            },
        };
        self.learn(now, sender, heard, out);
    }

    pub(super) fn hear(&mut self, now: Time, packet: &Packet, message: &Message, out: &mut Out) {
        match message {
            Message::Solicitation { target, mac } => {
                if packet.source == UNSPECIFIED {
                    return self.conflict(now, (*target).into(), false, out);
                }
                if let Some(mac) = mac.filter(|_| self.addresses.contains((*target).into())) {
                    self.learn(now, packet.source, Heard::Request(mac), out);
                }
            }
            Message::Advertisement {
                target,
                mac,
                solicited,
                overrides,
            } => {
                let (target, mac) = (IpAddr::V6(*target), *mac);
                self.conflict(now, target, true, out);
                let heard = Heard::Reply {
                    mac,
                    solicited: *solicited,
                    overrides: *overrides,
                };
                self.learn(now, target, heard, out);
            }
            Message::Router(router) => self.hear_router(now, packet.source, router, out),
            Message::Redirect {
                target,
                destination,
                mac,
            } => self.redirect(now, packet.source, [*target, *destination], *mac, out),
        }
    }

    /// Takes a message about a neighbour; packets that have waited for it leave.
    pub(super) fn learn(&mut self, now: Time, who: IpAddr, heard: Heard, out: &mut Out) {
        // Addresses off the link are a router's, whatever a peer says.
        let create = self.routes.is_on_link(who);
        let waiting = self.neighbours.hear(now, who, heard, create, out);
        let Some((mac, waiting)) = waiting else {
            return;
        };
        for (when, frame) in waiting {
            self.depart(mac, when, frame, out);
        }
    }
}
