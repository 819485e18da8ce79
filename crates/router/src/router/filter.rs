//! The firewall and connection tracking on the path of packets, in Linux's order.
//!
//! | hook | place |
//! |---|---|
//! | prerouting | arrival, after the checks of the IP header: fragments, rules before the tracker, tracker, rules after it |
//! | input | before the router's own interface takes the packet |
//! | forward | after the route and the checks of hop limit and MTU, with the hop limit counted down |
//! | output | the router's own packets, after their route; not ARP and neighbour discovery |
//!
//! Translation by the [border](super::border) comes after prerouting and after forward. A connection is confirmed when its packet
//! leaves, with the addresses that the border has given it.

use super::transit::reread;
use super::{Config, NONE, Router, Transit, reason};
use crate::conntrack::{Headers, State, Tracked, Tracker, Tuple};
use crate::firewall::synproxy::Proxy;
use crate::firewall::{Firewall, Hook, Outcome, Packet, Reject};
use crate::port_mapping::Pinholes;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddrV6};
use ip::fragments::{Fragment, Longest, Reassembly};
use ip::header::{ETHERNET, TCP, UDP};
use ip::icmp::Error;
use ip::reset;
use node::outcome::Table;
use node::random::Random;
use node::{ConfigError, Frame, Out, Statistics, Time};
use packet::checksum::checksum;

use crate::route::Hop;

/// Number of the VRF without a name, if there is one: VRFs are in the order of their names.
const UNNAMED_VRF: usize = 0;

/// Firewall, tracker of connections, and SYN proxy of a router.
#[derive(Debug)]
pub(super) struct Filter {
    firewall: Option<Firewall>,
    pub tracker: Option<Tracker>,
    reassembly: Reassembly,
    pub proxy: Proxy,
    /// Pinholes that hosts have asked for.
    pub pinholes: Option<Pinholes>,
    /// Whether there is a border or a crossing, which changes addresses.
    translates: bool,
    random: Random,
}

impl Filter {
    /// The filter of a configuration, if it has any.
    pub fn new(config: &Config) -> Result<Option<Filter>, ConfigError> {
        let names = config.port.iter().enumerate().map(|(number, port)| {
            let number = [number.to_string()];
            number.into_iter().chain(port.name.clone()).collect()
        });
        let names: Vec<Vec<String>> = names.collect();
        let firewall = match &config.firewall {
            Some(text) => {
                let read = Firewall::new(text, &names);
                Some(read.map_err(|fault| ConfigError::new("firewall", fault.to_string()))?)
            }
            None => None,
        };
        let needed = firewall.as_ref().is_some_and(Firewall::needs_tracking);
        let wanted = config.conntrack.clone().or(needed.then(Default::default));
        if firewall.is_none() && wanted.is_none() {
            return Ok(None);
        }
        let pinholes = match &config.port_mapping {
            Some(pinholes) if super::config::has_pinholes(config) => {
                Some(pinholes.clone().pinholes()?)
            }
            _ => None,
        };
        let wanted = wanted.or(pinholes.is_some().then(Default::default));
        let mut random = Random::new(config.seed);
        let tracker = match wanted {
            Some(wanted) => Some(Tracker::new(wanted, random.bits())?),
            None => None,
        };
        Ok(Some(Filter {
            firewall,
            tracker,
            reassembly: Reassembly::default(),
            proxy: Proxy::new([random.bits(), random.bits()]),
            pinholes,
            translates: config.nat.is_some() || config.nat64.is_some() || config.siit.is_some(),
            random,
        }))
    }

    /// Whether a packet begins a connection that a helper expects.
    pub fn expects(&self, tracked: &Tracked) -> bool {
        let mut tracker = self.tracker.iter();
        tracker.any(|tracker| tracker.is_expected(tracked))
    }

    /// Identification of the next packet that leaves in fragments.
    pub fn identification(&mut self) -> u32 {
        self.random.bits() as u32
    }

    pub fn next_wake(&self) -> Option<Time> {
        let tracker = self.tracker.as_ref().and_then(Tracker::next_wake);
        let reassembly = self.reassembly.next_wake();
        tracker.into_iter().chain(reassembly).min()
    }

