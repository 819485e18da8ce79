//! Controllers: programs that hear what happens on switches, and tell these what to do.
//!
//! A program is an [`App`]: it is called when a switch comes or goes, with its packets, replies and errors, and at times
//! it asked for. Through the [`Handle`] it sends; what it wants answered - a barrier, statistics - carries a
//! [`Token`] of its own choice, with which the answer comes back. Several programs make one [`Controller`]: each event goes
//! to them in order, and a packet only as far as the first that has dealt with it.
//!
//! The controller is a node whose ports are control ports: the same programs run in simulated time and on sockets.
//!
//! - **Ports:** `ports`, each a control channel as [`channel`](crate::channel) has it.
//! - **Counters:** `switches`: there now; `packet_ins`; `flow_mods`; `packet_outs`; `errors`: error messages that switches
//!   sent; `refused`: packets not dealt with because the switch did not read; `nonsense`: messages that could not be
//!   read; then those of the channels and of each program.
//! - **Paper:** 003 section 3.8.1, the controller library and its learning switch.
//!
//! | program | what it does |
//! |---|---|
//! | [`learning`] | a learning switch on each switch |
//! | [`router`] | a static router |
//! | [`topology`] | finds links by LLDP and hosts by their packets, and keeps floods free of loops |
//! | [`firewall`] | refuses flows by a list of rules |
//! | [`collector`] | collects the counters of entries and ports |
//!
//! What happens to a switch that does not behave is told in [`channel`](crate::channel); beyond that, one that says
//! what is no message, or none of its version, is sent the error that the specification names; one that has not said what it
//! is in time is closed; and one that floods is read in turn with the others, at most a window from each.

pub mod collector;
pub mod config;
pub mod firewall;
mod handle;
mod headers;
pub mod learning;
pub mod network;
pub mod router;
#[cfg(test)]
mod tests;
pub mod topology;

pub use handle::{Handle, Token};
pub use headers::Headers;
pub use network::{Attachment, Network, SwitchInfo};

use crate::channel::{Channels, Event, Peer, Settings};
use crate::handshake::Handshake;
use crate::message::{
    Answer, Config as SwitchConfig, ErrorMessage, FlowMod, FlowRemoved, Header, Message,
    MultipartReply, MultipartRequest, PacketIn, PortReason, PortStatus, Query, decode,
};
use crate::port::PortDescription;
use crate::version::Version;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use handle::Pending;
use node::Statistics;
use node::{Frame, Node, Out, Port, Properties, Time};

/// Timeout of a switch's features, from its hello on.
const INTRODUCTION: Time = Time::from_secs(10);
/// Maximum number of ports of a switch that are kept.
const MAX_PORTS: usize = 65_536;
/// From this backlog on, in bytes, packets of a switch are not dealt with: it does not read the answers.
const BUSY: usize = 1 << 20;

/// Action of a program on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing that would keep the next program from it.
    Pass,
    /// All that is to be done.
    Done,
}

/// A program of a controller. What it does not care about it leaves out.
pub trait App: Send {
    /// Its name, for people and counters.
    fn name(&self) -> &'static str;

    /// A switch is there: its features and ports are known, and it has a table-miss entry.
    fn switch_up(&mut self, switch: Peer, handle: &mut Handle<'_>) {
        let _ = (switch, handle);
    }

    /// A switch is gone; nothing can be sent to it any more. Its info is still in the network during the call.
    fn switch_down(&mut self, switch: Peer, handle: &mut Handle<'_>) {
        let _ = (switch, handle);
    }

    /// A packet from a switch.
    fn packet_in(
        &mut self,
        switch: Peer,
        packet: &PacketIn<'_>,
        handle: &mut Handle<'_>,
    ) -> Verdict {
        let _ = (switch, packet, handle);
        Verdict::Pass
    }

    /// An entry is gone.
    fn flow_removed(&mut self, switch: Peer, removed: &FlowRemoved<'_>, handle: &mut Handle<'_>) {
        let _ = (switch, removed, handle);
    }

    /// A port came, went, or changed; the network knows it already.
    fn port_status(&mut self, switch: Peer, status: &PortStatus, handle: &mut Handle<'_>) {
        let _ = (switch, status, handle);
    }

    /// The paths between switches have changed: what leads to these ports, at ends of links that are
    /// there or were, may lead nowhere, or in a circle.
    fn paths_changed(&mut self, ports: &BTreeSet<Attachment>, handle: &mut Handle<'_>) {
        let _ = (ports, handle);
    }

    /// An error that answers something that this program has sent, or nobody: `token` if it was asked with one.
    fn error(
        &mut self,
        switch: Peer,
        error: &ErrorMessage<'_>,
        token: Option<Token>,
        handle: &mut Handle<'_>,
    ) {
        let _ = (switch, error, token, handle);
    }

