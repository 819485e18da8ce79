//! Answers to multipart requests: as many messages as they need.

use super::async_messages::duration;
use super::datapath::Datapath;
use super::features::ACTIONS;
use super::field_list::FieldList;
use super::group_mod::{MAX_BANDS, MAX_GROUPS};
use super::groups::Kind;
use super::meters::BandType;
use super::session::PendingReply;
use super::{Switch, flow_mod::pattern_of};
use crate::channel::{Batch, Peer};
use crate::fault::Fault;
use crate::list::{Element, List};
use crate::message::{
    ALL_GROUPS, ALL_METERS, ALL_QUEUES, ALL_TABLES, ANY_GROUP, Aggregate, Answer, Band, BandKind,
    Bucket, Counters, Description, FlowQuery, FlowStats, GroupDescription, GroupFeatures,
    GroupKind, GroupStats, MAX_METER, Message, MeterConfig, MeterFeatures, MeterStats,
    MultipartReply, MultipartRequest, PortStats, Query, QueueStats, TableStats,
};
use crate::port::PortNo;
use crate::table::{Filter, FlowId};
use crate::text::Flow;
use crate::version::Version;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;
use node::Time;

/// Maximum number of bytes of statistics that wait for a controller: more are written when it has
/// taken half of them.
const PIECE: usize = 512 << 10;

/// Maximum message length, bytes.
const MAX_MESSAGE_LEN: usize = 65_535;

/// Messages of one answer in the making.
struct Parts<'a> {
    out: &'a mut Vec<u8>,
    version: Version,
    xid: u32,
    empty: Answer<'static>,
    /// Where the message at hand begins.
    start: usize,
}

impl<'a> Parts<'a> {
    /// Begins an answer with a list; `empty` is one without elements.
    fn new(out: &'a mut Vec<u8>, version: Version, xid: u32, empty: Answer<'static>) -> Parts<'a> {
        let mut parts = Parts {
            out,
            version,
            xid,
            empty,
            start: 0,
        };
        parts.begin();
        parts
    }

    fn begin(&mut self) {
        self.start = self.out.len();
        let reply = Message::MultipartReply(MultipartReply {
            more: false,
            body: self.empty,
        });
        // Only what a version can ask is answered.
        let _ = reply.encode(self.version, self.xid, self.out);
    }

    /// Adds an element; one that the version cannot say is left out.
    fn add<'e>(&mut self, element: &impl Element<'e>) {
        let at = self.out.len();
        if element.write(self.version, self.out).is_err() {
            self.out.truncate(at);
            return;
        }
        if self.out.len() - self.start > MAX_MESSAGE_LEN {
            // The element begins another message: the head of that one goes in before it.
            let size = self.out.len() - at;
            self.finish(self.start, at, true);
            self.begin();
            self.out[at..].rotate_left(size);
            self.start = at;
        }
    }

    /// Writes a message's length, and whether more follows.
    fn finish(&mut self, from: usize, to: usize, more: bool) {
        let length = ((to - from) as u16).to_be_bytes();
        self.out[from + 2..from + 4].copy_from_slice(&length);
        self.out[from + 11] = more.into();
    }

    fn end(self) {
        self.end_with(false);
    }

    /// Ends here for now.
    fn end_with(mut self, more: bool) {
        self.finish(self.start, self.out.len(), more);
    }
}