    /// Adds the counters to those of the router.
    pub fn count(&self, all: &mut Statistics) {
        if let Some(tracker) = &self.tracker {
            all.counter("connections", tracker.len() as u64);
            for (name, count) in tracker.counters().named() {
                all.counter(&format!("conntrack_{name}"), count);
            }
        }
        if let Some(firewall) = &self.firewall {
            for (name, packets, bytes) in firewall.counters() {
                all.counter(&format!("{name} packets"), packets);
                all.counter(&format!("{name} bytes"), bytes);
            }
        }
        let asked = |own: &&Pinholes| own.counters().requests > 0;
        if let Some(pinholes) = self.pinholes.as_ref().filter(asked) {
            for (name, count) in pinholes.counters().named() {
                all.counter(&format!("pinholes_{name}"), count);
            }
        }
        let proxy = self.proxy.counters;
        for (name, count) in [
            ("synproxy_syns", proxy.syns),
            ("synproxy_valid", proxy.valid),
            ("synproxy_invalid", proxy.invalid),
            ("synproxy_retransmitted", proxy.retransmitted),
        ] {
            if proxy.syns > 0 {
                all.counter(name, count);
            }
        }
    }

    pub fn tables(&self, now: Time) -> Vec<Table> {
        let connections = self.tracker.iter().map(|tracker| Table {
            name: String::from("connections"),
            entries: tracker.rows(now),
        });
        let rules = self.firewall.iter().map(Firewall::table);
        let pinholes = self.pinholes.iter().filter(|own| !own.is_empty());
        let pinholes = pinholes.map(|pinholes| pinholes.table(now));
        connections.chain(pinholes).chain(rules).collect()
    }

    /// Runs a hook; `Err`: the table of connections is full.
    fn run(
        &mut self,
        hook: Hook,
        now: Time,
        transit: &mut Transit,
        oif: Option<u16>,
        frame: &[u8],
    ) -> Result<Outcome, &'static str> {
        let headers = Headers::read(frame, ETHERNET, false).ok_or(reason::BAD_HEADER)?;
        let mut packet = Packet {
            frame,
            headers: &headers,
            iif: (transit.from != NONE).then_some(transit.from),
            oif,
            mark: transit.flow.mark,
            tracked: transit.flow.tracked,
            tracker: self.tracker.as_mut(),
        };
        let is_first = matches!(hook, Hook::Prerouting | Hook::Output);
        let mut outcome = Outcome::Accept;
        if let Some(firewall) = self.firewall.as_mut().filter(|_| is_first) {
            outcome = firewall.run(hook, false, now, &mut packet);
        }
        // A packet of the other version begins after its translation.
        let tracks = is_first || (hook == Hook::Forward && transit.crossed);
        if tracks && outcome == Outcome::Accept && packet.tracked.may_be_tracked() {
            let zone = transit.vrf as u16;
            let is_own = hook == Hook::Output;
            if let Some(tracker) = &mut packet.tracker {
                let tracked = tracker.track(now, zone, frame, &headers, is_own);
                packet.tracked = tracked.map_err(|_| reason::CONNECTIONS)?;
                if transit.flow.opens_proxied {
                    tracker.make_proxied(&packet.tracked);
                }
                let pinholes = self
                    .pinholes
                    .as_ref()
                    .filter(|_| transit.vrf == UNNAMED_VRF);
                if packet.tracked.state == State::New
                    && pinholes.is_some_and(|own| passes(own, now, frame, &headers))
                {
                    tracker.make_expected(&mut packet.tracked);
                }
            }
        }
        if let Some(firewall) = self
            .firewall
            .as_mut()
            .filter(|_| outcome == Outcome::Accept)
        {
            outcome = firewall.run(hook, true, now, &mut packet);
        }
        (transit.flow.mark, transit.flow.tracked) = (packet.mark, packet.tracked);
        Ok(outcome)
    }
}

impl Router {
    /// Takes a packet that has arrived: puts fragments together, runs prerouting, and finds the connection.
    pub(super) fn arrive_at_filter(
        &mut self,
        now: Time,
        mut transit: Transit,
        mut frame: Frame,
        out: &mut Out,
    ) -> Option<(Transit, Frame)> {
        let Some(filter) = &mut self.filter else {
            return Some((transit, frame));
        };
        let fragment = match filter.tracker {
            Some(_) => Fragment::read(&frame),
            None => None,
        };
        if let Some(fragment) = fragment {
            frame = filter.reassembly.take_marked(now, fragment, frame, out)?;
            let longest = filter.reassembly.longest();
            let to_group = transit.to_group;
            (transit, frame) = reread(transit.from, transit.vrf, frame, out)?;
            (transit.flow.fragments, transit.to_group) = (Some(longest), to_group);
        }
        let frame = self.pass_filter(Hook::Prerouting, now, &mut transit, None, frame, out)?;
        Some((transit, frame))
    }

