//! Translation between IPv4 and IPv6: the router's SIIT or NAT64.
//!
//! A packet that the translator takes is translated when it has arrived, and then routed as a packet of the other version.
//! One whose hop limit is used up is reported before that. Reports about a packet that was translated are translated back, and
//! come from the router's first address of each version, which stand for each other.

use super::config::{self, Config};
use super::fragment;
use super::{NONE, OWN_MAC, Router, Transit, Vrf, reason, v6};
use crate::nat::config::AddressRange;
use crate::nat64::{self, Nat64};
use crate::port_mapping::Server;
use crate::rule::Key;
use crate::siit::{self, Siit};
use crate::tables::{Decision, Tables};
use alloc::format;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use ip::fragments::{self, Fragment, Reassembly};
use ip::header::ETHERNET;
use ip::icmp::Error;
use node::outcome::Table;
use node::{ConfigError, Frame, Out, Statistics, Time};

/// Length of an IPv6 packet that each link carries, bytes (RFC 8200 section 5).
const MIN_MTU_V6: usize = 1_280;
/// Bytes of the headers of an IPv6 fragment.
const HEADERS_V6: usize = 48;

#[derive(Debug)]
pub(super) enum Translator {
    Siit(Siit),
    Nat64(alloc::boxed::Box<Nat64>),
}

#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    to_v4: u64,
    to_v6: u64,
}

/// The translator, with its VRF and the router's addresses.
#[derive(Debug)]
pub(super) struct Crossing {
    translator: Translator,
    vrf: usize,
    /// The addresses from which reports come.
    own: Option<(Ipv4Addr, Ipv6Addr)>,
    reassembly: Reassembly,
    counters: Counters,
    /// Kept for the next packet that is cut.
    pieces: Vec<Frame>,
    /// The server for port mappings of hosts behind a NAT64.
    server: Option<Server>,
}