impl Datapath {
    /// Shows what there is to be told of an entry.
    fn show(&self, id: FlowId, now: Time, version: Version, see: impl FnOnce(&FlowStats<'_>)) {
        let (flow, hot) = (self.flows.flow(id), self.flows.hot(id));
        let fields = FieldList::of(&self.flows.pattern(id), version);
        let (duration_s, duration_ns) = duration(flow.created, now);
        see(&FlowStats {
            table: flow.table,
            duration_s,
            duration_ns,
            priority: flow.rank as u16,
            idle_timeout: flow.idle_timeout,
            hard_timeout: flow.hard_timeout,
            flags: flow.flags,
            cookie: flow.cookie,
            packets: hot.packets,
            bytes: hot.bytes,
            matching: fields.matching(),
            instructions: self.programs.get(hot.program).instructions(),
        });
    }

    /// The entries of all tables that have any, the highest priority first, as `ovs-ofctl dump-flows` shows them.
    pub(super) fn shown(&self, now: Time) -> Vec<node::outcome::Table> {
        let tables = (0..u8::MAX).filter(|table| self.flows.len(*table) > 0);
        let shown = tables.map(|table| {
            let all = Filter {
                table: Some(table),
                ..Filter::default()
            };
            let mut chosen = Vec::new();
            self.select(&all, PortNo::ANY, ANY_GROUP, &mut chosen);
            let mut entries = Vec::new();
            for id in chosen {
                let mut text = String::new();
                self.show(id, now, Version::V13, |stats| {
                    Flow::show_stats(stats, Version::V13, &mut text);
                });
                entries.push((Reverse(self.flows.flow(id).rank), text));
            }
            entries.sort();
            node::outcome::Table {
                name: format!("table {table}"),
                entries: entries.into_iter().map(|(_, text)| text).collect(),
            }
        });
        shown.collect()
    }
}

impl Switch {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn multipart(
        &mut self,
        now: Time,
        peer: Peer,
        version: Version,
        xid: u32,
        request: &MultipartRequest<'_>,
        slave: bool,
    ) -> Result<(), Fault> {
        let answer = |body| Message::MultipartReply(MultipartReply { more: false, body });
        match request.body {
            Query::Description => {
                let name = self.config.names.first().cloned();
                let description = Description {
                    manufacturer: "Wireline".into(),
                    hardware: "software".into(),
                    software: concat!("wire ", env!("CARGO_PKG_VERSION")).into(),
                    serial: "none".into(),
                    datapath: name.as_deref().unwrap_or("OpenFlow switch").into(),
                };
                self.reply(peer, xid, &answer(Answer::Description(description)));
            }
            Query::Flow(query) => self.flow_stats(now, peer, version, xid, &query)?,
            Query::Aggregate(query) => {
                let filter = self.filter_of(&query)?;
                let mut chosen = core::mem::take(&mut self.datapath.chosen);
                let (port, group) = (query.out_port, query.out_group);
                self.datapath.select(&filter, port, group, &mut chosen);
                let mut sum = Aggregate {
                    packets: 0,
                    bytes: 0,
                    flows: chosen.len() as u32,
                };
                for &id in &chosen {
                    let hot = self.datapath.flows.hot(id);
                    sum.packets += hot.packets;
                    sum.bytes += hot.bytes;
                }
                self.datapath.chosen = chosen;
                self.reply(peer, xid, &answer(Answer::Aggregate(sum)));
            }
            Query::Table => self.table_stats(peer, version, xid),
            Query::PortStats(port) => self.port_stats(now, peer, version, xid, port)?,
            Query::Queue { port, queue } => {
                self.queue_stats(now, peer, version, xid, port, queue)?;
            }
            Query::Group(number) => self.group_stats(now, peer, version, xid, number),
            Query::GroupDescription => self.group_descriptions(peer, version, xid),
            Query::GroupFeatures => {
                let features = GroupFeatures {
                    kinds: 0b1111,
                    capabilities: 0b1111,
                    max_groups: [MAX_GROUPS as u32; 4],
                    actions: [ACTIONS; 4],
                };
                self.reply(peer, xid, &answer(Answer::GroupFeatures(features)));
            }
            Query::Meter(number) => self.meter_stats(now, peer, version, xid, number)?,
            Query::MeterConfig(number) => self.meter_configs(peer, version, xid, number)?,
            Query::MeterFeatures => {
                let features = MeterFeatures {
                    max_meter: MAX_METER,
                    band_types: 1 << 1 | 1 << 2,
                    capabilities: 0b1111,
                    max_bands: MAX_BANDS,
                    max_color: 0,
                };
                self.reply(peer, xid, &answer(Answer::MeterFeatures(features)));
            }
            Query::TableFeatures(wanted) => {
                if !wanted.is_empty() || self.is_setting_tables(peer, xid) {
                    if slave {
                        return Err(Fault::IsSlave);
                    }
                    self.set_table_features(now, peer, xid, wanted, request.more)?;
                }
                if !request.more {
                    self.table_features(peer, version, xid);
                }
            }
            Query::PortDescription => {
                if let Some(out) = self.channels.buffer(peer) {
                    let empty = Answer::PortDescription(List::EMPTY);
                    let mut parts = Parts::new(out, version, xid, empty);
                    for port in &self.datapath.ports {
                        parts.add(&port.description(version));
                    }
                    parts.end();
                }
            }
            Query::Experimenter(_) => return Err(Fault::BadExperimenter),
        }
        Ok(())
    }