    /// All that was sent to the switch before [`Handle::barrier`] is done.
    fn barrier(&mut self, switch: Peer, token: Token, handle: &mut Handle<'_>) {
        let _ = (switch, token, handle);
    }

    /// A part of the answer to [`Handle::ask`]; the last one has not `more`.
    fn answer(
        &mut self,
        switch: Peer,
        token: Token,
        answer: &MultipartReply<'_>,
        handle: &mut Handle<'_>,
    ) {
        let _ = (switch, token, answer, handle);
    }

    /// When [`wake`](App::wake) is to be called.
    fn next_wake(&self) -> Option<Time> {
        None
    }

    /// The time has come, or is near.
    fn wake(&mut self, handle: &mut Handle<'_>) {
        let _ = handle;
    }

    /// Shows its counters.
    fn counters(&self, visit: &mut dyn FnMut(&str, u64)) {
        let _ = visit;
    }
}

/// What a controller has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub packet_ins: u64,
    pub flow_mods: u64,
    pub packet_outs: u64,
    pub errors: u64,
    pub refused: u64,
    pub nonsense: u64,
}

/// How a controller speaks.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How many control ports it has; 0 counts as 1.
    pub ports: u16,
    /// The versions that it speaks; empty for all.
    pub versions: Vec<Version>,
    /// Its channels; by default it is always ready to read.
    pub settings: Option<Settings>,
    /// Whether it opens connection 0 of each port itself, for switches that listen.
    pub dial: bool,
}

/// A controller as a node.
pub struct Controller {
    ports: usize,
    handshake: Handshake,
    channels: Channels,
    network: Network,
    pending: Pending,
    counters: Counters,
    apps: Vec<Box<dyn App>>,
    now: Time,
}

impl Controller {
    /// One that runs these programs, in this order.
    pub fn new(options: Options, apps: Vec<Box<dyn App>>) -> Controller {
        let settings = options.settings.unwrap_or(Settings {
            hold: usize::MAX,
            ..Settings::default()
        });
        let mut channels = Channels::new(settings);
        let ports = options.ports.max(1);
        if options.dial {
            (0..ports).for_each(|port| channels.dial(Port(port), 0));
        }
        Controller {
            ports: ports.into(),
            handshake: Handshake::new(&options.versions),
            channels,
            network: Network::default(),
            pending: Pending::default(),
            counters: Counters::default(),
            apps,
            now: Time::ZERO,
        }
    }