    /// Takes a packet for the router itself.
    pub(super) fn enter_filter(
        &mut self,
        now: Time,
        transit: &Transit,
        mut frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let Some(filter) = &mut self.filter else {
            return Some(frame);
        };
        let mut transit = *transit;
        let has_rules = filter
            .firewall
            .as_ref()
            .is_some_and(|own| own.has(Hook::Input));
        // Linux puts IPv4 packets for itself together before their rules.
        if has_rules
            && transit.source.is_ipv4()
            && let Some(fragment) = Fragment::read(&frame)
        {
            frame = filter.reassembly.take_marked(now, fragment, frame, out)?;
            let flow = transit.flow;
            (transit, frame) = reread(transit.from, transit.vrf, frame, out)?;
            transit.flow = flow;
        }
        let frame = self.pass_filter(Hook::Input, now, &mut transit, None, frame, out)?;
        self.leave_by_filter(now, &transit, frame, out)
    }

    /// Takes a packet on its way to a port.
    pub(super) fn cross_filter(
        &mut self,
        now: Time,
        transit: &mut Transit,
        port: u16,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        self.pass_filter(Hook::Forward, now, transit, Some(port), frame, out)
    }

    /// Confirms the connection of a packet that leaves, and translates it for the SYN proxy.
    pub(super) fn leave_by_filter(
        &mut self,
        now: Time,
        transit: &Transit,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        if self
            .filter
            .as_ref()
            .is_none_or(|filter| filter.tracker.is_none())
        {
            return Some(frame);
        }
        let mut tracked = transit.flow.tracked;
        let mut frame = self.leave_by_proxy(now, transit, frame, out)?;
        let filter = self.filter.as_mut()?;
        let translates = filter.translates;
        let tracker = filter.tracker.as_mut()?;
        let Ok(mut announced) = tracker.announced(&tracked, &frame, translates) else {
            out.drop(frame, reason::ANNOUNCEMENT);
            return None;
        };
        if let Some(announcement) = &mut announced
            && let Err(why) = self.expect_at_border(now, announcement)
        {
            out.drop(frame, why);
            return None;
        }
        let tracker = self.filter.as_mut()?.tracker.as_mut()?;
        let may_expect = |announcement| tracker.may_expect(&tracked, announcement);
        if !announced.as_ref().is_none_or(may_expect) {
            out.drop(frame, reason::ANNOUNCEMENT);
            return None;
        }
        if !tracker.confirm(&mut tracked, &frame, translates) {
            out.drop(frame, reason::CLASH);
            return None;
        }
        if let Some(announced) = announced {
            tracker.expect(&tracked, announced, &mut frame);
        }
        if !tracker.shift_sequence(&tracked, &mut frame) {
            out.drop(frame, reason::SEQUENCE);
            return None;
        }
        Some(frame)
    }

    /// Sends a report about a packet, whose connection it belongs to.
    pub(super) fn send_report(
        &mut self,
        now: Time,
        about: &Transit,
        hop: Hop,
        report: Frame,
        out: &mut Out,
    ) {
        match Transit::own(&report, about.from, about.vrf) {
            Some(mut own) => {
                own.translated = about.translated;
                own.flow.tracked = about.flow.tracked.answer();
                self.send_own(now, &own, hop, None, report, out);
            }
            None => out.drop(report, reason::BAD_HEADER),
        }
    }

    /// Sends a packet of the router itself: runs output, and confirms its connection.
    pub(super) fn send_own(
        &mut self,
        now: Time,
        transit: &Transit,
        hop: Hop,
        fragments: Option<Longest>,
        mut frame: Frame,
        out: &mut Out,
    ) {
        let mut own = *transit;
        let port = hop.port.unwrap_or_default();
        if self.filter.is_some() {
            let passed = self.pass_filter(Hook::Output, now, &mut own, Some(port), frame, out);
            let Some(passed) = passed else {
                return;
            };
            frame = passed;
        }
        self.report_by_border(now, &own, &mut frame);
        if let Some(frame) = self.leave_by_filter(now, &own, frame, out) {
            self.transmit(now, hop, own.destination, fragments, frame, out);
        }
    }