    fn filter_of(&self, query: &FlowQuery<'_>) -> Result<Filter, Fault> {
        let table = (query.table != ALL_TABLES).then_some(query.table);
        if table.is_some_and(|table| !self.datapath.has_table(table)) {
            return Err(Fault::BadTableId);
        }
        Ok(Filter {
            table,
            pattern: pattern_of(&query.matching),
            strict: None,
            cookie: query.cookie,
            cookie_mask: query.cookie_mask,
        })
    }

    fn flow_stats(
        &mut self,
        now: Time,
        peer: Peer,
        version: Version,
        xid: u32,
        query: &FlowQuery<'_>,
    ) -> Result<(), Fault> {
        let filter = self.filter_of(query)?;
        let mut pending_reply = PendingReply {
            xid,
            filter,
            out_port: query.out_port,
            out_group: query.out_group,
            entries: core::mem::take(&mut self.datapath.chosen),
            told: 0,
            held: None,
        };
        let (port, group) = (query.out_port, query.out_group);
        self.datapath
            .select(&filter, port, group, &mut pending_reply.entries);
        if self.tell_flows(now, peer, version, &mut pending_reply, false) {
            self.datapath.chosen = pending_reply.entries;
        } else if let Some(session) = self.session(peer) {
            pending_reply.entries.shrink_to_fit();
            let size = size_of_val(&pending_reply.entries[..]);
            let Ok(held) = session.account.hold(size) else {
                // The rest of the answer will never come; closing the connection is the only way to signal this.
                self.channels
                    .close(peer, "too many statistics wait for controllers");
                return Ok(());
            };
            pending_reply.held = Some(held);
            session.pending_reply = Some(pending_reply);
            self.unfinished += 1;
            self.channels.pause(peer);
        }
        Ok(())
    }

    /// Goes on with statistics that are told in part, where the controller has taken enough of them; gives what has come
    /// meanwhile from one that is told all.
    pub(super) fn tell_on(&mut self, now: Time) -> Option<Batch> {
        for index in 0..self.sessions.len() {
            let Some(session) = self.sessions[index].as_mut() else {
                continue;
            };
            let (peer, Some(version)) = (session.peer, session.version) else {
                continue;
            };
            if self.channels.backlog(peer) > PIECE / 2 {
                continue;
            }
            let Some(mut pending_reply) = session.pending_reply.take() else {
                continue;
            };
            if self.tell_flows(now, peer, version, &mut pending_reply, true) {
                self.unfinished -= 1;
                return Some(self.channels.go_on(peer));
            }
            if let Some(session) = self.session(peer) {
                session.pending_reply = Some(pending_reply);
            }
        }
        None
    }

    /// Tells of entries, as many as the controller may be behind with; whether of all. Later, there may be others in their
    /// places.
    fn tell_flows(
        &mut self,
        now: Time,
        peer: Peer,
        version: Version,
        pending_reply: &mut PendingReply,
        later: bool,
    ) -> bool {
        let room = PIECE.saturating_sub(self.channels.backlog(peer));
        if let Some(out) = self.channels.buffer(peer) {
            let left = pending_reply.entries.len() - pending_reply.told;
            out.reserve((left * 128).min(room));
            let full = out.len() + room;
            let mut parts = Parts::new(out, version, pending_reply.xid, Answer::Flow(List::EMPTY));
            while let Some(&id) = pending_reply.entries.get(pending_reply.told) {
                if parts.out.len() > full {
                    parts.end_with(true);
                    return false;
                }
                pending_reply.told += 1;
                if later && !self.datapath.fits(pending_reply, id) {
                    continue;
                }
                self.datapath
                    .show(id, now, version, |stats| parts.add(stats));
            }
            parts.end();
        }
        true
    }