/// A packet's translation.
enum Crossed {
    /// To the other version, or back; whether it may be cut.
    Yes(bool),
    No,
    Drop(&'static str),
    Prohibit(&'static str),
}

/// Whether the way to an IPv4 address is IPv6: it has no route, or it has a pair and is on no link of the router.
fn is_foreign(siit: &Siit, address: Ipv4Addr, tables: &Tables, key: impl FnOnce() -> Key) -> bool {
    match tables.decide(address.into(), key) {
        Decision::NoRoute => siit.address_v6(address).is_some(),
        Decision::Forward(hops) => {
            siit.pair_v6(address).is_some() && hops.iter().any(|hop| hop.via.is_some())
        }
        _ => false,
    }
}

impl Translator {
    /// Whether a packet is for the translator.
    fn takes(&self, transit: &Transit, tables: &Tables, key: impl FnOnce() -> Key) -> bool {
        match (self, transit.source, transit.destination) {
            (Translator::Nat64(nat64), _, IpAddr::V4(to)) => nat64.is_external(to),
            (Translator::Nat64(nat64), _, IpAddr::V6(to)) => {
                nat64.remote(to).is_some() && !tables.is_own(to.into())
            }
            (Translator::Siit(siit), IpAddr::V4(from), IpAddr::V4(to)) => {
                siit.address_v6(from).is_some() && is_foreign(siit, to, tables, key)
            }
            (Translator::Siit(siit), IpAddr::V6(from), IpAddr::V6(to)) => {
                let is_remote = || siit.address_v4(to).is_some() && siit.address_v4(from).is_some();
                !tables.is_own(to.into()) && (siit.pair_v4(to).is_some() || is_remote())
            }
            _ => false,
        }
    }

    fn down(&mut self, now: Time, frame: &mut Frame, is_reassembled: bool) -> Crossed {
        match self {
            Translator::Siit(siit) => siit.to_v4(frame).into(),
            Translator::Nat64(nat64) => nat64.outbound(now, frame, is_reassembled).into(),
        }
    }

    fn up(&mut self, now: Time, frame: &mut Frame) -> Crossed {
        match self {
            Translator::Siit(siit) => siit.to_v6(frame).into(),
            Translator::Nat64(nat64) => nat64.inbound(now, frame).into(),
        }
    }
}

impl From<siit::Verdict> for Crossed {
    fn from(verdict: siit::Verdict) -> Crossed {
        match verdict {
            siit::Verdict::Translated { may_fragment } => Crossed::Yes(may_fragment),
            siit::Verdict::Drop(why) => Crossed::Drop(why),
        }
    }
}

impl From<nat64::Verdict> for Crossed {
    fn from(verdict: nat64::Verdict) -> Crossed {
        match verdict {
            nat64::Verdict::ToV4 => Crossed::Yes(false),
            nat64::Verdict::ToV6 { may_fragment } => Crossed::Yes(may_fragment),
            nat64::Verdict::NotForNat => Crossed::No,
            nat64::Verdict::Drop(why) => Crossed::Drop(why),
            nat64::Verdict::Prohibit(why) => Crossed::Prohibit(why),
        }
    }
}

impl Crossing {
    pub fn new(
        mut translator: Translator,
        vrf: usize,
        v4: Option<Ipv4Addr>,
        v6: Option<Ipv6Addr>,
    ) -> Crossing {
        let own = v4.zip(v6);
        if let Some((v4, v6)) = own {
            match &mut translator {
                Translator::Siit(siit) => {
                    siit.add_pair(v4, v6);
                }
                Translator::Nat64(nat64) => nat64.set_own(v4, v6),
            }
        }
        Crossing {
            translator,
            vrf,
            own,
            reassembly: Reassembly::default(),
            counters: Counters::default(),
            pieces: Vec::new(),
            server: None,
        }
    }

    /// The NAT64 and its server for port mappings, for packets of a VRF.
    pub fn mapper(&mut self, vrf: usize) -> Option<(&mut Nat64, &mut Server)> {
        match &mut self.translator {
            Translator::Nat64(nat64) if vrf == self.vrf => Some((nat64, self.server.as_mut()?)),
            _ => None,
        }
    }

    /// The VRF of the translator.
    pub fn vrf(&self) -> usize {
        self.vrf
    }

    /// Whether a packet that is about to leave was translated on its arrival.
    pub fn has_crossed(
        &self,
        transit: &Transit,
        tables: &Tables,
        key: impl FnOnce() -> Key,
    ) -> bool {
        if transit.vrf != self.vrf {
            return false;
        }
        match (&self.translator, transit.source, transit.destination) {
            (Translator::Nat64(nat64), IpAddr::V4(from), _) => nat64.is_external(from),
            (Translator::Nat64(nat64), IpAddr::V6(from), _) => nat64.remote(from).is_some(),
            (Translator::Siit(siit), IpAddr::V4(from), _) => is_foreign(siit, from, tables, key),
            (Translator::Siit(siit), IpAddr::V6(from), IpAddr::V6(to)) => {
                let is_pair = |address| siit.pair_v4(address).is_some();
                is_pair(from) || is_pair(to) && siit.address_v4(from).is_some()
            }
            _ => false,
        }
    }

    /// Whether NAT44 leaves an IPv4 packet alone that was translated.
    pub fn is_final(&self, transit: &Transit) -> bool {
        transit.crossed && matches!(self.translator, Translator::Nat64(_))
    }

    pub fn next_wake(&self) -> Option<Time> {
        let nat64 = match &self.translator {
            Translator::Nat64(nat64) => nat64.next_wake(),
            Translator::Siit(_) => None,
        };
        let server = self.server.as_ref().and_then(Server::next_wake);
        let all = nat64.into_iter().chain(server);
        all.chain(self.reassembly.next_wake()).min()
    }

    pub fn count(&self, all: &mut Statistics) {
        all.counter("to_v4", self.counters.to_v4);
        all.counter("to_v6", self.counters.to_v6);
        if let Translator::Nat64(nat64) = &self.translator {
            let (nat, over_hosts) = nat64.counters();
            for (name, count) in nat.named() {
                all.counter(&format!("nat64_{name}"), count);
            }
            all.counter("nat64_over_hosts", over_hosts);
        }
        if let Some(server) = &self.server {
            for (name, count) in server.counters().named() {
                all.counter(&format!("nat64_port_mapping_{name}"), count);
            }
        }
    }

    pub fn tables(&self, now: Time) -> Vec<Table> {
        match &self.translator {
            Translator::Nat64(nat64) => {
                let mappings = self.server.as_ref().map(|server| {
                    server.table_of(now, "nat64 port mappings", |host| nat64.name_of(host))
                });
                nat64.tables(now).into_iter().chain(mappings).collect()
            }
            Translator::Siit(_) => Vec::new(),
        }
    }
}

impl Router {
    /// Translates a packet that has arrived, and routes it. Returns it if the translator does not take it.
    pub(super) fn cross(
        &mut self,
        now: Time,
        transit: Transit,
        mut frame: Frame,
        out: &mut Out,
    ) -> Option<(Transit, Frame)> {
        let is_for = |crossing: &&mut Crossing| {
            let tables = &self.vrfs[transit.vrf].tables;
            let key = || super::key(&frame, &transit);
            crossing.vrf == transit.vrf && crossing.translator.takes(&transit, tables, key)
        };
        let Some(crossing) = self.crossing.as_mut().filter(is_for) else {
            return Some((transit, frame));
        };
        if frame[0] & 1 == 1 {
            out.drop(frame, reason::GROUP_FRAME);
            return None;
        }
        let mut transit = transit;
        let mut is_reassembled = false;
        if matches!(crossing.translator, Translator::Nat64(_))
            && let Some(fragment) = Fragment::read(&frame)
        {
            is_reassembled = true;
            frame = crossing.reassembly.take(now, fragment, frame, out)?;
            let Some(read) = Transit::read(&frame, transit.from, transit.vrf) else {
                out.drop(frame, reason::BAD_HEADER);
                return None;
            };
            transit = read;
        }
        if self.vrfs[transit.vrf].tables.is_own(transit.source) {
            out.drop(frame, reason::SOURCE);
            return None;
        }
        // The translator counts no hop: the packet is forwarded once.
        if transit.hops <= 1 {
            self.fail(
                now,
                &transit,
                Error::HopLimit,
                reason::HOP_LIMIT,
                frame,
                out,
            );
            return None;
        }
        if let Some(error) = v6::refusal(&transit) {
            match error {
                Some(error) => self.fail(now, &transit, error, reason::SCOPE, frame, out),
                None => out.drop(frame, reason::SOURCE),
            }
            return None;
        }
        // A fragment becomes longer, and must fit on each IPv6 link.
        let is_piece = transit.source.is_ipv4() && Fragment::read(&frame).is_some();
        // IPv4 options go.
        let max = MIN_MTU_V6 - HEADERS_V6 + usize::from(frame[ETHERNET] & 15) * 4;
        let is_long = frame.len() > ETHERNET + max;
        if is_piece && is_long && !transit.whole {
            let mut pieces = core::mem::take(&mut crossing.pieces);
            fragment::cut(frame, max, out, |piece, _| pieces.push(piece));
            for piece in pieces.drain(..) {
                match Transit::read(&piece, transit.from, transit.vrf) {
                    Some(transit) => drop(self.translate(now, &transit, false, piece, out)),
                    None => out.drop(piece, reason::BAD_HEADER),
                }
            }
            self.keep(pieces);
            return None;
        }
        self.translate(now, &transit, is_reassembled, frame, out)
    }

    fn keep(&mut self, pieces: Vec<Frame>) {
        if let Some(crossing) = &mut self.crossing {
            crossing.pieces = pieces;
        }
    }

    /// Translates a packet, and routes it. Returns it if it is for the router itself.
    fn translate(
        &mut self,
        now: Time,
        transit: &Transit,
        is_reassembled: bool,
        mut frame: Frame,
        out: &mut Out,
    ) -> Option<(Transit, Frame)> {
        let crossing = self.crossing.as_mut()?;
        let is_v4 = transit.source.is_ipv4();
        // Fragments of an IPv6 packet share it.
        let identification = u32::from_be_bytes([0, 0, frame[ETHERNET + 4], frame[ETHERNET + 5]]);
        let crossed = match is_v4 {
            true => crossing.translator.up(now, &mut frame),
            false => crossing.translator.down(now, &mut frame, is_reassembled),
        };
        let may_cut = match crossed {
            Crossed::No => return Some((*transit, frame)),
            Crossed::Yes(may_cut) => may_cut,
            Crossed::Drop(why) => {
                out.drop(frame, why);
                return None;
            }
            Crossed::Prohibit(why) => {
                match reread(transit, &frame) {
                    Some(crossed) => {
                        self.fail(now, &crossed, Error::Prohibited, why, frame, out);
                    }
                    None => out.drop(frame, why),
                }
                return None;
            }
        };
        match is_v4 {
            true => crossing.counters.to_v6 += 1,
            false => crossing.counters.to_v4 += 1,
        }
        let Some(crossed) = reread(transit, &frame) else {
            out.drop(frame, reason::BAD_HEADER);
            return None;
        };
        // A packet of one host with a pair to another (RFC 7757 section 4.2).
        let mut crossed = crossed;
        let mut may_cut = may_cut;
        if let (Translator::Siit(siit), false, IpAddr::V4(to)) =
            (&mut crossing.translator, is_v4, crossed.destination)
            && siit.pair_v6(to).is_some()
            && matches!(transit.source, IpAddr::V6(from) if siit.pair_v4(from).is_some())
        {
            match siit.hairpin(&mut frame) {
                siit::Verdict::Translated { may_fragment } => may_cut = may_fragment,
                siit::Verdict::Drop(why) => {
                    out.drop(frame, why);
                    return None;
                }
            }
            crossing.counters.to_v6 += 1;
            let Some(read) = reread(transit, &frame) else {
                out.drop(frame, reason::BAD_HEADER);
                return None;
            };
            crossed = read;
        }
        if !may_cut || crossed.source.is_ipv4() || frame.len() <= ETHERNET + MIN_MTU_V6 {
            self.route(now, &crossed, frame, out);
            return None;
        }
        let mut pieces = core::mem::take(&mut crossing.pieces);
        fragments::cut(frame, MIN_MTU_V6, identification, out, |piece, _| {
            pieces.push(piece);
        });
        for piece in pieces.drain(..) {
            match reread(transit, &piece) {
                Some(transit) => self.route(now, &transit, piece, out),
                None => out.drop(piece, reason::BAD_HEADER),
            }
        }
        self.keep(pieces);
        None
    }

    /// Drops a packet that was translated, and reports it to its sender.
    pub(super) fn fail_across(
        &mut self,
        now: Time,
        transit: &Transit,
        error: Error,
        why: &'static str,
        frame: Frame,
        out: &mut Out,
    ) {
        let mut report = out.copy(&frame);
        out.drop(frame, why);
        let is_v4 = transit.source.is_ipv4();
        let Some(crossing) = &mut self.crossing else {
            return out.done(report);
        };
        let from = crossing.own.map(|(v4, v6)| match is_v4 {
            true => IpAddr::V4(v4),
            false => IpAddr::V6(v6),
        });
        let is_written = from.is_some_and(|from| {
            error.write(now, &mut report, transit.end, from, OWN_MAC, |_| false)
        });
        let crossed = match (is_written, is_v4) {
            (false, _) => Crossed::No,
            (true, true) => crossing.translator.up(now, &mut report),
            (true, false) => crossing.translator.down(now, &mut report, false),
        };
        match crossed {
            Crossed::Yes(_) => {
                self.counters.errors += 1;
                self.answer(now, transit.vrf, NONE, report, out);
            }
            _ => out.done(report),
        }
    }

    /// Ends sessions, gives up fragments, and answers connections that no host has asked for.
    pub(super) fn wake_crossing(&mut self, now: Time, out: &mut Out) {
        let Some(crossing) = &mut self.crossing else {
            return;
        };
        crossing.reassembly.wake(now, out, |_, _| {});
        let vrf = crossing.vrf;
        if let Translator::Nat64(nat64) = &mut crossing.translator {
            nat64.expire(now);
        }
        while let Some(Crossing {
            translator: Translator::Nat64(nat64),
            ..
        }) = &mut self.crossing
        {
            let Some(syn) = nat64.poll_unanswered(now) else {
                return;
            };
            match Transit::read(&syn, NONE, vrf) {
                Some(transit) => {
                    self.fail(now, &transit, Error::Port, reason::UNSOLICITED, syn, out);
                }
                None => out.done(syn),
            }
        }
    }
}

/// Reads a packet that was translated; its connection stays the same.
fn reread(transit: &Transit, frame: &[u8]) -> Option<Transit> {
    let crossed = Transit::read(frame, transit.from, transit.vrf)?;
    Some(Transit {
        crossed: true,
        flow: transit.flow,
        ..crossed
    })
}

/// The translator between IPv4 and IPv6.
pub(super) fn translator(config: &mut Config) -> Result<Option<Translator>, ConfigError> {
    let outside = config::outside_addresses(config);
    let Some(nat64) = &mut config.nat64 else {
        let siit = config.siit.clone().map(Siit::new).transpose()?;
        return Ok(siit.map(Translator::Siit));
    };
    if config.siit.is_some() {
        let reason = "a router has one translator: take `siit` or `nat64`";
        return Err(ConfigError::new("nat64", reason));
    }
    if nat64.nat.external.is_empty() {
        nat64.nat.external = outside;
    }
    let nat64 = nat64.clone();
    let shared = config.nat.as_ref().and_then(|nat| {
        let is_in = |own: &&AddressRange| {
            let mut all = nat.external.iter();
            all.any(|other| own.first <= other.last && other.first <= own.last)
        };
        nat64.nat.external.iter().find(is_in)
    });
    if let Some(shared) = shared {
        let reason = format!("{} is an external address of `nat`, too", shared.first);
        return Err(ConfigError::new("nat64", reason));
    }
    Ok(Some(Translator::Nat64(
        Nat64::new(nat64, config.seed)?.into(),
    )))
}

/// The translator in its VRF, with the first address of each version.
pub(super) fn crossing(
    config: &Config,
    translator: Translator,
    server: Option<Server>,
    vrfs: &[Vrf],
) -> Crossing {
    let ports = config.port.iter().filter(|port| port.vrf.is_none());
    let addresses = || ports.clone().flat_map(|port| &port.address);
    let v4 = addresses().find_map(|own| match own.address {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    });
    let v6 = addresses().find_map(|own| match own.address {
        IpAddr::V6(address) => (!address.is_unicast_link_local()).then_some(address),
        IpAddr::V4(_) => None,
    });
    let vrf = vrfs.iter().position(|vrf| vrf.name.is_none());
    let crossing = Crossing::new(translator, vrf.unwrap_or(usize::MAX), v4, v6);
    Crossing { server, ..crossing }
}
