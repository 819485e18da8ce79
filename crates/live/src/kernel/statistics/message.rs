//! What the kernel's rtnetlink messages say (rtnetlink(7), linux/pkt_sched.h). They are read wherever they come from without
//! trust: what is cut short or forged is left out.

use crate::kernel::netlink::attributes;
use crate::kernel::netlink::message::{u16_at, u32_at, u64_at};
use node::Rate;
use node::event::{Counts, Neighbour, Route};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The parent of what stands at the top of an interface or a discipline: TC_H_ROOT.
pub const ROOT: u32 = u32::MAX;
/// The parent of what looks at packets that come in: TC_H_INGRESS, which is TC_H_CLSACT too.
pub const INGRESS: u32 = 0xFFFF_FFF1;

/// RTM_NEWSTATS and RTM_GETSTATS (linux/rtnetlink.h).
pub const NEWSTATS: u16 = 92;
/// As [`NEWSTATS`].
pub const GETSTATS: u16 = 94;

/// The attributes behind a structure of so many bytes.
fn behind(body: &[u8], len: usize) -> impl Iterator<Item = (u16, &[u8])> {
    attributes(body.get(len..).unwrap_or_default())
}

/// An interface, by RTM_NEWLINK or RTM_DELLINK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<'a> {
    /// Its number.
    pub index: u32,
    /// Its name; empty where that is not said.
    pub name: &'a [u8],
    /// IFF_*.
    pub flags: u32,
    /// Bytes behind the Ethernet header.
    pub mtu: u32,
}

/// Reads RTM_NEWLINK and RTM_DELLINK.
pub fn link(body: &[u8]) -> Option<Link<'_>> {
    let mut link = Link {
        index: u32_at(body, 4)?,
        flags: u32_at(body, 8)?,
        name: &[],
        mtu: 0,
    };
    for (kind, value) in behind(body, 16) {
        match kind {
            // IFLA_IFNAME and IFLA_MTU.
            3 => link.name = value.split(|&byte| byte == 0).next().unwrap_or_default(),
            4 => link.mtu = u32_at(value, 0).unwrap_or(0),
            _ => {}
        }
    }
    Some(link)
}

/// Reads RTM_NEWSTATS: the number of an interface, what it has received, and what it has sent.
pub fn stats(body: &[u8]) -> Option<(u32, Counts, Counts)> {
    let index = u32_at(body, 4)?;
    // IFLA_STATS_LINK_64: struct rtnl_link_stats64.
    let (_, value) = behind(body, 12).find(|&(kind, _)| kind == 1)?;
    let counts = |interface: usize| {
        let count = |row: usize| u64_at(value, 8 * (2 * row + interface));
        Some(Counts {
            packets: count(0)?,
            bytes: count(1)?,
            errors: count(2)?,
            dropped: count(3)?,
        })
    };
    Some((index, counts(0)?, counts(1)?))
}

/// A queueing discipline, or a class of one, by RTM_NEWQDISC or RTM_NEWTCLASS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// The number of its interface.
    pub index: u32,
    /// Its own.
    pub handle: u32,
    /// That of the class in which it is; [`ROOT`] for what stands at the top, [`INGRESS`] for what is at the other side.
    pub parent: u32,
    /// What it is shaped to itself, where it is.
    pub rate: Option<Rate>,
    /// Whether the kernel counts there.
    pub counts: bool,
    /// Packets that wait.
    pub packets: u32,
    /// Bytes that wait.
    pub bytes: u32,
    /// Packets that have left.
    pub sent_packets: u64,
    /// Bytes that have left.
    pub sent_bytes: u64,
    /// Packets that found no room, modulo 2^32.
    pub dropped: u32,
    /// Times that it had to wait for its rate, modulo 2^32.
    pub overlimits: u32,
}

/// Reads RTM_NEWQDISC, RTM_NEWTCLASS and those with DEL: struct tcmsg and its attributes.
pub fn traffic(body: &[u8]) -> Option<Traffic> {
    let mut traffic = Traffic {
        index: u32_at(body, 4)?,
        handle: u32_at(body, 8)?,
        parent: u32_at(body, 12)?,
        ..Traffic::default()
    };
    let (mut name, mut options) = (&[][..], &[][..]);
    for (kind, value) in behind(body, 20) {
        match kind {
            // TCA_KIND, TCA_OPTIONS and TCA_STATS2.
            1 => name = value.strip_suffix(b"\0").unwrap_or(value),
            2 => options = value,
            7 => traffic.put_stats(value),
            _ => {}
        }
    }
    traffic.rate = shaped(name, options);
    Some(traffic)
}

