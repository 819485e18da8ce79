//! Flows with entries in the switch: their number for each device, and their traffic between two polls.

use crate::rules::Cookie;
use core::net::IpAddr;
use node::Time;
use std::collections::BTreeMap;

/// A flow in one direction. All zero: all flows of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowKey {
    /// Protocol of IP; 0 for all. Then an IPv6 address stands for the network of its device.
    pub protocol: u8,
    /// Source; unspecified for all.
    pub source: IpAddr,
    /// Destination; unspecified for all.
    pub destination: IpAddr,
    /// Ports of TCP and UDP, type and code of ICMP.
    pub ports: Option<(u16, u16)>,
}

impl FlowKey {
    /// The flow of the other direction. The reply to an echo request has another type.
    pub fn reverse(self) -> FlowKey {
        FlowKey {
            source: self.destination,
            destination: self.source,
            ports: match (self.protocol, self.ports) {
                (1, Some((8, code))) => Some((0, code)),
                (1, Some((0, code))) => Some((8, code)),
                (58, Some((128, code))) => Some((129, code)),
                (58, Some((129, code))) => Some((128, code)),
                (1 | 58, ports) => ports,
                (_, ports) => ports.map(|(from, to)| (to, from)),
            },
            ..self
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: FlowKey,
    started: Time,
    /// Packets and bytes at the last poll.
    last: (u64, u64),
    /// Slot of the device that the flow is counted for; 0 for none.
    owner: u16,
    /// Number of the last poll that reported it.
    poll: u64,
}

/// Traffic of a flow between two polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delta {
    /// Cookie of its entry.
    pub cookie: Cookie,
    /// The flow.
    pub key: FlowKey,
    /// When its entry was added.
    pub started: Time,
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

/// The flows. One entry takes about 200 bytes.
#[derive(Debug, Default)]
pub struct Flows {
    entries: BTreeMap<u64, Entry>,
    by_key: BTreeMap<FlowKey, u64>,
    counts: BTreeMap<u16, u32>,
    serial: u32,
    /// Number and start of the last poll of all entries.
    poll: u64,
    poll_began: Time,
}

impl Flows {
    /// Adds a flow and returns its cookie. With `is_owned` the flow is counted for its sender, or else for its receiver.
    pub fn open(&mut self, now: Time, cookie: Cookie, key: FlowKey, is_owned: bool) -> Cookie {
        if let Some(old) = self.by_key.get(&key).copied() {
            self.remove(old);
        }
        self.serial = self.serial.wrapping_add(1);
        let cookie = Cookie {
            serial: self.serial & 0x0FFF_FFFF,
            ..cookie
        };
        let owner = match (is_owned, cookie.from) {
            (false, _) => 0,
            (true, 0) => cookie.to,
            (true, from) => from,
        };
        if owner != 0 {
            *self.counts.entry(owner).or_default() += 1;
        }
        let wire = cookie.to_wire();
        self.by_key.insert(key, wire);
        self.entries.insert(
            wire,
            Entry {
                key,
                started: now,
                last: (0, 0),
                owner,
                poll: 0,
            },
        );
        cookie
    }

    /// Number of flows of a device.
    pub fn count(&self, slot: u16) -> u32 {
        self.counts.get(&slot).copied().unwrap_or(0)
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Updates the counters of an entry and returns its traffic since the last poll.
    pub fn update(&mut self, wire: u64, packets: u64, bytes: u64) -> Option<Delta> {
        let cookie = Cookie::from_wire(wire)?;
        let entry = self.entries.get_mut(&wire)?;
        entry.poll = self.poll;
        let (old_packets, old_bytes) = core::mem::replace(&mut entry.last, (packets, bytes));
        Some(Delta {
            cookie,
            key: entry.key,
            started: entry.started,
            packets: packets.saturating_sub(old_packets),
            bytes: bytes.saturating_sub(old_bytes),
        })
    }

    /// Removes an entry.
    pub fn remove(&mut self, wire: u64) {
        let Some(entry) = self.entries.remove(&wire) else {
            return;
        };
        if self.by_key.get(&entry.key) == Some(&wire) {
            self.by_key.remove(&entry.key);
        }
        if let Some(count) = self.counts.get_mut(&entry.owner) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&entry.owner);
            }
        }
    }