    fn table_stats(&mut self, peer: Peer, version: Version, xid: u32) {
        let Some(out) = self.channels.buffer(peer) else {
            return;
        };
        let mut parts = Parts::new(out, version, xid, Answer::Table(List::EMPTY));
        for (table, state) in (0..u8::MAX).zip(&self.datapath.tables) {
            if !self.datapath.has_table(table) {
                continue;
            }
            parts.add(&TableStats {
                table,
                name: state.name,
                wildcards: 0x3F_FFFF,
                max_entries: state.limit as u32,
                active: self.datapath.flows.len(table) as u32,
                lookups: state.lookups,
                matched: state.matches,
            });
        }
        parts.end();
    }

    fn port_stats(
        &mut self,
        now: Time,
        peer: Peer,
        version: Version,
        xid: u32,
        asked: PortNo,
    ) -> Result<(), Fault> {
        let index = self.datapath.port_index(asked.0);
        if index.is_none() && asked != PortNo::ANY {
            return Err(Fault::BadPort);
        }
        let Some(out) = self.channels.buffer(peer) else {
            return Ok(());
        };
        let mut parts = Parts::new(out, version, xid, Answer::PortStats(List::EMPTY));
        let ports = self.datapath.ports.iter().enumerate();
        for (_, port) in ports.filter(|(at, _)| index.is_none_or(|index| index == *at)) {
            let counters = port.counters;
            let (duration_s, duration_ns) = duration(port.created, now);
            parts.add(&PortStats {
                port: PortNo(port.number),
                rx_packets: counters.rx_packets,
                tx_packets: counters.tx_packets,
                rx_bytes: counters.rx_bytes,
                tx_bytes: counters.tx_bytes,
                rx_dropped: counters.rx_dropped,
                tx_dropped: counters.tx_dropped,
                rx_errors: counters.rx_errors,
                tx_errors: 0,
                rx_frame_errors: 0,
                rx_over_errors: 0,
                rx_crc_errors: 0,
                collisions: 0,
                duration_s,
                duration_ns,
            });
        }
        parts.end();
        Ok(())
    }

    fn queue_stats(
        &mut self,
        now: Time,
        peer: Peer,
        version: Version,
        xid: u32,
        port: PortNo,
        queue: u32,
    ) -> Result<(), Fault> {
        let one = self.datapath.port_index(port.0);
        // What means all ports is another number in 1.0 (section 5.3.5).
        let all = port == PortNo::ANY || (version == Version::V10 && port == PortNo::ALL);
        if one.is_none() && !all {
            return Err(Fault::QueueBadPort);
        }
        let wanted = one.map(|_| port);
        if queue != ALL_QUEUES && !self.datapath.has_queue(wanted, queue) {
            return Err(Fault::QueueBadQueue);
        }
        let Some(out) = self.channels.buffer(peer) else {
            return Ok(());
        };
        let mut parts = Parts::new(out, version, xid, Answer::Queue(List::EMPTY));
        let ports = self.datapath.ports.iter().enumerate();
        for (_, port) in ports.filter(|(at, _)| one.is_none_or(|index| index == *at)) {
            let queues = port.queues.iter();
            for own in queues.filter(|own| queue == ALL_QUEUES || own.number == queue) {
                let (duration_s, duration_ns) = duration(own.created, now);
                parts.add(&QueueStats {
                    port: PortNo(port.number),
                    queue: own.number,
                    tx_bytes: own.bytes,
                    tx_packets: own.packets,
                    tx_errors: own.errors,
                    duration_s,
                    duration_ns,
                });
            }
        }
        parts.end();
        Ok(())
    }

    fn group_stats(&mut self, now: Time, peer: Peer, version: Version, xid: u32, number: u32) {
        let Some(out) = self.channels.buffer(peer) else {
            return;
        };
        let mut parts = Parts::new(out, version, xid, Answer::Group(List::EMPTY));
        let groups = &self.datapath.groups;
        for (&group, state) in groups
            .all
            .iter()
            .filter(|(g, _)| number == ALL_GROUPS || **g == number)
        {
            let (duration_s, duration_ns) = duration(state.created, now);
            let buckets: Vec<_> = state
                .buckets
                .iter()
                .map(|bucket| Counters {
                    packets: bucket.packets,
                    bytes: bucket.bytes,
                })
                .collect();
            let flows = self
                .datapath
                .programs
                .users(|program| program.leads_to(group));
            parts.add(&GroupStats {
                group,
                references: flows + groups.users(group),
                counters: Counters {
                    packets: state.packets,
                    bytes: state.bytes,
                },
                duration_s,
                duration_ns,
                buckets: (&buckets).into(),
            });
        }
        parts.end();
    }

