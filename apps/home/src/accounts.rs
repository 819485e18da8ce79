//! Traffic of devices, flows and ports, from the counters of the switch.

use crate::gateway::Gateway;
use crate::record::{FlowRow, LinkRow};
use crate::rules::{Cookie, Datapath, Kind, priority};
use node::Time;
use openflow::controller::Token;
use openflow::message::{Answer, FlowQuery, MultipartReply, PortStats, Query};
use openflow::port::PortNo;

/// A switch that does not answer a poll is asked again after this time.
const ANSWER_TIMEOUT: Time = Time::from_secs(10);

/// Token of questions about ports.
const PORTS: Token = 1;

impl Gateway {
    /// Requests the counters of entries and ports when a poll is due.
    pub(crate) fn poll(&mut self, now: Time, datapath: &mut Datapath<'_, '_>) {
        if self.next_poll.is_none_or(|at| now < at) {
            return;
        }
        self.next_poll = Some(now + self.settings.poll);
        self.record.time(now);
        // An answer that is still coming in belongs to the last poll.
        if self.polled.is_some_and(|at| now < at + ANSWER_TIMEOUT) {
            return;
        }
        self.polled = Some(now);
        let entries = PORTS + self.flows.begin_poll(now);
        let query = FlowQuery::default();
        for (query, token) in [
            (Query::Flow(query), entries),
            (Query::PortStats(PortNo::ANY), PORTS),
        ] {
            let sent = datapath.handle.ask(datapath.switch, query, token);
            datapath.unsent += u64::from(sent.is_err());
        }
    }

    /// Takes the counters of entries and ports.
    pub(crate) fn take_counters(&mut self, now: Time, token: Token, answer: &MultipartReply<'_>) {
        match answer.body {
            Answer::Flow(entries) if token == PORTS + self.flows.poll_number() => {
                for entry in entries {
                    if entry.priority == priority::PROTOCOL
                        && Cookie::from_wire(entry.cookie)
                            .is_some_and(|cookie| cookie.kind == Kind::Drop)
                    {
                        self.ipv6 = entry.packets;
                    }
                    self.account(now, entry.cookie, (entry.packets, entry.bytes));
                }
                if !answer.more {
                    self.flows.end_poll();
                    self.polled = None;
                }
            }
            Answer::PortStats(ports) if token == PORTS => {
                ports.iter().for_each(|port| self.record_link(now, &port));
            }
            _ => {}
        }
    }

    /// Adds the traffic of an entry since the last poll to its devices.
    pub(crate) fn account(&mut self, now: Time, cookie: u64, (packets, bytes): (u64, u64)) {
        let Some(delta) = self.flows.update(cookie, packets, bytes) else {
            return;
        };
        if delta.packets == 0 {
            return;
        }
        let cookie = delta.cookie;
        let mut home = self.home.lock();
        let [from, to] =
            [cookie.from, cookie.to].map(|slot| home.of_slot(slot).map(|device| device.mac));
        let (counts, is_outside) = ((delta.packets, delta.bytes), from.is_none() || to.is_none());
        for (mac, is_sent) in [(from, true), (to, false)] {
            if let Some(mac) = mac {
                if is_sent && let Some(device) = home.device_mut(mac) {
                    // A device that sends is present, also between two messages of DHCP.
                    device.seen = device.seen.map(|(first, _)| (first, now));
                }
                home.count(mac, is_sent, counts, is_outside);
            }
        }
        let own = from.or(to).filter(|_| from.is_none() || to.is_none());
        if cookie.kind == Kind::Flow
            && !cookie.is_named
            && let Some(device) = own.and_then(|mac| home.device_mut(mac))
        {
            device.traffic.not_looked_up += delta.bytes;
        }
        drop(home);
        self.record.flow(&FlowRow {
            at: now,
            from,
            to,
            protocol: delta.key.protocol,
            source: delta.key.source,
            destination: delta.key.destination,
            ports: delta.key.ports,
            packets: delta.packets,
            bytes: delta.bytes,
            is_named: cookie.is_named,
        });
    }

    fn record_link(&mut self, at: Time, port: &PortStats) {
        if !port.port.is_physical() {
            return;
        }
        let now = [
            port.rx_packets,
            port.tx_packets,
            port.rx_bytes,
            port.tx_bytes,
            port.rx_dropped,
            port.tx_dropped,
        ];
        let old = self.ports.insert(port.port.0, now).unwrap_or_default();
        let since = |index: usize| now[index].saturating_sub(old[index]);
        if (0..now.len()).all(|index| since(index) == 0) {
            return;
        }
        self.record.link(&LinkRow {
            at,
            port: port.port.0,
            packets: (since(0), since(1)),
            bytes: (since(2), since(3)),
            dropped: (since(4), since(5)),
        });
    }
}