    /// Time at which the entry of a flow was added.
    pub fn started(&self, key: &FlowKey) -> Option<Time> {
        let entry = self.entries.get(self.by_key.get(key)?)?;
        Some(entry.started)
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        let (serial, poll) = (self.serial, self.poll);
        *self = Flows {
            serial,
            poll,
            ..Flows::default()
        };
    }

    /// Begins a poll of all entries and returns its number, from 1.
    pub fn begin_poll(&mut self, now: Time) -> u64 {
        self.poll += 1;
        self.poll_began = now;
        self.poll
    }

    /// Number of the last poll.
    pub fn poll_number(&self) -> u64 {
        self.poll
    }

    /// Ends a poll and removes older entries that it did not report: the switch no longer has them.
    pub fn end_poll(&mut self) {
        let (poll, began) = (self.poll, self.poll_began);
        let gone = self.entries.iter();
        let gone = gone.filter(|(_, entry)| entry.poll != poll && entry.started < began);
        let gone: Vec<u64> = gone.map(|(wire, _)| *wire).collect();
        gone.into_iter().for_each(|wire| self.remove(wire));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Kind;
    use core::net::Ipv4Addr;

    fn key(port: u16) -> FlowKey {
        FlowKey {
            protocol: 6,
            source: Ipv4Addr::new(10, 2, 0, 6).into(),
            destination: Ipv4Addr::new(203, 0, 113, 1).into(),
            ports: Some((port, 80)),
        }
    }

    const COOKIE: Cookie = Cookie {
        kind: Kind::Flow,
        from: 1,
        to: 0,
        is_named: false,
        serial: 0,
    };

    #[test]
    fn a_flow_that_is_opened_again_counts_once() {
        let mut flows = Flows::default();
        for _ in 0..3 {
            flows.open(Time::ZERO, COOKIE, key(1), true);
            flows.open(
                Time::ZERO,
                Cookie {
                    from: 0,
                    to: 1,
                    ..COOKIE
                },
                key(1).reverse(),
                false,
            );
        }
        assert_eq!((flows.count(1), flows.len()), (1, 2));
        flows.open(Time::ZERO, COOKIE, key(2), true);
        assert_eq!(flows.count(1), 2);
    }

    #[test]
    fn entries_that_a_poll_does_not_show_are_gone() {
        let mut flows = Flows::default();
        let kept = flows.open(Time::ZERO, COOKIE, key(1), true).to_wire();
        flows.open(Time::ZERO, COOKIE, key(2), true);
        let now = Time::from_secs(1);
        flows.begin_poll(now);
        let delta = flows.update(kept, 3, 300).expect("known");
        assert_eq!((delta.packets, delta.bytes), (3, 300));
        // Added after the poll began, so the answer need not contain it.
        flows.open(now, COOKIE, key(3), true);
        flows.end_poll();
        assert_eq!(flows.count(1), 2);
        let delta = flows.update(kept, 5, 500).expect("known");
        assert_eq!((delta.packets, delta.bytes), (2, 200));
    }

    #[test]
    fn the_reverse_of_the_reverse_is_the_flow() {
        for (protocol, ports) in [
            (1, Some((8, 0))),
            (58, Some((128, 0))),
            (58, Some((2, 0))),
            (6, Some((7, 9))),
            (17, None),
            (47, None),
        ] {
            let flow = FlowKey {
                protocol,
                ports,
                ..key(0)
            };
            assert_eq!(flow.reverse().reverse(), flow);
        }
    }
}
