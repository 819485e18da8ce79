//! What the switch tells controllers of itself: packets, entries that have gone, ports that have changed.

use super::datapath::{Datapath, PacketInNotice, lose_notice};
use super::field_list::FieldList;
use super::journal::Removed;
use super::session::Session;
use super::{PATIENT, Switch};
use crate::action::NO_BUFFER;
use crate::key::Field;
use crate::message::{
    CONTROLLER_METER, FlowRemoved, FlowRemovedReason, Message, PacketIn, PacketInReason,
    PortReason, PortStatus,
};
use crate::oxm::Oxm;
use crate::table::Expired;
use crate::version::Version;
use alloc::vec::Vec;
use node::{Out, Time};

impl Datapath {
    /// Takes out what has timed out.
    pub(super) fn expire(&mut self, now: Time) {
        while let Some((id, why)) = self.flows.expired(now) {
            let reason = match why {
                Expired::Idle => FlowRemovedReason::IdleTimeout,
                Expired::Hard => FlowRemovedReason::HardTimeout,
            };
            self.take_out(now, id, Some(reason));
        }
    }
}

/// Seconds, and nanoseconds beside them.
pub(super) fn duration(from: Time, to: Time) -> (u32, u32) {
    let nanoseconds = (to - from).as_ns();
    let second = 1_000_000_000;
    ((nanoseconds / second) as u32, (nanoseconds % second) as u32)
}

impl Switch {
    /// Whether there is anything to tell.
    #[inline]
    pub(super) fn has_news(&self) -> bool {
        !self.datapath.notices.is_empty() || !self.datapath.removed.is_empty()
    }

    /// Tells controllers what there is to tell.
    pub(super) fn send_async(&mut self, now: Time, out: &mut Out) {
        let mut notices = core::mem::take(&mut self.datapath.notices);
        for notice in notices.drain(..) {
            self.tell_packet(now, notice, out);
        }
        self.datapath.notices = notices;
        let mut removed = core::mem::take(&mut self.datapath.removed);
        for gone in removed.drain(..) {
            self.tell_removed(&gone);
        }
        self.datapath.removed = removed;
    }

    fn tell_packet(&mut self, now: Time, notice: PacketInNotice, out: &mut Out) {
        let metered = self.datapath.meters.all.get_mut(&CONTROLLER_METER);
        if let Some(meter) = metered
            && meter.measure(now, notice.frame.len()) == super::meters::Verdict::Drop
        {
            return lose_notice(notice.frame, notice.reason, "above a meter's rate", out);
        }
        let reason = notice.reason as u32;
        let takes = |session: &Session| {
            session.version.filter(|&version| {
                session.wants(session.wanted.packet_in, reason)
                    && (!notice.unmatched || version == Version::V10)
                    && (version != Version::V10 || notice.reason != PacketInReason::InvalidTtl)
            })
        };
        let (mut takers, mut readers) = (0, 0);
        for session in self.sessions.iter().flatten() {
            if takes(session).is_some() {
                takers += 1;
                readers += u64::from(self.channels.backlog(session.peer) <= PATIENT);
            }
        }
        self.counters.packet_ins_dropped += takers - readers;
        if readers == 0 {
            let loss = match takers {
                0 => "no controller takes it",
                _ => "no controller reads",
            };
            return lose_notice(notice.frame, notice.reason, loss, out);
        }
        let total = notice.frame.len();
        let most = notice.max_len.unwrap_or(self.miss_send_len);
        let (mut buffer, mut whole) = (None, None);
        if most == NO_BUFFER {
            whole = Some(notice.frame);
        } else {
            match self
                .datapath
                .buffers
                .keep(notice.frame, notice.in_port, now, out)
            {
                Ok(id) => buffer = Some(id),
                Err(frame) => whole = Some(frame),
            }
        }
        let data = match (&whole, buffer) {
            (Some(frame), _) => &frame[..],
            (None, Some(id)) => {
                let bytes = self.datapath.buffers.bytes(id);
                &bytes[..bytes.len().min(most.into())]
            }
            (None, None) => &[],
        };
        let mut fields = FieldList::new();
        fields.push(Oxm::new(Field::InPort, notice.in_port.into()));
        if notice.metadata != 0 {
            fields.push(Oxm::new(Field::Metadata, notice.metadata.into()));
        }
        if notice.tunnel_id != 0 {
            fields.push(Oxm::new(Field::TunnelId, notice.tunnel_id.into()));
        }
        let message = Message::PacketIn(PacketIn {
            buffer,
            total_len: total.min(usize::from(u16::MAX)) as u16,
            reason: notice.reason,
            table: notice.table,
            cookie: notice.cookie,
            fields: fields.matching(),
            data,
        });
        for session in self.sessions.iter().flatten() {
            let Some(version) = takes(session) else {
                continue;
            };
            if self.channels.backlog(session.peer) > PATIENT {
                continue;
            }
            if let Some(bytes) = self.channels.buffer(session.peer)
                && message.encode(version, 0, bytes).is_ok()
            {
                self.counters.packet_ins += 1;
                self.channels.follow(session.peer);
            }
        }
        if let Some(frame) = whole {
            out.done(frame);
        }
    }

    fn tell_removed(&mut self, gone: &Removed) {
        let (duration_s, duration_ns) = duration(gone.flow.created, gone.at);
        for version in Version::ALL {
            let fields = FieldList::of(&gone.pattern, version);
            let message = Message::FlowRemoved(FlowRemoved {
                matching: fields.matching(),
                cookie: gone.flow.cookie,
                priority: gone.flow.rank as u16,
                reason: gone.reason,
                table: gone.flow.table,
                duration_s,
                duration_ns,
                idle_timeout: gone.flow.idle_timeout,
                hard_timeout: gone.flow.hard_timeout,
                packets: gone.hot.packets,
                bytes: gone.hot.bytes,
            });
            self.tell_all(&message, |session| {
                session.version == Some(version)
                    && session.wants(session.wanted.flow_removed, gone.reason as u32)
            });
        }
    }

    /// Tells controllers that a port has changed.
    pub(super) fn tell_port(&mut self, index: usize, reason: PortReason) {
        let descriptions: Vec<_> = Version::ALL
            .iter()
            .map(|&version| (version, self.datapath.ports[index].description(version)))
            .collect();
        for (of, port) in descriptions {
            let message = Message::PortStatus(PortStatus { reason, port });
            self.tell_all(&message, |session| {
                session.version == Some(of)
                    && session.wants(session.wanted.port_status, reason as u32)
            });
        }
    }

    /// Sends a message to all sessions that want it and whose version can say it.
    fn tell_all(&mut self, message: &Message<'_>, wants: impl Fn(&super::Session) -> bool) {
        for session in self.sessions.iter().flatten() {
            if let Some(version) = session.version
                && wants(session)
                && let Some(bytes) = self.channels.buffer(session.peer)
            {
                // What a version cannot say its controllers are not told.
                let _ = message.encode(version, 0, bytes);
            }
        }
    }
}