    /// What is known of the network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Calls each program in order.
    fn each(&mut self, mut call: impl FnMut(&mut dyn App, &mut Handle<'_>)) {
        for (index, app) in self.apps.iter_mut().enumerate() {
            let mut handle = Handle {
                now: self.now,
                app: index,
                channels: &mut self.channels,
                network: &mut self.network,
                pending: &mut self.pending,
                counters: &mut self.counters,
            };
            call(app.as_mut(), &mut handle);
        }
    }

    /// Calls one program.
    fn one(&mut self, index: usize, call: impl FnOnce(&mut dyn App, &mut Handle<'_>)) {
        if let Some(app) = self.apps.get_mut(index) {
            let mut handle = Handle {
                now: self.now,
                app: index,
                channels: &mut self.channels,
                network: &mut self.network,
                pending: &mut self.pending,
                counters: &mut self.counters,
            };
            call(app.as_mut(), &mut handle);
        }
    }

    fn work(&mut self, mut batch: crate::channel::Batch, out: &mut Out) {
        while let Some(event) = batch.next(&mut self.channels) {
            match event {
                Event::Message(peer, bytes) => self.message(peer, bytes),
                Event::Opened(peer) => self.opened(peer),
                Event::Closed(peer, _) => self.closed(peer),
            }
            self.reroute();
        }
        self.channels.finish(batch, out);
    }

    /// Tells programs of changed paths.
    fn reroute(&mut self) {
        let ports = core::mem::take(&mut self.network.rerouted);
        if !ports.is_empty() {
            self.each(|app, handle| app.paths_changed(&ports, handle));
        }
    }

    fn opened(&mut self, peer: Peer) {
        let name = self.channels.name(peer).into();
        self.network
            .enter(peer, SwitchInfo::new(peer, name, self.now));
        if let Some(buffer) = self.channels.buffer(peer) {
            self.handshake.hello(0, buffer);
        }
    }

    fn closed(&mut self, peer: Peer) {
        if self.network.switch(peer).is_some() {
            self.each(|app, handle| app.switch_down(peer, handle));
        }
        self.network.leave(peer);
        self.pending.forget(peer);
    }

    fn message(&mut self, peer: Peer, bytes: &[u8]) {
        let Some(info) = self.network.any(peer) else {
            return;
        };
        let Some(version) = info.version else {
            return self.greeting(peer, bytes);
        };
        let up = info.up;
        let (header, message) = match decode(bytes) {
            Ok(read) if read.0.version == version.wire() || read.0.kind == 0 => read,
            Ok(_) => {
                self.counters.nonsense += 1;
                return;
            }
            Err(wrong) => {
                self.counters.nonsense += 1;
                // An error about an error would go on forever.
                if wrong.header.is_some_and(|header| header.kind != 1) {
                    let xid = wrong.header.map_or(0, |header| header.xid);
                    let answer = wrong.message(version);
                    if let Some(buffer) = self.channels.buffer(peer) {
                        let _ = answer.encode(version, xid, buffer);
                    }
                }
                return;
            }
        };
        match message {
            Message::PacketIn(packet) if up => self.packet_in(peer, &packet),
            Message::FeaturesReply(features) if !up => {
                if features.auxiliary_id != 0 {
                    // Its packets come by the main connection.
                    return self
                        .channels
                        .close(peer, "auxiliary connections are not used");
                }
                if let Some(info) = self.network.any_mut(peer) {
                    info.datapath = features.datapath_id;
                    info.buffers = features.n_buffers;
                    info.tables = features.n_tables;
                    let ports = features.ports.iter().take(MAX_PORTS);
                    ports.for_each(|port| info.put_port(port));
                }
                match version {
                    Version::V10 => self.up(peer),
                    Version::V13 => self.ask_for_ports(peer),
                }
            }
            Message::MultipartReply(reply) if !up => {
                let Answer::PortDescription(ports) = reply.body else {
                    return;
                };
                if let Some(info) = self.network.any_mut(peer) {
                    for port in ports.iter() {
                        if info.ports.len() < MAX_PORTS {
                            info.put_port(port);
                        }
                    }
                }
                if !reply.more {
                    self.up(peer);
                }
            }
            Message::MultipartReply(reply) => {
                let waits = self.pending.find(peer, header.xid, !reply.more);
                if let Some((app, token)) = waits {
                    self.one(app, |app, handle| app.answer(peer, token, &reply, handle));
                }
            }
            Message::BarrierReply => {
                if let Some((app, token)) = self.pending.find(peer, header.xid, true) {
                    self.one(app, |app, handle| app.barrier(peer, token, handle));
                }
            }
            Message::Error(error) => self.error(peer, &header, &error, up),
            Message::FlowRemoved(removed) if up => {
                self.each(|app, handle| app.flow_removed(peer, &removed, handle));
            }
            Message::PortStatus(status) if up => {
                if let Some(info) = self.network.any_mut(peer) {
                    match status.reason {
                        PortReason::Delete => info.remove_port(status.port.number),
                        PortReason::Add | PortReason::Modify => info.put_port(status.port),
                    }
                }
                self.each(|app, handle| app.port_status(peer, &status, handle));
            }
            // Before it is up nothing is done about packets; what else there is asks for nothing.
            _ => {}
        }
    }

    /// The first message: a hello, or nothing that is any good.
    fn greeting(&mut self, peer: Peer, bytes: &[u8]) {
        match self.handshake.receive(bytes) {
            Ok(Some((version, _))) => {
                if let Some(info) = self.network.any_mut(peer) {
                    info.version = Some(version);
                }
                self.channels.agreed(peer, version.wire());
                self.say(peer, version, &Message::FeaturesRequest);
            }
            Ok(None) => self
                .channels
                .close(peer, "the first message is not a hello"),
            Err(failure) => {
                self.counters.nonsense += 1;
                if let (crate::handshake::Failure::Incompatible { .. }, Some(buffer)) =
                    (failure, self.channels.buffer(peer))
                {
                    self.handshake.refusal(0, buffer);
                }
                self.channels.close(peer, "no version in common");
            }
        }
    }

    fn say(&mut self, peer: Peer, version: Version, message: &Message<'_>) {
        if let Some(buffer) = self.channels.buffer(peer) {
            // Each of these has a form in both versions.
            let _ = message.encode(version, 0, buffer);
        }
    }

    fn ask_for_ports(&mut self, peer: Peer) {
        let message = Message::MultipartRequest(MultipartRequest {
            more: false,
            body: Query::PortDescription,
        });
        self.say(peer, Version::V13, &message);
    }

    /// A switch has said what it is.
    fn up(&mut self, peer: Peer) {
        let Some(info) = self.network.any_mut(peer) else {
            return;
        };
        info.up = true;
        let (datapath, version) = (info.datapath, info.version.unwrap_or(Version::V10));
        // The same switch again: its older connection is dead, even if nobody has told yet.
        let older: Vec<Peer> = self
            .network
            .switches()
            .filter(|other| other.datapath == datapath && other.peer != peer)
            .map(|other| other.peer)
            .collect();
        for older in older {
            self.channels.close(older, "the switch has connected anew");
            self.closed(older);
        }
        self.network.index(peer);
        self.say(
            peer,
            version,
            &Message::SetConfig(SwitchConfig {
                flags: 0,
                miss_send_len: u16::MAX,
            }),
        );
        if version == Version::V13 {
            let actions = [crate::action::Action::output(
                crate::port::PortNo::CONTROLLER,
            )];
            let apply = [crate::instruction::Instruction::ApplyActions(
                (&actions[..]).into(),
            )];
            let miss = FlowMod {
                priority: 0,
                instructions: (&apply[..]).into(),
                ..FlowMod::default()
            };
            self.say(peer, version, &Message::FlowMod(miss));
        }
        self.each(|app, handle| app.switch_up(peer, handle));
    }

    fn packet_in(&mut self, peer: Peer, packet: &PacketIn<'_>) {
        self.counters.packet_ins += 1;
        if self.channels.backlog(peer) >= BUSY {
            self.counters.refused += 1;
            return;
        }
        for (index, app) in self.apps.iter_mut().enumerate() {
            let mut handle = Handle {
                now: self.now,
                app: index,
                channels: &mut self.channels,
                network: &mut self.network,
                pending: &mut self.pending,
                counters: &mut self.counters,
            };
            if app.packet_in(peer, packet, &mut handle) == Verdict::Done {
                return;
            }
        }
    }

    fn error(&mut self, peer: Peer, header: &Header, error: &ErrorMessage<'_>, up: bool) {
        self.counters.errors += 1;
        if !up {
            // It has no description of its ports: they become known by what they send.
            let known = self
                .network
                .any(peer)
                .is_some_and(|info| info.datapath != 0);
            if known {
                self.up(peer);
            }
            return;
        }
        match self.pending.find(peer, header.xid, true) {
            Some((app, token)) => {
                self.one(app, |app, handle| {
                    app.error(peer, error, Some(token), handle)
                });
            }
            None => self.each(|app, handle| app.error(peer, error, None, handle)),
        }
    }

    /// Closes the connections of what has not said what it is.
    fn impatience(&mut self) {
        let now = self.now;
        let late = self.network.strangers();
        let late: Vec<Peer> = late
            .filter(|info| info.since + INTRODUCTION <= now)
            .map(|info| info.peer)
            .collect();
        for peer in late {
            self.channels.close(peer, "no features and ports in time");
        }
    }
}

impl Node for Controller {
    fn properties(&self) -> Properties {
        Properties {
            endless: self.next_wake().map(|_| crate::channel::ENDLESS),
            ..Properties::of(self.ports)
        }
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.now = self.now.max(now);
            let batch = self.channels.frame(self.now, port, frame);
            self.work(batch, out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        self.now = self.now.max(now);
        let batch = self.channels.wake(self.now);
        self.impatience();
        self.work(batch, out);
        for index in 0..self.apps.len() {
            let due = self.apps[index].next_wake().is_some_and(|at| at <= now);
            if due {
                self.one(index, |app, handle| app.wake(handle));
            }
        }
        self.reroute();
        self.channels.flush(out);
    }

    fn next_wake(&self) -> Option<Time> {
        let apps = self.apps.iter().filter_map(|app| app.next_wake());
        let stranger = self.network.first_stranger().map(|at| at + INTRODUCTION);
        apps.chain(self.channels.next_wake()).chain(stranger).min()
    }

    fn statistics(&self) -> Statistics {
        let channels = self.channels.counters();
        let own = &self.counters;
        let mut statistics = Statistics::from([
            ("switches", self.network.switches().count() as u64),
            ("packet_ins", own.packet_ins),
            ("flow_mods", own.flow_mods),
            ("packet_outs", own.packet_outs),
            ("errors", own.errors),
            ("refused", own.refused),
            ("nonsense", own.nonsense),
            ("connections_opened", channels.opened),
            ("connections_closed", channels.closed),
        ]);
        for app in &self.apps {
            app.counters(&mut |name, count| statistics.counter(name, count));
        }
        statistics
    }
}

/// What a port description says about whether the port carries anything.
pub(crate) fn is_live(port: &PortDescription) -> bool {
    port.number.is_physical()
        && port.config & crate::port::config::PORT_DOWN == 0
        && port.state & crate::port::state::LINK_DOWN == 0
}