impl Traffic {
    /// TCA_STATS_*.
    fn put_stats(&mut self, nest: &[u8]) {
        for (kind, value) in attributes(nest) {
            match kind {
                // Basic: bytes, and packets modulo 2^32; their count in full comes where it is more.
                1 => {
                    self.sent_bytes = u64_at(value, 0).unwrap_or(0);
                    let packets = u32_at(value, 8).unwrap_or(0);
                    self.sent_packets = self.sent_packets.max(packets.into());
                }
                8 => self.sent_packets = u64_at(value, 0).unwrap_or(0),
                3 => {
                    let word = |place: usize| u32_at(value, 4 * place).unwrap_or(0);
                    self.counts = value.len() >= 20;
                    (self.packets, self.bytes) = (word(0), word(1));
                    (self.dropped, self.overlimits) = (word(2), word(4));
                }
                _ => {}
            }
        }
    }
}

/// What a discipline or class of this name is shaped to by its options: the most that it lets go when nothing else is in its interface.
fn shaped(name: &[u8], options: &[u8]) -> Option<Rate> {
    let find = |kind: u16| attributes(options).find(|&(found, _)| found == kind);
    // struct tc_ratespec at a place of the structure in attribute `parms`; in full in another when 32 bits do not hold it.
    let spec = |parms: u16, at: usize, full: u16| {
        let long = find(full).and_then(|(_, value)| u64_at(value, 0));
        let short = find(parms).and_then(|(_, value)| u32_at(value, at + 8));
        long.or(short.map(u64::from))
    };
    let bytes = match name {
        b"tbf" => spec(1, 0, 4),
        // The ceiling, to which it may borrow; the guaranteed rate is in front of it.
        b"htb" => spec(1, 12, 7),
        // The upper limit's second slope.
        b"hfsc" => find(3).and_then(|(_, value)| u32_at(value, 8).map(u64::from)),
        b"cake" => find(2).and_then(|(_, value)| u64_at(value, 0)),
        b"netem" => {
            // The attributes are behind struct tc_netem_qopt.
            let find = |kind: u16| behind(options, 24).find(|&(found, _)| found == kind);
            let long = find(8).and_then(|(_, value)| u64_at(value, 0));
            long.or(find(6).and_then(|(_, value)| u32_at(value, 0).map(u64::from)))
        }
        _ => None,
    };
    Rate::from_bits_per_second(bytes?.checked_mul(8)?)
}

/// Reads RTM_NEWROUTE: shows each interface by which it leads, with the number of its interface. Only of unicast routes of the main
/// table.
pub fn routes(body: &[u8], visit: &mut dyn FnMut(u32, Route)) {
    let (Some(&family), Some(&prefix), Some(&kind)) = (body.first(), body.get(1), body.get(7))
    else {
        return;
    };
    let Some(any) = unspecified(family) else {
        return;
    };
    let flags = u32_at(body, 8).unwrap_or(0);
    let mut table = body.get(4).map_or(0, |&table| u32::from(table));
    let mut route = Route {
        to: any,
        prefix,
        via: None,
        metric: 0,
        there: true,
    };
    let (mut index, mut interfaces) = (None, &[][..]);
    for (kind, value) in behind(body, 12) {
        match kind {
            // RTA_DST, RTA_OIF, RTA_PRIORITY, RTA_MULTIPATH and RTA_TABLE.
            1 => match address(family, value) {
                Some(to) => route.to = to,
                None => return,
            },
            4 => index = u32_at(value, 0),
            6 => route.metric = u32_at(value, 0).unwrap_or(0),
            9 => interfaces = value,
            15 => table = u32_at(value, 0).unwrap_or(table),
            _ => route.via = next_router(family, kind, value).or(route.via),
        }
    }
    let longest = if any.is_ipv4() { 32 } else { 128 };
    let main = table == u32::from(libc::RT_TABLE_MAIN) && kind == libc::RTN_UNICAST;
    if !main || prefix > longest {
        return;
    }
    // RTNH_F_DEAD.
    let dead = 1u32;
    if let Some(index) = index.filter(|_| flags & dead == 0) {
        visit(index, route);
    }
    // struct rtnexthop, and its attributes.
    while let Some(len) = u16_at(interfaces, 0).map(usize::from) {
        let Some(interface) = interfaces.get(..len).filter(|_| len >= 8) else {
            return;
        };
        interfaces = interfaces
            .get(len.next_multiple_of(4)..)
            .unwrap_or_default();
        let mut route = route;
        for (kind, value) in attributes(&interface[8..]) {
            route.via = next_router(family, kind, value).or(route.via);
        }
        if let Some(index) = u32_at(interface, 4).filter(|_| u32::from(interface[2]) & dead == 0) {
            visit(index, route);
        }
    }
}

/// RTA_GATEWAY, or RTA_VIA for a router of the other family.
fn next_router(family: u8, kind: u16, value: &[u8]) -> Option<IpAddr> {
    match kind {
        5 => address(family, value),
        18 => {
            let family = u8::try_from(u16_at(value, 0)?).ok()?;
            address(family, &value[2..])
        }
        _ => None,
    }
}

