//! Network address translation between the router's inside and its outside.
//!
//! A packet that arrives on the outside for an external address is translated before it is routed, one from the inside when it
//! is about to leave on the outside, as in Linux. Fragments are reassembled first (RFC 4787 REQ-14). Reports about translated
//! packets are translated, too.

use super::transit::reread;
use super::{NONE, OWN_MAC, Router, Transit, reason};
use crate::conntrack::{Announcement, EXPECTATION_TIMEOUT};
use crate::nat::{Nat, ToCome, Verdict};
use crate::port_mapping::Server;
use crate::route::Hop;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddrV4};
use ip::fragments::{Fragment, Reassembly};
use ip::header::UDP;
use ip::icmp::Error;
use node::{Frame, Out, Port, Time};

/// The border, and the NAT on it.
#[derive(Debug)]
pub(super) struct Border {
    pub nat: Nat,
    /// Whether the external addresses are those of the ports outside, as they come and go.
    pub is_automatic: bool,
    /// Whether each port is on the outside.
    pub outside: Vec<bool>,
    /// The VRF of the ports on the outside.
    pub vrf: usize,
    pub reassembly: Reassembly,
    /// The server for port mappings.
    pub server: Option<Server>,
}

impl Border {
    /// Whether a packet that `transit` describes, and whose report leaves by `port`, has come from the outside to a host inside.
    pub fn has_entered(&self, transit: &Transit, port: u16, towards: usize) -> bool {
        let is_v4 = transit.source.is_ipv4() && transit.vrf == self.vrf;
        is_v4 && self.is_outside(port) && !self.outside[towards]
    }

    pub(super) fn is_outside(&self, port: u16) -> bool {
        self.outside
            .get(usize::from(port))
            .is_some_and(|outside| *outside)
    }

    /// When [`Router::wake_border`] has something to do.
    pub fn next_wake(&self) -> Option<Time> {
        let server = self.server.as_ref().and_then(Server::next_wake);
        let own = [self.nat.next_wake(), self.reassembly.next_wake(), server];
        own.into_iter().flatten().min()
    }
}

impl Router {
    /// Translates a packet that has arrived for an external address. Returns it unless it waits for other fragments or is
    /// dropped.
    pub(super) fn arrive_at_border(
        &mut self,
        now: Time,
        transit: Transit,
        mut frame: Frame,
        out: &mut Out,
    ) -> Option<(Transit, Frame)> {
        let Some(border) = &mut self.border else {
            return Some((transit, frame));
        };
        if transit.vrf != border.vrf {
            return Some((transit, frame));
        }
        let (from, vrf) = (transit.from, transit.vrf);
        let mut transit = transit;
        if let Some(fragment) = Fragment::read(&frame) {
            frame = border.reassembly.take(now, fragment, frame, out)?;
            (transit, frame) = reread(from, vrf, frame, out)?;
        }
        let IpAddr::V4(destination) = transit.destination else {
            return Some((transit, frame));
        };
        if !border.nat.is_external(destination) {
            return Some((transit, frame));
        }
        if self
            .filter
            .as_ref()
            .is_some_and(|filter| filter.expects(&transit.flow.tracked))
        {
            border.nat.meet(now, &frame);
        }
        let verdict = match border.is_outside(from) {
            true => border.nat.inbound(now, &mut frame),
            false => border.nat.hairpin(now, &mut frame),
        };
        match verdict {
            Verdict::NotForNat => Some((transit, frame)),
            Verdict::Translated => {
                let flow = transit.flow;
                let (mut transit, frame) = reread(from, vrf, frame, out)?;
                (transit.translated, transit.flow) = (true, flow);
                Some((transit, frame))
            }
            Verdict::Drop(why) => {
                out.drop(frame, why);
                None
            }
            Verdict::Prohibit(why) => {
                self.fail(now, &transit, Error::Prohibited, why, frame, out);
                None
            }
        }
    }

    /// Translates a packet that is about to leave by `port`. Returns it unless it is dropped.
    pub(super) fn leave_by_border(
        &mut self,
        now: Time,
        transit: &Transit,
        port: u16,
        mut frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        if self
            .crossing
            .as_ref()
            .is_some_and(|crossing| crossing.is_final(transit))
        {
            return Some(frame);
        }
        let crosses = |border: &&mut Border| {
            border.is_outside(port) && !border.is_outside(transit.from) && transit.source.is_ipv4()
        };
        let Some(border) = self.border.as_mut().filter(crosses) else {
            return Some(frame);
        };
        match border.nat.outbound(now, &mut frame) {
            Verdict::Translated | Verdict::NotForNat => return Some(frame),
            Verdict::Drop(why) => out.drop(frame, why),
            Verdict::Prohibit(why) => self.fail(now, transit, Error::Prohibited, why, frame, out),
        }
        None
    }