    /// Runs a hook and carries out its verdict. Returns the frame of a packet that passes.
    fn pass_filter(
        &mut self,
        hook: Hook,
        now: Time,
        transit: &mut Transit,
        oif: Option<u16>,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let Some(filter) = &mut self.filter else {
            return Some(frame);
        };
        match filter.run(hook, now, transit, oif, &frame) {
            Ok(Outcome::Accept) => return Some(frame),
            Ok(Outcome::Drop) => out.drop(frame, reason::RULES[hook as usize]),
            Ok(Outcome::Policy) => out.drop(frame, reason::POLICIES[hook as usize]),
            Ok(Outcome::SynProxy(proxy)) => self.answer_by_proxy(now, proxy, transit, frame, out),
            // Of own packets only a reset in the name of another host has a sender.
            Ok(Outcome::Reject(_))
                if hook == Hook::Output && self.vrfs[transit.vrf].tables.is_own(transit.source) =>
            {
                out.drop(frame, reason::REJECTED);
            }
            Ok(Outcome::Reject(reject)) => self.reject(now, reject, transit, frame, out),
            Err(why) => out.drop(frame, why),
        }
        None
    }

    fn reject(
        &mut self,
        now: Time,
        reject: Reject,
        transit: &Transit,
        frame: Frame,
        out: &mut Out,
    ) {
        let headers = Headers::read(&frame, ETHERNET, false);
        // Of IPv6 a packet without anything after its extension headers is not rejected, as in Linux.
        let has_upper = |headers: &Headers| {
            let is_whole = headers.payload < headers.end && headers.upper_protocol().is_some();
            headers.source.is_ipv4() || is_whole
        };
        let is_good = |headers: &Headers| {
            let is_first = !headers.is_later_fragment && has_upper(headers);
            is_first && headers.is_checksum_valid_to_reject(&frame)
        };
        let Some(headers) = headers.filter(is_good) else {
            return out.drop(frame, reason::REJECTED);
        };
        match reject {
            Reject::Icmp { v4, v6 } => {
                let code = if headers.source.is_ipv4() { v4 } else { v6 };
                let error = Error::Unreachable(code.unwrap_or_default());
                self.fail(now, transit, error, reason::REJECTED, frame, out);
            }
            Reject::Reset => {
                let mut answer = out.copy(&frame);
                out.drop(frame, reason::REJECTED);
                let written = !transit.to_group
                    && reset::write_for_any_length(&mut answer, &headers.packet());
                let own = written.then(|| Transit::own(&answer, transit.from, transit.vrf));
                let Some(mut own) = own.flatten() else {
                    return out.done(answer);
                };
                without_class(&mut answer);
                let tracker = self
                    .filter
                    .as_mut()
                    .and_then(|filter| filter.tracker.as_mut());
                if let Some(tracker) = tracker {
                    tracker.close(&transit.flow.tracked);
                }
                own.flow.tracked = transit.flow.tracked.answer();
                own.translated = transit.translated;
                self.originate_as(now, own, answer, out);
            }
        }
    }

    /// Ends connections, and gives up fragments.
    pub(super) fn wake_filter(&mut self, now: Time, out: &mut Out) {
        if let Some(filter) = &mut self.filter {
            filter.reassembly.wake(now, out, |_, _| {});
            if let Some(tracker) = &mut filter.tracker {
                tracker.expire(now);
            }
        }
    }
}

/// Whether a pinhole lets a packet in.
fn passes(pinholes: &Pinholes, now: Time, frame: &[u8], headers: &Headers) -> bool {
    let is_tcp = headers.protocol == TCP;
    let tuple = Tuple::read(0, frame, headers).filter(|_| is_tcp || headers.protocol == UDP);
    let (Some(tuple), IpAddr::V6(from), IpAddr::V6(to)) =
        (tuple, headers.source, headers.destination)
    else {
        return false;
    };
    let [from_port, to_port] = tuple.ids;
    let from = SocketAddrV6::new(from, from_port, 0, 0);
    pinholes.allows(now, is_tcp, from, SocketAddrV6::new(to, to_port, 0, 0))
}

/// Clears the traffic class of the router's own packet, as Linux's rules send it.
fn without_class(frame: &mut [u8]) {
    match frame[ETHERNET] >> 4 {
        4 => {
            frame[ETHERNET + 1] = 0;
            write_checksum(frame);
        }
        _ => (frame[ETHERNET], frame[ETHERNET + 1]) = (0x60, frame[ETHERNET + 1] & 0x0F),
    }
}

fn write_checksum(frame: &mut [u8]) {
    let header = usize::from(frame[ETHERNET] & 15) * 4;
    let ip = &mut frame[ETHERNET..ETHERNET + header];
    ip[10..12].fill(0);
    let sum = checksum(ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
}