/// Reads RTM_NEWNEIGH and RTM_DELNEIGH: the number of the interface, and who is there. `None` for what `ip neigh` does not show either:
/// addresses that need no neighbour, and forwarding tables of bridges.
pub fn neighbour(body: &[u8]) -> Option<(u32, Neighbour)> {
    let family = *body.first()?;
    let index = u32_at(body, 4)?;
    let state = u16_at(body, 8)?;
    if state & NUD_NOARP != 0 {
        return None;
    }
    let (mut place, mut mac) = (None, None);
    for (kind, value) in behind(body, 12) {
        match kind {
            // NDA_DST and NDA_LLADDR.
            1 => place = address(family, value),
            2 => mac = <[u8; 6]>::try_from(value).ok(),
            _ => {}
        }
    }
    let reachable = state & (NUD_REACHABLE | NUD_PERMANENT) != 0;
    let address = place?;
    let neighbour = Neighbour {
        address,
        mac: mac.filter(|_| state & (NUD_INCOMPLETE | NUD_FAILED) == 0),
        reachable,
    };
    Some((index, neighbour))
}

/// linux/neighbour.h.
const NUD_INCOMPLETE: u16 = 0x01;
const NUD_REACHABLE: u16 = 0x02;
const NUD_FAILED: u16 = 0x20;
const NUD_NOARP: u16 = 0x40;
const NUD_PERMANENT: u16 = 0x80;

/// The address of a family with all bits zero.
fn unspecified(family: u8) -> Option<IpAddr> {
    match i32::from(family) {
        libc::AF_INET => Some(Ipv4Addr::UNSPECIFIED.into()),
        libc::AF_INET6 => Some(Ipv6Addr::UNSPECIFIED.into()),
        _ => None,
    }
}

fn address(family: u8, bytes: &[u8]) -> Option<IpAddr> {
    match i32::from(family) {
        libc::AF_INET => Some(<[u8; 4]>::try_from(bytes).ok()?.into()),
        libc::AF_INET6 => Some(<[u8; 16]>::try_from(bytes).ok()?.into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
        bytes.extend_from_slice(&kind.to_ne_bytes());
        bytes.extend_from_slice(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn rate_spec(bytes: u32) -> Vec<u8> {
        [&[0; 8][..], &bytes.to_ne_bytes()].concat()
    }

    #[test]
    fn rates_are_those_of_the_shapers() {
        let bits = |name: &[u8], options: &[u8]| shaped(name, options).map(Rate::bits_per_second);
        let tbf = attribute(1, &[rate_spec(12_500_000), vec![0; 24]].concat());
        assert_eq!(bits(b"tbf", &tbf), Some(100_000_000));
        let fast = [tbf.clone(), attribute(4, &5_000_000_000u64.to_ne_bytes())].concat();
        assert_eq!(bits(b"tbf", &fast), Some(40_000_000_000));
        let htb = attribute(
            1,
            &[rate_spec(1_000), rate_spec(2_000), vec![0; 20]].concat(),
        );
        assert_eq!(bits(b"htb", &htb), Some(16_000));
        let netem = [vec![0; 24], attribute(6, &1_000u32.to_ne_bytes())].concat();
        assert_eq!(bits(b"netem", &netem), Some(8_000));
        let cake = attribute(2, &1_000u64.to_ne_bytes());
        assert_eq!(bits(b"cake", &cake), Some(8_000));
        // None is none; a discipline that shapes nothing has none.
        assert_eq!(bits(b"cake", &attribute(2, &[0; 8])), None);
        assert_eq!(bits(b"pfifo", &tbf), None);
        assert_eq!(bits(b"tbf", &tbf[..10]), None);
    }

    #[test]
    fn a_route_of_several_ways_is_shown_by_each() {
        let hop = |index: u32, flags: u8, last: u8| {
            let via = attribute(5, &[10, 0, 0, last]);
            let len = (8 + via.len()) as u16;
            [
                &len.to_ne_bytes()[..],
                &[flags, 0],
                &index.to_ne_bytes(),
                &via,
            ]
            .concat()
        };
        let main = libc::RT_TABLE_MAIN;
        let mut body = vec![libc::AF_INET as u8, 16, 0, 0, main, 4, 0, 1, 0, 0, 0, 0];
        body.extend(attribute(1, &[10, 1, 0, 0]));
        body.extend(attribute(6, &7u32.to_ne_bytes()));
        body.extend(attribute(
            9,
            &[hop(2, 0, 1), hop(3, 0, 2), hop(4, 1, 3)].concat(),
        ));
        let mut seen = Vec::new();
        routes(&body, &mut |index, route| seen.push((index, route)));
        let route = |last: u8| Route {
            to: [10, 1, 0, 0].into(),
            prefix: 16,
            via: Some([10, 0, 0, last].into()),
            metric: 7,
            there: true,
        };
        // The third is dead.
        assert_eq!(seen, [(2, route(1)), (3, route(2))]);
    }

    #[test]
    fn what_is_cut_short_is_left_out() {
        assert_eq!(
            (link(&[]), stats(&[0; 12]), traffic(&[0; 11])),
            (None, None, None)
        );
        routes(&[2, 33, 0, 0, 254, 0, 0, 1], &mut |_, _| {
            panic!("no such prefix")
        });
    }
}