    /// Finds the external endpoint of a connection that a host behind the NAT has announced.
    ///
    /// # Errors
    /// Reason to drop the packet with the announcement.
    pub(super) fn expect_at_border(
        &mut self,
        now: Time,
        announcement: &mut Announcement,
    ) -> Result<(), &'static str> {
        let tracker = self
            .filter
            .as_mut()
            .and_then(|filter| filter.tracker.as_mut());
        let (Some(tracker), Some(border)) = (tracker, &mut self.border) else {
            return Ok(());
        };
        while let Some((protocol, from, external)) = tracker.poll_withdrawn() {
            border.nat.give_up(now, protocol, from, external);
        }
        let (Some((host, port)), Some((protocol, remote, to))) =
            (announcement.behind_nat(), announcement.ends())
        else {
            return Ok(());
        };
        // TFTP uses the port of the control connection; FTP needs a new port.
        let id = match protocol {
            UDP => to.port(),
            _ => 0,
        };
        let external = border.nat.expect(
            now,
            &ToCome {
                protocol,
                inside: SocketAddrV4::new(host, port),
                remote,
                external: SocketAddrV4::new(*to.ip(), id),
                until: now + EXPECTATION_TIMEOUT,
            },
        )?;
        announcement.set_port(external.port());
        Ok(())
    }

    /// Gives the NAT the addresses of the ports outside, after they have changed; `false` if it cannot have them.
    pub(super) fn renumber_border(&mut self, port: Port) -> bool {
        let Some(border) = &mut self.border else {
            return true;
        };
        if !border.is_automatic || !border.is_outside(port.0) {
            return true;
        }
        let outside = self.ports.iter().zip(&border.outside);
        let outside = outside.filter(|(_, outside)| **outside);
        let all = outside.flat_map(|(port, _)| port.interface.addresses());
        let v4 = all.filter_map(|own| match own.network.address {
            IpAddr::V4(address) => Some(address.into()),
            IpAddr::V6(_) => None,
        });
        border.nat.set_external(v4.collect()).is_ok()
    }

    /// Lets the NAT know of a packet of the router itself that is about to leave.
    pub(super) fn note_at_border(&mut self, now: Time, transit: &Transit, hop: Hop, frame: &Frame) {
        if let Some(border) = &mut self.border
            && border.is_outside(hop.port.unwrap_or(NONE))
            && transit.source.is_ipv4()
        {
            border.nat.note_own(now, frame);
        }
    }

    /// Translates a report about a packet that had been translated on its arrival.
    pub(super) fn report_by_border(&mut self, now: Time, transit: &Transit, report: &mut Frame) {
        if let Some(border) = self.border.as_mut().filter(|_| transit.translated) {
            // A report that has no session of its own leaves as it is.
            let _ = border.nat.outbound(now, report);
        }
    }

    /// Reports to its sender a packet that has left the inside and whose next hop has not answered. Returns the frame of any other
    /// packet.
    pub(super) fn unresolved_at_border(
        &mut self,
        now: Time,
        transit: &Transit,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let (Some(border), IpAddr::V4(source)) = (&mut self.border, transit.source) else {
            return Some(frame);
        };
        if !border.nat.is_external(source) || transit.vrf != border.vrf {
            return Some(frame);
        }
        let mut report = out.copy(&frame);
        out.drop(frame, reason::NEIGHBOUR);
        let written = Error::Address.write(
            now,
            &mut report,
            transit.end,
            source.into(),
            OWN_MAC,
            |_| false,
        );
        let translated = written && border.nat.inbound(now, &mut report) == Verdict::Translated;
        match translated && self.limit.allows(now, source.into()) {
            true => {
                self.counters.errors += 1;
                self.originate(now, transit.vrf, NONE, report, out);
            }
            false => out.done(report),
        }
        None
    }

    /// Ends sessions, gives up fragments, and answers connections that no host inside has asked for.
    pub(super) fn wake_border(&mut self, now: Time, out: &mut Out) {
        let Some(border) = &mut self.border else {
            return;
        };
        border.reassembly.wake(now, out, |_, _| {});
        border.nat.expire(now);
        let vrf = border.vrf;
        while let Some(syn) = self
            .border
            .as_mut()
            .and_then(|border| border.nat.poll_unanswered(now))
        {
            match Transit::read(&syn, NONE, vrf) {
                Some(transit) => {
                    self.fail(now, &transit, Error::Port, reason::UNSOLICITED, syn, out)
                }
                None => out.done(syn),
            }
        }
    }
}
