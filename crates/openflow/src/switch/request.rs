//! What controllers ask for.

use super::buffers::Taken;
use super::pipeline_packet::Packet;
use super::program::owned;
use super::session::Session;
use super::{FailMode, Switch};
use crate::channel::Peer;
use crate::fault::Fault;
use crate::message::{
    self, ErrorMessage, Features, Header, Message, PacketOut, PortMod, PortReason, QUOTED, Queue,
    QueueConfig, QueueProperty, Role, RoleMessage, TableMod, capabilities, decode,
};
use crate::port::{PortNo, config};
use crate::version::Version;
use alloc::vec::Vec;
use node::{Out, Time};

impl Switch {
    pub(super) fn session(&mut self, peer: Peer) -> Option<&mut Session> {
        self.sessions.get_mut(peer.index())?.as_mut()
    }

    /// There is a connection.
    pub(super) fn opened(&mut self, peer: Peer) {
        let index = peer.index();
        if self.sessions.len() <= index {
            self.sessions.resize_with(index + 1, || None);
        }
        // Those that the switch dials beside the main one have numbers from 1 on.
        let dials = self.channels.port(peer).is_some_and(|port| {
            let first = self.config.ports;
            (first..first + self.config.controllers).contains(&port.0)
        });
        let auxiliary = match self.channels.number(peer) {
            Some(number) if dials => number.min(255) as u8,
            _ => 0,
        };
        self.sessions[index] = Some(Session::new(peer, auxiliary, self.budget.account()));
        if let Some(bytes) = self.channels.buffer(peer) {
            self.handshake.hello(1, bytes);
        }
    }

    /// A connection is over.
    pub(super) fn closed(&mut self, peer: Peer) {
        if let Some(session) = self.sessions.get_mut(peer.index()) {
            let pending_reply = session.take().and_then(|session| session.pending_reply);
            self.unfinished -= usize::from(pending_reply.is_some());
        }
        self.count_sessions();
    }

    /// What depends on which controllers there are.
    fn count_sessions(&mut self) {
        let main = |session: &&Session| session.version.is_some() && session.auxiliary == 0;
        let any = self.sessions.iter().flatten().any(|s| main(&s));
        self.datapath.standalone = !any && self.config.fail_mode == FailMode::Standalone;
        let mut sessions = self.sessions.iter().flatten().filter(main);
        self.datapath.wants_misses = sessions.any(|s| s.version == Some(Version::V10));
    }

    /// Answers.
    pub(super) fn reply(&mut self, peer: Peer, xid: u32, message: &Message<'_>) {
        let Some(version) = self.session(peer).and_then(|session| session.version) else {
            return;
        };
        if let Some(bytes) = self.channels.buffer(peer) {
            // What a version cannot say was not asked in it.
            let _ = message.encode(version, xid, bytes);
        }
    }

    /// Answers with an error.
    pub(super) fn refuse(&mut self, peer: Peer, xid: u32, fault: Fault, request: &[u8]) {
        self.counters.errors += 1;
        let version = self.session(peer).and_then(|session| session.version);
        let version = version.unwrap_or(Version::V13);
        let quoted = &request[..request.len().min(QUOTED)];
        let error = ErrorMessage::new(version, fault, quoted);
        self.reply(peer, xid, &Message::Error(error));
    }

    /// A message has come in.
    pub(super) fn message(&mut self, now: Time, peer: Peer, bytes: &[u8], out: &mut Out) {
        let Some(session) = self.session(peer) else {
            return;
        };
        let Some(version) = session.version else {
            return self.greeted(peer, bytes);
        };
        let Some(header) = Header::peek(bytes) else {
            return;
        };
        let decoded = match header.version == version.wire() || header.kind == 0 {
            true => decode(bytes).map_err(|error| error.fault),
            false => Err(Fault::BadVersion),
        };
        let result = decoded.and_then(|(_, message)| {
            self.carry_out(now, peer, version, header.xid, message, bytes, out)
        });
        if let Err(fault) = result {
            self.forget_tables(peer, header, bytes);
            self.refuse(peer, header.xid, fault, bytes);
        }
    }