    fn group_descriptions(&mut self, peer: Peer, version: Version, xid: u32) {
        let Some(out) = self.channels.buffer(peer) else {
            return;
        };
        let empty = Answer::GroupDescription(List::EMPTY);
        let mut parts = Parts::new(out, version, xid, empty);
        for (&group, state) in &self.datapath.groups.all {
            let buckets: Vec<_> = state
                .buckets
                .iter()
                .map(|bucket| Bucket {
                    weight: bucket.weight,
                    watch_port: PortNo(bucket.watch_port),
                    watch_group: bucket.watch_group,
                    actions: List::from_checked(Version::V13, &bucket.wire),
                })
                .collect();
            parts.add(&GroupDescription {
                kind: match state.kind {
                    Kind::All => GroupKind::All,
                    Kind::Select => GroupKind::Select,
                    Kind::Indirect => GroupKind::Indirect,
                    Kind::FastFailover => GroupKind::FastFailover,
                },
                group,
                buckets: (&buckets).into(),
            });
        }
        parts.end();
    }

    fn known_meter(&self, number: u32) -> Result<(), Fault> {
        let known = number == ALL_METERS || self.datapath.meters.has(number);
        known.then_some(()).ok_or(Fault::UnknownMeter)
    }

    fn meter_stats(
        &mut self,
        now: Time,
        peer: Peer,
        version: Version,
        xid: u32,
        number: u32,
    ) -> Result<(), Fault> {
        self.known_meter(number)?;
        let Some(out) = self.channels.buffer(peer) else {
            return Ok(());
        };
        let mut parts = Parts::new(out, version, xid, Answer::Meter(List::EMPTY));
        let meters = self.datapath.meters.all.iter();
        for (&meter, state) in meters.filter(|(m, _)| number == ALL_METERS || **m == number) {
            let (duration_s, duration_ns) = duration(state.created, now);
            let bands: Vec<_> = state
                .bands
                .iter()
                .map(|band| Counters {
                    packets: band.packets,
                    bytes: band.bytes,
                })
                .collect();
            parts.add(&MeterStats {
                meter,
                flows: state.flows,
                input: Counters {
                    packets: state.packets,
                    bytes: state.bytes,
                },
                duration_s,
                duration_ns,
                bands: (&bands).into(),
            });
        }
        parts.end();
        Ok(())
    }

    fn meter_configs(
        &mut self,
        peer: Peer,
        version: Version,
        xid: u32,
        number: u32,
    ) -> Result<(), Fault> {
        self.known_meter(number)?;
        let Some(out) = self.channels.buffer(peer) else {
            return Ok(());
        };
        let mut parts = Parts::new(out, version, xid, Answer::MeterConfig(List::EMPTY));
        let meters = self.datapath.meters.all.iter();
        for (&meter, state) in meters.filter(|(m, _)| number == ALL_METERS || **m == number) {
            let bands: Vec<_> = state
                .bands
                .iter()
                .map(|band| Band {
                    kind: match band.band_type {
                        BandType::Drop => BandKind::Drop,
                        BandType::Remark(levels) => BandKind::DscpRemark(levels),
                    },
                    rate: band.rate,
                    burst: band.burst,
                })
                .collect();
            parts.add(&MeterConfig {
                flags: state.flags,
                meter,
                bands: (&bands).into(),
            });
        }
        parts.end();
        Ok(())
    }

    fn table_features(&mut self, peer: Peer, version: Version, xid: u32) {
        let Some(out) = self.channels.buffer(peer) else {
            return;
        };
        let empty = Answer::TableFeatures(List::EMPTY);
        let mut parts = Parts::new(out, version, xid, empty);
        for (table, state) in (0..u8::MAX).zip(&self.datapath.tables) {
            let features = &self.datapath.features[usize::from(table)];
            if features.present {
                let told = features.advertise(table, state.name, state.limit);
                told.show(|features| parts.add(features));
            }
        }
        parts.end();
    }
}
