//! Sending: the next hop, its MAC address, fragments.

use super::Interface;
use crate::discovery;
use crate::fragments;
use crate::header;
use crate::icmp::Error;
use crate::neighbours::{Due, NO_ANSWER};
use core::net::IpAddr;
use node::{Frame, Out, Time, When};

impl Interface {
    /// The own address from which packets to `to` leave; `None` when there is no route or no address of the version.
    pub fn source(&self, to: IpAddr) -> Option<IpAddr> {
        let hop = match to.is_multicast() {
            true => to,
            false => self.routes.next_hop(to)?,
        };
        self.addresses.source(to, hop)
    }

    /// Sends a packet that fits into a frame, whose MAC addresses are filled in: at once, or when the next hop has
    /// answered.
    pub fn send(&mut self, now: Time, to: IpAddr, when: When, frame: Frame, out: &mut Out) {
        // A neighbour that is known is by far the usual case. Entries off the link are routers alone.
        if let Some(mac) = self.neighbours.resolve(now, &to) {
            return self.depart(mac, when, frame, out);
        }
        if discovery::group_mac(to).is_some() {
            return self.send_to_neighbour(now, to, when, frame, out);
        }
        match self.routes.next_hop(to) {
            Some(hop) => self.send_to_neighbour(now, hop, when, frame, out),
            None => out.drop(frame, "no route"),
        }
    }

    /// As [`send`](Interface::send), to a neighbour on the link that the caller has chosen: routes are not asked.
    pub fn send_to_neighbour(
        &mut self,
        now: Time,
        neighbour: IpAddr,
        when: When,
        frame: Frame,
        out: &mut Out,
    ) {
        let known = self.neighbours.resolve(now, &neighbour);
        if let Some(mac) = known.or_else(|| discovery::group_mac(neighbour)) {
            return self.depart(mac, when, frame, out);
        }
        if self.neighbours.wait(now, neighbour, when, frame, out) {
            self.ask(neighbour, None, out);
        }
    }

    /// Sends a packet of any length, in fragments if it is longer than the MTU: the first at its time, the others right
    /// after it.
    pub fn send_any(&mut self, now: Time, to: IpAddr, when: When, frame: Frame, out: &mut Out) {
        self.identification = self.identification.wrapping_add(1);
        let mut when = when;
        fragments::cut(frame, self.mtu, self.identification, out, |frame, out| {
            let when = core::mem::replace(&mut when, When::Now);
            self.send(now, to, when, frame, out);
        });
    }

    /// Sends an answer, whose MAC addresses are filled in, in fragments if need be.
    pub(super) fn answer(&mut self, frame: Frame, out: &mut Out) {
        self.identification = self.identification.wrapping_add(1);
        let port = self.port;
        let send = |frame, out: &mut Out| out.send(port, frame);
        fragments::cut(frame, self.mtu, self.identification, out, send);
    }

    pub(super) fn depart(&self, mac: [u8; 6], when: When, mut frame: Frame, out: &mut Out) {
        frame[..6].copy_from_slice(&mac);
        frame[6..12].copy_from_slice(&self.mac);
        match when {
            When::Now => out.send(self.port, frame),
            When::At(at) => out.send_at(self.port, at, frame),
        }
    }

    /// An upper layer has progress with the host at `to`, so that the next hop gets this host's packets.
    pub fn confirm(&mut self, now: Time, to: IpAddr) {
        if let Some(hop) = self.routes.next_hop(to) {
            self.neighbours.confirm(now, hop);
        }
    }

    /// Time at which [`poll_transmit`](Interface::poll_transmit) has something to do.
    pub fn poll_timeout(&self) -> Option<Time> {
        let routers = self.routers.as_ref().and_then(|one| one.poll_timeout());
        let times = [
            self.neighbours.poll_timeout(),
            self.reassembly.next_wake(),
            self.addresses.poll_timeout(),
            routers,
        ];
        times.into_iter().flatten().min()
    }

    /// Sends everything due by `now`: address requests, probes, announcements, and errors for packets with
    /// missing fragments. Packets whose next hop has not answered are dropped.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Out) {
        self.poll_transmit_or(now, out, |frame, out| out.drop(frame, NO_ANSWER));
    }

    /// As [`poll_transmit`](Interface::poll_transmit), for a router: `unresolved` takes the packets whose next hop has not
    /// answered.
    pub fn poll_transmit_or(
        &mut self,
        now: Time,
        out: &mut Out,
        mut unresolved: impl FnMut(Frame, &mut Out),
    ) {
        while let Some(due) = self.neighbours.poll(now) {
            match due {
                Due::Ask(who, at) => self.ask(who, at, out),
                Due::Failed(_, waiting) => {
                    for (_, frame) in waiting {
                        unresolved(frame, out);
                    }
                }
            }
        }
        let (mac, port, limit) = (self.mac, self.port, &mut self.limit);
        self.reassembly.wake(now, out, |first, out| {
            let Some((source, from, end)) = fragments::ends(first) else {
                return;
            };
            let mut error = out.copy(first);
            let is_own = |own| from == IpAddr::V4(own);
            let written = Error::Reassembly.write(now, &mut error, end, from, mac, is_own);
            match written && limit.allows(now, source) {
                true => out.send(port, error),
                false => out.done(error),
            }
        });
        self.configure(now, out);
    }

    /// Asks for the MAC address of a neighbour.
    fn ask(&mut self, who: IpAddr, at: Option<[u8; 6]>, out: &mut Out) {
        if let Some(own) = self.addresses.source(who, who) {
            self.scratch.clear();
            discovery::request(self.mac, own, who, at, &mut self.scratch);
            self.emit(out);
        }
    }

    /// Sends the frame in `scratch`.
    pub(super) fn emit(&mut self, out: &mut Out) {
        let mut frame = out.frame();
        frame.extend(&self.scratch);
        out.send(self.port, frame);
    }

    /// Maximum length of a packet's payload after its IP header in one frame, bytes.
    pub fn max_payload(&self, to: IpAddr) -> usize {
        self.mtu - header::length(to)
    }
}