    /// The first message: a hello.
    fn greeted(&mut self, peer: Peer, bytes: &[u8]) {
        match self.handshake.receive(bytes) {
            Ok(Some((version, _))) => {
                if let Some(session) = self.session(peer) {
                    session.version = Some(version);
                }
                self.channels.agreed(peer, version.wire());
                self.count_sessions();
            }
            Ok(None) => {}
            Err(failure) => {
                if let crate::handshake::Failure::Incompatible { .. } = failure
                    && let Some(answer) = self.channels.buffer(peer)
                {
                    self.handshake.refusal(1, answer);
                }
                self.channels
                    .close(peer, "no version in common, or no hello");
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn carry_out(
        &mut self,
        now: Time,
        peer: Peer,
        version: Version,
        xid: u32,
        message: Message<'_>,
        bytes: &[u8],
        out: &mut Out,
    ) -> Result<(), Fault> {
        let slave = self.session(peer).is_some_and(|s| s.role == Role::Slave);
        let changes = matches!(
            message,
            Message::PacketOut(_)
                | Message::FlowMod(_)
                | Message::GroupMod(_)
                | Message::PortMod(_)
                | Message::TableMod(_)
                | Message::MeterMod(_)
                | Message::BundleControl(_)
                | Message::BundleAdd(_)
        );
        if slave && changes {
            return Err(Fault::IsSlave);
        }
        match message {
            Message::Hello(_)
            | Message::Error(_)
            | Message::EchoReply(_)
            | Message::BarrierReply => {}
            Message::EchoRequest(data) => self.reply(peer, xid, &Message::EchoReply(data)),
            Message::Experimenter(_) => return Err(Fault::BadExperimenter),
            Message::FeaturesRequest => self.features(peer, version, xid),
            Message::GetConfigRequest => {
                let config = message::Config {
                    flags: self.flags,
                    miss_send_len: self.miss_send_len,
                };
                self.reply(peer, xid, &Message::GetConfigReply(config));
            }
            Message::SetConfig(config) => {
                if config.flags > 1 {
                    return Err(Fault::ConfigBadFlags);
                }
                self.flags = config.flags;
                self.datapath.drops_fragments = config.flags == 1;
                self.miss_send_len = config.miss_send_len;
            }
            Message::PacketOut(packet) => self.packet_out(now, version, &packet, out)?,
            Message::FlowMod(change) => {
                self.datapath.flow_mod(now, version, &change)?;
                if let Some(buffer) = change.buffer.filter(|_| !change.command.is_delete()) {
                    self.release_buffer(now, peer, buffer, xid, bytes, out);
                }
            }
            Message::GroupMod(change) => self.datapath.group_mod(now, &change)?,
            Message::MeterMod(change) => self.datapath.meter_mod(now, &change)?,
            Message::PortMod(change) => self.port_mod(version, &change)?,
            Message::TableMod(change) => self.table_mod(&change)?,
            Message::BarrierRequest => self.reply(peer, xid, &Message::BarrierReply),
            Message::MultipartRequest(request) => {
                self.multipart(now, peer, version, xid, &request, slave)?;
            }
            Message::QueueConfigRequest(port) => self.queue_config(peer, xid, port)?,
            Message::RoleRequest(request) => self.role(peer, xid, &request)?,
            Message::GetAsyncRequest => {
                if let Some(session) = self.session(peer) {
                    let wanted = session.wanted;
                    self.reply(peer, xid, &Message::GetAsyncReply(wanted));
                }
            }
            Message::SetAsync(wanted) => {
                if let Some(session) = self.session(peer) {
                    session.wanted = wanted;
                }
            }
            Message::BundleControl(control) => {
                if let Err(fault) = self.bundle_control(now, peer, xid, &control, out) {
                    self.refuse_bundle(peer, xid, fault, bytes);
                }
            }
            Message::BundleAdd(add) => {
                if let Err(fault) = self.bundle_add(peer, xid, &add) {
                    self.refuse_bundle(peer, xid, fault, bytes);
                }
            }
            _ => return Err(Fault::BadType),
        }
        Ok(())
    }

    fn features(&mut self, peer: Peer, version: Version, xid: u32) {
        let auxiliary_id = self.session(peer).map_or(0, |session| session.auxiliary);
        let ports: Vec<_> = match version {
            Version::V10 => {
                let ports = self.datapath.ports.iter();
                ports.map(|port| port.description(version)).collect()
            }
            Version::V13 => Vec::new(),
        };
        use capabilities::*;
        let common = FLOW_STATS | TABLE_STATS | PORT_STATS | QUEUE_STATS;
        let features = Features {
            datapath_id: self.config.datapath_id,
            n_buffers: self.datapath.buffers.len() as u32,
            n_tables: self.config.tables,
            auxiliary_id,
            capabilities: match version {
                Version::V10 => common | ARP_MATCH_IP,
                Version::V13 => common | GROUP_STATS,
            },
            // All twelve of 1.0.
            actions: match version {
                Version::V10 => 0xFFF,
                Version::V13 => 0,
            },
            ports: (&ports).into(),
        };
        self.reply(peer, xid, &Message::FeaturesReply(features));
    }

    fn packet_out(
        &mut self,
        now: Time,
        version: Version,
        request: &PacketOut<'_>,
        out: &mut Out,
    ) -> Result<(), Fault> {
        let in_port = request.in_port;
        // 1.0 has no error for a port that there is not, and controllers leave it at zero.
        let known = matches!(in_port, PortNo::CONTROLLER | PortNo::LOCAL)
            || (version == Version::V10 && (in_port == PortNo::ANY || in_port < PortNo::MAX))
            || self.datapath.port_index(in_port.0).is_some();
        if !known {
            return Err(Fault::BadPort);
        }
        self.datapath
            .check_actions(version, request.actions, None, true)?;
        let frame = match request.buffer {
            Some(buffer) => match self.datapath.buffers.take(buffer) {
                Taken::Packet(frame, _) => frame,
                Taken::Empty => return Err(Fault::BufferEmpty),
                Taken::Unknown => return Err(Fault::BufferUnknown),
            },
            None => {
                if !(14..=node::frame::MAX_FRAME_LEN).contains(&request.data.len()) {
                    return Err(Fault::BadPacket);
                }
                out.pool().take_with(request.data)
            }
        };
        let mut actions = core::mem::take(&mut self.datapath.actions);
        actions.clear();
        for action in request.actions.iter() {
            // Checked before: nothing of an experimenter is among them.
            actions.extend(owned(action));
        }
        let packet = Packet::new(frame, in_port.0);
        self.datapath.packet_out(now, packet, &actions, out);
        self.datapath.actions = actions;
        Ok(())
    }

    /// Takes a kept packet through the tables.
    pub(super) fn release_buffer(
        &mut self,
        now: Time,
        peer: Peer,
        buffer: u32,
        xid: u32,
        request: &[u8],
        out: &mut Out,
    ) {
        match self.datapath.buffers.take(buffer) {
            Taken::Packet(frame, in_port) => {
                let mut packet = Packet::new(frame, in_port);
                self.datapath.pipeline(now, &mut packet, out);
            }
            Taken::Empty => self.refuse(peer, xid, Fault::BufferEmpty, request),
            Taken::Unknown => self.refuse(peer, xid, Fault::BufferUnknown, request),
        }
    }

    pub(super) fn port_mod(&mut self, version: Version, change: &PortMod) -> Result<(), Fault> {
        let index = self.datapath.port_index(change.port.0);
        let index = index.ok_or(Fault::PortModBadPort)?;
        let port = &mut self.datapath.ports[index];
        if port.hardware != change.hardware {
            return Err(Fault::BadHwAddr);
        }
        use config::*;
        let common = PORT_DOWN | NO_RECV | NO_FWD | NO_PACKET_IN;
        let settable = match version {
            Version::V10 => common | NO_STP | NO_RECV_STP | NO_FLOOD,
            Version::V13 => common,
        };
        if change.mask & !settable != 0 || change.config & change.mask & !settable != 0 {
            return Err(Fault::PortModBadConfig);
        }
        let supported = port.description(version).supported;
        if change.advertise & !supported != 0 && change.advertise != 0 {
            return Err(Fault::BadAdvertise);
        }
        let before = port.config;
        port.config = before & !change.mask | change.config & change.mask;
        if change.advertise != 0 {
            port.advertised = change.advertise;
        }
        let (number, changed) = (port.number, before ^ port.config);
        if changed & PORT_DOWN != 0 {
            self.datapath.learning.forget(number);
        }
        // Others may not know of it (1.3.5 section 7.4.3).
        if changed != 0 {
            self.tell_port(index, PortReason::Modify);
        }
        Ok(())
    }

    fn table_mod(&mut self, change: &TableMod) -> Result<(), Fault> {
        if change.table != message::ALL_TABLES && !self.datapath.has_table(change.table) {
            return Err(Fault::TableModBadTable);
        }
        // Bits that earlier versions gave a meaning to; none does anything.
        if change.config & !3 != 0 {
            return Err(Fault::TableModBadConfig);
        }
        Ok(())
    }

    fn queue_config(&mut self, peer: Peer, xid: u32, port: PortNo) -> Result<(), Fault> {
        let index = self.datapath.port_index(port.0);
        if index.is_none() && port != PortNo::ANY {
            return Err(Fault::QueueBadPort);
        }
        let ports = self.datapath.ports.iter().enumerate();
        let ports = ports.filter(|(at, _)| index.is_none_or(|index| index == *at));
        let found: Vec<_> = ports
            .flat_map(|(_, port)| port.queues.iter().map(|queue| (port.number, queue)))
            .map(|(port, queue)| {
                let min = queue.min_rate.map(QueueProperty::MinRate);
                let max = queue.max_rate.map(QueueProperty::MaxRate);
                let properties: Vec<_> = min.into_iter().chain(max).collect();
                (port, queue.number, properties)
            })
            .collect();
        let version = self.session(peer).and_then(|session| session.version);
        let queues: Vec<_> = found
            .iter()
            .map(|(port, queue, properties)| Queue {
                queue: *queue,
                port: PortNo(*port),
                properties: match version {
                    // 1.0 has no highest rate.
                    Some(Version::V10) => match properties.first() {
                        Some(QueueProperty::MinRate(_)) => properties[..1].into(),
                        _ => properties[..0].into(),
                    },
                    _ => properties.into(),
                },
            })
            .collect();
        let reply = QueueConfig {
            port,
            queues: (&queues).into(),
        };
        self.reply(peer, xid, &Message::QueueConfigReply(reply));
        Ok(())
    }

    fn role(&mut self, peer: Peer, xid: u32, request: &RoleMessage) -> Result<(), Fault> {
        if matches!(request.role, Role::Master | Role::Slave) {
            // A distance modulo 2^64 (1.3.5 section 6.3.5).
            let stale = |known: u64| (request.generation.wrapping_sub(known) as i64) < 0;
            if self.generation.is_some_and(stale) {
                return Err(Fault::RoleStale);
            }
            self.generation = Some(request.generation);
        }
        if request.role == Role::Master {
            let masters = self.sessions.iter_mut().flatten();
            for other in masters.filter(|s| s.role == Role::Master && s.peer != peer) {
                other.role = Role::Slave;
            }
        }
        let generation = self.generation.unwrap_or(u64::MAX);
        let Some(session) = self.session(peer) else {
            return Ok(());
        };
        if request.role != Role::NoChange {
            session.role = request.role;
        }
        let role = session.role;
        let reply = RoleMessage { role, generation };
        self.reply(peer, xid, &Message::RoleReply(reply));
        Ok(())
    }
}
