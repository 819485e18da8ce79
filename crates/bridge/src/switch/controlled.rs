//! The way of a frame through a switch that has protocols.

use super::control::Control;
use super::{DEFAULT_VLAN, Switch};
use crate::lacp::pdu::{self, Pdu};
use crate::{snooping, stp, wire};
use multicast::message::{self, Message};
use node::{Frame, Out, Port, Time};

const NOT_FORWARDING: &str = "port does not forward";

/// The low 48 bits of a MAC address as a number.
const fn number(mac: packet::ethernet::Mac) -> u64 {
    let [a, b, c, d, e, f] = mac.0;
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

const BPDU: u64 = number(stp::bpdu::DESTINATION);
const SLOW: u64 = number(pdu::DESTINATION);

impl Switch {
    pub(super) fn start(&mut self, control: &mut Control, now: Time, out: &mut Out) {
        if !control.is_started {
            control.start(now);
            self.settle(control, now, out);
        }
    }

    /// After anything but the passage of a frame: new states of ports, addresses to forget, messages to send.
    pub(super) fn settle(&mut self, control: &mut Control, now: Time, out: &mut Out) {
        if !control.is_started {
            return;
        }
        control.refresh(now);
        if let Some(stp) = &mut control.stp {
            if stp.needs_flush() {
                let ports = 0..self.config.ports;
                let flushed: alloc::vec::Vec<bool> =
                    ports.map(|port| stp.take_flush(now, port)).collect();
                if flushed.contains(&true) {
                    self.table.flush(|port| flushed[port.index()]);
                }
                if let Some(snooper) = &mut control.snooper {
                    snooper.handle_topology_change(now);
                }
            }
            self.table
                .set_ageing(now, stp.ageing(now).unwrap_or(control.ageing));
        }
        self.transmit(control, now, out);
        control.plan(now);
    }

    fn transmit(&mut self, control: &mut Control, now: Time, out: &mut Out) {
        let mac = control.mac;
        for index in 0..control.groups.len() {
            while let Some((port, actor, partner)) = control.groups[index].poll_transmit(now) {
                let mut frame = out.frame();
                pdu::build_frame(&actor, &partner, mac, &mut frame);
                self.emit(control, now, None, port, frame, out);
            }
        }
        while let Some((port, bpdu)) = control.stp.as_mut().and_then(|stp| stp.poll_transmit(now)) {
            let mut frame = out.frame();
            bpdu.build_frame(mac, &mut frame);
            self.deliver(control, now, None, port, frame, out);
        }
        while let Some((query, source)) = control
            .snooper
            .as_mut()
            .and_then(|of| of.poll_transmit(now))
        {
            let vlan = if self.config.vlan_aware {
                DEFAULT_VLAN
            } else {
                0
            };
            let mut first = out.frame();
            let message = Message::Query(query);
            message::build_frame(&message, source, mac, &mut first);
            let Message::Query(query) = message else {
                continue;
            };
            for index in 0..control.forwarding.len() {
                let port = control.forwarding[index];
                let snooper = control.snooper.as_ref();
                if snooper.is_some_and(|of| of.query_leaves_by(&query, vlan, port)) {
                    let copy = out.copy(&first);
                    self.deliver(control, now, None, port, copy, out);
                }
            }
            out.done(first);
        }
    }

    /// Sends a frame by a port, and copies of it by the ports of mirrors. A frame of the switch's own comes `from` no port, and
    /// does not pass the fabric.
    fn emit(
        &mut self,
        control: &mut Control,
        now: Time,
        from: Option<Port>,
        to: u16,
        frame: Frame,
        out: &mut Out,
    ) {
        for index in 0..control.copies_out[usize::from(to)].len() {
            let destination = control.copies_out[usize::from(to)][index];
            let copy = out.copy(&frame);
            control.mirrored += 1;
            self.pass(now, from, Port(destination), copy, out);
        }
        self.pass(now, from, Port(to), frame, out);
    }

    fn pass(&mut self, now: Time, from: Option<Port>, to: Port, frame: Frame, out: &mut Out) {
        match from {
            Some(from) => self.send(now, from, to, frame, out),
            None => out.send(to, frame),
        }
    }

    fn deliver(
        &mut self,
        control: &mut Control,
        now: Time,
        from: Option<Port>,
        logical: u16,
        frame: Frame,
        out: &mut Out,
    ) {
        match control.link_of(logical, &frame) {
            Some(port) => self.emit(control, now, from, port, frame, out),
            None => out.drop(frame, "no link of the group distributes"),
        }
    }

    pub(super) fn controlled(
        &mut self,
        control: &mut Control,
        now: Time,
        port: Port,
        frame: Frame,
        out: &mut Out,
    ) {
        if control.is_destination[port.index()] {
            out.drop(frame, "came by a mirror's port");
            return;
        }
        for index in 0..control.copies_in[port.index()].len() {
            let destination = control.copies_in[port.index()][index];
            let copy = out.copy(&frame);
            control.mirrored += 1;
            self.send(now, port, Port(destination), copy, out);
        }
        let Some((destination, source)) = wire::addresses(&frame) else {
            out.drop(frame, "shorter than an Ethernet header");
            return;
        };
        self.packets += 1;
        let frame = match destination & !0xF {
            wire::RESERVED_GROUP => {
                let rest = self.protocol(control, now, port, destination, frame, out);
                match rest {
                    None => return,
                    Some(frame) if !self.config.forward_reserved => {
                        out.drop(frame, "reserved address");
                        return;
                    }
                    Some(frame) => frame,
                }
            }
            _ => frame,
        };
        self.forward(control, now, port, destination, source, frame, out);
    }

    /// Gives a frame to the protocol that it is for, if the switch has that.
    fn protocol(
        &mut self,
        control: &mut Control,
        now: Time,
        port: Port,
        destination: u64,
        mut frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let mac = control.mac;
        match destination {
            BPDU if control.stp.is_some() => {
                if !control.collects(port.0) {
                    out.drop(frame, "link of a group that does not collect");
                    return None;
                }
                let logical = control.logical(port.0);
                let result = control
                    .stp
                    .as_mut()
                    .map(|stp| stp.handle_frame(now, logical, &frame));
                match result {
                    Some(Err(reason)) => out.drop(frame, reason.0),
                    _ => out.done(frame),
                }
            }
            SLOW => {
                let Some(group) = control.group(port.0) else {
                    return Some(frame);
                };
                match group.handle_frame(now, port.0, &frame) {
                    Err(reason) => out.drop(frame, reason.0),
                    Ok(true) => {
                        Pdu::answer_marker(&mut frame, mac);
                        self.emit(control, now, None, port.0, frame, out);
                    }
                    Ok(false) => out.done(frame),
                }
            }
            _ => return Some(frame),
        }
        self.settle(control, now, out);
        None
    }

    #[expect(clippy::too_many_arguments, reason = "the addresses are read already")]
    fn forward(
        &mut self,
        control: &mut Control,
        now: Time,
        port: Port,
        destination: u64,
        source: u64,
        frame: Frame,
        out: &mut Out,
    ) {
        if !control.collects(port.0) {
            out.drop(frame, "link of a group that does not collect");
            return;
        }
        let logical = control.logical(port.0);
        let vlan = self.vlan_key(&frame);
        if control.learns[usize::from(logical)] && !wire::is_group(source) {
            self.learn(now, vlan | source, Port(logical));
        }
        if !control.forwards[usize::from(logical)] {
            out.drop(frame, NOT_FORWARDING);
            return;
        }
        if wire::is_group(destination) {
            self.multicast(control, now, port, logical, (vlan >> 48) as u16, frame, out);
            return;
        }
        match self.table.find(now, vlan | destination) {
            Some(known) if known.0 == logical => {
                out.drop(frame, "destination on the port of arrival");
            }
            Some(known) if control.forwards[known.index()] => {
                self.deliver(control, now, Some(port), known.0, frame, out);
            }
            Some(_) => out.drop(frame, NOT_FORWARDING),
            None => self.flood_controlled(control, now, port, logical, frame, out),
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the port, its group and the VLAN are known already"
    )]
    fn multicast(
        &mut self,
        control: &mut Control,
        now: Time,
        port: Port,
        logical: u16,
        vlan: u16,
        frame: Frame,
        out: &mut Out,
    ) {
        let Some(snooper) = &mut control.snooper else {
            self.flood_controlled(control, now, port, logical, frame, out);
            return;
        };
        let is_tagged = self.config.vlan_aware
            && matches!(
                wire::u16_at(&frame, 12),
                Some(wire::TPID_CUSTOMER | wire::TPID_SERVICE)
            );
        let at = wire::ETHERNET + if is_tagged { 4 } else { 0 };
        match snooper.handle_frame(now, logical, vlan, &frame, at) {
            Err(reason) => {
                out.drop(frame, reason.0);
                return;
            }
            Ok(snooping::Verdict::Flood) => {
                self.flood_controlled(control, now, port, logical, frame, out);
            }
            Ok(snooping::Verdict::Ports) => {
                let (count, mut sent) = (snooper.ports().len(), false);
                for index in 0..count {
                    let Some(&to) = control
                        .snooper
                        .as_ref()
                        .and_then(|of| of.ports().get(index))
                    else {
                        break;
                    };
                    let to = control.logical(to);
                    if to != logical && control.forwards[usize::from(to)] {
                        let copy = out.copy(&frame);
                        self.deliver(control, now, Some(port), to, copy, out);
                        sent = true;
                    }
                }
                match sent {
                    true => out.done(frame),
                    false => out.drop(frame, "group without members"),
                }
            }
        }
        // A message may have asked for a query.
        if control
            .snooper
            .as_ref()
            .and_then(snooping::Snooper::next_wake)
            .is_some_and(|at| at < control.next)
        {
            self.transmit(control, now, out);
            control.plan(now);
        }
    }

    fn flood_controlled(
        &mut self,
        control: &mut Control,
        now: Time,
        port: Port,
        logical: u16,
        frame: Frame,
        out: &mut Out,
    ) {
        self.flooded += 1;
        let mut last = None;
        for index in 0..control.forwarding.len() {
            let to = control.forwarding[index];
            if to == logical {
                continue;
            }
            // The frame itself goes to the last port, copies of it to those before.
            if let Some(before) = last.replace(to) {
                let copy = out.copy(&frame);
                self.deliver(control, now, Some(port), before, copy, out);
            }
        }
        match last {
            Some(to) => self.deliver(control, now, Some(port), to, frame, out),
            None => out.drop(frame, "no other port"),
        }
    }
}
