//! The control program as a program of a controller.

use super::{Gateway, Mac, Time};
use openflow::channel::Peer;
use openflow::controller::{App, Handle, Token, Verdict};
use openflow::message::{FlowRemoved, MultipartReply, PacketIn, PortReason, PortStatus};
use openflow::port::state::LINK_DOWN;

impl App for Gateway {
    fn name(&self) -> &'static str {
        "home"
    }

    fn switch_up(&mut self, switch: Peer, handle: &mut Handle<'_>) {
        if self.switch.is_some() {
            return self.drop("another switch");
        }
        self.switch = Some(switch);
        self.with_switch(handle, |gateway, now, datapath| {
            gateway.install(datapath);
            gateway.find_router(now, datapath);
            gateway.next_poll = (gateway.settings.poll > Time::ZERO).then_some(now);
        });
    }

    fn switch_down(&mut self, switch: Peer, _: &mut Handle<'_>) {
        if self.switch == Some(switch) {
            self.switch = None;
            self.flows.clear();
            (self.next_poll, self.polled) = (None, None);
            for address in core::mem::take(&mut self.waiting).into_keys() {
                self.dns.give_up(address);
            }
        }
    }

    fn packet_in(
        &mut self,
        switch: Peer,
        packet: &PacketIn<'_>,
        handle: &mut Handle<'_>,
    ) -> Verdict {
        if self.switch != Some(switch) {
            self.drop("another switch");
            return Verdict::Done;
        }
        let in_port = packet.in_port();
        self.with_switch(handle, |gateway, now, datapath| {
            gateway.obey(now, datapath);
            gateway.take(now, in_port, packet.data, datapath);
        });
        Verdict::Done
    }

    fn flow_removed(&mut self, switch: Peer, removed: &FlowRemoved<'_>, handle: &mut Handle<'_>) {
        if self.switch == Some(switch) {
            let counts = (removed.packets, removed.bytes);
            self.account(handle.now(), removed.cookie, counts);
            self.flows.remove(removed.cookie);
        }
    }

    fn port_status(&mut self, _: Peer, status: &PortStatus, handle: &mut Handle<'_>) {
        let mut home = self.home.lock();
        if status.reason == PortReason::Delete || status.port.state & LINK_DOWN != 0 {
            home.end_authentications_at(handle.now(), status.port.number.0);
        }
        if status.reason != PortReason::Delete {
            return;
        }
        let gone = home
            .devices()
            .filter(|device| device.port == Some(status.port.number.0));
        let gone: Vec<Mac> = gone.map(|device| device.mac).collect();
        for mac in gone {
            if let Some(device) = home.device_mut(mac) {
                device.port = None;
            }
        }
    }

    fn answer(
        &mut self,
        switch: Peer,
        token: Token,
        answer: &MultipartReply<'_>,
        handle: &mut Handle<'_>,
    ) {
        if self.switch == Some(switch) {
            self.take_counters(handle.now(), token, answer);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let (has_news, has_unsaved, settle) = {
            let home = self.home.lock();
            let has_news = home.last_notice() != self.noticed;
            (has_news, home.has_unsaved(), home.next_settle())
        };
        let is_up = self.switch.is_some();
        let times = [
            (has_news && is_up).then_some(Time::ZERO),
            self.dhcp.next_wake(),
            self.next_six().filter(|_| is_up),
            self.dns.next_wake().filter(|_| is_up),
            is_up.then_some(self.ask_router),
            self.next_poll,
            settle,
            has_unsaved.then_some(self.retry),
            self.waiting.values().map(|waiting| waiting.until).min(),
        ];
        times.into_iter().flatten().min()
    }

    fn wake(&mut self, handle: &mut Handle<'_>) {
        self.wake_parts(handle.now());
        self.with_switch(handle, |gateway, now, datapath| {
            gateway.obey(now, datapath);
            if gateway.ask_router <= now {
                gateway.find_router(now, datapath);
            }
            gateway.wake_six(now, datapath);
            gateway.dns.wake(now, &mut gateway.outgoing);
            gateway.deliver(now, datapath);
            gateway.end_waiting(now, datapath);
            gateway.poll(now, datapath);
        });
    }

    fn counters(&self, visit: &mut dyn FnMut(&str, u64)) {
        let (mut devices, mut admitted) = (0, 0);
        visit("usage_not_stored", self.home.lock().unsaved_use());
        for device in self.home.lock().devices() {
            devices += 1;
            admitted += u64::from(device.is_admitted());
        }
        visit("devices", devices);
        visit("admitted", admitted);
        visit("flows", self.flows.len() as u64);
        visit("forwarded", self.forwarded);
        visit("refuges", self.refuges);
        visit("moved", self.moved);
        if self.settings.guests.is_some() {
            visit("guests_page", self.guests);
        }
        visit("ipv6_dropped", self.ipv6);
        visit("unsent", self.unsent);
        for (reason, count) in &self.drops {
            visit(&format!("dropped_{}", reason.replace(' ', "_")), *count);
        }
        self.dhcp.counters(visit);
        self.dhcpv6.counters(visit);
        visit("advertisements", self.advertisements);
        visit("prefixes", self.prefixes);
        visit("prefixes_unusable", self.delegation.unusable);
        visit("prefix_requests", self.delegation.sent);
        visit("prefix_replies_ignored", self.delegation.ignored);
        self.dns.counters(visit);
        let dns = self.dns.intercepted();
        visit("dns_rebinding", dns.rebinding);
        visit("dns_reverse", dns.reverse);
        visit("dns_ignored", dns.ignored);
        let groups = self.groups.counters;
        visit("broadcasts", groups.broadcasts);
        visit("mdns", groups.mdns);
        visit("ssdp", groups.ssdp);
        visit("rogue_dhcp", groups.rogue_dhcp);
        visit("groups_dropped", groups.dropped);
    }
}
